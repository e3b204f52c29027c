// Distributed under the Boost Software License, Version 1.0.
// A model spread over the GPUs of one process (device_map="auto"): where accelerate's own functions put the layers of modules of these sizes, run on torch's
// meta device: utils/modeling.py get_balanced_memory and infer_auto_device_map at 0dec477985 (2023-07-31), with whole decoder layers, in bf16.
#include <headroom/full_report.hpp>
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace test_spread_layers {

using namespace headroom;

namespace {

struct spread {
  std::int64_t layers, hidden, kv, ffn, vocab;
  std::vector<std::int64_t> on;
};
job spread_over(const spread& s) {
  const auto gpus = static_cast<std::int64_t>(s.on.size());
  return {.model = {.layers = s.layers, .hidden = s.hidden, .heads = s.hidden / 128, .kv_heads = s.kv / 128, .ffn = s.ffn, .vocab = s.vocab}, .hardware = {.gpu = gpus::h200_sxm_141gb, .gpus_per_node = gpus},
          .framework = frameworks::hf_trainer, .precision = precisions::bf16, .optimizer = optimizers::sgd, .parallel = {.pipeline = gpus, .schedule = schedule::naive}, .batch = {.micro = 1, .sequence = 1024},
          .recompute = recompute::full, .attention = attention::flash};
}
const spread four{32, 4096, 1024, 14336, 128256, {5, 10, 10, 7}}, eight{32, 4096, 1024, 14336, 128256, {1, 5, 5, 5, 5, 5, 5, 1}};

}  // namespace

TEST_CASE("layers lie where accelerate puts them") {
  const spread all[] = {{8, 512, 512, 2048, 4096, {2, 3, 3, 0}}, {32, 4096, 1024, 14336, 128256, {14, 18}}, four, eight, {80, 8192, 1024, 28672, 128256, {9, 11, 11, 11, 11, 11, 11, 5}},
                        {32, 4096, 4096, 11008, 32000, {10, 12, 10}}, {28, 3584, 512, 18944, 152064, {12, 16}}, {16, 2048, 512, 8192, 32000, {3, 5, 5, 3}}};
  for (const auto& s : all) {
    CAPTURE(s.layers);
    CAPTURE(s.on.size());
    const auto r = estimate_all(spread_over(s));
    const std::int64_t layer = 2 * s.hidden * s.hidden + 2 * s.hidden * s.kv + 3 * s.hidden * s.ffn + 2 * s.hidden, table = s.vocab * s.hidden;
    REQUIRE(r.ranks.size() == s.on.size());
    for (std::size_t i = 0; i < s.on.size(); ++i) {
      const auto here = s.on[i] * layer + (i == 0 ? table : 0) + (i + 1 == s.on.size() ? table + s.hidden : 0);
      CHECK(r.ranks[i].at_phase[static_cast<std::size_t>(phase::load)][row::model_parameters].count() == 2 * here);
    }
  }
}

TEST_CASE("each GPU keeps the inputs of its own layers, and none of a pipeline's other micro-batches") {
  const auto kept = [](spread s, std::int64_t accumulation) {
    auto j = spread_over(s);
    j.batch.accumulation = accumulation;
    return estimate_all(j).ranks[1].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count();
  };
  const std::int64_t x = 2 * 1024 * 4096;
  CHECK(kept(four, 1) - kept(eight, 1) == (10 - 5) * x);
  CHECK(kept(four, 8) == kept(four, 1));
}

/// A frozen tower runs where the embedding lies: what the other GPUs hold is what they hold beside samples of text.
TEST_CASE("a tower before layers that are spread over GPUs") {
  job j{.model = *models::find("qwen2.5-vl-7b"), .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 2}, .framework = frameworks::hf_trainer, .parallel = {.pipeline = 2, .schedule = schedule::naive},
        .batch = {.micro = 2, .sequence = 1024, .images = {.width = 448, .height = 448}}, .recompute = recompute::full, .attention = attention::flash};
  j.precision = {.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32};
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::fp32};
  j.model.vision.ffn = 100'000;  // so wide that nothing behind it is as tall
  auto text = j;
  text.batch.images = {.none = true};
  auto alone = j;
  alone.parallel = {}, alone.hardware.gpus_per_node = 1;
  const auto seen = estimate_all(j), read = estimate_all(text), one = estimate_all(alone);
  REQUIRE(seen.ranks.size() == 2);
  CHECK(seen.ranks[1].at_phase == read.ranks[1].at_phase);
  const auto over = [](const rank_report& r, phase p) { return r[p].count() - r[phase::save].count(); };
  for (const auto p : {phase::load, phase::save}) CHECK(seen.ranks[0][p] == read.ranks[0][p]);  // its weights are there either way
  CHECK(over(seen.ranks[0], phase::forward) == over(one.ranks[0], phase::forward));
  CHECK(over(seen.ranks[0], phase::forward) > over(read.ranks[0], phase::forward));
  // What does not stay frozen, and what enters deeper layers, is something else.
  auto trains = j;
  trains.adapter.targets |= module_set{module::vision};
  CHECK(std::string{objection_to(trains).in_words().what()}.find("activations of vision towers are not modelled for this framework or layout") != std::string::npos);
  auto deep = j;
  deep.model = *models::find("qwen3-vl-4b");
  CHECK(std::string{objection_to(deep).in_words().what()}.find("activations of vision towers") != std::string::npos);
}

