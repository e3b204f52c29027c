// Distributed under the Boost Software License, Version 1.0.
// What other programs call each optimizer: one entry holds all its names, and whoever reads or writes a file looks here.
#pragma once

#include <headroom/io/syntax/keys.hpp>
#include <headroom/recipe/optimizer.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::io {

enum class optimizer_namer : std::uint8_t { trainer, deepspeed, megatron, torchtitan, torch_class, axolotl };

/// A name, and what it says beside the optimizer: how the update is carried out, and that it runs as gradients come.
struct optimizer_name {
  std::string_view text;
  implementation how{};
  bool in_backward{};
};

/// The first of a program's names is the one that is written.
struct optimizer_entry {
  const optimizer* is;
  std::array<optimizer_name, 4> trainer{};     ///< transformers training_args.py OptimizerNames
  std::array<optimizer_name, 4> deepspeed{};   ///< deepspeed runtime/config.py DEEPSPEED_OPTIMIZERS; upper or lower case
  std::array<optimizer_name, 4> megatron{};    ///< Megatron-LM training/arguments.py --optimizer
  std::array<optimizer_name, 4> torchtitan{};  ///< torchtitan components/optimizer.py
  std::array<optimizer_name, 4> torch_class{};  ///< classes of torch.optim, and of bitsandbytes.optim and torchao.optim where they differ
  std::array<optimizer_name, 4> axolotl{};  ///< axolotl utils/schemas/enums.py CustomSupportedOptimizers, beside the Trainer's

  [[nodiscard]] constexpr const std::array<optimizer_name, 4>& of(optimizer_namer who) const {
    switch (who) {
      case optimizer_namer::trainer: return trainer;
      case optimizer_namer::deepspeed: return deepspeed;
      case optimizer_namer::megatron: return megatron;
      case optimizer_namer::torchtitan: return torchtitan;
      case optimizer_namer::axolotl: return axolotl;
      case optimizer_namer::torch_class: break;
    }
    return torch_class;
  }
};

