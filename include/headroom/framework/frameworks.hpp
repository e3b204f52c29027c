// Distributed under the Boost Software License, Version 1.0.
// The frameworks this version knows, for readers that look one up by name. A profile of your own needs no entry here.
#pragma once

#include <headroom/framework/deepspeed.hpp>
#include <headroom/framework/fsdp_qlora.hpp>
#include <headroom/framework/gpt_neox.hpp>
#include <headroom/framework/hf_trainer.hpp>
#include <headroom/framework/libtorch.hpp>
#include <headroom/framework/litgpt.hpp>
#include <headroom/framework/llama_factory.hpp>
#include <headroom/framework/llm_c.hpp>
#include <headroom/framework/megatron.hpp>
#include <headroom/framework/megatron_deepspeed.hpp>
#include <headroom/framework/nanotron.hpp>
#include <headroom/framework/torchtitan.hpp>
#include <headroom/framework/torchtune.hpp>
#include <headroom/framework/unsloth.hpp>

namespace headroom::frameworks {

/// Every profile, oldest first within a label.
inline constexpr std::array known{
    libtorch_2023, of_transformers(libtorch, 202410), of_transformers(libtorch, 202501), of_transformers(libtorch, 202506), of_transformers(libtorch, 202507), libtorch, libtorch_202601, libtorch_202608, libtorch_202609, libtorch_cpp,
    hf_trainer_202110, hf_trainer_202203, hf_trainer_2023, hf_trainer_202312, hf_trainer_202403, hf_trainer_202410, of_transformers(hf_trainer_202410, 202501), hf_trainer_202503,
    of_transformers(hf_trainer_202508, 202506), of_transformers(hf_trainer_202508, 202507), hf_trainer_202508, hf_trainer_202601, hf_trainer_202608, hf_trainer, deepspeed_2023,
    deepspeed_202410, of_transformers(deepspeed_202410, 202501), of_transformers(deepspeed_202508, 202503),
    of_transformers(deepspeed_202508, 202506), of_transformers(deepspeed_202508, 202507), deepspeed_202508, deepspeed_202601, deepspeed_202608, deepspeed, llama_factory_v1,
    litgpt_202310, litgpt_202402, litgpt_202407, litgpt_202410, llm_c, megatron_2023,
    megatron_202311, megatron_202404, megatron_202406, megatron_202501, megatron_202504, megatron,
    megatron_deepspeed_2022, megatron_deepspeed, gpt_neox_2021, gpt_neox_202409, gpt_neox,
    nanotron,
    torchtitan_202404, torchtitan_202411, torchtitan_202504, torchtitan_202508, torchtitan_202510, torchtitan_202602, torchtitan_202605, torchtitan_202607,
    fsdp_qlora, torchtune_202401, torchtune_202409,
    unsloth_202411, unsloth_202503, unsloth_202509, unsloth_202607,
};

/// The newest profile of `label` that is not younger than `date` (yyyymm; 0: the newest of all), the oldest where all are
/// younger, or null for an unknown label.
constexpr const profile* find(std::string_view label, std::int32_t date = 0) {
  const profile* best = nullptr;
  for (const auto& p : known)
    if (p.label == label && (best == nullptr || date == 0 || p.date <= date)) best = &p;
  return best;
}

}  // namespace headroom::frameworks
