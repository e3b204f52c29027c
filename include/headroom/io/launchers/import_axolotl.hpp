// Distributed under the Boost Software License, Version 1.0.
// axolotl's configuration, as the arguments that it gives the Trainer (axolotl-ai-cloud/axolotl 067b021c, 2026-07: src/axolotl/utils/config/
// __init__.py, utils/schemas/validation.py, core/builders/*.py, loaders/*.py). What they mean says io/launchers/import_trainer.hpp.
#pragma once

#include <headroom/io/launchers/axolotl_parts.hpp>

namespace headroom::io {

namespace detail {

class axolotl_config {
 public:
  axolotl_config(draft& d, const document& from) : d_(&d), from_(&from), v_(from, std::int64_t{1} << 31), to_{.source = from.source, .root = json_value::object(), .lines = {}} {}

  [[nodiscard]] document arguments() {
    const auto base = v_.word("base_model", ""), shape = v_.word("base_model_config", "");
    for (const auto* key : {"model_type", "type_of_model"})
      if (const auto cls = v_.word(key, ""); !cls.empty() && !cls.ends_with("ForCausalLM")) unmodelled(key);  // another head, or another model
    if (!base.empty()) put("model_name_or_path", shape.empty() ? base : shape, shape.empty() ? "base_model" : "base_model_config");
    attention();
    formats();
    adapter();
    sharded();
    kernels();
    plugins();
    batch();
    evaluation();
    checkpointing();
    updates();
    check_formats();
    widens_ = v_.on("resize_token_embeddings_to_32x");
    rest();
    return std::move(to_);
  }

  /// What the Trainer's arguments do not say, once they are read.
  void finish() const {
    const auto* said = d_->find({"model"});
    const auto m = said == nullptr ? shape{} : read_model(*said, "model", "/nonexistent/folder");
    if (m.vision.layers > 0) fail("headroom: " + from_->source + ": models that see are not modelled under axolotl by this version: which parts of the tower have adapters, and how large images are, it decides itself");
    if (m.sparse()) fail("headroom: " + from_->source + ": models with experts are not modelled under axolotl by this version: its transformers (5.14) keep a layer's experts in one tensor, and multiply them at once");
    if (widens_ && m.vocab % 32 != 0) d_->unmodelled_key("resize_token_embeddings_to_32x", true, v_.place("resize_token_embeddings_to_32x"));  // else as it was
    // The Trainer's backward_prefetch is NO_PREFETCH, and FSDPConfig has no such key.
    if (const auto* s = d_->find({"sharding", "kind"}); s != nullptr && *s == "fsdp1") d_->say({"sharding", "backward_prefetch"}, false, v_.place("fsdp_config"));
    // Its fsdp2_prepare_model stands for Accelerate's (monkeypatch/accelerate/fsdp2.py), and makes no weight fp32: what trains keeps the format in which it was loaded.
    if (second_ && !adapter_ && !d_->has({"precision"}) && dtype_ != "float32") {
      if (dtype_ == "float16") refused("fsdp_config", "FSDP's second version trains weights in fp16 without a copy in fp32, which is not modelled by this version");
      d_->replace("precision", "bf16", v_.place("fsdp_config"));
    }
    // Norms and embedding are in the weights' format again after prepare_model_for_kbit_training (loaders/model.py, _configure_embedding_dtypes).
    if (d_->has({"adapter", "base"})) d_->say({"adapter", "rest"}, dtype_ == "bfloat16" ? "bf16" : dtype_ == "float16" ? "fp16" : "fp32", v_.place("adapter"));
    auto list = json_value::array();
    for (const auto& k : fused_) {
      // Patched are layers with q_proj, k_proj, v_proj and o_proj (Phi's parallel block has "dense"), and with gate_proj, up_proj and down_proj (monkeypatch/lora_kernels.py).
      const bool adapted = k.starts_with("adapted");
      if (adapted && (m.fused_qkv || m.fused_gate_up || m.parallel_block || (m.mlp == mlp_kind::plain && k == "adapted-mlp"))) continue;
      if (std::find(list.begin(), list.end(), json_value(k)) == list.end()) list.push_back(k);
    }
    if (!list.empty()) d_->replace("kernels", list, v_.place(by_));
  }

