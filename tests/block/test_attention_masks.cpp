// Distributed under the Boost Software License, Version 1.0.
// Masks that torch's own attention reads in transformers' models, against arithmetic on paper from masking_utils.py of transformers 5.16: a boolean
// mask of a byte a pair is made once for each kind of layer, and each call makes what it adds to the scores of it, in the format of the queries.
#include <headroom/headroom.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>

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
  c["attention_chunk_size"] = nullptr;
  j.model = io::model_from_config(c);
  const auto plain = peak(j);
  CHECK(window(65) == plain);
  CHECK(window(64) == plain + 8 * of_layer);
  CHECK(window(16) == plain + 8 * of_layer);
  c.erase("attention_chunk_size");
  CHECK(io::model_from_config(c).sliding_window == 8192);
  CHECK(models::llama_4_scout.sliding_window == 8192);
  CHECK(models::llama_4_scout.full_layers == 48 / 4);
  c.erase("layer_types");
  c["no_rope_layers"] = nlohmann::json(std::vector<int>(13, 0));
  CHECK_THROWS_WITH_AS((void)io::model_from_config(c), doctest::Contains("names more layers than there are, 12"), job_error);
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

TEST_CASE("before 2025 all layers read one mask in the model's format") {
  auto j = windowed(16, 0), causal = windowed(0, 0);
  j.framework.date = causal.framework.date = 202410;
  constexpr std::int64_t repeated = 2 * tokens * 2 * 16 * 2;  // keys and values, for there is a mask
  CHECK(peak(j) == peak(causal) + 12 * repeated + 2 * 2 * pairs);
}

// ModernBERT's local_attention is both sides together: layers 0, 3, … see all, those between reach 64 tokens to either side.
TEST_CASE("a window to both sides") {
  const auto of = [](std::int64_t window) {
    auto j = windowed(window, 0);
    j.model.bidirectional = true, j.model.global_every = 3;
    return peak(j);
  };
  CHECK(of(130) == of(0));
  CHECK(of(128) == of(0) + 8 * of_layer);
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

}  // namespace test_attention_masks
