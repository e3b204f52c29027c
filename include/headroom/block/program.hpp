// Distributed under the Boost Software License, Version 1.0.
// A layer as a short program: tensors, and the operations that read, make and save them. No coefficient of an activation
// formula is written anywhere; the formulas come out of running such a list (block/run.hpp).
#pragma once

#include <headroom/block/operation.hpp>
#include <headroom/units/quantity.hpp>

#include <array>
#include <new>
#include <type_traits>

namespace headroom {

/// Room for so many values, of which only those that were put are ever read. The others are left uninitialised at run time,
/// which halves the cost of a program; a constant expression has no room for indeterminate values.
template <class T, std::size_t Size>
class room {
 public:
  static constexpr room open() {
    if (std::is_constant_evaluated()) return room(filled{});
    return room(empty{});
  }
  /// Makes value i of its parts.
  template <class... Parts>
  constexpr T& put(std::size_t i, const Parts&... parts) {
    T* const place = values_ + i;
    if (std::is_constant_evaluated())
      *place = T{parts...};
    else
      ::new (static_cast<void*>(place)) T{parts...};
    return *place;
  }
  [[nodiscard]] constexpr const T& operator[](std::size_t i) const { return values_[i]; }
  [[nodiscard]] constexpr T& operator[](std::size_t i) { return values_[i]; }

 private:
  struct filled {};
  struct empty {};
  constexpr explicit room(filled) : values_{} {}
  constexpr explicit room(empty) : nothing_{} {}
  union {
    T values_[Size];
    char nothing_;
  };
};

/// A program with fixed room and no heap. Build it in the order of execution. Tensors are storages unless they are views. Its first
/// operations, as many as most blocks have, lie side by side as long as there are no more than 63 tensors; the others are packed.
class program {
  template <class Set>  // before its uses: clang 14 finds it in a constant expression only there
  [[nodiscard]] constexpr Set owners(const Set& s) const {
    auto r = s & ~cut<Set>(views_);
    for (const auto t : each(s & cut<Set>(views_))) r |= tensor::at(owner_[index(t)]).template as<Set>();
    return r;
  }

 public:
  static constexpr std::size_t max_tensors = wide_set::places;
  static constexpr std::size_t near_operations = 48, rare_operations = 20;
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

  // --- tensors ---------------------------------------------------------------------------------------------------------

  /// elements × width bytes in storage of its own.
  constexpr tensor make(std::int64_t elements, std::int64_t width, row r = row::activations) {
    if (tensors_ == max_tensors) refuse("headroom: a block holds at most 192 tensors; split it", max_tensors);
    const auto i = tensors_++;
    const auto t = tensor::at(i);
    elements_[i] = elements;
    width_[i] = static_cast<std::int32_t>(width);
    size_[i] = rounded(elements, width).count();
    largest_ |= size_[i];
    if (r == row::activations) return t;
    if (r == row::logits) put(logits_, t);
    if (r == row::gathered_parameters) put(weights_, t);
    return t;
  }
  /// Another tensor in the storage of `of`; its gradient is its own.
  constexpr tensor view(tensor of, std::int64_t elements) {
    const auto t = make(elements, width(of), is_logits(of) ? row::logits : row::activations);
    owner_[index(t)] = static_cast<std::uint8_t>(has(views_, of) ? owner_[index(of)] : of.place());
    put(views_, t);
    if (needs_gradient(of)) put(gradient_, t);
    return t;
  }
  /// What enters the block.
  constexpr tensor input(std::int64_t elements, std::int64_t width, bool has_gradient) {
    const auto t = make(elements, width);
    if (has_gradient) put(gradient_, t);
    input_ = t;
    return t;
  }
  constexpr void set_output(tensor t) { output_ = t; }
  /// Something that trains lies before a tensor, though no operation of the block says so.
  constexpr void require_gradient(tensor t) { put(gradient_, t); }

  [[nodiscard]] constexpr std::int64_t elements(tensor t) const { return elements_[index(t)]; }
  [[nodiscard]] constexpr std::int64_t width(tensor t) const { return width_[index(t)]; }
  [[nodiscard]] constexpr bool needs_gradient(tensor t) const { return has(gradient_, t); }
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
    if (tensors_ > near_tensors || operations_ >= near_end_) [[unlikely]] return step_packed(reads, makes, d);
    std::uint8_t rare = 0;
    if (d.holds.near != 0 || d.temporary_block != bytes{0} || d.pieces != 1) {
      if (rare_size_ == rare_operations) [[unlikely]] return step_packed(reads, makes, d);
      rare_.put(rare = rare_size_++, d.holds.near, d.temporary_block, d.pieces);
    }
    const near_set from = reads.near, to = makes.near;
    const bool recorded = (from & gradient_.word[0]) != 0 || d.weight_gradient > bytes{0};
    // A tensor saved twice is released by its first saver.
    const near_set saves = recorded ? storages(d.saves.near) & ~saved_.word[0] : 0;
    list_.put(operations_++, from, to, saves, d.forward_temporary, d.backward_temporary, d.weight_gradient, d.temporaries, d.gradient_waits,
              d.passes_gradient, d.releases_first, d.splits, recorded, rare);
    largest_ |= (d.forward_temporary.value | d.backward_temporary.value) | d.weight_gradient.value;
    saved_.word[0] |= saves;
    if (!recorded) return;
    if (d.splits) splits_.word[0] |= storages(d.saves.near);
    if (d.sticky.near != 0) sticky_.word[0] |= storages(d.sticky.near);
    gradient_.word[0] |= to;
  }

