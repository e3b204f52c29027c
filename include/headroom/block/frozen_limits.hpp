// Distributed under the Boost Software License, Version 1.0.
// Where weights that do not train may have a format of their own (precision.frozen): 16 bits beside fp32 ones that train, as LLaMA-Factory has them
// (hiyouga/LLaMA-Factory src/llamafactory/model/adapter.py, init_adapter: what trains is made fp32).
#pragma once

#include <headroom/job.hpp>

namespace headroom::detail {

/// Whether all of the language model trains, whatever stands before it.
constexpr bool trains_all_language(const job& j) {
  constexpr module_set beside{module::vision, module::projector};
  const auto all = (std::uint32_t{1} << module_count) - 1;
  if (j.trainable.all()) return true;
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& s = j.trainable.list[i];
    if (s.last_layer < 0 && (s.modules.empty() || ((s.modules.bits | beside.bits) & all) == all)) return true;
  }
  return false;
}

/// Whether such a module trains outside the layers.
constexpr bool trains_outside(const job& j, module which) {
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& s = j.trainable.list[i];
    if (s.last_layer < 0 && (s.modules.empty() || s.modules.has(which))) return true;
  }
  return j.trainable.all();
}

template <class No>
constexpr objection check_frozen_format(const job& j, const No& no) {
  const auto& p = j.precision;
  const auto& m = j.model;
  if (!p.frozen.set()) return {};
  if (!j.framework.modules.eager() || j.framework.modules.dtensor() || j.parallel.tensor > 1 || j.parallel.context > 1 || j.parallel.pipeline > 1 || j.kernels.adapted())
    return no("headroom: a format of frozen weights (precision.frozen) is modelled for the Trainer's modules, without tensor, context and pipeline parallelism, by this version; framework", j.framework.label);
  if (j.adapter.active()) return no("headroom: under adapters precision.parameters and adapter.base say in what the frozen weights are; leave precision.frozen out, which is", p.frozen.label);
  if (!j.sharding.by(sharder::nobody) && !j.sharding.cuts_tensors())
    return no("headroom: a format of frozen weights (precision.frozen) is modelled without sharding and under fsdp2 by this version: DeepSpeed gives all weights one format, and FSDP1 flattens tensors of one format alone; sharding.stage", j.sharding.stage);
  const auto wide = j.sharding.cuts_tensors() && p.master.present() ? p.master.width() : p.parameters.width();
  if (p.frozen.width() != 2 || wide != 4 || !p.compute.set() || p.compute.width() != 2)
    return no("headroom: precision.frozen must be bf16 or fp16 beside weights that train in fp32 and are multiplied in 16 bits (precision.parameters fp32, compute bf16 or fp16); it is", p.frozen.label);
  if (j.objective.kind != objective_kind::sft || j.rollout.given() || j.compile)
    return no("headroom: a format of frozen weights (precision.frozen) is modelled for sft without compiled layers by this version; leave it out");
  if (trains_all_language(j)) return {};
  const bool plain = !m.sparse() && !m.latent() && !m.pattern.given() && m.encoder.layers == 0 && m.altup.streams == 0 && m.layer_input.width == 0 && m.position != position_kind::relative;
  const bool two_streams = (m.position == position_kind::learned || m.token_types > 0) && trains_outside(j, module::embedding) != trains_outside(j, module::position);
  if (!plain || two_streams)
    return no("headroom: a format of frozen weights (precision.frozen) is modelled for dense decoders where layers are frozen, and for frozen towers, by this version; model", m.label);
  return {};
}

}  // namespace headroom::detail
