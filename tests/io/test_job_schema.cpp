// Distributed under the Boost Software License, Version 1.0.
// The schema of job files says what the reader reads: the same keys, the same values.
#include <headroom/io/job_reader.hpp>
#include <headroom/io/job_reference.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace test_job_schema {

using namespace headroom;
using io::schema_value;

namespace {

/// What is wrong with a value by a schema, empty where nothing is: of JSON Schema what the schema here uses.
std::string wrong(const schema_value& s, const schema_value& v, const std::string& at = "") {
  if (s.contains("anyOf")) {
    std::string why;
    for (const auto& form : s["anyOf"]) {
      const auto one = wrong(form, v, at);
      if (one.empty()) { why.clear(); break; }
      why += one + "; ";
    }
    if (!why.empty()) return why;
  }
  if (s.contains("type")) {
    const auto type = s["type"].get<std::string>();
    const bool right = type == "object" ? v.is_object() : type == "array" ? v.is_array() : type == "string" ? v.is_string() : type == "boolean" ? v.is_boolean()
                     : type == "integer" ? v.is_number_integer() : v.is_number();
    if (!right) return at + " is no " + type;
  }
  if (s.contains("enum") && std::find(s["enum"].begin(), s["enum"].end(), v) == s["enum"].end()) return at + " is none of the words";
  if (s.contains("minimum") && v.is_number() && v < s["minimum"]) return at + " is too small";
  if (s.contains("maximum") && v.is_number() && v > s["maximum"]) return at + " is too large";
  if (s.contains("maxLength") && v.get<std::string>().size() > s["maxLength"].get<std::size_t>()) return at + " is too long";
  if (s.contains("pattern") && !std::regex_search(v.get<std::string>(), std::regex(s["pattern"].get<std::string>()))) return at + " is of another form";
  if (s.contains("minItems") && v.size() < s["minItems"].get<std::size_t>()) return at + " has too few";
  if (s.contains("maxItems") && v.size() > s["maxItems"].get<std::size_t>()) return at + " has too many";
  if (s.contains("items"))
    for (const auto& i : v)
      if (const auto why = wrong(s["items"], i, at + "[]"); !why.empty()) return why;
  if (s.contains("required"))
    for (const auto& key : s["required"])
      if (!v.contains(key.get<std::string>())) return at + " lacks " + key.get<std::string>();
  if (s.contains("properties"))
    for (const auto& [key, inner] : v.items()) {
      if (s["properties"].contains(key)) {
        if (const auto why = wrong(s["properties"][key], inner, at + "." + key); !why.empty()) return why;
      } else if (s.contains("additionalProperties")) {
        return at + " has an unknown key " + key;
      }
    }
  return {};
}

/// Every object of the schema with its path.
template <class Visit>
void each_object(const schema_value& s, const std::string& path, const Visit& visit) {
  if (s.contains("anyOf"))
    for (const auto& form : s["anyOf"]) each_object(form, path, visit);
  if (s.contains("items")) each_object(s["items"], path, visit);
  if (!s.contains("properties")) return;
  visit(path, s);
  for (const auto& [key, of] : s["properties"].items()) each_object(of, io::joined(path, key), visit);
}

std::string sentence_of_reader(const std::string& job) {
  try {
    (void)io::read_job(io::parse_json(job, "job"));
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}

/// The keys that the reader says it accepts, of a sentence about an unknown one; "…" where there are more.
std::set<std::string> accepted(const std::string& sentence) {
  const std::string word = "accepted: ";
  const auto at = sentence.find(word);
  if (sentence.find("unknown key \"zzz\"") == std::string::npos || at == std::string::npos) return {sentence};
  std::set<std::string> keys;
  const auto list = sentence.substr(at + word.size());
  for (std::size_t i = 0; i < list.size();) {
    const auto end = std::min(list.find_first_of(", ", i), list.size());
    if (end > i) keys.insert(list.substr(i, end - i));
    i = end + 1;
  }
  return keys;
}

/// Keys that with_key() says itself.
bool said_before(const std::string& path, const std::string& key) {
  static const std::set<std::string> said{"framework.name", "precision.parameters", "optimizer.name", "sharding.kind", "sharding.stage", "recompute.mode", "adapter.kind", "hardware.gpu.name", "model.layers", "model.hidden", "objective.kind", "objective.teacher.model", "objective.reward.model", "objective.critic.model", "rollout.engine"};
  return said.contains(io::joined(path, key));
}

/// A job with a key in the object at a path, and what that object needs before.
std::string with_key(const std::string& path, const std::string& added) {
  static const std::map<std::string, std::string> before{{"framework", R"("name": "deepspeed", )"}, {"precision", R"("parameters": "bf16", )"}, {"optimizer", R"("name": "adamw", )"},
                                                         {"sharding", R"("kind": "zero", "stage": 1, )"}, {"recompute", R"("mode": "full", )"}, {"adapter", R"("kind": "lora", )"},
                                                         {"hardware.gpu", R"("name": "l4", )"}, {"model", R"("layers": 1, "hidden": 8, )"}, {"objective", R"("kind": "distill", )"}, {"rollout", R"("engine": "vllm", )"}, {"objective.teacher", R"("model": "gpt2", )"}, {"objective.reward", R"("model": "gpt2", )"}, {"objective.critic", R"("model": "gpt2", )"}};
  std::string inner = "{" + (before.contains(path) ? before.at(path) : "") + "\"" + added + "\": null}";
  if (path == "trainable") inner = "[" + inner + "]";
  for (auto rest = path; !rest.empty();) {
    const auto dot = rest.rfind('.');
    const auto key = dot == std::string::npos ? rest : rest.substr(dot + 1);
    rest = dot == std::string::npos ? "" : rest.substr(0, dot);
    const auto more = before.contains(rest) ? before.at(rest) : "";
    if (rest.empty()) return "{" + std::string{key == "batch" ? "" : R"("batch": {"sequence": 8}, )"} + (key == "model" ? "" : R"("model": "gpt2", )") + "\"" + key + "\": " + inner + "}";
    inner = "{" + more + "\"" + key + "\": " + inner + "}";
  }
  return "{" + std::string{added == "model" ? "" : R"("model": "gpt2", )"} + (added == "batch" ? "" : R"("batch": {"sequence": 8}, )") + "\"" + added + "\": null}";
}

}  // namespace

TEST_CASE("every example is a job by the schema") {
  const auto schema = io::job_schema();
  int seen = 0;
  for (const auto& file : std::filesystem::directory_iterator(HEADROOM_EXAMPLES "/jobs")) {
    CAPTURE(file.path().string());
    CHECK(wrong(schema, schema_value::parse(io::read_file(file.path()))) == "");
    ++seen;
  }
  CHECK(seen >= 14);
}

TEST_CASE("what the schema refuses, the reader refuses") {
  const auto schema = io::job_schema();
  const std::string begin = R"({"model": "gpt2", "batch": {"sequence": 8}, )";
  for (const std::string job : {R"({"batch": {"sequence": 8}})", R"({"model": "gpt2", "batch": {"sequence": 0}})", R"({"model": {"layers": "2"}, "batch": {"sequence": 8}})"}) {
    CAPTURE(job);
    CHECK(wrong(schema, schema_value::parse(job)) != "");
    CHECK_THROWS_AS((void)io::read_job(io::parse_json(job, "job")), job_error);
  }
  for (const std::string rest : {R"("attention": "flashy")", R"("hardware": {"gpu": "h101"})", R"("hardware": {"taken_gib": -1})", R"("compile": 1)", R"("recompute": {"layers": 2})", R"("dropout": {"hidden": 2})",
                                 R"("sharding": "zero4")", R"("offload": {"activations": "nvme"})", R"("adapter": {"kind": "lora", "rank": 0, "targets": "all-linear"})", R"("trainable": [])",
                                 R"("environment": {"allocator": {"max_split_size_mb": 20}})", R"("precision": {"compute": "bf16"})", R"("hardware": {"gpu": []})"}) {
    CAPTURE(rest);
    CHECK(wrong(schema, schema_value::parse(begin + rest + "}")) != "");
    CHECK_THROWS_AS((void)io::read_job(io::parse_json(begin + rest + "}", "job")), job_error);
  }
  for (const std::string rest : {R"("hardware": {"gpu": [{"gpu": "l4", "count": 1}, {"gpu": {"name": "t4"}, "count": 1}]})", R"("trainable": [{"layers": [0, -1], "experts": [1, 2], "modules": ["q_proj"]}])",
                                 R"("environment": {"cublas_workspace": ":4096:8", "torch": "2.9", "allocator": {"roundup_power2_divisions": 8}})", R"("ignored_keys": ["a"])", R"("trainable": "all")"}) {
    CAPTURE(rest);
    CHECK(wrong(schema, schema_value::parse(begin + rest + "}")) == "");
    CHECK_NOTHROW((void)io::read_job(io::parse_json(begin + rest + "}", "job")));
  }
}

TEST_CASE("each object has the keys that the reader accepts, each with a type and a meaning") {
  int objects = 0, keys = 0;
  each_object(io::job_schema(), "", [&](const std::string& path, const schema_value& s) {
    CAPTURE(path);
    if (path == "model.vision.resampler" || path == "hardware.gpu.gpu" || (path == "hardware.gpu" && s["properties"].contains("count"))) return;
    ++objects;
    std::set<std::string> said;
    for (const auto& entry : s["properties"].items()) {
      const auto& key = entry.key();
      const auto& of = entry.value();
      CAPTURE(key);
      said.insert(key);
      ++keys;
      CHECK((of.contains("type") || of.contains("anyOf")));
      CHECK(of.value("description", "") != "");
      if (!said_before(path, key)) CHECK(sentence_of_reader(with_key(path, key)).find("unknown key") == std::string::npos);
    }
    auto known = accepted(sentence_of_reader(with_key(path, "zzz")));
    const bool more = known.erase("…") > 0;  // the sentence names the first of many
    if (!more) CHECK(known.size() == said.size());
    for (const auto& key : known) CHECK_MESSAGE(said.contains(key), key);
  });
  CHECK(objects == 38);
  CHECK(keys == static_cast<int>(io::key_sentences.size()));
}

TEST_CASE("the defaults are the reader's") {
  const auto schema = io::job_schema();
  const auto& p = schema["properties"];
  CHECK(p["batch"]["properties"]["micro"]["default"] == 1);
  CHECK_FALSE(p["batch"]["properties"]["sequence"].contains("default"));
  CHECK(p["offload"]["properties"]["pin_memory"]["default"] == true);
  CHECK(p["parallel"]["properties"]["tensor"]["default"] == 1);
  CHECK(p["offload"]["properties"]["optimizer"]["default"] == "none");
  CHECK(p["model"]["anyOf"][1]["properties"]["norm_weight"]["default"] == true);
  CHECK(p["model"]["anyOf"][1]["properties"]["rotary_fraction"]["default"] == 1.0);
}

TEST_CASE("each number's range and default") {
  // A key that is not in the list may have any.
  std::ifstream in{HEADROOM_TEST_DATA "/job_bounds.jsonl"};
  const auto whole = io::job_schema();
  int keys = 0;
  const auto find = [](const schema_value& root, const std::string& path) {
    std::vector<const schema_value*> forms{&root};
    for (std::size_t from = 0; from <= path.size() && !forms.empty();) {
      const auto dot = std::min(path.find('.', from), path.size());
      auto name = path.substr(from, dot - from);
      const bool list = name.ends_with("[]");
      if (list) name.resize(name.size() - 2);
      const auto open = [](std::vector<const schema_value*> all) {
        for (std::size_t i = 0; i < all.size(); ++i)
          for (const auto* word : {"anyOf", "oneOf"})
            if (all[i]->contains(word))
              for (const auto& form : (*all[i])[word]) all.push_back(&form);
        return all;
      };
      std::vector<const schema_value*> next;
      for (const auto* f : open(forms))
        if (f->contains("properties") && (*f)["properties"].contains(name)) next.push_back(&(*f)["properties"][name]);
      if (list) {
        std::vector<const schema_value*> items;
        for (const auto* f : open(next))
          if (f->contains("items")) items.push_back(&(*f)["items"]);
        next = items;
      }
      forms = open(next);
      from = dot + 1;
    }
    for (const auto* f : forms)
      if (f->contains("minimum") || f->contains("maximum")) return *f;
    return schema_value{};
  };
  for (std::string line; std::getline(in, line);) {
    const auto row = schema_value::parse(line);
    for (const auto& key : row["keys"]) {
      CAPTURE(key);
      const auto s = find(whole, key.get<std::string>());
      CHECK(s.value("minimum", schema_value{}) == row["from"]);
      CHECK(s.value("maximum", schema_value{}) == row["to"]);
      CHECK(s.value("default", schema_value{}) == row["otherwise"]);
      ++keys;
    }
  }
  CHECK(keys > 200);
}

TEST_CASE("examples/JOB.md is what the schema says") {
  CHECK(io::read_file(HEADROOM_EXAMPLES "/JOB.md") == io::job_reference());
}

}  // namespace test_job_schema
