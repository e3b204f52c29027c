// Distributed under the Boost Software License, Version 1.0.
// Megatron's fine-grained activation offloading and its CUDA graphs, counted by hand from core/transformer/attention.py,
// core/pipeline_parallel/fine_grained_activation_offload.py and TransformerEngine's pytorch/graph.py. s sequence, b micro-batch,
// h hidden, a heads; x = 2·s·b·h, a tensor of the residual stream.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <utility>

namespace test_offloaded_modules {

using namespace headroom;

namespace {

constexpr std::int64_t s = 1024, b = 2, h = 1024, a = 8;
constexpr std::int64_t x = 2 * s * b * h;
constexpr std::int64_t scores = a * s * s * b;
constexpr std::int64_t statistics = 2 * 4 * s * b;  // of a LayerNorm

constexpr std::uint32_t bit(offload_module m) { return std::uint32_t{1} << static_cast<int>(m); }
constexpr std::uint32_t bit(graph_module m) { return std::uint32_t{1} << static_cast<int>(m); }

job gpt(std::int64_t layers, std::int64_t pipeline = 1) {
  job j;
  j.model = {.layers = layers, .hidden = h, .heads = a, .ffn = 4 * h, .mlp = mlp_kind::plain, .activation = activation_kind::gelu,
             .norm = norm_kind::layernorm, .norm_bias = true, .position = position_kind::learned, .max_positions = s, .vocab = 512, .tied = true};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = pipeline};
  j.framework = frameworks::megatron;
  j.framework.attention.masks_in_loader = false;
  j.parallel = {.data = 1, .pipeline = pipeline};
  j.batch = {.micro = b, .sequence = s, .accumulation = 2 * pipeline};
  j.attention = attention::te;
  return j;
}

std::int64_t at(const report& r, std::size_t stage, phase p, row of) { return r.ranks[stage].at_phase[static_cast<std::size_t>(p)][of].count(); }

}  // namespace

// A fused kernel saves q, k and v (the projection's result, 3x), its own result (x) and a statistic of each row and head, too small to
// move; the output projection saves that result again. When the loss is computed every layer has saved, and all but the last, whose
// backward comes next, are away.
TEST_CASE("attention moved to host memory") {
  auto j = gpt(8);
  const auto all = at(estimate(j), 0, phase::loss_forward, row::activations);
  j.offload.activations = place::on_cpu;
  j.framework.checkpointing.offloaded_modules = bit(offload_module::core_attn) | bit(offload_module::attn_proj);
  const auto r = estimate(j);
  CHECK(all - at(r, 0, phase::loss_forward, row::activations) == 7 * 4 * x);
  CHECK(r.host.pinned_per_node.count() == 7 * 4 * x);
}

// Written out, softmax saves the probabilities that it made, and the product with v saves them again: what left as one tensor comes back
// as two. A later micro-batch's forward finds the layer whose backward comes next brought back: 3x of q, k and v, the projection's input
// x, and 2·scores of probabilities twice.
TEST_CASE("probabilities come back twice") {
  auto j = gpt(8, 4);
  j.attention = attention::eager;
  j.offload.activations = place::on_cpu;
  j.framework.checkpointing.offloaded_modules = bit(offload_module::core_attn) | bit(offload_module::attn_proj);
  // Stage 0 of 4 holds 3 micro-batches of its 2 layers when the first comes back, and moves all of them.
  const auto layer = 4 * x + 2 * 2 * scores;
  const auto r = estimate(j);
  CHECK(r.host.pinned_per_node.count() == 4 * 2 * layer - layer);  // the fourth runs before that; the first's last layer stays
}

