// Distributed under the Boost Software License, Version 1.0.
// A job in the files of other programs. What is written reads back as the same job, or is refused in a sentence.
#pragma once

#include <headroom/io/launchers/accelerate/export.hpp>
#include <headroom/io/launchers/axolotl/export.hpp>
#include <headroom/io/launchers/deepspeed/export.hpp>
#include <headroom/io/launchers/export_launch.hpp>
#include <headroom/io/launchers/llama_factory/export.hpp>
#include <headroom/io/launchers/megatron/export.hpp>
#include <headroom/io/launchers/torchtitan/export.hpp>
#include <headroom/io/launchers/trainer/export.hpp>
#include <headroom/io/launchers/trl/export.hpp>

namespace headroom::io {

/// The programs whose files are written.
enum class export_target : std::uint8_t { deepspeed, accelerate, hf_trainer, trl, llama_factory, axolotl, megatron, torchtitan, torchrun, sbatch };

/// What can be written, a row each.
struct export_format {
  std::string_view text;
  export_target value;
  std::string (*write)(const job&);
};
inline constexpr std::array<export_format, 10> export_targets{{
    {"deepspeed", export_target::deepspeed, [](const job& j) { return deepspeed_document(j).dump(2) + "\n"; }},
    {"accelerate", export_target::accelerate, [](const job& j) {
       std::string text;
       detail::write_yaml(text, accelerate_document(j), 0);
       return text;
     }},
    {"hf-trainer", export_target::hf_trainer, [](const job& j) { return detail::trainer_text(j, trainer_document(j)); }},
    {"trl", export_target::trl, [](const job& j) { return detail::trainer_text(j, trl_document(j)); }},
    {"llama-factory", export_target::llama_factory, [](const job& j) { return detail::trainer_text(j, llama_factory_document(j)); }},
    {"axolotl", export_target::axolotl, [](const job& j) { return detail::trainer_text(j, axolotl_document(j)); }},
    {"megatron", export_target::megatron, [](const job& j) { return detail::write_arguments(megatron_document(j)); }},
    {"torchtitan", export_target::torchtitan, [](const job& j) { return detail::write_toml(torchtitan_document(j)); }},
    {"torchrun", export_target::torchrun, torchrun_text},
    {"sbatch", export_target::sbatch, sbatch_text},
}};

/// The file's text. Throws job_error for a job that the target cannot express.
inline std::string exported(job j, export_target target) {
  j.measured = {};  // of a run, no part of what is run
  for (const auto& t : export_targets)
    if (t.value == target) return t.write(j);
  return {};
}

}  // namespace headroom::io
