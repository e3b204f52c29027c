// Distributed under the Boost Software License, Version 1.0.
// Liger's kernels of a model's layers, which the Trainer and LLaMA-Factory switch on together with its loss, once the model is known.
#pragma once

#include <headroom/io/launchers/largest_images.hpp>

namespace headroom::io::detail {

/// Whether Liger's kernels of a dense Llama's or Qwen's layers are this model's: norms, gated activations and rotations (linkedin/Liger-Kernel ead96b61 of
/// 2026-08-21, src/liger_kernel/transformers/monkey_patch.py: the functions of llama, mistral, qwen2, qwen3, smollm3, phi3, gemma, olmo2, … with their defaults).
inline bool has_liger_layers(const shape& m) {
  return m.layers > 0 && m.norm == norm_kind::rmsnorm && m.mlp == mlp_kind::gated && m.position == position_kind::rope && m.rotary == rotary_kind::halves && m.rotary_percent == 100 &&
         m.vision.kind == vision_kind::none && m.encoder.layers == 0 && !m.sparse() && !m.latent() && !m.pattern.given() && m.altup.streams == 0;
}

/// Says the kernels. Of a model without RMSNorm Liger has none, but of Nemotron, and whoever asks for them goes on without (monkey_patch.py
/// _apply_liger_kernel_to_instance; LLaMA-Factory src/llamafactory/model/model_utils/liger_kernel.py). Granite's logits are whole (apply_liger_kernel_to_granite).
inline void settle_liger(draft& d) {
  if (!d.liger || d.has({"kernels"})) return;
  const auto m = model_of(d);
  const auto& place = d.liger->place;
  if (m.layers == 0) return;  // asked for
  const auto name = d.trained_name + std::string{m.label.view()};
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (m.norm == norm_kind::layernorm && !has("emotron")) {
    d.notes.push_back(place + ": Liger has no kernels for this model, and the program goes on without them");
    if (d.has({"loss", "kind"}) && d.job["loss"]["kind"] == "fused-linear") d.say({"loss", "kind"}, "full", place);
    return;
  }
  if (!has_liger_layers(m) || has("ranite")) return d.unmodelled_key(d.liger_key, true, place, "of a model whose layers are not those of a dense Llama or Qwen");
  auto kernels = json_value::array();
  if (!d.liger->word.empty())
    for (const auto word : words_between_bars(d.liger->word)) kernels.push_back(std::string{word});
  if (!kernels.empty()) d.replace("kernels", kernels, place);
}

}  // namespace headroom::io::detail
