// Distributed under the Boost Software License, Version 1.0.
// Granite Speech, SeamlessM4T from text to text, and PatchTST, which reads time series in patches.
#pragma once

#include <headroom/io/counted/audio.hpp>
#include <headroom/io/counted/seq2seq.hpp>

namespace headroom::io::detail {

/// transformers, modeling_granite_speech.py: a conformer whose heads share a table of relative positions in each layer.
inline void count_granite_conformer(const config& c, tally& t) {
  const auto hidden = c.size({"hidden_dim"}, 1024);
  const auto layers = c.number({"num_layers"}, 10, 0, config::most);
  const auto heads = c.count({"num_heads"}, 8);
  const auto width = c.nullable({"dim_head"}, hidden / heads, hidden / heads);
  const auto inner = checked::mul(heads, width);
  const auto ffn = checked::mul(hidden, c.size({"feedforward_mult"}, 4));
  const auto channels = checked::mul(hidden, c.size({"conv_expansion_factor"}, 2));
  const auto output = c.size({"output_dim"}, 42);
  const auto reach = checked::add(checked::mul(2, c.size({"max_pos_emb"}, 512)), 1);
  c.ignore({"context_size", "tie_word_embeddings", "cat_hidden_layers"});  // which outputs are joined: the projector says how wide they are
  t.linear(component::other, c.size({"input_dim"}, 160), hidden, true);
  t.linear(component::mlp, hidden, ffn, true, checked::mul(2, layers));
  t.linear(component::mlp, ffn, hidden, true, checked::mul(2, layers));
  t.linear(component::attention, hidden, checked::mul(3, inner), false, layers);
  t.linear(component::attention, inner, hidden, true, layers);
  t.add(component::attention, checked::mul(reach, width), layers);
  t.linear(component::other, hidden, checked::mul(2, channels), true, layers);
  t.add(component::other, checked::mul(channels, c.size({"conv_kernel_size"}, 15)), layers);
  t.linear(component::other, channels, hidden, true, layers);
  t.layer_norm(hidden, checked::mul(5, layers));
  t.layer_norm(channels, layers);
  t.linear(component::other, hidden, output, true);
  t.linear(component::other, output, hidden, true);
}
/// A few learned queries look at each window of sound.
template <bool Head>
void count_granite_speech(const config& c, tally& t) {
  count_granite_conformer(c.child("encoder_config"), t);
  const auto projector = c.child("projector_config");
  t.model(count_inner(projector, "blip_2_qformer"));
  const auto seen = projector.size({"hidden_size"}, 768);
  const auto window = c.size({"window_size"}, 15);
  const auto rate = c.size({"downsample_rate"}, 5);
  const auto language = count_heard_language(c, json::object(), "granite", t);
  c.ignore({"has_lora_adapter"});
  t.add(component::other, checked::mul(window / rate, seen));
  t.linear(component::other, seen, language.hidden, true);
  if (Head) count_heard_words(c, language, true, t);
  c.ignore({"tie_word_embeddings"});
}

/// modeling_seamless_m4t.py, modeling_seamless_m4t_v2.py: of all its parts, the text's encoder and decoder alone.
inline constexpr seq2seq_family seamless_family{
    .vocab = 256102, .encoder = {24, 16, 8192}, .decoder = {24, 16, 8192}, .tables = false, .embedding_norm = false, .final_norm = true};
inline void count_seamless_text(const config& c, tally& t) {
  const auto vocab = c.size({"vocab_size"}, 256102);
  const auto hidden = c.size({"hidden_size"}, 1024);
  count_seq2seq_side(c, seamless_family, read_side(c, "encoder", seamless_family.encoder), hidden, 0, false, t);
  count_seq2seq_side(c, seamless_family, read_side(c, "decoder", seamless_family.decoder), hidden, 0, true, t);
  t.embedding(vocab, hidden);
  if (!c.flag("tie_word_embeddings", true)) complain(c.at("tie_word_embeddings") + " must be true, found false");
  c.ignore({"activation_dropout", "activation_function", "adaptor_dropout", "adaptor_kernel_size", "adaptor_stride", "add_adapter", "attention_dropout",
            "bos_token_id", "char_vocab_size", "conv_depthwise_kernel_size", "decoder_layerdrop", "decoder_start_token_id", "dropout", "encoder_layerdrop",
            "eos_token_id", "feature_projection_input_dim", "initializer_range", "is_encoder_decoder", "lang_embed_dim", "layer_norm_eps", "leaky_relu_slope",
            "left_max_position_embeddings", "max_new_tokens", "max_position_embeddings", "max_source_positions", "num_adapter_layers",
            "num_conv_pos_embedding_groups", "num_conv_pos_embeddings", "pad_token_id", "position_embeddings_type", "resblock_dilation_sizes",
            "resblock_kernel_sizes", "right_max_position_embeddings", "rotary_embedding_base", "sampling_rate", "scale_embedding",
            "speech_encoder_attention_heads", "speech_encoder_chunk_size", "speech_encoder_dropout", "speech_encoder_hidden_act",
            "speech_encoder_intermediate_size", "speech_encoder_layerdrop", "speech_encoder_layers", "speech_encoder_left_chunk_num", "spkr_embed_dim",
            "t2u_bos_token_id", "t2u_decoder_attention_heads", "t2u_decoder_ffn_dim", "t2u_decoder_layers", "t2u_decoder_start_token_id",
            "t2u_encoder_attention_heads", "t2u_encoder_ffn_dim", "t2u_encoder_layers", "t2u_eos_token_id", "t2u_max_new_tokens", "t2u_max_position_embeddings",
            "t2u_pad_token_id", "t2u_variance_pred_dropout", "t2u_variance_predictor_embed_dim", "t2u_variance_predictor_hidden_dim",
            "t2u_variance_predictor_kernel_size", "t2u_vocab_size", "unit_embed_dim", "unit_hifi_gan_vocab_size", "upsample_initial_channel",
            "upsample_kernel_sizes", "upsample_rates", "use_cache", "var_pred_dropout", "variance_predictor_kernel_size", "vocoder_num_langs",
            "vocoder_num_spkrs", "vocoder_offset"});
}

/// modeling_patchtst.py. Positions as sines are kept as numbers that are not trained.
struct patchtst_sizes {
  std::int64_t hidden, channels, patch;
};
inline patchtst_sizes count_patchtst(const config& c, tally& t) {
  const patchtst_sizes s{c.size({"d_model", "hidden_size"}, 128), c.count({"num_input_channels"}, 1), c.size({"patch_length"}, 1)};
  const auto layers = c.number({"num_hidden_layers"}, 3, 0, config::most);
  const auto ffn = c.size({"ffn_dim"}, 512);
  const auto length = c.size({"context_length"}, 32);
  const auto stride = c.size({"patch_stride"}, 1);
  const bool bias = c.flag("bias", true);
  const bool token = c.flag("use_cls_token", false);
  const bool across = c.flag("channel_attention", false);
  check_heads(c, s.hidden, c.count({"num_attention_heads"}, 4));
  if (length <= s.patch) complain(c.at("context_length") + " must be longer than a patch, found " + std::to_string(length));
  const auto rows = checked::add((length - s.patch) / stride + 1, token ? 1 : 0);
  c.ignore({"distribution_output", "loss", "norm_type", "norm_eps", "positional_dropout", "path_dropout", "ff_dropout", "head_dropout", "pre_norm", "scaling", "do_mask_input", "mask_type",
            "random_mask_ratio", "num_forecast_mask_patches", "channel_consistent_masking", "unmasked_channel_indices", "mask_value", "pooling_type", "share_projection", "prediction_length",
            "num_targets", "output_range", "num_parallel_samples", "tie_word_embeddings"});
  t.linear(component::embedding, s.patch, s.hidden, true, c.flag("share_embedding", true) ? 1 : s.channels);
  if (token) t.embedding(1, s.hidden);
  if (const auto kind = c.text({"positional_encoding_type"}, "sincos"); kind == "sincos")
    t.frozen(component::embedding, checked::mul(rows, s.hidden));
  else if (kind == "random")
    t.embedding(rows, s.hidden);
  else
    complain(c.at("positional_encoding_type") + " must be \"sincos\" or \"random\", found " + quoted_word(kind));
  t.linear(component::attention, s.hidden, s.hidden, true, checked::mul(4, layers));
  t.linear(component::mlp, s.hidden, ffn, bias, layers);
  t.linear(component::mlp, ffn, s.hidden, bias, layers);
  t.layer_norm(s.hidden, checked::mul(across ? 3 : 2, layers));
  return s;
}

inline constexpr counted_class counted_audio_last[] = {
    {"GraniteSpeechModel", "granite_speech", count_granite_speech<false>},
    {"GraniteSpeechForConditionalGeneration", "granite_speech", count_granite_speech<true>},
    {"SeamlessM4TForTextToText", "seamless_m4t", count_seamless_text},
    {"SeamlessM4Tv2ForTextToText", "seamless_m4t_v2", count_seamless_text},
    {"PatchTSTModel", "patchtst", [](const config& c, tally& t) { count_patchtst(c, t); }},
    {"PatchTSTForPretraining", "patchtst", [](const config& c, tally& t) {
       const auto s = count_patchtst(c, t);
       t.linear(component::head, s.hidden, s.patch, true);
     }},
    {"PatchTSTForClassification", "patchtst", [](const config& c, tally& t) {
       const auto s = count_patchtst(c, t);
       t.linear(component::head, checked::mul(s.channels, s.hidden), c.count({"num_targets"}, 1), true);
     }},
};

}  // namespace headroom::io::detail
