// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL: the YAML of its GRPO, DPO, SFT and reward models, over Megatron's layers or as DTensors, with an engine on the same GPUs or on others.
// Source: NVIDIA-NeMo/RL 7ea279ab of 2026-08-22 nemo_rl/algorithms/{grpo,dpo,sft,rm}.py, nemo_rl/models/policy/lm_policy.py, nemo_rl/models/automodel/setup.py.
// What Megatron's layers are told: nemo/megatron.hpp.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/nemo/engine_alone.hpp>
#include <headroom/io/launchers/nemo/files.hpp>
#include <headroom/io/launchers/nemo/keys.hpp>
#include <headroom/io/launchers/nemo/megatron.hpp>
#include <headroom/io/launchers/nemo/streams.hpp>
#include <headroom/io/syntax/spelling.hpp>

namespace headroom::io {

namespace detail {

class nemo_config {
 public:
  nemo_config(draft& d, const document& from, bool engine_open) : d_(&d), k_(from), root_(&from.root), engine_open_(engine_open) {}

  void import() {
    kind();
    d_->trained_name = needed_word("policy.model_name");
    say_model(*d_, d_->trained_name, k_.place("policy.model_name"));
    if (const auto format = k_.word("policy.precision", "bfloat16"); format != "bfloat16") d_->unmodelled_key("policy.precision", format, k_.place("policy.precision"));
    gpus();
    if (k_.on("policy.megatron_cfg.enabled")) over_megatron();
    else if (k_.on("policy.dtensor_cfg.enabled")) as_dtensors();
    else fail("headroom: " + k_.place("policy") + ": neither policy.megatron_cfg.enabled nor policy.dtensor_cfg.enabled is true: NeMo-RL has no third way to train");
    method();
  }

 private:
  std::string needed_word(const std::string& path) {
    return nemo_needed(k_, path), k_.word(path);
  }
  std::int64_t needed(const std::string& path) {
    return nemo_needed_number(k_, path);
  }
  /// Each program reads a section of its own.
  void kind() {
    for (const auto& [section, kind] : {std::pair{"grpo", "grpo"}, {"dpo", "dpo"}, {"sft", "sft"}, {"rm", "reward"}}) {
      if (!root_->contains(section)) continue;
      if (!kind_.empty()) fail("headroom: " + k_.place(section) + ": " + section_ + " and " + section + " are programs of NeMo-RL's, of which a configuration is for one");
      kind_ = kind, section_ = section;
    }
    if (kind_.empty()) fail("headroom: " + k_.source() + ": no section grpo, dpo, sft or rm says which of NeMo-RL's programs runs");
    const auto* models = value_at(*root_, "env.reward_model");
    if (models != nullptr && models->is_object()) d_->unmodelled_key("env.reward_model", "{...}", k_.place("env.reward_model"), "a model that scores on GPUs of its own");
    if (const auto* judges = value_at(*root_, "env.nemo_gym.num_gpu_nodes"); judges != nullptr && *judges != 0) d_->unmodelled_key("env.nemo_gym.num_gpu_nodes", *judges, k_.place("env.nemo_gym.num_gpu_nodes"), "nodes that judge");
    if (const auto store = k_.word("data_plane.backend", "simple"); k_.on("data_plane.enabled") && store != "simple") d_->unmodelled_key("data_plane.backend", store, k_.place("data_plane.backend"), "a store in host memory");
    const bool scores = k_.on("policy.reward_model_cfg.enabled");
    if (scores != (kind_ == "reward")) fail("headroom: " + k_.place("policy.reward_model_cfg.enabled") + ": policy.reward_model_cfg.enabled is for the program with the section rm, and there it is true");
    if (const auto type = k_.word("policy.reward_model_cfg.reward_model_type", "bradley_terry"); scores && type != "bradley_terry") d_->unmodelled_key("policy.reward_model_cfg.reward_model_type", type, k_.place("policy.reward_model_cfg.reward_model_type"));
  }
  [[nodiscard]] bool generates() const { return kind_ == "grpo"; }
  [[nodiscard]] bool by_units() const { return k_.on("policy.dtensor_cfg.enabled"); }
  [[nodiscard]] bool shares() const { return nemo_needed_on(k_, "policy.generation.colocated.enabled"); }

