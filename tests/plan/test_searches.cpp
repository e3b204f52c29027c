// Distributed under the Boost Software License, Version 1.0.
// Searches with an open number of GPUs, sweeps of several searches, and what comes closest.
#include <headroom/io/plan_reader.hpp>
#include <headroom/io/plan_text.hpp>
#include <headroom/io/sweep_reader.hpp>
#include <headroom/plan/closest.hpp>
#include <headroom/plan/confirm.hpp>
#include <headroom/plan/untimed.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

namespace test_searches {

using namespace headroom;
using namespace headroom::literals;

namespace {

io::json_value parse(const std::string& text) { return io::parse_json(text, "search.json"); }

const std::string nodes_open = R"({"model": "llama-3.1-8b",
  "hardware": {"gpu": "h100-sxm-80gb", "nodes": "auto", "max_nodes": 6, "gpus_per_node": "auto", "max_gpus_per_node": 8},
  "framework": "megatron", "parallel": {"tensor": "auto", "pipeline": "auto"}, "sharding": "megatron-distributed-optimizer",
  "batch": {"sequence": 4096, "global": 96}})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
std::string refusal(const std::string& text) {
  try {
    (void)io::read_sweep(parse(text));
  } catch (const job_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an engine on the GPUs that train: every share, depth of sleep and division of its model") {
  const auto s = io::read_search(parse(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 2}, "framework": "deepspeed", "precision": "bf16-mixed",
    "sharding": {"kind": "zero", "stage": 3}, "batch": {"micro": 4, "accumulation": 2, "sequence": 1024}, "recompute": "full", "objective": {"kind": "grpo", "trainer": "trl", "reference": "none"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": "auto", "sleep": "auto", "tensor": "auto", "prompt": 512, "completion": 512, "generations": 8}})"));
  CHECK(s.open == (axes::bit(axes::engine_share) | axes::bit(axes::engine_sleep) | axes::bit(axes::engine_tensor)));
  const auto r = plan(s, {.top = 1000});
  std::int64_t fitting = 0;
  std::map<std::pair<std::int64_t, double>, bytes> expected;  // of each division and time, the least memory
  for (std::int32_t share = 10; share <= 95; share += 5)
    for (std::int32_t sleep = 0; sleep <= 2; ++sleep)
      for (const auto tensor : {1, 2}) {
        auto j = s.job;
        j.rollout.share.per_million = share * 10'000;
        j.rollout.sleep = sleep;
        j.rollout.tensor = tensor;
        if (objection_to(j) || !estimate(j).fits()) continue;
        ++fitting;
        auto& least = expected.try_emplace({tensor, cost(j).step.value}, 1000_GiB).first->second;
        least = std::min(least, estimate(j).ranks[0].device);
      }
  CHECK(fitting > 10);
  CHECK(r.fitting == fitting);
  CHECK(expected.size() > 2);
  CHECK(static_cast<std::int64_t>(expected.size()) < fitting / 2);
  REQUIRE(r.best.size() == expected.size());
  for (const auto& p : r.best) {
    CHECK(estimate(p.job).fits());
    REQUIRE(expected.contains({p.job.rollout.tensor, p.outcome.seconds}));
    CHECK(p.outcome.device == expected.at({p.job.rollout.tensor, p.outcome.seconds}));
  }
  CHECK(plan(s, {.top = 2}).best[1].job == r.best[1].job);
  CHECK(io::detail::plan_line(r.best[0].job).find("engine 0.") != std::string::npos);
  // An engine on GPUs of its own has none of it to choose.
  auto apart = s.job;
  apart.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::separate, .gpus = 2, .prompt = 512, .completion = 512, .generations = 8};
  CHECK(axes::engine_share.values(apart).size() == 1);
  CHECK(axes::engine_sleep.values(apart).size() == 1);
  CHECK(axes::engine_tensor.values(apart).size() == 2);  // one GPU, or both
}

