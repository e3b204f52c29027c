// Distributed under the Boost Software License, Version 1.0.
// The classes that are counted as models of an encoder and a decoder.
#pragma once

#include <headroom/io/counted/seq2seq.hpp>

namespace headroom::io::detail {

/// MVP's prompts are not counted.
template <seq2seq_head Head>
void count_mvp(const config& c, tally& t) {
  c.ignore({"prompt_length", "prompt_mid_dim"});
  if (c.flag("use_prompt", false)) complain(c.at("use_prompt") + " must be false: prompts are not counted, found true");
  count_seq2seq<mvp_family, Head>(c, t);
}
inline void count_mvp_decoder(const config& c, tally& t) {
  c.ignore({"prompt_length", "prompt_mid_dim"});
  if (c.flag("use_prompt", false)) complain(c.at("use_prompt") + " must be false: prompts are not counted, found true");
  count_seq2seq_decoder<mvp_family>(c, t);
}

/// One vocabulary for both sides.
inline void check_marian(const config& c) {
  const auto vocab = c.size({"vocab_size"}, marian_family.vocab);
  if (c.nullable({"decoder_vocab_size"}, vocab, vocab) != vocab)
    complain(c.at("decoder_vocab_size") + " must be vocab_size, " + std::to_string(vocab) + ", found " + shown(c.find({"decoder_vocab_size"})));
  if (!c.flag("share_encoder_decoder_embeddings", true)) complain(c.at("share_encoder_decoder_embeddings") + " must be true, found false");
}
template <seq2seq_head Head>
void count_marian(const config& c, tally& t) {
  check_marian(c);
  count_seq2seq<marian_family, Head>(c, t);
}
inline void count_marian_decoder(const config& c, tally& t) {
  check_marian(c);
  count_seq2seq_decoder<marian_family>(c, t);
}

/// The encoder has three matrices more in each layer, for the tokens that see all, and positions of its own.
template <seq2seq_head Head>
void count_led(const config& c, tally& t) {
  auto s = read_seq2seq(c, led_family);
  s.encoder_positions = c.size({"max_encoder_position_embeddings"}, 16384);
  s.decoder_positions = c.size({"max_decoder_position_embeddings"}, 1024);
  c.ignore({"attention_window", "onnx_export"});
  count_seq2seq_side(c, led_family, s.encoder, s.width, s.encoder_positions, false, t);
  t.linear(component::attention, s.width, s.width, true, checked::mul(3, s.encoder.layers));
  count_seq2seq_side(c, led_family, s.decoder, s.width, s.decoder_positions, true, t);
  count_seq2seq_head(c, s, Head, 2, t);
}

inline seq2seq_family read_bigbird_pegasus(const config& c) {
  auto family = bigbird_pegasus_family;
  family.biases = c.flag("use_bias", false);
  c.ignore({"attention_type", "block_size", "num_random_blocks", "rescale_embeddings"});
  return family;
}
template <seq2seq_head Head>
void count_bigbird_pegasus(const config& c, tally& t) {
  const auto family = read_bigbird_pegasus(c);
  const auto s = read_seq2seq(c, family);
  count_seq2seq_side(c, family, s.encoder, s.width, s.encoder_positions, false, t);
  count_seq2seq_side(c, family, s.decoder, s.width, s.decoder_positions, true, t);
  count_seq2seq_head(c, s, Head, 2, t);
}
inline void count_bigbird_pegasus_decoder(const config& c, tally& t) {
  const auto family = read_bigbird_pegasus(c);
  const auto s = read_seq2seq(c, family);
  count_seq2seq_side(c, family, s.decoder, s.width, s.decoder_positions, true, t);
  t.embedding(s.vocab, s.width);
  t.linear(component::head, s.width, s.vocab, false);  // never tied
  c.ignore({"num_labels", "id2label", "tie_word_embeddings"});
}

/// Tokens that see all are learned, and have a norm in each layer of the encoder.
template <seq2seq_head Head>
void count_pegasus_x(const config& c, tally& t) {
  c.ignore({"block_size", "stagger_local_blocks"});
  const auto s = read_seq2seq(c, pegasus_x_family);
  t.embedding(c.size({"num_global_tokens"}, 32), s.width);
  t.layer_norm(s.width, s.encoder.layers);
  count_seq2seq<pegasus_x_family, Head>(c, t);
}

/// modeling_nllb_moe.py: each so-many-th layer has experts.
inline void count_nllb_moe_side(const config& c, const seq2seq_side& s, std::int64_t width, const char* step_key, bool cross, tally& t) {
  const auto step = c.number({step_key}, 4, 0, config::most);
  const auto experts = c.count({"num_experts"}, 128);
  const bool bias = c.flag("router_bias", false);
  const auto sparse = step > 0 ? s.layers / step : 0;
  check_heads(c, width, s.heads);
  t.linear(component::attention, width, width, true, checked::mul(cross ? 8 : 4, s.layers));
  t.layer_norm(width, checked::add(checked::mul(cross ? 3 : 2, s.layers), 1));
  t.linear(component::mlp, width, s.ffn, true, s.layers - sparse);
  t.linear(component::mlp, s.ffn, width, true, s.layers - sparse);
  t.linear(component::router, width, experts, bias, sparse);
  t.experts(checked::add(checked::mul(2, checked::mul(width, s.ffn)), checked::add(width, s.ffn)), experts, experts < 2 ? experts : 2, sparse);
}
template <seq2seq_head Head>
void count_nllb_moe(const config& c, tally& t) {
  const auto s = read_seq2seq(c, m2m_100_family);
  c.ignore({"expert_capacity", "router_dtype", "router_ignore_padding_tokens", "second_expert_policy", "normalize_router_prob_before_dropping", "batch_prioritized_routing",
            "moe_eval_capacity_token_fraction", "moe_token_dropout"});
  count_nllb_moe_side(c, s.encoder, s.width, "encoder_sparse_step", false, t);
  count_nllb_moe_side(c, s.decoder, s.width, "decoder_sparse_step", true, t);
  count_seq2seq_head(c, s, Head, 2, t);
}

inline constexpr counted_class counted_seq2seq[] = {
    {"BartForCausalLM", "bart", count_seq2seq_decoder<bart_family>},
    {"BartForQuestionAnswering", "bart", count_seq2seq<bart_family, seq2seq_head::question>},
    {"MBartForCausalLM", "mbart", count_seq2seq_decoder<mbart_family>},
    {"MBartForQuestionAnswering", "mbart", count_seq2seq<mbart_family, seq2seq_head::question>},
    {"MBartForSequenceClassification", "mbart", count_seq2seq<mbart_family, seq2seq_head::sequence>},
    {"PLBartModel", "plbart", count_seq2seq<plbart_family, seq2seq_head::base>},
    {"PLBartForConditionalGeneration", "plbart", count_seq2seq<plbart_family, seq2seq_head::words>},
    {"PLBartForSequenceClassification", "plbart", count_seq2seq<plbart_family, seq2seq_head::sequence>},
    {"PLBartForCausalLM", "plbart", count_seq2seq_decoder<plbart_family>},
    {"MvpModel", "mvp", count_mvp<seq2seq_head::base>},
    {"MvpForConditionalGeneration", "mvp", count_mvp<seq2seq_head::words>},
    {"MvpForSequenceClassification", "mvp", count_mvp<seq2seq_head::sequence>},
    {"MvpForQuestionAnswering", "mvp", count_mvp<seq2seq_head::question>},
    {"MvpForCausalLM", "mvp", count_mvp_decoder},
    {"BlenderbotModel", "blenderbot", count_seq2seq<blenderbot_family, seq2seq_head::base>},
    {"BlenderbotForConditionalGeneration", "blenderbot", count_seq2seq<blenderbot_family, seq2seq_head::words>},
    {"BlenderbotForCausalLM", "blenderbot", count_seq2seq_decoder<blenderbot_family>},
    {"BlenderbotSmallModel", "blenderbot-small", count_seq2seq<blenderbot_small_family, seq2seq_head::base>},
    {"BlenderbotSmallForConditionalGeneration", "blenderbot-small", count_seq2seq<blenderbot_small_family, seq2seq_head::words>},
    {"BlenderbotSmallForCausalLM", "blenderbot-small", count_seq2seq_decoder<blenderbot_small_family>},
    {"PegasusModel", "pegasus", count_seq2seq<pegasus_family, seq2seq_head::base>},
    {"PegasusForConditionalGeneration", "pegasus", count_seq2seq<pegasus_family, seq2seq_head::words>},
    {"PegasusForCausalLM", "pegasus", count_seq2seq_decoder<pegasus_family>},
    {"MarianModel", "marian", count_marian<seq2seq_head::base>},
    {"MarianMTModel", "marian", count_marian<seq2seq_head::words>},
    {"MarianForCausalLM", "marian", count_marian_decoder},
    {"M2M100Model", "m2m_100", count_seq2seq<m2m_100_family, seq2seq_head::base>},
    {"M2M100ForConditionalGeneration", "m2m_100", count_seq2seq<m2m_100_family, seq2seq_head::words>},
    {"LEDModel", "led", count_led<seq2seq_head::base>},
    {"LEDForConditionalGeneration", "led", count_led<seq2seq_head::words>},
    {"LEDForQuestionAnswering", "led", count_led<seq2seq_head::question>},
    {"BigBirdPegasusModel", "bigbird_pegasus", count_bigbird_pegasus<seq2seq_head::base>},
    {"BigBirdPegasusForConditionalGeneration", "bigbird_pegasus", count_bigbird_pegasus<seq2seq_head::words>},
    {"BigBirdPegasusForSequenceClassification", "bigbird_pegasus", count_bigbird_pegasus<seq2seq_head::sequence>},
    {"BigBirdPegasusForQuestionAnswering", "bigbird_pegasus", count_bigbird_pegasus<seq2seq_head::question>},
    {"BigBirdPegasusForCausalLM", "bigbird_pegasus", count_bigbird_pegasus_decoder},
    {"PegasusXModel", "pegasus_x", count_pegasus_x<seq2seq_head::base>},
    {"PegasusXForConditionalGeneration", "pegasus_x", count_pegasus_x<seq2seq_head::words>},
    {"NllbMoeModel", "nllb-moe", count_nllb_moe<seq2seq_head::base>},
    {"NllbMoeForConditionalGeneration", "nllb-moe", count_nllb_moe<seq2seq_head::words>},
};

}  // namespace headroom::io::detail
