// Distributed under the Boost Software License, Version 1.0.
// Host memory and NVMe of a node, allocation by allocation: what is pinned is rounded up to a power of two, each buffer by itself.
// Sources: DeepSpeed runtime/zero/stage_1_and_2.py, stage3.py, runtime/swap_tensor; torch distributed/fsdp/_flat_param.py
// init_flat_param_attributes; ATen/core/CachingHostAllocator.h.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace test_host_memory {

using namespace headroom;

namespace {

constexpr std::int64_t h = 1024, f = 3072, vocab = 32768, layers = 6, ranks = 8;
constexpr std::int64_t unit = 4 * h * h + 3 * h * f + 2 * h, outside = 2 * vocab * h + h, all = layers * unit + outside, part = all / ranks;

std::int64_t pinned(std::int64_t bytes) {
  std::int64_t r = 1;
  while (r < bytes) r *= 2;
  return bytes == 0 ? 0 : r;
}
job llama(const profile& framework, const sharding& how, place optimizer, place parameters) {
  return {.model = {.layers = layers, .hidden = h, .heads = 8, .ffn = f, .vocab = vocab}, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = ranks}, .framework = framework, .sharding = how,
          .offload = {.optimizer = optimizer, .parameters = parameters}, .batch = {.micro = 1, .sequence = 256}};
}
/// What a node has of what each of its ranks has.
void check(const job& j, std::int64_t pins, std::int64_t plain, std::int64_t loads, std::int64_t nvme = 0) {
  const auto r = estimate(j);
  CHECK(r.host.pinned_per_node.count() == ranks * pins);
  CHECK(r.host.per_node.count() == ranks * std::max(pins + plain, loads));
  CHECK(r.nvme_per_node.count() == ranks * nvme);
}

}  // namespace

namespace {

/// What the ranks of the fullest of `nodes` hold to add up micro-batches' gradients, with the vector of all that trains cut tensor by tensor: of every
/// tensor that a rank has any part of a buffer in bf16, as long as the tensor.
std::int64_t buffers_by_hand(std::int64_t nodes, bool pins) {
  std::vector<std::int64_t> tensors{vocab * h};
  for (std::int64_t i = 0; i < layers; ++i)
    for (const auto n : {h * h, h * h, h * h, h * h, h * f, h * f, h * f, h, h}) tensors.push_back(n);
  tensors.push_back(h);
  tensors.push_back(vocab * h);
  std::vector<std::int64_t> of_node(static_cast<std::size_t>(nodes));
  std::int64_t at = 0;
  for (const auto n : tensors) {
    for (auto rank = at / part; rank <= (at + n - 1) / part; ++rank) of_node[static_cast<std::size_t>(rank * nodes / ranks)] += pins ? pinned(2 * n) : 2 * n;
    at += n;
  }
  CHECK(at == all);
  return *std::max_element(of_node.begin(), of_node.end());
}

}  // namespace

// async_accumulate_grad_in_cpu_via_gpu: tensors that several ranks share are there as often; what is pinned is rounded up tensor by tensor.
TEST_CASE("ZeRO 1 and 2: micro-batches' gradients are added up in whole tensors") {
  for (const std::int64_t stage : {1, 2})
    for (const std::int64_t nodes : {1, 2, 4, 8})
      for (const bool pins : {true, false}) {
        auto j = llama(frameworks::deepspeed, zero(stage), place::on_cpu, place::on_gpu);
        j.hardware.nodes = nodes, j.hardware.gpus_per_node = ranks / nodes;
        j.offload.pin_memory = pins;
        const auto one = estimate(j).host;
        j.batch.accumulation = 4;
        const auto many = estimate(j).host;
        const auto by_hand = buffers_by_hand(nodes, pins);
        CHECK(many.per_node.count() - one.per_node.count() == by_hand);
        CHECK(many.pinned_per_node.count() - one.pinned_per_node.count() == (pins ? by_hand : 0));
      }
  // The eighth of all that trains has a part of the embedding alone: the buffer is as large as that, four times the share.
  CHECK(buffers_by_hand(8, true) >= 2 * vocab * h);
  CHECK(part < vocab * h);
}

