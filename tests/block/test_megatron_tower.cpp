// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's LLaVA (pretrain_vlm.py), counted by hand from its modules: parameters of a rank, and what a tower's layer and its ends keep for backward.
// Sources: Megatron-LM core/models/vision/clip_vit_model.py, multimodal_projector.py, core/models/multimodal/llava_model.py; TransformerEngine
// pytorch/softmax.py forward_torch_softmax.
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace test_megatron_tower {

using namespace headroom;

namespace {

/// The functional tests' model as a job file has it: 12 layers twice, images of 24 × 24 patches.
job llava(std::int64_t hidden, std::int64_t heads, std::int64_t tensor, std::int64_t context, std::int64_t sequence, std::int64_t micro) {
  const auto h = std::to_string(hidden), n = std::to_string(heads), i = std::to_string(4 * hidden), t = std::to_string(tensor);
  return io::read_job(io::json_value::parse(R"({"model": {"layers": 12, "hidden": )" + h + R"(, "heads": )" + n + R"(, "ffn": )" + i + R"(, "mlp": "plain", "activation": "gelu", "norm": "layernorm",
    "norm_bias": true, "attention_bias": true, "output_bias": true, "mlp_bias": true, "position": "learned", "max_positions": 1024, "vocab": 8193, "vocab_multiple": 128, "tied": true,
    "vision": {"kind": "clip", "layers": 12, "hidden": )" + h + R"(, "heads": )" + n + R"(, "ffn": )" + i + R"(, "patch": 14, "image": 336, "tokens": 577, "projector": "mlp"}},
    "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": )" + std::to_string(tensor * context) + R"(}, "framework": {"name": "megatron", "options": {"no-gradient-accumulation-fusion": true, "deterministic-mode": true, "training-script": "pretrain_vlm.py"}},
    "parallel": {"data": 1, "tensor": )" + t + R"(, "sequence": )" + (tensor > 1 ? "true" : "false") + R"(, "context": )" + std::to_string(context) + R"(},
    "batch": {"micro": )" + std::to_string(micro) + R"(, "sequence": )" + std::to_string(sequence) + R"(}, "attention": "te"})"), io::no_files);
}
std::int64_t weights_of_a_rank(const job& j) {
  const auto s = settle(j);
  return detail::weights_of_stage(s, weights_of(s.model), 0).dense.count();
}
/// A block of the allocator for so many bytes.
std::int64_t block(std::int64_t size) { return (size + 511) / 512 * 512; }

}  // namespace

// The language model: 12 × (12 · 624² + 13 · 624), 8320 rows of 624 twice (8193 padded to 128), for LLaVAModel shares them by no default, 1601 positions, a norm: 67,551,120.
// The tower: 624 · 3 · 14², a class token, 577 positions, a norm in front and 12 layers: 56,896,320. The projector: a norm, 2 · 624 · 2496 + 2496 + 624: 3,119,376.
TEST_CASE("LLaVA's weights: a tower without a norm at its end, a projector with one in front, and a head of its own") { CHECK(weights_of_a_rank(llava(624, 12, 1, 1, 1601, 4)) == 127'566'816); }

// Tensor parallelism divides matrices and what is added behind column-parallel ones; norms, positions, patches, class token and 4 · 12 + 1 other biases are whole.
TEST_CASE("a tower's layers and its projector are divided by tensor parallelism") {
  const std::int64_t h = 1024, layer = 12 * h * h + 13 * h, whole_of_layer = 6 * h;
  const std::int64_t rows = 8704;  // 8193 padded to 128 for each of 4 ranks
  const std::int64_t divided = 24 * (layer - whole_of_layer) + 2 * rows * h + 8 * h * h + 4 * h;
  const std::int64_t whole = 24 * whole_of_layer + 1808 * h + 2 * h + h * 3 * 196 + h + 577 * h + 2 * h + 2 * h + h;
  CHECK(weights_of_a_rank(llava(1024, 16, 4, 2, 1808, 1)) == divided / 4 + whole);
}

// 577 keys are no multiple of 8, and heads 52 wide have no flash kernel: the softmax is torch's, whose fp32 probabilities (4 bytes a score) stay beside the
// copy in 16 bits that is multiplied with the values. No dropout.
TEST_CASE("a tower's layer over an odd number of patches keeps six bytes of every score") {
  const std::int64_t T = 4 * 577, h = 624, scores = 4 * 12 * 577 * 577, x = block(2 * T * h), statistics = block(8 * T), wide = block(2 * T * 4 * h);
  const auto layers = walk_divided_layers(settle(llava(624, 12, 1, 1, 1601, 4)));
  CHECK(layers.encoder.saved.total.count() == 5 * x + 2 * statistics + block(2 * T * 3 * h) + 2 * wide + block(4 * scores) + block(2 * scores));
  // Pixels, the norm's input in front; behind, the projector's norm with its result, and both sides of its activation.
  CHECK(layers.encoder_norm.saved.total.count() == block(2 * 4 * 3 * 336 * 336) + 3 * x + 2 * statistics + 2 * wide);
}

