// Distributed under the Boost Software License, Version 1.0.
// GPT-NeoX: the YAML that deepy.py takes, in one file or several (EleutherAI/gpt-neox megatron/neox_arguments/arguments.py NeoXArgs.from_ymls,
// calculate_derived at ea7aefd8).
#pragma once

#include <headroom/io/launchers/gpt_neox/ages.hpp>
#include <headroom/io/launchers/gpt_neox/files.hpp>
#include <headroom/io/launchers/gpt_neox/keys.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/megatron/import_deepspeed.hpp>
#include <headroom/io/launchers/nested_values.hpp>

#include <cmath>

namespace headroom::io {

namespace detail {

/// Layers of each stage where GPT-NeoX counts what is named a transformer: its layers, and the functions before and after them, of which each counts as one
/// (deepspeed runtime/pipe/module.py _partition_layers with "type:transformer|mlp"; runtime/utils.py partition_balanced fills stage after stage).
inline std::vector<std::int64_t> gpt_neox_stages(std::int64_t layers, std::int64_t stages) {
  const auto all = layers + 2, most = (all + stages - 1) / stages;
  std::vector<std::int64_t> each;
  for (std::int64_t first = 0; first < all; first += most) {
    const auto last = std::min(all, first + most);
    each.push_back(last - first - (first == 0 ? 1 : 0) - (last == all ? 1 : 0));
  }
  return each;
}

class gpt_neox_config {
 public:
  gpt_neox_config(draft& d, const document& from, gpt_neox_age age) : d_(&d), k_(from), age_(std::move(age)) {}

  void import() {
    d_->framework_is("gpt-neox", k_.source());
    model();
    parallelism();
    batch();
    optimizer();
    kernels();
  }

 private:
  [[nodiscard]] std::int64_t needed(const std::string& key) const {
    if (k_.find(key) == nullptr) fail("headroom: " + k_.source() + ": " + key + " is required by GPT-NeoX, in this file or in another one that is given with it");
    return k_.number(key, 0);
  }
  void unmodelled(const std::string& key, std::string_view why) const {
    const auto* v = k_.find(key);
    d_->unmodelled_key(key, v == nullptr ? json_value{} : *v, k_.place(key), why);
  }

