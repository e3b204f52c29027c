// Distributed under the Boost Software License, Version 1.0.
// Models beside the one that trains, by the names that launch files give them: a reward model, a critic, a teacher.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/draft.hpp>

namespace headroom::io::detail {

/// A format of number by the word that draft::loaded has, where weights are not cast by DeepSpeed: null there.
inline json_value loaded_role_format(const draft& d) {
  if (!d.loaded || d.framework_is("deepspeed")) return nullptr;
  return d.loaded->word == "half" ? json_value("bf16") : json_value(d.loaded->word);
}

/// The job's objective.ROLE is the model of this name; `keys`: what else is known of it. Which model that is, is decided when all is known:
/// a fine-tuned one may be in a folder of any name, for which --set objective.ROLE=NAME stands.
inline void await_role(draft& d, std::string role, std::string name, std::string place, json_value keys = json_value::object()) {
  d.awaits_roles.push_back({std::move(role), std::move(name), std::move(place), std::move(keys)});
}

/// Roles become models: what --set says, the trained model where a file names the same for both, or one of the zoo.
inline void settle_roles(draft& d) {
  for (const auto& r : d.awaits_roles) {
    const auto* said = d.find({"objective", r.role});
    auto object = said == nullptr ? json_value::object() : said->is_object() && said->contains("model") ? *said : json_value{{"model", *said}};
    if (said == nullptr) {
      const auto* trained = d.find({"model"});
      const auto [known, base] = model_called(r.name);
      if (!known && (trained == nullptr || r.name != d.trained_name))
        fail("headroom: " + r.place + ": " + in_quotes(r.name) + " is not in the model zoo (headroom list models has the names): add --set objective." + r.role + "=NAME");
      object["model"] = known ? model_to_json(*known) : *trained;
      if (known && base != r.name) d.notes.push_back(r.place + ": " + in_quotes(r.name) + " is taken to have the shape of " + std::string{known->label.view()});
    }
    for (const auto& [key, value] : r.keys.items())
      if (!object.contains(key) && !value.is_null()) object[key] = value;
    d.job["objective"][r.role] = object;
  }
}

}  // namespace headroom::io::detail
