// Distributed under the Boost Software License, Version 1.0.
// Calls to the allocator between two moments of a run, to be made again later on, among others: a micro-batch of one length behind one of
// another. Micro-batches that differ in length alone make the same calls with other sizes.
#pragma once

#include <headroom/allocator/allocator.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace headroom {

/// Blocks that are in use between two scripts, in the order in which they were made.
using live_blocks = std::vector<caching_allocator::block>;

/// A part of a run: allocations, frees of them, and frees of blocks that were in use before it. Sizes are kept in units of 512 bytes, to which the
/// allocator rounds them.
class call_script {
 public:
  using block = caching_allocator::block;

  /// `made_before`: the blocks in use where the calls begin; when they are written down it is those in use where they end. `retired`: how many
  /// blocks had been retired by then. `like`: a script that may make the same calls with other sizes.
  call_script(std::span<const allocator_call> calls, live_blocks& in_use, std::size_t& retired, const call_script* like = nullptr) {
    auto form = std::make_shared<pattern>();
    std::vector<std::int32_t> number_of;  // by block: of the allocation here, or ~n of the n-th that was in use before
    const auto note = [&](block b, std::int32_t number) {
      if (number_of.size() <= static_cast<std::size_t>(b)) number_of.resize(static_cast<std::size_t>(b) + 1);
      number_of[static_cast<std::size_t>(b)] = number;
    };
    for (std::size_t i = 0; i < in_use.size(); ++i) note(in_use[i], ~static_cast<std::int32_t>(i));
    form->before = in_use.size();
    const auto first_retired = retired;
    std::vector<bool> freed, freed_before(in_use.size());
    live_blocks made;
    for (const auto& c : calls) {
      step s{.what = c.what, .on = c.on, .number = 0};
      switch (c.what) {
        case allocator_call::kind::allocate:
          s.number = static_cast<std::int32_t>(sizes_.size());
          note(c.block, s.number);
          sizes_.push_back(static_cast<std::uint32_t>((c.value + caching_allocator::granule - 1) / caching_allocator::granule));
          freed.push_back(false);
          made.push_back(c.block);
          break;
        case allocator_call::kind::retire:
          ++retired;
          [[fallthrough]];
        case allocator_call::kind::release:
          s.number = number_of[static_cast<std::size_t>(c.block)];
          if (s.number >= 0)
            freed[static_cast<std::size_t>(s.number)] = true;
          else
            freed_before[static_cast<std::size_t>(~s.number)] = true;
          break;
        case allocator_call::kind::wait: s.number = static_cast<std::int32_t>(c.value - static_cast<std::int64_t>(first_retired)); break;
        case allocator_call::kind::empty_cache: break;
      }
      form->steps.push_back(s);
    }
    live_blocks after;
    for (std::size_t i = 0; i < in_use.size(); ++i) {
      if (!freed_before[i]) after.push_back(in_use[i]);
      form->frees_before = form->frees_before || freed_before[i];
    }
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!freed[i]) {
        form->left.push_back(static_cast<std::int32_t>(i));
        after.push_back(made[i]);
      }
    in_use = std::move(after);
    form_ = like != nullptr && *like->form_ == *form ? like->form_ : std::move(form);
  }

  /// How many blocks must be in use before it.
  [[nodiscard]] std::size_t before() const { return form_->before; }
  /// Whether the same blocks are in use behind it as before it, so that it can follow itself.
  [[nodiscard]] bool repeats() const { return !form_->frees_before && form_->left.empty(); }
  [[nodiscard]] std::size_t calls() const { return form_->steps.size(); }
  [[nodiscard]] bool like(const call_script& b) const { return form_ == b.form_; }

  /// Makes the calls again. `in_use` are the blocks in use before, then behind it; `made` is room for its own, which keeps its size from call to call.
  void play(caching_allocator& a, live_blocks& in_use, live_blocks& made) const {
    if (made.size() < sizes_.size()) made.resize(sizes_.size());
    const auto retired = static_cast<std::int64_t>(a.record());
    const auto block_of = [&](std::int32_t number) -> block& { return number >= 0 ? made[static_cast<std::size_t>(number)] : in_use[static_cast<std::size_t>(~number)]; };
    for (const auto& s : form_->steps) {
      switch (s.what) {
        case allocator_call::kind::allocate: {
          const auto i = static_cast<std::size_t>(s.number);
          made[i] = a.allocate(static_cast<std::int64_t>(sizes_[i]) * caching_allocator::granule, s.on);
          break;
        }
        case allocator_call::kind::release: a.release(block_of(s.number)); break;
        case allocator_call::kind::retire: a.retire(block_of(s.number)); break;
        case allocator_call::kind::wait: a.wait(static_cast<std::size_t>(retired + s.number)); break;
        case allocator_call::kind::empty_cache: a.empty_cache(); break;
      }
      if (s.number < 0 && (s.what == allocator_call::kind::release || s.what == allocator_call::kind::retire)) block_of(s.number) = nothing;
    }
    if (form_->frees_before) std::erase(in_use, nothing);
    for (const auto i : form_->left) in_use.push_back(made[static_cast<std::size_t>(i)]);
  }

 private:
  static constexpr block nothing = memory_pieces::none;
  struct step {
    allocator_call::kind what{};
    stream on{};
    std::int32_t number{};  ///< of an allocation here, ~number of a block in use before; of a wait, how many more are retired than before
    friend bool operator==(const step&, const step&) = default;
  };
  struct pattern {
    std::vector<step> steps;
    std::vector<std::int32_t> left;  ///< allocations that are in use behind it
    std::size_t before{};
    bool frees_before{};
    friend bool operator==(const pattern&, const pattern&) = default;
  };
  std::shared_ptr<const pattern> form_;
  std::vector<std::uint32_t> sizes_;
};

}  // namespace headroom
