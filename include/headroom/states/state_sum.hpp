// Distributed under the Boost Software License, Version 1.0.
// What one rank keeps of each tensor it is told of, added up: weights, master copies, gradients, optimizer state, and the temporaries of
// their update.
// Sources: DeepSpeed runtime/zero/stage_1_and_2.py, stage3.py; torch distributed/fsdp/_fully_shard/_fsdp_param.py (padding of dimension 0);
// bitsandbytes optim/optimizer.py.
#pragma once

#include <headroom/model/weight.hpp>
#include <headroom/settle/settle.hpp>
#include <headroom/states/held_tensor.hpp>
#include <headroom/states/own_update.hpp>
#include <headroom/states/update_loop.hpp>

namespace headroom {

/// What outlives a step on one rank.
struct state_bytes {
  breakdown gpu{};                 ///< parameters, master_parameters, gradients (whole, once made), optimizer_state, adapters
  bytes paged{};                   ///< optimizer state in managed memory: in host memory, not in the allocator
  bytes trained_copy{};            ///< one copy of this rank's trained tensors in the state's format: a foreach temporary
  bytes adapter_copy{};            ///< of it, adapters in a format of their own, which are updated apart
  bytes loop_temporary{};          ///< temporaries of a tensor-by-tensor Adam: two of the tensor, and the one before's (see walk_step)
  bytes loop_previous{};           ///< of these, the one before's
  bytes largest_trained{};         ///< the largest of them, in that format
  bytes own_update{};              ///< temporaries of an optimizer's own code (optimizer::by_tensor) over all tensors, and over one by itself
  bytes own_update_alone{};
  updated_tensor updated{};        ///< the last tensor that was told of, as that code sees it
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
  parameters largest_to_train{};   ///< the largest tensor that trains
  bytes frozen_extra{};            ///< metadata of quantised weights, where it does not go where they go
  bytes accumulated{};             ///< of buffers in host memory to which micro-batches' gradients are added: accumulated_on_host.hpp
  bytes pinned{};                  ///< of shards in host memory and of their gradients (DeepSpeed: that do not train), each tensor rounded up as the caching host allocator does
};

namespace detail {

/// Adds up the states of one rank.
class state_sum {
 public:
  constexpr explicit state_sum(const settled_job& s) : s_(&s), o_(&s.optimizer) {
    const auto& j = *s.source;
    const auto& p = s.precision;
    weights_ = {row::model_parameters, p.parameters, p.gradients, p.master, o_->state};
    if (j.adapter.active()) {  // gradients and state in its own format, where the recipe has them in the parameters'
      const auto& format = s.layer.adapter_kept == 4 ? formats::fp32 : formats::bf16;
      const auto like = [&](const number_format& f) -> const number_format& { return f.bits == p.parameters.bits ? format : f; };
      side_ = {row::adapters, format, like(p.gradients), format.width() < p.master.width() ? p.master : formats::none, like(o_->state)};
    }
    const bool quantised = j.adapter.base.quantised();
    frozen_ = quantised ? left_by_base(j, p, false) : p.untrained();
    experts_ = quantised ? left_by_base(j, p, true) : frozen_;
    packed_ = j.adapter.base;
    keeps_ = {.granule = s.flat ? 1 : s.layer.granule, .flat = s.flat};
  }

  /// `copies` tensors of rows × columns that do not train.
  constexpr void frozen(const weight& w, std::int64_t copies, bool quantised) {
    if (copies == 0) return;
    const auto here = local(w.rows, w.columns, w.elements(), s_->shards.parameters);
    const bool divides = quantised && s_->source->framework.quantised.divides_statistics;  // scales are cut as the weights are
    const auto weight = divides ? held(here, 1, here, packed_) : held(w.rows, w.columns, here, quantised ? packed_ : w.expert ? experts_ : frozen_);
    r.gpu[row::model_parameters] += copies * weight;
    if (s_->source->offload.parameters != place::on_gpu) [[unlikely]] pin(copies, weight);
    if (quantised && !divides) r.frozen_extra += copies * s_->source->adapter.base.metadata(w.rows, w.columns);
  }

