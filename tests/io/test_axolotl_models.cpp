// Distributed under the Boost Software License, Version 1.0.
// Models in axolotl's configurations: values of their config.json that are set anew, fine-tunes known by the model that they are of (067b021c).
#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_axolotl_models {

using namespace imported;

namespace {

const std::string dense = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nsequence_len: 1000\nflash_attention: true\nadapter: lora\nlora_r: 16\nlora_target_linear: true\nlora_mlp_kernel: false\n";
const std::string sparse = "base_model: Qwen/Qwen3-30B-A3B\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nadapter: lora\nlora_r: 8\nlora_target_modules: [q_proj, v_proj]\nlora_mlp_kernel: false\n";
const std::string asks = "model_config:\n  output_router_logits: true\n";
job yaml(const std::string& said) { return job_of({{"axo.yaml", said}}, {}); }

}  // namespace

TEST_CASE("routers' logits, asked for in the model's configuration") {
  CHECK(yaml(dense + asks) == yaml(dense));  // it has no router
  CHECK_FALSE(yaml(sparse).loss.balances_experts);
  CHECK(yaml(sparse + asks).loss.balances_experts);
  CHECK(yaml(sparse + "overrides_of_model_config:\n  output_router_logits: true\n").loss.balances_experts);
  CHECK(yaml(sparse + "model_config:\n  output_router_logits: false\n") == yaml(sparse));
  CHECK(refusal_of({{"axo.yaml", dense + "model_config:\n  sliding_window: 64\n"}}, {}).find("model_config") != std::string::npos);
}

TEST_CASE("a fine-tune that has its model's shape") {
  const std::string rest = "\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n";
  CHECK(yaml("base_model: Skywork/Skywork-Reward-V2-Qwen3-8B" + rest).model == *models::find("qwen3-8b"));
  CHECK(yaml("base_model: trl-lib/qwen1.5-1.8b-sft" + rest).model == *models::find("qwen1.5-1.8b"));
}

}  // namespace test_axolotl_models

#endif
