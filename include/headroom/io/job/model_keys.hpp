// Distributed under the Boost Software License, Version 1.0.
// The keys of a model's shape, for readers, writers and the schema alike.
#pragma once

#include <headroom/io/job/pattern.hpp>
#include <headroom/model/zoo.hpp>

namespace headroom::io {

template <class Keys>
void describe(Keys& k, expert_shape& e) {
  k.whole("count", e.count);
  k.whole("active", e.active);
  k.whole("ffn", e.ffn);
  k.whole("shared", e.shared);
  k.whole("shared_ffn", e.shared_ffn);
  k.whole("first_dense_layers", e.first_dense_layers);
  k.whole("every", e.every, std::int64_t{1}, 1);
  k.flag("router_bias", e.router_bias);
  k.flag("shared_gate", e.shared_gate);
  k.flag("bias", e.bias);
  k.flag("fp32_weights", e.fp32_weights);
  k.flag("raw_weights", e.raw_weights);
  k.flag("parameters", e.parameters);
  k.flag("beside_mlp", e.beside_mlp);
  k.flag("narrow_scores", e.narrow_scores);
  k.flag("plain_router", e.plain_router);
  k.flag("chosen_logits", e.chosen_logits);
  k.flag("clamped_sum", e.clamped_sum);
  k.flag("fp32_router", e.fp32_router);
  k.whole("latent", e.latent);
  k.scaled("capacity_factor", e.capacity_factor_percent, std::int64_t{}, 100.0, 1e6);
  constexpr std::string_view key = "dense_layers";  // layers 0 to 127 that are dense although the rule says sparse
  if constexpr (Keys::reads) {
    if (const auto* list = k.take(key)) {
      e.dense_mask[0] = e.dense_mask[1] = 0;
      each_at(*list, k.at(key), "a list of layers", [&](const json_value& v, const std::string& path) {
        const auto i = whole_at(v, path, 0, 127);
        e.dense_mask[i / 64] |= std::uint64_t{1} << (i % 64);
      });
    }
  } else if (e.masked_dense()) {
    auto list = json_value::array();
    for (int i = 0; i < 128; ++i)
      if (((e.dense_mask[i / 64] >> (i % 64)) & 1U) != 0) list.push_back(i);
    k.put(key, list);
  }
}

template <class Keys>
void describe(Keys& k, global_shape& g) {
  k.whole("head_dim", g.head_dim);
  k.whole("kv_heads", g.kv_heads);
  k.flag("keys_as_values", g.keys_as_values);
  k.flag("no_positions", g.no_positions);
}

template <class Keys>
void describe(Keys& k, altup_shape& a) {
  k.whole("streams", a.streams);
  k.whole("laurel", a.laurel);
}

template <class Keys>
void describe(Keys& k, layer_input_shape& l) {
  k.whole("width", l.width);
  k.whole("vocab", l.vocab);
}

template <class Keys>
void describe(Keys& k, mla_shape& m) {
  k.whole("q_rank", m.q_rank);
  k.whole("kv_rank", m.kv_rank);
  k.whole("nope_dim", m.nope_dim);
  k.whole("rope_dim", m.rope_dim);
  k.whole("value_dim", m.value_dim);
  k.whole("index_heads", m.index_heads);
  k.whole("index_dim", m.index_dim);
  k.whole("index_keys", m.index_keys);
  k.flag("index_handed_on", m.index_handed_on);
}

template <class Keys>
void describe(Keys& k, encoder_shape& e) {
  k.whole("layers", e.layers);
  k.whole("sequence", e.sequence);
  k.flag("cross_attention", e.cross_attention);
  k.whole("heads", e.heads);
  k.whole("ffn", e.ffn);
  k.whole("max_positions", e.max_positions);
  k.flag("shared_positions", e.shared_positions);
  k.flag("frozen_positions", e.frozen_positions);
  k.whole("audio_channels", e.audio_channels);
  k.whole("vocab", e.vocab);
  k.flag("attention_bias", e.attention_bias);
}

/// Rows of a tower's position table where the file leaves them out: one for each patch, and the class token's.
constexpr std::int64_t usual_positions(const vision_shape& v) {
  const bool table = v.kind == vision_kind::vit || v.kind == vision_kind::clip || v.kind == vision_kind::megatron_clip || v.kind == vision_kind::siglip || v.kind == vision_kind::idefics3 || v.kind == vision_kind::glm4v || v.kind == vision_kind::intern_vit || v.kind == vision_kind::intern_vit_6b || v.kind == vision_kind::internvl || v.kind == vision_kind::internvl_6b;
  if (!table || v.patch <= 0) return 0;
  const auto edge = v.image / v.patch, high = v.kind == vision_kind::megatron_clip && v.image_height > 0 ? v.image_height / v.patch : edge;
  return edge * high + (headroom::detail::traits_of(v.kind).class_token ? 1 : 0);
}

template <class Keys>
void describe(Keys& k, vision_shape& v) {
  constexpr std::int64_t largest_edge = std::int64_t{1} << 20;  // so that patches² stays in range
  k.word("kind", v.kind);
  k.word("projector", v.projector);
  k.flag("attention_pool", v.attention_pool);
  k.flag("no_patch_bias", v.no_patch_bias);
  k.whole("layers", v.layers);
  k.whole("hidden", v.hidden);
  k.whole("heads", v.heads);
  k.whole("ffn", v.ffn);
  k.whole("patch", v.patch, {}, 0, largest_edge);
  k.whole("temporal_patch", v.temporal_patch, std::int64_t{1}, 1, largest_edge);
  k.whole("channels", v.channels, std::int64_t{3}, 1, largest_edge);
  k.whole("image", v.image, {}, 0, largest_edge);
  k.whole("image_height", v.image_height, {}, 0, largest_edge);
  k.whole("merge", v.merge, std::int64_t{1}, 1, largest_edge);
  k.whole("output", v.output);
  k.whole("projector_hidden", v.projector_hidden);
  k.whole("deep_mergers", v.deep_mergers);
  k.whole("slices", v.slices);
  k.whole("tokens", v.tokens);
  k.flag("newline", v.newline);
  k.whole("grid", v.grid, {}, 0, 64);
  k.whole("unread", v.unread);
  k.whole("held", v.held);
  k.whole("words", v.words);
  if constexpr (Keys::reads) {
    // A resampler is a number of queries, or {"queries", "hidden"}.
    if (const auto* r = k.take("resampler"); r != nullptr && r->is_object()) {
      key_reader inner{*r, k.at("resampler")};
      inner.whole("queries", v.resampler);
      inner.whole("hidden", v.output);
      inner.finish();
    } else if (r != nullptr) {
      v.resampler = whole_at(*r, k.at("resampler"), 0, largest_count);
    }
    if (v.resampler > 0 && k.take("projector") == nullptr) v.projector = projector_kind::resampler;
    const auto* rows = k.take("positions");
    v.positions = rows != nullptr   ? whole_at(*rows, k.at("positions"), 0, largest_count)
                  : v.positions > 0 ? v.positions
                                    : usual_positions(v);
  } else {
    k.whole("resampler", v.resampler);
    if (v.resampler > 0) k.put("projector", text_of(v.projector));  // else the reader would fill it in
    k.whole("positions", v.positions, usual_positions(v));
  }
}

/// What few shapes have: heads of other kinds, towers beside the stack, and how layers differ from Llama's.
template <class Keys>
void describe_traits(Keys& k, shape& m) {
  k.whole("mtp_layers", m.mtp_layers);
  k.word("head", m.head);
  k.flag("pooler", m.pooler);
  k.flag("bidirectional", m.bidirectional);
  k.flag("norm_after", m.norm_after);
  k.flag("no_final_norm", m.no_final_norm);
  k.flag("embedding_norm", m.embedding_norm);
  k.flag("attention_sinks", m.attention_sinks);
  k.flag("sinks_scale", m.sinks_scale);
  k.flag("fixed_sinks", m.fixed_sinks);
  k.flag("gated_attention", m.gated_attention);
  k.flag("fp32_residual", m.fp32_residual);
  k.flag("norm_offset", m.norm_offset);
  k.flag("fp32_norm", m.fp32_norm);
  k.flag("norm_power", m.norm_power);
  k.flag("value_norm", m.value_norm);
  k.flag("contact_head", m.contact_head);
  k.flag("sub_norms", m.sub_norms);
  k.flag("normed_residual", m.normed_residual);
  k.flag("scaled_queries", m.scaled_queries);
  k.flag("unfused_attention", m.unfused_attention);
  k.flag("narrow_embedding", m.narrow_embedding);
  k.flag("transformed_classes", m.transformed_classes);
  k.flag("scored_tokens", m.scored_tokens);
  k.flag("down_bias", m.down_bias);
  k.flag("layer_biases", m.layer_biases);
  k.flag("no_key_bias", m.no_key_bias);
  k.whole("distinct_layers", m.distinct_layers);
  k.whole("classes", m.classes);
  k.whole("embedding_dim", m.embedding_dim);
  k.whole("position_offset", m.position_offset);
  k.whole("token_types", m.token_types);
  k.flag("frozen_positions", m.frozen_positions);
  k.whole("relative_buckets", m.relative_buckets);
  k.nested("encoder", m.encoder);
  k.nested("vision", m.vision);
}

template <class Keys>
void describe(Keys& k, shape& m, std::span<const std::string_view> own = {}) {
  k.text("name", m.label);
  k.whole("layers", m.layers, {}, 0, std::int64_t{1} << 20);
  k.whole("hidden", m.hidden);
  k.whole("heads", m.heads);
  k.whole("kv_heads", m.kv_heads);
  k.whole("head_dim", m.head_dim);
  k.whole("value_dim", m.value_dim);
  k.whole("ffn", m.ffn);
  k.word("mlp", m.mlp);
  k.word("activation", m.activation);
  k.word("norm", m.norm);
  k.flag("norm_bias", m.norm_bias);
  k.flag("norm_weight", m.norm_weight, true);
  k.flag("attention_bias", m.attention_bias);
  k.flag("output_bias", m.output_bias);
  k.flag("mlp_bias", m.mlp_bias);
  k.word("position", m.position);
  k.scaled("rotary_fraction", m.rotary_percent, std::int64_t{100}, 100.0, 1.0);
  k.word("rotary", m.rotary);
  k.word("softmax", m.softmax);
  k.whole("max_positions", m.max_positions);
  k.whole("vocab", m.vocab);
  k.whole("vocab_multiple", m.vocab_multiple, std::int64_t{1}, 1);
  k.flag("tied", m.tied);
  k.flag("head_bias", m.head_bias);
  k.flag("normalised_head", m.normalised_head);
  k.flag("qk_norm", m.qk_norm);
  k.flag("qk_norm_full", m.qk_norm_full);
  k.flag("post_norms", m.post_norms);
  k.flag("parallel_block", m.parallel_block);
  k.flag("shared_attention_norm", m.shared_attention_norm);
  k.flag("fused_qkv", m.fused_qkv);
  k.flag("fused_gate_up", m.fused_gate_up);
  k.whole("attention_softcap", m.attention_softcap);
  k.whole("logit_softcap", m.logit_softcap);
  k.whole("sliding_window", m.sliding_window);
  k.flag("chunked", m.chunked);
  k.whole("full_layers", m.full_layers);
  k.whole("global_every", m.global_every);
  k.nested("experts", m.experts);
  k.nested("mla", m.mla);
  k.nested("global", m.global);
  k.nested("layer_input", m.layer_input);
  k.nested("altup", m.altup);
  describe_pattern(k, m.pattern, m.layers, own);
  k.nested("ssm", m.ssm);
  describe_traits(k, m);
}

}  // namespace headroom::io
