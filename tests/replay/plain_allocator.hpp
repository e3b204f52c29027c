// Distributed under the Boost Software License, Version 1.0.
// The caching allocator's rules once more, over plain lists that every search walks from end to end: slow, and with as little in common with
// allocator/allocator.hpp as the rules allow. Written from c10/cuda/CUDACachingAllocator.cpp, function by function, whose names are kept.
#pragma once

#include <headroom/allocator/allocator.hpp>

#include <algorithm>
#include <cstdint>
#include <list>
#include <vector>

class plain_allocator {
 public:
  using settings = headroom::allocator_settings;
  explicit plain_allocator(const settings& s) : settings_(s) {}

  /// Returns a name for the tensor; 0 for none.
  std::int64_t allocate(std::int64_t bytes, int stream) {
    if (bytes <= 0) return 0;
    const auto size = round_size(bytes);
    const bool small = size <= mib;
    auto found = get_free_block(stream, small, size);
    if (!found.there) found = alloc_block(stream, small, size);
    if (!found.there) {
      if (!settings_.expandable_segments) release_available_cached_blocks(stream, small, size);
      found = alloc_block(stream, small, size);
    }
    if (!found.there) {
      empty_cache();
      found = alloc_block(stream, small, size);
    }
    if (!found.there) {
      overflowed = true;
      const auto capacity = settings_.capacity;
      settings_.capacity = INT64_MAX;
      found = alloc_block(stream, small, size);
      settings_.capacity = capacity;
    }
    const auto rest = found.at->size - size;
    const bool should_split = small || settings_.expandable_segments ? rest >= 512 : size < settings_.max_split_size && rest > mib;
    if (should_split) {
      found.in->pieces.insert(std::next(found.at), {rest, state::free, 0});
      found.at->size = size;
    }
    found.at->what = state::used;
    return found.at->name = ++last_name_;
  }

  void release(std::int64_t name) {
    for (auto& s : segments_)
      for (auto& p : s.pieces)
        if (p.what != state::free && p.what != state::unmapped && p.name == name && name != 0) p.what = state::free;
    join();
  }
  void retire(std::int64_t name) {
    for (auto& s : segments_)
      for (auto& p : s.pieces)
        if (p.what == state::used && p.name == name) p.what = state::waiting;
    if (name != 0) waiting_.push_back(name);
  }
  [[nodiscard]] std::size_t record() const { return retired_ + waiting_.size(); }
  void wait(std::size_t event) {
    for (; retired_ < event; ++retired_) {
      release(waiting_.front());
      waiting_.erase(waiting_.begin());
    }
  }
  /// release_cached_blocks
  void empty_cache() {
    wait(record());
    for (auto s = segments_.begin(); s != segments_.end();) {
      if (s->expandable) {
        unmap_block(*s);
        ++s;
      } else {
        s = s->pieces.size() == 1 && s->pieces.front().what == state::free ? segments_.erase(s) : std::next(s);
      }
    }
  }

  [[nodiscard]] std::int64_t allocated() const {
    return sum([](const piece& p) { return p.what == state::used; });
  }
  [[nodiscard]] std::int64_t active() const {
    return sum([](const piece& p) { return p.what == state::used || p.what == state::waiting; });
  }
  [[nodiscard]] std::int64_t reserved() const {
    return sum([](const piece& p) { return p.what != state::unmapped; });
  }
  bool overflowed = false;

 private:
  static constexpr std::int64_t mib = 1024 * 1024;
  static constexpr std::int64_t address_space = std::int64_t{1} << 50;
  enum class state { free, used, waiting, unmapped };
  struct piece {
    std::int64_t size;
    state what;
    std::int64_t name;
  };
  struct segment {
    int stream;
    bool small, expandable;
    std::list<piece> pieces;  // by address
  };
  struct place {
    bool there = false;
    segment* in = nullptr;
    std::list<piece>::iterator at{};
  };

  [[nodiscard]] std::int64_t round_size(std::int64_t bytes) const {
    const auto divisions = settings_.roundup_power2_divisions;
    if (bytes < 512) return 512;
    if (divisions > 1 && bytes > 512 * divisions) {
      std::int64_t power = 1;
      while (power * 2 <= bytes) power *= 2;
      if (power == bytes) return bytes;
      std::int64_t size = power;
      while (size < bytes) size += power / divisions;
      return size;
    }
    return (bytes + 511) / 512 * 512;
  }

  place get_free_block(int stream, bool small, std::int64_t size) {
    std::vector<place> pool;  // by size, then address, as BlockComparatorSize
    for (auto& s : segments_) {
      if (s.stream != stream || s.small != small) continue;
      for (auto p = s.pieces.begin(); p != s.pieces.end(); ++p)
        if (p->what == state::free && p->size >= size) pool.push_back({true, &s, p});
    }
    std::stable_sort(pool.begin(), pool.end(), [](const place& a, const place& b) { return a.at->size < b.at->size; });
    if (pool.empty()) return {};
    std::size_t i = 0;
    const auto expandable_size = [](const place& b) {
      const auto next = std::next(b.at);
      return b.at->size + (next != b.in->pieces.end() && next->what == state::unmapped ? next->size : 0);
    };
    if (settings_.expandable_segments)
      while (i + 1 < pool.size() && expandable_size(pool[i + 1]) < expandable_size(pool[i])) ++i;
    const auto found = pool[i].at->size, limit = settings_.max_split_size;
    if (size < limit && found >= limit) return {};
    if (size >= limit && found >= size + 20 * mib) return {};
    return pool[i];
  }

