// Distributed under the Boost Software License, Version 1.0.
// The classes that are counted as encoders of raw sound.
#pragma once

#include <headroom/io/counted/speech.hpp>
#include <headroom/io/counted/text.hpp>

namespace headroom::io::detail {

/// transformers, modeling_unispeech.py and modeling_unispeech_sat.py have no adapter behind the encoder.
template <speech_kind Kind>
speech_body count_unispeech(const config& c, tally& t) {
  if (c.flag("add_adapter", false)) complain(c.at("add_adapter") + " must be false for this family, found true");
  return count_speech<Kind>(c, t);
}

/// modeling_sew.py and modeling_sew_d.py: the sequence is squeezed for the layers, and stretched behind them. SEW-D's layers are DeBERTa's.
template <speech_kind Kind>
speech_body count_sew(const config& c, tally& t) {
  const auto s = read_speech_sizes(c, {0, 768, 12, 12, 3072, 0, 0});
  speech_body b{s.layers, s.hidden, count_waveform(c, Kind, t), s.hidden, false};
  t.layer_norm(b.last);
  if (b.last != s.hidden) t.linear(component::other, b.last, s.hidden, true);
  count_mask_vector(c, s.hidden, false, t);
  count_speech_positions(c, Kind, s.hidden, t);
  t.linear(component::other, s.hidden, checked::mul(s.hidden, c.count({"squeeze_factor"}, 2)), true);
  if (Kind == speech_kind::sew) return count_speech_layers(c, Kind, s, t), b;
  count_bert_layers(s, t);
  const auto m = c.find({"pos_att_type"}) == nullptr ? position_matrices{true, true} : read_position_matrices(c);
  const auto buckets = c.number({"position_buckets"}, 256, -config::widest + 1);
  const auto reach = relative_positions(c, c.size({"max_position_embeddings"}, 512));
  const bool shared = c.flag("share_att_key", true);
  if (c.text({"norm_rel_ebd"}, "layer_norm").find("layer_norm") != std::string::npos) t.layer_norm(s.hidden);
  if (!c.flag("relative_attention", true)) return b;
  t.embedding(checked::mul(2, buckets > 0 ? buckets : reach), s.hidden);
  if (!shared) t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(s.layers, (m.keys ? 1 : 0) + (m.queries ? 1 : 0)));
  return b;
}

/// modeling_wav2vec2_bert.py: it reads spectra, and its adapter is a layer of attention.
inline speech_body count_wav2vec2_bert(const config& c, tally& t) {
  const auto s = read_speech_sizes(c, {0, 1024, 24, 16, 4096, 0, 0});
  const auto input = c.size({"feature_projection_input_dim"}, 160);
  t.layer_norm(input);
  t.linear(component::other, input, s.hidden, true);
  count_mask_vector(c, s.hidden, false, t);
  count_conformer_layers(c, s, t);
  const auto kind = c.text({"position_embeddings_type"}, c.find({"position_embeddings_type"}) == nullptr ? "relative_key" : "");
  const auto reach = checked::add(checked::add(c.number({"left_max_position_embeddings"}, 64, 0), c.number({"right_max_position_embeddings"}, 8, 0)), 1);
  if (kind == "relative") count_relative_attention(s, t);
  if (kind == "relative_key") t.add(component::attention, checked::mul(reach, s.hidden / s.heads), s.layers);
  speech_body b{s.layers, s.hidden, input, s.hidden, c.flag("add_adapter", false)};
  c.ignore({"adapter_act"});
  if (c.flag("use_intermediate_ffn_before_adapter", false)) t.linear(component::mlp, s.hidden, s.ffn, true), t.linear(component::mlp, s.ffn, s.hidden, true);
  const auto output = c.nullable({"output_hidden_size"}, s.hidden, s.hidden);
  const auto kernel = c.size({"adapter_kernel_size"}, 3);
  const auto layers = c.number({"num_adapter_layers"}, 1, 0, config::most);
  if (!b.adapter) return b;
  b.output = output;
  if (output != s.hidden) t.linear(component::other, s.hidden, output, true), t.layer_norm(output);
  t.linear(component::other, checked::mul(output, kernel), checked::mul(2, output), true, checked::mul(2, layers));
  t.linear(component::attention, output, output, true, checked::mul(4, layers));
  t.linear(component::mlp, output, s.ffn, true, layers);
  t.linear(component::mlp, s.ffn, output, true, layers);
  t.layer_norm(output, checked::mul(3, layers));
  return b;
}

enum class speech_head { base, ctc, sequence, frames, speaker };

