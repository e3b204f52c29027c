// Distributed under the Boost Software License, Version 1.0.
// Completions of the trained module's own, inside and outside autocast: sums on paper.
#include <headroom/cost/cost.hpp>
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_module_generation {

namespace {

using namespace headroom;

/// GRPO of Qwen2.5 7B by TRL over DDP: no engine, no reference. 64 completions at once of 16 + 1,008 tokens.
job grpo(const char* parameters, const char* attention = "flash") {
  return io::read_job(io::parse_json(std::string(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h200", "gpus_per_node": 8}, "framework": "hf-trainer", "sharding": "ddp", "attention": ")") + attention +
    R"(", "precision": {"parameters": ")" + parameters + R"(", "compute": "bf16", "gradients": ")" + parameters + R"(", "reduce": ")" + parameters + R"(", "master": "none", "state": ")" + parameters + R"("},
    "batch": {"micro": 4, "accumulation": 16, "sequence": 1024, "padded": true}, "objective": {"kind": "grpo", "trainer": "trl", "reference": "none"},
    "rollout": {"engine": "trainer", "prompt": 16, "completion": 1008, "generations": 8}})", "job"));
}
job with_lora(job j) {
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {module::q_proj}, .format = formats::bf16};
  return j;
}
std::int64_t generated(const job& j) {
  const auto r = estimate(j);
  return (r.ranks[0][phase::generate] - r.ranks[0][phase::save]).count();
}

// Of one layer: q and o 3,584 × 3,584, k and v 512 × 3,584, three of 18,944 × 3,584. 4 heads of keys and values of 128 for 28 of queries.
constexpr std::int64_t matrices = 2 * 3584 * 3584 + 2 * 512 * 3584 + 3LL * 18944 * 3584;
constexpr std::int64_t tokens = 64 * 1024, words = 152'064, rows = 64, head = words * 3584 * 2;

}  // namespace

TEST_CASE("fp32 weights generate under autocast: copies of all layers, keys as wide as the stream, values that a product made") {
  // The head's copy is more than a layer's keys a second time.
  CHECK(generated(grpo("fp32")) == 28 * matrices * 2 + head + tokens * 28 * 512 * (4 + 2) + rows * words * 12);
  // torch's own attention reads a copy for each of seven groups, and the keys' once more in bf16.
  CHECK(generated(grpo("fp32", "sdpa")) == 28 * matrices * 2 + tokens * (28 * 512 * (4 + 2) + 7 * 512 * (4 + 2 + 2)) + rows * words * 12);
}

TEST_CASE("bf16 weights leave nothing to cast, and accelerate copies the logits into fp32") {
  CHECK(generated(grpo("bf16")) == tokens * (28 * 512 * (2 + 2) + 512 * 2) + rows * words * 12);
  CHECK(generated(grpo("bf16", "sdpa")) == tokens * (28 * 512 * (2 + 2) + 7 * 512 * (2 + 2)) + rows * words * 12);
}

TEST_CASE("without a mask torch before 2.5 still reads a copy for each group") {
  auto j = grpo("bf16", "sdpa");
  j.batch.padded = false;
  CHECK(generated(j) == tokens * (28 * 512 * (2 + 2) + 512 * 2) + rows * words * 12);
  j.environment.torch = 204;
  CHECK(generated(j) == tokens * (28 * 512 * (2 + 2) + 7 * 512 * (2 + 2)) + rows * words * 12);
}

TEST_CASE("PEFT's model generates below accelerate's wrapper") {
  CHECK(generated(with_lora(grpo("bf16"))) == tokens * (28 * 512 * (2 + 2) + 512 * 2) + rows * words * 10);
}

TEST_CASE("of many completions a layer's cache outweighs the head's copy") {
  auto j = grpo("fp32");
  j.batch.accumulation = 256;
  // Of one layer its keys a second time, while they grow.
  CHECK(generated(j) == 28 * matrices * 2 + 16 * (tokens * (28 * 512 * (4 + 2) + 512 * 4) + rows * words * 12));
}

TEST_CASE("keys that come back in their own format, or that nothing turned") {
  auto j = grpo("fp32");
  j.framework.date = 202408;  // cosines were made of the values
  CHECK(generated(j) == 28 * matrices * 2 + head + tokens * 28 * 512 * (2 + 2) + rows * words * 12);
  auto normed = grpo("fp32");
  normed.framework.date = 202408;
  normed.model.qk_norm = true;
  CHECK(generated(normed) == 28 * matrices * 2 + head + tokens * 28 * 512 * (4 + 2) + rows * words * 12);
}

