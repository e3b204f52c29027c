// Distributed under the Boost Software License, Version 1.0.
// Mamba-1: what its layers save (tests/data/mixers.json), what its kernels keep, and whole jobs from a configuration on.
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "mixer_points.hpp"

namespace test_mamba1 {

using namespace headroom;
using namespace mixer_points;
using nlohmann::json;

namespace {

job whole_job(const std::string& model) {
  return io::read_job(io::json_value::parse(R"({"model": )" + model + R"(, "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "optimizer": "adamw", "batch": {"micro": 1, "sequence": 2048}})"),
                      io::no_files);
}
double replayed(const job& j) { return static_cast<double>(replay(j).ranks[0].allocated.count()); }
layer_walk walk(const job& j, layer_kind kind) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, kind, trained_modules(j, 0), s.model.experts.count, true);
}

constexpr layer_kind alone{mixer_kind::mamba1, feed_forward_kind::none};
const std::string mamba = R"({"model_type": "mamba", "num_hidden_layers": 4, "hidden_size": 1024, "vocab_size": 4096})";

}  // namespace

TEST_CASE("an eager layer of Mamba-1 saves what was counted, to the byte") {
  int seen = 0;
  for (const auto& p : counted_points({"MambaFor", "FalconMamba", "Jamba"})) {
    CAPTURE(p["name"].get<std::string>());
    ++seen;
    check_parameters(p);
    check_layers(p);
  }
  CHECK(seen == 5);
}

TEST_CASE("a whole eager Mamba peaks where it was counted") {
  for (const auto& p : counted_points({"MambaForCausalLM-b2"})) {
    const auto j = job_of(p);
    const auto r = estimate(j).ranks[0];
    const auto states = r.at_peak[row::model_parameters] + r.at_peak[row::optimizer_state] + r.at_peak[row::master_parameters];
    CHECK(static_cast<double>((r.allocated - states).count()) == doctest::Approx(p["backward_peak_bytes"].get<double>()).epsilon(0.01));
  }
}

TEST_CASE("what mamba_ssm's kernels keep") {
  // 2048 channels, 16 numbers of state, steps of rank 64, of 2048 tokens. The norm of the fp32 stream, its root and its result before and behind the
  // weight; x and z, steps with B and C, those by themselves, and the scan's result; a state of B and C; A and exp(A_log).
  auto j = whole_job(mamba);
  CHECK(walk(j, alone).saved.total.count() == 2048 * (1024 * (4 + 2 + 2) + 4 + 2 * (2 * 2048 + 64 + 32 + 32 + 2048)) + 2048 * 32 * 4 + 2 * 2048 * 16 * 4);
  // FalconMamba's norms over the steps are inside.
  j.model.ssm.step_norm = step_norm_kind::plain;
  const auto inside = walk(j, alone).saved.total;
  j.model.ssm.step_norm = step_norm_kind::none;
  CHECK(inside == walk(j, alone).saved.total);
  // With Jamba's the scan is a kernel by itself: x and z, what the convolution made, steps of each channel, z again, the scan's result and the gated
  // one, turned for the last matrix; of each position three norms with 4·n + 4 + 2·n, the steps' result, B and C turned.
  j.model.ssm.step_norm = step_norm_kind::weighed;
  const std::int64_t norms = (4 + 2) * (64 + 16 + 16) + 3 * 4;
  CHECK(walk(j, alone).saved.total.count() ==
        2048 * (1024 * (4 + 2 + 2) + 4 + 2 * 2048 * (2 + 1 + 1 + 1 + 1 + 1 + 1) + norms + 2 * 64 + 2 * 32) + 2048 * 32 * 4 + 2 * 2048 * 16 * 4);
  // The loop keeps 14 bytes of each channel, position and number of the state, and about 20 of each channel.
  j.recurrence = recurrence::eager;
  CHECK(static_cast<double>(walk(j, alone).saved.total.count()) == doctest::Approx(2048.0 * 2048 * (14 * 16 + 22)).epsilon(0.03));
}

TEST_CASE("kernels that cast their weights themselves keep the copies") {
  auto j = whole_job(mamba);
  j.model.fp32_residual = false;
  const auto saves = [&](std::int64_t rank, const precision& how) {
    j.model.ssm.rank = rank;
    j.precision = how;
    return walk(j, alone).saved.total.count();
  };
  // 64 more ranks: of 2048 tokens, and, under autocast, of two matrices with 2048 channels.
  CHECK(saves(128, precisions::bf16) - saves(64, precisions::bf16) == 2 * 2048 * 64);
  CHECK(saves(128, precisions::bf16_autocast) - saves(64, precisions::bf16_autocast) == 2 * 2048 * 64 + 2 * 2 * 2048 * 64);
  // Mamba-2's kernel keeps one of the last matrix: a head more is 64 features, and a row of 64 for each of 1024 of the stream.
  j = whole_job(R"({"model_type": "mamba2", "num_hidden_layers": 2, "hidden_size": 1024, "num_heads": 32, "n_groups": 1, "vocab_size": 4096, "residual_in_fp32": false})");
  const auto of_heads = [&](std::int64_t heads, const precision& how) {
    j.model.ssm.heads = heads;
    j.precision = how;
    return walk(j, {mixer_kind::mamba2, feed_forward_kind::none}).saved.total.count();
  };
  const std::int64_t token = 2 * (2 * 64 + 1) + 2 * 64, in = 2 * 1024 * (2 * 64 + 1);  // what the first matrix makes and the scan's result; the first matrix as autocast casts it
  CHECK(of_heads(33, precisions::bf16) - of_heads(32, precisions::bf16) == 2048 * token);
  CHECK(of_heads(33, precisions::bf16_autocast) - of_heads(32, precisions::bf16_autocast) == 2048 * token + in + 2 * 1024 * 64);
}

