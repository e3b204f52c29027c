// Distributed under the Boost Software License, Version 1.0.
// accelerate's configuration (`accelerate config`): how many GPUs, and DDP, FSDP or DeepSpeed over them
// (accelerate/commands/config/config_args.py, cluster.py; utils/dataclasses.py, FullyShardedDataParallelPlugin).
#pragma once

#include <headroom/io/launchers/accelerate/keys.hpp>
#include <headroom/io/launchers/deepspeed/import.hpp>
#include <headroom/io/launchers/trainer/import.hpp>

namespace headroom::io {

namespace detail {

/// Keys of fsdp_config and dynamo_config may stand without their prefix (accelerate/commands/launch.py, _validate_launch_command).
inline document with_full_names(const document& from) {
  auto whole = from;
  for (const auto& [section, prefix] : {std::pair<std::string, std::string>{"fsdp_config", "fsdp_"}, {"dynamo_config", "dynamo_"}}) {
    if (!whole.root.contains(section) || !whole.root[section].is_object()) continue;
    auto named = json_value::object();
    for (const auto& [key, value] : whole.root[section].items()) {
      const auto full = key.starts_with(prefix) ? key : prefix + key;
      named[full] = value;
      if (const auto line = from.lines.find(section + "." + key); line != from.lines.end()) whole.lines[section + "." + full] = line->second;
    }
    whole.root[section] = std::move(named);
  }
  return whole;
}

/// Leaves out the sections that nothing asks for (utils/launch.py, prepare_multi_gpu_env, prepare_deepspeed_cmd_env).
inline void drop_unasked(json_value& root) {
  const auto unless = [&](const char* section, const char* key, const char* asked) {
    if (!root.contains(key) || root[key] != asked) root.erase(section);
  };
  unless("fsdp_config", "distributed_type", "FSDP");
  unless("deepspeed_config", "distributed_type", "DEEPSPEED");
}

class accelerate_config {
 public:
  accelerate_config(draft& d, const document& from) : d_(&d), from_(&from), k_(from.root, "") {}

  void import() {
    auto type = word(k_, "distributed_type", "NO");
    if (type == "no") type = "NO";  // without quotes a boolean, too
    static constexpr std::string_view types[] = {"NO", "MULTI_GPU", "FSDP", "DEEPSPEED", "MEGATRON_LM", "MULTI_CPU", "MULTI_NPU", "MULTI_XPU", "XLA", "TPU"};
    if (std::find(std::begin(types), std::end(types), type) == std::end(types)) unknown_name("distributed_type", type, types);
    if (type != "NO" && type != "MULTI_GPU" && type != "FSDP" && type != "DEEPSPEED") fail("headroom: distributed_type " + type + " is not read by this version; accepted: NO, MULTI_GPU, FSDP, DEEPSPEED");
    if (type == "NO") alone();
    if (type == "DEEPSPEED")
      d_->framework_is("deepspeed", at("distributed_type"));
    else if (!d_->framework_is("deepspeed"))
      d_->framework_is("hf-trainer", at("distributed_type"));
    machines();
    formats();
    if (type == "MULTI_GPU" && !d_->has({"sharding"})) d_->replace("sharding", "ddp", at("distributed_type"));
    const auto* fsdp = k_.take("fsdp_config");
    const auto* ds = k_.take("deepspeed_config");
    if (type == "FSDP") sharded(fsdp);
    if (type == "DEEPSPEED") engine(ds);
    compiled();
    k_.take("tp_config");  // of one
    k_.finish();
  }

 private:
  [[nodiscard]] std::string at(const std::string& key) const { return from_->place(key); }
  static const json_value* stated(key_reader& k, std::string_view key) {
    const auto* v = k.take(key);
    return v == nullptr || v->is_null() || (v->is_string() && v->get_ref<const std::string&>().empty()) ? nullptr : v;
  }
  static std::string word(key_reader& k, std::string_view key, std::string_view otherwise) {
    const auto* v = stated(k, key);
    if (v == nullptr) return std::string{otherwise};
    if (v->is_boolean() && !flag_at(*v, "")) return "no";  // an unquoted no is a boolean of YAML 1.1
    return string_at(*v, k.at(key));
  }
  /// true, false, or the words that accelerate's questions make of them.
  static bool flag(key_reader& k, std::string_view key, bool otherwise) {
    const auto* v = stated(k, key);
    if (v == nullptr) return otherwise;
    if (!v->is_string()) return flag_at(*v, k.at(key));
    const auto& w = v->get_ref<const std::string&>();
    if (w == "true" || w == "True" || w == "yes") return true;
    if (w == "false" || w == "False" || w == "no") return false;
    wrong_value(k.at(key), "true or false", *v);
  }

