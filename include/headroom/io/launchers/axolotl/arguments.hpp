// Distributed under the Boost Software License, Version 1.0.
// axolotl's keys on one side, the Trainer's arguments that they become on the other.
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

/// A configuration that is being read, and what is said of it so far.
class axolotl_arguments {
 public:
  axolotl_arguments(draft& of, const document& read) : d(&of), from(&read), v(read, std::int64_t{1} << 31), to{.source = read.source, .root = json_value::object(), .lines = {}} {}

  void put(const std::string& theirs, json_value value, std::string_view key) {
    to.root[theirs] = std::move(value);
    if (const auto line = from->lines.find(std::string{key}); line != from->lines.end()) to.lines[theirs] = line->second;
  }
  /// A key that means what the Trainer's does.
  void same(std::string_view key, std::string_view theirs = {}) {
    if (const auto* said = v.take(key); said != nullptr) put(std::string{theirs.empty() ? key : theirs}, *said, key);
  }
  /// Throws job_error: what the key says is not modelled.
  void unmodelled(std::string_view key) { d->unmodelled_key(std::string{key}, *v.take(key), v.place(key)); }
  [[noreturn]] void refused(std::string_view key, const std::string& why) const { fail("headroom: " + v.place(key) + ": " + why); }
  /// Whether a key says something: not null, empty, false, 0 or "none".
  [[nodiscard]] bool given(std::string_view key) {
    const auto* said = v.take(key);
    return said != nullptr && !said->empty() && off_word(*said) != "none" && off_word(*said) != "0" && off_word(*said) != "false";
  }

  draft* d;
  const document* from;
  named_values v;
  document to;
  std::string kernel;  ///< of attention
  std::string dtype;   ///< in which the weights are loaded
  std::string method;  ///< objective.kind; empty: a plain fine-tuning
  bool masks{};       ///< flash attention that axolotl hands packed rows with their mask, as it does rows with padding
  bool varlen{};      ///< packed rows, taken apart by PyTorch's own kernel
  bool processes{};   ///< images and text, by a processor
  bool wraps{};       ///< FSDP's units are layers of a class that is named
  bool whole_path{};  ///< lora_target_modules is an expression for a module's whole path, no list of last names
  bool adapter{}, fsdp{}, second{}, second_said{}, engine{}, packs{};

  /// A kernel that takes samples of one row apart by itself (utils/schemas/enums.py, ATTN_IMPLS_SUPPORTING_PACKING).
  [[nodiscard]] bool packs_by_kernel() const { return !masks && (kernel == "flash_attention_2" || kernel == "flash_attention_3" || kernel == "xformers"); }
};

}  // namespace headroom::io::detail
