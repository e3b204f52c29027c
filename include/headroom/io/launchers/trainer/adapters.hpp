// Distributed under the Boost Software License, Version 1.0.
// What trains under the Trainer: PEFT's adapters, a quantised base, frozen parts.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/listed_modules.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>
#include <headroom/io/launchers/trainer/usual_targets.hpp>

namespace headroom::io::detail {

/// The first of several names that the arguments have.
inline const json_value* first_of(named_values& v, std::string_view names, std::string_view& called) {
  const json_value* found = nullptr;
  for (auto rest = names; !rest.empty();) {
    const auto bar = rest.find('|');
    const auto one = rest.substr(0, bar);
    if (const auto* said = v.take(one); said != nullptr && found == nullptr) {
      found = said;
      called = one;
    }
    if (bar == std::string_view::npos) break;
    rest.remove_prefix(bar + 1);
  }
  return found;
}

class adapter_arguments {
 public:
  adapter_arguments(draft& d, named_values& v, const training_program& p) : d_(&d), v_(&v), p_(&p) {}

  void read(const std::string& model) {
    base();
    const auto& l = p_->lora;
    if (l.rank.empty()) return;
    const bool on = switched_on();
    json_value a = {{"kind", "lora"}, {"rank", number(l.rank, l.rank_default)}, {"format", "fp32"}};
    if (auto names = targets(on); !names.is_null()) a["targets"] = std::move(names);
    dropout(a);
    if (!l.dora.empty() && v_->on(l.dora)) a["kind"] = "dora";
    saved(a, model);
    const bool given = d_->has_read(file_kind::adapter);
    if (on && given) fail("headroom: " + (on_.empty() ? v_->source() : v_->place(on_)) + ": an adapter of its own beside that of " + d_->place_of("adapter") + ", which is not modelled by this version");
    if (!on && !given) {
      if (!p_->loads_whole.empty()) d_->loaded = draft::said{std::string{p_->loads_whole}, v_->source()};
      if (!quantised_.empty()) fail("headroom: " + v_->place(quantised_by_) + ": " + std::string{quantised_by_} + " without an adapter has nothing that trains");
      return;
    }
    if (given) a = d_->job["adapter"];
    if (!p_->method.empty() && p_->name != "axolotl") d_->names_everywhere = draft::said{std::string{l.targets}, v_->place(l.targets)};  // peft_config as it is (trl/trainer/utils.py, get_peft_config)
    if (!quantised_.empty()) {
      a["base"] = quantised_;
      if (p_->name == "llava")  // llm_int8_skip_modules is mm_projector alone, in the place of the head (transformers v4.37.2 modeling_utils.py, modules_to_not_convert)
        a["base_also"] = {"lm_head"};
      else
        a["base_skips"] = {"lm_head"};  // bitsandbytes leaves the head as it is (transformers/integrations/bitsandbytes.py)
      const bool packed = quantised_by_ == p_->base.packed;  // the rest of it stays as it is (prepare_model_for_kbit_training)
      if (packed || p_->base.prepared) d_->loaded = draft::said{packed ? "fp16" : "fp32", v_->place(quantised_by_)};
    }
    d_->replace("adapter", a, given ? d_->place_of("adapter") : on_.empty() ? v_->source() : v_->place(on_));
  }

