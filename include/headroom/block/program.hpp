// Distributed under the Boost Software License, Version 1.0.
// A layer as a short program: tensors, and the operations that read, make and save them. No coefficient of an activation
// formula is written anywhere; the formulas come out of running such a list (block/run.hpp).
#pragma once

#include <headroom/block/operation.hpp>
#include <headroom/block/room.hpp>
#include <headroom/units/quantity.hpp>

#include <array>
#include <type_traits>

namespace headroom {

/// A program with fixed room and no heap. Build it in the order of execution. Tensors are storages unless they are views. Its first
/// operations, as many as most blocks have, lie side by side as long as there are no more than 63 tensors; the others are packed.
class program {
  template <class Set>  // before its uses: clang 14 finds it in a constant expression only there
  [[nodiscard]] constexpr Set owners(const Set& s) const {
    auto r = s & ~cut<Set>(is_.views);
    for (const auto t : each(s & cut<Set>(is_.views))) r |= tensor::at(owner_[index(t)]).template as<Set>();
    return r;
  }

 public:
  static constexpr std::size_t max_tensors = wide_set::places;
  static constexpr std::size_t near_operations = 48, rare_operations = 24;
  static constexpr std::size_t max_operations = near_operations + 144;

  /// `granule`: the allocator's rounding, a power of two (512 for PyTorch's caching allocator, 1 to count plain bytes).
  constexpr explicit program(std::int64_t granule) : spare_(granule - 1) {
    rare_.put(0, near_set{0}, bytes{0}, std::int64_t{1});
    if (!std::is_constant_evaluated()) return;  // see room
    size_ = {};
    elements_ = {};
    width_ = {};
    owner_ = {};
  }

  /// Begins anew.
  constexpr void clear() {
    is_ = {};
    packed_.clear();
  }

  // --- tensors ---------------------------------------------------------------------------------------------------------

  /// elements × width bytes in storage of its own.
  constexpr tensor make(std::int64_t elements, std::int64_t width, row r = row::activations) {
    if (is_.tensors == max_tensors) refuse("headroom: a block holds at most 192 tensors; split it", max_tensors);
    const auto i = is_.tensors++;
    const auto t = tensor::at(i);
    elements_[i] = elements;
    width_[i] = static_cast<std::int32_t>(width);
    const auto size = rounded(elements, width).count();
    is_.largest |= size;
    if (i < near_tensors) [[likely]] size_[i] = size;
    if (r == row::activations) return t;
    if (r == row::logits) put(is_.logits, t);
    if (r == row::gathered_parameters) put(is_.weights, t);
    return t;
  }
  /// So many tensors of one size, which come and go together, each in a block of its own.
  constexpr tensor make_each(std::int64_t times, bytes one) {
    const bool few = one.count() > widest && one.count() < (std::int64_t{1} << 30);
    return few ? make(times, one.count()) : make(checked::mul(times, one.count()), 1);
  }
  /// The size of one of those; 0: it is one tensor.
  [[nodiscard]] constexpr bytes one_of(tensor t) const { return width(t) > widest ? bytes{width(t)} : bytes{0}; }
  static constexpr std::int64_t widest = 16;  ///< no number has more bytes

  /// Another tensor in the storage of `of`; its gradient is its own. `bytes_each`: of its numbers, where the storage is counted elsewhere and has no size here.
  constexpr tensor view(tensor of, std::int64_t elements, std::int64_t bytes_each = 0) {
    const auto t = make(elements, bytes_each > 0 ? bytes_each : width(of), is_logits(of) ? row::logits : row::activations);
    owner_[index(t)] = static_cast<std::uint8_t>(has(is_.views, of) ? owner_[index(of)] : of.place());
    put(is_.views, t);
    if (needs_gradient(of)) put(is_.gradient, t);
    return t;
  }
  /// What enters the block.
  constexpr tensor input(std::int64_t elements, std::int64_t width, bool has_gradient) {
    const auto t = make(elements, width);
    if (has_gradient) put(is_.gradient, t);
    is_.input = t;
    return t;
  }
  constexpr void set_output(tensor t) { is_.output = t; }
  /// Something that trains lies before a tensor, though no operation of the block says so.
  constexpr void require_gradient(tensor t) { put(is_.gradient, t); }

  [[nodiscard]] constexpr std::int64_t elements(tensor t) const { return elements_[index(t)]; }
  [[nodiscard]] constexpr std::int64_t width(tensor t) const { return width_[index(t)]; }
  [[nodiscard]] constexpr bool needs_gradient(tensor t) const { return has(is_.gradient, t); }
  [[nodiscard]] constexpr bytes rounded(bytes b) const {
    return bytes{checked::add(b.value, spare_) & ~spare_};
  }
  [[nodiscard]] constexpr bytes rounded(std::int64_t elements, std::int64_t width) const {
    return rounded(bytes{checked::mul(elements, width)});
  }

