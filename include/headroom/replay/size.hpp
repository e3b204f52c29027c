// Distributed under the Boost Software License, Version 1.0.
// What a replay would take, before it starts: how many tensors it makes, and how many of them there are at a time, at most. Nothing is walked
// but each kind of block, once.
#pragma once

#include <headroom/block/stack_layers.hpp>
#include <headroom/engine/eager/step_parts.hpp>
#include <headroom/engine/tensor_parallel/divided_layers.hpp>
#include <headroom/engine/tensor_parallel/stage_order.hpp>
#include <headroom/fragmentation.hpp>

namespace headroom {

/// What a replay takes. It finds a tensor's place among those that are there, so that it is slower where there are many.
struct replay_size {
  std::int64_t tensors{};  ///< made, of all kinds of rank together
  std::int64_t alive{};    ///< of one rank, at the same time
  /// In tensors of a replay with few of them at a time. Each that is there takes about 200 bytes.
  [[nodiscard]] constexpr std::int64_t work() const {
    const auto slower = 1 + alive / 8192;
    return tensors > (std::int64_t{1} << 60) / slower ? std::int64_t{1} << 60 : tensors * slower;
  }
  [[nodiscard]] constexpr bool too_long() const;
};

/// A replay of more work than this is not begun: the report is that of estimate(), with all that fragmentation may take, and says so.
/// That many take a second or two; the largest job of the records of tests/accuracy, 530B on 35 stages, is taken to make half as many.
inline constexpr std::int64_t most_replayed = std::int64_t{1} << 24;

constexpr bool replay_size::too_long() const { return work() > most_replayed; }

namespace detail {

/// Counts that stay where they are once they are beyond any bound.
struct tensor_count {
  static constexpr std::int64_t most = std::int64_t{1} << 60;
  std::int64_t value{};
  constexpr tensor_count(std::int64_t n = 0) : value(n < most ? n : most) {}  // NOLINT(google-explicit-constructor)
  friend constexpr tensor_count operator+(tensor_count a, tensor_count b) { return a.value + b.value; }
  friend constexpr tensor_count operator*(tensor_count a, tensor_count b) { return b.value > 0 && a.value > most / b.value ? most : a.value * b.value; }
  constexpr tensor_count& operator+=(tensor_count b) { return *this = *this + b; }
};

/// The listener of a block's run (block/run.hpp) that counts what is made. All pieces but the first and the last make as many as the second.
class made_tensors {
 public:
  using set = wide_set;
  wide_set alive;
  tensor_count made{};

  constexpr made_tensors(const program& p, const wide_set& at_first) : alive(at_first), of_(&p) {}

  constexpr void make(const wide_set& s) {
    for (const auto t : each(s)) made += of_->one_of(t) > bytes{0} ? of_->elements(t) : 1;
  }
  constexpr void free(const wide_set&) {}
  constexpr void make_temporary(bytes b, const operation& o) {
    if (b > bytes{0}) made += o.temporary_block > bytes{0} ? checked::ceil_div(b.count(), o.temporary_block.count()) : 1;
  }
  constexpr void free_temporary(const operation&) {}
  constexpr void returns() {}
  constexpr void enters() {}

  constexpr void adopt(tensor) {}
  constexpr void make_gradients(const wide_set& s, const wide_set&) { make(s); }
  constexpr void free_gradients(const wide_set&) {}
  constexpr void free_second(tensor) {}
  constexpr void make_sum(tensor) { made += 1; }
  constexpr void settle_sum(tensor) {}
  constexpr void keep_gradients(const wide_set&) {}
  constexpr void hand_back(tensor) {}
  constexpr void make_weight(const operation& o) { made += (o.weight_gradient > bytes{0} || o.gradient_waits ? 1 : 0) + (o.bias_gradient > bytes{0} && o.weight_gradient > o.bias_gradient ? 1 : 0); }
  constexpr void add_weight(const operation& o) { make_weight(o); }
  constexpr void free_added_weight(const operation&) {}
  constexpr void keep_weight(const operation&) {}

