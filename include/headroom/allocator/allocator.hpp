// Distributed under the Boost Software License, Version 1.0.
// PyTorch's caching allocator, replayed: which blocks a sequence of allocations and frees takes from the driver, and keeps.
// Source: c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, get_free_block, alloc_block, should_split, free_block,
// try_merge_blocks, release_available_cached_blocks, release_cached_blocks). Runs at run time, with a heap.
#pragma once

#include <headroom/allocator/expandable_segments.hpp>
#include <headroom/allocator/stream.hpp>
#include <headroom/units/quantity.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace headroom {

/// What PYTORCH_CUDA_ALLOC_CONF says, and how much there is; sizes in bytes.
struct allocator_settings {
  bool expandable_segments{};
  std::int64_t max_split_size{std::numeric_limits<std::int64_t>::max()};
  std::int64_t roundup_power2_divisions{1};
  std::int64_t capacity{std::numeric_limits<std::int64_t>::max()};  ///< reserved at most; then cached segments are given back first
};

/// A call to the allocator, for whoever wants to repeat it.
struct allocator_call {
  enum class kind : std::uint8_t { allocate, release, retire, wait, empty_cache };
  kind what{};
  stream on{};
  std::int32_t block{};  ///< that was returned, or is meant
  std::int64_t value{};  ///< bytes, or an event
};

/// PyTorch's caching allocator of one device: allocate and free, stream by stream, and count what is allocated, active and reserved, in bytes.
class caching_allocator {
 public:
  using block = memory_pieces::block;

  // Sizes of the source: kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer, kMinLargeAlloc, kRoundLarge.
  static constexpr std::int64_t granule = 512;
  static constexpr std::int64_t small_size = 1 << 20;
  static constexpr std::int64_t small_segment = 2 << 20;
  static constexpr std::int64_t large_segment = 20 << 20;
  static constexpr std::int64_t own_segment_from = 10 << 20;
  static constexpr std::int64_t room_from_below = std::int64_t{3168} << 20;

  explicit caching_allocator(allocator_settings s = {}) : settings_(s) {}

  /// A block of at least so many bytes; none for no bytes.
  block allocate(std::int64_t asked, stream on = stream::compute) {
    if (asked <= 0) return none;
    const auto size = settings_.roundup_power2_divisions > 1 ? rounded_to_divisions(asked) : rounded(asked);
    const auto which = static_cast<std::size_t>(on) * 2 + (size <= small_size ? 0 : 1);
    auto b = settings_.expandable_segments ? none : pieces_.take(which, size);
    if (b == none) b = take_larger(which, size);
    allocated_ += pieces_[b].size;
    if (allocated_ > peaks_rise_above_) raise_peaks();
    note(allocator_call::kind::allocate, on, b, asked);
    return b;
  }

  /// Gives a block back to its pool.
  void release(block b) {
    if (b == none) return;
    note(allocator_call::kind::release, {}, b, 0);
    forget(b);
    pieces_.give_back(b);
  }

  /// Frees a block that another stream was told to read (Tensor.record_stream): it is not reusable until that stream's event completes.
  void retire(block b) {
    if (b == none) return;
    note(allocator_call::kind::retire, {}, b, 0);
    forget(b);
    retired_bytes_ += pieces_[b].size;
    retired_.push_back(b);
    watch_peaks();
  }
  /// An event behind what has been retired so far, and waiting for it: from then on those blocks are free.
  [[nodiscard]] std::size_t record() const { return retired_.size(); }
  void wait(std::size_t event) {
    note(allocator_call::kind::wait, {}, none, static_cast<std::int64_t>(event));
    finish(event);
  }
  /// Gives whole free segments back to the driver, of expandable ones whole free pages (torch.cuda.empty_cache), once all events are over.
  void empty_cache() {
    note(allocator_call::kind::empty_cache, {}, none, 0);
    give_back_cache();
  }

  /// Writes calls from here on down as well; null for no longer.
  void write_calls_to(std::vector<allocator_call>* calls) { calls_ = calls; }

  /// Peaks count from here on (torch.cuda.reset_peak_memory_stats).
  void reset_peaks() {
    peak_allocated_ = peak_asked_ = peak_active_ = 0;
    raise_peaks();
    pieces_.reset_peak();
  }

