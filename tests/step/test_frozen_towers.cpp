// Distributed under the Boost Software License, Version 1.0.
// Towers that do not train and are gone back through all the same, and towers that are checkpointed where the main stack is not.
#include "../replayed_steps.hpp"

#include <doctest/doctest.h>

#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/replay.hpp>

#include <string>

namespace test_frozen_towers {

using namespace headroom;

namespace {

/// 504 × 392 pixels are 36 × 28 patches of 14.
constexpr std::int64_t patches = 36 * 28, blocks = 32, hidden = 1280;

job seeing(recompute again) {
  job j;
  j.model = *models::find("qwen2.5-vl-7b");
  j.hardware = {.gpu = gpus::h200_sxm_141gb, .gpus_per_node = 1};
  j.framework = frameworks::hf_trainer;
  j.precision = precisions::bf16_autocast;
  j.precision.parameters = formats::bf16;
  j.attention = attention::flash;
  j.batch = {.micro = 1, .sequence = 1024};
  j.batch.images = {.count = 1, .width = 504, .height = 392};
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  j.recompute = again;
  return j;
}
std::int64_t kept(const recompute& again) { return estimate(seeing(again)).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); }

recompute with(recompute_mode mode, choice towers, bool asked) {
  recompute r{.mode = mode};
  r.towers = towers, r.frozen_towers = asked ? choice::yes : choice::no;
  return r;
}

}  // namespace

// Each block's input is kept, of 2 bytes a number, and of what joins the tower to the text the norm's input and its result, and the activation's input: of four patches a
// row of 5,120 (transformers modeling_qwen2_5_vl.py Qwen2_5_VLPatchMerger).
TEST_CASE("a frozen tower whose patches are asked for a gradient keeps its checkpoints") {
  using enum recompute_mode;
  const auto more = kept(with(full, choice::unset, true)) - kept(with(full, choice::unset, false));
  const std::int64_t inputs = blocks * patches * hidden * 2, joint = patches / 4 * 5120 * 2;
  CHECK(more >= inputs + joint);
  CHECK(more <= inputs + joint + patches * hidden * (4 + 4 + 2) + 1'000'000);
}

// transformers 5.17 modeling_utils.py: gradient_checkpointing_enable asks models whose main input is input_ids, adapters or not, and enable_input_require_grads the models
// within them that have get_input_embeddings: Qwen2.5-VL's tower and SigLIP do, Qwen3-VL's does not.
TEST_CASE("transformers 5 asks a frozen tower for a gradient where layers are recomputed") {
  using enum recompute_mode;
  CHECK(kept(recompute::full) == kept(with(full, choice::unset, true)));
  CHECK(kept(recompute::none) == kept(with(none, choice::unset, false)));
  const auto said = [](auto change) {
    auto j = seeing(recompute::full);
    change(j);
    const auto r = estimate(j);
    CHECK(r.assumptions.has(assumption::frozen_tower_asked) == (passes_tower(j, tower_side(j.adapter)) && !j.adapter.targets.has(module::vision) && j.recompute.frozen_towers == choice::unset));
    return r.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count();
  };
  const auto asked = said([](job&) {});
  CHECK(said([](job& j) { j.framework = frameworks::hf_trainer_202508; }) == kept(with(full, choice::unset, false)));
  CHECK(said([](job& j) { j.framework = frameworks::hf_trainer_202601; }) == asked);
  // Gemma 3's SigLIP: 27 blocks of 4,096 patches of 1,152 numbers, 2 bytes each, and what its projector pools and norms. All of the language model trains.
  const auto gemma = [&](choice towers) {
    return said([&](job& j) {
      j.model = *models::find("gemma-3-4b");
      j.batch.images = {.count = 1};
      j.adapter = {};
      module_set text{};
      text.bits = ((std::uint32_t{1} << module_count) - 1) & ~module_set{module::vision, module::projector}.bits;
      j.trainable = {{.modules = text}};
      j.recompute.frozen_towers = towers;
    });
  };
  constexpr std::int64_t inputs = 27LL * 4096 * 1152 * 2, joint = 4096LL * 1152 * (4 + 2) + 256LL * 1152 * 4;
  const auto more = gemma(choice::unset) - gemma(choice::no);
  CHECK(more >= inputs);
  CHECK(more <= inputs + joint + 1'000'000);
  const auto third = [&](choice towers) { return said([&](job& j) { j.model = *models::find("qwen3-vl-4b"), j.recompute.frozen_towers = towers; }); };
  CHECK(third(choice::unset) == third(choice::no));
}

// What the tower keeps does not depend on what the main stack does, whose first layer keeps its norm's input, a copy of 4 bytes and one number a row, once it is given a
// gradient to pass on.
TEST_CASE("a tower is checkpointed where recompute.towers says so") {
  using enum recompute_mode;
  constexpr std::int64_t first = 1024 * (3584 + 1) * 4;
  const auto of_tower = [](recompute_mode mode, choice towers) { return kept(with(mode, towers, true)) - kept(with(mode, choice::unset, false)) - (mode == none ? first : 0); };
  CHECK(of_tower(full, choice::no) == of_tower(none, choice::unset));
  CHECK(of_tower(none, choice::yes) == of_tower(full, choice::unset));
  CHECK(of_tower(full, choice::yes) == of_tower(full, choice::unset));
  CHECK(of_tower(none, choice::no) == of_tower(none, choice::unset));
  // Gate, up and the activation of a block's MLP alone are 3 × 3,420 numbers of 2 bytes a patch.
  CHECK(of_tower(full, choice::no) > blocks * patches * (3 * 3420 + hidden) * 2);
}

TEST_CASE("step by step a frozen tower that is gone back through takes as much") {
  for (const auto mode : {recompute_mode::full, recompute_mode::none})
    for (const auto towers : {choice::unset, choice::yes, choice::no}) {
      CAPTURE(static_cast<int>(mode));
      CAPTURE(static_cast<int>(towers));
      const auto j = seeing(with(mode, towers, true));
      CHECK(replayed_steps(j).asked == estimate(j).ranks[0].allocated);
    }
}

TEST_CASE("towers of other kinds are refused") {
  const auto why = [](auto change) {
    auto j = seeing(recompute::full);
    change(j);
    const auto o = objection_to(j);
    return o ? std::string{o.in_words().what()} : std::string{};
  };
  constexpr auto sentence = "recompute.towers and frozen_towers are of a vision tower beside its text";
  CHECK(why([](job& j) { j.recompute.frozen_towers = choice::yes; }).empty());
  CHECK(why([](job& j) { j.recompute.towers = choice::no; }).empty());
  CHECK(why([](job& j) { j.recompute.frozen_towers = choice::yes, j.model = *models::find("qwen2.5-7b"), j.batch.images = {}; }).find(sentence) != std::string::npos);
  CHECK(why([](job& j) { j.recompute.towers = choice::no, j.model = *models::find("qwen2.5-7b"), j.batch.images = {}; }).find(sentence) != std::string::npos);
  CHECK(why([](job& j) { j.recompute.frozen_towers = choice::yes, j.recompute.mode = recompute_mode::selective; }).find(sentence) != std::string::npos);
}

}  // namespace test_frozen_towers
