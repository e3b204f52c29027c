// Distributed under the Boost Software License, Version 1.0.
// What an admission is asked and what it answers. Light to include: neither the readers nor JSON's definition.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/deadline.hpp>
#include <headroom/full_report.hpp>
#include <headroom/io/syntax/file_base.hpp>
#include <headroom/job.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace headroom::io {

/// `not_decided`: its deadline came first. It is no opinion: what happens to the job is for its caller's policy to say.
enum class decision { fits, does_not_fit, bad_input, not_decided };

/// What an admission is asked.
struct admission_request {
  std::string_view job{};                       ///< a job file's text
  file_base base{no_files};                     ///< where the paths in it lead
  std::optional<confidence> sure{};             ///< fits at the upper end of that range; none: by the prediction itself
  bool full{true};                              ///< false: a job of which estimate() leaves nothing open is not replayed, which takes microseconds
  deadline until{};                             ///< when an answer is due; some milliseconds later at most it is `not_decided`
};

struct admission {
  headroom::io::decision decision{headroom::io::decision::bad_input};
  std::string sentence{};                       ///< for a person
  headroom::job job{};                          ///< unless the input was bad
  std::optional<full_report> report{};          ///< unless the input was bad or there was no time
};

}  // namespace headroom::io
