// Distributed under the Boost Software License, Version 1.0.
// Adapters of models of an encoder and a decoder: beside both stacks' own attention, and beside the attention of one to the other.
#include <headroom/headroom.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace test_adapted_cross {

using namespace headroom;

namespace {

constexpr module_set attention_and_mlp{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::up_proj, module::down_proj};

/// T5's layers of 64 features, 4 heads of 16 and an MLP of 96, rank 4, two samples of 16 positions; the decoder reads 24 of the encoder.
job small(bool wide, module_set targets) {
  job j;
  j.model = io::model_from_config({{"model_type", "t5"}, {"architectures", {"T5ForConditionalGeneration"}}, {"d_model", 64}, {"d_kv", 16}, {"num_heads", 4}, {"d_ff", 96}, {"num_layers", 2},
                                   {"num_decoder_layers", 2}, {"vocab_size", 128}, {"feed_forward_proj", "relu"}, {"relative_attention_num_buckets", 32}, {"tie_word_embeddings", true}});
  j.hardware.gpu = gpus::cpu;
  j.framework = frameworks::hf_trainer;
  j.framework.autocast.over_16bit = j.framework.attention.copies_output = false;
  j.precision = wide ? precisions::fp32 : precisions::bf16;
  j.attention = attention::eager;
  j.batch = {.micro = 2, .sequence = 16};
  j.adapter = {.kind = adapter_kind::lora, .rank = 4, .targets = targets, .format = wide ? formats::fp32 : formats::bf16};
  return j;
}

std::int64_t encoder_layer(const job& j, bool flows) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto stack = encoder_stack(s.model);
  return walk_layer(encoder_scene(sc, stack), {}, flows).saved.total.count();
}

std::int64_t decoder_layer(job j, bool flows) {
  j.model.encoder.sequence = 24;
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  sc.memory_has_gradient = true;
  return walk_cross_layer(sc, {}, flows).saved.total.count();
}

/// Unique storages that torch 1.13 saved of these layers, written after modeling_t5.py and peft's lora.Linear and run on a CPU: those of parameters,
/// of single numbers and of the encoder's result are left out. `flows`: what enters the layer has a gradient.
struct counted {
  bool wide;
  module_set targets;
  bool flows;
  std::int64_t encoder, decoder;
};
constexpr auto points = std::to_array<counted>({
    {true, {module::q_proj, module::v_proj}, true, 70912, 133760},
    {true, {module::q_proj, module::v_proj}, false, 54400, 117248},
    {true, attention_and_mlp, true, 89344, 161664},
    {true, attention_and_mlp, false, 81024, 153344},
    {true, {module::k_proj}, true, 70400, 124544},
    {true, {module::k_proj}, false, 53888, 108032},
    {true, {module::up_proj, module::down_proj}, true, 70912, 124288},
    {true, {module::up_proj, module::down_proj}, false, 21504, 62592},
    {false, {module::q_proj, module::v_proj}, true, 51968, 91648},
    {false, {module::q_proj, module::v_proj}, false, 35456, 75136},
    {false, attention_and_mlp, true, 61184, 105600},
    {false, attention_and_mlp, false, 48768, 93184},
    {false, {module::k_proj}, true, 51712, 87040},
    {false, {module::k_proj}, false, 35200, 70528},
    {false, {module::up_proj, module::down_proj}, true, 51968, 86912},
    {false, {module::up_proj, module::down_proj}, false, 10752, 39552},
});

}  // namespace

TEST_CASE("adapted layers of an encoder and a decoder save what was counted, to the byte") {
  for (const auto& one : points) {
    const auto j = small(one.wide, one.targets);
    CAPTURE(one.wide);
    CAPTURE(one.targets.bits);
    CAPTURE(one.flows);
    CHECK(encoder_layer(j, one.flows) == one.encoder);
    CHECK(decoder_layer(j, one.flows) == one.decoder);
  }
}

}  // namespace test_adapted_cross
