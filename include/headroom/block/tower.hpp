// Distributed under the Boost Software License, Version 1.0.
// A vision tower in front of a language model: patches, blocks, and what joins them to the text. Its blocks are those of
// block/decoder.hpp over a shape of their own.
// Sources: transformers models/{clip,siglip,qwen2_vl,qwen2_5_vl,llama4,llava,gemma3,paligemma,pixtral,mistral3,glm4v,glm_ocr}/modeling_*.py; MiniCPM-V's resampler.py and
// slice_config.scale_resolution; OpenGVLab/InternVL 2410d1db internvl_chat/internvl/model/internvl_chat/modeling_{intern_vit,internvl_chat}.py.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/tower_gradients.hpp>
#include <headroom/model/images.hpp>
#include <headroom/model/towers.hpp>

namespace headroom {

/// The blocks of a tower as a stack of layers.
constexpr shape tower_shape(const vision_shape& v) {
  const auto t = detail::traits_of(v.kind);
  shape m;
  m.layers = v.layers;
  m.hidden = v.hidden;
  m.heads = v.heads;
  m.ffn = v.ffn;
  m.mlp = t.gated ? mlp_kind::gated : mlp_kind::plain;
  m.norm = t.norm_vectors == 1 ? norm_kind::rmsnorm : norm_kind::layernorm;
  m.norm_bias = t.norm_vectors == 2;
  m.attention_bias = m.output_bias = m.mlp_bias = t.biased;
  if (t.bare_qkv) m.attention_bias = false;
  m.qk_norm_full = t.qk_norms;
  m.bidirectional = true;
  m.position = position_kind::none;
  switch (v.kind) {
    case vision_kind::clip: m.activation = activation_kind::quick_gelu; break;
    case vision_kind::qwen2_vl: m.activation = activation_kind::quick_gelu; break;
    case vision_kind::siglip:
    case vision_kind::idefics3:
    case vision_kind::gemma4:
    case vision_kind::qwen3_vl: m.activation = activation_kind::gelu_pytorch_tanh; break;
    case vision_kind::glm4v:
    case vision_kind::glm_ocr:
    case vision_kind::pixtral:
    case vision_kind::qwen2_5_vl: m.activation = activation_kind::silu; break;
    case vision_kind::none:
    case vision_kind::vit:
    case vision_kind::internvl:
    case vision_kind::internvl_6b:
    case vision_kind::intern_vit:
    case vision_kind::intern_vit_6b:
    case vision_kind::megatron_clip:
    case vision_kind::llama4: m.activation = activation_kind::gelu; break;
  }
  if (v.kind == vision_kind::qwen2_vl || v.kind == vision_kind::qwen2_5_vl || v.kind == vision_kind::qwen3_vl) m.position = position_kind::rope;
  if (is_glm(v.kind)) m.position = position_kind::rope, m.rotary = rotary_kind::fp32_halves;
  m.fused_qkv = t.fused_qkv;
  if (v.kind == vision_kind::pixtral || v.kind == vision_kind::gemma4) m.position = position_kind::rope;
  m.post_norms = t.sandwich;
  m.qk_norm = t.head_norms;
  m.norm_power = m.value_norm = v.kind == vision_kind::gemma4;
  return m;
}

/// Adapters of a tower: where targets have `vision`, beside linear layers of its blocks, where they have `projector`, of what joins it to the text.
constexpr adapter tower_side(const adapter& side) {
  auto r = side;
  r.targets.bits = (!side.targets.has(module::vision) ? 0 : side.vision_targets.empty() ? all_linear.bits : side.vision_targets.bits) | (side.targets.bits & module_set::bit(module::projector));
  r.fused_qkv = true;
  return r.targets.empty() ? adapter{} : r;
}

/// Whether a tower_side() has adapters beside layers of its blocks.
constexpr bool adapts_blocks(const adapter& side) { return (side.targets.bits & all_linear.bits) != 0; }

/// Whether gradients go through a tower's layers that do not train: adapters are beside them, or its patches are asked for one.
constexpr bool passes_tower(const job& j, const adapter& side) { return asks_tower(j) || adapts_blocks(side); }

/// Whether a tower reads all images of a batch as one sequence where no flash kernel is told where each begins: Pixtral's, and Qwen-VL's and GLM-4V's up to
/// transformers 4.53, in whose releases keys were repeated to all heads, too. Since 4.54 (25343aafee, 2025-07-09) theirs attend image by image.
constexpr bool sees_one_sequence(const scene& s, const vision_shape& v) {
  const auto& habits = s.habits->attention;
  return v.kind == vision_kind::pixtral || (detail::resizes_by_pixels(v.kind) && habits.masks != sdpa_masks::none && habits.expands_kv != kv_expansion::if_padded);
}

/// How a tower sees a job: every tile is a sample of its own. Pixtral reads all images of a batch as one sequence, in which a mask keeps them apart
/// (generate_block_attention_mask), and so did Qwen-VL, with a mask of each layer's own (Qwen2_5_VisionTransformerPretrainedModel.forward,
/// _prepare_attention_mask; before 4.52 in VisionSdpaAttention.forward); flash attention is told where an image begins. `side`: its tower_side(). `trains`: it does.
constexpr scene tower_scene(const scene& s, const shape& tower, const vision_shape& v, const adapter& side, bool trains) {
  scene t = s;
  if (s.narrow_frozen) t.residual_width = trains ? s.weight_width : s.width;
  t.model = &tower;
  t.side = &side;
  t.samples = checked::mul(s.samples, tiles(v));
  t.sequence = patches_of_tile(v) + (detail::traits_of(v.kind).class_token ? 1 : 0);
  t.tokens = checked::mul(t.samples, t.sequence);
  t.padded = t.masked = false;
  if (const bool together = s.kernel != attention::flash && s.kernel != attention::flash3; together && sees_one_sequence(s, v))
    t.samples = 1, t.sequence = t.tokens, t.block_mask = true, t.masks_each_layer = v.kind != vision_kind::pixtral;
  else
    t.joins_images = together && detail::resizes_by_pixels(v.kind);
  t.layer_scale = detail::traits_of(v.kind).layer_scale;
  t.quantised.bits = (s.quantised.has(module::vision) ? all_linear.bits : 0) | (s.quantised.bits & module_set::bit(module::projector));
  t.drops = {};
  // Liger-Kernel transformers/monkey_patch.py: norms of Qwen2.5-VL's blocks, rotations of Qwen3-VL's.
  if (!t.fused.adapted()) t.fused.bits &= fused_kernels{v.kind == vision_kind::qwen3_vl ? fused_kernel::rotary : fused_kernel::norm}.bits;
  return t;
}

/// Pixels to patches: a convolution that keeps its input, the class token in front, positions, and CLIP's first norm.
constexpr program patch_embedding(const scene& t, const vision_shape& v, bool trains) {
  const auto traits = detail::traits_of(v.kind);
  program p(t.granule);
  const auto inputs = checked::mul(v.channels, v.temporal_patch, v.patch, v.patch);
  const auto count = traits.class_token ? t.tokens - t.samples : t.tokens;
  const auto width = t.weight_width;
  const auto bias = traits.patch_bias && !v.no_patch_bias ? p.rounded(v.hidden, width) : bytes{0};
  const auto pixels = p.make(checked::mul(count, inputs), t.width);
  // pixel_values[real_images_inds]: a copy beside the batch's own (Idefics3Model.get_image_features).
  const auto batch = p.make(v.kind == vision_kind::idefics3 ? checked::mul(count, inputs) : 0, t.residual_width);
  p.step(0, pixels | batch);
  auto x = p.make(checked::mul(count, v.hidden), t.residual_width);
  p.step(pixels | batch, x.bit(), {.saves = pixels | batch, .weight_gradient = trains ? p.rounded(checked::mul(inputs, v.hidden), width) + bias : bytes{0}});
  const auto n = checked::mul(t.tokens, v.hidden);
  if (traits.class_token) {
    const auto y = p.make(n, t.residual_width);
    p.step(x.bit(), y.bit(), {.weight_gradient = trains ? p.rounded(v.hidden, width) : bytes{0}});
    x = y;
  }
  if (v.kind == vision_kind::glm4v) {  // sampled from a table in fp32 (Glm4vVisionEmbeddings)
    const auto rows = trains ? checked::mul(v.positions, v.hidden) : 0;
    const auto table = p.make(checked::mul(v.positions, v.hidden), width == 4 ? 0 : 4), grid = p.make(checked::mul(2, t.tokens), 4), wide = p.make(n, 4);
    p.step(0, (table | grid) | wide, {.saves = table | grid, .backward_temporary = p.rounded(rows, 4), .weight_gradient = p.rounded(rows, width)});
    x = ops::add(p, x, ops::cast(p, wide, t.residual_width));
  } else if (v.positions > 0) {
    // Gemma 4 looks up both coordinates of each patch, of every image, Idefics 3 a patch's place (Idefics3VisionEmbeddings).
    const bool both = v.kind == vision_kind::gemma4, looked_up = both || v.kind == vision_kind::idefics3;
    const auto rows = p.make(looked_up ? checked::mul(both ? 2 : 1, t.tokens) : 0, 8);
    const auto table = p.make(looked_up ? n : checked::mul(t.sequence, v.hidden), t.residual_width);
    p.step(0, table | rows, {.saves = looked_up && trains ? rows.bit() : 0, .forward_temporary = both ? p.size(table) : bytes{0}, .weight_gradient = trains ? p.rounded(checked::mul(v.positions, v.hidden), width) : bytes{0}});
    const auto y = p.make(n, t.residual_width);
    p.step(x | table, y.bit(), {.passes_gradient = true});
    x = y;
  }
  if (traits.front_norm) x = traits.norm_vectors == 1 ? ops::rms_norm(p, t, x, v.hidden, trains) : ops::layer_norm(p, t, x, v.hidden, trains, true);
  p.set_output(x);
  return p;
}

/// The same in front of a main stack that reads patches itself (ViTEmbeddings).
constexpr program patch_embedding(const scene& s, const module_set& trained) {
  auto v = s.model->vision;
  v.hidden = s.model->hidden;
  v.positions = s.model->position == position_kind::learned ? s.model->max_positions : 0;
  return patch_embedding(s, v, trained.has(module::other));
}

namespace ops {

inline constexpr module joint_in = module::up_proj, joint_out = module::down_proj;  ///< of what joins a tower to its text: its first and last layer, as the inventory has them

/// MiniCPM-V's Resampler: learned queries attend to the patches of each tile through nn.MultiheadAttention, which returns its weights and so
/// writes the scores out.
constexpr tensor resample(program& p, const scene& t, const vision_shape& v, std::int64_t out, tensor x, bool trains) {
  const auto queries = checked::mul(t.samples, v.resampler);
  const auto project = [&](tensor from, std::int64_t in, bool bias) { return multiply(p, t, from, {.in = in, .out = out, .bias = bias, .trains = trains}); };
  const auto values = layer_norm(p, t, v.hidden != out ? project(x, v.hidden, false) : x, out, trains, true);
  const auto learned = p.make(checked::mul(queries, out), p.width(values));  // one norm, repeated for every tile
  p.step(0, learned.bit(), {.weight_gradient = trains ? p.rounded(checked::mul(v.resampler, out), t.weight_width) : bytes{0}});
  const auto keys = pointwise(p, values);  // and their positions
  const auto q = project(learned, out, true), k = project(keys, out, true), values_out = project(values, out, true);
  const auto head_count = out / 128 > 0 ? out / 128 : 1;
  const auto scores = p.make(checked::mul(queries, head_count, patches_of_tile(v)), t.width);
  p.step(q | k, scores.bit(), {.saves = q | k});
  const auto weights = p.make(p.elements(scores), t.width);
  p.step(scores.bit(), weights.bit(), {.saves = weights.bit()});
  const auto product = p.make(checked::mul(queries, out), t.width);
  p.step(weights | values_out, product.bit(), {.saves = weights | values_out});
  const auto n = layer_norm(p, t, project(product, out, true), out, trains, true);
  return project(n, out, false);
}

/// Qwen-VL's PatchMerger; `project(part, from, in, to, bias)` is a matrix of the projector. Qwen3VLVisionModel's deepstack_merger_list reads earlier blocks'
/// results, which those blocks keep as this program's input is kept, and norms merged patches. Language layers add what it makes, which this program does once.
constexpr tensor merge(program& p, const scene& t, const shape& m, tensor patches, std::int64_t out, bool trains, const auto& project) {
  const auto& v = m.vision;
  const auto wide = checked::mul(v.merge, v.merge, v.hidden);
  auto x = detail::traits_of(v.kind).norm_vectors == 1 ? rms_norm(p, t, patches, v.hidden, trains) : layer_norm(p, t, patches, v.hidden, trains, true);
  x = project(joint_out, activate(p, t, project(joint_in, x, wide, wide, true), activation_kind::gelu), wide, out, true);
  for (std::int64_t i = 0; i < v.deep_mergers; ++i) {
    const auto deep = layer_norm(p, t, patches, wide, trains, true);
    x = add(p, x, project(joint_out, activate(p, t, project(joint_in, deep, wide, wide, true), activation_kind::gelu), wide, out, true));
  }
  return x;
}

/// GLM-4V's: the tower's convolution reads four rows as they lie (Glm4vVisionModel.downsample), Glm4vVisionPatchMerger the rest.
constexpr tensor merge_glm(program& p, const scene& t, const vision_shape& v, tensor x, std::int64_t out, bool tower_trains, bool trains, const auto& project) {
  const auto inner = v.projector_hidden;
  x = project(module::o_proj, multiply(p, t, x, {.in = checked::mul(v.merge, v.merge, v.hidden), .out = out, .bias = true, .trains = tower_trains}), out, out, false);
  x = activate(p, t, layer_norm(p, t, x, out, trains, true), activation_kind::gelu);
  const auto gate = project(module::gate_proj, x, out, inner, false), up = project(joint_in, x, out, inner, false);
  return project(joint_out, multiply(p, activate(p, t, gate, activation_kind::silu), up), inner, out, false);
}

/// Gemma4VisionPooler: a matrix of fp32 shares of patches; places that no patch has filled are left out.
constexpr tensor pool_patches(program& p, const scene& t, const vision_shape& v, tensor x) {
  const auto places = checked::mul(t.samples, v.tokens), left = image_tokens(v) / tiles(v);
  const auto filled = p.make(p.elements(x), p.width(x)), padding = p.make(t.tokens, 1);
  p.step(x.bit(), filled | padding, {.saves = padding.bit()});
  const auto wide = cast(p, filled, 4), shares = p.make(checked::mul(places, patches_of_tile(v)), 4), pooled = p.make(checked::mul(places, v.hidden), 4);
  p.step(wide.bit(), shares | pooled, {.saves = shares.bit(), .forward_temporary = 2 * p.size(shares)});
  const auto kept = p.make(checked::mul(t.samples, left, v.hidden), 4), mask = p.make(places, 1);
  p.step(pooled.bit(), kept | mask, {.saves = mask.bit(), .backward_temporary = p.size(pooled)});
  return cast(p, kept, t.residual_width);
}

}  // namespace ops

/// From the tower's last block to image tokens as wide as the language model.
constexpr program projector(const scene& t, const shape& m, bool tower_trains, bool trains, bool input_has_gradient) {
  const auto& v = m.vision;
  const auto traits = detail::traits_of(v.kind);
  const auto out = v.output > 0 ? v.output : m.hidden;
  using ops::joint_in, ops::joint_out;
  program p(t.granule);
  auto x = p.input(checked::mul(t.tokens, v.hidden), t.residual_width, input_has_gradient);
  if (traits.last_norm) x = traits.norm_vectors == 1 ? ops::rms_norm(p, t, x, v.hidden, tower_trains) : ops::layer_norm(p, t, x, v.hidden, tower_trains, true);
  const auto project = [&](module part, tensor from, std::int64_t in, std::int64_t to, bool bias) {
    const auto y = ops::multiply(p, t, from, {.in = in, .out = to, .bias = bias, .trains = trains, .quantised = t.quantised.has(module::projector)});
    return t.adapts(module::projector) && (t.side->projector_targets.empty() || t.side->projector_targets.has(part)) ? ops::adapt(p, t, from, y, in, to) : y;
  };
  if (traits.class_token) {  // patches without the class token: a slice, copied
    const auto y = p.make(checked::mul(t.samples, patches_of_tile(v), v.hidden), p.width(x));
    p.step(x.bit(), y.bit());
    x = y;
  }
  switch (v.projector) {
    case projector_kind::mlp: x = project(joint_out, ops::activate(p, t, project(joint_in, x, v.hidden, out, true), activation_kind::gelu), out, out, true); break;
    case projector_kind::norm_linear: {  // Gemma 3: pooled to 256 tokens
      const auto left = patches_of_tile(v) < 256 ? patches_of_tile(v) : 256;
      const auto pooled = p.make(checked::mul(t.samples, left, v.hidden), p.width(x));
      p.step(x.bit(), pooled.bit(), {.saves = x.bit()});
      x = project(joint_in, ops::rms_norm(p, t, pooled, v.hidden, trains), v.hidden, out, false);
      break;
    }
    case projector_kind::merger: x = ops::merge(p, t, m, x, out, trains, project); break;
    case projector_kind::pixel_mlp: {
      const auto merged = checked::mul(v.merge, v.merge, v.hidden);
      x = ops::activate(p, t, project(joint_in, ops::pointwise(p, x), merged, v.projector_hidden, false), activation_kind::gelu);
      x = ops::activate(p, t, project(joint_out, x, v.projector_hidden, v.output, false), activation_kind::gelu);
      x = project(joint_out, x, v.output, m.hidden, false);
      break;
    }
    case projector_kind::linear: x = project(joint_in, x, v.hidden, out, true); break;
    case projector_kind::shuffled_linear:  // pixel_shuffle copies twice (modeling_idefics3.py)
      x = project(joint_in, ops::pointwise(p, ops::pointwise(p, x)), checked::mul(v.merge, v.merge, v.hidden), out, false);
      break;
    case projector_kind::norm_mlp: {  // pixel_shuffle copies twice (modeling_internvl_chat.py)
      const auto wide = checked::mul(v.merge, v.merge, v.hidden);
      x = ops::layer_norm(p, t, ops::pointwise(p, ops::pointwise(p, x)), wide, trains, true);
      x = project(joint_out, ops::activate(p, t, project(joint_in, x, wide, out, true), activation_kind::gelu), out, out, true);
      break;
    }
    case projector_kind::glm_merger: x = ops::merge_glm(p, t, v, x, out, tower_trains, trains, project); break;
    case projector_kind::patch_merger: {  // a copy lays merge² patches side by side
      x = ops::pointwise(p, ops::rms_norm(p, t, x, v.hidden, trains));
      x = project(module::gate_proj, x, checked::mul(v.merge, v.merge, v.hidden), v.hidden, false);
      x = project(joint_out, ops::activate(p, t, project(joint_in, x, v.hidden, out, false), activation_kind::gelu), out, out, false);
      break;
    }
    case projector_kind::pooled_linear: x = project(joint_in, ops::unit_norm(p, t, ops::pool_patches(p, t, v, x), v.hidden), v.hidden, out, false); break;  // Gemma4MultimodalEmbedder
    case projector_kind::resampler: x = ops::resample(p, t, v, out, x, trains); break;
    case projector_kind::none:
    case projector_kind::contrastive: break;
  }
  p.set_output(x);
  return p;
}

}  // namespace headroom
