// Distributed under the Boost Software License, Version 1.0.
// axolotl's kernels that stand for several operations, its own for adapters and those of plugins (axolotl-ai-cloud/axolotl 067b021c, 2026-07:
// monkeypatch/lora_kernels.py, integrations/{liger,cut_cross_entropy}, utils/schemas/config.py).
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

namespace headroom::io::detail {

class axolotl_kernels {
 public:
  explicit axolotl_kernels(axolotl_arguments& a) : a_(&a) {}

  void read() {
    heads_ = a_->v.on("fused_attn_kernel");
    if (a_->v.word_now("base_model").find("gemma-4-") != std::string::npos)
      a_->refused("base_model", "axolotl joins norms and rotary embedding of Gemma 4's attention in kernels of its own, whatever is said (monkeypatch/models/gemma4/fused_attn.py), which is not modelled by this version");
    of_adapters();
    plugins();
  }
  /// Whether the head's loss is Cut Cross-Entropy.
  [[nodiscard]] bool cuts() const { return cuts_; }

  /// Whether its kernels for attention's or an MLP's adapters are on, and Liger's beside the loss.
  [[nodiscard]] bool adapted() const {
    return std::any_of(fused_.begin(), fused_.end(), [](const std::string& k) { return k.starts_with("adapted"); });
  }
  [[nodiscard]] bool of_liger() const {
    return std::any_of(fused_.begin(), fused_.end(), [](const std::string& k) { return !k.starts_with("adapted"); });
  }

  /// Says the kernels of a model whose layers have the matrices that they patch.
  void finish(const shape& m) const {
    const bool bare_of_liger = liger_ && !liger_knows(m);
    if (bare_of_liger && linear_) a_->refused("liger_fused_linear_cross_entropy", "Liger has no kernels for this model, and whether axolotl's general patch of its loss takes hold is not known here: say liger_fused_linear_cross_entropy false");
    if (bare_of_liger && of_liger()) a_->d->notes.push_back(a_->v.place("plugins") + ": Liger has no kernels for this model, and axolotl goes on without them");
    if (gates_ && !bare_of_liger && m.recurs()) a_->d->unmodelled_key("liger_rms_norm_gated", true, a_->v.place("liger_rms_norm_gated"));  // of Qwen3.5's linear attention, and nobody else's
    auto list = json_value::array();
    if (of_attention() && !patches(m) && !(m.vision.projector == projector_kind::patch_merger && m.scaled_queries)) do_not_find();
    // They read weights of layers that they do not call: ZeRO-3 gathers what is read so for the attention or MLP that reads it (deepspeed runtime/zero/
    // parameter_offload.py, ZeROOrderedDict), both within the layer that is counted as gathered anyway.
    const bool bare = m.mlp == mlp_kind::plain || m.fused_gate_up || (m.sparse() && !adapts_dense()), misses = misses_attention(m);
    for (const auto& k : fused_) {
      const bool adapted = k.starts_with("adapted"), of_mlp = k == "adapted-mlp";
      if (!adapted && bare_of_liger) continue;
      if (adapted && (of_mlp ? bare : misses)) continue;  // no gate_proj
      if (std::find(list.begin(), list.end(), json_value(k)) == list.end()) list.push_back(k);
    }
    if (adapted()) check_linear_attention(m);
    const bool turned = heads_ && turns_heads(m);
    if (turned) list.push_back("normed-rotary");
    if (!list.empty()) a_->d->replace("kernels", list, a_->v.place(turned ? "fused_attn_kernel" : by_));
  }

