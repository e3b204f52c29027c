// Distributed under the Boost Software License, Version 1.0.
// Text in other ways: Reformer, Perceiver, ESM C, ProphetNet's sides by themselves and BLT's patcher. Each comment names the file of
// transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language_more.hpp>
#include <headroom/io/counted/text_narrow.hpp>
#include <headroom/io/counted/vision_blocks.hpp>

namespace headroom::io::detail {

/// modeling_reformer.py: layers whose queries are their keys (lsh) or not (local), and positions along two axes. The stack's output is twice as wide.
inline std::int64_t count_reformer(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 256), inner = checked::mul(c.count({"num_attention_heads"}, 12), c.size({"attention_head_size"}, 64)), ffn = c.size({"feed_forward_size"}, 512);
  static const json usual{"local", "lsh", "local", "lsh", "local", "lsh"};
  const json* list = c.find({"attn_layers"});
  const json& words = list == nullptr ? usual : *list;
  if (!words.is_array()) complain(c.at("attn_layers") + " must be a list of \"local\" and \"lsh\", found " + shown(words));
  const auto layers = static_cast<std::int64_t>(words.size());
  if (c.count({"num_hidden_layers"}, layers) != layers) complain(c.at("num_hidden_layers") + " must be the length of attn_layers, " + std::to_string(layers));
  c.ignore({"axial_norm_std", "chunk_size_lm_head", "hash_seed", "local_num_chunks_before", "local_num_chunks_after", "local_attention_probs_dropout_prob", "local_attn_chunk_length", "lsh_attn_chunk_length",
            "lsh_attention_probs_dropout_prob", "lsh_num_chunks_before", "lsh_num_chunks_after", "num_buckets", "num_hashes", "is_decoder", "max_position_embeddings"});
  t.embedding(c.size({"vocab_size"}, 320), hidden);
  if (c.flag("axial_pos_embds", true)) {
    const auto shape = list_of(c, "axial_pos_shape", {64, 64}), widths = list_of(c, "axial_pos_embds_dim", {64, 192});
    if (shape.size() != widths.size()) complain(c.at("axial_pos_shape") + " must be as long as axial_pos_embds_dim");
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) t.embedding(shape[i], widths[i]), sum = checked::add(sum, widths[i]);
    if (sum != hidden) complain(c.at("axial_pos_embds_dim") + " must add up to hidden_size, " + std::to_string(hidden) + ", found " + std::to_string(sum));
  } else {
    t.embedding(c.size({"max_position_embeddings"}, 4096), hidden);
  }
  for (const auto& word : words) {
    if (word != "local" && word != "lsh") complain(c.at("attn_layers") + " must hold \"local\" and \"lsh\" alone, found " + shown(word));
    t.linear(component::attention, hidden, inner, false, word == "lsh" ? 2 : 3);
  }
  t.linear(component::attention, inner, hidden, false, layers);
  count_plain_mlp(t, component::mlp, hidden, ffn, true, layers);
  t.layer_norm(hidden, checked::mul(2, layers));
  t.layer_norm(checked::mul(2, hidden));
  return hidden;
}
inline void pass_reformer_head(const config& c) { c.ignore({"tie_word_embeddings", "num_labels", "id2label", "classifier_dropout"}); }
inline void count_reformer_words(const config& c, tally& t) {
  const auto hidden = count_reformer(c, t);
  if (c.flag("tie_word_embeddings", false)) complain(c.at("tie_word_embeddings") + " must be false: the head is twice as wide as the table, found true");
  t.linear(component::head, checked::mul(2, hidden), c.size({"vocab_size"}, 320), true);
  pass_reformer_head(c);
}

