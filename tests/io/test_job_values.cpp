// Distributed under the Boost Software License, Version 1.0.
// What the forms of a key mean.
#include <doctest/doctest.h>

#include <headroom/io/job_reader.hpp>
#include <headroom/states/states.hpp>

#include <cmath>

namespace test_job_values {

using namespace headroom;

namespace {
job reading(const std::string& text) { return io::read_job(io::parse_json(text, "job")); }
/// A small job with one further key.
job with(const std::string& key) { return reading(R"({"model": "llama-3.1-8b", "batch": {"sequence": 128}, )" + key + "}"); }
}  // namespace

TEST_CASE("what is left out keeps the default of the C++ aggregate") {
  const auto j = reading(R"({"model": "llama-3.1-8b", "batch": {"sequence": 128}})");
  CHECK(j == job{.model = *models::find("llama-3.1-8b"), .batch = {.sequence = 128}});
}

TEST_CASE("models") {
  const auto m =
      reading(R"({"model": {"base": "llama-3.1-8b", "layers": 4, "tied": true}, "batch": {"sequence": 128}})").model;
  CHECK(m.layers == 4);
  CHECK(m.tied);
  CHECK(m.hidden == 4096);
  const auto v =
      reading(
          R"({"model": {"layers": 2, "hidden": 64, "heads": 2, "vocab": 10, "vision": {"kind": "siglip-so400m", "layers": 27, "hidden": 1152,
    "heads": 16, "ffn": 4304, "patch": 14, "image": 980, "slices": 9, "resampler": {"queries": 64, "hidden": 3584}}}, "batch": {"sequence": 1}})")
          .model.vision;
  CHECK(v.kind == vision_kind::siglip);
  CHECK(v.projector == projector_kind::resampler);
  CHECK(v.resampler == 64);
  CHECK(v.output == 3584);
  CHECK(v.positions == 4900);
}

TEST_CASE("hardware") {
  CHECK(with(R"("hardware": {"gpu": "a100-80gb"})").hardware.gpu == gpus::a100_sxm_80gb);
  const auto named = with(R"("hardware": {"gpu": {"name": "a100-80gb", "memory_gib": 79.15}})").hardware.gpu;
  CHECK(named.memory.count() == std::llround(79.15 * 1024 * 1024 * 1024));
  CHECK(named.bandwidth_gb_s == gpus::a100_sxm_80gb.bandwidth_gb_s);
  const auto unknown = with(R"("hardware": {"gpu": {"name": "12gb-class", "memory_gib": 12}})").hardware.gpu;
  CHECK(unknown.memory == 12 * gib);
  CHECK(unknown.compute_capability == 0);
}

TEST_CASE("sharding") {
  CHECK(with(R"("sharding": "zero3")").sharding == zero(3));
  CHECK(with(R"("sharding": "fsdp2")").sharding == fsdp2());
  CHECK(with(R"("sharding": "ddp")").sharding == ddp());
  CHECK(with(R"("sharding": "none")").sharding == sharding{});
  CHECK(with(R"("sharding": {"kind": "megatron-distributed-optimizer"})").sharding.stage == 1);
  CHECK(with(R"("sharding": {"kind": "zero", "stage": 3, "prefetch_bucket_size": 5e7})")
            .sharding.stage3_prefetch_bucket_size == 50'000'000);
}

