// Distributed under the Boost Software License, Version 1.0.
// A trainer and what generates on one GPU, phase by phase: sums on paper, term by term.
#include <headroom/bounds.hpp>
#include <headroom/cost/cost.hpp>
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/solve/solve.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_phases {

namespace {

using namespace headroom;
using namespace headroom::literals;

constexpr std::int64_t p7 = 7'615'616'512;

/// GRPO of Qwen2.5 7B beside vLLM on eight H100, TRL under ZeRO-3.
job beside_vllm(std::int32_t sleep = 2) {
  return io::read_job(io::parse_json(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "precision": "bf16-mixed",
    "sharding": {"kind": "zero", "stage": 3}, "batch": {"micro": 4, "accumulation": 2, "sequence": 1024}, "recompute": "full",
    "objective": {"kind": "grpo", "trainer": "trl", "reference": "none"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.3, "sleep": )" + std::to_string(sleep) + R"(, "prompt": 512, "completion": 512, "generations": 8, "batched_tokens": 4096}})", "job"));
}
constexpr std::int64_t share_of_h100 = 25'483'227'956;  // 0.3 × 81,009 MiB

// At compile time, too.
constexpr job constant{.model = models::qwen2_5_7b,
                       .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8},
                       .framework = frameworks::deepspeed,
                       .sharding = zero(3),
                       .batch = {.micro = 4, .sequence = 1024},
                       .recompute = recompute::full,
                       .objective = {.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::none},
                       .rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.3), .sleep = 2, .prompt = 512, .completion = 512}};
static_assert(!objection_to(constant) && estimate(constant).fits());
static_assert(estimate(constant).ranks[0][phase::generate] - estimate(constant).ranks[0][phase::save] == bytes{share_of_h100});

std::int64_t at(const report& r, phase p) { return r.ranks[0][p].count(); }
std::int64_t above_rest(const job& j, phase p) {
  const auto r = estimate(j);
  return at(r, p) - at(r, phase::save);
}
void refused(const job& j, const char* word) {
  const auto why = objection_to(j);
  CAPTURE(std::string(word));
  CAPTURE(std::string(why.sentence != nullptr ? why.sentence : ""));
  REQUIRE(bool(why));
  CHECK(std::string(why.sentence).find(word) != std::string::npos);
}
job lora(job j) {
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {module::q_proj}};
  return j;
}

}  // namespace

