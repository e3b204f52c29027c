// Distributed under the Boost Software License, Version 1.0.
// Masks that torch's own attention reads in transformers' models, against arithmetic on paper from masking_utils.py of transformers 5.16: a boolean
// mask of a byte a pair is made once for each kind of layer, and each call makes what it adds to the scores of it, in the format of the queries.
#include <headroom/headroom.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

namespace test_attention_masks {

using namespace headroom;

namespace {

/// 4 heads of 16 features, 2 of keys and values; 2 samples of 64 tokens, on a CPU, where a tensor costs its bytes.
job windowed(std::int64_t window, std::int64_t full_layers) {
  job j;
  auto& m = j.model;
  m.layers = 12, m.hidden = 64, m.heads = 4, m.kv_heads = 2, m.head_dim = 16, m.ffn = 96, m.vocab = 4096, m.tied = true;
  m.sliding_window = window, m.full_layers = full_layers;
  j.hardware.gpu = gpus::cpu;
  j.framework = frameworks::hf_trainer;
  j.framework.autocast.over_16bit = false;
  j.precision = precisions::bf16;
  j.attention = attention::sdpa;
  j.batch = {.micro = 2, .sequence = 64};
  return j;
}

std::int64_t peak(const job& j) { return estimate(j).ranks[0].allocated.count(); }
std::int64_t masks(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return ops::model_masks(sc).count();
}

constexpr std::int64_t pairs = 64 * 64, tokens = 2 * 64;
/// What a layer keeps more: 2 bytes for each sample and pair, and keys and values of 4 heads instead of 2.
constexpr std::int64_t of_layer = 2 * pairs * 2 + 2 * tokens * 2 * 16 * 2;

}  // namespace

// Llama 4's layers with positions see chunks of 8,192 tokens, whose masks torch's attention reads from that length on; every fourth sees all.
TEST_CASE("Llama 4's chunks have a window's masks") {
  nlohmann::json c = {{"architectures", {"Llama4ForCausalLM"}}, {"model_type", "llama4_text"}, {"num_hidden_layers", 12}, {"hidden_size", 64}, {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 16}, {"intermediate_size", 32},
                      {"intermediate_size_mlp", 96}, {"vocab_size", 4096}, {"num_local_experts", 4}, {"attention_chunk_size", 64}};
  const auto of = [&] {
    const auto m = io::model_from_config(c);
    return std::pair{m.sliding_window, m.full_layers};
  };
  CHECK(of() == std::pair<std::int64_t, std::int64_t>{64, 3});
  c["no_rope_layers"] = {1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0};
  CHECK(of() == std::pair<std::int64_t, std::int64_t>{64, 3});
  c["no_rope_layers"] = {1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  CHECK(of() == std::pair<std::int64_t, std::int64_t>{64, 2});
  c["layer_types"] = {"chunked_attention", "full_attention", "chunked_attention", "full_attention", "full_attention", "chunked_attention", "chunked_attention", "chunked_attention", "chunked_attention", "chunked_attention", "chunked_attention", "full_attention"};
  CHECK(of() == std::pair<std::int64_t, std::int64_t>{64, 4});
  auto j = windowed(0, 0);
  const auto window = [&](std::int64_t positions) {
    c["attention_chunk_size"] = positions;
    j.model = io::model_from_config(c);
    return peak(j);
  };
  const auto plain = window(1024);
  CHECK(window(65) == plain);
  CHECK(window(64) == plain + 8 * of_layer);
  CHECK(window(16) == plain + 8 * of_layer);
  c["attention_chunk_size"] = nullptr;
  CHECK_THROWS(io::model_from_config(c));
  c.erase("attention_chunk_size");
  CHECK(io::model_from_config(c).sliding_window == 8192);
  CHECK(models::llama_4_scout.sliding_window == 8192);
  CHECK(models::llama_4_scout.full_layers == 48 / 4);
  CHECK(models::llama_4_scout.chunked);
  CHECK(io::model_from_config(c).chunked);
  c.erase("layer_types");
  c["no_rope_layers"] = nlohmann::json(std::vector<int>(13, 0));
  CHECK_THROWS_WITH_AS((void)io::model_from_config(c), doctest::Contains("config.no_rope_layers must be a list of 0 and 1, one for each of 12 layers, found [0,"), job_error);
}

TEST_CASE("layers behind a window keep what is added to their scores") {
  const auto plain = peak(windowed(0, 0));
  CHECK(peak(windowed(65, 0)) == plain);  // no sequence reaches it: is_causal
  CHECK(peak(windowed(64, 0)) == plain + 12 * of_layer);
  CHECK(peak(windowed(16, 0)) == plain + 12 * of_layer);
  CHECK(peak(windowed(16, 2)) == plain + 10 * of_layer);
  CHECK(peak(windowed(16, 6)) == plain + 6 * of_layer);
  CHECK(peak(windowed(16, 5)) == plain + 7 * of_layer);  // of 12: every second would be 6
  CHECK(peak(windowed(16, 12)) == plain);
  auto flash = windowed(16, 2);
  flash.attention = attention::flash;
  auto causal = windowed(0, 0);
  causal.attention = attention::flash;
  CHECK(peak(flash) == peak(causal));
}

TEST_CASE("a hundred and more layers behind windows of no even order") {
  auto j = windowed(16, 70);
  j.model.layers = 200;
  auto causal = j;
  causal.model.sliding_window = 0;
  CHECK(peak(j) == peak(causal) + 130 * of_layer);
}

// The model's mask of 8 samples stands beside what a layer makes of it and its keys and values of 4 heads instead of 2; where layers differ, two masks do.
TEST_CASE("an evaluation makes the masks of its own samples") {
  const auto tallest = [](std::int64_t window, std::int64_t full_layers, bool padded) {
    auto j = windowed(window, full_layers);
    j.model.ffn = 65'536;
    j.batch.padded = padded;
    j.evaluation = {.batch = 8, .loss_only = true};
    const auto r = estimate(j);
    return r.ranks[0][phase::evaluate].count();
  };
  const auto plain = tallest(0, 0, false);
  constexpr std::int64_t in_a_layer = 4 * of_layer;
  CHECK(tallest(16, 0, false) == plain + 8 * pairs + in_a_layer);
  CHECK(tallest(0, 0, true) == plain + 8 * pairs + in_a_layer);
  CHECK(tallest(16, 2, true) == plain + 2 * 8 * pairs + in_a_layer);
}

TEST_CASE("padding masks all layers") {
  auto causal = windowed(0, 0), near = windowed(16, 2);
  const auto plain = peak(causal);
  causal.batch.padded = near.batch.padded = true;
  CHECK(peak(causal) == plain + 12 * of_layer);
  CHECK(peak(near) == plain + 12 * of_layer);
  // One mask of each sample for each kind of layer, whether padded or not.
  CHECK(masks(causal) == 2 * pairs);
  CHECK(masks(near) == 2 * 2 * pairs);
  near.model.full_layers = 0;
  CHECK(masks(near) == 2 * pairs);
  near.batch.padded = false;
  CHECK(masks(near) == 2 * pairs);
  CHECK(masks(windowed(16, 2)) == 2 * pairs);
  CHECK(masks(windowed(0, 0)) == 0);
}

namespace {

/// The same with transformers of a date. Losses are computed alike.
job dated(job j, std::string_view label, std::int32_t date) {
  const bool autocast = j.framework.autocast.over_16bit;
  j.framework = *frameworks::find(label, date);
  j.framework.loss.shifts_logits = false;
  j.framework.autocast.over_16bit = autocast;
  return j;
}
/// Heads of 32 features, so that no two of the sizes below are equal.
job wide(std::int64_t window, std::int64_t full_layers) {
  auto j = windowed(window, full_layers);
  j.model.head_dim = 32;
  return j;
}
std::int64_t peak_of(std::int64_t window, std::int64_t full_layers, std::int32_t date) { return peak(dated(wide(window, full_layers), "hf-trainer", date)); }

constexpr std::int64_t one_mask = 2 * pairs * 2;              // two samples, two bytes: [2, 1, 64, 64] in bf16
constexpr std::int64_t key_heads = 2 * (2 * 64) * 2 * 32 * 2;  // of k and of v two heads more: 128 tokens x 64 features x 2 bytes each
constexpr std::int64_t result = (2 * 64) * 128 * 2;            // [2, 64, 4 x 32] in bf16

}  // namespace

// transformers 4.54 (2025-07-25) is the first with use_gqa_in_sdpa, 4.56 (2025-08-29) the first without contiguous(), which 4.48 (2025-01-10) began with: the
// kernel's result lies as q does, heads before positions, and what o_proj saves is a copy of what the kernel saves.
TEST_CASE("what torch's own attention keeps without a mask, by date") {
  const auto now = peak_of(0, 0, 202601);
  CHECK(peak_of(0, 0, 202508) == now);
  CHECK(peak_of(0, 0, 202507) == now + 12 * result);
  CHECK(peak_of(0, 0, 202506) == now + 12 * (result + key_heads));
  CHECK(peak_of(0, 0, 202503) == now + 12 * (result + key_heads));
  CHECK(peak_of(0, 0, 202501) == now + 12 * (result + key_heads));
  CHECK(peak_of(0, 0, 202412) == now + 12 * key_heads);
  for (const auto label : {"libtorch", "deepspeed"}) {
    const auto of = [&](std::int32_t date) { return peak(dated(wide(0, 0), label, date)); };
    CHECK(of(202507) == of(202508) + 12 * result);
    CHECK(of(202506) == of(202508) + 12 * (result + key_heads));
    CHECK(of(202412) == of(202508) + 12 * key_heads);
  }
  auto flash = wide(0, 0);
  flash.attention = attention::flash;
  CHECK(peak(dated(flash, "hf-trainer", 202412)) == peak(dated(flash, "hf-trainer", 202601)));
  CHECK(peak(dated(flash, "hf-trainer", 202506)) == peak(dated(flash, "hf-trainer", 202601)));
}

// Where a mask is read the kernel makes a layout of its own, so that nothing is copied behind it. Up to 4.52 the scores are added to the one mask of all
// layers, where it lies; since 4.53 (2025-06-26) each call makes and keeps what it adds.
TEST_CASE("masks of padding and of windows, by date") {
  for (const auto padded : {false, true}) {
    const auto of = [&](std::int32_t date) {
      auto j = wide(padded ? 0 : 16, 0);
      j.batch.padded = padded;
      return peak(dated(j, "hf-trainer", date));
    };
    const auto plain = peak_of(0, 0, 202601);
    CHECK(of(202506) == plain + 12 * (one_mask + key_heads));
    CHECK(of(202503) == plain + 12 * key_heads + one_mask);
    CHECK(of(202412) == plain + 12 * key_heads + one_mask);
  }
}

// Qwen2Model._update_causal_mask up to 4.52: one mask, which knows config.sliding_window, for layers that see all positions, too.
TEST_CASE("one mask for all layers of a window before 2025-06") {
  CHECK(peak_of(16, 6, 202503) == peak_of(16, 0, 202503));
  CHECK(peak_of(16, 12, 202503) == peak_of(16, 0, 202503));
  CHECK(peak_of(16, 6, 202506) == peak_of(16, 0, 202506) + 6 * (result - one_mask));  // without a mask the result is copied
  CHECK(peak_of(65, 6, 202503) == peak_of(0, 0, 202503));
}

// Gemma 2 and 3 and Cohere 2 up to 4.52: always a mask, and in each layer behind the window another one, made by torch.where of [2, 1, 64, 64], whether the
// sequence reaches the window or not.
TEST_CASE("Gemma's layers put their window into masks of their own before 2025-06") {
  const auto gemma = [](std::int64_t window, std::int64_t full_layers, std::int32_t date) {
    auto j = wide(window, full_layers);
    j.model.norm_offset = true;
    return peak(dated(j, "hf-trainer", date));
  };
  const auto plain = gemma(0, 0, 202601);
  CHECK(gemma(65, 6, 202601) == plain);
  CHECK(gemma(65, 6, 202503) == plain + 12 * key_heads + one_mask + 6 * one_mask);
  CHECK(gemma(64, 6, 202503) == gemma(65, 6, 202503));
  CHECK(gemma(16, 6, 202503) == plain + 12 * key_heads + one_mask + 6 * one_mask);
  CHECK(gemma(16, 2, 202503) == plain + 12 * key_heads + one_mask + 10 * one_mask);
}

// ModernBERT's local_attention is both sides together: layers 0, 3, … see all, those between reach 64 tokens to either side.
TEST_CASE("a window to both sides") {
  const auto of = [](std::int64_t window, std::int32_t date = 202608) {
    auto j = windowed(window, 0);
    j.model.bidirectional = true, j.model.global_every = 3;
    return peak(dated(j, "hf-trainer", date));
  };
  CHECK(of(130) == of(0));
  CHECK(of(128) == of(0) + 8 * of_layer);
  // Up to 4.52 both masks are made, whatever the batch is, and every layer reads one of them.
  CHECK(of(130, 202503) == of(0) + 12 * key_heads / 2 + 2 * one_mask);  // heads of 16 features
  CHECK(of(128, 202503) == of(0) + 12 * key_heads / 2 + 2 * one_mask);
}

namespace {

/// Scores written out; `masked`: by transformers, or by nobody.
job eager(job j, std::int32_t date, bool masked = true) {
  j = dated(j, "hf-trainer", date);
  j.attention = attention::eager;
  if (!masked) j.framework.attention.masks = sdpa_masks::none;
  return j;
}
std::int64_t height(const job& j, phase at) { return estimate(j).ranks[0][at].count(); }

}  // namespace

// masking_utils.py eager_mask, made of every sample, [2, 1, 64, 64] in the embeddings' format, one for each kind of layer; up to 4.52 one for all.
TEST_CASE("scores that are written out have a mask added, whatever the batch is") {
  CHECK(masks(eager(wide(0, 0), 202601)) == 2 * 4096 * 2);
  CHECK(masks(eager(wide(16, 0), 202601)) == 2 * 4096 * 2);
  CHECK(masks(eager(wide(16, 6), 202601)) == 2 * (2 * 4096 * 2));
  CHECK(masks(eager(wide(65, 6), 202601)) == 2 * (2 * 4096 * 2));  // although no sequence reaches the window
  CHECK(masks(eager(wide(16, 6), 202503)) == 2 * 4096 * 2);
  CHECK(masks(eager(wide(0, 0), 202301)) == 2 * 4096 * 2);
  CHECK(masks(eager(wide(0, 0), 202601, false)) == 0);
  auto mixed = eager(wide(0, 0), 202601);
  mixed.precision = precisions::bf16_autocast;  // embeddings in fp32
  CHECK(masks(mixed) == 2 * 4096 * 4);
  auto learned = wide(0, 0);
  learned.model.position = position_kind::learned, learned.model.max_positions = 64;
  CHECK(masks(eager(learned, 202503)) == 0);
  CHECK(masks(eager(learned, 202601)) == 2 * 4096 * 2);
  auto encoder = wide(0, 0);
  encoder.model.bidirectional = true;
  CHECK(masks(eager(encoder, 202601)) == 0);
}

// Adding saves nothing: the model names its mask until its forward ends. A checkpoint keeps it among its arguments.
TEST_CASE("a mask that is added lives through forward, and as long as checkpoints do") {
  for (const auto date : {202301, 202503, 202601})
    for (const bool recomputed : {false, true}) {
      auto j = wide(0, 0);
      if (recomputed) j.recompute = recompute::full;
      const auto more = [&](phase at) { return height(eager(j, date), at) - height(eager(j, date, false), at); };
      CHECK(more(phase::forward) == one_mask);
      CHECK(more(phase::backward) == (recomputed ? one_mask : 0));
      CHECK(more(phase::step) == 0);
    }
}

TEST_CASE("the tokens of a picture see each other") {
  const nlohmann::json sizes = {{"hidden_size", 64}, {"num_hidden_layers", 6}, {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 16}, {"intermediate_size", 96}, {"vocab_size", 4096}, {"sliding_window", 1024}};
  const nlohmann::json tower = {{"hidden_size", 32}, {"num_hidden_layers", 1}, {"num_attention_heads", 2}, {"intermediate_size", 48}, {"image_size", 28}, {"patch_size", 14}};
  auto j = windowed(0, 0);
  j.model = io::model_from_config({{"model_type", "gemma3"}, {"architectures", {"Gemma3ForConditionalGeneration"}}, {"text_config", sizes}, {"vision_config", tower}, {"mm_tokens_per_image", 4}});
  CHECK(masks(j) == 2 * pairs);  // none reaches the window: one kind alone
  j.batch.sequence = 1024;
  CHECK(masks(j) == 2 * 2 * 1024 * 1024);
}

TEST_CASE("which layers of Qwen stand behind a window") {
  const auto full = [](nlohmann::json c) {
    c.update({{"model_type", "qwen3"}, {"architectures", {"Qwen3ForCausalLM"}}, {"num_hidden_layers", 6}, {"sliding_window", 32}});
    const auto m = io::model_from_config(c);
    return std::pair{m.sliding_window, m.full_layers};
  };
  CHECK(full({}) == std::pair{std::int64_t{0}, std::int64_t{0}});
  CHECK(full({{"use_sliding_window", true}, {"max_window_layers", 4}}) == std::pair{std::int64_t{32}, std::int64_t{4}});
  CHECK(full({{"use_sliding_window", true}}) == std::pair{std::int64_t{32}, std::int64_t{6}});
}

// modeling_llama4.py Llama4PreTrainedModel: _supports_flash_attn is False.
TEST_CASE("transformers has no flash attention for Llama 4") {
  job j{.model = models::llama_4_scout, .hardware = {.gpu = gpus::b200_sxm_180gb, .nodes = 8, .gpus_per_node = 8}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .sharding = fsdp2(), .batch = {.micro = 1, .sequence = 4096}};
  j.model.vision = {};
  for (const auto a : {attention::flash, attention::flash3}) {
    j.attention = a;
    const auto why = objection_to(j);
    REQUIRE(why);
    CHECK(std::string{why.in_words().what()}.find("transformers runs no flash attention in chunks") != std::string::npos);
  }
  j.attention = attention::sdpa;
  CHECK_FALSE(objection_to(j));
}

}  // namespace test_attention_masks
