// Distributed under the Boost Software License, Version 1.0.
// One kind of weight tensor, and a list of them with a fixed room and no heap.
#pragma once

#include <headroom/model/shape.hpp>
#include <headroom/units/quantity.hpp>

#include <bit>
#include <type_traits>

namespace headroom {

/// The module a weight belongs to. Adapter targets and `trainable` lists select by it.
enum class module : std::uint8_t {
  embedding,   ///< token embedding
  position,    ///< learned positions, token types
  q_proj, k_proj, v_proj, o_proj,           ///< DeepSeek's expanding q_b is q_proj and its kv_b is k_proj
  mla_down,    ///< DeepSeek's compressing projections (q_a, kv_a) and their norms
  gate_proj, up_proj, down_proj,            ///< dense MLP (plain MLP: up, down)
  experts_gate, experts_up, experts_down,   ///< routed experts
  shared_gate, shared_up, shared_down,      ///< shared experts (and their gate vector)
  router,
  norm,
  head,        ///< output projection, its bias, heads of encoders
  mtp,         ///< multi-token-prediction modules
  cross_attention,
  mixer_in, mixer_out, mixer,  ///< projections of a recurrent mixer; its convolution, gates and norm
  layer_input, ///< what hands each layer its own embedding of a token: see layer_input_shape
  encoder,     ///< the encoder of an encoder-decoder model
  vision,      ///< vision or audio tower
  projector,   ///< projector, merger, resampler
  other,       ///< attention sinks, class tokens, patch embeddings of the main stack, logit scales
};
inline constexpr int module_count = static_cast<int>(module::other) + 1;

/// How tensor (or expert) parallelism may divide a weight.
enum class split_axis : std::uint8_t { none, rows, columns, vocabulary };

/// The layers of the main stack that hold a weight: first, first + stride, … `count` of them. Where they do not stand evenly, stride is 0 and
/// `irregular` names them, a bit each; first is the lowest. count 0: outside the stack.
struct layer_span {
  static constexpr std::int64_t most_irregular = 128;
  std::int64_t first{};
  std::int64_t count{};
  std::int64_t stride{1};
  std::uint64_t irregular[2]{};

  /// One more layer, above those that are there; below most_irregular.
  constexpr void add_irregular(std::int64_t layer) {
    if (count++ == 0) first = layer, stride = 0;
    irregular[layer / 64] |= std::uint64_t{1} << layer % 64;
  }
  /// How many of them lie below a layer.
  [[nodiscard]] constexpr std::int64_t below(std::int64_t layer) const {
    if (layer <= first || count == 0) return 0;
    if (stride == 0) {
      if (layer >= most_irregular) return count;
      const auto part = irregular[layer / 64] & ((std::uint64_t{1} << layer % 64) - 1);
      return (layer < 64 ? 0 : std::popcount(irregular[0])) + std::popcount(part);
    }
    const auto n = stride == 1 ? layer - first : checked::ceil_div(layer - first, stride);
    return n < count ? n : count;
  }
  [[nodiscard]] constexpr bool has(std::int64_t layer) const {
    if (stride == 0) return layer >= first && layer < most_irregular && (irregular[layer / 64] >> layer % 64 & 1) != 0;
    const auto behind = layer - first;
    return behind >= 0 && behind % stride == 0 && behind / stride < count;
  }
  /// The n-th of them, of `count`.
  [[nodiscard]] constexpr std::int64_t at(std::int64_t n) const {
    if (stride > 0) return first + n * stride;
    auto word = irregular[0];
    const std::int64_t low = std::popcount(word), base = n < low ? 0 : 64;
    if (n >= low) word = irregular[1], n -= low;
    for (; n > 0; --n) word &= word - 1;
    return base + std::countr_zero(word);
  }
  /// Those in layers [begin, end).
  [[nodiscard]] constexpr layer_span within(std::int64_t begin, std::int64_t end) const {
    const auto before = below(begin), here = below(end) - before;
    if (here <= 0) return {first, 0, stride};
    if (stride > 0) return {at(before), here, stride};
    layer_span r;
    for (std::int64_t n = 0; n < here; ++n) r.add_irregular(at(before + n));
    return r;
  }
  bool operator==(const layer_span&) const = default;
};

/// A layer's matrices, q_proj to down_proj, as bits.
constexpr std::uint8_t part_bits(std::uint32_t of_module) { return static_cast<std::uint8_t>(of_module >> static_cast<int>(module::q_proj)); }
static_assert(static_cast<int>(module::down_proj) - static_cast<int>(module::q_proj) == 7);

/// A kind of weight tensor: rows × columns elements (a vector has columns 1), `per_layer` of them in each layer of `layers`,
/// or `per_layer` in all where the weight lies outside the stack. Rows are output features, columns input features.
struct weight {
  module role{module::other};
  std::uint8_t parts{};  ///< of a stack beside the main one and of cross-attention: which of a layer's matrices its copies are, so many of each (part_bits)
  std::int64_t rows{};
  std::int64_t columns{1};
  layer_span layers{};
  std::int64_t per_layer{1};
  split_axis split{split_axis::none};
  bool linear{};   ///< the matrix of a linear layer: what quantised bases replace and adapters attach to
  bool expert{};   ///< a routed expert's: divided over expert parallelism
  bool frozen{};   ///< never trained (Whisper's sinusoids)
  std::int32_t runs{1};  ///< layers in a row that read the same tensor