/// modeling_perceiver.py, PerceiverLayer: attention of `q` numbers to `kv`, and an MLP. Cross-attention has a norm over what it attends to.
struct perceiver_layer {
  std::int64_t q{}, kv{}, keys{}, values{}, wide{1};
  bool cross{};
};
inline void count_perceiver_layer(const perceiver_layer& l, tally& t, std::int64_t times = 1) {
  t.layer_norm(l.q, checked::mul(2, times));
  if (l.cross) t.layer_norm(l.kv, times);
  t.linear(component::attention, l.q, l.keys, true, times);
  t.linear(component::attention, l.kv, checked::add(l.keys, l.values), true, times);
  t.linear(component::attention, l.values, l.cross ? l.q : l.values, true, times);
  count_plain_mlp(t, component::mlp, l.q, checked::mul(l.wide, l.q), true, times);
}
/// PerceiverModel without what stands before and behind it: latents attend to inputs `kv` wide, then to themselves.
inline std::int64_t count_perceiver(const config& c, tally& t, std::int64_t kv) {
  const auto latents = c.size({"d_latents"}, 1280);
  const auto heads = c.count({"num_self_attention_heads"}, 8), crossing = c.count({"num_cross_attention_heads"}, 8);
  const auto shape = c.text({"cross_attention_shape_for_attention"}, "kv");
  if (shape != "kv" && shape != "q") complain(c.at("cross_attention_shape_for_attention") + " must be \"kv\" or \"q\", found " + quoted_word(shape));
  if (c.has("qk_channels") || c.has("v_channels")) complain(c.at("qk_channels") + " and v_channels must be absent here");
  const auto width = shape == "q" ? latents : kv;
  check_heads(c, latents, heads), check_heads(c, latents, crossing), check_heads(c, width, crossing);
  c.ignore({"num_blocks", "use_query_residual", "image_size", "train_size", "num_frames", "audio_samples_per_frame", "samples_per_patch", "output_shape", "output_num_channels", "_label_trainable_num_channels", "d_model", "vocab_size",
            "max_position_embeddings", "tie_word_embeddings", "num_labels", "id2label", "qk_channels", "v_channels"});
  t.embedding(c.size({"num_latents"}, 256), latents);
  count_perceiver_layer({latents, kv, width, width, c.count({"cross_attention_widening_factor"}, 1), true}, t);
  count_perceiver_layer({latents, latents, latents, latents, c.count({"self_attention_widening_factor"}, 1), false}, t, c.number({"num_self_attends_per_block"}, 26, 0, config::most));
  return latents;
}
/// PerceiverTextPreprocessor: words and places.
inline std::int64_t count_perceiver_text(const config& c, tally& t) {
  const auto width = c.size({"d_model"}, 768);
  t.embedding(checked::add(c.size({"vocab_size"}, 262), c.size({"max_position_embeddings"}, 2048)), width);
  return width;
}
/// PerceiverClassificationDecoder: one place asks for all labels.
inline void count_perceiver_classes(const config& c, tally& t, std::int64_t latents) {
  const auto labels = labels_of(c);
  t.embedding(1, latents);
  count_perceiver_layer({latents, latents, latents, latents, 1, true}, t);
  t.linear(component::head, latents, labels, true);
}
inline void count_perceiver_words(const config& c, tally& t) {
  const auto width = count_perceiver_text(c, t), latents = count_perceiver(c, t, width);
  check_heads(c, width, 8);
  t.embedding(c.size({"max_position_embeddings"}, 2048), width);
  count_perceiver_layer({width, latents, 256, width, 1, true}, t);
  t.add(component::head, c.size({"vocab_size"}, 262));
}
inline void count_perceiver_pictures(const config& c, tally& t) {
  const auto side = c.size({"image_size"}, 56);
  t.embedding(checked::mul(side, side), 256);
  t.linear(component::embedding, 256, 256, true);
  count_conv(t, 3, 256, 1, true);
  count_perceiver_classes(c, t, count_perceiver(c, t, 512));
}

