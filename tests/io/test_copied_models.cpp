// Distributed under the Boost Software License, Version 1.0.
// Copies of models whose layers are not those of what they are named after.
#include "imported.hpp"

#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_copied_models {

using namespace imported;

namespace {

std::int64_t trained(const job& j) { return estimate(j).parameter_count.trainable.count(); }

}  // namespace

TEST_CASE("Unsloth's copies of Phi have layers of their own") {
  // recipes/Phi-4/grpo/config_phi4_b2_as2.yaml of EleutherAI/open-r1 db3afd27 names unsloth/phi-4 and q_proj, k_proj, v_proj, gate_proj, up_proj.
  const auto of = [](const std::string& model) {
    return imported::text{"sft.yaml", "model_name_or_path: " + model + "\nper_device_train_batch_size: 2\nmax_length: 1024\nbf16: true\ngradient_checkpointing: true\ndataset_name: a\nloss_type: nll\ndtype: bfloat16\nuse_peft: true\nlora_r: 32\n"
                                      "lora_target_modules: [q_proj, v_proj, k_proj, o_proj, gate_proj, down_proj, up_proj]\n"};
  };
  // 40 layers of 5120, 10 of 40 heads of 128 for keys and values, 17920: q and o 2 × 32 × 10240, k and v 2 × 32 × 6400, three matrices of the MLP 3 × 32 × 23040.
  CHECK(trained(job_of({of("unsloth/phi-4")})) == 40 * 32 * (2 * 10240 + 2 * 6400 + 3 * 23040));
  CHECK(trained(job_of({of("microsoft/phi-4")})) == 40 * 32 * (10240 + 23040));  // o_proj and down_proj alone have such names
  CHECK(job_of({of("unsloth/Qwen3-8B")}).model == job_of({of("Qwen/Qwen3-8B")}).model);
  CHECK(holds(refusal_of({of("unsloth/Phi-4-mini-instruct")}), "\"unsloth/Phi-4-mini-instruct\""));
}

}  // namespace test_copied_models

#endif
