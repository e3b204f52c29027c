// Distributed under the Boost Software License, Version 1.0.
// Recurrent mixers: counts of their models, what their layers save (tests/data/kinds.json), and whole jobs from a configuration on.
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "kind_points.hpp"

namespace test_recurrent {

using namespace headroom;
using namespace kind_points;
using nlohmann::json;

namespace {

job whole_job(const char* text) { return io::read_job(io::json_value::parse(text), io::no_files); }

/// Bytes that are allocated, ends of blocks included that were too small to be cut off.
double replayed(const job& j) { return static_cast<double>(replay(j).ranks[0].allocated.count()); }

constexpr feed_forward_kind alone = feed_forward_kind::none;

}  // namespace

TEST_CASE("models with several kinds of layer count exactly") {
  std::set<std::string> seen;
  for (const auto& entry : data("models")) {
    const auto name = entry.at("name").get<std::string>();
    CAPTURE(name);
    seen.insert(name);
    CHECK(count(io::model_from_config(config_of(entry))).total.count() == entry.at("params_total").get<std::int64_t>());
  }
  CHECK(seen.size() == 19);
  for (const auto& point : data("saved"))
    CHECK(count(io::model_from_config(point["config"])).total.count() * (point["dtype"] == "float32" ? 4 : 2) == point["param_bytes"].get<std::int64_t>());
}

TEST_CASE("an eager layer of Gated DeltaNet saves what was counted, to the byte") {
  int seen = 0;
  for (const auto& p : data("saved")) {
    const auto name = p["name"].get<std::string>();
    if (name.find("Qwen3") == std::string::npos) continue;
    ++seen;
    CAPTURE(name);
    const auto j = job_of(p);
    CHECK(saved(j, {mixer_kind::gated_delta_net, alone}) == counted(p, "linear_attention", {"input_layernorm", "linear_attn"}));
    if (!j.model.sparse())
      CHECK(saved(j, {mixer_kind::none, feed_forward_kind::dense}) == counted(p, "linear_attention", {"post_attention_layernorm", "mlp"}));
  }
  CHECK(seen == 7);
}

TEST_CASE("an eager layer of Mamba-2 saves what was counted, to the byte") {
  int seen = 0;
  for (const auto& p : data("saved")) {
    const auto name = p["name"].get<std::string>();
    if (name.find("Qwen3") != std::string::npos || name.find("Lfm2") != std::string::npos) continue;
    ++seen;
    CAPTURE(name);
    const auto j = job_of(p);
    const auto mixer = name.find("NemotronH") != std::string::npos || name.find("Mamba2") != std::string::npos ? "norm" : "input_layernorm";
    CHECK(saved(j, {mixer_kind::mamba2, alone}) == counted(p, "linear_attention", {mixer, "mixer", "mamba"}));
    if (!j.model.sparse() && j.model.ffn > 0)
      CHECK(saved(j, {mixer_kind::none, feed_forward_kind::dense}) == counted(p, "linear_attention", {"post_attention_layernorm", "shared_mlp", "pre_ff_layernorm", "feed_forward"}));
  }
  CHECK(seen == 8);
}

TEST_CASE("an eager layer of a convolution between gates saves what was counted, to the byte") {
  int seen = 0;
  for (const auto& p : data("saved")) {
    const auto name = p["name"].get<std::string>();
    if (name.find("Lfm2") == std::string::npos) continue;
    ++seen;
    CAPTURE(name);
    const auto j = job_of(p);
    CHECK(saved(j, {mixer_kind::gated_convolution, alone}) == counted(p, "conv", {"operator_norm", "conv"}) / (j.model.sparse() ? 2 : 1));  // a dense one and one with experts
    if (!j.model.sparse()) CHECK(saved(j, {mixer_kind::gated_convolution, feed_forward_kind::dense}) == p["layers"][0]["saved_bytes"].get<std::int64_t>());
  }
  CHECK(seen == 10);
}

TEST_CASE("LFM2 from its configuration to a report") {
  auto j = whole_job(R"({"model": {"model_type": "lfm2", "num_hidden_layers": 16, "hidden_size": 2048, "full_attn_idxs": [2, 5, 8, 10, 12, 14]},
                         "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "batch": {"micro": 1, "sequence": 4096}})");
  CHECK(count(j.model).total.count() == 1'170'340'608);  // LFM2-1.2B, as its page says
  // Fused, a token keeps the norm's input in fp32, its root, and, each in bf16: what the norm made before and behind its weight, B, C and x, the
  // product, what the convolution made, and what the gate let through.
  CHECK(saved(j, {mixer_kind::gated_convolution, alone}) == 4096 * (2048 * (4 + 2 * (2 + 3 + 1 + 1 + 1)) + 4));
  REQUIRE(replays(j));
  for (const auto kernels : {recurrence::fused, recurrence::eager}) {
    j.recurrence = kernels;
    CHECK(replayed(j) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(1e-9));
  }
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  CHECK_THROWS_WITH_AS(estimate(whole_job(R"({"model": {"layers": 4, "hidden": 64, "heads": 1, "ffn": 64, "vocab": 96, "pattern": ["gated-convolution"]}, "batch": {"sequence": 64}})")),
                       doctest::Contains("model.ssm.conv must be at least 1"), job_error);
}

TEST_CASE("a whole Mamba-2 model peaks where it was counted") {
  // Forward and backward of the counted model, less its parameters: what the step holds beside weights and optimizer states.
  for (const auto& p : data("saved")) {
    const auto name = p["name"].get<std::string>();
    if (name.find("Mamba2For") == std::string::npos) continue;
    CAPTURE(name);
    const auto j = job_of(p);
    const auto r = estimate(j).ranks[0];
    const auto states = r.at_peak[row::model_parameters] + r.at_peak[row::optimizer_state] + r.at_peak[row::master_parameters];
    CHECK(static_cast<double>((r.allocated - states).count()) == doctest::Approx(p["backward_peak_bytes"].get<double>()).epsilon(0.01));
  }
}

TEST_CASE("attention with a gated output saves what was counted, to the byte") {
  int seen = 0;
  for (const auto& p : data("saved")) {
    const auto name = p["name"].get<std::string>();
    const auto all = counted(p, "full_attention", {"input_layernorm", "self_attn"});
    if (name.find("Qwen3") == std::string::npos || all == 0) continue;
    ++seen;
    CAPTURE(name);
    const auto j = job_of(p);
    // The model's cos and sin, which the first layer that reads them is said to have saved: Qwen 3.5 makes them for each sample.
    const auto samples = name.find("Qwen3_5") != std::string::npos ? j.batch.micro : 1;
    const auto angles = 2 * samples * j.batch.sequence * j.model.rotary_width() * (p["dtype"] == "float32" ? 4 : 2);
    CHECK(saved(j, {mixer_kind::attention, alone}) + angles == all);
    CHECK(samples * first_readers{}.of(settle(j), {mixer_kind::attention, alone}) == angles);
  }
  CHECK(seen == 4);
}

TEST_CASE("Qwen3-Next from its configuration to a report") {
  // 48 layers, of which 36 are linear. Data: tests/data/models.json; FSDP over 64 GPUs.
  auto j = whole_job(R"({"model": {"model_type": "qwen3_next", "num_hidden_layers": 8}, "hardware": {"gpu": "h100-sxm-80gb", "nodes": 1, "gpus_per_node": 8},
                         "framework": {"name": "hf-trainer"}, "precision": "bf16", "optimizer": "adamw", "sharding": {"kind": "fsdp2", "stage": 3},
                         "recompute": "full", "batch": {"micro": 1, "sequence": 4096}})");
  CHECK(j.model.pattern.period == 4);
  const auto fused = estimate(j);
  CHECK(fused.assumptions.has(assumption::recurrence_fused));
  j.recurrence = recurrence::eager;
  const auto eager = estimate(j);
  CHECK(!eager.assumptions.has(assumption::recurrence_fused));
  // A choice that takes several times as much is said before the numbers.
  const auto words = io::to_text(fused, j);
  CHECK(words.find("Assumed: recurrence was left open") < words.find("peak in the"));
  CHECK(io::to_text(eager, j).find("Assumed: recurrence") == std::string::npos);
  CHECK(eager.ranks[0].allocated > fused.ranks[0].allocated);
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  CHECK(io::read_job(io::job_to_json(j), io::no_files).recurrence == recurrence::eager);
}

TEST_CASE("fused kernels of Gated DeltaNet keep a ninth of what PyTorch's operations keep") {
  // Qwen3-Next at one sequence of 8192: about 4.5 GB against about 0.5 GB a layer, norms and projections included.
  auto j = whole_job(R"({"model": {"model_type": "qwen3_next"}, "precision": "bf16", "batch": {"micro": 1, "sequence": 8192}})");
  const layer_kind linear{mixer_kind::gated_delta_net, alone};
  j.recurrence = recurrence::eager;
  const auto eager = saved(j, linear);
  j.recurrence = recurrence::fused;
  const auto fused = saved(j, linear);
  CHECK(static_cast<double>(eager) == doctest::Approx(4.6e9).epsilon(0.05));
  // Of a token: the norm, 8·h and its result; q, k, v, z, the scan's result and the gated norm's; A, 64 a head; the convolution's input;
  // and of each head beta, softplus in and out, g's sums, two lengths and the gated norm's root.
  const std::int64_t token = 10 * 2048 + 4 + 6 * 2 * 4096 + 2 * 32 * 64 + 2 * 8192 + 32 * (2 + 8 + 4 + 8 + 4);
  CHECK(static_cast<double>(fused) == doctest::Approx(8192.0 * static_cast<double>(token)).epsilon(0.001));
}

TEST_CASE("a hybrid is replayed as it is walked") {
  auto j = whole_job(R"({"model": {"model_type": "qwen3_5_text", "num_hidden_layers": 8, "hidden_size": 1024, "intermediate_size": 2048, "vocab_size": 4096,
                                   "linear_num_value_heads": 8, "linear_num_key_heads": 4},
                         "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "optimizer": "adamw", "batch": {"micro": 2, "sequence": 1024}})");
  for (const auto kernels : {recurrence::fused, recurrence::eager}) {
    for (const auto mode : {recompute::none, recompute::full}) {
      j.recurrence = kernels;
      j.recompute = mode;
      REQUIRE(replays(j));
      const auto walked = static_cast<double>(estimate(j).ranks[0].allocated.count());
      // PyTorch's operations make many tensors of a few MiB: ends of their blocks are not cut off.
      CHECK(replayed(j) == doctest::Approx(walked).epsilon(kernels == recurrence::fused ? 1e-9 : 0.003));
    }
  }
}

