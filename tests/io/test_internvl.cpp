// Distributed under the Boost Software License, Version 1.0.
// InternVL's fine-tuning scripts, as OpenGVLab/InternVL 2410d1db internvl_chat/shell has them, and its models.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#include <algorithm>

#if HEADROOM_HAS_YAML

namespace test_internvl {

using namespace imported;

namespace {

/// internvl_chat/zero_stage1_config.json, as far as it is not said by every file.
const imported::text stage1{"zero_stage1_config.json", R"({"zero_optimization": {"stage": 1, "allgather_partitions": true, "allgather_bucket_size": 1e9, "overlap_comm": true, "reduce_scatter": true,
  "reduce_bucket_size": 1e9, "contiguous_gradients": true}, "fp16": {"enabled": "auto", "auto_cast": true, "initial_scale_power": 32}, "bf16": {"enabled": "auto"},
  "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": "auto"}}, "gradient_accumulation_steps": "auto",
  "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})"};

/// shell/internvl2.5/2nd_finetune/internvl2_5_8b_dynamic_res_2nd_finetune_lora.sh: `more` goes over it.
imported::text script(const std::string& more = {}, const std::string& model = "--model_name_or_path \"OpenGVLab/InternVL2_5-8B\"") {
  return {"r.sh", "GPUS=${GPUS:-2}\nBATCH_SIZE=${BATCH_SIZE:-16}\nPER_DEVICE_BATCH_SIZE=${PER_DEVICE_BATCH_SIZE:-4}\nGRADIENT_ACC=$((BATCH_SIZE / PER_DEVICE_BATCH_SIZE / GPUS))\n"
                  "torchrun --nnodes=1 --nproc_per_node=${GPUS} internvl/train/internvl_chat_finetune.py " + model +
                      " --conv_style \"internvl2_5\" --use_fast_tokenizer False --meta_path m.json --overwrite_output_dir True --force_image_size 448 --max_dynamic_patch 6 --down_sample_ratio 0.5 "
                      "--drop_path_rate 0.0 --freeze_llm True --freeze_mlp True --freeze_backbone True --use_llm_lora 16 --vision_select_layer -1 --dataloader_num_workers 4 --bf16 True "
                      "--per_device_train_batch_size ${PER_DEVICE_BATCH_SIZE} --gradient_accumulation_steps ${GRADIENT_ACC} --max_seq_length 8192 --do_train True --grad_checkpoint True "
                      "--group_by_length True --dynamic_image_size True --use_thumbnail True --ps_version 'v2' --deepspeed zero_stage1_config.json " + more + "\n"};
}

}  // namespace

TEST_CASE("InternVL's models") {
  // OpenGVLab/InternVL3-1B-hf: transformers' modules, instantiated (tests/data/models_2026.json), 304,012,288 of them in the tower.
  const auto small = count(models::internvl2_5_1b);
  CHECK(small.total.count() == 938'193'024);
  CHECK(small.of(component::vision).count() == 304'012'288);
  // InternViT-6B, 45 layers (README of the repository: 5.5B), by hand from modeling_intern_vit.py.
  constexpr std::int64_t h = 3200, ffn = 12800;
  CHECK(count(models::internvl2_26b).of(component::vision).count() == h * 3 * 14 * 14 + 2 * h + 1025 * h + 45 * (4 * h * h + h + 2 * h * ffn + ffn + h + 2 * h + 2 * h + 2 * h));
  CHECK(models::find("OpenGVLab/InternVL3-78B-Instruct") == &models::internvl2_5_78b);
  // Their configuration, with the keys that decide.
  const auto config = io::json_value::parse(R"({"model_type": "internvl_chat", "architectures": ["InternVLChatModel"], "downsample_ratio": 0.5, "select_layer": -1, "force_image_size": 448, "use_llm_lora": 0, "tie_word_embeddings": false,
    "llm_config": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151674, "tie_word_embeddings": false},
    "vision_config": {"model_type": "intern_vit_6b", "hidden_size": 1024, "image_size": 448, "intermediate_size": 4096, "norm_type": "layer_norm", "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "qk_normalization": false, "qkv_bias": true}})");
  const auto read = [](const io::json_value& c) { return io::model_from_config(nlohmann::json::parse(c.dump())); };
  CHECK(count(read(config)).total.count() == 938'193'024);
  CHECK(read(config).vision == models::internvl2_5_1b.vision);
  auto other = config;
  other["vision_config"]["qkv_bias"] = false;
  CHECK_THROWS_WITH_AS(read(other), doctest::Contains("qk_normalization must be"), job_error);
  other = config;
  other["use_llm_lora"] = 128;
  CHECK_THROWS_WITH_AS(read(other), doctest::Contains("without adapters"), job_error);
  other = config;
  other["downsample_ratio"] = 0.25;
  CHECK_THROWS_WITH_AS(read(other), doctest::Contains("downsample_ratio must be 0.5"), job_error);
}