  /// What the engine has of its own, the trainer has not (nemo_rl/algorithms/grpo.py setup).
  void gpus() {
    auto each = needed("cluster.gpus_per_node"), nodes = needed("cluster.num_nodes");
    if (generates() && !shares()) {
      const auto* key = nodes == 1 ? "policy.generation.colocated.resources.gpus_per_node" : "policy.generation.colocated.resources.num_nodes";
      auto& whole = nodes == 1 ? each : nodes;
      const auto theirs = needed(key);
      const std::string at = "policy.generation.colocated.resources.", other = at + (nodes == 1 ? "num_nodes" : "gpus_per_node");
      if (nodes == 1 ? k_.number(other, 1) != 1 : needed(other) != each) fail("headroom: " + k_.place(other) + ": NeMo-RL takes whole nodes for the engine where there are several, and a part of one where there is one: " + other + " must be " + std::to_string(nodes == 1 ? 1 : each));
      engine_gpus_ = nodes == 1 ? theirs : checked::mul(theirs, each);
      if (theirs >= whole) fail("headroom: " + k_.place(key) + ": " + key + " must leave GPUs to train, and takes " + std::to_string(theirs) + " of " + std::to_string(whole));
      whole -= theirs;
    }
    d_->say({"hardware", "gpus_per_node"}, each, k_.place("cluster.gpus_per_node"));
    if (nodes > 1) d_->say({"hardware", "nodes"}, nodes, k_.place("cluster.num_nodes"));
    gpus_ = checked::mul(each, nodes);
  }

  /// Samples of a micro-batch, or rows into which samples are laid (sequence_packing), or as many samples as a number of tokens has (dynamic_batching).
  struct micro_batches {
    std::int64_t micro{}, length{};
    bool packed{};
  };
  micro_batches batches(const char* tokens_key) {
    const auto longest = needed("policy.max_total_sequence_length");
    if (k_.on("policy.sequence_packing.enabled") && k_.on("policy.dynamic_batching.enabled")) fail("headroom: " + k_.place("policy.dynamic_batching.enabled") + ": policy.dynamic_batching.enabled and policy.sequence_packing.enabled must not both be true");
    for (const auto* how : {"sequence_packing", "dynamic_batching"}) {
      if (!k_.on(std::string{"policy."} + how + ".enabled")) continue;
      const auto key = std::string{"policy."} + how + "." + tokens_key;
      const auto tokens = needed(key);
      if (tokens < longest) fail("headroom: " + k_.place(key) + ": " + key + " must hold the longest sample, policy.max_total_sequence_length: " + std::to_string(longest));
      if (how == std::string_view{"sequence_packing"}) return {1, tokens, true};
      if (tokens % longest != 0) d_->unmodelled_key(key, tokens, k_.place(key), "no whole number of longest samples, policy.max_total_sequence_length: " + std::to_string(longest));
      return {tokens / longest, longest, false};
    }
    return {needed(std::string_view{tokens_key} == "train_mb_tokens" ? "policy.train_micro_batch_size" : "policy.logprob_batch_size"), longest, false};
  }
  /// Rows hold several samples: an update takes as many as its samples take at their longest.
  std::int64_t rows_of(std::int64_t samples, const micro_batches& b, std::int64_t ranks) const {
    const auto longest = k_.number("policy.max_total_sequence_length", 1);
    return checked::mul(ranks, checked::ceil_div(checked::mul(checked::ceil_div(samples, ranks), longest), b.length));
  }

