// Distributed under the Boost Software License, Version 1.0.
// What a release of accelerate changed in FSDP2's units, of launch files that may not say theirs.
#pragma once

#include <headroom/io/launchers/draft.hpp>

#include <string>

namespace headroom::io::detail {

/// Up to 1.13 all that lies outside the layers is one unit, the root's, which stays gathered through the step (engine/eager/fsdp2_units.hpp). Since 1.14
/// (2026-06-11) the embedding is a unit, and the last norm with the head another, where the two matrices are not tied (huggingface/accelerate
/// utils/fsdp_utils.py fsdp2_prepare_model, 60b5c258). What is predicted is the older's, and no less than the newer's.
inline void note_fsdp2_root(draft& d, const std::string& place) {
  d.notes.push_back(place + ": FSDP2 is accelerate's up to 1.13, which keeps embedding, last norm and head gathered through the step; since 1.14 (2026-06) a model whose "
                            "head is not tied lets them go, and its peak may be lower by as much as they take in the compute format");
}

}  // namespace headroom::io::detail
