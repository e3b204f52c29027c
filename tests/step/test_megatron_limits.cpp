// Distributed under the Boost Software License, Version 1.0.
// What Megatron's engine does not run, from both sides of each limit: one change to a job that is accepted.
#include <headroom/framework/frameworks.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/objection.hpp>

#include <doctest/doctest.h>

#include "limits.hpp"

namespace test_megatron_limits {

using namespace headroom;

namespace {

using limits::check_all;

job gpt(std::int64_t gpus = 8) {
  return {.model = {.layers = 8, .hidden = 1024, .heads = 8, .kv_heads = 8, .head_dim = 128, .ffn = 4096, .vocab = 32768},
          .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = gpus}, .framework = frameworks::megatron,
          .sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1}, .batch = {.micro = 1, .sequence = 1024, .accumulation = 8}};
}
job staged(schedule how = {}) {
  auto j = gpt();
  j.parallel.pipeline = 4;
  j.parallel.schedule = how;
  return j;
}
job hybrid() {
  auto j = gpt();
  j.model.pattern.add({mixer_kind::mamba2, feed_forward_kind::none});
  j.model.pattern.add({mixer_kind::attention, feed_forward_kind::none});
  j.model.pattern.add({mixer_kind::none, feed_forward_kind::dense});
  j.model.ssm = {.heads = 16, .head_dim = 64, .state = 128, .groups = 8, .conv = 4, .chunk = 128};
  return j;
}
job bert() {
  auto j = gpt();
  j.model.bidirectional = j.model.norm_bias = true;
  j.model.head = head_kind::masked_language;
  j.model.norm = norm_kind::layernorm;
  j.model.mlp = mlp_kind::plain;
  j.model.position = position_kind::learned;
  j.model.max_positions = 1024;
  return j;
}
job t5() {
  auto j = bert();
  j.model.bidirectional = false;
  j.model.head = head_kind::language;
  j.model.encoder = {.layers = 4, .cross_attention = true};
  return j;
}
job fsdp() {
  auto j = gpt();
  j.sharding = megatron_fsdp();
  return j;
}
job moe() {
  auto j = gpt();
  j.model.experts = {.count = 8, .active = 2, .ffn = 512};
  j.parallel.expert = 4;
  return j;
}
job lora() {
  auto j = gpt();
  j.framework = frameworks::megatron_swift;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  return j;
}

}  // namespace

