// Distributed under the Boost Software License, Version 1.0.
// Which experts this version has no program for.
#pragma once

#include <headroom/block/divided_layers.hpp>
#include <headroom/block/experts.hpp>

namespace headroom::detail {

/// Trainers over transformers' own classes; torchtune, litgpt and whoever writes layers themselves have others.
constexpr bool runs_transformers(const profile& f) { return f.label == "hf-trainer" || f.label == "deepspeed" || f.label == "unsloth"; }

/// Experts that are parameters in transformers before 5, too: where they train, each one's gradient is as large as all of them for a moment, which is modelled for gpt-oss alone.
constexpr objection check_always_joined(const job& j, bool trains, const auto& no) {
  constexpr module_set all{module::experts_gate, module::experts_up, module::experts_down};
  const auto& a = j.adapter;
  if (a.active() && (a.targets.bits & all.bits) != 0)
    return no("headroom: routed experts of this model are parameters and no linear layers in every release of transformers, and PEFT puts no adapters on them: adapter.targets must be without experts_gate, "
              "experts_up and experts_down; framework", j.framework.label);
  if (a.active() && a.base.quantised() && (a.base_skips.bits & all.bits) != all.bits)
    return no("headroom: routed experts of this model are parameters and no linear layers in every release of transformers, and bitsandbytes leaves them as they are: adapter.base_skips must have experts; "
              "adapter.base has bits", a.base.bits);
  if (trains && j.model.experts.parameters)
    return no("headroom: experts of this model that train are modelled for transformers since 5 alone by this version: framework.version must be of 2026; framework", j.framework.label);
  return {};
}

/// Experts of a layer that are two parameters of three dimensions, and no linear layers. What PEFT makes of those (target_parameters) and what
/// optimizers that look at a matrix make of three dimensions is not modelled.
constexpr objection check_joined_experts(const job& j, const auto& no) {
  constexpr module_set all{module::experts_gate, module::experts_up, module::experts_down};
  const auto& m = j.model;
  const auto& a = j.adapter;
  const auto& left = a.rest_experts;
  const bool parameters = m.sparse() && j.framework.experts.joins_gate();
  const bool made = (a.base_also.bits & all.bits) == all.bits && a.base.row_bits != 0 && left.bits == 32;
  if (left.set() && (!parameters || !a.base.quantised() || ((a.base_skips.bits & all.bits) != all.bits && !made) || left.quantised() || left.bits < 16))
    return no("headroom: adapter.rest_experts is the format, of 16 or 32 bits, of routed experts that are parameters, as since transformers 5, and that a quantised base leaves (adapter.base_skips), or in which "
              "bytes of int8 are multiplied: fp32 or tf32; bits", left.bits);
  const bool trains = !a.active() || (a.modules_to_save.bits & all.bits) != 0;
  if (always_joined(m) && runs_transformers(j.framework) && j.framework.experts.gemm == expert_gemm::one_by_one) return check_always_joined(j, trains, no);
  if (!parameters) return {};
  const auto halves = [&](const module_set& s) { return m.mlp == mlp_kind::gated && s.has(module::experts_gate) != s.has(module::experts_up); };
  if (a.active() && (a.targets.bits & all.bits) != 0)
    return no("headroom: since transformers 5 routed experts are parameters and no linear layers, and adapters on them are not modelled by this version: adapter.targets must be "
              "without experts_gate, experts_up and experts_down, or framework.version \"2025-12\" or older; framework", j.framework.label);
  if (a.active() && a.base.quantised()) {
    const bool skips = (a.base_skips.bits & all.bits) == all.bits, also = (a.base_also.bits & all.bits) == all.bits;
    if (skips == also)
      return no("headroom: since transformers 5 routed experts are parameters and no linear layers, which bitsandbytes leaves as they are: adapter.base_skips must have experts, or adapter.base_also, where the "
                "trainer quantises them itself, or framework.version be \"2025-12\" or older; adapter.base has bits", a.base.bits);
    if (also && a.base.bits != 4 && a.base.row_bits == 0) return no("headroom: experts that are parameters are modelled in 4 or 8 bits alone by this version (adapter.base nf4, nf4-double, int8); adapter.base has bits", a.base.bits);
  }
  if (a.active() && halves(a.modules_to_save)) return no("headroom: since transformers 5 gate and up of the experts are one parameter: adapter.modules_to_save must have both or neither; framework", j.framework.label);
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& t = j.trainable.list[i];
    if (t.experts >= 0 && t.experts < m.experts.count)
      return no("headroom: since transformers 5 all experts of a layer are one parameter, of which a part cannot train: trainable.experts must be left out, or framework.version "
                "\"2025-12\" or older; experts", t.experts);
    if (!t.modules.empty() && halves(t.modules))
      return no("headroom: since transformers 5 gate and up of the experts are one parameter: trainable.modules must have both or neither, or framework.version be \"2025-12\" or older; framework",
                j.framework.label);
  }
  if (trains && (j.optimizer.extent != state_extent::full || j.optimizer.vector_moments > 0))
    return no("headroom: optimizers that treat matrices apart (factored, projected, by rows, Muon) are not modelled for experts that are parameters of three dimensions, as they are since "
              "transformers 5; optimizer", j.optimizer.label);
  return {};
}

/// What experts are made of.
constexpr objection check_experts(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& f = j.framework;
  const bool divides = divides_layers(j.framework);
  // galore_torch galore_projector.py, apollo_torch: a projection is of a matrix.
  if (j.optimizer.extent == state_extent::low_rank && m.sparse() && experts_at_once(m, f.experts) && !j.adapter.active())
    return no("headroom: optimizers that project gradients (GaLore, APOLLO) do not work on experts that are one tensor of three dimensions, as this framework's are; optimizer.rank", j.optimizer.rank);
  constexpr module_set around{module::shared_up, module::shared_down};
  if (m.sparse() && (m.experts.latent > 0 || (m.experts.fp32_router && !m.experts.plain_router)) && (divides || !f.experts.joins_gate() || (j.adapter.active() && (j.adapter.targets.bits & around.bits) != 0 && j.adapter.targets != all_linear)))
    return no("headroom: experts of fewer features (model.experts.latent) and DeepSeek's router without shared experts (model.experts.fp32_router) are modelled as transformers 5 runs them, without adapters on shared "
              "experts by name, by this version; framework", f.label);
  if (m.experts.beside_mlp && (divides || j.compile || !j.kernels.empty() || !f.experts.joins_gate()))
    return no("headroom: experts beside the MLP (model.experts.beside_mlp) are modelled for eager layers of transformers since 2026 without fused kernels alone by this version: framework.version must be of 2026", f.label);
  if ((m.experts.narrow_scores || m.experts.plain_router) && divides)
    return no("headroom: routers in the model's format (model.experts.narrow_scores, plain_router) are modelled for eager layers alone by this version", f.label);
  return {};
}

}  // namespace headroom::detail
