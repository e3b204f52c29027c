// Distributed under the Boost Software License, Version 1.0.
// Models that are stored quantised: quantization_config of a config.json.
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_quantised_model {

using namespace headroom;
using namespace headroom::io;

namespace {

/// Llama-2-7B with a quantization_config.
job with(const std::string& quantisation, const std::string& adapter) {
  return read_job(json_value::parse(R"({"model": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096, "tie_word_embeddings": false)" +
                                    (quantisation.empty() ? std::string{} : ", \"quantization_config\": " + quantisation) + R"(},
    "hardware": {"gpu": "h100-sxm-80gb"}, "framework": "deepspeed", "precision": "bf16", "batch": {"sequence": 512})" +
                                    (adapter.empty() ? std::string{} : ", \"adapter\": " + adapter) + "}"));
}
constexpr auto lora = R"({"kind": "lora", "rank": 8, "targets": "all-linear"})";

}  // namespace

TEST_CASE("the base of an adapter is what the model is stored in") {
  struct said {
    std::string config;
    number_format is;
  };
  for (const auto& s : {said{R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false})", formats::gptq_int4},
                        {R"({"quant_method": "gptq", "bits": 8, "group_size": 128})", formats::gptq_int8},
                        {R"({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm", "zero_point": true})", formats::awq_int4},
                        {R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 128})", formats::awq_int4},
                        {R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true})", formats::nf4_double},
                        {R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4"})", formats::nf4},
                        {R"({"load_in_4bit": true})", formats::fp4},  // quantization_config.py BitsAndBytesConfig
                        {R"({"load_in_4bit": true, "bnb_4bit_quant_type": "fp4", "bnb_4bit_use_double_quant": true})", formats::fp4_double},
                        {R"({"quant_method": "bitsandbytes", "load_in_8bit": true})", formats::int8}}) {
    CAPTURE(s.config);
    CHECK(with(s.config, lora).adapter.base == s.is);
    CHECK_THROWS_WITH_AS(with(s.config, ""), doctest::Contains("do not train by themselves"), job_error);
    CHECK_THROWS_WITH_AS(with(s.config, R"({"kind": "lora", "rank": 8, "targets": "all-linear", "base": "bf16"})"), doctest::Contains("contradicts model.quantization_config"), job_error);
  }
  // Dequantised as they are loaded: DeepSeek's and Qwen's blocks of fp8, gpt-oss's mxfp4.
  for (const auto* config : {R"({"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]})", R"({"quant_method": "mxfp4"})"}) {
    CHECK(!with(config, lora).adapter.base.set());
    CHECK(with(config, "") == with("", ""));
  }
  for (const auto* config : {R"({"quant_method": "compressed-tensors"})", R"({"quant_method": "aqlm"})", R"({"quant_method": "hqq"})", R"({"quant_method": "gptq", "bits": 4, "group_size": 32})",
                             R"({"quant_method": "gptq", "bits": 3, "group_size": 128})", R"({"quant_method": 4, "bits": "four", "load_in_4bit": "no"})"})
    CHECK_THROWS_WITH_AS(with(config, lora), doctest::Contains("is not modelled by this version; accepted: bitsandbytes"), job_error);
}

// Files on the Hugging Face hub, by their model cards: TheBloke/Llama-2-7B-AWQ, 4 bits in groups of 128, 3.89 GB; TheBloke/Llama-2-7B-GPTQ, main, 3.90 GB.
TEST_CASE("a stored model is as large as its file") {
  const auto gigabytes = [](const char* config) { return static_cast<double>(states(with(config, lora)).gpu[row::model_parameters].count()) / 1e9; };
  CHECK(gigabytes(R"({"quant_method": "awq", "bits": 4, "group_size": 128})") == doctest::Approx(3.89).epsilon(0.0013));
  CHECK(gigabytes(R"({"quant_method": "gptq", "bits": 4, "group_size": 128})") == doctest::Approx(3.90).epsilon(0.0015));
  // One matrix of 4096 × 4096 (AutoAWQ): qweight 4096 × 512 int32, qzeros 32 × 512 int32, scales 32 × 4096 fp16; GPTQ's g_idx 4096 int32 more.
  CHECK(formats::awq_int4.storage(4096, 4096).count() == 8'388'608 + 65'536 + 262'144);
  CHECK(formats::gptq_int4.storage(4096, 4096).count() == 8'388'608 + 65'536 + 262'144 + 16'384);
}

TEST_CASE("a base without scales is refused") {
  for (const auto& format : {formats::int4, formats::fp8}) {
    auto j = with("", lora);
    j.adapter.base = format;
    CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("awq-int4"), headroom::error);
  }
}

}  // namespace test_quantised_model
