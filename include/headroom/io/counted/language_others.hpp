// Distributed under the Boost Software License, Version 1.0.
// Further language models: inside models that see and speak, over pixels, and MiniMax's code beside its checkpoints. Each comment names the file of
// transformers 5.16 that is counted.
#pragma once

#include <headroom/io/counted/language_dense.hpp>
#include <headroom/io/counted/language_sparse.hpp>

namespace headroom::io::detail {

/// Llama's layers, without what stands around them.
inline void count_llama_layers(tally& t, const language_sizes& s, bool bias, bool mlp_bias) {
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, mlp_bias, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
}

/// Configurations of models that this class does not hold, whatever they say.
inline void pass_over(const config& c, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const json* part = c.find({key}); part != nullptr && part->is_object())
      for (const auto& [inner, value] : part->items()) {
        c.child(key).ignore({inner.c_str()});
        if (value.is_object()) pass_over(c.child(key), {inner.c_str()});
      }
}

/// modeling_csm.py: a table of codebooks' tokens, a row for each codebook and token.
inline std::int64_t read_codebook_rows(const config& c) { return checked::mul(c.count({"num_codebooks"}, 32), c.size({"codebook_size", "vocab_size"}, 2051)); }
/// CsmDepthDecoderModel.
inline language_sizes count_csm_depth(const config& c, tally& t) {
  const auto s = read_language(c, {4, 1024, 8, 2, 0, 8192, 2051});
  const auto backbone = c.size({"backbone_hidden_size"}, 2048);
  expect(c, "tie_word_embeddings", false);
  ignore_labels(c);
  t.embedding(read_codebook_rows(c), backbone);
  t.linear(component::projector, backbone, s.hidden, false);
  count_llama_layers(t, s, c.flag("attention_bias", false), c.flag("mlp_bias", false));
  return s;
}
inline void count_csm_depth_causal(const config& c, tally& t) {
  const auto s = count_csm_depth(c, t);
  t.linear(component::head, checked::mul(c.count({"num_codebooks"}, 32) - 1, s.hidden), c.size({"codebook_size", "vocab_size"}, 2051), false);
}
/// CsmBackboneModel.
inline language_sizes count_csm_backbone(const config& c, tally& t) {
  const auto s = read_language(c, {16, 2048, 32, 8, 0, 8192, 2051});
  c.ignore({"tie_codebooks_embeddings", "text_vocab_size", "codec_config", "depth_decoder_config"});
  expect(c, "tie_word_embeddings", false);
  ignore_labels(c);
  t.embedding(read_codebook_rows(c), s.hidden);
  count_llama_layers(t, s, c.flag("attention_bias", false), c.flag("mlp_bias", false));
  return s;
}

