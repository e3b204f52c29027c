// Distributed under the Boost Software License, Version 1.0.
// Pairs of any encoder and any decoder: VisionEncoderDecoderModel (TrOCR, Donut), EncoderDecoderModel, SpeechEncoderDecoderModel of transformers 5.16.
#pragma once

#include <headroom/io/counted/language.hpp>

namespace headroom::io::detail {

/// The parameters of a class with a head, of a configuration inside another.
inline parameter_count count_inner_class(const config& c, const json& inner, const char* name);

/// What AutoModelForCausalLM makes of a decoder, and whether its attention to an encoder is there by a key (four square matrices and a norm in each layer)
/// or always.
struct pair_decoder {
  const char *type, *name;
  std::int64_t hidden, layers;  ///< the class's defaults
  bool by_key;
};
inline constexpr pair_decoder pair_decoders[] = {
    {"trocr", "TrOCRForCausalLM", 1024, 12, false}, {"mbart", "MBartForCausalLM", 1024, 12, false}, {"bart", "BartForCausalLM", 1024, 12, false},
    {"bert", "BertLMHeadModel", 768, 12, true}, {"roberta", "RobertaForCausalLM", 768, 12, true}, {"xlm-roberta", "XLMRobertaForCausalLM", 768, 12, true}, {"gpt2", "GPT2LMHeadModel", 768, 12, true},
};

/// The width that an encoder delivers.
inline std::int64_t encoder_width(const config& c, const std::string& type) {
  for (const char* known : {"vit", "deit", "beit", "bert", "roberta", "xlm-roberta", "wav2vec2", "hubert", "wavlm"})
    if (type == known) return c.size({"hidden_size"}, 768);
  if (type != "swin" && type != "donut-swin")
    complain(c.at("model_type") + " must be one of vit, deit, beit, swin, donut-swin, bert, roberta, xlm-roberta, wav2vec2, hubert, wavlm as a pair's encoder, found " + quoted_word(type));
  const json* depths = c.find({"depths"});
  auto width = c.size({"embed_dim"}, 96);
  for (std::size_t i = 1; i < (depths != nullptr && depths->is_array() ? depths->size() : 4); ++i) width = checked::mul(2, width);
  return width;
}

/// Both, and a matrix between them where the decoder is of another width and does not say what it reads.
inline void count_pair(const config& c, tally& t) {
  for (const char* key : {"encoder", "decoder"})
    if (!c.has(key) || !c.child(key).has("model_type")) complain(c.at(key) + " must be there, with its model_type");
  if (c.flag("tie_encoder_decoder", false)) complain(c.at("tie_encoder_decoder") + " must be false, found true");
  c.ignore({"tie_word_embeddings", "processor_class", "max_length", "num_beams", "decoder_start_token_id", "is_encoder_decoder"});
  const auto encoder = c.child("encoder"), decoder = c.child("decoder");
  const auto type = encoder.text({"model_type"}, "");
  const auto width = encoder_width(encoder, type);
  for (const char* key : {"is_decoder", "add_cross_attention"})
    if (encoder.flag(key, false)) complain(encoder.at(key) + " must be false, found true");
  auto reads = encoder.object();
  for (const char* key : {"is_decoder", "add_cross_attention", "cross_attention_hidden_size", "architectures"}) reads.erase(key);
  const config reader{reads, encoder.path(), encoder.asked()};
  t.within(component::encoder, [&] { t.model(count_inner(reader, type.c_str())); });
  const auto writes_of = decoder.text({"model_type"}, "");
  for (const auto& d : pair_decoders) {
    if (writes_of != d.type) continue;
    const auto hidden = decoder.size({"hidden_size", "d_model", "n_embd"}, d.hidden);
    const bool reads_width = decoder.has("cross_attention_hidden_size");
    auto writes = decoder.object();
    for (const char* key : {"is_decoder", "add_cross_attention"}) writes.erase(key);
    if (d.by_key) writes.erase("cross_attention_hidden_size");
    t.model(count_inner_class(decoder, writes, d.name));
    if (d.by_key && decoder.flag("add_cross_attention", false)) {
      const auto layers = decoder.number({"num_hidden_layers", "n_layer"}, d.layers, 0, config::most);
      t.linear(component::attention, hidden, hidden, true, checked::mul(4, layers));
      t.layer_norm(hidden, layers);
    }
    if (reads_width && decoder.size({"cross_attention_hidden_size"}, width) != width) complain(decoder.at("cross_attention_hidden_size") + " must be the encoder's width, " + std::to_string(width));
    if (!reads_width && encoder.nullable({"output_hidden_size"}, width, width) != hidden) t.linear(component::projector, width, hidden, true);
    return;
  }
  complain(decoder.at("model_type") + " must be one of trocr, mbart, bart, bert, roberta, xlm-roberta, gpt2 as a pair's decoder, found " + quoted_word(writes_of));
}

/// modeling_musicgen.py, modeling_musicgen_melody.py: T5's encoder, EnCodec and a decoder of its codes, and a matrix from words, and one from Melody's
/// chromas, to the decoder where it is of another width.
template <bool Melody>
void count_music(const config& c, tally& t) {
  for (const char* key : {"text_encoder", "audio_encoder"})
    if (const auto usual = std::string{key} == "text_encoder" ? "t5" : "encodec"; !c.has(key) || c.child(key).text({"model_type"}, "") != usual)
      complain(c.at(key) + " must be there, with model_type " + quoted_word(usual));
  const auto words = c.child("text_encoder"), decoder = c.child("decoder");
  t.within(component::encoder, [&] { t.model(count_inner_class(words, words.object(), "T5EncoderModel")), t.model(count_inner(c.child("audio_encoder"), "encodec")); });
  auto writes = decoder.object();
  writes["model_type"] = Melody ? "musicgen_melody_decoder" : "musicgen_decoder";
  t.model(count_inner_class(decoder, writes, Melody ? "MusicgenMelodyForCausalLM" : "MusicgenForCausalLM"));
  const auto width = words.size({"d_model", "hidden_size"}, 512), hidden = decoder.size({"hidden_size"}, 1024);
  if (decoder.has("cross_attention_hidden_size") && decoder.size({"cross_attention_hidden_size"}, width) != width)
    complain(decoder.at("cross_attention_hidden_size") + " must be the text encoder's width, " + std::to_string(width));
  if (width != hidden && (Melody || !decoder.has("cross_attention_hidden_size"))) t.linear(component::projector, width, hidden, true);
  if (const auto chroma = Melody ? c.size({"num_chroma"}, 12) : hidden; chroma != hidden) t.linear(component::projector, chroma, hidden, true);
  c.ignore({"tie_word_embeddings", "is_encoder_decoder", "initializer_factor", "chroma_length"});
  ignore_labels(c);
}

inline constexpr counted_class counted_pairs[] = {
    {"MusicgenForConditionalGeneration", "musicgen", count_music<false>},
    {"MusicgenMelodyForConditionalGeneration", "musicgen_melody", count_music<true>},
    {"VisionEncoderDecoderModel", "vision-encoder-decoder", count_pair},
    {"EncoderDecoderModel", "encoder-decoder", count_pair},
    {"SpeechEncoderDecoderModel", "speech-encoder-decoder", count_pair},
};

}  // namespace headroom::io::detail
