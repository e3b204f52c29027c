// Distributed under the Boost Software License, Version 1.0.
// verl's FSDP workers: formats, recomputation, entropies and adapters of the actor (volcengine/verl b178a3cd of 2026-01-29: verl/workers/fsdp_workers.py
// ActorRolloutRefWorker._build_model_optimizer, verl/workers/actor/dp_actor.py).
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// Entropies are compiled, or are torch's operations, of all tokens or of 2,048 at a time (dp_actor.py DataParallelPPOActor.__init__): those of the completions that are scored before each step, and in the loss, whose
/// backward reads the logits and makes one gradient of them, beside that of the log-probabilities, which then has a place of its own. Where both are added
/// the logits are gone: fewer tensors of the logits' size than the division by the temperature has after that.
inline void read_verl_entropy(draft& d, named_values& v) {
  const auto* key = "actor_rollout_ref.actor.entropy_coeff";
  const auto* compiled = "actor_rollout_ref.actor.use_torch_compile";  // of the entropy alone
  const auto* weight = v.take(key);
  const bool in_loss = weight != nullptr && weight->is_number() && *weight != 0;
  if (!v.on(compiled, true) && v.on("actor_rollout_ref.model.use_remove_padding", true)) {
    if (in_loss) return d.unmodelled_key(compiled, false, v.place(compiled), "entropies in the loss by torch's operations one by one, of fp32 copies of the logits");
    d.say({"loss", "entropies"}, v.on("actor_rollout_ref.actor.entropy_from_logits_with_chunking") ? "pieces" : "whole", v.place(compiled));
  }
  for (const auto* again : {"actor_rollout_ref.actor.entropy_checkpointing", "actor_rollout_ref.actor.fsdp_config.entropy_checkpointing"}) v.take(again);  // what is computed again is one kernel's
  if (!in_loss) return;
  const std::string what = "the loss's entropy is compiled into kernels that read the logits and write nothing of their size but their gradient";
  d.notes.push_back(v.place(key) + ": " + what);
  d.assumed.push_back(what);
}

/// Head and scores in one (use_fused_kernels): torch's operations on 512 tokens at a time, or kernels, which are Megatron's workers' alone. There verl makes logits
/// of whole samples before 0.5 (d9a6a31c of 2025-07-11), whatever the key says.
inline bool read_verl_fused(draft& d, named_values& v, bool divides, std::int32_t oldest) {
  constexpr std::string_view key = "actor_rollout_ref.model.use_fused_kernels", backend = "actor_rollout_ref.model.fused_kernel_options.impl_backend";
  if (!v.on(key)) return false;
  if (divides) {
    d.say({"loss", "kind"}, "fused-linear", v.place(key));
    if (oldest < 5)
      d.releases.push_back({"verl", 5, v.place(key), "verl's Megatron workers read use_fused_kernels since 0.5 (2025-07), and make all logits before", false, nullptr, nullptr,
                            [](draft& of, const std::string& place) { of.say({"loss", "kind"}, "full", place); }, 7});
    return true;
  }
  const bool kernels = v.one_of(backend, "torch", {"torch", "triton"}) == "triton";
  const auto* weight = v.take("actor_rollout_ref.actor.entropy_coeff");
  if (!kernels && weight != nullptr && weight->is_number() && *weight != 0) d.unmodelled_key("actor_rollout_ref.actor.entropy_coeff", *weight, v.place("actor_rollout_ref.actor.entropy_coeff"), "an entropy in the loss beside use_fused_kernels with impl_backend torch");
  d.say({"loss", "kind"}, kernels ? "cut" : "fused-linear", v.place(key));
  v.take("actor_rollout_ref.actor.use_torch_compile"), v.take("actor_rollout_ref.actor.entropy_checkpointing"), v.take("actor_rollout_ref.actor.fsdp_config.entropy_checkpointing");
  return true;
}

/// Layers as a list in a word, or as a word.
inline json_value verl_targets(const json_value* said) {
  auto names = said == nullptr ? json_value("all-linear") : *said;
  if (!names.is_string() || names == "all-linear") return names;
  auto list = json_value::array();
  auto text = names.get<std::string>();
  for (auto& c : text)
    if (std::string_view{"[],'\""}.find(c) != std::string_view::npos) c = ' ';
  for_each_word(text, [&](std::string_view w) { list.push_back(w); });
  return list;
}

