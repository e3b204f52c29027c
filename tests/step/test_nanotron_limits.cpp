// Distributed under the Boost Software License, Version 1.0.
// What nanotron runs and this version follows, from both sides of each limit: one change to a Llama that is accepted.
#include <headroom/headroom.hpp>
#include <headroom/objection.hpp>

#include <doctest/doctest.h>

#include "limits.hpp"

#include <string>
#include <vector>

namespace test_nanotron_limits {

using namespace headroom;

namespace {

using limits::check_all;
using limits::limit;

job llama(std::int64_t gpus = 1) {
  return {.model = {.layers = 4, .hidden = 1024, .heads = 8, .kv_heads = 8, .head_dim = 128, .ffn = 4096, .vocab = 32768, .tied = false, .fused_qkv = true, .fused_gate_up = true},
          .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = gpus}, .framework = frameworks::nanotron, .batch = {.micro = 2, .sequence = 1024, .accumulation = 4}, .attention = attention::flash};
}
job staged() {
  auto j = llama(4);
  j.parallel.pipeline = 4;
  return j;
}
constexpr precision with(number_format parameters, number_format compute, number_format gradients, number_format reduce, number_format master) {
  return {"own", parameters, compute, gradients, reduce, master, formats::fp32};
}

}  // namespace

// models/llama.py: LlamaDecoderLayer, CausalSelfAttention, MLP, LlamaModel.
TEST_CASE("the model is a Llama") {
  const char* const llama_alone = "must be a Llama";
  check_all(llama(), {
      {"", [](job&) {}},
      {llama_alone, [](job& j) { j.model.mtp_layers = 1; }},
      {"post-norm models are not modelled for this framework", [](job& j) { j.model.bidirectional = true; }},
      {llama_alone, [](job& j) { j.model.bidirectional = true; j.model.head = head_kind::masked_language; }},
      {llama_alone, [](job& j) { j.model.parallel_block = true; }},
      {llama_alone, [](job& j) { j.model.post_norms = true; }},
      {"post-norm models are not modelled for this framework", [](job& j) { j.model.norm_after = true; }},
      {llama_alone, [](job& j) { j.model.qk_norm = true; }},
      {llama_alone, [](job& j) { j.model.qk_norm_full = true; }},
      {llama_alone, [](job& j) { j.model.mlp = mlp_kind::plain; }},
      {llama_alone, [](job& j) { j.model.norm = norm_kind::layernorm; }},
      {llama_alone, [](job& j) { j.model.position = position_kind::learned; j.model.max_positions = 1024; }},
      {llama_alone, [](job& j) { j.model.embedding_dim = 512; }},
      {llama_alone, [](job& j) { j.model.embedding_norm = true; }},
      {llama_alone, [](job& j) { j.model.no_final_norm = true; }},
      {llama_alone, [](job& j) { j.model.classes = 2; }},
      {llama_alone, [](job& j) { j.model.experts = {.count = 4, .active = 1, .ffn = 16}; }},
      {"no biases", [](job& j) { j.model.attention_bias = true; }},
      {"no biases", [](job& j) { j.model.output_bias = true; }},
      {"no biases", [](job& j) { j.model.mlp_bias = true; }},
      {"head_dim must be", [](job& j) { j.model.head_dim = 64; }},
      {"", [](job& j) { j.model.head_dim = 0; }},
      {"", [](job& j) { j.model.kv_heads = 2; }},
  });
}