TEST_CASE("latent attention is kept as heads read it") {
  // DeepSeek-V2-Lite: 27 layers, 16 heads of 128 + 64 and 128.
  CHECK(generated_by_module(models::deepseek_v2_lite, 2, 100, 28, formats::bf16).cache == bytes{27LL * 16 * (192 + 128) * 2 * 2 * 128});
}

TEST_CASE("a token reads wide weights, and their copies twice") {
  // One long completion of a large model on a slow memory: a token takes as long as its bytes, eight of a weight instead of two, keys and values apart.
  auto wide = grpo("fp32"), narrow = grpo("bf16");
  for (auto* j : {&wide, &narrow}) j->model = models::qwen2_5_72b, j->hardware.gpu = gpus::l4, j->batch.micro = j->batch.accumulation = 1, j->rollout.generations = 1;
  const auto ratio = cost(wide).generation.value / cost(narrow).generation.value;
  CHECK(ratio > 3.7);
  CHECK(ratio < 4.0);
}

TEST_CASE("evaluation under autocast keeps its copies too") {
  auto j = grpo("fp32");
  j.objective = {};
  j.rollout = {};
  j.batch = {.micro = 1, .sequence = 64};
  j.evaluation = {.sequence = 1024, .batch = 64, .loss_only = true, .use_cache = choice::no};
  const auto r = estimate(j);
  auto frozen = j;
  frozen.precision.parameters = frozen.precision.gradients = frozen.precision.reduce = formats::bf16;
  const auto rest = [](const report& of) { return (of.ranks[0][phase::evaluate] - of.ranks[0][phase::save]).count(); };
  CHECK(rest(r) - rest(estimate(frozen)) >= 28 * matrices * 2);
}

