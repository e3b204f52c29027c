// Distributed under the Boost Software License, Version 1.0.
// What a predicted step time must hold, whatever the calibration.
#include <headroom/hardware/gpu.hpp>
#include <headroom/cost/bounds.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/objection.hpp>

#include "both.hpp"

#include <algorithm>
#include <string>

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

constexpr job on_two(job j, const gpu& second, std::int64_t count) {
  j.hardware.others = {{second, count}};
  return j;
}
constexpr job cut(job j, std::initializer_list<std::int32_t> layers) {
  j.parallel.chunks = 0, j.model.layers = 0;
  for (const auto n : layers) j.parallel.stage_layers[j.parallel.chunks++] = n, j.model.layers += n;
  return j;
}
/// A GPU of half of everything that a step takes time for, and rates without constant times.
constexpr gpu half_of(gpu g) {
  g.bandwidth_gb_s /= 2, g.bf16_tflops_x10 /= 2, g.fp16_tflops_x10 /= 2, g.fp32_tflops_x10 /= 2, g.link_gb_s /= 2, g.matmul_tflops_x10 = 7944 / 2;
  g.network_gbit = 200;
  return g;
}
constexpr rates only_rates = [] {
  auto r = calibrated::hopper;
  r.gap = r.kernel_gap = r.host_operation = r.host_kernel = r.host_step = r.host_compiled = r.latency = r.step = 0;
  return r;
}();
constexpr gpu whole_gpu = [] {
  auto g = gpus::h100_sxm_80gb;
  g.matmul_tflops_x10 = 7944, g.network_gbit = 400;
  return g;
}();

TEST_CASE("one kind of GPU named twice is one kind") {
  const auto same = [](job j) {
    for (const std::int64_t count : {j.hardware.gpus() / 2, std::int64_t{5}, std::int64_t{3}}) {
      const auto one = cost(j), two = cost(on_two(j, j.hardware.gpu, count));
      CHECK(two.step.value == doctest::Approx(one.step.value).epsilon(1e-9));
      CHECK(two.data_parallel.value == doctest::Approx(one.data_parallel.value).epsilon(1e-9));
      CHECK(two.bubble.value == doctest::Approx(one.bubble.value).epsilon(1e-9));
      CHECK(two.mfu() == doctest::Approx(one.mfu()).epsilon(1e-9));
      CHECK(two.assumptions.has(time_assumption::mixed_kinds));
      CHECK_FALSE(one.assumptions.has(time_assumption::mixed_kinds));
    }
  };
  for (const std::int64_t stages : {1, 2, 4, 8}) same(divided(4, 2, stages, 16));
  same(cut(divided(2, 4, 2, 16), {20, 12}));
  for (const auto kind : {schedule::interleaved, schedule::zero_bubble, schedule::dualpipe, schedule::gpipe}) {
    auto j = divided(1, 4, 4, 16);
    j.parallel.schedule = kind;
    j.parallel.virtual_pipeline = kind == schedule::interleaved ? 2 : 1;
    same(j);
  }
  auto j = divided(4, 2, 4, 8);
  j.model.tied = true;  // the first stage's and the last one's gradients of a table
  same(j);
  j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 3};
  same(j);
  j = divided(8, 1, 2, 8);
  j.model = models::mixtral_8x7b;
  j.parallel.expert = 8;
  same(j);
  same(llama);
  j = llama;
  j.sharding = zero(3);
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  same(j);
}

TEST_CASE("half the layers at half the rates take as long") {
  // Embedding and head are next to nothing with 64 words. Both stages take a time t: m micro-batches and one more stage to pass, (m + 1) t.
  auto j = divided(4, 2, 2, 6);
  j.hardware.gpu = whole_gpu;
  j.model.vocab = 64;
  j.sharding = {};
  const auto even = cost(cut(j, {32, 32}), only_rates), uneven = cost(on_two(cut(j, {32, 16}), half_of(whole_gpu), 8), only_rates);
  CHECK(((uneven.step - uneven.data_parallel - uneven.optimizer) / (even.step - even.data_parallel - even.optimizer)) == doctest::Approx(1).epsilon(0.005));
  CHECK(uneven.bubble.value == doctest::Approx((uneven.step - uneven.data_parallel - uneven.optimizer).value / 7).epsilon(0.005));
  // A quarter fewer layers on GPUs of three quarters of the peak: MFU is that of even stages.
  CHECK(uneven.mfu() * uneven.step.value == doctest::Approx(even.mfu() * even.step.value).epsilon(0.005));
  // Twice the layers there, and that stage alone sets the pace: m of its times of 2 t, and the other's t.
  const auto slow = cost(on_two(cut(j, {32, 32}), half_of(whole_gpu), 8), only_rates);
  CHECK(((slow.step - slow.data_parallel - slow.optimizer) / (even.step - even.data_parallel - even.optimizer)) == doctest::Approx((2 * 6 + 1) / 7.0).epsilon(0.005));
  BOTH(cost(on_two(cut(divided(4, 2, 2, 6), {20, 12}), gpus::a100_sxm_80gb, 8)).step.value > cost(cut(divided(4, 2, 2, 6), {20, 12})).step.value);
}

