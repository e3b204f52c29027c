// Distributed under the Boost Software License, Version 1.0.
// Megatron-DeepSpeed from its launch scripts: Megatron's arguments, those of its forks, and DeepSpeed's configuration.
#include "imported.hpp"

#include <headroom/estimate.hpp>
#include <headroom/objection.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

namespace test_megatron_deepspeed {

using namespace headroom;

namespace {

/// A script as BLOOM's: it writes the configuration that its command names.
std::string script(const std::string& arguments, const std::string& configuration) {
  return "#!/bin/bash\n#SBATCH --nodes=48\n#SBATCH --gres=gpu:8\ncat <<EOT > ./ds_config.json\n" + configuration +
         "\nEOT\nARGS=\" --deepspeed --deepspeed_config ./ds_config.json --zero-stage 0 --deepspeed-activation-checkpointing\"\n"
         "python -m torch.distributed.run --nproc_per_node 8 --nnodes $SLURM_NNODES pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 12 "
         "--num-layers 70 --hidden-size 14336 --num-attention-heads 112 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 2048 "
         "--checkpoint-activations " + arguments + " $ARGS\n";
}
const std::string bloom = "--pad-vocab-size-to 250880 --pp-partition-method 'type:transformer|embedding' --embed-layernorm --sync-tp-duplicated-parameters --bf16 --position-embedding-type alibi";
const std::string bf16 = R"({"train_micro_batch_size_per_gpu": 2, "train_batch_size": 2048, "gradient_clipping": 1.0, "zero_optimization": {"stage": 0}, "bf16": {"enabled": true}})";
const std::string fp16 = R"({"zero_optimization": {"stage": 1, "reduce_bucket_size": 1000000}, "fp16": {"enabled": true}})";

job read(const std::string& arguments, const std::string& configuration) { return imported::job_of({{"run.slurm", script(arguments, configuration)}}); }

}  // namespace

TEST_CASE("BLOOM's layout") {
  const auto j = read(bloom, bf16);
  CHECK(j.framework == frameworks::megatron_deepspeed_2022);
  CHECK(j.model.layers == 70);
  CHECK(j.model.position == position_kind::alibi);
  CHECK(j.model.embedding_norm);
  CHECK(j.model.vocab == 250'880);
  CHECK(j.parallel.tensor == 4);
  CHECK(j.parallel.pipeline == 12);
  CHECK(j.parallel.stage_layers[0] == 5);
  CHECK(j.parallel.stage_layers[1] == 6);
  CHECK(j.parallel.stage_layers[11] == 5);
  CHECK(j.hardware.nodes == 48);
  CHECK(j.batch.micro == 2);
  CHECK(j.batch.accumulation == 128);  // 2048 / 8 ranks / 2
  CHECK(j.sharding == zero(1));        // BF16_Optimizer's own, whatever the stage
  CHECK(j.precision.parameters == formats::bf16);
  CHECK(j.precision.gradients == formats::fp32);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK_FALSE(objection_to(j));
}

TEST_CASE("DeepSpeed's launcher before pretrain_gpt.py without --deepspeed") {
  // deepspeedai/DeepSpeedExamples 45b4b715 training/DeepSpeed-Domino/pretrain_gpt3_6.7b.sh: layers of Domino's own, which no argument tells from Megatron-LM's.
  const std::string run = "deepspeed --num_gpus 4 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 1024 --max-position-embeddings 1024 "
                          "--micro-batch-size 8 --global-batch-size 8 --fp16 --no-gradient-accumulation-fusion --tensor-model-parallel-size 4 --vocab-file v.json --merge-file m.txt";
  CHECK(imported::refusal_of({{"run.sh", run}}).find("run.sh:1: DeepSpeed's launcher starts \"pretrain_gpt.py\" without --deepspeed") != std::string::npos);
  CHECK(imported::job_of({{"run.sh", "torchrun --nproc_per_node 4" + run.substr(22)}}).parallel.tensor == 4);
}

// bigscience-workshop/bigscience train/tr9-glu: a gate as wide as the MLP, of its fork's own three operations.
TEST_CASE("a gated activation of BLOOM's fork") {
  const std::string rest = "--fp16 --embed-layernorm --sync-tp-duplicated-parameters ";
  const auto plain = read(rest, fp16), gated = read(rest + "--no-bias-gelu-fusion --glu-activation swiglu", fp16), narrow = read(rest + "--no-bias-gelu-fusion --glu-activation swiglu --ffn-hidden-size 4096", fp16);
  CHECK(plain.model.mlp == mlp_kind::plain);
  CHECK(gated.model.mlp == mlp_kind::gated);
  CHECK(gated.model.activation == activation_kind::silu);
  CHECK(gated.model.ffn == 4 * 14336);
  CHECK(narrow.model.ffn == 4096);
  CHECK(gated.framework.mlp.writes_out_glu);
  // A layer more wide by a matrix and its bias: hidden × 4 hidden.
  CHECK((count(gated.model).total - count(plain.model).total).count() == 70 * (std::int64_t{14336} * 4 * 14336 + 4 * 14336));
  const auto refused = [&](const std::string& more) { return imported::refusal_of({{"run.slurm", script(rest + more, fp16)}}); };
  CHECK(refused("--glu-activation swiglu").find("stops where glu-activation stands without no-bias-gelu-fusion") != std::string::npos);
  CHECK(refused("--no-bias-gelu-fusion --glu-activation geglu").find("glu-activation = \"geglu\" is not modelled") != std::string::npos);
}

TEST_CASE("one expert is none") {
  // LumiOpen/Megatron-DeepSpeed examples_deepspeed/MoE/ds_pretrain_gpt_1.3B_dense.sh.
  const std::string dense = "--fp16 --moe-expert-parallel-size 1 --num-experts 1 --moe-loss-coeff 0.01 --moe-train-capacity-factor 1.0 --moe-eval-capacity-factor 1.0 --moe-min-capacity 4";
  CHECK(read(dense, fp16) == read("--fp16", fp16));
  CHECK(imported::refusal_of({{"run.slurm", script("--fp16 --num-experts 1 1", fp16)}}).find("num-experts = ") != std::string::npos);  // a number for each stage of layers
  CHECK(imported::refusal_of({{"run.slurm", script("--fp16 --num-experts 128", fp16)}}).find("num-experts = 128 is not modelled by this version (experts are DeepSpeed's own here)") != std::string::npos);
}

TEST_CASE("fp16, with ZeRO's first stage or none") {
  const auto with = read("--fp16", fp16);
  CHECK(with.framework == frameworks::megatron_deepspeed);
  CHECK(with.sharding.stage == 1);
  CHECK(with.sharding.reduce_bucket_size == 1'000'000);
  CHECK(with.precision.gradients == formats::fp16);
  const auto none = read("--fp16", R"({"fp16": {"enabled": true}, "zero_optimization": {"cpu_offload": false, "offload_optimizer": {"device": "none"}}})");
  CHECK(none.sharding.kind == sharding_kind::zero);
  CHECK(none.sharding.stage == 0);
}

// deepspeed runtime/engine.py: ZeRO's first stage adds up bf16 gradients as they are, unless data_types says fp32 (BF16_Optimizer).
TEST_CASE("bf16 under ZeRO's first stage") {
  const auto narrow = read("--bf16", R"({"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}})");
  CHECK(narrow.precision.gradients == formats::bf16);
  CHECK_FALSE(objection_to(narrow));
  const auto wide = read("--bf16", R"({"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"}})");
  CHECK(wide.precision.gradients == formats::fp32);
  CHECK(wide.sharding == narrow.sharding);
  const auto said = [](const std::string& arguments, const std::string& format, const std::string& word) {
    return read(arguments, R"({"zero_optimization": {"stage": 1}, ")" + format + R"(": {"enabled": true}, "data_types": {"grad_accum_dtype": ")" + word + R"("}})");
  };
  for (const auto* word : {"bf16", "bfloat16"}) CHECK(said("--bf16", "bf16", word) == narrow);
  for (const auto* word : {"float32", "torch.float32"}) CHECK(said("--bf16", "bf16", word) == wide);
  for (const auto* word : {"fp16", "float16"}) CHECK(said("--fp16", "fp16", word).precision.gradients == formats::fp16);
}

