// Distributed under the Boost Software License, Version 1.0.
// Tensors of a step that is written out, in the allocator's blocks. Whoever listens is told of each.
#pragma once

#include <headroom/deadline.hpp>
#include <headroom/replay/recording.hpp>

#include <utility>
#include <vector>

namespace headroom {

/// Who watches a replay: one who is told of each tensor, or nobody; and until when it is waited for.
struct replay_watch {
  step_recorder* listener{};
  deadline until{};
  constexpr replay_watch() = default;
  constexpr replay_watch(step_recorder* l, deadline d = {}) : listener(l), until(d) {}
};

/// A tensor that is made piece by piece has several blocks, which come and go one by one.
class tensor_memory {
 public:
  using handle = std::int32_t;
  static constexpr handle none = -1;

  /// Its tensors are asked for until a deadline: out_of_time.
  explicit tensor_memory(caching_allocator& a, const replay_watch& w = {}) : allocator_(&a), listener_(w.listener), until_(w.until) {}

  /// A phase of the step begins, in it a layer; -1: none.
  void enter(phase p, std::int64_t layer = -1) {
    if (listener_ != nullptr) listener_->enter(p, layer);
  }

  /// A tensor of a row of the report; none where it has no bytes.
  handle make(bytes size, row of, stream on = stream::compute) {
    until_.check();
    const auto h = allocator_->allocate(size.count(), on);
    if (listener_ != nullptr && h >= 0) listener_->make(h, of, on, size);
    if (h >= 0) count(static_cast<std::size_t>(h), size);
    return h;
  }
  /// What stays from the first product of a backward on: its thread's cuBLAS handle has a workspace of its own (aten/src/ATen/cuda/CublasHandlePool.cpp
  /// getCurrentCUDABlasHandle), which takes its place among what forward has left.
  void make_in_backward(bytes size, row of) { later_ += size, later_row_ = of; }
  void begin_product() {
    if (const auto size = std::exchange(later_, bytes{0}); size > bytes{0}) make(size, later_row_);
  }
  void free(handle& h) {
    if (h >= 0)
      release(h);
    else if (h != none)
      free_pieces(h);
    h = none;
  }

  /// Temporaries: blocks of one size, and what is left of them.
  handle make_cut(bytes all, bytes block, row of) {
    if (block <= bytes{0} || all <= block) return make(all, of);
    const auto h = make_pieced(of);
    for (; all > block; all -= block) add_piece(h, block);
    add_piece(h, all);
    return h;
  }
  /// Freed, but held for another stream until an event behind it is waited for (caching_allocator::retire).
  void retire(handle& h) {
    if (h >= 0)
      retire_block(h);
    else if (h != none) {
      for (const auto b : pieces_[index(h)].blocks) retire_block(b);
      pieces_[index(h)].blocks.clear();
      spare_.push_back(h);
    }
    h = none;
  }
  [[nodiscard]] std::size_t record() const { return allocator_->record(); }
  void wait(std::size_t event) { allocator_->wait(event); }
  void wait_for_all() { allocator_->wait(allocator_->record()); }

  /// A tensor without pieces yet; one more; and one fewer, where it has any.
  handle make_pieced(row of) {
    if (spare_.empty()) {
      pieces_.push_back({of, {}});
      return -1 - static_cast<handle>(pieces_.size());
    }
    const auto h = spare_.back();
    spare_.pop_back();
    pieces_[index(h)].of = of;
    return h;
  }
  void add_piece(handle h, bytes size) {
    auto& p = pieces_[index(h)];
    p.blocks.push_back(make(size, p.of));
  }
  void drop_piece(handle h) {
    if (h >= none || pieces_[index(h)].blocks.empty()) return;
    release(pieces_[index(h)].blocks.back());
    pieces_[index(h)].blocks.pop_back();
  }

  /// Bytes of the tensors that are alive, as they were asked for, and the most since the peak was last reset.
  [[nodiscard]] bytes asked() const { return asked_; }
  [[nodiscard]] bytes peak_asked() const { return peak_; }
  /// How many have been made.
  [[nodiscard]] std::int64_t made() const { return made_; }
  void reset_peak() { peak_ = asked_; }

 private:
  struct pieced {
    row of{};
    std::vector<caching_allocator::block> blocks;
  };
  void count(std::size_t block, bytes size) {
    ++made_;
    if (sizes_.size() <= block) sizes_.resize(block + 1);
    sizes_[block] = size;
    asked_ += size;
    peak_ = max(peak_, asked_);
  }
  void release(caching_allocator::block b) {
    if (listener_ != nullptr && b >= 0) listener_->free(b);
    if (b >= 0) asked_ -= sizes_[static_cast<std::size_t>(b)];
    allocator_->release(b);
  }
  void retire_block(caching_allocator::block b) {
    if (listener_ != nullptr) listener_->free(b);
    asked_ -= sizes_[static_cast<std::size_t>(b)];
    allocator_->retire(b);
  }
  void free_pieces(handle h) {
    for (const auto b : pieces_[index(h)].blocks) release(b);
    pieces_[index(h)].blocks.clear();
    spare_.push_back(h);
  }
  static std::size_t index(handle h) { return static_cast<std::size_t>(-2 - h); }

  caching_allocator* allocator_;
  step_recorder* listener_;
  paced_deadline until_;
  std::vector<pieced> pieces_;
  std::vector<handle> spare_;
  std::vector<bytes> sizes_;  // by block
  bytes asked_{}, peak_{};
  std::int64_t made_ = 0;
  bytes later_{0};  ///< of make_in_backward()
  row later_row_{};
};

}  // namespace headroom
