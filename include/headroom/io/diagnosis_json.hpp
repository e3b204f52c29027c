// Distributed under the Boost Software License, Version 1.0.
// A diagnosis as JSON.
#pragma once

#include <headroom/diagnose/diagnose.hpp>
#include <headroom/io/report_json.hpp>

namespace headroom::io {

/// A cause in a word.
constexpr std::string_view text_of(cause c) {
  constexpr std::string_view names[]{"capacity", "fragmentation", "other-processes", "outside-allocator", "host", "engine-share"};
  return names[static_cast<std::size_t>(c)];
}

/// {"cause", "asked", "died_in", "unpredicted", "suspects"}; null where the message or the report does not say.
inline ordered_json to_json(const diagnosis& d, const oom_message& m) {
  auto suspects = ordered_json::array();
  for (const auto& s : d.suspects) suspects.push_back({{"what", s.what}, {"phase", std::string{headroom::text(s.when)}}, {"bytes", s.size.count()}});
  ordered_json out{{"cause", std::string{text_of(d.why)}}, {"asked", nullptr}, {"died_in", nullptr}, {"unpredicted", nullptr}, {"suspects", suspects}};
  if (m.asked) out["asked"] = m.asked->value.count();
  if (d.died_in) out["died_in"] = std::string{headroom::text(*d.died_in)};
  if (d.unpredicted) out["unpredicted"] = d.unpredicted->count();
  return out;
}

}  // namespace headroom::io
