// Distributed under the Boost Software License, Version 1.0.
// The objective of a job file: read, written, and refused with sentences that say what to write.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_text.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_objective_keys {

using namespace headroom;

namespace {

job read(const std::string& rest) {
  return io::read_job(io::parse_json(R"({"model": "qwen3-0.6b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "sharding": "zero3", "batch": {"micro": 2, "sequence": 512}, )" + rest + "}", "job"));
}
/// Why it is refused, by estimate() or by the reader.
std::string refusal(const std::string& rest) {
  try {
    (void)estimate(read(rest));
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}
bool says(const std::string& sentence, std::string_view part) { return sentence.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a method alone, or with what stands beside it, is read and written back") {
  for (const std::string o : {R"("dpo")", R"("reward")", R"({"kind": "dpo", "trainer": "trl-0.14", "reference": "precomputed"})", R"({"kind": "dpo", "reference": "copy", "reference_parameters": "fp32"})",
                              R"({"kind": "dpo", "reference": "copy", "reference_parameters_at": "cpu"})", R"({"kind": "dpo", "trainer": "ms-swift-3.4", "sft_weight": 0.1})",
                              R"({"kind": "distill", "trainer": "trl", "teacher": "qwen3-8b"})",
                              R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "parameters": "fp32", "stage": 3, "parameters_at": "cpu"}})"}) {
    CAPTURE(o);
    const auto j = read(R"("objective": )" + o);
    CHECK(j.objective.kind != objective_kind::sft);
    CHECK(io::job_to_json(j)["objective"] == io::parse_json(o, "objective"));
    CHECK(io::read_job(io::job_to_json(j)) == j);
    CHECK(refusal(R"("objective": )" + o) == "");
  }
  CHECK(read(R"("objective": "ipo")").objective.kind == objective_kind::dpo);
  CHECK(read(R"("objective": {"kind": "distill", "teacher": "qwen3-8b"})").objective.frozen.model == models::qwen3_8b);
  CHECK_FALSE(io::job_to_json(read(R"("compile": false)")).contains("objective"));
}

TEST_CASE("roles beside the trained model and the evaluation between steps are read and written back") {
  for (const std::string rest : {R"("objective": {"kind": "ppo", "trainer": "trl", "reference": "copy", "reward": "qwen3-8b", "critic": {"model": "qwen3-0.6b", "parameters": "fp32", "micro": 4}})",
                                 R"("objective": {"kind": "ppo", "trainer": "llama-factory", "reward_adapter": true})", R"("objective": {"kind": "online-dpo", "reward": {"model": "qwen3-0.6b", "stage": 3}})",
                                 R"("evaluation": {"batch": 8, "sequence": 1024, "samples": 100, "accumulation_steps": 4})", R"("evaluation": {"batch": 8, "loss_only": true, "use_cache": true})",
                                 R"("evaluation": {"batch": 8, "samples": 64, "kept_bytes": 8, "generate": 32})"}) {
    CAPTURE(rest);
    const auto j = read(rest);
    CHECK(io::read_job(io::job_to_json(j)) == j);
    CHECK(j != read(R"("compile": false)"));
  }
  CHECK(read(R"("objective": {"kind": "ppo", "critic": "qwen3-8b"})").objective.critic.model == models::qwen3_8b);
  CHECK(read(R"("evaluation": {"batch": 8, "accumulation_steps": 4})").evaluation.accumulation_steps == 4);
}

TEST_CASE("what contradicts itself or is not modelled is refused by name") {
  CHECK(says(refusal(R"("objective": "dpoo")"), "objective"));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "beta": 1})"), "unknown key \"beta\""));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "reference": "adapter-off"})"), "needs an adapter"));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "reference": "swapped"})"), "swapped in"));
  CHECK(says(refusal(R"("objective": {"kind": "orpo", "reference": "copy"})"), "no reference model"));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "teacher": "qwen3-8b"})"), "must be \"distill\""));
  CHECK(says(refusal(R"("objective": "distill")"), "needs objective.teacher"));
  CHECK(says(refusal(R"("objective": {"kind": "distill", "teacher": "llama-3.1-8b"})"), "student's vocabulary"));
  CHECK(says(refusal(R"("objective": {"kind": "distill", "teacher": {"model": "qwen3-8b", "stage": 2, "parameters_at": "cpu"}})"), "gathers its weights"));
  CHECK(says(refusal(R"("objective": "ppo")"), "needs objective.critic"));
  CHECK(says(refusal(R"("objective": {"kind": "distill", "teacher": {"model": "qwen3-8b", "micro": 4}})"), "leave micro out"));
  CHECK(says(refusal(R"("objective": "online-dpo")"), "objective.trainer"));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "critic": "qwen3-0.6b"})"), "PPO's"));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "trainer": "verl"})"), "objective.trainer"));
  CHECK(says(refusal(R"("objective": {"kind": "kto", "trainer": "ms-swift-3.5"})"), "objective.trainer's code of this method"));
  CHECK(says(refusal(R"("objective": {"kind": "reward", "trainer": "nemo-rl"})"), "NeMo-RL's DTensor workers"));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "reference": "precomputed", "reference_parameters": "fp32"})"), "a reference that is a copy"));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "reference_parameters": "nf4"})"), "must be fp32, bf16 or fp16"));
  CHECK(says(refusal(R"("objective": "dpo", "loss": {"kind": "fused-linear"})"), "whole logits"));
  CHECK(says(refusal(R"("objective": "dpo", "compile": true)"), "compile must be false"));
  CHECK(says(refusal(R"("objective": {"kind": "dpo", "reference": "copy"}, "adapter": {"kind": "lora", "rank": 8, "targets": "all-linear", "base": "nf4"})"), "quantised base"));
}

TEST_CASE("of a prompt, a completion and a sample two lengths say the third") {
  const std::string grpo = R"("objective": {"kind": "grpo", "trainer": "ms-swift", "reference": "none"}, )";
  const auto sequence = read(grpo + R"("rollout": {"engine": "vllm", "placement": "separate"})").batch.sequence;
  const auto lengths = [&](const std::string& said, const std::string& more = {}) { return read((more.empty() ? grpo : more) + R"("rollout": {"engine": "vllm", "placement": "separate", )" + said + "}").rollout; };
  CHECK(sequence > 100);
  CHECK(lengths(R"("completion": 100)").prompt == sequence - 100);
  CHECK(lengths(R"("prompt": 60)").completion == sequence - 60);
  CHECK(lengths(R"("completion": 100000)").prompt == 0);  // refused: more than a sample has
  CHECK(lengths(R"("prompt": 7, "completion": 100)").prompt == 7);
  // Rows of verl's are as long as some samples, or hold several.
  CHECK(lengths(R"("completion": 100)", R"("objective": {"kind": "grpo", "trainer": "verl", "reference": "none"}, )").prompt == 0);
}

TEST_CASE("other frameworks are refused") {
  auto j = read(R"("objective": "dpo")");
  j.framework = frameworks::litgpt_202410;
  CHECK(objection_to(j));
  j = read(R"("objective": "kto")");
  j.batch.micro = 1;
  CHECK(says(std::string{objection_to(j).sentence}, "batch.micro must be at least 2"));
}

TEST_CASE("reports say what the other model takes, and when it runs") {
  const auto j = read(R"("objective": "dpo")");
  const auto text = io::to_text(estimate(j), j);
  CHECK(says(text, "other models"));
  CHECK(says(text, "  reference  "));
}

}  // namespace test_objective_keys
