// Distributed under the Boost Software License, Version 1.0.
// nanotron around a chunk (engine/tensor_parallel/chunk_step.hpp): autograd's gradients stay until a micro-batch's backward is done, and the
// embedding works on all tokens.
// Sources: huggingface/nanotron src/nanotron/optim/gradient_accumulator.py FP32GradientAccumulator.backward,
// parallel/tensor_parallel/nn.py TensorParallelEmbedding.forward.
#pragma once

#include <headroom/engine/tensor_parallel/chunk_step.hpp>

namespace headroom::detail {

/// What the embedding makes beside the chunk's input: its result for all tokens and that without the rows of other ranks, where the table is
/// divided; in backward the gathered gradient, the same without those rows, and the table's gradient.
struct embedding_sizes {
  bytes whole{}, table{};
};
constexpr embedding_sizes sizes_of_embedding(const settled_job& s) {
  const auto& sc = s.layer;
  const auto table = checked::mul(checked::mul(s.model.vocab, s.model.hidden) / sc.tensor, sc.weight_width);
  return {bytes{sc.tensor > 1 ? checked::round_up(checked::mul(sc.tokens, s.model.hidden, sc.width), sc.granule) : 0}, bytes{checked::round_up(table, sc.granule)}};
}

template <class Listener>
class kept_gradients {
 public:
  static constexpr bool gathers = false;
  constexpr kept_gradients(const embedding_sizes& sizes, bool first, Listener& to) : sizes_(first ? sizes : embedding_sizes{}), to_(&to) {}

  constexpr void before_input() {
    auto whole = to_->make(sizes_.whole, row::activations);
    own_ = to_->make(sizes_.whole, row::activations);
    to_->consider_input();
    to_->free(whole);
  }
  constexpr void after_input() { to_->free(own_); }
  static constexpr void begin_forward() {}
  static constexpr void before_forward(std::int64_t) {}
  static constexpr void after_forward(std::int64_t) {}
  static constexpr void before_head() {}
  static constexpr void after_head() {}
  static constexpr void begin_backward() {}
  static constexpr void before_backward(std::int64_t) {}
  static constexpr void after_backward(std::int64_t) {}
  constexpr void end_backward() {
    auto whole = to_->make(sizes_.whole, row::temporaries), own = to_->make(sizes_.whole, row::temporaries);
    to_->consider_gradient();
    to_->free(whole);
    auto table = to_->make(sizes_.table, row::gradients);
    to_->consider_gradient();
    to_->free(own);
    to_->free(table);
    to_->drop_gradients();
  }

 private:
  embedding_sizes sizes_;
  Listener* to_;
  typename Listener::handle own_{};
};

}  // namespace headroom::detail
