// Distributed under the Boost Software License, Version 1.0.
// Which layers this version has no program for. What a framework's engine cannot run stands with the engine (engine/*/limits.hpp).
#pragma once

#include <headroom/block/experts.hpp>
#include <headroom/block/fake_limits.hpp>
#include <headroom/block/frozen_limits.hpp>
#include <headroom/job.hpp>
#include <headroom/model/check.hpp>

namespace headroom::detail {

/// Frameworks whose layers tensor, context or expert parallelism may divide: they know fewer kinds of model.
constexpr bool divides_layers(const profile& f) { return f.modules.megatron() || f.modules.dtensor(); }

/// Attention that writes its scores out.
constexpr bool writes_scores(const job& j) { return j.attention == attention::eager || j.attention == attention::math || (j.model.attention_softcap > 0 && !j.framework.caps_in_kernels()); }

/// Sparse attention: its indexer has weights whose gradients never come, and kernels that take a mask.
template <class No>
constexpr objection check_sparse_attention(const job& j, const No& no) {
  const auto& p = j.precision.set() ? j.precision : j.framework.precision;
  if (j.attention != attention::unset && j.attention != attention::sdpa && j.attention != attention::eager)
    return no("headroom: sparse attention (model.pattern sparse-attention) runs over a mask; attention must be sdpa or eager");
  if (j.batch.packed) return no("headroom: packed sequences are not modelled for sparse attention by this version; batch.packed must be false");
  if (p.autocast && p.parameters.bits > p.compute.bits)
    return no("headroom: sparse attention under autocast is modelled for parameters of 16 bits alone by this version; precision.parameters has bits", p.parameters.bits);
  if (!j.adapter.active() && j.sharding.kind != sharding_kind::none && j.sharding.kind != sharding_kind::fsdp2)
    return no("headroom: the indexer of sparse attention never has gradients, which is modelled without sharding, under fsdp2 or with adapters alone by this version; sharding.kind must be none or fsdp2");
  if (j.adapter.active() && (j.adapter.base.quantised() || j.adapter.targets == all_linear))
    return no("headroom: adapters on, or fewer bits for, the indexer of sparse attention are not modelled by this version; adapter.targets must name modules, and adapter.base have 16 or 32 bits");
  return {};
}

/// Embeddings of each layer, and keys and values that layers share.
template <class No>
constexpr objection check_shared_tensors(const job& j, const No& no) {
  const auto& m = j.model;
  if (m.altup.streams > 0 && (j.adapter.base.quantised() || j.adapter.targets == all_linear || !j.kernels.empty()))
    return no("headroom: several residual streams (model.altup) are modelled without fused kernels, a quantised base and adapters on every linear layer by this version; streams", m.altup.streams);
  bool shares = m.layer_input.width > 0;
  for (std::int64_t i = 0; i < m.pattern.period && !shares; ++i) shares = shares_keys(m.pattern.at(i).mixer);
  if (!shares) return {};
  if (j.parallel.pipeline > 1) return no("headroom: embeddings of each layer (model.layer_input) and shared keys and values are not modelled over stages by this version: parallel.pipeline must be 1; it is", j.parallel.pipeline);
  if (j.objective.kind != objective_kind::sft || j.rollout.given())
    return no("headroom: embeddings of each layer (model.layer_input) and shared keys and values are modelled for sft alone by this version; objective.kind must be sft, without a rollout");
  if (j.optimizer.in_backward) return no("headroom: optimizers that update in backward are not modelled for embeddings of each layer and shared keys and values by this version; optimizer", j.optimizer.label);
  return {};
}

/// Patterns of layer kinds.
template <class No>
constexpr objection check_pattern_layers(const job& j, const No& no) {
  const auto& p = j.parallel;
  if (j.framework.modules.megatron()) return {};  // engine/tensor_parallel/limits.hpp
  if (divides_layers(j.framework))
    return no("headroom: patterns of layer kinds (model.pattern) are not modelled for this framework by this version; states(job) counts their weights", j.framework.label);
  if (p.tensor > 1 || p.context > 1 || p.expert > 1)
    return no("headroom: tensor, context and expert parallelism are not modelled for patterns of layer kinds (model.pattern) by this version; parallel.tensor, context and expert must be 1");
  if (j.compile || j.recompute.mode == recompute_mode::selective)
    return no("headroom: compiled or selectively recomputed layers are not modelled for patterns of layer kinds (model.pattern) by this version; compile must be false, recompute \"none\" or \"full\"");
  for (std::int64_t i = 0; i < j.model.pattern.period; ++i) {
    const auto mixer = j.model.pattern.at(i).mixer;
    if (mixer == mixer_kind::sparse_attention) return check_sparse_attention(j, no);
    if (mixer == mixer_kind::rg_lru && j.attention != attention::unset && j.attention != attention::sdpa && j.hardware.gpu.maker != vendor::cpu)
      return no("headroom: RecurrentGemma's class runs scaled_dot_product_attention whatever it is asked for; attention must be sdpa");
    if (mixer == mixer_kind::kimi_delta && (j.recurrence == recurrence::eager || j.hardware.gpu.maker == vendor::cpu))
      return no("headroom: Kimi Delta Attention (model.pattern kimi-delta) runs in fla's kernels alone, on a GPU; leave recurrence out");
    if (!global(mixer) && !shares_keys(mixer)) continue;
    if (!j.kernels.empty()) return no("headroom: fused kernels are not modelled for layers of global attention by this version; kernels must be empty");
    if (j.batch.packed) return no("headroom: packed sequences are not modelled for layers of global attention by this version; batch.packed must be false");
    if ((j.attention == attention::flash || j.attention == attention::flash3) && attending(j.model, mixer).head_width() > 256)
      return no("headroom: flash kernels take heads of at most 256 features: attention must be sdpa or eager; model.global.head_dim is", j.model.global.head_dim);
  }
  if (const auto why = check_shared_tensors(j, no)) return why;
  if (j.model.ssm.rank > 0 && j.adapter.active() && (j.adapter.base.quantised() || j.adapter.targets == all_linear))
    return no("headroom: adapters on Mamba-1's x_proj and dt_proj, or fewer bits for them, are not modelled by this version; adapter.targets must name modules, and adapter.base have 16 or 32 bits");
  // Fused kernels are told where documents end (fla's and mamba_ssm's cu_seqlens and seq_idx), and keep what they keep of one long sequence.
  if (j.batch.packed && j.model.recurs() && (!j.model.scans() || j.recurrence == recurrence::eager || !j.framework.attention.packs_by_kernel))
    return no("headroom: packed sequences are modelled for recurrent mixers that have fused kernels alone, under transformers' Trainer, by this version; batch.packed must be false");
  return {};
}

/// Towers beside a language model, or in its place.
template <class No>
constexpr objection check_tower_layers(const job& j, const No& no) {
  const auto v = seen(j.model.vision, j.batch.images);
  const auto& f = j.framework.modules;
  const bool swift = f.megatron() && j.framework.adapters.parallel;  // engine/tensor_parallel/limits.hpp
  if (v.kind == vision_kind::megatron_clip)  // engine/tensor_parallel/tower_limits.hpp
    return f.megatron() && !f.deepspeed() && !f.nanotron() ? objection{} : no("headroom: towers of Megatron's own layers (model.vision.kind \"megatron-clip\") are Megatron-LM's: framework must be megatron; it is", j.framework.label);
  if (v.projector == projector_kind::norm_mlp && v.projector_hidden > 0)
    return no("headroom: InternVL's projector (\"norm-mlp\") is as wide inside as what it delivers: model.vision.projector_hidden must be left out, unless the tower is Megatron-LM's own; projector_hidden", v.projector_hidden);
  if ((divides_layers(j.framework) && !swift) || j.compile || (j.parallel.pipeline > 1 && !swift))
    return no("headroom: activations of vision towers are not modelled for this framework or layout by this version; states(job) counts their weights", j.framework.label);
  if (j.batch.images.none) return {};  // engine/eager/limits.hpp
  if (v.projector == projector_kind::contrastive || v.attention_pool)
    return no("headroom: contrastive towers and pooling heads are not modelled by this version; states(job) counts their weights");
  if (v.deep_mergers > 4 || (v.deep_mergers > 0 && v.projector != projector_kind::merger)) return no("headroom: model.vision.deep_mergers must be at most 4, beside a merger", v.deep_mergers);
  const bool pools = v.projector == projector_kind::pooled_linear;
  if (pools != (v.kind == vision_kind::gemma4) || pools != (v.tokens > 0) || (pools && v.image_height < 1))
    return no("headroom: model.vision.tokens, kind \"gemma4\" and projector \"pooled-linear\" go together by this version, with an image_height; tokens", v.tokens);
  if (v.patch < 1 || v.image < v.patch) return no("headroom: batch.images must say how large the images are, {\"width\", \"height\"} in pixels, or that samples are text alone, {\"none\": true}; an image's edge must be a patch's at least, and is", v.image);
  if (v.merge > 1 && v.image / v.patch % v.merge != 0) return no("headroom: model.vision.image / patch must be a multiple of model.vision.merge; image", v.image);
  if (v.image_height > 0 && (v.image_height < v.patch || v.image_height / v.patch % v.merge != 0 || v.projector == projector_kind::resampler))
    return no("headroom: model.vision.image_height / patch must be a multiple of model.vision.merge, and at least 1, without a resampler; image_height", v.image_height);
  if (j.batch.images.given() && !v.newline && image_tokens(v) > j.batch.sequence) return no("headroom: batch.sequence must hold the tokens of a sample's images; they are", image_tokens(v));
  if (v.layers > 0 && (v.hidden < 1 || v.heads < 1 || v.hidden % v.heads != 0)) return no("headroom: model.vision.hidden must be a multiple of model.vision.heads; hidden", v.hidden);
  return {};
}

/// An encoder whose result every layer of the decoder reads.
template <class No>
constexpr objection check_encoder_layers(const job& j, const No& no) {
  const auto& m = j.model;
  if (j.framework.modules.megatron()) return {};  // engine/tensor_parallel/limits.hpp
  if (divides_layers(j.framework) || j.compile || j.parallel.pipeline > 1)
    return no("headroom: encoder-decoder models are not modelled for this framework by this version; states(job) counts their weights", j.framework.label);
  if (!m.encoder.cross_attention || m.sparse() || m.parallel_block || m.vision.kind != vision_kind::none)
    return no("headroom: encoders without cross-attention, or beside experts, parallel blocks or towers, are not modelled by this version; model.encoder.layers", m.encoder.layers);
  return {};
}

/// Whether a layer has a dense feed-forward, of width `ffn`.
constexpr bool has_dense_layers(const shape& m) {
  if (!m.pattern.given()) return m.sparse_layers(0, m.layers) < m.layers;
  for (std::int64_t i = 0; i < m.pattern.period && i < m.layers; ++i)
    if (const auto feeds = m.kind_of(i).feeds; plainly_dense(feeds) || feeds == feed_forward_kind::wide) return true;
  return false;
}

/// Experts of a layer that are two parameters of three dimensions, and no linear layers. What PEFT makes of those (target_parameters) and what
/// optimizers that look at a matrix make of three dimensions is not modelled.
template <class No>
constexpr objection check_joined_experts(const job& j, const No& no) {
  constexpr module_set all{module::experts_gate, module::experts_up, module::experts_down};
  const auto& m = j.model;
  const auto& a = j.adapter;
  if (!m.sparse() || !j.framework.experts.joins_gate()) return {};
  const auto halves = [&](const module_set& s) { return m.mlp == mlp_kind::gated && s.has(module::experts_gate) != s.has(module::experts_up); };
  if (a.active() && (a.targets.bits & all.bits) != 0)
    return no("headroom: since transformers 5 routed experts are parameters and no linear layers, and adapters on them are not modelled by this version: adapter.targets must be "
              "without experts_gate, experts_up and experts_down, or framework.version \"2025-12\" or older; framework", j.framework.label);
  if (a.active() && a.base.quantised()) {
    const bool skips = (a.base_skips.bits & all.bits) == all.bits, also = (a.base_also.bits & all.bits) == all.bits;
    if (skips == also)
      return no("headroom: since transformers 5 routed experts are parameters and no linear layers, which bitsandbytes leaves as they are: adapter.base_skips must have experts, or adapter.base_also, where the "
                "trainer quantises them itself, or framework.version be \"2025-12\" or older; adapter.base has bits", a.base.bits);
    if (also && a.base.bits != 4) return no("headroom: experts that are parameters are modelled in 4 bits alone by this version (adapter.base nf4, nf4-double); adapter.base has bits", a.base.bits);
  }
  if (a.active() && halves(a.modules_to_save)) return no("headroom: since transformers 5 gate and up of the experts are one parameter: adapter.modules_to_save must have both or neither; framework", j.framework.label);
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& t = j.trainable.list[i];
    if (t.experts >= 0 && t.experts < m.experts.count)
      return no("headroom: since transformers 5 all experts of a layer are one parameter, of which a part cannot train: trainable.experts must be left out, or framework.version "
                "\"2025-12\" or older; experts", t.experts);
    if (!t.modules.empty() && halves(t.modules))
      return no("headroom: since transformers 5 gate and up of the experts are one parameter: trainable.modules must have both or neither, or framework.version be \"2025-12\" or older; framework",
                j.framework.label);
  }
  const bool trains = !a.active() || (a.modules_to_save.bits & all.bits) != 0;
  if (trains && (j.optimizer.extent != state_extent::full || j.optimizer.vector_moments > 0))
    return no("headroom: optimizers that treat matrices apart (factored, projected, by rows, Muon) are not modelled for experts that are parameters of three dimensions, as they are since "
              "transformers 5; optimizer", j.optimizer.label);
  return {};
}

