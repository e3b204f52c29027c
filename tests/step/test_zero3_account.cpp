// Distributed under the Boost Software License, Version 1.0.
// ZeRO's third stage by another account than the library's: its windows one by one, and a step tensor by tensor with these windows around it.
// Sources: DeepSpeed runtime/zero/stage3.py, partitioned_param_coordinator.py, partition_parameters.py, runtime/zero/config.py (its defaults).
#include "drawn_llama.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace test_zero3_account {

using namespace headroom;
using ledger::account;
using ledger::amounts;
using ledger::block;
using ledger::drawn;
using ledger::outside;
using ledger::run_of_model;
using ledger::sizes;
using ledger::sum;

namespace {

/// A model's tensors in a plain list.
std::vector<std::int64_t> tensors_of(const job& j) {
  const sizes of(j.model);
  std::vector<std::int64_t> all(static_cast<std::size_t>(of.tables), of.table);
  all.push_back(of.norm);
  for (std::int64_t i = 0; i < j.model.layers; ++i) all.insert(all.end(), of.layer.begin(), of.layer.end());
  return all;
}

/// Sizes in elements, as DeepSpeed's configuration or its defaults have them.
struct options {
  std::int64_t bucket, prefetch, live, reuse, group, stays;
  explicit options(const sharding& z) {
    const auto or_else = [](std::int64_t given, std::int64_t usual) { return given >= 0 ? given : usual; };
    bucket = or_else(z.reduce_bucket_size, 500'000'000), prefetch = or_else(z.stage3_prefetch_bucket_size, 50'000'000), live = or_else(z.stage3_max_live_parameters, 1'000'000'000);
    reuse = or_else(z.stage3_max_reuse_distance, 1'000'000'000), group = or_else(z.sub_group_size, 1'000'000'000), stays = or_else(z.stage3_param_persistence_threshold, 100'000);
  }
};

class under_zero3 {
 public:
  explicit under_zero3(const job& j) : m_(j, start(j)), has_(j.sharding), ranks_(j.parallel.data), on_gpu_(j.offload.optimizer == place::on_gpu) {
    for (const auto n : tensors_of(j)) all_ += n, part_ += (n + ranks_ - 1) / ranks_;
  }
  const account& run() {
    const auto layers = m_.source.model.layers, layer = sum(m_.elements.layer);
    const auto ahead = std::min(all_, layer + std::min(has_.prefetch, has_.live));
    const auto around_turn = std::max(ahead, std::min(all_, layer + has_.reuse / 2));  // released at the turn unless used again so soon, counted there and back
    for (std::int64_t n = 0; n < m_.source.batch.accumulation; ++n) {
      m_.enter(phase::forward);
      m_.make("gathered", row::gathered_parameters, 2 * ahead);
      m_.embed();
      m_.turn();
      for (std::int64_t i = 0; i < layers; ++i) m_.layer_up(i);
      m_.enter(phase::loss_forward);
      m_.free("gathered");
      m_.make("gathered", row::gathered_parameters, 2 * around_turn);
      m_.tail_up([] {});
      m_.enter(phase::backward);
      m_.tail_down([] {}, true);
      m_.make("coalesced", row::communication_buffers, 2 * std::min(has_.bucket, all_));
      m_.free("fresh tail");
      for (auto i = layers; i-- > 0;) {
        m_.layer_down(i, true);
        m_.free(m_.named("fresh", i));
      }
      m_.embed_down(true);
      m_.free("fresh embedding");
      m_.free_if("fresh table");
      m_.free("coalesced"), m_.free("gathered");
      m_.end_micro_batch(n + 1 == m_.source.batch.accumulation);
    }
    m_.enter(phase::step);
    m_.held.look(m_.now);
    if (on_gpu_) {
      m_.make("update", row::temporaries, m_.source.optimizer.how == implementation::foreach ? m_.source.framework.optimizer.foreach_copies * 4 * part_ : 0);
      m_.free("update");
      const auto most = (all_ + ranks_ - 1) / ranks_;
      m_.make("sub-group", row::temporaries, (2 + 4) * std::min(has_.group > 0 ? has_.group : all_, most));  // its gradients, and their cast to the master's format
    }
    return m_.held;
  }

 private:
  static amounts start(const job& j) {
    const auto s = settle(j);
    const options has(j.sharding);
    const bool on_gpu = j.offload.optimizer == place::on_gpu;
    amounts r;
    for (const auto n : tensors_of(j)) {
      const auto part = (n + j.parallel.data - 1) / j.parallel.data;
      r[row::model_parameters] += 2 * part;
      if (on_gpu) r[row::master_parameters] += 4 * part, r[row::optimizer_state] += 8 * part, r[row::gradients] += 2 * part;
      if (n <= has.stays) r[row::gathered_parameters] += 2 * n;
    }
    r[row::communication_buffers] = 2 * has.bucket;
    r[row::workspace] = j.framework.process.cublas_handles * cublas_workspace(s).count();
    r[row::activations] = 16 * j.batch.micro * j.batch.sequence + (j.framework.rotary.caches() ? 2 * j.batch.sequence * j.model.head_width() * 4 : 0);
    return r;
  }

  run_of_model m_;
  options has_;
  std::int64_t ranks_, all_{}, part_{};
  bool on_gpu_;
};

}  // namespace

TEST_CASE("a step under ZeRO's third stage, tensor by tensor") {
  draw::dice dice(20261205);
  for (int i = 0; i < 80; ++i) {
    auto j = drawn(dice);
    j.framework = frameworks::deepspeed;
    j.sharding = zero(3);
    auto& z = j.sharding;
    z.reduce_bucket_size = dice.pick({-1, 100'000, 2'000'000});
    z.stage3_prefetch_bucket_size = dice.pick({-1, 0, 1'000'000});
    z.stage3_max_live_parameters = dice.pick({-1, 300'000});
    z.stage3_max_reuse_distance = dice.pick({-1, 0, 8'000'000});
    z.stage3_param_persistence_threshold = dice.pick({-1, 0, 512, 300'000});
    z.sub_group_size = dice.pick({-1, 1'000'000});
    if (dice.index(3) == 0) j.offload.optimizer = place::on_cpu;
    CAPTURE(i);
    CAPTURE(z.stage3_max_reuse_distance);
    CAPTURE(z.stage3_prefetch_bucket_size);
    CAPTURE(static_cast<int>(j.offload.optimizer));
    const auto r = estimate(j);
    under_zero3 plain(j);
    ledger::check_rank(r.ranks[0], plain.run(), {phase::forward, phase::loss_forward, phase::backward, phase::reduce, phase::step});
  }
}

namespace {

// Of Llama 3.1 8B: all, a layer, a table, and norms. Eight ranks divide all of them.
constexpr std::int64_t n = 8'030'261'248, u = 218'112'000, e = 128'256 * std::int64_t{4096}, norms = 65 * 4096;

job llama(const sharding& how) {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = how,
        .batch = {.micro = 1, .sequence = 512}};
  return j;
}
windows windows_with(const job& j) {
  const auto s = settle(j);
  return windows_of(s, states(s, kept_weights(s, weights_of(s.model))));
}
void holds(const moment& m, std::int64_t gathered, std::int64_t communication = 0, std::int64_t gradients = 0, std::int64_t temporaries = 0) {
  CHECK(m.rows[row::gathered_parameters].count() == gathered);
  CHECK(m.rows[row::communication_buffers].count() == communication);
  CHECK(m.rows[row::gradients].count() == gradients);
  CHECK(m.rows[row::temporaries].count() == temporaries);
  CHECK(m.total.count() == gathered + communication + gradients + temporaries);
}

}  // namespace

TEST_CASE("every window of ZeRO 3") {
  const auto w = windows_with(llama(zero(3)));
  holds(w.always, 2 * norms, 1'000'000'000);
  holds(w.forward, 2 * (u + 50'000'000));
  holds(w.loss, 2 * (u + 500'000'000));
  holds(w.turn, 2 * (u + 500'000'000));
  holds(w.backward, 2 * (u + 500'000'000), 1'000'000'000);
  holds(w.reduce, 0);
  holds(w.gradients_before, 0, 0, 2 * n / 8);
  holds(w.step, 0, 0, 0, 6 * std::int64_t{1'000'000'000});
  CHECK(w.path == gradient_path::leaves);
  CHECK(w.gradients_at_load);
  CHECK(w.gather_pool.count() == 2 * 2 * e);  // the head's table, as it comes and as it is copied out
  CHECK(w.buckets == 0);
  CHECK(w.partition == bytes{0});

  auto j = llama(zero(3));
  j.sharding.stage3_max_reuse_distance = 0;
  holds(windows_with(j).loss, 2 * (u + 50'000'000));
  j.sharding.stage3_max_live_parameters = 7'000'000;
  holds(windows_with(j).forward, 2 * (u + 7'000'000));
  j.sharding.stage3_prefetch_bucket_size = 0;
  holds(windows_with(j).turn, 2 * u);
  j.sharding.stage3_prefetch_bucket_size = j.sharding.stage3_max_live_parameters = 9'000'000'000;
  holds(windows_with(j).forward, 2 * n);
  CHECK(windows_with(j).gather_pool.count() == 2 * n);
  j.sharding.reduce_bucket_size = 9'000'000'000;
  holds(windows_with(j).always, 2 * norms, 2 * std::int64_t{9'000'000'000});
  CHECK(windows_with(j).backward.rows[row::communication_buffers].count() == 2 * n);
  j.sharding.stage3_param_persistence_threshold = 4095;
  CHECK(windows_with(j).always.rows[row::gathered_parameters] == bytes{0});
  j.sharding.sub_group_size = 1'000'000;
  holds(windows_with(j).step, 0, 0, 0, 6'000'000);
  j.sharding.sub_group_size = 0;  // all at once
  holds(windows_with(j).step, 0, 0, 0, 6 * n / 8);

  auto node = llama(zero(3));
  node.hardware.nodes = 2;
  node.sharding.zero_hpz_partition_size = 8;
  const auto again = windows_with(node);
  holds(again.forward, 2 * (u + 50'000'000) + 2 * n / 8);
  holds(again.backward, 2 * (u + 500'000'000) + 2 * n / 8, 1'000'000'000);
  holds(again.reduce, 2 * n / 8);
  node.offload.optimizer = node.offload.parameters = place::on_cpu;
  holds(windows_with(node).forward, 2 * (u + 50'000'000));
  holds(windows_with(node).gradients_before, 0);
  holds(windows_with(node).step, 0);
}

TEST_CASE("every window of ZeRO 1 and 2") {
  auto j = llama(zero(1));
  j.framework.sharding.bf16_optimizer = false;
  auto w = windows_with(j);
  CHECK(w.path == gradient_path::grows);
  holds(w.backward, 0, 1'000'000'000);
  holds(w.turn, 0, 1'000'000'000);
  holds(w.reduce, 0, 1'000'000'000);
  holds(w.step, 0, 0, 0, 2 * n / 8 + 4 * n / 8);
  CHECK(w.buckets == 1);
  CHECK(w.partition == bytes{0});
  CHECK(w.flat_gradients.count() == 2 * n / 8);
  CHECK(w.wide_gradients.count() == 4 * n / 8);

  j = llama(zero(2));
  w = windows_with(j);
  CHECK(w.path == gradient_path::leaves);
  CHECK(w.partition.count() == 2 * n / 8);
  CHECK(w.partition_after == 2);  // a layer and its share of the rest are 250,945,664 elements, and a bucket is full in the second
  CHECK_FALSE(w.partition_apart);
  CHECK(w.kept_per_unit == bytes{0});
  j.sharding.overlap_comm = choice::yes;
  CHECK(windows_with(j).buckets == 2);
  CHECK(windows_with(j).partition_apart);
  holds(windows_with(j).backward, 0, 2'000'000'000);
  j.sharding.reduce_bucket_size = 100;
  CHECK(windows_with(j).partition_after == 1);
  j.sharding.contiguous_gradients = choice::no;
  holds(windows_with(j).backward, 0);
  CHECK(windows_with(j).partition == bytes{0});
  CHECK(windows_with(j).kept_per_unit.count() == 2 * u / 8);
  CHECK(windows_with(j).kept_root.count() == 2 * (2 * e + 4096) / 8);
  j.sharding.allgather_bucket_size = 9'000'000'000;  // all of the model comes back at once
  holds(windows_with(j).step, 0, 2 * n);
  j.sharding.allgather_bucket_size = 500'000'000;
  j.offload.optimizer = place::on_cpu;
  w = windows_with(j);
  CHECK(w.flat_gradients == bytes{0});
  CHECK(w.kept_per_unit == bytes{0});
  holds(w.always, 0, 2 * e);  // DeepSpeed's temp_grad_buffer_for_gpu_offload, as large as the largest tensor
  holds(w.step, 0, 1'000'000'000);
  j.sharding.allgather_bucket_size = e;
  holds(windows_with(j).step, 0, 2 * e);
}

}  // namespace test_zero3_account
