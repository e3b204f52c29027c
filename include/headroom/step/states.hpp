// Distributed under the Boost Software License, Version 1.0.
// What outlives a step on one GPU: parameters, master copies, gradients, optimizer state, adapters. Exact: read off the
// inventory tensor by tensor, for any model that can be counted.
// Sources: Rajbhandari et al. 2020 (ZeRO), section 3 and 5; DeepSpeed runtime/zero/stage_1_and_2.py, stage3.py; torch
// distributed/fsdp/_fully_shard/_fsdp_param.py (padding of dimension 0); bitsandbytes optim/optimizer.py.
#pragma once

#include <headroom/model/inventory.hpp>
#include <headroom/step/settle.hpp>

namespace headroom {

struct state_bytes {
  breakdown gpu{};                 ///< parameters, master_parameters, gradients (whole, once made), optimizer_state, adapters
  bytes paged{};                   ///< optimizer state in managed memory: in host memory, not in the allocator
  bytes trained_copy{};            ///< one copy of this rank's trained tensors in the state's format: a foreach temporary
  bytes loop_temporary{};          ///< temporaries of a tensor-by-tensor Adam: two of the tensor, and the one before's (see walk_step)
  bytes largest_trained{};         ///< the largest of them, in that format
  parameters trained{};            ///< of the whole model, adapters included
  parameters trained_here{};       ///< of this rank's shard
  parameters adapters{};
  parameters total{};              ///< base model, without adapters
  parameters unit{};               ///< one layer
  parameters root{};               ///< what lies outside the layers
  parameters small{};              ///< weights of at most `persistence threshold` elements (ZeRO stage 3 keeps them)
  parameters largest{};            ///< the largest weight tensor
  bytes frozen_extra{};            ///< metadata of quantised weights
};

namespace detail {

/// Adds up the states of one rank.
class state_sum {
 public:
  constexpr explicit state_sum(const settled_job& s) : s_(&s), o_(&s.optimizer) {}

  /// `copies` tensors of rows × columns that do not train.
  constexpr void frozen(const weight& w, std::int64_t copies, bool quantised) {
    if (copies == 0) return;
    const auto& j = *s_->source;
    number_format f = quantised ? j.adapter.base : s_->precision.parameters;
    if (!quantised && j.framework.upcasts_frozen && j.adapter.base.quantised()) f = formats::fp32;
    r.gpu[row::model_parameters] += copies * held(w.rows, w.columns, f, s_->shards.parameters);
    if (quantised) r.frozen_extra += copies * f.metadata(w.rows, w.columns);
  }

  /// `copies` tensors that train. `adapter`: they count in the report's adapters row.
  constexpr void trained(std::int64_t rows, std::int64_t columns, std::int64_t copies, bool embedding, bool adapter) {
    if (copies == 0) return;
    const auto& p = s_->precision;
    const auto n = checked::mul(rows, columns);
    const bool wide_adapter = adapter && s_->layer.adapter_width > p.parameters.width();
    const number_format weight_format = !adapter ? p.parameters : (s_->layer.adapter_width == 4 ? formats::fp32 : formats::bf16);
    const number_format gradient_format = wide_adapter ? weight_format : p.gradients;
    r.gpu[adapter ? row::adapters : row::model_parameters] += copies * held(rows, columns, weight_format, s_->shards.parameters);
    r.trained += parameters{checked::mul(n, copies)};
    if (adapter) r.adapters += parameters{checked::mul(n, copies)};

    auto active = copies;
    if (o_->blocks > 1) active = checked::ceil_div(copies, o_->blocks);  // BAdam: the others have no gradient and no state
    if (!o_->in_backward) r.gpu[row::gradients] += active * held(rows, columns, gradient_format, s_->shards.gradients);
    if (p.master.present() && !(adapter && weight_format.width() >= p.master.width()))
      r.gpu[row::master_parameters] += active * held(rows, columns, p.master, s_->shards.optimizer);
    const bool wide_state = wide_adapter && o_->state.bits == p.parameters.bits;
    state(rows, columns, active, embedding, wide_state ? weight_format : o_->state);
    const auto here = local(rows, columns, s_->shards.optimizer);
    r.trained_here += parameters{checked::mul(here, active)};
    const auto temporary = bytes{checked::mul(here, o_->state.bits >= 16 ? o_->state.width() : 4)};
    r.trained_copy += active * rounded(temporary);
    r.largest_trained = max(r.largest_trained, temporary);
    update(temporary);
  }

  /// The weights of one layer are updated one after another, then those of the next: the last comes before the first.
  constexpr void begin_layers() { first_of_layer_ = bytes{0}; in_layers_ = true; }
  constexpr void end_layers(bool repeated) {
    if (repeated) r.loop_temporary = max(r.loop_temporary, previous_ + 2 * first_of_layer_);
    in_layers_ = false;
  }

  state_bytes r{};

