// Distributed under the Boost Software License, Version 1.0.
// What a Python text says in so many words: literals, and names that one statement gives a literal to. All else is computed, and has no value here.
#pragma once

#include <headroom/io/syntax/python_text.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace headroom::io {

using python_value = std::optional<json_value>;

class python_values {
 public:
  /// `given`: names and values for what the text computes.
  python_values(std::span<const python_statement> all, std::span<const std::pair<std::string, std::string>> given) : all_(all), given_(given) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      around_.push_back(headers_around(i));
      assigns(i);
    }
  }

  /// The value of tokens that stand in statement `at`; nothing where it is computed.
  [[nodiscard]] python_value value(std::span<const python_token> tokens, std::size_t at, int depth = 0) const {
    if (depth > deepest_nesting || !work_.spend(tokens.size())) return {};
    std::size_t i = 0;
    auto v = sum(tokens, i, at, depth);
    if (i == tokens.size()) return v;
    if (i + 1 < tokens.size() && tokens[i].text == "if" && tokens[i].is == python_word::name) {  // A if B else C
      std::size_t end = i + 1;
      while (end < tokens.size() && tokens[end].text != "else") end = bracket(tokens, end);
      const auto which = value(tokens.subspan(i + 1, end - i - 1), at, depth + 1);
      if (!which || !which->is_boolean() || end >= tokens.size()) return {};
      return which->get<bool>() ? v : value(tokens.subspan(end + 1), at, depth + 1);
    }
    return {};
  }
  /// A value that was handed in for a name.
  [[nodiscard]] python_value given(std::string_view name) const {
    for (const auto& [known, text] : given_)
      if (known == name) return typed_word(text);
    return {};
  }
  /// Whether a statement may be left out: it lies in a branch or a loop.
  [[nodiscard]] bool conditional(std::size_t at) const {
    return std::any_of(around_[at].begin(), around_[at].end(), [&](std::size_t h) { return branches(all_[h]); });
  }
  /// The headers of the blocks that a statement lies in, the outermost first.
  [[nodiscard]] const std::vector<std::size_t>& around(std::size_t at) const { return around_[at]; }
  /// The functions and classes that a statement lies in, the outermost first.
  [[nodiscard]] std::vector<std::size_t> scopes(std::size_t at) const {
    std::vector<std::size_t> r;
    for (const auto h : around_[at])
      if (opens_scope(all_[h])) r.push_back(h);
    return r;
  }

 private:
  struct assignment {
    std::size_t statement{};
    std::span<const python_token> value;
    bool plain{};
  };

  static std::size_t bracket(std::span<const python_token> t, std::size_t i) {
    return detail::is_mark(t[i], "(") || detail::is_mark(t[i], "[") || detail::is_mark(t[i], "{") ? detail::past_bracket(t, i) : i + 1;
  }
  static bool opens_scope(const python_statement& s) { return s.begins("def") || s.begins("class") || (s.begins("async") && s.tokens.size() > 1 && s.tokens[1].text == "def"); }
  static bool branches(const python_statement& s) {
    if (s.begins("if")) return std::none_of(s.tokens.begin(), s.tokens.end(), [](const auto& t) { return t.text == "__name__"; });
    return s.begins("elif") || s.begins("else") || s.begins("for") || s.begins("while") || s.begins("try") || s.begins("except") || s.begins("finally") || s.begins("match") || s.begins("case");
  }
  [[nodiscard]] std::vector<std::size_t> headers_around(std::size_t i) const {
    std::vector<std::size_t> r;
    if (i == 0) return r;
    // The statement before lies in the same blocks, or in some of them.
    r = around_[i - 1];
    if (all_[i].indent > all_[i - 1].indent && r.size() < static_cast<std::size_t>(deepest_nesting)) r.push_back(i - 1);
    std::erase_if(r, [&](std::size_t h) { return all_[h].indent >= all_[i].indent; });
    return r;
  }
  static json_value typed_word(const std::string& text) {
    if (text == "True" || text == "true") return true;
    if (text == "False" || text == "false") return false;
    if (text == "None" || text == "none") return nullptr;
    auto v = json_value::parse(text, nullptr, false);
    return v.is_discarded() || v.is_object() ? json_value(text) : v;
  }

  void assigns(std::size_t i) {
    const auto t = std::span{all_[i].tokens};
    if (t.empty()) return;
    const auto unknown = [&](const python_token& name) { names_[name.text].push_back({i, {}, false}); };
    if (opens_scope(all_[i]) || all_[i].begins("for") || all_[i].begins("with") || all_[i].begins("global") || all_[i].begins("nonlocal") || all_[i].begins("import") || all_[i].begins("from")) {
      for (std::size_t k = 1; k < t.size() && t[k].text != "in"; ++k)
        if (t[k].is == python_word::name && !detail::is_mark(t[k - 1], ".")) unknown(t[k]);
      return;
    }
    std::size_t from = 0;
    for (std::size_t k = 0; k < t.size(); k = bracket(t, k)) {
      const bool last = t[k].is == python_word::mark && t[k].text.size() == 2 && t[k].text[1] == '=' && std::string_view{"+-*/%&|^@"}.find(t[k].text[0]) != std::string_view::npos;
      if (last) return unknown(t[0]);
      if (!detail::is_mark(t[k], "=")) continue;
      auto end = k + 1;
      while (end < t.size() && !detail::is_mark(t[end], "=")) end = bracket(t, end);
      const auto target = t.subspan(from, k - from);
      if (target.empty()) return;
      const bool plain = target.size() == 1 || (target.size() > 2 && detail::is_mark(target[1], ":"));
      if (plain && end == t.size()) names_[target[0].text].push_back({i, t.subspan(k + 1), true});
      else if (plain) names_[target[0].text].push_back({i, last_part(t.subspan(k + 1)), true});
      else if (target[0].is != python_word::name || !detail::is_mark(target[1], "."))
        several(i, target, last_part(t.subspan(k + 1)));
      from = k + 1;
    }
  }
  /// a, b = 1, 2: each name has the value at its place; else none is known.
  void several(std::size_t i, std::span<const python_token> target, std::span<const python_token> value) {
    const auto names = detail::between_commas(target), values = detail::between_commas(value);
    const bool each = names.size() == values.size() && std::all_of(names.begin(), names.end(), [](const auto& n) { return n.size() == 1 && n[0].is == python_word::name; });
    if (each)
      for (std::size_t k = 0; k < names.size(); ++k) names_[names[k][0].text].push_back({i, values[k], true});
    else
      for (const auto& n : target)
        if (n.is == python_word::name) names_[n.text].push_back({i, {}, false});
  }
  static std::span<const python_token> last_part(std::span<const python_token> t) {  // of a = b = 3
    std::size_t from = 0;
    for (std::size_t k = 0; k < t.size(); k = bracket(t, k))
      if (detail::is_mark(t[k], "=")) from = k + 1;
    return t.subspan(from);
  }

  /// What a name stands for in statement `at`: its last assignment above, where nothing leaves open which that is.
  [[nodiscard]] python_value named(const std::string& name, std::size_t at, int depth) const {
    const auto found = names_.find(name);
    if (found == names_.end()) return given(name);
    const auto inside = scopes(at);
    const assignment* last = nullptr;
    std::size_t deep = 0;  // scopes around the last
    bool sure = true;
    for (const auto& a : found->second) {
      if (!work_.spend(8)) return {};
      const bool header = opens_scope(all_[a.statement]);  // its parameters
      auto where = scopes(a.statement);
      if (header) where.push_back(a.statement);
      const bool around = where.size() <= inside.size() && std::equal(where.begin(), where.end(), inside.begin());
      const bool here = where.size() == inside.size();
      if (!around || (here && !header && a.statement >= at) || (last != nullptr && where.size() < deep)) continue;
      const bool beside = std::any_of(around_[a.statement].begin(), around_[a.statement].end(), [&](std::size_t h) { return branches(all_[h]) && std::find(around_[at].begin(), around_[at].end(), h) == around_[at].end(); });
      sure = !beside && (here || last == nullptr || where.size() > deep);  // of what is around a function, which comes last is not known
      deep = where.size();
      last = &a;
    }
    if (last == nullptr || !sure || !last->plain) return given(name);
    if (auto v = value(last->value, last->statement, depth + 1)) return v;
    return given(name);
  }

  [[nodiscard]] python_value sum(std::span<const python_token> t, std::size_t& i, std::size_t at, int depth) const {
    if (i < t.size() && t[i].is == python_word::name && t[i].text == "not") {
      const auto v = sum(t, ++i, at, depth + 1);
      return v && v->is_boolean() && depth < deepest_nesting ? python_value{!v->get<bool>()} : python_value{};
    }
    auto left = product(t, i, at, depth);
    while (i < t.size() && (detail::is_mark(t[i], "+") || detail::is_mark(t[i], "-"))) {
      const bool plus = t[i].text == "+";
      left = joined_by(left, product(t, ++i, at, depth), plus ? '+' : '-');
    }
    return left;
  }
  [[nodiscard]] python_value product(std::span<const python_token> t, std::size_t& i, std::size_t at, int depth) const {
    auto left = factor(t, i, at, depth);
    while (i < t.size() && (detail::is_mark(t[i], "*") || detail::is_mark(t[i], "//") || detail::is_mark(t[i], "/"))) {
      const char how = t[i].text == "//" ? '|' : t[i].text[0];
      left = joined_by(left, factor(t, ++i, at, depth), how);
    }
    return left;
  }
  /// A sign is of the power behind it, and a power's exponent a power itself: -2 ** 2 is -4, 2 ** 3 ** 2 is 512.
  [[nodiscard]] python_value factor(std::span<const python_token> t, std::size_t& i, std::size_t at, int depth) const {
    if (i < t.size() && depth <= deepest_nesting && (detail::is_mark(t[i], "-") || detail::is_mark(t[i], "+"))) {
      const char sign = t[i].text[0];
      const auto v = factor(t, ++i, at, depth + 1);
      return v && v->is_number() ? joined_by(json_value(0), v, sign) : python_value{};
    }
    const auto base = atom(t, i, at, depth);
    return i < t.size() && detail::is_mark(t[i], "**") ? joined_by(base, factor(t, ++i, at, depth + 1), '^') : base;
  }
  static python_value joined_by(const python_value& a, const python_value& b, char how) {
    if (!a || !b || !a->is_number() || !b->is_number()) return {};
    const double x = a->get<double>(), y = b->get<double>();
    if (how == '/' || how == '|') {
      if (y == 0) return {};
      return how == '/' ? python_value{x / y} : whole(std::floor(x / y));
    }
    const double r = how == '+' ? x + y : how == '-' ? x - y : how == '*' ? x * y : std::pow(x, y);
    return a->is_number_integer() && b->is_number_integer() && r == std::floor(r) ? whole(r) : python_value{r};
  }
  static python_value whole(double v) { return std::abs(v) < 9e15 ? python_value{static_cast<std::int64_t>(v)} : python_value{}; }

  [[nodiscard]] python_value atom(std::span<const python_token> t, std::size_t& i, std::size_t at, int depth) const {
    if (i >= t.size() || depth > deepest_nesting) return i = t.size(), python_value{};
    const auto& one = t[i];
    if (one.is == python_word::text) {
      std::string said;
      for (; i < t.size() && t[i].is == python_word::text; ++i) said += t[i].text;
      return said;
    }
    if (one.is == python_word::number) {
      ++i;
      const auto v = json_value::parse(one.text.starts_with('.') ? "0" + one.text : one.text.ends_with('.') ? one.text + "0" : one.text, nullptr, false);
      return v.is_number() ? python_value{v} : python_value{};
    }
    if (one.is == python_word::mark && (one.text == "(" || one.text == "[" || one.text == "{")) {
      const auto end = detail::past_bracket(t, i);
      const auto within = t.subspan(i + 1, end - i > 1 ? end - i - 2 : 0);
      i = end;
      return one.text == "{" ? dictionary(within, at, depth) : list(within, at, depth, one.text == "[");
    }
    if (one.is != python_word::name) return i = t.size(), python_value{};
    return path(t, i, at, depth);
  }
  [[nodiscard]] python_value list(std::span<const python_token> within, std::size_t at, int depth, bool brackets) const {
    auto all = json_value::array();
    const auto parts = detail::between_commas(within);
    const bool comma = !within.empty() && detail::is_mark(within.back(), ",");
    for (const auto part : parts) {
      auto v = value(part, at, depth + 1);
      if (!v) return {};
      if (!brackets && parts.size() == 1 && !comma) return v;
      all.push_back(std::move(*v));
    }
    return all;
  }
  [[nodiscard]] python_value dictionary(std::span<const python_token> within, std::size_t at, int depth) const {
    auto all = json_value::object();
    for (const auto part : detail::between_commas(within)) {
      if (part.size() < 3 || part[0].is != python_word::text || !detail::is_mark(part[1], ":")) return {};
      auto v = value(part.subspan(2), at, depth + 1);
      if (!v) return {};
      all[part[0].text] = std::move(*v);
    }
    return all;
  }
  /// A name, one of torch's formats, and whether a GPU computes in bf16, which those do that are modelled.
  [[nodiscard]] python_value path(std::span<const python_token> t, std::size_t& i, std::size_t at, int depth) const {
    std::string whole = t[i].text;
    for (++i; i + 1 < t.size() && detail::is_mark(t[i], ".") && t[i + 1].is == python_word::name; i += 2) whole += "." + t[i + 1].text;
    const auto last = std::string_view{whole}.substr(whole.rfind('.') == std::string::npos ? 0 : whole.rfind('.') + 1);
    if (i < t.size() && detail::is_mark(t[i], "(")) {
      const auto end = detail::past_bracket(t, i);
      const bool empty = end == i + 2, of_torch = whole == "getattr" && end == i + 5 && t[i + 1].text == "torch" && t[i + 3].is == python_word::text;
      const auto named = of_torch ? t[i + 3].text : std::string{};  // getattr(torch, "bfloat16")
      i = end;
      if (of_torch) return named;
      return empty && (last == "is_bfloat16_supported" || last == "is_bf16_supported") ? python_value{true} : given(whole);
    }
    if (i < t.size() && detail::is_mark(t[i], "[")) return i = detail::past_bracket(t, i), python_value{};
    if (whole == "True") return true;
    if (whole == "False") return false;
    if (whole == "None") return json_value(nullptr);
    if (whole.starts_with("torch.") && whole.rfind('.') == 5) return std::string{last};
    return whole.find('.') == std::string::npos ? named(whole, at, depth) : given(whole);
  }

  std::span<const python_statement> all_;
  std::span<const std::pair<std::string, std::string>> given_;
  std::vector<std::vector<std::size_t>> around_;
  std::map<std::string, std::vector<assignment>, std::less<>> names_;
  mutable detail::work_left work_;
};

}  // namespace headroom::io
