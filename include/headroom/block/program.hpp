// Distributed under the Boost Software License, Version 1.0.
// A layer as a short program: tensors, and the operations that read, make and save them. No coefficient of an activation
// formula is written anywhere; the formulas come out of walking such a list (block/walk.hpp).
#pragma once

#include <headroom/report.hpp>
#include <headroom/units/quantity.hpp>

#include <array>
#include <bit>
#include <type_traits>

namespace headroom {

/// A set of tensors of one program, as bits.
using tensor_set = std::uint64_t;

/// A tensor of a program, by number.
struct tensor {
  std::int32_t id{-1};
  [[nodiscard]] constexpr bool valid() const { return id >= 0; }
  [[nodiscard]] constexpr tensor_set bit() const { return id < 0 ? 0 : tensor_set{1} << id; }
  friend constexpr tensor_set operator|(tensor a, tensor b) { return a.bit() | b.bit(); }
  friend constexpr tensor_set operator|(tensor_set a, tensor b) { return a | b.bit(); }
};

/// One step of a layer. What it saves is kept from its forward to its backward; what it needs only for a moment is a
/// temporary.
struct operation {
  tensor_set reads;
  tensor_set makes;
  tensor_set saves;
  tensor_set holds;           ///< kept up to here by a local of the caller, though nothing reads it any more
  tensor_set sticky;          ///< kept on the context instead: alive until the whole graph dies (bitsandbytes up to 0.43.1)
  bytes forward_temporary;
  bytes backward_temporary;
  bytes weight_gradient;      ///< of the weights it trains
  std::int64_t pieces;        ///< the operation runs in so many equal pieces, one after the other
  row temporaries;            ///< the row of the report its temporaries are counted in
  bool recorded;              ///< part of the graph: something that trains lies before it
  bool passes_gradient;       ///< an addition: the gradient of each operand is the gradient of the result, not a copy
  bool releases_first;        ///< its gradients are written over what it saved
};

/// What program::step() may be told of an operation beside its tensors.
struct operation_details {
  tensor_set saves{};
  tensor_set holds{};
  tensor_set sticky{};
  bytes forward_temporary{};
  bytes backward_temporary{};
  bytes weight_gradient{};
  std::int64_t pieces{1};
  row temporaries{row::temporaries};
  bool passes_gradient{};
  bool releases_first{};
};

/// A program with fixed room and no heap. Build it in the order of execution. Tensors are storages unless they are views.
class program {
 public:
  static constexpr int max_tensors = 64;
  static constexpr int max_operations = 64;

  /// `granule`: the allocator's rounding, a power of two (512 for PyTorch's caching allocator, 1 to count plain bytes).
  constexpr explicit program(std::int64_t granule) : granule_(granule) {
    if (!std::is_constant_evaluated()) return;  // a constant expression has no room for indeterminate values
    size_ = {};
    gradient_size_ = {};
    elements_ = {};
    width_ = {};
    owner_ = {};
    list_ = {};
  }

  // --- tensors ---------------------------------------------------------------------------------------------------------

