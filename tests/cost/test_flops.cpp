// Distributed under the Boost Software License, Version 1.0.
// FLOPs against the formulas of the papers that publish throughput in them.
#include <headroom/cost/flops.hpp>
#include <headroom/model/zoo.hpp>

#include "both.hpp"

namespace test_flops {

using namespace headroom;

namespace {

constexpr shape gpt{.layers = 24, .hidden = 2048, .heads = 16, .ffn = 8192, .mlp = mlp_kind::plain, .activation = activation_kind::gelu,
                    .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true,
                    .position = position_kind::learned, .max_positions = 1024, .vocab = 51200, .tied = true};

constexpr double B = 8, s = 1024, l = 24, h = 2048, V = 51200;

}  // namespace

TEST_CASE("hardware FLOPs are Narayanan's 96 B s l h² (1 + s/6h + V/16lh)") {
  // Efficient Large-Scale Language Model Training on GPU Clusters, 2021, equation 3: multiplied out so that every term is whole.
  constexpr double published = 96 * B * s * l * h * h + 16 * B * s * s * l * h + 6 * B * s * h * V;
  BOTH(hardware_flops(gpt, 8, 1024, true).value == published);
}

TEST_CASE("model FLOPs are Korthikanti's 72 B L s h² (1 + s/6h + v/12hL)") {
  // Reducing Activation Recomputation in Large Transformer Models, 2022, appendix A.
  constexpr double published = 72 * B * l * s * h * h + 12 * B * l * s * s * h + 6 * B * s * h * V;
  BOTH(model_flops(gpt, 8, 1024).value == published);
  BOTH(hardware_flops(gpt, 8, 1024, false).value == published);
}

TEST_CASE("a token of a Llama costs PaLM's 6N + 12 L H Q T") {
  // PaLM, appendix B; N without the look-up of the embedding. Llama-2-7B: 32 layers of 4 × 4096² + 3 × 4096 × 11008, head 32000 × 4096.
  constexpr double n = 6'607'077'376;
  constexpr double T = 2048;
  BOTH(model_flops(models::llama_2_7b, 1, 2048).value == T * (6 * n + 12 * 32 * 32 * 128 * T));
}

TEST_CASE("a causal kernel computes half of the square, a window its band") {
  constexpr auto whole = causal_convention::whole_square, half = causal_convention::half_square;
  BOTH(attended_pairs(gpt, 1024, whole) == 1024.0 * 1024.0);
  BOTH(attended_pairs(gpt, 1024, half) == 1024.0 * 512.0);
  constexpr auto windowed = [] { auto m = gpt; m.sliding_window = 256; return m; }();
  // 256 rows of a growing triangle, then 768 of 256 pairs.
  BOTH(attended_pairs(windowed, 1024, half) == 256.0 * 128.0 + 768.0 * 256.0);
  BOTH(attended_pairs(windowed, 128, half) == 128.0 * 64.0);
}

TEST_CASE("where some layers have no window, each layer counts as what it is") {
  // configuration_gemma3.py, configuration_gpt_oss.py: the sixth and the second of every so many layers see all positions.
  const auto one_by_one = [](const shape& m, std::int64_t every, double positions) {
    double all = 0;
    for (std::int64_t i = 0; i < m.layers; ++i) {
      const auto window = (i + 1) % every == 0 ? positions : static_cast<double>(m.sliding_window);
      all += window * positions;
    }
    return all / static_cast<double>(m.layers);
  };
  constexpr auto whole = causal_convention::whole_square;
  CHECK(attended_pairs(models::gemma_3_27b, 32768, whole) == doctest::Approx(one_by_one(models::gemma_3_27b, 6, 32768)));
  CHECK(attended_pairs(models::gemma_3_1b, 32768, whole) == doctest::Approx(one_by_one(models::gemma_3_1b, 6, 32768)));
  CHECK(attended_pairs(models::gemma_2_9b, 8192, whole) == doctest::Approx(one_by_one(models::gemma_2_9b, 2, 8192)));
  CHECK(attended_pairs(models::gpt_oss_20b, 65536, whole) == doctest::Approx(one_by_one(models::gpt_oss_20b, 2, 65536)));
  CHECK(attended_pairs(models::olmo_3_7b, 65536, whole) == doctest::Approx(one_by_one(models::olmo_3_7b, 4, 65536)));
  CHECK(attended_pairs(models::gpt_oss_20b, 100, whole) == 100.0 * 100.0);
}

TEST_CASE("of routed experts, those count that a token visits") {
  // Mixtral-8x7B: 2 of 8 experts. Layer: q and o 4096², k and v 4096 × 1024, router 8 × 4096, expert 3 × 4096 × 14336; head 32000 × 4096.
  constexpr double layer = 2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 8 * 4096.0 + 2 * 3 * 4096.0 * 14336;
  constexpr double tokens = 512;
  BOTH(model_flops(models::mixtral_8x7b, 1, 512).value == 6 * tokens * (32 * layer + 32000 * 4096.0) + 12 * 32 * 32 * 128 * tokens * tokens);
}

// Llama 4: of 48 layers 12 see all positions, 36 their chunk of 8,192 (transformers masking_utils.py chunked_overlay).
TEST_CASE("a chunk is a square, and no window that moves on") {
  constexpr auto& m = models::llama_4_scout;
  constexpr double w = 8192;
  const auto pairs = [&](double n, causal_convention c) { return 48 * attended_pairs(m, n, c); };
  CHECK(pairs(2 * w, causal_convention::half_square) == doctest::Approx(12 * (2 * w) * (2 * w) / 2 + 36 * 2 * (w * w / 2)));
  CHECK(pairs(2 * w, causal_convention::whole_square) == doctest::Approx(12 * (2 * w) * (2 * w) + 36 * 2 * w * w));
  CHECK(pairs(2 * w + 100, causal_convention::half_square) == doctest::Approx(12 * (2 * w + 100) * (2 * w + 100) / 2 + 36 * (w * w + 100.0 * 100 / 2)));
  CHECK(pairs(w, causal_convention::half_square) == doctest::Approx(48 * w * w / 2));
}

}  // namespace test_flops
