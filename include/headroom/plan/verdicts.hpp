// Distributed under the Boost Software License, Version 1.0.
// What a search makes of its judge's verdicts: the fastest plans and the front, and how many jobs were rejected for what.
#pragma once

#include <headroom/plan/axes.hpp>
#include <headroom/plan/mixed.hpp>
#include <headroom/plan/options.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::detail {

/// The first clause of a sentence: what jobs that are refused alike have in common.
inline std::string reason_of(std::string_view sentence) {
  if (sentence.starts_with("headroom: ")) sentence.remove_prefix(10);
  if (const auto end = sentence.find(" (found"); end != std::string_view::npos) sentence = sentence.substr(0, end);
  return std::string{sentence.substr(0, sentence.find(';'))};
}

/// Reasons that come so often that looking them up would cost more than judging does.
enum class frequent_reason : std::uint8_t { too_large, uneven_batch, uneven_stages, other_batch };
inline constexpr std::array<std::string_view, 4> frequent_reasons{"does not fit", "the global batch does not divide by the data-parallel ranks",
                                                                  "interleaved stages need a multiple of parallel.pipeline micro-batches",
                                                                  "the global batch is not made of batch.micro or batch.accumulation as given"};

/// Jobs are numbered in the order of the search.
template <class Judge>
class verdicts {
 public:
  verdicts(const search& s, Judge judge, const plan_options& o) : search_(&s), judge_(judge), options_(&o) {}

  void start(std::uint64_t ordinal) { ordinal_ = ordinal; }
  /// Adds what was counted since the last time.
  void finish(plan_result& r) {
    for (std::size_t i = 0; i < counted_.size(); ++i)
      if (const auto n = std::exchange(counted_[i], 0); n > 0) r.rejected[std::string{frequent_reasons[i]}] += n;
    for (const auto& [sentence, n] : refused_) r.rejected[reason_of(sentence)] += n;
    refused_.clear();
  }

  /// Jobs that are not numbered.
  void leave_out(frequent_reason why) { ++counted_[static_cast<std::size_t>(why)]; }
  /// A job that is known not to fit, or not to be possible.
  void pass_over(frequent_reason why, plan_result& r) {
    ++ordinal_;
    ++r.passed_over;
    leave_out(why);
  }
  /// `j` begins a line.
  void begin(const job& j) {
    if constexpr (judges_lines<Judge>) judge_.begin(j);
  }
  /// False: it does not fit.
  bool look(const job& j, plan_result& r) {
    if (cuts_stages(search_->job, j) || cuts_by_time(*search_, j)) [[unlikely]] return look_divided(j, r);
    return look_at(j, r);
  }

 private:
  /// In each way that its stages may be cut.
  bool look_divided(const job& j, plan_result& r) {
#if HEADROOM_EXCEPTIONS
    try {
#endif
      bool any = false;
      for (const auto& way : stage_divisions(j)) {
        begin(way);
        any = look_at(way, r) || any;
      }
      return any;
#if HEADROOM_EXCEPTIONS
    } catch (const error& e) {
      ++r.evaluated;
      ++ordinal_;
      ++r.rejected[reason_of(e.what())];
    }
    return true;
#endif
  }
  bool look_at(const job& j, plan_result& r) {
    ++r.evaluated;
    const auto ordinal = ordinal_++;
#if HEADROOM_EXCEPTIONS
    try {
#endif
      auto seen = judged(j);
      if (seen.refused) {
        count(seen.refused.sentence);
        return true;
      }
      if (!seen.fits) {
        leave_out(frequent_reason::too_large);
        return false;
      }
      ++r.fitting;
      bool fast = among_best(r.best, seen, ordinal, options_->top), front = in_front(r.front, seen, ordinal, all_gpus_of(j));
      if (!(fast || front) || left_out(ordinal)) return true;
      if constexpr (judges_lines<Judge>) {
        seen.seconds = judge_.seconds();
        fast = fast && among_best(r.best, seen, ordinal, options_->top), front = front && in_front(r.front, seen, ordinal, all_gpus_of(j));
      }
      if (fast || front) keep(j, seen, ordinal, fast, front, r);
#if HEADROOM_EXCEPTIONS
    } catch (const error& e) {
      ++r.rejected[reason_of(e.what())];
    }
#endif
    return true;
  }

  judged_plan judged(const job& j) {
    if constexpr (judges_lines<Judge>) return judge_.next();
    else return judge_(j);
  }

  [[gnu::noinline]] void keep(const job& j, const judged_plan& seen, std::uint64_t ordinal, bool fast, bool front, plan_result& r) const {
    if (fast) keep_best(r.best, {j, seen, ordinal}, options_->top);
    if (front) keep_front(r.front, {j, seen, ordinal});
  }
  [[nodiscard]] bool left_out(std::uint64_t ordinal) const {
    return options_->left_out != nullptr && std::binary_search(options_->left_out->begin(), options_->left_out->end(), ordinal);
  }
  /// A refusal. Sentences are the library's own: as many as there are places that refuse.
  void count(const char* sentence) {
    for (auto& [known, n] : refused_)
      if (known == sentence) return ++n, void();
    refused_.emplace_back(sentence, 1);
  }

  const search* search_;
  Judge judge_;
  const plan_options* options_;
  std::array<std::int64_t, frequent_reasons.size()> counted_{};
  std::vector<std::pair<const char*, std::int64_t>> refused_;
  std::uint64_t ordinal_ = 0;
};

}  // namespace headroom::detail
