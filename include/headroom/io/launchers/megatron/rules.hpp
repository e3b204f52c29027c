// Distributed under the Boost Software License, Version 1.0.
// What becomes of Megatron-LM's arguments that say no key of a job: names of old are put in today's words, and what may change a step without
// being modelled is refused.
#pragma once

#include <headroom/io/launchers/import_environment.hpp>
#include <headroom/io/launchers/megatron/keys.hpp>
#include <headroom/io/launchers/megatron/programs.hpp>
#include <headroom/io/launchers/megatron/vision_arguments.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/options/megatron.hpp>

namespace headroom::io::detail {

/// Whether a flag is given, or a value that is not "no".
inline bool given(const json_value& arguments, std::string_view names) {
  for (const auto name : words_between_bars(names)) {
    const auto it = arguments.find(name);
    if (it != arguments.end() && !it->is_null() && *it != false) return true;
  }
  return false;
}

/// The same arguments by the names that they have today.
inline document in_todays_words(document d) {
  if (!d.root.is_object()) return d;
  for (const auto& r : megatron_renames) {
    const std::string before{r.before}, now{r.now};
    if (!r.value.empty() && d.root.contains(before) && !d.root[before].is_boolean()) wrong_value(before, "a name without a value", d.root[before]);
    if (!given(d.root, before) || d.root.contains(now)) continue;
    if (before == "activations-checkpoint-method") d.root["recompute-granularity"] = "full";
    d.root[now] = r.value.empty() ? d.root[before] : json_value(r.value);
    if (const auto line = d.lines.find(before); line != d.lines.end()) d.lines[now] = line->second;
  }
  return d;
}

/// yyyymm of the program that has these arguments: the job's version, or the last one that had an argument of old; 0 for today's.
inline std::int32_t megatron_date(draft& d, const document& from) {
  if (const auto* v = d.find({"framework", "version"}); v != nullptr && v->is_string()) return version_date(v->get_ref<const std::string&>());
  const megatron_old_argument* oldest = nullptr;
  for (const auto& a : megatron_old_arguments)
    if (given(from.root, a.name) && (oldest == nullptr || a.last < oldest->last)) oldest = &a;
  if (oldest == nullptr) {
    // e7b74a4b7e of 2024-04-03 changed the default of --transformer-impl.
    if (!given(from.root, "transformer-impl|attention-backend|use-legacy-models|spec"))
      d.notes.push_back(from.source + ": no argument says how old Megatron-LM is: it is taken to be today's, whose layers are TransformerEngine's unless --transformer-impl says otherwise; before 2024-04 they were its own (--set framework.version=YYYY-MM where it is older)");
    return 0;
  }
  const auto place = from.place(std::string{oldest->name});
  d.say({"framework", "version"}, oldest->last, place);
  d.notes.push_back(place + ": Megatron-LM has " + std::string{oldest->name} + " up to " + std::string{oldest->last} + ": it is taken to be of that time");
  return version_date(oldest->last);
}

class megatron_rules {
 public:
  /// `date`: yyyymm of the program, 0: today's.
  megatron_rules(draft& d, named_values& v, std::int32_t date, megatron_program program) : d_(&d), v_(&v), date_(date), program_(program) {}

