// Distributed under the Boost Software License, Version 1.0.
// Where a name of a Python text comes from: the one call that made it, and whether anything changed it since.
#pragma once

#include <headroom/io/launchers/programs/python_calls.hpp>

namespace headroom::io::detail {

class python_origin {
 public:
  using tokens = std::span<const python_token>;

  explicit python_origin(const python_program& p) : p_(&p) {}

  /// The call that made what `what` stands for: one of `names`, which stands there itself or behind the name's only assignment above.
  /// Errors: job_error where it is another, or where several may be it.
  [[nodiscard]] const python_call& maker(const python_call& user, tokens what, std::string_view names, const std::string& role) const {
    const auto line = what[0].line;
    const auto one_at = [&](std::size_t statement, std::size_t first, std::size_t count) {
      const python_call* found = nullptr;
      for (const auto* c : p_->called(names))
        if (c->statement == statement && c->first == first && c->last == first + count) found = c;
      return found;
    };
    const auto wrong = [&](const std::string& how) { fail("headroom: " + p_->at(line) + ": the trainer's " + role + " is " + how + ", and what is read is one that " + std::string{names.substr(0, names.find('|'))} + "(…) makes, in its arguments or in one statement above them"); };
    const auto& own = p_->statements()[user.statement].tokens;
    if (what.size() > 1) {
      const auto* found = one_at(user.statement, static_cast<std::size_t>(what.data() - own.data()), what.size());
      if (found == nullptr) wrong("computed (" + in_quotes(python_shown(what)) + ")");
      return *found;
    }
    const auto at = assigned(what[0].text, user.statement);
    if (at.size() != 1) wrong(in_quotes(what[0].text) + (at.empty() ? ", which nothing makes above" : ", which is made in several places"));
    const auto& made = p_->statements()[at[0]].tokens;
    const auto* found = made.size() > 2 && is_mark(made[1], "=") ? one_at(at[0], 2, made.size() - 2 - moved(made)) : nullptr;
    if (found == nullptr) wrong("made by " + in_quotes(python_shown(made)));
    if (p_->values().conditional(at[0]) && p_->values().around(at[0]) != p_->values().around(user.statement)) wrong("made in a branch (line " + std::to_string(made[0].line) + ")");
    return *found;
  }
  [[nodiscard]] static bool moves_alone(const python_call& c) {
    return std::all_of(c.arguments.begin(), c.arguments.end(), [](const python_argument& a) { return a.name != "dtype" && keeps_format(a.value); });
  }
  /// How many tokens at a statement's end move what stands before to a device: .to("cuda"), .cuda().
  [[nodiscard]] static std::size_t moved(const std::vector<python_token>& t) {
    for (std::size_t k = 1; k + 3 < t.size(); ++k)
      if (is_mark(t[k], ".") && (t[k + 1].text == "to" || t[k + 1].text == "cuda") && is_mark(t[k + 2], "(") && past_bracket(t, k + 2) == t.size() && keeps_format(tokens{t}.subspan(k + 3))) return t.size() - k;
    return 0;
  }
  /// Whether words say nothing of a format.
  [[nodiscard]] static bool keeps_format(tokens all) {
    return std::none_of(all.begin(), all.end(), [](const python_token& t) { return t.text.find("float") != std::string::npos || t.text.find("half") != std::string::npos || t.text.find("type") != std::string::npos; });
  }
  /// The statements above `end` that give a name a value, alone or beside others.
  [[nodiscard]] std::vector<std::size_t> assigned(const std::string& name, std::size_t end) const {
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < end; ++i) {
      const auto& t = p_->statements()[i].tokens;
      for (std::size_t k = 0; k + 1 < t.size() && !is_mark(t[k], "(") && !is_mark(t[k], "="); ++k) {
        const bool target = t[k].is == python_word::name && t[k].text == name && (k == 0 || is_mark(t[k - 1], ","));
        if (target && (is_mark(t[k + 1], "=") || is_mark(t[k + 1], ",") || is_mark(t[k + 1], ":"))) at.push_back(i);
      }
    }
    return at;
  }
  /// Errors: job_error where the model is handed to something that may change it.
  void untouched(const python_call& trainer, const std::string& name, std::size_t made) const {
    constexpr std::string_view methods = "print_trainable_parameters|parameters|named_parameters|named_modules|num_parameters|get_memory_footprint|state_dict|eval|train|cuda|generate|size|numel|items";
    constexpr std::string_view readers = "print|len|str|type|isinstance|next|pipeline|getattr|hasattr|print_number_of_trainable_model_parameters|print_trainable_parameters|count_parameters";
    for (const auto& c : p_->calls()) {
      if (c.statement <= made || c.statement > trainer.statement || (c.statement == trainer.statement && c.first >= trainer.first)) continue;
      if (c.callee.starts_with(name + ".") && !c.callee.starts_with(name + ".config.") && !among_words(methods, c.name()) && !(c.name() == "to" && moves_alone(c))) fail("headroom: " + p_->at(c.line) + ": " + c.callee + " is called before the training, and what it makes of the model is not read");
      if (among_words(readers, c.name())) continue;
      for (const auto& a : c.arguments)
        if (a.value.size() == 1 && a.value[0].text == name && a.value[0].is == python_word::name) fail("headroom: " + p_->at(c.line) + ": " + c.callee + " is given the model before the training, and what it makes of it is not read");
    }
  }

 private:
  const python_program* p_;
};

}  // namespace headroom::io::detail
