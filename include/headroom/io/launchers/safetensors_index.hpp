// Distributed under the Boost Software License, Version 1.0.
// model.safetensors.index.json: how many bytes a checkpoint has, against the model that a job trains.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/model/inventory.hpp>

namespace headroom::io {

/// Throws job_error for what is no index.
inline safetensors_index read_safetensors_index(const document& from) {
  return with_places(from, [&] {
    safetensors_index r{.source = from.source};
    key_reader k{from.root, ""};
    const auto& map = k.need("weight_map", "the file of each tensor");
    if (!map.is_object()) wrong_value("weight_map", "an object", map);
    if (const auto* about = k.take("metadata"); about != nullptr && about->is_object())
      if (const auto size = about->find("total_size"); size != about->end()) r.bytes = whole_at(*size, "metadata.total_size", 0, largest_exact);
    for (const auto& [name, file] : map.items()) {
      string_at(file, "weight_map." + in_quotes(name));
      ++r.tensors;
      if (name.ends_with("lm_head.weight") || name == "output.weight") r.head = true;
      if (name.ends_with("inv_freq") || name.ends_with("masked_bias") || name.ends_with(".attn.bias") || name.ends_with("position_ids")) ++r.buffers;
      if (name.ends_with("_scale_inv") || name.ends_with("qweight") || name.ends_with("qzeros") || name.ends_with("scales")) ++r.scales;
    }
    return r;
  });
}

/// One sentence: whether the checkpoint holds the model's parameters, and where a difference comes from.
inline std::string compared(const safetensors_index& index, const shape& m) {
  const auto n = count(m).total.count();
  const auto whole = index.source + ": " + std::to_string(index.bytes) + " bytes in " + std::to_string(index.tensors) + " tensors";
  if (index.bytes == 0) return index.source + ": " + std::to_string(index.tensors) + " tensors of a size that it does not state";
  for (const auto& [size, format] : {std::pair{std::int64_t{2}, "16-bit"}, {std::int64_t{4}, "fp32"}, {std::int64_t{1}, "8-bit"}}) {
    if (index.bytes == checked::mul(n, size)) return whole + " are the model's " + std::to_string(n) + " parameters in " + format + ", exactly";
    const auto head = checked::mul(m.vocab, m.hidden);
    if (m.tied && index.head && index.bytes == checked::mul(n + head, size))
      return whole + " are the model's " + std::to_string(n) + " parameters in " + format + " and a copy of the tied embedding as its head, " + std::to_string(head);
    if (!m.tied && !index.head && index.bytes == checked::mul(n - head, size))
      return whole + " are the model's " + std::to_string(n) + " parameters in " + format + " without a head, " + std::to_string(head) + ": the checkpoint ties it to the embedding, or is a base model";
  }
  const auto each = static_cast<double>(index.bytes) / static_cast<double>(n);
  std::string why;
  if (index.scales > 0)
    why = ": " + std::to_string(index.scales) + " tensors of scales, so the weights are quantised";
  else if (index.buffers > 0 && each > 1.99 && each < 4.1)
    why = ": " + std::to_string(index.buffers) + " buffers are among them, which are no parameters";
  else if (each < 1.9 || (each > 2.1 && each < 3.9) || each > 4.1)
    why = ": neither 16 nor 32 bits each, so formats are mixed, or this is another model";
  else
    why = ": the checkpoint has other tensors than the model (an extra head, padding of the vocabulary)";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", each);
  return whole + " are " + text + " bytes for each of the model's " + std::to_string(n) + " parameters" + why;
}

}  // namespace headroom::io
