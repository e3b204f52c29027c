// Distributed under the Boost Software License, Version 1.0.
// Conditions of two halves, each half without its usual other.
#include "imported.hpp"

#include <headroom/io/job_reader.hpp>
#include <headroom/io/sweep_reader.hpp>
#include <headroom/io/syntax/notebook.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace test_partners {

using namespace imported;

namespace {
job reading(const std::string& keys) { return io::read_job(io::parse_json(R"({"model": "llama-3.1-8b", )" + keys + "}", "job")); }
}  // namespace

TEST_CASE("a batch of so many tokens beside a method that no program is named for") {
  CHECK(reading(R"("objective": {"kind": "reward"}, "batch": {"micro": 3, "sequence": 512, "max_tokens": 512})") == reading(R"("objective": {"kind": "reward"}, "batch": {"micro": 1, "sequence": 512})"));
  CHECK(reading(R"("objective": "reward", "batch": {"micro": 3, "sequence": 512, "max_tokens": 512})") == reading(R"("objective": "reward", "batch": {"micro": 1, "sequence": 512})"));
}

TEST_CASE("a sweep's entries are named by their place, in a list and in a product") {
  const auto why = [](const std::string& text) {
    try {
      (void)io::read_sweep(io::parse_json(text, "search"));
    } catch (const headroom::error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  const std::string rest = R"("model": "llama-3.1-8b", "batch": {"micro": 1, "sequence": 512}})";
  CHECK(why(R"({"sweep": [{"batch.micro": 1}, {"sweep": 1}], )" + rest) == "headroom: sweep[1].sweep: a sweep cannot hold another");
  CHECK(why(R"({"sweep": {"sweep": [1]}, )" + rest) == "headroom: sweep.sweep: a sweep cannot hold another");
  CHECK(why(R"({"sweep": [{"batch.micro": 1}, {"model.x.y": 1}], )" + rest).starts_with("headroom: sweep[1].model.x.y sets a key of model"));
}

#if HEADROOM_HAS_YAML

TEST_CASE("the first process alone loads weights under both forms of FSDP, and under nothing else") {
  const std::string clm = "run_clm.py --model_name_or_path gpt2 --torch_dtype float32 --per_device_train_batch_size 1 --block_size 512";
  const auto loads = [&](const std::string& accelerate) {
    return job_of({{"a.sh", "accelerate launch --config_file f.yaml " + clm}, {"f.yaml", accelerate + "num_machines: 1\nnum_processes: 8\nmixed_precision: bf16\n"}}, {"environment.transformers=4.57"}).sharding.loads_once;
  };
  const std::string wrapped = "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true\n";
  CHECK(loads("distributed_type: FSDP\nfsdp_config:\n" + wrapped));
  CHECK(loads("distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n" + wrapped));
  CHECK_FALSE(loads("distributed_type: MULTI_GPU\n"));
  CHECK_FALSE(job_of({{"a.sh", "export FSDP_CPU_RAM_EFFICIENT_LOADING=1\ntorchrun --nproc_per_node 8 " + clm}}, {"environment.transformers=4.57"}).sharding.loads_once);
}

TEST_CASE("a file that stands on a later line of a script is asked for by that line") {
  CHECK(refusal_of({{"sft.sh", "\n\nNPROC_PER_NODE=4 megatron sft sft.yaml\n"}}).starts_with("headroom: sft.sh:3"));
  CHECK(refusal_of({{"sft.sh", "X=$'a\nb'\nNPROC_PER_NODE=4 megatron sft sft.yaml\n"}}).starts_with("headroom: sft.sh:3"));
  CHECK(refusal_of({{"a.sh", "A=(\n  --model_name_or_path gpt2\n  --bogus 3\n)\ntorchrun --nproc_per_node 2 run_clm.py \"${A[@]}\"\n"}}).starts_with("headroom: a.sh:3: bogus is not known"));
}

#endif

TEST_CASE("DeepSpeed-Chat's folder is said anywhere among its arguments") {
  const std::string before = "deepspeed main.py ", folder = "--output_dir ./output_step1_opt ", rest = "--model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 4 --max_seq_len 512 --zero_stage 2 ";
  const auto last = refusal_of({{"run.sh", before + rest + folder + "\n"}}, {"hardware.gpus_per_node=8"}), first = refusal_of({{"run.sh", before + folder + rest + "\n"}}, {"hardware.gpus_per_node=8"});
  CHECK(first == last);
  CHECK(!holds(first, "which of its"));
  CHECK(!holds(first, "one of DeepSpeed-Chat's three steps"));
  CHECK(holds(refusal_of({{"run.sh", before + rest + "--seed 1\n"}}, {"hardware.gpus_per_node=8"}), "one of DeepSpeed-Chat's three steps"));
}

TEST_CASE("--deepspeed without a file is not the Trainer's, wherever it stands") {
  const std::string rest = " --model_name_or_path gpt2 --per_device_train_batch_size 1 ";
  const auto why = [](const std::string& arguments) { return refusal_of({{"a.sh", "torchrun --nproc_per_node 2 mine.py" + arguments + "\n"}}, {"batch.sequence=512"}); };
  CHECK(why(rest + "--deepspeed").find("mine.py") != std::string::npos);
  CHECK(why(" --deepspeed" + rest).find("mine.py") != std::string::npos);
  CHECK(why(rest).empty());
}

TEST_CASE("ms-swift's logits of answers alone are named where no sequence is cut") {
  const auto named = [](const std::string& more) {
    const auto d = draft_of({{"run.sh", "NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 --torch_dtype bfloat16 --attn_impl flash_attn --per_device_train_batch_size 1 " + more + "\n"}});
    return std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return holds(n, "keeps logits of answers alone"); });
  };
  CHECK(named(""));
  CHECK(named("--sequence_parallel_size 1"));
  CHECK_FALSE(named("--sequence_parallel_size 2 --packing true --gradient_accumulation_steps 2"));
  CHECK_FALSE(named("--use_logits_to_keep false"));
}

// Where a line of a cell stands in the file is searched for as long as there is work left, 4 MiB of it.
TEST_CASE("lines of a notebook have their place until a hostile one has used up the search") {
  const auto last_line = [](int escaped) {
    std::string cells;
    for (int i = 0; i < escaped; ++i) cells += "\"\\u0061 = 1\\n\",\n";
    const auto source = io::python_of_notebook("{\"cells\": [{\"cell_type\": \"code\", \"source\": [\n" + cells + "\"b = 2\\n\"\n]}], \"nbformat\": 4}", "a.ipynb");
    return source.lines.back();
  };
  CHECK(last_line(0) == 2);
  CHECK(last_line(20) == 22);  // written with escapes, the lines before are not found; this one is
  CHECK(last_line(2000) == 1);  // 2,000 × 2 × 32 kB
}

}  // namespace test_partners
