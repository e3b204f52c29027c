// Distributed under the Boost Software License, Version 1.0.
// axolotl's models that see, that have experts, and whose attention its kernels do not find, read as somebody did by hand from its source (067b021c) and
// transformers' (5.16).
#include <doctest/doctest.h>

#include <headroom/headroom.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_axolotl_sight {

using namespace imported;

namespace {

const std::string eight = "hardware.gpus_per_node=8";
const std::string some = "micro_batch_size: 2\nsequence_len: 1000\nflash_attention: true\n";
const std::string lora = some + "adapter: lora\nlora_r: 16\n";
const std::string gemma = "base_model: google/gemma-3-4b-it\n", qwen = "base_model: Qwen/Qwen2.5-VL-7B-Instruct\n";
const std::string of_text = "lora_target_modules: 'model.language_model.layers.[\\d]+.(mlp|cross_attn|self_attn).(up|down|gate|q|k|v|o)_proj'\n";
const std::string off = "lora_mlp_kernel: false\nlora_qkv_kernel: false\nlora_o_kernel: false\n";
const module_set dense{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj};

job yaml(const std::string& said, const std::vector<std::string>& set = {}) { return job_of({{"axo.yaml", said}}, set); }
std::string why(const std::string& said, const std::vector<std::string>& set = {}) { return refusal_of({{"axo.yaml", said}}, set); }
bool notes(const std::string& said, const char* part, const std::vector<std::string>& set = {}) {
  const auto d = draft_of({{"axo.yaml", said}}, set);
  return std::any_of(d.notes.begin(), d.notes.end(), [&](const std::string& n) { return holds(n, part); });
}

std::int64_t trains(const job& j) { return estimate(j).parameter_count.trainable.count(); }

/// Falcon-H1-7B-Base's config.json, as far as it shapes anything.
const imported::text falcon_h1{"config.json", R"({"architectures": ["FalconH1ForCausalLM"], "model_type": "falcon_h1", "hidden_size": 3072, "num_hidden_layers": 44, "intermediate_size": 12288,
  "num_attention_heads": 12, "num_key_value_heads": 2, "head_dim": 128, "mamba_d_ssm": 3072, "mamba_n_heads": 24, "mamba_d_head": 128, "mamba_d_state": 256, "mamba_n_groups": 1,
  "mamba_d_conv": 4, "mamba_rms_norm": false, "vocab_size": 130048, "tie_word_embeddings": false})"};
/// CohereForAI/c4ai-command-r7b-12-2024's.
const imported::text command_r7b{"config.json", R"({"architectures": ["Cohere2ForCausalLM"], "model_type": "cohere2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336, "vocab_size": 256000, "tie_word_embeddings": true, "sliding_window": 4096, "sliding_window_pattern": 4, "logit_scale": 0.25})"};

/// Mistral 3's class before a small text: Pixtral's tower and a merger of patches.
const imported::text mistral3{"config.json", R"({"architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3", "tie_word_embeddings": false, "spatial_merge_size": 2,
  "text_config": {"model_type": "mistral", "hidden_size": 1024, "num_hidden_layers": 4, "intermediate_size": 2048, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 32000, "tie_word_embeddings": false},
  "vision_config": {"model_type": "pixtral", "hidden_size": 256, "num_hidden_layers": 2, "intermediate_size": 512, "num_attention_heads": 4, "head_dim": 64, "patch_size": 14, "image_size": 1540, "num_channels": 3}})"};
/// zai-org/GLM-4-9B-0414's.
const imported::text glm4{"config.json", R"({"architectures": ["Glm4ForCausalLM"], "model_type": "glm4", "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40, "num_attention_heads": 32,
  "num_key_value_heads": 2, "head_dim": 128, "attention_bias": true, "vocab_size": 151552, "tie_word_embeddings": false})"};

/// Qwen3.5's class, small: three layers of linear attention, then one that attends.
const imported::text qwen3_5{"config.json", R"({"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "tie_word_embeddings": false,
  "text_config": {"model_type": "qwen3_5_text", "hidden_size": 1024, "num_hidden_layers": 4, "intermediate_size": 2048, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
    "linear_num_key_heads": 8, "linear_num_value_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4, "vocab_size": 32000},
  "vision_config": {"model_type": "qwen3_5_vision", "depth": 2, "hidden_size": 256, "num_heads": 4, "intermediate_size": 512, "out_hidden_size": 1024, "patch_size": 16, "spatial_merge_size": 2,
    "temporal_patch_size": 2, "in_channels": 3, "num_position_embeddings": 2304}})"};

}  // namespace