TEST_CASE("arguments of DeepSpeed's fork") {
  const auto j = read("--fp16 --ds-sequence-parallel-size 1 --moe-expert-parallel-size 1 --log-optimizer-states-to-tensorboard --normalization rmsnorm --num-key-value-heads 8 --use-flash-attn-v2 --swiglu", fp16);
  CHECK(j.framework == frameworks::megatron_deepspeed);
  CHECK(j.model.norm == norm_kind::rmsnorm);
  CHECK(j.model.kv_heads == 8);
  CHECK(j.attention == attention::flash);
  CHECK(j.model.mlp == mlp_kind::gated);
}

TEST_CASE("the configuration's own file, before and behind the script") {
  auto text = script(bloom, bf16);
  text.erase(text.find("cat <<"), text.find("ARGS=") - text.find("cat <<"));
  const auto one = imported::job_of({{"run.slurm", text}, {"ds_config.json", bf16}});
  CHECK(one == imported::job_of({{"ds_config.json", bf16}, {"run.slurm", text}}));
  CHECK(one == read(bloom, bf16));
  CHECK(imported::refusal_of({{"run.slurm", text}}).find("which no file here is: give it, too") != std::string::npos);
}

TEST_CASE("without the configuration, whose sharding is said by hand, Megatron's arguments say the formats") {
  auto text = script(bloom, bf16);
  text.erase(text.find("cat <<"), text.find("ARGS=") - text.find("cat <<"));
  CHECK(imported::job_of({{"run.slurm", text}}, {"sharding={\"kind\": \"zero\", \"stage\": 1}"}) == read(bloom, bf16));
}

