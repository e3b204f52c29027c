// Distributed under the Boost Software License, Version 1.0.
// LFM2-VL: LFM2 behind SigLIP 2, whose images are padded to one number of patches. The tower is held, and samples are text alone.
#pragma once

#include <headroom/io/huggingface/text_of_sight.hpp>
#include <headroom/io/huggingface/ties.hpp>

namespace headroom::io::detail {

/// What its processor reads of the file, and the network does not.
inline void pass_over_tiles(const config& c) {
  c.ignore({"image_token_id", "image_token_index", "do_image_splitting", "encoder_patch_size", "max_image_tokens", "max_num_patches", "max_pixels_tolerance", "max_tiles", "min_image_tokens", "min_tiles", "tile_size",
            "use_image_special_tokens", "use_thumbnail", "vision_feature_layer"});
}

/// Lfm2VlForConditionalGeneration (transformers 5.17 models/lfm2_vl/modeling_lfm2_vl.py, models/siglip2/modeling_siglip2.py Siglip2VisionModel).
inline shape read_lfm2_vl(const config& c) {
  shape m = read_text_config(c.child("text_config"), "lfm2", "lfm2 and the other decoders");
  const auto sight = c.child("vision_config");
  if (const auto type = sight.text({"model_type"}, "siglip2_vision_model"); type != "siglip2_vision_model") complain(sight.at("model_type") + " must be siglip2_vision_model, found " + quoted_word(type));
  if (sight.flag("vision_use_head", true)) complain(sight.at("vision_use_head") + " must be false: a pooling head is counted, and not walked, by this version; found true");
  sight.ignore({"num_attention_heads", "hidden_act", "layer_norm_eps", "attention_dropout", "image_size"});
  pass_over_tiles(c);
  c.ignore({"projector_hidden_act"});
  const auto h = sight.size({"hidden_size"}, 768), ffn = sight.size({"intermediate_size"}, 3072), patch = sight.size({"patch_size"}, 16);
  const auto layer = checked::add(checked::mul(h, checked::add(checked::mul(4, h), checked::add(checked::mul(2, ffn), 9))), ffn);
  const auto front = checked::mul(h, checked::add(checked::mul(sight.size({"num_channels"}, 3), patch, patch), checked::add(sight.size({"num_patches"}, 256), 3)));
  const auto side = c.size({"downsample_factor"}, 2), joined = checked::mul(h, checked::mul(side, side)), inside = c.size({"projector_hidden_size"}, 2560), bias = std::int64_t{c.flag("projector_bias", true) ? 1 : 0};
  const auto joins = checked::add(checked::mul(inside, checked::add(joined, bias)), checked::mul(m.hidden, checked::add(inside, bias)));
  const auto norm = c.flag("projector_use_layernorm", true) ? checked::mul(2, joined) : 0;
  m.vision.held = checked::add(checked::add(front, checked::mul(sight.number({"num_hidden_layers"}, 12, 0, config::most), layer)), checked::add(joins, norm));
  tie_around_text(c, m, true);
  return m;
}

}  // namespace headroom::io::detail
