// Distributed under the Boost Software License, Version 1.0.
// Megatron-DeepSpeed: Megatron-LM's arguments with those of its forks over DeepSpeed (bigscience-workshop/Megatron-DeepSpeed 8387ae17,
// deepspeedai/Megatron-DeepSpeed 4efb479d: megatron/arguments.py), and DeepSpeed's configuration beside them.
#pragma once

#include <headroom/io/launchers/megatron/import.hpp>

namespace headroom::io {

namespace detail {

/// Arguments that BLOOM's fork alone has.
inline constexpr std::string_view bigscience_arguments =
    "abort-on-unmet-fused-kernel-constraints|embed-layernorm|kill-switch-path|pp-partition-method|sync-tp-duplicated-parameters|tokenizer-name-or-path|train-weighted-split-paths|"
    "train-weighted-split-paths-path|use-bnb-optimizer|glu-activation|pad-vocab-size-to|codecarbon-dir";

/// Weights of 16 bits beside an fp32 master; `sums`: what gradients are added up in.
inline json_value fork_precision(const std::string& format, const std::string& sums) {
  return {{"parameters", format}, {"compute", format}, {"gradients", sums}, {"reduce", sums}, {"master", "fp32"}, {"state", "fp32"}};
}

/// Arguments that experts alone have, in the words of deepspeedai's fork.
inline constexpr std::string_view fork_expert_arguments =
    "num-experts|moe-expert-parallel-size|moe-min-capacity|moe-train-capacity-factor|moe-eval-capacity-factor|moe-loss-coeff|expert-interval|topk|mlp-type|disable-moe-token-dropping|"
    "disable-moe-top2-2nd-expert-sampling|enable-expert-tensor-parallelism|use-tutel";

/// Its programs that make a mask of each sample, which goes through the pipeline with it: T0's fine-tuning over packed samples (finetune_t0.py 2a3978a6,
/// finetune_t0_non_causal_decoder.py 8387ae17) and prefix language models (pretrain_prefix_lm.py 8387ae17). All else is pretrain_gpt.py's: scores under a mask
/// are one kernel, too (megatron/model/fused_softmax.py, ScaledMaskedSoftmax).
inline bool masks_samples(std::string_view script) { return script.ends_with("finetune_t0.py") || script.ends_with("finetune_t0_non_causal_decoder.py") || script.ends_with("pretrain_prefix_lm.py"); }

class megatron_fork {
 public:
  megatron_fork(draft& d, const document& from, std::string_view script) : d_(&d), from_(from), script_(script) {}

  void import() {
    d_->framework_is("megatron-deepspeed", from_.source);
    for (const auto name : words_between_bars(bigscience_arguments))
      if (given(from_.root, name) && !d_->has({"framework", "version"})) d_->say({"framework", "version"}, "bigscience", from_.place(std::string{name}));
    if (given(from_.root, "eval-only")) fail("headroom: " + from_.place("eval-only") + ": eval-only evaluates, and starts no training: take it out for the training that it belongs to");
    masks();
    engine_alone();
    const auto place = from_.place("deepspeed_config");
    if (const auto file = word("deepspeed_config"); !file.empty()) d_->named.push_back({file_kind::deepspeed, file, place});
    else d_->unmodelled_key("deepspeed", true, from_.place("deepspeed"), "without --deepspeed_config, which says how it shards and in which format it computes");
    for (const auto* name : {"deepspeed", "deepspeed-activation-checkpointing", "sync-tp-duplicated-parameters"}) from_.root.erase(name);
    for (const auto* name : {"zero-stage", "zero_stage"}) from_.root.erase(name);  // for ZeRO's third stage alone; the configuration decides
    no_effect();
    experts();
    partition();
    if (from_.root.erase("embed-layernorm") > 0) d_->say({"model", "embedding_norm"}, true, from_.place("embed-layernorm"));
    glu();
    heads();
    flash();
    // Megatron-LM's arguments of that time.
    const auto now = in_todays_words(from_);
    megatron_arguments{*d_, now, 202305, megatron_program::gpt}.import();
    if (given(from_.root, "bf16")) d_->replace("precision", fork_precision("bf16", "fp32"), from_.place("bf16"));
    d_->job.erase("sharding");  // DeepSpeed's configuration says it
  }

