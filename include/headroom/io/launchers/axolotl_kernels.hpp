// Distributed under the Boost Software License, Version 1.0.
// axolotl's kernels that stand for several operations, its own for adapters and those of plugins (axolotl-ai-cloud/axolotl 067b021c, 2026-07:
// monkeypatch/lora_kernels.py, integrations/{liger,cut_cross_entropy}, utils/schemas/config.py).
#pragma once

#include <headroom/io/launchers/axolotl_arguments.hpp>

namespace headroom::io::detail {

class axolotl_kernels {
 public:
  explicit axolotl_kernels(axolotl_arguments& a) : a_(&a) {}

  void read() {
    of_adapters();
    plugins();
  }
  /// Whether the head's loss is Cut Cross-Entropy.
  [[nodiscard]] bool cuts() const { return cuts_; }

  /// Says the kernels of a model whose layers have the matrices that they patch.
  void finish(const shape& m) const {
    if (gates_ && m.recurs()) a_->d->unmodelled_key("liger_rms_norm_gated", true, a_->v.place("liger_rms_norm_gated"));  // of Qwen3.5's linear attention, and nobody else's
    auto list = json_value::array();
    for (const auto& k : fused_) {
      // Patched are layers with q_proj, k_proj, v_proj and o_proj (Phi's parallel block has "dense"), and with gate_proj, up_proj and down_proj (monkeypatch/lora_kernels.py).
      const bool adapted = k.starts_with("adapted");
      if (adapted && (m.fused_qkv || m.fused_gate_up || m.parallel_block || (m.mlp == mlp_kind::plain && k == "adapted-mlp"))) continue;
      if (adapted && gathers_by_layer()) a_->refused(by_, "axolotl's kernels for adapters read weights without calling the layers that have them, and ZeRO-3 gathers weights where a layer is called, which is not modelled by this version: say lora_mlp_kernel, lora_qkv_kernel and lora_o_kernel false");
      if (std::find(list.begin(), list.end(), json_value(k)) == list.end()) list.push_back(k);
    }
    if (!list.empty()) a_->d->replace("kernels", list, a_->v.place(by_));
  }

 private:
  [[nodiscard]] bool gathers_by_layer() const {
    const auto* options = a_->d->find({"framework", "options", "zero_optimization"});
    return a_->engine && options != nullptr && options->is_object() && options->value("stage", json_value(0)) == 3;
  }
  /// Kernels of its own for adapters, which are on unless one of them is said or a method of TRL's trains (utils/schemas/config.py,
  /// check_auto_enable_lora_kernels, which runs before fsdp_config is asked for a version). That of the embedding is for adapters there.
  void of_adapters() {
    auto& v = a_->v;
    bool said = false;
    for (const auto& [key, ours] : {std::pair<std::string_view, const char*>{"lora_mlp_kernel", "adapted-mlp"}, {"lora_qkv_kernel", "adapted-qkv"}, {"lora_o_kernel", "adapted-output"}, {"lora_embedding_kernel", ""}}) {
      const auto* word = v.take(key);
      said = said || word != nullptr;
      if (word != nullptr && truth(*word, std::string{key}) && a_->adapter && *ours != 0) fuse(ours, key);
    }
    const bool remote = v.on("trust_remote_code"), eight = v.on("load_in_8bit"), prefers = !v.word_now("rl").empty();
    if (a_->adapter && !said && !eight && !remote && !prefers && (!a_->fsdp || a_->second_said))
      for (const auto* ours : {"adapted-mlp", "adapted-qkv", "adapted-output"}) fuse(ours, "adapter");
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
    cuts_ = v.on("cut_cross_entropy", true) && cut;
    if (cuts_) a_->d->replace("loss", {{"kind", "cut"}}, v.place(v.has("cut_cross_entropy") ? "cut_cross_entropy" : "plugins"));
    if (cuts_ && !a_->method.empty()) a_->refused("plugins", "Cut Cross-Entropy beside preferences and reward models, which make logits of their own, is not modelled by this version");
    for (const auto& [key, ours] : {std::pair<std::string_view, const char*>{"liger_rope", "rotary"}, {"liger_rms_norm", "norm"}, {"liger_swiglu", "gated"}, {"liger_glu_activation", "gated"}})
      if (v.on(key) && liger) fuse(ours, key);
    v.on("liger_layer_norm");  // keeps what PyTorch's does
    if (v.on("liger_cross_entropy") && liger) a_->unmodelled("liger_cross_entropy");
    gates_ = v.on("liger_rms_norm_gated") && liger;
    if (v.on("liger_fused_linear_cross_entropy") && liger) a_->put("use_liger_kernel", true, "liger_fused_linear_cross_entropy");
  }

  axolotl_arguments* a_;
  std::string by_;
  std::vector<std::string> fused_;
  bool cuts_{}, gates_{};
};

}  // namespace headroom::io::detail
