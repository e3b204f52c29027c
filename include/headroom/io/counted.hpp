// Distributed under the Boost Software License, Version 1.0.
// The exact number of a model's parameters from its name or its config.json, whether its layers can be walked or not.
#pragma once

#include <headroom/io/counted/classes.hpp>
#include <headroom/io/job/model.hpp>

namespace headroom::io {

/// As read_model_named(), for a count alone: classes whose layers cannot be walked are counted, too.
inline parameter_count count_model_named(const std::string& text, const std::string& path, const file_base& base) {
  if (!shape_named(text) && !text.empty() && text.size() <= 4096 && text.find('\0') == std::string::npos)
    if (const auto file = config_at(text, base)) {
      const auto config = parse_config_file(*file, base);
      if (config.is_object()) return count_config(config, path);
    }
  return count(read_model_named(text, path, base));
}

}  // namespace headroom::io
