// Distributed under the Boost Software License, Version 1.0.
// Where a run was when it died, by the names of functions in its traceback.
// Sources: torch nn/parallel/distributed.py, optim/optimizer.py, autograd/__init__.py; DeepSpeed runtime/engine.py, runtime/zero/{stage_1_and_2,stage3}.py;
// Megatron-LM core/distributed/param_and_grad_buffer.py; transformers modeling_utils.py, trainer.py, integrations/bitsandbytes.py; torch distributed/fsdp;
// bitsandbytes nn/modules.py; vLLM engine/llm_engine.py; TRL trainer/utils.py.
#pragma once

#include <headroom/report/rank.hpp>

#include <array>
#include <optional>
#include <string_view>

namespace headroom::detail {

/// A name in a traceback, and the phase whose code it stands for.
struct said_name {
  std::string_view name;
  phase when;
};
/// What runs inside of another comes later: building an optimizer may step, a step may run backward, backward may run a checkpointed forward.
inline constexpr std::array said_names{
    said_name{"from_pretrained", phase::load},
    said_name{"_move_model_to_device", phase::load},
    said_name{"_ddp_init_helper", phase::load},
    said_name{"dist.Reducer(", phase::load},
    said_name{"DistributedDataParallel(", phase::load},
    said_name{"FullyShardedDataParallel(", phase::load},
    said_name{"_ParamAndGradBuffer", phase::load},
    said_name{"_configure_zero_optimizer", phase::load},
    said_name{"_setup_for_real_optimizer", phase::load},
    said_name{"initialize_optimizer_states", phase::load},
    said_name{"single_grad_partition", phase::load},
    said_name{"_configure_distributed_model", phase::load},
    said_name{"deepspeed.initialize(", phase::load},
    said_name{"_load_state_dict_into_meta_model", phase::load},
    said_name{"set_module_quantized_tensor_to_device", phase::load},
    said_name{"set_module_tensor_to_device", phase::load},
    said_name{"Params4bit(", phase::load},
    said_name{"_init_flat_param", phase::load},
    said_name{"_initialize_kv_caches", phase::load},
    said_name{"in state_dict", phase::save},
    said_name{"state_dict() call", phase::save},
    said_name{"in _save_checkpoint", phase::save},
    said_name{"in save_model", phase::save},
    said_name{"in evaluate", phase::evaluate},
    said_name{"in evaluation_loop", phase::evaluate},
    said_name{"in prediction_loop", phase::evaluate},
    said_name{"in prediction_step", phase::evaluate},
    said_name{"optimizer.step(", phase::step},
    said_name{"in step", phase::step},
    said_name{"_take_model_step", phase::step},
    said_name{"in _optimizer_step", phase::step},
    said_name{"in _init_group", phase::step},
    said_name{"in _multi_tensor_adamw", phase::step},
    said_name{"in _single_tensor_adamw", phase::step},
    said_name{"loss.backward(", phase::backward},
    said_name{"in backward", phase::backward},
    said_name{"autograd/__init__.py", phase::backward},
    said_name{"_engine_run_backward", phase::backward},
    said_name{"_execution_engine.run_backward", phase::backward},
    said_name{"compute_ref_log_probs", phase::reference},
    said_name{"in generate", phase::generate},
    said_name{"loss_fct(", phase::loss_forward},
    said_name{"log_softmax(", phase::loss_forward},
    said_name{"get_batch_logps", phase::loss_forward},
    said_name{"logits.float()", phase::loss_forward},
    said_name{"in _convert_to_fp32", phase::loss_forward},
    said_name{"cross_entropy", phase::loss_forward},
    said_name{"lm_head(", phase::loss_forward},
    said_name{"in forward", phase::forward},
    said_name{"in _call_impl", phase::forward},
};

constexpr bool part_of_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// Whether a line has a name, whole. Processes that write at once may leave something glued to its front.
constexpr bool says(std::string_view line, std::string_view name) {
  for (auto at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    const auto end = at + name.size();
    const bool starts = at == 0 || !name.starts_with("in ") || !part_of_name(line[at - 1]);
    if (starts && (end == line.size() || !part_of_name(line[end]) || !part_of_name(name.back()))) return true;
  }
  return false;
}

/// The phase that the traceback before a message speaks of. In a boxed traceback (rich) only marked lines, and those that name a function, ran.
constexpr std::optional<phase> phase_said(std::string_view before) {
  constexpr std::size_t longest = 60'000;
  if (before.size() > longest) before.remove_prefix(before.size() - longest);
  if (const auto last = before.rfind("Traceback (most recent call last)"); last != std::string_view::npos) before.remove_prefix(last);
  const bool boxed = before.find("\u2771") != std::string_view::npos;
  auto first = said_names.size();
  while (!before.empty()) {
    const auto end = before.find('\n');
    const auto line = before.substr(0, end);
    before.remove_prefix(end == std::string_view::npos ? before.size() : end + 1);
    if (boxed && line.find("\u2771") == std::string_view::npos && line.find(" in ") == std::string_view::npos) continue;
    for (std::size_t i = 0; i < first; ++i)
      if (says(line, said_names[i].name)) first = i;
  }
  if (first == said_names.size()) return std::nullopt;
  return said_names[first].when;
}

}  // namespace headroom::detail