 private:
  /// One of several switches is enough.
  bool switched_on() {
    const auto& l = p_->lora;
    const bool by_rank = !l.on.empty() && l.on == l.rank;
    bool said = false, on = false;
    for (const auto name : words_between_bars(l.on)) {
      const auto* v = v_->take(name);
      if (v == nullptr) continue;
      const bool this_one = by_rank ? count_at(*v, std::string{name}, 0, 1 << 20) > 0 : truth(*v, std::string{name});
      if (!said || (this_one && !on)) on_ = name;
      said = true;
      on = on || this_one;
    }
    return said ? on : l.by_default;
  }
  std::int64_t number(std::string_view names, std::int64_t otherwise) {
    std::string_view called;
    const auto* v = first_of(*v_, names, called);
    return v == nullptr ? otherwise : count_at(*v, std::string{called}, 0, 1 << 20);
  }
  /// Null where nobody says them, and nothing may stand for them.
  json_value targets(bool on) {
    const auto& l = p_->lora;
    std::string_view called;
    if (const auto* said = first_of(*v_, l.targets, called); said != nullptr && !said->empty())
      return l.targets_by_words && on ? names_by_words(*d_, *said, std::string{called}, v_->place(called)) : names_in(*said, std::string{called});
    if (on && l.targets_default.empty()) {
      const auto* m = d_->find({"model"});
      if (const auto usual = usual_targets(m != nullptr && m->is_string() ? m->get_ref<const std::string&>() : std::string_view{}); !usual.empty()) return names_in(json_value(usual), "targets");
      d_->awaits_targets = draft::said{std::string{l.targets} + " is not given, and PEFT's choice differs by model and release: say the layers with " + std::string{l.targets}, v_->source()};
      return nullptr;
    }
    return names_in(json_value(l.targets_default.empty() ? "all" : l.targets_default), "targets");
  }
  void dropout(json_value& a) {
    std::string_view called;
    const auto* said = first_of(*v_, p_->lora.dropout, called);
    const auto chance = said == nullptr ? static_cast<double>(p_->lora.dropout_percent) / 100.0 : number_at(*said, std::string{called}, 0.0, 1.0);
    if (chance > 0) a["dropout"] = chance;
  }
  void saved(json_value& a, const std::string& model) {
    const auto& l = p_->lora;
    std::string_view called;
    if (const auto* said = first_of(*v_, l.saved, called); said != nullptr && !said->empty() && *said != "") a["modules_to_save"] = names_in(*said, std::string{called});
    if (l.saved_of_base.empty() || !quantised_.empty()) return;
    auto small = model;
    std::transform(small.begin(), small.end(), small.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (small.find("chat") == std::string::npos) a["modules_to_save"] = names_in(json_value(l.saved_of_base), "modules_to_save");
  }
  void base() {
    const auto& b = p_->base;
    if (!b.packed.empty() && v_->on(b.packed)) {
      quantised_ = "gptq-int4";
      quantised_by_ = b.packed;
      return;
    }
    std::string_view four, eight, bits, kind, nested;
    const auto* is_four = first_of(*v_, b.four, four);
    const auto* is_eight = first_of(*v_, b.eight, eight);
    const auto* count = first_of(*v_, b.bits, bits);
    const auto* what = first_of(*v_, b.kind, kind);
    const auto* twice = first_of(*v_, b.nested, nested);
    std::int64_t n = count == nullptr ? 16 : count_at(*count, std::string{bits}, 1, 32);
    quantised_by_ = bits;
    if (is_four != nullptr && truth(*is_four, std::string{four})) n = 4, quantised_by_ = four;
    const bool in_eight = is_eight != nullptr && truth(*is_eight, std::string{eight});
    if (in_eight && n == 4)  // trl/trainer/model_config.py __post_init__; transformers utils/quantization_config.py, BitsAndBytesConfig
      fail("headroom: " + v_->place(eight) + ": " + std::string{eight} + " and " + std::string{quantised_by_} + " end the program together: take one of them out");
    if (in_eight) n = 8, quantised_by_ = eight;
    if (n != 4 && n != 8) {
      if (!b.double_by.empty()) v_->take(b.double_by);
      return;
    }
    const auto word = what == nullptr ? std::string{b.kind_default} : string_at(*what, std::string{kind});
    const bool doubled = twice == nullptr ? b.nested_default : truth(*twice, std::string{nested});
    const bool both = !b.double_by.empty() && v_->on(b.double_by);
    const auto code = !b.double_by.empty() && !both ? std::string{"fp4"} : word;
    if (n == 4 && code != "nf4" && code != "fp4") fail("headroom: " + v_->place(kind) + ": " + std::string{kind} + " " + in_quotes(word) + " is not modelled by this version; accepted: nf4, fp4");
    quantised_ = n == 8 ? "int8" : doubled || both ? code + "-double" : code;
  }

  draft* d_;
  named_values* v_;
  const training_program* p_;
  std::string quantised_;
  std::string_view quantised_by_, on_;
};

/// LLaMA-Factory's (src/llamafactory/hparams/finetuning_args.py, model/adapter.py): LoRA unless it says otherwise.
class factory_adapters {
 public:
  factory_adapters(draft& d, named_values& v) : d_(&d), v_(&v) {}

