// Distributed under the Boost Software License, Version 1.0.
// Samples of different lengths: what their micro-batches leave cached, by hand, against a replay at one length, and from a job file on.
#include <headroom/decide.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay/lengths.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <span>

namespace test_lengths {

using namespace headroom;

namespace {

/// Two tensors of a size at once, as a micro-batch: written down from an allocator that has seen nothing else.
call_script two_of(std::int64_t mebibytes) {
  std::vector<allocator_call> calls;
  caching_allocator a;
  a.write_calls_to(&calls);
  const auto first = a.allocate(mebibytes << 20), second = a.allocate(mebibytes << 20);
  a.release(first);
  a.release(second);
  live_blocks none;
  std::size_t retired = 0;
  return {calls, none, retired};
}
std::vector<std::int64_t> reserved_after(std::initializer_list<std::int64_t> sizes, std::int64_t capacity = 1 << 20) {
  caching_allocator a({.capacity = capacity << 20});
  live_blocks in_use, made;
  std::vector<std::int64_t> r;
  for (const auto s : sizes) {
    two_of(s).play(a, in_use, made);
    CHECK(in_use.empty());
    r.push_back(a.overflowed() ? -1 : a.reserved() >> 20);
  }
  return r;
}
using numbers = std::vector<std::int64_t>;

job small_job() {
  job j{.model = models::qwen2_5_0_5b, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.micro = 1, .sequence = 1024, .accumulation = 4}, .recompute = recompute::full};
  j.model.layers = 3;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  return j;
}
job with_lengths(job j) {
  j.batch.lengths = {.mean = 800, .deviation = 600, .longer = longer_samples::truncated, .samples = 32};
  return j;
}

}  // namespace

TEST_CASE("three lengths by hand: which segments serve whom") {
  // Of 12 MiB each tensor has a segment of its own; for 30 none of those is large enough; two of 20 are cut from those of 30, and 10 of each
  // are left; for 31, in segments of 32, again none is large enough: 24, then + 60, then nothing, then + 64.
  CHECK(reserved_after({12, 30, 20, 31}) == numbers{24, 84, 84, 148});
  // The longest first, and nothing is added.
  CHECK(reserved_after({31, 30, 20, 12}) == numbers{64, 64, 64, 64});
  // With 100 MiB there is no room for 32 beside 84. All that is cached goes back, and both find room: 64 are left.
  CHECK(reserved_after({12, 30, 20, 31}, 100) == numbers{24, 84, 84, 64});
  // 64 MiB are the least: at 30 the first of 12 go back. With 63 the second of 31 finds no room.
  CHECK(reserved_after({12, 30, 20, 31}, 64) == numbers{24, 60, 60, 64});
  CHECK(reserved_after({12, 30, 20, 31}, 63) == numbers{24, 60, 60, -1});
}

TEST_CASE("a script frees what was made before it, and leaves what stays") {
  std::vector<allocator_call> calls;
  caching_allocator a;
  a.write_calls_to(&calls);
  const auto weight = a.allocate(3 << 20), loss = a.allocate(512);
  const auto until = calls.size();
  const auto next = a.allocate(1024);
  a.release(loss);
  a.release(a.allocate(5 << 20));
  live_blocks in_use;
  std::size_t retired = 0;
  const std::span<const allocator_call> all(calls);
  const call_script first(all.first(until), in_use, retired);
  CHECK(in_use == live_blocks{weight, loss});
  const call_script second(all.subspan(until), in_use, retired);
  CHECK(in_use == live_blocks{weight, next});
  CHECK(second.before() == 2);
  CHECK(!second.repeats());
  caching_allocator b;
  live_blocks there, made;
  first.play(b, there, made);
  CHECK(b.allocated() == (3 << 20) + 512);
  for (int i = 0; i < 3; ++i) second.play(b, there, made);  // each frees what the one before has left
  CHECK(there.size() == 2);
  CHECK(b.allocated() == (3 << 20) + 1024);
  CHECK(b.peak_allocated() == (8 << 20) + 1024);
}

