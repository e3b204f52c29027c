// Distributed under the Boost Software License, Version 1.0.
// Collectives inside a layer: what tensor, context and expert parallelism wait for.
#pragma once

#include <headroom/block/megatron_experts.hpp>
#include <headroom/cost/collectives.hpp>
#include <headroom/cost/layer_parts.hpp>

namespace headroom::detail {

/// Tensor parallelism: partial sums of both halves are reduced in forward, gradients of both inputs in backward (Shoeybi et al. 2019,
/// section 3); with sequence parallelism as a reduce-scatter and an all-gather of the same volume (Korthikanti et al. 2022, 4.2.2).
constexpr void add_tensor_parallel(both_passes& t, const cost_scene& c, double blocks) {
  const auto& l = c.layer;
  if (l.tensor <= 1) return;
  const double whole = static_cast<double>(l.tokens) * static_cast<double>(c.job->model.hidden) * static_cast<double>(l.width);
  const bool behind = l.habits->communication.tensor_parallel != tensor_parallel_overlap::none;
  const rank_group group{l.tensor, 1};
  double seconds = blocks * (behind ? 0.5 : 1.0) * (l.sequence_split > 1 ? 2 * gather_seconds(c.on.links, group, whole) : reduce_seconds(c.on.links, group, whole));
  // What is gathered is quantised first, what is scattered is not (torchao float8/float8_tensor_parallel.py, tensorwise; TransformerEngine
  // pytorch/module/{layernorm_linear,linear}.py, gather_along_first_dim with a quantizer): a quarter less.
  if (c.on.in_fp8 && l.sequence_split > 1 && (l.habits->modules.dtensor() ? l.habits->fp8.scaling == fp8_scaling::tensor : l.fp8)) seconds *= 0.75;
  // DTensor gathers and scatters along the sequence, not along the first dimension: what all ranks sent is cut up and concatenated
  // (torch/distributed/_functional_collectives.py all_gather_tensor, reduce_scatter_tensor). In pieces it is put in its
  // place at once, and a compiler puts the copies into other kernels.
  if (l.habits->modules.dtensor() && l.sequence_split > 1 && !behind && !l.compiled) seconds += blocks * 4 * whole / c.on.memory;
  t.forward.communication += seconds;
  // Gradients of the inputs of a half's first layer are added up behind that layer's weight gradient; with sequence parallelism they are only
  // scattered so, and gradients of its last layer's output gathered before.
  const double beside_weights = l.habits->communication.overlaps_input_gradients && !behind ? (l.sequence_split > 1 ? 0.5 : 1.0) * seconds : 0.0, room = t.backward.weights / 2;
  t.backward.communication += seconds - (1 - c.share.channels) * (beside_weights < room ? beside_weights : room);
  if (c.job->model.mlp == mlp_kind::gated && l.habits->mlp.gates_apart) t.backward.communication += reduce_seconds(c.on.links, group, whole);  // of gate and up apart
  if (l.habits->modules.nanotron() && l.sequence_split > 1 && !l.habits->communication.keeps_gathered) {
    // Inputs of both column-parallel layers are gathered again, where communication is asynchronous behind the gradients of those inputs.
    const double again = blocks * gather_seconds(c.on.links, group, whole), inputs = (t.backward.matmul - t.backward.weights) / 2;
    const double hidden = l.habits->communication.overlaps_input_gradients ? (again < inputs ? again : inputs) : 0.0;
    t.backward.communication += again - (1 - c.share.channels) * hidden;
  }
  if (l.habits->modules.nanotron() && c.job->source->parallel.pipeline > 1 && c.job->source->hardware.gpus() > c.on.links.domain) {
    // Four collectives of a layer in forward, in backward six where inputs are gathered again.
    const double each = c.share.host_collective * static_cast<double>(l.tensor), back = l.sequence_split > 1 && !l.habits->communication.keeps_gathered ? 3 : 2;
    const auto rise = [](double& host, double least) { host = host < least ? least : host; };
    rise(t.forward.host, 2 * blocks * each);
    rise(t.backward.host, back * blocks * each);
  }
}

/// What nanotron's processor starts beside a layer's program, which has none of it; counted in its code at 67c5ebb6. Forward: of the mask two tensors, two
/// sums and two running sums, which say where samples begin (models/llama.py CoreAttention.forward). Rotary embedding works in place: the program counts its
/// two calls as views, which start nothing, and their backward as copies. Backward: both calls' own kernels; an addition in fp32 for each of six
/// weights (optim/gradient_accumulator.py _accumulate_grad). Of tensor-parallel ranks: each collective; and where these are asynchronous, a
/// multiplication by three of each matrix's (two ranks: by two), of a rank's own share and of what those before and behind it sent
/// (parallel/tensor_parallel/functional.py _ColumnLinearAsyncCommunication.forward, _RowLinearAsyncCommunication.backward).
constexpr void add_started_beside(both_passes& t, const cost_scene& c) {
  const auto& l = c.layer;
  const auto& p = c.job->precision;
  double forward = 6, backward = 2 + (p.gradients.width() > p.parameters.width() ? 6 : 0);
  if (l.tensor > 1) {
    const bool divides = l.sequence_split > 1, in_program = l.habits->communication.keeps_gathered;  // gathers of inputs, which backward scatters
    const double pieces = divides && l.habits->communication.overlaps_input_gradients ? 2 * (l.tensor > 2 ? 2 : 1) : 0;
    forward += (divides && !in_program ? 4 : 2) + pieces;
    backward += (divides && !in_program ? 6 : 2) + pieces;
  }
  t.forward.host += forward * c.host_operation;
  t.backward.host += backward * c.host_operation;
}

/// Context parallelism: keys and values of the other ranks' tokens, in a ring behind attention, gathered first, or exchanged for heads.
constexpr void add_context_parallel(both_passes& t, const cost_scene& c) {
  const auto& l = c.layer;
  if (l.context <= 1) return;
  const auto& m = c.job->model;
  const rank_group group{l.context, l.tensor};
  const double token = static_cast<double>(l.tokens) * static_cast<double>(l.width) / static_cast<double>(l.tensor);
  const double kv = 2 * token * static_cast<double>(m.latent() ? m.heads * (m.mla.nope_dim + m.mla.rope_dim) : m.kv_width());
  const auto exposed = [](double communication, double behind) { return communication > behind ? communication - behind : 0.0; };
  if (l.context_kind == context_kind::ulysses) {
    const double all = kv + 2 * token * static_cast<double>(m.query_width());
    const double seconds = exchange_seconds(c.on.links, group, all);
    t.forward.communication += seconds;
    t.backward.communication += seconds;
    return;
  }
  const double gathered = gather_seconds(c.on.links, group, kv * static_cast<double>(l.context));
  if (l.context_kind == context_kind::all_gather) {
    t.forward.communication += gathered;
    t.backward.communication += 2 * gathered;
    return;
  }
  t.forward.communication += exposed(gathered, t.forward.attention);
  t.backward.communication += exposed(2 * gathered, t.backward.attention);  // with the gradients that travel on
}

/// DeepEP and HybridEP send a token once to each node, where links take it on to its experts: of `active` sends to n nodes drawn evenly,
/// n (1 - (1 - 1/n)^active) differ.
constexpr double distinct_share(const fabric& f, const rank_group& g, std::int64_t active) {
  const double nodes = static_cast<double>(g.size) / static_cast<double>(local_members(f, g));
  double missed = 1;
  for (std::int64_t i = 0; i < active; ++i) missed *= 1 - 1 / nodes;
  return active > 0 ? nodes * (1 - missed) / static_cast<double>(active) : 1.0;
}

/// Experts: tokens to their experts and back.
constexpr void add_expert_parallel(both_passes& t, const cost_scene& c) {
  const auto& l = c.layer;
  const auto& m = c.job->model;
  if (l.expert <= 1 && l.expert_tensor <= 1) return;
  const double token = static_cast<double>(m.hidden) * static_cast<double>(l.width);
  double seconds = 0;
  if (l.habits->experts.dispatcher == token_dispatcher::all_gather && c.job->source->framework.modules.megatron()) {
    seconds = 2 * gather_seconds(c.on.links, {l.expert * l.expert_tensor, 1}, static_cast<double>(megatron::gathered_tokens(l)) * token);
  } else {
    const auto sent = static_cast<double>(l.expert_imbalance) / 100 * product(l.stream_tokens(), m.experts.active) * token;
    const rank_group group{l.expert, l.expert_tensor};
    const auto& recipe = l.habits->recipe;
    const bool once = l.habits->experts.dispatcher == token_dispatcher::flex || recipe.sends_once;
    seconds = 2 * exchange_seconds(c.on.links, group, sent, once ? distinct_share(c.on.links, group, m.experts.active) : 1.0);
    if (l.expert_tensor > 1) seconds += 2 * gather_seconds(c.on.links, {l.expert_tensor, 1}, sent * static_cast<double>(l.expert_tensor));
  }
  // Behind the compute of another micro-batch, which it slows (Megatron-LM overlap_moe_expert_parallel_comm: core/pipeline_parallel/combined_1f1b.py).
  const auto waited = [&](const pass_seconds& p) {
    const double room = p.matmul + p.attention + p.memory;
    return l.habits->recipe.hides_exchange ? seconds - (1 - c.share.channels) * (seconds < room ? seconds : room) : seconds;
  };
  t.forward.communication += waited(t.forward);
  t.backward.communication += waited(t.backward);
}

}  // namespace headroom::detail
