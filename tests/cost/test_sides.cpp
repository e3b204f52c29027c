// Distributed under the Boost Software License, Version 1.0.
// FLOPs and step times of encoders, decoders that attend to them, and vision towers: published counts and sums written out.
#include <headroom/hardware/gpu.hpp>
#include <headroom/cost/cost.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/model/zoo.hpp>

#include "both.hpp"

namespace test_sides {

using namespace headroom;

namespace {

/// Multiplications with an addition, of a forward of one sample.
constexpr double multiplied(const shape& m, std::int64_t sequence) { return model_flops(m, 1, sequence).value / 6; }

constexpr job trainer(const shape& m, std::int64_t micro, std::int64_t sequence) {
  job j{.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 1}, .framework = frameworks::hf_trainer};
  j.batch.micro = micro;
  j.batch.sequence = sequence;
  return j;
}
constexpr double parts(const step_cost& c) {
  return (c.matmul + c.attention + c.memory + c.communication + c.launch + c.data_parallel + c.bubble + c.optimizer + c.offload) / c.step;
}

}  // namespace

TEST_CASE("a ViT multiplies what torchvision publishes") {
  // torchvision/models/vision_transformer.py, "_ops" in 10^9: ViT_B_16_Weights 17.564, ViT_L_16_Weights 61.555. 197 positions, of which 196 are
  // patches of 3 × 16 × 16; a classifier of 1000 over one of them.
  constexpr double base = 12 * (197.0 * (4 * 768 * 768 + 2 * 768 * 3072) + 2 * 197.0 * 197 * 768) + 196.0 * 768 * 768 + 768 * 1000;
  BOTH(multiplied(models::vit_base_patch16_224, 197) == base);
  BOTH(base > 17.5635e9);
  BOTH(base < 17.5645e9);
  constexpr auto large = family::vit("vit-large", 24, 1024, 16);
  BOTH(multiplied(large, 197) > 61.5545e9);
  BOTH(multiplied(large, 197) < 61.5555e9);
}

