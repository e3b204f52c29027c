// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments as a job: those that a neutral key of a job says, with Megatron's defaults (megatron/training/arguments.py).
// All others are options of the framework and read by io/options/megatron.hpp.
#pragma once

#include <headroom/io/launchers/megatron_layout.hpp>
#include <headroom/io/launchers/arguments.hpp>

namespace headroom::io {

namespace detail {

class megatron_arguments {
 public:
  megatron_arguments(draft& d, const document& from) : d_(&d), from_(&from) {}

  void import() {
    if (!from_->root.is_object()) wrong_value("Megatron's arguments", "an object", from_->root);
    const auto everything = from_->source;
    d_->framework_is("megatron", everything);
    model();
    parallel();
    training();
    formats();
    options();
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 40;

  const json_value* take(std::string_view key) {
    taken_.insert(std::string{key});
    const auto it = from_->root.find(key);
    return it == from_->root.end() || it->is_null() ? nullptr : &*it;
  }
  bool on(std::string_view key) {
    const auto* v = take(key);
    return v != nullptr && flag_at(*v, std::string{key});
  }
  std::int64_t number(std::string_view key, std::int64_t otherwise, std::int64_t low = 1) {
    const auto* v = take(key);
    return v == nullptr ? otherwise : whole_at(*v, std::string{key}, low, most);
  }
  std::string word(std::string_view key, std::string_view otherwise) {
    const auto* v = take(key);
    return v == nullptr ? std::string{otherwise} : string_at(*v, std::string{key});
  }
  double share(std::string_view key, double otherwise) {
    const auto* v = take(key);
    return v == nullptr ? otherwise : number_at(*v, std::string{key}, 0.0, 1.0);
  }
  [[nodiscard]] std::string at(std::string_view key) const { return from_->place(std::string{key}); }
  /// Says a key of the job, from the argument that gave it.
  void say(std::initializer_list<std::string_view> path, const json_value& value, std::string_view key) { d_->say(path, value, at(key)); }

  void model() {
    if (!from_->root.contains("num-layers") && !from_->root.contains("hidden-size")) return;
    for (const auto* key : {"num-layers", "hidden-size", "num-attention-heads"})
      if (take(key) == nullptr) fail("headroom: " + std::string{key} + " is required: these arguments describe a model");
    const auto layers = number("num-layers", 0), hidden = number("hidden-size", 0), heads = number("num-attention-heads", 0);
    const bool gated = on("swiglu"), squared = on("squared-relu"), no_bias = on("disable-bias-linear");
    const auto ffn = number("ffn-hidden-size", gated ? hidden * 4 * 2 / 3 / 64 * 64 : checked::mul(4, hidden));
    const bool grouped = on("group-query-attention");
    const auto groups = number("num-query-groups", grouped ? 1 : heads);
    const auto norm = word("normalization", "LayerNorm");
    if (norm != "LayerNorm" && norm != "RMSNorm") wrong_value("normalization", "\"LayerNorm\" or \"RMSNorm\"", norm);
    json_value m = {{"layers", layers},
                    {"hidden", hidden},
                    {"heads", heads},
                    {"kv_heads", grouped ? groups : heads},
                    {"head_dim", number("kv-channels", std::max<std::int64_t>(1, hidden / heads))},
                    {"ffn", ffn},
                    {"mlp", gated ? "gated" : "plain"},
                    {"activation", gated ? "silu" : squared ? "relu2" : "gelu"},
                    {"norm", norm == "RMSNorm" ? "rmsnorm" : "layernorm"},
                    {"norm_bias", norm == "LayerNorm"},
                    {"attention_bias", !no_bias || on("add-qkv-bias")},
                    {"output_bias", !no_bias},
                    {"mlp_bias", !no_bias},
                    {"vocab_multiple", number("make-vocab-size-divisible-by", 128)},
                    {"tied", !on("untie-embeddings-and-output-weights")},
                    {"qk_norm", on("qk-layernorm")}};
    positions(m);
    vocabulary(m);
    if (const auto n = number("mtp-num-layers", 0, 0); n > 0) m["mtp_layers"] = n;
    if (on("multi-latent-attention"))
      m["mla"] = {{"q_rank", number("q-lora-rank", 0)}, {"kv_rank", number("kv-lora-rank", 32)}, {"nope_dim", number("qk-head-dim", 128)},
                  {"rope_dim", number("qk-pos-emb-head-dim", 64)}, {"value_dim", number("v-head-dim", 128)}};
    experts(m, layers, ffn);
    // --model says the whole; arguments beside it describe the same one.
    for (const auto& [key, value] : m.items()) say({"model", key}, value, argument_of(key));
  }
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
    auto kind = word("position-embedding-type", "learned_absolute");
    if (on("use-rotary-position-embeddings") || on("multi-latent-attention")) kind = kind == "learned_absolute" && !on("use-rotary-position-embeddings") ? kind : "rope";
    on("no-position-embedding");  // before position-embedding-type there was this
    if (kind != "learned_absolute" && kind != "rope" && kind != "none") fail("headroom: position-embedding-type " + in_quotes(kind) + " is not modelled by this version; accepted: learned_absolute, rope, none");
    m["position"] = kind == "learned_absolute" ? "learned" : kind;
    // What an argument says as a part of one, a job says in steps of 1 %.
    if (const auto part = share("rotary-percent", 1.0); kind == "rope" && part < 1.0) m["rotary_fraction"] = std::round(part * 100.0) / 100.0;
    if (const auto n = number("max-position-embeddings", 0); n > 0) m["max_positions"] = n;
  }
  /// The tokenizer decides the vocabulary where the arguments do not.
  void vocabulary(json_value& m) {
    const auto stated = number("vocab-size", 0);
    const auto tokenizer = word("tokenizer-type", "");
    if (stated > 0)
      m["vocab"] = tokenizer == "NullTokenizer" ? stated + 1 : stated;  // and one for the end of a document (tokenizer.py)
    else if (tokenizer.empty() || tokenizer == "GPT2BPETokenizer")
      m["vocab"] = 50257;
  }
  void experts(json_value& m, std::int64_t layers, std::int64_t ffn) {
    const auto count = number("num-experts", 0);
    const auto wide = number("moe-ffn-hidden-size", ffn), active = number("moe-router-topk", 2), shared = number("moe-shared-expert-intermediate-size", 0);
    const bool bias = on("moe-router-enable-expert-bias");
    const auto* frequency = take("moe-layer-freq");
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

  void parallel() {
    const auto tensor = number("tensor-model-parallel-size", 1), pipeline = number("pipeline-model-parallel-size", 1), context = number("context-parallel-size", 1);
    say({"parallel", "tensor"}, tensor, "tensor-model-parallel-size");
    say({"parallel", "pipeline"}, pipeline, "pipeline-model-parallel-size");
    say({"parallel", "context"}, context, "context-parallel-size");
    say({"parallel", "sequence"}, on("sequence-parallel") && tensor > 1, "sequence-parallel");
    const auto expert = number("expert-model-parallel-size", 1), expert_tensor = number("expert-tensor-parallel-size", tensor);
    say({"parallel", "expert"}, expert, "expert-model-parallel-size");
    if (from_->root.contains("num-experts")) say({"parallel", "expert_tensor"}, expert_tensor, "expert-tensor-parallel-size");
    for (const auto& [key, neutral] : {std::pair{"decoder-first-pipeline-num-layers", "first_stage_layers"}, {"decoder-last-pipeline-num-layers", "last_stage_layers"}})
      if (const auto n = number(key, 0); n > 0) say({"parallel", neutral}, n, key);
    if (const auto n = number("num-distributed-optimizer-instances", 1); n > 1) say({"parallel", "replicate"}, n, "num-distributed-optimizer-instances");
    chunks(pipeline);
  }
  void chunks(std::int64_t pipeline) {
    if (const auto* layout = take("pipeline-model-parallel-layout")) {
      std::string text;
      for (const char c : string_at(*layout, "pipeline-model-parallel-layout"))
        if (c != '\\') text += c;  // brackets may be kept from a shell
      const auto layers = layers_of_layout(text, "pipeline-model-parallel-layout");
      const auto n = static_cast<std::int64_t>(layers.size());
      if (n % pipeline != 0) fail("headroom: pipeline-model-parallel-layout must have a multiple of pipeline-model-parallel-size parts, found " + std::to_string(n));
      say({"parallel", "stage_layers"}, layers, "pipeline-model-parallel-layout");
      if (n > pipeline) say({"parallel", "virtual_pipeline"}, n / pipeline, "pipeline-model-parallel-layout");
      return;
    }
    const auto each = number("num-layers-per-virtual-pipeline-stage", 0), stages = number("num-virtual-stages-per-pipeline-rank", 0);
    // The embedding and the loss may count as a layer each (core/transformer/transformer_block.py, get_num_layers_to_build).
    const bool embedding = on("account-for-embedding-in-pipeline-split"), loss = on("account-for-loss-in-pipeline-split");
    if (pipeline == 1) return;
    if (stages > 1) say({"parallel", "virtual_pipeline"}, stages, "num-virtual-stages-per-pipeline-rank");
    if (each == 0 && !embedding && !loss) return;
    const auto* layers = d_->find({"model", "layers"});
    if (layers == nullptr) fail("headroom: num-layers is required beside " + std::string{each > 0 ? "num-layers-per-virtual-pipeline-stage" : "account-for-embedding-in-pipeline-split"});
    const auto all = whole_at(*layers, "num-layers", 1, most) + (embedding ? 1 : 0) + (loss ? 1 : 0);
    auto parts = pipeline * std::max<std::int64_t>(1, stages);
    if (each > 0) {
      if (all % checked::mul(each, pipeline) != 0) fail("headroom: num-layers-per-virtual-pipeline-stage must divide the layers of a pipeline stage, " + std::to_string(all) + " / " + std::to_string(pipeline));
      parts = all / each;
      if (parts > pipeline) say({"parallel", "virtual_pipeline"}, parts / pipeline, "num-layers-per-virtual-pipeline-stage");
    }
    if (!embedding && !loss) return;
    if (all % parts != 0 || parts > degrees::max_entries) fail("headroom: pipeline-model-parallel-size: " + std::to_string(all) + " layers, embedding and loss among them, must divide into " + std::to_string(parts) + " parts");
    std::vector<std::int64_t> list(static_cast<std::size_t>(parts), all / parts);
    list.front() -= embedding ? 1 : 0;
    list.back() -= loss ? 1 : 0;
    say({"parallel", "stage_layers"}, list, "account-for-embedding-in-pipeline-split");
  }

  void training() {
    const bool distributed = on("use-distributed-optimizer"), fsdp = from_->root.contains("use-megatron-fsdp");
    if (!fsdp) d_->replace("sharding", distributed ? "megatron-distributed-optimizer" : "ddp", at("use-distributed-optimizer"));
    say({"batch", "micro"}, number("micro-batch-size", 1), "micro-batch-size");
    if (take("seq-length") != nullptr) say({"batch", "sequence"}, number("seq-length", 0), "seq-length");
    if (take("global-batch-size") != nullptr) d_->know(d_->global_batch, "global-batch-size", number("global-batch-size", 0), at("global-batch-size"));

    auto granularity = word("recompute-granularity", on("recompute-activations") ? "selective" : "none");
    json_value r = {{"mode", granularity}};
    if (const auto method = word("recompute-method", ""); !method.empty()) r["method"] = method;
    if (const auto n = number("recompute-num-layers", 0, 0); n > 0) r["layers"] = n;
    const auto modules = word("recompute-modules", "");
    if (granularity == "selective") {
      r["modules"] = json_value::array();
      for_each_word(modules.empty() ? "core_attn" : std::string_view{modules}, [&](std::string_view m) { r["modules"].push_back(m); });
    }
    // The keys of a job say it with Megatron's words.
    read_recompute(granularity == "none" || granularity == "full" || granularity == "selective" ? r : r["mode"], "recompute-granularity");
    d_->replace("recompute", r, at("recompute-granularity"));

    const auto backend = word("attention-backend", "auto");
    const bool flash = on("use-flash-attn");
    if (backend != "auto" && backend != "flash" && backend != "fused" && backend != "unfused" && backend != "local")
      fail("headroom: attention-backend " + in_quotes(backend) + " is unknown; accepted: auto, flash, fused, unfused, local");
    const bool local = from_->root.contains("transformer-impl") && from_->root["transformer-impl"] == "local";
    d_->replace("attention", backend == "flash" || (flash && backend == "auto") ? "flash" : backend == "unfused" || backend == "local" || local ? "eager" : "te", at("attention-backend"));
    const auto hidden = share("hidden-dropout", 0.1), attention = share("attention-dropout", 0.1);
    d_->replace("dropout", json_value{{"hidden", hidden}, {"attention", attention}, {"embedding", hidden}}, at("hidden-dropout"));
    const auto update = word("optimizer", "adam");
    if (update == "adam" || update == "sgd" || update == "lion")
      d_->replace("optimizer", update == "adam" ? "adamw" : update == "sgd" ? "sgd-momentum" : "lion", at("optimizer"));
    else if (update == "muon" || update == "dist_muon")
      d_->replace("optimizer", "muon", at("optimizer"));
    else
      fail("headroom: optimizer " + in_quotes(update) + " is not modelled by this version; accepted: adam, sgd, lion, muon");
  }

  /// bf16 is what the framework's profile says; gradients of fp16 weights are added up in fp16 unless asked otherwise.
  void formats() {
    const bool half = on("fp16"), wide = on("accumulate-allreduce-grads-in-fp32"), brain = on("bf16");
    if (half && brain) fail("headroom: fp16 and bf16 must not both be given");
    if (half) {
      const auto* sums = wide ? "fp32" : "fp16";
      d_->replace("precision", json_value{{"parameters", "fp16"}, {"compute", "fp16"}, {"gradients", sums}, {"reduce", sums}, {"master", "fp32"}, {"state", "fp32"}}, at("fp16"));
    } else if (!brain && !from_->root.contains("fp8-format")) {
      d_->replace("precision", "fp32", from_->source);
    }
  }

  /// What is left: options that count, options that do not, and names that Megatron does not have.
  void options() {
    const auto among = [](const auto& names, const std::string& key) { return std::find(names.begin(), names.end(), key) != names.end(); };
    const bool fp8 = from_->root.contains("fp8-format");
    auto& keep = d_->job["framework"];
    if (!keep.contains("options")) keep["options"] = json_value::object();
    for (const auto& [key, value] : from_->root.items()) {
      if (value.is_null() || (value.is_boolean() && !flag_at(value, key))) continue;
      const bool sizes = fp8 && (key == "hidden-size" || key == "bf16" || key == "fp16");
      if (!sizes && (taken_.contains(key) || among(megatron_silent, key) || among(megatron_elsewhere, key))) continue;
      d_->say({"framework", "options", key}, value, from_->place(key));
    }
    // A command line that says nothing of it means allgather; only experts are dispatched.
    if (from_->root.contains("num-experts") && !from_->root.contains("moe-token-dispatcher-type")) d_->say({"framework", "options", "moe-token-dispatcher-type"}, "allgather", from_->source);
    if (keep["options"].empty()) keep.erase("options");
  }

  draft* d_;
  const document* from_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace detail

inline void import_megatron(draft& d, const document& from) {
  with_places(from, [&] { detail::megatron_arguments{d, from}.import(); });
}

/// Megatron's arguments as YAML: names with their dashes at top level or under MODEL_ARGS, the environment under ENV_VARS
/// (tests/functional_tests/test_cases/*/model_config.yaml).
inline document megatron_yaml(const document& from) {
  document d{.source = from.source, .root = json_value::object(), .lines = {}};
  const bool nested = from.root.contains("MODEL_ARGS");
  const auto& all = nested ? from.root["MODEL_ARGS"] : from.root;
  with_places(from, [&] {
    if (!all.is_object()) wrong_value("MODEL_ARGS", "an object", all);
    for (const auto& [key, value] : all.items()) {
      if (!key.starts_with("--")) {
        if (nested) fail("headroom: " + joined("MODEL_ARGS", key) + " must begin with two dashes");
        continue;
      }
      const auto name = key.substr(2);
      d.root[name] = value.is_string() ? typed(value.get<std::string>()) : value;
      const auto place = from.lines.find(nested ? "MODEL_ARGS." + key : key);
      if (place != from.lines.end()) d.lines[name] = place->second;
    }
  });
  return d;
}

}  // namespace headroom::io
