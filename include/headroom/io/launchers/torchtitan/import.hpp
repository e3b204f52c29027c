// Distributed under the Boost Software License, Version 1.0.
// torchtitan's configuration (TOML) as a job, in the keys of 2024 and of 2025 (torchtitan/config/job_config.py, config_manager.py;
// run_train.sh). What has no neutral key is an option and read by io/options/torchtitan.hpp.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/torchtitan/effect.hpp>
#include <headroom/io/launchers/torchtitan/stages.hpp>

#include <list>

namespace headroom::io {

namespace detail {

class torchtitan_config {
 public:
  torchtitan_config(draft& d, const document& from) : d_(&d), from_(&from), k_(from.root, "") {}

  void import() {
    d_->framework_is("torchtitan", from_->source);
    dated();
    model();
    parallel();
    training();
    formats();
    checkpointing();
    updates();
    compiled();
    k_.finish();
    for (auto& s : sections_) s.second.finish();
  }

 private:
  /// The release whose names the keys are.
  void dated() {
    const auto has = [&](const char* in, const char* key) { return from_->root.contains(in) && from_->root[in].is_object() && from_->root[in].contains(key); };
    old_ = has("training", "batch_size");
    oldest_ = has("training", "data_parallel_shard_degree") || has("training", "data_parallel_degree") || has("training", "tensor_parallel_degree") || (!from_->root.contains("parallelism") && old_);
    if (!d_->has({"framework", "version"})) d_->say({"framework", "version"}, oldest_ ? "2024-12" : old_ ? "2025-05" : "2025-09", from_->source);
  }
  key_reader* section(const std::string& name) {
    for (auto& s : sections_)
      if (s.first == name) return &s.second;
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return nullptr;
    const auto* v = k_.take(names_.emplace_back(name));
    if (v == nullptr) return nullptr;
    return &sections_.emplace_back(name, key_reader{*v, name}).second;
  }
  /// The value of the first, newest, of several names of one key, "section.key".
  const json_value* take(std::initializer_list<std::string_view> names) {
    const json_value* found = nullptr;
    older_.clear();
    for (const auto n : names) {
      const auto dot = n.find('.');
      auto* s = section(std::string{n.substr(0, dot)});
      if (s == nullptr) continue;
      const auto* v = s->take(n.substr(dot + 1));
      if (v == nullptr) continue;
      if (found != nullptr) {
        if (*found != *v) d_->notes.push_back(at(std::string{n}) + ": " + std::string{n} + " is not read beside " + path_ + ", the newer name of the same key");
        older_.emplace_back(n, v);
        continue;
      }
      found = v;
      path_ = std::string{n};
    }
    return found;
  }
  std::int64_t number(std::initializer_list<std::string_view> names, std::int64_t otherwise, std::int64_t low = 1) {
    const auto* v = take(names);
    for (const auto& [path, value] : older_) count_at(*value, std::string{path}, low, std::int64_t{1} << 31);
    return v == nullptr ? otherwise : count_at(*v, path_, low, std::int64_t{1} << 31);
  }
  bool flag(std::initializer_list<std::string_view> names, bool otherwise = false) {
    const auto* v = take(names);
    return v == nullptr ? otherwise : flag_at(*v, path_);
  }
  std::string word(std::initializer_list<std::string_view> names, std::string_view otherwise) {
    const auto* v = take(names);
    return v == nullptr || v->is_null() ? std::string{otherwise} : string_at(*v, path_);
  }
  [[nodiscard]] std::string at(const std::string& key) const { return from_->place(key); }
  void option(const char* key, const json_value& value, const std::string& said) { d_->say({"framework", "options", key}, value, at(said)); }

  void model() {
    const auto family = word({"model.name"}, "llama3");
    auto flavor = word({"model.flavor"}, "debugmodel");
    if (const auto* list = take({"model.converters"})) each_at(*list, path_, "a list of names", [&](const json_value& v, const std::string& path) { converter(string_at(v, path)); });
    if (!from_->root.contains("model")) return;
    std::string lower;
    for (const char c : flavor) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    // The sizes that torchtitan/models/*/__init__.py has under these names.
    const auto name = family == "llama3" ? "llama-3.1-" + lower : family == "qwen3" ? "qwen3-" + lower : family == "deepseek_v3" && lower == "671b" ? std::string{"deepseek-v3"} : std::string{};
    say_model(*d_, name.empty() ? family + " " + flavor : name, at("model.flavor"));
  }
  void converter(const std::string& name) {
    if (name == "float8" || name == "quantize.linear.float8")
      fp8_ = "tensorwise";
    else if (name == "mx" || name == "quantize.linear.mx")
      fp8_ = "mxfp8";
    else
      fail("headroom: model.converters " + in_quotes(name) + " is not modelled by this version; accepted: float8, mx, quantize.linear.float8, quantize.linear.mx");
  }