/// What a layer is made of, for the framework that the job names.
template <class No>
constexpr objection check_layers(const job& j, const No& no) {
  const auto& m = j.model;
  const auto& f = j.framework;
  const bool divides = divides_layers(f);
  if (!within(m.ffn, m.ffn == 0 && !has_dense_layers(m) ? 0 : 1)) return no("headroom: model.ffn must be a whole number from 1 to 2^40", m.ffn);
  if (!within(m.vocab, m.head == head_kind::language ? 1 : 0)) return no("headroom: model.vocab must be a whole number from 1 to 2^40", m.vocab);
  if (m.sparse() && m.parallel_block) return no("headroom: experts beside a parallel attention block are not modelled by this version; model.parallel_block must be false");
  if (!f.modules.megatron() && m.mtp_layers > 0) return no("headroom: multi-token-prediction modules are not modelled for this framework by this version; model.mtp_layers", m.mtp_layers);
  if (m.fp32_residual && (f.modules.megatron() || m.sparse() || j.adapter.active() || m.vision.kind != vision_kind::none))
    return no("headroom: an fp32 residual stream (model.fp32_residual) is modelled for eager dense models without adapters by this version", f.label);
  // galore_torch galore_projector.py, apollo_torch: a projection is of a matrix.
  if (j.optimizer.extent == state_extent::low_rank && m.sparse() && experts_at_once(m, f.experts) && !j.adapter.active())
    return no("headroom: optimizers that project gradients (GaLore, APOLLO) do not work on experts that are one tensor of three dimensions, as this framework's are; optimizer.rank", j.optimizer.rank);
  if (const auto why = check_joined_experts(j, no)) return why;
  if (const auto why = check_fake_quantization(j, no)) return why;
  if (const auto why = check_frozen_format(j, no)) return why;
  constexpr module_set around{module::shared_up, module::shared_down};
  if (m.sparse() && (m.experts.latent > 0 || m.experts.fp32_router) && (divides || !f.experts.joins_gate() || (j.adapter.active() && (j.adapter.targets.bits & around.bits) != 0 && j.adapter.targets != all_linear)))
    return no("headroom: experts of fewer features (model.experts.latent) and DeepSeek's router without shared experts (model.experts.fp32_router) are modelled as transformers 5 runs them, without adapters on shared "
              "experts by name, by this version; framework", f.label);
  if (m.pattern.given())
    if (const auto why = check_pattern_layers(j, no)) return why;
  if ((m.norm_power || m.value_norm) && (divides || j.compile || !j.kernels.empty() || m.fused_qkv || m.latent() || f.attention.qkv != qkv_projection::separate))
    return no("headroom: norms of a power and over values (model.norm_power, value_norm) are not modelled for this framework, compiled, with fused kernels or one matrix for q, k and v by this version", f.label);
  if (m.fixed_sinks && (divides || j.compile || j.rollout.given() || f.attention.qkv != qkv_projection::separate || j.attention == attention::flash || j.attention == attention::flash3))
    return no("headroom: sinks that never train (model.fixed_sinks) are modelled for attention that writes its scores out, without a rollout, by this version; attention must be eager, or sdpa, which stands for it", f.label);
  if (m.gated_attention && (divides || m.fused_qkv || m.latent() || f.attention.qkv != qkv_projection::separate))
    return no("headroom: gated attention (model.gated_attention) is not modelled for this framework, or with one matrix for q, k and v, by this version", f.label);
  if (const auto why = check_images(m.vision, j.batch.images, no)) return why;
  if (m.vision.kind != vision_kind::none)
    if (const auto why = check_tower_layers(j, no)) return why;
  if (m.encoder.layers > 0)
    if (const auto why = check_encoder_layers(j, no)) return why;
  if (m.activation == activation_kind::xielu && (divides || m.sparse() || m.mlp != mlp_kind::plain || m.parallel_block))
    return no("headroom: xielu (model.activation) is modelled for eager dense layers with a plain MLP alone by this version", f.label);
  if (m.position == position_kind::learned && m.relative_buckets > 0 && (divides || j.compile || m.encoder.layers > 0 || !m.bidirectional))
    return no("headroom: biases of the scores beside learned positions (model.relative_buckets) are modelled for eager encoders alone by this version", m.relative_buckets);
  if (m.down_bias && (divides || m.sparse() || m.encoder.layers > 0 || !j.kernels.empty()))
    return no("headroom: an MLP whose last matrix alone has a bias (model.down_bias) is modelled for eager dense layers without fused kernels alone by this version", f.label);
  if (m.layer_biases && (divides || j.compile || m.position != position_kind::relative || m.relative_buckets < 1))
    return no("headroom: tables of relative positions in each layer (model.layer_biases) are modelled for eager layers with model.position \"relative\" alone by this version; model.relative_buckets", m.relative_buckets);
  if (m.position == position_kind::disentangled) {
    constexpr module_set both{module::q_proj, module::k_proj};
    if (divides || j.compile || j.recompute.mode == recompute_mode::selective || m.latent() || m.pattern.given() || m.encoder.layers > 0 || m.kv() != m.heads || m.fused_qkv || m.qk_norm || m.qk_norm_full || !m.bidirectional || m.relative_buckets < 1)
      return no("headroom: distances between positions (model.position \"disentangled\") are modelled for eager encoders of whole heads alone by this version; model.relative_buckets", m.relative_buckets);
    if (j.adapter.active() && (j.adapter.targets.bits & both.bits) != 0)
      return no("headroom: adapters on queries or keys, which project DeBERTa's table of distances too, are not modelled by this version: adapter.targets must be without q_proj and k_proj", f.label);
  }
  if (m.normed_residual && (divides || j.compile || !j.kernels.empty() || m.parallel_block || m.norm_after || m.post_norms || m.encoder.layers > 0 || (m.sparse() && !f.experts.at_once())))
    return no("headroom: a residual behind each norm (model.normed_residual) is modelled for eager layers without fused kernels, with experts all at once (framework.version of 2026), by this version", f.label);
  if (m.experts.beside_mlp && (divides || j.compile || !j.kernels.empty() || !f.experts.joins_gate()))
    return no("headroom: experts beside the MLP (model.experts.beside_mlp) are modelled for eager layers of transformers since 2026 without fused kernels alone by this version: framework.version must be of 2026", f.label);
  if ((m.experts.narrow_scores || m.experts.plain_router) && divides)
    return no("headroom: routers in the model's format (model.experts.narrow_scores, plain_router) are modelled for eager layers alone by this version", f.label);
  if (m.sub_norms && (divides || m.sparse() || m.latent() || m.pattern.given() || m.encoder.layers > 0))
    return no("headroom: norms in front of each half's last matrix (model.sub_norms) are modelled for eager dense layers that attend alone by this version", f.label);
  if (m.narrow_embedding && (m.embedding_dim < 1 || m.head == head_kind::language || m.encoder.layers > 0))
    return no("headroom: model.narrow_embedding needs an embedding_dim, and a head that is masked-language or none; embedding_dim", m.embedding_dim);
  const bool bert = f.modules.megatron() && m.bidirectional && !m.norm_after && m.head == head_kind::masked_language;  // engine/tensor_parallel/limits.hpp
  if (divides && !bert && (m.bidirectional || m.norm_after || m.head != head_kind::language))
    return no("headroom: encoders and post-norm models are not modelled for this framework by this version; states(job) counts their weights", f.label);
  return {};
}