  /// Without a distributed_type one process is started, whatever num_processes says (commands/launch.py launch_command: simple_launcher).
  void alone() {
    const auto* n = stated(k_, "num_processes");
    if (n == nullptr || *n == -1 || whole_at(*n, "num_processes", 1, 1 << 20) == 1) return;
    fail("headroom: " + at("num_processes") + ": num_processes is " + n->dump() + ", but distributed_type NO starts one process, which spreads a batch over the GPUs that it sees (DataParallel), which is not modelled by this version: say distributed_type: MULTI_GPU, or num_processes: 1");
  }
  void machines() {
    if (const auto* n = stated(k_, "num_machines")) d_->say({"hardware", "nodes"}, whole_at(*n, "num_machines", 1, 1 << 20), at("num_machines"));
    if (const auto* n = stated(k_, "num_processes"); n != nullptr && *n != -1) d_->know(d_->gpus, "GPUs", whole_at(*n, "num_processes", 1, 1 << 20), at("num_processes"));
  }
  void formats() {
    auto format = word(k_, "mixed_precision", "");
    if (const auto* old = k_.take("fp16"); format.empty() && old != nullptr && !old->is_null() && flag_at(*old, "fp16")) format = "fp16";  // a key of 2021
    if (format.empty()) return;
    if (format == "fp8") fail("headroom: mixed_precision \"fp8\" is not read by this version; accepted: no, fp16, bf16");
    if (format != "no" && format != "fp16" && format != "bf16") wrong_value("mixed_precision", "\"no\", \"fp16\", \"bf16\" or \"fp8\"", format);
    d_->half = draft::said{format, at("mixed_precision")};
  }

