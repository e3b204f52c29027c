// Distributed under the Boost Software License, Version 1.0.
// What a stage of Megatron-LM's interleaved 1F1B holds, tensor by tensor, where the schedule's variables are variables. Sends and receives run beside
// the computing, so that a result's data are let go before the next forward, and not before the backward in between.
// Source: Megatron-LM core/pipeline_parallel/schedules.py forward_backward_pipelining_with_interleaving, with overlap_p2p_comm and without
// overlap_p2p_comm_warmup_flush.
#include "megatron_chunk.hpp"

#include <deque>
#include <vector>

namespace test_interleaved_account {

using namespace headroom;
using namespace ledger;

namespace {

class interleaved_stage {
 public:
  interleaved_stage(const job& j, std::int64_t stage, amounts always) : j_(j), s_(settle(j)), is_(std::move(always)), stage_(stage), stages_(j.parallel.pipeline), micros_(j.batch.accumulation) {
    group_ = j.framework.pipeline.microbatch_group > 0 ? j.framework.pipeline.microbatch_group : stages_;
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < stages_ * j.parallel.virtual_pipeline; ++i) {
      if (i % stages_ == stage) chunks_.emplace_back(j_, s_, is_, i, first);
      first += j.parallel.stage_layers[i];
    }
    for (std::int64_t begin = 0; begin < micros_; begin += group_)
      for (std::size_t c = 0; c < chunks_.size(); ++c)
        for (auto m = begin; m < std::min(begin + group_, micros_); ++m) table_.push_back({c, m});
    inputs_.resize(chunks_.size()), outputs_.resize(chunks_.size()), gradients_.resize(chunks_.size());
    fwd_buffer_.resize(stage == 0 ? static_cast<std::size_t>(group_ - stages_ + 1) : 1);
    bwd_buffer_.resize(stage + 1 == stages_ ? static_cast<std::size_t>(group_ - stages_ + 1) : 1);
  }

  const account& run() {
    const auto total = table_.size(), ahead = static_cast<std::size_t>(2 * (stages_ - stage_ - 1)) + (chunks_.size() - 1) * static_cast<std::size_t>(group_);
    const auto warm = std::min(ahead, total), steady = total - warm;
    std::shared_ptr<received> input_tensor;
    std::shared_ptr<result> output_tensor;
    std::shared_ptr<held_tensor> input_tensor_grad, output_tensor_grad;
    inputs_[0].push_back(chunks_[0].receive());
    for (std::size_t k = 0; k < warm; ++k) {
      output_tensor = forward(k);
      if (chunks_[table_[k].chunk].ends()) output_tensor = nullptr;
      auto [comes, next] = receives(k, true);
      comes = comes && k + 1 < total;
      input_tensor = comes ? chunks_[next].receive() : nullptr;
      if (comes) inputs_[next].push_back(input_tensor);
      if (k + 1 == warm && steady > 0 && stage_ + 1 < stages_) gradients_.back().push_back(bwd_buffer_.back() = chunks_.back().receive_gradient());
    }
    for (std::size_t k = 0; k < steady; ++k) {
      if (output_tensor) output_tensor->data = nullptr;
      auto result = forward(k + warm);
      const auto& done = chunks_[table_[k + warm].chunk];
      if (done.ends())
        result = nullptr;
      else
        result->data = chunks_[table_[k + warm].chunk].output();
      {
        auto [comes, next] = receives(k + warm, true);
        comes = comes && k + 1 < steady;
        auto& slot = fwd_buffer_[(k + warm) % fwd_buffer_.size()];
        slot = comes ? chunks_[next].receive() : nullptr;
        if (comes) inputs_[next].push_back(slot), fwd_buffer_[(k + warm + 1) % fwd_buffer_.size()] = nullptr;
      }
      auto gradient = backward(k);
      {
        const auto [comes, next] = receives(k, false);
        auto& slot = bwd_buffer_[k % bwd_buffer_.size()];
        slot = comes ? chunks_[next].receive_gradient() : nullptr;
        if (comes) gradients_[next].push_back(slot), bwd_buffer_[(k + 1) % bwd_buffer_.size()] = nullptr;
      }
      output_tensor = result, input_tensor_grad = gradient;
    }
    if (output_tensor) output_tensor->data = nullptr;
    if (steady == 0 && stage_ + 1 < stages_) gradients_.back().push_back(chunks_.back().receive_gradient());
    for (auto k = steady; k < total; ++k) {
      auto [comes, next] = receives(k, false);
      comes = comes && k + 1 < total;
      input_tensor_grad = backward(k);
      output_tensor_grad = comes ? chunks_[next].receive_gradient() : nullptr;
      if (comes) gradients_[next].push_back(output_tensor_grad);
    }
    // The function returns.
    input_tensor = nullptr, output_tensor = nullptr, input_tensor_grad = nullptr, output_tensor_grad = nullptr;
    fwd_buffer_.clear(), bwd_buffer_.clear();
    is_.look(phase::save);
    return is_;
  }

