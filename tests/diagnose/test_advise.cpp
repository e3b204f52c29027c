// Distributed under the Boost Software License, Version 1.0.
// Advice: every one fits, no smaller one does, and refusals are passed over.
#include <headroom/decide.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/headroom.hpp>
#include <headroom/io/change_spelling.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace test_advise {

using namespace headroom;
using namespace headroom::literals;

namespace {

const job yi{.model = models::yi_34b,
             .hardware = {.gpu = gpus::a800_sxm_80gb, .nodes = 2, .gpus_per_node = 8},
             .framework = frameworks::deepspeed_2023,
             .precision = precisions::bf16_mixed,
             .sharding = zero(3),
             .batch = {.micro = 2, .sequence = 4096}};

std::vector<std::string> texts(const std::vector<advice>& all) {
  std::vector<std::string> t;
  for (const auto& a : all) {
    std::string one;
    for (const auto* c : a.changes) one += (one.empty() ? "" : " + ") + std::string{c->text};
    t.push_back(one);
  }
  return t;
}
bool has(const std::vector<std::string>& all, std::string_view one) { return std::find(all.begin(), all.end(), one) != all.end(); }

}  // namespace

// 150 GiB of activations beside 32 GiB of states (tests/cases/test_yi_34b.cpp): recomputing alone is enough; half the micro-batch,
// the optimizer in host memory, or half the sequence are not.
TEST_CASE("Yi-34B under ZeRO-3 needs to recompute") {
  const auto all = advise(yi);
  const auto t = texts(all);
  CHECK(has(t, "recompute full"));
  CHECK_FALSE(has(t, "batch.micro halved, batch.accumulation doubled"));
  CHECK_FALSE(has(t, "offload.optimizer cpu"));
  for (const auto& a : all) {
    CHECK(a.changes.size() == 1);
    CHECK(decided{}(a.job));
    CHECK(a.outcome.headroom >= bytes{0});
    CHECK(a.outcome.device == decide(a.job).device());
  }
}

TEST_CASE("changes are combined only where none is enough alone, and no more than three") {
  auto j = yi;
  j.batch.sequence = 16'384;
  j.hardware.nodes = 1;
  const auto all = advise(j);
  REQUIRE_FALSE(all.empty());
  for (const auto& a : all) {
    CHECK(a.changes.size() > 1);
    CHECK(a.changes.size() <= 3);
    CHECK(decided{}(a.job));
    for (const auto* c : a.changes) {
      auto alone = j;
      c->apply(alone);
      CHECK_FALSE(judged(alone, [](const job& k) { return decide(k); }).value_or(judgement{}).fits);
    }
  }
  auto hopeless = yi;
  hopeless.model = models::llama_3_1_405b;
  hopeless.hardware = {.gpu = gpus::rtx_4090};
  hopeless.sharding = {};
  CHECK(advise(hopeless).empty());
}