TEST_CASE("linear attention costs time in proportion to the sequence") {
  auto j = whole_job(R"({"model": {"model_type": "qwen3_next", "full_attention_interval": 128}, "precision": "bf16", "batch": {"micro": 1, "sequence": 4096}})");
  const auto once = model_flops(j.model, 1, 4096), twice = model_flops(j.model, 1, 8192);
  CHECK(twice.value == doctest::Approx(2 * once.value).epsilon(1e-9));
  j.model.pattern = {};
  CHECK(model_flops(j.model, 1, 8192).value > 2.2 * model_flops(j.model, 1, 4096).value);
}

TEST_CASE("Mamba-2 from its configuration to a report") {
  auto j = whole_job(R"({"model": {"model_type": "mamba2", "num_hidden_layers": 4}, "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "batch": {"micro": 1, "sequence": 2048}})");
  CHECK(j.model.kind_of(3) == layer_kind{mixer_kind::mamba2, alone});
  // zxbcdt, the scan's result and eight roots a token, of an in-projection of 18560 features; the norm, of the fp32 stream, and its result.
  j.recurrence = recurrence::fused;
  CHECK(saved(j, {mixer_kind::mamba2, alone}) == 2048 * (2 * 18560 + 2 * 8192 + 4 * 8 + 4 * 4096 + 4 + 2 * 4096 + 2 * 4096));
  const auto fused = estimate(j).ranks[0];
  REQUIRE(replays(j));
  CHECK(replayed(j) == doctest::Approx(static_cast<double>(fused.allocated.count())).epsilon(0.003));
  CHECK(cost(j).step.value > 0);
  j.recurrence = recurrence::eager;
  CHECK(estimate(j).ranks[0].allocated > 4 * fused.allocated);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::mixer_in}};
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.fp32_residual"), job_error);
}

