// Distributed under the Boost Software License, Version 1.0.
// DeepSeek's sparse attention: what its layers save (tests/data/mixers.json), what its indexer holds for a moment, and whole jobs from a
// configuration on.
#include <headroom/cost/cost.hpp>
#include <headroom/io/counted.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "mixer_points.hpp"

namespace test_sparse_attention {

using namespace headroom;
using namespace mixer_points;
using nlohmann::json;

namespace {

job whole_job(const char* text) { return io::read_job(io::json_value::parse(text), io::no_files); }
double replayed(const job& j) { return static_cast<double>(replay(j).ranks[0].allocated.count()); }

constexpr const char* small = R"({"model": {"architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "num_hidden_layers": 4, "hidden_size": 1024, "intermediate_size": 2048,
    "moe_intermediate_size": 256, "n_routed_experts": 16, "num_experts_per_tok": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "q_lora_rank": 256, "kv_lora_rank": 128,
    "index_n_heads": 16, "index_topk": 512, "vocab_size": 4096},
    "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "optimizer": "adamw", "batch": {"micro": 1, "sequence": 2048}})";

}  // namespace

TEST_CASE("latent attention that is written out saves what was counted, to the byte, with an indexer and without, by PyTorch's math path, too") {
  int seen = 0;
  for (const auto& p : counted_points({"DeepseekV3For", "Glm4MoeLite", "DeepseekV32", "GlmMoeDsa"})) {
    CAPTURE(p["name"].get<std::string>());
    check_parameters(p);
    ++seen;
    check_layers(p);
  }
  CHECK(seen == 9);
}

TEST_CASE("the indexer's weights never have gradients or states") {
  auto j = whole_job(small);
  const auto& a = j.model.mla;
  const auto indexer = 4 * (a.q_rank * 16 * 128 + 1024 * (128 + 16) + 2 * 128);  // wq_b, wk and weights_proj, a LayerNorm
  const auto counted = count(j.model);
  CHECK(counted.frozen.count() == indexer);
  const auto rows = estimate(j).ranks[0].at_peak;
  CHECK(rows[row::model_parameters].count() >= 2 * counted.total.count());
  CHECK(rows[row::optimizer_state].count() < 4 * counted.total.count());
  CHECK(rows[row::optimizer_state].count() == doctest::Approx(static_cast<double>(4 * counted.trainable().count())).epsilon(1e-3));
}

TEST_CASE("the indexer's scores stand in fp32, twice, for a moment") {
  // One sequence of 2048: 16 heads × 2048 × 2048 × 4 bytes of scores, and their multiple.
  auto j = whole_job(small);
  const double scores = 16.0 * 2048 * 2048 * 4;
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto modules = trained_modules(j, 3);
  const auto with = walk_layer(sc, {mixer_kind::sparse_attention, feed_forward_kind::none}, modules, 16, true);
  const auto without = walk_layer(sc, {mixer_kind::latent_attention, feed_forward_kind::none}, modules, 16, true);
  CHECK(static_cast<double>((with.forward.total - without.forward.total).count()) == doctest::Approx(2 * scores).epsilon(0.08));
  // For a moment: backward reads a mask of two bytes a pair, and nothing else of it.
  CHECK((with.saved.total - without.saved.total).count() == 2 * 2048 * 2048);
  // Two samples: the keys are repeated for every position, and take as much as 128 heads.
  sc.samples = 2, sc.tokens = 2 * 2048;
  const auto two = walk_layer(sc, {mixer_kind::sparse_attention, feed_forward_kind::none}, modules, 16, true);
  CHECK(static_cast<double>(two.forward.total.count()) == doctest::Approx(2 * scores * (1 + 128.0 / 16)).epsilon(0.08));
  // Under autocast scores have 16 bits.
  sc.samples = 1, sc.tokens = 2048, sc.autocast = true;
  const auto cast = walk_layer(sc, {mixer_kind::sparse_attention, feed_forward_kind::none}, modules, 16, true);
  CHECK(static_cast<double>(cast.forward.total.count()) < 1.5 * scores);
}

TEST_CASE("DeepSeek-V3.2 from its configuration to a report") {
  auto j = whole_job(small);
  j.framework = frameworks::hf_trainer;
  CHECK(j.model.kind_of(0) == layer_kind{mixer_kind::sparse_attention, feed_forward_kind::dense});
  CHECK(j.model.kind_of(3) == layer_kind{mixer_kind::sparse_attention, feed_forward_kind::experts});
  REQUIRE(replays(j));
  for (const auto mode : {recompute::none, recompute::full}) {
    j.recompute = mode;
    CHECK(replayed(j) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(0.003));
  }
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  auto plain = j;
  plain.model.pattern = {};
  plain.model.mla.index_heads = 0;
  CHECK(cost(j).step.value > cost(plain).step.value);
}

