// Distributed under the Boost Software License, Version 1.0.
// A program that trains, as plain data: how it is recognised, what its own arguments mean, and what it does where they are silent.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/megatron/programs.hpp>
#include <headroom/io/syntax/passed_keys.hpp>

#include <span>

namespace headroom::io::detail {

// Names stand between bars; empty where a program has none of the kind.

/// Its arguments for adapters of PEFT.
struct lora_words {
  std::string_view on{};              ///< a flag; a number of its rank where it is `rank`, too
  bool by_default{};
  std::string_view rank{};
  std::int64_t rank_default{8};
  std::string_view targets{};
  bool targets_by_words{};            ///< a list's words as the shell cuts them: a comma is a part of a name
  std::string_view targets_default{"all-linear"};  ///< empty: PEFT's own for the model, which is asked for
  std::string_view dropout{};
  std::int64_t dropout_percent{};
  std::string_view dora{};
  std::string_view saved{};           ///< modules that train as a whole
  std::string_view saved_of_base{};   ///< … where the model's name has no "chat", and these are
};

/// Its arguments for a quantised base (bitsandbytes, where nothing else is said).
struct base_words {
  std::string_view four{}, eight{};   ///< flags
  std::string_view packed{};          ///< a flag: the checkpoint is one of GPTQ's, of four bits in groups of 128
  std::string_view bits{};            ///< 4, 8, or 16 and 32 for none
  std::string_view kind{};
  std::string_view kind_default{"nf4"};
  std::string_view nested{};
  bool nested_default{};
  std::string_view double_by{};       ///< a flag without which four bits are fp4, and with which they are nf4 quantised twice
  bool prepared{true};                ///< all else is made fp32 before training (peft/utils/other.py, prepare_model_for_kbit_training)
};

/// What stands where gradient_checkpointing is not given; some programs have changed their minds.
enum class checkpoints : std::uint8_t { no, yes, unknown };

/// What a program makes of the model's use_cache, by which an evaluation makes keys and values, too: nothing; off where layers are checkpointed; off.
enum class cached : std::uint8_t { as_configured, unless_checkpointed, never };

struct training_program {
  std::string_view name;
  std::string_view scripts{};         ///< ends of paths
  std::string_view marks{};           ///< arguments of its own; a script's name that others have, too, needs one of them
  file_kind takes{file_kind::trainer};
  megatron_program megatron{};        ///< of Megatron's
  std::string_view refused{};         ///< why there is no job in it
  std::string_view model{"model_name_or_path"};
  std::string_view model_default{};   ///< what trains where it is not given; empty: it is asked for
  std::string_view micro{"per_device_train_batch_size"};
  std::string_view length{};          ///< its names for batch.sequence
  std::int64_t length_default{};      ///< 0: it must be given
  bool keeps_lengths{};               ///< what it does not pack, it pads to the longest sample of each micro-batch; else to the limit, or nobody knows
  bool causal{};                      ///< it loads its model by transformers' AutoModelForCausalLM
  std::string_view loads{};           ///< "fp32", "bf16", "fp16", "half" (as it computes); empty: as from_pretrained does by itself
  std::string_view loads_whole{};     ///< where all of the model trains, whatever is said; empty: as it loads
  std::string_view dtype{};           ///< the argument that says otherwise
  std::int64_t micro_default{8};
  std::int64_t evaluates{8};          ///< examples that a GPU evaluates at once; 0: as many as it trains on
  cached keys{cached::as_configured};   ///< whether an evaluation makes keys and values, too
  bool keeps_predictions{};           ///< … of which it keeps the likeliest tokens for metrics
  checkpoints recompute{checkpoints::no};
  lora_words lora{};
  base_words base{};
  std::string_view flash{};           ///< those of its scripts that train with flash attention, or a kernel that keeps as much
  std::span<const passed_key> passed{};
  std::span<const passed_key> also{};  ///< further ones, that it shares
  std::string_view method{};          ///< of TRL's trainers: objective.kind; empty elsewhere
  std::string_view own{};             ///< … arguments of the script's own, that some release of TRL has for something else
};

/// The one of `ends` with which the path ends, at a folder's border; empty where there is none.
inline std::string_view path_end(std::string_view path, std::string_view ends) {
  while (!ends.empty()) {
    const auto bar = ends.find('|');
    const auto one = ends.substr(0, bar);
    if (path.ends_with(one) && (path.size() == one.size() || path[path.size() - one.size() - 1] == '/')) return one;
    if (bar == std::string_view::npos) break;
    ends.remove_prefix(bar + 1);
  }
  return {};
}

}  // namespace headroom::io::detail
