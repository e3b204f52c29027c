// Distributed under the Boost Software License, Version 1.0.
// Gradients of a vision tower and of an encoder over several micro-batches: at the optimizer's step every weight that trains has its gradient,
// however many micro-batches a step has, and it stands while later ones run.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_beside_accumulation {

using namespace headroom;

namespace {

job full(const shape& m, const sharding& how, std::int64_t gpus) {
  job j{.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = gpus}, .framework = frameworks::hf_trainer, .precision = precisions::bf16_mixed, .sharding = how,
        .batch = {.micro = 1, .sequence = 512}, .recompute = recompute::full, .attention = attention::flash};
  if (m.vision.layers > 0) j.batch.images = {.count = 1, .width = 448, .height = 448};
  return j;
}
std::int64_t at(const job& j, phase p) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(p)][row::gradients].count(); }

}  // namespace

// t5-large: 737,668,096 parameters (its checkpoint); gemma-3-4b and qwen2.5-vl-7b: 4,300,079,472 and 8,292,166,656 (their index files).
TEST_CASE("every weight of a tower and of an encoder has its gradient at the step, whatever the accumulation") {
  const struct {
    const shape* of;
    std::int64_t parameters;
  } list[] = {{&models::t5_large, 737'668'096}, {&models::gemma_3_4b, 4'300'079'472}, {&models::qwen2_5_vl_7b, 8'292'166'656}};
  for (const auto& m : list)
    for (const auto& how : {sharding{}, ddp(), zero(1), zero(2), fsdp1(2), fsdp1(3), fsdp2(2), fsdp2(3)})
      for (const bool no_sync : {false, true}) {
        const bool units = how.gathers_units(), cut = units || how.stage == 2;
        const std::int64_t gpus = how.kind == sharding_kind::none ? 1 : 4, kept = units ? 4 : 2, part = kept * m.parameters / (cut ? gpus : 1);  // FSDP's shards are in fp32
        auto j = full(*m.of, how, gpus);
        j.sharding.no_sync = no_sync && units;
        CAPTURE(m.parameters);
        CAPTURE(static_cast<int>(how.kind));
        CAPTURE(how.stage);
        const auto once = at(j, phase::step);
        CHECK(at(j, phase::forward) == 0);
        CHECK(once == doctest::Approx(static_cast<double>(part)).epsilon(1e-5));
        for (const std::int64_t n : {2, 3}) {
          j.batch.accumulation = n;
          CHECK(at(j, phase::step) == once);
          CHECK(at(j, phase::forward) == doctest::Approx(static_cast<double>(j.sharding.no_sync ? 2 * m.parameters : part)).epsilon(1e-5));
        }
      }
}

TEST_CASE("the sum of a tower that does not train is the language model's alone") {
  auto j = full(models::qwen2_5_vl_7b, sharding{}, 1);
  j.trainable = {{.modules = {module::q_proj, module::v_proj}}};
  const auto once = at(j, phase::step);
  j.batch.accumulation = 2;
  CHECK(at(j, phase::step) == once);
}

}  // namespace test_beside_accumulation
