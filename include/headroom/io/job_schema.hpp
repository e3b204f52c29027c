// Distributed under the Boost Software License, Version 1.0.
// What a job file may say: a JSON Schema for editors and validators, and the same as a page, both from the keys that the reader reads.
#pragma once

#include <headroom/io/frameworks.hpp>
#include <headroom/io/job/section_schemas.hpp>

namespace headroom::io {

namespace detail {

inline schema_value framework_schema() {
  const std::vector<std::string_view> names(framework_names.begin(), framework_names.end());
  key_schema k{"framework"};
  k.is("name", words_schema(names));
  k.is("version", {{"type", "string"}});
  k.is("options", object_schema());
  k.require("name");
  return or_name(k.object(), names);
}

}  // namespace detail

/// The JSON Schema (draft 2020-12) of a job file. What contradicts itself across keys is for estimate() to say.
inline schema_value job_schema() {
  key_schema k{""};
  k.is("model", detail::model_schema());
  k.is("hardware", detail::hardware_schema());
  k.is("framework", detail::framework_schema());
  k.is("precision", detail::precision_schema());
  k.is("optimizer", detail::optimizer_schema());
  k.is("parallel", detail::parallel_schema());
  k.is("sharding", detail::sharding_schema());
  k.is("offload", detail::offload_schema());
  k.is("batch", detail::batch_schema());
  k.is("recompute", detail::recompute_schema());
  k.is("attention", words_schema_of<attention>());
  k.is("recurrence", words_schema_of<recurrence>());
  k.is("kernels", list_schema(words_schema_of<fused_kernel>()));
  k.is("loss", detail::plain_schema<loss>("loss"));
  k.is("objective", detail::objective_schema());
  k.is("rollout", detail::rollout_schema());
  k.is("evaluation", detail::plain_schema<evaluation>("evaluation"));
  k.is("adapter", detail::adapter_schema());
  k.is("trainable", detail::trainable_schema());
  k.is("dropout", detail::plain_schema<dropout>("dropout"));
  k.is("fake_quantization", detail::plain_schema<fake_quantization>("fake_quantization"));
  k.is("compile", {{"type", "boolean"}, {"default", false}});
  k.is("environment", detail::environment_schema());
  k.is("measured", detail::measured_schema());
  for (const auto* key : {"ignored_keys", "assumed_defaults"}) k.is(key, either_schema(list_schema({{"type", "string"}}), whole_schema(0, 1 << 20)));
  k.require("model");
  schema_value schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "A job of headroom"}};
  schema.update(k.object());
  return schema;
}

}  // namespace headroom::io
