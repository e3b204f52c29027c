// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's small languages: which layers lie in which chunk of a pipeline, and which layers are sparse.
#pragma once

#include <headroom/io/syntax/json_reader.hpp>

namespace headroom::io::detail {

/// "x*3" and "(xy)*3" written out, brackets removed (core/transformer/pipeline_parallel_layer_layout.py, from_str). At most 4,096 characters.
inline std::string repeated(std::string_view text, const std::string& path, int depth = 0) {
  constexpr std::size_t most = 4096;
  std::string all;
  const auto bad = [&] { fail("headroom: " + path + " must be a layout such as \"Et*3|(tt|)*5tL\""); };
  if (depth > 8) bad();
  for (std::size_t i = 0; i < text.size();) {
    std::string unit;
    if (text[i] == '(') {
      int open = 0;
      std::size_t end = i;
      for (; end < text.size(); ++end) {
        if (text[end] == '(') ++open;
        if (text[end] == ')' && --open == 0) break;
      }
      if (end >= text.size()) bad();
      unit = repeated(text.substr(i + 1, end - i - 1), path, depth + 1);
      i = end + 1;
    } else {
      unit = text[i++];
    }
    std::size_t times = 1;
    if (i < text.size() && text[i] == '*') {
      std::size_t digits = 0;
      times = 0;
      for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i, ++digits) times = std::min<std::size_t>(most, times * 10 + static_cast<std::size_t>(text[i] - '0'));
      if (digits == 0) bad();
    }
    for (; times > 0; --times) {
      all += unit;
      if (all.size() > most) bad();
    }
  }
  return all;
}

/// Layers ("t") of each chunk of a pipeline, chunks between bars.
inline std::vector<std::int64_t> layers_of_layout(std::string_view layout, const std::string& path) {
  std::vector<std::int64_t> layers{0};
  for (const char c : repeated(layout, path)) {
    if (c == '|')
      layers.push_back(0);
    else if (c == 't')
      ++layers.back();
    else if (c != 'E' && c != 'm' && c != 'L' && c != ',' && c != ' ')
      fail("headroom: " + path + " must be a layout of E, t, m and L between bars, found " + in_quotes(layout));
  }
  return layers;
}

/// Which layers are sparse: a number n (every n-th, from the first), or a list such as ([0]*3+[1]*58) (models/gpt/moe_module_specs).
inline std::vector<bool> sparse_layers(const json_value& said, std::int64_t layers, const std::string& path) {
  std::vector<bool> r;
  if (said.is_number()) {
    const auto every = count_at(said, path, 1, 1 << 20);
    for (std::int64_t i = 0; i < layers; ++i) r.push_back(i % every == 0);
    return r;
  }
  constexpr std::string_view expected = "a number of layers or a list such as \"([0]*3+[1]*58)\"";
  std::string text;
  for (const char c : string_at(said, path, expected))
    if (c != ' ' && c != '(' && c != ')') text += c;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '+') ++i;
    if (i >= text.size() || text[i] != '[') wrong_value(path, expected, said);
    std::vector<bool> part;
    for (++i; i < text.size() && text[i] != ']'; ++i) {
      if (text[i] == ',') continue;
      if (text[i] != '0' && text[i] != '1') wrong_value(path, expected, said);
      part.push_back(text[i] == '1');
    }
    ++i;
    std::int64_t times = 1;
    if (i < text.size() && text[i] == '*')
      for (times = 0, ++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) times = std::min<std::int64_t>(4096, times * 10 + (text[i] - '0'));
    for (; times > 0; --times) {
      r.insert(r.end(), part.begin(), part.end());
      if (r.size() > 4096) wrong_value(path, expected, said);
    }
  }
  if (static_cast<std::int64_t>(r.size()) != layers) wrong_value(path, "a list of as many layers as the model has, " + std::to_string(layers), said);
  return r;
}

}  // namespace headroom::io::detail
