// Distributed under the Boost Software License, Version 1.0.
// A job in the files of other programs. What is written reads back as the same job, or is refused in a sentence.
#pragma once

#include <headroom/io/launchers/export_accelerate.hpp>
#include <headroom/io/launchers/export_deepspeed.hpp>
#include <headroom/io/launchers/export_launch.hpp>
#include <headroom/io/launchers/export_megatron.hpp>
#include <headroom/io/launchers/export_torchtitan.hpp>

namespace headroom::io {

enum class export_target : std::uint8_t { deepspeed, accelerate, megatron, torchtitan, torchrun, sbatch };

inline constexpr std::array<named<export_target>, 6> export_targets{{{"deepspeed", export_target::deepspeed},
                                                                     {"accelerate", export_target::accelerate},
                                                                     {"megatron", export_target::megatron},
                                                                     {"torchtitan", export_target::torchtitan},
                                                                     {"torchrun", export_target::torchrun},
                                                                     {"sbatch", export_target::sbatch}}};

/// The file's text. Throws job_error for a job that the target cannot express.
inline std::string exported(const job& j, export_target target) {
  switch (target) {
    case export_target::deepspeed: return deepspeed_document(j).dump(2) + "\n";
    case export_target::accelerate: {
      std::string text;
      detail::write_yaml(text, accelerate_document(j), 0);
      return text;
    }
    case export_target::megatron: return detail::write_arguments(megatron_document(j));
    case export_target::torchtitan: return detail::write_toml(torchtitan_document(j));
    case export_target::torchrun: return torchrun_text(j);
    case export_target::sbatch: return sbatch_text(j);
  }
  return {};
}

}  // namespace headroom::io
