// Distributed under the Boost Software License, Version 1.0.
// A step under FSDP1, tensor by tensor, by another account than the library's.
// Sources: torch distributed/fsdp/_runtime_utils.py, _flat_param.py.
#include "drawn_llama.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace test_fsdp1_account {

using namespace headroom;
using ledger::account;
using ledger::amounts;
using ledger::drawn;
using ledger::outside;
using ledger::run_of_model;
using ledger::steps;
using ledger::sum;

namespace {

/// One flat parameter a layer, and one for all outside the layers, which is there from the first layer to the last gradient.
class under_fsdp1 {
 public:
  under_fsdp1(const job& j, const amounts& always) : m_(j, always), ranks_(j.parallel.data) {
    stays_ = j.sharding.stays_gathered();
    ahead_ = j.sharding.backward_prefetch != choice::no;
    whole_sums_ = j.sharding.no_sync && j.batch.accumulation > 1;
  }
  const account& run() {
    const auto layers = m_.source.model.layers;
    for (std::int64_t m = 0; m < m_.source.batch.accumulation; ++m) {
      first_ = m == 0, last_ = m + 1 == m_.source.batch.accumulation;
      m_.enter(phase::forward);
      gather(root);
      m_.embed();
      m_.turn();
      for (std::int64_t i = 0; i < layers; ++i) {
        gather(i);
        m_.layer_up(i);
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
      for (auto i = layers; i-- > 0;) {
        m_.enter(phase::backward);
        if (!stays_ && !ahead_) gather(i);
        if (!stays_ && ahead_ && i > 0) gather(i - 1);
        m_.layer_down(i, false);
        m_.enter(phase::reduce);
        reduce(i, {m_.named("fresh", i)});
        m_.free(m_.named("whole", i));
      }
      m_.enter(phase::backward);
      m_.embed_down(false);
      m_.enter(phase::reduce);
      reduce(root, m_.fresh_outside());
      m_.free(m_.named("whole", root));
      m_.end_micro_batch(last_);
    }
    m_.update({(elements(root) + layers * elements(0)) / ranks_});  // flat parameters are not rounded up to blocks
    return m_.held;
  }

 private:
  static constexpr std::int64_t root = -1;
  [[nodiscard]] std::int64_t elements(std::int64_t u) const { return u == root ? outside(m_.elements) : sum(m_.elements.layer); }
  [[nodiscard]] static std::int64_t bytes_of(const number_format& f) { return f.bits / 8; }
  void gather(std::int64_t u) {
    const auto width = bytes_of(m_.settled.precision.compute);
    m_.make("cast shard", row::gathered_parameters, m_.settled.precision.compute.bits == m_.settled.precision.parameters.bits ? 0 : width * elements(u) / ranks_);
    m_.make(m_.named("whole", u), row::gathered_parameters, width * elements(u));
    m_.free("cast shard");
  }
  /// Gradients of views are concatenated to one of the flat parameter.
  void reduce(std::int64_t u, const std::vector<std::string>& fresh) {
    const auto whole = bytes_of(m_.settled.precision.compute) * elements(u);
    m_.make("flat gradient", whole_sums_ && first_ ? row::gradients : row::communication_buffers, whole);
    for (const auto& f : fresh) m_.free(f);
    if (whole_sums_) {
      m_.free("flat gradient");
      if (first_) m_.held.make(m_.named("whole sum", u), row::gradients, whole);
      if (!last_) return;
    }
    const bool casts = m_.settled.precision.reduce.bits != m_.settled.precision.gradients.bits, keeps = first_ || whole_sums_;
    const auto n = elements(u) / ranks_;
    m_.make("part", keeps && !casts ? row::gradients : row::communication_buffers, bytes_of(m_.settled.precision.reduce) * n);
    m_.free(whole_sums_ ? m_.named("whole sum", u) : "flat gradient");
    if (casts) m_.make("wide part", row::gradients, bytes_of(m_.settled.precision.gradients) * n);
    m_.free("part");
    m_.free_if("wide part");
    if (keeps) m_.held.make(m_.named("gradient", u), row::gradients, bytes_of(m_.settled.precision.gradients) * n);
  }

  run_of_model m_;
  std::int64_t ranks_;
  bool stays_{}, ahead_{}, whole_sums_{}, first_{}, last_{};
};

}  // namespace

TEST_CASE("a step under FSDP1, tensor by tensor") {
  draw::dice dice(20261128);
  for (int i = 0; i < 60; ++i) {
    auto j = drawn(dice);
    j.framework = *std::vector<const profile*>{&frameworks::libtorch, &frameworks::hf_trainer, &frameworks::hf_trainer_2023}[dice.index(3)];
    j.sharding = fsdp1(dice.pick({2, 3}));
    j.sharding.no_sync = dice.flip();
    j.sharding.backward_prefetch = dice.index(3) == 0 ? choice::no : choice::unset;
    j.precision = dice.flip() ? precisions::bf16_mixed : precision{"fp32-reduced", formats::fp32, formats::bf16, formats::fp32, formats::fp32, formats::none, formats::fp32};
    CAPTURE(i);
    CAPTURE(j.framework.label.view());
    CAPTURE(j.framework.date);
    const auto r = estimate(j);
    under_fsdp1 plain(j, ledger::resident(j));
    ledger::check_rank(r.ranks[0], plain.run(), steps);
    CHECK(r.ranks[0][phase::load].count() == ledger::loading(j, ledger::resident(j)));
  }
}

}  // namespace test_fsdp1_account
