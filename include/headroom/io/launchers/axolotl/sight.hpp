// Distributed under the Boost Software License, Version 1.0.
// Models that see under axolotl: their images, or samples of text alone, and what of their towers trains or is quantised
// (axolotl-ai-cloud/axolotl 067b021c, 2026-07: core/builders/causal.py build_collator, utils/collators/mm_chat.py, processing_strategies.py,
// utils/freeze.py; transformers quantizers/base.py get_modules_to_not_convert).
#pragma once

#include <headroom/io/launchers/axolotl/kernels.hpp>
#include <headroom/io/launchers/settle/adapters.hpp>
#include <headroom/io/launchers/settle/towers.hpp>

namespace headroom::io::detail {

class axolotl_sight {
 public:
  explicit axolotl_sight(axolotl_arguments& a) : a_(&a) {}

  void read() {
    auto& v = a_->v;
    freezes_ = v.on("freeze_mm_modules");
    size_ = v.take("image_size");
    unfrozen_ = v.take("unfrozen_parameters");
    if (unfrozen_ != nullptr && !unfrozen_->is_array()) wrong_value("unfrozen_parameters", "a list of patterns", *unfrozen_);
    if (unfrozen_ != nullptr && unfrozen_->empty()) unfrozen_ = nullptr;
    if (unfrozen_ != nullptr && a_->adapter) a_->refused("unfrozen_parameters", "axolotl freezes what these patterns do not name, adapters included, whose names begin with base_model: nothing trains");
    if (unfrozen_ != nullptr && *unfrozen_ != json_value::array({"model.language_model.*", "lm_head.*"})) read_names();
  }

  void finish(const shape& m, const axolotl_kernels& kernels) {
    const bool sees = m.vision.layers > 0;
    if (!sees && a_->processes) a_->refused("processor_type", "a processor is for models that see, and this one reads text alone");
    if (!sees && unfrozen_ != nullptr && ends_.empty()) a_->unmodelled("unfrozen_parameters");
    // A head that is the embedding's matrix has that one name alone (torch nn/modules/module.py, named_parameters, remove_duplicate).
    if (m.tied && !ends_.empty()) {
      std::erase(ends_.get_ref<json_value::array_t&>(), json_value("lm_head"));
      if (ends_.empty()) a_->refused("unfrozen_parameters", nothing_named);
    }
    if (!ends_.empty()) a_->d->replace("trainable", json_value::array({{{"modules", ends_}}}), a_->v.place("unfrozen_parameters"));
    if (!sees) return;
    // Units are layers of the class that is named, the language model's; the tower is gathered with the rest (accelerate utils/fsdp_utils.py, fsdp2_prepare_auto_wrap_policy).
    if (a_->fsdp && !(a_->second && a_->wraps && !a_->processes))
      a_->refused(a_->v.has("fsdp_config") ? "fsdp_config" : "fsdp", "models that see are modelled under axolotl's FSDP where its second version wraps the language model's layers alone (fsdp_version 2, transformer_layer_cls_to_wrap) and samples are text: shard by deepspeed, or not at all");
    if (a_->fsdp) a_->d->say({"sharding", "towers_in_root"}, true, a_->v.place("fsdp_config"));
    if (!a_->method.empty()) a_->refused(a_->v.has("rl") ? "rl" : "reward_model", "preferences and reward models of models that see are not modelled under axolotl by this version");
    if (a_->adapter) adapters(m);
    if (a_->processes && kernels.of_liger()) a_->refused("plugins", "Liger's kernels in a tower are not modelled by this version");
    if (freezes_ || unfrozen_ != nullptr) text_trains();
    if (a_->adapter && a_->processes) frozen_tower_of_axolotl(*a_->d, a_->v.place("adapter"));
    a_->processes ? images(m) : text();
  }

 private:
  static constexpr const char* nothing_named = "no parameter has a name that these patterns match, and nothing trains";

