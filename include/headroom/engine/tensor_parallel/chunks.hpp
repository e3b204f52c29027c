// Distributed under the Boost Software License, Version 1.0.
// What a chunk of divided layers costs for one micro-batch: chunk_step.hpp, added up. Layers that are alike are counted once and multiplied.
#pragma once

#include <headroom/engine/tensor_parallel/chunk_step.hpp>
#include <headroom/engine/tensor_parallel/divided_layers.hpp>
#include <headroom/engine/tensor_parallel/kept_gradients.hpp>

namespace headroom {

namespace detail {

/// One chunk of layers, for one micro-batch: what it leaves for backward, and its tallest moments above what the stage holds
/// for other micro-batches.
template <class Moment>
struct basic_chunk_cost : chunk_runs {
  bool has_head{};
  Moment saved{}, kept{};
  Moment forward{}, loss{}, backward{};
  bytes on_host{};         ///< of what is saved, in host memory
  bytes stays{}, comes{};  ///< of its last layer: what would be there, and what comes back
  std::int64_t forward_layer{}, backward_layer{};
};
using chunk_cost = basic_chunk_cost<moment>;

/// Of a chunk what a schedule's order adds up: totals.
struct chunk_totals {
  bytes saved{}, kept{}, forward{}, loss{}, backward{};
  bytes on_host{}, stays{}, comes{};
  bool has_head{};
};
constexpr chunk_totals totals_of(const chunk_cost& k) {
  return {k.saved.total, k.kept.total, k.forward.total, k.loss.total, k.backward.total, k.on_host, k.stays, k.comes, k.has_head};
}

/// A chunk that has not been walked yet, or not for this job.
template <class Moment>
constexpr void begin_walk(basic_chunk_cost<Moment>& k) {
  k.saved = k.kept = k.forward = k.loss = k.backward = Moment{};
  k.on_host = k.stays = k.comes = bytes{0};
  k.forward_layer = k.backward_layer = 0;
}
template <class Moment>
constexpr basic_chunk_cost<Moment> chunk_of(const chunk_runs& runs, bool has_head) {
  basic_chunk_cost<Moment> k{};
  static_cast<chunk_runs&>(k) = runs;
  k.has_head = has_head;
  return k;
}

/// Several layers in one checkpoint: its input is kept; in backward all of them run forward again, then backward.
template <class Moment>
constexpr basic_layer_cost<Moment> cost_of_unit(const shape& m, const basic_divided_layers<Moment>& w, const chunk_run& r) {
  basic_layer_cost<Moment> c;
  const part input{row::activations, w.input}, gradient{row::temporaries, w.input};
  c.saved = Moment(row::activations, w.input);
  Moment live{};
  for (auto l = r.first; l < r.first + r.each; ++l) {
    const auto i = megatron::place_of(m.kind_of(l));
    if (l == r.first)
      c.forward = w.graphless[i];
    else
      c.forward.rise_to(w.graphless[i], input);
    c.backward.rise_to(live, w.whole[i].forward, gradient);
    c.backward.rise_to(live, w.whole[i].backward);
    live += w.whole[i].saved;
    c.kept += w.whole[i].kept;
  }
  c.backward_first = c.backward;
  return c;
}

/// A listener of chunk_step that adds up. What flows from layer to layer is in what each of them needs.
template <class Moment>
class chunk_count {
 public:
  struct handle {
    bytes size{};
    row of{};
  };

  constexpr chunk_count(basic_chunk_cost<Moment>& k, const shape& m, const basic_divided_layers<Moment>& w) : k_(&k), shape_(&m), layers_(&w) {}

  constexpr handle make(bytes size, row of, stream = stream::compute) {
    live_.add(of, size);
    return {size, of};
  }
  constexpr void free(handle& h) {
    live_.add(h.of, -h.size);
    h.size = bytes{0};
  }
  constexpr void put(group_slot, std::int64_t, bytes size, row of, stream on = stream::compute) { (void)make(size, of, on); }
  constexpr void drop(group_slot, std::int64_t, bytes size, row of) { live_.add(of, -size); }
  constexpr void enter(phase, std::int64_t) {}

  /// The last of a run finds the most there.
  template <class Units, class Body>
  constexpr void each_up(const chunk_run& r, Units& units, const Body& body) {
    const auto& c = count(r);
    k_->kept += multiple{r.count, c.kept};
    k_->on_host += r.count * (c.offloaded + c.doubled);
    stays(c);
    if constexpr (!Units::gathers) {
      live_ += multiple{r.count - 1, c.saved};
      body(r.count - 1);
    } else {
      for (std::int64_t n = 0; n < r.count; ++n) {
        body(n);
        const auto alike = units.skip_up(r.count - 1 - n);
        live_ += multiple{alike, c.saved};
        n += alike;
      }
    }
  }
  /// The first to run backward finds the most there; where gradients stay, the last may.
  template <class Units, class Body>
  constexpr void each_down(const chunk_run& r, Units& units, const Body& body) {
    const auto& c = count(r);
    if constexpr (!Units::gathers) {
      body(r.count - 1);
      if (c.gradients == bytes{0} || r.count == 1) {
        live_ += multiple{1 - r.count, c.saved};
        return;
      }
      live_ += multiple{2 - r.count, c.saved};
      live_.add(row::gradients, (r.count - 2) * c.gradients);
      body(0);
    } else {
      for (auto n = r.count; n-- > 0;) {
        body(n);
        const auto alike = units.skip_down(n);
        live_ += multiple{-alike, c.saved};
        n -= alike;
      }
    }
  }

