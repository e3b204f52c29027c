// Distributed under the Boost Software License, Version 1.0.
// What stands beside the main stack: the encoder of an encoder-decoder model, a vision tower, and what joins it to the
// language model. Formulas as in Hugging Face transformers 4.56; the class is named where they are written.
#pragma once

#include <headroom/model/decoder.hpp>

namespace headroom::detail {

/// The encoder's layers, and the cross-attention it gives to every layer of the main stack (T5Stack, WhisperEncoder,
/// BartEncoder). Token embeddings are the main stack's and not listed again, unless the encoder has its own.
constexpr void add_encoder(inventory& list, const shape& m) {
  const auto& e = m.encoder;
  if (e.cross_attention && m.layers > 0) {
    constexpr module cross = module::cross_attention;
    const layer_span all{0, m.layers, 1};
    add_attention(list, m, {all, 1, &cross});
    list.add({.role = module::norm, .rows = m.hidden, .layers = all, .per_layer = checked::mul(m.post_norms ? 2 : 1, norm_vectors(m))});
  }
  if (e.layers <= 0) return;
  constexpr module into = module::encoder;
  const weight_place p{{}, e.layers, &into};
  shape own = m;
  if (e.heads > 0) own.heads = e.heads, own.kv_heads = 0;
  if (e.attention_bias) own.attention_bias = own.output_bias = true;
  if (e.vocab > 0) list.add({.role = into, .rows = e.vocab, .columns = m.hidden, .split = split_axis::vocabulary});
  add_attention(list, own, p);
  add_query_key_norms(list, own, p);
  add_mlp(list, own, p, e.ffn > 0 ? e.ffn : m.ffn);
  const std::int64_t norms = norms_per_layer(m) * norm_vectors(m);
  const std::int64_t ends = ((m.no_final_norm ? 0 : 1) + (m.embedding_norm ? 1 : 0)) * norm_vectors(m);
  list.add({.role = into, .rows = m.hidden, .per_layer = checked::add(checked::mul(e.layers, norms), ends)});
  if (m.position == position_kind::relative)
    list.add({.role = into, .rows = m.relative_buckets, .columns = own.heads, .per_layer = m.layer_biases ? e.layers : 1, .split = split_axis::columns});
  if (e.max_positions > 0 || (m.position == position_kind::learned && !e.shared_positions)) {
    const std::int64_t rows = e.max_positions > 0 ? e.max_positions : m.max_positions;
    list.add({.role = into, .rows = checked::add(rows, m.position_offset), .columns = m.hidden, .frozen = e.frozen_positions});
  }
  if (e.audio_channels > 0) {  // two convolutions of width 3, each with a bias
    list.add({.role = into, .rows = m.hidden, .columns = checked::mul(3, e.audio_channels)});
    list.add({.role = into, .rows = m.hidden, .columns = checked::mul(3, m.hidden)});
    list.add({.role = into, .rows = m.hidden, .per_layer = 2});
  }
}

/// What a tower's kind fixes. The booleans are those of the classes named at vision_kind.
struct tower_traits {
  bool patch_bias{};
  bool class_token{};
  bool front_norm{};
  bool last_norm{};
  bool gated{};
  bool biased{true};
  std::int64_t norm_vectors{2};
  bool bare_qkv{};     ///< q, k and v without biases where the rest has them
  bool qk_norms{};     ///< over all heads of q, and of k
  bool layer_scale{};  ///< each of a layer's two branches times a trained vector
  bool sandwich{};     ///< norms in front of both branches and behind them
  bool head_norms{};   ///< over each head's q, and k
  bool fused_qkv{};    ///< one layer makes q, k and v
};
constexpr tower_traits traits_of(vision_kind kind) {
  switch (kind) {
    case vision_kind::vit: return {.patch_bias = true, .class_token = true, .last_norm = true};
    case vision_kind::clip: return {.class_token = true, .front_norm = true, .last_norm = true};
    case vision_kind::megatron_clip: return {.class_token = true, .front_norm = true};  // core/models/vision/clip_vit_model.py
    case vision_kind::siglip:
    case vision_kind::idefics3: return {.patch_bias = true, .last_norm = true};
    case vision_kind::qwen2_5_vl: return {.gated = true, .norm_vectors = 1, .fused_qkv = true};
    case vision_kind::qwen3_vl: return {.patch_bias = true, .fused_qkv = true};
    case vision_kind::llama4: return {.class_token = true, .front_norm = true, .last_norm = true};
    case vision_kind::pixtral: return {.front_norm = true, .gated = true, .biased = false, .norm_vectors = 1};
    case vision_kind::glm4v: return {.patch_bias = true, .front_norm = true, .last_norm = true, .gated = true, .biased = false, .norm_vectors = 1, .fused_qkv = true};
    case vision_kind::glm_ocr: return {.patch_bias = true, .last_norm = true, .gated = true, .norm_vectors = 1, .head_norms = true, .fused_qkv = true};
    case vision_kind::gemma4: return {.gated = true, .biased = false, .norm_vectors = 1, .sandwich = true, .head_norms = true};
    case vision_kind::internvl:
    case vision_kind::intern_vit: return {.patch_bias = true, .class_token = true, .layer_scale = true, .fused_qkv = kind == vision_kind::intern_vit};  // modeling_intern_vit.py
    case vision_kind::internvl_6b:
    case vision_kind::intern_vit_6b: return {.patch_bias = true, .class_token = true, .norm_vectors = 1, .bare_qkv = true, .qk_norms = true, .layer_scale = true, .fused_qkv = kind == vision_kind::intern_vit_6b};
    case vision_kind::qwen2_vl: return {.fused_qkv = true};
    case vision_kind::none: break;
  }
  return {};
}

/// Patch embedding and class token; of a tower, or of the main stack that reads the patches itself.
constexpr void add_patches(inventory& list, const vision_shape& v, std::int64_t width, module role) {
  const auto t = traits_of(v.kind);
  const std::int64_t inputs = checked::mul(v.channels, v.temporal_patch, v.patch, v.patch);
  list.add({.role = role, .rows = width, .columns = inputs, .linear = v.kind == vision_kind::llama4});
  list.add({.role = role, .rows = width, .per_layer = (t.patch_bias && !v.no_patch_bias ? 1 : 0) + (t.class_token ? 1 : 0)});
}

/// Parts of a layer as weight::parts has them.
template <class... Module>
constexpr std::uint8_t parts_of(Module... m) {
  return part_bits(((std::uint32_t{1} << static_cast<int>(m)) | ... | std::uint32_t{0}));
}
inline constexpr std::uint8_t first_part = parts_of(module::up_proj), last_part = parts_of(module::down_proj);

/// A biased dense layer, `copies` times.
constexpr void add_biased(inventory& list, module role, std::int64_t rows, std::int64_t columns, std::int64_t copies, std::uint8_t parts = 0,
                          split_axis split = split_axis::none) {
  add_matrix(list, {{}, copies, nullptr, parts}, role, rows, columns, split, true);
}
constexpr void add_unbiased(inventory& list, module role, std::int64_t rows, std::int64_t columns, std::uint8_t parts = 0) {
  add_matrix(list, {{}, 1, nullptr, parts}, role, rows, columns, split_axis::none, false);
}

/// The blocks of a tower and its position table.
constexpr void add_tower(inventory& list, const vision_shape& v) {
  const auto t = traits_of(v.kind);
  constexpr module role = module::vision;
  add_patches(list, v, v.hidden, role);
  list.add({.role = role, .rows = v.positions, .columns = v.hidden});
  const auto matrix = [&](std::uint8_t parts, std::int64_t rows, std::int64_t columns, split_axis split, bool biased) {
    add_matrix(list, {{}, checked::mul(std::popcount(parts), v.layers), nullptr, parts}, role, rows, columns, split, biased);
  };
  matrix(t.fused_qkv ? parts_of(module::q_proj) : parts_of(module::q_proj, module::k_proj, module::v_proj), (t.fused_qkv ? 3 : 1) * v.hidden, v.hidden, split_axis::rows, t.biased && !t.bare_qkv);
  matrix(parts_of(module::o_proj), v.hidden, v.hidden, split_axis::columns, t.biased);
  matrix(t.gated ? parts_of(module::gate_proj, module::up_proj) : first_part, v.ffn, v.hidden, split_axis::rows, t.biased);
  matrix(last_part, v.hidden, v.ffn, split_axis::columns, t.biased);
  const std::int64_t norms = checked::add(checked::mul(t.sandwich ? 4 : 2, v.layers), (t.front_norm ? 1 : 0) + (t.last_norm ? 1 : 0));
  list.add({.role = role, .rows = v.hidden, .per_layer = checked::mul(norms, t.norm_vectors)});
  if (const std::int64_t vectors = (t.qk_norms ? 2 : 0) + (t.layer_scale ? 2 : 0); vectors > 0)
    list.add({.role = role, .rows = v.hidden, .per_layer = checked::mul(v.layers, vectors)});
  if (t.head_norms && v.heads > 0) list.add({.role = role, .rows = v.hidden / v.heads, .per_layer = checked::mul(2, v.layers)});
  if (v.attention_pool) {  // SiglipMultiheadAttentionPoolingHead: probe, attention, norm, MLP
    list.add({.role = role, .rows = v.hidden, .per_layer = 3});
    add_biased(list, role, v.hidden, v.hidden, 4);
    add_biased(list, role, v.ffn, v.hidden, 1);
    add_biased(list, role, v.hidden, v.ffn, 1);
  }
}

/// InternVLChatModel.mlp1; Megatron-LM's MultimodalProjector, the MLP of a layer, which tensor parallelism divides.
constexpr void add_norm_mlp(inventory& list, const vision_shape& v, std::int64_t out) {
  constexpr module role = module::projector;
  const bool divided = v.projector_hidden > 0;
  const std::int64_t wide = checked::mul(v.merge, v.merge, v.hidden), inner = divided ? v.projector_hidden : out;
  list.add({.role = role, .rows = wide, .per_layer = 2});
  add_biased(list, role, inner, wide, 1, first_part, divided ? split_axis::rows : split_axis::none);
  add_biased(list, role, out, inner, 1, last_part, divided ? split_axis::columns : split_axis::none);
}

/// Glm4vVisionModel.downsample, which is the tower's, and Glm4vVisionPatchMerger.
constexpr void add_glm_merger(inventory& list, const vision_shape& v, std::int64_t out) {
  constexpr module role = module::projector;
  list.add({.role = module::vision, .rows = out, .columns = checked::mul(v.merge, v.merge, v.hidden)});
  list.add({.role = module::vision, .rows = out});
  add_unbiased(list, role, out, out, parts_of(module::o_proj));
  list.add({.role = role, .rows = out, .per_layer = 2});
  add_matrix(list, {{}, 2, nullptr, parts_of(module::gate_proj, module::up_proj)}, role, v.projector_hidden, out, split_axis::none, false);
  add_unbiased(list, role, out, v.projector_hidden, last_part);
}

constexpr void add_projector(inventory& list, const shape& m) {
  const auto& v = m.vision;
  constexpr module role = module::projector;
  const std::int64_t out = v.output > 0 ? v.output : m.hidden;
  switch (v.projector) {
    case projector_kind::none: break;
    case projector_kind::mlp:  // LlavaMultiModalProjector
      add_biased(list, role, out, v.hidden, 1, first_part);
      add_biased(list, role, out, out, 1, last_part);
      break;
    case projector_kind::norm_linear:  // Gemma3MultiModalProjector
      list.add({.role = role, .rows = v.hidden});
      add_unbiased(list, role, out, v.hidden);
      break;
    case projector_kind::merger: {  // PatchMerger; Qwen3VLVisionPatchMerger's deep ones norm the merged patches
      const std::int64_t wide = checked::mul(v.merge, v.merge, v.hidden);
      const std::int64_t vectors = traits_of(v.kind).norm_vectors;
      list.add({.role = role, .rows = v.hidden, .per_layer = vectors});
      list.add({.role = role, .rows = wide, .per_layer = checked::mul(v.deep_mergers, vectors)});
      add_biased(list, role, wide, wide, checked::add(v.deep_mergers, 1), first_part);
      add_biased(list, role, out, wide, checked::add(v.deep_mergers, 1), last_part);
      break;
    }
    case projector_kind::pixel_mlp:  // Llama4VisionMLP2 over intermediate_size inputs, Llama4MultiModalProjector
      add_unbiased(list, role, v.projector_hidden, v.ffn);
      add_unbiased(list, role, v.output, v.output);
      add_unbiased(list, role, m.hidden, v.output);
      break;
    case projector_kind::resampler:  // MiniCPM-V's Resampler: queries, kv_proj, attention, three norms, proj
      list.add({.role = role, .rows = v.resampler, .columns = out});
      if (v.hidden != out) add_unbiased(list, role, out, v.hidden);
      add_biased(list, role, out, out, 4);
      list.add({.role = role, .rows = out, .per_layer = 6});
      list.add({.role = role, .rows = out, .columns = out});
      break;
    case projector_kind::linear: add_biased(list, role, out, v.hidden, 1, first_part); break;  // PaliGemmaMultiModalProjector
    case projector_kind::pooled_linear: add_unbiased(list, role, out, v.hidden); break;  // Gemma4MultimodalEmbedder
    case projector_kind::shuffled_linear: add_unbiased(list, role, out, checked::mul(v.merge, v.merge, v.hidden), first_part); break;  // Idefics3SimpleMLP
    case projector_kind::norm_mlp: add_norm_mlp(list, v, out); break;
    case projector_kind::glm_merger: add_glm_merger(list, v, out); break;
    case projector_kind::patch_merger:  // Mistral3PatchMerger, Mistral3MultiModalProjector
      list.add({.role = role, .rows = v.hidden});
      add_unbiased(list, role, v.hidden, checked::mul(v.merge, v.merge, v.hidden), parts_of(module::gate_proj));
      add_unbiased(list, role, out, v.hidden, first_part);
      add_unbiased(list, role, out, out, last_part);
      break;
    case projector_kind::contrastive:
      if (v.kind == vision_kind::siglip) {  // SiglipModel: logit_scale, logit_bias
        list.add({.role = module::other, .rows = 1, .per_layer = 2});
      } else {  // CLIPModel: text_projection, visual_projection, logit_scale
        add_unbiased(list, role, out, m.hidden);
        add_unbiased(list, role, out, v.hidden);
        list.add({.role = module::other, .rows = 1});
      }
      break;
  }
}

/// Towers that are held and never run, in pieces of about the size of their matrices.
constexpr void add_held_towers(inventory& list, std::int64_t parameters) {
  constexpr std::int64_t piece = std::int64_t{1} << 22;
  list.add({.role = module::vision, .rows = piece, .per_layer = parameters / piece, .frozen = true});
  list.add({.role = module::vision, .rows = parameters % piece, .frozen = true});
}

constexpr void add_vision(inventory& list, const shape& m) {
  add_held_towers(list, m.vision.held);
  if (m.vision.kind == vision_kind::none) return;
  if (m.vision.layers <= 0) return add_patches(list, m.vision, m.hidden, module::other);
  add_tower(list, m.vision);
  add_projector(list, m);
  if (m.vision.newline) list.add({.role = module::projector, .rows = m.hidden});
}

}  // namespace headroom::detail
