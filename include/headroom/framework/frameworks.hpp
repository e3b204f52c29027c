// Distributed under the Boost Software License, Version 1.0.
// The frameworks this version knows, for readers that look one up by name. A profile of your own needs no entry here.
#pragma once

#include <headroom/framework/deepspeed.hpp>
#include <headroom/framework/fsdp_qlora.hpp>
#include <headroom/framework/hf_trainer.hpp>
#include <headroom/framework/libtorch.hpp>
#include <headroom/framework/litgpt.hpp>
#include <headroom/framework/llm_c.hpp>
#include <headroom/framework/megatron.hpp>
#include <headroom/framework/torchtitan.hpp>
#include <headroom/framework/torchtune.hpp>

namespace headroom::frameworks {

/// Every profile, oldest first within a label.
inline constexpr std::array known{
    libtorch_2023, libtorch,      libtorch_cpp,  hf_trainer_202110, hf_trainer_202203, hf_trainer_2023, hf_trainer_202312, hf_trainer_202403, hf_trainer_202410, hf_trainer, deepspeed_2023,
    deepspeed,     litgpt_202310, litgpt_202402, litgpt_202407,   litgpt_202410, llm_c, megatron_2023,
    megatron_202311, megatron_202404, megatron_202406, megatron,
    torchtitan_202404, torchtitan_202411, torchtitan_202504, torchtitan_202508, torchtitan_202602, torchtitan_202605, torchtitan_202607,
    fsdp_qlora, torchtune_202401, torchtune_202409,
};

/// The newest profile of `label` that is not younger than `date` (yyyymm; 0: the newest of all), the oldest where all are
/// younger, or null for an unknown label.
constexpr const profile* find(std::string_view label, std::int32_t date = 0) {
  const profile* best = nullptr;
  for (const auto& p : known)
    if (p.label == label && (best == nullptr || date == 0 || p.date <= date)) best = &p;
  return best;
}

/// Names that stand for a date: published tables that were measured before the snapshot they are found in.
struct dated_name {
  std::string_view framework;
  std::string_view text;
  std::int32_t date;
};
inline constexpr std::array<dated_name, 4> dated_names{{
    {"hf-trainer", "transformers 4.1x", 202201},  // the guide to training on one GPU was written for 4.16 (2022-01), over torch 1.10
    {"litgpt", "config_hub", 202404},  // its table grew from 2024-03-14 (4a9b7e62) to 2024-07-22 (e5493986)
    {"torchtune", "0.0.1", 202404},       // released 2024-04-16
    {"torchtune", "@1814feb", 202411},    // the README's table of optimization flags, 2024-11-18
}};

/// Versions that are another framework's, over this one: found by that name, whatever the date.
struct named_profile {
  std::string_view framework;
  std::string_view text;
  profile of;
};
inline constexpr std::array<named_profile, 5> named_profiles{{
    {"megatron", "Megatron-Bridge", megatron_bridge},
    {"megatron", "NeMo 24", nemo_2024},
    {"megatron", "2021-0", megatron_2021},
    {"megatron", "bigscience", megatron_2021},  // its fork is of 2021-07 (bigscience-workshop/Megatron-DeepSpeed megatron/mpu/layers.py)
    {"megatron", "InternEvo", internevo},
}};

}  // namespace headroom::frameworks
