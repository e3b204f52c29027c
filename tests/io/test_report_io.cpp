// Distributed under the Boost Software License, Version 1.0.
// The report as JSON, text and picture.
#include <doctest/doctest.h>

#include <headroom/full_report.hpp>
#include <headroom/io/measured.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>

#include <algorithm>
#include <iterator>
#include <new>

namespace test_report_io {

using namespace headroom;
using namespace headroom::literals;

namespace {

/// Two stages with every row occupied, the second the tightest.
report sample() {
  report r;
  r.size = 2;
  for (std::size_t i = 0; i < 2; ++i) {
    auto& k = r.ranks[i] = rank_report{};
    k.pipeline_stage = static_cast<std::int64_t>(i);
    k.count = i == 0 ? 4 : 2;
    k.gpu = "h100-sxm-80gb";
    k.capacity = 79_GiB;
    for (int p = 0; p < step_phase_count; ++p) {
      auto& made_of = k.at_phase[static_cast<std::size_t>(p)];
      for (int n = 0; n < row_count; ++n)
        made_of.rows[static_cast<std::size_t>(n)] =
            bytes{(p == 3 ? 1000 : 1) * (n + 1)} * 1'000'000 * (1 + static_cast<int>(i)) / 2;
      k.phases[static_cast<std::size_t>(p)] = made_of.total();
    }
    k.peak_phase = phase::backward;
    k.peak_layer = 17;
    k.at_peak = k.at_phase[3];
    k.allocated = k.at_peak.total();
    k.active = k.allocated + 1_MiB;
    k.reserved = k.active + 1_GiB;
    k.outside = {500_MiB, 1_GiB};
    k.device = k.reserved + k.outside.context + k.outside.nccl;
    k.fragmentation = i == 0 ? 3_GiB : 5_GiB;
    k.surplus = i == 0 ? 7_MiB : 11_MiB;
  }
  r.host = {10_GiB, 4_GiB, phase::step, 5_GiB};
  r.parameter_count = {8_Bparams, 1_Bparams, 8_Bparams};
  r.assumptions.add(assumption::steady_state);
  r.assumptions.add(assumption::context_calibrated);
  return r;
}
const job sample_job{.model = {.label = "a<b", .layers = 20, .hidden = 64},
                     .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 6},
                     .batch = {.sequence = 128}};

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the JSON report has the keys of the contract, in their order, and adds up") {
  const auto r = io::to_json(sample());
  const auto keys = [](const io::ordered_json& object) {
    std::string all;
    for (const auto& [key, value] : object.items()) all += key + " ";
    return all;
  };
  CHECK(keys(r) == "ranks host nvme parameters fits bounds assumptions ");
  CHECK(keys(r["ranks"][0]) ==
        "pipeline_stage count gpu allocated active reserved device fragmentation surplus peak_phase peak_layer at_peak outside_allocator phases "
        "capacity taken fits headroom bounds errors ");
  CHECK(keys(r["ranks"][0]["at_peak"]) ==
        "parameters master_parameters gradients optimizer_state adapters other_models activations logits gathered_parameters "
        "communication_buffers workspace rollout_engine kv_cache temporaries ");
  CHECK(keys(r["ranks"][0]["phases"]) == "load forward loss backward reduce step save ");
  CHECK(r["ranks"].size() == 2);
  for (const auto& rank : r["ranks"]) {
    std::int64_t sum = 0;
    for (const auto& [row, amount] : rank["at_peak"].items()) sum += amount.get<std::int64_t>();
    CHECK(sum == rank["allocated"].get<std::int64_t>());
    CHECK(rank["allocated"] == rank["phases"][rank["peak_phase"].get<std::string>()]);
    CHECK(rank["headroom"].get<std::int64_t>() == rank["capacity"].get<std::int64_t>() - rank["device"].get<std::int64_t>());
  }
  CHECK(r["ranks"][0]["fragmentation"] == 3'221'225'472);
  CHECK(r["ranks"][1]["fragmentation"] == 5'368'709'120);
  CHECK(r["ranks"][0]["surplus"] == 7'340'032);
  CHECK(r["ranks"][1]["surplus"] == 11'534'336);
  CHECK(r["host"] == io::ordered_json{{"per_node", 10LL << 30}, {"pinned_per_node", 4LL << 30}, {"at", "step"}});
  CHECK(r["fits"] == false);
  CHECK(keys(r["bounds"]) == "low high confidence fits ");
  CHECK(r["bounds"]["confidence"] == 0.95);
  CHECK(r["bounds"]["fits"] == false);
  CHECK(keys(r["ranks"][0]["bounds"]) == "allocated active reserved device ");
  CHECK(keys(r["ranks"][0]["errors"][0]) == "from of below above ");
  // The second rank is the tightest: its range is the report's.
  CHECK(r["ranks"][1]["bounds"]["device"]["low"] == r["bounds"]["low"]);
  CHECK(r["ranks"][1]["bounds"]["device"]["high"] == r["bounds"]["high"]);
  const auto surer = io::to_json(sample(), 0.99);
  CHECK(surer["bounds"]["confidence"] == 0.99);
  CHECK(surer["bounds"]["high"].get<std::int64_t>() > r["bounds"]["high"].get<std::int64_t>());
  CHECK(r["assumptions"].size() == 2);
}

TEST_CASE("what an import left open stands above the numbers, each in its own sentence") {
  auto r = sample();
  r.assumptions.add(assumption::open_defaults);
  const auto words = io::imported_words_of(io::json_value::parse(R"({"assumed_defaults": ["loss_type is \u001b[31mnot given", 7], "ignored_keys": "no list"})"));
  CHECK(words.ignored.empty());
  REQUIRE(words.assumed.size() == 1);
  const auto text = io::to_text(r, sample_job, false, {}, words);
  const auto at = text.find("\n         - loss_type is \\x1b[31mnot given\n");
  REQUIRE(at != std::string::npos);
  CHECK(text.rfind("Assumed: the files that this job was imported from leave something open", at) != std::string::npos);
  CHECK(at < text.find("parameters  "));
  CHECK_FALSE(holds(io::to_text(sample(), sample_job, false, {}, words), "loss_type"));  // the job does not say that anything was left open
  CHECK_FALSE(holds(text, "ignored"));

  auto passed = sample();
  passed.assumptions.add(assumption::keys_ignored);
  CHECK(holds(io::to_text(passed, sample_job, false, {}, {.ignored = {"--exotic"}}), "\n         - --exotic\n"));

  // Hostile lists: as many as fit a page, each cut.
  io::json_value many{{"assumed_defaults", io::json_value::array()}};
  for (int i = 0; i < 50; ++i) many["assumed_defaults"].push_back(std::string(10'000, 'x'));
  const auto few = io::imported_words_of(many);
  REQUIRE(few.assumed.size() == 21);
  CHECK(few.assumed[19].size() == 500);
  CHECK(few.assumed[20] == "… and 30 more");
  CHECK(io::imported_words_of(io::json_value::array()).empty());
}

TEST_CASE("a phase that a rank does not have is a gap, not zero") {
  auto r = sample();
  auto& first = r.ranks[0];
  const auto loss = static_cast<std::size_t>(phase::loss_forward);
  first.phases[loss] = bytes{0};
  first.at_phase[loss] = breakdown{};
  first.absent = static_cast<std::uint8_t>(1U << loss);
  const auto json = io::to_json(r);
  CHECK(json["ranks"][0]["phases"]["loss"].is_null());
  CHECK(json["ranks"][1]["phases"]["loss"].is_number());
  CHECK(json["ranks"][0]["phases"]["forward"].is_number());
  const auto text = io::to_text(r, sample_job);
  const auto line = [&](std::size_t from) { return text.substr(text.find("  loss ", from), 60); };
  CHECK(holds(line(0), "–"));
  CHECK_FALSE(holds(line(0), "GiB"));
  CHECK(holds(line(text.find("  loss ") + 1), "GiB"));
  // Of 14 bars one is not drawn, and neither are the bands on both sides of it; what lies outside the allocator is part of each.
  const auto count = [](const std::string& of, std::string_view part) {
    int n = 0;
    for (auto i = of.find(part); i != std::string::npos; i = of.find(part, i + 1)) ++n;
    return n;
  };
  const auto whole = io::to_svg(sample(), sample_job), gap = io::to_svg(r, sample_job);
  CHECK(count(whole, "<title>outside the allocator") == 14);
  CHECK(count(gap, "<title>outside the allocator") == 13);
  CHECK(count(whole, "<polygon") - count(gap, "<polygon") == 2 * (row_count + 1));
}

TEST_CASE("a report of more kinds of rank than it holds says so; a full one shows all") {
  full_report all;
  for (int i = 0; i < 20; ++i) all.add().capacity = 1_GiB;
  CHECK(io::to_json(all)["ranks"].size() == 20);
  CHECK_FALSE(io::to_json(all).contains("kinds"));
  CHECK(io::to_json(report{all})["ranks"].size() == 8);
  CHECK(io::to_json(report{all})["kinds"] == 20);
}

TEST_CASE("every assumption has a sentence of its own") {
  std::vector<std::string_view> seen;
  for (int i = 0; i < assumption_count; ++i) {
    const auto text = io::assumption_text(static_cast<assumption>(i));
    CHECK(text.size() > 20);
    CHECK(text.ends_with("."));
    CHECK(!holds(std::string{text}, "no sentence"));
    CHECK(std::find(seen.begin(), seen.end(), text) == seen.end());
    seen.push_back(text);
  }
}

TEST_CASE("the text report") {
  const auto text = io::to_text(sample(), sample_job);
  CHECK(holds(text, "8.00 B parameters (1.00 B trained)"));
  CHECK(holds(text, "DOES NOT FIT"));
  CHECK(holds(text, "4 x h100-sxm-80gb, pipeline stage 0"));
  CHECK(holds(text, "2 x h100-sxm-80gb, pipeline stage 1"));
  CHECK(holds(text, "the backward of layer 17"));
  CHECK(holds(text, "◀ peak"));
  CHECK(holds(text, "optimizer state"));
  CHECK(holds(text, "host, per node"));
  CHECK(holds(text, "95 % sure: device memory between "));
  CHECK(holds(io::to_text(sample(), sample_job, false, 0.995), "99.5 % sure: device memory between "));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(io::to_text(sample(), sample_job, true).find('\x1b') != std::string::npos);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    CHECK(io::width_of(std::string_view{text}.substr(at, end - at)) <= 110);
    at = end + 1;
  }
}

TEST_CASE("the text report marks the moment of the peak, and no other") {
  const auto marked = [](const report& r) {
    std::vector<std::string> names;
    const auto text = io::to_text(r, sample_job);
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at);
      const auto line = text.substr(at, end - at);
      if (holds(line, "◀ peak")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
      at = end + 1;
    }
    return names;
  };
  auto r = sample();
  CHECK(marked(r) == std::vector<std::string>{"backward", "backward"});
  r.ranks[1].peak_phase = phase::step;
  CHECK(marked(r) == std::vector<std::string>{"backward", "step"});
  // A phase in which nothing is allocated is no peak.
  r.ranks[0].phases[static_cast<std::size_t>(phase::backward)] = 0_B;
  CHECK(marked(r) == std::vector<std::string>{"step"});
}

TEST_CASE("text helpers") {
  CHECK(io::grouped(8030261248) == "8,030,261,248");
  CHECK(io::grouped(-1234) == "-1,234");
  CHECK(io::grouped(-123) == "-123");
  CHECK(io::grouped(123) == "123");
  CHECK(io::gib_text(1536_MiB) == "1.50 GiB");
  CHECK(io::count_text(124'439'808) == "124.4 M");
  CHECK(io::bar(0.5, 4) == "██");
  CHECK(io::bar(2.0, 2) == "██");
  CHECK(io::bar(-1.0, 2).empty());
  CHECK(io::left("é", 3) == "é  ");
  CHECK(io::right("é", 3) == "  é");
}

TEST_CASE("the picture is well formed and escapes what it is given") {
  const auto svg = io::to_svg(sample(), sample_job);
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(holds(svg, "a&lt;b"));
  CHECK(!holds(svg, "nan"));
  CHECK(!holds(svg, "inf"));
  std::size_t open = 0, closed = 0;
  for (std::size_t i = 0; (i = svg.find("<text", i)) != std::string::npos; ++i) ++open;
  for (std::size_t i = 0; (i = svg.find("</text>", i)) != std::string::npos; ++i) ++closed;
  CHECK(open == closed);
  CHECK(!holds(io::to_svg(report{}, job{}), "nan"));
  CHECK_NOTHROW(io::to_text(report{}, job{}));
}

TEST_CASE("an empty report holds nothing, whatever was in its memory") {
  alignas(report) unsigned char memory[sizeof(report)];
  std::fill(std::begin(memory), std::end(memory), static_cast<unsigned char>(0x5a));
  const auto* empty = new (memory) report;
  CHECK(empty->peak() == bytes{0});
  CHECK(empty->headroom() == bytes{0});
  CHECK(full_report{}.device() == bytes{0});
}

TEST_CASE("which number a record is compared with") {
  const auto r = sample();
  using io::metric;
  using io::rank_choice;
  const auto predicted = [&](metric m, rank_choice k) { return io::predict(r, m, k).value; };
  CHECK(predicted(metric::allocated, rank_choice::first) == static_cast<double>(r.ranks[0].allocated.count()));
  CHECK(predicted(metric::active, rank_choice::last) == static_cast<double>(r.ranks[1].active.count()));
  CHECK(predicted(metric::reserved, rank_choice::max) == static_cast<double>(r.ranks[1].reserved.count()));
  CHECK(predicted(metric::device, rank_choice::sum) ==
        static_cast<double>(4 * r.ranks[0].device.count() + 2 * r.ranks[1].device.count()));
  const auto p = io::predict(r, metric::device, rank_choice::last);
  CHECK(p.low == static_cast<double>(bounds(r).low.count()));
  CHECK(p.high == static_cast<double>(bounds(r).high.count()));
  // Of a sum, every rank is off by its own range, all in one direction.
  const auto whole = io::predict(r, metric::device, rank_choice::sum, 0.8);
  CHECK(whole.high == static_cast<double>(4 * bounds(r, r.ranks[0], reading::device, 0.8).high.count() + 2 * bounds(r, r.ranks[1], reading::device, 0.8).high.count()));
  // It went out of memory at 80: predicting 70 is wrong, 90 is right. It fitted into 80: the reverse.
  CHECK(io::violates(io::bound_kind::at_least, 70, 80));
  CHECK(!io::violates(io::bound_kind::at_least, 90, 80));
  CHECK(io::violates(io::bound_kind::at_most, 90, 80));
  CHECK(!io::violates(io::bound_kind::at_most, 70, 80));
  CHECK(!io::violates(io::bound_kind::equal, 70, 80));
}

TEST_CASE("the text says in words where the peak lies") {
  job j{.model = models::qwen2_5_7b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .sharding = zero(3), .batch = {.micro = 1, .sequence = 1024}, .recompute = recompute::full};
  j.objective = {.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::none};
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.5), .sleep = 2, .prompt = 512, .completion = 512, .generations = 8};
  auto r = estimate(j);
  const auto words = [&] { return io::to_text(r, j); };
  CHECK(words().find("peak in generation\n") != std::string::npos);
  r.ranks[0].peak_phase = phase::sync;
  CHECK(words().find("peak in weight synchronisation\n") != std::string::npos);
  r.ranks[0].peak_phase = phase::backward, r.ranks[0].peak_layer = 3;
  CHECK(words().find("peak in the backward of layer 3\n") != std::string::npos);
}

}  // namespace test_report_io
