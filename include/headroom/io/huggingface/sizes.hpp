// Distributed under the Boost Software License, Version 1.0.
// The sizes of a stack of layers, for families that each spell them their own way.
#pragma once

#include <headroom/io/huggingface/task.hpp>

namespace headroom::io::detail {

inline constexpr std::int64_t ask = config::required;  ///< as a default: code beside the checkpoint, whose defaults are not known

/// A key, what its class has where it is absent, and another name of it.
struct size_key {
  const char* key{};  ///< nullptr: the family has none
  std::int64_t usual{};
  const char* alias{};
};

/// A key that is the other's name in one release and unread in another, or not read at all: it may stand there with the other's value.
inline void require_equal(const config& c, const char* key, const char* other, std::int64_t value) {
  if (c.has(key) && c.number({key}, value, 0) != value)
    complain(c.at(key) + " must equal " + c.at(other) + ", " + std::to_string(value) + ", or be absent; found " + shown(c.find({key})));
}

struct size_keys {
  size_key layers, hidden, heads;
  size_key ffn{};  ///< `usual` 0: four times hidden, where it is absent or null
  size_key vocab{};
  size_key positions{};
  bool tied{};
  const char* activation_key{};
  const char* activation{};
};

inline void read_sizes(const config& c, const size_keys& k, shape& m) {
  const auto read = [&](const size_key& s, std::int64_t high) { return s.alias == nullptr ? c.number({s.key}, s.usual, 1, high) : c.number({s.key, s.alias}, s.usual, 1, high); };
  m.layers = read(k.layers, config::most);
  m.hidden = read(k.hidden, config::widest);
  m.heads = read(k.heads, config::most);
  if (k.ffn.usual != 0) {
    m.ffn = read(k.ffn, config::widest);
  } else {
    m.ffn = checked::mul(4, m.hidden);
    if (k.ffn.key != nullptr) m.ffn = c.nullable({k.ffn.key}, m.ffn, m.ffn);
  }
  m.vocab = read(k.vocab, config::widest);
  if (k.positions.key != nullptr) m.max_positions = read(k.positions, config::widest);
  m.tied = c.flag("tie_word_embeddings", k.tied);
  if (k.activation_key != nullptr) m.activation = activation_of(c, {k.activation_key}, k.activation);
}

}  // namespace headroom::io::detail
