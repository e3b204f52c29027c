// Distributed under the Boost Software License, Version 1.0.
// A framework's own options: DeepSpeed configurations as they stand in public repositories, and llm.c's command line.
#include <doctest/doctest.h>

#include <headroom/io/job_reader.hpp>

namespace test_framework_options {

using namespace headroom;

namespace {

/// A job with what the neutral keys say, before options.
struct opened {
  io::json_value whole;
  job j;
};
opened job_of(const std::string& neutral) {
  opened o{io::parse_json(neutral, "job"), {}};
  o.whole["model"] = "llama-2-13b";
  if (!o.whole.contains("batch")) o.whole["batch"] = io::json_value::object();
  const bool sequence = o.whole["batch"].contains("sequence");
  if (!sequence) o.whole["batch"]["sequence"] = 2048;
  o.whole["hardware"] = {{"gpu", "a100-sxm-80gb"}, {"gpus_per_node", 8}};
  o.j = io::read_job(o.whole);
  if (!sequence) o.whole["batch"].erase("sequence");
  return o;
}
job deepspeed(const std::string& options, const std::string& neutral = "{}") {
  auto o = job_of(neutral);
  io::apply_deepspeed_options(o.j, io::parse_json(options, "ds_config"), io::option_merger{o.whole});
  return o.j;
}
job llm_c(const char* options, const std::string& neutral = "{}") {
  auto o = job_of(neutral);
  io::json_value parsed;
  if (options != nullptr) parsed = io::parse_json(options, "options");
  io::apply_llm_c_options(o.j, options != nullptr ? &parsed : nullptr, io::option_merger{o.whole});
  return o.j;
}
template <class F>
std::string sentence_of(F call) {
  try {
    call();
  } catch (const job_error& e) {
    return e.what();
  }
  return "no error";
}
std::string refusal(const std::string& options, const std::string& neutral = "{}") {
  return sentence_of([&] { deepspeed(options, neutral); });
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("LLaMA-Factory's ds_z3_offload_config.json: auto is the Trainer's") {
  const auto j = deepspeed(
      R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "zero_allow_untested_optimizer": true, "fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
    "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true}, "offload_param": {"device": "cpu", "pin_memory": true},
    "overlap_comm": false, "contiguous_gradients": true, "sub_group_size": 1e9, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
    "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true}})");
  CHECK(j.sharding.kind == sharding_kind::zero);
  CHECK(j.sharding.stage == 3);
  CHECK(j.sharding.overlap_comm == choice::no);
  CHECK(j.sharding.reduce_bucket_size == 5120 * 5120);
  CHECK(j.sharding.stage3_prefetch_bucket_size == 23592960);
  CHECK(j.sharding.stage3_param_persistence_threshold == 51200);
  CHECK(j.sharding.sub_group_size == 1'000'000'000);
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(j.offload.parameters == place::on_cpu);
  CHECK(j.offload.pin_memory);
  CHECK(!j.precision.set());
  CHECK(j.batch.micro == 1);
}

TEST_CASE("LLaMA-Factory's ds_z2_config.json") {
  const auto j = deepspeed(
      R"({"train_batch_size": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "allgather_partitions": true,
    "allgather_bucket_size": 5e8, "overlap_comm": false, "reduce_scatter": true, "reduce_bucket_size": 5e8, "contiguous_gradients": true, "round_robin_gradients": true}})");
  CHECK(j.sharding.stage == 2);
  CHECK(j.sharding.allgather_bucket_size == 500'000'000);
  CHECK(j.sharding.round_robin_gradients == choice::yes);
  CHECK(j.offload == offload{});
}

TEST_CASE("DeepSpeedExamples' misspelt keys are refused with the likely one") {
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 3, "stage3_param_persitance_threshold": 1e5}})"),
              "did you mean \"stage3_param_persistence_threshold\"?"));
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 2, "cpu_offload": true, "comm_overlap": true}})"),
              "unknown key \"comm_overlap\" in framework.options.zero_optimization; did you mean \"overlap_comm\"?"));
  CHECK(
      holds(refusal(R"({"zero_optimisation": {"stage": 2}})"), "in framework.options; did you mean \"zero_optimization\"?"));
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"devise": "cpu"}}})"),
              "did you mean \"device\"?"));
}

TEST_CASE("ds_zero-offload_10B_config.json: legacy offload, and a micro-batch that follows") {
  const auto j = deepspeed(
      R"({"train_batch_size": 48, "gradient_accumulation_steps": 3, "zero_optimization": {"stage": 2, "cpu_offload": true, "contiguous_gradients": true},
    "optimizer": {"type": "Adam", "params": {"lr": 0.00015}}, "fp16": {"enabled": true},
    "activation_checkpointing": {"partition_activations": true, "number_checkpoints": null, "cpu_checkpointing": true}})", R"({"recompute": "full"})");
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(j.offload.pin_memory);  // since DeepSpeed 0.19.5 (2026-08-07)
  CHECK(j.offload.activations == place::on_cpu);
  CHECK(j.recompute == recompute::full);
  CHECK(j.batch.micro == 2);
  CHECK(j.batch.accumulation == 3);
  CHECK(j.precision == precisions::fp16_mixed);
  CHECK(j.optimizer == optimizers::adam);
}

