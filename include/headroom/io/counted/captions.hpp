// Distributed under the Boost Software License, Version 1.0.
// Models that join pictures and words with layers as BERT has them: BLIP, BLIP-2, InstructBLIP, GIT, ViLT, VisualBERT, LXMERT.
#pragma once

#include <headroom/io/counted/contrastive.hpp>
#include <headroom/io/counted/seeing.hpp>

namespace headroom::io::detail {

/// BERT's head over its vocabulary. Where it is not the table of words, it has a matrix and a bias more.
inline void count_masked_head(tally& t, std::int64_t hidden, std::int64_t vocab, bool tied) {
  t.linear(component::head, hidden, hidden, true);
  t.layer_norm(hidden);
  t.add(component::head, vocab);
  if (!tied) t.linear(component::head, hidden, vocab, true);
}
/// Attention to another's features: queries and outputs of one width, keys and values from the other, and a norm.
inline void count_cross_attention(tally& t, std::int64_t hidden, std::int64_t other, std::int64_t times) {
  t.linear(component::attention, hidden, hidden, true, checked::mul(2, times));
  t.linear(component::attention, other, hidden, true, checked::mul(2, times));
  t.layer_norm(hidden, times);
}

/// transformers, modeling_blip.py, BlipVisionModel, and modeling_blip_2.py, modeling_instructblip.py after it.
inline std::int64_t count_blip_vision(const config& c, tally& t, const tower_usual& d) {
  const auto s = read_tower_sizes(c, d);
  c.ignore({"projection_dim"});
  t.add(component::embedding, s.hidden, checked::add(s.patches, 2));
  count_patches(s, t);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias}, t);
  t.layer_norm(s.hidden);
  return s.hidden;
}
inline constexpr tower_usual blip_sight{768, 3072, 12, 16, 384};
inline constexpr tower_usual blip2_sight{1408, 6144, 39, 14, 224};

/// modeling_blip_text.py: `sight` is the width that it attends to; 0: as its own configuration says.
struct blip_text {
  std::int64_t hidden, vocab;
};
inline blip_text count_blip_text(const config& c, tally& t, std::int64_t sight, bool pooler) {
  pass_over_vision(c);
  c.ignore({"projection_dim", "encoder_hidden_size", "tie_word_embeddings"});
  const auto hidden = c.size({"hidden_size"}, 768), vocab = c.size({"vocab_size"}, 30524), layers = c.number({"num_hidden_layers"}, 12, 0, config::most);
  t.embedding(vocab, hidden);
  t.embedding(c.size({"max_position_embeddings"}, 512), hidden);
  t.layer_norm(hidden);
  count_encoder({layers, hidden, c.size({"intermediate_size"}, 3072)}, t);
  if (c.flag("is_decoder", true)) count_cross_attention(t, hidden, sight != 0 ? sight : c.size({"encoder_hidden_size"}, 768), layers);
  if (pooler) t.linear(component::head, hidden, hidden, true);
  return {hidden, vocab};
}
struct blip_parts {
  bool text, pooler, speaks;
};
inline void count_blip(const config& c, tally& t, const blip_parts& parts, std::int64_t& hidden, std::int64_t& sight) {
  pass_over_vision(c);
  c.ignore({"projection_dim", "image_text_hidden_size", "tie_word_embeddings"});
  t.within(component::vision, [&] { sight = count_blip_vision(c.child("vision_config"), t, blip_sight); });
  const auto text = c.child("text_config");
  if (parts.text) hidden = count_blip_text(text, t, sight, parts.pooler).hidden;
  if (!parts.speaks) return;
  const auto l = count_blip_text(text, t, sight, false);
  const bool own = text.flag("tie_word_embeddings", true), all = c.flag("tie_word_embeddings", true);
  count_masked_head(t, l.hidden, l.vocab, own || all);
}

