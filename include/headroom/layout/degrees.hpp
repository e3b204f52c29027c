// Distributed under the Boost Software License, Version 1.0.
// How the work is divided over GPUs.
#pragma once

#include <headroom/error.hpp>
#include <headroom/layout/schedule_kind.hpp>
#include <headroom/units/checked.hpp>

#include <cstdint>

namespace headroom {

/// How ranks of context parallelism exchange keys and values: around a ring, heads for tokens (DeepSpeed-Ulysses), or all gathered.
enum class context_kind : std::uint8_t { ring, ulysses, all_gather };

/// How a framework cuts layers where the job does not say how many each chunk has.
enum class layer_split : std::uint8_t {
  even,             ///< as many in each: layers that do not come out even are refused
  ends_least,       ///< the ends get no more than the others: the chunks behind the first have one more as long as some are over, the last gets what is left
  ends_count_layers,///< the embedding counts as a layer, norm and head as another; the first chunks have one more where they do not come out even
  by_cost           ///< layers and head are dealt out in order: a stage ends with the one whose sum of costs exceeds its share (nanotron)
};

/// How many layers a chunk has, in two bytes. It reads and is written like a number.
struct layer_count {
  std::uint16_t value{};

  constexpr layer_count() = default;
  /// Errors: job_error for a count that is not from 0 to 65535.
  constexpr layer_count(std::int64_t n) : value(static_cast<std::uint16_t>(n)) {  // NOLINT(google-explicit-constructor)
    if (n < 0 || n > 65'535) refuse("headroom: parallel.stage_layers must be from 0 to 65535", n);
  }
  constexpr operator std::int32_t() const { return value; }  // NOLINT(google-explicit-constructor)
  constexpr layer_count& operator+=(std::int64_t n) { return *this = layer_count{value + n}; }
  constexpr layer_count& operator++() { return *this += 1; }
  constexpr layer_count& operator--() { return *this += -1; }
};

/// Degrees of parallelism. data × tensor × pipeline × context is the number of GPUs; expert parallelism divides the same GPUs anew.
struct degrees {
  static constexpr int max_chunks = 64;    ///< of layers on one stage
  static constexpr int max_entries = 256;  ///< chunks of all stages whose layers can be given
  std::int64_t data{};                      ///< data-parallel ranks, `replicate` included; 0: whatever the GPUs leave
  std::int64_t replicate{1};                ///< groups that each hold all shards (HSDP)
  std::int64_t tensor{1};
  bool sequence{};                          ///< Megatron-LM's sequence parallelism, beside `tensor`
  std::int64_t pipeline{1};                 ///< stages
  std::int64_t virtual_pipeline{1};         ///< chunks of layers in each stage
  headroom::schedule schedule{};
  std::int64_t first_stage_layers{};        ///< 0: as many as the others
  std::int64_t last_stage_layers{};
  layer_count stage_layers[max_entries]{};  ///< layers of each chunk, when they are uneven
  std::int32_t chunks{};                    ///< how many of them are given; 0: all, if any is not 0 (chunks_given)
  std::int64_t context{1};
  headroom::context_kind context_kind{};
  std::int64_t expert{1};                   ///< ranks that divide a layer's experts
  std::int64_t expert_tensor{1};            ///< … and each expert's matrices
  std::int64_t expert_imbalance_percent{100};  ///< tokens of the busiest expert-parallel rank, in percent of an even share; the router decides

  bool operator==(const degrees&) const = default;
};

/// How many chunks have their layers given in stage_layers: `chunks`, or where that is 0 all of them if any entry is not 0.
constexpr std::int64_t chunks_given(const degrees& d) {
  if (d.chunks != 0) return d.chunks;
  const auto all = checked::mul(d.pipeline, d.virtual_pipeline);
  for (std::int64_t i = 0; i < all && i < degrees::max_entries; ++i)
    if (d.stage_layers[i] != 0) return all;
  return 0;
}

/// The schedule that runs: where stages have several chunks, interleaved 1F1B in place of a schedule of whole stages.
constexpr schedule schedule_of(const degrees& d) {
  return d.virtual_pipeline > 1 && properties_of(d.schedule).chunks == 1 ? schedule::interleaved : d.schedule;
}

}  // namespace headroom
