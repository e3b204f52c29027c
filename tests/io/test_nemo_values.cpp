// Distributed under the Boost Software License, Version 1.0.
// Values of NeMo-RL's configurations that stand in others (omegaconf's ${…} with its resolvers add, mul, div, max), and files that inherit, by omegaconf's grammar and the
// resolvers in nemo_rl/utils/config.py; what would have to be asked of an environment stays as it is written.
#include <headroom/io/launchers/nemo/files.hpp>

#include <doctest/doctest.h>

namespace test_nemo_values {

using namespace headroom;
using io::json_value;

namespace {

/// a.x, in a file with a.b = 6, a.c.d = 4, a.name = "m", top = 3, a.list = [1].
json_value value_of(const json_value& said) {
  io::document d{.source = "a.yaml", .root = {{"a", {{"b", 6}, {"c", {{"d", 4}}}, {"name", "m"}, {"list", {1}}, {"half", 0.5}, {"x", said}}}, {"top", 3}}, .lines = {}};
  io::detail::nemo_values(d).resolve();
  return d.root["a"]["x"];
}
json_value joined(const std::vector<std::pair<std::string, json_value>>& files) {
  std::vector<io::document> all;
  for (const auto& [name, root] : files) all.push_back({.source = name, .root = root, .lines = {}});
  return io::detail::nemo_files(all).joined().root;
}

}  // namespace

TEST_CASE("values that stand in others") {
  const std::pair<json_value, json_value> rows[] = {
      {"${top}", 3}, {"${a.b}", 6}, {"${.b}", 6}, {"${.c.d}", 4}, {"${..top}", 3}, {"${a.name}-${top}", "m-3"}, {"x${a.c.d}y", "x4y"}, {"${a.list}", {1}},
      {"${mul:${a.b}, 4}", 24}, {"${mul:2,3}", 6}, {"${add:${.b},${top}}", 9}, {"${div:${a.b}, ${a.c.d}}", 1.5}, {"${div:6,3}", 2}, {"${max:1,${top},2}", 3}, {"${max:5,${top}}", 5}, {"${mul:${a.half},4}", 2}, {"${mul:${a.half},3}", 1.5},
      {"${mul:${mul:2,3},4}", 24}, {7, 7}, {"plain", "plain"},
      // What is not known, or no number, is left.
      {"${a.none}", "${a.none}"}, {"${oc.env:HOME}", "${oc.env:HOME}"}, {"${div:1,0}", "${div:1,0}"}, {"${mul:1}", "${mul:1}"}, {"${mul:1,2,3}", "${mul:1,2,3}"}, {"${mul:${a.name},2}", "${mul:${a.name},2}"}, {"${sub:3,1}", "${sub:3,1}"},
      {"${top", "${top"}, {"x${a.list}", "x${a.list}"}, {"${a.x}", "${a.x}"}};
  for (const auto& r : rows) {
    CAPTURE(r.first.dump());
    CHECK(value_of(r.first) == r.second);
  }
  CHECK(value_of(json_value{{"y", "${top}"}})["y"] == 3);
  CHECK(value_of(json_value::array({"${top}", "${.b}"}))[0] == 3);
  CHECK(value_of("${mul:3000000000000000,3}").is_number_float());  // no whole number that a double holds for sure
  CHECK(value_of(std::string(5000, ' ') + "${top}").get<std::string>().ends_with("${top}"));
}

TEST_CASE("a file goes over what it inherits, section by section") {
  const json_value base{{"policy", {{"a", 1}, {"s", {{"x", 1}, {"y", 2}}}, {"l", {1, 2}}}}, {"sft", {{"k", 1}}}};
  const auto over = [&](json_value own) {
    own["defaults"] = "base.yaml";
    return joined({{"run.yaml", own}, {"base.yaml", base}});
  };
  CHECK(over({{"policy", {{"s", {{"x", 5}}}, {"l", {3}}}}}) == json_value{{"policy", {{"a", 1}, {"s", {{"x", 5}, {"y", 2}}}, {"l", {3}}}}, {"sft", {{"k", 1}}}});
  CHECK(over({{"policy", {{"a", "???"}}}})["policy"]["a"] == 1);
  CHECK(over({{"policy", {{"new", "???"}}}})["policy"]["new"] == "???");
  for (const auto& yes : {json_value(true), json_value(1), json_value("x"), json_value::array({1})}) CHECK(over({{"policy", {{"_override_", yes}, {"b", 2}}}})["policy"] == json_value{{"b", 2}});
  for (const auto& no : {json_value(false), json_value(0), json_value(""), json_value(nullptr), json_value::array()}) CHECK(over({{"policy", {{"_override_", no}, {"b", 2}}}})["policy"]["a"] == 1);
  CHECK(joined({{"run.yaml", {{"defaults", nullptr}, {"sft", 1}}}}) == json_value{{"sft", 1}});
  CHECK(joined({{"run.yaml", {{"defaults", {"a.yaml", "b.yaml"}}}}, {"a.yaml", {{"k", 1}, {"l", 1}}}, {"b.yaml", {{"k", 2}}}}) == json_value{{"k", 2}, {"l", 1}});
  CHECK_THROWS_WITH(joined({{"run.yaml", {{"defaults", 3}}}}), doctest::Contains("defaults must be the path of a file that is inherited from, or a list of such, found 3"));
  CHECK_THROWS_WITH(joined({{"run.yaml", {{"defaults", "none.yaml"}}}}), doctest::Contains("names \"none.yaml\", which no file here is: give it, too"));
  CHECK_THROWS_WITH(joined({{"a.yaml", {{"sft", 1}}}, {"b.yaml", {{"sft", 1}}}}), doctest::Contains("a.yaml and b.yaml are both configurations of NeMo-RL's"));
  CHECK_THROWS_WITH(joined({{"a.yaml", {{"defaults", "b.yaml"}}}, {"b.yaml", {{"defaults", "a.yaml"}}}}), doctest::Contains("inherit from each other in a circle"));
  // Two that inherit from one: both are run.
  CHECK_THROWS_WITH(joined({{"a.yaml", {{"defaults", "c.yaml"}}}, {"b.yaml", {{"defaults", "c.yaml"}}}, {"c.yaml", {{"sft", 1}}}}), doctest::Contains("are both configurations of NeMo-RL's"));
}

TEST_CASE("what makes a file one of NeMo-RL's") {
  using io::detail::is_nemo_rl;
  for (const auto* key : {"model_name", "megatron_cfg", "dtensor_cfg", "train_global_batch_size"}) CHECK(is_nemo_rl({{"policy", {{key, 1}}}}));
  CHECK(is_nemo_rl({{"defaults", "a.yaml"}}));
  CHECK(is_nemo_rl({{"defaults", {"a.yaml", "b.yaml"}}}));
  CHECK(is_nemo_rl({{"eval", 1}, {"generation", {{"vllm_cfg", 1}}}}));
  for (const auto& other : {json_value(3), json_value{{"policy", {{"x", 1}}}}, json_value{{"policy", 1}}, json_value{{"defaults", "a.json"}}, json_value{{"defaults", json_value::array()}}, json_value{{"defaults", {"a.yaml", 3}}},
                            json_value{{"defaults", {{"a", 1}}}}, json_value{{"eval", 1}, {"generation", 1}}, json_value{{"eval", 1}, {"generation", {{"x", 1}}}}, json_value{{"generation", {{"vllm_cfg", 1}}}}})
    CHECK_FALSE(is_nemo_rl(other));
}

}  // namespace test_nemo_values
