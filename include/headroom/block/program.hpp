// Distributed under the Boost Software License, Version 1.0.
// A layer as a short program: tensors, and the operations that read, make and save them. No coefficient of an activation
// formula is written anywhere; the formulas come out of running such a list (block/run.hpp).
#pragma once

#include <headroom/report.hpp>
#include <headroom/units/quantity.hpp>

#include <array>
#include <bit>
#include <new>
#include <type_traits>

namespace headroom {

/// A set of tensors of one program, as bits.
using tensor_set = std::uint64_t;

/// A tensor of a program: a set of one. tensor{} is none.
struct tensor {
  tensor_set set{};
  [[nodiscard]] constexpr bool valid() const { return set != 0; }
  [[nodiscard]] constexpr tensor_set bit() const { return set; }
  friend constexpr tensor_set operator|(tensor a, tensor b) { return a.set | b.set; }
  friend constexpr tensor_set operator|(tensor_set a, tensor b) { return a | b.set; }
};

/// The place of a set's first tensor in its program.
constexpr std::size_t first_of(tensor_set s) { return static_cast<std::size_t>(std::countr_zero(s)); }

/// The tensors of a set, first to last: for (const auto t : each(set)).
class each {
 public:
  class iterator {
   public:
    constexpr explicit iterator(tensor_set s) : rest_(s) {}
    constexpr tensor operator*() const { return {rest_ & -rest_}; }
    constexpr iterator& operator++() { return rest_ &= rest_ - 1, *this; }
    constexpr bool operator==(const iterator&) const = default;

   private:
    tensor_set rest_;
  };
  constexpr explicit each(tensor_set s) : set_(s) {}
  [[nodiscard]] constexpr iterator begin() const { return iterator(set_); }
  [[nodiscard]] constexpr iterator end() const { return iterator(0); }

 private:
  tensor_set set_;
};

/// What program::step() may be told of an operation beside its tensors. What it saves is kept from its forward to its backward;
/// what it needs only for a moment is a temporary.
struct operation_details {
  tensor_set saves{};
  tensor_set holds{};         ///< kept up to here by a local of the caller, though nothing reads it any more
  tensor_set sticky{};        ///< kept on the context instead: alive until the whole graph dies (bitsandbytes up to 0.43.1)
  bytes forward_temporary{};
  bytes backward_temporary{};
  bytes weight_gradient{};    ///< of the weights it trains
  bool gradient_waits{};      ///< that is not added to an existing one before a second has come: of a table that is used twice
  std::int64_t pieces{1};     ///< the operation runs in so many equal pieces, one after the other
  bytes temporary_block{};    ///< its temporaries are blocks of this size and what is left of them; 0: one block
  row temporaries{row::temporaries};  ///< the row of the report its temporaries are counted in
  bool passes_gradient{};     ///< an addition: the gradient of each operand is the gradient of the result, not a copy
  bool releases_first{};      ///< its gradients are written over what it saved
  bool splits{};              ///< a schedule may put its weight gradient off: then what it saved and its result's gradient stay
};

/// One step of a layer.
struct operation : operation_details {
  tensor_set reads{};
  tensor_set makes{};
  bool recorded{};            ///< part of the graph: something that trains lies before it
};

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

/// A program with fixed room and no heap. Build it in the order of execution. Tensors are storages unless they are views.
class program {
 public:
  static constexpr std::size_t max_tensors = 64;
  static constexpr std::size_t max_operations = 64;

  /// `granule`: the allocator's rounding, a power of two (512 for PyTorch's caching allocator, 1 to count plain bytes).
  constexpr explicit program(std::int64_t granule) : spare_(granule - 1) {
    if (!std::is_constant_evaluated()) return;  // see room
    size_ = {};
    elements_ = {};
    width_ = {};
    owner_ = {};
  }

  // --- tensors ---------------------------------------------------------------------------------------------------------