TEST_CASE("the sequences of a step stay as many, and at most so many are named") {
  auto j = yi;
  j.recompute = recompute::full;
  j.batch = {.micro = 8, .sequence = 16'384, .accumulation = 2};
  for (const auto& a : advise(j)) CHECK(a.job.batch.micro * a.job.batch.accumulation == 16);
  CHECK(advise(j, 1).size() <= 1);
  CHECK(advise(j, 0).empty());
}

TEST_CASE("a change of one's own") {
  static constexpr std::array own{change{"half of the layers", [](job& j) {
                                           j.model.layers /= 2;
                                           return true;
                                         }}};
  const auto judge = [](const job& j) { return judged(j, [](const job& k) { return estimate(k); }); };
  auto j = yi;
  j.recompute = recompute::full;
  j.hardware.nodes = 1;
  j.sharding = zero(2);
  const auto all = advise(j, judge, 8, own);
  for (const auto& a : all) CHECK(a.job.model.layers == 30);
}

TEST_CASE("advice says what it costs") {
  auto j = yi;
  j.hardware.nodes = 2;
  const auto before = cost(j);
  const auto all = advise(j);
  bool recomputes = false;
  for (const auto& a : all) {
    const auto with = cost(a.job);
    CHECK(a.seconds == with.step.value);
    CHECK(a.slower == doctest::Approx(with.step.value / before.step.value * before.tokens / with.tokens));
    if (texts({a}).front() != "recompute full") continue;
    recomputes = true;
    CHECK(a.slower > 1.2);  // one forward more, of three parts: at most a third (Korthikanti et al. 2022, section 1: 30 to 40 %)
    CHECK(a.slower < 1.4);
  }
  CHECK(recomputes);
}

TEST_CASE("advice is what the framework can do") {
  auto j = yi;
  j.recompute = recompute::full;
  j.sharding = zero(2);
  for (const auto& a : advise(j, 50)) CHECK((a.job.offload.parameters == place::on_gpu || a.job.sharding.stage == 3));  // DeepSpeed's offload_param: stage 3 alone
  j.sharding = {};
  for (const auto& a : advise(j, 50)) CHECK((a.job.sharding.kind == sharding_kind::zero || a.job.sharding.kind == sharding_kind::none));
  j.framework = frameworks::hf_trainer;
  j.precision = {};
  for (const auto& a : advise(j, 50)) {
    CHECK(a.job.sharding.kind != sharding_kind::zero);
    CHECK(a.job.offload.optimizer == a.job.offload.parameters);  // torch's FSDP moves both
  }
}

TEST_CASE("a change may need another before it") {
  // 70B on 32 A100 of 40 GB, all in one replica: only with more nodes is there anything to shard the optimizer's state over.
  job j{.model = models::llama_3_1_70b, .hardware = {.gpu = gpus::a100_sxm_40gb, .nodes = 4, .gpus_per_node = 8}, .framework = frameworks::megatron,
        .parallel = {.tensor = 8, .sequence = true, .pipeline = 4}, .batch = {.micro = 1, .sequence = 4096, .accumulation = 64}, .recompute = recompute::full};
  REQUIRE_FALSE(decided{}(j));
  const auto t = texts(advise(j));
  CHECK(has(t, "hardware.nodes doubled + sharding.kind megatron-distributed-optimizer"));
  CHECK(has(t, "hardware.nodes doubled + parallel.pipeline doubled"));
}

namespace {
/// Sequences that a step reads: of each replica its micro-batches.
std::int64_t sequences(const job& j) { return j.hardware.nodes * j.hardware.gpus_per_node / j.parallel.tensor / j.parallel.pipeline / j.parallel.context * j.batch.micro * j.batch.accumulation; }
job changed(job j, std::string_view text) {
  for (const auto& c : changes::all)
    if (c.text == text) CHECK(c.apply(j));
  return j;
}
}  // namespace

// 64 GPUs, TP 4 and PP 2: 8 replicas of 6 micro-batches of 2 are 96 sequences.
TEST_CASE("twice the nodes, or half the replicas, and as many sequences a step") {
  job j{.model = models::llama_3_1_70b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 8, .gpus_per_node = 8}, .framework = frameworks::megatron,
        .parallel = {.tensor = 4, .sequence = true, .pipeline = 2}, .batch = {.micro = 2, .sequence = 4096, .accumulation = 6}};
  REQUIRE(sequences(j) == 96);
  CHECK(changed(j, "hardware.nodes doubled").batch.accumulation == 3);
  for (const auto* text : {"parallel.tensor doubled", "parallel.pipeline doubled", "parallel.context doubled"}) {
    CAPTURE(text);
    CHECK(changed(j, text).batch.accumulation == 12);
    CHECK(sequences(changed(j, text)) == 96);
  }
  CHECK(sequences(changed(j, "hardware.nodes doubled")) == 96);
  CHECK(sequences(changed(changed(j, "hardware.nodes doubled"), "parallel.pipeline doubled")) == 96);
  CHECK(sequences(changed(changed(j, "hardware.nodes doubled"), "hardware.nodes doubled")) == 192);  // 3 cannot be halved
}

TEST_CASE("advice whose step reads other sequences says so") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::a100_sxm_40gb, .nodes = 1, .gpus_per_node = 4}, .framework = frameworks::hf_trainer, .precision = precisions::bf16_mixed,
        .sharding = fsdp2(), .batch = {.micro = 1, .sequence = 512}, .recompute = recompute::full, .attention = attention::flash};
  static constexpr std::array nodes{changes::all[29]};
  REQUIRE(nodes[0].text == "hardware.nodes doubled");
  const auto judge = [](const job& k) { return std::optional{judgement{bytes{0}, bytes{0}, k.hardware.nodes > 1}}; };
  const auto line = [&] {
    const auto all = advise(j, judge, 8, nodes);
    REQUIRE(all.size() == 1);
    return std::pair{all[0].larger, io::changes_text(all[0])};
  };
  CHECK(line() == std::pair{2.0, std::string{"hardware.nodes doubled; batch.accumulation 1; 2 times the sequences a step"}});
  j.batch.accumulation = 8;
  CHECK(line() == std::pair{1.0, std::string{"hardware.nodes doubled; batch.accumulation 4"}});
}

// Megatron-LM core/pipeline_parallel/schedules.py: the number of micro-batches must be a multiple of the stages where these have several chunks.
TEST_CASE("micro-batches that cannot be halved are kept") {
  job j{.model = models::llama_3_1_70b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8}, .framework = frameworks::megatron,
        .parallel = {.tensor = 4, .sequence = true, .pipeline = 4, .virtual_pipeline = 5}, .sharding = {.kind = sharding_kind::megatron_distributed_optimizer}, .batch = {.micro = 1, .sequence = 4096, .accumulation = 4}};
  static constexpr std::array nodes{changes::all[29]};
  REQUIRE(nodes[0].text == "hardware.nodes doubled");
  const auto judge = [](const job& k) { return objection_to(k) ? std::nullopt : std::optional{judgement{bytes{0}, bytes{0}, k.hardware.nodes > 2}}; };
  const auto all = advise(j, judge, 8, nodes);
  REQUIRE(all.size() == 1);
  CHECK(all[0].job.batch.accumulation == 4);
  CHECK(all[0].larger == 2.0);
  j.batch.accumulation = 8;
  const auto halved = advise(j, judge, 8, nodes);
  REQUIRE(halved.size() == 1);
  CHECK(halved[0].job.batch.accumulation == 4);
  CHECK(halved[0].larger == 1.0);
}