namespace detail {
inline constexpr std::array<optimizer_entry, optimizers::all.size()> optimizer_entries{{
    {.is = &optimizers::adamw,
     .trainer = {{{"adamw_torch"}, {"adamw_hf"}, {"adamw_torch_fused", implementation::fused}, {"adamw_apex_fused", implementation::fused}}},
     .deepspeed = {{{"AdamW"}}},
     .megatron = {{{"adam"}}},
     .torchtitan = {{{"AdamW"}, {"Adam"}}},
     .torch_class = {{{"AdamW"}}}},
    {.is = &optimizers::adam, .deepspeed = {{{"Adam"}}}, .torch_class = {{{"Adam"}}}},
    {.is = &optimizers::adamw_8bit, .trainer = {{{"adamw_8bit"}, {"adamw_bnb_8bit"}}}, .torch_class = {{{"AdamW8bit"}}}},
    {.is = &optimizers::paged_adamw_8bit, .trainer = {{{"paged_adamw_8bit"}}}, .torch_class = {{{"PagedAdamW8bit"}}}},
    {.is = &optimizers::paged_adamw, .trainer = {{{"paged_adamw"}, {"paged_adamw_32bit"}}}, .torch_class = {{{"PagedAdamW"}, {"PagedAdamW32bit"}}}},
    {.is = &optimizers::adafactor, .trainer = {{{"adafactor"}}}},
    {.is = &optimizers::lion, .trainer = {{{"lion"}, {"lion_32bit"}}}, .deepspeed = {{{"Lion"}}}, .megatron = {{{"lion"}}}},
    {.is = &optimizers::lion_8bit, .trainer = {{{"lion_8bit"}}}, .torch_class = {{{"Lion8bit"}}}},
    {.is = &optimizers::paged_lion, .trainer = {{{"paged_lion_32bit"}}}},
    {.is = &optimizers::paged_lion_8bit, .trainer = {{{"paged_lion_8bit"}}}, .torch_class = {{{"PagedLion8bit"}}}},
    {.is = &optimizers::ademamix, .trainer = {{{"ademamix"}}}},
    {.is = &optimizers::ademamix_8bit, .trainer = {{{"ademamix_8bit"}}}},
    {.is = &optimizers::paged_ademamix, .trainer = {{{"paged_ademamix_32bit"}}}},
    {.is = &optimizers::paged_ademamix_8bit, .trainer = {{{"paged_ademamix_8bit"}}}},
    {.is = &optimizers::rmsprop_bnb, .trainer = {{{"rmsprop_bnb"}, {"rmsprop_bnb_32bit"}}}},
    {.is = &optimizers::rmsprop_8bit, .trainer = {{{"rmsprop_bnb_8bit"}}}},
    {.is = &optimizers::adamw_torchao_8bit, .trainer = {{{"adamw_torch_8bit"}}}},
    {.is = &optimizers::adamw_torchao_4bit, .trainer = {{{"adamw_torch_4bit"}}}, .torch_class = {{{"AdamW4bit"}}}},
    {.is = &optimizers::adamw_torchao_fp8, .torch_class = {{{"AdamWFp8"}}}, .axolotl = {{{"ao_adamw_fp8"}}}},
    {.is = &optimizers::sgd, .trainer = {{{"sgd"}}}, .deepspeed = {{{"SGD"}}}, .torch_class = {{{"SGD"}}}},
    {.is = &optimizers::sgd_momentum, .megatron = {{{"sgd"}}}},
    {.is = &optimizers::adagrad, .trainer = {{{"adagrad"}}}, .deepspeed = {{{"Adagrad"}}}, .torch_class = {{{"Adagrad"}}}},
    {.is = &optimizers::galore, .trainer = {{{"galore_adamw"}, {.text = "galore_adamw_layerwise", .in_backward = true}}}},
    {.is = &optimizers::galore_8bit, .trainer = {{{"galore_adamw_8bit"}, {.text = "galore_adamw_8bit_layerwise", .in_backward = true}}}},
    {.is = &optimizers::galore_adafactor, .trainer = {{{"galore_adafactor"}}}},
    {.is = &optimizers::apollo, .trainer = {{{"apollo_adamw"}, {.text = "apollo_adamw_layerwise", .in_backward = true}}}},
    {.is = &optimizers::apollo_mini},
    {.is = &optimizers::lomo, .trainer = {{{"lomo"}}}},
    {.is = &optimizers::adalomo, .trainer = {{{"adalomo"}}}},
    {.is = &optimizers::badam},
    {.is = &optimizers::muon, .deepspeed = {{{"Muon"}}}, .megatron = {{{"muon"}, {"dist_muon"}}}},
    {.is = &optimizers::adam_mini},
    {.is = &optimizers::came, .axolotl = {{{"came_pytorch"}}}},
    {.is = &optimizers::prodigy},
    {.is = &optimizers::schedule_free_adamw, .trainer = {{{"schedule_free_adamw"}, {"schedule_free_radam"}}}},  // schedulefree radam_schedulefree.py: the same tensors
    {.is = &optimizers::schedule_free_sgd, .trainer = {{{"schedule_free_sgd"}}}},
    {.is = &optimizers::rmsprop, .trainer = {{{"rmsprop"}}}, .torch_class = {{{"RMSprop"}}}},
    {.is = &optimizers::stable_adamw, .trainer = {{{"stable_adamw"}}}},
    {.is = &optimizers::optimi_adamw, .axolotl = {{{"optimi_adamw"}}}},
    {.is = &optimizers::adopt, .axolotl = {{{"adopt_adamw"}}}},
    {.is = &optimizers::grokadamw, .trainer = {{{"grokadamw"}}}},
    {.is = &optimizers::anyprecision_adamw, .trainer = {{{"adamw_anyprecision"}}}},
    {.is = &optimizers::lamb, .deepspeed = {{{"Lamb"}}}},
    {.is = &optimizers::soap},
    {.is = &optimizers::flash_adamw, .axolotl = {{{"flash_adamw"}, {"flash_adam"}}}},
    {.is = &optimizers::flash_lion, .axolotl = {{{"flash_lion"}}}},
}};

/// Names that a program has, of optimizers that are not modelled: transformers training_args.py OptimizerNames, deepspeed runtime/config.py
/// DEEPSPEED_OPTIMIZERS, Megatron-LM training/arguments.py, axolotl utils/schemas/enums.py.
struct unmodelled_optimizer {
  optimizer_namer who;
  std::string_view text;
  std::string_view why;  ///< empty: nobody has counted it yet
};
inline constexpr unmodelled_optimizer unmodelled_optimizers[] = {
    {optimizer_namer::trainer, "adamw_torch_xla", "it is for TPUs"},
    {optimizer_namer::trainer, "adamw_torch_npu_fused", "it is torch_npu's, for Ascend"},
    {optimizer_namer::trainer, "galore_adafactor_layerwise", "transformers gives its Adafactor lr and relative_step=True, which it refuses"},
    {optimizer_namer::deepspeed, "OneBitAdam", {}},
    {optimizer_namer::deepspeed, "OneBitLamb", {}},
    {optimizer_namer::deepspeed, "ZeroOneAdam", {}},
    {optimizer_namer::deepspeed, "MuAdam", {}},
    {optimizer_namer::deepspeed, "MuAdamW", {}},
    {optimizer_namer::deepspeed, "MuSGD", {}},
    {optimizer_namer::megatron, "soap", "preconditioners over Megatron's shards are not counted"},
    {optimizer_namer::megatron, "adaptive_muon", "its second moment is not counted"},
    {optimizer_namer::axolotl, "muon", {}},
    {optimizer_namer::axolotl, "dion", {}},
    {optimizer_namer::axolotl, "sinkgd", {}},
    {optimizer_namer::axolotl, "flash_sgd", {}},
    {optimizer_namer::axolotl, "flash_sgdw", {}},
    {optimizer_namer::axolotl, "ao_adamw_4bit", "axolotl has taken the name back: say adamw_torch_4bit"},
    {optimizer_namer::axolotl, "ao_adamw_8bit", "axolotl has taken the name back: say adamw_torch_8bit"},
    {optimizer_namer::axolotl, "q_galore_adamw8bit", {}}};

inline std::string lower_case(std::string_view text) {
  std::string r{text};
  for (auto& c : r) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return r;
}
}  // namespace detail

