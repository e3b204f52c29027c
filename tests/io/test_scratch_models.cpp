// Distributed under the Boost Software License, Version 1.0.
// Models that run_clm.py makes anew, as the scripts of BigScience's experiments do (bigscience-workshop/bigscience 9e64edec experiments/gpt2-hf-ds).
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_scratch_models {

using namespace imported;

namespace {

/// hf_ds_gpt2_perf_n16.slurm, shortened: `model` stands where its own does.
imported::text script(const std::string& model) {
  return {"n16.slurm", "#!/bin/bash\n#SBATCH --nodes=16\n#SBATCH --gres=gpu:4\nNNODES=16\nNHIDDEN=8192\nNLAYERS=64\nNHEADS=32\nSEQ_LEN=1024\n"
                       "export LAUNCHER=\"python -u -m torch.distributed.launch --nproc_per_node 4 --nnodes $NNODES --master_addr x --master_port 6000 \"\n"
                       "export CMD=\" examples/pytorch/language-modeling/run_clm.py " + model + " --dataset_name stas/openwebtext-10k --output_dir o --do_train --max_train_samples 1000 "
                       "--per_device_train_batch_size 10 --warmup_steps 8 --fp16 --deepspeed z3.json \"\n"
                       "clear; srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee -a o.out\n"};
}
const imported::text z3{"z3.json", R"({"fp16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "overlap_comm": true, "contiguous_gradients": true, "reduce_bucket_size": "auto"}, "train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto", "gradient_accumulation_steps": "auto"})"};
const std::string anew = "--model_type gpt2 --tokenizer_name gpt2 ";
/// Why one is refused, under plain DDP.
std::string why(const std::string& model) { return refusal_of({{"a.sh", "torchrun --nproc_per_node 4 run_clm.py " + model + " --block_size 512 --per_device_train_batch_size 2\n"}}); }

}  // namespace

TEST_CASE("a class's own configuration, and what a script says over it") {
  const auto j = job_of({script(anew + "--config_overrides \"n_embd=$NHIDDEN,n_head=$NHEADS,n_layer=$NLAYERS,n_positions=$SEQ_LEN,gradient_checkpointing=true,use_cache=False\""), z3});
  // The script's own sum, l (12 h² + 13 h) + v h + s h, and the last norm.
  constexpr std::int64_t h = 8192, l = 64, v = 50257, s = 1024;
  CHECK(count(j.model).total.count() == l * (12 * h * h + 13 * h) + v * h + s * h + 2 * h);
  CHECK(j.model.heads == 32);
  CHECK(j.hardware.gpus() == 64);
  CHECK(j.batch.micro == 10);
  CHECK(j.batch.sequence == 1024);
  CHECK(j.sharding.stage == 3);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.dropout == dropout{probability::of(0.1), probability::of(0.1), probability::of(0.1)});
  CHECK(j.precision.compute == formats::fp16);
  CHECK(estimate(j).ranks[0].allocated > bytes{0});
}

TEST_CASE("GPT-2 as its class has it, whose weights are fp32 whatever the release") {
  const auto d = draft_of({{"a.sh", "torchrun --nproc_per_node 4 run_clm.py " + anew + "--block_size 512 --per_device_train_batch_size 2 --bf16 True\n"}});
  auto settled = d;
  const auto j = settled.settled();
  CHECK(count(j.model).total.count() == 124'439'808);  // openai-community/gpt2
  CHECK(j.precision.parameters == formats::fp32);
  CHECK(j.recompute.mode == recompute_mode::none);
  for (const auto& a : settled.assumed) CHECK_FALSE(holds(a, "the format of the weights"));
}

TEST_CASE("models made anew that are refused, by name") {
  CHECK(holds(why("--model_type llama --tokenizer_name x"), "model_type = \"llama\" is not modelled by this version (of models made anew GPT-2's alone is known here"));
  CHECK(holds(why("--model_type gpt2"), "without model_name_or_path run_clm.py asks for tokenizer_name"));
  CHECK(holds(why("--model_type gpt2 --tokenizer_name EleutherAI/gpt-neox-20b"), "decides how many rows the table of embeddings has"));
  CHECK(holds(why("--model_name_or_path gpt2 --config_overrides n_layer=2"), "and ends beside model_name_or_path"));
  CHECK(holds(why(anew + "--config_overrides n_layer=2,scale_attn_weights=false"), "scale_attn_weights=false"));
  CHECK(holds(why(anew + "--config_overrides n_layer=two"), "config_overrides.n_layer must be a whole number"));
  CHECK(holds(why(anew + "--config_overrides n_layer"), "NAME=VALUE"));
  // The line of what made it: config_overrides where they are given.
  const auto command = [](const std::string& over) {
    return std::vector<imported::text>{{"a.sh", "torchrun --nproc_per_node 4 run_clm.py --tokenizer_name gpt2 --block_size 512 --per_device_train_batch_size 2 \\\n  --model_type gpt2 \\\n  " + over + "--bf16 True\n"}};
  };
  CHECK(holds(refusal_of(command("--config_overrides n_layer=2,scale_attn_weights=false ")), "a.sh:3: config_overrides"));
  CHECK(draft_of(command("--config_overrides n_layer=2 ")).place_of("model") == "a.sh:3");
  CHECK(draft_of(command("")).place_of("model") == "a.sh:2");
  CHECK(why("--model_name_or_path gpt2 --model_type gpt2").empty());  // the checkpoint's own configuration is read
}

}  // namespace test_scratch_models

#endif
