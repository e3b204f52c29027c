// Distributed under the Boost Software License, Version 1.0.
// Where quantisation-aware training is modelled (block/fake_quantized.hpp).
#pragma once

#include <headroom/job.hpp>

namespace headroom::detail {

constexpr objection check_fake_quantization(const job& j, const auto& no) {
  const auto& q = j.fake_quantization;
  const auto& m = j.model;
  const auto& p = j.precision.set() ? j.precision : j.framework.precision;
  if (!q.active()) {
    if (q.activations || q.group != 0) return no("headroom: fake_quantization.weights says who rounds the weights, intx or int4; without it group must be 0 and activations false; group", q.group);
    return {};
  }
  if (q.group < 2) return no("headroom: fake_quantization.group must be at least 2: weights of a row that share a scale; it is", q.group);
  for (const auto features : {m.hidden, m.ffn, m.query_width()})
    if (features % q.group != 0) return no("headroom: fake_quantization.group must divide the features that enter each matrix, of which one has", features);
  if (!j.framework.modules.eager() || j.parallel.tensor > 1 || j.parallel.context > 1 || j.parallel.pipeline > 1)
    return no("headroom: fake quantisation is modelled for trainers over PyTorch's own modules, without tensor, context and pipeline parallelism, by this version; framework", j.framework.label);
  if (j.compile || j.recompute.mode == recompute_mode::selective) return no("headroom: fake quantisation is modelled operation by operation by this version: compile must be false, recompute \"none\" or \"full\"");
  if (j.adapter.active() || !j.trainable.all() || j.kernels.adapted()) return no("headroom: fake quantisation is modelled where every weight trains by this version: adapter must be none, trainable \"all\"");
  if (p.parameters.width() != 2 || p.compute.bits < 16) return no("headroom: fake quantisation is modelled for parameters of 16 bits by this version; precision.parameters has bits", p.parameters.bits);
  if (j.loss.kind == loss_kind::chunked && q.weights == fake_quantizer::int4) return no("headroom: a head that is called piece by piece is modelled for fake_quantization.weights \"intx\" alone by this version; loss.kind must not be chunked");
  const bool plain = !m.sparse() && !m.latent() && !m.pattern.given() && m.vision.kind == vision_kind::none && m.encoder.layers == 0 && m.altup.streams == 0 && m.embedding_dim == 0 && !m.normalised_head;
  if (!plain || m.position != position_kind::rope) return no("headroom: fake quantisation is modelled for dense decoders with rotary positions, without towers, by this version; model", m.label);
  if (j.objective.kind != objective_kind::sft || j.rollout.given()) return no("headroom: fake quantisation is modelled for sft alone by this version; objective.kind must be sft");
  return {};
}

}  // namespace headroom::detail
