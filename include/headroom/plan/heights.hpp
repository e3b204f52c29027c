// Distributed under the Boost Software License, Version 1.0.
// What divided layers come to where only heights are asked, not what they are made of.
#pragma once

#include <headroom/engine/tensor_parallel/stages.hpp>

#include <array>

namespace headroom::detail {

/// A moment of which only the bytes are asked, and how many of them are gathered parameters.
struct gathered_height {
  bytes total, gathered;

  constexpr gathered_height() = default;
  constexpr gathered_height(bytes all, bytes of_it) : total(all), gathered(of_it) {}
  constexpr explicit gathered_height(const moment& m) : gathered_height(m.total, m.rows[row::gathered_parameters]) {}
  constexpr gathered_height(row r, bytes b) : total(b), gathered(part_of(part{r, b})) {}
  constexpr void add(row r, bytes b) { *this += part{r, b}; }
  constexpr gathered_height& operator-=(const gathered_height& b) {
    total -= b.total;
    gathered -= b.gathered;
    return *this;
  }
  template <class Part>
  constexpr gathered_height& operator+=(const Part& p) {
    total += p.total;
    gathered += part_of(p);
    return *this;
  }
  friend constexpr gathered_height operator+(gathered_height a, const gathered_height& b) { return a += b; }
  template <class... Others>
  constexpr bool rise_to(const gathered_height& first, const Others&... others) {
    const auto sum = (first.total + ... + others.total);
    if (sum <= total) return false;
    total = sum;
    gathered = (first.gathered + ... + part_of(others));
    return true;
  }

 private:
  static constexpr bytes part_of(const gathered_height& p) { return p.gathered; }
  static constexpr bytes part_of(const part& p) { return p.of == row::gathered_parameters ? p.total : bytes{0}; }
  static constexpr bytes part_of(const multiple<gathered_height>& p) { return p.n * p.of.gathered; }
};

template <class Height>
constexpr basic_layer_cost<Height> height_of(const layer_cost& c) {
  return {Height(c.saved), Height(c.forward), Height(c.backward), Height(c.backward_first), Height(c.kept), c.offloaded, c.doubled};
}
template <class Height>
constexpr basic_divided_layers<Height> height_of(const divided_layers& w) {
  basic_divided_layers<Height> r;
  for (std::size_t i = 0; i < megatron::kind_places; ++i) {
    r.whole[i] = height_of<Height>(w.whole[i]);
    r.checkpoint[i] = height_of<Height>(w.checkpoint[i]);
    r.graphless[i] = Height(w.graphless[i]);
  }
  r.norm = height_of<Height>(w.norm);
  r.mtp = height_of<Height>(w.mtp);
  r.encoder = height_of<Height>(w.encoder);
  r.encoder_norm = height_of<Height>(w.encoder_norm);
  r.memory = w.memory;
  r.head_saved = Height(w.head_saved);
  r.head_forward = Height(w.head_forward);
  r.head_backward = Height(w.head_backward);
  r.head_kept = Height(w.head_kept);
  r.input = w.input;
  return r;
}

/// What a layer's walk and a stage's buffers come to for one micro-batch. Buffers are asked for by what a stage has.
class layer_heights {
 public:
  explicit layer_heights(const divided_layers& w) : plain(height_of<height>(w)), gathered(height_of<gathered_height>(w)) { buffers_.fill(bytes{-1}); }
  bytes buffers(const settled_job& s, stage_parts p) {
    auto& known = buffers_[std::size_t{p.dense} + 2 * std::size_t{p.sparse} + 4 * std::size_t{p.first} + 8 * std::size_t{p.last} + 16 * std::size_t{p.attention} + 32 * std::size_t{p.recurs}];
    if (known < bytes{0}) known = resident_of_stage(s, breakdown{}, p).total;
    return known;
  }
  basic_divided_layers<height> plain;
  basic_divided_layers<gathered_height> gathered;

 private:
  std::array<bytes, 64> buffers_;
};

}  // namespace headroom::detail
