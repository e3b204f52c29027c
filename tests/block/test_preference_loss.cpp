// Distributed under the Boost Software License, Version 1.0.
// Losses that compare models or samples, against allocations that were counted while the trainers' loss code ran.
#include "points.hpp"

#include <headroom/block/loss.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/settle/settle.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <string>

namespace test_preference_loss {

using namespace headroom;

namespace {

/// What the counted programs are called here.
objective method_of(const std::string& program) {
  if (program == "trl-1.10-dpo") return {.kind = objective_kind::dpo, .code = method_code::trl};
  if (program == "trl-0.7-dpo") return {.kind = objective_kind::dpo, .code = method_code::trl_0_14};
  if (program == "ms-swift-4.6-dpo") return {.kind = objective_kind::dpo, .code = method_code::ms_swift};
  if (program == "ms-swift-3.5-dpo") return {.kind = objective_kind::dpo, .code = method_code::ms_swift_3_5};
  if (program == "ms-swift-3.5-dpo-sft") return {.kind = objective_kind::dpo, .code = method_code::ms_swift_3_5, .sft_weight = 100'000};
  if (program == "ms-swift-3.4-dpo") return {.kind = objective_kind::dpo, .code = method_code::ms_swift_3_4};
  if (program == "ms-swift-3.4-dpo-sft") return {.kind = objective_kind::dpo, .code = method_code::ms_swift_3_4, .sft_weight = 100'000};
  if (program == "ms-swift-3.11-gkd-jsd") return {.kind = objective_kind::distill, .code = method_code::ms_swift_3_11};
  if (program == "ms-swift-4.6-gkd-jsd") return {.kind = objective_kind::distill, .code = method_code::ms_swift};
  if (program == "ms-swift-4.6-gkd-forward") return {.kind = objective_kind::distill, .code = method_code::ms_swift, .divergence = divergence_kind::forward};
  if (program == "ms-swift-4.6-gkd-reverse") return {.kind = objective_kind::distill, .code = method_code::ms_swift, .divergence = divergence_kind::reverse};
  if (program == "llama-factory-dpo") return {.kind = objective_kind::dpo, .code = method_code::llama_factory};
  if (program == "openrlhf-0.11-dpo-without-flash-loss") return {.kind = objective_kind::dpo, .code = method_code::openrlhf};
  // Its scores were counted as they were made before 2025-02 (TRL 0.15), of all logits at once.
  if (program == "trl-1.10-orpo") return {.kind = objective_kind::orpo, .code = method_code::trl_0_14};
  if (program == "trl-1.10-gkd-jsd") return {.kind = objective_kind::distill, .code = method_code::trl};
  if (program == "trl-0.29-grpo") return {.kind = objective_kind::grpo, .code = method_code::trl_0_29};
  if (program == "trl-0.22-grpo") return {.kind = objective_kind::grpo, .code = method_code::trl_0_22};
  if (program == "trl-0.19-grpo") return {.kind = objective_kind::grpo, .code = method_code::trl_0_19};
  if (program == "trl-0.21-rloo") return {.kind = objective_kind::rloo, .code = method_code::trl_0_21};
  if (program == "trl-0.14-rloo") return {.kind = objective_kind::rloo, .code = method_code::trl_0_14};
  if (program == "trl-1.10-grpo") return {.kind = objective_kind::grpo, .code = method_code::trl};
  return {};
}

struct peaks {
  double forward, held, backward;
};

/// In bytes of vocabulary × tokens. `raw`: what the head makes, `read`: what the loss reads.
peaks walked(const objective& method, std::int64_t samples, std::int64_t sequence, std::int64_t vocabulary, std::int64_t raw, std::int64_t read, bool kernels = false, bool one_row = false, std::int64_t completion = 0) {
  const shape m{.layers = 1, .hidden = 8, .heads = 1, .ffn = 8, .vocab = vocabulary};
  scene s;
  s.model = &m;
  s.samples = samples;
  s.sequence = sequence;
  s.tokens = samples * sequence;
  s.vocabulary = vocabulary;
  s.width = raw;
  s.granule = 1;
  s.loss.logits = read == 4 ? formats::fp32 : formats::bf16;
  s.scoring = loss_of(method, kernels);
  s.scoring.one_row = one_row;
  s.scored = completion;
  s.compares = (traits_of(method.kind).reference && !generates(method.kind)) || s.scoring.in_pieces;
  program p(1);
  const auto x = p.input(s.tokens * 8, raw, true);
  const auto logits = p.make(s.tokens * vocabulary, raw, row::logits);
  p.step(x.bit(), logits.bit(), {.saves = x.bit()});
  auto y = ops::cast(p, logits, s.scoring.widens ? 4 : read);
  if (s.scoring.keeps_logits) p.hold_through_backward(y);
  y = ops::divided(p, s, y);
  p.set_output(s.scoring.in_pieces ? ops::divergence_in_pieces(p, s, y) : s.scoring.divergence ? ops::divergence_from_teacher(p, s, y) : ops::compared_scores(p, s, y, 4));  // counted with chunks of 4 tokens
  const auto f = walk_forward(p);
  const double v = static_cast<double>(s.tokens * vocabulary);
  const auto of = [&](bytes b) { return static_cast<double>(b.count()) / v; };
  return {of(f.peak.total), of(f.saved + f.held), of(walk_backward(p).peak.total)};  // for the graph, and for who names it
}

}  // namespace

TEST_CASE("as counted, to a hundredth of the logits' number") {
  std::ifstream in(HEADROOM_TEST_DATA "/loss_counts.jsonl");
  constexpr double close = 0.01;
  int seen = 0;
  for (std::string line; std::getline(in, line);) {
    const auto r = nlohmann::json::parse(line);
    const std::string name = r["program"], logits = r["logits"];
    const auto method = method_of(name);
    if (method.kind == objective_kind::sft) continue;
    CAPTURE(line);
    const auto got = walked(method, r["rows"], r["sequence"], r["vocab"], logits == "fp32" ? 4 : 2, logits == "bf16" ? 2 : 4, false, false, r.value("completion", std::int64_t{0}));
    CHECK(std::abs(got.forward - r["forward_peak"].get<double>()) < close);
    CHECK(std::abs(got.held - r["held_after_forward"].get<double>()) < close);
    CHECK(std::abs(got.backward - r["backward_peak"].get<double>()) < close);
    ++seen;
  }
  CHECK(seen == 121);
}

// TPO keeps logits and the log-probabilities of a third of them; its entropies are made of a copy beside both.
TEST_CASE("three answers, of which the third is learned as a text") {
  const auto got = walked({.kind = objective_kind::tpo, .code = method_code::trl}, 6, 64, 8192, 4, 4);
  CHECK(std::abs(got.held - (4 + 4.0 / 3 * 63 / 64)) < 0.01);
  CHECK(std::abs(got.forward - (4 + 4.0 / 3 * 63 / 64 + 4.0 * 63 / 64 + 3 * 4.0 * 4 / (6 * 64))) < 0.01);
}

// DPO with loss_type "sft" (TRL trl/trainer/dpo_trainer.py _compute_loss): once both models are scored, the wanted half's labelled logits are copied, of which
// log-probabilities are kept; entropies are made of a copy of all beside both models' logits.
TEST_CASE("pairs whose wanted answers are learned as texts, too") {
  const double read = 63.0 / 64, half = 2 * read;
  const auto got = walked({.kind = objective_kind::dpo, .code = method_code::trl, .sft_weight = 1'000'000}, 4, 64, 8192, 4, 4), plain = walked({.kind = objective_kind::dpo, .code = method_code::trl}, 4, 64, 8192, 4, 4);
  CHECK(std::abs(got.held - (4 + half)) < 0.01);
  CHECK(std::abs(got.held - plain.held - half) < 0.01);
  CHECK(std::abs(got.forward - (4 + 4 + half + 4 * read + 3 * 4.0 * 4 / (4 * 64))) < 0.01);
  CHECK(std::abs(got.forward - plain.forward - half) < 0.01);
  CHECK(got.backward > plain.backward + 1);
}

// ms-swift's GRPO with log_entropy: log-probabilities and exponentials of all tokens that are scored stand beside the logits, and beside the copy that a
// slice of several samples is made into; all of that is gone before backward.
TEST_CASE("entropies with a graph of their own") {
  const objective plain{.kind = objective_kind::grpo, .code = method_code::ms_swift}, logged{.kind = objective_kind::grpo, .code = method_code::ms_swift, .entropies = true};
  for (const std::int64_t width : {2, 4}) {
    const double w = static_cast<double>(width), read = 63.0 / 64, alive = width == 2 ? w + w * read : w;  // of bf16 logits log-probabilities are kept, fp32 ones are kept as they are
    const auto without = walked(plain, 4, 64, 8192, width, width), with = walked(logged, 4, 64, 8192, width, width), one = walked(logged, 1, 64, 8192, width, width);
    CHECK(std::abs(with.forward - (alive + 3 * w * read)) < 0.01);
    CHECK(std::abs(one.forward - (alive + 2 * w * read)) < 0.01);
    CHECK(with.held == without.held);
    CHECK(with.backward == without.backward);
  }
}

// OpenRLHF's fine-tuning: bf16 logits are made fp32, which flash-attn's kernel saves; in backward their gradient stands beside them
// (openrlhf/models/actor.py forward, openrlhf/models/utils.py log_probs_from_logits).
TEST_CASE("log-probabilities of labels by one kernel") {
  const auto got = walked({.kind = objective_kind::sft, .code = method_code::openrlhf}, 2, 192, 8192, 2, 2, true);
  CHECK(std::abs(got.forward - 6) < 0.01);
  CHECK(std::abs(got.held - 4) < 0.01);
  CHECK(std::abs(got.backward - 8) < 0.01);
}

// Samples without padding, one behind the other, are scored as one sample as long as all of them.
TEST_CASE("a row of several samples") {
  const objective method{.kind = objective_kind::dpo, .code = method_code::ms_swift};
  for (const std::int64_t width : {2, 4}) {
    const auto joined = walked(method, 4, 32, 1000, width, width, false, true), one = walked(method, 1, 128, 1000, width, width), apart = walked(method, 4, 32, 1000, width, width);
    CHECK(joined.forward == one.forward);
    CHECK(joined.held == one.held);
    CHECK(joined.backward == one.backward);
    CHECK(joined.backward > apart.backward + 0.4);  // temporaries of all samples, not of a fourth of them
  }
}

}  // namespace test_preference_loss
