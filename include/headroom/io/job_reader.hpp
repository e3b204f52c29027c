// Distributed under the Boost Software License, Version 1.0.
// A job from its JSON form, and back. Every key is described beside its section: io/job/.
#pragma once

#include <headroom/io/frameworks.hpp>
#include <headroom/io/options/bridge_releases.hpp>
#include <headroom/io/job/lengths.hpp>
#include <headroom/io/job/measured.hpp>
#include <headroom/io/job/method_release.hpp>
#include <headroom/io/job/model.hpp>
#include <headroom/io/job/modules.hpp>
#include <headroom/io/job/objective.hpp>
#include <headroom/io/job/older_words.hpp>
#include <headroom/io/job/quantised_model.hpp>
#include <headroom/io/job/rollout.hpp>

namespace headroom::io {

/// How a job is read.
struct job_reading {
  file_base base{"."};                             ///< what its paths are relative to
  std::span<const std::string_view> layers{};      ///< labels of layers of one's own that its model.pattern may name: own_layers::labels()
};

namespace detail {

inline job job_from(const json_value& given, const job_reading& how) {
  check_labels(how.layers);
  const auto translated = in_words_of_today(given);
  const json_value& value = translated ? *translated : given;
  job j;
  key_reader k{value, ""};
  if (!value.contains("model"))
    for (const auto* theirs : {"train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization", "architectures", "model_type"})
      if (value.contains(theirs)) fail("headroom: model is required, and \"" + std::string{theirs} + "\" is a key of another program's file: headroom import makes a job of it");
  j.model = read_model(k.need("model", "a name, a path, a configuration or a shape"), "model", how.base, how.layers);
  const model_parts parts = j.model;
  k.nested("hardware", j.hardware);
  framework_choice framework;
  if (const auto* v = k.take("framework")) framework = read_framework(*v, "framework");
  j.framework = framework.chosen;
  j.undated = framework.undated;
  if (const auto* v = k.take("precision")) j.precision = read_precision(*v, "precision");
  if (const auto* v = k.take("optimizer")) j.optimizer = read_optimizer(*v, "optimizer");
  k.nested("parallel", j.parallel);
  cut_by_letters(j.parallel, value.at("model"));
  if (const auto* v = k.take("sharding")) j.sharding = read_sharding(*v, "sharding");
  k.nested("offload", j.offload);
  if (const auto* v = k.take("batch")) j.batch = read_batch(*v, "batch", how.base);
  if (const auto stated = value.find("batch"); stated != value.end() && framework.leaves_lengths_unsaid(j.batch, *stated)) j.batch.lengths.unknown = true;
  if (const auto* v = k.take("recompute")) j.recompute = read_recompute(*v, "recompute");
  if (const auto* v = k.take("attention")) j.attention = name_at<attention>(*v, "attention");
  k.word("recurrence", j.recurrence);
  if (const auto* v = k.take("kernels")) each_at(*v, "kernels", "a list of kernels", [&](const json_value& one, const std::string& path) { j.kernels.add(name_at<fused_kernel>(one, path)); });
  k.nested("loss", j.loss);
  if (const auto* v = k.take("objective")) j.objective = read_objective(*v, "objective", how.base);
  date_method(j.objective, framework.version);
  if (const auto* v = k.take("rollout")) j.rollout = read_rollout(*v, "rollout");
  complete_lengths(j);
  k.nested("evaluation", j.evaluation);
  if (const auto* v = k.take("adapter")) j.adapter = read_adapter(*v, "adapter", parts);
  read_stored_format(j, value.at("model"), how.base);
  if (const auto* v = k.take("trainable")) j.trainable = read_trainable(*v, "trainable", parts);
  k.nested("dropout", j.dropout);
  k.nested("fake_quantization", j.fake_quantization);
  k.flag("compile", j.compile);
  k.nested("environment", j.environment);
  if (const auto* v = k.take("measured")) j.measured = read_complete_measured(*v, "measured");
  // By name, as `import` writes them, or how many.
  const auto several = [&](const char* key, std::int32_t& n) {
    if (const auto* v = k.take(key)) n = static_cast<std::int32_t>(v->is_array() ? static_cast<std::int64_t>(v->size()) : whole_at(*v, key, 0, 1 << 20));
  };
  several("ignored_keys", j.ignored_keys);
  several("assumed_defaults", j.assumed_defaults);
  k.finish();
  read_framework_options(j, framework.options, value);
  performance::apply_release(j, framework.version);
  if (j.batch.sequence == 0) fail("headroom: batch.sequence is required: tokens of a sequence");
  if (j.sharding.stage == stage_not_stated)
    fail("headroom: sharding.stage is required for \"zero\": a whole number from 0 to 3");
  return j;
}

}  // namespace detail

/// Reads every key of a job. Paths in it are relative to `base` and lead to files below it; with `no_files` none is followed, and
/// file_base::anywhere_from(folder) is for who reads a job of their own. Throws job_error: unknown keys,
/// wrong types, impossible values, `measured` without what is predicted of that run (io/measured_job.hpp), and options that contradict neutral keys, each with its path. Whether the job makes sense as a
/// whole is for estimate() to say.
job read_job(const json_value& value, const file_base& base = ".");
/// … of a program with layers of its own (block/own_layer.hpp):
///   const own_layers mine{mixer{.inner = 4096}};
///   const job j = read_job(value, {.layers = mine.labels()});    // "pattern": ["mixer", "mixer", "mixer", "attention"]
///   const report r = estimate(j, mine);
/// A name in a pattern that is neither shipped nor among the labels is refused with both lists.
job read_job(const json_value& value, const job_reading& how);

#ifndef HEADROOM_COMPILED
inline job read_job(const json_value& value, const file_base& base) { return detail::job_from(value, {.base = base}); }
inline job read_job(const json_value& value, const job_reading& how) { return detail::job_from(value, how); }
#endif

/// The job in a file of one's own: paths in it are relative to the file's folder and lead anywhere.
inline job read_job_file(const std::filesystem::path& file) { return read_job(parse_json_file(file), file_base::anywhere_from(file.parent_path())); }

/// The neutral keys of a job, without those that have their default: read_job() makes the same job of them, except that
/// precision recipes of one's own lose their label. Throws job_error where a file cannot say it (formats, optimizers and
/// frameworks that the library does not ship).
inline json_value job_to_json(const job& j) {
  const model_parts parts = j.model;
  json_value out = {
      {"model", model_to_json(j.model)}, {"framework", write_framework(j.framework)}, {"batch", batch_to_json(j.batch)}};
  if (j.undated) out["framework"]["version"] = "undated";
  const auto put = [&out](const char* key, const json_value& value) {
    if (!value.empty()) out[key] = value;
  };
  put("hardware", written_keys(j.hardware));
  if (j.precision.set()) out["precision"] = precision_to_json(j.precision);
  auto update = j.optimizer;
  if (!update.set() && update.how != implementation::unset) {  // AdamW, of which a file says how it is carried out only beside its name
    update = optimizers::adamw;
    update.how = j.optimizer.how;
  }
  if (update.set()) out["optimizer"] = optimizer_to_json(update);
  put("parallel", written_keys(j.parallel));
  out["sharding"] = written_keys(j.sharding);
  put("offload", written_keys(j.offload));
  out["recompute"] = recompute_to_json(j.recompute);
  if (j.attention != attention::unset) out["attention"] = text_of(j.attention);
  if (j.recurrence != recurrence::unset) out["recurrence"] = text_of(j.recurrence);
  for (const auto& n : names_of<fused_kernel>)
    if (j.kernels.has(n.value)) out["kernels"].push_back(n.text);
  put("loss", written_keys(j.loss));
  if (j.objective != objective{}) out["objective"] = objective_to_json(j.objective);
  if (j.rollout != rollout{}) out["rollout"] = rollout_to_json(j.rollout);
  put("evaluation", written_keys(j.evaluation));
  if (j.adapter != adapter{}) out["adapter"] = adapter_to_json(j.adapter, parts);
  if (!j.trainable.all()) out["trainable"] = trainable_to_json(j.trainable, parts);
  put("dropout", written_keys(j.dropout));
  put("fake_quantization", written_keys(j.fake_quantization));
  if (j.compile) out["compile"] = true;
  put("environment", written_keys(j.environment));
  if (j.measured.given()) out["measured"] = measured_to_json(j.measured);
  if (j.ignored_keys > 0) out["ignored_keys"] = j.ignored_keys;
  if (j.assumed_defaults > 0) out["assumed_defaults"] = j.assumed_defaults;
  return out;
}

}  // namespace headroom::io
