// Distributed under the Boost Software License, Version 1.0.
// Layers of transformers' own classes, run on a CPU in eager attention and behind torch's own (tests/data/saved_run.json): what each keeps for backward, drawn configurations of 80 families.
#include <headroom/estimate.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/hardware/gpu.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>

namespace test_run_layers {

using namespace headroom;
using nlohmann::json;

namespace {

job job_of(const json& point) {
  job j;
  j.model = io::model_from_config(point.at("config"));
  j.hardware.gpu = gpus::cpu;
  j.framework.experts = frameworks::hf_trainer.experts;
  j.framework.attention.copies_heads = true;
  j.precision = point["dtype"] == "float32" ? precisions::fp32 : precisions::bf16;
  j.batch = {.micro = point["b"], .sequence = point["s"]};
  j.recurrence = recurrence::eager;
  j.framework.attention.copies_output = false;  // a GPU's kernels lay their result as queries lie
  j.attention = point.value("attention", "eager") == "sdpa" ? attention::sdpa : attention::eager;
  return j;
}

std::int64_t saved(const job& j, std::int64_t layer) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, s.model.kind_of(layer), trained_modules(j, layer), s.model.experts.count, true).saved.total.count();
}

/// The stand-in lays a masked kernel's result as that kernel does, positions before heads (_efficient_attention_forward), where a CPU's own would lay it as
/// queries lie: heads before positions where they are concatenated, as Phi-3's are. Then the library has a copy of the result that the stand-in has not.
std::int64_t copied(const json& point, const job& j) { return point["name"] == "phi3-sdpa" ? 2 * j.batch.micro * j.batch.sequence * j.model.query_width() : 0; }

json points() {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/saved_run.json");
  REQUIRE(in.good());
  return json::parse(in);
}

}  // namespace

TEST_CASE("drawn layers of every family save what was counted as they ran, to the byte") {
  int layers = 0;
  std::set<std::string> families;
  for (const auto& point : points()) {
    CAPTURE(point["name"].get<std::string>());
    const auto j = job_of(point);
    REQUIRE(static_cast<std::size_t>(j.model.layers) == point["saved"].size());
    for (std::size_t i = 0; i < point["saved"].size(); ++i, ++layers) {
      CAPTURE(i);
      CHECK(saved(j, static_cast<std::int64_t>(i)) == point["saved"][i].get<std::int64_t>() + copied(point, j));
    }
    families.insert(point["config"]["model_type"].get<std::string>());
  }
  CHECK(layers == 594);
  CHECK(families.size() == 89);
}

// One expert a token beside a shared one was taken for Llama 4, whose experts all see every token.
TEST_CASE("one expert a token makes no Llama 4 of other families") {
  for (const auto& point : points()) {
    const std::string type = point["config"]["model_type"];
    if (type != "dots1" && type != "solar_open") continue;
    CAPTURE(type);
    auto config = point["config"];
    config["num_experts_per_tok"] = 1;
    const auto one = io::model_from_config(config);
    REQUIRE(one.experts.active == 1);
    CHECK(style_of(one) == expert_style::wide);
  }
  CHECK(style_of(io::model_from_config({{"architectures", {"Llama4ForCausalLM"}}, {"model_type", "llama4_text"}})) == expert_style::repeated);
  CHECK(style_of(io::model_from_config({{"architectures", {"Llama4ForCausalLM"}}, {"model_type", "llama4_text"}, {"num_experts_per_tok", 2}})) == expert_style::repeated);
}

}  // namespace test_run_layers