TEST_CASE("Nemotron-H's halves of layers, from its configuration to a report") {
  auto j = whole_job(R"({"model": {"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*-", "hidden_size": 1024, "mamba_num_heads": 32, "num_attention_heads": 8,
                                   "num_key_value_heads": 8, "intermediate_size": 4096, "vocab_size": 4096},
                         "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "batch": {"micro": 1, "sequence": 2048}})");
  CHECK(j.model.layers == 5);
  REQUIRE(replays(j));
  CHECK(replayed(j) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(0.003));
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::mixer_out}};
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("PEFT has no adapters for Mamba's out_proj"), job_error);
}

TEST_CASE("a search plans a hybrid: what it reports is what estimate() says of the plan") {
  search s;
  s.job = whole_job(R"({"model": {"model_type": "qwen3_5_text", "num_hidden_layers": 8}, "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "hf-trainer",
                        "precision": "bf16", "sharding": {"kind": "fsdp2", "stage": 3}, "batch": {"micro": 1, "sequence": 4096}})");
  s.open_micro = true;
  s.global_batch = 64;
  const auto found = plan(s, {.top = 3, .threads = 1});
  REQUIRE(!found.best.empty());
  for (const auto& p : found.best) CHECK(estimate(p.job).ranks[0].device == p.outcome.device);
}

