// Distributed under the Boost Software License, Version 1.0.
// The steps of one pipeline stage of eager layers, one after the other: what is held after each, and which is the tallest.
// Sources: torch distributed/pipelining/stage.py backward_one_chunk, backward_weight_one_chunk; see eager_stages.hpp.
#pragma once

#include <headroom/engine/eager/eager_chunk.hpp>
#include <headroom/layout/schedule.hpp>

#include <utility>

namespace headroom::detail {

/// How far a chunk is.
struct chunk_progress {
  std::int32_t forwards{}, backwards{}, weights{};  ///< micro-batches, by kind of work; `backwards` where they are apart from weights
  bool summed{}, fresh{};                           ///< gradients of its weights are there, and such as have not been added to them yet
};

/// Only totals are added up, and what the tallest moments were made of is put together at the end.
class eager_steps {
 public:
  /// Of `micros` micro-batches, `skipped` are not told of: see steps_to_skip().
  constexpr eager_steps(const placed_chunk* chunks, std::size_t n, bool splits, std::int64_t micros, std::int64_t skipped, bytes stream, bytes resident)
      : chunks_(chunks), n_(n), splits_(splits), micros_(micros), skipped_(skipped), stream_(stream), live_(resident) {
    if (std::is_constant_evaluated()) at_ = {}, best_ = {};
    for (std::size_t c = 0; c < n; ++c) at_[c] = {};
    for (auto& b : best_) b.total = bytes{0};
  }
  constexpr void operator()(const work& step) {
    const auto c = static_cast<std::size_t>(step.chunk);
    if (skipped_ > 0 && started_ == n_) skip();
    const auto& k = of(c);
    switch (step.kind) {
      case work_kind::forward: return forward(c, k);
      case work_kind::backward:
        if (k.splits) return inputs_backward(c, k);
        if (!splits_) return whole_backward(c, k);
        return;  // the first chunk's input has no gradient: all of its backward runs with its weights
      case work_kind::weight_gradient: return k.splits ? weights_backward(c, k) : whole_backward(c, k);
    }
  }
  /// The tallest moments, and what is left when all is done; `resident` is there all the time.
  constexpr void tell(timeline& t, const moment& resident, moment& left) const {
    constexpr std::array phases{phase::forward, phase::loss_forward, phase::backward, phase::reduce};
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const auto& b = best_[i];
      if (b.total == bytes{0}) continue;
      const auto& k = of(b.chunk);
      const auto above = chunks_[b.chunk].above;
      auto all = resident;
      for (std::size_t c = 0; c < n_; ++c) all += held(c, b.progress[c]);
      t.elsewhere(b.reduced);
      switch (b.at) {
        case place_of::forward:
        case place_of::loss:
          if (b.progress[b.chunk].forwards == 0) all.add(row::gathered_parameters, k.gathered);
          t.look(phases[i], b.at == place_of::forward ? layer(k.forward_layer, above) : -1, all, b.at == place_of::forward ? k.forward : k.loss);
          break;
        case place_of::backward:
          all -= k.saved;
          t.look(phases[i], layer(k.backward_layer, above), all, k.backward);
          break;
        case place_of::adding:
          all -= k.saved;
          t.look(phases[i], layer(k.adding_layer, above), all, k.adding);
          break;
        case place_of::beginning:
          all -= k.saved;
          t.look(phases[i], layer(k.beginning_layer, above), all, k.beginning);
          break;
        case place_of::weights: t.look(phases[i], -1, all, part{row::gradients, k.fresh_layer}); break;
        case place_of::reduce:
          all.add(row::gathered_parameters, k.gathered - k.reducing.gathered);
          all.add(row::gradients, unreduced(k, b.progress[b.chunk]) - k.sharded - k.reducing.gradients);
          t.look(phases[i], -1, all, part{row::communication_buffers, k.reducing.input});
      }
    }
    left = resident;
    for (std::size_t c = 0; c < n_; ++c) left += held(c, at_[c]);
    t.elsewhere(bytes{0});
    t.reach(pool_);
  }

 private:
  using progress_of_all = std::array<chunk_progress, degrees::max_chunks>;
  enum class place_of : std::uint8_t { forward, loss, backward, beginning, adding, weights, reduce };
  /// What runs, and how far each chunk was.
  struct tallest {
    bytes total, reduced;
    std::size_t chunk;
    place_of at;
    progress_of_all progress;
  };

  [[nodiscard]] constexpr const eager_chunk& of(std::size_t c) const { return *chunks_[c].cost; }
  [[nodiscard]] static constexpr std::int64_t layer(std::int64_t walked, std::int64_t above) { return walked < 0 ? walked : walked + above; }
  /// What it sends, until its backward is done.
  [[nodiscard]] constexpr bytes sent(std::size_t c) const { return of(c).last || chunks_[c].hands_on ? bytes{0} : stream_; }
  /// The gradient of what it received.
  [[nodiscard]] constexpr bytes sent_back(std::size_t c) const { return of(c).first || chunks_[c].handed ? bytes{0} : stream_; }

