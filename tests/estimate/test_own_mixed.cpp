// Distributed under the Boost Software License, Version 1.0.
// Layers from outside beside the library's: one that does what the library's does comes out the same in every answer at compile time, a
// hybrid comes out as counted by hand, and what cannot be is refused. Replays: tests/replay/test_own_layers.cpp.
#include <headroom/headroom.hpp>

#include "own.hpp"

#include <doctest/doctest.h>

#include <string>

namespace test_own_mixed {

using namespace headroom;

namespace {

constexpr job llama() {
  return {.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .batch = {.micro = 2, .sequence = 1024}};
}

/// x, and x·W added: one matrix, which is all that is saved for.
struct little_mixer {
  double work = 0;
  static constexpr std::string_view label() { return "little"; }
  static constexpr void add_weights(inventory& list, const shape& m, const layer_span& layers) { own::add_matrix(list, layers, module::mixer_in, m.hidden, m.hidden); }
  static constexpr int parts() { return 1; }
  static constexpr program part(int, const scene& s, const module_set& trained, bool flows) {
    program p(s.granule);
    const auto h = s.model->hidden;
    const auto x = p.input(s.tokens * h, s.residual_width, flows);
    p.set_output(ops::add(p, x, ops::linear(p, s, trained, module::mixer_in, x, h, h, false)));
    return p;
  }
  [[nodiscard]] constexpr double flops(const scene&) const { return work; }
};

/// … of which nobody knows what else it computes, and one whose end is half as large as its beginning.
struct silent_mixer {
  static constexpr std::string_view label() { return "little"; }
  static constexpr void add_weights(inventory& list, const shape& m, const layer_span& layers) { little_mixer::add_weights(list, m, layers); }
  static constexpr int parts() { return 1; }
  static constexpr program part(int i, const scene& s, const module_set& trained, bool flows) { return little_mixer::part(i, s, trained, flows); }
};
struct narrowing_mixer {
  static constexpr std::string_view label() { return "little"; }
  static constexpr void add_weights(inventory&, const shape&, const layer_span&) {}
  static constexpr int parts() { return 1; }
  static constexpr program part(int, const scene& s, const module_set& trained, bool flows) {
    program p(s.granule);
    const auto x = p.input(s.tokens * s.model->hidden, s.residual_width, flows);
    p.set_output(ops::linear(p, s, trained, module::mixer_in, x, s.model->hidden, s.model->hidden / 2, false));
    return p;
  }
};

/// Three mixers and a Llama layer, again and again, on a CPU: sizes are not rounded.
constexpr job hybrid(std::int64_t layers) {
  job j{.model = {.layers = layers, .hidden = 1024, .heads = 8, .kv_heads = 2, .ffn = 3072, .vocab = 1000, .tied = true},
        .hardware = {.gpu = gpus::cpu},
        .precision = precisions::fp32,
        .batch = {.micro = 1, .sequence = 512}};
  for (int i = 0; i < 3; ++i) j.model.pattern.add_own("little");
  j.model.pattern.add({});
  return j;
}
constexpr bytes saved(const report& r) { return r.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations]; }

template <class Ask>
std::string refusal(const Ask& ask) {
  try {
    ask();
  } catch (const job_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

static_assert(estimate(own::whole(llama(), own::dense), own::both) == estimate(own::shipped(llama(), own::dense)));
static_assert(estimate(own::half(llama(), own::dense), own::both) == estimate(llama()));
static_assert(cost(own::whole(llama(), own::dense), own::both).step == cost(llama()).step);
static_assert(fits(own::whole(llama(), own::dense), own::both) && !objection_to(own::whole(llama(), own::dense), own::both));

TEST_CASE("the library's layer, told from outside, takes turns with the library's") {
  auto of = llama();
  of.model.ssm = own::states;
  own::for_each_recipe(of, [&](const job& j) {
    for (const auto& other : {own::dense, own::recurs}) {
      CAPTURE(j.framework.label.view());
      CAPTURE(static_cast<int>(j.sharding.kind));
      CAPTURE(j.sharding.stage);
      const auto all = estimate(own::shipped(j, other));
      CHECK(estimate(own::whole(j, other), own::both) == all);
      CHECK(estimate(own::half(j, other), own::both) == all);
    }
  });
}

TEST_CASE("… and takes the time that the library's does") {
  auto j = llama();
  j.model.ssm = own::states;
  for (const auto& other : {own::dense, own::recurs})
    for (const auto& recompute : {recompute::none, recompute::full}) {
      j.recompute = recompute;
      const auto all = cost(own::shipped(j, other)), one = cost(own::whole(j, other), own::both), two = cost(own::half(j, other), own::both);
      for (const auto& c : {one, two}) {
        CHECK(c.step.value == doctest::Approx(all.step.value).epsilon(1e-12));  // the order of a sum
        CHECK(c.matmul == all.matmul);
        CHECK(c.attention == all.attention);
        CHECK(c.memory == all.memory);
        CHECK(c.optimizer == all.optimizer);
        CHECK(c.model.value == all.model.value);
        CHECK(c.hardware.value == all.hardware.value);
        CHECK(c.assumptions == all.assumptions);
      }
    }
  for (const auto& u : {unknowns::micro_batch, unknowns::sequence, unknowns::layers, unknowns::gpu_memory}) {
    CAPTURE(u.key);
    CHECK(solve(own::whole(llama(), own::dense), u, own::both).value == solve(own::shipped(llama(), own::dense), u).value);
  }
  j = own::whole(llama(), own::dense);
  j.hardware.others = {{gpus::a100_sxm_80gb, 4}};
  auto all = own::shipped(llama(), own::dense);
  all.hardware.others = j.hardware.others;
  CHECK(cost(j, own::both).step.value == doctest::Approx(cost(all).step.value).epsilon(1e-12));
}

TEST_CASE("a hybrid of three layers from outside and one of the library's, counted by hand") {
  const own_layers little{little_mixer{}};
  const auto sixteen = estimate(hybrid(16), little), twenty = estimate(hybrid(20), little);
  // W; and q, k, v, o, gate, up, down and two norms of a Llama layer.
  constexpr std::int64_t mixer = 1024 * 1024, layer = 1024 * (1024 + 2 * 256 + 1024) + 3 * 1024 * 3072 + 2 * 1024, outside = 1000 * 1024 + 1024;
  CHECK(sixteen.parameter_count.total == parameters{outside + 12 * mixer + 4 * layer});
  CHECK(twenty.parameter_count.total - sixteen.parameter_count.total == parameters{3 * mixer + layer});
  // Of four more layers, three save x, for the gradient of W; the fourth saves what each layer of a Llama does.
  auto dense = hybrid(16);
  dense.model.pattern = {};
  auto deeper = dense;
  deeper.model.layers = 17;
  const bytes x{512 * 1024 * 4};
  CHECK(saved(twenty) - saved(sixteen) == 3 * x + (saved(estimate(deeper)) - saved(estimate(dense))));
  // Its MLP behind the mixer: one norm and three matrices more.
  auto fed = hybrid(16);
  fed.model.pattern = {};
  fed.model.pattern.add_own("little", feed_forward_kind::dense);
  CHECK(estimate(fed, little).parameter_count.total == parameters{outside + 16 * (mixer + 1024 + 3 * 1024 * 3072)});
}

TEST_CASE("what a hybrid computes, counted by hand") {
  auto j = hybrid(16);
  j.hardware = {.gpu = gpus::h100_sxm_80gb};
  j.precision = precisions::bf16;
  j.batch.accumulation = 3;
  constexpr double tokens = 512, matrices = 12 * 1024.0 * 1024 + 4 * (1024.0 * (1024 + 2 * 256 + 1024) + 3 * 1024.0 * 3072) + 1000.0 * 1024;
  constexpr double scores = 4 * 4 * tokens * tokens * 1024;  // QKᵀ and what weighs V, of four layers
  const auto of = [&](double work) { return cost(j, own_layers{little_mixer{work}}); };
  CHECK(of(0).model.value == 3.0 * 3 * (2 * tokens * matrices + scores));
  CHECK(of(1e12).model.value - of(0).model.value == 3.0 * 3 * 12 * 1e12);
  // A third of it is forward. All runs at what a 16-bit multiplication sustains.
  const double rate = rates_of(gpus::h100_sxm_80gb).matmul * (gpus::h100_sxm_80gb.matmul_tflops_x10 > 0 ? 1e11 * gpus::h100_sxm_80gb.matmul_tflops_x10 : 0.8e11 * gpus::h100_sxm_80gb.bf16_tflops_x10);
  CHECK((of(1e12).attention - of(0).attention).value == doctest::Approx(3.0 * 3 * 12 * 1e12 / rate));
  CHECK_FALSE(of(0).assumptions.has(time_assumption::own_matrices_alone));
  CHECK(cost(j, own_layers{silent_mixer{}}).assumptions.has(time_assumption::own_matrices_alone));
  CHECK(cost(j, own_layers{silent_mixer{}}).step == of(0).step);
}

TEST_CASE("a pattern with layers from outside is refused where they are not given, or cannot stand") {
  const auto j = own::whole(llama(), own::dense);
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  for (const auto& text : {refusal([&] { estimate(j); }), refusal([&] { cost(j); }), refusal([&] { (void)fits(j); }), refusal([&] { (void)weights_of(j.model); }),
                           std::string{objection_to(j).in_words().what()}}) {
    CAPTURE(text);
    CHECK(has(text, "names a layer of one's own"));
    CHECK(has(text, "own_layers{layer}"));
    CHECK(has(text, "(found \"llama\")"));
  }
  const own_layers other{little_mixer{}};
  for (const auto& text : {refusal([&] { estimate(j, other); }), refusal([&] { cost(j, other); }), std::string{objection_to(j, other).in_words().what()}})
    CHECK(has(text, "own_layers{…} does not have; label (found \"llama\")"));
  CHECK(has(refusal([&] { estimate(j, own::llama_layer{}); }), "own_layers{layer}"));  // which would be the whole stack
  const auto with = [&](auto change) {
    auto changed = j;
    change(changed);
    return refusal([&] { estimate(changed, own::both); });
  };
  CHECK(has(with([](job& k) { k.framework = frameworks::megatron; }), "autograd runs eager layers"));
  CHECK(has(with([](job& k) { k.framework = frameworks::llm_c; }), "autograd runs eager layers"));
  CHECK(has(with([](job& k) { k.parallel.tensor = 2; }), "are not divided by this version: parallel.tensor, context and expert must be 1; label (found \"llama\")"));
  CHECK(has(with([](job& k) { k.parallel.context = 2; }), "are not divided"));
  CHECK(has(with([](job& k) { k.compile = true; }), "compile must be false"));
  CHECK(has(refusal([&] { estimate(hybrid(16), own_layers{narrowing_mixer{}}); }), "to one as large; part"));
  CHECK(has(refusal([] { (void)own_layers{little_mixer{}, silent_mixer{}}; }), "same label (found \"little\")"));
  auto torchtitan = llama();
  torchtitan.framework = frameworks::torchtitan_202508;
  torchtitan.sharding = fsdp2();
  torchtitan.parallel.pipeline = 2;
  torchtitan.batch.accumulation = 8;
  CHECK(has(refusal([&] { estimate(torchtitan, own::llama_layer{}); }), "pipelines"));
  layer_pattern p;
  for (const auto* label : {"a", "b", "c", "d"}) p.add_own(label);
  CHECK(has(refusal([&] { p.add_own("e"); }), "at most 4 kinds of layer of one's own"));
  CHECK(has(refusal([&] { p.add_own("a name that is far too long"); }), "1 to 23 characters"));
  CHECK(p.at(2).mixer != p.at(3).mixer);
  CHECK(p.label_of(p.at(3).mixer) == "d");
}

}  // namespace test_own_mixed
