// Distributed under the Boost Software License, Version 1.0.
// Pai-Megatron-Patch: each of its own arguments, and its scripts with the arguments that its READMEs start them with.
#include "launcher_keys.hpp"

#include <headroom/estimate.hpp>

namespace test_pai_megatron {

using namespace imported;

namespace {

/// A script with its own arguments; on nodes of eight H100.
job started(const imported::text& script, const std::string& arguments, std::vector<std::string> set = {}) {
  auto with = settings();
  int n = 0;
  for (std::size_t at = 0; at < arguments.size();) {
    const auto end = std::min(arguments.find(' ', at), arguments.size());
    with.script.environment.emplace_back(std::to_string(++n), arguments.substr(at, end - at));
    at = end + 1;
  }
  io::draft d;
  std::vector<io::import_input> all;
  all.push_back(io::input_of(script.said, script.file, io::file_kind::unknown, with));
  io::import_files(d, std::move(all), with);
  set.push_back("hardware.gpus_per_node=8");
  for (const auto& s : set) io::say_key(d, s);
  d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  return d.settled();
}
std::string refused(const imported::text& script, const std::string& arguments, std::vector<std::string> set = {}) {
  try {
    started(script, arguments, std::move(set));
  } catch (const headroom::error& e) {
    return e.what();
  }
  return {};
}
imported::text command(const std::string& more, const std::string& program = "pretrain_qwen.py --patch-tokenizer-type Qwen3Tokenizer --padded-vocab-size 151936") {
  return {"run.sh", "export PYTHONPATH=/pai:/pai/backends/megatron/Megatron-LM-250624:$PYTHONPATH\ntorchrun --nproc_per_node 8 " + program +
                        " --num-layers 4 --hidden-size 1024 --num-attention-heads 8 --ffn-hidden-size 3072 --seq-length 1024 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 8 --bf16 "
                        "--use-distributed-optimizer --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope " + more + "\n"};
}

}  // namespace

TEST_CASE("each argument alone") {
  const auto bare = job_of({command("")});
  for (const auto& l : launcher_keys::list_of("pai-megatron.txt")) {
    INFO(l.key << " " << l.verdict);
    const auto value = l.value.is_boolean() ? std::string{} : " " + (l.value.is_string() ? l.value.get<std::string>() : l.value.dump());
    // A rank's own name stands once on a command line.
    const bool names = l.key == "patch-tokenizer-type" || l.key == "padded-vocab-size" || l.key == "extra-vocab-size";
    const auto program = l.key == "padded-vocab-size" ? "pretrain_qwen.py --patch-tokenizer-type Qwen3Tokenizer" : "pretrain_qwen.py --patch-tokenizer-type Qwen3Tokenizer --padded-vocab-size 151936";
    if (names && l.key != "padded-vocab-size") continue;  // below
    const auto with = command("--" + l.key + value, program);
    const auto sentence = refusal_of({with});
    INFO(sentence);
    if (l.verdict == "refused") {
      CHECK(holds(sentence, l.key));
      continue;
    }
    REQUIRE(sentence.empty());
    CHECK((job_of({with}) == bare) == (l.verdict == "passed"));
  }
}

TEST_CASE("a vocabulary of a tokenizer and what is added to it") {
  const auto added = [](const std::string& more) { return job_of({command(more, "../qwen2/pretrain_qwen2_moe.py --patch-tokenizer-type Qwen2Tokenizer")}).model; };
  CHECK(added("--extra-vocab-size 293").vocab == 151'936);
  CHECK(added("--extra-vocab-size 421").vocab == 152'064);
  CHECK(added("--extra-vocab-size 421 --tensor-model-parallel-size 8").vocab_multiple == 1);
  CHECK(added("--extra-vocab-size 421 --padded-vocab-size 152192").vocab == 152'192);
  // What the checkpoint decides is asked for.
  CHECK(holds(refusal_of({command("--extra-vocab-size 467", "pretrain_deepseek.py --patch-tokenizer-type DeepSeekV2Tokenizer")}), "\"DeepSeekV2Tokenizer\" decides how large the vocabulary is: add --set model.vocab=N"));
}

TEST_CASE("the Megatron-LM that PYTHONPATH names") {
  auto c = command("");
  CHECK(job_of({c}).framework.date == 202504);  // the profile of 2025-06
  const auto other = [&](const std::string& backend) {
    auto r = c;
    r.said.replace(r.said.find("Megatron-LM-250624"), 18, backend);
    return r;
  };
  CHECK(job_of({other("Megatron-LM-260101")}).framework.date == 202511);
  CHECK(holds(refusal_of({other("Megatron-LM-241113")}), "over the Megatron-LM of 2024-11 builds layers of Pai-Megatron-Patch's own, which are not modelled by this version; read are pretrain_qwen.py with Qwen2Tokenizer, "
                                                         "pretrain_qwen2_moe.py with Qwen2Tokenizer, pretrain_qwen.py with Qwen3Tokenizer, pretrain_deepseek.py with DeepSeekV2Tokenizer, "));
  CHECK(holds(refusal_of({other("Megatron-LM")}), "no PYTHONPATH here names one of backends/megatron"));
}

TEST_CASE("what is not modelled is said") {
  CHECK(holds(refusal_of({command("--num-experts 8", "pretrain_qwen2_moe.py --patch-tokenizer-type Qwen2Tokenizer")}), "this program's experts are its own"));
  CHECK(holds(refusal_of({command("--dataset JSON-SFT --max-padding-length 2048")}), "samples are padded to max-padding-length, 2048, and seq-length is 1024"));
  CHECK(job_of({command("--dataset JSON-SFT --max-padding-length 1024 --train-mode finetune")}) == job_of({command("")}));
  CHECK(holds(refusal_of({command("--reset-position-ids")}), "documents of a row are told apart in attention"));
  CHECK(holds(refusal_of({command("--optimizer hybridadam")}), "optimizer must not be \"hybridadam\"; accepted: adam, lion"));
  CHECK(holds(refusal_of({command("", "pretrain_qwen.py --patch-tokenizer-type Qwen2VLTokenizer")}), "builds layers of Pai-Megatron-Patch's own"));
  // Programs that are not read keep their name.
  CHECK(holds(refusal_of({command("", "pretrain_llama.py --patch-tokenizer-type LLama3Tokenizer")}), " is for Pai-Megatron-Patch, which is not read by this version"));
}

// README.md of examples/qwen2_5 and its sizes; totals are those of the models' pages.
TEST_CASE("run_mcore_qwen.sh of Qwen 2.5") {
  const auto script = launch_file("pai-qwen2.5", "run_mcore_qwen.sh");
  const auto small = started(script, "dsw 0.5B 1 8 1e-5 1e-6 128 128 bf16 1 1 1 true true true false false false 100000 /d /d /c 10000 100 /o");
  CHECK(small.framework.label == "megatron");
  CHECK(small.hardware.nodes == 1);
  CHECK(small.parallel.tensor == 1);
  CHECK_FALSE(small.parallel.sequence);  // asked for, and without effect
  CHECK(small.batch == batch{.micro = 1, .sequence = 128, .accumulation = 1});
  CHECK(small.sharding.kind == sharding_kind::megatron_distributed_optimizer);
  CHECK(small.attention == attention::flash);
  CHECK(small.recompute.mode == recompute_mode::none);
  CHECK(small.model.tied);
  CHECK(estimate(small).parameter_count.total.count() == 494'032'768);
  const auto seven = started(script, "dsw 7B 1 8 1e-5 1e-6 4096 4096 bf16 4 2 1 true true false true sel false 100000 /d /d /c 10000 100 /o");
  CHECK(seven.parallel.tensor == 4);
  CHECK(seven.parallel.pipeline == 2);
  CHECK(seven.parallel.sequence);
  CHECK(seven.batch == batch{.micro = 1, .sequence = 4096, .accumulation = 8});
  CHECK(seven.attention == attention::te);
  CHECK(seven.recompute.mode == recompute_mode::selective);
  CHECK(seven.framework.communication.tensor_parallel == tensor_parallel_overlap::userbuffers);
  CHECK(estimate(seven).parameter_count.total.count() == 7'615'616'512);
  CHECK(estimate(started(script, "dsw 72B 1 8 1e-5 1e-6 4096 4096 bf16 8 1 1 true true true false full false 1 /d /d /c 10 10 /o")).parameter_count.total.count() == 72'706'203'648);
  // The number of GPUs is a command's output; the number of nodes, in a cluster, the environment's.
  CHECK(holds(refused(script, "dlc 7B 1 8 1e-5 1e-6 128 128 bf16 1 1 1 true true true false false false 1 /d /d /c 1 1 /o"), "--nnodes is \"$WORLD_SIZE\""));
  CHECK(holds(refused(script, "dsw 7B 1 8 1e-5 1e-6 128 128 bf16 1 1 1 true true true false offload false 1 /d /d /c 1 1 /o"), "cpu-offloading"));
}

TEST_CASE("run_mcore_qwen3.sh") {
  const auto script = launch_file("pai-qwen3", "run_mcore_qwen3.sh");
  const auto j = started(script, "dlc A3B 1 8 1e-5 1e-6 128 128 bf16 4 2 1 1 4 true true true false sel false 100000 /d /d /c 10000 100 /o", {"hardware.nodes=1"});
  CHECK(j.model.experts.count == 128);
  CHECK(j.model.experts.active == 8);
  CHECK(j.parallel.expert == 4);
  CHECK(j.parallel.expert_tensor == 1);
  CHECK(j.parallel.pipeline == 2);
  CHECK(estimate(j).parameter_count.total.count() == 30'532'122'624);
}

}  // namespace test_pai_megatron