/// modeling_blip_2.py, Blip2QFormerModel; modeling_instructblip.py: the second reads text, too.
inline std::int64_t count_qformer(const config& c, tally& t, bool reads) {
  pass_over_vision(c);
  c.ignore({"vocab_size", "max_position_embeddings", "position_embedding_type"});
  const auto hidden = c.size({"hidden_size"}, 768), layers = c.number({"num_hidden_layers"}, 12, 0, config::most), ffn = c.size({"intermediate_size"}, 3072), every = c.size({"cross_attention_frequency"}, 2);
  const bool text = reads || c.flag("use_qformer_text_input", false);
  t.layer_norm(hidden);
  count_encoder({layers, hidden, ffn}, t);
  count_cross_attention(t, hidden, c.size({"encoder_hidden_size"}, 1408), (layers + every - 1) / every);
  if (text) {
    count_mlp(t, hidden, ffn, hidden, true, layers);
    t.layer_norm(hidden, layers);
  }
  if (reads) {
    t.embedding(c.size({"vocab_size"}, 30522), hidden);
    t.embedding(c.size({"max_position_embeddings"}, 512), hidden);
  }
  return hidden;
}
inline language count_blip2_body(const config& c, tally& t, bool reads) {
  pass_over_vision(c);
  c.ignore({"image_text_hidden_size", "use_decoder_only_language_model", "tie_word_embeddings"});
  t.within(component::vision, [&] { count_blip_vision(c.child("vision_config"), t, blip2_sight); });
  std::int64_t hidden = 0;
  auto queries = c.child("qformer_config").object();
  queries["encoder_hidden_size"] = c.child("vision_config").size({"hidden_size"}, blip2_sight.hidden);  // Blip2Config sets it so
  t.within(component::projector, [&] { hidden = count_qformer(config{queries, c.at("qformer_config"), c.asked()}, t, reads); });
  t.add(component::projector, hidden, c.size({"num_query_tokens"}, 32));
  const auto l = count_language(c.child("text_config"), t, "opt");
  t.linear(component::projector, hidden, l.hidden, true);
  return l;
}
inline void count_blip2_speaking(const config& c, tally& t, bool reads) {
  const auto l = count_blip2_body(c, t, reads);
  if (!l.tied) t.linear(component::head, l.words > 0 ? l.words : l.hidden, l.vocab, false);  // modeling_opt.py: of word_embed_proj_dim
}

/// modeling_git.py.
inline std::int64_t count_git(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"tie_word_embeddings"});
  std::int64_t sight = 0;
  t.within(component::vision, [&] { sight = count_clip_vision(c.child("vision_config"), t, {768, 3072, 12, 16, 224}); });
  const auto hidden = c.size({"hidden_size"}, 768);
  t.embedding(c.size({"vocab_size"}, 30522), hidden);
  t.embedding(c.size({"max_position_embeddings"}, 1024), hidden);
  t.layer_norm(hidden);
  count_encoder({c.number({"num_hidden_layers"}, 6, 0, config::most), hidden, c.size({"intermediate_size"}, 3072)}, t);
  t.linear(component::projector, sight, hidden, true);
  t.layer_norm(hidden);
  t.add(component::embedding, sight, c.nullable({"num_image_with_embedding"}, 0, 0, 0));
  return hidden;
}

/// modeling_vilt.py.
inline std::int64_t count_vilt(const config& c, tally& t, bool pooler, std::int64_t modalities = 0) {
  const auto s = read_tower_sizes(c, {768, 3072, 12, 32, 384});
  c.ignore({"max_image_length", "num_images", "tie_word_embeddings"});
  const auto types = modalities != 0 ? modalities : c.size({"modality_type_vocab_size"}, 2);
  t.add(component::embedding, s.hidden, checked::add(s.patches, 2));
  count_patches(s, t);
  t.embedding(types, s.hidden);
  t.embedding(c.size({"vocab_size"}, 30522), s.hidden);
  t.embedding(c.size({"max_position_embeddings"}, 40), s.hidden);
  t.embedding(c.size({"type_vocab_size"}, 2), s.hidden);
  const bool bias = c.flag("qkv_bias", true);
  count_layers({.layers = s.layers, .hidden = s.hidden, .ffn = s.ffn, .bias = bias, .key_bias = bias}, t);
  t.layer_norm(s.hidden, 2);
  if (pooler) t.linear(component::head, s.hidden, s.hidden, true);
  return s.hidden;
}