  /// elements × width bytes in storage of its own.
  constexpr tensor make(std::int64_t elements, std::int64_t width, row r = row::activations) {
    if (tensors_ == max_tensors) refuse("headroom: a block holds at most 64 tensors; split it", max_tensors);
    const auto i = tensors_++;
    const tensor t{tensor_set{1} << i};
    elements_[i] = elements;
    width_[i] = static_cast<std::int32_t>(width);
    size_[i] = rounded(elements, width).count();
    if (r == row::activations) return t;
    if (r == row::logits) logits_ |= t.bit();
    if (r == row::gathered_parameters) weights_ |= t.bit();
    return t;
  }
  /// Another tensor in the storage of `of`; its gradient is its own.
  constexpr tensor view(tensor of, std::int64_t elements) {
    const auto t = make(elements, width(of), is_logits(of) ? row::logits : row::activations);
    owner_[index(t)] = storages(of.bit());
    views_ |= t.bit();
    if (needs_gradient(of)) gradient_ |= t.bit();
    return t;
  }
  /// What enters the block.
  constexpr tensor input(std::int64_t elements, std::int64_t width, bool has_gradient) {
    const auto t = make(elements, width);
    if (has_gradient) gradient_ |= t.bit();
    input_ = t;
    return t;
  }
  constexpr void set_output(tensor t) { output_ = t; }
  /// Something that trains lies before a tensor, though no operation of the block says so.
  constexpr void require_gradient(tensor t) { gradient_ |= t.bit(); }

  [[nodiscard]] constexpr std::int64_t elements(tensor t) const { return elements_[index(t)]; }
  [[nodiscard]] constexpr std::int64_t width(tensor t) const { return width_[index(t)]; }
  [[nodiscard]] constexpr bool needs_gradient(tensor t) const { return (gradient_ & t.bit()) != 0; }
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
    if (operations_ == max_operations) refuse("headroom: a block holds at most 64 operations; split it", max_operations);
    const bool recorded = (reads & gradient_) != 0 || d.weight_gradient > bytes{0};
    auto& o = list_.put(operations_++, d, reads, makes, recorded);
    o.saves = recorded ? storages(d.saves) & ~saved_ : 0;  // a tensor saved twice is released by its first saver
    o.sticky = recorded ? storages(d.sticky) : 0;
    saved_ |= o.saves;
    if (d.splits && recorded) splits_ |= storages(d.saves);
    sticky_ |= o.sticky;
    if (recorded) gradient_ |= makes;
  }

