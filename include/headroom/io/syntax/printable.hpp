// Distributed under the Boost Software License, Version 1.0.
// Text of strangers, fit for a sentence: what a terminal would obey is written out instead.
#pragma once

#include <headroom/name.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::io {

/// The character that `text` begins with: its bytes in UTF-8 (RFC 3629) and its code point. No bytes: it begins with none.
struct utf8_character {
  std::size_t size{};
  char32_t code{};
};
inline utf8_character character_at(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t size = first >= 0xC2 && first <= 0xDF ? 2 : first >= 0xE0 && first <= 0xEF ? 3 : first >= 0xF0 && first <= 0xF4 ? 4 : 0;
  if (size == 0 || size > text.size()) return {};
  char32_t code = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  const bool longer_than_needed = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (longer_than_needed || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return {};
  return {size, code};
}

/// Whether a character is obeyed or hidden instead of shown: control characters, marks that turn the direction of writing, those without
/// a width, ends of lines (Unicode's general categories Cc, Cf, Zl and Zp, without the soft hyphen and the marks of single scripts).
constexpr bool unseen(char32_t c) {
  constexpr struct {
    char32_t first, last;
  } ranges[] = {{0x00, 0x1F}, {0x7F, 0x9F}, {0x61C, 0x61C}, {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  for (const auto& r : ranges)
    if (c >= r.first && c <= r.last) return true;
  return false;
}

/// `text` on one line, as it is read: what is unseen or is not UTF-8 is written out (`\x1b`, `\u202e`).
inline std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  const auto write_out = [&](char kind, char32_t code, int places) {
    out += '\\';
    out += kind;
    for (int shift = 4 * (places - 1); shift >= 0; shift -= 4) out += digits[(code >> shift) & 0xFU];
  };
  while (!text.empty()) {
    const auto c = character_at(text);
    if (c.size == 0) write_out('x', static_cast<unsigned char>(text[0]), 2);
    else if (unseen(c.code)) c.code < 0x80 ? write_out('x', c.code, 2) : c.code < 0x10000 ? write_out('u', c.code, 4) : write_out('U', c.code, 8);
    else out += text.substr(0, c.size);
    text.remove_prefix(c.size == 0 ? 1 : c.size);
  }
  return out;
}

/// At most `room` bytes of a text, cut where a character ends.
inline std::string_view cut_to(std::string_view text, std::size_t room) {
  if (text.size() <= room) return text;
  while (room > 0 && (static_cast<unsigned char>(text[room]) & 0xC0U) == 0x80U) --room;
  return text.substr(0, room);
}

/// A name that people will read.
inline name name_from(std::string_view text) { return name{cut_to(printable(text), name::capacity)}; }

}  // namespace headroom::io
