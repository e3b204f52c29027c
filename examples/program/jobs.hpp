// Distributed under the Boost Software License, Version 1.0.
// What several commands do with a job.
#pragma once

#include <headroom/diagnose/advise.hpp>
#include <headroom/job.hpp>

#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace program {

/// The folder that paths in a file are relative to; of standard input, "-", the one that the program was started in.
std::filesystem::path folder_of(const std::string& file);

/// A job from its JSON file, or from `in` where the name is "-". Paths in it lead anywhere, as the user may read what they like; `confined`: to
/// files below its folder. Throws headroom::error for bad input.
headroom::job job_named(const std::string& file, std::istream& in, bool confined = false);

/// What calls::advice_for() found, for a person (diagnose.cpp).
std::string advice_text(const std::optional<std::vector<headroom::advice>>& all, bool colour);

}  // namespace program
