// Distributed under the Boost Software License, Version 1.0.
// The models of the zoo, one line each. Totals are those of Hugging Face's own modules, checked to the parameter by
// tests/model/test_counts.cpp: unique trainable tensors, so without FP8 scales, correction biases and
// multi-token-prediction modules, which only some checkpoints carry (`experts.router_bias` and `mtp_layers` add them).
#pragma once

#include <headroom/model/family_towers.hpp>

/// The models known by name.
namespace headroom::models {

// Llama and its kin: layers, hidden, heads, key-value heads, MLP, vocabulary, tied, head width.
inline constexpr shape llama_7b = family::llama("llama-7b", 32, 4096, 32, 32, 11008, 32000);
inline constexpr shape llama_13b = family::llama("llama-13b", 40, 5120, 40, 40, 13824, 32000);
inline constexpr shape llama_30b = family::llama("llama-30b", 60, 6656, 52, 52, 17920, 32000);
inline constexpr shape llama_65b = family::llama("llama-65b", 80, 8192, 64, 64, 22016, 32000);
inline constexpr shape llama_2_7b = family::llama("llama-2-7b", 32, 4096, 32, 32, 11008, 32000);
inline constexpr shape llama_2_13b = family::llama("llama-2-13b", 40, 5120, 40, 40, 13824, 32000);
inline constexpr shape llama_2_70b = family::llama("llama-2-70b", 80, 8192, 64, 8, 28672, 32000);
inline constexpr shape open_llama_3b = family::llama("open-llama-3b", 26, 3200, 32, 32, 8640, 32000);
inline constexpr shape codellama_7b = family::llama("codellama-7b", 32, 4096, 32, 32, 11008, 32016);
inline constexpr shape codellama_13b = family::llama("codellama-13b", 40, 5120, 40, 40, 13824, 32016);
inline constexpr shape codellama_34b = family::llama("codellama-34b", 48, 8192, 64, 8, 22016, 32000);
inline constexpr shape llama_3_8b = family::llama("llama-3-8b", 32, 4096, 32, 8, 14336, 128256);
inline constexpr shape llama_3_70b = family::llama("llama-3-70b", 80, 8192, 64, 8, 28672, 128256);
inline constexpr shape llama_3_1_8b = family::llama("llama-3.1-8b", 32, 4096, 32, 8, 14336, 128256);
inline constexpr shape llama_3_1_70b = family::llama("llama-3.1-70b", 80, 8192, 64, 8, 28672, 128256);
inline constexpr shape llama_3_1_405b = family::llama("llama-3.1-405b", 126, 16384, 128, 8, 53248, 128256);
inline constexpr shape llama_3_2_1b = family::llama("llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, true, 64);
inline constexpr shape llama_3_2_3b = family::llama("llama-3.2-3b", 28, 3072, 24, 8, 8192, 128256, true, 128);
inline constexpr shape llama_3_3_70b = family::llama("llama-3.3-70b", 80, 8192, 64, 8, 28672, 128256);
inline constexpr shape tinyllama_1_1b = family::llama("tinyllama-1.1b", 22, 2048, 32, 4, 5632, 32000);
inline constexpr shape smollm2_135m = family::llama("smollm2-135m", 30, 576, 9, 3, 1536, 49152, true);
inline constexpr shape smollm2_360m = family::llama("smollm2-360m", 32, 960, 15, 5, 2560, 49152, true);
inline constexpr shape smollm2_1_7b = family::llama("smollm2-1.7b", 24, 2048, 32, 32, 8192, 49152, true);
inline constexpr shape yi_6b = family::llama("yi-6b", 32, 4096, 32, 4, 11008, 64000);
inline constexpr shape yi_34b = family::llama("yi-34b", 60, 7168, 56, 8, 20480, 64000);
inline constexpr shape deepseek_llm_7b = family::llama("deepseek-llm-7b", 30, 4096, 32, 32, 11008, 102400);
inline constexpr shape deepseek_llm_67b = family::llama("deepseek-llm-67b", 95, 8192, 64, 8, 22016, 102400);
inline constexpr shape internlm2_7b = family::fused(family::llama("internlm2-7b", 32, 4096, 32, 8, 14336, 92544));
inline constexpr shape solar_10_7b = family::llama("solar-10.7b", 48, 4096, 32, 8, 14336, 32000);
inline constexpr shape yi_9b = family::llama("yi-9b", 48, 4096, 32, 4, 11008, 64000);
inline constexpr shape falcon3_1b = family::llama("falcon3-1b", 18, 2048, 8, 4, 8192, 131072, false, 256);
inline constexpr shape falcon3_3b = family::llama("falcon3-3b", 22, 3072, 12, 4, 9216, 131072, false, 256);
inline constexpr shape falcon3_7b = family::llama("falcon3-7b", 28, 3072, 12, 4, 23040, 131072, false, 256);
inline constexpr shape falcon3_10b = family::llama("falcon3-10b", 40, 3072, 12, 4, 23040, 131072, false, 256);
inline constexpr shape smollm3_3b = family::llama("smollm3-3b", 36, 2048, 16, 4, 11008, 128256, true);
inline constexpr shape granite_3_8b = family::llama("granite-3.0-8b", 40, 4096, 32, 8, 12800, 49155, true);
inline constexpr shape internlm2_1_8b = family::fused(family::llama("internlm2-1.8b", 24, 2048, 16, 8, 8192, 92544));
inline constexpr shape internlm2_20b = family::fused(family::llama("internlm2-20b", 48, 6144, 48, 8, 16384, 92544));
inline constexpr shape baichuan2_7b = family::baichuan2("baichuan2-7b", 32, 4096, 32, 11008);
inline constexpr shape baichuan2_13b = family::baichuan2("baichuan2-13b", 40, 5120, 40, 13696);
inline constexpr shape minicpm_2b = family::llama("minicpm-2b", 40, 2304, 36, 36, 5760, 122753, true);
inline constexpr shape mistral_7b = family::behind_window(family::llama("mistral-7b", 32, 4096, 32, 8, 14336, 32000), 4096);  // its v0.1
inline constexpr shape mistral_7b_v0_2 = family::llama("mistral-7b-v0.2", 32, 4096, 32, 8, 14336, 32000);
inline constexpr shape mistral_7b_v0_3 = family::llama("mistral-7b-v0.3", 32, 4096, 32, 8, 14336, 32768);
inline constexpr shape mistral_nemo_12b = family::llama("mistral-nemo-12b", 40, 5120, 32, 8, 14336, 131072, false, 128);
inline constexpr shape mistral_large_2 = family::llama("mistral-large-2", 88, 12288, 96, 8, 28672, 32768);
inline constexpr shape mistral_small_24b = family::llama("mistral-small-24b", 40, 5120, 32, 8, 32768, 131072, false, 128);
inline constexpr shape ministral_8b = family::llama("ministral-8b", 36, 4096, 32, 8, 12288, 131072, false, 128);
inline constexpr shape codestral_22b = family::llama("codestral-22b", 56, 6144, 48, 8, 16384, 32768);
inline constexpr shape mixtral_8x7b = family::mixtral("mixtral-8x7b", 32, 4096, 32, 14336, 32000);
inline constexpr shape mixtral_8x22b = family::mixtral("mixtral-8x22b", 56, 6144, 48, 16384, 32000);
inline constexpr shape mixtral_8x22b_instruct = family::mixtral("mixtral-8x22b-instruct", 56, 6144, 48, 16384, 32768);

// Qwen: layers, hidden, heads, key-value heads, MLP, vocabulary, tied.
inline constexpr shape qwen_7b = family::fused(family::qwen2("qwen-7b", 32, 4096, 32, 32, 11008, 151936));
inline constexpr shape qwen_14b = family::fused(family::qwen2("qwen-14b", 40, 5120, 40, 40, 13696, 152064));
inline constexpr shape qwen1_5_0_5b = family::qwen2("qwen1.5-0.5b", 24, 1024, 16, 16, 2816, 151936, true);
inline constexpr shape qwen1_5_1_8b = family::qwen2("qwen1.5-1.8b", 24, 2048, 16, 16, 5504, 151936);
inline constexpr shape qwen1_5_4b = family::qwen2("qwen1.5-4b", 40, 2560, 20, 20, 6912, 151936);
inline constexpr shape qwen1_5_7b = family::qwen2("qwen1.5-7b", 32, 4096, 32, 32, 11008, 151936);
inline constexpr shape qwen1_5_14b = family::qwen2("qwen1.5-14b", 40, 5120, 40, 40, 13696, 152064);
inline constexpr shape qwen1_5_32b = family::qwen2("qwen1.5-32b", 64, 5120, 40, 8, 27392, 152064);
inline constexpr shape qwen1_5_72b = family::qwen2("qwen1.5-72b", 80, 8192, 64, 64, 24576, 152064);
inline constexpr shape qwen2_0_5b = family::qwen2("qwen2-0.5b", 24, 896, 14, 2, 4864, 151936, true);
inline constexpr shape qwen2_1_5b = family::qwen2("qwen2-1.5b", 28, 1536, 12, 2, 8960, 151936, true);
inline constexpr shape qwen2_7b = family::qwen2("qwen2-7b", 28, 3584, 28, 4, 18944, 152064);
inline constexpr shape qwen2_72b = family::qwen2("qwen2-72b", 80, 8192, 64, 8, 29568, 152064);
inline constexpr shape qwen2_5_0_5b = family::qwen2("qwen2.5-0.5b", 24, 896, 14, 2, 4864, 151936, true);
inline constexpr shape qwen2_5_1_5b = family::qwen2("qwen2.5-1.5b", 28, 1536, 12, 2, 8960, 151936, true);
inline constexpr shape qwen2_5_3b = family::qwen2("qwen2.5-3b", 36, 2048, 16, 2, 11008, 151936, true);
inline constexpr shape deepseek_r1_distill_qwen_1_5b = family::qwen2("deepseek-r1-distill-qwen-1.5b", 28, 1536, 12, 2, 8960, 151936);
inline constexpr shape seed_oss_36b = family::wide_heads(family::qwen2("seed-oss-36b", 64, 5120, 80, 8, 27648, 155136), 128);
inline constexpr shape qwen2_5_7b = family::qwen2("qwen2.5-7b", 28, 3584, 28, 4, 18944, 152064);
inline constexpr shape qwen2_5_14b = family::qwen2("qwen2.5-14b", 48, 5120, 40, 8, 13824, 152064);
inline constexpr shape qwen2_5_32b = family::qwen2("qwen2.5-32b", 64, 5120, 40, 8, 27648, 152064);
inline constexpr shape qwen2_5_72b = family::qwen2("qwen2.5-72b", 80, 8192, 64, 8, 29568, 152064);
inline constexpr shape qwen1_5_moe_a2_7b =
    family::undivided(family::shared_with_gate(family::routed(family::qwen2("qwen1.5-moe-a2.7b", 24, 2048, 16, 16, 5632, 151936), 60, 4, 1408), 5632));
inline constexpr shape qwen2_57b_a14b =
    family::undivided(family::shared_with_gate(family::routed(family::qwen2("qwen2-57b-a14b", 28, 3584, 28, 4, 18944, 151936), 64, 8, 2560), 20480));
inline constexpr shape qwen3_0_6b = family::qwen3("qwen3-0.6b", 28, 1024, 16, 8, 3072, true);
inline constexpr shape qwen3_1_7b = family::qwen3("qwen3-1.7b", 28, 2048, 16, 8, 6144, true);
inline constexpr shape qwen3_4b = family::qwen3("qwen3-4b", 36, 2560, 32, 8, 9728, true);
inline constexpr shape qwen3_8b = family::qwen3("qwen3-8b", 36, 4096, 32, 8, 12288);
inline constexpr shape qwen3_14b = family::qwen3("qwen3-14b", 40, 5120, 40, 8, 17408);
inline constexpr shape qwen3_32b = family::qwen3("qwen3-32b", 64, 5120, 64, 8, 25600);
inline constexpr shape qwen3_30b_a3b = family::routed(family::qwen3("qwen3-30b-a3b", 48, 2048, 32, 4, 6144), 128, 8, 768);
inline constexpr shape qwen3_235b_a22b =
    family::routed(family::qwen3("qwen3-235b-a22b", 94, 4096, 64, 4, 12288), 128, 8, 1536);
inline constexpr shape qwen3_coder_480b_a35b =
    family::routed(family::qwen3("qwen3-coder-480b-a35b", 62, 6144, 96, 8, 8192), 160, 8, 2560);

// Gemma: layers, hidden, heads, key-value heads, MLP, head width.
inline constexpr shape gemma_2b = family::gemma("gemma-2b", 18, 2048, 8, 1, 16384);
inline constexpr shape gemma_7b = family::gemma("gemma-7b", 28, 3072, 16, 16, 24576);
inline constexpr shape gemma_2_2b = family::gemma2("gemma-2-2b", 26, 2304, 8, 4, 9216);
inline constexpr shape gemma_2_9b = family::gemma2("gemma-2-9b", 42, 3584, 16, 8, 14336);
inline constexpr shape gemma_2_27b = family::gemma2("gemma-2-27b", 46, 4608, 32, 16, 36864, 128);
inline constexpr shape gemma_3_270m = family::gemma3("gemma-3-270m", 18, 640, 4, 1, 2048, 262144, 256, 512);
inline constexpr shape gemma_3_1b = family::gemma3("gemma-3-1b", 26, 1152, 4, 1, 6912, 262144, 256, 512);
inline constexpr shape gemma_3_4b = family::siglip_so400m(family::gemma3("gemma-3-4b", 34, 2560, 8, 4, 10240, 262208), 896);
inline constexpr shape gemma_3_12b =
    family::siglip_so400m(family::gemma3("gemma-3-12b", 48, 3840, 16, 8, 15360, 262208), 896);
inline constexpr shape gemma_3_27b =
    family::siglip_so400m(family::gemma3("gemma-3-27b", 62, 5376, 32, 16, 21504, 262208, 128), 896);

// GPT and its kin: layers, hidden, heads, vocabulary, positions.
inline constexpr shape gpt2 = family::gpt("gpt2", 12, 768, 12, 50257, 1024);
inline constexpr shape distilgpt2 = family::gpt("distilgpt2", 6, 768, 12, 50257, 1024);
inline constexpr shape gpt2_medium = family::gpt("gpt2-medium", 24, 1024, 16, 50257, 1024);
inline constexpr shape gpt2_large = family::gpt("gpt2-large", 36, 1280, 20, 50257, 1024);
inline constexpr shape gpt2_xl = family::gpt("gpt2-xl", 48, 1600, 25, 50257, 1024);
inline constexpr shape gpt_3_175b = family::gpt("gpt-3-175b", 96, 12288, 96, 50257, 2048);
inline constexpr shape gpt_j_6b = family::gptj("gpt-j-6b", 28, 4096, 16, 50400);
inline constexpr shape gpt_neo_1_3b = family::gpt_neo("gpt-neo-1.3b", 24, 2048, 16);
inline constexpr shape gpt_neo_125m = family::gpt_neo("gpt-neo-125m", 12, 768, 12);
inline constexpr shape gpt_neo_2_7b = family::gpt_neo("gpt-neo-2.7b", 32, 2560, 20);
inline constexpr shape gpt_neox_20b = family::neox("gpt-neox-20b", 44, 6144, 64, 50432);
inline constexpr shape pythia_70m = family::neox("pythia-70m", 6, 512, 8, 50304);
inline constexpr shape pythia_160m = family::neox("pythia-160m", 12, 768, 12, 50304);
inline constexpr shape pythia_410m = family::neox("pythia-410m", 24, 1024, 16, 50304);
inline constexpr shape pythia_1b = family::neox("pythia-1b", 16, 2048, 8, 50304);
inline constexpr shape pythia_1_4b = family::neox("pythia-1.4b", 24, 2048, 16, 50304);
inline constexpr shape pythia_2_8b = family::neox("pythia-2.8b", 32, 2560, 32, 50304);
inline constexpr shape pythia_6_9b = family::neox("pythia-6.9b", 32, 4096, 32, 50432);
inline constexpr shape pythia_12b = family::neox("pythia-12b", 36, 5120, 40, 50688);
inline constexpr shape opt_125m = family::opt("opt-125m", 12, 768, 12);
inline constexpr shape opt_1_3b = family::opt("opt-1.3b", 24, 2048, 32);
inline constexpr shape opt_2_7b = family::opt("opt-2.7b", 32, 2560, 32);
inline constexpr shape opt_6_7b = family::opt("opt-6.7b", 32, 4096, 32);
inline constexpr shape opt_13b = family::opt("opt-13b", 40, 5120, 40);
inline constexpr shape opt_30b = family::opt("opt-30b", 48, 7168, 56);
inline constexpr shape opt_66b = family::opt("opt-66b", 64, 9216, 72);
inline constexpr shape bloom_560m = family::bloom("bloom-560m", 24, 1024, 16);
inline constexpr shape bloom_1b1 = family::bloom("bloom-1b1", 24, 1536, 16);
inline constexpr shape bloom_1b7 = family::bloom("bloom-1b7", 24, 2048, 16);
inline constexpr shape bloom_3b = family::bloom("bloom-3b", 30, 2560, 32);
inline constexpr shape bloom_7b1 = family::bloom("bloom-7b1", 30, 4096, 32);
inline constexpr shape bloom_176b = family::bloom("bloom-176b", 70, 14336, 112);
inline constexpr shape falcon_7b = family::falcon("falcon-7b", 32, 4544, 71, 1, true);
inline constexpr shape falcon_40b = family::falcon("falcon-40b", 60, 8192, 128, 8);
inline constexpr shape falcon_180b = family::falcon("falcon-180b", 80, 14848, 232, 8);
inline constexpr shape mpt_7b = family::mpt("mpt-7b", 32, 4096, 32, 50432);
inline constexpr shape mpt_30b = family::mpt("mpt-30b", 48, 7168, 64, 50432);
inline constexpr shape phi_1_5 = family::phi("phi-1.5", 24, 2048, 32, 50);
inline constexpr shape phi_2 = family::phi("phi-2", 32, 2560, 32, 40);
inline constexpr shape starcoder2_3b = family::starcoder2("starcoder2-3b", 30, 3072, 24, 2, true);
inline constexpr shape starcoder2_7b = family::starcoder2("starcoder2-7b", 32, 4608, 36, 4, true);
inline constexpr shape starcoder2_15b = family::starcoder2("starcoder2-15b", 40, 6144, 48, 4, false);

// Phi-3 and 4, OLMo, StableLM, Command-R: layers, hidden, heads, key-value heads, MLP, ….
inline constexpr shape phi_3_mini = family::phi3("phi-3-mini", 32, 3072, 32, 32, 8192, 32064);
inline constexpr shape phi_3_medium = family::phi3("phi-3-medium", 40, 5120, 40, 10, 17920, 32064);
inline constexpr shape phi_4 = family::phi3("phi-4", 40, 5120, 40, 10, 17920, 100352);
inline constexpr shape phi_4_mini = family::phi3("phi-4-mini", 32, 3072, 24, 8, 8192, 200064, true);
inline constexpr shape olmo_1b = family::weightless(family::llama("olmo-1b", 16, 2048, 16, 16, 8192, 50304, true));
inline constexpr shape olmo_7b = family::weightless(family::llama("olmo-7b", 32, 4096, 32, 32, 11008, 50304));
inline constexpr shape olmo_2_7b = family::olmo2("olmo-2-7b", 32, 4096, 32, 32, 11008, 100352);
inline constexpr shape olmo_2_1b = family::olmo2("olmo-2-1b", 16, 2048, 16, 16, 8192, 100352);
inline constexpr shape olmo_2_13b = family::olmo2("olmo-2-13b", 40, 5120, 40, 40, 13824, 100352);
inline constexpr shape olmo_2_32b = family::olmo2("olmo-2-32b", 64, 5120, 40, 8, 27648, 100352);
inline constexpr shape olmo_3_7b = family::olmo2("olmo-3-7b", 32, 4096, 32, 32, 11008, 100278, 4096);
inline constexpr shape olmo_3_32b = family::olmo2("olmo-3-32b", 64, 5120, 40, 8, 27648, 100278, 4096);
inline constexpr shape stablelm_3b = family::stablelm("stablelm-3b", 32, 2560, 32, 32, 6912, 50304, false);
inline constexpr shape stablelm_2_1_6b = family::stablelm("stablelm-2-1.6b", 24, 2048, 32, 32, 5632, 100352, true);
inline constexpr shape stablelm_2_12b = family::stablelm("stablelm-2-12b", 40, 5120, 32, 8, 13824, 100352, false, true);
inline constexpr shape command_r = family::cohere("command-r", 40, 8192, 64, 64, 22528, false);
inline constexpr shape command_r_plus = family::cohere("command-r-plus", 64, 12288, 96, 8, 33792, true);
inline constexpr shape aya_expanse_8b = family::cohere("aya-expanse-8b", 32, 4096, 32, 8, 14336, false);
inline constexpr shape aya_expanse_32b = family::cohere("aya-expanse-32b", 40, 8192, 64, 8, 24576, false);

// Mixtures of experts with latent attention: layers, hidden, heads, dense MLP, vocabulary, query rank, experts,
// active, their width, shared, dense layers.
inline constexpr shape deepseek_v2_lite =
    family::undivided(family::deepseek("deepseek-v2-lite", 27, 2048, 16, 10944, 102400, 0, 64, 6, 1408, 2, 1));
inline constexpr shape deepseek_v2 = family::undivided(family::deepseek("deepseek-v2", 60, 5120, 128, 12288, 102400, 1536, 160, 6, 1536, 2, 1));
inline constexpr shape deepseek_v3 = family::deepseek("deepseek-v3", 61, 7168, 128, 18432, 129280, 1536, 256, 8, 2048, 1, 3);
inline constexpr shape deepseek_r1 = family::deepseek("deepseek-r1", 61, 7168, 128, 18432, 129280, 1536, 256, 8, 2048, 1, 3);
inline constexpr shape moonlight_16b_a3b =
    family::deepseek("moonlight-16b-a3b", 27, 2048, 16, 11264, 163840, 0, 64, 6, 1408, 2, 1);
inline constexpr shape kimi_k2 = family::deepseek("kimi-k2", 61, 7168, 64, 18432, 163840, 1536, 384, 8, 2048, 1, 1);

// Other mixtures of experts.
inline constexpr shape deepseek_moe_16b =
    family::dense_first(family::shared(family::routed(family::llama("deepseek-moe-16b", 28, 2048, 16, 16, 10944, 102400), 64, 6, 1408), 2, 2816), 1);
inline constexpr shape glm_4_5_air =
    family::half_rotary(family::wide_heads(family::dense_first(family::shared(family::routed(family::qwen2("glm-4.5-air", 46, 4096, 96, 8, 10944, 151552), 128, 8, 1408), 1, 1408), 1), 128));
inline constexpr shape dbrx = family::dbrx("dbrx", 40, 6144, 48, 8, 10752, 100352, 16, 4);
inline constexpr shape phi_3_5_moe = family::phimoe("phi-3.5-moe", 32, 4096, 32, 8, 6400, 32064, 16, 2);
inline constexpr shape minimax_m2 = family::minimax("minimax-m2", 62, 3072, 48, 8, 1536, 200064, 256, 8);
inline constexpr shape gpt_oss_20b = family::gpt_oss("gpt-oss-20b", 24, 32);
inline constexpr shape mimo_v2_flash = family::mimo_v2("mimo-v2-flash", 48, 4096, 64, 4, 16384, 152576, 256, 8, 2048);
inline constexpr shape gpt_oss_120b = family::gpt_oss("gpt-oss-120b", 36, 128);
inline constexpr shape llama_4_scout = family::llama4("llama-4-scout", 16, 1);
inline constexpr shape llama_4_maverick = family::llama4("llama-4-maverick", 128, 2);

// Encoders and encoder-decoders: layers, hidden, heads, ….
inline constexpr shape bert_base_uncased = family::bert("bert-base-uncased", 12, 768, 12, 30522);
inline constexpr shape bert_large_uncased = family::bert("bert-large-uncased", 24, 1024, 16, 30522);
inline constexpr shape bert_base_cased = family::bert("bert-base-cased", 12, 768, 12, 28996);
inline constexpr shape roberta_base = family::bert("roberta-base", 12, 768, 12, 50265, 514, 1);
inline constexpr shape roberta_large = family::bert("roberta-large", 24, 1024, 16, 50265, 514, 1);
inline constexpr shape xlm_roberta_base = family::bert("xlm-roberta-base", 12, 768, 12, 250002, 514, 1);
inline constexpr shape xlm_roberta_large = family::bert("xlm-roberta-large", 24, 1024, 16, 250002, 514, 1);
inline constexpr shape t5_small = family::t5("t5-small", 6, 512, 8, 64, 2048);
inline constexpr shape t5_base = family::t5("t5-base", 12, 768, 12, 64, 3072);
inline constexpr shape t5_large = family::t5("t5-large", 24, 1024, 16, 64, 4096);
inline constexpr shape t5_3b = family::t5("t5-3b", 24, 1024, 32, 128, 16384);
inline constexpr shape t5_11b = family::t5("t5-11b", 24, 1024, 128, 128, 65536);
inline constexpr shape flan_t5_small = family::t5("flan-t5-small", 8, 512, 6, 64, 1024, true);
inline constexpr shape flan_t5_base = family::t5("flan-t5-base", 12, 768, 12, 64, 2048, true);
inline constexpr shape flan_t5_xl = family::t5("flan-t5-xl", 24, 2048, 32, 64, 5120, true);
inline constexpr shape flan_t5_large = family::t5("flan-t5-large", 24, 1024, 16, 64, 2816, true);
inline constexpr shape flan_t5_xxl = family::t5("flan-t5-xxl", 24, 4096, 64, 64, 10240, true);
inline constexpr shape whisper_tiny = family::whisper("whisper-tiny", 4, 384, 6);
inline constexpr shape whisper_base = family::whisper("whisper-base", 6, 512, 8);
inline constexpr shape whisper_small = family::whisper("whisper-small", 12, 768, 12);
inline constexpr shape whisper_medium = family::whisper("whisper-medium", 24, 1024, 16);
inline constexpr shape whisper_large_v2 = family::whisper("whisper-large-v2", 32, 1280, 20);
inline constexpr shape whisper_large_v3 = family::whisper("whisper-large-v3", 32, 1280, 20, 51866, 128);

// With images.
inline constexpr shape vit_base_patch16_224 = family::vit("vit-base-patch16-224", 12, 768, 12);
inline constexpr shape vit_large_patch16_224 = family::vit("vit-large-patch16-224", 24, 1024, 16);
inline constexpr shape llava_1_5_7b = family::clip_large(family::llama("llava-1.5-7b", 32, 4096, 32, 32, 11008, 32064));
inline constexpr shape llava_1_5_13b = family::clip_large(family::llama("llava-1.5-13b", 40, 5120, 40, 40, 13824, 32064));
inline constexpr shape qwen2_vl_2b = family::qwen2_tower(family::qwen2("qwen2-vl-2b", 28, 1536, 12, 2, 8960, 151936, true));
inline constexpr shape qwen2_vl_7b = family::qwen2_tower(family::qwen2("qwen2-vl-7b", 28, 3584, 28, 4, 18944, 152064));
inline constexpr shape qwen2_5_vl_3b = family::qwen2_5_tower(family::qwen2("qwen2.5-vl-3b", 36, 2048, 16, 2, 11008, 151936, true), 3420);
inline constexpr shape qwen2_5_vl_7b =
    family::qwen2_5_tower(family::qwen2("qwen2.5-vl-7b", 28, 3584, 28, 4, 18944, 152064), 3420);
inline constexpr shape qwen2_5_vl_32b =
    family::qwen2_5_tower(family::qwen2("qwen2.5-vl-32b", 64, 5120, 40, 8, 27648, 152064), 3456);
inline constexpr shape qwen2_5_vl_72b =
    family::qwen2_5_tower(family::qwen2("qwen2.5-vl-72b", 80, 8192, 64, 8, 29568, 152064), 3456);
inline constexpr shape qwen3_vl_2b = family::qwen3_tower(family::qwen3("qwen3-vl-2b", 28, 2048, 16, 8, 6144, true));
inline constexpr shape qwen3_vl_4b = family::qwen3_tower(family::qwen3("qwen3-vl-4b", 36, 2560, 32, 8, 9728, true));
inline constexpr shape qwen3_vl_8b = family::qwen3_tower(family::qwen3("qwen3-vl-8b", 36, 4096, 32, 8, 12288), 27, 1152, 4304);
inline constexpr shape minicpm_v_2_6 =
    family::siglip_so400m(family::qwen2("minicpm-v-2.6", 28, 3584, 28, 4, 18944, 151666), 980, 64);
// InternVL: nine tokens more than the language model's tokenizer has (internvl_chat_finetune.py, token_list).
inline constexpr shape internvl2_1b = family::internvl("internvl2-1b", qwen2_0_5b, 151655);
inline constexpr shape internvl2_2b = family::internvl("internvl2-2b", internlm2_1_8b, 92553);
inline constexpr shape internvl2_4b = family::internvl("internvl2-4b", phi_3_mini, 32020);
inline constexpr shape internvl2_8b = family::internvl("internvl2-8b", internlm2_7b, 92553);
inline constexpr shape internvl2_26b = family::internvl("internvl2-26b", internlm2_20b, 92553, true);
inline constexpr shape internvl2_5_1b = family::internvl("internvl2.5-1b", qwen2_5_0_5b, 151674);
inline constexpr shape internvl2_5_4b = family::internvl("internvl2.5-4b", qwen2_5_3b, 151674);
inline constexpr shape internvl2_5_38b = family::internvl("internvl2.5-38b", qwen2_5_32b, 151674, true);
inline constexpr shape internvl2_5_78b = family::internvl("internvl2.5-78b", qwen2_5_72b, 151674, true);
inline constexpr shape internvl3_2b = family::internvl("internvl3-2b", qwen2_5_1_5b, 151674);
inline constexpr shape internvl3_8b = family::internvl("internvl3-8b", qwen2_5_7b, 151674);
inline constexpr shape internvl3_14b = family::internvl("internvl3-14b", qwen2_5_14b, 151674);

}  // namespace headroom::models
