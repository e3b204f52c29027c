// Distributed under the Boost Software License, Version 1.0.
// nanotron: the YAML that run_train.py --config-file takes (huggingface/nanotron src/nanotron/config/config.py Config).
#pragma once

#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/nanotron/keys.hpp>
#include <headroom/io/launchers/nested_values.hpp>

namespace headroom::io {

namespace detail {

class nanotron_config {
 public:
  nanotron_config(draft& d, const document& from) : d_(&d), k_(from) {}

  void import() {
    d_->framework_is("nanotron", k_.source());
    model();
    parallelism();
    tokens();
    optimizer();
    d_->replace("attention", "flash", k_.source());
    d_->replace("loss", {{"kind", "vocab-parallel"}, {"logits", "fp32"}}, k_.source());
  }

 private:
  [[nodiscard]] std::int64_t needed(const std::string& path) const {
    if (k_.find(path) == nullptr) fail("headroom: " + k_.source() + ": " + path + " is required by nanotron");
    return k_.number(path, 0);
  }
  /// A default that LlamaConfig has; 0: null.
  [[nodiscard]] std::int64_t of_model(const char* key, std::int64_t otherwise) const { return k_.number(std::string{"model.model_config."} + key, otherwise); }

  /// models_config.py LlamaConfig. A configuration of another model has other keys.
  void model() {
    const std::string at = "model.model_config";
    const auto* config = k_.find(at);
    if (config == nullptr || !config->is_object()) fail("headroom: " + k_.source() + ": " + at + " must be a Llama's configuration");
    if (!k_.on(at + ".is_llama_config", false)) fail("headroom: " + k_.place(at) + ": " + at + " is of another model than Llama (is_llama_config is not true), which is not modelled for nanotron by this version");
    if (const auto act = k_.word(at + ".hidden_act", "silu"); act != "silu") fail("headroom: " + k_.place(at + ".hidden_act") + ": hidden_act " + in_quotes(act) + " is not modelled for nanotron by this version; accepted: silu");
    if (const auto kernel = k_.word(at + "._attn_implementation", "flash_attention_2"); kernel != "flash_attention_2")
      fail("headroom: " + k_.place(at) + ": _attn_implementation " + in_quotes(kernel) + " is not modelled for nanotron by this version; accepted: flash_attention_2");
    const auto heads = of_model("num_attention_heads", 32), hidden = of_model("hidden_size", 4096);
    if (hidden % heads != 0) fail("headroom: " + k_.place(at) + ": hidden_size must be a multiple of num_attention_heads, which nanotron asserts");
    d_->replace("model",
                {{"layers", of_model("num_hidden_layers", 32)}, {"hidden", hidden}, {"heads", heads}, {"kv_heads", of_model("num_key_value_heads", heads)}, {"head_dim", hidden / heads},
                 {"ffn", of_model("intermediate_size", 11008)}, {"mlp", "gated"}, {"activation", "silu"}, {"norm", "rmsnorm"}, {"position", "rope"}, {"max_positions", of_model("max_position_embeddings", 2048)},
                 {"vocab", of_model("vocab_size", 32000)}, {"vocab_multiple", k_.number("model.make_vocab_size_divisible_by", 1)}, {"tied", k_.on(at + ".tie_word_embeddings")}, {"fused_qkv", true}, {"fused_gate_up", true}},
                k_.place(at));
  }

  /// parallelism_config.py ParallelismArgs: all-forward-all-backward, all-reduce and synchronous communication by default.
  void parallelism() {
    const std::string at = "parallelism";
    const auto dp = needed("parallelism.dp"), pp = needed("parallelism.pp"), tp = needed("parallelism.tp");
    d_->know(d_->gpus, "GPUs", checked::mul(checked::mul(dp, pp), tp), k_.place(at));
    d_->say({"parallel", "data"}, dp, k_.place("parallelism.dp"));
    d_->say({"parallel", "tensor"}, tp, k_.place("parallelism.tp"));
    d_->say({"parallel", "pipeline"}, pp, k_.place("parallelism.pp"));
    const auto mode = lower("parallelism.tp_mode", "all_reduce"), engine = lower("parallelism.pp_engine", "afab");
    if (mode != "reduce_scatter" && mode != "all_reduce") fail("headroom: " + k_.place("parallelism.tp_mode") + ": tp_mode must be REDUCE_SCATTER or ALL_REDUCE, found " + in_quotes(mode));
    if (engine != "1f1b" && engine != "afab") fail("headroom: " + k_.place("parallelism.pp_engine") + ": pp_engine must be 1f1b or afab, found " + in_quotes(engine));
    d_->say({"parallel", "sequence"}, tp > 1 && mode == "reduce_scatter", k_.place("parallelism.tp_mode"));
    if (pp > 1) d_->say({"parallel", "schedule"}, engine == "1f1b" ? "1f1b" : "gpipe", k_.place("parallelism.pp_engine"));
    json_value options{{"tp_linear_async_communication", tp > 1 && k_.on("parallelism.tp_linear_async_communication")}};
    if (!k_.on("parallelism.tp_recompute_allgather", true)) options["tp_recompute_allgather"] = false;
    d_->say({"framework", "options"}, options, k_.place(at));
    const auto granularity = lower("parallelism.recompute_granularity", "");  // before 2024
    if (!granularity.empty() && granularity != "full") fail("headroom: " + k_.place("parallelism.recompute_granularity") + ": recompute_granularity " + in_quotes(granularity) + " is not modelled by this version; accepted: full");
    d_->replace("recompute", k_.on("parallelism.recompute_layer") || granularity == "full" ? "full" : "none", k_.place(at));
  }
  [[nodiscard]] std::string lower(const std::string& path, const char* otherwise) const {
    auto r = k_.word(path, otherwise);
    for (auto& c : r) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return r;
  }