TEST_CASE("what tensor and context parallelism divide comes out even") {
  check_all(gpt(), {
      {"", [](job&) {}},
      {"", [](job& j) { j.parallel.tensor = 8; }},
      {"heads and kv_heads must be multiples", [](job& j) { j.parallel.tensor = 8; j.model.heads = j.model.kv_heads = 4; }},
      {"heads and kv_heads must be multiples", [](job& j) { j.parallel.tensor = 8; j.model.kv_heads = 4; }},
      {"model.ffn must be a multiple", [](job& j) { j.parallel.tensor = 8; j.model.ffn = 4092; }},
      {"", [](job& j) { j.parallel.context = 8; }},
      {"batch.sequence must be a multiple of 2 × parallel.context", [](job& j) { j.parallel.context = 8; j.batch.sequence = 1032; }},
      {"", [](job& j) { j.parallel.tensor = 4; j.parallel.context = 2; j.parallel.sequence = true; j.batch.sequence = 1016; }},
      {"batch.sequence / context must be a multiple", [](job& j) { j.parallel.tensor = 4; j.parallel.context = 2; j.parallel.sequence = true; j.batch.sequence = 1012; }},
      {"", [](job& j) { j.parallel.tensor = 4; j.parallel.context = 2; j.batch.sequence = 1012; }},
      {"parallel blocks and post-norms", [](job& j) { j.model.parallel_block = true; }},
      {"parallel blocks and post-norms", [](job& j) { j.model.post_norms = true; }},
      {"partly frozen models", [](job& j) { j.trainable.list[0].modules = module_set{module::embedding}; j.trainable.size = 1; }},
      {"selective recompute needs recompute.modules", [](job& j) { j.recompute.mode = recompute_mode::selective; }},
      {"", [](job& j) { j.recompute.mode = recompute_mode::selective; j.recompute.modules = 1; }},
      {"recompute.layers needs recompute.method", [](job& j) { j.recompute = recompute::full; j.recompute.layers = 2; }},
      {"", [](job& j) { j.recompute = recompute::full; j.recompute.layers = 8; }},
      {"", [](job& j) { j.recompute = recompute::full; j.recompute.layers = 2; j.recompute.method = recompute_method::block; }},
      {"", [](job& j) { j.sharding.kind = sharding_kind::megatron_distributed_optimizer; j.offload.optimizer = place::on_cpu; }},
      {"offload.optimizer cpu needs the distributed optimizer", [](job& j) { j.sharding.kind = sharding_kind::ddp; j.offload.optimizer = place::on_cpu; }},
      {"offload.parameters must be none, and offload.optimizer none or cpu", [](job& j) { j.offload.optimizer = place::on_nvme; }},
      {"offload.parameters must be none, and offload.optimizer none or cpu", [](job& j) { j.offload.parameters = place::on_cpu; }},
      {"needs framework.options.offload-modules", [](job& j) { j.offload.activations = place::on_cpu; }},
      {"", [](job& j) { j.offload.activations = place::on_cpu; j.framework.checkpointing.offloaded_modules = 1; }},
      {"needs framework.options.offload-modules", [](job& j) { j.offload.activations = place::on_cpu; j.framework.checkpointing.offloaded_modules = 1; j.recompute = recompute::full; }},
      {"graph-impl must be none", [](job& j) { j.framework.graphs.capture = static_cast<graph_capture>(1); j.recompute = recompute::full; }},
      {"sharding.kind must be none, ddp, megatron", [](job& j) { j.sharding = zero(1); }},
      {"sharding.kind must be none, ddp, megatron", [](job& j) { j.sharding = fsdp2(); }},
      {"", [](job& j) { j.sharding = ddp(); }},
      {"", [](job& j) { j.sharding = {}; }},
      {"the optimizer must be adamw, sgd", [](job& j) { j.optimizer = optimizers::adafactor; }},
      {"the optimizer must be adamw, sgd", [](job& j) { j.optimizer = optimizers::adamw_8bit; }},
      {"the optimizer must be adamw, sgd", [](job& j) { j.optimizer = optimizers::paged_adamw; }},
      {"the optimizer must be adamw, sgd", [](job& j) { j.optimizer = optimizers::badam; }},
      {"the optimizer must be adamw, sgd", [](job& j) { j.optimizer = optimizers::lomo; }},
      {"the optimizer must be adamw, sgd", [](job& j) { j.optimizer = optimizers::prodigy; }},
      {"", [](job& j) { j.optimizer = optimizers::lion; }},
      {"", [](job& j) { j.optimizer = optimizers::muon; }},
      {"Muon's layer-wise optimizer has no instances", [](job& j) { j.optimizer = optimizers::muon; j.parallel.replicate = 2; }},
      {"Muon's layer-wise optimizer with fp8", [](job& j) { j.optimizer = optimizers::muon; j.framework.optimizer.precision_aware = true; }},
      {"multi-token prediction under Muon", [](job& j) { j.optimizer = optimizers::muon; j.model.mtp_layers = 1; }},
  });
}

