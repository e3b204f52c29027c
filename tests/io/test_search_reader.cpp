// Distributed under the Boost Software License, Version 1.0.
// Job files with keys that are "auto".
#include <headroom/io/search_reader.hpp>
#include <headroom/io/sweep_reader.hpp>

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

TEST_CASE("what hardware that is \"auto\" needs, to the word") {
  const auto said = [](const std::string& hardware) {
    try {
      (void)read((R"({"model": "llama-3.1-8b", "batch": {"sequence": 4096, "global": 64}, "hardware": )" + hardware + "}").c_str());
    } catch (const error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  CHECK(said(R"({"gpu": "h100-sxm-80gb", "nodes": "auto", "max_nodes": 4})").empty());
  CHECK(said(R"({"gpu": "h100-sxm-80gb", "nodes": "auto"})") == "headroom: hardware.max_nodes is required where hardware.nodes is \"auto\": the most there can be");
  CHECK(said(R"({"gpu": "h100-sxm-80gb", "gpus_per_node": "auto"})") == "headroom: hardware.max_gpus_per_node is required where hardware.gpus_per_node is \"auto\": the most there can be");
  CHECK(said(R"({"gpu": "h100-sxm-80gb", "nodes": 2, "max_nodes": 4})") == "headroom: hardware.max_nodes goes with hardware.nodes \"auto\"");
  CHECK(said(R"({"gpu": ["h100-sxm-80gb", "a100-sxm-80gb"], "nodes": "auto", "max_nodes": 4})") == "headroom: hardware.nodes cannot be \"auto\" for several kinds of GPU: which would go is not said");
  CHECK(said(R"({"gpu": "h100-sxm-80gb", "nodes": "auto", "max_nodes": 0})") == "headroom: hardware.max_nodes must be a whole number from 1 to 1048576, found 0");
}

TEST_CASE("searches of a sweep, and what none is") {
  const auto of = [](const std::string& sweep) {
    try {
      return std::to_string(io::detail::sweep_values(io::parse_json(sweep, "sweep")).size());
    } catch (const error& e) {
      return std::string{e.what()};
    }
  };
  const auto list = [](int n) {
    std::string all = "[1";
    for (int i = 2; i <= n; ++i) all += ", " + std::to_string(i);
    return all + "]";
  };
  const auto most = io::detail::most_searches;
  const auto n = static_cast<int>(most);
  CHECK(of(R"({"batch.micro": [1, 2, 3], "batch.sequence": [1, 2]})") == "6");
  CHECK(of(R"([{"batch.micro": 1}, {"batch.micro": 2}])") == "2");
  CHECK(of("{\"batch.micro\": " + list(n) + "}") == std::to_string(most));
  CHECK(of("{\"batch.micro\": " + list(n + 1) + "}") == "headroom: sweep has more than " + std::to_string(most) + " combinations");
  CHECK(of(R"({"batch.micro": []})") == "headroom: sweep.batch.micro must be a list of values, found an empty list");
  CHECK(of(R"({"batch.micro": 3})") == "headroom: sweep.batch.micro must be a list of values, found 3");
  for (const auto* none : {"[]", "{}"}) CHECK(of(none).find("headroom: sweep must be an object of lists, or a list of objects, found ") == 0);
  CHECK(of("7") == "headroom: sweep must be an object of lists, or a list of objects, found 7");
  CHECK(of("[{}]").find("headroom: sweep[0] must be an object of keys and their values, found ") == 0);
  CHECK(of("[3]") == "headroom: sweep[0] must be an object of keys and their values, found 3");
}

}  // namespace test_search_reader