// Stages 0 to 3 move 4, 3, 2 and 1 micro-batches of their 2 layers, but for one layer each: 7, 5, 3 and 1. Stages lie on ranks in a row.
TEST_CASE("a node has what its ranks have, of which stages they may be") {
  const auto layers_of = [](std::int64_t nodes, std::int64_t gpus, std::int64_t data, std::int64_t last_on_a100 = 0) {
    auto j = gpt(8, 4);
    j.hardware.nodes = nodes, j.hardware.gpus_per_node = gpus;
    j.parallel.data = data;
    j.attention = attention::eager;
    j.offload.activations = place::on_cpu;
    j.framework.checkpointing.offloaded_modules = bit(offload_module::core_attn) | bit(offload_module::attn_proj);
    if (last_on_a100 > 0) j.hardware.others.add({gpus::a100_sxm_80gb, last_on_a100});
    const auto r = estimate(j);
    const auto layer = 4 * x + 2 * 2 * scores;
    CHECK(r.host.per_node.count() >= r.host.pinned_per_node.count());
    CHECK(r.host.pinned_per_node.count() % layer == 0);
    return r.host.pinned_per_node.count() / layer;
  };
  CHECK(layers_of(4, 1, 1) == 7);
  CHECK(layers_of(2, 2, 1) == 7 + 5);
  CHECK(layers_of(1, 4, 1) == 7 + 5 + 3 + 1);
  CHECK(layers_of(1, 4, 1, 2) == 7 + 5 + 3 + 1);
  CHECK(layers_of(3, 4, 3) == 3 * 7 + 5);
  CHECK(layers_of(2, 6, 3) == 3 * 7 + 3 * 5);
  CHECK(layers_of(1, 12, 3) == 3 * (7 + 5 + 3 + 1));
  CHECK(layers_of(3, 8, 6) == 6 * 7 + 2 * 5);
  CHECK(layers_of(4, 8, 8) == 8 * 7);
}

TEST_CASE("the fullest node of any order of ranks") {
  const auto of = [](std::int64_t gpus, std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranks) {
    node_hosts nodes(gpus);
    for (const auto& [count, each] : ranks) nodes.add(count, {.pinned = bytes{each}, .plain = bytes{2 * each}, .load = bytes{1}, .nvme = bytes{5}});
    CHECK(nodes.most().plain == 2 * nodes.most().pinned);
    return nodes.most().pinned.count();
  };
  CHECK(of(4, {{6, 1}, {2, 5}}) == 2 * 1 + 2 * 5);
  CHECK(of(4, {{4'000'002, 1}, {2, 5}}) == 2 * 1 + 2 * 5);
  CHECK(of(4, {{1, 1}, {2, 9}, {6, 2}, {3, 8}}) == 1 * 2 + 3 * 8);
  CHECK(of(1, {{3, 7}, {2, 9}, {1, 8}}) == 9);
  node_hosts loads(2);
  loads.add(2, {.plain = bytes{3}, .load = bytes{4}, .nvme = bytes{1}});
  loads.add(1, {.plain = bytes{1}, .load = bytes{1}, .nvme = bytes{2}});
  loads.add(1, {.plain = bytes{5}, .load = bytes{1}, .nvme = bytes{2}});
  CHECK(loads.most().load.count() == 8);
  CHECK(loads.most().nvme.count() == 4);
}

// The optimizer on the host: two moments of 4 bytes of every parameter, each on one stage; masters and gradients pinned.
TEST_CASE("stages of a node share an optimizer that updates there") {
  auto j = gpt(8, 4);
  j.hardware.nodes = 1, j.hardware.gpus_per_node = 4;
  j.model.tied = false, j.model.vocab = 65'536;
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer};
  j.offload.optimizer = place::on_cpu;
  // Tables of 2^26 elements and 2^20 positions; of a layer 12 h² and two norms; a last norm. Nothing else.
  constexpr std::int64_t all = 2 * 65'536 * h + s * h + 8 * (12 * h * h + 4 * h) + 2 * h;
  const auto r = estimate(j).host;
  CHECK((r.per_node - r.pinned_per_node).count() == 8 * all);
  CHECK(r.pinned_per_node.count() >= 2 * 4 * all);
  CHECK(r.pinned_per_node.count() < 2 * 4 * all * 21 / 20);
}