/// What a program's name means: an optimizer of the table, or null, and how it updates.
struct named_optimizer {
  const optimizer* is{};
  implementation how{};
  bool in_backward{};
};
inline named_optimizer optimizer_called(optimizer_namer who, std::string_view text) {
  const bool any_case = who == optimizer_namer::deepspeed;  // get_optimizer_name().lower()
  for (const auto& e : detail::optimizer_entries)
    for (const auto& n : e.of(who))
      if (!n.text.empty() && (n.text == text || (any_case && detail::lower_case(n.text) == detail::lower_case(text)))) return {e.is, n.how, n.in_backward};
  return {};
}

/// What a program calls an optimizer, updated as it is where one of its names says so; empty where it has none of that label.
inline std::string_view name_of_optimizer(optimizer_namer who, const optimizer& o) {
  for (const auto& e : detail::optimizer_entries) {
    if (e.is->label != o.label) continue;
    for (const auto& n : e.of(who))
      if (!n.text.empty() && n.how == o.how && n.in_backward == o.in_backward) return n.text;
    return e.of(who)[0].text;
  }
  return {};
}

/// All names that a program takes.
inline std::vector<std::string_view> optimizer_names_of(optimizer_namer who) {
  std::vector<std::string_view> r;
  for (const auto& e : detail::optimizer_entries)
    for (const auto& n : e.of(who))
      if (!n.text.empty()) r.push_back(n.text);
  return r;
}

/// Refuses a name that optimizer_called() does not know: as one that is not modelled, or as a slip.
[[noreturn]] inline void refuse_optimizer(optimizer_namer who, const std::string& path, const std::string& word) {
  for (const auto& u : detail::unmodelled_optimizers)
    if (u.who == who && detail::lower_case(u.text) == detail::lower_case(word))
      fail("headroom: " + path + " " + in_quotes(word) + " is not modelled by this version" + (u.why.empty() ? "" : " (" + std::string{u.why} + ")") + "; accepted: " + listed(optimizer_names_of(who)));
  unknown_name(path, word, optimizer_names_of(who));
}

}  // namespace headroom::io
