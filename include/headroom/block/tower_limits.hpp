// Distributed under the Boost Software License, Version 1.0.
// Which towers and encoders this version has no program for.
#pragma once

#include <headroom/block/divided_layers.hpp>
#include <headroom/model/check.hpp>

namespace headroom::detail {

/// Whether adapters, or what trains, name a tower or what joins it to the text.
constexpr bool names_tower(const job& j) {
  constexpr module_set tower{module::vision, module::projector};
  const auto& a = j.adapter;
  bool named = a.active() && ((a.targets.bits | a.modules_to_save.bits) & tower.bits) != 0;
  for (std::int32_t i = 0; i < j.trainable.size; ++i) named = named || (j.trainable.list[i].modules.bits & tower.bits) != 0;
  return named;
}

/// Towers that are held and never run.
constexpr objection check_held_towers(const job& j, const auto& no) {
  const auto& a = j.adapter;
  const bool named = names_tower(j);
  const bool reduced = j.trainable.all() && !a.active() && j.sharding.kind != sharding_kind::none;  // their weights ask for gradients that never come, in every bucket
  if (named || reduced || divides_layers(j.framework) || (a.active() && a.base.quantised()) || j.sharding.fully_sharded() || j.sharding.cuts(sharded_state::weights) || j.parallel.pipeline > 1 || j.rollout.given())
    return no("headroom: towers that never run (model.vision.held) are modelled beside whole weights of 16 or 32 bits, without adapters or training of their own, and without a rollout; over several GPUs trainable must name modules; parameters", j.model.vision.held);
  return {};
}

/// What is computed again of a tower, and what goes back through it.
constexpr objection check_tower_recompute(const job& j, const auto& no) {
  if (j.recompute.frozen_towers != choice::yes && j.recompute.towers == choice::unset) return {};
  if (j.model.vision.layers == 0 || divides_layers(j.framework) || j.recompute.mode == recompute_mode::selective)
    return no("headroom: recompute.towers and frozen_towers are of a vision tower beside its text in modules of transformers, beside recompute.mode \"none\" or \"full\"; layers of the tower", j.model.vision.layers);
  return {};
}

/// Towers beside a language model, or in its place.
constexpr objection check_tower_layers(const job& j, const auto& no) {
  const auto v = seen(j.model.vision, j.batch.images);
  const auto& f = j.framework.modules;
  const bool swift = f.megatron() && j.framework.adapters.parallel;  // engine/tensor_parallel/limits.hpp
  if (v.kind == vision_kind::megatron_clip)  // engine/tensor_parallel/tower_limits.hpp
    return f.megatron() && !f.deepspeed() && !f.nanotron() ? objection{} : no("headroom: towers of Megatron's own layers (model.vision.kind \"megatron-clip\") are Megatron-LM's: framework must be megatron; it is", j.framework.label);
  if (v.projector == projector_kind::norm_mlp && v.projector_hidden > 0)
    return no("headroom: InternVL's projector (\"norm-mlp\") is as wide inside as what it delivers: model.vision.projector_hidden must be left out, unless the tower is Megatron-LM's own; projector_hidden", v.projector_hidden);
  // A frozen tower lies on the first GPU, and what of it enters deeper layers is not modelled there.
  const bool first = j.batch.images.none || (j.adapter.active() && !names_tower(j) && v.deep_mergers == 0);
  const bool spread = first && properties_of(j.parallel.schedule).one_process;
  if ((divides_layers(j.framework) && !swift) || j.compile || (j.parallel.pipeline > 1 && !swift && !spread))
    return no("headroom: activations of vision towers are not modelled for this framework or layout by this version; states(job) counts their weights", j.framework.label);
  if (j.batch.images.none) return {};  // engine/eager/limits.hpp
  if (v.projector == projector_kind::contrastive || v.attention_pool)
    return no("headroom: contrastive towers and pooling heads are not modelled by this version; states(job) counts their weights");
  if (v.deep_mergers > 4 || (v.deep_mergers > 0 && v.projector != projector_kind::merger)) return no("headroom: model.vision.deep_mergers must be at most 4, beside a merger", v.deep_mergers);
  const bool pools = v.projector == projector_kind::pooled_linear;
  if (pools != (v.kind == vision_kind::gemma4) || pools != (v.tokens > 0) || (pools && v.image_height < 1))
    return no("headroom: model.vision.tokens, kind \"gemma4\" and projector \"pooled-linear\" go together by this version, with an image_height; tokens", v.tokens);
  if (v.patch < 1 || v.image < v.patch) return no("headroom: batch.images must say how large the images are, {\"width\", \"height\"} in pixels, or that samples are text alone, {\"none\": true}; an image's edge must be a patch's at least, and is", v.image);
  if (v.merge > 1 && v.image / v.patch % v.merge != 0) return no("headroom: model.vision.image / patch must be a multiple of model.vision.merge; image", v.image);
  if (v.image_height > 0 && (v.image_height < v.patch || v.image_height / v.patch % v.merge != 0 || v.projector == projector_kind::resampler))
    return no("headroom: model.vision.image_height / patch must be a multiple of model.vision.merge, and at least 1, without a resampler; image_height", v.image_height);
  if (j.batch.images.pixels > 0 && j.attention == attention::eager) return no("headroom: batch.images.pixels says nothing of an image's edges, and attention that writes out its scores takes their square: give width and height; pixels", j.batch.images.pixels);
  if (j.batch.images.given())
    if (const auto taken = tokens_in_sequence(j.model.vision, j.batch.images); taken > j.batch.sequence) return no("headroom: batch.sequence must hold the tokens of a sample's images; they are", taken);
  if (v.layers > 0 && (v.hidden < 1 || v.heads < 1 || v.hidden % v.heads != 0)) return no("headroom: model.vision.hidden must be a multiple of model.vision.heads; hidden", v.hidden);
  return {};
}

/// An encoder whose result every layer of the decoder reads.
constexpr objection check_encoder_layers(const job& j, const auto& no) {
  const auto& m = j.model;
  if (j.framework.modules.megatron()) return {};  // engine/tensor_parallel/limits.hpp
  if (divides_layers(j.framework) || j.compile || j.parallel.pipeline > 1)
    return no("headroom: encoder-decoder models are not modelled for this framework by this version; states(job) counts their weights", j.framework.label);
  if (!m.encoder.cross_attention || m.sparse() || m.parallel_block || m.vision.kind != vision_kind::none)
    return no("headroom: encoders without cross-attention, or beside experts, parallel blocks or towers, are not modelled by this version; model.encoder.layers", m.encoder.layers);
  return {};
}

}  // namespace headroom::detail
