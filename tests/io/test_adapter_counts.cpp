// Distributed under the Boost Software License, Version 1.0.
// Parameters of adapters against what PEFT printed of the same (PeftModel.print_trainable_parameters), in logs that others published. Each row's
// "all params" less its "trainable params" is the model's own count, which is how the model is known.
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

#include "../both.hpp"
#include "imported.hpp"

#include <algorithm>
#include <string>

namespace test_adapter_counts {

using namespace headroom;

namespace {

struct printed {
  const char* model;
  int rank;
  const char* targets;
  std::int64_t trainable;
  std::int64_t all;  ///< 0: of packed weights
};

// Found 2026-11 by their text in public repositories and issues; what adapts is said beside each log.
constexpr printed logs[] = {
    {"phi-3-mini", 16, R"(["qkv_proj", "o_proj", "gate_up_proj", "down_proj"])", 25'165'824, 3'846'245'376},  // a README of a docstring generator
    {"gpt2", 8, R"(["c_attn"])", 294'912, 124'734'720},                                                       // a PEFT lesson, c_attn
    {"gpt2", 128, R"(["c_attn", "c_proj", "c_fc"])", 18'874'368, 143'314'176},                                // notes on ranks: attn.c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj
    {"falcon-7b", 32, R"(["query_key_value"])", 9'437'184, 0},                                                // a guide to LoRA; its log counts one norm more
    {"chatglm3-6b", 8, R"(["query_key_value"])", 1'949'696, 6'245'533'696},                                   // ChatGLM3's lessons, nine repositories
    {"qwen-7b", 8, R"("all-linear")", 17'891'328, 7'739'215'872},                                             // c_attn, c_proj, w1, w2
    {"mistral-7b", 64, R"(["q_proj", "k_proj", "v_proj", "o_proj"])", 54'525'952, 7'296'258'048},
    {"mistral-7b-v0.3", 8, R"("all-linear")", 20'971'520, 7'268'995'072},
    {"llama-2-7b", 16, R"("all-linear")", 39'976'960, 6'778'392'576},
    {"llama-3.1-8b", 16, R"("all-linear")", 41'943'040, 8'072'204'288},
    {"qwen2.5-7b", 8, R"("all-linear")", 20'185'088, 7'635'801'600},  // datawhalechina/self-llm
    {"qwen2.5-14b", 16, R"(["q_proj", "k_proj", "v_proj", "o_proj"])", 25'165'824, 14'795'199'488},
    {"qwen3-14b", 16, R"(["q_proj", "k_proj", "v_proj", "o_proj"])", 20'971'520, 14'789'278'720},
    {"qwen3-14b", 16, R"("all-linear")", 64'225'280, 14'832'532'480},
    {"mt5-large", 8, R"(["q_proj", "v_proj"])", 2'359'296, 1'231'940'608},            // bigscience/mt0-large, q and v of T5's three attentions: huggingface/peft README.md of 2023
    {"flan-t5-base", 32, R"(["q_proj", "v_proj"])", 3'538'944, 251'116'800},          // DeepLearning.AI's lesson, ten repositories
    {"flan-t5-xxl", 16, R"(["q_proj", "v_proj"])", 18'874'368, 11'154'206'720},       // philschmid's guide, ten repositories
    {"whisper-large-v2", 32, R"(["q_proj", "v_proj"])", 15'728'640, 1'559'033'600},   // PEFT's guide to speech recognition
    {"mixtral-8x7b", 16, R"(["all-linear", "router"])", 242'225'152, 0},  // huggingface/peft issue 1594 of 2024-03: every linear layer, gate among them, of 2 bits
};

job of(const printed& p, const std::string& kind = "lora") {
  const auto text = R"({"model": ")" + std::string{p.model} + R"(", "hardware": {"gpu": "h200-sxm-141gb", "gpus_per_node": 1}, "framework": {"name": "hf-trainer", "version": "2025-06"}, "batch": {"micro": 1, "sequence": 448},
    "adapter": {"kind": ")" + kind + R"(", "rank": )" + std::to_string(p.rank) + R"(, "targets": )" + p.targets + "}}";
  return io::read_job(io::parse_json(text, "job"));
}

}  // namespace

// AfmoeAttention.gate_proj is a module beside q_proj, and has the name of the MLP's: of 56 layers two have a dense MLP of 3072, the others 128 experts of 256, whose parameters "experts" names.
TEST_CASE("a gate of its own is no part of the query projection that adapters find") {
  const auto trained = [](const char* targets) { return states(of({"trinity-nano-preview", 8, targets, 0, 0})).trained.count(); };
  CHECK(trained(R"(["q_proj"])") == 56 * 8 * (1024 + 8 * 128));
  CHECK(trained(R"(["q_proj", "gate_proj"])") - trained(R"(["q_proj"])") == 8 * (56 * (1024 + 8 * 128) + 2 * (1024 + 3072) + 54 * (128 + 1) * (1024 + 256)));
}

TEST_CASE("adapters have as many parameters as PEFT printed of them") {
  for (const auto& p : logs) {
    INFO(p.model << ", rank " << p.rank << ", " << p.targets);
    const auto s = states(of(p));
    CHECK(s.trained.count() == p.trainable);
    if (p.all > 0) CHECK(s.total.count() + s.trained.count() == p.all);
  }
}

TEST_CASE("ChatGLM's first layer of the MLP makes gate and up") {
  // modeling_chatglm.py of THUDM/chatglm3-6b: query_key_value 4096 to 4608, dense 4096 to 4096, dense_h_to_4h 4096 to 27392, dense_4h_to_h 13696 to 4096, in 28 layers.
  constexpr std::int64_t ends = (4096 + 4608) + (4096 + 4096) + (4096 + 27392) + (13696 + 4096);
  CHECK(states(of({"chatglm3-6b", 8, R"(["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"])", 0, 0})).trained.count() == 8 * 28 * ends);
  CHECK(states(of({"chatglm3-6b", 8, R"("all-linear")", 0, 0})).trained.count() == 8 * 28 * ends);
  CHECK(states(of({"chatglm3-6b", 8, R"(["dense_h_to_4h"])", 0, 0})).trained.count() == 8 * 28 * (4096 + 27392));
}

TEST_CASE("DoRA adds a magnitude to each output feature of the one layer") {
  // Phi-3-mini: qkv_proj has 9216 output features, o_proj 3072, gate_up_proj 16384, down_proj 3072, in 32 layers.
  CHECK(states(of(logs[0], "dora")).trained.count() == 25'165'824 + 32 * (9216 + 3072 + 16384 + 3072));
}

TEST_CASE("a launch that names no layer has the same adapters, and says where routers are left out") {
  const std::string one = "hardware.gpus_per_node=1";
  const auto trl = [](const std::string& model) { return std::vector<imported::text>{{"run.sh", "trl sft --model_name_or_path " + model + " --use_peft --lora_target_modules all-linear --max_length 512 --lora_r 16 --dataset_name x\n"}}; };
  CHECK(states(imported::job_of(trl("microsoft/Phi-3-mini-4k-instruct"), {one})).trained.count() == 25'165'824);
  const auto tells = [&](std::vector<std::string> set) {
    set.push_back(one);
    auto d = imported::draft_of(trl("mistralai/Mixtral-8x7B-v0.1"), set);
    d.settled();
    return std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return n.find("adapters beside routers") != std::string::npos; });
  };
  CHECK(tells({"environment.transformers=4.57"}));
  CHECK_FALSE(tells({"environment.transformers=5.2"}));
  CHECK_FALSE(tells({"environment.transformers=4.57", R"(adapter.targets=["all-linear", "router"])"}));
}

TEST_CASE("names of layers that a model joins in one are passed over, as PEFT does") {
  const auto trl = [](const std::string& names) { return std::vector<imported::text>{{"run.sh", "trl sft --model_name_or_path microsoft/Phi-3-mini-4k-instruct --use_peft --lora_target_modules " + names + " --max_length 512 --lora_r 16 --dataset_name x\n"}}; };
  const std::vector<std::string> one{"hardware.gpus_per_node=1"};
  // Left are o_proj, 3072 to 3072, and down_proj, 8192 to 3072, in 32 layers.
  CHECK(states(imported::job_of(trl("q_proj k_proj v_proj o_proj gate_proj up_proj down_proj"), one)).trained.count() == 16 * 32 * (6144 + 11264));
  CHECK(states(imported::job_of(trl("qkv_proj o_proj gate_up_proj down_proj"), one)).trained.count() == 25'165'824);
  CHECK(imported::refusal_of(trl("q_proj v_proj"), one).find("no layer of this model is called q_proj, v_proj") != std::string::npos);
}

}  // namespace test_adapter_counts