/// modeling_esmc.py: gated layers over proteins; q and k have norms as wide as the model, layers have biases in theirs.
inline std::int64_t count_esmc(const config& c, tally& t) {
  auto s = read_language(c, {80, 2560, 40, 0, 0, 6912, 64});
  check_heads(c, s.hidden, s.heads);
  if (s.kv != s.heads) complain(c.at("num_key_value_heads") + " must be num_attention_heads, " + std::to_string(s.heads) + ", found " + std::to_string(s.kv));
  if (checked::mul(s.heads, s.head_dim) != s.hidden) complain(c.at("head_dim") + " must be hidden_size / num_attention_heads, found " + std::to_string(s.head_dim));
  c.ignore({"tie_word_embeddings", "classifier_dropout"});
  const bool bias = c.flag("attention_bias", false), mlp_bias = c.flag("mlp_bias", false);
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, bias, bias, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, mlp_bias, s.layers);
  t.layer_norm(s.hidden, checked::mul(2, s.layers));
  return s.hidden;
}

/// ProphetNetEncoder and ProphetNetDecoder, each with its table of words.
template <bool Decodes>
void count_prophetnet_alone(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 1024);
  c.ignore({"relative_max_distance", "disable_ngram_loss", "eps", "is_decoder", "num_labels", "id2label", "num_hidden_layers", "num_encoder_layers", "num_encoder_attention_heads", "encoder_ffn_dim", "num_decoder_layers",
            "num_decoder_attention_heads", "decoder_ffn_dim", "ngram", "num_buckets", "add_cross_attention", "tie_word_embeddings"});
  t.embedding(c.size({"vocab_size"}, 30522), hidden);
  count_prophetnet_side(c, Decodes ? "decoder" : "encoder", hidden, c.size({"max_position_embeddings"}, 512), t);
}

inline constexpr counted_class counted_text_rare[] = {
    {"ReformerModel", "reformer", [](const config& c, tally& t) { count_reformer(c, t), pass_reformer_head(c); }},
    {"ReformerForMaskedLM", "reformer", count_reformer_words},
    {"ReformerForQuestionAnswering", "reformer", [](const config& c, tally& t) {
       t.linear(component::head, checked::mul(2, count_reformer(c, t)), labels_of(c), true);
       pass_reformer_head(c);
     }},
    {"ReformerForSequenceClassification", "reformer", [](const config& c, tally& t) {
       const auto hidden = count_reformer(c, t);
       t.linear(component::head, checked::mul(2, hidden), hidden, true);
       count_classifier(c, t, hidden);
       pass_reformer_head(c);
     }},
    {"PerceiverModel", "perceiver", [](const config& c, tally& t) { count_perceiver(c, t, c.size({"d_model"}, 768)); }},
    {"PerceiverForMaskedLM", "perceiver", count_perceiver_words},
    {"PerceiverForSequenceClassification", "perceiver", [](const config& c, tally& t) { count_perceiver_classes(c, t, count_perceiver(c, t, count_perceiver_text(c, t))); }},
    {"PerceiverForImageClassificationLearned", "perceiver", count_perceiver_pictures},
    {"EsmcModel", "esmc", [](const config& c, tally& t) { count_esmc(c, t), ignore_labels(c); }},
    {"EsmcForMaskedLM", "esmc", [](const config& c, tally& t) {
       const auto hidden = count_esmc(c, t);
       t.linear(component::head, hidden, hidden, true);
       t.layer_norm(hidden);
       t.linear(component::head, hidden, c.size({"vocab_size"}, 64), true);
       ignore_labels(c);
     }},
    {"EsmcForSequenceClassification", "esmc", [](const config& c, tally& t) {
       const auto hidden = count_esmc(c, t);
       t.linear(component::head, hidden, hidden, true);
       count_classifier(c, t, hidden);
     }},
    {"EsmcForTokenClassification", "esmc", [](const config& c, tally& t) { count_classifier(c, t, count_esmc(c, t)); }},
    {"ProphetNetEncoder", "prophetnet", count_prophetnet_alone<false>},
    {"ProphetNetDecoder", "prophetnet", count_prophetnet_alone<true>},
    {"BltPatcher", "blt_patcher", [](const config& c, tally& t) {
       const auto p = count_blt_stack(c, t, {14, 768, 2048}, false, false);
       t.embedding(checked::mul(2, c.size({"vocab_size"}, 260)), p.hidden);
       t.rms_norm(p.hidden);
       ignore_labels(c);
     }},
};

}  // namespace headroom::io::detail
