// Distributed under the Boost Software License, Version 1.0.
// A DeepSpeed configuration (ds_config) as the options of the framework `deepspeed`, which is the Hugging Face Trainer
// running DeepSpeed: "auto" has the Trainer's meaning. Keys and defaults: deepspeed/runtime/zero/config.py,
// runtime/constants.py; "auto": transformers/integrations/deepspeed.py, HfTrainerDeepSpeedConfig.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/options/deepspeed_zero.hpp>

namespace headroom::io {
namespace detail {

enum class switched : std::uint8_t { unsaid, off, on, by_trainer };

/// {"enabled": bool | "auto", …}. The other keys are about loss scaling.
inline switched read_enabled(const json_value* value, const std::string& path, const std::string& section) {
  if (value == nullptr) return switched::unsaid;
  key_reader k{*value, path};
  auto state = switched::off;
  if (const auto* v = k.take("enabled"))
    state = is_auto(*v) ? switched::by_trainer : flag_at(*v, k.at("enabled")) ? switched::on : switched::off;
  pass_deepspeed(k, *value, section);
  k.finish();
  return state;
}

/// fp16, bf16, data_types and communication_data_type.
inline void apply_formats(job& j, key_reader& k, const option_merger& merge) {
  const auto half = read_enabled(k.take("fp16"), k.at("fp16"), "fp16");
  const auto* old = k.take("bfloat16");
  const auto* newer = k.take("bf16");
  const auto brain = read_enabled(newer != nullptr ? newer : old, k.at(newer != nullptr || old == nullptr ? "bf16" : "bfloat16"), "bf16");
  if (half == switched::on && brain == switched::on)
    fail("headroom: " + k.at("fp16") + " and bf16 must not both be enabled");
  precision stated;
  if (half == switched::on) stated = precisions::fp16_mixed;
  if (brain == switched::on) stated = precisions::bf16_mixed;
  const bool all_off =
      (half == switched::off || brain == switched::off) && half != switched::by_trainer && brain != switched::by_trainer;
  if (!stated.set() && all_off) stated = precisions::fp32;
  const bool neutral = merge.given("precision");
  if (stated.set() && neutral && j.precision.compute.set() && j.precision.compute != stated.compute)
    fail("headroom: " + k.at(half == switched::unsaid ? "bf16" : "fp16") +
         ".enabled contradicts precision, which computes in " + std::string{j.precision.compute.label.view()});
  if (stated.set() && !neutral) j.precision = stated;

  const auto format = [](const json_value& v, const std::string& path) {
    const auto& word = string_at(v, path, "\"fp32\", \"fp16\" or \"bf16\"");
    if (word == "fp32") return formats::fp32;
    if (word == "fp16") return formats::fp16;
    if (word == "bf16" || word == "bfp16") return formats::bf16;
    wrong_value(path, "\"fp32\", \"fp16\" or \"bf16\"", v);
  };
  const auto apply = [&](const json_value& v, const std::string& path, number_format precision::*member,
                         std::string_view key) {
    if (v.is_null() || is_auto(v)) return;
    if (!j.precision.set()) j.precision = j.framework.precision;
    const auto before = j.precision.*member;
    merge.set(j.precision.*member, format(v, path), "precision", key, path);
    if (j.precision.*member != before) j.precision.label = {};  // it is no longer the recipe of that name
  };
  if (const auto* types = k.take("data_types")) {
    key_reader inner{*types, k.at("data_types")};
    if (const auto* v = inner.take("grad_accum_dtype"))
      apply(*v, inner.at("grad_accum_dtype"), &precision::gradients, "gradients");
    pass_deepspeed(inner, *types, "data_types");
    inner.finish();
  }
  if (const auto* v = k.take("communication_data_type"))
    apply(*v, k.at("communication_data_type"), &precision::reduce, "reduce");
}

/// The three batch keys, any of which may be missing or "auto". `ranks` hold different data.
inline void apply_batch(job& j, key_reader& k, const option_merger& merge, std::int64_t ranks) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const auto number = [&](std::string_view key) -> std::int64_t {
    const auto* v = k.take(key);
    return v == nullptr || is_auto(*v) ? 0 : whole_at(*v, k.at(key), 1, most);
  };
  std::int64_t micro = number("train_micro_batch_size_per_gpu");
  std::int64_t accumulation = number("gradient_accumulation_steps");
  const std::int64_t total = number("train_batch_size");
  if (total > 0) {
    // Whichever of the two is missing follows; DeepSpeed does the same (runtime/config.py, _set_batch_related_parameters).
    if (micro == 0 && merge.given("batch", "micro")) micro = j.batch.micro;
    if (accumulation == 0 && (merge.given("batch", "accumulation") || micro == 0)) accumulation = j.batch.accumulation;
    const auto known = checked::mul(ranks, micro > 0 ? micro : 1, accumulation > 0 ? accumulation : 1);
    if (total % known != 0 || (micro > 0 && accumulation > 0 && total != known)) {
      std::string said = micro > 0 ? "a micro-batch of " + std::to_string(micro) : "";
      if (accumulation > 0) said += (said.empty() ? "accumulation " : ", accumulation ") + std::to_string(accumulation);
      fail("headroom: " + k.at("train_batch_size") + " must be micro-batch x accumulation x data-parallel ranks, found " + std::to_string(total) + " with " + said + (said.empty() ? "" : " and ") + std::to_string(ranks) + " ranks");
    }
    if (micro == 0)
      micro = total / known;
    else if (accumulation == 0)
      accumulation = total / known;
  }
  if (micro > 0) merge.set(j.batch.micro, micro, "batch", "micro", k.at("train_micro_batch_size_per_gpu"));
  if (accumulation > 0)
    merge.set(j.batch.accumulation, accumulation, "batch", "accumulation", k.at("gradient_accumulation_steps"));
}

/// {"type", "params"}: rates and decays change no memory. torch_adam: torch.optim's Adam in place of FusedAdam or of DeepSpeedCPUAdam
/// (deepspeed/runtime/engine.py _configure_basic_optimizer), a foreach update where its tensors lie on a GPU (torch/optim/optimizer.py
/// _default_to_fused_or_foreach).
inline void apply_optimizer(job& j, const json_value* value, const std::string& path, const option_merger& merge) {
  if (value == nullptr) return;
  key_reader k{*value, path};
  bool torch_adam = false;
  if (const auto* params = k.take("params"); params != nullptr && !params->is_null()) {
    key_reader inner{*params, k.at("params")};
    inner.flag("torch_adam", torch_adam);
    pass_deepspeed(inner, *params, "optimizer.params");
    inner.finish();
  }
  pass_deepspeed(k, *value, "optimizer");
  const auto* type = k.take("type");
  k.finish();
  if (type == nullptr || is_auto(*type)) return;
  const auto& word = string_at(*type, k.at("type"));
  const auto* known = optimizer_called(optimizer_namer::deepspeed, word).is;
  if (known == nullptr) refuse_optimizer(optimizer_namer::deepspeed, k.at("type"), word);
  const bool adam = known->moments == 2 && known->by_tensor == nullptr && word.size() <= 5;  // "Adam", "AdamW"
  if (torch_adam && !adam) fail("headroom: " + k.at("params.torch_adam") + " = true is of Adam and AdamW alone");
  if (torch_adam && j.offload.optimizer != place::on_gpu)
    fail("headroom: " + k.at("params.torch_adam") + " = true beside an offloaded optimizer is not modelled by this version: torch.optim's Adam on the processor makes temporaries there; take it out for DeepSpeedCPUAdam");
  if (!merge.given("optimizer")) {
    j.optimizer = *known;
  } else if (j.optimizer.moments != known->moments || j.optimizer.extent != known->extent || j.optimizer.by_tensor != known->by_tensor) {
    fail("headroom: " + k.at("type") + " contradicts optimizer, which is " + in_quotes(j.optimizer.label.view()));
  }
  if (!torch_adam) return;
  auto& how = j.optimizer.how;  // a launcher that names the optimizer leaves this open: DeepSpeed makes it
  if (how != implementation::unset && how != implementation::foreach)
    fail("headroom: " + k.at("params.torch_adam") + " = true contradicts optimizer.implementation, which is " + in_quotes(text_of(how)));
  how = implementation::foreach;
}

/// A checkpointed layer's inputs may be cut over tensor-parallel ranks, or lie in host memory. The section alone does nothing: it configures
/// deepspeed.checkpointing for programs that call it (runtime/activation_checkpointing/checkpointing.py, configure), which the Trainer does not.
inline void apply_checkpointing(job& j, const json_value* value, const std::string& path, const option_merger& merge) {
  if (value == nullptr) return;
  key_reader k{*value, path};
  bool partition = false;
  bool on_cpu = false;
  k.flag("partition_activations", partition);
  k.flag("cpu_checkpointing", on_cpu);
  pass_deepspeed(k, *value, "activation_checkpointing");
  k.finish();
  if (partition && j.parallel.tensor > 1)
    fail("headroom: " + k.at("partition_activations") + " = true with tensor parallelism is not modelled by this version");
  if (!on_cpu) return;
  if (!merge.given("recompute"))
    fail("headroom: " + k.at("cpu_checkpointing") + " = true acts only where the program calls deepspeed.checkpointing, as the Hugging Face Trainer does not: say recompute \"none\", or \"full\" where it does");
  if (j.recompute.mode != recompute_mode::none)
    merge.set(j.offload.activations, place::on_cpu, "offload", "activations", k.at("cpu_checkpointing"));
}

}  // namespace detail

