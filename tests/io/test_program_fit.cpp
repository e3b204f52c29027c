// Distributed under the Boost Software License, Version 1.0.
// headroom fit: what it says is what solve says of the job that it writes, and what was published of such runs.
#if defined(HEADROOM_PROGRAM)

#include "program.hpp"

#include <doctest/doctest.h>

namespace test_program_fit {

using namespace headroom;
using namespace test_programs;

namespace {

/// The value that solve finds for a key, null where there is none.
io::json_value solved(const scratch& at, const std::string& job, const std::string& key, const std::string& more = "") {
  return io::parse_json(at.run("solve " + job + " --json --for " + key + more).out, "solve").at("value");
}

io::json_value answer_of(const outcome& o) {
  CAPTURE(o.err);
  REQUIRE(o.status == 0);
  return io::parse_json(o.out, "fit");
}

}  // namespace

TEST_CASE("its numbers are solve's, of the job that it writes") {
  const scratch at;
  const auto job = at.file("job.json");
  for (const auto* asked : {"Qwen/Qwen2.5-7B --qlora --gpu rtx-3090", "llama-3.2-1b --full --gpu rtx-4090 --sequence 1024", "qwen2.5-1.5b --lora --gpu t4 --gpus 2 --micro 2 --taken 1.5"}) {
    CAPTURE(asked);
    const auto seen = answer_of(at.run(std::string{"fit "} + asked + " --json --write " + job));
    CHECK(seen["longest_sequence"]["predicted"] == solved(at, job, "batch.sequence"));
    CHECK(seen["longest_sequence"]["sure"] == solved(at, job, "batch.sequence", " --confidence 0.95"));
    CHECK(seen["largest_micro"]["predicted"] == solved(at, job, "batch.micro"));
    CHECK(seen["largest_micro"]["sure"] == solved(at, job, "batch.micro", " --confidence 0.95"));
    CHECK(seen["job"] == io::parse_json_file(job));
    CHECK(seen["more"]["sequence"] == 2 * seen["longest_sequence"]["predicted"].get<std::int64_t>());
  }
}

TEST_CASE("a model in place of a job is told where to go") {
  const scratch at;
  for (const auto* command : {"estimate Qwen/Qwen3-8B", "solve Qwen/Qwen3-8B --for batch.micro", "export Qwen/Qwen3-8B --to axolotl"}) {
    const auto o = at.run(command);
    CHECK(o.status == 2);
    CHECK(o.err == "headroom: Qwen/Qwen3-8B is a model, not a job file: headroom fit Qwen/Qwen3-8B --qlora --gpu NAME says what fits, --write FILE writes its job\n");
  }
  CHECK(holds(at.run("estimate qwen3-8.json").err, "qwen3-8.json cannot be opened"));
  std::ofstream{at.file("gpt2")} << R"({"model": "gpt2", "batch": {"sequence": 8}, "hardware": {"gpu": "t4"}})";
  CHECK(at.run("estimate " + at.file("gpt2")).status == 0);  // a file of that name is a job
}

TEST_CASE("a model that sees is asked for its images, and has an answer with them and without") {
  const scratch at;
  const std::string asked = "fit Qwen/Qwen3-VL-4B-Instruct --lora --gpu rtx-4090 --json";
  const auto refused = at.run(asked).err;
  CHECK(holds(refused, "--set batch.images.none=true where samples are text alone"));
  CHECK(holds(refused, "--set batch.images.width=1024 --set batch.images.height=768"));
  const auto longest = [&](const std::string& more) { return answer_of(at.run(asked + more))["longest_sequence"]["predicted"].get<std::int64_t>(); };
  const auto seen = longest(" --set batch.images.width=1024 --set batch.images.height=1024");
  CHECK(seen > 1024);  // as many tokens as an image of 64 x 64 patches has
  CHECK(longest(" --set batch.images.none=true") >= seen);
  const auto fixed = at.run("fit gemma-3-4b --lora --gpu rtx-4090");  // an image of one size, which its processor makes of any
  CHECK(holds(fixed.out, "1 image of 896 x 896 pixels in each sample; --set batch.images.none=true where samples are text alone"));
}

TEST_CASE("a model with Mamba has adapters on all that takes them, and says which one does not") {
  // peft tuners/tuners_utils.py _check_target_module_compatibility: Mamba's out_proj and conv1d take none.
  const scratch at;
  const auto targets_of = [&](const std::string& asked) { return answer_of(at.run("fit " + asked + " --gpu h200 --json"))["job"]["adapter"]; };
  const auto lora = targets_of("granite-4.0-h-tiny --lora");
  CHECK(lora["targets"] == io::parse_json(R"(["q_proj","k_proj","v_proj","o_proj","shared_gate","shared_up","shared_down","mixer_in"])", "targets"));
  CHECK_FALSE(lora.contains("base_skips"));
  const auto qlora = targets_of("falcon-h1-0.5b --qlora");
  CHECK(qlora["targets"] == io::parse_json(R"(["q_proj","k_proj","v_proj","o_proj","gate_proj","up_proj","down_proj","mixer_in"])", "targets"));
  CHECK(qlora["base_skips"] == io::parse_json(R"(["lm_head","mixer_out"])", "skips"));
  CHECK(targets_of("llama-3.2-1b --lora")["targets"] == "all-linear");
  CHECK(holds(at.run("fit falcon-h1-0.5b --qlora --gpu h200").out, "LoRA on every linear layer but Mamba's out_proj, over 4 bits of bitsandbytes"));
}

TEST_CASE("experts that are parameters have no adapters, and bitsandbytes does not quantise them") {
  // transformers of 2025-11, modeling_gpt_oss.py: GptOssExperts and GptOssTopKRouter hold nn.Parameter; 24 layers of 32 experts, which prepare_model_for_kbit_training makes fp32.
  const scratch at;
  const auto job = at.file("job.json");
  const auto seen = answer_of(at.run("fit gpt-oss-20b --qlora --gpu h200 --json --write " + job));
  CHECK(seen["job"]["adapter"]["targets"] == io::parse_json(R"(["q_proj","k_proj","v_proj","o_proj"])", "targets"));
  CHECK(seen["job"]["adapter"]["base_skips"] == io::parse_json(R"(["lm_head","experts_gate","experts_up","experts_down"])", "skips"));
  const double experts = 24.0 * 32 * (2880.0 * 5760 + 5760 + 2880.0 * 2880 + 2880) * 4;
  const double held = io::parse_json(at.run("estimate " + job + " --json").out, "estimate")["ranks"][0]["at_peak"]["parameters"].get<double>();
  CHECK(held > experts);
  CHECK(held < experts * 1.08);  // a head and an embedding of 201,088 x 2,880 in fp32 beside them
  const auto text = at.run("fit gpt-oss-20b --qlora --gpu rtx-3090");
  CHECK(text.status == 1);
  CHECK(holds(text.out, "experts are parameters, have none and are not quantised"));
  CHECK(holds(at.run("fit gpt-oss-20b --lora --gpu h200").out, "LoRA on every linear layer: experts are parameters, and have none, rank 16"));
  CHECK(answer_of(at.run("fit qwen3-30b-a3b --qlora --gpu h200 --json"))["job"]["adapter"]["targets"] == "all-linear");  // whose experts were linear layers
}

TEST_CASE("QLoRA of Llama-3.1-8B: the longest that ran lies between what is sure and what is predicted") {
  // unslothai/unsloth README.md, "Context length benchmarks", Hugging Face + FlashAttention-2: rank 32 on all linear layers, batch 1, padded to one length.
  const scratch at;
  struct row {
    const char* gpu;
    std::int64_t longest;
  };
  for (const auto& r : {row{"rtx-3060", 932}, row{"rtx-4080", 2551}, row{"rtx-3090", 5789}, row{"a100-sxm-40gb", 12264}, row{"rtx-a6000", 15502}, row{"a100-sxm-80gb", 28454}}) {
    CAPTURE(r.gpu);
    const auto seen = answer_of(at.run(std::string{"fit llama-3.1-8b --qlora --rank 32 --set attention=flash --set optimizer=adamw-8bit --json --gpu "} + r.gpu));
    CHECK(seen["longest_sequence"]["predicted"].get<std::int64_t>() >= r.longest);
    const double sure = seen["longest_sequence"]["sure"].get<double>();
    CHECK(sure == doctest::Approx(static_cast<double>(r.longest)).epsilon(0.15));
  }
}

TEST_CASE("what is taken for granted is said first, and not where it was said otherwise") {
  const scratch at;
  const auto text = at.run("fit llama-3.1-8b --qlora --gpu rtx-4090").out;
  for (const auto* line : {"Taken for granted (--set KEY=VALUE says otherwise)\n", "  framework  hf-trainer: Hugging Face Trainer with PEFT\n", "  adapter    LoRA on every linear layer, over 4 bits of bitsandbytes, rank 16\n",
                           "  optimizer  adamw: optim adamw_torch\n", "  recompute  full: gradient_checkpointing is on\n", "  attention  sdpa: "})
    CHECK(text.find(line) < text.find("longest sequence, micro-batch 1"));
  CHECK(holds(text, "largest micro-batch of 2,048 tokens"));
  CHECK(holds(text, ", twice as many:\nWhat would make it fit"));
  const auto other = answer_of(at.run("fit llama-3.1-8b --qlora --gpu rtx-4090 --json --set recompute=none --rank 8"));
  CHECK_FALSE(other["granted"].contains("recompute"));
  CHECK_FALSE(other["granted"].contains("adapter"));
  CHECK(other["granted"]["framework"]["value"] == "hf-trainer");
  CHECK(other["job"]["adapter"]["rank"] == 8);
  CHECK(answer_of(at.run("fit llama-3.1-8b --full --gpu h100-sxm-80gb --gpus 8 --json"))["granted"]["sharding"]["value"] == "zero3");
}

TEST_CASE("no sequence is longer than the positions that a model has learned, and no GPU computes in a format that it lacks") {
  // GPT-2 has 1,024 positions (openai/gpt-2 model card); tensor cores for bf16 came with Ampere.
  const scratch at;
  const auto old = at.run("fit gpt2 --full --gpu t4");
  CHECK(holds(old.out, "largest micro-batch of 1,024 tokens"));
  CHECK(holds(old.out, "The model has positions for 1,024 tokens, and no more.\n"));
  CHECK(holds(old.out, "fp16-autocast: fp32 weights, computed with in fp16: a model loaded in fp32, fp16=True"));
  const auto seen = answer_of(at.run("fit gpt2 --full --gpu t4 --json"));
  CHECK(seen["longest_sequence"]["predicted"] == 1024);
  CHECK(seen["more"]["advice"].empty());
  CHECK(seen["job"]["batch"]["sequence"] == 1024);
  CHECK(holds(at.run("fit gpt2 --full --gpu t4 --sequence 2048").err, "batch.sequence must be at most model.max_positions, the positions that this model has learned; they are (found 1024)"));
  for (const auto& one : {std::pair{"v100-32gb", "fp16"}, {"rtx-2080-ti", "fp16"}, {"a100-sxm-40gb", "bf16"}, {"mi300x-192gb", "bf16"}}) {
    CAPTURE(one.first);
    const auto job = answer_of(at.run(std::string{"fit llama-3.2-1b --lora --json --gpu "} + one.first))["job"];
    CHECK(job["precision"]["compute"] == one.second);
    CHECK(job["precision"]["parameters"] == one.second);
  }
}

TEST_CASE("where nothing fits, it says what would help") {
  const scratch at;
  const auto seen = at.run("fit llama-3.1-8b --lora --gpu rtx-3060 --json");
  CHECK(seen.status == 1);
  const auto json = io::parse_json(seen.out, "fit");
  CHECK(json["longest_sequence"]["predicted"].is_null());
  CHECK(json["largest_micro"]["sure"].is_null());
  CHECK(json["more"]["sequence"] == 2048);
  CHECK(json["more"]["advice"][0]["changes"][0] == "adapter.base nf4-double");
  CHECK(holds(at.run("fit llama-3.1-8b --lora --gpu rtx-3060").out, "none fits"));
}

TEST_CASE("where nothing fits, it says by how much, and what would in its place") {
  const scratch at;
  const auto text = at.run("fit llama-3.1-8b --full --gpu rtx-4090").out;
  // 8.03e9 weights and two moments of fp32 are 89.7 GiB; gradients come beside them, or the update's copies.
  const auto takes = text.find("It takes ");
  REQUIRE(takes != std::string::npos);
  CHECK(std::stod(text.substr(takes + 9)) > 89.7 + 29.9);
  CHECK(std::stod(text.substr(takes + 9)) < 89.7 + 29.9 + 40);
  const auto of = [&](const std::string& option, const std::string& call) {
    const auto line = text.find("\n  " + option + " ");
    REQUIRE(line != std::string::npos);
    auto n = text.substr(line + 3 + option.size());
    n = n.substr(0, n.find('\n'));
    std::erase(n, ',');
    CHECK(std::stoll(n) == answer_of(at.run("fit llama-3.1-8b --json --gpu rtx-4090 " + call))["longest_sequence"]["predicted"].get<std::int64_t>());
  };
  of("--lora", "--lora");
  of("--qlora", "--qlora");
  of("--full --gpus 8", "--full --gpus 8");
  CHECK_FALSE(holds(at.run("fit llama-3.1-70b --qlora --gpu rtx-3090").out, "in its place"));
}

TEST_CASE("a GPU may be named as its driver does, and what has no bf16 computes in fp16") {
  const scratch at;
  const auto plain = at.run("fit llama-3.2-1b --lora --gpu rtx-3090").out;
  for (const auto* name : {"'NVIDIA GeForce RTX 3090'", "'RTX 3090'", "3090"}) CHECK(at.run(std::string{"fit llama-3.2-1b --lora --gpu "} + name).out == plain);
  CHECK(holds(at.run("fit llama-3.2-1b --lora --gpu 'NVIDIA A100-SXM4-80GB'").out, "1 x a100-sxm-80gb"));
  CHECK(holds(at.run("fit llama-3.2-1b --lora --gpu 'NVIDIA RTX 6000 Ada Generation'").out, "1 x rtx-6000-ada"));
  CHECK(holds(at.run("fit llama-3.2-1b --lora --gpu '{\"name\": \"gtx-1080-ti\", \"memory_gib\": 10.9}'").out, "1 x gtx-1080-ti, of each 10.90 GiB"));
  CHECK(holds(at.run("fit llama-3.2-1b --qlora --gpu 'Tesla T4'").out, "what is not quantised becomes fp32 (prepare_model_for_kbit_training), and is computed with in fp16"));
  CHECK(holds(at.run("fit llama-3.2-1b --full --gpu 'Tesla V100-SXM2-32GB'").out, "fp16-autocast: fp32 weights, computed with in fp16"));
  CHECK(holds(plain, "frozen weights are bf16"));
  CHECK(holds(at.run("fit unsloth/Llama-3.2-1B-bnb-4bit --qlora --gpu rtx-4070").out, "llama-3.2-1b, "));
  CHECK(holds(at.run("fit unsloth/Llama-3.2-1B-unsloth-bnb-4bit --qlora --gpu rtx-4070").err, "quantised weights"));
}

TEST_CASE("a model without further positions is not advised how to have them") {
  const scratch at;
  const auto text = at.run("fit bert-base-uncased --full --gpu l4").out;
  CHECK(holds(text, "The model has positions for 512 tokens, and no more.\n"));
  CHECK_FALSE(holds(text, "What would"));
}

TEST_CASE("a config.json is as good as a name, and bad input gets a sentence") {
  const scratch at;
  const std::string with = " --lora --gpu rtx-4090 --json";
  const auto named = answer_of(at.run("fit llama-3.1-8b" + with));
  for (const auto* model : {"--config " HEADROOM_EXAMPLES "/models/llama-3.1-8b/config.json", HEADROOM_EXAMPLES "/models/llama-3.1-8b"})
    CHECK(answer_of(at.run("fit " + std::string{model} + with))["longest_sequence"] == named["longest_sequence"]);
  struct call {
    const char *arguments, *part;
  };
  for (const auto& bad : {call{"", "one of a model's name and --config"},
                          call{"llama-3.1-8b --config x.json --lora --gpu l4", "one of a model's name and --config"},
                          call{"llama-3.1-8b --gpu l4", "one of --qlora, --lora and --full"},
                          call{"llama-3.1-8b --lora --full --gpu l4", "not several"},
                          call{"llama-3.1-8b --lora", "--gpu NAME"},
                          call{"llama-3.1-8b --full --rank 8 --gpu l4", "--rank is of adapters"},
                          call{"llama-3.1-8b --lora --gpu rtx-4060-ti", "rtx-4060-ti-16gb"},
                          call{"llama-3.1-8x --lora --gpu l4", "did you mean \"llama-3.1-8b\"?"},
                          call{"llama-3.1-8b --lora --gpu l4 --sequence 0", "--sequence"},
                          call{"llama-3.1-8b --lora --gpu l4 --set optimiser=adamw", "did you mean \"optimizer\"?"},
                          call{"llama-3.1-8b --lora --gpu tpu-v5e", "laid out as a whole by a compiler"}}) {
    CAPTURE(bad.arguments);
    const auto seen = at.run(std::string{"fit "} + bad.arguments);
    CAPTURE(seen.err);
    CHECK(seen.status == 2);
    CHECK(one_sentence(seen));
    CHECK(holds(seen.err, bad.part));
  }
}

}  // namespace test_program_fit

#endif
