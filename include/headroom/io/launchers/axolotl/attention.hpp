// Distributed under the Boost Software License, Version 1.0.
// axolotl's kernels of attention, and how rows that are packed reach them (axolotl-ai-cloud/axolotl 067b021c, 2026-07: utils/schemas/{config,enums}.py,
// loaders/patch_manager.py, monkeypatch/attention/*.py).
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

namespace headroom::io::detail {

class axolotl_attention {
 public:
  explicit axolotl_attention(axolotl_arguments& a) : a_(&a) {}

  /// By its name, or one of the older switches (utils/schemas/enums.py).
  void read() {
    std::string_view by = "attn_implementation";
    a_->kernel = v().word(by, "");
    for (const auto& [key, is] : {std::pair<std::string_view, std::string_view>{"xformers_attention", "xformers"}, {"sage_attention", "sage"}, {"flex_attention", "flex_attention"},
                                  {"flash_attention", "flash_attention_2"}, {"sdp_attention", "sdpa"}, {"eager_attention", "eager"}})
      if (v().on(key) && a_->kernel.empty()) {
        a_->kernel = is;
        by = key;
      }
    if (a_->kernel == "kernels-community/flash-attn2") a_->kernel = "flash_attention_2";
    if (a_->kernel == "kernels-community/flash-attn3") a_->kernel = "flash_attention_3";
    if (a_->kernel == "kernels-community/vllm-flash-attn3") a_->kernel = "flash_attention_3", a_->masks = true;
    if (a_->kernel.empty()) return;
    if (a_->kernel != "sdpa" && a_->kernel != "eager" && !a_->masks && !a_->packs_by_kernel()) return a_->unmodelled(by);
    if (a_->kernel.starts_with("flash") && v().word_now("base_model").find("Llama-4-") != std::string::npos)
      a_->refused(by, "transformers has no flash attention for Llama 4, and the run ends where it is loaded (modeling_llama4.py, _supports_flash_attn): attn_implementation sdpa is modelled");
    by_attention_ = by;
    a_->put("attn_implementation", a_->kernel == "xformers" ? "flash_attention_2" : a_->kernel, by);
  }

  /// Once the model is known.
  void finish(const shape& m) const {
    if (a_->kernel == "xformers") check_xformers(m);
    check_packing(m);
  }

 private:
  /// PyTorch's varlen_attn, a flash kernel, takes packed rows apart where heads are narrow and all positions are seen (loaders/patch_manager.py,
  /// _apply_sdpa_varlen_patch; torch since 2.10, and axolotl asks for 2.11).
  void check_packing(const shape& m) const {
    const auto label = m.label.view();
    const bool windowed = m.sliding_window > 0 || label.starts_with("phi-3");  // shapes that leave out what flash attention needs no room for
    const bool stays = a_->varlen && (m.head_width() > 256 || windowed);
    const bool masked = stays || (a_->packs && (a_->kernel == "sdpa" || a_->kernel.empty()) && !a_->varlen);
    if ((a_->varlen || masked) && m.pattern.given()) return a_->d->unmodelled_key("sample_packing", true, v().place("sample_packing"));
    if (!stays) return;
    if (const auto multiple = v().number("pad_to_multiple_of", 64); v().number("sequence_len", 512) % multiple != 0)
      return a_->d->unmodelled_key("sample_packing", true, v().place("sample_packing"), "behind a sliding window, or with heads wider than 256, sequence_len must be a multiple of pad_to_multiple_of (" + std::to_string(multiple) + ")");
    a_->d->replace("attention", "sdpa", v().place("sample_packing"));
    a_->d->job["batch"].erase("packed");
    a_->d->say({"batch", "padded"}, true, v().place("sample_packing"));
  }
  /// xformers' kernel keeps what flash attention does; keys and values that several heads share it is given a copy of for each
  /// (monkeypatch/attention/xformers.py). GPT-2's class asks the interface that it is registered with; Falcon's and GPT-J's look in tables of their own.
  void check_xformers(const shape& m) const {
    const auto name = v().word_now("base_model");
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    const bool alike = m.kv_heads == 0 || m.kv_heads == m.heads;
    if (alike && m.fused_qkv && m.position == position_kind::learned && (has("gpt2") || has("Cerebras-GPT"))) return;
    const auto own = v().all().find("trust_remote_code");
    if (m.parallel_block && m.mlp == mlp_kind::plain && (has("falcon") || has("gpt-j")) && (own == v().all().end() || *own != true))
      a_->refused(by_attention_, "this model's class has no attention by xformers (transformers modeling_falcon.py FALCON_ATTENTION_CLASSES, modeling_gptj.py GPTJ_ATTENTION_CLASSES), and the run ends where it is made: attn_implementation flash_attention_2 is modelled");
    if (!alike || m.fused_qkv || m.parallel_block || m.mlp == mlp_kind::plain) a_->d->unmodelled_key("attn_implementation", "xformers", v().place(by_attention_));
  }

  [[nodiscard]] named_values& v() const { return a_->v; }

  axolotl_arguments* a_;
  std::string_view by_attention_{"attn_implementation"};
};

}  // namespace headroom::io::detail
