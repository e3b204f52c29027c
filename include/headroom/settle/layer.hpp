// Distributed under the Boost Software License, Version 1.0.
// What the layers of a job read of it: sizes, formats, kernels, adapters (block/scene.hpp).
#pragma once

#include <headroom/model/towers.hpp>
#include <headroom/settle/settled_job.hpp>

namespace headroom {

/// Modules that the job names for layer `layer` (-1: outside the stack), in any of its selections.
constexpr module_set named_modules(const job& j, std::int64_t layer) {
  module_set all;
  all.bits = (std::uint32_t{1} << module_count) - 1;
  if (j.trainable.all()) return j.adapter.active() ? j.adapter.modules_to_save : all;
  module_set r = j.adapter.modules_to_save;
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& s = j.trainable.list[i];
    if (s.last_layer >= 0 && (layer < s.first_layer || layer > s.last_layer)) continue;
    r |= s.modules.empty() ? all : s.modules;
  }
  return r;
}

/// Whether the head that trains is PEFT's copy of the embedding's matrix, and a matrix of its own from then on (peft utils/other.py ModulesToSaveWrapper).
constexpr bool copies_tied_head(const job& j) { return j.model.tied && j.adapter.active() && j.adapter.modules_to_save.has(module::head); }

/// Whether the head is the embedding's matrix as the model trains: a framework may give it one of its own, and an objective has a score in its place.
constexpr bool ties_head(const job& j) {
  return j.model.tied && !j.framework.loading.unties_embeddings && !copies_tied_head(j) && (traits_of(j.objective.kind).vocabulary || keeps_language_head(j.objective));
}

/// Modules that train in layer `layer` (-1: outside the stack). A table that is the head's matrix, too, is one parameter (transformers modeling_utils.py
/// tie_weights): who names the embedding trains both.
constexpr module_set trained_modules(const job& j, std::int64_t layer) {
  auto r = named_modules(j, layer);
  if (r.has(module::embedding) && ties_head(j)) r.bits |= module_set::bit(module::head);
  return r;
}

/// Whether a head that is the embedding's matrix has an adapter: PEFT warns, and puts a layer of its own around lm_head, whose A and B train beside the
/// matrix that both share (peft tuners/tuners_utils.py inject_adapter, tied_target_modules; LoraConfig.ensure_weight_tying is false unless it is said).
constexpr bool adapts_tied_head(const job& j) { return j.model.tied && j.adapter.active() && j.adapter.targets.has(module::head) && !copies_tied_head(j); }

/// The same of the model as it trains: an objective may leave it no head over the vocabulary (settle_head), and a framework's loading gives it one of its
/// own, which the list has.
constexpr bool copies_tied_head(const settled_job& s) {
  return copies_tied_head(*s.source) && s.model.head != head_kind::none && !s.source->framework.loading.unties_embeddings;
}
constexpr bool adapts_tied_head(const settled_job& s) { return s.model.tied && s.model.head != head_kind::none && adapts_tied_head(*s.source); }

}  // namespace headroom

