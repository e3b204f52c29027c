// Distributed under the Boost Software License, Version 1.0.
// Towers whose images share one sequence, or have positions sampled for them: counted by hand from transformers' models/pixtral and models/glm4v.
#include <headroom/headroom.hpp>

#include "../both.hpp"

namespace test_more_towers {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::int64_t hidden = 64, width = 32, ffn = 80, layers = 3, images = 2, samples = 2, side = 4, patch = 14, heads = 4;
constexpr std::int64_t rows = samples * images * side * side;

job small_job(vision_kind kind, projector_kind projector) {
  job j;
  j.model = {.layers = 2, .hidden = hidden, .heads = 4, .ffn = 96, .vocab = 100};
  j.model.vision = {.kind = kind, .projector = projector, .layers = layers, .hidden = width, .heads = heads, .ffn = ffn, .patch = patch, .image = side * patch, .merge = 2, .slices = images};
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

// An RMSNorm keeps its input in fp32, the root of its mean in fp32, and what its weight multiplies; its result is kept by the matrix behind it.
constexpr std::int64_t normed = 4 * width + 4 + 2 * width, read = 2 * width;
// A gated MLP: the gate and its SiLU, the other matrix's result, their product.
constexpr std::int64_t gated = 4 * 2 * ffn;

}  // namespace

// PixtralAttentionLayer: q and k turned, v, the result, a log-sum-exp of each head. All images are one sequence, and one mask of all its pairs, in bf16,
// stays for all layers. Pixels lie apart; a norm in front, none behind; Mistral 3's norm, and a row of four patches through three matrices.
TEST_CASE("Pixtral's tower reads the images of a batch as one sequence") {
  const auto j = small_job(vision_kind::pixtral, projector_kind::patch_merger);
  constexpr std::int64_t layer = normed + read + 3 * read + read + 4 * heads + normed + read + gated;
  constexpr std::int64_t pixels = rows * 3 * patch * patch * 2, joint = rows * normed + rows / 4 * (4 * 2 * width + 2 * width + 2 * hidden + 2 * hidden);
  constexpr std::int64_t mask = rows * rows * 2;
  const auto t = tower_of(j);
  CHECK(t.saved.total == bytes{layers * rows * layer + pixels + rows * normed + mask + joint});
  const auto c = count(j.model);
  CHECK(t.gradients == bytes{2 * (c.of(component::vision) + c.of(component::projector)).count()});
  auto flash = j;  // told by positions where an image ends
  flash.attention = attention::flash;
  CHECK(tower_of(flash).saved.total == t.saved.total - bytes{mask});
  auto full = j;
  full.recompute = recompute::full;
  full.recompute.reentrant = choice::no;
  CHECK(tower_of(full).saved.total == bytes{layers * (rows * read + 5056) + pixels + rows * normed + mask + joint});
  // A sequence of 36 × 3 patches is no multiple of eight: the kernel has each mask in rows of its own, one for each layer.
  auto odd = j;
  odd.model.vision.image = 6 * patch, odd.model.vision.slices = 3, odd.batch.micro = 1;
  auto even = odd;
  even.model.vision.slices = 2;
  constexpr std::int64_t of_row = layers * layer + 3 * patch * patch * 2 + 2 * normed + (4 * 2 * width + 2 * width + 2 * hidden + 2 * hidden) / 4;
  CHECK(tower_of(even).saved.total == bytes{72 * of_row + 72 * 72 * 2});
  CHECK(tower_of(odd).saved.total == bytes{108 * of_row + (1 + layers) * 108 * 108 * 2});
}

TEST_CASE("of a tower checkpoints wait in host memory where its layers train and are computed again") {
  auto j = small_job(vision_kind::pixtral, projector_kind::patch_merger);
  CHECK(tower_of(j).checkpoints == 0_B);
  j.offload.activations = place::on_cpu;
  CHECK(tower_of(j).checkpoints == 0_B);
  j.recompute = recompute::full;
  CHECK(tower_of(j).checkpoints == bytes{layers * rows * 2 * width});
  j.trainable = {{.modules = {module::q_proj}}};
  CHECK(tower_of(j).checkpoints == 0_B);
}

TEST_CASE("a frozen Pixtral tower keeps nothing, and has its mask for a moment") {
  auto j = small_job(vision_kind::pixtral, projector_kind::patch_merger);
  j.model.vision.patch = 2, j.model.vision.image = 2 * side;  // so that pixels are not the tallest
  j.trainable = {{.modules = {module::q_proj}}};
  CHECK(tower_of(j).saved.total == 0_B);
  const auto with = tower_of(j).forward.total;
  j.attention = attention::flash;
  const auto without = tower_of(j).forward.total;
  CHECK(with - without == bytes{rows * rows * 2});
}

// Qwen2_5_VLVisionAttention: a flash kernel is told where images begin. Without one each image attends by itself since transformers 4.54 (25343aafee), and
// what its calls give is joined by a copy that the projection behind it reads. Up to 4.53 all images were one sequence behind a mask that each layer made.
TEST_CASE("Qwen-VL's towers join their images by a copy, and had a mask in each layer before that") {
  for (const auto kind : {vision_kind::qwen2_vl, vision_kind::qwen2_5_vl, vision_kind::qwen3_vl}) {
    auto j = small_job(kind, projector_kind::patch_merger);
    if (kind == vision_kind::qwen3_vl) j.model.vision.positions = 16;
    auto flash = j;
    flash.attention = attention::flash;
    const auto kept = tower_of(flash).saved.total;
    CHECK(tower_of(j).saved.total - kept == bytes{layers * rows * read});
    j.framework = *frameworks::find("libtorch", 202410);
    CHECK(tower_of(j).saved.total - kept == bytes{layers * rows * rows * 2});
    // Nothing of either is kept where the tower does not train; then one mask stands at a time.
    j.trainable = {{.modules = {module::q_proj}}};
    CHECK(tower_of(j).saved.total == 0_B);
  }
}

// Glm4vVisionBlock: v lies in the projection's result, of three widths; what attention gives of each image is joined by a copy. In front a norm, and positions
// of a table in fp32 at places of 8 bytes; behind a norm, a convolution over four patches, and Glm4vVisionPatchMerger.
TEST_CASE("GLM-4V's tower, and what joins it to the language model") {
  auto j = small_job(vision_kind::glm4v, projector_kind::glm_merger);
  auto& v = j.model.vision;
  constexpr std::int64_t inner = 48, positions = 9;
  v.projector_hidden = inner, v.positions = positions, v.temporal_patch = 2, v.output = hidden;
  constexpr std::int64_t layer = normed + read + 2 * read + 3 * read + read + 4 * heads + read + normed + read + gated;
  constexpr std::int64_t front = rows * (3 * 2 * patch * patch * 2 + normed + 8) + positions * width * 4, last = rows * (normed + read);
  constexpr std::int64_t merger = rows / 4 * (2 * hidden + (2 * hidden + 4) + 2 * hidden + 2 * hidden + 4 * 2 * inner);
  const auto t = tower_of(j);
  CHECK(t.saved.total == bytes{layers * rows * layer + front + last + merger});
  const auto c = count(j.model);
  CHECK(t.gradients == bytes{2 * (c.of(component::vision) + c.of(component::projector)).count()});
  CHECK(image_tokens(v) == images * side * side / 4);
  // Of the tower: patches of two frames with biases, positions; of a layer four matrices, three of the MLP, two norms; two norms; the convolution and its bias.
  CHECK(c.of(component::vision).count() == width * 6 * patch * patch + width + positions * width + layers * (4 * width * width + 3 * width * ffn + 2 * width) + 2 * width + 4 * width * hidden + hidden);
  CHECK(c.of(component::projector).count() == hidden * hidden + 2 * hidden + 3 * hidden * inner);
  auto flash = j;
  flash.attention = attention::flash;
  CHECK(tower_of(flash).saved.total == t.saved.total - bytes{layers * rows * read});
  auto full = j;
  full.recompute = recompute::full;
  full.recompute.reentrant = choice::no;
  CHECK(tower_of(full).saved.total == bytes{layers * (rows * read + 5056) + front + last + merger});
  auto joint = j;  // the convolution is the tower's
  joint.trainable = {{.modules = {module::projector, module::q_proj}}};
  CHECK(tower_of(joint).saved.total == bytes{merger});
  auto frozen = j;
  frozen.trainable = {{.modules = {module::q_proj}}};
  CHECK(tower_of(frozen).saved.total == 0_B);
  auto wide = j;  // the table is in fp32 itself
  wide.precision = precisions::fp32;
  CHECK(estimate(wide).peak() > estimate(j).peak());
}

// GlmOcrVisionBlock: norms over each head's q and k, 4 heads of 8 features, whose results are turned; nothing between patches and layers.
TEST_CASE("GLM-OCR's tower") {
  auto j = small_job(vision_kind::glm_ocr, projector_kind::glm_merger);
  auto& v = j.model.vision;
  constexpr std::int64_t inner = 3 * hidden;
  v.projector_hidden = inner, v.temporal_patch = 2, v.output = hidden;
  constexpr std::int64_t of_heads = 4 * width + 4 * heads + 2 * width;
  constexpr std::int64_t layer = normed + read + 2 * of_heads + 2 * read + 3 * read + read + 4 * heads + read + normed + read + gated;
  constexpr std::int64_t merger = rows / 4 * (2 * hidden + (2 * hidden + 4) + 2 * hidden + 2 * hidden + 4 * 2 * inner);
  CHECK(tower_of(j).saved.total == bytes{layers * rows * layer + rows * 3 * 2 * patch * patch * 2 + rows * (normed + read) + merger});
  const auto c = count(j.model);
  CHECK(c.of(component::vision).count() == width * 6 * patch * patch + width + layers * (4 * width * width + 4 * width + 3 * width * ffn + 2 * ffn + width + 2 * width + 2 * width / heads) + width + 4 * width * hidden + hidden);
  CHECK(tower_of(j).gradients == bytes{2 * (c.of(component::vision) + c.of(component::projector)).count()});
  j.trainable = {{.modules = {module::q_proj}}};
  CHECK(tower_of(j).saved.total == 0_B);
}

// Glm4vTextAttention: cosines and sines of each sample, half of each head's features, repeated for pairs in every layer; GLM-4's are of one sequence.
TEST_CASE("GLM-4V numbers the positions of each sample") {
  auto j = small_job(vision_kind::glm4v, projector_kind::glm_merger);
  j.model.rotary = rotary_kind::pairs, j.model.rotary_percent = 50;
  j.model.vision.projector_hidden = 48;
  const auto of_table = [&] {
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    program p(sc.granule);
    (void)ops::rotary_tables(p, sc);
    return p.elements(tensor::at(0));
  };
  CHECK(of_table() == samples * 128 * (hidden / 4 / 2));
  j.model.vision = {};
  CHECK(of_table() == 128 * (hidden / 4 / 2));
}

TEST_CASE("images in front of GLM-4V's tower") {
  auto j = small_job(vision_kind::glm4v, projector_kind::glm_merger);
  auto& v = j.model.vision;
  v.image = 0, v.slices = 0, v.projector_hidden = 48, v.positions = 576, v.output = hidden;
  const auto tokens = [&](std::int64_t wide, std::int64_t high) { return image_tokens(seen(v, {.width = wide, .height = high})); };
  CHECK(tokens(1280, 720) == 46 * 26);  // round(1280 / 28) and round(720 / 28)
  CHECK(tokens(56, 56) == 9);           // 112 × 112 pixels of two frames: 3,136 become 6,272 at least
  CHECK(tokens(14, 280) == 20);         // first 28 × 560
  j.batch.images = {.width = 4000, .height = 3000};
  CHECK_THROWS_WITH_AS((void)estimate(j), doctest::Contains("batch.images.max_pixels must say what GLM-4V's processor leaves"), job_error);
  CHECK(image_tokens(seen(v, {.width = 4000, .height = 3000, .max_pixels = 4'816'896})) == 90 * 67);  // 4000 / 1.5783 / 28, 3000 / 1.5783 / 28
}

TEST_CASE("LLaVA-OneVision's tiles") {
  vision_shape v = {.kind = vision_kind::siglip, .projector = projector_kind::mlp, .layers = 26, .hidden = 1152, .heads = 16, .ffn = 4304, .patch = 14, .image = 384, .positions = 729, .newline = true, .grid = 6};
  const auto cut = [&](std::int64_t wide, std::int64_t high, std::int64_t count) { return tiles(seen(v, {.count = count, .width = wide, .height = high})); };
  CHECK(cut(384, 384, 1) == 2);     // one tile, and the image as a whole
  CHECK(cut(768, 384, 1) == 3);
  CHECK(cut(1920, 1080, 1) == 16);  // 5 × 3 tiles keep all of it
  CHECK(cut(5000, 5000, 1) == 37);
  CHECK(cut(1920, 1080, 3) == 3);   // of several images each is one tile
}

// On paper, by processing_llava_onevision.py: patches of a tile's edge are 384 / 14 = 27.
TEST_CASE("tokens of tiles that are cut to the image") {
  vision_shape v = {.kind = vision_kind::siglip, .projector = projector_kind::mlp, .layers = 26, .hidden = 1152, .heads = 16, .ffn = 4304, .patch = 14, .image = 384, .positions = 729, .newline = true, .grid = 6};
  const auto tokens = [&](std::int64_t wide, std::int64_t high, std::int64_t count = 1) { return tokens_in_sequence(v, {.count = count, .width = wide, .height = high}); };
  CHECK(tokens(384, 384) == 729 + 27 + 729);
  CHECK(tokens(768, 384) == 54 * 27 + 27 + 729);
  CHECK(tokens(2304, 2304) == 81 * 81 + 81 + 729);    // 162 x 162 are twice as wide as nine tiles
  CHECK(tokens(1920, 1080) == 108 * 60 + 60 + 729);   // 135 x 81, of which 75 rows are the image's; their root over nine tiles' is 1.242
  CHECK(tokens(1080, 1920) == 60 * 108 + 108 + 729);
  CHECK(tokens(1920, 1080, 3) == 3 * (729 + 1));
  CHECK(tokens_in_sequence(v, {.count = 1}) == 729);
  // LLaVA-NeXT's grid of 2 x 2 tiles: the 2,928 tokens that its largest image has.
  v.image = 336, v.grid = 0, v.positions = 577, v.slices = 5;
  CHECK(tokens(672, 672) == 2928);
  CHECK(tokens(672, 672, 2) == 2 * 2928);
  CHECK(tokens_in_sequence(v, {.count = 2}) == 2 * 576);

  auto j = small_job(vision_kind::siglip, projector_kind::mlp);
  auto& t = j.model.vision;
  t.image = 384, t.merge = 1, t.slices = 0, t.positions = 729, t.newline = true, t.grid = 6;
  j.batch.images = {.width = 2304, .height = 2304};
  j.batch.sequence = 7370;
  const auto why = [&] { const auto no = objection_to(j); return no ? std::string{no.in_words().what()} : std::string{}; };
  CHECK(why().find("batch.sequence must hold the tokens of a sample's images; they are (found 7371)") != std::string::npos);
  CHECK(unknowns::sequence.first(j) == 7371);
  j.batch.sequence = 7371;
  CHECK(why().empty());
}

}  // namespace test_more_towers