  [[nodiscard]] static constexpr bytes unreduced(const eager_chunk& k, const chunk_progress& at) {
    return (at.summed ? k.gradients : bytes{0}) + (at.fresh ? k.fresh : bytes{0});
  }

  constexpr void forward(std::size_t c, const eager_chunk& k) {
    if (at_[c].forwards == 0) live_ += k.gathered;
    look(0, c, place_of::forward, k.forward.total);
    if (k.last) {
      look(1, c, place_of::loss, k.loss.total);
      pool_ = max(pool_, live_ + k.loss_span - reduced_);
    }
    live_ += k.saved.total + k.logits + sent(c);
    ++at_[c].forwards;
  }
  constexpr void whole_backward(std::size_t c, const eager_chunk& k) {
    live_ -= k.saved.total;
    if (at_[c].weights > 0) {
      look(2, c, place_of::backward, k.backward.total);
    } else {
      look(2, c, place_of::beginning, k.beginning.total);
      ++started_;
      live_ += k.gradients;
      at_[c].summed = true;
    }
    live_ += sent_back(c) - sent(c);
    finish(c, k);
  }
  /// Its graph stays, and so do the gradients that weights are waiting for.
  constexpr void inputs_backward(std::size_t c, const eager_chunk& k) {
    auto& at = at_[c];
    live_ -= k.saved.total;
    if (at.fresh)
      look(2, c, place_of::adding, k.adding.total);
    else
      look(2, c, place_of::backward, k.backward.total);
    live_ += k.saved.total + k.waiting.total + sent_back(c);
    ++at.backwards;
    if (!std::exchange(at.fresh, false)) return;
    live_ -= k.fresh;
    if (!std::exchange(at.summed, true)) live_ += k.gradients;
  }
  constexpr void weights_backward(std::size_t c, const eager_chunk& k) {
    auto& at = at_[c];
    look(2, c, place_of::weights, k.fresh_layer);
    live_ -= k.saved.total + k.waiting.total + sent(c);
    if (at.weights == 0) ++started_;
    if (k.fresh > bytes{0} && !std::exchange(at.fresh, true)) live_ += k.fresh;
    if (k.fresh == bytes{0} && !std::exchange(at.summed, true)) live_ += k.gradients;
    finish(c, k);
  }
  /// The last micro-batch of a chunk has its gradients reduced.
  constexpr void finish(std::size_t c, const eager_chunk& k) {
    auto& at = at_[c];
    if (++at.weights < micros_) return;
    look(3, c, place_of::reduce, k.reducing.total());
    live_ += k.sharded - k.gathered - unreduced(k, at);
    reduced_ += k.sharded;
  }
  /// Every chunk has run both ways: as many micro-batches more, and all that grows has grown by as much. No moment between is taller.
  constexpr void skip() {
    const auto n = static_cast<std::int32_t>(skipped_);
    for (std::size_t c = 0; c < n_; ++c) {
      at_[c].forwards += n, at_[c].backwards += n, at_[c].weights += n;
      live_ += skipped_ * (of(c).logits + sent_back(c));
    }
    skipped_ = 0;
  }
  constexpr void look(std::size_t which, std::size_t chunk, place_of at, bytes more) {
    const auto all = live_ + more;
    pool_ = max(pool_, all - reduced_);
    auto& b = best_[which];
    if (all <= b.total) return;
    b.total = all, b.reduced = reduced_, b.chunk = chunk, b.at = at;
    for (std::size_t c = 0; c < n_; ++c) b.progress[c] = at_[c];
  }
  /// What a chunk holds.
  [[nodiscard]] constexpr moment held(std::size_t c, const chunk_progress& at) const {
    const auto& k = of(c);
    const std::int64_t graphs = at.forwards - at.weights, back = k.splits ? at.backwards : at.weights;
    auto m = graphs * k.saved + (back - at.weights) * k.waiting;
    if (at.forwards > 0 && at.weights < micros_) m.add(row::gathered_parameters, k.gathered);
    m.add(row::logits, at.forwards * k.logits);
    m.add(row::activations, graphs * sent(c));
    m.add(row::communication_buffers, back * sent_back(c));
    m.add(row::gradients, at.weights == micros_ ? k.sharded : unreduced(k, at));
    return m;
  }

  const placed_chunk* chunks_;
  std::size_t n_;
  bool splits_;
  std::int64_t micros_, skipped_;
  std::size_t started_ = 0;  // chunks that have gradients of weights
  bytes stream_, live_, reduced_{0}, pool_{0};
  progress_of_all at_;
  std::array<tallest, 4> best_;
};

}  // namespace headroom::detail
