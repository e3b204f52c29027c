// Distributed under the Boost Software License, Version 1.0.
// The schema of each part of a job file, from the keys that its reader reads.
#pragma once

#include <headroom/io/job/hardware.hpp>
#include <headroom/io/job/key_schema.hpp>
#include <headroom/io/job/layout.hpp>
#include <headroom/io/job/lengths.hpp>
#include <headroom/io/job/measured.hpp>
#include <headroom/io/job/model.hpp>
#include <headroom/io/job/modules.hpp>
#include <headroom/io/job/objective.hpp>
#include <headroom/io/job/rollout.hpp>

#include <string>

namespace headroom::io {
namespace detail {

constexpr std::int64_t most_layers = std::int64_t{1} << 20;

inline schema_value formats_schema() {
  return words_schema(texts(formats::all, [](const number_format& f) { return f.label.view(); }));
}
inline schema_value modules_schema(std::vector<std::string_view> names = {}) {
  for (const auto& m : exact_modules) names.push_back(m.text);
  for (const auto& m : usual_modules) names.push_back(m.text);
  return list_schema(words_schema(names));
}
inline schema_value modules_or_all() { return either_schema(words_schema(std::array{std::string_view{"all-linear"}}), modules_schema({"all-linear"})); }
inline schema_value or_name(schema_value object, const std::vector<std::string_view>& names) { return either_schema(words_schema(names), std::move(object)); }
inline schema_value object_schema() { return {{"type", "object"}}; }

inline schema_value model_schema() {
  shape m;
  key_schema k{"model"};
  k.is("base", {{"type", "string"}});
  describe(k, m);
  k.is("pattern", either_schema(list_schema({{"type", "string"}}), schema_value{{"type", "string"}, {"pattern", "^[MG*E-]+$"}}));
  auto own = k.object();
  auto& properties = own["properties"];
  const auto queries = whole_schema(0, largest_count);
  schema_value resampler = {{"type", "object"}, {"properties", {{"queries", queries}, {"hidden", queries}}}, {"additionalProperties", false}};
  properties["experts"]["properties"]["dense_layers"].update(list_schema(whole_schema(0, 127)));
  properties["vision"]["properties"]["resampler"].update(either_schema(queries, resampler));
  properties["vision"]["properties"]["positions"].update(queries);
  // A Hugging Face configuration says one of these, and what else it says is its own.
  auto config = object_schema(), either = schema_value::array();
  for (const auto* key : {"model_type", "architectures"}) either.push_back(schema_value{{"required", schema_value::array({key})}});
  config["anyOf"] = std::move(either);
  return either_schema(schema_value{{"type", "string"}}, std::move(own), std::move(config));
}

inline schema_value hardware_schema() {
  gpu g;
  key_schema of_gpu{"hardware.gpu"};
  describe(of_gpu, g);
  of_gpu.require("name");
  std::vector<std::string_view> names;
  for (const auto& known : gpus::all) names.push_back(known.label.view());
  for (const auto& a : gpus::aliases) names.push_back(a.from.view());
  of_gpu.without_defaults();  // of a name of the table they are its own
  const auto one = or_name(of_gpu.object(), names);
  schema_value group = {{"type", "object"}, {"properties", {{"gpu", one}, {"count", whole_schema(1, most_layers)}}}, {"required", schema_value::array({"gpu", "count"})}, {"additionalProperties", false}};
  cluster c;
  key_schema k{"hardware"};
  describe(k, c);
  auto kinds = list_schema(group);
  kinds["minItems"] = 1;
  kinds["maxItems"] = 1 + gpu_groups::capacity;
  k.is("gpu", either_schema(one, std::move(kinds)));
  return k.object();
}

inline schema_value precision_schema() {
  precision p;
  key_schema k{"precision"};
  describe(k, p);
  k.require("parameters");
  return or_name(k.object(), texts(precisions::all, [](const precision& known) { return known.label.view(); }));
}

inline schema_value optimizer_schema() {
  const auto names = texts(optimizers::all, [](const optimizer& o) { return o.label.view(); });
  optimizer o;
  key_schema k{"optimizer"};
  k.is("name", words_schema(names));
  k.is("paged", {{"type", "boolean"}});
  describe(k, o);
  k.without_defaults();  // they are what the name means
  k.require("name");
  return or_name(k.object(), names);
}

inline schema_value parallel_schema() {
  degrees d;
  key_schema k{"parallel"};
  describe(k, d);
  k.is("schedule", words_schema_of<schedule>());
  auto layers = list_schema(whole_schema(0, 65'535));
  layers["maxItems"] = degrees::max_entries;
  k.is("stage_layers", std::move(layers));
  k.is("virtual_pipeline", whole_schema(1, most_layers));
  return k.object();
}

inline schema_value sharding_schema() {
  sharding s;
  key_schema k{"sharding"};
  describe(k, s);
  k.is("kind", words_schema_of<sharding_kind>());
  k.is("unit", words_schema(std::array{std::string_view{"layer"}}));
  std::vector<std::string_view> words{"zero0", "zero1", "zero2", "zero3"};
  for (const auto& n : names_of<sharding_kind>)
    if (n.value != sharding_kind::zero) words.push_back(n.text);
  return or_name(k.object(), words);
}

inline schema_value offload_schema() {
  offload o;
  key_schema k{"offload"};
  describe(k, o);
  auto activations = words_schema(std::array{std::string_view{"none"}, std::string_view{"cpu"}});
  activations["default"] = "none";
  k.is("activations", std::move(activations));
  return k.object();
}

inline schema_value recompute_schema() {
  recompute r;
  key_schema k{"recompute"};
  describe(k, r);
  k.is("modules", list_schema(words_schema_of<recompute_module>()));
  k.require("mode");
  return or_name(k.object(), texts(names_of<recompute_mode>, [](const auto& n) { return n.text; }));
}

inline schema_value objective_schema() {
  objective o;
  key_schema k{"objective"};
  k.is("kind", words_schema_of<objective_kind>());
  describe(k, o);
  for (const auto& r : roles_of_objective) {
    key_schema role{std::string{"objective."} + r.key};
    role.is("model", either_schema(schema_value{{"type", "string"}}, object_schema()));
    describe(role, o.*r.role);
    role.require("model");
    k.is(r.key, either_schema(schema_value{{"type", "string"}}, role.object()));
  }
  k.require("kind");
  return or_name(k.object(), texts(names_of<objective_kind>, [](const auto& n) { return n.text; }));
}

inline schema_value rollout_schema() {
  rollout r;
  key_schema k{"rollout"};
  describe(k, r);
  k.is("trainer_moves", list_schema(words_schema_of<trainer_part>()));
  k.require("engine");
  return k.object();
}

inline schema_value adapter_schema() {
  adapter a;
  key_schema k{"adapter"};
  k.is("kind", words_schema_of<adapter_kind>());
  k.whole("rank", a.rank, {}, 1, most_layers);
  k.is("targets", modules_or_all());
  format_key(k, "format", a.format);
  probability_key(k, "dropout", a.dropout);
  format_key(k, "base", a.base);
  format_key(k, "rest", a.rest);
  format_key(k, "rest_experts", a.rest_experts);
  k.is("base_skips", modules_schema());
  k.is("base_also", modules_schema());
  k.is("vision_targets", modules_schema());
  k.is("projector_targets", modules_schema());
  k.is("modules_to_save", modules_schema());
  k.is("fused_qkv", either_schema(schema_value{{"type", "boolean"}}, words_schema(std::array{std::string_view{"litgpt"}})));
  k.require("kind");
  return k.object();
}

inline schema_value trainable_schema() {
  key_schema k{"trainable"};
  auto layers = list_schema(whole_schema(-1, most_layers));
  layers["minItems"] = layers["maxItems"] = 2;
  k.is("layers", std::move(layers));
  k.is("experts", either_schema(whole_schema(0, most_layers), list_schema(whole_schema(0, most_layers))));
  k.is("modules", modules_or_all());
  auto list = list_schema(k.object());
  list["minItems"] = 1;
  list["maxItems"] = trainable::capacity;
  return either_schema(words_schema(std::array{std::string_view{"all"}}), std::move(list));
}

inline schema_value environment_schema() {
  environment e;
  key_schema k{"environment"}, allocator{"environment.allocator"};
  describe(k, e);
  const auto size = whole_schema(0, std::int64_t{1} << 40);
  k.is("cublas_workspace", either_schema(schema_value{{"type", "string"}, {"pattern", "^(:[0-9]+:[0-9]+)+$"}}, size));
  allocator.flag("expandable_segments", e.expandable_segments);
  allocator.is("max_split_size_mb", whole_schema(21, 1 << 20));
  allocator.is("roundup_power2_divisions", {{"type", "integer"}, {"enum", schema_value::array({1, 2, 4, 8, 16, 32, 64})}});
  allocator.is("garbage_collection_threshold", {{"type", "number"}, {"minimum", 0}, {"maximum", 1}});
  k.is("allocator", allocator.object());
  k.is("nccl_buffsize", size);
  k.is("torch", {{"type", "string"}, {"pattern", "^[0-9]+\\.[0-9]+"}});
  return k.object();
}

template <class T>
schema_value plain_schema(std::string path) {
  T value;
  key_schema k{std::move(path)};
  describe(k, value);
  return k.object();
}

inline schema_value batch_schema() {
  batch b;
  key_schema k{"batch"}, lengths{"batch.lengths"};
  describe(k, b);
  describe(lengths, b.lengths);
  auto bucket = list_schema(whole_schema(1, most_histogram_samples));
  bucket["minItems"] = bucket["maxItems"] = 3;
  auto buckets = list_schema(std::move(bucket)), list = list_schema(whole_schema(1, most_sample));
  buckets["minItems"] = list["minItems"] = 1;
  buckets["maxItems"] = sample_lengths::most_buckets;
  lengths.is("histogram", std::move(buckets));
  lengths.is("list", std::move(list));
  lengths.is("file", {{"type", "string"}});
  k.is("lengths", lengths.object());
  return k.object();
}

inline schema_value measured_schema() {
  key_schema k{"measured"}, predicted{"measured.predicted"}, estimated{"measured.predicted.estimated"};
  const auto amount = either_schema(whole_schema(0, largest_exact), schema_value{{"type", "string"}, {"pattern", "^[0-9]"}});
  for (int m = 0; m < reading_count; ++m) {
    const auto name = text(static_cast<reading>(m));
    k.is(name, amount);
    for (auto* of : {&predicted, &estimated}) of->is(name, whole_schema(0, largest_exact));
  }
  k.is("step", {{"type", "number"}, {"minimum", 1e-6}, {"maximum", longest_step}});
  measured_rank rank{};
  k.word("rank", rank);
  k.is("of", object_schema());
  predicted.is("estimated", estimated.object());
  predicted.is("fingerprint", {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}});
  predicted.is("errors", object_schema());
  predicted.is("step_nanoseconds", whole_schema(0, static_cast<std::int64_t>(longest_step * 1e9)));
  predicted.is("step_errors", object_schema());
  k.is("predicted", predicted.object());
  return k.object();
}

}  // namespace detail
}  // namespace headroom::io