  constexpr void begin_pieces(const wide_set&, const operation&) {}
  constexpr void make_piece(const wide_set& s, const operation&, std::int64_t) { make(s); }
  constexpr void begin_gradient_pieces(const wide_set&, const wide_set&, const operation&) {}
  constexpr void make_gradient_piece(const wide_set& s, const wide_set&, const operation&, std::int64_t) { make(s); }
  constexpr void drop_piece(const wide_set&, const wide_set&, const operation&) {}
  constexpr void end_pieces() {}
  constexpr std::int64_t after_piece(std::int64_t i, const operation& o) {
    if (i == 1 && o.pieces > 3) {
      made += tensor_count{made.value - before_.value} * tensor_count{o.pieces - 3};
      return o.pieces - 1;
    }
    before_ = made;
    return i + 1;
  }

 private:
  const program* of_;
  tensor_count before_{};
};

/// Of a block's forward and backward; `again`: its forward runs twice.
constexpr tensor_count made_by(const program& p, bool again) {
  const auto forward = [&](recording mode) {
    made_tensors to(p, p.storages(p.input().bit()));
    run_forward(p, mode, to);
    return to.made;
  };
  made_tensors back(p, wide_set(p.saved()) | kept_in_backward<wide_set>(p, weight_work::with_inputs));
  run_backward(p, weight_work::with_inputs, back);
  auto all = forward(recording::on) + back.made;
  if (again) all += forward(recording::off);
  if (p.checkpointed()) all += forward(recording::again);
  return all;
}

/// What a block leaves for its backward.
constexpr tensor_count kept_by(const program& p) {
  const auto kept = wide_set(p.saved()) | p.sticky() | p.held() | p.cached();
  tensor_count all{1};  // a checkpoint's input
  for (std::size_t i = 0; i < p.operations(); ++i) {
    const auto& o = p.template at<wide_set>(i);
    for (const auto t : each(p.storages(o.makes) & kept)) all += o.pieces * (p.one_of(t) > bytes{0} ? p.elements(t) : 1);
  }
  return all;
}

/// Of the layer that makes most, and what stands around the layers.
struct blocks_made {
  tensor_count layer{}, kept{}, ends{};
  template <class ForEach>
  constexpr void rise_to(bool again, const ForEach& for_each) {
    tensor_count made, stays;
    for_each([&](const program& p) {
      made += made_by(p, again);
      stays += kept_by(p);
    });
    if (made.value > layer.value) layer = made;
    if (stays.value > kept.value) kept = stays;
  }
  constexpr void add_end(const program& p) { ends += made_by(p, false); }
};

/// Tensors of a model's weights, adapters included, and how often each is there at most: loaded, packed, cut, joined; with a master copy and
/// moments; a gradient, and copies of an update.
constexpr tensor_count weight_tensors(const settled_job& s, const inventory& list) {
  const std::int64_t adapters = s.source->adapter.active() ? 3 : 0;
  tensor_count all;
  for (const auto& w : list) {
    const auto& d = s.source->parallel;
    const auto each = w.expert && s.source->framework.modules.megatron() ? checked::ceil_div(w.per_layer, d.expert) : w.per_layer;
    all += tensor_count{w.layers.count > 0 ? w.layers.count : 1} * each * (w.linear && !w.vector() ? 1 + adapters : 1);
  }
  return all;
}

/// Of trainers that allocate as they go: two steps, of one to three micro-batches. Around a layer its parameters come and go twice, and a few buffers.
template <class Layers>
constexpr replay_size size_of_steps(const settled_job& s, const inventory& list, const Layers& layers) {
  const auto& j = *s.source;
  scene sizes(s.layer);
  sizes.model = &s.model;
  const auto trained = [&] {
    auto all = trained_modules(j, -1);
    for (std::int32_t i = 0; i < j.trainable.size; ++i) all |= trained_modules(j, j.trainable.list[i].first_layer);
    return all;
  }();
  blocks_made made;
  const bool again = j.recompute.mode == recompute_mode::full;
  for (const auto& k : kinds_of(s.model)) made.rise_to(again, [&](const auto& visit) { layers.for_each_block(sizes, k.kind, trained, true, visit); });
  sizes.compiled = false;
  with_made([&] { return headroom::embedding(sizes, trained); }, [&](const program& p) { made.add_end(p); });
  with_made([&] { return tail_of(sizes, trained, true); }, [&](const program& p) { made.add_end(p); });
  const auto weights = weight_tensors(s, list);
  const auto micros = different_micro_batches(j);
  const auto copies = std::int64_t{foreach_copies(s)};
  const auto other = !s.layer.compares ? std::int64_t{0} : j.objective.has_teacher() ? j.objective.frozen.model.layers : s.model.layers;
  const auto before = s.model.vision.layers + s.model.encoder.layers;  // of no more tensors than the main stack's
  const auto step = tensor_count{micros} * (tensor_count{s.model.layers + other + before} * (made.layer + 16) + made.ends + 64 + 3 * weights.value) + weights * (4 + copies);
  const auto kinds = static_cast<std::int64_t>(j.hardware.kinds());
  const auto alive = weights * (3 + s.optimizer.moments) + tensor_count{s.model.layers + before} * made.kept + made.ends;
  return {(tensor_count{kinds} * (weights * (8 + s.optimizer.moments) + tensor_count{2} * step)).value, alive.value};
}

/// Of the stages of Megatron's layers: three steps each, replayed once more where a GPU turns out to be too small.
constexpr replay_size size_of_stages(const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  scene sizes(s.layer);
  sizes.model = &s.model;
  const auto trained = trained_modules(j, -1);
  const bool again = j.recompute.mode == recompute_mode::full;
  blocks_made made;
  for (const auto& k : kinds_of(s.model))
    made.rise_to(again, [&](const auto& visit) { megatron::for_each_half(sizes, k.kind, trained, visit); });
  with_made([&] { return megatron::last_block(sizes, trained); }, [&](const program& p) { made.add_end(p); });
  const auto front = s.model.encoder.layers;  // of no more tensors than a layer that attends to them
  const auto weights = weight_tensors(s, list);
  const auto cut = cut_into_stages(j, s.model);
  tensor_count steps, most_kept;
  for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) {
    const auto micros = enough_micros(j, stage);
    tensor_count kept;
    cut.for_each(stage, [&](const layer_chunk& c) {
      kept += tensor_count{micros} * tensor_count{c.count + front} * made.kept;
      steps += tensor_count{micros} * (tensor_count{c.count + front} * (made.layer + 12) + (c.index == cut.chunks() - 1 ? made.ends : tensor_count{}) + 16);
    });
    steps += j.framework.pipeline.microbatch_group;
    if (kept.value > most_kept.value) most_kept = kept;
  }
  const auto made_in_all = tensor_count{2} * (weights * (5 + 4 * s.optimizer.moments + 3) + tensor_count{3} * steps);
  const auto each = tensor_count{checked::ceil_div(weights.value, j.parallel.pipeline)} * (4 + s.optimizer.moments);
  return {made_in_all.value, (each + most_kept + made.ends).value};
}

}  // namespace detail

/// What replay() would take, at most; nothing for a job that is not replayed.
/// Held to counts of real replays by tests/replay/test_size.cpp: of jobs that people have it is two to four times as many.
/// Errors: those of estimate().
template <class Layers = detail::shipped_layers>
constexpr replay_size replay_size_of(const job& j, const Layers& layers = {}) {
  if (!replays(j)) return {};
  const auto s = settle(j);
  const auto list = kept_weights(s, layers.weights(s.model));
  return detail::replays_steps(j) ? detail::size_of_steps(s, list, layers) : detail::size_of_stages(s, list);
}

}  // namespace headroom