/// Layers that tensor, sequence and context parallelism divide come out even.
template <class No>
constexpr objection check_division(const job& j, const No& no) {
  const auto& m = j.model;
  const auto& p = j.parallel;
  if (m.heads % p.tensor != 0 || m.kv() % p.tensor != 0)
    return no("headroom: model.heads and kv_heads must be multiples of parallel.tensor; heads", m.heads);
  if (m.ffn % p.tensor != 0) return no("headroom: model.ffn must be a multiple of parallel.tensor; ffn", m.ffn);
  // Each rank has a piece from either end (Megatron-LM training/arguments.py, validate_args; torchtitan distributed/parallel_dims.py, seq_len_divisor).
  if (p.context > 1 && j.batch.sequence % checked::mul(2, p.context) != 0) return no("headroom: batch.sequence must be a multiple of 2 × parallel.context; sequence", j.batch.sequence);
  if (p.sequence && j.batch.sequence / p.context % p.tensor != 0)
    return no("headroom: with parallel.sequence, batch.sequence / context must be a multiple of parallel.tensor; sequence", j.batch.sequence);
  return {};
}

/// Kernels that stand for several operations.
template <class No>
constexpr objection check_kernels(const job& j, const No& no) {
  const auto& m = j.model;
  const auto& a = j.adapter;
  if (j.kernels.empty() && j.loss.kind != loss_kind::cut) return {};
  if (divides_layers(j.framework) || j.compile || j.recompute.mode == recompute_mode::selective)
    return no("headroom: fused kernels (kernels, loss.kind \"cut\") are not modelled for this framework, compiled or selectively recomputed layers by this version", j.framework.label);
  if (j.kernels.has(fused_kernel::norm) && (m.gated_attention || m.fp32_norm))
    return no("headroom: fused norms are not modelled for models with gated attention, and for norms that scale in fp32, by this version; kernels must be without \"norm\"");
  if (!j.kernels.adapted()) return {};
  if (a.kind != adapter_kind::lora || a.base.bits == 8 || a.base.column_bits > 0 || ((m.mlp == mlp_kind::plain || m.sparse()) && j.kernels.has(fused_kernel::adapted_mlp)))
    return no("headroom: kernels for adapters (adapted-qkv, adapted-output, adapted-mlp) are modelled for LoRA with bases of 16 or of 4 bits, adapted-mlp on dense gated models, by this version");
  return {};
}

