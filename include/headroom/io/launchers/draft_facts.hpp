// Distributed under the Boost Software License, Version 1.0.
// What files say that is no key of a job, but decides some: each with its place.
#pragma once

#include <headroom/io/syntax/document.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::io {

/// What the index of a checkpoint in several files says: see io/launchers/safetensors_index.hpp.
struct safetensors_index {
  std::string source;
  std::int64_t bytes{};    ///< 0: not stated
  std::int64_t tensors{};
  std::int64_t buffers{};  ///< tensors that are no parameters
  std::int64_t scales{};   ///< of quantised weights
  bool head{};             ///< the head has a matrix of its own
  bool operator==(const safetensors_index&) const = default;
};

/// What a file is.
enum class file_kind : std::uint8_t { unknown, job, huggingface, safetensors_index, adapter, deepspeed, accelerate, megatron, torchtitan, nanotron, litgpt, torchtune, trainer, launch, kubernetes, skypilot, verl, openrlhf, gpt_neox, deepspeed_chat, ray_environment, nemo_rl, llama_factory_v1, python, fsdp };

class draft;

namespace draft_facts {

/// A number of a file, and where it stands.
struct fact {
  std::int64_t value{};
  std::string place;
  bool operator==(const fact&) const = default;
};

/// A word of a file, and where it stands.
struct said {
  std::string word, place;
  bool operator==(const said&) const = default;
};

/// A model beside the one that trains, by its name; what its role is, and keys of it.
struct named_role {
  std::string role, name, place;
  json_value keys;
  bool operator==(const named_role&) const = default;
};

/// Files that another one names, and what each is for; they count only where they are given, too.
struct named_file {
  file_kind kind{};
  std::string path, place;
  bool operator==(const named_file&) const = default;
};

/// The text of a program that a launch starts.
struct program_text {
  std::string file, text;
  bool operator==(const program_text&) const = default;
};

/// Keys of a job that count where more than one GPU trains.
struct said_keys {
  json_value keys;
  std::string place;
  bool operator==(const said_keys&) const = default;
};

/// What is evaluated between steps: examples of a GPU at once, the key that says so, and other keys of `evaluation`.
struct evaluated_examples {
  std::int64_t batch{};
  std::string key, place;
  json_value keys;
  bool by_trainer{};  ///< by transformers' Trainer, no loop of the program's own
  bool operator==(const evaluated_examples&) const = default;
};

/// How torchtitan divides layers over its pipeline's stages, or the first layers that it lists (io/launchers/torchtitan/stages.hpp).
struct stage_rule {
  bool looped{}, listed{};
  std::int64_t first{1}, last{1};  ///< layers that the embedding, norm and head count as
  std::int64_t per_stage{};
  std::vector<std::int64_t> starts{};
  std::string place{};
  bool operator==(const stage_rule&) const = default;
};

/// A default that a program's release changed, where a file leaves it open; `--set environment.PROGRAM=VERSION` decides. Where `asks` nothing
/// may stand for it; else the older one does, and a note says so. `newer` and `older` say what each is; null: what stands there already.
struct default_of_release {
  std::string_view program;
  std::int32_t since{};  ///< 100 × major + minor
  std::string place, what;
  bool asks{};
  void (*newer)(draft&, const std::string& place){};
  bool (*matters)(const draft&){};  ///< null: always
  void (*older)(draft&, const std::string& place){};
  std::int32_t assumed{};  ///< the release that stands where none is said; 0: one before `since`
  bool bounds{};           ///< … and takes no less than the other: a note, and no assumption of the job's
  friend bool operator==(const default_of_release&, const default_of_release&) = default;
};

/// A value as a sentence shows it.
inline std::string shown_value(const json_value& v) {
  auto text = v.dump(-1, ' ', false, json_value::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

/// The object that a word stands for, so that a part of it can be said.
inline json_value spelled_out(const std::string& path, const json_value& word, const std::string& place) {
  constexpr std::pair<std::string_view, const char*> first[] = {
      {"model", "base"}, {"framework", "name"}, {"optimizer", "name"}, {"hardware.gpu", "name"}, {"objective", "kind"}, {"recompute", "mode"}};
  for (const auto& [key, part] : first)
    if (key == path) return {{part, word}};
  fail("headroom: " + place + ": " + path + " is " + word.dump() + ", one word, of which no part can be changed: give it whole, " + path + "={...}");
}

}  // namespace draft_facts

}  // namespace headroom::io
