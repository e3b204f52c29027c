// Distributed under the Boost Software License, Version 1.0.
// What an encoder and a vision tower multiply beside the main stack's layers: stacks of layers of their own, and the matrices in front of, between
// and behind them, each with the positions that it reads.
// Sources: transformers 5.16 models/t5/modeling_t5.py T5LayerCrossAttention, models/whisper/modeling_whisper.py WhisperEncoder,
// models/clip/modeling_clip.py, models/siglip/modeling_siglip.py SiglipMultiheadAttentionPoolingHead, models/qwen2_5_vl/configuration_qwen2_5_vl.py
// (window_size 112, fullatt_block_indexes 7, 15, 23, 31); projectors as block/tower.hpp names them.
#pragma once

#include <headroom/block/cross.hpp>
#include <headroom/block/tower.hpp>

namespace headroom::detail {

/// `copies` matrices that turn `positions` vectors of `in` features into `out` each.
struct side_matrix {
  double positions{}, out{}, in{}, copies{1};
  module role{};
  module_set parts{};  ///< what its copies are, by the names that adapters are targeted with
  [[nodiscard]] constexpr double flops() const { return 2 * positions * out * in * copies; }
};

/// Positions of the encoder's sequence, of a decoder's `sequence` where the shape does not say.
constexpr double encoder_positions(const shape& m, double sequence) { return m.encoder.sequence > 0 ? static_cast<double>(m.encoder.sequence) : sequence; }

/// A tower's blocks as they are timed. Qwen2.5-VL's see windows of 8 × 8 patches, and all of an image in one layer of eight.
constexpr shape timed_tower(const vision_shape& v) {
  auto m = tower_shape(v);
  if (v.kind == vision_kind::qwen2_5_vl) m.sliding_window = 64, m.global_every = 8;
  return m;
}

/// Positions that a tower reads at once: patches of a tile, and the class token.
constexpr double tower_positions(const vision_shape& v) { return static_cast<double>(patches_of_tile(v) + (traits_of(v.kind).class_token ? 1 : 0)); }

/// Stacks beside the main one, with their samples and the positions of each: visit(stack, samples, sequence).
constexpr void for_each_side_stack(const shape& m, double samples, double sequence, auto&& visit) {
  if (m.encoder.layers > 0) visit(encoder_stack(m), samples, encoder_positions(m, sequence));
  if (m.vision.layers > 0) visit(timed_tower(m.vision), samples * static_cast<double>(tiles(m.vision)), tower_positions(m.vision));
}

/// Matrices of a layer's attention to the encoder: queries and output over the stream, keys and values over the encoder's result.
constexpr void for_each_cross_matrix(const shape& m, double samples, double sequence, double layers, auto&& visit) {
  if (!m.encoder.cross_attention) return;
  const double own = samples * sequence, read = samples * encoder_positions(m, sequence);
  const auto hidden = static_cast<double>(m.hidden), wide = static_cast<double>(m.query_width()), shared = static_cast<double>(m.kv_width());
  visit(side_matrix{own, wide, hidden, layers, module::cross_attention, {module::q_proj}});
  visit(side_matrix{own, hidden, wide, layers, module::cross_attention, {module::o_proj}});
  visit(side_matrix{read, shared, hidden, 2 * layers, module::cross_attention, {module::k_proj, module::v_proj}});
}

/// From a tower's last block to the language model.
constexpr void for_each_projector_matrix(const shape& m, double samples, auto&& visit) {
  const auto& v = m.vision;
  const auto out = static_cast<double>(v.output > 0 ? v.output : m.hidden), text = static_cast<double>(m.hidden), from = static_cast<double>(v.hidden);
  const double cut = samples * static_cast<double>(tiles(v)), patches = cut * static_cast<double>(patches_of_tile(v));
  const auto side = static_cast<double>(v.merge > 0 ? v.merge : 1), merged = patches / (side * side), wide = side * side * from;
  const auto add = [&](double positions, double to, double of, double copies = 1) { visit(side_matrix{positions, to, of, copies, module::projector}); };
  switch (v.projector) {
    case projector_kind::none: break;
    case projector_kind::mlp: add(patches, out, from), add(patches, out, out); break;
    case projector_kind::linear: add(patches, out, from); break;
    case projector_kind::pooled_linear: add(samples * static_cast<double>(image_tokens(v)), out, from); break;
    case projector_kind::norm_linear: add(samples * static_cast<double>(image_tokens(v)), out, from); break;
    case projector_kind::merger: {
      const auto times = static_cast<double>(v.deep_mergers + 1);
      add(merged, wide, wide, times), add(merged, out, wide, times);
      break;
    }
    case projector_kind::pixel_mlp: {
      const auto inner = static_cast<double>(v.projector_hidden);
      add(merged, inner, static_cast<double>(v.ffn)), add(merged, out, out), add(merged, text, out);
      break;
    }
    case projector_kind::shuffled_linear: add(merged, out, wide); break;
    case projector_kind::norm_mlp: {
      const double read = samples * static_cast<double>(image_tokens(v)), inner = v.projector_hidden > 0 ? static_cast<double>(v.projector_hidden) : out;
      add(read, inner, wide), add(read, out, inner);
      break;
    }
    case projector_kind::glm_merger: add(merged, out, wide), add(merged, out, out), add(merged, static_cast<double>(v.projector_hidden), out, 3); break;
    case projector_kind::patch_merger: add(merged, from, wide), add(merged, out, from), add(merged, out, out); break;
    case projector_kind::resampler: {
      const double queries = cut * static_cast<double>(v.resampler);
      if (v.hidden != (v.output > 0 ? v.output : m.hidden)) add(patches, out, from);
      add(patches, out, out, 2), add(queries, out, out, 3);
      break;
    }
    case projector_kind::contrastive:
      if (v.kind != vision_kind::siglip) add(samples, out, text), add(cut, out, from);
      break;
  }
}

/// The rest: convolutions that make vectors of pixels and of spectra, and SigLIP's head.
constexpr void for_each_end_matrix(const shape& m, double samples, double sequence, auto&& visit) {
  const auto& v = m.vision;
  if (v.kind != vision_kind::none) {
    const auto width = static_cast<double>(v.layers > 0 ? v.hidden : m.hidden), ffn = static_cast<double>(v.ffn);
    const double cut = samples * static_cast<double>(tiles(v)), all = cut * tower_positions(v);
    const auto role = v.layers > 0 ? module::vision : module::other;
    const double pixels = static_cast<double>(v.channels) * static_cast<double>(v.temporal_patch) * static_cast<double>(v.patch) * static_cast<double>(v.patch);
    visit(side_matrix{cut * static_cast<double>(patches_of_tile(v)), width, pixels, 1, role});
    if (v.attention_pool) {
      visit(side_matrix{all, width, width, 2, role});
      visit(side_matrix{cut, width, width, 2, role});
      visit(side_matrix{cut, ffn, width, 2, role});
    }
  }
  if (m.encoder.layers > 0 && m.encoder.audio_channels > 0) {
    const auto width = static_cast<double>(m.hidden);
    const double read = samples * encoder_positions(m, sequence);
    visit(side_matrix{2 * read, width, 3 * static_cast<double>(m.encoder.audio_channels), 1, module::encoder});
    visit(side_matrix{read, width, 3 * width, 1, module::encoder});
  }
}

/// All of them, of a forward of the whole model.
constexpr void for_each_side_matrix(const shape& m, double samples, double sequence, auto&& visit) {
  for_each_cross_matrix(m, samples, sequence, static_cast<double>(m.layers), visit);
  if (m.vision.layers > 0) for_each_projector_matrix(m, samples, visit);
  for_each_end_matrix(m, samples, sequence, visit);
}

/// Weights that for_each_side_matrix() or a stack beside the main one answers for.
constexpr bool beside_main_stack(module role) {
  return role == module::encoder || role == module::cross_attention || role == module::vision || role == module::projector;
}

/// Whether a classifier reads one position of a sample, as encoder_head() has it (block/encoder.hpp).
constexpr bool reads_first_position(const shape& m) {
  return m.head == head_kind::none && (m.pooler || (m.vision.kind != vision_kind::none && m.classes > 0));
}

}  // namespace headroom::detail