 private:
  std::string word(const std::string& name) {
    const auto it = from_.root.find(name);
    if (it == from_.root.end() || !it->is_string()) return {};
    auto text = it->get<std::string>();
    from_.root.erase(it);
    std::erase_if(text, [](char c) { return c == '\'' || c == '"'; });
    return text;
  }
  /// What their losses leave out, and how they weigh the rest, is a factor of each token's loss; where documents begin again is in the mask.
  /// reset-progress is of a checkpoint's counters (branch t0loading of bigscience's fork, megatron/checkpointing.py load_checkpoint).
  void masks() {
    if (!masks_samples(script_)) return;
    const auto place = from_.place("position-embedding-type");
    const auto position = from_.root.value("position-embedding-type", json_value("absolute"));
    if (!script_.ends_with("pretrain_prefix_lm.py") && position != "alibi" && position != "rotary") fail("headroom: " + place + ": " + std::string{script_.substr(script_.rfind('/') + 1)} + " takes position-embedding-type alibi or rotary, and ends at any other");
    if (!d_->has({"framework", "version"})) d_->say({"framework", "version"}, "bigscience", place);
    d_->say({"framework", "options", "create-attention-mask-in-dataloader"}, true, place);
    for (const auto* name : {"norm-target-loss", "prefixlm", "loss-on-targets-only", "reweight-loss-based-on-position-frequency", "reset-attention-mask", "reset-position-ids", "reset-progress"}) from_.root.erase(name);
  }
  /// DeepSpeed's engine without its pipeline (megatron/arguments.py, validate_args; pretrain_gpt.py, model_provider: GPTModel for GPTModelPipe, of the same layers).
  void engine_alone() {
    if (!given(from_.root, "no-pipeline-parallel")) return;
    const auto place = from_.place("no-pipeline-parallel");
    if (masks_samples(script_)) return d_->unmodelled_key("no-pipeline-parallel", true, place, "beside a mask of each sample");
    if (const auto stages = from_.root.value("pipeline-model-parallel-size", json_value(1)); stages != 1) fail("headroom: " + place + ": no-pipeline-parallel goes with pipeline-model-parallel-size 1, and it is " + stages.dump());
    d_->say({"framework", "options", "no-pipeline-parallel"}, true, place);
    from_.root.erase("no-pipeline-parallel");
  }
  /// Degrees of one. Norms of the optimizer's states (megatron/training.py, training_log) make a temporary as large as a partition in fp32, which
  /// the fp16 optimizers have made in that step before.
  void no_effect() {
    for (const auto* name : {"ds-sequence-parallel-size", "moe-expert-parallel-size"})
      if (const auto it = from_.root.find(name); it != from_.root.end() && *it == 1) from_.root.erase(it);
    if (given(from_.root, "fp16")) from_.root.erase("log-optimizer-states-to-tensorboard");
    if (const auto it = from_.root.find("normalization"); it != from_.root.end() && *it == "rmsnorm") *it = "RMSNorm";
    else if (it != from_.root.end() && *it == "layernorm") *it = "LayerNorm";
  }
  /// One expert is none (megatron/model/transformer.py, ParallelTransformerLayer: num_experts <= 1 makes the dense block), and what it would be run with has no
  /// effect. More are DeepSpeed's own layers (deepspeed/moe), in every other layer unless told otherwise.
  void experts() {
    const auto it = from_.root.find("num-experts");
    if (it == from_.root.end()) return;
    const auto& count = it->is_array() && it->size() == 1 ? (*it)[0] : *it;
    if (count != 1) return d_->unmodelled_key("num-experts", *it, from_.place("num-experts"), "experts are DeepSpeed's own here");
    for (const auto name : words_between_bars(fork_expert_arguments)) from_.root.erase(std::string{name});
  }
  /// Which layers count where a pipeline is cut (deepspeed runtime/pipe/module.py, _partition_layers).
  void partition() {
    const auto place = from_.place("pp-partition-method");
    const auto how = word("pp-partition-method");
    if (how.empty() || how == "type:transformer") return;
    if (how != "type:transformer|embedding" && how != "type:transformer|embed") return d_->unmodelled_key("pp-partition-method", how, place);
    for (const auto* name : {"account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split"}) {
      from_.root[name] = true;
      from_.lines[name] = from_.lines["pp-partition-method"];
    }
  }
  /// A gate beside the MLP's first matrix, as wide as ffn-hidden-size says or four times the hidden size, as without one; of BLOOM's fork swiglu is read
  /// (megatron/model/glu_activations.py: a chunk, the function and a product; megatron/arguments.py, parse_args).
  void glu() {
    const auto place = from_.place("glu-activation");
    const auto kind = word("glu-activation");
    if (kind.empty()) return;
    if (kind != "swiglu") return d_->unmodelled_key("glu-activation", kind, place);
    if (!given(from_.root, "no-bias-gelu-fusion")) fail("headroom: " + place + ": Megatron-DeepSpeed stops where glu-activation stands without no-bias-gelu-fusion: add it");
    from_.root["swiglu"] = true;
    from_.lines["swiglu"] = from_.lines["glu-activation"];
    if (const auto hidden = from_.root.find("hidden-size"); hidden != from_.root.end() && !from_.root.contains("ffn-hidden-size")) {
      from_.root["ffn-hidden-size"] = checked::mul(4, count_at(*hidden, "hidden-size", 1, std::int64_t{1} << 31));
      from_.lines["ffn-hidden-size"] = from_.lines["hidden-size"];
    }
  }
  void heads() {
    const auto it = from_.root.find("num-key-value-heads");
    if (it == from_.root.end()) return;
    from_.root["num-query-groups"] = *it;
    from_.root["group-query-attention"] = true;
    from_.lines["num-query-groups"] = from_.lines["num-key-value-heads"];
    from_.root.erase("num-key-value-heads");
  }
  void flash() {
    for (const auto* name : {"use-flash-attn-v1", "use-flash-attn-v2"})
      if (from_.root.erase(name) > 0) {
        from_.root["use-flash-attn"] = true;
        from_.lines["use-flash-attn"] = from_.lines[name];
      }
  }

