// Distributed under the Boost Software License, Version 1.0.
// Every key of torchtitan's TOML is read, harmless, or refused by name; and which layers its pipeline stages have.
#include "launcher_keys.hpp"

#include <headroom/layout/stages.hpp>

namespace test_torchtitan_keys {

using namespace headroom;
using io::json_value;

namespace {

job import(const json_value& root) {
  io::draft d;
  d.say({"hardware"}, {{"gpu", "h100-sxm-80gb"}, {"gpus_per_node", 8}}, "--set");
  io::import_torchtitan(d, {.source = "a.toml", .root = root, .lines = {}});
  return d.settled();
}
std::string refusal(const json_value& root) {
  try {
    import(root);
  } catch (const headroom::error& e) {
    return e.what();
  }
  return {};
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Layers of each stage of a pipeline.
std::vector<std::int64_t> parts(json_value parallelism, const char* flavor = "8B", bool of_2024 = false) {
  json_value root{{"model", {{"flavor", flavor}}}, {"training", {{"local_batch_size", 16}}}, {"activation_checkpoint", {{"mode", "none"}}}};
  if (of_2024) {
    root["training"] = {{"batch_size", 16}, {"data_parallel_shard_degree", -1}};
    root["experimental"] = std::move(parallelism);
  } else {
    root["parallelism"] = std::move(parallelism);
  }
  const auto j = import(root);
  std::vector<std::int64_t> all;
  const stage_cut cut(j.parallel, j.model.layers, j.framework.pipeline.split);
  for (std::int64_t i = 0; i < cut.chunks(); ++i) all.push_back(cut.at(i).count);
  return all;
}
using list = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("torchtitan: each key alone, or beside its switch") {
  const std::pair<std::string_view, json_value> switches[] = {{"fp8", {{"model", {{"converters", {"float8"}}}}}},
                                                              {"mx", {{"model", {{"converters", {"mx"}}}}}},
                                                              {"pipeline", {{"parallelism", {{"pipeline_parallel_degree", 2}}}}},
                                                              {"tensor", {{"parallelism", {{"tensor_parallel_degree", 2}}}}},
                                                              {"context", {{"parallelism", {{"context_parallel_degree", 2}}}}},
                                                              {"compile", {{"compile", {{"enable", true}}}}}};
  for (auto l : launcher_keys::list_of("torchtitan.txt")) {
    json_value without{{"model", {{"name", "llama3"}, {"flavor", "8B"}}}};
    if (l.key.starts_with("parallelism.expert_")) without["model"] = {{"name", "deepseek_v3"}, {"flavor", "671B"}};
    for (const auto& [name, means] : switches)
      if (l.key.starts_with(std::string{name} + ":")) {
        l.key.erase(0, name.size() + 1);
        without.merge_patch(means);
      }
    auto with = without;
    launcher_keys::put(with, l.key, l.value);
    launcher_keys::judge(l, without, with, import);
  }
}

TEST_CASE("torchtitan: keys that matter beside a switch") {
  const json_value fp8{{"model", {{"flavor", "8B"}, {"converters", {"float8"}}}}};
  const auto with = [&](const char* path, const json_value& value) {
    auto root = fp8;
    launcher_keys::put(root, path, value);
    return refusal(root);
  };
  CHECK(with("quantize.linear.float8.filter_fqns", {"output"}).empty());
  CHECK(holds(with("quantize.linear.float8.filter_fqns", {"output", "router.gate"}), "quantize.linear.float8.filter_fqns = [\"output\",\"router.gate\"] is not modelled"));
  CHECK(holds(with("quantize.grouped_mm.float8.fqns", {"experts"}), "quantize.grouped_mm.float8.fqns"));
  CHECK(holds(with("float8.emulate", true), "float8.emulate = true"));
  CHECK(holds(with("float8.scaling_type_input", "delayed"), "float8.scaling_type_input"));
  CHECK(holds(with("compile", {{"enable", true}, {"backend", "aot_eager"}}), "compile.backend"));
  CHECK(holds(with("parallelism", {{"context_parallel_degree", 2}, {"context_parallel_load_balancer", "ptrr"}}), "context_parallel_load_balancer"));
  CHECK(holds(with("validation", {{"enable", true}, {"seq_len", 16384}}), "validation.seq_len = 16384"));
  CHECK(with("validation", {{"enable", true}, {"seq_len", 2048}, {"local_batch_size", 8}}).empty());
  CHECK(holds(with("activation_checkpoint", {{"mode", "selective"}, {"selective_ac_option", "op"}, {"per_op_sac_force_recompute_mm_shapes_by_fqns", json_value::array({"w1"})}}), "per_op_sac"));
}

TEST_CASE("torchtitan: layers of pipeline stages") {
  const json_value four{{"pipeline_parallel_degree", 4}};
  // 32 layers and two ends over four: 34 = 9 + 9 + 8 + 8, less one for each end.
  CHECK(parts(four) == list{8, 9, 8, 7});
  CHECK(parts({{"pipeline_parallel_degree", 4}, {"pipeline_parallel_schedule", "Interleaved1F1B"}}) == list{4, 5, 4, 4, 4, 4, 4, 3});
  CHECK(parts({{"pipeline_parallel_degree", 4}, {"pipeline_parallel_first_stage_less_layers", 0}, {"pipeline_parallel_last_stage_less_layers", 0}}) == list{8, 8, 8, 8});
  CHECK(parts({{"pipeline_parallel_degree", 4}, {"pipeline_parallel_first_stage_less_layers", 3}, {"pipeline_parallel_last_stage_less_layers", 1}}) == list{6, 9, 9, 8});
  // Until 2025-04-15 the ends counted for nothing, and had the fewest layers where there was a choice.
  CHECK(parts(four, "8B", true) == list{8, 8, 8, 8});
  CHECK(parts({{"pipeline_parallel_degree", 8}}, "405B", true) == list{15, 16, 16, 16, 16, 16, 16, 15});
  CHECK(parts({{"pipeline_parallel_degree", 8}}, "405B") == list{15, 16, 16, 16, 16, 16, 16, 15});
  // As many layers as one says, of 34.
  CHECK(parts({{"pipeline_parallel_degree", 2}, {"pipeline_parallel_layers_per_stage", 17}}) == list{16, 16});
  CHECK(parts({{"pipeline_parallel_degree", 4}, {"pipeline_parallel_layers_per_stage", 9}}) == list{8, 9, 8, 7});
  CHECK(holds(refusal({{"model", {{"flavor", "8B"}}}, {"parallelism", {{"pipeline_parallel_degree", 4}, {"pipeline_parallel_layers_per_stage", 5}}}}), "makes 7 stages, which torchtitan does not give to 4 ranks"));
  // Listed.
  CHECK(parts({{"pipeline_parallel_degree", 2}, {"pipeline_parallel_split_points", {"layers.20"}}}) == list{20, 12});
  json_value named = json_value::array({json_value::array({"tok_embeddings"}), json_value::array({"norm", "output"})});
  for (int i = 0; i < 32; ++i) named[i < 10 ? 0 : 1].push_back("layers." + std::to_string(i));
  CHECK(parts({{"pipeline_parallel_degree", 2}, {"module_fqns_per_model_part", named}}) == list{10, 22});
}

TEST_CASE("torchtitan: arguments of a command line") {
  const std::vector<std::string> set{"hardware.nodes=1"};
  const auto of = [&](const std::string& words) { return imported::job_of({{"run.sh", "torchrun --nproc_per_node=8 -m torchtitan.train --model.flavor 8B " + words}}, set); };
  CHECK(of("--training.local-batch-size 2 --training.seq_len=4096").batch == batch{.micro = 2, .sequence = 4096});
  CHECK(of("--compile.enable").compile);
  CHECK(!of("--compile.no-enable").compile);
  CHECK(of("--model.converters float8 --quantize.linear.float8.recipe_name rowwise").precision.compute == formats::fp8);
  const auto refused = [&](const std::string& words) { return imported::refusal_of({{"run.sh", "torchrun --nproc_per_node=8 -m torchtitan.train " + words}}, set); };
  CHECK(holds(refused("--module llama3 --config llama3_8b"), "names a Python function that makes the configuration"));
  CHECK(holds(refused("--model.flavor 8B --training.local_batchsize 2"), "training.local_batchsize is not known here (did you mean local_batch_size?)"));
}

#if HEADROOM_HAS_TOML
// config/manager.py reads the file first, and the command line goes over its values: nothing of those is left.
TEST_CASE("torchtitan: a command line takes back what its file says") {
  const imported::text toml{"a.toml", R"([model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 4096
enable_cpu_offload = true
[parallelism]
data_parallel_replicate_degree = 2
tensor_parallel_degree = 2
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "Interleaved1F1B"
[compile]
enable = true
)"};
  const auto of = [&](const std::string& words) { return imported::job_of({toml, {"run.sh", "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file a.toml " + words}}, {"hardware.nodes=1"}); };
  const auto as_it_is = of("");
  CHECK(as_it_is.model == models::llama_3_1_8b);
  CHECK((as_it_is.compile && as_it_is.offload.optimizer == place::on_cpu && as_it_is.parallel.replicate == 2 && as_it_is.parallel.virtual_pipeline == 2));
  CHECK(of("--model.flavor 70B").model == models::llama_3_1_70b);
  CHECK(of("--model.name qwen3 --model.flavor=0.6B").model == models::qwen3_0_6b);
  const auto plain = of("--compile.no-enable --training.enable_cpu_offload false --parallelism.data_parallel_replicate_degree 1 --parallelism.pipeline_parallel_schedule 1F1B");
  CHECK((!plain.compile && plain.offload.optimizer == place::on_gpu && plain.parallel.replicate == 1 && plain.parallel.virtual_pipeline == 1));
  CHECK(of("--parallelism.pipeline_parallel_degree 1").parallel.virtual_pipeline == 1);
}
#endif

}  // namespace test_torchtitan_keys
