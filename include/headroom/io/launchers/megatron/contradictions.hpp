// Distributed under the Boost Software License, Version 1.0.
// Arguments that end Megatron-LM together, or one without the other (NVIDIA/Megatron-LM d98e8a64 of 2026-08-22: megatron/training/arguments.py validate_args,
// megatron/training/argument_utils.py core_transformer_config_from_args, megatron/core/optimizer/optimizer_config.py and __init__.py).
#pragma once

#include <headroom/io/launchers/megatron/rules.hpp>

#include <string>
#include <string_view>

namespace headroom::io::detail {

/// An argument, and those between bars of which it needs one.
struct megatron_need {
  std::string_view key, others;
};
inline constexpr megatron_need megatron_needs[] = {
    {"overlap-param-gather", "use-distributed-optimizer|use-megatron-fsdp"},
    {"overlap-param-gather", "overlap-grad-reduce"},
    {"tp-comm-overlap", "sequence-parallel"},
    {"use-precision-aware-optimizer", "use-distributed-optimizer|use-megatron-fsdp"},
    {"optimizer-cpu-offload", "use-precision-aware-optimizer"},
    {"fp8-param-gather", "use-distributed-optimizer|use-megatron-fsdp|use-torch-fsdp2"},
};

inline std::string either_of(std::string_view names) {
  std::string all;
  for (const auto name : words_between_bars(names)) all += (all.empty() ? "" : " or ") + std::string{name};
  return all;
}

/// What the program's own parser ends at: others that build its layers from a configuration do not call it.
/// Errors: job_error for what the program does not start with. `today`: it is the newest release.
inline void refuse_contradictions(const named_values& v, bool today) {
  const auto ends = [&](std::string_view key, const std::string& why) { fail("headroom: " + v.place(key) + ": Megatron-LM ends at " + std::string{key} + " " + why); };
  const auto number = [&](std::string_view key) {
    const auto it = v.all().find(key);
    return it == v.all().end() || !it->is_number_integer() ? std::int64_t{0} : it->get<std::int64_t>();
  };
  for (const auto& need : megatron_needs)
    if (given(v.all(), need.key) && !given(v.all(), need.others) && !(need.key == "overlap-param-gather" && v.word_now("optimizer") == "dist_muon"))
      ends(need.key, "without " + either_of(need.others) + ": say it, or take " + std::string{need.key} + " out");
  for (const auto* key : {"main-grads-dtype", "main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype"})
    if (const auto word = v.word_now(key); !word.empty() && word != "fp32" && !given(v.all(), "use-precision-aware-optimizer")) ends(key, word + " without use-precision-aware-optimizer: say it, or take " + std::string{key} + " out");
  if (given(v.all(), "squared-relu|quick-geglu") && given(v.all(), "swiglu")) ends("swiglu", "beside another activation (" + std::string{given(v.all(), "squared-relu") ? "squared-relu" : "quick-geglu"} + "): take one of them out");
  const auto granularity = v.word_now("recompute-granularity");
  if (granularity == "selective" && v.has("recompute-method")) ends("recompute-method", "beside recompute-granularity selective, which recompute-modules says more of: take it out");
  const auto layers = v.all().find("recompute-num-layers");
  if (granularity == "full" && v.has("recompute-method") && (layers != v.all().end() ? layers->is_number_integer() && layers->get<std::int64_t>() < 1 : today))
    ends("recompute-granularity", "full without a recompute-num-layers of at least 1: say how many layers a method takes at once, or of each stage");
  const auto hidden = number("hidden-size"), heads = number("num-attention-heads"), tokens = number("seq-length"), context = number("context-parallel-size"), most = number("max-position-embeddings");
  if (heads > 0 && hidden % heads != 0 && !v.has("kv-channels")) ends("hidden-size", std::to_string(hidden) + ", which num-attention-heads, " + std::to_string(heads) + ", do not divide, without kv-channels");
  if (context > 1 && tokens % (2 * context) != 0) ends("seq-length", std::to_string(tokens) + ", which must be a multiple of twice context-parallel-size, " + std::to_string(context));
  if (most > 0 && tokens > most) ends("max-position-embeddings", std::to_string(most) + ", which must be seq-length, " + std::to_string(tokens) + ", at least");
}

}  // namespace headroom::io::detail
