// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments that say what is trained: layers, attention, experts, vocabulary (megatron/training/arguments.py).
#pragma once

#include <headroom/io/launchers/megatron_layout.hpp>
#include <headroom/io/launchers/megatron_rules.hpp>

namespace headroom::io::detail {

class megatron_shape {
 public:
  /// `date`: yyyymm of the program, 0: today's.
  megatron_shape(draft& d, named_values& v, std::int32_t date) : d_(&d), v_(&v), date_(date) {}

  void read() {
    if (!v_->has("num-layers") && !v_->has("hidden-size")) return;
    for (const auto* key : {"num-layers", "hidden-size", "num-attention-heads"})
      if (v_->take(key) == nullptr) fail("headroom: " + std::string{key} + " is required: these arguments describe a model");
    const auto layers = v_->number("num-layers", 0), hidden = v_->number("hidden-size", 0), heads = v_->number("num-attention-heads", 0);
    const bool gated = v_->on("swiglu"), squared = v_->on("squared-relu"), no_bias = v_->on("disable-bias-linear");
    const auto ffn = v_->number("ffn-hidden-size", gated ? hidden * 4 * 2 / 3 / 64 * 64 : checked::mul(4, hidden));
    const bool grouped = v_->on("group-query-attention");
    const auto groups = v_->number("num-query-groups", grouped ? 1 : heads);
    const auto norm = v_->word("normalization", "LayerNorm");
    if (norm != "LayerNorm" && norm != "RMSNorm") wrong_value("normalization", "\"LayerNorm\" or \"RMSNorm\"", norm);
    json_value m = {{"layers", layers},
                    {"hidden", hidden},
                    {"heads", heads},
                    {"kv_heads", grouped ? groups : heads},
                    {"head_dim", v_->number("kv-channels", std::max<std::int64_t>(1, hidden / heads))},
                    {"ffn", ffn},
                    {"mlp", gated ? "gated" : "plain"},
                    {"activation", gated ? "silu" : squared ? "relu2" : "gelu"},
                    {"norm", norm == "RMSNorm" ? "rmsnorm" : "layernorm"},
                    {"norm_bias", norm == "LayerNorm"},
                    {"attention_bias", !no_bias || v_->on("add-qkv-bias")},
                    {"output_bias", !no_bias},
                    {"mlp_bias", !no_bias},
                    {"vocab_multiple", v_->number("make-vocab-size-divisible-by", 128)},
                    {"tied", !v_->on("untie-embeddings-and-output-weights")},
                    {"qk_norm", v_->on("qk-layernorm")}};
    positions(m);
    vocabulary(m);
    if (const auto n = v_->number("mtp-num-layers", 0, 0); n > 0) m["mtp_layers"] = n;
    if (v_->on("multi-latent-attention"))
      m["mla"] = {{"q_rank", v_->number("q-lora-rank", 0)}, {"kv_rank", v_->number("kv-lora-rank", 32)}, {"nope_dim", v_->number("qk-head-dim", 128)},
                  {"rope_dim", v_->number("qk-pos-emb-head-dim", 64)}, {"value_dim", v_->number("v-head-dim", 128)}};
    experts(m, layers, ffn);
    // --model says the whole; arguments beside it describe the same one.
    for (const auto& [key, value] : m.items()) d_->say({"model", key}, value, v_->place(argument_of(key)));
  }

