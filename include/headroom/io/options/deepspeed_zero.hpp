// Distributed under the Boost Software License, Version 1.0.
// The zero_optimization object of a DeepSpeed configuration: every key of deepspeed/runtime/zero/config.py and
// offload_config.py, in both spellings. DeepSpeed forbids unknown keys here, and so does this.
#pragma once

#include <headroom/io/job/framework.hpp>
#include <headroom/io/job/layout.hpp>
#include <headroom/io/job/recipe.hpp>
#include <list>

namespace headroom::io::detail {

inline bool is_auto(const json_value& value) {
  return value.is_string() && *value.get_ptr<const json_value::string_t*>() == "auto";
}

/// What "auto" makes of a size: h² and so on where the Trainer fills it in, else DeepSpeed drops the key.
inline constexpr std::int64_t dropped = -1;

class zero_options {
 public:
  zero_options(job& j, const json_value& value, const std::string& path, const option_merger& merge)
      : j_(&j), k_(value, path), merge_(&merge) {}

  void apply() {
    auto& s = j_->sharding;
    const auto h = j_->model.hidden;
    std::int64_t stage = 0;
    k_.whole("stage", stage, {}, 0, 3);
    set_stage(*j_, *merge_, stage, k_.at("stage"));
    const bool third = stage == 3;
    size("reduce_bucket_size", s.reduce_bucket_size, checked::mul(h, h));
    size("allgather_bucket_size", s.allgather_bucket_size, dropped);
    size("sub_group_size", s.sub_group_size, dropped);
    // int(0.9 · h²), as the Trainer writes it, and only for stage 3.
    size3("prefetch_bucket_size", s.stage3_prefetch_bucket_size, third ? checked::mul(checked::mul(h, h), 9) / 10 : dropped);
    size3("param_persistence_threshold", s.stage3_param_persistence_threshold, third ? checked::mul(10, h) : dropped);
    size3("max_live_parameters", s.stage3_max_live_parameters, dropped);
    size3("max_reuse_distance", s.stage3_max_reuse_distance, dropped);
    flag("overlap_comm", s.overlap_comm);
    flag("contiguous_gradients", s.contiguous_gradients);
    flag("reduce_scatter", s.reduce_scatter);
    flag("round_robin_gradients", s.round_robin_gradients);
    size("zero_hpz_partition_size", s.zero_hpz_partition_size, dropped);
    if (const auto* v = k_.take("mics_shard_size"); v != nullptr && !is_auto(*v))
      if (const auto n = whole_at(*v, k_.at("mics_shard_size"), -1, most); n > 0)
        put(s.mics_shard_size, n, "mics_shard_size");
    offload_block("offload_optimizer", "cpu_offload", j_->offload.optimizer, "optimizer");
    offload_block("offload_param", "cpu_offload_param", j_->offload.parameters, "parameters");
    settle_pinning();
    unmodelled();
    ignored();
    k_.finish();
  }

  /// The kind and the stage, against what the job says itself.
  static void set_stage(job& j, const option_merger& merge, std::int64_t stage, const std::string& said) {
    auto& s = j.sharding;
    merge.set(s.kind, sharding_kind::zero, "sharding", "kind", said);
    merge.set(s.stage, stage, "sharding", "stage", said);
  }

 private:
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

  void put(std::int64_t& field, std::int64_t value, std::string_view key) {
    merge_->set(field, value, "sharding", key, k_.at(key));
  }

  void size(std::string_view key, std::int64_t& field, std::int64_t by_trainer) { size(key, field, by_trainer, key); }
  void size(std::string_view key, std::int64_t& field, std::int64_t by_trainer, std::string_view neutral) {
    const auto* v = k_.take(key);
    if (v == nullptr) return;
    const auto n = is_auto(*v) ? by_trainer : whole_at(*v, k_.at(key), 0, most);
    if (n != dropped) merge_->set(field, n, "sharding", neutral, k_.at(key));
  }
  /// Both spellings of a key; the prefixed one is the neutral key as well.
  void size3(std::string_view bare, std::int64_t& field, std::int64_t by_trainer) {
    const std::string& prefixed = names_.emplace_back("stage3_" + std::string{bare});
    if (k_.take(prefixed) != nullptr && k_.take(bare) != nullptr)
      fail("headroom: " + k_.at(bare) + " and " + prefixed + " are two names of one key; give one");
    size(prefixed, field, by_trainer, prefixed);
    size(bare, field, by_trainer, prefixed);
  }
  void flag(std::string_view key, choice& field) {
    const auto* v = k_.take(key);
    if (v == nullptr || is_auto(*v)) return;
    merge_->set(field, flag_at(*v, k_.at(key)) ? choice::yes : choice::no, "sharding", key, k_.at(key));
  }

