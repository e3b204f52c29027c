// Distributed under the Boost Software License, Version 1.0.
// A job as Megatron-LM's arguments, the model's among them.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/export_document.hpp>
#include <headroom/io/launchers/megatron/import.hpp>

namespace headroom::io {

namespace detail {

inline void megatron_model(json_value& a, const shape& m) {
  a.update({{"num-layers", m.layers}, {"hidden-size", m.hidden}, {"num-attention-heads", m.heads}, {"ffn-hidden-size", m.ffn}, {"make-vocab-size-divisible-by", m.vocab_multiple}});
  const auto head_dim = m.head_dim > 0 ? m.head_dim : m.heads > 0 ? m.hidden / m.heads : 1;
  a["kv-channels"] = head_dim;
  if (m.kv_heads > 0 && m.kv_heads != m.heads) a.update({{"group-query-attention", true}, {"num-query-groups", m.kv_heads}});
  if (m.vocab > 0) a["vocab-size"] = m.vocab;
  if (m.max_positions > 0) a["max-position-embeddings"] = m.max_positions;
  if (m.mlp == mlp_kind::gated) a["swiglu"] = true;
  if (m.activation == activation_kind::relu2) a["squared-relu"] = true;
  a["normalization"] = m.norm == norm_kind::rmsnorm ? "RMSNorm" : "LayerNorm";
  if (!m.output_bias && !m.mlp_bias) a["disable-bias-linear"] = true;
  if (m.attention_bias && !m.output_bias) a["add-qkv-bias"] = true;
  a["position-embedding-type"] = m.position == position_kind::learned ? "learned_absolute" : text_of(m.position);
  if (m.rotary_percent != 100 && m.position == position_kind::rope) a["rotary-percent"] = static_cast<double>(m.rotary_percent) / 100.0;
  if (!m.tied) a["untie-embeddings-and-output-weights"] = true;
  if (m.qk_norm) a["qk-layernorm"] = true;
  if (m.mtp_layers > 0) a["mtp-num-layers"] = m.mtp_layers;
  if (m.latent()) {
    a.update({{"multi-latent-attention", true}, {"kv-lora-rank", m.mla.kv_rank}, {"qk-head-dim", m.mla.nope_dim}, {"qk-pos-emb-head-dim", m.mla.rope_dim}, {"v-head-dim", m.mla.value_dim}});
    if (m.mla.q_rank > 0) a["q-lora-rank"] = m.mla.q_rank;
  }
  const auto& e = m.experts;
  if (e.count == 0) return;
  a.update({{"num-experts", e.count}, {"moe-router-topk", e.active}, {"moe-ffn-hidden-size", e.ffn}});
  if (e.shared_ffn > 0) a["moe-shared-expert-intermediate-size"] = e.shared_ffn;
  if (e.router_bias) a["moe-router-enable-expert-bias"] = true;
  if (e.capacity_factor_percent > 0) a["moe-expert-capacity-factor"] = static_cast<double>(e.capacity_factor_percent) / 100.0;
  if (e.first_dense_layers > 0) a["moe-layer-freq"] = "([0]*" + std::to_string(e.first_dense_layers) + "+[1]*" + std::to_string(m.layers - e.first_dense_layers) + ")";
}

/// Layers of chunks as a layout: the embedding in the first part, the loss in the last.
inline std::string megatron_layout(const job& j) {
  std::string r = "E";
  for (std::int32_t i = 0; i < chunks_given(j.parallel); ++i) {
    if (i > 0) r += '|';
    r += std::string(static_cast<std::size_t>(std::clamp(std::int32_t{j.parallel.stage_layers[i]}, 0, 4096)), 't');
  }
  return r + std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(j.model.mtp_layers, 0, 64)), 'm') + "L";
}

