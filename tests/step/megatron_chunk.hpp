// Distributed under the Boost Software License, Version 1.0.
// Layers that run in a row on a stage of Megatron-LM's pipelines, tensor by tensor: what none of the schedule's variables and no graph refers to any
// more goes, as in Python. Layers, head and loss weigh what the library's do (tests/block).
// Source: Megatron-LM core/pipeline_parallel/schedules.py backward_step, deallocate_output_tensor; core/transformer/transformer_block.py
// set_input_tensor, _checkpointed_forward.
#pragma once

#include "../estimate/dice.hpp"
#include "ledger.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>

namespace ledger {

/// A tensor that lives as long as something refers to it.
struct held_tensor {
  account* is;
  std::string name;
  held_tensor(account& to, std::string what, row of, std::int64_t size) : is(&to), name(std::move(what)) { to.make(name, of, size); }
  ~held_tensor() { is->free(name); }
  held_tensor(const held_tensor&) = delete;
  held_tensor& operator=(const held_tensor&) = delete;
};
/// What a stage has received, with its gradient once it has one.
struct received {
  std::shared_ptr<held_tensor> data, gradient;
};
/// The result of a chunk's forward: its graph, which refers to what it began with. The data are let go once they are sent.
struct result {
  std::shared_ptr<received> input;
  std::int64_t micro;
  std::shared_ptr<held_tensor> data{};  ///< where the schedule lets go of them later
};

/// Bytes of a stage's input.
inline std::int64_t bytes_of_input(const job& j) { return 2 * j.batch.micro * j.batch.sequence * j.model.hidden / (j.parallel.sequence ? j.parallel.tensor : 1); }

class megatron_chunk {
 public:
  /// `index`: of the model's chunks.
  megatron_chunk(const job& j, const settled_job& s, account& is, std::int64_t index, std::int64_t first)
      : j_(&j), s_(&s), is_(&is), index_(index), first_(first), count_(j.parallel.stage_layers[index]), x_(bytes_of_input(j)), begins_(index == 0), ends_(index + 1 == j.parallel.pipeline * j.parallel.virtual_pipeline) {}

  [[nodiscard]] bool begins() const { return begins_; }
  [[nodiscard]] bool ends() const { return ends_; }

  /// What gathers weights and reduces gradients does: up or down, before a layer (of this chunk) or behind it; around the head; when the layers are done.
  std::function<void(bool up, bool begins, std::int64_t layer)> around = [](bool, bool, std::int64_t) {};
  std::function<void(bool up, bool begins)> head = [](bool, bool) {};
  std::function<void()> embedding_down = [] {};

  std::shared_ptr<received> receive() {
    if (begins_) return std::make_shared<received>();
    return std::make_shared<received>(received{std::make_shared<held_tensor>(*is_, numbered("received"), row::communication_buffers, x_), nullptr});
  }
  std::shared_ptr<held_tensor> receive_gradient() {
    if (ends_) return nullptr;
    return std::make_shared<held_tensor>(*is_, numbered("gradient of output"), row::communication_buffers, x_);
  }
  /// What is sent, until it is let go.
  std::shared_ptr<held_tensor> output() {
    if (ends_) return nullptr;
    return std::make_shared<held_tensor>(*is_, numbered("output"), row::communication_buffers, x_);
  }

  std::shared_ptr<result> forward(const std::shared_ptr<received>& input, std::int64_t micro) {
    const auto sc = sizes();
    attribute_ = input;
    if (!begins_) input->data = nullptr, input->data = std::make_shared<held_tensor>(*is_, numbered("input"), row::activations, x_);  // in use from now on
    is_->make(of("mask", -1, micro), row::activations, begins_ && j_->dropout.embedding.per_million > 0 ? x_ / 2 : 0);
    for (std::int64_t n = 0; n < count_; ++n) {
      around(true, true, n);
      const auto l = layer(sc, n);
      const bool inside = n % in_checkpoint() > 0;  // of a checkpoint that an earlier layer began, and whose input stays
      is_->look(phase::forward, amounts_of(recomputes(n) ? l.forward_off : l.forward) + own(n));
      if (!recomputes(n)) {
        REQUIRE(l.input_saved);
        is_->make(of("kept", n, micro), amounts_of(l.saved) + own(n));
      } else if (!inside) {
        is_->make(of("kept", n, micro), amounts{{row::activations, x_}} + own(n));
      }
      around(true, false, n);
    }
    if (ends_)
      with_made([&] { return megatron::last_block(sc, trained_modules(*s_->source, -1)); }, [&](const program& p) {
        const auto f = walk_forward(p);
        head(true, true);
        is_->look(phase::loss_forward, amounts_of(f.peak));
        head(true, false);
        is_->make(of("kept head", -1, micro), amounts_of(f.saved_rows));
      });
    return std::make_shared<result>(result{input, micro, nullptr});
  }

