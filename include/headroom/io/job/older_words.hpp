// Distributed under the Boost Software License, Version 1.0.
// Words of a job file that the first contract of training methods proposed and that other keys say now: they are translated before the job is read.
#pragma once

#include <headroom/io/job/layout.hpp>
#include <headroom/io/job/objective.hpp>

#include <optional>

namespace headroom::io::detail {

/// A key whose values are those of the key that stands for it now.
struct renamed_key {
  std::string_view theirs;
  std::string_view ours;
};
inline constexpr renamed_key renamed_of_objective[] = {{"top_k", "top_logits"}};
inline constexpr renamed_key renamed_of_reference[] = {{"precision", "reference_parameters"}};
inline constexpr renamed_key renamed_of_role[] = {{"precision", "parameters"}};

/// A key that says the only thing that is modelled, or is refused: the sentence says what to write.
struct only_value {
  std::string_view key;
  json_value says;
  std::string_view otherwise;
};

/// Moves `theirs` of `from` to `ours` of `to`. `path` is that of `from`.
inline void rename(json_value& from, json_value& to, const renamed_key& key, const std::string& path) {
  const auto found = from.find(key.theirs);
  if (found == from.end()) return;
  if (to.contains(key.ours)) fail("headroom: " + joined(path, key.theirs) + " is an older word for " + in_quotes(key.ours) + ", which is stated, too; leave it out");
  auto value = *found;
  from.erase(std::string{key.theirs});
  to[std::string{key.ours}] = std::move(value);
}

/// Takes out a key that may say one thing alone.
inline void take_only(json_value& from, const only_value& key, const std::string& path) {
  const auto found = from.find(key.key);
  if (found == from.end()) return;
  if (*found != key.says) fail("headroom: " + joined(path, key.key) + " " + described(*found) + " is not modelled by this version: " + std::string{key.otherwise});
  from.erase(std::string{key.key});
}

/// How a model that runs forward alone is divided, in the words of `sharding`: ZeRO's third stage and FSDP divide it as the trained one, elsewhere it is
/// whole on every GPU (trl/models/utils.py prepare_deepspeed; settle/objective.hpp standing_of_other). "" where options say it.
inline std::string_view forward_sharding_of(const json_value& whole) {
  const auto stated = whole.find("sharding");
  if (stated == whole.end()) {
    const auto framework = whole.find("framework");
    return framework != whole.end() && framework->is_object() && framework->contains("options") && (*framework)["options"].contains("zero_optimization") ? "" : "none";
  }
  const auto s = read_sharding(*stated, "sharding");
  if (s.by(sharder::deepspeed)) return s.stage == stage_not_stated ? "" : s.stage == 3 ? "zero3" : "none";
  return s.gathers_units() ? text_of(s.kind) : "none";
}
/// Whether the layers are Megatron-LM's.
inline bool runs_megatron(const json_value& whole) {
  const auto found = whole.find("framework");
  if (found == whole.end()) return false;
  const auto& name = found->is_object() && found->contains("name") ? (*found)["name"] : *found;
  return name == "megatron";
}

/// {"keep", "sharding", "offload", …} of a reference becomes objective.reference and the keys beside it.
inline void translate_reference(json_value& o, const json_value& whole) {
  const std::string path = "objective.reference";
  auto said = o["reference"];
  const auto keep = said.find("keep");
  o["reference"] = keep != said.end() ? *keep : json_value("copy");
  said.erase("keep");
  for (const auto& key : renamed_of_reference) rename(said, o, key, path);
  if (const auto model = said.find("model"); model != said.end() && *model == whole.at("model")) said.erase("model");
  take_only(said, {"trained", false, "a reference does not train; leave it out"}, path);
  take_only(said, {"adapter", "none", "a reference has no adapters of its own; leave it out, or write objective.reference \"adapter-off\""}, path);
  if (const auto divided = said.find("sharding"); divided != said.end()) {
    const auto ours = forward_sharding_of(whole);
    if (ours.empty() || *divided != ours)
      fail("headroom: " + path + ".sharding " + described(*divided) + " is not modelled by this version: a reference is divided as the key sharding has it (ZeRO's third stage and FSDP), or whole on every GPU; " +
           (ours.empty() ? std::string{"state sharding.stage, and leave it out"} : "write " + in_quotes(ours) + ", or leave it out"));
    said.erase("sharding");
  }
  if (const auto buffer = said.find("gradient_buffer"); buffer != said.end()) {
    // Megatron's DDP wrapped it until 2025-09-30 (ms-swift 1b184f296, swift/megatron/trainers/rlhf_mixin.py).
    const bool has = flag_at(*buffer, path + ".gradient_buffer"), older = o.contains("trainer") && o["trainer"] == "ms-swift-megatron-3.8";
    if (has && !older) {
      if (!o.contains("trainer") || o["trainer"] != "ms-swift-megatron") fail("headroom: " + path + ".gradient_buffer is of ms-swift over Megatron before 2025-09-30: objective.trainer must be \"ms-swift-megatron-3.8\"");
      o["trainer"] = "ms-swift-megatron-3.8";
    }
    if (!has && older) fail("headroom: " + path + ".gradient_buffer false contradicts objective.trainer \"ms-swift-megatron-3.8\", whose reference has one; leave it out");
    said.erase("gradient_buffer");
  }
  if (const auto place = said.find("offload"); place != said.end()) {
    const bool of_verl = o.contains("trainer") && o["trainer"] == "verl" && forward_sharding_of(whole).starts_with("fsdp");
    // verl's waits on the host in any case (verl/workers/fsdp_workers.py _build_model_optimizer: CPUOffload for all but the actor).
    if (of_verl && *place != "cpu") fail("headroom: " + path + ".offload must be \"cpu\", or left out: verl's references over FSDP wait on the host");
    // DeepSpeed-Chat's reference is of stage 0 unless the actor is of the third, and there its place for parameters is not read (dschat/rlhf/rlhf_engine.py _init_ref).
    const bool idle = o.contains("trainer") && o["trainer"] == "deepspeed-chat" && *place == "cpu" && forward_sharding_of(whole) == "none";
    if (*place == "moved" && !runs_megatron(whole)) fail("headroom: " + path + ".offload \"moved\" is modelled over Megatron's layers alone: elsewhere objective.reference_parameters_at \"cpu\" brings a unit at a time");
    if (*place != "none" && !of_verl && !idle) o["reference_parameters_at"] = *place == "moved" ? json_value("cpu") : *place;
    said.erase("offload");
  }
  for (const auto& [key, value] : said.items())
    fail("headroom: unknown key " + in_quotes(key) + " in " + path + "; the keys of a reference are objective.reference, reference_parameters and reference_parameters_at");
}

/// {"sharding", "parallel", "offload", …} of a teacher, a reward model or a critic.
inline void translate_role(json_value& role, const named_role& which, const json_value& whole) {
  const std::string path = std::string{"objective."} + which.key;
  const bool critic = which.role == &objective::critic;
  for (const auto& key : renamed_of_role) rename(role, role, key, path);
  take_only(role, {"keep", "copy", "it has weights of its own; leave it out"}, path);
  take_only(role, {"adapter", "none", "it has no adapters of its own; leave it out"}, path);
  take_only(role, {"gradient_buffer", critic, critic ? "a critic trains; leave it out" : "it has none; leave it out"}, path);
  take_only(role, {"trained", critic, critic ? "a critic trains; a model that scores alone is objective.reward" : "it does not train; a model that trains beside the policy is objective.critic"}, path);
  if (const auto divided = role.find("sharding"); divided != role.end()) {
    const auto& word = string_at(*divided, path + ".sharding");
    const bool zero = whole.contains("sharding") && read_sharding(whole.at("sharding"), "sharding").by(sharder::deepspeed);
    if (zero && role.contains("stage")) fail("headroom: " + path + ".sharding is an older word for \"stage\", which is stated, too; leave it out");
    if (zero && (word == "none" || (word.size() == 5 && word.starts_with("zero") && word[4] >= '0' && word[4] <= '3'))) role["stage"] = word == "none" ? 0 : word[4] - '0';
    else if (zero || word != forward_sharding_of(whole)) fail("headroom: " + path + ".sharding " + in_quotes(word) + " is not modelled by this version: under ZeRO write " + path + ".stage, elsewhere it is divided as the trained model; leave it out");
    role.erase("sharding");
  }
  if (const auto degrees = role.find("parallel"); degrees != role.end()) {
    if (!degrees->is_object()) wrong_value(path + ".parallel", "an object", *degrees);
    for (const auto& [key, value] : degrees->items()) {
      const auto ours = whole.find("parallel");
      const auto same = ours != whole.end() && ours->is_object() && ours->contains(key) ? (*ours)[key] : value.is_boolean() ? json_value(false) : json_value(1);
      if (value != same) fail("headroom: " + path + ".parallel: " + in_quotes(key) + " " + described(value) + " is not modelled by this version: it is divided as the trained model, which the same key of the job's parallel says; leave it out");
    }
    role.erase("parallel");
  }
  if (const auto place = role.find("offload"); place != role.end()) {
    if (*place != "none" && *place != "cpu") fail("headroom: " + path + ".offload " + described(*place) + " is not modelled by this version: on the host it is gathered a unit at a time, which " + path + ".parameters_at \"cpu\" says");
    if (critic && *place != "none") fail("headroom: " + path + ".offload: what of a critic lies on the host is said by offload and rollout.trainer_moves; leave it out");
    if (*place == "cpu") role["parameters_at"] = "cpu";
    role.erase("offload");
  }
}

/// Which divergence, by its name, or the loss that the method has anyway.
inline void translate_loss(json_value& o) {
  const auto found = o.find("loss");
  if (found == o.end()) return;
  const auto value = *found;
  const auto& word = string_at(value, "objective.loss");
  const bool distils = o.contains("kind") && o["kind"] == "distill";
  if (distils && word == "jsd") o["divergence"] = o.value("divergence", json_value("jensen-shannon"));
  if (!distils || word != "jsd" || o["divergence"] != "jensen-shannon")
    fail("headroom: objective.loss " + in_quotes(word) + " is not modelled by this version: a distillation's is objective.divergence (jensen-shannon, forward or reverse), another method's is objective.kind; leave it out");
  o.erase("loss");
}

/// Scores of a head: objective.outputs is model.classes. Of one the head is anyway.
inline void translate_outputs(json_value& o, json_value& whole) {
  const auto found = o.find("outputs");
  if (found == o.end()) return;
  const auto n = whole_at(*found, "objective.outputs", 1, std::int64_t{1} << 30);
  const bool classifies = o.contains("kind") && o["kind"] == "classification";
  auto& model = whole["model"];
  const bool shape = model.is_string() || (model.is_object() && !model.contains("model_type") && !model.contains("architectures") && !model.contains("classes"));
  if (!classifies && n != 1) fail("headroom: objective.outputs " + std::to_string(n) + " is not modelled by this version: a classification's are model.classes, elsewhere a head has one score; leave it out");
  if (n > 1) {
    if (!shape) fail("headroom: objective.outputs is an older word for model.classes, of a model that is a name or a shape; state it there, and leave it out");
    if (model.is_string()) {
      auto named = json_value::object();
      named["base"] = model;
      model = std::move(named);
    }
    model["classes"] = n;
  }
  o.erase("outputs");
}

/// Dynamic micro-batches: rows of so many tokens in place of micro × sequence.
inline void translate_max_tokens(json_value& whole) {
  auto& b = whole["batch"];
  const auto tokens = whole_at(b["max_tokens"], "batch.max_tokens", 1, std::int64_t{1} << 31);
  const auto objective = whole.find("objective");
  const bool verl = objective != whole.end() && objective->is_object() && objective->contains("trainer") && (*objective)["trainer"] == "verl";
  const bool same = b.contains("sequence") && b["sequence"] == tokens, joined_rows = verl && b.contains("sequence") && b["sequence"].is_number_integer() && b["sequence"] < tokens;
  if ((!same && !joined_rows) || (b.contains("padded") && b["padded"] == true))
    fail("headroom: batch.max_tokens: write rows of so many tokens as batch.micro 1, batch.packed true and batch.sequence " + std::to_string(tokens) + ", or batch.micro sequences of batch.sequence tokens each");
  b["micro"] = 1;
  b["sequence"] = tokens;
  if (joined_rows) b["packed"] = true;
  b.erase("max_tokens");
}

/// The job in the words of this version, or nothing where it has no older ones. Errors: job_error for those that mean what is not modelled.
inline std::optional<json_value> in_words_of_today(const json_value& job) {
  if (!job.is_object() || !job.contains("model")) return {};
  const auto has = [&](const char* section, const char* key) { return job.contains(section) && job.at(section).is_object() && job.at(section).contains(key); };
  const bool objective = job.contains("objective") && job.at("objective").is_object(), tokens = has("batch", "max_tokens"), who = has("rollout", "model") && job.at("rollout").at("model") == "policy";
  if (!objective && !tokens && !who) return {};
  auto out = job;
  if (tokens) translate_max_tokens(out);
  if (who) out["rollout"].erase("model");
  if (!objective) return out;
  auto& o = out["objective"];
  for (const auto& key : renamed_of_objective) rename(o, o, key, "objective");
  translate_loss(o);
  translate_outputs(o, out);
  if (o.contains("reference") && o["reference"].is_object()) translate_reference(o, out);
  // A distillation has a teacher in place of a reference.
  if (o.contains("kind") && o["kind"] == "distill" && o.contains("reference") && o["reference"] == "none") o.erase("reference");
  for (const auto& r : roles_of_objective) {
    if (!o.contains(r.key)) continue;
    auto& role = o[r.key];
    // A function or a server scores: no model does.
    if (role == "none" || (std::string_view{r.key} == "reward" && (role == "function" || role == "server"))) o.erase(r.key);
    else if (role.is_object() && role.contains("model")) translate_role(role, r, out);
  }
  return out;
}

}  // namespace headroom::io::detail