 private:
  void put(const std::string& theirs, json_value value, std::string_view key) {
    to_.root[theirs] = std::move(value);
    if (const auto line = from_->lines.find(std::string{key}); line != from_->lines.end()) to_.lines[theirs] = line->second;
  }
  /// A key that means what the Trainer's does.
  void same(std::string_view key, std::string_view theirs = {}) {
    if (const auto* v = v_.take(key); v != nullptr) put(std::string{theirs.empty() ? key : theirs}, *v, key);
  }
  void unmodelled(std::string_view key) { d_->unmodelled_key(std::string{key}, *v_.take(key), v_.place(key)); }
  [[noreturn]] void refused(std::string_view key, const std::string& why) const { fail("headroom: " + v_.place(key) + ": " + why); }

  /// By its name, or one of the older switches (utils/schemas/enums.py).
  void attention() {
    std::string_view by = "attn_implementation";
    kernel_ = v_.word(by, "");
    for (const auto& [key, is] : {std::pair<std::string_view, std::string_view>{"xformers_attention", "xformers"}, {"sage_attention", "sage"}, {"flex_attention", "flex_attention"},
                                  {"flash_attention", "flash_attention_2"}, {"sdp_attention", "sdpa"}, {"eager_attention", "eager"}})
      if (v_.on(key) && kernel_.empty()) {
        kernel_ = is;
        by = key;
      }
    if (kernel_ == "kernels-community/flash-attn2") kernel_ = "flash_attention_2";
    if (kernel_ == "kernels-community/flash-attn3") kernel_ = "flash_attention_3";
    if (kernel_.empty()) return;
    if (kernel_ != "sdpa" && kernel_ != "eager" && !packs_by_kernel()) return unmodelled(by);
    put("attn_implementation", kernel_, by);
  }
  /// A kernel that takes samples of one row apart by itself.
  [[nodiscard]] bool packs_by_kernel() const { return kernel_ == "flash_attention_2" || kernel_ == "flash_attention_3"; }

  /// The format of autocast and that of the weights (resolve_dtype; core/builders/base.py, _configure_precision_settings). bf16 is "auto" where it is not said: true.
  void formats() {
    const auto* said = v_.take("bf16");
    const bool is_auto = said == nullptr ? !v_.has("bf16") : *said == "auto";
    const bool half = v_.on("fp16"), whole = said != nullptr && *said == "full";
    const bool brain = is_auto ? !half : said != nullptr && !whole && truth(*said, "bf16");
    const bool alone = v_.on("bfloat16"), half_alone = v_.on("float16"), eight = v_.on("load_in_8bit");
    v_.on("float32");  // nothing reads it
    const bool weights = brain || whole || alone;
    put("bf16", brain || alone, "bf16");
    put("fp16", half && !weights, "fp16");
    if (whole && v_.word_now("adapter").empty()) d_->replace("precision", "bf16", v_.place("bf16"));
    dtype_ = weights ? "bfloat16" : eight || half || half_alone ? "float16" : "float32";
    put("dtype", dtype_, weights ? "bf16" : half ? "fp16" : "float16");
  }