  std::shared_ptr<held_tensor> backward(const std::shared_ptr<received>& input, std::int64_t micro) {
    const auto sc = sizes();
    if (ends_)
      with_made([&] { return megatron::last_block(sc, trained_modules(*s_->source, -1)); }, [&](const program& p) {
        is_->free(of("kept head", -1, micro));
        head(false, true);
        is_->look(phase::backward, amounts_of(walk_backward(p, true).peak));
        head(false, false);
      });
    for (auto n = count_; n-- > 0;) {
      // What came in is the schedule's, while the last layer computes with it, too.
      const bool comes_in = n + 1 == count_ && !ends_;
      const amounts taken{{row::communication_buffers, comes_in ? -x_ : 0}};
      around(false, true, n);
      const auto l = layer(sc, n);
      if (!recomputes(n)) {
        is_->free(of("kept", n, micro));
        is_->look(phase::backward, amounts_of(comes_in ? l.backward_first : l.backward) + own(n) + taken);
      } else {
        const auto begin = n / in_checkpoint() * in_checkpoint();
        if (n + 1 == count_ || (n + 1) % in_checkpoint() == 0) again(sc, begin, n, micro, taken);
        is_->free(of("again", n, micro));
        is_->look(phase::backward, amounts_of(l.backward) + amounts{{row::activations, l.input_saved ? 0 : x_}} + own(n) + taken);
      }
      around(false, false, n);
    }
    embedding_down();
    is_->free(of("mask", -1, micro));
    if (begins_) return nullptr;
    input->gradient = std::make_shared<held_tensor>(*is_, numbered("gradient of input"), row::communication_buffers, x_);
    input->data = nullptr;  // from now on it is of use to nobody, but there
    input->data = std::make_shared<held_tensor>(*is_, numbered("used input"), row::communication_buffers, x_);
    return input->gradient;
  }

 private:
  [[nodiscard]] scene sizes() const {
    auto sc = s_->layer;
    sc.model = &s_->model;
    return sc;
  }
  [[nodiscard]] std::string numbered(const char* what) { return std::string(what) + " " + std::to_string(index_) + " " + std::to_string(++names_); }
  [[nodiscard]] std::string of(const char* what, std::int64_t layer, std::int64_t micro) const { return std::string(what) + " " + std::to_string(index_) + " " + std::to_string(layer) + " " + std::to_string(micro); }
  [[nodiscard]] bool recomputes(std::int64_t n) const {
    const auto& r = j_->recompute;
    return r.mode == recompute_mode::full && (r.method != recompute_method::block || n < r.layers);
  }
  [[nodiscard]] std::int64_t in_checkpoint() const { return j_->recompute.method == recompute_method::uniform && j_->recompute.layers > 1 ? j_->recompute.layers : 1; }
  [[nodiscard]] detail::divided_walk layer(const scene& sc, std::int64_t n) const {
    return detail::walk_divided_layer(sc, trained_modules(*s_->source, -1), s_->model.kind_of(first_ + n), recomputes(n));
  }
  /// The chunk's input is a tensor of its own.
  [[nodiscard]] amounts own(std::int64_t n) const { return {{row::activations, n == 0 && !begins_ ? -x_ : 0}}; }
  /// The layers of a checkpoint run forward once more, beside the gradient of what they gave.
  void again(const scene& sc, std::int64_t begin, std::int64_t last, std::int64_t micro, const amounts& taken) {
    is_->free(of("kept", begin, micro));
    for (auto n = begin; n <= last; ++n) {
      const auto l = layer(sc, n);
      is_->look(phase::backward, amounts_of(l.forward) + amounts{{row::temporaries, x_}} + own(n) + taken);
      is_->make(of("again", n, micro), amounts_of(l.saved) + (l.input_saved ? own(n) : amounts{}));
    }
  }

  const job* j_;
  const settled_job* s_;
  account* is_;
  std::int64_t index_, first_, count_, x_, names_{};
  bool begins_, ends_;
  std::shared_ptr<received> attribute_;  // TransformerBlock.input_tensor
};

/// A small Llama, dense or sparse, and how it trains, under so many stages of so many chunks.
inline job drawn_pipeline(draw::dice& dice, std::int64_t stages, std::int64_t chunks) {
  job j;
  auto& p = j.parallel;
  j.framework = frameworks::megatron;
  j.framework.attention.masks_in_loader = false;
  p.pipeline = stages;
  p.virtual_pipeline = chunks;
  p.tensor = dice.pick({1, 2});
  p.sequence = p.tensor > 1 && dice.flip();
  p.data = dice.pick({1, 2});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = p.pipeline * p.data, .gpus_per_node = p.tensor};
  j.model = {.hidden = 512, .heads = 8, .kv_heads = dice.pick({2, 8}), .ffn = dice.pick({1024, 2048}), .vocab = dice.pick({1024, 32768})};
  p.chunks = static_cast<std::int32_t>(stages * chunks);
  for (std::int32_t i = 0; i < p.chunks; ++i) j.model.layers += p.stage_layers[i] = static_cast<std::int32_t>(dice.pick({1, 2, 4}));
  if (dice.index(3) == 0) j.model.experts = {.count = 8, .active = 2, .ffn = 512, .shared_ffn = dice.flip() ? 512 : 0, .first_dense_layers = dice.pick({0, 1})};
  j.sharding.kind = dice.flip() ? sharding_kind::ddp : sharding_kind::megatron_distributed_optimizer;
  j.batch = {.micro = dice.pick({1, 2}), .sequence = dice.pick({256, 1024}), .accumulation = dice.pick({1, 3, 8, 20})};
  j.attention = dice.flip() ? attention::flash : attention::eager;
  if (dice.flip()) j.dropout = {{100'000}, {100'000}, {100'000}};
  switch (dice.index(5)) {
    case 0: break;
    case 1: j.recompute = recompute::full; break;
    case 2: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = dice.pick({1, 3})}; break;
    case 3: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = dice.pick({1, 2, 3})}; break;
    default: j.recompute = {.mode = recompute_mode::selective, .modules = static_cast<std::uint32_t>(dice.pick({1, 2, 3}))}; break;
  }
  return j;
}

}  // namespace ledger
