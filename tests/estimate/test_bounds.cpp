// Distributed under the Boost Software License, Version 1.0.
// Ranges and confidences: their arithmetic, and what must hold for every report. Against measured runs: accuracy/test_bounds.cpp.
#include "both.hpp"

#include "add_up.hpp"

#include <headroom/headroom.hpp>
#include <headroom/report/assumption.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <long_table.hpp>

namespace test_bounds {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max();

constexpr job pretraining{
    .model = models::llama_3_1_8b,
    .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8},
    .framework = frameworks::deepspeed,
    .sharding = zero(3),
    .batch = {.micro = 1, .sequence = 8192},
    .recompute = recompute::full,
};

constexpr job megatron_of(const shape& m) {
  return {.model = m,
          .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8},
          .framework = frameworks::megatron,
          .parallel = {.data = 8},
          .batch = {.micro = 1, .sequence = 4096}};
}

/// Width of the range of `allocated` in thousandths of it.
constexpr std::int64_t width(const job& j) {
  const auto r = estimate(j);
  const auto seen = bounds(r, r.ranks[0], reading::allocated);
  return (seen.high - seen.low).count() / (r.ranks[0].allocated.count() / 1000);
}

/// One rank of round numbers: a GiB, half of it weights, nothing listed but what is given.
constexpr report one_rank(std::initializer_list<assumption> listed) {
  report r;
  auto& k = r.add();
  k.capacity = 4_GiB;
  k.at_peak[row::model_parameters] = 512_MiB;
  k.at_peak[row::activations] = 512_MiB;
  k.allocated = k.active = 1_GiB;
  k.reserved = 1_GiB;
  k.device = 1_GiB;
  for (const auto a : listed) r.assumptions.add(a);
  return r;
}

constexpr const uncertainty& line(std::string_view s) {
  for (const auto& l : uncertainties)
    if (l.from == s) return l;
  return uncertainties[0];
}

}  // namespace