// 1024 keys have the fused kernel, which keeps 2 bytes a score.
TEST_CASE("a sequence that the fused softmax takes keeps two bytes of every score") {
  const auto saved = [](std::int64_t sequence) { return walk_divided_layers(settle(llava(624, 12, 1, 1, sequence, 4))).whole[0].saved.total.count(); };
  const std::int64_t T = 4 * 1024, h = 624, scores = 4 * 12 * 1024 * 1024;
  CHECK(saved(1024) == 32 * T * h + 16 * T + 2 * scores);
  const std::int64_t more = 4 * 1028, all = 4 * 12 * 1028 * 1028;  // a multiple of 4, and not of 8
  CHECK(saved(1028) == 5 * block(2 * more * h) + block(6 * more * h) + 2 * block(8 * more * h) + 2 * block(8 * more) + block(4 * all) + block(2 * all) + block(1028 * 1028));
}

// The language model's layer, in backward of its softmax: the probabilities, their gradient, the product of both and what is returned, all in fp32, beside the causal mask,
// q, k and v in one, the norm's input, result and statistics, and the stream's gradient.
TEST_CASE("torch's softmax holds four tensors of scores in backward") {
  const std::int64_t T = 4 * 1601, h = 624, scores = 4 * 12 * 1601 * 1601, x = block(2 * T * h);
  const auto layers = walk_divided_layers(settle(llava(624, 12, 1, 1, 1601, 4)));
  CHECK(layers.whole[0].backward.total.count() == 4 * block(4 * scores) + block(1601 * 1601) + block(6 * T * h) + 3 * x + block(8 * T));
}

// A ring divides the language model's tokens, and not the tower's.
TEST_CASE("context parallelism leaves a tower whole") {
  const auto saved = [](std::int64_t context) { return walk_divided_layers(settle(llava(1024, 16, 4, context, 1808, 1))).encoder.saved.total; };
  CHECK(saved(2) == saved(1));
}


/// Whether a job is refused with a sentence that has `words`.
bool says(const job& j, std::string_view words) {
  const auto why = objection_to(j);
  return why && std::string_view(why.sentence).find(words) != std::string_view::npos;
}
template <class Change>
job but(const Change& change) {
  auto j = llava(624, 12, 1, 1, 1601, 4);
  change(j);
  return j;
}

TEST_CASE("what a tower of Megatron's own layers is not modelled with is refused") {
  CHECK_FALSE(objection_to(but([](job&) {})));
  CHECK_FALSE(objection_to(llava(1024, 16, 4, 2, 1808, 1)));
  CHECK(says(but([](job& j) { j.parallel.pipeline = j.hardware.gpus_per_node = 2; }), "in one pipeline stage"));
  CHECK(says(but([](job& j) { j.recompute.mode = recompute_mode::full; }), "recompute and offloaded activations"));
  CHECK(says(but([](job& j) { j.framework.modules.kind = layer_modules::megatron_local; }), "transformer-impl must not be local"));
  CHECK(says(but([](job& j) { j.model.vision.tokens = 578; }), "at most the patches of an image and its class token"));
  CHECK(says(but([](job& j) { j.model.vision.projector_hidden = 0; }), "with a projector_hidden"));
  CHECK(says(but([](job& j) { j.trainable = {{.modules = {module::projector}}}; }), "trainable and adapter must be left out"));
  auto hopper = llava(1024, 16, 4, 2, 1808, 1);
  hopper.hardware.gpu = gpus::h100_sxm_80gb;
  CHECK(says(hopper, "before Hopper alone"));
}

// pretrain_vlm.py model_provider: vision_transformer_config and vision_projection_config are deep copies of language_transformer_config.
TEST_CASE("a tower of Megatron's own layers that is not built as the language model's layers are is refused") {
  constexpr auto layers = "own layers, which are the language model's", widths = "with the language model's widths";
  CHECK(says(but([](job& j) { j.model.mlp = mlp_kind::gated; }), layers));
  CHECK(says(but([](job& j) { j.model.norm = norm_kind::rmsnorm, j.model.norm_bias = false; }), layers));
  CHECK(says(but([](job& j) { j.model.norm_bias = false; }), layers));
  CHECK(says(but([](job& j) { j.model.attention_bias = false; }), layers));
  CHECK(says(but([](job& j) { j.model.output_bias = false; }), layers));
  CHECK(says(but([](job& j) { j.model.mlp_bias = false; }), layers));
  CHECK(says(but([](job& j) { j.model.activation = activation_kind::relu; }), layers));
  CHECK(says(but([](job& j) { j.model.kv_heads = 4; }), layers));
  CHECK(says(but([](job& j) { j.model.qk_norm = true; }), layers));
  CHECK(says(but([](job& j) { j.model.vision.hidden = 1248; }), widths));
  CHECK(says(but([](job& j) { j.model.vision.heads = 6; }), widths));
  CHECK(says(but([](job& j) { j.model.vision.ffn = 4096; }), widths));
  CHECK(says(but([](job& j) { j.model.vision.projector_hidden = 4096; }), widths));
  CHECK(says(but([](job& j) { j.model.head_dim = 64; }), widths));
}