  void model() {
    const auto layers = needed("num_layers"), hidden = needed("hidden_size"), heads = needed("num_attention_heads");
    if (hidden % heads != 0) fail("headroom: " + k_.place("hidden_size") + ": hidden_size must be a multiple of num_attention_heads, " + std::to_string(heads));
    const auto position = k_.word("pos_emb", "learned");
    if (position != "rotary" && position != "learned" && position != "none") unmodelled("pos_emb", "read are rotary, learned and none");
    activation();
    if (!rms() && k_.word("norm", "layernorm") != "layernorm") unmodelled("norm", "read are layernorm and rmsnorm");
    const auto groups = k_.number("num_kv_heads", heads);
    if (heads % groups != 0) fail("headroom: " + k_.place("num_kv_heads") + ": num_kv_heads must divide num_attention_heads, " + std::to_string(heads));
    const bool attention_bias = k_.on("use_bias_in_attn_linear", true), mlp_bias = !llama() && k_.on("use_bias_in_mlp", true);
    json_value m = {{"layers", layers}, {"hidden", hidden}, {"heads", heads}, {"kv_heads", groups}, {"head_dim", hidden / heads}, {"ffn", ffn(hidden)}, {"mlp", gated() ? "gated" : "plain"},
                    {"activation", llama() || k_.word("activation") == "swiglu" ? "silu" : "gelu"}, {"norm", rms() ? "rmsnorm" : "layernorm"}, {"norm_bias", !rms()}, {"attention_bias", attention_bias}, {"output_bias", attention_bias}, {"mlp_bias", mlp_bias},
                    {"position", position == "rotary" ? "rope" : position}, {"tied", !k_.on("no_weight_tying")}, {"parallel_block", k_.on("gpt_j_residual")}, {"vocab_multiple", k_.number("make_vocab_size_divisible_by", 128)}};
    if (!mlp_bias && !gated()) unmodelled("use_bias_in_mlp", "GPT-NeoX adds it in front of GELU, and ends without it");
    if ((!mlp_bias || !attention_bias) && k_.on("gpt_j_residual")) unmodelled(mlp_bias ? "use_bias_in_attn_linear" : llama() ? "mlp_type" : "use_bias_in_mlp", "beside gpt_j_residual");
    const auto share = k_.share("rotary_pct", 1.0);
    if (position == "rotary" && share < 1.0) m["rotary_fraction"] = std::round(share * 100.0) / 100.0;
    if (const auto n = k_.number("max_position_embeddings", 0, 0); n > 0) m["max_positions"] = n;
    vocabulary(m);
    for (const auto& [key, value] : m.items()) d_->say({"model", key}, value, k_.place(key == "layers" ? "num_layers" : key == "vocab" ? "tokenizer_type" : "hidden_size"));
  }
  [[nodiscard]] bool rms() const { return k_.word("norm", "layernorm") == "rmsnorm"; }
  [[nodiscard]] bool llama() const { return k_.word("mlp_type") == "llama"; }
  [[nodiscard]] bool gated() const { return llama() || k_.word("activation") == "swiglu" || k_.word("activation") == "geglu"; }
  /// What an older GPT-NeoX makes of other keys beside mlp_type, or one that is gone, is another MLP.
  void activation() const {
    const auto name = k_.word("activation", "gelu");
    if (const auto type = k_.word("mlp_type", "regular"); type != "regular" && !llama()) unmodelled("mlp_type", "read are regular and llama");
    if (llama() && name != "silu") unmodelled("activation", "beside mlp_type llama read is silu");
    if (!gated() && name != "gelu") unmodelled("activation", "read are gelu, swiglu and geglu");
    if (!age_.before_gated_mlps()) return;
    if (gated() && !llama()) unmodelled("activation", "beside " + std::string{age_.by.name} + ", which GPT-NeoX has had no more since its SwiGLU and GEGLU of 2024-09-07");
    for (const auto* key : {"mlp_multiple_of", "use_bias_in_mlp", "expansion_factor", "intermediate_size"})
      if (k_.find(key) != nullptr && !(llama() && std::string_view{key} == "intermediate_size")) unmodelled(key, "beside " + std::string{age_.by.name} + ", which GPT-NeoX has had no more since its MLPs of 2024-09-07");
  }
  /// ParallelMLP: rounded up to twice a multiple behind the first matrix, to once in front of the second, which has to be the same. Gated, the first makes
  /// two thirds as many features as are asked for, of which half is the gate.
  [[nodiscard]] std::int64_t ffn(std::int64_t hidden) const {
    if (llama()) return k_.number("intermediate_size", checked::round_up(checked::mul(8, hidden) / 3, std::int64_t{256}));  // LLaMAParallelMLP
    auto width = k_.number("intermediate_size", checked::mul(4, hidden));
    if (const auto* v = k_.find("expansion_factor")) width = static_cast<std::int64_t>(number_at(*v, "expansion_factor", 0.0, 1e6) * static_cast<double>(hidden));
    const auto multiple = k_.number("mlp_multiple_of", 1);
    if (gated()) {
      const auto both = checked::mul(2, width) / 3;
      const auto one = checked::round_up(both, checked::mul(2, multiple)) / 2;
      if (one != checked::round_up(both / 2, multiple)) fail("headroom: " + k_.place("activation") + ": two thirds of the MLP's width, " + std::to_string(both) + ", are rounded up to " + std::to_string(2 * one) + " features of which " + std::to_string(one) + " are the gate, and the second matrix takes " + std::to_string(checked::round_up(both / 2, multiple)) + ": GPT-NeoX ends here; another intermediate_size or mlp_multiple_of fits");
      if (k_.find("intermediate_size") == nullptr) d_->notes.push_back(k_.place("activation") + ": without intermediate_size the gate and what it scales have " + std::to_string(one) + " features each, a third of 4 x hidden_size");
      return one;
    }
    if (width % checked::mul(2, multiple) != 0) fail("headroom: " + k_.place("mlp_multiple_of") + ": the MLP's width, " + std::to_string(width) + ", must be a multiple of twice mlp_multiple_of, or its two matrices do not fit together");
    return width;
  }
  /// EleutherAI's tokenizer of GPT-NeoX-20B and Pythia has 50,277 tokens (arXiv 2204.06745, section 2.1.4, and the models' padded rows, 50,304 = 393 x 128,
  /// 50,432 = 197 x 256 and 50,688 = 99 x 512).
  void vocabulary(json_value& m) const {
    const auto tokenizer = k_.word("tokenizer_type", "GPT2BPETokenizer");
    if (tokenizer == "GPT2BPETokenizer") {
      m["vocab"] = 50'257;
    } else if (k_.word("vocab_file").ends_with("20B_tokenizer.json")) {
      m["vocab"] = 50'277;
      d_->notes.push_back(k_.place("vocab_file") + ": the vocabulary is taken to be that of GPT-NeoX-20B's tokenizer, of 50277 tokens (--set model.vocab=N)");
    } else {
      d_->awaits_vocabulary = draft::said{"tokenizer_type " + in_quotes(tokenizer) + " decides how large the vocabulary is", k_.place("tokenizer_type")};
    }
  }

