// Distributed under the Boost Software License, Version 1.0.
// ms-swift over Megatron-Core (megatron sft, megatron pt): Megatron's engine under arguments with names and defaults of ms-swift's own.
// Adapters are its own (block/megatron_adapters.hpp).
// Source: modelscope/ms-swift 36023605 (2026-08) swift/megatron/arguments/megatron_args.py MegatronArguments, MegatronTunerMixin;
// megatron_base_args.py (packing makes padding_free, seq_length is packing_length or max_length); utils/megatron_lm_utils.py wrap_model.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/megatron/import.hpp>
#include <headroom/io/launchers/swift/keys.hpp>
#include <headroom/io/launchers/swift/megatron_delta.hpp>
#include <headroom/io/launchers/swift/megatron_images.hpp>
#include <headroom/io/launchers/swift/megatron_methods.hpp>
#include <headroom/io/launchers/swift/packed_sides.hpp>
#include <headroom/io/launchers/trainer/transformers_keys.hpp>

namespace headroom::io::detail {

/// Megatron's argument and what ms-swift gives it where it is not said. Megatron's switches that begin with "no-" are ms-swift's, turned round.
struct swift_default {
  std::string_view theirs, megatron, value;
};
inline constexpr swift_default swift_defaults[] = {
    {"micro_batch_size", "micro-batch-size", "1"},
    {"global_batch_size", "global-batch-size", "16"},
    {"recompute_granularity", "recompute-granularity", "\"selective\""},
    {"attention_backend", "attention-backend", "\"flash\""},
    {"use_distributed_optimizer", "use-distributed-optimizer", "true"},
    {"cross_entropy_loss_fusion", "cross-entropy-loss-fusion", "true"},
    {"cross_entropy_fusion_impl", "cross-entropy-fusion-impl", "\"native\""},
    {"attention_softmax_in_fp32", "attention-softmax-in-fp32", "true"},
    {"calculate_per_token_loss", "calculate-per-token-loss", "true"},
    {"hidden_dropout", "hidden-dropout", "0.0"},
    {"attention_dropout", "attention-dropout", "0.0"},
};
/// … of mixtures of experts.
inline constexpr swift_default swift_expert_defaults[] = {
    {"moe_token_dispatcher_type", "moe-token-dispatcher-type", "\"alltoall\""},
    {"moe_grouped_gemm", "moe-grouped-gemm", "true"},
    {"moe_router_dtype", "moe-router-dtype", "\"fp32\""},
    {"expert_tensor_parallel_size", "expert-tensor-parallel-size", "1"},
};
struct swift_switch {
  std::string_view theirs, megatron;
  bool on;  ///< what it is where it is not said
};
inline constexpr swift_switch swift_switches[] = {
    {"apply_rope_fusion", "no-rope-fusion", false},
    {"gradient_accumulation_fusion", "no-gradient-accumulation-fusion", true},
    {"masked_softmax_fusion", "no-masked-softmax-fusion", true},
    {"bias_dropout_fusion", "no-bias-dropout-fusion", true},
    {"bias_activation_fusion", "no-bias-swiglu-fusion", true},
    {"overlap_p2p_comm", "no-overlap-p2p-communication", true},
};
/// Of checkpoints, samples and schedules; and what has no effect without an adapter, or with a model that reads text alone.
inline constexpr std::string_view swift_megatron_passed =
    "finetune|no_save_optim|no_save_rng|no_load_optim|no_load_rng|lr|min_lr|lr_warmup_fraction|lr_warmup_iters|lr_warmup_init|lr_decay_style|lr_decay_iters|train_iters|eval_iters|mcore_model|load_safetensors|save_safetensors|model_name|"
    "model_author|system|dataset|val_dataset|cached_val_dataset|custom_val_dataset_path|dataset_test_ratio|split_dataset_ratio|eval_metric|metric|load_data_args|merge_lora|bridge_backend|check_model|perform_initialization|data_sharding|weight_decay|clip_grad|adam_beta1|adam_beta2|adam_eps|enable_channel_loss|use_hf|"
    "moe_aux_loss_coeff|train_dataloader_shuffle|test_convert_precision|freeze_vit|freeze_aligner|vit_gradient_checkpointing|vit_lr|aligner_lr|lora_rank|lora_alpha|lora_dropout|target_modules|modules_to_save|tuner_type|train_type|"
    "wandb_project|wandb_exp_name|swanlab_project|swanlab_exp_name|tensorboard_dir|model_type|padding_free|packing|packing_length|max_length|model|seed|loss_scale|streaming|manual_gc|manual_gc_steps|manual_gc_eval";

/// Whether a configuration has them: arguments that neither ms-swift's Trainer nor another program takes by these names.
inline bool is_swift_megatron(const json_value& root) {
  const auto any = [&](std::string_view keys) { return std::any_of(root.items().begin(), root.items().end(), [&](const auto& k) { return among_words(keys, k.key()); }); };
  return root.is_object() && any("model|mcore_model") && any("micro_batch_size|global_batch_size") && !any("per_device_train_batch_size|base_model") &&
         any("tuner_type|train_type|rlhf_type|cross_entropy_loss_fusion|no_save_optim|no_save_rng|save_safetensors");
}

class swift_megatron {
 public:
  swift_megatron(draft& d, const document& from, bool compares) : d_(&d), v_(from, std::int64_t{1} << 31), compares_(compares), to_{.source = from.source, .root = json_value::object(), .lines = from.lines} {}