  /// Refuses what is known not to be modelled, before other things can be found missing for its sake.
  void refuse() {
    refuse_mimo(*v_);
    if (program_ == megatron_program::vlm && date_ != 0 && date_ < 202503) fail("headroom: pretrain_vlm.py is modelled since 2025-03; the program is older (framework.version, or arguments that it no longer has)");
    for (const auto& [key, value] : v_->all().items())
      if (is_refused(key) && given(v_->all(), key)) d_->unmodelled_key(key, value, v_->place(key), among_words(megatron_forks_refused, key) ? "Megatron-DeepSpeed has it" : "");
    // Up to 2021-07 gradients had a buffer of their own where asked for, or in fp32, alone; without it they are copied together to be reduced
    // (arguments.py, model/distributed.py, allreduce_gradients, at 01fc083346).
    if (date_ != 0 && date_ < 202108 && given(v_->all(), "fp16") && !given(v_->all(), "use-contiguous-buffers-in-ddp|accumulate-allreduce-grads-in-fp32"))
      d_->unmodelled_key("use-contiguous-buffers-in-ddp", false, v_->place("fp16"), "as it was by default up to 2021-07, gradients are copied together to be reduced");
  }
  /// Options of the framework, and the rule for all that nothing read.
  void rest() {
    const bool fp8 = v_->has("fp8-format") || v_->has("fp4-format");
    for (const auto& [key, value] : v_->all().items()) {
      if (!given(v_->all(), key) || is_refused(key)) continue;
      if (key == "use-tp-pp-dp-mapping") {  // the order of ranks: tp-cp-ep-pp-dp instead of tp-cp-ep-dp-pp (initialize.py)
        d_->placement = draft::said{key, v_->place(key)};
        continue;
      }
      if (program_ == megatron_program::hybrid && key == "spec") continue;  // megatron_shape has read it
      const bool sizes = fp8 && (key == "hidden-size" || key == "bf16" || key == "fp16");
      const auto why = sizes ? key_rule::unknown : rule(key, value);
      if (key == "use-checkpoint-args" && why == key_rule::passed) shape_of_checkpoint();
      if (sizes || (why != key_rule::refused && is_option(key)))
        d_->say({"framework", "options", key}, value, v_->place(key));
      else if (why == key_rule::refused)
        d_->unmodelled_key(key, value, v_->place(key));
      else if (why == key_rule::unknown && !v_->taken(key) && !among(megatron_neutral, key))
        check_underscores(key), d_->unknown_key(key, v_->place(key), meant(key));
    }
  }
  /// Attention as Megatron's own layers write it, without TransformerEngine (core/transformer/dot_product_attention.py).
  [[nodiscard]] bool local_attention() const {
    const auto implementation = v_->word_now("transformer-impl"), backend = v_->word_now("attention-backend");
    const bool local = implementation == "local" || backend == "local" || (implementation.empty() && date_ != 0 && date_ < 202404);
    return local && backend != "flash" && !given(v_->all(), "use-flash-attn");
  }

 private:
  /// argparse takes --num-layers, and ends at --num_layers; a fork may define it so (epfLLM/Megatron-LLM megatron/arguments.py). Without it another job
  /// would be read: such a key is not passed over.
  void check_underscores(const std::string& key) const {
    const auto name = dashed(key);
    if (name == key || !(among(megatron_neutral, name) || is_option(name))) return;
    fail("headroom: " + v_->place(key) + ": Megatron-LM's argument is --" + name + ", and it ends at --" + key + ": write it with dashes (a fork that has it so has other defaults, too, and is not read by this version; --ignore does not pass over what decides the job)");
  }
  /// checkpointing.py, load_args_from_checkpoint: the model's shape and its dropout are those of the checkpoint that is loaded.
  void shape_of_checkpoint() const {
    if (!given(v_->all(), "load|pretrained-checkpoint")) return;
    const std::string what = "use-checkpoint-args takes the model's shape from the checkpoint: it is taken to be the one that is given here";
    d_->notes.push_back(v_->place("use-checkpoint-args") + ": " + what);
    d_->assumed.push_back(what);
  }
  template <class Names>
  static bool among(const Names& names, std::string_view key) {
    return std::find(names.begin(), names.end(), key) != names.end();
  }
  [[nodiscard]] bool is_refused(std::string_view key) const {
    if (program_ == megatron_program::hybrid && key == "disable-mamba-mem-eff-path") return true;  // keeps copies of its own, and the scan's decays
    if (program_ == megatron_program::vlm && among_words(megatron_vlm_refused, key)) return true;
    return !among_words(read_by(program_), key) && (among_words(megatron_refused, key) || among_words(megatron_forks_refused, key));
  }
  static bool is_option(std::string_view key) {
    return among(megatron_options_read, key) || std::any_of(std::begin(megatron_switches), std::end(megatron_switches), [&](const auto& s) { return s.option == key; });
  }

