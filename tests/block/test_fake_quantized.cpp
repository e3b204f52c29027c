// Distributed under the Boost Software License, Version 1.0.
// Quantisation-aware training: what torchao's FakeQuantizedLinear keeps and makes. Counts are of the same operations written in PyTorch (1.13, on a CPU,
// bf16): saved tensors by saved_tensors_hooks, moments by the allocator's calls. The scales that layers keep as attributes are counted apart.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>
#include <headroom/states/fake_scales.hpp>

#include "../both.hpp"

namespace test_fake_quantized {

using namespace headroom;

namespace {

struct counted {
  std::int64_t saved{}, forward{}, backward{};
};
/// One matrix on a CPU: bytes that its graph keeps; forward's tallest moment beside its input; backward's above what was there when it began.
constexpr counted one(fake_quantizer how, std::int64_t rows, std::int64_t in, std::int64_t out, std::int64_t group, bool trains = true) {
  const shape m;
  const profile habits;
  const adapter none;
  scene s;
  s.model = &m;
  s.habits = &habits;
  s.side = &none;
  s.width = s.weight_width = 2;
  s.host = true;
  s.fake = {.weights = how, .group = group, .activations = true};
  program p(1);
  const auto x = p.input(rows * in, 2, true);
  p.set_output(ops::multiply(p, s, x, {.in = in, .out = out, .trains = trains}));
  const auto forward = walk_forward(p);
  return {forward.saved.count(), forward.peak.total.count() - p.size(x).count(), walk_backward(p).peak.total.count() - forward.saved.count() - p.size(p.output()).count()};
}
/// What was counted: with all small tensors, the matrix product's own memory and gradients of scales, so that it is a little more.
constexpr bool agrees(std::int64_t predicted, std::int64_t found, std::int64_t per_mille) { return predicted <= found && found * 1000 <= predicted * (1000 + per_mille); }

constexpr std::int64_t T = 128, h = 512, I = 1024, V = 4096, g = 32;

constexpr job trained(fake_quantization how) {
  job j;
  j.model.layers = 2;
  j.model.hidden = h;
  j.model.heads = 4;
  j.model.kv_heads = 4;
  j.model.ffn = I;
  j.model.vocab = V;
  j.framework = frameworks::hf_trainer;
  j.precision = precisions::bf16;
  j.batch = {.micro = 1, .sequence = T};
  j.attention = attention::flash;
  j.kernels = {fused_kernel::norm, fused_kernel::gated, fused_kernel::rotary};
  j.fake_quantization = how;
  return j;
}
constexpr std::int64_t saved_by_layer(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, trained_modules(j, 0), true).saved.total.count();
}

}  // namespace

