// Distributed under the Boost Software License, Version 1.0.
// A step under FSDP2, tensor by tensor, by another account than the library's: what is made and freed is told by name, one layer after the other,
// micro-batch after micro-batch.
// Sources: torch distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py foreach_all_gather, foreach_reduce.
#include "drawn_llama.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace test_fsdp2_account {

using namespace headroom;
using ledger::account;
using ledger::amounts;
using ledger::drawn;
using ledger::outside;
using ledger::run_of_model;
using ledger::steps;
using ledger::sum;

namespace {

/// Units: embedding, layers, norm with head; or one for all that lies outside the layers; or the embedding, and the root's with the rest.
class under_fsdp2 {
 public:
  under_fsdp2(const job& j, const amounts& always) : m_(j, always), ranks_(j.parallel.data / j.parallel.replicate) {
    const auto& z = j.framework.sharding;
    const auto how = j.sharding.root == root_units::unset ? z.root : j.sharding.root;
    split_ = how == root_units::split && !j.model.tied;
    two_ = how == root_units::embedding_apart && !j.model.tied;
    // The Trainer says reshard_after_forward for the root, too, which torch heeds since 2.8.
    const auto torch = j.environment.torch > 0 ? j.environment.torch : j.framework.date < 202508 ? 207 : 208;
    returns_root_ = j.framework.label == "hf-trainer" && torch >= 208 && how != root_units::split && !j.sharding.stays_gathered();
    keeps_last_ = z.keeps_last_layer;
    stays_ = j.sharding.stays_gathered();
    whole_sums_ = j.sharding.no_sync && j.batch.accumulation > 1;
  }
  const account& run() {
    for (std::int64_t m = 0; m < m_.source.batch.accumulation; ++m) {
      first_ = m == 0, last_ = m + 1 == m_.source.batch.accumulation;
      up();
      down();
      m_.end_micro_batch(last_);
    }
    m_.update(m_.parts(ranks_));
    return m_.held;
  }

 private:
  enum unit : std::int64_t { front = -1, back = -2 };
  [[nodiscard]] std::int64_t elements(std::int64_t u) const {
    if (u >= 0) return sum(m_.elements.layer);
    if (u == back) return m_.elements.table + m_.elements.norm;
    return split_ || two_ ? m_.elements.table : outside(m_.elements);
  }
  [[nodiscard]] bool kept(std::int64_t i) const { return stays_ || (keeps_last_ && i + 1 == m_.source.model.layers); }