  /// A norm follows the layers.
  constexpr void forward_encoder(std::int64_t n) {
    const auto& c = layers_->encoder;
    live_ += multiple{n - 1, c.saved};
    k_->forward.rise_to(live_, c.forward);
    live_ += c.saved;
    module_up(layers_->encoder_norm);
  }
  constexpr void backward_encoder(std::int64_t n) {
    module_down(layers_->encoder_norm);
    module_down(layers_->encoder);
    live_ += multiple{1 - n, layers_->encoder.saved};
  }
  constexpr void receive() {}
  constexpr void send() {}
  constexpr void forward(const layer_unit& u) {
    if (k_->forward.rise_to(live_, cost_->forward)) k_->forward_layer = u.first();
    live_ += cost_->saved;
  }
  constexpr void forward_norm() { module_up(layers_->norm); }
  constexpr void forward_module() {
    module_up(layers_->mtp);
    k_->on_host += layers_->mtp.offloaded + layers_->mtp.doubled;
    k_->kept += layers_->mtp.kept;
    stays(layers_->mtp);
  }
  constexpr void forward_head() {
    k_->loss.rise_to(live_, layers_->head_forward);
    k_->kept += layers_->head_kept;
    live_ += layers_->head_saved;
  }

  constexpr void receive_gradient() {}
  constexpr void send_gradient() {}
  constexpr void backward_head() {
    live_ -= layers_->head_saved;
    if (k_->backward.rise_to(live_, part{row::activations, k_->stays}, layers_->head_backward)) k_->backward_layer = -1;
    live_.add(row::gradients, layers_->head_gradients);
  }
  constexpr void backward_module() { module_down(layers_->mtp); }
  constexpr void backward_norm() { module_down(layers_->norm); }
  constexpr void backward(const layer_unit& u, handle* held) {
    live_ -= cost_->saved;
    if (k_->backward.rise_to(live_, held != nullptr ? cost_->backward_first : cost_->backward)) k_->backward_layer = u.last();
    live_.add(row::gradients, cost_->gradients);
    if (held != nullptr) *held = make(layers_->input, row::communication_buffers);
  }
  constexpr void consider_gradient() {
    if (k_->backward.rise_to(live_, part{row::temporaries, layers_->input})) k_->backward_layer = -1;
  }
  constexpr void consider_input() {
    if (k_->forward.rise_to(live_, part{row::activations, layers_->input})) k_->forward_layer = -1;
  }
  constexpr void drop_gradients() {}
  /// All that there is, between forward and backward.
  [[nodiscard]] constexpr const Moment& live() const { return live_; }

 private:
  constexpr const basic_layer_cost<Moment>& count(const chunk_run& r) {
    const auto i = static_cast<std::size_t>(r.place);
    cost_ = r.recomputes ? &layers_->checkpoint[i] : &layers_->whole[i];
    if (r.each > 1) [[unlikely]] cost_ = &(unit_ = cost_of_unit(*shape_, *layers_, r));
    return *cost_;
  }
  constexpr void stays(const basic_layer_cost<Moment>& c) {
    k_->stays = c.offloaded;
    k_->comes = c.offloaded + c.doubled;
  }
  constexpr void module_up(const basic_layer_cost<Moment>& c) {
    k_->forward.rise_to(live_, c.forward);
    live_ += c.saved;
  }
  constexpr void module_down(const basic_layer_cost<Moment>& c) {
    live_ -= c.saved;
    if (k_->backward.rise_to(live_, c.backward)) k_->backward_layer = -1;
  }

  basic_chunk_cost<Moment>* k_;
  const shape* shape_;
  const basic_divided_layers<Moment>* layers_;
  const basic_layer_cost<Moment>* cost_{};
  Moment live_{};
  basic_layer_cost<Moment> unit_{};
};

/// Fills in what a chunk costs: up through its layers to the loss, and down again.
template <class Moment, class Units>
constexpr void walk_chunk(basic_chunk_cost<Moment>& k, const job& j, const shape& m, const basic_divided_layers<Moment>& w, const chunk_masks& masks, chunk_count<Moment>& to, Units& units) {
  const auto facts = facts_of(j, m, k, k.has_head, w.input, masks, w.memory);
  chunk_step step(facts, units, to);
  chunk_leaves<typename chunk_count<Moment>::handle> leaves;
  step.forward(leaves);
  k.saved = to.live();
  step.backward(leaves);
}
template <class Moment>
constexpr void walk_chunk(basic_chunk_cost<Moment>& k, const job& j, const shape& m, const basic_divided_layers<Moment>& w, bytes embedding_mask, bytes attention_mask) {
  weights_in_place units;
  chunk_count<Moment> to(k, m, w);
  walk_chunk(k, j, m, w, {embedding_mask, attention_mask}, to, units);
}

}  // namespace detail

}  // namespace headroom
