// Distributed under the Boost Software License, Version 1.0.
// What a predicted step time took for granted, in sentences.
#pragma once

#include <headroom/cost/assumed.hpp>
#include <string_view>

namespace headroom::io {

/// One sentence. The switch has no default, so that a new assumption without a sentence is a compiler's warning.
constexpr std::string_view assumption_text(time_assumption a) {
  switch (a) {
    case time_assumption::steady_state:
      return "the time is that of a later step: compiling, loading data, logging, evaluating and saving are no part of it.";
    case time_assumption::rates_calibrated:
      return "what kernels, links and the network sustain of their data sheets is calibrated on published runs, one set of rates for each generation of "
             "GPU (cost/rates.hpp).";
    case time_assumption::rates_of_another_gpu:
      return "no published runs on this generation of GPU: its data sheet with the shares that an A100 sustains of its own.";
    case time_assumption::best_matmul_assumed:
      return "the best matrix multiplication of this GPU is not known: 80 % of its peak is assumed.";
    case time_assumption::formats_without_units:
      return "this GPU has no tensor cores for the job's compute format: 8 bits are multiplied as fast as 16, bf16 by its vector units.";
    case time_assumption::network_of_gpu:
      return "hardware.network_gbit_per_node was left open: what nodes of this GPU usually have is assumed.";
    case time_assumption::traffic_overlapped:
      return "gradients and parameters that the trainer moves behind compute are waited for only as far as they take longer; they slow it "
             "by 3 % of what is hidden.";
    case time_assumption::even_experts:
      return "every expert is taken to get as many tokens, unless parallel.expert_imbalance says otherwise.";
    case time_assumption::release_recipe:
      return "this framework's releases come with recipes: CUDA graphs, the dispatcher of experts and modules computed again are as the job says, or as the "
             "framework's models are made, not as a recipe sets them; traffic of tensor and data parallelism overlaps, as in all of them.";
    case time_assumption::recipe_of_release:
      return "CUDA graphs and the way of tokens to experts are those of the release's own performance recipe for this model, GPU and format; modules computed again are as the job says.";
    case time_assumption::fp8_in_one_share:
      return "8-bit and 4-bit multiplications sustain one calibrated share of their peak each, casts, scales and transposes included.";
    case time_assumption::host_bound:
      return "the GPU waits for the processor in part of a step: one of the speed of published runs' is assumed; others differ by a factor of two. Under transformers' Trainer "
             "a kernel takes 24 us of it (published) and a step 9 ms more (calibrated on 20 small jobs of one H100's machine).";
    case time_assumption::graphs_start_themselves:
      return "layers captured in CUDA graphs do not wait for the processor; what is not captured is taken to keep up.";
    case time_assumption::compiled_start:
      return "a compiled layer's kernels are taken to start in about a third of the processor's time; that is stated, not calibrated.";
    case time_assumption::quantised_base:
      return "quantised weights are unpacked for each multiplication, by as many kernels as write what a report counts as temporaries.";
    case time_assumption::host_update:
      return "an update on the processor is bound by a node's memory, 150 * 10^9 bytes a second.";
    case time_assumption::nvme_rate:
      return "a node's NVMe reads and writes 10 * 10^9 bytes a second.";
    case time_assumption::mixed_kinds:
      return "each pipeline stage runs at the speed of its own kind of GPU, one that lies on several at that of the slowest, and what passes between "
             "kinds at the slower's link; no published run on a mixed cluster is among those that the rates are calibrated on.";
    case time_assumption::messages_polled:
      return "this version asks every 0.1 s whether a message of the pipeline has come: in three runs of ten a micro-batch took 0.5 to 1.6 s more, which is not counted.";
    case time_assumption::methods_from_parts:
      return "a step is one update, whose examples are scored and trained on once; each part (other models' forwards, a critic's step) is predicted as any job's is, and their sum "
             "has been compared with no published run.";
    case time_assumption::generation_by_bandwidth:
      return "completions have their full length; each of their tokens takes what reading the weights once, and the keys and values of all sequences side by side, takes, at the "
             "bandwidth of training's kernels; prompts go by FLOPs. No published run was compared with.";
    case time_assumption::documents_unknown:
      return "a row may hold several samples, whose attention is their own: it is counted over the whole row (batch.packed and batch.lengths say how long samples are).";
    case time_assumption::own_matrices_alone:
      return "a layer of one's own does not say, by flops(), what it computes beside its matrices: that takes no time here.";
  }
  return {};
}

}  // namespace headroom::io
