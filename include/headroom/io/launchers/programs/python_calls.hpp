// Distributed under the Boost Software License, Version 1.0.
// The calls of a Python text by which a training is made, and their arguments as keys of a document. Nothing is run: what is computed is asked for.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/syntax/passed_keys.hpp>
#include <headroom/io/syntax/python_values.hpp>

#include <functional>

namespace headroom::io::detail {

/// What is known of a call's arguments: read, between bars, with the names of those that are given by position; and harmless ones.
struct call_keys {
  std::string_view read;
  std::string_view positions{};
  std::span<const passed_key> passed{};
  std::span<const passed_key> also{};
  std::span<const passed_key> last{};
};

class python_program {
 public:
  python_program(draft& d, std::string_view text, const std::string& source, std::span<const int> lines, std::span<const std::pair<std::string, std::string>> given)
      : d_(&d), source_(source), all_(python_statements(text, source, lines)), values_(all_, given), calls_(python_calls(all_)), lines_(!lines.empty()) {}

  [[nodiscard]] std::string at(int line) const { return source_ + ":" + std::to_string(line); }
  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const std::vector<python_statement>& statements() const { return all_; }
  [[nodiscard]] const std::vector<python_call>& calls() const { return calls_; }
  [[nodiscard]] const python_values& values() const { return values_; }
  [[nodiscard]] bool notebook() const { return lines_; }

  /// The calls of these names, between bars: the last part of a callee, or two of them.
  [[nodiscard]] std::vector<const python_call*> called(std::string_view names) const {
    std::vector<const python_call*> r;
    for (const auto& c : calls_) {
      const std::string_view whole = c.callee;
      const auto dot = whole.rfind('.');
      const auto before = dot == std::string_view::npos || dot == 0 ? std::string_view::npos : whole.rfind('.', dot - 1);
      if (among_words(names, c.name()) || (dot != std::string_view::npos && among_words(names, whole.substr(before == std::string_view::npos ? 0 : before + 1)))) r.push_back(&c);
    }
    return r;
  }
  /// The one of several calls that a trainer uses: it stands in the trainer's own arguments, or last before it.
  /// Errors: job_error where several may be it.
  [[nodiscard]] const python_call* before(const python_call& trainer, std::string_view names) const {
    const python_call* found = nullptr;
    for (const auto* c : called(names)) {
      if (c->statement == trainer.statement && c->first > trainer.first && c->last <= trainer.last) return c;
      if (c->statement >= trainer.statement) continue;
      if (found != nullptr && (values_.conditional(c->statement) || values_.scopes(c->statement) != values_.scopes(found->statement)))
        fail("headroom: " + at(c->line) + ": " + c->callee + " is called here and in line " + std::to_string(found->line) + ", and which of them counts is not written there: give the text with one of them");
      if (found == nullptr || !values_.conditional(c->statement)) found = c;
    }
    if (found != nullptr) return found;
    const auto all = called(names);
    if (all.size() > 1) fail("headroom: " + at(all[1]->line) + ": " + all[1]->callee + " is called here and in line " + std::to_string(all[0]->line) + ", and which of them counts is not written there: give the text with one of them");
    return all.empty() ? nullptr : all[0];
  }

  /// Adds what a call says to a document, by `rename` under other names.
  /// Errors: job_error for what is computed, for what is not known, and for two values of one key.
  void read(document& to, const python_call& c, const call_keys& keys, const std::function<std::string(std::string_view)>& rename = {}) const {
    auto positions = keys.positions;
    for (const auto& a : c.arguments) {
      auto name = a.name;
      if (name == "**") name = "**" + python_shown(a.value);
      if (name.empty()) {
        name = std::string{positions.substr(0, positions.find('|'))};
        positions.remove_prefix(std::min(positions.size(), name.size() + 1));
        if (name.empty()) fail("headroom: " + at(a.line) + ": " + in_quotes(python_shown(a.value)) + " is given to " + c.callee + " by its position, where names alone are read: write NAME=" + python_shown(a.value));
        if (name == "_") continue;
      }
      const bool reads = among_words(keys.read, name);
      const auto lists = {keys.passed, keys.also, keys.last};
      if (!reads && std::any_of(lists.begin(), lists.end(), [&](const auto& list) { return never_matters(list, name); })) continue;
      if (name.starts_with("**")) fail("headroom: " + at(a.line) + ": " + c.callee + " is given arguments by " + in_quotes(name) + ", and which they are is not written there: write them out");
      auto v = values_.value(a.value, c.statement);
      if (!v) v = values_.given(name);
      if (!v) fail("headroom: " + at(a.line) + ": " + name + " is computed (" + in_quotes(python_shown(a.value)) + "), and nothing is run here: say what it is with --env " + name + "=VALUE");
      const auto key = rename ? rename(name) : name;
      if (!reads && !judged(keys, name, *v, at(a.line), c)) continue;
      if (const auto it = to.root.find(key); it != to.root.end() && *it != *v && !it->is_null() && !v->is_null())
        fail("headroom: " + at(a.line) + ": " + key + " is " + v->dump() + " here, and " + it->dump() + " at " + to.place(key) + ": give the text with one of them");
      if (v->is_null() && to.root.contains(key)) continue;
      to.root[key] = std::move(*v);
      to.lines[key] = a.line;
    }
  }

 private:
  /// Whether a key that no reader takes is harmless; false: it is not to be read.
  bool judged(const call_keys& keys, const std::string& name, const json_value& v, const std::string& place, const python_call& c) const {
    auto rule = key_rule::unknown;
    for (const auto& list : {keys.passed, keys.also, keys.last})
      if (rule == key_rule::unknown) rule = rule_of(list, name, v);
    if (rule == key_rule::refused) d_->unmodelled_key(name, v, place, c.callee);
    if (rule == key_rule::unknown) d_->unknown_key(name, place);
    return false;
  }

  draft* d_;
  std::string source_;
  std::vector<python_statement> all_;
  python_values values_;
  std::vector<python_call> calls_;
  bool lines_;
};

}  // namespace headroom::io::detail
