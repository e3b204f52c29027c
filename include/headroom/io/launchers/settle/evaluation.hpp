// Distributed under the Boost Software License, Version 1.0.
// What a launcher evaluates between steps, once all of the job is known: the key `evaluation`, or why it may be left out.
#pragma once

#include <headroom/io/job/transformers_releases.hpp>
#include <headroom/io/launchers/largest_images.hpp>

namespace headroom::io::detail {

/// Since its release 5 transformers' Trainer sets the model's use_cache, to false unless its argument of that name says otherwise (trainer.py, __init__;
/// training_args.py, use_cache; MIGRATION_GUIDE_V5.md). A job without a version is of the newest.
inline bool trainer_turns_cache_off(const draft& d) {
  const auto* said = d.find({"framework", "version"});
  if (said == nullptr || !said->is_string()) return true;
  const auto& version = said->get_ref<const std::string&>();
  const auto release = transformers_in(version);
  return release != 0 ? release >= 500 : version >= "2026-01";
}

/// The key `evaluation`. Where it is not modelled, it may be left out: forwards of as many examples as train at once, or of fewer, take less than
/// those that keep a graph, as long as keys and values are no wider than what checkpoints keep.
inline void settle_evaluation(draft& d) {
  if (!d.evaluates) return;
  auto& e = *d.evaluates;
  if (e.by_trainer && trainer_turns_cache_off(d)) e.keys["use_cache"] = false;
  const auto number = [&](std::string_view section, std::string_view key) {
    const auto* v = d.find({section, key});
    return v != nullptr && v->is_number_integer() ? v->get<std::int64_t>() : std::int64_t{1};
  };
  const auto* by = d.find({"objective", "trainer"});
  const auto* kind = d.find({"objective", "kind"});
  if (d.has({"rollout"}) && kind != nullptr && by != nullptr && (*kind == "grpo" || *kind == "rloo") && (*by == "ms-swift" || (by->is_string() && by->get_ref<const std::string&>().starts_with("trl")))) {
    if (!d.has({"evaluation"})) d.say({"evaluation", "batch"}, e.batch, e.place);
    return;
  }
  const auto m = model_of(d);
  const bool cuts = by != nullptr && *by == "ms-swift";  // rows that are evaluated, too
  const bool spread = number("parallel", "pipeline") > 1 || (number("parallel", "context") > 1 && !cuts), generates = d.has({"rollout"});
  const bool still = d.has({"adapter"}) || d.has({"batch", "images", "none"});  // the tower does not train
  const bool other = m.encoder.layers > 0 || (m.vision.kind != vision_kind::none && !still);
  if (!spread && !generates && !other) {
    d.say({"evaluation", "batch"}, d.has({"evaluation", "batch"}) ? d.job["evaluation"]["batch"] : json_value(e.batch), e.place);
    for (const auto& [key, value] : e.keys.items())
      if (!d.has({"evaluation", key})) d.say({"evaluation", key}, value, e.place);
    return;
  }
  if (d.has({"evaluation"})) return;
  const std::string_view why = generates ? "evaluation beside generated completions" : spread ? "evaluation with layers spread over GPUs" : "evaluation of a model with a tower or an encoder";
  const auto heads = std::max<std::int64_t>(m.heads, 1), kv = m.kv_heads > 0 ? m.kv_heads : heads, head = m.head_dim > 0 ? m.head_dim : m.hidden / heads;
  const bool narrow = (e.keys.contains("use_cache") || generates || 2 * kv * head <= m.hidden) && !d.has({"loss", "kind"});
  if (e.batch > number("batch", "micro") || !narrow || e.keys.contains("generate") || e.keys.contains("samples"))
    return d.unmodelled_key(e.key, e.batch, e.place, std::string{why} + ", unless it is of no more examples at once than a step trains on");
  d.notes.push_back(e.place + ": " + std::string{why} + " is left out: it takes less than a step, which trains on as many examples at once");
}

}  // namespace headroom::io::detail