  void read() {
    const auto type = v_->one_of("finetuning_type", "lora", {"lora", "freeze", "full", "oft"});
    if (type == "oft") fail("headroom: finetuning_type \"oft\" is not modelled by this version; accepted: lora, freeze, full");
    auto a = lora();
    if (type == "lora") resumed(a);
    const auto base = quantised(type);
    const auto layers = v_->number("freeze_trainable_layers", 2, -(std::int64_t{1} << 20));
    const auto modules = v_->word("freeze_trainable_modules", "all"), more = v_->word("freeze_extra_modules", "");
    const bool tower = v_->on("freeze_vision_tower", true), projector = v_->on("freeze_multi_modal_projector", true), language = v_->on("freeze_language_model");
    if (language) fail("headroom: freeze_language_model = true is not read by this version: say what trains with --set trainable=[…]");
    if (type == "freeze" && !more.empty()) fail("headroom: freeze_extra_modules is not read by this version: say what trains with --set trainable=[…]");
    if (type == "lora") {
      if (!base.empty()) {
        a["base"] = base;
        a["base_skips"] = {"lm_head"};
      }
      d_->replace("adapter", a, v_->place("finetuning_type"));
    } else if (type == "freeze") {
      freeze(layers, modules);
    } else if (tower || projector) {
      towers(tower, projector);
    }
  }
  /// Weights are loaded in the 16 bits that are said, or in the checkpoint's; what trains is made fp32 (model/adapter.py, init_adapter), so that
  /// frozen layers have a format of their own.
  void formats(bool brain, bool half, bool pure) const {
    if (d_->framework_is("deepspeed") || pure || v_->on("use_badam")) return;
    if (d_->has({"trainable"})) d_->frozen = draft::said{brain ? "bf16" : half ? "fp16" : "", v_->place("finetuning_type")};
    if (!d_->has({"adapter"})) {
      d_->loaded = draft::said{"fp32", v_->source()};
    } else if (!brain && !half) {
      d_->notes.push_back(v_->source() + ": neither bf16 nor fp16 is given: the base stays in the checkpoint's format, which is taken to be bfloat16");
      d_->loaded = draft::said{"bf16", v_->source()};
    }
  }

