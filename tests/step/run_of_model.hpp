// Distributed under the Boost Software License, Version 1.0.
// A Llama's run in an eager trainer, tensor by tensor: one layer after the other, up and down. What sharded data parallelism does around it
// stands in the tests. Embedding, layers, head and loss weigh what the library's do (tests/block has what they are held to).
#pragma once

#include "llama_states.hpp"

#include <headroom/headroom.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace ledger {

/// What all kinds of sharding have in common: the model's run, up and down.
struct run_of_model {
  run_of_model(const job& j, amounts always) : source(j), settled(settle(j)), at(settled.layer), elements(j.model), held(std::move(always)) {
    at.model = &settled.model;
    trained = trained_modules(*settled.source, -1);
    recomputed = j.recompute.mode != recompute_mode::full ? 0 : j.recompute.layers > 0 ? j.recompute.layers : j.model.layers;
    leaf = j.adapter.active() && detail::embedding_asked_for_gradient(*settled.source, false);
    stream = layer_of(0, false).input.count();
    held.look(phase::save);
  }

  void make(const std::string& name, row of, std::int64_t size) {
    held.make(name, of, size);
    held.look(now);
  }
  void make(const std::string& name, const amounts& size) {
    held.make(name, size);
    held.look(now);
  }
  void free(const std::string& name) { held.free(name); }
  void free_if(const std::string& name) {
    if (held.has(name)) held.free(name);
  }
  /// What is made from here on belongs to this phase.
  void enter(phase p) { now = p; }
  [[nodiscard]] bool recomputes(std::int64_t i) const { return i < recomputed; }
  /// A layer; nothing flows back into the first one's input where nothing before it trains.
  [[nodiscard]] layer_walk layer_of(std::int64_t i, bool exist) const { return walk_layer(at, trained, i > 0 || leaf || trained.has(module::embedding), recomputes(i), exist); }
  [[nodiscard]] bool keeps_input(std::int64_t i, const layer_walk& l) const { return recomputes(i) || l.input_saved; }
  static std::string named(const char* what, std::int64_t i) { return std::string(what) + " " + std::to_string(i); }

  // --- forward -----------------------------------------------------------------------------------------------------------

  void embed() {
    with_made([&] { return embedding(at, trained); }, [&](const program& p) {
      const auto f = walk_forward(p);
      held.look(now, amounts_of(f.peak));
      held.make("kept embedding", amounts_of(f.saved_rows));
      make("stream", row::activations, stream);
    });
  }
  /// Cosines and sines of the model's positions, which its layers read: to the end of backward.
  void turn() {
    if (source.framework.rotary.caches() || source.framework.rotary.tables == rope_tables::buffers_beside_mask) return;
    for (const auto* name : {"cosines", "sines"}) make(name, row::activations, settled.precision.compute.bits / 8 * source.batch.micro * source.batch.sequence * source.model.head_width());
  }
  void layer_up(std::int64_t i) {
    free("stream");
    const auto l = layer_of(i, false);
    held.look(now, amounts_of(recomputes(i) ? l.forward_off : l.forward));
    held.make(named("kept", i), recomputes(i) ? amounts{{row::activations, stream}} : amounts_of(l.saved));
    if (recomputes(i)) held.make(named("cast", i), amounts_of(l.cached));  // autocast's, until the model has run
    if (leaf && i == 0 && !keeps_input(i, l)) held.make("leaf", row::activations, stream);
    make("stream", row::activations, stream);
  }
  /// `returns`: what happens when the model has returned, before the loss where that is computed outside.
  template <class Returns>
  void tail_up(const Returns& returns) {
    free("stream");
    with_made([&] { return detail::tail_of(at, trained, true); }, [&](const program& p) {
      handover there;
      const auto f = walk_forward(p, recording::on, &there);
      if (at.loss_outside() && there.reached) {
        held.look(now, amounts_of(there.before));
        make("returned", amounts_of(there.there));
        returns();
        free("returned");
      }
      held.look(now, amounts_of(f.peak));
      held.make("kept tail", amounts_of(f.saved_rows));
      held.make("held", row::logits, f.held.count());
      make("new loss", row::activations, block(p.size(p.output()).count()));
      if (!at.loss_outside() || !there.reached) returns();
    });
    for (std::int64_t i = 0; i < source.model.layers; ++i) free_if(named("cast", i));
    free_if("loss");
    free("new loss");
    make("loss", row::activations, 512);
  }

  // --- backward ----------------------------------------------------------------------------------------------------------

