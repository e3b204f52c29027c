// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments as a job: those that a neutral key of a job says, with Megatron's defaults (megatron/training/arguments.py).
// All others are options of the framework and read by io/options/megatron.hpp.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/megatron_layout.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io {

namespace detail {

class megatron_arguments {
 public:
  megatron_arguments(draft& d, const document& from) : d_(&d), v_(from, most) {}

  void import() {
    if (!v_.all().is_object()) wrong_value("Megatron's arguments", "an object", v_.all());
    const auto everything = v_.source();
    d_->framework_is("megatron", everything);
    model();
    parallel();
    training();
    formats();
    options();
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 40;

  /// Says a key of the job, from the argument that gave it.
  void say(std::initializer_list<std::string_view> path, const json_value& value, std::string_view key) { d_->say(path, value, v_.place(key)); }

  void model() {
    if (!v_.has("num-layers") && !v_.has("hidden-size")) return;
    for (const auto* key : {"num-layers", "hidden-size", "num-attention-heads"})
      if (v_.take(key) == nullptr) fail("headroom: " + std::string{key} + " is required: these arguments describe a model");
    const auto layers = v_.number("num-layers", 0), hidden = v_.number("hidden-size", 0), heads = v_.number("num-attention-heads", 0);
    const bool gated = v_.on("swiglu"), squared = v_.on("squared-relu"), no_bias = v_.on("disable-bias-linear");
    const auto ffn = v_.number("ffn-hidden-size", gated ? hidden * 4 * 2 / 3 / 64 * 64 : checked::mul(4, hidden));
    const bool grouped = v_.on("group-query-attention");
    const auto groups = v_.number("num-query-groups", grouped ? 1 : heads);
    const auto norm = v_.word("normalization", "LayerNorm");
    if (norm != "LayerNorm" && norm != "RMSNorm") wrong_value("normalization", "\"LayerNorm\" or \"RMSNorm\"", norm);
    json_value m = {{"layers", layers},
                    {"hidden", hidden},
                    {"heads", heads},
                    {"kv_heads", grouped ? groups : heads},
                    {"head_dim", v_.number("kv-channels", std::max<std::int64_t>(1, hidden / heads))},
                    {"ffn", ffn},
                    {"mlp", gated ? "gated" : "plain"},
                    {"activation", gated ? "silu" : squared ? "relu2" : "gelu"},
                    {"norm", norm == "RMSNorm" ? "rmsnorm" : "layernorm"},
                    {"norm_bias", norm == "LayerNorm"},
                    {"attention_bias", !no_bias || v_.on("add-qkv-bias")},
                    {"output_bias", !no_bias},
                    {"mlp_bias", !no_bias},
                    {"vocab_multiple", v_.number("make-vocab-size-divisible-by", 128)},
                    {"tied", !v_.on("untie-embeddings-and-output-weights")},
                    {"qk_norm", v_.on("qk-layernorm")}};
    positions(m);
    vocabulary(m);
    if (const auto n = v_.number("mtp-num-layers", 0, 0); n > 0) m["mtp_layers"] = n;
    if (v_.on("multi-latent-attention"))
      m["mla"] = {{"q_rank", v_.number("q-lora-rank", 0)}, {"kv_rank", v_.number("kv-lora-rank", 32)}, {"nope_dim", v_.number("qk-head-dim", 128)},
                  {"rope_dim", v_.number("qk-pos-emb-head-dim", 64)}, {"value_dim", v_.number("v-head-dim", 128)}};
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
    auto kind = v_.word("position-embedding-type", "learned_absolute");
    if (v_.on("use-rotary-position-embeddings") || v_.on("multi-latent-attention")) kind = kind == "learned_absolute" && !v_.on("use-rotary-position-embeddings") ? kind : "rope";
    v_.on("no-position-embedding");  // before position-embedding-type there was this
    if (kind != "learned_absolute" && kind != "rope" && kind != "none") fail("headroom: position-embedding-type " + in_quotes(kind) + " is not modelled by this version; accepted: learned_absolute, rope, none");
    m["position"] = kind == "learned_absolute" ? "learned" : kind;
    // What an argument says as a part of one, a job says in steps of 1 %.
    if (const auto part = v_.share("rotary-percent", 1.0); kind == "rope" && part < 1.0) m["rotary_fraction"] = std::round(part * 100.0) / 100.0;
    if (const auto n = v_.number("max-position-embeddings", 0); n > 0) m["max_positions"] = n;
  }
  /// The tokenizer decides the vocabulary where the arguments do not.
  void vocabulary(json_value& m) {
    const auto stated = v_.number("vocab-size", 0);
    const auto tokenizer = v_.word("tokenizer-type", "");
    if (stated > 0)
      m["vocab"] = tokenizer == "NullTokenizer" ? stated + 1 : stated;  // and one for the end of a document (tokenizer.py)
    else if (tokenizer.empty() || tokenizer == "GPT2BPETokenizer")
      m["vocab"] = 50257;
  }
  void experts(json_value& m, std::int64_t layers, std::int64_t ffn) {
    const auto count = v_.number("num-experts", 0);
    const auto wide = v_.number("moe-ffn-hidden-size", ffn), active = v_.number("moe-router-topk", 2), shared = v_.number("moe-shared-expert-intermediate-size", 0);
    const bool bias = v_.on("moe-router-enable-expert-bias");
    const auto* frequency = v_.take("moe-layer-freq");
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
    const auto tensor = v_.number("tensor-model-parallel-size", 1), pipeline = v_.number("pipeline-model-parallel-size", 1), context = v_.number("context-parallel-size", 1);
    say({"parallel", "tensor"}, tensor, "tensor-model-parallel-size");
    say({"parallel", "pipeline"}, pipeline, "pipeline-model-parallel-size");
    say({"parallel", "context"}, context, "context-parallel-size");
    say({"parallel", "sequence"}, v_.on("sequence-parallel") && tensor > 1, "sequence-parallel");
    const auto expert = v_.number("expert-model-parallel-size", 1), expert_tensor = v_.number("expert-tensor-parallel-size", tensor);
    say({"parallel", "expert"}, expert, "expert-model-parallel-size");
    if (v_.has("num-experts")) say({"parallel", "expert_tensor"}, expert_tensor, "expert-tensor-parallel-size");
    for (const auto& [key, neutral] : {std::pair{"decoder-first-pipeline-num-layers", "first_stage_layers"}, {"decoder-last-pipeline-num-layers", "last_stage_layers"}})
      if (const auto n = v_.number(key, 0); n > 0) say({"parallel", neutral}, n, key);
    if (const auto n = v_.number("num-distributed-optimizer-instances", 1); n > 1) say({"parallel", "replicate"}, n, "num-distributed-optimizer-instances");
    chunks(pipeline);
  }
  void chunks(std::int64_t pipeline) {
    if (const auto* layout = v_.take("pipeline-model-parallel-layout")) {
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
    const auto each = v_.number("num-layers-per-virtual-pipeline-stage", 0), stages = v_.number("num-virtual-stages-per-pipeline-rank", 0);
    // The embedding and the loss may count as a layer each (core/transformer/transformer_block.py, get_num_layers_to_build).
    const bool embedding = v_.on("account-for-embedding-in-pipeline-split"), loss = v_.on("account-for-loss-in-pipeline-split");
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
    const bool distributed = v_.on("use-distributed-optimizer"), fsdp = v_.has("use-megatron-fsdp");
    if (!fsdp) d_->replace("sharding", distributed ? "megatron-distributed-optimizer" : "ddp", v_.place("use-distributed-optimizer"));
    say({"batch", "micro"}, v_.number("micro-batch-size", 1), "micro-batch-size");
    if (v_.take("seq-length") != nullptr) say({"batch", "sequence"}, v_.number("seq-length", 0), "seq-length");
    if (v_.take("global-batch-size") != nullptr) d_->know(d_->global_batch, "global-batch-size", v_.number("global-batch-size", 0), v_.place("global-batch-size"));

    auto granularity = v_.word("recompute-granularity", v_.on("recompute-activations") ? "selective" : "none");
    json_value r = {{"mode", granularity}};
    if (const auto method = v_.word("recompute-method", ""); !method.empty()) r["method"] = method;
    if (const auto n = v_.number("recompute-num-layers", 0, 0); n > 0) r["layers"] = n;
    const auto modules = v_.word("recompute-modules", "");
    if (granularity == "selective") {
      r["modules"] = json_value::array();
      for_each_word(modules.empty() ? "core_attn" : std::string_view{modules}, [&](std::string_view m) { r["modules"].push_back(m); });
    }
    // The keys of a job say it with Megatron's words.
    read_recompute(granularity == "none" || granularity == "full" || granularity == "selective" ? r : r["mode"], "recompute-granularity");
    d_->replace("recompute", r, v_.place("recompute-granularity"));

    const auto backend = v_.word("attention-backend", "auto");
    const bool flash = v_.on("use-flash-attn");
    if (backend != "auto" && backend != "flash" && backend != "fused" && backend != "unfused" && backend != "local")
      fail("headroom: attention-backend " + in_quotes(backend) + " is unknown; accepted: auto, flash, fused, unfused, local");
    const bool local = v_.has("transformer-impl") && v_.all()["transformer-impl"] == "local";
    d_->replace("attention", backend == "flash" || (flash && backend == "auto") ? "flash" : backend == "unfused" || backend == "local" || local ? "eager" : "te", v_.place("attention-backend"));
    const auto hidden = v_.share("hidden-dropout", 0.1), attention = v_.share("attention-dropout", 0.1);
    d_->replace("dropout", json_value{{"hidden", hidden}, {"attention", attention}, {"embedding", hidden}}, v_.place("hidden-dropout"));
    const auto update = v_.word("optimizer", "adam");
    const auto* known = optimizer_called(optimizer_namer::megatron, update).is;
    if (known == nullptr) fail("headroom: optimizer " + in_quotes(update) + " is not modelled by this version; accepted: " + listed(optimizer_names_of(optimizer_namer::megatron)));
    d_->replace("optimizer", known->label.view(), v_.place("optimizer"));
  }

  /// bf16 is what the framework's profile says; gradients of fp16 weights are added up in fp16 unless asked otherwise.
  void formats() {
    const bool half = v_.on("fp16"), wide = v_.on("accumulate-allreduce-grads-in-fp32"), brain = v_.on("bf16");
    if (half && brain) fail("headroom: fp16 and bf16 must not both be given");
    if (half) {
      const auto* sums = wide ? "fp32" : "fp16";
      d_->replace("precision", json_value{{"parameters", "fp16"}, {"compute", "fp16"}, {"gradients", sums}, {"reduce", sums}, {"master", "fp32"}, {"state", "fp32"}}, v_.place("fp16"));
    } else if (!brain && !v_.has("fp8-format")) {
      d_->replace("precision", "fp32", v_.source());
    }
  }

  /// What is left: options that count, options that do not, and names that Megatron does not have.
  void options() {
    const auto among = [](const auto& names, const std::string& key) { return std::find(names.begin(), names.end(), key) != names.end(); };
    const bool fp8 = v_.has("fp8-format");
    auto& keep = d_->job["framework"];
    if (!keep.contains("options")) keep["options"] = json_value::object();
    for (const auto& [key, value] : v_.all().items()) {
      if (value.is_null() || (value.is_boolean() && !flag_at(value, key))) continue;
      const bool sizes = fp8 && (key == "hidden-size" || key == "bf16" || key == "fp16");
      if (!sizes && (v_.taken(key) || among(megatron_silent, key) || among(megatron_elsewhere, key))) continue;
      d_->say({"framework", "options", key}, value, v_.place(key));
    }
    // A command line that says nothing of it means allgather; only experts are dispatched.
    if (v_.has("num-experts") && !v_.has("moe-token-dispatcher-type")) d_->say({"framework", "options", "moe-token-dispatcher-type"}, "allgather", v_.source());
    if (keep["options"].empty()) keep.erase("options");
  }

  draft* d_;
  named_values v_;
};

}  // namespace detail

inline void import_megatron(draft& d, const document& from) {
  with_places(from, [&] { detail::megatron_arguments{d, from}.import(); });
}

}  // namespace headroom::io
