// Distributed under the Boost Software License, Version 1.0.
// nanotron's own options (config/parallelism_config.py ParallelismArgs, config/config.py ModelArgs, OptimizerArgs): those that change what is
// allocated without being a neutral key of the job, and those that a job may repeat.
#pragma once

#include <headroom/io/job/framework.hpp>

#include <cctype>

namespace headroom::io {

/// Throws job_error for options that nanotron does not have, and for values that this version does not model.
inline void apply_nanotron_options(job& j, const json_value& options, const option_merger& merge) {
  auto& f = j.framework;
  key_reader k{options, "framework.options"};
  const auto word = [&](const char* key) {
    std::string r;
    if (const auto* v = k.take(key))
      for (const char c : string_at(*v, k.at(key))) r += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return r;
  };
  if (const auto mode = word("tp_mode"); !mode.empty()) {
    if (mode != "reduce_scatter" && mode != "all_reduce") fail("headroom: framework.options.tp_mode must be \"REDUCE_SCATTER\" or \"ALL_REDUCE\", found " + in_quotes(mode));
    if (j.parallel.tensor > 1) merge.set(j.parallel.sequence, mode == "reduce_scatter", "parallel", "sequence", k.at("tp_mode"));
  }
  if (const auto* v = k.take("tp_linear_async_communication")) f.communication.overlaps_input_gradients = flag_at(*v, k.at("tp_linear_async_communication"));
  // TensorParallelRowLinear asserts it (parallel/tensor_parallel/functional.py _RowLinearAsyncCommunication).
  if (f.communication.overlaps_input_gradients && j.parallel.tensor > 1 && !j.parallel.sequence)
    fail("headroom: nanotron runs framework.options.tp_linear_async_communication with tp_mode REDUCE_SCATTER alone; set parallel.sequence, or leave it false");
  if (const auto* v = k.take("tp_recompute_allgather")) f.communication.keeps_gathered = !flag_at(*v, k.at("tp_recompute_allgather"));
  if (const auto engine = word("pp_engine"); !engine.empty()) {
    if (engine != "1f1b" && engine != "afab") fail("headroom: framework.options.pp_engine must be \"1f1b\" or \"afab\", found " + in_quotes(engine));
    if (j.parallel.pipeline > 1) merge.set(j.parallel.schedule, engine == "1f1b" ? schedule::one_forward_one_backward : schedule::gpipe, "parallel", "schedule", k.at("pp_engine"));
  }
  if (const auto* v = k.take("recompute_layer"))
    merge.set(j.recompute, flag_at(*v, k.at("recompute_layer")) ? recompute{.mode = recompute_mode::full} : recompute{}, "recompute", {}, k.at("recompute_layer"));
  if (const auto* v = k.take("accumulate_grad_in_fp32"); v != nullptr && !flag_at(*v, k.at("accumulate_grad_in_fp32")))
    fail("headroom: gradients that nanotron accumulates in 16 bits are not modelled by this version; framework.options.accumulate_grad_in_fp32 must be true");
  // However DDP cuts its buckets, together they are as large.
  if (const auto* v = k.take("ddp_bucket_cap_mb")) whole_at(*v, k.at("ddp_bucket_cap_mb"), 1, std::int64_t{1} << 40);
  k.finish();
}

/// A profile that the library ships, and the options that changed it. Throws job_error where they do not say all.
inline json_value nanotron_to_json(const profile& p) {
  profile plain = p;
  plain.communication.overlaps_input_gradients = frameworks::nanotron.communication.overlaps_input_gradients;
  plain.communication.keeps_gathered = frameworks::nanotron.communication.keeps_gathered;
  const bool benchmark = plain == frameworks::nanotron_bench2;
  auto out = framework_to_json(benchmark ? frameworks::nanotron : plain);
  if (benchmark) out["version"] = "bench2";
  if (p.communication.overlaps_input_gradients) out["options"]["tp_linear_async_communication"] = true;
  if (p.communication.keeps_gathered) out["options"]["tp_recompute_allgather"] = false;
  return out;
}

}  // namespace headroom::io
