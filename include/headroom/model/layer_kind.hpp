// Distributed under the Boost Software License, Version 1.0.
// What kinds of layer there are: how a layer mixes the positions of a sequence, and what each position then passes through. A model is a
// pattern of kinds. What belongs to a kind is asked of its tables: weights in model/mixers.hpp, programs in block/mixers.hpp.
#pragma once

#include <headroom/error.hpp>

#include <cstdint>
#include <string_view>

namespace headroom {

/// How positions see each other.
enum class mixer_kind : std::uint8_t {
  none,              ///< not at all: the layer is its feed-forward alone
  attention,
  global_attention,  ///< with heads of other sizes than the rest has (Gemma 4); see global_shape
  latent_attention,  ///< DeepSeek's; see mla_shape
  sparse_attention,  ///< … to the keys that an indexer chooses (DeepSeek-V3.2, GLM-5)
  shared_attention,         ///< to the keys and values of the last layer of attention in front of those that share (Gemma 3n, Gemma 4)
  shared_global_attention,  ///< … of the last layer of global attention
  gated_delta_net,   ///< Qwen3-Next's linear attention (Yang et al. 2024, Gated Delta Networks); see ssm_shape
  mamba2,            ///< a state-space model in chunks (Dao and Gu 2024, Transformers are SSMs)
  mamba1,            ///< its first version, whose channels each have a state (Gu and Dao 2023)
  attention_mamba2,  ///< both side by side, added (Falcon-H1)
  gated_convolution,  ///< LFM2's: a short convolution between two gates; of ssm_shape it has conv and the biases alone
  lightning_attention,  ///< MiniMax-Text-01's linear attention in blocks, with a decay for each head (Qin et al. 2024, Lightning Attention-2); ssm.chunk positions a block
  rg_lru,  ///< RecurrentGemma's gated linear recurrence behind a convolution (De et al. 2024, Griffin); ssm.heads gates of ssm.head_dim × ssm.head_dim
  kimi_delta,  ///< Kimi Linear's attention: a Gated DeltaNet that decays each feature of a key by itself (Kimi Team 2025, arXiv 2510.26692)
  own = 28,          ///< a layer of one's own (block/own_layer.hpp): own + i is the one with the label layer_pattern::own[i]
};
inline constexpr int mixer_kinds = static_cast<int>(mixer_kind::kimi_delta) + 1;  ///< that are shipped
constexpr bool is_own(mixer_kind k) { return k >= mixer_kind::own; }
constexpr std::string_view name_of(mixer_kind k) {
  constexpr std::string_view names[mixer_kinds] = {"none", "attention", "global-attention", "latent-attention", "sparse-attention", "shared-attention", "shared-global-attention", "gated-delta-net", "mamba2", "mamba1", "attention-mamba2", "gated-convolution", "lightning-attention", "rg-lru", "kimi-delta"};
  return is_own(k) ? std::string_view{"own"} : names[static_cast<int>(k)];
}
/// Whether it mixes neighbours by a convolution, or positions into a state (ssm_shape), instead of each with every other.
constexpr bool recurrent(mixer_kind k) { return k > mixer_kind::shared_global_attention && !is_own(k); }
/// Whether its heads are those of global_shape, and whether its keys and values are another layer's.
constexpr bool global(mixer_kind k) { return k == mixer_kind::global_attention || k == mixer_kind::shared_global_attention; }
constexpr bool shares_keys(mixer_kind k) { return k == mixer_kind::shared_attention || k == mixer_kind::shared_global_attention; }

/// … or scores of pairs of positions, too.
constexpr bool attends(mixer_kind k) { return (!recurrent(k) && k != mixer_kind::none && !is_own(k)) || k == mixer_kind::attention_mamba2; }

/// What each position passes through.
enum class feed_forward_kind : std::uint8_t {
  unset,    ///< in a pattern: dense or experts, as the shape's `experts` says
  none,     ///< nothing: the layer is its mixer alone
  dense,
  experts,
  wide,     ///< dense, of twice the width (Gemma 4's layers that share keys and values)
  cut,      ///< dense, whose gates below a cutoff of their own count as zero (Gemma 3n's first layers)
};

/// Whether a position passes through a dense MLP as wide as the shape says.
constexpr bool plainly_dense(feed_forward_kind k) { return k == feed_forward_kind::dense || k == feed_forward_kind::cut; }

/// A layer: how it mixes positions, and what each position passes through then.
struct layer_kind {
  mixer_kind mixer{mixer_kind::attention};
  feed_forward_kind feeds{feed_forward_kind::unset};
  [[nodiscard]] constexpr bool sparse() const { return feeds == feed_forward_kind::experts; }
  /// Whether both halves are there, each with a norm of its own.
  [[nodiscard]] constexpr bool whole() const { return mixer != mixer_kind::none && feeds != feed_forward_kind::none; }
  bool operator==(const layer_kind&) const = default;
};

/// Kinds in the order of the layers; the first `period` repeat to the end of the stack. `period` 0: every layer attends.
/// Held as a byte a layer.
struct layer_pattern {
  static constexpr std::int64_t capacity = 128;
  static constexpr std::size_t most_own = 4;
  std::int64_t period{};
  std::uint64_t codes[capacity / 8]{};
  short_name own[most_own]{};  ///< labels of layers of one's own, in the order in which the pattern first names them

