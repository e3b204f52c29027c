// Distributed under the Boost Software License, Version 1.0.
// The backward of a chunk of eager layers: whole, or of its inputs alone.
// Sources: torch distributed/fsdp/_fully_shard/_fsdp_param_group.py post_backward, _fsdp_param.py to_accumulated_grad_if_needed, _fsdp_state.py
// _root_post_backward_final_callback; distributed/pipelining/_backward.py stage_backward_input.
#pragma once

#include <headroom/engine/eager/eager_chunk.hpp>

namespace headroom {

namespace detail {

/// The backward of a run's layer (or group of them) that leaves the gradients of its weights for later, above what it did not save.
struct inputs_backward {
  moment peak{}, waiting{};
};
constexpr inputs_backward inputs_backward_of(const scene& sc, const layer_run& run) {
  inputs_backward r;
  moment saved{};  // by earlier parts, which run later
  const auto add = [&](const program& p) {
    const auto f = walk_forward(p);
    const auto b = walk_backward(p, false, weight_work::later_in_graph);
    const auto earlier = r.peak;
    r.peak = b.peak + saved;
    r.peak.rise_to(earlier, moment(f.saved, f.saved_rows), b.kept);
    r.waiting += b.kept;
    saved += moment(f.saved, f.saved_rows);
  };
  for (auto i = run.first; i < run.first + run.span; ++i) for_each_block(sc, sc.model->kind_of(i), run.trained, true, add);
  return r;
}

/// The backward of a chunk's inputs (torch distributed/pipelining/_backward.py stage_backward_input): the graph stays whole. Of earlier
/// micro-batches FSDP adds up a layer's gradients of weights when the layer's backward is done (_fsdp_param_group.py post_backward,
/// _fsdp_param.py to_accumulated_grad_if_needed), since autograd.grad() for weights alone runs no hook of it.
constexpr void walk_inputs_backward(eager_chunk& k, const scene& sc, const layer_runs& runs) {
  const auto all_saved = k.saved;
  k.adding = k.backward;
  const moment layer(row::gradients, k.fresh_layer);
  std::int64_t done = 0;
  for (auto i = runs.size; i-- > 0;) {
    const auto& r = runs.list[i];
    const auto one = inputs_backward_of(sc, r);
    for (const auto n : {std::int64_t{0}, r.count - 1}) {  // what waits grows, and what is added up shrinks, from layer to layer
      auto live = all_saved + k.waiting + n * one.waiting;
      live -= r.saved;
      const auto at = r.first + (r.count - n) * r.span - 1;
      if (k.backward.rise_to(live, one.peak)) k.backward_layer = at;
      if (k.adding.rise_to(live, one.peak, multiple{-(done + n * r.span), layer})) k.adding_layer = at;
    }
    k.waiting += multiple{r.count, one.waiting};
    done += r.count * r.span;
  }
}

/// Gradients of a unit's weights: as autograd makes them, added up in the format of the reduction, and while they are cast, one by one.
struct unit_gradients {
  bytes made{}, sum{}, cast{};
};
constexpr unit_gradients gradients_of(const settled_job& s, parameters all, parameters largest) {
  const auto made = share(all, s.layer.weight_width), sum = share(all, s.precision.reduce.width());
  if (made == sum) return {made, sum, bytes{0}};
  return {made, sum, sum + share(largest, s.layer.weight_width)};  // a unit's last matrix is among its largest
}
/// … of a layer of a chunk, and of what it has outside its layers.
struct chunk_gradients {
  unit_gradients layer{}, root{};
};

/// The whole backward of a chunk, behind that of its tail. In the first of a step a unit's gradients are cast when its backward is done, and stay;
/// in a later one they are added to those in place. Where the root has norm and head, its hook comes last, and theirs wait for it.
class chunk_backward {
 public:
  constexpr chunk_backward(eager_chunk& k, const chunk_gradients& g, bytes stream, bytes received, bool apart, const moment& live)
      : k_(&k), g_(g), stream_(stream), received_(received), live_(live) {
    if (!k.last) return;
    if (!apart) {
      waits_ = g.root.made;
      return;
    }
    end_unit(g.root, -1);
  }
  /// The layers of a run: it is tallest at one of its ends.
  constexpr void run(const layer_run& r, bool first) {
    const auto layer = unit_gradients{r.span * g_.layer.made, r.span * g_.layer.sum, g_.layer.cast > bytes{0} ? (r.span - 1) * g_.layer.sum + g_.layer.cast : bytes{0}};
    for (auto n = std::int64_t{0}; n < r.count; n = n == 0 && r.count > 1 ? r.count - 1 : r.count) {
      const auto at = r.first + (r.count - n) * r.span - 1;
      auto live = live_;
      live -= (n + 1) * r.saved;
      const auto sums = sums_ + n * layer.sum;
      if (k_->backward.rise_to(live, r.backward, part{row::gradients, waits_})) k_->backward_layer = at;
      if (k_->beginning.rise_to(live, r.backward, part{row::gradients, sums + waits_})) k_->beginning_layer = at;
      const auto back = first && n == r.count - 1 && r.keeps_input ? received_ : bytes{0};  // what it read lies in its buffer
      cast(live, part{row::activations, back}, sums, layer, at);
    }
    live_ -= r.count * r.saved;
    sums_ += r.count * layer.sum;
  }
  constexpr void front(const program& p, const forward_walk& f) {
    live_ -= moment(f.saved, f.saved_rows);
    const auto b = walk_backward(p);
    if (k_->backward.rise_to(live_, b.peak)) k_->backward_layer = -1;
    if (k_->beginning.rise_to(live_, b.peak, part{row::gradients, sums_})) k_->beginning_layer = -1;
    stream_ = bytes{0};  // token numbers have no gradient
    end_unit(g_.root, -1);
  }
  /// The root's hook.
  constexpr void end() {
    if (waits_ == bytes{0}) return;
    waits_ = bytes{0};
    live_ = {};
    end_unit(g_.root, -1);
  }

 private:
  constexpr void cast(const moment& live, const part& back, bytes sums, const unit_gradients& u, std::int64_t at) {
    if (u.cast == bytes{0}) return;
    if (k_->beginning.rise_to(live, back, part{row::gradients, sums + waits_ + u.cast}, part{row::temporaries, stream_})) k_->beginning_layer = at;
  }
  constexpr void end_unit(const unit_gradients& u, std::int64_t at) {
    cast(live_, part{row::activations, bytes{0}}, sums_, u, at);
    sums_ += u.sum;
  }

  eager_chunk* k_;
  chunk_gradients g_;
  bytes stream_, received_, sums_{0}, waits_{0};
  moment live_;
};

}  // namespace detail

}  // namespace headroom
