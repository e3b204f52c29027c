// Distributed under the Boost Software License, Version 1.0.
// Room for values on the stack, of which a few are used.
#pragma once

#include <cstddef>
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

}  // namespace headroom