// transformers modeling_utils.py _move_missing_keys_from_meta_to_device: with FSDP_CPU_RAM_EFFICIENT_LOADING the others' weights are empty. Two nodes of four.
TEST_CASE("FSDP: each rank holds the weights at load, or the first of its node alone") {
  for (const auto kind : {sharding_kind::fsdp1, sharding_kind::fsdp2}) {
    auto j = llama(frameworks::hf_trainer, {.kind = kind, .stage = 3}, place::on_gpu, place::on_gpu);
    j.hardware.nodes = 2, j.hardware.gpus_per_node = 4;
    j.precision = precisions::bf16_autocast;
    CHECK(estimate(j).host.per_node.count() == 4 * 4 * all);
    CHECK(estimate(j).host.at == phase::load);
    j.sharding.loads_once = true;
    CHECK(estimate(j).host.per_node.count() == 4 * all);
    j.hardware.host_memory = bytes{4 * all};
    CHECK(estimate(j).fits());
    j.hardware.host_memory = bytes{4 * all - 1};
    CHECK_FALSE(estimate(j).fits());
  }
  auto j = llama(frameworks::deepspeed, zero(3), place::on_gpu, place::on_gpu);
  j.sharding.loads_once = true;
  CHECK_THROWS_WITH_AS(estimate(j), "headroom: sharding.loads_once is FSDP's, whose first rank hands the weights on; sharding.kind must be fsdp1 or fsdp2; sharding.stage (found 3)", error);
}

// Of LoRA's matrices alone: per layer seven of each kind, rank 8; the base keeps nothing there.
TEST_CASE("ZeRO 2: adapters' gradients are added up, too") {
  auto j = llama(frameworks::deepspeed, zero(2), place::on_cpu, place::on_gpu);
  j.hardware.gpus_per_node = 1;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  const auto one = estimate(j).host.pinned_per_node;
  j.batch.accumulation = 2;
  const auto width = settle(j).layer.adapter_width;
  CHECK((estimate(j).host.pinned_per_node - one).count() == layers * width * 8 * (4 * 2 * h + 3 * (h + pinned(f))));
}

// A rank's parts in fp32 (the copy and its gradients) and bf16, pinned; two moments; a tensor that comes back.
TEST_CASE("ZeRO 1 and 2: the update on the processor") {
  for (const std::int64_t stage : {1, 2}) {
    auto j = llama(frameworks::deepspeed, zero(stage), place::on_cpu, place::on_gpu);
    const auto table = 2 * vocab * h;
    check(j, 2 * pinned(4 * part) + pinned(2 * part) + pinned(table), 8 * part, 2 * all);
    j.offload.pin_memory = false;
    check(j, 0, (4 + 4 + 2 + 8) * part + table, 2 * all);
  }
}

// stage_1_and_2.py __init__: temp_grad_buffer_for_gpu_offload, in the parameters' format, of the largest tensor that trains, from then on.
TEST_CASE("ZeRO 1 and 2: a buffer on the GPU stands for the whole run where the update is on the processor") {
  for (const std::int64_t stage : {1, 2}) {
    auto j = llama(frameworks::deepspeed, zero(stage), place::on_cpu, place::on_gpu);
    j.sharding.reduce_bucket_size = 1'000'000;
    const auto buffers = [&](phase at) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(at)][row::communication_buffers].count(); };
    CHECK(buffers(phase::load) == 2 * vocab * h);
    CHECK(buffers(phase::forward) == 2 * vocab * h);
    CHECK(buffers(phase::backward) == 2 * vocab * h + 2 * 1'000'000);
    CHECK(buffers(phase::save) == 2 * vocab * h);
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
    CHECK(buffers(phase::forward) == 2 * 8 * f);  // of an adapter's matrices, the largest
    j.offload.optimizer = place::on_gpu;
    CHECK(buffers(phase::forward) == 0);
  }
}

// stage_1_and_2.py __init__: contiguous_gradients or cpu_offload.
TEST_CASE("ZeRO 1 and 2: offloaded gradients are contiguous, whatever is asked for") {
  auto j = llama(frameworks::deepspeed, zero(2), place::on_cpu, place::on_gpu);
  const auto asked = estimate(j).ranks[0].phases;
  j.sharding.contiguous_gradients = choice::no;
  CHECK(estimate(j).ranks[0].phases == asked);
  j.offload.optimizer = place::on_gpu;
  const auto apart = estimate(j).ranks[0].phases;
  j.sharding.contiguous_gradients = choice::yes;
  CHECK(estimate(j).ranks[0].phases != apart);
}

