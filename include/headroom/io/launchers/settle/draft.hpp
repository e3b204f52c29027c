// Distributed under the Boost Software License, Version 1.0.
// A draft becomes a job: facts of several files together decide keys, and what no file says is asked for.
#pragma once

#include <headroom/io/launchers/llama_factory/limits.hpp>
#include <headroom/io/launchers/loaded_formats.hpp>
#include <headroom/io/launchers/megatron/import_deepspeed.hpp>
#include <headroom/io/launchers/other_roles.hpp>
#include <headroom/io/launchers/settle/adapters.hpp>
#include <headroom/io/launchers/settle/engine_formats.hpp>
#include <headroom/io/launchers/settle/evaluation.hpp>
#include <headroom/io/launchers/settle/experts.hpp>
#include <headroom/io/launchers/settle/gpus.hpp>
#include <headroom/io/launchers/settle/joined_names.hpp>
#include <headroom/io/launchers/settle/left_open.hpp>
#include <headroom/io/launchers/settle/lengths.hpp>
#include <headroom/io/launchers/settle/liger.hpp>
#include <headroom/io/launchers/settle/loading.hpp>
#include <headroom/io/launchers/settle/own_checkpoints.hpp>
#include <headroom/io/launchers/settle/releases.hpp>
#include <headroom/io/launchers/settle/towers.hpp>
#include <headroom/io/launchers/settle/text_class.hpp>
#include <headroom/io/launchers/stored_model.hpp>
#include <headroom/io/launchers/torchtitan/stages.hpp>
#include <headroom/io/launchers/trainer/reentry.hpp>

