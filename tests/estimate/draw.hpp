// Distributed under the Boost Software License, Version 1.0.
// Jobs drawn at random for every framework the library knows; the same ones from the same seed.
#pragma once

#include "dice.hpp"

#include <headroom/headroom.hpp>

namespace draw {

using namespace headroom;

/// A list of its own, so that a new GPU of the table leaves the drawn jobs as they are. Of three no memory is stated.
inline constexpr std::array<gpu, 42> drawn_gpus{
    gpus::v100_sxm2_16gb, gpus::v100_sxm2_32gb, gpus::t4, gpus::a10g, gpus::a40, gpus::rtx_3090, gpus::rtx_4090, gpus::rtx_5090, gpus::rtx_a6000,
    gpus::rtx_6000_ada, gpus::l4, gpus::l40, gpus::l40s, gpus::a100_sxm_40gb, gpus::a100_sxm_80gb, gpus::a100_pcie_40gb, gpus::a100_pcie_80gb,
    gpus::a800_sxm_80gb, gpus::h800_sxm_80gb, gpus::h20_96gb, gpus::h100_pcie_80gb, gpus::h100_sxm_80gb, gpus::h100_sxm_96gb, gpus::h100_nvl_94gb,
    gpus::h200_sxm_141gb, gpus::gh200_96gb, gpus::gh200_144gb, gpus::b200_sxm_180gb, gpus::gb200_186gb, gpus::b300_sxm_288gb, gpus::gb300_288gb,
    gpus::mi250x_128gb, gpus::mi300x_192gb, gpus::mi325x_256gb, gpus::mi355x_288gb, gpus::gaudi2_96gb, gpus::gaudi3_128gb, gpus::ascend_910b_64gb,
    {.label = "tpu-v4"}, {.label = "tpu-v5e"}, {.label = "tpu-v5p"}, gpus::cpu};

/// Of releases that differ in how experts run alone the older one is drawn; every other job has the newer. nanotron, Megatron-DeepSpeed,
/// GPT-NeoX and Unsloth refuse nearly all that is drawn: tests/step/test_nanotron.cpp, tests/step/test_gpt_neox.cpp, tests/replay/test_one_stage_account.cpp, tests/step/test_unsloth.cpp.
/// Profiles that differ from one that is drawn by how torch's own attention is called.
constexpr bool calls_as_of_2025(const profile& p) {
  using namespace frameworks;
  const bool calls = p.label == libtorch.label || p.label == hf_trainer.label || p.label == deepspeed.label;
  return calls && p.date >= 202410 && p.date <= 202508 && p != libtorch && p != hf_trainer_202410 && p != hf_trainer_202503 && p != deepspeed_202410;
}
inline constexpr auto drawn_frameworks = [] {
  std::array<const profile*, frameworks::known.size() - 33> r{};
  std::size_t n = 0;
  for (const auto& p : frameworks::known)
    if (!p.experts.joins_gate() && !p.modules.nanotron() && !p.modules.deepspeed() && p.label != "unsloth" && !calls_as_of_2025(p)) r[n++] = &p;
  return r;
}();

class jobs {
 public:
  explicit jobs(std::uint64_t seed) : dice_(seed) {}

  job next() {
    job j;
    j.framework = dice_.index(3) == 0 ? frameworks::megatron : *drawn_frameworks[dice_.index(drawn_frameworks.size())];
    if (newer_ = !newer_; newer_) {
      if (j.framework == frameworks::hf_trainer_202503) j.framework = frameworks::hf_trainer;
      if (j.framework == frameworks::deepspeed_202410) j.framework = frameworks::deepspeed;
    }
    if (j.framework.runtime == runtime::preallocated)
      preallocated(j);
    else if (j.framework.modules.megatron())
      divided(j);
    else
      eager(j);
    return j;
  }