  /// `copies` tensors that train. `adapter`: they count in the report's adapters row.
  constexpr void trained(std::int64_t rows, std::int64_t columns, std::int64_t copies, table_kind table, bool adapter) {
    if (copies == 0) return;
    const auto& as = adapter ? side_ : weights_;
    const auto& d = s_->shards;
    const auto whole = checked::mul(rows, columns);
    const auto weight = held(rows, columns, local(rows, columns, whole, d.parameters), as.weight);
    r.gpu[as.of] += copies * weight;
    if (s_->source->offload.parameters != place::on_gpu && !s_->source->sharding.by(sharder::deepspeed)) [[unlikely]] {  // whose flat buffer has all that train
      pin(copies, weight);
      pin(copies, held(rows, columns, local(rows, columns, whole, d.gradients), as.gradient));
    }
    const parameters all{checked::mul(whole, copies)};
    r.trained += all;
    r.largest_to_train = max(r.largest_to_train, parameters{whole});
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
    state(rows, columns, here, active, table, as);
    if (o_->by_tensor != nullptr) [[unlikely]] update_by_own_code(rows, columns, here, table, as);
    r.trained_here += parameters{checked::mul(here, active)};
    const auto temporary = bytes{checked::mul(here, as.state.bits >= 16 ? as.state.bits / 8 : 4)};
    r.trained_copy += active * keeps_.rounded(temporary);
    if (adapter && apart()) r.adapter_copy += active * keeps_.rounded(temporary);
    const bool matrix = columns > 1;
    const auto together = temporary + waiting_[matrix];
    waiting_[matrix] = joins_next_ ? together : bytes{0};
    if (joins_next_) return;
    r.largest_trained = max(r.largest_trained, together);
    loop_.update(together);
  }