  /// Keeps a tensor alive to the end of forward, or of backward: a local of the caller, not of the graph.
  constexpr void hold_in_forward(tensor t) { held_forward_ |= storages(t.bit()); }
  constexpr void hold_through_backward(tensor t) { held_ |= storages(t.bit()); }
  /// Drops tensors that are saved once forward is done, and makes them again when the block's backward begins.
  constexpr void recompute(const wide_set& s) { recomputed_ |= storages(s); }
  [[nodiscard]] constexpr const wide_set& recomputed() const { return recomputed_; }
  /// … all that were made since there were `first` tensors, but not those of `but`.
  [[nodiscard]] constexpr std::size_t tensors() const { return tensors_; }
  [[nodiscard]] constexpr wide_set since(std::size_t first) const {
    wide_set s;
    for (auto i = first; i < tensors_; ++i) s.word[i >> 6] |= std::uint64_t{1} << (i & 63U);
    return s;
  }
  constexpr void recompute_since(std::size_t first, const wide_set& but) { recompute(since(first) & ~but); }
  /// Moves tensors that are saved to host memory once the operations that save them have run. Each comes back when the layer's
  /// backward begins; `twice`: as two tensors, because two operations saved it.
  constexpr void offload(const wide_set& s, const wide_set& twice = 0) {
    offloaded_ |= storages(s);
    doubled_ |= storages(twice);
  }
  [[nodiscard]] constexpr const wide_set& offloaded() const { return offloaded_; }
  /// What comes back in more copies than the block's backward reads: of what is recomputed as well, one more.
  [[nodiscard]] constexpr bytes doubled() const { return sum(doubled_) + sum(offloaded_ & recomputed_); }
  /// The block is part of a layer that is recomputed as a whole: of what it saves, only what was kept stays until then.
  constexpr void keep(const wide_set& s) { kept_ |= storages(s); }
  constexpr void checkpoint() { checkpointed_ = true; }
  [[nodiscard]] constexpr bool checkpointed() const { return checkpointed_; }
  [[nodiscard]] constexpr const wide_set& kept() const { return kept_; }
  /// A compiler keeps a result only if something that is computed again reads it, `outside` included.
  constexpr void keep_needed(const wide_set& outside) {
    auto needed = saved_ | storages(outside);
    for (auto i = operations_; i-- > 0;)
      if (const auto o = any(i); (storages(o.makes) & needed & ~kept_) != 0) needed |= storages(o.reads);
    kept_ &= needed;
  }
  /// A tensor's second gradient is not added to the first, but both into a third.
  constexpr void sum_out_of_place(bool yes) { sums_out_of_place_ = yes; }
  [[nodiscard]] constexpr bool sums_out_of_place() const { return sums_out_of_place_; }
  /// The gradient of the block's result is somebody else's, who keeps it until the block's backward is done.
  constexpr void borrow_output_gradient(bool yes) { borrows_ = yes; }
  [[nodiscard]] constexpr bool borrows_output_gradient() const { return borrows_; }
  /// The temporaries of an operation, allocated and freed in their own order, leave so much unused between them (block/span.hpp).
  constexpr void leave_holes(bytes b) { holes_ += b; }
  [[nodiscard]] constexpr bytes holes() const { return holes_; }
  /// Counts matrix multiplications, in the order in which they run.
  constexpr void count_matrices_from(std::int64_t n) { matrices_ = n; }
  constexpr std::int64_t count_matrix() { return ++matrices_; }
  [[nodiscard]] constexpr std::int64_t matrices() const { return matrices_; }
  /// Marks the place where the model hands its outputs to the caller: what the caller held of the last step goes here.
  constexpr void returns_here() { returns_at_ = operations_; }
  [[nodiscard]] constexpr std::size_t returns_at() const { return returns_at_; }
  /// Keeps a tensor to the end of forward even where nothing is recorded (autocast's weight cache).
  constexpr void cache_in_forward(tensor t) { cached_ |= storages(t.bit()); }

  // --- what the walk reads ---------------------------------------------------------------------------------------------