TEST_CASE("T5 multiplies in both stacks, and between them") {
  // T5-base, 512 positions on either side: 12 layers of attention of 768 and an MLP of 3072; a decoder's layer attends twice; a table of 32,128 words.
  constexpr double s = 512, h = 768, f = 3072;
  constexpr double encoder = 12 * (s * (4 * h * h + 2 * h * f) + 2 * s * s * h), decoder = 12 * (s * (8 * h * h + 2 * h * f) + 4 * s * s * h);
  BOTH(multiplied(models::t5_base, 512) == encoder + decoder + s * h * 32'128);
  // An encoder that reads four times as much: of the decoder's second attention, keys and values are of the encoder's length.
  constexpr auto longer = [] { auto m = models::t5_base; m.encoder.sequence = 2048; return m; }();
  constexpr double e = 2048;
  constexpr double read = 12 * (e * (4 * h * h + 2 * h * f) + 2 * e * e * h), spoken = 12 * (s * (6 * h * h + 2 * h * f) + e * 2 * h * h + 2 * s * s * h + 2 * s * e * h);
  BOTH(multiplied(longer, 512) == read + spoken + s * h * 32'128);
}

TEST_CASE("Whisper reads 3,000 frames through two convolutions") {
  // whisper-tiny: 4 layers of 384 on either side, 80 mel bins; the second convolution halves 3,000 frames to 1,500.
  constexpr double e = 1500, s = 448, h = 384;
  constexpr double front = 2 * e * 3 * 80 * h + e * 3 * h * h;
  constexpr double encoder = 4 * (e * 12 * h * h + 2 * e * e * h), decoder = 4 * (s * (6 + 8) * h * h + e * 2 * h * h + 2 * s * s * h + 2 * s * e * h);
  BOTH(multiplied(models::whisper_tiny, 448) == front + encoder + decoder + s * h * 51'865);
}

TEST_CASE("LLaVA's tower multiplies beside the language model") {
  // CLIP ViT-L/14 at 336 pixels: 576 patches and a class token, 24 layers of 1024; two matrices to Vicuna's 4096.
  constexpr double t = 577, p = 576, h = 1024;
  constexpr double tower = 24 * (t * 12 * h * h + 2 * t * t * h) + p * 3 * 14 * 14 * h + p * (h * 4096 + 4096.0 * 4096);
  constexpr auto alone = [] { auto m = models::llava_1_5_7b; m.vision = {}; return m; }();
  BOTH(multiplied(models::llava_1_5_7b, 1024) - multiplied(alone, 1024) == tower);
  constexpr auto twice = [] { auto m = models::llava_1_5_7b; m.vision.slices = 2; return m; }();
  BOTH(multiplied(twice, 1024) - multiplied(alone, 1024) == 2 * tower);
}

TEST_CASE("Qwen2.5-VL's tower sees windows in seven layers of eight") {
  // 448 × 448 pixels: 32 × 32 patches of 2 × 14 × 14, 32 layers of 1280 with three matrices of 3420; windows of 64 patches; a merger over 4.
  constexpr double p = 1024, h = 1280, f = 3420;
  constexpr auto alone = family::llama("text", 2, 2048, 16, 2, 11008, 151'936);
  constexpr auto m = [] { auto s = family::qwen2_5_tower(family::llama("text", 2, 2048, 16, 2, 11008, 151'936), 3420); s.vision.image = 448; return s; }();
  constexpr double seen = 28 * 64 * p + 4 * p * p;
  constexpr double tower = 32 * p * (4 * h * h + 3 * h * f) + 2 * seen * h + p * 3 * 2 * 14 * 14 * h + p / 4 * (16 * h * h + 4 * h * 2048);
  BOTH(multiplied(m, 1024) - multiplied(alone, 1024) == tower);
}

TEST_CASE("steps of models with an encoder or a tower have times whose parts add up") {
  for (const auto& [m, sequence] : {std::pair{models::t5_base, 512}, std::pair{models::whisper_tiny, 448}, std::pair{models::llava_1_5_7b, 1024}, std::pair{models::vit_base_patch16_224, 197}}) {
    const auto c = cost(trainer(m, 4, sequence));
    CHECK(parts(c) == doctest::Approx(1.0));
    CHECK(c.mfu() > 0.001);
    CHECK(c.mfu() < 0.8);
  }
  constexpr auto c = cost(trainer(models::t5_base, 8, 512));
  BOTH(c.step.value > 0);
}

TEST_CASE("a side takes time as it works") {
  const auto whole = cost(trainer(models::t5_base, 32, 512));
  auto shallow = trainer(models::t5_base, 32, 512);
  shallow.model.encoder.layers = 6;
  // Half of the encoder: of its twelve layers' multiplications, and its part of the update alone.
  const auto half = cost(shallow);
  CHECK(half.step.value < whole.step.value);
  shallow.model.encoder.layers = 3;
  const auto quarter = cost(shallow);
  CHECK(half.matmul.value - quarter.matmul.value == doctest::Approx((whole.matmul.value - half.matmul.value) / 2).scale(0));
  CHECK(half.attention.value - quarter.attention.value == doctest::Approx((whole.attention.value - half.attention.value) / 2).scale(0));

  // A tower that does not train is passed forwards alone: a third of its matrices' work.
  auto frozen = trainer(models::llava_1_5_7b, 1, 1024), none = frozen;
  none.model.vision = {};
  const double all = cost(frozen).matmul.value - cost(none).matmul.value;
  frozen.trainable = {{.modules = {module::projector, module::embedding, module::head, module::norm, module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj}}};
  const double forward = cost(frozen).matmul.value - cost(none).matmul.value;
  CHECK(forward < 0.45 * all);
  CHECK(forward > 0.3 * all);
}

TEST_CASE("scores that are written out take time as their pairs of positions: of the encoder, of the decoder, and between them") {
  // Twelve layers each, heads of one width; 512 positions in the decoder. In 512² pairs: n², 1 and n. (T5 adds a bias to all scores.)
  const auto seconds = [](std::int64_t n) {
    auto j = trainer(models::t5_base, 8, 512);
    j.attention = attention::eager;
    j.model.encoder.sequence = 512 * n;
    return cost(j).attention;
  };
  const auto one = seconds(1);
  CHECK(seconds(2) / one == doctest::Approx(7.0 / 3));
  CHECK(seconds(4) / one == doctest::Approx(21.0 / 3));
}

TEST_CASE("what is not timed is refused by name") {
  auto j = trainer(models::t5_base, 1, 512);
  j.framework = frameworks::megatron;
  CHECK_THROWS_WITH_AS(cost(j), "headroom: the step time of vision towers and encoder-decoder models is predicted for trainers over PyTorch's own modules alone by this version; framework (found \"megatron\")", job_error);
  j = trainer(models::llava_1_5_7b, 1, 1024);
  j.objective.kind = objective_kind::dpo;
  CHECK_THROWS_WITH_AS(cost(j), "headroom: the step time of vision towers and encoder-decoder models is predicted for objective \"sft\" alone by this version", job_error);
}

// Model FLOPs have no gradients of frozen weights, and none at all of what lies below everything that trains.
TEST_CASE("a frozen tower multiplies in a forward alone, and a frozen projector below adapters of the text, too") {
  auto j = trainer(models::llava_1_5_7b, 1, 1024);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}, .format = formats::bf16};
  auto blind = j;
  blind.batch.images.none = true;
  // CLIP's layers over 576 patches of 14 × 14 pixels and a class token; two matrices of the projector.
  constexpr double s = 577, h = 1024, layers = models::llava_1_5_7b.vision.layers;
  constexpr double tower = layers * (s * (4 * h * h + 2 * h * 4096) + 2 * s * s * h) + 576.0 * (3 * 14 * 14) * h, joint = 576.0 * (h * 4096 + 4096.0 * 4096);
  const auto seen = [&](const job& one) { return (cost(one).model.value - cost(blind).model.value) / 2; };
  CHECK(seen(j) == doctest::Approx(tower + joint).epsilon(1e-9));
  j.adapter.modules_to_save = {module::projector};
  CHECK(seen(j) == doctest::Approx(tower + 3 * joint).epsilon(1e-9));
  // Adapters in the tower, whichever of its matrices they are beside: a gradient comes by all of its layers and the projector, and by no weights.
  j.adapter.modules_to_save = {};
  j.adapter.targets = {module::q_proj, module::v_proj, module::vision};
  constexpr double come_by = layers * (2 * s * (4 * h * h + 2 * h * 4096) + 3 * 2 * s * s * h) + 576.0 * (3 * 14 * 14) * h + 2 * joint;
  for (const auto& named : {module_set{}, module_set{module::q_proj}, module_set{module::o_proj}, module_set{module::up_proj, module::down_proj}}) {
    j.adapter.vision_targets = named;
    CHECK(seen(j) == doctest::Approx(come_by).epsilon(1e-9));
  }
  auto full = trainer(models::llava_1_5_7b, 1, 1024);
  full.hardware.gpu = gpus::b300_sxm_288gb;
  blind = full;
  const auto all = cost(full).model.value;
  CHECK(all == doctest::Approx(6 * multiplied(models::llava_1_5_7b, 1024)).epsilon(1e-9));
  // Where the text alone trains, the projector's and the tower's forward are left of their three.
  full.trainable = {{.modules = all_linear}};
  blind.trainable = full.trainable;
  CHECK((all - cost(full).model.value) / 2 >= 2 * (tower + joint));
}

}  // namespace test_sides