namespace {

/// Qwen2.5-VL 3B over ZeRO-3, an image of 896 × 896 pixels in each prompt: 64 × 64 patches, 1,024 tokens. 16 completions at once.
job seeing(std::int32_t prompt = 1100) {
  return with_lora(io::read_job(io::parse_json(R"({"model": "qwen2.5-vl-3b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "sharding": {"kind": "zero", "stage": 3}, "precision": "bf16-mixed",
    "attention": "flash", "batch": {"micro": 2, "accumulation": 8, "sequence": )" + std::to_string(prompt + 100) + R"(, "images": {"width": 896, "height": 896}}, "objective": {"kind": "grpo", "trainer": "trl", "reference": "none"},
    "rollout": {"engine": "trainer", "prompt": )" + std::to_string(prompt) + R"(, "completion": 100, "generations": 8}})", "job")));
}
// Of one image: 4,096 patches of 3 colours, 2 frames and 14 × 14 pixels, in DeepSpeed's bf16.
constexpr std::int64_t pixels = 4096 * 3 * 2 * 14 * 14 * 2;

}  // namespace

TEST_CASE("images of prompts are read once, and stay while the completions that they led to are trained on") {
  auto plain = seeing();
  plain.batch.images = {.none = true};
  // What is there all along: pixels of 16 completions.
  const auto rest = [](const job& j) { return estimate(j).ranks[0][phase::save].count(); };
  CHECK(rest(seeing()) - rest(plain) == 16 * pixels);
  auto later = seeing();
  later.rollout.steps_per_generation = 16;
  CHECK(rest(later) - rest(plain) == 32 * pixels);
  // While it generates, those of the new prompts beside those of the last; 1,024 tokens of 2,048 features of each image while prompts are read. The widest
  // layer is the language model's, the same with and without images.
  CHECK(generated(seeing()) - generated(plain) == 16 * (pixels + 1024 * 2048 * 2));
  // Of long completions the cache is taller: the images' pixels alone are there.
  auto longer = seeing(1030), text = seeing(1030);
  longer.rollout.completion = text.rollout.completion = 30'000;
  longer.batch.sequence = text.batch.sequence = 31'030;
  text.batch.images = {.none = true};
  CHECK(generated(longer) - generated(text) == 16 * pixels);
  CHECK_FALSE(objection_to(seeing(1024)));
  CHECK(objection_to(seeing(1023)));
  auto swift = seeing();
  swift.objective.code = method_code::ms_swift;
  CHECK(std::string(objection_to(swift).sentence).find("of TRL's GRPO, RLOO and online DPO alone") != std::string::npos);
  // ms-swift beside an engine keeps them, too, and in fp32.
  swift.rollout.engine = engine_kind::vllm;
  swift.rollout.placement = rollout_place::separate;
  auto blind = swift;
  blind.batch.images = {.none = true};
  CHECK(rest(swift) - rest(blind) == 16 * 2 * pixels);
  swift.rollout.steps_per_generation = 32;
  CHECK(rest(swift) - rest(blind) == 64 * 2 * pixels);
}

// ms-swift's run of GKD with seq_kd on four GPUs (examples/train/rlhf/gkd.sh at 85c16d44e of 2025-06-17: 65 GiB): the teacher writes 512 tokens.
TEST_CASE("a teacher that writes is gathered whole, with keys and values of its own") {
  const auto of = [](const char* who) {
    return estimate(io::read_job(io::parse_json(std::string(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 4}, "framework": "deepspeed", "precision": "bf16-mixed",
      "sharding": {"kind": "zero", "stage": 3, "overlap_comm": false}, "batch": {"micro": 4, "sequence": 1024}, "recompute": "full", "attention": "flash", "loss": {"logits": "bf16"},
      "objective": {"kind": "distill", "trainer": "ms-swift-3.11", "teacher": {"model": "qwen2.5-14b", "stage": 3}}, "rollout": {"engine": "trainer", "completion": 512)") + who + "}}", "job")));
  };
  const auto r = of(R"(, "model": "teacher")");
  // 14,770,033,664 parameters in bf16; 48 layers with keys and values of 1,024 numbers for 4 × 1,024 tokens, one layer's of them twice while they grow.
  constexpr std::int64_t whole = 2 * 14'770'033'664, keys = 48LL * 2 * 1024 * 2 * 4 * 1024;
  const auto beside = (r.ranks[0][phase::generate] - r.ranks[0][phase::save]).count();
  CHECK(beside >= whole + keys);
  CHECK(beside < whole + keys + 100'000'000);
  CHECK(r.fits());
  const auto refused = [&](const char* who) {
    try {
      return (void)of(who), std::string{};
    } catch (const error& e) {
      return std::string{e.what()};
    }
  };
  CHECK(refused(R"(, "model": "both")").find("an engine on other GPUs is modelled") != std::string::npos);
  CHECK(refused("").find("an engine on other GPUs is modelled") != std::string::npos);
}

// An image of 1,792 × 1,792 pixels, 128 × 128 patches, without a kernel for attention: 16 heads' scores in two bytes, their copy in four, and the softmax of
// it in four (transformers, eager_attention_forward; ATen SoftMax.cpp converts bf16 first), far more than a prompt of 4,200 tokens takes of 12 heads.
// Beside it lies the whole model, 2,208,985,600 parameters in bf16, and the patches' stream.
TEST_CASE("what is tallest while a tower reads may be its pixels and patches") {
  // Narrow layers: 32 features in and between. 4,096 patches of 1,176 numbers, and what the convolution makes of each; a merged patch is 128 features and 2,048 behind.
  auto j = seeing();
  j.model.vision.hidden = j.model.vision.ffn = 32, j.model.vision.heads = 2;
  const auto s = settle(j);
  CHECK(headroom::detail::see_prompts(s, headroom::detail::generating(s, 3, 1100)).tallest.count() == 3 * (pixels + 4096 * 32 * 2));
}

TEST_CASE("a tower that reads large images is what generation takes most for") {
  auto j = seeing(4200);
  j.model = io::read_job(io::parse_json(R"({"model": "qwen2-vl-2b", "batch": {"sequence": 100, "images": {"width": 56, "height": 56}}})", "job")).model;
  j.attention = attention::eager;
  j.batch.micro = j.batch.accumulation = 1;
  j.batch.images = {.width = 1792, .height = 1792};
  constexpr std::int64_t patches = 128 * 128, scores = 16 * patches * patches;
  const auto all = generated(j);
  CHECK(all > scores * (2 + 4 + 4));
  CHECK(all < scores * (2 + 4 + 4) + 2 * 2'208'985'600 + patches * 1280 * 2 * 40);
}

}  // namespace test_module_generation
