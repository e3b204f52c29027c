// Distributed under the Boost Software License, Version 1.0.
// What launch files evaluate between steps: read into the job's evaluation, left out where it takes less than a step, or refused.
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/export.hpp>

#include <doctest/doctest.h>

namespace test_evaluation_launches {

using namespace imported;

namespace {

const std::string run = "torchrun --nproc_per_node 8 ";
evaluation of(const std::string& command, const std::vector<std::string>& set = {"hardware.gpus_per_node=8"}) { return job_of({{"run.sh", command + "\n"}}, set).evaluation; }
std::string refused(const std::string& command, const std::vector<std::string>& set = {"hardware.gpus_per_node=8"}) { return refusal_of({{"run.sh", command + "\n"}}, set); }

const std::string clm = run + "run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 --block_size 2048 --per_device_train_batch_size 1 --do_train ";
const std::string factory = run + "src/train.py --model_name_or_path meta-llama/Llama-3.1-8B --stage sft --do_train true --finetuning_type lora --bf16 true --cutoff_len 2048 --per_device_train_batch_size 1 ";
const std::string swift = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 2048 --per_device_train_batch_size 1 ";
const std::string pairs = run + "trl/scripts/dpo.py --model_name_or_path Qwen/Qwen2.5-7B --dtype bfloat16 --bf16 true --max_length 1024 --per_device_train_batch_size 1 --gradient_checkpointing true --dataset_name a ";

}  // namespace

TEST_CASE("the Trainer evaluates 8 examples at once, where a strategy or do_eval says so") {
  CHECK(of(clm) == evaluation{});
  CHECK(of(clm + "--eval_strategy no --per_device_eval_batch_size 64") == evaluation{});
  CHECK(of(clm + "--eval_strategy steps") == evaluation{.batch = 8, .loss_only = true, .use_cache = choice::no});
  CHECK(of(clm + "--evaluation_strategy epoch --per_device_eval_batch_size 2") == evaluation{.batch = 2, .loss_only = true, .use_cache = choice::no});
  CHECK(of(clm + "--do_eval") == evaluation{.batch = 8, .loss_only = true, .use_cache = choice::no});
  CHECK(of(clm + "--do_eval --per_gpu_eval_batch_size 3") == evaluation{.batch = 3, .loss_only = true, .use_cache = choice::no});
  // run_clm.py keeps the likeliest tokens and the labels, in 8 bytes each, of as many examples as it is told.
  CHECK(of(clm + "--do_eval --max_eval_samples 100 --eval_accumulation_steps 4") == evaluation{.samples = 100, .batch = 8, .accumulation_steps = 4, .kept_bytes = 16, .use_cache = choice::no});
  CHECK(of(clm + "--do_eval --max_eval_samples 100 --prediction_loss_only true") == evaluation{.batch = 8, .loss_only = true, .use_cache = choice::no});
  CHECK(of(clm + "--do_eval", {"evaluation.batch=1", "evaluation.loss_only=true"}) == evaluation{.batch = 1, .loss_only = true, .use_cache = choice::no});
  CHECK(job_of({{"run.sh", clm + "--do_eval\n"}}).assumed_defaults - job_of({{"run.sh", clm + "--do_eval --prediction_loss_only true\n"}}).assumed_defaults == 1);
  CHECK(holds(refused(clm + "--do_eval --predict_with_generate true"), "predict_with_generate = true is not modelled"));
  CHECK(of(clm + "--predict_with_generate true") == evaluation{});
}

// transformers v5.0.0 src/transformers/trainer.py, __init__: self.model.config.use_cache = self.args.use_cache, which is False; 4.57 leaves the model's.
TEST_CASE("an evaluation makes keys and values where the model's use_cache stays as it is configured") {
  const auto before = [](const std::string& command, const std::string& release) { return of(command, {"hardware.gpus_per_node=8", "environment.transformers=" + release}).use_cache; };
  CHECK(before(clm + "--do_eval", "4.57") == choice::unset);
  CHECK(before(clm + "--do_eval", "5.0") == choice::no);
  CHECK(before(factory + "--do_eval true --disable_gradient_checkpointing true", "4.57") == choice::unset);
  // FastChat fastchat/train/train.py, train(): config.use_cache = False; alignment-handbook src/alignment/model_utils.py, get_model, and MedicalGPT: where
  // nothing is checkpointed it stays on.
  const std::string rest = "--model_name_or_path meta-llama/Llama-2-7b-hf --data_path a.json --bf16 True --per_device_train_batch_size 1 --model_max_length 2048 --evaluation_strategy steps ";
  CHECK(before("torchrun fastchat/train/train_mem.py " + rest, "4.31") == choice::no);
  CHECK(before("torchrun fastchat/train/train_lora.py " + rest, "4.31") == choice::no);
  const std::string tuned = "torchrun training/supervised_finetuning.py --model_name_or_path Qwen/Qwen2.5-7B --bf16 True --model_max_length 512 --use_peft False --do_eval --gradient_checkpointing ";
  CHECK(before(tuned + "True", "4.57") == choice::no);
  CHECK(before(tuned + "False", "4.57") == choice::unset);
}

// 13 billion parameters under FastChat's scripts/train_vicuna_13b.sh: 32 × 2,048 tokens are evaluated at once, whose keys and values would be 2 · 2 · 5,120 · 40 ·
// 65,536 = 53.7 GB.
TEST_CASE("FastChat's evaluation of 32 samples at once keeps no keys and values") {
  const auto j = job_of({{"run.sh", "torchrun --nproc_per_node=8 fastchat/train/train_mem.py --model_name_or_path ~/model_weights/llama-13b --bf16 True --per_device_train_batch_size 4 --per_device_eval_batch_size 32 --gradient_accumulation_steps 4 "
                                    "--evaluation_strategy steps --fsdp 'full_shard auto_wrap offload' --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer --model_max_length 2048 --gradient_checkpointing True\n"}});
  REQUIRE(j.evaluation.batch == 32);
  auto kept = j;
  kept.evaluation.use_cache = choice::yes;
  CHECK(estimate(kept).peak() - estimate(j).peak() >= bytes{std::int64_t{50'000'000'000}});
}

TEST_CASE("an evaluation that decides: Llama-3.1-8B in 16-bit ZeRO-3, 1 sample to train, 8 to evaluate") {
  const std::vector<std::string> set{"sharding=zero3", "framework=deepspeed", "hardware.gpus_per_node=8"};
  const auto command = factory + "--eval_strategy steps --deepspeed ds.json";
  auto j = job_of({{"run.sh", command + "\n"}}, set);
  CHECK(j.evaluation == evaluation{.batch = 8, .loss_only = true, .use_cache = choice::no});
  const auto with = estimate(j);
  j.evaluation = {};
  const auto without = estimate(j);
  CHECK(with.ranks[0].peak_phase == phase::evaluate);
  // The logits of 8 × 2048 tokens over 128,256 entries alone, in the format of the layers and in fp32: (2 + 4) · 128,256 · 16,384 bytes.
  CHECK(with.peak() > without.peak());
  CHECK(with.peak() >= bytes{std::int64_t{6} * 128'256 * 16'384});
}

TEST_CASE("LLaMA-Factory, ms-swift, axolotl, TRL and DeepSpeed-Chat, each by its own rules") {
  CHECK(of(factory + "--val_size 0.1") == evaluation{});
  CHECK(of(factory + "--do_eval true --per_device_eval_batch_size 1") == evaluation{.batch = 1, .loss_only = true, .use_cache = choice::no});
  CHECK(of(factory + "--do_eval true --disable_gradient_checkpointing true") == evaluation{.batch = 8, .loss_only = true, .use_cache = choice::no});
  CHECK(of(factory + "--do_eval true --predict_with_generate true") == evaluation{.batch = 8, .generate = 1024, .loss_only = true, .use_cache = choice::no});
  CHECK(of(factory + "--do_eval true --predict_with_generate true --max_new_tokens 64").generate == 64);
  CHECK(holds(refused(factory + "--do_eval true --predict_with_generate true --eval_num_beams 4"), "eval_num_beams = 4 is not modelled"));
  CHECK(of(swift) == evaluation{});
  CHECK(of(swift + "--split_dataset_ratio 0.01") == evaluation{.batch = 1, .loss_only = true, .use_cache = choice::no});
  CHECK(of(swift + "--val_dataset a --per_device_eval_batch_size 4").batch == 4);
  CHECK(of(swift + "--val_dataset a --eval_strategy no") == evaluation{});
  CHECK(of(swift + "--val_dataset a --save_strategy no") == evaluation{});
  CHECK(of(swift + "--eval_strategy steps") == evaluation{});  // of nothing
  // From 3.0 to 3.5 ms-swift divided the data by itself (swift/llm/argument/base_args/data_args.py of 5df8180fd^, split_dataset_ratio 0.01).
  const std::vector<std::string> before{"hardware.gpus_per_node=8", "environment.ms-swift=3.5"}, since{"hardware.gpus_per_node=8", "environment.ms-swift=3.6"};
  CHECK(of(swift, before) == evaluation{.batch = 1, .loss_only = true, .use_cache = choice::no});
  CHECK(of(swift, since) == evaluation{});
  for (const auto* none : {"--split_dataset_ratio 0", "--eval_strategy no", "--save_strategy no", "--streaming true"})
    CHECK(of(swift + none, before) == evaluation{});
  CHECK(of(swift + "--tuner_type lora", before) == evaluation{});  // a word of release 4
  const auto told = draft_of({{"run.sh", swift + "--train_type lora\n"}}).notes;
  CHECK(std::any_of(told.begin(), told.end(), [](const std::string& n) { return holds(n, "run.sh: split_dataset_ratio is not given: nothing is evaluated since ms-swift 3.6"); }));
  CHECK(of(pairs + "--eval_strategy steps") == evaluation{.batch = 8, .loss_only = true, .use_cache = choice::no});
  CHECK(of(pairs + "--do_eval") == evaluation{});  // TRL's script does not
}

#if HEADROOM_HAS_YAML
TEST_CASE("axolotl evaluates as many rows as it trains on") {
  const auto file = [](const std::string& more) { return job_of({{"a.yaml", "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 2048\nmicro_batch_size: 2\nflash_attention: true\ndatasets:\n  - path: a\n    type: alpaca\nbf16: true\ngradient_checkpointing: true\noptimizer: adamw_torch_fused\n" + more}}).evaluation; };
  CHECK(file("val_set_size: 0.05\n") == evaluation{});
  CHECK(file("evals_per_epoch: 4\nval_set_size: 0.0\n") == evaluation{});
  CHECK(file("evals_per_epoch: 4\nval_set_size: 0.05\n") == evaluation{.batch = 2, .loss_only = true, .use_cache = choice::no});
  CHECK(file("eval_steps: 20\nval_set_size: 0.05\neval_batch_size: 1\n").batch == 1);
  CHECK(file("eval_steps: 20\nval_set_size: 0.05\nsample_packing: true\n").batch == 1);  // one row of both
  const auto refused_file = [](const std::string& more) { return refusal_of({{"a.yaml", "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 2048\nmicro_batch_size: 2\nflash_attention: true\ndatasets:\n  - path: a\n    type: alpaca\n" + more}}); };
  CHECK(holds(refused_file("eval_steps: 20\nval_set_size: 0.05\nsample_packing: true\neval_batch_size: 1\n"), "eval_batch_size = 1 is not modelled"));
  CHECK(holds(refused_file("val_set_size: 0.05\nwandb_project: mine\neval_table_size: 5\n"), "eval_table_size = 5 is not modelled"));
  CHECK(refused_file("val_set_size: 0.0\neval_table_size: 5\n") == "");
}
#endif

TEST_CASE("where evaluation is not modelled it is left out if a step takes more, else refused") {
  const std::string spread = "CUDA_VISIBLE_DEVICES=0,1 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 2048 --per_device_train_batch_size 2 --val_dataset a ";
  CHECK(of(spread, {}) == evaluation{});
  CHECK(holds(refused(spread + "--per_device_eval_batch_size 3", {}), "evaluation with layers spread over GPUs"));
  CHECK(holds(refused(spread + "--use_liger_kernel true", {}), "ms-swift spreads layers over the 2 GPUs of a process, and stops there beside use_liger_kernel"));
}

TEST_CASE("an evaluation is written out, and reads back") {
  const auto j = job_of({{"run.sh", clm + "--eval_strategy steps --prediction_loss_only true --dtype bfloat16 --attn_implementation sdpa --gradient_checkpointing true --gradient_checkpointing_kwargs '{\"use_reentrant\": false}'\n"}});
  REQUIRE(j.evaluation.batch == 8);
  const auto text = io::exported(j, io::export_target::hf_trainer);
  CHECK(holds(text, "per_device_eval_batch_size: 8\n"));
}

}  // namespace test_evaluation_launches