/// All linear layers but the tower's, of a model that sees.
inline json_value verl_targets_beside(draft& d, named_values& v, json_value targets) {
  constexpr std::string_view key = "actor_rollout_ref.model.exclude_modules";
  const auto* out = v.take(key);
  if (out == nullptr) return targets;
  const auto m = model_of(d);
  if (targets != "all-linear" || *out != ".*visual.*" || m.sparse() || m.latent() || m.recurs()) d.unmodelled_key(std::string{key}, *out, v.place(key), ".*visual.* of all-linear is, of dense models");
  if (m.vision.layers == 0) return targets;
  return {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
}

/// A copy of the model's files (verl/utils/fs.py copy_to_shm).
inline void say_files_in_memory(draft& d, const std::string& place) {
  const std::string what = "the model's files, which verl copies into each node's /dev/shm, are not counted in host memory";
  d.notes.push_back(place + ": " + what);
  d.assumed.push_back(what);
}

/// A unit that FSDP gathers before the one that runs is done.
inline void note_verl_prefetch(draft& d, named_values& v) {
  for (const auto* key : {"actor_rollout_ref.actor.fsdp_config.forward_prefetch", "actor_rollout_ref.ref.fsdp_config.forward_prefetch"}) {
    if (!v.on(key)) continue;
    const std::string what = "forward_prefetch gathers a unit ahead: forward may hold one unit's weights more than is counted";
    d.notes.push_back(v.place(key) + ": " + what);
    d.assumed.push_back(what);
  }
}

/// What FSDP adds up gradients in (fsdp_config.mixed_precision; fsdp_workers.py _build_model_optimizer). Buffers are a layer's angles, whatever their format.
inline bool verl_reduces_in_16_bits(named_values& v) {
  v.one_of("actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype", "bf16", {"bf16", "bfloat16"});
  v.take("actor_rollout_ref.actor.fsdp_config.mixed_precision.buffer_dtype");
  return v.one_of("actor_rollout_ref.actor.fsdp_config.mixed_precision.reduce_dtype", "fp32", {"fp32", "float32", "bf16", "bfloat16"}).starts_with("b");
}

/// Weights and states in fp32, layers in bf16, without padding. Adapters are made in the weights' format (peft tuners/tuners_utils.py
/// _move_adapter_to_device_of_base_layer), which FSDP casts as it gathers them.
inline void read_verl_actor(draft& d, named_values& v, std::int32_t oldest) {
  constexpr std::string_view stored = "actor_rollout_ref.actor.fsdp_config.model_dtype";
  const bool narrow = v.one_of(stored, "fp32", {"fp32", "float32", "bf16", "bfloat16"}).starts_with("b");  // verl/utils/torch_dtypes.py PrecisionType
  if (!read_verl_fused(d, v, false, oldest)) read_verl_entropy(d, v);
  note_verl_prefetch(d, v);
  const auto rank = v.number("actor_rollout_ref.model.lora_rank", 0, 0);
  const auto* trained = narrow && rank == 0 ? "bf16" : "fp32";  // adapters of weights in 16 bits are made in fp32 (peft tuners/tuners_utils.py cast_adapter_dtype)
  d.replace("precision", {{"parameters", narrow ? "bf16" : "fp32"}, {"compute", "bf16"}, {"gradients", trained}, {"reduce", verl_reduces_in_16_bits(v) ? "bf16" : "fp32"}, {"master", "none"}, {"state", trained}}, v.place(stored));
  d.replace("optimizer", "adamw", v.source());
  d.replace("attention", "flash", v.source());
  d.replace("recompute", v.on("actor_rollout_ref.model.enable_gradient_checkpointing", true) ? json_value{{"mode", "full"}, {"reentrant", false}} : json_value("none"), v.place("actor_rollout_ref.model.enable_gradient_checkpointing"));
  if (const auto* shared = "actor_rollout_ref.model.use_shm"; v.on(shared)) say_files_in_memory(d, v.place(shared));
  const auto* targets = v.take("actor_rollout_ref.model.target_modules");
  if (rank > 0) d.replace("adapter", {{"kind", "lora"}, {"rank", rank}, {"targets", verl_targets_beside(d, v, verl_targets(targets))}, {"format", "fp32"}}, v.place("actor_rollout_ref.model.lora_rank"));
}

}  // namespace headroom::io::detail