TEST_CASE("adapters on the language model alone") {
  const auto j = job_of({script(), stage1});
  CHECK(j.framework.label.view() == "deepspeed");
  CHECK(j.framework.loss.shifts_logits);  // transformers 4.37.2
  CHECK(j.hardware.gpus() == 2);
  CHECK(j.batch == batch{.micro = 4, .sequence = 8192, .accumulation = 2, .lengths = {.order = sample_order::grouped, .unknown = true}});
  CHECK(j.model.vision.slices == 7);  // 6 tiles and the whole image
  CHECK(j.adapter.rank == 16);
  CHECK(j.adapter.dropout.positive());
  CHECK(j.trainable.all());
  CHECK(j.sharding.stage == 1);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.attention == attention::flash);
  CHECK(estimate(j).ranks[0].allocated > bytes{0});
  // wrap_llm_lora names the joined layers, too: InternLM2's wqkv (4096 to 6144), wo, w1, w2 and w3 in 32 layers.
  CHECK(states(j).trained.count() == 16 * 32 * ((4096 + 6144) + (4096 + 4096) + 3 * (4096 + 14336)));
  // Phi-3's four, of which a log of PEFT's prints as many (test_adapter_counts.cpp).
  CHECK(states(job_of({script("", "--model_name_or_path OpenGVLab/InternVL2-4B"), stage1})).trained.count() == 25'165'824);
  // One tile where images are not cut, or as many as the sequence has room for.
  CHECK(job_of({script("--max_dynamic_patch 1"), stage1}).model.vision.slices == 1);
  CHECK(job_of({script("--dynamic_image_size False"), stage1}).model.vision.slices == 1);
  CHECK(job_of({script("--max_dynamic_patch 40"), stage1}).model.vision.slices == 32);  // 256 tokens each
  CHECK(job_of({script("--force_image_size 28 --max_seq_length 5"), stage1}).model.vision.slices == 5);  // 28 pixels are 2 × 2 patches, which make one token
  const auto larger = job_of({script("--force_image_size 896"), stage1});
  CHECK(larger.model.vision.image == 896);
  CHECK(larger.model.vision.positions == 64 * 64 + 1);
}

