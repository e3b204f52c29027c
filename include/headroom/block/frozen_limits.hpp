// Distributed under the Boost Software License, Version 1.0.
// Where weights that do not train may have a format of their own (precision.frozen): 16 bits beside fp32 ones that train, as LLaMA-Factory has them
// (hiyouga/LLaMA-Factory src/llamafactory/model/adapter.py, init_adapter: what trains is made fp32).
#pragma once

#include <headroom/job.hpp>

namespace headroom::detail {

/// Whether all of `roles` trains outside the layers, and so in all of them.
constexpr bool trains_whole(const job& j, std::uint32_t roles) {
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& s = j.trainable.list[i];
    if (s.last_layer < 0 && (s.modules.empty() || (s.modules.bits & roles) == roles)) return true;
  }
  return j.trainable.all();
}

constexpr objection check_frozen_format(const job& j, const auto& no) {
  const auto& p = j.precision;
  if (!p.frozen.set()) return {};
  const auto& d = j.parallel;
  if (!j.framework.modules.eager() || j.framework.modules.dtensor() || (d.tensor | d.context | d.pipeline) > 1 || j.objective.kind != objective_kind::sft || j.rollout.given() || j.adapter.active() || j.compile || j.kernels.adapted())
    return no("headroom: precision.frozen is for sft under the Trainer, without adapters, compiled and divided layers; framework", j.framework.label);
  const bool shards = j.sharding.cuts_tensors();
  if (!shards && !j.sharding.by(sharder::nobody))
    return no("headroom: precision.frozen needs sharding.kind none, ddp or fsdp2: others keep all weights in one format; stage", j.sharding.stage);
  if (p.frozen.width() != 2 || (shards && p.master.present() ? p.master : p.parameters).width() != 4 || p.compute.width() != 2)
    return no("headroom: precision.frozen must be bf16 or fp16 beside trained weights in fp32, all multiplied in 16 bits; it is", p.frozen.label);
  constexpr auto language = ((std::uint32_t{1} << module_count) - 1) & ~(module_set::bit(module::vision) | module_set::bit(module::projector));
  if (trains_whole(j, language)) return {};
  const auto& m = j.model;
  if (m.position != position_kind::rope || m.sparse() || m.latent() || m.pattern.given() || m.encoder.layers > 0 || m.altup.streams > 0 || m.layer_input.width > 0)
    return no("headroom: precision.frozen is modelled for frozen towers, and layers of dense decoders with rotary positions; model", m.label);
  return {};
}

}  // namespace headroom::detail
