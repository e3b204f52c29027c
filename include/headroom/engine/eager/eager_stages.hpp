// Distributed under the Boost Software License, Version 1.0.
// The walk over one pipeline stage of eager layers under FSDP2.
// Sources: torch distributed/pipelining/stage.py _PipelineStageBase, schedules.py Schedule1F1B, ScheduleInterleaved1F1B; distributed/
// fsdp/_fully_shard/_fsdp_param_group.py post_backward; torchtitan parallelisms/parallelize_llama.py apply_fsdp (pp_enabled).
//  - Parameters stay gathered from their first use to the last backward of their part of the model.
//  - Until then gradients add up whole, in the format of the reduction; then they are reduced, layer by layer.
//  - A stage has a buffer for what it receives of every micro-batch, forward and backward; what it received forward keeps its gradient
//    to the end of the step, and what it sends lies in its cache until the micro-batch comes back.
//  - The last stage collects what the model returns, the logits of every micro-batch, and joins them when the step is over.
#pragma once

#include <headroom/engine/eager/eager_chunk.hpp>
#include <headroom/layout/schedule.hpp>

namespace headroom {

namespace detail {

/// A stage's steps, one after the other: only totals are added up, and what the tallest moments were made of is put together at the end.
class eager_steps {
 public:
  /// Of `micros` micro-batches, `skipped` are not told of: see steps_to_skip().
  constexpr eager_steps(const eager_chunk* chunks, std::size_t n, std::int64_t micros, std::int64_t skipped, bytes stream, bytes resident)
      : chunks_(chunks), n_(n), micros_(micros), skipped_(skipped), stream_(stream), live_(resident) {
    if (std::is_constant_evaluated()) forwards_ = backwards_ = {}, best_ = {};
    for (std::size_t c = 0; c < n; ++c) forwards_[c] = backwards_[c] = 0;
    for (auto& b : best_) b.total = bytes{0};
  }
  constexpr void operator()(const work& step) {
    const auto c = static_cast<std::size_t>(step.chunk);
    if (skipped_ > 0 && started_ == n_) skip();
    step.kind == work_kind::forward ? forward(c, chunks_[c]) : backward(c, chunks_[c]);
  }
  /// The tallest moments, and what is left when all is done; `resident` is there all the time.
  constexpr void tell(timeline& t, const moment& resident, moment& left) const {
    constexpr std::array phases{phase::forward, phase::loss_forward, phase::backward, phase::reduce};
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const auto& b = best_[i];
      if (b.total == bytes{0}) continue;
      const auto& k = chunks_[b.chunk];
      auto all = resident;
      for (std::size_t c = 0; c < n_; ++c) all += held(chunks_[c], b.forwards[c], b.backwards[c]);
      t.elsewhere(b.reduced);
      switch (b.at) {
        case place_of::forward:
        case place_of::loss:
          if (b.forwards[b.chunk] == 0) all.add(row::gathered_parameters, k.gathered);
          t.look(phases[i], b.at == place_of::forward ? k.forward_layer : -1, all, b.at == place_of::forward ? k.forward : k.loss);
          break;
        case place_of::backward:
          all -= k.saved;
          t.look(phases[i], k.backward_layer, all, k.backward);
          break;
        case place_of::end:
          all -= k.saved;
          all.add(row::gradients, k.gradients);
          t.look(phases[i], -1, all, k.end);
          break;
        case place_of::reduce:
          all.add(row::gathered_parameters, k.gathered);
          all.add(row::gradients, k.gradients - k.sharded);
          t.look(phases[i], -1, all, part{row::communication_buffers, k.largest});
      }
    }
    left = resident;
    for (std::size_t c = 0; c < n_; ++c) left += held(chunks_[c], forwards_[c], backwards_[c]);
    t.elsewhere(bytes{0});
    t.reach(pool_);
  }

 private:
  using counts = std::array<std::int32_t, degrees::max_chunks>;
  enum class place_of : std::uint8_t { forward, loss, backward, end, reduce };
  /// What runs, and how often each chunk had run before.
  struct tallest {
    bytes total, reduced;
    std::size_t chunk;
    place_of at;
    counts forwards, backwards;
  };

