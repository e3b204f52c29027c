// Distributed under the Boost Software License, Version 1.0.
// FSDP1 that wraps each adapter matrix by itself beside flat frozen layers, tensor by tensor, by another account than the library's.
// Sources: peft utils/other.py fsdp_auto_wrap_policy; torch distributed/fsdp/_runtime_utils.py _pre_backward_hook, _prefetch_handle,
// _post_backward_reshard_only_hook; _exec_order_utils.py (units in the order in which forward left them).
#include "drawn_llama.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace test_wrapped_adapters {

using namespace headroom;
using ledger::account;
using ledger::adapters;
using ledger::amounts;
using ledger::drawn;
using ledger::outside;
using ledger::run_of_model;
using ledger::sizes;
using ledger::sum;

namespace {

class with_wrapped_adapters {
 public:
  explicit with_wrapped_adapters(const job& j) : m_(j, start(j)), ranks_(j.parallel.data), stays_(j.sharding.stays_gathered()), ahead_(j.sharding.backward_prefetch != choice::no), beside_(adapters(j)) {
    for (auto& n : beside_) n *= width(j);
    widest_ = *std::max_element(beside_.begin(), beside_.end());
  }

  const account& run() {
    const auto layers = m_.source.model.layers;
    for (std::int64_t n = 0; n < m_.source.batch.accumulation; ++n) {
      adds_ = n > 0;
      m_.enter(phase::forward);
      m_.make("root", row::gathered_parameters, 2 * outside(m_.elements));
      m_.embed();
      m_.turn();
      for (std::int64_t i = 0; i < layers; ++i) {
        gather(i);
        m_.make("a matrix", row::gathered_parameters, widest_);
        m_.layer_up(i);
        m_.free("a matrix");
        if (!stays_) m_.free(m_.named("whole", i));
      }
      m_.enter(phase::loss_forward);
      m_.tail_up([] {});
      m_.enter(phase::backward);
      const auto ask = [&] {
        if (!stays_ && ahead_) gather(layers - 1);
      };
      if (!m_.at.loss_outside()) ask();
      m_.tail_down([&] {
        if (m_.at.loss_outside()) ask();
      }, false);
      m_.free("fresh tail");
      for (auto i = layers; i-- > 0;) down(i);
      m_.enter(phase::backward);
      m_.embed_down(false);
      m_.free("fresh embedding"), m_.free_if("fresh table");
      m_.enter(phase::reduce);
      m_.free("root");
      m_.end_micro_batch(n + 1 == m_.source.batch.accumulation);
    }
    m_.enter(phase::step);
    std::int64_t all = 0;
    for (const auto n : beside_) all += layers * share(n);
    const auto how = m_.settled.optimizer.how;
    m_.make("update", row::temporaries, how == implementation::foreach ? m_.source.framework.optimizer.foreach_copies * all : 0);
    return m_.held;
  }

 private:
  /// PEFT of 2023 made adapters in fp32, whatever they were asked for in.
  static std::int64_t width(const job& j) { return j.framework.date == frameworks::hf_trainer_2023.date ? 4 : j.adapter.format.bits / 8; }
  [[nodiscard]] std::int64_t share(std::int64_t n) const { return (n + ranks_ - 1) / ranks_; }
  static amounts start(const job& j) {
    const auto s = settle(j);
    const sizes of(j.model);
    const auto part = [&](std::int64_t n) { return (n + j.parallel.data - 1) / j.parallel.data; };
    amounts r;
    r[row::model_parameters] = 2 * (of.tables * part(of.table) + part(of.norm));
    for (const auto n : of.layer) r[row::model_parameters] += 2 * j.model.layers * part(n);
    for (const auto n : adapters(j)) {
      const auto own = j.model.layers * part(n) * width(j);
      r[row::adapters] += own;
      r[row::optimizer_state] += 2 * own;
    }
    r[row::workspace] = j.framework.process.cublas_handles * cublas_workspace(s).count();
    r[row::activations] = 16 * j.batch.micro * j.batch.sequence + (j.framework.rotary.caches() ? 2 * j.batch.sequence * j.model.head_width() * 4 : 0);
    if (j.framework.rotary.tables == rope_tables::buffers_beside_mask) r[row::activations] += j.model.max_positions * (j.model.max_positions + 2 * j.model.head_width() * 4);
    return r;
  }
  void gather(std::int64_t i) { m_.make(m_.named("whole", i), row::gathered_parameters, 2 * sum(m_.elements.layer)); }

  /// The layer's backward with one of its matrices gathered; then each matrix is asked for by the one that forward left after it, and the layer
  /// before by the first.
  void down(std::int64_t i) {
    m_.enter(phase::backward);
    if (!stays_ && !ahead_) gather(i);
    m_.make("a matrix", row::gathered_parameters, widest_);
    m_.layer_down(i, false);
    m_.free("a matrix");
    m_.enter(phase::reduce);
    for (auto k = beside_.size(); k-- > 0;) {
      const bool before = k + 1 < beside_.size();
      if (before && !ahead_) reduce(i, k + 1);
      m_.make(m_.named("matrix", static_cast<std::int64_t>(k)), row::gathered_parameters, beside_[k]);
      if (before && ahead_) reduce(i, k + 1);
    }
    if (i > 0 && !stays_ && ahead_) gather(i - 1);
    reduce(i, 0);
    m_.free(m_.named("fresh", i));
    m_.free(m_.named("whole", i));
  }
  void reduce(std::int64_t i, std::size_t k) {
    const auto part = "part " + std::to_string(i) + " " + std::to_string(k) + (adds_ ? " again" : "");
    m_.make(part, row::gradients, share(beside_[k]));
    if (adds_) m_.free(part);  // added to the one before
    m_.free(m_.named("matrix", static_cast<std::int64_t>(k)));
  }

  run_of_model m_;
  std::int64_t ranks_, widest_{};
  bool stays_, ahead_, adds_{};
  std::vector<std::int64_t> beside_;  ///< bytes of a layer's matrices, in the order of forward
};

}  // namespace

TEST_CASE("adapters that FSDP1 wraps one by one, tensor by tensor") {
  draw::dice dice(20261206);
  for (int i = 0; i < 60; ++i) {
    auto j = drawn(dice);
    j.framework = *std::vector<const profile*>{&frameworks::hf_trainer, &frameworks::hf_trainer_2023}[dice.index(2)];
    j.framework.sharding.wraps_adapters = true;
    j.framework.sharding.wraps_on_gpu = false;
    j.adapter = {.kind = adapter_kind::lora, .rank = dice.pick({8, 24}), .targets = all_linear, .format = dice.flip() ? formats::fp32 : formats::bf16};
    j.sharding = fsdp1(dice.pick({2, 3}));
    j.sharding.backward_prefetch = dice.index(3) == 0 ? choice::no : choice::unset;
    j.precision = precisions::bf16;
    CAPTURE(i);
    CAPTURE(j.framework.date);
    CAPTURE(j.adapter.format.bits);
    CAPTURE(j.sharding.stage);
    const auto r = estimate(j);
    with_wrapped_adapters plain(j);
    ledger::check_rank(r.ranks[0], plain.run(), ledger::steps);
  }
}

}  // namespace test_wrapped_adapters