/// modeling_fuyu.py: Persimmon, and pixels of a patch as an embedding. Without a text_config the keys of the language model stand beside the rest.
inline language_model count_fuyu(const config& c, tally& t) {
  const auto text = c.has("text_config") ? c.child("text_config") : c;
  if (text.text({"model_type"}, "persimmon") != "persimmon" && c.has("text_config")) complain(text.at("model_type") + " must be persimmon here, found " + shown(text.find({"model_type"})));
  const auto m = count_persimmon(text, t);
  c.ignore({"vocab_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "image_size", "max_position_embeddings", "qk_layernorm", "partial_rotary_factor"});
  const auto patch = c.count({"patch_size"}, 30);
  t.linear(component::projector, checked::mul(checked::mul(patch, patch), c.count({"num_channels"}, 3)), c.size({"hidden_size"}, 4096), true);
  return {m.hidden, m.vocab, c.flag("tie_word_embeddings", false)};
}

/// modeling_imagegpt.py: GPT-2 over colours, with norms that have no biases.
inline language_model count_imagegpt(const config& c, tally& t) {
  const auto layers = c.number({"num_hidden_layers", "n_layer"}, 24, 0, config::most);
  const auto h = c.size({"hidden_size", "n_embd"}, 512);
  const auto four = checked::mul(4, h);
  c.ignore({"num_attention_heads", "n_head", "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn"});
  const bool crosses = c.flag("add_cross_attention", false);
  t.linear(component::attention, h, h, true, checked::mul(crosses ? 8 : 4, layers));
  count_plain_mlp(t, component::mlp, h, c.nullable({"n_inner"}, four, four), true, layers);
  t.rms_norm(h, checked::add(checked::mul(crosses ? 3 : 2, layers), 1));
  t.embedding(c.size({"max_position_embeddings", "n_positions"}, 1024), h);
  return count_vocabulary(c, t, c.size({"vocab_size"}, 513), h, false);
}

/// modeling_cosmos3_edge.py, Cosmos3EdgeTextModel: Llama with an MLP of two matrices.
inline language_model count_cosmos3_edge_text(const config& c, tally& t) {
  const auto s = read_language(c, {28, 2048, 16, 8, 128, 9216, 131072});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  count_plain_mlp(t, component::mlp, s.hidden, s.ffn, c.flag("mlp_bias", false), s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s);
}
inline void count_cosmos3_edge_vision(const config& c, tally& t) {
  const auto h = c.size({"hidden_size"}, 1152);
  const auto patch = c.count({"patch_size"}, 16);
  c.ignore({"num_attention_heads", "spatial_merge_size", "max_position_embeddings"});
  t.within(component::vision, [&] {
    t.linear(component::vision, checked::mul(c.count({"num_channels"}, 3), checked::mul(patch, patch)), h, true);
    t.embedding(c.count({"num_patches"}, 256), h);
    count_encoder({c.number({"num_hidden_layers"}, 27, 0, config::most), h, c.size({"intermediate_size"}, 4304)}, t);
    t.layer_norm(h);
  });
}
inline language_model count_cosmos3_edge(const config& c, tally& t) {
  const auto text = count_cosmos3_edge_text(c.child("text_config"), t);
  const auto vision = c.child("vision_config");
  count_cosmos3_edge_vision(vision, t);
  const auto h = vision.size({"hidden_size"}, 1152), merge = vision.count({"spatial_merge_size"}, 2), width = c.size({"projector_hidden_size"}, 11520);
  t.layer_norm(h);
  t.linear(component::projector, checked::mul(h, checked::mul(merge, merge)), width, true);
  t.linear(component::projector, width, text.hidden, true);
  c.ignore({"tie_word_embeddings"});
  return {text.hidden, text.vocab, false};
}

/// modeling_hunyuan_vl.py, HunYuanVLTextModel: Llama with norms over each head's q and k.
inline language_model count_hunyuan_vl_text(const config& c, tally& t) {
  auto s = read_language(c, {32, 4096, 32, 0, 0, 11008, 290943});
  s.vocab = c.size({"vocab_size", "org_vocab_size"}, s.vocab);
  c.ignore({"eod_token_id", "pad_id"});
  const bool bias = c.flag("attention_bias", false);
  count_attention(t, s, bias, bias, s.layers);
  t.rms_norm(s.head_dim, checked::mul(2, s.layers));
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::mul(2, s.layers));
  return count_frame(c, t, s, true);
}

/// modeling_granite4_vision.py, Granite4VisionTextModel: Llama.
inline language_model count_granite4_vision_text(const config& c, tally& t) {
  const auto s = read_language(c, {32, 4096, 32, 0, 0, 11008, 32000});
  count_llama_layers(t, s, c.flag("attention_bias", false), c.flag("mlp_bias", false));
  return count_vocabulary(c, t, s.vocab, s.hidden, false);
}

/// MiniMaxAI's modeling_minimax_text_01.py and modeling_minimax_m1.py: transformers' MiniMax, whose list of layers says 0 for lightning attention.
/// Code beside the checkpoint: sizes must be stated.
inline language_model count_minimax_text_01(const config& c, tally& t) {
  auto plain = c.object();
  for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "vocab_size", "num_local_experts", "num_experts_per_tok",
                          "attn_type_list"})
    if (!c.has(key)) complain(c.at(key) + " is missing; this family has no default for it");
  c.ignore({"rotary_dim", "postnorm", "shared_moe_mode", "layernorm_full_attention_alpha", "layernorm_full_attention_beta", "layernorm_linear_attention_alpha",
            "layernorm_linear_attention_beta", "layernorm_mlp_alpha", "layernorm_mlp_beta", "output_router_logits"});
  expect(c, "shared_intermediate_size", 0);
  const auto& list = *c.find({"attn_type_list"});
  if (!list.is_array()) complain(c.at("attn_type_list") + " must be a list of 0 and 1, one for each layer, found " + shown(list));
  json words = json::array();
  for (const auto& one : list) words.push_back(config::whole(one, c.at("attn_type_list"), 0, 1) == 0 ? "linear_attention" : "full_attention");
  plain["layer_types"] = words;
  return count_minimax({plain, c.path(), c.asked()}, t);
}

