// Distributed under the Boost Software License, Version 1.0.
// FSDP's configuration in a file of its own: the Trainer's --fsdp_config FILE (transformers/training_args.py, _process_fsdp_args), and ms-swift's
// --fsdp FILE, which has the words of fsdp beside it (swift/arguments/sft_args.py, _init_fsdp).
#pragma once

#include <headroom/io/launchers/launcher_options.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>

namespace headroom::io::detail {

/// Keys of such a file, each with "fsdp_" before it or not.
inline constexpr std::string_view fsdp_file_keys =
    "activation_checkpointing|activation_cpu_offload|auto_wrap_policy|backward_prefetch|cpu_offload|cpu_ram_efficient_loading|forward_prefetch|limit_all_gathers|min_num_params|offload_params|"
    "reshard_after_forward|state_dict_type|sync_module_states|transformer_layer_cls_to_wrap|use_orig_params|version|xla|xla_fsdp_grad_ckpt|xla_fsdp_settings|xla_fsdp_v2";

/// Whether an object is such a configuration, and has nothing else.
inline bool is_fsdp_file(const json_value& root) {
  if (!root.is_object()) return false;
  if (root.contains("fsdp") && root.contains("fsdp_config")) return root["fsdp_config"].is_object() && !root.contains("per_device_train_batch_size");
  bool any = false;
  for (const auto& [key, value] : root.items()) {
    if (key.starts_with('_')) continue;  // a comment
    if (!among_words(fsdp_file_keys, key.starts_with("fsdp_") ? key.substr(5) : key)) return false;
    any = true;
  }
  return any;
}

/// What ms-swift asks of it before the Trainer reads it (_check_fsdp2_compatibility).
inline void check_swift_fsdp(const json_value& config, const json_value& arguments, const std::string& source) {
  const auto* version = config.contains("fsdp_version") ? "fsdp_version" : "version";
  if (!config.contains(version)) fail("headroom: " + source + ": fsdp_config.fsdp_version must be given, 1 or 2: ms-swift and transformers take other defaults");
  const auto states = config.value("state_dict_type", json_value("SHARDED_STATE_DICT"));
  const bool alone = arguments.contains("save_only_model") && !arguments["save_only_model"].is_null() && truth(arguments["save_only_model"], "save_only_model");
  if (alone && states.is_string() && states.get_ref<const std::string&>().find("SHARDED") != std::string::npos)
    fail("headroom: " + source + ": ms-swift stops where save_only_model is true beside fsdp_config.state_dict_type SHARDED_STATE_DICT, which saves parts: take save_only_model out");
}

/// The same arguments with the keys of the file that they name in its place. One that nobody gave is asked for.
/// Errors: job_error for a file of another name, or of the other program.
inline document with_fsdp_file(draft& d, const document& from, const training_program& p) {
  const bool swift = p.name == "ms-swift";
  const auto* key = swift ? "fsdp" : "fsdp_config";
  if (!from.root.contains(key) || !from.root[key].is_string() || p.name == "axolotl") return from;
  const auto path = from.root[key].get<std::string>();
  if (path.empty() || path.starts_with('{') || (swift && !path.ends_with(".json"))) return from;
  const auto place = from.place(key);
  d.named.push_back({file_kind::fsdp, path, place});
  auto made = from;
  made.root.erase(key);
  if (!d.fsdp) return made;
  const auto& file = *d.fsdp;
  if (file_part(path) != file.source) fail("headroom: " + place + ": names " + in_quotes(path) + ", and " + file.source + " is another configuration of FSDP: give the one that it names");
  if (swift != file.root.contains("fsdp_config"))
    fail("headroom: " + file.source + ": is " + (swift ? "the Trainer's own configuration of FSDP, and ms-swift's has an fsdp_config" : "ms-swift's configuration of FSDP, and the Trainer takes what stands in its fsdp_config"));
  auto config = swift ? file.root["fsdp_config"] : file.root;
  for (auto it = config.begin(); it != config.end();) it = it.key().starts_with('_') ? config.erase(it) : std::next(it);
  if (swift) {
    check_swift_fsdp(config, from.root, file.source);
    made.root["fsdp"] = file.root["fsdp"];
  }
  made.root["fsdp_config"] = std::move(config);
  made.elsewhere["fsdp_config"] = file.place("fsdp_config");
  return made;
}

}  // namespace headroom::io::detail
