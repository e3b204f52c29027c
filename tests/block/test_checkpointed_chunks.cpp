// Distributed under the Boost Software License, Version 1.0.
// TRL's chunked_nll against allocations that were counted while its _chunk ran behind torch's checkpoints (PyTorch 1.13 on a CPU, profiler's memory events).
#include <headroom/block/loss.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/settle/settle.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <string>

namespace test_checkpointed_chunks {

using namespace headroom;

namespace {

struct peaks {
  double forward, held, backward;
};

/// In MiB. The last layer's output comes of a tensor that is gone when chunks begin.
peaks walked(const nlohmann::json& r) {
  const bool autocast = r["autocast"], trains = r["trains"], narrow = r["weights"] == "bf16";
  const shape m{.layers = 1, .hidden = r["hidden"], .heads = 1, .ffn = 8, .vocab = r["vocab"]};
  profile habits = frameworks::hf_trainer;
  habits.autograd.sums_out_of_place = true;  // as 1.13 does
  scene s;
  s.model = &m;
  s.habits = &habits;
  s.samples = r["rows"];
  s.sequence = r["sequence"].get<std::int64_t>() - 1;  // what is shifted away is no row
  s.tokens = s.samples * s.sequence;
  s.vocabulary = m.vocab;
  s.autocast = autocast;
  s.width = autocast || narrow ? 2 : 4;
  s.casts_weights = autocast && !narrow;
  s.weight_width = narrow ? 2 : 4;
  s.granule = 1;
  s.loss.chunk_tokens = r["chunk"];
  program p(1);
  const auto width = autocast || !narrow ? 4 : 2;
  const auto before = p.input(s.tokens * m.hidden, width, true), x = p.make(s.tokens * m.hidden, width);
  p.step(before.bit(), x.bit());
  p.set_output(ops::checkpointed_chunks(p, s, x, trains));
  const auto f = walk_forward(p);
  const auto of = [](bytes b) { return static_cast<double>(b.count()) / (1 << 20); };
  return {of(f.peak.total), of(f.saved), of(walk_backward(p).peak.total)};
}

}  // namespace

TEST_CASE("head and loss of 256 tokens at a time, as counted") {
  std::ifstream in(HEADROOM_TEST_DATA "/chunk_counts.jsonl");
  int seen = 0;
  for (std::string line; std::getline(in, line);) {
    const auto r = nlohmann::json::parse(line);
    CAPTURE(line);
    const auto got = walked(r);
    // Besides: labels and what sorts them; the gradient of a chunk's rows, 2 MiB of 2,048 features in fp32.
    CHECK(std::abs(got.forward - r["forward_peak_mib"].get<double>()) < 0.3);
    CHECK(std::abs(got.held - r["held_mib"].get<double>()) < 0.1);
    CHECK(std::abs(got.backward - r["backward_peak_mib"].get<double>()) < 2.1);
    ++seen;
  }
  CHECK(seen == 16);
}

}  // namespace test_checkpointed_chunks
