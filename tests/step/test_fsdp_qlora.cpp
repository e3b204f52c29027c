// Distributed under the Boost Software License, Version 1.0.
// FSDP1 over a frozen base, as fsdp_qlora wraps it: what is gathered, kept and left cached, counted by hand.
#include <headroom/decide.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_fsdp_qlora {

using namespace headroom;
using namespace headroom::literals;

namespace {

/// Llama-2-7B, rank 64 beside all matrices but the attention output and the head.
job on_two_gpus(const number_format& base) {
  return {.model = models::llama_2_7b,
          .hardware = {.gpu = gpus::rtx_3090, .gpus_per_node = 2},
          .framework = frameworks::fsdp_qlora,
          .precision = precisions::bf16,
          .sharding = fsdp1(),
          .batch = {.micro = 1, .sequence = 512},
          .recompute = recompute::full,
          .attention = attention::flash,
          .adapter = {.kind = adapter_kind::lora, .rank = 64,
                      .targets = {module::q_proj, module::k_proj, module::v_proj, module::gate_proj, module::up_proj, module::down_proj},
                      .format = formats::bf16, .dropout = probability::of(0.1), .base = base}};
}

bytes in(const report& r, phase p, row w) { return r.ranks[0].at_phase[static_cast<std::size_t>(p)][w]; }

constexpr std::int64_t h = 4096, ffn = 11008, vocab = 32000, layers = 32, rank = 64;
constexpr std::int64_t matrices = 4 * h * h + 3 * h * ffn;             // of a layer
constexpr std::int64_t adapters = rank * (3 * (h + h) + 3 * (h + ffn));  // of a layer
constexpr bytes root{2 * (2 * vocab * h + h)};
constexpr bytes widest_adapter{2 * rank * ffn};

}  // namespace

// fsdp_qlora train.py get_wrapping_policy: decoder layers and every adapter matrix are units, the rest is the root, which stays gathered
// between forward and backward (torch distributed/fsdp/_runtime_utils.py _post_forward_reshard).
TEST_CASE("FSDP1 gathers frozen layers and has no gradient of them") {
  const bytes layer{2 * (matrices + 2 * h)};
  const auto r = estimate(on_two_gpus(formats::bf16));
  CHECK(in(r, phase::forward, row::gathered_parameters) == root + layer + widest_adapter);
  CHECK(in(r, phase::loss_forward, row::gathered_parameters) == root);
  // The loss's backward is the tallest: the root's hook has asked for the last layer. A layer's first adapter asks for the layer before
  // (_prefetch_handle: the next in the reverse of the order in which forward ended), when the rest of the layer's backward is done.
  CHECK(in(r, phase::backward, row::gathered_parameters) == root + layer);
  CHECK(in(r, phase::reduce, row::gathered_parameters) == root + 2 * layer + bytes{2 * rank * h});
  CHECK(in(r, phase::step, row::gradients) == bytes{2 * layers * adapters / 2});
  CHECK(in(r, phase::step, row::optimizer_state) == bytes{2 * 2 * layers * adapters / 2});
}

// torch distributed/fsdp/_runtime_utils.py _prefetch_handle, which does nothing without a mode: a layer is gathered by its own backward.
TEST_CASE("FSDP1 without backward_prefetch gathers one layer at a time") {
  const bytes layer{2 * (matrices + 2 * h)};
  auto j = on_two_gpus(formats::bf16);
  j.sharding.backward_prefetch = choice::no;
  const auto frozen = estimate(j);
  CHECK(in(frozen, phase::reduce, row::gathered_parameters) == root + layer + bytes{2 * rank * h});
  CHECK(in(frozen, phase::forward, row::gathered_parameters) == root + layer + widest_adapter);
  j.framework = frameworks::hf_trainer;
  j.adapter = {};
  j.hardware.gpu = gpus::h200_sxm_141gb;
  j.precision = precisions::bf16;
  const auto without = estimate(j);
  CHECK(in(without, phase::reduce, row::gathered_parameters) == root + layer);
  CHECK(replay(j).ranks[0][phase::reduce] == without.ranks[0][phase::reduce]);
  j.sharding.backward_prefetch = choice::unset;
  CHECK(in(estimate(j), phase::reduce, row::gathered_parameters) == root + 2 * layer);
}

// peft utils/other.py fsdp_auto_wrap_policy: a leaf with a weight that trains is a unit, and so is DoraLinearLayer, a magnitude for each output feature.
TEST_CASE("DoRA's magnitudes have shards of gradients, too") {
  auto j = on_two_gpus(formats::bf16);
  j.adapter.kind = adapter_kind::dora;
  constexpr std::int64_t magnitudes = 3 * h + 2 * ffn + h;  // of a layer: q, k, v, gate and up, down
  for (const std::int64_t accumulation : {1, 4}) {
    j.batch.accumulation = accumulation;
    const auto r = estimate(j);
    CHECK(in(r, phase::step, row::gradients) == bytes{2 * layers * (adapters + magnitudes) / 2});
    CHECK(in(r, phase::step, row::optimizer_state) == bytes{2 * 2 * layers * (adapters + magnitudes) / 2});
  }
}

