// Distributed under the Boost Software License, Version 1.0.
// Every argument that the parsers of programs over the Trainer have is read, harmless, or stops the import. The lists in tests/data/launchers
// were made from the parsers' sources.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "imported.hpp"

namespace test_trainer_arguments {

using namespace imported;

namespace {

/// What the import says where the program is given `key: value` beside the least that makes a job.
std::string answer(const io::detail::training_program& program, const std::string& key, const io::json_value& value) {
  io::document from{.source = "args.yaml", .root = {{"model_name_or_path", "llava-1.5-7b"}, {"per_device_train_batch_size", 1}, {"bf16", true}, {"gradient_checkpointing", true}}, .lines = {}};
  if (program.name == "llama-factory") from.root["finetuning_type"] = "full", from.root["pure_bf16"] = true;
  if (program.name == "trl-sft" || program.name == "ms-swift") from.root["max_length"] = 64;
  if (program.name == "ms-swift") {
    from.root["model"] = "qwen2.5-7b";
    from.root.erase("model_name_or_path");
  }
  if (program.name == "axolotl") from.root = {{"base_model", "meta-llama/Llama-3.1-8B"}, {"micro_batch_size", 1}, {"flash_attention", true}};
  if (program.name == "trl-gkd") from.root["lmbda"] = 0, from.root["teacher_model_name_or_path"] = "qwen2.5-7b";
  if (key.starts_with("vllm_") && !program.method.empty()) from.root["use_vllm"] = true;
  from.root[key] = value;
  try {
    io::draft d;
    d.half = io::draft::said{"bf16", "accelerate"};
    io::import_trainer(d, from, &program);
  } catch (const headroom::error& e) {
    return e.what();
  }
  return {};
}
bool unknown(const std::string& said) { return holds(said, " is not known here"); }
bool unmodelled(const std::string& said) { return holds(said, "is not modelled by this version"); }

io::json_value value_of(const std::string& word) {
  if (word == "true" || word == "false") return word == "true";
  if (!word.empty() && word.find_first_not_of("-.0123456789") == std::string::npos) return io::parse_json(word, "value");
  return word;
}

}  // namespace

TEST_CASE("each argument alone") {
  int arguments = 0;
  for (const std::string name : {"transformers", "llama-factory", "trl-sft", "trl-dpo", "trl-kto", "trl-orpo", "trl-cpo", "trl-reward", "trl-prm", "trl-gkd", "trl-grpo", "trl-rloo", "medicalgpt", "llava", "open-instruct",
                                 "ms-swift", "axolotl"}) {
    const auto* program = io::detail::program_named(name);
    REQUIRE(program != nullptr);
    std::ifstream in{std::string{HEADROOM_TEST_DATA} + "/launchers/" + name + ".txt"};
    REQUIRE(in.good());
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream words{line};
      std::string key, is, off;
      words >> key >> is >> off;
      ++arguments;
      CAPTURE(name);
      CAPTURE(key);
      if (is == "harmless") {
        CHECK(answer(*program, key, "something") == "");
        CHECK(answer(*program, key, 7) == "");
      } else if (is == "old") {
        const auto said = answer(*program, key, "something");
        CHECK_MESSAGE((holds(said, "ended with TRL") || holds(said, key)), said);
      } else if (is == "read") {
        CHECK_FALSE(unknown(answer(*program, key, true)));
      } else {
        CHECK(answer(*program, key, nullptr) == "");
        const auto said = answer(*program, key, "surely-something-else");
        CHECK_MESSAGE((unmodelled(said) || holds(said, key)), said);
        if (!off.empty()) CHECK(answer(*program, key, value_of(off.substr(0, off.find('|')))) == "");
      }
    }
    CHECK(unknown(answer(*program, "no_such_argument", 1)));
  }
  CHECK(arguments > 1500);
}

TEST_CASE("a key that is passed over is named in the job") {
  io::draft d;
  d.ignores = {"no-such_argument"};
  io::document from{.source = "args.yaml", .root = {{"model_name_or_path", "meta-llama/Llama-3.1-8B"}, {"per_device_train_batch_size", 1}, {"no_such_argument", 1}, {"bf16", true}, {"block_size", 64}}, .lines = {{"no_such_argument", 3}}};
  io::import_trainer(d, from, io::detail::program_named("run-clm"));
  io::say_key(d, "hardware.gpu=h100-sxm-80gb");
  CHECK(d.settled().ignored_keys == 1);
  CHECK(d.ignored == std::vector<std::string>{"no_such_argument"});
  CHECK(std::find(d.notes.begin(), d.notes.end(), "args.yaml:3: no_such_argument is ignored, as asked") != d.notes.end());
  CHECK(io::read_job(io::parse_json(R"({"model": "gpt2", "batch": {"sequence": 8}, "ignored_keys": ["a", "b"]})", "job")).ignored_keys == 2);
}

TEST_CASE("LLaMA-Factory's limit of pixels stands for the size of images, and --set for both") {
  // examples/train_lora/qwen2_5vl_lora_sft.yaml of the project (2025), its values.
  const std::string sees =
      "model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct\nimage_max_pixels: 262144\nvideo_max_pixels: 16384\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\n"
      "lora_target: all\ndataset: mllm_demo\ntemplate: qwen2_vl\ncutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n";
  const auto read = draft_of({{"sft.yaml", sees}}, {"hardware.gpus_per_node=1"});
  CHECK(read.job["batch"]["images"] == io::json_value{{"width", 512}, {"height", 512}});
  REQUIRE(read.assumed.size() >= 2);
  CHECK(std::any_of(read.assumed.begin(), read.assumed.end(), [](const std::string& a) { return holds(a, "one of 512 × 512 pixels in each sample, the most that image_max_pixels lets it have"); }));
  CHECK(std::count(read.assumed.begin(), read.assumed.end(), "no sample holds a video") == 1);
  CHECK(draft_of({{"sft.yaml", sees}}, {"hardware.gpus_per_node=1", R"(batch.images={"width": 640, "height": 480, "count": 2})"}).job["batch"]["images"] == io::json_value{{"width", 640}, {"height", 480}, {"count", 2}});
}

// transformers/training_args.py: fsdp is an empty list where nothing is asked for, and stands so in a file that the Trainer wrote.
TEST_CASE("an empty list of FSDP's words asks for none, beside DeepSpeed too") {
  const std::string run = "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: full\nbf16: true\npure_bf16: true\ncutoff_len: 2048\nper_device_train_batch_size: 1\ndeepspeed: ds.json\n";
  const imported::text engine{"ds.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1})"};
  const auto of = [&](const std::string& more) { return job_of({{"sft.yaml", run + more}, engine}, {"hardware.gpus_per_node=8"}); };
  CHECK(of("fsdp: []\n") == of(""));
  CHECK(of("fsdp: ''\n") == of(""));
  CHECK(of("fsdp: false\n") == of(""));
  CHECK(holds(refusal_of({{"sft.yaml", run + "fsdp: [full_shard]\n"}, engine}, {"hardware.gpus_per_node=8"}), "asks for FSDP beside DeepSpeed (sft.yaml:8), at which the Trainer ends"));
}

}  // namespace test_trainer_arguments
