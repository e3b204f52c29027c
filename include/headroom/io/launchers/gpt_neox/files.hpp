// Distributed under the Boost Software License, Version 1.0.
// What tells a file of GPT-NeoX's, and how its keys are spelled.
#pragma once

#include <headroom/io/launchers/arguments.hpp>

#include <algorithm>

namespace headroom::io::detail {

/// Both - and _ stand between the words of a key.
inline document with_underscores(const document& from) {
  document r{.source = from.source, .root = json_value::object(), .lines = {}};
  for (const auto& [key, value] : from.root.items()) {
    auto name = key;
    std::replace(name.begin(), name.end(), '-', '_');
    r.root[name] = value;
  }
  for (const auto& [path, line] : from.lines) {
    auto name = path.substr(0, path.find('.'));
    std::replace(name.begin(), name.end(), '-', '_');
    r.lines[name + (path.find('.') == std::string::npos ? "" : path.substr(path.find('.')))] = line;
  }
  return r;
}

/// Whether an object is a configuration of GPT-NeoX's, or a part of one.
inline bool is_gpt_neox(const json_value& root) {
  if (!root.is_object()) return false;
  const auto has = [&](std::string key) {
    if (root.contains(key)) return true;
    std::replace(key.begin(), key.end(), '_', '-');
    return root.contains(key);
  };
  for (const auto* key : {"pipe_parallel_size", "model_parallel_size", "pos_emb", "attention_config", "no_weight_tying", "train_data_paths", "deepspeed_slurm", "deepspeed_mpi", "gpt_j_residual", "text_gen_type"})
    if (has(key)) return true;
  const auto both = [&](const char* a, const char* b) { return has(a) && has(b); };
  return both("vocab_file", "data_path") || both("vocab_file", "tokenizer_type") || both("hostfile", "launcher") || both("tokenizer_type", "data_path") || both("train_iters", "train_micro_batch_size_per_gpu");
}

}  // namespace headroom::io::detail
