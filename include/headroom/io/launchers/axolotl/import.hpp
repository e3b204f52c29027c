// Distributed under the Boost Software License, Version 1.0.
// axolotl's configuration, as the arguments that it gives the Trainer (axolotl-ai-cloud/axolotl 067b021c, 2026-07: src/axolotl/utils/config/
// __init__.py, utils/schemas/validation.py, core/builders/*.py, loaders/*.py). What they mean says io/launchers/trainer/import.hpp.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/axolotl/attention.hpp>
#include <headroom/io/launchers/axolotl/experts.hpp>
#include <headroom/io/launchers/axolotl/kernels.hpp>
#include <headroom/io/launchers/axolotl/method.hpp>
#include <headroom/io/launchers/axolotl/parts.hpp>
#include <headroom/io/launchers/axolotl/quantised.hpp>
#include <headroom/io/launchers/axolotl/restarts.hpp>
#include <headroom/io/launchers/axolotl/rollout.hpp>
#include <headroom/io/launchers/axolotl/samples.hpp>
#include <headroom/io/launchers/axolotl/schema.hpp>
#include <headroom/io/launchers/axolotl/sight.hpp>

namespace headroom::io {

namespace detail {

class axolotl_config {
 public:
  axolotl_config(draft& d, const document& from) : a_(d, from), d_(&d), v_(&a_.v), attention_(a_), kernels_(a_), experts_(a_), method_(a_), rollout_(a_), sight_(a_) {}

  [[nodiscard]] document arguments() {
    axolotl_schema{a_}.check();
    method_.read();
    a_.processes = a_.given("processor_type");
    const auto base = v_->word("base_model", ""), shape = v_->word("base_model_config", "");
    if (!base.empty()) a_.put("model_name_or_path", shape.empty() ? base : shape, shape.empty() ? "base_model" : "base_model_config");
    attention_.read();
    formats();
    adapter();
    read_axolotl_quantised(a_);
    sharded();
    axolotl_schema{a_}.check_sharded();
    kernels_.read();
    read_axolotl_ends(a_);
    read_axolotl_restarts(a_);
    read_axolotl_stored(a_);
    experts_.read();
    sight_.read();
    axolotl_samples{a_}.read();
    checkpointing();
    updates();
    method_.finish();
    if (a_.method == "grpo") rollout_.read();
    check_formats();
    widens_ = v_->on("resize_token_embeddings_to_32x");
    if (v_->on("use_ray")) d_->know(d_->gpus, "GPUs", v_->number("ray_num_workers", 1), v_->place("use_ray"));  // cli/train.py, ScalingConfig
    rest();
    return std::move(a_.to);
  }
  /// The method of TRL's that trains, as objective.kind has it; empty: a plain fine-tuning.
  [[nodiscard]] const std::string& method() const { return a_.method; }

  /// What the Trainer's arguments do not say, once they are read.
  void finish() {
    const auto* said = d_->find({"model"});
    const auto m = said == nullptr ? shape{} : read_model(*said, "model", "/nonexistent/folder");
    d_->read_by_model = draft::said{"axolotl's configuration", a_.from->source};
    if (said != nullptr) sight_.finish(m, kernels_);
    experts_.finish(m);
    attention_.finish(m);
    rollout_.finish();
    if (widens_ && m.vocab % 32 != 0) d_->unmodelled_key("resize_token_embeddings_to_32x", true, v_->place("resize_token_embeddings_to_32x"));  // else as it was
    // The Trainer's backward_prefetch is NO_PREFETCH, and FSDPConfig has no such key.
    if (const auto* s = d_->find({"sharding", "kind"}); s != nullptr && *s == "fsdp1") d_->say({"sharding", "backward_prefetch"}, false, v_->place("fsdp_config"));
    // Its fsdp2_prepare_model stands for Accelerate's (monkeypatch/accelerate/fsdp2.py), and makes no weight fp32: what trains keeps the format in which it was loaded.
    if (a_.second && !a_.adapter && !d_->has({"precision"}) && a_.dtype != "float32") {
      if (a_.dtype == "float16") a_.refused("fsdp_config", "FSDP's second version trains weights in fp16 without a copy in fp32, which is not modelled by this version");
      d_->replace("precision", "bf16", v_->place("fsdp_config"));
    }
    // Norms and embedding are in the weights' format again after prepare_model_for_kbit_training (loaders/model.py, _configure_embedding_dtypes).
    const bool quantised = d_->has({"adapter", "base"});
    if (quantised && beside_mamba(m)) leave_out_proj(m);
    if (quantised) d_->say({"adapter", "rest"}, a_.dtype == "bfloat16" ? "bf16" : a_.dtype == "float16" ? "fp16" : "fp32", v_->place("adapter"));
    kernels_.finish(m);
  }