TEST_CASE("an engine on the GPUs that train, or on some of them alone: every placement") {
  const auto text = [](const std::string& sequence, const std::string& batch) {
    return R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 4}, "framework": "deepspeed", "precision": "bf16-mixed", "sharding": {"kind": "zero", "stage": 3},
      "batch": )" + batch + R"(, "recompute": "full", "objective": {"kind": "grpo", "trainer": "trl", "reference": "none"},
      "rollout": {"engine": "vllm", "placement": "auto", "tensor": "auto", "share": 0.4, "sleep": 1, "prompt": 512, "completion": )" + sequence + R"(, "generations": 4}})";
  };
  const auto s = io::read_search(parse(text("512", R"({"global": 96, "sequence": 1024})").c_str()));
  CHECK(s.open == (axes::bit(axes::engine_place) | axes::bit(axes::engine_tensor)));
  const auto r = plan(s, {.top = 1000});
  // Written out: how many GPUs the engine has, and how many samples the trainer's GPUs take at once.
  std::set<std::array<std::int64_t, 3>> expected, found;
  double fastest = 1e300;
  for (std::int64_t own = 0; own < 4; ++own)
    for (std::int64_t tensor = 1; tensor <= 4; ++tensor)
      for (std::int64_t micro = 1; micro <= 96; ++micro) {
        auto j = s.job;
        const auto train = 4 - own;
        if (96 % (train * micro) != 0 || train % tensor != 0 || 28 % tensor != 0 || own % tensor != 0) continue;
        j.hardware.gpus_per_node = train;
        j.batch.micro = micro, j.batch.accumulation = 96 / train / micro;
        j.rollout.tensor = tensor;
        if (own > 0) {
          j.rollout.placement = rollout_place::separate;
          j.rollout.gpus = static_cast<std::int32_t>(own);
          j.rollout.share = memory_share::of(0.9);
          j.rollout.sleep = 0;
        }
        if (objection_to(j) || !estimate(j).fits()) continue;
        expected.insert({own, tensor, micro});
        fastest = std::min(fastest, cost(j).step.value);
      }
  for (const auto& p : r.best) {
    CHECK(all_gpus_of(p.job) == 4);
    found.insert({p.job.rollout.gpus, p.job.rollout.tensor, p.job.batch.micro});
  }
  CHECK(found == expected);
  CHECK(std::any_of(found.begin(), found.end(), [](const auto& f) { return f[0] == 0; }));
  CHECK(std::any_of(found.begin(), found.end(), [](const auto& f) { return f[0] > 0; }));
  CHECK(cost(r.best[0].job).step.value == fastest);
  const auto apart = std::find_if(r.best.begin(), r.best.end(), [](const ranked_plan& p) { return p.job.rollout.gpus == 2; });
  REQUIRE(apart != r.best.end());
  CHECK(io::detail::plan_line(apart->job).find("engine on 2 other GPUs") != std::string::npos);
  // Of several nodes whole ones are the engine's.
  auto many = s.job;
  many.hardware.nodes = 4;
  std::vector<std::int64_t> own;
  for (const auto v : axes::engine_place.values(many)) own.push_back(v);
  CHECK(own == std::vector<std::int64_t>{0, 4, 8, 12});
  axes::engine_place.set(many, 12);
  CHECK(many.hardware.gpus() == 4);
  CHECK(all_gpus_of(many) == 16);
  // A model that one GPU of its own cannot hold does not go there.
  auto large = s.job;
  large.batch.micro = 4, large.batch.accumulation = 8;
  large.hardware.gpus_per_node = 5;
  axes::engine_place.set(large, 1);
  CHECK_FALSE(objection_to(large));
  large.model = *models::find("qwen2.5-72b");
  REQUIRE(objection_to(large));
  CHECK(std::string{objection_to(large).sentence}.find("rollout.share is too small") != std::string::npos);
}

