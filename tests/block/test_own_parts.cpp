// Distributed under the Boost Software License, Version 1.0.
// Gemma 3n's residual streams, MiMo-V2's heads of two sizes, RecurrentGemma's recurrence and Nemotron 3's experts of fewer features: what their layers save
// (tests/data/mixers.json), and whole jobs from a configuration on.
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "mixer_points.hpp"

namespace test_own_parts {

using namespace headroom;
using namespace mixer_points;
using nlohmann::json;

namespace {

job whole_job(const json& model, std::int64_t micro = 1, std::int64_t sequence = 2048) {
  json j = json::parse(R"({"framework": "hf-trainer", "hardware": {"gpu": "h100-sxm-80gb"}, "precision": "bf16", "optimizer": "adamw"})");
  j["model"] = model;
  j["batch"] = {{"micro", micro}, {"sequence", sequence}};
  return io::read_job(io::json_value::parse(j.dump()), io::no_files);
}

const json streams = json::parse(R"({"architectures": ["Gemma3nForCausalLM"], "model_type": "gemma3n_text", "num_hidden_layers": 10, "hidden_size": 512, "intermediate_size": 1024, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 64, "hidden_size_per_layer_input": 32, "vocab_size": 4096, "vocab_size_per_layer_input": 4096, "num_kv_shared_layers": 4, "laurel_rank": 16})");
const json two_sizes = json::parse(R"({"architectures": ["MiMoV2FlashForCausalLM"], "model_type": "mimo_v2_flash", "num_hidden_layers": 6, "hidden_size": 512, "intermediate_size": 1024, "moe_intermediate_size": 256,
  "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 96, "v_head_dim": 64, "n_routed_experts": 8, "num_experts_per_tok": 2, "vocab_size": 4096})");
const json recurrence = json::parse(R"({"architectures": ["RecurrentGemmaForCausalLM"], "model_type": "recurrent_gemma", "num_hidden_layers": 3, "hidden_size": 512, "intermediate_size": 3072,
  "num_attention_heads": 4, "num_key_value_heads": 1, "lru_width": 640, "vocab_size": 4096})");
const json narrow = json::parse(R"({"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "hybrid_override_pattern": "E*E*", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2,
  "head_dim": 64, "n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 256, "moe_shared_expert_intermediate_size": 384, "moe_latent_size": 128, "vocab_size": 4096})");

/// What a layer of a kind saves, its experts among it.
std::int64_t saves(const job& j, layer_kind kind) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, kind, trained_modules(j, 0), s.model.experts.count, true).saved.total.count();
}

void runs_whole(const json& model, double apart) {
  CAPTURE(model["model_type"].get<std::string>());
  auto j = whole_job(model);
  REQUIRE(replays(j));
  for (const auto mode : {recompute::none, recompute::full}) {
    j.recompute = mode;
    CHECK(static_cast<double>(replay(j).ranks[0].allocated.count()) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(apart));
  }
  CHECK(cost(j).step.value > 0);
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
}

void refuses(const json& model, const auto& change, const char* with) {
  auto j = whole_job(model);
  change(j);
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains(with), job_error);
}

}  // namespace

TEST_CASE("layers over several residual streams save what was counted, to the byte") {
  const auto points = counted_points({"Gemma3nForCausalLM"});
  REQUIRE(points.size() == 1);
  for (const auto& p : points) {
    check_parameters(p);
    auto j = job_of(p);
    j.framework.attention.copies_output = false;  // queries are turned with positions before heads, and so is the kernel's result
    // The first layer is said to save the model's cos and sin, too, and the embeddings of both layers.
    const std::int64_t angles = 2 * 192 * 8 * 2, inputs = 2 * 192 * 2 * 8 * 2;
    CHECK(saves(j, j.model.kind_of(0)) == p["layers"][0]["saved_bytes"].get<std::int64_t>() - angles - inputs);
    CHECK(saves(j, j.model.kind_of(1)) == p["layers"][1]["saved_bytes"].get<std::int64_t>());
    const auto r = estimate(j).ranks[0];
    const auto states = r.at_peak[row::model_parameters] + r.at_peak[row::optimizer_state] + r.at_peak[row::master_parameters];
    CHECK(static_cast<double>((r.allocated - states).count()) == doctest::Approx(p["backward_peak_bytes"].get<double>()).epsilon(0.015));
    // What stands around the layers, by hand: x0 and its length; of each other stream what its matrix makes, that times the length, a mean and its root; behind
    // the last layer the same over all streams, the norm in front of the head, the head's input, the tanh of the logits; of all layers' embeddings a norm.
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    const std::int64_t tokens = 2 * 192, x = tokens * 96 * 2, number = tokens * 2, others = 3 * (2 * x + 2 * number);
    const auto before = walk_forward(embedding(sc, trained_modules(j, -1))).saved.count();
    const std::int64_t rows = tokens * 2, own = 2 * 4 * rows * 8 + 2 * 4 * rows + 4 * 8;
    CHECK(before == x + 2 * number + others + 4 + own);
    const auto head = walk_forward(head_and_loss(sc, trained_modules(j, -1), true)).saved.count();
    auto one = sc;
    auto plain = s.model;
    plain.altup = {};
    one.model = &plain;
    CHECK(head - walk_forward(head_and_loss(one, trained_modules(j, -1), true)).saved.count() == 4 * x + 2 * number + others + 4);
  }
}

