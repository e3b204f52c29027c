// Distributed under the Boost Software License, Version 1.0.
// Updates in an optimizer's own code, held to what that code was seen to make: each optimizer ran on a CPU (torch 1.13) over matrices of 300 × 200
// and 200 × 500, a vector of 700 and a matrix of 400 × 400, and every tensor of its third step was counted while it lived.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace test_own_updates {

using namespace headroom;

namespace {

struct counted {
  const optimizer* of;
  std::int64_t in_fp32, in_bf16;  ///< tallest, of weights and gradients in that format
};

/// GaLore and APOLLO projected the first two matrices to rank 16; new projections, which stay, are taken off: all singular vectors of 200
/// features in fp32, slices of rank 16 in bf16, and APOLLO's slices in both. GrokAdamW's state was cloned where it would go to the host and
/// back. SOAP decomposed in that step, and refuses bf16 ("expected dtype float for `end` but got dtype c10::BFloat16"). AnyPrecisionAdamW's bf16
/// needs a GPU.
constexpr counted runs[] = {{&optimizers::adafactor, 1'283'504, 2'563'504},
                            {&optimizers::galore, 1'603'088 - 2 * 160'000, 1'103'488 - 2 * 6'400},
                            {&optimizers::apollo, 1'710'700 - 2 * 12'800, 855'494 - 2 * 6'400},
                            {&optimizers::came, 2'323'504, 2'963'496},
                            {&optimizers::prodigy, 643'088, 321'688},
                            {&optimizers::adam_mini, 1'285'088, 642'688},
                            {&optimizers::optimi_adamw, 640'292, 320'292},
                            {&optimizers::galore_adafactor, 1'283'488, 2'563'488},
                            {&optimizers::anyprecision_adamw, 1'283'100, 0},
                            {&optimizers::grokadamw, 3'203'088, 1'601'688},
                            {&optimizers::soap, 7'685'088, 0},
                            {&optimizers::muon, 1'480'288, 1'280'288}};

struct part {
  std::int64_t rows, columns;
  bool chosen;
};

std::int64_t predicted(const optimizer& o, std::int8_t width, const std::vector<part>& parts = {{300, 200, true}, {200, 500, true}, {700, 1, false}, {400, 400, false}}) {
  detail::update_sum sum;
  const bool chooses = o.extent == state_extent::low_rank || o.vector_moments > 0;
  for (const auto& p : parts)
    sum.run(*o.by_tensor,
            {.rows = p.rows, .columns = p.columns, .elements = p.rows * p.columns, .rank = 16, .most_side = o.most_side, .weight = width, .gradient = width,
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
    if (r.in_bf16 == 0) continue;
    // The singular value decomposition's copy of its input (200 × 500 in fp32) was out of sight.
    const auto out_of_sight = r.of == &optimizers::galore ? 400'000 : 0;
    CHECK(predicted(*r.of, 2) - out_of_sight <= r.in_bf16);
    CHECK(static_cast<double>(predicted(*r.of, 2) - out_of_sight) > 0.995 * static_cast<double>(r.in_bf16));
  }
}

// The same, of matrices alone: with one preconditioned side, and with two of which either is the longer. GaLore's Adafactor projected both of its
// two matrices; the copy of 200 × 500 was out of sight.
TEST_CASE("SOAP and GaLore's Adafactor over other matrices") {
  struct seen {
    std::vector<part> of;
    std::int64_t tallest;
  };
  for (const auto& s : {seen{{{500, 200, true}}, 6'166'288}, {{{200, 500, true}}, 7'326'288}, {{{300, 11'000, true}}, 79'560'288}, {{{12'000, 60, true}}, 17'294'688},
                        {{{600, 100, true}, {100, 600, true}}, 8'487'488}}) {
    CHECK(predicted(optimizers::soap, 4, s.of) <= s.tallest);
    CHECK(static_cast<double>(predicted(optimizers::soap, 4, s.of)) > 0.995 * static_cast<double>(s.tallest));
  }
  const auto bf16 = predicted(optimizers::galore_adafactor, 2, {{300, 200, true}, {200, 500, true}}) - 400'000;
  CHECK(bf16 <= 1'441'088);
  CHECK(bf16 > 1'441'088 * 0.995);
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

// iShohei220/adopt _multi_tensor_adopt: AdamW's two moments, and two copies of all weights where AdamW has one. torchdistx: both moments fp32.
// flashoptim 0.1: 8 bits and an fp16 scale for 32 numbers; 8 bits of what bf16 rounds. GrokAdamW: three tensors in host memory, and on the GPU
// copies of one weight's, which are all of the update.
TEST_CASE("ADOPT, AnyPrecisionAdamW, FlashOptim and GrokAdamW beside AdamW") {
  const double n = 8.0303e9, table = 0.5253e9;
  const auto adamw = allocated_with(optimizers::adamw);
  CHECK(allocated_with(optimizers::adopt) - adamw == doctest::Approx(2 * n).epsilon(0.002));
  const auto state = [](const optimizer& o) { return static_cast<double>(states(llama_in_bf16(o)).gpu[row::optimizer_state].count()); };
  CHECK(state(optimizers::anyprecision_adamw) == doctest::Approx(8 * n).epsilon(0.0001));
  CHECK(state(optimizers::flash_adamw) == doctest::Approx((2 * 8.5 + 8) / 8 * n).epsilon(0.0001));
  CHECK(state(optimizers::flash_lion) == doctest::Approx((8.5 + 8) / 8 * n).epsilon(0.0001));
  auto in_fp32 = llama_in_bf16(optimizers::flash_adamw);
  in_fp32.precision = precisions::bf16_autocast;
  CHECK(static_cast<double>(states(in_fp32).gpu[row::optimizer_state].count()) == doctest::Approx(2 * 8.5 / 8 * n).epsilon(0.0001));
  CHECK(state(optimizers::grokadamw) == 0);
  const auto grok = states(llama_in_bf16(optimizers::grokadamw));
  CHECK(static_cast<double>(grok.paged.count()) == doctest::Approx(6 * n).epsilon(0.0001));
  CHECK(static_cast<double>(grok.own_update.count()) == doctest::Approx(5 * 2 * table).epsilon(0.06));
  CHECK(estimate(llama_in_bf16(optimizers::grokadamw)).host.per_node == grok.paged);
}

// soap.py init_preconditioner, of Llama-3.1-8B by hand: q and o have 2 × 4096² of either side; k and v 1024² and 4096²; gate, up and down 4096²
// (14336 is above 10,000); embedding and head 4096². GG and Q are two each, and all is fp32.
TEST_CASE("SOAP's preconditioners of Llama-3.1-8B") {
  auto j = llama_in_bf16(optimizers::soap);
  j.precision = precisions::bf16_autocast;
  const std::int64_t h = 4096, k = 1024, squares = 32 * (2 * 2 * h * h + 2 * (k * k + h * h) + 3 * h * h) + 2 * h * h;
  CHECK(states(j).gpu[row::optimizer_state].count() == 8 * (8'030'261'248 + squares));
  // A checkpoint with one matrix for q, k and v: its 3 × 512 rows are squared together.
  auto one = small(optimizers::soap, precisions::fp32), apart = one;
  one.model.fused_qkv = true;
  CHECK((states(one).gpu[row::optimizer_state] - states(apart).gpu[row::optimizer_state]).count() == 8 * 3 * (1536 * 1536 + 512 * 512 - 3 * 2 * 512 * 512));
}

// galore_projector.py: one projection of a fused matrix of 1536 × 512 in bf16, moments of 1536 × 128.
TEST_CASE("GaLore projects a fused matrix once") {
  auto one = small(optimizers::galore, precisions::bf16), apart = one;
  one.model.fused_qkv = true;
  CHECK((states(apart).gpu[row::optimizer_state] - states(one).gpu[row::optimizer_state]).count() == 3 * 2 * (3 - 1) * 128 * 512 + 3 * 2 * 2 * 128 * (3 * 512 - 1536));
}

TEST_CASE("optimizers that the real ones refuse, too") {
  const auto why = [](const optimizer& o, auto change) {
    auto j = small(o, precisions::bf16);
    j.hardware.gpus_per_node = 2;
    change(j);
    const auto said = objection_to(j);
    return said ? std::string{said.in_words().what()} : std::string{};
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const auto on_zero = [](job& j) { j.framework = frameworks::deepspeed, j.sharding = zero(1), j.precision = precisions::bf16_mixed; };
  const auto on_fsdp1 = [](job& j) { j.sharding = fsdp1(); };
  const auto on_fsdp2 = [](job& j) { j.sharding = fsdp2(); };
  const auto on_ddp = [](job& j) { j.sharding = ddp(); };
  for (const auto& o : {optimizers::galore, optimizers::galore_8bit, optimizers::galore_adafactor, optimizers::apollo, optimizers::apollo_mini}) {
    CHECK(has(why(o, on_zero), "need whole matrices"));
    CHECK(has(why(o, on_fsdp1), "need whole matrices"));
    CHECK(has(why(o, on_fsdp2), "need whole matrices"));
    CHECK(why(o, on_ddp).empty());
    CHECK(has(why(o, [&](job& j) { on_ddp(j), j.optimizer.in_backward = true; }), "do not run under DDP"));
  }
  const auto fp32 = [](job& j) { j.precision = precisions::fp32; };
  CHECK(why(optimizers::soap, fp32).empty());
  CHECK(has(why(optimizers::soap, [](job&) {}), "fp32 gradients"));
  CHECK(has(why(optimizers::soap, [&](job& j) { fp32(j), on_fsdp2(j); }), "preconditions whole matrices"));
  CHECK(has(why(optimizers::soap, [&](job& j) { on_zero(j), fp32(j); }), "preconditions whole matrices"));
  CHECK(has(why(optimizers::adafactor, on_fsdp2), "FSDP2's sharded gradients"));
  CHECK(has(why(optimizers::came, on_fsdp2), "FSDP2's sharded gradients"));
  CHECK(why(optimizers::adafactor, on_zero).empty());
  CHECK(has(why(optimizers::grokadamw, on_fsdp2), "GrokAdamW"));
  CHECK(has(why(optimizers::lamb, on_zero), "LAMB"));
  CHECK(why(optimizers::lamb, on_ddp).empty());
  CHECK(has(why(optimizers::lomo, [](job& j) { j.batch.accumulation = 2; }), "batch.accumulation must be 1"));
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