  /// `enters`: the gradient of what the model returned is there.
  template <class Enters>
  void tail_down(const Enters& enters, bool exist) {
    held.make("first gradient", row::activations, 512);
    make("stream gradient", row::temporaries, 512);
    free("stream gradient");
    free("kept tail");
    const auto outputs = held.alive().at("held");  // in the tail's own count while it runs, and the caller's to the end of backward
    free("held");
    with_made([&] { return detail::tail_of(at, trained, true); }, [&](const program& p) {
      handover there;
      const auto b = walk_backward(p, exist, weight_work::with_inputs, &there);
      if (there.reached) {
        held.look(now, amounts_of(there.before));
        make("entered", amounts_of(there.there));
        enters();
        free("entered");
      }
      held.look(now, amounts_of(b.peak));
      held.make("held", outputs);
      held.make("fresh tail", row::gradients, (b.weight_gradients - b.waits).count());
      if (source.model.tied) held.make("fresh table", row::gradients, b.waits.count());  // waits for the embedding's, to which it is added
      make("stream gradient", row::temporaries, stream);
      if (!there.reached) enters();
    });
  }
  void layer_down(std::int64_t i, bool exist) {
    free("stream gradient");
    free(named("kept", i));
    const auto l = layer_of(i, exist);
    if (recomputes(i)) {
      held.look(now, amounts_of(l.forward) + amounts{{row::temporaries, stream}});  // once more, beside the gradient of what comes out
      held.look(now, amounts_of(l.backward) + amounts{{row::activations, (l.input_saved ? 0 : stream) + (settled.reentrant ? stream : 0)}});
    } else {
      if (l.again.total > bytes{0}) held.look(now, amounts_of(l.again) + amounts{{row::temporaries, stream}});
      held.look(now, amounts_of(l.backward));
    }
    held.make(named("fresh", i), row::gradients, l.weight_gradients.count());
    if (l.sticky > bytes{0} && !(recomputes(i) && settled.reentrant)) make(named("stays with the graph", i), row::activations, l.sticky.count());
    if (leaf && i == 0 && keeps_input(i, l)) held.make("leaf", row::activations, stream);
    make("stream gradient", row::temporaries, i > 0 || leaf || trained.has(module::embedding) ? stream : 0);
  }
  void embed_down(bool exist) {
    free("stream gradient");
    free("kept embedding");
    with_made([&] { return embedding(at, trained); }, [&](const program& p) {
      const auto b = walk_backward(p, exist);
      held.look(now, amounts_of(b.peak));
      make("fresh embedding", row::gradients, b.weight_gradients.count());
      if (!source.model.tied) return;
      if (exist) held.look(now, {{row::gradients, b.made.count()}});
      if (adds_to_a_third()) held.look(now, {{row::gradients, (exist ? 2 : 1) * b.made.count()}});
      free("fresh embedding");
      held.make("fresh embedding", row::gradients, 0);
      if (exist) free("fresh table"), held.make("fresh table", row::gradients, 0);
    });
  }
  /// The head's gradient of a tied table is the transpose of what a product made, and autograd adds to no such view in place (torch 2.6 on); the cast of one
  /// back from 16 bits is no view.
  [[nodiscard]] bool adds_to_a_third() const {
    const auto torch = source.environment.torch;
    const bool recent = torch == 0 ? source.framework.date >= 202412 : torch >= 206;
    return recent && !(at.autocast && settled.precision.parameters.width() > settled.precision.compute.width());
  }
  /// Gradients of all that lies outside the layers.
  [[nodiscard]] std::vector<std::string> fresh_outside() const {
    if (source.model.tied) return {"fresh tail", "fresh embedding", "fresh table"};
    return {"fresh tail", "fresh embedding"};
  }
  /// The graph is gone.
  void end_micro_batch(bool last) {
    free_if("cosines"), free_if("sines");
    enter(phase::reduce);
    free("first gradient");
    free("held");
    free_if("leaf");
    for (std::int64_t i = 0; i < source.model.layers; ++i) free_if(named("stays with the graph", i));
    held.look(now);
    if (source.framework.loss.lives == loss_lifetime::through_backward || !last) free("loss");
  }
  [[nodiscard]] std::int64_t state_width() const { return source.adapter.active() ? 4 : settled.optimizer.state.bits / 8; }
  /// The update of tensors of so many elements on this rank.
  void update(const std::vector<std::int64_t>& own) {
    enter(phase::step);
    std::int64_t all = 0;
    for (const auto n : own) all += own.size() > 1 ? block(state_width() * n) : state_width() * n;
    const auto how = settled.optimizer.how;
    const auto largest = *std::max_element(own.begin(), own.end());
    make("update", row::temporaries, how == implementation::foreach ? source.framework.optimizer.foreach_copies * all : how == implementation::loop ? 2 * state_width() * largest : 0);
    free("update");
    free_if("loss");
  }
  /// A rank's part of each tensor, layer by layer.
  [[nodiscard]] std::vector<std::int64_t> parts(std::int64_t ranks) const {
    std::vector<std::int64_t> r(static_cast<std::size_t>(elements.tables), elements.table / ranks);
    r.push_back((elements.norm + ranks - 1) / ranks);
    for (std::int64_t i = 0; i < source.model.layers; ++i)
      for (const auto n : elements.layer) r.push_back((n + ranks - 1) / ranks);
    return r;
  }

  const job& source;
  settled_job settled;
  scene at;
  sizes elements;
  module_set trained{};
  std::int64_t recomputed{}, stream{};
  bool leaf{};  ///< the embedding's result is asked for a gradient, so that something reaches the adapters of the first layer
  phase now{phase::forward};
  account held;
};

}  // namespace ledger