  void import() {
    refuse();
    swift_megatron_methods methods{*d_, v_};
    if (compares_) methods.read();
    if (const auto name = v_.word("model", ""); !name.empty()) say_model(*d_, dequantised(name), v_.place("model"));
    methods.task();
    swift_tasks{*d_, v_}.new_words();
    const auto m = model_of(*d_);
    const bool sees = m.vision.layers > 0;
    const auto pixels = pixels_over_megatron(*d_, v_, m);
    if (m.recurs()) swift_delta(*d_, sees, v_.place("model"));
    if (m.attention_sinks) fail("headroom: " + v_.place("model") + ": attention with sinks (gpt-oss) is not modelled over Megatron-Core by this version");
    if (methods.generates()) completions(methods);
    else batch();
    // _check_muon: without a distributed optimizer, "muon" has all of its states on every rank; "dist_muon" divides them by layers.
    if (v_.word_now("optimizer") == "muon") v_.take("use_distributed_optimizer"), set("use-distributed-optimizer", false, "optimizer");
    for (const auto& k : swift_defaults) put(k);
    if (m.experts.shared_ffn == 0) v_.on("moe_shared_expert_overlap");
    offload();
    if (m.sparse()) {
      for (const auto& k : swift_expert_defaults) put(k);
      set("num-experts", m.experts.count, "model");
    }
    for (const auto& s : swift_switches)
      if (!v_.on(s.theirs, s.on)) set(s.megatron, true, s.theirs);
    if (v_.word("recompute_granularity", "") == "none") to_.root.erase("recompute-granularity");
    if (const auto n = v_.number("virtual_pipeline_model_parallel_size", 1); n > 1) set("num-virtual-stages-per-pipeline-rank", n, "virtual_pipeline_model_parallel_size");
    // swift/arguments/base_args/model_args.py, _init_mixed_precision: what is not said follows from torch_dtype.
    const bool half = v_.one_of("torch_dtype", "bfloat16", {"bfloat16", "float16", "float32"}) != "bfloat16", sixteen = v_.on("fp16", half);
    if (!sixteen && !v_.on("bf16", !half)) d_->unmodelled_key("bf16", false, v_.place("bf16"), "over Megatron-Core, which trains in 16 bits");
    set(sixteen ? "fp16" : "bf16", true, v_.has("fp16") || !half ? "fp16" : "torch_dtype");
    rest();
    const auto adapter = adapters(m);
    import_megatron(*d_, to_, megatron_program::gpt, false);
    d_->say({"framework", "version"}, "Megatron-SWIFT", v_.source());
    if (sees) images_over_megatron(*d_, m, pixels, v_.place("model_kwargs"), v_.place("model"));
    if (!adapter.is_null()) d_->replace("adapter", adapter, v_.place("lora_rank"));
    methods.reference(!adapter.is_null());
    if (sees && adapter.is_null()) {
      module_set trains{};
      trains.bits = ((std::uint32_t{1} << module_count) - 1) & ~module_set{module::vision, module::projector}.bits;
      d_->replace("trainable", json_value::array({{{"modules", modules_to_json(trains, m)}}}), v_.place("freeze_vit"));
    }
  }