 private:
  json_value lora() {
    const auto rank = v_->number("lora_rank", 8);
    const bool magnitudes = v_->on("use_dora");
    const auto* targets = v_->take("lora_target");
    // One name stays in its list, too (model/adapter.py _setup_lora_tuning, ff6d4d12e of 2026-08-18).
    if (targets != nullptr) {
      const auto named = names_in(*targets, "lora_target");
      const bool word = *targets == "all-linear" || *targets == json_value::array({"all-linear"});
      refuse_listed_all_linear(word ? json_value::array({"all-linear"}) : named, "lora_target", v_->place("lora_target"), "\"all\"");
    }
    const auto* more = v_->take("additional_target");
    const auto* chance = v_->take("lora_dropout");
    json_value a = {{"kind", magnitudes ? "dora" : "lora"}, {"rank", rank}, {"targets", targets == nullptr ? json_value("all-linear") : names_in(*targets, "lora_target")}, {"format", "fp32"}};
    if (chance != nullptr) a["dropout"] = number_at(*chance, "lora_dropout", 0.0, 1.0);
    if (v_->on("pissa_init")) {  // of the weights' own values, one matrix after the other (peft/tuners/lora/layer.py, pissa_init)
      const std::string what = "the matrices from which pissa makes its adapters before the first step are not counted";
      if (v_->number("quantization_bit", 0) != 0) fail("headroom: " + v_->place("pissa_init") + ": LLaMA-Factory makes no PiSSA adapters of a quantised base: pissa_init or quantization_bit must go");
      // finetuning_args.py __post_init__, "Cannot use PiSSA for current training stage" (32f45c9e9 of 2024-06-16): a reference would be what pissa leaves of the weights.
      const auto stage = v_->word_now("stage"), compares = v_->word_now("pref_loss");
      if (stage == "ppo" || stage == "kto" || (stage == "dpo" && compares != "orpo" && compares != "simpo"))
        fail("headroom: " + v_->place("pissa_init") + ": LLaMA-Factory starts no " + stage + " with pissa_init, whose base is no reference any more: pissa_init must go");
      d_->notes.push_back(v_->place("pissa_init") + ": " + what);
      d_->assumed.push_back(what);
    }
    if (more != nullptr) {
      a["modules_to_save"] = names_in(*more, "additional_target");
    }
    return a;
  }
  /// A saved adapter that trains on; a new one begins where the saved one is merged into the base (model/adapter.py, _setup_lora_tuning).
  void resumed(json_value& a) {
    const auto saved = v_->word("adapter_name_or_path", "");
    const bool anew = v_->on("create_new_adapter");
    if (saved.empty() || anew) return;
    const auto place = v_->place("adapter_name_or_path");
    if (saved.find(',') != std::string::npos) fail("headroom: " + place + ": of several adapters all but the last are merged into the base, which is not modelled by this version: name one");
    d_->named.push_back({file_kind::adapter, saved + "/adapter_config.json", place});
    if (d_->has_read(file_kind::adapter)) a = d_->job["adapter"];
  }
  /// The base's format; empty where it is not quantised.
  std::string quantised(const std::string& type) {
    const auto bits = v_->number("quantization_bit", 0);
    const auto method = v_->one_of("quantization_method", "bnb", {"bnb", "bitsandbytes", "BNB", "hqq", "eetq"});
    const bool twice = v_->on("double_quantization", true);
    const auto kind = v_->one_of("quantization_type", "nf4", {"nf4", "fp4"});
    if (bits == 0) return {};
    if (type != "lora") fail("headroom: quantization_bit needs finetuning_type \"lora\"");
    if (method == "hqq" || method == "eetq" || (bits != 4 && bits != 8)) fail("headroom: quantization_bit " + std::to_string(bits) + " by " + method + " is not modelled by this version; accepted: 4 and 8 by bnb");
    if (is_in_mxfp4(d_->trained_name)) {  // model/model_utils/quantization.py, configure_quantization
      d_->notes.push_back(v_->place("quantization_bit") + ": quantization_bit has no effect: " + d_->trained_name + " is stored in MXFP4, which LLaMA-Factory makes bf16 as it is loaded");
      return {};
    }
    return bits == 8 ? "int8" : twice ? kind + "-double" : kind;
  }
  /// LLaMA Pro: the last layer of each group, of as many groups as layers train (model/adapter.py, _setup_freeze_tuning).
  [[nodiscard]] json_value last_of_groups(std::int64_t layers, std::int64_t count) const {
    if (count <= 0 || layers % count != 0) fail("headroom: " + v_->place("use_llama_pro") + ": freeze_trainable_layers must divide the model's layers, " + std::to_string(layers) + ", under use_llama_pro; it is " + std::to_string(count));
    const auto stride = layers / count;
    auto list = json_value::array();
    for (auto at = stride - 1; at < layers; at += stride) list.push_back({{"layers", {at, at}}});
    return list;
  }
  void freeze(std::int64_t count, const std::string& modules) {
    if (!d_->has({"model"})) fail("headroom: finetuning_type \"freeze\" counts layers: give the model, too, with --model or its config.json");
    const auto layers = read_model(*d_->find({"model"}), "model", "/nonexistent/folder").layers;
    if (count == 0 || count > layers || -count > layers) fail("headroom: freeze_trainable_layers must be from 1 to the model's layers, " + std::to_string(layers) + ", or their negative");
    if (modules.find("all-linear") != std::string::npos)  // _setup_freeze_tuning: "not found"
      fail("headroom: " + v_->place("freeze_trainable_modules") + ": no layer is called \"all-linear\": LLaMA-Factory's word is \"all\"");
    if (v_->on("use_llama_pro")) {
      auto list = last_of_groups(layers, count);
      for (auto& each : list)
        if (modules != "all") each["modules"] = names_in(json_value(modules), "freeze_trainable_modules");
      return d_->replace("trainable", list, v_->place("use_llama_pro"));
    }
    json_value one = {{"layers", count > 0 ? json_value{layers - count, layers - 1} : json_value{0, -count - 1}}};
    if (modules != "all") one["modules"] = names_in(json_value(modules), "freeze_trainable_modules");
    d_->replace("trainable", json_value::array({one}), v_->place("freeze_trainable_layers"));
  }
  void towers(bool tower, bool projector) {
    if (!d_->has({"model"})) return;
    const auto m = read_model(*d_->find({"model"}), "model", "/nonexistent/folder");
    if (m.vision.layers == 0) return;
    // LLaMA-Factory 0.9.1 freezes vision_tower alone, and Qwen2-VL's projector with its tower; 0.9.2 has freeze_multi_modal_projector, true by default
    // (model/model_utils/visual.py, get_forbidden_modules). Both have train_mm_proj_only.
    if (v_->has("train_mm_proj_only") && !v_->has("freeze_multi_modal_projector") && m.vision.kind != vision_kind::qwen2_vl)
      fail("headroom: " + v_->place("train_mm_proj_only") + ": train_mm_proj_only is of LLaMA-Factory up to 0.9.2, which trains the projector beside a frozen tower or not, by its age: add freeze_multi_modal_projector: true or false");
    module_set trains{};
    trains.bits = (std::uint32_t{1} << module_count) - 1;
    if (tower) trains.bits &= ~module_set{module::vision}.bits;
    if (projector) trains.bits &= ~module_set{module::projector}.bits;
    d_->replace("trainable", json_value::array({{{"modules", modules_to_json(trains, m)}}}), v_->place("freeze_vision_tower"));
  }

  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
