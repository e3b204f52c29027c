// Distributed under the Boost Software License, Version 1.0.
// The date of a release of transformers, by which the frameworks over it are chosen.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headroom::io {

/// A minor release: 100 × major + minor, and yyyymm of its day.
struct transformers_release {
  std::int32_t number{};
  std::int32_t date{};
};

/// Source: the day on which setup.py of huggingface/transformers went on to the next development version. Where two releases are of one month, or a
/// profile's month is that of the release after (4.45, 4.49, 4.55, 5.15), the month is the one whose profile is true of the release.
inline constexpr auto transformers_releases = std::to_array<transformers_release>({
    {400, 202011}, {401, 202012}, {402, 202101}, {403, 202102}, {404, 202103}, {405, 202104}, {406, 202105}, {407, 202106}, {408, 202106}, {409, 202107},
    {410, 202108}, {411, 202109}, {412, 202110}, {413, 202112}, {414, 202112}, {415, 202112}, {416, 202201}, {417, 202203}, {418, 202204}, {419, 202205},
    {420, 202206}, {421, 202207}, {422, 202209}, {423, 202210}, {424, 202211}, {425, 202212}, {426, 202301}, {427, 202303}, {428, 202304}, {429, 202305},
    {430, 202306}, {431, 202307}, {432, 202308}, {433, 202309}, {434, 202310}, {435, 202311}, {436, 202312}, {437, 202401}, {438, 202402}, {439, 202403},
    {440, 202404}, {441, 202405}, {442, 202406}, {443, 202407}, {444, 202408}, {445, 202410}, {446, 202410}, {447, 202412}, {448, 202501}, {449, 202503},
    {450, 202503}, {451, 202504}, {452, 202505}, {453, 202506}, {454, 202507}, {455, 202507}, {456, 202508}, {457, 202510}, {500, 202601}, {501, 202602},
    {502, 202602}, {503, 202603}, {504, 202603}, {505, 202604}, {506, 202604}, {507, 202604}, {508, 202605}, {509, 202605}, {510, 202606}, {511, 202606},
    {512, 202606}, {513, 202607}, {514, 202607}, {515, 202607}, {516, 202608}, {517, 202609},
});

/// yyyymm of release 100 × major + minor: of the newest for one that is newer than the table, of the oldest for one that is older.
constexpr std::int32_t date_of_transformers(std::int32_t number) {
  auto date = transformers_releases.front().date;
  for (const auto& r : transformers_releases)
    if (r.number <= number) date = r.date;
  return date;
}

/// The release that a framework's version names, "transformers 4.48.1", "transformers==4.46" or no more than "4.46.0": 100 × major + minor. 0: none,
/// which "transformers 4.4x" is. The word begins the text or stands behind a blank, a comma or a bracket: "sentence-transformers" is another package.
constexpr std::int32_t transformers_in(std::string_view version) {
  constexpr std::string_view name = "transformers";
  auto at = version.find(name);
  while (at != std::string_view::npos && at > 0 && std::string_view{" ,(["}.find(version[at - 1]) == std::string_view::npos) at = version.find(name, at + 1);
  const bool alone = at == std::string_view::npos;
  auto text = alone ? version : version.substr(at + name.size());
  while (!text.empty() && (text.front() == ' ' || text.front() == '=' || text.front() == '-' || text.front() == 'v')) text.remove_prefix(1);
  std::int32_t parts[2]{};
  std::size_t read = 0;
  for (auto& part : parts) {
    const auto from = read;
    while (read < text.size() && read < from + 2 && text[read] >= '0' && text[read] <= '9') part = 10 * part + (text[read++] - '0');
    if (read == from || (&part == parts && (read == text.size() || text[read++] != '.'))) return 0;
  }
  const auto rest = text.substr(read);
  const bool ends = rest.empty() || rest.front() == '.' || (!alone && (rest.front() == ' ' || rest.front() == ',' || rest.front() == ')' || rest.front() == ';'));
  const bool more = alone && rest.find_first_not_of("0123456789.devrcpost") != std::string_view::npos;
  return ends && !more && parts[0] >= 3 && parts[0] < 10 ? 100 * parts[0] + parts[1] : 0;
}

}  // namespace headroom::io
