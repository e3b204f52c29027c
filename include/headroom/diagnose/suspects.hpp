// Distributed under the Boost Software License, Version 1.0.
// The tensors of a job that an out-of-memory message may speak of: what the walk allocates, one by one, with its size.
#pragma once

#include <headroom/block/layer.hpp>
#include <headroom/block/megatron_experts.hpp>
#include <headroom/block/megatron_layer.hpp>
#include <headroom/engine/eager/step_parts.hpp>
#include <headroom/engine/tensor_parallel/stages.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// A tensor that may be the one that asked for too much.
struct suspect {
  bytes size{};      ///< what is asked of the driver for it: a segment of the caching allocator
  phase when{};
  std::string what;
  std::optional<bytes> beside;  ///< what live tensors come to when it is asked for, where that is known
};

namespace detail {

/// PyTorch asks the driver for segments, and prints their size: 2 MiB for small tensors, 20 MiB below 10 MiB, then multiples of 2 MiB
/// (c10/cuda/CUDACachingAllocator.cpp, get_allocation_size).
constexpr bytes segment_of(bytes b) { return b <= 1 * mib ? 2 * mib : b < 10 * mib ? 20 * mib : round_up(b, 2 * mib); }

class suspect_list {
 public:
  explicit suspect_list(const job& j) : job_(settle(j)), scene_(job_.layer) {
    scene_.model = &job_.model;
    weights();
    if (j.framework.runtime == runtime::autograd) blocks();
  }
  std::vector<suspect> take() { return std::move(all_); }

 private:
  void add(bytes b, phase when, std::string what, std::optional<bytes> beside = {}) {
    if (b < 10 * mib) return;  // a smaller one asks for 2 or 20 MiB, as any other does
    const auto size = segment_of(b);
    for (const auto& s : all_)
      if (s.size == size && s.when == when && s.what == what) return;
    all_.push_back({size, when, std::move(what), beside});
  }

  void weights() {
    const auto& p = job_.precision;
    const auto list = kept_weights(job_, weights_of(job_.model));
    const auto st = states(job_, list);
    const auto& o = job_.optimizer;
    if (job_.flat) flat_tensors(st);
    buckets(st);
    add(share(st.unit, p.compute.width()), phase::forward, "the parameters of one layer, gathered");
    add(share(st.root, p.compute.width()), phase::forward, "the parameters outside the layers, gathered");
    for (const auto& w : list) {
      const std::string of = "a weight of " + std::to_string(w.rows) + " x " + std::to_string(w.columns);
      const parameters n{w.elements()};
      add(share(n, p.parameters.width()), phase::load, of);
      add(share(n, p.gradients.width()), phase::backward, "the gradient of " + of);
      add(share(n, p.master.width()), phase::load, "the master copy of " + of);
      add(share(n, o.state.width()), phase::step, "an optimizer moment of " + of);
      if (o.how != implementation::fused) add(share(n, o.state.width()), phase::step, "a temporary of the update of " + of);
    }
  }

  /// One after the other: what is there when each is asked for.
  void flat_tensors(const state_bytes& st) {
    const auto& p = job_.precision;
    const auto& o = job_.optimizer;
    const auto& j = *job_.source;
    const auto here = st.trained_here;
    add(share(st.trained, p.parameters.width()), phase::load, "all parameters as one flat tensor");
    const bool zero = j.sharding.by(sharder::deepspeed) && j.offload.optimizer == place::on_gpu && p.master.present();
    auto there = st.gpu[row::model_parameters] + st.gpu[row::adapters];
    const auto one = [&](std::int64_t width, phase when, const std::string& what, bool stays = true) {
      const auto size = share(here, width);
      add(size, when, "this rank's share of " + what + ", one flat tensor", zero ? std::optional{there} : std::nullopt);
      if (stays) there += size;
    };
    one(p.master.width(), phase::load, "the master copy");
    const auto made = j.framework.loading.steps_at_once ? phase::load : phase::step;
    if (zero) one(p.master.width(), phase::load, "gradients of zeros, made with the optimizer", made == phase::load);
    one(o.state.width(), made, "an optimizer moment");
    for (std::int64_t i = 1; i < o.moments; ++i) one(o.state.width(), made, "another optimizer moment");
    if (o.moments > 0) one(p.master.present() ? p.master.width() : o.state.width(), made, "a temporary of the optimizer's update", false);
    add(share(here, p.gradients.width()), phase::reduce, "this rank's share of the gradients, one flat tensor");
  }

