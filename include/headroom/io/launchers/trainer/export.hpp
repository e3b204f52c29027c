// Distributed under the Boost Software License, Version 1.0.
// A job as arguments of the Trainer, for HfArgumentParser: transformers' run_clm.py has these names.
#pragma once

#include <headroom/io/launchers/trainer/document.hpp>

namespace headroom::io {

inline json_value trainer_document(const job& given) {
  constexpr std::string_view target = "hf-trainer";
  detail::needs_trainer(given, target);
  const auto j = stated(given);
  auto a = detail::trainer_document(j, target);
  detail::say_optimizer(a, j, target);
  a["block_size"] = j.batch.sequence;
  a["dtype"] = detail::loaded_word(j);
  a["attn_implementation"] = detail::attention_word(j.attention);
  detail::say_liger(a, j);
  detail::check_trainer(j, a, "transformers", target);
  return a;
}

}  // namespace headroom::io
