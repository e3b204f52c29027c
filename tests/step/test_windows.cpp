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

}  // namespace test_windows
