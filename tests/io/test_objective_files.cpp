// Distributed under the Boost Software License, Version 1.0.
// Files of other programs whose training compares answers: read as the objective of a job, or refused by name.
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/export.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_objective_files {

using namespace headroom;
using imported::job_of;
using imported::refusal_of;

namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// examples/train_lora/qwen3_lora_dpo.yaml of hiyouga/LLaMA-Factory ff6d4d12, but for its model's name here.
const std::string factory_dpo =
    "model_name_or_path: Qwen/Qwen3-4B\ntrust_remote_code: true\nstage: dpo\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n"
    "pref_beta: 0.1\npref_loss: sigmoid\ndataset: dpo_en_demo\ntemplate: qwen3_nothink\ncutoff_len: 2048\nmax_samples: 1000\npreprocessing_num_workers: 16\n"
    "dataloader_num_workers: 4\noutput_dir: saves/qwen3-4b/lora/dpo\nlogging_steps: 10\nsave_steps: 500\nplot_loss: true\noverwrite_output_dir: true\n"
    "save_only_model: false\nreport_to: none\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nlearning_rate: 5.0e-6\nnum_train_epochs: 3.0\n"
    "lr_scheduler_type: cosine\nwarmup_ratio: 0.1\nbf16: true\nddp_timeout: 180000000\nresume_from_checkpoint: null\n";
std::string changed(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}
const std::vector<std::string> one{"hardware.gpus_per_node=1"};

}  // namespace

