// Distributed under the Boost Software License, Version 1.0.
// A job in the making: what several files say of it, and where each said it.
#pragma once

#include <headroom/io/job_reader.hpp>
#include <headroom/io/syntax/document.hpp>

#include <initializer_list>
#include <optional>

namespace headroom::io {

/// What the index of a checkpoint in several files says: see io/launchers/safetensors_index.hpp.
struct safetensors_index {
  std::string source;
  std::int64_t bytes{};    ///< 0: not stated
  std::int64_t tensors{};
  std::int64_t buffers{};  ///< tensors that are no parameters
  std::int64_t scales{};   ///< of quantised weights
  bool head{};             ///< the head has a matrix of its own
};

class draft {
 public:
  /// Checkpoints to compare the model with.
  std::vector<safetensors_index> indices;
  /// Keys of a job file, as far as they are known.
  json_value job = json_value::object();
  /// For people: what was overridden, assumed or left out.
  std::vector<std::string> notes;

  /// `value` for the key at `path`; an object is merged key by key. What is said later counts, and a note says so.
  void say(std::initializer_list<std::string_view> path, json_value value, const std::string& place) {
    std::string shown;
    auto* at = &job;
    for (const auto key : path) {
      shown = joined(shown, key);
      if (!at->is_object()) *at = json_value::object();
      at = &(*at)[std::string{key}];
    }
    put(*at, std::move(value), shown, place);
  }
  /// The same for what only makes sense whole.
  void replace(std::string_view key, json_value value, const std::string& place) {
    auto& at = job[std::string{key}];
    if (!at.is_null() && at != value) overridden(std::string{key}, at, value, place);
    forget(std::string{key});
    at = std::move(value);
    places_[std::string{key}] = place;
  }

  /// The framework. A Trainer may run DeepSpeed; any other two exclude each other.
  void framework_is(const std::string& label, const std::string& place) {
    auto& f = job["framework"];
    if (f.is_string()) f = json_value{{"name", f}};
    if (!f.is_object()) f = json_value::object();
    const auto before = f.contains("name") && f["name"].is_string() ? f["name"].get<std::string>() : std::string{};
    if (before == label || (before == "deepspeed" && label == "hf-trainer")) return;
    if (!before.empty() && !(before == "hf-trainer" && label == "deepspeed"))
      fail("headroom: " + place + " is for " + label + ", but " + place_of("framework.name") + " for " + before + ": one job has one framework");
    f["name"] = label;
    places_["framework.name"] = place;
  }
  [[nodiscard]] bool framework_is(std::string_view label) const {
    const auto f = job.find("framework");
    if (f == job.end()) return false;
    const auto& n = f->is_object() && f->contains("name") ? (*f)["name"] : *f;
    return n.is_string() && *n.get_ptr<const json_value::string_t*>() == label;
  }

  /// Numbers that are not keys of a job, but decide some: GPUs over all nodes, samples of a step over all GPUs.
  struct fact {
    std::int64_t value{};
    std::string place;
  };
  std::optional<fact> gpus, global_batch;
  /// A 16-bit format (or "no"), of which sharding and framework make a recipe; where each replica is a node.
  struct said {
    std::string word, place;
  };
  std::optional<said> half;
  std::string hybrid;

  /// A file that another one names and that was not given; a model's name that the zoo does not have.
  std::optional<said> awaits, awaits_model;

  void know(std::optional<fact>& of, const char* what, std::int64_t value, const std::string& place) {
    if (of && of->value != value) notes.push_back(place + ": " + what + " " + std::to_string(value) + " instead of " + std::to_string(of->value) + " (" + of->place + ")");
    of = fact{value, place};
  }

  [[nodiscard]] bool has(std::initializer_list<std::string_view> path) const { return find(path) != nullptr; }
  [[nodiscard]] const json_value* find(std::initializer_list<std::string_view> path) const {
    const auto* at = &job;
    for (const auto key : path) {
      if (!at->is_object()) return nullptr;
      const auto it = at->find(key);
      if (it == at->end()) return nullptr;
      at = &*it;
    }
    return at;
  }
  [[nodiscard]] std::string place_of(std::string path) const {
    while (true) {
      if (const auto it = places_.find(path); it != places_.end()) return it->second;
      const auto cut = path.find_last_of('.');
      if (cut == std::string::npos) return {};
      path.resize(cut);
    }
  }

