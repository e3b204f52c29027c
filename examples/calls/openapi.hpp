// Distributed under the Boost Software License, Version 1.0.
// The calls as an OpenAPI document (spec.openapis.org/oas/v3.1.0), for clients that are generated.
#pragma once

#include "calls.hpp"

#include <headroom/io/job_schema.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace calls {

/// What a call is for, and its keys beside those of all calls; the first `needed` are required.
struct offer {
  std::string_view name, sentence;
  std::array<std::string_view, 12> keys{};
  std::size_t needed{};
};
inline constexpr std::array<offer, names.size()> offers{{
    {"estimate", "What a job occupies and how long its step takes, without fragmentation", {"job"}, 1},
    {"replay", "The same with the allocator's fragmentation, and advice where it does not fit", {"job"}, 1},
    {"cost", "The time of a job's step", {"job"}, 1},
    {"plan", "The fastest plans that fit, of keys that are \"auto\"", {"job", "top", "threads", "part", "parts"}, 1},
    {"solve", "The largest (or least) value of a key that fits", {"job", "for"}, 2},
    {"fit", "The longest sequence and the largest micro-batch of a fine-tuning", {"model", "method", "gpu", "gpus", "sequence", "micro", "rank", "taken_gib", "set"}, 3},
    {"diagnose", "Why a run went out of memory", {"job", "message"}, 2},
    {"import", "A job from the files of other programs", {"files", "as", "model", "gpu", "auto", "program", "line", "env", "ignore", "set"}, 1},
    {"export", "A job as the file of another program", {"job", "to"}, 2},
    {"text", "The report as a person reads it", {"job"}, 1},
    {"svg", "The step as a picture", {"job"}, 1},
    {"html", "A page of the job", {"job"}, 1},
    {"list", "Names that a job may use", {"what"}, 1},
}};

namespace detail {

inline nlohmann::ordered_json key_schema(std::string_view key) {
  using json = nlohmann::ordered_json;
  const auto kind = [](const char* type) { return json{{"type", type}}; };
  if (key == "job") return {{"description", "a job, or the name of one of the files"}, {"oneOf", {kind("object"), kind("string")}}};
  if (key == "files") return {{"oneOf", {json{{"type", "object"}, {"additionalProperties", {{"type", {"string", "object"}}}}}, kind("array")}}};
  if (key == "set" || key == "env") return kind("object");
  if (key == "ignore") return {{"type", "array"}, {"items", kind("string")}};
  if (key == "confidence") return {{"type", "number"}, {"minimum", 0.5}, {"maximum", 0.999}};
  if (key == "seconds" || key == "taken_gib") return {{"type", "number"}, {"minimum", 0}};
  for (const auto* whole : {"interface", "top", "threads", "part", "parts", "gpus", "sequence", "micro", "rank", "line"})
    if (key == whole) return kind("integer");
  return kind("string");
}

}  // namespace detail

/// The whole document. `prefix` stands before a call's name: "/v1/".
inline nlohmann::ordered_json openapi(const std::string& version, const std::string& prefix) {
  using json = nlohmann::ordered_json;
  json paths = json::object();
  const auto answer = [](const char* why) { return json{{"description", why}, {"content", {{"application/json", {{"schema", {{"$ref", "#/components/schemas/answer"}}}}}}}}; };
  for (const auto& o : offers) {
    json properties = json::object(), required = json::array();
    for (std::size_t i = 0; i < o.keys.size() && !o.keys[i].empty(); ++i) {
      properties[std::string{o.keys[i]}] = detail::key_schema(o.keys[i]);
      if (i < o.needed) required.push_back(std::string{o.keys[i]});
    }
    for (const auto* key : {"files", "confidence", "seconds", "interface"}) properties[key] = detail::key_schema(key);
    const json schema{{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}};
    paths[prefix + std::string{o.name}]["post"] = {{"operationId", std::string{o.name}},
                                                   {"summary", std::string{o.sentence}},
                                                   {"requestBody", {{"required", true}, {"content", {{"application/json", {{"schema", schema}}}}}}},
                                                   {"responses", {{"200", answer("it fits, it does not, or it is done")}, {"400", answer("bad input: the sentence says what")}, {"503", answer("not decided in time")}}}};
  }
  const json text{{"type", "string"}};
  const json said{{"type", "object"},
                  {"required", {"interface", "version", "decision", "sentence"}},
                  {"properties", {{"interface", {{"const", interface_version}}}, {"version", text}, {"decision", {{"enum", {"fits", "does not fit", "done", "bad input", "not decided"}}}}, {"sentence", text}}}};
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "headroom"}, {"version", version}, {"description", "What training a language model occupies and how long a step takes. Bytes are integers, times are seconds."}}},
          {"paths", paths},
          {"components", {{"schemas", {{"answer", said}, {"job", headroom::io::job_schema()}}}}}};
}

}  // namespace calls
