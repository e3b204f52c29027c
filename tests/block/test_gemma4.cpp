// Distributed under the Boost Software License, Version 1.0.
// Gemma 4's layers of two sizes: what they save (tests/data/mixers.json), and whole jobs from a configuration on.
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "mixer_points.hpp"

namespace test_gemma4 {

using namespace headroom;
using namespace mixer_points;
using nlohmann::json;

namespace {

job whole_job(const std::string& model) {
  return io::read_job(io::json_value::parse(R"({"model": )" + model + R"(, "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "optimizer": "adamw", "batch": {"micro": 1, "sequence": 4096}})"),
                      io::no_files);
}
const std::string small = R"({"model_type": "gemma4_text", "num_hidden_layers": 6, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 128,
                              "global_head_dim": 256, "num_global_key_value_heads": 2, "attention_k_eq_v": true, "hidden_size_per_layer_input": 0, "vocab_size": 4096})";

}  // namespace

TEST_CASE("layers of both sizes, with embeddings of their own, save what was counted, to the byte") {
  int seen = 0;
  for (auto p : counted_points({"Gemma4"})) {
    CAPTURE(p["name"].get<std::string>());
    check_parameters(p);
    auto j = job_of(p);
    j.framework.attention.copies_output = false;  // queries are turned with positions before heads, and so is the kernel's result
    const auto width = width_of(p), tokens = j.batch.micro * j.batch.sequence;
    for (std::int64_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      auto counted = p["layers"][static_cast<std::size_t>(i)]["saved_bytes"].get<std::int64_t>();
      if (i % 2 == 0) {  // the first of each size is said to save the model's cos and sin, too
        const auto angles = 2 * j.batch.sequence * (i == 0 ? 16 : 512) * width;
        CHECK(kind_points::first_readers{}.of(settle(j), j.model.kind_of(i)) == angles);
        counted -= angles;
      }
      if (i == 0) counted -= tokens * 4 * 8 * width;                                   // and the first of all the embeddings of all four layers
      if (i == 0 && width == 4) counted += tokens * 64 * 4;                            // its input is what those are made of, and counted with them
      ++seen;
      CHECK(saved(j, j.model.kind_of(i)) == counted);
    }
  }
  CHECK(seen == 12);
}