  draft* d_;
  document from_;
  std::string_view script_;
};

/// Whether a key of a framework's options is DeepSpeed's: Megatron's have no underscores.
inline bool of_deepspeed(std::string_view key) {
  return key.find('_') != std::string_view::npos || among_words("fp16|bf16|amp|optimizer|scheduler|tensorboard|wandb|autotuning|elasticity|pipeline|compression_training", key);
}

/// What DeepSpeed's configuration says of a run of Megatron-DeepSpeed.
class fork_configuration {
 public:
  explicit fork_configuration(draft& d) : d_(&d), keys_(json_value::object()) {
    auto& options = d.job["framework"]["options"];
    for (auto it = options.begin(); it != options.end();) {
      if (!of_deepspeed(it.key())) {
        ++it;
        continue;
      }
      keys_[it.key()] = *it;
      it = options.erase(it);
    }
    if (options.empty()) d.job["framework"].erase("options");
  }

  void settle() {
    sharding();
    formats();
    batch();
    for (const auto* section : {"activation_checkpointing", "pipeline", "flops_profiler"})
      if (keys_.contains(section) && keys_[section].dump().find("true") != std::string::npos) d_->unmodelled_key(section, keys_[section], place(section));
  }

 private:
  [[nodiscard]] std::string place(const std::string& key) const { return d_->place_of("framework.options." + key); }
  [[nodiscard]] bool enabled(const char* format) const { return keys_.contains(format) && keys_[format].is_object() && keys_[format].value("enabled", json_value(false)) == json_value(true); }

