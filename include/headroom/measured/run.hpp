// Distributed under the Boost Software License, Version 1.0.
// A measured run: what was measured of it, beside what was predicted of the same run. By it the predictions of other jobs are corrected
// (measured/correct.hpp).
#pragma once

#include <headroom/uncertainty.hpp>
#include <headroom/units/quantity.hpp>

#include <array>

namespace headroom {

/// Whose figure it is, where the ranks of a run hold different amounts: of the rank with the most, of the first pipeline stage, of the last.
enum class measured_rank : std::uint8_t { most, first, last };

/// There is room for the errors of so many parts of a step's time.
inline constexpr std::size_t most_time_errors = 20;

/// A plain value of whole numbers: structural, and the same in a job file. What is predicted is filled in by measured_beside() and
/// measured_by() (measured.hpp).
struct measured_run {
  std::array<bytes, reading_count> measured{bytes{-1}, bytes{-1}, bytes{-1}, bytes{-1}};  ///< by `reading`; -1: it was not
  std::array<bytes, reading_count> predicted{};     ///< of the rank that was measured, by replay() where it replays the job
  std::array<bytes, reading_count> estimated{};     ///< … by estimate(), which knows the rank by it; 0: not said
  std::array<bytes, uncertainties.size()> of{};     ///< what each source of error is proportional to in that rank; 0 where it does not apply
  std::int64_t step{};                              ///< nanoseconds; 0: not measured
  std::int64_t predicted_step{};
  std::uint64_t search{};                           ///< fingerprint_of() the job that was run (job.hpp)
  std::array<std::int32_t, most_time_errors> step_errors{};  ///< one standard deviation of each source in millionths of that step (cost/errors.hpp)

  [[nodiscard]] constexpr bool has(reading m) const { return measured[static_cast<std::size_t>(m)] >= bytes{0}; }
  /// Of the memory, or of the time, something was measured and the prediction stands beside it.
  [[nodiscard]] constexpr bool of_memory() const { return (has(reading::allocated) || has(reading::active) || has(reading::reserved) || has(reading::device)) && predicted[0] > bytes{0}; }
  [[nodiscard]] constexpr bool of_time() const { return step > 0 && predicted_step > 0; }
  [[nodiscard]] constexpr bool given() const { return of_memory() || of_time(); }
  bool operator==(const measured_run&) const = default;
};

}  // namespace headroom