  /// `copies` tensors of an adapter that nothing runs: without a gradient optimizers pass over them (torch optim/optimizer.py, _init_group of each).
  constexpr void idle(std::int64_t rows, std::int64_t columns, std::int64_t copies) {
    r.gpu[row::adapters] += copies * held(rows, columns, checked::mul(rows, columns), side_.weight);
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

  /// The next weight is one of a layer's, or lies outside all. The weights of one layer are updated one after another, then those of the next: where layers
  /// repeat, the last comes before the first.
  constexpr void enter(bool layers, bool repeat) {
    if (layers == in_layers_) return;
    in_layers_ = layers;
    if (layers) {
      loop_.begin_layers();
      first_updated_ = {};
      return;
    }
    loop_.end_layers(repeat);
    if (repeat && first_updated_.elements > 0) own_.run(*o_->by_tensor, first_updated_, keeps_.granule);
  }
  /// All have been told of. ZeRO updates its partition as one vector.
  constexpr void finish() {
    r.loop_temporary = loop_.tallest;
    r.loop_previous = loop_.beside;
    if (o_->by_tensor == nullptr) return;
    if (one_vector()) updated_by_own_code({.rows = r.trained_here.count(), .columns = 1, .elements = r.trained_here.count(), .weight = 4, .gradient = 4, .state = 4});
    r.own_update = own_.tallest();
  }

  state_bytes r{};

 private:
  /// What tensors of a kind are kept in, and the row of the report that the tensors themselves are counted in.
  struct kind {
    row of{};
    stored weight{}, gradient{}, master{}, state{};
  };

  /// A foreach update takes tensors of one format together (torch/utils/_foreach_utils.py).
  [[nodiscard]] constexpr bool apart() const { return side_.weight.bits != weights_.weight.bits && side_.state.bits >= 16; }
  [[nodiscard]] constexpr std::int64_t local(std::int64_t rows, std::int64_t columns, std::int64_t whole, std::int64_t d) const { return keeps_.local(rows, columns, whole, d); }
  [[nodiscard]] constexpr bytes held(std::int64_t rows, std::int64_t columns, std::int64_t here, const stored& f) const { return keeps_.held(rows, columns, here, f); }

  constexpr void pin(std::int64_t copies, bytes one) { r.pinned += copies * bytes{one > bytes{0} ? checked::power_of_two_ceil(one.count()) : 0}; }

  [[gnu::always_inline]] constexpr void state(std::int64_t rows, std::int64_t columns, std::int64_t here, std::int64_t copies, table_kind table,
                                              const kind& as) {
    const bool cut = s_->flat && s_->shards.optimizer > 1;
    const bool vector = columns == 1 || cut, embedding = table != table_kind::none;
    // Muon leaves vectors and embeddings to AdamW. DeepSpeed keeps its matrices in partitions of their own, whose momentum has the
    // gradients' format below stage 3 (runtime/zero/stage_1_and_2.py get_flat_partition, stage3.py _create_momentum_buffer).
    const bool apart = o_->vector_moments > 0 && cut && !embedding && columns > 1 && s_->source->sharding.by(sharder::deepspeed);
    const bool plain_kind = o_->vector_moments > 0 && (vector || embedding) && !apart;
    const auto& format = apart && !s_->source->sharding.cuts(sharded_state::weights) ? as.gradient : as.state;
    const bool compensates = o_->compensates && as.weight.bits == 16 && as.master.bits == 0;
    const auto moments = checked::mul(copies, plain_kind ? o_->vector_moments : o_->moments + compensates);
    if (o_->error_bits > 0 && as.weight.bits == 16 && as.master.bits == 0) r.gpu[row::optimizer_state] += copies * held(here, 1, here, number_format{.bits = o_->error_bits});
    if (moments == 0) return;
    if (o_->extent != state_extent::full && reduced_state(rows, columns, here, vector, embedding, moments, copies, as)) return;
    const bool plain = format.packed != nullptr && (here < o_->plain_below || (table == table_kind::embedding && o_->plain_embedding) ||
                                                    (o_->plain_as_weight && here % o_->state.block != 0));
    const auto all = moments * held(here, 1, here, plain ? (o_->plain_as_weight ? as.weight : stored(formats::fp32)) : format);
    const bool paged = o_->on_host || (o_->paged_from > 0 && here >= o_->paged_from);
    (paged ? r.paged : r.gpu[row::optimizer_state]) += all;
  }
  /// State that is smaller than the tensor; false where this one has full().
  constexpr bool reduced_state(std::int64_t rows, std::int64_t columns, std::int64_t here, bool vector, bool table, std::int64_t moments, std::int64_t copies,
                               const kind& as) {
    auto& sum = r.gpu[row::optimizer_state];
    const auto& format = as.state;
    if (!vector) {  // tensors that are one count together, with the last
      rows += joined_rows_, here += joined_here_;
      joined_rows_ = joins_next_ ? rows : 0, joined_here_ = joins_next_ ? here : 0;
      if (joins_next_) return true;
    }
    if (o_->extent == state_extent::rows) {  // a vector has one number
      const auto n = vector ? 1 : rows;
      sum += moments * held(n, 1, n, format) + copies * (o_->whole_moments * held(here, 1, here, format));
      return true;
    }
    const bool projected = projects(rows, columns, table);
    if (vector || (!projected && !o_->factors)) return false;
    if (o_->extent == state_extent::preconditioned) {
      const auto side = [&](std::int64_t n) { return n > o_->most_side ? bytes{0} : held(n, n, checked::mul(n, n), stored(formats::fp32)); };
      sum += moments * held(here, 1, here, format) + copies * (o_->side_matrices * (side(rows) + side(columns)));
      return true;
    }
    if (o_->extent == state_extent::factored || !projected) {
      sum += moments * (held(rows, 1, rows, format) + held(columns, 1, columns, format)) + copies * (o_->whole_moments * held(here, 1, here, format));
      return true;
    }
    const auto shorter = rows < columns ? rows : columns, longer = rows < columns ? columns : rows;
    const auto low = checked::mul(o_->rank, longer);
    sum += moments * (o_->factors ? held(longer, 1, longer, format) + held(o_->rank, 1, o_->rank, format) : held(low, 1, low, low < o_->plain_below ? stored(formats::fp32) : format));
    const bool in_fp32 = as.gradient.bits == 32 || as.master.bits == 32 || o_->factors;
    const auto& kept = format.packed == nullptr ? format : as.master.bits > 0 ? as.master : as.gradient;
    const auto vectors = checked::mul(o_->keeps_singular_vectors && in_fp32 ? shorter : o_->rank, shorter);
    if (o_->stores_projector) sum += copies * held(vectors, 1, vectors, kept);
    return true;
  }
  /// Whether a matrix has a reduced state: of low rank only where it is a linear layer's, which has a higher one.
  [[nodiscard]] constexpr bool projects(std::int64_t rows, std::int64_t columns, bool table) const {
    return o_->extent != state_extent::low_rank || (!table && o_->rank < (rows < columns ? rows : columns));
  }

  /// ZeRO's flat partition is one tensor to its optimizer.
  [[nodiscard]] constexpr bool one_vector() const { return s_->flat && s_->shards.optimizer > 1 && s_->source->sharding.by(sharder::deepspeed); }
  constexpr void update_by_own_code(std::int64_t rows, std::int64_t columns, std::int64_t here, table_kind table, const kind& as) {
    const bool matrix = columns > 1;
    waiting_rows_[matrix] += rows;
    waiting_elements_[matrix] += here;
    if (joins_next_ || one_vector()) return;
    const bool master = as.master.bits > 0;
    const auto width = [](std::int64_t bits) { return static_cast<std::int8_t>(bits >= 16 ? bits / 8 : 4); };
    updated_by_own_code({.rows = waiting_rows_[matrix], .columns = columns, .elements = waiting_elements_[matrix], .rank = o_->rank, .most_side = o_->most_side,
                         .weight = width(master ? as.master.bits : as.weight.bits), .gradient = width(master ? as.master.bits : as.gradient.bits), .state = width(as.state.bits),
                         .as_matrix = matrix && !(s_->flat && s_->shards.optimizer > 1) &&
                                      (o_->vector_moments > 0 ? table == table_kind::none : o_->extent != state_extent::full && projects(rows, columns, table != table_kind::none))});
    waiting_rows_[matrix] = waiting_elements_[matrix] = 0;
  }
  constexpr void updated_by_own_code(const updated_tensor& t) {
    if (in_layers_ && first_updated_.elements == 0) first_updated_ = t;
    own_.run(*o_->by_tensor, t, keeps_.granule);
    update_sum alone;
    alone.run(*o_->by_tensor, t, keeps_.granule);
    r.own_update_alone = max(r.own_update_alone, alone.tallest());
    r.updated = t;
  }

  const settled_job* s_;
  const optimizer* o_;
  kind weights_{}, side_{};    ///< the model's, and adapters
  update_sum own_{};           ///< of the optimizer's own code
  updated_tensor first_updated_{};
  std::array<std::int64_t, 2> waiting_rows_{}, waiting_elements_{};  ///< vectors, matrices
  std::int64_t joined_rows_{}, joined_here_{};  ///< of a matrix whose rest comes next
  stored frozen_{}, experts_{}, packed_{}; ///< weights that do not train: plain, of experts, and quantised
  tensor_keeping keeps_{};
  update_loop loop_{};
  std::array<bytes, 2> waiting_{};  ///< vectors, matrices
  bool joins_next_{};
  bool in_layers_{};
};

}  // namespace detail

}  // namespace headroom
