// Distributed under the Boost Software License, Version 1.0.
// MiniMax-Text-01's lightning attention, Afmoe's gates, and routers and queries with numbers of their own: what their layers save (tests/data/mixers.json), and whole jobs from a configuration on.
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "mixer_points.hpp"
#include "../replayed_steps.hpp"

namespace test_lightning {

using namespace headroom;
using nlohmann::json;

namespace {

job whole_job(const std::string& model) {
  return io::read_job(io::json_value::parse(R"({"model": )" + model + R"(, "framework": "hf-trainer", "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "optimizer": "adamw", "batch": {"micro": 1, "sequence": 1024}})"),
                      io::no_files);
}
const std::string small = R"({"model_type": "minimax", "num_hidden_layers": 4, "hidden_size": 512, "intermediate_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64,
                              "num_local_experts": 4, "vocab_size": 4096, "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"]})";

}  // namespace

TEST_CASE("MiniMax-Text-01's layers save what was counted, to the byte") {
  const auto points = mixer_points::counted_points({"MiniMaxForCausalLM"});
  REQUIRE(points.size() == 2);
  for (auto p : points) {
    CAPTURE(p["name"].get<std::string>());
    mixer_points::check_parameters(p);
    // Keys with decays and values of the last of two blocks, and four factors, are counted with the state that nobody reads.
    const std::int64_t left = (2 * 8 * 64 * 16 + 4) * mixer_points::width_of(p);
    p["layers"][0]["saved_bytes"] = p["layers"][0]["saved_bytes"].get<std::int64_t>() - left;
    mixer_points::check_layers(p);
  }
}

TEST_CASE("Afmoe's and Ministral 3's layers, and LFM2's router, save what was counted, to the byte") {
  const auto points = mixer_points::counted_points({"AfmoeForCausalLM", "Ministral3ForCausalLM", "Lfm2MoeForCausalLM"});
  REQUIRE(points.size() == 5);
  for (const auto& p : points) {
    CAPTURE(p["name"].get<std::string>());
    mixer_points::check_parameters(p);
    mixer_points::check_layers(p);  // of Afmoe, layers without positions come first: the third is said to save the model's cos and sin
  }
}

TEST_CASE("ESM's layers save what was counted, and its reader of contacts is counted though no loss reads it") {
  const auto points = mixer_points::counted_points({"EsmForMaskedLM"});
  REQUIRE(points.size() == 1);
  for (const auto& p : points) {
    CAPTURE(p["name"].get<std::string>());
    mixer_points::check_parameters(p);
    auto j = mixer_points::job_of(p);
    j.dropout.attention = probability::of(0.1);  // the class's default, which the count left on
    // The second layer: the first is said to save the model's cos and sin, too. Dropout on a CPU keeps its noise in the format of the scores, where a GPU's mask has a byte.
    CHECK(mixer_points::saved(j, j.model.kind_of(1)) == p["layers"][1]["saved_bytes"].get<std::int64_t>() - 3 * 2 * 4 * 128 * 128);
    CHECK(count(j.model).frozen.count() == 2 * 4 + 1);
  }
  // gelu_python is the same three steps, of which three tensors are kept; a tanh of it is another function.
  json bert = {{"architectures", {"BertForMaskedLM"}}, {"model_type", "bert"}, {"hidden_size", 64}, {"num_attention_heads", 4}, {"num_hidden_layers", 2}, {"intermediate_size", 160}};
  const auto saves = [&](const char* activation) {
    bert["hidden_act"] = activation;
    job j;
    j.model = io::model_from_config(bert);
    j.hardware.gpu = gpus::cpu;
    j.precision = precisions::fp32;
    j.batch = {.micro = 1, .sequence = 128};
    j.attention = attention::eager;
    return mixer_points::saved(j, j.model.kind_of(1));
  };
  CHECK(saves("gelu_python") - saves("gelu") == 2 * 128 * 160 * 4);
  CHECK(saves("gelu_new") - saves("gelu") == 3 * 128 * 160 * 4);
}

TEST_CASE("routing weights that are not divided by their sum leave neither them nor it behind") {
  // OlmoeTopKRouter, Qwen2MoeTopKRouter: norm_topk_prob is false unless the file says otherwise. Chosen scores in fp32 and their sum, a token.
  for (const char* type : {"olmoe", "qwen2_moe", "qwen3_moe"}) {
    CAPTURE(type);
    json c = {{"model_type", type}, {"hidden_size", 64}, {"num_attention_heads", 4}, {"num_key_value_heads", 4}, {"num_hidden_layers", 2}, {"intermediate_size", 48}, {"moe_intermediate_size", 48},
              {"num_experts", 8}, {"num_experts_per_tok", 2}, {"vocab_size", 256}};
    const auto saves = [&](bool divides) {
      if (divides) c["norm_topk_prob"] = true;
      job j;
      j.model = io::model_from_config(c);
      j.framework.experts = frameworks::hf_trainer.experts;
      j.hardware.gpu = gpus::cpu;
      j.batch = {.micro = 1, .sequence = 128};
      j.precision = precisions::bf16;
      return mixer_points::saved(j, j.model.kind_of(1));
    };
    const auto without = saves(false);
    CHECK(saves(true) - without == 128 * (2 * 4 + 4));
  }
}

