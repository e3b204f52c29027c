// Distributed under the Boost Software License, Version 1.0.
// torchtitan's pipelines, counted by hand from torch's distributed/pipelining/stage.py and schedules.py, and FSDP2's
// _fsdp_param_group.py. Every layer keeps its input alone: x = 2·t·h bytes.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_eager_stages {

using namespace headroom;

namespace {

constexpr std::int64_t h = 512, f = 1024, heads = 8, vocab = 1024, t = 2048, stages = 4, data = 2, layers = 16;
constexpr std::int64_t x = 2 * t * h;
constexpr std::int64_t layer = 4 * h * h + 3 * h * f + 2 * h, table = vocab * h;

job pipeline(std::int64_t micros, std::int64_t chunks = 1) {
  job j;
  j.model = {.layers = layers, .hidden = h, .heads = heads, .ffn = f, .vocab = vocab};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
  j.framework = frameworks::torchtitan_202404;
  j.parallel = {.data = data, .pipeline = stages, .virtual_pipeline = chunks};
  if (chunks > 1) j.parallel.schedule = schedule::interleaved;
  j.sharding = fsdp2();
  j.batch = {.micro = 1, .sequence = t, .accumulation = micros};
  j.recompute = recompute::full;
  return j;
}

std::int64_t at(const report& r, std::size_t stage, phase p, row of) { return r.ranks[stage].at_phase[static_cast<std::size_t>(p)][of].count(); }

}  // namespace

// A stage of 1F1B has a buffer for each micro-batch's input and, but for the last, for each one's gradient; a stage's inputs keep their
// gradients once they have them. In a reduction all have come back.
TEST_CASE("buffers between stages") {
  const auto r = estimate(pipeline(8));
  const auto unit = 4 * layer;  // the reduction's input, in fp32
  CHECK(at(r, 0, phase::reduce, row::communication_buffers) == 8 * x + 4 * (4 * (layer / 4) > table ? layer : table));
  CHECK(at(r, 1, phase::reduce, row::communication_buffers) == (8 + 8 + 8) * x + unit);
  CHECK(at(r, 3, phase::reduce, row::communication_buffers) == (8 + 8) * x + unit);
}

// When its last forward before a backward runs, stage 0 holds three micro-batches, of each every layer's input and what was sent. Stage 1
// holds one less; its first layer's inputs lie in the buffers, that of the micro-batch that runs, too.
TEST_CASE("inputs of layers in flight") {
  const auto r = estimate(pipeline(8));
  // In a reduction nothing is in flight any more: what activations it finds is what stays.
  const auto held = [&](std::size_t stage) { return at(r, stage, phase::forward, row::activations) - at(r, stage, phase::reduce, row::activations); };
  CHECK(held(0) - held(1) == 3 * (4 + 1) * x - 2 * (3 + 1) * x + x);
}

// Gathered parameters of four layers stay in bf16 from the first forward on, gradients add up in fp32, both whole. A reduction lets the parameters of
// its unit go before it copies their gradients: the first layer's, and before it the embedding's.
TEST_CASE("parameters and gradients stay whole") {
  const auto r = estimate(pipeline(8));
  CHECK(at(r, 1, phase::backward, row::gathered_parameters) == 2 * 4 * layer);
  CHECK(at(r, 1, phase::reduce, row::gathered_parameters) == 2 * 3 * layer);
  CHECK(at(r, 1, phase::reduce, row::gradients) == 4 * 4 * layer);
  CHECK(at(r, 1, phase::step, row::gradients) == 4 * 4 * layer / data);
  CHECK(at(r, 1, phase::step, row::gathered_parameters) == 0);
  CHECK(at(r, 0, phase::backward, row::gathered_parameters) == 2 * (4 * layer + table));
  CHECK(at(r, 0, phase::reduce, row::gathered_parameters) == 2 * 3 * layer);
}

// Interleaved with as many micro-batches as stages, the second half of a rank's layers has been through every backward, and is reduced,
// before the first half's begins: whole gradients of both never meet.
TEST_CASE("chunks are reduced one after the other") {
  const auto r = estimate(pipeline(4, 2));
  CHECK(at(r, 1, phase::reduce, row::gradients) == 4 * 2 * layer);
  const auto more = estimate(pipeline(8, 2));
  CHECK(at(more, 1, phase::reduce, row::gradients) == 4 * 4 * layer);
}

// What the model returns of every micro-batch is collected, and joined when the step is over.
TEST_CASE("the last stage keeps the logits of every micro-batch") {
  const auto r = estimate(pipeline(8));
  CHECK(at(r, 3, phase::step, row::logits) == 8 * 2 * t * vocab);
  CHECK(at(r, 2, phase::step, row::logits) == 0);
}

/// The library's orders, of which no step is left out.
struct every_step {
  static constexpr bool repeats = false;
  template <class Visit>
  static constexpr void run(const pipeline_plan& p, std::int64_t stage, Visit&& visit) {
    run_schedule(p, stage, visit);
  }
};

// Once a schedule is under way its steps only repeat: following all of them finds nothing else, in eager stages and in Megatron's.
TEST_CASE("steps that repeat need not be followed") {
  for (const std::int64_t micros : {1, 3, 4, 8, 20, 24, 28, 100, 200})
    for (const std::int64_t chunks : {1, 2, 4})
      for (const int which : {0, 1, 2, 3}) {
        auto j = pipeline(micros, chunks);
        if (which > 0) j.framework = frameworks::megatron, j.sharding = ddp();
        if (which > 1) j.parallel.schedule = which == 2 ? schedule::zero_bubble : schedule::dualpipe, j.recompute = recompute::none;
        if (chunks > 1 ? micros % stages != 0 || which > 1 : which == 3 && micros % 2 != 0) continue;
        CAPTURE(micros);
        CAPTURE(chunks);
        CAPTURE(which);
        CHECK((detail::estimate_with(j, detail::shipped_layers{}, every_step{}) == estimate(j)));
      }
}

// DTensor divides alone (parallelize.py apply_tp without apply_fsdp or apply_ddp); DDP's replicas of divided modules, and ring attention without FSDP2, are not modelled.
TEST_CASE("what divided modules need beside them") {
  const auto why = [](std::int64_t tensor, std::int64_t context, sharding of) {
    auto j = pipeline(1);
    j.parallel = {.data = 8 / tensor / context, .tensor = tensor, .context = context};
    j.sharding = of;
    const auto no = objection_to(j);
    return no ? std::string{no.sentence} : std::string{};
  };
  constexpr auto needed = "headroom: tensor and context parallelism of eager modules need sharding.kind \"fsdp2\" in this version";
  CHECK(why(8, 1, {}).empty());
  CHECK(why(2, 2, fsdp2()).empty());
  CHECK(why(1, 1, ddp()).empty());
  CHECK(why(2, 1, ddp()) == needed);
  CHECK(why(1, 8, {}) == needed);
  CHECK(why(1, 2, ddp()) == needed);
}

TEST_CASE("what pipelines need") {
  auto j = pipeline(8);
  j.sharding = {};
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("fsdp2"), job_error);
  j = pipeline(6, 2);
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("multiple of parallel.pipeline"), job_error);
  j = pipeline(8);
  j.parallel.schedule = schedule::naive;
  CHECK_THROWS_AS(estimate(j), job_error);
}

}  // namespace test_eager_stages
