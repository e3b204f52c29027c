// Distributed under the Boost Software License, Version 1.0.
// The loss that balances experts, line by line as transformers' load_balancing_loss_func (models/mixtral/modeling_mixtral.py at 3cd1a2307, 2026-08-21) runs it:
// Python's names, and what is on the GPU while they stand for something. Another account than the library's.
#include "../estimate/dice.hpp"

#include <headroom/block/balancing_loss.hpp>
#include <headroom/block/walk.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace test_balancing_loss {

using namespace headroom;

namespace {

/// What Python's names stand for: bytes in blocks of 512.
class names {
 public:
  void set(const std::string& name, std::int64_t elements, std::int64_t width) {
    const auto size = (elements * width + 511) / 512 * 512;
    now_ += size;  // made before what the name stood for goes
    most_ = now_ > most_ ? now_ : most_;
    now_ -= at_[name];
    at_[name] = size;
  }
  void del(const std::string& name) { now_ -= at_[name], at_.erase(name); }
  [[nodiscard]] std::int64_t size(const std::string& name) const { return at_.at(name); }
  [[nodiscard]] std::int64_t most() const { return most_; }

 private:
  std::map<std::string, std::int64_t> at_;
  std::int64_t now_ = 0, most_ = 0;
};

struct run {
  std::int64_t forward{}, saved{}, backward{};
};

/// Sums over all tokens, of some numbers for each expert, are left out, as the library does.
run of_transformers(std::int64_t sparse_layers, std::int64_t tokens, std::int64_t experts, std::int64_t top_k, bool mask, bool autocast, std::int64_t width) {
  names n;
  run r;
  for (std::int64_t layer = 0; layer < sparse_layers; ++layer) n.set("router_logits[" + std::to_string(layer) + "]", tokens * experts, width);
  const auto rows = sparse_layers * tokens;
  n.set("concatenated_gate_logits", rows * experts, width);
  if (autocast) n.set("cast", rows * experts, 4);  // softmax is one of autocast's fp32 functions (aten/src/ATen/autocast_mode.h, AT_FORALL_FP32)
  const auto wide = autocast ? 4 : width;
  n.set("routing_weights", rows * experts, wide);
  if (autocast) n.del("cast");
  n.set("_", rows * top_k, wide), n.set("selected_experts", rows * top_k, 8);
  n.set("expert_mask", rows * top_k * experts, 8);
  r.saved = n.size("routing_weights");  // by softmax
  if (!mask) {
    n.set("float", rows * top_k * experts, 4), n.del("float");
  } else {
    n.set("expert_attention_mask", rows * top_k * experts, 8);
    n.set("float", rows * top_k * experts, 4), n.set("product", rows * top_k * experts, 4);
    n.del("float"), n.del("product");
    n.set("router_per_expert_attention_mask", rows * experts, 8);
    r.saved += n.size("router_per_expert_attention_mask");  // by the product with what has a gradient
    n.set("product", rows * experts, wide), n.del("product");
  }
  r.forward = n.most();
  // Backward: the gradient of the probabilities, as a product or spread over the rows by the division, and softmax's of its input.
  r.backward = 2 * n.size("routing_weights");
  return r;
}

run of_library(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  program p(sc.granule);
  const auto x = p.input(1, 4, true);
  const auto scalar = p.make(1, 4);
  p.step(x.bit(), scalar.bit());
  p.set_output(ops::balance_experts(p, sc, scalar));
  const auto forward = walk_forward(p), checkpointed = walk_forward(p, recording::off);
  run r{forward.peak.total.count(), forward.saved.count(), 0};
  CHECK(checkpointed.peak.total <= forward.peak.total);
  r.backward = walk_backward(p).peak.total.count() - r.saved;
  return r;
}

}  // namespace

TEST_CASE("four hundred losses that balance experts, line by line") {
  draw::dice dice{1127};
  int masked = 0, cast = 0;
  for (int i = 0; i < 400; ++i) {
    job j;
    j.model = models::qwen3_30b_a3b;
    j.model.layers = 1 + static_cast<std::int64_t>(dice.index(8));
    j.model.experts.count = dice.pick({8, 16, 64, 128});
    j.model.experts.active = dice.pick({1, 2, 4, 8});
    j.model.experts.every = dice.pick({1, 2});
    j.hardware.gpu = gpus::h100_sxm_80gb;
    const auto how = dice.index(3);  // the Trainer's autocast, DeepSpeed's own bf16, fp32
    j.framework = how == 1 ? frameworks::deepspeed : frameworks::hf_trainer;
    if (how == 1) j.sharding = zero(2);
    j.precision = how == 0 ? precisions::bf16_autocast : how == 1 ? precisions::bf16_mixed : precisions::fp32;
    j.batch = {.micro = dice.pick({1, 2, 3}), .sequence = 64 * (1 + static_cast<std::int64_t>(dice.index(20))), .packed = dice.flip()};
    j.attention = attention::flash;
    if (how == 2) j.attention = attention::sdpa, j.batch.packed = false;
    j.loss.balances_experts = true;
    const auto sparse = j.model.experts.every == 1 ? j.model.layers : j.model.layers / 2;  // decoder_sparse_step: (layer + 1) % 2 == 0
    if (sparse == 0) continue;
    CAPTURE(i);
    CAPTURE(how);
    CAPTURE(j.batch.packed);
    const auto theirs = of_transformers(sparse, j.batch.micro * j.batch.sequence, j.model.experts.count, j.model.experts.active, !j.batch.packed, how == 0, how == 2 ? 4 : 2);
    const auto ours = of_library(j);
    // Beside it: the scalar, the sum and what they are made of, 512 bytes each.
    for (const auto& [a, b] : {std::pair{ours.forward, theirs.forward}, {ours.saved, theirs.saved}, {ours.backward, theirs.backward}}) {
      CHECK(a >= b);
      CHECK(a <= b + 4 * 512);
    }
    masked += j.batch.packed ? 0 : 1;
    cast += how == 0 ? 1 : 0;
  }
  CHECK(masked > 100);
  CHECK(cast > 80);
}

}  // namespace test_balancing_loss