TEST_CASE("stages and the order of their micro-batches") {
  const char* const even = "needs an even number of stages and of micro-batches";
  check_all(staged(), {
      {"", [](job&) {}},
      {"", [](job& j) { j.model.mtp_layers = 4; }},
      {"model.mtp_layers must be from 0 to 4", [](job& j) { j.model.mtp_layers = 5; }},
      {"", [](job& j) { j.parallel.virtual_pipeline = 2; }},
      {"a multiple of parallel.pipeline; accumulation", [](job& j) { j.parallel.virtual_pipeline = 2; j.batch.accumulation = 6; }},
      {"", [](job& j) { j.parallel.virtual_pipeline = 2; j.batch.accumulation = 6; j.framework.pipeline.microbatch_group = 4; }},
      {"must be at least parallel.pipeline; found", [](job& j) { j.parallel.virtual_pipeline = 2; j.framework.pipeline.microbatch_group = 3; }},
      {"", [](job& j) { j.batch.accumulation = 6; }},
      {"for megatron parallel.schedule must be 1f1b", [](job& j) { j.parallel.schedule = schedule::naive; }},
  });
  check_all(staged(schedule::zero_bubble), {
      {"", [](job&) {}},
      {"need parallel.virtual_pipeline 1", [](job& j) { j.parallel.virtual_pipeline = 2; }},
      {"recomputation is not modelled for the zero-bubble", [](job& j) { j.recompute = recompute::full; }},
  });
  const char* const v = "schedules in a V (zero-bubble-v, v-half, v-min) are modelled for megatron with sft alone";
  for (const auto in_a_v : {schedule::zero_bubble_v, schedule::v_half, schedule::v_min}) {
    auto j = staged(in_a_v);
    j.model.tied = false, j.parallel.virtual_pipeline = 2;
    check_all(j, {
        {"", [](job&) {}},
        {v, [](job& k) { k.model.tied = true; }},
        {v, [](job& k) { k.model.mtp_layers = 1; }},
        {v, [](job& k) { k.optimizer = optimizers::muon; }},
    });
  }
  check_all(staged(schedule::dualpipe), {
      {"", [](job&) {}},
      {even, [](job& j) { j.batch.accumulation = 9; }},
      {even, [](job& j) { j.hardware.gpus_per_node = 3; j.parallel.pipeline = 3; j.model.layers = 9; }},
  });
  check_all(staged(schedule::gpipe), {
      {"", [](job& j) { j.batch.accumulation = 65'536; }},
      {"with the gpipe schedule", [](job& j) { j.batch.accumulation = 65'537; }},
  });
}

TEST_CASE("experts over ranks") {
  check_all(moe(), {
      {"", [](job&) {}},
      {"experts.count must be a multiple of parallel.expert", [](job& j) { j.model.experts.count = 6; }},
      {"", [](job& j) { j.parallel.expert_tensor = 2; }},
      {"experts.count must be a multiple of parallel.expert", [](job& j) { j.parallel.expert_tensor = 2; j.model.experts.ffn = 511; }},
      {"must be a multiple of parallel.expert × expert_tensor", [](job& j) { j.parallel.expert_tensor = 4; }},
      {"must be a multiple of parallel.expert × expert_tensor", [](job& j) { j.parallel.pipeline = 4; }},
      {"", [](job& j) { j.parallel.pipeline = 2; }},
  });
}

TEST_CASE("Megatron-FSDP") {
  check_all(fsdp(), {
      {"", [](job&) {}},
      {"over pipeline stages is not modelled", [](job& j) { j.parallel.pipeline = 2; }},
      {"over pipeline stages is not modelled", [](job& j) { j.parallel.schedule = schedule::gpipe; }},
      {"multi-token prediction under Megatron-FSDP", [](job& j) { j.model.mtp_layers = 1; }},
      {"several layers in a checkpoint", [](job& j) { j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = 2}; }},
      {"", [](job& j) { j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = 1}; }},
      {"", [](job& j) { j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 2}; }},
      {"Megatron-FSDP has no Muon", [](job& j) { j.optimizer = optimizers::muon; }},
  });
}

TEST_CASE("hybrid stacks") {
  const char* const halves = "must be of halves of layers";
  check_all(hybrid(), {
      {"", [](job&) {}},
      {"may name Mamba-2 (M)", [](job& j) { j.model.pattern.add({mixer_kind::gated_convolution, feed_forward_kind::none}); }},
      {halves, [](job& j) { j.model.pattern.add({mixer_kind::attention, feed_forward_kind::dense}); }},
      {halves, [](job& j) { j.model.pattern = {}; j.model.pattern.add({mixer_kind::mamba2, feed_forward_kind::dense}); }},
      {"ssm.heads and groups must be multiples", [](job& j) { j.parallel.tensor = 2; j.model.ssm.groups = 1; }},
      {"ssm.heads and groups must be multiples", [](job& j) { j.parallel.context = 2; j.model.ssm.groups = 1; }},
      {"", [](job& j) { j.parallel.tensor = 2; j.parallel.context = 4; }},
      {"ssm.heads and groups must be multiples", [](job& j) { j.parallel.tensor = 4; j.parallel.context = 2; j.model.ssm = {.heads = 12, .head_dim = 64, .state = 128, .groups = 4, .conv = 4, .chunk = 128}; }},
      {"recurrence must be \"fused\"", [](job& j) { j.recurrence = recurrence::eager; }},
      {"Megatron-FSDP and Muon are not modelled for patterns", [](job& j) { j.sharding = megatron_fsdp(); }},
      {"Megatron-FSDP and Muon are not modelled for patterns", [](job& j) { j.optimizer = optimizers::muon; }},
      {"CUDA graphs and offloaded activations are not modelled for patterns", [](job& j) { j.framework.graphs.capture = static_cast<graph_capture>(1); }},
      {"CUDA graphs and offloaded activations are not modelled for patterns", [](job& j) { j.offload.activations = place::on_cpu; }},
      {"several layers of a pattern", [](job& j) { j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = 2}; }},
      {"", [](job& j) { j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = 1}; }},
      {"", [](job& j) { j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 2}; }},
      {"selective recompute is not modelled for patterns", [](job& j) { j.recompute = {.mode = recompute_mode::selective, .modules = 1}; }},
  });
}

