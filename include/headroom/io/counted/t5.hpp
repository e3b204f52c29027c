// Distributed under the Boost Software License, Version 1.0.
// T5's relatives: no biases, RMSNorms, and tables of relative positions.
#pragma once

#include <headroom/io/counted/text_heads.hpp>
#include <headroom/io/huggingface/ties.hpp>

namespace headroom::io::detail {

/// T5's sizes, and how its relatives differ (transformers, modeling_t5.py, modeling_umt5.py, modeling_longt5.py, modeling_pop2piano.py).
struct t5_family {
  std::int64_t vocab{32128}, layers{6}, heads{8}, ffn{2048};
  const char* mlp{"relu"};
  bool table_each{false};  ///< a table of relative positions in every layer, not the first of each stack alone
  bool ties{true};         ///< since transformers 5 the class ties whatever the configuration says
  bool ties_unsaid{true};  ///< what transformers 4 did where it says nothing
};
struct t5_sizes {
  std::int64_t vocab, hidden, inner, ffn, heads, buckets, encoder, decoder;
  bool gated;
};

inline t5_sizes read_t5_sizes(const config& c, const t5_family& f) {
  const auto heads = c.count({"num_heads", "num_attention_heads"}, f.heads);
  const auto layers = c.number({"num_layers"}, f.layers, 0, config::most);
  require_equal(c, "num_hidden_layers", "num_layers", layers);  // another name of it, which the decoder's default does not follow
  c.ignore({"is_decoder"});
  const auto kind = c.text({"feed_forward_proj"}, f.mlp);
  const auto function = std::string_view{kind}.substr(kind.starts_with("gated-") ? 6 : 0);
  if (!has_word("relu gelu gelu_new silu swish gelu_fast gelu_pytorch_tanh gelu_python quick_gelu relu2 relu6 leaky_relu mish tanh sigmoid linear", function))  // activations.py ACT2FN
    complain(c.at("feed_forward_proj") + " must be the name of an activation, as relu, or one after \"gated-\", found " + quoted_word(kind));
  const bool gated = c.flag("is_gated_act", kind.starts_with("gated-"));  // as saved, it counts
  c.ignore({"dense_act_fn", "n_positions", "relative_attention_max_distance", "output_past", "scale_decoder_outputs"});
  return {c.size({"vocab_size"}, f.vocab), c.size({"d_model", "hidden_size"}, 512), checked::mul(heads, c.size({"d_kv", "head_dim"}, 64)), c.size({"d_ff"}, f.ffn), heads,
          c.size({"relative_attention_num_buckets"}, 32), layers, c.nullable({"num_decoder_layers"}, layers, layers, 0, config::most), gated};
}

/// One stack without the words' table.
inline void count_t5_stack(const t5_family& f, const t5_sizes& s, std::int64_t layers, bool cross, tally& t) {
  t.add(component::attention, checked::mul(4, checked::mul(s.hidden, s.inner)), checked::mul(cross ? 2 : 1, layers));
  t.add(component::attention, checked::mul(s.buckets, s.heads), f.table_each ? layers : (layers > 0 ? 1 : 0));
  t.add(component::mlp, checked::mul(s.gated ? 3 : 2, checked::mul(s.hidden, s.ffn)), layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(cross ? 3 : 2, layers), 1));
}

enum class t5_head { base, encoder, words, sequence, token, question };

/// The words' table, of which an untied model has more, and the head.
inline void count_t5_head(const config& c, const t5_family& f, const t5_sizes& s, t5_head head, tally& t) {
  const bool stated = c.flag("tie_word_embeddings", f.ties_unsaid), words = head == t5_head::words;
  const auto table = checked::mul(s.vocab, s.hidden);
  const auto with = [&](bool one) { return checked::add(t.counted().total.count(), checked::mul(one ? 1 : 2, table)); };
  const bool tied = f.ties ? tied_by_release(c, stated || !words, true, with) : stated;
  const bool alone = head == t5_head::encoder || head == t5_head::token;
  t.embedding(s.vocab, s.hidden);
  if (!tied) t.embedding(checked::mul(f.ties ? 1 : words ? 3 : alone ? 1 : 2, s.vocab), s.hidden);
  if (head == t5_head::sequence) t.linear(component::head, s.hidden, s.hidden, true);
  if (head == t5_head::sequence || head == t5_head::token || head == t5_head::question) count_classifier(c, t, s.hidden);
  c.ignore({"num_labels", "id2label"});
}

template <const t5_family& Family, t5_head Head>
void count_t5(const config& c, tally& t) {
  const auto s = read_t5_sizes(c, Family);
  const bool alone = Head == t5_head::encoder || Head == t5_head::token;
  if (alone && c.flag("is_decoder", false)) complain(c.at("is_decoder") + " must be false for an encoder, found true");
  count_t5_stack(Family, s, s.encoder, false, t);
  if (!alone) count_t5_stack(Family, s, s.decoder, true, t);
  count_t5_head(c, Family, s, Head, t);
}

