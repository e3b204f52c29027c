// Distributed under the Boost Software License, Version 1.0.
// What many classes are made of: encoders as BERT has them, and models inside models.
#pragma once

#include <headroom/io/counted/tally.hpp>
#include <headroom/io/huggingface/walked.hpp>

#include <optional>

namespace headroom::io::detail {

/// Layers of self-attention and a plain MLP, each behind a LayerNorm of weight and bias; every matrix has a bias.
struct encoder_sizes {
  std::int64_t layers{}, hidden{}, ffn{};
};
inline void count_encoder(const encoder_sizes& e, tally& t) {
  t.linear(component::attention, e.hidden, e.hidden, true, checked::mul(4, e.layers));
  t.linear(component::mlp, e.hidden, e.ffn, true, e.layers);
  t.linear(component::mlp, e.ffn, e.hidden, true, e.layers);
  t.layer_norm(e.hidden, checked::mul(2, e.layers));
}

/// The head of a classifier: one matrix, with a bias unless the class leaves it out.
inline void count_classifier(const config& c, tally& t, std::int64_t hidden, bool bias = true) { t.linear(component::head, hidden, labels_of(c), bias); }

/// The model of a configuration inside another as a shape, without a head, where its family is one whose layers are walked.
inline std::optional<shape> walked_inner(const config& c, const std::string& type) {
  for (const auto& f : family_names)
    if (type == f.type || type == std::string{f.type} + "_text") {
      auto inner = c.object();
      inner["model_type"] = type;
      inner["architectures"] = json::array({std::string{f.prefix} + "Model"});
      auto model = walked_config(inner, c.path());
      ask_all(c);
      return model;
    }
  return {};
}

/// The parameters of the model that AutoModel makes of a configuration inside another, without a head. Where it names no model_type, it is of
/// `usual`. Throws job_error where that type is not known.
inline parameter_count count_inner(const config& c, const char* usual);

}  // namespace headroom::io::detail
