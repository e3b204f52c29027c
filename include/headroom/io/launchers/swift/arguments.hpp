// Distributed under the Boost Software License, Version 1.0.
// What ms-swift does otherwise than the Trainer that it is built on (modelscope/ms-swift 3602360a of 2026-08-22; "early": its releases 1 and 2).
#pragma once

#include <headroom/io/launchers/deepspeed/import.hpp>
#include <headroom/io/launchers/fsdp2_root.hpp>
#include <headroom/io/launchers/import_environment.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/settle/releases.hpp>
#include <headroom/io/launchers/settle/towers.hpp>
#include <headroom/io/launchers/swift/distillation.hpp>
#include <headroom/io/launchers/swift/packed_sides.hpp>
#include <headroom/io/launchers/swift/ppo.hpp>
#include <headroom/io/launchers/swift/rollout.hpp>
#include <headroom/io/launchers/swift/tasks.hpp>
#include <headroom/io/launchers/swift/tuners.hpp>
#include <headroom/io/launchers/swift/updates.hpp>
#include <headroom/io/launchers/swift/workers.hpp>
#include <headroom/io/launchers/swift/zero.hpp>
#include <headroom/io/launchers/trainer/adapters.hpp>

namespace headroom::io::detail {

class swift_arguments {
 public:
  swift_arguments(draft& d, named_values& v) : d_(&d), v_(&v), early_(v.has("sft_type") || v.has("model_id_or_path") || v.has("quantization_bit") || v.has("batch_size")) {}

