// Distributed under the Boost Software License, Version 1.0.
// The zero_optimization object of a DeepSpeed configuration: every key of deepspeed/runtime/zero/config.py and
// offload_config.py, in both spellings. DeepSpeed forbids unknown keys here, and so does this.
#pragma once

#include <headroom/io/job/framework.hpp>
#include <headroom/io/job/layout.hpp>
#include <headroom/io/job/recipe.hpp>
#include <headroom/io/options/deepspeed_keys.hpp>

namespace headroom::io::detail {

inline bool is_auto(const json_value& value) {
  return value.is_string() && *value.get_ptr<const json_value::string_t*>() == "auto";
}

/// What "auto" makes of a size: h² and so on where the Trainer fills it in, else DeepSpeed drops the key.
inline constexpr std::int64_t dropped = -1;

class zero_options {
 public:
  zero_options(job& j, const json_value& value, const std::string& path, const option_merger& merge)
      : j_(&j), value_(&value), k_(value, path), merge_(&merge) {}

  void apply() {
    auto& s = j_->sharding;
    std::int64_t stage = 0;
    k_.whole("stage", stage, {}, 0, 3);
    set_stage(*j_, *merge_, stage, k_.at("stage"));
    for (const auto& z : zero_sizes) size(z, s.*z.member, by_trainer(z.member, stage));
    for (const auto& z : zero_switches) flag(z.key, s.*z.member);
    offload_block("offload_optimizer", "cpu_offload", j_->offload.optimizer, "optimizer");
    offload_block("offload_param", "cpu_offload_param", j_->offload.parameters, "parameters");
    settle_pinning();
    pass_deepspeed(k_, *value_, "zero_optimization");
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

  /// What the Trainer writes for "auto" (transformers integrations/deepspeed.py trainer_config_finalize); the last two only for stage 3.
  [[nodiscard]] std::int64_t by_trainer(std::int64_t sharding::*member, std::int64_t stage) const {
    const auto h = j_->model.hidden;
    if (member == &sharding::reduce_bucket_size) return checked::mul(h, h);
    if (stage == 3 && member == &sharding::stage3_prefetch_bucket_size) return checked::mul(checked::mul(h, h), 9) / 10;  // int(0.9 · h²)
    if (stage == 3 && member == &sharding::stage3_param_persistence_threshold) return checked::mul(10, h);
    return dropped;
  }

  /// A size, in each of its spellings.
  void size(const zero_size& z, std::int64_t& field, std::int64_t automatic) {
    const auto bare = z.bare();
    if (!bare.empty() && k_.take(z.key) != nullptr && k_.take(bare) != nullptr)
      fail("headroom: " + k_.at(bare) + " and " + std::string{z.key} + " are two names of one key; give one");
    const bool may_be_off = z.member == &sharding::mics_shard_size;  // by -1
    for (const auto key : {z.key, bare}) {
      const auto* v = key.empty() ? nullptr : k_.take(key);
      if (v == nullptr) continue;
      const auto n = is_auto(*v) ? automatic : whole_at(*v, k_.at(key), may_be_off ? -1 : 0, most);
      if (n != dropped && !(may_be_off && n == 0)) merge_->set(field, n, "sharding", z.key, k_.at(key));
    }
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
    bool pinned = pinned_by_default();
    if (const auto* p = inner.take("pin_memory"); p != nullptr && !is_auto(*p)) pinned = flag_at(*p, inner.at("pin_memory"));
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
    pass_deepspeed(inner, *v, "zero_optimization." + std::string{key});
    inner.finish();
  }
  void legacy_offload(const json_value& value, const std::string& path, place& field, std::string_view neutral) {
    if (value.is_null()) return;
    const bool on = flag_at(value, path);
    merge_->set(field, on ? place::on_cpu : place::on_gpu, "offload", neutral, path);
    offloads_ = offloads_ || on;
    pinned_ = pinned_ || (on && pinned_by_default() && !value_->contains("cpu_offload_use_pin_memory"));
  }
  /// Since 2026-08-07 (DeepSpeed 7dfa67ae, v0.19.5; runtime/zero/offload_config.py).
  [[nodiscard]] bool pinned_by_default() const { return merge_->version() == 0 || merge_->version() >= 202608; }
  void settle_pinning() {
    if (const auto* v = k_.take("cpu_offload_use_pin_memory"); v != nullptr && !v->is_null())
      pinned_ = pinned_ || flag_at(*v, k_.at("cpu_offload_use_pin_memory"));
    if (offloads_)
      merge_->set(j_->offload.pin_memory, pinned_, "offload", "pin_memory",
                  k_.at("offload_optimizer.pin_memory"));
  }

  job* j_;
  const json_value* value_;
  key_reader k_;
  const option_merger* merge_;
  bool offloads_{};
  bool pinned_{};
};

/// An object, or the legacy `true`, which is stage 1. Absent: plain data parallelism, as with `false`.
inline void apply_zero(job& j, const json_value* value, const std::string& path, const option_merger& merge) {
  if (value == nullptr) return;
  if (value->is_boolean())
    return zero_options::set_stage(j, merge, *value->get_ptr<const json_value::boolean_t*>() ? 1 : 0, path);
  zero_options{j, *value, path, merge}.apply();
}

}  // namespace headroom::io::detail