  void sharded(const json_value* config) {
    static const json_value empty = json_value::object();
    key_reader k{config == nullptr || config->is_null() ? empty : *config, "fsdp_config"};
    std::int64_t version = 1;
    if (const auto* v = stated(k, "fsdp_version")) version = whole_at(*v, k.at("fsdp_version"), 1, 2);
    // Each version has its own key, and looks at no other (utils/dataclasses.py, __post_init__; utils/launch.py always says a strategy).
    const auto said = strategy_of(k);
    const auto strategy = version == 2 ? std::string{"FULL_SHARD"} : said;
    const auto* whole = stated(k, "fsdp_reshard_after_forward");
    bool again = strategy == "FULL_SHARD" || strategy == "HYBRID_SHARD";
    if (version == 2) again = flag(k, "fsdp_reshard_after_forward", true);
    if (version == 1 && whole != nullptr && k.take("fsdp_sharding_strategy") == nullptr && (*whole == "SHARD_GRAD_OP" || *whole == "FULL_SHARD")) again = *whole == "FULL_SHARD";
    const auto place = at("fsdp_config");
    if (strategy == "NO_SHARD")
      d_->replace("sharding", "ddp", place);
    else
      d_->replace("sharding", json_value{{"kind", version == 2 ? "fsdp2" : "fsdp1"}, {"stage", again ? 3 : 2}}, place);
    if (version == 2 && again) date_fsdp2_root(*d_, place);
    if (strategy.starts_with("HYBRID")) d_->hybrid = place;
    if (flag(k, "fsdp_offload_params", false)) d_->say({"offload"}, {{"parameters", "cpu"}, {"optimizer", "cpu"}}, at(k.at("fsdp_offload_params")));
    if (flag(k, "fsdp_activation_checkpointing", false)) {  // by wrappers of layers, which ask for no gradients (accelerate/accelerator.py, prepare_model)
      d_->asks_towers = draft::said{"never", at(k.at("fsdp_activation_checkpointing"))};
      d_->replace("recompute", "full", d_->asks_towers->place);
    }
    if (flag(k, "fsdp_cpu_ram_efficient_loading", true)) d_->loads_once = draft::said{"fsdp_cpu_ram_efficient_loading", place};  // commands/launch.py: its default
    units(k, version);
    k.finish();
  }
  /// Whether a unit is a layer: the language model's alone is named, or a tower's beside it.
  static bool wraps_layers(std::string_view classes) {
    const auto layer = [](std::string_view name) { return name.ends_with("Layer") || name.ends_with("Block"); };
    const auto comma = classes.find(',');
    if (comma == classes.npos) return layer(classes);
    auto first = classes.substr(0, comma), second = classes.substr(comma + 1);
    second.remove_prefix(std::min(second.find_first_not_of(' '), second.size()));
    if (first.find("Vision") != first.npos) std::swap(first, second);
    return second.find(',') == second.npos && layer(first) && layer(second) && first.find("Vision") == first.npos && second.find("Vision") != second.npos && !first.ends_with("MoeBlock");
  }
  /// Which modules are gathered together, and when.
  void units(key_reader& k, std::int64_t version) {
    const auto wrap = word(k, "fsdp_auto_wrap_policy", "");
    if (!wrap.empty() && wrap != "TRANSFORMER_BASED_WRAP" && wrap != "NO_WRAP" && wrap != "SIZE_BASED_WRAP") wrong_value(k.at("fsdp_auto_wrap_policy"), "\"TRANSFORMER_BASED_WRAP\"", wrap);
    if (wrap.empty()) fail("headroom: " + at("fsdp_config") + ": without fsdp_auto_wrap_policy the whole model is one unit (NO_WRAP), which is not modelled by this version: a unit is a layer (TRANSFORMER_BASED_WRAP)");
    if (wrap != "TRANSFORMER_BASED_WRAP") fail("headroom: " + k.at("fsdp_auto_wrap_policy") + " " + wrap + " is not modelled by this version: a unit is a layer");
    const auto layer = word(k, "fsdp_transformer_layer_cls_to_wrap", "");
    refuse_tower_class(at(k.at("fsdp_transformer_layer_cls_to_wrap")), layer);
    if (!layer.empty() && !wraps_layers(layer))
      d_->unmodelled_key(k.at("fsdp_transformer_layer_cls_to_wrap"), layer, at(k.at("fsdp_transformer_layer_cls_to_wrap")));
    const bool older = gathers_ahead(k, "fsdp_backward_prefetch_policy", false), ahead = gathers_ahead(k, "fsdp_backward_prefetch", older);
    const bool forward = flag(k, "fsdp_forward_prefetch", false);
    if (version == 2) return;
    // Either way FSDP1's limiter lets two all-gathers be in flight (_limiter_utils.py).
    if (forward) d_->notes.push_back(at(k.at("fsdp_forward_prefetch")) + ": fsdp_forward_prefetch gathers a layer ahead: forward may hold one layer's weights more than is predicted");
    if (!ahead && d_->job["sharding"].is_object())
      d_->say({"sharding", "backward_prefetch"}, false, at("fsdp_config"));
  }
  /// BACKWARD_PRE, in any case, or 1 (accelerate utils/dataclasses.py FullyShardedDataParallelPlugin.__post_init__). BACKWARD_POST gathers once the layer at
  /// hand is let go (_runtime_utils.py _post_backward_hook).
  bool gathers_ahead(key_reader& k, const char* key, bool otherwise) {
    const auto* said = stated(k, key);
    if (said == nullptr) return otherwise;
    auto word = said->is_string() ? said->get<std::string>() : said->is_number_integer() ? said->dump() : std::string{};
    for (auto& c : word) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const bool first = word == "BACKWARD_PRE" || word == "1";
    if (!first && word != "BACKWARD_POST" && word != "2" && word != "NO_PREFETCH") wrong_value(k.at(key), "BACKWARD_PRE, BACKWARD_POST or NO_PREFETCH", *said);
    return first;
  }
  std::string strategy_of(key_reader& k) {
    static constexpr std::string_view names[] = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"};
    const auto* v = stated(k, "fsdp_sharding_strategy");
    if (v == nullptr) return "FULL_SHARD";
    const auto path = k.at("fsdp_sharding_strategy");
    if (v->is_number()) return std::string{names[whole_at(*v, path, 1, 5) - 1]};
    auto said = string_at(*v, path);
    if (said.size() == 1 && said[0] >= '1' && said[0] <= '5') return std::string{names[said[0] - '1']};
    if (std::find(std::begin(names), std::end(names), said) == std::end(names)) unknown_name(path, said, names);
    return said;
  }