TEST_CASE("images beside text, and adapters of the language model alone") {
  const auto file = launch_file("axolotl-gemma3-vision", "gemma-3-4b-vision-qlora.yml");
  const auto j = job_of({file}, {eight});
  CHECK(j.model == *models::find("gemma-3-4b"));
  CHECK(j.batch == batch{.micro = 2, .sequence = 2048, .accumulation = 4, .lengths = {.unknown = true}});  // one image as large as the tower reads it; no multiple to pad to
  CHECK(j.adapter.base == formats::nf4_double);
  CHECK(j.adapter.base_also == module_set{module::vision});
  CHECK(j.adapter.base_skips == module_set{module::head});
  CHECK(j.adapter.targets == dense);
  CHECK(j.kernels == fused_kernels{fused_kernel::adapted_mlp, fused_kernel::adapted_qkv, fused_kernel::adapted_output});
  CHECK(j.evaluation.batch == 2);
  CHECK(j.recompute.reentrant == choice::no);
  CHECK(j.assumed_defaults == 1);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  const auto d = draft_of({file}, {eight});
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return holds(n, "each sample is taken to hold one image, and as many tokens as sequence_len says"); }));
}

TEST_CASE("towers that read images of any size are asked for one") {
  const auto all = qwen + "processor_type: AutoProcessor\n" + lora + of_text + off;
  CHECK(holds(why(all), "batch.images must have a width and a height"));
  CHECK(yaml(all, {"batch.images={\"width\": 640, \"height\": 480}"}).batch.images == image_batch{.count = 1, .width = 640, .height = 480});
  CHECK(yaml(all + "image_size: 512\n").batch.images == image_batch{.width = 512, .height = 512});  // padded to a square (processing_strategies.py)
  CHECK(yaml(all + "image_size: [640, 480]\n").batch.images == image_batch{.width = 640, .height = 480});
  CHECK(yaml(gemma + "processor_type: AutoProcessor\nimage_size: 512\n" + lora + of_text).batch.images == image_batch{});  // its processor makes them 896 × 896 anyway
  CHECK(yaml(gemma + "processor_type: AutoProcessor\n" + lora + of_text).batch.lengths.pad_to_multiple == 0);
}

TEST_CASE("text alone before a tower") {
  const auto j = yaml(gemma + some + "adapter: qlora\nload_in_4bit: true\nlora_r: 16\nsample_packing: true\n" + of_text);
  CHECK(j.batch == batch{.micro = 1, .sequence = 2000, .packed = true, .images = {.none = true}});
  CHECK(j.adapter.base_also == module_set{module::vision});
  CHECK(yaml(gemma + lora + of_text).batch.lengths.pad_to_multiple == 64);
  CHECK(holds(why(gemma + some), "axo.yaml:1: without processor_type samples are text alone, and a tower that trains and never runs"));
  const auto frozen = yaml(gemma + some + "freeze_mm_modules: true\n");
  REQUIRE(frozen.trainable.size == 1);
  CHECK(frozen.trainable.list[0].modules.has(module::q_proj));
  CHECK(frozen.trainable.list[0].modules.has(module::embedding));
  CHECK_FALSE(frozen.trainable.list[0].modules.has(module::vision));
  CHECK_FALSE(frozen.trainable.list[0].modules.has(module::projector));
  CHECK(frozen.batch.images.none);
  CHECK(yaml(gemma + some + "unfrozen_parameters:\n  - model.language_model.*\n  - lm_head.*\n").trainable == frozen.trainable);
  CHECK(yaml(gemma + some + "processor_type: AutoProcessor\n").trainable.all());
  CHECK(yaml("base_model: meta-llama/Llama-3.1-8B\n" + some + "freeze_mm_modules: true\n").trainable.all());  // there is nothing to freeze
  // Patterns are matched with whole names, which adapters' begin with base_model (utils/freeze.py).
  CHECK(holds(why(gemma + lora + of_text + "unfrozen_parameters:\n  - ^model.language_model.*\n"), "nothing trains"));
  CHECK(holds(why(gemma + some + "unfrozen_parameters:\n  - model.language_model.layers.3.*\n"), "unfrozen_parameters = "));
  CHECK(holds(why("base_model: meta-llama/Llama-3.1-8B\n" + some + "unfrozen_parameters:\n  - model.language_model.*\n  - lm_head.*\n"), "unfrozen_parameters = "));
}

