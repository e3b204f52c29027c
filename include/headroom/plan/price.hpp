// Distributed under the Boost Software License, Version 1.0.
// What plans cost in money: prices of GPU hours, and the cheapest plan that ends in time and within a budget.
#pragma once

#include <headroom/cost/machine.hpp>
#include <headroom/plan/result.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// What an hour of one GPU costs, in any one currency. `gpu`: a GPU's name, or how names begin: "h100" is every "h100-…".
struct gpu_price {
  std::string gpu;
  double hour{};
};

/// What is to be trained, and what it may cost. Zero: not stated.
struct spending {
  std::vector<gpu_price> prices{};
  double tokens{};  ///< of the whole training
  double days{};    ///< in which it ends, at most
  double budget{};  ///< of the whole training, at most
};

/// A plan and what it costs, in the currency of the prices.
struct priced_plan {
  ranked_plan plan;
  std::size_t search{};      ///< of several: which found it
  double hour{};             ///< of all its GPUs
  double million_tokens{};
  double days{};             ///< of the whole training, where its tokens are stated
  double money{};            ///< … likewise
};

namespace detail {

/// The price whose name is the longest beginning of the GPU's own; nothing where none is.
inline const gpu_price* price_of(const std::vector<gpu_price>& prices, std::string_view gpu) {
  const gpu_price* found = nullptr;
  for (const auto& p : prices) {
    const bool names = gpu == p.gpu || (gpu.starts_with(p.gpu) && gpu[p.gpu.size()] == '-');
    if (names && (found == nullptr || p.gpu.size() > found->gpu.size())) found = &p;
  }
  return found;
}

/// Tokens that all data-parallel ranks read in a second.
inline double tokens_per_second(const ranked_plan& p) {
  const auto& j = p.job;
  const auto data = j.hardware.gpus() / (j.parallel.tensor * j.parallel.pipeline * j.parallel.context);
  return product(data, j.batch.micro, j.batch.accumulation, j.batch.sequence) / p.outcome.seconds;
}

}  // namespace detail

/// The price of an hour of all GPUs of a job; nothing where one of them has none.
inline std::optional<double> price_of_hour(const cluster& c, const std::vector<gpu_price>& prices) {
  double sum = 0;
  for (std::size_t kind = 0; kind < c.kinds(); ++kind) {
    const auto* p = detail::price_of(prices, c.accelerator(kind).label.view());
    if (p == nullptr) return std::nullopt;
    sum += p->hour * static_cast<double>(c.count(kind));
  }
  return sum;
}

/// A plan with its price; nothing where it has no predicted time or no price.
inline std::optional<priced_plan> priced(const ranked_plan& p, const spending& s) {
  const auto hour = price_of_hour(p.job.hardware, s.prices);
  if (!hour || p.outcome.seconds <= 0) return std::nullopt;
  const double rate = detail::tokens_per_second(p);
  priced_plan out{.plan = p, .hour = *hour, .million_tokens = *hour / 3600 / rate * 1e6};
  if (s.tokens > 0) {
    out.days = s.tokens / rate / 86'400;
    out.money = out.days * 24 * *hour;
  }
  return out;
}

/// The cheapest plans for each token, of those that end in time and within the budget; the cheapest first. Of one kind of GPU and one global
/// batch the cheapest of all is in a search's front: what is as cheap needs fewer GPUs or less time.
inline std::vector<priced_plan> cheapest(const std::vector<plan_result>& found, const spending& s, std::size_t top) {
  std::vector<priced_plan> all;
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const auto* list : {&found[i].front, &found[i].best})
      for (const auto& p : *list) {
        const auto one = priced(p, s);
        const bool known = std::any_of(all.begin(), all.end(), [&](const priced_plan& q) { return q.search == i && q.plan.ordinal == p.ordinal; });
        if (!one || known || (s.days > 0 && one->days > s.days) || (s.budget > 0 && one->money > s.budget)) continue;
        all.push_back(*one);
        all.back().search = i;
      }
  std::stable_sort(all.begin(), all.end(), [](const priced_plan& a, const priced_plan& b) { return a.million_tokens < b.million_tokens; });
  if (all.size() > top) all.resize(top);
  return all;
}

}  // namespace headroom
