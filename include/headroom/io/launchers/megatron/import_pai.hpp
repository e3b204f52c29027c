// Distributed under the Boost Software License, Version 1.0.
// Pai-Megatron-Patch over Megatron-Core: Megatron-LM's arguments with those of its own (alibaba/Pai-Megatron-Patch a098ca5a of 2025-12-15
// megatron_patch/arguments.py get_patch_args), for the programs that build Megatron-Core's layers as they are. Which Megatron-LM that is says
// the folder of backends/megatron that a script puts into PYTHONPATH.
#pragma once

#include <headroom/io/launchers/megatron/import.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>

namespace headroom::io {

namespace detail {

/// A program, by the tokenizer that its script names: programs of one name lie in several folders of examples/.
struct pai_program {
  std::string_view script, tokenizer;
  std::int32_t since{};      ///< yyyymm of the Megatron-LM under it; before, its layers were a copy with changes
  bool experts{};            ///< whether its experts are Megatron-Core's, too
  std::int64_t tokens{};     ///< of the tokenizer, to which --extra-vocab-size is added; 0: the checkpoint decides
};
/// Qwen's tokenizers have 151,643 tokens beside the special ones (QwenLM/Qwen2.5 README; the scripts add 293 or 421 to get the models' rows).
inline constexpr auto pai_programs = std::to_array<pai_program>({
    {"pretrain_qwen.py", "Qwen2Tokenizer", 202407, false, 151'643},       // examples/qwen2, qwq
    {"pretrain_qwen2_moe.py", "Qwen2Tokenizer", 202503, false, 151'643},  // examples/qwen2_5; a gate scales the shared expert of qwen2's
    {"pretrain_qwen.py", "Qwen3Tokenizer", 202506, true, 151'643},
    {"pretrain_deepseek.py", "DeepSeekV2Tokenizer", 202506, true},        // examples/deepseek_v3, moonlight
    {"pretrain_deepseek_250624.py", "DeepSeekV2Tokenizer", 202506, true},
    {"pretrain_mcore_mistral.py", "LLama2Tokenizer", 202411, false},
});
inline constexpr std::string_view pai_scripts = "pretrain_qwen.py|pretrain_qwen2_moe.py|pretrain_deepseek.py|pretrain_deepseek_250624.py|pretrain_mcore_mistral.py";

/// What none of these programs reads, or reads for its samples, checkpoints and positions alone.
inline constexpr std::string_view pai_passed =
    "adaptive-seq-len|allow-missing-vision-projection-checkpoint|convert-checkpoint-from-megatron-to-transformers|cvcuda-image-processing|data-dir|dataloader-save|dataset|"
    "dataset-config|epochs|eval-dev|eval-fp32|generation-length|image-aspect-ratio|image-folder|image-size|image-tag-type|input-len|keep-last|local-rank|max-num-tiles|"
    "max-padding-length|mm-projector-type|mm-use-im-patch-token|mm-use-im-start-end|mm-vision-select-layer|num-fewshot|num-frames|online-evaluation-config|optimizer-offload-auto-threshold|"
    "optimizer-offload-chunk-size|optimizer-offload-fraction|optimizer-offload-policy|out-seq-length|patch-size|patch-tokenizer-type|prompt-path|qk-rope-head-dim|repetition-penalty|repetition_penalty|rope-type|"
    "rotary-scale-factor|sliding-window|source-seq-len|spatial-merge-size|special-tokens|target-seq-len|task-list|temperature|temporal-patch-size|text-generate-gt-file|text-generate-input-file|"
    "text-generate-output-file|time|tokenizer-prompt-format|top-k|top-p|train-data|train-data-path|train-mode|transformer-timers|use-thumbnail|use-tiling|valid-data|valid-data-path|verbosity|"
    "version|vision-model-type|vision-tower|z-loss-weight";
/// What belongs to programs over its own layers, moves states or freezes weights.
inline constexpr std::string_view pai_refused =
    "attention-head-type|dataloader-seq-length|disable-bias-attn-fc|disable-bias-linear-fc|disable-parallel-output|disable-vision-class-token|embed-layernorm|enable-shared-expert|expert-interval|freeze-LM|freeze-ViT|"
    "freeze-clip-vision-tower|freeze-llm|glu-activation|language-model-type|moe|moe-eval-capacity-factor|moe-expert-parallel-size|moe-input-feature-slicing|moe-loss-coeff|moe-min-capacity|moe-topk|"
    "moe-train-capacity-factor|n-head-kv|num-shared-experts|position-encoding-2d|router-type|shared-moe-ffn-hidden-size|transformer-type|tune-mm-mlp-adapter|use-alibi-mask|use-llama2-rotary-position-embeddings|"
    "use-mistral-rotary-position-embeddings|use-normhead|use-te|use-tutel";

/// The Megatron-LM that a PYTHONPATH names, as a version: "2025-06" of backends/megatron/Megatron-LM-250624; empty where it names none.
inline std::string pai_backend(std::string_view path) {
  constexpr std::string_view name = "Megatron-LM-";
  const auto at = path.find(name);
  if (at == std::string_view::npos) return {};
  const auto date = path.substr(at + name.size(), 6);
  if (date.size() < 6 || !std::all_of(date.begin(), date.end(), [](char c) { return c >= '0' && c <= '9'; })) return {};
  return "20" + std::string{date.substr(0, 2)} + "-" + std::string{date.substr(2, 2)};
}

class pai_megatron {
 public:
  pai_megatron(draft& d, const document& from, std::string_view script) : d_(&d), from_(from), script_(script) {}

  void import() {
    for (const auto& [key, value] : from_.root.items())
      if (among_words(pai_refused, key) && value != false) d_->unmodelled_key(key, value, from_.place(key), "Pai-Megatron-Patch has it for other programs");
    for (const auto name : words_between_bars(pai_refused)) from_.root.erase(std::string{name});
    const auto& p = program();
    if (given(from_.root, "num-experts") && !p.experts) d_->unmodelled_key("num-experts", from_.root["num-experts"], from_.place("num-experts"), "this program's experts are its own");
    lengths();
    vocabulary(p);
    // Megatron-Core takes qk-head-dim, of which 128 is the default, for what Pai's older programs call so.
    if (const auto it = from_.root.find("qk-nope-head-dim"); it != from_.root.end() && *it == 128) from_.root.erase(it);
    if (const auto it = from_.root.find("intermediate-size"); it != from_.root.end()) {
      if (!from_.root.contains("ffn-hidden-size")) d_->unmodelled_key("intermediate-size", *it, from_.place("intermediate-size"), "these programs read ffn-hidden-size");
      from_.root.erase("intermediate-size");
    }
    for (const auto name : words_between_bars(pai_passed)) from_.root.erase(std::string{name});
    import_megatron(*d_, from_);
  }

 private:
  [[nodiscard]] std::string word(const char* key) const {
    const auto it = from_.root.find(key);
    return it != from_.root.end() && it->is_string() ? it->get<std::string>() : std::string{};
  }
  const pai_program& program() {
    const auto tokenizer = word("patch-tokenizer-type");
    const auto* stated = d_->find({"framework", "version"});
    if (stated == nullptr && d_->megatron_backend) {
      d_->say({"framework", "version"}, d_->megatron_backend->word, d_->megatron_backend->place);
      stated = d_->find({"framework", "version"});
    }
    if (stated == nullptr) fail("headroom: " + from_.place("patch-tokenizer-type") + ": which Megatron-LM this is over is said nowhere: no PYTHONPATH here names one of backends/megatron: give the script that exports it");
    const auto date = stated->is_string() ? version_date(stated->get_ref<const std::string&>()) : 0;
    for (const auto& p : pai_programs)
      if (path_end(script_, p.script) == p.script && p.tokenizer == tokenizer && date >= p.since) return p;
    std::string all;
    for (const auto& p : pai_programs) all += (all.empty() ? "" : ", ") + std::string{p.script} + " with " + std::string{p.tokenizer};
    fail("headroom: " + from_.place("patch-tokenizer-type") + ": " + in_quotes(std::string{script_}) + " with " + in_quotes(tokenizer) + " over the Megatron-LM of " + stated->get<std::string>() +
         " builds layers of Pai-Megatron-Patch's own, which are not modelled by this version; read are " + all + ", over the Megatron-LM that their scripts name");
  }
  /// Samples of JSON files are padded to a length of their own (megatron_patch/data/json_sft.py); packed ones are told apart by their positions
  /// (template/helper.py get_batch).
  void lengths() {
    const auto& root = from_.root;
    if (word("dataset") == "JSON-SFT" && root.contains("max-padding-length") && root.contains("seq-length") && root["max-padding-length"] != root["seq-length"])
      fail("headroom: " + from_.place("max-padding-length") + ": samples are padded to max-padding-length, " + root["max-padding-length"].dump() + ", and seq-length is " + root["seq-length"].dump() + ": give both alike");
    if (given(root, "reset-position-ids")) d_->unmodelled_key("reset-position-ids", true, from_.place("reset-position-ids"), "documents of a row are told apart in attention");
  }
  void vocabulary(const pai_program& p) {
    const auto padded = from_.root.find("padded-vocab-size");
    const bool stated = padded != from_.root.end() && *padded != 0;
    const auto extra = from_.root.contains("extra-vocab-size") ? count_at(from_.root["extra-vocab-size"], "extra-vocab-size", 0, 1 << 20) : 0;
    const auto place = from_.place(from_.root.contains("extra-vocab-size") ? "extra-vocab-size" : "patch-tokenizer-type");
    from_.root.erase("extra-vocab-size");
    if (stated) return;
    from_.root.erase("padded-vocab-size");
    from_.root["tokenizer-type"] = word("patch-tokenizer-type");  // decides by its files
    if (p.tokens == 0) return;
    from_.root["padded-vocab-size"] = p.tokens + extra;
    d_->notes.push_back(place + ": the vocabulary is Qwen's " + std::to_string(p.tokens) + " tokens and " + std::to_string(extra) + " more (--set model.vocab=N)");
  }

  draft* d_;
  document from_;
  std::string_view script_;
};

}  // namespace detail

/// A run of Pai-Megatron-Patch, from its command line; `script`: the program that it starts.
inline void import_pai_megatron(draft& d, const document& from, std::string_view script) {
  with_places(from, [&] { detail::pai_megatron{d, from, script}.import(); });
}

}  // namespace headroom::io
