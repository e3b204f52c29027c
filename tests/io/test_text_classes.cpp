// Distributed under the Boost Software License, Version 1.0.
// Models that see, under programs that load them by transformers' AutoModelForCausalLM: scripts in, the text model, all of it or a sentence out.
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/plan/judge.hpp>

#include <doctest/doctest.h>

namespace test_text_classes {

using namespace imported;

namespace {

/// run_STAGE.sh of MedicalGPT, as it is.
imported::text script(const std::string& stage) { return launch_file("medicalgpt-stages", "run_" + stage + ".sh"); }
imported::text clm(const std::string& model) {
  return {"run.sh", "python run_clm.py --model_name_or_path " + model + " --block_size 1024 --bf16 True --per_device_train_batch_size 1 --do_train\n"};
}
const std::vector<std::string> h100{"hardware.gpu=h100-sxm-80gb", "hardware.gpus_per_node=8", "sharding=fsdp2"};

/// Qwen3.5's text model, from its class: three layers in four of Gated DeltaNet with keys of 16 heads of 128, one of attention with a gate and heads of 256.
std::int64_t qwen(std::int64_t hidden, std::int64_t layers, std::int64_t heads, std::int64_t kv, std::int64_t ffn, std::int64_t value_heads) {
  const std::int64_t keys = 16 * 128, values = value_heads * 128;
  const auto delta = hidden * (2 * keys + values) + hidden * values + 2 * hidden * value_heads + (2 * keys + values) * 4 + 2 * value_heads + 128 + values * hidden;
  const auto attention = hidden * heads * 256 * 2 + 2 * hidden * kv * 256 + heads * 256 * hidden + 2 * 256;
  return layers / 4 * attention + (layers - layers / 4) * delta + layers * (3 * hidden * ffn + 2 * hidden) + 248'320 * hidden + hidden;
}

}  // namespace

TEST_CASE("MedicalGPT's scripts train Qwen3.5's text model, from import to plans that fit") {
  struct row {
    const char* stage;
    std::vector<std::string> set;
    std::string gpu{"rtx-4090"};
  };
  const row rows[] = {{"pt", {}}, {"sft", {}}, {"dpo", {"hardware.gpus_per_node=1"}}, {"dpo", {}}, {"grpo", {"rollout.prompt=512"}},
                      {"ppo", {"hardware.gpus_per_node=1", "rollout.prompt=512", "objective.reward=qwen2.5-0.5b"}, "a100-sxm-40gb"}};
  for (const auto& one : rows) {
    const std::string name = one.stage;
    CAPTURE(name);
    auto set = one.set;
    set.push_back("hardware.gpu=" + one.gpu);
    const auto j = job_of({script(name)}, set);
    CHECK(j.model.vision.kind == vision_kind::none);
    CHECK(count(j.model).total == parameters{name == "sft" ? qwen(1024, 24, 8, 2, 3584, 16) : qwen(2048, 24, 8, 2, 6144, 16)});
    CHECK_FALSE(objection_to(j));
    const auto found = plan(search{.job = j, .open = axes::bit(axes::recomputation), .open_micro = true, .global_batch = j.batch.micro * j.batch.accumulation * j.hardware.gpus()}, {.top = 1, .threads = 1});
    REQUIRE_FALSE(found.best.empty());
    CHECK(estimate(found.best.front().job).may_fit());
  }
  CHECK(qwen(2560, 32, 16, 4, 9216, 32) == 4'205'751'296);  // Qwen/Qwen3.5-4B, counted in transformers
  // A reward model's class has the tower, too, which samples of text alone never reach.
  const auto reward = job_of({script("rm")}, {"hardware.gpu=rtx-4090", "hardware.gpus_per_node=1"});
  CHECK(reward.model.vision.kind == vision_kind::qwen3_vl);
  CHECK(reward.batch.images.none);
  // As the script stands one process lays its layers over two GPUs.
  const auto two = job_of({script("rm")}, {"hardware.gpu=rtx-4090"});
  CHECK(two.parallel.pipeline == 2);
  CHECK(estimate(two).may_fit());
}

TEST_CASE("AutoModelForCausalLM has a class of the text for some models that see, of the whole for others, and none for most") {
  const auto scout = job_of({clm("meta-llama/Llama-4-Scout-17B-16E")}, h100);
  CHECK(scout.model.vision.kind == vision_kind::none);
  CHECK(count(scout.model).total < parameters{108'641'793'536});
  const auto gemma = job_of({clm("google/gemma-3-4b-it")}, h100);
  CHECK(gemma.model.vision.kind == vision_kind::siglip);
  CHECK(gemma.batch.images.none);
  for (const std::string name : {"Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen3-VL-8B-Instruct", "llava-hf/llava-1.5-7b-hf", "mistral-community/pixtral-12b"}) {
    CAPTURE(name);
    CHECK(holds(refusal_of({clm(name)}, h100), "run.sh:1: run-clm loads its model by transformers' AutoModelForCausalLM, which has no class for "));
  }
  CHECK(job_of({clm("google/gemma-4-E2B-it")}, h100).batch.images.none);
  const imported::text voxtral{"config.json", R"({"architectures": ["VoxtralForConditionalGeneration"], "model_type": "voxtral"})"};
  CHECK(holds(refusal_of({clm("mistralai/Voxtral-Mini-3B-2507"), voxtral}, h100), "AutoModelForCausalLM, which has no class for "));
  // Other programs load the class that the configuration names.
  const std::string factory = "model_name_or_path: Qwen/Qwen3.5-2B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen3_5\ndataset: identity\ncutoff_len: 1024\nbf16: true\n";
  CHECK(job_of({{"lf.yaml", factory}}, {"hardware.gpu=rtx-4090", "hardware.gpus_per_node=1"}).model.vision.kind == vision_kind::qwen3_vl);
}

TEST_CASE("images that a job names are judged by what is loaded") {
  auto set = h100;
  set.push_back("batch.images.none=true");
  const auto text = job_of({clm("Qwen/Qwen3.5-4B")}, set);
  CHECK(text.batch.images == batch{}.images);
  CHECK(count(text.model).total == parameters{4'205'751'296});
  CHECK_FALSE(objection_to(text));
  set.back() = "batch.images.width=448";
  CHECK(holds(refusal_of({clm("Qwen/Qwen3.5-4B")}, set), "run-clm loads the text model of qwen3.5-4b alone"));
}

}  // namespace test_text_classes