inline void megatron_formats(json_value& a, const job& j) {
  const auto& p = j.precision;
  const bool half = p.compute == formats::fp16;
  const bool eight = p.compute == formats::fp8, narrow = multiplies_narrow(p);
  if (half) a["fp16"] = true;
  if (p.compute == formats::bf16 || narrow) a["bf16"] = true;
  if (p.compute == formats::nvfp4) a["fp4-format"] = "e2m1";
  if (eight && !a.contains("fp8-format")) a["fp8-format"] = "hybrid";
  if (p.parameters == formats::fp8) a["fp8-param-gather"] = true;
  if (j.sharding.kind == sharding_kind::megatron_fsdp) {
    a.update({{"megatron-fsdp-main-grads-dtype", p.gradients.label.view()}, {"megatron-fsdp-grad-comm-dtype", p.reduce.label.view()}});
    if (p.master.present()) a["megatron-fsdp-main-params-dtype"] = p.master.label.view();
    return;
  }
  if (half && p.gradients == formats::fp32) a["accumulate-allreduce-grads-in-fp32"] = true;
  if (!half && p.gradients == formats::bf16 && (p.compute == formats::bf16 || narrow)) a["main-grads-dtype"] = "bf16";
  if (p.compute != formats::fp32 && p.state != formats::fp32) a.update({{"exp-avg-dtype", format_name(p.state)}, {"exp-avg-sq-dtype", format_name(p.state)}});
}

}  // namespace detail

/// The same job with what Megatron takes for granted said one way: heads and sizes by default, its own loss and optimizer kernels.
inline job as_megatron(job j) {
  auto& m = j.model;
  m.label = {};
  if (m.kv_heads == 0) m.kv_heads = m.heads;
  if (m.head_dim == 0 && m.heads > 0) m.head_dim = m.hidden / m.heads;
  if (m.experts.shared_ffn > 0 && m.experts.shared == 0) m.experts.shared = 1;
  if (m.experts.every == 0) m.experts.every = 1;
  m.fused_qkv = m.fused_gate_up = false;  // its own modules are
  if (j.parallel.tensor == 1) j.parallel.sequence = false;
  if (j.parallel.context == 1) j.parallel.context_kind = {};
  if (auto& order = j.parallel.schedule; order == usual_schedule(1)) order = usual_schedule(j.parallel.virtual_pipeline);
  if (j.sharding.kind == sharding_kind::none) j.sharding.kind = sharding_kind::ddp;
  if (!m.sparse()) {
    j.parallel.expert_tensor = 1;
    j.framework.experts.dispatcher = frameworks::megatron.experts.dispatcher;  // of experts
  }
  if (j.recompute.mode == recompute_mode::selective && j.recompute.modules == 0) j.recompute.modules = 1U << static_cast<int>(recompute_module::core_attn);
  if (auto& r = j.recompute; r.mode == recompute_mode::full && r.method == recompute_method::unset) r.method = recompute_method::uniform, r.layers = 1;  // without which Megatron-LM ends
  if (j.optimizer.how == j.framework.optimizer.how) j.optimizer.how = implementation::unset;
  if ((j.loss.kind == loss_kind::vocab_parallel || j.loss.kind == loss_kind::full) && (!j.loss.logits.set() || j.loss.logits == formats::fp32) && j.loss.chunk_tokens == 0) j.loss = {};
  return j;
}

