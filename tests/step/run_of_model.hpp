// Distributed under the Boost Software License, Version 1.0.
// A Llama's run in an eager trainer, tensor by tensor: one layer after the other, up and down. What sharded data parallelism does around it
// stands in the tests. Embedding, layers, head and loss weigh what the library's do (tests/block has what they are held to).
#pragma once

#include "ledger.hpp"

#include <headroom/headroom.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace ledger {

/// Elements of a Llama's tensors.
struct sizes {
  std::vector<std::int64_t> layer;
  std::int64_t table, norm, tables;
  explicit sizes(const shape& m) : table(m.vocab * m.hidden), norm(m.hidden), tables(m.tied ? 1 : 2) {
    const auto q = m.heads * m.head_width(), kv = m.kv_heads * m.head_width();
    layer = {q * m.hidden, kv * m.hidden, kv * m.hidden, q * m.hidden, m.hidden * m.ffn, m.hidden * m.ffn, m.hidden * m.ffn, m.hidden, m.hidden};
  }
};
inline std::int64_t sum(const std::vector<std::int64_t>& of) { return std::accumulate(of.begin(), of.end(), std::int64_t{0}); }
inline std::int64_t outside(const sizes& of) { return of.tables * of.table + of.norm; }
inline std::int64_t block(std::int64_t bytes) { return (bytes + 511) / 512 * 512; }

/// Elements of a layer's adapters: two matrices beside each of its seven.
inline std::vector<std::int64_t> adapters(const job& j) {
  const auto& m = j.model;
  const auto q = m.heads * m.head_width(), kv = m.kv_heads * m.head_width(), r = j.adapter.rank;
  std::vector<std::int64_t> all;
  for (const auto& [out, in] : {std::pair{q, m.hidden}, {kv, m.hidden}, {kv, m.hidden}, {m.hidden, q}, {m.ffn, m.hidden}, {m.ffn, m.hidden}, {m.hidden, m.ffn}})
    all.push_back(r * in), all.push_back(r * out);
  return all;
}

/// What a rank holds all along: its part of the weights, of an fp32 copy and of two moments, token numbers and labels, cuBLAS's workspace, and tables of
/// angles or the frequencies that they are made of. Flat parts are not rounded up to the allocator's blocks.
inline amounts resident(const job& j) {
  const auto s = settle(j);
  const sizes of(j.model);
  const auto& z = j.sharding;
  const auto ranks = j.parallel.data / j.parallel.replicate;
  const bool flat = z.kind == sharding_kind::fsdp1 || z.kind == sharding_kind::zero, whole = z.kind == sharding_kind::zero || z.kind == sharding_kind::ddp || z.kind == sharding_kind::none;
  std::vector<std::int64_t> tensors(static_cast<std::size_t>(of.tables), of.table);
  tensors.push_back(of.norm);
  for (std::int64_t i = 0; i < j.model.layers; ++i) tensors.insert(tensors.end(), of.layer.begin(), of.layer.end());
  const auto& p = s.precision;
  amounts r;
  if (j.adapter.active()) {  // a frozen model, and what trains beside it in fp32
    for (const auto n : tensors) r[row::model_parameters] += block(p.parameters.bits / 8 * (whole ? n : (n + ranks - 1) / ranks));
    for (const auto n : adapters(j)) {
      const auto part = block(4 * (z.kind == sharding_kind::ddp || z.kind == sharding_kind::none ? n : (n + ranks - 1) / ranks));
      r[row::adapters] += j.model.layers * part;
      r[row::optimizer_state] += j.model.layers * 2 * part;
      r[row::communication_buffers] += z.kind == sharding_kind::ddp ? j.model.layers * part : 0;
    }
    tensors.clear();
  }
  for (const auto n : tensors) {
    const auto part = z.kind == sharding_kind::ddp || z.kind == sharding_kind::none ? n : (n + ranks - 1) / ranks;
    const auto sized = [&](std::int64_t elements, const number_format& f) { return flat ? f.bits / 8 * elements : block(f.bits / 8 * elements); };
    r[row::model_parameters] += whole ? block(p.parameters.bits / 8 * n) : sized(part, p.parameters);
    r[row::master_parameters] += p.master.bits > 0 ? sized(part, p.master) : 0;
    r[row::optimizer_state] += 2 * sized(part, s.optimizer.state);
    r[row::communication_buffers] += z.kind == sharding_kind::ddp || (z.kind == sharding_kind::none && j.parallel.data > 1) ? block(p.gradients.bits / 8 * n) : 0;
  }
  const auto angles = j.model.head_width();
  r[row::workspace] = j.framework.process.cublas_handles * cublas_workspace(s).count();
  r[row::activations] = 16 * j.batch.micro * j.batch.sequence + (j.framework.rotary.caches() ? 2 * j.batch.sequence * angles * 4 : 0);
  // Or a mask of all pairs of positions, a byte each, and cosines and sines of all of them.
  if (j.framework.rotary.tables == rope_tables::buffers_beside_mask) r[row::activations] += j.model.max_positions * (j.model.max_positions + 2 * angles * 4);
  return r;
}

/// The most that a rank holds until its trainer is built: its weights, and beside them the largest tensor that is cut as a whole; or, where FSDP1 wraps on
/// the GPU, what lies outside the layers twice, last; DDP's buckets; an fp32 copy, and zeros as large for gradients while ZeRO's optimizer is built.
inline std::int64_t loading(const job& j, const amounts& all_along) {
  const auto s = settle(j);
  const sizes of(j.model);
  const auto kept = [&](row r) { return all_along.count(r) == 1 ? all_along.at(r) : 0; };
  const std::int64_t weights = kept(row::model_parameters), width = s.precision.parameters.bits / 8;
  const auto tables = kept(row::activations) - 16 * j.batch.micro * j.batch.sequence;
  const bool fsdp = j.sharding.kind == sharding_kind::fsdp1 || j.sharding.kind == sharding_kind::fsdp2;
  if (!fsdp) return weights + tables + kept(row::communication_buffers) + (j.sharding.kind == sharding_kind::zero ? 2 * kept(row::master_parameters) : 0);
  if (j.sharding.kind == sharding_kind::fsdp1 && j.framework.sharding.wraps_on_gpu) return weights + 2 * width * outside(of) - width * outside(of) / j.parallel.data;
  const auto largest = std::max(of.table, *std::max_element(of.layer.begin(), of.layer.end()));
  return weights + width * largest + tables;
}

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
      free("fresh embedding");
      held.make("fresh embedding", row::gradients, 0);
      if (exist) free("fresh table"), held.make("fresh table", row::gradients, 0);
    });
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
