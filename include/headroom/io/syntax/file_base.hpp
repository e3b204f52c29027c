// Distributed under the Boost Software License, Version 1.0.
// The folder that paths in a job file are relative to, and how far they lead.
#pragma once

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace headroom::io {

/// Where the paths in a job lead: nowhere, below a folder, or anywhere. Who runs a program and gives it a job of their own may read what they
/// like: anywhere_from(). Where the job comes from somebody else, it chooses among the files below the folder, or among none: a scheduler, a
/// webhook, a library that is called with other people's text.
class file_base {
 public:
  file_base() = default;  ///< nowhere
  /// Below the folder, wherever the symbolic links in a path lead.
  file_base(std::filesystem::path folder) : folder_(std::move(folder)) {}
  template <class Text>
    requires std::convertible_to<const Text&, std::filesystem::path>
  file_base(const Text& folder) : folder_(std::filesystem::path{folder}) {}
  /// The folder that paths are relative to; "..", absolute paths and symbolic links lead out of it.
  static file_base anywhere_from(std::filesystem::path folder) {
    file_base all{std::move(folder)};
    all.anywhere_ = true;
    return all;
  }

  [[nodiscard]] bool reads_files() const { return folder_.has_value(); }
  /// Whether a path leads to where it may not. Says the same whether there is something or not.
  [[nodiscard]] bool forbids(const std::filesystem::path& said) const {
    if (!folder_ || anywhere_) return !folder_;
    std::error_code problem;
    auto inside = std::filesystem::weakly_canonical(folder_->empty() ? "." : *folder_, problem);
    if (problem) return true;
    if (!inside.has_filename()) inside = inside.parent_path();  // "folder/"
    const auto to = std::filesystem::weakly_canonical(place_of(said), problem);
    return problem || std::mismatch(inside.begin(), inside.end(), to.begin(), to.end()).first != inside.end();
  }
  /// The file at a path, or nothing: there is none, it is a pipe, a device or a folder, or it is forbidden.
  [[nodiscard]] std::optional<std::filesystem::path> file(const std::filesystem::path& said) const {
    std::error_code problem;
    if (forbids(said) || !std::filesystem::is_regular_file(place_of(said), problem)) return std::nullopt;
    return place_of(said);
  }
  /// Whether a path is a folder that may be read.
  [[nodiscard]] bool is_folder(const std::filesystem::path& said) const {
    std::error_code problem;
    return !forbids(said) && std::filesystem::is_directory(place_of(said), problem);
  }

 private:
  [[nodiscard]] std::filesystem::path place_of(const std::filesystem::path& said) const { return *folder_ / said; }

  std::optional<std::filesystem::path> folder_{};
  bool anywhere_{};
};
inline const file_base no_files{};

}  // namespace headroom::io