  /// Gradients that are one tensor: DDP's only bucket, until the first backward has said in which order they come (torch
  /// nn/parallel/distributed.py _ddp_init_helper); the buffers of Megatron-LM's chunks.
  void buckets(const state_bytes& st) {
    const auto& j = *job_.source;
    const bool averages = j.sharding.kind == sharding_kind::ddp || (j.sharding.kind == sharding_kind::none && job_.data > 1);
    if (!j.framework.modules.megatron()) {
      if (averages) add(st.gpu[row::gradients], phase::load, "the bucket of all gradients that DDP begins with", st.gpu[row::model_parameters] + st.gpu[row::adapters]);
      return;
    }
    if (j.sharding.gathers_units()) return;
    const auto list = weights_of(job_.model);
    const rank_weights weights(job_, list);
    const auto cut = cut_into_stages(j, job_.model);
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage)
      weights.for_each_chunk(cut, stage, [&](const stage_weights& w) {
        for (const auto& b : buffers_of_chunk(job_, w)) {
          if (j.sharding.distributes_optimizer() && j.framework.loading.into_buffers) add(b.parameters, phase::load, "a buffer that parameters move into");
          add(b.gradients, phase::load, "a buffer of gradients");
        }
      });
  }

  void tensors_of(const program& p, std::string_view where, phase forward) {
    for (std::size_t i = 0; i < p.operations(); ++i) {
      const auto& o = p[i];
      for (const auto t : each(o.makes)) {
        const std::string kind = p.is_logits(t) ? "logits" : has(p.weights(), t) ? "gathered parameters" : "an activation";
        add(p.size(t), forward, kind + " of " + std::string{where});
        if (p.needs_gradient(t)) add(p.size(t), phase::backward, "the gradient of " + kind + " of " + std::string{where});
      }
      add(o.forward_temporary, forward, "a temporary of " + std::string{where});
      add(o.backward_temporary, phase::backward, "a temporary of the backward of " + std::string{where});
    }
  }

  void blocks() {
    const auto& j = *job_.source;
    const auto trained = trained_modules(j, -1);
    if (j.framework.modules.megatron()) {
      for (const auto& k : kinds_of(job_.model)) {
        if (k.kind.mixer != mixer_kind::none) tensors_of(megatron::mixer_block(scene_, k.kind, trained), recurrent(k.kind.mixer) ? "the mixer" : "attention", phase::forward);
        if (k.kind.feeds != feed_forward_kind::none) tensors_of(megatron::feed_forward_block(scene_, k.kind, trained), k.kind.sparse() ? "the experts" : "the MLP", phase::forward);
      }
      tensors_of(megatron::head_and_loss(scene_, trained), "the head and the loss", phase::loss_forward);
      return;
    }
    for (const auto& k : kinds_of(job_.model)) {
      auto kind = k.kind;
      const bool loops = kind.sparse() && !experts_at_once(job_.model, j.framework.experts);  // over experts, one by one
      if (loops) kind.feeds = feed_forward_kind::none;
      for_each_block(scene_, kind, trained, true, [&](const program& p) { tensors_of(p, "a layer", phase::forward); });
      if (loops) tensors_of(ops::one_expert(scene_, trained, scene_.residual_width, true), "an expert", phase::forward);
    }
    tensors_of(tail_of(scene_, trained, true), "the head and the loss", phase::loss_forward);
  }

  settled_job job_;
  scene scene_;
  std::vector<suspect> all_;
};

}  // namespace detail

/// Every tensor of 10 MiB and more that a rank allocates, by kind. Errors: those of estimate().
inline std::vector<suspect> suspects_of(const job& j) { return detail::suspect_list(j).take(); }

}  // namespace headroom
