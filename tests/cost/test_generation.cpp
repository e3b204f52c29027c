// Distributed under the Boost Software License, Version 1.0.
// What completions, forwards of other models and weights on their way take, by hand: on a machine with round numbers, and of whole jobs in proportion.
#include <headroom/cost/cost.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace test_generation {

using namespace headroom;

namespace {

/// Two layers of 8 features, an MLP of 16, 32 words: 4 × 64 + 3 × 128 + 16 numbers in a layer, 256 in the head (and in the embedding, which is
/// looked up), 8 in the last norm: 1,576 are read.
constexpr shape tiny{.layers = 2, .hidden = 8, .heads = 2, .ffn = 16, .vocab = 32, .tied = false};
constexpr std::int64_t read_of_tiny = 2 * (4 * 64 + 3 * 128 + 16) + 256 + 8;

/// One byte or FLOP is a second over these.
constexpr machine round_machine{.matmul_16 = 12'800, .memory = 3'252, .pcie = 10, .links = {.link = 100, .network = 10, .latency = 0.5, .domain = 8}};
constexpr generation_load four{.sequences = 4, .at_once = 2, .prompts = 1, .prompt = 4, .completion = 2};
constexpr double seconds_of(const machine& on, const generation_load& g, double cache, double host) { return detail::generation_seconds(tiny, weights_of(tiny), on, g, 2, cache, host); }
constexpr double weights_of_step(const shape& m, std::int64_t at_once, std::int64_t tensor = 1) {
  return detail::weights_read(m, weights_of(m), {.at_once = static_cast<double>(at_once), .tensor = tensor}, 2);
}

job grpo(std::int64_t completions, method_code code = method_code::ms_swift) {
  return {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(3),
          .batch = {.micro = completions, .sequence = 1024}, .recompute = recompute::full, .attention = attention::flash,
          .objective = {.kind = objective_kind::grpo, .code = code, .reference = reference_way::none},
          .rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.6), .sleep = 2, .prompt = 512, .completion = 512, .generations = 8}};
}
job by_trainer(job j) {
  j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512};
  return j;
}
job separate(job j, std::int32_t gpus, std::int64_t tensor) {
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::separate, .tensor = tensor, .gpus = gpus, .prompt = 512, .completion = 512, .generations = 8};
  return j;
}
generation_load asked(const job& j) { return detail::load_of_engine(settle(j), weights_of(j.model)); }
double synced(const job& j) { return detail::sync_seconds(settle(j), {.memory = 200, .links = round_machine.links}, 800); }
double moved(const job& j) { return detail::moving_seconds(settle(j), round_machine, {.all = 1000, .trained = 500}, 800); }

}  // namespace

TEST_CASE("a step of generation reads the head once, tied or not, and of experts those that somebody visits") {
  auto tied = tiny;
  tied.tied = true;
  CHECK(weights_of_step(tiny, 1) == 2.0 * read_of_tiny);
  CHECK(weights_of_step(tied, 1) == 2.0 * read_of_tiny);
  CHECK(weights_of_step(tiny, 1, 2) == 1.0 * read_of_tiny);
  auto sparse = tiny;
  sparse.experts = {.count = 4, .active = 1, .ffn = 16};
  // A router of 4 × 8, and four experts of 3 × 128. One token visits one of four; of two tokens three fourths of three fourths visit none.
  const double others = 2 * (4 * 64 + 16 + 32) + 256 + 8, experts = 2 * 4 * 3 * 128;
  CHECK(weights_of_step(sparse, 1) == 2 * (others + experts / 4));
  CHECK(weights_of_step(sparse, 2) == doctest::Approx(2 * (others + experts * 7 / 16)).epsilon(1e-12));
  CHECK(weights_of_step(sparse, 1000) == doctest::Approx(2 * (others + experts)).epsilon(1e-5));
}