 private:
  static bool beside_mamba(const shape& m) {
    for (std::int64_t i = 0; i < m.pattern.period; ++i)
      if (m.pattern.at(i).mixer == mixer_kind::attention_mamba2) return true;
    return false;
  }
  /// Of Falcon-H1 it names out_proj as what is not quantised, and then nobody names the head (loaders/model.py, _set_quantization_config; transformers
  /// quantizers/base.py, get_modules_to_not_convert).
  void leave_out_proj(const shape& m) const {
    if (m.tied) a_.refused("adapter", "a quantised head that is the embedding's matrix is not modelled by this version");
    d_->say({"adapter", "base_skips"}, json_value::array({"mixer_out"}), v_->place("adapter"));
    d_->say({"adapter", "base_also"}, json_value::array({"lm_head"}), v_->place("adapter"));
  }
  /// The format of autocast and that of the weights (resolve_dtype; core/builders/base.py, _configure_precision_settings). bf16 is "auto" where it is not said: true.
  void formats() {
    const auto* said = v_->take("bf16");
    const bool is_auto = said == nullptr ? !v_->has("bf16") : *said == "auto";
    const bool half = v_->on("fp16"), whole = said != nullptr && *said == "full";
    const bool brain = is_auto ? !half : said != nullptr && !whole && truth(*said, "bf16");
    const bool alone = v_->on("bfloat16"), half_alone = v_->on("float16"), eight = v_->on("load_in_8bit");
    v_->on("float32");  // nothing reads it
    const bool weights = brain || whole || alone;
    // "full" hands the Trainer bf16_full_eval alone, and nothing is autocast; TRL's configurations take bf16 where neither is said (trl/trainer/base_config.py,
    // __post_init__), and DeepSpeed's "auto" is either of the two (transformers integrations/deepspeed.py, trainer_config_process).
    a_.put("bf16", brain || alone || (whole && (!a_.method.empty() || a_.given("deepspeed"))), "bf16");
    a_.put("fp16", half && !weights, "fp16");
    a_.dtype = weights ? "bfloat16" : eight || half || half_alone ? "float16" : "float32";
    a_.put("dtype", a_.dtype, weights ? "bf16" : half ? "fp16" : "float16");
  }

