// Distributed under the Boost Software License, Version 1.0.
// Which loss TRL's fine-tuning computes: of whole logits, or since 1.7 head and all, chunk by chunk (trl/trainer/sft_config.py, 2026-06).
#pragma once

#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// `old`: the file has arguments that ended before (max_seq_length with 0.19, torch_dtype before 1.0).
inline void trl_loss_type(draft& d, named_values& v, bool liger, bool old) {
  using change = void (*)(draft&, const std::string&);
  const change in_chunks = [](draft& of, const std::string& place) { of.say({"loss", "kind"}, "chunked", place); };
  if (v.word_now("loss_type") == "chunked_nll") {
    const auto place = v.place("loss_type");
    if (liger) fail("headroom: " + place + ": TRL refuses loss_type chunked_nll beside use_liger_kernel, and the program ends: take one of them out");
    v.take("loss_type");
    return in_chunks(d, place);
  }
  if (v.has("loss_type") || liger || old || v.has("torch_dtype")) return;
  d.releases.push_back({"trl", 107, v.source(), "loss_type is not given, and TRL's default is \"nll\" before 1.7 (2026-06) and \"chunked_nll\" since", false, in_chunks});
}

}  // namespace headroom::io::detail