/// accelerate brings what the model returns back to the first device (big_modeling.py dispatch_model): of a tied head the logits arise there, and a score is nothing.
TEST_CASE("pairs over the GPUs of one process: the loss lies with the head") {
  auto j = spread_over({8, 512, 512, 2048, 4096, {2, 3, 3, 0}});
  j.model.tied = true;
  j.hardware.gpus_per_node = j.parallel.pipeline = 2;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  j.objective = {.kind = objective_kind::dpo, .code = method_code::trl};
  auto whole = j;
  whole.hardware.gpus_per_node = whole.parallel.pipeline = 1;
  whole.parallel.schedule = {};
  const auto spread = estimate_all(j), one = estimate_all(whole);
  REQUIRE(spread.ranks.size() == 2);
  const auto at = [](const rank_report& r, phase p) { return r.at_phase[static_cast<std::size_t>(p)]; };
  CHECK(at(spread.ranks[0], phase::loss_forward)[row::logits] == at(one.ranks[0], phase::loss_forward)[row::logits]);
  CHECK(at(spread.ranks[1], phase::loss_forward)[row::logits] == bytes{0});
  CHECK(spread.ranks[0].has(phase::reference));
  CHECK_FALSE(spread.ranks[1].has(phase::reference));
  CHECK(at(one.ranks[0], phase::loss_forward)[row::logits].count() >= 8 * 2 * 1023 * 4096);  // of two sequences, by TRL's 8 bytes for each of V × R
  CHECK(at(spread.ranks[0], phase::load)[row::model_parameters] + at(spread.ranks[1], phase::load)[row::model_parameters] == at(one.ranks[0], phase::load)[row::model_parameters]);
  // A copy for a reference, a head of its own, and stages that run side by side are something else.
  const auto why = [&](auto change) {
    auto k = j;
    change(k);
    return std::string{objection_to(k).in_words().what()};
  };
  CHECK(why([](job& k) { k.objective.reference = reference_way::copy; }).find("with weights of its own") != std::string::npos);
  CHECK(why([](job& k) { k.model.tied = false; }).find("model.tied") != std::string::npos);
  CHECK(why([](job& k) { k.parallel.schedule = schedule::one_forward_one_backward; }).find("in stages over GPUs") != std::string::npos);
}

TEST_CASE("a reward model over two GPUs, whose tower never runs: the tower lies in front, the score behind") {
  auto j = spread_over({24, 2048, 512, 6144, 248320, {2, 3}});
  j.model = io::read_job(io::parse_json(R"({"model": "qwen3.5-2b", "hardware": {"gpu": "h200-sxm-141gb", "gpus_per_node": 1}, "framework": "hf-trainer", "batch": {"micro": 1, "sequence": 8, "images": {"none": true}}})", "job")).model;
  j.batch.images.none = true;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  j.objective = {.kind = objective_kind::reward, .code = method_code::trl};
  auto whole = j;
  whole.hardware.gpus_per_node = whole.parallel.pipeline = 1;
  whole.parallel.schedule = {};
  const auto spread = estimate_all(j), one = estimate_all(whole);
  const auto here = [](const rank_report& r) { return r.at_phase[static_cast<std::size_t>(phase::load)][row::model_parameters]; };
  REQUIRE(spread.ranks.size() == 2);
  CHECK(here(spread.ranks[0]) + here(spread.ranks[1]) == here(one.ranks[0]));
  // All parameters of the model and one score of 2,048, in bf16; its embedding, tied to a head that is not made, is in front.
  CHECK(here(one.ranks[0]).count() >= 2 * (count(j.model).total.count() + 2048));
  CHECK(here(one.ranks[0]).count() < 2 * (count(j.model).total.count() + 2048) + 65'536);  // some vectors stay in fp32
  CHECK(here(spread.ranks[0]).count() > 2 * 248'320LL * 2048);
  for (const auto& r : spread.ranks)
    for (const auto p : {phase::forward, phase::loss_forward, phase::backward}) CHECK(r.at_phase[static_cast<std::size_t>(p)][row::logits] == bytes{0});
}

}  // namespace test_spread_layers
