// Distributed under the Boost Software License, Version 1.0.
// The fuzzer: its first byte picks the reader, or --reader=NAME does, which takes files as they are. Half of the changes are libFuzzer's own;
// the others know what a text is made of: values of a tree, lines and words, and the keys that the readers know.
#include "readers.hpp"

#include <headroom/io/job_schema.hpp>
#include <headroom/io/launchers/accelerate/keys.hpp>
#include <headroom/io/launchers/axolotl/keys.hpp>
#include <headroom/io/launchers/litgpt/keys.hpp>
#include <headroom/io/launchers/llama_factory/keys.hpp>
#include <headroom/io/launchers/megatron/keys.hpp>
#include <headroom/io/launchers/nanotron/keys.hpp>
#include <headroom/io/launchers/swift/keys.hpp>
#include <headroom/io/launchers/torchtitan/keys.hpp>
#include <headroom/io/launchers/torchtune/keys.hpp>
#include <headroom/io/launchers/trainer/transformers_keys.hpp>
#include <headroom/io/options/deepspeed_keys.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using json = nlohmann::json;
using dice = std::minstd_rand;

const fuzzed::reader* asked = nullptr;  // by --reader, for all of this process

std::size_t below(dice& d, std::size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<std::size_t>{0, n - 1}(d); }
template <class List>
const auto& one_of(const List& list, dice& d) {
  return list[below(d, std::size(list))];
}

/// The keys and names of the schema of jobs.
void add_words(const headroom::io::schema_value& schema, std::vector<std::string>& to) {
  if (schema.is_object() && schema.contains("properties") && schema["properties"].is_object())
    for (const auto& [key, value] : schema["properties"].items()) to.push_back(key);
  for (const auto& inner : schema) {
    if (inner.is_string() && schema.is_array()) to.push_back(inner.get<std::string>());
    if (inner.is_structured()) add_words(inner, to);
  }
}
std::vector<std::string> words_of_readers() {
  using namespace headroom::io::detail;
  std::vector<std::string> all;
  add_words(headroom::io::job_schema(), all);
  const auto add = [&](const auto& table) {
    for (const auto& k : table) {
      all.emplace_back(k.name);
      for (const auto value : headroom::io::words_between_bars(k.off)) all.emplace_back(value);
    }
  };
  add(accelerate_passed), add(axolotl_passed), add(litgpt_passed), add(llama_factory_passed), add(megatron_passed), add(nanotron_passed), add(swift_passed), add(torchtitan_passed), add(torchtune_passed), add(transformers_passed), add(deepspeed_passed);
  for (const auto* word : {"model_type", "architectures", "num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size", "text_config", "vision_config", "quantization_config", "LlamaForCausalLM",
                           "llama", "qwen3_moe", "deepspeed", "torchrun", "accelerate launch", "srun", "pretrain_gpt.py", "train.py", "--", "#SBATCH", "for i in", "do", "done", "if", "then", "fi", "case", "in", "esac", ";;", "$((", "))", "${A[@]}",
                           "${A:-", "}", "A=(", ")", "A+=", "<<END", "END", "&a", "*a", "<<: *a", "|", ">", "[[a]]", "'''", "\"\"\"", "auto", "null", "Tried to allocate", "GiB", "total capacity;", "already allocated", "headroom.dev/job", "annotations"})
    all.emplace_back(word);
  return all;
}
const std::vector<std::string>& words() {
  static const auto all = words_of_readers();
  return all;
}

json value_of(dice& d) {
  static const json values[] = {0, 1, -1, 2, 8, 64, 4096, 0.5, -0.5, 1e300, 9007199254740993, std::int64_t{1} << 40, std::uint64_t{1} << 63, true, false, nullptr, "", "auto", "none", json::object(), json::array()};
  return below(d, 3) == 0 ? json(one_of(words(), d)) : one_of(values, d);
}
/// A value somewhere in the tree.
json* place_in(json& root, dice& d) {
  json* at = &root;
  while (at->is_structured() && !at->empty() && below(d, 4) != 0) at = &*std::next(at->begin(), static_cast<std::ptrdiff_t>(below(d, at->size())));
  return at;
}
std::string changed_tree(json root, dice& d) {
  for (auto changes = 1 + below(d, 3); changes > 0; --changes) {
    auto* at = place_in(root, d);
    switch (below(d, 5)) {
      case 0: *at = value_of(d); break;
      case 1:
        if (at->is_array()) at->push_back(value_of(d));
        else if (at->is_object()) (*at)[one_of(words(), d)] = value_of(d);
        break;
      case 2:
        if (at->is_structured() && !at->empty()) at->erase(std::next(at->begin(), static_cast<std::ptrdiff_t>(below(d, at->size()))));
        break;
      case 3: {  // a part of it elsewhere
        const json part = *place_in(root, d);
        *place_in(root, d) = part;
        break;
      }
      default:  // an annotation is a text of JSON in a text of JSON
        if (auto* inner = at->get_ptr<json::string_t*>())
          if (auto tree = json::parse(*inner, nullptr, false); tree.is_structured()) *inner = changed_tree(std::move(tree), d);
    }
  }
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}
std::string changed_lines(const std::string& text, dice& d) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') lines.emplace_back();
    else lines.back() += c;
  }
  auto& line = lines[below(d, lines.size())];
  const auto from = below(d, line.size() + 1), to = std::min(line.find_first_of(" =:,", from), line.size());
  switch (below(d, 6)) {
    case 0: lines.push_back(line); break;
    case 1: std::swap(line, lines[below(d, lines.size())]); break;
    case 2: lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(below(d, lines.size()))); break;
    case 3: line.replace(from, to - from, one_of(words(), d)); break;
    case 4: line.insert(from, " " + one_of(words(), d) + " "); break;
    default: {
      const auto v = value_of(d);
      line.replace(from, to - from, v.is_string() ? v.get<std::string>() : v.dump());
    }
  }
  std::string all;
  for (const auto& one : lines) all += (&one == lines.data() ? "" : "\n") + one;
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view flag = "--reader=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view said = (*arguments)[i];
    if (!said.starts_with(flag)) continue;
    for (const auto& r : fuzzed::readers)
      if (r.name == said.substr(flag.size())) asked = &r;
    if (asked == nullptr) std::cerr << "there is no reader " << said.substr(flag.size()) << '\n', std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (asked != nullptr) asked->read(text);
  else if (size > 0) fuzzed::readers[data[0] % std::size(fuzzed::readers)].read(text.substr(1));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  dice d{seed};
  const std::size_t start = asked == nullptr && size > 0 ? 1 : 0;
  if (size <= start || below(d, 2) == 0) return LLVMFuzzerMutate(data, size, most);
  const auto& reader = asked != nullptr ? *asked : fuzzed::readers[data[0] % std::size(fuzzed::readers)];
  const std::string text{reinterpret_cast<const char*>(data) + start, size - start};
  auto tree = reader.is == fuzzed::kind::json ? json::parse(text, nullptr, false) : json(json::value_t::discarded);
  const auto changed = tree.is_discarded() ? changed_lines(text, d) : changed_tree(std::move(tree), d);
  const auto length = std::min(changed.size(), most - start);
  std::memcpy(data + start, changed.data(), length);
  return start + length;
}