 private:
  /// Elements of a tensor that one of d ranks holds: dimension 0 padded (FSDP2), or the flat vector (ZeRO, FSDP1).
  [[nodiscard]] constexpr std::int64_t local(std::int64_t rows, std::int64_t columns, std::int64_t d) const {
    if (d == 1) return checked::mul(rows, columns);
    if (s_->flat) return checked::ceil_div(checked::mul(rows, columns), d);
    return checked::mul(checked::ceil_div(rows, d), columns);
  }
  [[nodiscard]] constexpr bytes rounded(bytes b) const {
    const auto g = s_->layer.granule;
    return s_->flat ? b : bytes{checked::add(b.value, g - 1) & ~(g - 1)};
  }
  [[nodiscard]] constexpr bytes held(std::int64_t rows, std::int64_t columns, const number_format& f, std::int64_t d) const {
    if (d == 1) return f.quantised() ? rounded(f.storage(rows, columns)) : rounded(bytes{checked::ceil_div(checked::mul(checked::mul(rows, columns), f.bits), 8)});
    // Quantisation metadata is not divided: every rank keeps the scales of the whole tensor.
    const auto share = bytes{checked::ceil_div(checked::mul(local(rows, columns, d), f.bits), 8)};
    return rounded(share + f.metadata(rows, columns));
  }

  constexpr void state(std::int64_t rows, std::int64_t columns, std::int64_t copies, bool embedding, const number_format& format) {
    const auto d = s_->shards.optimizer;
    const bool vector = columns == 1 || (d > 1 && s_->flat);
    const bool plain_kind = o_->vector_moments > 0 && (vector || embedding);  // Muon leaves these to AdamW
    const std::int64_t moments = plain_kind ? o_->vector_moments : o_->moments;
    if (moments == 0) return;
    if (!vector && o_->extent == state_extent::factored) {
      r.gpu[row::optimizer_state] += checked::mul(copies, moments) * (rounded(format.storage(rows)) + rounded(format.storage(columns)));
      return;
    }
    if (!vector && o_->extent == state_extent::low_rank && o_->rank < (rows < columns ? rows : columns)) {
      const auto longer = rows < columns ? columns : rows;
      const auto shorter = rows < columns ? rows : columns;
      r.gpu[row::optimizer_state] += checked::mul(copies, moments) * rounded(format.storage(o_->rank, longer));
      if (o_->stores_projector) r.gpu[row::optimizer_state] += copies * rounded(format.storage(o_->rank, shorter));
      return;
    }
    const auto n = local(rows, columns, d);
    const bool plain = format.quantised() && (n < o_->plain_below || (embedding && o_->plain_embedding));
    const auto one = rounded((plain ? formats::fp32 : format).storage(n));
    if (o_->paged_from > 0 && n >= o_->paged_from)
      r.paged += checked::mul(copies, moments) * one;
    else
      r.gpu[row::optimizer_state] += checked::mul(copies, moments) * one;
  }

  /// torch/optim/adamw.py _single_tensor_adamw: sqrt, then its quotient, while Python still names the previous tensor's.
  constexpr void update(bytes temporary) {
    if (in_layers_ && first_of_layer_ == bytes{0}) first_of_layer_ = temporary;
    r.loop_temporary = max(r.loop_temporary, previous_ + 2 * temporary);
    previous_ = temporary;
  }

  const settled_job* s_;
  const optimizer* o_;
  bytes previous_{}, first_of_layer_{};
  bool in_layers_{};
};

/// How many of a weight's copies train.
constexpr std::int64_t trained_copies(const job& j, const weight& w) {
  if (w.frozen) return 0;
  if (j.trainable.all()) return trained_modules(j, -1).has(w.role) ? w.copies() : 0;
  if (w.layers.count == 0) return trained_modules(j, -1).has(w.role) ? w.copies() : 0;
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

}  // namespace detail

/// States of one rank of a settled job. `list` is the inventory of its model.
constexpr state_bytes states(const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  detail::state_sum sum(s);
  const auto threshold = j.sharding.stage3_param_persistence_threshold >= 0 ? j.sharding.stage3_param_persistence_threshold : 100'000;
  bool in_layers = false;
  for (const auto& w : list) {
    if ((w.layers.count > 0) != in_layers) {
      if (in_layers)
        sum.end_layers(s.model.layers > 1);
      else
        sum.begin_layers();
      in_layers = !in_layers;
    }
    const auto all = w.copies();
    const auto train = detail::trained_copies(j, w);
    const bool linear = w.linear && !w.vector();
    sum.trained(w.rows, w.columns, train, w.role == module::embedding || w.role == module::head, false);
    sum.frozen(w, all - train, linear && s.layer.quantised.has(w.role));
    if (linear && s.layer.adapts(w.role)) {
      sum.trained(j.adapter.rank, w.columns, all, false, true);
      sum.trained(w.rows, j.adapter.rank, all, false, true);
      if (j.adapter.kind == adapter_kind::dora) sum.trained(w.rows, 1, all, false, true);
    }
    auto& r = sum.r;
    const parameters one{w.elements()};
    r.total += w.total();
    if (w.layers.count > 0)
      r.unit += one * w.per_layer;
    else
      r.root += w.total();
    if (one.count() <= threshold) r.small += w.total();
    r.largest = max(r.largest, one);
  }
  return sum.r;
}

/// States of one rank of a job, for every model that can be counted (mixture of experts, encoders and towers included).
/// Errors: job_error for a job that contradicts itself.
constexpr state_bytes states(const job& j) {
  const auto s = settle(j);
  return states(s, weights_of(s.model));
}

}  // namespace headroom
