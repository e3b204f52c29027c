// Distributed under the Boost Software License, Version 1.0.
// Which variant of torch.utils.checkpoint a file asks the Trainer for, and LLaMA-Factory, which makes checkpoints of its own.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/named_values.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace headroom::io::detail {

/// gradient_checkpointing_kwargs' use_reentrant, of which TRL's older scripts have an argument of its own.
inline std::optional<bool> asked_reentry(named_values& v) {
  if (const auto* one = v.take("use_reentrant"); one != nullptr) return truth(*one, "use_reentrant");
  const auto* said = v.take("gradient_checkpointing_kwargs");
  if (said == nullptr) return std::nullopt;
  auto words = *said;
  if (words.is_string()) {
    auto text = words.get<std::string>();
    for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"'", "\""}, {"False", "false"}, {"True", "true"}})
      for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    words = parse_json(text, "gradient_checkpointing_kwargs");
  }
  if (!words.is_object()) wrong_value("gradient_checkpointing_kwargs", "an object", *said);
  for (const auto& [key, value] : words.items())  // of torch.utils.checkpoint's checkpoint(), which raises for another one
    if (!among_words("use_reentrant|preserve_rng_state|context_fn|determinism_check|debug|early_stop", key)) wrong_value("gradient_checkpointing_kwargs", "what torch.utils.checkpoint takes, as use_reentrant", json_value(key));
  const auto it = words.find("use_reentrant");
  return it == words.end() ? std::nullopt : std::optional{truth(*it, "gradient_checkpointing_kwargs.use_reentrant")};
}

/// LLaMA-Factory puts a method of its own in gradient_checkpointing_enable's place, and calls it (model/model_utils/checkpointing.py,
/// prepare_model_for_training). `again`: gradient_checkpointing is true, too, and the Trainer calls it once more before it trains, with what the Trainer is
/// told, which wins (transformers trainer.py, _inner_training_loop); by itself that method is reentrant. `off`: disable_gradient_checkpointing, where the
/// method is transformers' own.
inline std::optional<bool> factory_reentry(draft& d, named_values& v, bool again, bool off) {
  const bool own = v.on("use_reentrant_gc", true);
  const auto asked = asked_reentry(v);
  if (again && off) return asked;
  d.asks_towers = draft::said{"LLaMA-Factory", v.place("use_reentrant_gc")};
  if (again) return asked.value_or(true);
  d.reenters = draft::said{"LLaMA-Factory", v.place("use_reentrant_gc")};
  return own;
}

/// LLaMA-Factory's own checkpoints are not reentrant beside FSDP2 since 0.9.4 (109162dc of 2025-12-06, prepare_model_for_training).
inline void settle_factory_reentry(draft& d) {
  const auto* r = d.find({"recompute"});
  const auto* kind = d.find({"sharding", "kind"});
  if (r == nullptr || !r->is_object() || !r->value("reentrant", false) || kind == nullptr || *kind != "fsdp2" || d.place_of("recompute").starts_with("--set")) return;
  d.job["recompute"]["reentrant"] = false;
  d.notes.push_back(d.reenters->place + ": beside FSDP2 LLaMA-Factory's checkpoints are not reentrant, since 0.9.4 (2025-12): --set recompute.reentrant=true where it is older");
}

}  // namespace headroom::io::detail
