// Distributed under the Boost Software License, Version 1.0.
// Step times of hybrid stacks under Megatron: every kind of half takes its own time, wherever it lies.
#include <headroom/hardware/gpu.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/cost/cost.hpp>
#include <headroom/plan/judge.hpp>

#include "both.hpp"

#include <algorithm>
#include <string>

namespace test_hybrid {

using namespace headroom;

namespace {

/// Megatron's letters: Mamba-2, attention, MLP, experts.
job lettered(std::string_view letters, std::int64_t pipeline = 1) {
  job j;
  j.framework = frameworks::megatron;
  j.model = {.layers = static_cast<std::int64_t>(letters.size()), .hidden = 1024, .heads = 16, .ffn = 4096, .vocab = 32000};
  j.model.ssm = {.heads = 32, .head_dim = 64, .state = 128, .groups = 8, .conv = 4, .chunk = 128, .conv_bias = true};
  j.model.experts = {.count = 8, .active = 2, .ffn = 4096};
  for (const char letter : letters)
    j.model.pattern.add(letter == 'M'   ? layer_kind{mixer_kind::mamba2, feed_forward_kind::none}
                        : letter == '*' ? layer_kind{mixer_kind::attention, feed_forward_kind::none}
                        : letter == 'E' ? layer_kind{mixer_kind::none, feed_forward_kind::experts}
                                        : layer_kind{mixer_kind::none, feed_forward_kind::dense});
  j.hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = pipeline};
  j.precision = precisions::bf16_mixed;
  j.parallel.pipeline = pipeline;
  j.batch = {.micro = 2, .sequence = 2048, .accumulation = 6};
  j.attention = attention::te;
  return j;
}
double compute(const job& j) {
  const auto c = cost(j);
  return (c.matmul + c.attention + c.memory + c.launch).value;
}
/// What a layer more of a letter takes.
double more(std::string_view letters, char letter) { return compute(lettered(std::string{letters} + letter)) - compute(lettered(letters)); }

}  // namespace

TEST_CASE("each letter takes its own time, whatever stands before it") {
  for (const char letter : std::string_view{"M*-E"}) CHECK(more("M*-E", letter) == doctest::Approx(more("E-*MMM*", letter)));
  CHECK(more("M*-E", 'M') != doctest::Approx(more("M*-E", '*')));
  CHECK(more("M*-E", '-') != doctest::Approx(more("M*-E", 'E')));
}

// Dao and Gu 2024, section 6: of a position, scores of a chunk of 128 (8 groups, states of 128), what they weigh and the chunk's states (32 heads of 64), and
// the convolution's four taps. Backward multiplies twice for each, and makes forward's matrices once more: four passes in all.
TEST_CASE("a scan takes four passes of its multiplications") {
  const double heads = 32, d = 64, n = 128, groups = 8, chunk = 128;
  const double position = 2 * chunk * n * groups + 2 * chunk * d * heads + 2 * 2 * d * n * heads + 2 * 4 * (heads * d + 2 * groups * n);
  const auto fewer = lettered("M*-E"), one = lettered("M*-EM");
  const auto s = settle(one);
  const double rate = detail::cost_scene_of(s, rates_of(*s.on)).on.matmul_16;
  CHECK((cost(one).attention - cost(fewer).attention).value == doctest::Approx(6 * 4 * 2 * 2048 * position / rate).epsilon(1e-9));
}

