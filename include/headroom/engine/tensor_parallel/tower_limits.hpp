// Distributed under the Boost Software License, Version 1.0.
// Which towers that Megatron-LM builds of its own layers are modelled (block/megatron_tower.hpp).
#pragma once

#include <headroom/block/limits.hpp>

namespace headroom::detail {

/// What pretrain_vlm.py's tower and projector are made of: one convolution, one class token, a position for each, and the MLP of a layer (CLIPViTModel, MultimodalProjector).
constexpr objection check_megatron_tower_shape(const vision_shape& v, const shape& m, const auto& no) {
  if (v.layers < 1) return no("headroom: Megatron's own tower (model.vision.kind \"megatron-clip\") stands in front of the language model: model.vision.layers must be at least 1; it is", v.layers);
  if (v.projector != projector_kind::norm_mlp || v.projector_hidden < 1 || v.merge != 1 || v.temporal_patch != 1 || v.attention_pool || v.deep_mergers > 0 || v.no_patch_bias || v.newline)
    return no("headroom: Megatron's own tower (model.vision.kind \"megatron-clip\") has a projector \"norm-mlp\" with a projector_hidden, without merged patches; projector_hidden", v.projector_hidden);
  if (v.patch < 1 || v.image < v.patch || v.image % v.patch != 0 || v.image_height % v.patch != 0 || v.image_height < 0)
    return no("headroom: Megatron's own tower reads whole patches: model.vision.image and image_height must be multiples of patch; image", v.image);
  if (v.positions != patches_of_tile(v) + 1)
    return no("headroom: Megatron's own tower has a position for each patch and for the class token: model.vision.positions must be left out, or be that; positions", v.positions);
  if (v.tokens > patches_of_tile(v) + 1) return no("headroom: model.vision.tokens must be at most the patches of an image and its class token; they are", patches_of_tile(v) + 1);
  if (v.output > 0 && v.output != m.hidden) return no("headroom: Megatron's own projector delivers the language model's width: model.vision.output must be left out; it is", v.output);
  return {};
}

/// pretrain_vlm.py copies the language model's configuration for the tower and for the projector (deepcopy of language_transformer_config), and changes the number of layers alone:
/// widths, norms and biases are the language model's. Its specs have no norms over queries and keys.
constexpr objection check_copied_config(const vision_shape& v, const shape& m, const auto& no) {
  if (v.hidden != m.hidden || v.heads != m.heads || v.ffn != m.ffn || v.projector_hidden != m.ffn || m.query_width() != m.hidden)
    return no("headroom: pretrain_vlm.py builds its tower and projector with the language model's widths: model.vision.hidden, heads, ffn and projector_hidden must be model.hidden, heads, ffn and ffn, and "
              "heads × head_dim model.hidden; vision.hidden", v.hidden);
  if (m.mlp != mlp_kind::plain || m.activation != activation_kind::gelu || m.norm != norm_kind::layernorm || !m.norm_bias || !m.attention_bias || !m.output_bias || !m.mlp_bias || m.kv() != m.heads || m.qk_norm || m.qk_norm_full)
    return no("headroom: towers of Megatron's own layers, which are the language model's, are modelled with LayerNorm, gelu, biases, without norms over queries and keys, and with as many keys and values as "
              "heads by this version; model.kv_heads", m.kv());
  return {};
}

/// A tower and projector as pretrain_vlm.py makes them, trained with the language model.
constexpr objection check_megatron_tower(const job& j, const auto& no) {
  const auto& m = j.model;
  const auto& p = j.parallel;
  const auto v = seen(m.vision, j.batch.images);
  if (j.framework.modules.local())
    return no("headroom: towers of Megatron's own layers are modelled over TransformerEngine alone by this version: framework.options.transformer-impl must not be local");
  if (const auto why = check_megatron_tower_shape(v, m, no)) return why;
  if (const auto why = check_copied_config(v, m, no)) return why;
  if (j.batch.images.width > 0 || j.batch.images.height > 0)
    return no("headroom: Megatron's own tower reads images of one size, model.vision.image and image_height: leave batch.images.width and height out; width", j.batch.images.width);
  if (image_tokens(v) > j.batch.sequence) return no("headroom: batch.sequence must hold the tokens of a sample's images; they are", image_tokens(v));
  if (!j.trainable.all() || j.adapter.active()) return no("headroom: towers of Megatron's own layers are modelled trained, with all else, by this version: trainable and adapter must be left out");
  if (p.pipeline > 1 || m.latent() || m.pattern.given() || m.mtp_layers > 0 || m.bidirectional || m.encoder.layers > 0 || m.sparse())
    return no("headroom: towers of Megatron's own layers are modelled before dense decoders in one pipeline stage by this version; parallel.pipeline", p.pipeline);
  // A published run of this kind on Hopper holds 220 MiB more than the same on Ampere, and the source does not say why.
  if (p.context > 1 && j.hardware.kind_that([](const gpu& g) { return g.compute_capability >= 90; }) != nullptr)
    return no("headroom: towers of Megatron's own layers with context parallelism are modelled on GPUs before Hopper alone by this version; parallel.context", p.context);
  const bool plain = !j.sharding.gathers_units() && j.optimizer.vector_moments == 0 && !multiplies_narrow(j.precision) && j.offload.activations == place::on_gpu && j.recompute.mode == recompute_mode::none &&
                     j.framework.graphs.capture == graph_capture::none;
  if (!plain) return no("headroom: towers of Megatron's own layers are modelled without Megatron-FSDP, Muon, fp8, CUDA graphs, recompute and offloaded activations by this version");
  return {};
}

}  // namespace headroom::detail
