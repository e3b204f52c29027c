// Distributed under the Boost Software License, Version 1.0.
// torchtune: the YAML of its fine-tuning recipes, of which `tune run` names one (pytorch/torchtune bd2a0fc7 of 2026-04-23).
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/torch_optimizer.hpp>
#include <headroom/io/launchers/torchtune/keys.hpp>
#include <headroom/io/launchers/torchtune/model.hpp>

namespace headroom::io {

namespace detail {

class torchtune_config {
 public:
  torchtune_config(draft& d, const document& from) : d_(&d), k_(from), root_(&from.root) {}

  void import() {
    d_->framework_is("torchtune", k_.source());
    const auto format = k_.word("dtype", "bf16");
    if (format != "bf16" && format != "fp32") wrong_value("dtype", "\"bf16\" or \"fp32\"", format);
    model(format);
    quantised();
    batch();
    loss();
    const auto o = optimizer();
    d_->replace("precision", one_format(format, o.state), k_.place("dtype"));
    checkpoints();
    sharding();
    compiled();
    validation();
  }

 private:
  void model(const std::string& format) {
    const auto place = k_.place("model._component_");
    auto builder = k_.word("model._component_");
    if (!builder.starts_with("torchtune.models.")) fail("headroom: " + place + ": model._component_ " + in_quotes(builder) + " is no model of torchtune's, which alone are read: --set model=NAME does not say its adapters");
    builder.erase(0, builder.rfind('.') + 1);
    const bool quantised = k_.on("model.quantize_base", builder.starts_with("qlora_"));  // qlora_… is lora_… with that argument
    adapted_ = builder.starts_with("qlora_") || builder.starts_with("lora_");
    if (adapted_) builder.erase(0, builder.find('_') + 1);
    if (!torchtune_own_shape(*d_, k_, builder)) say_model(*d_, torchtune_model_name(builder), place);
    if (!adapted_) {
      for (const auto* key : {"lora_attn_modules", "lora_rank", "lora_dropout", "apply_lora_to_mlp", "apply_lora_to_output", "use_dora", "quantize_base"})
        if (const auto path = std::string{"model."} + key; k_.find(path) != nullptr) fail("headroom: " + k_.place(path) + ": " + path + " is no argument of " + in_quotes(builder) + ", which trains the whole model");
      return;
    }
    adapters(format, quantised);
  }
  /// The builders' own arguments: torchtune/models/llama3_1/_model_builders.py, lora_llama3_1_8b. What is quantised is every matrix of the
  /// layers, adapted or not (models/llama3_1/_component_builders.py).
  void adapters(const std::string& format, bool quantised) {
    const auto place = k_.place("model.lora_rank");
    auto targets = json_value::array();
    const auto* listed_modules = k_.find("model.lora_attn_modules");
    if (listed_modules == nullptr) fail("headroom: " + k_.place("model._component_") + ": model.lora_attn_modules is missing, which torchtune's builders of adapters ask for");
    each_at(*listed_modules, "model.lora_attn_modules", "a list of q_proj, k_proj, v_proj, output_proj", [&](const json_value& v, const std::string& path) {
      const auto& name = string_at(v, path);
      if (name != "q_proj" && name != "k_proj" && name != "v_proj" && name != "output_proj") wrong_value(path, "q_proj, k_proj, v_proj or output_proj", v);
      targets.push_back(name == "output_proj" ? "o_proj" : name);
    });
    if (k_.on("model.apply_lora_to_mlp"))
      for (const auto* name : {"gate_proj", "up_proj", "down_proj"}) targets.push_back(name);
    if (k_.on("model.apply_lora_to_output")) targets.push_back("lm_head");
    json_value a{{"kind", k_.on("model.use_dora") ? "dora" : "lora"}, {"rank", k_.number("model.lora_rank", 8)}, {"targets", targets}, {"format", format}, {"dropout", k_.share("model.lora_dropout", 0.0)},
                 {"base", quantised ? "nf4-double" : format}};
    if (quantised) a["base_skips"] = {"lm_head"};
    d_->replace("adapter", a, place);
  }
  /// Quantisation-aware training (recipes/qat_distributed.py, qat_single_device.py): torchao's quantizer stands for every nn.Linear. Adapters' recipe asks
  /// torchao for a class that its quantizers have not given since 0.13 (torchtune/modules/peft/lora.py, QATLoRALinear; torchtune/training/quantization.py
  /// imports what came later).
  void quantised() {
    const auto* name = k_.find("quantizer._component_");
    if (name == nullptr) return;
    const auto place = k_.place("quantizer._component_");
    const auto& whole = string_at(*name, "quantizer._component_");
    const auto last = whole.substr(whole.rfind('.') == std::string::npos ? 0 : whole.rfind('.') + 1);
    if (last != "Int8DynActInt4WeightQATQuantizer" && last != "Int8DynActInt4WeightQATQuantizerModuleSwap")
      fail("headroom: " + place + ": quantizer._component_ " + in_quotes(whole) + " is not modelled by this version; accepted: torchtune.training.quantization.Int8DynActInt4WeightQATQuantizer");
    if (adapted_) fail("headroom: " + place + ": adapters beside a quantizer end before the first step: torchtune asks for torchao's FakeQuantizeConfig, and its quantizers give another class since torchao 0.13");
    d_->replace("fake_quantization", {{"weights", "intx"}, {"group", k_.number("quantizer.groupsize", 256)}, {"activations", true}}, place);
  }
  void batch() {
    d_->say({"batch", "micro"}, k_.number("batch_size", 1), k_.place("batch_size"));
    d_->say({"batch", "accumulation"}, k_.number("gradient_accumulation_steps", 1), k_.place("gradient_accumulation_steps"));
    auto path = std::string{"tokenizer.max_seq_len"};
    if (k_.find(path) == nullptr) path = "dataset.max_seq_len";
    const auto longest = k_.number(path, 0);
    if (longest > 0) d_->say({"batch", "sequence"}, longest, k_.place(path));
    bool packed = k_.on("dataset.packed");
    if (const auto* list = value_at(*root_, "dataset"); list != nullptr && list->is_array())
      for (const auto& one : *list) packed = packed || (one.is_object() && one.contains("packed") && one["packed"] == true);
    if (packed && longest == 0) fail("headroom: " + k_.place("dataset.packed") + ": a packed dataset needs tokenizer.max_seq_len, as torchtune says itself");
    if (packed) d_->say({"batch", "packed"}, true, k_.place("dataset.packed"));
    if (!packed) d_->keeps_lengths = k_.place(path);  // data/_collate.py, padded_collate_sft
    if (!packed && longest > 0) d_->notes.push_back(k_.place(path) + ": the longest sample is taken to have " + std::to_string(longest) + " tokens, to which longer ones are cut");
  }
  void loss() {
    const auto name = k_.word("loss._component_", "torchtune.modules.loss.CEWithChunkedOutputLoss");
    const auto last = name.substr(name.rfind('.') + 1);
    if (last == "CrossEntropyLoss")
      d_->replace("loss", json_value{{"kind", "full"}}, k_.place("loss._component_"));
    else if (last == "CEWithChunkedOutputLoss" || last == "LinearCrossEntropyLoss")
      d_->replace("loss", json_value{{"kind", "chunked"}, {"chunked_head", true}}, k_.place("loss._component_"));
    else
      fail("headroom: " + k_.place("loss._component_") + ": loss._component_ " + in_quotes(name) + " is not modelled by this version; accepted: LinearCrossEntropyLoss, CEWithChunkedOutputLoss, torch.nn.CrossEntropyLoss");
  }
  torch_optimizer optimizer() {
    const auto place = k_.place("optimizer");
    auto r = read_torch_optimizer(k_.word("optimizer._component_", "torch.optim.AdamW"), k_.find("optimizer.fused"), k_.find("optimizer.foreach"), "optimizer._component_");
    if (k_.on("optimizer_in_bwd") && adapted_) {
      d_->notes.push_back(k_.place("optimizer_in_bwd") + ": optimizer_in_bwd has no effect: recipes of adapters do not read it");
    } else if (k_.on("optimizer_in_bwd")) {
      for (const auto* key : {"gradient_accumulation_steps", "clip_grad_norm"})
        if (const auto* v = k_.find(key); v != nullptr && !(key[0] == 'g' && *v == 1)) fail("headroom: " + k_.place(key) + ": torchtune refuses " + key + " beside optimizer_in_bwd");
      r.job["in_backward"] = true;
    }
    d_->replace("optimizer", r.job.size() == 1 ? r.job["name"] : r.job, place);
    return r;
  }
  void checkpoints() {
    const bool on = k_.on("enable_activation_checkpointing"), offloads = k_.on("enable_activation_offloading");
    if (const auto mode = k_.word("ac_mode"); mode.empty() || !some_layers(mode, on)) d_->replace("recompute", on ? "full" : "none", k_.place("enable_activation_checkpointing"));
    if (offloads && !on) fail("headroom: " + k_.place("enable_activation_offloading") + ": torchtune asks for enable_activation_checkpointing beside enable_activation_offloading");
    if (offloads) d_->say({"offload", "activations"}, "cpu", k_.place("enable_activation_offloading"));
  }
  /// ac_mode beside enable_activation_checkpointing switches both off (recipes/full_finetune_distributed.py setup_model); recipes of adapters and of one
  /// device do not read it. "selective": every n-th layer whole (training/activations.py checkpoint_wrapper). False: it says nothing.
  bool some_layers(const std::string& mode, bool on) {
    const auto place = k_.place("ac_mode");
    if (adapted_ || alone()) return d_->notes.push_back(place + ": ac_mode has no effect: recipes of adapters and of one device do not read it"), false;
    if (on) fail("headroom: " + place + ": ac_mode beside enable_activation_checkpointing makes torchtune checkpoint no layer at all: take one of them out");
    if (mode == "full") return d_->replace("recompute", "full", place), true;
    if (mode == "none") return false;
    if (mode != "selective") wrong_value("ac_mode", "\"none\", \"full\" or \"selective\"", mode);
    const auto every = k_.number("ac_option", 0);
    const auto layers = model_of(*d_).layers;
    if (every == 0) fail("headroom: " + place + ": ac_mode selective needs ac_option, a number of layers, where torchtune ends: every so many-th layer is checkpointed");
    if (layers == 0) fail("headroom: " + place + ": ac_mode selective checkpoints a part of the layers, whose number is not known: add --model NAME");
    if (layers < every) return false;
    d_->replace("recompute", {{"mode", "full"}, {"method", "block"}, {"layers", layers / every}}, place);
    if (every == 1) return true;
    const std::string what = "one layer of each " + std::to_string(every) + " is checkpointed, and predicted as if these were the first ones: what one layer keeps may come on top";
    d_->notes.push_back(place + ": " + what);
    d_->assumed.push_back(what);
    return true;
  }
  /// Distributed recipes validate without a graph: as many samples at once as train, or fewer, take less than a step (full_finetune_distributed.py, validate).
  void validation() {
    const auto* samples = k_.find("batch_size_val");
    if (k_.find("run_val_every_n_steps") == nullptr || samples == nullptr || alone() || (samples->is_string() && samples->get_ref<const std::string&>() == "${batch_size}")) return;
    const auto at_once = k_.number("batch_size_val", 1);
    if (at_once > k_.number("batch_size", 1)) d_->unmodelled_key("batch_size_val", at_once, k_.place("batch_size_val"), "unless it is of no more samples at once than a step trains on");
  }
  /// Distributed recipes shard by FSDP2, fsdp_cpu_offload among them; recipes of one device know no such keys.
  [[nodiscard]] bool alone() const {
    const auto* each = d_->find({"hardware", "gpus_per_node"});
    return k_.source().find("single_device") != std::string::npos || (each != nullptr && *each == 1);
  }
  void sharding() {
    const auto strategy = k_.word("fsdp_sharding_strategy", "FULL_SHARD");
    if (strategy != "FULL_SHARD" && strategy != "SHARD_GRAD_OP") d_->unmodelled_key("fsdp_sharding_strategy", strategy, k_.place("fsdp_sharding_strategy"));
    const bool again = k_.on("fsdp_reshard_after_forward", strategy == "FULL_SHARD");
    json_value keys{{"sharding", {{"kind", "fsdp2"}, {"stage", 3}, {"reshard_after_forward", again}}}};
    if (k_.on("fsdp_cpu_offload") && !alone()) {
      d_->say({"offload", "parameters"}, "cpu", k_.place("fsdp_cpu_offload"));
      d_->say({"offload", "optimizer"}, "cpu", k_.place("fsdp_cpu_offload"));
    }
    d_->of_several = draft::said_keys{keys, k_.source()};
    const auto replicate = k_.number("data_parallel_replicate_dim", 1);
    const auto shard = k_.number("data_parallel_shard_dim", -1, -1);
    if (replicate > 1) d_->say({"parallel", "replicate"}, replicate, k_.place("data_parallel_replicate_dim"));
    if (shard > 0) d_->say({"parallel", "data"}, checked::mul(shard, replicate), k_.place("data_parallel_shard_dim"));
    if (const auto* own = k_.find("custom_sharded_layers"); own != nullptr && !own->empty())
      d_->notes.push_back(k_.place("custom_sharded_layers") + ": embedding and head are predicted to stay gathered through a step on several GPUs; where they are sharded apart a step takes up to their size less");
  }
  void compiled() {
    const auto* v = k_.find("compile");
    if (v == nullptr) return;
    const auto part = [&](const char* key, bool otherwise) { return v->contains(key) ? flag_at((*v)[key], std::string{"compile."} + key) : otherwise; };
    const bool model = v->is_object() ? part("model", true) : flag_at(*v, "compile");
    if (v->is_object() && (part("loss", true) != model || part("optimizer_step", false))) return d_->unmodelled_key("compile", *v, k_.place("compile"));
    d_->replace("compile", model, k_.place("compile"));
  }