TEST_CASE("a checkpoint of a GLM-5 layer keeps the choice of the layer before") {
  auto j = whole_job(small);
  j.recompute = recompute::full;
  const auto at_loss = [&] { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)].total().count(); };
  const auto without = at_loss();
  j.model.mla.index_handed_on = true;
  CHECK(at_loss() - without == 4 * 4 * 2048 * 512);  // numbers of 512 keys for 2048 positions, of four layers
}

TEST_CASE("what sparse attention does not run with") {
  const auto plain = whole_job(small);
  const auto refuses = [&](const auto& change, const char* with) {
    auto j = plain;
    change(j);
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains(with), job_error);
  };
  refuses([](job& j) { j.attention = attention::flash; }, "attention must be sdpa or eager");
  refuses([](job& j) { j.batch.packed = true; }, "batch.packed must be false");
  refuses([](job& j) { j.precision = precisions::bf16_autocast; }, "parameters of 16 bits");
  refuses([](job& j) { j.hardware.gpus_per_node = 8, j.sharding = {.kind = sharding_kind::ddp}; }, "sharding.kind must be none or fsdp2");
  refuses([](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear}; }, "adapter.targets must name modules");
  refuses([](job& j) { j.framework = frameworks::megatron; }, "model.pattern");
  refuses([](job& j) { j.model.mla.index_keys = 0; }, "sparse-attention needs model.mla");
  refuses([](job& j) { j.model.pattern = {}; }, "model.mla.index_heads needs a model.pattern");
  auto j = plain;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::mla_down, module::q_proj, module::o_proj}};
  CHECK_NOTHROW(estimate(j));
}

TEST_CASE("GLM-5's configurations: walked as they are counted, or refused by the key") {
  json glm = {{"architectures", {"GlmMoeDsaForCausalLM"}}, {"model_type", "glm_moe_dsa"}};
  CHECK(count(io::model_from_config(glm)).total.count() == 743'911'199'232);  // GLM-5, tests/data/models_2026.json
  glm["indexer_types"] = json(std::vector<std::string>(78, "full"));
  CHECK(count(io::model_from_config(glm)).total.count() == 743'911'199'232);
  glm["indexer_types"][5] = "shared";
  CHECK_THROWS_WITH_AS(io::model_from_config(glm), doctest::Contains("config.indexer_types must be full in all layers"), job_error);
  CHECK(io::count_config(glm).total.count() == 743'911'199'232 - (2048 * 32 * 128 + 6144 * (128 + 32) + 2 * 128));
  glm.erase("indexer_types");
  glm["index_topk_freq"] = 4;
  CHECK_THROWS_WITH_AS(io::model_from_config(glm), doctest::Contains("config.index_topk_freq must be 1"), job_error);
}

TEST_CASE("random configurations are walked as they are counted") {
  std::mt19937 random(7);
  const auto any = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  for (int i = 0; i < 200; ++i) {
    const bool glm = any({0, 1}) == 1;
    json c = {{"architectures", {glm ? "GlmMoeDsaForCausalLM" : "DeepseekV32ForCausalLM"}}, {"model_type", glm ? "glm_moe_dsa" : "deepseek_v32"}};
    const auto maybe = [&](const char* key, std::initializer_list<int> of) {
      if (any({0, 1, 2}) > 0) c[key] = any(of);
    };
    maybe("hidden_size", {64, 96, 128});
    maybe("num_hidden_layers", {2, 4, 7});
    maybe("intermediate_size", {96, 160});
    maybe("moe_intermediate_size", {16, 48});
    maybe("n_routed_experts", {4, 8, 16});
    maybe("n_shared_experts", {0, 1, 2});
    c["num_experts_per_tok"] = any({1, 2, 4});
    maybe("first_k_dense_replace", {0, 1, 3, 5});
    maybe("num_attention_heads", {2, 4, 8});
    maybe("q_lora_rank", {24, 64});
    maybe("kv_lora_rank", {16, 32});
    maybe("qk_nope_head_dim", {8, 16});
    maybe("qk_rope_head_dim", {4, 8});
    maybe("v_head_dim", {8, 24});
    maybe("index_n_heads", {1, 4});
    maybe("index_head_dim", {64, 128});
    maybe("index_topk", {16, 2048});
    maybe("vocab_size", {101, 256});
    if (any({0, 1}) == 1) c["attention_bias"] = any({0, 1}) == 1;
    if (any({0, 1}) == 1) c["tie_word_embeddings"] = any({0, 1}) == 1;
    if (c.contains("num_attention_heads")) c["num_key_value_heads"] = c["num_attention_heads"];
    if (any({0, 1, 2}) == 0 && c.contains("num_hidden_layers")) {
      c["mlp_layer_types"] = json::array();
      for (int k = 0; k < c["num_hidden_layers"]; ++k) c["mlp_layer_types"].push_back(any({0, 1}) == 1 ? "sparse" : "dense");
    }
    CAPTURE(c.dump());
    check_counts_agree(c);
  }
}

}  // namespace test_sparse_attention
