// Distributed under the Boost Software License, Version 1.0.
// What several commands do with a job.
#pragma once

#include <headroom/diagnose/advise.hpp>
#include <headroom/job.hpp>
#include <headroom/replay.hpp>

#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace program {

/// A job from its JSON file, or from `in` where the name is "-"; paths in it are relative to its folder. Throws headroom::error for bad input.
headroom::job job_named(const std::string& file, std::istream& in);

/// The smallest changes that make it fit, replayed, or with a confidence (diagnose.cpp).
std::vector<headroom::advice> advice_for(const headroom::job& j, std::optional<headroom::confidence> sure = {});

}  // namespace program
