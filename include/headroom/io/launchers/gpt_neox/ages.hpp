// Distributed under the Boost Software License, Version 1.0.
// How old a configuration of GPT-NeoX's is: a key that is gone is one that only an older GPT-NeoX takes (NeoXArgs ends at a key that it has not).
#pragma once

#include <headroom/io/syntax/json_value.hpp>

#include <array>
#include <string>
#include <string_view>

namespace headroom::io::detail {

/// A key that megatron/neox_arguments had, and when it went, yyyymmdd.
struct gone_key {
  std::string_view name;
  std::int32_t when{};
};
inline constexpr auto gpt_neox_gone = std::to_array<gone_key>({
    {"genfile", 20210506}, {"greedy", 20210506}, {"out_seq_length", 20210506}, {"openai_gelu", 20210507}, {"train_data_path", 20210511}, {"valid_data_path", 20210511}, {"test_data_path", 20210511},
    {"apply_residual_connection_post_layernorm", 20210830}, {"reset_attention_mask", 20210830}, {"reset_position_ids", 20210830}, {"slurm_comment", 20221205}, {"save_interval", 20221214},
    {"zero_allow_untested_optimizer", 20230326}, {"gas", 20240205}, {"num_experts", 20240504}, {"label_data_paths", 20240827},
    {"mlp_type", 20240907},  // what it chose went three days before its name
    {"save_iters", 20240929}, {"detect_nvlink_pairs", 20250218},
});

/// The newest GPT-NeoX that takes a file: the key of it that went first.
struct gpt_neox_age {
  gone_key by{};  ///< of no name where all are known still
  [[nodiscard]] bool old() const { return !by.name.empty(); }
  [[nodiscard]] bool before(std::int32_t when) const { return old() && by.when <= when; }
  /// 0d4bdb96 made one MLP of two, and gave it SwiGLU, GEGLU of other widths, and keys of its own.
  [[nodiscard]] bool before_gated_mlps() const { return before(20240907); }
  /// 8903a969 took flash-attention 2; before, queries, keys and values were copied into one tensor.
  [[nodiscard]] bool before_flash_2() const { return before(20230920); }
  /// 2b84f9af took DeepSpeed itself in place of DeeperSpeed 0.3.15 of 2021-09 (requirements/requirements.txt).
  [[nodiscard]] bool before_deepspeed() const { return before(20230309); }
  /// Of the job's framework.
  [[nodiscard]] std::string_view version() const { return before_gated_mlps() ? "2024-08" : "2024-09"; }
};
/// Of a file, or of several that are joined.
inline gpt_neox_age age_of(const json_value& root) {
  for (const auto& key : gpt_neox_gone)
    if (root.contains(key.name)) return {key};
  return {};
}

}  // namespace headroom::io::detail