  void over_megatron() {
    if (k_.on("policy.dtensor_cfg.enabled")) fail("headroom: " + k_.place("policy.dtensor_cfg.enabled") + ": policy.dtensor_cfg.enabled and policy.megatron_cfg.enabled must not both be true");
    if (kind_ == "reward") fail("headroom: " + k_.place("policy.megatron_cfg.enabled") + ": NeMo-RL has no reward models over Megatron's layers (nemo_rl/models/megatron/setup.py)");
    const std::string at = "policy.megatron_cfg.";
    const auto pipeline = needed(at + "pipeline_model_parallel_size"), context = needed(at + "context_parallel_size");
    const auto ranks = std::max<std::int64_t>(1, gpus_ / checked::mul(checked::mul(needed(at + "tensor_model_parallel_size"), pipeline), context));
    if (context > 1 && !k_.on("policy.sequence_packing.enabled")) fail("headroom: " + k_.place(at + "context_parallel_size") + ": " + at + "context_parallel_size above 1 needs policy.sequence_packing.enabled in NeMo-RL");
    if (pipeline > 1 && k_.on("policy.dynamic_batching.enabled")) fail("headroom: " + k_.place(at + "pipeline_model_parallel_size") + ": " + at + "pipeline_model_parallel_size must be 1 beside policy.dynamic_batching.enabled in NeMo-RL");
    const auto b = batches("train_mb_tokens");
    auto samples = needed("policy.train_global_batch_size");
    if (b.packed) samples = rows_of(samples, b, ranks);
    nemo_megatron{*d_, k_}.import(b.micro, b.length, samples);
    if (b.packed) d_->say({"batch", "packed"}, true, k_.place("policy.sequence_packing.enabled"));
    if (!b.packed) d_->keeps_lengths = k_.place("policy.max_total_sequence_length");  // nemo_rl/algorithms/sft.py, batched_message_log_to_flat_message
    validation();
    chunks();
  }
  void chunks() {
    if (const auto* chunk = k_.find("policy.logprob_chunk_size")) d_->unmodelled_key("policy.logprob_chunk_size", *chunk, k_.place("policy.logprob_chunk_size"), "log-probabilities of so many tokens at a time");
  }

  /// Forwards of validation (sft.py, dpo.py validate_one_dataset) take less than a step of as many samples at once; micro-batches that are packed or
  /// batched by tokens are as large as a step's.
  void validation() {
    if (generates() || k_.on("policy.sequence_packing.enabled") || k_.on("policy.dynamic_batching.enabled")) return;
    const auto key = section_ + ".val_micro_batch_size";
    const auto samples = k_.number(key, 1);
    const bool validates = k_.number(section_ + ".val_period", 1, -1) > 0 || k_.on(section_ + ".val_at_start") || k_.on(section_ + ".val_at_end");
    if (validates && samples > needed("policy.train_micro_batch_size")) d_->unmodelled_key(key, samples, k_.place(key), "validation of more samples at once than a step trains on, policy.train_micro_batch_size");
  }