  constexpr void forward(std::size_t c, const eager_chunk& k) {
    if (forwards_[c] == 0) live_ += k.gathered;
    look(0, c, place_of::forward, k.forward.total);
    if (k.last) {
      look(1, c, place_of::loss, k.loss.total);
      pool_ = max(pool_, live_ + k.loss_span - reduced_);
    }
    live_ += k.saved.total + (k.last ? k.logits : stream_);  // what it sends
    ++forwards_[c];
  }
  constexpr void backward(std::size_t c, const eager_chunk& k) {
    live_ -= k.saved.total;
    look(2, c, place_of::backward, k.backward.total);
    if (backwards_[c] == 0) {
      ++started_;
      live_ += k.gradients;
      look(2, c, place_of::end, k.end.total);
    }
    if (!k.last) live_ -= stream_;
    if (!k.first) live_ += stream_;  // the gradient of what it received
    if (++backwards_[c] < micros_) return;
    look(3, c, place_of::reduce, k.largest);
    live_ += k.sharded - k.gradients - k.gathered;
    reduced_ += k.sharded;
  }
  /// Every chunk has run both ways: as many micro-batches more, and all that grows has grown by as much. No moment between is taller.
  constexpr void skip() {
    for (std::size_t c = 0; c < n_; ++c) {
      forwards_[c] += static_cast<std::int32_t>(skipped_), backwards_[c] += static_cast<std::int32_t>(skipped_);
      live_ += skipped_ * ((chunks_[c].last ? chunks_[c].logits : bytes{0}) + (chunks_[c].first ? bytes{0} : stream_));
    }
    skipped_ = 0;
  }
  constexpr void look(std::size_t which, std::size_t chunk, place_of at, bytes more) {
    const auto all = live_ + more;
    pool_ = max(pool_, all - reduced_);
    auto& b = best_[which];
    if (all <= b.total) return;
    b.total = all, b.reduced = reduced_, b.chunk = chunk, b.at = at;
    for (std::size_t c = 0; c < n_; ++c) b.forwards[c] = forwards_[c], b.backwards[c] = backwards_[c];
  }
  /// What a chunk holds after so many micro-batches.
  [[nodiscard]] constexpr moment held(const eager_chunk& k, std::int64_t forwards, std::int64_t backwards) const {
    auto m = (forwards - backwards) * k.saved;
    if (forwards > 0 && backwards < micros_) m.add(row::gathered_parameters, k.gathered);
    if (k.last) m.add(row::logits, forwards * k.logits);
    else m.add(row::activations, (forwards - backwards) * stream_);
    if (!k.first) m.add(row::communication_buffers, backwards * stream_);
    if (backwards > 0) m.add(row::gradients, backwards < micros_ ? k.gradients : k.sharded);
    return m;
  }

  const eager_chunk* chunks_;
  std::size_t n_;
  std::int64_t micros_, skipped_;
  std::size_t started_ = 0;  // chunks that have run backward
  bytes stream_, live_, reduced_{0}, pool_{0};
  counts forwards_, backwards_;
  std::array<tallest, 4> best_;
};

/// Micro-batches that an order of the library's own can go without: once it is under way it repeats, in groups where it has them.
constexpr std::int64_t steps_to_skip(const schedule_properties& order, std::int64_t stages, std::int64_t micros) {
  const auto group = order.in_groups ? stages : 1;
  const auto enough = order.steady(stages, 0, stages);
  return micros <= enough ? 0 : (micros - enough) / group * group;
}

}  // namespace detail

/// Walks the schedule of one stage of a job whose eager layers are cut into a pipeline.
template <class Order>
constexpr timeline walk_eager_stage(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, const Order& order,
                                    detail::known_eager_chunk& known) {
  const auto& j = *s.source;
  const auto& d = j.parallel;
  const auto& sc = s.layer;
  std::array<detail::eager_chunk, degrees::max_chunks> chunks;
  if (std::is_constant_evaluated()) chunks = {};
  std::size_t n = 0;
  moment resident{};
  bytes sharded{0}, gather_pool{0}, update{0};
  cut.for_each(stage, [&](const layer_chunk& c) {
    if (n == chunks.size()) refuse("headroom: a stage holds at most 64 chunks; parallel.virtual_pipeline", d.virtual_pipeline);
    state_bytes st;
    const auto& k = chunks[n++] = detail::eager_chunk_of(s, list, {c.first, c.count, c.index == 0, c.index == cut.chunks() - 1}, st, known);
    resident.rows += st.gpu;
    sharded += k.sharded;
    gather_pool = max(gather_pool, k.gather_pool);
    if (s.optimizer.how == implementation::foreach) update += j.framework.optimizer.foreach_copies * st.trained_copy;
  });
  const bytes stream{checked::round_up(checked::mul(checked::mul(sc.stream_tokens(), s.model.hidden), sc.residual_width), sc.granule)};
  const auto micros = j.batch.accumulation;
  resident.rows[row::gradients] = bytes{0};
  resident.rows[row::workspace] += j.framework.process.cublas_handles * cublas_workspace(s);
  resident.rows[row::activations] += 2 * bytes{checked::mul(checked::mul(sc.tokens, micros), 8)};
  if (j.framework.rotary.cache && s.model.position == position_kind::rope)
    resident.rows[row::activations] += static_cast<std::int64_t>(n) * (2 * sc.sequence * bytes{checked::mul(s.model.head_width() * s.model.rotary_percent / 100, 4)});
  for (std::size_t c = 0; c < n; ++c)
    resident.rows[row::communication_buffers] += ((chunks[c].first ? 0 : 1) + (chunks[c].last ? 0 : 1)) * (micros * stream);
  resident.total = resident.rows.total();

  timeline t;
  t.watch_pools(gather_pool, sharded);
  t.look(phase::load, -1, moment(row::model_parameters, resident.rows[row::model_parameters]));

  const auto kind = schedule_of(d);
  const auto skipped = Order::repeats ? detail::steps_to_skip(properties_of(kind), d.pipeline, micros) : 0;
  detail::eager_steps steps(chunks.data(), n, micros, skipped, stream, resident.total);
  order.run(pipeline_plan{kind, d.pipeline, static_cast<std::int64_t>(n), micros - skipped, 0}, stage, [&](const work& step) { steps(step); });
  moment live;
  steps.tell(t, resident, live);
  t.elsewhere(sharded);
  bytes joined{0};
  for (std::size_t c = 0; c < n; ++c) joined += micros * chunks[c].logits;
  t.look(phase::loss_forward, -1, live, part{row::logits, joined});  // merge_chunks
  t.look(phase::step, -1, live, part{row::temporaries, update});
  t.look(phase::save, -1, resident);
  return t;
}

}  // namespace headroom
