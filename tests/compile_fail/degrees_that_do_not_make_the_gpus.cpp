// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: parallel.tensor × pipeline × context must divide the GPUs, hardware.nodes × gpus_per_node
#include <headroom/headroom.hpp>

#ifdef FORBIDDEN
constexpr headroom::degrees parallel{.tensor = 3};
#else
constexpr headroom::degrees parallel{.tensor = 4};
#endif
constexpr headroom::job job{.model = headroom::models::llama_3_1_8b,
                            .hardware = {.gpu = headroom::gpus::h100_sxm_80gb, .gpus_per_node = 8},
                            .framework = headroom::frameworks::megatron,
                            .parallel = parallel,
                            .batch = {.sequence = 2048}};
static_assert(headroom::estimate(job).peak() > headroom::bytes{1});
