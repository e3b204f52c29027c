// Distributed under the Boost Software License, Version 1.0.
// What a predicted step time takes for granted.
#pragma once

#include <headroom/hardware/accelerator.hpp>

namespace headroom {

/// Sentences: io::assumption_text().
enum class time_assumption : std::uint8_t {
  steady_state,           ///< nothing but steps: always
  rates_calibrated,       ///< what kernels sustain of a data sheet: always
  rates_of_another_gpu,   ///< … of an A100, for want of published runs
  best_matmul_assumed,    ///< no measured matrix multiplication on that GPU
  formats_without_units,  ///< 4-bit, 8-bit or bf16 multiplications on a GPU that has no units for them
  network_of_gpu,         ///< the job leaves the network open
  traffic_overlapped,     ///< of data-parallel ranks, behind compute
  even_experts,           ///< every expert gets as many tokens
  release_recipe,         ///< graphs, overlap and recompute of a release's recipe are taken from the job alone
  fp8_in_one_share,       ///< casts, scales and transposes are in the calibrated share of the peak
  host_bound,             ///< some of the step waits for the processor
  graphs_start_themselves,///< captured layers wait for no processor
  compiled_start,         ///< what starting compiled layers takes is stated, not calibrated
  quantised_base,         ///< weights are dequantised for every multiplication
  host_update,            ///< memory of a usual node
  nvme_rate,
  mixed_kinds,            ///< stages on several kinds of GPU, or at their own speeds
  messages_polled,        ///< nanotron's benchmarks wait for messages of a pipeline by tenths of a second at times, which is not counted
  own_matrices_alone,     ///< of layers of one's own without flops(), what they compute beside their matrices takes no time
  methods_from_parts,     ///< of a method with several models each part is predicted as any job's, and compared with no run
  generation_by_bandwidth,///< completions of full length, by the bytes that each token has read
  documents_unknown,      ///< of a row that may hold several samples attention is counted over all of it
  recipe_of_release,      ///< graphs and experts' exchange are as the release's own recipe sets them
};
inline constexpr int time_assumption_count = static_cast<int>(time_assumption::recipe_of_release) + 1;

/// Assumptions of one predicted time, each once.
struct time_assumption_set {
  std::uint32_t bits{};
  constexpr void add(time_assumption a, bool when = true) { bits |= (when ? std::uint32_t{1} : std::uint32_t{0}) << static_cast<int>(a); }
  [[nodiscard]] constexpr bool has(time_assumption a) const { return (bits >> static_cast<int>(a) & 1U) != 0; }
  bool operator==(const time_assumption_set&) const = default;
};
static_assert(time_assumption_count <= 32);

/// Published runs on a GPU of this generation are among those that the rates are calibrated on: A100, Hopper, Blackwell's GPUs for data centres.
constexpr bool has_calibrated_rates(const gpu& g) {
  const auto c = g.compute_capability;
  return g.maker == vendor::nvidia && (c == 80 || c == 90 || c == 100 || c == 103);
}

}  // namespace headroom
