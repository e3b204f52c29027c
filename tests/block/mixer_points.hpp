// Distributed under the Boost Software License, Version 1.0.
// Counted points of whole layers (tests/data/mixers.json), what the walk says of the same layers, and the two readers of one configuration.
#pragma once

#include "kind_points.hpp"

#include <headroom/hardware/gpu.hpp>
#include <headroom/estimate.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace mixer_points {

using namespace headroom;
using nlohmann::json;

/// The points whose names begin so.
inline std::vector<json> counted_points(std::initializer_list<std::string_view> begin) {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/mixers.json");
  REQUIRE(in.good());
  const auto all = json::parse(in);
  std::vector<json> found;
  for (const auto& p : all["saved"])
    for (const auto b : begin)
      if (p["name"].get<std::string>().starts_with(b)) found.push_back(p);
  return found;
}

/// A point's job, on a CPU, where tensors cost exactly their bytes.
inline job job_of(const json& point) {
  job j;
  j.model = io::model_from_config(point.at("config"));
  j.hardware.gpu = gpus::cpu;
  j.framework.experts = frameworks::hf_trainer.experts;
  j.precision = point["dtype"] == "float32" ? precisions::fp32 : precisions::bf16;
  j.batch = {.micro = point["b"], .sequence = point["s"]};
  j.recurrence = recurrence::eager;
  j.attention = point["attention"] == "eager" ? attention::eager : attention::sdpa;
  j.framework.attention.copies_output = j.attention == attention::sdpa && j.batch.micro > 1;  // the CPU's kernel has heads before positions
  j.framework.autograd.sums_out_of_place = true;  // as the counting had it: autograd adds in place only where no dispatch mode looks on
  return j;
}

inline std::int64_t width_of(const json& point) { return point["dtype"] == "float32" ? 4 : 2; }

inline void check_parameters(const json& point) {
  CHECK(count(io::model_from_config(point["config"])).total.count() * width_of(point) == point["param_bytes"].get<std::int64_t>());
}

/// What DeepSeek's choice among groups of experts hands to autograd in a layer, though nobody reads its result (test_sorted_experts.cpp).
inline std::int64_t of_groups(const json& point, const shape& m) {
  const auto& c = point["config"];
  const bool chooses = c.contains("n_group") || point["name"].get<std::string>().starts_with("Glm4MoeLite");
  return chooses ? point["b"].get<std::int64_t>() * point["s"].get<std::int64_t>() * (2 * 8 * c.value("n_group", 1) + 8 * c.value("topk_group", 1) + m.experts.count) : 0;
}

/// Each layer saves what was counted. The model's cos and sin are said to be saved by the first layer that reads them.
inline void check_layers(const json& point) {
  const auto j = job_of(point);
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  std::int64_t i = 0;
  kind_points::first_readers angles;
  for (const auto& layer : point["layers"]) {
    CAPTURE(i);
    const auto kind = s.model.kind_of(i);
    auto counted = layer["saved_bytes"].get<std::int64_t>();
    if (kind.sparse()) counted -= of_groups(point, j.model);
    counted -= angles.of(s, kind);
    CHECK(walk_layer(sc, kind, trained_modules(j, i), j.model.experts.count, true).saved.total.count() == counted);
    ++i;
  }
}

/// The reader of what is walked and the reader of what is counted have the same total of a configuration, or both refuse it.
inline void check_counts_agree(const json& config) {
  parameter_count walked, counted;
  bool walks = true, counts = true;
  try {
    walked = count(io::model_from_config(config));
  } catch (const job_error&) {
    walks = false;
  }
  try {
    const io::detail::config c{config, "config"};
    io::detail::tally t;
    io::detail::find_counted(config["architectures"][0].get<std::string>(), "")->count(c, t);
    counted = t.counted();
  } catch (const job_error&) {
    counts = false;
  }
  CHECK(walks == counts);
  if (!walks || !counts) return;
  CHECK(walked.total == counted.total);
  CHECK(walked.active == counted.active);
}

/// What a layer of a kind without experts saves.
inline std::int64_t saved(const job& j, layer_kind kind) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, kind, trained_modules(j, 0), 0, true).saved.total.count();
}

}  // namespace mixer_points
