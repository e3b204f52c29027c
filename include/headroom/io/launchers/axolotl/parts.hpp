// Distributed under the Boost Software License, Version 1.0.
// Parts of axolotl's configuration that have a form of their own: the targets of adapters, FSDP, and the command that starts it.
#pragma once

#include <headroom/io/launchers/accelerate/keys.hpp>
#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/axolotl/keys.hpp>
#include <headroom/io/launchers/listed_modules.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// Names of Qwen3-Next's and Qwen3.5's linear attention and shared expert, as a job has them: what one of its modules is, several matrices are there
/// (transformers models/qwen3_next and qwen3_5: in_proj_qkvz and in_proj_ba, or in_proj_qkv, in_proj_z, in_proj_b and in_proj_a; shared_expert.gate_proj
/// and shared_expert_gate). False where some of them are named and others are not.
inline bool with_linear_attention(std::vector<std::string>& names) {
  const auto take = [&](std::initializer_list<std::string_view> all, const char* as) {
    std::size_t found = 0;
    for (const auto one : all) found += std::erase(names, one);
    if (found > 0) names.emplace_back(as);
    return found == 0 || found == all.size();
  };
  const bool next = take({"linear_attn.in_proj_qkvz", "linear_attn.in_proj_ba"}, "mixer_in"), later = take({"linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "linear_attn.in_proj_b", "linear_attn.in_proj_a"}, "mixer_in");
  return next && later && take({"shared_expert.gate_proj", "shared_expert_gate"}, "shared_gate") && take({"linear_attn.out_proj"}, "mixer_out") && take({"shared_expert.up_proj"}, "shared_up") && take({"shared_expert.down_proj"}, "shared_down");
}

/// Names of a list, of every layer or of one part of each: PEFT compares their ends (peft/tuners/tuners_utils.py, check_target_module_exists). Else an
/// expression for the whole path. Every linear layer but the head where lora_target_linear asks for it, and beside it what is listed.
inline json_value axolotl_targets(draft& d, named_values& v, bool linear, const json_value* targets) {
  const auto unmodelled = [&] { d.unmodelled_key("lora_target_modules", *targets, v.place("lora_target_modules")); };
  auto names = json_value::array();
  if (targets != nullptr && targets->is_string()) {
    // Of a language model's layers, in the examples: ….layers.[\d]+.(mlp|self_attn).(up|down|gate|q|k|v|o)_proj
    const auto& text = targets->get_ref<const std::string&>();
    const auto open = text.rfind('(');
    const auto before = std::string_view{text}.substr(0, std::min(open, text.size()));
    const bool every = before.ends_with("layers.[\\d]+.(mlp|self_attn).") || before.ends_with("layers.[\\d]+.(mlp|cross_attn|self_attn).") || before.ends_with("layers.[\\d]+.(_checkpoint_wrapped_module.)?(mlp|self_attn).");
    const auto close = text.find(')', open == std::string::npos ? 0 : open);
    if (text == "all-linear") return text;
    if (!every || close == std::string::npos || text.substr(close) != ")_proj") {
      unmodelled();
    } else {
      auto inside = text.substr(open + 1, close - open - 1);
      std::replace(inside.begin(), inside.end(), '|', ' ');
      for_each_word(inside, [&](std::string_view w) { names.push_back(std::string{w} + "_proj"); });
    }
  } else if (targets != nullptr) {
    std::vector<std::string> listed;
    each_at(*targets, "lora_target_modules", "names", [&](const json_value& one, const std::string& path) { listed.push_back(string_at(one, path)); });
    if (!with_linear_attention(listed)) unmodelled();
    for (const auto& name : listed) {
      const auto part = name.substr(0, name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
      if (!part.empty() && part != "self_attn." && part != "mlp.")
        unmodelled();
      else
        names.push_back(name.substr(part.size()));
    }
  }
  if (!linear) {
    refuse_listed_all_linear(names, "lora_target_modules", v.place("lora_target_modules"));
    return names;
  }
  for (const auto& n : names)
    if (n == "lm_head" || n == "embed_tokens") unmodelled();
  return "all-linear";
}

/// fsdp_config as the Trainer's. `second`: the version that is said beside it; 0: none, which means the first (utils/schemas/validation.py,
/// check_fsdp_version_in_fsdp_config).
inline json_value axolotl_fsdp(draft& d, const document& from, const json_value& config, std::int64_t second) {
  auto to = json_value::object();
  std::string wrap;
  for (const auto& [key, value] : config.items()) {
    const auto name = key.starts_with("fsdp_") ? key.substr(5) : key;
    const auto path = "fsdp_config." + key;
    if (value.is_null()) continue;
    if (name == "version")
      second = second == 0 ? whole_at(value, path, 1, 2) : second;
    else if (name == "activation_checkpointing" || name == "offload_params" || name == "reshard_after_forward" || name == "transformer_layer_cls_to_wrap")
      to[name] = value;
    else if (name == "auto_wrap_policy")
      wrap = string_at(value, path);
    else if (const auto rule = rule_of(axolotl_fsdp_passed, name, value); rule != key_rule::passed)
      rule == key_rule::refused ? d.unmodelled_key(path, value, from.place(path)) : d.unknown_key(path, from.place(path));
  }
  if (second != 2) to.erase("reshard_after_forward");  // of the second version
  if (to.value("reshard_after_forward", json_value(true)) == json_value(true)) to.erase("reshard_after_forward");
  if (!wrap.empty() && wrap != "TRANSFORMER_BASED_WRAP") fail("headroom: " + from.place("fsdp_config") + ": auto_wrap_policy " + wrap + " is not modelled by this version: a unit is a layer (TRANSFORMER_BASED_WRAP)");
  const auto layer = to.value("transformer_layer_cls_to_wrap", json_value(""));
  to.erase("transformer_layer_cls_to_wrap");
  if (layer.is_array()) fail("headroom: " + from.place("fsdp_config") + ": transformer_layer_cls_to_wrap must be one name: axolotl ends at a list (utils/schemas/fsdp.py, FSDPConfig)");
  const auto text = layer.is_string() ? layer.get<std::string>() : std::string{","};
  refuse_tower_class(from.place("fsdp_config"), text);
  if (!text.empty() && (text.find(',') != std::string::npos || !(text.ends_with("Layer") || text.ends_with("Block")) || text.ends_with("MoeBlock")))
    d.unmodelled_key("fsdp_config.transformer_layer_cls_to_wrap", layer, from.place("fsdp_config"));
  to["version"] = second == 2 ? 2 : 1;
  return to;
}

/// The launch that `axolotl train FILE --key VALUE … -- OPTIONS` makes (cli/utils/train.py, launch_training), and where its launcher's options begin;
/// without a launcher where its program stands.
struct axolotl_launch {
  shell_command command;
  std::string_view launcher{"accelerate"};
  std::size_t at{};
};
inline constexpr std::string_view axolotl_module = "axolotl.cli.train";
inline axolotl_launch axolotl_command(const shell_command& c, std::size_t i) {
  const auto begin = c.words.begin() + static_cast<std::ptrdiff_t>(i);
  const auto end = std::find_if(begin, c.words.end(), [](const shell_word& w) { return w.text == "--"; });
  std::vector<shell_word> own, options(end == c.words.end() ? end : end + 1, c.words.end());
  axolotl_launch r{c};
  for (auto w = begin; w != end; ++w) {
    const bool valued = w + 1 != end;
    if (valued && w->text == "--launcher") {
      ++w;
      r.launcher = w->text == "torchrun" ? "torchrun" : w->text == "python" ? "python" : "accelerate";
    } else if (valued && (w->text == "--num-processes" || w->text == "--num_processes" || w->text == "--main-process-port" || w->text == "--main_process_port")) {
      options.insert(options.begin(), {w[0], w[1]});
      ++w;
    } else {
      own.push_back(*w);
    }
  }
  const auto line = c.words[0].line;
  auto& words = r.command.words;
  words = {{std::string{r.launcher}, line}};
  if (r.launcher == "accelerate") words.push_back({"launch", line});
  r.at = words.size();
  words.insert(words.end(), options.begin(), options.end());
  if (r.launcher != "python") words.push_back({"-m", line});
  words.push_back({std::string{axolotl_module}, line});
  words.insert(words.end(), own.begin(), own.end());
  return r;
}

}  // namespace headroom::io::detail
