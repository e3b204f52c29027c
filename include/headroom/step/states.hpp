// Distributed under the Boost Software License, Version 1.0.
// What outlives a step on one GPU: parameters, master copies, gradients, optimizer state, adapters. Exact: read off the
// inventory tensor by tensor, for any model that can be counted.
// Sources: Rajbhandari et al. 2020 (ZeRO), section 3 and 5; DeepSpeed runtime/zero/stage_1_and_2.py, stage3.py; torch
// distributed/fsdp/_fully_shard/_fsdp_param.py (padding of dimension 0); bitsandbytes optim/optimizer.py.
#pragma once

#include <headroom/model/inventory.hpp>
#include <headroom/block/experts.hpp>
#include <headroom/step/settle.hpp>

namespace headroom {

struct state_bytes {
  breakdown gpu{};                 ///< parameters, master_parameters, gradients (whole, once made), optimizer_state, adapters
  bytes paged{};                   ///< optimizer state in managed memory: in host memory, not in the allocator
  bytes trained_copy{};            ///< one copy of this rank's trained tensors in the state's format: a foreach temporary
  bytes adapter_copy{};            ///< of it, adapters in a format of their own, which are updated apart
  bytes loop_temporary{};          ///< temporaries of a tensor-by-tensor Adam: two of the tensor, and the one before's (see walk_step)
  bytes largest_trained{};         ///< the largest of them, in that format
  parameters trained{};            ///< of the whole model, adapters included
  parameters trained_here{};       ///< of this rank's shard
  parameters adapters{};
  parameters total{};              ///< base model, without adapters
  parameters active{};             ///< of it, what one token visits
  parameters unit{};               ///< one layer
  parameters packed{};             ///< of it, in quantised weights
  parameters root{};               ///< what lies outside all layers
  parameters embedding{};          ///< of it, the embedding
  parameters side{};               ///< an encoder's or a tower's layers
  parameters small{};              ///< weights of at most `persistence threshold` elements (ZeRO stage 3 keeps them)
  parameters largest{};            ///< the largest weight tensor
  parameters largest_adapter{};    ///< the largest matrix of an adapter
  bytes frozen_extra{};            ///< metadata of quantised weights
};

namespace detail {

/// Adds up the states of one rank.
class state_sum {
 public:
  constexpr explicit state_sum(const settled_job& s) : s_(&s), o_(&s.optimizer) {
    const auto& j = *s.source;
    const auto& p = s.precision;
    own_ = {row::model_parameters, p.parameters, p.gradients, p.master, o_->state};
    if (j.adapter.active()) {  // gradients and state in its own format, where the recipe has them in the parameters'
      const auto& format = s.layer.adapter_width == 4 ? formats::fp32 : formats::bf16;
      const auto like = [&](const number_format& f) -> const number_format& { return f.bits == p.parameters.bits ? format : f; };
      side_ = {row::adapters, format, like(p.gradients), format.width() < p.master.width() ? p.master : formats::none, like(o_->state)};
    }
    frozen_ = j.framework.upcasts_frozen && j.adapter.base.quantised() ? formats::fp32 : p.parameters;
    packed_ = j.adapter.base;
    granule_ = s.flat ? 1 : s.layer.granule;
  }

  /// `copies` tensors of rows × columns that do not train.
  constexpr void frozen(const weight& w, std::int64_t copies, bool quantised) {
    if (copies == 0) return;
    const auto here = local(w.rows, w.columns, w.elements(), s_->shards.parameters);
    r.gpu[row::model_parameters] += copies * held(w.rows, w.columns, here, quantised ? packed_ : frozen_);
    if (quantised) r.frozen_extra += copies * s_->source->adapter.base.metadata(w.rows, w.columns);
  }

