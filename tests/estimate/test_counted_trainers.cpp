// Distributed under the Boost Software License, Version 1.0.
// Two trainers whose every allocation was counted: a GPT on LibTorch 1.13 (CPU, profiler events and an own allocator agree) and
// llm.c (malloc and calloc wrapped). Exact to the byte.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_counted_trainers {

using namespace headroom;

namespace {

constexpr shape gpt(std::int64_t vocab, std::int64_t positions, std::int64_t width, std::int64_t heads, std::int64_t layers, bool tied) {
  shape m{.layers = layers, .hidden = width, .heads = heads, .ffn = 4 * width, .mlp = mlp_kind::plain, .activation = activation_kind::gelu,
          .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true,
          .position = position_kind::learned, .max_positions = positions, .vocab = vocab, .tied = tied};
  m.fused_qkv = true;
  return m;
}

// --- LibTorch --------------------------------------------------------------------------------------------------------------

struct libtorch_row {
  std::int64_t vocab, sequence, width, heads, layers, batch;
  std::int64_t parameters, activations, peak, step_peak;
};

constexpr libtorch_row libtorch_rows[] = {
    {256, 64, 64, 4, 2, 4, 136960, 3287048, 6011400, 2331148},
    {1024, 128, 128, 4, 2, 8, 675328, 30449672, 49677320, 11887628},
    {4096, 256, 256, 8, 2, 8, 3742720, 172048392, 299141128, 68372492},
};

constexpr job libtorch_job(const libtorch_row& r) {
  return {.model = gpt(r.vocab, r.sequence, r.width, r.heads, r.layers, false),
          .hardware = {.gpu = gpus::cpu},
          .framework = frameworks::libtorch_cpp,
          .precision = precisions::fp32,
          .batch = {.micro = r.batch, .sequence = r.sequence},
          .attention = attention::eager};
}

constexpr bool libtorch_exact(const libtorch_row& row) {
  const auto r = estimate(libtorch_job(row));
  const auto& rank = r.ranks[0];
  // Live after forward less before it: what the walk saved and holds, the loss and its weight.
  const auto& at = rank.at_phase[static_cast<std::size_t>(phase::backward)];
  const bytes nll_gradients{8 * row.batch * row.sequence * row.vocab};
  const auto base = at.total() - nll_gradients - bytes{row.activations};
  const auto n = row.batch * row.sequence;
  return r.parameter_count.total == parameters{row.parameters} && rank.allocated == bytes{row.peak} &&
         base == bytes{16 * row.parameters + row.sequence * row.sequence + 8 * row.sequence + 16 * n} &&
         rank[phase::step] == bytes{row.step_peak};
}

// --- llm.c -----------------------------------------------------------------------------------------------------------------

struct llm_c_row {
  std::int64_t positions, vocab, padded, layers, heads, width, batch, sequence;
  std::int64_t parameters, activations, total;
};

constexpr llm_c_row llm_c_rows[] = {
    {64, 256, 256, 2, 4, 64, 4, 64, 120576, 1018624, 10080256},
    {128, 1000, 1024, 4, 4, 128, 4, 128, 940800, 8005120, 79097856},
    {1024, 50257, 50304, 2, 4, 128, 1, 256, 6966784, 28052224, 335888384},
    {256, 50257, 50304, 6, 6, 384, 2, 128, 30062592, 38935296, 792485888},
    {1024, 50257, 50304, 12, 12, 768, 1, 64, 124475904, 18336960, 2138310656},
};

constexpr job llm_c_job(const llm_c_row& r) {
  auto m = gpt(r.vocab, r.positions, r.width, r.heads, r.layers, true);
  m.vocab_multiple = 128;
  return {.model = m,
          .hardware = {.gpu = gpus::cpu},
          .framework = frameworks::llm_c,
          .precision = precisions::fp32,
          .batch = {.micro = r.batch, .sequence = r.sequence}};
}

constexpr bool llm_c_exact(const llm_c_row& row) {
  const auto r = estimate(llm_c_job(row));
  const auto& rank = r.ranks[0];
  return r.parameter_count.total == parameters{row.parameters} && rank.allocated == bytes{row.total} &&
         rank.at_peak[row::temporaries] == bytes{4 * row.activations};
}

}  // namespace

static_assert(libtorch_exact(libtorch_rows[0]));
static_assert(llm_c_exact(llm_c_rows[0]));
static_assert(llm_c_exact(llm_c_rows[4]));

