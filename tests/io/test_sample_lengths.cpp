// Distributed under the Boost Software License, Version 1.0.
// What launch files say of the order of samples and of padding, read and written.
#include "imported.hpp"

#include <headroom/bounds.hpp>
#include <headroom/decide.hpp>
#include <headroom/io/admission.hpp>
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

// LLaMA-Factory data/collator.py and hparams/parser.py get_train_args; TRL trainer/sft_trainer.py; ms-swift template/base.py data_collator; torchtune
// data/_collate.py; litgpt data/base.py get_sft_collate_fn; unsloth-cli.py; OpenRLHF datasets/sft_dataset.py; FastChat train.py (padding="max_length").
TEST_CASE("where a program pads to the longest sample, an imported job says that lengths are not known") {
  const std::string one = "--model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 2 --bf16 true ";
  const std::string tune = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\noptimizer:\n  _component_: torch.optim.AdamW\ntokenizer:\n  max_seq_len: 2048\ndtype: bf16\ndataset:\n  packed: ";
  const std::string lit = "checkpoint_dir: checkpoints/meta-llama/Llama-2-7b-hf\nprecision: bf16-true\ndevices: 1\ntrain:\n  max_seq_length: 512\n  micro_batch_size: 1\n  global_batch_size: 8\nlora_r: 8\nlora_query: true\n";
  const auto unknown = [](const imported::text& file) { return job_of({file}, {"hardware.gpus_per_node=1"}).batch.lengths == sample_lengths{.unknown = true}; };
  const auto alike = [](const imported::text& file) { return job_of({file}, {"hardware.gpus_per_node=1"}).batch.lengths == sample_lengths{}; };
  CHECK(unknown({"a.yaml", lora}));
  CHECK(unknown({"a.yaml", lora + "packing: false\n"}));
  CHECK(alike({"a.yaml", lora + "packing: true\n"}));
  CHECK(alike({"a.yaml", lora + "neat_packing: true\n"}));
  const auto texts = "stage: pt" + lora.substr(lora.find("stage: sft") + 10), as_pt = "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\n" + texts;
  CHECK(alike({"a.yaml", as_pt}));  // texts are joined unless packing says no
  CHECK(unknown({"a.yaml", as_pt + "packing: false\n"}));
  CHECK(unknown({"run.sh", "python trl/scripts/sft.py --dataset_name x --max_length 512 --loss_type nll " + one}));
  CHECK(alike({"run.sh", "python trl/scripts/sft.py --dataset_name x --max_length 512 --packing --loss_type nll " + one}));
  CHECK(unknown({"run.sh", "swift sft --model Qwen/Qwen2.5-0.5B --dataset x --max_length 512"}));
  CHECK(alike({"run.sh", "swift sft --model Qwen/Qwen2.5-0.5B --dataset x --max_length 512 --packing true --attn_impl flash_attn"}));
  CHECK(unknown({"run.yaml", tune + "false\n"}));
  CHECK(alike({"run.yaml", tune + "true\n"}));
  CHECK(unknown({"lora.yaml", lit}));
  CHECK(unknown({"run.sh", "deepspeed --module openrlhf.cli.train_sft --pretrain meta-llama/Meta-Llama-3-8B --max_len 2048 --micro_train_batch_size 2 --train_batch_size 16 --bf16 --zero_stage 2 --dataset_split train"}));
  CHECK(alike({"run.sh", "python run_clm.py --do_train --block_size 512 " + one}));
  CHECK(alike({"run.sh", "python fastchat/train/train.py --model_max_length 512 " + one}));
  // What overrides a file, in its order: a packed file under a command that pads.
  CHECK(job_of({{"a.yaml", lora + "packing: true\n"}, {"run.sh", "llamafactory-cli train a.yaml packing=false\n"}}, {"hardware.gpus_per_node=1"}).batch.lengths.unknown);
  CHECK_FALSE(job_of({{"a.yaml", lora}, {"run.sh", "llamafactory-cli train a.yaml packing=true\n"}}, {"hardware.gpus_per_node=1"}).batch.lengths.unknown);
}

