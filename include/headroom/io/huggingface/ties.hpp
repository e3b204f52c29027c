// Distributed under the Boost Software License, Version 1.0.
// Whether the head is the table of words, where releases of transformers make different models of one configuration. The file says which release it
// is of (transformers_version); where it does not, and it matters, it is refused with both counts.
// Sources: transformers 4.57 modeling_utils.py tie_weights (get_text_config().tie_word_embeddings); transformers 5.16 modeling_utils.py
// get_expanded_tied_weights_keys (the configuration's own key), configuration_t5.py, _mt5.py, _umt5.py, _longt5.py __post_init__ (always tied).
#pragma once

#include <headroom/io/huggingface/config.hpp>
#include <headroom/model/inventory.hpp>

namespace headroom::io::detail {

/// The major release of transformers that a configuration is of; 0: it does not say.
inline std::int64_t release_of(const config& c) {
  std::int64_t major = 0;
  for (const char digit : c.text({"transformers_version"}, "")) {
    if (digit < '0' || digit > '9' || major > 99) break;
    major = 10 * major + (digit - '0');
  }
  return major;
}

/// Whether tables are tied: `before` as transformers 4 has it, `since` as transformers 5. `total(tied)`: the model's parameters.
template <class Total>
bool tied_by_release(const config& c, bool before, bool since, const Total& total) {
  if (before == since) return since;
  if (const auto release = release_of(c); release > 0) return release < 5 ? before : since;
  const std::int64_t older = total(before), newer = total(since);
  if (older != newer)
    complain(c.at("transformers_version") + " must be stated: transformers 4 makes " + std::to_string(older) + " parameters of this configuration, and transformers 5 " + std::to_string(newer) +
             ", since they differ in whether the head is the table of words (tie_word_embeddings)");
  return since;
}

/// … of a shape that is otherwise read.
inline void tie_by_release(const config& c, shape& m, bool before, bool since) {
  m.tied = tied_by_release(c, before, since, [&](bool tied) {
    auto other = m;
    other.tied = tied;
    return count(other).total.count();
  });
}

/// … of a class around a language model. transformers 4 reads the key of the text, as `m` has it; transformers 5 the outer one, which is `usual` where
/// it is absent.
inline void tie_around_text(const config& c, shape& m, bool usual) { tie_by_release(c, m, m.tied, c.flag("tie_word_embeddings", usual)); }

/// Whether the file is of a release from 5.0 to 5.16, which reads the outer key alone where later ones take the text's word, too.
inline bool reads_outer_alone(const config& c) {
  const auto release = c.text({"transformers_version"}, "");
  if (!release.starts_with("5.")) return false;
  std::int64_t minor = 0;
  for (const char digit : release.substr(2)) {
    if (digit < '0' || digit > '9' || minor > 99) break;
    minor = 10 * minor + (digit - '0');
  }
  return minor < 17;
}

/// Whether the file says that it is of 5.17 or a later release.
inline bool from_5_17(const config& c) { return release_of(c) >= 5 && !reads_outer_alone(c); }

/// … where it matters to the count. A file that names no release is refused then; `what` says what of the class changed.
inline bool since_5_17(const config& c, bool matters, const char* what) {
  if (matters && release_of(c) == 0) complain(c.at("transformers_version") + " must be stated: transformers 5.17 " + what + ", as releases before do not");
  return from_5_17(c);
}

/// … of classes that take the text's word where the outer one says no (transformers 5.17 configuration_qwen2_vl.py, _qwen2_5_vl.py, _glm4v.py,
/// _glm4v_moe.py, _glm_ocr.py, _paddleocr_vl.py __post_init__, by pull request 45857 of 2026-08-25).
inline void tie_around_or_in_text(const config& c, shape& m) { tie_by_release(c, m, m.tied, c.flag("tie_word_embeddings", false) || (m.tied && !reads_outer_alone(c))); }

}  // namespace headroom::io::detail
