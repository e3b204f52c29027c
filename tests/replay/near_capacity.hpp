// Distributed under the Boost Software License, Version 1.0.
// Jobs as people have them, drawn at random: a model, GPUs, a recipe, and a sequence such that it fills so much of a GPU. The same ones
// from the same seed.
#pragma once

#include "../estimate/dice.hpp"

#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <optional>

namespace near_capacity {

using namespace headroom;

class jobs {
 public:
  explicit jobs(std::uint64_t seed) : dice_(seed) {}

  /// One of which estimate() says that its tightest GPU is 80 to 100 % full, and that replay() writes out; none where what is drawn is
  /// refused, or too large or too small whatever the sequence.
  std::optional<job> next() {
    auto j = dice_.index(4) == 0 ? divided() : eager();
    const auto per_mille = static_cast<std::int64_t>(800 + dice_.index(201));
    try {
      if (!replays(j)) return std::nullopt;
      return filled(j, per_mille);
    } catch (const error&) {
      return std::nullopt;
    }
  }

 private:
  static std::optional<job> filled(job j, std::int64_t per_mille) {
    constexpr std::int64_t step = 64;
    const auto below = [&](std::int64_t n) {
      j.batch.sequence = n * step;
      const auto r = estimate(j);
      return r.device().count() / 1000 * 1000 <= r.tightest().capacity.count() / 1000 * per_mille;
    };
    std::int64_t low = 0, high = 4096;
    if (j.model.position == position_kind::learned && j.model.max_positions > 0) high = j.model.max_positions / step + 1;
    while (high - low > 1) {
      const auto middle = low + (high - low) / 2;
      (below(middle) ? low : high) = middle;
    }
    if (low == 0) return std::nullopt;
    j.batch.sequence = low * step;
    const auto r = estimate(j);
    if (r.device().count() < r.tightest().capacity.count() / 10 * 8) return std::nullopt;
    return j;
  }

  void model_of(job& j) {
    static constexpr std::array models{models::qwen2_5_0_5b, models::pythia_1b, models::llama_3_2_1b, models::qwen2_5_1_5b, models::phi_2, models::llama_3_2_3b,
                                       models::mistral_7b, models::qwen2_5_7b, models::llama_3_1_8b, models::gemma_2_9b, models::llama_2_13b,
                                       models::qwen2_5_14b, models::qwen2_5_32b, models::llama_2_70b, models::llama_3_1_70b, models::gpt2};
    j.model = models[dice_.index(models.size())];
  }
  gpu any_gpu() {
    static constexpr std::array gpus{gpus::rtx_3090, gpus::rtx_4090, gpus::a100_sxm_40gb, gpus::l40s, gpus::a100_sxm_80gb, gpus::h100_sxm_80gb, gpus::h100_sxm_80gb,
                                     gpus::h200_sxm_141gb, gpus::b200_sxm_180gb};
    return gpus[dice_.index(gpus.size())];
  }
  void recipe_of(job& j) {
    static constexpr std::array precisions{precisions::bf16, precisions::bf16, precisions::fp32, precisions::bf16_mixed, precisions::bf16_autocast};
    if (dice_.index(3) != 0) j.precision = precisions[dice_.index(precisions.size())];
    j.batch = {.micro = dice_.pick({1, 1, 2, 4, 8}), .sequence = 64, .accumulation = dice_.pick({1, 1, 4})};
    j.recompute = dice_.flip() ? recompute::full : recompute::none;
    j.attention = dice_.index(4) == 0 ? attention::eager : attention::sdpa;
    if (dice_.index(3) == 0) j.environment.expandable_segments = choice::yes;
    if (dice_.index(3) == 0) j.loss.kind = static_cast<loss_kind>(dice_.pick({1, 2, 5}));
  }

  job eager() {
    static constexpr std::array frameworks{frameworks::libtorch,      frameworks::hf_trainer,        frameworks::hf_trainer_2023,   frameworks::litgpt_202402,
                                           frameworks::litgpt_202410, frameworks::deepspeed,         frameworks::torchtune_202409,  frameworks::torchtitan_202607,
                                           frameworks::fsdp_qlora,    frameworks::torchtitan_202504, frameworks::deepspeed_2023,    frameworks::libtorch_2023};
    job j;
    model_of(j);
    j.framework = frameworks[dice_.index(frameworks.size())];
    j.hardware = {.gpu = any_gpu(), .gpus_per_node = dice_.pick({1, 1, 2, 8})};
    recipe_of(j);
    static constexpr std::array optimizers{optimizers::adamw, optimizers::adamw, optimizers::adamw, optimizers::adamw_8bit, optimizers::sgd, optimizers::adafactor, optimizers::lion};
    j.optimizer = optimizers[dice_.index(optimizers.size())];
    if (dice_.index(3) == 0) j.optimizer.how = static_cast<implementation>(dice_.index(4));
    if (dice_.index(3) == 0) {
      j.adapter = {.kind = adapter_kind::lora, .rank = dice_.pick({8, 16, 64}), .targets = all_linear};
      if (dice_.flip()) j.adapter.base = formats::nf4;
    }
    if (j.hardware.gpus() > 1) {
      static constexpr std::array sharded{ddp(), zero(1), zero(2), zero(3), fsdp1(), fsdp2()};
      do
        j.sharding = sharded[dice_.index(sharded.size())];
      while ((j.framework.sharding.kinds >> static_cast<int>(j.sharding.kind) & 1U) == 0);
      if (dice_.index(8) == 0) j.offload.optimizer = place::on_cpu;
    }
    return j;
  }

  job divided() {
    static constexpr std::array frameworks{frameworks::megatron, frameworks::megatron, frameworks::megatron_2023, frameworks::megatron_202404};
    job j;
    model_of(j);
    if (dice_.index(4) == 0) j.model = models::mixtral_8x7b;
    if (dice_.index(8) == 0) j.model = models::deepseek_v2_lite;
    j.framework = frameworks[dice_.index(frameworks.size())];
    j.hardware = {.gpu = any_gpu(), .nodes = dice_.pick({1, 1, 2}), .gpus_per_node = 8};
    recipe_of(j);
    if (dice_.flip()) j.precision = {};
    j.loss = {};
    j.parallel.tensor = dice_.pick({1, 2, 4, 8});
    j.parallel.sequence = j.parallel.tensor > 1 && dice_.flip();
    j.parallel.pipeline = dice_.pick({1, 1, 2, 4});
    j.parallel.context = dice_.pick({1, 1, 1, 2});
    if (j.parallel.pipeline > 1 && dice_.index(3) == 0) j.parallel.virtual_pipeline = 2;
    j.batch.accumulation = dice_.pick({1, 8, 16});
    if (dice_.flip()) j.sharding.kind = sharding_kind::megatron_distributed_optimizer;
    if (dice_.index(3) == 0) j.recompute = {.mode = recompute_mode::selective, .modules = 1U << static_cast<int>(recompute_module::core_attn)};
    j.model.vocab_multiple = 128 * j.parallel.tensor;
    return j;
  }

  draw::dice dice_;
};

}  // namespace near_capacity
