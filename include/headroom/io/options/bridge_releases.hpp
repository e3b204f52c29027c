// Distributed under the Boost Software License, Version 1.0.
// What the performance recipes of Megatron-Bridge's releases set for models with experts, and no option of a job says: a row each.
#pragma once

#include <headroom/job.hpp>

#include <array>
#include <string_view>

namespace headroom::io::performance {

/// GPUs and formats of a recipe, as bits.
inline constexpr unsigned h100 = 1, b200 = 2, b300 = 4, gb200 = 8, gb300 = 16, any_gpu = 31;
inline constexpr unsigned bf16 = 1, fp8 = 2, mxfp8 = 4, nvfp4 = 8, any_format = 15;
inline constexpr auto no_graphs = recipe_graphs::none, in_layers = recipe_graphs::layers, whole_step = recipe_graphs::step;

/// Releases `from` to `until`, yymmpp. Where a model has several on one GPU, the degree of experts or the chunks of a stage tell which: 0 is any.
struct recipe_row {
  std::int32_t from, until;
  std::int64_t hidden, experts;
  unsigned gpus, formats;
  recipe_graphs graphs;
  bool hides_exchange, sends_once;
  std::int64_t expert{0}, chunks{0};
};

/// Read from NVIDIA-NeMo/Megatron-Bridge at v0.2.0, v0.3.0, v0.3.1, v0.4.0, v0.4.1, v0.5.0, v0.5.1 (containers 25.11 to 26.06.01; scripts/performance/configs/
/// */*workload_base_configs.py) and v0.6.0 (26.08; src/megatron/bridge/perf_recipes): cuda_graph_impl, moe_a2a_overlap, moe_flex_dispatcher_backend. The first row that
/// fits holds. DeepSeek-V3, Kimi K2, gpt-oss-120b, Qwen3-235B-A22B and Qwen3-30B-A3B by their width and number of experts.
inline constexpr std::array recipe_rows{
    recipe_row{251100, 251199, 7168, 256, gb200 | gb300, any_format, in_layers, false, true},
    recipe_row{251100, 251199, 7168, 256, h100, any_format, no_graphs, true, true},
    recipe_row{251100, 251199, 7168, 256, b200, any_format, no_graphs, false, false},
    recipe_row{260600, 269999, 7168, 256, gb200 | gb300, mxfp8, whole_step, true, true},
    recipe_row{260601, 269999, 7168, 256, b300, mxfp8, whole_step, true, true},
    recipe_row{260600, 269999, 7168, 256, b300, any_format, in_layers, false, true},
    recipe_row{260401, 269999, 7168, 256, b200, mxfp8, in_layers, true, true, 32},
    recipe_row{260401, 269999, 7168, 256, b200, nvfp4, no_graphs, true, true, 32},
    recipe_row{260200, 269999, 7168, 256, gb200, any_format, in_layers, false, true},
    recipe_row{260200, 269999, 7168, 256, gb300, bf16, in_layers, false, true},
    recipe_row{260200, 269999, 7168, 256, any_gpu, any_format, no_graphs, false, true},

    recipe_row{260201, 269999, 7168, 384, gb200, any_format, in_layers, false, true},
    recipe_row{260201, 269999, 7168, 384, gb300, any_format, no_graphs, false, true},
    recipe_row{260201, 269999, 7168, 384, h100 | b200 | b300, any_format, no_graphs, false, false},

    recipe_row{260600, 269999, 2880, 128, gb200 | gb300, mxfp8, whole_step, true, true},
    recipe_row{260600, 269999, 2880, 128, gb200, any_format, no_graphs, false, false},
    recipe_row{260400, 260499, 2880, 128, gb200, any_format, no_graphs, true, true},
    recipe_row{260400, 269999, 2880, 128, b300, any_format, in_layers, false, true},
    recipe_row{260400, 260499, 2880, 128, b200, any_format, no_graphs, false, true},
    recipe_row{251100, 269999, 2880, 128, gb300, any_format, in_layers, false, false},
    recipe_row{260200, 260399, 2880, 128, b300, any_format, in_layers, false, false},
    recipe_row{251100, 269999, 2880, 128, any_gpu, any_format, no_graphs, false, false},

    recipe_row{260600, 269999, 4096, 128, gb200 | gb300, mxfp8, whole_step, true, true},
    recipe_row{260601, 269999, 4096, 128, b200 | b300, mxfp8, whole_step, true, true},
    recipe_row{260600, 269999, 4096, 128, b300, any_format, no_graphs, false, true},
    recipe_row{251100, 269999, 4096, 128, gb200 | gb300, any_format, in_layers, false, true},
    recipe_row{260200, 260299, 4096, 128, b300, any_format, no_graphs, false, false, 0, 4},
    recipe_row{260201, 260299, 4096, 128, h100, any_format, no_graphs, true, true},
    recipe_row{260201, 260299, 4096, 128, b200 | b300, any_format, no_graphs, false, true},
    recipe_row{251100, 269999, 4096, 128, h100, any_format, no_graphs, false, false},
    recipe_row{251100, 251199, 4096, 128, b200, any_format, no_graphs, false, false},
    recipe_row{260200, 269999, 4096, 128, b200 | b300, any_format, no_graphs, false, false},

    recipe_row{260600, 269999, 2048, 128, gb200 | gb300 | b300, mxfp8, whole_step, true, true},
    recipe_row{260601, 269999, 2048, 128, b200, mxfp8, whole_step, true, true},
    recipe_row{260201, 269999, 2048, 128, b200, any_format, in_layers, false, true},
    recipe_row{251100, 269999, 2048, 128, gb200 | gb300 | b300, any_format, in_layers, false, true},
    recipe_row{251100, 260200, 2048, 128, b200, any_format, in_layers, false, false},
    recipe_row{251100, 251199, 2048, 128, h100, any_format, no_graphs, false, false},
    recipe_row{260200, 269999, 2048, 128, h100, any_format, no_graphs, true, true, 8},
    recipe_row{260201, 269999, 2048, 128, h100, any_format, no_graphs, false, true},
};

/// yymmpp of "Megatron-Bridge 26.04.01" or "Megatron-Bridge 26.04", 0 for none.
constexpr std::int32_t release_in(std::string_view version) {
  constexpr std::string_view name = "Megatron-Bridge ";
  const auto at = version.find(name);
  if (at == std::string_view::npos) return 0;
  const auto said = version.substr(at + name.size());
  const auto pair = [&](std::size_t i) {
    const auto digit = [&](std::size_t k) { return k < said.size() && said[k] >= '0' && said[k] <= '9'; };
    return digit(i) && digit(i + 1) && !digit(i + 2) ? (said[i] - '0') * 10 + (said[i + 1] - '0') : -1;
  };
  const auto dot = [&](std::size_t i) { return i < said.size() && said[i] == '.'; };
  const int year = pair(0), month = dot(2) ? pair(3) : -1, patch = dot(5) ? pair(6) : 0;
  return year < 0 || month < 1 || month > 12 || patch < 0 ? 0 : year * 10000 + month * 100 + patch;
}

/// As a version says it.
inline std::string version_of(std::int32_t release) {
  const auto two = [](std::int32_t n) { return std::string{static_cast<char>('0' + n / 10 % 10), static_cast<char>('0' + n % 10)}; };
  return release == 0 ? "Megatron-Bridge" : "Megatron-Bridge " + two(release / 10000) + "." + two(release / 100) + (release % 100 > 0 ? "." + two(release) : "");
}

/// What the recipe of a job's release sets, where the job's options leave it open.
inline void apply_release(job& j, std::string_view version) {
  auto& f = j.framework;
  f.recipe.release = release_in(version);
  if (f.recipe.release == 0 || f.graphs.capture != graph_capture::none) return;
  const auto& compute = (j.precision.set() ? j.precision : f.precision).compute;
  const unsigned format = compute.bits == 4 ? nvfp4 : compute.bits != 8 ? bf16 : f.fp8.scaling == fp8_scaling::block ? mxfp8 : fp8;
  const auto label = j.hardware.accelerator().label.view();
  const auto starts = [&](std::string_view text) { return label.substr(0, text.size()) == text; };
  const unsigned gpu = starts("gb300") ? gb300 : starts("gb200") ? gb200 : starts("b300") ? b300 : starts("b200") ? b200 : starts("h100") ? h100 : 0U;
  for (const auto& r : recipe_rows) {
    if (f.recipe.release < r.from || f.recipe.release > r.until || j.model.hidden != r.hidden || j.model.experts.count != r.experts) continue;
    if ((r.gpus & gpu) == 0 || (r.formats & format) == 0 || (r.expert != 0 && r.expert != j.parallel.expert) || (r.chunks != 0 && r.chunks != j.parallel.virtual_pipeline)) continue;
    f.recipe = {.release = f.recipe.release, .known = true, .graphs = r.graphs, .hides_exchange = r.hides_exchange, .sends_once = r.sends_once};
    return;
  }
}

}  // namespace headroom::io::performance