TEST_CASE("a confidence is a share from 0.5 to 0.999") {
  BOTH(confidence{}.per_mille == 950);
  BOTH(confidence{0.5}.per_mille == 500);
  BOTH(confidence{0.999F}.per_mille == 999);
  BOTH(confidence{0.8} < confidence{0.9});
  for (const double wrong : {0.0, 0.49, 0.9999, 1.0, 95.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_WITH_AS(confidence{wrong}, "headroom: a confidence must be a share from 0.5 to 0.999 (0.95 is 95 %)", job_error);
  static_assert(!std::is_constructible_v<confidence, int>);  // fits(job, 95)
}

TEST_CASE("quantiles are those of Student's t with four degrees of freedom") {
  // Its distribution function in closed form: F(t) = 1/2 + 3/8 · s · (1 − s²/12), s = t / sqrt(1 + t²/4). Rounded to the table's third digit.
  for (const auto& q : detail::quantiles) {
    const double t = q.deviations / 1000.0, s = t / std::sqrt(1 + t * t / 4);
    CHECK(2 * (3.0 / 8.0 * s * (1 - s * s / 12)) == doctest::Approx(q.per_mille / 1000.0).epsilon(5e-4));
  }
  BOTH(detail::deviations_of(0.95) == 2776);
  BOTH(detail::deviations_of(0.5) == 741);
  BOTH(detail::deviations_of(0.999) == 8610);
  BOTH(detail::deviations_of(0.85) == 1833);  // half way from 1533 to 2132, upwards
}

TEST_CASE("errors add up in quadrature, without leaving 63 bits") {
  using detail::in_quadrature;
  using list = std::array<std::int64_t, 3>;
  BOTH(in_quadrature(list{3, 4, 0}) == 5);
  BOTH(in_quadrature(list{2, 3, 6}) == 7);
  BOTH(in_quadrature(list{0, 0, 0}) == 0);
  BOTH(in_quadrature(list{0, 1'000'000'007, 0}) <= 1'000'000'007);
  BOTH(in_quadrature(list{0, 1'000'000'007, 0}) > 1'000'000'000);
  BOTH(in_quadrature(list{3LL << 58, 4LL << 58, 0}) == 5LL << 58);
  BOTH(in_quadrature(list{most, most, most}) == most);
  BOTH(detail::whole_root(0) == 0);
  BOTH(detail::whole_root(99) == 9);
  BOTH(detail::whole_root((1LL << 62) - 1) == (1LL << 31) - 1);
  BOTH(detail::thousandths(1500, 10) == 15);
  BOTH(detail::thousandths(0, most) == 0);
  BOTH(detail::thousandths(1000, most) <= most);
  BOTH(detail::thousandths(1001, most) == most);
  BOTH(detail::thousandths(2000, 4'611'686'018'427'386'000) == 9'223'372'036'854'772'000);  // twice as many
  BOTH(detail::thousandths(2000, 4'611'686'018'427'388'000) == most);                       // 2^63 and 192 are no count
}

TEST_CASE("a range is made of the lines of the table that a report lists") {
  // Nothing listed: nothing is uncertain.
  BOTH(bounds(one_rank({}), 0.99) == byte_range{1_GiB, 1_GiB});
  // One line, one side: only shorter samples, so only less. 512 MiB of activations.
  constexpr auto samples = one_rank({assumption::samples_of_one_length});
  BOTH(bounds(samples, 0.95).high == 1_GiB);
  constexpr auto down = detail::thousandths(line("sample_lengths").below, (512_MiB).count());
  BOTH((1_GiB - bounds(samples, 0.95).low).count() - down * 2776 / 1000 <= 10);
  BOTH((1_GiB - bounds(samples, 0.95).low).count() - down * 2776 / 1000 >= -10);
  // What lies outside the allocator is in `device` alone; of what the cache keeps only ends of blocks are in `allocated`.
  constexpr auto outside = one_rank({assumption::context_calibrated});
  BOTH(bounds(outside, outside.ranks[0], reading::reserved) == byte_range{1_GiB, 1_GiB});
  BOTH(bounds(outside).high > 1_GiB + 300_MiB);
  constexpr auto cached = one_rank({assumption::reserved_without_fragmentation});
  constexpr auto ends = detail::thousandths(line("block_ends").above, (1_GiB).count());
  BOTH((bounds(cached, cached.ranks[0], reading::active).high - 1_GiB).count() - ends * 2776 / 1000 <= 10);
  BOTH((bounds(cached, cached.ranks[0], reading::active).high - 1_GiB).count() - ends * 2776 / 1000 >= -10);
  BOTH(bounds(cached, cached.ranks[0], reading::reserved).high > bounds(cached, cached.ranks[0], reading::active).high);
  BOTH(bounds(cached, cached.ranks[0], reading::reserved).low == 1_GiB);
  // Copies that may not be made: at most down to the next tallest phase, at one half of the way.
  constexpr auto copies = [] {
    auto r = one_rank({assumption::moments_copied_for_step});
    r.ranks[0].peak_phase = phase::step;
    r.ranks[0].phases[static_cast<std::size_t>(phase::step)] = 1_GiB;
    r.ranks[0].phases[static_cast<std::size_t>(phase::backward)] = 824_MiB;
    return r;
  }();
  BOTH(base_of(copies.ranks[0], error_base::over_next) == 200_MiB);
}

TEST_CASE("ranges stay between zero and the largest count") {
  constexpr auto huge = [] {
    auto r = one_rank({assumption::steady_state, assumption::context_calibrated, assumption::towers_on_few_runs});
    auto& k = r.ranks[0];
    k.allocated = k.active = k.reserved = k.device = bytes{most};
    return r;
  }();
  BOTH(bounds(huge, 0.999).high == bytes{most});
  BOTH(bounds(huge, 0.999).low >= bytes{0});
  constexpr auto tiny = [] {
    auto r = one_rank({assumption::steady_state, assumption::context_calibrated});
    auto& k = r.ranks[0];
    k.at_peak = {};
    k.allocated = k.active = k.reserved = k.device = bytes{1};
    return r;
  }();
  BOTH(bounds(tiny, 0.5).low == bytes{0});
}

TEST_CASE("fits with a confidence, also in a constant expression") {
  BOTH(fits(pretraining, 0.95));
  BOTH(fits(pretraining, gpus::h100_sxm_80gb, 0.99));
  BOTH(!fits(pretraining, gpus::rtx_4090, 0.5));
  // 34 GiB on a GPU of 39.4: fragmentation decides.
  constexpr auto on_less = [] {
    auto j = pretraining;
    j.hardware.gpu = gpus::a100_sxm_40gb;
    return estimate(j);
  }();
  BOTH(on_less.may_fit());
  BOTH(!on_less.fits());
  BOTH(!fits(pretraining, gpus::a100_sxm_40gb));
  BOTH(!fits(pretraining, gpus::a100_sxm_40gb, 0.95));
  constexpr auto r = estimate(pretraining);
  BOTH(bounds(r).contains(r.device()));
  BOTH(bounds_are_sane(r));
}

TEST_CASE("what an uneven router puts in doubt is what an uneven router changes") {
  const auto mixtral = [](std::int64_t imbalance, bool recompute_experts) {
    auto j = megatron_of(models::mixtral_8x7b);
    j.parallel.expert = 8;
    j.parallel.expert_imbalance_percent = imbalance;
    if (recompute_experts) j.recompute = {.mode = recompute_mode::selective, .modules = 1U << static_cast<int>(recompute_module::moe)};
    return estimate(j).ranks[0];
  };
  const auto share = [&](bool recompute) {
    const auto even = mixtral(100, recompute);
    return static_cast<double>(even.routed.count()) / 5 / static_cast<double>((mixtral(120, recompute).allocated - even.allocated).count());
  };
  CHECK(share(false) == doctest::Approx(1).epsilon(0.1));
  CHECK(share(true) == doctest::Approx(0.75).epsilon(0.34));  // one layer's gradients are not followed
  // Where the peak is in the loss no layer runs: of what layers have saved the experts' share, the same for each of them. A sparse layer's share there is that of
  // its saved tensors which grow with the tokens; without any other layer the share of one is the share of all.
  const auto in_loss = [] {
    auto j = megatron_of(models::mixtral_8x7b);
    j.parallel.expert = 8;
    j.model.layers = 2;
    j.model.vocab = 1'024'000;
    return j;
  };
  const auto loss = estimate(in_loss()).ranks[0];
  REQUIRE(loss.peak_phase == phase::loss_forward);
  const auto s = settle(in_loss());
  const auto layers = walk_divided_layers(s);
  const auto one = routed_of_layer(s);
  CHECK(loss.routed == bytes{static_cast<std::int64_t>(static_cast<double>(one.kept.count()) / static_cast<double>(layers.whole[1].saved.total.count()) * static_cast<double>(loss.at_peak[row::activations].count()))});
  CHECK(mixtral(120, false).routed == bytes{0});  // stated, not assumed
  BOTH(estimate(megatron_of(models::llama_3_2_1b)).ranks[0].routed == bytes{0});
}

TEST_CASE("what is not known of a job makes its range wider") {
  BOTH(width(megatron_of(models::llama_3_2_1b)) < 20);  // dense Megatron
  BOTH(width(megatron_of(models::llama_3_2_1b)) < width([] {
         auto j = megatron_of(models::mixtral_8x7b);
         j.parallel.expert = 8;
         return j;
       }()));
  constexpr auto titan = [](bool compile) {
    auto j = pretraining;
    j.framework = frameworks::torchtitan_202504;
    j.sharding = {.kind = sharding_kind::fsdp2, .stage = 3};
    j.compile = compile;
    return j;
  };
  BOTH(width(titan(false)) < width(titan(true)));
  // A stated workspace is no assumption.
  constexpr auto blackwell = [](bytes workspace) {
    auto j = megatron_of(long_table(models::gpt2));
    j.hardware.gpu = gpus::b200_sxm_180gb;
    j.environment.cublas_workspace = workspace;
    return j;
  };
  BOTH(estimate(blackwell(bytes{-1})).assumptions.has(assumption::cublas_workspace_before_2026));
  BOTH(!estimate(blackwell(32_MiB)).assumptions.has(assumption::cublas_workspace_before_2026));
  BOTH(width(blackwell(32_MiB)) < width(blackwell(bytes{-1})));
}

TEST_CASE("every assumption has a spread of its own name, or none") {
  CHECK(uncertainties.size() == 45);
  for (const auto& a : all_assumptions) {
    std::size_t lines = 0;
    for (const auto& u : uncertainties) lines += u.when == a.id ? 1 : 0;
    CAPTURE(a.sentence);
    CHECK((lines > 0 || a.why != without_spread::has_one));
    CHECK((lines == 0 || a.why == without_spread::has_one || a.why == without_spread::decides));
  }
  for (std::size_t i = 0; i < uncertainties.size(); ++i) {
    CHECK(!uncertainties[i].from.empty());
    CHECK(uncertainties[i].below >= 0);
    CHECK(uncertainties[i].above >= 0);
    CHECK(uncertainties[i].below + uncertainties[i].above > 0);
    for (std::size_t k = 0; k < i; ++k) CHECK(uncertainties[i].from != uncertainties[k].from);
  }
}

TEST_CASE("a set of assumptions holds each of them apart") {
  for (int i = 0; i < assumption_count; ++i) {
    assumption_set one;
    one.add(static_cast<assumption>(i));
    for (int k = 0; k < assumption_count; ++k) CHECK(one.has(static_cast<assumption>(k)) == (k == i));
    auto both = one;
    both.add(assumption::steady_state);
    both.remove(static_cast<assumption>(i));
    CHECK(both.has(assumption::steady_state) == (static_cast<assumption>(i) != assumption::steady_state));
    both |= one;
    CHECK(both.has(static_cast<assumption>(i)));
  }
}

// What a sample's length decides may be none of it; weights and moments are there whatever is generated.
TEST_CASE("no range begins below weights and optimizer states") {
  job j{.model = models::qwen2_5_7b,
        .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8},
        .framework = frameworks::deepspeed,
        .sharding = zero(3),
        .batch = {.micro = 8, .sequence = 16'384},
        .recompute = recompute::full,
        .objective = {.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::none},
        .rollout = {.engine = engine_kind::trainer, .prompt = 1024, .completion = 15'360, .generations = 8}};
  const auto r = estimate(j);
  constexpr std::int64_t p = 7'615'616'512;
  for (const auto m : {reading::allocated, reading::active, reading::reserved, reading::device}) {
    CHECK(bounds(r, r.ranks[0], m, 0.999).low.count() >= 14 * p / 8);
    CHECK(bounds(r, r.ranks[0], m, 0.999).low.count() < 14 * p / 8 + 1'000'000);  // norms are whole
  }
}

}  // namespace test_bounds