TEST_CASE("Mamba and Jamba from their configurations to a report") {
  for (const auto& model : {mamba, std::string{R"({"model_type": "jamba", "num_hidden_layers": 8, "hidden_size": 1024, "intermediate_size": 2048, "num_attention_heads": 8, "num_experts": 4, "vocab_size": 4096})"}}) {
    auto j = whole_job(model);
    CAPTURE(model);
    if (j.model.sparse()) j.framework = frameworks::hf_trainer;  // a loop over experts is not replayed
    REQUIRE(replays(j));
    double fused = 0;
    for (const auto kernels : {recurrence::fused, recurrence::eager}) {
      j.recurrence = kernels;
      const auto allocated = static_cast<double>(estimate(j).ranks[0].allocated.count());
      CHECK(replayed(j) == doctest::Approx(allocated).epsilon(0.003));
      CHECK(allocated > 2 * fused);
      fused = allocated;
    }
    CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
    const auto slow = cost(j).step.value;
    j.recurrence = recurrence::fused;
    CHECK(cost(j).step.value < slow / 4);
  }
  const auto jamba = io::model_from_config({{"model_type", "jamba"}, {"num_hidden_layers", 8}});
  CHECK(jamba.kind_of(4) == layer_kind{mixer_kind::attention, feed_forward_kind::dense});
  CHECK(jamba.kind_of(5) == layer_kind{mixer_kind::mamba1, feed_forward_kind::experts});
}

TEST_CASE("what Mamba-1 does not run with") {
  const auto refuses = [](const auto& change, const char* with) {
    auto j = whole_job(mamba);
    j.model.fp32_residual = false;
    CHECK_NOTHROW(estimate(j));
    change(j);
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains(with), job_error);
  };
  const auto lora = [](module_set targets) { return adapter{.kind = adapter_kind::lora, .rank = 8, .targets = targets}; };
  refuses([&](job& j) { j.adapter = lora({module::mixer_out}); }, "PEFT has no adapters for Mamba's out_proj");
  refuses([&](job& j) { j.adapter = lora(all_linear); }, "x_proj and dt_proj");
  refuses([&](job& j) { j.adapter = lora({module::mixer_in}), j.adapter.base = formats::nf4; }, "x_proj and dt_proj");
  refuses([](job& j) { j.model.ssm.rank = 0; }, "model.ssm.rank must be at least 1");
  refuses([](job& j) { j.framework = frameworks::megatron; }, "model.pattern");
  refuses([](job& j) { j.batch.packed = true; }, "packed sequences");
  auto j = whole_job(mamba);
  j.model.fp32_residual = false;
  j.adapter = lora({module::mixer_in});
  CHECK_NOTHROW(estimate(j));
  CHECK_THROWS_WITH_AS(io::model_from_config({{"model_type", "mamba"}, {"use_mambapy", true}}), doctest::Contains("use_mambapy must be false"), job_error);
}

TEST_CASE("random configurations are walked as they are counted") {
  std::mt19937 random(11);
  const auto any = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  for (int i = 0; i < 200; ++i) {
    const int which = any({0, 1, 2});
    const bool jamba = which == 2;
    json c = {{"architectures", {which == 0 ? "MambaForCausalLM" : jamba ? "JambaForCausalLM" : "FalconMambaForCausalLM"}}, {"model_type", which == 0 ? "mamba" : jamba ? "jamba" : "falcon_mamba"}};
    const auto maybe = [&](const char* key, std::initializer_list<int> of) {
      if (any({0, 1, 2}) > 0) c[key] = any(of);
    };
    const auto flag = [&](const char* key) {
      if (any({0, 1}) > 0) c[key] = any({0, 1}) == 1;
    };
    maybe("hidden_size", {64, 72, 128});
    maybe("num_hidden_layers", {1, 4, 9});
    maybe("intermediate_size", {96, 160});
    maybe("vocab_size", {101, 256});
    flag("tie_word_embeddings");
    maybe(jamba ? "mamba_expand" : "expand", {1, 2, 3});
    maybe(jamba ? "mamba_d_state" : "state_size", {8, 16});
    maybe(jamba ? "mamba_d_conv" : "conv_kernel", {2, 4});
    maybe(jamba ? "mamba_dt_rank" : "time_step_rank", {3, 16});
    if (any({0, 1, 2, 3}) == 0) c[jamba ? "mamba_dt_rank" : "time_step_rank"] = "auto";
    flag(jamba ? "mamba_proj_bias" : "use_bias");
    flag(jamba ? "mamba_conv_bias" : "use_conv_bias");
    if (jamba) {
      c["num_attention_heads"] = any({2, 4});
      c["num_key_value_heads"] = 2;
      maybe("num_experts", {1, 2, 8});
      maybe("num_experts_per_tok", {1, 2});
      if (c.value("num_experts", 16) == 1) c["num_experts_per_tok"] = 1;
      maybe("expert_layer_period", {1, 2, 3});
      c["expert_layer_offset"] = 0;
      maybe("attn_layer_period", {2, 4});
      c["attn_layer_offset"] = any({0, 1});
    }
    CAPTURE(c.dump());
    check_counts_agree(c);
  }
}

}  // namespace test_mamba1
