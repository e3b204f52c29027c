// Distributed under the Boost Software License, Version 1.0.
// A recorded step obeys the laws of any step: nothing goes that was not made, nothing is left that was not there before, and the tallest
// moment is the one that the replay reports. The trace of it says the same to whoever reads it without this library.
#include <headroom/headroom.hpp>
#include <headroom/io/report/timeline_svg.hpp>
#include <headroom/io/report_trace.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <map>
#include <sstream>

namespace test_recording {

using namespace headroom;

namespace {

/// Three layers each, so that a step is short.
std::vector<job> jobs() {
  job plain{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::libtorch, .batch = {.micro = 1, .sequence = 512}};
  plain.model.layers = 3;
  auto adapted = plain;
  adapted.framework = frameworks::litgpt_202410;
  adapted.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}};
  auto units = plain;
  units.framework = frameworks::torchtitan_202504;
  units.hardware.gpus_per_node = 8;
  units.sharding = fsdp2();
  auto flat = units;
  flat.framework = frameworks::hf_trainer;
  flat.sharding = fsdp1();
  flat.recompute = recompute::full;
  auto stages = plain;
  stages.framework = frameworks::megatron;
  stages.model.layers = 4;
  stages.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 4};
  stages.parallel = {.data = 1, .tensor = 2, .pipeline = 2};
  stages.batch = {.micro = 1, .sequence = 512, .accumulation = 4};
  return {plain, adapted, units, flat, stages};
}

/// What is alive, tensor by tensor.
std::map<std::int64_t, std::int64_t> alive_after(const recorded_step& step, bool first_load_alone) {
  std::map<std::int64_t, std::int64_t> alive;
  for (const auto& e : step.events) {
    if (e.what == step_event::kind::enter && e.at != phase::load && first_load_alone) break;
    if (e.what == step_event::kind::make) CHECK(alive.emplace(e.tensor, e.size.count()).second);
    if (e.what == step_event::kind::free) {
      const auto found = alive.find(e.tensor);
      REQUIRE(found != alive.end());
      CHECK(found->second == e.size.count());
      alive.erase(found);
    }
  }
  return alive;
}

std::int64_t sum(const std::map<std::int64_t, std::int64_t>& tensors) {
  std::int64_t all = 0;
  for (const auto& [number, size] : tensors) all += size;
  return all;
}

}  // namespace

TEST_CASE("a step leaves what it found") {
  for (const auto& j : jobs()) {
    CAPTURE(std::string{j.framework.label.view()});
    for (const auto& step : record(j)) CHECK(sum(alive_after(step, true)) == sum(alive_after(step, false)));
  }
}

TEST_CASE("the tallest moment of a recording is the replay's peak, by row") {
  for (const auto& j : jobs()) {
    CAPTURE(std::string{j.framework.label.view()});
    const auto r = replay(j);
    const auto steps = record(j);
    REQUIRE(steps.size() == static_cast<std::size_t>(r.size));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& rank = r.ranks[i];
      const auto seen = tallest_moment(steps[i]);
      // Blocks are rounded, and ends of blocks count as temporaries: neither is a tensor.
      CHECK(seen.total() <= rank.allocated);
      CHECK(static_cast<double>((rank.allocated - seen.total()).count()) < 0.002 * static_cast<double>(rank.allocated.count()));
      for (const auto of : {row::model_parameters, row::master_parameters, row::optimizer_state, row::adapters, row::workspace}) CHECK(seen[of] == rank.at_peak[of]);
    }
  }
}

TEST_CASE("phases come in their order, and layers in theirs") {
  const auto step = record(jobs().front()).front();
  std::vector<std::pair<phase, std::int64_t>> seen;
  for (const auto& e : step.events)
    if (e.what == step_event::kind::enter) seen.emplace_back(e.at, e.layer);
  const std::vector<std::pair<phase, std::int64_t>> expected{
      {phase::load, -1},    {phase::forward, -1}, {phase::forward, 0},  {phase::forward, 1},  {phase::forward, 2},   {phase::loss_forward, -1},
      {phase::backward, -1}, {phase::backward, 2}, {phase::backward, 1}, {phase::backward, 0}, {phase::backward, -1}, {phase::reduce, -1}, {phase::step, -1}};
  CHECK(seen == expected);
}

TEST_CASE("a trace is what its reader expects: slices nest, lives end, counters add up") {
  for (const auto& j : jobs()) {
    CAPTURE(std::string{j.framework.label.view()});
    std::ostringstream out;
    const auto steps = record(j);
    io::write_trace(out, steps, j);
    const auto document = nlohmann::json::parse(out.str());
    std::map<std::int64_t, int> depth;                                       // of slices, by process
    std::map<std::int64_t, std::map<std::string, std::int64_t>> live;        // by process and row, added up from lives
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> lives;     // by process and number
    for (std::size_t i = 0; i < steps.size(); ++i)
      for (int k = 0; k < row_count; ++k) live[static_cast<std::int64_t>(i) + 1][std::string{text(static_cast<row>(k))}] = steps[i].beside[static_cast<row>(k)].count();
    std::int64_t counters = 0;
    for (const auto& e : document.at("traceEvents")) {
      const auto kind = e.at("ph").get<std::string>();
      const auto pid = e.at("pid").get<std::int64_t>();
      if (kind == "B") ++depth[pid];
      if (kind == "E") CHECK(--depth[pid] >= 0);
      if (kind == "b" || kind == "e") {
        const auto size = e.at("args").at("bytes").get<std::int64_t>();
        live[pid][e.at("cat").get<std::string>()] += kind == "b" ? size : -size;
        lives[{pid, e.at("id").get<std::int64_t>()}] += kind == "b" ? 1 : -1;
      }
      if (kind == "C") {
        ++counters;
        for (const auto& [name, bytes] : e.at("args").items()) CHECK(bytes.get<std::int64_t>() == live[pid][name]);
      }
    }
    CHECK(counters > 100);
    for (const auto& [pid, open] : depth) CHECK(open == 0);
    for (const auto& [tensor, open] : lives) CHECK(open == 0);
  }
}

TEST_CASE("the picture over time draws every row that is ever alive") {
  const auto j = jobs().front();
  const auto picture = io::to_svg(record(j), replay(j));
  for (const auto* row : {"parameters", "gradients", "optimizer state", "activations", "logits", "temporaries"}) CHECK(picture.find("<title>" + std::string{row}) != std::string::npos);
  for (const auto* phase : {">forward<", ">backward<"}) CHECK(picture.find(phase) != std::string::npos);
}

TEST_CASE("a recording says on which stream a tensor is made: FSDP2's gathered units on the one that gathers") {
  const auto made_on = [](const job& j, stream on) {
    const auto steps = record(j);
    bytes all{0};
    for (const auto& e : steps.front().events)
      if (e.what == step_event::kind::make && e.on == on) all += e.size;
    return all;
  };
  const auto all = jobs();
  CHECK(made_on(all[0], stream::gather) == bytes{0});
  CHECK(made_on(all[2], stream::gather) > bytes{0});
}

TEST_CASE("what is not replayed is not recorded") {
  job j{.model = models::whisper_small, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.micro = 1, .sequence = 64}};
  CHECK_NOTHROW(record(j));
  j.hardware.gpus_per_node = 8;
  j.sharding.kind = sharding_kind::fsdp2;
  CHECK_THROWS_AS(record(j), job_error);
}

}  // namespace test_recording
