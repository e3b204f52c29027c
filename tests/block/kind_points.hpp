// Distributed under the Boost Software License, Version 1.0.
// Counted points of layers of several kinds (tests/data/kinds.json), and what the walk says of the same layer.
#pragma once

#include <headroom/hardware/gpu.hpp>
#include <headroom/estimate.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>

namespace kind_points {

using namespace headroom;
using nlohmann::json;

inline json data(const char* key) {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/kinds.json");
  REQUIRE(in.good());
  return json::parse(in)[key];
}

inline json config_of(const json& entry) {
  json config = entry.at("config");
  config["architectures"] = entry.at("architectures");
  if (entry.contains("tie_word_embeddings")) config["tie_word_embeddings"] = entry.at("tie_word_embeddings");
  return config;
}

/// A point's job, on a CPU, where tensors cost exactly their bytes.
inline job job_of(const json& point) {
  job j;
  j.model = io::model_from_config(point.at("config"));
  j.hardware.gpu = gpus::cpu;
  j.precision = point["dtype"] == "float32" ? precisions::fp32 : precisions::bf16;
  j.batch = {.micro = point["b"], .sequence = point["s"]};
  j.recurrence = recurrence::eager;
  j.attention = point["attention"] == "eager" ? attention::eager : attention::sdpa;

  return j;
}

/// What a layer of a kind saves.
inline std::int64_t saved(const job& j, layer_kind kind) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, kind, trained_modules(j, 0), s.model.experts.count, true).saved.total.count();
}

/// The model's cosines and sines, which the layer that reads them first is said to save: of one row of positions, which all samples have in common.
struct first_readers {
  bool read[2]{};  ///< by layers as others are, by global ones
  std::int64_t of(const settled_job& s, layer_kind kind) {
    auto sc = s.layer;
    sc.model = &s.model;
    if (!attends(kind.mixer)) return 0;
    auto& before = read[global(kind.mixer) ? 1 : 0];
    const auto table = before ? 0 : 2 * ops::cosines(sc, kind.mixer, sc.sequence).count();
    before = true;
    return table;
  }
};

/// … as counted: of the modules whose names begin so.
inline std::int64_t counted(const json& point, const char* kind, std::initializer_list<std::string_view> modules) {
  std::int64_t sum = 0;
  for (const auto& layer : point["layers"]) {
    if (layer["kind"] != kind) continue;
    for (const auto& [name, bytes] : layer["by_module"].items())
      for (const auto m : modules)
        if (name.starts_with(m)) sum += bytes.get<std::int64_t>();
  }
  return sum;
}

}  // namespace kind_points
