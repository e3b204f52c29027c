// Distributed under the Boost Software License, Version 1.0.
// What a launch script sets: the environment that PyTorch, cuBLAS and NCCL read, and numbers of nodes and GPUs.
#pragma once

#include <headroom/io/launchers/arguments.hpp>

namespace headroom::io::detail {

inline std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}
inline std::string_view file_part(std::string_view path) { return path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1); }

/// NAME=value of the environment that changes memory, or says how many GPUs there are. The names of numbers are conventions of launch
/// scripts, not of torchrun.
inline bool import_setting(draft& d, const shell_word& w, const std::string& source) {
  const auto equals = w.text.find('=');
  const auto name = w.text.substr(0, equals);
  const auto value = w.text.substr(equals + 1);
  const auto place = source + ":" + std::to_string(w.line);
  const auto known = [&] {
    if (!w.known()) fail("headroom: " + place + ": " + name + " is " + in_quotes(shell_word{value, 0}.shown()) + ", which the file itself does not say: add --env NAME=VALUE for what it leaves to its environment");
  };
  if (name == "CUDA_VISIBLE_DEVICES" || name == "HIP_VISIBLE_DEVICES" || name == "ASCEND_RT_VISIBLE_DEVICES") {
    if (!w.known() || value.empty() || value == "-1") return false;
    d.visible = draft::fact{1 + std::count(value.begin(), value.end(), ','), place};
    return false;
  }
  if (name == "USE_MCORE_GDN" && (!w.known() || (value != "1" && value != "true" && value != "True"))) d.whole_delta = draft::said{"USE_MCORE_GDN=" + value, place};
  if (name == "CELOSS_PARALLEL_SIZE" && w.known()) d.loss_rows = draft::fact{whole_at(typed(value), place + ": " + name, 0, std::int64_t{1} << 31), place};
  if (name == "CUBLAS_WORKSPACE_CONFIG") {
    known();
    d.say({"environment", "cublas_workspace"}, value, place);
  } else if (name == "NCCL_BUFFSIZE") {
    known();
    d.say({"environment", "nccl_buffsize"}, typed(value), place);
  } else if (name == "PYTORCH_CUDA_ALLOC_CONF" || name == "PYTORCH_ALLOC_CONF") {
    known();
    for (std::size_t at = 0; at < value.size();) {
      const auto end = std::min(value.find(',', at), value.size());
      const auto one = value.substr(at, end - at);
      const auto colon = one.find(':');
      const auto key = one.substr(0, colon), said = colon == std::string::npos ? std::string{} : one.substr(colon + 1);
      if (key == "expandable_segments" && said != "True" && said != "true" && said != "False" && said != "false")  // c10 AllocatorConfig.cpp parseExpandableSegments
        fail("headroom: " + place + ": PYTORCH_CUDA_ALLOC_CONF expandable_segments must be True or False, found " + in_quotes(said));
      else if (key == "expandable_segments")
        d.say({"environment", "allocator", key}, said == "True" || said == "true", place);
      else if (key == "backend" && said != "native")
        fail("headroom: " + place + ": PYTORCH_CUDA_ALLOC_CONF backend " + in_quotes(said) + " is not modelled by this version");
      else if (key == "max_split_size_mb" || key == "roundup_power2_divisions" || key == "garbage_collection_threshold")
        d.say({"environment", "allocator", key}, typed(said), place);
      else if (key != "backend" && key != "pinned_use_background_threads" && key != "pinned_use_cuda_host_register" && key != "pinned_num_register_threads" && key != "release_lock_on_cudamalloc")
        fail("headroom: " + place + ": PYTORCH_CUDA_ALLOC_CONF has no " + in_quotes(key));
      at = end + 1;
    }
  } else {
    return false;
  }
  return true;
}

/// The usual names of a launch script's numbers, where no launcher says them.
inline bool import_count(draft& d, const shell_word& w, const std::string& source) {
  const auto equals = w.text.find('=');
  const auto name = w.text.substr(0, equals);
  const auto* key = name == "NNODES" || name == "NUM_NODES" || name == "SLURM_NNODES"                                      ? "nodes"
                    : name == "NPROC_PER_NODE" || name == "GPUS_PER_NODE" || name == "LOCAL_WORLD_SIZE" || name == "NGPU" ? "gpus_per_node"
                                                                                                                          : nullptr;
  if (key == nullptr || !w.known()) return false;
  const auto n = typed(w.text.substr(equals + 1));
  if (n.is_number()) d.say({"hardware", key}, count_at(n, source + ":" + std::to_string(w.line) + ": " + name, 1, 1 << 20), source + ":" + std::to_string(w.line));
  return true;
}

/// How many: a number, or "MIN:MAX" with both alike. "gpu" and its like take what the machine has: 0. Nothing where the file leaves it open.
inline std::optional<std::int64_t> how_many(const argument& a, const std::string& source) {
  const auto place = source + ":" + std::to_string(a.line) + ": --" + a.name;
  if (a.values.empty()) fail("headroom: " + place + " needs a number");
  if (!a.known()) return std::nullopt;
  auto text = a.values[0].text;
  if (text.starts_with("--")) fail("headroom: " + place + " has no value, " + in_quotes(text) + " stands behind it: what the script puts there is empty, and --env NAME=VALUE says it (--env 1=VALUE for its first argument)");
  if (text == "gpu" || text == "auto" || text == "cpu" || text == "xpu") return 0;
  if (const auto colon = text.find(':'); colon != std::string::npos) {
    if (text.substr(0, colon) != text.substr(colon + 1)) fail("headroom: " + place + " " + in_quotes(text) + " leaves the number of nodes open: say how many with --set hardware.nodes=N");
    text.resize(colon);
  }
  return count_at(typed(text), place, 1, 1 << 20);
}

}  // namespace headroom::io::detail