  [[nodiscard]] key_rule rule(std::string_view key, const json_value& value) const {
    if (among_words(read_by(program_), key) && key != "spec") return key_rule::passed;
    if (const auto listed = rule_of(megatron_passed, key, value); listed != key_rule::unknown) return listed;
    for (const auto& d : megatron_dependents)
      if (among_words(d.names, key)) return given(v_->all(), d.beside) && (d.off.empty() || !among_words(d.off, off_word(value))) ? key_rule::refused : key_rule::passed;
    for (const auto& r : megatron_renames)
      if (r.before == key) return key_rule::passed;
    for (const auto names : megatron_harmless)
      if (among_words(names, key)) return key_rule::passed;
    return special(key, value);
  }
  [[nodiscard]] key_rule special(std::string_view key, const json_value& value) const {
    const auto refused_if = [](bool yes) { return yes ? key_rule::refused : key_rule::passed; };
    if (key == "no-masked-softmax-fusion") return refused_if(local_attention());
    if (key == "attention-softmax-in-fp32" || key == "apply-query-key-layer-scaling") return refused_if(local_attention() && !fused_softmax());
    // Since 2025-01-03 (079dc66c6b) norms are taken of the optimizer's weights; before, of an fp32 copy of all.
    if (key == "log-params-norm") return refused_if(date_ != 0 && date_ < 202501);
    if (key == "eval-micro-batch-size") return refused_if(count_at(value, std::string{key}, 1, std::int64_t{1} << 40) > number_now("micro-batch-size", 1));
    if (key == "use-nccl-ub") return given(v_->all(), "use-megatron-fsdp") ? key_rule::unknown : key_rule::refused;
    if (key == "use-legacy-models") return refused_if(!as_in_the_core());
    if (key == "use-checkpoint-args") return refused_if(!given(v_->all(), "num-layers") || !given(v_->all(), "hidden-size") || !given(v_->all(), "num-attention-heads"));
    if (key == "sgd-momentum") return refused_if(v_->word_now("optimizer") == "sgd" && off_word(value) != "0.9");
    if (key == "tokenizer-special-tokens") return refused_if(v_->word_now("tokenizer-type").empty() || v_->word_now("tokenizer-type") == "GPT2BPETokenizer");
    if (key == "transformer-impl") return value == "local" || value == "transformer_engine" ? key_rule::unknown : key_rule::refused;
    return key_rule::unknown;
  }
  /// megatron/legacy/model/{language_model,transformer,bert_model}.py keep what the core's layers keep, tensor by tensor: both come from one text, which the core
  /// carried on, and TransformerEngine's TransformerLayer is made of the modules that the core takes one by one. Flash attention without it, experts, gates,
  /// rotary embedding and RMSNorm are others there.
  [[nodiscard]] bool as_in_the_core() const {
    const auto position = v_->word_now("position-embedding-type"), norm = v_->word_now("normalization");
    return (program_ == megatron_program::gpt || program_ == megatron_program::bert) && (position.empty() || position == "learned_absolute") && (norm.empty() || norm == "LayerNorm") && number_now("context-parallel-size", 1) == 1 &&
           !given(v_->all(), "use-flash-attn|num-experts|swiglu|squared-relu|quick-geglu|openai-gelu|group-query-attention|multi-latent-attention|qk-layernorm|use-rotary-position-embeddings|num-query-groups|fp8-format|fp4-format|mtp-num-layers|use-megatron-fsdp|use-custom-fsdp");
  }
  /// Whether scale, mask and softmax are one kernel, which keeps no copy in fp32 (core/fusions/fused_softmax.py, is_kernel_available).
  [[nodiscard]] bool fused_softmax() const {
    if (!given(v_->all(), "bf16|fp16")) return true;  // in fp32 there is nothing to convert
    if (program_ == megatron_program::t5) {  // of each stack, and from one to the other
      const auto read = number_now("encoder-seq-length", 1), written = number_now("decoder-seq-length", 1);
      if (read <= 16 || read > 4096 || read % 4 != 0 || written <= 16 || written % 4 != 0) return false;
    }
    const auto tokens = number_now(program_ == megatron_program::t5 ? "decoder-seq-length" : "seq-length", 1);
    const auto rows = checked::mul(number_now("micro-batch-size", 1), number_now("num-attention-heads", 1)) / std::max<std::int64_t>(1, number_now("tensor-model-parallel-size", 1));
    return tokens > 16 && tokens <= 4096 && tokens % 4 == 0 && rows % 4 == 0;
  }
  [[nodiscard]] std::int64_t number_now(std::string_view key, std::int64_t otherwise) const {
    const auto it = v_->all().find(key);
    return it != v_->all().end() && it->is_number_integer() ? it->get<std::int64_t>() : otherwise;
  }
  [[nodiscard]] std::string_view meant(const std::string& key) const {
    auto all = v_->taken();
    const auto add = [&](std::string_view names) {
      for (const auto name : words_between_bars(names)) all.push_back(name);
    };
    all.insert(all.end(), megatron_neutral.begin(), megatron_neutral.end());
    all.insert(all.end(), megatron_options_read.begin(), megatron_options_read.end());
    for (const auto& s : megatron_switches) all.push_back(s.option);
    for (const auto names : megatron_harmless) add(names);
    add(megatron_refused);
    return closest(key, all);
  }

  draft* d_;
  named_values* v_;
  std::int32_t date_;
  megatron_program program_;
};

}  // namespace headroom::io::detail