  /// A stage of the data may have a length of its own: the longest counts.
  void tokens() {
    auto longest = needed("tokens.sequence_length");
    auto place = k_.place("tokens.sequence_length");
    if (const auto* stages = k_.find("data_stages"); stages != nullptr)
      each_at(*stages, "data_stages", "a list of stages", [&](const json_value& stage, const std::string&) {
        if (!stage.is_object() || !stage.contains("sequence_length") || stage["sequence_length"].is_null()) return;
        const auto n = count_at(stage["sequence_length"], "data_stages.sequence_length", 1, std::int64_t{1} << 31);
        if (n > longest) longest = n, place = k_.place("data_stages");
      });
    d_->say({"batch", "sequence"}, longest, place);
    d_->say({"batch", "micro"}, needed("tokens.micro_batch_size"), k_.place("tokens.micro_batch_size"));
    d_->say({"batch", "accumulation"}, needed("tokens.batch_accumulation_per_replica"), k_.place("tokens.batch_accumulation_per_replica"));
  }

  void optimizer() {
    const auto dtype = k_.word("model.dtype", "bfloat16");
    if (dtype != "bfloat16" && dtype != "float16") fail("headroom: " + k_.place("model.dtype") + ": dtype " + in_quotes(dtype) + " is not modelled for nanotron by this version; accepted: bfloat16, float16");
    if (!k_.on("optimizer.accumulate_grad_in_fp32"))
      d_->unmodelled_key("optimizer.accumulate_grad_in_fp32", "false", k_.place("optimizer.accumulate_grad_in_fp32"), "gradients are accumulated in 16 bits then");
    const auto* format = dtype == "bfloat16" ? "bf16" : "fp16";
    d_->replace("precision", {{"parameters", format}, {"compute", format}, {"gradients", "fp32"}, {"reduce", "fp32"}, {"master", "fp32"}, {"state", "fp32"}}, k_.place("model.dtype"));
    const auto name = lower("optimizer.optimizer_factory.name", "adamw");
    const auto place = k_.place("optimizer");
    if (name != "adamw" && name != "sgd") fail("headroom: " + place + ": optimizer_factory.name " + in_quotes(name) + " is none of nanotron's; accepted: adamW, sgd");
    const bool fused = k_.on("optimizer.optimizer_factory.torch_adam_is_fused", k_.on("optimizer.torch_adam_is_fused"));
    if (name == "adamw" && !fused) d_->unmodelled_key("optimizer.optimizer_factory.torch_adam_is_fused", "false", place, "a foreach update over fp32 masters");
    d_->replace("optimizer", name == "adamw" ? json_value{{"name", "adamw"}, {"implementation", "fused"}} : json_value("sgd"), place);
    const auto stage = k_.number("optimizer.zero_stage", 0, 0);
    if (stage > 1) fail("headroom: " + k_.place("optimizer.zero_stage") + ": zero_stage must be 0 or 1, found " + std::to_string(stage));
    const bool several = k_.number("parallelism.dp", 1) > 1;
    d_->replace("sharding", stage == 1 ? json_value{{"kind", "zero"}, {"stage", 1}} : json_value(several ? "ddp" : "none"), k_.place("optimizer.zero_stage"));
  }

  draft* d_;
  nested_values k_;
};

/// Whether an object is nanotron's configuration.
inline bool is_nanotron(const json_value& root) {
  const auto* config = value_at(root, "model.model_config");
  return root.contains("parallelism") && (config != nullptr || (root.contains("tokens") && root.contains("data_stages")));
}

}  // namespace detail

/// A configuration of nanotron's.
inline void import_nanotron(draft& d, const document& from) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("nanotron's configuration", "an object", from.root);
    auto judged = from;
    detail::judge_keys(d, from, judged.root, "", detail::key_lists{detail::nanotron_read, detail::nanotron_passed});
    detail::nanotron_config{d, judged}.import();
  });
}

}  // namespace headroom::io