/// modeling_visual_bert.py.
inline std::int64_t count_visual_bert(const config& c, tally& t, bool pooler) {
  c.ignore({"special_visual_initialize", "tie_word_embeddings"});
  const auto hidden = count_bert_text(c, t, bert_text, 2, pooler);
  t.embedding(c.size({"max_position_embeddings"}, 512), hidden);
  t.embedding(c.size({"type_vocab_size"}, 2), hidden);
  t.linear(component::projector, c.size({"visual_embedding_dim"}, 512), hidden, true);
  if (c.flag("bypass_transformer", false)) count_encoder({1, hidden, c.size({"intermediate_size"}, 3072)}, t);
  return hidden;
}

/// modeling_lxmert.py: layers of words, layers of regions, and layers of both.
inline std::int64_t count_lxmert(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"num_qa_labels", "num_object_labels", "num_attr_labels", "visual_loss_normalizer", "task_matched", "task_mask_lm", "task_obj_predict", "task_qa", "visual_obj_loss", "visual_attr_loss",
            "visual_feat_loss", "num_hidden_layers", "tie_word_embeddings", "initializer_range"});
  const auto hidden = c.size({"hidden_size"}, 768), ffn = c.size({"intermediate_size"}, 3072), words = c.number({"l_layers"}, 9, 0, config::most), both = c.number({"x_layers"}, 5, 0, config::most),
             regions = c.number({"r_layers"}, 5, 0, config::most);
  t.embedding(c.size({"vocab_size"}, 30522), hidden);
  t.embedding(c.size({"max_position_embeddings"}, 512), hidden);
  t.embedding(c.size({"type_vocab_size"}, 2), hidden);
  t.linear(component::projector, c.size({"visual_feat_dim"}, 2048), hidden, true);
  t.linear(component::projector, c.size({"visual_pos_dim"}, 4), hidden, true);
  t.layer_norm(hidden, 3);
  count_encoder({checked::add(checked::add(words, regions), checked::mul(2, both)), hidden, ffn}, t);
  count_cross_attention(t, hidden, hidden, both);
  t.linear(component::head, hidden, hidden, true);
  return hidden;
}
inline void count_answers(tally& t, std::int64_t hidden, std::int64_t labels) {
  t.linear(component::head, hidden, checked::mul(2, hidden), true);
  t.layer_norm(checked::mul(2, hidden));
  t.linear(component::head, checked::mul(2, hidden), labels, true);
}
inline void count_lxmert_answers(const config& c, tally& t) {
  const auto hidden = count_lxmert(c, t);
  count_answers(t, hidden, c.size({"num_qa_labels"}, 9500));
}

