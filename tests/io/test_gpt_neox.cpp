// Distributed under the Boost Software License, Version 1.0.
// GPT-NeoX: every key of its configuration, and files of its repository and Pythia's. Totals are those that the models' papers and pages state.
#include "launcher_keys.hpp"

#include <headroom/replay.hpp>

#if HEADROOM_HAS_YAML

namespace test_gpt_neox {

using namespace imported;
using io::json_value;

namespace {

job of_root(const json_value& root) {
  io::draft d;
  io::keep_gpt_neox(d, io::document{.source = "a.yml", .root = root, .lines = {}});
  io::read_gpt_neox(d);
  d.say({"hardware", "gpu"}, "a100-sxm-40gb", "--gpu");
  if (!d.has({"hardware", "gpus_per_node"})) d.say({"hardware", "gpus_per_node"}, 8, "--set");
  return d.settled();
}
json_value small() {
  return {{"pipe_parallel_size", 1}, {"num_layers", 4}, {"hidden_size", 256}, {"num_attention_heads", 8}, {"seq_length", 1024}, {"max_position_embeddings", 1024}, {"pos_emb", "rotary"}, {"train_micro_batch_size_per_gpu", 1}, {"fp16", {{"enabled", true}}}};
}
const std::vector<std::string> twelve_nodes{"hardware.gpu=a100-sxm-40gb", "hardware.gpus_per_node=8", "hardware.nodes=12"};

}  // namespace

TEST_CASE("each key alone") {
  for (const auto& l : launcher_keys::list_of("gpt-neox.txt")) {
    auto with = small();
    launcher_keys::put(with, l.key, l.value);
    launcher_keys::judge(l, small(), with, [](const json_value& root) { return of_root(root); });
  }
}

TEST_CASE("words of a key with - between them") {
  auto other = json_value::object();
  const auto own = small();
  for (const auto& [key, value] : own.items()) {
    auto name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    other[name] = value;
  }
  CHECK(of_root(other) == of_root(small()));
}

// megatron/neox_arguments/arguments.py, calculate_derived: all GPUs of the run; deepy.py's hostfile, or num_nodes and num_gpus, say where they are.
TEST_CASE("GPUs of all nodes") {
  const auto of = [](std::int64_t all, const char* key, std::int64_t value, const std::vector<std::string>& set = {}) {
    auto root = small();
    root["global_num_gpus"] = all;
    root["vocab_file"] = "data/gpt2-vocab.json";
    if (value > 0) root[key] = value;
    return draft_of({{"a.yml", root.dump()}}, set);
  };
  const auto hardware = [](io::draft d) { const auto j = d.settled(); return std::array{static_cast<std::int64_t>(j.hardware.nodes), static_cast<std::int64_t>(j.hardware.gpus_per_node)}; };
  for (const auto all : {9, 12, 16}) {
    std::string sentence;
    try {
      of(all, "", 0).settled();
    } catch (const headroom::error& e) {
      sentence = e.what();
    }
    CHECK(holds(sentence, std::to_string(all) + " GPUs without num_nodes or num_gpus lie on as many nodes as a hostfile lists"));
    CHECK(holds(sentence, "--set hardware.nodes=N"));
  }
  CHECK(hardware(of(8, "", 0)) == std::array<std::int64_t, 2>{1, 8});
  CHECK(hardware(of(16, "num_nodes", 4)) == std::array<std::int64_t, 2>{4, 4});
  CHECK(hardware(of(16, "num_gpus", 8)) == std::array<std::int64_t, 2>{2, 8});
  CHECK(hardware(of(16, "", 0, {"hardware.nodes=1"})) == std::array<std::int64_t, 2>{1, 16});
  CHECK(hardware(of(16, "", 0, {"hardware.gpus_per_node=4"})) == std::array<std::int64_t, 2>{4, 4});
}

// Of GPT-NeoX-20B: 96 A100 of 40 GB, and 20,554,567,680 parameters with its 50,432 rows (arXiv 2204.06745; the checkpoint's own tensors).
TEST_CASE("20B.yml") {
  const auto j = job_of({launch_file("gpt-neox-20b", "20B.yml")}, twelve_nodes);
  CHECK(j.framework.label == "gpt-neox");
  CHECK(j.hardware.gpus() == 96);
  CHECK(j.parallel.tensor == 2);
  CHECK(j.parallel.pipeline == 4);
  // 44 layers and the functions before and behind them, twelve a stage.
  for (const auto& [stage, layers] : {std::pair<std::size_t, int>{0, 11}, {1, 12}, {2, 12}, {3, 9}}) CHECK(j.parallel.stage_layers[stage] == layers);
  CHECK(j.batch == batch{.micro = 4, .sequence = 2048, .accumulation = 32});
  CHECK(j.model.parallel_block);
  CHECK_FALSE(j.model.tied);
  CHECK(j.model.rotary_percent == 25);
  CHECK(j.sharding.stage == 1);
  CHECK(j.sharding.reduce_bucket_size == 1'260'000'000);
  CHECK(j.precision.parameters == formats::fp16);
  CHECK(j.precision.gradients == formats::fp16);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK_FALSE(j.framework.checkpointing.copies_input);
  CHECK_FALSE(j.framework.attention.fills_masked_scores);
  CHECK_FALSE(j.framework.mlp.adds_bias_apart);
  CHECK(j.attention == attention::eager);
  const auto r = replay(j);
  CHECK(r.parameter_count.total.count() == 20'554'567'680);
  for (const auto& k : r.ranks) CHECK(k.reserved < 38_GiB);  // it ran there
}

TEST_CASE("Pythia") {
  const auto small_one = job_of({launch_file("gpt-neox-160m", "160M.yml"), launch_file("gpt-neox-160m", "pythia-paths.yml")}, twelve_nodes);
  CHECK(estimate(small_one).parameter_count.total.count() == 162'322'944);
  CHECK(small_one.attention == attention::flash);
  CHECK(small_one.framework.checkpointing.copies_input);
  CHECK(small_one == job_of({launch_file("gpt-neox-160m", "pythia-paths.yml"), launch_file("gpt-neox-160m", "160M.yml")}, twelve_nodes));
  auto asked = twelve_nodes;
  CHECK(holds(refusal_of({launch_file("gpt-neox-160m", "160M.yml")}, asked), "tokenizer_type \"HFTokenizer\" decides how large the vocabulary is: add --set model.vocab=N"));
  asked.push_back("model.vocab=50277");
  CHECK(job_of({launch_file("gpt-neox-160m", "160M.yml")}, asked) == small_one);
  const auto large = job_of({launch_file("gpt-neox-pythia-12b", "12B.yml")}, asked);
  CHECK(large.parallel.tensor == 4);
  CHECK(large.batch == batch{.micro = 8, .sequence = 2048, .accumulation = 2});
  CHECK(estimate(large).parameter_count.total.count() == 11'846'072'320);
  const auto middle = job_of({launch_file("pythia-1.4b", "pythia-1.4b.yml")}, asked);
  CHECK(middle.batch == batch{.micro = 16, .sequence = 2048, .accumulation = 1});
  CHECK(estimate(middle).parameter_count.total.count() == 1'414'647'808);
}

// Llama's own shapes out of GPT-NeoX's rule, two thirds of intermediate_size for both halves: 11,008, 13,824 and 28,672 (meta-llama's config.json), and so
// 6,738,415,616 parameters of LLaMA 7B. configs/llama2 leave the MLP's biases on, which Llama has not: 2 x 11,008 + 4,096 numbers a layer more.
TEST_CASE("Llama's configurations") {
  const std::vector<std::string> set{"hardware.gpu=a100-sxm-40gb", "hardware.gpus_per_node=8", "model.vocab=32000"};
  const auto of = [&](const std::string& name) { return job_of({launch_file("gpt-neox-llama", name), launch_file("gpt-neox-llama", "train_config.yml")}, set); };
  const auto first = of("7B.yml");
  CHECK(first.model.ffn == 11'008);
  CHECK(first.model.norm == norm_kind::rmsnorm);
  CHECK_FALSE(first.model.mlp_bias);
  CHECK_FALSE(first.model.attention_bias);
  CHECK(first.batch == batch{.micro = 4, .sequence = 2048, .accumulation = 1});
  CHECK(first.precision.parameters == formats::fp16);
  CHECK(first.recompute.mode == recompute_mode::full);
  CHECK(first.framework.checkpointing.copies_input);
  CHECK(first.sharding.stage == 1);
  CHECK(first.sharding.reduce_bucket_size == 500'000'000);
  CHECK(first.framework.norm.style == norm_style::cast_after_weight);
  CHECK(first.parallel.tensor == 1);
  CHECK(estimate(first).parameter_count.total.count() == 6'738'415'616);
  const auto second = of("llama2-13B.yml");
  CHECK(second.parallel.tensor == 2);
  CHECK(second.model.ffn == 13'824);
  CHECK(estimate(second).parameter_count.total.count() == 13'015'864'320 + 40 * (2 * 13'824 + 5'120));
  const auto large = of("llama2-70B.yml");
  CHECK(large.model.ffn == 28'672);
  CHECK(large.model.kv_heads == 8);
  CHECK(large.attention == attention::flash);
  CHECK(estimate(large).parameter_count.total.count() == 68'976'648'192 + 80 * (2 * 28'672 + 8'192));
  // 4 x 8,192 features asked for, as nothing else is said: 11,008 and not CodeLlama's 22,016.
  CHECK(of("codellama_34B.yml").model.ffn == 11'008);
  const auto told = [&](const std::string& name) {
    for (const auto& note : draft_of({launch_file("gpt-neox-llama", name), launch_file("gpt-neox-llama", "train_config.yml")}, set).notes)
      if (holds(note, "without intermediate_size the gate and what it scales have 11008 features each")) return true;
    return false;
  };
  CHECK(told("codellama_34B.yml"));
  CHECK_FALSE(told("llama2-70B.yml"));  // which says it
}

// EleutherAI/gpt-neox, branch math-lm: LLaMA 7B's 6,738,415,616 parameters by mlp_type llama, which GPT-NeoX has had from 2023-05 to 2024-09.
TEST_CASE("a file of before 2024-09 with Llama's MLP") {
  const std::vector<std::string> set{"hardware.gpu=a100-sxm-80gb", "hardware.gpus_per_node=8", "model.vocab=32000"};
  const auto j = job_of({launch_file("gpt-neox-math-lm", "llama_7b_pp.yml")}, set);
  CHECK(j.framework.date == 202108);
  CHECK(j.framework.mlp.gates_apart);
  CHECK(j.framework.norm.style == norm_style::input_format);
  CHECK(j.model.mlp == mlp_kind::gated);
  CHECK(j.model.activation == activation_kind::silu);
  CHECK(j.model.ffn == 11'008);
  CHECK_FALSE(j.model.mlp_bias);
  CHECK_FALSE(j.model.attention_bias);
  CHECK(j.batch == batch{.micro = 4, .sequence = 2048, .accumulation = 4});
  CHECK(j.precision.parameters == formats::fp16);
  CHECK(j.sharding.stage == 1);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.attention == attention::eager);
  CHECK(estimate(j).parameter_count.total.count() == 6'738'415'616);
  CHECK(io::read_job(io::job_to_json(j)) == j);
}

// LLaMAParallelMLP: 8 / 3 of 256 features are 682, of which 256s make 768. A layer of 1,024 tokens more keeps in 16 bits the inputs of both norms, their
// quotients and results, 6 X, and two numbers a row; queries, keys and values in one and both turned, 5 X, and what attention gives; the probabilities of eight heads; four tensors of the MLP; cosine and
// sine of 32 features.
TEST_CASE("what a layer of Llama's older MLP keeps, from file to number") {
  const auto kept = [](std::int64_t layers) {
    auto root = small();
    root.update({{"num_layers", layers}, {"norm", "rmsnorm"}, {"mlp_type", "llama"}, {"activation", "silu"}});
    return estimate(of_root(root)).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count();
  };
  constexpr std::int64_t x = 2 * 1024 * 256;
  CHECK(kept(5) - kept(4) == 6 * x + 2 * 2 * 2 * 1024 + 5 * x + x + 2 * 8 * 1024 * 1024 + 4 * 2 * 1024 * 768 + 2 * 2 * 1024 * 32);
}

// EleutherAI/gpt-neox, branch benchmarking: save-interval went with 8d1c5c88 (2022-12-14), so its RMSNorm is that of 16 bits, and its ZeRO-1 DeeperSpeed's
// runtime/zero/stage1.py (EleutherAI/DeeperSpeed eb7f5cff, which requirements.txt names until 2023-03-09), of partitions of its own.
TEST_CASE("a file of before 2022-12 with RMSNorm") {
  const std::vector<std::string> set{"hardware.gpu=a100-sxm-40gb", "hardware.gpus_per_node=8"};
  auto file = launch_file("gpt-neox-benchmarking", "13B.yml");
  CHECK(holds(refusal_of({file}, set), "zero_optimization.stage = 1 is not modelled by this version (beside save_interval, which GPT-NeoX had over DeeperSpeed 0.3.15 alone: its first stage is other code)"));
  file.said.replace(file.said.find("\"stage\": 1"), 10, "\"stage\": 0");
  const auto j = job_of({file}, set);
  CHECK(j.framework.date == 202108);
  CHECK(j.framework.norm.style == norm_style::input_format);
  CHECK(j.model.position == position_kind::none);
  CHECK(j.model.ffn == 4 * 5120);
  const auto of = [](const json_value& more) {
    auto root = small();
    root["norm"] = "rmsnorm";
    root.merge_patch(more);
    return of_root(root).framework.date;
  };
  CHECK(of(json_value::object()) == 202505);
  CHECK(of({{"save_interval", 1000}}) == 202108);
  CHECK(of({{"detect_nvlink_pairs", true}}) == 202409);
  CHECK(of({{"detect_nvlink_pairs", true}, {"activation", "swiglu"}}) == 202409);
  CHECK(of({{"detect_nvlink_pairs", true}, {"slurm_comment", "x"}}) == 202108);
}

TEST_CASE("layers of a pipeline's stages") {
  CHECK(io::detail::gpt_neox_stages(44, 4) == std::vector<std::int64_t>{11, 12, 12, 9});
  CHECK(io::detail::gpt_neox_stages(10, 4) == std::vector<std::int64_t>{2, 3, 3, 2});
  CHECK(io::detail::gpt_neox_stages(32, 1) == std::vector<std::int64_t>{32});
}

TEST_CASE("what is asked for, and what contradicts itself") {
  const auto sentence = [](const json_value& more) {
    auto root = small();
    root.merge_patch(more);
    try {
      of_root(root);
    } catch (const headroom::error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  CHECK(holds(sentence({{"num_layers", nullptr}}), "num_layers is required by GPT-NeoX, in this file or in another one"));
  CHECK(holds(sentence({{"train_micro_batch_size_per_gpu", nullptr}}), "train_micro_batch_size_per_gpu is required"));
  CHECK(holds(sentence({{"precision", "bfloat16"}}), "contradict each other"));
  CHECK(holds(sentence({{"intermediate_size", 1001}}), "must be a multiple of twice mlp_multiple_of"));
  // configs/mistral/7B.yml: 9,557 are rounded up to 9,558, of which 4,779 are the gate, and the second matrix takes 4,778.
  CHECK(holds(sentence({{"intermediate_size", 14336}, {"activation", "swiglu"}}), "9557, are rounded up to 9558 features of which 4779 are the gate, and the second matrix takes 4778: GPT-NeoX ends here"));
  CHECK(sentence({{"fp32_allreduce", true}}).empty());
  CHECK(holds(sentence({{"fp32_allreduce", true}, {"model_parallel_size", 2}}), "fp32_allreduce = true is not modelled by this version (read is a model_parallel_size of 1"));
  CHECK(holds(sentence({{"fp32_allreduce", true}, {"save_interval", 10}}), "fp32_allreduce = true is not modelled by this version (read is a model_parallel_size of 1"));
  CHECK(holds(sentence({{"fp16", {{"type", "bfloat16"}}}}), "fp16.type = \"bfloat16\" is not modelled by this version (it chose the precision before 2023-05-16, and says nothing since: precision does)"));
  CHECK(sentence({{"fp16", {{"type", "fp16"}}}}).empty());
  CHECK(holds(sentence({{"num_kv_heads", 3}}), "num_kv_heads must divide num_attention_heads, 8"));
  CHECK(holds(sentence({{"use_bias_in_mlp", false}}), "GPT-NeoX adds it in front of GELU"));
  CHECK(holds(sentence({{"use_bias_in_mlp", false}, {"activation", "swiglu"}, {"gpt_j_residual", true}}), "use_bias_in_mlp = false is not modelled by this version (beside gpt_j_residual)"));
  CHECK(holds(sentence({{"activation", "swiglu"}, {"use_flashattn_swiglu", true}}), "use_flashattn_swiglu = true is not modelled"));
  CHECK(sentence({{"use_flashattn_swiglu", true}}).empty());
  CHECK(holds(sentence({{"mlp_type", "llama"}}), "activation = null is not modelled by this version (beside mlp_type llama read is silu)"));
  CHECK(holds(sentence({{"mlp_type", "llama"}, {"activation", "silu"}, {"gpt_j_residual", true}}), "mlp_type = \"llama\" is not modelled by this version (beside gpt_j_residual)"));
  CHECK(holds(sentence({{"mlp_type", "llama"}, {"activation", "silu"}, {"mlp_multiple_of", 256}}), "mlp_multiple_of = 256 is not modelled by this version (beside mlp_type, which GPT-NeoX has had no more since its MLPs of 2024-09-07)"));
  CHECK(holds(sentence({{"save_interval", 10}, {"activation", "geglu"}}), "activation = \"geglu\" is not modelled by this version (beside save_interval, which GPT-NeoX has had no more since its SwiGLU and GEGLU of 2024-09-07)"));
  CHECK(holds(sentence({{"save_interval", 10}, {"attention_config", {{{"flash"}, 4}}}}), "(beside save_interval, which GPT-NeoX had before flash-attention 2 alone)"));
  CHECK(sentence({{"gas", 1}, {"attention_config", {{{"flash"}, 4}}}}).empty());
  CHECK(holds(sentence({{"mlp_type", "regular"}, {"intermediate_size", 512}}), "intermediate_size = 512 is not modelled by this version (beside mlp_type"));
  CHECK(holds(sentence({{"zero_optimization", {{"stage", 1}, {"reduce_buckt_size", 5}}}}), "zero_optimization.reduce_buckt_size is not known here"));
  CHECK(holds(sentence({{"attention_config", {{{"flash", "global"}, 2}}}}), "of several kinds"));
  CHECK(holds(sentence({{"pipe_parallel_size", 6}}), "so few layers leave a stage without any"));
  CHECK(holds(sentence({{"hidden_dropuot", 0.1}}), "did you mean hidden_dropout?"));
  const imported::text one{"a.yml", "pipe_parallel_size: 1\nnum_layers: 4\n"}, two{"b.yml", "num-layers: 6\nmodel_parallel_size: 1\n"};
  CHECK(holds(refusal_of({one, two}), "num_layers is another value in another file (a.yml:2)"));
  // Without a number of GPUs deepy.py takes those of the machine.
  CHECK(holds(refusal_of({launch_file("gpt-neox-20b", "20B.yml")}), "hardware.gpus_per_node=N"));
}

TEST_CASE("bf16, whose gradients are added up in fp32 without ZeRO or where data_types says so") {
  auto root = small();
  root.erase("fp16");
  root["precision"] = "bfloat16";
  const auto plain = of_root(root);
  CHECK(plain.precision.parameters == formats::bf16);
  CHECK(plain.precision.gradients == formats::fp32);
  CHECK(plain.sharding.stage == 1);  // BF16_Optimizer's own
  root["zero_optimization"] = {{"stage", 1}};
  CHECK(of_root(root).precision.gradients == formats::bf16);
  root["data_types"] = {{"grad_accum_dtype", "fp32"}};
  CHECK(of_root(root) == plain);
}

TEST_CASE("kernels that are used where their sizes allow it") {
  auto root = small();
  root["scaled_upper_triang_masked_softmax_fusion"] = true;
  CHECK_FALSE(of_root(root).framework.attention.fills_masked_scores);
  root["seq_length"] = 4096;
  CHECK(of_root(root).framework.attention.fills_masked_scores);
  root["seq_length"] = 2048;
  CHECK_FALSE(of_root(root).framework.attention.fills_masked_scores);
  root["model_parallel_size"] = 4;  // two rows of heads on a rank
  CHECK(of_root(root).framework.attention.fills_masked_scores);
}

TEST_CASE("a job file says what its options change, and reads back") {
  auto root = small();
  root.update({{"checkpoint_activations", true}, {"partition_activations", true}, {"bias_gelu_fusion", true}, {"scaled_upper_triang_masked_softmax_fusion", true}});
  const auto j = of_root(root);
  const auto options = io::job_to_json(j)["framework"]["options"];
  CHECK(options == json_value{{"partition_activations", true}, {"bias_gelu_fusion", true}, {"scaled_upper_triang_masked_softmax_fusion", true}});
  CHECK(io::read_job(io::job_to_json(j)) == j);
  root["norm"] = "rmsnorm";
  root["rmsnorm_fusion"] = true;
  const auto fused = of_root(root);
  CHECK(fused.framework.norm.style == norm_style::fused);
  CHECK(io::job_to_json(fused)["framework"]["options"]["rmsnorm_fusion"] == true);
  CHECK(io::read_job(io::job_to_json(fused)) == fused);
  const auto bare = io::job_to_json(of_root(small()))["framework"];
  CHECK(bare["name"] == "gpt-neox");
  CHECK_FALSE(bare.contains("options"));
}

}  // namespace test_gpt_neox

#endif
