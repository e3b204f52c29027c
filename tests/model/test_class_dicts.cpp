// Distributed under the Boost Software License, Version 1.0.
// What transformers' own configurations write of themselves where nothing is said (tests/data/class_dicts.json: to_dict() of each type) is read as the
// configuration that says nothing: every default here is the class's, those too that no total shows, and none of them is refused.
#include "counted_rows.hpp"

#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace test_class_dicts {

using nlohmann::json;

TEST_CASE("a configuration that states every default is the one that states none") {
  const auto written = counted_rows::data("class_dicts.json");
  // Types that cannot be read back, each by a key: a table that transformers 4 and 5 tie differently.
  const std::map<std::string, std::string> refused{{"qwen3_vl_moe", "transformers_version must be stated"}};
  // Of whole models the layers are walked, and parts of them counted elsewhere, under a name that is not the same: totals and what a token passes are.
  int equal = 0, in_parts = 0, not_back = 0;
  for (const auto& row : counted_rows::data("class_defaults.json")) {
    const auto type = row.at("config").value("model_type", std::string{});
    if (!written.contains(type)) continue;
    auto bare = counted_rows::config_of(row);
    headroom::parameter_count plain;
    try {
      plain = headroom::io::count_config(bare);
    } catch (const headroom::job_error&) {
      continue;  // a class that needs a key
    }
    auto whole = written.at(type);
    whole.update(bare);
    CAPTURE(row.at("architectures").dump());
    headroom::parameter_count said;
    try {
      said = headroom::io::count_config(whole);
    } catch (const headroom::job_error& e) {
      const auto known = refused.find(type);
      REQUIRE_MESSAGE(known != refused.end(), e.what());
      CHECK(std::string{e.what()}.find(known->second) != std::string::npos);
      ++not_back;
      continue;
    }
    ++equal;
    CHECK(said.total == plain.total);
    CHECK(said.active == plain.active);
    CHECK(said.frozen == plain.frozen);
    in_parts += said.by_component == plain.by_component ? 1 : 0;
  }
  CHECK(equal >= 1325);
  CHECK(equal - in_parts <= 6);
  CHECK(not_back <= 6);
}

TEST_CASE("a key that the class reads beside its configuration may be what it is taken to be") {
  for (const auto& config : {json{{"conv_kernel_size", 0}}, json{{"conv_kernel_size", 0}, {"conv_groups", 1}}, json::object()}) {
    auto deberta = config;
    deberta.update({{"model_type", "deberta-v2"}, {"architectures", {"DebertaV2Model"}}});
    CHECK(headroom::io::count_config(deberta).total.count() == 877'507'584);
  }
}

// Totals of transformers 5.17's MobileViTV2Model: the first width is a multiple between limits.
TEST_CASE("a width that is scaled has limits on both sides") {
  const std::map<double, std::int64_t> totals{{0.5, 1'113'593}, {0.75, 2'481'009}, {1.25, 6'837'089}, {1.5, 9'825'753}, {2.0, 17'424'329}, {3.0, 39'082'185}};
  for (const auto& row : totals) {
    const auto times = row.first;
    CAPTURE(times);
    CHECK(headroom::io::count_config({{"model_type", "mobilevitv2"}, {"architectures", {"MobileViTV2Model"}}, {"width_multiplier", times}}).total.count() == row.second);
  }
}

}  // namespace test_class_dicts
