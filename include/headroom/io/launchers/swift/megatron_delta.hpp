// Distributed under the Boost Software License, Version 1.0.
// Whose Gated DeltaNet ms-swift trains over Megatron-Core.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io::detail {

/// mcore-bridge's, divided by heads, unless USE_MCORE_GDN is 0 (f020e479 of 2026-05-04, model/mm_gpts/qwen3_5.py), where it is transformers', whole on every GPU. Qwen3-Next's was
/// transformers' (model/gpts/qwen3_next.py of that commit) before ms-swift 4.3 (its release notes: Mcore-GDN by default).
inline void swift_delta(draft& d, bool sees, const std::string& of_model) {
  constexpr auto whole = [](draft&, const std::string& place) {
    fail("headroom: " + place + ": transformers' own Gated DeltaNet, whole on every GPU, is not modelled over Megatron-Core by this version: that of mcore-bridge, which is divided by heads unless USE_MCORE_GDN is 0, is");
  };
  if (d.whole_delta) whole(d, d.whole_delta->place + ": " + d.whole_delta->word);
  if (!sees)
    d.releases.push_back({.program = "ms-swift", .since = 403, .place = of_model, .what = "Qwen3-Next's Gated DeltaNet is mcore-bridge's, divided by heads, since ms-swift 4.3 (2026-06), and transformers', whole on every GPU, before", .older = whole, .assumed = 403});
}

}  // namespace headroom::io::detail
