// Distributed under the Boost Software License, Version 1.0.
// What a network is: a plain structural description, so that a model can be a template argument. Key for key the shape
// object of a job file. Nothing here knows about GPUs, optimizers or parallelism.
#pragma once

#include <headroom/model/layer_kind.hpp>
#include <headroom/model/part_shapes.hpp>
#include <headroom/model/vision_shape.hpp>
#include <headroom/name.hpp>
#include <headroom/units/checked.hpp>

#include <cstdint>

namespace headroom {

/// Three matrices, one of which gates, or two.
enum class mlp_kind : std::uint8_t { gated, plain };
/// RMSNorm scales; LayerNorm subtracts the mean first.
enum class norm_kind : std::uint8_t { rmsnorm, layernorm };
/// `relative`: T5's table of biases, `relative_buckets` × heads, one for each stack.
/// `disentangled`: DeBERTa's table of distances, `relative_buckets` × hidden, behind a norm, which every layer projects.
enum class position_kind : std::uint8_t { rope, learned, alibi, none, relative, disentangled };

/// Cosines and sines as transformers' classes read them: the model's; or half of them, each repeated for a pair of features, in every layer, in the
/// compute format (GLM, Helium) or, with q and k, in fp32 (Ernie 4.5); or for q and for k apart (GPT-J). What a layer makes itself backward keeps.
/// `fp32_halves`: the model's, which stay in fp32, and q and k are turned in it (OLMo 1 to 3, since 2025-05: huggingface/transformers #38131).
/// `split_halves`: the model's, of half the features, which both halves of a head read (gpt-oss: _apply_rotary_emb).
enum class rotary_kind : std::uint8_t { halves, pairs, fp32_pairs, own_pairs, fp32_halves, split_halves };

/// The format of softmax where attention is written out: as positions have it (learned ones, of GPT-2's and BERT's kin, in the compute format, all others in
/// fp32), the compute format (Falcon), fp32 (OPT, StarCoder, ViT), or fp32 with the scores and what they are made of (GPT-J).
enum class softmax_kind : std::uint8_t { by_position, compute, fp32, fp32_scores, maximum };

/// Functions between the matrices of an MLP. They differ in what autograd saves: `gelu_new` is written out in Python and
/// saves four tensors, the others are one kernel and save one.
/// `gelu_python` is gelu in three steps (ESM, transformers' GELUActivation in Python). `xielu` has two trained numbers for each layer.
enum class activation_kind : std::uint8_t { silu, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu, relu2, tanh, xielu, gelu_python };

/// What reads the last hidden state.
enum class head_kind : std::uint8_t {
  language,         ///< one matrix to the vocabulary (the embedding's when `tied`)
  masked_language,  ///< BERT's: a dense layer, a norm, then the vocabulary matrix with a bias of its own
  none,             ///< a bare model, or only the pooler and classifier that `pooler` and `classes` describe
};

/// Mixture of experts. `count` 0: a dense model.
struct expert_shape {
  std::int64_t count{};               ///< routed experts of a sparse layer
  std::int64_t active{};              ///< routed experts a token visits (top-k)
  std::int64_t ffn{};                 ///< width of one routed expert
  std::int64_t shared{};              ///< shared experts, visited by every token
  std::int64_t shared_ffn{};          ///< their width, all together
  std::int64_t first_dense_layers{};  ///< leading layers with a dense MLP of width `ffn` of the shape
  std::int64_t every{1};              ///< layer i is sparse iff i >= first_dense_layers and (i + 1) % every == 0
  std::uint64_t dense_mask[2]{};      ///< layers 0 … 127 that are dense all the same (Qwen's mlp_only_layers): bit i
  bool router_bias{};                 ///< a bias on the router's linear layer beside biases of experts, else DeepSeek's correction bias as a parameter that never trains
  bool shared_gate{};                 ///< Qwen2-MoE: a gate vector of `hidden` for the shared expert
  bool bias{};                        ///< gpt-oss: biases inside the experts
  bool fp32_weights{};                ///< Mixtral, MiniMax-M2: routing weights stay in fp32 (transformers since 5; DeepSeek's always do)
  bool narrow_scores{};               ///< scores in the model's format: sigmoids (LFM2-MoE), with plain_router a softmax (Mistral 4)
  bool plain_router{};                ///< a router in the model's format beside shared experts without a gate, which come first (Afmoe, Mistral 4, Granite, HunYuan)
  bool raw_weights{};                 ///< routing weights do not add up to one (Jamba)
  bool chosen_logits{};               ///< routing weights are a softmax over the logits of the chosen alone (Granite; gpt-oss need not say so)
  bool clamped_sum{};                 ///< routing weights are divided by a sum that a floor holds up, and cast (Ernie 4.5)
  bool fp32_router{};                 ///< DeepSeek's router, all in fp32, beside no shared experts (MiMo-V2), or with one expert a token beside them; with plain_router HunYuan's
  std::int64_t latent{};              ///< features that experts read and write, between two matrices that all of them share (Nemotron 3); 0: hidden
  bool parameters{};                  ///< each layer's experts are parameters, and no linear layers, in every release of transformers (DBRX, Granite, Qwen3-VL; gpt-oss and Llama 4 need not say so)
  bool beside_mlp{};                  ///< sparse layers have the dense MLP, too, beside the experts, each between norms of its own (Gemma 4)
  std::int64_t capacity_factor_percent{};  ///< 0: dropless; 100: capacity factor 1

