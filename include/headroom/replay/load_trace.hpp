// Distributed under the Boost Software License, Version 1.0.
// A trainer's start written out, allocation by allocation: parameters as they are moved, shards as they are cut, and what else stays.
#pragma once

#include <headroom/engine/eager/step_parts.hpp>
#include <headroom/replay/wrap_trace.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

namespace headroom {

/// A tensor to make.
struct sized_row {
  bytes size{};
  row of{};
};

/// What a start leaves for the steps to do.
struct loaded_model {
  std::vector<sized_row> states;              ///< master copies and moments that the first update makes
  std::array<std::vector<bytes>, 2> updates;  ///< tensors of an update: of weights, and of adapters in another format
  std::vector<updated_tensor> updated;        ///< the same as an optimizer's own code sees them
};

/// Loading, and what outlives a step, allocation by allocation.
class load_trace {
 public:
  load_trace(const settled_job& s, const state_bytes& st, const windows& w, tensor_memory& m, caching_allocator& a)
      : job_(&s), states_(&st), windows_(&w), memory_(m), allocator_(&a), wraps_(wraps_on_gpu(s)) {
    const auto& j = *s.source;
    here_ = place_of_parameters(j) == place::on_gpu;
    states_here_ = j.offload.optimizer == place::on_gpu && here_;
    vectors_ = s.flat && !j.sharding.gathers_units();
    partitions_ = vectors_ && j.sharding.cuts(sharded_state::weights);
  }

  loaded_model run(const inventory& list, const moment& resident) {
    if (wraps_) {
      if (job_->layer.base.quantised()) detail::quantise_weights(memory_, *allocator_, *job_, list);
      detail::wrap_units(memory_, *job_, list);
    }
    load(list, resident);
    return std::move(left_);
  }

 private:
  using handle = tensor_memory::handle;

  /// Parameters tensor by tensor, as they are moved; what else stays.
  void load(const inventory& list, const moment& resident) {
    const auto& s = *job_;
    const auto& j = *s.source;
    if (partitions_) partition_weights(list);
    auto whole = whole_weights(list);
    const auto outside = trained_modules(j, -1);
    std::size_t first = 0;
    bool in_layers = false;
    const bool by_weight = !whole.empty();
    for (auto w : list) {
      if (const bool here = w.layers.count > 0; here != in_layers) {  // one layer's update comes after another's
        place_runs();
        if (in_layers && s.model.layers > 1 && first < left_.updated.size()) left_.updated.push_back(updated_tensor{left_.updated[first]});
        first = left_.updated.size();
        in_layers = here;
      }
      if (j.framework.modules.dtensor()) w = detail::divided(w, j.parallel.tensor);
      at_ = in_layers && !by_weight ? w.layers : once;
      load_weight(detail::joined(w, s), outside);
      if (!in_layers || by_weight) place_runs();
      for (std::int64_t i = 0; i < w.copies() && !whole.empty(); ++i) {
        memory_.free(whole.front());
        whole.pop_front();
      }
    }
    place_runs();
    at_ = once;
    if (adapts_tied_head(s)) load_adapters(detail::tied_head(s), 1);
    place_runs();
    if (vectors_) load_vectors();
    load_the_rest(resident);
  }

  /// The whole model where it is on each GPU before it is divided, tensor by tensor.
  std::deque<handle> whole_weights(const inventory& list) {
    std::deque<handle> made;
    const auto& s = *job_;
    if (!s.source->framework.loading.whole_on_gpu || s.shards.parameters <= 1) return made;
    for (const auto& w : list)
      for (std::int64_t i = 0; i < w.copies(); ++i) made.push_back(memory_.make(bytes{checked::mul(w.elements(), s.precision.parameters.width())}, row::gathered_parameters));
    return made;
  }

