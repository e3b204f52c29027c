// Distributed under the Boost Software License, Version 1.0.
// OpenRLHF's trainers over DeepSpeed, by the arguments of their commands: openrlhf.cli.train_{sft,rm,dpo,ppo_ray} (OpenRLHF/OpenRLHF 3c3be623 of
// 2026-08-13: openrlhf/cli/*.py, openrlhf/utils/deepspeed/*.py, openrlhf/models/*.py, openrlhf/trainer/ray/*.py; the losses
// since 0.7: log-probabilities e8757b48 of 2025-03-17, SFTLoss 9673a87c of 2025-04-12; and the names of its arguments before 0.10.2, too).
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/deepspeed/import.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/openrlhf/keys.hpp>
#include <headroom/io/launchers/other_roles.hpp>

#include <deque>

namespace headroom::io {

namespace detail {

/// Which of them.
enum class openrlhf_trainer : std::uint8_t { sft, reward, dpo, online };

class openrlhf_arguments {
 public:
  openrlhf_arguments(draft& d, const document& from, openrlhf_trainer what)
      : d_(&d), v_(from, std::int64_t{1} << 31), what_(what), online_(what == openrlhf_trainer::online), of_(online_ ? "actor." : "model.") {}

  void import() {
    const auto model = v_.word(of("model_name_or_path"), "");
    if (model.empty()) fail("headroom: " + v_.source() + ": " + of_ + "model_name_or_path is required");
    d_->trained_name = model;
    d_->awaits_roles.clear();
    say_model(*d_, model, v_.place(of("model_name_or_path")));
    experts(model);
    engine();
    layers();
    adapters();
    batch();
    if (online_)
      models(), rollout();
    else
      objective();
    rest();
  }

 private:
  /// A name of the policy's section; kept, as named_values keeps views of what it is asked for.
  const std::string& of(const std::string& name) { return names_.emplace_back(of_ + name); }
  [[nodiscard]] bool said(std::string_view key) {
    const auto* v = v_.take(key);
    return v != nullptr && *v != "";
  }

