// Distributed under the Boost Software License, Version 1.0.
// All keys that stop an import are named at once; and what a sentence tells people to say does what it says.
#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_refused_keys {

using namespace imported;

namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
const std::string file = "model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct\nstage: sft\ndo_train: true\ndataset: x\ntemplate: qwen\ncutoff_len: 1024\nbf16: true\n";
std::string of(const std::string& more) { return refusal_of({{"a.yaml", file + more}}); }
const std::string first = "headroom: a.yaml:8: alpha_key is not known here, and may change what is allocated: take it out, or go on without it by --ignore alpha_key";

}  // namespace

TEST_CASE("the others are named behind the first key that stops an import") {
  CHECK(of("alpha_key: 1\n") == first);
  CHECK(of("alpha_key: 1\nbeta_key: 2\n") == first + "; one more stops the import: --ignore beta_key");
  CHECK(of("alpha_key: 1\nbeta_key: 2\nresize_vocab: true\n") == first + "; 2 more stop the import: --ignore beta_key --ignore resize_vocab");
  CHECK(holds(of("alpha_key: 1\ncutoff_lenn: 2\n"), "one more stops the import: --ignore cutoff_lenn (did you mean cutoff_len?)"));
  // What is wrong behind them may come of them.
  CHECK(holds(refusal_of({{"ds.json", R"({"zero_optimization": {"stage": 2}, "alpha_key": 1})"}, {"a.yaml", file + "fp16: true\ndeepspeed: ds.json\n"}}), "ds.json:1: alpha_key is not known here"));
  CHECK(draft_of({{"a.yaml", file + "alpha_key: 1\nbeta_key: 2\n"}}, {}, io::auto_means::by_trainer, {"alpha_key", "beta_key"}).ignored == std::vector<std::string>{"alpha_key", "beta_key"});
  std::string many;
  for (int i = 0; i < 40; ++i) many += "key_" + std::to_string(100 + i) + ": 1\n";
  CHECK(holds(of(many), "; 39 more stop the import: --ignore key_101 --ignore key_102"));
  CHECK(of(many).ends_with(" and others"));  // an error holds 399 bytes
}

// megatron/training/arguments.py: --transformer-impl is local before 2024-04 (e7b74a4b7e) and transformer_engine since, and pretrain_t5.py has --decoder-num-layers since 2022-10.
TEST_CASE("a release that is said over a file is known before it is read") {
  const std::string run = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --tokenizer-type NullTokenizer --vocab-size 32000 --bf16 --train-iters 10 --lr 1e-4";
  CHECK(job_of({{"run.sh", run}}).attention == attention::te);
  CHECK(job_of({{"run.sh", run}}, {"framework.version=2023-05"}).attention == attention::eager);
  CHECK(job_of({{"run.sh", run}}, {"framework.version=2025-11"}).attention == attention::te);
}

// IFS=, read A B <<< "$each": what read makes of it is not known, unless it is given.
TEST_CASE("a value that is given stands for what a script reads") {
  const std::string run = "for each in \"2,1\"; do\n  IFS=, read -r TP PP <<< \"$each\"\n  torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 "
                          "--tokenizer-type NullTokenizer --vocab-size 32000 --bf16 --train-iters 10 --lr 1e-4 --tensor-model-parallel-size $TP\ndone\n";
  CHECK(holds(refusal_of({{"run.sh", run}}), "tensor-model-parallel-size is \"$TP\", which the file itself does not say"));
  auto with = settings();
  with.script.environment = {{"TP", "2"}};
  io::draft d;
  io::import_files(d, {io::input_of(run, "run.sh", io::file_kind::unknown, with)}, with);
  d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  CHECK(d.settled().parallel.tensor == 2);
}

TEST_CASE("a file that sed makes too large is refused with its place") {
  std::string run;
  for (int i = 0; i < 6; ++i) run += "sed -i s/x/xxxxxxxxxxxxxxxx/g ds.json\n";
  run += "accelerate launch --num_processes 1 trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name d --max_length 1024 --bf16 --deepspeed ds.json\n";
  const auto why = refusal_of({{"run.sh", run}, {"ds.json", R"({"zero_optimization": {"stage": 2}, "note": "xx"})"}});
  CHECK(why.starts_with("headroom: run.sh:"));
  CHECK(holds(why, ": sed makes more than 1 MiB of a file: give the file as sed leaves it, in a script without that line"));
}

}  // namespace test_refused_keys

#endif