 private:
  /// The argument that most likely gave a key of the model.
  static std::string_view argument_of(std::string_view key) {
    constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"layers", "num-layers"}, {"hidden", "hidden-size"}, {"heads", "num-attention-heads"}, {"kv_heads", "num-query-groups"}, {"head_dim", "kv-channels"},
        {"ffn", "ffn-hidden-size"}, {"max_positions", "max-position-embeddings"}, {"vocab", "vocab-size"}, {"experts", "num-experts"}};
    for (const auto& [ours, theirs] : known)
      if (ours == key) return theirs;
    return "num-layers";
  }
  void positions(json_value& m) {
    auto kind = v_->word("position-embedding-type", "learned_absolute");
    if (kind == "rotary") kind = "rope";  // the words of forks
    if (kind == "absolute") kind = "learned_absolute";
    const bool rotates = v_->on("use-rotary-position-embeddings");
    const bool latent = v_->on("multi-latent-attention");
    if (v_->on("no-position-embedding") && kind == "learned_absolute") kind = "none";
    if (rotates || (latent && kind != "learned_absolute")) kind = "rope";
    if (kind != "learned_absolute" && kind != "rope" && kind != "none") fail("headroom: position-embedding-type " + in_quotes(kind) + " is not modelled by this version; accepted: learned_absolute, rope, none");
    m["position"] = kind == "learned_absolute" ? "learned" : kind;
    // What an argument says as a part of one, a job says in steps of 1 %.
    if (const auto part = v_->share("rotary-percent", 1.0); kind == "rope" && part < 1.0) m["rotary_fraction"] = std::round(part * 100.0) / 100.0;
    if (const auto n = v_->number("max-position-embeddings", 0); n > 0) m["max_positions"] = n;
  }
  /// Tokens of a vocabulary that its name tells: Llama 2's (arXiv 2307.09288, section 2.2) and Nemotron-4's (arXiv 2402.16819, section 2).
  static std::int64_t known_vocabulary(std::string_view tokenizer, std::string_view file) {
    if (tokenizer == "Llama2Tokenizer") return 32'000;
    return tokenizer == "GPTSentencePieceTokenizer" && file.ends_with("nemotron_2_256k.model") ? 256'000 : 0;
  }
  /// Rows of the embedding: those that are stated, else the tokenizer's; only tokenizers without files of their own take vocab-size
  /// (core/tokenizers/utils/build_tokenizer.py; before 2026-02 training/tokenizer/tokenizer.py).
  void vocabulary(json_value& m) {
    const auto stated = v_->number("vocab-size", 0), padded = v_->number("padded-vocab-size", 0);
    const auto tokenizer = v_->word("tokenizer-type", "");
    if (padded > 0) {
      m["vocab"] = padded;
      m["vocab_multiple"] = 1;
    } else if (tokenizer == "TikTokenizer") {
      m["vocab"] = stated > 0 ? stated : std::int64_t{1} << 17;  // tiktoken_tokenizer.py, DEFAULT_TIKTOKEN_MAX_VOCAB
    } else if (stated > 0 && (tokenizer == "NullTokenizer" || tokenizer == "NullMultimodalTokenizer")) {
      const bool adds = date_ != 0 && date_ < 202604;  // one for the end of a document, up to c9dfe34798 of 2026-04-22
      m["vocab"] = stated + (adds ? 1 : 0);
    } else if (tokenizer.empty() && stated > 0) {
      m["vocab"] = stated;
    } else if (tokenizer.empty() || tokenizer == "GPT2BPETokenizer") {
      m["vocab"] = 50257;
      if (stated > 0 && stated != 50257) d_->notes.push_back(v_->place("vocab-size") + ": vocab-size does not count beside " + tokenizer + ", which has 50257 tokens");
    } else if (const auto known = known_vocabulary(tokenizer, v_->word_now("tokenizer-model")); known > 0) {
      m["vocab"] = known;
      d_->notes.push_back(v_->place("tokenizer-type") + ": the vocabulary is taken to be that of " + (tokenizer == "Llama2Tokenizer" ? "Llama 2" : "Nemotron-4") + ", of " + std::to_string(known) + " tokens (--set model.vocab=N)");
    } else {
      const std::string not_stated = stated > 0 ? ", whatever vocab-size says" : "";
      d_->awaits_vocabulary = draft::said{"tokenizer-type " + in_quotes(tokenizer) + " decides how large the vocabulary is" + not_stated, v_->place("tokenizer-type")};
    }
  }
  void experts(json_value& m, std::int64_t layers, std::int64_t ffn) {
    const auto count = v_->number("num-experts", 0);
    const auto wide = v_->number("moe-ffn-hidden-size", ffn), active = v_->number("moe-router-topk", 2), shared = v_->number("moe-shared-expert-intermediate-size", 0);
    const bool bias = v_->on("moe-router-enable-expert-bias");
    const auto* frequency = v_->take("moe-layer-freq");
    if (count == 0) return;
    json_value e = {{"count", count}, {"active", active}, {"ffn", wide}, {"router_bias", bias}};
    if (shared > 0) e.update({{"shared", 1}, {"shared_ffn", shared}});
    if (frequency != nullptr) {
      const auto sparse = sparse_layers(*frequency, layers, "moe-layer-freq");
      std::int64_t first = 0;
      while (first < layers && !sparse[static_cast<std::size_t>(first)]) ++first;
      if (first > 0) e["first_dense_layers"] = first;
      auto dense = json_value::array();
      for (auto i = first; i < layers; ++i)
        if (!sparse[static_cast<std::size_t>(i)]) dense.push_back(i);
      if (first == layers) fail("headroom: moe-layer-freq must leave a layer to the experts");
      if (!dense.empty()) {
        if (layers > 128) fail("headroom: moe-layer-freq with dense layers among sparse ones is modelled for at most 128 layers");
        e["dense_layers"] = dense;
      }
    }
    m["experts"] = e;
  }

  draft* d_;
  named_values* v_;
  std::int32_t date_;
};

}  // namespace headroom::io::detail