TEST_CASE("an engine that sleeps and a trainer take turns") {
  const auto r = estimate(beside_vllm());
  const auto& rank = r.ranks[0];
  CHECK(rank.peak_phase == phase::generate);
  const auto rows = rank.at_peak;
  CHECK((rows[row::rollout_engine] + rows[row::kv_cache]).count() == share_of_h100);
  CHECK(rows[row::rollout_engine].count() == 2 * p7 + 2 * 4096 * (2 * 3584 + 3 * 18944));  // weights, and a forward of 4,096 tokens
  CHECK(rows[row::model_parameters].count() == 2 * p7 / 8);
  CHECK(rows[row::master_parameters].count() == 4 * p7 / 8);
  CHECK(rows[row::optimizer_state].count() == 8 * p7 / 8);
  CHECK(rows[row::logits].count() == 0);
  CHECK(at(r, phase::generate) - at(r, phase::save) == share_of_h100);
  CHECK(at(r, phase::sync) - at(r, phase::save) == 2 * p7 + 2 * 152'064LL * 3584);  // its weights are back, and one table is gathered
  CHECK(rank.device == rank.reserved + rank.outside.total());
  CHECK(rank.outside.engine == 1_GiB);
  CHECK(r.assumptions.has(assumption::engine_graphs));
  CHECK(r.assumptions.has(assumption::generation_of_full_length));
  // What is uncertain of a trainer is not in the engine's share.
  CHECK(base_of(rank, error_base::device).count() == rank.device.count() - share_of_h100);

  auto eager = beside_vllm();
  eager.rollout.graphs = choice::no;
  CHECK(estimate(eager).ranks[0].outside.engine == 0_B);
  CHECK(rank.device - estimate(eager).ranks[0].device == 1_GiB);
}

TEST_CASE("an engine that never sleeps is there at every moment") {
  const auto asleep = estimate(beside_vllm(2)), awake = estimate(beside_vllm(0));
  for (const auto p : {phase::forward, phase::loss_forward, phase::backward, phase::step, phase::save}) CHECK(at(awake, p) - at(asleep, p) == share_of_h100);
  CHECK(at(awake, phase::generate) == at(awake, phase::save));
  CHECK(at(awake, phase::sync) - at(awake, phase::save) == 2 * 152'064LL * 3584);
  CHECK(awake.ranks[0].peak_phase == phase::step);
}

TEST_CASE("weights that sleep on the host are pinned there, each piece rounded up to a power of two") {
  const auto one = estimate(beside_vllm(2)).host, two = estimate(beside_vllm(1)).host;
  // In MiB: q, k and v 31.5, output 24.5, gate and up 259, down 129.5, in each of 28 layers; two tables of 1,039.5; norms and biases.
  CHECK(one.pinned_per_node == 0_B);
  CHECK(two.pinned_per_node == 8 * ((28 * (32 + 32 + 512 + 256) + 2 * 2048 + 32) * 1_MiB));
  auto small = beside_vllm(1);
  small.hardware.host_memory = 214_GiB;
  CHECK_FALSE(estimate(small).fits());  // 214.25
  small.hardware.host_memory = 215_GiB;
  CHECK(estimate(small).fits());
}

TEST_CASE("merging adapters under ZeRO-3 gathers everything at once") {
  const auto j = lora(beside_vllm());
  const auto adapters = 28LL * 16 * (3584 + 3584), merged = 2 * 2 * 3584LL * 3584;  // B·A of one layer, and that times its scale
  CHECK(above_rest(j, phase::sync) == 2 * p7 + 2 * p7 + 2 * adapters + merged);
  auto two = j;
  two.sharding.stage = 2;  // nothing is divided: merged where it lies
  CHECK(above_rest(two, phase::sync) == 2 * p7 + merged);
}

TEST_CASE("72 B on four GPUs: groups of layers, parameters on the host") {
  auto j = io::read_job(io::parse_json(R"({"model": "qwen2.5-72b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 4}, "framework": "deepspeed", "precision": "bf16-mixed",
    "sharding": {"kind": "zero", "stage": 3}, "offload": {"optimizer": "cpu", "parameters": "cpu"}, "batch": {"micro": 1, "sequence": 3072}, "recompute": "full",
    "adapter": {"kind": "lora", "rank": 8, "targets": "all-linear", "format": "bf16"}, "objective": {"kind": "grpo", "trainer": "ms-swift", "reference": "adapter-off"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.55, "tensor": 4, "sleep": 1, "prompt": 2048, "completion": 1024, "generations": 4, "sync_groups": 16,
                "trainer_moves": ["parameters", "optimizer"]}})", "job"));
  const auto weights = 2 * ((72'706'203'648 - 161 * 8192) / 4 + 161 * 8192);
  // q, k, v, o, gate, up and down of a layer: rank 8 on both sides of each.
  const auto adapters = 8LL * ((8192 + 8192) + 2 * (8192 + 1024) + (8192 + 8192) + 3 * (8192 + 29568));
  const auto merged = 2 * 2 * 8192LL * 29568;  // B·A of a gate, and that times its scale
  CHECK(above_rest(j, phase::sync) == weights + 5 * 2 * (877'684'736 + adapters) + merged);
  CHECK(above_rest(j, phase::generate) == 46'742'896'640);  // 0.55 × 81,050 MiB
  CHECK(estimate(j).fits());                                // it runs
  j.rollout.sync_groups = 1;
  CHECK_FALSE(estimate(j).fits());  // and does not without groups: 135 GiB at once
  CHECK(above_rest(j, phase::sync) == weights + 2 * (72'706'203'648 + 80 * adapters) + merged);
}

// DeepSpeed runtime/bf16_optimizer.py: flat buffers that nothing looks into again. DDP has none of them.
TEST_CASE("parameters that train move under DDP, and not under DeepSpeed's stage 0") {
  const auto why = [](const std::string& sharding) {
    const auto j = io::read_job(io::parse_json(R"({"model": "qwen2.5-0.5b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 2}, "framework": "hf-trainer", "precision": "bf16-mixed", "sharding": )" + sharding +
                                                   R"(, "batch": {"micro": 1, "sequence": 2048}, "recompute": "full", "objective": {"kind": "grpo", "trainer": "ms-swift", "reference": "none"},
      "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.5, "tensor": 1, "sleep": 1, "prompt": 1024, "completion": 1024, "generations": 2, "trainer_moves": ["parameters"]}})", "job"));
    const auto o = objection_to(j);
    return o ? std::string{o.sentence} : std::string{};
  };
  CHECK(why(R"("ddp")") == "");
  CHECK(why(R"({"kind": "zero", "stage": 0})").find("what becomes of parameters that train under DeepSpeed's stage 0") != std::string::npos);
  CHECK(why(R"({"kind": "zero", "stage": 2})") == "");
}

TEST_CASE("verl moves parameters and moments away, collects copies of the shards and sends them") {
  auto j = io::read_job(io::parse_json(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h800-sxm-80gb", "gpus_per_node": 2}, "framework": "hf-trainer",
    "precision": {"parameters": "fp32", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"}, "sharding": "fsdp1",
    "batch": {"micro": 1, "sequence": 2048}, "recompute": "full", "attention": "flash", "objective": {"kind": "grpo", "trainer": "verl", "reference": "none"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.6, "tensor": 2, "sleep": 1, "prompt": 1024, "completion": 1024, "generations": 5,
                "trainer_moves": ["parameters", "optimizer"]}})", "job"));
  const auto shards = 4 * p7 / 2, moments = 8 * p7 / 2;
  const auto engine = 2 * ((p7 - 57 * 3584) / 2 + 57 * 3584);
  const std::int64_t table = 152'064LL * 3584;
  // The optimizer on the host. First shards, copies of them and the unit outside the layers, whole; then the copies, the engine's weights,
  // the buffer of 2 GiB, the largest tensor in fp32 and in bf16.
  const std::int64_t first = shards + 4 * (2 * table + 3584) - moments, second = engine + (2LL << 30) + 6 * table - moments;
  CHECK(above_rest(j, phase::sync) == (first > second ? first : second));
  CHECK(above_rest(j, phase::generate) == 50'966'455'911 - shards - moments);  // 0.6 × 81,009 MiB
  CHECK(estimate(j).ranks[0].peak_phase != phase::generate);
  const auto moved = estimate(j).host.per_node - estimate(j).host.pinned_per_node;
  CHECK(moved.count() == 2 * (shards + moments));
  j.rollout.sync_bucket_mib = 1024;
  refused(j, "largest tensor");
  j.rollout.sync_bucket_mib = -1;
  // A reference waits in the node's memory, in bf16.
  auto compared = j;
  compared.objective.reference = reference_way::copy;
  // Each rank pins its half of 28 layers (233,057,792 parameters) and of what lies outside them (1,089,998,336), rounded up to a power of two, and as much
  // for gradients, which FSDP pins of frozen units, too (flat_param.py, init_flat_param_attributes).
  CHECK((estimate(compared).host.per_node - estimate(j).host.per_node).count() == 2 * 2 * (28LL * 256 + 2048) * (1 << 20));
  // With adapters everything is gathered at once, to be merged.
  const auto merged = lora(j);
  CHECK(above_rest(merged, phase::sync) >= 4 * p7 - moments);
  CHECK(above_rest(merged, phase::sync) < 4 * p7 + (64 << 20));
  // One rank has nothing to gather (torch distributed/fsdp/_init_utils.py: FULL_SHARD becomes NO_SHARD), and FSDP2's modules have no units that summon_full_params
  // knows: what the engine gets back is all that comes.
  auto alone = merged, second_kind = merged;
  alone.hardware.gpus_per_node = 1;
  alone.rollout.tensor = 1;
  CHECK(above_rest(alone, phase::sync) <= 0);
  CHECK(above_rest(alone, phase::sync) > -(1LL << 30));  // adapters' moments are on the host
  second_kind.sharding = fsdp2();
  CHECK(above_rest(second_kind, phase::sync) < 2 * p7);
}

TEST_CASE("ZeRO's flat buffers stay where they are, and their parameters lie there twice once ms-swift has moved them, until a step") {
  auto j = beside_vllm();
  j.objective.code = method_code::ms_swift;
  const auto stays = estimate(j);
  j.rollout.trainer_moves = {trainer_part::weights, trainer_part::optimizer};
  const auto moves = estimate(j);
  CHECK(at(moves, phase::backward) - at(stays, phase::backward) == 2 * p7 / 8);
  CHECK(at(stays, phase::generate) - at(moves, phase::generate) == 8 * p7 / 8);  // moments alone leave
  CHECK(at(moves, phase::sync) == at(stays, phase::sync));
  // The first two stages cut no parameters: all of them lie in the buffers, and beside them.
  for (const int stage : {1, 2}) {
    auto whole = j;
    whole.sharding.stage = stage;
    const auto twice = estimate(whole);
    whole.rollout.trainer_moves = {};
    const auto once = estimate(whole);
    CHECK(at(twice, phase::backward) - at(once, phase::backward) == 2 * p7);
    CHECK(at(once, phase::generate) - at(twice, phase::generate) == 8 * p7 / 8);  // moments alone leave, of which a rank has an eighth
    CHECK(at(twice, phase::sync) == at(once, phase::sync));
    CHECK(twice.host.per_node.count() == 8 * (2 * p7 + 8 * p7 / 8));
    whole.rollout.trainer_moves = {trainer_part::weights};
    whole.rollout.sleep = 2;
    whole.batch.accumulation = 4;
    whole.rollout.steps_per_generation = 2;  // weights are sent between two generations of one step, too
    auto there = whole;
    there.rollout.trainer_moves = {};
    CHECK(at(estimate(whole), phase::sync) - at(estimate(there), phase::sync) == 2 * p7);
  }
}

TEST_CASE("generation by the trained module gathers it whole") {
  auto j = beside_vllm();
  j.batch.accumulation = 1;
  j.rollout = {.engine = engine_kind::trainer, .prompt = 16, .completion = 1008};
  // Four completions of 1,024 positions: 57,344 bytes a token, of one layer half of it twice, scores in bf16, fp32 and their softmax.
  CHECK(above_rest(j, phase::generate) == 2 * p7 + 4096LL * (57'344 + 1024) + 4 * 152'064LL * 10);
  CHECK(estimate(j).ranks[0].outside.engine == 0_B);
  auto many = j;
  many.batch.accumulation = 64;  // many prompts are read at once
  many.rollout.prompt = many.rollout.completion = 512;
  CHECK(above_rest(many, phase::generate) > 2 * p7 + 256LL * 512 * (57'344 + 2 * 3 * 18944));
  j.rollout.gathers = choice::no;
  CHECK(above_rest(j, phase::generate) < p7);
  j.rollout.placement = rollout_place::separate;
  refused(j, "the trained module itself");
}

TEST_CASE("scores of many completions at once, and of a reference") {
  auto j = beside_vllm();
  j.objective.reference = reference_way::copy;
  const auto few = estimate(j);
  CHECK(above_rest(j, phase::score) > 0);
  j.rollout.batch = 16;
  const auto many = estimate(j);
  CHECK(at(many, phase::backward) == at(few, phase::backward));
  // Logits of 513 positions of twelve completions more, in bf16; what else there is of a head's input is small.
  const std::int64_t more = at(many, phase::score) - at(few, phase::score), logits = 12LL * 513 * 152'064 * 2;
  CHECK(more > logits);
  CHECK(more < logits + 12LL * 1024 * 3584 * 2 * 4);
  CHECK(at(many, phase::reference) - at(few, phase::reference) > logits);
  // Before TRL 1.0 all of them are divided into a copy, beside which one sample's exponentials are none.
  j.objective.code = method_code::trl_0_29;
  CHECK(at(estimate(j), phase::score) - at(many, phase::score) == 15LL * 513 * 152'064 * 2);
  j.objective.code = method_code::trl;
  // The copy is divided as the model is, under the third stage: 2 bytes a parameter over eight GPUs, all along.
  auto alone = beside_vllm();
  CHECK(at(few, phase::save) - at(estimate(alone), phase::save) >= 2 * p7 / 8);
  CHECK(at(few, phase::save) - at(estimate(alone), phase::save) < 2 * p7 / 8 + 2'000'000);
}

TEST_CASE("what FSDP's streams have cached is given back before an engine wakes") {
  auto j = beside_vllm();
  j.framework = frameworks::hf_trainer;
  j.sharding = {.kind = sharding_kind::fsdp2, .stage = 3};
  const auto rank = estimate(j).ranks[0];
  CHECK(rank.peak_phase == phase::generate);
  CHECK(rank.reserved - rank.allocated < 2_MiB);
  CHECK(above_rest(j, phase::sync) == 2 * p7 + 4 * 152'064LL * 3584);  // one tensor, whole in the shards' fp32
  j.sharding.kind = sharding_kind::fsdp1;
  CHECK(above_rest(j, phase::sync) == 2 * p7 + 4 * (2 * 152'064LL * 3584 + 3584));  // one unit: embedding, head and the last norm
}

TEST_CASE("an engine on other GPUs takes nothing here") {
  auto j = beside_vllm();
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::separate, .prompt = 512, .completion = 512};
  const auto r = estimate(j);
  CHECK_FALSE(r.ranks[0].has(phase::generate));
  CHECK(at(r, phase::backward) == at(estimate(beside_vllm()), phase::backward));
}

TEST_CASE("weights that go to an engine on other GPUs are gathered as for one here") {
  auto j = beside_vllm();
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::separate, .prompt = 512, .completion = 512};
  CHECK(above_rest(j, phase::sync) == 2LL * 152'064 * 3584);  // tensor by tensor: the largest
  // TRL gathers the whole model to merge adapters, 28 × 16 × (3,584 + 3,584) numbers of bf16, as all are; the product of an adapter's matrices is there twice.
  CHECK(above_rest(lora(j), phase::sync) == 2 * p7 + 2 * 28 * 16 * 7168 + 2 * 2 * 3584 * 3584);
  j.sharding = zero(2);
  CHECK(above_rest(j, phase::sync) == 0);  // each is whole already
  CHECK(above_rest(lora(j), phase::sync) == 2 * 2 * 3584 * 3584);
}

TEST_CASE("verl's SGLang is a process of its own, whether weights pass through a buffer or not") {
  job j = constant;
  j.framework = frameworks::hf_trainer;
  j.sharding = fsdp2();
  j.attention = attention::flash;
  j.objective.code = method_code::verl;
  j.rollout.engine = engine_kind::sglang;
  const auto passed = headroom::detail::outside_of(settle(j)).engine;
  j.rollout.sync_bucket_mib = 0;
  CHECK(headroom::detail::outside_of(settle(j)).engine == passed);
  j.rollout.engine = engine_kind::vllm;  // in the trainer's process, before 2026-01-24
  CHECK(headroom::detail::outside_of(settle(j)).engine < passed);
}

TEST_CASE("what decides is asked for, and what is not modelled is refused") {
  const auto with = [](auto change) {
    auto j = beside_vllm();
    change(j);
    return j;
  };
  refused(with([](job& j) { j.rollout.share = {}; }), "rollout.share is required");
  refused(with([](job& j) { j.rollout.sleep = -1; }), "rollout.sleep is required");
  refused(with([](job& j) { j.rollout.placement = {}; }), "rollout.placement is required");
  refused(with([](job& j) { j.rollout = {}; }), "rollout is required");
  refused(with([](job& j) { j.objective.reference = {}; }), "objective.reference is required");
  refused(with([](job& j) { j.rollout.prompt = 0; }), "rollout.prompt and rollout.completion");
  refused(with([](job& j) { j.batch.sequence = 1025; }), "rollout.prompt + rollout.completion");
  refused(with([](job& j) { j.rollout.generations = 7; }), "rollout.generations");
  refused(with([](job& j) { j.rollout.share = memory_share::of(0.18); }), "too small");
  refused(with([](job& j) { j.objective.kind = objective_kind::sft; }), "rollout is for methods");
  refused(with([](job& j) { j.objective.code = method_code::slime; }), "are modelled as TRL, ms-swift, verl and OpenRLHF run them");
  CHECK_FALSE(objection_to(with([](job& j) { j.objective.code = method_code::openrlhf; })));
  refused(with([](job& j) { j.objective.code = method_code::openrlhf; j.adapter = lora(j).adapter; }), "full training are modelled");
  refused(with([](job& j) { j.objective.code = method_code::openrlhf; j.sharding = {.kind = sharding_kind::fsdp1}; }), "run DeepSpeed's engines");
  refused(with([](job& j) { j.rollout.trainer_moves = {trainer_part::optimizer}; }), "TRL's trainer puts nothing");
  refused(with([](job& j) { j.rollout.engine = engine_kind::sglang; }), "SGLang");
  refused(with([](job& j) { j.objective.code = method_code::ms_swift; j.sharding.stage = 0; j.rollout.trainer_moves = {trainer_part::weights}; }), "DeepSpeed's stage 0");
  refused(with([](job& j) { j.rollout.tensor = 3; }), "attention heads");
  refused(with([](job& j) { j.sharding = {.kind = sharding_kind::fsdp1}; j.adapter = lora(j).adapter; }), "TRL under FSDP");
  CHECK(cost(beside_vllm()).generation.value > 0);
}

TEST_CASE("the largest share, and the longest completion") {
  const auto s = solve(beside_vllm(0), unknowns::engine_share);
  REQUIRE(s.found);
  CHECK(s.job.rollout.share == memory_share{static_cast<std::int32_t>(s.value) * 10'000});
  CHECK(estimate(s.job).fits());
  auto more = s.job;
  more.rollout.share.per_million += 10'000;
  CHECK_FALSE(estimate(more).fits());
  CHECK(unknowns::engine_share.first(beside_vllm()) == 19);  // 0.18 leaves no room for 1,024 positions
  CHECK(solve(beside_vllm(2), unknowns::engine_share).value > s.value);

  const auto longest = solve(beside_vllm(2), unknowns::completion);
  REQUIRE(longest.found);
  CHECK(longest.job.batch.sequence == 512 + longest.value);
  CHECK(estimate(longest.job).fits());
  auto plain = beside_vllm();
  plain.rollout = {};
  plain.objective = {};
  CHECK_THROWS_WITH_AS(solve(plain, unknowns::engine_share), doctest::Contains("rollout.share is solved for"), job_error);
  CHECK_THROWS_WITH_AS(solve(plain, unknowns::completion), doctest::Contains("rollout.completion is solved for"), job_error);
}

TEST_CASE("the most completions of each prompt, of as many prompts") {
  auto j = beside_vllm();
  j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512, .generations = 8};  // 8 × 4 × 2 completions of 8 prompts
  CHECK(unknowns::generations.step(j) == 4);  // 32 at once
  const auto s = solve(j, unknowns::generations);
  REQUIRE(s.found);
  CHECK_FALSE(s.limited);
  CHECK(s.value % 4 == 0);
  CHECK(s.value > 8);
  CHECK(s.job.rollout.generations == s.value);
  CHECK(s.job.batch.accumulation * 4 == s.value);
  CHECK(s.job.batch.micro == 4);
  CHECK(estimate(s.job).fits());
  auto more = s.job;
  unknowns::generations.set(more, s.value + 4);
  CHECK_FALSE(objection_to(more));
  CHECK_FALSE(estimate(more).fits());
  // Tokens of an engine that has its share take their turn.
  CHECK(solve(beside_vllm(), unknowns::generations).limited);
  CHECK(unknowns::find("batch.generations")->key == "rollout.generations");
  CHECK(unknowns::find("batch.completion")->key == "rollout.completion");
  CHECK(unknowns::find("rollout.memory_share")->key == "rollout.share");
  j.rollout.generations = 0;
  CHECK_THROWS_WITH_AS(solve(j, unknowns::generations), doctest::Contains("how many prompts a step has"), job_error);
  j.rollout.generations = 7;
  CHECK_THROWS_WITH_AS(solve(j, unknowns::generations), doctest::Contains("must divide batch.micro"), job_error);
}

TEST_CASE("a file says it and gets it back") {
  for (auto j : {beside_vllm(1), lora(beside_vllm())}) {
    j.rollout.kv_format = formats::fp8;
    j.rollout.graphs = choice::no;
    CHECK(io::read_job(io::job_to_json(j)) == j);
  }
  CHECK(io::job_to_json(beside_vllm())["rollout"]["share"] == 0.3);
}

}  // namespace test_phases
