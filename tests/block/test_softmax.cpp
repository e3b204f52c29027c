// Distributed under the Boost Software License, Version 1.0.
// torch's softmax of 16-bit scores with an fp32 result, counted by hand from PyTorch's source: aten/src/ATen/native/SoftMax.cpp softmax (one kernel widens
// fp16 on a GPU; bf16, and all on a CPU, is copied by toType first) and native/cuda/SoftMax.cu softmax_backward_cuda_out (Tensor tmp = grad * output).
#include <headroom/block/operations.hpp>
#include <headroom/block/walk.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_softmax {

using namespace headroom;

namespace {

struct peaks {
  std::int64_t forward, backward;
};

/// In bytes of a score.
peaks walked(bool copies, bool host) {
  constexpr std::int64_t scores = 1000;
  const shape m{.layers = 1, .hidden = 8, .heads = 1, .ffn = 8, .vocab = 8};
  scene s;
  s.model = &m;
  s.habits = &frameworks::hf_trainer;
  s.copies_for_softmax = copies, s.host = host;
  program p(1);
  const auto x = p.input(0, 2, true), masked = p.make(scores, 2);
  p.step(x.bit(), masked.bit());
  p.set_output(ops::softmax(p, s, masked, 4, masked.bit()));
  return {walk_forward(p).peak.total.count() / scores, walk_backward(p).peak.total.count() / scores};
}
job eager(const number_format& f) {
  job j{.model = {.layers = 1, .hidden = 256, .heads = 4, .ffn = 512, .vocab = 1024}, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer,
        .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 4096}, .attention = attention::eager};
  j.precision.parameters = j.precision.compute = j.precision.gradients = j.precision.reduce = f;
  return j;
}

}  // namespace

TEST_CASE("bf16: the scores, their copy and the result; in backward the gradient, what was saved, their product and the copy's gradient") {
  const auto p = walked(true, false);
  CHECK(p.forward == 2 + 4 + 4);
  CHECK(p.backward == 4 + 4 + 4 + 4);
}
TEST_CASE("fp16: no copy, and the scores' gradient is fp16 at once") {
  const auto p = walked(false, false);
  CHECK(p.forward == 2 + 4);
  CHECK(p.backward == 4 + 4 + 4 + 2);
}
TEST_CASE("a CPU makes no product") { CHECK(walked(true, true).backward == 4 + 4 + 4); }

TEST_CASE("a layer that writes its scores out holds 2 bytes a score more in bf16 than in fp16") {
  // 4 heads of 4,096 positions: 64 Mi scores, beside which the rest of the model is small. The tallest moment is softmax's backward in both.
  const auto wide = estimate(eager(formats::bf16)).ranks[0].allocated, narrow = estimate(eager(formats::fp16)).ranks[0].allocated;
  CHECK((wide - narrow).count() == 2 * 4 * 4096 * 4096);
}

}  // namespace test_softmax