// bigscience-workshop/bigscience 3c0b6a3a train/tr13-mtf: finetune_t0.py; train/tr3-1B3-baseline, prefix language models. A mask of b x s x s bytes goes through the pipeline: of the first stage
// two copies of each of twelve micro-batches and of the buffer that waits; of the last one of one, one that waits, and the one that is received.
TEST_CASE("masks of samples go through the pipeline with them") {
  const auto with = [](const std::string& program, const std::string& more = {}) {
    auto text = script(bloom + more, bf16);
    text.replace(text.find("pretrain_gpt.py"), 15, program);
    return text;
  };
  const auto plain = imported::job_of({{"run.slurm", with("pretrain_gpt.py")}});
  const auto tuned = imported::job_of({{"run.slurm", with("finetune_t0.py", " --norm-target-loss")}});
  CHECK(tuned.framework.attention.masks_in_loader);
  CHECK(imported::job_of({{"run.slurm", with("pretrain_prefix_lm.py", " --loss-on-targets-only --reset-attention-mask")}}) == tuned);
  CHECK(imported::job_of({{"run.slurm", with("finetune_t0_non_causal_decoder.py")}}) == tuned);
  CHECK(imported::job_of({{"run.slurm", with("finetune_t0.py", " --norm-target-loss --reset-progress")}}) == tuned);
  constexpr std::int64_t mask = 2 * 2048 * 2048;
  const auto before = estimate(plain), after = estimate(tuned);
  CHECK(after.ranks.front().allocated - before.ranks.front().allocated == bytes{(12 * 2 + 2) * mask});
  CHECK(after.ranks.back().allocated - before.ranks.back().allocated == bytes{3 * mask});
  CHECK(replay(tuned).ranks.front().allocated - replay(plain).ranks.front().allocated == bytes{(12 * 2 + 2) * mask});
  // It ends at positions that it would have to begin again.
  auto learned = with("finetune_t0.py");
  learned.replace(learned.find("--position-embedding-type alibi"), 31, "");
  CHECK(imported::refusal_of({{"run.slurm", learned}}).find("finetune_t0.py takes position-embedding-type alibi or rotary") != std::string::npos);
}

