// Distributed under the Boost Software License, Version 1.0.
// Encoders of text that retrieve, and models of two stacks: DPR, FSMT, UDOP, Pix2Struct, T5Gemma 2.
#pragma once

#include <headroom/io/counted/seeing.hpp>
#include <headroom/io/counted/seq2seq.hpp>
#include <headroom/io/counted/t5.hpp>
#include <headroom/io/counted/text_relatives.hpp>

namespace headroom::io::detail {

/// transformers, modeling_dpr.py: BERT without a pooler, and a narrower vector if projection_dim says so.
inline std::int64_t count_dpr(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {});
  const auto narrow = c.number({"projection_dim"}, 0, 0);
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  if (narrow > 0) t.linear(component::head, s.hidden, narrow, true);
  c.ignore({"tie_word_embeddings", "num_labels", "id2label"});
  return narrow > 0 ? narrow : s.hidden;
}

/// modeling_fsmt.py: BART's layers over two vocabularies; the rows of positions follow the padding's number. The class ties when it is asked to.
inline constexpr seq2seq_family fsmt_family{.encoder = {12, 16, 4096}, .decoder = {12, 16, 4096}, .tables = false, .embedding_norm = false};
inline void count_fsmt(const config& c, tally& t) {
  pass_seq2seq_keys(c);
  c.ignore({"langs", "activation_function", "num_labels", "id2label"});
  const auto width = c.size({"d_model", "hidden_size"}, 1024);
  const auto encoder = read_side(c, "encoder", fsmt_family.encoder);
  require_equal(c, "num_hidden_layers", "encoder_layers", encoder.layers);
  count_seq2seq_side(c, fsmt_family, encoder, width, 0, false, t);
  count_seq2seq_side(c, fsmt_family, read_side(c, "decoder", fsmt_family.decoder), width, 0, true, t);
  const auto rows = checked::add(c.size({"max_position_embeddings"}, 1024), checked::add(c.number({"pad_token_id"}, 1, 0), 1));
  t.embedding(checked::mul(2, rows), width);
  const auto source = c.size({"src_vocab_size"}, 42024), target = c.size({"tgt_vocab_size"}, 42024);
  const bool tied = c.flag("tie_word_embeddings", false);
  if (tied && source != target) complain(c.at("tie_word_embeddings") + " must be false where the vocabularies differ, found true");
  t.embedding(target, width);
  if (!tied) t.embedding(source, width), t.linear(component::head, width, target, false);
}

/// modeling_udop.py: T5 with pictures, places on a page, and tables of distances on it for each stack; the first of them is the first layer's own.
template <t5_head Head>
void count_udop(const config& c, tally& t) {
  const t5_family family{.vocab = 33201, .layers = 24, .heads = 16, .ffn = 4096};
  auto read = c.object();
  read.erase("d_model"), read.erase("hidden_size");
  read["d_model"] = c.size({"d_model", "hidden_size"}, 1024);
  const auto s = read_t5_sizes(config{read, c.path(), c.asked()}, family);
  if (!c.flag("tie_word_embeddings", true)) complain(c.at("tie_word_embeddings") + " must be true for UDOP, found false");
  if (c.has("relative_bias_args")) {
    const auto given = *c.find({"relative_bias_args"});
    const json usual = json::array({{{"type", "1d"}}, {{"type", "horizontal"}}, {{"type", "vertical"}}});
    if (given != usual) complain(c.at("relative_bias_args") + " must be 1d, horizontal and vertical, found " + shown(given));
  }
  c.ignore({"num_labels", "id2label", "add_cross_attention"});
  const auto patch = places_of(c, "patch_size", 16);
  places_of(c, "image_size", 224);
  const auto window = checked::mul(c.size({"num_channels"}, 3), area(patch));
  const bool alone = Head == t5_head::encoder;
  t.embedding(s.vocab, s.hidden);
  t.embedding(checked::mul(2, c.size({"max_2d_position_embeddings"}, 1024)), s.hidden);
  t.linear(component::embedding, window, s.hidden, true, alone ? 1 : 2);
  count_t5_stack(family, s, s.encoder, false, t);
  if (!alone) count_t5_stack(family, s, s.decoder, true, t);
  t.add(component::attention, checked::mul(32, s.heads), Head == t5_head::base ? 6 : alone ? 2 : 4);  // as many rows as the tables have by default
}

