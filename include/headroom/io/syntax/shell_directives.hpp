// Distributed under the Boost Software License, Version 1.0.
// The #SBATCH lines of a script, and what sbatch makes of them for it.
#pragma once

#include <headroom/io/syntax/shell_script.hpp>

namespace headroom::io::detail {

/// The words of a line "#SBATCH …", up to its own comment.
inline void read_directives(std::string_view whole, int line, std::vector<shell_word>& to) {
  for (std::size_t i = std::string_view{"#SBATCH"}.size(); i < whole.size();) {
    while (i < whole.size() && shell_blank(whole[i])) ++i;
    const auto from = i;
    while (i < whole.size() && !shell_blank(whole[i])) ++i;
    if (from == i || whole[from] == '#') break;
    to.push_back({std::string{whole.substr(from, i - from)}, line});
  }
}

/// What sbatch puts into the environment, from its lines (sbatch's manual, output environment variables).
inline void name_slurm_values(const std::vector<shell_word>& directives, std::size_t from, shell_state& state) {
  for (std::size_t i = from; i < directives.size(); ++i) {
    std::string_view word = directives[i].text;
    const auto equals = word.find('=');
    auto value = equals != std::string_view::npos ? word.substr(equals + 1) : i + 1 < directives.size() ? std::string_view{directives[i + 1].text} : std::string_view{};
    if (const auto colon = value.rfind(':'); colon != std::string_view::npos) value = value.substr(colon + 1);
    if (value.empty() || value.find_first_not_of("0123456789") != std::string_view::npos) continue;
    static constexpr std::pair<std::string_view, std::string_view> names[] = {
        {"--nodes", "SLURM_NNODES"}, {"--nodes", "SLURM_JOB_NUM_NODES"}, {"-N", "SLURM_NNODES"}, {"-N", "SLURM_JOB_NUM_NODES"}, {"--gres", "SLURM_GPUS_ON_NODE"}, {"--gpus-per-node", "SLURM_GPUS_ON_NODE"},
        {"--gpus-per-node", "SLURM_GPUS_PER_NODE"}, {"--ntasks", "SLURM_NTASKS"}, {"-n", "SLURM_NTASKS"}, {"--ntasks-per-node", "SLURM_NTASKS_PER_NODE"}, {"--cpus-per-task", "SLURM_CPUS_PER_TASK"}};
    for (const auto& [option, name] : names)
      if (word.substr(0, equals) == option) state.set(std::string{name}, {{{std::string{value}, 0}}, false}, false);
  }
}

}  // namespace headroom::io::detail