  /// Patterns that name the embedding and the head whole (utils/freeze.py, LayerNamePattern: a dot is a dot). Those for Mixtral's block_sparse_moe find
  /// nothing any more: transformers 5 calls it mlp (modeling_mixtral.py, MixtralDecoderLayer).
  void read_names() {
    const bool mixtral = a_->v.word_now("base_model").find("Mixtral") != std::string::npos;
    bool lost = false;
    ends_ = json_value::array();
    each_at(*unfrozen_, "unfrozen_parameters", "a list of patterns", [&](const json_value& one, const std::string& path) {
      const auto& text = string_at(one, path);
      if (text == "^lm_head.weight$" || text == "^model.embed_tokens.weight$")
        ends_.push_back(text == "^lm_head.weight$" ? "lm_head" : "embed_tokens");
      else if (mixtral && text.starts_with("model.layers.") && text.find(".block_sparse_moe.") != std::string::npos)
        lost = true;
      else
        ends_.clear(), a_->unmodelled("unfrozen_parameters");
    });
    if (ends_.empty()) a_->refused("unfrozen_parameters", nothing_named);
    if (lost) a_->d->notes.push_back(a_->v.place("unfrozen_parameters") + ": patterns with block_sparse_moe match nothing under transformers 5, which calls it mlp: embedding and head alone train");
  }
  /// PEFT looks at every module's path, those of the tower and of what joins it to the text, too (tuners/tuners_utils.py check_target_module_exists): an
  /// expression for the language model's layers keeps to them, a listed name reaches every layer that is called so.
  void adapters(const shape& m) {
    auto& v = a_->v;
    const auto* targets = v.take("lora_target_modules");
    const bool linear = v.on("lora_target_linear"), listed = !linear && targets != nullptr && targets->is_array();
    const auto stack = m.vision.kind == vision_kind::idefics3 ? "model.text_model.layers." : "model.language_model.layers.";  // modeling_idefics3.py, modeling_smolvlm.py
    const bool keeps = !linear && targets != nullptr && targets->is_string() && targets->get_ref<const std::string&>().starts_with(stack);
    const auto reached = listed ? layers_reached(m, *targets) : reached_layers{};
    const bool beyond = !reached.vision.empty() || !reached.projector.empty();
    if ((!keeps && !linear && !listed) || reached.convolution || (beyond && m.sparse()) || (listed && reached_by_path(m, *targets))) a_->unmodelled("lora_target_modules");
    if (linear) in_tower(tower_parts(m), "lora_target_linear", json_value::array({"all-linear"}));
    if (beyond) named_in_tower(m, reached, *targets);
    // bitsandbytes replaces every linear layer but the head, those of the tower too.
    if (a_->d->has({"adapter", "base"})) a_->d->say({"adapter", "base_also"}, tower_parts(m), v.place("adapter"));
  }
  /// Whether a name with a part of its path before it may be a layer of the tower's or of what joins it to the text, too.
  static bool reached_by_path(const shape& m, const json_value& names) {
    auto last = json_value::array();
    for (const auto& one : names)
      if (const auto name = one.is_string() ? one.get<std::string>() : std::string{}; name.find('.') != std::string::npos) last.push_back(name.substr(name.rfind('.') + 1));
    const auto reached = layers_reached(m, last);
    return !reached.vision.empty() || !reached.projector.empty();
  }
  /// Names of a list, by where layers have them; of those that the text has none of (GLM-4V's joins gate and up), the tower's alone get adapters.
  void named_in_tower(const shape& m, const reached_layers& reached, const json_value& names) {
    auto& d = *a_->d;
    const auto has = [](const json_value& list, const json_value& one) { return std::find(list.begin(), list.end(), one) != list.end(); };
    auto targets = json_value::array();
    if (const auto* said = d.find({"adapter", "targets"}); said != nullptr && said->is_array())
      for (const auto& t : *said)
        if (has(reached.language, t) || !has(names, t)) targets.push_back(t);
    auto parts = json_value::array();
    const auto part = [&](const char* word, const char* key, const json_value& list, std::string_view all) {
      if (list.empty()) return;
      parts.push_back(word);
      if (list.size() < words_between_bars(all).size()) d.say({"adapter", key}, list, a_->v.place("lora_target_modules"));
    };
    part("vision", "vision_targets", reached.vision, tower_layer_names(m.vision.kind));
    part("projector", "projector_targets", reached.projector, projector_layer_names(m.vision));
    in_tower(parts, "lora_target_modules", targets);
  }
  /// Adapters of the tower, and of what joins it to the text where every linear layer has one (loaders/adapter.py, find_all_linear_names). Where samples
  /// are text alone nothing runs them: they get no gradients.
  void in_tower(const json_value& parts, const std::string& by, json_value targets) {
    auto& d = *a_->d;
    for (const auto& part : parts) targets.push_back(part);
    d.say({"adapter", "targets"}, targets, a_->v.place(by));
    d.own_targets = targets;
    if (!a_->processes) d.notes.push_back(a_->v.place(by) + ": layers of the tower have adapters, too, which nothing runs: they have no gradients, and are not among what trains");
  }
  void text_trains() {
    if (a_->adapter) return;  // frozen anyway
    auto names = json_value::array();
    for (const auto& known : exact_modules)
      if (known.text != "vision") names.push_back(known.text);
    const std::string_view by = unfrozen_ != nullptr ? "unfrozen_parameters" : freezes_ ? "freeze_mm_modules" : "base_model";
    a_->d->replace("trainable", json_value::array({{{"modules", names}}}), a_->v.place(by));
  }
  /// A tower that may train and never runs gets no gradient: FSDP2 reduces what has one (torch _fsdp_param_group.py, post_backward), and optimizers pass
  /// over the rest, so that it takes what a frozen one takes. DDP ends there, as it waits for all.
  void text() {
    const bool idle = !a_->adapter && !freezes_ && unfrozen_ == nullptr;
    if (idle && a_->fsdp) {
      text_trains();
      a_->d->notes.push_back(a_->v.place("base_model") + ": samples are text alone, and the tower, which nothing runs, has no gradients: it is counted as if it were frozen");
    }
    if (idle && !a_->fsdp) a_->refused("base_model", "without processor_type samples are text alone, and a tower that trains and never runs is not modelled by this version: freeze_mm_modules true freezes it");
    a_->d->say({"batch", "images", "none"}, true, a_->v.place("base_model"));
  }
  /// Samples are neither cut nor padded to a multiple (utils/collators/mm_chat.py).
  void images(const shape& m) {
    auto& d = *a_->d;
    const auto place = a_->v.place("processor_type");
    const bool any_size = pixels_matter(m) || m.vision.kind == vision_kind::gemma4;
    if (size_ != nullptr && any_size) {
      const bool pair = size_->is_array() && size_->size() == 2;
      const auto& wide = pair ? (*size_)[0] : *size_;
      const auto& high = pair ? (*size_)[1] : *size_;
      d.say({"batch", "images", "width"}, whole_at(wide, "image_size", 1, 1 << 20), a_->v.place("image_size"));
      d.say({"batch", "images", "height"}, whole_at(high, "image_size", 1, 1 << 20), a_->v.place("image_size"));
    }
    if (pixels_matter(m) && !d.has({"batch", "images", "width"})) d.say({"batch", "images", "count"}, 1, place);  // how large it is, is asked for
    const std::string one = "each sample is taken to hold one image, and as many tokens as sequence_len says, to which nothing cuts it";
    d.notes.push_back(place + ": " + one + " (--set 'batch.images={\"count\": N}', --set batch.sequence=N)");
    d.assumed.push_back(one);
  }

  axolotl_arguments* a_;
  const json_value* size_{};
  const json_value* unfrozen_{};
  json_value ends_ = json_value::array();  ///< modules that alone train
  bool freezes_{};
};

}  // namespace headroom::io::detail
