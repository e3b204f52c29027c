// Distributed under the Boost Software License, Version 1.0.
// A job as torchtitan's TOML, in the keys of the autumn of 2025.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/export_document.hpp>
#include <headroom/io/launchers/torchtitan/import.hpp>
#include <headroom/layout/stages.hpp>

namespace headroom::io {

/// The same job with what torchtitan takes for granted said one way.
inline job as_torchtitan(job j) {
  j = with_autocast(j);
  if (j.sharding.kind == sharding_kind::fsdp2) {
    if (j.sharding.reshard_after_forward == choice::unset) j.sharding.reshard_after_forward = j.sharding.stage == 2 ? choice::no : choice::yes;
    j.sharding.stage = 3;
  }
  if (j.sharding.kind == sharding_kind::ddp) j.parallel.replicate = 1;  // all ranks are replicas, said or not
  if (j.parallel.tensor == 1) j.parallel.sequence = false;
  if (j.optimizer.how == j.framework.optimizer.how) j.optimizer.how = implementation::unset;
  if (j.loss.logits == formats::fp32) j.loss.logits = {};
  if (j.loss.kind == loss_kind::unset) j.loss.kind = j.parallel.tensor > 1 ? loss_kind::vocab_parallel : loss_kind::full;
  if (j.parallel.context == 1) j.parallel.context_kind = {};
  if (auto& d = j.parallel; d.pipeline > 1) {
    const auto before = d;
    const stage_cut cut(before, j.model.layers, j.framework.pipeline.split);
    d.first_stage_layers = d.last_stage_layers = 0;
    d.chunks = static_cast<std::int32_t>(std::min<std::int64_t>(cut.chunks(), degrees::max_entries));
    for (std::int32_t i = 0; i < d.chunks; ++i) d.stage_layers[i] = cut.at(i).count;
  }
  if (j.recompute.mode == recompute_mode::selective && j.recompute.policy == recompute_policy::unset && j.recompute.modules == 0) j.recompute.policy = recompute_policy::every_other_matmul;
  return j;
}

/// Which of torchtitan's models has the job's shape.
inline json_value torchtitan_model(std::string_view label) {
  if (label.starts_with("llama-3.1-")) return {{"name", "llama3"}, {"flavor", label == "llama-3.1-8b" ? "8B" : label == "llama-3.1-70b" ? "70B" : "405B"}};
  if (label.starts_with("qwen3-") && among_words("0.6b|1.7b|4b|8b|14b|32b|30b-a3b|235b-a22b", label.substr(6))) {  // torchtitan/models/qwen3/__init__.py
    std::string size{label.substr(6)};
    for (char& c : size) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return {{"name", "qwen3"}, {"flavor", size}};
  }
  if (label == "deepseek-v3") return {{"name", "deepseek_v3"}, {"flavor", "671B"}};
  return {{"name", "llama3"}, {"flavor", "debugmodel"}};
}

inline json_value torchtitan_training(const job& j) {
  json_value t = {{"local_batch_size", j.batch.micro}, {"seq_len", j.batch.sequence}, {"dtype", j.precision.parameters == formats::bf16 ? "bfloat16" : "float32"},
                  {"mixed_precision_param", j.precision.compute == formats::fp32 ? "float32" : "bfloat16"}, {"mixed_precision_reduce", "float32"}};
  const auto samples = checked::mul(j.batch.micro, j.batch.accumulation);
  if (j.parallel.pipeline > 1)
    t["local_batch_size"] = samples;
  else if (j.batch.accumulation > 1)
    t["global_batch_size"] = checked::mul(samples, j.parallel.data);
  if (j.offload.parameters == place::on_cpu) t["enable_cpu_offload"] = true;
  return t;
}

/// Layers of each stage, where torchtitan is not to divide them in its own way: until August 2025 by the first layer of each stage but the
/// first, since then by all names.
inline void torchtitan_parts_of(json_value& t, const job& j) {
  const stage_cut cut(j.parallel, j.model.layers, j.framework.pipeline.split);
  const bool by_names = j.framework.date >= 202508;
  auto list = json_value::array();
  for (std::int64_t i = 0; i < cut.chunks(); ++i) {
    const auto part = cut.at(i);
    if (!by_names && i > 0) list.push_back("layers." + std::to_string(part.first));
    if (!by_names) continue;
    auto names = json_value::array();
    if (i == 0) names.push_back("tok_embeddings");
    for (auto layer = part.first; layer < part.first + part.count; ++layer) names.push_back("layers." + std::to_string(layer));
    if (i + 1 == cut.chunks()) names.insert(names.end(), {"norm", "output"});
    list.push_back(names);
  }
  t[by_names ? "module_fqns_per_model_part" : "pipeline_parallel_split_points"] = list;
}

inline json_value torchtitan_parallelism(const job& j) {
  const auto& p = j.parallel;
  const auto ranks = p.data / std::max<std::int64_t>(1, p.replicate);
  const bool sharded = j.sharding.kind == sharding_kind::fsdp2;
  json_value t = {{"data_parallel_replicate_degree", sharded ? p.replicate : p.data}, {"data_parallel_shard_degree", sharded ? ranks : 1}, {"tensor_parallel_degree", p.tensor},
                  {"pipeline_parallel_degree", p.pipeline}, {"context_parallel_degree", p.context}};
  if (sharded) t["fsdp_reshard_after_forward"] = as_torchtitan(j).sharding.reshard_after_forward == choice::yes ? "always" : "never";
  if (p.expert > 1) t["expert_parallel_degree"] = p.expert;
  if (p.expert_tensor > 1) t["expert_tensor_parallel_degree"] = p.expert_tensor;
  if (p.context > 1) t["context_parallel_rotate_method"] = p.context_kind == context_kind::all_gather ? "allgather" : "alltoall";
  if (p.tensor > 1) t["disable_loss_parallel"] = j.loss.kind == loss_kind::full;
  if (j.framework.communication.tensor_parallel != tensor_parallel_overlap::none) t["enable_async_tensor_parallel"] = true;
  if (p.pipeline > 1) {
    t["pipeline_parallel_microbatch_size"] = j.batch.micro;
    t["pipeline_parallel_schedule"] = properties_of(schedule_of(p)).torch;
    if (chunks_given(p) > 0 || p.first_stage_layers > 0 || p.last_stage_layers > 0) torchtitan_parts_of(t, j);
  }
  return t;
}

inline json_value torchtitan_checkpoint(const job& j) {
  const auto& r = j.recompute;
  json_value t = {{"mode", text_of(r.mode)}};
  if (r.mode == recompute_mode::selective) t["selective_ac_option"] = "op";
  if (r.mode == recompute_mode::full && r.method == recompute_method::block && r.layers > 0) {
    for (std::int64_t every = 1; every <= j.model.layers; ++every)  // every n-th layer whole
      if (j.model.layers / every == r.layers) t = {{"mode", "selective"}, {"selective_ac_option", std::to_string(every)}};
  }
  return t;
}

inline json_value torchtitan_compile(const job& j) {
  json_value t = {{"enable", j.compile}};
  if (!j.compile) return t;
  t["components"] = json_value::array();
  if (j.framework.compile.layers) t["components"].push_back("model");
  if (j.framework.compile.loss) t["components"].push_back("loss");
  return t;
}

inline json_value torchtitan_document(const job& given) {
  constexpr std::string_view target = "torchtitan";
  detail::needs_framework(given, "torchtitan", target);
  const auto j = stated(given);
  if (j.sharding.kind == sharding_kind::fsdp2 && checked::mul(j.parallel.data, j.parallel.context) <= j.parallel.replicate)
    fail("headroom: " + std::string{target} + " cannot say sharding.kind = \"fsdp2\" of one rank, which it does not shard");
  json_value t = {{"model", torchtitan_model(j.model.label.view())}, {"training", torchtitan_training(j)}, {"parallelism", torchtitan_parallelism(j)},
                  {"activation_checkpoint", torchtitan_checkpoint(j)}, {"compile", torchtitan_compile(j)}};
  auto& o = t["optimizer"];
  o = {{"name", name_of_optimizer(optimizer_namer::torchtitan, optimizers::adamw)}};
  if (j.optimizer.how != implementation::unset) o["implementation"] = j.optimizer.how == implementation::loop ? "for-loop" : text_of(j.optimizer.how);
  if (j.optimizer.in_backward) o["early_step_in_backward"] = true;
  if (j.precision.compute == formats::fp8) {
    t["model"]["converters"] = {"float8"};
    t["float8"] = {{"enable_fsdp_float8_all_gather", j.framework.sharding.gathers_in_fp8}};
    if (!j.framework.sharding.gathers_in_fp8) t["float8"]["recipe_name"] = "rowwise";
  }

  const auto whole = job_to_json(j);
  json_value rest = {{"model", whole["model"]}, {"framework", {{"name", "torchtitan"}, {"version", whole["framework"]["version"]}}}};
  for (const auto* key : {"hardware", "environment", "attention", "dropout"})
    if (whole.contains(key)) rest[key] = whole[key];
  auto d = detail::draft_from(rest);
  import_torchtitan(d, {.source = std::string{target}, .root = t, .lines = {}});
  detail::check_reads_back(as_torchtitan(j), as_torchtitan(stated(d.settled())), target);
  return t;
}

}  // namespace headroom::io
