// Distributed under the Boost Software License, Version 1.0.
// What methods with several models add to a step's time: forwards of other models, a critic's own step, generation, and weights on their way.
// A step is one update of the weights: the completions that it trains on are generated, scored and trained on once.
#pragma once

#include <headroom/cost/generation.hpp>
#include <headroom/settle/generation.hpp>
#include <headroom/settle/objective.hpp>
#include <headroom/states/kept_weights.hpp>

namespace headroom::detail {

/// Sequences that a GPU trains on in a step.
constexpr double sequences_of_step(const job& j) { return product(j.batch.micro, j.batch.accumulation, sequences_of(j.objective)); }

/// One forward without a graph of a job's micro-batch; where its weights are gathered, behind that.
constexpr double forward_alone(const settled_job& s, const auto& rates_for, const auto& layers) {
  const auto list = list_of(s, layers);
  auto c = cost_scene_of(s, rates_for(*s.on));
  c.layer.loss_program = loss_style::logits;
  const double computed = load_of(c, passes_of(c, list, layers)).slowest.forward.total();
  if (s.shards.parameters == 1) return computed;
  const double gathered = gather_seconds(c.on.links, {s.shards.parameters, 1}, parameters_of(c, list, 1.0).all * static_cast<double>(s.precision.compute.width()));
  return computed > gathered ? computed : gathered;
}

/// A job that evaluates nothing: steps take what they take, however many samples are evaluated at once.
constexpr job without_evaluation(const job& j) {
  job r = j;
  r.evaluation = {};
  return r;
}

[[gnu::noinline]] constexpr double other_seconds(const job& j, const model_role& role, const auto& rates_for, const auto& layers) {
  const job standing = standing_of_other(without_evaluation(j), role);
  return forward_alone(settle_checked(standing), rates_for, layers) * sequences_of_step(j) / static_cast<double>(standing.batch.micro);
}

/// The policy scores its completions before it trains on them.
[[gnu::noinline]] constexpr double own_scores(const job& j, const settled_job& s, const auto& rates_for, const auto& layers) {
  if (!scores_itself(j)) return 0;
  auto at_once = s;
  at_once.layer.samples = scored_at_once(without_evaluation(j));
  at_once.layer.tokens = checked::ceil_div(checked::mul(at_once.layer.samples, at_once.layer.sequence), at_once.layer.context);
  return forward_alone(at_once, rates_for, layers) * sequences_of_step(j) / static_cast<double>(at_once.layer.samples);
}

/// The part of its completions that a step generates and scores: what other steps train on, too, counts for each.
constexpr double fresh_share(const job& j) { return j.rollout.iterations > 1 ? 1 / product(j.rollout.iterations) : 1; }

/// A critic's values, and its step.
[[gnu::noinline]] constexpr double critic_seconds(const job& j, const auto& rates_for, const auto& layers) {
  const job standing = standing_of_critic(j);
  const auto s = settle_checked(standing);
  const auto list = list_of(s, layers);
  const auto c = cost_scene_of(s, rates_for(*s.on));
  const auto load = load_of(c, passes_of(c, list, layers));
  return step_of(c, load, parameters_of(c, list, load.share)).step.value + fresh_share(j) * load.slowest.forward.total() * sequences_of_step(j) / static_cast<double>(standing.batch.micro);
}

/// Engines that write the completions of a step, and what each is asked for.
constexpr generation_load load_of_engine(const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  const auto& r = j.rollout;
  generation_load g{.prompt = static_cast<double>(r.prompt), .completion = static_cast<double>(r.completion), .tensor = r.tensor};
  const bool rows = j.batch.packed && j.batch.sequence > r.prompt + r.completion;  // which hold several samples, each as long as it may be
  const double all = sequences_of_step(j) * static_cast<double>(s.data) * (rows ? static_cast<double>(j.batch.sequence) / (g.prompt + g.completion) : 1.0);
  if (r.by_module()) {
    g.sequences = g.prompts = all / static_cast<double>(s.data);
    const auto at_once = static_cast<double>(generated_at_once(without_evaluation(j)));
    if (r.steps_per_generation > 0) g.sequences = g.prompts = static_cast<double>(trained_at_once(j));
    g.at_once = at_once < g.sequences ? at_once : g.sequences;
    g.cached = !generates_uncached(j);
    return g;
  }
  const auto gpus = r.shares_gpus() ? j.hardware.gpus() : r.gpus;
  g.sequences = all * static_cast<double>(r.tensor) / static_cast<double>(gpus);
  g.prompts = r.generations > 0 ? g.sequences / static_cast<double>(r.generations) : g.sequences;
  // vLLM runs 256 sequences side by side (config SchedulerConfig max_num_seqs), or as many as have room.
  g.at_once = g.sequences < 256 ? g.sequences : 256;
  const auto e = engine_memory_of(s.model, list, r, s.on->memory, j.hardware.taken);
  const auto room = static_cast<double>(room_for(e.cache, pages_of(s.model, r), r.prompt + r.completion).sequences);
  if (r.share.set() && room > 0 && room < g.at_once) g.at_once = room;
  return g;
}

/// What weights, gathered from all ranks, take to the engine: within these GPUs, or over the network to others.
constexpr double sync_seconds(const settled_job& s, const machine& on, double whole) {
  const auto& r = s.source->rollout;
  if (r.by_module()) return s.shards.parameters > 1 && chosen(r.gathers, true) ? gather_seconds(on.links, {s.shards.parameters, 1}, whole) : 0.0;
  const double gathered = gather_seconds(on.links, {s.shards.parameters, 1}, whole);
  return gathered + (r.shares_gpus() ? 2 * whole / static_cast<double>(r.tensor) / on.memory : send_seconds(on.links, on.links.domain, whole));
}

/// What goes to the host and comes back around a rollout, over PCIe: the engine's weights where they sleep there, and the trainer's parts.
constexpr double moving_seconds(const settled_job& s, const machine& on, const rank_parameters& n, double whole) {
  const auto& r = s.source->rollout;
  if (!r.shares_gpus()) return 0;
  double moved = r.sleep == 1 ? whole / static_cast<double>(r.tensor) : 0.0;
  if (r.trainer_moves.has(trainer_part::weights)) moved += n.all * static_cast<double>(s.precision.parameters.width()) / static_cast<double>(s.shards.parameters);
  if (r.trainer_moves.has(trainer_part::optimizer)) moved += n.trained * static_cast<double>(s.optimizer.moments * s.optimizer.state.width()) / static_cast<double>(s.shards.optimizer);
  return 2 * moved / on.pcie;
}

/// Generations of the trained module for one step: fewer than one where several steps train on what one has made.
constexpr double generations_of_step(const job& j) {
  const auto steps = j.rollout.steps_per_generation;
  return fresh_share(j) * (j.rollout.by_module() && steps > 0 ? static_cast<double>(j.batch.accumulation) / static_cast<double>(steps) : 1.0);
}

/// `host`: seconds of a processor for a forward of the trained module.
[[gnu::noinline]] constexpr void add_method(step_cost& cost, const cost_scene& c, const inventory& list, const rank_parameters& n, double host, const auto& rates_for, const auto& layers) {
  const auto& s = *c.job;
  const auto& j = *s.source;
  const auto& o = j.objective;
  double forwards = own_scores(j, s, rates_for, layers);
  // KTO runs both models over mismatched answers, too (TRL and ms-swift kto_trainer.py _compute_kl_logps; LLaMA-Factory train/kto/trainer.py concatenated_forward).
  const bool mismatched = o.kind == objective_kind::kto;
  if (other_model_of(j) != other_weights::none) forwards += (mismatched ? 3 : 1) * other_seconds(j, o.has_teacher() ? o.frozen : model_role{}, rates_for, layers);
  else if (mismatched) forwards += forward_alone(s, rates_for, layers) * static_cast<double>(j.batch.accumulation);
  const bool mixes = o.kind == objective_kind::nash_md;  // two completions of a prompt are rewarded, and one is trained on
  if (o.has_reward()) forwards += (mixes ? 2 : 1) * other_seconds(j, o.frozen, rates_for, layers);
  if (o.reward_adapter) forwards += other_seconds(j, {}, rates_for, layers);
  forwards *= fresh_share(j);
  if (o.critic.given()) forwards += critic_seconds(j, rates_for, layers);
  cost.other_models = seconds{forwards};
  cost.step = cost.step + cost.other_models;
  cost.assumptions.add(time_assumption::methods_from_parts);
  if (!j.rollout.given()) return;
  const auto& r = j.rollout;
  const bool engine = !r.by_module();
  const auto& format = engine ? r.weight_format() : s.precision.parameters;
  const auto g = load_of_engine(s, list);
  const double whole = n.all * static_cast<double>(format.width());
  const double processor = engine && chosen(r.graphs, true) ? 0.0 : host;
  const double times = generations_of_step(j);
  const auto cache = static_cast<double>((engine ? token_bytes(s.model, r.tensor, r.cache_format()) : module_token_bytes(s.model, widths_of_generation(s))).count());
  // Autocast reads wider weights, and writes and reads their copies, for every token.
  const auto weight = format.width() + (!engine && generates_in_autocast(s) && s.layer.casts_weights ? 2 * s.layer.width : 0);
  const auto takes = [&](const generation_load& load) { return generation_seconds(s.model, list, c.on, load, static_cast<double>(weight), cache, processor); };
  cost.generation = seconds{times * takes(g)};
  if (mixes) {  // the second completion, of the policy and the reference
    auto both = g;
    both.cached = false, both.all_logits = true;
    cost.generation = cost.generation + seconds{2 * takes(both)};
  }
  cost.sync = seconds{times * sync_seconds(s, c.on, whole) + moving_seconds(s, c.on, n, whole)};
  cost.step = cost.step + cost.generation + cost.sync;
  if (engine && !r.shares_gpus()) cost.gpus += static_cast<double>(r.gpus);
  cost.assumptions.add(time_assumption::generation_by_bandwidth);
}

/// Whether a method's time is predicted.
constexpr objection check_method_cost(const job& j, const auto& no) {
  const auto& r = j.rollout;
  if (j.objective.kind == objective_kind::sft) return {};
  if (j.framework.modules.megatron()) return no("headroom: the step time of methods other than sft over Megatron's layers is not predicted by this version; framework", j.framework.label);
  if (j.hardware.kinds() > 1) return no("headroom: the step time of methods other than sft on several kinds of GPU is not predicted by this version; hardware must be of one kind");
  if (r.given() && !r.by_module() && !r.shares_gpus() && r.gpus < 1)
    return no("headroom: the step time of a method whose engine has GPUs of its own needs rollout.gpus: how many they are");
  return {};
}

}  // namespace headroom::detail
