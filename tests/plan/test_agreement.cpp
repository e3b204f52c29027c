// Distributed under the Boost Software License, Version 1.0.
// Whether a job fits has one answer: that of plan() is the one of decide(), replay(), solve(), advise() and admit().
#include <headroom/decide.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/io/admission.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/plan/confirm.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/solve/solve.hpp>

#include <doctest/doctest.h>

#include "../estimate/dice.hpp"
#include <long_table.hpp>

namespace test_agreement {

using namespace headroom;

namespace {

constexpr std::uint32_t bit(std::string_view key) { return std::uint32_t{1} << axes::find(key); }

/// Small searches of any trainer, on GPUs that the model hardly fits.
search any(draw::dice& dice) {
  search s;
  const shape models[] = {models::llama_3_1_8b, long_table(models::gpt2_xl), models::mixtral_8x7b, models::qwen2_5_7b};
  s.job.model = models[dice.index(4)];
  s.job.model.layers = dice.pick({4, 8, 12});
  const gpu kinds[] = {gpus::h100_sxm_80gb, gpus::a100_sxm_40gb, gpus::l4, gpus::rtx_4090};
  s.job.hardware = {.gpu = kinds[dice.index(4)], .gpus_per_node = dice.pick({1, 2, 4, 8})};
  const profile* trainers[] = {&headroom::frameworks::megatron, &headroom::frameworks::deepspeed, &headroom::frameworks::torchtitan_202504};
  s.job.framework = *trainers[dice.index(3)];
  s.job.batch = {.micro = 1, .sequence = dice.pick({1024, 4096})};
  s.job.attention = attention::flash;
  for (const auto key : {"parallel.tensor", "parallel.pipeline", "sharding", "recompute", "offload.optimizer"})
    if (dice.flip()) s.open |= bit(key);
  s.open_micro = true;
  s.global_batch = dice.pick({8, 16, 24});
  if (dice.flip()) s.job.hardware.taken = 1536 * mib;
  return s;
}

}  // namespace

TEST_CASE("every plan that a search names fits by decide(), and by whoever else is asked") {
  draw::dice dice(300);
  int named = 0, tight = 0;
  for (int i = 0; i < draw::some(300); ++i) {
    const auto s = any(dice);
    CAPTURE(i);
    CAPTURE(s.job.model.label.view());
    CAPTURE(s.job.framework.label.view());
    const auto found = confirmed_plan(s, plan_judge{}, {.top = 1, .threads = 1}, decided{});
    for (const auto* list : {&found.best, &found.front})
      for (const auto& p : *list) {
        CHECK(decide(p.job).fits());
        ++named;
      }
    if (found.front.empty()) continue;
    const auto& fullest = *std::max_element(found.front.begin(), found.front.end(), [](const ranked_plan& a, const ranked_plan& b) { return a.outcome.device < b.outcome.device; });
    const auto& j = fullest.job;
    tight += is_decided(estimate_all(j)) ? 0 : 1;
    CHECK(replay(j).fits());
    CHECK(solve(j, unknowns::micro_batch, decided{}).value >= j.batch.micro);
    const auto seen = judged(j, [](const job& k) { return decide(k); });  // as advise() judges
    REQUIRE(seen);
    CHECK(seen->fits);
    CHECK(io::admit({.job = io::job_to_json(j).dump()}).decision == io::decision::fits);
  }
  CHECK(named > draw::some(600));
  CHECK(tight > draw::some(5));  // an estimate alone would not do
}

}  // namespace test_agreement
