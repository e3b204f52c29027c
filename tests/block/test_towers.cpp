// Distributed under the Boost Software License, Version 1.0.
// Vision towers, counted by hand from transformers' models/clip and models/llava.
#include <headroom/headroom.hpp>

#include "../both.hpp"

namespace test_towers {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::int64_t hidden = 64, width = 32, ffn = 80, layers = 3, images = 2, samples = 2, side = 4, patch = 14;
constexpr std::int64_t patches = side * side, seen = samples * images * (patches + 1);  // with the class token

constexpr shape small_llava() {
  shape m{.layers = 2, .hidden = hidden, .heads = 4, .ffn = 96, .vocab = 100};
  m.vision.kind = vision_kind::clip;
  m.vision.projector = projector_kind::mlp;
  m.vision.layers = layers;
  m.vision.hidden = width;
  m.vision.heads = 4;
  m.vision.ffn = ffn;
  m.vision.patch = patch;
  m.vision.image = side * patch;
  m.vision.positions = patches + 1;
  m.vision.slices = images;
  return m;
}

job small_job() {
  job j;
  j.model = small_llava();
  j.hardware.gpu = gpus::cpu;
  j.precision = precisions::bf16;
  j.batch = {.micro = samples, .sequence = 128};
  return j;
}

prelude tower_of(const job& j) {
  const auto s = settle(j);
  const auto st = states(s, weights_of(s.model));
  return walk_tower(s, windows_of(s, st), 0_B);
}

// CLIPEncoderLayer, of each position: a norm's input with mean and deviation (in bf16 on a CPU), its result; q, k, v, the kernel's result, a
// log-sum-exp of 4 heads; the second norm and its result; the first matrix's result and its sigmoid (QuickGELU); their product.
constexpr std::int64_t of_layer = (2 * width + 4) + 2 * width + 3 * 2 * width + 2 * width + 4 * 4 + (2 * width + 4) + 2 * width + 3 * 2 * ffn;
constexpr std::int64_t pixels = samples * images * patches * 3 * patch * patch * 2;
// The norm in front keeps what it reads; the last norm too. LLaVA's two matrices: the patches, GELU's input and its result.
constexpr std::int64_t ends = seen * 2 * (2 * width + 4);
constexpr std::int64_t joint = samples * images * patches * (2 * width + 2 * hidden + 2 * hidden);

}  // namespace

TEST_CASE("a CLIP tower that trains") {
  const auto t = tower_of(small_job());
  CHECK(t.saved.total == bytes{layers * seen * of_layer + pixels + ends + joint});
  CHECK(t.has_gradient);
  // Its gradients: every weight of tower and projector.
  const auto c = count(small_llava());
  CHECK(t.gradients == bytes{2 * (c.of(component::vision) + c.of(component::projector)).count()});
  auto full = small_job();
  full.recompute = recompute::full;
  full.recompute.reentrant = choice::no;
  CHECK(tower_of(full).saved.total == bytes{layers * (seen * 2 * width) + layers * 5056 + pixels + ends + joint});
}

// InternVisionEncoderLayer, of each position: as CLIP's, but for GELU, which keeps its input alone, and the results of both branches, which their
// trained vectors multiply. There is no norm in front and none behind. Pixels lie four side by side in front of InternVL's norm and two matrices.
TEST_CASE("InternViT, and what joins it to the language model") {
  auto j = small_job();
  auto& v = j.model.vision;
  v.kind = vision_kind::intern_vit;
  v.projector = projector_kind::norm_mlp;
  v.merge = 2;
  constexpr std::int64_t layer = (2 * width + 4) + 2 * width + 3 * 2 * width + 2 * width + 4 * 4 + 2 * width + (2 * width + 4) + 2 * width + 2 * 2 * ffn + 2 * width;
  constexpr std::int64_t rows = samples * images * patches / 4, norm_mlp = rows * ((2 * 4 * width + 4) + 2 * 4 * width + 2 * hidden + 2 * hidden);
  const auto t = tower_of(j);
  CHECK(t.saved.total == bytes{layers * seen * layer + pixels + norm_mlp});
  const auto c = count(j.model);
  CHECK(t.gradients == bytes{2 * (c.of(component::vision) + c.of(component::projector)).count()});
  CHECK(image_tokens(v) == images * patches / 4);
  // Of the tower: patches with biases, a class token, positions; of a layer: 4 matrices and their biases, 2 of the MLP, two norms, two vectors.
  CHECK(c.of(component::vision).count() == width * 3 * patch * patch + 2 * width + (patches + 1) * width + layers * (4 * width * width + 4 * width + 2 * width * ffn + ffn + width + 4 * width + 2 * width));
  CHECK(c.of(component::projector).count() == 2 * 4 * width + 4 * width * hidden + hidden + hidden * hidden + hidden);
  v.kind = vision_kind::intern_vit_6b;  // RMSNorm and no biases on q, k and v; norms over all of q and all of k, and a copy behind each
  CHECK(count(j.model).of(component::vision).count() == c.of(component::vision).count() + layers * (-3 * width - 2 * width + 2 * width));
  CHECK(tower_of(j).saved.total > t.saved.total);
}

