// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: [^"]*heads
#include <headroom/headroom.hpp>

constexpr headroom::shape shape_with(std::int64_t heads) {
  auto model = headroom::models::llama_3_1_8b;
  model.heads = heads;
  model.kv_heads = heads;
  model.head_dim = 0;
  return model;
}
#ifdef FORBIDDEN
constexpr headroom::job job{.model = shape_with(33), .hardware = {.gpu = headroom::gpus::h100_sxm_80gb}, .batch = {.sequence = 2048}};
#else
constexpr headroom::job job{.model = shape_with(32), .hardware = {.gpu = headroom::gpus::h100_sxm_80gb}, .batch = {.sequence = 2048}};
#endif
constexpr auto peak = headroom::estimate(job).peak();
