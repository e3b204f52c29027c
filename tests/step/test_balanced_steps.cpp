// Distributed under the Boost Software License, Version 1.0.
// A step of every family frees each tensor once and leaves what it found, whatever trains and wherever it is computed again: adapters, frozen layers, 16-bit
// formats, selective recompute, several GPUs, several micro-batches; and Megatron's layers. tests/replay/test_freed_once.cpp has the plain ones.
#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include "../block/families.hpp"

#include <map>
#include <unordered_set>

namespace test_balanced_steps {

using namespace families;

namespace {

/// What a recording does wrong; empty: nothing.
std::string wrong_with(const recorded_step& step) {
  std::unordered_set<std::int64_t> alive;
  std::size_t before = 0;
  bool loading = true;
  for (const auto& e : step.events) {
    if (e.what == step_event::kind::enter && e.at != phase::load && std::exchange(loading, false)) before = alive.size();
    if (e.what == step_event::kind::make && !alive.insert(e.tensor).second) return "a tensor is made twice";
    if (e.what == step_event::kind::free && alive.erase(e.tensor) == 0) return "a tensor is freed twice";
    if (e.what == step_event::kind::make && e.size < bytes{0}) return "a tensor has less than nothing";
  }
  return alive.size() == before ? "" : "a tensor is left";
}

struct variant {
  const char* says;
  void (*make)(job&);
};
constexpr variant eager[] = {
    {"adapters", [](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::o_proj, module::up_proj, module::mixer_in}}; }},
    {"adapters, recomputed", [](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj, module::mixer_in}}; j.recompute = recompute::full; }},
    {"the last layer alone", [](job& j) { j.trainable = {{.first_layer = j.model.layers - 1, .last_layer = j.model.layers - 1}}; }},
    {"norms alone", [](job& j) { j.trainable = {{.first_layer = 0, .last_layer = -1, .modules = {module::norm}}}; }},
    {"mixers alone, recomputed", [](job& j) { j.trainable = {{.first_layer = 0, .last_layer = -1, .modules = {module::mixer, module::mixer_in}}}; j.recompute = recompute::full; }},
    {"fp16 under autocast", [](job& j) { j.precision = precisions::fp16_autocast; }},
    {"fp16, with a master copy", [](job& j) { j.precision = precisions::fp16_mixed; }},
    {"bf16 under autocast, recomputed", [](job& j) { j.precision = precisions::bf16_autocast; j.recompute = recompute::full; }},
    {"some layers recomputed", [](job& j) { j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 1}; }},
    {"FSDP2 over four", [](job& j) { j.sharding = fsdp2(); j.hardware.gpus_per_node = 4; }},
    {"FSDP2 over four, adapters", [](job& j) { j.sharding = fsdp2(); j.hardware.gpus_per_node = 4; j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}}; }},
    {"FSDP1 over four, recomputed", [](job& j) { j.sharding = fsdp1(); j.hardware.gpus_per_node = 4; j.recompute = recompute::full; }},
    {"DDP over two, a packed row", [](job& j) { j.sharding = ddp(); j.hardware.gpus_per_node = 2; j.batch.packed = true; j.attention = attention::flash; }},
    {"padded samples, eager attention", [](job& j) { j.batch.padded = true; j.attention = attention::eager; }},
    {"ZeRO-3 over four", [](job& j) { j.framework = frameworks::deepspeed; j.sharding = zero(3); j.hardware.gpus_per_node = 4; }},
    {"evaluated", [](job& j) { j.evaluation.batch = 2; }},
};
constexpr variant divided[] = {
    {"whole", [](job&) {}},
    {"recomputed", [](job& j) { j.recompute = recompute::full; }},
    {"selective", [](job& j) { j.recompute = {.mode = recompute_mode::selective}; }},
    {"tensor 2", [](job& j) { j.parallel.tensor = 2; j.hardware.gpus_per_node = 2; }},
    {"tensor 2 with sequence", [](job& j) { j.parallel.tensor = 2; j.parallel.sequence = true; j.hardware.gpus_per_node = 2; }},
    {"context 2", [](job& j) { j.parallel.context = 2; j.hardware.gpus_per_node = 2; }},
    {"two stages", [](job& j) { j.parallel.pipeline = 2; j.hardware.gpus_per_node = 2; j.batch.accumulation = 4; }},
    {"gradients made anew", [](job& j) { j.framework.gradients.fused_accumulation = false; }},
    {"FSDP", [](job& j) { j.sharding = megatron_fsdp(); j.hardware.gpus_per_node = 4; }},
};

/// One model of each family, of a few layers where the family has no pattern.
std::vector<families::family> one_of_each() {
  std::vector<families::family> r;
  std::set<std::string> seen;
  for (auto f : all()) {
    if (!seen.insert(f.type).second) continue;
    if (!f.model.pattern.given() && f.model.layers > 4 && f.model.distinct_layers == 0) f.model.layers = 4;
    r.push_back(f);
  }
  return r;
}

void check_all(const job& from, const auto& variants, int least) {
  std::map<std::string, int> wrong;
  int judged = 0;
  for (const auto& f : one_of_each())
    for (const auto& v : variants) {
      auto j = from;
      j.model = f.model;
      v.make(j);
      try {
        if (!replays(j)) continue;
        for (const auto& step : record(j))
          if (const auto w = wrong_with(step); !w.empty()) ++wrong[f.type + ", " + v.says + ": " + w];
        ++judged;
      } catch (const error& e) {
        const std::string why = e.what();
        if (why.find("headroom: ") != 0) ++wrong[f.type + ", " + v.says + ": " + why];
      }
    }
  for (const auto& w : wrong) FAIL_CHECK(w.first << ", " << w.second << " times");
  CHECK(judged > least);
}

}  // namespace

TEST_CASE("steps of transformers' layers free each tensor once") {
  job j{.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 1}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .batch = {.micro = 2, .sequence = 64, .accumulation = 2}, .attention = attention::sdpa};
  check_all(j, eager, 700);
}

TEST_CASE("steps of Megatron's layers free each tensor once") {
  job j{.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 1}, .framework = frameworks::megatron, .batch = {.micro = 2, .sequence = 64, .accumulation = 2}, .attention = attention::te};
  check_all(j, divided, 140);
}

}  // namespace test_balanced_steps