/// Networks over some frames each, and a vector for the speaker.
inline void count_speaker_head(const config& c, std::int64_t hidden, tally& t) {
  const auto dims = read_list(c, "tdnn_dim", {512, 512, 512, 512, 1500});
  const auto kernels = read_list(c, "tdnn_kernel", {5, 3, 3, 1, 1});
  if (kernels.size() != dims.size()) complain(c.at("tdnn_kernel") + " must be as long as tdnn_dim");
  t.linear(component::head, hidden, dims.front(), true);
  auto in = dims.front();
  for (std::size_t i = 0; i < dims.size(); ++i) t.linear(component::head, checked::mul(in, kernels[i]), dims[i], true), in = dims[i];
  const auto width = c.size({"xvector_output_dim"}, 512);
  t.linear(component::head, checked::mul(2, in), width, true);
  t.linear(component::head, width, width, true);
  t.linear(component::head, width, labels_of(c), false);
}

template <speech_body (*Body)(const config&, tally&), speech_head Head>
void count_speech_head(const config& c, tally& t) {
  const auto b = Body(c, t);
  if (Head == speech_head::ctc) t.linear(component::head, b.output, c.size({"vocab_size"}, Body == count_wav2vec2_bert ? config::required : 32), true);
  if ((Head == speech_head::sequence || Head == speech_head::frames) && b.adapter) complain(c.at("add_adapter") + " must be false below a classifier, found true");
  if (Head != speech_head::base && Head != speech_head::ctc && c.flag("use_weighted_layer_sum", false)) t.add(component::head, checked::add(b.layers, 1));
  if (Head == speech_head::sequence) {
    const auto width = c.size({"classifier_proj_size"}, Body == count_wav2vec2_bert ? 768 : 256);
    t.linear(component::head, b.hidden, width, true);
    count_classifier(c, t, width);
  }
  if (Head == speech_head::frames) count_classifier(c, t, b.hidden);
  if (Head == speech_head::speaker) count_speaker_head(c, b.hidden, t);
  c.ignore({"vocab_size", "num_labels", "id2label", "use_weighted_layer_sum", "classifier_proj_size", "tdnn_dim", "tdnn_kernel", "xvector_output_dim", "num_codevectors_per_group",
            "num_codevector_groups", "codevector_dim", "proj_codevector_dim", "num_ctc_classes", "num_clusters"});
}

/// ...ForPreTraining: code vectors to choose from, and what is compared with them. Returns the width of a chosen one.
inline std::int64_t count_code_vectors(const config& c, std::int64_t in, tally& t) {
  const auto groups = c.count({"num_codevector_groups"}, 2);
  const auto width = c.size({"codevector_dim"}, 256);
  const auto codes = checked::mul(groups, c.size({"num_codevectors_per_group"}, 320));
  check_heads(c, width, groups);
  t.add(component::head, checked::mul(codes, width / groups));
  t.linear(component::head, in, codes, true);
  return width;
}
template <speech_body (*Body)(const config&, tally&)>
void count_speech_pretraining(const config& c, tally& t) {
  const auto b = Body(c, t);
  const auto width = count_code_vectors(c, b.last, t);
  const auto common = c.size({"proj_codevector_dim"}, 256);
  t.linear(component::head, b.hidden, common, true);
  t.linear(component::head, width, common, true);
  c.ignore({"vocab_size", "num_labels", "id2label", "use_weighted_layer_sum", "classifier_proj_size", "tdnn_dim", "tdnn_kernel", "xvector_output_dim"});
}

