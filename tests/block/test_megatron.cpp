// Distributed under the Boost Software License, Version 1.0.
// Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models": the equations of section 4 come out of
// walking Megatron's layer, for a GPT with dropout in 16-bit numbers. s sequence, b micro-batch, h hidden, a heads, t tensor.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_megatron {

using namespace headroom;

namespace {

struct sizes {
  std::int64_t s, b, h, a, t;
};

/// A GPT-3-like layer (22B of the paper, table 3: h 6144, a 64) on a CPU's granule, so that bytes are not rounded.
job gpt(const sizes& z, bool sequence_parallel, attention kernel) {
  job j;
  j.model = {.layers = 4, .hidden = z.h, .heads = z.a, .ffn = 4 * z.h, .mlp = mlp_kind::plain, .activation = activation_kind::gelu,
             .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true,
             .position = position_kind::learned, .max_positions = z.s, .vocab = 51200, .tied = true};
  j.hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = z.t};
  j.framework = frameworks::megatron;
  j.parallel = {.data = 1, .tensor = z.t, .sequence = sequence_parallel};
  j.batch = {.micro = z.b, .sequence = z.s};
  j.attention = kernel;
  j.dropout = {{100'000}, {100'000}, {100'000}};
  return j;
}

std::int64_t saved_by_a_layer(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  sc.granule = 1;
  sc.copies_flash_output = false;
  const auto statistics = 2 * 2 * 4 * sc.stream_tokens();  // mean and deviation of two norms: the paper leaves them out
  return detail::walk_divided_layer(sc, trained_modules(j, -1), s.model.kind_of(0), false).saved.total.count() - statistics;
}

constexpr sizes paper{2048, 4, 6144, 64, 8};
constexpr std::int64_t sbh = paper.s * paper.b * paper.h;
constexpr std::int64_t scores = paper.a * paper.s * paper.s * paper.b;  // a·s²·b

}  // namespace

TEST_CASE("equation 1: no parallelism, s·b·h·(34 + 5·a·s/h)") {
  auto z = paper;
  z.t = 1;
  CHECK(saved_by_a_layer(gpt(z, false, attention::eager)) == 34 * sbh + 5 * scores);
}

TEST_CASE("equation 2: tensor parallelism, s·b·h·(10 + 24/t + 5·a·s/(h·t))") {
  for (const std::int64_t t : {2, 4, 8}) {
    auto z = paper;
    z.t = t;
    CHECK(saved_by_a_layer(gpt(z, false, attention::eager)) == 10 * sbh + 24 * sbh / t + 5 * scores / t);
  }
}

TEST_CASE("equation 4: with sequence parallelism, s·b·h/t·(34 + 5·a·s/h)") {
  for (const std::int64_t t : {2, 4, 8}) {
    auto z = paper;
    z.t = t;
    CHECK(saved_by_a_layer(gpt(z, true, attention::eager)) == (34 * sbh + 5 * scores) / t);
  }
}

TEST_CASE("table 2, selective recomputation: 34·s·b·h/t, as a kernel that never writes the scores out") {
  const auto lse = 4 * paper.a * paper.s * paper.b / paper.t;  // such a kernel keeps a number a row in their place
  CHECK(saved_by_a_layer(gpt(paper, true, attention::flash)) == 34 * sbh / paper.t + lse);
}

// Written out, and made again for backward: the same, without the kernel's number a row.
TEST_CASE("table 2, selective recomputation by module: 34·s·b·h/t") {
  auto j = gpt(paper, true, attention::eager);
  j.recompute = {.mode = recompute_mode::selective, .modules = 1U << static_cast<int>(recompute_module::core_attn)};
  CHECK(saved_by_a_layer(j) == 34 * sbh / paper.t);
  // Both norms' outputs, 2·s·b·h each, go with "layernorm".
  j.recompute.modules |= 1U << static_cast<int>(recompute_module::layernorm);
  CHECK(saved_by_a_layer(j) == (34 - 4) * sbh / paper.t);
}

TEST_CASE("table 2, full recomputation: 2·s·b·h, the layer's input") {
  auto j = gpt(paper, false, attention::eager);
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  CHECK(detail::cost_of(detail::walk_divided_layer(sc, trained_modules(j, -1), s.model.kind_of(0), true), true).saved.total.count() == 2 * sbh);
}

namespace {

/// Activations of layers that the first stage holds when most micro-batches are in flight.
std::int64_t first_stage(std::int64_t layers, std::int64_t pipeline, std::int64_t chunks) {
  auto j = gpt(paper, true, attention::eager);
  j.model.layers = layers;
  j.parallel.pipeline = pipeline;
  j.parallel.virtual_pipeline = chunks;
  j.hardware.nodes = pipeline;
  j.batch.accumulation = 8 * pipeline;
  const auto kind = chunks > 1 ? schedule::interleaved : schedule::one_forward_one_backward;
  return in_flight({kind, pipeline, chunks, j.batch.accumulation}, 0) * (layers / (pipeline * chunks)) * saved_by_a_layer(j);
}

}  // namespace

// Section 4.2.3: the first stage holds L layers' worth of activations whatever the pipeline, and L·(1 + (p - 1)/(p·m)) interleaved.
TEST_CASE("the first stage of a pipeline") {
  const auto layer = saved_by_a_layer(gpt(paper, true, attention::eager));
  CHECK(first_stage(96, 8, 1) == 96 * layer);
  CHECK(first_stage(96, 8, 3) == 96 * layer + 96 * layer * 7 / (8 * 3));
}

// Megatron-LM docs, distributed optimizer: bytes of states for a parameter in bf16 with fp32 gradients.
TEST_CASE("states take 18 bytes a parameter, and 6 + 12/d with the distributed optimizer") {
  auto j = gpt(paper, true, attention::flash);
  j.hardware.nodes = 4;
  j.parallel.data = 4;
  const auto n = detail::weights_of_stage(settle(j), weights_of(j.model), 0).dense.count();
  const auto states_with = [&](sharding_kind kind) {
    j.sharding.kind = kind;
    const auto s = settle(j);
    return detail::states_of_stage(s, detail::weights_of_stage(s, weights_of(s.model), 0)).total().count();
  };
  CHECK(states_with(sharding_kind::ddp) == 18 * n);
  CHECK(states_with(sharding_kind::megatron_distributed_optimizer) == 6 * n + 12 * n / 4);
}

TEST_CASE("the parts of all stages make the whole model") {
  for (const std::int64_t t : {1, 2, 8})
    for (const std::int64_t p : {1, 2, 4}) {
      auto j = gpt(paper, false, attention::flash);
      j.model = models::llama_3_1_70b;
      j.parallel.tensor = t;
      j.parallel.pipeline = p;
      j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = t * p};
      const auto s = settle(j);
      const auto list = weights_of(s.model);
      std::int64_t sum = 0;
      for (std::int64_t stage = 0; stage < p; ++stage) sum += t * detail::weights_of_stage(s, list, stage).dense.count();
      // Norms are whole on every tensor-parallel rank: 2 of each layer and the last.
      CHECK(sum == count(s.model).total.count() + (t - 1) * 8192 * (2 * 80 + 1));
    }
}

