// Distributed under the Boost Software License, Version 1.0.
// Host memory and NVMe of a node: what is offloaded, what is pinned, and what loading takes.
// Sources: DeepSpeed runtime/zero/stage_1_and_2.py, stage3.py, runtime/swap_tensor; torch ATen/core/CachingHostAllocator.h
// (each pinned allocation is rounded up to a power of two).
#pragma once

#include <headroom/sharding/windows.hpp>

namespace headroom {

/// What a rank has in host memory and on NVMe.
struct host_bytes {
  bytes pinned{};    ///< of one rank, rounding included
  bytes plain{};     ///< of one rank, pageable
  bytes load{};      ///< of one rank, while the model is loaded and sharded
  bytes nvme{};      ///< of one rank
};

/// `ranks` more that have each what `more` says.
constexpr void add_host(host_bytes& h, const host_bytes& more, std::int64_t ranks = 1) {
  h.pinned += ranks * more.pinned;
  h.plain += ranks * more.plain;
  h.load += ranks * more.load;
  h.nvme += ranks * more.nvme;
}

/// Nodes of `gpus` ranks each, of which it is told in their order: pipeline stages are outermost, so a node has ranks in a row, of one stage or of several.
class node_hosts {
 public:
  constexpr explicit node_hosts(std::int64_t gpus) : gpus_(gpus), left_(gpus) {}
  /// The next `ranks` have `each`.
  constexpr void add(std::int64_t ranks, const host_bytes& each) {
    while (ranks > 0) {
      if (left_ == gpus_ && ranks > gpus_) ranks = gpus_ + ranks % gpus_;  // nodes that are alike
      const auto here = ranks < left_ ? ranks : left_;
      add_host(node_, each, here);
      ranks -= here;
      left_ -= here;
      if (left_ > 0) return;
      const auto nvme = max(node_.nvme, most_.nvme);
      if (tallest(most_) < tallest(node_)) most_ = node_;
      most_.nvme = nvme;
      node_ = {};
      left_ = gpus_;
    }
  }
  /// All that the ranks of the fullest node have there.
  [[nodiscard]] constexpr const host_bytes& most() const { return most_; }

