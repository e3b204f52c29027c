// Distributed under the Boost Software License, Version 1.0.
// A job's launch: torchrun on each node, and a script for Slurm's sbatch that starts it there.
#pragma once

#include <headroom/io/launchers/export_document.hpp>
#include <headroom/io/launchers/import_text.hpp>

namespace headroom::io {

namespace detail {

/// NAME=value lines of what the job says of the environment.
inline std::string launch_environment(const environment& e) {
  std::string out, a;
  const auto add = [&a](const std::string& one) { a += (a.empty() ? "" : ",") + one; };
  if (e.expandable_segments != choice::unset) add(std::string{"expandable_segments:"} + (e.expandable_segments == choice::yes ? "True" : "False"));
  if (e.max_split_size >= bytes{0}) add("max_split_size_mb:" + std::to_string(e.max_split_size.count() / mib.count()));
  if (e.roundup_power2_divisions > 0) add("roundup_power2_divisions:" + std::to_string(e.roundup_power2_divisions));
  if (e.garbage_collection_threshold.positive()) add("garbage_collection_threshold:" + json_value(e.garbage_collection_threshold.per_million / 1e6).dump());
  if (!a.empty()) out += "export PYTORCH_CUDA_ALLOC_CONF=" + a + "\n";
  if (e.cublas_workspace >= bytes{0}) {
    if (e.cublas_workspace.count() % 1024 != 0) fail("headroom: CUBLAS_WORKSPACE_CONFIG cannot say environment.cublas_workspace = " + std::to_string(e.cublas_workspace.count()) + ", which is no number of KiB");
    out += "export CUBLAS_WORKSPACE_CONFIG=:" + std::to_string(e.cublas_workspace.count() / 1024) + ":1\n";
  }
  if (e.nccl_buffsize >= bytes{0}) out += "export NCCL_BUFFSIZE=" + std::to_string(e.nccl_buffsize.count()) + "\n";
  return out;
}
inline void check_launch(const job& j, const std::string& text, std::string_view target) {
  auto d = draft_from(without(job_to_json(stated(j)), {"hardware.nodes", "hardware.gpus_per_node", "environment.allocator", "environment.cublas_workspace", "environment.nccl_buffsize"}));
  import_text(d, text, std::string{target});
  check_reads_back(j, d.settled(), target);
}

}  // namespace detail

/// torchrun for one node of NNODES; NODE_RANK, MASTER_ADDR and MASTER_PORT are the launcher's conventions.
inline std::string torchrun_text(const job& j) {
  const auto nodes = std::to_string(j.hardware.nodes), each = std::to_string(j.hardware.gpus_per_node);
  auto text = detail::launch_environment(j.environment) + "export NNODES=" + nodes + "\n";
  text += "torchrun --nnodes=" + nodes + " --nproc-per-node=" + each;
  text += j.hardware.nodes > 1 ? " --node-rank=\"$NODE_RANK\" --master-addr=\"$MASTER_ADDR\" --master-port=\"${MASTER_PORT:-29500}\"" : " --standalone";
  text += " \"$@\"\n";
  detail::check_launch(j, text, "torchrun");
  return text;
}

inline std::string sbatch_text(const job& j) {
  detail::one_kind_of_gpu(j, "sbatch");
  const auto nodes = std::to_string(j.hardware.nodes), each = std::to_string(j.hardware.gpus_per_node);
  std::string text = "#!/bin/bash\n#SBATCH --nodes=" + nodes + "\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=" + each + "\n";
  if (j.hardware.host_memory > bytes{0}) text += "#SBATCH --mem=" + std::to_string(j.hardware.host_memory.count() / mib.count()) + "M\n";
  text += "set -eu\n" + detail::launch_environment(j.environment);
  text += "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\nexport MASTER_ADDR MASTER_PORT=29500\n";
  text += "srun torchrun --nnodes=" + nodes + " --nproc-per-node=" + each + " --rdzv-backend=c10d --rdzv-id=\"$SLURM_JOB_ID\" --rdzv-endpoint=\"$MASTER_ADDR:$MASTER_PORT\" \"$@\"\n";
  detail::check_launch(j, text, "sbatch");
  return text;
}

}  // namespace headroom::io