TEST_CASE("what is known of lengths takes the place of that they are unknown, key by key") {
  const auto of = [](std::vector<std::string> sets) {
    sets.push_back("hardware.gpus_per_node=1");
    return job_of({{"sft.yaml", lora}}, sets).batch.lengths;
  };
  CHECK(of({}) == sample_lengths{.unknown = true});
  CHECK(of({"batch.lengths.unknown=false"}) == sample_lengths{});
  CHECK(of({"batch.lengths.mean=800", "batch.lengths.deviation=600", "batch.lengths.longer=truncated"}) == sample_lengths{.mean = 800, .deviation = 600, .longer = longer_samples::truncated});
  CHECK(of({"batch.lengths.list=[100, 100, 300]"}).longest() == 300);
  CHECK(of({R"(batch.lengths={"histogram": [[10, 20, 5]]})"}) == sample_lengths{.histogram = {{{10, 20, 5}}}, .buckets = 1});
  CHECK(of({"batch.lengths.samples=50"}) == sample_lengths{.unknown = true, .samples = 50});
  CHECK(of({"batch.packed=true"}) == sample_lengths{});
  // A job file's own word goes the same way.
  const auto written = io::job_to_json(job_of({{"sft.yaml", lora}}, {"hardware.gpus_per_node=1"})).dump();
  const auto again = [&](const std::vector<std::string>& sets) { return job_of({{"job.json", written}}, sets).batch.lengths; };
  CHECK(again({}) == sample_lengths{.unknown = true});
  CHECK(again({"batch.lengths.list=[100, 300]"}).longest() == 300);
  CHECK_FALSE(again({"batch.lengths.list=[100, 300]"}).unknown);
  CHECK(again({"batch.lengths.unknown=false"}) == sample_lengths{});
  const auto both = of({"batch.lengths.unknown=true", "batch.lengths.list=[5]"});  // refused where it is estimated (settle/check_lengths.hpp)
  CHECK((both.unknown && both.given()));
}

TEST_CASE("unknown lengths survive files of other programs, whose samples they are") {
  const auto j = job_of({{"sft.yaml", lora}}, {"hardware.gpus_per_node=1"});
  for (const auto target : {io::export_target::llama_factory, io::export_target::trl, io::export_target::axolotl}) {
    const auto text = io::exported(j, target);
    CHECK(text.find("as long as the limit") == std::string::npos);
    CHECK(job_of({{"again.yaml", text}}, {"hardware.gpus_per_node=1", "hardware.gpu=h100-sxm-80gb"}).batch == j.batch);
    auto same = j;
    same.batch.lengths = {};
    CHECK(io::exported(same, target).find("# All samples are as long as the limit") == 0);
  }
  auto padded = j;
  padded.batch.padded = true;
  CHECK_THROWS_WITH_AS((void)io::exported(padded, io::export_target::axolotl), doctest::Contains("axolotl cannot say batch.padded beside batch.lengths"), job_error);
}

// Whether it fits is asked of one function: with no confidence the prediction's own numbers, with one the upper end without what is cached and given back.
TEST_CASE("one verdict on a job of unknown lengths, whoever asks") {
  auto j = job_of({{"sft.yaml", lora}}, {"hardware.gpus_per_node=1"});
  bool fitted = false, doubted = false, refused = false;
  for (const int gib : {15, 17, 18, 19, 20, 22, 24, 28, 40}) {
    auto keys = io::job_to_json(j);
    keys["hardware"]["gpu"] = {{"name", "a100-sxm-80gb"}, {"memory_gib", gib}};
    const auto text = keys.dump();
    j = io::read_job(keys);
    const auto report = decide(j);
    const auto plain = io::admit({.job = text}), sure = io::admit({.job = text, .sure = confidence{0.95}});
    CHECK((plain.decision == io::decision::fits) == report.fits());
    CHECK((sure.decision == io::decision::fits) == fits(report, 0.95));
    fitted = fitted || fits(report, 0.95), doubted = doubted || (report.fits() && !fits(report, 0.95)), refused = refused || !report.fits();
  }
  CHECK((fitted && doubted && refused));
}

}  // namespace test_sample_lengths
