// Distributed under the Boost Software License, Version 1.0.
// Where a prediction may be wrong, and by how much: one table, which bounds.hpp reads. A report's own assumptions say which lines apply.
#pragma once

#include <headroom/report.hpp>

#include <array>

namespace headroom {

/// What can be measured of a rank, each with all that the ones before it hold.
enum class reading : std::uint8_t { allocated, active, reserved, device };
inline constexpr int reading_count = static_cast<int>(reading::device) + 1;

/// Reasons why a measured value differs from a predicted one, independent of each other.
enum class error_source : std::uint8_t {
  tensors,
  small_blocks,
  recipe,
  gather_windows,
  routing,
  sample_lengths,
  compiler,
  fp8_tensors,
  towers,
  eager_stages,
  adapter_units,
  adapter_base,
  moment_copies,
  update_copies,
  deferred_weights,
  offload_overlap,
  cublas_workspace,
  block_ends,
  fragmentation,
  replay_order,
  stream_pools,
  graph_pools,
  stage3_gathers,
  context,
  nccl_buffers,
  driver_reading,
};
inline constexpr int error_source_count = static_cast<int>(error_source::driver_reading) + 1;

/// What an error is proportional to.
enum class error_base : std::uint8_t {
  mebibyte,       ///< nothing: so many thousandths of a MiB
  step_tensors,   ///< `allocated` at the peak without weights, gradients and optimizer states
  activations,
  routed,         ///< rank_report::routed
  samples,        ///< activations and logits: what grows with a sample's length
  gathered,       ///< gathered parameters and communication buffers
  over_next,      ///< by how much the peak is taller than the tallest moment of another phase
  temporaries,
  allocated,
  turnover,       ///< `reserved` without weights, gradients and optimizer states: what passes through the cache
  nccl,
  device,
};

/// One line of the table. `below` and `above`: by how much a measured value lies below or above the prediction, typically (one
/// standard deviation), in thousandths of what it is proportional to.
struct uncertainty {
  error_source from{};
  assumption when{};       ///< applies to reports that list this
  reading first{};         ///< the first number that it is in
  error_base of{};
  std::int32_t below{}, above{};
};

// Calibrated: on every first, third, fifth, … record of a family and metric in tests/accuracy/measured.jsonl, graded A or B, by
// tests/accuracy/spreads.py, which names the records of each line and says how many of the other records are then inside; on all of a
// line's records where half of them are fewer than eight. A spread is such that 80 % of the records it is taken from, and of one more,
// lie where Student's t says (bounds.hpp), and not below a stated least.
// Where runs have come closer since, the wider spread has stayed: spreads.py marks those lines.
// Derived: from the size of what is uncertain.
// clang-format off
inline constexpr std::array uncertainties{
    // Calibrated on litgpt on one GPU, SimuMax and dense Megatron; rounding of blocks and the order of frees are in it.
    uncertainty{error_source::tensors, assumption::steady_state, reading::allocated, error_base::step_tensors, 5, 5},
    // Derived: scalars, random number states, statistics of a loss, a block of 2 MiB cut or not.
    uncertainty{error_source::small_blocks, assumption::steady_state, reading::allocated, error_base::mebibyte, 2000, 4000},
    // Calibrated on torchtune: most of eleven are within 2 %, three 5 to 9 % off.
    uncertainty{error_source::recipe, assumption::recipe_of_one_date, reading::allocated, error_base::allocated, 40, 40},
    // Calibrated on litgpt under FSDP1, torchtune under FSDP2 and fsdp_qlora: how many units are gathered at once.
    uncertainty{error_source::gather_windows, assumption::steady_state, reading::allocated, error_base::gathered, 65, 65},
    // Calibrated on Megatron's and Megatron-Bridge's mixtures of experts: a busy rank computes 1.15 times its share, seldom more than 1.4
    // times, and records are the tallest of all steps, so that most lie above.
    uncertainty{error_source::routing, assumption::balanced_routing, reading::allocated, error_base::routed, 30, 150},
    // Calibrated on litgpt under FSDP1. Shorter samples only take less.
    uncertainty{error_source::sample_lengths, assumption::samples_of_one_length, reading::allocated, error_base::samples, 310, 0},
    // Calibrated on compiled runs of torchtune and torchtitan.
    uncertainty{error_source::compiler, assumption::compiled_layers, reading::allocated, error_base::step_tensors, 40, 40},
    // Calibrated on torchtitan's fp8 runs.
    uncertainty{error_source::fp8_tensors, assumption::fp8_in_linear, reading::allocated, error_base::activations, 65, 65},
    // Stated: the only runs with a tower (MiniCPM-V, six of grade C) took twice what is predicted, so half of it is one deviation.
    uncertainty{error_source::towers, assumption::towers_on_few_runs, reading::allocated, error_base::allocated, 50, 500},
    // Stated: the only two runs of torchtitan's pipelines took 21 and 27 % more than is predicted.
    uncertainty{error_source::eager_stages, assumption::eager_stages_on_two_runs, reading::allocated, error_base::allocated, 50, 200},
    // Calibrated on fms-acceleration's nine runs on two GPUs, all of which lie above.
    uncertainty{error_source::adapter_units, assumption::sharded_adapters_unexplained, reading::allocated, error_base::allocated, 15, 75},
    // Calibrated on its four runs of a quantised base on one GPU.
    uncertainty{error_source::adapter_base, assumption::upcast_quantised_base, reading::allocated, error_base::allocated, 30, 30},
    // Derived: either the copies are made or another phase is the tallest; half of that either way.
    uncertainty{error_source::moment_copies, assumption::moments_copied_for_step, reading::allocated, error_base::over_next, 500, 0},
    // Derived: one of the three copies more or less, and half of that.
    uncertainty{error_source::update_copies, assumption::int8_update_copies, reading::allocated, error_base::temporaries, 170, 170},
    // Derived: a head that does not wait gives back its logits' gradient, some tenth of what waits.
    uncertainty{error_source::deferred_weights, assumption::zero_bubble_defers_all, reading::allocated, error_base::samples, 100, 0},
    // Derived: a layer's activations more or less on their way among some ten.
    uncertainty{error_source::offload_overlap, assumption::activations_offload_overlap, reading::allocated, error_base::step_tensors, 50, 80},
    // Derived: two handles' workspaces of 32 instead of 8.1 MiB are 48 MiB more; half of it.
    uncertainty{error_source::cublas_workspace, assumption::cublas_workspace_before_2026, reading::allocated, error_base::mebibyte, 0, 24'000},
    // Calibrated on replay() of all records: ends of blocks that are too small to be cut off add 0.6 % to four values of five, at most 1.1 %.
    uncertainty{error_source::block_ends, assumption::reserved_without_fragmentation, reading::allocated, error_base::allocated, 0, 4},
    // Calibrated on replay() of all records: what it reserves beyond the tensors.
    uncertainty{error_source::fragmentation, assumption::reserved_without_fragmentation, reading::reserved, error_base::allocated, 0, 85},
    // Calibrated on three replayed runs of PEFT.
    uncertainty{error_source::replay_order, assumption::reserved_replayed, reading::reserved, error_base::turnover, 45, 45},
    // Calibrated on torchtitan and fsdp_qlora.
    uncertainty{error_source::stream_pools, assumption::reserved_by_pools, reading::reserved, error_base::turnover, 35, 35},
    // Derived: the private pools of captured graphs keep what the modules save, beside a cache that has held as much before; half of it.
    uncertainty{error_source::graph_pools, assumption::graphs_as_eager, reading::reserved, error_base::activations, 0, 500},
    // Calibrated on Qwen under ZeRO-3: its pool grows beyond what is ever gathered at once.
    uncertainty{error_source::stage3_gathers, assumption::deepspeed_stage3_trace, reading::reserved, error_base::allocated, 0, 110},
    // Derived: contexts of 287 MB (lazily loaded) to 667 MB (eagerly), and libraries on top, have been reported (states/outside.hpp).
    uncertainty{error_source::context, assumption::context_calibrated, reading::device, error_base::mebibyte, 60'000, 300'000},
    // Derived: 8 to 32 channels where 16 are assumed.
    uncertainty{error_source::nccl_buffers, assumption::nccl_derived, reading::device, error_base::nccl, 400, 600},
    // Calibrated on Qwen, BERT and llm.c: what a driver's tool shows, in units of 10^9 or 2^30, of a process that also evaluates, saves and loads.
    uncertainty{error_source::driver_reading, assumption::context_calibrated, reading::device, error_base::device, 30, 30},
};
// clang-format on

/// Assumptions without a line of their own.
inline constexpr std::array counted_elsewhere{
    // They fill in what a job leaves open: the report is of the job with that.
    assumption::framework_precision, assumption::optimizer_adamw, assumption::optimizer_implementation, assumption::data_parallel_from_gpus,
    assumption::attention_sdpa, assumption::attention_eager_for_softcap, assumption::loss_of_framework, assumption::logits_format_of_framework, assumption::fsdp_keeps_fp32_shards,
    assumption::zero_buckets_default, assumption::adapter_format, assumption::recompute_reentrant_default, assumption::gpu_assumed, assumption::ddp_assumed,
    assumption::parameters_stay_on_gpu,
    // They say what is no part of these numbers.
    assumption::host_runtime_not_counted, assumption::no_eval_no_generation,
    // Their errors are in the records that other lines are calibrated on: tensors, compiler, recipe.
    assumption::flash_backward_workspace, assumption::cublas_workspace_by_capability, assumption::compiled_loss_targets, assumption::compiled_chunks_in_place,
    assumption::update_without_copies, assumption::adapters_in_fp32, assumption::experts_overlap_in_turn, assumption::fp8_in_all_layers,
    assumption::rank_with_most_weights, assumption::first_micro_batch_gathers};

/// What a source of error is called in the report file.
constexpr std::string_view text(error_source s) {
  constexpr std::array<std::string_view, error_source_count> names{
      "tensors", "small_blocks", "recipe", "gather_windows", "routing", "sample_lengths",
      "compiler", "fp8_tensors", "towers", "eager_stages", "adapter_units", "adapter_base", "moment_copies", "update_copies",
      "deferred_weights", "offload_overlap", "cublas_workspace", "block_ends", "fragmentation", "replay_order", "stream_pools", "graph_pools",
      "stage3_gathers", "context", "nccl_buffers", "driver_reading"};
  return names[static_cast<std::size_t>(s)];
}
constexpr std::string_view text(reading m) {
  constexpr std::array<std::string_view, reading_count> names{"allocated", "active", "reserved", "device"};
  return names[static_cast<std::size_t>(m)];
}

}  // namespace headroom
