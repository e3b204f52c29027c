// Distributed under the Boost Software License, Version 1.0.
// What every call is asked in the same words: the job, the files that it names, how sure an answer is to be, and until when it is waited for.
#pragma once

#include "calls.hpp"

#include <headroom/bounds.hpp>
#include <headroom/deadline.hpp>
#include <headroom/io/job_reader.hpp>

#include <optional>
#include <string>
#include <vector>

namespace calls {

using headroom::io::json_value;
using ordered_json = nlohmann::ordered_json;

/// The keys of a request. A call takes those it knows; finish() refuses the others.
struct request {
  headroom::io::key_reader keys;
  headroom::io::file_texts files{};
  std::vector<std::string> order{};  ///< of the files' names, as they were said where they came as a list
  std::optional<headroom::confidence> sure{};
  headroom::deadline until{};
  unsigned most_threads{};           ///< 0: as many as are asked for

  /// Reads what all calls know: "interface", "files", "confidence", "seconds". Throws job_error.
  request(const json_value& value, const limits& within);

  [[nodiscard]] headroom::io::file_base base() const { return headroom::io::file_base::among(files); }
  /// The value of "job": an object, or of a name in "files" what that holds. Throws job_error.
  json_value job_value();
  headroom::job job();
  std::string text(std::string_view key, std::string_view otherwise = {});
  std::int64_t whole(std::string_view key, std::int64_t otherwise, std::int64_t low, std::int64_t high);
  /// {"KEY": value, …} as KEY=value, in the order of the keys.
  std::vector<std::string> settings(std::string_view key);
  std::vector<std::string> words(std::string_view key);
};

}  // namespace calls
