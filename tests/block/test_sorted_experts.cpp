// Distributed under the Boost Software License, Version 1.0.
// Routed experts in grouped products, against counts of unique storages made with torch.autograd.graph.saved_tensors_hooks around transformers'
// own modules (tests/data/saved_experts.json), and against arithmetic on paper.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace test_sorted_experts {

using namespace headroom;

namespace {

using json = nlohmann::json;

std::int64_t first_of(const json& c, std::initializer_list<const char*> keys) {
  for (const auto* key : keys)
    if (c.contains(key)) return c[key];
  return 0;
}

bool is(const std::string& name, std::string_view family) { return name.starts_with(std::string(family) + "-"); }

shape shape_of(const std::string& name, const json& c) {
  shape m{.layers = 1, .hidden = c["hidden_size"], .heads = 4, .ffn = 64, .vocab = 32};
  auto& e = m.experts;
  e.count = first_of(c, {"num_local_experts", "n_routed_experts", "num_experts"});
  e.active = c["num_experts_per_tok"];
  e.ffn = first_of(c, {"moe_intermediate_size", "intermediate_size"});
  e.shared = first_of(c, {"n_shared_experts", "num_shared_experts"});
  e.shared_ffn = e.shared * first_of(c, {"moe_shared_expert_intermediate_size", "moe_intermediate_size"});
  if (c.contains("shared_expert_intermediate_size")) {
    e.shared = 1;
    e.shared_ffn = c["shared_expert_intermediate_size"];
    e.shared_gate = m.norm_offset = true;
  }
  if (is(name, "GptOss")) e.bias = e.router_bias = m.fp32_norm = true;
  if (is(name, "MiniMax") || is(name, "MiniMaxM2")) e.fp32_weights = true;
  if (is(name, "NemotronH")) m.mlp = mlp_kind::plain, m.activation = activation_kind::relu2;
  return m;
}

job job_of(const shape& m, const json& p) {
  job j;
  j.model = m;
  j.hardware.gpu = gpus::cpu;
  j.framework = frameworks::libtorch;
  j.framework.experts = frameworks::hf_trainer.experts;
  j.precision = p["dtype"] == "float32" ? precisions::fp32 : precisions::bf16;
  j.batch = {.micro = p["b"], .sequence = p["s"]};
  return j;
}

std::int64_t saved(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_forward(sorted_experts_block(sc, trained_modules(j, 0), true)).saved.count();
}

/// DeepSeek's choice among groups of experts hands three tensors to autograd whose results nobody reads: its graph, and they, are gone when the
/// router returns. The two best of each group and the groups chosen (int64), and which experts lie outside those (bool).
std::int64_t of_groups(const json& p, const shape& m) {
  const auto& c = p["config"];
  const std::string name = p["name"];
  if (!c.contains("n_group") && !is(name, "Glm4MoeLite") && !is(name, "SolarOpen")) return 0;
  const std::int64_t tokens = p["b"].get<std::int64_t>() * p["s"].get<std::int64_t>();
  return tokens * (2 * 8 * c.value("n_group", 1) + 8 * c.value("topk_group", 1) + m.experts.count);
}

}  // namespace

TEST_CASE("a sparse half saves what was counted, to the byte") {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/saved_experts.json");
  int seen = 0;
  const auto points = json::parse(file)["points"];
  for (const auto& p : points) {
    const std::string name = p["name"];
    CAPTURE(name);
    const auto m = shape_of(name, p["config"]);
    std::int64_t counted = -of_groups(p, m);
    for (const auto& bytes : p["saved"]) counted += bytes.get<std::int64_t>();
    CHECK(saved(job_of(m, p)) == counted);
    ++seen;
  }
  CHECK(seen == 26);
}

// 96 tokens, of which each visits two of four experts. Parameters are fp32, and so are the rows that both products read and make; the router is
// an autocast linear layer, whose input and weight are copied to bf16, and its result bf16.
TEST_CASE("under autocast the products run in the weights' format") {
  constexpr std::int64_t tokens = 96, h = 64, f = 48, e = 4, k = 2;
  job j{.model = {.layers = 1, .hidden = h, .heads = 4, .ffn = 64, .vocab = 32}, .framework = frameworks::hf_trainer, .precision = precisions::bf16_autocast, .batch = {.micro = 1, .sequence = tokens}};
  j.model.experts = {.count = e, .active = k, .ffn = f};
  j.hardware.gpu = gpus::cpu;
  constexpr std::int64_t norm = 4 * h + 4 + 4 * h;
  constexpr std::int64_t router = 2 * h + 4 * e + 8 * k + 4 * k + 4;
  // A row of an expert: itself, gate and up, the function's result, their product, the result and its weight; three orders and a mask.
  constexpr std::int64_t row = 4 * h + 2 * 4 * f + 4 * f + 4 * f + 4 * h + 2 + 3 * 8 + 1;
  CHECK(saved(j) == tokens * (norm + router + k * row) + 2 * e * h + 4 * e);
  j.model.experts.fp32_weights = true;  // MixtralTopKRouter: they are fp32 as the softmax made them
  CHECK(saved(j) == tokens * (norm + router + k * (row + 2)) + 2 * e * h + 4 * e);
}

TEST_CASE("a gate without a shared expert is none") {
  job j{.model = models::qwen3_30b_a3b, .hardware = {.gpu = gpus::cpu}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 8}};
  const auto without = saved(j);
  j.model.experts.shared_gate = true;
  CHECK(saved(j) == without);
}