// bitsandbytes packs two weights into a byte and FSDP shards those bytes (Params4bit, quant_storage = bf16); the statistics, an int8
// for each 64 weights, a float for each 256 of those, and 1,092 bytes of tables and offset for each matrix, are no parameters.
TEST_CASE("FSDP1 gathers quantised layers packed and leaves their statistics whole") {
  const bytes layer{matrices / 2 + 2 * 2 * h};
  const bytes statistics{layers * (matrices / 64 + matrices / 64 / 256 * 4 + 7 * (64 + 4))};
  auto j = on_two_gpus(formats::nf4_double);
  const auto r = estimate(j);
  CHECK(in(r, phase::forward, row::gathered_parameters) == root + layer + widest_adapter);
  CHECK(in(r, phase::step, row::model_parameters) == statistics + (layers * layer + root) / 2);
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  const auto off = estimate(j);
  CHECK(in(off, phase::step, row::model_parameters) == statistics);
  CHECK(in(off, phase::step, row::adapters) == 0_B);
  CHECK(in(off, phase::step, row::optimizer_state) == 0_B);
  // Wrapping moves the root's tensors to the GPU and concatenates them; its shard goes back to the host.
  CHECK(in(off, phase::load, row::gathered_parameters) == 2 * root);
}

TEST_CASE("FSDP1 with NO_SHARD keeps everything whole") {
  auto j = on_two_gpus(formats::bf16);
  j.sharding.stage = 0;
  const auto r = estimate(j);
  CHECK(in(r, phase::step, row::model_parameters) == bytes{2 * (layers * (matrices + 2 * h))} + root);
  CHECK(in(r, phase::step, row::gradients) == bytes{2 * layers * adapters});
  CHECK(in(r, phase::backward, row::gathered_parameters) == 0_B);
}

// Reserved after wrapping is published for this job: 3.72 GiB. The model's shards, adapters and what wrapping leaves.
TEST_CASE("segments that wrapping leaves stay reserved") {
  const auto j = on_two_gpus(formats::nf4_double);
  const auto s = settle(j);
  const auto st = states(s, weights_of(s.model));
  const auto after_wrapping = st.gpu[row::model_parameters] + st.gpu[row::adapters] + detail::left_by_wrapping(s, st);
  CHECK(static_cast<double>(after_wrapping.count()) / (1 << 30) == doctest::Approx(3.72).epsilon(0.02));
}

// "You can now train a 70b language model at home" (answer.ai, 2024-03-06): it takes the host. Half of the packed weights alone leaves
// no room for activations on a 24 GB GPU; with parameters and states on the host the same GPUs train at twice the batch.
TEST_CASE("70B on two 24 GB GPUs") {
  auto j = on_two_gpus(formats::nf4_double);
  j.model = models::llama_2_70b;
  j.hardware.host_memory = 128_GiB;
  j.batch = {.micro = 1, .sequence = 2048};
  CHECK_FALSE(decided{}(j));
  j.batch.micro = 2;
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  CHECK(decided{}(j));
}

// A hybrid's layers are visited in groups, a layer of each kind at a time, each with the adapters that it has.
TEST_CASE("gradients of adapters in a stack of two kinds of layer") {
  job j{.model = models::llama_3_2_1b,
        .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8},
        .framework = frameworks::hf_trainer,
        .sharding = fsdp1(),
        .batch = {.micro = 2, .sequence = 1024},
        .adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::fp32}};
  j.model.ssm = {.heads = 16, .head_dim = 128, .state = 128, .groups = 16, .conv = 4};
  const auto gradients = [&](std::initializer_list<layer_kind> kinds) {
    j.model.pattern = {};
    for (const auto& k : kinds) j.model.pattern.add(k);
    return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::gradients];
  };
  constexpr layer_kind attends{mixer_kind::attention, feed_forward_kind::dense}, recurs{mixer_kind::gated_delta_net, feed_forward_kind::dense};
  // q, k, v, o, gate, up, down: rank 8 × (rows + columns), in fp32, over eight GPUs; Gated DeltaNet's q, k, v and z in one, beta and alpha in
  // another, and out.
  constexpr std::int64_t mlp = 3 * (2048 + 8192), attention = 2 * (2048 + 2048) + 2 * (512 + 2048) + mlp;
  constexpr std::int64_t delta_net = (4 * 2048 + 2048) + (2 * 16 + 2048) + (2048 + 2048) + mlp;
  constexpr auto of = [](std::int64_t sides) { return bytes{sides * 8 * 4 / 8}; };
  CHECK(gradients({}) == of(16 * attention));
  CHECK(gradients({attends, attends}) == of(16 * attention));
  CHECK(gradients({recurs}) == of(16 * delta_net));
  CHECK(gradients({attends, recurs}) == of(8 * attention + 8 * delta_net));
  CHECK(gradients({recurs, recurs, recurs, attends}) == of(4 * attention + 12 * delta_net));
  j.batch.accumulation = 2;
  CHECK(gradients({attends, recurs}) == of(8 * attention + 8 * delta_net));
}

}  // namespace test_fsdp_qlora
