// Distributed under the Boost Software License, Version 1.0.
// What several commands do with a job.
#pragma once

#include <headroom/deadline.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/io/report/imported.hpp>
#include <headroom/job.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace program {

/// The folder that paths in a file are relative to; of standard input, "-", the one that the program was started in.
std::filesystem::path folder_of(const std::string& file);

/// Puts what --measured says into a job's `measured`: "allocated=61.2GiB,reserved=66GiB,step=2.3,rank=first", or the name of a run's log. Throws
/// headroom::error where it says neither.
void say_measured(nlohmann::json& job, const std::string& said, std::istream& in);

/// A job, and what its import wrote beside it.
struct named_job {
  headroom::job job{};
  headroom::io::imported_words imported{};
};

/// A job from its JSON file, or from `in` where the name is "-". Paths in it lead anywhere, as the user may read what they like; `confined`: to
/// files below its folder. `measured`: see say_measured(); empty: none. Throws headroom::error for bad input.
named_job job_and_words(const std::string& file, std::istream& in, bool confined = false, const std::string& measured = {}, const headroom::deadline& until = {});
/// … the job alone.
headroom::job job_named(const std::string& file, std::istream& in, bool confined = false, const std::string& measured = {}, const headroom::deadline& until = {});

/// What calls::advice_for() found, for a person (diagnose.cpp).
std::string advice_text(const std::optional<std::vector<headroom::advice>>& all, bool colour);

}  // namespace program