  [[nodiscard]] constexpr bool shares() const { return shared > 0 || shared_ffn > 0; }  ///< shared experts of no width are called, too (DeepSeek's n_shared_experts 0)
  [[nodiscard]] constexpr bool masked_dense() const { return (dense_mask[0] | dense_mask[1]) != 0; }
  bool operator==(const expert_shape&) const = default;
};

/// The encoder of an encoder-decoder model: the layers of the main stack without the cross-attention. `layers` 0: none.
struct encoder_shape {
  std::int64_t layers{};
  std::int64_t sequence{};           ///< positions that the encoder reads in a job; 0: as many as the decoder
  bool cross_attention{};            ///< each layer of the main stack also attends to the encoder's output
  std::int64_t heads{};              ///< 0: as the main stack
  std::int64_t ffn{};                ///< 0: as the main stack
  std::int64_t max_positions{};      ///< rows of its own position table; 0: as the main stack, if that has one
  bool shared_positions{};           ///< the main stack's position table is read by both (Megatron's T5)
  bool frozen_positions{};           ///< Whisper: sinusoids held as parameters without gradient
  std::int64_t audio_channels{};     ///< Whisper: mel bins of the two convolutions in front; 0: token embeddings are read
  std::int64_t vocab{};              ///< rows of its own table of token embeddings; 0: the main stack's table is read (T5Gemma has two)
  bool attention_bias{};             ///< its attention has biases although the main stack's has none
  bool operator==(const encoder_shape&) const = default;
};

/// A transformer, in no framework's words. Zero in `kv_heads`, `head_dim` means: as `heads`, hidden / heads.
struct shape {
  name label{};  ///< for reports
  std::int64_t layers{};
  std::int64_t hidden{};
  std::int64_t heads{};
  std::int64_t kv_heads{};
  std::int64_t head_dim{};
  std::int64_t value_dim{};  ///< of a head's values; 0: head_dim (MiMo-V2)
  std::int64_t ffn{};
  mlp_kind mlp{mlp_kind::gated};
  activation_kind activation{activation_kind::silu};
  norm_kind norm{norm_kind::rmsnorm};
  bool norm_bias{};
  bool norm_weight{true};   ///< false: OLMo's norms without weights
  bool attention_bias{};    ///< on the q, k and v projections
  bool output_bias{};       ///< on the attention output projection
  bool mlp_bias{};
  position_kind position{position_kind::rope};
  rotary_kind rotary{};
  std::int64_t rotary_percent{100};
  std::int64_t max_positions{};
  std::int64_t vocab{};
  std::int64_t vocab_multiple{1};  ///< the vocabulary is padded to a multiple of this × tensor-parallel degree
  bool tied{};                     ///< input embedding and head are one matrix
  bool head_bias{};
  bool normalised_head{};
  bool qk_norm{};             ///< a norm over each head's q and k (Qwen3); of a `chunked` model without weights, of what was turned (Llama 4)
  bool qk_norm_full{};        ///< … over the whole projection (OLMo2)
  bool post_norms{};          ///< Gemma2: norms before and after both sub-blocks
  bool parallel_block{};      ///< attention and MLP read the same input (GPT-J, NeoX, Falcon, Phi)
  bool shared_attention_norm{};  ///< … through one norm
  bool fused_qkv{};
  bool fused_gate_up{};
  softmax_kind softmax{};
  bool unfused_attention{};         ///< its class in transformers writes scores out, whatever torch could fuse (BLOOM, CodeGen, GPT-J, GPT-Neo, MPT)
  bool frozen_positions{};          ///< the table of positions is held without gradient (Marian's sinusoids)
  bool chunked{};                   ///< the window is a chunk of the sequence, of which a position sees what is in front of it (Llama 4)
  std::int64_t attention_softcap{};  ///< 0: none
  std::int64_t logit_softcap{};
  std::int64_t sliding_window{};     ///< 0: full attention
  std::int64_t full_layers{};        ///< how many of the layers behind a window see all positions all the same (Gemma 3: every sixth)
  std::int64_t global_every{};       ///< of layers behind a window every so-manyth, from the first on, sees all positions (ModernBERT); 0: none
  expert_shape experts{};
  mla_shape mla{};
  global_shape global{};
  layer_input_shape layer_input{};
  altup_shape altup{};
  layer_pattern pattern{};
  ssm_shape ssm{};
  std::int64_t mtp_layers{};  ///< multi-token-prediction modules (DeepSeek-V3)

