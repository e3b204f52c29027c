// Distributed under the Boost Software License, Version 1.0.
// Megatron-FSDP: which weights lie in a buffer together, how large the buffers are, and what a rank keeps of them.
// Source: Megatron-LM core/distributed/fsdp/src/megatron_fsdp/{megatron_fsdp,param_and_grad_buffer}.py. A unit is a layer
// (mcore_fsdp_adapter.py fsdp_unit_modules); its weights are one buffer for each number format, experts' apart from the rest; what lies
// outside the layers is cut into buffers of `bucket_size` elements, in the order of the model, and stays gathered.
#pragma once

#include <headroom/engine/tensor_parallel/stage_states.hpp>


namespace headroom {

namespace detail {

/// Weights in one buffer, in elements of one rank before they are sharded.
struct fsdp_bucket {
  std::int64_t exact{};
  std::int64_t padded{};  ///< to a multiple of ranks × the row that its weights share
};

/// Buffers that are gathered and reduced in one call: of fp8 weights, and of the rest.
struct fsdp_group {
  fsdp_bucket fp8{}, rest{};
  std::int64_t ranks{1};
  [[nodiscard]] constexpr std::int64_t elements() const { return checked::add(fp8.padded, rest.padded); }
  [[nodiscard]] constexpr bool empty() const { return elements() == 0; }
};

struct fsdp_unit {
  fsdp_group dense{}, experts{};
};

/// The buffers of a model on one rank.
struct fsdp_layout {
  std::array<fsdp_unit, 2> layer{};        ///< of a dense layer and of a sparse one
  std::array<std::int64_t, 2> layers{};    ///< how many there are of each
  fsdp_group front{}, across{}, back{};    ///< outside the layers: buffers of the embedding alone, of both ends, of final norm and head alone
  std::int64_t fp8_width{1}, width{};      ///< of a weight as it is gathered
  std::int64_t transposed{};               ///< bytes more of an fp8 weight while its layer runs
  std::int64_t reduced{}, kept{};          ///< width of a gradient on its way, and of what it is added to
  std::int64_t prefetch{};                 ///< elements gathered ahead of a layer
  std::int64_t queue{};                    ///< elements whose reduction is not waited for
  bool gathers{}, scatters{};              ///< weights, gradients are sharded
  int pooled{-1};                          ///< the kind of layer whose buffers are double, and stay

  /// Whole weights beside the shards, and whole gradients beside those that are kept: nothing where these are whole themselves.
  [[nodiscard]] constexpr bytes gathered(const fsdp_group& g) const {
    return bytes{gathers && g.ranks > 1 ? checked::add(checked::mul(g.fp8.padded, fp8_width), checked::mul(g.rest.padded, width)) : 0};
  }
  [[nodiscard]] constexpr bytes gradients(const fsdp_group& g) const {
    return bytes{(scatters && g.ranks > 1) || reduced != kept ? checked::mul(g.elements(), reduced) : 0};
  }
  [[nodiscard]] constexpr bytes gathered(const fsdp_unit& u) const { return gathered(u.dense) + gathered(u.experts); }
  [[nodiscard]] constexpr bytes gradients(const fsdp_unit& u) const { return gradients(u.dense) + gradients(u.experts); }
  [[nodiscard]] constexpr bytes transposes(const fsdp_unit& u) const {
    return bytes{checked::mul(checked::add(u.dense.fp8.padded, u.experts.fp8.padded), transposed)};
  }
};

/// Collects the weights of one buffer. Shards are cut between rows, so the buffer is a multiple of a row that all of its weights come out
/// even in (param_and_grad_buffer.py _get_parameter_groups, step 3: the widest row first, least common multiples from there).
class fsdp_rows {
 public:
  constexpr void add(std::int64_t columns, std::int64_t one, std::int64_t copies) {
    exact_ = checked::add(exact_, checked::mul(one, copies));
    if (size_ == rows_.size()) refuse("headroom: a layer has more kinds of weight than Megatron-FSDP is modelled for; kinds", static_cast<std::int64_t>(size_));
    auto i = size_++;
    for (; i > 0 && rows_[i - 1].columns < columns; --i) rows_[i] = rows_[i - 1];
    rows_[i] = {columns, one};
  }
  [[nodiscard]] constexpr std::int64_t exact() const { return exact_; }
  [[nodiscard]] constexpr fsdp_bucket padded_for(std::int64_t ranks, bool pads) const {
    if (!pads || size_ == 0) return {exact_, exact_};
    auto row = rows_[0].columns;
    for (std::size_t i = 1; i < size_; ++i) {
      const auto& w = rows_[i];
      if (w.elements < row || (row % w.columns == 0 && w.elements % row == 0)) continue;
      row = checked::lcm(row, w.columns);
    }
    return {exact_, checked::round_up(exact_, checked::mul(ranks, row))};
  }