  [[nodiscard]] constexpr std::int64_t elements() const { return checked::mul(rows, columns); }
  [[nodiscard]] constexpr std::int64_t copies() const { return layers.count > 0 ? checked::mul(layers.count / runs, per_layer) : per_layer; }
  [[nodiscard]] constexpr parameters total() const { return parameters{checked::mul(elements(), copies())}; }
  [[nodiscard]] constexpr bool vector() const { return columns == 1; }
};

/// Up to 80 kinds of weight. Trivially copyable, 6 KiB.
struct inventory {
  static constexpr int capacity = 80;
  union {
    weight entries[capacity];
    char nothing;
  };
  int size{};

  constexpr inventory() : entries{} {}
  /// An empty list to fill. Filling 6 KiB with initial values would cost three times what building a model's list does,
  /// so at run time entries past `size` are left alone; a constant expression has no room for indeterminate parts.
  static constexpr inventory blank() {
    if (std::is_constant_evaluated()) return inventory{};
    return inventory{raw{}};
  }

  /// Absent parts have a size or a count of zero and are not listed.
  constexpr void add(weight w) {
    if (w.rows <= 0 || w.columns <= 0 || w.per_layer <= 0) return;
    if (size == capacity) refuse("headroom: model: its layers alternate too irregularly: a list of weights has room for 80 kinds of tensor, each in layers that stand evenly, or in any of 128; kinds", size);
    weight& to = entries[size++];  // member by member: g++ then keeps `w` in registers
    to.role = w.role, to.rows = w.rows, to.columns = w.columns, to.layers = w.layers, to.per_layer = w.per_layer;
    to.split = w.split, to.linear = w.linear, to.expert = w.expert, to.frozen = w.frozen, to.runs = w.runs, to.parts = w.parts;
  }
  /// In front of what is at `place` now.
  constexpr void insert(int place, const weight& w) {
    const auto before = size;
    add(w);
    for (auto i = before; size > before && i > place; --i) entries[i] = entries[i - 1];
    if (size > before) entries[place] = w;
  }
  [[nodiscard]] constexpr const weight* begin() const { return entries; }
  [[nodiscard]] constexpr const weight* end() const { return entries + size; }

 private:
  struct raw {};
  constexpr explicit inventory(raw) : nothing{} {}
};

}  // namespace headroom
