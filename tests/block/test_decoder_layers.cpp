// Distributed under the Boost Software License, Version 1.0.
// Whole layers of decoders, from a config.json on, against counts of unique storages made around transformers' own modules (tests/data/saved_layers.json).
#include "kind_points.hpp"

#include <headroom/hardware/gpu.hpp>
#include <headroom/framework/frameworks.hpp>

namespace test_decoder_layers {

using namespace headroom;
using nlohmann::json;

TEST_CASE("a layer saves what was counted, to the byte") {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/saved_layers.json");
  REQUIRE(in.good());
  int points = 0, layers = 0;
  auto data = json::parse(in);
  for (auto& point : data["points"]) {
    point["config"]["architectures"] = json::array({point["architecture"]});
    CAPTURE(point["name"].get<std::string>());
    auto j = kind_points::job_of(point);
    j.framework.experts = frameworks::hf_trainer.experts;
    j.framework.attention.copies_heads = true;
    const auto s = settle(j);
    kind_points::first_readers angles;
    for (std::size_t l = 0; l < point["saved"].size(); ++l) {
      CAPTURE(l);
      const auto kind = s.model.kind_of(static_cast<std::int64_t>(l));
      // ExaoneMoeAttention turns queries and keys behind a window alone, which the shape does not say: what backward keeps is the same.
      const bool turns = point["config"]["model_type"] != "exaone_moe" || point["config"]["layer_types"][l] == "sliding_attention";
      CHECK(kind_points::saved(j, kind) + (turns ? angles.of(s, kind) : 0) == point["saved"][l].get<std::int64_t>());
      ++layers;
    }
    ++points;
  }
  CHECK(points == 30);
  CHECK(layers > 150);
}

// Of each class the first layer, in eager attention: bf16 with 2 × 32 tokens, with 1 × 24, then fp32 with the same. Torch 1.13, whose mean keeps what it reads.
TEST_CASE("a dense layer of every family that was run saves what was counted, to the byte") {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/saved_dense.json");
  REQUIRE(in.good());
  const auto data = json::parse(in);
  int points = 0;
  for (const auto& point : data["points"]) {
    auto config = point.contains("config") ? point["config"] : data["config"];
    config["model_type"] = point["type"];
    config["architectures"] = json::array({point["architecture"]});
    CAPTURE(point["type"].get<std::string>());
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      job j{.model = io::model_from_config(config), .hardware = {.gpu = gpus::cpu}, .precision = i < 2 ? precisions::bf16 : precisions::fp32, .attention = attention::eager};
      j.batch = i % 2 == 0 ? batch{.micro = 2, .sequence = 32} : batch{.micro = 1, .sequence = 24};
      j.framework.autograd.mean_keeps_input = j.framework.attention.copies_heads = true;
      CHECK(kind_points::saved(j, j.model.kind_of(0)) == point["saved"][i].get<std::int64_t>());
    }
    ++points;
  }
  CHECK(points == 43);
}

// GPT2Model.forward: wte(input_ids) + wpe(position_ids), the latter of one sample of 128 × 768, which is added to all.
TEST_CASE("learned positions are looked up for one sample") {
  const auto peak = [](std::int64_t samples) {
    job j{.model = models::gpt2, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 1}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .batch = {.micro = samples, .sequence = 128}};
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    std::int64_t most = 0;
    with_made([&] { return embedding(sc, trained_modules(j, -1)); }, [&](const program& p) { most = walk_forward(p).peak.total.count(); });
    return most;
  };
  constexpr std::int64_t sample = 128 * 768 * 2;
  CHECK(peak(4) - peak(1) >= 3 * 2 * sample);  // words, and the sum
  CHECK(peak(4) - peak(1) < 3 * 2 * sample + 3 * 128 * 16);
}

}  // namespace test_decoder_layers
