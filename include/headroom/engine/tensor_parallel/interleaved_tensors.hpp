// Distributed under the Boost Software License, Version 1.0.
// Tensors as large as a stage's input that the variables of Megatron-LM's interleaved schedule name, beside what its layers hold.
// Source: core/pipeline_parallel/schedules.py forward_backward_pipelining_with_interleaving, recv_tensor_from_previous_stage; core/transformer/
// transformer_block.py set_input_tensor.
#pragma once

#include <headroom/layout/schedule.hpp>

#include <array>
#include <bit>

namespace headroom::detail {

/// Sends and receives run beside the computing, so that
///  - an input that has come waits for its forward, and a gradient for its backward: longer at the ends of the pipeline, where groups are wider than stages;
///  - what a forward gave is there during the backward that follows it, since it is let go before the next forward;
///  - each chunk's layers name their last input (TransformerBlock.input_tensor), and `input_tensor` the one that came last in the warm-up, unless that
///    overlaps, too: once their backward has run they are of no use, but there, and their gradients with them;
///  - `input_tensor_grad` names the gradient of the last backward.
class interleaved_tensors {
 public:
  constexpr interleaved_tensors(const pipeline_plan& p, std::int64_t stage, bool overlaps_warm_up)
      : stages_(p.stages), stage_(stage), chunks_(p.chunks), micros_(p.micros), group_(p.group > 0 ? p.group : p.stages), total_(p.micros * p.chunks), overlaps_(overlaps_warm_up) {
    warm_ = least(total_, 2 * (stages_ - stage_ - 1) + (chunks_ - 1) * group_);
    inputs_ = stage_ == 0 ? 0 : 1;
  }
  /// How many there are while this forward runs; then what follows it is received.
  constexpr std::int64_t forward(const work& step) {
    const bool begins = stage_ == 0 && step.chunk == 0;
    micro_[static_cast<std::size_t>(step.chunk)] = static_cast<std::int32_t>(step.micro);
    used_ &= ~bit(step.chunk);
    if (!begins) inputs_ = inputs_ > 0 ? inputs_ - 1 : 0;
    const auto named = inputs_ + gradients_ + used();
    const auto k = up_++;
    ends_ = stage_ + 1 == stages_ && step.chunk + 1 == chunks_;
    if (const auto next = comes(k, true); next.chunk >= 0) {
      ++inputs_;
      if (k + 1 == warm_ && !overlaps_) in_variable_ = next;
    }
    if (k + 1 == warm_ && stage_ + 1 < stages_) ++gradients_;
    return named;
  }
  /// … while this backward runs.
  constexpr std::int64_t backward(const work& step) {
    const bool begins = stage_ == 0 && step.chunk == 0, ends = stage_ + 1 == stages_ && step.chunk + 1 == chunks_;
    if (!ends) gradients_ = gradients_ > 0 ? gradients_ - 1 : 0;
    const auto named = inputs_ + gradients_ + used() + (down_ + warm_ < total_ && !ends_ ? 1 : 0);
    last_ = begins ? work{.chunk = -1} : step;
    if (!begins && micro_[static_cast<std::size_t>(step.chunk)] == step.micro) used_ |= bit(step.chunk);
    if (in_variable_.chunk == step.chunk && in_variable_.micro == step.micro) variable_used_ = true;
    if (comes(down_++, false).chunk >= 0) ++gradients_;
    return named;
  }

 private:
  static constexpr std::uint64_t bit(std::int64_t chunk) { return std::uint64_t{1} << chunk; }
  [[nodiscard]] constexpr bool layers_name(const work& w) const { return w.chunk >= 0 && (used_ & bit(w.chunk)) != 0 && micro_[static_cast<std::size_t>(w.chunk)] == w.micro; }
  /// Inputs and gradients that are of no use any more.
  [[nodiscard]] constexpr std::int64_t used() const {
    std::int64_t n = 2 * std::popcount(used_);
    const bool by_variable = variable_used_ && !layers_name(in_variable_);
    n += by_variable ? 2 : 0;
    const bool named = layers_name(last_) || (by_variable && last_.chunk == in_variable_.chunk && last_.micro == in_variable_.micro);
    return n + (last_.chunk >= 0 && !named ? 1 : 0);
  }
  /// The k-th forward of the stage, or backward.
  [[nodiscard]] constexpr work at(std::int64_t k, bool up) const {
    const auto round = k / (group_ * chunks_), inside = k % (group_ * chunks_);
    const auto width = least(group_, micros_ - round * group_);
    const auto chunk = inside / width;
    return {.chunk = up ? chunk : chunks_ - 1 - chunk, .micro = round * group_ + inside % width};
  }
  /// What is received beside the k-th; a chunk of -1: nothing. The stage at which the model begins gets what the last one gave so many steps ago.
  [[nodiscard]] constexpr work comes(std::int64_t k, bool up) const {
    const work nothing{.chunk = -1};
    if (k + 1 >= total_) return nothing;
    if (stage_ != (up ? 0 : stages_ - 1)) return at(k + 1, up);
    if (k < stages_ - 1) return nothing;
    auto given = at(k - (stages_ - 1), up);
    if (given.chunk == (up ? chunks_ - 1 : 0)) return nothing;
    given.chunk += up ? 1 : -1;
    return given;
  }

  std::int64_t stages_, stage_, chunks_, micros_, group_, total_, warm_{};
  bool overlaps_, ends_{}, variable_used_{};
  std::int64_t up_{}, down_{}, inputs_{}, gradients_{};
  work in_variable_{.chunk = -1}, last_{.chunk = -1};
  std::array<std::int32_t, degrees::max_chunks> micro_{};  ///< of each chunk, that ran forward last
  std::uint64_t used_{};                                   ///< chunks whose layers name an input that is of no use
};

}  // namespace headroom::detail
