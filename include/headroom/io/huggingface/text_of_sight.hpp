// Distributed under the Boost Software License, Version 1.0.
// The language model behind a tower, of any family.
#pragma once

#include <headroom/io/huggingface/dense.hpp>
#include <headroom/io/huggingface/gpt.hpp>
#include <headroom/io/huggingface/descendants.hpp>
#include <headroom/io/huggingface/mixed.hpp>
#include <headroom/io/huggingface/refusals.hpp>
#include <headroom/io/huggingface/sparse.hpp>

namespace headroom::io::detail {

/// A decoder of any family that has one.
inline bool read_decoder(const config& c, std::string_view type, shape& m) {
  return read_hybrid_decoder(c, type, m) || read_mixed_decoder(c, type, m) || read_sparse_decoder(c, type, m) || read_descended_decoder(c, type, m) || read_listed(dense_decoders, c, type, m) || read_gpt_decoder(c, type, m);
}

inline shape read_text_config(const config& text, const char* usual, const char* accepted) {
  const auto type = text.text({"model_type"}, usual);
  shape m;
  if (!read_decoder(text, type, m))
    complain(text.at("model_type") + " is " + quoted_word(type) + ", which no language model here has; accepted are " + accepted);
  check_foreign(text, m, type);
  return m;
}

inline void require_one_layer(const config& c) {
  if (const json* layer = c.find({"vision_feature_layer"}); layer != nullptr && layer->is_array() && layer->size() != 1)
    complain(c.at("vision_feature_layer") + " must be one layer, found " + shown(*layer));
}

}  // namespace headroom::io::detail
