// Distributed under the Boost Software License, Version 1.0.
// What data parallelism adds around a step, against the sizes that the runtimes' sources give.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_windows {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::int64_t n = 8'030'261'248;

job llama(const sharding& s, std::int64_t gpus = 8) {
  return {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = gpus}, .framework = frameworks::deepspeed,
          .precision = precisions::bf16_mixed, .sharding = s, .batch = {.micro = 1, .sequence = 512}};
}

bytes in(const job& j, phase p, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(p)][r]; }

}  // namespace

// torch csrc/distributed/c10d/reducer.cpp: a second copy of the gradients, or none with gradient_as_bucket_view.
TEST_CASE("DDP keeps its buckets for the whole run") {
  auto j = llama(ddp());
  j.framework = frameworks::libtorch;
  for (const auto p : {phase::forward, phase::backward, phase::step}) CHECK(in(j, p, row::communication_buffers) >= bytes{2 * n});
  const auto with_buckets = estimate(j).ranks[0].allocated;
  j.sharding.gradient_as_bucket_view = choice::yes;
  CHECK(in(j, phase::step, row::communication_buffers) == 0_B);
  CHECK(in(j, phase::forward, row::gradients) >= bytes{2 * n});
  CHECK(estimate(j).ranks[0].allocated < with_buckets);
  // No sharding over several ranks is DDP, too.
  auto plain = llama({});
  plain.framework = frameworks::libtorch;
  CHECK(estimate(plain).ranks[0].allocated == with_buckets);
  CHECK(estimate(plain).assumptions.has(assumption::ddp_assumed));
}

// DeepSpeed runtime/zero/config.py: 5·10^8 elements in bf16, twice with overlap_comm, through backward only.
TEST_CASE("ZeRO 1 and 2 reduce through a bucket") {
  auto j = llama(zero(2));
  CHECK(in(j, phase::backward, row::communication_buffers) == 1_GB);
  CHECK(in(j, phase::forward, row::communication_buffers) == 0_B);
  j.sharding.overlap_comm = choice::yes;
  CHECK(in(j, phase::backward, row::communication_buffers) == 2_GB);
  j.sharding.reduce_bucket_size = 200'000'000;
  CHECK(in(j, phase::backward, row::communication_buffers) == 800_MB);
}

// Stage 1 in bf16 with fp32 gradients is BF16_Optimizer: all gradients in fp32 from the start.
TEST_CASE("ZeRO 1 with fp32 gradients keeps all of them") {
  auto j = llama(zero(1));
  j.precision.gradients = formats::fp32;
  CHECK(in(j, phase::forward, row::gradients) == bytes{4 * n});
}

TEST_CASE("ZeRO 3 keeps one bucket, small weights, and what is used again soon") {
  auto j = llama(zero(3));
  // 65 norm vectors of 4096 elements are below the persistence threshold of 10^5.
  const bytes small{2 * 65 * 4096};
  const bytes layer{2 * 218'112'000};
  CHECK(in(j, phase::forward, row::communication_buffers) == 1_GB);
  CHECK(in(j, phase::forward, row::gathered_parameters) == small + layer + 100_MB);  // and 5·10^7 prefetched elements
  // Released at the turn only if not used within 10^9 elements, counted forward and back: half of them, and the layer at hand.
  CHECK(in(j, phase::loss_forward, row::gathered_parameters) == small + layer + 1_GB);
}

// torch distributed/fsdp/_fully_shard: in forward a layer's all-gather output and its copy; the root stays gathered.
TEST_CASE("FSDP2 gathers a layer twice over") {
  auto j = llama(fsdp2());
  j.framework = frameworks::libtorch;
  const bytes root{2 * (2 * 128256 * std::int64_t{4096} + 4096)};
  const bytes layer{2 * 218'112'000};
  CHECK(in(j, phase::forward, row::gathered_parameters) == root + 2 * layer);
  CHECK(in(j, phase::step, row::model_parameters) == bytes{4 * n / 8});
  j.sharding.reshard_after_forward = choice::no;
  // Whole layers, and what the last one was copied out of: this model computes its own loss, and has not returned.
  CHECK(in(j, phase::loss_forward, row::gathered_parameters) == root + 33 * layer);
}

