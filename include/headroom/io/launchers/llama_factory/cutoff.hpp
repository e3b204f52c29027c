// Distributed under the Boost Software License, Version 1.0.
// The length of samples where no file of LLaMA-Factory's says cutoff_len (hiyouga/LLaMA-Factory src/llamafactory/hparams/data_args.py).
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::io::detail {

/// 2048 since 0.9.1 (1e6f9650 of 2024-11-10), 1024 before.
inline void note_default_cutoff(draft& d, const std::string& source) {
  d.notes.push_back(source + ": cutoff_len is not given, and is 2048 in LLaMA-Factory since 0.9.1 (2024-11), and 1024 before: --set batch.sequence=1024 where it is older");
}

/// src/train_bash.py ended with 0.7.0 (2024-04).
inline void say_old_cutoff(std::string_view script, std::vector<argument>& all, int line) {
  if (path_end(script, "train_bash.py").empty() || std::any_of(all.begin(), all.end(), [](const argument& a) { return a.name == "cutoff_len" || a.name == "cutoff-len"; })) return;
  all.push_back({"cutoff_len", {{"1024", line}}, line});
}

}  // namespace headroom::io::detail
