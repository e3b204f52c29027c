// Distributed under the Boost Software License, Version 1.0.
// The `hardware` key of a job: a GPU of the table, one of one's own, or several kinds.
#pragma once

#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/syntax/keys.hpp>
#include <headroom/job.hpp>

namespace headroom::io {

/// A name as a driver or a shop writes it, in the table's spelling: "NVIDIA GeForce RTX 3090" is "rtx-3090".
inline std::string spelled_as_gpu(std::string_view said) {
  std::string all, word;
  for (const char c : std::string{said} + " ") {
    if (c != ' ' && c != '_') {
      word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      continue;
    }
    const bool maker = word == "nvidia" || word == "geforce" || word == "tesla" || word == "amd" || word == "instinct" || word == "generation";
    if (!word.empty() && !maker) all += (all.empty() ? "" : "-") + word;
    word.clear();
  }
  return !all.empty() && all[0] >= '0' && all[0] <= '9' ? "rtx-" + all : all;
}

/// An entry of the GPU table by its name or an alias; null for an unknown one.
inline const gpu* find_gpu(std::string_view said) {
  for (const auto& spelled : {std::string{said}, spelled_as_gpu(said)}) {
    std::string_view label = spelled;
    for (const auto& a : gpus::aliases)
      if (a.from == label) label = a.to.view();
    for (const auto& a : gpus::driver_names)
      if (a.from == label) label = a.to.view();
    for (const auto& g : gpus::all)
      if (g.label == label) return &g;
  }
  return nullptr;
}

template <class Keys>
void describe(Keys& k, gpu& g) {
  k.text("name", g.label);
  k.gib("memory_gib", g.memory);
  k.scaled("compute_capability", g.compute_capability, std::int32_t{}, 10.0, 1e3);
  k.whole("bandwidth_gb_s", g.bandwidth_gb_s);
  k.scaled("bf16_tflops", g.bf16_tflops_x10, std::int32_t{}, 10.0, 1e8);
  k.scaled("fp16_tflops", g.fp16_tflops_x10, std::int32_t{}, 10.0, 1e8);
  k.scaled("fp8_tflops", g.fp8_tflops_x10, std::int32_t{}, 10.0, 1e8);
  k.scaled("fp32_tflops", g.fp32_tflops_x10, std::int32_t{}, 10.0, 1e8);
  k.whole("link_gb_s", g.link_gb_s);
  k.whole("pcie_generation", g.pcie_generation);
  k.word("vendor", g.maker, vendor::nvidia);
  k.scaled("matmul_tflops", g.matmul_tflops_x10, std::int32_t{}, 10.0, 1e8);
  k.whole("link_domain", g.link_domain);
  k.whole("network_gbit", g.network_gbit);
  k.flag("unified", g.unified);
}

/// A name of the table, or an object: what it states replaces what the table says of that name.
inline gpu read_gpu(const json_value& value, const std::string& path) {
  if (value.is_string()) {
    const auto& label = *value.get_ptr<const json_value::string_t*>();
    if (const gpu* known = find_gpu(label)) return *known;
    auto names = texts(gpus::all, [](const gpu& g) { return g.label.view(); });
    for (const auto& a : gpus::aliases) names.push_back(a.from.view());
    std::string sentence = "headroom: " + path + " " + in_quotes(label) + " is not in the table of GPUs";
    std::vector<std::string_view> larger;
    const auto spelled = spelled_as_gpu(label);
    std::copy_if(names.begin(), names.end(), std::back_inserter(larger), [&](std::string_view n) { return n.starts_with(spelled + "-"); });
    if (const auto meant = closest(spelled, names); !larger.empty())
      sentence += "; did you mean one of " + listed(larger) + "?";
    else if (!meant.empty())
      sentence += "; did you mean \"" + std::string{meant} + "\"?";
    fail(sentence + (sentence.back() == '?' ? "" : ".") + " State its memory to use any other: {\"name\": …, \"memory_gib\": …}");
  }
  if (!value.is_object()) wrong_value(path, "a GPU's name, or {\"name\", \"memory_gib\"}", value);
  key_reader keys{value, path};
  const auto& label = string_at(keys.need("name", "what the GPU is called"), keys.at("name"));
  gpu g;
  if (const gpu* known = find_gpu(label)) g = *known;
  const auto table_label = g.label;
  describe(keys, g);
  keys.finish();
  if (!table_label.empty()) g.label = table_label;
  if (table_label.empty() && !value.contains("memory_gib"))
    fail("headroom: " + keys.at("memory_gib") + " is required: " + in_quotes(label) + " is not in the table of GPUs");
  return g;
}

inline json_value gpu_to_json(const gpu& g) {
  const gpu* known = find_gpu(g.label.view());
  if (known == nullptr) {
    auto object = written_keys(g);
    if (!object.contains("memory_gib")) object["memory_gib"] = 0;
    return object;
  }
  if (*known == g) return g.label.view();
  // The reader starts from the table's entry, so everything that differs from it has to be said.
  auto object = written_keys(g);
  const auto table = written_keys(*known);
  for (const auto& [key, value] : table.items()) {
    if (!object.contains(key))
      object[key] = key == "vendor" ? json_value("nvidia") : value.is_boolean() ? json_value(false) : json_value(0);
    else if (key != "name" && object[key] == value)
      object.erase(key);
  }
  return object;
}

/// One kind, or [{"gpu", "count"}, …] in the order of ranks. Returns how many a list counts.
inline std::int64_t read_gpus(const json_value& value, const std::string& path, cluster& c) {
  if (!value.is_array()) {
    c.gpu = read_gpu(value, path);
    return 0;
  }
  std::size_t kinds = 0;
  std::int64_t all = 0;
  each_at(value, path, "a list of {\"gpu\", \"count\"}, in the order of ranks", [&](const json_value& v, const std::string& at) {
    if (kinds == 1 + gpu_groups::capacity) fail("headroom: " + path + " must have at most " + std::to_string(1 + gpu_groups::capacity) + " kinds of GPU");
    key_reader keys{v, at};
    auto kind = read_gpu(keys.need("gpu", "a name, or {\"name\", \"memory_gib\"}"), keys.at("gpu"));
    const auto count = whole_at(keys.need("count", "how many there are"), keys.at("count"), 1, std::int64_t{1} << 20);
    keys.finish();
    if (kinds == 0)
      c.gpu = kind;
    else
      c.others.add({kind, count});
    all += count;
    ++kinds;
  });
  if (kinds == 0) fail("headroom: " + path + " must not be an empty list");
  return all;
}

inline json_value gpus_to_json(const cluster& c) {
  auto list = json_value::array();
  for (std::size_t i = 0; i < c.kinds(); ++i) list.push_back({{"gpu", gpu_to_json(c.accelerator(i))}, {"count", c.count(i)}});
  return list;
}

template <class Keys>
void describe(Keys& k, cluster& c) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  std::int64_t counted = 0;
  if constexpr (Keys::reads) {
    if (const auto* v = k.take("gpu")) counted = read_gpus(*v, k.at("gpu"), c);
    c.gpus_per_node = 0;
  } else if (c.kinds() > 1) {
    k.put("gpu", gpus_to_json(c));
  } else if (c.gpu != gpu{}) {
    k.put("gpu", gpu_to_json(c.gpu));
  }
  k.whole("nodes", c.nodes, std::int64_t{1}, 1, most);
  k.whole("gpus_per_node", c.gpus_per_node, std::int64_t{1}, 1, most);
  if constexpr (Keys::reads) {
    if (c.gpus_per_node == 0) c.gpus_per_node = counted > 0 ? std::max<std::int64_t>(1, counted / c.nodes) : 1;
    if (counted > 0 && counted != c.gpus())
      fail("headroom: the counts in " + k.at("gpu") + " must add up to nodes × gpus_per_node, " + std::to_string(c.gpus()) + "; they add up to " +
           std::to_string(counted));
  }
  k.whole("network_gbit_per_node", c.network_gbit, std::int64_t{}, 0, 1'000'000);
  k.gib("host_memory_gib", c.host_memory);
  k.gib("nvme_gib", c.nvme);
  k.gib("taken_gib", c.taken);
}

}  // namespace headroom::io