/// modeling_pix2struct.py: patches with a row and a column each, and T5's decoder with gates.
inline void count_pix2struct_sight(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768), layers = c.number({"num_hidden_layers"}, 12, 0, config::most), ffn = c.size({"d_ff"}, 2048);
  const auto inner = checked::mul(c.count({"num_attention_heads"}, 12), c.size({"d_kv"}, 64));
  c.ignore({"dense_act_fn", "relative_attention_num_buckets", "relative_attention_max_distance", "tie_word_embeddings", "num_channels", "patch_size", "image_size"});
  t.linear(component::embedding, c.size({"patch_embed_hidden_size"}, 768), hidden, true);
  t.embedding(checked::mul(2, c.size({"seq_len"}, 4096)), hidden);
  count_layers({.layers = layers, .hidden = hidden, .ffn = ffn, .inner = inner, .bias = false, .key_bias = false, .out_bias = false, .mlp_bias = false, .gated = true, .rms = true}, t);
  t.rms_norm(hidden);
}
inline void count_pix2struct_text(const config& c, bool tied, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768), layers = c.number({"num_layers", "num_hidden_layers"}, 12, 0, config::most), ffn = c.size({"d_ff"}, 2048);
  const auto heads = c.count({"num_heads", "num_attention_heads"}, 12), vocab = c.size({"vocab_size"}, 50244);
  c.ignore({"d_kv", "dense_act_fn", "relative_attention_max_distance", "is_decoder", "add_cross_attention", "tie_word_embeddings"});
  t.embedding(vocab, hidden);
  t.add(component::attention, checked::mul(8, checked::mul(hidden, hidden)), layers);
  if (layers > 0) t.add(component::attention, checked::mul(c.size({"relative_attention_num_buckets"}, 32), heads));
  t.add(component::mlp, checked::mul(3, checked::mul(hidden, ffn)), layers);
  t.rms_norm(hidden, checked::add(checked::mul(3, layers), 1));
  if (!tied) t.linear(component::head, hidden, vocab, false);
}
inline void count_pix2struct(const config& c, tally& t) {
  c.ignore({"is_vqa", "text_config_dict", "vision_config_dict", "num_labels", "id2label"});
  for (const char* old : {"text_config_dict", "vision_config_dict"})
    if (c.has(old)) complain(c.at(old) + " is of older releases: say it in text_config and vision_config");
  t.within(component::vision, [&] { count_pix2struct_sight(c.child("vision_config"), t); });
  const auto text = c.child("text_config");
  if (c.flag("tie_word_embeddings", false) || text.flag("tie_word_embeddings", false))
    complain(c.at("tie_word_embeddings") + " must be false for Pix2Struct, in text_config too, found true");
  count_pix2struct_text(text, false, t);
}

