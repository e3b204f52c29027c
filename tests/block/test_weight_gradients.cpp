// Distributed under the Boost Software License, Version 1.0.
// The gradients of weights that a layer's backward makes, beside the list of its parameters: of one module that trains alone, of all, of none, of adapters.
// One layer of each kind of every family, eager and with kernels, and Megatron's layers, whole and divided.
#include "families.hpp"

#include <headroom/block/megatron_layer.hpp>

#include <map>

namespace test_weight_gradients {

using namespace families;

namespace {

constexpr auto place = [](module m) { return static_cast<std::size_t>(m); };
using sums = std::array<std::int64_t, module_count>;

/// Parameters of each module in one layer.
sums listed(const inventory& list, std::int64_t layer) {
  sums r{};
  for (const auto& w : list)
    if (w.layers.count > 0 && w.layers.has(layer) && !w.frozen) r[place(w.role)] += w.rows * w.columns * w.per_layer;
  return r;
}

/// Modules whose matrices a family may have as one, which trains as a whole.
constexpr module_set joint[] = {{module::q_proj, module::k_proj, module::v_proj}, {module::gate_proj, module::up_proj}, {module::shared_gate, module::shared_up},
                                {module::experts_gate, module::experts_up, module::experts_down}};

std::vector<module_set> trained_together() {
  std::vector<module_set> r;
  module_set rest = every_module();
  for (const auto& s : joint) {
    r.push_back(s);
    rest.bits &= ~s.bits;
  }
  for (int m = 0; m < module_count; ++m)
    if (rest.has(static_cast<module>(m))) r.push_back({static_cast<module>(m)});
  r.push_back({});
  r.push_back(every_module());
  return r;
}

std::int64_t sum_of(const sums& of, module_set s) {
  std::int64_t r = 0;
  for (std::size_t m = 0; m < of.size(); ++m)
    if (s.has(static_cast<module>(m))) r += of[m];
  return r;
}

/// What of a layer's list its own program does not have, or has twice.
void adjust(sums& n, const shape& m) {
  const auto norm = m.hidden * ((m.norm_weight ? 1 : 0) + (m.norm_bias ? 1 : 0));
  if (m.encoder.cross_attention) n[place(module::norm)] -= norm, n[place(module::cross_attention)] = 0;  // a program of its own: block/cross.hpp
  if (m.altup.streams > 0)  // predict() and correct() both call compute_router_modalities: autograd makes the gradients of router_norm and modality_router twice
    n[place(module::norm)] += norm, n[place(module::mixer)] += m.altup.streams * m.hidden;
  n[place(module::other)] = 0;  // scalars of an activation, sinks: of a few bytes, not made layer by layer
}

std::string named(const std::string& type, layer_kind kind) { return type + ", mixer " + std::to_string(static_cast<int>(kind.mixer)) + ", feeds " + std::to_string(static_cast<int>(kind.feeds)); }

}  // namespace

TEST_CASE("every family's layer makes the gradients of what trains in it, and no others") {
  std::map<std::string, int> wrong;
  std::set<std::string> types;
  int compared = 0;
  for (const auto& f : all())
    for (const auto kernels : {recurrence::eager, recurrence::fused})
      for (const auto* of : {&precisions::bf16, &precisions::fp32, &precisions::bf16_autocast})
        each_layer(on_cpu(f.model, *of, kernels, 2), [&](const settled_job& s, const scene& sc, std::int64_t i, layer_kind kind) {
          types.insert(f.type);
          auto n = listed(weights_of(s.model), i);
          adjust(n, s.model);
          for (const auto& trained : trained_together())
            for (const bool flows : {false, true}) {
              auto expected = sum_of(n, trained);
              auto with_other = trained;
              with_other.bits &= ~module_set{module::other}.bits;
              if (!flows && trained.bits == 0) expected = 0;
              ++compared;
              const auto made = walk_layer(sc, kind, with_other, trained.has(module::experts_up) ? s.model.experts.count : 0, flows).made.count();
              if (made != expected * sc.weight_width)
                ++wrong[named(f.type, kind) + ", " + std::string(of->label.view()) + ", trained " + std::to_string(trained.bits) + ": " + std::to_string(made) + " for " + std::to_string(expected * sc.weight_width)];
            }
        });
  for (const auto& w : wrong) FAIL_CHECK(w.first << ", " << w.second << " times");
  CHECK(types.size() >= 75);
  CHECK(compared > 40'000);
}

TEST_CASE("adapters alone make the gradients of their A and B") {
  std::map<std::string, int> wrong;
  int compared = 0;
  constexpr std::int64_t rank = 4;
  for (const auto& f : all()) {
    if (f.model.fused_qkv || f.model.fused_gate_up) continue;  // one A beside what is joined
    for (const auto target : {module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj, module::mixer_in, module::mixer_out})
      for (const auto kernels : {recurrence::eager, recurrence::fused}) {
        auto j = on_cpu(f.model, precisions::bf16, kernels, 1);
        j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = {target}, .format = formats::fp32};
        if (objection_to(j)) continue;
        each_layer(j, [&](const settled_job& s, const scene& sc, std::int64_t i, layer_kind kind) {
          std::int64_t expected = 0;
          for (const auto& w : weights_of(s.model))
            if (w.role == target && w.linear && !w.expert && w.layers.count > 0 && w.layers.has(i)) expected += rank * (w.rows + w.columns) * w.per_layer;
          ++compared;
          const auto made = walk_layer(sc, kind, trained_modules(j, i), 0, true).made.count();
          if (made != expected * 4) ++wrong[named(f.type, kind) + ", target " + std::to_string(static_cast<int>(target)) + ": " + std::to_string(made) + " for " + std::to_string(expected * 4)];
        });
      }
  }
  for (const auto& w : wrong) FAIL_CHECK(w.first << ", " << w.second << " times");
  CHECK(compared > 500);
}

TEST_CASE("Megatron's layers make the gradients of what trains on their rank") {
  std::map<std::string, int> wrong;
  std::set<mixer_kind> mixers;
  int compared = 0;
  for (const auto& f : all())
    for (const std::int64_t tensor : {1, 2})
      for (const std::int64_t samples : {1, 2})
        for (const bool bias : {false, true}) {
          auto j = on_cpu(f.model, frameworks::megatron.precision, recurrence::fused, samples);
          j.framework = frameworks::megatron;
          j.framework.gradients.fused_accumulation = false;
          j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = tensor};
          j.parallel = {.data = 1, .tensor = tensor};
          j.attention = attention::te;
          if (j.model.ssm.conv > 0) j.model.ssm.conv_bias = bias;
          if (objection_to(j)) continue;
          each_layer(j, [&](const settled_job& s, scene sc, std::int64_t i, layer_kind kind) {
            sc.granule = 1;
            mixers.insert(kind.mixer);
            // Vectors beside matrices, norms and the router's matrix have small gradients, which no program has.
            std::int64_t listed_here = 0;
            for (const auto& w : weights_of(s.model))
              if (w.layers.count > 0 && w.layers.has(i) && !w.frozen && w.role != module::router && (w.linear || w.role == module::mixer))
                listed_here += w.rows * w.columns * w.per_layer / (w.split == split_axis::none ? 1 : w.expert ? sc.expert_tensor : tensor);
            if (s.model.encoder.cross_attention) return;
            std::int64_t made = 0;
            megatron::for_each_half(sc, kind, every_module(), [&](const program& p) { made += walk_backward(p).made.count(); });
            ++compared;
            const auto expected = listed_here * sc.weight_width;
            if (made != expected) ++wrong[named(f.type, kind) + ", tensor " + std::to_string(tensor) + ", samples " + std::to_string(samples) + ": " + std::to_string(made) + " for " + std::to_string(expected)];
          });
        }
  for (const auto& w : wrong) FAIL_CHECK(w.first << ", " << w.second << " times");
  CHECK(mixers.size() >= 4);
  CHECK(compared > 100);
}

}  // namespace test_weight_gradients
