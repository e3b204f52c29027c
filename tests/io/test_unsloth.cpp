// Distributed under the Boost Software License, Version 1.0.
// unsloth-cli.py: every argument of its parser (unslothai/unsloth 015bdef0 of 2026-08-22), and jobs from its command lines.
#include <doctest/doctest.h>

#include <headroom/objection.hpp>

#include "imported.hpp"

namespace test_unsloth_cli {

using namespace imported;

namespace {

std::string command(const std::string& more) { return "python unsloth-cli.py --model_name unsloth/Qwen2.5-7B " + more + "\n"; }
job read(const std::string& said) { return draft_of({{"run.sh", said}}).settled(); }
std::string refused(const std::string& more) { return refusal_of({{"run.sh", command(more)}}); }
bool says(const std::string& sentence, const std::string& part) { return sentence.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("its README's command, by the checkpoint of 4 bits that it loads") {
  const auto j = read(
      "python unsloth-cli.py --model_name \"unsloth/llama-3-8b-bnb-4bit\" --max_seq_length 8192 --dtype None --load_in_4bit --r 64 --lora_alpha 32 --lora_dropout 0.1 --bias \"none\" "
      "--use_gradient_checkpointing \"unsloth\" --random_state 3407 --use_rslora --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --warmup_steps 5 --max_steps 400 --learning_rate 2e-6 --logging_steps 1 "
      "--optim \"adamw_8bit\" --weight_decay 0.005 --lr_scheduler_type \"linear\" --seed 3407 --output_dir \"outputs\" --report_to \"tensorboard\" --save_model --save_path \"model\" --quantization \"f16\" --push_model "
      "--hub_path \"hf/model\" --hub_token \"token\"\n");
  CHECK(j.framework.label == "unsloth");
  CHECK(j.framework.date == 202607);
  CHECK(j.model.label == "llama-3-8b");
  CHECK(j.batch.micro == 4);
  CHECK(j.batch.sequence == 8192);
  CHECK(j.batch.accumulation == 8);
  CHECK(j.adapter.kind == adapter_kind::lora);
  CHECK(j.adapter.rank == 64);
  CHECK(j.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj});
  CHECK(j.adapter.dropout == probability::of(0.1));
  CHECK(j.adapter.base == formats::nf4_double);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.offload.activations == place::on_cpu);
  CHECK(j.optimizer.label == "adamw-8bit");
  CHECK(j.precision.parameters == formats::bf16);
  CHECK(j.hardware.gpus() == 1);
  CHECK(!objection_to(j));
}

TEST_CASE("its defaults, in 16 bits") {
  const auto j = read(command(""));
  CHECK(j.batch.micro == 2);
  CHECK(j.batch.sequence == 2048);
  CHECK(j.batch.accumulation == 4);
  CHECK(j.adapter.rank == 16);
  CHECK(!j.adapter.base.quantised());
  CHECK(!j.adapter.dropout.positive());
  CHECK(j.optimizer.label == "adamw-8bit");
  CHECK(read(command("--max_seq_length 511")).offload.activations == place::on_gpu);  // checkpoints of short samples stay
}

TEST_CASE("what decides and is not said is asked for") {
  CHECK(says(refused("--load_in_4bit"), "name the one that it loads"));
  CHECK(says(refusal_of({{"run.sh", "python unsloth-cli.py --load_in_4bit --model_name unsloth/Qwen3-8B-unsloth-bnb-4bit\n"}}), "adapter.base_skips"));
  CHECK(says(refusal_of({{"run.sh", "python unsloth-cli.py --model_name unsloth/mistral-7b-bnb-4bit\n"}}), "give that flag"));
}

TEST_CASE("every other argument of its parser is harmless, or stops the import") {
  for (const auto* harmless : {"--dataset a/b", "--lora_alpha 8", "--bias none", "--random_state 1", "--use_rslora", "--per_device_eval_batch_size 64", "--warmup_steps 9", "--max_steps 9", "--learning_rate 1e-5",
                               "--weight_decay 0.1", "--lr_scheduler_type cosine", "--seed 1", "--report_to none", "--logging_steps 9", "--output_dir o", "--save_model", "--save_method lora", "--save_gguf",
                               "--save_path p", "--quantization q8_0 q4_k_m", "--push_model", "--push_gguf", "--hub_path p", "--hub_token t", "--raw_text_file t.txt", "--chunk_size 512", "--stride 64"}) {
    CAPTURE(harmless);
    CHECK(read(command(harmless)) == read(command("")));
  }
  for (const auto* stops : {"--bias all", "--use_dora", "--loftq_config {}", "--packing", "--use_gradient_checkpointing True", "--use_gradient_checkpointing False", "--dtype float16", "--dtype float32", "--optim adam", "--optim galore_adamw", "--load_in_8bit"}) {
    CAPTURE(stops);
    CHECK(!refused(stops).empty());
  }
}

}  // namespace test_unsloth_cli
