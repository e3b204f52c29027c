// Distributed under the Boost Software License, Version 1.0.
// Bytes, counts, bars and colours as text.
#pragma once

#include <algorithm>
#include <cstdio>
#include <headroom/units/quantity.hpp>
#include <string>
#include <string_view>

namespace headroom::io {

inline std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

inline double in_gib(bytes b) { return static_cast<double>(b.count()) / (1024.0 * 1024.0 * 1024.0); }

/// "12.34 GiB".
inline std::string gib_text(bytes b) { return fixed(in_gib(b), 2) + " GiB"; }

/// "8.03 B", "124 M", "32 k": parameters as people say them.
inline std::string count_text(std::int64_t n) {
  const auto value = static_cast<double>(n);
  if (n >= 1'000'000'000'000) return fixed(value / 1e12, 2) + " T";
  if (n >= 1'000'000'000) return fixed(value / 1e9, 2) + " B";
  if (n >= 1'000'000) return fixed(value / 1e6, 1) + " M";
  if (n >= 1'000) return fixed(value / 1e3, 1) + " k";
  return std::to_string(n);
}

/// 8030261248 as "8,030,261,248".
inline std::string grouped(std::int64_t n) {
  auto digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

/// Characters, not bytes, of UTF-8 text.
inline std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}
inline std::string left(std::string_view text, std::size_t width) {
  return std::string{text} + std::string(width - std::min(width, width_of(text)), ' ');
}
inline std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ') + std::string{text};
}

/// A bar of `width` characters for 1.0, to an eighth of one.
inline std::string bar(double share, int width) {
  constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto steps = static_cast<int>(std::clamp(share, 0.0, 1.0) * width * 8 + 0.5);
  std::string text;
  for (int i = 0; i < steps / 8; ++i) text += "█";
  return text + std::string{eighths[steps % 8]};
}

/// Escape sequences, or nothing where `on` is false.
struct palette {
  bool on{};
  [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const {
    return on ? "\x1b[" + std::string{code} + "m" + std::string{text} + "\x1b[0m" : std::string{text};
  }
  [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return paint("2", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return paint("1;32", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return paint("1;31", text); }
  [[nodiscard]] std::string hue(std::string_view text) const { return paint("36", text); }
};

}  // namespace headroom::io
