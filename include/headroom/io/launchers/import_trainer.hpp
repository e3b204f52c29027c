// Distributed under the Boost Software License, Version 1.0.
// The Hugging Face Trainer's arguments and LLaMA-Factory's, which are the same and more: a YAML file, or a command line
// (transformers/training_args.py; LLaMA-Factory src/llamafactory/hparams/*_args.py).
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/trainer_keys.hpp>

namespace headroom::io {

namespace detail {

class trainer_arguments {
 public:
  trainer_arguments(draft& d, const document& from) : d_(&d), v_(from, std::int64_t{1} << 31) {}

  void import() {
    if (!v_.all().is_object()) wrong_value("the Trainer's arguments", "an object", v_.all());
    factory_ = v_.has("finetuning_type") || v_.has("cutoff_len");
    if (!d_->framework_is("deepspeed")) d_->framework_is("hf-trainer", v_.source());
    stage();
    model();
    batch();
    formats();
    adapters();
    updates();
    memory();
    distribution();
    rest();
  }

 private:
  std::string one_of(std::string_view key, std::string_view otherwise, std::initializer_list<std::string_view> accepted) {
    auto said = v_.word(key, otherwise);
    if (std::find(accepted.begin(), accepted.end(), said) == accepted.end()) unknown_name(std::string{key}, said, std::span{accepted.begin(), accepted.size()});
    return said;
  }

