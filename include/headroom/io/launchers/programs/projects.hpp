// Distributed under the Boost Software License, Version 1.0.
// Whose a program is. A copy of a script keeps its name and its arguments, and what was changed in it no launch file says.
#pragma once

#include <headroom/io/launchers/programs/training_program.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace headroom::io::detail {

struct program_of_project {
  std::string_view name;  ///< a row's of training_programs.hpp, or what such names begin with; the first that fits is taken
  std::string_view project;
};

inline constexpr auto programs_of_projects = std::to_array<program_of_project>({
    {"alpaca", "tatsu-lab/stanford_alpaca"},
    {"axolotl", "axolotl-ai-cloud/axolotl"},
    {"deepspeed-chat", "deepspeedai/DeepSpeedExamples"},
    {"fastchat", "lm-sys/FastChat"},
    {"internvl", "OpenGVLab/InternVL"},
    {"llama-factory", "hiyouga/LLaMA-Factory"},
    {"llava", "haotian-liu/LLaVA"},
    {"lmflow", "OptimalScale/LMFlow"},
    {"medicalgpt", "shibing624/MedicalGPT"},
    {"megatron-bridge", "NVIDIA-NeMo/Megatron-Bridge"},
    {"megatron", "NVIDIA/Megatron-LM (or Megatron-DeepSpeed)"},
    {"minicpm", "OpenBMB/MiniCPM"},
    {"ms-swift", "modelscope/ms-swift"},
    {"nanotron", "huggingface/nanotron"},
    {"nemo-rl", "NVIDIA-NeMo/RL"},
    {"open-instruct", "allenai/open-instruct"},
    {"openrlhf", "OpenRLHF/OpenRLHF"},
    {"pai-megatron", "alibaba/Pai-Megatron-Patch"},
    {"peft-sft", "huggingface/peft"},
    {"qwen", "QwenLM/Qwen"},
    {"run-clm", "huggingface/transformers"},
    {"simpo", "princeton-nlp/SimPO"},
    {"torchtitan", "pytorch/torchtitan"},
    {"trl", "huggingface/trl (or its open-r1, alignment-handbook)"},
    {"unsloth", "unslothai/unsloth"},
    {"verl", "volcengine/verl"},
});

/// The first release of transformers that a script asks for among its dependencies, 100 × major + minor.
struct needed_release {
  std::string_view script;
  std::int32_t transformers{};
};
inline constexpr auto needed_releases = std::to_array<needed_release>({
    {"sft_nemotron_3.py", 507},  // huggingface/trl f2cd57710 of 2026-07-24 examples/scripts
});

/// The project of a program; empty where it has none.
inline std::string_view project_of(const training_program& p) {
  for (const auto& one : programs_of_projects)
    if (p.name.starts_with(one.name)) return one.project;
  return {};
}

}  // namespace headroom::io::detail
