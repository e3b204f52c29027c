// Distributed under the Boost Software License, Version 1.0.
// The longest sequence and the largest micro-batch of a fine-tuning, for who has no job file yet.
#include "answers.hpp"

#include <headroom/io/import.hpp>
#include <headroom/io/measured_job.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/solve/solve.hpp>

#include <algorithm>
#include <array>

namespace calls {
namespace {

using namespace headroom;
using namespace headroom::io;

/// Frozen weights in 16 bits, and what trains in fp32.
json_value frozen_in(const std::string& half) { return {{"parameters", half}, {"compute", half}, {"gradients", "fp32"}, {"reduce", "fp32"}, {"master", "none"}, {"state", "fp32"}}; }

/// The 16 bits that a GPU computes in: bf16 since Ampere (NVIDIA A100 architecture white paper, third-generation tensor cores).
std::string half_of(const std::string& label) {
  const auto* known = find_gpu(label);
  return known != nullptr && known->maker == vendor::nvidia && known->compute_capability < 80 ? "fp16" : "bf16";
}

/// PEFT's adapters on routed experts and a base of few bits under them are known of transformers before 5, where experts are linear layers.
const json_value over_linear_experts = {{"name", "hf-trainer"}, {"version", "2025-12"}};

/// Mamba's fused kernels take out_proj's weight as it is: no adapter goes on it, and it keeps its bits.
bool takes_out_proj(const shape& m) {
  for (std::int64_t i = 0; m.pattern.given() && i < m.layers; ++i) {
    const auto mixer = m.kind_of(i).mixer;
    if (mixer == mixer_kind::mamba1 || mixer == mixer_kind::mamba2 || mixer == mixer_kind::attention_mamba2) return true;
  }
  return false;
}

constexpr module_set experts_of_layers{module::experts_gate, module::experts_up, module::experts_down};

/// Of all linear layers those that the model has, by name, without Mamba's out_proj and without experts that are parameters.
json_value linear_layers(const shape& m) {
  module_set has;
  for (const auto& w : weights_of(m)) has.bits |= all_linear.bits & module_set::bit(w.role);
  if (takes_out_proj(m)) has.bits &= ~module_set::bit(module::mixer_out);
  if (always_joined(m)) has.bits &= ~experts_of_layers.bits;
  return modules_to_json(has, m);
}

json_value adapter_on(const shape& m, bool quantised) {
  const bool out_proj = takes_out_proj(m), joined = always_joined(m);
  json_value adapter = {{"kind", "lora"}, {"rank", 16}, {"targets", out_proj || joined ? linear_layers(m) : json_value("all-linear")}, {"format", "fp32"}};
  if (!quantised) return adapter;
  adapter["base"] = "nf4-double", adapter["base_skips"] = {"lm_head"};
  if (out_proj) adapter["base_skips"].push_back("mixer_out");
  if (joined)
    for (const auto* one : {"experts_gate", "experts_up", "experts_down"}) adapter["base_skips"].push_back(one);
  return adapter;
}

std::vector<taken_for_granted> defaults_of(const std::string& method, const std::string& half, bool alone, const shape& model) {
  std::vector<taken_for_granted> all;
  const bool full = method == "full";
  if (full && !alone) {
    all.push_back({"framework", "deepspeed", "Hugging Face Trainer over DeepSpeed"});
    all.push_back({"sharding", "zero3", "ZeRO-3: parameters, gradients and states are divided"});
    all.push_back({"precision", half + "-mixed", half + " weights beside an fp32 copy"});
  } else {
    if (model.sparse() && !full)
      all.push_back({"framework", over_linear_experts, "Hugging Face Trainer with PEFT, over transformers before 5"});
    else
      all.push_back({"framework", "hf-trainer", full ? "Hugging Face Trainer" : "Hugging Face Trainer with PEFT"});
    if (!alone) all.push_back({"sharding", "ddp", "every GPU has the whole model"});
    if (full)
      all.push_back({"precision", half + "-autocast", "fp32 weights, computed with in " + half + ": a model loaded in fp32, " + half + "=True"});
    else
      all.push_back({"precision", frozen_in(half), method == "qlora" ? "what is not quantised becomes fp32 (prepare_model_for_kbit_training), and is computed with in " + half + "; adapters are fp32" : "frozen weights are " + half + ", adapters fp32"});
  }
  if (!full) {
    const bool joined = always_joined(model);
    const std::string on = std::string{"LoRA on every linear layer"} + (takes_out_proj(model) ? " but Mamba's out_proj" : "");
    const std::string whose = joined && method != "qlora" ? ": experts are parameters, and have none" : "";
    all.push_back({"adapter", adapter_on(model, method == "qlora"), on + whose + (method == "qlora" ? std::string{", over 4 bits of bitsandbytes"} + (joined ? ": experts are parameters, have none and are not quantised" : "") : "")});
  }
  all.push_back({"optimizer", "adamw", "optim adamw_torch"});
  all.push_back({"recompute", "full", "gradient_checkpointing is on"});
  all.push_back({"attention", "sdpa", "a fused kernel; scores are not written out"});
  return all;
}

/// Whether the job still says of a key what was filled in.
bool stands(const json_value& said, const json_value& value) {
  if (!value.is_object() || !said.is_object()) return said == value;
  return std::all_of(value.items().begin(), value.items().end(), [&](const auto& at) { return said.contains(at.key()) && said[at.key()] == at.value(); }) && said.size() == value.size();
}

fit_answer::found solved_twice(const headroom::job& j, const unknown& u, confidence sure, const deadline& until) {
  const auto most = solve(j, u, decided{{}, until});
  return {most.value, most ? solve(j, u, decided{sure, until}).value : 0};
}

constexpr bool quantise(headroom::job& j) {
  if (!j.adapter.active() || j.adapter.base.quantised()) return false;
  j.adapter.base = formats::nf4_double;
  j.adapter.base_skips = {module::head};
  return true;
}

/// What makes a longer sequence fit on the same GPUs.
std::vector<advice> for_more(headroom::job j, std::int64_t sequence, const deadline& until) {
  static const auto list = [] {
    std::vector<change> all{{"adapter.base nf4-double", quantise}};
    for (const auto& c : changes::all)
      if (!c.text.starts_with("batch.") && !c.text.starts_with("hardware.")) all.push_back(c);
    return all;
  }();
  j.batch.sequence = sequence;
  return advise(j, [&](const headroom::job& k) {
    until.check();
    return judged(k, [&](const headroom::job& l) { return decide(l, {}, until); });
  }, 8, list);
}

constexpr std::int64_t usual_sequence = 2048;
/// Tokens that a model has learned positions for; 0: any number.
std::int64_t positions_of(const shape& m) { return m.position == position_kind::learned ? m.max_positions : 0; }

/// A model that sees images of any size is asked for theirs: they decide how much its tower keeps.
void ask_for_images(const fit_request& asked, const shape& model) {
  const auto& v = model.vision;
  const auto says = [](const std::string& s) { return s.starts_with("batch.images") || s.starts_with("batch={"); };
  if (v.layers == 0 || v.image >= v.patch || std::any_of(asked.set.begin(), asked.set.end(), says)) return;
  const auto key = asked.mark + "set batch.images.";
  fail("headroom: " + asked.model + " sees images, and their size decides what its tower keeps: " + key + "none=true where samples are text alone, or " + key + "width=1024 " + key +
       "height=768 for one of so many pixels in each sample");
}

draft drafted(const fit_request& asked, const shape& model) {
  ask_for_images(asked, model);
  draft d;
  d.replace("model", model_to_json(model), asked.model_place);
  if (asked.gpu.starts_with('{'))
    say_key(d, "hardware.gpu=" + asked.gpu);
  else
    d.say({"hardware", "gpu"}, asked.gpu, asked.mark + "gpu");
  if (asked.gpus > 1) d.say({"hardware", "gpus_per_node"}, asked.gpus, asked.mark + "gpus");
  if (asked.taken > 0) d.say({"hardware", "taken_gib"}, asked.taken, asked.mark + "taken");
  for (const auto& k : defaults_of(asked.method, half_of(asked.gpu), asked.gpus == 1, model)) d.say({k.key}, k.value, "fit");
  d.say({"batch", "micro"}, asked.micro, asked.mark + "micro");
  const auto most = positions_of(model);
  d.say({"batch", "sequence"}, asked.sequence > 0 ? asked.sequence : most > 0 ? std::min(most, usual_sequence) : usual_sequence, asked.mark + "sequence");
  if (asked.rank > 0) d.say({"adapter", "rank"}, asked.rank, asked.mark + "rank");
  for (const auto& s : asked.set) say_key(d, s);
  return d;
}

/// Unsloth's "-bnb-4bit" checkpoints are the models that qlora quantises, quantised. Its "-unsloth-bnb-4bit" ones leave some layers as they are.
std::string unquantised(const fit_request& asked) {
  constexpr std::string_view suffix = "-bnb-4bit";
  const auto& name = asked.model;
  return asked.method == "qlora" && name.ends_with(suffix) && !name.ends_with("-unsloth-bnb-4bit") ? name.substr(0, name.size() - suffix.size()) : name;
}

/// Other ways to train the model on these GPUs, and with all parameters on more of them, that fit where this one does not.
std::vector<fit_answer::other> others_of(const fit_request& asked, const shape& model, const file_base& base, confidence sure, const deadline& until) {
  std::vector<fit_answer::other> all;
  const auto attempt = [&](const fit_request& other, std::string option) {
    try {
      const auto longest = solved_twice(read_measured_job(drafted(other, model).job, {.base = base}, until), unknowns::sequence, sure, until);
      if (longest.predicted > 0) all.push_back({std::move(option), longest});
      return longest.predicted > 0;
    } catch (const job_error&) {  // what was set does not go with it
      return false;
    }
  };
  if (asked.mark != "--") return all;
  for (const std::string method : {"lora", "qlora"}) {
    auto other = asked;
    other.method = method;
    if (method != asked.method && asked.method != "qlora") attempt(other, "--" + method);
  }
  auto other = asked;
  for (other.gpus = std::max<std::int64_t>(2, 2 * asked.gpus); asked.method == "full" && other.gpus <= 8; other.gpus *= 2)
    if (attempt(other, "--full --gpus " + std::to_string(other.gpus))) break;
  return all;
}

}  // namespace

fit_answer fitted(const fit_request& asked, const file_base& base, const deadline& until) {
  if (asked.rank > 0 && asked.method == "full") fail("headroom: " + asked.mark + "rank is of adapters: " + asked.mark + "lora or " + asked.mark + "qlora");
  const auto model = read_model_named(unquantised(asked), asked.model_place, base);
  const auto d = drafted(asked, model);
  fit_answer a{.written = d.job, .job = read_measured_job(d.job, {.base = base}, until), .notes = d.notes, .granted = {}, .longest = {}, .largest = {}, .more = {}, .help = {}, .needs = {}, .instead = {}};
  a.granted = defaults_of(asked.method, half_of(asked.gpu), asked.gpus == 1, a.job.model);
  std::erase_if(a.granted, [&](const taken_for_granted& k) { return !d.job.contains(k.key) || !stands(d.job[k.key], k.value); });
  const confidence sure{asked.confidence};
  a.longest = solved_twice(a.job, unknowns::sequence, sure, until);
  a.largest = solved_twice(a.job, unknowns::micro_batch, sure, until);
  const auto most = positions_of(a.job.model);
  a.more = a.longest.predicted == 0 ? a.job.batch.sequence : most > 0 ? std::min(2 * a.longest.predicted, most) : 2 * a.longest.predicted;
  if (a.more > a.longest.predicted) a.help = for_more(a.job, a.more, until);
  if (a.longest.predicted > 0) return a;
  a.needs = decide(a.job, {}, until).device();
  a.instead = others_of(asked, model, base, sure, until);
  return a;
}

ordered_json fit_json(const fit_answer& a, confidence sure) {
  const auto number = [](std::int64_t n) { return n > 0 ? ordered_json(n) : ordered_json(nullptr); };
  auto granted = ordered_json::object();
  for (const auto& k : a.granted) granted[k.key] = {{"value", k.value}, {"means", k.means}};
  return {{"job", a.written},
          {"granted", granted},
          {"confidence", sure.share()},
          {"longest_sequence", {{"micro", a.job.batch.micro}, {"predicted", number(a.longest.predicted)}, {"sure", number(a.longest.sure)}}},
          {"largest_micro", {{"sequence", a.job.batch.sequence}, {"predicted", number(a.largest.predicted)}, {"sure", number(a.largest.sure)}}},
          {"more", {{"sequence", number(a.more)}, {"advice", headroom::io::to_json(a.help)}}},
          {"needs", number(a.needs.count())}};
}

}  // namespace calls
