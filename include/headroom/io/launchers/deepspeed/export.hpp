// Distributed under the Boost Software License, Version 1.0.
// A job as DeepSpeed's JSON, with numbers where people write "auto". What is left out has DeepSpeed's default.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/deepspeed/import.hpp>
#include <headroom/io/launchers/export_document.hpp>

namespace headroom::io {

/// Throws job_error for what DeepSpeed's configuration cannot say.
inline json_value deepspeed_document(const job& given) {
  constexpr std::string_view target = "a DeepSpeed configuration";
  detail::needs_framework(given, "deepspeed", target);
  const auto j = stated(given);
  if (j.sharding.kind != sharding_kind::zero) fail("headroom: " + std::string{target} + " needs sharding \"zero\", found " + in_quotes(text_of(j.sharding.kind)));
  const auto& s = j.sharding;
  json_value zero = {{"stage", s.stage}};
  for (const auto& z : zero_sizes)
    if (s.*z.member >= 0) zero[std::string{z.key}] = s.*z.member;
  for (const auto& z : zero_switches)
    if (s.*z.member != choice::unset) zero[std::string{z.key}] = s.*z.member == choice::yes;
  const auto& o = j.offload;
  const auto block = [&](const char* key, place where) -> json_value* {
    if (where == place::on_gpu) return nullptr;
    zero[key] = {{"device", text_of(where)}, {"pin_memory", o.pin_memory}};
    if (where == place::on_nvme) zero[key]["nvme_path"] = "/local_nvme";
    return &zero[key];
  };
  if (auto* b = block("offload_optimizer", o.optimizer); b != nullptr && o.optimizer_buffer_count >= 0) (*b)["buffer_count"] = o.optimizer_buffer_count;
  if (auto* b = block("offload_param", o.parameters)) {
    if (o.parameter_buffer_count >= 0) (*b)["buffer_count"] = o.parameter_buffer_count;
    if (o.parameter_buffer_size >= 0) (*b)["buffer_size"] = o.parameter_buffer_size;
    if (o.max_in_cpu >= 0) (*b)["max_in_cpu"] = o.max_in_cpu;
  }
  json_value ds = {{"train_micro_batch_size_per_gpu", j.batch.micro},
                   {"gradient_accumulation_steps", j.batch.accumulation},
                   {"train_batch_size", checked::mul(j.batch.micro, j.batch.accumulation, j.parallel.data)},
                   {"zero_optimization", zero},
                   {"zero_allow_untested_optimizer", true}};
  const auto& p = j.precision;
  const bool half = p.compute == formats::fp16, brain = p.compute == formats::bf16;
  ds["fp16"] = {{"enabled", half}};
  ds["bf16"] = {{"enabled", brain}};
  const auto& usual = half ? formats::fp16 : brain ? formats::bf16 : formats::fp32;
  if (p.gradients != usual) ds["data_types"] = {{"grad_accum_dtype", p.gradients.label.view()}};
  if (p.reduce != usual) ds["communication_data_type"] = p.reduce.label.view();
  if (o.activations == place::on_cpu) ds["activation_checkpointing"] = {{"cpu_checkpointing", true}};
  if (const auto theirs = name_of_optimizer(optimizer_namer::deepspeed, j.optimizer); !theirs.empty()) {
    ds["optimizer"] = {{"type", theirs}, {"params", json_value::object()}};
    if (j.optimizer.how == implementation::loop) fail("headroom: " + std::string{target} + " cannot say optimizer.implementation = \"loop\"");
    if (j.optimizer.how == implementation::foreach) ds["optimizer"]["params"]["torch_adam"] = true;  // io/options/deepspeed.hpp
  }

  auto rest = detail::without(job_to_json(j), {"sharding", "offload", "precision", "batch.micro", "batch.accumulation"});
  if (j.optimizer.how == implementation::foreach && ds.contains("optimizer")) rest["optimizer"].erase("implementation");  // torch_adam says it; FusedAdam is what DeepSpeed takes
  auto d = detail::draft_from(rest);
  import_deepspeed(d, {.source = std::string{target}, .root = ds, .lines = {}});
  detail::check_reads_back(j, d.settled(), target);
  return ds;
}

}  // namespace headroom::io