  /// `copies` tensors that train. `adapter`: they count in the report's adapters row.
  constexpr void trained(std::int64_t rows, std::int64_t columns, std::int64_t copies, bool embedding, bool adapter) {
    if (copies == 0) return;
    const auto& as = adapter ? side_ : own_;
    const auto& d = s_->shards;
    const auto whole = checked::mul(rows, columns);
    const auto weight = held(rows, columns, local(rows, columns, whole, d.parameters), as.weight);
    r.gpu[as.of] += copies * weight;
    const parameters all{checked::mul(whole, copies)};
    r.trained += all;
    if (adapter) {
      r.adapters += all;
      r.largest_adapter = max(r.largest_adapter, parameters{whole});
    }

    const auto active = o_->blocks > 1 ? checked::ceil_div(copies, o_->blocks) : copies;  // BAdam: the others have no gradient and no state
    const auto here = local(rows, columns, whole, d.optimizer);
    const bool alike = as.gradient == as.weight && d.gradients == d.parameters;
    if (!o_->in_backward)
      r.gpu[row::gradients] += active * (alike ? weight : held(rows, columns, local(rows, columns, whole, d.gradients), as.gradient));
    if (as.master.bits > 0) r.gpu[row::master_parameters] += active * held(rows, columns, here, as.master);
    state(rows, columns, here, active, embedding, as);
    r.trained_here += parameters{checked::mul(here, active)};
    const auto temporary = bytes{checked::mul(here, as.state.bits >= 16 ? as.state.bits / 8 : 4)};
    r.trained_copy += active * rounded(temporary);
    if (adapter && apart()) r.adapter_copy += active * rounded(temporary);
    const bool matrix = columns > 1;
    const auto together = temporary + waiting_[matrix];
    waiting_[matrix] = joins_next_ ? together : bytes{0};
    if (joins_next_) return;
    r.largest_trained = max(r.largest_trained, together);
    update(together);
  }

  /// The next tensors are one with the matrix, or the vector, that comes after them.
  constexpr void join_next(bool yes) { joins_next_ = yes; }

  /// A weight that tensor parallelism divides: `here` is this rank's share. Counts are of the whole model, windows of the share.
  constexpr void count_whole(const weight& w, const weight& here, std::int64_t all, std::int64_t train) {
    const parameters one{w.elements()}, share{here.elements()};
    r.trained += (one - share) * train;
    r.total += one * all;
    r.active += one * all;
    if (w.layers.count > 0)
      r.unit += share * w.per_layer;
    else
      r.root += share * all;
    if (w.role == module::embedding) r.embedding += share * all;
    r.largest = max(r.largest, share);
  }

  /// The weights of one layer are updated one after another, then those of the next: the last comes before the first.
  constexpr void begin_layers() { first_of_layer_ = bytes{0}; in_layers_ = true; }
  constexpr void end_layers(bool repeated) {
    if (repeated) r.loop_temporary = max(r.loop_temporary, previous_ + 2 * first_of_layer_);
    in_layers_ = false;
  }

  state_bytes r{};

 private:
  /// A number format, and whether a tensor in it has metadata beside its elements.
  struct stored {
    std::int64_t bits{};
    const number_format* packed{};
    constexpr stored() = default;
    constexpr stored(const number_format& f) : bits(f.bits), packed(f.quantised() ? &f : nullptr) {}
    friend constexpr bool operator==(const stored&, const stored&) = default;
  };
  /// What tensors of a kind are kept in, and the row of the report that the tensors themselves are counted in.
  struct kind {
    row of{};
    stored weight{}, gradient{}, master{}, state{};
  };

  /// A foreach update takes tensors of one format together (torch/utils/_foreach_utils.py).
  [[nodiscard]] constexpr bool apart() const { return side_.weight.bits != own_.weight.bits && side_.state.bits >= 16; }
  /// Elements of a tensor of `whole` that one of d ranks holds: dimension 0 padded (FSDP2), or the flat vector (ZeRO, FSDP1).
  [[nodiscard]] constexpr std::int64_t local(std::int64_t rows, std::int64_t columns, std::int64_t whole, std::int64_t d) const {
    if (d == 1) return whole;
    return s_->flat ? checked::ceil_div(whole, d) : checked::mul(checked::ceil_div(rows, d), columns);
  }
  [[nodiscard]] constexpr bytes rounded(bytes b) const { return bytes{checked::add(b.value, granule_ - 1) & ~(granule_ - 1)}; }
  /// `here` elements of a rows × columns tensor. Quantisation metadata is not divided: every rank keeps the scales of the whole.
  [[nodiscard]] constexpr bytes held(std::int64_t rows, std::int64_t columns, std::int64_t here, const stored& f) const {
    const bytes elements{checked::add(checked::mul(here, f.bits), 7) >> 3};
    return rounded(f.packed != nullptr ? elements + f.packed->metadata(rows, columns) : elements);
  }

