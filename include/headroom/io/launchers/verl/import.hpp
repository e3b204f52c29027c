// Distributed under the Boost Software License, Version 1.0.
// verl's PPO trainer over FSDP, by the overrides of its command: python3 -m verl.trainer.main_ppo KEY=VALUE … (volcengine/verl b178a3cd of 2026-01-29:
// verl/trainer/config/_generated_ppo_trainer.yaml, verl/workers/fsdp_workers.py, verl/workers/actor/dp_actor.py, verl/trainer/ppo/ray_trainer.py,
// verl/workers/rollout/vllm_rollout/vllm_rollout.py; a critic: CriticWorker there, verl/trainer/main_ppo.py). Its Megatron workers: verl/megatron.hpp.
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/fsdp2_root.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/loaded_formats.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/other_roles.hpp>
#include <headroom/io/launchers/verl/actor.hpp>
#include <headroom/io/launchers/verl/ages.hpp>
#include <headroom/io/launchers/verl/apart.hpp>
#include <headroom/io/launchers/verl/critic.hpp>
#include <headroom/io/launchers/verl/document.hpp>
#include <headroom/io/launchers/verl/keys.hpp>
#include <headroom/io/launchers/verl/megatron.hpp>
#include <headroom/io/launchers/verl/padding.hpp>
#include <headroom/io/launchers/verl/reward.hpp>

#include <deque>
#include <numeric>

namespace headroom::io {

namespace detail {

class verl_overrides {
 public:
  /// `oldest`: the release that a command's keys are of, at least.
  verl_overrides(draft& d, const document& from, bool detached, std::int32_t oldest) : d_(&d), v_(from, std::int64_t{1} << 31), detached_(detached), oldest_(oldest) {}

  void import() {
    divides_ = v_.one_of("actor_rollout_ref.actor.strategy", v_.all().contains("--megatron") ? "megatron" : "fsdp", {"fsdp", "fsdp2", "megatron"}) == "megatron";
    v_.take("--megatron");
    if (detached_) verl_apart{*d_, v_}.check(divides_);
    if (!divides_) workers(), d_->framework_is("hf-trainer", v_.source());
    const auto model = v_.word("actor_rollout_ref.model.path", "");
    if (model.empty()) fail("headroom: " + v_.source() + ": actor_rollout_ref.model.path is required");
    d_->trained_name = model;
    d_->awaits_roles.clear();
    say_model(*d_, model, v_.place("actor_rollout_ref.model.path"));
    d_->say({"hardware", "gpus_per_node"}, v_.number("trainer.n_gpus_per_node", 8), v_.place("trainer.n_gpus_per_node"));
    if (const auto nodes = v_.number("trainer.nnodes", 1); nodes > 1) d_->say({"hardware", "nodes"}, nodes, v_.place("trainer.nnodes"));
    if (divides_) {
      read_verl_fused(*d_, v_, true, oldest_);
      for (const auto* key : {"actor_rollout_ref.model.use_remove_padding", "actor_rollout_ref.actor.use_torch_compile", "actor_rollout_ref.model.target_modules"}) v_.take(key);
      for (const auto* key : {"actor_rollout_ref.model.lora_rank", "actor_rollout_ref.model.lora.rank"})
        if (const auto rank = v_.number(key, 0, 0); rank > 0) d_->unmodelled_key(key, rank, v_.place(key), "adapters over verl's Megatron workers");
    } else {
      read_verl_actor(*d_, v_, oldest_);
    }
    rollout();
    date_verl(*d_, v_, oldest_);
    batch();
    if (!divides_) read_verl_padding(*d_, v_, oldest_);
    method();
    reference();
    if (d_->job["objective"]["kind"] == "ppo") read_verl_critic(*d_, v_, divides_);
    read_verl_reward(*d_, v_, divides_, oldest_);
    rest();
  }

