// Distributed under the Boost Software License, Version 1.0.
// What happens in a step, event by event, for whoever watches a replay: a viewer's trace, a picture over time.
#pragma once

#include <headroom/allocator/allocator.hpp>
#include <headroom/report.hpp>

#include <vector>

namespace headroom {

/// Something that happens in a step.
struct step_event {
  enum class kind : std::uint8_t { enter, make, free };
  kind what{};
  phase at{};              ///< of `enter`: the phase that begins
  row of{};                ///< of `make` and `free`: what the tensor counts as
  stream on{};             ///< of `make`: the stream that it is made on
  std::int64_t layer{-1};  ///< of `enter`: the layer that begins; -1: none
  bytes size{};            ///< of `make` and `free`
  std::int64_t tensor{};   ///< of `make` and `free`: which one, numbered in the order in which they are made
};

/// One step of one kind of rank. What is there when the step begins comes first, as events of phase `load`.
struct recorded_step {
  std::int64_t pipeline_stage{};
  std::int64_t count{};       ///< how many GPUs are like this
  name gpu{};
  breakdown beside{};         ///< there all along, and not among the events
  std::vector<step_event> events{};
};

/// What is alive after the tallest event of a step, by row.
inline breakdown tallest_moment(const recorded_step& step) {
  auto live = step.beside;
  auto tallest = live;
  for (const auto& e : step.events) {
    if (e.what == step_event::kind::make) live[e.of] += e.size;
    if (e.what == step_event::kind::free) live[e.of] = live[e.of] - e.size;
    if (live.total() > tallest.total()) tallest = live;
  }
  return tallest;
}

/// Listens to a replay. Blocks are the allocator's, which uses their numbers again; tensors have a number of their own.
class step_recorder {
 public:
  void enter(phase p, std::int64_t layer) {
    if (listening_ && (events_.empty() || p != phase_ || layer != layer_)) events_.push_back({.what = step_event::kind::enter, .at = p, .layer = layer});
    phase_ = p;
    layer_ = layer;
  }
  void make(std::int32_t block, row of, stream on, bytes size) {
    const auto i = static_cast<std::size_t>(block);
    if (alive_.size() <= i) alive_.resize(i + 1);
    alive_[i] = {.what = step_event::kind::make, .of = of, .on = on, .size = size, .tensor = ++tensors_};
    if (listening_) events_.push_back(alive_[i]);
  }
  void free(std::int32_t block) {
    auto& e = alive_[static_cast<std::size_t>(block)];
    e.what = step_event::kind::free;
    if (listening_) events_.push_back(e);
  }
  /// The recording begins here, with what is alive.
  void begin() {
    events_.clear();
    events_.push_back({.what = step_event::kind::enter, .at = phase::load});
    for (const auto& e : alive_)
      if (e.tensor > 0 && e.what == step_event::kind::make) events_.push_back(e);
    listening_ = true;
  }
  [[nodiscard]] std::vector<step_event> take() {
    listening_ = false;
    return std::move(events_);
  }

 private:
  std::vector<step_event> events_;
  std::vector<step_event> alive_;  ///< by block
  std::int64_t tensors_ = 0;
  phase phase_{};
  std::int64_t layer_{-1};
  bool listening_ = false;
};

}  // namespace headroom
