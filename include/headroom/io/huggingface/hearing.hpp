// Distributed under the Boost Software License, Version 1.0.
// Models that hear, and Kimi K2.5: the language model is walked over samples of text alone, beside towers that are held (model.vision.held).
// Sources: transformers 5.16 models/qwen2_5_omni, qwen3_omni_moe, voxtral, qwen2_audio, kimi_k25: configuration_*.py and modeling_*.py.
#pragma once

#include <headroom/io/huggingface/vision.hpp>

namespace headroom::io::detail {

/// Parameters of Whisper's encoder, as Voxtral and Qwen2.5-Omni have it: two convolutions of three places over a spectrum, layers whose keys have no bias,
/// a norm.
inline std::int64_t spectrum_encoder_parameters(const config& c) {
  const auto h = c.size({"d_model", "hidden_size"}, 1280), ffn = c.size({"encoder_ffn_dim", "intermediate_size"}, 5120), heads = c.count({"encoder_attention_heads", "num_attention_heads"}, 20);
  const auto layers = c.number({"encoder_layers", "num_hidden_layers"}, 32, 0, config::most);
  if (h % heads != 0) complain(c.at("encoder_attention_heads") + " must divide d_model, " + std::to_string(h) + ", found " + std::to_string(heads));
  c.ignore({"layerdrop", "encoder_layerdrop", "scale_embedding", "vocab_size", "max_position_embeddings", "n_window", "max_source_positions", "tie_word_embeddings"});
  const auto front = checked::mul(h, checked::add(checked::mul(3, c.size({"num_mel_bins"}, 128)), checked::add(checked::mul(3, h), 2)));
  const auto layer = checked::add(checked::mul(h, checked::add(checked::mul(4, h), checked::add(checked::mul(2, ffn), 8))), ffn);
  return checked::add(checked::add(front, checked::mul(layers, layer)), checked::mul(2, h));
}

/// … of Qwen2_5OmniAudioEncoder: two vectors around each sound, and a biased matrix to the text's width.
inline std::int64_t omni_audio_parameters(const config& c) {
  const auto out = c.size({"output_dim"}, 3584), h = c.size({"d_model", "hidden_size"}, 1280);
  return checked::add(spectrum_encoder_parameters(c), checked::mul(out, checked::add(h, 3)));
}

/// … of Qwen3OmniMoeAudioEncoder: three convolutions of 3 × 3, each of which halves the spectrum, layers with all biases, and two matrices behind them.
inline std::int64_t omni3_audio_parameters(const config& c) {
  const auto h = c.size({"d_model", "hidden_size"}, 1280), ffn = c.size({"encoder_ffn_dim", "intermediate_size"}, 5120), ch = c.size({"downsample_hidden_size"}, 480), out = c.size({"output_dim"}, 3584);
  const auto layers = c.number({"encoder_layers", "num_hidden_layers"}, 32, 0, config::most), high = (((c.size({"num_mel_bins"}, 128) + 1) / 2 + 1) / 2 + 1) / 2;
  c.ignore({"encoder_attention_heads", "num_attention_heads", "max_source_positions", "n_window", "n_window_infer", "conv_chunksize", "scale_embedding", "tie_word_embeddings"});
  const auto front = checked::add(checked::mul(ch, checked::add(checked::mul(18, ch), 12)), checked::mul(ch, high, h));
  const auto layer = checked::add(checked::mul(h, checked::add(checked::mul(4, h), checked::add(checked::mul(2, ffn), 9))), ffn);
  return checked::add(checked::add(front, checked::mul(layers, layer)), checked::add(checked::mul(h, checked::add(h, 3)), checked::mul(out, checked::add(h, 1))));
}

/// A text_config with what its class has where it says nothing.
inline json text_with(const config& c, json usual) {
  if (const auto text = c.child("text_config"); true)
    for (const auto& [key, value] : text.object().items()) usual[key] = value;
  return usual;
}

/// The towers of a shape as parameters that are held.
inline void hold_towers(shape& m, std::int64_t beside) {
  const auto seeing = count(m).total.count();
  m.vision = {};
  m.vision.held = checked::add(seeing - count(m).total.count(), beside);
}

/// Qwen2_5OmniThinkerForConditionalGeneration: Qwen2.5-VL's text and tower, and one that hears.
inline shape read_omni_thinker(const config& c) {
  c.ignore({"position_id_per_seconds", "seconds_per_chunk"});
  const auto heard = omni_audio_parameters(c.child("audio_config"));
  json whole = {{"text_config", text_with(c, {{"vocab_size", 152064}, {"hidden_size", 3584}, {"intermediate_size", 18944}, {"num_hidden_layers", 28}, {"num_attention_heads", 28}, {"num_key_value_heads", 4}})},
                {"vision_config", c.child("vision_config").object()}, {"tie_word_embeddings", c.flag("tie_word_embeddings", false)}};
  if (const auto release = c.text({"transformers_version"}, ""); !release.empty()) whole["transformers_version"] = release;
  const config inner{whole, c.path(), c.asked()};
  shape m = read_qwen_vl(inner, "qwen2_5_vl");
  const auto text = inner.child("text_config");
  if (const auto width = text.nullable({"head_dim"}, 0, 0); width != 0 && width != m.hidden / m.heads) complain(text.at("head_dim") + " must be hidden_size / num_attention_heads, found " + std::to_string(width));
  hold_towers(m, heard);
  return m;
}

/// Qwen3OmniMoeThinkerForConditionalGeneration: Qwen3-MoE's text (experts as that has them), Qwen3-VL's tower, and one that hears.
inline shape read_omni3_thinker(const config& c) {
  c.ignore({"position_id_per_seconds"});
  const auto heard = omni3_audio_parameters(c.child("audio_config"));
  json whole = {{"text_config", text_with(c, {{"vocab_size", 3584}, {"hidden_size", 2048}, {"intermediate_size", 18944}, {"num_hidden_layers", 28}, {"num_attention_heads", 28}, {"num_key_value_heads", 4},
                                              {"num_experts", 128}, {"num_experts_per_tok", 8}, {"moe_intermediate_size", 768}})},
                {"vision_config", c.child("vision_config").object()}, {"tie_word_embeddings", c.flag("tie_word_embeddings", false)}};
  if (const auto release = c.text({"transformers_version"}, ""); !release.empty()) whole["transformers_version"] = release;
  const config inner{whole, c.path(), c.asked()};
  shape m = read_qwen_vl(inner, "qwen3_vl_moe");
  m.experts.parameters = false;
  m.experts.raw_weights = !inner.child("text_config").flag("norm_topk_prob", true);
  hold_towers(m, heard);
  return m;
}

/// Qwen2_5OmniForConditionalGeneration, Qwen3OmniMoeForConditionalGeneration: a thinker, and unless it is told not to, one who speaks. Trainers train the
/// thinker alone (LLaMA-Factory takes it out of the model, src/llamafactory/model/loader.py).
inline shape read_omni(const config& c, bool third) {
  if (c.flag("enable_audio_output", true))
    complain(c.at("enable_audio_output") + " makes a talker beside the thinker, which is counted, and not walked, by this version: say false, or give thinker_config alone as the model if its class alone is trained");
  for (const char* key : {"talker_config", "token2wav_config", "code2wav_config"}) ask_all(c.child(key));
  const auto thinker = c.child("thinker_config");
  return third ? read_omni3_thinker(thinker) : read_omni_thinker(thinker);
}

/// VoxtralForConditionalGeneration: Llama or Mistral behind Whisper's encoder, and two bias-free matrices, of which the first reads four of its vectors.
inline shape read_voxtral(const config& c) {
  const auto ear = c.child("audio_config");
  const auto heard = checked::add(spectrum_encoder_parameters(ear), checked::mul(ear.size({"max_source_positions"}, 1500), ear.size({"d_model", "hidden_size"}, 1280)));
  c.ignore({"projector_hidden_act", "hidden_size", "vocab_size"});
  const json text = text_with(c, {{"vocab_size", 131072}, {"hidden_size", 3072}, {"intermediate_size", 8192}, {"num_hidden_layers", 30}, {"num_key_value_heads", 8}, {"head_dim", 128}});
  shape m = read_text_config(config{text, c.at("text_config"), c.asked()}, "llama", "llama, mistral and the other decoders");
  m.vision.held = checked::add(heard, checked::mul(m.hidden, checked::add(ear.size({"encoder_ffn_dim", "intermediate_size"}, 5120), m.hidden)));
  tie_by_release(c, m, m.tied, false);  // transformers 5 ties nothing here, whatever the outer object says
  c.ignore({"tie_word_embeddings"});
  return m;
}

/// Qwen2AudioForConditionalGeneration: Qwen2 behind Whisper's encoder and one biased matrix (modeling_qwen2_audio.py, Qwen2AudioMultiModalProjector).
inline shape read_qwen2_audio(const config& c) {
  const auto ear = c.child("audio_config");
  const auto width = ear.size({"d_model", "hidden_size"}, 1280);
  const auto heard = checked::add(spectrum_encoder_parameters(ear), checked::mul(ear.size({"max_source_positions"}, 1500), width));
  c.ignore({"vocab_size", "ignore_index"});
  const bool usual = c.child("text_config").text({"model_type"}, "qwen2") == "qwen2";
  const json text = text_with(c, usual ? json{{"vocab_size", 151936}, {"hidden_size", 4096}, {"intermediate_size", 22016}, {"num_hidden_layers", 32}, {"num_attention_heads", 32}, {"num_key_value_heads", 32}} : json::object());
  shape m = read_text_config(config{text, c.at("text_config"), c.asked()}, "qwen2", "qwen2 and the other decoders");
  m.vision.held = checked::add(heard, checked::mul(m.hidden, checked::add(width, 1)));
  tie_by_release(c, m, m.tied, false);  // transformers 5 ties nothing here, whatever the outer object says
  c.ignore({"tie_word_embeddings"});
  return m;
}

/// KimiK25ForConditionalGeneration: DeepSeek-V3 behind MoonViT, whose positions are a plane. The second names are of the code beside the checkpoints.
inline shape read_kimi_k25(const config& c) {
  auto text = c.child("text_config").object();
  if (text.contains("model_type") && text["model_type"] == "kimi_k2") text["model_type"] = "deepseek_v3";
  const config inner{text, c.at("text_config"), c.asked()};
  shape m = read_text_config(inner, "deepseek_v3", "deepseek_v3 and the other decoders");
  read_weight_sums(inner, inner.text({"model_type"}, "deepseek_v3"), m);
  const auto sight = c.child("vision_config");
  if (const json* joins = sight.find({"mm_projector_type"}); joins != nullptr && *joins != "patchmerger") complain(sight.at("mm_projector_type") + " must be \"patchmerger\", found " + shown(*joins));
  std::int64_t merged = 4;
  if (const json* kernel = sight.find({"merge_kernel_size"}); kernel != nullptr) {
    if (!kernel->is_array() || kernel->size() != 2) complain(sight.at("merge_kernel_size") + " must be a list of two, found " + shown(*kernel));
    merged = checked::mul(config::whole((*kernel)[0], sight.at("merge_kernel_size"), 1, 1024), config::whole((*kernel)[1], sight.at("merge_kernel_size"), 1, 1024));
  }
  sight.ignore({"pos_emb_time", "max_position_embeddings", "init_pos_emb_time", "pos_emb_type", "merge_type", "video_attn_type", "projector_ln_eps", "text_hidden_size", "num_attention_heads", "vt_num_attention_heads"});
  c.ignore({"projection_ln_eps", "projection_layer_norm_eps", "use_unified_vision_chunk", "video_placeholder"});
  const auto h = sight.size({"hidden_size", "vt_hidden_size"}, 1152), ffn = sight.size({"intermediate_size", "vt_intermediate_size"}, 4304), patch = sight.size({"patch_size"}, 14);
  const auto places = checked::mul(sight.size({"pos_emb_height", "init_pos_emb_height"}, 64), sight.size({"pos_emb_width", "init_pos_emb_width"}, 64));
  const auto layer = checked::add(checked::mul(h, checked::add(checked::mul(4, h), checked::add(checked::mul(2, ffn), 9))), ffn);
  const auto tower = checked::add(checked::mul(h, checked::add(checked::mul(3, patch, patch), checked::add(places, 3))), checked::mul(sight.number({"num_hidden_layers", "vt_num_hidden_layers"}, 27, 0, config::most), layer));
  const auto wide = checked::mul(h, merged), in = c.size({"projection_hidden_size"}, sight.size({"mm_hidden_size"}, 1152));
  m.vision.held = checked::add(checked::add(tower, checked::mul(2, in)), checked::add(checked::mul(wide, checked::add(wide, 1)), checked::mul(m.hidden, checked::add(wide, 1))));
  tie_around_text(c, m, true);
  return m;
}

}  // namespace headroom::io::detail
