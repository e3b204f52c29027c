// Distributed under the Boost Software License, Version 1.0.
// Megatron-DeepSpeed: what BLOOM's authors saw in use on the GPUs of the first stage while they chose its layout, in whole GB, and what ran out
// of memory. Nothing is fitted but the range, to every second of them.
#include <headroom/bounds.hpp>
#include <headroom/fits.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace test_bloom {

using namespace headroom;

namespace {

struct run {
  job what;
  double gib{};  ///< 0: out of memory
};

job job_of(const io::json_value& r) {
  const auto number = [&](const char* key) { return r.at(key).get<std::int64_t>(); };
  shape m{.label = "bloom", .layers = number("layers"), .hidden = number("hidden"), .heads = number("heads"), .ffn = 4 * number("hidden")};
  m.mlp = mlp_kind::plain;
  m.norm = norm_kind::layernorm;
  m.position = position_kind::alibi;
  m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = m.embedding_norm = m.tied = true;
  m.vocab = 250'880;
  job j{.model = m, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::megatron_deepspeed_2022, .sharding = zero(r["format"] == "bf16" ? 1 : number("stage")), .recompute = recompute::full};
  auto& p = j.parallel;
  p.tensor = number("tensor"), p.pipeline = number("pipeline"), p.data = number("data");
  if (r.contains("ends")) p.first_stage_layers = p.last_stage_layers = number("ends");
  const auto gpus = p.tensor * p.pipeline * p.data;
  j.hardware.gpus_per_node = gpus < 8 ? gpus : 8;
  j.hardware.nodes = gpus / j.hardware.gpus_per_node;
  j.batch.micro = number("micro");
  j.batch.sequence = 2048;
  j.batch.accumulation = number("batch") / p.data / j.batch.micro;
  const probability tenth{100'000};
  j.dropout = {.hidden = tenth, .attention = tenth, .embedding = tenth};
  if (r["format"] == "bf16") j.precision = {"bf16", formats::bf16, formats::bf16, formats::fp32, formats::fp32, formats::fp32, formats::fp32};
  return j;
}
std::vector<run> all_runs() {
  std::vector<run> all;
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/bloom_memory.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto r = io::json_value::parse(line);
    all.push_back({job_of(r), r.value("gib", 0.0)});
  }
  return all;
}
double gib_of(bytes b) { return static_cast<double>(b.count()) / 1073741824.0; }

}  // namespace

// Predictions are low in pipelines: by 15 % in the median. One figure of the table, 65 GB beside 56 for twice the micro-batch, no range holds.
TEST_CASE("what was in use on the first stage's GPUs lies in its range") {
  std::vector<double> errors;
  int held = 0, inside = 0, at = 0;
  for (const auto& [what, gib] : all_runs()) {
    const bool calibrates = at++ % 2 == 0;
    if (gib == 0.0) continue;
    const auto r = replay(what);
    const auto& first = r.ranks.front();
    const auto range = bounds(r, first, reading::device, confidence{0.95});
    errors.push_back(std::abs(gib_of(first.device) / gib - 1.0));
    held += calibrates ? 0 : 1;
    inside += !calibrates && gib_of(range.low) <= gib && gib <= gib_of(range.high) ? 1 : 0;
  }
  std::sort(errors.begin(), errors.end());
  CHECK(held == 31);
  CHECK(inside >= 30);
  CHECK(errors[errors.size() / 2] > 0.12);
  CHECK(errors[errors.size() / 2] < 0.17);
}

TEST_CASE("what ran out of memory does not fit for sure") {
  int seen = 0;
  for (const auto& [what, gib] : all_runs()) {
    if (gib != 0.0) continue;
    ++seen;
    CHECK_FALSE(fits(replay(what), 0.95));
  }
  CHECK(seen == 6);
}

// One GPU alone, without a pipeline: 54, 67 and 80 GB.
TEST_CASE("a node of tensor-parallel ranks") {
  for (const auto& [what, gib] : all_runs()) {
    if (what.parallel.pipeline > 1 || gib == 0.0) continue;
    CHECK(gib_of(replay(what).ranks.front().device) == doctest::Approx(gib).epsilon(0.032));
  }
}

// 181B on TP 8, PP 12, DP 4 with ZeRO's stages 0 and 1 (72 and 37 GB). What they differ by is their optimizers' arithmetic: with n parameters
// on the first stage, 12 n of states against 3 n, and 8 n beside 2 n of gradients in an update against 2 n.
TEST_CASE("ZeRO's first stage against none") {
  const auto runs = all_runs();
  const auto none = std::find_if(runs.begin(), runs.end(), [](const run& r) { return r.what.sharding.stage == 0; });
  REQUIRE(none != runs.end());
  auto with = none->what;
  with.sharding.stage = 1;
  const std::int64_t h = 14336, layer = (12 * h * h + 7 * h) / 8 + 6 * h;  // biases of row-parallel layers and norms are whole
  const auto n = 6 * layer + 250'880 * h / 8;  // the norm behind the embedding counts on the last stage
  const auto a = estimate(none->what), b = estimate(with);
  const auto& first = a.ranks.front();
  const auto& second = b.ranks.front();
  CHECK(first[phase::step].count() - second[phase::step].count() == (12 + 8) * n - 3 * n);
  CHECK(first[phase::forward].count() - second[phase::forward].count() == 9 * n);
}

}  // namespace test_bloom
