// Distributed under the Boost Software License, Version 1.0.
// Models that see: a tower in front of a language model.
#pragma once

#include <headroom/io/huggingface/text_of_sight.hpp>
#include <headroom/io/huggingface/ties.hpp>
#include <headroom/io/huggingface/towers.hpp>

namespace headroom::io::detail {

/// LlavaForConditionalGeneration, LlavaNextForConditionalGeneration; the text's own config says whether it is tied.
inline shape read_llava(const config& c, bool next) {
  if (!c.has("text_config") && c.has("hidden_size"))
    complain(c.at("text_config") + " is missing and the text's keys stand at the top, as in checkpoints of LLaVA's own code; give the config of "
                                   "the converted checkpoint (llava-hf), or the model as a shape object");
  shape m = read_text_config(c.child("text_config"), "llama", "llama, mistral, qwen2 and the other decoders");
  const bool usual = next ? false : m.tied;
  const auto sight = c.child("vision_config");
  const auto kind = sight.text({"model_type"}, "clip_vision_model");
  const bool pixtral = kind == "pixtral" && !next;
  if (!pixtral && kind != "clip_vision_model" && kind != "siglip_vision_model")
    complain(sight.at("model_type") + " must be clip_vision_model, siglip_vision_model or, of llava, pixtral, found " + quoted_word(kind));
  const bool siglip = kind == "siglip_vision_model";
  // Without any vision_config the class builds CLIP-L/336; with one, whatever it leaves out is CLIP's own default.
  m.vision = read_tower(sight, siglip ? vision_kind::siglip : pixtral ? vision_kind::pixtral : vision_kind::clip,
                        siglip ? siglip_tower : pixtral ? pixtral_tower : c.has("vision_config") ? clip_tower : llava_tower);
  if (pixtral) m.vision.positions = 0;  // Pixtral 12B, every patch a token
  m.vision.attention_pool = siglip && sight.flag("vision_use_head", true);
  m.vision.projector = projector_kind::mlp;
  if (!c.flag("multimodal_projector_bias", true)) complain(c.at("multimodal_projector_bias") + " must be true, found false");
  m.vision.unread = unread_layers(c, m.vision.layers, -2);
  m.vision.newline = next;
  if (next) m.vision.slices = 5;  // the image as a whole, and up to 2 × 2 tiles of it (image_grid_pinpoints)
  tie_around_text(c, m, usual);
  return m;
}

/// PaliGemmaForConditionalGeneration: Gemma or Gemma 2 behind SigLIP. Without a text_config or a vision_config the class builds PaliGemma 3B.
inline shape read_paligemma(const config& c) {
  const json usual = {{"hidden_size", 2048}, {"num_hidden_layers", 18}, {"intermediate_size", 16384}, {"num_attention_heads", 8}, {"num_key_value_heads", 1}, {"vocab_size", c.size({"vocab_size"}, 257152)}};
  shape m = read_text_config(c.has("text_config") ? c.child("text_config") : config{usual, c.at("text_config")}, "gemma", "gemma, gemma2");
  const auto sight = c.child("vision_config");
  m.vision = read_tower(sight, vision_kind::siglip, c.has("vision_config") ? siglip_tower : paligemma_tower);
  m.vision.attention_pool = sight.flag("vision_use_head", c.has("vision_config"));
  m.vision.projector = projector_kind::linear;
  tie_around_text(c, m, true);
  if (const auto out = c.size({"projection_dim"}, 2048); out != m.hidden)  // of the vision_config none is read
    complain(c.at("projection_dim") + " must equal the text's hidden_size, " + std::to_string(m.hidden) + ", found " + std::to_string(out));
  return m;
}

/// Mistral3ForConditionalGeneration: Mistral behind Pixtral's tower, images of any size. Without a text_config or a vision_config the class
/// builds Mistral Small 3.1 (configuration_mistral3.py); with one, what it leaves out is Mistral's or Pixtral's own default. Whether tables are
/// tied is said at the top (transformers 5), and where nothing is said there, by the release.
/// LightOnOcrForConditionalGeneration (modeling_lighton_ocr.py) is Mistral 3 before Qwen3, whose projector and layer that is read are fixed.
inline shape read_mistral3(const config& c, bool lighton = false) {
  static const json small = {{"hidden_size", 5120}, {"num_hidden_layers", 40}, {"intermediate_size", 32768}, {"num_attention_heads", 32},
                             {"num_key_value_heads", 8}, {"head_dim", 128}, {"vocab_size", 131072}, {"sliding_window", nullptr}, {"tie_word_embeddings", true}};
  static const json lighter = {{"hidden_size", 1024}, {"num_hidden_layers", 28}, {"intermediate_size", 3072}, {"num_attention_heads", 16}, {"num_key_value_heads", 8}, {"head_dim", 128}, {"vocab_size", 151936}};
  const char* usual = lighton ? "qwen3" : "mistral";
  shape m = read_text_config(c.has("text_config") ? c.child("text_config") : config{lighton ? lighter : small, c.at("text_config")}, usual, usual);
  const auto sight = c.child("vision_config");
  if (const auto kind = sight.text({"model_type"}, "pixtral"); kind != "pixtral") complain(sight.at("model_type") + " must be pixtral, found " + quoted_word(kind));
  m.vision = read_tower(sight, vision_kind::pixtral, c.has("vision_config") ? pixtral_tower : mistral3_tower);
  m.vision.positions = 0;  // rotary; an image's longer edge is at most image_size (preprocessor_config.json, size.longest_edge)
  m.vision.projector = projector_kind::patch_merger;
  m.vision.unread = unread_layers(c, m.vision.layers, -1);
  m.vision.merge = c.number({"spatial_merge_size"}, 2, 1, 1024);
  if (c.flag("multimodal_projector_bias", false)) complain(c.at("multimodal_projector_bias") + " must be false, found true");
  if (const auto width = sight.nullable({"head_dim"}, 0, 0); width > 0 && width != m.vision.hidden / m.vision.heads)
    complain(sight.at("head_dim") + " must be hidden_size / num_attention_heads, found " + std::to_string(width));
  if (lighton || (c.has("tie_word_embeddings") && release_of(c) == 0)) m.tied = c.flag("tie_word_embeddings", true);  // transformers 4 wrote none there
  else tie_around_text(c, m, true);
  return m;
}

inline shape read_gemma3(const config& c) {  // Gemma3ForConditionalGeneration
  shape m = read_text_config(c.child("text_config"), "gemma3_text", "gemma3_text");
  const auto sight = c.child("vision_config");
  m.vision = read_tower(sight, vision_kind::siglip, siglip_tower);
  m.vision.attention_pool = sight.flag("vision_use_head", true);
  m.vision.projector = projector_kind::norm_linear;
  tie_around_text(c, m, true);
  return m;
}

/// Parameters of Gemma4VisionModel, whatever its matrices are clamped to.
inline std::int64_t gemma4_tower_parameters(const config& c) {
  c.ignore({"attention_bias", "standardize", "global_head_dim", "max_position_embeddings", "layer_types", "use_clipped_linears", "pooling_kernel_size", "default_output_length", "hidden_activation"});
  const auto h = c.size({"hidden_size"}, 768), patch = c.number({"patch_size"}, 16, 1, 1024), width = c.size({"head_dim"}, 64);
  const auto heads = checked::add(c.count({"num_attention_heads"}, 12), c.count({"num_key_value_heads"}, 12));
  const auto layer = checked::add(checked::mul(h, checked::add(checked::mul(2, heads, width), checked::mul(3, c.size({"intermediate_size"}, 3072)))), checked::mul(2, width) + 4 * h);
  const auto front = checked::mul(h, checked::add(3 * patch * patch, checked::mul(2, c.size({"position_embedding_size"}, 10240))));
  return checked::add(front, checked::mul(c.count({"num_hidden_layers"}, 16), layer));
}

/// … of Gemma4AudioModel: two convolutions of 3 × 3, each with a norm, whose result is a quarter as high; in a layer five square matrices of attention (one of
/// relative places), two MLPs four times as wide, a convolution between matrices of twice the width and of one, and norms.
inline std::int64_t gemma4_audio_parameters(const config& c, std::int64_t out) {
  c.ignore({"residual_weight", "attention_chunk_size", "attention_context_left", "attention_context_right", "attention_logit_cap", "attention_invalid_logits_value", "use_clipped_linears", "gradient_clipping",
            "max_position_embeddings"});
  const auto h = c.size({"hidden_size"}, 1024), heads = c.count({"num_attention_heads"}, 8);
  if (h % heads != 0) complain(c.at("num_attention_heads") + " must divide hidden_size, " + std::to_string(h) + ", found " + std::to_string(heads));
  std::int64_t channels[2]{128, 32};
  if (const json* list = c.find({"subsampling_conv_channels"}); list != nullptr) {
    if (!list->is_array() || list->size() != 2) complain(c.at("subsampling_conv_channels") + " must be a list of two, found " + shown(*list));
    for (std::size_t i = 0; i < 2; ++i) channels[i] = config::whole((*list)[i], c.at("subsampling_conv_channels"), 1, config::most);
  }
  const auto front = checked::add(checked::mul(9, channels[0]), checked::mul(9, channels[0], channels[1]));
  const auto into = checked::mul(channels[0] / 4, channels[1], h);
  const auto layer = checked::add(checked::mul(5 + 16 + 3, h, h), checked::add(h / heads, checked::mul(h, checked::add(c.count({"conv_kernel_size"}, 5), 9))));
  const auto all = checked::add(checked::add(front, into), checked::add(channels[0] + channels[1], checked::mul(c.count({"num_hidden_layers"}, 12), layer)));
  return checked::add(all, checked::mul(out, h + 1));
}

/// Gemma4ForConditionalGeneration without a tower that hears: Gemma 4's text behind a tower of the same layers. Where no batch.images say how large an
/// image is, it fills the tokens that the processor gives it at most (Gemma4ImageProcessor.max_soft_tokens).
inline shape read_gemma4(const config& c) {
  shape m = read_text_config(c.child("text_config"), "gemma4_text", "gemma4_text");
  tie_around_text(c, m, true);
  c.ignore({"audio_soft_tokens_per_image", "boa_token_id", "eoa_token_id", "max_position_embeddings"});
  if (c.has("audio_config")) {  // E2B, E4B: both towers, and a matrix behind each (Gemma4MultimodalEmbedder); what runs in them is not known here
    c.ignore({"vision_soft_tokens_per_image"});
    const auto ear = c.child("audio_config");
    const auto heard = ear.size({"output_proj_dims"}, 1536);
    m.vision.held = checked::add(gemma4_audio_parameters(ear, heard), checked::mul(heard, m.hidden));
    if (!c.has("vision_config")) return m;
    const auto sight = c.child("vision_config");
    m.vision.held = checked::add(m.vision.held, checked::add(gemma4_tower_parameters(sight), checked::mul(sight.size({"output_proj_dims", "hidden_size"}, 768), m.hidden)));
    return m;
  }
  const auto soft = c.count({"vision_soft_tokens_per_image"}, 280);
  if (!c.has("vision_config")) return m;
  const auto sight = c.child("vision_config");
  sight.ignore({"attention_bias", "standardize", "global_head_dim", "max_position_embeddings", "layer_types"});
  auto& v = m.vision;
  v.kind = vision_kind::gemma4;
  v.projector = projector_kind::pooled_linear;
  v.layers = sight.count({"num_hidden_layers"}, 16);
  v.hidden = sight.size({"hidden_size"}, 768);
  v.heads = sight.count({"num_attention_heads"}, 12);
  v.ffn = sight.size({"intermediate_size"}, 3072);
  v.patch = sight.number({"patch_size"}, 16, 1, 1024);
  v.merge = sight.number({"pooling_kernel_size"}, 3, 1, 64);
  v.positions = checked::mul(2, sight.size({"position_embedding_size"}, 10240));
  v.tokens = sight.number({"default_output_length"}, soft, 1, 65'536);
  if (sight.count({"num_key_value_heads"}, 12) != v.heads) complain(sight.at("num_key_value_heads") + " must equal num_attention_heads, " + std::to_string(v.heads));
  if (checked::mul(sight.size({"head_dim"}, 64), v.heads) != v.hidden) complain(sight.at("head_dim") + " must be hidden_size / num_attention_heads");
  if (sight.flag("use_clipped_linears", false)) complain(sight.at("use_clipped_linears") + " must be false: matrices between clamps are counted alone, found true");
  if (const auto act = sight.text({"hidden_activation"}, "gelu_pytorch_tanh"); act != "gelu_pytorch_tanh") complain(sight.at("hidden_activation") + " must be gelu_pytorch_tanh, found " + quoted_word(act));
  if (sight.has("output_proj_dims")) require_equal(sight, "output_proj_dims", "hidden_size", v.hidden);
  std::int64_t high = 1;
  for (std::int64_t i = 1; checked::mul(i, i) <= v.tokens; ++i)
    if (v.tokens % i == 0) high = i;
  const auto unit = checked::mul(v.patch, v.merge);
  v.image = checked::mul(v.tokens / high, unit);
  v.image_height = checked::mul(high, unit);
  return m;
}

/// Idefics3ForConditionalGeneration, SmolVLMForConditionalGeneration: a decoder behind SigLIP's tower; an image is cut into tiles of the tower's size.
inline shape read_idefics3(const config& c) {
  if (!c.has("text_config")) complain(c.at("text_config") + " is missing; the class's own default cannot be built");
  const auto text = c.child("text_config"), sight = c.child("vision_config");
  // What SmolVLM's own training code left in its files, and transformers' classes do not read.
  text.ignore({"_flash_attn_2_enabled", "neftune_noise_alpha", "pixel_shuffle_factor", "qk_layer_norms", "rope_interleaved", "use_resampler"});
  text.child("perceiver_config").ignore({"_name_or_path", "add_cross_attention", "attention_dropout", "hidden_act", "model_type", "num_key_value_heads", "qk_layer_norms_perceiver", "resampler_depth", "resampler_head_dim", "resampler_n_heads", "resampler_n_latents"});
  sight.ignore({"max_image_size", "size", "use_base_siglip", "tie_word_embeddings"});
  for (const char* edge : {"max_image_size", "size"}) sight.child(edge).ignore({"longest_edge"});
  c.ignore({"image_seq_len", "use_reentrant_checkpointing", "vocab_size"});
  shape m = read_text_config(text, "llama", "llama and the other decoders");
  m.vision = read_tower(sight, vision_kind::idefics3, idefics3_tower);
  if (const auto act = sight.text({"hidden_act"}, "gelu_pytorch_tanh"); act != "gelu_pytorch_tanh") complain(sight.at("hidden_act") + " must be gelu_pytorch_tanh, found " + quoted_word(act));
  m.vision.projector = projector_kind::shuffled_linear;
  m.vision.merge = c.number({"scale_factor"}, 2, 1, 1024);
  if (const auto side = m.vision.image / m.vision.patch; side % m.vision.merge != 0)
    complain(c.at("scale_factor") + " must divide the " + std::to_string(side) + " patches of an edge, found " + std::to_string(m.vision.merge));
  tie_around_text(c, m, false);
  return m;
}

inline shape read_llama4(const config& c) {  // Llama4ForConditionalGeneration
  shape m = read_text_config(c.child("text_config"), "llama4_text", "llama4_text");
  const auto sight = c.child("vision_config");
  auto& v = m.vision;
  v = read_tower(sight, vision_kind::llama4, llama4_tower);
  v.projector = projector_kind::pixel_mlp;
  v.merge = 2;
  v.projector_hidden = sight.size({"projector_input_dim"}, 4096);
  v.output = sight.size({"projector_output_dim"}, 4096);
  if (const auto out = sight.size({"vision_output_dim"}, 7680); out != v.output || out != v.projector_hidden)
    complain(sight.at("vision_output_dim") + " must equal projector_input_dim and projector_output_dim, found " + std::to_string(out));
  return m;
}

/// Qwen2-VL, Qwen2.5-VL, Qwen3-VL. Older configs hold the text's keys at the top.
inline shape read_qwen_vl(const config& c, std::string_view type) {
  const bool nested = c.has("text_config") || !type.starts_with("qwen2");
  const auto text = nested ? c.child("text_config") : c;
  if (nested) c.ignore({"vocab_size"});  // the text's own counts
  if (!c.has("text_config") && nested && c.has("hidden_size"))
    complain(c.at("text_config") + " is missing and the text's keys stand at the top, where this class does not read them");
  const std::string family = type == "qwen3_vl" ? "qwen3_vl_text" : type == "qwen3_vl_moe" ? "qwen3_vl_moe_text"
                             : type == "qwen3_5" ? "qwen3_5_text" : type == "qwen3_5_moe" ? "qwen3_5_moe_text" : "qwen2_vl_text";
  const bool newer = family.starts_with("qwen3_5");  // transformers 5: the outer object says whether tables are tied
  shape m;
  read_decoder(text, family, m);
  if (nested) check_foreign(text, m, family);
  if (nested && (newer || text.find({"tie_word_embeddings"}) == nullptr)) m.tied = c.flag("tie_word_embeddings", false);
  const auto sight = c.child("vision_config");
  auto& v = m.vision;
  v.projector = projector_kind::merger;
  v.heads = sight.count({"num_heads"}, 16);
  v.channels = sight.size({"in_channels"}, 3);
  v.merge = sight.number({"spatial_merge_size"}, 2, 1, 1024);
  v.temporal_patch = sight.number({"temporal_patch_size"}, 2, 1, 1024);
  if (type == "qwen2_vl") {
    v.kind = vision_kind::qwen2_vl;
    v.layers = sight.count({"depth"}, 32);
    v.hidden = sight.size({"embed_dim"}, 1280);
    v.ffn = checked::mul(sight.size({"mlp_ratio"}, 4), v.hidden);
    v.patch = sight.size({"patch_size"}, 14);
    v.output = sight.size({"hidden_size"}, 3584);
  } else if (type == "qwen2_5_vl") {
    v.kind = vision_kind::qwen2_5_vl;
    v.layers = sight.count({"depth"}, 32);
    v.hidden = sight.size({"hidden_size"}, 3584);
    v.ffn = sight.size({"intermediate_size"}, 3420);
    v.patch = sight.size({"patch_size"}, 14);
    v.output = sight.size({"out_hidden_size"}, 3584);
  } else {  // Qwen3VLVisionModel: learned positions, and mergers that feed early language layers
    v.kind = vision_kind::qwen3_vl;
    v.layers = sight.count({"depth"}, 27);
    v.hidden = sight.size({"hidden_size"}, 1152);
    v.ffn = sight.size({"intermediate_size"}, 4304);
    v.patch = sight.size({"patch_size"}, 16);
    v.output = sight.size({"out_hidden_size"}, 3584);
    v.positions = sight.size({"num_position_embeddings"}, 2304);
    v.deep_mergers = newer ? 0 : 3;
    if (const json* deep = sight.find({"deepstack_visual_indexes"}); deep != nullptr) {
      if (!deep->is_array()) complain(sight.at("deepstack_visual_indexes") + " must be a list of layer numbers, found " + shown(*deep));
      v.deep_mergers = static_cast<std::int64_t>(deep->size());
    }
  }
  if (nested && type.starts_with("qwen2")) tie_around_or_in_text(c, m);
  else if (nested && !newer) tie_around_text(c, m, false);
  return m;
}

}  // namespace headroom::io::detail
