// Distributed under the Boost Software License, Version 1.0.
// Whole layers of decoders, from a config.json on, against counts of unique storages made around transformers' own modules (tests/data/saved_layers.json).
#include "kind_points.hpp"

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
    for (std::size_t l = 0; l < point["saved"].size(); ++l) {
      if (point["saved"][l].is_null()) continue;  // the model's cosines and sines are counted with the layer that reads them first
      CAPTURE(l);
      CHECK(kind_points::saved(j, s.model.kind_of(static_cast<std::int64_t>(l))) == point["saved"][l].get<std::int64_t>());
      ++layers;
    }
    ++points;
  }
  CHECK(points == 30);
  CHECK(layers > 150);
}

}  // namespace test_decoder_layers
