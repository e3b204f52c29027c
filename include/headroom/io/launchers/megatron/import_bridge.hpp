// Distributed under the Boost Software License, Version 1.0.
// Megatron-Bridge's commands that start a recipe by its name: run_recipe.py --recipe NAME KEY=VALUE … (NVIDIA-NeMo/Megatron-Bridge 067f987d
// scripts/training/{run_recipe,recipe_runner}.py), as the arguments of Megatron's own that they stand for.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/megatron/bridge_recipes.hpp>
#include <headroom/io/launchers/megatron/import.hpp>
#include <headroom/io/launchers/nested_values.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace headroom::io::detail {

inline constexpr std::string_view bridge_scripts = "training/run_recipe.py";

class bridge_run {
 public:
  bridge_run(draft& d, std::span<const shell_word> words, std::string source) : d_(&d), source_(std::move(source)), begin_(words.empty() ? 1 : words[0].line) { take(words); }

  void import() {
    row_ = recipe();
    sizes();
    for (const auto& [key, s] : settings_)
      if (!read_.contains(key) && !among_words(bridge_passed, key) && !among_words(bridge_passed, key.substr(0, key.find('.')))) d_->unmodelled_key(key, s.value, at(s.line), "of Megatron-Bridge's settings");
    model();
    arguments();
    d_->say({"environment", "allocator", "expandable_segments"}, true, place_);  // recipes/utils/environment_utils.py COMMON_RECIPE_ENV_VARS
    import_megatron(*d_, to_, megatron_program::gpt, false);
  }

 private:
  struct setting {
    json_value value;
    int line{};
  };
  [[nodiscard]] std::string at(int line) const { return source_ + ":" + std::to_string(line); }
  [[nodiscard]] bool says(std::string_view word) const { return among_words(row_.says, word); }

