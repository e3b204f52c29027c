// Distributed under the Boost Software License, Version 1.0.
// Texts of programs that launch scripts start, as far as they shape memory: a number for each such statement (io/launchers/programs/program_text.hpp), and
// the defaults of their arguments.
#pragma once

#include <headroom/io/launchers/programs/program_text.hpp>

#include <array>
#include <span>
#include <string_view>

namespace headroom::io::detail {

struct known_text {
  std::string_view program;               ///< a row's of training_programs.hpp
  std::string_view files;
  std::span<const std::uint64_t> statements;
  std::string_view defaults{};            ///< NAME=VALUE between bars, values in JSON; "?" is computed
  std::string_view loads_whole{};         ///< the format of weights where the whole model trains, where it is another than the row's
};

/// Arguments of transformers' Trainer that shape memory: a text may give them defaults of its own.
inline constexpr std::string_view trainer_fields = "per_device_train_batch_size|gradient_accumulation_steps|gradient_checkpointing|bf16|fp16|tf32|optim|deepspeed|fsdp|torch_compile|use_liger_kernel|group_by_length|auto_find_batch_size";

// clang-format off
// haotian-liu/LLaVA 879ef31 of 2024-01-31.
inline constexpr std::uint64_t text_llava_train[] = {
    0x4ec11bb40fe713ULL, 0x797b1c2b2c9f5aaULL, 0x1e52c0c9c00c8955ULL, 0x35c292e9282c74f2ULL, 0x3be467b76c0ee698ULL, 0x51b277fecf4fc270ULL, 0x52a5d4d5ca23b4e2ULL, 0x577780ed6157a7dcULL,
    0x78e24a3000806925ULL, 0x88d676849457bb0fULL, 0x8a575616338dda2cULL, 0x8c98c8722433dfa9ULL, 0x91a8893bbe946ab7ULL, 0x9904c16046516e52ULL, 0x9a24cb581e0078a4ULL,
    0x9b78bec31811c63fULL, 0xa5b27674e6e96f1eULL, 0xac0dce758ac578f1ULL, 0xac2deddc3197ec6bULL, 0xae46e6aad553699bULL, 0xb0912e64d4eb1b21ULL, 0xb228c7123364bdefULL,
    0xb5ed9c64c3a5fb50ULL, 0xbbebf419aecd0b9fULL, 0xbcc810ddba880535ULL, 0xbf73aacf7ba707b9ULL, 0xc6419651d001485bULL, 0xd41bbe9145972cf4ULL, 0xe65b37d2ca8680caULL,
    0xee89bea437ae12afULL, 0xf6f861007dd09defULL};
// … its releases from 2023-10 to then, which tell from_pretrained no format.
inline constexpr std::uint64_t text_llava_train_2[] = {
    0x4ec11bb40fe713ULL, 0x797b1c2b2c9f5aaULL, 0x1e52c0c9c00c8955ULL, 0x32fe35aa80e56e5eULL, 0x3be467b76c0ee698ULL, 0x52a5d4d5ca23b4e2ULL, 0x577780ed6157a7dcULL, 0x78e24a3000806925ULL,
    0x81edb98492be1430ULL, 0x88d676849457bb0fULL, 0x8a575616338dda2cULL, 0x91a8893bbe946ab7ULL, 0x9904c16046516e52ULL, 0x9a24cb581e0078a4ULL, 0x9b78bec31811c63fULL,
    0xa5b27674e6e96f1eULL, 0xac0dce758ac578f1ULL, 0xac2deddc3197ec6bULL, 0xae46e6aad553699bULL, 0xb0912e64d4eb1b21ULL, 0xb228c7123364bdefULL, 0xb5ed9c64c3a5fb50ULL,
    0xbbebf419aecd0b9fULL, 0xbcc810ddba880535ULL, 0xbf6cb832d9e7fa9dULL, 0xbf73aacf7ba707b9ULL, 0xc6419651d001485bULL, 0xd41bbe9145972cf4ULL, 0xe65b37d2ca8680caULL,
    0xee89bea437ae12afULL, 0xf6f861007dd09defULL};
inline constexpr std::uint64_t text_llava_train_3[] = {
    0x4ec11bb40fe713ULL, 0x797b1c2b2c9f5aaULL, 0x1e52c0c9c00c8955ULL, 0x32fe35aa80e56e5eULL, 0x3be467b76c0ee698ULL, 0x52a5d4d5ca23b4e2ULL, 0x577780ed6157a7dcULL, 0x78e24a3000806925ULL,
    0x81edb98492be1430ULL, 0x88d676849457bb0fULL, 0x8a575616338dda2cULL, 0x91a8893bbe946ab7ULL, 0x9904c16046516e52ULL, 0x9b78bec31811c63fULL, 0xa5b27674e6e96f1eULL,
    0xac0dce758ac578f1ULL, 0xac2deddc3197ec6bULL, 0xae46e6aad553699bULL, 0xb0912e64d4eb1b21ULL, 0xb228c7123364bdefULL, 0xb5ed9c64c3a5fb50ULL, 0xbbebf419aecd0b9fULL,
    0xbcc810ddba880535ULL, 0xbf6cb832d9e7fa9dULL, 0xbf73aacf7ba707b9ULL, 0xc6419651d001485bULL, 0xd41bbe9145972cf4ULL, 0xe65b37d2ca8680caULL, 0xec1c12218d3bf48fULL,
    0xee89bea437ae12afULL, 0xf6f861007dd09defULL};
inline constexpr std::uint64_t text_llava_train_mem[] = {0xfdb25649e8a950caULL};
inline constexpr std::uint64_t text_llava_train_mem_2[] = {0xee3efd5fa802e4e0ULL};
inline constexpr std::uint64_t text_llava_train_xformers[] = {0xb474a9ea49362966ULL};
// tatsu-lab/stanford_alpaca 3783d18 of 2023-04-15.
inline constexpr std::uint64_t text_alpaca_train[] = {0xe34aa81df5935d22ULL, 0xe5fc715d328f0766ULL};
// lm-sys/FastChat 96aed4c8 of 2023-11-26.
inline constexpr std::uint64_t text_fastchat_train[] = {0x787c67ed78f3175ULL, 0x3ed7c98a5ccb0c0dULL, 0x78e24a3000806925ULL, 0x878faeb9cbd3cf81ULL, 0xe34aa81df5935d22ULL};
inline constexpr std::uint64_t text_fastchat_train_mem[] = {0xee3efd5fa802e4e0ULL};
inline constexpr std::uint64_t text_fastchat_train_xformers[] = {0xb474a9ea49362966ULL};
inline constexpr std::uint64_t text_fastchat_lora_train_lora[] = {
    0x6842fa9f6923cd9ULL, 0x205616382541b288ULL, 0x563b8597871fab4aULL, 0x599d4c09f5ed962cULL, 0x5a5a71ccb8be81c5ULL, 0x5fbbe1992c8d60ddULL, 0x7a45c46ab7b24ff0ULL,
    0x865f995412a5d255ULL, 0x94ce6f8b820a0c15ULL, 0x9b78bec31811c63fULL, 0xa5b27674e6e96f1eULL, 0xa66a0d34975b29ceULL, 0xbbebf419aecd0b9fULL, 0xe34aa81df5935d22ULL};
// QwenLM/Qwen 73b34d4 of 2024-01-15.
inline constexpr std::uint64_t text_qwen_finetune[] = {
    0x787c67ed78f3175ULL, 0x3ed7c98a5ccb0c0dULL, 0x4503f5badb8dab2aULL, 0x51664f49c32f1999ULL, 0x5fbbe1992c8d60ddULL, 0x7c29de95206d0274ULL, 0x9d4c076e2b38f499ULL,
    0x9fdef800327358adULL, 0xe34aa81df5935d22ULL, 0xe510e64b64cc84efULL, 0xe872426ba35cc146ULL, 0xf473650693982960ULL};
// shibing624/MedicalGPT 2f1008cf of 2026-04-28.
inline constexpr std::uint64_t text_medicalgpt_supervised_finetuning[] = {
    0xb9503fc1c9e7873ULL, 0x1280d8a2703bf10bULL, 0x2644e54bfd71ffc2ULL, 0x2963408d23680eedULL, 0x2a986a4a4d9a6a4bULL, 0x3011b386127ce9e1ULL, 0x3929558da7b4ee2dULL,
    0x39c7491c4133b38bULL, 0x3a3c7eb02f637d3aULL, 0x40ac85c45c19c982ULL, 0x48f48c268600deceULL, 0x4c4d03fafff30e0cULL, 0x4d5bdc8411a98853ULL, 0x4d67d32fef6fca9aULL,
    0x550b8c096da6acfeULL, 0x58dbd33bfff3d7f5ULL, 0x5f0790684c34efd2ULL, 0x6d5c41c1e00e53f0ULL, 0x71a5fa97a143e82fULL, 0x7ef03fa2d8db09bdULL, 0x80ac704b30471090ULL,
    0x89d9f840a827427bULL, 0x8b3b8d0666ef165bULL, 0x94ce6f8b820a0c15ULL, 0xa30abdddd3088be7ULL, 0xa9e6993675b5e69aULL, 0xaf9eb08edd170e54ULL, 0xb09609aae1e7e5fcULL,
    0xbfec7c6c51776242ULL, 0xc983ee03274f6b1cULL, 0xcc1ea7b791485901ULL, 0xe01bc96c3a163280ULL, 0xe541cecdc6271145ULL, 0xe6ab9137f1188192ULL, 0xe755f805bbbc6706ULL,
    0xfe39542de39d991bULL};
inline constexpr std::uint64_t text_medicalgpt_pretrain_pretraining[] = {
    0xb9503fc1c9e7873ULL, 0x2644e54bfd71ffc2ULL, 0x2963408d23680eedULL, 0x2a986a4a4d9a6a4bULL, 0x3011b386127ce9e1ULL, 0x3469241c5e8b5b7cULL, 0x3a3c7eb02f637d3aULL,
    0x3a94153bc092180dULL, 0x40ac85c45c19c982ULL, 0x48f48c268600deceULL, 0x4c4d03fafff30e0cULL, 0x550b8c096da6acfeULL, 0x58dbd33bfff3d7f5ULL, 0x5f0790684c34efd2ULL,
    0x71a5fa97a143e82fULL, 0x7220f1c0e0ce736dULL, 0x7ef03fa2d8db09bdULL, 0x89d9f840a827427bULL, 0x8b3b8d0666ef165bULL, 0x94ce6f8b820a0c15ULL, 0x9b78bec31811c63fULL,
    0x9f5db8f44da52cc8ULL, 0xa30abdddd3088be7ULL, 0xa9e6993675b5e69aULL, 0xad882d96c616b805ULL, 0xaf9eb08edd170e54ULL, 0xb09609aae1e7e5fcULL, 0xbfec7c6c51776242ULL,
    0xc983ee03274f6b1cULL, 0xd0134ecdae241696ULL, 0xddca4e951f219674ULL, 0xe6ab9137f1188192ULL, 0xfe39542de39d991bULL};
// huggingface/open-r1 1416fa0 of 2026-04-02.
inline constexpr std::uint64_t text_trl_sft_sft[] = {0x4388c1ba484dbeb3ULL, 0xc0b8757610df3623ULL};
inline constexpr std::uint64_t text_trl_grpo_grpo[] = {0x4388c1ba484dbeb3ULL, 0xebcd96eabbcf58abULL};
inline constexpr auto known_texts = std::to_array<known_text>({
    {.program = "llava", .files = "train.py", .statements = text_llava_train,
     .defaults = R"(model_name_or_path="facebook/opt-125m"|version="v0"|freeze_backbone=false|tune_mm_mlp_adapter=false|vision_tower=null|mm_vision_select_layer=-1|pretrain_mm_mlp_adapter=null|mm_projector_type="linear"|mm_use_im_start_end=false|mm_use_im_patch_token=true|mm_patch_merge_type="flat"|mm_vision_select_feature="patch"|data_path=null|lazy_preprocess=false|is_multimodal=false|image_folder=null|image_aspect_ratio="square"|cache_dir=null|optim="adamw_torch"|remove_unused_columns=false|freeze_mm_mlp_adapter=false|mpt_attn_impl="triton"|model_max_length=512|double_quant=true|quant_type="nf4"|bits=16|lora_enable=false|lora_r=64|lora_alpha=16|lora_dropout=0.05|lora_weight_path=""|lora_bias="none"|mm_projector_lr=null|group_by_modality_length=false)"},
    {.program = "llava", .files = "train.py", .statements = text_llava_train_2,
     .defaults = R"(model_name_or_path="facebook/opt-125m"|version="v0"|freeze_backbone=false|tune_mm_mlp_adapter=false|vision_tower=null|mm_vision_select_layer=-1|pretrain_mm_mlp_adapter=null|mm_projector_type="linear"|mm_use_im_start_end=false|mm_use_im_patch_token=true|mm_vision_select_feature="patch"|data_path=null|lazy_preprocess=false|is_multimodal=false|image_folder=null|image_aspect_ratio="square"|cache_dir=null|optim="adamw_torch"|remove_unused_columns=false|freeze_mm_mlp_adapter=false|mpt_attn_impl="triton"|model_max_length=512|double_quant=true|quant_type="nf4"|bits=16|lora_enable=false|lora_r=64|lora_alpha=16|lora_dropout=0.05|lora_weight_path=""|lora_bias="none"|mm_projector_lr=null|group_by_modality_length=false)", .loads_whole = "fp32"},
    {.program = "llava", .files = "train.py", .statements = text_llava_train_3,
     .defaults = R"(model_name_or_path="facebook/opt-125m"|version="v0"|freeze_backbone=false|tune_mm_mlp_adapter=false|vision_tower=null|mm_vision_select_layer=-1|pretrain_mm_mlp_adapter=null|mm_projector_type="linear"|mm_use_im_start_end=false|mm_use_im_patch_token=true|mm_vision_select_feature="patch"|data_path=null|lazy_preprocess=false|is_multimodal=false|image_folder=null|image_aspect_ratio="square"|image_grid_pinpoints=null|cache_dir=null|optim="adamw_torch"|remove_unused_columns=false|freeze_mm_mlp_adapter=false|mpt_attn_impl="triton"|model_max_length=512|double_quant=true|quant_type="nf4"|bits=16|lora_enable=false|lora_r=64|lora_alpha=16|lora_dropout=0.05|lora_weight_path=""|lora_bias="none"|group_by_modality_length=false)", .loads_whole = "fp32"},
    {.program = "llava", .files = "train_mem.py", .statements = text_llava_train_mem},
    {.program = "llava", .files = "train_mem.py", .statements = text_llava_train_mem_2},
    {.program = "llava", .files = "train_xformers.py", .statements = text_llava_train_xformers},
    {.program = "alpaca", .files = "train.py", .statements = text_alpaca_train,
     .defaults = R"(model_name_or_path="facebook/opt-125m"|data_path=null|cache_dir=null|optim="adamw_torch"|model_max_length=512)"},
    {.program = "fastchat", .files = "train.py", .statements = text_fastchat_train,
     .defaults = R"(model_name_or_path="facebook/opt-125m"|trust_remote_code=false|padding_side="right"|data_path=null|eval_data_path=null|lazy_preprocess=false|cache_dir=null|optim="adamw_torch"|model_max_length=512)"},
    {.program = "fastchat", .files = "train_mem.py", .statements = text_fastchat_train_mem},
    {.program = "fastchat", .files = "train_xformers.py", .statements = text_fastchat_train_xformers},
    {.program = "fastchat-lora", .files = "train_lora.py", .statements = text_fastchat_lora_train_lora,
     .defaults = R"(cache_dir=null|optim="adamw_torch"|model_max_length=512|flash_attn=false|lora_r=8|lora_alpha=16|lora_dropout=0.05|lora_target_modules=["q_proj","v_proj"]|lora_weight_path=""|lora_bias="none"|q_lora=false)"},
    {.program = "qwen", .files = "finetune.py", .statements = text_qwen_finetune,
     .defaults = R"(model_name_or_path="Qwen/Qwen-7B"|data_path=null|eval_data_path=null|lazy_preprocess=false|cache_dir=null|optim="adamw_torch"|model_max_length=8192|use_lora=false|lora_r=64|lora_alpha=16|lora_dropout=0.05|lora_target_modules=["c_attn","c_proj","w1","w2"]|lora_weight_path=""|lora_bias="none"|q_lora=false)"},
    {.program = "medicalgpt", .files = "supervised_finetuning.py", .statements = text_medicalgpt_supervised_finetuning,
     .defaults = R"(model_name_or_path=null|load_in_8bit=false|load_in_4bit=false|tokenizer_name_or_path=null|cache_dir=null|model_revision="main"|hf_hub_token=null|use_fast_tokenizer=false|torch_dtype="float16"|device_map="auto"|trust_remote_code=true|rope_scaling=null|flash_attn=false|shift_attn=false|neft_alpha=0|dataset_name=null|dataset_config_name=null|train_file_dir=null|validation_file_dir=null|max_train_samples=null|max_eval_samples=null|ignore_pad_token_for_loss=true|overwrite_cache=false|validation_split_percentage=1|preprocessing_num_workers=null|use_peft=true|train_on_inputs=false|target_modules="all"|lora_rank=8|lora_dropout=0.05|lora_alpha=32.0|modules_to_save=null|peft_path=null|qlora=false|model_max_length=512|template_name=null|tool_format=null)"},
    {.program = "medicalgpt-pretrain", .files = "pretraining.py", .statements = text_medicalgpt_pretrain_pretraining,
     .defaults = R"(model_name_or_path=null|tokenizer_name_or_path=null|load_in_8bit=false|load_in_4bit=false|cache_dir=null|model_revision="main"|hf_hub_token=null|use_fast_tokenizer=false|torch_dtype=null|device_map="auto"|trust_remote_code=true|dataset_name=null|dataset_config_name=null|train_file_dir=null|validation_file_dir=null|max_train_samples=null|max_eval_samples=null|streaming=false|block_size=1024|overwrite_cache=false|validation_split_percentage=1|preprocessing_num_workers=null|keep_linebreaks=true|packing=true|use_peft=true|target_modules="all"|lora_rank=8|lora_dropout=0.05|lora_alpha=32.0|modules_to_save=null|peft_path=null|qlora=false)"},
    {.program = "trl-sft", .files = "sft.py", .statements = text_trl_sft_sft},
    {.program = "trl-grpo", .files = "grpo.py", .statements = text_trl_grpo_grpo},
});
// clang-format on

}  // namespace headroom::io::detail
