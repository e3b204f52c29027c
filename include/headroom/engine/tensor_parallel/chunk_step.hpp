// Distributed under the Boost Software License, Version 1.0.
// A chunk of a pipeline stage, forward and backward for one micro-batch, written once: what is made and what is freed, in order. Who listens
// decides what comes of it: sums (engine/tensor_parallel/chunks.hpp), or blocks of the caching allocator (replay/stage_trace.hpp).
// Source: Megatron-LM core/pipeline_parallel/schedules.py forward_step, backward_step; core/models/gpt/gpt_model.py.
//
// A listener has
//   make(bytes, row, stream), free(handle)            a tensor
//   put(slot, place, bytes, row, stream), drop(…)     a tensor that belongs to a group of weights
//   enter(phase, layer)                               what happens from here on
//   each_up(run, units, body), each_down(run, units, body)   the units of a run: all of them, or those that tell what the others do
//   forward_encoder(layers), backward_encoder(layers)
//   receive(), send()                                 the residual stream comes into the chunk, and leaves it
//   forward(unit), forward_norm(), forward_module(), forward_head()
//   receive_gradient(), send_gradient()               … back: a gradient that comes in is held by the schedule, too
//   backward_head(), backward_module(), backward_norm(), backward(unit, held)   held: not null where the gradient of what the unit returned
//                                                     is held by the schedule when the unit has used it
//   consider_input(), consider_gradient()             the stream, or its gradient, is about to be alive, beside all else
//   drop_gradients()                                  what a micro-batch's backward has made of weight gradients goes
#pragma once

#include <headroom/allocator/stream.hpp>
#include <headroom/engine/tensor_parallel/chunk_runs.hpp>

namespace headroom {

namespace detail {

/// Masks of padding, which BERT makes on every stage (core/models/bert/bert_model.py _sanity_check_attention_and_get_attn_mask_dimension): a byte
/// for each key, and for each pair of positions in Megatron's own attention and in TransformerEngine before 1.10, of images before torch 2.5.
/// T5 has one for the encoder and one for the attention to it; Megatron's own attention is given the decoder's, too
/// (core/datasets/t5_dataset.py config_attention_mask).
constexpr bytes padding_masks(const settled_job& s) {
  const auto& sc = s.layer;
  const bool pairs = !sc.zeroes_padding;
  const auto mask = [&](std::int64_t queries, std::int64_t keys) { return bytes{checked::mul(sc.samples, keys, pairs ? queries : 1)}; };
  if (sc.memory == 0) return mask(sc.sequence, sc.sequence);
  if (!pairs) return mask(1, sc.memory) + mask(1, sc.sequence);
  return mask(sc.memory, sc.memory) + mask(sc.sequence, sc.memory) + (sc.habits->modules.local() ? mask(sc.sequence, sc.sequence) : bytes{0});
}

/// What of a micro-batch lies beside the residual stream of a chunk: a dropout's mask behind the embedding, with what DeepSpeed's pipeline
/// keeps of the chunk's ends, and an attention mask that the loader makes.
struct chunk_masks {
  bytes embedding, attention;
};
constexpr chunk_masks masks_of(const settled_job& s, bool has_embedding, bool has_head) {
  const auto& sc = s.layer;
  bytes embedding{has_embedding && sc.drops.embedding.positive() ? checked::mul(sc.stream_tokens() + encoder_tokens(s), s.model.hidden) : 0};
  if (sc.habits->modules.deepspeed()) embedding += pipe_of(s, has_embedding, has_head).passed;
  if (s.model.bidirectional || sc.memory > 0) return {embedding, padding_masks(s)};
  const bool masks = sc.habits->attention.masks_in_loader && (has_embedding || has_head) && !sc.habits->modules.deepspeed();
  return {embedding, bytes{masks ? checked::mul(sc.samples, sc.sequence, sc.sequence / sc.context) : 0}};
}

/// A chunk's layers, and what it has beside them.
struct chunk_facts {
  const shape* model{};
  const chunk_runs* layers{};
  chunk_masks masks{};
  bytes input{};              ///< a tensor of the residual stream
  std::int64_t modules{};     ///< of multi-token prediction, before the head
  std::int64_t encoder{};     ///< layers of an encoder or of a tower that trains, which run first …
  bytes memory{};             ///< … and what they make, for all layers of the decoder
  bool has_head{};
  bool holds_gradient{};      ///< the schedule names the gradient that came in until the chunk's backward has returned
  bool saves_mask{};          ///< the attention mask, which is an argument of the model's forward, is saved with every checkpoint that is given it
};
constexpr chunk_facts facts_of(const job& j, const shape& m, const chunk_runs& layers, bool has_head, bytes input, const chunk_masks& masks, bytes memory) {
  const auto modules = j.recompute.mode == recompute_mode::selective ? j.recompute.modules : 0;
  const bool saves = j.recompute.mode == recompute_mode::full || (modules >> static_cast<int>(recompute_module::core_attn) & 1U) != 0;
  return {&m, &layers, masks, input, m.mtp_layers, m.encoder.layers + (m.vision.kind == vision_kind::megatron_clip ? m.vision.layers : 0), memory, has_head, j.framework.pipeline.keeps_tensors, saves};
}

/// Layers that run together: one, or those that share a checkpoint.
struct layer_unit {
  const chunk_run& run;
  std::int64_t n;  ///< of the run
  [[nodiscard]] constexpr std::int64_t first() const { return run.first + n * run.each; }
  [[nodiscard]] constexpr std::int64_t last() const { return first() + run.each - 1; }
};

/// What a group of weights has of its own for a while.
enum class group_slot : std::uint8_t {
  gathered,   ///< its weights, whole
  gradients,  ///< their gradients, whole, until they are reduced
};

/// Weights that are there whole, with gradients that are added up in place: nothing happens around a layer.
struct weights_in_place {
  static constexpr bool gathers = false;
  static constexpr void before_input() {}
  static constexpr void after_input() {}
  static constexpr void begin_forward() {}
  static constexpr void before_forward(std::int64_t) {}
  static constexpr void after_forward(std::int64_t) {}
  static constexpr void before_head() {}
  static constexpr void after_head() {}
  static constexpr void begin_backward() {}
  static constexpr void before_backward(std::int64_t) {}
  static constexpr void after_backward(std::int64_t) {}
  static constexpr void end_backward() {}
};

}  // namespace detail

/// What a micro-batch leaves between a chunk's forward and its backward, beside what layers save.
template <class Handle>
struct chunk_leaves {
  Handle embedding_mask{}, attention_mask{};
  Handle memory{}, memory_gradient{};  ///< what an encoder has made
};

/// One chunk's forwards and backwards, event by event, told to a listener.
template <class Listener, class Units>
class chunk_step {
 public:
  constexpr chunk_step(const detail::chunk_facts& f, Units& units, Listener& to) : of_(&f), units_(&units), to_(&to) {}