inline constexpr t5_family t5_defaults{};
inline constexpr t5_family mt5_defaults{.vocab = 250112, .layers = 8, .heads = 6, .ffn = 1024, .mlp = "gated-gelu", .ties_unsaid = false};
inline constexpr t5_family umt5_defaults{.vocab = 250112, .layers = 8, .heads = 6, .ffn = 1024, .mlp = "gated-gelu", .table_each = true};
inline constexpr t5_family longt5_defaults{};
inline constexpr t5_family pop2piano_defaults{.vocab = 2400, .mlp = "gated-gelu"};
inline constexpr t5_family switch_defaults{.layers = 12, .heads = 12, .ties = false};

/// The encoder attends to its neighbourhood, and to summaries of all if encoder_attention_type says so.
template <t5_head Head>
void count_longt5(const config& c, tally& t) {
  const auto s = read_t5_sizes(c, longt5_defaults);
  const auto kind = c.text({"encoder_attention_type"}, "local");
  c.ignore({"local_radius", "global_block_size"});
  if (kind == "transient-global") {
    if (s.encoder > 0) t.add(component::attention, checked::mul(s.buckets, s.heads));
    t.rms_norm(s.hidden, s.encoder);
  } else if (kind != "local") {
    complain(c.at("encoder_attention_type") + " must be \"local\" or \"transient-global\", found " + quoted_word(kind));
  }
  count_t5<longt5_defaults, Head>(c, t);
}

/// A table of composers, and an output that is never tied with the words. The stacks share their table, whatever tie_word_embeddings says
/// (configuration_pop2piano.py, __post_init__).
inline void count_pop2piano(const config& c, tally& t) {
  const auto s = read_t5_sizes(c, pop2piano_defaults);
  count_t5_stack(pop2piano_defaults, s, s.encoder, false, t);
  count_t5_stack(pop2piano_defaults, s, s.decoder, true, t);
  t.embedding(c.size({"composer_vocab_size"}, 21), s.hidden);
  t.embedding(s.vocab, s.hidden);
  t.linear(component::head, s.hidden, s.vocab, false);
  c.ignore({"num_labels", "id2label", "tie_word_embeddings"});
}

/// modeling_switch_transformers.py: some layers of each stack have experts, of which a token visits one.
inline std::int64_t sparse_t5_layers(const config& c, const char* step_key, std::int64_t layers, std::int64_t sparse) {
  const auto step = c.number({step_key}, sparse > 0 ? layers / sparse : layers, 0, config::most);
  if (step <= 0) return 0;
  if (step == 1) return layers;
  return layers > 1 ? (layers - 2) / step + 1 : 0;
}
inline void count_switch_stack(const config& c, const t5_sizes& s, std::int64_t layers, std::int64_t sparse, bool cross, tally& t) {
  const auto experts = c.count({"num_experts"}, 8);
  const auto one = checked::mul(2, checked::mul(s.hidden, s.ffn));
  t.add(component::attention, checked::mul(4, checked::mul(s.hidden, s.inner)), checked::mul(cross ? 2 : 1, layers));
  if (layers > 0) t.add(component::attention, checked::mul(s.buckets, s.heads));
  t.rms_norm(s.hidden, checked::add(checked::mul(cross ? 3 : 2, layers), 1));
  t.add(component::mlp, one, layers - sparse);
  t.linear(component::router, s.hidden, experts, c.flag("router_bias", false), sparse);
  t.experts(one, experts, 1, sparse);
}
template <t5_head Head>
void count_switch(const config& c, tally& t) {
  c.ignore({"feed_forward_proj", "is_gated_act", "expert_capacity", "router_dtype", "router_ignore_padding_tokens", "router_type", "add_router_probs", "add_cross_attention",
            "dense_act_fn", "n_positions", "relative_attention_max_distance", "is_decoder"});
  if (Head == t5_head::encoder && c.flag("is_decoder", false)) complain(c.at("is_decoder") + " must be false for an encoder, found true");
  const auto heads = c.count({"num_heads"}, 12);
  const auto layers = c.number({"num_layers"}, 12, 0, config::most);
  require_equal(c, "num_hidden_layers", "num_layers", layers);  // another name of it, which the decoder's default does not follow
  const t5_sizes s{c.size({"vocab_size"}, 32128), c.size({"d_model", "hidden_size"}, 768), checked::mul(heads, c.size({"d_kv"}, 64)), c.size({"d_ff"}, 2048), heads,
                   c.size({"relative_attention_num_buckets"}, 32), layers, c.nullable({"num_decoder_layers"}, 12, layers, 0, config::most), false};
  count_switch_stack(c, s, s.encoder, sparse_t5_layers(c, "encoder_sparse_step", s.encoder, c.number({"num_sparse_encoder_layers"}, 3, 0, config::most)), false, t);
  const auto sparse = sparse_t5_layers(c, "decoder_sparse_step", s.decoder, c.number({"num_sparse_decoder_layers"}, 3, 0, config::most));
  if (Head != t5_head::encoder) count_switch_stack(c, s, s.decoder, sparse, true, t);
  count_t5_head(c, switch_defaults, s, Head, t);
}