  void gather(std::int64_t u) {
    if (arriving_ != none) return;  // asked for already
    m_.held.make("cast shard", row::gathered_parameters, 2 * elements(u) / ranks_);
    m_.make(m_.named("arriving", u), row::gathered_parameters, 2 * elements(u));
    m_.free("cast shard");
    arriving_ = u;
  }
  void copy_out(std::int64_t u, bool forward) {
    if (forward && copied_ != none) m_.free(m_.named("arriving", copied_));
    m_.make(m_.named("whole", u), row::gathered_parameters, 2 * elements(u));
    if (forward) copied_ = arriving_;
    else m_.free(m_.named("arriving", arriving_));
    arriving_ = none;
  }
  void let_copied_go() {
    if (copied_ != none) m_.free(m_.named("arriving", copied_));
    copied_ = none;
  }
  void up() {
    m_.enter(phase::forward);
    if (two_) gather(back), copy_out(back, true);
    gather(front), copy_out(front, true);
    m_.embed();
    if ((split_ || two_) && !stays_) m_.free(m_.named("whole", front));
    m_.turn();
    for (std::int64_t i = 0; i < m_.source.model.layers; ++i) {
      m_.enter(phase::forward);
      gather(i), copy_out(i, true);
      m_.layer_up(i);
      if (!kept(i)) m_.free(m_.named("whole", i));
    }
    m_.enter(phase::loss_forward);
    if (split_) gather(back), copy_out(back, true);
    bool left = false;
    const auto leave = [&] {
      let_copied_go();
      if (returns_root_ && !left) m_.free(m_.named("whole", two_ ? back : front));
      left = true;
    };
    m_.tail_up([&] {
      if (m_.at.loss_outside()) leave();
    });
    leave();
  }
  void down() {
    m_.enter(phase::backward);
    const auto ask = [&] {
      if (returns_root_) gather(two_ ? back : front), copy_out(two_ ? back : front, false);
      if (!kept(m_.source.model.layers - 1)) gather(m_.source.model.layers - 1);
    };
    if (!m_.at.loss_outside()) ask();
    m_.tail_down([&] {
      if (m_.at.loss_outside()) ask();
    }, drops());
    if (split_) reduce(back, {"fresh tail"});
    for (auto i = m_.source.model.layers; i-- > 0;) {
      m_.enter(phase::backward);
      if (!kept(i)) copy_out(i, false);
      if (!stays_ && (i > 0 || split_ || two_)) gather(i > 0 ? i - 1 : front);
      m_.layer_down(i, drops());
      m_.enter(phase::reduce);
      reduce(i, {m_.named("fresh", i)});
    }
    m_.enter(phase::backward);
    if ((split_ || two_) && !stays_) copy_out(front, false);
    m_.embed_down(drops());
    m_.enter(phase::reduce);
    reduce(front, split_ || two_ ? std::vector<std::string>{"fresh embedding"} : m_.fresh_outside());
    if (two_) reduce(back, {"fresh tail"});
    m_.free_if("reducing"), m_.free_if("averaging");
  }
  /// Whether a gradient that autograd makes is added at once to one that is there: where the reduction has its format, and none is sent before the last.
  [[nodiscard]] bool drops() const { return whole_sums_ && !first_ && m_.settled.precision.reduce.bits == m_.settled.precision.compute.bits; }
  void reduce(std::int64_t u, const std::vector<std::string>& fresh) {
    m_.free(m_.named("whole", u));
    if (whole_sums_) {
      const bool wide = m_.settled.precision.reduce.bits > m_.settled.precision.compute.bits;
      if (first_ && wide) m_.make(m_.named("whole sum", u), row::gradients, 4 * elements(u));
      if (!wide && first_) m_.held.make(m_.named("whole sum", u), row::gradients, 2 * elements(u));
      for (const auto& f : fresh) m_.free(f);
      if (!last_) return;
    }
    const auto width = m_.settled.precision.reduce.width();
    m_.free_if("reducing");
    m_.make("reducing", row::communication_buffers, width * elements(u));
    if (!whole_sums_)
      for (const auto& f : fresh) m_.free(f);
    else
      m_.free(m_.named("whole sum", u));
    m_.free_if("averaging");
    const auto part = width * elements(u) / ranks_, wide = width == 4 ? 0 : 4 * elements(u) / ranks_;
    if (!first_ && !whole_sums_) {
      m_.held.make("part", row::communication_buffers, part);
      m_.make("wide part", row::communication_buffers, wide);
      m_.free("part"), m_.free("wide part");
    } else if (wide == 0) {
      m_.make(m_.named("gradient", u), row::gradients, part);
    } else {
      m_.held.make("part", row::communication_buffers, part);
      m_.make(m_.named("gradient", u), row::gradients, wide);
      m_.free("part");
      if (m_.source.parallel.replicate > 1) m_.held.make("averaging", row::communication_buffers, part);  // while the next unit runs
    }
  }

  static constexpr std::int64_t none = -9;
  run_of_model m_;
  std::int64_t ranks_, arriving_{none}, copied_{none};
  bool split_{}, two_{}, returns_root_{}, keeps_last_{}, stays_{}, whole_sums_{}, first_{}, last_{};
};

}  // namespace

TEST_CASE("a step under FSDP2, tensor by tensor") {
  draw::dice dice(20261127);
  for (int i = 0; i < 80; ++i) {
    auto j = drawn(dice);
    j.framework = *std::vector<const profile*>{&frameworks::torchtitan_202404, &frameworks::torchtitan_202504, &frameworks::torchtitan_202508, &frameworks::hf_trainer, &frameworks::hf_trainer_2023}[dice.index(5)];
    j.sharding = fsdp2(dice.pick({2, 3}));
    j.sharding.no_sync = dice.flip();
    if (j.framework.modules.dtensor() && j.parallel.data > 2 && dice.flip()) j.parallel.replicate = 2;
    if (!j.framework.modules.dtensor()) j.precision = precisions::bf16_mixed;
    if (dice.index(3) == 0) j.precision = {"bf16-reduced", formats::fp32, formats::bf16, formats::fp32, formats::bf16, formats::none, formats::fp32};
    if (!j.framework.modules.dtensor()) {
      j.sharding.root = std::array{root_units::unset, root_units::embedding_apart, root_units::split}[dice.index(3)];
      j.environment.torch = std::array{0, 207, 208}[dice.index(3)];
    }
    CAPTURE(i);
    CAPTURE(j.framework.label.view());
    CAPTURE(j.framework.date);
    const auto r = estimate(j);
    under_fsdp2 plain(j, ledger::resident(j));
    ledger::check_rank(r.ranks[0], plain.run(), steps);
    CHECK(r.ranks[0][phase::load].count() == ledger::loading(j, ledger::resident(j)));
  }
}

}  // namespace test_fsdp2_account