TEST_CASE("adapters in a tower, by every linear layer's name or by all of its own") {
  // Of mistral3 above, of rank 16: a text layer's q and o have 1,024 + 1,024 features on both sides, k and v 1,024 + 256, three of an MLP 1,024 + 2,048; a tower's
  // four of attention 256 + 256, three 256 + 512; then 1,024 to 256, 256 to 1,024, 1,024 to 1,024.
  constexpr std::int64_t text = 16 * 4 * (2 * 2048 + 2 * 1280 + 3 * 3072), tower = 16 * 2 * (4 * 512 + 3 * 768), merger = 16 * (1280 + 1280 + 2048);
  const auto of = [&](const std::string& said, const std::vector<std::string>& set = {}) {
    return job_of({{"axo.yaml", "base_model: mistralai/Ministral-3-3B-Reasoning-2512\n" + lora + said}, mistral3}, set);
  };
  const auto names = "lora_target_modules: [gate_proj, down_proj, up_proj, q_proj, v_proj, k_proj, o_proj]\n";
  const auto all = of(std::string{"lora_target_linear: true\n"} + names);
  CHECK(all.adapter.targets.has(module::vision));
  CHECK(all.adapter.targets.has(module::projector));
  const auto listed = of(names);
  CHECK(listed.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj, module::vision});
  // Nothing runs the tower, and its adapters, of 4 bytes, have no gradients and no moments.
  const auto rows = [](const job& j, row r) {
    std::int64_t most = 0;
    const auto e = estimate(j);
    for (const auto& at : e.ranks[0].at_phase) most = std::max(most, at[r].count());
    return most;
  };
  for (const auto& [j, idle] : {std::pair{all, tower + merger}, {listed, tower}}) {
    CHECK_FALSE(objection_to(j));
    CHECK(trains(j) == text);
    CHECK(rows(j, row::adapters) == 4 * (text + idle));
    CHECK(rows(j, row::gradients) == 4 * text);
    CHECK(rows(j, row::optimizer_state) == 8 * text);
  }
  CHECK(objection_to(of(names, {eight})));  // DDP waits for gradients of all that trains
  // Where images run it they train.
  const auto sees = "processor_type: AutoProcessor\nimage_size: 448\n";
  const auto run = of(names + off + sees);
  CHECK_FALSE(objection_to(run));
  CHECK(trains(run) == text + tower);
  CHECK(trains(of("lora_target_linear: true\n" + off + sees)) == text + tower + merger);
  CHECK(trains(of("lora_target_linear: true\n" + off + sees, {eight})) == text + tower + merger);
  // Gemma 3's projector is a parameter; of its tower these are q, k and v alone.
  CHECK_FALSE(yaml(gemma + lora + "lora_target_linear: true\n").adapter.targets.has(module::projector));
  CHECK(yaml(gemma + lora + "lora_target_linear: true\n").adapter.targets.has(module::vision));
  const auto three = yaml(gemma + lora + "lora_target_modules: [q_proj, k_proj, v_proj, gate_proj]\n");
  CHECK(three.adapter.vision_targets == module_set{module::q_proj, module::k_proj, module::v_proj});
  // Qwen2.5-VL 7B: 28 layers of 3,584 and 18,944; of 32 blocks of 1,280 and 3,420 the MLP alone has a name of these.
  const auto qwens = yaml(qwen + lora + off + "processor_type: AutoProcessor\nlora_target_modules: [q_proj, up_proj]\n", {"batch.images.height=448", "batch.images.width=448"});
  CHECK(trains(qwens) == 16 * (28 * ((3584 + 3584) + (3584 + 18944)) + 32 * (1280 + 3420)));
  CHECK(holds(why(gemma + lora + "lora_target_modules: [self_attn.q_proj]\n"), "axo.yaml:7: lora_target_modules = "));  // the tower has layers of that path, too
  CHECK(holds(why(qwen + lora + "lora_target_modules: [q_proj, proj]\n"), "lora_target_modules = "));  // and a convolution of that name
  CHECK(yaml("base_model: zai-org/GLM-4.6V-Flash\n" + lora + off + "lora_target_modules: [q_proj, v_proj]\n").adapter.targets == module_set{module::q_proj, module::v_proj});
  // GLM-4.6V-Flash: 40 layers of 4,096 with 256 for keys and values and 13,696, whose gate and up are one layer of another name; 24 blocks of 1,536 and 4,096, and a
  // merger of 4,096 and 13,696, have both beside down_proj.
  const auto glm = yaml("base_model: zai-org/GLM-4.6V-Flash\n" + lora + off + sees + names, {"batch.images.height=448", "batch.images.width=448"});
  CHECK(glm.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::down_proj, module::vision, module::projector});
  CHECK(glm.adapter.vision_targets == module_set{module::gate_proj, module::up_proj, module::down_proj});
  CHECK(trains(glm) == 16 * (40 * (2 * (4096 + 4096) + 2 * (4096 + 256) + (13696 + 4096)) + 24 * 3 * (1536 + 4096) + 3 * (4096 + 13696)));
  CHECK(notes("base_model: google/gemma-3-4b-it\n" + lora + "lora_target_linear: true\n", "axo.yaml:7: layers of the tower have adapters, too, which nothing runs"));
}

