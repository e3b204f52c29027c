// Distributed under the Boost Software License, Version 1.0.
// Layers named one by one for adapters, in models whose towers have layers of the same names. Counts by hand from the classes that transformers 5.9 has
// (modeling_idefics3.py, modeling_siglip.py, modeling_clip.py, modeling_qwen2_5_vl.py, modeling_qwen3_vl.py, modeling_glm4v.py) under PEFT's rule: a path that
// ends with a dot and the name (peft/tuners/tuners_utils.py check_target_module_exists).
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_tower_names {

using namespace imported;

namespace {

const std::vector<std::string> set{"batch.images={\"count\":1,\"width\":448,\"height\":448}", "batch.sequence=2048", "environment.trl=1.0", "hardware.gpus_per_node=1"};
imported::text see(const std::string& model, const std::string& targets, const std::string& rest = "") {
  return {"run.sh", "python examples/scripts/sft_vlm.py --dataset_name x --model_name_or_path " + model + " --dtype bfloat16 --per_device_train_batch_size 1 --use_peft --lora_r 8 " + rest + " --lora_target_modules " + targets + "\n"};
}
constexpr std::int64_t rank = 8;
parameters trained(const job& j) { return estimate(j).parameter_count.trainable; }
const std::string seven = "down_proj o_proj k_proj q_proj gate_proj up_proj v_proj";

}  // namespace

TEST_CASE("LLaMA-Factory runs the towers of a model that hears over samples of text, too") {
  const auto file = [](const char* model) { return std::vector<imported::text>{{"lf.yaml", std::string{"model_name_or_path: "} + model + "\nstage: sft\nfinetuning_type: lora\nlora_target: q_proj\nper_device_train_batch_size: 1\ncutoff_len: 512\nbf16: true\n"}}; };
  CHECK_THROWS_WITH_AS((void)job_of(file("google/gemma-4-E2B-it"), {"batch.images={\"none\":true}", "hardware.gpus_per_node=1"}), doctest::Contains("puts a small picture or sound into each batch that has none"), job_error);
  CHECK_NOTHROW((void)job_of(file("meta-llama/Llama-3.1-8B"), {"hardware.gpus_per_node=1"}));
}

TEST_CASE("SmolVLM: names of the text's layers reach q, k and v of its tower") {
  // 24 layers of 2,048 with 8,192; 27 of 1,152, whose other layers are called out_proj, fc1 and fc2.
  const auto some = job_of({see("HuggingFaceTB/SmolVLM2-2.2B-Instruct", "q_proj v_proj")}, set);
  CHECK(some.adapter.targets == module_set{module::q_proj, module::v_proj, module::vision});
  CHECK(some.adapter.vision_targets == module_set{module::q_proj, module::v_proj});
  CHECK(trained(some) == parameters{rank * (24 * 2 * (2048 + 2048) + 27 * 2 * (1152 + 1152))});
  const auto all = job_of({see("HuggingFaceTB/SmolVLM-Instruct", seven)}, set);
  CHECK(trained(all) == parameters{rank * (24 * (4 * (2048 + 2048) + 3 * (2048 + 8192)) + 27 * 3 * (1152 + 1152))});
  const auto joint = job_of({see("HuggingFaceTB/SmolVLM-Instruct", "q_proj fc1 proj")}, set);  // modality_projection.proj: 1,152 x 9 to 2,048
  CHECK(joint.adapter.targets == module_set{module::q_proj, module::vision, module::projector});
  CHECK(trained(joint) == parameters{rank * (24 * (2048 + 2048) + 27 * ((1152 + 1152) + (1152 + 4304)) + (9 * 1152 + 2048))});
  for (const auto& j : {some, all, joint}) CHECK(io::read_job(io::job_to_json(j)) == j);
  auto d = draft_of({see("HuggingFaceTB/SmolVLM2-2.2B-Instruct", "q_proj v_proj")}, set);
  d.settled();
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return n.find("layers of the same names in the vision tower, too") != std::string::npos; }));
  // A job's own words stand.
  auto own = set;
  own.push_back("adapter.targets=[\"q_proj\", \"v_proj\"]");
  CHECK(trained(job_of({see("HuggingFaceTB/SmolVLM2-2.2B-Instruct", "q_proj v_proj")}, own)) == parameters{rank * 24 * 2 * (2048 + 2048)});
}

