// Distributed under the Boost Software License, Version 1.0.
// Models of any size, and the flow chart that tutorials give for choosing a plan.
#pragma once

#include <headroom/headroom.hpp>
#include <headroom/plan/judge.hpp>

#include <optional>
#include <vector>

namespace rules {

/// Llama's proportions: 128 of width and a head for each layer. 32 layers are Llama-2-7B, 40 are 13B.
constexpr void set_layers(headroom::job& j, std::int64_t layers) {
  j.model = headroom::models::llama_2_7b;
  j.model.layers = j.model.heads = j.model.kv_heads = layers;
  j.model.hidden = 128 * layers;
  j.model.ffn = (8 * j.model.hidden / 3 + 255) / 256 * 256;
}
inline constexpr headroom::unknown size{"model", false, [](const headroom::job&) -> std::int64_t { return 1; }, [](const headroom::job&) -> std::int64_t { return 400; }, set_layers};

/// One stop on the chart: one GPU: mixed precision and recompute; several and under 5B parameters: ZeRO-2; from 5B on: ZeRO-3; out of
/// memory: a smaller micro-batch and more accumulation, then recompute, then offload.
struct stop {
  const char* what;
  headroom::job job;
  headroom::judged_plan seen;
};

/// The stops up to the first that fits; none may.
inline std::vector<stop> follow_chart(const headroom::shape& model, const headroom::cluster& on, std::int64_t sequence, std::int64_t global) {
  using namespace headroom;
  const auto gpus = on.gpus();
  const auto each = global / gpus;
  job j{.model = model, .hardware = on, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .batch = {.micro = each < 8 ? each : 8, .sequence = sequence}};
  j.batch.accumulation = each / j.batch.micro;
  std::vector<stop> path;
  const auto fits_now = [&](const char* what) {
    path.push_back({what, j, judge_plan(j)});
    return path.back().seen.fits;
  };
  if (gpus == 1) j.recompute = recompute::full;
  if (gpus > 1) j.sharding = zero(headroom::count(model).total < parameters{5'000'000'000} ? 2 : 3);
  if (fits_now(gpus == 1 ? "mixed precision, recompute" : j.sharding.stage == 2 ? "ZeRO-2" : "ZeRO-3")) return path;
  while (j.batch.micro > 1) {
    j.batch.micro /= 2;
    j.batch.accumulation *= 2;
    if (fits_now("half the micro-batch")) return path;
  }
  if (gpus > 1) {
    j.recompute = recompute::full;
    if (fits_now("recompute")) return path;
  } else {
    j.sharding = zero(3);  // offload is ZeRO's
  }
  j.offload.optimizer = place::on_cpu;
  if (fits_now("optimizer on the host")) return path;
  j.sharding = zero(3);
  j.offload.parameters = place::on_cpu;
  (void)fits_now("parameters on the host");
  return path;
}

/// Everything the chart may choose, left open.
inline headroom::search all_choices(const headroom::shape& model, const headroom::cluster& on, std::int64_t sequence, std::int64_t global) {
  using namespace headroom;
  search s{.job = {.model = model, .hardware = on, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .batch = {.sequence = sequence}}};
  for (const auto key : {"sharding", "recompute", "offload.optimizer", "offload.parameters"}) s.open |= 1U << axes::find(key);
  s.open_micro = true;
  s.global_batch = global;
  return s;
}

}  // namespace rules