  [[gnu::always_inline]] constexpr void state(std::int64_t rows, std::int64_t columns, std::int64_t here, std::int64_t copies, bool embedding,
                                              const kind& as) {
    const bool cut = s_->flat && s_->shards.optimizer > 1;
    const bool vector = columns == 1 || cut;
    // Muon leaves vectors and embeddings to AdamW. DeepSpeed keeps its matrices in partitions of their own, whose momentum has the
    // gradients' format below stage 3 (runtime/zero/stage_1_and_2.py get_flat_partition, stage3.py _create_momentum_buffer).
    const bool apart = o_->vector_moments > 0 && cut && !embedding && columns > 1 && s_->source->sharding.kind == sharding_kind::zero;
    const bool plain_kind = o_->vector_moments > 0 && (vector || embedding) && !apart;
    const auto& format = apart && s_->source->sharding.stage < 3 ? as.gradient : as.state;
    const auto moments = checked::mul(copies, plain_kind ? o_->vector_moments : o_->moments);
    if (moments == 0) return;
    if (o_->extent != state_extent::full && !vector && reduced_state(rows, columns, moments, copies, format)) return;
    const bool plain = format.packed != nullptr && (here < o_->plain_below || (embedding && o_->plain_embedding));
    const auto all = moments * held(here, 1, here, plain ? stored(formats::fp32) : format);
    const bool paged = o_->paged_from > 0 && here >= o_->paged_from;
    (paged ? r.paged : r.gpu[row::optimizer_state]) += all;
  }
  /// State of a matrix that is smaller than the matrix, unless its rank is too high for that.
  constexpr bool reduced_state(std::int64_t rows, std::int64_t columns, std::int64_t moments, std::int64_t copies, const stored& format) {
    auto& sum = r.gpu[row::optimizer_state];
    if (o_->extent == state_extent::factored) {
      sum += moments * (held(rows, 1, rows, format) + held(columns, 1, columns, format));
      return true;
    }
    const auto shorter = rows < columns ? rows : columns;
    if (o_->rank >= shorter) return false;
    const auto of_rank = [&](std::int64_t side) { return held(o_->rank, side, checked::mul(o_->rank, side), format); };
    sum += moments * of_rank(rows < columns ? columns : rows);
    if (o_->stores_projector) sum += copies * of_rank(shorter);
    return true;
  }

  /// torch/optim/adamw.py _single_tensor_adamw: sqrt, then its quotient, while Python still names the previous tensor's.
  constexpr void update(bytes temporary) {
    if (in_layers_ && first_of_layer_ == bytes{0}) first_of_layer_ = temporary;
    r.loop_temporary = max(r.loop_temporary, previous_ + 2 * temporary);
    previous_ = temporary;
  }

