// Distributed under the Boost Software License, Version 1.0.
// Sizes of what only some models have beside attention and an MLP: latent attention, layers of two sizes, embeddings in every layer, several residual streams,
// recurrent mixers.
#pragma once

#include <cstdint>

namespace headroom {

/// Multi-head latent attention (DeepSeek-V2 paper, section 2.1). `kv_rank` 0: ordinary attention.
struct mla_shape {
  std::int64_t q_rank{};  ///< 0: queries are projected directly
  std::int64_t kv_rank{};
  std::int64_t nope_dim{};
  std::int64_t rope_dim{};
  std::int64_t value_dim{};
  // The indexer of sparse attention (DeepSeek-V3.2-Exp, section 2.1); the pattern says which layers have it.
  std::int64_t index_heads{};
  std::int64_t index_dim{};
  std::int64_t index_keys{};  ///< that a position attends to
  bool index_handed_on{};     ///< GLM-5: each layer hands its choice on to the next
  bool operator==(const mla_shape&) const = default;
};

/// Attention of layers that see all positions where others see a window (Gemma 4). Zero means: as the shape's own.
struct global_shape {
  std::int64_t head_dim{};
  std::int64_t kv_heads{};
  bool keys_as_values{};  ///< there is no projection of values
  bool no_positions{};    ///< queries and keys are not turned (Afmoe)
  bool operator==(const global_shape&) const = default;
};

/// Several residual streams, of which a layer's blocks read one, and which it predicts before them and corrects behind them (Baykal et al. 2023, Alternating
/// Updates); beside attention a way of low rank (Laurel). Gemma 3n has both. `streams` 0: one stream.
struct altup_shape {
  std::int64_t streams{};
  std::int64_t laurel{};  ///< rank of the way beside attention
  bool operator==(const altup_shape&) const = default;
};

/// An embedding of each token in every layer (Gemma 3n, Gemma 4): a table of layers × width features, to which a matrix adds what it makes of the
/// token's first embedding. `width` 0: none.
struct layer_input_shape {
  std::int64_t width{};
  std::int64_t vocab{};  ///< rows of the table
  bool operator==(const layer_input_shape&) const = default;
};

/// Norms over the steps, B and C of Mamba-1: FalconMamba's have no weights, Jamba's have.
enum class step_norm_kind : std::uint8_t { none, plain, weighed };

/// State-space and linear-attention mixers: positions are read one after the other into a state of head_dim × state for each head. The
/// pattern says which layers have them.
struct ssm_shape {
  std::int64_t heads{};
  std::int64_t head_dim{};  ///< features of a head's values
  std::int64_t state{};     ///< … of its queries and keys (Gated DeltaNet), of B and C (Mamba)
  std::int64_t groups{};    ///< heads of queries and keys; of B and C
  std::int64_t conv{};      ///< positions that the convolution in front sees
  std::int64_t chunk{};     ///< positions that are computed side by side; 0: as the mixer's own code has it
  bool conv_bias{};
  bool bias{};              ///< on the projections in and out
  bool no_norm{};           ///< without the gated norm behind the scan
  std::int64_t rank{};      ///< Mamba-1: of the matrices that make the steps; its channels are heads of one feature
  step_norm_kind step_norm{};
  bool operator==(const ssm_shape&) const = default;
};

}  // namespace headroom
