// Distributed under the Boost Software License, Version 1.0.
// Phases of a step in sentences.
#pragma once

#include <headroom/report/rank.hpp>

#include <string>

namespace headroom::io::detail {

/// A phase, as a sentence goes on behind "peak in".
inline std::string phase_words(phase p) {
  switch (p) {
    case phase::loss_forward: return "the loss";
    case phase::reference: return "the other model's forward";
    case phase::generate: return "generation";
    case phase::sync: return "weight synchronisation";
    case phase::score: return "scoring";
    case phase::evaluate: return "evaluation";
    case phase::reward: return "the forward of a reward model, or of GRPO's teacher";
    case phase::value: return "the critic's forward";
    case phase::critic: return "the critic's step";
    case phase::load:
    case phase::save: return std::string{headroom::text(p)};
    default: return "the " + std::string{headroom::text(p)};
  }
}

}  // namespace headroom::io::detail