  /// Every model is asked for its routers' logits where its configuration knows the word, whatever aux_loss_coef is (openrlhf/models/actor.py and model.py,
  /// output_router_logits): families with routers of softmax make a loss of them.
  void experts(std::string name) {
    const auto m = model_of(*d_);
    if (!m.sparse() || m.latent()) return;
    for (auto& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto place = v_.place(of("model_name_or_path"));
    const bool known = std::any_of(std::begin(routed), std::end(routed), [&](std::string_view family) { return name.find(family) != name.npos; });
    if (!known || what_ != openrlhf_trainer::sft)
      fail("headroom: " + place + ": OpenRLHF has a mixture of experts make a loss of its routers' logits, which is modelled of Qwen's, gpt-oss, Mixtral and OLMoE in openrlhf.cli.train_sft alone by this version");
    d_->say({"loss", "balances_experts"}, true, place);
  }
  static constexpr std::string_view routed[] = {"qwen", "gpt-oss", "mixtral", "olmoe"};
  /// get_train_ds_config, with DeepSpeed's own defaults for what it says is "auto".
  void engine() {
    const auto format = v_.one_of("ds.param_dtype", "bf16", {"bf16", "fp16"});
    const auto stage = v_.number("ds.zero_stage", 2, 0);
    const bool offloads = v_.on("ds.adam_offload");
    stage_ = stage;
    json_value zero = {{"stage", stage}, {"offload_optimizer", {{"device", offloads ? "cpu" : "none"}, {"pin_memory", true}}}};
    if (const auto parts = v_.number("ds.zpg", 1); parts > 1) zero["zero_hpz_partition_size"] = parts;
    if (v_.on("ds.overlap_comm")) zero["overlap_comm"] = zero["contiguous_gradients"] = true;
    if (stage == 3) zero["reduce_scatter"] = true;
    json_value options = {{"zero_optimization", zero}, {format, {{"enabled", true}}}, {"optimizer", {{"type", "AdamW"}}}};
    if (said("ds.grad_accum_dtype")) options["data_types"] = {{"grad_accum_dtype", v_.word("ds.grad_accum_dtype", "")}};
    import_deepspeed(*d_, {.source = v_.source(), .root = options, .lines = {}});
    d_->half = draft::said{format, v_.place("ds.param_dtype")};
    d_->loaded = draft::said{format, v_.place("ds.param_dtype")};
    offloads_ = offloads;
  }
  void layers() {
    const bool packs = v_.on("ds.packing_samples");
    const auto kernel = v_.one_of("ds.attn_implementation", "flash_attention_2", {"flash_attention_2", "sdpa", "eager"});
    const bool flash = packs || kernel == "flash_attention_2";
    d_->replace("attention", flash ? "flash" : kernel, v_.place("ds.attn_implementation"));
    const bool again = v_.on(of("gradient_checkpointing_enable")), enters = v_.on(of("gradient_checkpointing_reentrant"));
    d_->replace("recompute", again ? json_value{{"mode", "full"}, {"reentrant", enters}} : json_value("none"), v_.place(names_[names_.size() - 2]));
    d_->say({"batch", "padded"}, !packs, v_.place("ds.packing_samples"));
  }
  void adapters() {
    const auto rank = v_.number("ds.lora.rank", 0, 0);
    const auto targets = v_.word("ds.lora.target_modules", "all-linear");
    const auto* drops = v_.take("ds.lora.dropout");
    if (rank == 0) return;
    if (online_) return d_->unmodelled_key("ds.lora.rank", rank, v_.place("ds.lora.rank"), "adapters in OpenRLHF's online trainer, whose weights are sent merged");
    auto list = json_value::array();
    for_each_word(targets, [&](std::string_view w) { list.push_back(w); });
    json_value a = {{"kind", "lora"}, {"rank", rank}, {"targets", targets == "all-linear" ? json_value(targets) : list}};
    if (drops != nullptr) a["dropout"] = number_at(*drops, "ds.lora.dropout", 0.0, 1.0);
    d_->replace("adapter", a, v_.place("ds.lora.rank"));
  }
  void batch() {
    const bool large = what_ == openrlhf_trainer::sft || what_ == openrlhf_trainer::dpo;
    const auto micro = v_.number("train.micro_batch_size", large ? 8 : 1);
    by_tokens_ = online_ && v_.on("train.dynamic_batch_enable");
    if (!by_tokens_) {
      d_->say({"batch", "micro"}, micro, v_.place("train.micro_batch_size"));
      d_->know(d_->global_batch, "train.batch_size", v_.number("train.batch_size", 128), v_.place("train.batch_size"));
    }
    d_->say({"batch", "sequence"}, v_.number("data.max_len", what_ == openrlhf_trainer::sft || online_ ? 2048 : 512), v_.place("data.max_len"));
    d_->keeps_lengths = v_.place("data.max_len");  // datasets/sft_dataset.py, collate_fn: padded to the longest, or one behind the other
  }
  void objective() {
    const auto kind = what_ == openrlhf_trainer::sft ? "sft" : what_ == openrlhf_trainer::reward ? "reward" : "dpo";
    d_->replace("objective", {{"kind", kind}, {"trainer", "openrlhf"}}, v_.source());
    if (what_ != openrlhf_trainer::dpo) return;
    if (const auto other = v_.word("ref.model_name_or_path", ""); !other.empty() && other != d_->trained_name)
      fail("headroom: " + v_.place("ref.model_name_or_path") + ": a reference that is another model than the trained one is not modelled by this version; leave it out");
    d_->say({"objective", "reference"}, "copy", v_.source());
    reference_waits();
  }

  /// DeepSpeed fetches weights from the host in its third stage alone (utils/deepspeed/deepspeed_utils.py get_eval_ds_config).
  void reference_waits() {
    if (!v_.on("ref.offload")) return;
    if (stage_ == 3) return d_->say({"objective", "reference_parameters_at"}, "cpu", v_.place("ref.offload"));
    d_->unmodelled_key("ref.offload", true, v_.place("ref.offload"), "a reference whose weights wait on the host, without ds.zero_stage 3");
  }

  /// Who trains and who scores, and on whose GPUs. All models and the engine share them, or the policy and its reference alone do.
  void models() {
    const auto estimator = v_.one_of("algo.advantage.estimator", "gae", {"gae", "reinforce", "rloo", "reinforce_baseline", "group_norm", "dr_grpo"});
    const auto* weight = v_.take("algo.kl.init_coef");
    const bool compares = weight == nullptr || number_at(*weight, "algo.kl.init_coef", 0.0, 1e6) > 0, ppo = estimator == "gae";
    all_ = v_.on("train.colocate_all");
    groups(compares);
    const bool served = said("reward.remote_url") || said("train.agent_func_path");
    const auto reward = v_.word("reward.model_name_or_path", ""), critic = v_.word("critic.model_name_or_path", "");
    if (!served && reward.empty()) fail("headroom: " + v_.source() + ": who scores completions? reward.model_name_or_path, reward.remote_url or train.agent_func_path is required");
    if (reward.find(',') != std::string::npos) return d_->unmodelled_key("reward.model_name_or_path", reward, v_.place("reward.model_name_or_path"), "several reward models");
    if (!all_ && (ppo || !served)) fail("headroom: " + v_.place("train.colocate_all") + ": critics and reward models on GPUs of their own are not modelled by this version: train.colocate_all puts all models on the same");
    d_->replace("objective", {{"kind", ppo ? "ppo" : estimator == "rloo" ? "rloo" : "grpo"}, {"trainer", "openrlhf"}, {"reference", compares ? "copy" : "none"}}, v_.place("algo.advantage.estimator"));
    if (compares) reference_waits();
    const bool waits = v_.on("reward.offload");
    if (!served) await_role(*d_, "reward", reward, v_.place("reward.model_name_or_path"), {{"parameters_at", waits ? json_value("cpu") : json_value(nullptr)}});
    if (ppo) await_role(*d_, "critic", !critic.empty() ? critic : !served ? reward : d_->trained_name, v_.place("critic.model_name_or_path"));
  }
  /// Nodes and GPUs of each group, which are the same for those that share them.
  void groups(bool compares) {
    const auto nodes = v_.number("actor.num_nodes", 1), each = v_.number("actor.num_gpus_per_node", 8);
    const bool together = v_.on("train.colocate_actor_ref") || all_;
    v_.on("train.colocate_critic_reward");
    if (compares && !together) fail("headroom: " + v_.place("train.colocate_actor_ref") + ": a reference on GPUs of its own is not modelled by this version: train.colocate_actor_ref puts it on the policy's");
    for (const auto* group : {"ref", "reward", "critic"}) {
      const auto& n = names_.emplace_back(std::string{group} + ".num_nodes");
      const auto there = v_.number(n, nodes);
      const auto& g = names_.emplace_back(std::string{group} + ".num_gpus_per_node");
      const bool same = there == nodes && v_.number(g, each) == each;
      if (!same && (all_ || (std::string_view{group} == "ref" && compares))) fail("headroom: " + v_.place(n) + ": " + group + " must have the nodes and GPUs of the actor where they share them");
    }
    d_->say({"hardware"}, {{"nodes", nodes}, {"gpus_per_node", each}}, v_.place("actor.num_gpus_per_node"));
  }
  void rollout() {
    const auto engines = v_.number("vllm.num_engines", 0, 0), tensor = v_.number("vllm.tensor_parallel_size", 1);
    if (engines == 0) fail("headroom: " + v_.place("vllm.num_engines") + ": generation without vLLM is not modelled of OpenRLHF by this version: vllm.num_engines must be 1 or more");
    const auto share = v_.share("vllm.gpu_memory_utilization", 0.95);
    const bool sleeps = v_.on("vllm.enable_sleep") && all_, moves = v_.on("ds.enable_sleep") && !offloads_;
    json_value r = {{"engine", "vllm"}, {"placement", all_ ? "colocated" : "separate"}, {"generations", v_.number("rollout.n_samples_per_prompt", 1)}, {"batch", v_.number("rollout.micro_batch_size", 1)}};
    if (all_) r.update({{"share", share}, {"tensor", tensor}, {"sleep", sleeps ? 1 : 0}});
    if (all_ && v_.on("vllm.enforce_eager")) r["graphs"] = false;
    if (!all_) r.update({{"gpus", checked::mul(engines, tensor)}, {"tensor", tensor}}), v_.on("vllm.enforce_eager");
    if (moves && sleeps) r["trainer_moves"] = json_value::array({"optimizer"});
    if (moves && !sleeps && all_) d_->unmodelled_key("ds.enable_sleep", true, v_.place("ds.enable_sleep"), "beside an engine that does not sleep (vllm.enable_sleep)");
    for (const auto* key : {"rollout.prompt_max_len", "rollout.max_new_tokens"})
      if (v_.take(key) != nullptr) r[std::string_view{key} == "rollout.max_new_tokens" ? "completion" : "prompt"] = v_.number(key, 1);
    if (by_tokens_) rows(r);
    // What max_len leaves of a prompt may be its completion (openrlhf/trainer/ppo_utils/samples_generator.py, max_tokens None and truncate_length).
    if (!r.contains("prompt") && !r.contains("completion")) d_->know(d_->shared_length, "data.max_len", v_.number("data.max_len", 2048), v_.place("data.max_len"));
    d_->replace("rollout", r, v_.place("vllm.num_engines"));
    if (r.contains("prompt") && r.contains("completion") && !by_tokens_) d_->say({"batch", "sequence"}, r["prompt"].get<std::int64_t>() + r["completion"].get<std::int64_t>(), v_.place("rollout.max_new_tokens"));
  }
  /// Micro-batches are rows of a number of tokens, into which samples are laid, and so is what is scored (trainer/ppo_utils/replay_buffer.py setup_dynamic_batch,
  /// experience_maker.py split_rollout_samples, which makes as many rows as GPUs divide: fewer, and so longer). Samples are taken to be as long as they may be.
  void rows(json_value& r) {
    constexpr std::string_view trains = "train.max_tokens_per_gpu", scores = "rollout.max_tokens_per_gpu", dynamic = "train.dynamic_batch_enable";
    if (!v_.on("ds.packing_samples")) return d_->unmodelled_key(std::string{dynamic}, true, v_.place(dynamic), "without ds.packing_samples, which would lay samples behind each other");
    const auto most = v_.number("data.max_len", 2048);
    if (r.contains("completion") && !r.contains("prompt") && r["completion"].get<std::int64_t>() < most) r["prompt"] = most - r["completion"].get<std::int64_t>();
    if (r.contains("prompt") && !r.contains("completion") && r["prompt"].get<std::int64_t>() < most) r["completion"] = most - r["prompt"].get<std::int64_t>();
    const auto longest = r.contains("prompt") && r.contains("completion") ? r["prompt"].get<std::int64_t>() + r["completion"].get<std::int64_t>() : most;
    const auto row = v_.number(trains, 16192), scored = v_.number(scores, row);
    for (const auto& [key, tokens] : {std::pair{trains, row}, {scores, scored}})
      if (tokens < longest) fail("headroom: " + v_.place(key) + ": " + std::string{key} + " must hold the longest sample, " + std::to_string(longest) + " tokens; a longer one would be a row of its own, which is not modelled by this version");
    const auto gpus = checked::mul(d_->job["hardware"]["nodes"].get<std::int64_t>(), d_->job["hardware"]["gpus_per_node"].get<std::int64_t>());
    const auto each = checked::ceil_div(v_.number("train.batch_size", 128), gpus);
    const auto all = checked::mul(checked::mul(v_.number("rollout.batch_size", 1024), v_.number("rollout.n_samples_per_prompt", 1)), longest);
    const auto calls = std::max(checked::ceil_div(all, scored) / gpus * gpus, gpus);
    r["batch"] = std::max<std::int64_t>(1, checked::ceil_div(checked::ceil_div(all, calls), row));
    d_->say({"batch"}, {{"micro", 1}, {"accumulation", checked::ceil_div(checked::mul(each, longest), row)}, {"sequence", row}, {"padded", false}, {"packed", true}}, v_.place(trains));
  }
  void rest() {
    for (const auto& [key, value] : v_.all().items()) {
      if (v_.taken(key)) continue;
      const auto rule = rule_of(openrlhf_passed, key, value);
      if (rule == key_rule::refused) d_->unmodelled_key(key, value, v_.place(key));
      if (rule == key_rule::unknown) d_->unknown_key(key, v_.place(key));
    }
  }

  draft* d_;
  named_values v_;
  openrlhf_trainer what_;
  bool online_, all_{}, offloads_{}, by_tokens_{};
  std::int64_t stage_{};
  std::string of_;
  std::deque<std::string> names_;
};

/// Arguments under the names that they have today. Those of before 0.10.2 say less of their age: flash_attn ended with 0.8.9, bf16 with 0.9.1.
inline document openrlhf_document(draft& d, std::span<const argument> all, const std::string& source, bool online, bool scores) {
  const auto given = [&](std::string_view name) { return std::any_of(all.begin(), all.end(), [&](const argument& a) { return a.name == name; }); };
  document from{.source = source, .root = json_value::object(), .lines = {}};
  const auto put = [&](const std::string& key, json_value value, int line) {
    from.root[key] = value == "True" || value == "true" ? json_value(true) : value == "False" || value == "false" ? json_value(false) : std::move(value);
    from.lines[key] = line;
  };
  bool old = false;
  for (const auto& a : all) {
    std::string name = a.name;
    for (const auto& n : openrlhf_old_names)
      if (n.old == a.name) name = n.now[0] == '@' ? std::string{online ? "actor" : "model"} + std::string{n.now.substr(1)} : std::string{n.now}, old = old || n.old != n.now;
    if (name == "flash_attn") name = "ds.attn_implementation";
    if (name == "bf16") name = "ds.param_dtype";
    if (name == "generate_max_len") name = "rollout.max_new_tokens";
    if (name == "prompt_max_len") name = "rollout.prompt_max_len";
    if (a.name == "ref_reward_offload") put("reward.offload", true, a.line), name = "ref.offload";
    const bool harmless = std::any_of(openrlhf_passed.begin(), openrlhf_passed.end(), [&](const passed_key& k) { return k.name == name && k.off == "*"; });
    if (!harmless && !name.ends_with("model_name_or_path") && !name.starts_with("reward.remote")) check_known(a, source);
    put(name, a.name == "flash_attn" ? json_value("flash_attention_2") : a.name == "bf16" ? json_value("bf16") : value_of(a), a.line);
  }
  if (!old) return from;
  const bool early = given("flash_attn") || (given("bf16") && !given("attn_implementation"));
  if (early && !given("flash_attn")) put("ds.attn_implementation", "eager", all[0].line);
  if (early && !given("packing_samples") && !given("flash_attn")) d.notes.push_back(source + ": without flash_attn, of OpenRLHF before 0.8.10, attention is written out (--set attention=flash where it is newer)");
  if (!scores && std::none_of(all.begin(), all.end(), [](const argument& a) { return among_words(openrlhf_since_07, a.name); }))
    d.releases.push_back({"openrlhf", 7, source, "OpenRLHF makes its losses in another way before 0.7 (2025-04) than since, and no argument here says which", true, nullptr, nullptr,
                          [](draft&, const std::string& place) { fail("headroom: " + place + ": OpenRLHF is modelled as of its release 0.7 (2025-04) by this version"); }});
  return from;
}

}  // namespace detail

/// Adds what a command of OpenRLHF's says.
/// Errors: job_error for arguments that are neither read nor harmless, and for models on GPUs of their own.
inline void import_openrlhf(draft& d, std::span<const shell_word> words, const std::string& source, detail::openrlhf_trainer what) {
  const auto from = detail::openrlhf_document(d, arguments_of(words), source, what == detail::openrlhf_trainer::online, what == detail::openrlhf_trainer::reward);
  with_places(from, [&] { detail::openrlhf_arguments{d, from, what}.import(); });
}

}  // namespace headroom::io
