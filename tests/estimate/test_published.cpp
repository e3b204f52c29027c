// Distributed under the Boost Software License, Version 1.0.
// Numbers and equations that papers and read-mes print, against what the library counts. (Korthikanti et al.: block/test_megatron.cpp.)
#include <headroom/headroom.hpp>
#include <headroom/layout/schedule.hpp>
#include <headroom/model/inventory.hpp>
#include <headroom/states/states.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace test_published {

using namespace headroom;

namespace {

/// A model of so many parameters, nearly all of them in one vector: the ZeRO paper counts nothing else.
constexpr shape of_parameters(std::int64_t n) { return {.layers = 1, .hidden = 1, .heads = 1, .ffn = 1, .vocab = n - 10, .tied = true}; }
static_assert(count(of_parameters(7'500'000'000)).total == parameters{7'500'000'000});

double states_gb(std::int64_t n, std::int64_t ranks, std::int64_t stage) {
  const job j{.model = of_parameters(n),
              .hardware = {.gpu = gpus::v100_sxm2_32gb, .nodes = ranks},
              .framework = frameworks::deepspeed,
              .precision = precisions::fp16_mixed,
              .sharding = zero(stage),
              .batch = {.sequence = 1}};
  return static_cast<double>(states(j).gpu.total().count()) / 1e9;
}

}  // namespace

// Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", table 1: GB of each device for
// models of 7.5B, 128B and 1T parameters, by ranks and by what is divided (optimizer state, gradients, parameters). Figures are cut
// or rounded to the digits that are printed.
TEST_CASE("ZeRO, table 1") {
  struct row {
    std::int64_t ranks;
    double gb[3][3];
  };
  constexpr row table[] = {
      {1, {{120, 120, 120}, {2048, 2048, 2048}, {16000, 16000, 16000}}},
      {4, {{52.5, 41.3, 30}, {896, 704, 512}, {7000, 5500, 4000}}},
      {16, {{35.6, 21.6, 7.5}, {608, 368, 128}, {4750, 2875, 1000}}},
      {64, {{31.4, 16.6, 1.88}, {536, 284, 32}, {4187, 2218, 250}}},
      {256, {{30.4, 15.4, 0.47}, {518, 263, 8}, {4046, 2054, 62.5}}},
      {1024, {{30.1, 15.1, 0.12}, {513, 257, 2}, {4011, 2013, 15.6}}},
  };
  constexpr std::int64_t sizes[] = {7'500'000'000, 128'000'000'000, 1'000'000'000'000};
  for (const auto& r : table)
    for (int size = 0; size < 3; ++size)
      for (int stage = 0; stage < 3; ++stage) {
        CAPTURE(r.ranks);
        const double printed = r.gb[size][stage];
        const double digit = printed < 10 && printed != std::floor(printed) ? 0.01 : size == 0 || printed != std::floor(printed) ? 0.1 : 1.0;
        CHECK(std::abs(states_gb(sizes[size], r.ranks, stage + 1) - printed) < digit);
      }
}

// Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", equation 2 and table 1:
// 12·l·h²·(1 + 13/(12·h) + (V + s)/(12·l·h)) parameters with V 51,200 and s 2,048. The equation leaves out the final norm, 2·h.
TEST_CASE("Narayanan et al., equation 2 and table 1") {
  struct row {
    double billions;
    std::int64_t heads, hidden, layers;
  };
  constexpr row table[] = {{1.7, 24, 2304, 24},   {3.6, 32, 3072, 30},     {7.5, 32, 4096, 36},     {18.4, 48, 6144, 40},     {39.1, 64, 8192, 48},
                           {76.1, 80, 10240, 60}, {145.6, 96, 12288, 80}, {310.1, 128, 16384, 96}, {529.6, 128, 20480, 105}, {1008.0, 160, 25600, 128}};
  for (const auto& r : table) {
    const shape m{.layers = r.layers, .hidden = r.hidden, .heads = r.heads, .ffn = 4 * r.hidden, .mlp = mlp_kind::plain,
                  .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true,
                  .position = position_kind::learned, .max_positions = 2048, .vocab = 51200, .tied = true};
    const auto h = r.hidden, l = r.layers;
    const auto n = count(m).total.count();
    CHECK(n == 12 * l * h * h + 13 * l * h + (51200 + 2048) * h + 2 * h);
    CHECK(std::abs(static_cast<double>(n) / 1e9 - r.billions) <= (r.billions > 1000 ? 0.5 : 0.05));
  }
}

// The same paper, section 2.2: with 1F1B at most p micro-batches are in flight where GPipe holds all m; interleaving v chunks adds
// the factor 1 + (p - 1)/(p·v) of Korthikanti et al., section 4.2.3, to the first stage's layers.
TEST_CASE("Narayanan et al., section 2.2: what is in flight") {
  for (const std::int64_t p : {2, 4, 8, 16})
    for (const std::int64_t v : {1, 2, 4}) {
      const auto m = 8 * p;
      const auto gpipe = in_flight({schedule::gpipe, p, 1, m}, 0);
      CHECK(gpipe == m);
      const auto chunks = in_flight({v > 1 ? schedule::interleaved : schedule::one_forward_one_backward, p, v, m}, 0);
      CHECK(chunks == (v > 1 ? p * v + p - 1 : p));  // of 1/(p·v) of the layers each: p·v·(1 + (p - 1)/(p·v))
    }
}

// karpathy/llm.c, README and test_gpt2.c's output for GPT-2 124M, B = 4, T = 64: 124,439,808 parameters and 73,323,776
// activations; since the vocabulary is padded to 50,304, 124,475,904 and 73,347,840.
TEST_CASE("llm.c prints its activations") {
  for (const bool padded : {false, true}) {
    auto m = models::gpt2;
    m.vocab_multiple = padded ? 128 : 1;
    const job j{.model = m, .hardware = {.gpu = gpus::cpu}, .framework = frameworks::llm_c, .precision = precisions::fp32, .batch = {.micro = 4, .sequence = 64}};
    const auto r = estimate(j);
    const auto activations = r.ranks[0].at_peak[row::temporaries].count() / 4;  // their gradients mirror them
    CHECK(r.parameter_count.total == parameters{padded ? 124'475'904 : 124'439'808});
    CHECK(activations == (padded ? 73'347'840 : 73'323'776));
  }
}

// The larger GPT-2s, counted by hand from train_gpt2.c's fill_in_activation_sizes, with C channels, L layers, NH heads and Vp the
// padded vocabulary: every tensor is written out.
TEST_CASE("llm.c's tensors for the larger GPT-2s") {
  const struct {
    const shape& model;
    std::int64_t C, L, NH;
  } sizes[] = {{models::gpt2, 768, 12, 12}, {models::gpt2_medium, 1024, 24, 16}, {models::gpt2_large, 1280, 36, 20}, {models::gpt2_xl, 1600, 48, 25}};
  constexpr std::int64_t B = 2, T = 128, Vp = 50304;
  for (const auto& z : sizes) {
    const auto BT = B * T, C = z.C, L = z.L, NH = z.NH;
    const std::int64_t tensors[] = {
        BT * C,          L * BT * C, L * BT, L * BT,              // encoded, ln1, ln1_mean, ln1_rstd
        L * BT * 3 * C,  L * BT * C, L * B * NH * T * T, L * B * NH * T * T,  // qkv, atty, preatt, att
        L * BT * C,      L * BT * C, L * BT * C, L * BT, L * BT,  // attproj, residual2, ln2, ln2_mean, ln2_rstd
        L * BT * 4 * C,  L * BT * 4 * C, L * BT * C, L * BT * C,  // fch, fch_gelu, fcproj, residual3
        BT * C, BT, BT,  BT * Vp, BT * Vp, BT,                    // lnf, lnf_mean, lnf_rstd, logits, probs, losses
    };
    std::int64_t sum = 0;
    for (const auto n : tensors) sum += n;
    auto m = z.model;
    m.vocab_multiple = 128;
    const job j{.model = m, .hardware = {.gpu = gpus::cpu}, .framework = frameworks::llm_c, .precision = precisions::fp32, .batch = {.micro = B, .sequence = T}};
    CHECK(estimate(j).ranks[0].at_peak[row::temporaries].count() == 4 * sum);
  }
}

// Dettmers et al. 2023, "QLoRA", section 3: constants of blocks of 64 take 32/64 = 0.5 bits a parameter; quantised themselves to 8
// bits in blocks of 256, 8/64 + 32/(64·256) = 0.127 bits, 0.373 fewer.
TEST_CASE("QLoRA, section 3: double quantisation") {
  constexpr std::int64_t n = std::int64_t{1} << 30;
  const auto bits = [](const number_format& f) { return 8.0 * static_cast<double>(f.metadata(n).count() - f.table - f.offset) / static_cast<double>(n); };
  CHECK(bits(formats::nf4) == 0.5);
  CHECK(bits(formats::nf4_double) == 8.0 / 64 + 32.0 / (64 * 256));
  CHECK(std::abs(bits(formats::nf4) - bits(formats::nf4_double) - 0.373) < 0.0005);
}

// Zhao et al. 2024, "GaLore", table 1, for a weight of m × n, m <= n, and rank r: GaLore's state is m·r + 2·n·r numbers, LoRA's
// weights are m·n + m·r + n·r and its state 2·m·r + 2·n·r. Two layers of a Llama less one are such matrices (and two vectors).
TEST_CASE("GaLore, table 1") {
  constexpr std::int64_t h = 512, f = 2048, r = 64;
  constexpr std::int64_t sides[][2] = {{h, h}, {h, h}, {h, h}, {h, h}, {h, f}, {h, f}, {h, f}};  // q, k, v, o, gate, up, down
  const auto layer = [&](const optimizer& o, const adapter& a) {
    const auto with = [&](std::int64_t layers) {
      return states({.model = {.layers = layers, .hidden = h, .heads = 8, .ffn = f, .vocab = 1024},
                     .hardware = {.gpu = gpus::cpu},
                     .framework = frameworks::libtorch,
                     .precision = precisions::bf16,  // as the paper counts; in fp32 the code keeps all singular vectors
                     .optimizer = o,
                     .batch = {.sequence = 1},
                     .adapter = a})
          .gpu;
    };
    auto more = with(2);
    const auto less = with(1);
    for (std::size_t i = 0; i < more.rows.size(); ++i) more.rows[i] -= less.rows[i];
    return more;
  };
  auto galore = optimizers::galore;
  galore.rank = r;
  std::int64_t galore_state = 0, lora_weights = 0;
  for (const auto& s : sides) {
    galore_state += s[0] * r + 2 * s[1] * r;
    lora_weights += s[0] * r + s[1] * r;
  }
  CHECK(layer(galore, {})[row::optimizer_state].count() == 2 * (galore_state + 2 * 2 * h));  // two norms with all of Adam's
  const auto lora = layer(optimizers::adamw, {.kind = adapter_kind::lora, .rank = r, .targets = all_linear, .format = formats::fp32});
  CHECK(lora[row::adapters].count() == 4 * lora_weights);
  CHECK(lora[row::optimizer_state].count() == 4 * 2 * lora_weights);
}

}  // namespace test_published