// The copy is not pinned; gradients are by sub-group, and in bf16 as one; under zero.Init nothing is loaded whole.
TEST_CASE("ZeRO 3: sub-groups, and parameters on the host") {
  auto j = llama(frameworks::deepspeed, zero(3), place::on_cpu, place::on_gpu);
  check(j, pinned(4 * part) + pinned(2 * part), (8 + 4) * part, std::min<std::int64_t>(2 * all, 5'000'000'000));
  j.sharding.sub_group_size = part / 3;
  check(j, 3 * pinned(4 * (part / 3)) + pinned(4 * (part - 3 * (part / 3))) + pinned(2 * part), 12 * part, 2 * all);
  j.offload.parameters = place::on_cpu;
  check(j, 3 * pinned(4 * (part / 3)) + pinned(4 * (part - 3 * (part / 3))) + 2 * pinned(2 * part), 12 * part, 2 * all);
  j.offload.pin_memory = false;
  check(j, pinned(2 * part), (12 + 4 + 2) * part, 2 * all);
}

// partition_parameters.py _partition_param pins each tensor's partition; stage3.py _create_param_groups_fp16_flat_cpu_memory takes those of the trainable groups alone.
TEST_CASE("ZeRO 3: weights on the host that do not train are pinned tensor by tensor, beside one buffer of what does") {
  auto j = llama(frameworks::deepspeed, zero(3), place::on_cpu, place::on_cpu);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  constexpr std::int64_t mine = layers * 8 * (4 * 2 * h + 3 * (h + f)) / ranks;
  const auto each = [](std::int64_t elements) { return pinned(2 * elements / ranks); };
  const auto base = layers * (4 * each(h * h) + 3 * each(h * f) + 2 * each(h)) + 2 * each(vocab * h) + each(h);
  check(j, base + pinned(4 * mine) + 2 * pinned(2 * mine), 12 * mine, 2 * all);
  CHECK(base > 2 * part);
  CHECK(base < pinned(2 * part));
  j.offload.pin_memory = false;
  check(j, pinned(2 * mine), 2 * part + (12 + 4 + 2) * mine, 2 * all);
}

// Four buffers of a sub-group in fp32, five of 10^8 parameters in bf16, and as many parameters as the host may keep.
TEST_CASE("ZeRO 3 with NVMe") {
  auto j = llama(frameworks::deepspeed, zero(3), place::on_nvme, place::on_gpu);
  check(j, pinned(2 * part), 4 * 4 * part, 2 * all, (4 + 8 + 4) * part);
  j.offload.parameters = place::on_nvme;
  check(j, pinned(2 * part), 4 * 4 * part + 5 * 2 * 100'000'000 + 2 * all, 2 * all, (4 + 8 + 4 + 2) * part);
  j.offload.optimizer_buffer_count = 6, j.offload.parameter_buffer_count = 2, j.offload.parameter_buffer_size = 1'000'000, j.offload.max_in_cpu = 1'000'000;
  check(j, pinned(2 * part), 6 * 4 * part + 2 * 2 * 1'000'000 + 2 * 1'000'000, 2 * all, 18 * part);
}

// Each flat parameter's part in fp32, and one as large for its gradient; two moments.
TEST_CASE("FSDP1 pins unit by unit, in the parameters' format") {
  auto j = llama(frameworks::hf_trainer, fsdp1(3), place::on_cpu, place::on_cpu);
  j.precision = precisions::bf16_mixed;
  check(j, 2 * (layers * pinned(4 * unit / ranks) + pinned(4 * outside / ranks)), 8 * part, 4 * all);
}

TEST_CASE("FSDP2 pins tensor by tensor") {
  auto j = llama(frameworks::hf_trainer, fsdp2(3), place::on_cpu, place::on_cpu);
  j.precision = precisions::bf16_mixed;
  const auto both = [](std::int64_t elements) { return 2 * pinned(std::max<std::int64_t>(4 * elements / ranks, 512)); };
  check(j, layers * (4 * both(h * h) + 3 * both(h * f) + 2 * both(h)) + 2 * both(vocab * h) + both(h), 8 * part, 4 * all);
}

}  // namespace test_host_memory
