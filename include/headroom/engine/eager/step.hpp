// Distributed under the Boost Software License, Version 1.0.
// A step of a trainer that allocates as it goes, written once: what is made and what is freed, in order. Who listens decides what comes
// of it: sums (engine/eager/counted_step.hpp), or blocks of the caching allocator (replay/step_trace.hpp).
//
// A listener has
//   make(bytes, row, stream), free(handle), retire(handle)   a tensor; retire: freed, but another stream may still read it
//   put(slot, place, bytes, …), drop(slot, place, bytes, …)  a tensor that a layer has to itself, or embedding or head have
//   enter(phase, layer), consider()                          what happens from here on; what is alive belongs to it, too
//   repeat(first, end, edges, body)                          layers that are alike but for so many at either end
//   visit_up(group, body), visit_down(group, body)           the layers of a group, or all at once
//   forward_front(), forward(layer), forward_tail(returns)   blocks: embedding, a layer, head and loss
//   backward_tail(enters), backward(layer), backward_front() … and back
//   gradients(), keep(…), free(…)                            weight gradients that blocks have made since it was last asked
//   update(…)                                                temporaries of the optimizer
#pragma once

#include <headroom/allocator/stream.hpp>
#include <headroom/engine/eager/layer_costs.hpp>
#include <headroom/engine/eager/step_parts.hpp>

namespace headroom {

/// What a unit of parameters that are gathered and reduced together has of its own.
enum class unit_slot : std::uint8_t {
  whole,      ///< its parameters
  gradient,   ///< this rank's part of their gradients
  summed,     ///< … whole, while micro-batches add them up
};

/// A layer of the stack.
struct layer_place {
  std::size_t run;      ///< in the list of runs
  std::int64_t layer;   ///< of a group that is visited at once, its last
  std::int64_t span;    ///< so many layers are visited at once
};

/// What a step consists of beside its blocks.
struct step_facts {
  const settled_job* job{};
  const state_bytes* states{};
  const windows* around{};
  const prelude* before{};      ///< a tower, an encoder, or none
  model_slice here{};
  bytes angles{};               ///< cosines, and as many sines, made in each forward
  bytes bias{};                 ///< relative positions, read by every layer
  bytes bias_gradient{};        ///< … to whose gradient every layer adds; a mask's there is none before the last layer's backward is done, the tallest
  detail::read_by_layers shared{};
  bytes handed_over{};          ///< logits that come back to the device of the tokens
  bytes scalar{};               ///< the loss
  bytes tied{};                 ///< the gradient of a table that serves twice
  bool trains_embedding{}, trains_head{};
  bytes other_forward{};        ///< of a model that runs beside this one while the loss is computed: its tallest moment

  constexpr step_facts(const settled_job& s, const scene& sc, const state_bytes& st, const windows& w, const model_slice& slice, const prelude* p = nullptr)
      : job(&s), states(&st), around(&w), before(p), here(slice) {
    const auto& habits = *sc.habits;
    if (!habits.rotary.caches() && habits.rotary.tables != rope_tables::buffers_beside_mask) angles = ops::cosines(sc, sc.tokens);
    bias = detail::relative_positions(sc).total;
    bias_gradient = ops::masks_biases(sc, s.model) && s.source->recompute.mode != recompute_mode::full ? bytes{0} : bias;
    shared = detail::shared_by_layers(s, sc);
    if (slice.embedding && !slice.head && s.model.head == head_kind::language) {  // accelerate hands the logits back on the device that the tokens were on
      const auto width = sc.loss_program == loss_style::upcast_in_loss ? sc.width : sc.loss.logits.width();
      handed_over = bytes{checked::mul(sc.tokens, sc.vocabulary, width)};
    }
    const auto outside = trained_modules(*s.source, -1);
    trains_embedding = outside.has(module::embedding);
    trains_head = outside.has(module::head);
    if (slice.head && slice.embedding) tied = detail::tied_gradient(s, sc);
  }
};

/// A training step of an eager trainer, event by event, told to a listener.
template <class Listener, class Units>
class eager_step {
 public:
  constexpr eager_step(const step_facts& f, Units& units, Listener& to) : of_(&f), units_(&units), to_(&to) {}

  /// One micro-batch. `exist`: gradients are there from those before. `last`: of a step.
  constexpr void run_micro_batch(bool exist, bool last) {
    forward();
    backward(exist, last);
  }

  /// The optimizer's update. Activations are gone, and so is the loss where the loop does not name it.
  constexpr void update() {
    auto& to = *to_;
    const auto& s = *of_->job;
    const auto& w = *of_->around;
    to.enter(phase::step, -1);
    to.consider();
    const bool on_gpu = s.source->offload.optimizer == place::on_gpu && !s.optimizer.in_backward && !gradients_leave(*s.source);
    if (!on_gpu && !s.source->framework.gradients.stay) drop_gradients();
    to.make_states();
    // ZeRO's update reads the gradients' cast, or the flat gradients themselves where they have the master copy's format.
    typename Listener::handle read{};
    if (w.flat_gradients > bytes{0}) {
      read = to.make(w.flat_gradients, row::temporaries);
      if (w.wide_gradients > bytes{0}) {
        auto wide = to.make(w.wide_gradients, row::temporaries);
        to.free(read);
        read = wide;
      }
      units_->free_partition();
    }
    if (on_gpu) to.update();
    to.free(read);
    if (w.step.total > w.flat_gradients + w.wide_gradients) {
      auto buffers = to.make(w.step.total, w.step.rows[row::communication_buffers] > bytes{0} ? row::communication_buffers : row::temporaries);
      to.free(buffers);
    }
    to.free(loss_);
    if (!s.source->framework.gradients.stay) drop_gradients();
  }