  /// A file's name, or a few keys (utils/dataclasses.py, DeepSpeedPlugin).
  void engine(const json_value* config) {
    static const json_value empty = json_value::object();
    key_reader k{config == nullptr || config->is_null() ? empty : *config, "deepspeed_config"};
    const auto file = word(k, "deepspeed_config_file", "");
    json_value zero = json_value::object();
    if (const auto* v = stated(k, "zero_stage")) zero["stage"] = whole_at(*v, k.at("zero_stage"), 0, 3);
    for (const auto& [key, theirs] : {std::pair{"offload_optimizer_device", "offload_optimizer"}, {"offload_param_device", "offload_param"}}) {
      const auto where = word(k, key, "none");
      if (where != "none" && where != "cpu" && where != "nvme") wrong_value(k.at(key), "\"none\", \"cpu\" or \"nvme\"", where);
      if (where == "none" || where == "no") continue;
      zero[theirs] = {{"device", where}};
    }
    const auto* accumulation = stated(k, "gradient_accumulation_steps");
    k.finish();
    if (!file.empty()) {
      if (!d_->has({"framework", "options"})) d_->say({"sharding", "kind"}, "zero", at(k.at("deepspeed_config_file")));
      d_->named.push_back({file_kind::deepspeed, file, at(k.at("deepspeed_config_file"))});
      return;
    }
    if (!zero.contains("stage")) zero["stage"] = 2;  // DeepSpeedPlugin's default
    d_->say({"framework", "options", "zero_optimization"}, zero, at("deepspeed_config"));
    if (accumulation != nullptr && !(accumulation->is_string() && *accumulation == "auto"))
      d_->say({"framework", "options", "gradient_accumulation_steps"}, whole_at(*accumulation, k.at("gradient_accumulation_steps"), 1, 1 << 20), at(k.at("gradient_accumulation_steps")));
  }

  void compiled() {
    const auto* config = k_.take("dynamo_config");
    const auto* legacy = k_.take("dynamo_backend");
    std::string backend = "no";
    std::string key = "dynamo_config.dynamo_backend";
    if (legacy != nullptr && !legacy->is_null()) backend = string_at(*legacy, key = "dynamo_backend");
    if (config != nullptr && !config->is_null()) {
      key_reader k{*config, "dynamo_config"};
      backend = word(k, "dynamo_backend", "no");
      key = "dynamo_config.dynamo_backend";
      k.finish();
    }
    if (backend == "INDUCTOR" || backend == "inductor")
      d_->replace("compile", true, at("dynamo_config"));
    else if (backend != "no" && backend != "NO")
      fail("headroom: " + key + " " + in_quotes(backend) + " is not modelled by this version; accepted: INDUCTOR, NO");
  }

  draft* d_;
  const document* from_;
  key_reader k_;
};

}  // namespace detail

/// Adds accelerate's configuration; what a command line says goes over it later (io/launchers/import_launch.hpp).
inline void import_accelerate(draft& d, const document& from) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("accelerate's configuration", "an object", from.root);
    d.accelerate = detail::with_full_names(from);
    std::erase(d.unread, file_kind::accelerate);
    auto judged = *d.accelerate;
    detail::drop_unasked(judged.root);
    detail::judge_keys(d, judged, judged.root, "", detail::key_lists{detail::accelerate_read, detail::accelerate_passed});
    detail::accelerate_config{d, judged}.import();
  });
}

}  // namespace headroom::io
