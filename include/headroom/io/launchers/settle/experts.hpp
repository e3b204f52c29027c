// Distributed under the Boost Software License, Version 1.0.
// "All linear layers" of a model whose routed experts are parameters.
#pragma once

#include <headroom/block/expert_limits.hpp>
#include <headroom/io/frameworks.hpp>
#include <headroom/io/job/modules.hpp>
#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/model/inventory.hpp>

namespace headroom::io::detail {

inline constexpr module_set routed_experts{module::experts_gate, module::experts_up, module::experts_down};

/// Of layers that are named those that the model has and that are linear layers.
inline json_value linear_among(const module_set& named, const shape& m) {
  module_set has;
  for (const auto& w : weights_of(m)) has.bits |= named.bits & module_set::bit(w.role);
  has.bits |= named.bits & module_set{module::vision, module::projector}.bits;
  has.bits &= ~routed_experts.bits;
  return modules_to_json(has, m);
}

/// "All linear layers" have the router among them where it is one: Mixtral's, Qwen's and their kin's `gate` before transformers 5 (models/mixtral/
/// modeling_mixtral.py 4.57 MixtralSparseMoeBlock: nn.Linear; a parameter since MixtralTopKRouter), Granite's and DBRX' in every release; DeepSeek's is a parameter.
inline void tell_of_routers(draft& d, const shape& m, const profile& framework) {
  const auto& targets = *d.find({"adapter", "targets"});
  const bool all = targets.is_string() || std::find(targets.begin(), targets.end(), "all-linear") != targets.end();
  const auto style = headroom::style_of(m);
  const bool linear = (style == expert_style::gathered || style == expert_style::repeated) && !m.experts.plain_router && (m.experts.parameters || !framework.experts.joins_gate());
  if (!all || !linear || framework.modules.kind != layer_modules::eager || read_modules(targets, "adapter.targets", m, true).has(module::router)) return;
  const auto place = d.place_of("adapter.targets").empty() ? d.place_of("adapter") : d.place_of("adapter.targets");
  d.notes.push_back(place + ": adapters beside routers, which are linear layers in this release of transformers, are left out: --set 'adapter.targets=[\"all-linear\", \"router\"]' counts them");
}

/// PEFT finds no experts that are parameters, and bitsandbytes leaves them as they are.
inline void settle_experts(draft& d) {
  const auto* targets = d.find({"adapter", "targets"});
  if (targets == nullptr || !d.has({"model"}) || !d.has({"framework"}) || d.has_read(file_kind::job) || d.place_of("adapter.targets").starts_with("--set")) return;
  const auto m = model_of(d);
  const auto framework = read_framework(*d.find({"framework"}), "framework").chosen;
  const bool since_5 = framework.experts.joins_gate();
  if (m.sparse()) tell_of_routers(d, m, framework);
  if (!m.sparse() || (!since_5 && !(always_joined(m) && headroom::detail::runs_transformers(framework) && framework.experts.gemm == expert_gemm::one_by_one))) return;
  const auto place = d.place_of("adapter.targets");
  if (targets->is_array() && std::find(targets->begin(), targets->end(), "all-linear") == targets->end() && m.experts.shared_gate) return;  // gate_proj is that of a shared expert, too
  const auto named = read_modules(*targets, "adapter.targets", m, true);
  if ((named.bits & routed_experts.bits) != 0) {
    const auto linear = linear_among(named, m);
    if (linear.empty()) fail("headroom: " + place + ": " + targets->dump() + " names experts, which are parameters and no linear layers of this model: PEFT finds none");
    d.say({"adapter", "targets"}, linear, place);
  }
  if (!d.has({"adapter", "base"})) return;
  const auto by = d.place_of("adapter.base").empty() ? d.place_of("adapter") : d.place_of("adapter.base");
  if (framework.modules.kind == layer_modules::eager && !by.starts_with("--set")) refuse_mxfp4_by_bitsandbytes(d.trained_name, by);
  if (since_5) return;
  auto skips = d.has({"adapter", "base_skips"}) ? *d.find({"adapter", "base_skips"}) : json_value::array();
  for (const auto* one : {"experts_gate", "experts_up", "experts_down"}) skips.push_back(one);
  d.say({"adapter", "base_skips"}, skips, by);
}

}  // namespace headroom::io::detail