/// The arguments as an object. Throws job_error for what they cannot say.
inline json_value megatron_document(const job& given) {
  constexpr std::string_view target = "Megatron-LM";
  detail::needs_framework(given, "megatron", target);
  const auto j = stated(given);
  if (j.framework.date == frameworks::megatron_bridge.date) fail("headroom: " + std::string{target} + " cannot say framework.version = \"Megatron-Bridge\": its recipes are no arguments");
  if (j.framework.adapters.parallel) fail("headroom: " + std::string{target} + " cannot say framework.version = \"Megatron-SWIFT\": its adapters and ranges are ms-swift's; set framework.version to a date of Megatron-LM's");
  auto a = megatron_options_of(j.framework);
  a.erase("hidden-size");
  detail::megatron_model(a, j.model);
  const auto& p = j.parallel;
  a.update({{"tensor-model-parallel-size", p.tensor}, {"pipeline-model-parallel-size", p.pipeline}, {"context-parallel-size", p.context}, {"micro-batch-size", j.batch.micro}, {"seq-length", j.batch.sequence},
            {"global-batch-size", checked::mul(j.batch.micro, j.batch.accumulation, p.data)}});
  if (p.sequence) a["sequence-parallel"] = true;
  if (p.replicate > 1) a["num-distributed-optimizer-instances"] = p.replicate;
  if (j.model.sparse()) {
    a.update({{"expert-model-parallel-size", p.expert}, {"expert-tensor-parallel-size", p.expert_tensor}});
    if (!a.contains("moe-token-dispatcher-type"))
      a["moe-token-dispatcher-type"] = j.framework.experts.dispatcher == token_dispatcher::flex ? "flex" : j.framework.experts.dispatcher == token_dispatcher::all_to_all ? "alltoall" : "allgather";
  }
  if (p.first_stage_layers > 0) a["decoder-first-pipeline-num-layers"] = p.first_stage_layers;
  if (p.last_stage_layers > 0) a["decoder-last-pipeline-num-layers"] = p.last_stage_layers;
  if (chunks_given(p) > 0)
    a["pipeline-model-parallel-layout"] = detail::megatron_layout(j);
  else if (p.virtual_pipeline > 1)
    a["num-virtual-stages-per-pipeline-rank"] = p.virtual_pipeline;
  if (p.context > 1 && !a.contains("cp-comm-type")) a["cp-comm-type"] = p.context_kind == context_kind::ring ? "p2p" : p.context_kind == context_kind::ulysses ? "a2a" : "all_gather";
  const auto& s = j.sharding;
  if (s.kind == sharding_kind::megatron_distributed_optimizer) a["use-distributed-optimizer"] = true;
  if (s.kind == sharding_kind::megatron_fsdp) {
    constexpr const char* strategies[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
    a.update({{"use-megatron-fsdp", true}, {"data-parallel-sharding-strategy", strategies[std::clamp<std::int64_t>(s.stage, 0, 3)]}});
    if (s.communication_unit > 0) a["suggested-communication-unit-size"] = s.communication_unit;
    if (s.double_buffer == choice::yes) a["fsdp-double-buffer"] = true;
  }
  const auto& r = j.recompute;
  if (r.mode != recompute_mode::none) {
    a["recompute-granularity"] = text_of(r.mode);
    const bool open = r.mode == recompute_mode::full && r.method == recompute_method::unset;  // without a method Megatron-LM ends
    if (open || r.method != recompute_method::unset) a["recompute-method"] = text_of(open ? recompute_method::uniform : r.method);
    if (open || r.layers > 0) a["recompute-num-layers"] = open ? 1 : r.layers;
    std::string modules;
    for (const auto& n : names_of<recompute_module>)
      if ((r.modules >> static_cast<int>(n.value) & 1U) != 0) modules += (modules.empty() ? "" : " ") + std::string{n.text};
    if (!modules.empty()) a["recompute-modules"] = modules;
  }
  a["attention-backend"] = j.attention == attention::flash ? "flash" : j.attention == attention::eager ? "unfused" : "fused";
  a.update({{"attention-dropout", static_cast<double>(j.dropout.attention.per_million) / 1e6}, {"hidden-dropout", static_cast<double>(j.dropout.hidden.per_million) / 1e6}});
  if (const auto theirs = name_of_optimizer(optimizer_namer::megatron, j.optimizer); !theirs.empty()) a["optimizer"] = theirs;
  detail::megatron_formats(a, j);

  // The GPUs and the environment are not Megatron's; its optimizer is fused, its loss and padding are the framework's.
  json_value rest = json_value::object();
  const auto whole = job_to_json(j);
  for (const auto* key : {"hardware", "environment"})
    if (whole.contains(key)) rest[key] = whole[key];
  rest["framework"] = {{"name", "megatron"}};
  auto d = detail::draft_from(rest);
  import_megatron(d, {.source = std::string{target}, .root = a, .lines = {}});
  detail::check_reads_back(as_megatron(j), as_megatron(d.settled()), target);
  return a;
}

}  // namespace headroom::io
