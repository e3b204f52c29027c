// Distributed under the Boost Software License, Version 1.0.
// Encoders of text.
#pragma once

#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

/// transformers, modeling_electra.py: BERT behind narrow embeddings; `embeddings_project` where the two widths differ.
struct electra_sizes {
  std::int64_t vocab, embedding, hidden;
};
inline electra_sizes count_electra(const config& c, tally& t) {
  const electra_sizes s{c.size({"vocab_size"}, 30522), c.size({"embedding_size"}, 128), c.size({"hidden_size"}, 256)};
  check_heads(c, s.hidden, c.count({"num_attention_heads"}, 4));
  c.ignore({"summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"});
  pass_bert_keys(c);
  t.embedding(s.vocab, s.embedding);
  t.embedding(c.size({"max_position_embeddings"}, 512), s.embedding);
  t.embedding(c.size({"type_vocab_size"}, 2), s.embedding);
  t.layer_norm(s.embedding);
  if (s.embedding != s.hidden) t.linear(component::embedding, s.embedding, s.hidden, true);
  count_encoder({c.number({"num_hidden_layers"}, 12, 0, config::most), s.hidden, c.size({"intermediate_size"}, 1024)}, t);
  return s;
}

inline constexpr counted_class counted_encoders[] = {
    {"ElectraModel", "electra", [](const config& c, tally& t) { count_electra(c, t); }},
    {"ElectraForPreTraining", "electra", [](const config& c, tally& t) {
       const auto s = count_electra(c, t);
       c.ignore({"tie_word_embeddings"});
       t.linear(component::head, s.hidden, s.hidden, true);
       t.linear(component::head, s.hidden, 1, true);
     }},
};

}  // namespace headroom::io::detail