// verl's own script for this model on eight GPUs, whose adapters are collected layer by layer (examples/tuning/70b/qwen2-70b_grpo-lora_8_h100_fsdp_vllm.sh:
// rollout.layered_summon=True). Without that all 72.7 B parameters are gathered in fp32, 271 GiB.
TEST_CASE("adapters of a large model go to the engine layer by layer") {
  const auto j = io::read_job(io::parse_json(R"({"model": "qwen2.5-72b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "hf-trainer",
    "precision": {"parameters": "fp32", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"}, "sharding": "fsdp1",
    "batch": {"micro": 8, "sequence": 400, "padded": false}, "recompute": "full", "attention": "flash", "objective": {"kind": "grpo", "trainer": "verl", "reference": "adapter-off"},
    "adapter": {"kind": "lora", "rank": 32, "targets": "all-linear", "format": "bf16"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.4, "tensor": 8, "sleep": 1, "prompt": 512, "completion": 1024, "generations": 5,
                "trainer_moves": ["parameters", "optimizer"]}})", "job"));
  const auto all = advise(j);
  const auto t = texts(all);
  REQUIRE(has(t, "rollout.sync_groups: a layer at a time"));
  const auto& one = *std::find_if(all.begin(), all.end(), [](const advice& a) { return a.changes[0]->text.starts_with("rollout.sync_groups"); });
  CHECK(one.job.rollout.sync_groups == 80);
  CHECK(io::spelling_of(*one.changes[0], one.job).starts_with("actor_rollout_ref.rollout.layered_summon=True"));
}

TEST_CASE("an engine sleeps, a trainer makes room, and a reference is computed before") {
  const auto base = io::read_job(io::parse_json(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "precision": "bf16-mixed",
    "sharding": {"kind": "zero", "stage": 3}, "batch": {"micro": 4, "sequence": 1024}, "recompute": "full", "objective": {"kind": "grpo", "trainer": "trl", "reference": "none"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.3, "sleep": 0, "prompt": 512, "completion": 512, "generations": 8}})", "job"));
  auto j = base;
  CHECK(changes::detail::engine_sleeps(j));
  CHECK(j.rollout.sleep == 2);
  CHECK_FALSE(changes::detail::engine_sleeps(j));
  CHECK(estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::backward)][row::rollout_engine] == bytes{0});
  CHECK(estimate(base).ranks[0].at_phase[static_cast<std::size_t>(phase::backward)][row::rollout_engine] > 14_GiB);
  CHECK_FALSE(changes::detail::trainer_leaves(j));  // TRL's trainer puts nothing on the host
  CHECK_FALSE(changes::detail::layer_by_layer(j));
  j.objective.code = method_code::ms_swift;
  CHECK(changes::detail::layer_by_layer(j));
  CHECK(j.rollout.sync_groups == 28);
  CHECK(changes::detail::trainer_leaves(j));
  CHECK_FALSE(changes::detail::trainer_leaves(j));
  job pairs{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(2),
            .batch = {.micro = 2, .sequence = 1024}, .objective = {.kind = objective_kind::dpo, .code = method_code::trl}};
  const auto copied = estimate(pairs).ranks[0].at_peak[row::other_models];
  CHECK(copied.count() == 2 * 8'030'261'248);  // whole: the reference's engine is of stage 0
  CHECK(changes::detail::precomputed(pairs));
  CHECK(estimate(pairs).ranks[0].at_peak[row::other_models] == bytes{0});
  CHECK_FALSE(changes::detail::precomputed(pairs));
}

TEST_CASE("small GPUs of a mixed cluster are given fewer layers") {
  // 20 of 80 layers with their states take 50 GB on eight ranks: too much for 40 GB, and little beside 80 GB.
  job j{.model = models::llama_3_1_70b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 4, .gpus_per_node = 8, .others = {{gpus::a100_sxm_40gb, 16}}}, .framework = frameworks::megatron,
        .parallel = {.tensor = 8, .sequence = true, .pipeline = 4}, .batch = {.micro = 1, .sequence = 8192, .accumulation = 8}, .attention = attention::flash};
  REQUIRE_FALSE(decided{}(j));
  const auto all = advise(j);
  REQUIRE(has(texts(all), "parallel.stage_layers by what fits"));
  const auto& cut = std::find_if(all.begin(), all.end(), [](const advice& a) { return a.changes.size() == 1 && a.changes[0]->text.starts_with("parallel.stage_layers"); })->job;
  CHECK(decided{}(cut));
  CHECK(cut.parallel.stage_layers[3] < 20);
  CHECK(cut.parallel.stage_layers[1] > 20);
  for (const auto& a : all) CHECK(a.seconds > 0);
  j.hardware.others = {};
  CHECK_FALSE(has(texts(advise(j)), "parallel.stage_layers by what fits"));
}

}  // namespace test_advise
