// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's command-line arguments that name modules: whose activations go to host memory, and what is captured in CUDA graphs.
#pragma once

#include <headroom/io/job/framework.hpp>

#include <algorithm>

namespace headroom::io::detail {

inline constexpr auto megatron_offload_names =
    std::to_array<std::string_view>({"attn_norm", "qkv_linear", "core_attn", "attn_proj", "mlp_norm", "expert_fc1", "moe_act"});

inline constexpr auto megatron_graph_names = std::to_array<std::string_view>({"attn", "mlp", "moe"});

/// A list in one string, as a command line or a recipe has it: names with brackets, commas or spaces between them.
template <class Visit>
void for_each_word(std::string_view list, Visit&& visit) {
  constexpr std::string_view between = "[], ";
  while (true) {
    const auto first = list.find_first_not_of(between);
    if (first == std::string_view::npos) return;
    const auto end = list.find_first_of(between, first);
    visit(list.substr(first, end == std::string_view::npos ? end : end - first));
    if (end == std::string_view::npos) return;
    list.remove_prefix(end);
  }
}

/// The names of a set of modules, as a list in one string.
template <class Names>
std::string words_of(std::uint32_t bits, const Names& names) {
  std::string r;
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((bits >> i & 1U) != 0) r += (r.empty() ? "" : " ") + std::string{names[i]};
  return r;
}

/// fine-grained-activation-offloading and offload-modules.
inline void apply_megatron_offload(job& j, bool on, const std::string& modules, const option_merger& merge, const std::string& path) {
  if (!on) return;
  for_each_word(modules, [&](std::string_view word) {
    const auto at = std::find(megatron_offload_names.begin(), megatron_offload_names.end(), word);
    if (at == megatron_offload_names.end())
      fail("headroom: " + path + " " + in_quotes(word) + " is not modelled by this version; accepted: " + listed(megatron_offload_names));
    j.framework.checkpointing.offloaded_modules |= std::uint32_t{1} << (at - megatron_offload_names.begin());
  });
  if (j.framework.checkpointing.offloaded_modules == 0) fail("headroom: with fine-grained-activation-offloading " + path + " must name modules: " + listed(megatron_offload_names));
  merge.set(j.offload.activations, place::on_cpu, "offload", "activations", path);
}

/// cuda-graph-impl, -scope (or -modules) and -warmup-steps. A router by itself leaves next to nothing in a graph.
inline void apply_megatron_graphs(profile& f, key_reader& k) {
  const auto* v = k.take("cuda-graph-impl");
  const auto impl = v != nullptr ? string_at(*v, k.at("cuda-graph-impl")) : std::string{"none"};
  if (impl != "none" && impl != "local" && impl != "transformer_engine")
    fail("headroom: " + k.at("cuda-graph-impl") + " " + in_quotes(impl) + " is not modelled by this version; accepted: none, local, transformer_engine");
  std::uint32_t modules = 0;
  bool whole = true;
  for (const char* key : {"cuda-graph-scope", "cuda-graph-modules"}) {
    const auto* list = k.take(key);
    if (list == nullptr) continue;
    for_each_word(string_at(*list, k.at(key)), [&](std::string_view word) {
      const auto at = std::find(megatron_graph_names.begin(), megatron_graph_names.end(), word);
      const bool router = word == "moe_router" || word == "moe_preprocess";
      if (word == "full") return;
      if (at == megatron_graph_names.end() && !router)
        fail("headroom: " + k.at(key) + " " + in_quotes(word) + " is not modelled by this version; accepted: full, attn, mlp, moe, moe_router, moe_preprocess");
      whole = false;
      if (!router) modules |= std::uint32_t{1} << (at - megatron_graph_names.begin());
    });
  }
  const auto* steps = k.take("cuda-graph-warmup-steps");
  const bool at_once = steps != nullptr && count_at(*steps, k.at("cuda-graph-warmup-steps"), 0, 1 << 20) == 0;
  if (impl == "none") return;
  f.graphs.capture = impl == "local" ? graph_capture::by_framework : graph_capture::by_engine;
  if (at_once && impl != "local") f.graphs.modules = whole ? 7 : modules;
}

}  // namespace headroom::io::detail