 private:
  void shape_of(shape& m) {
    m.heads = dice_.pick({1, 2, 4, 8, 16});
    m.kv_heads = m.heads / dice_.pick({1, 1, 2, 4});
    if (m.kv_heads == 0) m.kv_heads = 1;
    m.hidden = m.heads * dice_.pick({8, 16, 64, 80});
    m.head_dim = dice_.pick({0, 0, 32, 128});
    m.layers = dice_.pick({1, 2, 3, 7, 24});
    m.ffn = m.hidden * dice_.pick({1, 3, 4});
    m.vocab = dice_.pick({7, 1000, 50257});
    m.max_positions = 2048;
    m.mlp = dice_.flip() ? mlp_kind::gated : mlp_kind::plain;
    m.norm = dice_.flip() ? norm_kind::rmsnorm : norm_kind::layernorm;
    m.norm_bias = m.attention_bias = m.mlp_bias = m.output_bias = dice_.flip();
    m.position = dice_.flip() ? position_kind::rope : position_kind::learned;
    m.activation = static_cast<activation_kind>(dice_.index(8));
    m.tied = dice_.flip();
    m.qk_norm = dice_.pick({0, 0, 1}) == 1;
  }

  void eager(job& j) {
    auto& m = j.model;
    shape_of(m);
    m.parallel_block = dice_.pick({0, 0, 0, 1}) == 1;
    m.post_norms = dice_.pick({0, 0, 0, 1}) == 1;
    if (dice_.index(4) == 0)
      m.experts = {.count = 8, .active = dice_.pick({1, 2}), .ffn = m.hidden * 2, .shared_ffn = dice_.flip() ? m.hidden : 0, .first_dense_layers = dice_.pick({0, 1}), .every = dice_.pick({1, 1, 2})};
    if (dice_.index(4) == 0) m.mla = {.q_rank = dice_.pick({0, 96}), .kv_rank = 64, .nope_dim = 32, .rope_dim = 16, .value_dim = 32};
    j.hardware = {.gpu = drawn_gpus[dice_.index(drawn_gpus.size())], .nodes = dice_.pick({1, 1, 2, 16}), .gpus_per_node = dice_.pick({1, 2, 8})};
    if (dice_.flip()) j.parallel.data = j.hardware.gpus();
    if (dice_.pick({0, 1, 2}) != 0) j.precision = precisions::all[dice_.index(precisions::all.size())];
    if (dice_.flip()) j.optimizer = optimizers::all[dice_.index(17)];  // one of each kind: those behind are kept and updated like one of these
    j.optimizer.how = static_cast<implementation>(dice_.index(4));
    switch (dice_.index(5)) {
      case 0: break;
      case 1: j.sharding = ddp(); break;
      case 2: j.sharding = zero(dice_.pick({0, 1, 2, 3})); break;
      case 3: j.sharding = fsdp1(dice_.pick({2, 3})); break;
      default: j.sharding = fsdp2(dice_.pick({2, 3})); break;
    }
    if (j.framework.sharding.no_others && !j.framework.sharding.offers(j.sharding.kind)) j.sharding = j.framework.sharding.offers(sharding_kind::fsdp2) ? fsdp2() : fsdp1();
    if (dice_.pick({0, 0, 0, 1}) == 1) j.offload = {.optimizer = static_cast<place>(dice_.index(3)), .parameters = static_cast<place>(dice_.index(3))};
    j.batch = {.micro = dice_.pick({1, 2, 5}), .sequence = dice_.pick({1, 128, 1024}), .accumulation = dice_.pick({1, 1, 4}), .padded = dice_.flip()};
    switch (dice_.index(4)) {
      case 0: break;
      case 1: j.recompute = recompute::full; break;
      case 2: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = dice_.pick({1, 2, 5})}; break;
      default: j.recompute = {.mode = recompute_mode::selective, .policy = static_cast<recompute_policy>(1 + dice_.index(2))}; break;
    }
    j.attention = static_cast<attention>(dice_.index(7));
    if (j.framework.modules.dtensor()) divide_modules(j);
    if (j.framework.compile.layers) j.compile = dice_.flip();
    if (!j.framework.modules.dtensor() && dice_.index(8) == 0) spread(j);
    if (dice_.index(8) == 0) mix(j);
    j.loss.kind = static_cast<loss_kind>(dice_.index(6));
    if (dice_.index(3) == 0) {
      j.adapter = {.kind = dice_.flip() ? adapter_kind::lora : adapter_kind::dora, .rank = dice_.pick({1, 8, 64}), .targets = dice_.flip() ? all_linear : module_set{module::q_proj, module::v_proj},
                   .format = dice_.flip() ? formats::fp32 : formats::bf16};
      if (dice_.flip()) j.adapter.dropout.per_million = 50'000;
      if (dice_.flip() && j.sharding.kind == sharding_kind::none) j.adapter.base = dice_.flip() ? formats::nf4 : formats::nf4_double;
    }
    if (dice_.index(4) == 0 && j.parallel.chunks == 0) j.trainable = {{.first_layer = 0, .last_layer = m.layers / 2}};
    if (dice_.flip()) j.dropout = {{100'000}, {100'000}, {100'000}};
  }

  /// DTensor's tensor and context parallelism, hybrid sharding.
  void divide_modules(job& j) {
    auto& m = j.model;
    auto& p = j.parallel;
    p.tensor = dice_.pick({1, 1, 2, 4});
    p.context = dice_.pick({1, 1, 2});
    p.sequence = p.tensor > 1;
    p.replicate = dice_.pick({1, 1, 2});
    p.data = p.replicate * dice_.pick({1, 2, 8});
    m.heads *= p.tensor;
    m.kv_heads = m.heads;
    m.hidden *= p.tensor;
    m.ffn *= p.tensor;
    j.hardware.nodes = p.data;
    j.hardware.gpus_per_node = p.tensor * p.context;
    j.batch.sequence = dice_.pick({128, 1024});
    j.sharding = fsdp2();
  }

  /// Layers of one process spread over its GPUs, by a stated plan: one of its own moves layers when sizes change.
  void spread(job& j) {
    j.hardware.nodes = 1;
    j.hardware.gpus_per_node = dice_.pick({2, 4});
    j.parallel = {.data = 1, .pipeline = j.hardware.gpus_per_node, .schedule = schedule::naive};
    j.model.layers = 0;
    for (auto& chunks = j.parallel.chunks; chunks < j.parallel.pipeline; ++chunks)
      j.model.layers += j.parallel.stage_layers[chunks] = static_cast<std::int32_t>(dice_.pick({1, 2, 5}));
    j.trainable = {};
    j.sharding = {};
  }

  /// Part of the GPUs of another kind.
  void mix(job& j) {
    if (j.hardware.gpus() > 1) j.hardware.others = {{.gpu = gpus::a100_sxm_40gb, .count = 1 + static_cast<std::int64_t>(dice_.index(static_cast<std::size_t>(j.hardware.gpus() - 1)))}};
  }

  void divided(job& j) {
    auto& m = j.model;
    auto& p = j.parallel;
    shape_of(m);
    p.tensor = dice_.pick({1, 2, 4, 8});
    p.pipeline = dice_.pick({1, 2, 4});
    p.virtual_pipeline = p.pipeline > 1 ? dice_.pick({1, 1, 2, 3}) : 1;
    p.context = dice_.pick({1, 1, 2});
    p.context_kind = static_cast<context_kind>(dice_.index(3));
    p.data = dice_.pick({1, 2, 8});
    p.sequence = p.tensor > 1 && dice_.flip();
    m.heads = 16 * dice_.pick({1, 2, 4});
    m.kv_heads = dice_.pick({0, 16});
    m.head_dim = 0;
    m.hidden = m.heads * dice_.pick({16, 64});
    m.layers = p.pipeline * p.virtual_pipeline * dice_.pick({1, 2, 3});
    m.ffn = m.hidden * 4;
    m.vocab_multiple = 128;
    if (dice_.index(3) == 0) {
      m.experts = {.count = 16, .active = dice_.pick({1, 2}), .ffn = m.hidden * 2, .shared_ffn = dice_.flip() ? m.hidden : 0, .first_dense_layers = dice_.pick({0, 1})};
      p.expert = dice_.pick({1, 2, 4});
    }
    if (dice_.index(3) == 0) m.mla = {.q_rank = dice_.pick({0, 96}), .kv_rank = 64, .nope_dim = 32, .rope_dim = 16, .value_dim = 32};
    j.hardware = {.gpu = dice_.flip() ? gpus::h100_sxm_80gb : gpus::a100_sxm_80gb, .nodes = p.data * p.pipeline, .gpus_per_node = p.tensor * p.context};
    if (dice_.index(8) == 0) mix(j);
    j.framework.gradients.fused_accumulation = dice_.flip();
    j.framework.experts.pads_to_capacity = dice_.flip();
    j.sharding.kind = dice_.flip() ? sharding_kind::ddp : sharding_kind::megatron_distributed_optimizer;
    j.batch = {.micro = dice_.pick({1, 2}), .sequence = dice_.pick({256, 1024}), .accumulation = p.pipeline * dice_.pick({1, 2, 5})};
    if (p.virtual_pipeline == 1) p.schedule = static_cast<schedule>(dice_.index(6));
    if (p.schedule == schedule::dualpipe) m.layers *= 2;
    m.mtp_layers = dice_.pick({0, 0, 0, 1});
    j.attention = dice_.flip() ? attention::flash : attention::eager;
    switch (dice_.index(3)) {
      case 0: j.recompute = recompute::full; break;
      case 1: j.recompute = {.mode = recompute_mode::selective, .modules = static_cast<std::uint32_t>(dice_.pick({1, 2, 8, 16, 31, 127}))}; break;
      default: break;
    }
    if (j.recompute.mode == recompute_mode::full && dice_.flip()) {
      j.recompute.method = dice_.flip() ? recompute_method::block : recompute_method::uniform;
      j.recompute.layers = 1;
    }
    if (dice_.flip()) j.dropout = {{100'000}, {100'000}, {100'000}};
    if (p.pipeline == 1 && p.schedule == schedule::one_forward_one_backward && m.mtp_layers == 0) {
      j.sharding = megatron_fsdp(dice_.pick({0, 1, 2, 3}));
      if (dice_.flip()) j.sharding.communication_unit = dice_.pick({1, 1'000'000, 100'000'000});
      j.sharding.double_buffer = dice_.flip() ? choice::yes : choice::unset;
    }
  }

  void preallocated(job& j) {
    auto& m = j.model;
    shape_of(m);
    m = {.layers = m.layers, .hidden = m.heads * 64, .heads = m.heads, .ffn = m.heads * 256, .mlp = mlp_kind::plain, .activation = activation_kind::gelu,
         .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true,
         .position = position_kind::learned, .max_positions = 4096, .vocab = m.vocab, .vocab_multiple = 128, .tied = true, .fused_qkv = true};
    j.hardware = {.gpu = dice_.flip() ? gpus::h100_sxm_80gb : gpus::a100_sxm_80gb, .gpus_per_node = dice_.pick({1, 2, 8})};
    j.precision = dice_.flip() ? precisions::bf16_mixed : precisions::fp32;
    if (dice_.flip()) j.sharding = zero(dice_.pick({0, 1}));
    j.batch = {.micro = dice_.pick({1, 4}), .sequence = dice_.pick({64, 1024}), .accumulation = dice_.pick({1, 4})};
    j.attention = dice_.flip() ? attention::flash : attention::eager;
  }

  draw::dice dice_;
  bool newer_{};
};

/// TransformerEngine's softmax has a kernel for so many rows and keys alone (block/megatron.hpp, writes_out_softmax()): where more of something is
/// compared with less of it, both have it.
inline void even_scores(job& j) {
  if (j.framework.modules.kind != layer_modules::megatron) return;
  const auto unit = checked::mul(8, checked::mul(j.parallel.tensor, j.parallel.context)), most = 8192 / unit * unit;
  j.batch.micro = checked::round_up(j.batch.micro, 4);
  j.batch.sequence = checked::round_up(j.batch.sequence < 24 ? 24 : j.batch.sequence, unit);
  if (j.batch.sequence > most) j.batch.sequence = most;
}

}  // namespace draw