/// Applies a ds_config to a job whose neutral keys are read already. Throws job_error for unknown and misspelt keys, for
/// contradictions, and for features that are not modelled.
inline void apply_deepspeed_options(job& j, const json_value& options, const option_merger& merge) {
  key_reader k{options, "framework.options"};
  detail::apply_zero(j, k.take("zero_optimization"), k.at("zero_optimization"), merge);
  detail::apply_formats(j, k, merge);
  const auto others = checked::mul(j.parallel.tensor, j.parallel.pipeline, j.parallel.context);
  const auto ranks = j.parallel.data > 0 ? j.parallel.data
                                         : std::max<std::int64_t>(1, j.hardware.gpus() / std::max<std::int64_t>(1, others));
  detail::apply_batch(j, k, merge, ranks);
  detail::apply_optimizer(j, k.take("optimizer"), k.at("optimizer"), merge);
  detail::apply_checkpointing(j, k.take("activation_checkpointing"), k.at("activation_checkpointing"), merge);
  if (const auto* saves = k.take("checkpoint"); saves != nullptr && !saves->is_null()) {
    key_reader inner{*saves, k.at("checkpoint")};
    detail::pass_deepspeed(inner, *saves, "checkpoint");
    inner.finish();
  }
  detail::pass_deepspeed(k, options, {});
  k.finish();
}

}  // namespace headroom::io