namespace headroom::io {

namespace detail {

/// Fused kernels of an NPU, which other GPUs go without.
inline void settle_npu_kernels(draft& d) {
  const auto* gpu = d.find({"hardware", "gpu"});
  if (!d.npu_kernels || gpu == nullptr) return;
  if (gpu->dump().find("ascend") != std::string::npos) return d.unmodelled_key(d.npu_kernels->word, true, d.npu_kernels->place, "on an Ascend NPU, which it has fused kernels for");
  d.notes.push_back(d.npu_kernels->place + ": " + d.npu_kernels->word + " has no effect on this GPU: its kernels are for Ascend NPUs alone");
}

/// A Trainer on several GPUs is data-parallel; a replica of hybrid sharding is a node.
inline void settle_sharding(draft& d) {
  const auto nodes = draft_nodes(d), each = draft_gpus_per_node(d);
  if (d.of_several && std::max<std::int64_t>(nodes, 1) * std::max<std::int64_t>(each, 1) > 1)
    for (const auto& [key, value] : d.of_several->keys.items())
      if (!d.has({key})) d.replace(key, value, d.of_several->place);
  if (!d.hybrid.empty() && nodes > 1) d.say({"parallel", "replicate"}, nodes, d.hybrid);
  const auto stages = std::max<std::int64_t>(draft_number(d, {"parallel", "pipeline"}, "parallel.pipeline"), 1);
  if (d.framework_is("hf-trainer") && !d.has({"sharding"}) && std::max<std::int64_t>(nodes, 1) * std::max<std::int64_t>(each, 1) > stages) d.replace("sharding", "ddp", d.place_of("framework.name"));
  // One process is not wrapped, whatever its launch says (accelerate/state.py, use_distributed; accelerator.py, multi_device).
  if (const auto* s = d.find({"sharding"}); s != nullptr && *s == "ddp" && d.framework_is("hf-trainer") && std::max<std::int64_t>(nodes, 1) * std::max<std::int64_t>(each, 1) == 1 && !d.place_of("sharding").starts_with("--set"))
    d.job["sharding"] = "none";
  // "zero" said by a file that names a configuration: its stage stands there.
  if (d.framework_is("deepspeed") && d.has({"framework", "options"}) && d.has({"sharding", "kind"}) && d.job["sharding"].size() == 1) d.job.erase("sharding");
}

/// How layers are checkpointed where the sharding decides it.
inline void settle_reentry(draft& d) {
  const auto* r = d.find({"recompute"});
  if (d.reenters && d.reenters->word == "LLaMA-Factory") return settle_factory_reentry(d);
  if (!d.reenters || r == nullptr || *r != "full") return;
  const auto* s = d.find({"sharding"});
  const bool alone = s != nullptr && *s == "ddp" && !d.framework_is("deepspeed");
  d.job["recompute"] = json_value{{"mode", "full"}, {"reentrant", !alone}};
}

/// A configuration that accelerate names, and that does not say how many micro-batches a step has, has one of them (accelerate
/// utils/dataclasses.py, DeepSpeedPlugin.__post_init__).
inline void settle_accumulation(draft& d) {
  if (!d.accelerate || d.accelerate->root.value("distributed_type", json_value{}) != "DEEPSPEED" || !d.has({"framework", "options"}) || d.has({"framework", "options", "gradient_accumulation_steps"})) return;
  const auto section = d.accelerate->root.value("deepspeed_config", json_value::object());
  if (section.is_object() && section.contains("deepspeed_config_file")) d.say({"framework", "options", "gradient_accumulation_steps"}, 1, d.accelerate->place("deepspeed_config.deepspeed_config_file"));
}

/// DeepSpeed's activation_checkpointing configures deepspeed.checkpointing, which the Trainer does not call: its layers are checkpointed by
/// torch.utils.checkpoint (transformers modeling_utils.py, gradient_checkpointing_enable).
inline void settle_checkpointing(draft& d) {
  const auto* section = d.find({"framework", "options", "activation_checkpointing"});
  if (!d.loaded || section == nullptr || !d.framework_is("deepspeed")) return;
  if (section->dump().find("true") != std::string::npos) d.notes.push_back(d.place_of("framework.options.activation_checkpointing") + ": activation_checkpointing has no effect: the Trainer does not call deepspeed.checkpointing");
  d.job["framework"]["options"].erase("activation_checkpointing");
}

/// The format of weights that nothing trains, or that adapters are added to: as they were loaded. Quantised ones are prepared for training
/// in fp32 by some programs (peft/utils/other.py, prepare_model_for_kbit_training).
inline std::string loaded_format(const draft& d, const std::string& compute) {
  const auto word = d.loaded ? d.loaded->word : std::string{"fp32"};
  return word == "auto" || word == "half" ? (compute == "no" ? "fp32" : compute) : word;
}

/// Weights that do not train stay in 16 bits, in which all are multiplied, beside others in fp32: under autocast, or in FSDP2's shards, of which Accelerate makes
/// fp32 what trains alone (accelerate/utils/fsdp_utils.py, fsdp2_prepare_model).
inline void settle_frozen_format(draft& d, bool sharded) {
  const auto& word = d.half->word;
  if (d.frozen->word.empty()) fail("headroom: " + d.frozen->place + ": frozen weights stay in the checkpoint's 16 bits beside trained ones in fp32, and neither bf16 nor fp16 is given, by which both are multiplied: say bf16 true or fp16 true");
  if (word != d.frozen->word) fail("headroom: " + d.frozen->place + ": frozen weights in " + d.frozen->word + " and a step in " + word + " are not read together by this version");
  json_value p{{"parameters", sharded ? word : "fp32"}, {"compute", word}, {"frozen", word}};
  if (sharded) p["master"] = "fp32", p["state"] = "fp32";
  d.replace("precision", p, d.frozen->place);
}

/// Weights in `loaded`, what trains in `kept`; neither bf16 nor fp16 said ("no"): nothing is autocast.
inline json_value stated_formats(const std::string& loaded, const std::string& compute, const std::string& kept, const std::string& half) {
  json_value p{{"parameters", loaded}, {"compute", compute}, {"gradients", kept}, {"reduce", kept}, {"master", "none"}, {"state", kept}};
  if (half == "no") p["autocast"] = false;
  return p;
}

/// What bitsandbytes leaves of a base whose weights were loaded in 16 bits, and that nobody prepares for training: it stays in them.
inline void settle_rest(draft& d, const std::string& loaded) {
  const auto* base = d.find({"adapter", "base"});
  if (base == nullptr || !base->is_string() || !among_words("nf4|nf4-double|fp4|fp4-double|int8", base->get<std::string>())) return;
  if (loaded != "fp32" && !d.has({"adapter", "rest"}) && d.framework_is("hf-trainer")) d.job["adapter"]["rest"] = loaded;
}

/// Formats of a step under the Trainer and Accelerate, from the format of autocast (or "no") and that in which the weights were loaded.
inline void settle_formats(draft& d) {
  if (d.awaits_formats && !d.half && !(d.has({"precision"}) && d.has({"sharding"})))
    fail("headroom: " + d.awaits_formats->place + ": " + d.awaits_formats->word + ", and no file here says them: give that command, too, or say both (--set precision=bf16-mixed --set sharding=zero3 --set framework=deepspeed, or whatever they are)");
  if (!d.half || d.has({"precision"})) return;
  const auto& word = d.half->word;
  const auto loaded = loaded_format(d, word);
  const auto* s = d.find({"sharding"});
  const auto kind = s == nullptr ? json_value{} : s->is_object() && s->contains("kind") ? (*s)["kind"] : *s;
  const bool sharded = kind == "fsdp1" || kind == "fsdp2", engine = d.framework_is("deepspeed");
  const auto compute = word == "no" ? loaded : word;
  if (engine) {  // it casts the module, adapters and all (deepspeed/runtime/engine.py, _configure_distributed_model)
    if (d.has({"adapter"})) d.job["adapter"].erase("format");
    if (word == "no" && engine_decides_formats(d)) return;
    return d.replace("precision", word == "no" ? json_value("fp32") : engine_precision(d, word), d.half->place);
  }
  if (d.has({"adapter"})) {  // adapters stay in fp32 over weights of 16 bits (PEFT, autocast_adapter_dtype)
    settle_rest(d, loaded);
    if (compute == "fp32" && loaded == "fp32") return d.replace("precision", "fp32", d.half->place);
    return d.replace("precision", stated_formats(loaded, compute, "fp32", word), d.half->place);
  }
  if (d.frozen) return settle_frozen_format(d, sharded);
  // Accelerate makes what FSDP shards fp32 before it mixes formats (accelerate/accelerator.py, prepare_model; utils/fsdp_utils.py).
  if (sharded && word != "no") return d.replace("precision", word + "-mixed", d.half->place);
  if (loaded == "fp32") return d.replace("precision", word == "no" ? "fp32" : word + "-autocast", d.half->place);
  if (loaded == "fp16" && word == "fp16") fail("headroom: " + d.half->place + ": fp16 scales gradients, which weights loaded in fp16 (" + d.loaded->place + ") do not let it: PyTorch refuses the first step");
  d.replace("precision", stated_formats(loaded, compute, loaded, word), d.loaded->place);
}

/// Matrices of fp32 as tf32 (transformers training_args.py, tf32: torch.backends.cuda.matmul.allow_tf32).
inline void settle_tf32(draft& d) {
  if (const auto* p = d.find({"precision"}); d.tf32 && p != nullptr && *p == "fp32") d.replace("precision", {{"parameters", "fp32"}, {"compute", "tf32"}, {"gradients", "fp32"}, {"reduce", "fp32"}, {"master", "none"}, {"state", "fp32"}}, d.tf32->place);
}

/// Samples that all data-parallel ranks train on at once.
struct samples_at_once {
  std::int64_t micro{1}, data{1};
  [[nodiscard]] std::int64_t total() const { return checked::mul(micro, data); }
  [[nodiscard]] std::string text() const { return std::to_string(micro) + " × " + std::to_string(data); }
};
inline samples_at_once draft_samples(const draft& d) {
  const auto one = [](std::int64_t n) { return std::max<std::int64_t>(1, n); };
  const auto degree = [&](std::string_view key) { return one(draft_number(d, {"parallel", key}, "parallel." + std::string{key})); };
  const auto data = draft_number(d, {"parallel", "data"}, "parallel.data");
  const auto all = one(checked::mul(one(draft_nodes(d)), one(draft_gpus_per_node(d))) / checked::mul(degree("tensor"), degree("pipeline"), degree("context")));
  return {one(draft_number(d, {"batch", "micro"}, "batch.micro")), data == 0 ? all : data};
}

/// Micro-batches of a step, from samples of a step.
inline void settle_batch(draft& d) {
  if (!d.global_batch && !d.least_samples) return;
  const auto at_once = draft_samples(d);
  if (!d.global_batch) {
    if (!d.has({"batch", "accumulation"})) d.say({"batch", "accumulation"}, std::max<std::int64_t>(1, checked::ceil_div(d.least_samples->value, at_once.total())), d.least_samples->place);
    return;
  }
  if (d.global_batch->value % at_once.total() != 0)
    fail("headroom: " + d.global_batch->place + ": " + std::to_string(d.global_batch->value) + " samples of a step must be a multiple of micro-batch × data-parallel ranks, " + at_once.text());
  const auto steps = d.global_batch->value / at_once.total();
  if (d.own_accumulation && d.own_accumulation->value != steps)
    fail("headroom: " + d.own_accumulation->place + ": " + std::to_string(d.own_accumulation->value) + " micro-batches of " + at_once.text() + " samples are not the " + std::to_string(d.global_batch->value) + " of a step (" + d.global_batch->place + "), and the program ends: take one of them out");
  d.say({"batch", "accumulation"}, steps, d.global_batch->place);
}

/// Micro-batches whose completions are generated together, from the completions (TRL trl/trainer/grpo_config.py and rloo_config.py, __post_init__; ms-swift args_mixin.py: steps_per_generation).
inline void settle_generation_batch(draft& d) {
  if (!d.generation_batch || !d.has({"rollout"})) return;
  const auto& [all, place] = *d.generation_batch;
  const auto at_once = draft_samples(d);
  if (all % at_once.total() != 0) fail("headroom: " + place + ": generation_batch_size " + std::to_string(all) + " must be a multiple of micro-batch × processes, " + at_once.text() + ": the trainer stops there");
  const auto steps = all / at_once.total();
  if (steps != std::max<std::int64_t>(1, draft_number(d, {"batch", "accumulation"}, "batch.accumulation"))) d.say({"rollout", "steps_per_generation"}, steps, place);
}

/// Prompts and completions are a sequence; how long prompts are, some programs leave to the data. An engine takes as much however both share what they
/// may have together, and the longest completion takes most time.
inline void settle_rollout(draft& d) {
  const auto* r = d.find({"rollout"});
  if (r == nullptr || d.has_read(file_kind::job)) return;
  if (d.has({"rollout", "gathers"}) && !(d.has({"sharding", "stage"}) && d.job["sharding"]["stage"] == 3) && !d.has({"framework", "options"})) d.job["rollout"].erase("gathers");
  const auto place = d.place_of("rollout.engine");
  const auto all = d.shared_length ? d.shared_length->value : draft_number(d, {"batch", "sequence"}, "batch.sequence");
  auto completion = draft_number(d, {"rollout", "completion"}, "rollout.completion"), prompt = draft_number(d, {"rollout", "prompt"}, "rollout.prompt");
  if (d.shared_length && prompt == 0 && completion == 0 && all > 1) {
    const std::string what = "no file says how long prompts are: they and their completions share " + std::to_string(all) + " tokens, counted as a prompt of one token and a completion of the rest, which takes longest, and no other memory";
    d.say({"rollout", "completion"}, completion = all - 1, d.shared_length->place);
    d.notes.push_back(d.shared_length->place + ": " + what);
    d.assumed.push_back(what);
  }
  if (prompt == 0 && all > completion && completion > 0) d.say({"rollout", "prompt"}, prompt = all - completion, d.place_of("batch.sequence"));
  if (completion == 0 && prompt > 0 && all > prompt) d.say({"rollout", "completion"}, completion = all - prompt, d.place_of("batch.sequence"));
  if (prompt == 0) fail("headroom: " + place + ": no file says how long a prompt is: add --set rollout.prompt=TOKENS");
  if (completion == 0) fail("headroom: " + place + ": no file says how long a completion is: add --set rollout.completion=TOKENS");
  if (all == 0) d.say({"batch", "sequence"}, checked::add(prompt, completion), place);
}

/// What a file names and nobody gave decides the job: it is asked for.
inline void ask_for_files(const draft& d) {
  if (d.fsdp && std::none_of(d.named.begin(), d.named.end(), [](const auto& f) { return f.kind == file_kind::fsdp; }))
    fail("headroom: " + d.fsdp->source + ": is a configuration of FSDP, and no file names it by --fsdp_config (ms-swift: --fsdp): give the command that does, or take it out");
  for (const auto& f : d.named) {
    if (d.has_read(f.kind)) continue;
    const auto made = std::find_if(d.made_from.begin(), d.made_from.end(), [&](const auto& m) { return f.path.ends_with(m.first); });
    const auto what = "headroom: " + f.place + ": names " + (made == d.made_from.end() ? in_quotes(f.path) : in_quotes(made->second) + ", of which the script makes " + in_quotes(f.path)) + ", which no file here is: give it, too";
    if (f.kind == file_kind::deepspeed) {
      const auto* s = d.find({"sharding"});
      if (s != nullptr && *s != json_value{{"kind", "zero"}}) continue;  // said by --set
      fail(what + ", or --set sharding=zero3");
    }
    fail(what);
  }
}

/// What no default may stand for.
inline void ask_for_the_rest(const draft& d) {
  if (!d.has({"framework"}) && !d.has_read(file_kind::job)) fail("headroom: no file says which program trains: give its launch command or its configuration, or --set framework=NAME");
  if (d.read_by_model && d.place_of("model").starts_with("--set")) fail("headroom: " + d.read_by_model->place + ": " + d.read_by_model->word + " means something else for another model: say it by --model NAME, or give its config.json, in place of --set model");
  if (!d.has({"model"}) && d.awaits_model)
    fail("headroom: " + d.awaits_model->place + ": the model " + in_quotes(d.awaits_model->word) + " is not in the model zoo: give its config.json, too, or --model NAME");
  if (!d.has({"model"})) fail("headroom: no file says which model is trained: add --model NAME, or the model's config.json");
  if (const auto* m = d.find({"model"}); d.awaits_vocabulary && m->is_object() && m->contains("hidden") && !m->contains("vocab"))
    fail("headroom: " + d.awaits_vocabulary->place + ": " + d.awaits_vocabulary->word + ": add --set model.vocab=N");
  if (d.awaits_rows && !d.has({"model", "vocab"})) fail("headroom: " + d.awaits_rows->place + ": " + d.awaits_rows->word + ": add --set model.vocab=N");
  if (d.awaits_texts && d.has({"objective"}) && !d.has({"objective", "texts"})) fail("headroom: " + d.awaits_texts->place + ": no file says how many " + d.awaits_texts->word + ": add --set objective.texts=N");
  if (d.awaits_images && !d.has({"batch", "images", "count"}) && !d.has({"batch", "images", "none"})) fail("headroom: " + d.awaits_images->place + ": no file says how many " + d.awaits_images->word + ": add --set batch.images.count=N");
  if (d.awaits_targets && d.has({"adapter"}) && !d.has({"adapter", "targets"})) fail("headroom: " + d.awaits_targets->place + ": " + d.awaits_targets->word + " or --set adapter.targets=[…]");
  if (!d.has({"hardware", "gpu"})) fail("headroom: no file says which GPU it is: add --gpu NAME (headroom list gpus has the names)");
}

}  // namespace detail

inline job draft::settled() {
  detail::settle_npu_kernels(*this);
  detail::settle_loading(*this);
  detail::settle_releases(*this);
  detail::settle_liger(*this);
  detail::ask_for_files(*this);
  detail::settle_megatron_deepspeed(*this);
  detail::settle_spread(*this);
  detail::settle_text_class(*this);
  detail::settle_adapters(*this);
  detail::settle_joined_names(*this);
  detail::settle_experts(*this);
  detail::settle_gpus(*this);
  detail::settle_placement(*this);
  detail::settle_sharding(*this);
  detail::check_factory(*this);
  detail::settle_reentry(*this);
  detail::settle_towers(*this);
  detail::settle_stored(*this);
  detail::settle_formats(*this);
  detail::settle_left_open(*this);
  detail::settle_tf32(*this);
  detail::settle_checkpointing(*this);
  detail::settle_dropout(*this);
  detail::settle_own_checkpoints(*this);
  detail::settle_accumulation(*this);
  detail::settle_batch(*this);
  detail::settle_generation_batch(*this);
  detail::settle_rollout(*this);
  detail::settle_lengths(*this);
  detail::settle_roles(*this);
  detail::settle_evaluation(*this);
  detail::settle_stages(*this);
  detail::ask_for_the_rest(*this);
  const bool open = !has({"batch", "sequence"});
  auto whole = job;
  if (!ignored.empty()) whole["ignored_keys"] = ignored;
  if (!assumed.empty()) whole["assumed_defaults"] = assumed;
  if (open && (!whole.contains("batch") || whole["batch"].is_object())) whole["batch"]["sequence"] = 1;
  std::string sentence;
  try {
    const auto made = read_job(whole, "/nonexistent/folder");
    auto seen = made.batch.images;
    if (made.model.vision.kind == vision_kind::pixtral && !seen.given() && !seen.none) seen.count = 1;  // images of any size, and nobody says how large
    (void)headroom::detail::check_images(made.model.vision, seen, refusing{});
    if (!open) return made;
    sentence = "headroom: no file says how long a sequence is: add --set batch.sequence=TOKENS";
  } catch (const job_error& e) {
    sentence = with_places_of(e.what());
  }
  fail(sentence);
}

}  // namespace headroom::io
