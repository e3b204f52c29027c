// Distributed under the Boost Software License, Version 1.0.
// The command line of llm.c's train_gpt2.cu: -b -t -d -z -r, and the build switch USE_CUDNN.
#pragma once

#include <headroom/io/job/framework.hpp>

namespace headroom::io {

/// Throws job_error for other keys, and where an option contradicts a neutral key. Without -r, llm.c recomputes the GELU
/// (train_gpt2.cu: recompute = 1); `options` may be null.
inline void apply_llm_c_options(job& j, const json_value* options, const option_merger& merge) {
  const auto bit = [](recompute_module m) { return std::uint32_t{1} << static_cast<int>(m); };
  const auto level = [&](std::int64_t r) {
    recompute made;
    if (r > 0) made.mode = recompute_mode::selective;
    if (r > 0) made.modules |= bit(recompute_module::gelu);
    if (r > 1) made.modules |= bit(recompute_module::layernorm);
    return made;
  };
  const bool states_r = options != nullptr && options->contains("r");
  if (!states_r && !merge.given("recompute")) j.recompute = level(1);
  if (options == nullptr) return;

  constexpr std::int64_t most = std::int64_t{1} << 31;
  key_reader k{*options, "framework.options"};
  if (const auto* v = k.take("b")) merge.set(j.batch.micro, whole_at(*v, k.at("b"), 1, most), "batch", "micro", k.at("b"));
  if (const auto* v = k.take("t"))
    merge.set(j.batch.sequence, whole_at(*v, k.at("t"), 1, most), "batch", "sequence", k.at("t"));
  if (const auto* v = k.take("d")) {
    const auto step = whole_at(*v, k.at("d"), 1, std::int64_t{1} << 50);
    const auto at_once = checked::mul(checked::mul(j.batch.micro, j.batch.sequence), j.hardware.gpus());
    if (at_once == 0 || step % at_once != 0)
      wrong_value(k.at("d"), "a multiple of micro-batch x sequence x GPUs (" + std::to_string(at_once) + ")", *v);
    merge.set(j.batch.accumulation, step / at_once, "batch", "accumulation", k.at("d"));
  }
  if (const auto* v = k.take("z")) {
    // Stages 2 and 3 fall back to 0 in llm.c with no more than a printed line (llmc/zero.cuh).
    const auto stage = whole_at(*v, k.at("z"), 0, 1);
    if (stage == 1 && j.sharding.kind == sharding_kind::none && !merge.given("sharding"))
      j.sharding.kind = sharding_kind::zero;
    merge.set(j.sharding.stage, stage, "sharding", "stage", k.at("z"));
  }
  if (const auto* v = k.take("r")) merge.set(j.recompute, level(whole_at(*v, k.at("r"), 0, 2)), "recompute", {}, k.at("r"));
  if (const auto* v = k.take("USE_CUDNN")) {
    const bool cudnn = v->is_boolean() ? flag_at(*v, k.at("USE_CUDNN")) : whole_at(*v, k.at("USE_CUDNN"), 0, 1) == 1;
    merge.set(j.attention, cudnn ? attention::flash : attention::eager, "attention", {}, k.at("USE_CUDNN"));
  }
  k.finish();
}

}  // namespace headroom::io