TEST_CASE("typical samples are the middles of equal shares of the data, and its longest") {
  batch b{.sequence = 2048, .lengths = {.histogram = {{{10, 10, 1}, {20, 20, 2}, {31, 40, 1}}}, .buckets = 3}};
  CHECK(typical_samples(b, 4) == numbers{10, 20, 20, 40});
  CHECK(typical_samples(b, 2) == numbers{10, 40});
  b.sequence = 20;
  b.lengths.longer = longer_samples::truncated;
  CHECK(typical_samples(b, 4) == numbers{10, 20, 20, 20});
  CHECK(b.longest() == 20);
  b.sequence = 15;
  b.lengths.longer = longer_samples::deleted;
  CHECK(typical_samples(b, 3) == numbers{10, 10, 10});
  CHECK(b.longest() == 10);
  b.lengths.pad_to_multiple = 64;
  CHECK(b.longest() == 64);
  // Log-normal with sigma² = ln(1 + (2547 / 3234)²) and mu = ln(3234) - sigma² / 2. Quantiles of 1/8, 3/8, 5/8, (1); of what is at most 2,048,
  // which 37.9 % are, of an eighth of that, and so on (computed with Python's statistics.NormalDist).
  b = {.sequence = 1 << 20, .lengths = {.mean = 3234, .deviation = 2547, .longer = longer_samples::truncated}};
  CHECK(typical_samples(b, 4) == numbers{1143, 2036, 3170, 1 << 20});
  b.sequence = 2048;
  b.lengths.longer = longer_samples::deleted;
  CHECK(typical_samples(b, 4) == numbers{795, 1207, 1543, 2048});
}

TEST_CASE("orders: by chance, sorted, the longest first, grouped") {
  batch b{.micro = 2, .sequence = 4096, .accumulation = 1, .lengths = {.mean = 1000, .deviation = 500, .longer = longer_samples::truncated}};
  numbers samples(1000);
  std::iota(samples.begin(), samples.end(), 1);
  const auto in = [&](sample_order o, std::uint64_t n = 0) {
    b.lengths.order = o;
    return micro_batches_in_order(b, samples, n);
  };
  CHECK(in(sample_order::sorted)[0] == 2);
  CHECK(in(sample_order::sorted)[499] == 1000);
  CHECK(in(sample_order::longest_first)[0] == 1000);
  CHECK(in(sample_order::longest_first)[499] == 2);
  const auto shuffled = in(sample_order::shuffled);
  CHECK(shuffled == in(sample_order::shuffled));
  CHECK(shuffled != in(sample_order::shuffled, 1));
  CHECK(shuffled.size() == 500);
  CHECK(*std::max_element(shuffled.begin(), shuffled.end()) == 1000);
  // Groups of 50 micro-batches of 2: each falls but for the swap of the longest to the very front.
  const auto grouped = in(sample_order::grouped);
  CHECK(grouped[0] == 1000);
  for (std::size_t i = 1; i < 500; ++i)
    if (i % 50 > 1) CHECK(grouped[i] <= grouped[i - 1]);
  CHECK(grouped[50] > 900);
  CHECK(grouped[99] < 100);
  b.lengths.pad_to_multiple = 256;
  const auto padded = in(sample_order::sorted);
  CHECK(padded[0] == 256);
  CHECK(padded[499] == 1024);
}

TEST_CASE("micro-batches of one length, made again from scripts, reserve what a replay of them does") {
  for (const std::int64_t accumulation : {1, 2, 3, 5})
    for (const bool shards : {false, true}) {
      auto j = small_job();
      j.batch.accumulation = accumulation;
      if (shards) {
        j.adapter = {};
        j.hardware.gpus_per_node = 4;
        j.sharding = fsdp2();
      }
      CAPTURE(accumulation);
      CAPTURE(shards);
      const auto whole = replay(j);
      length_run<> run(j, 0);
      const numbers same(12, j.batch.sequence);
      const auto r = run.run(same, {});
      REQUIRE(r);
      CHECK(r->found_room);
      CHECK(round_up(r->reserved, 2 * mib) == whole.ranks[0].reserved);
    }
}

