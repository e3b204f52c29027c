// Distributed under the Boost Software License, Version 1.0.
// Quantisation-aware training in files of axolotl (067b021c) and torchtune (bd2a0fc7), read as somebody did by hand from their sources.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_quantisation_aware {

using namespace imported;

namespace {

const std::string axo = "base_model: meta-llama/Llama-3.2-3B\nmicro_batch_size: 16\nsequence_len: 8192\nattn_implementation: flash_attention_2\nbf16: true\n";
job axolotl(const std::string& qat) { return job_of({{"axo.yaml", axo + "qat:\n" + qat}}, {}); }
std::string why(const std::string& qat, const std::string& beside = "") { return refusal_of({{"axo.yaml", axo + beside + "qat:\n" + qat}}, {}); }

const std::string tune = "model:\n  _component_: torchtune.models.llama3.llama3_8b\ntokenizer:\n  max_seq_len: 2048\noptimizer:\n  _component_: torch.optim.AdamW\n  fused: true\n"
                         "loss:\n  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\nbatch_size: 2\ndtype: bf16\nenable_activation_checkpointing: true\n";
const std::string quantizer = "quantizer:\n  _component_: torchtune.training.quantization.Int8DynActInt4WeightQATQuantizer\n";

}  // namespace

TEST_CASE("axolotl: int4 weights, with rounded activations and without") {
  CHECK(axolotl("  weight_dtype: int4\n  activation_dtype: int8\n  group_size: 64\n").fake_quantization == fake_quantization{.weights = fake_quantizer::int4, .group = 64, .activations = true});
  CHECK(axolotl("  weight_dtype: int4\n").fake_quantization == fake_quantization{.weights = fake_quantizer::int4, .group = 32});
  CHECK(axolotl("  weight_dtype: int4\n  group_size:\n").fake_quantization.group == 128);
  CHECK(why("  weight_dtype: nvfp4\n  activation_dtype: nvfp4\n").find("NVFP4WeightOnlyConfig") != std::string::npos);
  CHECK(why("  weight_dtype: mxfp4\n  activation_dtype: mxfp4\n").find("weight_dtype mxfp4") != std::string::npos);
  CHECK(why("  activation_dtype: int8\n").find("weight_dtype int8 with activation_dtype int8") != std::string::npos);
  CHECK(why("  weight_dtype: int4\n  quantize_embedding: true\n").find("quantize_embedding") != std::string::npos);
  CHECK(why("  weight_dtype: int4\n  scheme: 3\n").find("qat.scheme") != std::string::npos);
  CHECK(why("  weight_dtype: int4\n", "adapter: lora\nlora_r: 8\nlora_target_linear: true\n").find("adapters beside qat") != std::string::npos);
}

TEST_CASE("torchtune: the quantizer of a recipe for the whole model") {
  const auto whole = job_of({{"tune.yaml", tune + quantizer}}, {"hardware.gpus_per_node=8"});
  CHECK(whole.fake_quantization == fake_quantization{.weights = fake_quantizer::intx, .group = 256, .activations = true});
  CHECK(whole.sharding.kind == sharding_kind::fsdp2);
  CHECK(job_of({{"tune.yaml", tune + quantizer + "  groupsize: 128\n"}}, {"hardware.gpus_per_node=8"}).fake_quantization.group == 128);

  const auto launched = [&](const std::string& recipe) { return job_of({{"run.sh", "tune run --nproc_per_node 8 " + recipe + " --config tune.yaml\n"}, {"tune.yaml", tune + quantizer}}, {}); };
  CHECK(launched("qat_distributed").fake_quantization == whole.fake_quantization);
  CHECK_FALSE(launched("full_finetune_distributed").fake_quantization.active());  // which does not read it
  CHECK(refusal_of({{"run.sh", "tune run --nproc_per_node 8 qat_distributed --config tune.yaml\n"}, {"tune.yaml", tune}}, {}).find("needs a quantizer") != std::string::npos);

  // From file to number: in the loss eight rounded copies of the head's 128,256 × 4,096 weights, with what was clamped, and nothing of it where the recipe does not round.
  const auto rows = [](const job& j) {
    const auto r = estimate(j);
    return r.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::gathered_parameters].count();
  };
  const std::int64_t head = std::int64_t{128'256} * 4096;
  CHECK(rows(whole) - rows(launched("full_finetune_distributed")) >= 8 * 6 * head);
  CHECK(rows(whole) - rows(launched("full_finetune_distributed")) <= 8 * 6 * head + 2 * std::int64_t{218'112'000});  // and one layer that is gathered at that moment
}

TEST_CASE("a job file says it") {
  const auto j = job_of({{"tune.yaml", tune + quantizer}}, {"hardware.gpus_per_node=8"});
  const auto written = io::job_to_json(j);
  CHECK(written["fake_quantization"] == io::json_value{{"weights", "intx"}, {"group", 256}, {"activations", true}});
  CHECK(io::read_job(written).fake_quantization == j.fake_quantization);
}

}  // namespace test_quantisation_aware

#endif
