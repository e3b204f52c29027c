// Distributed under the Boost Software License, Version 1.0.
// What one rank keeps of each tensor it is told of, added up: weights, master copies, gradients, optimizer state, and the temporaries of
// their update.
// Sources: DeepSpeed runtime/zero/stage_1_and_2.py, stage3.py; torch distributed/fsdp/_fully_shard/_fsdp_param.py (padding of dimension 0);
// bitsandbytes optim/optimizer.py.
#pragma once

#include <headroom/model/weight.hpp>
#include <headroom/settle/settle.hpp>

namespace headroom {

struct state_bytes {
  breakdown gpu{};                 ///< parameters, master_parameters, gradients (whole, once made), optimizer_state, adapters
  bytes paged{};                   ///< optimizer state in managed memory: in host memory, not in the allocator
  bytes trained_copy{};            ///< one copy of this rank's trained tensors in the state's format: a foreach temporary
  bytes adapter_copy{};            ///< of it, adapters in a format of their own, which are updated apart
  bytes loop_temporary{};          ///< temporaries of a tensor-by-tensor Adam: two of the tensor, and the one before's (see walk_step)
  bytes loop_previous{};           ///< of these, the one before's
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
    const auto& rest = j.adapter.rest;
    frozen_ = !j.adapter.base.quantised() ? p.parameters : rest.set() ? rest : j.framework.quantised.upcasts_rest ? formats::fp32 : p.parameters;
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
    if (repeated) rise(first_of_layer_);
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
    const bool apart = o_->vector_moments > 0 && cut && !embedding && columns > 1 && s_->source->sharding.by(sharder::deepspeed);
    const bool plain_kind = o_->vector_moments > 0 && (vector || embedding) && !apart;
    const auto& format = apart && !s_->source->sharding.cuts(sharded_state::weights) ? as.gradient : as.state;
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
    rise(temporary);
    previous_ = temporary;
  }
  constexpr void rise(bytes temporary) {
    if (previous_ + 2 * temporary <= r.loop_temporary) return;
    r.loop_temporary = previous_ + 2 * temporary;
    r.loop_previous = previous_;
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

}  // namespace detail

}  // namespace headroom
