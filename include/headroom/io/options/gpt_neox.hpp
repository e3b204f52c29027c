// Distributed under the Boost Software License, Version 1.0.
// GPT-NeoX's own options (megatron/neox_arguments/{neox_args,deepspeed_args}.py): those that change what is allocated without being a neutral key of
// the job.
#pragma once

#include <headroom/io/job/framework.hpp>

namespace headroom::io {

/// Throws job_error for options that GPT-NeoX does not have.
inline void apply_gpt_neox_options(job& j, const json_value& options, const option_merger&) {
  auto& f = j.framework;
  key_reader k{options, "framework.options"};
  const auto on = [&](const char* key) {
    const auto* v = k.take(key);
    return v != nullptr && flag_at(*v, k.at(key));
  };
  if (on("partition_activations")) f.checkpointing.copies_input = true;
  if (on("scaled_upper_triang_masked_softmax_fusion")) f.attention.fills_masked_scores = false;
  if (on("bias_gelu_fusion")) f.mlp.adds_bias_apart = false;
  if (on("rmsnorm_fusion")) f.norm.style = norm_style::fused;
  k.finish();
}

/// The profile, and the options that changed it.
inline json_value gpt_neox_to_json(const profile& p) {
  const auto& own = *frameworks::find(p.label.view(), p.date);
  profile plain = p;
  plain.checkpointing.copies_input = own.checkpointing.copies_input;
  plain.attention.fills_masked_scores = own.attention.fills_masked_scores;
  plain.mlp.adds_bias_apart = own.mlp.adds_bias_apart;
  plain.norm.style = own.norm.style;
  auto out = framework_to_json(plain);
  const auto say = [&](const char* key, bool changed) {
    if (!changed) return;
    if (out.is_string()) out = {{"name", out}};
    out["options"][key] = true;
  };
  say("partition_activations", p.checkpointing.copies_input != own.checkpointing.copies_input);
  say("scaled_upper_triang_masked_softmax_fusion", p.attention.fills_masked_scores != own.attention.fills_masked_scores);
  say("bias_gelu_fusion", p.mlp.adds_bias_apart != own.mlp.adds_bias_apart);
  say("rmsnorm_fusion", p.norm.style != own.norm.style);
  return out;
}

}  // namespace headroom::io