TEST_CASE("what must be there lies between what is live and what is reserved, and decides") {
  const auto j = with_lengths(small_job());
  const auto fixed = replay(small_job());
  const auto r = replay(j);
  const auto& rank = r.ranks[0];
  REQUIRE(rank.lengths.given());
  CHECK(rank.lengths.orders == 11);
  CHECK(rank.lengths.micro_batches == 32);
  CHECK(rank.allocated == fixed.ranks[0].allocated);
  CHECK(estimate(j).ranks[0].allocated == estimate(small_job()).ranks[0].allocated);
  CHECK(rank.reserved == rank.lengths.median);
  CHECK(rank.lengths.low <= rank.lengths.median);
  CHECK(rank.lengths.median <= rank.lengths.high);
  CHECK(rank.lengths.median > fixed.ranks[0].reserved);
  CHECK(rank.lengths.least >= rank.allocated);
  CHECK(rank.lengths.least <= rank.lengths.high);
  CHECK(rank.device == rank.reserved + rank.outside.total());
  CHECK(r.assumptions.has(assumption::lengths_replayed));
  CHECK(!r.assumptions.has(assumption::lengths_not_replayed));
  CHECK(estimate(j).assumptions.has(assumption::lengths_not_replayed));
  CHECK(!estimate(j).fits());
  CHECK(estimate(j).may_fit());
  CHECK(decide(j).fits());

  // On a GPU that is as large as what must be there it fits, though it would reserve more; on one that is a tenth smaller it does not.
  auto tight = j;
  tight.hardware.gpu.memory = rank.lengths.least + rank.outside.total() + 2 * mib;
  tight.hardware.gpu.label = "own";
  const auto seen = replay(tight);
  CHECK(seen.fits());
  CHECK(seen.ranks[0].device <= seen.ranks[0].capacity);
  CHECK(seen.headroom() >= bytes{0});
  tight.hardware.gpu.memory = rank.allocated + rank.outside.total() - mib;
  CHECK(!replay(tight).fits());
  CHECK(!decide(tight).fits());
}

namespace {

/// Runs of which it is known how much room each needs. `asked`: how often one was tried.
struct known_runs {
  std::vector<bytes> needs;
  int asked{};
  [[nodiscard]] std::size_t size() const { return needs.size(); }
  std::optional<run_result> run(std::size_t order, const allocator_settings&, bytes room, bool stops) {
    CHECK(stops);
    ++asked;
    return run_result{min(room, needs[order]), room >= needs[order]};
  }
};

/// In MiB: what is found, and how many runs that took.
std::pair<double, int> least_of(std::vector<double> needs, std::vector<std::pair<double, bool>> at_room, double room, double least) {
  const auto mebibytes = [](double n) { return bytes{static_cast<std::int64_t>(n * (1 << 20))}; };
  known_runs runs;
  for (const auto n : needs) runs.needs.push_back(mebibytes(n));
  std::vector<run_result> seen;
  for (const auto& [reserved, found] : at_room) seen.push_back({mebibytes(reserved), found});
  const auto r = detail::least_room(runs, {}, seen, mebibytes(room), mebibytes(least));
  return {static_cast<double>(r.count()) / (1 << 20), runs.asked};
}
using found = std::pair<double, int>;

}  // namespace

TEST_CASE("the least room, halving by hand, in MiB") {
  // Between 1000 and 2000, to 62.5: 1000 no; 1500 yes, 1250 no, 1375 yes, 1312.5 yes.
  CHECK(least_of({1300}, {{2000, true}}, 4000, 1000) == found(1312.5, 5));
  CHECK(least_of({1312.5}, {{2000, true}}, 4000, 1000) == found(1312.5, 5));
  CHECK(least_of({1313}, {{2000, true}}, 4000, 1000) == found(1375, 5));
  // Never finer than 32: 1000 no; 1100 yes, 1050 yes, 1025 yes.
  CHECK(least_of({1010}, {{1200, true}}, 4000, 1000) == found(1025, 4));
  // What is live is enough; and what was reserved is more than there is room for: 500 no; 782, 923, 993.5 no, 1028.75 yes, to 564 / 16.
  CHECK(least_of({1000}, {{2000, true}}, 4000, 1000) == found(1000, 1));
  CHECK(least_of({1000}, {{2064, true}}, 1064, 500) == found(1028.75, 5));
  // Each order starts where the one before has ended: 1312.5, which is enough for the second; 1812.5 no, 2062.5 yes, 1937.5 no, 2000 yes.
  CHECK(least_of({1300, 1312.5, 2000}, {{2000, true}, {2000, true}, {2312.5, true}}, 4000, 1000) == found(2000, 11));
  // Without room: 600 no; from what it took on by eighths, 1100 no, 1237.5 yes; halved to 32: 1168.75 no, 1203.125 yes, 1185.9375 yes.
  CHECK(least_of({1180}, {{1100, false}}, 1000, 600) == found(1185.9375, 6));
  // At least 2 MiB more than there is.
  CHECK(least_of({1001}, {{900, false}}, 1000, 600) == found(1002, 2));
  // As much is live as there is room: with room for the run that is all, and nothing is tried.
  CHECK(least_of({900}, {{1000, true}}, 1000, 1000) == found(1000, 0));
  CHECK(least_of({900}, {{1000, true}}, 1000, 1200) == found(1200, 0));
  // Without: 1202 no, 1352.25 yes, 1277.125 yes, 1239.5625 yes, 1220.78125 yes.
  CHECK(least_of({1210}, {{1000, false}}, 1000, 1200) == found(1220.78125, 5));
}