// google/gemma-4-E2B-it and its language model alone, which is a class of its own: beside adapters the towers are weights and nothing else. By hand, of the audio
// tower: two convolutions, 12 layers of 24 squares of 1024, per-dimension scales of 128 features, a convolution of 5 places and nine norms, an output of 1536.
TEST_CASE("towers that are held and never run") {
  constexpr std::int64_t h = 1024, ear = 9 * 128 + 9 * 128 * 32 + 128 + 32 + 32 * 32 * h + 12 * (24 * h * h + h / 8 + 5 * h + 9 * h) + 1536 * h + 1536 + 1536 * 1536;
  constexpr std::int64_t w = 768, eye = 3 * 256 * w + 2 * 10240 * w + 16 * (4 * w * w + 3 * w * 3072 + 2 * 64 + 4 * w) + w * 1536;
  const auto with = [](const char* model, const std::string& more) {
    return io::read_job(io::json_value::parse(R"({"model": )" + std::string{model} + R"(, "hardware": {"gpu": "h100-sxm-80gb"}, "framework": "hf-trainer", "precision": "bf16", "optimizer": "adamw", "batch": {"micro": 2, "sequence": 1024)" + more), io::no_files);
  };
  constexpr const char *silent = R"(, "images": {"none": true}})", *lora = R"(, "adapter": {"kind": "lora", "rank": 16, "targets": ["q_proj", "v_proj"]}})";
  const auto held = with(R"("google/gemma-4-E2B-it")", std::string{silent} + lora);
  CHECK(held.model.vision.held == ear + eye);
  CHECK(count(held.model).total.count() == 5'104'297'504);
  auto alone = held;
  alone.model.vision = {};
  alone.batch.images = {};
  const auto both = estimate(held).ranks[0], text = estimate(alone).ranks[0];
  CHECK(both.allocated - text.allocated == bytes{2 * (ear + eye)} + bytes{(512 - 2 * (ear + eye) % 512) % 512});
  for (const auto r : {row::activations, row::logits, row::gradients, row::optimizer_state, row::adapters}) CHECK(both.at_peak[r] == text.at_peak[r]);
  CHECK(both.at_peak[row::temporaries] == text.at_peak[row::temporaries]);
  // Trained whole on one GPU they never get a gradient, and no state.
  auto whole = held, bare = alone;
  whole.adapter = bare.adapter = {};
  CHECK(estimate(whole).ranks[0].at_peak[row::optimizer_state] == estimate(bare).ranks[0].at_peak[row::optimizer_state]);
  CHECK(cost(held).step.value == doctest::Approx(cost(alone).step.value).epsilon(1e-6));
  const auto refuses = [&](const std::string& more, const char* sentence) { CHECK_THROWS_WITH_AS((void)estimate(with(R"("google/gemma-4-E2B-it")", more)), doctest::Contains(sentence), job_error); };
  constexpr const char* beside = "towers that never run (model.vision.held) are modelled beside whole weights of 16 or 32 bits";
  refuses(std::string{"}"} + lora, "batch.images must be {\"none\": true}, samples of text alone");
  refuses(std::string{R"(, "images": {"count": 1, "width": 512, "height": 512}})"} + lora, "batch.images must be {\"none\": true}, samples of text alone");
  refuses(std::string{silent} + R"(, "adapter": {"kind": "lora", "rank": 16, "targets": ["q_proj"], "base": "nf4"}})", beside);
  refuses(std::string{silent} + R"(, "adapter": {"kind": "lora", "rank": 16, "targets": ["q_proj", "vision"]}})", beside);
  refuses(std::string{silent} + R"(, "sharding": "fsdp2"})", beside);
  refuses(std::string{silent} + R"(, "trainable": [{"modules": ["vision"]}]})", beside);
  auto two = whole;
  two.hardware.gpus_per_node = 2;
  two.sharding = ddp();
  CHECK_THROWS_WITH_AS((void)estimate(two), doctest::Contains("over several GPUs trainable must name modules"), job_error);
}

TEST_CASE("Gemma 4 E2B: keys and values of fifteen layers serve thirty-five") {
  // google/gemma-4-E2B, its text_config, and by hand what Gemma4TextModel builds of it.
  std::vector<std::string> types;
  for (int i = 0; i < 35; ++i) types.emplace_back(i % 5 == 4 ? "full_attention" : "sliding_attention");
  const json config = {{"architectures", {"Gemma4ForCausalLM"}}, {"model_type", "gemma4_text"}, {"global_head_dim", 512}, {"head_dim", 256}, {"hidden_size", 1536}, {"hidden_size_per_layer_input", 256},
                       {"intermediate_size", 6144}, {"layer_types", types}, {"num_attention_heads", 8}, {"num_hidden_layers", 35}, {"num_key_value_heads", 1}, {"num_kv_shared_layers", 20},
                       {"sliding_window", 512}, {"use_double_wide_mlp", true}, {"vocab_size", 262144}, {"vocab_size_per_layer_input", 262144}};
  const auto m = io::model_from_config(config);
  CHECK(m.kind_of(13) == layer_kind{mixer_kind::attention, feed_forward_kind::dense});
  CHECK(m.kind_of(14) == layer_kind{mixer_kind::global_attention, feed_forward_kind::dense});
  CHECK(m.kind_of(15) == layer_kind{mixer_kind::shared_attention, feed_forward_kind::wide});
  CHECK(m.kind_of(34) == layer_kind{mixer_kind::shared_global_attention, feed_forward_kind::wide});
  const std::int64_t h = 1536, local = 2 * h * 8 * 256 + 256, global = 2 * h * 8 * 512 + 512;
  const std::int64_t attention = 28 * local + 7 * global + 12 * (2 * h * 256 + 256) + 3 * (2 * h * 512 + 512);
  const std::int64_t mlps = 15 * 3 * h * 6144 + 20 * 3 * h * 12288, norms = 35 * 5 * h + h, own = 262144LL * 35 * 256 + h * 35 * 256 + 256 + 35 * 2 * h * 256;
  CHECK(count(m).total.count() == 262144LL * h + attention + mlps + norms + own);
  check_counts_agree(config);
}

TEST_CASE("Gemma 4 31B: its text model counts as its class does, with keys for values in every sixth layer") {
  // tests/data/models_2026.json, google/gemma-4-31B: its text_config, whose total the counted reader has of the whole model less the tower.
  const json text = {{"attention_k_eq_v", true}, {"global_head_dim", 512}, {"head_dim", 256}, {"hidden_size", 5376}, {"hidden_size_per_layer_input", 0}, {"intermediate_size", 21504},
                     {"model_type", "gemma4_text"}, {"num_attention_heads", 32}, {"num_global_key_value_heads", 4}, {"num_hidden_layers", 60}, {"num_key_value_heads", 16}, {"sliding_window", 1024}};
  json whole = {{"architectures", {"Gemma4ForCausalLM"}}, {"model_type", "gemma4"}, {"text_config", text}};
  const auto m = io::model_from_config(whole);
  CHECK(m.kind_of(5).mixer == mixer_kind::global_attention);
  CHECK(m.kind_of(6).mixer == mixer_kind::attention);
  // By hand: 50 layers of 5376·256·(32 + 2·16 + 32) + 2·256, 10 of 5376·512·(32 + 4 + 32) + 2·512, and in each an MLP and four norms; the embedding, the last norm.
  const std::int64_t local = 5376LL * 256 * 96 + 512, global = 5376LL * 512 * 68 + 1024, rest = 3LL * 5376 * 21504 + 4 * 5376;
  CHECK(count(m).total.count() == 50 * local + 10 * global + 60 * rest + 262144LL * 5376 + 5376);
  CHECK(count(m).total.count() == 30'697'345'280);
  json seeing = whole;
  seeing["architectures"] = {"Gemma4ForConditionalGeneration"};
  CHECK_THROWS_WITH_AS(io::model_from_config(seeing), doctest::Contains("gemma4"), job_error);
}

TEST_CASE("Gemma 4 from its configuration to a report") {
  auto j = whole_job(small);
  REQUIRE(replays(j));
  for (const auto mode : {recompute::none, recompute::full}) {
    j.recompute = mode;
    CHECK(static_cast<double>(replay(j).ranks[0].allocated.count()) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(0.005));
  }
  CHECK(cost(j).step.value > 0);
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  // Of a token with kernels: the norms' fp32 copies before and behind their scale, each with two numbers a row; and, in 16 bits, what matrices read and
  // attention: four norms of 1024; queries, keys and values. What keys and values are made of is saved once, and their norms read it in fp32.
  j.recompute = recompute::none;
  const std::int64_t norms = 4096 * 4 * (8 * 1024 + 8) + 4 * 4 * 1024, mlp = 4096 * 2 * (1024 + 4 * 4096);
  const std::int64_t q = 8 * 256, kv = 2 * 256;
  const std::int64_t heads = 4096 * (8 * q + 8 * 8 + 8 * kv + 8 * 2 + 4 * kv + 8 * 2) + 2 * 4 * 256, attention = 4096 * (2 * 1024 + 2 * (q + kv + kv + q) + 4 * 8);
  // Keys and values come in fp32 copies of one matrix' result, one for each norm.
  CHECK(saved(j, {mixer_kind::global_attention, feed_forward_kind::dense}) == norms + mlp + heads + attention);
}

TEST_CASE("embeddings of each layer and shared keys are held as long as they are read") {
  auto c = json::parse(small);
  c["hidden_size_per_layer_input"] = 64, c["vocab_size_per_layer_input"] = 4096;
  c["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"};
  c["num_kv_shared_layers"] = 3, c["use_double_wide_mlp"] = true;
  auto j = whole_job(c.dump());
  REQUIRE(replays(j));
  for (const auto mode : {recompute::none, recompute::full}) {
    j.recompute = mode;
    CHECK(static_cast<double>(replay(j).ranks[0].allocated.count()) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(0.005));
  }
  CHECK(cost(j).step.value > 0);
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  const auto peak = [](const job& of) { return estimate(of).ranks[0].allocated.count(); };
  // Frozen, without adapters below: the embeddings have no gradient, and are held all the same.
  j.recompute = recompute::none;
  auto lora = j;
  lora.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}};
  auto none = lora;
  none.model.layer_input = {};
  const std::int64_t inputs = 4096LL * 6 * 64 * 2;
  CHECK(peak(lora) - peak(none) > inputs + (4096LL * 6 * 64 + 1024 * 6 * 64 + 6 * 2 * 1024 * 64) * 2);
  // Sharing layers save queries and what attention gives, and, as torch's own attention reads a mask behind a window, keys and values repeated from 4 to 8 heads and that call's
  // own mask in 16 bits;
  // as they come they are there already. Of a token: the norm of q in fp32, and in 16 bits the normed
  // stream, q, the result; the MLP is twice as wide.
  const std::int64_t norms = 4096 * 4 * (8 * 1024 + 8) + 4 * 4 * 1024, mlp = 4096 * 2 * (1024 + 4 * 8192);
  const std::int64_t q = 8 * 128, heads = 4096 * (8 * q + 8 * 8) + 4 * 128, attention = 4096 * (2 * 1024 + 2 * (q + q) + 4 * 8);
  const std::int64_t own = 4096 * (2 * 1024 + 3 * 2 * 64 + 8 * 1024 + 8) + 4 * 1024;
  CHECK(saved(j, {mixer_kind::shared_attention, feed_forward_kind::wide}) == norms + mlp + heads + attention + own + 4096 * 2 * (q + q) + 4096 * 4096 * 2);
  j.attention = attention::flash;
  CHECK(saved(j, {mixer_kind::shared_attention, feed_forward_kind::wide}) == norms + mlp + heads + attention + own);
}

