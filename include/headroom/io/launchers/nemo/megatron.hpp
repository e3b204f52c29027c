// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL's Megatron workers, as the arguments of Megatron's own that they stand for (NVIDIA-NeMo/RL 7ea279ab of 2026-08-22
// nemo_rl/models/megatron/setup.py setup_model_config, _create_megatron_config; what a Megatron-Bridge provider has by default).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/megatron/import.hpp>
#include <headroom/io/launchers/nested_values.hpp>

namespace headroom::io::detail {

/// "expandable_segments:True" among the settings of PyTorch's allocator.
inline void read_nemo_allocator(draft& d, const nested_values& k, const std::string& path) {
  const auto said = k.word(path);
  if (!said.empty() && said.find(':') == std::string::npos) wrong_value(path, "OPTION:VALUE, one or several with commas", said);
  if (said.find("max_split_size_mb") != std::string::npos || said.find("garbage_collection") != std::string::npos) d.unmodelled_key(path, said, k.place(path));
  if (said.find("expandable_segments:True") != std::string::npos) d.say({"environment", "allocator", "expandable_segments"}, true, k.place(path));
}

/// A key that NeMo-RL itself does without no more than this does (KeyError).
/// Errors: job_error where no file says it.
inline const json_value& nemo_needed(const nested_values& k, const std::string& path) {
  const auto* v = k.find(path);
  if (v == nullptr) fail("headroom: " + k.source() + ": " + path + " is required, and NeMo-RL has no default for it: where it stands in a file that this one inherits from, give that file, too");
  return *v;
}
inline std::int64_t nemo_needed_number(const nested_values& k, const std::string& path) { return nemo_needed(k, path), k.number(path, 1); }
inline bool nemo_needed_on(const nested_values& k, const std::string& path) { return truth(nemo_needed(k, path), path); }

class nemo_megatron {
 public:
  nemo_megatron(draft& d, const nested_values& k) : d_(&d), k_(&k), to_{.source = k.source(), .root = json_value::object(), .lines = {}} {}

  /// `micro` samples of `length` tokens at once, `samples` in an update of all GPUs.
  void import(std::int64_t micro, std::int64_t length, std::int64_t samples) {
    const auto m = model_of(*d_);
    d_->read_by_model = draft::said{"policy.megatron_cfg", k_->place("policy.megatron_cfg")};
    if (m.vision.layers > 0 || m.vision.kind != vision_kind::none) fail("headroom: " + k_->place("policy.model_name") + ": models that see are not modelled over NeMo-RL's Megatron workers by this version");
    set("micro-batch-size", micro, "train_micro_batch_size"), set("seq-length", length, "max_total_sequence_length"), set("global-batch-size", samples, "train_global_batch_size");
    set("bf16", true, "precision"), set("hidden-dropout", 0.0, "megatron_cfg"), set("attention-dropout", 0.0, "megatron_cfg");
    degrees();
    if (m.sparse()) experts();
    checkpoints();
    kernels();
    update();
    read_nemo_allocator(*d_, *k_, at("env_vars.PYTORCH_CUDA_ALLOC_CONF"));
    import_megatron(*d_, to_, megatron_program::gpt, false);
  }

 private:
  static std::string at(const std::string& key) { return "policy.megatron_cfg." + key; }