 private:
  struct weight_rows {
    std::int64_t columns, elements;
  };
  std::array<weight_rows, 24> rows_{};
  std::size_t size_ = 0;
  std::int64_t exact_ = 0;
};

/// A weight's share of one rank: columns, elements of one, how many.
struct fsdp_weight {
  std::int64_t columns, one, copies;
  bool fp8;
};
constexpr fsdp_weight share_of_rank(const settled_job& s, const weight& w) {
  const auto& d = s.source->parallel;
  const auto t = w.expert ? d.expert_tensor : d.tensor;
  const bool splits = w.split != split_axis::none;
  const bool fp8 = s.precision.parameters.bits == 8 && w.linear && !w.vector() && w.role != module::head && w.role != module::router;
  return {w.split == split_axis::columns ? w.columns / t : w.columns, splits ? w.elements() / t : w.elements(),
          w.expert ? w.per_layer / d.expert : w.per_layer, fp8};
}

constexpr fsdp_unit fsdp_unit_of(const settled_job& s, const inventory& list, std::int64_t layer, const state_degrees& ranks, bool pads) {
  fsdp_rows dense, dense_fp8, experts, experts_fp8;
  for (const auto& w : list) {
    if (!w.layers.has(layer)) continue;
    const auto here = share_of_rank(s, w);
    (w.expert ? here.fp8 ? experts_fp8 : experts : here.fp8 ? dense_fp8 : dense).add(here.columns, here.one, here.copies);
  }
  return {{dense_fp8.padded_for(ranks.dense, pads), dense.padded_for(ranks.dense, pads), ranks.dense},
          {experts_fp8.padded_for(ranks.experts, pads), experts.padded_for(ranks.experts, pads), ranks.experts}};
}

/// What lies outside the layers, cut where a buffer has reached `bucket_size` elements (training.py resolve_ddp_bucket_size).
constexpr void add_fsdp_ends(fsdp_layout& r, const settled_job& s, const inventory& list, std::int64_t ranks, bool pads) {
  const auto replicas = checked::mul(s.data, s.source->parallel.context);
  const std::int64_t bucket_size = replicas > 40 ? checked::mul(1'000'000, replicas) : 40'000'000;
  r.front.ranks = r.across.ranks = r.back.ranks = ranks;
  fsdp_rows rows;
  bool front = false, back = false;
  const auto close = [&] {
    auto& to = !back ? r.front : front ? r.across : r.back;
    const auto b = rows.padded_for(ranks, pads);
    to.rest = {to.rest.exact + b.exact, to.rest.padded + b.padded};
    rows = {};
    front = back = false;
  };
  for (const auto& w : list) {
    if (w.layers.count > 0) continue;
    const auto here = share_of_rank(s, w);
    rows.add(here.columns, here.one, here.copies);
    const bool first = w.role == module::embedding || w.role == module::position;
    front = front || first;
    back = back || !first;
    if (rows.exact() >= bucket_size) close();
  }
  if (rows.exact() > 0) close();
}

/// The buffers of a job. megatron_fsdp.py _init_fsdp_param_and_grad_buffer: communication is in portions of
/// suggested_communication_unit_size elements, else of two average layers and at least 1e9; half of that is gathered ahead.
constexpr fsdp_layout fsdp_layout_of(const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  const auto& z = j.sharding;
  const auto& p = s.precision;
  const auto ranks = degrees_of_shards(s);
  const bool pads = z.stage > 0;
  fsdp_layout r;
  std::array<std::int64_t, 2> first{-1, -1};
  for (std::int64_t i = 0; i < s.model.layers; ++i) {
    const auto k = static_cast<std::size_t>(s.model.sparse_layer(i));
    if (r.layers[k]++ == 0) first[k] = i;
  }
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
    if (first[k] >= 0) r.layer[k] = fsdp_unit_of(s, list, first[k], ranks, pads);
  add_fsdp_ends(r, s, list, ranks.dense, pads);
  const bool fp8 = p.parameters.bits == 8;
  r.width = fp8 ? s.layer.width : p.parameters.width();
  r.transposed = fp8 ? s.layer.fp8_copies - 1 : 0;
  r.reduced = p.reduce.width();
  r.kept = p.gradients.width();
  r.gathers = z.stage == 3;
  r.scatters = z.stage >= 2;
  std::int64_t portion = z.communication_unit;
  if (portion < 0) {
    std::int64_t all = 0;
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const auto& u = r.layer[k];
      all = checked::add(all, checked::mul(r.layers[k], u.dense.fp8.exact + u.dense.rest.exact + u.experts.fp8.exact + u.experts.rest.exact));
    }
    const auto two = checked::mul(2, all / s.model.layers);
    portion = two > 1'000'000'000 ? two : 1'000'000'000;
  }
  r.queue = portion;
  r.prefetch = portion / 2;
  if (chosen(z.double_buffer, false)) r.pooled = r.layers[1] > r.layers[0] ? 1 : 0;
  return r;
}

/// What a rank keeps: shards of each buffer, and what stays gathered. Optimizer states are tensors of their own, without the padding.
constexpr breakdown fsdp_states(const settled_job& s, const fsdp_layout& of) {
  const auto& p = s.precision;
  const auto& z = s.source->sharding;
  const bool cuts_weights = z.cuts(sharded_state::weights), cuts_gradients = z.cuts(sharded_state::gradients), cuts_states = z.cuts(sharded_state::optimizer);
  const auto state = checked::mul(s.optimizer.state.width(), s.optimizer.moments);
  breakdown b{};
  const auto add = [&](const fsdp_group& g, std::int64_t n) {
    if (g.empty()) return;
    const auto part = [&](std::int64_t elements, bool sharded) { return checked::mul(n, sharded ? checked::ceil_div(elements, g.ranks) : elements); };
    b[row::model_parameters] += bytes{checked::add(checked::mul(part(g.fp8.padded, cuts_weights), of.fp8_width), checked::mul(part(g.rest.padded, cuts_weights), of.width))};
    b[row::master_parameters] += bytes{checked::mul(part(g.elements(), cuts_states), p.master.width())};
    b[row::gradients] += bytes{checked::mul(part(g.elements(), cuts_gradients), p.gradients.width())};
    b[row::optimizer_state] += bytes{checked::mul(part(checked::add(g.fp8.exact, g.rest.exact), cuts_states), state)};
  };
  for (std::size_t k = 0; k < of.layer.size(); ++k) {
    add(of.layer[k].dense, of.layers[k]);
    add(of.layer[k].experts, of.layers[k]);
  }
  for (const auto* g : {&of.front, &of.across, &of.back}) {
    add(*g, 1);
    b[row::gathered_parameters] += of.gathered(*g);
  }
  if (of.pooled >= 0) {
    const auto& unit = of.layer[static_cast<std::size_t>(of.pooled)];
    b[row::gathered_parameters] += 2 * of.gathered(unit);
    b[row::communication_buffers] += 2 * of.gradients(unit);
  }
  return b;
}

/// While the buffers are made: the model as it was built, whole, and the first buffer, into which its weights are copied
/// (_init_each_parameter_group_buffers; each group's old weights go when it is done).
constexpr moment fsdp_load(const fsdp_layout& of) {
  const auto whole = [&](const fsdp_group& g, std::int64_t n) {
    return n * bytes{checked::add(checked::mul(g.fp8.exact, of.fp8_width), checked::mul(g.rest.exact, of.width))};
  };
  bytes all{0};
  for (std::size_t k = 0; k < of.layer.size(); ++k) all += whole(of.layer[k].dense, of.layers[k]) + whole(of.layer[k].experts, of.layers[k]);
  for (const auto* g : {&of.front, &of.across, &of.back}) all += whole(*g, 1);
  const auto& first = of.front.empty() ? of.across : of.front;
  return moment(row::model_parameters, all) + moment(row::gathered_parameters, bytes{checked::mul(first.elements(), of.width)});
}

}  // namespace detail

}  // namespace headroom
