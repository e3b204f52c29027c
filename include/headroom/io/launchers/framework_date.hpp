// Distributed under the Boost Software License, Version 1.0.
// The day of what trains a draft's job, where something else than framework.version says it.
#pragma once

#include <headroom/io/launchers/draft.hpp>

#include <cstdint>
#include <string>

namespace headroom::io::detail {

/// Says framework.version as the month `yyyymm`.
inline void date_framework(draft& d, std::int32_t yyyymm, const std::string& place) {
  auto& f = d.job["framework"];
  if (f.is_string()) f = json_value{{"name", f}};
  const auto digits = std::to_string(yyyymm);
  d.say({"framework", "version"}, digits.substr(0, 4) + "-" + digits.substr(4), place);
}

/// Whether no file says which release of transformers is installed, under a program whose job its release dates.
inline bool leaves_transformers_open(const draft& d) {
  return (d.framework_is("hf-trainer") || d.framework_is("deepspeed")) && !d.has({"framework", "version"}) && !d.has({"environment", "transformers"}) && !d.has_read(file_kind::job);
}

}  // namespace headroom::io::detail