// transformers' InternVLVisionModel: of each position the same is saved, by three matrices instead of one. Where q, k and v come out of one matrix its gradient is
// one tensor more, of three widths.
TEST_CASE("InternVL of transformers") {
  auto chat = small_job();
  chat.model.vision.projector = projector_kind::norm_mlp;
  chat.model.vision.merge = 2;
  auto own = chat;
  for (const bool large : {false, true}) {
    chat.model.vision.kind = large ? vision_kind::intern_vit_6b : vision_kind::intern_vit;
    own.model.vision.kind = large ? vision_kind::internvl_6b : vision_kind::internvl;
    CHECK(count(own.model) == count(chat.model));
    CHECK(tower_of(own).gradients == tower_of(chat).gradients);
    if (!large) CHECK(tower_of(own).saved.total == tower_of(chat).saved.total);
    CHECK(tower_shape(chat.model.vision).fused_qkv);
    CHECK_FALSE(tower_shape(own.model.vision).fused_qkv);
  }
}

// Idefics3EncoderLayer is SigLIP's: CLIP's, but for GELU, which keeps its input alone. Each patch of each tile looks its position up by a number of 8 bytes; a norm stands
// behind the last layer, none in front; four patches side by side go through one matrix.
TEST_CASE("SmolVLM's tower, and what joins it to the language model") {
  auto j = small_job();
  auto& v = j.model.vision;
  v.kind = vision_kind::idefics3;
  v.projector = projector_kind::shuffled_linear;
  v.merge = 2;
  v.positions = patches;
  constexpr std::int64_t layer = (2 * width + 4) + 2 * width + 3 * 2 * width + 2 * width + 4 * 4 + (2 * width + 4) + 2 * width + 2 * 2 * ffn;
  constexpr std::int64_t read = samples * images * patches, behind = read * (2 * width + 4) + read / 4 * 2 * 4 * width;
  const auto t = tower_of(j);
  CHECK(t.saved.total == bytes{layers * read * layer + 2 * pixels + read * 8 + behind});  // the batch's pictures, and the copy that is read
  const auto c = count(j.model);
  CHECK(t.gradients == bytes{2 * (c.of(component::vision) + c.of(component::projector)).count()});
  CHECK(image_tokens(v) == images * patches / 4);
  CHECK(c.of(component::projector).count() == 4 * width * hidden);
  CHECK(c.of(component::vision).count() == width * 3 * patch * patch + width + patches * width + layers * (4 * width * width + 4 * width + 2 * width * ffn + ffn + width + 4 * width) + 2 * width);
  v.slices = 0;
  CHECK_THROWS_WITH_AS((void)estimate(j), doctest::Contains("this model cuts each image into tiles"), job_error);
  v.slices = 3;
  CHECK(estimate(j).peak() > 0_B);
  v.slices = 0;
  j.batch.images = {.width = 640, .height = 480};
  j.batch.sequence = 13 * patches / 4;
  CHECK(estimate(j).peak() > 0_B);
  j.batch.sequence -= 1;
  CHECK_THROWS_WITH_AS((void)estimate(j), doctest::Contains("must hold the tokens"), job_error);
}

