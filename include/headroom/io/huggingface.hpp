// Distributed under the Boost Software License, Version 1.0.
// A shape from a Hugging Face config.json, exact to the parameter or refused: families whose layers are walked (io/huggingface/walked.hpp), and
// classes whose language model is walked over samples of text alone (io/counted/held_towers.hpp).
#pragma once

#include <headroom/io/counted/held_towers.hpp>

namespace headroom::io {

/// The shape that a Hugging Face configuration describes. Throws job_error with the key's path, what is accepted and what
/// was found.
inline shape model_from_config(const nlohmann::json& json, const std::string& path = "config") {
  if (const auto type = json.is_object() ? json.find("model_type") : json.end(); json.is_object() && type != json.end() && type->is_string())
    if (const auto* held = detail::find_held(type->get_ref<const std::string&>())) return detail::held_config(json, path, *held);
  return detail::walked_config(json, path);
}

}  // namespace headroom::io