  void adapter() {
    const auto kind = v_->word("adapter", "");
    const bool four = v_->on("load_in_4bit"), eight = v_->on("load_in_8bit");
    a_.adapter = !kind.empty();
    const auto rank = v_->number("lora_r", 0);
    a_.same("load_in_4bit");
    a_.same("load_in_8bit");
    a_.same("lora_dropout");
    a_.same("lora_modules_to_save");
    a_.same("peft_use_dora", "use_dora");
    const bool linear = v_->on("lora_target_linear");
    const auto* targets = v_->take("lora_target_modules");
    const auto* own = v_->take("peft");
    a_.whole_path = targets != nullptr && targets->is_string() && *targets != "all-linear" && !linear;
    if (!a_.adapter) return;
    // LoftQ says what adapters and base begin with; base and adapters keep their formats (peft/utils/loftq_utils.py, loftq_init).
    bool begins = own != nullptr && own->is_object();
    if (begins)
      for (const auto& [key, value] : own->items()) begins = begins && (key == "loftq_config" || value.is_null());
    if (own != nullptr && (!begins || four || eight)) return a_.unmodelled("peft");
    if (kind != "lora" && kind != "qlora") return a_.unmodelled("adapter");
    if (kind == "qlora" && (!four || eight)) a_.refused("adapter", "adapter qlora needs load_in_4bit, and no load_in_8bit");
    if (kind == "lora" && four) a_.refused("load_in_4bit", "adapter lora does not load a base in four bits: adapter must be qlora");
    if (rank == 0) a_.refused("adapter", "lora_r is not given");
    a_.put("use_peft", true, "adapter");
    a_.put("lora_r", rank, "lora_r");
    if (!linear && (targets == nullptr || targets->empty() || *targets == "") && !a_.given("lora_target_parameters"))  // loaders/adapter.py, load_lora: an empty list, for which PEFT has no layers of its own (tuners_utils.py, inject_adapter)
      a_.refused(targets == nullptr ? "adapter" : "lora_target_modules", "no layer gets an adapter where neither lora_target_linear nor lora_target_modules names any, and PEFT ends there: say lora_target_linear true, or list them");
    if (linear || targets != nullptr) a_.put("lora_target_modules", axolotl_targets(*d_, *v_, linear, targets), linear ? "lora_target_linear" : "lora_target_modules");
  }
  /// FSDP's first version unless the second is asked for (check_fsdp_version_in_fsdp_config).
  void sharded() {
    const auto* words = v_->take("fsdp");
    const auto* config = v_->take("fsdp_config");
    const auto* version = v_->take("fsdp_version");
    a_.same("deepspeed");
    a_.engine = v_->has("deepspeed") && a_.to.root.contains("deepspeed") && a_.to.root["deepspeed"] != "";
    if (config != nullptr && !config->is_object()) wrong_value("fsdp_config", "an object", *config);
    a_.fsdp = (words != nullptr && !words->empty()) || (config != nullptr && !config->empty());
    if (const bool empty = config == nullptr || config->empty(); empty && (a_.fsdp || config != nullptr)) a_.refused(config == nullptr ? "fsdp" : "fsdp_config", "axolotl reads FSDP from fsdp_config, which says nothing here");
    const auto each = v_->number("dp_shard_size", 1), copies = v_->number("dp_replicate_size", 1);
    for (const auto& [key, size] : {std::pair<std::string_view, std::int64_t>{"dp_shard_size", each}, {"dp_replicate_size", copies}})
      if (!a_.fsdp && size > 1) return a_.unmodelled(key);
    if ((a_.fsdp || a_.engine) && !d_->takes_all_gpus) d_->takes_all_gpus = draft::said{a_.fsdp ? "FSDP" : "DeepSpeed", v_->place(a_.engine ? "deepspeed" : config == nullptr ? "fsdp" : "fsdp_config")};
    if (!a_.fsdp) return;
    if (each > 1) d_->know(d_->gpus, "GPUs", checked::mul(each, copies), v_->place("dp_shard_size"));
    if (copies > 1) d_->say({"parallel", "replicate"}, copies, v_->place("dp_replicate_size"));
    const json_value none = json_value::object();
    auto to = axolotl_fsdp(*d_, *a_.from, config == nullptr ? none : *config, version == nullptr ? 0 : whole_at(*version, "fsdp_version", 1, 2));
    a_.second = to["version"] == 2;
    for (const std::string key : {"transformer_layer_cls_to_wrap", "fsdp_transformer_layer_cls_to_wrap"})
      a_.wraps = a_.wraps || (config != nullptr && config->contains(key) && !(*config)[key].empty());
    a_.second_said = version != nullptr && a_.second;
    a_.put("fsdp", words == nullptr ? json_value("full_shard auto_wrap") : *words, words == nullptr ? "fsdp_config" : "fsdp");
    a_.put("fsdp_config", to, "fsdp_config");
  }
  /// Reentrant unless its kwargs are given, or preferences are trained on (normalize_config). Offloading of activations beside a whole model that trains moves what the checkpoints keep.
  void checkpointing() {
    const auto* asked = v_->take("gradient_checkpointing");
    const auto* kwargs = v_->take("gradient_checkpointing_kwargs");
    const auto* moved = v_->take("activation_offloading");
    const bool old = asked != nullptr && asked->is_string() && (*asked == "offload" || *asked == "offload_disk");
    const bool on = old || (asked != nullptr && truth(*asked, "gradient_checkpointing"));
    std::string to_host = old ? (*asked == "offload" ? "true" : "disk") : "";
    if (moved != nullptr && to_host.empty()) to_host = moved->is_boolean() ? (moved->get<bool>() ? "true" : "") : string_at(*moved, "activation_offloading");
    if (!to_host.empty() && !among_words("true|legacy|disk|hidden_states", to_host)) wrong_value("activation_offloading", "true, false, \"legacy\", \"disk\" or \"hidden_states\"", *moved);
    const std::string_view by = old ? "gradient_checkpointing" : "activation_offloading";
    if (asked == nullptr && !v_->has("gradient_checkpointing") && !a_.method.empty()) a_.put("gradient_checkpointing", false, "rl");  // its own default, handed to TRL (utils/schemas/config.py)
    if (asked == nullptr && to_host.empty()) return;
    a_.put("gradient_checkpointing", on, "gradient_checkpointing");
    if (!on && !to_host.empty()) a_.refused(by, "axolotl asks for gradient_checkpointing beside activation_offloading");
    if (!on) return;
    const auto config = a_.to.root.value("fsdp_config", json_value::object());
    const auto again = config.find("activation_checkpointing");
    if (to_host == "hidden_states" && again != config.end() && truth(*again, "fsdp_config.activation_checkpointing"))  // the Trainer's own are on, too (core/builders/base.py)
      a_.refused(by, "the Trainer ends where fsdp_config.activation_checkpointing is true beside activation_offloading hidden_states, which checkpoints by gradient_checkpointing: take one of them out");
    auto words = kwargs != nullptr ? *kwargs : json_value{{"use_reentrant", v_->word_now("rl").empty() && !a_.given("unfrozen_parameters")}};
    if (!to_host.empty()) {
      // Beside adapters layers stay recomputed, as their model was told to (loaders/model.py, _configure_embedding_dtypes), by what their kwargs say: what
      // non-reentrant checkpoints keep is moved. Within reentrant ones what is saved anew goes to the host and back, too, which nobody has modelled.
      const bool kept = kwargs != nullptr && kwargs->contains("use_reentrant") && (*kwargs)["use_reentrant"] == false && to_host == "true" && a_.method.empty() && !a_.fsdp && !a_.engine;
      if (to_host != "hidden_states" && ((a_.adapter && !kept) || to_host == "disk")) return a_.unmodelled(by);
      const bool reentrant = to_host == "hidden_states" && kwargs != nullptr && kwargs->value("use_reentrant", false);
      words["use_reentrant"] = reentrant;
      if (!reentrant) d_->say({"offload", "activations"}, "cpu", v_->place(by));
    }
    a_.put("gradient_checkpointing_kwargs", words, kwargs != nullptr ? "gradient_checkpointing_kwargs" : "gradient_checkpointing");
  }