TEST_CASE("axolotl's zero3_bf16_cpuoffload_all.json: names without the prefix") {
  const auto j = deepspeed(
      R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "cpu", "pin_memory": true}, "sub_group_size": 0, "max_live_parameters": 0, "max_reuse_distance": 0, "gather_16bit_weights_on_model_save": true}})");
  CHECK(j.sharding.stage3_max_live_parameters == 0);
  CHECK(j.sharding.stage3_max_reuse_distance == 0);
  CHECK(j.precision == precisions::bf16_mixed);
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 3, "max_live_parameters": 1, "stage3_max_live_parameters": 1}})"),
              "two names of one key"));
}

TEST_CASE("legacy and odd spellings") {
  CHECK(deepspeed(R"({"zero_optimization": true})").sharding == zero(1));
  CHECK(deepspeed(R"({"zero_optimization": false})").sharding.stage == 0);
  CHECK(deepspeed(R"({"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": "auto"}})").sharding ==
        zero(3));
  CHECK(
      deepspeed(
          R"({"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/x", "buffer_count": 4, "buffer_size": 1e8, "max_in_cpu": 1}}})")
          .offload.max_in_cpu == 1);
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 3, "zero_quantized_weights": true}})"), "is not modelled"));
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.3}}})"),
              "is not modelled"));
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 4}})"),
              "framework.options.zero_optimization.stage must be a whole number from 0 to 3, found 4"));
  CHECK(holds(refusal(R"({"optimizer": {"type": "OneBitAdam"}})"), "framework.options.optimizer.type"));
  CHECK(holds(refusal(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})"), "must not both be enabled"));
  CHECK(deepspeed(R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"}})").precision.gradients ==
        formats::fp32);
}

TEST_CASE("an option yields to nothing and contradicts nothing") {
  CHECK(deepspeed(R"({"zero_optimization": {"stage": 3}})", R"({"sharding": "zero3"})").sharding == zero(3));
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 2}})", R"({"sharding": "zero3"})"),
              "framework.options.zero_optimization.stage contradicts sharding.stage"));
  CHECK(holds(refusal(R"({"zero_optimization": {"stage": 2}})", R"({"sharding": "fsdp2"})"), "contradicts sharding.kind"));
  CHECK(holds(refusal(R"({"bf16": {"enabled": true}})", R"({"precision": "fp16-mixed"})"), "contradicts precision"));
  CHECK(refusal(R"({"bf16": {"enabled": true}})", R"({"precision": "bf16"})") == "no error");
  CHECK(holds(refusal(R"({"train_micro_batch_size_per_gpu": 2})", R"({"batch": {"micro": 4}})"), "contradicts batch.micro"));
  CHECK(holds(refusal(R"({"optimizer": {"type": "SGD"}})", R"({"optimizer": "adamw"})"), "contradicts optimizer"));
  CHECK(holds(
      refusal(R"({"zero_optimization": {"offload_optimizer": {"device": "cpu"}}})", R"({"offload": {"optimizer": "none"}})"),
      "contradicts offload.optimizer"));
  CHECK(holds(refusal(R"({"train_batch_size": 30, "gradient_accumulation_steps": 4})"),
              "must be micro-batch x accumulation x data-parallel ranks"));
  CHECK(deepspeed(R"({"train_batch_size": 256, "gradient_accumulation_steps": 8})").batch.micro == 4);
  CHECK(deepspeed(R"({"train_batch_size": 256})", R"({"batch": {"micro": 4}})").batch.accumulation == 8);
}

TEST_CASE("llm.c") {
  const auto j = llm_c(R"({"b": 32, "t": 1024, "z": 0, "r": 0, "USE_CUDNN": 1})");
  CHECK(j.batch.micro == 32);
  CHECK(j.batch.sequence == 1024);
  CHECK(j.recompute == recompute{});
  CHECK(j.attention == attention::flash);
  const auto gelu = std::uint32_t{1} << static_cast<int>(recompute_module::gelu);
  CHECK(llm_c(nullptr).recompute == recompute{.mode = recompute_mode::selective, .modules = gelu});
  CHECK(llm_c(nullptr, R"({"recompute": "none"})").recompute == recompute{});
  CHECK(llm_c(R"({"r": 2})").recompute.modules ==
        (gelu | std::uint32_t{1} << static_cast<int>(recompute_module::layernorm)));
  CHECK(llm_c(R"({"z": 1})").sharding == zero(1));
  CHECK(llm_c(R"({"b": 4, "t": 1024, "d": 524288})").batch.accumulation == 16);
  CHECK(llm_c(R"({"USE_CUDNN": 0})").attention == attention::eager);
  CHECK(holds(sentence_of([] { llm_c(R"({"z": 2})"); }), "framework.options.z must be a whole number from 0 to 1, found 2"));
  CHECK(holds(sentence_of([] { llm_c(R"({"x": 2})"); }), "unknown key \"x\" in framework.options"));
  CHECK(holds(sentence_of([] { llm_c(R"({"r": 1})", R"({"recompute": "none"})"); }),
              "framework.options.r contradicts recompute"));
}

}  // namespace test_framework_options