 private:
  [[nodiscard]] bool of_attention() const {
    return std::any_of(fused_.begin(), fused_.end(), [](const std::string& k) { return k == "adapted-qkv" || k == "adapted-output"; });
  }
  /// Throws job_error: axolotl's run ends where it rewrites attention. Those that nobody said are on, too (check_auto_enable_lora_kernels).
  [[noreturn]] void do_not_find() const {
    a_->refused(said_ ? asked_ : "adapter", std::string{"axolotl's kernels for adapters"} + (said_ ? "" : ", which are on unless one of them is said,") + " do not find this model's attention, and the run ends there: say lora_mlp_kernel, lora_qkv_kernel and lora_o_kernel false");
  }
  /// Classes that they do not find, which a shape does not tell, or of models that are read no further (transformers 5.15
  /// modeling_{gemma3n,voxtral,mllama,afmoe,llama4,glm4_moe,glm4_moe_lite,glm4v}.py).
  [[nodiscard]] bool lost_by_name() const {
    const auto name = a_->v.word_now("base_model");
    return std::any_of(lost.begin(), lost.end(), [&](const char* part) { return name.find(part) != std::string::npos; });
  }
  static constexpr std::array lost{"gemma-3n-", "Voxtral-", "Llama-3.2-11B-Vision", "Llama-3.2-90B-Vision", "Trinity-", "Llama-4-", "GLM-4."};
  /// Whether dense layers beside experts have adapters: of others the kernel for an MLP finds no gate_proj (monkeypatch/lora_kernels.py, find_mlp_in_layer).
  [[nodiscard]] bool adapts_dense() const {
    const auto* targets = a_->d->find({"adapter", "targets"});
    return targets != nullptr && targets->is_array() && std::any_of(targets->begin(), targets->end(), [](const json_value& t) { return t.is_string() && t.get_ref<const std::string&>().starts_with("dense_"); });
  }
  /// Whether Liger has kernels for a model's class (liger_kernel 0.8.0 transformers/monkey_patch.py, MODEL_TYPE_TO_APPLY_LIGER_FN; axolotl's
  /// integrations/liger/plugin.py has Jamba and DeepSeek-V2 besides): none with LayerNorm but Nemotron's, of recurrent layers Falcon-H1's and Qwen's alone.
  /// Throws job_error where a shape does not tell.
  [[nodiscard]] bool liger_knows(const shape& m) const {
    const bool nemotron = m.mlp == mlp_kind::plain && a_->v.word_now("base_model").find("emotron") != std::string::npos;
    if ((m.norm == norm_kind::layernorm && !nemotron) || m.altup.streams > 0 || m.vision.projector == projector_kind::patch_merger) return false;  // nor Gemma 3n, nor Mistral 3
    for (std::int64_t i = 0; i < m.pattern.period; ++i)
      if (const auto x = m.pattern.at(i).mixer; recurrent(x) && x != mixer_kind::attention_mamba2 && x != mixer_kind::gated_delta_net) return false;
    if (m.latent() || (m.sparse() && m.experts.shared_ffn > 0 && !m.pattern.given()))
      a_->refused("plugins", "whether Liger's kernels are those of this model's layers depends on its class, which is not read by this version: leave axolotl.integrations.liger.LigerPlugin out");
    return true;
  }
  /// Whether it finds and rewrites a model's attention (monkeypatch/lora_kernels.py get_attention_cls_from_config, QKV_PATCHES and ORIGINAL_O_CODE, held
  /// against the classes of transformers 5.16): q_proj, k_proj and v_proj one after another, each norm of a head's width, and o_proj; of classes that see
  /// those whose names it makes. Cohere 2 has a sliding window, StableLM the norms of older models beside a gated MLP, OLMo norms without weights.
  static bool patches(const shape& m) {
    const auto& v = m.vision;
    const bool gated = m.mlp == mlp_kind::gated, cohere = m.parallel_block && gated && m.sliding_window > 0;
    const bool found = v.layers == 0 || v.projector == projector_kind::norm_linear || v.projector == projector_kind::patch_merger || v.kind == vision_kind::qwen3_vl;
    for (std::int64_t i = 0; i < m.pattern.period; ++i)
      if (const auto mixer = m.pattern.at(i).mixer; mixer == mixer_kind::attention_mamba2 || mixer == mixer_kind::gated_convolution || global(mixer)) return false;
    if (m.fused_qkv || m.qk_norm_full || m.latent() || m.position == position_kind::learned || m.altup.streams > 0) return false;
    return cohere || (found && !m.parallel_block && m.norm_weight && !(gated && m.norm == norm_kind::layernorm));
  }
  /// Mistral 3's class stands for its text's, which is Ministral 3's in later models: there the rewritten attention is another than the model's.
  [[nodiscard]] bool misses_attention(const shape& m) const {
    if (m.vision.projector != projector_kind::patch_merger || !adapted()) return false;
    const auto name = a_->v.word_now("base_model");
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("Ministral-3") || m.scaled_queries) return true;  // Ministral 3's queries, and Mistral 4's, are scaled by their position
    if (!has("Mistral-Small-3.") && !has("Magistral-Small")) a_->refused(said_ ? asked_ : "adapter", "whether axolotl's kernels for adapters are those of this model's attention depends on its text's class, which no file here says: say lora_mlp_kernel, lora_qkv_kernel and lora_o_kernel false");
    return false;
  }
  /// Qwen3.5's linear attention has kernels of its own where it has adapters (find_linear_attn_in_layer); Qwen3-Next's matrices have other names.
  void check_linear_attention(const shape& m) const {
    const auto* targets = a_->d->find({"adapter", "targets"});
    bool linear = false;
    for (std::int64_t i = 0; i < m.pattern.period; ++i) linear = linear || m.pattern.at(i).mixer == mixer_kind::gated_delta_net;
    if (!linear || targets == nullptr || a_->v.word_now("base_model").find("Qwen3-Next") != std::string::npos) return;
    const bool reached = !targets->is_array() || std::any_of(targets->begin(), targets->end(), [](const json_value& t) { return t == "all-linear" || t == "mixer_in" || t == "mixer_out" || t == "out_proj"; });
    if (reached) a_->refused(said_ ? asked_ : "adapter", "axolotl's kernels for adapters of linear attention are not modelled by this version: say lora_qkv_kernel and lora_o_kernel false, or name none of its matrices in lora_target_modules");
  }
  /// One kernel for norms and rotary embedding of queries and keys, in classes that axolotl knows by their name, whose queries all have norms; of others it warns
  /// and goes on without (loaders/patch_manager.py, _FUSED_ATTN_KERNEL_SUPPORTED). Of them Qwen3's and Qwen3-MoE's are modelled.
  [[nodiscard]] bool turns_heads(const shape& m) const {
    const auto name = a_->v.word_now("base_model"), place = a_->v.place("fused_attn_kernel");
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    const bool none = !m.qk_norm || (has("Qwen3-") && m.recurs());  // Qwen3-Next
    if (none) a_->d->notes.push_back(place + ": axolotl has no fused_attn_kernel for this model, and goes on without");
    if (!none && (!has("Qwen3-") || has("Qwen3-VL") || has("Qwen3-Omni"))) a_->d->unmodelled_key("fused_attn_kernel", true, place);
    return !none;
  }
  /// Kernels of its own for adapters, which are on unless one of them is said or a method of TRL's trains (utils/schemas/config.py,
  /// check_auto_enable_lora_kernels, which runs before fsdp_config is asked for a version). That of the embedding is for adapters there.
  void of_adapters() {
    auto& v = a_->v;
    bool said = false;
    for (const auto& [key, ours] : {std::pair<std::string_view, const char*>{"lora_mlp_kernel", "adapted-mlp"}, {"lora_qkv_kernel", "adapted-qkv"}, {"lora_o_kernel", "adapted-output"}, {"lora_embedding_kernel", ""}}) {
      const auto* word = v.take(key);
      said = said || word != nullptr;
      if (word != nullptr && truth(*word, std::string{key}) && a_->adapter && *ours != 0) fuse(ours, key), asked_ = std::string{key};
    }
    said_ = said;
    const bool remote = v.on("trust_remote_code"), eight = v.on("load_in_8bit"), prefers = !v.word_now("rl").empty();
    if (a_->adapter && !said && !eight && !remote && !prefers && (!a_->fsdp || a_->second_said))
      for (const auto* ours : {"adapted-mlp", "adapted-qkv", "adapted-output"}) fuse(ours, "adapter");
    if (of_attention() && lost_by_name()) do_not_find();
    if (v.on("peft_use_dora") && !fused_.empty()) a_->d->unmodelled_key("lora_mlp_kernel", true, v.place(said ? "lora_mlp_kernel" : "adapter"));
  }
  void fuse(const char* ours, std::string_view key) {
    fused_.push_back(ours);
    by_ = std::string{key};
  }