TEST_CASE("prompts by FLOPs, tokens by the slowest of bytes, FLOPs and the processor") {
  // Prompts: 4 positions of 2 × 1,280 linear weights and 2 × 256 of the head, two layers of 8 pairs × 2 × 16: 12,800 FLOPs, one second.
  // A token: 1,576 weights of two bytes, and 5 positions of two sequences in 10 bytes each: 3,252 bytes, one second. Two tokens, two rounds.
  CHECK(seconds_of(round_machine, four, 10, 0) == doctest::Approx(1 + 1 * 2 * 2));
  CHECK(seconds_of(round_machine, four, 10, 0.9) == doctest::Approx(5));
  CHECK(seconds_of(round_machine, four, 10, 3) == doctest::Approx(1 + 3 * 2 * 2));
  // On fast memory FLOPs decide: of two tokens, each 2 × 1,536 and half a pair in both layers.
  auto wide = round_machine;
  wide.memory = 1e9;
  CHECK(seconds_of(wide, four, 10, 0) == doctest::Approx(1 + (2 * 2 * 1536 + 2 * 2 * 0.5 * 2 * 16) / 12'800.0 * 4));
  // Two GPUs halve all three; two all-reduces a layer of 2 × 8 numbers, each of which starts once: 0.5 + 32 / 100 of 2 × half the volume.
  auto two = four;
  two.tensor = 2;
  CHECK(seconds_of(round_machine, two, 5, 0) == doctest::Approx(0.5 + (0.5 + 4 * (0.5 + 0.32)) * 4));
  // Nothing is asked for.
  auto none = four;
  none.sequences = 0;
  CHECK(seconds_of(round_machine, none, 10, 3) == 0);
  none = four;
  none.at_once = 0;
  CHECK(seconds_of(round_machine, none, 10, 3) == 0);
}

TEST_CASE("without keys and values each token takes all of its text again") {
  // Two texts of L tokens: 2 × 1,280 linear weights a token, L² / 2 pairs × 2 × 16 in both layers, and the head once: 2 × (2,560 L + 32 L² + 512) FLOPs.
  // From 4 to 6 tokens L is 5 on average, and L² 76 / 3.
  auto again = four;
  again.cached = false;
  auto fast = round_machine;
  fast.memory = 1e9;
  CHECK(seconds_of(fast, again, 10, 0) == doctest::Approx(2 * 2 * 2 * (2560 * 5 + 32 * 76.0 / 3 + 512) / 12'800));
  again.all_logits = true;  // … of all positions
  CHECK(seconds_of(fast, again, 10, 0) == doctest::Approx(2 * 2 * 2 * (2560 * 5 + 32 * 76.0 / 3 + 512 * 5) / 12'800));
  again.all_logits = false;
  // Of slow memory the weights alone are read.
  auto slow = round_machine;
  slow.memory = 100;
  CHECK(seconds_of(slow, again, 10, 0) == doctest::Approx(2 * 2 * 2 * 1576 / 100.0));
  // GKD and online DPO keep none where layers are checkpointed; GRPO's checkpointing is off meanwhile.
  auto j = by_trainer(grpo(4, method_code::trl));
  CHECK(asked(j).cached);
  j.objective = {.kind = objective_kind::online_dpo, .code = method_code::trl, .reference = reference_way::copy};
  CHECK_FALSE(asked(j).cached);
  const auto whole = cost(j).generation;
  j.recompute = recompute::none;
  CHECK(asked(j).cached);
  CHECK(cost(j).generation.value < whole.value);
  j.objective = {.kind = objective_kind::distill, .code = method_code::trl, .frozen = {.model = models::llama_3_1_8b}};
  CHECK(asked(j).cached);
  j.recompute = recompute::full;
  CHECK_FALSE(asked(j).cached);
}

TEST_CASE("how many samples are evaluated at once leaves a step's time as it is") {
  for (const bool by_module : {false, true}) {
    auto j = by_module ? by_trainer(grpo(4, method_code::trl)) : grpo(4, method_code::trl);
    j.objective.reference = reference_way::copy;
    const auto quiet = cost(j);
    j.evaluation = {.batch = 64};
    REQUIRE_FALSE(objection_to(j));
    CHECK(cost(j).other_models.value == quiet.other_models.value);
    CHECK(cost(j).generation.value == quiet.generation.value);
    CHECK(cost(j).step.value == quiet.step.value);
  }
}

TEST_CASE("TRL's GRPO scores its completions where an update learns from older ones, or beside vLLM's scores") {
  struct row { method_code code; bool vllm; std::int64_t accumulation, steps, iterations; bool scores; };
  using enum method_code;
  // The conditions of _generate_and_score_completions in TRL 0.16, 0.18, 0.20 and 0.23, read one after the other.
  for (const auto& r : std::initializer_list<row>{{trl_0_19, false, 4, 0, 0, false}, {trl_0_19, true, 4, 0, 1, false}, {trl_0_19, false, 4, 0, 2, true}, {trl_0_19, false, 6, 4, 0, false}, {trl_0_19, false, 4, 8, 0, true},
                                                  {trl_0_22, false, 4, 0, 0, false}, {trl_0_22, true, 4, 2, 2, false}, {trl_0_22, false, 6, 4, 0, true}, {trl_0_22, false, 4, 0, 2, true},
                                                  {trl_0_29, false, 4, 0, 0, false}, {trl_0_29, true, 4, 0, 0, true}, {trl, false, 4, 2, 2, false}, {trl, false, 4, 4, 2, true}, {trl, true, 4, 2, 0, true}}) {
    auto j = r.vllm ? grpo(8, r.code) : by_trainer(grpo(8, r.code));
    j.batch.accumulation = r.accumulation;
    j.rollout.steps_per_generation = r.steps;
    j.rollout.iterations = r.iterations;
    CAPTURE(r.accumulation);
    CAPTURE(r.steps);
    CAPTURE(r.iterations);
    CAPTURE(static_cast<int>(r.code));
    REQUIRE_FALSE(objection_to(j));
    CHECK((cost(j).other_models.value > 0) == r.scores);
    const auto report = estimate(j);
    CHECK((report.ranks[0][phase::score] > bytes{0}) == r.scores);
  }
  auto j = grpo(8, trl);
  j.rollout.corrects = choice::no;
  CHECK(cost(j).other_models.value == 0);
  j.rollout.corrects = choice::yes;
  CHECK(cost(j).other_models.value > 0);
  j = by_trainer(grpo(8, trl));
  j.objective.kind = objective_kind::rloo;
  CHECK(cost(j).other_models.value > 0);
  // Three updates from the same completions: each bears a third of what they took.
  auto thrice = j;
  thrice.rollout.iterations = 3;
  CHECK(cost(thrice).generation.value == doctest::Approx(cost(j).generation.value / 3));
  CHECK(cost(thrice).other_models.value == doctest::Approx(cost(j).other_models.value / 3));
  CHECK(cost(thrice).sync.value == doctest::Approx(cost(j).sync.value / 3));
  j.objective.code = ms_swift;
  j.rollout.iterations = 2;
  CHECK_THROWS_WITH_AS((void)cost(j), doctest::Contains("rollout.iterations is for GRPO, RLOO and PPO of TRL, and GRPO of ms-swift; leave it out"), job_error);
  // What is compared with vLLM's scores: of GRPO alone (grpo_trainer.py _generate_and_score_completions), and where vLLM has made some.
  for (const auto& without : {by_trainer(grpo(8, trl)), grpo(8, ms_swift), [] { auto r = grpo(8, trl); r.objective.kind = objective_kind::rloo; return r; }()}) {
    auto k = without;
    REQUIRE_FALSE(objection_to(k));
    k.rollout.corrects = choice::yes;
    CHECK_THROWS_WITH_AS((void)cost(k), doctest::Contains("rollout.corrects is for TRL's GRPO with vLLM; leave it out"), job_error);
  }
}

TEST_CASE("what an engine is asked for") {
  // 3 completions on each of 8 GPUs; 8 of them of each prompt; two GPUs share an engine.
  auto g = asked(grpo(3));
  CHECK(g.sequences == 3);
  CHECK(g.prompts == 3.0 / 8);
  CHECK(g.at_once == 3);
  CHECK(g.prompt == 512);
  CHECK(g.completion == 512);
  auto j = grpo(3);
  j.rollout.tensor = 2;
  j.batch.accumulation = 4;
  g = asked(j);
  CHECK(g.tensor == 2);
  CHECK(g.sequences == 3 * 4 * 2);
  CHECK(g.prompts == 3);
  j.rollout.generations = 0;
  CHECK(asked(j).prompts == 24);
  // Of an H100 0.6 × 81,009 MiB less weights of 15,316.5 MiB and a forward of 8,192 × (2 × 4,096 + 3 × 14,336) × 2 bytes, 800 MiB: 16,244 blocks
  // of 16 × 131,072 bytes. 1,024 positions are 64 blocks: 253 sequences side by side. With 0.7 there is room for 317, and vLLM runs 256.
  CHECK(asked(grpo(300)).at_once == 253);
  auto more = grpo(300);
  more.rollout.share = memory_share::of(0.7);
  CHECK(asked(more).at_once == 256);
  CHECK(asked(grpo(252)).at_once == 252);
  // GPUs of their own: all 8 × 3 completions on 4 GPUs, two engines of two.
  g = asked(separate(grpo(3), 4, 2));
  CHECK(g.sequences == 12);
  CHECK(g.at_once == 12);
  // The trainer's own module: all that it trains on, side by side; online DPO two of each prompt, a micro-batch after the other.
  j = by_trainer(grpo(3));
  j.batch.accumulation = 4;
  g = asked(j);
  CHECK(g.sequences == 12);
  CHECK(g.prompts == 12);
  CHECK(g.at_once == 12);
  j.objective = {.kind = objective_kind::online_dpo, .code = method_code::trl, .reference = reference_way::copy};
  g = asked(j);
  CHECK(g.sequences == 24);
  CHECK(g.at_once == 6);
}

TEST_CASE("800 bytes of weights on their way to what generates") {
  // Gathered from eight GPUs: 0.5 + 7/8 × 800 / 100. Written into an engine on the same GPUs: each reads and writes its part, at 200 bytes a second.
  auto j = grpo(1);
  CHECK(synced(j) == doctest::Approx(7.5 + 8));
  j.rollout.tensor = 2;
  CHECK(synced(j) == doctest::Approx(7.5 + 4));
  CHECK(synced(separate(grpo(1), 8, 1)) == doctest::Approx(7.5 + 80.5));  // over the network
  j = grpo(1);
  j.sharding = zero(2);
  CHECK(synced(j) == doctest::Approx(8));
  // The trainer's module is gathered for generation, unless it generates through ZeRO's hooks.
  j = by_trainer(grpo(1));
  CHECK(synced(j) == doctest::Approx(7.5));
  j.rollout.gathers = choice::no;
  CHECK(synced(j) == 0);
  j = by_trainer(grpo(1));
  j.sharding = zero(2);
  CHECK(synced(j) == 0);
}

TEST_CASE("what goes to the host and comes back") {
  auto j = grpo(1);
  CHECK(moved(j) == 0);
  j.rollout.sleep = 1;
  j.rollout.tensor = 2;
  CHECK(moved(j) == doctest::Approx(2 * 400 / 10.0));
  j.rollout.trainer_moves = {trainer_part::weights};  // 1,000 parameters of two bytes over eight GPUs
  CHECK(moved(j) == doctest::Approx(2 * (400 + 250) / 10.0));
  j.rollout.trainer_moves = {trainer_part::optimizer};  // 500 trained ones, two moments of four bytes
  CHECK(moved(j) == doctest::Approx(2 * (400 + 500) / 10.0));
  CHECK(moved(separate(grpo(1), 8, 1)) == 0);
  CHECK(moved(by_trainer(grpo(1))) == 0);
}

TEST_CASE("a step is the sum of its parts, and of as many forwards as there are models and micro-batches") {
  const auto sum = [](const step_cost& c) {
    return (c.matmul + c.attention + c.memory + c.communication + c.launch + c.data_parallel + c.bubble + c.optimizer + c.offload + c.other_models + c.generation + c.sync).value;
  };
  auto j = grpo(4);
  j.rollout.sleep = 1;
  for (const auto way : {reference_way::none, reference_way::copy})
    for (const bool colocated : {true, false}) {
      auto k = colocated ? j : separate(j, 8, 1);
      k.objective.reference = way;
      const auto c = cost(k);
      CHECK(c.step.value == doctest::Approx(sum(c)));
      CHECK(c.sync.value > 0);
    }
  // The policy's own scores are one forward, a reference another of the same.
  const auto own = cost(grpo(4)).other_models.value;
  auto with = grpo(4);
  with.objective.reference = reference_way::copy;
  CHECK(cost(with).other_models.value == doctest::Approx(2 * own).epsilon(0.01));
  // Three micro-batches are three times that, to the last digit; the same completions in halves take as long, but for what starts twice.
  with.batch.accumulation = 3;
  auto once = with;
  once.batch.accumulation = 1;
  CHECK(cost(with).other_models.value == doctest::Approx(3 * cost(once).other_models.value).epsilon(1e-12));
  auto halves = once;
  halves.rollout.batch = 2;
  CHECK(cost(halves).other_models.value == doctest::Approx(cost(once).other_models.value).epsilon(0.05));
  CHECK(cost(halves).other_models.value > cost(once).other_models.value);
}

TEST_CASE("Nash-MD: a second completion of two models without keys and values, and a reward for either") {
  auto j = by_trainer(grpo(4, method_code::trl));
  j.sharding = zero(2);
  j.recompute = recompute::none;
  const auto forward = [](job one) {  // of the policy's 4 completions, which RLOO's scores
    one.objective.kind = objective_kind::rloo;
    return cost(one).other_models.value;
  }(j);
  const auto once = cost(j).generation.value;
  j.objective = {.kind = objective_kind::nash_md, .code = method_code::trl, .reference = reference_way::copy, .frozen = {.model = models::llama_3_1_8b}};
  REQUIRE_FALSE(objection_to(j));
  const auto c = cost(j);
  // A reference, and two rewards, which are forwards without the vocabulary's 525 million of 8,030.
  CHECK(c.other_models.value == doctest::Approx(forward * (1 + 2 * (8030 - 525.3) / 8030)).epsilon(0.02));
  // For each of 512 tokens two models read 4 texts of 768 tokens on average, and a forward above reads 4 of 1,024: more than half of it multiplies.
  const double again = forward * 512 * 2 * 768 / 1024;
  CHECK(c.generation.value - once > 0.5 * again);
  CHECK(c.generation.value - once < again);
  auto needs = j;
  needs.objective.frozen = {};
  CHECK_THROWS_WITH_AS((void)cost(needs), doctest::Contains("Nash-MD is modelled with a reward"), job_error);
  needs = j;
  needs.sharding = zero(3);
  CHECK_THROWS_WITH_AS((void)cost(needs), doctest::Contains("whole weights without adapters"), job_error);
}

TEST_CASE("a forward of few tokens waits for its weights, one of many does not") {
  job j{.model = models::llama_3_1_70b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(3),
        .batch = {.micro = 1, .sequence = 64}, .recompute = recompute::full, .attention = attention::flash, .objective = {.kind = objective_kind::dpo, .code = method_code::trl, .reference = reference_way::copy}};
  const auto forward = [&](std::int64_t sequence) {
    j.batch.sequence = sequence;
    return cost(j).other_models.value;
  };
  // Seven eighths of 70,553,706,496 weights of two bytes at 0.65 × 450 GB/s, and 30 µs.
  CHECK(forward(64) == doctest::Approx(2 * 70'553'706'496.0 * 7 / 8 / (0.65 * 450e9) + 30e-6).epsilon(1e-6));
  CHECK(forward(128) == forward(64));
  CHECK(forward(16'384) > 1.9 * forward(8'192));
  // Undivided, nothing is gathered: what is left is computed.
  j.sharding = zero(2);
  CHECK(forward(64) < 2 * 70'553'706'496.0 * 7 / 8 / (0.65 * 450e9));
}

TEST_CASE("PPO adds up: scores, a reference and a reward are forwards, a critic is a job of its own with a forward more") {
  auto j = by_trainer(grpo(2));
  j.batch.accumulation = 4;
  const auto own = cost(j).other_models.value;
  j.objective = {.kind = objective_kind::ppo, .code = method_code::openrlhf, .reference = reference_way::none, .critic = {.model = models::llama_3_1_8b}};
  REQUIRE(!objection_to(j));
  const auto least = cost(j).other_models.value;
  j.objective.frozen = {.model = models::llama_3_1_8b};
  const auto rewarded = cost(j).other_models.value;
  j.objective.reference = reference_way::copy;
  const auto referenced = cost(j).other_models.value;
  CHECK(referenced - rewarded == doctest::Approx(own).epsilon(0.01));
  // A score instead of the head: less than the policy's forward by 128,256 of the vocabulary's rows.
  CHECK(rewarded - least < own);
  CHECK(rewarded - least > 0.9 * own);
  job alone = j;
  alone.objective = {.kind = objective_kind::classification, .code = method_code::openrlhf};
  alone.objective.code = method_code::trl;
  alone.rollout = {};
  CHECK(least - own == doctest::Approx(cost(alone).step.value + (rewarded - least)).epsilon(0.01));
  // TRL's has the scores that generation left.
  auto trl = j;
  trl.objective.code = method_code::trl;
  trl.objective.reference = reference_way::none;
  trl.objective.frozen = {};
  CHECK(cost(trl).other_models.value == doctest::Approx(least - own).epsilon(0.02));
}

TEST_CASE("kernels that CUDA graphs start wait for no processor") {
  auto j = grpo(1);
  j.model = models::qwen2_5_0_5b;
  const auto graphs = cost(j).generation.value;
  j.rollout.graphs = choice::no;
  const auto host = cost(j).generation.value;
  CHECK(host > 3 * graphs);
  // As slow as the trainer's own module, which no graphs start, either: of each of 512 tokens.
  CHECK(cost(by_trainer(j)).generation.value == doctest::Approx(host).epsilon(0.05));
}

TEST_CASE("methods on several kinds of GPU have no step time") {
  auto j = grpo(1);
  j.rollout = {};
  j.objective = {.kind = objective_kind::dpo, .code = method_code::trl};
  CHECK(cost(j).step.value > 0);
  j.hardware.others = {{gpus::a100_sxm_80gb, 4}};
  CHECK_THROWS_WITH_AS((void)cost(j), doctest::Contains("several kinds of GPU"), job_error);
}

}  // namespace test_generation