  void parallelism() {
    const auto stages = k_.number("pipe_parallel_size", 0, 0), tensor = k_.number("model_parallel_size", 1, 0);
    if (stages == 0) unmodelled("pipe_parallel_size", "0, its default, trains without DeepSpeed's pipeline; 1 is a pipeline of one stage");
    d_->say({"parallel", "tensor"}, std::max<std::int64_t>(1, tensor), k_.place("model_parallel_size"));
    d_->say({"parallel", "pipeline"}, std::max<std::int64_t>(1, stages), k_.place("pipe_parallel_size"));
    if (stages > 1) {
      if (k_.word("pipe_partition_method", "type:transformer|mlp") != "type:transformer|mlp") unmodelled("pipe_partition_method", "read is type:transformer|mlp");
      const auto each = gpt_neox_stages(needed("num_layers"), stages);
      if (static_cast<std::int64_t>(each.size()) != stages || each.front() < 1 || each.back() < 1) fail("headroom: " + k_.place("pipe_parallel_size") + ": so few layers leave a stage without any: fewer stages are modelled");
      d_->say({"parallel", "stage_layers"}, each, k_.place("pipe_parallel_size"));
    }
    if (const auto n = k_.number("num_nodes", -1, -1); n > 0) d_->say({"hardware", "nodes"}, n, k_.place("num_nodes"));
    if (const auto n = k_.number("num_gpus", -1, -1); n > 0) d_->say({"hardware", "gpus_per_node"}, n, k_.place("num_gpus"));
    if (const auto n = k_.number("global_num_gpus", 0, 0); n > 0) {
      d_->know(d_->gpus, "GPUs", n, k_.place("global_num_gpus"));
      if (n > 8 && !d_->open_nodes) d_->open_nodes = draft::said{std::to_string(n) + " GPUs without num_nodes or num_gpus lie on as many nodes as a hostfile lists", k_.place("global_num_gpus")};
    }
    if (k_.find("include") != nullptr) unmodelled("include", "--set hardware.nodes=N and hardware.gpus_per_node=N say what it says");
    const bool listed = k_.find("hostfile") != nullptr;  // nodes, and slots of each
    if (listed && !d_->has({"hardware", "nodes"})) d_->open_nodes = draft::said{"hostfile lists the nodes", k_.place("hostfile")};
    if (!d_->has({"hardware", "gpus_per_node"}) && !d_->gpus) d_->takes_all_gpus = draft::said{"deepy.py", listed ? k_.place("hostfile") : k_.source()};
  }

