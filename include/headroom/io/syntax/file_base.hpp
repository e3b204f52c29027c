// Distributed under the Boost Software License, Version 1.0.
// The folder that paths in a job file are relative to, or none.
#pragma once

#include <concepts>
#include <filesystem>
#include <optional>
#include <utility>

namespace headroom::io {

/// Where the paths in a job lead: below a folder, or nowhere, where the job comes from somebody who must not choose what is read.
class file_base {
 public:
  file_base() = default;  ///< nowhere
  file_base(std::filesystem::path folder) : folder_(std::move(folder)) {}
  template <class Text>
    requires std::convertible_to<const Text&, std::filesystem::path>
  file_base(const Text& folder) : folder_(std::filesystem::path{folder}) {}
  [[nodiscard]] const std::filesystem::path* folder() const { return folder_ ? &*folder_ : nullptr; }

 private:
  std::optional<std::filesystem::path> folder_{};
};
inline const file_base no_files{};

}  // namespace headroom::io
