// Distributed under the Boost Software License, Version 1.0.
// Every weight that trains has a gradient: what the programs of a layer, the embedding and the head make of gradients is what the model has of weights
// there, all together and module by module. Weights are counted by the list of them, which classes' own totals hold (tests/model).
#include <headroom/headroom.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace test_made_gradients {

using namespace headroom;
using nlohmann::json;

namespace {

json data(const char* file) {
  std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/" + file);
  REQUIRE_MESSAGE(in.good(), file);
  return json::parse(in);
}

/// Of a module whose layers are walked elsewhere; or numbers of a layer that are too few to be walked: sinks and xIELU's two.
bool elsewhere(module role) { return role == module::encoder || role == module::vision || role == module::projector || role == module::mtp || role == module::other; }

/// Elements of what trains in a layer, or outside of all layers (-1): there without the table of relative positions, which is small.
std::int64_t weights_in(const shape& m, const inventory& list, std::int64_t layer, const module_set& trained) {
  std::int64_t all = 0;
  for (const auto& w : list) {
    if (elsewhere(w.role) || w.frozen || !trained.has(w.role)) continue;
    if (layer < 0 && m.relative_buckets > 0 && w.role == module::position && w.elements() == m.relative_buckets * m.heads) continue;
    if (layer < 0 ? w.layers.count == 0 : w.layers.has(layer)) all += w.elements() * w.per_layer;
  }
  return all;
}

struct seen_of {
  int models{}, kinds{};
};

void check(const shape& m, seen_of& seen) {
  if (m.altup.streams > 0) return;    // Gemma 3n routes twice with one router, so that its gradients are made twice and added
  job j;
  j.model = m;
  j.framework = frameworks::hf_trainer;
  j.precision = precisions::fp32;
  j.attention = attention::eager;
  j.batch = {.micro = 1, .sequence = 32};
  settled_job s;
  try {
    s = settle(j);
    (void)estimate(j);
  } catch (const job_error&) {
    return;
  }
  auto sc = s.layer;
  sc.model = &s.model;
  sc.granule = 1;
  const auto list = weights_of(s.model);
  const auto all = trained_modules(j, -1);
  ++seen.models;
  for (const auto& k : kinds_of(s.model)) {
    if (k.count == 0) continue;
    ++seen.kinds;
    CAPTURE(k.first);
    const auto made = [&](const module_set& trained) { return (s.model.encoder.cross_attention ? walk_cross_layer(sc, trained, true, false, false) : walk_layer(sc, k.kind, trained, m.experts.count, true)).made.count(); };
    CHECK(made(all) == 4 * weights_in(m, list, k.first, all));
    for (int i = 0; i < module_count; ++i) {
      auto one = module_set{static_cast<module>(i)};
      for (const auto& together : {module_set{module::q_proj, module::k_proj, module::v_proj}, module_set{module::gate_proj, module::up_proj}, module_set{module::experts_gate, module::experts_up}, module_set{module::shared_gate, module::shared_up}, module_set{module::cross_attention, module::norm}})
        if (together.has(static_cast<module>(i))) one = together;  // which may be one matrix, and cross-attention has a norm
      CAPTURE(i);
      CHECK(made(one) == 4 * weights_in(m, list, k.first, one));
    }
  }
  // Outside of all layers. Of a table that serves twice both gradients are made, and added.
  CAPTURE("outside");
  if (s.model.vision.kind != vision_kind::none && s.model.vision.layers == 0) return;  // patches in place of words: tests/block/test_towers.cpp
  bytes front{0};
  with_made([&] { return embedding(sc, all); }, [&](const program& p) { front = walk_backward(p).made; });
  with_made([&] { return detail::tail_of(sc, all, true); }, [&](const program& p) {
    const auto b = walk_backward(p);
    const auto twice = b.waits > bytes{0} ? 4 * m.vocab * m.embedding_width() : 0;
    CHECK((front + b.made).count() - twice == 4 * weights_in(m, list, -1, all));
  });
}

}  // namespace

TEST_CASE("a layer makes a gradient of each of its weights") {
  seen_of seen;
  for (const auto* file : {"models.json", "models_2026.json", "counted_decoders.json", "counted_keys.json", "kinds.json"}) {
    CAPTURE(file);
    const auto rows = data(file);
    for (const auto& entry : rows.is_object() ? rows.begin().value() : rows) {
      if (!entry.is_object() || !entry.contains("config")) continue;
      auto config = entry.at("config");
      if (entry.contains("architectures")) config["architectures"] = entry.at("architectures");
      const auto text = config.dump();
      CAPTURE(text);
      shape m;
      try {
        m = io::model_from_config(config);
      } catch (const job_error&) {
        continue;
      }
      check(m, seen);
    }
  }
  MESSAGE(seen.models, " models, ", seen.kinds, " kinds of layer");
  CHECK(seen.models >= 100);
}

// Rows of column-parallel layers, columns of row-parallel ones, heads and words are divided; norms are whole (torchtitan parallelize_llama.py apply_tp).
TEST_CASE("a rank of tensor parallelism makes gradients of its part of the weights") {
  int seen = 0;
  for (const std::int64_t ranks : {2, 4})
    for (const std::int64_t kv : {4, 8})
      for (const bool tied : {false, true}) {
        job j;
        j.model = {.layers = 3, .hidden = 512, .heads = 8, .kv_heads = kv, .ffn = 1536, .vocab = 4096, .tied = tied};
        j.framework = frameworks::torchtitan_202504;
        j.sharding = fsdp2();
        j.parallel.tensor = ranks, j.parallel.sequence = true, j.parallel.data = 2;
        j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 2 * ranks};
        j.batch = {.micro = 1, .sequence = 64};
        const auto s = settle(j);
        (void)estimate(j);
        auto sc = s.layer;
        sc.model = &s.model;
        sc.granule = 1;
        const auto all = trained_modules(j, -1);
        const std::int64_t h = 512, layer = (2 * h * h + 2 * h * kv * 64 + 3 * h * 1536) / ranks + 2 * h, table = 4096 * h / ranks;
        const auto width = s.layer.weight_width;
        CHECK(walk_layer(sc, all, true).made.count() == width * layer);
        bytes front{0};
        with_made([&] { return embedding(sc, all); }, [&](const program& p) { front = walk_backward(p).made; });
        with_made([&] { return detail::tail_of(sc, all, true); }, [&](const program& p) { CHECK((front + walk_backward(p).made).count() == width * (2 * table + h)); });
        ++seen;
      }
  CHECK(seen == 8);
}

}  // namespace test_made_gradients