// parallel/pipeline_parallel/engine.py: OneForwardOneBackwardPipelineEngine asserts nb_microbatches >= pp_size - 1; AllForwardAllBackwardPipelineEngine.
TEST_CASE("stages, ranks and shards") {
  check_all(staged(), {
      {"", [](job&) {}},
      {"", [](job& j) { j.batch.accumulation = 3; }},
      {"at least parallel.pipeline - 1", [](job& j) { j.batch.accumulation = 2; }},
      {"", [](job& j) { j.batch.accumulation = 2; j.parallel.schedule = schedule::gpipe; }},
      {"", [](job& j) { j.batch.accumulation = 65'536; j.parallel.schedule = schedule::gpipe; }},
      {"from 1 to 65536", [](job& j) { j.batch.accumulation = 65'537; j.parallel.schedule = schedule::gpipe; }},
      {"", [](job& j) { j.batch.accumulation = 65'537; }},
      {"must be 1f1b or gpipe", [](job& j) { j.parallel.virtual_pipeline = 2; j.parallel.pipeline = 2; }},
      {"must be 1f1b or gpipe", [](job& j) { j.parallel.schedule = schedule::zero_bubble; }},
      {"", [](job& j) { j.model.layers = j.parallel.pipeline = j.batch.accumulation = j.hardware.gpus_per_node = 256; }},
      {"from 1 to 256", [](job& j) { j.model.layers = j.parallel.pipeline = j.batch.accumulation = j.hardware.gpus_per_node = 257; }},
  });
  check_all(llama(4), {
      {"", [](job& j) { j.sharding = ddp(); }},
      {"", [](job& j) { j.sharding = zero(1); }},
      {"", [](job& j) { j.sharding = zero(0); }},
      {"stage 0 or 1", [](job& j) { j.sharding = zero(2); }},
      {"stage 0 or 1", [](job& j) { j.sharding = fsdp2(); }},
      {"must be 1", [](job& j) { j.parallel.context = 2; }},
      {"must be 1", [](job& j) { j.parallel.replicate = 2; }},
  });
}

TEST_CASE("formats, optimizer and what else a configuration cannot say") {
  const auto formats_of = [](const precision& p) {
    auto j = llama();
    j.precision = p;
    const auto why = objection_to(j);
    return std::string{why.sentence == nullptr ? "" : why.sentence};
  };
  using namespace headroom::formats;
  CHECK(formats_of(with(bf16, bf16, fp32, fp32, fp32)) == "");
  for (const auto& p : {with(fp32, bf16, fp32, fp32, fp32), with(bf16, fp32, fp32, fp32, fp32), with(bf16, bf16, bf16, fp32, fp32), with(bf16, bf16, fp32, bf16, fp32), with(bf16, bf16, fp32, fp32, bf16)})
    CHECK(formats_of(p).find("accumulate_grad_in_fp32") != std::string::npos);
  check_all(llama(), {
      {"", [](job& j) { j.optimizer = optimizers::adamw; }},
      {"", [](job& j) { j.optimizer = optimizers::sgd; }},
      {"adamw or sgd", [](job& j) { j.optimizer = optimizers::adamw_8bit; }},
      {"adamw or sgd", [](job& j) { j.optimizer = optimizers::adafactor; }},
      {"adamw or sgd", [](job& j) { j.optimizer = optimizers::galore; j.optimizer.rank = 8; }},
      {"adamw or sgd", [](job& j) { j.optimizer = optimizers::muon; }},
      {"adamw or sgd", [](job& j) { j.optimizer = optimizers::adamw; j.optimizer.in_backward = true; }},
      {"must be fused", [](job& j) { j.optimizer = optimizers::adamw; j.optimizer.how = implementation::foreach; }},
      {"", [](job& j) { j.optimizer = optimizers::adamw; j.optimizer.how = implementation::fused; }},
      {"adapters and partly frozen", [](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}}; }},
      {"adapters and partly frozen", [](job& j) { j.trainable.add({.first_layer = 0, .last_layer = 1}); }},
      {"attention must be \"flash\"", [](job& j) { j.attention = attention::sdpa; }},
      {"", [](job& j) { j.attention = attention::unset; }},
      {"", [](job& j) { j.loss.kind = loss_kind::full; }},
      {"", [](job& j) { j.loss.kind = loss_kind::vocab_parallel; }},
      {"loss.kind must be", [](job& j) { j.loss.kind = loss_kind::chunked; }},
      {"", [](job& j) { j.loss.logits = formats::fp32; }},
      {"must be fp32", [](job& j) { j.loss.logits = formats::bf16; }},
      {"", [](job& j) { j.recompute = recompute::full; }},
      {"", [](job& j) { j.recompute = {.mode = recompute_mode::full, .layers = 4}; }},
      {"every layer or none", [](job& j) { j.recompute = {.mode = recompute_mode::full, .layers = 3}; }},
      {"every layer or none", [](job& j) { j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform}; }},
      {"every layer or none", [](job& j) { j.recompute = {.mode = recompute_mode::selective}; }},
      {"no dropout", [](job& j) { j.dropout.hidden = {100'000}; }},
      {"no dropout", [](job& j) { j.dropout.attention = {100'000}; }},
      {"no dropout", [](job& j) { j.dropout.embedding = {100'000}; }},
      {"offloads nothing", [](job& j) { j.offload.optimizer = place::on_cpu; }},
      {"offloads nothing", [](job& j) { j.offload.activations = place::on_cpu; }},
  });
}

}  // namespace test_nanotron_limits