  /// FSDP2 over transformers' modules, or NeMo-Automodel's: weights in fp32, layers in bf16, gradients reduced in fp32, after every micro-batch:
  /// dtensor_policy_worker_v2.py train hands defer_fsdp_grad_sync to nobody that reads it.
  void as_dtensors() {
    const std::string at = "policy.dtensor_cfg.";
    if (!k_.on(at + "_v2")) d_->unmodelled_key(at + "_v2", false, k_.place(at + "_v2"), "the worker before it, which gathers the whole model to score, checkpoints parts of layers and gathers the last one anew");
    d_->framework_is("hf-trainer", k_.source());
    d_->replace("sharding", {{"kind", "fsdp2"}, {"stage", 3}}, k_.place(at + "enabled"));
    const auto tensor = k_.number(at + "tensor_parallel_size", 1), context = k_.number(at + "context_parallel_size", 1);
    for (const auto& [key, n] : {std::pair{"tensor", tensor}, {"context", context}, {"expert", k_.number(at + "expert_parallel_size", 1)}, {"replicate", k_.number(at + "dp_replicate_size", 1)}})
      if (n > 1) d_->say({"parallel", key}, n, k_.place(at + "tensor_parallel_size"));
    if (tensor > 1 && k_.on(at + "sequence_parallel")) d_->say({"parallel", "sequence"}, true, k_.place(at + "sequence_parallel"));
    d_->replace("precision", {{"parameters", "fp32"}, {"compute", "bf16"}, {"gradients", "fp32"}, {"reduce", "fp32"}, {"master", "none"}, {"state", "fp32"}}, k_.place("policy.precision"));
    d_->replace("recompute", k_.on(at + "activation_checkpointing") ? json_value{{"mode", "full"}, {"reentrant", false}} : json_value("none"), k_.place(at + "activation_checkpointing"));
    if (k_.on(at + "cpu_offload")) d_->replace("offload", {{"optimizer", "cpu"}, {"parameters", "cpu"}}, k_.place(at + "cpu_offload"));
    const auto update = k_.word("policy.optimizer.name", "torch.optim.AdamW");
    if (update != "torch.optim.AdamW") d_->unmodelled_key("policy.optimizer.name", update, k_.place("policy.optimizer.name"));
    const bool fused = k_.on("policy.optimizer.kwargs.fused"), foreach = k_.on("policy.optimizer.kwargs.foreach", true);
    d_->replace("optimizer", {{"name", "adamw"}, {"implementation", fused ? "fused" : foreach ? "foreach" : "loop"}}, k_.place("policy.optimizer"));
    read_nemo_allocator(*d_, k_, at + "env_vars.PYTORCH_CUDA_ALLOC_CONF");
    adapter(at + "lora_cfg.");
    validation();
    chunks();
    const auto b = batches("train_mb_tokens");
    const auto ranks = std::max<std::int64_t>(1, gpus_ / checked::mul(tensor, context));
    auto samples = needed("policy.train_global_batch_size");
    if (b.packed) samples = rows_of(samples, b, ranks);
    d_->replace("attention", b.packed ? "flash" : "sdpa", k_.place("policy.sequence_packing.enabled"));
    d_->say({"batch"}, {{"micro", b.micro}, {"sequence", b.length}}, k_.place("policy.train_micro_batch_size"));
    if (b.packed) d_->say({"batch", "packed"}, true, k_.place("policy.sequence_packing.enabled"));
    if (!b.packed) d_->keeps_lengths = k_.place("policy.max_total_sequence_length");  // nemo_rl/data/llm_message_utils.py, batched_message_log_to_flat_message
    d_->know(d_->global_batch, "policy.train_global_batch_size", checked::round_up(samples, checked::mul(b.micro, ranks)), k_.place("policy.train_global_batch_size"));
  }
  void adapter(const std::string& at) {
    if (!k_.on(at + "enabled")) return;
    json_value targets = "all-linear";
    if (!k_.on(at + "match_all_linear", true)) {
      const auto* names = k_.find(at + "target_modules");
      if (names == nullptr || names->empty()) fail("headroom: " + k_.place(at + "target_modules") + ": " + at + "target_modules must name modules where match_all_linear is false");
      targets = *names;
    }
    d_->replace("adapter", {{"kind", "lora"}, {"rank", k_.number(at + "dim", 8)}, {"targets", targets}, {"format", "fp32"}, {"dropout", k_.share(at + "dropout", 0.0)}}, k_.place(at + "enabled"));
  }