  [[nodiscard]] const allocator_settings& settings() const { return settings_; }
  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  [[nodiscard]] std::int64_t reserved() const { return pieces_.reserved(); }
  /// Of it, what one stream's pools hold.
  [[nodiscard]] std::int64_t reserved(stream on) const {
    return pieces_.reserved(static_cast<std::size_t>(on) * 2) + pieces_.reserved(static_cast<std::size_t>(on) * 2 + 1);
  }
  [[nodiscard]] std::int64_t peak_allocated() const { return peak_allocated_; }
  /// The same without what blocks are larger than was asked for, 512 bytes apart.
  [[nodiscard]] std::int64_t asked() const { return allocated_ - unused_; }
  [[nodiscard]] std::int64_t peak_asked() const { return peak_asked_; }
  /// With what is held for other streams.
  [[nodiscard]] std::int64_t peak_active() const { return peak_active_; }
  [[nodiscard]] std::int64_t peak_reserved() const { return pieces_.peak_reserved(); }
  /// Whether more than the capacity was needed at some time.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  static constexpr block none = memory_pieces::none;
  static_assert(memory_pieces::pool_count == 2 * stream_count);

  void note(allocator_call::kind what, stream on, block b, std::int64_t value) {
    if (calls_ != nullptr) [[unlikely]] calls_->push_back({what, on, b, value});
  }

  /// A free block that is large enough, or new memory.
  [[gnu::noinline]] block take_larger(std::size_t which, std::int64_t size) {
    const auto limit = limit_of(size), least = least_rest(which, size);
    auto b = settings_.expandable_segments ? expandable_segments::best_fit(pieces_, which, size) : pieces_.pool(which).peek(size);
    if (b == none || pieces_[b].size >= limit) {
      b = settings_.expandable_segments ? extend(which, size) : new_segment(which, size);
      pieces_.cut_rest(b, size, least);
    } else {
      pieces_.take(b, size, least);
    }
    if (const auto more = pieces_[b].size - size; more > 0) add_unused(b, more);
    return b;
  }

  /// Blocks that are larger than was asked for are few: what they have beyond is noted apart.
  [[gnu::noinline]] void add_unused(block b, std::int64_t more) {
    const auto i = static_cast<std::size_t>(b);
    if (unused_of_.size() <= i) unused_of_.resize(i + 1);
    unused_of_[i] = more;
    unused_ += more;
    pieces_[b].uneven = true;
    watch_peaks();
  }
  void forget(block b) {
    auto& p = pieces_[b];
    allocated_ -= p.size;
    if (!p.uneven) [[likely]] return;
    p.uneven = false;
    unused_ -= unused_of_[static_cast<std::size_t>(b)];
    watch_peaks();
  }
  [[gnu::noinline]] void raise_peaks() {
    peak_asked_ = std::max(peak_asked_, asked());
    peak_allocated_ = std::max(peak_allocated_, allocated_);
    peak_active_ = std::max(peak_active_, allocated_ + retired_bytes_);
    watch_peaks();
  }
  void watch_peaks() { peaks_rise_above_ = std::min({peak_allocated_, peak_asked_ + unused_, peak_active_ - retired_bytes_}); }

  void finish(std::size_t event) {
    for (; waited_ < event; ++waited_) {
      retired_bytes_ -= pieces_[retired_[waited_]].size;
      pieces_.give_back(retired_[waited_]);
    }
    watch_peaks();
  }
  void give_back_cache() {
    finish(retired_.size());
    for (std::size_t which = 0; which < memory_pieces::pool_count; ++which) {
      pieces_.pool(which).for_each([&](block f) {
        if (settings_.expandable_segments || (pieces_[f].previous == none && pieces_[f].next == none)) given_back_.push_back(f);
      });
      for (const auto f : given_back_) {
        if (settings_.expandable_segments) {
          expandable_.unmap(pieces_, f);
        } else {
          give_to_driver(f);
        }
      }
      given_back_.clear();
    }
  }