 private:
  struct step {
    std::size_t chunk;
    std::int64_t micro;
  };
  [[nodiscard]] std::size_t chunk_of(std::size_t k, bool up) const {
    const auto c = table_[k % table_.size()].chunk;
    return up ? c : chunks_.size() - 1 - c;
  }
  /// recv_tensor_from_previous_stage: whether something comes while this runs, and for which chunk.
  [[nodiscard]] std::pair<bool, std::size_t> receives(std::size_t k, bool up) const {
    const auto last = up ? chunks_.size() - 1 : 0, away = static_cast<std::size_t>(stages_ - 1);
    if (stage_ != (up ? 0 : stages_ - 1)) return {true, chunk_of(k + 1, up)};  // the very last is told not to by the caller
    if (k < away) return {false, 0};
    const auto next = chunk_of(k - away, up);
    return {next != last, up ? next + 1 : next - 1};
  }
  std::shared_ptr<result> forward(std::size_t k) {
    const auto [c, micro] = table_[k];
    if (chunks_[c].begins() && inputs_[c].size() == outputs_[c].size()) inputs_[c].push_back(chunks_[c].receive());
    auto r = chunks_[c].forward(inputs_[c][outputs_[c].size()], micro);
    outputs_[c].push_back(r);
    return r;
  }
  std::shared_ptr<held_tensor> backward(std::size_t k) {
    const auto c = chunk_of(k, false);
    const auto input = inputs_[c].front();
    const auto output = outputs_[c].front();
    const auto gradient = chunks_[c].ends() ? nullptr : gradients_[c].front();
    inputs_[c].pop_front(), outputs_[c].pop_front();
    if (!chunks_[c].ends()) gradients_[c].pop_front();
    return chunks_[c].backward(input, output->micro);
  }

  const job& j_;
  settled_job s_;
  account is_;
  std::int64_t stage_, stages_, micros_, group_{};
  std::vector<megatron_chunk> chunks_;
  std::vector<step> table_;
  std::vector<std::deque<std::shared_ptr<received>>> inputs_;
  std::vector<std::deque<std::shared_ptr<result>>> outputs_;
  std::vector<std::deque<std::shared_ptr<held_tensor>>> gradients_;
  std::vector<std::shared_ptr<received>> fwd_buffer_;
  std::vector<std::shared_ptr<held_tensor>> bwd_buffer_;
};

}  // namespace

TEST_CASE("a stage of Megatron's interleaved 1F1B, by its schedule's variables") {
  draw::dice dice(20261203);
  int seen = 0;
  for (int i = 0; i < 60; ++i) {
    const auto stages = dice.pick({2, 3, 4}), chunks = dice.pick({2, 3, 5});
    auto j = drawn_pipeline(dice, stages, chunks);
    j.batch.accumulation = stages * dice.pick({1, 2, 4});
    if (dice.index(3) == 0 && j.batch.accumulation > stages) j.framework.pipeline.microbatch_group = static_cast<std::int32_t>(stages + 1), j.batch.accumulation = 2 * (stages + 1);
    CAPTURE(i);
    CAPTURE(stages);
    CAPTURE(chunks);
    CAPTURE(j.batch.accumulation);
    CAPTURE(j.framework.pipeline.microbatch_group);
    try {
      (void)estimate(j);
    } catch (const job_error&) {
      continue;
    }
    for (const auto& rank : estimate(j)) {
      CAPTURE(rank.pipeline_stage);
      auto always = amounts_of(rank.at_phase[static_cast<std::size_t>(phase::save)]);
      always[row::communication_buffers] -= 2 * (chunks - (rank.pipeline_stage == 0 ? 1 : 0)) * bytes_of_input(j);  // what its layers still name
      interleaved_stage plain(j, rank.pipeline_stage, always);
      check_rank(rank, plain.run(), {phase::forward, phase::loss_forward, phase::backward, phase::save});
      ++seen;
    }
  }
  CHECK(seen >= 120);
}

}  // namespace test_interleaved_account
