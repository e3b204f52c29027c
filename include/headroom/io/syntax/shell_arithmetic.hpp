// Distributed under the Boost Software License, Version 1.0.
// A shell's arithmetic: whole numbers, names, + - * / %, signs, comparisons, !, && and ||, a ? b : c, and brackets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::io::detail {

inline bool shell_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'); }

class shell_sum {
 public:
  /// `look_up` gives the text of a name, or null.
  shell_sum(std::string_view text, std::function<const std::string*(std::string_view)> look_up) : text_(text), look_up_(std::move(look_up)) {}

  /// Nothing for what is anything else, names something unknown, overflows, or is nested deeper than 16 levels.
  std::optional<std::int64_t> value() {
    const auto n = choice(0);
    space();
    if (!good_ || at_ != text_.size()) return std::nullopt;
    return n;
  }

 private:
  static constexpr int deepest = 16;

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool eat(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// One of the signs; of two that begin alike the longer stands first.
  std::string_view eat_one(std::initializer_list<std::string_view> signs) {
    space();
    for (const auto sign : signs)
      if (text_.substr(at_).starts_with(sign)) {
        at_ += sign.size();
        return sign;
      }
    return {};
  }
  std::int64_t number(std::string_view digits) {
    std::int64_t n = 0;
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) good_ = false;  // 010 is octal, 0x10 hexadecimal
    for (const char c : digits)
      if (c < '0' || c > '9' || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, c - '0', &n)) good_ = false;
    return n;
  }
  std::int64_t atom(int depth) {
    if (depth > deepest) good_ = false;
    if (!good_) return 0;
    if (eat('!')) return atom(depth + 1) == 0 ? 1 : 0;
    if (eat_one({"--", "++"}) != "") good_ = false;  // they change the name behind them
    if (eat('-')) return -atom(depth + 1);
    if (eat('(')) {
      const auto n = choice(depth + 1);
      if (!eat(')')) good_ = false;
      return n;
    }
    const bool dollar = eat('$');
    const bool brace = dollar && eat('{');
    space();
    const auto from = at_;
    while (at_ < text_.size() && shell_name_char(text_[at_])) ++at_;
    const auto word = text_.substr(from, at_ - from);
    if (brace && !eat('}')) good_ = false;
    if (!word.empty() && word[0] >= '0' && word[0] <= '9' && !dollar) return number(word);
    const auto* said = look_up_(word);
    if (said == nullptr) {
      good_ = false;
      return 0;
    }
    return said->starts_with('-') ? -number(std::string_view{*said}.substr(1)) : number(*said);
  }
  std::int64_t multiply(int depth) {
    auto n = atom(depth);
    while (good_) {
      if (eat('*')) {
        if (__builtin_mul_overflow(n, atom(depth), &n)) good_ = false;
      } else if (eat('/') || eat('%')) {
        const bool rest = text_[at_ - 1] == '%';
        const auto by = atom(depth);
        if (by <= 0)
          good_ = false;
        else
          n = rest ? n % by : n / by;
      } else {
        break;
      }
    }
    return n;
  }
  std::int64_t add(int depth) {
    auto n = multiply(depth);
    while (good_) {
      if (eat('+')) {
        if (__builtin_add_overflow(n, multiply(depth), &n)) good_ = false;
      } else if (eat('-')) {
        if (__builtin_sub_overflow(n, multiply(depth), &n)) good_ = false;
      } else {
        break;
      }
    }
    return n;
  }

  std::int64_t comparison(int depth) {
    const auto n = add(depth);
    const auto sign = eat_one({"<=", ">=", "==", "!=", "<", ">"});
    if (!good_ || sign.empty()) return n;
    const auto by = add(depth);
    return (sign == "<=" ? n <= by : sign == ">=" ? n >= by : sign == "==" ? n == by : sign == "!=" ? n != by : sign == "<" ? n < by : n > by) ? 1 : 0;
  }
  std::int64_t both(int depth) {
    auto n = comparison(depth);
    while (good_ && !eat_one({"&&"}).empty()) {
      const auto by = comparison(depth);
      n = n != 0 && by != 0 ? 1 : 0;
    }
    return n;
  }
  std::int64_t either(int depth) {
    auto n = both(depth);
    while (good_ && !eat_one({"||"}).empty()) {
      const auto by = both(depth);
      n = n != 0 || by != 0 ? 1 : 0;
    }
    return n;
  }
  std::int64_t choice(int depth) {
    const auto n = either(depth);
    if (!good_ || !eat('?')) return n;
    if (depth > deepest) good_ = false;
    const auto yes = choice(depth + 1);
    if (!eat(':')) good_ = false;
    const auto no = choice(depth + 1);
    return n != 0 ? yes : no;
  }

  std::string_view text_;
  std::function<const std::string*(std::string_view)> look_up_;
  std::size_t at_{};
  bool good_{true};
};

/// Names to which a sum gives a value: N++, --N, N = 2, N += 2, N <<= 1.
inline std::vector<std::string> shell_changed_names(std::string_view sum) {
  constexpr std::string_view blanks = " \t\n";
  const auto begins = [](std::string_view text) {
    if (text.starts_with("++") || text.starts_with("--")) return true;
    if (text.starts_with("<<=") || text.starts_with(">>=")) return true;
    if (!text.empty() && std::string_view{"+-*/%&|^"}.find(text[0]) != std::string_view::npos) text.remove_prefix(1);
    return text.starts_with('=') && !text.starts_with("==");
  };
  std::vector<std::string> names;
  for (std::size_t at = 0; at < sum.size();) {
    const auto from = at;
    while (at < sum.size() && shell_name_char(sum[at])) ++at;
    if (at == from) {
      ++at;
      continue;
    }
    if (sum[from] >= '0' && sum[from] <= '9') continue;
    auto before = sum.substr(0, from), after = sum.substr(at);
    if (after.starts_with('[')) after.remove_prefix(std::min(after.find(']'), after.size() - 1) + 1);
    before = before.substr(0, before.find_last_not_of(blanks) + 1);
    after.remove_prefix(std::min(after.find_first_not_of(blanks), after.size()));
    if (before.ends_with("++") || before.ends_with("--") || begins(after)) names.emplace_back(sum.substr(from, at - from));
  }
  return names;
}

}  // namespace headroom::io::detail
