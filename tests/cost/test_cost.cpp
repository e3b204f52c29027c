// Distributed under the Boost Software License, Version 1.0.
// What a predicted step time must hold, whatever the calibration.
#include <headroom/cost/cost.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/model/zoo.hpp>

#include "both.hpp"

namespace test_cost {

using namespace headroom;

namespace {

constexpr job llama{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .parallel = {.data = 8},
                    .sharding = fsdp2(), .batch = {.micro = 1, .sequence = 4096}};

constexpr job divided(std::int64_t data, std::int64_t tensor, std::int64_t pipeline, std::int64_t accumulation) {
  job j = llama;
  j.framework = frameworks::megatron;
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  j.parallel = {.data = data, .tensor = tensor, .sequence = tensor > 1, .pipeline = pipeline};
  j.hardware.nodes = data * tensor * pipeline / 8;
  j.batch.accumulation = accumulation;
  return j;
}

constexpr double parts(const step_cost& c) {
  return (c.matmul + c.attention + c.memory + c.communication + c.launch + c.data_parallel + c.bubble + c.optimizer + c.offload) / c.step;
}
constexpr double seconds_of(const job& j) { return cost(j).step.value; }
constexpr double compute_of(const job& j) {
  const auto c = cost(j);
  return (c.matmul + c.attention + c.memory + c.launch).value;
}

}  // namespace

TEST_CASE("the parts of a step add up, and are constant expressions") {
  constexpr auto c = cost(llama);
  BOTH(parts(c) > 0.999999);
  BOTH(parts(c) < 1.000001);
  BOTH(c.tokens == 8 * 4096.0);
  BOTH(c.gpus == 8.0);
  BOTH(c.mfu() > 0.2);  // no GPU exceeds its peak
  BOTH(c.mfu() < 0.8);
  constexpr auto d = cost(divided(2, 4, 4, 16));
  BOTH(parts(d) > 0.999999);
  BOTH(parts(d) < 1.000001);
  BOTH(d.bubble.value > 0);
}

TEST_CASE("more data-parallel ranks leave the compute of each as it is") {
  CHECK(compute_of(divided(16, 4, 1, 4)) == doctest::Approx(compute_of(divided(2, 4, 1, 4))));
  for (const std::int64_t nodes : {1, 2, 8, 64}) {
    job j = llama;
    j.hardware.nodes = nodes;
    j.parallel.data = 8 * nodes;
    CHECK(compute_of(j) == doctest::Approx(compute_of(llama)));
    CHECK(seconds_of(j) >= 0.999999 * seconds_of(llama) - cost(llama).optimizer.value);
  }
}

TEST_CASE("a step grows with micro-batches, layers, sequence and width") {
  const auto grows = [](auto with) {
    double last = 0;
    for (const std::int64_t n : {1, 2, 3, 4, 8}) {
      const double now = with(n);
      CHECK(now > last);
      last = now;
    }
  };
  grows([](std::int64_t n) { return seconds_of(divided(2, 4, 2, n)); });
  grows([](std::int64_t n) { return seconds_of(divided(1, 1, 8, n)); });
  grows([](std::int64_t n) { job j = llama; j.batch.accumulation = n; return seconds_of(j); });
  grows([](std::int64_t n) { job j = llama; j.batch.micro = n; return seconds_of(j); });
  grows([](std::int64_t n) { job j = llama; j.batch.sequence = 1024 * n; return seconds_of(j); });
  grows([](std::int64_t n) { job j = llama; j.model.layers = 8 * n; return seconds_of(j); });
  grows([](std::int64_t n) { job j = llama; j.model.ffn = 4096 * n; return seconds_of(j); });
  grows([](std::int64_t n) { job j = llama; j.model = models::mixtral_8x7b; j.model.layers = 4 * n; return seconds_of(j); });
}

TEST_CASE("what costs time costs time") {
  job j = llama;
  j.recompute = recompute::full;
  // One forward more beside a forward and a backward of twice that: no more than a third.
  CHECK(seconds_of(j) > seconds_of(llama));
  CHECK(seconds_of(j) < 1.4 * seconds_of(llama));
  CHECK(cost(j).model.value == cost(llama).model.value);
  CHECK(cost(j).hardware.value > cost(llama).hardware.value);

  j = llama;
  j.sharding = zero(3);
  const double on_gpu = seconds_of(j);
  j.offload.optimizer = place::on_cpu;
  const double on_host = seconds_of(j);
  CHECK(on_host > on_gpu);
  j.offload.optimizer = place::on_nvme;
  CHECK(seconds_of(j) > on_host);

  j = llama;
  j.attention = attention::eager;
  CHECK(seconds_of(j) > seconds_of(llama));

  j = llama;
  j.hardware.gpu = gpus::a100_sxm_80gb;
  CHECK(seconds_of(j) > 1.5 * seconds_of(llama));
}

TEST_CASE("schedules in order") {
  const auto with = [](schedule kind, std::int64_t chunks) {
    job j = divided(1, 1, 8, 16);
    j.parallel.schedule = kind;
    j.parallel.virtual_pipeline = chunks;
    return cost(j).bubble.value;
  };
  const double plain = with(schedule::one_forward_one_backward, 1);
  CHECK(with(schedule::gpipe, 1) == plain);
  CHECK(with(schedule::interleaved, 2) < plain);
  CHECK(with(schedule::interleaved, 4) < with(schedule::interleaved, 2));
  CHECK(with(schedule::zero_bubble, 1) < plain);
}

TEST_CASE("heads that do not fit tensor cores are slow") {
  // BigScience's chronicles of 176B: 128 heads of 13824 (108 wide) took 35 to 40 % longer than 96 (144 wide).
  job j = divided(1, 8, 1, 1);
  j.hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 1, .gpus_per_node = 8};
  j.attention = attention::eager;
  j.model = {.layers = 4, .hidden = 13824, .heads = 96, .ffn = 55296, .mlp = mlp_kind::plain, .norm = norm_kind::layernorm, .vocab = 51200, .tied = true};
  const double wide = seconds_of(j);
  j.model.heads = 128;
  CHECK(seconds_of(j) > 1.2 * wide);
}

TEST_CASE("a stated network counts") {
  auto j = divided(4, 8, 1, 1);
  const double usual = seconds_of(j);
  j.hardware.network_gbit = 100;
  CHECK(seconds_of(j) > usual);
  j.hardware.network_gbit = 8 * 400;  // what a node of H100 usually has
  CHECK(seconds_of(j) == doctest::Approx(usual));
}

TEST_CASE("what is not predicted is refused") {
  job j = llama;
  j.hardware.gpu = gpus::cpu;
  CHECK_THROWS_WITH(cost(j), "headroom: step time needs a GPU");
  j = llama;
  j.hardware.gpu.bf16_tflops_x10 = j.hardware.gpu.fp16_tflops_x10 = 0;
  CHECK_THROWS(cost(j));
  j = llama;
  j.model.encoder.layers = 2;
  CHECK_THROWS(cost(j));
}

}  // namespace test_cost