inline constexpr counted_class counted_speech[] = {
    {"Wav2Vec2Model", "wav2vec2", count_speech_head<count_speech<speech_kind::wav2vec2>, speech_head::base>},
    {"Wav2Vec2ForCTC", "wav2vec2", count_speech_head<count_speech<speech_kind::wav2vec2>, speech_head::ctc>},
    {"Wav2Vec2ForSequenceClassification", "wav2vec2", count_speech_head<count_speech<speech_kind::wav2vec2>, speech_head::sequence>},
    {"Wav2Vec2ForAudioFrameClassification", "wav2vec2", count_speech_head<count_speech<speech_kind::wav2vec2>, speech_head::frames>},
    {"Wav2Vec2ForXVector", "wav2vec2", count_speech_head<count_speech<speech_kind::wav2vec2>, speech_head::speaker>},
    {"Wav2Vec2ForPreTraining", "wav2vec2", count_speech_pretraining<count_speech<speech_kind::wav2vec2>>},
    {"HubertModel", "hubert", count_speech_head<count_speech<speech_kind::hubert>, speech_head::base>},
    {"HubertForCTC", "hubert", count_speech_head<count_speech<speech_kind::hubert>, speech_head::ctc>},
    {"HubertForSequenceClassification", "hubert", count_speech_head<count_speech<speech_kind::hubert>, speech_head::sequence>},
    {"WavLMModel", "wavlm", count_speech_head<count_speech<speech_kind::wavlm>, speech_head::base>},
    {"WavLMForCTC", "wavlm", count_speech_head<count_speech<speech_kind::wavlm>, speech_head::ctc>},
    {"WavLMForSequenceClassification", "wavlm", count_speech_head<count_speech<speech_kind::wavlm>, speech_head::sequence>},
    {"WavLMForAudioFrameClassification", "wavlm", count_speech_head<count_speech<speech_kind::wavlm>, speech_head::frames>},
    {"WavLMForXVector", "wavlm", count_speech_head<count_speech<speech_kind::wavlm>, speech_head::speaker>},
    {"Data2VecAudioModel", "data2vec-audio", count_speech_head<count_speech<speech_kind::data2vec>, speech_head::base>},
    {"Data2VecAudioForCTC", "data2vec-audio", count_speech_head<count_speech<speech_kind::data2vec>, speech_head::ctc>},
    {"Data2VecAudioForSequenceClassification", "data2vec-audio", count_speech_head<count_speech<speech_kind::data2vec>, speech_head::sequence>},
    {"Data2VecAudioForAudioFrameClassification", "data2vec-audio", count_speech_head<count_speech<speech_kind::data2vec>, speech_head::frames>},
    {"Data2VecAudioForXVector", "data2vec-audio", count_speech_head<count_speech<speech_kind::data2vec>, speech_head::speaker>},
    {"UniSpeechModel", "unispeech", count_speech_head<count_unispeech<speech_kind::wav2vec2>, speech_head::base>},
    {"UniSpeechForCTC", "unispeech", count_speech_head<count_unispeech<speech_kind::wav2vec2>, speech_head::ctc>},
    {"UniSpeechForSequenceClassification", "unispeech", count_speech_head<count_unispeech<speech_kind::wav2vec2>, speech_head::sequence>},
    {"UniSpeechSatModel", "unispeech-sat", count_speech_head<count_unispeech<speech_kind::unispeech_sat>, speech_head::base>},
    {"UniSpeechSatForCTC", "unispeech-sat", count_speech_head<count_unispeech<speech_kind::unispeech_sat>, speech_head::ctc>},
    {"UniSpeechSatForSequenceClassification", "unispeech-sat", count_speech_head<count_unispeech<speech_kind::unispeech_sat>, speech_head::sequence>},
    {"UniSpeechSatForAudioFrameClassification", "unispeech-sat", count_speech_head<count_unispeech<speech_kind::unispeech_sat>, speech_head::frames>},
    {"UniSpeechSatForXVector", "unispeech-sat", count_speech_head<count_unispeech<speech_kind::unispeech_sat>, speech_head::speaker>},
    {"SEWModel", "sew", count_speech_head<count_sew<speech_kind::sew>, speech_head::base>},
    {"SEWForCTC", "sew", count_speech_head<count_sew<speech_kind::sew>, speech_head::ctc>},
    {"SEWForSequenceClassification", "sew", count_speech_head<count_sew<speech_kind::sew>, speech_head::sequence>},
    {"SEWDModel", "sew-d", count_speech_head<count_sew<speech_kind::sew_d>, speech_head::base>},
    {"SEWDForCTC", "sew-d", count_speech_head<count_sew<speech_kind::sew_d>, speech_head::ctc>},
    {"SEWDForSequenceClassification", "sew-d", count_speech_head<count_sew<speech_kind::sew_d>, speech_head::sequence>},
    {"Wav2Vec2ConformerModel", "wav2vec2-conformer", count_speech_head<count_speech<speech_kind::conformer>, speech_head::base>},
    {"Wav2Vec2ConformerForCTC", "wav2vec2-conformer", count_speech_head<count_speech<speech_kind::conformer>, speech_head::ctc>},
    {"Wav2Vec2ConformerForSequenceClassification", "wav2vec2-conformer", count_speech_head<count_speech<speech_kind::conformer>, speech_head::sequence>},
    {"Wav2Vec2ConformerForAudioFrameClassification", "wav2vec2-conformer", count_speech_head<count_speech<speech_kind::conformer>, speech_head::frames>},
    {"Wav2Vec2ConformerForXVector", "wav2vec2-conformer", count_speech_head<count_speech<speech_kind::conformer>, speech_head::speaker>},
    {"Wav2Vec2ConformerForPreTraining", "wav2vec2-conformer", count_speech_pretraining<count_speech<speech_kind::conformer>>},
    {"Wav2Vec2BertModel", "wav2vec2-bert", count_speech_head<count_wav2vec2_bert, speech_head::base>},
    {"Wav2Vec2BertForCTC", "wav2vec2-bert", count_speech_head<count_wav2vec2_bert, speech_head::ctc>},
    {"Wav2Vec2BertForSequenceClassification", "wav2vec2-bert", count_speech_head<count_wav2vec2_bert, speech_head::sequence>},
    {"Wav2Vec2BertForAudioFrameClassification", "wav2vec2-bert", count_speech_head<count_wav2vec2_bert, speech_head::frames>},
    {"Wav2Vec2BertForXVector", "wav2vec2-bert", count_speech_head<count_wav2vec2_bert, speech_head::speaker>},
};

}  // namespace headroom::io::detail
