// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments that say what is trained: layers, attention, experts, vocabulary (megatron/training/arguments.py).
#pragma once

#include <headroom/io/job/pattern.hpp>
#include <headroom/io/launchers/megatron/layout.hpp>
#include <headroom/io/launchers/megatron/rules.hpp>

#include <cmath>

namespace headroom::io::detail {

/// The letters of a hybrid stack, under today's name or the older one.
inline std::string hybrid_letters(named_values& v) {
  const auto now = v.word("hybrid-layer-pattern", ""), before = v.word("hybrid-override-pattern", "");
  return now.empty() ? before : now;
}

class megatron_shape {
 public:
  /// `date`: yyyymm of the program, 0: today's.
  megatron_shape(draft& d, named_values& v, std::int32_t date, megatron_program program) : d_(&d), v_(&v), date_(date), program_(program) {}

  void read() {
    if (!v_->has("num-layers") && !v_->has("hidden-size") && program_ != megatron_program::hybrid) return;
    const auto layers = layers_of_program();
    for (const auto* key : {"hidden-size", "num-attention-heads"})
      if (v_->take(key) == nullptr) fail("headroom: " + std::string{key} + " is required: these arguments describe a model");
    const auto hidden = v_->number("hidden-size", 0), heads = v_->number("num-attention-heads", 0);
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
    if (program_ == megatron_program::hybrid) hybrid(m, hidden);
    if (program_ == megatron_program::bert) bert(m);
    if (program_ == megatron_program::t5) m["encoder"] = {{"layers", encoder_layers()}, {"sequence", v_->number("encoder-seq-length", 1)}, {"cross_attention", true}, {"shared_positions", true}};
    if (program_ == megatron_program::t5 && m["tied"] == true) m["head_bias"] = true;
    if (program_ == megatron_program::vlm) {
      m["vision"] = tower_of(*v_, m);
      say_vision_script(*d_, *v_);
    }
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
  /// num-layers is the encoder's where it has no word of its own (arguments.py, validate_args; cbf8250b2c of 2022-10-03 brought the decoder's).
  std::int64_t encoder_layers() { return v_->number("encoder-num-layers", v_->number("num-layers", 1)); }
  /// Layers of the main stack: of a hybrid one its letters; of T5 the decoder's.
  std::int64_t layers_of_program() {
    const auto need = [&](const char* key) {
      if (v_->take(key) == nullptr) fail("headroom: " + std::string{key} + " is required: these arguments describe a model");
      return v_->number(key, 0);
    };
    if (program_ == megatron_program::t5) {
      for (const auto* key : {"encoder-seq-length", "decoder-seq-length"}) need(key);
      if (!v_->has("encoder-num-layers")) need("num-layers");
      if (!v_->has("decoder-num-layers") && (date_ == 0 || date_ >= 202210))
        fail("headroom: decoder-num-layers is required by pretrain_t5.py since 2022-10, which ends without it; before, both stacks had num-layers layers (--set framework.version=2022-09 where it is older)");
      return v_->number("decoder-num-layers", encoder_layers());
    }
    if (program_ == megatron_program::vlm) return v_->number("decoder-num-layers", need("num-layers"));
    if (program_ != megatron_program::hybrid) return need("num-layers");
    const auto letters = hybrid_letters(*v_);
    if (letters.empty()) fail("headroom: hybrid-layer-pattern is required: which layer is of which kind. Shares of kinds (hybrid-attention-ratio) are not modelled by this version");
    if (letters.find('/') != std::string::npos) fail("headroom: hybrid-layer-pattern: multi-token prediction beside a hybrid stack (the letters behind /) is not modelled by this version");
    const auto count = static_cast<std::int64_t>(letters.size() - static_cast<std::size_t>(std::count(letters.begin(), letters.end(), '|')));
    if (const auto stated = v_->number("num-layers", count); stated != count && given(v_->all(), "hybrid-override-pattern"))
      fail("headroom: num-layers must be the letters of hybrid-override-pattern, " + std::to_string(count) + "; found " + std::to_string(stated));
    return count;
  }
  /// core/models/hybrid/hybrid_layer_specs.py hybrid_stack_spec; core/ssm/mamba_mixer.py MambaMixer.
  void hybrid(json_value& m, std::int64_t hidden) {
    const auto* spec = v_->take("spec");
    const auto named = spec == nullptr ? std::string{} : spec->dump();
    if (spec != nullptr && named.find("mamba_stack_spec") == std::string::npos && named.find("hybrid_stack_spec") == std::string::npos)
      fail("headroom: spec must be mamba_stack_spec or hybrid_stack_spec, found " + named);
    auto letters = hybrid_letters(*v_);
    std::erase(letters, '|');
    m["pattern"] = letters;
    v_->on("is-hybrid-model");
    const auto width = v_->number("mamba-head-dim", 64);
    m["ssm"] = {{"heads", v_->number("mamba-num-heads", std::max<std::int64_t>(1, 2 * hidden / width))}, {"head_dim", width}, {"state", v_->number("mamba-state-dim", 128)},
                {"groups", v_->number("mamba-num-groups", 8)}, {"conv", 4}, {"chunk", 128}, {"conv_bias", true}};
  }
  /// core/models/bert/bert_model.py; examples/bert/pretrain_bert.py.
  void bert(json_value& m) {
    const bool pairs = !v_->on("bert-no-binary-head");
    m.update({{"bidirectional", true}, {"head", "masked-language"}, {"pooler", pairs}});
    if (pairs) m.update({{"token_types", 2}, {"classes", 2}});
  }
  void positions(json_value& m) {
    auto kind = v_->word("position-embedding-type", "learned_absolute");
    if (kind == "rotary") kind = "rope";  // the words of forks
    if (kind == "absolute") kind = "learned_absolute";
    const bool rotates = v_->on("use-rotary-position-embeddings");
    const bool latent = v_->on("multi-latent-attention");
    if (v_->on("no-position-embedding") && kind == "learned_absolute") kind = "none";
    if (rotates || (latent && kind != "learned_absolute")) kind = "rope";
    const bool alibi = kind == "alibi" && d_->framework_is("megatron-deepspeed");  // BLOOM's fork alone
    if (alibi) m["position"] = kind;
    if (alibi) return;
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
    const bool pieces = program_ == megatron_program::bert || program_ == megatron_program::t5;
    if (padded == 0 && pieces) {
      word_pieces(m, tokenizer);
    } else if (padded > 0) {
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
  /// BERT's vocabularies by the names of Google's files (github.com/google-research/bert), and ids that T5 adds for what it leaves out.
  void word_pieces(json_value& m, std::string_view tokenizer) {
    const auto file = v_->word_now("vocab-file");
    const auto more = v_->number("vocab-extra-ids", 0, 0);
    const bool cased = file.ends_with("bert-large-cased-vocab.txt") || file.ends_with("bert-base-cased-vocab.txt");
    const bool uncased = file.ends_with("bert-large-uncased-vocab.txt") || file.ends_with("bert-base-uncased-vocab.txt");
    if (cased || uncased) {
      m["vocab"] = (cased ? 28'996 : 30'522) + more;
    } else {
      d_->awaits_vocabulary = draft::said{(tokenizer.empty() ? std::string{"the file of words"} : "tokenizer-type " + in_quotes(std::string{tokenizer})) + " decides how large the vocabulary is",
                                          v_->place(v_->has("vocab-file") ? "vocab-file" : "tokenizer-type")};
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
  megatron_program program_;
};

}  // namespace headroom::io::detail
