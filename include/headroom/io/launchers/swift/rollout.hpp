// Distributed under the Boost Software License, Version 1.0.
// ms-swift's GRPO: who generates, and what the trainer does meanwhile (modelscope/ms-swift 3602360a of 2026-08-22: swift/arguments/rlhf_args.py,
// swift/rlhf_trainers/args_mixin.py, arguments.py, rollout_mixin.py, grpo_trainer.py).
#pragma once

#include <headroom/io/launchers/named_values.hpp>

#include <limits>

namespace headroom::io::detail {

// clang-format off
/// Its arguments that no reader takes, beside those of all of ms-swift's trainings: harmless, or refused unless they switch a feature off. Of an engine's
/// a colocated one is given some alone (rollout_mixin.py _prepare_vllm_engine, megatron/trainers/rollout_mixin.py), and a server has its own.
inline constexpr auto swift_rollout_passed = std::to_array<passed_key>({
    {"epsilon", "*"}, {"epsilon_high", "*"}, {"delta", "*"}, {"cosine_min_len_value_wrong", "*"}, {"cosine_max_len_value_wrong", "*"},
    {"cosine_min_len_value_correct", "*"}, {"cosine_max_len_value_correct", "*"}, {"cosine_max_len", "*"}, {"repetition_n_grams", "*"},
    {"repetition_max_penalty", "*"}, {"completion_length_limit_scope", "*"}, {"max_resample_times", "*"}, {"overlong_filter", "*"}, {"soft_max_length", "*"},
    {"soft_cache_length", "*"}, {"scale_rewards", "*"}, {"importance_sampling_level", "*"}, {"tau_pos", "*"}, {"tau_neg", "*"}, {"advantage_estimator", "*"},
    {"kl_in_reward", "*"}, {"teacher_kl_coef", "*"}, {"rlsd_lambda", "*"}, {"rlsd_reweight_clip_range", "*"}, {"rlsd_lambda_warmup_steps", "*"},
    {"rlsd_lambda_decay_steps", "*"}, {"rlsd_negative_only", "*"}, {"sdar_gate_beta", "*"}, {"real_tau", "*"}, {"fipo_decay_rate", "*"}, {"fipo_clip_range", "*"},
    {"fipo_clip_high_only", "*"}, {"fipo_safety_threshold", "*"}, {"num_generations_eval", "*"}, {"dataset_shuffle", "*"},
    {"rollout_importance_sampling_mode", "*"}, {"rollout_importance_sampling_threshold", "*"}, {"log_rollout_offpolicy_metrics", "*"},
    {"off_policy_sequence_mask_delta", "*"}, {"num_iterations", "*"}, {"reward_funcs", "*"}, {"reward_weights", "*"}, {"log_completions", "*"},
    {"wandb_log_unique_prompts", "*"}, {"top_k", "*"}, {"top_p", "*"}, {"min_p", "*"}, {"repetition_penalty", "*"}, {"stop_words", "*"}, {"external_plugins", "*"},
    {"vllm_max_model_len", "*"}, {"vllm_server_base_url", "*"}, {"vllm_server_host", "*"}, {"vllm_server_port", "*"}, {"vllm_server_timeout", "*"},
    {"vllm_server_group_port", "*"}, {"vllm_server_pass_dataset", "*"}, {"vllm_disable_custom_all_reduce", "*"}, {"vllm_enable_prefix_caching", "*"},
    {"vllm_limit_mm_per_prompt", "*"}, {"vllm_reasoning_parser", "*"}, {"vllm_disable_cascade_attn", "*"}, {"vllm_max_lora_rank", "*"},
    {"vllm_use_async_engine", "*"}, {"structured_outputs_regex", "*"}, {"enable_flattened_weight_sync", "*"}, {"ref_model_sync_steps", "*"},
    {"ref_model_mixup_alpha", "*"}, {"max_turns", "*"}, {"gym_env", "*"}, {"center_rewards_coefficient", "*"}, {"desirable_weight", "*"},
    {"undesirable_weight", "*"}, {"teacher_tag_key", "*"}, {"steps_per_generation", "*"}, {"generation_batch_size", "*"}, {"vllm_data_parallel_size", "*"},
    {"async_generate", "false"}, {"multi_turn_scheduler", ""}, {"use_gym_env", "false"}, {"dynamic_sample", "false"}, {"log_entropy", "false"},
    {"top_entropy_quantile", "1"}, {"sync_ref_model", "false"}, {"chord_sft_dataset", ""}, {"chord_sft_per_device_train_batch_size", ""},
    {"chord_enable_phi_function", "false"}, {"chord_mu_warmup_steps", ""}, {"chord_mu_decay_steps", ""}, {"chord_mu_peak", ""}, {"chord_mu_valley", ""},
    {"reward_model", ""}, {"reward_adapters", ""}, {"reward_model_type", ""}, {"reward_model_revision", ""}, {"reward_model_plugin", ""},
    {"reward_template", ""}, {"teacher_model", ""}, {"teacher_adapters", ""}, {"teacher_model_server", ""}, {"teacher_deepspeed", ""},
    {"offload_teacher_model", "false"}, {"advantage_reweight", ""}, {"sdar_loss_coef", "0|0"}, {"vllm_pipeline_parallel_size", "*"},
    {"vllm_enable_expert_parallel", "*"}, {"vllm_quantization", "*"}, {"vllm_speculative_config", "*"}, {"vllm_engine_kwargs", "{}"},
    {"offload_bridge", "false"}, {"router_replay_mode", "disabled"}, {"vllm_enable_lora", "false"}, {"vllm_mm_processor_cache_gb", ""}, {"vllm_max_num_seqs", ""}, {"sft_alpha", "0|0"}, {"gkd_logits_topk", ""},
});
// clang-format on

class swift_rollout {
 public:
  swift_rollout(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// Once it is known what trains, and how it is sharded.
  void read() {
    const auto* weight = v_->take("beta");
    const bool compares = weight == nullptr || number_at(*weight, "beta", 0.0, 1e6) != 0;  // 0.04 where nothing is said
    d_->replace("objective", {{"kind", "grpo"}, {"trainer", "ms-swift"}, {"reference", !compares ? "none" : d_->has({"adapter"}) ? "adapter-off" : "copy"}}, v_->place("rlhf_type"));
    completions();
    d_->say({"rollout", "generations"}, v_->number("num_generations", 8, v_->has("teacher_model") || v_->has("teacher_model_server") ? 1 : 2), v_->place("num_generations"));  // rlhf_args.py _init_teacher
    d_->job["objective"]["kind"] = "grpo";
    drawn_once();
    entropies();
    cut();
    together();
    generation();
    // GRPOConfig.__post_init__ of arguments.py: the third stage fetches nothing ahead.
    if (const auto* stage = d_->find({"framework", "options", "zero_optimization", "stage"}); stage != nullptr && *stage == 3) d_->say({"framework", "options", "zero_optimization", "stage3_prefetch_bucket_size"}, 0, v_->place("rlhf_type"));
  }
  /// GRPO over Megatron-Core (swift/megatron/arguments/megatron_args.py RLHFMegatronArgumentsMixin, _init_grpo): an engine generates always.
  void over_megatron() {
    always_ = true;
    if (v_->has("max_length")) d_->say({"rollout", "prompt"}, prompt_within(v_->number("max_length", 1), v_->number("micro_batch_size", 1), v_->on("padding_free", true)), v_->place("max_length"));
    completions();
    d_->say({"rollout", "generations"}, v_->number("num_generations", 8), v_->place("num_generations"));
    drawn_once();
    if (const auto times = v_->number("num_iterations", 1); times > 1) d_->unmodelled_key("num_iterations", times, v_->place("num_iterations"), "over Megatron-Core, where ms-swift stops");
    // RLHFMegatronArgumentsMixin.resolve_generation_batch_size: so many steps learn from what is generated together.
    const auto steps = v_->number("steps_per_generation", 1), all = v_->number("generation_batch_size", 0, 0);
    d_->know(d_->generation_batch, "generation_batch_size", all > 0 ? all : checked::mul(steps, v_->number("global_batch_size", 16)), v_->place(all > 0 ? "generation_batch_size" : "steps_per_generation"));
    if (!v_->on("use_vllm", true)) fail("headroom: " + v_->place("use_vllm") + ": GRPO over Megatron-Core generates with vLLM: use_vllm must be true");
    v_->take("move_model_batches");  // not supported yet there
    engine();
  }
  /// A distillation: the student answers, once. `reads`: the rest of the batches has the data set's answers, which max_length cuts with their prompts.
  void of_student(bool reads) {
    completions();
    v_->take("num_generations");
    if (const auto* most = d_->find({"rollout", "prompt"}); reads && most != nullptr) d_->say({"rollout", "data_answers"}, *most, v_->place("max_length"));
    generation();
  }
  /// … or never does: what is said of generation has no effect.
  void none() {
    for (const auto* key : {"max_completion_length", "response_length", "multi_turn_scheduler", "max_turns", "use_gym_env", "num_generations", "steps_per_generation", "generation_batch_size", "use_vllm", "vllm_mode", "vllm_gpu_memory_utilization", "vllm_tensor_parallel_size",
                            "sleep_level", "move_model_batches", "offload_model", "offload_optimizer", "vllm_enforce_eager"})
      v_->take(key);
  }

 private:
  void completions() {
    // max_length cuts prompts.
    if (const auto* length = d_->find({"batch", "sequence"}); length != nullptr && v_->has("max_length")) {
      d_->say({"rollout", "prompt"}, prompt_within(length->get<std::int64_t>(), v_->number("per_device_train_batch_size", 1), v_->on("padding_free")), v_->place("max_length"));
      d_->job["batch"].erase("sequence");
    }
    if (const auto turns = takes_turns(); !turns.empty()) {
      for (const auto* key : {"max_completion_length", "response_length"}) v_->take(key);
      d_->notes.push_back(turns + ": rollout.completion is of all turns of a conversation together, what the environment says between them included");
      return;
    }
    d_->say({"rollout", "completion"}, std::min(answer(), window() - 1), v_->place("max_completion_length"));
  }
  /// Where it is said that a conversation has several turns; only an environment knows how long they are together. Beside a server it is the server that
  /// takes turns.
  std::string takes_turns() {
    const auto *turns = v_->take("multi_turn_scheduler"), *most = v_->take("max_turns");
    const bool plays = v_->on("use_gym_env");
    if (d_->server_turns && v_->word_now("vllm_mode") == "server") return d_->server_turns->place;
    return ((turns != nullptr && *turns != "") || plays) && (most == nullptr || *most != 1) ? v_->place(plays ? "use_gym_env" : "multi_turn_scheduler") : std::string{};
  }
  std::int64_t answer() { return v_->number(v_->has("max_completion_length") || !v_->has("response_length") ? "max_completion_length" : "response_length", 512); }
  /// Tokens that GRPO's colocated engine lets a prompt and its answer have together.
  std::int64_t window() {
    const auto most = v_->number("vllm_max_model_len", 0, 0);
    return most < 2 || !v_->on("use_vllm", always_) || v_->word_now("vllm_mode") != "colocate" || v_->word_now("rlhf_type") != "grpo" ? std::numeric_limits<std::int64_t>::max() : most;
  }
  /// Prompts cut at `longest`. An answer ends where the engine's window does (swift/infer_engine/infer_engine.py, set_default_max_tokens): a row of
  /// as many tokens takes most with the longest answer. Padded rows of several prompts may be wide by the prompt of one and the answer of another;
  /// those of one prompt, which lie one behind the other (trl/trainer/utils.py, RepeatSampler), and joined ones are not.
  std::int64_t prompt_within(std::int64_t longest, std::int64_t micro, bool joined) {
    const auto all = window(), room = std::max<std::int64_t>(all - std::min(answer(), all - 1), 1);
    const bool apart = !joined && v_->number("num_generations", 8) % micro != 0;
    return std::min(longest, apart || !takes_turns().empty() ? all - 1 : room);
  }
  /// DAPO draws groups again whose rewards are alike, as many completions at once as before (grpo_trainer.py _dynamic_sampling).
  void drawn_once() {
    if (!v_->on("dynamic_sample")) return;
    const std::string what = "no group of completions is drawn again: each time takes as long as the first";
    d_->notes.push_back(v_->place("dynamic_sample") + ": " + what);
    d_->assumed.push_back(what);
  }
  /// Entropies of the completions' tokens, as a metric or for a threshold (grpo_trainer.py _get_logps_via_local_forward).
  void entropies() {
    const auto* part = v_->take("top_entropy_quantile");
    const bool logs = v_->on("log_entropy"), picks = part != nullptr && number_at(*part, "top_entropy_quantile", 0.0, 1.0) < 1;
    if (!logs && !picks) return;
    const std::string by = logs ? "log_entropy" : "top_entropy_quantile";
    if (v_->number("sequence_parallel_size", 1) > 1) d_->unmodelled_key(by, v_->all()[by], v_->place(by), "beside sequence_parallel_size");
    d_->job["objective"]["entropies"] = true;
  }
  /// GPUs that train on parts of the same row, each of them in turn with what each of them has drawn (swift/sequence_parallel; grpo_trainer.py __init__,
  /// _prepare_inputs).
  void cut() {
    ranks_ = v_->number("sequence_parallel_size", 1);
    if (ranks_ == 1) return;
    const auto place = v_->place("sequence_parallel_size");
    if (!v_->on("padding_free") || !v_->on("use_vllm")) d_->unmodelled_key("sequence_parallel_size", ranks_, place, "read of rows without padding (padding_free) that an engine completes");
    d_->say({"parallel"}, {{"context", ranks_}, {"context_kind", "ulysses"}}, place);
    d_->job["batch"]["accumulation"] = checked::mul(ranks_, v_->number("gradient_accumulation_steps", 1));
  }
  /// Completions of so many micro-batches are generated and scored together, and so many updates learn from them (grpo_trainer.py, _prepare_inputs).
  /// generation_batch_size counts those of all processes (args_mixin.py, RolloutTrainerArgumentsMixin).
  void together() {
    if (const auto times = v_->number("num_iterations", 1); times > 1) d_->say({"rollout", "iterations"}, times, v_->place("num_iterations"));
    if (!v_->on("use_vllm")) return;  // own_module()
    const auto accumulated = v_->number("gradient_accumulation_steps", 1);
    const auto all = v_->number("generation_batch_size", 0, 0);
    if (const auto steps = v_->number("steps_per_generation", 0, 0); steps > 0 && steps != accumulated) d_->say({"rollout", "steps_per_generation"}, checked::mul(steps, ranks_), v_->place("steps_per_generation"));
    else if (steps == 0 && all > 0) d_->know(d_->generation_batch, "generation_batch_size", all, v_->place("generation_batch_size"));
  }
  void generation() {
    if (v_->on("use_vllm"))
      engine();
    else
      own_module();
  }
  void engine() {
    const auto mode = v_->one_of("vllm_mode", "", {"", "colocate", "server"});
    if (mode.empty()) fail("headroom: " + v_->place(v_->has("use_vllm") ? "use_vllm" : "rlhf_type") + ": use_vllm needs vllm_mode, colocate or server");
    d_->say({"rollout", "engine"}, "vllm", v_->place(v_->has("use_vllm") ? "use_vllm" : "vllm_mode"));
    const auto share = v_->share("vllm_gpu_memory_utilization", 0.9);
    const auto tensor = v_->number("vllm_tensor_parallel_size", 1), sleep = v_->number("sleep_level", 0, 0), groups = v_->number("move_model_batches", 1);
    const bool model = v_->on("offload_model"), optimizer = v_->on("offload_optimizer"), eager = v_->on("vllm_enforce_eager");
    if (mode == "server") {
      d_->say({"rollout", "placement"}, "separate", v_->place("vllm_mode"));
      if (model || optimizer)  // rollout_mixin.py _prepare_vllm: enable_offload is a colocated engine's
        d_->notes.push_back(v_->place(model ? "offload_model" : "offload_optimizer") + ": offload_model and offload_optimizer have no effect beside an engine on other GPUs");
    } else {
      // The engine quantises its weights, too (_prepare_vllm_engine, vllm_quantization).
      if (d_->has({"adapter", "base"})) fail("headroom: " + v_->place("quant_method") + ": a quantised model beside vllm_mode colocate, whose engine quantises its own weights, is not modelled by this version");
      d_->say({"rollout"}, {{"placement", "colocated"}, {"share", share}, {"tensor", tensor}, {"sleep", sleep}}, v_->place("vllm_mode"));
      auto moves = json_value::array();
      if (model) moves.push_back("parameters");
      if (optimizer) moves.push_back("optimizer");
      if (!moves.empty()) d_->say({"rollout", "trainer_moves"}, moves, v_->place(model ? "offload_model" : "offload_optimizer"));
      if (eager) d_->say({"rollout", "graphs"}, false, v_->place("vllm_enforce_eager"));
    }
    if (groups > 1) d_->say({"rollout", "sync_groups"}, groups, v_->place("move_model_batches"));
  }
  void own_module() {
    // rlhf_args.py _init_rollout (2dff7177 of 2025-12-12); before, vllm_mode has a word of its own where nothing is said, and no word has an effect here.
    if (!v_->word("vllm_mode", "").empty())
      d_->releases.push_back({"ms-swift", 312, v_->place("vllm_mode"), "vllm_mode is said and use_vllm is not true", false, [](draft&, const std::string& place) {
        fail("headroom: " + place + ": ms-swift stops since 3.12 (2025-12) where vllm_mode is said and use_vllm is not true: take it out, or say use_vllm true (--set environment.ms-swift=VERSION where it is older)");
      }, nullptr, nullptr, 312});
    for (const auto* key : {"vllm_gpu_memory_utilization", "vllm_tensor_parallel_size", "sleep_level", "move_model_batches", "offload_model", "offload_optimizer", "vllm_enforce_eager"}) v_->take(key);
    d_->say({"rollout", "engine"}, "trainer", v_->place("use_vllm"));
    if (!v_->on("ds3_gather_for_generation", true)) d_->say({"rollout", "gathers"}, false, v_->place("ds3_gather_for_generation"));  // rollout_mixin.py, unwrap_model_for_generation
    const auto accumulated = v_->number("gradient_accumulation_steps", 1);
    if (const auto at_once = v_->number("steps_per_generation", accumulated); at_once != accumulated) d_->unmodelled_key("steps_per_generation", at_once, v_->place("steps_per_generation"), "beside generation by the trained module");
    if (const auto* said = v_->take("generation_batch_size")) d_->unmodelled_key("generation_batch_size", *said, v_->place("generation_batch_size"), "beside generation by the trained module");
  }

  draft* d_;
  named_values* v_;
  std::int64_t ranks_{1};  ///< GPUs that share each row
  bool always_{};  ///< an engine generates where nothing is said
};

}  // namespace headroom::io::detail