  // What only some families have. The defaults are a plain decoder.
  head_kind head{head_kind::language};
  bool pooler{};              ///< a biased dense layer over the first position (BERT, ViT, SigLIP's text tower)
  bool bidirectional{};       ///< every position sees every other (encoders)
  bool norm_after{};          ///< the two norms follow their sub-blocks (BERT, OPT-350m, OLMo2)
  bool no_final_norm{};       ///< nothing after the last layer (BERT, OPT-350m)
  bool embedding_norm{};      ///< a norm right after the embedding (BLOOM, BERT, BART)
  bool attention_sinks{};     ///< gpt-oss: one learned logit for each head
  bool sinks_scale{};         ///< … sinks that scale what attention gives, by sigmoid(logsumexp of the scores - sink), in fp32 (Granite's sliding window)
  bool fixed_sinks{};         ///< sinks never train, and layers that see all positions have none; those take the largest off each row of scores all the same (MiMo-V2)
  bool gated_attention{};     ///< a sigmoid gate on what attention gives, out of the other half of a query projection twice as wide (Qwen3-Next), or a matrix of its own between norms on both sides (Afmoe)
  bool fp32_residual{};       ///< the residual stream is in fp32, whatever format layers compute in (Mamba's residual_in_fp32)
  bool norm_offset{};         ///< norms scale by 1 + weight, in fp32 (Gemma, Qwen3-Next)
  bool norm_power{};          ///< norms raise the mean to a power and scale by their weight, in fp32 (Gemma 4)
  bool value_norm{};          ///< a norm without weights over each head's values (Gemma 4)
  bool fp32_norm{};           ///< norms scale by their weight before they leave fp32 (gpt-oss, OLMo 2); a LayerNorm is computed in it (Cohere, OLMo 1)
  bool normed_residual{};     ///< what each norm makes is the residual, too, and both summands are scaled (MiniMax-Text-01)
  bool scaled_queries{};      ///< queries are multiplied by a number for each position (Ministral 3)
  bool contact_head{};        ///< a matrix over all heads' attention, which no loss reads (ESM)
  bool sub_norms{};           ///< a norm in front of each half's last matrix, too (BitNet)
  bool narrow_embedding{};    ///< positions, segments and the norm are as narrow as the token embedding; a biased matrix widens all (ALBERT, ELECTRA)
  bool transformed_classes{};  ///< a dense layer without bias, its function and a norm stand in front of the classes, as in front of the words (ModernBERT)
  bool scored_tokens{};       ///< a dense layer and its function stand in front of a score for each token, whose loss is binary (ELECTRA's discriminator)
  bool down_bias{};           ///< of an MLP's matrices the last has a bias, whatever `mlp_bias` says (GTE)
  bool layer_biases{};        ///< each layer has a table of relative positions of its own (UMT5)
  bool no_key_bias{};         ///< Whisper: of q, k and v the key projection has no bias, whatever `attention_bias` says
  std::int64_t distinct_layers{};   ///< layers that have weights of their own, each of which runs layers / distinct_layers times in a row (ALBERT); 0: all
  std::int64_t classes{};           ///< outputs of a classifier, 0: none. Its bias follows `head_bias`
  std::int64_t embedding_dim{};     ///< width of the token embedding when it is projected to `hidden` (OPT-350m); 0: hidden
  std::int64_t position_offset{};   ///< rows of the position table before position 0 (OPT, BART: 2)
  std::int64_t token_types{};       ///< BERT's segment table
  std::int64_t relative_buckets{};  ///< T5: rows of the relative position table
  encoder_shape encoder{};
  vision_shape vision{};

