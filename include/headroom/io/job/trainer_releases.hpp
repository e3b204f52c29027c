// Distributed under the Boost Software License, Version 1.0.
// The date of a release of a trainer over transformers, where a version names it and no date.
#pragma once

#include <headroom/io/job/transformers_releases.hpp>

namespace headroom::io {

/// A minor release of a program, as the version of a framework names it.
struct trainer_release {
  std::string_view program;
  std::int32_t number{};  ///< 100 × major + minor
  std::int32_t date{};    ///< yyyymm of its tag
};

/// In the order of their releases, program by program. Source: the tags vX.Y.0 of modelscope/ms-swift and huggingface/trl (0.9: v0.9.2, 0.10: v0.10.1). TRL 0.27 is
/// of 2026-01-16, ten days before transformers 5, whose month is that of the newer profile. ms-swift up to 3.12 takes no transformers from 4.58 on (requirements/framework.txt).
inline constexpr auto trainer_releases = std::to_array<trainer_release>({
    {"ms-swift", 200, 202404}, {"ms-swift", 201, 202406}, {"ms-swift", 202, 202407}, {"ms-swift", 203, 202408}, {"ms-swift", 204, 202409},
    {"ms-swift", 205, 202410}, {"ms-swift", 206, 202411}, {"ms-swift", 300, 202412}, {"ms-swift", 301, 202502}, {"ms-swift", 302, 202503},
    {"ms-swift", 303, 202504}, {"ms-swift", 304, 202504}, {"ms-swift", 305, 202506}, {"ms-swift", 306, 202507}, {"ms-swift", 307, 202508},
    {"ms-swift", 308, 202509}, {"ms-swift", 309, 202510}, {"ms-swift", 310, 202511}, {"ms-swift", 311, 202512}, {"ms-swift", 312, 202512},
    {"ms-swift", 400, 202603}, {"ms-swift", 401, 202604}, {"ms-swift", 402, 202605}, {"ms-swift", 403, 202606}, {"ms-swift", 404, 202607},
    {"ms-swift", 405, 202608},
    {"TRL", 2, 202301}, {"TRL", 3, 202303}, {"TRL", 4, 202303}, {"TRL", 5, 202308}, {"TRL", 6, 202308}, {"TRL", 7, 202308}, {"TRL", 8, 202403}, {"TRL", 9, 202406},
    {"TRL", 10, 202408}, {"TRL", 11, 202409}, {"TRL", 12, 202411}, {"TRL", 13, 202412}, {"TRL", 14, 202501}, {"TRL", 15, 202502}, {"TRL", 16, 202503}, {"TRL", 17, 202504},
    {"TRL", 18, 202505}, {"TRL", 19, 202506}, {"TRL", 20, 202507}, {"TRL", 21, 202508}, {"TRL", 22, 202508}, {"TRL", 23, 202509}, {"TRL", 24, 202510}, {"TRL", 25, 202511},
    {"TRL", 26, 202512}, {"TRL", 27, 202512}, {"TRL", 28, 202602}, {"TRL", 29, 202602}, {"TRL", 100, 202603}, {"TRL", 101, 202604}, {"TRL", 102, 202604}, {"TRL", 103, 202604},
    {"TRL", 104, 202605}, {"TRL", 105, 202605}, {"TRL", 106, 202606}, {"TRL", 107, 202606}, {"TRL", 108, 202607}, {"TRL", 109, 202607},
});

/// "3.10.dev": 310, and whether that release was still to come, which "0.9.5.dev0" is not. 0: no number.
struct said_release {
  std::int32_t number{};
  bool to_come{};
};
constexpr said_release release_at(std::string_view text) {
  std::int32_t parts[2]{};
  std::size_t read = 0;
  for (auto& part : parts) {
    const auto from = read;
    while (read < text.size() && read < from + 2 && text[read] >= '0' && text[read] <= '9') part = 10 * part + (text[read++] - '0');
    if (read == from || (&part == parts && (read == text.size() || text[read++] != '.'))) return {};
  }
  auto rest = text.substr(read);
  if (!rest.empty() && ((rest.front() >= '0' && rest.front() <= '9') || rest.front() == 'x')) return {};
  const bool first = !rest.starts_with(".") || rest.starts_with(".0") || rest.starts_with(".dev");
  return {100 * parts[0] + parts[1], first && rest.find("dev") != std::string_view::npos};
}

/// The release of a trainer that a version names, "ms-swift 3.8", "TRL 0.24, torch 2.8"; the release before for one that was still to come ("3.8.dev"), the last
/// of a span ("TRL 0.7-0.9"). No program: none is named, or one that is older or newer than the table. `of`: of this program alone.
constexpr trainer_release trainer_release_in(std::string_view version, std::string_view of = {}) {
  for (std::size_t i = 0; i < trainer_releases.size(); ++i) {
    const auto program = trainer_releases[i].program;
    if ((i > 0 && trainer_releases[i - 1].program == program) || (!of.empty() && program != of)) continue;
    const auto at = version.find(program);
    if (at == std::string_view::npos || (at > 0 && std::string_view{" ,(["}.find(version[at - 1]) == std::string_view::npos)) continue;
    auto text = version.substr(at + program.size());
    while (!text.empty() && (text.front() == ' ' || text.front() == '=' || text.front() == 'v')) text.remove_prefix(1);
    text = text.substr(0, text.find_first_of(" ,;()"));
    if (const auto span = text.find('-'); span != std::string_view::npos) text.remove_prefix(span + 1);
    const auto said = release_at(text);
    if (said.number == 0) continue;
    trainer_release before{};
    for (std::size_t k = i; k < trainer_releases.size() && trainer_releases[k].program == program; ++k) {
      if (trainer_releases[k].number == said.number) return said.to_come && before.date > 0 ? before : trainer_releases[k];
      if (trainer_releases[k].number < said.number) before = trainer_releases[k];
    }
    // The release after the newest of the table is in the making.
    if (said.to_come && before.date > 0) return before;
  }
  return {};
}

/// yyyymm of that release; 0: none.
constexpr std::int32_t date_of_trainer(std::string_view version) { return trainer_release_in(version).date; }

}  // namespace headroom::io