  void adapter() {
    const auto kind = v_.word("adapter", "");
    const bool four = v_.on("load_in_4bit"), eight = v_.on("load_in_8bit");
    adapter_ = !kind.empty();
    const auto rank = v_.number("lora_r", 0);
    same("load_in_4bit");
    same("load_in_8bit");
    same("lora_dropout");
    same("lora_modules_to_save");
    same("peft_use_dora", "use_dora");
    const bool linear = v_.on("lora_target_linear");
    const auto* targets = v_.take("lora_target_modules");
    if (!adapter_) return;
    if (kind != "lora" && kind != "qlora") return unmodelled("adapter");
    if (kind == "qlora" && (!four || eight)) refused("adapter", "adapter qlora needs load_in_4bit, and no load_in_8bit");
    if (kind == "lora" && four) refused("load_in_4bit", "adapter lora does not load a base in four bits: adapter must be qlora");
    if (rank == 0) refused("adapter", "lora_r is not given");
    put("use_peft", true, "adapter");
    put("lora_r", rank, "lora_r");
    if (linear || targets != nullptr) put("lora_target_modules", axolotl_targets(*d_, v_, linear, targets), linear ? "lora_target_linear" : "lora_target_modules");
  }
  /// Kernels of its own for adapters, which are on unless one of them is said (utils/schemas/config.py, check_auto_enable_lora_kernels, which runs
  /// before fsdp_config is asked for a version). That of the embedding is for adapters there.
  void kernels() {
    bool said = false;
    for (const auto& [key, ours] : {std::pair<std::string_view, const char*>{"lora_mlp_kernel", "adapted-mlp"}, {"lora_qkv_kernel", "adapted-qkv"}, {"lora_o_kernel", "adapted-output"}, {"lora_embedding_kernel", ""}}) {
      const auto* v = v_.take(key);
      said = said || v != nullptr;
      if (v != nullptr && truth(*v, std::string{key}) && adapter_ && *ours != 0) fuse(ours, key);
    }
    const bool remote = v_.on("trust_remote_code"), eight = v_.on("load_in_8bit");
    if (adapter_ && !said && !eight && !remote && (!fsdp_ || second_said_))
      for (const auto* ours : {"adapted-mlp", "adapted-qkv", "adapted-output"}) fuse(ours, "adapter");
    if (v_.on("peft_use_dora") && !fused_.empty()) d_->unmodelled_key("lora_mlp_kernel", true, v_.place(said ? "lora_mlp_kernel" : "adapter"));
  }
  void fuse(const char* ours, std::string_view key) {
    fused_.push_back(ours);
    by_ = std::string{key};
  }

  /// Plugins that change the step, each with keys of its own.
  void plugins() {
    bool liger = false, cut = false;
    if (const auto* list = v_.take("plugins"); list != nullptr)
      each_at(list->is_array() ? *list : json_value::array({*list}), "plugins", "a list of classes", [&](const json_value& v, const std::string& path) {
        const auto& name = string_at(v, path);
        const auto last = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
        liger = liger || last == "LigerPlugin";
        cut = cut || last == "CutCrossEntropyPlugin";
        if (last != "LigerPlugin" && last != "CutCrossEntropyPlugin" && last != "SwanLabPlugin" && last != "LMEvalPlugin") d_->unmodelled_key("plugins", name, v_.place("plugins"));
      });
    cuts_ = v_.on("cut_cross_entropy", true) && cut;
    if (cuts_) d_->replace("loss", {{"kind", "cut"}}, v_.place(v_.has("cut_cross_entropy") ? "cut_cross_entropy" : "plugins"));
    for (const auto& [key, ours] : {std::pair<std::string_view, const char*>{"liger_rope", "rotary"}, {"liger_rms_norm", "norm"}, {"liger_swiglu", "gated"}, {"liger_glu_activation", "gated"}})
      if (v_.on(key) && liger) fuse(ours, key);
    v_.on("liger_layer_norm");  // keeps what PyTorch's does
    for (const auto* key : {"liger_cross_entropy", "liger_rms_norm_gated"})
      if (v_.on(key) && liger) unmodelled(key);
    if (v_.on("liger_fused_linear_cross_entropy") && liger) put("use_liger_kernel", true, "liger_fused_linear_cross_entropy");
  }