/// modeling_t5gemma2.py: Gemma 3's layers on both sides, of which the decoder attends to both at once; one table of words, whose end-of-image
/// vector is its own; SigLIP beside the encoder.
inline std::int64_t count_t5gemma2_side(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 2304), layers = c.number({"num_hidden_layers"}, 26, 0, config::most), width = c.size({"head_dim"}, 256);
  const auto inner = checked::mul(c.count({"num_attention_heads"}, 8), width), shared = checked::mul(c.count({"num_key_value_heads"}, 4), width);
  const bool bias = c.flag("attention_bias", false);
  check_heads(c, hidden, c.count({"num_attention_heads"}, 8));
  c.ignore({"layer_types", "max_position_embeddings", "tie_word_embeddings", "is_decoder", "sliding_window_pattern", "use_bidirectional_attention", "_sliding_window_pattern", "num_labels", "id2label"});
  t.linear(component::attention, hidden, inner, bias, layers);
  t.linear(component::attention, hidden, shared, bias, checked::mul(2, layers));
  t.linear(component::attention, inner, hidden, bias, layers);
  t.add(component::mlp, checked::mul(3, checked::mul(hidden, c.size({"intermediate_size"}, 9216))), layers);
  t.rms_norm(hidden, checked::add(checked::mul(4, layers), 1));
  t.rms_norm(width, checked::mul(2, layers));
  return hidden;
}
template <t5_head Head>
void count_t5gemma2(const config& c, tally& t) {
  const auto side = c.child("encoder"), other = c.child("decoder"), text = side.child("text_config"), sight = side.child("vision_config");
  for (const config& one : {c, side, text})
    if (!one.flag("tie_word_embeddings", true)) complain(one.at("tie_word_embeddings") + " must be true for T5Gemma 2, found false");
  if (!c.flag("is_encoder_decoder", true)) complain(c.at("is_encoder_decoder") + " must be true, found false");
  c.ignore({"classifier_dropout_rate", "vocab_size", "eoi_token_index", "num_labels", "id2label"});
  side.ignore({"mm_tokens_per_image", "boi_token_index", "eoi_token_index", "num_labels", "id2label"});
  const auto vocab = text.size({"vocab_size"}, 262208);
  if (other.size({"vocab_size"}, 262208) != vocab) complain(other.at("vocab_size") + " must be the encoder's, found " + shown(other.find({"vocab_size"})));
  const auto hidden = count_t5gemma2_side(text, t);
  if (other.size({"hidden_size"}, 2304) != hidden) complain(other.at("hidden_size") + " must be the encoder's, " + std::to_string(hidden));
  t.embedding(checked::add(vocab, 1), hidden);
  count_t5gemma2_side(other, t);
  const auto width = count_tower(sight, t, "siglip_vision_model");
  t.add(component::projector, checked::mul(width, hidden));
  t.add(component::projector, width);
  if (Head == t5_head::sequence) count_classifier(c, t, hidden);
}

inline constexpr counted_class counted_text_last[] = {
    {"DPRQuestionEncoder", "dpr", [](const config& c, tally& t) { count_dpr(c, t); }},
    {"DPRContextEncoder", "dpr", [](const config& c, tally& t) { count_dpr(c, t); }},
    {"DPRReader", "dpr", [](const config& c, tally& t) { t.linear(component::head, count_dpr(c, t), 3, true); }},
    {"FSMTModel", "fsmt", count_fsmt},
    {"FSMTForConditionalGeneration", "fsmt", count_fsmt},
    {"UdopModel", "udop", count_udop<t5_head::base>},
    {"UdopForConditionalGeneration", "udop", count_udop<t5_head::words>},
    {"UdopEncoderModel", "udop", count_udop<t5_head::encoder>},
    {"Pix2StructForConditionalGeneration", "pix2struct", count_pix2struct},
    {"Pix2StructVisionModel", "pix2struct_vision_model", [](const config& c, tally& t) { count_pix2struct_sight(c, t); }},
    {"Pix2StructTextModel", "pix2struct_text_model", [](const config& c, tally& t) { count_pix2struct_text(c, c.flag("tie_word_embeddings", false), t); }},
    {"T5Gemma2Model", "t5gemma2", count_t5gemma2<t5_head::base>},
    {"T5Gemma2ForConditionalGeneration", "t5gemma2", count_t5gemma2<t5_head::words>},
    {"T5Gemma2ForSequenceClassification", "t5gemma2", count_t5gemma2<t5_head::sequence>},
    {"T5Gemma2ForTokenClassification", "t5gemma2", count_t5gemma2<t5_head::sequence>},
};

}  // namespace headroom::io::detail