TEST_CASE("a tower of Megatron's own layers has layers, whole patches and a position for each") {
  CHECK(says(but([](job& j) { j.model.vision.layers = 0; }), "must be at least 1"));
  CHECK(says(but([](job& j) { j.model.vision = {.kind = vision_kind::megatron_clip}; }), "must be at least 1"));
  CHECK(says(but([](job& j) { j.model.vision.image = 340; }), "multiples of patch"));
  CHECK(says(but([](job& j) { j.model.vision.image_height = 200; }), "multiples of patch"));
  CHECK(says(but([](job& j) { j.model.vision.positions = 576; }), "for each patch and for the class token"));
  CHECK(says(but([](job& j) { j.model.vision.output = 1024; }), "delivers the language model's width"));
  CHECK_FALSE(objection_to(but([](job& j) { j.model.vision.image_height = 168, j.model.vision.positions = 289, j.model.vision.tokens = 0; })));
}

// 577 tokens of each image: two fit in 1601 positions, and three do not.
TEST_CASE("the images of a sample must fit into its sequence, and have the size that the tower reads") {
  CHECK_FALSE(objection_to(but([](job& j) { j.batch.images.count = 2; })));
  CHECK(says(but([](job& j) { j.batch.images.count = 3; }), "must hold the tokens of a sample's images"));
  CHECK(objection_to(but([](job& j) { j.batch.images.count = 3; })).found == 1731);
  CHECK(says(but([](job& j) { j.batch.images.width = j.batch.images.height = 672; }), "images of one size"));
  CHECK(image_tokens(llava(624, 12, 1, 1, 1601, 4).model.vision) == 577);
  CHECK(image_tokens({.kind = vision_kind::megatron_clip, .projector = projector_kind::norm_mlp, .patch = 14, .image = 336, .tokens = 576}) == 576);
  CHECK(image_tokens({.kind = vision_kind::megatron_clip, .projector = projector_kind::norm_mlp, .patch = 14, .image = 336}) == 577);
}

TEST_CASE("Megatron's own tower runs in Megatron's own layers alone, and its projector's width is its own") {
  for (const auto& f : {frameworks::hf_trainer, frameworks::deepspeed, frameworks::megatron_deepspeed, frameworks::gpt_neox})
    CHECK(std::string(objection_to(but([&](job& j) {
                        j.framework = f;
                        j.sharding = f.modules.deepspeed() ? zero(1) : sharding{};
                        j.attention = attention::unset;
                      })).sentence).find("framework must be megatron") != std::string::npos);
  job internvl{.model = models::llama_7b, .hardware = {.gpu = gpus::a100_sxm_80gb}, .batch = {.micro = 1, .sequence = 1024}};
  internvl.model.vision = {.kind = vision_kind::intern_vit, .projector = projector_kind::norm_mlp, .layers = 2, .hidden = 1024, .heads = 16, .ffn = 4096, .patch = 14, .image = 448, .positions = 1025, .merge = 2};
  CHECK_FALSE(objection_to(internvl));
  internvl.model.vision.projector_hidden = 4096;
  CHECK(says(internvl, "is as wide inside as what it delivers"));
}

// A sequence holds 577 tokens of the image; positions end at 1601. Where a table is shorter than an image, no sequence can be tried.
TEST_CASE("a sequence is solved for from the tokens of Megatron's image on") {
  auto j = llava(624, 12, 1, 1, 1601, 4);
  CHECK(unknowns::sequence.first(j) == 577);
  CHECK(solve(j, unknowns::sequence).value == 1601);
  j.model.max_positions = 500;
  CHECK_THROWS_WITH_AS(solve(j, unknowns::sequence), doctest::Contains("model.max_positions"), job_error);
  CHECK_THROWS_WITH_AS(solve(j, unknowns::sequence), doctest::Contains("577"), job_error);
}

// The projector's two matrices: 577 tokens of each of 4 samples, 624 to 2496 and back.
TEST_CASE("the projector multiplies as many tokens as it delivers, in the width that it has inside") {
  double flops = 0;
  detail::for_each_projector_matrix(llava(624, 12, 1, 1, 1601, 4).model, 4, [&](const detail::side_matrix& one) { flops += one.flops(); });
  CHECK(flops == 4.0 * 577 * 2 * 2 * 624 * 2496);
}

// TransformerEngine's get_attention_backend: "Disabling UnfusedDotProductAttention as it does not support context parallelism".
TEST_CASE("heads that no kernel takes go without context parallelism") {
  job j{.model = models::llama_7b, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 2}, .framework = frameworks::megatron, .parallel = {.context = 2}, .batch = {.micro = 1, .sequence = 1024}};
  j.attention = attention::te;
  CHECK_FALSE(objection_to(j));
  j.model.head_dim = 52;
  CHECK(says(j, "no multiple of 8"));
  j.parallel.context = 1;
  CHECK_FALSE(objection_to(j));
}

}  // namespace test_megatron_tower
