// Distributed under the Boost Software License, Version 1.0.
// verl's Megatron workers, by the overrides of their command: what they make of Megatron's engine (volcengine/verl b178a3cd of 2026-01-29:
// verl/trainer/config/_generated_ppo_megatron_trainer.yaml, verl/workers/megatron_workers.py, verl/models/mcore/config_converter.py).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/megatron/import.hpp>
#include <headroom/io/launchers/verl/layer_flags.hpp>

#include <map>

namespace headroom::io::detail {

inline constexpr std::string_view verl_engine = "actor_rollout_ref.actor.megatron.", verl_layers = "actor_rollout_ref.actor.megatron.override_transformer_config.",
                                  verl_update = "actor_rollout_ref.actor.optim.override_optimizer_config.";

/// Of its own, without effect on memory: where checkpoints lie, how weights are converted, what is the reference's as the actor's.
inline constexpr std::string_view verl_megatron_passed =
    "use_dist_checkpointing|dist_checkpointing_path|dist_checkpointing_prefix|dist_checkpointing_process_group|seed|use_mbridge|vanilla_mbridge|load_weight|grad_offload|forward_only|extra";

/// Arguments of Megatron's, under its own names, that a run of verl's stands for.
class verl_megatron {
 public:
  verl_megatron(draft& d, named_values& v) : d_(&d), v_(&v), to_{.source = v.source(), .root = json_value::object(), .lines = {}} {}

  /// `micro` completions of `length` tokens at once, `global` in a step of all GPUs.
  void import(std::int64_t micro, std::int64_t length, std::int64_t global) {
    const auto m = model_of(*d_);
    if (m.vision.layers > 0 || m.vision.kind != vision_kind::none) fail("headroom: " + v_->source() + ": models that see are not modelled over verl's Megatron workers by this version");
    set("micro-batch-size", micro), set("seq-length", length), set("global-batch-size", global), set("bf16", true);
    set("hidden-dropout", 0.0), set("attention-dropout", 0.0), set("attention-backend", "flash");
    if (!v_->on("actor_rollout_ref.actor.megatron.use_distributed_optimizer", true)) d_->unmodelled_key("actor_rollout_ref.actor.megatron.use_distributed_optimizer", false, v_->place("actor_rollout_ref.actor.megatron.use_distributed_optimizer"));
    set("use-distributed-optimizer", true);
    if (!v_->on("actor_rollout_ref.actor.megatron.use_remove_padding", true)) d_->unmodelled_key("actor_rollout_ref.actor.megatron.use_remove_padding", false, v_->place("actor_rollout_ref.actor.megatron.use_remove_padding"), "padded samples");
    v_->one_of("actor_rollout_ref.actor.megatron.dtype", "bfloat16", {"bfloat16"});
    // Of TransformerConfig, which neither fuses the accumulation of gradients nor rotary embeddings unless told to.
    fused_["gradient_accumulation_fusion"] = fused_["apply_rope_fusion"] = false;
    if (m.sparse()) set("num-experts", m.experts.count), set("moe-grouped-gemm", true), set("moe-token-dispatcher-type", "alltoall");
    engine();
    layers();
    if (first_ + last_ > 0) ends(m.layers);
    v_->take("actor_rollout_ref.model.enable_gradient_checkpointing");  // of its FSDP workers: here recompute_granularity says it
    update();
    for (const auto& [theirs, megatron] : {std::pair{"gradient_accumulation_fusion", "no-gradient-accumulation-fusion"}, {"apply_rope_fusion", "no-rope-fusion"}})
      if (!fused_[theirs]) set(megatron, true);
    import_megatron(*d_, to_, megatron_program::gpt, false);
  }