 private:
  /// Weights of fp8 in blocks become the parameters' format as they are loaded (mcore_bridge utils/dequantizer.py Fp8Dequantizer).
  std::string dequantised(std::string name) {
    constexpr std::string_view stored = "-FP8";
    if (!name.ends_with(stored) || shape_named(name)) return name;
    d_->notes.push_back(v_.place("model") + ": weights of " + in_quotes(name) + " are dequantised as they are loaded");
    name.resize(name.size() - stored.size());
    return name;
  }
  /// The optimizer on the host: all of it, which is the default fraction.
  void offload() {
    const auto fraction = v_.share("optimizer_offload_fraction", 1.0);
    if (!v_.on("optimizer_cpu_offload") || fraction <= 0) return;
    d_->say({"offload", "optimizer"}, "cpu", v_.place("optimizer_cpu_offload"));
    if (fraction < 1) d_->say({"offload", "optimizer_fraction"}, fraction, v_.place("optimizer_offload_fraction"));
  }
  void refuse() {
    const auto no = [&](const char* key, std::string_view why) { d_->unmodelled_key(key, v_.all()[key], v_.place(key), why); };
    for (const auto* key : {"adapters", "mcore_adapter", "freeze_parameters", "freeze_parameters_regex", "trainable_parameters", "trainable_parameters_regex", "megatron_extra_kwargs"})
      if (const auto* v = v_.take(key); v != nullptr && *v != "" && !(v->is_array() && v->empty())) no(key, {});
    const bool groups = v_.all().contains("train") || v_.all().contains("rollout");
    if (v_.on("use_ray") || groups) fail("headroom: " + v_.place(groups ? "rollout" : "use_ray") + ": use_ray: groups of workers under Ray, each with a configuration of its own, are not read by this version");
    if (v_.on("freeze_llm")) no("freeze_llm", {});
    if (v_.share("freeze_parameters_ratio", 0) > 0) no("freeze_parameters_ratio", {});
  }
  /// LoRA, by either name of the key; null where all weights train. Its words for layers are Megatron's: all-linear, all-router, or some of the four. In a layer of
  /// experts linear_fc1 and linear_fc2 are theirs and the shared expert's.
  json_value adapters(const shape& m) {
    const auto kind = v_.one_of("tuner_type", v_.one_of("train_type", "full", {"full", "lora"}), {"full", "lora"});
    v_.take("train_type");
    if (kind == "full") return nullptr;
    for (const auto* key : {"target_regex", "lora_dtype", "lora_bias", "use_rslora", "init_weights"})
      if (const auto* said = v_.take(key); said != nullptr && *said != "" && *said != "none" && *said != false && *said != true && *said != "true" && *said != "false" && !(said->is_array() && said->empty()))
        d_->unmodelled_key(key, *said, v_.place(key));
    module_set all;
    for (const auto& word : words_of("target_modules", "all-linear")) {
      if (word == "all-linear") all |= all_linear;
      else if (word == "linear_qkv") all |= module_set{module::q_proj, module::k_proj, module::v_proj};
      else if (word == "linear_proj") all |= module_set{module::o_proj};
      else if (word == "linear_fc1") all |= module_set{module::gate_proj, module::up_proj, module::experts_gate, module::experts_up, module::shared_gate, module::shared_up};
      else if (word == "linear_fc2") all |= module_set{module::down_proj, module::experts_down, module::shared_down};
      else if (word == "all-router") all |= module_set{module::router};  // an adapter of each router beside its matrix (mcore-bridge tuners/lora.py update_layer)
      else d_->unmodelled_key("target_modules", word, v_.place("target_modules"), "read are all-linear, all-router, linear_qkv, linear_proj, linear_fc1 and linear_fc2");
    }
    json_value a{{"kind", "lora"}, {"rank", v_.number("lora_rank", 8)}, {"targets", modules_to_json(all, m)}};
    const auto dropout = v_.share("lora_dropout", 0.05);
    if (dropout > 0) a["dropout"] = dropout;
    const auto saved = saved_whole();
    if (!saved.empty()) a["modules_to_save"] = saved;
    return a;
  }
  /// Modules that train as copies: the head of classes and scores always (swift/megatron/utils/utils.py get_modules_to_save).
  json_value saved_whole() {
    auto saved = json_value::array();
    const auto* kind = d_->find({"objective", "kind"});
    if (kind != nullptr && (*kind == "classification" || *kind == "reward")) saved.push_back("lm_head");
    for (const auto& word : words_of("modules_to_save", "")) {
      if (word == "word_embeddings" || word == "all-embedding") saved.push_back("embed_tokens");
      else if (word == "output_layer") saved.push_back("lm_head");
      else if (!word.empty()) d_->unmodelled_key("modules_to_save", word, v_.place("modules_to_save"), "read are word_embeddings, output_layer and all-embedding");
    }
    return saved;
  }
  /// A list, or words in one.
  std::vector<std::string> words_of(std::string_view key, const std::string& otherwise) {
    const auto* said = v_.take(key);
    std::vector<std::string> words;
    if (said == nullptr) return {otherwise};
    std::string text = said->is_string() ? said->get<std::string>() : joined_words(*said).get<std::string>();
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find(' ', at), text.size());
      if (end > at) words.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return words.empty() ? std::vector<std::string>{otherwise} : words;
  }
  /// Without padding the samples of a micro-batch lie one behind the other in one row, and the flash kernel tells them apart: it keeps of them
  /// what it keeps of one sample as long.
  void batch() {
    const bool packing = v_.on("packing"), joins = v_.on("padding_free", true) || packing;
    const bool given = v_.take("max_length") != nullptr, packed = v_.take("packing_length") != nullptr;
    if (!given && !packed) return without_length(joins);
    // A row of pairs is as long as both answers are at most, or as packing_length where that is more (swift/dataset/packing.py, create_packed_idx).
    const auto* kind = d_->find({"objective", "kind"});
    const bool pairs = kind != nullptr && (*kind == "dpo" || *kind == "reward");
    const auto row_length = v_.number("packing_length", v_.number("max_length", 1));
    const auto longest = pairs && packing ? std::max(checked::ceil_div(row_length, 2), v_.number("max_length", row_length)) : row_length, micro = v_.number("micro_batch_size", 1), global = v_.number("global_batch_size", 16);
    const auto row = joins ? checked::mul(longest, micro) : longest;
    set("seq-length", row, "max_length");
    if (packing) d_->packed_row = draft::fact{checked::mul(row_length, micro), v_.place("packing")};
    if (!joins) return;
    if (const auto kernel = v_.word("attention_backend", "flash"); !kernel.starts_with("flash") && kernel != "auto" && kernel != "fused") d_->unmodelled_key("padding_free", true, v_.place("attention_backend"), "beside attention_backend " + kernel);
    const auto what = "samples are joined without padding: a micro-batch is one row of " + std::to_string(row) + " tokens at most, and its time that of one sample as long";
    d_->notes.push_back(v_.place("micro_batch_size") + ": " + what);
    d_->assumed.push_back(what);
    if (packing && kind != nullptr) say_packed_sides(*d_, string_at(*kind, "objective.kind"), longest, row_length, v_.place("packing"));
    if (micro == 1) return;
    if (global % micro != 0) fail("headroom: " + v_.place("global_batch_size") + ": global_batch_size must be a multiple of micro_batch_size, " + std::to_string(micro) + ", found " + std::to_string(global));
    join(micro, global);
  }
  void join(std::int64_t micro, std::int64_t global) {
    set("micro-batch-size", 1, "micro_batch_size");
    set("global-batch-size", global / micro, "global_batch_size");
    if (!d_->packed_row) d_->joined_samples = draft::fact{micro, v_.place("micro_batch_size")};
  }
  void completions(swift_megatron_methods& methods) {
    v_.take("packing_length");
    if (v_.on("packing")) d_->unmodelled_key("packing", true, v_.place("packing"), "beside rlhf_type grpo");
    methods.rollout(v_.on("padding_free", true));
  }
  /// ms-swift takes the length that the model was made for, which nobody trains with: --set says how long the row of a micro-batch is.
  void without_length(bool joins) {
    const auto micro = v_.number("micro_batch_size", 1), global = v_.number("global_batch_size", 16);
    if (!joins || micro == 1) return;
    if (global % micro != 0) fail("headroom: " + v_.place("global_batch_size") + ": global_batch_size must be a multiple of micro_batch_size, " + std::to_string(micro) + ", found " + std::to_string(global));
    join(micro, global);
  }
  void put(const swift_default& k) {
    const auto* said = v_.take(k.theirs);
    if (!to_.root.contains(std::string{k.megatron})) set(k.megatron, said != nullptr ? *said : json_value::parse(k.value), k.theirs);
  }
  void set(std::string_view key, const json_value& value, std::string_view by) {
    to_.root[std::string{key}] = value;
    if (const auto line = to_.lines.find(std::string{by}); line != to_.lines.end()) to_.lines[std::string{key}] = line->second;
  }
  /// What is left goes by Megatron's name, and by Megatron's rules.
  void rest() {
    for (const auto& [key, value] : v_.all().items()) {
      if (v_.taken(key) || among_words(swift_megatron_passed, key)) continue;
      auto dashed = key;
      std::replace(dashed.begin(), dashed.end(), '_', '-');
      const auto rule = compares_ ? rule_of(swift_rollout_passed, key, value) : key_rule::unknown;
      if (rule == key_rule::refused) d_->unmodelled_key(key, value, v_.place(key));
      if (rule != key_rule::unknown) continue;
      if (rule_of(swift_passed, key, value) == key_rule::passed || rule_of(transformers_passed, key, value) == key_rule::passed) continue;
      set(dashed, value.is_array() ? joined_words(value) : value, key);
    }
  }
  static json_value joined_words(const json_value& list) {
    std::string all;
    for (const auto& v : list) all += (all.empty() ? "" : " ") + (v.is_string() ? v.get<std::string>() : v.dump());
    return all;
  }

  draft* d_;
  named_values v_;
  bool compares_;  ///< megatron rlhf
  document to_;
};

}  // namespace headroom::io::detail
