// Distributed under the Boost Software License, Version 1.0.
// What a step consists of beside its stack of layers: what comes before and after them, and the update.
#pragma once

#include <headroom/block/embedding.hpp>
#include <headroom/block/encoder.hpp>
#include <headroom/block/in_place.hpp>
#include <headroom/block/loss.hpp>
#include <headroom/block/tower.hpp>
#include <headroom/sharding/windows.hpp>

namespace headroom {

/// What runs before the main stack and is walked back through after it: a vision tower, an encoder.
struct prelude {
  moment forward{};         ///< the peak of its forward
  moment saved{};           ///< for its backward, and what the main stack reads of it all along
  moment backward{};        ///< the peak of its backward: what it saved and the gradient of its output included
  bytes output_gradient{};  ///< of what the main stack's layers read, gathered from one after the other
  bytes gradients{};        ///< of its weights, as the optimizer finds them; 0 where they lie in buffers that hold the main stack's, too
  bytes summed{};           ///< … whole, while micro-batches add them up and the last reduces them (FSDP's no_sync)
  bytes checkpoints{};      ///< of its layers, in host memory
  bool has_gradient{};      ///< something in it trains, or is asked for a gradient
  bool caches{};            ///< weights in it train, whose copies autocast keeps to the end of the forward
};

namespace detail {

/// Whether the embedding's result is a leaf that needs a gradient, so that something reaches the adapters.
constexpr bool embedding_is_leaf(const settled_job& s, const program& front) {
  return !front.needs_gradient(front.output()) && embedding_asked_for_gradient(*s.source, s.layer.base.quantised());
}

}  // namespace detail

/// Whether gradients that autograd makes are added to existing ones, or leave at once: then they are only a moment.
constexpr bool momentary_gradients(const settled_job& s, const windows& w) {
  return w.gradients_before.total > bytes{0} ? w.path != gradient_path::unit || (s.source->sharding.no_sync && !w.flat_pieces) : w.path == gradient_path::leaves;
}

namespace detail {

/// Whether micro-batches before the last leave whole gradients (FSDP's no_sync).
constexpr bool sums_whole_gradients(const job& j) { return j.sharding.no_sync && j.batch.accumulation > 1; }
/// How many micro-batches of a step differ: the first finds no gradients, and under no_sync the last alone reduces them.
constexpr std::int64_t different_micro_batches(const job& j) {
  const std::int64_t most = sums_whole_gradients(j) ? 3 : 2;
  return j.batch.accumulation < most ? j.batch.accumulation : most;
}

/// What comes after the layers.
constexpr program tail_of(const scene& s, const module_set& trained, bool input_has_gradient) {
  if (s.scoring.of_two_words) return two_words_head(s, trained, input_has_gradient);
  if (s.model->head == head_kind::language && s.model->classes > 0) return value_head(s, trained, input_has_gradient);
  return s.model->head == head_kind::language ? head_and_loss(s, trained, input_has_gradient) : encoder_head(s, trained, input_has_gradient);
}

/// What comes before or after the layers, walked by itself: nothing where it is not `here`.
struct end_walk {
  forward_walk forward{};
  backward_walk backward{};
  bytes input{}, output{};  ///< of its ends, wherever they are
  bool flows{};             ///< its output has a gradient
  bool keeps_output{};      ///< … and is saved
};
constexpr end_walk walk_end(const program& p, bool here, bool momentary) {
  const auto out = p.output();
  return {here ? walk_forward(p) : forward_walk{}, here ? walk_backward(p, momentary) : backward_walk{}, p.input().valid() ? p.size(p.input()) : bytes{0}, p.size(out), p.needs_gradient(out),
          (p.saved() & p.storages(out.bit())) != 0};
}

/// The gradient of a table that serves as embedding and head: autograd adds up both in the input buffer of its AccumulateGrad, which
/// runs behind the embedding's backward (torch/csrc/autograd/engine.cpp), so that the head's stays until then. 0: no such table.
constexpr bytes tied_gradient(const settled_job& s, const scene& sc) {
  if (!s.model.tied || !trained_modules(*s.source, -1).has(module::head)) return bytes{0};
  const auto width = sc.weight_width;
  return bytes{checked::round_up(checked::mul(sc.divided(sc.vocabulary), s.model.embedding_width(), width), sc.granule)};
}

/// Whether their sum is a third tensor. The head's is a transposed view, which keeps what it is a view of, so that nothing is added to it in place
/// (autograd/input_buffer.cpp can_accumulate_inplace; variable.h DifferentiableViewMeta); where weights were cast it has been cast back, and is no view.
/// Seen under torch 2.11; a run of 2024-11 (torch 2.5) added in place. What lies between is taken for the larger.
constexpr bool sums_tied_apart(const scene& sc) { return sc.habits->autograd.sums_out_of_place || (sc.sums_views_apart && !sc.casts_weights); }

/// Whether an 8-bit update is torchao's, whatever the job calls it.
constexpr bool updates_by_copies(const settled_job& s) { return s.optimizer.state.quantised() && s.source->framework.optimizer.int8_copies > 0; }
constexpr std::int32_t foreach_copies(const settled_job& s) { return s.optimizer.foreach_copies > 0 ? s.optimizer.foreach_copies : s.source->framework.optimizer.foreach_copies; }

/// Temporaries of an update that runs tensor by tensor: of the largest.
constexpr bytes update_of_one(const settled_job& s, const state_bytes& st) {
  const auto& o = s.optimizer;
  const auto& habits = s.source->framework;
  if (updates_by_copies(s)) return o.paged_from > 0 ? bytes{0} : habits.optimizer.int8_copies * st.largest_trained;
  if (o.by_tensor != nullptr) return st.own_update_alone;
  if (o.how == implementation::foreach) return foreach_copies(s) * st.largest_trained;
  return o.how == implementation::loop ? 2 * st.largest_trained : bytes{0};
}

/// Temporaries of a foreach update (torch/optim/adamw.py _multi_tensor_adamw): so many copies of the tensors of one format, then of the
/// other's, each named until the next is there.
constexpr bytes foreach_temporaries(std::int32_t copies, const state_bytes& st) {
  if (copies == 0) return bytes{0};
  return st.trained_copy + (copies - 1) * max(st.trained_copy - st.adapter_copy, st.adapter_copy);
}

/// Temporaries of the optimizer's update of all that trains on a rank.
constexpr bytes update_of_all(const settled_job& s, const state_bytes& st) {
  const auto& habits = s.source->framework.optimizer;
  if (updates_by_copies(s)) return update_of_one(s, st);
  if (s.optimizer.by_tensor != nullptr) return st.own_update;
  if (s.optimizer.how == implementation::foreach) return foreach_temporaries(foreach_copies(s), st);
  // ZeRO's optimizer has one flat tensor (FP16_Optimizer, BF16_Optimizer and the partitions of runtime/zero), of which both temporaries are.
  if (s.optimizer.how == implementation::loop && s.flat && !s.source->sharding.gathers_units()) return 2 * st.trained_copy;
  if (s.optimizer.how == implementation::loop) return habits.loop_keeps_previous ? st.loop_temporary : 2 * st.largest_trained;
  return bytes{0};
}

/// The gradient of an embedding table, or of the head.
constexpr bytes table_gradient(const settled_job& s, const scene& sc) {
  return bytes{checked::mul(sc.vocabulary, s.model.hidden, sc.weight_width)};
}

}  // namespace detail

}  // namespace headroom