  [[nodiscard]] constexpr bool given() const { return period > 0; }
  [[nodiscard]] constexpr layer_kind at(std::int64_t layer) const {
    const auto i = layer % period;
    const auto code = codes[i / 8] >> (i % 8 * 8) & 0xff;
    return {static_cast<mixer_kind>(code & 0x1f), static_cast<feed_forward_kind>(code >> 5)};
  }
  /// One more kind at the end of what repeats.
  constexpr void add(layer_kind k) {
    if (period == capacity) refuse("headroom: model.pattern: at most 128 layers are listed one by one; give the part that repeats", period);
    const auto code = static_cast<std::uint64_t>(k.mixer) | static_cast<std::uint64_t>(k.feeds) << 5;
    codes[period / 8] |= code << (period % 8 * 8);
    ++period;
  }
  /// … a layer of one's own, by its label. `feeds`: what of the library's stands behind it, as a half with a norm of its own.
  constexpr void add_own(std::string_view label, feed_forward_kind feeds = feed_forward_kind::none) {
    if (label.empty() || label.size() > short_name::capacity) refuse("headroom: the label of a layer of one's own must have 1 to 23 characters; it has", static_cast<std::int64_t>(label.size()));
    std::size_t i = 0;
    while (i < most_own && !own[i].empty() && own[i] != label) ++i;
    if (i == most_own) refuse("headroom: model.pattern: a model has at most 4 kinds of layer of one's own");
    own[i] = short_name{label};
    add({static_cast<mixer_kind>(static_cast<std::size_t>(mixer_kind::own) + i), feeds});
  }
  [[nodiscard]] constexpr bool names_own() const { return !own[0].empty(); }
  /// The label of a layer of one's own.
  [[nodiscard]] constexpr const short_name& label_of(mixer_kind k) const { return own[static_cast<std::size_t>(k) - static_cast<std::size_t>(mixer_kind::own)]; }
  /// The shortest pattern that says the same of so many layers, or of those that are listed, if they are more: one that was shortened for more layers than it lists
  /// has to be asked about all of them.
  [[nodiscard]] constexpr layer_pattern shortest(std::int64_t layers = 0) const {
    const auto all = layers > period ? layers : period;
    for (std::int64_t p = 1; p < period; ++p) {
      bool repeats = true;
      for (std::int64_t i = p; i < all && repeats; ++i) repeats = at(i) == at(i - p);
      if (!repeats) continue;
      layer_pattern r;
      for (std::size_t i = 0; i < most_own; ++i) r.own[i] = own[i];
      for (std::int64_t i = 0; i < p; ++i) r.add(at(i));
      return r;
    }
    return *this;
  }
  bool operator==(const layer_pattern&) const = default;
};

}  // namespace headroom