  const settled_job* s_;
  const optimizer* o_;
  kind own_{}, side_{};        ///< the model's weights, and adapters
  stored frozen_{}, packed_{}; ///< weights that do not train, plain and quantised
  std::int64_t granule_{};     ///< of a tensor's storage; the parts of a flat vector lie side by side
  bytes previous_{}, first_of_layer_{};
  std::array<bytes, 2> waiting_{};  ///< vectors, matrices
  bool joins_next_{};
  bool in_layers_{};
};

/// Output features of the adapter beside a weight: the weight's own; of one over a fused q, k, v projection all three's, counted with q.
constexpr std::int64_t adapted_rows(const settled_job& s, const weight& w) {
  if (!s.source->adapter.fused_qkv || !s.model.fused_qkv) return w.rows;
  if (w.role == module::k_proj || w.role == module::v_proj) return 0;
  return w.role == module::q_proj ? checked::add(w.rows, 2 * s.model.kv_width()) : w.rows;
}

/// How many of a weight's copies, `all` together, train. `outside`: the modules that train outside the stack.
constexpr std::int64_t trained_copies(const job& j, const module_set& outside, const weight& w, std::int64_t all) {
  if (w.frozen) return 0;
  if (j.trainable.all() || w.layers.count == 0) return outside.has(w.role) ? all : 0;
  std::int64_t copies = 0;
  for (std::int64_t i = 0; i < w.layers.count; ++i) {
    const auto layer = w.layers.first + i * w.layers.stride;
    std::int64_t here = j.adapter.modules_to_save.has(w.role) ? w.per_layer : 0;
    for (std::int32_t k = 0; k < j.trainable.size; ++k) {
      const auto& s = j.trainable.list[k];
      if (s.last_layer >= 0 && (layer < s.first_layer || layer > s.last_layer)) continue;
      if (!s.modules.empty() && !s.modules.has(w.role)) continue;
      const auto n = w.expert && s.experts >= 0 && s.experts < w.per_layer ? s.experts : w.per_layer;
      if (n > here) here = n;
    }
    copies = checked::add(copies, here);
  }
  return copies;
}

/// One rank's share of a weight.
constexpr weight divided(weight w, std::int64_t tensor) {
  if (w.split == split_axis::columns)
    w.columns = checked::ceil_div(w.columns, tensor);
  else if (w.split != split_axis::none)
    w.rows = checked::ceil_div(w.rows, tensor);
  return w;
}

/// One tensor of all experts of a layer, where they are computed at once.
constexpr weight joined(weight w, const settled_job& s) {
  if (!w.expert || s.layer.adapts(w.role) || s.layer.quantised.has(w.role) || !experts_at_once(s.model, s.source->framework)) return w;
  w.rows = checked::mul(w.rows, w.per_layer);
  w.per_layer = 1;
  return w;
}

/// Adds a layer's weight to what all layers hold, or to what the first dense or the first sparse one does. Experts that are divided
/// over ranks are gathered and reduced as a rank's share of them.
constexpr void add_to_unit(const shape& m, const weight& w, std::int64_t expert, parameters& every, parameters& dense, parameters& sparse) {
  const auto all = parameters{w.elements()} * (w.expert ? checked::ceil_div(w.per_layer, expert) : w.per_layer);
  if (!m.sparse() || w.layers.count == m.layers) {
    every += all;
    return;
  }
  for (const bool kind : {false, true}) {
    std::int64_t i = 0;
    while (i < m.layers && m.sparse_layer(i) != kind) ++i;
    const auto& at = w.layers;
    const auto behind = i - at.first;
    if (behind >= 0 && behind % at.stride == 0 && behind / at.stride < at.count) (kind ? sparse : dense) += all;
  }
}

}  // namespace detail

/// States of one rank of a settled job. `list` is the inventory of its model.
constexpr state_bytes states(const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  detail::state_sum sum(s);
  const auto threshold = j.sharding.stage3_param_persistence_threshold >= 0 ? j.sharding.stage3_param_persistence_threshold : 100'000;
  const auto outside = trained_modules(j, -1);
  const bool divided = j.parallel.tensor > 1 && j.framework.divides_modules;
  const bool fused = s.model.fused_qkv || j.framework.fused_qkv;
  bool in_layers = false;
  parameters dense_unit{}, sparse_unit{};
  for (const auto& w : list) {
    if ((w.layers.count > 0) != in_layers) {
      if (in_layers)
        sum.end_layers(s.model.layers > 1);
      else
        sum.begin_layers();
      in_layers = !in_layers;
    }
    const auto all = w.copies();
    const auto train = detail::trained_copies(j, outside, w, all);
    const bool linear = w.linear && !w.vector();
    sum.join_next(fused && (w.role == module::q_proj || w.role == module::k_proj));
    if (divided && w.split != split_axis::none) [[unlikely]] {
      const auto here = detail::divided(w, j.parallel.tensor);
      sum.trained(here.rows, here.columns, train, w.role == module::embedding || w.role == module::head, false);
      sum.frozen(here, all - train, false);
      sum.count_whole(w, here, all, train);
      continue;
    }
    sum.trained(w.rows, w.columns, train, w.role == module::embedding || w.role == module::head, false);
    sum.frozen(w, all - train, linear && s.layer.quantised.has(w.role));
    if (j.adapter.active() && j.adapter.modules_to_save.has(w.role)) sum.frozen(w, train, false);  // the original stays beside the trained copy
    if (const auto rows = linear && s.layer.adapts(w.role) ? detail::adapted_rows(s, w) : 0; rows > 0) {
      sum.trained(j.adapter.rank, w.columns, all, false, true);
      sum.trained(rows, j.adapter.rank, all, false, true);
      if (j.adapter.kind == adapter_kind::dora) sum.trained(rows, 1, all, false, true);
    }
    auto& r = sum.r;
    const parameters one{w.elements()};
    const auto total = one * all;
    r.total += total;
    r.active += w.expert ? total / s.model.experts.count * s.model.experts.active : total;
    if (w.layers.count > 0) {
      detail::add_to_unit(s.model, w, j.parallel.expert, r.unit, dense_unit, sparse_unit);
      if (linear && s.layer.quantised.has(w.role)) r.packed += one * w.per_layer;
    } else if (w.role == module::encoder || w.role == module::vision) {
      r.side += total;
    } else {
      r.root += total;
    }
    if (w.role == module::embedding) r.embedding += total;
    if (one.count() <= threshold) r.small += total;
    r.largest = max(r.largest, one);
  }
  sum.r.unit += dense_unit > sparse_unit ? dense_unit : sparse_unit;
  if (const auto side_layers = s.model.encoder.layers + s.model.vision.layers; side_layers > 0 && sum.r.side / side_layers > sum.r.unit)
    sum.r.unit = sum.r.side / side_layers;
  return sum.r;
}

/// States of one rank of a job, for every model that can be counted (mixture of experts, encoders and towers included).
/// Errors: job_error for a job that contradicts itself.
constexpr state_bytes states(const job& j) {
  const auto s = settle(j);
  return states(s, weights_of(s.model));
}

}  // namespace headroom