  /// A reference is kept where its divergence counts (grpo.py setup: init_reference_model; by default it does, loss_functions.py ClippedPGLossConfig), and of DPO always; its weights, adapters and all, are swapped in
  /// from the host.
  void method() {
    json_value o = {{"kind", kind_}, {"trainer", "nemo-rl"}};
    const auto name = k_.word("grpo.adv_estimator.name", "grpo");
    if (generates() && !among_words("grpo|gdpo|reinforce_plus_plus|opd", name)) fail("headroom: " + k_.place("grpo.adv_estimator.name") + ": grpo.adv_estimator.name must be grpo, gdpo or reinforce_plus_plus, found " + in_quotes(name));
    if (generates() && name == "opd") d_->unmodelled_key("grpo.adv_estimator.name", name, k_.place("grpo.adv_estimator.name"), "distillation from teachers");
    const auto* weight = k_.find("loss_fn.reference_policy_kl_penalty");
    if (generates() && weight != nullptr) number_at(*weight, "loss_fn.reference_policy_kl_penalty", 0.0, 1e6);
    // grpo.py setup asks for a weight of 0 beside it, without which nothing is kept anyway.
    if (const char* skips = "grpo.skip_reference_policy_logprobs_calculation"; generates() && k_.on(skips) && (weight == nullptr || *weight != 0)) fail("headroom: " + k_.place(skips) + ": NeMo-RL stops where " + skips + " is true and loss_fn.reference_policy_kl_penalty is not 0");
    const auto scores = generates() ? batches("logprob_mb_tokens") : micro_batches{}, trains = batches("train_mb_tokens");
    if (generates() && checked::mul(scores.micro, scores.length) > checked::mul(trains.micro, trains.length)) refuse_streams(*d_, k_, value_at(*root_, "async_rl"));
    if (generates()) o["reference"] = weight == nullptr || *weight > 0 ? "swapped" : "none";
    if (kind_ == "dpo") o["reference"] = "swapped";
    d_->replace("objective", o, k_.place(section_));
    if (generates()) rollout();
  }
  void rollout() {
    const std::string at = "policy.generation.", vllm = at + "vllm_cfg.", more = at + "vllm_kwargs.";
    const auto engine = k_.word(at + "backend", "vllm");
    if (engine != "vllm") d_->unmodelled_key(at + "backend", engine, k_.place(at + "backend"), "vllm is");
    const auto tensor = needed(vllm + "tensor_parallel_size"), expert = k_.number(vllm + "expert_parallel_size", 1);
    if (expert > 1 && expert != tensor) d_->unmodelled_key(vllm + "expert_parallel_size", expert, k_.place(vllm + "expert_parallel_size"), "experts over more or fewer GPUs than tensor_parallel_size");
    json_value r = {{"engine", "vllm"}, {"placement", shares() ? "colocated" : "separate"}, {"tensor", tensor}, {"generations", k_.number("grpo.num_generations_per_prompt", 16)}, {"share", number_at(nemo_needed(k_, vllm + "gpu_memory_utilization"), vllm + "gpu_memory_utilization", 0.0, 1.0)}};
    if (shares()) r["sleep"] = 1, r["trainer_moves"] = by_units() ? json_value{"parameters", "optimizer"} : json_value{"parameters", "gradients", "optimizer"};
    else r["gpus"] = engine_gpus_;
    passed_weights(r);
    if (k_.on(vllm + "enforce_eager") || without_graphs(more + "compilation_config.")) r["graphs"] = false;
    // Weights in bf16 take no other keys and values: vllm_worker.py hands the format on beside precision fp8 alone (quantization/fp8.py init_fp8).
    if (const auto format = k_.word(vllm + "kv_cache_dtype", "auto"); format != "auto" && engine_open_) d_->unmodelled_key(vllm + "kv_cache_dtype", format, k_.place(vllm + "kv_cache_dtype"), "scales that the trainer measures");  // grpo.py, calibrate_qkv_fp8_scales
    const auto states = more + "mamba_ssm_cache_dtype";
    if (const auto format = k_.word(states, "auto"); format != "auto" && model_of(*d_).recurs()) d_->unmodelled_key(states, format, k_.place(states), "of recurrent layers' states in the engine");
    if (const auto n = k_.number(more + "max_num_batched_tokens", 0); n > 0) r["batched_tokens"] = n;
    const auto longest = needed("policy.max_total_sequence_length"), answers = k_.number(at + "max_new_tokens", longest);
    if (answers < longest) r["completion"] = answers, r["prompt"] = longest - answers;
    else d_->know(d_->shared_length, "policy.max_total_sequence_length", longest, k_.place("policy.max_total_sequence_length"));  // vllm_worker.py _context_capped_max_new_tokens
    const auto scores = batches("logprob_mb_tokens"), trains = batches("train_mb_tokens");
    const auto tokens = checked::mul(scores.micro, scores.length);
    const std::string key = "policy.sequence_packing.logprob_mb_tokens";
    if (tokens > checked::mul(trains.micro, trains.length) && tokens % trains.length != 0) d_->unmodelled_key(key, tokens, k_.place(key), "no multiple of train_mb_tokens, " + std::to_string(trains.length));
    if (const auto more_at_once = tokens / trains.length; more_at_once > trains.micro) r["batch"] = more_at_once;
    for (const auto* drop : {"share", "gpus"})
      if (engine_open_) r.erase(drop);
    d_->replace("rollout", r, k_.place(at + "backend"));
  }

