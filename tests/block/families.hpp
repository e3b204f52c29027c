// Distributed under the Boost Software License, Version 1.0.
// One layer of each kind of every family whose configuration is known (tests/data/models_2026.json), as a trainer's settled scene.
#pragma once

#include <headroom/estimate.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/hardware/gpu.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace families {

using namespace headroom;
using headroom::module;
using nlohmann::json;

struct family {
  std::string type;
  shape model;
};

/// Every model that is read, of each family no shape twice.
inline std::vector<family> all() {
  std::vector<family> found;
  for (const auto& entry : json::parse(std::ifstream{HEADROOM_TEST_DATA "/models_2026.json"})) {
    auto config = entry.at("config");
    if (!config.contains("model_type")) continue;
    config["architectures"] = entry.at("architectures");
    try {
      found.push_back({config["model_type"].get<std::string>(), io::model_from_config(config)});
    } catch (const job_error&) {
    }
  }
  return found;
}

/// A trainer of transformers' own layers on a CPU, where a tensor costs its bytes alone.
inline job on_cpu(const shape& m, const precision& of, recurrence kernels, std::int64_t samples) {
  job j;
  j.model = m;
  j.hardware.gpu = gpus::cpu;
  j.framework.experts = frameworks::hf_trainer.experts;
  j.precision = of;
  j.batch = {.micro = samples, .sequence = 32};
  j.recurrence = kernels;
  j.attention = attention::sdpa;
  return j;
}

inline module_set every_module() {
  module_set s;
  s.bits = (1U << module_count) - 1;
  return s;
}

/// visit(settled job, scene, layer, kind) of the first layer of each kind; false where the job is refused.
bool each_layer(const job& j, const auto& visit) {
  try {
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    std::set<std::pair<mixer_kind, feed_forward_kind>> seen;
    for (std::int64_t i = 0; i < s.model.layers; ++i) {
      const auto kind = s.model.kind_of(i);
      if (seen.insert({kind.mixer, kind.feeds}).second) visit(s, sc, i, kind);
    }
    return true;
  } catch (const job_error&) {
    return false;
  }
}

}  // namespace families
