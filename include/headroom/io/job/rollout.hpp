// Distributed under the Boost Software License, Version 1.0.
// The keys of a job that say how completions are generated: rollout.
#pragma once

#include <headroom/io/job/recipe.hpp>

namespace headroom::io {

/// All but `trainer_moves`, a list.
template <class Keys>
void describe(Keys& k, rollout& r) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  k.word("engine", r.engine);
  k.word("placement", r.placement);
  k.word("model", r.by);
  k.scaled("share", r.share.per_million, 0, 1e6, 1.0);
  k.whole("tensor", r.tensor, std::int64_t{1}, 1, most);
  k.whole("sleep", r.sleep, std::int32_t{-1}, 0, 2);
  k.flag("graphs", r.graphs);
  format_key(k, "format", r.format);
  format_key(k, "kv_format", r.kv_format);
  k.whole("batched_tokens", r.batched_tokens, {}, 0, most);
  k.whole("prompt", r.prompt);
  k.whole("completion", r.completion);
  k.whole("data_answers", r.data_answers);
  k.whole("generations", r.generations, {}, 0, most);
  k.whole("steps_per_generation", r.steps_per_generation, {}, 0, most);
  k.whole("iterations", r.iterations, {}, 0, most);
  k.flag("corrects", r.corrects);
  k.whole("batch", r.batch, {}, 0, most);
  k.whole("sync_bucket_mib", r.sync_bucket_mib, std::int64_t{-1}, 0, most);
  k.whole("sync_groups", r.sync_groups, std::int64_t{1}, 1, most);
  k.whole("gpus", r.gpus, {}, 0, most);
  k.flag("gathers", r.gathers);
}

inline rollout read_rollout(const json_value& value, const std::string& path) {
  rollout r;
  key_reader k{value, path};
  k.need("engine", "who generates, e.g. \"vllm\" or \"trainer\"");
  describe(k, r);
  if (const auto* v = k.take("trainer_moves"))
    each_at(*v, k.at("trainer_moves"), "a list of what the trainer puts on the host", [&](const json_value& one, const std::string& at) { r.trainer_moves.add(name_at<trainer_part>(one, at)); });
  k.finish();
  return r;
}
/// Samples are as long as the longest prompt and the longest completion together (settle/check_rollout.hpp, check_generated_lengths), so that of the three lengths
/// two say the third. Of verl's and NeMo-RL's, whose rows hold several samples or shorter ones, they do not.
inline void complete_lengths(job& j) {
  auto& r = j.rollout;
  const bool rows = j.batch.packed || j.objective.code == method_code::verl || j.objective.code == method_code::nemo_rl;
  if (!r.given() || rows || (r.prompt > 0) == (r.completion > 0)) return;
  if (const auto rest = j.batch.sequence - r.prompt - r.completion; rest > 0) (r.prompt > 0 ? r.completion : r.prompt) = rest;
}
inline json_value rollout_to_json(const rollout& r) {
  auto object = written_keys(r);
  for (const auto& n : names_of<trainer_part>)
    if (r.trainer_moves.has(n.value)) object["trainer_moves"].push_back(n.text);
  return object;
}

}  // namespace headroom::io
