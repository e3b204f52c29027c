// Distributed under the Boost Software License, Version 1.0.
// The time and the FLOPs of a step where a part of the model trains: forward is all of it, backward ends at the first layer in which something trains,
// and what does not train has no gradients of weights. Counted by hand in passes over matrices.
// Source: PyTorch's autograd; Lightning-AI/litgpt, litgpt/utils.py estimate_flops (two passes of frozen parameters, three of others).
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_trained_parts {

using namespace headroom;

namespace {

constexpr std::int64_t h = 1024, f = 4096, heads = 8, vocab = 32768, t = 1024, layers = 8;
constexpr double matrices = 4.0 * h * h + 3.0 * h * f, head = 1.0 * vocab * h, square = 2.0 * 2 * t * t * h;  // of a layer; scores and what they weigh

job llama() {
  job j{.model = {.layers = layers, .hidden = h, .heads = heads, .ffn = f, .vocab = vocab}, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer,
        .precision = precisions::bf16, .batch = {.micro = 1, .sequence = t}, .attention = attention::flash};
  return j;
}
job of_layers(std::int64_t first, std::int64_t last) {
  auto j = llama();
  j.trainable = {{.first_layer = first, .last_layer = last}};
  return j;
}
/// Passes over a layer's matrices, over the head and over attention's square: of all layers together.
struct passes {
  double layers, head, attention;
};
void check(const job& j, const passes& p, double beside = 1e-9) {
  const auto all = cost(llama()), some = cost(j);
  const double rate = 2.0 * t * (3 * layers * matrices + 3 * head) / all.matmul.value;
  CHECK(some.matmul.value == doctest::Approx(2.0 * t * (p.layers * matrices + p.head * head) / rate).epsilon(beside).scale(0));
  CHECK(some.model.value == doctest::Approx(2.0 * t * (p.layers * matrices + p.head * head) + p.attention * square).epsilon(1e-9));
  // A kernel's backward is five multiplications where its forward is two.
  const double forwards = (p.attention - layers) / 2;
  CHECK(some.attention.value == doctest::Approx(all.attention.value * (layers + 2.5 * forwards) / (3.5 * layers)).epsilon(1e-9));
  CHECK(some.mfu() < 1);
}

}  // namespace

TEST_CASE("all of a model: three passes") { check(llama(), {3 * layers, 3, 3 * layers}); }

TEST_CASE("the last layers: backward ends at the first of them") {
  check(of_layers(4, 7), {8 + 2 * 4, 2, 8 + 2 * 4});
  check(of_layers(7, 7), {8 + 2 * 1, 2, 8 + 2 * 1});
}

TEST_CASE("the first layers: backward comes by all, and has gradients of weights in the first alone") {
  check(of_layers(0, 3), {2 * 8 + 4, 2, 3 * 8});
  check(of_layers(2, 3), {8 + 6 + 2, 2, 8 + 2 * 6});
}

TEST_CASE("adapters: two passes over what is frozen") {
  auto j = llama();
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::bf16};
  check(j, {2 * layers, 2, 3 * layers}, 0.005);  // the adapters' own products: test_adapters.cpp
}

TEST_CASE("layers that backward does not come by are not computed again, and have no update") {
  const auto again = [](job j) {
    j.recompute = recompute::full;
    const auto c = cost(j);
    return (c.hardware.value - c.model.value) / (2 * t * matrices + square);
  };
  CHECK(again(llama()) == doctest::Approx(8));
  CHECK(again(of_layers(4, 7)) == doctest::Approx(4));
  CHECK(again(of_layers(0, 3)) == doctest::Approx(8));
  const auto updated = [](const job& j) { return cost(j).optimizer.value; };
  const double layer = matrices + 2 * h, all = 8 * layer + 2 * head + h;
  // What of an update does not depend on its size cancels.
  CHECK((updated(of_layers(4, 7)) - updated(of_layers(6, 7))) / (updated(llama()) - updated(of_layers(0, 7))) == doctest::Approx(2 * layer / (all - 8 * layer)).epsilon(0.05));
}

TEST_CASE("a selection of everything is no selection") {
  auto j = llama();
  j.trainable = {{.first_layer = 0, .last_layer = -1}};
  CHECK(cost(j).step.value == doctest::Approx(cost(llama()).step.value).epsilon(1e-12));
  CHECK(cost(j).model.value == cost(llama()).model.value);
}

// A matrix of 1,024 × 512 in two bytes is read once forward, and once backward for the gradient of what came in, whether it trains or not.
TEST_CASE("a frozen matrix is read in both passes") {
  auto j = llama();
  j.precision = precisions::bf16;
  const auto s = settle(j);
  const auto c = detail::cost_scene_of(s, rates_of(*s.on));
  detail::both_passes frozen;
  detail::add_linear(frozen, c, 4096, 1024, 512, 1, 0, false, c.on.matmul);
  CHECK(frozen.forward.memory * c.on.memory == doctest::Approx(1024 * 512 * 2));
  CHECK(frozen.backward.memory * c.on.memory == doctest::Approx(1024 * 512 * 2));
}

}  // namespace test_trained_parts
