// Distributed under the Boost Software License, Version 1.0.
// What releases of accelerate and torch changed in FSDP2's units, of launch files that may not say theirs.
#pragma once

#include <headroom/io/launchers/draft.hpp>

#include <string>

namespace headroom::io::detail {

/// Up to 1.13 accelerate makes one unit of all that lies outside the layers. Since 1.14 (2026-06-11) the embedding is a unit, and the last norm with the
/// head another, where the two matrices are not tied (huggingface/accelerate utils/fsdp_utils.py fsdp2_prepare_model, 60b5c258). The older takes no less.
inline void date_fsdp2_root(draft& d, const std::string& place) {
  d.releases.push_back({"accelerate", 114, place, "FSDP2 gathers embedding, last norm and head as one unit up to accelerate 1.13, and as two since (2026-06)", false,
                        [](draft& of, const std::string& at) { of.say({"sharding", "root"}, "split", at); },
                        [](const draft& of) { const auto* kind = of.find({"sharding", "kind"}); return kind != nullptr && *kind == "fsdp2"; }, nullptr, 0, true});
}

/// Of a trainer that says reshard_after_forward for the root, too: settle/objective.hpp, lets_root_go, reads the release, and of an older trainer the date.
inline void date_torch_of_root(draft& d, const std::string& place) {
  d.releases.push_back({"torch", 208, place, "FSDP2 lets go of norm and head between forward and backward since torch 2.8 (2025-08), and keeps them before", false, nullptr,
                        [](const draft& of) { return !of.has({"framework", "version"}); }, nullptr, 208});
}

}  // namespace headroom::io::detail
