// Distributed under the Boost Software License, Version 1.0.
// Which of DeepSpeed-Chat's steps a main.py is, and its own adapters.
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// DeepSpeed-Chat's three steps have a main.py each, and much the same arguments (deepspeedai/DeepSpeedExamples
/// applications/DeepSpeed-Chat/training/step*/main.py): where it writes, or the folder of its script, says which of them it is. Refuses what is
/// not, or may not be, the first.
inline void check_first_step(const draft& d, std::span<const argument> all, const std::string& place) {
  std::string to;
  bool own = false;  // an argument that the first step alone has
  for (const auto& a : all) {
    if (a.name == "output_dir" && !a.values.empty()) to = a.values[0].shown();
    own = own || a.name == "sft_only_data_path" || a.name == "eot_token";
  }
  const auto begin = "headroom: " + place + ": ";
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  for (const auto* other : {"step2", "step3", "reward", "dpo", "rlhf"})
    if (has(to, other)) fail(begin + in_quotes(to) + " is where DeepSpeed-Chat's reward, preference or reinforcement learning writes, which are not modelled by this version");
  for (const auto* other : {"step2_", "step3_"})
    if (has(d.script, other)) fail(begin + "the script stands in a folder of DeepSpeed-Chat's reward, preference or reinforcement learning, which are not modelled by this version");
  if (!own && !has(to, "step1") && !has(d.script, "step1_"))
    fail(begin + "main.py is one of DeepSpeed-Chat's three steps, and the script does not say which: where it is the first, supervised fine-tuning, say so with --program deepspeed-chat-sft");
}

/// Its own adapters (dschat/utils/module/lora.py, LinearLayer_LoRA): of every linear layer whose path has a part of its own, without dropout. All that is
/// no adapted weight trains beside them, unless only_optimize_lora is given.
/// `whose`: what stands before the arguments' names, where a command has several models: nothing, or actor_.
inline void read_deepspeed_chat_adapter(draft& d, named_values& v, std::string_view whose = {}) {
  const bool actors = !whose.empty();
  const std::string_view dim = actors ? "actor_lora_dim" : "lora_dim", scope = actors ? "actor_lora_module_name" : "lora_module_name";
  const auto rank = v.number(dim, 0, 0);
  const auto part = v.word(scope, "decoder.layers.");
  const bool alone = v.on("only_optimize_lora");
  if (rank == 0) return;
  const auto* said = d.find({"model"});
  if (said == nullptr) fail("headroom: " + v.place(dim) + ": lora_module_name names layers of the model: give it first, with --model or its config.json");
  const auto m = read_model(*said, "model", "/nonexistent/folder");
  const auto label = m.label.view();
  const auto begins = [&](auto... names) { return (label.starts_with(names) || ...); };
  const std::string_view path = begins("opt-") ? "model.decoder.layers." : begins("llama-", "tinyllama", "mistral-", "qwen2", "codellama-", "yi-") ? "model.layers." : "";
  if (path.empty() || path.find(part) == std::string_view::npos)
    return d.unmodelled_key(std::string{scope}, part, v.place(scope), "of " + std::string{label} + "'s layers: decoder.layers. of OPT and layers. of Llama, Mistral and Qwen2 are");
  if (!alone && (m.attention_bias || m.output_bias || m.mlp_bias)) return d.unmodelled_key(std::string{dim}, rank, v.place(dim), "biases of the adapted layers train, too: only_optimize_lora is modelled");
  d.replace("adapter", {{"kind", "lora"}, {"rank", rank}, {"targets", "all-linear"}}, v.place(dim));
  if (alone) return;
  module_set rest{module::embedding, module::norm, module::head};
  d.replace("trainable", json_value::array({{{"modules", modules_to_json(rest, m)}}}), v.place(dim));
}

}  // namespace headroom::io::detail