  // --- operations ------------------------------------------------------------------------------------------------------

  /// Appends an operation. It is recorded, and saves, only if something it reads needs a gradient or it trains a weight.
  /// Inlined, so that the details are written into the list at once; as an argument they are written, awaited and copied.
  [[gnu::always_inline]] constexpr void step(tensor_set reads, tensor_set makes, const operation_details& d = {}) {
    if (is_.tensors > near_tensors || is_.operations >= is_.near_end) [[unlikely]] return step_packed(reads, makes, d);
    std::uint8_t rare = 0;
    if (d.holds.near != 0 || d.temporary_block != bytes{0} || d.pieces != 1) {
      if (is_.rare_size == rare_operations) [[unlikely]] return step_packed(reads, makes, d);
      rare_.put(rare = is_.rare_size++, d.holds.near, d.temporary_block, d.pieces);
    }
    const near_set from = reads.near, to = makes.near;
    const bool recorded = (from & is_.gradient.word[0]) != 0 || d.weight_gradient > bytes{0};
    // A tensor saved twice is released by its first saver.
    const near_set saves = recorded ? storages(d.saves.near) & ~is_.saved.word[0] : 0;
    list_.put(is_.operations++, from, to, saves, d.forward_temporary, d.backward_temporary, d.weight_gradient, d.temporaries, d.gradient_waits,
              d.passes_gradient, d.releases_first, d.splits, recorded, rare, d.bias_gradient);
    is_.largest |= (d.forward_temporary.value | d.backward_temporary.value) | d.weight_gradient.value;
    is_.saved.word[0] |= saves;
    if (!recorded) return;
    if (d.splits) is_.splits.word[0] |= storages(d.saves.near);
    if (d.sticky.near != 0) is_.sticky.word[0] |= storages(d.sticky.near);
    is_.gradient.word[0] |= to;
  }

  /// Keeps a tensor alive to the end of forward, or of backward: a local of the caller, not of the graph.
  constexpr void hold_in_forward(tensor t) { is_.held_forward |= storages(t.bit()); }
  constexpr void hold_through_backward(tensor t) { is_.held |= storages(t.bit()); }
  /// Drops tensors that are saved once forward is done, and makes them again when the block's backward begins.
  constexpr void recompute(const wide_set& s) { is_.recomputed |= storages(s); }
  [[nodiscard]] constexpr const wide_set& recomputed() const { return is_.recomputed; }
  /// … all that were made since there were `first` tensors, but not those of `but`.
  [[nodiscard]] constexpr std::size_t tensors() const { return is_.tensors; }
  [[nodiscard]] constexpr wide_set since(std::size_t first) const {
    wide_set s;
    for (auto i = first; i < is_.tensors; ++i) s.word[i >> 6] |= std::uint64_t{1} << (i & 63U);
    return s;
  }
  constexpr void recompute_since(std::size_t first, const wide_set& but) { recompute(since(first) & ~but); }
  /// Moves tensors that are saved to host memory once the operations that save them have run. Each comes back when the layer's
  /// backward begins; `twice`: as two tensors, because two operations saved it.
  constexpr void offload(const wide_set& s, const wide_set& twice = 0) {
    is_.offloaded |= storages(s);
    is_.doubled |= storages(twice);
  }
  [[nodiscard]] constexpr const wide_set& offloaded() const { return is_.offloaded; }
  /// What comes back in more copies than the block's backward reads: of what is recomputed as well, one more.
  [[nodiscard]] constexpr bytes doubled() const { return sum(is_.doubled) + sum(is_.offloaded & is_.recomputed); }
  /// The block is part of a layer that is recomputed as a whole: of what it saves, only what was kept stays until then.
  constexpr void keep(const wide_set& s) { is_.kept |= storages(s); }
  constexpr void checkpoint() { is_.checkpointed = true; }
  [[nodiscard]] constexpr bool checkpointed() const { return is_.checkpointed; }
  [[nodiscard]] constexpr const wide_set& kept() const { return is_.kept; }
  /// A compiler keeps a result only if something that is computed again reads it, `outside` included.
  constexpr void keep_needed(const wide_set& outside) {
    auto needed = is_.saved | storages(outside);
    for (auto i = is_.operations; i-- > 0;)
      if (const auto o = any(i); (storages(o.makes) & needed & ~is_.kept) != 0) needed |= storages(o.reads);
    is_.kept &= needed;
  }
  /// A tensor's second gradient is not added to the first, but both into a third.
  constexpr void sum_out_of_place(bool yes) { is_.sums_out_of_place = yes; }
  [[nodiscard]] constexpr bool sums_out_of_place() const { return is_.sums_out_of_place; }
  /// The gradient of the block's result is somebody else's, who keeps it until the block's backward is done.
  constexpr void borrow_output_gradient(bool yes) { is_.borrows = yes; }
  [[nodiscard]] constexpr bool borrows_output_gradient() const { return is_.borrows; }
  /// The temporaries of an operation, allocated and freed in their own order, leave so much unused between them (block/span.hpp).
  constexpr void leave_holes(bytes b) { is_.holes += b; }
  [[nodiscard]] constexpr bytes holes() const { return is_.holes; }
  /// Counts matrix multiplications, in the order in which they run.
  constexpr void count_matrices_from(std::int64_t n) { is_.matrices = n; }
  constexpr std::int64_t count_matrix() { return ++is_.matrices; }
  [[nodiscard]] constexpr std::int64_t matrices() const { return is_.matrices; }
  /// Marks the place where the model hands its outputs to the caller: what the caller held of the last step goes here.
  constexpr void returns_here() { is_.returns_at = is_.operations; }
  [[nodiscard]] constexpr std::size_t returns_at() const { return is_.returns_at; }
  /// Marks the place where another model runs. A walk that is to stop there takes it for the place above.
  constexpr void other_here() { is_.other_at = is_.operations; }
  [[nodiscard]] constexpr std::size_t other_at() const { return is_.other_at; }
  constexpr void return_at_other() { is_.returns_at = is_.other_at; }
  /// A copy of a weight for its matrix multiplication: who times that counts the bytes that it moves (cost/layer_parts.hpp, add_linear).
  constexpr void moves_with_matrix(tensor t) { put(is_.copies, t); }
  [[nodiscard]] constexpr const wide_set& copies() const { return is_.copies; }
  /// Keeps a tensor to the end of forward even where nothing is recorded (autocast's weight cache).
  constexpr void cache_in_forward(tensor t) { is_.cached |= storages(t.bit()); }

