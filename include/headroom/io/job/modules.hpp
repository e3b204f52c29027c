// Distributed under the Boost Software License, Version 1.0.
// The keys of a job that pick modules of the model by name: adapter, trainable.
#pragma once

#include <headroom/io/job/recipe.hpp>

namespace headroom::io {

/// One name and the modules it means. Names as they stand in model code come first, the library's own after them.
struct module_name {
  std::string_view text;
  module_set means;
};

inline constexpr std::array<module_name, 28> exact_modules{{
    {"embed_tokens", {module::embedding}},
    {"position", {module::position}},
    {"q_proj", {module::q_proj}},
    {"k_proj", {module::k_proj}},
    {"v_proj", {module::v_proj}},
    {"o_proj", {module::o_proj}},
    {"mla_down", {module::mla_down}},
    {"dense_gate", {module::gate_proj}},
    {"dense_up", {module::up_proj}},
    {"dense_down", {module::down_proj}},
    {"experts_gate", {module::experts_gate}},
    {"experts_up", {module::experts_up}},
    {"experts_down", {module::experts_down}},
    {"shared_gate", {module::shared_gate}},
    {"shared_up", {module::shared_up}},
    {"shared_down", {module::shared_down}},
    {"router", {module::router}},
    {"norm", {module::norm}},
    {"lm_head", {module::head}},
    {"mtp", {module::mtp}},
    {"cross_attention", {module::cross_attention}},
    {"layer_input", {module::layer_input}},
    {"encoder", {module::encoder}},
    {"vision", {module::vision}},
    {"mixer_in", {module::mixer_in}},
    {"mixer_out", {module::mixer_out}},
    {"mixer", {module::mixer}},
    {"other", {module::other}},
}};

// In a model with experts the same word names the dense layers', the experts' and the shared experts' matrices, as PEFT
// matches the end of a module's path.
inline constexpr module_set gate_anywhere{module::gate_proj, module::experts_gate, module::shared_gate};
inline constexpr module_set up_anywhere{module::up_proj, module::experts_up, module::shared_up};
inline constexpr module_set down_anywhere{module::down_proj, module::experts_down, module::shared_down};

inline constexpr std::array<module_name, 43> usual_modules{{
    {"gate_proj", gate_anywhere},
    {"up_proj", up_anywhere},
    {"down_proj", down_anywhere},
    {"per_layer_input_gate", {module::layer_input}},
    {"per_layer_projection", {module::layer_input}},
    {"per_layer_model_projection", {module::layer_input}},
    {"projector", {module::projector}},
    {"resampler", {module::projector}},
    {"head", {module::head}},
    {"embedding", {module::embedding}},
    {"wte", {module::embedding}},
    {"wpe", {module::position}},
    {"out_proj", {module::o_proj, module::mixer_out}},
    {"dense", {module::o_proj}},
    {"in_proj", {module::mixer_in}},
    {"in_proj_qkvz", {module::mixer_in}},
    {"conv1d", {module::mixer}},
    {"c_attn", {module::q_proj, module::k_proj, module::v_proj}},
    {"qkv_proj", {module::q_proj, module::k_proj, module::v_proj}},
    {"query_key_value", {module::q_proj, module::k_proj, module::v_proj}},
    {"Wqkv", {module::q_proj, module::k_proj, module::v_proj}},
    {"W_pack", {module::q_proj, module::k_proj, module::v_proj}},
    {"attention", {module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::mla_down}},
    {"mlp", {module::gate_proj, module::up_proj, module::down_proj}},
    {"q_a_proj", {module::mla_down}},
    {"kv_a_proj_with_mqa", {module::mla_down}},
    {"q_b_proj", {module::q_proj}},
    {"kv_b_proj", {module::k_proj}},
    {"gate_up_proj",
     {module::gate_proj, module::experts_gate, module::shared_gate, module::up_proj, module::experts_up, module::shared_up}},
    {"dense_h_to_4h", {module::up_proj}},
    {"dense_4h_to_h", {module::down_proj}},
    {"fc1", {module::up_proj}},
    {"fc2", {module::down_proj}},
    {"fc_in", {module::up_proj}},
    {"fc_out", {module::down_proj}},
    {"c_fc", {module::up_proj}},
    {"c_proj", {module::o_proj, module::down_proj, module::experts_down, module::shared_down}},  // attention's and the MLP's
    {"w1", gate_anywhere},
    {"w3", up_anywhere},
    {"w2", down_anywhere},
    {"experts", {module::experts_gate, module::experts_up, module::experts_down}},
    {"shared_experts", {module::shared_gate, module::shared_up, module::shared_down}},
    {"gate", {module::router}},
}};

/// What decides which modules a word means.
struct model_parts {
  bool sparse{};  ///< it has experts
  bool recurs{};  ///< … recurrent mixers, whose projections are in_proj and out_proj
  bool joins_gate_up{};  ///< the MLP's first layer makes gate and up
  std::int64_t layers{};
  constexpr model_parts(const shape& m) : sparse(m.sparse()), recurs(m.recurs()), joins_gate_up(m.fused_gate_up), layers(m.layers) {}
};

/// Of a set of modules, those that the model has.
constexpr module_set in_model(module_set set, const model_parts& has) {
  constexpr module_set of_experts{module::experts_gate, module::experts_up, module::experts_down,
                                  module::shared_gate,  module::shared_up,  module::shared_down};
  if (set == module_set{module::up_proj} && has.joins_gate_up) return {module::gate_proj, module::up_proj};  // ChatGLM's dense_h_to_4h
  if (!has.sparse) set.bits &= ~of_experts.bits;
  if (set == module_set{module::o_proj, module::mixer_out}) return has.recurs ? module_set{module::mixer_out} : module_set{module::o_proj};
  return set;
}

/// A list of names, or "all-linear" where that is accepted.
inline module_set read_modules(const json_value& value, const std::string& path, const model_parts& has, bool all = false) {
  if (all && value.is_string() && *value.get_ptr<const json_value::string_t*>() == "all-linear") return all_linear;
  module_set set;
  each_at(value, path, all ? "a list of modules or \"all-linear\"" : "a list of modules",
          [&](const json_value& v, const std::string& at) {
            const auto& word = string_at(v, at, "a module's name");
            if (all && word == "all-linear") return void(set |= all_linear);
            for (const auto& m : exact_modules)
              if (m.text == word) return void(set |= m.means);
            for (const auto& m : usual_modules)
              if (m.text == word) return void(set |= in_model(m.means, has));
            auto names = texts(usual_modules, [](const module_name& m) { return m.text; });
            for (const auto& m : exact_modules) names.push_back(m.text);
            std::sort(names.begin(), names.end());
            unknown_name(at, word, names);
          });
  return set;
}

/// `joins`: all linear layers are one word in a list, too.
inline json_value modules_to_json(module_set set, const model_parts& has, bool joins = false) {
  if (set == all_linear) return "all-linear";
  auto list = json_value::array();
  if (joins && (set.bits & all_linear.bits) == all_linear.bits) {  // … and a tower's
    list.push_back("all-linear");
    set.bits &= ~all_linear.bits;
  }
  for (const auto& m : exact_modules) {
    if ((set.bits & m.means.bits) == 0) continue;
    // The plain word is nicer to read where nothing else is called so.
    const bool plain = !has.sparse && m.text.starts_with("dense_");
    list.push_back(plain ? std::string{m.text.substr(6)} + "_proj" : std::string{m.text});
  }
  if (set.has(module::projector)) list.push_back("projector");
  return list;
}

inline adapter read_adapter(const json_value& value, const std::string& path, const model_parts& has) {
  adapter a;
  key_reader k{value, path};
  a.kind = name_at<adapter_kind>(k.need("kind", "\"lora\" or \"dora\""), k.at("kind"));
  k.whole("rank", a.rank, {}, 1, std::int64_t{1} << 20);
  if (const auto* v = k.take("targets")) a.targets = read_modules(*v, k.at("targets"), has, true);
  format_key(k, "format", a.format);
  probability_key(k, "dropout", a.dropout);
  format_key(k, "base", a.base);
  format_key(k, "rest", a.rest);
  format_key(k, "rest_experts", a.rest_experts);
  if (const auto* v = k.take("base_skips")) a.base_skips = read_modules(*v, k.at("base_skips"), has);
  if (const auto* v = k.take("base_also")) a.base_also = read_modules(*v, k.at("base_also"), has);
  auto alone = has;  // a tower has no experts
  alone.sparse = alone.recurs = false;
  if (const auto* v = k.take("vision_targets")) a.vision_targets = read_modules(*v, k.at("vision_targets"), alone);
  if (const auto* v = k.take("projector_targets")) a.projector_targets = read_modules(*v, k.at("projector_targets"), alone);
  if (const auto* v = k.take("modules_to_save")) a.modules_to_save = read_modules(*v, k.at("modules_to_save"), has);
  if (const auto* v = k.take("fused_qkv")) {
    // litgpt computes q, k and v in one matrix but keeps an A and a B for each of them that is a target: as if separate.
    const bool litgpt = v->is_string() && *v->get_ptr<const json_value::string_t*>() == "litgpt";
    if (!litgpt && !v->is_boolean()) wrong_value(k.at("fused_qkv"), "true, false or \"litgpt\"", *v);
    a.fused_qkv = !litgpt && flag_at(*v, k.at("fused_qkv"));
  }
  k.finish();
  if (a.active() && a.rank == 0) fail("headroom: " + k.at("rank") + " is required: the rank of the adapters");
  if (a.active() && a.targets.empty())
    fail("headroom: " + k.at("targets") + " is required: a list of modules or \"all-linear\"");
  return a;
}

inline json_value adapter_to_json(adapter a, const model_parts& has) {
  key_writer k;
  k.put("kind", text_of(a.kind));
  k.whole("rank", a.rank);
  if (!a.targets.empty()) k.put("targets", modules_to_json(a.targets, has, true));
  format_key(k, "format", a.format);
  probability_key(k, "dropout", a.dropout);
  format_key(k, "base", a.base);
  format_key(k, "rest", a.rest);
  format_key(k, "rest_experts", a.rest_experts);
  if (!a.base_skips.empty()) k.put("base_skips", modules_to_json(a.base_skips, has));
  if (!a.base_also.empty()) k.put("base_also", modules_to_json(a.base_also, has));
  auto alone = has;
  alone.sparse = alone.recurs = false;
  if (!a.vision_targets.empty()) k.put("vision_targets", modules_to_json(a.vision_targets, alone));
  if (!a.projector_targets.empty()) k.put("projector_targets", modules_to_json(a.projector_targets, alone));
  if (!a.modules_to_save.empty()) k.put("modules_to_save", modules_to_json(a.modules_to_save, has));
  k.flag("fused_qkv", a.fused_qkv);
  return k.written();
}

inline selection read_selection(const json_value& value, const std::string& path, const model_parts& has) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  selection s;
  key_reader k{value, path};
  if (const auto* v = k.take("layers")) {
    if (!v->is_array() || v->size() != 2) wrong_value(k.at("layers"), "[first, last]", *v);
    s.first_layer = whole_at((*v)[0], k.at("layers[0]"), 0, most);
    s.last_layer = whole_at((*v)[1], k.at("layers[1]"), -1, most);
    if (s.last_layer < 0) s.last_layer = has.layers - 1;  // a selection's own -1 means all of the model, as where the key is left out
    if (s.last_layer < s.first_layer)
      fail("headroom: " + k.at("layers") + " must be [first, last] with first <= last");
  }
  if (const auto* v = k.take("experts")) {
    if (v->is_array()) {
      each_at(*v, k.at("experts"), "", [&](const json_value& n, const std::string& at) { whole_at(n, at, 0, most); });
      s.experts = static_cast<std::int64_t>(v->size());  // which ones does not change what they occupy
    } else {
      s.experts = whole_at(*v, k.at("experts"), 0, most);
    }
  }
  if (const auto* v = k.take("modules")) {
    s.modules = read_modules(*v, k.at("modules"), has, true);
    if (s.modules.empty()) wrong_value(k.at("modules"), "at least one module, or left out for all", *v);
  }
  k.finish();
  return s;
}

inline trainable read_trainable(const json_value& value, const std::string& path, const model_parts& has) {
  trainable t;
  if (value.is_string() && *value.get_ptr<const json_value::string_t*>() == "all") return t;
  if (value.is_array() && value.empty()) wrong_value(path, "\"all\" or at least one selection", value);
  each_at(value, path, "\"all\" or a list of selections", [&](const json_value& v, const std::string& at) {
    if (t.size == trainable::capacity) fail("headroom: " + path + " must have at most 8 selections; join some");
    t.add(read_selection(v, at, has));
  });
  return t;
}

inline json_value trainable_to_json(const trainable& t, const model_parts& has) {
  auto list = json_value::array();
  for (std::int32_t i = 0; i < t.size; ++i) {
    const auto& s = t.list[i];
    auto object = json_value::object();
    if (s.first_layer != 0 || s.last_layer != -1) object["layers"] = {s.first_layer, s.last_layer};
    if (s.experts >= 0) object["experts"] = s.experts;
    if (!s.modules.empty()) object["modules"] = modules_to_json(s.modules, has);
    list.push_back(object);
  }
  return list;
}

}  // namespace headroom::io
