// Distributed under the Boost Software License, Version 1.0.
// The `measured` key of a job file, from its text to the corrected report; and samples' lengths in files of programs over the Trainer.
#include <headroom/cost/bounds.hpp>
#include <headroom/decide.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/io/admission.hpp>
#include <headroom/io/cost_text.hpp>
#include <headroom/io/export.hpp>
#include <headroom/io/measured_job.hpp>
#include <headroom/io/plan_text.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/sweep_reader.hpp>
#include <headroom/plan/judge.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_measured_job {

using namespace headroom;

namespace {

constexpr const char* plain = R"({"model": "qwen2.5-0.5b", "hardware": {"gpu": "rtx-4090"}, "framework": "hf-trainer", "precision": "bf16", "batch": {"micro": 2, "sequence": 1024}})";

io::json_value document(const std::string& measured, const char* text = plain) {
  auto v = io::parse_json(text, "job");
  v["measured"] = io::parse_json(measured, "measured");
  return v;
}
job corrected(const std::string& measured) { return io::read_measured_job(document(measured), {.base = io::no_files}); }
std::string refused(const io::json_value& v) {
  try {
    (void)io::read_measured_job(v, {.base = io::no_files});
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}
bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a measured run in a job file: the report says what was measured, and what it moved") {
  const auto before = replay(io::read_job(io::parse_json(plain, "job"), io::no_files));
  const auto reserved = before.ranks[0].reserved + 300 * mib;
  const auto j = corrected(R"({"reserved": ")" + std::to_string(reserved.count() / 1048576) + R"( MiB", "step": 0.5})");
  const auto r = replay(j);
  CHECK(r.ranks[0].reserved == reserved);
  CHECK(bounds(r, r.ranks[0], reading::reserved) == byte_range{reserved, reserved});
  CHECK(cost(j).step.value == doctest::Approx(0.5).epsilon(1e-9));
  const auto text = io::to_text(r, j);
  CHECK(says(text, "Corrected by the measured run"));
  CHECK(says(text, "reserved +0.29 GiB"));
  CHECK(says(io::to_text(cost(j)), "Corrected by the measured run"));
  const auto json = io::to_json(r);
  CHECK(json["ranks"][0]["measured"]["moved"]["reserved"] == 300 * 1048576);
  CHECK(json["ranks"][0]["measured"]["left"]["reserved"]["above"] == 0);
  CHECK(json["ranks"][0]["reserved"] == reserved.count());
  CHECK(!io::to_json(before)["ranks"][0].contains("measured"));
}

TEST_CASE("a job that is written carries its measured run along") {
  const auto j = corrected(R"({"allocated": "9.5 GiB", "step": 0.5})");
  const auto written = io::job_to_json(j);
  CHECK(written["measured"]["allocated"] == 10'200'547'328);
  CHECK(written["measured"]["predicted"]["errors"].contains("tensors"));
  CHECK(io::read_job(written, io::no_files) == j);
  CHECK(io::read_measured_job(written, {.base = io::no_files}) == j);
  CHECK(replay(j).ranks[0].allocated.count() == 10'200'547'328);
  CHECK(io::exported(j, io::export_target::hf_trainer) == io::exported(io::read_job(io::parse_json(plain, "job"), io::no_files), io::export_target::hf_trainer));
}

TEST_CASE("the job that was run differs in what `of` says") {
  const auto other = io::read_job(io::parse_json(R"({"model": "qwen2.5-0.5b", "hardware": {"gpu": "rtx-4090"}, "framework": "hf-trainer", "precision": "bf16", "batch": {"micro": 1, "sequence": 1024}})", "job"), io::no_files);
  const auto seen = replay(other);
  const auto value = document(R"({"allocated": )" + std::to_string((seen.ranks[0].allocated + 20 * mib).count()) + R"(, "of": {"batch": {"micro": 1}}})");
  const auto j = io::read_measured_job(value, {.base = io::no_files});
  CHECK(j.batch.micro == 2);
  CHECK(j.measured.predicted[0] == seen.ranks[0].allocated);
  const auto before = replay(io::read_job(io::parse_json(plain, "job"), io::no_files)), after = replay(j);
  CHECK(after.ranks[0].allocated > before.ranks[0].allocated + 5 * mib);
  CHECK(after.ranks[0].allocated < before.ranks[0].allocated + 40 * mib);
  CHECK(bounds(after, after.ranks[0], reading::allocated).high - bounds(after, after.ranks[0], reading::allocated).low < bounds(before, before.ranks[0], reading::allocated).high - bounds(before, before.ranks[0], reading::allocated).low);
}

TEST_CASE("figures that cannot be are refused in a sentence") {
  CHECK(says(refused(document(R"({"allocated": 1000000})")), "less than the weights, gradients and optimizer states"));
  CHECK(says(refused(document(R"({"device": "100 GiB"})")), "more than the GPU of the job has"));
  CHECK(says(refused(document(R"({"allocated": "9 GiB", "reserved": "8 GiB"})")), "measured.reserved is less than"));
  CHECK(says(refused(document(R"({})")), "says nothing"));
  CHECK(says(refused(document(R"({"allocated": "9 parsecs"})")), "measured.allocated"));
  CHECK(says(refused(document(R"({"allocated": 9.5})")), "amount with its unit"));
  CHECK(says(refused(document(R"({"alocated": 9})")), "did you mean \"allocated\"?"));
  CHECK(says(refused(document(R"({"step": 0})")), "measured.step"));
  CHECK(says(refused(document(R"({"step": 1, "of": {"batch": {"micro": "auto"}}})")), "batch.micro is \"auto\""));
  CHECK(says(refused(document(R"({"step": 1, "of": {"batch": {"mikro": 1}}})")), "the job that was measured (measured.of)"));
  CHECK(says(refused(document(R"({"step": 1, "of": {"measured": {}}})")), "one run corrects a job"));
  CHECK(says(refused(document(R"({"step": 1, "of": 3})")), "measured.of"));
  CHECK(says(refused(document(R"({"allocated": 9, "predicted": {"allocated": 9, "errors": {"tensor": 1}}})")), "tensors"));
  CHECK(says(refused(document(R"({"allocated": 9, "predicted": {"fingerprint": "12"}})")), "sixteen digits"));
  CHECK(says(refused(document(R"({"allocated": 9, "predicted": {"allocated": 9}, "of": {"batch": {"micro": 1}}})")), "measured.of is the job that was run, of which measured.predicted is said already; leave one out"));
  CHECK(says(refused(document(R"({"rank": "last"})")), "says nothing: one of allocated"));
  std::string why;
  try {
    (void)io::read_job(document(R"({"allocated": "9 GiB"})"), io::no_files);
  } catch (const job_error& e) {
    why = e.what();
  }
  CHECK(says(why, "lacks what is predicted of the run"));
}

TEST_CASE("amounts in words") {
  CHECK(io::bytes_in_words("61.5 GiB") == bytes{66'035'122'176});
  CHECK(io::bytes_in_words("61.5GiB") == bytes{66'035'122'176});
  CHECK(io::bytes_in_words("61.5 GB") == bytes{61'500'000'000});
  CHECK(io::bytes_in_words("17") == bytes{17});
  CHECK(io::bytes_in_words("2048 KiB") == bytes{2'097'152});
  for (const auto* wrong : {"", "GiB", "-1 GiB", "1 gib", "1e9", "1 GiB or so", "9999999999 TiB"}) CHECK(!io::bytes_in_words(wrong));
}

TEST_CASE("every answer has the same figure of the job that was measured, and of each other job of its search") {
  const char* eight = R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "sharding": "zero3", "precision": "bf16-mixed",
    "batch": {"micro": 1, "accumulation": 8, "sequence": 8192}, "recompute": "full"})";
  const auto ran = document(R"({"allocated": "24 GiB", "reserved": "26 GiB"})", eight);
  const auto j = io::read_measured_job(ran, {.base = io::no_files});
  // Without the run: a replay reserves more than an estimate knows of.
  const auto before = io::read_job(io::parse_json(eight, "job"), io::no_files);
  const auto walked = estimate_all(before), replayed = replay(before);
  REQUIRE(replayed.ranks[0].reserved > walked.ranks[0].reserved + gib);
  CHECK(j.measured.predicted == std::array{replayed.ranks[0].allocated, replayed.ranks[0].active, replayed.ranks[0].reserved, replayed.ranks[0].device});
  CHECK(j.measured.estimated == std::array{walked.ranks[0].allocated, walked.ranks[0].active, walked.ranks[0].reserved, walked.ranks[0].device});
  // `device` is what was reserved and what lies outside the allocator.
  const auto device = 26 * gib + replayed.ranks[0].outside.total();
  const report by_value = estimate(j);
  for (const auto& r : {replay(j), estimate_all(j), decide(j), decide(j, confidence{0.99}), full_report(by_value)}) {
    CHECK(r.ranks[0].allocated == 24 * gib);
    CHECK(r.ranks[0].active == replay(j).ranks[0].active);
    CHECK(r.ranks[0].reserved == 26 * gib);
    CHECK(r.ranks[0].device == device);
    CHECK(r.fits());
    CHECK(r.assumptions == replay(j).assumptions);
    for (const auto m : {reading::allocated, reading::active, reading::reserved}) CHECK(bounds(r, r.ranks[0], m) == bounds(replay(j), replay(j).ranks[0], m));
  }
  CHECK(judged(j, [](const job& k) { return decide(k); })->device == device);
  CHECK(io::admit({.job = io::job_to_json(j).dump()}).report->ranks[0].device == device);
  // A search over the micro-batch.
  auto open = ran;
  open["batch"] = {{"micro", "auto"}, {"global", 64}, {"sequence", 8192}};
  open["measured"]["of"] = {{"batch", {{"micro", 1}, {"accumulation", 8}}}};
  const auto found = plan(io::read_sweep(io::with_measured(open, {.base = io::no_files}), io::no_files).at(0).search, plan_options{.top = 8, .threads = 1});
  const auto text = io::to_text(found, 0.0);
  const auto json = io::to_json(found, 0.0);
  bool any = false;
  for (std::size_t i = 0; i < found.best.size(); ++i) {
    const auto& p = found.best[i];
    CAPTURE(p.job.batch.micro);
    const auto figure = replay(p.job).device();
    if (p.job.batch.micro == 1) {
      any = true;
      CHECK(figure == device);
      CHECK(p.outcome.device == device);
    }
    CHECK(says(text, io::gib_text(figure) + "  data 8, zero 3, batch " + std::to_string(p.job.batch.micro) + " x "));
    CHECK(json["plans"][i]["report"]["ranks"][0]["device"] == figure.count());
    auto k = j;
    k.batch = p.job.batch;
    CHECK(replay(k).device() == figure);
  }
  CHECK(any);
}

TEST_CASE("where the job that was run does not fit as measured, no answer says that it does") {
  const auto v = document(R"({"allocated": "20 GiB", "reserved": "23.4 GiB"})");  // of a GPU that has 23.5, 400 MiB of context among them
  const auto j = io::read_measured_job(v, {.base = io::no_files});
  REQUIRE(replay(io::read_job(io::parse_json(plain, "job"), io::no_files)).fits());
  CHECK(!replay(j).fits());
  CHECK(!estimate_all(j).fits());
  CHECK(!estimate_all(j).may_fit());
  CHECK(!decide(j).fits());
  CHECK(io::admit({.job = io::job_to_json(j).dump()}).decision == io::decision::does_not_fit);
}

TEST_CASE("of samples of different lengths a replay says what fits, whatever was measured") {
  auto v = document(R"({"reserved": "12 GiB"})");
  v["batch"]["lengths"] = {{"mean", 300}, {"deviation", 200}, {"longer", "truncated"}};
  const auto j = io::read_measured_job(v, {.base = io::no_files});
  CHECK(estimate_all(j).ranks[0].reserved == 12 * gib);
  CHECK(replay(j).ranks[0].reserved == 12 * gib);
  CHECK(!estimate_all(j).fits());
  CHECK(estimate_all(j).may_fit());
  CHECK(decide(j).fits() == replay(j).fits());
}

TEST_CASE("an admission and a search follow the measured run") {
  const auto text = document(R"({"device": "20.5 GiB"})").dump();
  const auto a = io::admit({.job = text});
  REQUIRE(a.report);
  CHECK(a.report->ranks[0].device.count() == 22'011'707'392);
  auto open = document(R"({"device": "20.5 GiB", "step": 0.5, "of": {"batch": {"micro": 2, "accumulation": 4}}})", R"({"model": "qwen2.5-0.5b", "hardware": {"gpu": "rtx-4090"}, "framework": "hf-trainer", "precision": "bf16", "batch": {"micro": "auto", "global": 8, "sequence": 1024}})");
  const auto searches = io::read_sweep(io::with_measured(open, {.base = io::no_files}), io::no_files);
  REQUIRE(searches.size() == 1);
  const auto found = plan(searches[0].search, plan_options{.top = 8, .threads = 1});
  REQUIRE(!found.best.empty());
  for (const auto& p : found.best) {
    CHECK(p.job.measured.of_time());
    CHECK(p.outcome.seconds == doctest::Approx(cost(p.job).step.value));
    if (p.job.batch.micro == 2) CHECK(p.outcome.seconds == doctest::Approx(0.5));
  }
  open["measured"].erase("of");
  CHECK_THROWS_WITH_AS((void)io::with_measured(open, {.base = io::no_files}), doctest::Contains("add it to measured.of"), job_error);
}

TEST_CASE("the Trainer's files say the order of samples; how long they are is the data's") {
  const auto lengths = [](const char* more) {
    return io::read_job(io::parse_json(std::string{R"({"model": "qwen2.5-0.5b", "hardware": {"gpu": "rtx-4090"}, "framework": "hf-trainer", "precision": "bf16", "attention": "flash", "batch": {"micro": 2, "sequence": 1024, "lengths": {"mean": 300, "deviation": 200)"} + more + "}}}", "job"), io::no_files);
  };
  for (const auto target : {io::export_target::llama_factory, io::export_target::hf_trainer, io::export_target::trl, io::export_target::axolotl}) {
    if (target != io::export_target::axolotl) CHECK(says(io::exported(lengths(R"(, "order": "grouped")"), target), "group_by_length: true"));
    CHECK(says(io::exported(lengths(""), target), "How long the samples are is the data's"));
    CHECK(!says(io::exported(lengths(""), target), "group_by_length"));
    CHECK_THROWS_WITH_AS((void)io::exported(lengths(R"(, "order": "sorted")"), target), doctest::Contains("cannot say batch.lengths.order"), job_error);
  }
  CHECK(says(io::exported(lengths(R"(, "pad_to_multiple": 64)"), io::export_target::trl), "pad_to_multiple_of: 64"));
  CHECK_THROWS_WITH_AS((void)io::exported(lengths(R"(, "order": "grouped")"), io::export_target::axolotl), doctest::Contains("cannot say batch.lengths.order"), job_error);
  CHECK_THROWS_AS((void)io::exported(lengths(R"(, "pad_to_multiple": 64)"), io::export_target::llama_factory), job_error);
}

}  // namespace test_measured_job