TEST_CASE("what is frozen, and samples that are packed") {
  const auto trained = [](const std::string& more) {
    const auto j = job_of({script(more), stage1});
    REQUIRE(j.trainable.size == 1);
    return j.trainable.list[0].modules;
  };
  const auto llm = trained("--use_llm_lora 0 --freeze_llm False --freeze_mlp False");
  CHECK(llm.has(module::q_proj));
  CHECK(llm.has(module::projector));
  CHECK_FALSE(llm.has(module::vision));
  const auto joint = trained("--use_llm_lora 0 --freeze_mlp False --freeze_backbone False");
  CHECK(joint.has(module::vision));
  CHECK_FALSE(joint.has(module::q_proj));
  CHECK(job_of({script("--use_llm_lora 0 --freeze_llm False --freeze_mlp False --freeze_backbone False"), stage1}).trainable.all());
  const auto packed = job_of({script("--per_device_train_batch_size 1 --use_packed_ds True --num_images_expected 48 --max_packed_tokens 16384 --strict_mode False --allow_overflow False"), stage1});
  CHECK(packed.batch.packed);
  CHECK(packed.batch.sequence == 16384);
  CHECK(packed.model.vision.slices == 48);
  // By its parts: a stage that begins with a tower and a language model.
  const auto parts = job_of({script("", "--vision_path ./pretrained/InternViT-6B-448px-V2_5 --llm_path ./pretrained/internlm2_5-20b-chat"), stage1});
  CHECK(parts.model.label.view() == "internvl2-26b");
}

TEST_CASE("what InternVL's scripts leave to a default that changed is said") {
  // internvl_chat_finetune.py of 2d93b09 (2024-10-30): grad_checkpoint was False and max_seq_length 2048; f3fc71c (2024-07-21): force_image_size was 224.
  auto silent = script();
  for (const std::string part : {" --grad_checkpoint True", " --max_seq_length 8192", " --force_image_size 448"}) silent.said.erase(silent.said.find(part), part.size());
  const auto j = job_of({silent, stage1});
  CHECK(j == [&] { auto whole = job_of({script(), stage1}); whole.assumed_defaults = j.assumed_defaults; return whole; }());
  CHECK(j.assumed_defaults == job_of({script(), stage1}).assumed_defaults + 3);
  auto d = draft_of({silent, stage1});
  const auto said = [&](std::string_view what) { return std::any_of(d.notes.begin(), d.notes.end(), [&](const std::string& n) { return holds(n, what); }); };
  CHECK(said("grad_checkpoint is not given, and InternVL's default is true since 2024-10-30, and false before: the newer is assumed: say it"));
  CHECK(said("max_seq_length is not given, and InternVL's default is 8192 since 2024-10-30, and 2048 before"));
  CHECK(said("force_image_size is not given, and InternVL's default is 448 since 2024-07-21, and 224 before"));
}

TEST_CASE("what of InternVL is refused, by name") {
  const auto why = [](const std::string& more) { return refusal_of({script(more), stage1}); };
  CHECK(holds(why("--use_backbone_lora 16"), "r.sh:5: use_backbone_lora = 16 is not modelled"));
  CHECK(holds(why("--unfreeze_vit_layers -2"), "unfreeze_vit_layers = -2 is not modelled"));
  CHECK(holds(why("--use_liger True"), "use_liger = true is not modelled"));
  CHECK(holds(why("--grad_checkpoint False"), "grad_checkpoint = false is not modelled by this version (the tower's layers"));
  CHECK(holds(why("--use_llm_lora 0"), "leave nothing that trains"));
  CHECK(holds(why("--down_sample_ratio 0.25"), "down_sample_ratio = 0.25 is not modelled"));
  CHECK(holds(why("--use_packed_ds True"), "per_device_train_batch_size = 4 is not modelled by this version (with use_packed_ds)"));
  CHECK(holds(why("--twinkle 3"), "twinkle is not known here"));
  CHECK(holds(refusal_of({script("", "--model_name_or_path ./pretrained/InternVL2-40B"), stage1}), "give its config.json, too"));
  CHECK(holds(refusal_of({script("", "--vision_path ./pretrained/InternViT-6B-448px-V1-2 --llm_path ./pretrained/Nous-Hermes-2-Yi-34B"), stage1}), "which model llm_path and vision_path make is not known here"));
  CHECK(holds(refusal_of({{"r.sh", "torchrun --nproc_per_node 8 internvl/train/internvl_chat_mpo.py --model_name_or_path OpenGVLab/InternVL3-8B\n"}}), "preference training"));
}

}  // namespace test_internvl

#endif
