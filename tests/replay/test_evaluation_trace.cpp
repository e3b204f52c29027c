// Distributed under the Boost Software License, Version 1.0.
// Evaluations between steps, block by block: transformers' Trainer on an H100 (tests/accuracy/trainer_measured.jsonl), and what joining logits leaves cached.
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace test_evaluation_trace {

using namespace headroom;
using nlohmann::json;

namespace {

/// The job of a record, and what it measured.
struct measured {
  json job;
  std::int64_t value{};
};
measured record_of(const std::string& id) {
  std::ifstream in{HEADROOM_TEST_DATA "/../accuracy/trainer_measured.jsonl"};
  for (std::string line; std::getline(in, line);)
    if (const auto row = json::parse(line); row.at("id") == id) return {row.at("job"), row.at("value").get<std::int64_t>()};
  FAIL(id);
  return {};
}
rank_report replayed(const json& file) { return replay(io::read_job(io::parse_json(file.dump(), "job"), io::no_files)).ranks[0]; }
double mib_of(bytes b) { return static_cast<double>(b.count()) / (1 << 20); }

TEST_CASE("an evaluation of larger batches reserves what was measured") {
  // 4,060 and 3,368 MiB; the steps alone are 3,158 and 2,812, and an evaluation that finds all it needs in the cache would leave the second there.
  for (const auto* id : {"trainer-llama-evaluation-loss-only-reserved", "trainer-llama-evaluation-reserved"}) {
    const auto m = record_of(id);
    const auto r = replayed(m.job);
    CAPTURE(id);
    CHECK(static_cast<double>(r.reserved.count()) / static_cast<double>(m.value) == doctest::Approx(1.0).epsilon(0.014));
    auto without = m.job;
    without.erase("evaluation");
    CHECK(static_cast<double>(replayed(without).reserved.count()) < 0.84 * static_cast<double>(m.value));
  }
}

TEST_CASE("what an evaluation needs it takes from the cache where the steps have left enough") {
  auto job = record_of("trainer-llama-evaluation-reserved").job;
  job.erase("evaluation");
  const auto alone = replayed(job);
  job["evaluation"] = {{"batch", 1}, {"loss_only", true}};
  CHECK(replayed(job).reserved == alone.reserved);
  CHECK(replayed(job).allocated == alone.allocated);
}

TEST_CASE("each batch that is joined to those before leaves their block in the cache") {
  // 4 x 512 tokens of 32,768 words in bf16: 128 MiB a batch. Of 16 batches blocks of 1 to 16 have been made, 17,408 MiB; the logits of a forward find room in the smallest, so that at most one fewer is new.
  auto job = record_of("trainer-llama-evaluation-reserved").job;
  job["evaluation"] = {{"batch", 4}, {"loss_only", true}};
  const auto loss_only = replayed(job);
  job["evaluation"] = {{"batch", 4}, {"samples", 64}};
  const auto kept = replayed(job);
  CHECK(mib_of(kept.reserved - loss_only.reserved) <= 17408 - 128);
  CHECK(mib_of(kept.reserved - loss_only.reserved) >= 17408 - 128 - 256);
  // Brought to the host after every batch, none is joined to another on the GPU.
  job["evaluation"]["accumulation_steps"] = 1;
  CHECK(mib_of(replayed(job).reserved - loss_only.reserved) <= 128);
}

TEST_CASE("an evaluation that generates, and one beside gathered parameters, is as its walk has it") {
  auto job = record_of("trainer-llama-evaluation-reserved").job;
  auto without = job;
  without.erase("evaluation");
  job["evaluation"]["generate"] = 64;
  CHECK(replayed(job).reserved == max(replayed(without).reserved, round_up(replayed(job).allocated, 2 * mib)));
}

}  // namespace

}  // namespace test_evaluation_trace
