// Distributed under the Boost Software License, Version 1.0.
// What a shell's test says of words that are known: [ … ], [[ … ]], (( … )), and the patterns of case.
#pragma once

#include <headroom/io/syntax/shell_cursor.hpp>

#include <span>

namespace headroom::io::detail {

/// Whether something runs or holds; `open`: the script alone does not say.
enum class certainty : std::uint8_t { no, open, yes };
constexpr certainty negated(certainty t) { return t == certainty::open ? t : t == certainty::yes ? certainty::no : certainty::yes; }
constexpr certainty both(certainty a, certainty b) { return std::min(a, b); }
constexpr certainty either(certainty a, certainty b) { return std::max(a, b); }
constexpr certainty certainty_of(bool b) { return b ? certainty::yes : certainty::no; }

/// * and ? of a pattern; nothing for brackets, which are not read, nor for texts that nobody writes, of which every part might be compared with
/// every other. What is compared again is work.
inline std::optional<bool> shell_matches(std::string_view text, std::string_view pattern, shell_state& state) {
  constexpr std::size_t longest = 1024;
  if (pattern.find_first_of("[(") != std::string_view::npos || text.size() > longest || pattern.size() > longest) return std::nullopt;
  std::size_t t = 0, p = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      state.spend(p - star);
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// A word of a test. A variable that nobody set is empty there, as in the shell; nothing where a command or another script decides.
class shell_settled {
 public:
  shell_settled(shell_state& state, std::set<std::string>& unset, bool batch) : state_(&state), unset_(&unset), batch_(batch) {}

  [[nodiscard]] std::optional<std::string> operator()(const shell_word& word) const {
    std::string r;
    for (std::size_t i = 0; i < word.text.size(); ++i) {
      if (word.text[i] != open_from) {
        r += word.text[i];
        continue;
      }
      const auto end = word.text.find(open_to, i);
      if (end == std::string::npos) return std::nullopt;
      std::string_view name = std::string_view{word.text}.substr(i + 1, end - i - 1);
      i = end;
      if (name.starts_with("${") && name.ends_with('}'))
        name = name.substr(2, name.size() - 3);
      else if (name.starts_with('$'))
        name = name.substr(1);
      state_->guessed = true;
      if (name == "#") {
        r += '0';
        continue;
      }
      if (name != "@" && name != "*" && !is_unset(name)) return std::nullopt;
      unset_->insert(std::string{name});
    }
    return r;
  }

  [[nodiscard]] std::optional<bool> matches(std::string_view text, std::string_view pattern) const { return shell_matches(text, pattern, *state_); }

 private:
  [[nodiscard]] bool is_unset(std::string_view name) const {
    static constexpr std::string_view everywhere[] = {"HOME", "HOSTNAME", "LD_LIBRARY_PATH", "OSTYPE", "PATH", "PWD", "RANDOM", "SHELL", "UID", "EUID", "USER"};
    if (name.empty() || state_->sourced || state_->variables.contains(name)) return false;
    if (std::any_of(name.begin(), name.end(), [](char c) { return !shell_name_char(c); })) return false;
    return !(batch_ && name.starts_with("SLURM_")) && std::find(std::begin(everywhere), std::end(everywhere), name) == std::end(everywhere);
  }

  shell_state* state_;
  std::set<std::string>* unset_;
  bool batch_;  ///< sbatch starts it
};

/// [ … ] and [[ … ]]: words between the brackets. [ is a command like others: a variable without quotes that is empty is no word of it, and what it cannot
/// read as a number ends it, with a status that is not 0 (bash test.c, integer_expected_error). A number that nobody sets here may be set by who starts the
/// script, as RANK is: that is open.
class shell_test {
 public:
  shell_test(std::span<const shell_word> words, const shell_settled& settled, bool patterns) : settled_(&settled), patterns_(patterns) {
    const auto counts = [&](std::size_t i) { return i < words.size() && compares_numbers(words[i].text); };
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto& w = words[i];
      const bool stays = patterns || w.quoted || w.known() || counts(i + 1) || (i > 0 && counts(i - 1));
      if (const auto said = stays ? std::nullopt : settled(w); !said || !said->empty()) words_.push_back(w);
    }
    lost_ = words_.size() < words.size();
  }

  certainty value() {
    if (!patterns_ && words_.size() == 1) return given(words_[0]);
    const std::size_t denied = words_.size() == 4 && words_[0].text == "!" ? 1 : 0;
    if (!patterns_ && words_.size() == 3 + denied && (words_[denied + 1].text == "-a" || words_[denied + 1].text == "-o")) {  // bash test.c three_arguments, posixtest
      const auto left = given(words_[denied]), right = given(words_[denied + 2]);
      const auto t = words_[denied + 1].text == "-a" ? both(left, right) : either(left, right);
      return denied > 0 ? negated(t) : t;
    }
    const auto t = any();
    if (at_ != words_.size()) return lost_ ? certainty::no : certainty::open;  // where a word is missing bash says so
    return wrong_ && t != certainty::open ? certainty::no : t;
  }

 private:
  [[nodiscard]] bool next(std::string_view word) {
    if (at_ >= words_.size() || words_[at_].text != word) return false;
    ++at_;
    return true;
  }
  certainty any() {
    auto t = all();
    while (next("-o") || next("||")) t = either(t, all());
    return t;
  }
  certainty all() {
    auto t = one();
    while (next("-a") || next("&&")) t = both(t, one());
    return t;
  }
  certainty one() {
    if (at_ >= words_.size()) {  // [ ] is false, and so is what ends in -o
      wrong_ = at_ > 0;
      return certainty::no;
    }
    if (next("!")) return ++depth_ > 16 ? certainty::open : negated(one());
    if (words_[at_].text == "(" && ++depth_ <= 16) {
      ++at_;
      const auto t = any();
      return next(")") ? t : certainty::open;
    }
    if (at_ + 2 < words_.size() && is_comparison(words_[at_ + 1].text)) {
      at_ += 3;
      return compared(words_[at_ - 3], words_[at_ - 2].text, words_[at_ - 1]);
    }
    if (at_ + 1 < words_.size() && words_[at_].text.size() == 2 && words_[at_].text[0] == '-') {
      at_ += 2;
      const char sign = words_[at_ - 2].text[1];
      const auto said = (*settled_)(words_[at_ - 1]);
      return (sign != 'z' && sign != 'n') || !said ? certainty::open : certainty_of(said->empty() == (sign == 'z'));
    }
    return given(words_[at_++]);
  }
  [[nodiscard]] certainty given(const shell_word& word) const {
    const auto said = (*settled_)(word);
    return said ? certainty_of(!said->empty()) : certainty::open;
  }
  static bool compares_numbers(std::string_view w) {
    static constexpr std::string_view all[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    return std::find(std::begin(all), std::end(all), w) != std::end(all);
  }
  static bool is_comparison(std::string_view w) { return w == "=" || w == "==" || w == "!=" || w == "<" || w == ">" || w == "=~" || compares_numbers(w); }
  static bool is_number(std::string_view s) {
    if (!s.empty() && (s[0] == '-' || s[0] == '+')) s.remove_prefix(1);
    return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  [[nodiscard]] certainty compared(const shell_word& left, std::string_view sign, const shell_word& right) {
    const auto a = (*settled_)(left), b = (*settled_)(right);
    if (!a || !b || sign == "=~" || sign == "<" || sign == ">") return certainty::open;
    if (sign == "=" || sign == "==" || sign == "!=") {
      // What stands in quotes is no pattern.
      const bool plain = !patterns_ || (right.quoted && !right.bare);
      if (!plain && right.sealed) return certainty::open;
      const auto same = plain ? std::optional{*a == *b} : settled_->matches(*a, *b);
      return same ? certainty_of(*same == (sign != "!=")) : certainty::open;
    }
    const auto number = [](const std::string& s) { return shell_sum{s, [](std::string_view) { return nullptr; }}.value(); };
    if (!patterns_ && ((a->empty() && !left.known()) || (b->empty() && !right.known()))) return certainty::open;
    if (!patterns_ && !(is_number(*a) && is_number(*b))) {
      wrong_ = true;
      return certainty::no;
    }
    const auto x = number(*a), y = number(*b);
    if (!x || !y) return certainty::open;
    return certainty_of(sign == "-eq" ? *x == *y : sign == "-ne" ? *x != *y : sign == "-lt" ? *x < *y : sign == "-le" ? *x <= *y : sign == "-gt" ? *x > *y : *x >= *y);
  }

  std::vector<shell_word> words_;
  const shell_settled* settled_;
  bool lost_{}, wrong_{};
  bool patterns_;  ///< [[ … ]]: what stands right of = is one
  std::size_t at_{};
  int depth_{};
};

/// (( … )).
inline certainty shell_arithmetic_test(std::string_view inside, const shell_cursor& at) {
  const auto n = at.arithmetic(inside);
  return n ? certainty_of(*n != 0) : certainty::open;
}

}  // namespace headroom::io::detail
