// Distributed under the Boost Software License, Version 1.0.
// Parts of a step's time that two jobs differ in, and FLOPs, counted by hand.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_cost_parts {

using namespace headroom;

namespace {

job megatron(std::int64_t tensor, std::int64_t pipeline) {
  job j{.model = {.layers = 8, .hidden = 1024, .heads = 8, .ffn = 4096, .vocab = 32768, .tied = false}, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = tensor * pipeline},
        .framework = frameworks::megatron, .parallel = {.data = 1, .tensor = tensor, .pipeline = pipeline}, .batch = {.micro = 2, .sequence = 1024, .accumulation = 8}};
  return j;
}

}  // namespace

// DeepSeek-V3 report, section 2.2: a module of multi-token prediction is one more layer, and the head once more.
TEST_CASE("multi-token prediction: one more layer's attention, and the head twice") {
  constexpr double t = 1024, h = 1024, f = 4096, words = 32768, layers = 8;
  auto m = megatron(1, 1).model;
  const auto head = words * h, square = 2 * t * h;  // multiplications of a token: with its pairs, scores and what they weigh
  const auto plain = 6 * t * (layers * (4 * h * h + 3 * h * f + square) + head);
  CHECK(model_flops(m, 1, 1024).value == plain);
  m.mtp_layers = 1;
  const auto joins = 2 * h * h;  // the projection of hidden states and embeddings
  CHECK(model_flops(m, 1, 1024).value == plain + 6 * t * (4 * h * h + 3 * h * f + square + joins + head));
}

TEST_CASE("attention that is written out divides by heads, as a fused kernel does") {
  for (const auto kernel : {attention::eager, attention::flash}) {
    auto one = megatron(1, 1), two = megatron(2, 1);
    one.attention = two.attention = kernel;
    CHECK(cost(one).attention.value == doctest::Approx(2 * cost(two).attention.value).epsilon(1e-9));
  }
}

// Megatron-LM core/distributed/finalize_model_grads.py _allreduce_word_embedding_grads: of the first stage and the last, where they share a table.
TEST_CASE("a table that is embedding and head is reduced between the ends of a pipeline, and nothing else is") {
  const auto seconds = [](bool tied, std::int64_t pipeline) {
    auto j = megatron(1, pipeline);
    j.model.tied = tied;
    const auto s = settle(j);
    const auto c = detail::cost_scene_of(s, rates_of(*s.on));
    return detail::tied_seconds(c, c.on.links);
  };
  CHECK(seconds(false, 1) == 0);
  CHECK(seconds(true, 1) == 0);
  CHECK(seconds(false, 4) == 0);
  CHECK(seconds(true, 4) > 0);
}

// What sees and what joins it to the text takes as long as its FLOPs say, at the rate of the text's: a projector of LLaVA's is 2 matrices of 1024 and 4096
// by 4096 features, and T5's decoder attends to an encoder with four.
TEST_CASE("matrices beside the main stack take their time") {
  const auto time = [](const shape& m, std::int64_t sequence) {
    job j{.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .batch = {.micro = 8, .sequence = sequence}};
    j.attention = attention::flash;
    return cost(j).matmul.value;
  };
  auto narrow = models::llava_1_5_7b;
  const auto with = time(models::llava_1_5_7b, 1024);
  narrow.vision.projector = projector_kind::linear;
  // 576 patches of 8 images: the second matrix, forward and twice back, is what a linear projector lacks. Large multiplications run at 85 % of the best.
  const double missing = 3 * 2.0 * 8 * 576 * 4096 * 4096;
  const double rate = 3 * 2.0 * 8 * 1024 * (32 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008) + 32'064.0 * 4096);
  auto text = models::llava_1_5_7b;
  text.vision = {};
  CHECK((with - time(narrow, 1024)) / time(text, 1024) == doctest::Approx(missing / rate).epsilon(0.03).scale(0));
}

}  // namespace test_cost_parts
