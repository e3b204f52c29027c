// Distributed under the Boost Software License, Version 1.0.
// Every family's step frees each tensor once, and leaves what it found: two micro-batches of a short sample, layers whole and recomputed.
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <string>

namespace test_freed_once {

using namespace headroom;
using nlohmann::json;

namespace {

/// What a recording does wrong; empty: nothing.
std::string wrong_with(const recorded_step& step) {
  std::set<std::int64_t> alive, before;
  bool loading = true;
  for (const auto& e : step.events) {
    if (e.what == step_event::kind::enter && e.at != phase::load && std::exchange(loading, false)) before = alive;
    if (e.what == step_event::kind::make && !alive.insert(e.tensor).second) return "a tensor is made twice";
    if (e.what == step_event::kind::free && alive.erase(e.tensor) == 0) return "a tensor is freed twice";
  }
  return alive.size() == before.size() ? "" : "a tensor is left";
}

json job_of(json model, const char* precision, const char* recompute) {
  return {{"model", std::move(model)}, {"framework", {{"name", "hf-trainer"}, {"version", "2026-11"}}}, {"precision", precision}, {"recompute", recompute},
          {"optimizer", "adamw"}, {"batch", {{"micro", 1}, {"sequence", 256}, {"accumulation", 2}}},
          {"hardware", {{"gpu", {{"name", "large"}, {"memory_gib", 100000}, {"compute_capability", 9.0}}}, {"gpus_per_node", 1}}}};
}

/// An empty string where it reads, or cannot be asked.
std::string verdict(const json& of, int& judged) {
  try {
    const auto j = io::read_job(of);
    for (const auto& step : record(j))
      if (const auto w = wrong_with(step); !w.empty()) return w;
    ++judged;
  } catch (const job_error&) {
  }
  return {};
}

}  // namespace

TEST_CASE("every family's step frees each tensor once and leaves what it found") {
  int judged = 0;
  for (const auto& entry : json::parse(std::ifstream{HEADROOM_TEST_DATA "/models_2026.json"})) {
    auto model = entry.at("config");
    if (!model.contains("model_type")) continue;
    model["architectures"] = entry.at("architectures");
    for (const auto* precision : {"bf16", "bf16-autocast"})
      for (const auto* recompute : {"none", "full"}) {
        CAPTURE(model.at("model_type").get<std::string>());
        CAPTURE(precision);
        CAPTURE(recompute);
        CHECK(verdict(job_of(model, precision, recompute), judged) == "");
      }
  }
  CHECK(judged > 100);
}

TEST_CASE("Gemma 4's table of layers' own embeddings may be as large as its words'") {
  const json model{{"model_type", "gemma4_text"}, {"architectures", {"Gemma4ForCausalLM"}}, {"num_hidden_layers", 6}, {"hidden_size", 1536}, {"num_attention_heads", 8},
                   {"num_key_value_heads", 1}, {"intermediate_size", 6144}, {"vocab_size", 32768}, {"head_dim", 256}, {"global_head_dim", 512},
                   {"hidden_size_per_layer_input", 256}, {"vocab_size_per_layer_input", 32768}, {"num_kv_shared_layers", 0}, {"tie_word_embeddings", true}};
  int judged = 0;
  for (const auto* precision : {"bf16", "bf16-autocast", "fp32"})
    for (const auto* recompute : {"none", "full"}) CHECK(verdict(job_of(model, precision, recompute), judged) == "");
  CHECK(judged == 6);
}

}  // namespace test_freed_once