TEST_CASE("one matrix, as PyTorch counts it") {
  BOTH(one(fake_quantizer::intx, 8, 512, 512, 256).saved == 1'605'696 - 4'128);  // scales of 1,024 groups and 8 tokens
  BOTH(one(fake_quantizer::intx, 512, 512, 16, 256).saved == 1'626'368 - 2'176);
  BOTH(one(fake_quantizer::intx, 64, 512, 256, 256, false).saved == 393'728 - 256);  // frozen: the rounded weight for x's gradient
  BOTH(one(fake_quantizer::int4, 8, 512, 512, 32).saved == 4'874'320 - 32 - 16);     // and four numbers

  BOTH(agrees(one(fake_quantizer::intx, 16, 2048, 2048, 256).forward, 75'890'816, 2));
  BOTH(agrees(one(fake_quantizer::intx, 2048, 2048, 16, 256).forward, 75'522'048, 1));
  BOTH(agrees(one(fake_quantizer::int4, 16, 2048, 2048, 32).forward, 103'481'488, 6));
  BOTH(agrees(one(fake_quantizer::intx, 16, 2048, 2048, 256).backward, 33'651'440, 5));
  BOTH(agrees(one(fake_quantizer::intx, 2048, 2048, 16, 256).backward, 33'519'344, 5));
  BOTH(agrees(one(fake_quantizer::int4, 16, 2048, 2048, 32).backward, 42'991'616, 27));
}

TEST_CASE("a layer") {
  // Liger's norms keep x and a root a row, its gate both factors; flash q, k, v, out and a sum a row and head. Each matrix keeps its own rounded input, which
  // the others do not share, what was clamped on the way, and an inverse scale a token; of its weight the same, or sixteen bytes of fp32 beside the rounded.
  constexpr std::int64_t others = 2 * (2 * T * h + 4 * T) + 4 * 2 * T * h + 4 * T * 4 + 2 * 2 * T * I;
  constexpr std::int64_t inputs = 6 * (6 * T * h + 4 * T) + 6 * T * I + 4 * T, weights = 4 * h * h + 3 * h * I;
  BOTH(saved_by_layer(trained({fake_quantizer::intx, g, true})) == others + inputs + 6 * weights + 4 * weights / g);
  BOTH(saved_by_layer(trained({fake_quantizer::int4, g, true})) == others + inputs + 18 * weights + 16 * weights / g);
  // Weights alone: the inputs are those that plain layers keep; attention's output is the kernel's own.
  BOTH(saved_by_layer(trained({fake_quantizer::int4, g, false})) == others + 2 * 2 * T * h + 2 * T * I + 18 * weights + 16 * weights / g);
}

TEST_CASE("a head that is called piece by piece rounds its weight each time") {
  constexpr auto saved = [](bool tied) {
    auto j = trained({fake_quantizer::intx, g, true});
    j.model.tied = tied;
    j.framework = frameworks::torchtune_202409;
    j.kernels = {};
    j.loss = {.kind = loss_kind::chunked, .chunked_head = choice::yes};
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    const auto p = head_and_loss(sc, trained_modules(j, -1), true);
    return walk_forward(p).saved.count();
  };
  // Eight times 4,096 × 512 weights of four and two bytes and their inverse scales; of the input its rounded copy in place of itself, what was clamped, inverses.
  BOTH(saved(false) - saved(true) == 8 * (6 * V * h + 4 * V * h / g) + 4 * T * h + 4 * T);
}

TEST_CASE("scales that layers keep between steps") {
  constexpr auto kept = [](const job& j) { return fake_scales(settle(j)).count(); };
  constexpr std::int64_t weights = 4 * h * h + 3 * h * I;
  BOTH(kept(trained({})) == 0);
  BOTH(kept(trained({fake_quantizer::int4, g, false})) == 0);
  BOTH(kept(trained({fake_quantizer::int4, g, true})) == (2 * 7 + 1) * 8 * T);
  BOTH(kept(trained({fake_quantizer::intx, g, true})) == 2 * (7 * 8 * T + 8 * weights / g) + 8 * T + 8 * V * h / g);
  constexpr auto fused = [] {
    auto j = trained({fake_quantizer::int4, g, true});
    j.loss.kind = loss_kind::fused_linear;  // reads the head's weight and does not call it
    return j;
  };
  BOTH(kept(fused()) == 2 * 7 * 8 * T);
}

TEST_CASE("what it is not modelled with") {
  const auto why = [](auto change) {
    auto j = trained({fake_quantizer::intx, g, true});
    change(j);
    const auto o = objection_to(j);
    return std::string{o ? o.sentence : ""};
  };
  CHECK(why([](job&) {}).empty());
  CHECK(why([](job& j) { j.fake_quantization.group = 48; }).find("must divide the features") != std::string::npos);
  CHECK(why([](job& j) { j.fake_quantization.group = 0; }).find("must be at least 2") != std::string::npos);
  CHECK(why([](job& j) { j.fake_quantization = {.activations = true}; }).find("says who rounds the weights") != std::string::npos);
  CHECK(why([](job& j) { j.precision = precisions::fp32; j.attention = attention::sdpa; }).find("parameters of 16 bits") != std::string::npos);
  CHECK(why([](job& j) { j.compile = true; }).find("operation by operation") != std::string::npos);
  CHECK(why([](job& j) { j.kernels = {}, j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear}; }).find("every weight trains") != std::string::npos);
  CHECK(why([](job& j) { j.model.position = position_kind::learned; }).find("dense decoders") != std::string::npos);
}

// A head of 64 features and 128 words in pieces of two rows: 8,192 numbers are 32,768 bytes in fp32. The product of a piece, 2 × 128 × 2 bytes, is made when two of these have gone; in
// backward the gradient's product and the rounded weight have gone before they come. Of many rows the product is larger than both.
TEST_CASE("what comes and goes while a piece of a head is rounded gives way to its product") {
  const auto tallest = [](std::int64_t rows) {
    const shape m;
    const profile habits;
    const adapter none;
    scene s;
    s.model = &m, s.habits = &habits, s.side = &none;
    s.width = s.weight_width = 2;
    s.fake = {.weights = fake_quantizer::intx, .group = 32, .activations = true};
    program p(1);
    const auto x = p.input(rows * 64, 2, true);
    (void)ops::multiply_rounded_pieces(p, s, x, {.in = 64, .out = 128, .trains = true, .pieces = 4});
    const auto& o = p.at<wide_set>(p.operations() - 1);
    return std::pair{o.forward_temporary.count(), o.backward_temporary.count()};
  };
  CHECK(tallest(8) == std::pair<std::int64_t, std::int64_t>{2 * 32'768 - 512, 2 * 32'768 - 512 - 16'384});
  CHECK(tallest(800) == std::pair<std::int64_t, std::int64_t>{2 * 32'768 - 51'200, 0});
  CHECK(tallest(2000) == std::pair<std::int64_t, std::int64_t>{0, 0});
}

}  // namespace test_fake_quantized