// Latent attention (core/transformer/multi_latent_attention.py): the kernel reads 8 heads of 128 + 64 features of q and k and 128 of v, and
// the output projection saves the kernel's result again. In front, both down-projections save the norm's result, which leaves twice; the
// compressed vector with the rotary features is what its norm reads, and the vector without them, of exactly 2^20 elements, what the
// up-projection reads.
TEST_CASE("latent attention moved to host memory") {
  constexpr std::int64_t tokens = s * b;
  auto j = gpt(8);
  j.model.norm = norm_kind::rmsnorm;
  j.model.norm_bias = false;
  j.model.position = position_kind::rope;
  j.model.mla = {.q_rank = 0, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  j.offload.activations = place::on_cpu;
  const auto moved = [&](std::uint32_t modules) {
    j.framework.checkpointing.offloaded_modules = modules;
    return estimate(j).host.pinned_per_node.count();
  };
  constexpr std::int64_t kernel = 2 * tokens * a * (192 + 192 + 128 + 128), in_front = 2 * tokens * (2 * h + (512 + 64) + 512);
  CHECK(moved(bit(offload_module::core_attn) | bit(offload_module::attn_proj)) == 7 * kernel);
  CHECK(moved(bit(offload_module::attn_proj)) == 7 * 2 * tokens * a * 128);
  CHECK(moved(bit(offload_module::qkv_linear)) == 7 * in_front);
  CHECK(moved(bit(offload_module::qkv_linear) | bit(offload_module::core_attn)) == 7 * (kernel + in_front));
  CHECK(moved(bit(offload_module::attn_norm)) == 7 * x);
}

// Tensors of fewer than 2^20 elements stay (transformer_config.py, min_offloaded_tensor_size).
TEST_CASE("small tensors are not moved") {
  auto j = gpt(8);
  j.batch.sequence = 256;  // x has 2^19 elements
  const auto all = estimate(j).ranks[0].allocated;
  j.offload.activations = place::on_cpu;
  j.framework.checkpointing.offloaded_modules = bit(offload_module::attn_proj);
  CHECK(estimate(j).ranks[0].allocated == all);
}

TEST_CASE("what offloading needs") {
  auto j = gpt(8);
  j.offload.activations = place::on_cpu;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("offload-modules"), job_error);
  j.framework.checkpointing.offloaded_modules = bit(offload_module::core_attn);
  j.recompute = recompute::full;
  CHECK_THROWS_AS(estimate(j), job_error);
}

// Captured before the first step: attention's forwards and backwards run in the schedule's order while nothing else does, and leave
// nothing that is counted. What a layer's attention keeps: its input with the norm's statistics, the norm's result, q, k, v, the
// kernel's result and a statistic of 4 bytes a row and head: 6x. Steps then keep the MLP's: input, norm, 4h twice: 10x.
TEST_CASE("graphs of attention, captured before the first step") {
  auto j = gpt(8, 1);
  j.framework.graphs.capture = graph_capture::by_engine;
  j.framework.graphs.modules = bit(graph_module::attn);
  const auto r = estimate(j);
  const auto attention = 6 * x + statistics + 4 * s * b * a, mlp = 10 * x + statistics;
  const auto tokens = 2 * 8 * s * b;
  CHECK(at(r, 0, phase::loss_forward, row::activations) == tokens + 8 * mlp + 2 * x + statistics + 13 * s * b);  // final norm, head; loss, targets, mask
  // The last layer's backward begins with all eight there.
  CHECK(at(r, 0, phase::load, row::activations) == tokens + 8 * attention);
  // Without a scope that is captured, steps are as without graphs.
  auto plain = j;
  plain.framework.graphs.modules = 0;
  auto eager = plain;
  eager.framework.graphs.capture = graph_capture::none;
  CHECK(estimate(plain).ranks[0].allocated == estimate(eager).ranks[0].allocated);
  CHECK(estimate(plain).assumptions.has(assumption::graphs_as_eager));
}

}  // namespace test_offloaded_modules