  void batch() {
    d_->say({"batch", "sequence"}, needed("seq_length"), k_.place("seq_length"));
    d_->say({"batch", "micro"}, needed("train_micro_batch_size_per_gpu"), k_.place("train_micro_batch_size_per_gpu"));
    const auto steps = k_.number("gradient_accumulation_steps", 1);
    if (const auto all = k_.number("train_batch_size", 0, 0); all > 0) {
      d_->know(d_->global_batch, "train_batch_size", all, k_.place("train_batch_size"));
      if (k_.find("gradient_accumulation_steps") != nullptr) d_->own_accumulation = draft::fact{steps, k_.place("gradient_accumulation_steps")};
    } else {
      d_->say({"batch", "accumulation"}, steps, k_.place("gradient_accumulation_steps"));
    }
    const auto hidden = k_.share("hidden_dropout", 0.0);
    d_->replace("dropout", {{"hidden", hidden}, {"attention", k_.share("attention_dropout", 0.0)}, {"embedding", hidden}}, k_.place("hidden_dropout"));
    const bool checkpoints = k_.on("checkpoint_activations");
    d_->replace("recompute", checkpoints ? "full" : "none", k_.place("checkpoint_activations"));
    if (checkpoints && k_.on("partition_activations")) d_->say({"framework", "options", "partition_activations"}, true, k_.place("partition_activations"));
  }