TEST_CASE("LLaMA-Factory's preference training: pairs, and the adapters switched off for the reference") {
  const auto j = job_of({{"dpo.yaml", factory_dpo}}, one);
  CHECK(j.objective == objective{.kind = objective_kind::dpo, .code = method_code::llama_factory});
  CHECK(j.batch.micro == 1);
  const auto r = estimate(j);
  // Twenty numbers of the vocabulary, in bytes, for each of 2 × 2048 tokens.
  CHECK(r.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits].count() * 100 / (151'936 * 4096) == 1999);
  CHECK(r.ranks[0].at_peak[row::other_models] == bytes{0});
  CHECK(job_of({{"a.yaml", changed(factory_dpo, "pref_loss: sigmoid", "pref_loss: orpo")}}, one).objective.kind == objective_kind::orpo);
  CHECK(job_of({{"a.yaml", changed(factory_dpo, "pref_loss: sigmoid", "pref_loss: simpo")}}, one).objective.kind == objective_kind::simpo);
  CHECK(job_of({{"a.yaml", changed(factory_dpo, "pref_loss: sigmoid", "ref_model: Qwen/Qwen3-4B")}}, one).objective.reference == reference_way::copy);
  const auto kto = job_of({{"a.yaml", changed(factory_dpo, "stage: dpo", "stage: kto")}}, one);
  CHECK(kto.objective.kind == objective_kind::kto);
  CHECK_FALSE(objection_to(kto));
}

/// examples/train_lora/llama3_lora_ppo.yaml of its release 0.9.3, shortened.
TEST_CASE("LLaMA-Factory's PPO: a value head, and whose scores") {
  const std::string ppo =
      "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nreward_model: saves/llama3-8b/lora/reward\nstage: ppo\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n"
      "dataset: identity\ntemplate: llama3\ncutoff_len: 1024\noutput_dir: saves\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nlearning_rate: 1.0e-5\nbf16: true\nmax_new_tokens: 512\ntop_k: 0\ntop_p: 0.9\n";
  const auto read = [&](const std::string& from, const std::string& to, std::vector<std::string> set = one) { return job_of({{"ppo.yaml", changed(ppo, from, to)}}, set); };
  const auto refused = [&](const std::string& from, const std::string& to) { return refusal_of({{"ppo.yaml", changed(ppo, from, to)}}, one); };
  const auto j = job_of({{"ppo.yaml", ppo}}, one);
  CHECK(j.objective == objective{.kind = objective_kind::ppo, .code = method_code::llama_factory, .reference = reference_way::adapter_off, .reward_adapter = true});
  CHECK(j.rollout == rollout{.engine = engine_kind::trainer, .prompt = 1024, .completion = 512});
  CHECK(j.batch.sequence == 1536);
  CHECK(j.batch.accumulation == 8);
  CHECK_FALSE(objection_to(j));
  CHECK(read("max_new_tokens: 512\n", "").rollout.completion == 1024);  // generating_args.py
  CHECK(read("cutoff_len: 1024\n", "").rollout.prompt == 2048);
  const auto whole = read("reward_model: saves/llama3-8b/lora/reward", "reward_model_type: full\nreward_model: meta-llama/Meta-Llama-3-8B-Instruct");
  CHECK(whole.objective.frozen.model == whole.model);
  CHECK_FALSE(whole.objective.reward_adapter);
  CHECK_FALSE(objection_to(whole));
  const auto served = read("reward_model: saves/llama3-8b/lora/reward", "reward_model_type: api\nreward_model: http://localhost:8000");
  CHECK_FALSE(served.objective.has_reward());
  CHECK_FALSE(objection_to(served));
  CHECK(job_of({{"ppo.yaml", changed(changed(ppo, "finetuning_type: lora\nlora_rank: 8\nlora_target: all", "finetuning_type: full"), "reward_model: saves/llama3-8b/lora/reward", "reward_model_type: api\nreward_model: http://localhost:8000")}}, one).objective.reference == reference_way::copy);
  CHECK(read("template: llama3", "ref_model: meta-llama/Meta-Llama-3-8B-Instruct").objective.reference == reference_way::copy);
  CHECK(holds(refused("finetuning_type: lora\nlora_rank: 8\nlora_target: all", "finetuning_type: full"), "needs finetuning_type lora"));
  CHECK(holds(refused("template: llama3", "ref_model: other/one"), "another model than the trained one"));
  CHECK(holds(refused("template: llama3", "num_beams: 4"), "num_beams = 4"));
  CHECK(holds(refused("template: llama3", "reward_model_quantization_bit: 4"), "reward_model_quantization_bit = 4"));
  CHECK(holds(refused("finetuning_type: lora", "finetuning_type: freeze"), "finetuning_type"));
}

TEST_CASE("LLaMA-Factory's reward model: pairs, and a score beside the language head") {
  const auto j = job_of({{"rm.yaml", changed(factory_dpo, "stage: dpo", "stage: rm")}}, one);
  CHECK(j.objective == objective{.kind = objective_kind::reward, .code = method_code::llama_factory});
  CHECK_FALSE(objection_to(j));
  CHECK(estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits].count() >= 6LL * 151'936 * 4096);
}

TEST_CASE("what of it is not modelled is refused where it stands") {
  const auto refused = [](const std::string& from, const std::string& to) { return refusal_of({{"dpo.yaml", changed(factory_dpo, from, to)}}, one); };
  CHECK(holds(refused("stage: dpo", "stage: ppo"), "stage ppo needs reward_model"));
  CHECK(holds(refused("pref_loss: sigmoid", "pref_loss: other"), "dpo.yaml:9: pref_loss \"other\" is not modelled"));
  CHECK(holds(refused("pref_loss: sigmoid", "ref_model: Qwen/Qwen3-8B"), "dpo.yaml:9: a reference that is another model"));
  CHECK(holds(refused("pref_loss: sigmoid", "ref_model_quantization_bit: 4"), "ref_model_quantization_bit = 4 is not modelled"));
  CHECK(holds(refused("pref_loss: sigmoid", "enable_liger_kernel: true"), "enable_liger_kernel = true is not modelled"));
}

TEST_CASE("ms-swift's preference training, by its own scripts") {
  // examples/train/rlhf/dpo/lora.sh and full.sh of modelscope/ms-swift 3602360a, less their data and logging.
  const std::string lora =
      "CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --torch_dtype bfloat16 --num_train_epochs 1 "
      "--per_device_train_batch_size 1 --per_device_eval_batch_size 1 --learning_rate 1e-4 --lora_rank 8 --lora_alpha 32 --target_modules all-linear "
      "--gradient_accumulation_steps 16 --max_length 2048 --rpo_alpha 0.1 --dataset_num_proc 4\n";
  const std::string full =
      "NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --torch_dtype bfloat16 "
      "--per_device_train_batch_size 1 --gradient_accumulation_steps 4 --max_length 8192 --deepspeed zero3\n";
  const auto one_gpu = job_of({{"lora.sh", lora}});
  CHECK(one_gpu.objective == objective{.kind = objective_kind::dpo, .code = method_code::ms_swift, .sft_weight = 100'000});
  CHECK_FALSE(objection_to(one_gpu));
  CHECK(estimate(one_gpu).ranks[0].at_peak[row::other_models] == bytes{0});
  const auto four = estimate(job_of({{"full.sh", full}}));
  // A copy of 7,615,616,512 parameters in 16 bits, over four GPUs, and what ZeRO-3 leaves whole.
  const auto copy = four.ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::other_models];
  CHECK(copy >= bytes{2 * 7'615'616'512 / 4});
  CHECK(copy < bytes{2 * 7'615'616'512 / 4} + 2_MiB);
  const auto refused = [&](const std::string& more) { return refusal_of({{"lora.sh", lora.substr(0, lora.size() - 1) + " " + more + "\n"}}); };
  CHECK(job_of({{"a.sh", changed(lora, "_type dpo", "_type simpo")}}).objective.kind == objective_kind::cpo);
  CHECK(job_of({{"a.sh", changed(lora, "_type dpo", "_type simpo --cpo_alpha 0")}}).objective.kind == objective_kind::simpo);
  CHECK(holds(refused("--ref_model Qwen/Qwen2.5-72B-Instruct"), "a reference that is another model"));
  CHECK(holds(refused("--packing true"), "ms-swift stops where packing"));  // no kernel that takes pairs of one row apart
  CHECK_FALSE(objection_to(job_of({{"a.sh", changed(lora, "--rpo_alpha", "--packing true --attn_impl flash_attn --rpo_alpha")}})));
  CHECK(holds(refused("--use_liger_kernel true"), "use_liger_kernel = true is not modelled"));
}

TEST_CASE("a job of such a method is not written as a file that trains otherwise") {
  auto j = job_of({{"dpo.yaml", factory_dpo}}, one);
  for (const auto target : {io::export_target::hf_trainer, io::export_target::trl, io::export_target::llama_factory, io::export_target::axolotl}) {
    std::string why;
    try {
      (void)io::exported(j, target);
    } catch (const job_error& e) {
      why = e.what();
    }
    CHECK(holds(why, "objective.kind = \"dpo\""));
  }
}

}  // namespace test_objective_files
