// Distributed under the Boost Software License, Version 1.0.
// What ms-swift trains beside LoRA and whole models, and on which base (modelscope/ms-swift 3602360a of 2026-08-22: swift/tuners,
// swift/arguments/base_args/quant_args.py).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/trainer/adapters.hpp>

namespace headroom::io::detail {

/// bitsandbytes; nothing else is made fp32 (swift/arguments/base_args/quant_args.py).
inline std::string swift_quantised(draft& d, named_values& v, bool early) {
  std::string_view called = "quant_bits";
  const auto* said = first_of(v, "quant_bits|quantization_bit", called);
  const auto method = v.word("quant_method", "");
  const auto kind = v.one_of("bnb_4bit_quant_type", "nf4", {"nf4", "fp4"});
  const bool twice = v.on("bnb_4bit_use_double_quant", true);
  if (said == nullptr || *said == 0) {
    if (!method.empty()) d.unmodelled_key("quant_method", method, v.place("quant_method"));
    return {};
  }
  if (method.empty() && !early) fail("headroom: " + v.place(called) + ": " + std::string{called} + " does nothing in ms-swift without quant_method: add quant_method bnb, or take it out");
  if (!method.empty() && method != "bnb") fail("headroom: " + v.place("quant_method") + ": quant_method " + in_quotes(method) + " is not modelled by this version; accepted: bnb");
  const auto bits = count_at(*said, std::string{called}, 1, 8);
  if (bits != 4 && bits != 8) fail("headroom: " + v.place(called) + ": " + std::string{called} + " must be 4 or 8 with bnb");
  return bits == 8 ? "int8" : twice ? kind + "-double" : kind;
}

/// LLaMA Pro: behind the last layer of each group a copy of it, which alone trains, in the model's format (swift/tuners/llamapro.py prepare_model).
inline void swift_copied_blocks(draft& d, named_values& v, const std::string& called) {
  auto m = model_of(d);
  const auto blocks = v.number("llamapro_num_new_blocks", 4), groups = v.number("llamapro_num_groups", blocks);
  if (m.layers == 0 || m.vision.layers > 0 || m.encoder.layers > 0 || m.sparse() || m.pattern.given()) return d.unmodelled_key(called, "llamapro", v.place(called), "read for dense language models whose layers are all alike");
  if (m.layers % groups != 0 || m.layers % blocks != 0) fail("headroom: " + v.place(called) + ": llamapro_num_new_blocks and llamapro_num_groups must divide the model's layers, " + std::to_string(m.layers) + "; they are " + std::to_string(blocks) + " and " + std::to_string(groups));
  const auto stride = m.layers / groups;
  auto trains = json_value::array();
  for (std::int64_t i = 1; i <= groups; ++i) trains.push_back({{"layers", {i * (stride + 1) - 1, i * (stride + 1) - 1}}});
  m.layers += groups;
  d.job["model"] = model_to_json(m);
  d.replace("trainable", trains, v.place(called));
}

}  // namespace headroom::io::detail
