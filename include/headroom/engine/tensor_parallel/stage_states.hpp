// Distributed under the Boost Software License, Version 1.0.
// What one pipeline stage holds of parameters, gradients and optimizer states for the whole run, where layers are divided (tensor, sequence,
// context, pipeline and expert parallelism).
// Sources: Megatron-LM core/optimizer/distrib_optimizer.py, core/distributed/param_and_grad_buffer.py.
#pragma once

#include <headroom/block/megatron.hpp>
#include <headroom/engine/tensor_parallel/deepspeed_states.hpp>
#include <headroom/engine/tensor_parallel/nanotron_states.hpp>
#include <headroom/settle/objective.hpp>
#include <headroom/sharding/host.hpp>
#include <headroom/sharding/windows.hpp>

namespace headroom {

namespace detail {

/// Ranks over which master copy and optimizer state are divided: of what all data-parallel ranks hold, and of experts.
struct state_degrees {
  std::int64_t dense{1};
  std::int64_t experts{1};
};
constexpr state_degrees degrees_of_shards(const settled_job& s) {
  const auto& j = *s.source;
  const auto replicas = checked::mul(s.data, j.parallel.context) / j.parallel.replicate;
  const auto same = checked::mul(replicas, j.parallel.tensor) / checked::mul(j.parallel.expert, j.parallel.expert_tensor);
  return {replicas, same > 1 ? same : 1};
}
constexpr state_degrees degrees_of_states(const settled_job& s) {
  const auto& z = s.source->sharding;
  const auto& modules = s.source->framework.modules;
  const bool divides = (z.by(sharder::megatron) || modules.nanotron() || modules.deepspeed()) && z.cuts(sharded_state::optimizer);
  return divides ? degrees_of_shards(s) : state_degrees{};
}

/// Of what the optimizer keeps, what stays on the GPU where the rest is updated on the host. Whole tensors go there until the fraction is reached:
/// at most one more than it (core/optimizer/cpu_offloading/hybrid_optimizer.py HybridDeviceOptimizer._get_sub_optimizer_param_groups).
constexpr bytes kept_on_gpu(const settled_job& s, bytes all) {
  const auto& o = s.source->offload;
  return o.optimizer == place::on_gpu ? all : bytes{checked::ceil_div(checked::mul(all.count(), 1'000'000 - o.optimizer_fraction), 1'000'000)};
}

/// Whether the precision-aware optimizer works on the shards of parameters and gradients themselves. An fp8 recipe that is not delayed
/// leaves it a master and gradients of its own, in fp32 (core/optimizer/optimizer_config.py, use_precision_aware_optimizer_no_fp8_or_ds_fp8).
constexpr bool updates_shards(const settled_job& s) {
  const auto& habits = s.source->framework;
  const bool aware = habits.optimizer.precision_aware || s.source->offload.optimizer != place::on_gpu;  // which it needs (core/optimizer/optimizer_config.py __post_init__)
  return aware && (s.precision.master != formats::fp32 || !habits.fp8.names_recipe);
}

/// What the optimizer copies for the time of a step. Gradients that are not fp32 are copied to fp32 (distrib_optimizer.py
/// _copy_model_grads_to_main_grads), but for the precision-aware optimizer; that one may copy moments, the dense weights' and the
/// experts' after one another (TransformerEngine optimizers/fused_adam.py get_unscaled_state).
struct copied_for_update {
  bool gradients{};
  std::int64_t moments{};
};
constexpr copied_for_update update_copies(const settled_job& s) {
  if (under_deepspeed(s)) return {};  // deepspeed_update
  const auto& habits = s.source->framework;
  const auto& p = s.precision;
  const bool unscales = habits.optimizer.unscales_moments || s.optimizer.state.bits == 8 || s.optimizer.state == formats::fp16;
  return {!updates_shards(s) && p.gradients.width() < 4 && p.master.width() == 4,
          habits.optimizer.precision_aware && s.optimizer.state.width() < 4 && unscales ? s.optimizer.moments : 0};
}
constexpr bytes update_temporaries(const settled_job& s, const stage_weights& all) {
  const auto w = trained_of(s, all);
  if (under_deepspeed(s)) return deepspeed_update(s, w.dense);
  const auto d = degrees_of_states(s);
  const auto copied = update_copies(s);
  const auto one = share(w.dense, 4, d.dense), other = share(w.experts, 4, d.experts);
  if (s.source->framework.modules.nanotron()) return gathered_for_update(s, w.dense).all();
  return (copied.gradients ? one + other : bytes{0}) + copied.moments * max(one, other);
}

/// Beside bf16 parameters the precision-aware optimizer keeps the 16 bits that a master in fp32 has more (store_param_remainders).
constexpr std::int64_t master_width(const settled_job& s) {
  const auto& p = s.precision;
  const bool remainders = updates_shards(s) && s.source->offload.optimizer == place::on_gpu;
  return remainders && p.master.bits == 32 && p.parameters == formats::bf16 ? 2 : p.master.width();
}

/// Parameters and main gradients whole, master copy and optimizer state divided over data × context ranks (experts: over the ranks
/// that hold the same experts) with the distributed optimizer.
constexpr breakdown states_of_stage(const settled_job& s, const stage_weights& all, parameters frozen = {}) {
  const auto& p = s.precision;
  const auto [d, e] = degrees_of_states(s);
  const auto w = trained_of(s, all);
  const auto whole = w.dense + w.experts;
  breakdown b{};
  // fp8 copies of weights, with their transposes, stay from the first micro-batch on (TransformerEngine module/base.py
  // get_weight_workspace); with fp8-param-gather they are the parameters.
  const bool fp8_only = p.parameters.bits == 8;
  b[row::model_parameters] = share(frozen, s.layer.width < 2 ? 2 : s.layer.width) + share(all.dense + all.experts, fp8_only ? s.layer.width : p.parameters.width());
  if (s.source->adapter.active()) b[row::adapters] = share(whole, p.parameters.width());
  if (s.layer.fp8) {
    const bytes copies{s.layer.fp8_copies * megatron::quantised_size(s.layer, w.linear.count(), s.layer.weights_together)};
    if (fp8_only)
      b[row::model_parameters] += copies - share(w.linear, s.layer.width);
    else
      b[row::workspace] += copies;
  }
  b[row::gradients] = share(whole, p.gradients.width());
  const auto master = master_width(s);
  b[row::master_parameters] = kept_on_gpu(s, share(w.dense, master, d) + share(w.experts, master, e));
  if (s.source->framework.modules.nanotron()) b[row::communication_buffers] += bucketed(s, whole);
  if (under_deepspeed(s)) b[row::gradients] += other_gradients(s, whole);
  const auto state = s.optimizer.state.width() * s.optimizer.moments;
  b[row::optimizer_state] = kept_on_gpu(s, share(w.dense, state, d) + share(w.experts, state, e));
  if (s.optimizer.vector_moments > 0)
    b[row::optimizer_state] += (s.optimizer.vector_moments - s.optimizer.moments) * share(w.plain, s.optimizer.state.width(), d);
  return b;
}

/// Whether experts have a buffer of their own: where other ranks hold the same ones than hold the same dense weights.
constexpr bool experts_apart(const degrees& d) { return d.expert > 1 || d.expert_tensor != d.tensor; }

/// What moves into a buffer, and the gradients' buffer beside it.
struct moved_weights {
  bytes parameters{}, gradients{};
};

/// The buffers of a chunk, in the order in which they are made: one for each number format and each way that weights are divided over ranks
/// (param_and_grad_buffer.py group_params_for_buffers). First what an fp8 recipe leaves in bf16, or Muon to AdamW.
constexpr std::array<moved_weights, 3> buffers_of_chunk(const settled_job& s, const stage_weights& all) {
  const auto& p = s.precision;
  const auto w = trained_of(s, all);
  const bool fp8_only = p.parameters.bits == 8;
  const auto whole = w.dense + w.experts;
  const auto other = fp8_only ? whole - w.linear : s.optimizer.vector_moments > 0 ? w.plain : parameters{};
  const auto main = whole - other;
  const auto apart = experts_apart(s.source->parallel) ? (w.experts < main ? w.experts : main) : parameters{};
  // MXFP8 weights are gathered through the gradients' buffer, and stay where they are (reuse_grad_buf_for_mxfp8_param_ag).
  const bool stays = fp8_only && s.source->framework.fp8.scaling == fp8_scaling::block && s.on->compute_capability >= 100;
  const auto buffer = [&](parameters n, std::int64_t width) { return moved_weights{share(n, width), share(n, p.gradients.width())}; };
  const auto width = stays ? 0 : p.parameters.width();
  return {buffer(other, fp8_only ? s.layer.width : p.parameters.width()), buffer(main - apart, width), buffer(apart, width)};
}

/// The tallest moment of loading. `states`: what the stage holds from then on. Gradients have their buffers from the start. With a distributed
/// optimizer parameters move into buffers, too, one buffer after another: it is made beside all parameters, which are copied and go
/// (param_and_grad_buffer.py _ParamAndGradBuffer.__init__). Each chunk has buffers of its own (training.py wrap_model_chunks_with_ddp).
constexpr moment load_of_stage(const settled_job& s, const rank_weights& weights, const stage_cut& cut, std::int64_t stage, const breakdown& states) {
  const auto& habits = s.source->framework;
  const bool dealt_out = s.optimizer.vector_moments > 0 && habits.optimizer.muon == muon_layout::dealt_out;
  if (under_deepspeed(s)) return {row::model_parameters, deepspeed_load(s, states[row::model_parameters])};
  moment all(row::model_parameters, states[row::model_parameters]);
  all.add(row::adapters, states[row::adapters]);
  // Until 4.0 ms-swift loaded the reference before the policy was wrapped (swift/megatron/trainers/rlhf_mixin.py setup_model_and_optimizer, then
  // prepare_model); verl makes it after the actor.
  const auto code = s.source->objective.code;
  if (of_swift_megatron(code) && code != method_code::ms_swift_megatron) all.add(row::other_models, states[row::other_models]);
  if (!habits.loading.into_buffers || dealt_out || !s.source->sharding.distributes_optimizer()) {
    all.add(row::gradients, states[row::gradients]);
    return all;
  }
  moved_weights tallest, now;
  weights.for_each_chunk(cut, stage, [&](const stage_weights& w) {
    for (const auto& b : buffers_of_chunk(s, w)) {
      now = {b.parameters, now.gradients + b.gradients};
      if (now.parameters + now.gradients > tallest.parameters + tallest.gradients) tallest = now;
    }
  });
  all.add(s.source->adapter.active() ? row::adapters : row::model_parameters, tallest.parameters);
  all.add(row::gradients, tallest.gradients);
  return all;
}

}  // namespace detail

}  // namespace headroom
