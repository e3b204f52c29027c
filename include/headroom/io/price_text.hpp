// Distributed under the Boost Software License, Version 1.0.
// Prices as people give them, and the cheapest plans as a table and as JSON.
#pragma once

#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/plan_text.hpp>
#include <headroom/io/syntax/spelling.hpp>

#include <charconv>
#include <string>
#include <vector>

namespace headroom::io {

namespace detail {

/// A positive number, with k, M, B or T behind it as people say it of tokens.
inline double read_amount(std::string_view text, const std::string& what) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  const double scale = unit.empty() ? 1 : unit == "k" ? 1e3 : unit == "M" ? 1e6 : unit == "B" ? 1e9 : unit == "T" ? 1e12 : 0;
  if (wrong != std::errc{} || scale == 0 || !(value > 0) || !(value * scale < 1e18))
    fail("headroom: " + what + " must be a positive number, if need be with k, M, B or T behind it, found " + in_quotes(std::string{text}));
  return value * scale;
}

/// "h100=2.5", of a GPU that the library knows.
inline gpu_price read_price(const std::string& text) {
  const auto sign = text.find('=');
  if (sign == std::string::npos || sign == 0) fail("headroom: --price must be GPU=PRICE, what an hour of one GPU costs, found " + in_quotes(text));
  gpu_price p{.gpu = text.substr(0, sign), .hour = read_amount(std::string_view{text}.substr(sign + 1), "--price " + text.substr(0, sign))};
  std::vector<std::string_view> names;
  for (const auto& g : gpus::all) {
    if (headroom::detail::price_of({p}, g.label.view()) != nullptr) return p;
    names.push_back(g.label.view());
  }
  const auto meant = closest(p.gpu, names);
  fail("headroom: --price " + text + ": no GPU's name is or begins with " + in_quotes(p.gpu) + (meant.empty() ? "" : "; did you mean " + in_quotes(std::string{meant}) + "?") +
       (meant.empty() ? "; " : " ") + "`headroom list gpus` has them all");
}

inline std::string money_text(double value) { return value >= 1000 ? grouped(static_cast<std::int64_t>(value + 0.5)) : fixed(value, value < 1 ? 4 : 2); }

}  // namespace detail

/// The cheapest plans, and which of the limits leave none. `names`: of searches, where there are several.
inline std::string cheapest_text(const std::vector<priced_plan>& plans, const spending& s, const std::vector<std::string>& names, bool colour = false) {
  const palette ink{colour};
  std::string limits;
  if (s.days > 0) limits += " within " + fixed(s.days, s.days < 10 ? 1 : 0) + " days";
  if (s.budget > 0) limits += std::string{limits.empty() ? "" : " and"} + " for at most " + detail::money_text(s.budget);
  std::string text = "\n" + ink.bold("The cheapest that fit" + limits) + ink.dim(", in the currency of the prices, as predicted: the range of a step's time is that of its price") + "\n";
  if (plans.empty()) return text + "  " + ink.bad("No plan that fits is in these limits, or its GPUs have no price or no predicted time.") + "\n";
  const bool whole = s.tokens > 0, several = names.size() > 1;
  text += "  " + right("GPUs", 7) + right("an hour", 12) + right("1 M tokens", 12) + (whole ? right("days", 9) + right("in all", 14) : "") + "  plan\n";
  for (const auto& p : plans)
    text += "  " + right(grouped(all_gpus_of(p.plan.job)), 7) + right(detail::money_text(p.hour), 12) + right(detail::money_text(p.million_tokens), 12) +
            (whole ? right(fixed(p.days, p.days < 10 ? 2 : 0), 9) + right(detail::money_text(p.money), 14) : "") + "  " + (several ? names[p.search] + ": " : "") + detail::plan_line(p.plan.job) + "\n";
  return text;
}

/// The cheapest plans as JSON: money of an hour and of a million tokens in the currency of the prices, seconds of a step.
inline ordered_json cheapest_json(const std::vector<priced_plan>& plans, const spending& s) {
  auto all = ordered_json::array();
  for (const auto& p : plans) {
    ordered_json one{{"job", job_to_json(p.plan.job)}, {"search", p.search}, {"per_hour", p.hour}, {"per_million_tokens", p.million_tokens}, {"step_seconds", p.plan.outcome.seconds}};
    if (s.tokens > 0) one.update({{"days", p.days}, {"total", p.money}});
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace headroom::io