TEST_CASE("a hybrid stack's model FLOPs are those of its letters") {
  // Of a position: attention 4 × 1024², an MLP 3 × 1024 × 4096, the head 32,000 × 1024; the square of attention twice 2048 × 1024.
  const auto one = model_flops(lettered("*-").model, 1, 2048).value / 6 / 2048;
  CHECK(one == 4.0 * 1024 * 1024 + 2.0 * 2048 * 1024 + 3.0 * 1024 * 4096 + 32'000.0 * 1024);
  const auto two = model_flops(lettered("**-").model, 1, 2048).value / 6 / 2048;
  CHECK(two - one == 4.0 * 1024 * 1024 + 2.0 * 2048 * 1024);
}

TEST_CASE("the stage that sets the pace is the one whose letters take longest") {
  // Four stages of three letters: one of attention and MLPs, three of Mamba-2. With enough micro-batches the fullest stage is the step.
  auto even = lettered("*-*MMMMMMMMM", 4);
  for (std::size_t i = 0; i < 4; ++i) even.parallel.stage_layers[i] = 3;
  const double front = more("M*-E", '*') * 2 + more("M*-E", '-'), scans = more("M*-E", 'M') * 3;
  auto turned = even;
  turned.model.pattern = lettered("MMM*-*MMMMMM").model.pattern;
  // The same letters on another stage: neither the sum nor the tallest changes but for what stands beside the first stage's layers.
  CHECK(front != doctest::Approx(scans));
  CHECK(compute(even) <= compute(turned) * 1.2);
  // Moving a letter off the stage that sets the pace makes the step shorter.
  auto slow = even, quick = even;
  const bool scans_rule = scans > front;
  slow.parallel.stage_layers[0] = scans_rule ? 2 : 4, slow.parallel.stage_layers[1] = scans_rule ? 4 : 2;
  CHECK(cost(slow).step.value > cost(quick).step.value);
  // Of all cuts one is quickest, and it is no worse than the even one.
  double best = cost(even).step.value;
  for (std::int32_t a = 1; a <= 9; ++a)
    for (std::int32_t b = 1; a + b <= 10; ++b)
      for (std::int32_t c = 1; a + b + c <= 11; ++c) {
        auto other = even;
        const std::int32_t layers[] = {a, b, c, 12 - a - b - c};
        std::copy(layers, layers + 4, other.parallel.stage_layers);
        best = std::min(best, cost(other).step.value);
      }
  CHECK(best <= cost(even).step.value);
}

TEST_CASE("tensor parallelism reduces once for a half, and divides the scan") {
  auto one = lettered("MMMM"), two = one;
  two.hardware.gpus_per_node = 2;
  two.parallel.tensor = 2;
  two.framework.communication.overlaps_input_gradients = false;  // or what hides of it depends on what there is to hide it behind
  CHECK(cost(two).attention.value == doctest::Approx(cost(one).attention.value / 2));
  auto attends = two, both = two;
  attends.model = lettered("****").model;
  both.model = lettered("*-*-").model;
  CHECK(cost(attends).communication.value == doctest::Approx(cost(two).communication.value));
  CHECK(cost(both).communication.value == doctest::Approx(cost(two).communication.value));
}

TEST_CASE("letters of attention and of MLPs in turn are a GPT's layers") {
  auto halves = lettered("*-*-"), whole = halves;
  whole.model.pattern = {};
  whole.model.layers = 2;
  whole.model.experts = halves.model.experts = {};
  for (auto* j : {&halves, &whole}) j->hardware.gpus_per_node = 2, j->parallel.tensor = 2, j->framework.communication.overlaps_input_gradients = false;
  const auto a = cost(halves), b = cost(whole);
  CHECK(a.matmul.value == doctest::Approx(b.matmul.value));
  CHECK(a.attention.value == doctest::Approx(b.attention.value));
  CHECK(a.communication.value == doctest::Approx(b.communication.value));
  CHECK(a.memory.value == doctest::Approx(b.memory.value));
  CHECK(a.model.value == b.model.value);
}

TEST_CASE("plans of hybrid stacks have the peaks and times of their jobs") {
  search s;
  s.job = lettered("MMMM*-*-*E*E");
  s.job.hardware.gpus_per_node = 8;
  s.job.parallel = {};
  s.job.batch.accumulation = 1;
  for (const std::string_view key : {"parallel.tensor", "parallel.pipeline", "recompute"}) s.open |= std::uint32_t{1} << axes::find(key);
  s.open_micro = true;
  s.global_batch = 32;
  const auto found = plan(s, {.top = 6, .threads = 1});
  REQUIRE(found.best.size() == 6);
  bool again = false, piped = false;
  for (const auto* list : {&found.best, &found.front})
    for (const auto& p : *list) {
      CHECK(p.outcome.device == estimate(p.job).device());
      CHECK(p.outcome.seconds == doctest::Approx(cost(p.job).step.value));
      again = again || p.job.recompute.mode == recompute_mode::full;
      piped = piped || p.job.parallel.pipeline > 1;
    }
  CHECK(piped);
  CHECK(again);
}

TEST_CASE("context parallelism of a hybrid stack is not timed") {
  auto j = lettered("M*-E");
  j.hardware.gpus_per_node = 2;
  j.parallel.context = 2;
  CHECK_THROWS_WITH_AS(cost(j), doctest::Contains("is predicted only without context parallelism and multi-token prediction by this version"), job_error);
}

}  // namespace test_hybrid
