// Distributed under the Boost Software License, Version 1.0.
// Megatron-Bridge's recipes by name. Totals are those that Meta's and Qwen's pages state, less the rows of a vocabulary that the recipe does not have.
#include <doctest/doctest.h>

#include "imported.hpp"

#include <headroom/full_report.hpp>
#include <headroom/io/launchers/megatron/bridge_recipes.hpp>

#include <algorithm>
#include <set>

namespace test_megatron_bridge {

using namespace imported;

namespace {

const std::vector<std::string> on_h100{"hardware.gpu=h100-sxm-80gb"};
imported::text script(const std::string& arguments, int nodes = 1, int gpus = 8) {
  return {"run.sh", "uv run python -m torch.distributed.run --nnodes=" + std::to_string(nodes) + " --nproc_per_node=" + std::to_string(gpus) + " scripts/training/run_recipe.py " + arguments + "\n"};
}
job job_from(const std::string& arguments, int nodes = 1, int gpus = 8, std::vector<std::string> set = on_h100) { return job_of({script(arguments, nodes, gpus)}, set); }
std::string refused(const std::string& arguments, std::vector<std::string> set = on_h100) { return refusal_of({script(arguments)}, set); }

}  // namespace

// recipes/llama/h100/llama3.py: NullTokenizer, of 32,000 tokens; the table of the tied model has 128,256 rows less as many.
TEST_CASE("a training from scratch has the rows of its tokenizer") {
  const auto j = job_from("--recipe llama32_1b_pretrain_config", 1, 1);
  CHECK(j.framework.label == "megatron");
  CHECK(j.batch == batch{.micro = 1, .sequence = 8192, .accumulation = 512});
  CHECK(estimate(j).parameter_count.total.count() == 1'235'814'400 - (128'256 - 32'000) * 2'048);
  CHECK(j.sharding.kind == sharding_kind::megatron_distributed_optimizer);
  CHECK_FALSE(j.precision.set());
  CHECK(j.framework.precision.gradients == formats::fp32);  // bf16_mixed
  CHECK(j.loss.kind == loss_kind::fused);
  CHECK(j.framework.loss.style == loss_style::in_place);  // TransformerEngine's
  CHECK(j.framework.communication.overlaps_gradients);
  CHECK(j.environment.expandable_segments == choice::yes);
  CHECK(job_from("--model llama32_1b --mode pretrain", 1, 1) == j);
  CHECK(job_from("--recipe llama32_1b_pretrain_1gpu_h100_bf16_config", 1, 1) == j);
  CHECK(holds(refused("--recipe qwen3_600m_pretrain_config"), "the tokenizer of Qwen/Qwen3-0.6B decides how large the vocabulary is"));
  CHECK(holds(refused("--recipe llama32_1b_pretrain_config tokenizer.tokenizer_type=HuggingFaceTokenizer tokenizer.tokenizer_model=x"), "decides how large the vocabulary is"));
}

TEST_CASE("a fine-tuning has the checkpoint's, and packs documents into a row") {
  const auto j = job_from("--recipe llama31_8b_sft_config", 1, 2);
  CHECK(estimate(j).parameter_count.total.count() == 8'030'261'248);
  CHECK(j.parallel.tensor == 2);
  CHECK_FALSE(j.parallel.sequence);
  CHECK(j.batch.micro == 1);
  CHECK(j.batch.sequence == 4096);
  CHECK(j.batch.accumulation == 8);
  CHECK(j.framework.loss.style == loss_style::autocast);  // Megatron's own fusion
  CHECK_FALSE(j.framework.communication.overlaps_gradients);
  const auto checkpointed = job_from("--recipe qwen3_32b_sft_config", 2, 8);
  CHECK(checkpointed.recompute.mode == recompute_mode::full);
  CHECK(checkpointed.parallel.pipeline == 2);
  CHECK(estimate(checkpointed).parameter_count.total.count() == 32'762'123'264);
  // examples/training_features/long_context: a row of 131,072 tokens over eight GPUs, two rows a step; 596,049,920 parameters (Qwen's page: 0.6B).
  const auto longer = job_of({launch_file("megatron-bridge-128k", "qwen3_600m_sft_128k.sh")}, on_h100);
  CHECK(longer == job_from("--recipe qwen3_600m_sft_8gpu_h100_bf16_128k_config"));
  CHECK(longer.hardware.gpus() == 8);
  CHECK(longer.batch.accumulation == 2);
  CHECK(estimate(longer).parameter_count.total.count() == 596'049'920);
  CHECK(longer.parallel.context == 8);
  CHECK(longer.parallel.context_kind == context_kind::ulysses);
  CHECK(longer.sharding.kind == sharding_kind::ddp);
  CHECK(longer.batch.sequence == 131'072);
}

// It is no script of Megatron-LM's, and its layers are TransformerEngine's whatever the release.
TEST_CASE("a recipe is Megatron-Bridge's, and no guess at Megatron-LM's age is made") {
  auto d = draft_of({script("--recipe llama32_1b_pretrain_config", 1, 1)}, on_h100);
  (void)d.settled();
  const auto said = [&](std::string_view part) { return std::count_if(d.notes.begin(), d.notes.end(), [&](const std::string& n) { return holds(n, part); }); };
  CHECK(said("is taken to be that of NVIDIA-NeMo/Megatron-Bridge, as it is there") == 1);
  CHECK(said("Megatron-LM") == 0);
}

// Sixteen parts of 128 layers, of which embedding and loss are one each; 32,000 rows are padded to a multiple of 128 x 8, 32,768.
TEST_CASE("405 billion parameters on 256 GPUs") {
  const auto j = job_from("--recipe llama31_405b_pretrain_config", 32, 8);
  CHECK(j.parallel.tensor == 8);
  CHECK(j.parallel.pipeline == 8);
  CHECK(j.parallel.virtual_pipeline == 2);
  CHECK(j.parallel.context == 4);
  CHECK(j.parallel.sequence);
  CHECK(j.parallel.stage_layers[0] == 7);
  CHECK(j.parallel.stage_layers[1] == 8);
  CHECK(j.parallel.stage_layers[15] == 7);
  CHECK(j.batch == batch{.micro = 1, .sequence = 131'072, .accumulation = 512});
  CHECK(j.framework.communication.tensor_parallel == tensor_parallel_overlap::userbuffers);
  CHECK(estimate(j).parameter_count.total.count() == 405'853'388'800 - 2 * (128'256 - 32'768) * std::int64_t{16'384});
}

TEST_CASE("what a command changes") {
  const auto j = job_from("--recipe llama32_1b_pretrain_config -mb 2 -tp 2 train.global_batch_size=64 dataset.seq_length=4096 model.sequence_parallel=true --lr 1e-4 logger.log_interval=1 checkpoint.save=/x model.recompute_granularity=selective");
  CHECK(j.batch == batch{.micro = 2, .sequence = 4096, .accumulation = 8});
  CHECK(j.parallel.tensor == 2);
  CHECK(j.parallel.sequence);
  CHECK(j.recompute.mode == recompute_mode::selective);
  const auto again = [](const std::string& modules) { return job_from("--recipe llama32_1b_pretrain_config model.recompute_granularity=selective " + modules).recompute.modules; };
  CHECK(again("'model.recompute_modules=[mlp]'") == std::uint32_t{1} << static_cast<int>(recompute_module::mlp));
  CHECK(again("") == std::uint32_t{1} << static_cast<int>(recompute_module::core_attn));  // Megatron's default
  CHECK(job_from("--recipe llama32_1b_pretrain_config -mb 2 train.micro_batch_size=4").batch.micro == 4);  // whatever stands first
  CHECK(job_from("--recipe llama32_1b_pretrain_config --dataset mock") == job_from("--recipe llama32_1b_pretrain_config"));
  CHECK(holds(refused("--recipe llama32_1b_pretrain_config model.fp8=hybrid"), "model.fp8 = \"hybrid\" is not modelled by this version (of Megatron-Bridge's settings)"));
  CHECK(holds(refused("--recipe llama32_1b_pretrain_config ddp.use_megatron_fsdp=true"), "ddp.use_megatron_fsdp"));
  CHECK(holds(refused("--recipe llama32_1b_pretrain_config --dataset squad"), "dataset = \"squad\" is not modelled"));
  CHECK(holds(refused("--recipe llama32_1b_pretrain_config --deterministic"), "deterministic"));
  CHECK(holds(refused("--recipe llama32_1b_pretrain_config --use-foo 1"), "use-foo"));
  CHECK(holds(refused("--recipe llama32_1b_pretrain_config --mode lora"), "are for different trainings"));
  CHECK(holds(refused("--recipe llama31_8b_sft_config -mb 2"), "packed samples go with train.micro_batch_size 1"));
  CHECK(holds(refused("--recipe llama32_1b_pretrain_config model.recompute_granularity=full"), "needs model.recompute_method"));
  for (const auto* other : {"llama32_1b_peft_config", "llama3_8b_low_precision_pretrain_config", "qwen3_30b_a3b_pretrain_config", "qwen3_8b_pretrain_config", "llama3_70b_sft_32gpu_h100_bf16_config"})
    CHECK(holds(refused("--recipe " + std::string{other}), "is not read: read are pretraining and SFT of Llama 2 to 3.2"));
}

TEST_CASE("every row is read under all of its names, and runs") {
  std::set<std::string_view> seen;
  for (const auto& r : io::detail::bridge_recipes) {
    INFO(r.names);
    for (auto rest = r.names; !rest.empty();) {
      const auto name = rest.substr(0, rest.find('|'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      CHECK(name.ends_with("_config"));
      CHECK(seen.insert(name).second);
    }
    auto set = on_h100;
    if (r.names.find("qwen3") != std::string_view::npos && r.names.find("pretrain") != std::string_view::npos) set.push_back("model.vocab=151669");
    const auto gpus = std::max<std::int64_t>(8, r.tensor * r.pipeline * r.context);
    const auto j = job_from("--recipe " + std::string{r.names.substr(0, r.names.find('|'))}, static_cast<int>(gpus / 8), 8, set);
    CHECK_FALSE(objection_to(j));
    CHECK(j.parallel.tensor * j.parallel.pipeline * j.parallel.context == r.tensor * r.pipeline * r.context);
  }
  CHECK(seen.size() == 103);
}

}  // namespace test_megatron_bridge