  static bool moves(const json_value& to) { return to.is_object() ? to.value("device", json_value("none")) != "none" : to != false && !to.is_null(); }
  void sharding() {
    const auto zero = keys_.value("zero_optimization", json_value::object());
    const auto stage = stage_ = zero.contains("stage") ? whole_at(zero["stage"], "zero_optimization.stage", 0, 3) : 0;
    for (const auto* key : {"offload_optimizer", "offload_param", "cpu_offload"})
      if (zero.contains(key) && moves(zero[key])) d_->unmodelled_key(std::string{"zero_optimization."} + key, zero[key], place("zero_optimization"));
    if (stage > 1)
      fail("headroom: " + place("zero_optimization") + ": Megatron-DeepSpeed's pipeline goes with ZeRO's stages 0 and 1, which are modelled; its engine without the pipeline (--no-pipeline-parallel) is with stage 0 alone, and not with " +
           std::to_string(stage));
    json_value s = {{"kind", "zero"}, {"stage", enabled("bf16") ? 1 : stage}};
    if (zero.contains("reduce_bucket_size")) s["reduce_bucket_size"] = whole_at(zero["reduce_bucket_size"], "zero_optimization.reduce_bucket_size", 1, std::int64_t{1} << 40);
    if (!d_->has({"sharding"})) d_->replace("sharding", s, place("zero_optimization"));
    if (enabled("bf16") && stage == 0) d_->notes.push_back(place("bf16") + ": DeepSpeed's BF16_Optimizer divides its states over data-parallel ranks as ZeRO's first stage does, whatever the stage is");
  }
  /// In the weights' format unless said otherwise; without ZeRO bf16's in fp32 (deepspeed runtime/engine.py get_data_types,
  /// _do_optimizer_sanity_check, v0.8.0 to v0.9.5).
  std::string sums(const std::string& format) {
    const auto types = keys_.value("data_types", json_value::object());
    const auto said = types.is_object() ? types.value("grad_accum_dtype", json_value{}) : json_value{};
    const bool wide = said == "fp32" || said == "float32" || said == "torch.float32", same = said.is_null() || said == format || said == (format == "bf16" ? "bfloat16" : "float16");
    if ((!wide && !same) || (wide && format == "fp16") || (stage_ == 0 && format == "bf16" && !said.is_null() && !wide)) d_->unmodelled_key("data_types.grad_accum_dtype", said, place("data_types"));
    return format == "bf16" && (wide || stage_ == 0) ? "fp32" : format;
  }
  /// The engine decides; Megatron's own --fp16 or --bf16 has to agree, or the weights would be of another format.
  void formats() {
    const bool bf16 = enabled("bf16"), fp16 = enabled("fp16");
    if (!bf16 && !fp16) fail("headroom: " + d_->place_of("framework.name") + ": DeepSpeed's configuration enables neither bf16 nor fp16, which Megatron-DeepSpeed is modelled with");
    const std::string format = bf16 ? "bf16" : "fp16";
    const auto* said = d_->find({"precision"});
    const auto stated = said != nullptr && said->is_object() ? said->value("parameters", json_value{}) : json_value{};
    if (stated != format) fail("headroom: " + place(format) + ": DeepSpeed's configuration enables " + format + ", and Megatron's arguments do not: both have to say it");
    d_->replace("precision", fork_precision(format, sums(format)), place(format));
  }
  /// Megatron's arguments decide, and DeepSpeed checks that its own say the same.
  void batch() {
    const auto same = [&](const char* key, const json_value* said) {
      if (keys_.contains(key) && said != nullptr && keys_[key] != *said && keys_[key] != "auto")
        fail("headroom: " + place(key) + ": " + key + " is " + keys_[key].dump() + ", and Megatron's arguments say " + said->dump());
    };
    same("train_micro_batch_size_per_gpu", d_->find({"batch", "micro"}));
    if (d_->global_batch) {
      const json_value all = d_->global_batch->value;
      same("train_batch_size", &all);
    }
  }

  draft* d_;
  json_value keys_;
  std::int64_t stage_ = 0;
};

inline void settle_megatron_deepspeed(draft& d) {
  if (d.framework_is("megatron-deepspeed") && d.has_read(file_kind::deepspeed) && d.has({"framework", "options"})) fork_configuration{d}.settle();
}

}  // namespace detail

/// A run of Megatron-DeepSpeed, from its command line. DeepSpeed's configuration has been read before, or is asked for.
inline void import_megatron_deepspeed(draft& d, const document& from, std::string_view script = {}) {
  with_places(from, [&] { detail::megatron_fork{d, from, script}.import(); });
}

}  // namespace headroom::io
