// Distributed under the Boost Software License, Version 1.0.
// What a stage of Megatron-LM's 1F1B holds, tensor by tensor, where the schedule's variables are variables: what none of them and no graph refers to
// any more goes, as in Python. Layers, head and loss weigh what the library's do (tests/block).
// Source: Megatron-LM core/pipeline_parallel/schedules.py forward_backward_pipelining_without_interleaving, backward_step, deallocate_output_tensor;
// core/transformer/transformer_block.py set_input_tensor, _checkpointed_forward.
#include "../estimate/dice.hpp"
#include "ledger.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace test_stage_accounts {

using namespace headroom;
using ledger::account;
using ledger::amounts;
using ledger::amounts_of;
using ledger::operator+;

namespace {

/// A tensor that lives as long as something refers to it.
struct tensor {
  account* is;
  std::string name;
  tensor(account& to, std::string what, row of, std::int64_t size) : is(&to), name(std::move(what)) { to.make(name, of, size); }
  ~tensor() { is->free(name); }
  tensor(const tensor&) = delete;
  tensor& operator=(const tensor&) = delete;
};
/// What a stage has received, with its gradient once it has one.
struct received {
  std::shared_ptr<tensor> data, gradient;
};
/// The result of a stage's forward: its graph, which refers to what it began with. The data are let go once they are sent.
struct result {
  std::shared_ptr<received> input;
  std::int64_t micro;
};

template <class T>
T pop(std::deque<T>& q) {
  T r = q.front();
  q.pop_front();
  return r;
}

class megatron_stage {
 public:
  megatron_stage(const job& j, std::int64_t stage, std::int64_t first, std::int64_t count, amounts always)
      : j_(j), s_(settle(j)), sc_(s_.layer), begins_(stage == 0), ends_(stage + 1 == j.parallel.pipeline), ahead_(j.parallel.pipeline - stage - 1), first_(first), count_(count), is_(std::move(always)) {
    sc_.model = &s_.model;
    x_ = 2 * (sc_.sequence_split > 1 ? sc_.tokens / sc_.sequence_split : sc_.tokens) * j.model.hidden;
  }

  const account& run() {
    const auto micros = j_.batch.accumulation, warm = std::min(ahead_, micros);
    std::shared_ptr<received> input_tensor;
    std::shared_ptr<result> output_tensor;
    std::shared_ptr<tensor> output_tensor_grad, input_tensor_grad;
    std::deque<std::shared_ptr<received>> input_tensors;
    std::deque<std::shared_ptr<result>> output_tensors;
    std::int64_t next = 0;
    for (; next < warm; ++next) {
      input_tensor = receive(next);
      output_tensor = forward(input_tensor, next);
      input_tensors.push_back(input_tensor);
      output_tensors.push_back(output_tensor);
    }
    if (next < micros) input_tensor = receive(next);
    for (; next < micros; ++next) {
      output_tensor = forward(input_tensor, next);
      output_tensor_grad = receive_gradient();
      input_tensors.push_back(input_tensor);
      output_tensors.push_back(output_tensor);
      input_tensor = pop(input_tensors);
      output_tensor = pop(output_tensors);
      input_tensor_grad = backward(input_tensor, *output_tensor);
      input_tensor = next + 1 < micros ? receive(next + 1) : nullptr;
    }
    while (!input_tensors.empty()) {
      input_tensor = pop(input_tensors);
      output_tensor = pop(output_tensors);
      output_tensor_grad = receive_gradient();
      input_tensor_grad = backward(input_tensor, *output_tensor);
    }
    // The function returns.
    input_tensor = nullptr, output_tensor = nullptr, output_tensor_grad = nullptr, input_tensor_grad = nullptr;
    is_.look(phase::save);
    return is_;
  }

 private:
  [[nodiscard]] std::string numbered(const char* what) { return std::string(what) + " " + std::to_string(++names_); }
  static std::string of(const char* what, std::int64_t layer, std::int64_t micro) { return std::string(what) + " " + std::to_string(layer) + " " + std::to_string(micro); }