inline constexpr counted_class counted_captions[] = {
    {"BlipModel", "blip", [](const config& c, tally& t) {
       std::int64_t hidden = 0, sight = 0;
       count_blip(c, t, {true, true, false}, hidden, sight);
       t.linear(component::projector, checked::add(hidden, sight), c.size({"projection_dim"}, 512), false);
       t.add(component::other, 1);
     }},
    {"BlipForConditionalGeneration", "blip", [](const config& c, tally& t) { std::int64_t hidden = 0, sight = 0; count_blip(c, t, {false, false, true}, hidden, sight); }},
    {"BlipForQuestionAnswering", "blip", [](const config& c, tally& t) { std::int64_t hidden = 0, sight = 0; count_blip(c, t, {true, false, true}, hidden, sight); }},
    {"BlipForImageTextRetrieval", "blip", [](const config& c, tally& t) {
       std::int64_t hidden = 0, sight = 0;
       count_blip(c, t, {true, false, false}, hidden, sight);
       const auto out = c.size({"image_text_hidden_size"}, 256);
       t.linear(component::head, hidden, out, true);
       t.linear(component::head, sight, out, true);
       t.linear(component::head, hidden, 2, true);
     }},
    {"BlipVisionModel", "blip_vision_model", [](const config& c, tally& t) { count_blip_vision(c, t, blip_sight); }},
    {"BlipTextModel", "blip_text_model", [](const config& c, tally& t) { count_blip_text(c, t, 0, true); }},
    {"Blip2Model", "blip-2", [](const config& c, tally& t) { count_blip2_speaking(c, t, false); }},
    {"Blip2ForConditionalGeneration", "blip-2", [](const config& c, tally& t) { count_blip2_speaking(c, t, false); }},
    {"Blip2VisionModel", "blip_2_vision_model", [](const config& c, tally& t) { count_blip_vision(c, t, blip2_sight); }},
    {"Blip2QFormerModel", "blip_2_qformer", [](const config& c, tally& t) { count_qformer(c, t, false); }},
    {"InstructBlipModel", "instructblip", [](const config& c, tally& t) { count_blip2_body(c, t, true); }},
    {"InstructBlipForConditionalGeneration", "instructblip", [](const config& c, tally& t) { count_blip2_speaking(c, t, true); }},
    {"InstructBlipVisionModel", "instructblip_vision_model", [](const config& c, tally& t) { count_blip_vision(c, t, blip2_sight); }},
    {"InstructBlipQFormerModel", "instructblip_qformer", [](const config& c, tally& t) { count_qformer(c, t, true); }},
    {"InstructBlipVideoModel", "instructblipvideo", [](const config& c, tally& t) { count_blip2_body(c, t, true); }},
    {"InstructBlipVideoForConditionalGeneration", "instructblipvideo", [](const config& c, tally& t) { count_blip2_speaking(c, t, true); }},
    {"GitModel", "git", [](const config& c, tally& t) { count_git(c, t); }},
    {"GitForCausalLM", "git", [](const config& c, tally& t) {
       const auto hidden = count_git(c, t), vocab = c.size({"vocab_size"}, 30522);
       t.add(component::head, vocab);
       if (!c.flag("tie_word_embeddings", false)) t.linear(component::head, hidden, vocab, false);
     }},
    {"GitVisionModel", "git_vision_model", [](const config& c, tally& t) { count_clip_vision(c, t, {768, 3072, 12, 16, 224}); }},
    {"ViltModel", "vilt", [](const config& c, tally& t) { count_vilt(c, t, true); }},
    {"ViltForQuestionAnswering", "vilt", [](const config& c, tally& t) { const auto hidden = count_vilt(c, t, true); count_answers(t, hidden, labels_of(c)); }},
    {"ViltForImageAndTextRetrieval", "vilt", [](const config& c, tally& t) { t.linear(component::head, count_vilt(c, t, true), 1, true); }},
    {"ViltForTokenClassification", "vilt", [](const config& c, tally& t) { count_classifier(c, t, count_vilt(c, t, false)); }},
    {"ViltForMaskedLM", "vilt", [](const config& c, tally& t) {
       const auto hidden = count_vilt(c, t, true), vocab = c.size({"vocab_size"}, 30522);
       t.linear(component::head, hidden, hidden, true);
       t.layer_norm(hidden);
       t.add(component::head, vocab);
     }},
    {"VisualBertModel", "visual_bert", [](const config& c, tally& t) { count_visual_bert(c, t, true); }},
    {"VisualBertForQuestionAnswering", "visual_bert", [](const config& c, tally& t) { count_classifier(c, t, count_visual_bert(c, t, true)); }},
    {"VisualBertForVisualReasoning", "visual_bert", [](const config& c, tally& t) { count_classifier(c, t, count_visual_bert(c, t, true)); }},
    {"VisualBertForMultipleChoice", "visual_bert", [](const config& c, tally& t) { t.linear(component::head, count_visual_bert(c, t, true), 1, true); }},
    {"VisualBertForPreTraining", "visual_bert", [](const config& c, tally& t) {
       const auto hidden = count_visual_bert(c, t, true);
       count_masked_head(t, hidden, c.size({"vocab_size"}, 30522), c.flag("tie_word_embeddings", true));
       t.linear(component::head, hidden, 2, true);
     }},
    {"LxmertModel", "lxmert", [](const config& c, tally& t) { count_lxmert(c, t); }},
    {"LxmertForQuestionAnswering", "lxmert", count_lxmert_answers},
};

}  // namespace headroom::io::detail
