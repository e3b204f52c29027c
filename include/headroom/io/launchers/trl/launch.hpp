// Distributed under the Boost Software License, Version 1.0.
// TRL's own command: `trl dpo --config FILE --num_processes 4 …` starts accelerate launch (huggingface/trl f2cd57710 of 2026-07-24:
// trl/cli/commands/training.py, accelerate_config.py, trl/accelerate_configs/*.yaml).
#pragma once

#include <headroom/io/launchers/accelerate/options.hpp>
#include <headroom/io/launchers/axolotl/parts.hpp>

namespace headroom::io::detail {

inline constexpr std::string_view trl_commands = "sft|dpo|kto|grpo|reward|rloo";

/// An option of accelerate launch that is no argument of the script, too.
inline bool trl_hands_on(std::string_view name) {
  if (among_words("fp16|debug|cpu|env|m|q|t|tee|role|log_dir|module|quiet|gradient_accumulation_steps|use_mps_device|fsdp_transformer_layer_cls_to_wrap|fsdp_min_num_params", name)) return false;
  return std::any_of(accelerate_options.begin(), accelerate_options.end(), [&](const auto& o) { return o.name == name; });
}

/// A configuration of accelerate's that TRL ships, by the name that accelerate_config takes; null where it is a path.
inline json_value trl_accelerate_config(std::string_view name) {
  json_value c = {{"mixed_precision", "bf16"}, {"num_machines", 1}, {"num_processes", 8}, {"distributed_type", "MULTI_GPU"}};
  if (name == "multi_gpu") return c;
  if (name == "single_gpu") return c["distributed_type"] = "NO", c["num_processes"] = 1, c;
  if (name == "zero1" || name == "zero2" || name == "zero3") {
    c["distributed_type"] = "DEEPSPEED";
    c["deepspeed_config"] = {{"zero_stage", name.back() - '0'}};
    if (name == "zero1") c["deepspeed_config"]["gradient_accumulation_steps"] = 1;
    return c;
  }
  if (name != "fsdp1" && name != "fsdp2") return nullptr;
  c["distributed_type"] = "FSDP";
  c["fsdp_config"] = {{"fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"}, {"fsdp_activation_checkpointing", false}, {"fsdp_offload_params", false}};
  if (name == "fsdp1")
    c["fsdp_config"].update({{"fsdp_version", 1}, {"fsdp_reshard_after_forward", "FULL_SHARD"}, {"fsdp_backward_prefetch", "BACKWARD_PRE"}, {"fsdp_forward_prefetch", true}});
  else
    c["fsdp_config"].update({{"fsdp_version", 2}, {"fsdp_reshard_after_forward", true}});
  return c;
}

/// The launch that `trl METHOD …` makes, and where accelerate's options begin. What the configuration says to accelerate is taken out of it.
inline axolotl_launch trl_command(draft& d, const shell_command& c, std::size_t i, const std::string& source) {
  axolotl_launch r{c};
  const auto line = c.words[0].line;
  std::vector<shell_word> options, own, stray;
  const auto config = [&](const std::string& name, int at) {
    const auto shipped = trl_accelerate_config(name);
    if (shipped.is_null())
      d.named.push_back({file_kind::accelerate, name, source + ":" + std::to_string(at)});
    else
      d.accelerate = document{.source = source + ":" + std::to_string(at) + ": TRL's " + name, .root = shipped, .lines = {}};
  };
  const auto say = [&](const argument& a) {
    options.push_back({"--" + a.name, a.line});
    options.insert(options.end(), a.values.begin(), a.values.end());
  };
  if (d.trainer)
    for (auto it = d.trainer->root.begin(); it != d.trainer->root.end();) {
      const auto text = it->is_string() ? it->get<std::string>() : it->dump();
      const bool ours = it.key() == "accelerate_config" || trl_hands_on(it.key());
      if (ours && it.key() == "accelerate_config") config(text, line);
      else if (ours) say({it.key(), {{text, line}}, line});
      it = ours ? d.trainer->root.erase(it) : std::next(it);
    }
  for (const auto& a : arguments_of(std::span{c.words}.subspan(i + 1), &stray)) {
    auto name = a.name;
    std::replace(name.begin(), name.end(), '-', '_');
    if (name == "accelerate_config" && !a.values.empty()) {
      config(a.values[0].shown(), a.line);
    } else if (trl_hands_on(name)) {
      say(a);
    } else {
      own.push_back({"--" + a.name, a.line});
      own.insert(own.end(), a.values.begin(), a.values.end());
    }
  }
  for (const auto& w : stray)
    if (w.known()) fail("headroom: " + source + ":" + std::to_string(w.line) + ": " + in_quotes(w.shown()) + " is no argument of trl-" + c.words[i].text + "'s, which begin with two dashes: take it out");
  auto& words = r.command.words;
  words = {{"accelerate", line}, {"launch", line}};
  r.at = words.size();
  words.insert(words.end(), options.begin(), options.end());
  words.push_back({"trl/scripts/" + c.words[i].text + ".py", line});
  words.insert(words.end(), own.begin(), own.end());
  return r;
}

}  // namespace headroom::io::detail