  /// Adam is apex's or DeepSpeed's fused one (megatron/training.py get_optimizer).
  void optimizer() {
    if (const auto name = k_.word("optimizer.type", "Adam"); name != "Adam" && name != "adam") unmodelled("optimizer.type", "read is Adam");
    d_->replace("optimizer", {{"name", "adamw"}, {"implementation", "fused"}}, k_.place("optimizer"));
    const auto stage = zero();
    const auto extra = k_.find("deepspeed_extra_args") == nullptr ? json_value::object() : *k_.find("deepspeed_extra_args");
    if (!extra.is_object()) wrong_value("deepspeed_extra_args", "an object", extra);
    for (const auto& [key, value] : extra.items())  // DeepSpeed's own keys: one logs collectives, one is of its launcher
      if (key != "comms_logger" && key != "ssh_port") d_->unmodelled_key("deepspeed_extra_args." + key, value, k_.place("deepspeed_extra_args"));
    // megatron/mpu/mappings.py casts what tensor-parallel ranks add up; DeepSpeed has not read the key since d14baad94 (2021-11-26).
    if (k_.on("fp32_allreduce") && (k_.number("model_parallel_size", 1, 0) > 1 || age_.before_deepspeed())) unmodelled("fp32_allreduce", "read is a model_parallel_size of 1, and no key that went before 2023-03-09");
    if (k_.on("fp16.enabled") && k_.word("fp16.type", "fp16") != "fp16") unmodelled("fp16.type", "it chose the precision before 2023-05-16, and says nothing since: precision does");
    const bool half = k_.on("fp16.enabled"), brain = k_.on("bf16.enabled");
    const auto said = k_.word("precision", half ? "fp16" : brain ? "bfloat16" : "fp32");
    if (said != "fp16" && said != "bfloat16") unmodelled("precision", "read are fp16 and bfloat16");
    if ((half && said != "fp16") || (brain && said != "bfloat16")) fail("headroom: " + k_.place("precision") + ": precision " + in_quotes(said) + " and the section of another format contradict each other");
    const auto wide = k_.word("data_types.grad_accum_dtype");
    if (!wide.empty() && wide != "fp32" && wide != (said == "fp16" ? "fp16" : "bf16")) unmodelled("data_types.grad_accum_dtype", "");
    if (said == "fp16" && wide == "fp32") unmodelled("data_types.grad_accum_dtype", "beside fp16");
    // deepspeed runtime/engine.py get_data_types, _do_optimizer_sanity_check, v0.8.0 to v0.9.5: as for Megatron-DeepSpeed.
    const bool sums = said == "bfloat16" && (wide == "fp32" || stage == 0);
    d_->replace("precision", fork_precision(said == "fp16" ? "fp16" : "bf16", sums ? "fp32" : said == "fp16" ? "fp16" : "bf16"), k_.place("precision"));
    if (said == "bfloat16" && stage == 0) d_->say({"sharding", "stage"}, 1, k_.place("precision"));  // BF16_Optimizer's own
  }
  std::int64_t zero() const {
    const auto* section = k_.find("zero_optimization");
    const auto place = k_.place("zero_optimization");
    json_value s = {{"kind", "zero"}, {"stage", 0}};
    if (section != nullptr) {
      if (!section->is_object()) wrong_value("zero_optimization", "an object", *section);
      for (const auto& [key, value] : section->items()) {
        if (key == "stage") s["stage"] = whole_at(value, "zero_optimization.stage", 0, 3);
        else if (key == "reduce_bucket_size") s[key] = whole_at(value, "zero_optimization.reduce_bucket_size", 1, std::int64_t{1} << 40);
        else if (key == "contiguous_gradients") s[key] = truth(value, "zero_optimization.contiguous_gradients");
        else if (const auto rule = rule_of(gpt_neox_zero_passed, key, value); rule == key_rule::refused || ((key == "offload_optimizer" || key == "offload_param") && value.is_object() && value.value("device", json_value("none")) != "none"))
          d_->unmodelled_key("zero_optimization." + key, value, place);
        else if (rule == key_rule::unknown && key != "offload_optimizer" && key != "offload_param") d_->unknown_key("zero_optimization." + key, place);
      }
    }
    if (s["stage"] > 1) d_->unmodelled_key("zero_optimization.stage", s["stage"], place, "DeepSpeed's pipeline goes with stages 0 and 1");
    if (s["stage"] == 1 && age_.before_deepspeed()) d_->unmodelled_key("zero_optimization.stage", s["stage"], place, "beside " + std::string{age_.by.name} + ", which GPT-NeoX had over DeeperSpeed 0.3.15 alone: its first stage is other code");  // runtime/zero/stage1.py
    d_->replace("sharding", s, place);
    return s["stage"].get<std::int64_t>();
  }

