// Distributed under the Boost Software License, Version 1.0.
// Values of a document by their names, each asked for once by whoever knows it: what nobody asks for is left over.
#pragma once

#include <headroom/io/launchers/draft.hpp>

#include <algorithm>

namespace headroom::io::detail {

/// true or false, or what Python programs take for it: 0, 1 and words (transformers/hf_argparser.py, string_to_bool).
inline bool truth(const json_value& v, const std::string& path) {
  if (v.is_number_integer() && (v == 0 || v == 1)) return v == 1;
  if (v.is_string()) {
    auto word = v.get<std::string>();
    for (auto& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const auto* yes : {"true", "yes", "t", "y", "1"})
      if (word == yes) return true;
    for (const auto* no : {"false", "no", "f", "n", "0"})
      if (word == no) return false;
  }
  return flag_at(v, path);
}

class named_values {
 public:
  /// `bare`: what is on or off is said by its name alone (argparse's store_true, which ends at a word behind it).
  named_values(const document& from, std::int64_t most, bool bare = false) : from_(&from), most_(most), bare_(bare) {}

  /// Null where the document does not say it. `key` is kept: it is a literal.
  const json_value* take(std::string_view key) {
    if (!taken(key)) taken_.push_back(key);
    const auto it = from_->root.find(key);
    return it == from_->root.end() || it->is_null() ? nullptr : &*it;
  }
  bool on(std::string_view key, bool otherwise = false) {
    const auto* v = take(key);
    if (v != nullptr && bare_ && !v->is_boolean()) wrong_value(std::string{key}, "a name without a value", *v);
    return v == nullptr ? otherwise : truth(*v, std::string{key});
  }
  std::int64_t number(std::string_view key, std::int64_t otherwise, std::int64_t low = 1) {
    const auto* v = take(key);
    if (v != nullptr && v->is_string() && v->get_ref<const std::string&>().starts_with('$'))
      fail("headroom: " + place(key) + ": " + std::string{key} + " is " + in_quotes(v->get_ref<const std::string&>()) + ", which the file itself does not say: add --env NAME=VALUE");
    return v == nullptr ? otherwise : count_at(*v, std::string{key}, low, most_);
  }
  std::string word(std::string_view key, std::string_view otherwise) {
    const auto* v = take(key);
    return v == nullptr ? std::string{otherwise} : string_at(*v, std::string{key});
  }
  std::string one_of(std::string_view key, std::string_view otherwise, std::initializer_list<std::string_view> accepted) {
    auto said = word(key, otherwise);
    if (std::find(accepted.begin(), accepted.end(), said) == accepted.end()) unknown_name(std::string{key}, said, std::span{accepted.begin(), accepted.size()});
    return said;
  }
  /// A word, or nothing, without asking for it.
  [[nodiscard]] std::string word_now(std::string_view key) const {
    const auto it = from_->root.find(key);
    return it != from_->root.end() && it->is_string() ? it->get<std::string>() : std::string{};
  }
  double share(std::string_view key, double otherwise) {
    const auto* v = take(key);
    return v == nullptr ? otherwise : number_at(*v, std::string{key}, 0.0, 1.0);
  }

  [[nodiscard]] bool taken(std::string_view key) const { return std::find(taken_.begin(), taken_.end(), key) != taken_.end(); }
  [[nodiscard]] const std::vector<std::string_view>& taken() const { return taken_; }
  [[nodiscard]] const json_value& all() const { return from_->root; }
  [[nodiscard]] bool has(std::string_view key) const { return from_->root.contains(key); }
  [[nodiscard]] std::string place(std::string_view key) const { return from_->place(std::string{key}); }
  [[nodiscard]] const std::string& source() const { return from_->source; }

 private:
  const document* from_;
  std::int64_t most_;
  bool bare_;
  std::vector<std::string_view> taken_;
};

}  // namespace headroom::io::detail