 private:
  void engine() {
    for (auto at = v_->all().begin(); at != v_->all().end(); ++at) {
      const auto& key = at.key();  // the document's own, as named_values keeps views of what it is asked for
      const auto& value = at.value();
      if (!key.starts_with(verl_engine) || key.starts_with(verl_layers) || v_->taken(key)) continue;
      const auto name = key.substr(verl_engine.size());
      if (name == "param_offload" || name == "optimizer_offload") continue;  // of the rollout
      v_->take(key);
      if (among_words(verl_megatron_passed, name) || value.is_null()) continue;
      if (name == "sequence_parallel") {
        if (!truth(value, key) && of_bridge()) along_ = false;
        continue;
      }
      if (name.starts_with("override_")) {
        if (!harmless_override(name, value)) d_->unmodelled_key(key, value, v_->place(key));
        continue;
      }
      if (name == "virtual_pipeline_model_parallel_size") {
        if (value != 1) set("num-virtual-stages-per-pipeline-rank", value);
        continue;
      }
      set(dashed(name), value);
    }
    if (to_.root.contains("tensor-model-parallel-size") && to_.root["tensor-model-parallel-size"] != 1 && along_) set("sequence-parallel", true);
  }
  /// Megatron-Bridge's layers are set up by the key; verl's own cut the sequence wherever tensors are cut (config_converter.py _get_base_transformer_config,
  /// megatron_workers.py _init_hf_config_and_tf_config).
  [[nodiscard]] bool of_bridge() { return v_->on("actor_rollout_ref.actor.megatron.use_mbridge", true) && !v_->on("actor_rollout_ref.actor.megatron.vanilla_mbridge", true); }
  static bool harmless_override(std::string_view name, const json_value& value) { return value == "{}" || value.empty() || among_words("override_ddp_config.overlap_grad_reduce|override_ddp_config.average_in_collective", name) || (name == "override_ddp_config.grad_reduce_in_fp32" && value == true); }

  /// TransformerConfig's fields go by the names of Megatron's arguments.
  void layers() {
    for (auto at = v_->all().begin(); at != v_->all().end(); ++at) {
      const auto& key = at.key();
      const auto& value = at.value();
      if (!key.starts_with(verl_layers) || v_->taken(key)) continue;
      const auto name = key.substr(verl_layers.size());
      v_->take(key);
      if (value.is_null() || value == "") continue;
      if (fused_.contains(name)) {
        fused_[name] = truth(value, key);
        continue;
      }
      if (name == "account_for_embedding_in_pipeline_split") first_ = truth(value, key) ? 1 : 0;
      else if (name == "account_for_loss_in_pipeline_split") last_ = truth(value, key) ? 1 : 0;
      else if (name == "num_layers_in_first_pipeline_stage") set("decoder-first-pipeline-num-layers", value);
      else if (name == "num_layers_in_last_pipeline_stage") set("decoder-last-pipeline-num-layers", value);
      else if (name == "masked_softmax_fusion" || name == "bias_activation_fusion" || name == "bias_dropout_fusion" || name == "persist_layer_norm" || name == "deallocate_pipeline_outputs") continue;  // as they are
      else if (name == "moe_enable_deepep" && value == true) set("moe-enable-deepep", true);
      else if (name == "recompute_modules") set("recompute-modules", words(value));
      else if (value != false) set(dashed(name), value);
      else if (among_words(transformer_flags_on, name)) d_->unmodelled_key(key, value, v_->place(key));
      else if (!among_words(transformer_flags_off, name) && !among_words(transformer_flags_idle, name)) d_->unknown_key(key, v_->place(key));
    }
  }
  /// The embedding, and the loss, count as a layer where layers are shared out over stages (core/transformer/transformer_block.py get_num_layers_to_build).
  void ends(std::int64_t layers) {
    const auto stages = to_.root.value("pipeline-model-parallel-size", json_value(1));
    const auto n = stages.is_number_integer() ? stages.get<std::int64_t>() : 1;
    const auto all = checked::add(layers, first_ + last_);
    if (to_.root.contains("num-virtual-stages-per-pipeline-rank") || n < 1 || all % n != 0)
      fail("headroom: " + v_->source() + ": account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split are read where layers and ends divide evenly over the stages, without virtual ones");
    if (n == 1) return;
    set("decoder-first-pipeline-num-layers", all / n - first_), set("decoder-last-pipeline-num-layers", all / n - last_);
  }
  void update() {
    for (auto at = v_->all().begin(); at != v_->all().end(); ++at) {
      const auto& key = at.key();
      const auto& value = at.value();
      if (!key.starts_with(verl_update) || v_->taken(key)) continue;
      v_->take(key);
      if (value != false && !value.is_null()) set(dashed(key.substr(verl_update.size())), value);
    }
  }

  static std::string dashed(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  }
  static json_value words(const json_value& list) {
    auto text = list.is_string() ? list.get<std::string>() : list.dump();
    for (auto& c : text)
      if (std::string_view{"[],'\""}.find(c) != std::string_view::npos) c = ' ';
    return text;
  }
  void set(std::string_view key, const json_value& value) { to_.root[std::string{key}] = value; }

  draft* d_;
  named_values* v_;
  document to_;
  std::map<std::string, bool, std::less<>> fused_;
  std::int64_t first_{}, last_{};  ///< layers that the ends count as
  bool along_{true};               ///< the sequence is cut wherever tensors are
};

}  // namespace headroom::io::detail