  /// Plugins that change the step, each with keys of its own.
  void plugins() {
    auto& v = a_->v;
    bool liger = false, cut = false;
    if (const auto* list = v.take("plugins"); list != nullptr)
      each_at(list->is_array() ? *list : json_value::array({*list}), "plugins", "a list of classes", [&](const json_value& one, const std::string& path) {
        const auto& name = string_at(one, path);
        const auto last = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
        liger = liger || last == "LigerPlugin";
        cut = cut || last == "CutCrossEntropyPlugin";
        if (last != "LigerPlugin" && last != "CutCrossEntropyPlugin" && last != "SwanLabPlugin" && last != "LMEvalPlugin") a_->d->unmodelled_key("plugins", name, v.place("plugins"));
      });
    liger_ = liger;
    cuts_ = v.on("cut_cross_entropy", true) && cut;
    if (cuts_) a_->d->replace("loss", {{"kind", "cut"}}, v.place(v.has("cut_cross_entropy") ? "cut_cross_entropy" : "plugins"));
    if (cuts_ && !a_->method.empty()) a_->refused("plugins", "Cut Cross-Entropy beside preferences and reward models, which make logits of their own, is not modelled by this version");
    for (const auto& [key, ours] : {std::pair<std::string_view, const char*>{"liger_rope", "rotary"}, {"liger_rms_norm", "norm"}, {"liger_swiglu", "gated"}, {"liger_glu_activation", "gated"}})
      if (v.on(key) && liger) fuse(ours, key);
    v.on("liger_layer_norm");  // keeps what PyTorch's does
    if (v.on("liger_cross_entropy") && liger) a_->unmodelled("liger_cross_entropy");
    gates_ = v.on("liger_rms_norm_gated") && liger;
    linear_ = v.on("liger_fused_linear_cross_entropy") && liger;
    if (linear_) a_->put("use_liger_kernel", true, "liger_fused_linear_cross_entropy");
  }

  axolotl_arguments* a_;
  std::string by_, asked_;
  std::vector<std::string> fused_;
  bool heads_{}, cuts_{}, gates_{}, said_{}, liger_{}, linear_{};
};

}  // namespace headroom::io::detail
