// Distributed under the Boost Software License, Version 1.0.
// Precision × optimizer × ZeRO stage: what the states of Llama-3.1-8B occupy on each of 8 GPUs, computed by the compiler.
#include <headroom/headroom.hpp>

#include <cstdio>

namespace {

using namespace headroom;

constexpr std::array precisions_shown{precisions::fp32, precisions::bf16, precisions::bf16_mixed};
constexpr std::array optimizers_shown{optimizers::adamw, optimizers::adamw_8bit, optimizers::adafactor, optimizers::lion, optimizers::sgd};
constexpr std::int64_t stages = 4;

using table = std::array<std::array<std::array<bytes, stages>, optimizers_shown.size()>, precisions_shown.size()>;

constexpr table states_of(const shape& model) {
  table t{};
  for (std::size_t p = 0; p < precisions_shown.size(); ++p)
    for (std::size_t o = 0; o < optimizers_shown.size(); ++o)
      for (std::int64_t stage = 0; stage < stages; ++stage) {
        const job j{.model = model,
                    .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8},
                    .framework = frameworks::deepspeed,
                    .precision = precisions_shown[p],
                    .optimizer = optimizers_shown[o],
                    .sharding = zero(stage),
                    .batch = {.sequence = 1}};
        t[p][o][static_cast<std::size_t>(stage)] = states(j).gpu.total();
      }
  return t;
}

constexpr table llama = states_of(models::llama_3_1_8b);

// bf16 weights, bf16 gradients, fp32 master copy, two fp32 moments: 2 + 2 + 4 + 8 bytes a parameter, an eighth of it at stage 3.
constexpr std::int64_t n = 8'030'261'248;
static_assert(llama[2][0][3] == bytes{16 * n / 8});
static_assert(llama[2][0][1] == bytes{4 * n + 12 * n / 8});

}  // namespace

int main() {
  std::printf("Llama-3.1-8B on 8 GPUs, GiB of states on each\n%-12s %-12s", "precision", "optimizer");
  for (std::int64_t stage = 0; stage < stages; ++stage) std::printf("   ZeRO-%lld", static_cast<long long>(stage));
  for (std::size_t p = 0; p < precisions_shown.size(); ++p)
    for (std::size_t o = 0; o < optimizers_shown.size(); ++o) {
      std::printf("\n%-12s %-12s", precisions_shown[p].label.text, optimizers_shown[o].label.text);
      for (const auto b : llama[p][o]) std::printf(" %8.2f", static_cast<double>(b.count()) / static_cast<double>(gib.count()));
    }
  std::printf("\n");
}