TEST_CASE("patterns that name the embedding and the head, and Mixtral's old names, which match nothing any more") {
  const std::string mixtral = "base_model: mistral-community/Mixtral-8x22B-v0.1\n" + some, ends = "unfrozen_parameters:\n  - ^lm_head.weight$\n  - ^model.embed_tokens.weight$\n";
  const std::string old = "  - model.layers.4[4-9]+.block_sparse_moe.gate\n";
  const auto j = yaml(mixtral + ends + old);
  CHECK(j.trainable.size == 1);
  CHECK(j.trainable.list[0].modules == module_set{module::embedding, module::head});
  CHECK(notes(mixtral + ends + old, "block_sparse_moe match nothing under transformers 5"));
  CHECK(yaml("base_model: meta-llama/Llama-3.1-8B\n" + some + "unfrozen_parameters: [^lm_head.weight$]\n").trainable.list[0].modules == module_set{module::head});
  // A tied head has no name of its own: named_parameters() yields model.embed_tokens.weight once.
  const std::string tied = "base_model: Qwen/Qwen2.5-0.5B\n" + some;
  CHECK(holds(why(tied + "unfrozen_parameters: [^lm_head.weight$]\n"), "axo.yaml:5: no parameter has a name that these patterns match, and nothing trains"));
  CHECK(yaml(tied + ends).trainable.list[0].modules == module_set{module::embedding});
  CHECK(holds(why(tied + "unfrozen_parameters: {}\n"), "unfrozen_parameters must be a list of patterns"));
  CHECK(holds(why(mixtral + "unfrozen_parameters:\n" + old), "no parameter has a name that these patterns match"));
  CHECK(holds(why("base_model: meta-llama/Llama-3.1-8B\n" + some + ends + old), "unfrozen_parameters = "));  // of Mixtral alone
  CHECK(holds(why(mixtral + ends + "  - model.layers.[0-9]+.mlp.gate\n"), "unfrozen_parameters = "));          // these do match
}

TEST_CASE("a tower that is no unit of FSDP2's is gathered with the embedding and the head, frozen or without gradients") {
  const std::string of = "base_model: mine/qwen3.5-small\n", shards = "fsdp_version: 2\nfsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  transformer_layer_cls_to_wrap: Qwen3_5DecoderLayer\n";
  const auto read = [&](const std::string& said) { return job_of({{"axo.yaml", of + said + shards}, qwen3_5}, {eight}); };
  const auto j = read(lora + off + "lora_target_modules: [q_proj, k_proj, v_proj, o_proj]\n");
  REQUIRE(j.sharding.towers_in_root);
  auto blind = j;
  blind.model.vision = {};
  blind.batch.images = {};
  blind.sharding.towers_in_root = false;
  // Patches of 2 x 16 x 16 x 3 with a bias, 2,304 positions, two layers (two norms, qkv, proj, two matrices of the MLP), and the merger: a norm, 1,024 to 1,024 twice.
  const std::int64_t layer = 2 * 2 * 256 + (256 * 768 + 768) + (256 * 256 + 256) + (256 * 512 + 512) + (512 * 256 + 256);
  const std::int64_t tower = 1536 * 256 + 256 + 2304 * 256 + 2 * layer + 2 * 256 + 2 * (1024 * 1024 + 1024);
  const auto with = estimate(j).ranks[0], without = estimate(blind).ranks[0];
  CHECK((with.at_peak[row::gathered_parameters] - without.at_peak[row::gathered_parameters]).count() == 2 * tower);
  const auto more = (with.at_peak[row::model_parameters] - without.at_peak[row::model_parameters]).count();  // 33 tensors, each rounded up to 512 bytes
  CHECK(more >= 2 * tower / 8);
  CHECK(more < 2 * tower / 8 + 33 * 512);
  CHECK(with.at_peak[row::optimizer_state] == without.at_peak[row::optimizer_state]);
  // Patterns that leave it out, or nothing said: no gradient reaches it.
  const auto frozen = read(some + "unfrozen_parameters:\n  - model.language_model.*\n  - lm_head.*\n");
  CHECK(frozen == read(some));
  CHECK_FALSE(frozen.trainable.list[0].modules.has(module::vision));
  auto other = j;
  other.sharding = fsdp1();
  other.sharding.towers_in_root = true;
  CHECK_THROWS_WITH_AS(estimate(other), "headroom: sharding.towers_in_root is modelled where sharding.kind is fsdp2 and the tower does not run (batch.images.none); sharding.stage (found 3)", error);
}

