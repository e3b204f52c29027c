// Distributed under the Boost Software License, Version 1.0.
// The keys of a job that say what a step optimises, and with which models beside the one that trains: objective.
#pragma once

#include <headroom/io/job/model.hpp>
#include <headroom/io/job/recipe.hpp>

namespace headroom::io {

/// All but `model`, which needs a place to read files from.
template <class Keys>
void describe(Keys& k, model_role& r) {
  format_key(k, "parameters", r.parameters);
  k.whole("stage", r.stage, std::int32_t{-1}, 0, 3);
  k.word("parameters_at", r.parameters_at);
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
  if (object.empty() && models::find(r.model.label.view()) != nullptr) return model_to_json(r.model);
  object["model"] = model_to_json(r.model);
  return object;
}

/// All but the roles.
template <class Keys>
void describe(Keys& k, objective& o) {
  k.word("trainer", o.code);
  k.word("reference", o.reference);
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
  if (const auto* v = k.take("teacher")) o.teacher = read_role(*v, k.at("teacher"), base);
  k.finish();
  return o;
}
inline json_value objective_to_json(const objective& o) {
  auto object = written_keys(o);
  if (o.teacher.given()) object["teacher"] = role_to_json(o.teacher);
  object["kind"] = text_of(o.kind);
  return object.size() == 1 ? object["kind"] : object;
}

}  // namespace headroom::io
