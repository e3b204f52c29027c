// Distributed under the Boost Software License, Version 1.0.
// Keys that stop an import: all of them in one sentence, so that one answer is enough.
#pragma once

#include <headroom/io/syntax/json_value.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::io {

struct refused_key {
  std::string key, place, why, hint;
  friend bool operator==(const refused_key&, const refused_key&) = default;
};

/// Whether a list has a key; dashes are underscores.
inline bool names_key(const std::vector<std::string>& list, std::string_view key) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view other) {
    return std::equal(key.begin(), key.end(), other.begin(), other.end(), [](char a, char b) { return a == b || ((a == '-' || a == '_') && (b == '-' || b == '_')); });
  });
}

class refused_keys {
 public:
  bool gathers{};  ///< a key stops nothing until all are known

  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// Each once.
  /// Errors: job_error for the key, unless others are gathered.
  void stop(refused_key one) {
    if (std::none_of(all_.begin(), all_.end(), [&](const refused_key& k) { return k.key == one.key; })) all_.push_back(std::move(one));
    if (!gathers) fail(sentence());
  }
  /// The first as if it stood alone, then what goes on without the others, as many as a sentence holds (io/syntax/json_value.hpp, fail).
  [[nodiscard]] std::string sentence() const {
    constexpr std::size_t room = 380;
    const auto& first = all_.front();
    std::string text = "headroom: " + first.place + ": " + first.key + first.why + first.hint + ", and may change what is allocated: take it out, or go on without it by --ignore " + first.key;
    if (all_.size() == 1) return text;
    text += all_.size() == 2 ? "; one more stops the import:" : "; " + std::to_string(all_.size() - 1) + " more stop the import:";
    for (std::size_t i = 1; i < all_.size(); ++i) {
      const auto& one = all_[i];
      const auto next = " --ignore " + one.key + (one.hint.starts_with(" (did you mean") ? one.hint : "");
      if (text.size() + next.size() > room) return text + " and others";
      text += next;
    }
    return text;
  }

  friend bool operator==(const refused_keys&, const refused_keys&) = default;

 private:
  std::vector<refused_key> all_;
};

/// Reads by `read`, and stops at the end for what was refused on the way. What is wrong behind a refused key may come of it.
/// Errors: job_error for refused keys, or what `read` throws.
template <class Draft, class Read>
void stopped_once(Draft& d, const Read& read) {
  d.refused.gathers = true;
  try {
    read();
  } catch (const job_error&) {
    if (d.refused.empty()) throw;
  }
  d.refused.gathers = false;
  if (!d.refused.empty()) fail(d.refused.sentence());
}

}  // namespace headroom::io