  draft* d_;
  nested_values k_;
  const json_value* root_;
  bool adapted_{};
};

/// Whether an object is a configuration of torchtune: components by their Python names.
inline bool is_torchtune(const json_value& root) {
  return root.is_object() && std::any_of(root.begin(), root.end(), [](const json_value& v) { return v.is_object() && v.contains("_component_"); });
}

/// What of a dataset counts: whether samples are packed, and how long they are.
inline void keep_lengths_alone(json_value& root) {
  const auto keep = [](json_value& of) {
    if (!of.is_object()) return;
    for (auto it = of.begin(); it != of.end();) it = it.key() == "packed" || it.key() == "max_seq_len" ? std::next(it) : of.erase(it);
  };
  if (!root.contains("dataset")) return;
  auto& dataset = root["dataset"];
  if (dataset.is_array())
    for (auto& one : dataset) keep(one);
  else
    keep(dataset);
}

/// What a configuration trains that is no fine-tuning of one model; empty where it is that.
inline std::string other_recipe(const json_value& root) {
  const auto any = [&](std::initializer_list<const char*> keys) { return std::any_of(keys.begin(), keys.end(), [&](const char* k) { return root.contains(k); }); };
  const auto* loss = value_at(root, "loss._component_");
  const auto name = loss != nullptr && loss->is_string() ? loss->get<std::string>() : std::string{};
  if (any({"teacher_model", "teacher_checkpointer", "kd_loss"})) return "distillation (a teacher beside the model)";
  if (name.find("DPO") != std::string::npos || name.find("RSO") != std::string::npos || name.find("SimPO") != std::string::npos) return "preference training (a second model, or pairs of answers)";
  const auto* model = value_at(root, "model._component_");
  const auto builder = model != nullptr && model->is_string() ? model->get<std::string>() : std::string{};
  if (builder.find("vision") != std::string::npos || builder.find("flamingo") != std::string::npos) return "a model that sees (an encoder of images, and layers that attend to what it makes)";
  if (any({"ppo_epochs", "grpo_samples", "reward_functions", "policy_model", "orchestration", "ref_checkpointer", "ref_policy_checkpointer"})) return "reinforcement learning (several models, and generation)";
  return {};
}

}  // namespace detail

inline void import_torchtune(draft& d, const document& from) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("torchtune's configuration", "an object", from.root);
    if (const auto other = detail::other_recipe(from.root); !other.empty()) fail("headroom: " + from.source + " is a configuration of torchtune for " + other + ", which is not modelled by this version");
    if (!from.root.contains("optimizer")) fail("headroom: " + from.source + " is no configuration of a training: it has no optimizer");
    auto judged = from;
    detail::keep_lengths_alone(judged.root);
    detail::judge_keys(d, from, judged.root, "", detail::key_lists{detail::torchtune_read, detail::torchtune_passed});
    detail::torchtune_config{d, judged}.import();
  });
}

}  // namespace headroom::io
