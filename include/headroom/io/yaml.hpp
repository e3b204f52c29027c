// Distributed under the Boost Software License, Version 1.0.
// YAML as PyYAML reads it (YAML 1.1's words for true and false; of a key that is given twice the last counts), one document without tags.
// Needs yaml-cpp.
#pragma once

#include <headroom/io/syntax/document.hpp>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

namespace headroom::io {

namespace detail {

/// A scalar without quotes. Unlike PyYAML, which asks for a point, "5e8" is a number.
inline json_value yaml_scalar(const std::string& text) {
  for (const auto* word : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
    if (text == word) return true;
  for (const auto* word : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
    if (text == word) return false;
  std::string digits;
  for (const char c : text)
    if (c != '_') digits += c;
  const auto from = digits.starts_with('+') ? 1U : 0U;
  if (digits.size() > 40 || digits.find_first_of("0123456789") == std::string::npos || digits.find_first_not_of("+-.0123456789eE") != std::string::npos) return text;
  auto plain = digits.substr(from);
  const auto sign = plain.starts_with('-') ? 1U : 0U;
  if (plain.size() > sign && plain[sign] == '.') plain.insert(sign, "0");
  if (plain.ends_with('.')) plain += '0';
  if (const auto e = plain.find_first_of("eE"); e != std::string::npos && e > 0 && plain[e - 1] == '.') plain.insert(e, "0");
  auto n = json_value::parse(plain, nullptr, false);
  return n.is_number() ? n : json_value(text);
}

class yaml_events final : public YAML::EventHandler {
 public:
  explicit yaml_events(document& into) : into_(&into) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (seen_) stop(mark, "a second document; one is read");
    seen_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { value(mark, nullptr); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) stop(mark, "an alias of what is not complete yet");
    count_ += it->second.second;
    into_->spend(it->second.second);
    value(mark, it->second.first);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& text) override {
    if (tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:str") stop(mark, "the tag " + in_quotes(tag));
    if (key_next()) {
      key(mark, text);
      return;
    }
    const auto* at = value(mark, tag == "?" ? yaml_scalar(text) : json_value(text));
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {*at, 1};
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override { open(mark, json_value::array(), anchor); }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override { open(mark, json_value::object(), anchor); }
  void OnMapEnd() override { close(); }

 private:
  struct level {
    json_value* at;
    std::string path;
    std::string key;
    bool has_key{};
    YAML::anchor_t anchor{};
    std::size_t began{};  ///< values before it
  };
  [[noreturn]] void stop(const YAML::Mark& mark, const std::string& what) const { fail("headroom: " + into_->source + ":" + std::to_string(mark.line + 1) + ": YAML with " + what + " is not read"); }
  [[nodiscard]] bool key_next() const { return !open_.empty() && open_.back().at->is_object() && !open_.back().has_key; }
  void key(const YAML::Mark& mark, const std::string& text) {
    check_key(text, into_->source);
    auto& in = open_.back();
    if (in.at->contains(text)) into_->notes.push_back(into_->source + ":" + std::to_string(mark.line + 1) + ": " + joined(in.path, text) + " is given twice: this one counts, as in PyYAML");
    in.key = text;
    in.has_key = true;
    into_->keep_line(joined(in.path, text), mark.line + 1);
  }
  json_value* value(const YAML::Mark& mark, json_value v) {
    check_count(++count_, into_->source, most_text_values);
    if (open_.empty()) {
      into_->root = std::move(v);
      path_.clear();
      return &into_->root;
    }
    auto& in = open_.back();
    into_->spend(in.path.size());
    if (in.at->is_array()) {
      path_ = joined(in.path, in.at->size());
      in.at->push_back(std::move(v));
      return &in.at->back();
    }
    if (!in.has_key) stop(mark, v.is_null() ? "an empty key" : "a key that is no word");
    in.has_key = false;
    path_ = joined(in.path, in.key);
    return &((*in.at)[in.key] = std::move(v));
  }
  /// "<<: *other", or a list of them: keys that the mapping does not have itself (YAML 1.1, merge keys).
  static void merge(json_value& at) {
    const auto it = at.find("<<");
    if (it == at.end() || !(it->is_object() || it->is_array())) return;
    const auto others = it->is_array() ? std::move(*it) : json_value::array({std::move(*it)});
    at.erase("<<");
    for (const auto& other : others)
      for (const auto& [key, value] : other.items())
        if (!at.contains(key)) at[key] = value;
  }
  void close() {
    if (open_.back().at->is_object()) merge(*open_.back().at);
    if (const auto& done = open_.back(); done.anchor != YAML::NullAnchor) {
      into_->spend(count_ - done.began);
      anchors_[done.anchor] = {*done.at, count_ - done.began};
    }
    open_.pop_back();
  }
  void open(const YAML::Mark& mark, json_value v, YAML::anchor_t anchor) {
    check_depth(open_.size() + 1, into_->source);
    auto* at = value(mark, std::move(v));
    open_.push_back({at, path_, {}, false, anchor, count_});
  }

  document* into_;
  bool seen_{};
  std::size_t count_{};
  std::string path_;
  std::vector<level> open_;
  std::map<YAML::anchor_t, std::pair<json_value, std::size_t>> anchors_;  ///< what aliases stand for, and how many values that are
};

}  // namespace detail

/// A YAML text as a document with places. `source` names it in errors. Throws job_error with the line for what is no YAML, and for several documents
/// in one.
inline document parse_yaml(std::string_view text, const std::string& source) {
  detail::check_size(text, source, largest_text);
  check_utf8(text, source);
  document d{.source = source, .root = nullptr, .lines = {}};
  detail::yaml_events events{d};
  std::string sentence;
  try {
    std::istringstream in{std::string{text}};
    YAML::Parser parser{in};
    while (parser.HandleNextDocument(events)) {}
  } catch (const YAML::Exception& e) {
    sentence = "headroom: " + source + ":" + std::to_string(e.mark.line + 1) + ": not valid YAML: " + detail::cause_of(e.msg);
  }
  if (!sentence.empty()) fail(sentence);
  if (d.root.is_null()) fail("headroom: " + source + " is empty");
  return d;
}

}  // namespace headroom::io
