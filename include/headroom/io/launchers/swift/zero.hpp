// Distributed under the Boost Software License, Version 1.0.
// The DeepSpeed configurations that ms-swift ships, by the names that its --deepspeed takes.
#pragma once

#include <headroom/io/syntax/json_value.hpp>

#include <optional>
#include <string_view>

namespace headroom::io::detail {

/// What a name stands for (modelscope/ms-swift 3602360a of 2026-08-22: swift/config/*.json, the same since 3.2.2 of 2025-03). `early`: in
/// releases 1 and 2 (v2.6.0: swift/llm/ds_config/*.json), which say default-zero2, too.
inline std::optional<json_value> swift_zero(std::string_view name, bool early) {
  constexpr std::string_view before = "default-", offloads = "_offload";
  if (early && name.starts_with(before)) name.remove_prefix(before.size());
  const bool host = name.ends_with(offloads);
  if (host) name.remove_suffix(offloads.size());
  if (name != "zero0" && name != "zero1" && name != "zero2" && name != "zero3") return std::nullopt;
  const auto stage = name.back() - '0';
  if (host && stage < 2) return std::nullopt;
  json_value zero = {{"stage", stage}, {"overlap_comm", early}, {"contiguous_gradients", true}};
  const json_value where = {{"device", host ? "cpu" : "none"}, {"pin_memory", true}};
  if (stage > 0) zero["offload_optimizer"] = where;
  if (stage == 3) {
    zero["offload_param"] = where;
    zero["sub_group_size"] = 1e9;
    for (const auto* key : {"reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold"}) zero[key] = "auto";
    zero["stage3_max_live_parameters"] = 1e9;
    zero["stage3_max_reuse_distance"] = 1e9;
  } else {
    zero["allgather_bucket_size"] = 2e8;
    zero["reduce_scatter"] = true;
    zero["reduce_bucket_size"] = 2e8;
  }
  json_value all = {{"fp16", {{"enabled", "auto"}}}, {"bf16", {{"enabled", "auto"}}}, {"zero_optimization", zero}};
  for (const auto* key : {"gradient_accumulation_steps", "train_batch_size", "train_micro_batch_size_per_gpu"}) all[key] = "auto";
  return all;
}

}  // namespace headroom::io::detail