  [[nodiscard]] constexpr std::int64_t kv() const { return kv_heads > 0 ? kv_heads : heads; }
  [[nodiscard]] constexpr std::int64_t head_width() const { return head_dim > 0 ? head_dim : (heads > 0 ? hidden / heads : 0); }
  [[nodiscard]] constexpr std::int64_t query_width() const { return checked::mul(heads, head_width()); }
  [[nodiscard]] constexpr std::int64_t kv_width() const { return checked::mul(kv(), head_width()); }
  [[nodiscard]] constexpr std::int64_t value_head_width() const { return value_dim > 0 ? value_dim : head_width(); }
  [[nodiscard]] constexpr std::int64_t value_width() const { return checked::mul(kv(), value_head_width()); }       ///< of all heads of values
  [[nodiscard]] constexpr std::int64_t output_width() const { return checked::mul(heads, value_head_width()); }  ///< of what attention gives
  [[nodiscard]] constexpr std::int64_t stream_width() const { return altup.streams > 1 ? checked::mul(hidden, altup.streams) : hidden; }  ///< of all residual streams
  [[nodiscard]] constexpr bool latent() const { return mla.kv_rank > 0; }  ///< attention is DeepSeek's
  /// Features of a head that rotary embedding turns.
  [[nodiscard]] constexpr std::int64_t rotary_width() const { return latent() ? mla.rope_dim : checked::mul(head_width(), rotary_percent) / 100; }
  /// Whether a table of biases, a column for each head, is added to the scores of every layer (T5, MPNet).
  [[nodiscard]] constexpr bool biased_scores() const { return position == position_kind::relative || (position == position_kind::learned && relative_buckets > 0); }
  /// Afmoe's gate is a matrix of its own beside q's, called gate_proj; Qwen3-Next's is the other half of q's.
  [[nodiscard]] constexpr bool gate_apart() const { return gated_attention && post_norms; }
  [[nodiscard]] constexpr bool sparse() const { return experts.count > 0; }
  [[nodiscard]] constexpr std::int64_t embedding_width() const { return embedding_dim > 0 ? embedding_dim : hidden; }