TEST_CASE("recipes") {
  CHECK(with(R"("precision": "bf16-mixed")").precision == precisions::bf16_mixed);
  CHECK(with(R"("precision": {"parameters": "bf16", "state": "int8"})").precision.state == formats::int8_blockwise);
  CHECK(with(R"("optimizer": {"name": "adamw-8bit", "state": "int8"})").optimizer == optimizers::adamw_8bit);
  CHECK(with(R"("optimizer": {"name": "adamw", "paged": true})").optimizer.paged_from == 100'000);
  CHECK(with(R"("recompute": "full")").recompute == recompute::full);
  CHECK(with(R"("recompute": {"mode": "selective", "modules": ["moe_act", "mlp"]})").recompute.modules == 0b1010U);
  CHECK(with(R"("environment": {"cublas_workspace": ":4096:2:16:8"})").environment.cublas_workspace == 8320 * kib);
  CHECK(with(R"("parallel": {"pipeline": 2, "virtual_pipeline": 3})").parallel.schedule == schedule::interleaved);
  // A schedule of two chunks a stage says how many they are.
  CHECK(with(R"("parallel": {"pipeline": 4, "schedule": "zero-bubble-v"})").parallel.virtual_pipeline == 2);
  CHECK(with(R"("parallel": {"pipeline": 4, "virtual_pipeline": 3, "schedule": "zero-bubble-v"})").parallel.virtual_pipeline == 3);  // which the job then refuses
  CHECK(with(R"("parallel": {"pipeline": 4, "schedule": "dualpipe"})").parallel.virtual_pipeline == 1);
  CHECK(with(R"("dropout": {"hidden": 0.1})").dropout.hidden.per_million == 100'000);
}

TEST_CASE("modules by name") {
  const auto targets = [](const std::string& list) {
    return with(R"("adapter": {"kind": "lora", "rank": 8, "targets": )" + list + "}").adapter.targets;
  };
  CHECK(targets(R"("all-linear")") == all_linear);
  CHECK(targets(R"(["q_proj", "down_proj"])") == module_set{module::q_proj, module::down_proj});
  CHECK(targets(R"(["c_attn"])") == module_set{module::q_proj, module::k_proj, module::v_proj});
  const auto sparse = reading(
      R"({"model": "mixtral-8x7b", "batch": {"sequence": 1}, "trainable": [{"layers": [0, 5], "experts": [0, 1], "modules": ["router", "experts"]}],
    "adapter": {"kind": "lora", "rank": 16, "targets": ["w1"]}})");
  CHECK(sparse.adapter.targets.has(module::experts_gate));
  CHECK(sparse.trainable.list[0].experts == 2);
  CHECK(sparse.trainable.list[0].last_layer == 5);
  CHECK(sparse.trainable.list[0].modules ==
        module_set{module::router, module::experts_gate, module::experts_up, module::experts_down});
  CHECK(with(R"("trainable": "all")").trainable.all());
}

// A layer of Llama 3.1 8B: q and o of 4096 × 4096, k and v of 1024 × 4096, three matrices of 14336 × 4096, two norms of 4096: 218,112,000 numbers.
TEST_CASE("layers that train up to the last of the model") {
  const auto trained = [](const std::string& layers) {
    const auto j = reading(R"({"model": "llama-3.1-8b", "batch": {"sequence": 1}, "framework": "hf-trainer", "trainable": [{)" + layers + "}]}");
    return states(j).trained.count();
  };
  CHECK(trained(R"("layers": [30, 31])") == 436'224'000);
  CHECK(trained(R"("layers": [30, -1])") == 436'224'000);
  CHECK(trained(R"("layers": [31, -1])") == 218'112'000);
  CHECK(trained(R"("layers": [30, -1], "modules": ["q_proj"])") == 33'554'432);
  CHECK(trained(R"("layers": [0, -1])") == 6'979'584'000);  // without the embedding, the last norm and the head
  CHECK(trained(R"("modules": ["q_proj", "embed_tokens"])") == 32LL * 4096 * 4096 + 128'256LL * 4096);  // where nothing is said: outside the layers, too
  CHECK_THROWS_AS((void)trained(R"("layers": [32, -1])"), job_error);

  auto j = reading(R"({"model": "llama-3.1-8b", "batch": {"sequence": 1}, "framework": "hf-trainer", "trainable": [{"layers": [0, -1]}]})");
  CHECK(io::job_to_json(j).at("trainable").at(0).at("layers").dump() == "[0,31]");
  j.trainable = {{.first_layer = 0, .last_layer = -1}};
  CHECK(states(j).trained.count() == 8'030'261'248);
  CHECK(io::job_to_json(j).at("trainable").at(0).dump() == "{}");
  j.trainable = {{.first_layer = 30, .last_layer = -1}};
  CHECK_THROWS_WITH_AS((void)states(j), doctest::Contains("trainable.layers"), job_error);
}

TEST_CASE("dates of versions") {
  CHECK(io::version_date("2024-12") == 202412);
  CHECK(io::version_date("9dec370 (2024-12-26), torch 1963fc8 (2024-12-23)") == 202412);
  CHECK(io::version_date("MiniCPM-V finetune scripts, 2024-08..2025-01") == 202408);
  CHECK(io::version_date("6fc499f, torch 2.9.0.dev20250815") == 202508);
  CHECK(io::version_date("llm-foundry / Composer FSDP1, 2023") == 202306);
  CHECK(io::version_date("Megatron-LM 93ebf8d72f, CI dev image") == 0);
  CHECK(io::version_date("torch 2.10.0") == 0);
  CHECK(io::version_date("") == 0);
  CHECK(io::version_date("2024-13") == 202406);
}

}  // namespace test_job_values