  // --- what the walk reads ---------------------------------------------------------------------------------------------

  [[nodiscard]] constexpr std::size_t operations() const { return is_.operations; }
  /// Operation i; as it is stored, where all is near.
  [[nodiscard]] constexpr operation operator[](std::size_t i) const { return any(i); }
  template <class Set>
  [[nodiscard, gnu::always_inline]] constexpr std::conditional_t<std::is_same_v<Set, near_set>, const near_operation&, operation> at(std::size_t i) const {
    if constexpr (std::is_same_v<Set, near_set>)
      return list_[i];
    else
      return any(i);
  }
  /// What few operations have.
  [[nodiscard]] constexpr const rare_details& rare(const near_operation& o) const { return rare_[o.rare]; }
  [[nodiscard]] static constexpr const operation& rare(const operation& o) { return o; }
  /// Whether no operation is packed, no set needs a second word, and no sum a check: of 63 tensors and 48 operations what is there at once,
  /// four times a tensor (itself, two gradients, their sum) and twice an operation's number, stays below 348 × 2^53 bytes, or 2^62.
  [[nodiscard]] constexpr bool near() const { return is_.tensors <= near_tensors && packed_.size() == 0 && static_cast<std::uint64_t>(is_.largest) >> 53 == 0; }
  [[nodiscard]] constexpr tensor input() const { return is_.input; }
  [[nodiscard]] constexpr tensor output() const { return is_.output; }
  [[nodiscard]] constexpr const wide_set& saved() const { return is_.saved; }
  /// What the gradients of weights are computed from, beside gradients of results.
  [[nodiscard]] constexpr const wide_set& splits() const { return is_.splits; }
  [[nodiscard]] constexpr const wide_set& sticky() const { return is_.sticky; }
  [[nodiscard]] constexpr const wide_set& held() const { return is_.held; }
  [[nodiscard]] constexpr const wide_set& held_in_forward() const { return is_.held_forward; }
  [[nodiscard]] constexpr const wide_set& cached() const { return is_.cached; }
  [[nodiscard]] constexpr const wide_set& logits() const { return is_.logits; }
  [[nodiscard]] constexpr const wide_set& weights() const { return is_.weights; }
  [[nodiscard]] constexpr const wide_set& gradients() const { return is_.gradient; }
  /// Of a tensor in storage of its own, and of any tensor's gradient.
  [[nodiscard]] constexpr bytes size(tensor t) const {
    const auto i = index(t);
    return i < near_tensors ? bytes{size_[i]} : rounded(elements_[i], width_[i]);
  }
  [[nodiscard]] constexpr bool is_logits(tensor t) const { return has(is_.logits, t); }
  /// The storages behind a set of tensors.
  [[nodiscard, gnu::always_inline]] constexpr near_set storages(near_set s) const {
    if (is_.views.word[0] != 0) [[unlikely]] return owners(s);
    return s;
  }
  [[nodiscard]] constexpr wide_set storages(const wide_set& s) const { return is_.views != 0 ? owners(s) : s; }
  /// Bytes of a set of storages, or of the gradients of a set of tensors.
  [[nodiscard]] constexpr bytes sum(near_set s) const {
    std::int64_t r = 0;
    for (; s != 0; s &= s - 1) r = checked::add(r, size_[static_cast<std::size_t>(std::countr_zero(s))]);
    return bytes{r};
  }
  [[nodiscard]] constexpr bytes sum(const wide_set& s) const {
    std::int64_t r = 0;
    for (const auto t : each(s)) r = checked::add(r, size(t).count());
    return bytes{r};
  }
  /// The same as a number; where all is near, of tensors that need no check.
  [[nodiscard, gnu::always_inline]] constexpr std::int64_t count(near_set s) const {
    std::int64_t r = 0;
    for (; s != 0; s &= s - 1) r = proven::add(r, size_[static_cast<std::size_t>(std::countr_zero(s))]);
    return r;
  }
  [[nodiscard]] constexpr std::int64_t count(const wide_set& s) const { return sum(s).count(); }

