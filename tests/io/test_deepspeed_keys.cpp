// Distributed under the Boost Software License, Version 1.0.
// Every key of a DeepSpeed configuration is read, harmless, or refused by name.
#include "launcher_keys.hpp"

namespace test_deepspeed_keys {

using namespace headroom;
using io::json_value;

namespace {

job import(const json_value& options) { return imported::job_of({{"ds.json", options.dump()}}, imported::llama); }

}  // namespace

TEST_CASE("DeepSpeed: each key alone") {
  for (const auto& l : launcher_keys::list_of("deepspeed.txt")) {
    json_value without{{"train_micro_batch_size_per_gpu", 1}, {"zero_optimization", {{"stage", 3}}}};
    for (const auto* block : {"offload_param", "offload_optimizer"})
      if (l.key.find(block + std::string{"."}) != std::string::npos && !l.key.ends_with(".device")) without["zero_optimization"][block]["device"] = "cpu";
    for (const auto* format : {"fp16", "bf16"})
      if (l.key.starts_with(format + std::string{"."}) && !l.key.ends_with(".enabled")) without[format]["enabled"] = true;
    if (l.key.starts_with("data_types.") || l.key == "communication_data_type") without["bf16"]["enabled"] = true;
    auto with = without;
    launcher_keys::put(with, l.key, l.value);
    if (l.key == "train_batch_size") with.erase("train_micro_batch_size_per_gpu");
    launcher_keys::judge(l, without, with, import);
  }
}

TEST_CASE("DeepSpeed: NVMe's pipeline, and what --ignore passes over") {
  json_value nvme{{"train_micro_batch_size_per_gpu", 1}, {"zero_optimization", {{"stage", 3}, {"offload_optimizer", {{"device", "nvme"}, {"pipeline_read", true}}}}}};
  CHECK(imported::refusal_of({{"ds.json", nvme.dump(1)}}, imported::llama).starts_with("headroom: ds.json:6: zero_optimization.offload_optimizer.pipeline_read = true is not modelled"));
  nvme["zero_optimization"]["offload_optimizer"]["device"] = "cpu";
  CHECK(import(nvme).offload.optimizer == place::on_cpu);

  const json_value staged{{"train_micro_batch_size_per_gpu", 1}, {"curriculum_learning", {{"enabled", true}}}};
  io::draft d;
  d.ignores = {"curriculum_learning"};
  io::import_deepspeed(d, {.source = "ds.json", .root = staged, .lines = {}});
  CHECK(d.ignored == std::vector<std::string>{"curriculum_learning"});
  CHECK(!d.has({"framework", "options", "curriculum_learning"}));
}

TEST_CASE("DeepSpeed: what is offloaded is pinned since August 2026") {
  const json_value options{{"zero_optimization", {{"stage", 2}, {"offload_optimizer", {{"device", "cpu"}}}}}};
  auto set = imported::llama;
  CHECK(imported::job_of({{"ds.json", options.dump()}}, set).offload.pin_memory);
  set.emplace_back("framework.version=v2024-06");
  CHECK(!imported::job_of({{"ds.json", options.dump()}}, set).offload.pin_memory);
}

TEST_CASE("DeepSpeed: timers slow a step down") {
  const auto slower = [](const char* options) {
    const auto d = imported::draft_of({{"ds.json", options}}, imported::llama);
    return std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return n.find("longer than predicted") != std::string::npos; });
  };
  CHECK(slower(R"({"zero_optimization": {"stage": 2}, "wall_clock_breakdown": true})"));
  CHECK(slower(R"({"zero_optimization": {"stage": 2}, "flops_profiler": {"enabled": true}})"));
  CHECK(!slower(R"({"zero_optimization": {"stage": 2}, "wall_clock_breakdown": false, "flops_profiler": {"enabled": false}})"));
}

#if HEADROOM_HAS_YAML
TEST_CASE("DeepSpeed: checkpoints of layers are the Trainer's, or the program's own") {
  const imported::text ds{"ds.json", R"({"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}, "activation_checkpointing": {"cpu_checkpointing": true, "contiguous_memory_optimization": true}})"};
  const std::string trains = "model_name_or_path: meta-llama/Llama-3.1-8B\nbf16: true\nper_device_train_batch_size: 2\noutput_dir: out\nblock_size: 2048\n";
  auto d = imported::draft_of({{"trainer.yaml", trains}, ds}, imported::llama);
  const auto j = d.settled();
  CHECK(j.recompute == recompute{});
  CHECK(j.offload.activations == place::on_gpu);
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return n.find("ds.json:1: activation_checkpointing has no effect") != std::string::npos; }));
  CHECK(imported::job_of({{"trainer.yaml", trains + "gradient_checkpointing: true\n"}, ds}, imported::llama).offload.activations == place::on_gpu);
}
#endif

}  // namespace test_deepspeed_keys
