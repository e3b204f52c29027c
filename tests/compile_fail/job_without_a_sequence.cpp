// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: batch.sequence is required: a whole number from 1
#include <headroom/headroom.hpp>

constexpr headroom::job job{.model = headroom::models::llama_3_2_1b,
                            .hardware = {.gpu = headroom::gpus::h100_sxm_80gb},
#ifdef FORBIDDEN
                            .batch = {.micro = 1}};
#else
                            .batch = {.micro = 1, .sequence = 2048}};
#endif
static_assert(headroom::fits(job));