  /// FSDP's first version unless the second is asked for (check_fsdp_version_in_fsdp_config).
  void sharded() {
    const auto* words = v_.take("fsdp");
    const auto* config = v_.take("fsdp_config");
    const auto* version = v_.take("fsdp_version");
    same("deepspeed");
    engine_ = v_.has("deepspeed") && to_.root.contains("deepspeed") && to_.root["deepspeed"] != "";
    if (config != nullptr && !config->is_object()) wrong_value("fsdp_config", "an object", *config);
    fsdp_ = (words != nullptr && !words->empty()) || (config != nullptr && !config->empty());
    if (const bool empty = config == nullptr || config->empty(); empty && (fsdp_ || config != nullptr)) refused(config == nullptr ? "fsdp" : "fsdp_config", "axolotl reads FSDP from fsdp_config, which says nothing here");
    const auto each = v_.number("dp_shard_size", 1), copies = v_.number("dp_replicate_size", 1);
    for (const auto& [key, size] : {std::pair<std::string_view, std::int64_t>{"dp_shard_size", each}, {"dp_replicate_size", copies}})
      if (!fsdp_ && size > 1) return unmodelled(key);
    if (!fsdp_) return;
    if (each > 1) d_->know(d_->gpus, "GPUs", checked::mul(each, copies), v_.place("dp_shard_size"));
    if (copies > 1) d_->say({"parallel", "replicate"}, copies, v_.place("dp_replicate_size"));
    const json_value none = json_value::object();
    auto to = axolotl_fsdp(*d_, *from_, config == nullptr ? none : *config, version == nullptr ? 0 : whole_at(*version, "fsdp_version", 1, 2));
    second_ = to["version"] == 2;
    second_said_ = version != nullptr && second_;
    put("fsdp", words == nullptr ? json_value("full_shard auto_wrap") : *words, words == nullptr ? "fsdp_config" : "fsdp");
    put("fsdp_config", to, "fsdp_config");
  }
  /// Packed samples fill one row of micro_batch_size × sequence_len tokens (core/trainers/base.py, _create_multipack_sampler).
  void batch() {
    const auto micro = v_.number("micro_batch_size", 1), length = v_.number("sequence_len", 512), all = v_.number("batch_size", micro);
    const auto multiple = v_.number("pad_to_multiple_of", 64);
    const bool packs = v_.on("sample_packing"), real = v_.on("multipack_real_batches", !packs_by_kernel());
    const auto* pads = v_.take("pad_to_sequence_len");
    const auto* flat = v_.take("batch_flattening");
    const bool flattened = flat != nullptr && (*flat == "auto" ? packs_by_kernel() && !packs && micro > 1 : truth(*flat, "batch_flattening"));
    put("gradient_accumulation_steps", v_.number("gradient_accumulation_steps", std::max<std::int64_t>(all / micro, 1)), v_.has("gradient_accumulation_steps") ? "gradient_accumulation_steps" : "batch_size");
    if (packs && real) {
      d_->unmodelled_key("sample_packing", true, v_.place("sample_packing"));  // rows behind a mask of their documents
    } else if (packs || flattened) {
      micro_ = micro, one_row_ = true;
      put("per_device_train_batch_size", 1, "micro_batch_size");
      put("max_length", checked::mul(micro, length), "sequence_len");
      return d_->say({"batch", "packed"}, true, v_.place(packs ? "sample_packing" : "batch_flattening"));
    }
    put("per_device_train_batch_size", micro, "micro_batch_size");
    micro_ = micro;
    const bool whole = pads != nullptr && truth(*pads, "pad_to_sequence_len");
    put("max_length", pads == nullptr || whole ? checked::round_up(length, multiple) : length, "sequence_len");
    if (whole) d_->say({"batch", "padded"}, true, v_.place("pad_to_sequence_len"));
    if (pads == nullptr && multiple > 1) d_->say({"batch", "lengths", "pad_to_multiple"}, multiple, v_.place(v_.has("pad_to_multiple_of") ? "pad_to_multiple_of" : "sequence_len"));  // core/builders/causal.py, build_collator
    if (!whole) d_->notes.push_back(v_.place("sequence_len") + ": samples are padded to the longest of their micro-batch, without packing: the job is that of one with a sample of all " + std::to_string(length) + " tokens");
  }