/// modeling_t5gemma.py: Gemma 2's layers, with norms before and after each sub-block; each side has a table of words.
struct t5gemma_side {
  std::int64_t vocab, hidden;
};
inline t5gemma_side count_t5gemma_side(const config& c, std::int64_t cross, tally& t) {
  const t5gemma_side s{c.size({"vocab_size"}, 256000), c.size({"hidden_size"}, 2304)};
  const auto layers = c.number({"num_hidden_layers"}, 26, 0, config::most);
  const auto width = c.size({"head_dim"}, 256);
  const auto inner = checked::mul(c.count({"num_attention_heads"}, 8), width);
  const auto shared = checked::mul(c.count({"num_key_value_heads"}, 4), width);
  const auto ffn = c.size({"intermediate_size"}, 9216);
  const bool bias = c.flag("attention_bias", false);
  c.ignore({"layer_types", "max_position_embeddings", "is_decoder", "cross_attention_hidden_size", "tie_word_embeddings", "dropout_rate"});
  t.embedding(s.vocab, s.hidden);
  t.linear(component::attention, s.hidden, inner, bias, checked::mul(cross > 0 ? 2 : 1, layers));
  t.linear(component::attention, inner, s.hidden, bias, checked::mul(cross > 0 ? 2 : 1, layers));
  t.linear(component::attention, s.hidden, shared, bias, checked::mul(2, layers));
  if (cross > 0) t.linear(component::attention, cross, shared, bias, checked::mul(2, layers));
  t.add(component::mlp, checked::mul(3, checked::mul(s.hidden, ffn)), layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(cross > 0 ? 6 : 4, layers), 1));
  return s;
}
template <t5_head Head>
void count_t5gemma(const config& c, tally& t) {
  const auto encoder = count_t5gemma_side(c.child("encoder"), 0, t);
  const auto s = count_t5gemma_side(c.child("decoder"), encoder.hidden, t);
  c.ignore({"classifier_dropout_rate", "vocab_size"});
  if (!c.flag("is_encoder_decoder", true)) complain(c.at("is_encoder_decoder") + " must be true, found false");
  if (Head == t5_head::words && !c.flag("tie_word_embeddings", true)) t.linear(component::head, s.hidden, s.vocab, false);
  if (Head == t5_head::sequence) count_classifier(c, t, s.hidden);
  c.ignore({"num_labels", "id2label", "tie_word_embeddings"});
}

inline constexpr counted_class counted_t5[] = {
    {"T5ForSequenceClassification", "t5", count_t5<t5_defaults, t5_head::sequence>},
    {"T5ForTokenClassification", "t5", count_t5<t5_defaults, t5_head::token>},
    {"T5ForQuestionAnswering", "t5", count_t5<t5_defaults, t5_head::question>},
    {"MT5ForSequenceClassification", "mt5", count_t5<mt5_defaults, t5_head::sequence>},
    {"MT5ForTokenClassification", "mt5", count_t5<mt5_defaults, t5_head::token>},
    {"MT5ForQuestionAnswering", "mt5", count_t5<mt5_defaults, t5_head::question>},
    {"UMT5Model", "umt5", count_t5<umt5_defaults, t5_head::base>},
    {"UMT5ForConditionalGeneration", "umt5", count_t5<umt5_defaults, t5_head::words>},
    {"UMT5EncoderModel", "umt5", count_t5<umt5_defaults, t5_head::encoder>},
    {"UMT5ForSequenceClassification", "umt5", count_t5<umt5_defaults, t5_head::sequence>},
    {"UMT5ForTokenClassification", "umt5", count_t5<umt5_defaults, t5_head::token>},
    {"UMT5ForQuestionAnswering", "umt5", count_t5<umt5_defaults, t5_head::question>},
    {"LongT5Model", "longt5", count_longt5<t5_head::base>},
    {"LongT5ForConditionalGeneration", "longt5", count_longt5<t5_head::words>},
    {"LongT5EncoderModel", "longt5", count_longt5<t5_head::encoder>},
    {"Pop2PianoForConditionalGeneration", "pop2piano", count_pop2piano},
    {"SwitchTransformersModel", "switch_transformers", count_switch<t5_head::base>},
    {"SwitchTransformersForConditionalGeneration", "switch_transformers", count_switch<t5_head::words>},
    {"SwitchTransformersEncoderModel", "switch_transformers", count_switch<t5_head::encoder>},
    {"T5GemmaModel", "t5gemma", count_t5gemma<t5_head::base>},
    {"T5GemmaForConditionalGeneration", "t5gemma", count_t5gemma<t5_head::words>},
    {"T5GemmaForSequenceClassification", "t5gemma", count_t5gemma<t5_head::sequence>},
    {"T5GemmaForTokenClassification", "t5gemma", count_t5gemma<t5_head::sequence>},
};

}  // namespace headroom::io::detail