TEST_CASE("offload leaves the GPU with what it works on") {
  auto j = llama(zero(3));
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  const auto r = estimate(j);
  CHECK(r.ranks[0].at_peak[row::model_parameters] == 0_B);
  CHECK(r.ranks[0].at_peak[row::optimizer_state] == 0_B);
  CHECK(r.ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::gradients] == 0_B);
  CHECK(r.ranks[0].at_peak[row::gradients] <= bytes{2 * 128256 * std::int64_t{4096}} + 1_MiB);  // one weight's, on its way out
  // A rank's 1,003,782,656 parameters, each allocation rounded up to a power of two: bf16 parameters, 2.0 GB; fp32 gradients of a
  // sub-group of 10^9 and of the rest, 4.0 GB and 15 MB; flat bf16 gradients, 2.0 GB.
  CHECK(r.host.pinned_per_node == 8 * (2_GiB + 4_GiB + 16_MiB + 2_GiB));
  j.offload.optimizer = place::on_nvme;
  CHECK(estimate(j).nvme_per_node == bytes{16 * n});  // fp32 master, two moments, gradients
  j.hardware.nvme = 100_GB;
  CHECK_FALSE(estimate(j).fits());
}

// deepspeed/runtime/engine.py _configure_zero_optimizer: DeepSpeedZeroOptimizer, of stages 1 and 2, is given offload_optimizer_config alone.
TEST_CASE("DeepSpeed keeps parameters on the GPU below ZeRO's third stage, whatever offload_param says") {
  for (const int stage : {1, 2}) {
    auto j = llama(zero(stage));
    j.offload.optimizer = place::on_cpu;
    const auto without = estimate(j);
    for (const auto at : {place::on_cpu, place::on_nvme}) {
      j.offload.parameters = at;
      const auto with = estimate(j);
      CHECK(with.ranks[0].at_peak[row::model_parameters] == bytes{2 * n});
      CHECK(with.ranks[0].device == without.ranks[0].device);
      CHECK(with.host.per_node == without.host.per_node);
      CHECK(with.nvme_per_node == 0_B);
      CHECK(with.assumptions.has(assumption::parameters_stay_on_gpu));
      CHECK(cost(j).step == cost([&] { auto plain = j; plain.offload.parameters = place::on_gpu; return plain; }()).step);
    }
    CHECK_FALSE(without.assumptions.has(assumption::parameters_stay_on_gpu));
  }
  auto j = llama(zero(3));
  j.offload.parameters = place::on_cpu;
  CHECK_FALSE(estimate(j).assumptions.has(assumption::parameters_stay_on_gpu));
  for (const auto kind : {sharding_kind::none, sharding_kind::ddp}) {
    j.sharding = {.kind = kind};
    CHECK_THROWS_AS(estimate(j), job_error);  // nothing would gather them
  }
}

// torch distributed/fsdp/_fully_shard/_fsdp_param_group.py post_backward: only parameters that have a gradient are reduced.
TEST_CASE("FSDP2 reduces adapters alone beside a frozen base") {
  auto j = llama(fsdp2());
  j.framework = frameworks::libtorch;
  j.precision = precisions::bf16;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}, .format = formats::bf16};
  const std::int64_t adapters = 8 * (4096 + 4096) + 8 * (4096 + 1024);  // of a layer
  CHECK(in(j, phase::reduce, row::communication_buffers) == bytes{2 * adapters});
  CHECK(in(j, phase::step, row::gradients) == bytes{2 * 32 * adapters / 8});
  const bytes root{2 * (2 * 128256 * std::int64_t{4096} + 4096)};
  const bytes layer{2 * (218'112'000 + adapters)};
  CHECK(in(j, phase::forward, row::gathered_parameters) == root + 2 * layer);
}

// torch distributed/fsdp/_flat_param.py: a layer's weights are views of one flat parameter. Their gradients, zeros where a view is frozen,
// are concatenated (tools/autograd/derivatives.yaml, split_with_sizes), then reduced to a shard.
TEST_CASE("FSDP1 makes a flat gradient of a layer's") {
  auto j = llama(fsdp1());
  j.framework = frameworks::libtorch;
  j.precision = precisions::bf16;
  j.recompute = recompute::full;  // few activations, so that the end of backward is the tallest moment
  const bytes layer{2 * 218'112'000};
  const bytes root{2 * (2 * 128256 * std::int64_t{4096} + 4096)};
  // All trained: the root comes last, its tables' and its norm's gradients and their concatenation; shards of everything are there by then.
  CHECK(in(j, phase::reduce, row::communication_buffers) == root);
  CHECK(in(j, phase::reduce, row::gradients) == 32 * layer / 8 + root);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}, .format = formats::bf16};
  // Adapters in the same flat parameter as the frozen weights: zeros, and their concatenation, before a shard of that is made.
  CHECK(in(j, phase::reduce, row::communication_buffers) == 2 * layer);
  // Each adapter matrix a unit of its own: nothing is concatenated.
  j.framework.sharding.wraps_adapters = true;
  CHECK(in(j, phase::reduce, row::communication_buffers) == 0_B);
}

