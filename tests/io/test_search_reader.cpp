// Distributed under the Boost Software License, Version 1.0.
// Job files with keys that are "auto".
#include <headroom/io/search_reader.hpp>

#include <doctest/doctest.h>

namespace test_search_reader {

using namespace headroom;

namespace {

search read(const char* text) { return io::read_search(io::parse_json(text, "search")); }
bool open(const search& s, std::string_view key) { return (s.open >> axes::find(key) & 1U) != 0; }

}  // namespace

TEST_CASE("keys one by one, and whole sections") {
  const auto one = read(R"({"model": "llama-3.1-8b", "parallel": {"tensor": "auto", "pipeline": 2}, "offload": {"optimizer": "auto"}, "batch": {"sequence": 4096}})");
  CHECK(open(one, "parallel.tensor"));
  CHECK_FALSE(open(one, "parallel.pipeline"));
  CHECK(open(one, "offload.optimizer"));
  CHECK_FALSE(open(one, "offload.parameters"));
  CHECK(one.job.parallel.pipeline == 2);
  CHECK_FALSE(one.open_micro);
  const auto all = read(R"({"model": "llama-3.1-8b", "parallel": "auto", "sharding": "auto", "recompute": "auto", "offload": "auto", "batch": {"sequence": 4096, "global": 64}})");
  CHECK(all.open == (1U << axes::all.size()) - 1 - axes::bit(axes::nodes) - axes::bit(axes::gpus_per_node) - axes::bit(axes::engine_place) - axes::bit(axes::engine_tensor) - axes::bit(axes::engine_share) - axes::bit(axes::engine_sleep));  // how many GPUs is another question
  CHECK(all.open_micro);
  CHECK(all.global_batch == 64);
  const auto micro = read(R"({"model": "llama-3.1-8b", "batch": {"micro": "auto", "sequence": 4096, "global": 64}})");
  CHECK(micro.open == 0);
  CHECK(micro.open_micro);
  CHECK(read(R"({"model": "llama-3.1-8b", "batch": {"sequence": 4096}})").open == 0);
  // An option of a framework may be "auto" by itself.
  CHECK(read(R"({"model": "llama-3.1-8b", "framework": {"name": "deepspeed", "options": {"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}},
                "batch": {"sequence": 4096}})").open == 0);
}

TEST_CASE("sentences") {
  const auto says = [](const char* text, const char* part) { CHECK_THROWS_WITH_AS(read(text), doctest::Contains(part), job_error); };
  says(R"({"model": "auto", "batch": {"sequence": 4096}})", "model cannot be \"auto\"; what can: hardware.nodes, hardware.gpus_per_node, rollout.placement, parallel.tensor");
  says(R"({"model": "llama-3.1-8b", "batch": {"sequence": "auto"}})", "batch.sequence cannot be \"auto\"");
  says(R"({"model": "llama-3.1-8b", "batch": {"sequence": 4096, "micro": "auto"}})", "batch.global is required");
  says(R"({"model": "llama-3.1-8b", "batch": {"sequence": 4096, "micro": "auto", "accumulation": 2, "global": 8}})", "open together or not at all");
  says(R"({"model": "llama-3.1-8b", "batch": {"sequence": 4096, "global": -1}})", "batch.global");
  says(R"({"model": "llama-3.1-8b", "parallel": {"tensors": "auto"}, "batch": {"sequence": 4096}})", "parallel.tensors cannot be \"auto\"");
  says("[]", "an object");
}

}  // namespace test_search_reader