  /// A configuration's own environment (swift/cli/main.py, parse_yaml_args).
  void environment() {
    swift_workers(*d_, *v_);
    const auto* set = v_->take("ENV");
    if (set == nullptr || !set->is_object()) return;
    for (const auto& [name, value] : set->items()) {
      const shell_word said{name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()), 1};
      import_setting(*d_, said, v_->source());
      import_count(*d_, said, v_->source());
    }
  }
  /// Preferences (swift/arguments/rlhf_args.py). The reference is the model with its adapters switched off, or a copy; SimPO is CPO's trainer,
  /// which adds a cross entropy unless cpo_alpha is 0 (swift/pipelines/train/rlhf.py, swift/rlhf_trainers).
  void method() {
    const auto* said = v_->take("rlhf_type");
    if (said == nullptr) return;
    const auto kind = string_at(*said, "rlhf_type");
    if (!among_words("dpo|orpo|cpo|simpo|kto|rm|ppo|grpo|gkd", kind)) fail("headroom: " + v_->place("rlhf_type") + ": rlhf_type " + in_quotes(kind) + " is not modelled by this version; accepted: dpo, orpo, cpo, simpo, kto, rm, ppo, grpo, gkd");
    if (kind == "gkd") return distillation();
    if (kind == "ppo") return swift_ppo{*d_, *v_}.method();
    if (kind != "grpo") v_->take("beta");
    for (const auto* key : {"label_smoothing", "loss_type", "loss_weights", "ld_alpha", "discopop_tau", "simpo_gamma", "ref_model_type", "ref_model_revision", "max_completion_length", "temperature"}) v_->take(key);
    if (kind == "grpo") v_->number("response_length", 512);
    const auto* weight = v_->take("cpo_alpha");
    const bool adds = weight == nullptr || number_at(*weight, "cpo_alpha", 0.0, 1e6) != 0;
    json_value objective = {{"kind", kind == "simpo" && adds ? "cpo" : kind == "rm" ? "reward" : kind}, {"trainer", "ms-swift"}};
    if (const auto* alpha = v_->take("rpo_alpha"); alpha != nullptr && kind == "dpo")  // dpo_trainer.py get_batch_loss_metrics
      if (const auto part = number_at(*alpha, "rpo_alpha", 0.0, 1e6); part != 0) objective["sft_weight"] = part;
    const auto *other = v_->take("ref_model"), *own = v_->take("model"), *beside = v_->take("ref_adapters");
    if (other != nullptr && (own == nullptr || *other != *own)) fail("headroom: " + v_->place("ref_model") + ": a reference that is another model than the trained one is not modelled by this version");
    if (other != nullptr && !tunes_whole()) fail("headroom: " + v_->place("ref_model") + ": ref_model does not go with adapters, which are switched off for the reference, and ms-swift stops there");
    if (beside != nullptr && !beside->empty() && *beside != "") d_->unmodelled_key("ref_adapters", *beside, v_->place("ref_adapters"));
    if ((kind == "dpo" || kind == "kto") && other != nullptr) objective["reference"] = "copy";
    for (const auto* key : {"packing", "padding_free"})  // one row of all pairs
      if (v_->on(key)) {
        if (!among_words("dpo|kto|grpo", kind) || (kind == "grpo" && key == std::string_view{"packing"})) d_->unmodelled_key(key, true, v_->place(key), "beside this method");
        d_->say({"batch", "packed"}, true, v_->place(key));
      }
    d_->replace("objective", objective, v_->place("rlhf_type"));
  }
  void distillation() {
    swift_distillation{*d_, *v_}.method();
    for (const auto* key : {"loss_type", "ref_model_type", "ref_model_revision", "temperature"}) v_->take(key);
    for (const auto* key : {"packing", "padding_free"})
      if (v_->on(key)) d_->say({"batch", "packed"}, true, v_->place(key));
  }
  void batch() {
    swift_tasks{*d_, *v_}.read();
    swift_tasks{*d_, *v_}.new_words();
    if (!early_) swift_tasks{*d_, *v_}.ends();
    // swift/trainers/arguments.py, TrainArgumentsMixin.__post_init__
    const bool generates = v_->word_now("rlhf_type") == "grpo", distils = v_->word_now("rlhf_type") == "gkd";
    if (!generates && !v_->has("gradient_accumulation_steps") && !d_->has({"batch", "accumulation"})) d_->least_samples = draft::fact{16, v_->source()};
    if (early_ && !v_->has("max_length") && !d_->has({"batch", "sequence"})) d_->say({"batch", "sequence"}, 2048, v_->source());
    // Rows are as long as packing_length, or samples lie one behind the other: flash attention tells them apart by where they begin.
    // A row of pairs is as long as both answers are at most, or as packing_length where that is more (swift/dataset/packing.py, create_packed_idx).
    const bool pairs = v_->word_now("rlhf_type") == "dpo";
    const auto packed = pairs ? std::max(checked::ceil_div(v_->number("packing_length", 0), 2), v_->number("max_length", 0)) : v_->number("packing_length", 0);
    if (v_->on("packing") && packed > 0) d_->say({"batch", "sequence"}, packed, v_->place("packing_length"));
    v_->on("padding_free");
    if (const auto most = v_->number("max_length", 0); v_->on("packing")) say_packed_sides(*d_, v_->word_now("rlhf_type"), packed > 0 ? packed : most, v_->number("packing_length", most), v_->place("packing"));
    if (const bool cut = v_->has("sequence_parallel_size") && v_->all()["sequence_parallel_size"] != 1; v_->on("use_logits_to_keep", true) && !cut && !v_->on("use_liger_kernel") && !generates && v_->word_now("rlhf_type") != "ppo" && !(distils && swift_distillation{*d_, *v_}.generates()) && (v_->word_now("task_type").empty() || v_->word_now("task_type") == "causal_lm")) d_->notes.push_back(v_->source() + ": ms-swift keeps logits of answers alone; here every token of a sequence counts as one");
  }
  /// The checkpoint's format, and autocast after it (swift/arguments/base_args/model_args.py, _init_mixed_precision).
  void formats() {
    if (!v_->has("torch_dtype") && !v_->has("dtype")) d_->notes.push_back(v_->source() + ": torch_dtype is not given, and the checkpoint's is taken to be bfloat16");
    const bool sixteen = d_->loaded->word == "bf16" || d_->loaded->word == "half";
    const bool brain = v_->on("bf16", sixteen), half = v_->on("fp16", !sixteen);
    if (brain && half) fail("headroom: fp16 and bf16 must not both be true");
    d_->half = draft::said{brain ? "bf16" : half ? "fp16" : "no", v_->place(v_->has("bf16") ? "bf16" : v_->has("fp16") ? "fp16" : v_->has("dtype") ? "dtype" : "torch_dtype")};
  }
  /// What trains (swift/arguments/tuner_args.py, swift/pipelines/train/tuner.py).
  void adapters() {
    std::string_view called = "tuner_type";
    const auto* said = first_of(*v_, "tuner_type|train_type|sft_type", called);
    const auto type = said == nullptr ? std::string{"lora"} : string_at(*said, std::string{called});
    if (!among_words("lora|full|lora_llm|llamapro", type)) fail("headroom: " + v_->place(called) + ": " + std::string{called} + " " + in_quotes(type) + " is not modelled by this version; accepted: lora, full, lora_llm, llamapro");
    const frozen parts{v_->on("freeze_llm"), v_->on("freeze_vit", true), v_->on("freeze_aligner", true)};
    const auto base = swift_quantised(*d_, *v_, early_);
    if (type == "lora_llm") return beside_language(std::string{called}, base);
    const auto a = lora(type == "lora", parts, base);
    if (type == "lora") return d_->replace("adapter", a, v_->place(called));
    if (!base.empty()) fail("headroom: " + v_->place(called) + ": a quantised model does not train as a whole: " + std::string{called} + " must be lora");
    if (type == "llamapro") return swift_copied_blocks(*d_, *v_, std::string{called});
    whole(parts);
  }
  bool updates() { return swift_updates(*d_, *v_); }
  /// --deepspeed with the name of a configuration that ms-swift ships, or a configuration in JSON. False: a file's path.
  bool engine() {
    const auto* said = v_->take("deepspeed");
    const auto* part = v_->take("zero_hpz_partition_size");
    if (said == nullptr || !said->is_string()) return false;
    const auto& name = said->get_ref<const std::string&>();
    const auto shipped = name.starts_with('{') ? std::optional{parse_json(name, "deepspeed")} : swift_zero(name, early_);
    if (shipped) import_deepspeed(*d_, {.source = v_->place("deepspeed") + ": " + (name.starts_with('{') ? "deepspeed" : "ms-swift's " + name), .root = *shipped, .lines = {}});
    if (part != nullptr) {
      d_->framework_is("deepspeed", v_->place("deepspeed"));
      d_->say({"framework", "options", "zero_optimization", "zero_hpz_partition_size"}, *part, v_->place("zero_hpz_partition_size"));
    }
    return shipped.has_value();
  }
  /// --fsdp fsdp2: a configuration that ms-swift ships (swift/config/fsdp2.json); it checkpoints layers itself.
  bool sharded() {
    const auto* said = v_->take("fsdp");
    if (said == nullptr || !said->is_string() || said->get_ref<const std::string&>().empty()) return false;
    const auto& name = said->get_ref<const std::string&>();
    if (name != "fsdp2") return false;
    d_->replace("sharding", json_value{{"kind", "fsdp2"}, {"stage", 3}}, v_->place("fsdp"));
    date_fsdp2_root(*d_, v_->place("fsdp"));
    d_->replace("recompute", "full", v_->place("fsdp"));
    d_->reenters.reset();
    return true;
  }
  /// What depends on other arguments.
  void rest() {
    swift_tasks{*d_, *v_}.without_liger_loss();
    swift_tasks{*d_, *v_}.cut();
    swift_tasks{*d_, *v_}.evaluate_documents();
    // Experts in grouped products are of transformers 5 (swift/arguments/base_args/model_args.py), or of the release that has the model's class.
    if (v_->word_now("experts_impl") == "grouped_mm") {
      v_->take("experts_impl");
      const auto first = std::max(first_release_of(model()), 500);
      if (!d_->has({"environment", "transformers"})) d_->say({"environment", "transformers"}, std::to_string(first / 100) + "." + std::to_string(first % 100), v_->place("experts_impl"));
    }
    // swift/rlhf_trainers/rlhf_mixin.py: dropout is switched off, adapters' too, where TRL's configuration does so; GRPO's does not.
    if (v_->has("rlhf_type") && v_->word_now("rlhf_type") != "grpo") {
      d_->replace("dropout", {{"hidden", 0.0}, {"attention", 0.0}, {"embedding", 0.0}}, v_->place("rlhf_type"));
      if (d_->has({"adapter", "dropout"})) d_->job["adapter"].erase("dropout");
    }
    if (v_->word_now("rlhf_type") == "grpo") {
      swift_rollout{*d_, *v_}.read();
      swift_distillation{*d_, *v_}.of_completions();
    }
    if (v_->word_now("rlhf_type") == "ppo") swift_ppo{*d_, *v_}.read();
    if (v_->word_now("rlhf_type") == "gkd") {
      swift_distillation student{*d_, *v_};
      student.teacher();
      swift_rollout answers{*d_, *v_};
      student.generates() || student.taught() ? answers.of_student(student.reads_answers() && !student.taught()) : answers.none();
      student.who_writes();
    }
    const auto* map = v_->take("device_map");
    if (map != nullptr && *map != "auto") d_->unmodelled_key("device_map", *map, v_->place("device_map"));
    const bool checkpoints = v_->on("gradient_checkpointing", true), towers = v_->on(v_->has("vit_use_gc") ? "vit_use_gc" : "vit_gradient_checkpointing", checkpoints);
    const auto *pixels = v_->take("max_pixels"), *more = v_->take("model_kwargs");
    if (!sees()) return;
    swift_tasks::ask_for_tiles(*d_, model(), v_->place("model"));
    const auto* trained = d_->find({"trainable"});
    const bool tunes = d_->has({"adapter"}) || trained != nullptr, trains = (tunes && !v_->on("freeze_vit", true)) || v_->word_now("tuner_type") == "lora_llm";
    if (early_ && towers != checkpoints && trains) d_->unmodelled_key("vit_use_gc", towers, v_->place("vit_use_gc"));
    if (towers != checkpoints) d_->checkpoints_towers = towers;
    const auto place = v_->place("vit_gradient_checkpointing");
    if (!early_ && !trains && towers && tunes && !v_->on("freeze_aligner", true))
      d_->asks_towers = draft::said{"ms-swift", place};  // what joins it to the text is a part of it, and trains
    else if (!early_ && !trains)
      frozen_tower_of_swift(*d_, place, checkpoints, towers);
    if (pixels != nullptr && pixels_matter(model()) && pixels->is_number_integer())
      say_largest_images(*d_, "max_pixels", pixels->get<std::int64_t>(), v_->place("max_pixels"));
    else if (pixels != nullptr)
      d_->unmodelled_key("max_pixels", *pixels, v_->place("max_pixels"));
    if (more != nullptr && !more->empty()) d_->unmodelled_key("model_kwargs", *more, v_->place("model_kwargs"));
  }