  [[nodiscard]] constexpr mixer_kind attention() const { return latent() ? mixer_kind::latent_attention : mixer_kind::attention; }
  /// The kind of layer i of the main stack.
  [[nodiscard]] constexpr layer_kind kind_of(std::int64_t i) const {
    auto k = pattern.given() ? pattern.at(i) : layer_kind{};
    if (k.mixer == mixer_kind::attention) k.mixer = attention();
    if (k.feeds == feed_forward_kind::unset) k.feeds = routes(i) ? feed_forward_kind::experts : feed_forward_kind::dense;
    return k;
  }
  /// Whether a layer has a recurrent mixer.
  [[nodiscard]] constexpr bool recurs() const {
    for (std::int64_t i = 0; i < pattern.period && i < layers; ++i)
      if (recurrent(pattern.at(i).mixer)) return true;
    return false;
  }
  /// … for whose scan there are fused kernels.
  [[nodiscard]] constexpr bool scans() const {
    for (std::int64_t i = 0; i < pattern.period && i < layers; ++i)
      if (const auto k = pattern.at(i).mixer; recurrent(k) && k != mixer_kind::lightning_attention && k != mixer_kind::rg_lru) return true;
    return false;
  }
  /// Whether layer i of the main stack routes to experts.
  [[nodiscard]] constexpr bool sparse_layer(std::int64_t i) const { return pattern.given() ? kind_of(i).sparse() : routes(i); }
  /// How many of the layers from `first` on are.
  [[nodiscard]] constexpr std::int64_t sparse_layers(std::int64_t first, std::int64_t count) const {
    if (!sparse()) return 0;
    const auto end = first + count;
    if (experts.every <= 1 && !experts.masked_dense() && !pattern.given()) {
      const auto from = first > experts.first_dense_layers ? first : experts.first_dense_layers;
      return end > from ? end - from : 0;
    }
    std::int64_t n = 0;
    for (auto i = first; i < end; ++i) n += sparse_layer(i) ? 1 : 0;
    return n;
  }
  /// From layer i on kinds repeat after so many layers; 0: they do not.
  [[nodiscard]] constexpr std::int64_t period_from(std::int64_t i) const {
    const auto own = pattern.given() ? pattern.period : 1;
    if (!sparse()) return own;
    if (experts.masked_dense() || i < experts.first_dense_layers) return 0;
    return experts.every > 1 ? checked::lcm(own, experts.every) : own;
  }
  bool operator==(const shape&) const = default;

 private:
  /// What `experts` says of layer i where the pattern leaves it open.
  [[nodiscard]] constexpr bool routes(std::int64_t i) const {
    if (!sparse() || i < experts.first_dense_layers) return false;
    if (experts.every > 1 && (i + 1) % experts.every != 0) return false;
    return i >= 128 || ((experts.dense_mask[i / 64] >> (i % 64)) & 1U) == 0;
  }
};

/// Whether the layers of a pattern are alike but for a mask (settle/windows.hpp): the shape says how many see past the window.
constexpr bool alternates_by_mask(const shape& m) { return m.pattern.given() && (m.full_layers > 0 || m.global_every > 0); }

/// A shape whose dense layers are as wide as feed_forward_kind::wide has them.
constexpr shape widened(const shape& m) {
  auto w = m;
  w.ffn = checked::mul(2, m.ffn);
  return w;
}

/// A shape whose attention is that of its global layers.
constexpr shape globally(const shape& m) {
  auto g = m;
  if (m.global.head_dim > 0) g.head_dim = m.global.head_dim;
  if (m.global.kv_heads > 0) g.kv_heads = m.global.kv_heads;
  if (m.global.no_positions) g.position = position_kind::none;
  if (m.fixed_sinks) g.attention_sinks = false;
  if (m.chunked) g.qk_norm = false;  // Llama 4's layers without positions
  g.sliding_window = 0;
  return g;
}
/// … of the layers with such a mixer.
constexpr shape attending(const shape& m, mixer_kind kind) { return global(kind) ? globally(m) : m; }

}  // namespace headroom
