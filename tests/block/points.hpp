// Distributed under the Boost Software License, Version 1.0.
// Counted points (tests/data/saved_tensors.json) as scenes and jobs.
#pragma once

#include <headroom/hardware/gpu.hpp>
#include <headroom/estimate.hpp>

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace points {

using headroom::module;

inline nlohmann::json load() {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/saved_tensors.json");
  return nlohmann::json::parse(file)["points"];
}

inline headroom::module_set all_modules() {
  headroom::module_set s;
  s.bits = (1U << headroom::module_count) - 1;
  return s;
}

inline headroom::shape llama_of(const nlohmann::json& c) {
  headroom::shape m;
  m.layers = c.value("L", 1);
  m.hidden = c["h"];
  m.heads = c["n"];
  m.kv_heads = c["nkv"];
  m.head_dim = c.value("head_dim", 0);
  m.ffn = c["I"];
  m.qk_norm = c.value("qk_norm", false);
  m.vocab = c.value("V", 32);
  return m;
}

inline headroom::shape gpt2_of(const nlohmann::json& c) {
  headroom::shape m;
  m.layers = c.value("L", 1);
  m.hidden = c["h"];
  m.heads = c["n"];
  m.ffn = 4 * m.hidden;
  m.mlp = headroom::mlp_kind::plain;
  m.norm = headroom::norm_kind::layernorm;
  m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = true;
  m.position = headroom::position_kind::learned;
  m.max_positions = c["s"];
  m.vocab = c.value("V", 32);
  m.tied = true;
  m.fused_qkv = true;
  m.activation = c.value("act", "gelu_new") == "gelu" ? headroom::activation_kind::gelu : headroom::activation_kind::gelu_new;
  return m;
}

inline headroom::module_set targets_of(const nlohmann::json& list) {
  headroom::module_set s;
  for (const auto& t : list) {
    const auto n = t.get<std::string>();
    const module role = n == "q" ? module::q_proj : n == "k" ? module::k_proj : n == "v" ? module::v_proj : n == "o" ? module::o_proj
                      : n == "g" ? module::gate_proj : n == "u" ? module::up_proj : module::down_proj;
    s |= headroom::module_set{role};
  }
  return s;
}

/// A job on a CPU, where tensors cost exactly their bytes, at the conventions of the counted points: torch 1.13, so logits made
/// fp32 in the loss, and no GPU kernel's workspace.
inline headroom::job job_of(const nlohmann::json& c, const headroom::shape& m) {
  headroom::job j;
  j.model = m;
  j.hardware.gpu = headroom::gpus::cpu;
  j.framework.attention.expands_kv = c.value("kvrep", "") == "repeat" ? headroom::kv_expansion::always : headroom::kv_expansion::never;
  j.framework.optimizer.foreach_copies = 2;  // torch 1.13
  j.framework.checkpointing.reentrant = false;
  if (c.value("norm", "") == "fused") j.framework.norm.style = headroom::norm_style::fused;
  j.precision = c.value("e", 2) == 4 ? headroom::precisions::fp32 : headroom::precisions::bf16;
  j.optimizer = headroom::optimizers::adamw;
  j.batch.micro = c["b"];
  j.batch.sequence = c["s"];
  j.attention = c.value("attn", "flash") == "eager" ? headroom::attention::eager : headroom::attention::flash;
  j.loss.kind = headroom::loss_kind::full;
  j.loss.logits = headroom::formats::fp32;
  return j;
}

}  // namespace points