TEST_CASE("what is not modelled of recurrent mixers is refused by name") {
  const auto refused = [](const char* more) {
    auto j = io::json_value::parse(R"({"model": {"model_type": "qwen3_next"}, "hardware": {"gpus_per_node": 8}, "batch": {"sequence": 4096}})");
    j.merge_patch(io::json_value::parse(more));
    try {
      estimate(io::read_job(j, io::no_files));
    } catch (const job_error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  CHECK(refused(R"({"framework": {"name": "megatron"}})").find("(model.gated_attention) is not modelled for this framework") != std::string::npos);
  CHECK(refused(R"({"framework": {"name": "torchtitan"}})").find("model.pattern) are not modelled for this framework") != std::string::npos);
  CHECK(refused(R"({"parallel": {"context": 2}})").find("parallel.tensor, context and expert must be 1") != std::string::npos);
  CHECK(refused(R"({"compile": true, "framework": {"name": "torchtune"}})").find("compile must be false") != std::string::npos);
  CHECK(refused(R"({"batch": {"packed": true}, "framework": {"name": "torchtune"}})").find("batch.packed must be false") != std::string::npos);
  CHECK(refused(R"({"model": {"attn_output_gate": false}})").find("attn_output_gate must be true") != std::string::npos);
  CHECK(refused(R"({"model": {"layer_types": ["linear_attention"]}})").find("must be a list of 48 words") != std::string::npos);
  CHECK(refused(R"({"model": {"linear_num_key_heads": 5}})").find("must be a multiple of linear_num_key_heads") != std::string::npos);
}

}  // namespace test_recurrent
