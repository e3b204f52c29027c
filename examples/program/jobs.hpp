// Distributed under the Boost Software License, Version 1.0.
// What several commands and programs do with a job, compiled once.
#pragma once

#include <headroom/diagnose/advise.hpp>
#include <headroom/full_report.hpp>
#include <headroom/io/admission.hpp>
#include <headroom/io/syntax/json_reader.hpp>
#include <headroom/job.hpp>
#include <headroom/replay/recording.hpp>

#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace program {

/// A job from its JSON form; paths in it are relative to `base`. Throws headroom::error for bad input.
headroom::job job_of(const headroom::io::json_value& value, const std::filesystem::path& base);
/// … from a file, or from `in` where the name is "-".
headroom::job job_named(const std::string& file, std::istream& in);
/// Its report, with reserved memory replayed.
headroom::full_report report_of(const headroom::job& j);
/// Whether its steps are replayed, and one of them, event by event. Throws headroom::error where they are not.
bool has_steps(const headroom::job& j);
std::vector<headroom::recorded_step> steps_of(const headroom::job& j);

/// headroom::io::admit.
headroom::io::admission admit(const headroom::io::admission_request& asked);

/// The smallest changes that make it fit, by that report, or with a confidence (diagnose.cpp).
std::vector<headroom::advice> advice_for(const headroom::job& j, std::optional<headroom::confidence> sure = {});

}  // namespace program