 private:
  void workers() {
    const auto strategy = v_.one_of("actor_rollout_ref.actor.strategy", "fsdp", {"fsdp", "fsdp2", "megatron"});
    for (const auto& [key, value] : v_.all().items())
      if (key.find(".megatron.") != std::string::npos) fail("headroom: " + v_.place(key) + ": " + key + " is of verl's Megatron workers, which --config-name ppo_megatron_trainer.yaml or actor_rollout_ref.actor.strategy=megatron starts");
    const bool second = strategy == "fsdp2", gathers_again = v_.on("actor_rollout_ref.actor.fsdp_config.reshard_after_forward", true);
    v_.one_of("actor_rollout_ref.actor.fsdp_config.strategy", strategy, {"fsdp", "fsdp2"});
    d_->replace("sharding", {{"kind", second ? "fsdp2" : "fsdp1"}, {"stage", gathers_again ? 3 : 2}}, v_.place("actor_rollout_ref.actor.strategy"));
    if (second && gathers_again) date_torch_of_root(*d_, v_.place("actor_rollout_ref.actor.strategy"));
    sequences();
  }
  /// GPUs that train on parts of the same samples (DeepSpeed-Ulysses). The older key, if given, stands in the newer one's place
  /// (verl/workers/config/actor.py FSDPActorConfig.__post_init__).
  void sequences() {
    const auto* key = "actor_rollout_ref.actor.ulysses_sequence_parallel_size";
    const auto newer = v_.number("actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size", 1), older = v_.number(key, 1);
    cut_ = older > 1 ? older : newer;
    const auto* other = "actor_rollout_ref.ref.ulysses_sequence_parallel_size";
    if (const auto* n = v_.take(other); n != nullptr && !n->is_null() && *n != older) d_->unmodelled_key(other, *n, v_.place(other), "a reference that cuts samples in another way than the actor");
    if (cut_ > 1) d_->say({"parallel"}, {{"context", cut_}, {"context_kind", "ulysses"}}, v_.place(older > 1 ? key : "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size"));
  }
  void rollout() {
    const auto engine = v_.one_of("actor_rollout_ref.rollout.name", "", {"", "vllm", "sglang", "hf", "trtllm"});
    if (engine.empty()) fail("headroom: " + v_.source() + ": actor_rollout_ref.rollout.name is not given, which verl 0.6 (2025-10) and later ask for, and which is vllm before: add actor_rollout_ref.rollout.name=vllm, or sglang, to the command");
    if (engine != "vllm" && engine != "sglang") fail("headroom: " + v_.place("actor_rollout_ref.rollout.name") + ": actor_rollout_ref.rollout.name " + in_quotes(engine) + " is not modelled by this version; accepted: vllm, sglang");
    const bool layered = v_.on("actor_rollout_ref.rollout.layered_summon"), frees = v_.on("actor_rollout_ref.rollout.free_cache_engine", true);
    json_value r = {{"engine", engine}, {"placement", "colocated"}, {"share", v_.share("actor_rollout_ref.rollout.gpu_memory_utilization", 0.5)}, {"tensor", v_.number("actor_rollout_ref.rollout.tensor_model_parallel_size", 2)},
                    {"sleep", !frees ? 0 : layered && engine == "vllm" ? 1 : 2}, {"prompt", v_.number("data.max_prompt_length", 512)}, {"completion", v_.number("data.max_response_length", 512)}, {"generations", v_.number("actor_rollout_ref.rollout.n", 1)},
                    {"batched_tokens", v_.number("actor_rollout_ref.rollout.max_num_batched_tokens", 8192)}};
    if (engine == "sglang") r.erase("batched_tokens");  // not passed on (verl/workers/rollout/sglang_rollout/async_sglang_server.py launch_server)
    if (v_.on("actor_rollout_ref.rollout.enforce_eager")) r["graphs"] = false;
    // vllm config/compilation.py CUDAGraphMode: the kinds of graphs, which are counted alike, or none.
    if (v_.one_of("actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config.cudagraph_mode", "", {"", "NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"}) == "NONE") r["graphs"] = false;
    if (const auto at_once = v_.number("actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu", 0, 0); at_once > 0) r["batch"] = at_once;
    if (v_.take("actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes") != nullptr) r["sync_bucket_mib"] = v_.number("actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes", 2048);
    if (const auto layers = model_of(*d_).layers; layered && d_->has({"adapter"}) && layers > 1) r["sync_groups"] = layers;
    auto moves = json_value::array();
    if (v_.on(divides_ ? "actor_rollout_ref.actor.megatron.param_offload" : "actor_rollout_ref.actor.fsdp_config.param_offload")) moves.push_back("parameters");
    if (v_.on(divides_ ? "actor_rollout_ref.actor.megatron.optimizer_offload" : "actor_rollout_ref.actor.fsdp_config.optimizer_offload")) moves.push_back("optimizer");
    if (!moves.empty()) r["trainer_moves"] = moves;
    if (detached_) verl_apart{*d_, v_}.engine(r);
    d_->replace("rollout", r, v_.place("actor_rollout_ref.rollout.name"));
    if (!detached_ && frees && !layered && engine == "vllm") {
      const std::string what = "vLLM is of 0.8.5 or later, whose weights verl throws away while it trains";
      d_->notes.push_back(v_.source() + ": " + what + " (--set rollout.sleep=1 where it is older)");
      d_->assumed.push_back(what);
    }
  }
  /// An update takes so many prompts, each with all of its completions, over all GPUs.
  void batch() {
    const auto number = [&](const char* a, const char* b) { return d_->job[a].contains(b) ? d_->job[a][b].get<std::int64_t>() : std::int64_t{1}; };
    const auto all_gpus = checked::mul(number("hardware", "gpus_per_node"), number("hardware", "nodes"));
    if (!divides_) replicas(all_gpus);
    const auto gpus = ranks(all_gpus);
    if (!divides_)  // fsdp_workers.py, ActorRolloutRefWorker.__init__
      if (const auto scores = v_.number("actor_rollout_ref.rollout.log_prob_micro_batch_size", 0, 0) / gpus; scores > 0 && !d_->job["rollout"].contains("batch")) d_->job["rollout"]["batch"] = scores;
    const auto longest = checked::add(number("rollout", "prompt"), number("rollout", "completion"));
    auto micro = v_.number("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", 0, 0);
    const auto of_all = v_.number("actor_rollout_ref.actor.ppo_micro_batch_size", 0, 0);
    if (v_.on("actor_rollout_ref.actor.use_dynamic_bsz")) return rows(gpus, longest);
    if (micro > 0 && of_all > 0)  // workers/config/actor.py, _check_mutually_exclusive
      fail("headroom: " + v_.place("actor_rollout_ref.actor.ppo_micro_batch_size") + ": verl stops where actor_rollout_ref.actor.ppo_micro_batch_size and ppo_micro_batch_size_per_gpu are both given: take ppo_micro_batch_size out");
    if (micro == 0) micro = of_all / gpus;  // fsdp_workers.py, ActorRolloutRefWorker.__init__
    v_.take("actor_rollout_ref.actor.ppo_max_token_len_per_gpu");
    if (micro == 0) fail("headroom: " + v_.source() + ": actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu is required: completions that a GPU trains on at once");
    const auto all = checked::mul(v_.number("actor_rollout_ref.actor.ppo_mini_batch_size", 256), number("rollout", "generations"));
    if (divides_) return verl_megatron{*d_, v_}.import(micro, longest, all);
    const auto each = all / checked::mul(gpus, micro);
    if (each < 1) fail("headroom: " + v_.place("actor_rollout_ref.actor.ppo_mini_batch_size") + ": actor_rollout_ref.actor.ppo_mini_batch_size × rollout.n must be at least ppo_micro_batch_size_per_gpu × the GPUs");
    d_->say({"batch"}, {{"micro", micro}, {"accumulation", each}, {"sequence", longest}}, v_.place("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"));
  }
  /// Of so many GPUs, groups that train on samples of their own.
  [[nodiscard]] std::int64_t ranks(std::int64_t gpus) const {
    if (gpus % cut_ != 0) fail("headroom: " + v_.place("actor_rollout_ref.actor.ulysses_sequence_parallel_size") + ": actor_rollout_ref.actor.ulysses_sequence_parallel_size must divide the GPUs, " + std::to_string(gpus));
    return gpus / cut_;
  }
  /// Shards over a part of the GPUs, which other parts have again (fsdp_workers.py create_device_mesh); of the reference, too.
  void replicas(std::int64_t gpus) {
    const auto* key = "actor_rollout_ref.actor.fsdp_config.fsdp_size";
    const auto* size = v_.take(key);
    if (size == nullptr || *size == -1) return;
    const auto part = v_.number(key, gpus);
    if (part >= gpus) return;
    if (part == 1 || gpus % part != 0) d_->unmodelled_key(key, part, v_.place(key), "shards over one GPU, or over a number that does not divide all");
    d_->say({"parallel", "replicate"}, gpus / part, v_.place(key));
  }
  /// One of Megatron's degrees, without asking for it.
  [[nodiscard]] std::int64_t degree(const char* name) const {
    const auto it = v_.all().find("actor_rollout_ref.actor.megatron." + std::string{name});
    return it == v_.all().end() || !it->is_number_integer() ? 1 : std::max<std::int64_t>(1, it->get<std::int64_t>());
  }
  /// Scores are made of rows, too, which may hold more tokens: of how many.
  std::int64_t score_rows(std::int64_t row) {
    std::int64_t most = row;
    for (const auto* who : {"actor_rollout_ref.rollout.", "actor_rollout_ref.ref."}) {
      const auto &dynamic = names_.emplace_back(std::string{who} + "log_prob_use_dynamic_bsz"), &tokens = names_.emplace_back(std::string{who} + "log_prob_max_token_len_per_gpu");
      const bool by_tokens = v_.on(dynamic, true);
      const auto each = v_.number(tokens, row / cut_);
      if (detached_ && !verl_apart{*d_, v_}.scores(who)) continue;
      if (!by_tokens) d_->unmodelled_key(dynamic, false, v_.place(dynamic), "scores of a number of samples beside training on rows of tokens");
      most = std::max(most, checked::mul(each, cut_));
    }
    d_->job["rollout"].erase("batch");
    return most;
  }
  /// A row is a number of pieces, of which those that are scored are others: as long as both, and the critic's, allow. Beside a critic whose rows are no such number
  /// the actor's may be counted as up to a twentieth longer.
  std::int64_t piece_of(std::int64_t row, std::int64_t scored, std::int64_t longest) {
    const auto estimator = v_.word_now("algorithm.adv_estimator");
    auto piece = std::gcd(row, scored);
    if (!estimator.empty() && estimator != "gae") return piece < longest ? row : piece;
    const auto values = checked::mul(v_.number("critic.ppo_max_token_len_per_gpu", 32768), cut_);
    piece = std::gcd(piece, values);
    if (piece >= longest || values % row == 0) return piece < longest ? row : piece;
    for (auto n = values / longest; n > 0; --n)
      if (const auto each = values / n; values % n == 0 && (checked::ceil_div(row, each) * each - row) * 20 <= row) {
        const auto* key = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu";
        const std::string what = "rows of " + std::to_string(row) + " tokens are counted as " + std::to_string(checked::ceil_div(row, each) * each) + ", pieces of which the critic's are a number";
        d_->notes.push_back(v_.place(key) + ": " + what);
        d_->assumed.push_back(what);
        return each;
      }
    return row;
  }
  /// Micro-batches are rows of a number of tokens, into which samples are laid; as many as samples of the longest length take.
  void rows(std::int64_t gpus, std::int64_t longest) {
    const auto* key = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu";
    const auto row = checked::mul(v_.number(key, 16384), cut_);  // dp_actor.py update_policy
    const auto samples = checked::mul(v_.number("actor_rollout_ref.actor.ppo_mini_batch_size", 256), d_->job["rollout"]["generations"].get<std::int64_t>());
    if (row < longest) fail("headroom: " + v_.place(key) + ": " + key + " must hold the longest sample, " + std::to_string(longest) + " tokens; verl stops there");
    const auto scored = score_rows(row);
    if (divides_) {
      if (scored > row) d_->job["rollout"]["batch"] = checked::ceil_div(scored, row);
      const auto data = std::max<std::int64_t>(1, gpus / checked::mul(checked::mul(degree("tensor_model_parallel_size"), degree("pipeline_model_parallel_size")), degree("context_parallel_size")));
      const auto each = checked::ceil_div(checked::mul(checked::ceil_div(samples, data), longest), row);
      verl_megatron{*d_, v_}.import(1, row, checked::mul(each, data));
      d_->say({"batch", "packed"}, true, v_.place(key));
      return;
    }
    const auto piece = piece_of(row, scored, longest);
    if (scored > row) d_->job["rollout"]["batch"] = checked::ceil_div(scored, piece);
    d_->say({"batch"}, {{"micro", checked::ceil_div(row, piece)}, {"accumulation", checked::ceil_div(checked::mul(checked::ceil_div(samples, gpus), longest), row)}, {"sequence", piece}, {"packed", true}}, v_.place(key));
  }
  /// Without a critic, methods differ in arithmetic on rewards.
  void method() {
    const auto estimator = v_.word("algorithm.adv_estimator", "gae");
    const bool asked = v_.on("critic.enable", estimator == "gae");
    if (estimator != "gae" && asked) d_->unmodelled_key("critic.enable", true, v_.place("critic.enable"), "a critic beside " + estimator);
    if (estimator == "gae" && !asked) d_->unmodelled_key("critic.enable", false, v_.place("critic.enable"), "gae without a critic");
    if (estimator != "gae" && !among_words("grpo|grpo_passk|grpo_vectorized|rloo|rloo_vectorized|gpg|opo|reinforce_plus_plus|reinforce_plus_plus_baseline|remax", estimator)) d_->unmodelled_key("algorithm.adv_estimator", estimator, v_.place("algorithm.adv_estimator"));
    if (estimator == "remax") d_->notes.push_back(v_.place("algorithm.adv_estimator") + ": the greedy completion that ReMax generates of each prompt beside the others takes no more memory, and is not in the step's time");  // ray_trainer.py fit
    const bool in_loss = v_.on("actor_rollout_ref.actor.use_kl_loss"), in_reward = v_.on("algorithm.use_kl_in_reward");
    const bool waits = divides_ && (in_loss || in_reward) && v_.on("actor_rollout_ref.ref.megatron.param_offload", v_.on("actor_rollout_ref.actor.megatron.param_offload"));
    d_->replace("objective", {{"kind", estimator == "gae" ? "ppo" : estimator.starts_with("rloo") ? "rloo" : "grpo"}, {"trainer", "verl"}, {"reference", !in_loss && !in_reward ? "none" : d_->has({"adapter"}) ? "adapter-off" : "copy"}}, v_.place("algorithm.adv_estimator"));
    if (waits) d_->say({"objective", "reference_parameters_at"}, "cpu", v_.place("actor_rollout_ref.ref.megatron.param_offload"));
  }
  /// A reference scores at once what the policy does.
  void reference() {
    if (v_.on("actor_rollout_ref.actor.use_dynamic_bsz")) return;
    const auto* each = "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu";
    const auto* all = "actor_rollout_ref.ref.log_prob_micro_batch_size";
    const auto& hardware = d_->job["hardware"];
    const auto gpus = checked::mul(hardware.value("gpus_per_node", std::int64_t{1}), hardware.value("nodes", std::int64_t{1}));
    auto at_once = v_.number(each, 0, 0);
    if (const auto n = v_.number(all, 0, 0); n > 0 && !divides_) at_once = n / ranks(gpus);  // fsdp_workers.py, ActorRolloutRefWorker.__init__
    const auto policy = d_->job["rollout"].value("batch", d_->job["batch"].value("micro", std::int64_t{1}));
    if (d_->job["objective"]["reference"] != "none" && at_once > policy) d_->unmodelled_key(each, at_once, v_.place(each), "more than the policy scores at once, " + std::to_string(policy));
  }
  /// Of the reference over Megatron: what is harmless, and degrees that are the actor's, as verl's own configuration has them.
  [[nodiscard]] bool reference_as_actor(const std::string& key, const json_value& value) const {
    constexpr std::string_view theirs = "actor_rollout_ref.ref.megatron.";
    if (!key.starts_with(theirs)) return false;
    const auto name = key.substr(theirs.size());
    if (among_words(verl_megatron_passed, name) || name == "param_offload" || name == "optimizer_offload" || name == "sequence_parallel") return true;
    const auto actor = v_.all().find("actor_rollout_ref.actor.megatron." + name);
    return actor != v_.all().end() ? *actor == value : value == 1 || value.is_null();
  }
  /// Whether positions are angles, of which more cost nothing.
  [[nodiscard]] bool turns() const { return model_of(*d_).position == position_kind::rope; }
  void rest() {
    for (const auto& [key, value] : v_.all().items()) {
      if (v_.taken(key) || key.starts_with("hydra.") || key == "actor_rollout_ref.model.override_config.model_config.max_position_embeddings") continue;  // of angles alone
      if (key == "actor_rollout_ref.model.override_config.max_position_embeddings" && turns()) continue;
      if (key == "actor_rollout_ref.model.exclude_modules" && !d_->has({"adapter"})) continue;  // of adapters alone (verl/workers/config/model.py HFModelConfig)
      if (divides_ && (reference_as_actor(key, value) || (key.starts_with("actor_rollout_ref.actor.optim.") && (!key.ends_with(".optimizer") || value == "adam")))) continue;
      const auto rule = rule_of(verl_passed, key, value);
      if (rule == key_rule::refused) d_->unmodelled_key(key, value, v_.place(key));
      if (rule == key_rule::unknown) d_->unknown_key(key, v_.place(key));
    }
  }

  draft* d_;
  named_values v_;
  bool divides_{}, detached_{};
  std::int32_t oldest_{};
  std::int64_t cut_{1};
  std::deque<std::string> names_;
};

}  // namespace detail

/// `detached`: the command is of verl's one-step-off-policy trainer.
inline void import_verl(draft& d, std::span<const shell_word> words, const std::string& source, bool detached = false) {
  d.verl_read = true;
  const auto from = detail::verl_document(words, source, d.verl, detached);
  const auto oldest = detached ? 5 : detail::verl_release_with(words);  // the detached trainer came with 0.5 (2025-07)
  with_places(from, [&] { detail::verl_overrides{d, from, detached, oldest}.import(); });
}

/// Configurations that a command goes over say too little without it.
inline void read_verl(const draft& d) {
  if (!d.verl.empty() && !d.verl_read) fail("headroom: " + d.verl.front().source + " is a configuration of verl's that its command goes over: give the script that starts it, too");
}

}  // namespace headroom::io