TEST_CASE("remedies: the longest first, expandable segments and padding reserve less than the order of chance") {
  const auto reserved = [](auto change) {
    auto j = with_lengths(small_job());
    j.batch.lengths.samples = 96;  // so many that every order meets lengths that no segment serves
    change(j);
    return replay(j).ranks[0].lengths;
  };
  const auto plain = reserved([](job&) {});
  const auto fixed = replay(small_job()).ranks[0].reserved;
  const auto first = reserved([](job& j) { j.batch.lengths.order = sample_order::longest_first; });
  CHECK(first.orders == 1);
  CAPTURE(first.median.count() >> 20);
  CAPTURE(plain.low.count() >> 20);
  CAPTURE(plain.median.count() >> 20);
  CAPTURE(plain.high.count() >> 20);
  CAPTURE(plain.least.count() >> 20);
  CAPTURE(fixed.count() >> 20);
  CHECK(first.median < plain.median - 512 * mib);
  CHECK(first.median <= fixed + 64 * mib);
  CHECK(reserved([](job& j) { j.environment.expandable_segments = choice::yes; }).high < plain.low);
  const auto padded = reserved([](job& j) { j.batch.lengths.pad_to_multiple = 256; });
  CHECK(padded.median < plain.median);
}

TEST_CASE("advice names what makes room, each with what it needs then") {
  auto j = with_lengths(small_job());
  j.batch.micro = 3;
  j.batch.lengths.samples = 48;
  auto grouped = j;
  grouped.batch.lengths.order = sample_order::grouped;
  const auto plain = replay(j).ranks[0], better = replay(grouped).ranks[0];
  REQUIRE(better.lengths.least + 512 * mib < plain.lengths.least);
  j.hardware.gpu.memory = better.lengths.least + plain.outside.total() + 128 * mib;
  j.hardware.gpu.label = "own";
  REQUIRE(!decide(j).fits());
  const auto found = advise(j, [](const job& k) { return judged(k, [](const job& l) { return decide(l); }); }, 8, std::span(changes::all).first(4));
  REQUIRE(!found.empty());
  bool orders = false;
  for (const auto& a : found) {
    CHECK(a.outcome.fits);
    CHECK(a.outcome.headroom >= bytes{0});
    orders = orders || a.changes[0]->text.starts_with("batch.lengths.order");
  }
  CHECK(orders);
  CHECK(found.front().changes[0]->text == "environment.allocator.expandable_segments true");
}