 private:
  struct frozen {
    bool language, tower, projector;
  };
  [[nodiscard]] shape model() const { return model_of(*d_); }
  /// All of the model trains (swift/arguments/rlhf_args.py asks for tuner_type full).
  [[nodiscard]] bool tunes_whole() const {
    for (const auto* key : {"tuner_type", "train_type", "sft_type"})
      if (v_->has(key)) return v_->word_now(key) == "full";
    return false;
  }
  [[nodiscard]] bool sees() const { return model().vision.layers > 0; }

  json_value lora(bool on, const frozen& parts, const std::string& base) {
    std::string_view called;
    json_value a = {{"kind", v_->on("use_dora") ? "dora" : "lora"}, {"rank", v_->number("lora_rank", 8)}, {"format", "fp32"}};
    if (auto names = targets(on, parts); !names.is_null()) a["targets"] = std::move(names);
    const auto* chance = first_of(*v_, "lora_dropout|lora_dropout_p", called);
    const auto part = chance == nullptr ? 0.05 : number_at(*chance, std::string{called}, 0.0, 1.0);
    if (part > 0) a["dropout"] = part;
    if (const auto* saved = first_of(*v_, "modules_to_save|lora_modules_to_save", called); saved != nullptr && !saved->empty() && *saved != "") {
      a["modules_to_save"] = names_in(*saved, std::string{called});
      for (auto& name : a["modules_to_save"]) {
        if (name == "all-embedding" || name == "EMBEDDING") name = "embed_tokens";
        if (name == "all-norm" || name == "LN") name = "norm";
      }
    }
    if (!base.empty()) {
      a["base"] = base;
      a["base_skips"] = {"lm_head"};
    }
    swift_tasks::save_head(*d_, a);
    if (on) initialised(base);
    return a;
  }
  /// Values that A and B begin with. PiSSA, OLoRA and orthogonal ones are made of the weights, one after the other (peft/tuners/lora/layer.py).
  void initialised(const std::string& base) {
    std::string_view called;
    const auto* said = first_of(*v_, "init_weights|init_lora_weights", called);
    if (said == nullptr || said->is_boolean() || *said == "true" || *said == "True" || *said == "gaussian" || *said == "") return;
    const auto& word = string_at(*said, std::string{called});
    if (!base.empty() || !(word == "olora" || word == "orthogonal" || word == "pissa" || word.starts_with("pissa_niter_"))) return d_->unmodelled_key(std::string{called}, *said, v_->place(called));
    const auto what = "the matrices from which " + word + " makes its adapters before the first step are not counted";
    d_->notes.push_back(v_->place(called) + ": " + what);
    d_->assumed.push_back(what);
  }
  json_value targets(bool on, const frozen& parts) {
    std::string_view called = "target_modules";
    const auto* said = first_of(*v_, "target_modules|lora_target_modules", called);
    auto names = said == nullptr || said->empty() || *said == "" ? json_value{} : names_in(*said, std::string{called});
    if (names == json_value::array({"ALL"}) || (names.is_null() && !early_)) names = "all-linear";
    const bool table = names.is_null() || names == json_value::array({"DEFAULT"}) || names == json_value::array({"AUTO"});
    if (on && table) {
      d_->awaits_targets = draft::said{std::string{called} + " of this release is a table by model, which is not read by this version: say the layers with " + std::string{called}, v_->place(called)};
      return nullptr;
    }
    if (names.is_array() && std::find(names.begin(), names.end(), "all-linear") != names.end()) d_->unmodelled_key(std::string{called}, names, v_->place(called), "all linear layers, and others beside them");
    if (!on || names != "all-linear") return table ? json_value("all-linear") : names;
    const auto m = model();
    auto language = all_linear;
    if (m.sparse()) language = linear_beside_experts(v_->place(called));
    if (!m.sparse() && (m.vision.layers == 0 || (!parts.language && parts.tower && parts.projector))) return names;
    module_set all{};
    if (!parts.language) all |= language;
    if (!parts.tower) all |= module_set{module::vision};
    if (!parts.projector) all |= module_set{module::projector};
    return d_->own_targets = modules_to_json(all, m);
  }
  /// Since transformers 5 the matrices of experts are one parameter, and routers are modules of their own: no linear layers, which find_all_linears
  /// looks for by the name of their class (swift/utils/transformers_utils.py). Before it that is so in some families and not in others.
  module_set linear_beside_experts(const std::string& place) {
    if (v_->word_now("experts_impl") != "grouped_mm") d_->releases.push_back({.program = "transformers", .since = 500, .place = place, .what = "all-linear has experts in it in most families before transformers 5, and has none since", .asks = true,
                            .older = [](draft&, const std::string& where) { fail("headroom: " + where + ": all-linear of a model with experts before transformers 5 is not read by this version: say the layers with target_modules"); }});
    auto rest = all_linear;
    rest.bits &= ~module_set{module::experts_gate, module::experts_up, module::experts_down, module::router}.bits;
    return rest;
  }
  /// lora_llm: LoRA without dropout on the language model's matrices, beside a tower and a projector that train whole (swift/tuner_plugin/lora_llm.py).
  /// DeepSpeed has them all in one format.
  void beside_language(const std::string& called, const std::string& base) {
    for (const auto* key : {"lora_dropout", "target_modules", "modules_to_save", "use_dora", "init_weights"}) v_->take(key);
    if (!sees()) fail("headroom: " + v_->place(called) + ": " + called + " lora_llm needs a model that sees");
    if (!base.empty() || v_->word_now("deepspeed").empty()) d_->unmodelled_key(called, "lora_llm", v_->place(called), "read are launches with --deepspeed and without quantisation");
    const auto m = model();
    d_->own_targets = modules_to_json(m.sparse() ? linear_beside_experts(v_->place(called)) : all_linear, m);
    json_value a = {{"kind", "lora"}, {"rank", v_->number("lora_rank", 8)}, {"targets", d_->own_targets}, {"format", "fp32"}};
    swift_tasks::save_head(*d_, a);
    d_->replace("adapter", a, v_->place(called));
    d_->replace("trainable", json_value::array({{{"modules", {"vision", "projector"}}}}), v_->place(called));
  }
  /// All of a model trains but what is frozen, which towers are unless asked otherwise (tuner_args.py, _init_multimodal_full).
  void whole(const frozen& parts) {
    const auto m = model();
    if (m.vision.layers == 0) return;
    module_set trains{};
    trains.bits = (std::uint32_t{1} << module_count) - 1;
    if (parts.language) trains = module_set{module::vision, module::projector};
    if (parts.tower) trains.bits &= ~module_set{module::vision}.bits;
    if (parts.projector) trains.bits &= ~module_set{module::projector}.bits;
    d_->replace("trainable", json_value::array({{{"modules", modules_to_json(trains, m)}}}), v_->place("freeze_vit"));
  }

  draft* d_;
  named_values* v_;
  bool early_;
};

}  // namespace headroom::io::detail
