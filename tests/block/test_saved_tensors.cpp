// Distributed under the Boost Software License, Version 1.0.
// What a layer saves for backward, against counts of unique storages made with torch.autograd.graph.saved_tensors_hooks
// (tests/data/saved_tensors.json): every one exact to the byte.
#include "points.hpp"

#include <doctest/doctest.h>

namespace test_saved_tensors {

using namespace headroom;

namespace {

/// The layer of a point, walked; its saved bytes without cast weights, and those weights.
struct saved {
  std::int64_t activations{};
  std::int64_t weights{};
};

saved walk(const job& j, const module_set& trained) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto layer = walk_layer(sc, trained, true);
  return {(layer.saved.total - layer.saved.rows[row::gathered_parameters]).count(), layer.saved.rows[row::gathered_parameters].count()};
}

}  // namespace

TEST_CASE("a layer saves what was counted, to the byte") {
  int seen = 0;
  for (const auto& p : points::load()) {
    if (p["kind"] != "saved_for_backward_by_unique_storage") continue;
    ++seen;
    const std::string name = p["name"];
    CAPTURE(name);
    const auto& c = p["config"];
    const bool gpt2 = name.starts_with("gpt2");
    auto j = points::job_of(c, gpt2 ? points::gpt2_of(c) : points::llama_of(c));
    const auto rate = probability::of(c.value("drop", 0.0));
    j.dropout.attention = rate;
    if (gpt2) j.dropout.hidden = rate;
    auto trained = points::all_modules();
    if (c.contains("targets")) {
      trained = {};
      j.adapter.kind = adapter_kind::lora;
      j.adapter.rank = c["r"];
      j.adapter.targets = points::targets_of(c["targets"]);
      j.adapter.format = c["adapter_dtype"] == "torch.float32" ? formats::fp32 : formats::bf16;
      j.adapter.dropout = probability::of(c["lora_dropout"]);
    }
    const bool autocast = name.find("_amp_") != std::string::npos;
    if (autocast) j.precision = precisions::bf16_autocast;
    const auto counted = walk(j, trained);
    const bool weights = name.ends_with("wcache");
    CHECK((weights ? counted.weights : counted.activations) == p["measured_bytes"].get<std::int64_t>());
    if (!autocast) CHECK(counted.weights == 0);
  }
  CHECK(seen == 33);
}

}  // namespace test_saved_tensors