  void degrees() {
    for (const auto* key : {"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"}) set(dashed(key), nemo_needed_number(*k_, at(key)), std::string{"megatron_cfg."} + key);
    set("expert-model-parallel-size", k_->number(at("expert_model_parallel_size"), 1), "megatron_cfg.expert_model_parallel_size");
    for (const auto& [theirs, megatron] : {std::pair{"num_layers_in_first_pipeline_stage", "decoder-first-pipeline-num-layers"}, {"num_layers_in_last_pipeline_stage", "decoder-last-pipeline-num-layers"}})
      if (const auto n = k_->number(at(theirs), 0); n > 0) set(megatron, n, std::string{"megatron_cfg."} + theirs);
    if (nemo_needed_on(*k_, at("sequence_parallel"))) set("sequence-parallel", true, "megatron_cfg.sequence_parallel");
  }
  void experts() {
    nemo_needed(*k_, at("expert_model_parallel_size"));
    const auto tensor = at("expert_tensor_parallel_size");  // null: the tensor degree (megatron/core/model_parallel_config.py)
    if (!k_->has(tensor)) nemo_needed(*k_, tensor);
    set("expert-tensor-parallel-size", k_->number(tensor, k_->number(at("tensor_model_parallel_size"), 1)), "megatron_cfg.expert_tensor_parallel_size");
    set("num-experts", model_of(*d_).experts.count, "model_name");
    if (k_->on(at("moe_grouped_gemm"), true)) set("moe-grouped-gemm", true, "megatron_cfg.moe_grouped_gemm");
    for (const auto* key : {"moe_token_dispatcher_type", "moe_router_load_balancing_type"}) nemo_needed(*k_, at(key));
    set("moe-token-dispatcher-type", k_->word(at("moe_token_dispatcher_type")), "megatron_cfg.moe_token_dispatcher_type");
    set("moe-router-load-balancing-type", k_->word(at("moe_router_load_balancing_type")), "megatron_cfg.moe_router_load_balancing_type");
    if (const auto format = k_->word(at("moe_router_dtype")); !format.empty()) set("moe-router-dtype", format, "megatron_cfg.moe_router_dtype");
    for (const auto& [theirs, megatron] : {std::pair{"moe_permute_fusion", "moe-permute-fusion"}, {"moe_enable_deepep", "moe-enable-deepep"}, {"moe_shared_expert_overlap", "moe-shared-expert-overlap"}})
      if (k_->on(at(theirs))) set(megatron, true, std::string{"megatron_cfg."} + theirs);
    if (!k_->on(at("freeze_moe_router"))) return;
    const std::string what = "the router of experts is counted as if it trained";
    d_->notes.push_back(k_->place(at("freeze_moe_router")) + ": " + what);
    d_->assumed.push_back(what);
  }
  void checkpoints() {
    if (!nemo_needed_on(*k_, at("activation_checkpointing"))) return;
    const auto how = k_->word(at("recompute_granularity"), "full");
    set("recompute-granularity", how, "megatron_cfg.recompute_granularity");
    if (how == "full") set("recompute-method", "uniform", "megatron_cfg.recompute_granularity"), set("recompute-num-layers", 1, "megatron_cfg.recompute_granularity");
    const auto* modules = k_->find(at("recompute_modules"));
    if (how != "selective" || modules == nullptr) return;
    if (!modules->is_array() || modules->empty()) fail("headroom: " + k_->place(at("recompute_modules")) + ": policy.megatron_cfg.recompute_modules must be a list of modules, found " + modules->dump() + ": leave it out for core_attn, or set activation_checkpointing to false");
    std::string words;
    for (const auto& one : *modules) words += (words.empty() ? "" : " ") + string_at(one, at("recompute_modules"));
    set("recompute-modules", words, "megatron_cfg.recompute_modules");
  }
  void kernels() {
    if (const auto backend = k_->word(at("attention_backend")); !backend.empty()) set("attention-backend", backend, "megatron_cfg.attention_backend");
    for (const auto& [theirs, megatron] : {std::pair{"apply_rope_fusion", "no-rope-fusion"}, {"gradient_accumulation_fusion", "no-gradient-accumulation-fusion"}, {"bias_activation_fusion", "no-bias-swiglu-fusion"}})
      if (!nemo_needed_on(*k_, at(theirs))) set(megatron, true, std::string{"megatron_cfg."} + theirs);
    if (k_->on(at("defer_fp32_logits"))) d_->say({"loss"}, {{"kind", "vocab-parallel"}, {"logits", "bf16"}}, k_->place(at("defer_fp32_logits")));
    if (const auto level = k_->number(at("empty_unused_memory_level"), 0, 0); level > 0) set("empty-unused-memory-level", level, "megatron_cfg.empty_unused_memory_level");
  }
  /// Buffers of gradients are in bf16 unless grad_reduce_in_fp32; the optimizer that knows formats takes them as they are.
  void update() {
    const auto name = k_->word(at("optimizer.optimizer"), "adam");
    set("optimizer", name, "megatron_cfg.optimizer.optimizer");
    const bool aware = k_->on(at("optimizer.use_precision_aware_optimizer"));
    const auto* wide = "distributed_data_parallel_config.grad_reduce_in_fp32";
    if (nemo_needed_on(*k_, at("optimizer.use_distributed_optimizer"))) set("use-distributed-optimizer", true, "megatron_cfg.optimizer.use_distributed_optimizer");
    if (aware) set("use-precision-aware-optimizer", true, "megatron_cfg.optimizer.use_precision_aware_optimizer");
    if (!nemo_needed_on(*k_, at(wide)) && !aware && k_->find("grpo") != nullptr) d_->unmodelled_key(at(wide), false, k_->place(at(wide)), "without optimizer.use_precision_aware_optimizer gradients of bf16 are made fp32 to update by, and those stay while the engine generates");
    if (!k_->on(at(wide))) set("main-grads-dtype", "bf16", std::string{"megatron_cfg."} + wide);
    for (const auto& [theirs, megatron] : {std::pair{"overlap_grad_reduce", "overlap-grad-reduce"}, {"overlap_param_gather", "overlap-param-gather"}})
      if (const auto key = std::string{"distributed_data_parallel_config."} + theirs; nemo_needed_on(*k_, at(key))) set(megatron, true, "megatron_cfg." + key);
    if (!nemo_needed_on(*k_, at("optimizer.optimizer_cpu_offload"))) return;
    set("optimizer-cpu-offload", true, "megatron_cfg.optimizer.optimizer_cpu_offload");
    const auto share = k_->share(at("optimizer.optimizer_offload_fraction"), 0.0);
    if (share <= 0) fail("headroom: " + k_->place(at("optimizer.optimizer_offload_fraction")) + ": optimizer_offload_fraction must be above 0 beside optimizer_cpu_offload");
    set("optimizer-offload-fraction", share, "megatron_cfg.optimizer.optimizer_offload_fraction");
  }

  static std::string dashed(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  }
  void set(const std::string& key, json_value value, const std::string& from) {
    to_.root[key] = std::move(value);
    to_.elsewhere[key] = k_->place("policy." + from);
  }

  draft* d_;
  const nested_values* k_;
  document to_;
};

}  // namespace headroom::io::detail
