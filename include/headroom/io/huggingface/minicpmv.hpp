// Distributed under the Boost Software License, Version 1.0.
// MiniCPM-V, whose code comes beside the checkpoint.
#pragma once

#include <headroom/io/huggingface/text_of_sight.hpp>
#include <headroom/io/huggingface/towers.hpp>

namespace headroom::io::detail {

/// MiniCPM-V 2.5 (Llama 3) and 2.6 (Qwen2): the text's keys at the top, SigLIP without its head, a resampler.
inline shape read_minicpmv(const config& c) {
  const json* version = c.find({"version"});
  const double v = version != nullptr && version->is_number() ? version->get<double>() : 0.0;
  const char* family = v == 2.6 ? "qwen2" : v == 2.5 ? "llama" : nullptr;
  if (family == nullptr || !c.has("vision_config"))
    complain(c.at("version") + " of MiniCPM-V must be 2.5 or 2.6, with a vision_config (earlier ones take their tower from timm), found " +
             (version != nullptr ? shown(*version) : "none"));
  shape m;
  read_decoder(c, family, m);
  m.vision = read_tower(c.child("vision_config"), vision_kind::siglip, siglip_tower);
  if (c.flag("drop_vision_last_layer", false)) m.vision.layers -= 1;
  m.vision.projector = projector_kind::resampler;
  m.vision.resampler = c.size({"query_num"}, 64);
  return m;
}

}  // namespace headroom::io::detail
