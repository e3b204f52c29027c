// Distributed under the Boost Software License, Version 1.0.
// Heads of classes whose bodies are counted elsewhere: BLIP, BLIP-2, ModernVBERT, LXMERT, FLAVA, VisualBERT, CLAP, BROS, LUKE, UniSpeech, GPT-2, and
// Nemotron 3.5's speech recogniser. Each comment names the file of transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/audio_more.hpp>
#include <headroom/io/counted/language.hpp>
#include <headroom/io/counted/sight.hpp>
#include <headroom/io/counted/sight_last.hpp>
#include <headroom/io/counted/speech_models.hpp>
#include <headroom/io/counted/stages_of_sound.hpp>
#include <headroom/io/counted/text_layout.hpp>
#include <headroom/io/counted/text_other.hpp>

namespace headroom::io::detail {

/// modeling_blip_2.py: the queries between picture and text, compared with both. `sees`: the picture's tower and its projection are there.
inline void count_blip2_compared(const config& c, tally& t, bool sees, bool reads) {
  pass_over_vision(c);
  c.ignore({"use_decoder_only_language_model", "tie_word_embeddings"});
  ask_all(c.child("text_config"));
  const auto sight = c.child("vision_config");
  if (sees) t.within(component::vision, [&] { count_blip_vision(sight, t, blip2_sight); });
  else ask_all(sight);
  auto queries = c.child("qformer_config").object();
  queries["encoder_hidden_size"] = sight.size({"hidden_size"}, blip2_sight.hidden);  // Blip2Config sets it so
  const config inner{queries, c.at("qformer_config"), c.asked()};
  std::int64_t hidden = 0;
  t.within(component::projector, [&] { hidden = count_qformer(inner, t, false); });
  t.add(component::projector, hidden, c.size({"num_query_tokens"}, 32));
  const auto out = c.size({"image_text_hidden_size"}, 256);
  if (reads) t.embedding(checked::add(inner.size({"vocab_size"}, 30522), inner.size({"max_position_embeddings"}, 512)), hidden);
  t.linear(component::head, hidden, out, true, (sees ? 1 : 0) + (reads ? 1 : 0));
  if (sees && reads) t.linear(component::head, hidden, 2, true);
}

/// modeling_modernvbert.py, ModernVBertPredictionHead: a dense layer and a norm of the text's own style. Returns the text's width.
inline std::int64_t count_modernvbert_head(const config& c, tally& t) {
  const auto hidden = count_modernvbert(c, t);
  const auto text = c.child("text_config");
  t.linear(component::head, hidden, hidden, text.flag("classifier_bias", false));
  t.add(component::norm, hidden, text.flag("norm_bias", false) ? 2 : 1);
  return hidden;
}
inline void count_modernvbert_words(const config& c, tally& t) {
  const auto hidden = count_modernvbert_head(c, t);
  const auto text = c.child("text_config");
  const auto vocab = text.size({"vocab_size"}, 50368);
  if (!c.flag("tie_word_embeddings", false)) t.linear(component::head, hidden, vocab, false);
  if (text.flag("decoder_bias", true)) t.add(component::head, vocab);
}

/// modeling_lxmert.py, LxmertForPreTraining: words, whether a picture fits, what regions show, answers.
inline void count_lxmert_pretraining(const config& c, tally& t) {
  const auto hidden = count_lxmert(c, t);
  count_masked_head(t, hidden, c.size({"vocab_size"}, 30522), c.flag("tie_word_embeddings", true));
  if (!c.flag("tie_word_embeddings", true)) complain(c.at("tie_word_embeddings") + " must be true for LXMERT's pretraining, found false");
  t.linear(component::head, hidden, 2, true);
  if (c.flag("task_obj_predict", true)) {
    t.linear(component::head, hidden, hidden, true);
    t.layer_norm(hidden);
    if (c.flag("visual_obj_loss", true)) t.linear(component::head, hidden, c.size({"num_object_labels"}, 1600), true);
    if (c.flag("visual_attr_loss", true)) t.linear(component::head, hidden, c.size({"num_attr_labels"}, 400), true);
    if (c.flag("visual_feat_loss", true)) t.linear(component::head, hidden, c.size({"visual_feat_dim"}, 2048), true);
  }
  if (c.flag("task_qa", true)) count_answers(t, hidden, c.size({"num_qa_labels"}, 9500));
}

/// modeling_flava.py, FlavaImageCodebook: DALL-E's encoder, four groups of blocks, each group as wide again.
inline void count_flava_codebook(const config& c, tally& t) {
  c.ignore({"freeze"});
  const auto blocks = c.count({"num_blocks_per_group"}, 2), hidden = c.size({"hidden_size"}, 256);
  expect(c, "num_groups", 4);
  count_conv(t, c.size({"input_channels"}, 3), hidden, 7, true);
  auto in = hidden;
  for (const std::int64_t times : {1, 2, 4, 8}) {
    const auto out = checked::mul(hidden, times), narrow = out / 4;
    if (in != out) count_conv(t, in, out, 1, true);
    count_conv(t, in, narrow, 3, true);
    count_conv(t, out, narrow, 3, true, blocks - 1);
    count_conv(t, narrow, narrow, 3, true, checked::mul(2, blocks));
    count_conv(t, narrow, out, 1, true, blocks);
    in = out;
  }
  count_conv(t, in, c.size({"vocab_size"}, 8192), 1, true);
}
/// FlavaForPreTraining. Two heads over codes of the picture, two over words; a head's bias is its matrix's.
inline void count_flava_pretraining(const config& c, tally& t) {
  count_flava(c, t);
  c.ignore({"num_labels", "id2label"});
  if (!c.flag("tie_word_embeddings", true)) complain(c.at("tie_word_embeddings") + " must be true for FLAVA's pretraining, found false");
  const auto sight = c.child("image_config"), text = c.child("text_config");
  const auto codes = c.child("image_codebook_config");
  if (c.flag("init_codebook", true)) {
    tally own;
    count_flava_codebook(codes, own);
    codes.flag("freeze", true) ? t.frozen(component::encoder, own.counted().total.count()) : t.add(component::encoder, own.counted().total.count());
  }
  const auto head = [&](const config& of, std::int64_t vocab) {
    const auto hidden = of.size({"hidden_size"}, 768);
    t.linear(component::head, hidden, hidden, true, 2);
    t.layer_norm(hidden, 2);
    t.linear(component::head, hidden, of.size({"vocab_size"}, vocab), true, 2);
  };
  head(sight, 8192);
  head(text, 30522);
  const auto hidden = c.size({"hidden_size"}, 768);
  t.linear(component::head, hidden, checked::add(hidden, 2), true);
}

/// modeling_unispeech.py and modeling_unispeech_sat.py, ...ForPreTraining.
inline void pass_unispeech_heads(const config& c) {
  c.ignore({"vocab_size", "num_labels", "id2label", "use_weighted_layer_sum", "classifier_proj_size", "tdnn_dim", "tdnn_kernel", "xvector_output_dim", "num_ctc_classes", "num_clusters"});
}
inline void count_unispeech_pretraining(const config& c, tally& t) {
  const auto b = count_unispeech<speech_kind::wav2vec2>(c, t);
  const auto width = count_code_vectors(c, b.last, t), common = c.size({"proj_codevector_dim"}, 256);
  t.linear(component::head, width, common, true);
  t.linear(component::head, common, b.hidden, true);
  t.linear(component::head, b.hidden, c.size({"num_ctc_classes"}, 80), true);
  pass_unispeech_heads(c);
}
inline void count_unispeech_sat_pretraining(const config& c, tally& t) {
  const auto b = count_unispeech<speech_kind::unispeech_sat>(c, t);
  const auto width = count_code_vectors(c, b.hidden, t), common = c.size({"proj_codevector_dim"}, 256);
  t.linear(component::head, checked::add(width, b.hidden), common, false);
  t.linear(component::head, b.hidden, width, true);
  t.add(component::head, checked::mul(2, common));
  t.add(component::head, checked::mul(c.size({"num_clusters"}, 504), width));
  t.layer_norm(b.hidden);
  pass_unispeech_heads(c);
}

/// modeling_bros.py, BrosRelationExtractor: a node that stands for none, and queries and keys for each kind of relation.
inline void count_bros_relations(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_size"}, 768);
  t.add(component::head, hidden);
  t.linear(component::head, hidden, checked::mul(c.size({"n_relations"}, 1), hidden), true, 2);
  c.ignore({"tie_word_embeddings", "num_labels", "id2label", "classifier_dropout"});
}

/// modeling_gpt2.py, GPT2DoubleHeadsModel: GPT-2 with its words, and a vector to choose by.
inline void count_gpt2_double(const config& c, tally& t) {
  auto inner = c.object();
  inner["architectures"] = json::array({"GPT2LMHeadModel"});
  const auto m = walked_config(inner, c.path());
  t.model(count(m));
  ask_all(c);
  if (const auto type = c.text({"summary_type"}, "cls_index"); type == "attn") complain(c.at("summary_type") + " must not be \"attn\", which the class does not build");
  if (!c.flag("summary_use_proj", true)) return;
  t.linear(component::head, m.hidden, c.flag("summary_proj_to_labels", true) ? 1 : m.hidden, true);  // the class takes one label, whatever the file says
}

/// modeling_nemotron3_5_asr.py: the transducer, told the language by a prompt.
inline void count_nemotron_asr(const config& c, tally& t) {
  const auto inner = c.child("encoder_config");
  count_transducer(c, count_streaming_encoder(inner, t), 13088, 0, t);
  const auto hidden = inner.size({"hidden_size"}, 1024), prompt = c.size({"prompt_intermediate_size"}, 2048);
  t.linear(component::projector, checked::add(hidden, c.size({"num_prompts"}, 128)), prompt, true);
  t.linear(component::projector, prompt, hidden, true);
  c.ignore({"default_prompt_id"});
}

inline constexpr counted_class counted_heads_beside[] = {
    {"BlipTextLMHeadModel", "blip_text_model", [](const config& c, tally& t) {
       const auto l = count_blip_text(c, t, 0, false);
       count_masked_head(t, l.hidden, l.vocab, c.flag("tie_word_embeddings", true));
     }},
    {"Blip2VisionModelWithProjection", "blip-2", [](const config& c, tally& t) { count_blip2_compared(c, t, true, false); }},
    {"Blip2TextModelWithProjection", "blip-2", [](const config& c, tally& t) { count_blip2_compared(c, t, false, true); }},
    {"Blip2ForImageTextRetrieval", "blip-2", [](const config& c, tally& t) { count_blip2_compared(c, t, true, true); }},
    {"ModernVBertForMaskedLM", "modernvbert", count_modernvbert_words},
    {"ModernVBertForSequenceClassification", "modernvbert", [](const config& c, tally& t) { count_classifier(c, t, count_modernvbert_head(c, t)); }},
    {"ModernVBertForTokenClassification", "modernvbert", [](const config& c, tally& t) { count_classifier(c, t, count_modernvbert_head(c, t)); }},
    {"ColModernVBertForRetrieval", "colmodernvbert", [](const config& c, tally& t) {
       t.linear(component::projector, count_modernvbert(c.child("vlm_config"), t), c.size({"embedding_dim"}, 128), true);
       pass_over_vision(c);
     }},
    {"LxmertForPreTraining", "lxmert", count_lxmert_pretraining},
    {"FlavaForPreTraining", "flava", count_flava_pretraining},
    {"VisualBertForRegionToPhraseAlignment", "visual_bert", [](const config& c, tally& t) {
       const auto hidden = count_visual_bert(c, t, true), heads = c.count({"num_attention_heads"}, 12);
       check_heads(c, hidden, heads);
       count_masked_head(t, hidden, c.size({"vocab_size"}, 30522), true);
       if (!c.flag("tie_word_embeddings", true)) complain(c.at("tie_word_embeddings") + " must be true here, found false");
       t.linear(component::head, hidden, 2, true);
       t.linear(component::attention, hidden, hidden / heads, true, 3);
     }},
    {"ClapTextModelWithProjection", "clap_text_model", [](const config& c, tally& t) { count_clap_projection(c, t, count_clap_text(c, t)); }},
    {"ClapAudioModelWithProjection", "clap_audio_model", [](const config& c, tally& t) {
       const auto width = count_clap_sound(c, t);
       if (c.size({"hidden_size"}, 768) != width) complain(c.at("hidden_size") + " must be the last stage's width, " + std::to_string(width));
       count_clap_projection(c, t, width);
     }},
    {"BrosSpadeELForTokenClassification", "bros", [](const config& c, tally& t) {
       count_dense(count_bros(c, t), t);
       count_bros_relations(c, t);
     }},
    {"BrosSpadeEEForTokenClassification", "bros", [](const config& c, tally& t) {
       const auto b = count_bros(c, t);
       count_dense(b, t);
       t.linear(component::head, b.hidden, b.hidden, true);
       count_classifier(c, t, b.hidden);
       count_bros_relations(c, t);
     }},
    {"LukeForMaskedLM", "luke", [](const config& c, tally& t) {  // words and entities, each by its own table
       const auto b = count_luke(c, t);
       count_dense(b, t);
       count_masked_head(t, b.hidden, b.vocab, true);
       t.linear(component::head, b.hidden, b.vocab, false);  // never the table of words
       const auto entity = c.size({"entity_emb_size"}, 256), entities = c.size({"entity_vocab_size"}, 500000);
       t.linear(component::head, b.hidden, entity, true);
       t.layer_norm(entity);
       t.add(component::head, entities);
       if (!c.flag("tie_word_embeddings", true)) complain(c.at("tie_word_embeddings") + " must be true here, found false");
       c.ignore({"num_labels", "id2label"});
     }},
    {"UniSpeechForPreTraining", "unispeech", count_unispeech_pretraining},
    {"UniSpeechSatForPreTraining", "unispeech-sat", count_unispeech_sat_pretraining},
    {"GPT2DoubleHeadsModel", "gpt2", count_gpt2_double},
    {"Nemotron3_5AsrForRNNT", "nemotron3_5_asr", count_nemotron_asr},
};

}  // namespace headroom::io::detail
