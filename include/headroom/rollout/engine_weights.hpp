// Distributed under the Boost Software License, Version 1.0.
// The weights of a model as an inference engine holds them on one GPU, divided by its own tensor parallelism.
#pragma once

#include <headroom/model/inventory.hpp>
#include <headroom/recipe/number_format.hpp>
#include <headroom/rollout/engine.hpp>

namespace headroom {

/// Why an engine's weights, or its keys and values, cannot be told of a model; empty where they can.
constexpr objection check_generated(const shape& m, std::int64_t tensor, const auto& no) {
  if (m.encoder.layers > 0 || m.bidirectional || m.head != head_kind::language)
    return no("headroom: rollout: only decoders with a head over the vocabulary are modelled in an inference engine; model", m.label);
  if (m.pattern.names_own()) return no("headroom: rollout: what an inference engine keeps of a layer of one's own is not known; generate with the trainer elsewhere, or leave rollout out");
  if (m.recurs())
    for (const auto& k : kinds_of(m))
      if (k.kind.mixer != mixer_kind::attention && k.kind.mixer != mixer_kind::gated_delta_net)
        return no("headroom: rollout: what is kept of recurrent layers while completions are generated is modelled of Gated DeltaNet alone; model", m.label);
  if (tensor < 1) return no("headroom: rollout.tensor must be 1 or more", tensor);
  if (tensor == 1) return {};
  if (m.vision.layers > 0 && (m.vision.projector != projector_kind::merger || m.vision.heads % tensor != 0))
    return no("headroom: rollout.tensor: how an engine divides a tower is modelled of Qwen-VL's alone, whose heads it must divide; write 1, or leave rollout out; tensor", tensor);
  if (m.recurs() && (m.ssm.heads % tensor != 0 || m.ssm.groups % tensor != 0)) return no("headroom: rollout.tensor must divide model.ssm.heads and groups", tensor);
  if (m.heads % tensor != 0) return no("headroom: rollout.tensor must divide the attention heads", tensor);
  if (!m.latent() && m.kv() % tensor != 0 && tensor % m.kv() != 0)
    return no("headroom: rollout.tensor must divide the heads of keys and values, or be a multiple of them", tensor);
  return {};
}

/// Heads of keys and values on each of `tensor` GPUs: at least one, so that several hold the same where there are fewer heads than GPUs
/// (vllm model_executor/layers/linear.py QKVParallelLinear; sglang srt/layers/linear.py, the same class).
constexpr std::int64_t engine_kv_heads(const shape& m, std::int64_t tensor) { return tensor >= m.kv() ? 1 : m.kv() / tensor; }

namespace detail {

/// Rows of a weight before the engine divides them. Tables of the vocabulary are padded to a multiple of 64 (vllm and sglang,
/// layers/vocab_parallel_embedding.py, DEFAULT_VOCAB_PADDING_SIZE).
constexpr std::int64_t undivided_rows(const weight& w) { return w.split == split_axis::vocabulary ? checked::round_up(w.rows, std::int64_t{64}) : w.rows; }
constexpr bool of_keys(const shape& m, const weight& w) { return !m.latent() && (w.role == module::k_proj || w.role == module::v_proj); }

/// How an engine cuts a weight: the two matrices that join Qwen-VL's towers to the text, which trainers hold whole, like those of an MLP
/// (vllm model_executor/models/qwen2_vl.py Qwen2VisionPatchMerger, qwen2_5_vl.py, qwen3_vl.py). Their biases are counted whole.
constexpr split_axis engine_split(const weight& w) {
  if (w.role != module::projector || w.parts == 0) return w.split;
  return w.parts == part_bits(std::uint32_t{1} << static_cast<int>(module::up_proj)) ? split_axis::rows : split_axis::columns;
}

constexpr std::int64_t engine_rows(const shape& m, const weight& w, std::int64_t tensor) {
  if (const auto cut = engine_split(w); cut != split_axis::rows && cut != split_axis::vocabulary) return w.rows;
  return of_keys(m, w) ? checked::mul(engine_kv_heads(m, tensor), m.head_width()) : undivided_rows(w) / tensor;
}

}  // namespace detail

/// Why an engine cannot divide a model over so many GPUs, or hold it in a format; empty where it can.
constexpr objection check_divided(const shape& m, const inventory& list, std::int64_t tensor, const number_format& format, const auto& no) {
  if (format.quantised() || format.width() < 2)
    return no("headroom: rollout.format must be bf16, fp16 or fp32: what an engine keeps of quantised weights (scales, layers that stay in 16 bits) is not modelled");
  for (const auto& w : list) {
    const auto split = detail::engine_split(w);
    if (w.role == module::mtp || split == split_axis::none || (split == split_axis::rows && detail::of_keys(m, w))) continue;
    const auto cut = split == split_axis::columns ? w.columns : detail::undivided_rows(w);
    if (cut % tensor != 0) return no("headroom: rollout.tensor must divide the rows or columns of every matrix, and the vocabulary padded to a multiple of 64", tensor);
  }
  return {};
}

/// Elements on one GPU. Matrices are cut by rows or by columns, norms, routers and compressing projections are whole on each; modules of
/// multi-token prediction are not loaded.
constexpr parameters engine_parameters(const shape& m, const inventory& list, std::int64_t tensor) {
  parameters sum{0};
  for (const auto& w : list) {
    if (w.role == module::mtp) continue;
    const auto columns = detail::engine_split(w) == split_axis::columns ? w.columns / tensor : w.columns;
    sum += parameters{checked::mul(detail::engine_rows(m, w, tensor), columns, w.copies())};
  }
  return sum;
}

/// Errors: job_error for what check_generated() or check_divided() has something against.
constexpr bytes engine_weights(const shape& m, const inventory& list, std::int64_t tensor, const number_format& format) {
  if (const auto why = check_generated(m, tensor, objecting{})) refuse(why);
  if (const auto why = check_divided(m, list, tensor, format, objecting{})) refuse(why);
  return engine_parameters(m, list, tensor) * format.density();
}

}  // namespace headroom
