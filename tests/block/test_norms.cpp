// Distributed under the Boost Software License, Version 1.0.
// Norms that scale in fp32, against counts: transformers' own classes (5.16, 2026-08) of 64 features on 96 rows, torch 1.13.1 on a CPU, unique storages by
// torch.autograd.graph.saved_tensors_hooks without parameters. That release's mean also keeps what it reads.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_norms {

using namespace headroom;

namespace {

constexpr std::int64_t rows = 96, columns = 64;

struct saved_by_norm {
  std::int64_t bf16, fp32;
};
constexpr std::int64_t saved(const shape& m, const precision& format, bool mean_keeps_input) {
  job j{.model = m, .hardware = {.gpu = gpus::cpu}, .framework = frameworks::libtorch, .precision = format, .batch = {.micro = 1, .sequence = rows}};
  j.framework.autograd.mean_keeps_input = mean_keeps_input;
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  program p(sc.granule);
  p.set_output(ops::norm(p, sc, p.input(rows * columns, sc.width, true), columns, true));
  return walk_forward(p).saved.count();
}
constexpr saved_by_norm both(const shape& m, bool mean_keeps_input) { return {saved(m, precisions::bf16, mean_keeps_input), saved(m, precisions::fp32, mean_keeps_input)}; }

constexpr shape base{.layers = 1, .hidden = columns, .heads = 4, .ffn = 64, .vocab = 32};
constexpr shape with(void (*change)(shape&)) {
  auto m = base;
  change(m);
  return m;
}
constexpr auto llama = base;
constexpr auto gemma = with([](shape& m) { m.norm_offset = true; });
constexpr auto olmo2 = with([](shape& m) { m.fp32_norm = true; });
constexpr auto cohere = with([](shape& m) { m.fp32_norm = true, m.norm = norm_kind::layernorm; });

}  // namespace

TEST_CASE("norms save what was counted, to the byte") {
  CHECK(both(llama, true).bf16 == 61'824);
  CHECK(both(llama, true).fp32 == 74'112);
  CHECK(both(gemma, true).bf16 == 74'368);
  CHECK(both(gemma, true).fp32 == 74'368);
  CHECK(both(olmo2, true).bf16 == 74'112);
  CHECK(both(olmo2, true).fp32 == 74'112);
  CHECK(both(cohere, true).bf16 == 123'520);
  CHECK(both(cohere, true).fp32 == 123'264);
}

TEST_CASE("since torch 2 mean keeps nothing") {
  constexpr std::int64_t wide = 4 * rows * columns;
  CHECK(both(gemma, false).bf16 == 74'368 - wide);
  CHECK(both(cohere, false).bf16 == 123'520 - 2 * wide);  // two means
}

TEST_CASE("named models of these families say so") {
  CHECK(models::gemma_2_9b.norm_offset);
  CHECK(models::gemma_3_27b.norm_offset);
  CHECK(models::olmo_3_7b.fp32_norm);
  CHECK(models::gpt_oss_20b.fp32_norm);
  CHECK(models::command_r.fp32_norm);
  CHECK_FALSE(models::llama_3_8b.fp32_norm);
  CHECK(models::olmo_7b.fp32_norm);
}

// A frame of its own: how much more of Gemma-2-9B's layers is saved than if its norms left fp32 before their weights.
TEST_CASE("eager layers of Gemma 2 keep four fp32 tensors a norm's width more, two bytes an element") {
  job j{.model = models::gemma_2_9b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::libtorch, .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 1024}};
  const auto of_layer = [](const job& from) {
    const auto s = settle(from);
    auto sc = s.layer;
    sc.model = &s.model;
    return walk_layer(sc, s.model.kind_of(0), trained_modules(from, 0), 0, true).saved.total.count();
  };
  const auto with_offset = of_layer(j);
  j.model.norm_offset = false;
  const std::int64_t elements = 1024 * models::gemma_2_9b.hidden, factor = 4 * models::gemma_2_9b.hidden;
  CHECK(with_offset - of_layer(j) == 4 * (2 * elements + (factor + 511) / 512 * 512));
}

// F.linear(x, F.normalize(weight)) of 64 features and 256 words on 96 rows, counted as above: the weight's lengths twice, the rows, and the normalised weight; of a
// frozen one that alone.
TEST_CASE("a normalised head keeps its normalised weight") {
  constexpr std::int64_t words = 256;
  const auto saved = [](const precision& format, bool trains) {
    job j{.model = base, .hardware = {.gpu = gpus::cpu}, .framework = frameworks::libtorch, .precision = format, .batch = {.micro = 1, .sequence = rows}};
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    program p(sc.granule);
    p.set_output(ops::multiply(p, sc, p.input(rows * columns, sc.width, true), {.in = columns, .out = words, .trains = trains, .normalised = true}));
    return walk_forward(p).saved.count();
  };
  CHECK(saved(precisions::bf16, true) == 46'080);
  CHECK(saved(precisions::bf16, false) == 32'768);
  CHECK(saved(precisions::fp32, true) == 92'160);
  CHECK(saved(precisions::fp32, false) == 65'536);
}

// Under autocast the quotient is fp32 until linear has copied it: 6 bytes a weight for a moment. A plain head's copy takes 2, and its tallest moment has logits in fp32
// that are not there yet when the quotient is.
TEST_CASE("Baichuan 2's head under the Trainer") {
  job j{.model = models::baichuan2_7b, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.micro = 1, .sequence = 256}, .recompute = recompute::full};
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}};
  constexpr std::int64_t weights = 125'696 * 4096, word = 256 * 125'696;
  const auto with = estimate(j).ranks[0];
  j.model.normalised_head = false;
  const auto without = estimate(j).ranks[0];
  const auto more = (with.phases[static_cast<std::size_t>(phase::loss_forward)] - without.phases[static_cast<std::size_t>(phase::loss_forward)]).count();
  CHECK(more <= 4 * weights);
  CHECK(more >= 4 * weights - 8 * word);
}

}  // namespace test_norms