 private:
  static constexpr bytes tallest(const host_bytes& h) { return max(h.pinned + h.plain, h.load); }
  std::int64_t gpus_, left_;
  host_bytes node_{}, most_{};
};

namespace detail {

/// A pinned allocation as the caching host allocator makes it; DeepSpeed and FSDP allocate each flat buffer separately.
constexpr bytes pinned(bytes b) { return b == bytes{0} ? b : bytes{checked::power_of_two_ceil(b.count())}; }

constexpr void pin(host_bytes& h, bytes b, bool pins) {
  if (pins)
    h.pinned += pinned(b);
  else
    h.plain += b;
}

constexpr void offload_zero(host_bytes& h, const settled_job& s, const state_bytes& st) {
  const auto& j = *s.source;
  const auto& p = s.precision;
  const auto& o = j.offload;
  const auto z = zero_sizes_of(j.sharding);
  const auto d = s.shards.optimizer;
  const auto master = share(st.trained, 4, d);
  const auto gradients = share(st.trained, 4, d);
  const auto low = share(st.trained, p.parameters.width(), d);
  const auto moments = share(st.trained, 4 * s.optimizer.moments, d);
  if (o.optimizer == place::on_cpu) {
    h.plain += moments;
    if (!j.sharding.cuts(sharded_state::weights)) {
      pin(h, master, o.pin_memory);
      pin(h, gradients, o.pin_memory);
      pin(h, low, o.pin_memory);
      (o.pin_memory ? h.pinned : h.plain) += st.accumulated;
      pin(h, share(st.largest_to_train, p.parameters.width()), o.pin_memory);  // temp_grad_buffer_for_cpu_offload
    } else {
      h.plain += master;  // an unpinned clone
      // Gradients in fp32 by sub-group, and the flat buffer in the gradients' format.
      auto rest = checked::ceil_div(st.trained.count(), d);
      const auto group = z.sub_group > 0 ? smaller(z.sub_group, rest) : rest;
      if (group > 0) {
        const auto groups = rest / group;
        if (o.pin_memory)
          h.pinned += groups * pinned(share(parameters{group}, 4)) + pinned(share(parameters{rest - groups * group}, 4));
        else
          h.plain += share(parameters{rest}, 4);
      }
      pin(h, share(st.trained, p.gradients.width(), d), o.pin_memory);
    }
  } else if (o.optimizer == place::on_nvme) {
    const std::int64_t buffers = o.optimizer_buffer_count >= 0 ? o.optimizer_buffer_count : 4;
    const auto group = smaller(z.sub_group > 0 ? z.sub_group : st.trained.count(), checked::ceil_div(st.trained.count(), d));
    h.plain += buffers * share(parameters{group}, 4);  // locked by the aio handle, not by the caching allocator
    h.nvme += master + moments + gradients;
    pin(h, share(st.trained, p.gradients.width(), d), o.pin_memory);
  }
  const auto parameters_at = place_of_parameters(j);
  if (parameters_at == place::on_cpu) {
    // What trains moves into one flat buffer; the rest stays in the partitions that zero.Init made, tensor by tensor (stage3.py
    // _create_param_groups_fp16_flat_cpu_memory, of the trainable groups; partition_parameters.py _partition_param).
    const auto frozen = st.total + st.adapters - st.trained;
    h.pinned += pinned(share(st.trained, p.parameters.width(), s.shards.parameters)) + (o.pin_memory ? st.pinned : bytes{0});
    if (!o.pin_memory) h.plain += share(frozen, p.parameters.width(), s.shards.parameters);
    if (s.shards.secondary > 1) h.pinned += pinned(share(st.total, p.parameters.width(), s.shards.secondary));
  } else if (parameters_at == place::on_nvme) {
    const std::int64_t count = o.parameter_buffer_count >= 0 ? o.parameter_buffer_count : 5;
    const std::int64_t size = o.parameter_buffer_size >= 0 ? o.parameter_buffer_size : 100'000'000;
    h.plain += bytes{checked::mul(count, size, p.parameters.width())};
    h.plain += share(parameters{o.max_in_cpu >= 0 ? smaller(o.max_in_cpu, st.total.count()) : smaller(1'000'000'000, st.total.count())}, p.parameters.width());
    h.nvme += share(st.total, p.parameters.width(), s.shards.parameters);
  }
}

/// FSDP's CPUOffload(Policy): shards, their gradients and the optimizer state live on the host.
constexpr void offload_fsdp(host_bytes& h, const settled_job& s, const state_bytes& st) {
  const auto& o = s.source->offload;
  if (o.parameters == place::on_gpu && o.optimizer == place::on_gpu) return;
  const auto d = s.shards.parameters;
  const auto shards = st.gpu[row::model_parameters] + st.gpu[row::adapters] - st.frozen_extra;
  if (o.pin_memory && s.flat && s.source->sharding.fully_sharded()) {
    // Unit by unit, and as much for each one's gradient, whether it trains or not (_flat_param.py init_flat_param_attributes).
    const auto unit = ceil_div(share(st.unit - st.packed, s.precision.parameters.width()) + packed_unit(s, st), d);
    h.pinned += 2 * (s.model.layers * pinned(unit) + pinned(shards - s.model.layers * unit));
  } else if (o.pin_memory && !s.flat && o.parameters != place::on_gpu) {
    // Tensor by tensor, and what is reduced is copied into pinned memory, too (_fsdp_param.py _init_sharded_param, _fsdp_collectives.py foreach_reduce,
    // with non_blocking: ATen native/TensorConversions.cpp _to_copy).
    h.pinned += st.pinned;
  } else {
    pin(h, shards, o.pin_memory);
    pin(h, share(st.trained, s.precision.gradients.width(), d), o.pin_memory);
  }
  h.plain += share(st.trained, s.optimizer.state.width() * s.optimizer.moments, d);
}

}  // namespace detail

/// Host memory of one rank.
constexpr host_bytes host_of(const settled_job& s, const state_bytes& st, bytes checkpoints) {
  const auto& j = *s.source;
  host_bytes h;
  if (j.sharding.by(sharder::deepspeed))
    detail::offload_zero(h, s, st);
  else if (j.sharding.gathers_units())
    detail::offload_fsdp(h, s, st);
  else if (j.offload.optimizer != place::on_gpu && !j.framework.modules.megatron())  // whose stages tell theirs
    detail::pin(h, st.gpu[row::optimizer_state], j.offload.pin_memory);
  // Megatron moves activations into tensors that are pinned one by one; their rounding is left out.
  (j.framework.modules.megatron() ? h.pinned : h.plain) += checkpoints;
  h.plain += st.paged;
  if (j.framework.loading.on_host) {
    const auto& f = j.framework.loading.format.set() ? j.framework.loading.format : s.precision.untrained();
    // Every rank of NeMo-RL's reads the checkpoint as it is, in 16 bits (NVIDIA-NeMo/Automodel 24b47e85 nemo_automodel/components/checkpoint/checkpointing.py load_model).
    h.load = detail::share(st.total, j.objective.code == method_code::nemo_rl && j.sharding.gathers_units() ? s.precision.compute.width() : f.width());
    // verl's first rank of those that share shards alone reads an untied model, the others have no weights before FSDP hands them on (verl/utils/fsdp_utils.py
    // get_init_weight_context_manager); of a node's ranks each has its part of these copies here.
    if (j.objective.code == method_code::verl && j.sharding.gathers_units() && !s.model.tied) {
      const auto here = j.hardware.gpus_per_node, sharing = j.hardware.gpus() / j.parallel.replicate;
      h.load = ceil_div(h.load * (sharing < here ? here / sharing : 1), here);
    }
    if (j.sharding.loads_once) h.load = ceil_div(h.load, j.hardware.gpus_per_node);  // each rank's part of its node's one copy
    // Under zero.Init the model is partitioned as it is built, and the checkpoint is read file by file (save_pretrained cuts
    // files of at most 5 GB).
    if (j.sharding.by(sharder::deepspeed) && j.sharding.cuts(sharded_state::weights)) h.load = min(h.load, bytes{5'000'000'000});
  }
  return h;
}

}  // namespace headroom
