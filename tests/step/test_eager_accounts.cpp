// Distributed under the Boost Software License, Version 1.0.
// A step of an eager trainer under FSDP2, FSDP1, DDP and ZeRO, tensor by tensor, by another account than the library's: what is made and freed is
// told by name, one layer after the other, micro-batch after micro-batch.
// Sources: torch distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py foreach_all_gather, foreach_reduce; distributed/fsdp/
// _runtime_utils.py, _flat_param.py; csrc/distributed/c10d/reducer.cpp; DeepSpeed runtime/zero/stage_1_and_2.py.
#include "../estimate/dice.hpp"
#include "run_of_model.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace test_eager_accounts {

using namespace headroom;
using ledger::account;
using ledger::amounts;
using ledger::amounts_of;
using ledger::outside;
using ledger::run_of_model;
using ledger::sum;

namespace {

// --- FSDP2 ---------------------------------------------------------------------------------------------------------------

/// Units: embedding, layers, norm with head; or one for all that lies outside the layers.
class under_fsdp2 {
 public:
  under_fsdp2(const job& j, const amounts& always) : m_(j, always), ranks_(j.parallel.data / j.parallel.replicate) {
    const auto& z = j.framework.sharding;
    split_ = z.splits_root && !j.model.tied;
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
    return split_ ? m_.elements.table : outside(m_.elements);
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
    gather(front), copy_out(front, true);
    m_.embed();
    if (split_ && !stays_) m_.free(m_.named("whole", front));
    m_.turn();
    for (std::int64_t i = 0; i < m_.source.model.layers; ++i) {
      m_.enter(phase::forward);
      gather(i), copy_out(i, true);
      m_.layer_up(i);
      if (!kept(i)) m_.free(m_.named("whole", i));
    }
    m_.enter(phase::loss_forward);
    if (split_) gather(back), copy_out(back, true);
    m_.tail_up([&] {
      if (m_.at.loss_outside()) let_copied_go();
    });
    let_copied_go();
  }
  void down() {
    m_.enter(phase::backward);
    const auto ask = [&] {
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
      if (!stays_ && (i > 0 || split_)) gather(i > 0 ? i - 1 : front);
      m_.layer_down(i, drops());
      m_.enter(phase::reduce);
      reduce(i, {m_.named("fresh", i)});
    }
    m_.enter(phase::backward);
    if (split_ && !stays_) copy_out(front, false);
    m_.embed_down(drops());
    m_.enter(phase::reduce);
    reduce(front, split_ ? std::vector<std::string>{"fresh embedding"} : m_.fresh_outside());
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
  bool split_{}, keeps_last_{}, stays_{}, whole_sums_{}, first_{}, last_{};
};

// --- FSDP1 ---------------------------------------------------------------------------------------------------------------

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

// --- whole parameters ----------------------------------------------------------------------------------------------------

/// DDP, whose buckets are there all along, and ZeRO 1 and 2 of a bf16 model with an fp32 copy.
class with_whole_weights {
 public:
  with_whole_weights(const job& j, const amounts& always) : m_(j, always), ranks_(j.parallel.data) {
    zero_ = j.sharding.kind == sharding_kind::zero ? j.sharding.stage : 0;
    parameters_ = outside(m_.elements) + j.model.layers * sum(m_.elements.layer);
  }
  const account& run() {
    const auto& z = m_.source.sharding;
    const auto layers = m_.source.model.layers;
    const bool stay = m_.source.framework.gradients.stay;  // filled with zeros after an update, so that they are always there
    if (stay) {
      std::int64_t all = 0;
      for (const auto n : m_.parts(1)) all += ledger::block(m_.settled.precision.gradients.bits / 8 * n);
      m_.held.make("gradients", row::gradients, all);
    }
    for (std::int64_t m = 0; m < m_.source.batch.accumulation; ++m) {
      const bool exist = stay || m > 0, last = m + 1 == m_.source.batch.accumulation;
      m_.enter(phase::forward);
      m_.embed();
      m_.turn();
      for (std::int64_t i = 0; i < layers; ++i) m_.layer_up(i);
      m_.enter(phase::loss_forward);
      m_.tail_up([] {});
      m_.enter(phase::backward);
      const std::int64_t buckets = zero_ == 0 ? 0 : z.overlap_comm == choice::yes ? 2 : 1;
      for (std::int64_t b = 0; b < buckets; ++b) m_.make(m_.named("bucket", b), row::communication_buffers, 2 * z.reduce_bucket_size);
      const bool leaves = zero_ == 2;  // into the bucket, and from there into the partition
      m_.tail_down([] {}, exist || leaves);
      done("fresh tail", exist || leaves);
      for (auto i = layers; i-- > 0;) {
        m_.layer_down(i, exist || leaves);
        done(m_.named("fresh", i), exist || leaves);
        if (leaves && i + 1 == layers && z.reduce_bucket_size < 100) partition();
      }
      m_.embed_down(exist || leaves);
      done("fresh embedding", exist || leaves);
      if (m_.source.model.tied) done("fresh table", exist || leaves);
      if (leaves && !m_.held.has("partition")) partition();
      if (leaves && !exist) {  // the first stays for the others to be added to
        m_.free("partition");
        m_.held.make("averaged", row::gradients, 2 * parameters_ / ranks_);
      }
      m_.free_if("partition");
      for (std::int64_t b = 0; b < buckets; ++b) m_.free(m_.named("bucket", b));
      m_.end_micro_batch(last);
    }
    zero_ > 0 ? update_part() : m_.update(m_.parts(1));
    return m_.held;
  }

