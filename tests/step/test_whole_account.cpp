// Distributed under the Boost Software License, Version 1.0.
// A step of trainers that keep whole weights, tensor by tensor, by another account than the library's: one process, DDP, ZeRO's first two stages.
// Sources: torch csrc/distributed/c10d/reducer.cpp; DeepSpeed runtime/zero/stage_1_and_2.py.
#include "drawn_llama.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace test_whole_account {

using namespace headroom;
using ledger::account;
using ledger::amounts;
using ledger::drawn;
using ledger::outside;
using ledger::run_of_model;
using ledger::steps;
using ledger::sum;

namespace {

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

}  // namespace

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

}  // namespace test_whole_account