TEST_CASE("heads of full attention may be said layer by layer") {
  json config = {{"architectures", {"Gemma4ForCausalLM"}}, {"model_type", "gemma4_text"}, {"num_hidden_layers", 12}, {"hidden_size", 64}, {"intermediate_size", 96}, {"num_attention_heads", 4},
                 {"num_key_value_heads", 2}, {"head_dim", 16}, {"vocab_size", 101}, {"hidden_size_per_layer_input", 0}};
  const auto total = [&](const json& by_layer, bool same) {
    auto c = config;
    c["attention_k_eq_v"] = same;
    if (!by_layer.is_null()) c["per_layer_config"] = by_layer;
    check_counts_agree(c);
    return count(io::model_from_config(c)).total.count();
  };
  // The class instantiated with each (transformers of 2026-08-19).
  CHECK(total(nullptr, false) == 1'142'464);
  CHECK(total({{"05", {{"head_dim", 32}, {"num_key_value_heads", 1}}}, {"11", {{"head_dim", 32}, {"num_key_value_heads", 1}}}}, false) == 395'072);
  CHECK(total({{"05", {{"head_dim", 32}, {"num_key_value_heads", 1}}}, {"11", {{"head_dim", 32}, {"num_key_value_heads", 1}}}}, true) == 390'976);
  CHECK(total({{"5", {{"head_dim", 32}}}, {"11", {{"head_dim", 32}}}}, false) == 403'264);
  CHECK(total(json::object(), false) == 378'624);
  for (const json& by_layer : {json{{"2", {{"head_dim", 32}}}, {"5", {{"head_dim", 32}}}, {"11", {{"head_dim", 32}}}}, json{{"5", {{"head_dim", 32}}}, {"11", {{"head_dim", 8}}}}}) {
    config["per_layer_config"] = by_layer;  // a layer behind a window, and heads that differ
    CHECK_THROWS_WITH_AS(io::model_from_config(config), doctest::Contains("per_layer_config must say"), job_error);
  }
}

TEST_CASE("experts beside the MLP save what the class saves, to the byte") {
  // transformers 5.16's Gemma4TextDecoderLayer behind its attention, with grouped_mm_experts_forward, run on a CPU with torch 1.13.1 under saved_tensors_hooks:
  // unique storages without parameters, the layer's scalar and a number that this torch saves where it multiplies by one. Width 64, an MLP of 96, experts of 48.
  // Less the squares that each of six norms keeps for the gradient of their mean, which torch does not keep since 2.
  struct counted {
    std::int64_t b, s, experts, active, parameters, saved;
    const char* precision;
  };
  for (const auto& c : {counted{2, 128, 8, 3, 93'192, 1'959'456, "bf16"}, counted{1, 64, 5, 2, 65'349, 446'100, "bf16"}, counted{2, 64, 8, 3, 93'192, 1'307'552, "fp32"}}) {
    CAPTURE(c.saved);
    json config = json::parse(small);
    config["num_hidden_layers"] = 6, config["hidden_size"] = 64, config["intermediate_size"] = 96;
    config["enable_moe_block"] = true, config["num_experts"] = c.experts, config["top_k_experts"] = c.active, config["moe_intermediate_size"] = 48;
    auto j = whole_job(config.dump());
    j.framework = frameworks::hf_trainer;
    j.hardware.gpu = gpus::cpu;
    j.precision = std::string_view{c.precision} == "bf16" ? precisions::bf16 : precisions::fp32;
    j.batch = {.micro = c.b, .sequence = c.s};
    CHECK(saved(j, {mixer_kind::none, feed_forward_kind::experts}) == c.saved - 6 * c.b * c.s * 64 * 4);
    // Of a layer, behind its attention: count a stack with and without one.
    auto fewer = j.model;
    fewer.pattern = {};
    for (int i = 0; i < 5; ++i) fewer.pattern.add({mixer_kind::attention, feed_forward_kind::experts});
    auto more = fewer;
    more.pattern.add({mixer_kind::none, feed_forward_kind::experts});
    fewer.layers = 5, more.layers = 6;
    // The class's layer has two norms of attention more; of its others, a layer without a mixer lists one in front of the MLP and none behind.
    CHECK((count(more).total - count(fewer).total).count() + 64 == c.parameters - 2 * 64);
  }
}

TEST_CASE("Gemma 4 26B-A4B: experts beside the MLP of every layer") {
  // google/gemma-4-26B-A4B, its text_config (tests/data/models_2026.json), and by hand what Gemma4TextModel builds of it.
  const json config = {{"architectures", {"Gemma4ForCausalLM"}}, {"model_type", "gemma4_text"}, {"attention_k_eq_v", true}, {"enable_moe_block", true}, {"global_head_dim", 512}, {"head_dim", 256},
                       {"hidden_size", 2816}, {"hidden_size_per_layer_input", 0}, {"intermediate_size", 2112}, {"moe_intermediate_size", 704}, {"num_attention_heads", 16}, {"num_experts", 128},
                       {"num_global_key_value_heads", 2}, {"num_hidden_layers", 30}, {"num_key_value_heads", 8}, {"sliding_window", 1024}, {"top_k_experts", 8}};
  const std::int64_t h = 2816, local = h * 256 * (16 + 8 + 8 + 16) + 2 * 256, global = h * 512 * (16 + 2 + 16) + 2 * 512;
  const std::int64_t experts = 128 * 3 * h * 704, active = 8 * 3 * h * 704, rest = 3 * h * 2112 + 128 * h + h + 128 + 7 * h;
  const auto m = io::model_from_config(config);
  const auto n = count(m);
  CHECK(n.total.count() == 25 * local + 5 * global + 30 * (experts + rest) + 262144 * h + h);
  CHECK(n.active.count() == 25 * local + 5 * global + 30 * (active + rest) + 262144 * h + h);
  check_counts_agree(config);
  auto j = whole_job(config.dump());
  j.framework = frameworks::hf_trainer;
  j.hardware.gpus_per_node = 8;
  j.sharding = fsdp2();
  j.recompute = recompute::full;
  REQUIRE(replays(j));
  CHECK(static_cast<double>(replay(j).ranks[0].allocated.count()) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(0.01));
  CHECK(cost(j).step.value > 0);
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  j.framework.experts = {};  // a loop over experts, of transformers before 5
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.experts.beside_mlp"), job_error);
  j = whole_job(config.dump());
  j.model.experts.shared_ffn = 64;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("goes with no shared experts"), job_error);
}

TEST_CASE("what Gemma 4 is not walked with") {
  const auto refused = [](const char* key, const json& value, const char* with) {
    json c = json::parse(small);
    c["architectures"] = {"Gemma4ForCausalLM"};
    c[key] = value;
    CHECK_THROWS_WITH_AS(io::model_from_config(c), doctest::Contains(with), job_error);
  };
  refused("num_kv_shared_layers", 6, "must leave a layer with keys of its own");
  refused("num_kv_shared_layers", 2, "must leave a layer of each kind");
  refused("enable_moe_block", true, "num_experts is missing");
  refused("use_bidirectional_attention", "all", "use_bidirectional_attention must not be");
  refused("per_layer_config", {{"0", {{"head_dim", 8}}}}, "per_layer_config must say head_dim and num_key_value_heads of every layer of full attention");
  refused("per_layer_config", {{"5", {{"intermediate_size", 8}}}}, "per_layer_config must say");
  refused("per_layer_config", {{"5", {{"head_dim", 8}}}, {"6", {{"head_dim", 8}}}}, "per_layer_config must say");
  json last(std::vector<std::string>(6, "sliding_attention"));
  refused("layer_types", last, "layer_types must end with full_attention");
  const auto refuses = [](const auto& change, const char* with) {
    auto j = whole_job(small);
    change(j);
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains(with), job_error);
  };
  refuses([](job& j) { j.kernels = {fused_kernel::norm}; }, "kernels must be empty");
  refuses([](job& j) { j.model.global.head_dim = 512, j.attention = attention::flash; }, "heads of at most 256");
  refuses([](job& j) { j.model.layer_input.width = 64; }, "model.layer_input needs its vocab");
  refuses([](job& j) { j.model.layer_input = {64, 4096}, j.objective.kind = objective_kind::dpo, j.framework = frameworks::hf_trainer; }, "for sft alone");
  refuses([](job& j) { j.model.layer_input = {64, 4096}, j.optimizer.in_backward = true; }, "update in backward");
  refuses([](job& j) { j.model.pattern.add({mixer_kind::shared_attention, feed_forward_kind::dense}), j.model.pattern = {}, j.model.pattern.add({mixer_kind::shared_attention, feed_forward_kind::dense}); },
          "needs one of its own kind in front of it");
  refuses([](job& j) { j.model.global.kv_heads = 3; }, "multiple of model.global.kv_heads");
  refuses([](job& j) { j.model.pattern = {}, j.framework = frameworks::megatron; }, "model.norm_power, value_norm");
}

TEST_CASE("random configurations are walked as they are counted") {
  std::mt19937 random(17);
  const auto any = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  for (int i = 0; i < 200; ++i) {
    json c = {{"architectures", {"Gemma4ForCausalLM"}}, {"model_type", "gemma4_text"}};
    const auto maybe = [&](const char* key, std::initializer_list<int> of) {
      if (any({0, 1, 2}) > 0) c[key] = any(of);
    };
    maybe("hidden_size", {64, 96});
    maybe("hidden_size_per_layer_input", {0, 8, 16});
    maybe("vocab_size_per_layer_input", {64, 256});
    maybe("num_hidden_layers", {1, 4, 7, 12});
    maybe("intermediate_size", {96, 160});
    maybe("num_attention_heads", {4, 8});
    maybe("num_key_value_heads", {1, 2});
    maybe("num_global_key_value_heads", {1, 2});
    maybe("head_dim", {8, 16});
    maybe("global_head_dim", {16, 32});
    maybe("vocab_size", {101, 256});
    for (const char* key : {"attention_bias", "tie_word_embeddings", "attention_k_eq_v", "use_double_wide_mlp"})
      if (any({0, 1}) > 0) c[key] = any({0, 1}) == 1;
    if (any({0, 1, 2}) == 0) c["enable_moe_block"] = true, c["num_experts"] = any({4, 8}), c["top_k_experts"] = any({1, 2}), c["moe_intermediate_size"] = any({16, 48});
    CAPTURE(c.dump());
    check_counts_agree(c);
  }
}

}  // namespace test_gemma4
