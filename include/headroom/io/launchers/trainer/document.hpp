// Distributed under the Boost Software License, Version 1.0.
// A job in the words that all programs over the Hugging Face Trainer share, and that what is written reads back as the job. What a release may
// decide is always said. A DeepSpeed configuration is a file of its own: `headroom export --to deepspeed` writes it.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/deepspeed/export.hpp>
#include <headroom/io/launchers/trainer/import.hpp>

namespace headroom::io {

/// What these programs call the file of DeepSpeed's configuration.
inline constexpr std::string_view deepspeed_file = "ds.json";

/// The newest release of a framework, where it does to the job what the job's own does: releases that differ in how routed experts run are one to
/// a dense model, those that differ in torchao's blocks to other optimizers, and those that call torch's own attention otherwise where another runs. How
/// they checkpoint is always written.
inline profile newest_alike(const job& j) {
  const auto* newest = frameworks::find(j.framework.label.view());
  if (newest == nullptr || j.model.sparse()) return j.framework;
  auto alike = *newest;
  alike.date = j.framework.date;
  alike.experts = j.framework.experts;
  alike.checkpointing.reentrant = j.framework.checkpointing.reentrant;
  if (j.model.vision.layers == 0 || j.recompute.frozen_towers != choice::unset) alike.checkpointing.asks_towers = j.framework.checkpointing.asks_towers;
  if (j.attention != attention::unset && j.attention != attention::sdpa) alike.attention = j.framework.attention;
  if (!j.optimizer.plain_as_weight) alike.optimizer.torchao_block = j.framework.optimizer.torchao_block;
  return alike == j.framework ? *newest : j.framework;
}

/// The same job with what the Trainer takes for granted said one way.
inline job as_trainer(job j) {
  j = with_autocast(j);
  if (j.recompute.mode == recompute_mode::full && j.recompute.reentrant == choice::unset) j.recompute.reentrant = j.framework.checkpointing.reentrant ? choice::yes : choice::no;
  j.framework = newest_alike(j);
  if (j.sharding.kind == sharding_kind::none && j.parallel.data > 1) j.sharding.kind = sharding_kind::ddp;
  if (j.sharding.backward_prefetch == choice::yes) j.sharding.backward_prefetch = choice::unset;
  if (j.attention == attention::unset) j.attention = attention::sdpa;
  auto& o = j.optimizer;
  if (o.how == j.framework.optimizer.how || o.by_tensor != nullptr || o.updates_in_place) o.how = implementation::unset;
  if (j.loss.kind == loss_kind::full) j.loss.kind = loss_kind::unset;
  return j;
}

namespace detail {

inline bool under_deepspeed(const job& j) { return j.framework.label.view() == "deepspeed"; }

/// Whether the library has the job's model under its label; else it is given beside the file.
inline bool model_is_known(const shape& m) { return model_to_json(m).is_string(); }
inline std::string model_path(const shape& m) { return model_is_known(m) ? std::string{m.label.view()} : "model"; }

inline void needs_trainer(const job& j, std::string_view target) {
  if (!under_deepspeed(j)) needs_framework(j, "hf-trainer", target);
  if (j.objective != objective{}) fail("headroom: " + std::string{target} + " is written for sft alone by this version: it cannot say objective.kind = " + in_quotes(text_of(j.objective.kind)));
  if (newest_alike(j) != *frameworks::find(j.framework.label.view())) fail("headroom: " + std::string{target} + " cannot say framework.version: it is of whatever release is installed, which is taken to be today's");
}

/// Names of modules as the model's own code has them, which is what PEFT compares.
inline json_value adapted_modules(const module_set& set, const shape& m, std::string_view key, std::string_view target) {
  if (set == all_linear) return "all-linear";
  const module_set usual{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj, module::embedding, module::head};
  const bool llama = m.mlp == mlp_kind::gated && !m.fused_qkv && !m.fused_gate_up && !m.sparse() && !m.latent() && !m.recurs();
  if (!llama || (set.bits & ~usual.bits) != 0) fail("headroom: " + std::string{target} + " cannot say " + std::string{key} + ": what this model calls these modules is not known; \"all-linear\" can be said");
  return modules_to_json(set, m);
}

/// The Trainer's name of the optimizer.
inline std::string_view trainer_optimizer(const job& j, std::string_view target) {
  const auto name = name_of_optimizer(optimizer_namer::trainer, as_trainer(j).optimizer);
  if (name.empty()) fail("headroom: " + std::string{target} + " cannot say optimizer = " + in_quotes(j.optimizer.label.view()));
  return name;
}
/// … with GaLore's and APOLLO's rank, of every linear layer but the head.
inline void say_optimizer(json_value& a, const job& j, std::string_view target) {
  const auto& o = j.optimizer;
  a["optim"] = trainer_optimizer(j, target);
  if (o.extent != state_extent::low_rank) return;
  a["optim_args"] = "rank=" + std::to_string(o.rank) + (o.update_interval > 0 ? ",update_proj_gap=" + std::to_string(o.update_interval) : "");
  a["optim_target_modules"] = {"attn", "mlp"};
}

/// FSDP by the Trainer's own arguments (transformers training_args.py, _process_fsdp_args), or the name of DeepSpeed's file.
inline void trainer_sharding(json_value& a, const job& j, std::string_view target) {
  if (under_deepspeed(j)) a["deepspeed"] = deepspeed_file;
  const auto& s = j.sharding;
  const bool one = s.kind == sharding_kind::fsdp1, two = s.kind == sharding_kind::fsdp2, hybrid = j.parallel.replicate > 1;
  if (!one && !two) return;
  if (two && s.stage != 3) fail("headroom: " + std::string{target} + " cannot say sharding.stage = " + std::to_string(s.stage) + " for FSDP2 in this version");
  if (two && hybrid) fail("headroom: " + std::string{target} + " cannot say parallel.replicate for FSDP2 in this version");
  a["fsdp"] = std::string{hybrid ? "hybrid_shard" : s.stage == 2 ? "shard_grad_op" : "full_shard"} + (hybrid && s.stage == 2 ? "_zero2" : "") + (j.offload.parameters == place::on_cpu ? " offload" : "") + " auto_wrap";
  if (two)
    a["fsdp_config"] = {{"version", 2}, {"reshard_after_forward", true}};
  else
    a["fsdp_config"] = {{"version", 1}, {"backward_prefetch", chosen(s.backward_prefetch, true) ? "backward_pre" : "no_prefetch"}};
}

/// The order of samples. How long they are no argument says: the data do.
inline void trainer_order(json_value& a, const job& j, std::string_view target) {
  const auto order = j.batch.lengths.order;
  if (order == sample_order::grouped) a["group_by_length"] = true;
  if (order == sample_order::sorted || order == sample_order::longest_first)
    fail("headroom: " + std::string{target} + " cannot say batch.lengths.order = " + in_quotes(text_of(order)) + ": the Trainer takes samples by chance or, with group_by_length, grouped; \"shuffled\" and \"grouped\" can be said");
}
/// What of batch.lengths is the data's.
inline json_value lengths_of_data(const json_value& whole) {
  auto lengths = whole.contains("batch") ? whole.at("batch").value("lengths", json_value::object()) : json_value::object();
  for (const auto* key : {"order", "pad_to_multiple"}) lengths.erase(key);
  return lengths;
}

/// What the Trainer's arguments say of a step, whatever program they are for.
inline json_value trainer_document(const job& j, std::string_view target) {
  const auto& f = j.precision.compute;
  const bool casts = j.precision.autocast != choice::no;
  json_value a = {{"model_name_or_path", model_path(j.model)},
                  {"per_device_train_batch_size", j.batch.micro},
                  {"gradient_accumulation_steps", j.batch.accumulation},
                  {"bf16", casts && f == formats::bf16},
                  {"fp16", casts && f == formats::fp16},
                  {"gradient_checkpointing", j.recompute.mode == recompute_mode::full},
                  {"torch_compile", j.compile}};
  if (j.recompute.mode == recompute_mode::full) a["gradient_checkpointing_kwargs"] = {{"use_reentrant", chosen(j.recompute.reentrant, j.framework.checkpointing.reentrant)}};
  if (const auto& e = j.evaluation; e.given()) a.update({{"eval_strategy", "epoch"}, {"per_device_eval_batch_size", e.batch}, {"prediction_loss_only", e.loss_only}});
  trainer_sharding(a, j, target);
  trainer_order(a, j, target);
  return a;
}

/// Liger's kernels, all of them by default, and those that are not wanted by name (transformers integrations/liger.py).
inline void say_liger(json_value& a, const job& j) {
  const auto& k = j.kernels;
  const bool linear = j.loss.kind == loss_kind::fused_linear, norm = k.has(fused_kernel::norm), gated = k.has(fused_kernel::gated), rotary = k.has(fused_kernel::rotary);
  a["use_liger_kernel"] = linear || !k.empty();
  if ((linear || !k.empty()) && !(linear && norm && gated && rotary))
    a["liger_kernel_config"] = {{"fused_linear_cross_entropy", linear}, {"rms_norm", norm}, {"swiglu", gated}, {"rope", rotary}};
}

inline std::string_view attention_word(attention kernel) {
  switch (kernel) {
    case attention::eager: return "eager";
    case attention::flash: return "flash_attention_2";
    case attention::flash3: return "flash_attention_3";
    default: return "sdpa";
  }
}
/// The format in which weights are loaded; what DeepSpeed or FSDP hold in formats of their own is loaded in fp32.
inline std::string_view loaded_word(const job& j) {
  const bool own = (j.sharding.flat() || j.sharding.kind == sharding_kind::fsdp2) && !j.adapter.active() && j.precision.compute != formats::fp32;
  const auto& f = j.precision.parameters;
  return own ? "float32" : f == formats::bf16 ? "bfloat16" : f == formats::fp16 ? "float16" : "float32";
}

/// Refuses what `arguments` do not say. Beside them stand what starts the program (GPUs and the environment), the model where the library has no
/// name for it, the lengths of the data's samples, and DeepSpeed's file.
inline void check_trainer(const job& j, const json_value& arguments, std::string_view program, std::string_view target) {
  const auto whole = job_to_json(j);
  json_value beside = json_value::object();
  for (const auto* key : {"hardware", "environment", "ignored_keys", "assumed_defaults"})
    if (whole.contains(key)) beside[key] = whole[key];
  if (!model_is_known(j.model)) beside["model"] = whole["model"];
  beside["batch"]["lengths"] = lengths_of_data(whole);
  if (!j.batch.lengths.unknown) beside["batch"]["lengths"]["unknown"] = false;
  auto d = draft_from(beside);
  if (under_deepspeed(j)) {
    import_deepspeed(d, {.source = std::string{deepspeed_file}, .root = deepspeed_document(j), .lines = {}});
    d.read.push_back(file_kind::deepspeed);
  }
  import_trainer(d, {.source = std::string{target}, .root = arguments, .lines = {}}, program_named(program));
  check_reads_back(as_trainer(j), as_trainer(stated(d.settled())), target);
}

/// The file: what has to lie beside it, and the arguments.
inline std::string trainer_text(const job& j, const json_value& arguments) {
  std::string text;
  if (under_deepspeed(j)) text += "# Beside it: " + std::string{deepspeed_file} + ", written by headroom export --to deepspeed.\n";
  if (!model_is_known(j.model)) text += "# The model is the folder of a config.json.\n";
  if (j.batch.lengths.given()) text += "# How long the samples are is the data's, and is not said here.\n";
  else if (!j.batch.lengths.unknown && !j.batch.packed && !j.rollout.given()) text += "# All samples are as long as the limit: the data decide that, and it is not said here.\n";
  write_yaml(text, arguments, 0);
  return text;
}

}  // namespace detail

}  // namespace headroom::io