  /// Options and KEY=VALUE. Each of the former that stands for a key of the configuration gives way to it (COMMON_OVERRIDE_FIELDS).
  void take(std::span<const shell_word> words) {
    constexpr auto options = std::to_array<std::array<std::string_view, 3>>({
        {"max_steps", "ms", "train.train_iters"}, {"global_batch_size", "gb", "train.global_batch_size"}, {"micro_batch_size", "mb", "train.micro_batch_size"}, {"seq_length", "sl", "dataset.seq_length"},
        {"tensor_model_parallel_size", "tp", "model.tensor_model_parallel_size"}, {"pipeline_model_parallel_size", "pp", "model.pipeline_model_parallel_size"}, {"context_parallel_size", "cp", "model.context_parallel_size"},
        {"virtual_pipeline_model_parallel_size", "vp", "model.virtual_pipeline_model_parallel_size"}, {"expert_model_parallel_size", "ep", "model.expert_model_parallel_size"},
        {"expert_tensor_parallel_size", "etp", "model.expert_tensor_parallel_size"}, {"lr", "", "optimizer.lr"}, {"min_lr", "", "optimizer.min_lr"}, {"warmup_iters", "", "scheduler.lr_warmup_iters"},
        {"pretrained_checkpoint", "", "checkpoint.pretrained_checkpoint"}, {"save_dir", "", "checkpoint.save"}, {"load_dir", "", "checkpoint.load"}, {"save_interval", "", "checkpoint.save_interval"},
        {"recipe", "", "recipe"}, {"model", "", "model"}, {"mode", "", "mode"}, {"dataset", "", "dataset"}, {"step-func", "", "step"}, {"step_func", "", "step"},
    });
    std::map<std::string, setting, std::less<>> last;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto& w = words[i];
      if (w.text == "--dry-run" || w.text == "--dry_run") fail("headroom: " + at(w.line) + ": " + w.text + " trains nothing");
      if (w.text == "--dump-env" || w.text == "--dump_env") continue;
      if (w.text == "--deterministic") d_->unmodelled_key("deterministic", true, at(w.line), "of Megatron-Bridge's");
      if (w.text == "--deterministic") continue;
      if (!w.text.starts_with('-')) {
        if (w.text.find('=') == std::string::npos) fail("headroom: " + at(w.line) + ": " + in_quotes(w.shown()) + " is no KEY=VALUE of Megatron-Bridge's");
        put(last, w.text.substr(w.text.find_first_not_of("+~"), w.text.find('=') - w.text.find_first_not_of("+~")), {w.text.substr(w.text.find('=') + 1), w.line});
        continue;
      }
      const auto equals = w.text.find('=');
      const auto name = w.text.substr(0, equals);
      const auto it = std::find_if(options.begin(), options.end(), [&](const auto& o) { return name == "--" + std::string{o[0]} || (!o[1].empty() && name == "-" + std::string{o[1]}); });
      if (it == options.end()) d_->unknown_key(w.shown(), at(w.line));
      if (it == options.end()) continue;
      if (equals == std::string::npos && i + 1 == words.size()) fail("headroom: " + at(w.line) + ": " + name + " has no value");
      put(settings_, std::string{(*it)[2]}, equals == std::string::npos ? words[++i] : shell_word{w.text.substr(equals + 1), w.line});
    }
    for (auto& [key, s] : last) settings_[key] = std::move(s);
  }
  void put(std::map<std::string, setting, std::less<>>& to, const std::string& key, const shell_word& w) const {
    if (!w.known() && !among_words(bridge_passed, key) && !among_words(bridge_passed, key.substr(0, key.find('.'))))
      fail("headroom: " + at(w.line) + ": " + key + " is " + in_quotes(w.shown()) + ", which the file itself does not say: add --env NAME=VALUE");
    to[key] = {yaml_word(w.shown()), w.line};
  }

  const json_value* find(const std::string& key) {
    read_.insert(key);
    const auto it = settings_.find(key);
    return it == settings_.end() || it->second.value.is_null() ? nullptr : &it->second.value;
  }
  std::int64_t number(const std::string& key, std::int64_t otherwise) {
    const auto* v = find(key);
    return v == nullptr ? otherwise : whole_at(*v, key, 1, std::int64_t{1} << 31);
  }
  std::string word(const std::string& key) {
    const auto* v = find(key);
    return v == nullptr ? std::string{} : string_at(*v, key);
  }

  /// --model and --mode stand for a name (_selected_recipe_name).
  bridge_recipe recipe() {
    auto name = word("recipe");
    const auto mode = word("mode"), stem = word("model");
    if (name.empty() && stem.empty()) fail("headroom: " + at(begin_) + ": run_recipe.py needs --recipe, or --model and --mode");
    const auto task = mode == "lora" || mode == "dora" ? std::string{"peft"} : mode;
    if (name.empty()) name = stem + "_" + task + "_config";
    for (const auto* key : {"recipe", "model"})
      if (settings_.contains(key)) place_ = at(settings_.at(key).line);
    if (!task.empty() && name.find("_" + task + "_") == std::string::npos) fail("headroom: " + place_ + ": --mode " + mode + " and the recipe " + in_quotes(name) + " are for different trainings, and run_recipe.py ends");
    if (const auto step = word("step"); !step.empty() && step != "gpt_step" && step != "llm_step") d_->unmodelled_key("step-func", step, place_, "of Megatron-Bridge's");
    for (const auto& r : bridge_recipes)
      if (among_words(r.names, name)) {
        const auto data = word("dataset");
        if (!data.empty() && (among_words(r.says, "packed") || (data != "mock" && data != "megatron-indexed"))) d_->unmodelled_key("dataset", data, place_, "a recipe's own samples are, mock and megatron-indexed of a training from scratch");
        return r;
      }
    fail("headroom: " + place_ + ": the recipe " + in_quotes(name) + " of Megatron-Bridge is not read: read are pretraining and SFT of Llama 2 to 3.2, Qwen 2, 2.5 and 3 without experts, in bf16, as recipes/llama and recipes/qwen have them (llama32_1b_pretrain_config, …); write a job file with framework {\"name\": \"megatron\", \"version\": \"Megatron-Bridge\"}");
  }

  /// What the command may change of a row. The dataset's length is the model's, too (sync_model_dataset_sequence_length).
  void sizes() {
    row_.tensor = number("model.tensor_model_parallel_size", row_.tensor), row_.pipeline = number("model.pipeline_model_parallel_size", row_.pipeline);
    row_.context = number("model.context_parallel_size", row_.context);
    if (const auto it = settings_.find("model.virtual_pipeline_model_parallel_size"); it != settings_.end()) row_.chunks = number(it->first, 1);
    row_.length = number("dataset.seq_length", row_.length), row_.micro = number("train.micro_batch_size", row_.micro), row_.global = number("train.global_batch_size", row_.global);
    if (const auto* v = find("model.sequence_parallel")) row_.sequence_parallel = truth(*v, "model.sequence_parallel");
    find("model.seq_length");
    if (says("packed") && row_.micro > 1) fail("headroom: " + place_ + ": packed samples go with train.micro_batch_size 1, and Megatron-Bridge ends with another");
    for (const auto& [key, s] : settings_)
      if (key.starts_with("tokenizer.")) read_.insert(key);  // where a checkpoint is fine-tuned its rows stay
  }

  /// The model's own rows where it is fine-tuned; else its tokenizer's, padded for the degree of tensor parallelism.
  void model() {
    say_model(*d_, std::string{row_.model}, place_);
    if (d_->find({"model"}) == nullptr || says("packed")) return;
    auto m = model_of(*d_);
    m.vocab = bridge_null_tokens;
    m.vocab_multiple = 128;  // models/conversion/model_bridge.py make_vocab_size_divisible_by: of 32,000, 128,256, 151,936 and 152,064 rows alike
    auto& with = d_->job["model"] = written_keys(m);
    std::string other;
    for (const auto& [key, s] : settings_)
      if (key.starts_with("tokenizer.")) other = key;
    const bool own = says("tokenizer") || !other.empty();
    if (own) with.erase("vocab");
    if (own) d_->awaits_vocabulary = draft::said{(other.empty() ? "the tokenizer of " + std::string{row_.model} : other) + " decides how large the vocabulary is", place_};
    else d_->notes.push_back(place_ + ": the model has the 32000 rows of the recipe's NullTokenizer, not those of its checkpoint (--set model.vocab=N)");
  }

  void arguments() {
    const auto set = [&](const char* key, json_value value) { to_.root[key] = std::move(value), to_.elsewhere[key] = place_; };
    to_.source = source_;
    to_.root = json_value::object();
    set("transformer-impl", "transformer_engine");  // models/gpt_provider.py default_layer_spec
    set("bf16", true), set("hidden-dropout", 0.0), set("attention-dropout", 0.0);
    set("tensor-model-parallel-size", row_.tensor), set("pipeline-model-parallel-size", row_.pipeline), set("context-parallel-size", row_.context);
    if (row_.chunks > 1) set("num-virtual-stages-per-pipeline-rank", row_.chunks);
    if (row_.sequence_parallel) set("sequence-parallel", true);
    set("seq-length", row_.length), set("micro-batch-size", row_.micro), set("global-batch-size", row_.global);
    if (says("edges")) set("account-for-embedding-in-pipeline-split", true), set("account-for-loss-in-pipeline-split", true);
    if (says("te") || says("native")) set("cross-entropy-loss-fusion", true), set("cross-entropy-fusion-impl", says("te") ? "te" : "native");
    if (!says("replicated")) set("use-distributed-optimizer", true);
    if (says("overlap")) set("overlap-grad-reduce", true), set("overlap-param-gather", true);
    if (says("tp-overlap") && row_.tensor > 1 && row_.sequence_parallel) set("tp-comm-overlap", true);
    if (says("cp-a2a")) set("cp-comm-type", "a2a");
    if (says("packed")) {
      const std::string what = "documents lie one behind the other in rows of " + std::to_string(row_.length) + " tokens, which a kernel tells apart: time and memory are those of one sample as long";
      d_->notes.push_back(place_ + ": " + what);
      d_->assumed.push_back(what);
    }
    checkpoints(set);
  }
  void checkpoints(const auto& set) {
    auto how = says("full") ? std::string{"full"} : std::string{};
    if (settings_.contains("model.recompute_granularity")) how = word("model.recompute_granularity");
    const auto method = word("model.recompute_method");
    const auto each = number("model.recompute_num_layers", 1);
    const auto* modules = find("model.recompute_modules");
    if (how.empty()) return;
    set("recompute-granularity", how);
    if (how == "full" && method.empty() && !says("full")) fail("headroom: " + place_ + ": model.recompute_granularity full needs model.recompute_method and model.recompute_num_layers");
    if (how == "full") set("recompute-method", method.empty() ? "uniform" : method), set("recompute-num-layers", each);
    if (how != "selective" || modules == nullptr) return;
    std::string all;
    for (const auto& one : *modules) all += (all.empty() ? "" : " ") + string_at(one, "model.recompute_modules");
    set("recompute-modules", all);
  }

  draft* d_;
  std::string source_, place_;
  int begin_;
  std::map<std::string, setting, std::less<>> settings_;
  std::set<std::string, std::less<>> read_{"recipe", "model", "mode", "dataset", "step", "model.recompute_granularity", "model.recompute_method", "model.recompute_num_layers", "model.recompute_modules"};
  bridge_recipe row_{};
  document to_;
};

}  // namespace headroom::io::detail
