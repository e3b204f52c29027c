// Distributed under the Boost Software License, Version 1.0.
// Jobs drawn at random with some of their keys said otherwise: every key of a job file has its turn.
#pragma once

#include <headroom/io/job_reader.hpp>

#include "../estimate/draw.hpp"

namespace changed {

using namespace headroom;

/// A key of a job file, and what it is changed to: values in JSON between bars.
struct changed_key {
  std::string_view key, values;
};
// clang-format off
inline constexpr changed_key keys[] = {
    {"model", R"("llama-3.1-8b"|"qwen3-0.6b"|"mixtral-8x7b"|"gpt2"|"gemma-2-2b"|"qwen3-30b-a3b"|"llava-1.5-7b"|"deepseek-v3")"},
    {"model.kv_heads", "1|2"}, {"model.head_dim", "64|128"}, {"model.ffn", "1024"}, {"model.mlp", R"("gated"|"plain")"}, {"model.activation", R"("silu"|"gelu"|"relu2"|"tanh"|"xielu")"},
    {"model.norm", R"("rmsnorm"|"layernorm")"}, {"model.norm_bias", "true|false"}, {"model.norm_weight", "false"}, {"model.attention_bias", "true|false"}, {"model.output_bias", "true|false"},
    {"model.mlp_bias", "true|false"}, {"model.position", R"("rope"|"learned"|"alibi"|"none"|"disentangled")"}, {"model.rotary_fraction", "0.5"}, {"model.rotary", R"("pairs"|"fp32-pairs"|"own-pairs"|"fp32-halves"|"split-halves")"}, {"model.softmax", R"("compute"|"fp32"|"fp32-scores")"}, {"model.max_positions", "4096"}, {"model.vocab", "32000"},
    {"model.vocab_multiple", "64"}, {"model.tied", "true|false"}, {"model.head_bias", "true"}, {"model.normalised_head", "true"}, {"model.qk_norm", "true"}, {"model.qk_norm_full", "true"},
    {"model.post_norms", "true"}, {"model.parallel_block", "true"}, {"model.shared_attention_norm", "true"}, {"model.fused_qkv", "true"}, {"model.fused_gate_up", "true"},
    {"model.attention_softcap", "50"}, {"model.logit_softcap", "30"}, {"model.sliding_window", "64"}, {"model.chunked", "true"}, {"model.mtp_layers", "1"}, {"model.head", R"("masked-language"|"none")"},
    {"model.pooler", "true"}, {"model.bidirectional", "true"}, {"model.norm_after", "true"}, {"model.no_final_norm", "true"}, {"model.embedding_norm", "true"}, {"model.attention_sinks", "true"},
    {"model.sinks_scale", "true"}, {"model.fixed_sinks", "true"}, {"model.value_dim", "32"}, {"model.altup.streams", "4"}, {"model.altup.laurel", "8"}, {"model.gated_attention", "true"}, {"model.fp32_residual", "true"}, {"model.norm_offset", "true"}, {"model.fp32_norm", "true"}, {"model.no_key_bias", "true"}, {"model.layer_biases", "true"}, {"model.down_bias", "true"}, {"model.sub_norms", "true"}, {"model.narrow_embedding", "true"}, {"model.transformed_classes", "true"}, {"model.scored_tokens", "true"}, {"model.vision.held", "5000000"}, {"model.distinct_layers", "1|2"}, {"model.full_layers", "3"}, {"model.global_every", "3"}, {"model.classes", "10"}, {"model.embedding_dim", "64"},
    {"model.position_offset", "2"}, {"model.frozen_positions", "true"}, {"model.token_types", "2"}, {"model.pattern", R"(["mamba2","attention"])"},
    {"model.experts.router_bias", "true"}, {"model.experts.shared_gate", "true"}, {"model.experts.bias", "true"}, {"model.experts.fp32_weights", "true|false"}, {"model.experts.capacity_factor", "1.25"}, {"model.experts.every", "2"},
    {"model.experts.first_dense_layers", "1"}, {"model.experts.shared", "1|2"}, {"model.experts.dense_layers", "[1]"}, {"model.experts.beside_mlp", "true"}, {"model.experts.parameters", "true"}, {"model.experts.fp32_router", "true"}, {"model.experts.latent", "32"},
    {"hardware.gpu", R"("h100-sxm-80gb"|"a100-sxm-40gb"|"mi300x-192gb"|{"name":"mine","memory_gib":33})"}, {"hardware.nodes", "1|2"}, {"hardware.gpus_per_node", "1|4|8"},
    {"hardware.host_memory_gib", "512.5"}, {"hardware.nvme_gib", "1000"}, {"hardware.taken_gib", "1.5"},
    {"framework", R"("hf-trainer"|"hf-trainer"|"hf-trainer"|"deepspeed"|"deepspeed"|"megatron"|"torchtitan"|{"name":"hf-trainer","version":"2023-06"}|{"name":"megatron","version":"2023-06"}|{"name":"megatron","version":"Megatron-Bridge"}|"libtorch")"},
    {"precision", R"("fp32"|"bf16"|"bf16-mixed"|"fp16-mixed"|"bf16-autocast"|"fp16-autocast"|"fp8"|{"parameters":"bf16","compute":"bf16","gradients":"fp32","reduce":"fp32","master":"none","state":"fp32"}|{"parameters":"fp32","gradients":"bf16"})"},
    {"optimizer", R"("adamw"|"adam"|"sgd"|"sgd-momentum"|"muon"|"lion"|"galore"|"badam"|"adamw-8bit"|"paged-adamw"|"adafactor"|"apollo"|"adam-mini"|"lomo"|{"name":"adamw","implementation":"fused"}|{"name":"adamw","implementation":"foreach"}|{"name":"adamw","implementation":"loop"}|{"name":"adamw","in_backward":true}|{"name":"galore","rank":64,"update_interval":50}|{"name":"adamw","state":"bf16"}|{"name":"paged-adamw-8bit","paged_from":5})"},
    {"parallel.data", "1|2|8"}, {"parallel.replicate", "2"}, {"parallel.tensor", "1|2"}, {"parallel.sequence", "true|false"}, {"parallel.pipeline", "1|2"}, {"parallel.virtual_pipeline", "2"},
    {"parallel.schedule", R"("1f1b"|"gpipe"|"naive"|"interleaved-1f1b"|"zero-bubble"|"dualpipe"|"zero-bubble-v"|"v-half"|"v-min"|"zbv")"}, {"parallel.first_stage_layers", "1"}, {"parallel.last_stage_layers", "1"},
    {"parallel.context", "1|2"}, {"parallel.context_kind", R"("ring"|"ulysses"|"all-gather")"}, {"parallel.expert", "2"}, {"parallel.expert_tensor", "2"}, {"parallel.expert_imbalance", "1.5"},
    {"sharding", R"("none"|"ddp"|"zero0"|"zero1"|"zero2"|"zero3"|"fsdp1"|"fsdp2"|"megatron-distributed-optimizer"|"megatron-fsdp"|{"kind":"fsdp1","stage":2}|{"kind":"fsdp2","stage":2})"},
    {"sharding.reshard_after_forward", "true|false"}, {"sharding.no_sync", "true"}, {"sharding.loads_once", "true"}, {"sharding.root", R"("whole"|"embedding-apart"|"split")"}, {"sharding.towers_in_root", "true"}, {"sharding.overlap_comm", "true|false"}, {"sharding.contiguous_gradients", "true|false"},
    {"sharding.reduce_scatter", "true|false"}, {"sharding.round_robin_gradients", "true|false"}, {"sharding.reduce_bucket_size", "1000000"}, {"sharding.allgather_bucket_size", "1000000"},
    {"sharding.sub_group_size", "1000000"}, {"sharding.stage3_prefetch_bucket_size", "100000"}, {"sharding.stage3_param_persistence_threshold", "1000"}, {"sharding.stage3_max_live_parameters", "1000000"},
    {"sharding.stage3_max_reuse_distance", "1000000"}, {"sharding.zero_hpz_partition_size", "2"}, {"sharding.mics_shard_size", "2"}, {"sharding.gradient_as_bucket_view", "true|false"},
    {"sharding.backward_prefetch", "true|false"}, {"sharding.suggested_communication_unit_size", "1000000"}, {"sharding.fsdp_double_buffer", "true"},
    {"offload", R"({"optimizer":"cpu","parameters":"cpu"})"}, {"offload.optimizer", R"("cpu"|"nvme")"}, {"offload.parameters", R"("cpu"|"nvme")"}, {"offload.activations", R"("cpu")"}, {"offload.pin_memory", "false"},
    {"offload.optimizer_buffer_count", "5"}, {"offload.parameter_buffer_count", "6"}, {"offload.parameter_buffer_size", "10000000"}, {"offload.max_in_cpu", "1000000"},
    {"batch.micro", "1|3"}, {"batch.sequence", "64|100|2048"}, {"batch.accumulation", "1|3|8"}, {"batch.padded", "true|false"}, {"batch.packed", "true"},
    {"batch.lengths", R"({"mean":50,"deviation":30,"longer":"deleted","samples":2}|{"histogram":[[10,20,5],[30,60,1]],"samples":3,"order":"grouped"}|{"list":[7,9],"samples":2,"pad_to_multiple":8})"},
    {"recompute", R"("none"|"full"|"selective"|{"mode":"full","reentrant":true}|{"mode":"full","reentrant":false}|{"mode":"full","method":"block","layers":1}|{"mode":"selective","modules":["mlp"]}|{"mode":"selective","policy":"every-other-matmul"}|{"mode":"selective","policy":"attention-only"})"},
    {"attention", R"("eager"|"sdpa"|"flash"|"flash3"|"te"|"math")"}, {"recurrence", R"("fused"|"eager")"}, {"kernels", R"(["norm"]|["rotary","gated"]|["normed-rotary"]|["adapted-mlp","adapted-qkv","adapted-output"])"},
    {"loss", R"({"kind":"full"}|{"kind":"full","logits":"fp32"}|{"kind":"fused"}|{"kind":"vocab-parallel"}|{"kind":"fused-linear"}|{"kind":"cut"}|{"logits":"bf16"}|{"kind":"chunked","chunk_tokens":64}|{"chunked_head":true})"},
    {"adapter", R"({"kind":"lora","rank":8,"targets":["q_proj","v_proj"]}|{"kind":"lora","rank":16,"targets":"all-linear","format":"fp32"}|{"kind":"dora","rank":16,"targets":"all-linear","format":"fp32"}|{"kind":"lora","rank":16,"targets":"all-linear","format":"fp32","base":"nf4","base_skips":["lm_head"]}|{"kind":"lora","rank":16,"targets":"all-linear","format":"fp32","base":"int8","base_skips":["lm_head"]}|{"kind":"lora","rank":16,"targets":["q_proj"],"format":"fp32","base":"nf4","base_skips":["experts_gate","experts_up","experts_down"],"rest":"bf16","rest_experts":"fp32"}|{"kind":"lora","rank":4,"targets":["q_proj"],"format":"fp32","modules_to_save":["embed_tokens"],"dropout":0.05})"},
    {"trainable", R"("all"|[{"layers":[0,0]}]|[{"modules":["q_proj"]}]|[{"modules":["norm"]}])"},
    {"dropout", R"({"hidden":0.1,"attention":0.1,"embedding":0.1}|{"hidden":0.1}|{"attention":0.2}|{"embedding":0.1})"}, {"compile", "true|false"},
    {"environment", R"({"cublas_workspace":":4096:8"}|{"allocator":{"expandable_segments":true}}|{"nccl_buffsize":1000000}|{"torch":"2.5"}|{"allocator":{"max_split_size_mb":128,"roundup_power2_divisions":4,"garbage_collection_threshold":0.8}})"},
    {"evaluation", R"({"batch":1}|{"batch":4,"loss_only":true}|{"batch":2,"loss_only":true,"use_cache":false}|{"batch":2,"samples":64}|{"batch":2,"samples":64,"accumulation_steps":4,"use_cache":false}|{"batch":1,"samples":16,"kept_bytes":8}|{"batch":2,"sequence":64,"loss_only":true}|{"batch":2,"generate":16})"},
    {"objective", R"("dpo"|"kto"|"orpo"|"simpo"|"reward"|{"kind":"dpo","reference":"copy"}|{"kind":"dpo","trainer":"llama-factory"}|{"kind":"classification","trainer":"ms-swift"}|{"kind":"grpo","reference":"none"})"}, {"objective.trainer", R"("trl"|"trl-0.28"|"llama-factory"|"ms-swift")"}, {"objective.reference", R"("copy"|"precomputed")"}, {"objective.sft_weight", "0.5"},
    {"rollout", R"({"engine":"vllm","placement":"separate","prompt":64,"completion":64,"generations":2}|{"engine":"vllm","placement":"colocated","share":0.3,"sleep":1,"prompt":50,"completion":50,"generations":2}|{"engine":"trainer","prompt":50,"completion":50,"generations":2})"},
    {"fake_quantization", R"({"weights":"intx","group":32,"activations":true}|{"weights":"int4","group":128})"},
    {"batch.images", R"({"count":2}|{"width":224,"height":448}|{"none":true})"},
    {"ignored_keys", "1"}, {"assumed_defaults", "1"},
};
// clang-format on

inline io::json_value one_of(std::string_view values, draw::dice& dice) {
  std::size_t n = 1;
  for (const char c : values) n += c == '|' ? 1 : 0;
  for (auto skip = dice.index(n); skip > 0; --skip) values.remove_prefix(values.find('|') + 1);
  return io::parse_json(std::string{values.substr(0, values.find('|'))}, "a key");
}

/// Says a key of a job in JSON otherwise.
inline void say(io::json_value& whole, std::string_view key, const io::json_value& value) {
  auto* at = &whole;
  auto rest = key;
  for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    auto& section = (*at)[std::string{rest.substr(0, dot)}];
    if (section.is_string()) section = io::json_value{{rest.size() == key.size() && key.starts_with("model.") ? "base" : "kind", section}};
    at = &section;
    rest.remove_prefix(dot + 1);
  }
  (*at)[std::string{rest}] = value;
}

/// The job with up to `most` of its keys said otherwise; throws job_error where that is no job.
inline job with_changes(const job& j, draw::dice& dice, std::size_t most) {
  auto whole = io::job_to_json(j);
  for (auto n = dice.index(most + 1); n > 0; --n) {
    const auto& k = keys[dice.index(std::size(keys))];
    say(whole, k.key, one_of(k.values, dice));
  }
  return io::read_job(whole, "/nonexistent/folder");
}

}  // namespace changed