// moe_utils.py get_capacity: ceil(tokens × active / experts × factor) tokens for each expert, whoever sends them.
TEST_CASE("routed tokens: an even share, a busy rank, and a capacity") {
  shape m{.layers = 1, .hidden = 64, .heads = 8, .ffn = 256, .vocab = 1024, .experts = {.count = 64, .active = 6, .ffn = 32}};
  profile habits = frameworks::megatron;
  scene s;
  s.model = &m;
  s.habits = &habits;
  s.tokens = 4095;
  s.expert = 8;
  const auto route = [&] { return megatron::route(s); };
  CHECK(route().sent == 24'570);
  CHECK(route().received == 24'570);
  s.expert_imbalance = 117;
  CHECK(route().sent == 24'570);
  CHECK(route().received == 28'747);  // 28,746.9
  s.expert = 1;  // all experts are here: whatever the routing, all copies are computed here
  CHECK(route().received == 24'570);
  s.expert = 8;
  m.experts.capacity_factor_percent = 100;  // 383.9 tokens an expert: 384
  CHECK(route().received == 384 * 64);
  CHECK(route().sent == 24'570);
  habits.experts.pads_to_capacity = true;
  CHECK(route().sent == 384 * 64);
  m.experts.capacity_factor_percent = 125;
  CHECK(route().received == 480 * 64);
  s.expert_tensor = 2;
  CHECK(route().computed == 480 * 64);  // the tokens are whole on every tensor-parallel rank
  s.tensor = s.sequence_split = 2;      // … but for sequence parallelism: 2,047 tokens each, 240 an expert
  CHECK(route().received == 240 * 64);
  CHECK(route().computed == 2 * 240 * 64);
}

// TransformerEngine v1.2.1 transformer_engine/pytorch/attention.py, DotProductAttention: "version 2 does not support deterministic execution"; NVIDIA's images have it
// up to torch 2.2. Its own fused kernels are deterministic on Hopper, and FlashAttention that the job names is not TransformerEngine's choice.
TEST_CASE("kernels that must be deterministic, before Hopper and over TransformerEngine 1.2, are none") {
  const auto kernel = [](const gpu& g, attention asked, std::int32_t torch, bool deterministic) {
    job j{.model = models::llama_3_1_8b, .hardware = {.gpu = g}, .framework = frameworks::megatron, .precision = precisions::bf16_mixed, .batch = {.micro = 1, .sequence = 4096}, .attention = asked};
    j.framework.attention.deterministic = deterministic;
    j.environment.torch = torch;
    return settle(j).layer.kernel;
  };
  using enum attention;
  CHECK(kernel(gpus::a100_sxm_80gb, te, 202, true) == eager);
  CHECK(kernel(gpus::a100_sxm_80gb, te, 202, false) == te);
  CHECK(kernel(gpus::a100_sxm_80gb, te, 203, true) == te);
  CHECK(kernel(gpus::a100_sxm_80gb, te, 0, true) == te);
  CHECK(kernel(gpus::h100_sxm_80gb, te, 202, true) == te);
  CHECK(kernel(gpus::a100_sxm_80gb, flash, 202, true) == flash);
}

}  // namespace test_megatron
