// Distributed under the Boost Software License, Version 1.0.
// Who asks a tower that does not train for gradients, of programs over transformers.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_asked_towers {

using namespace imported;

namespace {

job of(const std::string& file, const std::string& said, const std::vector<std::string>& set = {}) { return job_of({{file, said}}, set); }
std::int64_t kept(const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); }
std::int64_t kept(job j, choice asked) {
  j.recompute.frozen_towers = asked;
  return kept(j);
}

const std::string factory = "model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct\nstage: sft\ndo_train: true\ndataset: x\ntemplate: qwen2_vl\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\nflash_attn: fa2\n";
const std::string lora = "finetuning_type: lora\nlora_rank: 8\nlora_target: all\n";

}  // namespace

// hiyouga/LLaMA-Factory ff6d4d12e model/model_utils/checkpointing.py: layers of which nothing trains are not checkpointed, and its own gradient_checkpointing_enable asks for
// no gradients; peft 0.21 peft_model.py PeftModel.__init__ asks, unless the base is quantised, through transformers' enable_input_require_grads.
TEST_CASE("under LLaMA-Factory a frozen tower beside adapters keeps all that it computes, over transformers 5") {
  const auto j = of("lora.yaml", factory + lora);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.recompute.towers == choice::no);
  CHECK(j.recompute.frozen_towers == choice::unset);
  // 768 × 768 pixels, each edge to the next multiple of 28, are 54 × 54 patches of 14: gate, up and the activation of each of 32 blocks are 3 × 3,420 numbers of 2 bytes.
  constexpr std::int64_t patches = 54 * 54;
  CHECK(kept(j) - kept(j, choice::no) > 32 * patches * 3 * 3420 * 2);
  const auto before = of("lora.yaml", factory + lora, {"environment.transformers=4.57"});
  CHECK(kept(before) == kept(before, choice::no));
  const auto quantised = of("lora.yaml", factory + lora + "quantization_bit: 4\n");
  CHECK(quantised.recompute.frozen_towers == choice::no);
  CHECK(quantised.recompute.towers == choice::unset);
  CHECK(of("full.yaml", factory + "finetuning_type: full\n").recompute.frozen_towers == choice::no);
  CHECK(of("full.yaml", factory + "finetuning_type: full\nfreeze_vision_tower: false\n").recompute.frozen_towers == choice::unset);
  CHECK(of("off.yaml", factory + lora + "disable_gradient_checkpointing: true\n").recompute == recompute::none);
  // Qwen3-VL's tower names no module that PEFT could ask, nor does a model of text have one.
  CHECK(of("lora.yaml", factory + lora + "image_max_pixels: 262144\n", {"model=qwen3-vl-4b"}).recompute.towers == choice::unset);
  CHECK(of("text.yaml", "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\ndo_train: true\ndataset: x\ntemplate: qwen\ncutoff_len: 2048\nbf16: true\n" + lora).recompute.towers == choice::unset);
}

// axolotl-ai-cloud/axolotl 067b021c src/axolotl/loaders/adapter.py load_adapter asks before adapters are made, whatever is recomputed.
TEST_CASE("under axolotl a frozen tower beside adapters is asked for gradients, recomputed or not") {
  const std::string run = "base_model: Qwen/Qwen2.5-VL-7B-Instruct\nprocessor_type: AutoProcessor\nadapter: lora\nlora_r: 8\nlora_alpha: 16\nlora_target_modules: 'model.language_model.layers.[\\d]+.(mlp|cross_attn|self_attn).(up|down|gate|q|k|v|o)_proj'\n"
                          "lora_mlp_kernel: false\nlora_qkv_kernel: false\nlora_o_kernel: false\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\nbf16: true\nimage_size: 448\noptimizer: adamw_torch_fused\ndatasets:\n  - path: x\n";
  const auto plain = of("a.yaml", run);
  CHECK(plain.recompute.mode == recompute_mode::none);
  CHECK(plain.recompute.frozen_towers == choice::yes);
  CHECK(kept(plain) > kept(plain, choice::no));
  CHECK(of("a.yaml", run, {"environment.transformers=4.57"}).recompute.frozen_towers == choice::unset);
  const auto again = of("a.yaml", run + "gradient_checkpointing: true\n");
  CHECK(again.recompute.mode == recompute_mode::full);
  CHECK(again.recompute.frozen_towers == choice::unset);
  CHECK(kept(again) == kept(again, choice::yes));
}

// trl/examples/scripts/sft_vlm.py trains by the Trainer, which asks through transformers' own gradient_checkpointing_enable.
TEST_CASE("under TRL the release of transformers decides") {
  const std::string run = "accelerate launch --num_processes 1 examples/scripts/sft_vlm.py --dataset_name x --model_name_or_path Qwen/Qwen2.5-VL-7B-Instruct --per_device_train_batch_size 1 --bf16 --dtype bfloat16 --use_peft --lora_target_modules q_proj v_proj --gradient_checkpointing ";
  const std::vector<std::string> sized{"batch.sequence=2048", "batch.images.width=448", "batch.images.height=448"};
  const auto j = of("run.sh", run, sized);
  CHECK(j.recompute.frozen_towers == choice::unset);
  CHECK(kept(j) == kept(j, choice::yes));
  auto older = sized;
  older.emplace_back("environment.transformers=4.57");
  const auto before = of("run.sh", run, older);
  CHECK(kept(before) == kept(before, choice::no));
  CHECK(kept(before) < kept(j));
}

// haotian-liu/LLaVA llava/model/multimodal_encoder/clip_encoder.py CLIPVisionTower.forward is under torch.no_grad.
TEST_CASE("LLaVA's tower runs without a graph") {
  const auto j = of("run.sh", "deepspeed --num_gpus 1 llava/train/train_mem.py --model_name_or_path lmsys/vicuna-7b-v1.5 --version v1 --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --mm_vision_select_layer -2 --bf16 True "
                              "--per_device_train_batch_size 1 --gradient_checkpointing True --model_max_length 2048 --lazy_preprocess True --data_path x --image_folder y --image_aspect_ratio pad --group_by_modality_length True --tf32 True");
  CHECK(j.recompute.frozen_towers == choice::no);
}

}  // namespace test_asked_towers

#endif