  /// Turns facts into keys, reads the whole, and refuses what is missing. Opens no file.
  headroom::job settled() {
    settle_gpus();
    settle_sharding();
    settle_formats();
    settle_batch();
    if (const auto* s = find({"sharding"}); awaits && framework_is("deepspeed") && !has({"framework", "options"}) && s != nullptr && *s == json_value{{"kind", "zero"}})
      fail("headroom: " + awaits->place + ": names " + in_quotes(awaits->word) + ", which no file here is: give it, too, or --set sharding=zero3");
    if (!has({"model"}) && awaits_model)
      fail("headroom: " + awaits_model->place + ": the model " + in_quotes(awaits_model->word) + " is not in the model zoo: give its config.json, too, or --model NAME");
    if (!has({"model"})) fail("headroom: no file says which model is trained: add --model NAME, or the model's config.json");
    const bool open = !has({"batch", "sequence"});
    auto whole = job;
    if (open && (!whole.contains("batch") || whole["batch"].is_object())) whole["batch"]["sequence"] = 1;
    std::string sentence;
    try {
      const auto read = read_job(whole, "/nonexistent/folder");
      if (!open) return read;
      sentence = "headroom: no file says how long a sequence is: add --set batch.sequence=TOKENS";
    } catch (const job_error& e) {
      sentence = with_places_of(e.what());
    }
    fail(sentence);
  }

 private:
  static std::string shown_value(const json_value& v) {
    auto text = v.dump(-1, ' ', false, json_value::error_handler_t::replace);
    return text.size() > 40 ? text.substr(0, 37) + "..." : text;
  }
  void overridden(const std::string& path, const json_value& before, const json_value& after, const std::string& place) {
    const auto old = place_of(path);
    notes.push_back(place + ": " + path + " " + shown_value(after) + " instead of " + shown_value(before) + (old.empty() ? "" : " (" + old + ")"));
  }
  void forget(const std::string& path) {
    for (auto it = places_.lower_bound(path + "."); it != places_.end() && it->first.starts_with(path + ".");) it = places_.erase(it);
  }
  void put(json_value& at, json_value value, const std::string& path, const std::string& place) {
    if (value.is_object() && at.is_object()) {
      for (auto& [key, inner] : value.items()) put(at[key], inner, joined(path, key), place);
      return;
    }
    if (!at.is_null() && at != value) overridden(path, at, value, place);
    if (value.is_object()) {
      at = json_value::object();
      for (auto& [key, inner] : value.items()) put(at[key], inner, joined(path, key), place);
    } else {
      at = std::move(value);
    }
    places_[path] = place;
  }

  /// Whole numbers of job keys, 0 where they are not known.
  [[nodiscard]] std::int64_t number(std::initializer_list<std::string_view> path, const std::string& shown) const {
    const auto* v = find(path);
    return v == nullptr ? 0 : whole_at(*v, shown, 1, std::int64_t{1} << 31);
  }
  void settle_gpus() {
    auto nodes = number({"hardware", "nodes"}, "hardware.nodes");
    auto each = number({"hardware", "gpus_per_node"}, "hardware.gpus_per_node");
    if (gpus) {
      const auto all = gpus->value;
      if (nodes == 0) nodes = each > 0 && all % each == 0 ? all / each : 1;
      if (each == 0 && all % nodes == 0) each = all / nodes;
      if (each == 0 || checked::mul(nodes, each) != all)
        fail("headroom: " + gpus->place + ": " + std::to_string(all) + " GPUs contradict " +
             (each == 0 ? std::to_string(nodes) + " nodes" : std::to_string(nodes) + " nodes of " + std::to_string(each)) + " (" +
             place_of(each == 0 || place_of("hardware.gpus_per_node").empty() ? "hardware.nodes" : "hardware.gpus_per_node") + ")");
    }
    if (nodes == 0 && each == 0) {
      notes.emplace_back("no file says how many GPUs there are: one is assumed (--set hardware.nodes=N, --set hardware.gpus_per_node=N)");
      return;
    }
    if (each == 0) notes.emplace_back("no file says how many GPUs a node has: one is assumed (--set hardware.gpus_per_node=N)");
    if (nodes > 0) job["hardware"]["nodes"] = nodes;
    if (each > 0) job["hardware"]["gpus_per_node"] = each;
  }
  /// A Trainer on several GPUs is data-parallel; a replica of hybrid sharding is a node.
  void settle_sharding() {
    const auto nodes = number({"hardware", "nodes"}, "hardware.nodes"), each = number({"hardware", "gpus_per_node"}, "hardware.gpus_per_node");
    if (!hybrid.empty() && nodes > 1) say({"parallel", "replicate"}, nodes, hybrid);
    if (framework_is("hf-trainer") && !has({"sharding"}) && std::max<std::int64_t>(nodes, 1) * std::max<std::int64_t>(each, 1) > 1) replace("sharding", "ddp", place_of("framework.name"));
    // "zero" said by a file that names a configuration: its stage stands there.
    if (framework_is("deepspeed") && has({"framework", "options"}) && has({"sharding", "kind"}) && job["sharding"].size() == 1) job.erase("sharding");
  }
  void settle_formats() {
    if (!half || has({"precision"})) return;
    const auto& word = half->word;
    const auto* s = find({"sharding"});
    const auto kind = s == nullptr ? json_value{} : s->is_object() && s->contains("kind") ? (*s)["kind"] : *s;
    const bool sharded = kind == "fsdp1" || kind == "fsdp2", engine = framework_is("deepspeed");
    json_value recipe = word == "no" ? json_value("fp32") : json_value(word + (sharded || engine ? "-mixed" : "-autocast"));
    if (word == "no" && engine && has({"framework", "options"})) return;  // DeepSpeed's own configuration decides
    // Adapters stay in fp32 over weights that are loaded in 16 bits (PEFT, autocast_adapter_dtype).
    if (has({"adapter"}) && word != "no" && !engine)
      recipe = {{"parameters", word}, {"compute", word}, {"gradients", "fp32"}, {"reduce", "fp32"}, {"master", "none"}, {"state", "fp32"}};
    if (has({"adapter"}) && engine) job["adapter"].erase("format");  // the engine casts them, too
    replace("precision", recipe, half->place);
  }
  /// Micro-batches of a step, from samples of a step.
  void settle_batch() {
    if (!global_batch) return;
    const auto one = [](std::int64_t n) { return std::max<std::int64_t>(1, n); };
    const auto micro = one(number({"batch", "micro"}, "batch.micro"));
    auto data = number({"parallel", "data"}, "parallel.data");
    if (data == 0) {
      const auto all = checked::mul(one(number({"hardware", "nodes"}, "hardware.nodes")), one(number({"hardware", "gpus_per_node"}, "hardware.gpus_per_node")));
      data = one(all / checked::mul(one(number({"parallel", "tensor"}, "parallel.tensor")), one(number({"parallel", "pipeline"}, "parallel.pipeline")),
                                    one(number({"parallel", "context"}, "parallel.context"))));
    }
    const auto at_once = checked::mul(micro, data);
    if (global_batch->value % at_once != 0)
      fail("headroom: " + global_batch->place + ": " + std::to_string(global_batch->value) + " samples of a step must be a multiple of micro-batch × data-parallel ranks, " +
           std::to_string(micro) + " × " + std::to_string(data));
    say({"batch", "accumulation"}, global_batch->value / at_once, global_batch->place);
  }