  /// Keeps a tensor alive to the end of forward, or of backward: a local of the caller, not of the graph.
  constexpr void hold_in_forward(tensor t) { held_forward_ |= storages(t.bit()); }
  constexpr void hold_through_backward(tensor t) { held_ |= storages(t.bit()); }
  /// Drops tensors that are saved once forward is done, and makes them again when the block's backward begins.
  constexpr void recompute(tensor_set s) { recomputed_ |= storages(s); }
  [[nodiscard]] constexpr tensor_set recomputed() const { return recomputed_; }
  /// … all that were made since there were `first` tensors, but not those of `but`.
  [[nodiscard]] constexpr std::size_t tensors() const { return tensors_; }
  [[nodiscard]] constexpr tensor_set since(std::size_t first) const {
    return (tensors_ == max_tensors ? ~tensor_set{0} : (tensor_set{1} << tensors_) - 1) & ~((tensor_set{1} << first) - 1);
  }
  constexpr void recompute_since(std::size_t first, tensor_set but) {
    for (auto i = first; i < tensors_; ++i) recompute((tensor_set{1} << i) & ~but);
  }
  /// Moves tensors that are saved to host memory once the operations that save them have run. Each comes back when the layer's
  /// backward begins; `twice`: as two tensors, because two operations saved it.
  constexpr void offload(tensor_set s, tensor_set twice = 0) {
    offloaded_ |= storages(s);
    doubled_ |= storages(twice);
  }
  [[nodiscard]] constexpr tensor_set offloaded() const { return offloaded_; }
  /// What comes back in more copies than the block's backward reads: of what is recomputed as well, one more.
  [[nodiscard]] constexpr bytes doubled() const { return sum(doubled_) + sum(offloaded_ & recomputed_); }
  /// The block is part of a layer that is recomputed as a whole: of what it saves, only what was kept stays until then.
  constexpr void keep(tensor_set s) { kept_ |= storages(s); }
  constexpr void checkpoint() { checkpointed_ = true; }
  [[nodiscard]] constexpr bool checkpointed() const { return checkpointed_; }
  [[nodiscard]] constexpr tensor_set kept() const { return kept_; }
  /// A compiler keeps a result only if something that is computed again reads it, `outside` included.
  constexpr void keep_needed(tensor_set outside) {
    auto needed = saved_ | storages(outside);
    for (auto i = operations_; i-- > 0;)
      if ((storages(list_[i].makes) & needed & ~kept_) != 0) needed |= storages(list_[i].reads);
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
  [[nodiscard]] constexpr const operation& operator[](std::size_t i) const { return list_[i]; }
  [[nodiscard]] constexpr tensor input() const { return input_; }
  [[nodiscard]] constexpr tensor output() const { return output_; }
  [[nodiscard]] constexpr tensor_set saved() const { return saved_; }
  /// What the gradients of weights are computed from, beside gradients of results.
  [[nodiscard]] constexpr tensor_set splits() const { return splits_; }
  [[nodiscard]] constexpr tensor_set sticky() const { return sticky_; }
  [[nodiscard]] constexpr tensor_set held() const { return held_; }
  [[nodiscard]] constexpr tensor_set held_in_forward() const { return held_forward_; }
  [[nodiscard]] constexpr tensor_set cached() const { return cached_; }
  [[nodiscard]] constexpr tensor_set logits() const { return logits_; }
  [[nodiscard]] constexpr tensor_set weights() const { return weights_; }
  [[nodiscard]] constexpr tensor_set gradients() const { return gradient_; }
  /// Of a tensor in storage of its own, and of any tensor's gradient.
  [[nodiscard]] constexpr bytes size(tensor t) const { return bytes{size_[index(t)]}; }
  [[nodiscard]] constexpr bool is_logits(tensor t) const { return (logits_ & t.bit()) != 0; }
  /// The storages behind a set of tensors.
  [[nodiscard, gnu::always_inline]] constexpr tensor_set storages(tensor_set s) const {
    if (views_ != 0) [[unlikely]] return owners(s);
    return s;
  }
  /// Bytes of a set of storages, or of the gradients of a set of tensors.
  [[nodiscard]] constexpr bytes sum(tensor_set s) const {
    std::int64_t r = 0;
    for (; s != 0; s &= s - 1) r = checked::add(r, size_[first_of(s)]);
    return bytes{r};
  }

 private:
  [[nodiscard]] constexpr tensor_set owners(tensor_set s) const {
    auto r = s & ~views_;
    for (auto v = s & views_; v != 0; v &= v - 1) r |= owner_[first_of(v)];
    return r;
  }
  static constexpr std::size_t index(tensor t) { return first_of(t.set); }

  // Only the first tensors_ of each are ever read.
  std::array<std::int64_t, max_tensors> size_;
  std::array<std::int64_t, max_tensors> elements_;
  std::array<std::int32_t, max_tensors> width_;
  std::array<tensor_set, max_tensors> owner_;  // of a view: the tensor whose storage it shares
  room<operation, max_operations> list_ = room<operation, max_operations>::open();
  std::int64_t spare_;  // granule - 1
  std::size_t tensors_ = 0;
  std::size_t operations_ = 0;
  std::size_t returns_at_ = max_operations;  // nowhere
  std::int64_t matrices_ = 0;
  bool checkpointed_ = false, sums_out_of_place_ = false, borrows_ = false;
  bytes holes_{};
  tensor_set kept_ = 0, recomputed_ = 0, offloaded_ = 0, doubled_ = 0, gradient_ = 0, saved_ = 0, splits_ = 0, sticky_ = 0, held_ = 0, held_forward_ = 0, cached_ = 0, logits_ = 0, weights_ = 0, views_ = 0;
  tensor input_{}, output_{};
};

}  // namespace headroom
