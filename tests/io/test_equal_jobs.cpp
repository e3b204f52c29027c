// Distributed under the Boost Software License, Version 1.0.
// A job that says one key otherwise is another job, and is told apart from it whichever key that is: what compares jobs (searches, measured runs,
// exports that are read back) looks at every field.
#include <doctest/doctest.h>

#include "changed_keys.hpp"

#include <headroom/io/options/megatron.hpp>

#include <set>
#include <string>
#include <vector>

namespace test_equal_jobs {

using namespace headroom;
using io::json_value;

namespace {

job read(const json_value& whole) { return io::read_job(whole, io::no_files); }

/// Both ways: equal jobs are written alike, others are not.
bool told_apart(const job& a, const job& b) { return a != b && b != a && io::job_to_json(a) != io::job_to_json(b); }

std::vector<json_value> values_of(std::string_view list) {
  std::vector<json_value> all;
  for (std::size_t at = 0; at <= list.size();) {
    const auto end = std::min(list.find('|', at), list.size());
    all.push_back(io::parse_json(std::string{list.substr(at, end - at)}, "a key"));
    at = end + 1;
  }
  return all;
}

const char* bases[] = {
    R"({"model": {"layers": 4, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 1000, "max_positions": 2048}, "framework": "hf-trainer", "hardware": {"gpu": "h200", "gpus_per_node": 8}, "batch": {"sequence": 128}})",
    R"({"model": {"layers": 4, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 1000, "max_positions": 2048, "experts": {"count": 4, "active": 2, "ffn": 64}}, "framework": "megatron", "hardware": {"gpu": "h200", "gpus_per_node": 8}, "batch": {"sequence": 128}})",
    R"({"model": "llava-1.5-7b", "framework": "deepspeed", "sharding": {"kind": "zero", "stage": 3}, "hardware": {"gpu": "h200", "gpus_per_node": 8}, "batch": {"sequence": 1024}})",
    R"({"model": "qwen3-30b-a3b", "framework": "torchtitan", "sharding": {"kind": "fsdp2"}, "hardware": {"gpu": "h200", "gpus_per_node": 8}, "batch": {"sequence": 1024}})"};

}  // namespace

TEST_CASE("one key said otherwise makes another job") {
  int apart = 0, same = 0, refused = 0;
  std::set<std::string> never;  // of these no value makes another job, whatever the base
  for (const auto& k : changed::keys) never.insert(std::string(k.key));
  for (const auto* base : bases) {
    const auto whole = io::parse_json(base, "job");
    const job plain = read(whole);
    CHECK(plain == read(io::job_to_json(plain)));
    for (const auto& k : changed::keys)
      for (const auto& value : values_of(k.values)) {
        auto other = whole;
        if (k.key.starts_with("objective.")) changed::say(other, "objective.kind", "dpo");  // of a method
        changed::say(other, k.key, value);
        CAPTURE(std::string(k.key));
        CAPTURE(value.dump());
        job j;
        try {
          j = read(other);
        } catch (const job_error&) {
          ++refused;
          continue;
        }
        CHECK(j == read(other));
        if (io::job_to_json(j) == io::job_to_json(plain)) {
          CHECK(j == plain);
          ++same;
        } else {
          CHECK(told_apart(j, plain));
          never.erase(std::string(k.key));
          ++apart;
        }
      }
  }
  std::string all;
  for (const auto& key : never) all += key + " ";
  CHECK(all == "");
  CHECK(apart > 700);
  CHECK(same < apart);
  CHECK(refused < apart);
}

TEST_CASE("so does one option of the framework's own, switched on or off") {
  const auto whole = io::parse_json(bases[1], "job");
  const job plain = read(whole);
  int apart = 0;
  for (const auto& s : io::detail::megatron_switches) {
    CAPTURE(std::string(s.option));
    auto other = whole;
    other["framework"] = json_value{{"name", "megatron"}, {"options", {{std::string(s.option), true}}}};
    job j;
    try {
      j = read(other);
    } catch (const job_error&) {
      continue;  // what it needs beside it
    }
    CHECK(j == read(other));
    auto mine = j.framework, theirs = plain.framework;
    if (s.of(mine) == s.of(theirs)) continue;
    CHECK(j != plain);
    ++apart;
  }
  CHECK(apart > 10);
}

}  // namespace test_equal_jobs