  std::shared_ptr<received> receive(std::int64_t) {
    if (begins_) return std::make_shared<received>();
    return std::make_shared<received>(received{std::make_shared<tensor>(is_, numbered("input"), row::activations, x_), nullptr});
  }
  std::shared_ptr<tensor> receive_gradient() {
    if (ends_) return nullptr;
    return std::make_shared<tensor>(is_, numbered("gradient of output"), row::communication_buffers, x_);
  }
  [[nodiscard]] bool recomputes(std::int64_t n) const {
    const auto& r = j_.recompute;
    return r.mode == recompute_mode::full && (r.method != recompute_method::block || n < r.layers);
  }
  [[nodiscard]] std::int64_t in_checkpoint() const { return j_.recompute.method == recompute_method::uniform && j_.recompute.layers > 1 ? j_.recompute.layers : 1; }
  [[nodiscard]] detail::divided_walk layer(std::int64_t n) const {
    return detail::walk_divided_layer(sc_, trained_modules(*s_.source, -1), s_.model.kind_of(first_ + n), recomputes(n));
  }
  /// The stage's input is a tensor of its own.
  [[nodiscard]] amounts own(std::int64_t n) const { return {{row::activations, n == 0 && !begins_ ? -x_ : 0}}; }

  std::shared_ptr<result> forward(const std::shared_ptr<received>& input, std::int64_t micro) {
    attribute_ = input;
    is_.make(of("mask", -1, micro), row::activations, begins_ && j_.dropout.embedding.per_million > 0 ? x_ / 2 : 0);
    for (std::int64_t n = 0; n < count_; ++n) {
      const auto l = layer(n);
      if (!recomputes(n)) {
        REQUIRE(l.input_saved);
        is_.look(phase::forward, amounts_of(l.forward) + own(n));
        is_.make(of("kept", n, micro), amounts_of(l.saved) + own(n));
        continue;
      }
      const bool inside = n % in_checkpoint() > 0;  // of a checkpoint that an earlier layer began, and whose input stays
      is_.look(phase::forward, amounts_of(l.forward_off) + own(n));
      if (!inside) is_.make(of("kept", n, micro), amounts{{row::activations, x_}} + own(n));
    }
    if (ends_)
      with_made([&] { return megatron::last_block(sc_, trained_modules(*s_.source, -1)); }, [&](const program& p) {
        const auto f = walk_forward(p);
        is_.look(phase::loss_forward, amounts_of(f.peak));
        is_.make(of("kept head", -1, micro), amounts_of(f.saved_rows));
      });
    return std::make_shared<result>(result{input, micro});
  }

  std::shared_ptr<tensor> backward(const std::shared_ptr<received>& input, const result& output) {
    const auto micro = output.micro;
    if (ends_)
      with_made([&] { return megatron::last_block(sc_, trained_modules(*s_.source, -1)); }, [&](const program& p) {
        is_.free(of("kept head", -1, micro));
        is_.look(phase::backward, amounts_of(walk_backward(p, true).peak));
      });
    for (auto n = count_; n-- > 0;) {
      // What came in is the schedule's, while the last layer computes with it, too.
      const bool comes_in = n + 1 == count_ && !ends_;
      const amounts taken{{row::communication_buffers, comes_in ? -x_ : 0}};
      const auto l = layer(n);
      if (!recomputes(n)) {
        is_.free(of("kept", n, micro));
        is_.look(phase::backward, amounts_of(comes_in ? l.backward_first : l.backward) + own(n) + taken);
        continue;
      }
      const auto begin = n / in_checkpoint() * in_checkpoint();
      if (n + 1 == count_ || (n + 1) % in_checkpoint() == 0) again(begin, n, micro, taken);
      is_.free(of("again", n, micro));
      is_.look(phase::backward, amounts_of(l.backward) + amounts{{row::activations, l.input_saved ? 0 : x_}} + own(n) + taken);
    }
    is_.free(of("mask", -1, micro));
    if (begins_) return nullptr;
    input->gradient = std::make_shared<tensor>(is_, numbered("gradient of input"), row::communication_buffers, x_);
    input->data = nullptr;  // from now on it is of use to nobody, but there
    input->data = std::make_shared<tensor>(is_, numbered("used input"), row::communication_buffers, x_);
    return input->gradient;
  }
  /// The layers of a checkpoint run forward once more, beside the gradient of what they gave.
  void again(std::int64_t begin, std::int64_t last, std::int64_t micro, const amounts& taken) {
    is_.free(of("kept", begin, micro));
    for (auto n = begin; n <= last; ++n) {
      const auto l = layer(n);
      is_.look(phase::backward, amounts_of(l.forward) + amounts{{row::temporaries, x_}} + own(n) + taken);
      is_.make(of("again", n, micro), amounts_of(l.saved) + (l.input_saved ? own(n) : amounts{}));
    }
  }