  /// round_size.
  static std::int64_t rounded(std::int64_t asked) { return (asked + granule - 1) & -granule; }
  /// … with roundup_power2_divisions: so many steps from one power of two to the next.
  [[nodiscard]] std::int64_t rounded_to_divisions(std::int64_t asked) const {
    if (asked <= granule * settings_.roundup_power2_divisions) return rounded(asked);
    const auto floor = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(asked)));
    const auto step = floor / settings_.roundup_power2_divisions;
    return (asked + step - 1) / step * step;
  }

  /// Blocks that are not cut serve only requests that are nearly as large (get_free_block).
  [[nodiscard]] std::int64_t limit_of(std::int64_t size) const {
    if (settings_.max_split_size == std::numeric_limits<std::int64_t>::max()) [[likely]] return settings_.max_split_size;
    return size < settings_.max_split_size ? settings_.max_split_size : size + large_segment;
  }

  /// What is left of a block goes back to its pool, unless it is less than this (should_split).
  [[nodiscard]] std::int64_t least_rest(std::size_t which, std::int64_t size) const {
    if (which % 2 == 0 || settings_.expandable_segments) return granule;
    return size >= settings_.max_split_size ? std::numeric_limits<std::int64_t>::max() : small_size + 1;
  }
  [[nodiscard]] std::int64_t room() const { return settings_.capacity - pieces_.reserved(); }
  void reserve(std::size_t which, std::int64_t more, std::int64_t size) {
    if (more > room()) [[unlikely]] make_room(which, more, size);
    if (more > room()) overflowed_ = true;
    pieces_.reserve(which, more);
  }

  /// First of blocks that are never cut (release_available_cached_blocks), then all that is cached.
  void make_room(std::size_t which, std::int64_t more, std::int64_t size) {
    if (settings_.max_split_size != std::numeric_limits<std::int64_t>::max())
      give_back_uncut(which, std::max(size, settings_.max_split_size));
    if (more > room()) give_back_cache();
  }
  void give_back_uncut(std::size_t which, std::int64_t needed) {
    std::int64_t given = 0;
    auto& pool = pieces_.pool(which);
    if (const auto enough = pool.peek(needed); enough != none) return give_to_driver(enough);
    for (auto b = pool.largest(); b != none && given < needed && pieces_[b].size >= settings_.max_split_size; b = pool.largest()) {
      given += pieces_[b].size;
      give_to_driver(b);
    }
  }
  /// A whole free segment.
  void give_to_driver(block b) {
    pieces_.remove_free(b);
    pieces_.reserve(pieces_[b].pool, -pieces_[b].size);
    pieces_.drop(b);
  }

  block new_segment(std::size_t which, std::int64_t size) {
    const auto length = size <= small_size ? small_segment : size < own_segment_from ? large_segment : (size + small_segment - 1) / small_segment * small_segment;
    reserve(which, length, size);
    return pieces_.add({.size = length, .address = address_of(length), .pool = static_cast<std::uint8_t>(which)});
  }
  /// Where the driver puts a segment, which decides among equal blocks: it fills room that it has from below, and goes on downwards (eight runs that were traced on
  /// an H100, tests/accuracy/traces, driver 580; six of them had that much room).
  std::int64_t address_of(std::int64_t length) {
    if (length <= room_from_below - next_address_) return std::exchange(next_address_, next_address_ + length);
    return lowest_address_ = -checked::add(-lowest_address_, length);
  }
  block extend(std::size_t which, std::int64_t size) {
    auto at = expandable_.find(pieces_, which, size);
    if (at.pages > room()) [[unlikely]] {
      give_back_cache();
      at = expandable_.find(pieces_, which, size);
      if (at.pages > room()) overflowed_ = true;
    }
    return expandable_.take_mapped(pieces_, which, at.from, size);
  }

  allocator_settings settings_;
  memory_pieces pieces_;
  expandable_segments expandable_;
  std::vector<block> given_back_;
  std::int64_t next_address_ = 0, lowest_address_ = 0;
  std::int64_t allocated_ = 0, unused_ = 0, retired_bytes_ = 0, peak_asked_ = 0, peak_allocated_ = 0, peak_active_ = 0;
  std::int64_t peaks_rise_above_ = 0;  // allocated bytes up to which no peak is a new one
  std::vector<std::int64_t> unused_of_;  // by block, of uneven ones
  std::vector<block> retired_;  // in order; before waited_ they are free
  std::size_t waited_ = 0;
  bool overflowed_ = false;
  std::vector<allocator_call>* calls_ = nullptr;
};

}  // namespace headroom