  void updates() {
    const auto name = v_->word("optimizer", "adamw_torch_fused");
    const bool known = optimizer_called(optimizer_namer::axolotl, name).is != nullptr;
    if (!known && (name == "muon" || name == "dion" || name == "sinkgd" || name == "q_galore_adamw8bit" || name == "adopt_adamw" || name.starts_with("ao_") || name.starts_with("flash_")))
      return a_.unmodelled("optimizer");
    a_.put("optim", name, "optimizer");
    const auto* compiled = v_->take("torch_compile");
    if (compiled != nullptr) a_.put("torch_compile", *compiled == "auto" ? json_value(true) : *compiled, "torch_compile");
    a_.same("torch_compile_backend");
    a_.same("torch_compile_mode");
  }

  /// Without flash attention, norms, embedding and head of a model that trains as a whole become fp32, and stay so beside 16-bit weights (loaders/model.py,
  /// _configure_embedding_dtypes). DeepSpeed casts the module anyway.
  void check_formats() const {
    if (a_.adapter || a_.fsdp || a_.engine || kernels_.cuts() || a_.dtype == "float32" || a_.masks || a_.packs_by_kernel()) return;
    a_.refused(v_->has("attn_implementation") ? "attn_implementation" : "base_model",
            "without flash attention a model that trains as a whole has its norms, embedding and head in fp32 beside 16-bit weights, which is not modelled by this version");
  }

  void rest() {
    for (const auto& [key, value] : v_->all().items()) {
      if (v_->taken(key)) continue;
      const auto rule = rule_of(axolotl_passed, key, value);
      if (rule == key_rule::refused) d_->unmodelled_key(key, value, v_->place(key));
      if (rule != key_rule::unknown) continue;
      std::vector<std::string_view> all = v_->taken();
      for (const auto& k : axolotl_passed) all.push_back(k.name);
      d_->unknown_key(key, v_->place(key), closest(key, all));
    }
  }

  axolotl_arguments a_;
  draft* d_;
  named_values* v_;
  axolotl_attention attention_;
  axolotl_kernels kernels_;
  axolotl_experts experts_;
  axolotl_method method_;
  axolotl_rollout rollout_;
  axolotl_sight sight_;
  bool widens_{};
};

}  // namespace detail

/// Whether an object has keys that only axolotl's configuration has together.
inline bool is_axolotl(const json_value& root) {
  if (!root.is_object() || !root.contains("base_model")) return false;
  for (const auto* key : {"micro_batch_size", "sequence_len", "sample_packing", "adapter", "datasets", "pretraining_dataset", "lora_r"})
    if (root.contains(key)) return true;
  return false;
}

}  // namespace headroom::io