  [[nodiscard]] bool has_room(std::int64_t more) const { return more <= settings_.capacity - reserved(); }

  place alloc_block(int stream, bool small, std::int64_t size) {
    if (settings_.expandable_segments) return try_allocate_expandable_block(stream, small, size);
    const auto length = small ? 2 * mib : size < 10 * mib ? 20 * mib : (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
    if (!has_room(length)) return {};
    // The driver fills room that it has from below, and goes on downwards.
    const bool up = length <= room_from_below - filled_;
    if (up) filled_ += length;
    const auto made = segments_.insert(up ? segments_.end() : segments_.begin(), {stream, small, false, {{length, state::free, 0}}});
    return {true, &*made, made->pieces.begin()};
  }

  place try_allocate_expandable_block(int stream, bool small, std::int64_t size) {
    auto s = std::find_if(segments_.begin(), segments_.end(), [&](const segment& o) { return o.stream == stream && o.small == small; });
    if (s == segments_.end()) {
      segments_.push_back({stream, small, true, {{address_space, state::unmapped, 0}}});
      s = std::prev(segments_.end());
    }
    const auto page = small ? 2 * mib : 20 * mib;
    auto& all = s->pieces;
    for (auto u = all.begin(); u != all.end(); ++u) {  // find_expandable_block
      if (u->what != state::unmapped) continue;
      auto from = u != all.begin() && std::prev(u)->what == state::free ? std::prev(u) : u;
      std::int64_t room = 0;
      for (auto b = from; b != all.end() && room < size && (b->what == state::free || b->what == state::unmapped); ++b) room += b->size;
      if (room < size) continue;
      std::int64_t there = 0;
      std::int64_t missing = 0;  // all or nothing: what is mapped before the driver refuses is cached, and given back next
      for (auto b = from; there < size; there += b->size, ++b)
        if (b->what == state::unmapped) missing += std::min(b->size, (size - there + page - 1) / page * page);
      if (!has_room(missing)) return {};
      there = 0;
      for (auto b = from; there < size; ++b) {  // map_block
        if (b->what == state::unmapped) {
          const auto mapped = std::min(b->size, (size - there + page - 1) / page * page);
          if (mapped < b->size) {
            all.insert(std::next(b), {b->size - mapped, state::unmapped, 0});
            b->size = mapped;
          }
          b->what = state::free;
        }
        there += b->size;
      }
      join();  // into the first of them, which stays
      if (from != all.begin() && std::prev(from)->what == state::free) --from;
      return {true, &*s, from};
    }
    return {};
  }

  void release_available_cached_blocks(int stream, bool small, std::int64_t size) {
    const auto limit = settings_.max_split_size;
    if (limit == INT64_MAX) return;
    const auto needed = std::max(size, limit);
    const auto whole = [&](const segment& s) {
      return s.stream == stream && s.small == small && s.pieces.size() == 1 && s.pieces.front().what == state::free;
    };
    const auto length = [](const segment& s) { return s.pieces.front().size; };
    auto best = segments_.end();
    for (auto s = segments_.begin(); s != segments_.end(); ++s)
      if (whole(*s) && length(*s) >= needed && (best == segments_.end() || length(*s) < length(*best))) best = s;
    if (best != segments_.end()) {
      segments_.erase(best);
      return;
    }
    for (std::int64_t given = 0; given < needed;) {
      auto largest = segments_.end();
      for (auto s = segments_.begin(); s != segments_.end(); ++s)
        if (whole(*s) && length(*s) >= limit && (largest == segments_.end() || length(*s) >= length(*largest))) largest = s;
      if (largest == segments_.end()) return;
      given += length(*largest);
      segments_.erase(largest);
    }
  }
  /// Whole pages of its free pieces.
  static void unmap_block(segment& s) {
    const auto page = s.small ? 2 * mib : 20 * mib;
    std::int64_t address = 0;
    for (auto p = s.pieces.begin(); p != s.pieces.end(); ++p) {
      const auto from = address, to = address + p->size;
      address = to;
      if (p->what != state::free) continue;
      const auto first = (from + page - 1) / page * page, last = to / page * page;
      if (first >= last) continue;
      if (first > from) s.pieces.insert(p, {first - from, state::free, 0});
      if (last < to) s.pieces.insert(std::next(p), {to - last, state::free, 0});
      p->size = last - first;
      p->what = state::unmapped;
      if (last < to) ++p;
    }
    join(s);
  }

  /// try_merge_blocks: of neighbours that are free, or not mapped, the first stays.
  static void join(segment& s) {
    for (auto p = s.pieces.begin(); p != s.pieces.end();) {
      const auto next = std::next(p);
      if (next != s.pieces.end() && p->what == next->what && (p->what == state::free || p->what == state::unmapped)) {
        p->size += next->size;
        s.pieces.erase(next);
      } else {
        ++p;
      }
    }
  }
  void join() {
    for (auto& s : segments_) join(s);
  }

  template <class Which>
  [[nodiscard]] std::int64_t sum(Which which) const {
    std::int64_t n = 0;
    for (const auto& s : segments_)
      for (const auto& p : s.pieces)
        if (which(p)) n += p.size;
    return n;
  }

  settings settings_;
  std::list<segment> segments_;  // in the order of their addresses
  static constexpr std::int64_t room_from_below = 3168 * mib;
  std::int64_t filled_ = 0;      // of it
  std::vector<std::int64_t> waiting_;
  std::size_t retired_ = 0;
  std::int64_t last_name_ = 0;
};
