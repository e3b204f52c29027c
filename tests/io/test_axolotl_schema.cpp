// Distributed under the Boost Software License, Version 1.0.
// What ends axolotl before its first step, by its own schema, and by code that checkpoints bring.
#include <doctest/doctest.h>

#include "imported.hpp"

#include <fstream>

#if HEADROOM_HAS_YAML

namespace test_axolotl_schema {

using namespace imported;

namespace {

const std::string all = "micro_batch_size: 2\nsequence_len: 1000\nattn_implementation: flash_attention_2\n";
const std::string lora = all + "adapter: lora\nlora_r: 8\nlora_mlp_kernel: false\n";

job yaml(const std::string& said) { return job_of({{"axo.yaml", said}}, {"hardware.gpus_per_node=8"}); }
std::string why(const std::string& said) { return refusal_of({{"axo.yaml", said}}, {"hardware.gpus_per_node=8"}); }

/// Whether a sentence says that axolotl ends.
bool ends(const std::string& sentence) {
  if (!holds(sentence, "axolotl")) return false;
  for (const auto* word : {" ends at", " ends axolotl", " end axolotl", " ends before", "refuses", "no longer", "is null", "must be a"})
    if (holds(sentence, word)) return true;
  return false;
}

}  // namespace

// What pydantic 2.13 says of axolotl's own schema (axolotl-ai-cloud/axolotl 067b021c, 2026-07, utils/schemas), with eight GPUs of compute capability 9.0 and torch 2.11.
TEST_CASE("axolotl's own schema, run over configurations, and the reader refuse the same ones") {
  std::ifstream in{HEADROOM_TEST_DATA "/launchers/axolotl_schema.jsonl"};
  int refused = 0, taken = 0;
  for (std::string line; std::getline(in, line);) {
    INFO(line);
    const auto c = io::json_value::parse(line);
    auto says = io::json_value::parse(R"({"base_model": "meta-llama/Llama-3.1-8B", "micro_batch_size": 2, "gradient_accumulation_steps": 1, "sequence_len": 1000, "attn_implementation": "flash_attention_2"})");
    says["datasets"] = io::json_value::parse(R"([{"path": "a", "type": "alpaca"}])");
    says["learning_rate"] = 0.0001;
    for (const auto& [key, value] : c["says"].items()) says[key] = value;
    std::string sentence;
    try {
      yaml(says.dump());
    } catch (const headroom::error& e) {
      sentence = e.what();
    }
    INFO(sentence);
    if (c["ends"] == true) {
      CHECK_FALSE(sentence.empty());
      ++refused;
    } else {
      CHECK_FALSE(ends(sentence));
      ++taken;
    }
  }
  CHECK(refused > 130);
  CHECK(taken > 170);
}

TEST_CASE("sentences of what ends axolotl say how to go on") {
  const std::string llama = "base_model: meta-llama/Llama-3.1-8B\n" + all;
  CHECK(holds(why(llama + "warmup_steps: 0.1\n"), "axo.yaml:5: warmup_steps must be a whole number in axolotl, which ends at 0.1: warmup_ratio takes a share"));
  CHECK(holds(why(llama + "output_dir:\n"), "axo.yaml:5: output_dir is null, at which axolotl ends: give it a value, or take it out"));
  CHECK(holds(why(llama + "early_stopping_patience: 3\n"), "axo.yaml:5: axolotl ends at early_stopping_patience without save_steps and eval_steps: give both, or take it out"));
  CHECK(holds(why(llama + "save_steps: 10\nsaves_per_epoch: 1\n"), "axo.yaml:6: saves_per_epoch and save_steps end axolotl together: take one of them out"));
  CHECK(holds(why(llama + "datasets:\n  - path: a\n    type: sharegpt.load_role\n"), "axo.yaml:5: axolotl has data of type sharegpt no longer, and ends there"));
  CHECK(yaml(llama + "datasets:\n  - path: a\n    type: {field_system: sharegpt}\n  - path: b\n    type: chat_template\n").batch.micro == 2);
  CHECK(holds(why(llama + "max_packed_sequence_len: 2048\n"), "axo.yaml:5: axolotl has max_packed_sequence_len no longer, and ends there"));
  CHECK(holds(why(llama + "rl: ebft\nebft:\n  mode: structured\n"), "axo.yaml:5: axolotl's release 0.18 ends at rl ebft before it loads a model"));
  CHECK(holds(why(llama + "reward_model: true\nsample_packing: true\n"), "axo.yaml:6: sample_packing = true is not modelled"));  // check_sample_packing_w_rl asks rl alone
  CHECK(holds(why(llama + "rl: dpo\nsample_packing: true\n"), "axo.yaml:6: axolotl refuses sample_packing beside preferences"));
  CHECK(holds(why(llama + "optimizer: adamw_bnb_8bit\nfsdp_version: 2\nfsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"), "axo.yaml:5: axolotl refuses adamw_bnb_8bit beside FSDP's second version: optimizer adamw_torch_8bit is taken"));
}

// transformers 52f5eca7c96d (2025-09-30) removed get_head_mask, which QWenModel.forward calls, and 55b172b8eb83 (2025-10-06) is_torch_fx_available, which modeling_deepseek.py imports.
TEST_CASE("code that checkpoints bring") {
  const std::string linear = lora + "lora_target_linear: true\n";
  CHECK(holds(why("base_model: Qwen/Qwen-7B\n" + linear + "trust_remote_code: true\n"), "axo.yaml:9: the code of Qwen/Qwen-7B calls get_head_mask, which transformers 5 has no longer"));
  CHECK(holds(why("base_model: Qwen/Qwen-7B\n" + linear), "axo.yaml:1: the code of Qwen/Qwen-7B calls get_head_mask"));
  CHECK(holds(why("base_model: tiiuae/falcon-7b\n" + linear + "trust_remote_code: true\n"), "axo.yaml:9: the code of tiiuae/falcon-7b calls get_head_mask"));
  CHECK(yaml("base_model: tiiuae/falcon-7b\n" + linear).adapter.rank == 8);
  CHECK(yaml("base_model: Qwen/Qwen1.5-7B\n" + linear).adapter.targets == all_linear);
  CHECK(holds(why("base_model: deepseek-ai/DeepSeek-V2-Lite\n" + all + "trust_remote_code: true\n"), "axo.yaml:5: the code of deepseek-ai/DeepSeek-V2-Lite imports is_torch_fx_available"));
  CHECK_FALSE(holds(why("base_model: deepseek-ai/DeepSeek-V2-Lite\n" + linear), "is_torch_fx_available"));
  const std::string phi = "base_model: microsoft/Phi-3-mini-4k-instruct\n" + all;
  for (const std::string model : {"microsoft/Phi-3-mini-4k-instruct", "cerebras/btlm-3b-8k-base", "LnL-AI/dbrx-base-converted-v2"})
    CHECK_MESSAGE(holds(why("base_model: " + model + "\n" + all + "trust_remote_code: true\n"), "axo.yaml:5: the class that " + model + " brings does not have _supports_flash_attn"), model);
  CHECK(holds(why("base_model: microsoft/Phi-3-mini-4k-instruct\nmicro_batch_size: 2\nsequence_len: 64\nattn_implementation: sdpa\ntrust_remote_code: true\n"), "axo.yaml:5: the code that microsoft/Phi-3-mini-4k-instruct brings is not modelled by this version: take trust_remote_code out"));
  CHECK(yaml(phi).batch.micro == 2);
}

// monkeypatch/lora_kernels.py, get_attention_cls_from_config: there is no Gemma3nAttention; VoxtralAttention is the encoder's; of MllamaTextSelfAttention, AfmoeAttention, Glm4MoeAttention and
// Llama4TextAttention no line is one of QKV_PATCHES.
TEST_CASE("models whose attention axolotl's kernels for adapters do not find, whether they are read or not") {
  const std::string on = all + "adapter: lora\nlora_r: 8\nlora_target_linear: true\n";
  for (const std::string model : {"google/gemma-3n-E2B-it", "mistralai/Voxtral-Mini-3B-2507", "alpindale/Llama-3.2-11B-Vision-Instruct", "arcee-ai/Trinity-Nano-Preview", "zai-org/GLM-4.5-Air"}) {
    const auto end = "axo.yaml:5: axolotl's kernels for adapters, which are on unless one of them is said, do not find this model's attention";
    CHECK_MESSAGE(holds(why("base_model: " + model + "\n" + on), end), model);
    CHECK_MESSAGE(!holds(why("base_model: " + model + "\n" + on + "lora_mlp_kernel: false\n"), end), model);
  }
  CHECK(holds(why("base_model: meta-llama/Llama-4-Scout-17B-16E\nmicro_batch_size: 1\nsequence_len: 64\nattn_implementation: sdpa\nadapter: lora\nlora_r: 8\nlora_o_kernel: true\nlora_target_linear: true\n"), "axo.yaml:7: axolotl's kernels for adapters do not find this model's attention"));
}

// loaders/patch_manager.py, _apply_model_specific_patches: patch_gemma4_fused_attn, whatever is said.
TEST_CASE("Gemma 4's attention is axolotl's own") {
  CHECK(holds(why("base_model: google/gemma-4-31B\n" + lora + "lora_target_modules: [q_proj]\n"), "axo.yaml:1: axolotl joins norms and rotary embedding of Gemma 4's attention"));
}

}  // namespace test_axolotl_schema

#endif