TEST_CASE("from a job file to the answer: a list, a file and a histogram of the same samples are the same job") {
  const auto read = [](const std::string& lengths, const io::file_base& base = io::no_files) {
    return io::read_job(io::parse_json(R"({"model": "qwen2.5-0.5b", "framework": "hf-trainer", "hardware": {"gpu": "a100-sxm-80gb"}, "recompute": "full",
      "batch": {"micro": 1, "sequence": 600, "lengths": )" + lengths + "}}", "job.json"), base);
  };
  const auto j = read(R"({"list": [100, 300, 100, 700, 300, 100], "longer": "deleted", "samples": 6})");
  CHECK(j.batch.lengths.buckets == 3);
  CHECK(j.batch.lengths.histogram[0] == length_bucket{100, 100, 3});
  CHECK(j.batch.lengths.histogram[1] == length_bucket{300, 300, 2});
  CHECK(j.batch.longest() == 300);
  CHECK(j == read(R"({"histogram": [[100, 100, 3], [300, 300, 2], [700, 700, 1]], "longer": "deleted", "samples": 6})"));
  const auto folder = std::filesystem::temp_directory_path() / "headroom-lengths";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "lengths.txt") << "100 300,100\n700\r\n300\t100\n";
  CHECK(j == read(R"({"file": "lengths.txt", "longer": "deleted", "samples": 6})", folder));
  std::ofstream(folder / "lengths.json") << "[100, 300, 100, 700, 300, 100]";
  CHECK(j == read(R"({"file": "lengths.json", "longer": "deleted", "samples": 6})", folder));
  CHECK(j == io::read_job(io::job_to_json(j)));
  auto plain = j;
  plain.batch.lengths = {};
  plain.batch.sequence = 300;
  CHECK(replay(j).ranks[0].allocated == replay(plain).ranks[0].allocated);

  const auto refused = [&](const std::string& lengths, const std::string& sentence, const io::file_base& base = io::no_files) {
    CAPTURE(lengths);
    try {
      (void)estimate(read(lengths, base));
      FAIL("not refused");
    } catch (const error& e) {
      CHECK(std::string(e.what()).find(sentence) != std::string::npos);
      CAPTURE(e.what());
    }
  };
  refused(R"({"list": [700]})", "longer is required");
  refused(R"({"mean": 300, "deviation": 100})", "longer is required");
  refused(R"({"mean": 300})", "deviation is required");
  refused(R"({"list": [700], "longer": "deleted"})", "leaves no sample");
  refused(R"({})", "one of four ways");
  // What a launch file says of order and padding stands alone.
  const auto open = read(R"({"order": "grouped", "pad_to_multiple": 64})");
  CHECK(open.batch.longest() == 640);
  CHECK(estimate(open).assumptions.has(assumption::lengths_not_given));
  CHECK(open == io::read_job(io::job_to_json(open)));
  refused(R"({"mean": 3, "deviation": 1, "list": [3]})", "one of four ways");
  refused(R"({"mean": 3, "deviation": 1, "unknown": true})", "leave batch.lengths.unknown out");
  refused(R"({"unknown": false})", "one of four ways");
  // Nobody knows: every micro-batch is counted as long as the limit, and the range says so.
  const auto unknown = read(R"({"unknown": true})");
  CHECK(unknown == io::read_job(io::job_to_json(unknown)));
  CHECK(estimate(unknown).assumptions.has(assumption::lengths_unknown));
  CHECK(estimate(unknown).peak() == estimate(read(R"({"order": "grouped"})")).peak());
  refused(R"({"list": []})", "has no lengths");
  refused(R"({"list": [0]})", "batch.lengths.list");
  refused(R"({"histogram": [[5, 4, 1]]})", "must rise");
  refused(R"({"histogram": [[5, 9, 1], [9, 12, 1]]})", "must rise");
  refused(R"({"file": "lengths.txt"})", "may not read any");
  refused(R"({"file": "../lengths.txt"})", "leads out of the folder", folder);
  refused(R"({"file": "none.txt"})", "there is no file", folder);
  std::ofstream(folder / "bad.txt") << "100 12.5";
  refused(R"({"file": "bad.txt"})", "number 2 is none", folder);
  std::filesystem::remove_all(folder);
}

TEST_CASE("many lengths are put into 16 buckets, which hold all samples and the longest apart") {
  std::vector<std::int64_t> all;
  std::mt19937 dice(7);
  for (int i = 0; i < 5000; ++i) all.push_back(1 + static_cast<std::int64_t>(dice() % 3000));
  all.push_back(9000);
  std::sort(all.begin(), all.end());
  sample_lengths l;
  io::detail::fill_histogram(l, all);
  CHECK(l.buckets == 16);
  std::int64_t n = 0, end = 0;
  for (const auto& b : l.histogram) {
    CHECK(b.from > end);
    CHECK(b.samples == std::upper_bound(all.begin(), all.end(), b.to) - std::lower_bound(all.begin(), all.end(), b.from));
    n += b.samples;
    end = b.to;
  }
  CHECK(n == 5001);
  CHECK(l.longest() == 9000);
}

