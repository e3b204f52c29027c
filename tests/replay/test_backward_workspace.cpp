// Distributed under the Boost Software License, Version 1.0.
// The cuBLAS workspace of backward's thread comes with its first product (aten/src/ATen/cuda/CublasHandlePool.cpp, aten/src/ATen/native/cuda/Blas.cpp), however small
// the tensors are: a tensor of one token takes a block as small as a number of the loss, which is no product's.
#include "../replayed_steps.hpp"

#include <doctest/doctest.h>

namespace test_backward_workspace {

using namespace headroom;

namespace {

/// Which call of the allocator's makes it, of how many.
struct made {
  std::size_t at{}, calls{};
};
made workspace_of(std::int64_t tokens, std::int64_t hidden, bool head_trains) {
  job j{.model = {.layers = 2, .hidden = hidden, .heads = 2, .kv_heads = 2, .head_dim = hidden / 2, .ffn = 2 * hidden, .vocab = 1000}, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer,
        .precision = precisions::bf16, .batch = {.micro = 1, .sequence = tokens}, .attention = attention::flash};
  if (!head_trains) j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  std::vector<allocator_call> calls;
  const replayed_steps run(j, 0, {}, &calls);
  made r{.calls = calls.size()};
  int seen = 0;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i].what == allocator_call::kind::allocate && calls[i].value == (32 * mib).count() && ++seen == 2) r.at = i;
  CHECK(seen == 2);
  return r;
}

}  // namespace

TEST_CASE("backward's workspace is made with its first product, of one token as of many") {
  for (const bool head_trains : {true, false})
    for (const std::int64_t hidden : {64, 256, 1024}) {
      CAPTURE(head_trains);
      CAPTURE(hidden);
      const auto one = workspace_of(1, hidden, head_trains), many = workspace_of(1024, hidden, head_trains);
      CHECK(one.calls == many.calls);
      CHECK(one.at == many.at);
    }
}

}  // namespace test_backward_workspace
