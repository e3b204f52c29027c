// Distributed under the Boost Software License, Version 1.0.
// What a model's states take of each GPU, for every precision, optimizer and ZeRO stage: 36 jobs, all of them settled while
// compiling. At run time only the printing is left.
#include <headroom/headroom.hpp>
#include <headroom/states/states.hpp>

#include <array>
#include <cstdio>

using namespace headroom::literals;

namespace {

constexpr auto model = headroom::models::llama_3_1_8b;
constexpr std::int64_t gpus = 8;

constexpr std::array precisions{headroom::precisions::fp32, headroom::precisions::bf16, headroom::precisions::bf16_mixed};
constexpr std::array optimizers{headroom::optimizers::adamw, headroom::optimizers::adamw_8bit, headroom::optimizers::sgd};
constexpr std::int64_t stages = 4;

struct line {
  std::array<headroom::bytes, stages> of_stage{};
};
using table = std::array<std::array<line, optimizers.size()>, precisions.size()>;

consteval table compute() {
  table result{};
  for (std::size_t p = 0; p < precisions.size(); ++p)
    for (std::size_t o = 0; o < optimizers.size(); ++o)
      for (std::int64_t stage = 0; stage < stages; ++stage) {
        const headroom::job job{
            .model = model,
            .hardware = {.gpu = headroom::gpus::h100_sxm_80gb, .gpus_per_node = gpus},
            .precision = precisions[p],
            .optimizer = optimizers[o],
            .sharding = headroom::zero(stage),
            .batch = {.sequence = 4096},
        };
        result[p][o].of_stage[static_cast<std::size_t>(stage)] = headroom::states(job).gpu.total();
      }
  return result;
}

constexpr table states = compute();

// bf16 weights and gradients, Adam's two moments and the master copy in fp32: the 16 bytes a parameter of the ZeRO paper.
constexpr auto sixteen_bytes = headroom::count(model).total * headroom::bytes_per_parameter::of_bytes(16);
static_assert(states[2][0].of_stage[0] == sixteen_bytes);
static_assert(states[2][0].of_stage[3] < states[2][0].of_stage[2] && states[2][0].of_stage[2] < states[2][0].of_stage[1]);

double gib(headroom::bytes b) { return static_cast<double>(b.count()) / static_cast<double>(headroom::gib.count()); }

}  // namespace

int main() {
  std::printf("%s, states on each of %d GPUs, GiB\n\n%-12s %-12s %8s %8s %8s %8s\n", model.label.text, static_cast<int>(gpus), "precision",
              "optimizer", "stage 0", "1", "2", "3");
  for (std::size_t p = 0; p < precisions.size(); ++p)
    for (std::size_t o = 0; o < optimizers.size(); ++o) {
      std::printf("%-12s %-12s", precisions[p].label.text, optimizers[o].label.text);
      for (const auto size : states[p][o].of_stage) std::printf(" %8.2f", gib(size));
      std::printf("\n");
    }
}