TEST_CASE("CLIP, Qwen-VL and GLM-4V") {
  // LLaVA-1.5 7B: 32 layers of 4,096; of CLIP's 24 layers of 1,024 all are counted, the last too, which LLaVA reads nothing of.
  CHECK(trained(job_of({see("llava-hf/llava-1.5-7b-hf", "q_proj v_proj")}, set)) == parameters{rank * (32 * 2 * (4096 + 4096) + 24 * 2 * (1024 + 1024))});
  // Qwen2.5-VL 3B: 36 layers of 2,048, 11,008; 32 blocks of 1,280, 3,420, whose MLP alone has names of the text's.
  CHECK(trained(job_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "q_proj up_proj")}, set)) == parameters{rank * (36 * ((2048 + 2048) + (2048 + 11008)) + 32 * (1280 + 3420))});
  CHECK(trained(job_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "q_proj qkv")}, set)) == parameters{rank * (36 * (2048 + 2048) + 32 * (1280 + 3840))});
  CHECK(job_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "q_proj v_proj")}, set).adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(holds(refusal_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "q_proj proj")}, set), "gives an adapter to the convolution that makes patches, too"));
  // Qwen3-VL 32B: 64 layers of 5,120, 64 heads of 128; 27 blocks of 1,152, 4,304; a merger and three deep ones, of 4,608 to 4,608 and to 5,120.
  CHECK(trained(job_of({see("Qwen/Qwen3-VL-32B-Instruct", "q_proj linear_fc1 linear_fc2")}, set)) ==
        parameters{rank * (64 * (5120 + 64 * 128) + 27 * 2 * (1152 + 4304) + 4 * ((4608 + 4608) + (4608 + 5120)))});
  // GLM-4.6V-Flash: 40 layers of 4,096, 2 heads of 128 for keys and values, 13,696; its text has gate_up_proj in place of gate_proj and up_proj, its tower (24 blocks of
  // 1,536, 4,096) and its merger (4,096, 13,696) have both.
  const auto glm = job_of({see("zai-org/GLM-4.6V-Flash", seven)}, set);
  CHECK(glm.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::down_proj, module::vision, module::projector});
  CHECK(trained(glm) == parameters{rank * (40 * (2 * (4096 + 4096) + 2 * (4096 + 256) + (13696 + 4096)) + 24 * 3 * (1536 + 4096) + 3 * (4096 + 13696))});
}

TEST_CASE("TRL hands the shell's words to PEFT: a comma belongs to the name before it") {
  // huggingface/trl f2cd57710 examples/scripts/grpo_vlm.py and sft_vlm.py write both lines so.
  const auto j = job_of({see("HuggingFaceTB/SmolVLM2-2.2B-Instruct", "\"q_proj\", \"v_proj\"")}, set);
  CHECK(trained(j) == parameters{rank * (24 * (2048 + 2048) + 27 * (1152 + 1152))});
  CHECK(job_of({see("HuggingFaceTB/SmolVLM-Instruct", "down_proj, o_proj, k_proj, q_proj, gate_proj, up_proj, v_proj")}, set).adapter.targets == module_set{module::v_proj, module::vision});
  const auto d = draft_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "q_proj, v_proj")}, set);
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return n.find("a comma, or a blank between quotes, is a part of a name, and no layer is called q_proj,: [\"v_proj\"] alone have adapters") != std::string::npos; }));
  CHECK(holds(refusal_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "q_proj, v_proj,")}, set), "put blanks between the names"));
  // One word is taken out of its list, and is an expression then.
  for (const auto* one : {"all", "q_proj", "q_proj,v_proj"}) CHECK(holds(refusal_of({see("Qwen/Qwen2.5-VL-3B-Instruct", one)}, set), "alone is an expression for a module's whole path, which no layer has"));
  // So are several between quotes, but not those of a variable that the shell cuts.
  CHECK(holds(refusal_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "\"q_proj v_proj\"")}, set), "\"q_proj v_proj\" alone is an expression for a module's whole path, which no layer has"));
  CHECK(holds(refusal_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "\"q_proj v_proj\" \"k_proj o_proj\"")}, set), "a blank between quotes, is a part of a name, no layer is called so"));
  CHECK(job_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "\"q_proj v_proj\" k_proj")}, set).adapter.targets == module_set{module::k_proj});
  CHECK(job_of({see("Qwen/Qwen2.5-VL-3B-Instruct", "'.*\\.q_proj'")}, set).adapter.targets == module_set{module::q_proj});
}

}  // namespace test_tower_names

#endif