  void parallel() {
    const auto replicate = number({"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"}, 1);
    auto shard = number({"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree", "training.data_parallel_degree"}, -1, -1);
    const auto place = from_->root.contains("parallelism") ? at("parallelism") : at("training");
    const auto tensor = number({"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"}, 1);
    pipeline_ = number({"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree", "training.pipeline_parallel_degree"}, 1);
    const auto context = number({"parallelism.context_parallel_degree", "experimental.context_parallel_degree"}, 1);
    const auto expert = number({"parallelism.expert_parallel_degree"}, 1);
    const auto expert_tensor = number({"parallelism.expert_tensor_parallel_degree"}, 1);
    if (shard == 0) fail("headroom: parallelism.data_parallel_shard_degree must be -1 or at least 1, found 0");
    d_->say({"parallel"}, {{"tensor", tensor}, {"sequence", tensor > 1}, {"pipeline", pipeline_}, {"context", context}, {"expert", expert}}, place);
    if (expert_tensor > 1) d_->say({"parallel", "expert_tensor"}, expert_tensor, place);
    if (replicate > 1) d_->say({"parallel", "replicate"}, replicate, place);
    if (shard > 0) {
      d_->say({"parallel", "data"}, checked::mul(replicate, shard), place);
      if (!d_->gpus && !d_->has({"hardware", "nodes"}) && !d_->has({"hardware", "gpus_per_node"})) d_->know(d_->gpus, "GPUs", checked::mul(checked::mul(replicate, shard, tensor), pipeline_, context), place);
    }
    sharded_ = shard != 1 || context > 1;
    const auto again = word({"parallelism.fsdp_reshard_after_forward", "training.fsdp_reshard_after_forward"}, "default");
    if (again != "default" && again != "always" && again != "never") wrong_value("parallelism.fsdp_reshard_after_forward", "\"default\", \"always\" or \"never\"", again);
    const bool keeps = again == "never" || (again == "default" && pipeline_ > 1);
    d_->replace("sharding", sharded_ ? json_value{{"kind", "fsdp2"}, {"stage", 3}, {"reshard_after_forward", !keeps}} : json_value(replicate > 1 ? "ddp" : "none"), place);
    if (const auto* v = take({"parallelism.disable_loss_parallel", "training.disable_loss_parallel"}))
      option("disable_loss_parallel", flag_at(*v, path_), path_);
    else if (const auto* old = take({"training.enable_loss_parallel"}))
      option("disable_loss_parallel", !flag_at(*old, path_), path_);
    else if (tensor > 1)
      option("disable_loss_parallel", false, "parallelism");
    if (const auto* v = take({"parallelism.enable_async_tensor_parallel", "experimental.enable_async_tensor_parallel"})) option("enable_async_tensor_parallel", flag_at(*v, path_), path_);
    const auto rotate = word({"parallelism.context_parallel_rotate_method", "experimental.context_parallel_rotate_method"}, "allgather");
    if (context > 1) option("context_parallel_rotate_method", rotate, path_);
    schedule();
  }
  void schedule() {
    const auto name = word({"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"}, "1F1B");
    const auto said = path_;
    micro_ = number({"parallelism.pipeline_parallel_microbatch_size"}, 1);
    parts_ = number({"parallelism.pipeline_parallel_microbatches", "experimental.pipeline_parallel_microbatches"}, 0, 0);
    draft::stage_rule rule{.place = at(from_->root.contains("parallelism") ? "parallelism" : "experimental")};
    rule.per_stage = number({"parallelism.pipeline_parallel_layers_per_stage"}, 0);
    rule.first = number({"parallelism.pipeline_parallel_first_stage_less_layers"}, 1, 0);
    rule.last = number({"parallelism.pipeline_parallel_last_stage_less_layers"}, 1, 0);
    for (const auto* key : {"parallelism.pipeline_parallel_split_points", "experimental.pipeline_parallel_split_points"})
      if (const auto* v = take({key}); v != nullptr && !v->is_null() && !v->empty()) read_split_points(rule, *v, path_);
    if (const auto* v = take({"parallelism.module_fqns_per_model_part"}); v != nullptr && !v->is_null() && !v->empty()) read_model_parts(rule, *v, path_);
    for (const auto* key : {"parallelism.pipeline_parallel_schedule_csv", "experimental.pipeline_parallel_schedule_csv"})
      if (const auto* v = take({key}); v != nullptr && v->is_string() && !v->get_ref<const std::string&>().empty()) fail("headroom: " + path_ + " is not read by this version");
    if (pipeline_ == 1) return;
    for (const auto& s : schedules) {
      if (s.torch.empty() || s.torch != name) continue;
      d_->say({"parallel", "schedule"}, s.name, at(said));
      const std::int64_t chunks = s.chunks == 0 ? 2 : s.chunks;
      if (chunks > 1) d_->say({"parallel", "virtual_pipeline"}, chunks, at(said));
      rule.looped = chunks > 1;
      d_->stages = rule;
      return;
    }
    std::string accepted;
    for (const auto& s : schedules)
      if (!s.torch.empty()) accepted += (accepted.empty() ? "" : ", ") + std::string{s.torch};
    fail("headroom: " + said + " " + in_quotes(name) + " is not read by this version; accepted: " + accepted);
  }