TEST_CASE("groups on two kinds run at the slower's network, groups on one at their own") {
  auto slow = whole_gpu;
  slow.network_gbit = 100;
  auto all = llama;  // FSDP over both nodes
  all.hardware.gpu = whole_gpu, all.hardware.nodes = 2, all.parallel.data = 16;
  auto all_slow = all;
  all_slow.hardware.gpu = slow;
  CHECK(cost(on_two(all, slow, 8)).step.value == doctest::Approx(cost(all_slow).step.value));
  CHECK(cost(on_two(all, slow, 8)).step.value > cost(all).step.value);
  // Two stages of two nodes each: the slow ones reduce their own gradients, and so end the step.
  auto staged = divided(16, 1, 2, 8), staged_slow = staged;
  staged.hardware.gpu = whole_gpu, staged_slow.hardware.gpu = slow;
  const auto both = cost(on_two(staged, slow, 16));
  CHECK(both.data_parallel.value == doctest::Approx(cost(staged_slow).data_parallel.value));
  CHECK(both.matmul.value == doctest::Approx(cost(staged).matmul.value));
  // In one node of a stage each the network joins the stages alone.
  auto local = divided(8, 1, 2, 8);
  local.hardware.gpu = whole_gpu;
  CHECK(cost(on_two(local, slow, 8)).data_parallel.value == doctest::Approx(cost(local).data_parallel.value));
  CHECK(cost(on_two(local, slow, 8)).communication.value > cost(local).communication.value);
}

TEST_CASE("a mixed cluster lies between its kinds, and gains from a faster one") {
  for (const std::int64_t stages : {1, 2, 4})
    for (const auto& g : {gpus::a100_sxm_80gb, gpus::l40s, gpus::h200_sxm_141gb, gpus::mi300x_192gb}) {
      const auto j = divided(4, 2, stages, 8);
      if (j.hardware.gpus() < 16) continue;
      auto other = j;
      other.hardware.gpu = g;
      const double fast = std::min(seconds_of(j), seconds_of(other)), slow = std::max(seconds_of(j), seconds_of(other));
      const double mixed = seconds_of(on_two(j, g, j.hardware.gpus() / 2));
      CHECK(mixed >= fast * 0.999999);
      if (g != gpus::mi300x_192gb) CHECK(mixed <= slow * 1.000001);  // whose links are slower, its memory faster
    }
}

TEST_CASE("two plans are tied within what is not common to their errors") {
  constexpr auto of = [](double step, double communication, double tokens = 1) {
    step_cost c;
    c.step = seconds{step}, c.communication = seconds{communication}, c.tokens = tokens;
    c.assumptions.add(time_assumption::rates_calibrated);
    return c;
  };
  // 50 thousandths each are their own: sqrt(2) 0.05 = 0.0707; 2.776 times that at 95 %: 0.1963, a factor of 1.2156.
  BOTH(tied(of(1, 0), of(1.21, 0)));
  BOTH(!tied(of(1, 0), of(1.22, 0)));
  BOTH(tied(of(1.21, 0), of(1, 0)));
  BOTH(tied(of(1, 0), of(1.09, 0), 0.5 + 0.3));   // 1.533: 0.1084, 1.1143
  BOTH(!tied(of(1, 0), of(1.12, 0), 0.5 + 0.3));
  BOTH(tied(of(1, 0, 1), of(2.4, 0, 2)));         // twice the tokens
  // Traffic is 30 % off alike in both: with the same share of it nothing is added, with half a step more 0.15.
  BOTH(!tied(of(1, 0.5), of(1.22, 0.61)));
  BOTH(tied(of(1, 0), of(1.5, 0.75)));            // sqrt(0.0707^2 + 0.15^2) 2.776 = 0.4604, 1.5664
  BOTH(!tied(of(1, 0), of(1.6, 0.80)));
  // A range of one plan alone is wider than half of that: 2.757 x 0.075 = 0.2068, 1.2298.
  BOTH(bounds(of(1, 0)).high.value > 1.229);
  BOTH(bounds(of(1, 0)).high.value < 1.231);
}

TEST_CASE("layers without a width have no time") {
  for (auto size : {&shape::ffn, &shape::vocab}) {
    auto j = llama;
    j.model.*size = 0;
    const std::string why = objection_to(j).in_words().what();
    CHECK_THROWS_WITH_AS(cost(j), why.c_str(), job_error);
  }
  auto j = divided(2, 4, 1, 1);
  j.model.ffn = 0;
  CHECK_THROWS_WITH_AS(cost(j), "headroom: model.ffn must be a whole number from 1 to 2^40 (found 0)", job_error);
}

TEST_CASE("what is not predicted is refused") {
  job j = llama;
  j.hardware.gpu = gpus::cpu;
  CHECK_THROWS_WITH(cost(j), "headroom: step time needs a GPU");
  CHECK_THROWS_WITH(cost(on_two(llama, gpus::cpu, 4)), "headroom: step time needs a GPU");
  j = llama;
  j.hardware.gpu.bf16_tflops_x10 = j.hardware.gpu.fp16_tflops_x10 = 0;
  CHECK_THROWS(cost(j));
  j = llama;
  j.model.encoder.layers = 2;
  j.framework = frameworks::megatron;
  CHECK_THROWS(cost(j));
}

}  // namespace test_cost
