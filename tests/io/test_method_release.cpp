// Distributed under the Boost Software License, Version 1.0.
// A job that names a release of TRL runs that release's loss code. Expected: what the launchers' readers make of TRL's own commands, by --set environment.trl.
#include "imported.hpp"

#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_method_release {

using namespace imported;

namespace {

std::string text(const std::string& version, const std::string& objective, const std::string& more = R"("batch": {"micro": 2, "sequence": 512, "padded": true})") {
  return R"({"model": "qwen2.5-0.5b", "hardware": {"gpu": "h100-sxm-80gb"}, "framework": {"name": "hf-trainer", "version": ")" + version + R"("}, )" + more + R"(, "objective": )" + objective + "}";
}
job read(const std::string& version, const std::string& objective) {
  const bool generates = objective.find("grpo") != std::string::npos || objective.find("rloo") != std::string::npos;
  const auto* rollout = R"("batch": {"micro": 2, "sequence": 512}, "rollout": {"engine": "trainer", "prompt": 128, "completion": 256, "generations": 2})";
  return io::read_job(io::parse_json(generates ? text(version, objective, rollout) : text(version, objective), "job"));
}
method_code code(const std::string& version, const std::string& objective) { return read(version, objective).objective.code; }
std::string refused(const std::string& version, const std::string& objective) {
  try {
    (void)read(version, objective);
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}
const std::string model = "--model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name x --per_device_train_batch_size 2 --output_dir o";

}  // namespace

TEST_CASE("the launchers' reader and a job's version mean the same code") {
  struct command {
    const char* kind;
    std::string starts;
    std::vector<std::int32_t> releases;  ///< 100 × major + minor
  };
  const std::vector<command> all{
      {"dpo", "python trl/scripts/dpo.py " + model, {9, 14, 15, 18, 24, 28, 29, 100, 109}},
      {"orpo", "python examples/scripts/orpo.py " + model, {9, 14, 15, 29, 109}},
      {"cpo", "python examples/scripts/cpo.py " + model, {9, 14, 15, 29, 109}},
      {"grpo", "python trl/scripts/grpo.py " + model + " --num_generations 2 --beta 0", {16, 19, 20, 22, 23, 29, 100, 109}},
      {"rloo", "python trl/scripts/rloo.py " + model + " --num_generations 2", {22, 23, 29, 100, 109}},
  };
  for (const auto& c : all)
    for (const auto release : c.releases) {
      const auto version = std::to_string(release / 100) + "." + std::to_string(release % 100);
      CAPTURE(c.kind);
      CAPTURE(version);
      std::vector<std::string> set{"hardware.gpus_per_node=1", "environment.trl=\"" + version + "\"", "batch.sequence=512"};
      if (c.releases.front() >= 16) set.push_back("rollout.prompt=128");
      const auto by_command = job_of({{"run.sh", c.starts + "\n"}}, set);
      CHECK(code("TRL " + version, R"({"kind": ")" + std::string{c.kind} + R"(", "trainer": "trl"})") == by_command.objective.code);
    }
}

// modelscope/ms-swift: swift/trainers/rlhf_trainer/dpo_trainer.py before c60ceecfe of 2025-05-15 (in 3.5.0) and before 19b34bc5c of 2025-06-11 (in 3.6.0); gkd_trainer.py
// before b3d0d794e of 2025-12-23 (in 3.12).
TEST_CASE("a release of ms-swift that is named has its own loss code") {
  const std::string dpo = R"({"kind": "dpo", "trainer": "ms-swift", "reference": "copy"})", gkd = R"({"kind": "distill", "trainer": "ms-swift", "teacher": {"model": "qwen2.5-1.5b"}})";
  CHECK(code("ms-swift 3.4, 2025-05", dpo) == method_code::ms_swift_3_4);
  CHECK(code("ms-swift 3.5, 2025-06", dpo) == method_code::ms_swift_3_5);
  CHECK(code("ms-swift 3.6", dpo) == method_code::ms_swift);
  CHECK(code("ms-swift 3.8.dev, 2025-08", dpo) == method_code::ms_swift);
  CHECK(code("ms-swift 4.5", dpo) == method_code::ms_swift);
  CHECK(code("2025-06", dpo) == method_code::ms_swift);
  CHECK(code("ms-swift 3.11", gkd) == method_code::ms_swift_3_11);
  CHECK(code("ms-swift 3.6.dev, 2025-06", gkd) == method_code::ms_swift_3_11);
  CHECK(code("ms-swift 3.12", gkd) == method_code::ms_swift);
  CHECK(code("ms-swift 3.4", R"({"kind": "kto", "trainer": "ms-swift"})") == method_code::ms_swift);  // one code
  CHECK(code("TRL 0.9, ms-swift 3.4", dpo) == method_code::ms_swift_3_4);
  CHECK(code("ms-swift 3.8", R"({"kind": "dpo", "trainer": "ms-swift-3.4", "reference": "copy"})") == method_code::ms_swift_3_4);  // what is said stands
}

TEST_CASE("a release of TRL that is named has its own loss code") {
  // Loss code of DPO is another since v0.29.0 (e3b7897c8 of 2026-02-19) and since v0.15.0 (09eefa73a of 2025-02-08).
  const std::string dpo = R"({"kind": "dpo", "trainer": "trl"})";
  CHECK(code("TRL 0.7-0.9, alignment-handbook", dpo) == method_code::trl_0_14);
  CHECK(code("TRL 0.24, torch 2.8", R"("dpo")") == method_code::trl_0_28);
  CHECK(code("TRL 1.9", dpo) == method_code::trl);
  CHECK(code("TRL", dpo) == method_code::trl);
  CHECK(code("2025-03", dpo) == method_code::trl);
  CHECK(code("LLaMA-Factory 0.9.5.dev0, TRL 0.24, torch 2.8", R"({"kind": "dpo", "trainer": "llama-factory"})") == method_code::llama_factory);
  CHECK(code("TRL 0.9", R"({"kind": "dpo", "trainer": "trl-0.14"})") == method_code::trl_0_14);
  CHECK(code("TRL 0.9", R"("sft")") == method_code::unset);
  // A step of 0.9 names logits whole and keeps log-probabilities of every word: 1 GiB more than today's at 2 pairs of 512 tokens, of 151,936 words.
  const auto peak = [&](const char* trainer) { return estimate(io::read_job(io::parse_json(text("2024-06", R"({"kind": "dpo", "trainer": ")" + std::string{trainer} + R"("})"), "job"))).peak(); };
  const auto named = estimate(read("TRL 0.9", dpo)).peak();
  CHECK(named == peak("trl-0.14"));
  CHECK(named > peak("trl"));
  CHECK(holds(refused("TRL 0.9", R"({"kind": "dpo", "trainer": "trl-0.28"})"), "objective.trainer \"trl-0.28\" contradicts framework.version, which names TRL 0.9"));
  CHECK(holds(refused("TRL 0.9", R"({"kind": "kto", "trainer": "trl"})"), "framework.version names TRL 0.9, whose kto is not modelled by this version: the oldest that is modelled is of TRL 1.6"));
  CHECK(holds(refused("TRL 0.23", R"("reward")"), "the oldest that is modelled is of TRL 0.24"));
  CHECK(holds(refused("TRL 0.15", R"({"kind": "grpo", "trainer": "trl"})"), "the oldest that is modelled is of TRL 0.16"));
}

}  // namespace test_method_release

#endif
