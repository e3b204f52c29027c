// Distributed under the Boost Software License, Version 1.0.
// Megatron-FSDP's command-line arguments (megatron/training/arguments.py).
#pragma once

#include <headroom/io/job/framework.hpp>

namespace headroom::io::detail {

/// use-megatron-fsdp and what goes with it. Its formats are "auto" unless they are given: gradients in the parameters' format (of fp8
/// ones bf16), reduced in their own.
inline void apply_megatron_fsdp(job& j, key_reader& k, const option_merger& merge) {
  bool on = false;
  for (const auto* key : {"use-megatron-fsdp", "use-custom-fsdp"}) {  // the second is its name from 2025-02-26 (d165a8548b) to 2025-08-21 (af28b5a559)
    const auto* use = k.take(key);
    if (use == nullptr || !flag_at(*use, k.at(key))) continue;
    on = true;
    merge.set(j.sharding.kind, sharding_kind::megatron_fsdp, "sharding", "kind", k.at(key));
    if (!merge.given("sharding", "stage")) j.sharding.stage = 3;
  }
  if (const auto* v = k.take("data-parallel-sharding-strategy"); v != nullptr) {
    constexpr std::string_view strategies[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
    constexpr std::string_view expected = "\"no_shard\", \"optim\", \"optim_grads\" or \"optim_grads_params\"";
    const auto path = k.at("data-parallel-sharding-strategy");
    const auto& word = string_at(*v, path, expected);
    std::int64_t stage = 0;
    while (stage < 4 && strategies[stage] != word) ++stage;
    if (stage == 4) wrong_value(path, expected, *v);
    if (on) merge.set(j.sharding.stage, stage, "sharding", "stage", path);
  }
  if (const auto* v = k.take("outer-dp-sharding-strategy"); v != nullptr && string_at(*v, k.at("outer-dp-sharding-strategy")) != "no_shard")
    fail("headroom: " + k.at("outer-dp-sharding-strategy") + " must be \"no_shard\" in this version");
  if (const auto* v = k.take("suggested-communication-unit-size"); v != nullptr)
    merge.set(j.sharding.communication_unit, count_at(*v, k.at("suggested-communication-unit-size"), 1, std::int64_t{1} << 60), "sharding",
              "suggested_communication_unit_size", k.at("suggested-communication-unit-size"));
  for (const auto* key : {"fsdp-double-buffer", "use-nccl-ub"})
    if (const auto* v = k.take(key); v != nullptr && flag_at(*v, k.at(key)))
      merge.set(j.sharding.double_buffer, choice::yes, "sharding", "fsdp_double_buffer", k.at(key));
  const auto format = [&](const char* key, number_format precision::*member, std::string_view neutral, const number_format& automatic) {
    const auto* v = k.take(key);
    if (v == nullptr) return;
    constexpr std::string_view expected = "\"fp32\", \"bf16\", \"fp16\" or \"auto\"";
    const auto& word = string_at(*v, k.at(key), expected);
    const auto* f = word == "auto" ? &automatic : nullptr;
    for (const auto* known : {&formats::fp32, &formats::bf16, &formats::fp16})
      if (word == known->label.view()) f = known;
    if (f == nullptr) wrong_value(k.at(key), expected, *v);
    if (!on) return;
    if (!j.precision.set()) {
      j.precision = j.framework.precision;
      j.precision.gradients = j.precision.reduce = j.precision.parameters;
    }
    const auto before = j.precision.*member;
    merge.set(j.precision.*member, *f, "precision", neutral, k.at(key));
    if (j.precision.*member != before) j.precision.label = {};
  };
  const auto own = [&] { return j.precision.set() ? j.precision : j.framework.precision; };
  format("megatron-fsdp-main-params-dtype", &precision::master, "master", formats::none);
  format("megatron-fsdp-main-grads-dtype", &precision::gradients, "gradients", own().parameters.bits == 8 ? formats::bf16 : own().parameters);
  format("megatron-fsdp-grad-comm-dtype", &precision::reduce, "reduce", own().gradients);
}

}  // namespace headroom::io::detail