// deepspeedai/Megatron-DeepSpeed 4efb479d examples_deepspeed/rebase/ds_pretrain_gpt_1.3B.sh: one stage, ZeRO's stage 0. A pipeline's last stage keeps the logits of two micro-batches, in fp32.
TEST_CASE("DeepSpeed's engine without its pipeline keeps no logits of earlier micro-batches") {
  const auto with = [](const std::string& more, const std::string& configuration) {
    auto text = script("--fp16 " + more, configuration);
    text.replace(text.find("--pipeline-model-parallel-size 12"), 33, "--pipeline-model-parallel-size 1");
    text.replace(text.find("--global-batch-size 2048"), 24, "--global-batch-size 1920");
    return text;
  };
  const std::string plain0 = R"({"zero_optimization": {"stage": 0}, "fp16": {"enabled": true}})";
  const auto piped = imported::job_of({{"run.slurm", with("", plain0)}}), alone = imported::job_of({{"run.slurm", with("--no-pipeline-parallel", plain0)}});
  CHECK(alone.framework.pipeline.none);
  CHECK(io::read_job(io::job_to_json(alone)) == alone);
  const auto kept = estimate(piped).ranks[0].at_peak[row::logits];
  const bytes logits{std::int64_t{2} * 2048 * (50'688 / 4) * 4};
  CHECK(kept - estimate(alone).ranks[0].at_peak[row::logits] >= logits);
  CHECK(estimate(piped).ranks[0].allocated - estimate(alone).ranks[0].allocated >= logits);
  CHECK(estimate(piped).ranks[0].allocated - estimate(alone).ranks[0].allocated <= 2 * logits);
  CHECK(replay(piped).ranks[0].allocated - replay(alone).ranks[0].allocated >= logits);
  CHECK(imported::refusal_of({{"run.slurm", with("--no-pipeline-parallel", fp16)}}).find("no-pipeline-parallel is modelled with ZeRO's stage 0") != std::string::npos);
  CHECK(imported::refusal_of({{"run.slurm", with("--no-pipeline-parallel", R"({"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}})")}}).find("is with stage 0 alone, and not with 2") != std::string::npos);
}

TEST_CASE("what cannot be, and what is not modelled, stops it") {
  const auto refused = [](const std::string& arguments, const std::string& configuration, const char* why) {
    const auto sentence = imported::refusal_of({{"run.slurm", script(arguments, configuration)}});
    CAPTURE(sentence);
    CHECK(sentence.find(why) != std::string::npos);
  };
  refused("--fp16", bf16, "enables bf16, and Megatron's arguments do not");
  refused("--bf16", fp16, "enables fp16, and Megatron's arguments do not");
  refused("--bf16", R"({"zero_optimization": {"stage": 0}})", "enables neither bf16 nor fp16");
  refused("--fp16", R"({"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}})", "with stage 0 alone, and not with 2");
  refused("--fp16", R"({"zero_optimization": {"stage": 1, "cpu_offload": true}, "fp16": {"enabled": true}})", "cpu_offload");
  refused("--fp16", R"({"train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": true}})", "train_micro_batch_size_per_gpu is 4");
  refused("--fp16", R"({"train_batch_size": 4, "fp16": {"enabled": true}})", "train_batch_size is 4");
  refused("--bf16", R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "bf16"}})", "grad_accum_dtype");
  refused("--fp16", R"({"fp16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"}})", "grad_accum_dtype");
  refused("--fp16 --ds-sequence-parallel-size 4", fp16, "ds-sequence-parallel-size");
  refused(bloom + " --log-optimizer-states-to-tensorboard", bf16, "log-optimizer-states-to-tensorboard");
  refused("--fp16 --no-pipeline-parallel", fp16, "no-pipeline-parallel goes with pipeline-model-parallel-size 1, and it is 12");
  refused("--fp16 --partition-activations", fp16, "partition-activations");
  refused("--fp16 --pp-partition-method parameters", fp16, "pp-partition-method");
  refused("--fp16", R"({"activation_checkpointing": {"partition_activations": true}, "fp16": {"enabled": true}})", "activation_checkpointing");
}

}  // namespace test_megatron_deepspeed