  constexpr void forward(chunk_leaves<typename Listener::handle>& leaves) {
    auto& to = *to_;
    const auto& f = *of_;
    to.enter(phase::forward, -1);
    leaves.attention_mask = to.make(f.masks.attention, row::activations);
    leaves.embedding_mask = to.make(f.masks.embedding, row::activations);
    if (f.encoder > 0) [[unlikely]] {
      to.forward_encoder(f.encoder);
      leaves.memory = to.make(f.memory, row::activations);
    }
    units_->before_input();
    to.receive();
    units_->after_input();
    units_->begin_forward();
    const auto& layers = *f.layers;
    for (std::int32_t i = 0; i < layers.size; ++i) {
      const auto r = layers.at(i, *f.model);
      to.each_up(r, *units_, [&](std::int64_t n) {
        const detail::layer_unit u{r, n};
        to.enter(phase::forward, u.first());
        units_->before_forward(u.first());
        to.forward(u);
        units_->after_forward(u.first());
      });
    }
    if (f.has_head)
      forward_head();
    else
      to.send();
    if (!f.saves_mask) to.free(leaves.attention_mask);
  }

  constexpr void backward(chunk_leaves<typename Listener::handle>& leaves) {
    auto& to = *to_;
    const auto& f = *of_;
    to.enter(phase::backward, -1);
    typename Listener::handle held{};  // the gradient that came in is the schedule's output_tensor_grad until this has returned
    if (f.has_head)
      backward_head();
    else
      to.receive_gradient();
    units_->begin_backward();
    const auto& layers = *f.layers;
    for (auto i = layers.size; i-- > 0;) {
      const auto r = layers.at(i, *f.model);
      to.each_down(r, *units_, [&](std::int64_t n) {
        const detail::layer_unit u{r, n};
        const bool first = i == layers.size - 1 && n == r.count - 1;
        to.enter(phase::backward, u.first());
        units_->before_backward(u.first());
        to.backward(u, first && !f.has_head && f.holds_gradient ? &held : nullptr);
        units_->after_backward(u.first());
        if (first && f.encoder > 0) leaves.memory_gradient = to.make(f.memory, row::temporaries);  // all layers' gradients are added up in it
      });
    }
    units_->end_backward();
    to.send_gradient();
    if (f.encoder > 0) [[unlikely]] {
      to.free(leaves.memory);
      to.free(leaves.memory_gradient);
      to.backward_encoder(f.encoder);
    }
    to.free(held);
    to.free(leaves.embedding_mask);
    to.free(leaves.attention_mask);
  }

 private:
  constexpr void forward_head() {
    auto& to = *to_;
    if (of_->modules > 0) [[unlikely]] {
      to.forward_norm();
      for (std::int64_t i = 0; i < of_->modules; ++i) to.forward_module();
    }
    to.enter(phase::loss_forward, -1);
    units_->before_head();
    to.forward_head();
    units_->after_head();
  }
  constexpr void backward_head() {
    auto& to = *to_;
    units_->before_head();
    to.backward_head();
    units_->after_head();
    if (of_->modules == 0) return;
    // The gradients of all hidden states lie in one tensor until the stack's own is used.
    auto joined = to.make(of_->modules * of_->input, row::temporaries);
    for (std::int64_t i = 0; i < of_->modules; ++i) to.backward_module();
    to.backward_norm();
    to.free(joined);
  }

  const detail::chunk_facts* of_;
  Units* units_;
  Listener* to_;
};

}  // namespace headroom
