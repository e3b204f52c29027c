// Distributed under the Boost Software License, Version 1.0.
// Adapters over a frozen model, tensor by tensor, by another account than the library's: under FSDP2, DDP and alone.
// Sources: peft tuners/lora/layer.py; torch distributed/fsdp/_fully_shard/_fsdp_param_group.py (only what has a gradient is reduced);
// csrc/distributed/c10d/reducer.cpp; transformers PreTrainedModel.enable_input_require_grads.
#include "drawn_llama.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace test_adapter_account {

using namespace headroom;
using ledger::account;
using ledger::adapters;
using ledger::drawn;
using ledger::outside;
using ledger::run_of_model;
using ledger::sum;

namespace {

class with_adapters {
 public:
  explicit with_adapters(const job& j) : m_(j, ledger::resident(j)), ranks_(j.parallel.data), fsdp_(j.sharding.kind == sharding_kind::fsdp2), beside_(sum(adapters(j))) {
    stays_ = j.sharding.stays_gathered();
    returns_ = fsdp_ && !stays_ && j.framework.date >= 202508;  // of torch 2.8
  }

  const account& run() {
    const auto layers = m_.source.model.layers;
    for (std::int64_t m = 0; m < m_.source.batch.accumulation; ++m) {
      exist_ = m > 0;
      m_.enter(phase::forward);
      arrive(root), copy_out(root, true);
      m_.embed();
      m_.turn();
      for (std::int64_t i = 0; i < layers; ++i) {
        m_.enter(phase::forward);
        arrive(i), copy_out(i, true);
        m_.layer_up(i);
        if (!stays_) drop(i);
      }
      m_.enter(phase::loss_forward);
      m_.tail_up([] {});
      m_.free_if("arrived");
      if (returns_) drop(root);
      m_.enter(phase::backward);
      if (returns_) arrive(root), copy_out(root, false);
      if (!stays_) arrive(layers - 1);
      m_.tail_down([] {}, exist_);
      m_.free("fresh tail");
      for (auto i = layers; i-- > 0;) {
        m_.enter(phase::backward);
        if (!stays_) copy_out(i, false);
        if (!stays_ && i > 0) arrive(i - 1);
        m_.layer_down(i, exist_ && !fsdp_);
        if (fsdp_) m_.enter(phase::reduce);
        reduce(i);
      }
      m_.enter(phase::backward);
      m_.embed_down(exist_);
      m_.free("fresh embedding");
      if (m_.held.has("fresh table")) m_.free("fresh table");
      if (fsdp_) m_.enter(phase::reduce);
      drop(root);
      m_.free_if("reducing");
      m_.end_micro_batch(m + 1 == m_.source.batch.accumulation);
    }
    std::vector<std::int64_t> own;
    for (std::int64_t i = 0; i < layers; ++i)
      for (const auto n : adapters(m_.source)) own.push_back(fsdp_ ? (n + ranks_ - 1) / ranks_ : n);
    m_.update(own);
    return m_.held;
  }

 private:
  static constexpr std::int64_t root = -1;
  [[nodiscard]] std::int64_t base(std::int64_t u) const { return u == root ? outside(m_.elements) : sum(m_.elements.layer); }
  /// The frozen weights and the adapters, which FSDP2 casts alike (MixedPrecisionPolicy.param_dtype), in bf16.
  [[nodiscard]] std::int64_t elements_of(std::int64_t u) const { return base(u) + (u == root ? 0 : beside_); }
  [[nodiscard]] std::int64_t whole(std::int64_t u) const { return 2 * elements_of(u); }

  void arrive(std::int64_t u) {
    if (!fsdp_ || m_.held.has("arriving")) return;
    m_.held.make("cast shard", row::gathered_parameters, 2 * elements_of(u) / ranks_);
    m_.make("arriving", row::gathered_parameters, whole(u));
    m_.free("cast shard");
  }
  void copy_out(std::int64_t u, bool forward) {
    if (!fsdp_) return;
    if (forward) m_.free_if("arrived");
    m_.make(m_.named("whole", u), row::gathered_parameters, whole(u));
    m_.free("arriving");
    if (forward) m_.held.make("arrived", row::gathered_parameters, whole(u));
  }
  void drop(std::int64_t u) {
    if (fsdp_) m_.free(m_.named("whole", u));
  }
  void reduce(std::int64_t i) {
    const auto fresh = m_.named("fresh", i);
    if (!fsdp_) {
      if (exist_) return m_.free(fresh);
      const auto size = m_.held.alive().at(fresh);
      m_.free(fresh);
      return m_.held.make("kept " + fresh, size);
    }
    drop(i);
    m_.free_if("reducing");
    m_.make("reducing", row::communication_buffers, 4 * beside_);
    m_.free(fresh);
    if (exist_) m_.make("part", row::communication_buffers, 4 * beside_ / ranks_), m_.free("part");
    else m_.make(m_.named("gradient", i), row::gradients, 4 * beside_ / ranks_);
  }

  run_of_model m_;
  std::int64_t ranks_;
  bool fsdp_{}, stays_{}, returns_{}, exist_{};
  std::int64_t beside_;
};

}  // namespace

TEST_CASE("adapters over a frozen model, tensor by tensor") {
  draw::dice dice(20261201);
  for (int i = 0; i < 60; ++i) {
    auto j = drawn(dice);
    j.framework = *std::vector<const profile*>{&frameworks::hf_trainer, &frameworks::hf_trainer_2023}[dice.index(2)];
    j.adapter = {.kind = adapter_kind::lora, .rank = dice.pick({8, 16}), .targets = all_linear, .format = formats::fp32};
    switch (dice.index(3)) {
      case 0: j.sharding = fsdp2(dice.pick({2, 3})); break;
      case 1: j.sharding = ddp(); break;
      default: j.parallel.data = 1, j.hardware.gpus_per_node = 1; break;
    }
    j.precision = j.sharding.kind == sharding_kind::fsdp2 ? precision{"fp32-reduced", formats::fp32, formats::bf16, formats::fp32, formats::fp32, formats::none, formats::fp32} : precisions::bf16;
    CAPTURE(i);
    CAPTURE(j.framework.date);
    CAPTURE(static_cast<int>(j.sharding.kind));
    const auto r = estimate(j);
    with_adapters plain(j);
    ledger::check_rank(r.ranks[0], plain.run(), ledger::steps);
  }
}

}  // namespace test_adapter_account