namespace headroom::detail {

/// What of a layer depends on the micro-batch. A search settles this alone where the rest is as it was.
constexpr void settle_micro_batch(settled_job& r) {
  const auto& j = *r.source;
  r.layer.samples = checked::mul(j.batch.micro, sequences_of(j.objective));
  const auto& o = j.objective;
  const bool scores = o.kind == objective_kind::grpo || o.kind == objective_kind::rloo || distils_by_swift(o);
  // verl, NeMo-RL and OpenRLHF (openrlhf/models/actor.py forward) make logits of whole samples, ms-swift of a rank's part of a row.
  const bool last_alone = scores && o.code != method_code::verl && o.code != method_code::nemo_rl && o.code != method_code::openrlhf && j.framework.modules.eager() && j.parallel.context == 1;
  r.layer.kept = j.rollout.given() && last_alone ? j.rollout.completion + 1 : 0;
  if (r.layer.kept > 0 && j.rollout.data_answers >= r.layer.kept) r.layer.kept = j.rollout.data_answers < j.batch.longest() ? j.rollout.data_answers + 1 : 0;
  // Of samples in one row all behind the first prompt (ms-swift rlhf_trainers/utils.py collate_to_grpo_micro_batch); GKD's are chosen by a mask.
  if (r.layer.kept > 0 && j.batch.packed && generates(o.kind)) r.layer.kept = j.batch.longest() - (j.rollout.prompt - 1) / r.layer.samples;
  r.layer.tokens = checked::ceil_div(checked::mul(r.layer.samples, r.layer.sequence), j.parallel.context);  // padded to a multiple
}

/// What a layer sees: samples and positions, and how parallelism divides them.
constexpr void settle_tokens(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  s.sequence = j.batch.longest();
  if (r.model.vision.kind != vision_kind::none && r.model.vision.layers == 0 && r.model.vision.patch > 0) {  // the main stack reads patches
    const auto edge = r.model.vision.image / r.model.vision.patch;
    s.sequence = checked::mul(edge, edge) + (traits_of(r.model.vision.kind).class_token ? 1 : 0);
  }
  settle_micro_batch(r);
  if (r.model.encoder.layers > 0) s.memory = r.model.encoder.sequence > 0 ? r.model.encoder.sequence : s.sequence;
  s.tensor = j.parallel.tensor;
  s.sequence_split = j.parallel.sequence ? j.parallel.tensor : 1;
  s.context = j.parallel.context;
  s.context_kind = j.parallel.context_kind;
  s.exchanges_whole = of_swift(j.objective.code);
  s.expert = j.parallel.expert;
  s.expert_tensor = j.parallel.expert_tensor;
  s.expert_imbalance = j.parallel.expert_imbalance_percent;
  // Grouped products over rows that are sorted by expert are as large however the rows are shared out.
  const bool even = j.framework.modules.eager() && !j.framework.experts.joins_gate();
  if (r.model.sparse() && (even || (j.parallel.expert > 1 && s.expert_imbalance == 100 && r.model.experts.capacity_factor_percent == 0)))
    r.assumptions.add(assumption::balanced_routing);
  s.vocabulary = r.model.vocab;
  s.padded = j.batch.padded;
  s.packed = j.batch.packed;
}

/// The formats that pass between operations.
constexpr void settle_widths(settled_job& r) {
  const auto& j = *r.source;
  const auto& p = r.precision;
  auto& s = r.layer;
  s.host = r.on->maker == vendor::cpu;
  s.granule = s.host ? 1 : 512;
  // T5 before transformers 5.16 makes its scores fp32 itself (modeling_t5.py, softmax(scores.float(), dim=-1)).
  s.copies_for_softmax = s.host || p.compute != formats::fp16 || j.model.position == position_kind::relative;
  s.autocast = p.autocasts();
  s.casts_weights = s.autocast && p.parameters.width() > p.compute.width();
  s.fp8 = multiplies_narrow(p);
  const bool blackwell = r.on->compute_capability >= 100, fp4 = p.compute == formats::nvfp4, blocks = fp4 || j.framework.fp8.scaling == fp8_scaling::block;
  s.fp8_copies = !blocks && blackwell ? 1 : 2;
  // TransformerEngine pytorch/tensor/nvfp4_tensor.py, mxfp8_tensor.py, float8_blockwise_tensor.py get_scale_shape: a byte for 16 numbers, for 32, and four for
  // 128, of a weight for a square of 128; the padding of scales to 128 rows and 4 blocks is left out.
  s.narrow_bits = fp4 ? 4 : 8;
  s.scaled_together = fp4 ? 16 : blocks ? 32 : 0;
  s.weights_together = blocks && !blackwell ? 128 * 128 / 4 : s.scaled_together;
  s.width = !s.fp8 ? p.compute.width() : j.framework.fp8.rest_in_fp32 ? 4 : 2;
  s.narrow_frozen = s.casts_weights && p.frozen.set() && p.frozen.width() < p.parameters.width();
  const bool narrow_stream = s.narrow_frozen && !trained_modules(j, -1).has(module::embedding);  // it begins in the embedding's format, and sums of both are in it
  s.residual_width = narrow_stream ? p.frozen.width() : s.autocast ? p.parameters.width() : s.width;
  if (r.model.fp32_residual) s.residual_width = 4;
  s.expert_width = s.weight_width = s.autocast ? p.parameters.width() : s.width;
  s.statistic_width = j.framework.norm.statistics_in_input_format || s.host ? s.residual_width : 4;
  s.accumulated_width = r.sharded() ? p.reduce.width() : s.weight_width;
}

/// What Megatron's experts keep beside what their layers save. A product keeps both factors. Autograd's derivative of index_add_ (torch tools/
/// autograd/derivatives.yaml, index_add) reads the shape of what was added, and so keeps that. TransformerEngine's grouped layers came with 1.9,
/// after NVIDIA's images of torch 2.4; before, core/transformer/moe/experts.py GroupedMLP multiplied, and its activation_func_with_probs was one
/// compiled function.
constexpr void settle_experts(settled_job& r) {
  const auto& j = *r.source;
  const auto& e = j.framework.experts;
  auto& s = r.layer;
  if (!j.framework.modules.megatron() || !r.model.sparse()) return;
  const bool grouped = e.gemm == expert_gemm::grouped_gemm;
  s.grouped_by_engine = grouped && !(j.environment.torch > 0 && j.environment.torch < 205);
  s.keeps_returned = e.weighs_returned || (e.adds_by_index && j.framework.attention.deterministic && !e.fuses_permutation);
  s.weighs_in_activation = e.weighs_returned || (grouped && !s.grouped_by_engine);
}

/// What torch's own attention has no kernel for on NVIDIA's GPUs. Flash attention's and cuDNN's are of 16 bits and from Ampere on. The third, of fp32 and
/// fp16, from Ampere on of bf16, takes grouped heads since pull request 191085 of 2026-07-25 (sdp_utils.cpp check_dtypes_low_precision,
/// can_use_mem_efficient_attention; torch 2.14 by its date).
constexpr void settle_own_kernels(settled_job& r) {
  const auto& g = *r.on;
  auto& s = r.layer;
  if (s.kernel != attention::sdpa || g.maker != vendor::nvidia) return;
  const auto torch = r.source->environment.torch;
  const bool before_ampere = g.compute_capability > 0 && g.compute_capability < 80;
  s.no_kernel = before_ampere && r.precision.compute == formats::bf16;
  s.groups_by_math = (before_ampere || s.width == 4) && (torch > 0 ? torch < 214 : r.source->framework.date < 202610);
}

/// Whether torch's own attention is cuDNN's kernel on Hopper: since 2.11, whose wheels bring a cuDNN newer than 9.15
/// (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp check_prefer_cudnn_attention; huggingface/transformers pull request 48163 has tried it).
/// Where the version is not said, it is that of the framework's date: 2.11 or newer from 2026-08 on. torchtitan asks for cuDNN's by itself, and its
/// "flash" is torch's own, too.
constexpr bool prefers_cudnn(const settled_job& s) {
  const auto& f = s.source->framework;
  const auto torch = s.source->environment.torch;
  if (s.on->compute_capability / 10 != 9) return false;
  if (f.attention.prefers_cudnn) return s.layer.kernel == attention::sdpa || s.layer.kernel == attention::flash;
  return s.layer.kernel == attention::sdpa && (torch > 0 ? torch >= 211 : f.date >= 202608);
}

/// Which kernels compute attention and recurrent mixers.
constexpr void settle_kernels(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  s.kernel = j.attention;
  if (s.kernel == attention::unset && j.framework.modules.nanotron()) s.kernel = attention::flash;
  if (s.kernel == attention::unset && j.framework.modules.neox()) s.kernel = attention::eager;  // "global", the default of attention_config
  if (s.kernel == attention::unset) {
    s.kernel = attention::sdpa;
    if (!j.framework.attention.chooses_kernel) r.assumptions.add(assumption::attention_sdpa);
  }
  s.ungrouped = j.environment.torch > 0 && j.environment.torch < 205;
  s.sums_views_apart = j.environment.torch > 0 ? j.environment.torch > 205 : j.framework.date > 202411;
  settle_own_kernels(r);
  s.cudnn = s.kernel == attention::sdpa && r.precision.compute.width() == 2 && prefers_cudnn(r);
  s.recurrence = j.recurrence;
  if (s.recurrence == recurrence::unset && r.model.scans()) {
    s.recurrence = recurrence::fused;
    if (!j.framework.modules.megatron()) r.assumptions.add(assumption::recurrence_fused);
  }
  // TransformerEngine's flash and cuDNN kernels compute in 16 bits, from Ampere on (attention/dot_product_attention/utils.py, get_attention_backend).
  const bool engine = j.framework.modules.megatron() && !j.framework.modules.local() && (s.kernel == attention::te || s.kernel == attention::flash);
  if (engine && (r.precision.compute == formats::fp32 || (r.on->maker == vendor::nvidia && r.on->compute_capability > 0 && r.on->compute_capability < 80))) s.kernel = attention::eager;
  // TransformerEngine 1.2, of NVIDIA's images up to torch 2.2, has no deterministic kernel before Hopper: flash attention was not counted as one
  // (v1.2.1 attention.py, "version 2 does not support deterministic execution"; from 1.3 on it is).
  if (s.kernel == attention::te && j.framework.attention.deterministic && j.environment.torch > 0 && j.environment.torch < 203 && r.on->compute_capability < 90) s.kernel = attention::eager;
  // TransformerEngine's kernels take heads whose width is a multiple of 8 (attention/dot_product_attention/utils.py get_attention_backend).
  if (engine && s.kernel != attention::eager && r.model.head_width() % 8 != 0 && !r.model.latent()) s.kernel = attention::eager;
  // backends.py UnfusedDotProductAttention, masked_fill; in NVIDIA's images since torch 2.5.
  s.zeroes_padding = j.framework.modules.megatron() && !j.framework.modules.local() && (j.environment.torch == 0 || j.environment.torch >= 205);
  // TransformerEngine prefers cuDNN on Hopper, whose result needs no transposed copy, and flash attention elsewhere (attention/
  // dot_product_attention/utils.py get_attention_backend; Blackwell inferred from a measured run).
  s.copies_flash_output = s.kernel == attention::flash || (s.kernel == attention::te && r.on->compute_capability / 10 != 9);
  const auto& m = r.model;
  const bool written_out = (m.attention_softcap > 0 && !j.framework.caps_in_kernels()) || m.position == position_kind::disentangled || (m.position == position_kind::learned && m.relative_buckets > 0) ||
                           (m.unfused_attention && j.framework.runs_transformers() && s.kernel != attention::flash);
  if (written_out && s.kernel != attention::eager) {
    s.kernel = attention::eager;
    r.assumptions.remove(assumption::attention_sdpa);
    r.assumptions.add(assumption::attention_eager_for_softcap);
  }
  if (s.kernel != attention::eager && s.kernel != attention::math && !s.host) r.assumptions.add(assumption::flash_backward_workspace);
}

/// The format of what a quantised base leaves.
constexpr number_format left_by_base(const job& j, const precision& p, bool experts) {
  const auto& a = j.adapter;
  if (experts && a.rest_experts.set()) return a.rest_experts;
  return a.rest.set() ? a.rest : j.framework.quantised.upcasts_beside(a.base) ? formats::fp32 : p.parameters;
}

/// Adapters, and the frozen base under them.
constexpr void settle_adapter(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  s.side = &j.adapter;
  if (!j.adapter.active()) return;
  const auto& f = j.adapter.format;
  s.adapter_width = f.set() ? f.width() : s.width;
  if (!f.set()) r.assumptions.add(assumption::adapter_format);
  if (j.framework.adapters.in_fp32 && s.adapter_width < 4) {
    s.adapter_width = 4;
    r.assumptions.add(assumption::adapters_in_fp32);
  }
  // FSDP's mixed precision casts an adapter's weights as it gathers them (torch/distributed/fsdp MixedPrecision, MixedPrecisionPolicy param_dtype).
  s.adapter_kept = s.adapter_width;
  if (j.sharding.gathers_units() && !s.autocast && s.adapter_width == r.precision.parameters.width()) s.adapter_width = s.width;
  if (j.adapter.base.quantised()) {
    s.base = j.adapter.base;
    auto packed = all_linear;
    if (j.framework.quantised.with_head) packed |= module_set{module::head};
    packed |= j.adapter.base_also;
    packed.bits &= ~(j.adapter.base_skips.bits | j.adapter.modules_to_save.bits);
    s.quantised = packed;
    // Four bits are made what layers compute in, and bytes fp32 (axolotl monkeypatch/moe_quant.py, Bnb8bitParametrization; bitsandbytes int8_vectorwise_dequant).
    s.expert_width = !packed.has(module::experts_up) ? left_by_base(j, r.precision, true).width() : s.base.bits == 8 ? 4 : s.width;
  }
  if (j.framework.autocast.converts_outputs) {  // accelerate does, under PEFT's adapters
    if (j.sharding.fully_sharded() && r.flat && r.shards.parameters > 1) r.assumptions.add(assumption::sharded_adapters_unexplained);
    if (j.framework.quantised.upcasts_beside(j.adapter.base) && !j.adapter.rest.set()) r.assumptions.add(assumption::upcast_quantised_base);
  }
}

/// Whether PEFT makes the token's embedding require a gradient, so that something reaches the adapters.
constexpr bool embedding_asked_for_gradient(const job& j, bool quantised) {
  if (!j.adapter.active()) return false;
  const auto when = j.framework.adapters.embeddings_need_gradient;
  return when == input_gradient::always || (when == input_gradient::if_checkpointed && (j.recompute.mode == recompute_mode::full || quantised));
}

/// Whether layers' own embeddings have gradients.
constexpr void settle_layer_inputs(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  if (r.model.layer_input.width == 0) return;
  const auto outside = trained_modules(j, -1);
  s.embedding_is_leaf = !outside.has(module::embedding) && embedding_asked_for_gradient(j, s.base.quantised());
  s.layer_inputs_train = s.embedding_is_leaf || s.adapts(module::layer_input) || outside.has(module::embedding) || outside.has(module::layer_input) || outside.has(module::norm);
}

/// What blocks read of the job.
constexpr void settle_layer(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  s.habits = &j.framework;
  settle_tokens(r);
  settle_widths(r);
  if (j.recompute.mode == recompute_mode::selective) {
    s.recomputed_modules = j.recompute.modules;
    if (j.framework.modules.eager()) s.policy = j.recompute.policy;
  }
  if (j.offload.activations != place::on_gpu) s.offloaded_modules = j.framework.checkpointing.offloaded_modules;
  // Up to TransformerEngine 2.2, of images up to torch 2.7, each weight's backward makes the empty tensor anew that later ones keep. (Experts had
  // a grouped GEMM of another library then, which is not followed.)
  const bool makes_anew = j.environment.torch > 0 && j.environment.torch < 208 && !j.model.sparse();
  s.fuses_weight_gradients = j.framework.gradients.fused_accumulation && !makes_anew;
  s.drops = j.dropout;
  s.fake = j.fake_quantization;
  s.fake_head = s.fake.active() && !(j.model.tied && j.framework.quantised.leaves_tied_head);
  // torchtitan compiled a layer with experts module by module, but for the experts (models/llama4/infra/parallelize.py apply_compile), and compiles it as a whole
  // today (distributed/compile.py).
  const bool in_parts = r.model.sparse() || r.model.latent();
  s.compiled = j.compile && j.framework.compile.layers && !in_parts;
  if (s.compiled) r.assumptions.add(assumption::compiled_layers);
  if (j.compile && j.framework.compile.layers && in_parts) r.assumptions.add(assumption::compiled_in_parts);
  s.fused = j.kernels;
  s.fused.bits |= j.framework.kernels.bits;
  settle_kernels(r);
  settle_experts(r);
  settle_adapter(r);
  settle_layer_inputs(r);
}

}  // namespace headroom::detail