  /// elements × width bytes in storage of its own.
  constexpr tensor make(std::int64_t elements, std::int64_t width, row r = row::activations) {
    const auto t = next();
    const auto i = index(t);
    elements_[i] = elements;
    width_[i] = static_cast<std::int32_t>(width);
    owner_[i] = static_cast<std::int8_t>(t.id);
    size_[i] = gradient_size_[i] = rounded(elements, width);
    if (r == row::logits) logits_ |= t.bit();
    if (r == row::gathered_parameters) weights_ |= t.bit();
    return t;
  }
  /// Another tensor in the storage of `of`; its gradient is its own.
  constexpr tensor view(tensor of, std::int64_t elements) {
    const auto t = make(elements, width_[index(of)], logits_ & of.bit() ? row::logits : row::activations);
    size_[index(t)] = bytes{0};
    owner_[index(t)] = owner_[index(of)];
    has_views_ = true;
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

  [[nodiscard]] constexpr std::int64_t elements(tensor t) const { return elements_[index(t)]; }
  [[nodiscard]] constexpr std::int64_t width(tensor t) const { return width_[index(t)]; }
  [[nodiscard]] constexpr bool needs_gradient(tensor t) const { return (gradient_ & t.bit()) != 0; }
  [[nodiscard]] constexpr bytes rounded(bytes b) const {
    return bytes{checked::add(b.value, granule_ - 1) & ~(granule_ - 1)};
  }
  [[nodiscard]] constexpr bytes rounded(std::int64_t elements, std::int64_t width) const {
    return rounded(bytes{checked::mul(elements, width)});
  }

  // --- operations ------------------------------------------------------------------------------------------------------

  /// Appends an operation. It is recorded, and saves, only if something it reads needs a gradient or it trains a weight.
  constexpr void step(tensor_set reads, tensor_set makes, const operation_details& d = {}) {
    if (operations_ == max_operations) refuse("headroom: a block holds at most 64 operations; split it", operations_);
    const bool recorded = (reads & gradient_) != 0 || d.weight_gradient > bytes{0};
    auto& o = list_[static_cast<std::size_t>(operations_++)];
    o.reads = reads;
    o.makes = makes;
    o.holds = d.holds;
    o.forward_temporary = d.forward_temporary;
    o.backward_temporary = d.backward_temporary;
    o.weight_gradient = d.weight_gradient;
    o.pieces = d.pieces;
    o.temporaries = d.temporaries;
    o.recorded = recorded;
    o.passes_gradient = d.passes_gradient;
    o.releases_first = d.releases_first;
    o.sticky = recorded ? storages(d.sticky) : 0;
    o.saves = recorded ? storages(d.saves) & ~saved_ : 0;  // a tensor saved twice is released by its first saver
    saved_ |= o.saves;
    sticky_ |= o.sticky;
    if (recorded) gradient_ |= makes;
  }

  /// Keeps a tensor alive to the end of forward, or of backward: a local of the caller, not of the graph.
  constexpr void hold_in_forward(tensor t) { held_forward_ |= storages(t.bit()); }
  constexpr void hold_through_backward(tensor t) { held_ |= storages(t.bit()); }
  /// Marks the place where the model hands its outputs to the caller: what the caller held of the last step goes here.
  constexpr void returns_here() { returns_at_ = operations_; }
  [[nodiscard]] constexpr int returns_at() const { return returns_at_; }
  /// Keeps a tensor to the end of forward even where nothing is recorded (autocast's weight cache).
  constexpr void cache_in_forward(tensor t) { cached_ |= storages(t.bit()); }

  // --- what the walk reads ---------------------------------------------------------------------------------------------

  [[nodiscard]] constexpr int operations() const { return operations_; }
  [[nodiscard]] constexpr const operation& operator[](int i) const { return list_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] constexpr tensor input() const { return input_; }
  [[nodiscard]] constexpr tensor output() const { return output_; }
  [[nodiscard]] constexpr tensor_set saved() const { return saved_; }
  [[nodiscard]] constexpr tensor_set sticky() const { return sticky_; }
  [[nodiscard]] constexpr tensor_set held() const { return held_; }
  [[nodiscard]] constexpr tensor_set held_in_forward() const { return held_forward_; }
  [[nodiscard]] constexpr tensor_set cached() const { return cached_; }
  [[nodiscard]] constexpr tensor_set logits() const { return logits_; }
  [[nodiscard]] constexpr tensor_set weights() const { return weights_; }
  [[nodiscard]] constexpr tensor_set gradients() const { return gradient_; }
  [[nodiscard]] constexpr bytes size(tensor t) const { return size_[index(t)]; }
  [[nodiscard]] constexpr bytes gradient_size(tensor t) const { return gradient_size_[index(t)]; }
  [[nodiscard]] constexpr bool is_logits(tensor t) const { return (logits_ & t.bit()) != 0; }
  /// The storages behind a set of tensors.
  [[nodiscard]] constexpr tensor_set storages(tensor_set s) const {
    if (!has_views_) return s;
    tensor_set r = 0;
    for (; s != 0; s &= s - 1) r |= tensor_set{1} << owner_[static_cast<std::size_t>(std::countr_zero(s))];
    return r;
  }
  [[nodiscard]] constexpr bytes sum(tensor_set s) const {
    bytes r{0};
    for (; s != 0; s &= s - 1) r += size_[static_cast<std::size_t>(std::countr_zero(s))];
    return r;
  }

 private:
  static constexpr std::size_t index(tensor t) { return static_cast<std::size_t>(t.id); }
  constexpr tensor next() {
    if (tensors_ == max_tensors) refuse("headroom: a block holds at most 64 tensors; split it", tensors_);
    return {tensors_++};
  }

  // Left uninitialised at run time, which halves the cost of a program: only the first tensors_ and operations_ entries are
  // ever read.
  std::array<bytes, max_tensors> size_;
  std::array<bytes, max_tensors> gradient_size_;
  std::array<std::int64_t, max_tensors> elements_;
  std::array<std::int32_t, max_tensors> width_;
  std::array<std::int8_t, max_tensors> owner_;
  std::array<operation, max_operations> list_;
  std::int64_t granule_;
  std::int32_t tensors_ = 0;
  std::int32_t operations_ = 0;
  std::int32_t returns_at_ = 0;
  bool has_views_ = false;
  tensor_set gradient_ = 0, saved_ = 0, sticky_ = 0, held_ = 0, held_forward_ = 0, cached_ = 0, logits_ = 0, weights_ = 0;
  tensor input_{}, output_{};
};

}  // namespace headroom
