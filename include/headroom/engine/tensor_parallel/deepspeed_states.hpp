// Distributed under the Boost Software License, Version 1.0.
// What DeepSpeed keeps around layers in Megatron's manner (Megatron-DeepSpeed, GPT-NeoX): its optimizers' states, and its pipeline's tensors.
// Sources: deepspeed runtime/engine.py _configure_optimizer, runtime/fp16/fused_optimizer.py FP16_Optimizer, runtime/bf16_optimizer.py
// BF16_Optimizer, runtime/zero/stage_1_and_2.py step and reduce_independent_p_g_buckets_and_remove_grads (v0.6.0 to v0.9.5);
// runtime/pipe/engine.py PipelineEngine, runtime/pipe/schedule.py TrainSchedule.num_pipe_buffers.
#pragma once

#include <headroom/engine/tensor_parallel/residual.hpp>
#include <headroom/engine/tensor_parallel/stage_weights.hpp>
#include <headroom/states/outside.hpp>

namespace headroom::detail {

constexpr bool under_deepspeed(const settled_job& s) { return s.source->framework.modules.deepspeed(); }

/// Which optimizer DeepSpeed wraps around Adam: with gradients added up in fp32 BF16_Optimizer, with ZeRO's first stage DeepSpeedZeroOptimizer,
/// else FP16_Optimizer.
enum class deepspeed_wrapper : std::uint8_t { bf16, zero, fp16 };
constexpr deepspeed_wrapper wrapper_of(const settled_job& s) {
  if (s.precision.gradients.width() == 4 && s.precision.parameters.width() == 2) return deepspeed_wrapper::bf16;
  return s.source->sharding.cuts(sharded_state::optimizer) ? deepspeed_wrapper::zero : deepspeed_wrapper::fp16;
}

/// Autograd's own gradients beside those that are added up: BF16_Optimizer frees them when the next backward begins (clear_lp_grads). They
/// are counted all the time.
constexpr bytes other_gradients(const settled_job& s, parameters all) {
  return wrapper_of(s) == deepspeed_wrapper::bf16 ? bytes{checked::mul(all.count(), s.precision.parameters.width())} : bytes{0};
}

/// Beside parameters, 16-bit gradients and states, while the optimizer steps: a list of fp32 gradients and one tensor of them; or of a
/// partition a flat copy and its fp32 cast, when the gradients of other partitions have gone.
constexpr bytes deepspeed_update(const settled_job& s, parameters all) {
  const auto n = all.count(), g = s.precision.gradients.width();
  switch (wrapper_of(s)) {
    case deepspeed_wrapper::bf16: return bytes{0};
    case deepspeed_wrapper::fp16: return bytes{checked::mul(n, 2 * 4)};
    case deepspeed_wrapper::zero: break;
  }
  const auto part = checked::mul(checked::ceil_div(n, s.data), 2 * g + 4);
  return max(bytes{part} - bytes{checked::mul(n, g)}, bytes{0});
}

/// Gradients are joined in a bucket to be reduced, when all micro-batches are done (allreduce_no_retain). ZeRO's bucket is one buffer of its full size
/// however few gradients there are, unless they are not to be made contiguous (stage_1_and_2.py reduce_gradients, pipeline_parallel). BF16_Optimizer's
/// are one tensor already, which is reduced where it lies if it is larger than a bucket.
constexpr bytes deepspeed_bucket(const settled_job& s, parameters all) {
  constexpr std::int64_t usual = 500'000'000;  // MEMORY_OPT_ALLREDUCE_SIZE; zero_optimization.reduce_bucket_size
  const auto stated = s.source->sharding.reduce_bucket_size;
  const bool zero = wrapper_of(s) == deepspeed_wrapper::zero;
  const auto most = zero && stated >= 0 ? stated : usual;
  if (zero && s.source->sharding.contiguous_gradients != choice::no) return bytes{checked::mul(most, s.precision.gradients.width())};
  if (wrapper_of(s) == deepspeed_wrapper::bf16 && all.count() > most) return bytes{0};
  return bytes{checked::mul(all.count() < most ? all.count() : most, s.precision.gradients.width())};
}

/// Weights are joined when the optimizer is made: beside themselves, and beside copies of them in FP16_Optimizer. ZeRO's go to the host
/// meanwhile.
constexpr bytes deepspeed_load(const settled_job& s, bytes weights) {
  switch (wrapper_of(s)) {
    case deepspeed_wrapper::bf16: return 2 * weights;
    case deepspeed_wrapper::fp16: return 3 * weights;
    case deepspeed_wrapper::zero: break;
  }
  return weights;
}

/// The pipeline's own tensors of a chunk. With tensor parallelism what a stage hands on is cut over its ranks, and what its last layer
/// made is made again when the gradient comes back (is_pipe_partitioned); without, a stage keeps both its input and the copy that it works
/// on, and its output. The last stage has two buffers, which hold the logits of earlier micro-batches until they are used again;
/// without a pipeline nothing does (Megatron-DeepSpeed megatron/core/pipeline_parallel/schedules.py, forward_backward_no_pipelining).
struct deepspeed_pipe {
  bytes passed{};    ///< of each micro-batch, from its forward to its backward
  bytes received{};  ///< for the whole run, for what comes in and for its gradient
  bytes output{};    ///< made again, through backward
  bytes logits{};    ///< of a micro-batch
  bytes copied{};    ///< what a checkpoint keeps of its input, beside the whole of it (activation_checkpointing/checkpointing.py CheckpointFunction, partition_activations)
  bytes cast{};      ///< a gradient in fp32 on its way to those that are added up
  bool older{};      ///< more than one micro-batch's logits are left when a forward begins
};
constexpr deepspeed_pipe pipe_of(const settled_job& s, bool first, bool last) {
  const auto& d = s.source->parallel;
  const auto& m = s.model;
  deepspeed_pipe r;
  const auto micros = s.source->batch.accumulation;
  const bool keeps = micros > 1 && !s.source->framework.pipeline.none;
  if (last && keeps) r.logits = bytes{checked::mul(checked::mul(s.layer.tokens, s.layer.vocabulary) / d.tensor, s.source->framework.modules.neox() ? s.layer.width : 4)};
  r.older = keeps && micros > 2;
  if (wrapper_of(s) == deepspeed_wrapper::bf16) {
    auto widest = (m.mlp == mlp_kind::gated && !s.source->framework.mlp.gates_apart ? 2 : 1) * m.ffn;
    if (const auto projected = m.query_width() + 2 * m.kv_width(); projected > widest) widest = projected;
    if ((first || last) && s.layer.vocabulary > widest) widest = s.layer.vocabulary;
    r.cast = bytes{checked::mul(checked::mul(widest, m.hidden) / d.tensor, 4)};
  }
  const auto input = residual_tensor(s);
  if (s.source->framework.checkpointing.copies_input && s.source->recompute.mode == recompute_mode::full) r.copied = kept_input(s);
  if (s.source->framework.attention.masks_in_loader) {
    const bytes mask{checked::mul(s.layer.samples, s.layer.sequence, s.layer.sequence)};
    r.passed = (first || d.tensor == 1 ? 2 : 1) * mask;
    r.received = (micros > 1 ? r.passed : bytes{0}) + (first ? bytes{0} : mask);
  }
  if (d.pipeline == 1) return r;
  const bytes part{checked::ceil_div(input.count(), d.tensor)};
  r.received += (first ? bytes{0} : part) + (last ? bytes{0} : part);
  r.passed += (last ? bytes{0} : part) + (first || d.tensor > 1 ? bytes{0} : input);
  r.output = last || d.tensor == 1 ? bytes{0} : input;
  return r;
}

/// DeepSpeed around a chunk (engine/tensor_parallel/chunk_step.hpp).
template <class Listener>
class deepspeed_chunk {
 public:
  static constexpr bool gathers = false;
  constexpr deepspeed_chunk(const deepspeed_pipe& sizes, Listener& to) : sizes_(sizes), to_(&to) {}

  constexpr void before_input() {
    if (sizes_.older) older_ = to_->make(sizes_.logits, row::logits);
  }
  static constexpr void after_input() {}
  static constexpr void begin_forward() {}
  constexpr void before_forward(std::int64_t) { copy_ = to_->make(sizes_.copied, row::activations); }
  constexpr void after_forward(std::int64_t) { to_->free(copy_); }
  static constexpr void before_head() {}
  constexpr void after_head() { to_->free(older_); }
  constexpr void begin_backward() { output_ = to_->make(sizes_.output, row::activations); }
  constexpr void before_backward(std::int64_t) { copy_ = to_->make(sizes_.copied, row::temporaries); }
  constexpr void after_backward(std::int64_t) { to_->free(copy_); }
  constexpr void end_backward() {
    auto cast = to_->make(sizes_.cast, row::temporaries);
    to_->consider_gradient();
    to_->free(cast);
    to_->free(output_);
  }

 private:
  deepspeed_pipe sizes_;
  Listener* to_;
  typename Listener::handle older_{}, output_{}, copy_{};
};

}  // namespace headroom::detail
