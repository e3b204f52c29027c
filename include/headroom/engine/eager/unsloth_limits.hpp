// Distributed under the Boost Software License, Version 1.0.
// What is modelled of Unsloth: adapters on decoders of Llama's kind, on one GPU.
#pragma once

#include <headroom/error.hpp>
#include <headroom/job.hpp>

namespace headroom::detail {

/// Llama, Mistral, Qwen2 and Qwen3, whose layers are models/llama.py's LlamaDecoderLayer_fast_forward: nothing in their shape but sizes, the window,
/// tied embeddings, Qwen2's biases and Qwen3's norms over q and k.
constexpr bool like_llama(const shape& m) {
  shape plain{};
  plain.label = m.label;
  plain.layers = m.layers, plain.hidden = m.hidden, plain.heads = m.heads, plain.kv_heads = m.kv_heads, plain.head_dim = m.head_dim, plain.ffn = m.ffn;
  plain.vocab = m.vocab, plain.vocab_multiple = m.vocab_multiple, plain.tied = m.tied, plain.max_positions = m.max_positions, plain.sliding_window = m.sliding_window;
  plain.attention_bias = m.attention_bias, plain.qk_norm = m.qk_norm;
  return plain == m;
}

/// A job of Unsloth.
constexpr objection check_unsloth(const job& j, const auto& no) {
  const auto& a = j.adapter;
  if (!like_llama(j.model))
    return no("headroom: under unsloth decoders of Llama's, Mistral's, Qwen2's and Qwen3's layers alone are modelled by this version; others run code of their own: "
              "framework may be hf-trainer, which is the same training without Unsloth's kernels; model.layers", j.model.layers);
  if (a.kind != adapter_kind::lora || !a.modules_to_save.empty() || a.fused_qkv)
    return no("headroom: under unsloth LoRA is modelled by this version, without DoRA, modules_to_save and full fine-tuning (full_finetuning), which run other code; adapter.kind must be \"lora\"");
  if (a.base.quantised() && a.base.bits != 4) return no("headroom: under unsloth a base of 16 bits or of bitsandbytes' 4 bits is modelled by this version; adapter.base must be left out, nf4 or nf4-double; bits", a.base.bits);
  if (a.base.column_bits > 0) return no("headroom: under unsloth a base of 16 bits or of bitsandbytes' 4 bits is modelled by this version; adapter.base must be left out, nf4 or nf4-double", a.base.label);
  if (a.rest.set() && a.rest.bits != 16) return no("headroom: Unsloth leaves what is not quantised in 16 bits; adapter.rest must be left out or bf16; bits", a.rest.bits);
  if (j.hardware.gpus() != 1 || j.sharding.kind != sharding_kind::none)
    return no("headroom: unsloth is modelled on one GPU, without sharding, by this version; hardware.nodes × gpus_per_node must be 1; they are", j.hardware.gpus());
  if (j.objective.kind != objective_kind::sft || j.rollout.given())
    return no("headroom: unsloth is modelled for supervised fine-tuning alone by this version; objective.kind must be sft, without a rollout");
  if (j.compile || !j.kernels.empty()) return no("headroom: Unsloth's layers are its own, compiled or not; compile and kernels must be left out");
  if (j.loss.kind != loss_kind::unset && j.loss.kind != loss_kind::cut && j.loss.kind != loss_kind::fused_linear)
    return no("headroom: Unsloth computes its loss together with the head; loss.kind must be left out (UNSLOTH_RETURN_LOGITS is not modelled by this version)");
  if (j.attention != attention::unset && j.attention != attention::sdpa && j.attention != attention::flash)
    return no("headroom: Unsloth attends by FlashAttention where that is installed, else by xFormers or PyTorch; attention must be left out, flash or sdpa");
  const auto& p = j.precision.set() ? j.precision : j.framework.precision;
  if (p.parameters.bits != 16 || (p.compute.set() && p.compute.bits != 16))
    return no("headroom: Unsloth loads weights in bf16 or fp16 and computes in them; precision.parameters and compute must have 16 bits; parameters have", p.parameters.bits);
  if (j.recompute.mode == recompute_mode::selective) return no("headroom: Unsloth recomputes all layers or none; recompute must be \"none\" or \"full\"");
  if (j.offload.activations != place::on_gpu && j.recompute.mode != recompute_mode::full)
    return no("headroom: Unsloth keeps checkpoints on the host, which needs recompute \"full\" beside offload.activations");
  return {};
}

}  // namespace headroom::detail