// Gemma4VisionModel as its classes run over torch 1.13, where a mean keeps what it reads: 32 patches of 4 × 4 pixels, 8 tokens, 2 samples; what
// layers.1 saved. Sines and cosines are made once for all layers. Embedder and standardisation by hand.
TEST_CASE("Gemma 4's tower, and what joins it to the language model") {
  job j;
  j.model = {.layers = 2, .hidden = 48, .heads = 4, .ffn = 96, .vocab = 100};
  auto& v = j.model.vision;
  v = {.kind = vision_kind::gemma4, .projector = projector_kind::pooled_linear, .layers = 2, .hidden = 64, .heads = 4, .ffn = 96, .patch = 4, .image = 32, .image_height = 16, .positions = 64, .merge = 2, .tokens = 8};
  j.hardware.gpu = gpus::cpu;
  j.batch = {.micro = 2, .sequence = 128};
  j.attention = attention::eager;
  j.framework.autograd.mean_keeps_input = j.framework.attention.copies_heads = true;
  CHECK(count(j.model).of(component::vision).count() == 77'376);
  CHECK(count(j.model).of(component::projector).count() == 64 * 48);
  CHECK(image_tokens(v) == 8);
  for (const bool narrow : {true, false}) {
    j.precision = narrow ? precisions::bf16 : precisions::fp32;
    const std::int64_t layer = narrow ? 484'480 : 565'248, front = (narrow ? 6'144 : 12'288) + 1'024, w = narrow ? 2 : 4;
    const std::int64_t pool = 2'048 + 64 + 16, embedder = 2 * 16 * 64 * 4 + 2 * 16 * 4 + 16 * 64 * w;
    CHECK(tower_of(j).saved.total == bytes{2 * layer + front + pool + embedder});
    CHECK(tower_of(j).gradients == bytes{w * (count(j.model).of(component::vision) + count(j.model).of(component::projector)).count()});
  }
  v.patch = 16, v.merge = 3, v.tokens = 280, v.image = 960, v.image_height = 672;
  const auto tokens = [&](std::int64_t wide, std::int64_t high) { return image_tokens(::headroom::seen(v, {.width = wide, .height = high})); };
  CHECK(image_tokens(v) == 280);
  CHECK(tokens(1920, 1080) == 22 * 12);
  CHECK(tokens(64, 64) == 16 * 16);
  CHECK(tokens(4000, 10) == 280);
  CHECK(patches_of_tile(::headroom::seen(v, {.width = 1920, .height = 1080})) == 2520);
  v.tokens = 0;
  CHECK_THROWS_WITH_AS((void)estimate(j), doctest::Contains("model.vision.tokens"), job_error);
}

TEST_CASE("a frozen tower keeps nothing") {
  auto j = small_job();
  j.trainable = {{.modules = {module::projector, module::q_proj}}};
  auto t = tower_of(j);
  CHECK(t.saved.total == bytes{joint});
  CHECK(t.has_gradient);
  j.recompute = recompute::full;
  CHECK(tower_of(j).saved.total == bytes{joint});
  j.trainable = {{.modules = {module::q_proj}}};
  t = tower_of(j);
  CHECK(t.saved.total == 0_B);
  CHECK_FALSE(t.has_gradient);
  CHECK(t.forward.total > 0_B);
}

TEST_CASE("adapters in a tower, in its projector, and in both") {
  constexpr std::int64_t rank = 4, tokens = samples * images * patches;
  auto j = small_job();
  const auto with = [&](module_set targets) {
    targets |= module_set{module::q_proj};  // of the language model
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = targets, .format = formats::bf16};
    return tower_of(j);
  };
  // All that a layer keeps where it trains: frozen norms keep what they read, and each layer's input is that of an A. Six adapters each keep `rank` numbers.
  // Nothing in front of them trains. Behind them the last norm and GELU keep what they read.
  const auto blocks = layers * seen * (of_layer + 6 * 2 * rank) + seen * (2 * width + 4);
  auto t = with({module::vision});
  CHECK(t.has_gradient);
  CHECK(t.saved.total == bytes{blocks + tokens * 2 * hidden});
  CHECK(t.gradients == bytes{2 * layers * rank * (4 * 2 * width + 2 * (width + ffn))});
  t = with({module::vision, module::projector});
  CHECK(t.saved.total == bytes{blocks + tokens * (2 * width + 4 * hidden + 2 * 2 * rank)});
  CHECK(t.gradients == bytes{2 * rank * (layers * (4 * 2 * width + 2 * (width + ffn)) + (width + hidden) + 2 * hidden)});
  t = with({module::projector});
  CHECK(t.saved.total == bytes{tokens * (2 * width + 4 * hidden + 2 * 2 * rank)});
  t = with({});
  CHECK(t.saved.total == 0_B);
  CHECK_FALSE(t.has_gradient);
  j.recompute = recompute::full;
  j.recompute.reentrant = choice::no;
  t = with({module::vision});
  CHECK(t.saved.total == bytes{layers * (seen * 2 * width + 5056) + seen * (2 * width + 4) + tokens * 2 * hidden});
  // Of Qwen2.5-VL-3B's blocks q, k and v are one layer: rank 16 over 1,280 to 3,840, 1,280 to 1,280, three of 1,280 and 3,420, of 32 blocks; a merger of
  // 5,120 to 5,120 and to 2,048; and 36 layers of 2,048, 256 keys and values, 11,008.
  job qwen{.model = models::qwen2_5_vl_3b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 1024}};
  qwen.batch.images = {.width = 448, .height = 448};
  qwen.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linear, .format = formats::bf16};
  constexpr std::int64_t text = 36 * 16 * (2 * (2048 + 2048) + 2 * (2048 + 256) + 3 * (2048 + 11008));
  CHECK(estimate(qwen).parameter_count.trainable == parameters{text});
  qwen.adapter.targets |= module_set{module::vision, module::projector};
  CHECK(estimate(qwen).parameter_count.trainable == parameters{text + 32 * 16 * (1280 + 3840 + 1280 + 1280 + 3 * (1280 + 3420)) + 16 * (5120 + 5120 + 5120 + 2048)});
  CHECK(cost(qwen).step.value > 0);
  const auto why = [](job of) { const auto no = objection_to(of); return no ? std::string{no.sentence} : std::string{}; };
  qwen.adapter.kind = adapter_kind::dora;
  CHECK(why(qwen).find("adapter.kind must be lora, or adapter.targets be without vision and projector") != std::string::npos);
  qwen.adapter.kind = adapter_kind::lora;
  qwen.sharding = fsdp1(3);
  CHECK(why(qwen).find("sharding.kind must be none, ddp or zero, or adapter.targets be without vision and projector") != std::string::npos);
  qwen.sharding = zero(2);
  qwen.framework = frameworks::deepspeed;
  qwen.batch.images = {.none = true};
  CHECK(why(qwen).find("adapters in a tower that never runs are modelled on one GPU, without sharding, by this version: sharding.kind must be none") != std::string::npos);
  // Nothing runs them: of the tower's and the merger's adapters, 4 bytes each, there are the weights alone.
  qwen.sharding = {};
  qwen.framework = frameworks::hf_trainer;
  qwen.adapter.format = formats::fp32;
  const auto idle = states(qwen);
  constexpr std::int64_t beside = 32 * 16 * (1280 + 3840 + 1280 + 1280 + 3 * (1280 + 3420)) + 16 * (5120 + 5120 + 5120 + 2048);
  CHECK(idle.trained == parameters{text});
  CHECK(idle.gpu[row::adapters] == bytes{4 * (text + beside) + 32 * 3 * 256});  // a matrix of 16 and 3,420 fills 427.5 blocks of 512 bytes
  CHECK(idle.gpu[row::gradients] == bytes{4 * text});
  CHECK(idle.gpu[row::optimizer_state] == bytes{8 * text});
  qwen.batch.images = {.width = 448, .height = 448};
  CHECK(why(qwen).empty());
  qwen.model = models::llama_3_2_1b;
  qwen.batch.images = {};
  CHECK(why(qwen).find("the model has no tower beside its text") != std::string::npos);
  qwen.model = models::gemma_3_4b;
  CHECK(why(qwen).find("this model's projector is a parameter and no linear layer") != std::string::npos);
  qwen.adapter.targets.bits &= ~module_set::bit(module::projector);
  CHECK(why(qwen).empty());
}

