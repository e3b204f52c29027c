// Distributed under the Boost Software License, Version 1.0.
// Dropout that a model's own configuration asks for: transformers' models drop while they train, whoever trains them.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io::detail {

/// Models of the zoo whose config.json (on the Hub, 2026-11) has a dropout, by how their names begin: GPT-2's attn_pdrop, embd_pdrop and resid_pdrop,
/// OPT's dropout (behind attention and the MLP, not behind the embedding: transformers models/opt/modeling_opt.py), Phi-2's resid_pdrop,
/// StarCoder2's attention_dropout, embedding_dropout and residual_dropout.
struct model_dropout {
  std::string_view model;
  double hidden{}, attention{}, embedding{};
};
inline constexpr model_dropout model_dropouts[] = {
    {"gpt2", 0.1, 0.1, 0.1}, {"distilgpt2", 0.1, 0.1, 0.1}, {"opt-", 0.1, 0, 0}, {"phi-2", 0.1, 0, 0}, {"starcoder2-", 0.1, 0.1, 0.1},
};

/// What a config.json says of it; null where it says nothing, or zero.
inline json_value dropout_of(const json_value& config) {
  const auto first = [&](std::string_view names) {
    for (const auto name : words_between_bars(names))
      if (const auto it = config.find(std::string{name}); it != config.end() && it->is_number()) return it->get<double>();
    return 0.0;
  };
  const auto hidden = first("resid_pdrop|residual_dropout|resid_dropout|hidden_dropout|hidden_dropout_prob|dropout"), attention = first("attn_pdrop|attention_dropout|attention_probs_dropout_prob");
  const auto embedding = first("embd_pdrop|embedding_dropout|embed_dropout");
  const auto some = [](double p) { return p > 0 && p <= 1; };
  if (!some(hidden) && !some(attention) && !some(embedding)) return nullptr;
  return {{"hidden", hidden}, {"attention", attention}, {"embedding", embedding}};
}

/// Under a program that trains transformers' models: `d.loaded` says that it loads one.
inline void settle_dropout(draft& d) {
  if (!d.loaded || d.has({"dropout"})) return;
  const auto* m = d.find({"model"});
  if (m != nullptr && m->is_string())
    for (const auto& known : model_dropouts)
      if (m->get_ref<const std::string&>().starts_with(known.model)) return d.replace("dropout", {{"hidden", known.hidden}, {"attention", known.attention}, {"embedding", known.embedding}}, d.place_of("model"));
  if (!d.model_drops.is_null()) d.replace("dropout", d.model_drops, d.place_of("model"));
}

}  // namespace headroom::io::detail
