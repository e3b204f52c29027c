// Distributed under the Boost Software License, Version 1.0.
// Liger's kernels of a model's layers, which the Trainer and LLaMA-Factory switch on together with its loss, once the model is known.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/largest_images.hpp>

namespace headroom::io::detail {

/// Whether Liger's kernels of a dense Llama's or Qwen's layers are this model's: norms, gated activations and rotations (linkedin/Liger-Kernel ead96b61 of
/// 2026-08-21, src/liger_kernel/transformers/monkey_patch.py: the functions of llama, mistral, qwen2, qwen3, smollm3, phi3, gemma, olmo2, … with their defaults).
inline bool has_liger_layers(const shape& m) {
  return m.layers > 0 && m.norm == norm_kind::rmsnorm && m.mlp == mlp_kind::gated && m.position == position_kind::rope && m.rotary == rotary_kind::halves && m.rotary_percent == 100 &&
         m.encoder.layers == 0 && !m.sparse() && !m.latent() && !m.pattern.given() && m.altup.streams == 0;
}

/// What Liger does with a model: it has no kernels for its class, and whoever asks for them goes on without (monkey_patch.py
/// _apply_liger_kernel_to_instance); those of all its layers; all but rotations; all but gated activations; or others, which are not read.
enum class liger_has : std::uint8_t { nothing, layers, unturned, ungated, others };

/// Classes with a function of Liger's, of those that may pass for a dense Llama or Qwen (MODEL_TYPE_TO_APPLY_LIGER_FN of the same commit), and the fewer that
/// LLaMA-Factory asks for (ff6d4d12e, src/llamafactory/model/model_utils/liger_kernel.py). It asks for glm4's for glm, too, whose classes that does not touch.
inline constexpr std::string_view liger_types = "llama|mistral|ministral|qwen2|qwen3|gemma|gemma2|gemma3_text|phi3|olmo2|olmo3|smollm3|exaone4|hunyuan_v1_dense|granite|nemotron|glm4";
inline constexpr std::string_view factory_types = "llama|mistral|qwen2|qwen3|gemma|gemma2|gemma3_text|phi3|olmo2|granite|glm4";
/// How names of models begin whose class is not among them, with code of their own or a class of transformers'.
inline constexpr std::array without_liger{"internlm", "baichuan", "minicpm", "seed-oss", "exaone-3", "mimo-7b", "qwen-", "ernie-", "glm-4-9b"};
inline constexpr std::array without_factory{"smollm3", "exaone-4", "hunyuan-"};

inline liger_has liger_of(const draft& d, const shape& m, bool factory) {
  const auto named = lower_case(d.trained_name), name = named.substr(named.rfind('/') == std::string::npos ? 0 : named.rfind('/') + 1), label = lower_case(m.label.view());
  const auto begins = [&](const char* part) { return (label.empty() ? name : label).starts_with(part); };
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos || label.find(part) != std::string::npos; };
  const bool typed = d.model_type && d.place_of("model") == d.model_type->place, of_2025 = has("-0414");
  const bool text = m.vision.kind == vision_kind::none;
  const auto dense = m.norm == norm_kind::rmsnorm && !m.sparse() && !m.recurs() && text;
  if (m.norm == norm_kind::layernorm && !has("emotron")) return liger_has::nothing;
  if (dense && typed && !among_words(factory ? factory_types : liger_types, d.model_type->word)) return liger_has::nothing;
  if (dense && !typed && !of_2025 && (std::any_of(without_liger.begin(), without_liger.end(), begins) || (factory && std::any_of(without_factory.begin(), without_factory.end(), begins)))) return liger_has::nothing;
  if (has("ranite")) return liger_has::others;  // its logits are whole (apply_liger_kernel_to_granite)
  // apply_liger_kernel_to_qwen2_5_vl and _qwen3_vl, whose swiglu is false: the language model's layers, of Qwen2.5-VL's tower the norms (block/tower.hpp).
  if (has_liger_layers(m)) return text || m.vision.kind == vision_kind::qwen2_5_vl ? liger_has::layers : m.vision.kind == vision_kind::qwen3_vl ? liger_has::ungated : liger_has::others;
  const bool glm4 = typed ? d.model_type->word == "glm4" : of_2025 && begins("glm-");  // apply_liger_kernel_to_glm4, rope false
  return glm4 && m.fused_gate_up && m.post_norms && m.rotary == rotary_kind::pairs ? liger_has::unturned : liger_has::others;
}

/// Why a model is refused, and how to go on.
inline constexpr std::string_view other_liger = "of a model whose layers are not those of a dense Llama or Qwen: --set 'kernels=[\"norm\"]' says which of \"norm\", \"gated\" and \"rotary\" it has";

/// Says the kernels.
inline void settle_liger(draft& d) {
  if (!d.liger || d.has({"kernels"})) return;
  const auto m = model_of(d);
  const auto& place = d.liger->place;
  if (m.layers == 0) return;  // asked for
  const auto is = liger_of(d, m, d.liger_key == "enable_liger_kernel");
  if (is == liger_has::others) return d.unmodelled_key(d.liger_key, true, place, other_liger);
  if (is == liger_has::nothing) {
    d.notes.push_back(place + ": Liger has no kernels for this model, and the program goes on without them");
    if (d.has({"loss", "kind"}) && d.job["loss"]["kind"] == "fused-linear") d.say({"loss", "kind"}, "full", place);
    return;
  }
  auto kernels = json_value::array();
  if (!d.liger->word.empty())
    for (const auto word : words_between_bars(d.liger->word))
      if (word != (is == liger_has::unturned ? "rotary" : is == liger_has::ungated ? "gated" : "")) kernels.push_back(std::string{word});
  if (!kernels.empty()) d.replace("kernels", kernels, place);
}

}  // namespace headroom::io::detail
