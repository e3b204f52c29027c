// Distributed under the Boost Software License, Version 1.0.
// Which arguments a script must say itself.
#pragma once

#include <string_view>

namespace headroom::io::detail {

/// One that a script leaves open may be a path or a rate; these are sizes.
inline bool must_be_known(std::string_view key) {
  const auto has = [&](std::string_view part) { return key.find(part) != std::string_view::npos; };
  if (key == "per_device_eval_batch_size" || key.starts_with("max_eval") || key.starts_with("max_train_samples")) return false;
  return has("batch_size") || has("accumulation") || has("_len") || has("rank") || has("zero_stage") || has("lora_r") || has("checkpointing") || has("bits") || key == "bf16" || key == "fp16" || key == "optim";
}

}  // namespace headroom::io::detail