/// How a layer runs: compiled, in fp8, over packed sequences.
template <class No>
constexpr objection check_running(const job& j, const No& no) {
  const auto& f = j.framework;
  if (j.compile && !f.compile.layers && !f.compile.loss)
    return no("headroom: torch.compile is not modelled for this framework by this version; compile must be false", f.label);
  if (j.compile && writes_scores(j))
    return no("headroom: compiled layers with attention written out are not modelled by this version; attention must be sdpa, flash or flash3");
  if (!f.modules.megatron() && j.precision.compute.bits > 0 && j.precision.compute.bits < 8)
    return no("headroom: computation in so few bits is not modelled for this framework by this version; precision.compute must have 16 or 32 bits, or 8 where the framework has fp8; its bits", j.precision.compute.bits);
  if (!f.modules.megatron() && j.precision.compute.bits == 8 && !f.fp8.quantises_in_linear)
    return no("headroom: fp8 computation is not modelled by this version; precision.compute must have 16 or 32 bits", j.precision.compute.bits);
  const bool by_kernel = f.attention.packs_by_kernel && (j.attention == attention::flash || j.attention == attention::flash3);
  if (const auto why = check_kernels(j, no)) return why;
  if (j.batch.packed && f.attention.packs_by_kernel && !by_kernel)
    return no("headroom: packed sequences need a kernel that takes them apart here; attention must be flash or flash3");
  const bool of_pairs = f.modules.megatron() && has_own_loss(j.objective);  // rows of whole samples, which kernels take apart by their lengths (PackedSeqParams)
  if (j.batch.packed && !f.attention.packs_documents && !by_kernel && !of_pairs)
    return no("headroom: packed sequences are not modelled for this framework by this version; batch.packed must be false", f.label);
  return {};
}

}  // namespace headroom::detail
