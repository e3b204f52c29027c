// Distributed under the Boost Software License, Version 1.0.
// What several commands do with a job.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/job.hpp>
#include <headroom/replay.hpp>

#include <nlohmann/json_fwd.hpp>

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

/// The time of a step, or the sentence why it is not predicted.
struct timed {
  std::optional<headroom::step_cost> cost;
  std::string refused;
};
timed time_of(const headroom::job& j);

/// The smallest changes that make it fit, replayed, or with a confidence (diagnose.cpp). Nothing where there is no time for them.
std::optional<std::vector<headroom::advice>> advice_for(const headroom::job& j, std::optional<headroom::confidence> sure, const headroom::deadline& until);
/// … as text and as JSON.
std::string advice_text(const std::optional<std::vector<headroom::advice>>& all, bool colour);
nlohmann::ordered_json advice_json(const std::optional<std::vector<headroom::advice>>& all);

}  // namespace program