  /// All copies of a weight, and its adapters.
  void load_weight(const weight& w, const module_set& outside) {
    const auto& s = *job_;
    const auto& j = *s.source;
    const auto all = w.copies(), train = detail::trained_copies(j, outside, w, all);
    const bool linear = w.linear && !w.vector();
    const auto frozen = [&](bool quantised, std::int64_t copies) {
      detail::state_sum sum(s);
      sum.frozen(w, 1, quantised);
      add(sum.r, copies, 0);
    };
    if (train > 0) load_trained(w.rows, w.columns, detail::table_of(w.role), false, train);
    if (all > train) frozen(linear && s.layer.quantised.has(w.role), all - train);
    if (j.adapter.active() && j.adapter.modules_to_save.has(w.role) && train > 0 && !(w.role == module::head && copies_tied_head(s))) frozen(false, train);
    if (const auto beside = linear ? s.layer.side->beside(w, all) : 0; beside > 0) load_adapters(w, beside);
  }

  void load_trained(std::int64_t rows, std::int64_t columns, detail::table_kind table, bool adapter, std::int64_t copies) {
    detail::state_sum sum(*job_);
    sum.trained(rows, columns, 1, table, adapter);
    add(sum.r, copies, std::int64_t{job_->optimizer.moments});
  }

  /// Adapters beside each copy of a weight.
  void load_adapters(const weight& w, std::int64_t copies) {
    detail::for_each_adapter(*job_, w, [&](std::int64_t rows, std::int64_t columns) { load_trained(rows, columns, detail::table_kind::none, true, copies); });
  }

  /// Copies of a tensor, each with its states.
  void add(const state_bytes& one, std::int64_t copies, std::int64_t moments) {
    runs_.push_back({one, at_, copies, moments});
    const bool flat = vectors_ && one.trained_copy > bytes{0};
    if (one.updated.elements > 0 && copies > 0 && !flat && !partitions_) left_.updated.push_back(one.updated);  // the others are like it
  }

  /// Places what add() was given, layer by layer, as modules are moved and checkpoints read.
  void place_runs() {
    std::int64_t end = 0;
    for (const auto& r : runs_) end = std::max(end, r.layers.at(r.layers.count - 1) + 1);
    for (std::int64_t at = 0; at < end; ++at)
      for (const auto& r : runs_) {
        const auto copies_below = [&](std::int64_t layer) { return checked::mul(r.layers.below(layer), r.copies) / r.layers.count; };
        for (auto i = copies_below(at); i < copies_below(at + 1); ++i) place_one(r.one, r.moments);
      }
    runs_.clear();
  }

  void place_one(const state_bytes& one, std::int64_t moments) {
    if (vectors_ && one.trained_copy > bytes{0}) {
      flat_ += one.gpu[row::model_parameters] + one.gpu[row::adapters];
      return;
    }
    if (partitions_) return;
    if (!wraps_ && here_) {
      keep(one.gpu[row::model_parameters] - one.frozen_extra, row::model_parameters);
      keep(one.gpu[row::adapters], row::adapters);
    }
    if (!wraps_) keep(one.frozen_extra, row::model_parameters);  // scales of a quantised weight
    if (one.gpu[row::master_parameters] > bytes{0} && states_here_) left_.states.push_back({one.gpu[row::master_parameters], row::master_parameters});
    for (std::int64_t k = 0; k < moments && states_here_; ++k)
      if (const auto b = ceil_div(one.gpu[row::optimizer_state], moments); b > bytes{0}) left_.states.push_back({b, row::optimizer_state});
    if (one.trained_copy > bytes{0})
      left_.updates[one.adapter_copy > bytes{0} ? 1 : 0].push_back(job_->optimizer.how == implementation::loop ? one.largest_trained : one.trained_copy);
  }

  /// A sharded optimizer's states are flat vectors, made before the first step.
  void load_vectors() {
    keep(flat_, row::model_parameters);
    left_.updates[0].assign(1, states_->trained_copy);
    left_.updated.assign(states_->updated.elements > 0 ? 1 : 0, states_->updated);
    const auto& gpu = states_->gpu;
    if (!states_here_) return;
    keep(gpu[row::master_parameters], row::master_parameters);
    auto zeros = memory_.make(windows_->wide_gradients, row::temporaries);  // initialize_optimizer_states runs a step on them
    const auto moments = job_->optimizer.moments;
    for (std::int64_t k = 0; k < moments; ++k) keep(ceil_div(gpu[row::optimizer_state], moments), row::optimizer_state);
    memory_.free(zeros);
  }

