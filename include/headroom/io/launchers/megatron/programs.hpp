// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's training programs. They share one parser: which arguments say something of the model is the program's affair.
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

#include <cstdint>
#include <string_view>

namespace headroom::io {

enum class megatron_program : std::uint8_t {
  gpt,     ///< pretrain_gpt.py
  bert,    ///< pretrain_bert.py (examples/bert since 2026)
  t5,      ///< pretrain_t5.py (examples/t5 since 2026)
  hybrid,  ///< pretrain_hybrid.py, pretrain_mamba.py before 2026
  vlm,     ///< pretrain_vlm.py
};

namespace detail {

/// Arguments that one of them reads and pretrain_gpt.py does not, between bars.
constexpr std::string_view read_by(megatron_program p) {
  switch (p) {
    case megatron_program::bert: return "spec|bert-no-binary-head|vocab-extra-ids";
    case megatron_program::t5: return "encoder-num-layers|decoder-num-layers|encoder-seq-length|decoder-seq-length|vocab-extra-ids";
    case megatron_program::hybrid:
      return "hybrid-layer-pattern|hybrid-override-pattern|is-hybrid-model|spec|mamba-head-dim|mamba-num-groups|mamba-num-heads|mamba-state-dim";
    case megatron_program::vlm: return "img-h|img-w|patch-dim|dataloader-seq-length|disable-vision-class-token|use-packed-sequence|decoder-num-layers|decoder-seq-length";
    case megatron_program::gpt: break;
  }
  return "";
}

/// Arguments that pretrain_vlm.py alone has.
inline constexpr std::string_view megatron_vlm_marks = "dataloader-seq-length|disable-vision-class-token|use-packed-sequence|freeze-LM|freeze-ViT|decoder-tp-comm-overlap";

/// What it does that is not modelled: parts that do not train, exchanges that overlap, and norms of queries and keys, which its layers leave out.
inline constexpr std::string_view megatron_vlm_refused = "freeze-LM|freeze-ViT|decoder-tp-comm-overlap|qk-layernorm";

}  // namespace detail

}  // namespace headroom::io