  void offload_block(std::string_view key, std::string_view legacy, place& field, std::string_view neutral) {
    const auto* old = k_.take(legacy);
    const auto* v = k_.take(key);
    if (old != nullptr && v != nullptr)
      fail("headroom: " + k_.at(legacy) + " and " + std::string{key} + " must not both be given");
    if (old != nullptr) return legacy_offload(*old, k_.at(legacy), field, neutral);
    if (v == nullptr || v->is_null()) return;
    key_reader inner{*v, k_.at(key)};
    auto where = place::on_gpu;
    inner.word("device", where);
    merge_->set(field, where, "offload", neutral, inner.at("device"));
    bool pinned = false;
    inner.flag("pin_memory", pinned);
    if (where != place::on_gpu) {
      offloads_ = true;
      pinned_ = pinned_ || pinned;
    }
    auto& o = j_->offload;
    const bool states = neutral == "optimizer";
    inner.whole("buffer_count", states ? o.optimizer_buffer_count : o.parameter_buffer_count);
    if (states) {
      double ratio = 1.0;
      if (const auto* r = inner.take("ratio")) ratio = number_at(*r, inner.at("ratio"), 0.0, 1.0);
      if (ratio < 1.0)
        fail("headroom: " + inner.at("ratio") + " < 1 (part of the states on the GPU) is not modelled by this version");
    } else {
      inner.whole("buffer_size", o.parameter_buffer_size);
      inner.whole("max_in_cpu", o.max_in_cpu);
    }
    for (const auto other :
         {"nvme_path", "pipeline", "pipeline_read", "pipeline_write", "fast_init", "super_offload", "cpuadam_cores_perc"})
      inner.take(other);
    inner.finish();
  }
  void legacy_offload(const json_value& value, const std::string& path, place& field, std::string_view neutral) {
    if (value.is_null()) return;
    const bool on = flag_at(value, path);
    merge_->set(field, on ? place::on_cpu : place::on_gpu, "offload", neutral, path);
    offloads_ = offloads_ || on;
  }
  void settle_pinning() {
    if (const auto* v = k_.take("cpu_offload_use_pin_memory"); v != nullptr && !v->is_null())
      pinned_ = pinned_ || flag_at(*v, k_.at("cpu_offload_use_pin_memory"));
    if (offloads_)
      merge_->set(j_->offload.pin_memory, pinned_, "offload", "pin_memory",
                  k_.at("offload_optimizer.pin_memory"));  // DeepSpeed's default: no
  }

  /// ZeRO++'s quantised communication and the like.
  void unmodelled() {
    for (const auto key : {"zero_quantized_weights", "zero_quantized_gradients", "zero_quantized_nontrainable_weights",
                           "use_all_reduce_for_fetch_params"})
      if (const auto* v = k_.take(key); v != nullptr && !is_auto(*v) && flag_at(*v, k_.at(key)))
        fail("headroom: " + k_.at(key) + " = true is not modelled by this version");
  }
  void ignored() {
    for (const auto key :
         {"allgather_partitions", "load_from_fp32_weights", "elastic_checkpoint", "ignore_unused_parameters",
          "legacy_stage1", "memory_efficient_linear", "pipeline_loading_checkpoint", "override_module_apply",
          "use_multi_rank_bucket_allreduce", "mics_hierarchical_params_gather", "log_trace_cache_warnings",
          "module_granularity_threshold", "stage3_module_granularity_threshold", "model_persistence_threshold",
          "stage3_model_persistence_threshold", "gather_16bit_weights_on_model_save",
          "stage3_gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save",
          "gather_fp16_weights_on_model_save"})
      k_.take(key);
  }

  job* j_;
  key_reader k_;
  const option_merger* merge_;
  bool offloads_{};
  bool pinned_{};
  std::list<std::string> names_;  // the reader keeps views of the keys
};

/// An object, or the legacy `true`, which is stage 1. Absent: plain data parallelism, as with `false`.
inline void apply_zero(job& j, const json_value* value, const std::string& path, const option_merger& merge) {
  if (value == nullptr) return;
  if (value->is_boolean())
    return zero_options::set_stage(j, merge, *value->get_ptr<const json_value::boolean_t*>() ? 1 : 0, path);
  zero_options{j, *value, path, merge}.apply();
}

}  // namespace headroom::io::detail