TEST_CASE("MiniMax from its configuration to a report") {
  auto j = whole_job(small);
  REQUIRE(replays(j));
  for (const auto mode : {recompute::none, recompute::full}) {
    j.recompute = mode;
    // What is asked for is the same to the byte. What is allocated is more by what is left of blocks of more than 1 MiB, which stay whole.
    const auto counted = estimate(j).ranks[0].allocated, allocated = replay(j).ranks[0].allocated;
    CHECK(replayed_steps(j).asked == counted);
    CHECK(allocated >= counted);
    CHECK(static_cast<double>(allocated.count()) <= 1.035 * static_cast<double>(counted.count()));
  }
  CHECK(cost(j).step.value > 0);
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  // Slopes and decays of three layers: of 8 heads 1 + 2·256 + 256² each, in 16 bits, are there from the first step on.
  CHECK(buffers_of(j.model) == 3 * 8 * (1 + 2 * 256 + 256 * 256));
  // No kernel of another package stands for the loop: nothing is assumed of one.
  CHECK(!settle(j).assumptions.has(assumption::recurrence_fused));
  // Of a forward: of each position four matrices of 512 × 512 and one of 512 × 512 more; scores within blocks of 256, states of 64 × 64.
  const double linear = 3 * 8 * (4.0 * 256 * 64 + 4.0 * 64 * 64) * 1024, full = 2 * 1024.0 * 1024 * 2 * 512;
  CHECK(forward_flops_of(j.model, weights_of(j.model), 1, 1024, causal_convention::whole_square).attention == doctest::Approx(linear + full));
  const auto refuses = [&](const auto& change, const char* with) {
    auto other = whole_job(small);
    change(other);
    CHECK_THROWS_WITH_AS(estimate(other), doctest::Contains(with), job_error);
  };
  refuses([](job& o) { o.model.ssm.chunk = 0; }, "model.ssm.chunk must be at least 1");
  refuses([](job& o) { o.framework.experts = frameworks::libtorch.experts; }, "experts all at once");
  refuses([](job& o) { o.kernels = {fused_kernel::norm}; }, "model.normed_residual");
  auto noisy = json::parse(small);
  noisy["router_jitter_noise"] = 0.1;
  CHECK_THROWS_WITH_AS(io::model_from_config(noisy), doctest::Contains("router_jitter_noise must be 0"), job_error);
}

TEST_CASE("blocks of positions: whole ones, and what is left") {
  constexpr auto is = [](const ops::lightning_blocks& b, std::int64_t count, std::int64_t squares, std::int64_t last) { return b.count == count && b.squares == squares && b.last == last; };
  CHECK(is({1024, 256}, 4, 4 * 65'536, 256));
  CHECK(is({1000, 256}, 4, 3 * 65'536 + 232 * 232, 232));
  CHECK(is({256, 256}, 1, 65'536, 256));
  CHECK(is({200, 256}, 1, 40'000, 200));
  // A sequence that is one block is the same block, however long others would be.
  auto j = whole_job(small);
  j.batch.sequence = 128;
  const auto wide = mixer_points::saved(j, j.model.kind_of(0));
  j.model.ssm.chunk = 128;
  CHECK(mixer_points::saved(j, j.model.kind_of(0)) == wide);
  // Of several samples q, k and v are copies in another order; of one they are views of the projection, which is kept for its activation
  // either way. 8 heads of 64, in 16 bits, for each position of both samples, three times; all else is twice that of one sample.
  j.batch.micro = 2;
  const std::int64_t copies = 3 * 2 * 128 * 512 * 2;
  CHECK(mixer_points::saved(j, j.model.kind_of(0)) >= wide + copies);
}

TEST_CASE("random configurations of MiniMax, Afmoe are walked as they are counted") {
  std::mt19937 random(29);
  const auto any = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  for (int i = 0; i < 100; ++i) {
    const bool minimax = i % 2 == 0;
    json c = {{"architectures", {minimax ? "MiniMaxForCausalLM" : "AfmoeForCausalLM"}}, {"model_type", minimax ? "minimax" : "afmoe"}};
    const auto maybe = [&](const char* key, std::initializer_list<int> of) {
      if (any({0, 1, 2}) > 0) c[key] = any(of);
    };
    maybe("hidden_size", {64, 96});
    maybe("num_hidden_layers", {1, 4, 7, 12});
    maybe("intermediate_size", {96, 160});
    maybe("num_attention_heads", {4, 8});
    c["num_key_value_heads"] = any({1, 2});
    maybe("head_dim", {8, 16});
    maybe("vocab_size", {101, 256});
    maybe("num_experts_per_tok", {1, 2});
    if (minimax) maybe("num_local_experts", {4, 8}), maybe("block_size", {16, 64});
    if (!minimax) maybe("num_experts", {8, 16}), maybe("num_shared_experts", {0, 1, 3}), maybe("num_dense_layers", {0, 1, 2}), maybe("moe_intermediate_size", {16, 32}), maybe("global_attn_every_n_layers", {1, 3});
    CAPTURE(c.dump());
    mixer_points::check_counts_agree(c);
  }
}

}  // namespace test_lightning