TEST_CASE("gates that are cut leave a deviation, a number and what is cut") {
  const auto j = whole_job(streams);
  const std::int64_t tokens = 2048, cut = 2 * tokens * 1024 + 512 + 2 * tokens;  // in 16 bits; the number has a block of its own
  CHECK(saves(j, {mixer_kind::attention, feed_forward_kind::cut}) - saves(j, {mixer_kind::attention, feed_forward_kind::dense}) == cut);
}

TEST_CASE("layers with heads of two sizes save what was counted, to the byte") {
  const auto points = counted_points({"MiMoV2FlashForCausalLM"});
  REQUIRE(points.size() == 1);
  for (auto p : points) {
    check_parameters(p);
    const auto j = job_of(p);
    // cos and sin of three angles, twice: the first layer of each kind is said to save them.
    const std::int64_t angles = 2 * 192 * 6 * 2;
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(i);
      const auto kind = j.model.kind_of(static_cast<std::int64_t>(i));
      CHECK(kind_points::first_readers{}.of(settle(j), kind) == angles);
      CHECK(saves(j, kind) == p["layers"][i]["saved_bytes"].get<std::int64_t>() - (i < 2 ? angles : 0) - (kind.sparse() ? of_groups(p, j.model) : 0));
    }
  }
  // Values narrower than keys: of a token, what weighs them, they themselves and what is made of them have fewer features.
  auto j = whole_job(two_sizes);
  j.attention = attention::eager;
  const auto narrow_values = saves(j, j.model.kind_of(0));
  j.model.value_dim = 96;
  CHECK(saves(j, j.model.kind_of(0)) - narrow_values == 2 * 2048 * 2 * 8 * (96 - 64));
  CHECK(count(whole_job(two_sizes).model).frozen.count() == 8 * 4);  // sinks of layers 1 to 4
}

TEST_CASE("layers of a gated linear recurrence save what was counted, to the byte") {
  const auto points = counted_points({"RecurrentGemmaForCausalLM"});
  REQUIRE(points.size() == 2);
  for (const auto& p : points) {
    CAPTURE(p["name"].get<std::string>());
    check_parameters(p);
    auto j = job_of(p);
    j.framework.attention.copies_output = false;
    CHECK(saves(j, j.model.kind_of(0)) == p["layers"][0]["saved_bytes"].get<std::int64_t>());
    CHECK(saves(j, j.model.kind_of(1)) == p["layers"][1]["saved_bytes"].get<std::int64_t>());
    CHECK(saves(j, j.model.kind_of(2)) == p["layers"][2]["saved_bytes"].get<std::int64_t>() - 2 * j.batch.sequence * 8 * 2);  // its cos and sin
  }
  // In fp32 a position's gate is a view, saved once for all: nothing but its state and the first one's zero is made for it, and all have 4 bytes.
  auto j = job_of(points[1]);
  j.precision = precisions::fp32;
  // Nineteen tensors of all channels: the norm's input and what it scales; what both matrices read; the gelu's input and result; the convolution's input, and of its
  // result a copy by heads; both gates; one gate scaled, its power, the square of that, what is left of one; what comes in, gated and scaled, and the scale;
  // the gate that begins anew, states, the scan's result, and what the last matrix reads. The convolution gives three positions more.
  const std::int64_t n = 2 * 128 * 64;
  CHECK(saves(j, {mixer_kind::rg_lru, feed_forward_kind::none}) == 19 * 4 * n + 4 * 256 + 4 * 64 + 4 * 2 * 131 * 64 + 4 * 64 + 2 * 128);
}