 private:
  constexpr void drop_gradients() {
    units_->drop_gradients();
    to_->drop_gradients();
  }

  constexpr void forward() {
    auto& to = *to_;
    const auto& f = *of_;
    to.enter(phase::forward, -1);
    if (f.before != nullptr) [[unlikely]] {
      units_->begin_side();
      to.forward_side(*f.before);
      units_->end_side();
    }
    units_->begin_forward();
    to.forward_front();
    units_->after_embedding();
    cosine_ = to.make(f.angles, row::activations);
    sine_ = to.make(f.angles, row::activations);
    auto bias = to.make(f.bias, row::activations);
    shared_ = to.make(f.shared.kept, row::activations);
    auto named = to.make(f.shared.in_forward, row::activations);
    const auto& runs = to.runs();
    for (std::size_t i = 0; i < runs.size; ++i) {
      const auto& r = runs.list[i];
      units_->begin_run(r);
      to.repeat(0, r.count, Units::edges, [&](std::int64_t n) {
        to.visit_up({i, r.first + (n + 1) * r.span - 1, r.span}, [&](const layer_place& at) {
          to.enter(phase::forward, at.layer);
          units_->before_forward(at);
          to.forward(at);
          units_->after_forward(at);
        });
      });
    }
    to.free(named);
    to.free(bias);
    to.enter(phase::loss_forward, -1);
    units_->before_head();
    if (f.handed_over > bytes{0}) [[unlikely]] {
      auto logits = to.make(f.handed_over, row::logits);
      to.free(logits);
    }
    const auto& sizes = f.job->layer;
    if (sizes.loss_program == loss_style::chunked_head) units_->end_forward();
    to.forward_tail([&] {
      to.free_previous();
      if (sizes.loss_outside()) units_->end_forward();
    });
    units_->end_forward();
    to.free(loss_);
    loss_ = to.take_loss();
    to.end_forward();
  }

  constexpr void backward(bool exist, bool last) {
    auto& to = *to_;
    const auto& f = *of_;
    const bool outside = f.job->layer.loss_outside();
    to.enter(phase::backward, -1);
    to.accumulate(units_->momentary(exist));
    units_->begin_micro_batch(exist, last);
    if (!outside) units_->begin_backward();
    auto first = to.begin_backward();  // the gradient that backward begins with, which the caller names
    to.backward_tail([&] {
      if (outside) units_->begin_backward();
    });
    units_->after_head();
    if (f.job->optimizer.in_backward && f.tied == bytes{0} && f.trains_head) update_table();
    auto gathered = to.make(f.before != nullptr ? f.before->output_gradient : bytes{0}, row::temporaries);
    backward_stack();
    to.enter(phase::backward, -1);
    units_->before_embedding_backward();
    to.backward_front();
    if (f.job->optimizer.in_backward && f.trains_embedding) update_table();
    if (Units::gathers) to.enter(phase::reduce, -1);
    units_->end_backward();
    leave_frozen();
    to.free(first);
    if (f.before != nullptr) [[unlikely]] {
      to.enter(phase::backward, -1);
      units_->begin_side();
      to.backward_side(*f.before, gathered, exist, last);
      units_->end_side();
    }
    units_->end_micro_batch();
    to.free(shared_);
    to.free(cosine_);
    to.free(sine_);
    to.enter(phase::reduce, -1);
    to.leave_graph();
    to.consider();
    if (f.job->source->framework.loss.lives == loss_lifetime::through_backward || !last) to.free(loss_);
  }

  /// Backward through the layers, the last first.
  constexpr void backward_stack() {
    auto& to = *to_;
    const auto& f = *of_;
    auto bias = to.make(f.bias_gradient, row::activations);
    auto added_up = to.make(f.shared.gradient, row::temporaries);
    const auto& runs = to.runs();
    for (auto i = runs.size; i-- > 0;) {
      const auto& r = runs.list[i];
      if (!r.back) continue;
      units_->begin_run(r);
      const auto body = [&](std::int64_t n) {
        to.visit_down({i, r.first + (r.count - n) * r.span - 1, r.span}, [&](const layer_place& at) {
          to.enter(phase::backward, at.layer);
          units_->before_backward(at);
          to.backward(at);
          if (Units::gathers) to.enter(phase::reduce, at.layer);
          units_->after_backward(at);
        });
      };
      const auto cut = units_->cut(r);  // something else happens from here on
      to.repeat(0, cut, Units::edges, body);
      to.repeat(cut, r.count, Units::edges, body);
    }
    to.free(added_up);
    to.free(bias);
  }

  /// Layers that no gradient reaches.
  constexpr void leave_frozen() {
    auto& to = *to_;
    const auto& runs = to.runs();
    for (auto i = runs.size; i-- > 0;) {
      const auto& r = runs.list[i];
      if (r.back) continue;
      units_->begin_run(r);
      to.repeat(0, r.count, Units::edges, [&](std::int64_t n) {
        to.visit_down({i, r.first + (r.count - n) * r.span - 1, r.span}, [&](const layer_place& at) { units_->leave_layer(at); });
      });
    }
  }

  /// An optimizer that runs as gradients come: a table's is the largest.
  constexpr void update_table() {
    auto& to = *to_;
    const auto& s = *of_->job;
    auto gradient = to.make(of_->tied > bytes{0} ? of_->tied : detail::table_gradient(s, s.layer), row::gradients);
    auto temporary = to.make(detail::update_of_one(s, *of_->states), row::temporaries);
    to.free(temporary);
    to.free(gradient);
  }

  const step_facts* of_;
  Units* units_;
  Listener* to_;
  typename Listener::handle cosine_{}, sine_{}, shared_{}, loss_{};
};

}  // namespace headroom
