// Distributed under the Boost Software License, Version 1.0.
// Prices of plans: by hand, against every plan of a search, and within limits.
#include <headroom/io/price_text.hpp>
#include <headroom/io/search_reader.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/plan/price.hpp>

#include <doctest/doctest.h>

namespace test_price {

using namespace headroom;

namespace {

ranked_plan one(std::int64_t gpus_per_node, double seconds, std::uint64_t ordinal) {
  ranked_plan p;
  p.job.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = gpus_per_node};
  p.job.batch = {.micro = 2, .sequence = 4096, .accumulation = 8 / gpus_per_node};
  p.outcome = {.fits = true, .device = bytes{1}, .seconds = seconds, .refused = {}};
  p.ordinal = ordinal;
  return p;
}

const spending rent{.prices = {{"h100", 2.5}}, .tokens = 1e9};

}  // namespace

TEST_CASE("an hour, a million tokens and a whole training, by hand") {
  // 8 GPUs x 2 sequences x 4,096 tokens = 65,536 tokens in 0.5 s: 131,072 a second. 8 GPUs at 2.50 an hour: 20.00.
  const auto p = priced(one(8, 0.5, 0), rent);
  REQUIRE(p);
  CHECK(p->hour == doctest::Approx(20.0));
  CHECK(p->million_tokens == doctest::Approx(20.0 / 3600 * 7.62939453125));  // a million of them take 7.63 s
  CHECK(p->days == doctest::Approx(0.0883031));                              // 7,629.4 s
  CHECK(p->money == doctest::Approx(42.3855));                               // 2.1193 hours
}

TEST_CASE("the longest beginning of a GPU's name gives its price; without one there is none") {
  CHECK(price_of_hour(cluster{.gpu = gpus::h100_sxm_80gb}, {{"h100", 2.0}, {"h100-sxm", 3.0}}) == 3.0);
  CHECK(price_of_hour(cluster{.gpu = gpus::h100_sxm_80gb}, {{"h100-sxm", 3.0}, {"h100", 2.0}}) == 3.0);
  CHECK(price_of_hour(cluster{.gpu = gpus::h100_sxm_80gb}, {{"h100", 2.0}, {"h100", 3.0}}) == 2.0);  // of two the first
  CHECK_FALSE(price_of_hour(cluster{.gpu = gpus::h100_sxm_80gb}, {{"h10", 2.0}}));
  // A mixed cluster: each of its GPUs at its own price.
  cluster mixed{.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8};
  mixed.others = {{gpus::a100_sxm_80gb, 6}};
  CHECK(price_of_hour(mixed, {{"h100", 2.0}, {"a100", 0.5}}) == 10 * 2.0 + 6 * 0.5);
  CHECK_FALSE(price_of_hour(mixed, {{"h100", 2.0}}));
  CHECK_FALSE(price_of_hour(cluster{.gpu = gpus::a100_sxm_80gb}, {{"h100", 2.0}}));
}

TEST_CASE("the cheapest first; limits leave out what is late or dear") {
  plan_result r;
  r.best = {one(8, 0.5, 0), one(4, 0.9, 1), one(2, 2.2, 2)};  // 4.0, 3.6 and 4.4 GPU seconds for the same tokens
  r.front = r.best;
  const auto all = cheapest({r}, rent, 10);
  REQUIRE(all.size() == 3);
  CHECK(all[0].plan.ordinal == 1);
  CHECK(all[1].plan.ordinal == 0);
  CHECK(all[2].plan.ordinal == 2);
  auto soon = rent;
  soon.days = 0.1;  // 0.0883, 0.159 and 0.388 days
  REQUIRE(cheapest({r}, soon, 10).size() == 1);
  CHECK(cheapest({r}, soon, 10)[0].plan.ordinal == 0);
  auto poor = rent;
  poor.budget = 40;  // 42.4, 38.1 and 46.6
  REQUIRE(cheapest({r}, poor, 10).size() == 1);
  CHECK(cheapest({r}, poor, 10)[0].plan.ordinal == 1);
  poor.days = 0.1;
  CHECK(cheapest({r}, poor, 10).empty());
}

TEST_CASE("no plan of a search is cheaper than the cheapest of its front") {
  const auto s = io::read_search(io::parse_json(R"({"model": "llama-3.1-8b", "framework": "megatron", "parallel": {"tensor": "auto", "pipeline": "auto"}, "recompute": "auto", "sharding": "megatron-distributed-optimizer",
    "hardware": {"gpu": "h100-sxm-80gb", "nodes": "auto", "max_nodes": 2, "gpus_per_node": 8}, "batch": {"sequence": 8192, "global": 16}})", "a search"), io::no_files);
  const auto few = plan(s, plan_judge{}, {.top = 1});
  const auto every = plan(s, plan_judge{}, {.top = 10'000});
  REQUIRE(every.best.size() > 100);
  auto least = 1e300;
  for (const auto& p : every.best) least = std::min(least, priced(p, rent)->million_tokens);
  CHECK(cheapest({few}, rent, 1).front().million_tokens == doctest::Approx(least));
}

TEST_CASE("amounts and prices as people write them") {
  CHECK(io::detail::read_amount("15T", "--tokens") == 15e12);
  CHECK(io::detail::read_amount("2.5", "--tokens") == 2.5);
  CHECK_THROWS_WITH(io::detail::read_amount("15Q", "--tokens"), "headroom: --tokens must be a positive number, if need be with k, M, B or T behind it, found \"15Q\"");
  CHECK_THROWS_AS(io::detail::read_amount("-3", "--tokens"), headroom::error);
  CHECK_THROWS_AS(io::detail::read_amount("nan", "--tokens"), headroom::error);
  CHECK_THROWS_AS(io::detail::read_price("h100"), headroom::error);
  CHECK_THROWS_WITH(io::detail::read_price("h10=2"), doctest::Contains("no GPU's name is or begins with \"h10\""));
  CHECK(io::detail::read_price("a100=1.6").hour == 1.6);
}

}  // namespace test_price