  /// attention_config lists [[kinds], repeats], of which all have to be alike; a fused kernel is used where its sizes allow it
  /// (megatron/model/fused_softmax.py is_kernel_available).
  void kernels() {
    bool flash = false, global = false;
    const auto* config = k_.find("attention_config");
    if (config != nullptr && !config->is_array()) wrong_value("attention_config", "a list of kinds and how often they stand", *config);
    if (config != nullptr)
      for (const auto& part : *config)
        for (const auto& kind : part.is_array() && !part.empty() && part[0].is_array() ? part[0] : json_value::array({part})) {
          flash = flash || kind == "flash";
          global = global || kind == "global";
          if (kind != "flash" && kind != "global") unmodelled("attention_config", "read are global and flash");
        }
    if (config != nullptr) check_length(*config);
    if (flash && age_.before_flash_2()) unmodelled("attention_config", "beside " + std::string{age_.by.name} + ", which GPT-NeoX had before flash-attention 2 alone");
    if (flash && global) unmodelled("attention_config", "of several kinds");
    d_->replace("attention", flash ? "flash" : "eager", k_.place("attention_config"));
    const auto tokens = needed("seq_length"), rows = checked::mul(needed("train_micro_batch_size_per_gpu"), needed("num_attention_heads")) / std::max<std::int64_t>(1, k_.number("model_parallel_size", 1, 0));
    if (k_.on("scaled_upper_triang_masked_softmax_fusion") && !flash && tokens > 16 && tokens <= 2048 && tokens % 4 == 0 && rows % 4 == 0)
      d_->say({"framework", "options", "scaled_upper_triang_masked_softmax_fusion"}, true, k_.place("scaled_upper_triang_masked_softmax_fusion"));
    if (k_.on("bias_gelu_fusion") && !gated()) d_->say({"framework", "options", "bias_gelu_fusion"}, true, k_.place("bias_gelu_fusion"));
    if (age_.old() && (rms() || llama())) {
      const std::string gone{age_.by.name};
      d_->say({"framework", "version"}, age_.version(), k_.place(gone));
      d_->notes.push_back(k_.place(gone) + ": GPT-NeoX has no " + gone + " any more; it is taken to be the last that had it, whose RMSNorm computes in 16 bits");
    } else if (rms() && !k_.on("rmsnorm_fusion")) d_->notes.push_back(k_.place("norm") + ": RMSNorm is taken to be that since 2025-05-09, which keeps fp32 copies; before, GPT-NeoX computed it in 16 bits and kept less");
    if (k_.on("rmsnorm_fusion") && rms()) d_->say({"framework", "options", "rmsnorm_fusion"}, true, k_.place("rmsnorm_fusion"));
    if (k_.on("use_flashattn_swiglu") && k_.word("activation") == "swiglu") unmodelled("use_flashattn_swiglu", "GPT-NeoX's own SwiGLU is");
  }

  /// As many kinds as layers (megatron/utils.py, expand_attention_types; neox_arguments/arguments.py, calculate_derived).
  void check_length(const json_value& config) const {
    const auto layers = needed("num_layers");
    std::int64_t listed = 0;
    for (const auto& part : config) {
      const bool repeats = part.is_array() && part.size() == 2 && part[0].is_array() && !part[0].empty();
      const auto each = repeats ? static_cast<std::int64_t>(part[0].size()) : 1;
      if (repeats && part[1] == "all") listed = layers % each == 0 ? layers : 0;
      else listed += repeats ? checked::mul(each, whole_at(part[1], "attention_config", 0, 1 << 20)) : 1;
    }
    if (listed != layers) fail("headroom: " + k_.place("attention_config") + ": attention_config lists " + std::to_string(listed) + " kinds, and GPT-NeoX ends where they are not as many as num_layers, " + std::to_string(layers));
  }

  draft* d_;
  nested_values k_;
  gpt_neox_age age_;
};

}  // namespace detail

/// Keeps a file until all are known: deepy.py joins those that it is given.
/// Errors: job_error for a key of which two files say different things.
inline void keep_gpt_neox(draft& d, const document& from) {
  const auto own = detail::with_underscores(from);
  if (!d.gpt_neox) {
    d.gpt_neox = own;
    return;
  }
  auto& whole = *d.gpt_neox;
  for (const auto& [key, value] : own.root.items()) {
    if (whole.root.contains(key) && whole.root[key] != value) fail("headroom: " + own.place(key) + ": " + key + " is another value in another file (" + whole.place(key) + ")");
    whole.root[key] = value;
  }
}

/// What the files say together.
inline void read_gpt_neox(draft& d) {
  if (!d.gpt_neox) return;
  const auto from = *std::exchange(d.gpt_neox, std::nullopt);
  with_places(from, [&] {
    auto judged = from;
    for (const auto* key : {"zero_optimization", "optimizer", "fp16", "bf16", "data_types"})
      if (judged.root.contains(key) && judged.root[key].is_null()) judged.root.erase(key);
    detail::judge_keys(d, from, judged.root, "", detail::key_lists{detail::gpt_neox_read, detail::gpt_neox_passed});
    detail::gpt_neox_config{d, judged, detail::age_of(from.root)}.import();
  });
}

}  // namespace headroom::io
