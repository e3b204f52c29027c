// Distributed under the Boost Software License, Version 1.0.
// Updates in an optimizer's own code, held to what that code was seen to make: each optimizer ran on a CPU (torch 1.13) over matrices of 300 × 200
// and 200 × 500, a vector of 700 and a matrix of 400 × 400, and every tensor of its third step was counted while it lived.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace test_own_updates {

using namespace headroom;

namespace {

struct counted {
  const optimizer* of;
  std::int64_t in_fp32, in_bf16;  ///< tallest, of weights and gradients in that format
};

/// GaLore and APOLLO projected the first two matrices to rank 16; new projections, which stay, are taken off: all singular vectors of 200
/// features in fp32, slices of rank 16 in bf16, and APOLLO's slices in both.
constexpr counted runs[] = {{&optimizers::adafactor, 1'283'504, 2'563'504},
                            {&optimizers::galore, 1'603'088 - 2 * 160'000, 1'103'488 - 2 * 6'400},
                            {&optimizers::apollo, 1'710'700 - 2 * 12'800, 855'494 - 2 * 6'400},
                            {&optimizers::came, 2'323'504, 2'963'496},
                            {&optimizers::prodigy, 643'088, 321'688},
                            {&optimizers::adam_mini, 1'285'088, 642'688},
                            {&optimizers::optimi_adamw, 640'292, 320'292},
                            {&optimizers::muon, 1'480'288, 1'280'288}};

std::int64_t predicted(const optimizer& o, std::int8_t width) {
  struct part {
    std::int64_t rows, columns;
    bool chosen;
  };
  detail::update_sum sum;
  const bool chooses = o.extent == state_extent::low_rank || o.vector_moments > 0;
  for (const auto& p : {part{300, 200, true}, {200, 500, true}, {700, 1, false}, {400, 400, false}})
    sum.run(*o.by_tensor,
            {.rows = p.rows, .columns = p.columns, .elements = p.rows * p.columns, .rank = 16, .weight = width, .gradient = width,
             .state = o.state.set() ? std::int8_t{4} : width, .as_matrix = chooses ? p.chosen : o.extent != state_extent::full && p.columns > 1},
            1);
  return sum.tallest().count();
}

job small(const optimizer& o, const precision& p) {
  job j;
  j.model = {.layers = 3, .hidden = 512, .heads = 8, .kv_heads = 8, .ffn = 2048, .vocab = 32000};
  j.framework = frameworks::hf_trainer;
  j.precision = p;
  j.optimizer = o;
  j.batch.sequence = 64;
  return j;
}

job llama_in_bf16(const optimizer& o) {
  return {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h200_sxm_141gb}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .optimizer = o,
          .batch = {.sequence = 512}, .recompute = recompute::full};
}
double allocated_with(const optimizer& o) { return static_cast<double>(estimate(llama_in_bf16(o)).ranks[0].allocated.count()); }

}  // namespace

TEST_CASE("an optimizer's own code makes what it was seen to make") {
  for (const auto& r : runs) {
    CAPTURE(r.of->label.view());
    // What is not counted: means, norms and other numbers and vectors, at most a half per cent of these small tensors.
    CHECK(predicted(*r.of, 4) <= r.in_fp32);
    CHECK(static_cast<double>(predicted(*r.of, 4)) > 0.995 * static_cast<double>(r.in_fp32));
    // The singular value decomposition's copy of its input (200 × 500 in fp32) was out of sight.
    const auto out_of_sight = r.of == &optimizers::galore ? 400'000 : 0;
    CHECK(predicted(*r.of, 2) - out_of_sight <= r.in_bf16);
    CHECK(static_cast<double>(predicted(*r.of, 2) - out_of_sight) > 0.995 * static_cast<double>(r.in_bf16));
  }
}

TEST_CASE("bitsandbytes updates in a kernel, without temporaries") {
  for (const auto& o : {optimizers::adamw_8bit, optimizers::paged_adamw_8bit, optimizers::paged_adamw, optimizers::lion, optimizers::lion_8bit, optimizers::ademamix_8bit}) {
    const auto s = states(small(o, precisions::bf16));
    CHECK(s.own_update == bytes{0});
    CHECK(s.own_update_alone == bytes{0});
  }
}

// torchao's README, Llama-2-7B in torchtune 52d1b838, all in bf16, peak memory in GB: fused AdamW 51.6, 8-bit 39.1, 4-bit 33.2.
TEST_CASE("torchao's states are as much smaller as it says") {
  const auto of = [](const optimizer& o) {
    job j;
    j.model = models::llama_2_7b;
    j.precision = precisions::bf16;
    j.optimizer = o;
    j.batch.sequence = 512;
    return static_cast<double>(states(j).gpu[row::optimizer_state].count()) / 1024 / 1024 / 1024;
  };
  const auto whole = of(optimizers::adamw), eight = of(optimizers::adamw_torchao_8bit), four = of(optimizers::adamw_torchao_4bit);
  CHECK(whole - eight == doctest::Approx(51.6 - 39.1).epsilon(0.02));
  CHECK(eight - four == doctest::Approx(39.1 - 33.2).epsilon(0.035));
  CHECK(of(optimizers::adamw_torchao_fp8) == doctest::Approx(eight).epsilon(0.0001));
}

// AdamW keeps 2 × 2 bytes of each of 8.03e9 weights in bf16 and makes a copy of all (torch/optim/adamw.py _multi_tensor_adamw); in 8 bits it
// keeps 2 × (1 + 4 / 256), but 8 of the embedding's 525e6 (transformers registers it), and makes nothing.
TEST_CASE("an 8-bit update is smaller than AdamW's") {
  const double n = 8.0303e9, table = 0.5253e9, blocks = 2 * (1 + 4 / 256.0);
  const auto adamw = allocated_with(optimizers::adamw);
  CHECK(adamw - allocated_with(optimizers::adamw_8bit) == doctest::Approx(n * (4 + 2) - n * blocks - table * (8 - blocks)).epsilon(0.002));
  CHECK(allocated_with(optimizers::adamw_8bit) - allocated_with(optimizers::lion_8bit) == doctest::Approx(n * blocks / 2 + table * (4 - blocks / 2)).epsilon(0.002));
}

// torch/optim/rmsprop.py: 2 bytes of state in place of AdamW's 4, and a copy of all weights, too (counted on a CPU: 641,688 bytes for 320,700
// weights of bf16). optimi beside bf16: 6 bytes, of which 2 are what rounding took, and for a moment the largest tensor's denominator.
TEST_CASE("RMSprop and optimi's Adam beside AdamW") {
  const double n = 8.0303e9, table = 0.5253e9;
  const auto adamw = allocated_with(optimizers::adamw);
  CHECK(adamw - allocated_with(optimizers::rmsprop) == doctest::Approx(2 * n).epsilon(0.002));
  CHECK(allocated_with(optimizers::optimi_adamw) - allocated_with(optimizers::stable_adamw) == doctest::Approx(2 * table).epsilon(0.005));  // whose peak lies in backward, 4 MB above the update
  CHECK(allocated_with(optimizers::optimi_adamw) - adamw == doctest::Approx(2 * table).epsilon(0.002));
  // Beside fp32 weights nothing is lost: two tensors of state, as AdamW has, and no copy of all weights.
  auto j = llama_in_bf16(optimizers::optimi_adamw);
  j.precision = precisions::bf16_autocast;
  CHECK(states(j).gpu[row::optimizer_state] == bytes{2 * 4 * states(j).trained.count()});
}

// ZeRO gives its optimizer one flat partition, as a vector: Adafactor's sums of rows and columns are the vector itself.
TEST_CASE("ZeRO's partition is one tensor") {
  auto j = small(optimizers::adafactor, precisions::bf16_mixed);
  j.framework = frameworks::deepspeed;
  j.hardware.gpus_per_node = 8;
  j.sharding = zero(1);
  const auto s = states(j);
  // grad**2 and + eps; then update, its rsqrt and -update: never more than two at once, of fp32 in an fp32 partition.
  CHECK(s.own_update.count() == 2 * 4 * s.trained_here.count());
  CHECK(s.gpu[row::optimizer_state].count() == 4 * s.trained_here.count());
}

}  // namespace test_own_updates