inline constexpr counted_class counted_other_languages[] = {
    {"CsmDepthDecoderModel", "csm_depth_decoder_model", [](const config& c, tally& t) { count_csm_depth(c, t); }},
    {"CsmDepthDecoderForCausalLM", "csm_depth_decoder_model", [](const config& c, tally& t) {  // the class names another configuration's defaults than its model
       for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "backbone_hidden_size"})
         if (!c.has(key)) complain(c.at(key) + " is missing; this class has no default of its own for it");
       count_csm_depth_causal(c, t);
     }},
    {"CsmBackboneModel", "csm", [](const config& c, tally& t) { count_csm_backbone(c, t), pass_over(c, {"codec_config", "depth_decoder_config"}); }},
    {"CsmForConditionalGeneration", "csm", [](const config& c, tally& t) {
       const auto s = count_csm_backbone(c, t);
       t.linear(component::head, s.hidden, c.size({"codebook_size", "vocab_size"}, 2051), false);
       t.embedding(c.size({"text_vocab_size"}, 128256), s.hidden);
       count_csm_depth_causal(c.child("depth_decoder_config"), t);
       t.model(count_inner(c.child("codec_config"), "mimi"));
     }},
    {"FuyuModel", "fuyu", count_base<count_fuyu>},
    {"FuyuForCausalLM", "fuyu", count_causal<count_fuyu>},
    {"ImageGPTModel", "imagegpt", count_base<count_imagegpt>},
    {"ImageGPTForCausalImageModeling", "imagegpt", [](const config& c, tally& t) {  // it says every colour, and not where to begin
       const auto m = count_imagegpt(c, t);
       ignore_labels(c);
       if (!m.tied) t.linear(component::head, m.hidden, m.vocab - 1, false);
     }},
    {"ImageGPTForImageClassification", "imagegpt", count_sequence<count_imagegpt>},
    {"Cosmos3EdgeTextModel", "cosmos3_edge_text", count_base<count_cosmos3_edge_text>},
    {"Cosmos3EdgeVisionModel", "cosmos3_edge_vision", [](const config& c, tally& t) { count_cosmos3_edge_vision(c, t), ignore_labels(c); }},
    {"Cosmos3EdgeModel", "cosmos3_edge", count_base<count_cosmos3_edge>},
    {"Cosmos3EdgeForConditionalGeneration", "cosmos3_edge", count_causal<count_cosmos3_edge>},
    {"HunYuanVLTextModel", "hunyuan_vl_text", count_base<count_hunyuan_vl_text>},
    {"Granite4VisionTextModel", "granite4_vision_text", count_base<count_granite4_vision_text>},
    {"MiniMaxText01ForCausalLM", "minimax_text_01", count_causal<count_minimax_text_01>},
    {"MiniMaxM1ForCausalLM", "minimax_m1", count_causal<count_minimax_text_01>},
};

}  // namespace headroom::io::detail
