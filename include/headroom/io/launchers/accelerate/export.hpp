// Distributed under the Boost Software License, Version 1.0.
// A job as accelerate's configuration: DDP and FSDP in full, DeepSpeed by the name of its own file.
#pragma once

#include <headroom/io/launchers/accelerate/import.hpp>
#include <headroom/io/launchers/export_document.hpp>

namespace headroom::io {

/// The same job with what a Trainer takes for granted said: several GPUs are data-parallel.
inline job as_accelerate(job j) {
  j = with_autocast(j);
  if (j.sharding.kind == sharding_kind::none && j.hardware.gpus() > 1 && j.framework.label.view() == "hf-trainer") j.sharding.kind = sharding_kind::ddp;
  if (j.sharding.backward_prefetch == choice::yes) j.sharding.backward_prefetch = choice::unset;
  return j;
}

inline json_value accelerate_document(const job& given) {
  constexpr std::string_view target = "an accelerate configuration";
  detail::one_kind_of_gpu(given, target);
  const auto j = stated(given);
  const bool engine = j.framework.label.view() == "deepspeed";
  if (!engine) detail::needs_framework(j, "hf-trainer", target);
  if (engine != (j.sharding.kind == sharding_kind::zero)) fail("headroom: " + std::string{target} + " says sharding \"zero\" by DeepSpeed alone; found " + in_quotes(text_of(j.sharding.kind)) + " for " + std::string{j.framework.label.view()});
  if (properties_of(j.parallel.schedule).one_process && j.parallel.pipeline > 1) fail("headroom: " + std::string{target} + " does not say how device_map spreads layers over GPUs");
  json_value a = {{"compute_environment", "LOCAL_MACHINE"}, {"machine_rank", 0}, {"main_training_function", "main"}, {"num_machines", j.hardware.nodes}, {"num_processes", j.hardware.gpus()}, {"use_cpu", false}};
  if (j.hardware.nodes > 1) a.update({{"rdzv_backend", "static"}, {"same_network", true}});
  auto rest = detail::without(job_to_json(j), {"hardware.nodes", "hardware.gpus_per_node"});
  if (engine) {
    a["distributed_type"] = "DEEPSPEED";
    a["deepspeed_config"] = {{"deepspeed_config_file", "ds_config.json"}, {"zero3_init_flag", j.sharding.stage == 3}};
    if (j.compile) a["dynamo_config"] = {{"dynamo_backend", "INDUCTOR"}};
  } else {
    const auto& f = j.precision.compute;
    a["mixed_precision"] = f == formats::bf16 ? "bf16" : f == formats::fp16 ? "fp16" : "no";
    rest = detail::without(rest, {"sharding", "precision", "compile"});
    const bool one = j.sharding.kind == sharding_kind::fsdp1, two = j.sharding.kind == sharding_kind::fsdp2;
    if (one || two) {
      a["distributed_type"] = "FSDP";
      json_value fsdp = {{"fsdp_version", two ? 2 : 1}, {"fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"}, {"fsdp_offload_params", j.offload.parameters == place::on_cpu},
                         {"fsdp_activation_checkpointing", j.recompute == recompute::full}};
      const bool hybrid = j.parallel.replicate > 1;
      if (one) fsdp["fsdp_backward_prefetch"] = chosen(j.sharding.backward_prefetch, true) ? "BACKWARD_PRE" : "NO_PREFETCH";
      if (two)
        fsdp["fsdp_reshard_after_forward"] = j.sharding.stage == 3;
      else
        fsdp["fsdp_sharding_strategy"] = std::string{hybrid ? "HYBRID_SHARD" : j.sharding.stage == 3 ? "FULL_SHARD" : "SHARD_GRAD_OP"} + (hybrid && j.sharding.stage == 2 ? "_ZERO2" : "");
      a["fsdp_config"] = fsdp;
      rest = detail::without(rest, {"offload.optimizer", "offload.parameters"});
      if (hybrid && !two) rest = detail::without(rest, {"parallel.replicate"});
      if (hybrid && two) fail("headroom: " + std::string{target} + " of this form cannot say parallel.replicate for FSDP2");
      if (j.recompute == recompute::full) rest.erase("recompute");
    } else {
      a["distributed_type"] = as_accelerate(j).sharding.kind == sharding_kind::ddp ? "MULTI_GPU" : "NO";
    }
    if (j.compile) a["dynamo_config"] = {{"dynamo_backend", "INDUCTOR"}};
  }
  auto d = detail::draft_from(rest);
  import_accelerate(d, {.source = std::string{target}, .root = a, .lines = {}});
  auto back = d.settled();
  if (engine) back.compile = j.compile;
  detail::check_reads_back(as_accelerate(j), as_accelerate(back), target);
  return a;
}

}  // namespace headroom::io
