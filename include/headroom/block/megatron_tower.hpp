// Distributed under the Boost Software License, Version 1.0.
// A vision tower that Megatron-LM builds of its own layers and trains: patches, layers as the language model's, and a projector. Tensor parallelism
// divides it, sequence and context parallelism do not (pretrain_vlm.py model_provider).
// Sources: Megatron-LM core/models/vision/clip_vit_model.py CLIPViTModel, multimodal_projector.py MultimodalProjector; core/models/multimodal/llava_model.py
// LLaVAModel.forward, _preprocess_data.
#pragma once

#include <headroom/block/megatron.hpp>
#include <headroom/model/towers.hpp>

namespace headroom::megatron {

/// Its layers as a stack: the language model's, in the tower's widths, without a mask.
constexpr shape tower_stack(const shape& m) {
  shape t = m;
  const auto& v = m.vision;
  t.layers = v.layers;
  t.hidden = v.hidden;
  t.heads = v.heads;
  t.kv_heads = t.head_dim = 0;
  t.ffn = v.ffn;
  t.experts = {};
  t.vision = {};
  t.position = position_kind::none;
  t.bidirectional = true;
  return t;
}

/// Patches and a class token of each image.
constexpr scene tower_scene(const scene& s, const shape& stack, const vision_shape& v) {
  scene t = s;
  t.model = &stack;
  t.sequence = patches_of_tile(v) + 1;
  t.samples = checked::mul(s.samples, tiles(v));
  t.tokens = checked::mul(t.samples, t.sequence);
  t.sequence_split = t.context = 1;
  t.zeroes_padding = false;  // no mask at all
  if (stack.head_width() % 8 != 0) t.kernel = attention::eager;  // as settle/layer.hpp has it
  return t;
}

/// A convolution makes patches; the class token is put in front of them, positions are added, and a norm follows; the result is turned to s-b-h.
constexpr program tower_front(const scene& s, const vision_shape& v) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto pixels = checked::mul(s.samples, v.channels, checked::mul(v.image, v.image_height > 0 ? v.image_height : v.image));
  const auto x = p.input(pixels, s.width, false);
  const auto elements = checked::mul(s.tokens, m.hidden), patches = elements - checked::mul(s.samples, m.hidden);
  const auto cut = p.make(patches, s.width), joined = p.make(elements, s.width), placed = p.make(elements, s.width);
  p.step(x.bit(), cut.bit(), {.saves = x.bit(), .weight_gradient = p.rounded(checked::mul(m.hidden, checked::mul(v.channels, checked::mul(v.patch, v.patch))), s.weight_width)});
  p.require_gradient(cut);
  p.step(cut.bit(), joined.bit());
  p.step(joined.bit(), placed.bit(), {.passes_gradient = true});
  const auto turned = p.make(elements, s.width);
  p.step(norm(p, s, placed, s.tokens).bit(), turned.bit());
  p.set_output(turned);
  return p;
}

/// Behind the last layer, which no norm ends: turned to b-s-h and, without the class token where that is dropped, to s-b-h again, for the projector. What it
/// makes is written among the text's embeddings (index_put_ keeps the places alone), and that is turned to s-b-h, the input of the language model.
constexpr program tower_back(const scene& s, const shape& whole, const scene& text) {
  const auto& m = *s.model;
  const auto& v = whole.vision;
  program p(s.granule);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.width, true);
  scene read = s;
  read.tokens = checked::mul(s.samples, v.tokens > 0 ? v.tokens : s.sequence);
  const auto turned = p.make(p.elements(x), s.width), back = p.make(checked::mul(read.tokens, m.hidden), s.width);
  p.step(x.bit(), turned.bit());
  p.step(turned.bit(), back.bit());
  const auto up = column(p, read, norm(p, read, back, read.tokens), m.hidden, v.projector_hidden, true);
  const auto activated = p.make(p.elements(up), s.width);
  p.step(up.bit(), activated.bit(), {.saves = up.bit()});
  const auto made = row_parallel(p, read, activated, v.projector_hidden, whole.hidden, true);
  const auto sum = p.make(p.elements(made), s.width);
  p.step(made.bit(), sum.bit(), {.passes_gradient = true});
  const auto all = checked::mul(text.samples, text.sequence, whole.hidden);
  const auto among = p.make(all, s.width);
  p.step(sum.bit(), among.bit(), {.forward_temporary = p.rounded(all, s.width)});
  p.set_output(among);
  return p;
}

}  // namespace headroom::megatron