 private:
  void partition() { m_.make("partition", row::gradients, 2 * parameters_ / ranks_); }
  /// A gradient stays from the first micro-batch on.
  void done(const std::string& fresh, bool goes) {
    const auto size = m_.held.alive().at(fresh);
    m_.free(fresh);
    if (!goes) m_.held.make("kept " + fresh, size);
  }
  /// A flat copy of this rank's gradients, its cast, the update, and what comes back from the other ranks.
  void update_part() {
    m_.enter(phase::step);
    m_.held.look(m_.now);
    const auto part = parameters_ / ranks_;
    m_.make("flat", row::temporaries, 2 * part);
    m_.make("wide", row::temporaries, 4 * part);
    m_.free("flat");
    m_.free_if("averaged");
    m_.make("update", row::temporaries, m_.source.optimizer.how == implementation::foreach ? m_.source.framework.optimizer.foreach_copies * 4 * part : 0);
    m_.free("update");
    m_.free("wide");
    const auto gathered = 2 * std::min(m_.source.sharding.allgather_bucket_size, parameters_);
    if (gathered > 6 * part) m_.make("gathered", row::communication_buffers, gathered), m_.free("gathered");
    m_.free_if("loss");
  }

  run_of_model m_;
  std::int64_t ranks_, zero_{}, parameters_{};
};

job drawn(draw::dice& dice) {
  job j;
  j.model = {.layers = dice.pick({1, 2, 3, 5}), .hidden = 512, .heads = 8, .kv_heads = dice.pick({2, 8}), .ffn = dice.pick({1024, 2048}), .vocab = dice.pick({1024, 16384}), .tied = dice.index(3) == 0};
  j.parallel.data = dice.pick({2, 4, 8});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = j.parallel.data};
  j.batch = {.micro = dice.pick({1, 2}), .sequence = dice.pick({128, 512, 2048}), .accumulation = dice.pick({1, 2, 3})};
  switch (dice.index(4)) {
    case 0: break;
    case 1: j.recompute = recompute::full; break;
    case 2: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 1 + static_cast<std::int64_t>(dice.index(static_cast<std::size_t>(j.model.layers)))}; break;
    default: j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only}; break;
  }
  j.optimizer.how = dice.flip() ? implementation::fused : implementation::foreach;
  return j;
}
constexpr std::initializer_list<phase> steps{phase::forward, phase::loss_forward, phase::backward, phase::reduce, phase::step, phase::save};

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
    CAPTURE(i);
    CAPTURE(j.framework.label.view());
    CAPTURE(j.framework.date);
    const auto r = estimate(j);
    under_fsdp2 plain(j, ledger::resident(j));
    ledger::check_rank(r.ranks[0], plain.run(), steps);
    CHECK(r.ranks[0][phase::load].count() == ledger::loading(j, ledger::resident(j)));
  }
}

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

TEST_CASE("a step with whole weights, tensor by tensor") {
  draw::dice dice(20261129);
  for (int i = 0; i < 80; ++i) {
    auto j = drawn(dice);
    const bool zero_runs = dice.flip();
    j.framework = zero_runs ? frameworks::deepspeed : dice.flip() ? frameworks::libtorch : frameworks::hf_trainer;
    if (zero_runs) {
      j.sharding = zero(dice.pick({1, 2}));
      j.sharding.reduce_bucket_size = dice.pick({1, 500'000'000});
      j.sharding.allgather_bucket_size = dice.pick({1'000'000, 500'000'000});
      j.sharding.overlap_comm = dice.flip() ? choice::yes : choice::no;
    } else {
      j.sharding = dice.flip() ? ddp() : sharding{};
      if (j.sharding.kind == sharding_kind::none) j.parallel.data = 1, j.hardware.gpus_per_node = 1;
      if (dice.index(3) == 0) j.framework = frameworks::libtorch_cpp, j.model.max_positions = 4096, j.model.tied = false, j.optimizer.how = implementation::loop;
      j.precision = j.framework == frameworks::libtorch_cpp || dice.flip() ? precisions::fp32 : precisions::bf16;
    }
    CAPTURE(i);
    CAPTURE(j.framework.label.view());
    CAPTURE(zero_runs);
    CAPTURE(j.sharding.stage);
    const auto r = estimate(j);
    with_whole_weights plain(j, ledger::resident(j));
    ledger::check_rank(r.ranks[0], plain.run(), steps);
    CHECK(r.ranks[0][phase::load].count() == ledger::loading(j, ledger::resident(j)));
  }
}

}  // namespace test_eager_accounts