TEST_CASE("experts of fewer features stand between two matrices") {
  // By hand: experts read and write 128 features for 512, three of them a token, in 16 bits; two matrices keep what they read.
  auto j = whole_job(narrow);
  const auto kind = j.model.kind_of(0);
  const auto here = saves(j, kind);
  j.model.experts.latent = 0;
  const std::int64_t tokens = 2048, rows = 3 * tokens;
  // What goes in (for the first product and, weighed, for the sum), and what the second matrix reads; the first matrix reads the norm's result, which is kept anyway.
  CHECK(saves(j, kind) - here == 2 * rows * 2 * (512 - 128) - 2 * tokens * 128);
  CHECK(count(whole_job(narrow).model).total.count() - count(j.model).total.count() == 2 * (2 * 512 * 128 - 8 * 2 * 256 * (512 - 128)));
  runs_whole(narrow, 0.02);
  refuses(narrow, [](job& o) { o.framework.experts = {}; }, "as transformers 5 runs them");
  refuses(narrow, [](job& o) { o.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::shared_up}}; }, "without adapters on shared experts by name");
}

TEST_CASE("from a configuration to a report") {
  runs_whole(streams, 0.01);
  runs_whole(two_sizes, 0.02);
  runs_whole(recurrence, 0.045);  // tensors of little more than 1 MiB: what is left of their blocks stays with them
  const auto m = whole_job(streams).model;
  CHECK(m.kind_of(4).mixer == mixer_kind::global_attention);
  CHECK(m.kind_of(5).mixer == mixer_kind::attention);
  CHECK(m.kind_of(6).mixer == mixer_kind::shared_attention);
  CHECK(m.kind_of(9).mixer == mixer_kind::shared_global_attention);
  // A checkpoint keeps all streams.
  auto j = whole_job(streams);
  j.recompute = recompute::full;
  const auto deep = estimate(j).ranks[0].allocated.count();
  const json two = [] {
    auto c = streams;
    c["altup_num_inputs"] = 2;
    return c;
  }();
  auto fewer = whole_job(two);
  fewer.recompute = recompute::full;
  CHECK(deep - estimate(fewer).ranks[0].allocated.count() > 10 * 2 * 2048 * 512 * 2);
}

