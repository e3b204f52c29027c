// Distributed under the Boost Software License, Version 1.0.
// The language model behind a tower, of any family.
#pragma once

#include <headroom/io/huggingface/dense.hpp>
#include <headroom/io/huggingface/gpt.hpp>
#include <headroom/io/huggingface/descendants.hpp>
#include <headroom/io/huggingface/mixed.hpp>
#include <headroom/io/huggingface/sparse.hpp>
#include <headroom/io/huggingface/unread.hpp>

namespace headroom::io::detail {

/// Families whose router is DeepSeek's, all in fp32: where no shared experts say so, the shape does.
inline constexpr std::string_view fp32_routers = "deepseek_v2 deepseek_v3 deepseek_v32 glm_moe_dsa dots1 glm4_moe glm4_moe_lite glm4v_moe_text solar_open exaone_moe ernie4_5_moe";

/// A decoder of any family that has one. One expert a token beside a shared one says Llama 4 (block/experts.hpp, style_of): of other families, whose top-k
/// may be 1 as well, the shape says that their router is DeepSeek's.
inline bool read_decoder(const config& c, std::string_view type, shape& m) {
  const bool known = read_hybrid_decoder(c, type, m) || read_mixed_decoder(c, type, m) || read_sparse_decoder(c, type, m) || read_descended_decoder(c, type, m) || read_listed(dense_decoders, c, type, m) || read_gpt_decoder(c, type, m);
  auto& e = m.experts;
  if (known && type != "llama4_text" && e.active == 1 && e.shared_ffn > 0 && !e.shared_gate && !e.bias && !e.plain_router && !m.latent()) e.fp32_router = true;
  if (m.sparse() && e.shared_ffn == 0 && has_word(fp32_routers, type)) {
    e.fp32_router = true;
    if (type != "ernie4_5_moe") e.shared = 1;  // their classes call shared experts of no width, too, whose matrices keep what they read (DeepseekV3MoE.forward)
  }
  return known;
}

inline shape read_text_config(const config& text, const char* usual, const char* accepted) {
  const auto type = text.text({"model_type"}, usual);
  shape m;
  if (!read_decoder(text, type, m))
    complain(text.at("model_type") + " is " + quoted_word(type) + ", which no language model here has; accepted are " + accepted);
  check_foreign(text, m, type);
  return m;
}

/// How many blocks of a tower of so many lie behind the one whose result is read (hidden_states[vision_feature_layer], of which the first is the patches').
/// `usual`: what the class takes where nothing is said.
inline std::int64_t unread_layers(const config& c, std::int64_t layers, std::int64_t usual) {
  const json* layer = c.find({"vision_feature_layer"});
  const auto behind = [&](std::int64_t at) {
    const auto r = at < 0 ? -1 - at : layers - at;
    if (r < 0 || r >= layers) complain(c.at("vision_feature_layer") + " must be a layer of the tower's, which has " + std::to_string(layers) + ", found " + std::to_string(at));
    return r;
  };
  if (layer == nullptr || layer->is_null()) return behind(usual);
  const json& one = layer->is_array() && layer->size() == 1 ? layer->front() : *layer;
  if (!one.is_number_integer() || one < -config::most || one > config::most) complain(c.at("vision_feature_layer") + " must be one layer, found " + shown(*layer));
  return behind(one.get<std::int64_t>());
}

}  // namespace headroom::io::detail
