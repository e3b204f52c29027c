// Distributed under the Boost Software License, Version 1.0.
// The formats of a step that a program and DeepSpeed's configuration say together.
#pragma once

#include <headroom/io/launchers/draft.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace headroom::io::detail {

/// `word`-mixed, with the format in which gradients are summed up and reduced where the configuration says it (deepspeed/runtime/engine.py,
/// gradient_accumulation_dtype and communication_data_type).
inline json_value engine_precision(const draft& d, const std::string& word) {
  const auto said = [&](std::initializer_list<std::string_view> path) {
    const auto* v = d.find(path);
    const auto text = v != nullptr && v->is_string() ? v->get<std::string>() : word;
    return text == "bfp16" ? std::string{"bf16"} : text == "fp32" || text == "fp16" || text == "bf16" ? text : word;
  };
  const auto sums = said({"framework", "options", "data_types", "grad_accum_dtype"}), reduces = said({"framework", "options", "communication_data_type"});
  if (sums == word && reduces == word) return word + "-mixed";
  return {{"parameters", word}, {"compute", word}, {"gradients", sums}, {"master", "fp32"}, {"reduce", reduces}, {"state", "fp32"}};
}

}  // namespace headroom::io::detail
