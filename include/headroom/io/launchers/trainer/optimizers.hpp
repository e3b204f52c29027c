// Distributed under the Boost Software License, Version 1.0.
// What the Trainer's arguments say about GaLore and APOLLO (transformers trainer_optimizer.py, LLaMA-Factory train/trainer_utils.py).
#pragma once

#include <headroom/io/launchers/named_values.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace headroom::io::detail {

/// The linear layers that are projected must be all that the model's layers have: "all" (LLaMA-Factory, without the head), or names in the
/// attention and in the MLP. "all-linear" of the Trainer is the head, too.
inline void check_projected(named_values& v, std::string_view key) {
  const auto* said = v.take(key);
  if (said == nullptr) return;
  std::vector<std::string> words;
  const auto add = [&](const json_value& word) {
    std::string one;
    for (const char c : string_at(word, std::string{key}) + ",") {
      if (c != ',' && c != ' ') {
        if (c != '.' && c != '*' && c != '\\') one += c;
        continue;
      }
      if (!one.empty()) words.push_back(one);
      one.clear();
    }
  };
  if (said->is_array())
    for (const auto& word : *said) add(word);
  else
    add(*said);
  const auto has = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (words.size() == 1 && has("all")) return;
  if (words.size() == 2 && has("mlp") && (has("attn") || has("self_attn"))) return;
  fail("headroom: " + std::string{key} + " " + in_quotes(said->is_string() ? said->get<std::string>() : said->dump()) +
       " is not modelled by this version: every linear layer but the head is projected; accepted: all, mlp with attn, mlp with self_attn");
}

/// "rank=64, update_proj_gap=100"; a rank of 128 where nothing is said.
inline void read_projection(named_values& v, json_value& optimizer) {
  optimizer["rank"] = 128;
  auto text = v.word("optim_args", "");
  std::erase(text, ' ');
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(',', at), text.size());
    const auto pair = text.substr(at, end - at);
    at = end + 1;
    const auto equals = pair.find('=');
    const auto name = pair.substr(0, equals);
    const auto* ours = name == "rank" ? "rank" : name == "update_proj_gap" ? "update_interval" : nullptr;
    if (ours == nullptr) {
      if (name == "scale" || name == "scale_type" || (name == "proj_type" && pair.ends_with("=std")) || (name == "proj" && pair.ends_with("=random"))) continue;
      fail("headroom: optim_args " + in_quotes(pair) + " is not modelled by this version; accepted: rank, update_proj_gap, scale");
    }
    std::int64_t n = 0;
    const auto* first = pair.data() + std::min(equals, pair.size() - 1) + 1;
    const auto* last = pair.data() + pair.size();
    if (const auto r = std::from_chars(first, last, n); r.ec != std::errc{} || r.ptr != last || n < 1) fail("headroom: optim_args " + in_quotes(pair) + " must have a whole number from 1");
    optimizer[ours] = n;
  }
  check_projected(v, "optim_target_modules");
}

}  // namespace headroom::io::detail
