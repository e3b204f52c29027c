// Distributed under the Boost Software License, Version 1.0.
// Which layers torchtitan puts on each pipeline stage, once the model is known.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io::detail {

/// Layers of each of `stages` parts, where the ends count as so many layers each; the first parts have one more where they do not come out even
/// (torchtitan/distributed/pipeline_parallel.py at 238fa995, generate_llm_fqn_per_model_part).
inline std::vector<std::int64_t> torchtitan_parts(const draft::stage_rule& r, std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(stages));
  const auto counted = checked::add(layers, checked::add(r.first, r.last));
  const auto each = counted / stages;
  if (each < std::max({r.first, r.last, std::int64_t{1}}))
    fail("headroom: " + r.place + ": torchtitan does not divide " + std::to_string(layers) + " layers over " + std::to_string(stages) + " stages");
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = each + (static_cast<std::int64_t>(i) < counted % stages ? 1 : 0);
  all.front() -= r.first;
  all.back() -= r.last;
  return all;
}

/// N of "layers.N", -1 for a module that is no layer.
inline std::int64_t layer_named(const json_value& v, const std::string& path) {
  const auto& name = string_at(v, path);
  const auto digits = name.starts_with("layers.") ? name.substr(7) : std::string{};
  if (!digits.empty() && digits.size() < 6 && digits.find_first_not_of("0123456789") == std::string::npos) return std::stoll(digits);
  if (name != "tok_embeddings" && name != "norm" && name != "output" && name != "lm_head") wrong_value(path, "\"tok_embeddings\", \"layers.N\", \"norm\" or \"output\"", v);
  return -1;
}

/// pipeline_parallel_split_points: the first layer of each stage but the first.
inline void read_split_points(draft::stage_rule& r, const json_value& list, const std::string& path) {
  r.listed = true;
  each_at(list, path, "a list of \"layers.N\"", [&](const json_value& one, const std::string& inner) { r.starts.push_back(layer_named(one, inner)); });
}
/// module_fqns_per_model_part: all modules of each.
inline void read_model_parts(draft::stage_rule& r, const json_value& list, const std::string& path) {
  r.listed = true;
  std::int64_t next = 0;
  each_at(list, path, "a list of lists of names", [&](const json_value& part, const std::string& at) {
    if (&part != &list.front()) r.starts.push_back(next);
    each_at(part, at, "a list of names", [&](const json_value& one, const std::string& inner) {
      if (const auto n = layer_named(one, inner); n >= 0) next = n + 1;
    });
  });
}

/// Parts that a configuration lists, from the first layer of each but the first.
inline std::vector<std::int64_t> listed_parts(const draft::stage_rule& r, std::int64_t layers) {
  std::vector<std::int64_t> all;
  std::int64_t before = 0;
  auto starts = r.starts;
  starts.push_back(layers);
  for (const auto next : starts) {
    if (next < before || next > layers) fail("headroom: " + r.place + ": the stages do not begin one behind the other in a model of " + std::to_string(layers) + " layers");
    all.push_back(next - before);
    before = next;
  }
  return all;
}

/// Says what the profile does not do by itself: ends that count as one layer each (framework/torchtitan.hpp).
inline void settle_stages(draft& d) {
  const auto* pipeline = d.find({"parallel", "pipeline"});
  const auto* model = d.find({"model"});
  if (!d.stages || model == nullptr || pipeline == nullptr || *pipeline == 1) return;
  if (d.has({"parallel", "stage_layers"}) || d.has({"parallel", "first_stage_layers"}) || d.has({"parallel", "last_stage_layers"})) return;
  const auto& r = *d.stages;
  const auto ranks = whole_at(*pipeline, "parallel.pipeline", 1, degrees::max_entries);
  const auto layers = read_model(*model, "model", "/nonexistent/folder").layers;
  const auto* chunks = d.find({"parallel", "virtual_pipeline"});
  auto each = chunks == nullptr ? 1 : whole_at(*chunks, "parallel.virtual_pipeline", 1, degrees::max_entries);
  if (r.per_stage > 0) {
    const auto parts = checked::ceil_div(checked::add(layers, checked::add(r.first, r.last)), r.per_stage);
    if (parts % ranks != 0 || (r.looped ? parts < 2 * ranks : parts != ranks))
      fail("headroom: " + r.place + ": pipeline_parallel_layers_per_stage " + std::to_string(r.per_stage) + " makes " + std::to_string(parts) + " stages, which torchtitan does not give to " + std::to_string(ranks) + " ranks");
    each = parts / ranks;
    if (each > 1) d.say({"parallel", "virtual_pipeline"}, each, r.place);
  }
  const auto stages = checked::mul(ranks, each);
  if (!r.listed && r.first == 1 && r.last == 1) return;
  const auto parts = r.listed ? listed_parts(r, layers) : torchtitan_parts(r, layers, stages);
  if (static_cast<std::int64_t>(parts.size()) != stages)
    fail("headroom: " + r.place + ": the configuration lists " + std::to_string(parts.size()) + " stages for " + std::to_string(ranks) + " ranks with " + std::to_string(each) + " each");
  d.say({"parallel", "stage_layers"}, parts, r.place);
}

}  // namespace headroom::io::detail