TEST_CASE("the class of a text behind Pixtral's tower, by its queries") {
  // get_attention_cls_from_config takes Mistral 3's class for its text's: Ministral 3's attention is another, and stays as it is; its MLP is found.
  auto later = mistral3;
  const auto at = later.said.find("\"model_type\": \"mistral\"");
  later.said.replace(at, std::string_view{"\"model_type\": \"mistral\""}.size(), "\"model_type\": \"ministral3\"");
  const std::string said = "base_model: mine/medium\n" + lora + of_text;
  CHECK(job_of({{"axo.yaml", said}, later}).kernels == fused_kernels{fused_kernel::adapted_mlp});
  CHECK(holds(refusal_of({{"axo.yaml", said}, mistral3}), "depends on its text's class"));
}

TEST_CASE("names that latent attention does not have, and whole paths beside experts") {
  // modeling_glm4_moe_lite.py: q_a_proj, q_b_proj, kv_a_proj_with_mqa, kv_b_proj, o_proj. 47 layers of A (5,120 in) and B (2,048 out) of rank 16.
  const std::string flash = "base_model: zai-org/GLM-4.7-Flash\n" + lora + off;
  const auto j = yaml(flash + "lora_target_modules: [q_proj, k_proj, v_proj, o_proj]\n");
  CHECK(j.adapter.targets == module_set{module::o_proj});
  CHECK(trains(j) == 47 * 16 * (5120 + 2048));
  CHECK(notes(flash + "lora_target_modules: [q_proj, k_proj, v_proj, o_proj]\n", "adapters are on [\"o_proj\"] alone"));
  CHECK(holds(why(flash + "lora_target_modules: [q_proj, v_proj]\n"), "this model has no layer of these names, and nothing trains"));
  // The expression ends in mlp.(up|down|gate)_proj: the first layer's, which has no experts.
  const auto path = yaml(flash + "lora_target_modules: 'model.layers.[\\d]+.(mlp|self_attn).(up|down|gate|q|k|v|o)_proj'\n");
  CHECK(path.adapter.targets == module_set{module::o_proj, module::gate_proj, module::up_proj, module::down_proj});
  CHECK(trains(path) == 47 * 16 * (5120 + 2048) + 16 * 3 * (2048 + 10240));
  const auto list = yaml(flash + "lora_target_modules: [up_proj, o_proj]\n");  // a list finds shared experts, too, of 1,536
  CHECK(list.adapter.targets == module_set{module::o_proj, module::up_proj, module::shared_up});
  CHECK(trains(list) == 47 * 16 * (5120 + 2048) + 16 * (2048 + 10240) + 46 * 16 * (2048 + 1536));
  CHECK(yaml("base_model: Qwen/Qwen3-30B-A3B\n" + lora + off + "lora_target_modules: [q_proj, up_proj, gate_proj]\n").adapter.targets == module_set{module::q_proj});  // experts are no matrices
  CHECK(holds(why("base_model: Qwen/Qwen1.5-MoE-A2.7B\n" + lora + off + "lora_target_modules: [q_proj, gate_proj]\n"), "lora_target_modules = "));
  // DeepSeek-V2-Lite's queries are not narrowed.
  CHECK(yaml("base_model: deepseek-ai/DeepSeek-V2-Lite\n" + lora + off + "lora_target_modules: [q_proj, o_proj]\n").adapter.targets == module_set{module::q_proj, module::o_proj});
}

