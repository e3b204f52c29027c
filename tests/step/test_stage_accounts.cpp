// Distributed under the Boost Software License, Version 1.0.
// What a stage of Megatron-LM's 1F1B holds, tensor by tensor, where the schedule's variables are variables.
// Source: Megatron-LM core/pipeline_parallel/schedules.py forward_backward_pipelining_without_interleaving.
#include "megatron_chunk.hpp"

#include <deque>

namespace test_stage_accounts {

using namespace headroom;
using namespace ledger;

namespace {

template <class T>
T pop(std::deque<T>& q) {
  T r = q.front();
  q.pop_front();
  return r;
}

class megatron_stage {
 public:
  megatron_stage(const job& j, std::int64_t stage, std::int64_t first, amounts always) : j_(j), s_(settle(j)), is_(std::move(always)), chunk_(j_, s_, is_, stage, first), ahead_(j.parallel.pipeline - stage - 1) {}

  const account& run() {
    const auto micros = j_.batch.accumulation, warm = std::min(ahead_, micros);
    std::shared_ptr<received> input_tensor;
    std::shared_ptr<result> output_tensor;
    std::shared_ptr<held_tensor> output_tensor_grad, input_tensor_grad;
    std::deque<std::shared_ptr<received>> input_tensors;
    std::deque<std::shared_ptr<result>> output_tensors;
    std::int64_t next = 0;
    for (; next < warm; ++next) {
      input_tensor = chunk_.receive();
      output_tensor = chunk_.forward(input_tensor, next);
      input_tensors.push_back(input_tensor);
      output_tensors.push_back(output_tensor);
    }
    if (next < micros) input_tensor = chunk_.receive();
    for (; next < micros; ++next) {
      output_tensor = chunk_.forward(input_tensor, next);
      output_tensor_grad = chunk_.receive_gradient();
      input_tensors.push_back(input_tensor);
      output_tensors.push_back(output_tensor);
      input_tensor = pop(input_tensors);
      output_tensor = pop(output_tensors);
      input_tensor_grad = chunk_.backward(input_tensor, output_tensor->micro);
      input_tensor = next + 1 < micros ? chunk_.receive() : nullptr;
    }
    while (!input_tensors.empty()) {
      input_tensor = pop(input_tensors);
      output_tensor = pop(output_tensors);
      output_tensor_grad = chunk_.receive_gradient();
      input_tensor_grad = chunk_.backward(input_tensor, output_tensor->micro);
    }
    // The function returns.
    input_tensor = nullptr, output_tensor = nullptr, output_tensor_grad = nullptr, input_tensor_grad = nullptr;
    is_.look(phase::save);
    return is_;
  }

 private:
  const job& j_;
  settled_job s_;
  account is_;
  megatron_chunk chunk_;
  std::int64_t ahead_;
};

}  // namespace

TEST_CASE("a stage of Megatron's 1F1B, by its schedule's variables") {
  draw::dice dice(20261130);
  int seen = 0;
  for (int i = 0; i < 80; ++i) {
    const auto stages = dice.pick({2, 3, 4});
    const auto j = drawn_pipeline(dice, stages, 1);
    CAPTURE(i);
    try {
      (void)estimate(j);
    } catch (const job_error&) {
      continue;
    }
    std::int64_t first = 0;
    for (const auto& rank : estimate(j)) {
      CAPTURE(rank.pipeline_stage);
      auto always = amounts_of(rank.at_phase[static_cast<std::size_t>(phase::save)]);
      always[row::communication_buffers] -= rank.pipeline_stage > 0 ? 2 * bytes_of_input(j) : 0;  // what its layers still name
      megatron_stage plain(j, rank.pipeline_stage, first, always);
      check_rank(rank, plain.run(), {phase::forward, phase::loss_forward, phase::backward, phase::save});
      first += j.parallel.stage_layers[rank.pipeline_stage];
      ++seen;
    }
  }
  CHECK(seen >= 150);
}

}  // namespace test_stage_accounts