// Of each token two rows: gathered in bf16, the function's, … : the tallest moment of a forward without a graph stands at the sum, where Python
// names the gathered rows and the last product beside what is brought back.
TEST_CASE("what the function's names hold without a graph") {
  constexpr std::int64_t tokens = 4096, h = 1024, f = 16, k = 2;
  job j{.model = {.layers = 1, .hidden = h, .heads = 4, .ffn = 64, .vocab = 32}, .framework = frameworks::libtorch, .precision = precisions::bf16, .batch = {.micro = 1, .sequence = tokens}};
  j.framework.experts = frameworks::hf_trainer.experts;
  j.model.experts = {.count = 4, .active = k, .ffn = f};
  j.hardware.gpu = gpus::cpu;
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto peak = walk_forward(sorted_experts_block(sc, trained_modules(j, 0), true), recording::off).peak.total.count();
  // The stream and its norm, three tensors of k rows a token (one of them sorted and not, for a moment), the sum.
  constexpr std::int64_t stream = 2 * tokens * h;
  CHECK(peak >= (2 + 4 * k) * stream);
  CHECK(peak <= (2 + 4 * k) * stream + stream / 4);
}

TEST_CASE("all experts of a layer are two parameters, to ZeRO and FSDP alike") {
  job j{.model = models::qwen3_30b_a3b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .sharding = zero(3), .batch = {.micro = 1, .sequence = 512}};
  constexpr std::int64_t gate_up = 128 * 2 * 768 * 2048;
  CHECK(states(j).largest == parameters{gate_up});
  j.framework = frameworks::deepspeed_202410;
  CHECK(states(j).largest == parameters{151'936 * 2048});  // the embedding
  CHECK(states(j).total == parameters{count(j.model).total});
  const auto list = weights_of(models::gpt_oss_20b);
  int experts = 0, kept = 0;
  for (const auto& w : list) experts += w.expert ? 1 : 0;
  j.framework = frameworks::deepspeed;
  j.model = models::gpt_oss_20b;
  const auto joined = kept_weights(settle(j), list);
  for (const auto& w : joined) kept += w.expert ? 1 : 0;
  CHECK(experts == 6);
  CHECK(kept == 4);  // gate_up_proj, down_proj and a bias of each
  CHECK(count(joined, j.model.experts).total == count(list, j.model.experts).total);
}

TEST_CASE("what one parameter of all experts cannot be") {
  const job plain{.model = models::qwen3_30b_a3b, .hardware = {.gpu = gpus::h200_sxm_141gb, .gpus_per_node = 8}, .framework = frameworks::hf_trainer, .sharding = fsdp2(), .batch = {.micro = 1, .sequence = 512}};
  CHECK_NOTHROW(estimate(plain));
  const auto refuses = [&](const auto& change, const char* with) {
    auto j = plain;
    change(j);
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains(with), job_error);
    j.framework = frameworks::hf_trainer_202503;
    CHECK_NOTHROW(estimate(j));
  };
  constexpr module_set experts{module::experts_gate, module::experts_up, module::experts_down};
  refuses([](job& j) { j.trainable = {{.experts = 2}}; }, "trainable.experts must be left out");
  refuses([](job& j) { j.trainable = {{.modules = {module::experts_up}}}; }, "trainable.modules must have both or neither");
  refuses([&](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = experts, .format = formats::bf16}; }, "adapter.targets must be without");
  refuses([](job& j) { j.sharding = ddp(), j.optimizer = optimizers::adafactor; }, "parameters of three dimensions");
  const auto attention = adapter{.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}, .format = formats::bf16};
  refuses([&](job& j) { j.sharding = {}, j.hardware.gpus_per_node = 1, j.adapter = attention, j.adapter.base = formats::nf4; }, "adapter.base_skips must have experts");
  auto beside = plain;  // adapters elsewhere, over the experts as they are
  beside.adapter = attention;
  CHECK_NOTHROW(estimate(beside));
  CHECK_FALSE(estimate(plain).assumptions.has(assumption::balanced_routing));
}

TEST_CASE("families whose experts were parameters before transformers 5, too") {
  // transformers of 2025-11: GptOssExperts, Llama4TextExperts, DbrxExpertGLU and Qwen3VLMoeTextExperts hold nn.Parameter; Mixtral's experts are nn.Linear.
  const auto over = [](const shape& m) { return job{.model = m, .hardware = {.gpu = gpus::h200_sxm_141gb, .gpus_per_node = 1}, .framework = frameworks::hf_trainer_202503, .batch = {.micro = 1, .sequence = 512, .images = {.none = m.vision.layers > 0}},
                                                .adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::fp32}}; };
  CHECK_NOTHROW(estimate(over(models::mixtral_8x7b)));
  for (const auto* m : {&models::gpt_oss_20b, &models::llama_4_scout, &models::dbrx, &models::qwen3_vl_30b_a3b}) {
    CAPTURE(m->label.view());
    auto j = over(*m);
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("PEFT puts no adapters on them: adapter.targets must be without experts_gate"), job_error);
    for (const auto* other : {&frameworks::torchtune_202409, &frameworks::litgpt_202410}) {  // whose layers are their own
      auto own = j;
      own.framework = *other;
      const auto why = objection_to(own);
      CHECK((!why || std::string_view{why.sentence}.find("PEFT puts no adapters") == std::string_view::npos));
    }
    j.adapter.targets = {module::q_proj, module::v_proj};
    CHECK_NOTHROW(estimate(j));
    j.adapter.base = formats::nf4;
    j.adapter.base_skips = {module::head};
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("bitsandbytes leaves them as they are: adapter.base_skips must have experts"), job_error);
    j.adapter.base_skips = {module::head, module::experts_gate, module::experts_up, module::experts_down};
    CHECK_NOTHROW(estimate(j));
    j.adapter = {};
    if (m->experts.parameters)
      CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("framework.version must be of 2026"), job_error);
    else if (m->vision.layers == 0)
      CHECK_NOTHROW(estimate(j));
  }
}

}  // namespace test_sorted_experts
