// Distributed under the Boost Software License, Version 1.0.
// Which of DeepSpeed-Chat's steps a main.py is.
#pragma once

#include <headroom/io/launchers/arguments.hpp>

namespace headroom::io::detail {

/// DeepSpeed-Chat's three steps have a main.py each, and much the same arguments (deepspeedai/DeepSpeedExamples
/// applications/DeepSpeed-Chat/training/step*/main.py): where it writes, or the folder of its script, says which of them it is. Refuses what is
/// not, or may not be, the first.
inline void check_first_step(const draft& d, std::span<const argument> all, const std::string& place) {
  std::string to;
  bool own = false;  // an argument that the first step alone has
  for (const auto& a : all) {
    if (a.name == "output_dir" && !a.values.empty()) to = a.values[0].shown();
    own = own || a.name == "sft_only_data_path" || a.name == "eot_token";
  }
  const auto begin = "headroom: " + place + ": ";
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  for (const auto* other : {"step2", "step3", "reward", "dpo", "rlhf"})
    if (has(to, other)) fail(begin + in_quotes(to) + " is where DeepSpeed-Chat's reward, preference or reinforcement learning writes, which are not modelled by this version");
  for (const auto* other : {"step2_", "step3_"})
    if (has(d.script, other)) fail(begin + "the script stands in a folder of DeepSpeed-Chat's reward, preference or reinforcement learning, which are not modelled by this version");
  if (!own && !has(to, "step1") && !has(d.script, "step1_"))
    fail(begin + "main.py is one of DeepSpeed-Chat's three steps, and the script does not say which: where it is the first, supervised fine-tuning, say so with --program deepspeed-chat-sft");
}

}  // namespace headroom::io::detail
