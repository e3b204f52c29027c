// Distributed under the Boost Software License, Version 1.0.
// The moments of a pipeline stage's schedule at which it may be at its highest: what runs, and how many micro-batches are held then.
#pragma once

#include <headroom/engine/tensor_parallel/stage_order.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace headroom::detail {

/// The kinds of a stage's chunks, by number: chunks of one kind weigh the same.
class chunk_parts {
 public:
  static constexpr std::size_t most = 4;
  constexpr void set(std::size_t chunk, std::size_t part) { code_[chunk / 32] |= static_cast<std::uint64_t>(part) << (2 * (chunk % 32)); }
  [[nodiscard]] constexpr std::size_t operator[](std::int64_t chunk) const {
    const auto c = static_cast<std::size_t>(chunk);
    return static_cast<std::size_t>(code_[c / 32] >> (2 * (c % 32)) & 3U);
  }
  [[nodiscard]] constexpr std::int64_t code(std::size_t half) const { return static_cast<std::int64_t>(code_[half]); }
  friend constexpr bool operator==(const chunk_parts&, const chunk_parts&) = default;

 private:
  std::array<std::uint64_t, degrees::max_chunks / 32> code_{};
};

/// What a stage holds at a moment of its schedule.
struct scheduled_moment {
  std::array<std::int32_t, chunk_parts::most> held{};  ///< micro-batches, of each part
  std::int32_t named{};                                ///< tensors as large as an input, by the schedule's variables
  std::int32_t waiting{};                              ///< micro-batches, for the gradients of weights

  /// Whether nothing that is held then is missing now.
  [[nodiscard]] constexpr bool covers(const scheduled_moment& o) const {
    return held[0] >= o.held[0] && named >= o.named && held[1] >= o.held[1] && held[2] >= o.held[2] && held[3] >= o.held[3] && waiting >= o.waiting;
  }
};

/// The moments of stages' schedules that no other covers, by what runs then. Whatever chunks weigh, the tallest is among them.
class scheduled_moments {
 public:
  /// While something runs.
  class same_work {
   public:
    void add(const scheduled_moment& m) {
      if (recent_ < all_.size() && all_[recent_].covers(m)) return;
      for (std::size_t i = 0; i < all_.size(); ++i)
        if (all_[i].covers(m)) {
          recent_ = i;
          return;
        }
      std::erase_if(all_, [&](const scheduled_moment& o) { return m.covers(o); });
      recent_ = all_.size();
      all_.push_back(m);
    }
    [[nodiscard]] auto begin() const { return all_.begin(); }
    [[nodiscard]] auto end() const { return all_.end(); }
    [[nodiscard]] bool empty() const { return all_.empty(); }

   private:
    std::vector<scheduled_moment> all_;
    std::size_t recent_ = 0;
  };

  /// `phase`: 0 forward, 1 loss, 2 backward; `part`: of the chunk that runs.
  void add(std::size_t phase, std::size_t part, const scheduled_moment& m) { work_[phase][part].add(m); }
  /// What is held at most of each: to be asked for when all are there.
  [[nodiscard]] scheduled_moment most() const {
    scheduled_moment r;
    for (const auto& phase : work_)
      for (const auto& moments : phase)
        for (const auto& m : moments) {
          for (std::size_t i = 0; i < r.held.size(); ++i) r.held[i] = std::max(r.held[i], m.held[i]);
          r.named = std::max(r.named, m.named);
          r.waiting = std::max(r.waiting, m.waiting);
        }
    return r;
  }
  [[nodiscard]] const same_work& of(std::size_t phase, std::size_t part) const { return work_[phase][part]; }

 private:
  std::array<std::array<same_work, chunk_parts::most>, 3> work_;
};

/// Writes down the moments of one stage while its order is followed.
class order_watch {
 public:
  order_watch(scheduled_moments& to, chunk_parts parts, std::int64_t head, bool splits) : to_(&to), parts_(parts), head_(head), splits_(splits) {}
  void forward(const work& step, std::int64_t named) {
    look(0, step, named);
    if (step.chunk == head_) look(1, step, named);
    ++now_.held[parts_[step.chunk]];
  }
  void backward(const work& step, std::int64_t named) {
    --now_.held[parts_[step.chunk]];
    look(2, step, named);
    if (splits_) ++now_.waiting;
  }
  void weight_gradient(const work&) { --now_.waiting; }

 private:
  void look(std::size_t phase, const work& step, std::int64_t named) {
    now_.named = static_cast<std::int32_t>(named);
    to_->add(phase, parts_[step.chunk], now_);
  }
  scheduled_moments* to_;
  chunk_parts parts_;
  std::int64_t head_;
  bool splits_;
  scheduled_moment now_{};
};

}  // namespace headroom::detail
