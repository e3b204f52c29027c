// Distributed under the Boost Software License, Version 1.0.
// Inference engines that write the completions of online reinforcement learning, as data: how each reads its share of a GPU's memory.
#pragma once

#include <headroom/error.hpp>
#include <headroom/units/literals.hpp>

#include <array>

namespace headroom {

/// Who generates. `trainer`: the trained module itself, in the trainer's process; `hybrid`: its weights, by DeepSpeed's kernels, there.
enum class engine_kind : std::uint8_t { unset, trainer, vllm, vllm_0_8, sglang, hybrid };

/// What the memory that is in use when an engine starts has to do with its share.
enum class share_rule : std::uint8_t {
  none,         ///< it has no share
  beside_it,    ///< the share is of the whole card, and must be free: vLLM since 0.9
  within_it,    ///< the share is of the whole card, and what is in use is part of it: vLLM's second engine up to 0.8
  of_the_rest,  ///< the share is of what is free: SGLang
};

/// What sets one inference engine apart from another.
struct engine_properties {
  share_rule share{};
  std::int64_t block_tokens{1};    ///< positions for which keys and values are set aside at once
  bool forward_in_share{};         ///< a forward's own tensors count against the share; else they lie beside it
};

/// One row a kind. Sources: vllm v1/worker/utils.py request_memory, v1/worker/gpu_worker.py Worker.determine_available_memory (at 0.8: what
/// the card has in use beside the process's tensors, and the peak of these, trainer's tensors included, are taken off); config CacheConfig
/// (block_size 16 on CUDA); sglang srt/model_executor/model_runner.py profile_max_num_token, server_args.py page_size 1.
inline constexpr std::array<engine_properties, 6> engine_table{{
    {},
    {},
    {.share = share_rule::beside_it, .block_tokens = 16, .forward_in_share = true},
    {.share = share_rule::within_it, .block_tokens = 16, .forward_in_share = true},
    {.share = share_rule::of_the_rest},
    {},
}};
constexpr const engine_properties& properties_of(engine_kind k) { return engine_table[static_cast<std::size_t>(k)]; }

/// A share of a card's memory, in millionths.
struct memory_share {
  std::int32_t per_million{};
  /// Errors: job_error unless above 0 and at most 1.
  static constexpr memory_share of(double share) {
    if (!(share > 0.0 && share <= 1.0)) refuse("headroom: rollout.share must be above 0 and at most 1: the part of a GPU's memory that the engine may take");
    return {static_cast<std::int32_t>(share * 1e6 + 0.5)};
  }
  [[nodiscard]] constexpr bool set() const { return per_million > 0; }
  friend constexpr auto operator<=>(const memory_share&, const memory_share&) = default;
};

/// What an engine may take of a card where `held` is in use when it starts; 0 where nothing is left for it.
constexpr bytes engine_budget(engine_kind k, memory_share share, bytes card, bytes held) {
  const auto part = [&](bytes of) { return bytes{checked::ceil_div(checked::mul(of.count(), share.per_million), 1'000'000)}; };
  const auto rest = card > held ? card - held : bytes{0};
  switch (properties_of(k).share) {
    case share_rule::none: break;
    case share_rule::beside_it: return part(card);
    case share_rule::within_it: return part(card) > held ? part(card) - held : bytes{0};
    case share_rule::of_the_rest: return part(rest);
  }
  return bytes{0};
}

}  // namespace headroom