  void stage() {
    const auto what = one_of("stage", "sft", {"pt", "sft", "rm", "ppo", "dpo", "kto"});
    if (what != "pt" && what != "sft") fail("headroom: stage " + in_quotes(what) + " is not modelled by this version (a second model, a value head, pairs of answers); accepted: pt, sft");
  }
  void model() {
    const auto name = v_.word("model_name_or_path", "");
    if (!name.empty()) say_model(*d_, name, v_.place("model_name_or_path"));
  }
  void batch() {
    d_->say({"batch", "micro"}, v_.number("per_device_train_batch_size", 8), v_.place("per_device_train_batch_size"));
    if (v_.take("gradient_accumulation_steps") != nullptr) d_->say({"batch", "accumulation"}, v_.number("gradient_accumulation_steps", 1), v_.place("gradient_accumulation_steps"));
    for (const auto* key : {"cutoff_len", "max_seq_length", "model_max_length", "block_size"})
      if (v_.take(key) != nullptr) d_->say({"batch", "sequence"}, v_.number(key, 0), v_.place(key));
    if (factory_ && !v_.has("cutoff_len")) d_->say({"batch", "sequence"}, 2048, v_.source());
    const bool neat = v_.on("neat_packing"), packs = v_.on("packing");
    if (neat) d_->say({"batch", "packed"}, true, v_.place("neat_packing"));
    (void)packs;  // samples are cut to one length either way
  }
  void formats() {
    const bool brain = v_.on("bf16"), half = v_.on("fp16"), pure = v_.on("pure_bf16");
    if ((brain || pure) && half) fail("headroom: fp16 and bf16 must not both be true");
    if (pure)
      d_->replace("precision", "bf16", v_.place("pure_bf16"));
    else if (brain || half)
      d_->half = draft::said{brain ? "bf16" : "fp16", v_.place(brain ? "bf16" : "fp16")};
    else if (!d_->half)
      d_->half = draft::said{"no", v_.source()};
  }
  void adapters() {
    const auto type = one_of("finetuning_type", factory_ ? "lora" : "full", {"lora", "freeze", "full", "oft"});
    if (type == "oft") fail("headroom: finetuning_type \"oft\" is not modelled by this version; accepted: lora, freeze, full");
    const auto bits = v_.number("quantization_bit", 0), rank = v_.number("lora_rank", 8);
    const auto method = one_of("quantization_method", "bnb", {"bnb", "bitsandbytes", "BNB", "hqq", "eetq"});
    const bool twice = v_.on("double_quantization", true);
    const auto kind = one_of("quantization_type", "nf4", {"nf4", "fp4"});
    const bool magnitudes = v_.on("use_dora");
    const auto* targets = v_.take("lora_target");
    const auto* more = v_.take("additional_target");
    const auto* chance = v_.take("lora_dropout");
    const auto layers = v_.number("freeze_trainable_layers", 2, -(std::int64_t{1} << 20));
    const auto modules = v_.word("freeze_trainable_modules", "all");
    const bool tower = v_.on("freeze_vision_tower", true), projector = v_.on("freeze_multi_modal_projector", true), language = v_.on("freeze_language_model");
    if (bits > 0 && type != "lora") fail("headroom: quantization_bit needs finetuning_type \"lora\"");
    if (language) fail("headroom: freeze_language_model = true is not read by this version: say what trains with --set trainable=[…]");
    if (type == "lora") {
      json_value a = {{"kind", magnitudes ? "dora" : "lora"}, {"rank", rank}, {"targets", names_in(targets, "lora_target", "all-linear")}};
      if (chance != nullptr) a["dropout"] = number_at(*chance, "lora_dropout", 0.0, 1.0);
      if (more != nullptr) a["modules_to_save"] = names_in(more, "additional_target", "");
      if (bits > 0) {
        if (method == "hqq" || method == "eetq" || (bits != 4 && bits != 8)) fail("headroom: quantization_bit " + std::to_string(bits) + " by " + method + " is not modelled by this version; accepted: 4 and 8 by bnb");
        a["base"] = bits == 8 ? "int8" : kind == "nf4" ? (twice ? "nf4-double" : "nf4") : "int4";
        a["base_skips"] = {"lm_head"};  // bitsandbytes leaves the head as it is (transformers/integrations/bitsandbytes.py)
      }
      a["format"] = "fp32";
      d_->replace("adapter", a, v_.place("finetuning_type"));
    } else if (type == "freeze") {
      freeze(layers, modules);
    } else if (factory_ && (tower || projector)) {
      if (!d_->has({"model"})) return;
      const auto m = read_model(*d_->find({"model"}), "model", "/nonexistent/folder");
      if (m.vision.layers == 0) return;
      module_set trains{};
      trains.bits = (std::uint32_t{1} << module_count) - 1;
      if (tower) trains.bits &= ~module_set{module::vision}.bits;
      if (projector) trains.bits &= ~module_set{module::projector}.bits;
      d_->replace("trainable", json_value::array({{{"modules", modules_to_json(trains, m)}}}), v_.place("freeze_vision_tower"));
    }
  }
  static json_value names_in(const json_value* said, const std::string& path, std::string_view all) {
    if (said == nullptr) return json_value(all);
    auto list = json_value::array();
    if (said->is_array()) return *said;
    const auto& text = string_at(*said, path, "names between commas or a list");
    if (text == "all" && !all.empty()) return json_value(all);
    for_each_word(text, [&](std::string_view w) { list.push_back(w); });
    return list;
  }
  void freeze(std::int64_t count, const std::string& modules) {
    if (!d_->has({"model"})) fail("headroom: finetuning_type \"freeze\" counts layers: give the model first, with --model or its config.json before this file");
    const auto layers = read_model(*d_->find({"model"}), "model", "/nonexistent/folder").layers;
    if (count == 0 || count > layers || -count > layers) fail("headroom: freeze_trainable_layers must be from 1 to the model's layers, " + std::to_string(layers) + ", or their negative");
    json_value one = {{"layers", count > 0 ? json_value{layers - count, layers - 1} : json_value{0, -count - 1}}};
    if (modules != "all") {
      const json_value list(modules);
      one["modules"] = names_in(&list, "freeze_trainable_modules", "");
    }
    d_->replace("trainable", json_value::array({one}), v_.place("freeze_trainable_layers"));
  }
  void updates() {
    const auto rate = v_.number("galore_rank", 16), every = v_.number("galore_update_interval", 200), apollo = v_.number("apollo_rank", 16), again = v_.number("apollo_update_interval", 200);
    const bool layerwise = v_.on("galore_layerwise"), layers = v_.on("apollo_layerwise");
    const auto mode = one_of("badam_mode", "layer", {"layer", "ratio"});
    const auto optim = v_.word("optim", "adamw_torch");
    if (v_.on("use_galore")) return d_->replace("optimizer", json_value{{"name", "galore"}, {"rank", rate}, {"update_interval", every}, {"in_backward", layerwise}}, v_.place("use_galore"));
    if (v_.on("use_apollo")) return d_->replace("optimizer", json_value{{"name", "apollo"}, {"rank", apollo}, {"update_interval", again}, {"in_backward", layers}}, v_.place("use_apollo"));
    if (v_.on("use_badam")) {
      if (mode != "layer") fail("headroom: badam_mode \"ratio\" is not modelled by this version; accepted: layer");
      return d_->replace("optimizer", "badam", v_.place("use_badam"));
    }
    if (v_.on("use_muon")) return d_->replace("optimizer", "muon", v_.place("use_muon"));
    const auto known = optimizer_called(optimizer_namer::trainer, optim);
    if (known.is == nullptr) unknown_name("optim", optim, optimizer_names_of(optimizer_namer::trainer));
    const auto ours = known.is->label.view();
    d_->replace("optimizer", known.how == implementation::unset ? json_value(ours) : json_value{{"name", ours}, {"implementation", text_of(known.how)}}, v_.place("optim"));
  }
  void memory() {
    const bool off = v_.on("disable_gradient_checkpointing"), reentrant = v_.on("use_reentrant_gc", true), asked = v_.on("gradient_checkpointing", factory_), to_host = v_.on("use_unsloth_gc");
    if (asked && !off)
      d_->replace("recompute", factory_ ? json_value{{"mode", "full"}, {"reentrant", reentrant}} : json_value("full"), v_.place("gradient_checkpointing"));
    else
      d_->replace("recompute", "none", v_.place("disable_gradient_checkpointing"));
    if (to_host) d_->say({"offload", "activations"}, "cpu", v_.place("use_unsloth_gc"));
    const auto flash = one_of("flash_attn", "auto", {"auto", "disabled", "sdpa", "fa2", "fa3"});
    const auto kernel = one_of("attn_implementation", "", {"", "eager", "sdpa", "flash_attention_2", "flash_attention_3"});
    if (flash == "fa2" || kernel == "flash_attention_2" || flash == "fa3" || kernel == "flash_attention_3")
      d_->replace("attention", flash == "fa3" || kernel == "flash_attention_3" ? "flash3" : "flash", v_.place(kernel.empty() ? "flash_attn" : "attn_implementation"));
    else if (flash != "auto" || !kernel.empty())
      d_->replace("attention", flash == "disabled" || kernel == "eager" ? "eager" : "sdpa", v_.place(kernel.empty() ? "flash_attn" : "attn_implementation"));
    for (const auto* key : {"enable_liger_kernel", "use_liger_kernel"})
      if (v_.on(key)) d_->say({"loss", "kind"}, "fused-linear", v_.place(key));
    if (v_.on("torch_compile")) d_->replace("compile", true, v_.place("torch_compile"));
  }
  void distribution() {
    if (const auto* ds = v_.take("deepspeed"); ds != nullptr && !(ds->is_string() && ds->get_ref<const std::string&>().empty())) {
      d_->framework_is("deepspeed", v_.place("deepspeed"));
      d_->say({"sharding", "kind"}, "zero", v_.place("deepspeed"));
      if (!ds->is_string()) fail("headroom: deepspeed must be the path of a configuration here");
      d_->awaits = draft::said{ds->get_ref<const std::string&>(), v_.place("deepspeed")};
    }
    const auto* fsdp = v_.take("fsdp");
    if (fsdp == nullptr || (fsdp->is_boolean() && !flag_at(*fsdp, "fsdp"))) return;
    std::string kind = "fsdp1", text = fsdp->is_boolean() ? "full_shard" : "";
    if (fsdp->is_array())
      each_at(*fsdp, "fsdp", "a list of words", [&](const json_value& v, const std::string& path) { text += string_at(v, path) + " "; });
    else if (!fsdp->is_boolean())
      text = string_at(*fsdp, "fsdp");
    std::int64_t stage = 0;
    for_each_word(text, [&](std::string_view w) {
      if (w == "full_shard" || w == "hybrid_shard")
        stage = 3;
      else if (w == "shard_grad_op" || w == "hybrid_shard_zero2")
        stage = 2;
      else if (w == "no_shard")
        kind = "ddp";
      else if (w == "offload")
        d_->say({"offload"}, {{"parameters", "cpu"}, {"optimizer", "cpu"}}, v_.place("fsdp"));
      else if (w != "auto_wrap")
        fail("headroom: fsdp must not have " + in_quotes(w) + "; accepted: full_shard, shard_grad_op, hybrid_shard, hybrid_shard_zero2, no_shard, offload, auto_wrap");
      if (w.starts_with("hybrid")) d_->hybrid = v_.place("fsdp");
    });
    d_->replace("sharding", stage > 0 ? json_value{{"kind", kind}, {"stage", stage}} : json_value("ddp"), v_.place("fsdp"));
  }
  void rest() {
    for (const auto key : trainer_unmodelled) {
      const auto* v = v_.take(key);
      const bool off = v == nullptr || (v->is_boolean() && !flag_at(*v, "")) || (v->is_string() && v->get_ref<const std::string&>().empty()) || (v->is_number() && *v == 1);
      if (!off) fail("headroom: " + std::string{key} + " is not modelled by this version");
    }
    for (const auto key : trainer_elsewhere) v_.take(key);
    if (factory_) return check_keys(v_.all(), "", v_.taken());
    for (const auto& [key, value] : v_.all().items())  // a script has arguments of its own
      if (!v_.taken(key)) {
        const auto meant = closest(key, v_.taken());
        d_->notes.push_back(v_.place(key) + ": " + key + " is not read" + (meant.empty() ? "" : "; did you mean " + std::string{meant} + "?"));
      }
  }

  draft* d_;
  named_values v_;
  bool factory_{};
};

}  // namespace detail

inline void import_trainer(draft& d, const document& from) {
  with_places(from, [&] { detail::trainer_arguments{d, from}.import(); });
}

}  // namespace headroom::io