TEST_CASE("BERT and T5 as Megatron builds them") {
  const char* const built = "must be BERT as Megatron builds it";
  check_all(bert(), {
      {"", [](job&) {}},
      {built, [](job& j) { j.model.embedding_norm = true; }},
      {built, [](job& j) { j.model.no_final_norm = true; }},
      {built, [](job& j) { j.model.position = position_kind::rope; }},
      {built, [](job& j) { j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
      {built, [](job& j) { j.model.mla = {.kv_rank = 128, .nope_dim = 64, .value_dim = 64}; }},
      {built, [](job& j) { j.model.embedding_dim = 128; }},
      {built, [](job& j) { j.model.mtp_layers = 1; }},
      {built, [](job& j) { j.model.classes = 2; }},
      {built, [](job& j) { j.model.classes = 3; j.model.pooler = true; }},
      {"", [](job& j) { j.model.classes = 2; j.model.pooler = true; }},
      {"BERT has no context parallelism", [](job& j) { j.parallel.context = 2; }},
      {"are not modelled for encoders under megatron", [](job& j) { j.sharding = megatron_fsdp(); }},
      {"are not modelled for encoders under megatron", [](job& j) { j.optimizer = optimizers::muon; }},
  });
  const char* const as_built = "must be T5 as Megatron builds it";
  check_all(t5(), {
      {"", [](job&) {}},
      {as_built, [](job& j) { j.model.encoder.cross_attention = false; }},
      {as_built, [](job& j) { j.model.encoder.heads = 8; }},
      {as_built, [](job& j) { j.model.encoder.ffn = 4096; }},
      {as_built, [](job& j) { j.model.encoder.max_positions = 1024; }},
      {as_built, [](job& j) { j.model.encoder.frozen_positions = true; }},
      {as_built, [](job& j) { j.model.encoder.audio_channels = 80; }},
      {as_built, [](job& j) { j.model.kv_heads = 4; }},
      {as_built, [](job& j) { j.model.position = position_kind::rope; }},
      {as_built, [](job& j) { j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
      {as_built, [](job& j) { j.model.mla = {.kv_rank = 128, .nope_dim = 64, .value_dim = 64}; }},
      {as_built, [](job& j) { j.model.mtp_layers = 1; }},
      {as_built, [](job& j) { j.model.embedding_norm = true; }},
      {as_built, [](job& j) { j.model.no_final_norm = true; }},
      {as_built, [](job& j) { j.model.qk_norm = true; }},
      {as_built, [](job& j) { j.model.embedding_dim = 128; }},
      {as_built, [](job& j) { j.model.pooler = true; }},
      {as_built, [](job& j) { j.model.classes = 2; }},
      {"pipeline stages and context parallelism of T5", [](job& j) { j.parallel.pipeline = 2; }},
      {"pipeline stages and context parallelism of T5", [](job& j) { j.parallel.context = 2; }},
      {"", [](job& j) { j.parallel.tensor = 4; j.parallel.sequence = true; }},
      {"model.encoder.sequence must be a multiple", [](job& j) { j.parallel.tensor = 4; j.parallel.sequence = true; j.model.encoder.sequence = 510; }},
      {"", [](job& j) { j.parallel.tensor = 4; j.model.encoder.sequence = 510; }},
      {"fp8 and recompute are not modelled for T5", [](job& j) { j.sharding = megatron_fsdp(); }},
      {"fp8 and recompute are not modelled for T5", [](job& j) { j.optimizer = optimizers::muon; }},
      {"fp8 and recompute are not modelled for T5", [](job& j) { j.recompute = recompute::full; }},
      {"offloaded activations are not modelled for T5", [](job& j) { j.offload.activations = place::on_cpu; }},
  });
}

TEST_CASE("LoRA beside Megatron's layers") {
  const char* const together = "adapter.targets must have all or none of each";
  const char* const decoders = "modelled for decoders with ordinary attention";
  check_all(lora(), {
      {"", [](job&) {}},
      {"must be \"Megatron-SWIFT\"", [](job& j) { j.framework = frameworks::megatron; }},
      {"ms-swift has no DoRA", [](job& j) { j.adapter.kind = adapter_kind::dora; }},
      {"no quantised base", [](job& j) { j.adapter.base = formats::nf4; }},
      {"an embedding and a head of its own", [](job& j) { j.adapter.modules_to_save = module_set{module::norm}; }},
      {"an embedding and a head of its own", [](job& j) { j.adapter.modules_to_save = module_set{module::embedding}; j.model.tied = true; }},
      {"", [](job& j) { j.adapter.modules_to_save = module_set{module::embedding, module::head}; j.model.tied = false; }},
      {"leave adapter.format out", [](job& j) { j.adapter.format = formats::fp32; }},
      {"", [](job& j) { j.adapter.format = formats::bf16; }},
      {together, [](job& j) { j.adapter.targets = module_set{module::q_proj}; }},
      {together, [](job& j) { j.adapter.targets = module_set{module::q_proj, module::k_proj}; }},
      {together, [](job& j) { j.adapter.targets = module_set{module::k_proj, module::v_proj}; }},
      {"", [](job& j) { j.adapter.targets = module_set{module::q_proj, module::k_proj, module::v_proj}; }},
      {together, [](job& j) { j.adapter.targets = module_set{module::gate_proj}; }},
      {together, [](job& j) { j.adapter.targets = module_set{module::experts_up}; }},
      {together, [](job& j) { j.adapter.targets = module_set{module::shared_gate}; }},
      {"", [](job& j) { j.adapter.targets = module_set{module::up_proj}; j.model.mlp = mlp_kind::plain; }},
      {"", [](job& j) { j.adapter.targets = module_set{module::o_proj}; }},
      {decoders, [](job& j) { j.model.mtp_layers = 1; }},
      {decoders, [](job& j) { j.model.mla = {.kv_rank = 128, .nope_dim = 64, .rope_dim = 64, .value_dim = 64}; }},
      {decoders, [](job& j) { j.model.classes = 2; }},
      {"adapters under megatron are not modelled with fp8", [](job& j) { j.sharding = megatron_fsdp(); }},
      {"adapters under megatron are not modelled with fp8", [](job& j) { j.optimizer = optimizers::muon; }},
      {"adapters under megatron are not modelled with fp8", [](job& j) { j.parallel.pipeline = 4; j.parallel.schedule = schedule::zero_bubble; }},
      {"adapters under megatron are not modelled with fp8", [](job& j) { j.offload.activations = place::on_cpu; j.framework.checkpointing.offloaded_modules = 1; }},
  });
}

}  // namespace test_megatron_limits
