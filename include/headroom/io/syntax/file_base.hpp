// Distributed under the Boost Software License, Version 1.0.
// The folder that paths in a job file are relative to, and how far they lead.
#pragma once

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace headroom::io {

/// The texts of files that are handed over with a job, by their paths ("config.json", "model/config.json").
using file_texts = std::map<std::string, std::string, std::less<>>;

/// Where the paths in a job lead: nowhere, below a folder, anywhere, or among texts that came with it. Who runs a program and gives it a job of their own may read what they
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
  /// The texts alone: no file of the machine is looked at.
  static file_base among(file_texts texts) {
    file_base all{std::filesystem::path{}};
    all.texts_ = std::make_shared<const file_texts>(std::move(texts));
    return all;
  }

  [[nodiscard]] bool reads_files() const { return folder_.has_value() && (!texts_ || !texts_->empty()); }
  /// Whether a path leads to where it may not. Says the same whether there is something or not.
  [[nodiscard]] bool forbids(const std::filesystem::path& said) const {
    if (!folder_ || anywhere_ || texts_) return !folder_;
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
    if (texts_) return text_of(said) != nullptr ? std::optional{said.lexically_normal()} : std::nullopt;
    if (forbids(said) || !std::filesystem::is_regular_file(place_of(said), problem)) return std::nullopt;
    return place_of(said);
  }
  /// The text that came for a path; nullptr where there is none, or files are the machine's.
  [[nodiscard]] const std::string* text_of(const std::filesystem::path& said) const {
    if (!texts_) return nullptr;
    const auto it = texts_->find(said.lexically_normal().generic_string());
    return it != texts_->end() ? &it->second : nullptr;
  }
  /// The name of the folder that a file lies in; empty where nobody says.
  [[nodiscard]] std::string folder_name(const std::filesystem::path& file) const {
    std::error_code problem;
    return (texts_ ? file : std::filesystem::absolute(file, problem)).parent_path().filename().string();
  }
  /// Whether a path is a folder that may be read.
  [[nodiscard]] bool is_folder(const std::filesystem::path& said) const {
    std::error_code problem;
    if (texts_) {
      const auto inside = (said / "").lexically_normal().generic_string();
      const auto it = texts_->lower_bound(inside);
      return it != texts_->end() && it->first.starts_with(inside);
    }
    return !forbids(said) && std::filesystem::is_directory(place_of(said), problem);
  }

 private:
  [[nodiscard]] std::filesystem::path place_of(const std::filesystem::path& said) const { return *folder_ / said; }

  std::optional<std::filesystem::path> folder_{};
  bool anywhere_{};
  std::shared_ptr<const file_texts> texts_{};
};
inline const file_base no_files{};

}  // namespace headroom::io
