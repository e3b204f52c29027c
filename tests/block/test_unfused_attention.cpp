// Distributed under the Boost Software License, Version 1.0.
// Classes of transformers that call no fused attention (5.17: no _supports_sdpa): their scores are written out, whatever a job leaves open or asks torch for.
#include <headroom/estimate.hpp>
#include <headroom/io/huggingface.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_unfused_attention {

using namespace headroom;
using nlohmann::json;

namespace {

report under(const json& model, const char* attention, const char* framework = "hf-trainer") {
  json j{{"model", model}, {"framework", framework}, {"precision", "bf16"}, {"hardware", {{"gpu", "h100-sxm-80gb"}}}, {"batch", {{"sequence", 512}, {"micro", 32}}}};
  if (attention[0] != '\0') j["attention"] = attention;
  return estimate(io::read_job(io::json_value::parse(j.dump()), io::no_files));
}
bool assumes_eager(const report& r) { return r.assumptions.has(assumption::attention_eager_for_softcap); }

}  // namespace

TEST_CASE("scores are written out where the class calls no kernel") {
  const json models[] = {{{"model_type", "bloom"}}, {{"model_type", "codegen"}, {"n_layer", 4}}, {{"model_type", "gptj"}, {"n_layer", 4}}, {{"model_type", "gpt_neo"}, {"num_layers", 4}, {"attention_types", {{{"global", "local"}, 2}}}}, {{"model_type", "mpt"}, {"n_layers", 4}},
                         {{"model_type", "xglm"}, {"num_layers", 4}}, {{"model_type", "megatron-bert"}, {"architectures", {"MegatronBertForMaskedLM"}}}, {{"model_type", "rembert"}, {"architectures", {"RemBertModel"}}},
                         {{"model_type", "mvp"}, {"architectures", {"MvpForConditionalGeneration"}}}};
  for (const auto& model : models) {
    CAPTURE(model.dump());
    CHECK(io::model_from_config(model).unfused_attention);
    const auto open = under(model, "");
    CHECK(assumes_eager(open));
    CHECK(open.ranks[0].allocated == under(model, "eager").ranks[0].allocated);
    CHECK(open.ranks[0].allocated == under(model, "sdpa").ranks[0].allocated);
  }
  CHECK(models::bloom_7b1.unfused_attention);
  CHECK(models::gpt_j_6b.unfused_attention);
  CHECK(models::gpt_neo_2_7b.unfused_attention);
  CHECK(models::mpt_7b.unfused_attention);
}

TEST_CASE("classes that call kernels, kernels of their own, and other programs") {
  const json neox{{"model_type", "gpt_neox"}, {"num_hidden_layers", 4}}, j{{"model_type", "gptj"}, {"n_layer", 4}};
  CHECK_FALSE(assumes_eager(under(neox, "")));
  CHECK(under(neox, "").ranks[0].allocated < under(neox, "eager").ranks[0].allocated);
  CHECK(under(j, "flash").ranks[0].allocated < under(j, "eager").ranks[0].allocated);  // GPTJFlashAttention2
  CHECK_FALSE(assumes_eager(under(j, "flash")));
  const json bloom = "bloom-560m";
  CHECK(under(bloom, "", "deepspeed").ranks[0].allocated == under(bloom, "eager", "deepspeed").ranks[0].allocated);
  CHECK(under(bloom, "flash", "megatron").ranks[0].allocated < under(bloom, "eager", "megatron").ranks[0].allocated);  // whose layers are its own
}

}  // namespace test_unfused_attention
