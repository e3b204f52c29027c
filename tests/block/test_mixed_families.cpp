// Distributed under the Boost Software License, Version 1.0.
// OLMo Hybrid, whose layers have their norms in front or behind, and Falcon-H1, whose layers have two mixers: what they save
// (tests/data/mixers.json), and whole jobs from a configuration on.
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "mixer_points.hpp"

namespace test_mixed_families {

using namespace headroom;
using namespace mixer_points;
using nlohmann::json;

namespace {

job whole_job(const std::string& model) {
  return io::read_job(io::json_value::parse(R"({"model": )" + model + R"(, "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "optimizer": "adamw", "batch": {"micro": 2, "sequence": 4096}})"),
                      io::no_files);
}
const std::string olmo = R"({"model_type": "olmo_hybrid", "num_hidden_layers": 8, "hidden_size": 960, "num_attention_heads": 10, "intermediate_size": 2048, "vocab_size": 4096})";
const std::string falcon = R"({"model_type": "falcon_h1", "num_hidden_layers": 4, "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 2048,
                               "mamba_d_ssm": 1536, "mamba_n_heads": 24, "mamba_d_head": 64, "mamba_d_state": 128, "vocab_size": 4096})";

}  // namespace

TEST_CASE("eager layers of OLMo Hybrid and Falcon-H1 save what was counted, to the byte") {
  int seen = 0;
  for (const auto& p : counted_points({"OlmoHybrid", "FalconH1"})) {
    const auto name = p["name"].get<std::string>();
    CAPTURE(name);
    ++seen;
    check_parameters(p);
    check_layers(p);  // OLMo's cos and sin stay in fp32
  }
  CHECK(seen == 4);
}

TEST_CASE("a whole eager Falcon-H1 peaks where it was counted") {
  for (const auto& p : counted_points({"FalconH1", "OlmoHybridForCausalLM-b2-s128-bf"})) {
    CAPTURE(p["name"].get<std::string>());
    const auto r = estimate(job_of(p)).ranks[0];
    const auto states = r.at_peak[row::model_parameters] + r.at_peak[row::optimizer_state] + r.at_peak[row::master_parameters];
    CHECK(static_cast<double>((r.allocated - states).count()) == doctest::Approx(p["backward_peak_bytes"].get<double>()).epsilon(0.005));
  }
}

TEST_CASE("two mixers side by side keep what each keeps by itself") {
  // With kernels: what both have in common is the norm, of fp32, 4 bytes a token and 16 bits; each keeps a scaled copy of its result instead of that.
  const auto j = whole_job(falcon);
  const auto both = saved(j, {mixer_kind::attention_mamba2, feed_forward_kind::none});
  const auto attention = saved(j, {mixer_kind::attention, feed_forward_kind::none}), mamba = saved(j, {mixer_kind::mamba2, feed_forward_kind::none});
  const std::int64_t tokens = 2 * 4096, norm = tokens * (1024 * (4 + 2) + 4);
  CHECK(both == attention + mamba - norm);
  // Mamba-2 without its norm: what the first matrix makes (two times 1536, B, C and a step for each head), and what the scan gives before the gate.
  CHECK(mamba == norm + tokens * 2 * (1024 + 2 * 1536 + 2 * 128 + 24 + 1536));
  CHECK(model_flops(j.model, 1, 4096).value > 0);
}

TEST_CASE("OLMo Hybrid and Falcon-H1 from their configurations to a report") {
  for (const auto& model : {olmo, falcon}) {
    CAPTURE(model);
    auto j = whole_job(model);
    REQUIRE(replays(j));
    for (const auto kernels : {recurrence::fused, recurrence::eager}) {
      for (const auto mode : {recompute::none, recompute::full}) {
        j.recurrence = kernels;
        j.recompute = mode;
        // Weights and tensors of a few MiB: ends of their blocks are not cut off.
        CHECK(static_cast<double>(replay(j).ranks[0].allocated.count()) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(0.013));
      }
    }
    CHECK(cost(j).step.value > 0);
    CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
    j.framework = frameworks::megatron;
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("megatron"), job_error);
  }
  const auto m = whole_job(olmo).model;
  CHECK(m.kind_of(3) == layer_kind{mixer_kind::attention, feed_forward_kind::dense});
  CHECK(m.kind_of(4) == layer_kind{mixer_kind::gated_delta_net, feed_forward_kind::dense});
  CHECK(count(io::model_from_config({{"model_type", "olmo_hybrid"}})).total.count() == 7'430'870'688);  // allenai/Olmo-Hybrid-7B's class default, tests/data/models_2026.json
  CHECK_THROWS_WITH_AS(io::model_from_config({{"model_type", "falcon_h1"}, {"mamba_rms_norm", true}}), doctest::Contains("mamba_rms_norm must be false"), job_error);
  auto quantised = whole_job(falcon);
  quantised.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}, .base = formats::nf4};
  CHECK_THROWS_WITH_AS(estimate(quantised), doctest::Contains("adapter.base_skips must have mixer_out"), job_error);
  quantised.adapter.base_skips = {module::mixer_out};
  CHECK_NOTHROW(estimate(quantised));
  auto j = whole_job(falcon);
  j.model.norm_after = true;
  j.model.norm = norm_kind::layernorm;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("norm_after with LayerNorm"), job_error);
}

TEST_CASE("random configurations are walked as they are counted") {
  std::mt19937 random(13);
  const auto any = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  for (int i = 0; i < 200; ++i) {
    const bool is_olmo = any({0, 1}) == 1;
    json c = {{"architectures", {is_olmo ? "OlmoHybridForCausalLM" : "FalconH1ForCausalLM"}}, {"model_type", is_olmo ? "olmo_hybrid" : "falcon_h1"}};
    const auto maybe = [&](const char* key, std::initializer_list<int> of) {
      if (any({0, 1, 2}) > 0) c[key] = any(of);
    };
    const auto flag = [&](const char* key) {
      if (any({0, 1}) > 0) c[key] = any({0, 1}) == 1;
    };
    c["hidden_size"] = any({64, 96, 128});
    c["num_attention_heads"] = any({2, 4});
    maybe("num_key_value_heads", {1, 2});
    if (!is_olmo && !c.contains("num_key_value_heads")) c["num_key_value_heads"] = 2;
    maybe("num_hidden_layers", {1, 4, 9});
    maybe("intermediate_size", {96, 160});
    maybe("vocab_size", {101, 256});
    flag("tie_word_embeddings");
    flag("attention_bias");
    if (is_olmo) {
      maybe("linear_num_key_heads", {1, 2});
      maybe("linear_num_value_heads", {2, 4});
      maybe("linear_key_head_dim", {8, 16});
      maybe("linear_value_head_dim", {8, 32});
      maybe("linear_conv_kernel_dim", {2, 4});
      if (c.value("linear_num_value_heads", c["num_attention_heads"].get<int>()) % c.value("linear_num_key_heads", c["num_attention_heads"].get<int>()) != 0) continue;
    } else {
      c["mamba_n_heads"] = any({4, 8});
      c["mamba_d_ssm"] = any({64, 128});
      maybe("mamba_n_groups", {1, 2});
      maybe("mamba_d_state", {8, 16});
      maybe("mamba_d_conv", {2, 4});
      c["mamba_proj_bias"] = c["projectors_bias"] = any({0, 1}) == 1;
      flag("mamba_conv_bias");
      flag("mlp_bias");
    }
    CAPTURE(c.dump());
    check_counts_agree(c);
  }
}

}  // namespace test_mixed_families