TEST_CASE("a GPT on LibTorch") {
  for (const auto& row : libtorch_rows) {
    const auto r = estimate(libtorch_job(row));
    CHECK(r.parameter_count.total.count() == row.parameters);
    CHECK(r.ranks[0].allocated.count() == row.peak);
    CHECK(r.ranks[0][phase::step].count() == row.step_peak);
    CHECK(r.ranks[0].peak_phase == phase::backward);
    CHECK(libtorch_exact(row));
  }
}

TEST_CASE("what llm.c does not train is known before anything is counted") {
  auto j = llm_c_job(llm_c_rows[0]);
  REQUIRE(!objection_to(j));
  j.model.norm = norm_kind::rmsnorm;
  REQUIRE(objection_to(j));
  CHECK(std::string_view(objection_to(j).sentence).starts_with("headroom: llm.c trains GPT-2 models in full"));
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("llm.c trains GPT-2 models in full"), job_error);
  constexpr void (*others[])(job&) = {[](job& k) { k.model.position = position_kind::rope; }, [](job& k) { k.model.mlp = mlp_kind::gated; },
                                      [](job& k) { k.model.experts = {.count = 4, .active = 1, .ffn = 64}; }, [](job& k) { k.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear}; }};
  for (const auto change : others) {
    auto other = llm_c_job(llm_c_rows[0]);
    change(other);
    REQUIRE(objection_to(other));
    CHECK(std::string_view(objection_to(other).sentence).starts_with("headroom: llm.c trains GPT-2 models in full"));
  }
  j = llm_c_job(llm_c_rows[0]);
  j.hardware.gpus_per_node = j.parallel.tensor = 2;
  CHECK(std::string_view(objection_to(j).sentence).starts_with("headroom: llm.c has data parallelism alone"));
}

TEST_CASE("llm.c on a CPU") {
  for (const auto& row : llm_c_rows) {
    const auto r = estimate(llm_c_job(row));
    CHECK(r.ranks[0].allocated.count() == row.total);
    CHECK(llm_c_exact(row));
  }
}

// Derived by hand from train_gpt2.cu's table of sizes, without the CUDA context: GPT-2 124M, B = 64, T = 1024, recompute 1.
TEST_CASE("llm.c on a GPU") {
  auto j = llm_c_job(llm_c_rows[4]);
  j.model.max_positions = 1024;
  j.hardware.gpu = gpus::a100_sxm_80gb;
  j.precision = precisions::bf16_mixed;
  j.batch = {.micro = 64, .sequence = 1024};
  j.recompute = {.mode = recompute_mode::selective, .modules = 1U << static_cast<int>(recompute_module::gelu)};
  j.attention = attention::flash;
  CHECK(estimate(j).ranks[0].allocated.count() == 24273068036);
  j.attention = attention::eager;
  CHECK(estimate(j).ranks[0].allocated.count() == 43562672132);
}

TEST_CASE("llm.c turns ZeRO off where the ranks do not divide the parameters") {
  auto j = llm_c_job(llm_c_rows[4]);
  j.hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 4};
  j.precision = precisions::bf16_mixed;
  const auto plain = estimate(j).ranks[0].at_peak[row::optimizer_state];
  j.sharding = zero(1);
  CHECK(estimate(j).ranks[0].at_peak[row::optimizer_state] == plain / 4);
  j.hardware.gpus_per_node = 5;
  CHECK(estimate(j).ranks[0].at_peak[row::optimizer_state] == plain);
  j.hardware.gpus_per_node = 4;
  j.sharding = zero(2);
  CHECK(estimate(j).ranks[0].at_peak[row::optimizer_state] == plain);
}

// torch/optim/sgd.py, _single_tensor_sgd and _multi_tensor_sgd: buf.mul_(momentum).add_(grad), param.add_(buf). Counted with torch 1.13's
// profiler on a CPU: the update allocates nothing, by loops or by lists.
TEST_CASE("SGD updates in place") {
  auto j = libtorch_job(libtorch_rows[0]);
  for (const auto& o : {optimizers::sgd, optimizers::sgd_momentum})
    for (const auto how : {implementation::unset, implementation::loop, implementation::foreach, implementation::fused}) {
      j.optimizer = o;
      j.optimizer.how = how;
      const auto at = estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::step)];
      CHECK(at[row::temporaries] == bytes{0});
      CHECK(at[row::gradients] == bytes{4 * libtorch_rows[0].parameters});
      CHECK(at[row::optimizer_state] == o.moments * at[row::gradients]);
    }
}

}  // namespace test_counted_trainers