  void load_the_rest(const moment& resident) {
    const auto& s = *job_;
    const auto handles = s.source->framework.process.cublas_handles;
    const auto workspace = resident.rows[row::workspace];
    if (handles > 0) keep(ceil_div(workspace, handles), row::workspace);
    for (std::int32_t i = 1; i < handles; ++i) memory_.make_in_backward(ceil_div(workspace, handles), row::workspace);
    const bool wrapped_tables = wraps_ && s.source->framework.rotary.tables == rope_tables::in_each_layer;
    keep(resident.rows[row::activations] - (wrapped_tables ? s.model.layers * rotary_caches(s) : bytes{0}), row::activations);
    keep(resident.rows[row::communication_buffers], row::communication_buffers);
    keep(resident.rows[row::gathered_parameters], row::gathered_parameters);
    if (partitions_) {  // as large as the pool ever gets
      auto pool = memory_.make(windows_->gather_pool, row::gathered_parameters, stream::gather);
      memory_.free(pool);
    }
    if (windows_->gradients_at_load) keep(windows_->gradients_before.total, row::gradients);
  }

  /// deepspeed.zero.Init (runtime/zero/partition_parameters.py): each weight is made whole, in torch's default format, cast, and cut; the
  /// shard finds a place among what the weights before have left. Shards that train are joined later on, and the others stay where they are.
  void partition_weights(const inventory& list) {
    const auto& s = *job_;
    const auto outside = trained_modules(*s.source, -1);
    std::vector<handle> leave;
    const auto cut = [&](const weight& w, std::int64_t rows, bool trains) {
      const auto n = checked::mul(rows, w.columns);
      auto made = memory_.make(bytes{checked::mul(n, 4)}, row::model_parameters);
      auto whole = memory_.make(detail::share(parameters{n}, s.precision.parameters.width()), row::gathered_parameters);
      memory_.free(made);
      const bool packed = w.linear && !w.vector() && s.layer.quantised.has(w.role);
      const auto stays = bytes{checked::ceil_div(checked::mul(n, packed ? s.layer.base.bits : s.precision.parameters.bits), 8)};
      const auto shard = memory_.make(ceil_div(stays, s.shards.parameters), row::model_parameters);
      memory_.free(whole);
      if (trains) leave.push_back(shard);
    };
    const auto fused = [&](const weight& w) { return s.model.fused_qkv && w.linear && !w.vector() && (w.role == module::q_proj || w.role == module::k_proj || w.role == module::v_proj); };
    const auto one = [&](const weight& w, std::int64_t copies) {
      if (fused(w) && w.role != module::q_proj) return;
      const auto all = w.copies(), train = detail::trained_copies(*s.source, outside, w, all);
      for (std::int64_t i = 0; i < copies; ++i) cut(w, fused(w) ? w.rows + 2 * s.model.kv_width() : w.rows, train == all);
    };
    for (const auto& w : list)
      if (w.layers.count == 0 && w.role != module::head) one(w, w.copies());
    for (std::int64_t at = 0; at < s.model.layers; ++at)
      for (const auto& w : list)
        if (w.layers.has(at)) one(w, w.per_layer);
    for (const auto& w : list)
      if (w.layers.count == 0 && w.role == module::head) one(w, w.copies());
    for (auto& h : leave) memory_.free(h);
    allocator_->empty_cache();
  }

  void keep(bytes b, row of) { memory_.make(b, of); }

  const settled_job* job_;
  const state_bytes* states_;
  const windows* windows_;
  tensor_memory& memory_;
  caching_allocator* allocator_;
  bool wraps_, here_, states_here_;  ///< FSDP1's units are loaded on the GPU; parameters lie there; states do
  bool vectors_, partitions_;        ///< what trains lies in vectors, whole or cut
  struct run_of_copies {
    state_bytes one{};
    layer_span layers{};
    std::int64_t copies{}, moments{};
  };
  static constexpr layer_span once{0, 1, 1};
  layer_span at_ = once;             ///< the layers that have what is loaded
  std::vector<run_of_copies> runs_;  ///< not placed yet
  bytes flat_{0};                    ///< DeepSpeed joins what trains in one vector
  loaded_model left_;
};

}  // namespace headroom