namespace {

// Of Llama 3.1 8B: a layer, a table, and what lies outside the layers. Eight ranks divide all of them.
constexpr std::int64_t u = 218'112'000, e = 128'256 * std::int64_t{4096}, outside = 2 * e + 4096;

job wrapped(const sharding& how) {
  auto j = llama(how);
  j.framework = frameworks::libtorch;
  j.optimizer = optimizers::adamw;
  return j;
}
windows windows_with(const job& j) {
  const auto s = settle(j);
  const auto list = kept_weights(s, weights_of(s.model));
  return windows_of(s, states(s, list));
}
void holds(const moment& m, std::int64_t gathered, std::int64_t communication = 0, std::int64_t gradients = 0) {
  CHECK(m.rows[row::gathered_parameters].count() == gathered);
  CHECK(m.rows[row::communication_buffers].count() == communication);
  CHECK(m.rows[row::gradients].count() == gradients);
  CHECK(m.total.count() == gathered + communication + gradients);
}

}  // namespace

// torch distributed/fsdp/_fully_shard/_fsdp_param_group.py and _fsdp_collectives.py, term by term: fp32 shards, computed and reduced in bf16.
TEST_CASE("every window of FSDP2") {
  const auto w = windows_with(wrapped(fsdp2()));
  holds(w.forward, 2 * outside + 2 * 2 * u);
  holds(w.loss, 2 * outside + 2 * u);
  holds(w.turn, 2 * outside + 2 * u);
  holds(w.backward, 2 * outside + 2 * 2 * u);
  holds(w.reduce, 2 * outside + 2 * u, 2 * u + 2 * u / 8 + 4 * u / 8);
  holds(w.end, 2 * outside, 2 * u);
  holds(w.last_reduce, 0, 2 * outside + 2 * outside / 8 + 4 * outside / 8);
  holds(w.gradients_before, 0);
  CHECK(w.pending.count() == 2 * u);
  CHECK(w.pending_first == 0_B);
  CHECK(w.root_waits);
  CHECK(w.kept_per_unit.count() == 4 * u / 8);
  CHECK(w.kept_root.count() == 4 * outside / 8);
  CHECK(w.kept_embedding.count() == 4 * outside / 8);
  CHECK(w.pools);
  CHECK(w.gathering.count() == 2 * u);
  CHECK(w.gather_pool.count() == 2 * outside + 2 * u + 2 * u / 8);
  CHECK(w.reduce_pool.count() == 4 * n / 8 + 2 * outside / 8);

  auto pair = wrapped(fsdp2());  // half of what lies outside is more than a layer and its half
  pair.hardware.gpus_per_node = 2;
  CHECK(windows_with(pair).gather_pool.count() == 2 * outside + outside);

  auto whole = wrapped(fsdp2());
  whole.precision.reduce = formats::fp32;
  const auto wide = windows_with(whole);
  holds(wide.reduce, 2 * outside + 2 * u, 4 * u + 4 * u / 8);
  holds(wide.last_reduce, 0, 4 * outside + 4 * outside / 8);
  CHECK(wide.reduce_pool.count() == 4 * n / 8);

  auto stays = wrapped(fsdp2(2));
  const auto there = windows_with(stays);
  holds(there.forward, 2 * outside + 33 * 2 * u);
  holds(there.turn, 2 * outside + 32 * 2 * u);
  holds(there.backward, 2 * outside + 32 * 2 * u);
  holds(there.reduce, 2 * outside + 31 * 2 * u, 2 * u + 2 * u / 8 + 4 * u / 8);
  CHECK(there.gathering == 0_B);

  auto adds_up = wrapped(fsdp2());
  adds_up.sharding.no_sync = true;
  CHECK(windows_with(adds_up).root_waits);  // one micro-batch has nothing to add up
  adds_up.batch.accumulation = 2;
  const auto sums = windows_with(adds_up);
  holds(sums.gradients_before, 0, 0, 32 * 2 * u + 2 * outside);
  CHECK(sums.kept_per_unit + sums.kept_root + sums.kept_embedding == 0_B);
  CHECK(!sums.root_waits);

  auto apart = wrapped(fsdp2());
  apart.framework.sharding.root = root_units::split;
  const auto split = windows_with(apart);
  holds(split.forward, 2 * 2 * u);
  holds(split.loss, 2 * (e + 4096) + 2 * u);
  holds(split.end, 2 * e, 2 * u);
  holds(split.last_reduce, 0, 2 * e + 2 * e / 8 + 4 * e / 8);
  CHECK(split.pending_first.count() == 2 * (e + 4096));
  CHECK(!split.root_waits);
  CHECK(split.kept_embedding.count() == 4 * e / 8);
  CHECK(split.kept_root.count() == 4 * outside / 8);
  CHECK(split.gather_pool.count() == 2 * (e + 4096) + 2 * u + 2 * u / 8);

  auto replicas = wrapped(fsdp2());
  replicas.parallel.replicate = 2;
  CHECK(windows_with(replicas).pending.count() == 2 * u + 2 * u / 4);
  replicas.precision.reduce = formats::fp32;
  CHECK(windows_with(replicas).pending.count() == 4 * u);
}

