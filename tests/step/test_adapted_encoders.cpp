// Distributed under the Boost Software License, Version 1.0.
// Adapters of models of an encoder and a decoder: the whole step, and what is refused.
#include "../replayed_steps.hpp"

#include <doctest/doctest.h>

#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>

#include <string>

namespace test_adapted_encoders {

using namespace headroom;

namespace {

job adapted(const char* model, recompute_mode mode, module_set targets) {
  job j;
  j.model = *models::find(model);
  j.hardware = {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 1};
  j.framework = frameworks::hf_trainer;
  j.precision = precisions::bf16;
  j.batch = {.micro = 4, .sequence = 256};
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = targets, .format = formats::fp32};
  j.recompute.mode = mode;
  return j;
}

constexpr module_set two{module::q_proj, module::v_proj}, mlp{module::up_proj, module::down_proj};

}  // namespace

TEST_CASE("step by step adapters of both stacks take as much as is estimated") {
  for (const auto* model : {"flan-t5-base", "whisper-small"})
    for (const auto mode : {recompute_mode::none, recompute_mode::full})
      for (const auto targets : {two, mlp, all_linear}) {
        CAPTURE(std::string{model});
        CAPTURE(static_cast<int>(mode));
        CAPTURE(targets.bits);
        const auto j = adapted(model, mode, targets);
        CHECK(replayed_steps(j).asked == estimate(j).ranks[0].allocated);
      }
}

// Of 3 attentions, q and v: A of 768 × 16 and B of 16 × 768 in fp32, with gradients and two moments of fp32 each, in 12 layers of each stack.
TEST_CASE("states are those of the adapters beside three attentions") {
  const auto r = estimate(adapted("flan-t5-base", recompute_mode::full, two));
  CHECK(r.parameter_count.trainable.count() == 3 * 12 * 2 * 2 * 768 * 16);
  const auto& at = r.ranks[0].at_phase[static_cast<std::size_t>(phase::step)];
  CHECK(at[row::adapters].count() == 4 * r.parameter_count.trainable.count());
  CHECK(at[row::optimizer_state].count() >= 8 * r.parameter_count.trainable.count());
  CHECK(at[row::optimizer_state].count() < 8 * r.parameter_count.trainable.count() + 512 * 300);
}

// modeling_utils.py _get_dtype_plan: only where the format that is asked for is float16. DeepSpeed's engine makes the whole module fp16 once it is loaded (runtime/engine.py
// _configure_distributed_model), and Whisper's class names no such module.
TEST_CASE("T5 that is loaded in fp16 is refused, since a part of it stays in fp32") {
  const auto why = [](const char* model, const precision& in, const profile& by = frameworks::hf_trainer) {
    auto j = adapted(model, recompute_mode::full, two);
    if (by.label != frameworks::hf_trainer.label) j.adapter = {};
    j.precision = in, j.framework = by;
    const auto o = objection_to(j);
    return o ? std::string{o.in_words().what()} : std::string{};
  };
  constexpr precision fp16{"fp16", formats::fp16, formats::fp16, formats::fp16, formats::fp16, formats::none, formats::fp16};
  CHECK(why("flan-t5-base", fp16).find("keeps each layer's wo in fp32") != std::string::npos);
  CHECK(why("flan-t5-base", precisions::bf16).empty());
  CHECK(why("flan-t5-base", precisions::fp32).empty());
  CHECK(why("flan-t5-base", precisions::fp16_autocast).empty());
  CHECK(why("whisper-small", fp16).empty());
  CHECK(why("flan-t5-base", precisions::fp16_mixed, frameworks::deepspeed).find("wo in fp32") == std::string::npos);
}

TEST_CASE("what is not modelled of them is refused") {
  const auto why = [](auto change) {
    auto j = adapted("flan-t5-base", recompute_mode::full, two);
    change(j);
    const auto o = objection_to(j);
    return o ? std::string{o.in_words().what()} : std::string{};
  };
  constexpr auto sentence = "adapters of encoder-decoder models are modelled as LoRA beside weights of 16 or 32 bits that lie whole on each GPU";
  CHECK(why([](job&) {}).empty());
  CHECK(why([](job& j) { j.hardware.gpus_per_node = 8; }).empty());
  for (const auto stack : {module::encoder, module::cross_attention})
    CHECK(why([&](job& j) { j.adapter.targets = {module::q_proj, stack}; }).find("adapter.targets must name matrices of a layer") != std::string::npos);
  CHECK(why([](job& j) { j.adapter.kind = adapter_kind::dora; }).find(sentence) != std::string::npos);
  CHECK(why([](job& j) { j.adapter.base = formats::nf4; }).find(sentence) != std::string::npos);
  CHECK(why([](job& j) { j.adapter.modules_to_save = {module::head}; }).find(sentence) != std::string::npos);
  CHECK_FALSE(why([](job& j) { j.parallel.pipeline = j.hardware.gpus_per_node = 2, j.parallel.schedule = schedule::naive; }).empty());
  CHECK(why([](job& j) { j.sharding = zero(2), j.hardware.gpus_per_node = 8; }).find(sentence) != std::string::npos);
}

}  // namespace test_adapted_encoders
