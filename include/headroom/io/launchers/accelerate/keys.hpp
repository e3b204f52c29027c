// Distributed under the Boost Software License, Version 1.0.
// Every key of accelerate's configuration: read, harmless, or refused unless it switches its feature off
// (accelerate/commands/config/config_args.py, cluster.py, utils/launch.py, utils/dataclasses.py; 2026-07, and names since 2021).
#pragma once

#include <headroom/io/syntax/json_value.hpp>
#include <headroom/io/syntax/passed_keys.hpp>

#include <array>

namespace headroom::io::detail {

/// Keys that io/launchers/accelerate/import.hpp reads.
inline constexpr auto accelerate_read = std::to_array<std::string_view>({
    "distributed_type", "mixed_precision", "fp16", "num_processes", "num_machines", "dynamo_backend", "dynamo_config.dynamo_backend",
    "fsdp_config.fsdp_version", "fsdp_config.fsdp_sharding_strategy", "fsdp_config.fsdp_reshard_after_forward", "fsdp_config.fsdp_offload_params",
    "fsdp_config.fsdp_auto_wrap_policy", "fsdp_config.fsdp_transformer_layer_cls_to_wrap", "fsdp_config.fsdp_activation_checkpointing",
    "fsdp_config.fsdp_backward_prefetch", "fsdp_config.fsdp_backward_prefetch_policy", "fsdp_config.fsdp_forward_prefetch", "fsdp_config.fsdp_cpu_ram_efficient_loading",
    "deepspeed_config.deepspeed_config_file", "deepspeed_config.zero_stage", "deepspeed_config.offload_optimizer_device",
    "deepspeed_config.offload_param_device", "deepspeed_config.gradient_accumulation_steps",
});

// clang-format off
/// A section that distributed_type or mixed_precision does not ask for is not here: nobody looks at it.
inline constexpr auto accelerate_passed = std::to_array<passed_key>({
    {"compute_environment", "LOCAL_MACHINE"}, {"use_cpu", "false"}, {"debug", "*"}, {"machine_rank", "*"}, {"gpu_ids", "*"}, {"main_process_ip", "*"},
    {"main_process_port", "*"}, {"rdzv_backend", "*"}, {"same_network", "*"}, {"main_training_function", "*"}, {"enable_cpu_affinity", "*"},
    {"megatron_lm_config", "*"}, {"fp8_config", "*"},  // distributed_type and mixed_precision say whether they count
    {"parallelism_config", ""}, {"mpirun_config", "*"}, {"ipex_config", "*"}, {"xpu_config", "*"}, {"tp_config.tp_size", "1"},
    {"downcast_bf16", "*"}, {"tpu_name", "*"}, {"tpu_zone", "*"}, {"tpu_use_cluster", "*"}, {"tpu_use_sudo", "*"}, {"tpu_env", "*"}, {"tpu_vm", "*"},
    {"tpu_cluster", "*"}, {"command_file", "*"}, {"commands", "*"}, {"command", "*"},
    // FSDP1's flat parameters and its original ones are the same storage (torch _flat_param.py); units are layers, so that their least size says nothing.
    {"fsdp_config.fsdp_use_orig_params", "*"}, {"fsdp_config.fsdp_min_num_params", "*"}, {"fsdp_config.fsdp_state_dict_type", "*"},
    {"fsdp_config.fsdp_sync_module_states", "*"}, {"fsdp_config.fsdp_limit_all_gathers", "true"}, {"fsdp_config.fsdp_ignored_modules", ""},
    {"fsdp_config.fsdp_transformer_cls_names_to_wrap", "*"},  // commands/launch.py sets it, and nothing reads it: units are the classes that the model names (_no_split_modules)
    {"deepspeed_config.gradient_clipping", "*"}, {"deepspeed_config.zero3_init_flag", "*"}, {"deepspeed_config.zero3_save_16bit_model", "*"},
    {"deepspeed_config.offload_optimizer_nvme_path", "*"}, {"deepspeed_config.offload_param_nvme_path", "*"}, {"deepspeed_config.deepspeed_hostfile", "*"},
    {"deepspeed_config.deepspeed_multinode_launcher", "*"}, {"deepspeed_config.deepspeed_exclusion_filter", ""},
    {"deepspeed_config.deepspeed_inclusion_filter", ""}, {"deepspeed_config.deepspeed_moe_layer_cls_names", ""},
    {"deepspeed_config.bf16_enabled", "*"}, {"deepspeed_config.offload_param_pin_memory", "*"},  // set among the arguments, where nothing asks for them (argilla-io/notus has them)
    {"dynamo_config.dynamo_mode", "default"}, {"dynamo_config.dynamo_use_dynamic", "false"}, {"dynamo_config.dynamo_use_fullgraph", "*"},
    {"dynamo_config.dynamo_use_regional_compilation", "false"},
});
// clang-format on

/// Refuses a single class of layers to wrap that is a tower's: the language model's layers are then gathered with the root, all at once (accelerate
/// utils/fsdp_utils.py, fsdp2_prepare_auto_wrap_policy; transformers modeling_qwen2_vl.py, modeling_siglip.py, modeling_clip.py, modeling_pixtral.py).
inline void refuse_tower_class(const std::string& place, std::string_view name) {
  for (const std::string_view tower : {"Vision", "Siglip", "CLIP", "Pixtral", "ViT", "Dinov2", "Audio"})
    if (name.find(tower) != name.npos && name.find(',') == name.npos)
      fail("headroom: " + place + ": " + std::string{name} + " is a layer of a tower, and the language model's layers are gathered all at once beside it, which is not modelled by this version: name the language model's layer (as Qwen2VLDecoderLayer)");
}

}  // namespace headroom::io::detail
