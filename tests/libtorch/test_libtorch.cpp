// Distributed under the Boost Software License, Version 1.0.
// Small models are trained on LibTorch (Debian's, 1.13) and every byte of their tensors is counted: at each phase of two steps as many
// as headroom says. Shapes are drawn at random.
#include "jobs.hpp"
#include "predict.hpp"
#include "trainer.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

namespace test_libtorch {

using namespace headroom;

namespace {

std::string sentence(const job& j) {
  const auto& m = j.model;
  std::ostringstream s;
  s << (m.position == position_kind::rope ? "a Llama of " : "a GPT-2 of ") << m.layers << " layers, hidden " << m.hidden << ", " << m.heads << " heads, "
    << m.kv() << " of keys, ffn " << m.ffn << ", vocabulary " << m.vocab << (m.tied ? " (tied)" : "") << (m.attention_bias ? ", biased" : "")
    << (m.fused_qkv ? ", q, k and v in one" : "") << ", " << m.max_positions << " positions, in " << j.precision.label.text << ", "
    << j.batch.micro << " samples of " << j.batch.sequence << " tokens, " << j.batch.accumulation << " micro-batches a step";
  if (j.recompute.mode == recompute_mode::full) s << ", recomputed";
  if (j.adapter.active()) s << ", LoRA of rank " << j.adapter.rank << " in " << j.adapter.format.label.text;
  return s.str();
}

struct quantity {
  std::string what;
  std::int64_t value;
};

/// All that is compared, in the order of time.
std::vector<quantity> list(const trainer::counts& c) {
  std::vector<quantity> all{{"parameters", c.parameters}, {"bytes of the model when it is built", c.built}};
  for (std::size_t i = 0; i < c.steps.size(); ++i) {
    const auto& s = c.steps[i];
    const auto step = " in step " + std::to_string(i + 1);
    for (std::size_t k = 0; k < s.micro_batches.size(); ++k) {
      const auto& m = s.micro_batches[k];
      const auto at = ", micro-batch " + std::to_string(k + 1) + step;
      all.push_back({"bytes at most in forward" + at, m.forward_peak});
      all.push_back({"bytes at most in head and loss" + at, m.loss_peak});
      all.push_back({"bytes after forward" + at, m.after_forward});
      all.push_back({"bytes at most in backward" + at, m.backward_peak});
      all.push_back({"bytes after backward" + at, m.after_backward});
    }
    if (i > 0) all.push_back({"bytes at most in the update" + step, s.update_peak});  // in the first it makes its state on the way
    all.push_back({"bytes after the update" + step, s.after_update});
  }
  return all;
}

}  // namespace

TEST_CASE("every byte that LibTorch allocates is predicted") {
  constexpr int shapes = 200;
  int phases = 0, wrong = 0;
  trainer::jobs jobs(1);
  for (int i = 0; i < shapes; ++i) {
    const auto j = jobs.next();
    const auto counted = list(trainer::train(j, 2)), predicted = list(trainer::predict(j));
    REQUIRE(counted.size() == predicted.size());
    for (std::size_t k = 0; k < counted.size(); ++k) {
      ++phases;
      if (counted[k].value == predicted[k].value) continue;
      if (++wrong <= 20)
        FAIL_CHECK(sentence(j) << ": " << counted[k].value << ' ' << counted[k].what << " were counted, " << predicted[k].value << " predicted");
    }
  }
  CHECK(wrong == 0);
  MESSAGE(shapes << " models trained, " << phases << " numbers compared, " << wrong << " differ");
}

}  // namespace test_libtorch