  /// The places of the keys that a sentence names, the first before it.
  [[nodiscard]] std::string with_places_of(std::string sentence) const {
    constexpr std::string_view us = "headroom: ", options = "framework.options";
    std::vector<std::string> found;
    const auto add = [&](const std::string& path) {
      const auto place = place_of(path);
      const bool again = std::any_of(found.begin(), found.end(), [&](const std::string& f) { return f.starts_with(place); });
      if (!place.empty() && !again) found.push_back(place);
    };
    if (const auto key = sentence.find("unknown key \""), in = sentence.find("\" in "); key != std::string::npos && in != std::string::npos)
      add(joined(sentence.substr(in + 5, sentence.find_first_of("; ", in + 5) - in - 5), sentence.substr(key + 13, in - key - 13)));
    for (std::size_t at = 0; at < sentence.size();) {
      const auto end = std::min(sentence.find_first_of(" ,;:", at), sentence.size());
      const auto word = sentence.substr(at, end - at);
      if (job.contains(word.substr(0, word.find('.')))) add(word);
      at = end + 1;
    }
    for (auto at = sentence.find(options); at != std::string::npos; at = sentence.find(options, at)) {
      const bool dot = sentence.compare(at + options.size(), 1, ".") == 0;
      if (dot)
        sentence.erase(at, options.size() + 1);
      else
        sentence.replace(at, options.size(), framework_name() + "'s options");
    }
    if (found.empty() || !sentence.starts_with(us)) return sentence;
    sentence.insert(us.size(), found[0] + ": ");
    if (found.size() > 1) sentence += " (" + found[1] + ")";
    return sentence;
  }
  [[nodiscard]] std::string framework_name() const {
    const auto* n = find({"framework", "name"});
    return n != nullptr && n->is_string() ? n->get<std::string>() : "the framework";
  }

  std::map<std::string, std::string, std::less<>> places_;
};

/// A model of the library's own by the name that another program gives it: fine-tuned ones have the shape of what they were made of.
/// Files are not looked for.
inline void say_model(draft& d, const std::string& name, const std::string& place) {
  if (d.has({"model"})) return;
  auto base = name;
  const auto* known = models::find(base);
  for (bool shorter = true; known == nullptr && shorter;) {
    shorter = false;
    for (const std::string_view end : {"-2507", "-Instruct", "-instruct", "-Chat", "-chat", "-hf", "-it", "-Base"})
      if (base.ends_with(end) && base.size() > end.size()) {
        base.resize(base.size() - end.size());
        shorter = true;
      }
    known = models::find(base);
  }
  if (known == nullptr) {
    d.awaits_model = draft::said{name, place};
    return;
  }
  if (base != name) d.notes.push_back(place + ": " + in_quotes(name) + " is taken to have the shape of " + std::string{known->label.view()});
  d.replace("model", model_to_json(*known), place);
}

}  // namespace headroom::io
