// Distributed under the Boost Software License, Version 1.0.
// A critic that trains beside the policy, and the other models of a step together. The critic's standing is a job of its own (settle/objective.hpp):
// its step is walked as any job's is.
#pragma once

#include <headroom/engine/eager/autograd_rank.hpp>

namespace headroom::detail {

/// Not inlined, so that the list of weights does not lie on the stack beside what follows.
[[gnu::noinline]] constexpr void walk_forward_of_critic(other_models& r, const settled_job& trained, const settled_job& s, const state_bytes& st, const auto& layers) {
  auto at_once = s;
  auto& sc = at_once.layer;
  const auto own = trained.source->objective.critic.micro;
  sc.samples = own > 0 ? own : scored_at_once(*trained.source);
  sc.tokens = checked::mul(sc.samples, sc.sequence);
  const auto w = windows_of(at_once, st);
  const auto bare = walk_bare(at_once, st, w, layers, trained.layer.scoring.keeps_hidden_states);
  r.critic.forward = max(bare.layers + w.forward.total, bare.head + w.loss.total);
}

/// What the critic shares with the policy, where both are in one process: cuBLAS's workspaces; in one module also the buckets of its engine.
constexpr bytes shared_with_policy(const settled_job& trained, const moment& stays) {
  const auto& o = trained.source->objective;
  if (o.code == method_code::openrlhf) return bytes{0};
  return stays.rows[row::workspace] + (wraps_critic(o) ? stays.rows[row::communication_buffers] : bytes{0});
}

/// Its step alone. Not inlined: the list of weights goes with it.
[[gnu::noinline]] constexpr timeline walk_step_of_critic(const settled_job& s, const state_bytes& st, bytes& checkpoints, const auto& layers) {
  const auto list = list_of(s, layers);
  return walk_autograd(s, list, st, {0, s.model.layers}, checkpoints, layers);
}

[[gnu::noinline]] constexpr void walk_critic(other_models& r, const settled_job& trained, std::size_t kind, const auto& layers) {
  const job standing = standing_of_critic(*trained.source);
  const settled_job s = settle_checked(standing, kind);
  const auto st = states_of_other(s, layers);
  bytes checkpoints{0};
  const auto t = walk_step_of_critic(s, st, checkpoints, layers);
  const auto& stays = t.at(phase::save);
  auto& c = r.training;
  const auto& moves = trained.source->rollout.trainer_moves;
  c.moved = moved_away(s, st, stays, moves.has(trainer_part::weights), moves.has(trainer_part::optimizer)).total;
  r.critic.resident = stays.total - shared_with_policy(trained, stays) - c.moved;
  const auto above = [&](phase p) { return t.total(p) - stays.total + c.moved; };
  c.forward = above(phase::forward);
  c.backward = max(above(phase::backward), above(phase::reduce));
  c.update = above(phase::step);
  c.tallest = max(max(c.forward, above(phase::loss_forward)), max(c.backward, c.update));
  const auto& end = t.at(phase::loss_forward).rows;
  c.graph = end[row::activations] - stays.rows[row::activations] + end[row::logits];
  c.gradients = end[row::gradients] - stays.rows[row::gradients];
  r.critic.host = host_of(s, st, checkpoints);
  if (trained.source->rollout.shares_gpus()) r.critic.host.plain += c.moved;
  walk_forward_of_critic(r, trained, s, st, layers);
  if (moves.has(trainer_part::weights)) r.critic.forward += moved_away(s, st, stays, true, false).total;
}

/// All that stands beside the model that trains. A reward model that is the trained one with other adapters has no more than these.
[[gnu::noinline]] constexpr other_models walk_others(const job& j, std::size_t kind, const auto& layers) {
  const auto s = settle(j, kind);
  const auto& o = j.objective;
  const auto which = other_model_of(j);
  other_models r;
  if (which != other_weights::none && reference_of(j) != reference_way::swapped) r.compared = walk_other(s, kind, which, layers, o.has_teacher() ? o.frozen : model_role{});
  if (o.averages) {
    r.compared.resident += r.compared.resident;
    add_host(r.compared.host, r.compared.host);
  }
  if (o.has_reward()) r.reward = walk_other(s, kind, other_weights::own, layers, o.frozen);
  if (o.reward_adapter) {
    r.reward = walk_other(s, kind, other_weights::shared, layers, {});
    r.reward.resident = share(states_of_other(s, layers).adapters, s.layer.adapter_kept);
  }
  if (o.critic.given()) walk_critic(r, s, kind, layers);
  return r;
}

constexpr void add_hosts(host_bytes& h, const other_models& o) {
  for (const auto* m : {&o.compared, &o.reward, &o.critic}) add_host(h, m->host);
}

}  // namespace headroom::detail
