// Distributed under the Boost Software License, Version 1.0.
// The keys of a job that say what a step optimises, with which models beside the one that trains, and what is evaluated between steps.
#pragma once

#include <headroom/io/job/model.hpp>
#include <headroom/io/job/recipe.hpp>

namespace headroom::io {

/// The models beside the one that trains, by their keys.
struct named_role {
  const char* key;
  model_role objective::* role;
  bool teaches{};  ///< is a teacher: of a distillation, and of ms-swift's GRPO
};
inline constexpr named_role roles_of_objective[] = {{"teacher", &objective::frozen, true}, {"reward", &objective::frozen}, {"critic", &objective::critic}};
/// Whether a method has such a role; a critic anywhere, so that estimate() says why not.
inline bool has_role(const objective& o, const named_role& r) { return r.role == &objective::critic || (traits_of(o.kind).teacher || o.reward_teaches()) == r.teaches; }

/// All but `model`, which needs a place to read files from.
template <class Keys>
void describe(Keys& k, model_role& r) {
  format_key(k, "parameters", r.parameters);
  k.whole("stage", r.stage, std::int32_t{-1}, 0, 3);
  k.word("parameters_at", r.parameters_at);
  k.whole("micro", r.micro, {}, 0, std::int64_t{1} << 30);
  k.flag("recompute", r.recompute);
}

/// A name or a configuration, or {"model", …}.
inline model_role read_role(const json_value& value, const std::string& path, const file_base& base) {
  model_role r;
  if (!value.is_object() || !value.contains("model")) {
    r.model = read_model(value, path, base);
    return r;
  }
  key_reader k{value, path};
  r.model = read_model(k.need("model", "a name, a path, a configuration or a shape"), k.at("model"), base);
  describe(k, r);
  k.finish();
  return r;
}
inline json_value role_to_json(const model_role& r) {
  auto object = written_keys(r);
  auto model = model_to_json(r.model);
  if (object.empty() && model.is_string()) return model;
  object["model"] = std::move(model);
  return object;
}

/// All but the roles.
template <class Keys>
void describe(Keys& k, objective& o) {
  k.word("trainer", o.code);
  k.word("reference", o.reference);
  format_key(k, "reference_parameters", o.reference_format);
  k.word("reference_parameters_at", o.reference_at);
  k.scaled("sft_weight", o.sft_weight, 0, 1e6, 2000.0);
  k.flag("reward_adapter", o.reward_adapter);
  k.flag("entropies", o.entropies);
  k.flag("averages", o.averages);
  k.whole("texts", o.texts, std::int32_t{}, 0, 1024);
  k.flag("generative", o.generative);
  k.word("divergence", o.divergence);
  k.whole("top_logits", o.top_logits, std::int32_t{}, 0, std::int32_t{1} << 30);
}

/// A method's name, or {"kind", …}.
inline objective read_objective(const json_value& value, const std::string& path, const file_base& base) {
  objective o;
  if (value.is_string()) {
    o.kind = name_at<objective_kind>(value, path);
    return o;
  }
  key_reader k{value, path};
  o.kind = name_at<objective_kind>(k.need("kind", "a method, e.g. \"dpo\""), k.at("kind"));
  describe(k, o);
  for (const auto& r : roles_of_objective)
    if (const auto* v = k.take(r.key)) {
      o.*r.role = read_role(*v, k.at(r.key), base);
      if (!has_role(o, r)) fail(r.teaches ? "headroom: objective.teacher is for a distillation, and for ms-swift's GRPO; objective.kind must be \"distill\"" : "headroom: objective.reward is of methods that score completions, of GRPO in TRL; objective.kind must not be \"distill\"");
    }
  k.finish();
  return o;
}
inline json_value objective_to_json(const objective& o) {
  auto object = written_keys(o);
  for (const auto& r : roles_of_objective)
    if ((o.*r.role).given() && has_role(o, r)) object[r.key] = role_to_json(o.*r.role);
  object["kind"] = text_of(o.kind);
  return object.size() == 1 ? object["kind"] : object;
}

template <class Keys>
void describe(Keys& k, evaluation& e) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  k.whole("batch", e.batch, {}, 0, most);
  k.whole("sequence", e.sequence, {}, 0, most);
  k.flag("loss_only", e.loss_only);
  k.whole("samples", e.samples, {}, 0, most);
  k.whole("accumulation_steps", e.accumulation_steps, {}, 0, most);
  k.whole("kept_bytes", e.kept_bytes, {}, 0, most);
  k.flag("use_cache", e.use_cache);
  k.whole("generate", e.generate, {}, 0, most);
}

}  // namespace headroom::io
