// Distributed under the Boost Software License, Version 1.0.
// The keys of an object as a JSON Schema: the same describe() that reads and writes them, run with a listener that notes what each key may be.
#pragma once

#include <headroom/io/job/key_sentences.hpp>
#include <headroom/io/syntax/keys.hpp>

#include <nlohmann/json.hpp>

namespace headroom::io {

using schema_value = nlohmann::ordered_json;

template <class Texts>
schema_value words_schema(const Texts& words) {
  auto list = schema_value::array();
  for (const auto& w : words) list.push_back(std::string{w});
  return {{"type", "string"}, {"enum", list}};
}
template <class E>
schema_value words_schema_of() {
  return words_schema(texts(names_of<E>, [](const auto& n) { return n.text; }));
}
inline schema_value whole_schema(std::int64_t low, std::int64_t high) {
  schema_value s = {{"type", "integer"}, {"minimum", low}};
  if (high < std::int64_t{1} << 60) s["maximum"] = high;
  return s;
}
/// {"type": "array", "items": …}
inline schema_value list_schema(schema_value items) { return {{"type", "array"}, {"items", std::move(items)}}; }
/// Any of several forms.
template <class... Forms>
schema_value either_schema(Forms... forms) {
  auto list = schema_value::array();
  (list.push_back(std::move(forms)), ...);
  return {{"anyOf", list}};
}

/// Notes each key with its type, its accepted values and its default, the value that the described object begins with. A key that describe()
/// takes by hand has no type; whoever asks for the schema says what it may be.
class key_schema {
 public:
  static constexpr bool reads = true;

  explicit key_schema(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::string at(std::string_view key) const { return joined(path_, key); }
  const json_value* take(std::string_view key) {
    note(key, schema_value::object());
    return nullptr;
  }
  /// A word that all that follows can be described with.
  const json_value& need(std::string_view key, std::string_view) {
    static const json_value word = "zero";
    note(key, schema_value::object());
    required_.push_back(std::string{key});
    return word;
  }

  template <std::integral T>
  void whole(std::string_view key, T& field, T /*fresh*/ = {}, std::int64_t low = 0, std::int64_t high = largest_count) {
    auto s = whole_schema(low, std::min<std::int64_t>(high, std::numeric_limits<T>::max()));
    if (static_cast<std::int64_t>(field) >= low) s["default"] = field;
    note(key, std::move(s));
  }
  void flag(std::string_view key, bool& field, bool /*fresh*/ = false) { note(key, {{"type", "boolean"}, {"default", field}}); }
  void flag(std::string_view key, choice&) { note(key, {{"type", "boolean"}}); }
  template <class E>
  void word(std::string_view key, E& field, E /*fresh*/ = {}) {
    auto s = words_schema_of<E>();
    if (const auto text = text_of(field); !text.empty()) s["default"] = std::string{text};
    note(key, std::move(s));
  }
  template <std::integral T>
  void scaled(std::string_view key, T& field, T /*fresh*/, double scale, double high) {
    note(key, {{"type", "number"}, {"minimum", 0}, {"maximum", high}, {"default", static_cast<double>(field) / scale}});
  }
  void gib(std::string_view key, bytes&) { note(key, {{"type", "number"}, {"minimum", 0}, {"default", 0}}); }
  void text(std::string_view key, name&) { note(key, {{"type", "string"}, {"maxLength", name::capacity}}); }
  template <class T>
  void nested(std::string_view key, T& field) {
    key_schema inner{at(key)};
    describe(inner, field);
    note(key, inner.object());
  }
  /// One of a table's names.
  void names(std::string_view key, const std::vector<std::string_view>& words) { note(key, words_schema(words)); }
  void share(std::string_view key) { note(key, {{"type", "number"}, {"minimum", 0}, {"maximum", 1}, {"default", 0}}); }

  /// What a key that is read by hand may be.
  void is(std::string_view key, schema_value what) {
    auto& s = properties_[std::string{key}];
    s = std::move(what);
    s["description"] = std::string{sentence_of(at(key))};
  }
  void require(std::string_view key) { required_.push_back(std::string{key}); }
  /// An object's own values decide what is filled in, not a default.
  void without_defaults() {
    for (auto& [key, s] : properties_.items()) s.erase("default");
  }

  [[nodiscard]] schema_value object() const {
    schema_value s = {{"type", "object"}, {"properties", properties_}, {"additionalProperties", false}};
    if (!required_.empty()) s["required"] = required_;
    return s;
  }

 private:
  void note(std::string_view key, schema_value s) {
    const std::string name{key};
    if (properties_.contains(name)) return;
    if (const auto sentence = sentence_of(at(key)); !sentence.empty()) s["description"] = std::string{sentence};
    properties_[name] = std::move(s);
  }

  std::string path_;
  schema_value properties_ = schema_value::object();
  std::vector<std::string> required_;
};

}  // namespace headroom::io