TEST_CASE("what is not modelled of models that see") {
  CHECK(yaml(qwen + lora + off + "lora_target_modules: [q_proj, v_proj]\n").adapter.targets == module_set{module::q_proj, module::v_proj});
  const std::string wraps = "fsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n", named = "  transformer_layer_cls_to_wrap: Gemma3DecoderLayer\n", second = "fsdp_version: 2\n";
  const auto sees = "models that see are modelled under axolotl's FSDP where its second version wraps the language model's layers alone";
  CHECK(holds(why(gemma + lora + of_text + wraps, {eight}), sees));
  CHECK(holds(why(gemma + lora + of_text + wraps + named, {eight}), sees));
  CHECK(holds(why(gemma + lora + of_text + second + wraps, {eight}), sees));
  CHECK(holds(why(gemma + "processor_type: AutoProcessor\n" + lora + of_text + second + wraps + named, {eight}), sees));
  CHECK(yaml(gemma + lora + of_text + off + second + wraps + named, {eight}).sharding.towers_in_root);
  // A tower's class: the language model's layers would be gathered with the root.
  const auto tower = [&](const std::string& name) { return why(gemma + lora + of_text + off + second + wraps + "  transformer_layer_cls_to_wrap: " + name + "\n", {eight}); };
  CHECK(holds(tower("Qwen2VLVisionBlock"), "Qwen2VLVisionBlock is a layer of a tower"));
  CHECK(holds(tower("SiglipEncoderLayer"), "name the language model's layer"));
  CHECK(holds(why(gemma + lora + of_text + "rl: dpo\n"), "axo.yaml:8: preferences and reward models of models that see"));
  CHECK(holds(why(gemma + "processor_type: AutoProcessor\nplugins: [axolotl.integrations.liger.LigerPlugin]\nliger_rms_norm: true\n" + lora + of_text), "axo.yaml:3: Liger's kernels in a tower"));
  CHECK(holds(why("base_model: meta-llama/Llama-3.1-8B\nprocessor_type: AutoProcessor\n" + some), "axo.yaml:2: a processor is for models that see"));
  CHECK(holds(why("base_model: mine/private\nprocessor_type: AutoProcessor\n" + some), "the model \"mine/private\" is not in the model zoo"));
}

TEST_CASE("kernels for adapters, where they find the model's attention") {
  using enum fused_kernel;
  const auto says = "axolotl's kernels for adapters, which are on unless one of them is said, do not find this model's attention, and the run ends there: say lora_mlp_kernel";
  // Qwen2.5-VL's attention takes three lines for each projection (modeling_qwen2_5_vl.py), which QKV_PATCHES does not have.
  const auto seen = qwen + lora + of_text;
  CHECK(holds(why(seen), says));
  CHECK(yaml(seen + off).kernels.empty());
  CHECK(holds(why(seen + "lora_qkv_kernel: true\n"), "axo.yaml:8: axolotl's kernels for adapters do not find this model's attention, and the run ends there"));
  CHECK(yaml(seen + "lora_mlp_kernel: true\n").kernels == fused_kernels{adapted_mlp});  // which needs no attention
  // Cohere 2's is Llama's; OLMo 2 norms whole projections, StableLM's is of before.
  const auto r7b = job_of({launch_file("axolotl-command-r7b", "command-r-7b-qlora.yml"), command_r7b}, {eight});
  CHECK(r7b.model.parallel_block);
  CHECK(r7b.kernels == fused_kernels{adapted_mlp, adapted_qkv, adapted_output});
  // GLM-4's MLP has gate and up in one matrix.
  CHECK(job_of({{"axo.yaml", "base_model: zai-org/GLM-4-9B-0414\n" + lora + "lora_target_linear: true\n"}, glm4}).kernels == fused_kernels{adapted_qkv, adapted_output});
  // The class that is rewritten for Mistral 3 is Mistral's, which the text of Ministral 3 is not.
  const auto third = [&](const std::string& model) { return std::vector<imported::text>{{"axo.yaml", "base_model: " + model + "\n" + lora + of_text}, mistral3}; };
  CHECK(job_of(third("mistralai/Ministral-3-3B-Reasoning-2512")).kernels == fused_kernels{adapted_mlp});
  CHECK(job_of(third("mistralai/Mistral-Small-3.1-24B-Instruct-2503")).kernels == fused_kernels{adapted_mlp, adapted_qkv, adapted_output});
  CHECK(holds(refusal_of(third("mine/mistral")), "depends on its text's class, which no file here says"));
  // Linear attention has kernels of its own where it has adapters.
  const auto linear = [&](const std::string& names) { return std::vector<imported::text>{{"axo.yaml", "base_model: Qwen/Qwen3.5-27B\n" + lora + "lora_target_modules: [" + names + "]\n"}, qwen3_5}; };
  CHECK(job_of(linear("q_proj, k_proj, v_proj")).kernels == fused_kernels{adapted_mlp, adapted_qkv, adapted_output});
  CHECK(holds(refusal_of(linear("q_proj, out_proj")), "kernels for adapters of linear attention are not modelled"));
  for (const std::string model : {"allenai/OLMo-2-1124-7B", "stabilityai/stablelm-2-1_6b", "CohereForAI/c4ai-command-r-v01", "tiiuae/falcon-7b", "microsoft/phi-2"}) {
    const auto all = "base_model: " + model + "\n" + lora + "lora_target_linear: true\n";
    CHECK_MESSAGE(holds(why(all), says), model);
    CHECK_MESSAGE(yaml(all + off).kernels.empty(), model);
  }
}

