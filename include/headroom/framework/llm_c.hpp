// Distributed under the Boost Software License, Version 1.0.
// llm.c (karpathy): GPT-2 in C and CUDA, everything allocated before the first step (engine/preallocated/preallocated.hpp).
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// Unlike torch it leaves CUDA_MODULE_LOADING alone, so that its libraries' kernels were loaded whole before CUDA 12.2 (CUDA programming
/// guide, "Lazy Loading", change history; torch sets LAZY since pull request 86509).
inline constexpr profile llm_c{
    .label = "llm.c",
    .date = 202405,
    .runtime = runtime::preallocated,
    .loss = {.style = loss_style::in_place},
    .checkpointing = {.all_or_none = true},
    .sharding = {.kinds = one_of(sharding_kind::none, sharding_kind::ddp)},
    .optimizer = {.how = implementation::fused},
    .process = {.loads_all_kernels = true},
    .loading = {.on_host = false},
    .precision = precisions::bf16_mixed,
};

}  // namespace headroom::frameworks
