// Distributed under the Boost Software License, Version 1.0.
// Jobs of every framework with a key or two that say something else: each is refused in the sentence that names what is wrong, and estimated without that
// key; or it is estimated, and its report holds what every report does.
#include "../estimate/add_up.hpp"

#include <headroom/io/job_reader.hpp>
#include <headroom/objection.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <string>

namespace test_changed_jobs {

using namespace headroom;
using nlohmann::json;

namespace {

/// Where a word stands on the way to a key, an object takes its place.
void change(json& whole, const json& row, const char* by) {
  if (!row.contains(by)) return;
  for (const auto& [path, value] : row.at(by).items()) {
    const json::json_pointer to(path);
    for (auto above = to.parent_pointer(); !above.empty(); above = above.parent_pointer())
      if (whole.contains(above) && !whole[above].is_object()) whole[above] = json::object();
    whole[to] = value;
  }
}
std::string sentence(const json& whole) {
  try {
    (void)estimate(io::read_job(io::parse_json(whole.dump(), "job"), io::no_files));
  } catch (const error& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a job that says one thing otherwise is refused for it, or estimated") {
  std::ifstream in(std::string{HEADROOM_TEST_DATA} + "/changed_jobs.jsonl");
  std::map<std::string, json> bases;
  int refused = 0, estimated = 0;
  for (std::string line; std::getline(in, line);) {
    const auto row = json::parse(line);
    if (row.contains("name")) {
      bases[row.at("name")] = row.at("job");
      continue;
    }
    CAPTURE(line);
    auto whole = bases.at(row.at("of"));
    change(whole, row, "with");
    CHECK(sentence(whole) == "");
    if (row.contains("says")) {
      change(whole, row, "change");
      CHECK(sentence(whole) == row.at("says").get<std::string>());
      ++refused;
      continue;
    }
    const auto j = io::read_job(io::parse_json(whole.dump(), "job"), io::no_files);
    CHECK(!objection_to(j));
    const auto r = estimate(j);
    if (r.kinds == r.size) parts_add_up(j, r);
    else CHECK(bounds_are_sane(r));
    const auto again = io::read_job(io::job_to_json(j), io::no_files);
    CHECK(again == j);
    CHECK(estimate(again).device() == r.device());
    ++estimated;
  }
  CHECK(refused > 450);
  CHECK(estimated > 400);
}

}  // namespace test_changed_jobs
