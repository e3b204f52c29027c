// Distributed under the Boost Software License, Version 1.0.
// How an optimizer updates one weight tensor after another in code of its own: the tensors that it makes for a moment, in the order of that
// code. A name keeps its tensor until it is given another one, also from one weight to the next, as a variable in a loop of Python does.
#pragma once

#include <array>
#include <cstdint>

namespace headroom {

/// The size of a tensor: of the weight; of its gradient projected to the optimizer's rank, and of the projection; its shorter side squared; a
/// vector of its rows or columns. Of what is done for a side that has a preconditioner alone: the weight, or the side squared.
enum class update_extent : std::uint8_t { whole, low_rank, projection, square, rows, columns, through_rows, through_columns, rows_squared, columns_squared };
/// Its number format: the weight's, the gradient's, the state's, or one of these two.
enum class update_format : std::uint8_t { weight, gradient, state, fp32, bf16 };

/// One step of an optimizer's update of a tensor: a temporary tensor is made, copied to another format, let go of or renamed.
struct update_step {
  /// make `to`; make it as a copy of what has format `in` unless that has 32 (16) bits already; let go of `to`; call what `from` names `to`.
  enum class action : std::uint8_t { make, widen, narrow, forget, rename };
  action what{};
  std::int8_t to{}, from{};
  update_extent extent{};
  update_format in{};
};

/// The steps by name; temporary tensors are numbers from 0 to 11.
namespace updates {
constexpr update_step make(std::int8_t name, update_format f = update_format::fp32, update_extent e = update_extent::whole) { return {.what = update_step::action::make, .to = name, .extent = e, .in = f}; }
constexpr update_step widen(std::int8_t name, update_format of) { return {.what = update_step::action::widen, .to = name, .in = of}; }
constexpr update_step narrow(std::int8_t name, update_format of) { return {.what = update_step::action::narrow, .to = name, .in = of}; }
constexpr update_step forget(std::int8_t name) { return {.what = update_step::action::forget, .to = name}; }
constexpr update_step rename(std::int8_t name, std::int8_t from) { return {.what = update_step::action::rename, .to = name, .from = from}; }
}  // namespace updates

/// The steps for one tensor. No steps: one kernel, which makes nothing.
struct update_steps {
  static constexpr int capacity = 48;
  std::array<update_step, capacity> list{};
  std::int32_t size{};

  constexpr update_steps() = default;
  template <class... Steps>
  constexpr update_steps(update_step first, Steps... more) : list{{first, more...}}, size(1 + static_cast<std::int32_t>(sizeof...(more))) {
    static_assert(sizeof...(more) < capacity);
  }
};

/// What an optimizer's own code makes for a moment when it updates.
struct update_program {
  update_steps matrix{};  ///< of tensors whose state is smaller than they are (factored, projected), or which Muon updates
  update_steps plain{};   ///< of all others
  bool in_calls{};        ///< each tensor's update is a call of its own: its names end with it

  static constexpr int names = 12;
  [[nodiscard]] constexpr bool makes_nothing() const { return matrix.size == 0 && plain.size == 0; }
};

/// A weight tensor to update.
struct updated_tensor {
  std::int64_t rows{}, columns{}, elements{};  ///< `elements`: of it, this rank's
  std::int64_t rank{};
  std::int64_t most_side{};                    ///< sides up to this have a preconditioner
  std::int8_t weight{}, gradient{}, state{};   ///< bytes of a number
  bool as_matrix{};
};

/// Bytes of what a step makes for a tensor; 0 where it makes nothing.
constexpr std::int64_t made_by(const update_step& step, const updated_tensor& t) {
  using action = update_step::action;
  const auto width_of = [&](update_format f) -> std::int64_t {
    return f == update_format::weight ? t.weight : f == update_format::gradient ? t.gradient : f == update_format::state ? t.state : f == update_format::bf16 ? 2 : 4;
  };
  const auto width = width_of(step.in);
  if (step.what == action::widen) return width == 4 ? 0 : 4 * t.elements;
  if (step.what == action::narrow) return width == 2 ? 0 : 2 * t.elements;
  if (step.what != action::make) return 0;
  const auto shorter = t.rows < t.columns ? t.rows : t.columns, longer = t.rows < t.columns ? t.columns : t.rows;
  switch (step.extent) {
    case update_extent::low_rank: return width * t.rank * longer;
    case update_extent::projection: return width * t.rank * shorter;
    case update_extent::square: return width * shorter * shorter;
    case update_extent::rows: return width * t.rows;
    case update_extent::columns: return width * t.columns;
    case update_extent::through_rows: return t.rows > t.most_side ? 0 : width * t.elements;
    case update_extent::through_columns: return t.columns > t.most_side ? 0 : width * t.elements;
    case update_extent::rows_squared: return t.rows > t.most_side ? 0 : width * t.rows * t.rows;
    case update_extent::columns_squared: return t.columns > t.most_side ? 0 : width * t.columns * t.columns;
    case update_extent::whole: break;
  }
  return width * t.elements;
}

/// Runs a program for one tensor. `named`: what each name holds. `make(bytes)` gives a handle, `free(handle)` takes one that is not needed
/// any more; a handle that is not `made()` is of nothing.
template <class Handle, class Make, class Free>
constexpr void run_update(const update_program& p, const updated_tensor& t, std::array<Handle, update_program::names>& named, const Make& make, const Free& free) {
  using action = update_step::action;
  const auto& steps = t.as_matrix ? p.matrix : p.plain;
  const auto forget = [&](Handle& h) {
    free(h);
    h = Handle{};
  };
  for (std::int32_t i = 0; i < steps.size; ++i) {
    const auto& s = steps.list[static_cast<std::size_t>(i)];
    auto& to = named[static_cast<std::size_t>(s.to)];
    if (s.what == action::forget) {
      forget(to);
    } else if (s.what == action::rename) {
      auto& from = named[static_cast<std::size_t>(s.from)];
      forget(to);
      to = from;
      from = Handle{};
    } else {
      const auto size = made_by(s, t);
      if (size == 0 && s.extent >= update_extent::through_rows) continue;  // a view of what the name has
      const auto made = make(size);
      forget(to);
      to = made;
    }
  }
  if (!p.in_calls) return;
  for (auto& h : named) forget(h);
}

}  // namespace headroom