// By hand, as above: where v_proj alone has an adapter, frozen matrices keep nothing they read, so that of a layer what the second norm and the activation's product
// left is gone, and one A keeps `rank` numbers; what v reads stays, as all three projections read one tensor.
TEST_CASE("adapters of some matrices of a tower, and of one of a projector's two layers") {
  constexpr std::int64_t rank = 4, tokens = samples * images * patches;
  auto j = small_job();
  const auto with = [&](module_set targets, module_set vision, module_set joint_part) {
    targets |= module_set{module::q_proj};
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = targets, .format = formats::bf16, .vision_targets = vision, .projector_targets = joint_part};
    return tower_of(j);
  };
  auto t = with({module::vision}, {module::v_proj}, {});
  CHECK(t.gradients == bytes{2 * layers * rank * 2 * width});
  CHECK(t.saved.total == bytes{layers * seen * (of_layer - 2 * width - 2 * ffn + 2 * rank) + seen * (2 * width + 4) + tokens * 2 * hidden});
  CHECK(states(j).trained == parameters{rank * (layers * 2 * width + j.model.layers * (hidden + j.model.query_width()))});
  t = with({module::vision}, {module::down_proj}, {});
  CHECK(t.gradients == bytes{2 * layers * rank * (width + ffn)});
  CHECK(t.saved.total == bytes{layers * seen * (of_layer - 2 * 2 * width + 2 * rank) + seen * (2 * width + 4) + tokens * 2 * hidden});
  t = with({module::projector}, {}, {module::down_proj});  // in front of it nothing trains
  CHECK(t.gradients == bytes{2 * rank * 2 * hidden});
  CHECK(t.saved.total == bytes{tokens * (2 * hidden + 2 * rank)});
  t = with({module::projector}, {}, {module::up_proj});
  CHECK(t.gradients == bytes{2 * rank * (width + hidden)});
  CHECK(t.saved.total == bytes{tokens * (2 * width + 2 * hidden + 2 * rank)});
  // All that a layer has, one by one, is all.
  const auto all = with({module::vision}, {}, {});
  CHECK(with({module::vision}, {module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::up_proj, module::down_proj}, {}).saved.total == all.saved.total);
  const auto why = [](const job& of) { const auto no = objection_to(of); return no ? std::string{no.sentence} : std::string{}; };
  j.batch.images = {.count = 1};
  CHECK(why(j).empty());
  j.adapter.vision_targets = {module::gate_proj};  // a plain MLP has none
  CHECK(why(j).find("may name what the model's tower and projector have") != std::string::npos);
  j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = all_linear, .vision_targets = {module::v_proj}};
  CHECK(why(j).find("adapter.vision_targets needs vision in adapter.targets") != std::string::npos);
}