  const job& j_;
  settled_job s_;
  scene sc_;
  bool begins_, ends_;
  std::int64_t ahead_, first_, count_, x_{}, names_{};
  account is_;
  std::shared_ptr<received> attribute_;  // TransformerBlock.input_tensor
};

job drawn(draw::dice& dice) {
  job j;
  auto& p = j.parallel;
  j.framework = frameworks::megatron;
  j.framework.attention.masks_in_loader = false;
  p.pipeline = dice.pick({2, 3, 4});
  p.tensor = dice.pick({1, 2});
  p.sequence = p.tensor > 1 && dice.flip();
  p.data = dice.pick({1, 2});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = p.pipeline * p.data, .gpus_per_node = p.tensor};
  j.model = {.hidden = 512, .heads = 8, .kv_heads = dice.pick({2, 8}), .ffn = dice.pick({1024, 2048}), .vocab = dice.pick({1024, 32768})};
  p.chunks = static_cast<std::int32_t>(p.pipeline);
  for (std::int32_t i = 0; i < p.chunks; ++i) j.model.layers += p.stage_layers[i] = static_cast<std::int32_t>(dice.pick({1, 2, 4}));
  if (dice.index(3) == 0) j.model.experts = {.count = 8, .active = 2, .ffn = 512, .shared_ffn = dice.flip() ? 512 : 0, .first_dense_layers = dice.pick({0, 1})};
  j.sharding.kind = dice.flip() ? sharding_kind::ddp : sharding_kind::megatron_distributed_optimizer;
  j.batch = {.micro = dice.pick({1, 2}), .sequence = dice.pick({256, 1024}), .accumulation = dice.pick({1, 3, 8, 20})};
  j.attention = dice.flip() ? attention::flash : attention::eager;
  if (dice.flip()) j.dropout = {{100'000}, {100'000}, {100'000}};
  switch (dice.index(5)) {
    case 0: break;
    case 1: j.recompute = recompute::full; break;
    case 2: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = dice.pick({1, 3})}; break;
    case 3: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = dice.pick({1, 2, 3})}; break;
    default: j.recompute = {.mode = recompute_mode::selective, .modules = static_cast<std::uint32_t>(dice.pick({1, 2, 3}))}; break;
  }
  return j;
}

}  // namespace

TEST_CASE("a stage of Megatron's 1F1B, by its schedule's variables") {
  draw::dice dice(20261130);
  int seen = 0;
  for (int i = 0; i < 80; ++i) {
    const auto j = drawn(dice);
    CAPTURE(i);
    try {
      (void)estimate(j);
    } catch (const job_error&) {
      continue;
    }
    std::int64_t first = 0;
    for (const auto& rank : estimate(j)) {
      CAPTURE(rank.pipeline_stage);
      const auto count = static_cast<std::int64_t>(j.parallel.stage_layers[rank.pipeline_stage]);
      auto always = amounts_of(rank.at_phase[static_cast<std::size_t>(phase::save)]);
      const auto x = 2 * j.batch.micro * j.batch.sequence * j.model.hidden / (j.parallel.sequence ? j.parallel.tensor : 1);
      always[row::communication_buffers] -= rank.pipeline_stage > 0 ? 2 * x : 0;  // what its layers still name
      megatron_stage plain(j, rank.pipeline_stage, first, count, always);
      ledger::check_rank(rank, plain.run(), {phase::forward, phase::loss_forward, phase::backward, phase::save});
      first += count;
      ++seen;
    }
  }
  CHECK(seen >= 150);
}

}  // namespace test_stage_accounts
