// Distributed under the Boost Software License, Version 1.0.
// Which towers that Megatron-LM builds of its own layers are modelled (block/megatron_tower.hpp).
#pragma once

#include <headroom/block/limits.hpp>

namespace headroom::detail {

/// A tower and projector as pretrain_vlm.py makes them, trained with the language model.
template <class No>
constexpr objection check_megatron_tower(const job& j, const No& no) {
  const auto& m = j.model;
  const auto& v = m.vision;
  const auto& p = j.parallel;
  if (j.framework.modules.kind != layer_modules::megatron)
    return no("headroom: towers of Megatron's own layers are modelled over TransformerEngine alone by this version: framework.options.transformer-impl must not be local");
  if (v.projector != projector_kind::norm_mlp || v.projector_hidden < 1 || v.merge != 1 || v.attention_pool || v.deep_mergers > 0 || v.no_patch_bias || v.newline)
    return no("headroom: Megatron's own tower (model.vision.kind \"megatron-clip\") has a projector \"norm-mlp\" with a projector_hidden, without merged patches; projector_hidden", v.projector_hidden);
  if (v.patch < 1 || v.image < v.patch || v.hidden < 1 || v.heads < 1 || v.hidden % v.heads != 0 || v.heads % p.tensor != 0 || v.ffn % p.tensor != 0 || v.projector_hidden % p.tensor != 0)
    return no("headroom: model.vision needs an image of a patch at least, hidden a multiple of heads, and heads, ffn and projector_hidden multiples of parallel.tensor; heads", v.heads);
  if (v.tokens > patches_of_tile(v) + 1) return no("headroom: model.vision.tokens must be at most the patches of an image and its class token; they are", patches_of_tile(v) + 1);
  // Tower and projector are made of the language model's layers: what is counted of them is LayerNorm, gelu, biases, and a key and value of each head's width.
  const bool wide = m.head_width() == m.hidden / m.heads && (m.kv_heads == 0 || m.kv_heads == m.heads);
  if (!wide || m.mlp != mlp_kind::plain || m.activation != activation_kind::gelu || m.norm != norm_kind::layernorm || !m.norm_bias || !m.attention_bias || !m.output_bias || !m.mlp_bias || m.qk_norm)
    return no("headroom: towers of Megatron's own layers, which are the language model's, are modelled with LayerNorm, gelu, biases, and as many keys and values as heads, hidden / heads wide, by this version; model.kv_heads", m.kv_heads);
  if (image_tokens(v) > j.batch.sequence) return no("headroom: batch.sequence must hold the tokens of a sample's images; they are", image_tokens(v));
  if (!j.trainable.all() || j.adapter.active()) return no("headroom: towers of Megatron's own layers are modelled trained, with all else, by this version: trainable and adapter must be left out");
  if (p.pipeline > 1 || m.latent() || m.pattern.given() || m.mtp_layers > 0 || m.bidirectional || m.encoder.layers > 0 || m.sparse())
    return no("headroom: towers of Megatron's own layers are modelled before dense decoders in one pipeline stage by this version; parallel.pipeline", p.pipeline);
  // A published run of this kind on Hopper holds 220 MiB more than the same on Ampere, and the source does not say why.
  if (p.context > 1 && j.hardware.accelerator().compute_capability >= 90)
    return no("headroom: towers of Megatron's own layers with context parallelism are modelled on GPUs before Hopper alone by this version; parallel.context", p.context);
  const bool plain = !j.sharding.gathers_units() && j.optimizer.vector_moments == 0 && !multiplies_narrow(j.precision) && j.offload.activations == place::on_gpu && j.recompute.mode == recompute_mode::none &&
                     j.framework.graphs.capture == graph_capture::none;
  if (!plain) return no("headroom: towers of Megatron's own layers are modelled without Megatron-FSDP, Muon, fp8, CUDA graphs, recompute and offloaded activations by this version");
  return {};
}

}  // namespace headroom::detail