TEST_CASE("Gemma 3n E4B and MiMo-V2-Flash count as their classes do") {
  auto e4b = streams;
  e4b.update({{"vocab_size", 262400}, {"vocab_size_per_layer_input", 262144}, {"hidden_size", 2048}, {"hidden_size_per_layer_input", 256}, {"intermediate_size", 16384}, {"num_hidden_layers", 35},
              {"num_attention_heads", 8}, {"head_dim", 256}, {"num_kv_shared_layers", 15}, {"laurel_rank", 64}});
  const auto m = io::model_from_config(e4b);
  CHECK(count(m).total.count() == 6'835'235'568);  // tests/data/models_2026.json
  CHECK(m.kind_of(9).feeds == feed_forward_kind::cut);
  CHECK(m.kind_of(10).feeds == feed_forward_kind::dense);
  CHECK(m.kind_of(20).mixer == mixer_kind::shared_attention);
  const json seeing = {{"architectures", {"Gemma3nForCausalLM"}}, {"model_type", "gemma3n"}, {"text_config", e4b}};
  CHECK(io::model_from_config(seeing) == m);
  const auto mimo = io::model_from_config({{"architectures", {"MiMoV2FlashForCausalLM"}}, {"model_type", "mimo_v2_flash"}});
  CHECK(count(mimo).total.count() == 308'778'768'832);  // XiaomiMiMo/MiMo-V2-Flash there, whose sizes are the class's
  CHECK(mimo.kind_of(0) == layer_kind{mixer_kind::global_attention, feed_forward_kind::dense});
  CHECK(mimo.kind_of(1) == layer_kind{mixer_kind::attention, feed_forward_kind::experts});
}

TEST_CASE("Gemma 4 without towers is Gemma 4's text model without embeddings for each layer and experts") {
  json c = {{"architectures", {"Gemma4UnifiedForCausalLM"}}, {"model_type", "gemma4_unified_text"}, {"num_hidden_layers", 12}, {"hidden_size", 96}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
            {"num_global_key_value_heads", 1}, {"attention_k_eq_v", true}, {"intermediate_size", 160}, {"num_kv_shared_layers", 4}, {"use_double_wide_mlp", true}};
  const auto m = io::model_from_config(c);
  check_counts_agree(c);
  CHECK(io::model_from_config({{"architectures", {"Gemma4UnifiedForCausalLM"}}, {"model_type", "gemma4_unified"}, {"text_config", c}}) == m);
  auto other = c;
  other["architectures"] = {"Gemma4ForCausalLM"}, other["model_type"] = "gemma4_text", other["hidden_size_per_layer_input"] = 0;
  CHECK(io::model_from_config(other) == m);
  c["enable_moe_block"] = true;
  CHECK_THROWS_WITH_AS(io::model_from_config(c), doctest::Contains("enable_moe_block is not known for"), job_error);
}

TEST_CASE("a list of layers whose beginning repeats is read to its end") {
  // Mamba-2, attention, Mamba-2, Mamba-2: three layers repeat, and of those the first two would, if the fourth were not there.
  const json list = {{"architectures", {"NemotronHForCausalLM"}}, {"model_type", "nemotron_h"}, {"layers_block_type", {"mamba", "attention", "mamba", "mamba"}}, {"hidden_size", 64}, {"vocab_size", 101}};
  CHECK(io::model_from_config(list).kind_of(3).mixer == mixer_kind::mamba2);
  check_counts_agree(list);
  std::mt19937 random(37);
  for (int i = 0; i < 60; ++i) {
    const bool gemma = i % 2 == 0;
    std::vector<std::string> words(3 + random() % 8);
    for (auto& w : words) w = random() % 2 == 0 ? (gemma ? "full_attention" : "attention") : gemma ? "sliding_attention" : "mamba";
    if (gemma) words.back() = "full_attention";
    json c = list;
    if (gemma) c = {{"architectures", {"Gemma4ForCausalLM"}}, {"model_type", "gemma4_text"}, {"hidden_size", 64}, {"num_hidden_layers", words.size()}, {"vocab_size", 101}, {"vocab_size_per_layer_input", 64}};
    c[gemma ? "layer_types" : "layers_block_type"] = words;
    CAPTURE(c.dump());
    check_counts_agree(c);
  }
}

TEST_CASE("MiMo-V2-Flash by name is what its configuration says") {
  REQUIRE(models::find("XiaomiMiMo/MiMo-V2-Flash") != nullptr);
  auto known = *models::find("XiaomiMiMo/MiMo-V2-Flash");
  const auto read = io::model_from_config({{"architectures", {"MiMoV2FlashForCausalLM"}}, {"model_type", "mimo_v2_flash"}});
  known.label = read.label, known.max_positions = read.max_positions;
  CHECK(known == read);
  CHECK(count(known).total.count() == 308'778'768'832);  // tests/data/models_2026.json
}

TEST_CASE("random configurations are walked as they are counted") {
  std::mt19937 random(31);
  const auto any = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  for (int i = 0; i < 240; ++i) {
    const int family = i % 4;
    const char* classes[] = {"Gemma3nForCausalLM", "MiMoV2FlashForCausalLM", "RecurrentGemmaForCausalLM", "NemotronHForCausalLM"};
    const char* types[] = {"gemma3n_text", "mimo_v2_flash", "recurrent_gemma", "nemotron_h"};
    json c = {{"architectures", {classes[family]}}, {"model_type", types[family]}};
    const auto maybe = [&](const char* key, std::initializer_list<int> of) {
      if (any({0, 1, 2}) > 0) c[key] = any(of);
    };
    maybe("hidden_size", {64, 96});
    if (family < 3) maybe("num_hidden_layers", {1, 4, 7, 12});
    maybe("intermediate_size", {96, 160, 161});
    c["num_attention_heads"] = any({4, 8});
    c["num_key_value_heads"] = any({1, 2});
    maybe("vocab_size", {101, 256});
    if (any({0, 1}) > 0) c["tie_word_embeddings"] = any({0, 1}) == 1;
    if (family < 3 && any({0, 1}) > 0) c["attention_bias"] = any({0, 1}) == 1;
    if (family == 0) {
      maybe("hidden_size_per_layer_input", {8, 16}), maybe("vocab_size_per_layer_input", {64, 256}), maybe("head_dim", {8, 16}), maybe("laurel_rank", {4, 8}), maybe("altup_num_inputs", {2, 3, 4});
      c["num_kv_shared_layers"] = any({0, 0, 2, 5});
      if (c.value("num_hidden_layers", 35) < 12) c["num_kv_shared_layers"] = 0;
    } else if (family == 1) {
      maybe("head_dim", {8, 16}), maybe("v_head_dim", {8, 16}), maybe("n_routed_experts", {4, 8}), c["num_experts_per_tok"] = any({1, 2}), maybe("moe_intermediate_size", {16, 32});
    } else if (family == 2) {
      maybe("head_dim", {8, 16}), maybe("lru_width", {64, 128}), maybe("conv1d_width", {2, 4});
      if (any({0, 1}) > 0) c["block_types"] = any({0, 1}) == 1 ? json{"recurrent", "attention"} : json{"attention", "recurrent", "recurrent"};
    } else {
      c["hybrid_override_pattern"] = any({0, 1}) == 1 ? "ME*-E" : "EE*";
      maybe("moe_latent_size", {16, 32}), maybe("n_routed_experts", {4, 8}), maybe("moe_intermediate_size", {16, 32}), maybe("moe_shared_expert_intermediate_size", {16, 40});
      if (any({0, 1}) > 0) c["mlp_bias"] = true;
      if (c.contains("moe_latent_size") && any({0, 1, 2}) == 0) c["moe_latent_size"] = nullptr;
    }
    CAPTURE(c.dump());
    check_counts_agree(c);
  }
}

TEST_CASE("what these are not walked with") {
  const auto unread = [](json c, const char* key, const json& value, const char* with) {
    c[key] = value;
    CHECK_THROWS_WITH_AS(io::model_from_config(c), doctest::Contains(with), job_error);
  };
  unread(streams, "altup_correct_scale", false, "altup_correct_scale must be true");
  unread(streams, "altup_coef_clip", nullptr, "altup_coef_clip must be a number");
  unread(streams, "activation_sparsity_pattern", json::array({0.5}), "must be a list of 10 numbers");
  unread(streams, "activation_sparsity_pattern", std::vector<double>(10, 1.0), "from 0 to below 1");
  unread(streams, "intermediate_size", {96, 96}, "must be a number, or a list of 10");
  unread(streams, "intermediate_size", {96, 128}, "must be one for all layers");
  unread(streams, "num_kv_shared_layers", 10, "must leave a layer with keys of its own");
  unread(recurrence, "lru_width", 642, "lru_width must be a multiple of num_attention_heads");
  unread(recurrence, "block_types", json::array({"mamba"}), "must hold recurrent and attention alone");
  auto own_code = two_sizes;
  own_code["auto_map"] = {{"AutoModelForCausalLM", "modeling_mimo_v2_flash.MiMoV2FlashForCausalLM"}};
  unread(own_code, "swa_num_key_value_heads", 8, "swa_num_key_value_heads must be 4");
  CHECK_NOTHROW(io::model_from_config(own_code));
  unread({{"architectures", {"Gemma3nForConditionalGeneration"}}, {"model_type", "gemma3n"}}, "text_config", streams, "its towers for pictures and sound");

  refuses(streams, [](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear}; }, "several residual streams");
  refuses(streams, [](job& j) { j.kernels = {fused_kernel::norm}; }, "kernels must be empty");
  refuses(streams, [](job& j) { j.model.layer_input = {}; }, "model.altup needs model.layer_input");
  refuses(streams, [](job& j) { j.model.altup.streams = 1; }, "at least 2");
  refuses(streams, [](job& j) { j.model.altup.streams = 0; }, "+cut, need");
  refuses(two_sizes, [](job& j) { j.attention = attention::flash; }, "attention must be eager");
  refuses(two_sizes, [](job& j) { j.compile = true; }, "compile");
  refuses(two_sizes, [](job& j) { j.model.qk_norm = true; }, "model.fixed_sinks, which model.value_dim needs");
  refuses(two_sizes, [](job& j) { j.model.fixed_sinks = false; }, "model.fixed_sinks, which model.value_dim needs");
  refuses(recurrence, [](job& j) { j.attention = attention::eager; }, "attention must be sdpa");
}

}  // namespace test_own_parts