// Of samples of 100 and 300 tokens, three of each, a token's own is 300 long in three cases of four: (3 · 100² + 3 · 300²) / (3 · 400) = 250.
TEST_CASE("how long a token's own sample is") {
  constexpr sample_lengths two{.histogram = {{{100, 100, 3}, {300, 300, 3}}}, .buckets = 2, .longer = longer_samples::truncated};
  static_assert(two.of_a_token(300) == 250 && two.of_a_token(1000) == 250);
  static_assert(two.of_a_token(150) == (100.0 * 100 + 150.0 * 150) / 250);
  auto left = two;
  left.longer = longer_samples::deleted;
  CHECK(left.of_a_token(150) == 100);
  // 1 to 9 evenly: 285 / 45. Cut at 5, the four longer ones are 5 long, or gone: (55 + 4 · 25) / (15 + 20) and 55 / 15.
  sample_lengths nine{.histogram = {{{1, 9, 9}}}, .buckets = 1, .longer = longer_samples::truncated};
  CHECK(nine.of_a_token(9) == doctest::Approx(285.0 / 45));
  CHECK(nine.of_a_token(5) == doctest::Approx(155.0 / 35));
  nine.longer = longer_samples::deleted;
  CHECK(nine.of_a_token(5) == doctest::Approx(55.0 / 15));
  // Log-normal, mean 300 and deviation 400: (300² + 400²) / 300.
  constexpr sample_lengths spread{.mean = 300, .deviation = 400, .longer = longer_samples::truncated};
  static_assert(spread.of_a_token(4096) == 250'000.0 / 300);
  static_assert(spread.of_a_token(512) == 512);
}

TEST_CASE("lengths of packed samples change the time of attention, and nothing of memory") {
  auto j = small_job();
  j.batch.packed = true;
  j.attention = attention::flash;
  auto said = j;
  said.batch.lengths = {.mean = 100, .longer = longer_samples::truncated};
  CHECK(said.batch.longest() == j.batch.sequence);
  const auto before = replay(j), after = replay(said);
  CHECK(after.ranks[0].reserved == before.ranks[0].reserved);
  CHECK(!after.ranks[0].lengths.given());
  CHECK(!after.assumptions.has(assumption::lengths_not_replayed));
  CHECK(cost(j).attention / cost(said).attention == doctest::Approx(static_cast<double>(j.batch.sequence) / 100));
  CHECK(cost(j).matmul.value == cost(said).matmul.value);
  // Attention written out computes every pair.
  j.attention = said.attention = attention::eager;
  CHECK(cost(j).attention.value == cost(said).attention.value);
  const auto refused = [](const job& one) {
    try {
      (void)estimate(one);
    } catch (const job_error& e) {
      return std::string_view(e.what()).find("beside batch.packed") != std::string_view::npos;
    }
    return false;
  };
  CHECK(!refused(said));
  for (const auto order : {sample_order::sorted, sample_order::longest_first, sample_order::grouped}) {
    said.batch.lengths.order = order;
    CHECK(refused(said));
  }
  said.batch.lengths = {.mean = 100, .longer = longer_samples::truncated, .pad_to_multiple = 64};
  CHECK(refused(said));
}

TEST_CASE("trainers that pad say what is assumed where nothing is said of lengths, those that do not say nothing") {
  CHECK(estimate(small_job()).assumptions.has(assumption::lengths_not_given));
  auto j = small_job();
  j.batch.packed = true;
  j.attention = attention::flash;
  CHECK(!estimate(j).assumptions.has(assumption::lengths_not_given));
  j = {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::torchtitan_202602, .sharding = fsdp2(), .batch = {.sequence = 2048}};
  CHECK(!estimate(j).assumptions.has(assumption::lengths_not_given));
  j.framework = frameworks::megatron;
  j.sharding = {};
  CHECK(!estimate(j).assumptions.has(assumption::lengths_not_given));
  j.batch.lengths = {.mean = 300, .deviation = 100, .longer = longer_samples::deleted};
  CHECK_THROWS_AS((void)estimate(j), job_error);
}

TEST_CASE("pieces of a tensor are together as long as it is") {
  program p(512);
  const auto x = p.input(256, 2, true), y = p.make(256, 2);
  p.step(x.bit(), y.bit(), {.pieces = 3});
  p.set_output(y);
  block_script s{.of = &p, .run = block_run::forward, .alive = {}, .borrowed = {}};
  s.alive = x.bit();
  write_script(s);
  std::vector<std::int64_t> pieces;
  for (const auto& step : s.steps)
    if (step.what == detail::script_step::kind::add_piece) pieces.push_back(step.size.count());
  CHECK(pieces == numbers{172, 170, 170});
}

}  // namespace test_lengths