  void training() {
    const auto local = number({"training.local_batch_size", "training.batch_size"}, 8);
    const auto place = at("training");
    if (pipeline_ > 1) {
      if (parts_ > 0 || oldest_) micro_ = std::max<std::int64_t>(1, local / (parts_ > 0 ? parts_ : pipeline_));
      if (local % micro_ != 0) fail("headroom: training.local_batch_size must be a multiple of the micro-batch of the pipeline, " + std::to_string(micro_));
      d_->say({"batch"}, {{"micro", micro_}, {"accumulation", local / micro_}}, place);
    } else {
      d_->say({"batch", "micro"}, local, place);
    }
    if (const auto* v = take({"training.global_batch_size"}); v != nullptr && *v != -1) d_->know(d_->global_batch, "global_batch_size", count_at(*v, path_, 1, std::int64_t{1} << 31), at(path_));
    d_->say({"batch", "sequence"}, number({"training.seq_len"}, 2048), place);
    if (flag({"training.enable_cpu_offload"})) d_->say({"offload"}, {{"parameters", "cpu"}, {"optimizer", "cpu"}}, at(path_));
    // Validation keeps nothing for backward; what is larger than training may be taller all the same.
    const auto* batch = take({"validation.local_batch_size"});
    const auto* length = take({"validation.seq_len"});
    if (!flag({"validation.enable"})) return;
    const auto larger = [&](const json_value* v, const char* path, std::int64_t than) {
      if (v != nullptr && count_at(*v, path, 1, std::int64_t{1} << 31) > than) d_->unmodelled_key(path, *v, at(path));
    };
    larger(batch, "validation.local_batch_size", local);
    larger(length, "validation.seq_len", number({"training.seq_len"}, 2048));
  }
  void formats() {
    const auto weights = word({"training.dtype"}, "float32"), compute = word({"training.mixed_precision_param"}, "bfloat16"), sums = word({"training.mixed_precision_reduce"}, "float32");
    const auto known = [](const std::string& path, const std::string& f) {
      if (f != "float32" && f != "bfloat16") wrong_value(path, "\"float32\" or \"bfloat16\"", f);
      return f == "float32" ? "fp32" : "bf16";
    };
    const auto* held = known("training.dtype", weights);
    const auto* computed = known("training.mixed_precision_param", compute);
    if (sums != "float32") wrong_value("training.mixed_precision_reduce", "\"float32\"", sums);
    float8();
    const auto in = fp8_.empty() ? computed : "fp8";
    const bool plain = std::string_view{held} == "fp32";
    if (!fp8_.empty() || !plain || std::string_view{computed} != "bf16" || !sharded_) {
      const bool autocast = !sharded_ && plain && std::string_view{computed} == "bf16" && fp8_.empty();  // distributed/utils.py, maybe_enable_amp
      d_->replace("precision", autocast ? json_value("bf16-autocast")
                                        : json_value{{"parameters", held}, {"compute", plain ? in : fp8_.empty() ? held : in}, {"gradients", held}, {"reduce", "fp32"}, {"master", "none"}, {"state", held}},
                  at("training"));
    }
  }
  void float8() {
    auto recipe = word({"float8.recipe_name"}, "");
    const auto said = path_;
    bool gathers = flag({"float8.enable_fsdp_float8_all_gather"});
    if (flag({"float8.enable_float8_linear"})) fp8_ = "tensorwise";
    if (const auto* v = k_.take("quantize")) {
      key_reader q{*v, "quantize"};
      if (const auto* linear = q.take("linear")) {
        key_reader l{*linear, "quantize.linear"};
        if (const auto* f = l.take("float8")) {
          key_reader inner{*f, "quantize.linear.float8"};
          inner.flag("enable_fsdp_float8_all_gather", gathers);
          if (const auto* r = inner.take("recipe_name")) recipe = string_at(*r, inner.at("recipe_name"));
          inner.finish();
        }
        l.finish();
      }
      q.finish();
    }
    if (fp8_.empty()) return;
    if (fp8_ != "mxfp8" && !recipe.empty()) fp8_ = recipe;
    option("float8", fp8_, said);
    if (fp8_ == "tensorwise") option("float8.enable_fsdp_float8_all_gather", gathers, said);
  }
  void checkpointing() {
    const auto mode = word({"activation_checkpoint.mode"}, "selective");
    const auto place = path_;
    const auto* option_said = take({"activation_checkpoint.selective_ac_option"});
    const auto every = option_said == nullptr ? std::string{"2"} : option_said->is_number() ? std::to_string(count_at(*option_said, path_, 1, 1 << 20)) : string_at(*option_said, path_);
    option("activation_checkpoint.mode", mode, place);
    if (mode == "selective") option("activation_checkpoint.selective_ac_option", every, place);
  }
  void updates() {
    const auto name = word({"optimizer.name"}, "AdamW");
    const auto* known = optimizer_called(optimizer_namer::torchtitan, name).is;
    if (known == nullptr)
      fail("headroom: optimizer.name " + in_quotes(name) + " is not modelled by this version; accepted: " + listed(optimizer_names_of(optimizer_namer::torchtitan)));
    auto how = word({"optimizer.implementation"}, "");
    if (const auto* fused = take({"optimizer.fused"})) how = flag_at(*fused, path_) ? "fused" : "foreach";
    if (how == "for-loop") how = "loop";
    json_value o = {{"name", known->label.view()}};
    if (!how.empty()) o["implementation"] = how;
    if (flag({"optimizer.early_step_in_backward"})) o["in_backward"] = true;
    d_->replace("optimizer", o.size() == 1 ? o["name"] : o, at("optimizer"));
  }
  void compiled() {
    const bool on = flag({"compile.enable", "training.compile"});
    const auto place = path_;
    const auto* parts = take({"compile.components"});
    const auto said = path_;
    if (on) d_->replace("compile", true, at(place));
    if (on && parts != nullptr) option("compile.components", *parts, said);
  }

  draft* d_;
  const document* from_;
  key_reader k_;
  std::vector<std::pair<std::string_view, const json_value*>> older_;  ///< what take() passed over for a newer name
  std::list<std::string> names_;  // readers keep views of keys
  std::list<std::pair<std::string, key_reader>> sections_;
  std::string path_;
  std::int64_t pipeline_{1}, micro_{1}, parts_{};
  bool sharded_{}, old_{}, oldest_{};
  std::string fp8_;
};

}  // namespace detail

inline void import_torchtitan(draft& d, const document& from) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("torchtitan's configuration", "an object", from.root);
    auto judged = from;
    detail::drop_without_effect(judged.root);
    detail::judge_keys(d, from, judged.root, "", detail::key_lists{detail::torchtitan_read, detail::torchtitan_passed});
    detail::drop_empty(judged.root);
    detail::torchtitan_config{d, judged}.import();
    d.torchtitan = from;
    std::erase(d.unread, file_kind::torchtitan);
  });
}

}  // namespace headroom::io