TEST_CASE("what a tower adds to an estimate") {
  auto j = small_job();
  auto blind = j;
  blind.model.vision = {};
  CHECK(estimate(j).ranks[0].allocated > estimate(blind).ranks[0].allocated);
  auto more = j;
  more.model.vision.slices = 2 * images;
  CHECK(estimate(more).ranks[0].allocated > estimate(j).ranks[0].allocated);
  auto frozen = j;
  frozen.trainable = {{.modules = all_linear}};
  CHECK(estimate(frozen).ranks[0].allocated < estimate(j).ranks[0].allocated);
  auto larger = j;
  larger.model.vision.layers = 2 * layers;
  CHECK(estimate(larger).ranks[0].allocated > estimate(j).ranks[0].allocated);
  j.model.vision.image = 0;
  CHECK_THROWS_AS(estimate(j), job_error);
}

// MiniCPM-V (slice_config): nine slices of 448 × 448 pixels and the whole image, 1,024 patches each, whatever the position table holds.
TEST_CASE("slices of MiniCPM-V") {
  constexpr auto v = [] {
    vision_shape s = models::minicpm_v_2_6.vision;
    s.slices = 9;
    return s;
  }();
  BOTH(v.image == 980);
  BOTH(patches_of_tile(v) == 1024);
  BOTH(tiles(v) == 10);
}

// ViTForImageClassification: 196 patches and a class token through the main stack, the class token's row to a classifier.
TEST_CASE("a ViT reads patches itself") {
  auto j = small_job();
  j.model = models::vit_base_patch16_224;
  j.precision = precisions::fp32;
  j.batch = {.micro = 4, .sequence = 1};
  const auto s = settle(j);
  CHECK(s.layer.sequence == 197);
  CHECK(s.layer.tokens == 4 * 197);
  auto sc = s.layer;
  sc.model = &s.model;
  constexpr std::int64_t seen_patches = 4 * 196, h = 768;
  const auto front = patch_embedding(sc, trained_modules(j, -1));
  CHECK(walk_forward(front).saved == bytes{4 * seen_patches * 3 * 16 * 16});  // pixels for the convolution
  CHECK(walk_backward(front).weight_gradients == bytes{4 * (h * 3 * 256 + 2 * h + 197 * h)});
  const auto head = walk_forward(encoder_head(sc, trained_modules(j, -1), true)).saved;
  CHECK(head == bytes{4 * 197 * (4 * h + 8) + 4 * 197 * 4 * h + 4 * 4 * 1000 + 4});
  const auto r = estimate(j);
  CHECK(r.ranks[0].allocated > bytes{16 * count(j.model).total.count()});
  j.batch.sequence = 512;  // not a text: its length means nothing
  CHECK(estimate(j).ranks[0].allocated == r.ranks[0].allocated);
}

TEST_CASE("a tower's checkpoints go to the host with the others") {
  auto j = small_job();
  j.recompute = recompute::full;
  const auto here = estimate(j);
  j.offload.activations = place::on_cpu;
  const auto there = estimate(j);
  CHECK(there.host.per_node - here.host.per_node <= bytes{layers * seen * 2 * width + 2 * samples * 128 * 2 * hidden});
  CHECK(tower_of(j).checkpoints == bytes{layers * seen * 2 * width});
  j.trainable = {{.modules = {module::projector}}};
  CHECK(tower_of(j).checkpoints == 0_B);
}

}  // namespace test_towers