  /// Where there is something to evaluate, and it is said how often (core/builders/base.py, _configure_save_and_eval_strategy); as many rows at once
  /// as train (utils/config/__init__.py). Tables of generated answers and benchmarks are extra.
  void evaluation() {
    const auto given = [&](const json_value* v) { return v != nullptr && !v->empty() && off_word(*v) != "none" && off_word(*v) != "0" && off_word(*v) != "false"; };
    const bool some = given(v_.take("val_set_size")), others = given(v_.take("test_datasets"));
    std::string_view when;
    for (const std::string_view key : {"eval_strategy", "evaluation_strategy", "evals_per_epoch", "eval_steps"})
      if (given(v_.take(key))) when = key;
    const auto rows = v_.number("eval_batch_size", micro_), longest = v_.number("eval_sequence_len", 0, 0);
    for (const std::string_view key : {"eval_table_size", "do_causal_lm_eval", "do_bench_eval"})
      if (given(v_.take(key)) && (some || others)) unmodelled(key);
    if (when.empty() || !(some || others)) return;
    if (longest > v_.number("sequence_len", 512)) unmodelled("eval_sequence_len");
    if (one_row_ && rows != micro_) unmodelled("eval_batch_size");
    put("eval_strategy", "steps", when);
    put("per_device_eval_batch_size", one_row_ ? 1 : rows, v_.has("eval_batch_size") ? "eval_batch_size" : when);
  }
  /// Reentrant unless its kwargs are given (normalize_config). Offloading of activations beside a whole model that trains moves what the checkpoints keep.
  void checkpointing() {
    const auto* asked = v_.take("gradient_checkpointing");
    const auto* kwargs = v_.take("gradient_checkpointing_kwargs");
    const auto* moved = v_.take("activation_offloading");
    const bool old = asked != nullptr && asked->is_string() && (*asked == "offload" || *asked == "offload_disk");
    const bool on = old || (asked != nullptr && truth(*asked, "gradient_checkpointing"));
    std::string to_host = old ? (*asked == "offload" ? "true" : "disk") : "";
    if (moved != nullptr && to_host.empty()) to_host = moved->is_boolean() ? (moved->get<bool>() ? "true" : "") : string_at(*moved, "activation_offloading");
    const std::string_view by = old ? "gradient_checkpointing" : "activation_offloading";
    if (asked == nullptr && to_host.empty()) return;
    put("gradient_checkpointing", on, "gradient_checkpointing");
    if (!on && !to_host.empty()) refused(by, "axolotl asks for gradient_checkpointing beside activation_offloading");
    if (!on) return;
    auto words = kwargs != nullptr ? *kwargs : json_value{{"use_reentrant", true}};
    if (!to_host.empty()) {
      if (to_host != "hidden_states" && (adapter_ || to_host == "disk")) return unmodelled(by);
      const bool reentrant = to_host == "hidden_states" && kwargs != nullptr && kwargs->value("use_reentrant", false);
      words["use_reentrant"] = reentrant;
      if (!reentrant) d_->say({"offload", "activations"}, "cpu", v_.place(by));
    }
    put("gradient_checkpointing_kwargs", words, kwargs != nullptr ? "gradient_checkpointing_kwargs" : "gradient_checkpointing");
  }

  void updates() {
    const auto name = v_.word("optimizer", "adamw_torch_fused");
    const bool known = optimizer_called(optimizer_namer::axolotl, name).is != nullptr;
    if (!known && (name == "muon" || name == "dion" || name == "sinkgd" || name == "q_galore_adamw8bit" || name == "adopt_adamw" || name.starts_with("ao_") || name.starts_with("flash_")))
      return unmodelled("optimizer");
    put("optim", name, "optimizer");
    const auto* compiled = v_.take("torch_compile");
    if (compiled != nullptr) put("torch_compile", *compiled == "auto" ? json_value(true) : *compiled, "torch_compile");
    same("torch_compile_backend");
    same("torch_compile_mode");
  }

  /// Without flash attention, norms, embedding and head of a model that trains as a whole become fp32, and stay so beside 16-bit weights (loaders/model.py,
  /// _configure_embedding_dtypes). DeepSpeed casts the module anyway.
  void check_formats() const {
    if (adapter_ || fsdp_ || engine_ || cuts_ || dtype_ == "float32" || packs_by_kernel()) return;
    refused(v_.has("attn_implementation") ? "attn_implementation" : "base_model",
            "without flash attention a model that trains as a whole has its norms, embedding and head in fp32 beside 16-bit weights, which is not modelled by this version");
  }

  void rest() {
    for (const auto& [key, value] : v_.all().items()) {
      if (v_.taken(key)) continue;
      const auto rule = rule_of(axolotl_passed, key, value);
      if (rule == key_rule::refused) d_->unmodelled_key(key, value, v_.place(key));
      if (rule != key_rule::unknown) continue;
      std::vector<std::string_view> all = v_.taken();
      for (const auto& k : axolotl_passed) all.push_back(k.name);
      d_->unknown_key(key, v_.place(key), closest(key, all));
    }
  }

  draft* d_;
  const document* from_;
  named_values v_;
  document to_;
  std::string kernel_, dtype_, by_;
  std::vector<std::string> fused_;
  std::int64_t micro_{1};
  bool adapter_{}, fsdp_{}, second_{}, second_said_{}, engine_{}, cuts_{}, widens_{}, one_row_{};
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