// torch distributed/fsdp/_runtime_utils.py and _flat_param.py.
TEST_CASE("every window of FSDP1") {
  const auto w = windows_with(wrapped(fsdp1()));
  holds(w.forward, 2 * outside + 2 * u + 2 * u / 8);  // the layer, and its shard cast to bf16
  holds(w.loss, 2 * outside);
  holds(w.turn, 2 * outside + 2 * u);
  holds(w.backward, 2 * outside + 2 * 2 * u + 2 * u / 8);
  holds(w.reduce, 2 * outside + 2 * 2 * u, 2 * u + 2 * u / 8);
  holds(w.end, 2 * outside);
  holds(w.last_reduce, 2 * outside, 2 * outside);
  CHECK(w.flat_pieces);
  CHECK(w.root_waits);
  CHECK(w.kept_per_unit.count() == 4 * u / 8);
  CHECK(w.kept_root.count() == 4 * outside / 8);
  CHECK(w.kept_embedding.count() == 4 * outside / 8);

  auto wide = wrapped(fsdp1());
  wide.precision.reduce = formats::fp32;
  holds(windows_with(wide).reduce, 2 * outside + 2 * 2 * u, 2 * u + 4 * u + 4 * u / 8);

  auto late = wrapped(fsdp1());
  late.sharding.backward_prefetch = choice::no;
  holds(windows_with(late).turn, 2 * outside);
  holds(windows_with(late).backward, 2 * outside + 2 * u + 2 * u / 8);
  holds(windows_with(late).reduce, 2 * outside + 2 * u, 2 * u + 2 * u / 8);

  auto pure = wrapped(fsdp1());
  pure.precision = precisions::bf16;
  holds(windows_with(pure).forward, 2 * outside + 2 * u);

  const auto there = windows_with(wrapped(fsdp1(2)));
  holds(there.forward, 2 * outside + 32 * 2 * u + 2 * u / 8);
  holds(there.loss, 2 * outside + 32 * 2 * u);
  holds(there.turn, 2 * outside + 32 * 2 * u);
  holds(there.backward, 2 * outside + 32 * 2 * u + 2 * u / 8);
  holds(there.reduce, 2 * outside + 32 * 2 * u, 2 * u + 2 * u / 8);

  auto adds_up = wrapped(fsdp1());
  adds_up.sharding.no_sync = true;
  adds_up.batch.accumulation = 2;
  const auto sums = windows_with(adds_up);
  holds(sums.gradients_before, 0, 0, 32 * 2 * u + 2 * outside);
  holds(sums.reduce, 2 * outside + 2 * 2 * u, 2 * u);
  CHECK(sums.kept_per_unit + sums.kept_root == 0_B);

  auto side = wrapped(fsdp1());
  side.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}, .format = formats::bf16};
  const auto frozen = windows_with(side);
  holds(frozen.loss, 2 * outside);
  holds(frozen.last_reduce, 2 * outside);  // nothing outside the layers trains
  CHECK(frozen.kept_root + frozen.kept_embedding == 0_B);
}

}  // namespace test_windows