  [[nodiscard]] constexpr std::size_t operations() const { return operations_; }
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
  [[nodiscard]] constexpr bool near() const { return tensors_ <= near_tensors && packed_.size() == 0 && static_cast<std::uint64_t>(largest_) >> 53 == 0; }
  [[nodiscard]] constexpr tensor input() const { return input_; }
  [[nodiscard]] constexpr tensor output() const { return output_; }
  [[nodiscard]] constexpr const wide_set& saved() const { return saved_; }
  /// What the gradients of weights are computed from, beside gradients of results.
  [[nodiscard]] constexpr const wide_set& splits() const { return splits_; }
  [[nodiscard]] constexpr const wide_set& sticky() const { return sticky_; }
  [[nodiscard]] constexpr const wide_set& held() const { return held_; }
  [[nodiscard]] constexpr const wide_set& held_in_forward() const { return held_forward_; }
  [[nodiscard]] constexpr const wide_set& cached() const { return cached_; }
  [[nodiscard]] constexpr const wide_set& logits() const { return logits_; }
  [[nodiscard]] constexpr const wide_set& weights() const { return weights_; }
  [[nodiscard]] constexpr const wide_set& gradients() const { return gradient_; }
  /// Of a tensor in storage of its own, and of any tensor's gradient.
  [[nodiscard]] constexpr bytes size(tensor t) const { return bytes{size_[index(t)]}; }
  [[nodiscard]] constexpr bool is_logits(tensor t) const { return has(logits_, t); }
  /// The storages behind a set of tensors.
  [[nodiscard, gnu::always_inline]] constexpr near_set storages(near_set s) const {
    if (views_.word[0] != 0) [[unlikely]] return owners(s);
    return s;
  }
  [[nodiscard]] constexpr wide_set storages(const wide_set& s) const { return views_ != 0 ? owners(s) : s; }
  /// Bytes of a set of storages, or of the gradients of a set of tensors.
  [[nodiscard]] constexpr bytes sum(near_set s) const {
    std::int64_t r = 0;
    for (; s != 0; s &= s - 1) r = checked::add(r, size_[static_cast<std::size_t>(std::countr_zero(s))]);
    return bytes{r};
  }
  [[nodiscard]] constexpr bytes sum(const wide_set& s) const {
    std::int64_t r = 0;
    for (const auto t : each(s)) r = checked::add(r, size_[index(t)]);
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
    const bool recorded = (reads & gradient_) != 0 || d.weight_gradient > bytes{0};
    const auto saves = recorded ? storages(wide_set(d.saves)) & ~saved_ : wide_set{};
    packed_.add({reads, makes, saves, d.holds, d.forward_temporary, d.backward_temporary, d.weight_gradient, d.temporary_block, d.pieces, d.temporaries,
                 d.gradient_waits, d.passes_gradient, d.releases_first, d.splits, recorded});
    ++operations_;
    near_end_ = 0;  // those behind it are packed, too
    saved_ |= saves;
    if (!recorded) return;
    if (d.splits) splits_ |= storages(d.saves);
    sticky_ |= storages(d.sticky);
    gradient_ |= makes;
  }
  [[nodiscard]] constexpr operation any(std::size_t i) const {
    const auto near = operations_ - packed_.size();
    if (i >= near) return packed_[i - near];
    const auto& o = list_[i];
    const auto& r = rare_[o.rare];
    return {o.reads, o.makes, o.saves, r.holds, o.forward_temporary, o.backward_temporary, o.weight_gradient, r.temporary_block, r.pieces, o.temporaries,
            o.gradient_waits, o.passes_gradient, o.releases_first, o.splits, o.recorded};
  }
  static constexpr std::size_t index(tensor t) { return t.place(); }

  // Only the first tensors_ of each are ever read.
  std::array<std::int64_t, max_tensors> size_;
  std::array<std::int64_t, max_tensors> elements_;
  std::array<std::int32_t, max_tensors> width_;
  std::array<std::uint8_t, max_tensors> owner_;  // of a view: the tensor whose storage it shares
  room<near_operation, near_operations> list_ = room<near_operation, near_operations>::open();
  room<rare_details, rare_operations> rare_ = room<rare_details, rare_operations>::open();
  detail::packed_operations<1792, max_operations - near_operations> packed_;
  std::int64_t spare_;  // granule - 1
  std::int64_t largest_ = 0;  // has a bit wherever a size or an operation's number has one
  std::size_t near_end_ = near_operations;
  std::uint8_t rare_size_ = 1;
  std::size_t tensors_ = 0;
  std::size_t operations_ = 0;
  std::size_t returns_at_ = max_operations;  // nowhere
  std::int64_t matrices_ = 0;
  bool checkpointed_ = false, sums_out_of_place_ = false, borrows_ = false;
  bytes holes_{};
  wide_set kept_, recomputed_, offloaded_, doubled_, gradient_, saved_, splits_, sticky_, held_, held_forward_, cached_, logits_, weights_, views_;
  tensor input_{}, output_{};
};

}  // namespace headroom