TEST_CASE("Falcon-H1's out_proj stays whole, and its head does not") {
  auto file = launch_file("axolotl-falcon-h1", "falcon-h1-7b-qlora.yaml");
  CHECK(holds(refusal_of({file, falcon_h1}, {eight}), "do not find this model's attention, and the run ends there"));
  file.said += off;
  const auto j = job_of({file, falcon_h1}, {eight});
  CHECK(j.adapter.base == formats::nf4_double);
  CHECK(j.adapter.base_skips == module_set{module::mixer_out});
  CHECK(j.adapter.base_also == module_set{module::head});
  CHECK(j.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::mixer_in, module::gate_proj, module::up_proj, module::down_proj});
  CHECK(j.kernels.empty());
  CHECK(j.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 4, .lengths = {.unknown = true, .pad_to_multiple = 64}});
  CHECK(estimate(j).ranks[0].allocated > bytes{0});
  // Packed, its kernels are told where documents end.
  const auto packed = job_of({{"axo.yaml", "base_model: tiiuae/Falcon-H1-7B-Base\nsample_packing: true\n" + lora + off + "lora_target_modules: [q_proj, v_proj]\n"}, falcon_h1});
  CHECK(packed.batch == batch{.micro = 1, .sequence = 2000, .packed = true});
  auto loose = packed;
  loose.batch.packed = false;
  const auto more = estimate(packed).ranks[0].allocated - estimate(loose).ranks[0].allocated;
  CHECK(more >= bytes{0});
  CHECK(more < 8_MiB);  // positions are looked up
  loose = packed;
  loose.recurrence = recurrence::eager;
  REQUIRE(objection_to(loose).sentence != nullptr);
  CHECK(holds(objection_to(loose).sentence, "packed sequences are modelled for recurrent mixers that have fused kernels alone"));
}

TEST_CASE("experts that axolotl quantises as they are loaded") {
  const auto j = job_of({launch_file("axolotl-experts-nf4", "glm-45-air-qlora.yaml")}, {eight});
  CHECK(j.adapter.base == formats::nf4_double);
  CHECK(j.adapter.base_also == module_set{module::experts_gate, module::experts_up, module::experts_down});
  CHECK(j.adapter.rest == formats::bf16);
  CHECK(j.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj});
  CHECK(j.kernels.empty());
  CHECK(j.batch == batch{.micro = 1, .sequence = 4096, .accumulation = 2, .packed = true});
  CHECK(j.loss.kind == loss_kind::cut);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  // 45 layers of 128 experts of three matrices of 1,408 × 4,096: 99,656,663,040 numbers, half a byte each.
  const auto weights = states(j).gpu[row::model_parameters].count();
  CHECK(weights > 99'656'663'040 / 2);
  CHECK(weights < 99'656'663'040 / 2 + 10'000'000'000);

  // Of a model that sees, the tower and the merger are quantised beside them: two bytes a number in 16 bits, half a byte and its scales else.
  const std::string nf4 = some + "adapter: qlora\nload_in_4bit: true\nlora_r: 16\nquantize_moe_experts: true\nlora_target_modules: [q_proj]\n" + off;
  const auto sees = yaml("base_model: Qwen/Qwen3.5-35B-A3B\n" + nf4);
  CHECK(sees.adapter.base_also == module_set{module::experts_gate, module::experts_up, module::experts_down, module::vision, module::projector});
  auto whole = sees;
  whole.adapter.base_also = module_set{module::experts_gate, module::experts_up, module::experts_down};
  // 27 layers of 4 × 1,152² and 2 × 1,152 × 4,304 numbers, patches of 1,536 × 1,152 that are no linear layer, a merger of 4,608 × (4,608 + 2,048).
  const std::int64_t linear = 27 * (4 * 1'152 * 1'152 + 2 * 1'152 * 4'304) + 4'608 * (4'608 + 2'048);
  const auto saved = (states(whole).gpu[row::model_parameters] - states(sees).gpu[row::model_parameters]).count();
  CHECK(saved > linear * 2 - linear * 53 / 100);
  CHECK(saved < linear * 2 - linear * 50 / 100);

  const std::string sparse = "base_model: mistralai/Mixtral-8x7B-v0.1\nmicro_batch_size: 2\nflash_attention: true\n", four = "adapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_modules: [q_proj]\n" + off;
  CHECK(yaml(sparse + four).adapter.rest_experts == formats::tf32);
  CHECK(yaml(sparse + four + "quantize_moe_experts: true\n").adapter.base_also.has(module::experts_up));
  CHECK(yaml(sparse + "adapter: lora\nload_in_8bit: true\nlora_r: 8\nlora_target_modules: [q_proj]\nquantize_moe_experts: true\n").adapter.base == formats::int8);
  // Under FSDP nothing is made fp32, and the experts stay as they were loaded.
  const auto sharded = yaml(sparse + four + "fsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n", {eight});
  CHECK(sharded.adapter.base_skips == module_set{module::experts_gate, module::experts_up, module::experts_down, module::head});
  CHECK(sharded.adapter.base_also.empty());
  const std::string dense_model = "base_model: meta-llama/Llama-3.1-8B\n" + some + "adapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_modules: [q_proj]\n";
  CHECK(yaml(dense_model + "quantize_moe_experts: true\n") == yaml(dense_model));  // there are none
  const std::string next = "base_model: Qwen/Qwen3-Coder-30B-A3B-Instruct\n" + lora + off + "lora_target_modules: [";
  CHECK(yaml(next + "linear_attn.in_proj_ba, linear_attn.in_proj_qkvz, linear_attn.out_proj, shared_expert.up_proj, shared_expert.gate_proj, shared_expert_gate, q_proj]\n").adapter.targets ==
        module_set{module::mixer_in, module::mixer_out, module::shared_up, module::shared_gate, module::q_proj});
  CHECK(holds(why(next + "linear_attn.in_proj_ba, q_proj]\n"), "lora_target_modules = "));
  CHECK(holds(why(next + "shared_expert.gate_proj]\n"), "lora_target_modules = "));
  // Routers of transformers 5 are no linear layers: what lora_target_linear finds is known of these families.
  CHECK(yaml(sparse + "adapter: lora\nlora_r: 8\nlora_target_linear: true\n" + off).adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj});
  CHECK(yaml("base_model: Qwen/Qwen1.5-MoE-A2.7B\ntrust_remote_code: true\n" + lora + "lora_target_linear: true\n").adapter.targets ==
        module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::shared_gate, module::shared_up, module::shared_down});
  CHECK(holds(why("base_model: zai-org/GLM-4.5-Air\n" + lora + off + "lora_target_linear: true\n"), "an adapter of a model with experts"));
  CHECK(holds(why("base_model: zai-org/GLM-4.5-Air\ntrust_remote_code: true\n" + some), "by code of its checkpoint's own"));
}