TEST_CASE("the fewest GPUs, and the front of time, memory and GPUs, against every size searched by itself") {
  const auto s = io::read_search(parse(nodes_open));
  const auto r = plan(s, {.top = 50'000});
  // 1, 2, 4 and 6 nodes of 1, 2, 4 and 8 GPUs, each with its own search.
  std::vector<ranked_plan> every;
  for (const auto nodes : {1, 2, 4, 6})
    for (const auto each : {1, 2, 4, 8}) {
      auto one = s;
      one.open &= ~(axes::bit(axes::nodes) | axes::bit(axes::gpus_per_node));
      one.job.hardware.nodes = nodes, one.job.hardware.gpus_per_node = each;
      const auto alone = plan(one, {.top = 50'000});
      every.insert(every.end(), alone.best.begin(), alone.best.end());
    }
  CHECK(r.best.size() == every.size());
  std::int64_t fewest = 1'000;
  for (const auto& p : every) fewest = std::min(fewest, p.job.hardware.gpus());
  CHECK(std::any_of(r.front.begin(), r.front.end(), [&](const ranked_plan& p) { return p.job.hardware.gpus() == fewest; }));
  const auto no_worse = [](const ranked_plan& a, const ranked_plan& b) {
    return a.outcome.seconds <= b.outcome.seconds && a.outcome.device <= b.outcome.device && a.job.hardware.gpus() <= b.job.hardware.gpus();
  };
  for (const auto& p : every) CHECK(std::any_of(r.front.begin(), r.front.end(), [&](const ranked_plan& f) { return no_worse(f, p); }));
  for (std::size_t i = 0; i < r.front.size(); ++i)
    for (std::size_t k = 0; k < r.front.size(); ++k) CHECK((i == k || !no_worse(r.front[i], r.front[k])));
  for (std::int64_t part = 0; part < 2; ++part) CHECK(plan(s, {.part = part, .parts = 2}).evaluated < r.evaluated);
}

TEST_CASE("every plan that is named is confirmed, and the next best takes the place of one that is not") {
  const auto s = io::read_search(parse(nodes_open));
  const auto all = plan(s, {.top = 50'000}).best;
  // Judges whose word is worth little: every third plan is none, the fastest 400 are, most of what is fast and large is, none is left.
  const auto ordinal_of = [&](const job& j) { return std::find_if(all.begin(), all.end(), [&](const ranked_plan& p) { return p.job == j; })->ordinal; };
  std::set<std::uint64_t> quick;
  for (std::size_t i = 0; i < 400; ++i) quick.insert(all[i].ordinal);
  const std::pair<const char*, std::function<bool(const ranked_plan&)>> truths[] = {
      {"all", [](const ranked_plan&) { return true; }},
      {"two of three", [](const ranked_plan& p) { return p.ordinal % 3 != 0; }},
      {"none of the fastest", [&](const ranked_plan& p) { return !quick.contains(p.ordinal); }},
      {"small", [](const ranked_plan& p) { return p.outcome.device < 40_GiB; }},
      {"a few", [](const ranked_plan& p) { return p.ordinal % 97 == 0; }},
      {"none", [](const ranked_plan&) { return false; }}};
  for (const auto& told_by : truths) {
    const auto& truth = told_by.second;
    CAPTURE(std::string(told_by.first));
    plan_result expected;
    for (const auto& p : all) {
      if (!truth(p)) continue;
      detail::keep_best(expected.best, p, 10);
      detail::keep_front(expected.front, p);
    }
    std::map<std::uint64_t, bool> told;
    for (const auto& p : all) told[p.ordinal] = truth(p);
    std::set<std::uint64_t> asked;
    const auto r = confirmed_plan(s, plan_judge{}, {.top = 10}, [&](const job& j) {
      const auto n = ordinal_of(j);
      CHECK(asked.insert(n).second);  // once
      return told.at(n);
    });
    const auto same = [](const std::vector<ranked_plan>& a, const std::vector<ranked_plan>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ranked_plan& x, const ranked_plan& y) { return x.ordinal == y.ordinal && x.job == y.job; });
    };
    CHECK(same(r.best, expected.best));
    CHECK(same(r.front, expected.front));
    // In parts, joined: the same.
    plan_result joined;
    for (std::int64_t part = 0; part < 3; ++part)
      detail::join(joined, confirmed_plan(s, plan_judge{}, {.top = 10, .part = part, .parts = 3}, [&](const job& j) { return told.at(ordinal_of(j)); }), 10);
    CHECK(same(joined.best, expected.best));
    CHECK(same(joined.front, expected.front));
  }
}

TEST_CASE("a plan that there was no time to look at is not named, and those that were looked at before are") {
  const auto s = io::read_search(parse(nodes_open));
  int looked = 0;
  const auto r = confirmed_plan(s, plan_judge{}, {.top = 3}, [&](const job&) -> bool {
    if (looked++ > 1) throw out_of_time{};
    return true;
  });
  CHECK_FALSE(r.complete);
  CHECK(r.best.size() == 2);
}

TEST_CASE("plans that are tied are named, with the range of each time") {
  using io::detail::numbers_text;
  CHECK(numbers_text({true, true, true, true}) == "1 to 4");
  CHECK(numbers_text({true, true, false, false, true}) == "1, 2 and 5");
  CHECK(numbers_text({true, true, true, false, true}) == "1 to 3 and 5");
  CHECK(numbers_text({true, false}) == "1");
  auto s = io::read_search(parse(nodes_open));
  s.open &= ~(axes::bit(axes::nodes) | axes::bit(axes::gpus_per_node));
  const auto r = plan(s, {.top = 12});
  const auto tied = tied_with_first(r.best);
  REQUIRE(tied.size() == r.best.size());
  CHECK(tied[0]);
  std::size_t k = 0;
  while (k < tied.size() && tied[k]) ++k;
  for (std::size_t i = 0; i < tied.size(); ++i) CHECK(tied[i] == headroom::tied(cost(r.best[0].job), cost(r.best[i].job)));
  CHECK(k < tied.size());  // pipelines without micro-batches enough are slower for sure
  CHECK(k > 1);
  const auto text = io::to_text(r, 0.0);
  const auto holds = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(holds("95 % sure"));
  CHECK(holds(" are within the error of the prediction: measure them."));
  const auto json = io::to_json(r, 0.0, confidence{0.8});
  for (std::size_t i = 0; i < r.best.size(); ++i) {
    const auto& p = json.at("plans").at(i);
    CHECK(p.at("step_bounds").at("low") < p.at("step_seconds"));
    CHECK(p.at("step_bounds").at("high") > p.at("step_seconds"));
    CHECK(p.at("step_bounds").at("confidence") == 0.8);
    CHECK((!p.at("tied").get<bool>() || tied[i]));  // less sure, fewer
  }
  CHECK_FALSE(json.at("front").at(0).contains("tied"));
  // Read again, it is the same.
  auto again = json;
  again["top"] = 12;
  CHECK(io::to_json(io::read_plans(again, "again").searches.front().found, 0.0, confidence{0.8}) == json);
}

TEST_CASE("where no time is predicted plans are in order of memory, and say so") {
  auto s = io::read_search(parse(nodes_open));
  s.open &= ~(axes::bit(axes::nodes) | axes::bit(axes::gpus_per_node));
  CHECK(untimed(s).empty());
  s.job.hardware.gpu.bf16_tflops_x10 = s.job.hardware.gpu.fp16_tflops_x10 = 0;
  CHECK(untimed(s).find("peak FLOP/s and memory bandwidth") != std::string::npos);
  CHECK(plan(s).best.empty());
  auto r = plan(s, judge_memory, {.top = 20});
  r.untimed = untimed(s);
  REQUIRE(r.best.size() > 3);
  for (std::size_t i = 1; i < r.best.size(); ++i) CHECK(r.best[i - 1].outcome.device <= r.best[i].outcome.device);
  CHECK(r.front.size() == 1);
  const auto text = io::to_text(r, 0.0);
  CHECK(text.find("plans are in order of memory") != std::string::npos);
  CHECK(text.find("within the error") == std::string::npos);
  auto json = io::to_json(r, 0.0);
  CHECK(json.at("plans").at(0).at("step_seconds").is_null());
  CHECK_FALSE(json.at("plans").at(0).contains("tied"));
  json["top"] = 20;
  const auto again = io::read_plans(json, "again").searches.front().found;
  CHECK(again.untimed == r.untimed);
  CHECK(again.best.size() == r.best.size());
  CHECK(again.best.front().job == r.best.front().job);
}

TEST_CASE("a global batch is kept with what is given of its parts") {
  const auto of = [](const std::string& batch) {
    return plan(io::read_search(parse(R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "megatron",
                                         "parallel": {"tensor": "auto"}, "sharding": "megatron-distributed-optimizer", "recompute": "full", "batch": {"sequence": 4096, )" + batch + "}}")),
                {.top = 100});
  };
  const auto all = of(R"("global": 24)"), micro = of(R"("global": 24, "micro": 3)"), times = of(R"("global": 24, "accumulation": 4)"), both = of(R"("global": 24, "micro": 3, "accumulation": 2)");
  const auto count = [&](const auto& choose) { return static_cast<std::size_t>(std::count_if(all.best.begin(), all.best.end(), [&](const ranked_plan& p) { return choose(p.job.batch); })); };
  REQUIRE(all.best.size() > 10);
  CHECK(micro.best.size() == count([](const batch& b) { return b.micro == 3; }));
  CHECK(times.best.size() == count([](const batch& b) { return b.accumulation == 4; }));
  CHECK(both.best.size() == count([](const batch& b) { return b.micro == 3 && b.accumulation == 2; }));
  CHECK(micro.best.size() > 1);
  CHECK(times.best.size() > 1);
  CHECK(both.best.size() == 1);
  for (const auto* r : {&all, &micro, &times, &both})
    for (const auto& p : r->best) CHECK(p.job.batch.micro * p.job.batch.accumulation * (8 / p.job.parallel.tensor) == 24);
  const auto none = of(R"("global": 24, "micro": 7)");
  CHECK(none.best.empty());
  CHECK(none.rejected.contains("the global batch is not made of batch.micro or batch.accumulation as given"));
}

TEST_CASE("an open number of GPUs needs a most, one kind and a global batch") {
  CHECK(refusal(nodes_open).empty());
  CHECK(refusal(with(nodes_open, R"("max_nodes": 6, )", "")).find("hardware.max_nodes is required") != std::string::npos);
  CHECK(refusal(with(nodes_open, R"("nodes": "auto")", R"("nodes": 2)")).find("hardware.max_nodes goes with hardware.nodes \"auto\"") != std::string::npos);
  CHECK(refusal(with(nodes_open, R"("max_nodes": 6)", R"("max_nodes": 0)")).find("hardware.max_nodes must be a whole number from 1") != std::string::npos);
  CHECK(refusal(with(nodes_open, R"("h100-sxm-80gb")", R"([{"gpu": "l4", "count": 8}])")).find("several kinds") != std::string::npos);
  CHECK(refusal(with(nodes_open, R"(, "global": 96)", "")).find("batch.global is required where the number of GPUs is open") != std::string::npos);
}

TEST_CASE("expert tensor parallelism, and Megatron-FSDP without pipelines") {
  auto s = io::read_search(parse(R"({"model": "mixtral-8x7b", "hardware": {"gpu": "h100-sxm-80gb", "nodes": 2, "gpus_per_node": 8}, "framework": "megatron",
    "parallel": {"tensor": "auto", "pipeline": "auto", "expert": "auto", "expert_tensor": "auto"}, "sharding": "auto", "batch": {"sequence": 4096, "global": 32}})"));
  std::map<std::int64_t, int> degrees;
  int fsdp = 0;
  (void)plan(s, [&](const job& j) {
    ++degrees[j.parallel.expert_tensor];
    fsdp += j.sharding.kind == sharding_kind::megatron_fsdp ? 1 : 0;
    if (j.sharding.kind == sharding_kind::megatron_fsdp) CHECK(j.parallel.pipeline == 1);
    CHECK(j.parallel.tensor % j.parallel.expert_tensor == 0);
    CHECK(16 / j.parallel.pipeline % (j.parallel.expert * j.parallel.expert_tensor) == 0);
    return judged_plan{.fits = true, .device = bytes{1}, .seconds = 1};
  }, {.threads = 1});
  CHECK(degrees.size() == 4);  // 1, 2, 4, 8
  CHECK(fsdp > 0);
}

TEST_CASE("a sweep is a product of lists, or a list") {
  const std::string rest = R"("framework": "megatron", "parallel": {"tensor": "auto"}, "batch": {"sequence": 4096, "micro": 1}})";
  const auto product = io::read_sweep(parse(R"({"sweep": {"model": ["llama-3.1-8b", "llama-2-7b"], "hardware": [{"gpu": "l40", "gpus_per_node": 8}], "batch.micro": [1, 2, 4]}, )" + rest));
  REQUIRE(product.size() == 6);
  CHECK(product[0].search.job.model == models::llama_3_1_8b);
  CHECK(product[1].search.job.model == models::llama_2_7b);
  CHECK(product[1].search.job.batch.micro == 1);
  CHECK(product[2].search.job.batch.micro == 2);
  CHECK(product[5].search.job.hardware.gpu == gpus::l40);
  CHECK(product[5].search.job.batch.sequence == 4096);
  const auto list = io::read_sweep(parse(R"({"sweep": [{"model": "llama-3.1-8b"}, {"model": "llama-2-7b", "hardware.gpu": "l40", "parallel": {"pipeline": "auto"}}], )" + rest));
  REQUIRE(list.size() == 2);
  CHECK(list[0].search.open == axes::bit(axes::tensor));
  CHECK(list[1].search.open == axes::bit(axes::pipeline));
  CHECK(list[1].values.at("hardware.gpu") == "l40");
  const auto none = io::read_sweep(parse(R"({"model": "llama-2-7b", )" + rest));
  REQUIRE(none.size() == 1);
  CHECK(none[0].values.is_null());
}

TEST_CASE("errors of a sweep name their place") {
  const std::string rest = R"("framework": "megatron", "model": "llama-2-7b", "batch": {"sequence": 4096}})";
  struct mistake {
    const char* sweep;
    const char* sentence;
  };
  for (const auto& m : {mistake{R"(7)", "sweep must be an object of lists, or a list of objects, found 7"}, mistake{R"([])", "sweep must be"}, mistake{R"({})", "sweep must be"},
                        mistake{R"([{}])", "sweep[0] must be an object of keys and their values"}, mistake{R"([{"model": "gpt2"}, 3])", "sweep[1] must be an object"},
                        mistake{R"({"model": "gpt2"})", "sweep.model must be a list of values, found \"gpt2\""}, mistake{R"({"model": []})", "sweep.model must be a list of values"},
                        mistake{R"({"framework.name.x": [1]})", "sweep.framework.name.x sets a key of framework, which is \"megatron\", not an object"},
                        mistake{R"([{"sweep": []}])", "sweep[0].sweep: a sweep cannot hold another"},
                        mistake{R"({"model": ["gpt2", "gpt-nine"]})", "; in the search of sweep with {\"model\":\"gpt-nine\"}"},
                        mistake{R"({"modle": ["gpt2"]})", "unknown key \"modle\""}, mistake{R"({"batch.micro": [0]})", "batch.micro must be a whole number"}}) {
    CAPTURE(std::string(m.sweep));
    const auto said = refusal(std::string{R"({"sweep": )"} + m.sweep + ", " + rest);
    CAPTURE(said);
    CHECK(said.find(m.sentence) != std::string::npos);
  }
  std::string long_list = "[1";
  for (int i = 0; i < 40; ++i) long_list += ", 1";
  CHECK(refusal(R"({"sweep": {"batch.micro": )" + long_list + R"(], "batch.accumulation": )" + long_list + "]}, " + rest).find("more than 1000") != std::string::npos);
}

TEST_CASE("parts of other searches do not join") {
  const auto part = [](std::int64_t n, const char* model, std::optional<double> sure = {}) {
    return io::read_part{.part = n, .parts = 2, .top = 3, .confidence = sure, .searches = {{io::json_value{{"model", model}}, {}}}};
  };
  CHECK(io::join_plans({part(0, "a"), part(1, "a")}, 3).size() == 1);
  CHECK_THROWS_WITH_AS(io::join_plans({part(0, "a"), part(1, "b")}, 3), doctest::Contains("is another"), job_error);
  CHECK_THROWS_WITH_AS(io::join_plans({part(0, "a"), part(1, "a", 0.9)}, 3), doctest::Contains("divided otherwise"), job_error);
  auto two = part(1, "a");
  two.searches.push_back(two.searches.front());
  CHECK_THROWS_WITH_AS(io::join_plans({part(0, "a"), two}, 3), doctest::Contains("other sweeps"), job_error);
}

TEST_CASE("where nothing fits, the closest needs the least of what there is") {
  auto s = io::read_search(parse(R"({"model": "llama-3.1-70b", "hardware": {"gpu": "a100-sxm-40gb", "gpus_per_node": 8, "host_memory_gib": 512}, "framework": "deepspeed",
    "sharding": "auto", "recompute": "auto", "offload": "auto", "batch": {"sequence": 4096, "global": 32}})"));
  REQUIRE(plan(s).best.empty());
  const auto closest = closest_plan(s);
  REQUIRE(closest.has_value());
  CHECK(closest->outcome.seconds == share_needed(estimate(closest->job)));
  CHECK(closest->outcome.seconds > 1);
  int tried = 0;
  for (std::int64_t stage = 1; stage <= 3; ++stage)
    for (const auto optimizer : {place::on_gpu, place::on_cpu})
      for (const auto parameters : {place::on_gpu, place::on_cpu})
        for (const auto micro : {1, 2, 4}) {
          auto j = s.job;
          j.sharding = zero(stage);
          j.recompute = recompute::full;
          j.offload = {.optimizer = optimizer, .parameters = stage == 3 ? parameters : place::on_gpu};
          j.batch.micro = micro, j.batch.accumulation = 4 / micro;
          CHECK(share_needed(estimate(j)) >= closest->outcome.seconds);
          ++tried;
        }
  CHECK(tried == 36);
}

}  // namespace test_searches
