// Distributed under the Boost Software License, Version 1.0.
// Other estimators' own answers, run as they are, right or wrong: data/peers.json says of each number whether ours is the same and,
// where not, by how much and why. A difference is a formula, so that both sides are pinned: theirs by its output, ours by the job.
#include "expression.hpp"
#include "quantities.hpp"

#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace test_conformance {

namespace {

using nlohmann::json;

/// The table, its jobs read and its quantities counted once each.
class table {
 public:
  table() {
    std::ifstream in(std::string(HEADROOM_TEST_DATA) + "/peers.json");
    REQUIRE(in.good());
    all_ = json::parse(in);
  }
  [[nodiscard]] const json& operator[](const char* key) const { return all_.at(key); }
  /// "id", or "id/layer" for the second job of a row: one whose single layer is compared.
  const headroom::job& job_of(const std::string& row) {
    const auto found = jobs_.find(row);
    if (found != jobs_.end()) return found->second;
    const auto slash = row.find('/');
    const auto& j = all_.at("rows").at(row.substr(0, slash)).at(slash == std::string::npos ? "job" : "layer");
    return jobs_.emplace(row, headroom::io::read_job(j, ".")).first->second;
  }
  double quantity(const std::string& row, const std::string& name) {
    const auto key = row + ' ' + name;
    const auto found = counted_.find(key);
    if (found != counted_.end()) return found->second;
    return counted_.emplace(key, static_cast<double>(peers::quantity(job_of(row), name))).first->second;
  }
  /// What the peer said: one number of its output, or a sum "A + B" of some.
  [[nodiscard]] double said(const std::string& row, const std::string& of) const {
    const auto& says = all_.at("rows").at(row.substr(0, row.find("/layer"))).at("says");
    double sum = 0;
    for (std::size_t at = 0; at < of.size();) {
      const auto plus = std::min(of.find(" + ", at), of.size());
      sum += says.at(of.substr(at, plus - at)).get<double>();
      at = plus + 3;
    }
    return sum;
  }

 private:
  json all_;
  std::map<std::string, headroom::job> jobs_;
  std::map<std::string, double> counted_;
};

}  // namespace

TEST_CASE("every number of the peers is the same, or differs as the table says") {
  table peers_table;
  std::map<std::string, int> seen;
  for (const auto& check : peers_table["checks"]) {
    const auto of = check.at("of").get<std::string>(), ours = check.at("ours").get<std::string>(), relation = check.at("relation").get<std::string>();
    CAPTURE(of);
    CAPTURE(ours);
    if (relation != "equal") CHECK(check.at("why").get<std::string>().size() > 10);
    for (const auto& item : check.at("rows")) {
      const auto row = item.get<std::string>();
      CAPTURE(row);
      ++seen[relation];
      const double theirs = peers_table.said(row, of), mine = peers_table.quantity(row, ours);
      if (relation == "above") {
        CHECK(mine > theirs);
        continue;
      }
      if (relation == "below") {
        CHECK(mine < theirs);
        continue;
      }
      double difference = 0;
      if (relation == "differs") {
        auto letters = peers::letters(peers_table.job_of(row));
        if (check.contains("with"))
          for (const auto& [letter, value] : check.at("with").at(row.substr(0, row.find("/layer"))).items()) letters[letter] = value.get<double>();
        difference = peers::expression(check.at("difference").get<std::string>(), letters).value();
      }
      const double within = check.contains("within_percent") ? theirs * check.at("within_percent").get<double>() / 100 : check.value("within_bytes", 1.0);
      CHECK(std::abs(mine - theirs - difference) <= within);
    }
  }
  CHECK(seen["equal"] == 102);
  CHECK(seen["differs"] == 328);
  CHECK(seen["above"] == 26);
  CHECK(seen["below"] == 19);
}

TEST_CASE("every row is compared, or it is said why not") {
  table peers_table;
  std::set<std::string> compared, left;
  for (const auto& check : peers_table["checks"])
    for (const auto& row : check.at("rows")) compared.insert(row.get<std::string>().substr(0, row.get<std::string>().find("/layer")));
  for (const auto& group : peers_table["not_comparable"]) {
    CHECK(group.at("why").get<std::string>().size() > 10);
    for (const auto& row : group.at("rows")) left.insert(row.get<std::string>());
  }
  for (const auto& row : peers_table["rows"].items()) CHECK(compared.count(row.key()) + left.count(row.key()) == 1);
  CHECK(compared.size() + left.size() == peers_table["rows"].size());
  CHECK(peers_table["rows"].size() == 210);
  CHECK(left.size() == 9);
}

TEST_CASE("formulas") {
  const std::map<std::string, double> letters{{"P", 10}, {"h", 4}};
  CHECK(peers::expression("-2*(P - h)/3 + 1.5", letters).value() == -2.5);
  CHECK(peers::expression("P - h - 1", letters).value() == 5);
  CHECK_THROWS_AS(peers::expression("2*x", letters).value(), std::invalid_argument);
  CHECK_THROWS_AS(peers::expression("2*(P", letters).value(), std::invalid_argument);
  CHECK_THROWS_AS(peers::expression("P h", letters).value(), std::invalid_argument);
}

}  // namespace test_conformance
