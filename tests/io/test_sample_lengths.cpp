// Distributed under the Boost Software License, Version 1.0.
// What launch files say of the order of samples and of padding, read and written.
#include "imported.hpp"

#include <headroom/io/export.hpp>
#include <headroom/io/import.hpp>

#include <doctest/doctest.h>

namespace test_sample_lengths {

using namespace imported;

namespace {

const std::string lora =
    "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\ncutoff_len: 2048\n"
    "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n";
io::json_value lengths_of(const std::string& more, std::vector<std::string> sets = {}) {
  sets.push_back("hardware.gpus_per_node=1");
  const auto d = draft_of({{"sft.yaml", lora + more}}, sets);
  const auto batch = d.job.at("batch");
  return batch.contains("lengths") ? batch.at("lengths") : io::json_value{};
}

}  // namespace

TEST_CASE("group_by_length is the order of samples, whose lengths the data says") {
  CHECK(lengths_of("").is_null());
  CHECK(lengths_of("group_by_length: false\n").is_null());
  CHECK(lengths_of("group_by_length: true\n") == io::json_value{{"order", "grouped"}});
  CHECK(lengths_of("train_sampling_strategy: group_by_length\n") == io::json_value{{"order", "grouped"}});
  CHECK(lengths_of("train_sampling_strategy: random\n").is_null());
  CHECK(lengths_of("group_by_length: true\npacking: true\n").is_null());  // all rows are of one length
  CHECK(lengths_of("group_by_length: true\n", {R"(batch.lengths={"mean": 800, "deviation": 600, "longer": "truncated", "order": "grouped"})"}).at("mean") == 800);
}

TEST_CASE("the order of samples is written where a file can say it, and their lengths nowhere") {
  auto d = draft_of({{"sft.yaml", lora + "group_by_length: true\n"}}, {"hardware.gpus_per_node=1"});
  auto j = d.settled();
  CHECK(j.batch.lengths.order == sample_order::grouped);
  CHECK(io::exported(j, io::export_target::llama_factory).find("group_by_length: true") != std::string::npos);
  j.batch.lengths = {.mean = 800, .deviation = 600, .longer = longer_samples::truncated, .order = sample_order::sorted};
  CHECK_THROWS_AS((void)io::exported(j, io::export_target::llama_factory), job_error);
}

}  // namespace test_sample_lengths