TEST_CASE("a copy of the embedding's matrix for the head") {
  const auto j = job_of({launch_file("axolotl-saved-head", "lora-1b-deduplicate-sft.yml")}, {eight});
  CHECK(j.model == *models::find("llama-3.2-1b"));
  CHECK(j.adapter.modules_to_save == module_set{module::embedding, module::head});
  CHECK(j.adapter.base == formats::int8);
  CHECK(j.batch == batch{.micro = 1, .sequence = 8192, .accumulation = 4, .packed = true});
  CHECK(objection_to(j).sentence == nullptr);
}

TEST_CASE("packed rows by PyTorch's own kernel") {
  const std::string packed = "micro_batch_size: 2\nsequence_len: 1000\nsdp_attention: true\nsample_packing: true\nadapter: lora\nlora_r: 16\nlora_target_linear: true\n" + off;
  const auto j = yaml("base_model: meta-llama/Llama-3.1-8B\n" + packed);
  CHECK(j.batch == batch{.micro = 2, .sequence = 1000, .packed = true});
  CHECK(j.attention == attention::flash);
  // Torch's own attention reads a mask of all pairs: rows of 1,000 tokens are padded to a multiple of 64.
  const auto masked = yaml("base_model: meta-llama/Llama-3.1-8B\n" + packed + "sdpa_varlen: false\n");
  CHECK(masked.batch == batch{.micro = 2, .sequence = 1024, .padded = true});
  CHECK(masked.attention == attention::sdpa);
  CHECK(holds(why("base_model: mistralai/Mistral-7B-v0.1\n" + packed), "sequence_len must be a multiple of pad_to_multiple_of (64)"));  // its window has that kernel, of a length that is no multiple
  const auto windowed = yaml("base_model: mistralai/Mistral-7B-v0.1\nsequence_len: 2048\n" + packed.substr(0, 20) + packed.substr(packed.find("sdp_")));
  CHECK(windowed.batch == batch{.micro = 2, .sequence = 2048, .padded = true});
  CHECK(windowed.attention == attention::sdpa);
  CHECK(holds(why("base_model: Qwen/Qwen3-Next-80B-A3B-Instruct\nadapter: lora\nlora_r: 8\nlora_target_modules: [q_proj]\nsdp_attention: true\nsample_packing: true\n"), "sample_packing = true is not modelled"));
}

}  // namespace test_axolotl_sight

#endif