  /// Whether vLLM captures no graphs. Those of fewer sizes than its own, of at most 512 sequences, or of a part of a forward, take no more than those of its default
  /// (vllm config/compilation.py CUDAGraphMode, cudagraph_capture_sizes).
  bool without_graphs(const std::string& at) {
    const auto mode = k_.word(at + "cudagraph_mode", "FULL_AND_PIECEWISE");
    if (!among_words("NONE|PIECEWISE|FULL|FULL_DECODE_ONLY|FULL_AND_PIECEWISE", mode)) d_->unmodelled_key(at + "cudagraph_mode", mode, k_.place(at + "cudagraph_mode"));
    const auto* sizes = k_.find(at + "cudagraph_capture_sizes");
    const auto large = [](const json_value& n) { return !n.is_number_integer() || n > 512; };
    if (sizes != nullptr && (!sizes->is_array() || std::any_of(sizes->begin(), sizes->end(), large))) d_->unmodelled_key(at + "cudagraph_capture_sizes", *sizes, k_.place(at + "cudagraph_capture_sizes"), "of more than 512 sequences");
    return mode == "NONE";
  }

  /// Two buffers are, together, a part of what is free, or as large as is said (nemo_rl/algorithms/grpo.py refit_policy_generation).
  void passed_weights(json_value& r) {
    const std::string size = "policy.refit_buffer_size_gb", ratio = "policy.megatron_cfg.env_vars.NRL_REFIT_BUFFER_MEMORY_RATIO", optimizer = "policy.offload_optimizer_for_refit", scores = "policy.offload_optimizer_for_logprob";
    if (const auto* v = k_.find(ratio)) d_->unmodelled_key(ratio, *v, k_.place(ratio), "buffers of another part of what is free");
    if (!k_.on(optimizer, true) && shares()) d_->unmodelled_key(optimizer, false, k_.place(optimizer), "states that stay while the engine generates");
    if (k_.on(scores) && !shares()) d_->unmodelled_key(scores, true, k_.place(scores), "states that leave while completions are scored");
    if (const auto gib = k_.number(size, 0); gib > 0 && shares()) r["sync_bucket_mib"] = checked::mul(gib, 1024);
  }

  draft* d_;
  nested_values k_;
  const json_value* root_;
  bool engine_open_{};
  std::string kind_, section_;
  std::int64_t gpus_{1}, engine_gpus_{};
};

}  // namespace detail

/// Keeps a file until all are known: one is run, and inherits from the others.
/// Errors: job_error for two files of one name.
inline void keep_nemo_rl(draft& d, const document& from) {
  if (std::any_of(d.nemo_rl.begin(), d.nemo_rl.end(), [&](const document& other) { return other.source == from.source; })) fail("headroom: " + from.source + ": two of NeMo-RL's configurations have this name, and the defaults of a third name files by their names alone: rename one of them, or give the one that is meant alone");
  d.nemo_rl.push_back(from);
}

/// What the files say together.
/// Errors: job_error for what is not known, not modelled, or not given.
inline void read_nemo_rl(draft& d) {
  if (d.nemo_rl.empty()) return;
  const auto files = std::exchange(d.nemo_rl, {});
  auto from = detail::nemo_files{files}.joined();
  if (const auto command = std::exchange(d.nemo_command, std::nullopt)) {
    for (const auto& f : d.named)
      if (f.kind == file_kind::nemo_rl && detail::file_part(f.path) != from.source) fail("headroom: " + f.place + ": names " + in_quotes(f.path) + ", and " + from.source + " is what is run of the files here: give the one that it names, and those that it inherits from");
    detail::say_over_nemo(from, *command);
  }
  with_places(from, [&] {
    detail::nemo_values{from}.resolve();
    detail::refuse_nemo_program(from);
    detail::without_unused(from);
    auto judged = from;
    judged.root.erase("env");  // each environment names its own keys; those of GPUs are asked for
    const detail::key_lists lists{detail::nemo_read, detail::nemo_passed};
    const bool open = detail::leave_engine_open(d, from, judged.root, lists);
    detail::judge_keys(d, from, judged.root, "", lists);
    for (const auto* section : {"env", "async_rl"})
      if (from.root.contains(section)) judged.root[section] = from.root[section];
    detail::nemo_config{d, judged, open}.import();
  });
}

}  // namespace headroom::io