 private:
  [[gnu::noinline, gnu::cold]] constexpr void step_packed(tensor_set reads, tensor_set makes, operation_details d) {
    const bool recorded = (reads & is_.gradient) != 0 || d.weight_gradient > bytes{0};
    const auto saves = recorded ? storages(wide_set(d.saves)) & ~is_.saved : wide_set{};
    packed_.add({reads, makes, saves, d.holds, d.forward_temporary, d.backward_temporary, d.weight_gradient, d.temporary_block, d.pieces, d.temporaries,
                 d.gradient_waits, d.passes_gradient, d.releases_first, d.splits, recorded, d.bias_gradient});
    ++is_.operations;
    is_.near_end = 0;  // those behind it are packed, too
    is_.saved |= saves;
    if (!recorded) return;
    if (d.splits) is_.splits |= storages(d.saves);
    is_.sticky |= storages(d.sticky);
    is_.gradient |= makes;
  }
  [[nodiscard]] constexpr operation any(std::size_t i) const {
    const auto near = is_.operations - packed_.size();
    if (i >= near) return packed_[i - near];
    const auto& o = list_[i];
    const auto& r = rare_[o.rare];
    return {o.reads, o.makes, o.saves, r.holds, o.forward_temporary, o.backward_temporary, o.weight_gradient, r.temporary_block, r.pieces, o.temporaries,
            o.gradient_waits, o.passes_gradient, o.releases_first, o.splits, o.recorded, o.bias_gradient};
  }
  static constexpr std::size_t index(tensor t) { return t.place(); }

  // Only the first is_.tensors of each are ever read.
  std::array<std::int64_t, near_tensors> size_;  // of far ones it is computed again
  std::array<std::int64_t, max_tensors> elements_;
  std::array<std::int32_t, max_tensors> width_;
  std::array<std::uint8_t, max_tensors> owner_;  // of a view: the tensor whose storage it shares
  room<near_operation, near_operations> list_ = room<near_operation, near_operations>::open();
  room<rare_details, rare_operations> rare_ = room<rare_details, rare_operations>::open();
  detail::packed_operations<1792, max_operations - near_operations> packed_;
  std::int64_t spare_;  // granule - 1
  /// All that one program has of its own beside its lists.
  struct marks {
    std::int64_t largest = 0;  // has a bit wherever a size or an operation's number has one
    std::size_t near_end = near_operations;
    std::size_t tensors = 0;
    std::size_t operations = 0;
    std::size_t returns_at = max_operations, other_at = max_operations;  // nowhere
    std::int64_t matrices = 0;
    bytes holes{};
    wide_set kept, recomputed, offloaded, doubled, gradient, saved, splits, sticky, held, held_forward, cached, copies, logits, weights, views;
    tensor input{}, output{};
    std::uint8_t rare_size = 1;
    bool checkpointed = false, sums_out_of_place = false, borrows = false;
  };
  marks is_;
};

}  // namespace headroom
