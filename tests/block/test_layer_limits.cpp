// Distributed under the Boost Software License, Version 1.0.
// Shapes that no network has, and layers without a program, from both sides of each limit: one change to a model that is accepted.
#include <headroom/framework/frameworks.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/objection.hpp>

#include <doctest/doctest.h>

#include "limits.hpp"

#include <initializer_list>

namespace test_layer_limits {

using namespace headroom;

namespace {

using limits::check_all;

job llama(const profile& f = frameworks::hf_trainer_202410) {
  return {.model = {.layers = 4, .hidden = 1024, .heads = 8, .kv_heads = 8, .head_dim = 128, .ffn = 4096, .vocab = 32768},
          .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = f, .precision = precisions::bf16, .batch = {.micro = 2, .sequence = 1024}, .attention = attention::sdpa};
}
layer_pattern pattern(std::initializer_list<layer_kind> kinds) {
  layer_pattern p;
  for (const auto k : kinds) p.add(k);
  return p;
}
constexpr layer_kind attends{mixer_kind::attention}, wide_heads{mixer_kind::global_attention}, shares{mixer_kind::shared_attention}, shares_wide{mixer_kind::shared_global_attention},
    lightning{mixer_kind::lightning_attention}, convolves{mixer_kind::gated_convolution}, delta{mixer_kind::gated_delta_net}, scans{mixer_kind::mamba2}, scans_first{mixer_kind::mamba1};
/// Layers by turns: ordinary attention, and a kind.
job mixed(layer_kind second) {
  auto j = llama();
  j.model.pattern = pattern({attends, second});
  j.model.ssm = {.heads = 8, .head_dim = 128, .state = 64, .groups = 2, .conv = 4, .chunk = 64};
  j.model.global = {.head_dim = 256, .kv_heads = 4};
  return j;
}
job sparse() {
  auto j = llama();
  j.model.experts = {.count = 8, .active = 2, .ffn = 512};
  return j;
}
job deepseek() {
  auto j = llama();
  j.model.mla = {.q_rank = 256, .kv_rank = 128, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  return j;
}
/// SigLIP in front of it, as LLaVA has it.
job sees() {
  auto j = llama();
  j.model.vision = {.kind = models::llava_1_5_7b.vision.kind, .projector = projector_kind::mlp, .layers = 2, .hidden = 512, .heads = 8, .ffn = 1024, .patch = 16, .image = 224, .positions = 196};
  return j;
}

}  // namespace

TEST_CASE("sizes are not negative") {
  const char* const negative = "every size of a shape must be zero or more";
  check_all(llama(), {
      {"", [](job&) {}},
      {negative, [](job& j) { j.model.layers = -1; }},
      {negative, [](job& j) { j.model.hidden = -1; }},
      {negative, [](job& j) { j.model.heads = -1; }},
      {negative, [](job& j) { j.model.kv_heads = -1; }},
      {negative, [](job& j) { j.model.head_dim = -1; }},
      {negative, [](job& j) { j.model.ffn = -1; }},
      {negative, [](job& j) { j.model.max_positions = -1; }},
      {negative, [](job& j) { j.model.vocab = -1; }},
      {negative, [](job& j) { j.model.mtp_layers = -1; }},
      {negative, [](job& j) { j.model.classes = -1; }},
      {negative, [](job& j) { j.model.global_every = -1; }},
      {negative, [](job& j) { j.model.embedding_dim = -1; }},
      {negative, [](job& j) { j.model.position_offset = -1; }},
      {negative, [](job& j) { j.model.token_types = -1; }},
      {negative, [](job& j) { j.model.relative_buckets = -1; }},
      {negative, [](job& j) { j.model.experts.count = -1; }},
      {negative, [](job& j) { j.model.experts.active = -1; }},
      {negative, [](job& j) { j.model.experts.ffn = -1; }},
      {negative, [](job& j) { j.model.experts.shared_ffn = -1; }},
      {negative, [](job& j) { j.model.experts.first_dense_layers = -1; }},
      {negative, [](job& j) { j.model.experts.every = -1; }},
      {negative, [](job& j) { j.model.mla.q_rank = -1; }},
      {negative, [](job& j) { j.model.mla.kv_rank = -1; }},
      {negative, [](job& j) { j.model.mla.nope_dim = -1; }},
      {negative, [](job& j) { j.model.mla.rope_dim = -1; }},
      {negative, [](job& j) { j.model.mla.value_dim = -1; }},
      {negative, [](job& j) { j.model.mla.index_heads = -1; }},
      {negative, [](job& j) { j.model.mla.index_dim = -1; }},
      {negative, [](job& j) { j.model.mla.index_keys = -1; }},
      {negative, [](job& j) { j.model.global.head_dim = -1; }},
      {negative, [](job& j) { j.model.global.kv_heads = -1; }},
      {negative, [](job& j) { j.model.layer_input.width = -1; }},
      {negative, [](job& j) { j.model.layer_input.vocab = -1; }},
      {negative, [](job& j) { j.model.encoder.layers = -1; }},
      {negative, [](job& j) { j.model.encoder.heads = -1; }},
      {negative, [](job& j) { j.model.encoder.ffn = -1; }},
      {negative, [](job& j) { j.model.encoder.max_positions = -1; }},
      {negative, [](job& j) { j.model.encoder.audio_channels = -1; }},
      {negative, [](job& j) { j.model.vision.layers = -1; }},
      {negative, [](job& j) { j.model.vision.hidden = -1; }},
      {negative, [](job& j) { j.model.vision.heads = -1; }},
      {negative, [](job& j) { j.model.vision.ffn = -1; }},
      {negative, [](job& j) { j.model.vision.patch = -1; }},
      {negative, [](job& j) { j.model.vision.temporal_patch = -1; }},
      {negative, [](job& j) { j.model.vision.channels = -1; }},
      {negative, [](job& j) { j.model.vision.positions = -1; }},
      {negative, [](job& j) { j.model.vision.merge = -1; }},
      {negative, [](job& j) { j.model.vision.output = -1; }},
      {negative, [](job& j) { j.model.vision.projector_hidden = -1; }},
      {negative, [](job& j) { j.model.vision.deep_mergers = -1; }},
      {negative, [](job& j) { j.model.vision.resampler = -1; }},
      {negative, [](job& j) { j.model.ssm.heads = -1; }},
      {negative, [](job& j) { j.model.ssm.head_dim = -1; }},
      {negative, [](job& j) { j.model.ssm.state = -1; }},
      {negative, [](job& j) { j.model.ssm.groups = -1; }},
      {negative, [](job& j) { j.model.ssm.conv = -1; }},
      {negative, [](job& j) { j.model.ssm.chunk = -1; }},
      {negative, [](job& j) { j.model.ssm.rank = -1; }},
  });
}

TEST_CASE("sizes that must be there, and divide each other") {
  check_all(llama(), {
      {"model.hidden must be at least 1", [](job& j) { j.model.hidden = 0; }},
      {"", [](job& j) { j.model.hidden = 1; }},
      {"model.heads must be at least 1", [](job& j) { j.model.heads = 0; }},
      {"", [](job& j) { j.model.heads = j.model.kv_heads = 1; }},
      {"model.heads must be a multiple of model.kv_heads", [](job& j) { j.model.kv_heads = 3; }},
      {"", [](job& j) { j.model.kv_heads = 4; }},
      {"model.hidden must be a multiple of model.heads", [](job& j) { j.model.head_dim = 0; j.model.hidden = 1020; }},
      {"", [](job& j) { j.model.head_dim = 0; }},
      {"", [](job& j) { j.model.hidden = 1020; }},
      {"model.layers must be a whole number from 1 to 2^16", [](job& j) { j.model.layers = 0; }},
      {"", [](job& j) { j.model.layers = 1; }},
      {"", [](job& j) { j.model.layers = 65'536; }},
      {"model.layers must be a whole number from 1 to 2^16", [](job& j) { j.model.layers = 65'537; }},
      {"model.ffn must be a whole number", [](job& j) { j.model.ffn = 0; }},
      {"", [](job& j) { j.model.ffn = 1; }},
      {"model.vocab must be a whole number", [](job& j) { j.model.vocab = 0; }},
      {"", [](job& j) { j.model.vocab = 1; }},
      {"model.vocab_multiple must be a whole number", [](job& j) { j.model.vocab_multiple = 0; }},
      {"multi-token-prediction modules are not modelled", [](job& j) { j.model.mtp_layers = 1; }},
      {"model.mla.index_heads needs a model.pattern", [](job& j) { j.model.mla.index_heads = 1; }},
      {"model.layer_input needs its vocab", [](job& j) { j.model.layer_input = {8, 100}; }},
  });
  check_all(deepseek(), {
      {"", [](job&) {}},
      {"", [](job& j) { j.model.head_dim = 0; j.model.hidden = 1020; }},  // heads have sizes of their own
      {"model.mla.nope_dim must be at least 1", [](job& j) { j.model.mla.nope_dim = 0; }},
      {"", [](job& j) { j.model.mla.nope_dim = 1; }},
      {"model.mla.value_dim must be at least 1", [](job& j) { j.model.mla.value_dim = 0; }},
      {"", [](job& j) { j.model.mla.value_dim = 1; }},
      {"", [](job& j) { j.model.mla.q_rank = 0; }},
      {"latent attention are not modelled", [](job& j) { j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only}; }},
  });
  check_all(sparse(), {
      {"", [](job&) {}},
      {"experts.active must be from 1", [](job& j) { j.model.experts.active = 0; }},
      {"", [](job& j) { j.model.experts.active = 1; }},
      {"", [](job& j) { j.model.experts.active = 8; }},
      {"experts.active must be from 1", [](job& j) { j.model.experts.active = 9; }},
      {"experts.ffn must be at least 1", [](job& j) { j.model.experts.ffn = 0; }},
      {"", [](job& j) { j.model.experts.ffn = 1; }},
      {"", [](job& j) { j.model.ffn = 0; }},  // no layer is dense
      {"model.ffn must be a whole number", [](job& j) { j.model.ffn = 0; j.model.experts.first_dense_layers = 1; }},
      {"experts beside a parallel attention block", [](job& j) { j.model.parallel_block = true; }},
      {"compiled or selectively recomputed experts", [](job& j) { j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only}; }},
  });
}

TEST_CASE("how a job is laid out") {
  auto eight = llama();
  eight.hardware.gpus_per_node = 8;
  check_all(eight, {
      {"", [](job&) {}},
      {"hardware.nodes must be a whole number", [](job& j) { j.hardware.nodes = 0; }},
      {"hardware.gpus_per_node must be a whole number", [](job& j) { j.hardware.gpus_per_node = 0; }},
      {"hardware.taken_gib must not be negative", [](job& j) { j.hardware.taken = bytes{-1}; }},
      {"parallel.data must be 0", [](job& j) { j.parallel.data = -1; }},
      {"", [](job& j) { j.parallel.data = 8; }},
      {"the product", [](job& j) { j.parallel.data = 4; }},
      {"parallel.replicate must be a whole number", [](job& j) { j.parallel.replicate = 0; }},
      {"", [](job& j) { j.parallel.replicate = 4; j.sharding = fsdp2(); }},
      {"must be a multiple of parallel.replicate", [](job& j) { j.parallel.replicate = 3; j.sharding = fsdp2(); }},
      {"parallel.expert_imbalance must be from 1", [](job& j) { j.parallel.expert_imbalance_percent = 99; }},
      {"", [](job& j) { j.parallel.expert_imbalance_percent = 100'000; }},
      {"parallel.expert_imbalance must be from 1", [](job& j) { j.parallel.expert_imbalance_percent = 100'001; }},
      {"batch.micro must be a whole number", [](job& j) { j.batch.micro = 0; }},
      {"batch.sequence is required", [](job& j) { j.batch.sequence = 0; }},
      {"batch.accumulation must be a whole number", [](job& j) { j.batch.accumulation = 0; }},
      {"sharding.stage must be 0, 1, 2 or 3", [](job& j) { j.sharding = zero(4); }},
      {"sharding.stage must be 0, 1, 2 or 3", [](job& j) { j.sharding = zero(-1); }},
      {"", [](job& j) { j.sharding = zero(2); j.sharding.zero_hpz_partition_size = 1; j.sharding.mics_shard_size = 0; }},
      {"zero_hpz_partition_size and mics_shard_size need", [](job& j) { j.sharding = zero(2); j.sharding.zero_hpz_partition_size = 2; }},
      {"zero_hpz_partition_size and mics_shard_size need", [](job& j) { j.sharding = zero(2); j.sharding.mics_shard_size = 1; }},
      {"", [](job& j) { j.sharding = zero(3); j.sharding.zero_hpz_partition_size = 2; }},
      {"zero_hpz_partition_size and mics_shard_size need", [](job& j) { j.sharding = fsdp2(); j.sharding.zero_hpz_partition_size = 2; }},
      {"parallel.tensor × pipeline × context must divide the GPUs", [](job& j) { j.parallel.tensor = 3; }},
  });
}

TEST_CASE("patterns of layer kinds") {
  const char* const shared = "needs one of its own kind in front of it";
  check_all(mixed(shares), {
      {"", [](job&) {}},
      {shared, [](job& j) { j.model.gated_attention = true; }},
      {shared, [](job& j) { j.model.fused_qkv = true; }},
      {shared, [](job& j) { j.model.mla.kv_rank = 8; }},
      {shared, [](job& j) { j.model.pattern = pattern({shares, attends}); }},
      {shared, [](job& j) { j.model.pattern = pattern({attends, shares_wide}); }},
      {shared, [](job& j) { j.model.pattern = pattern({wide_heads, shares}); }},
      {"", [](job& j) { j.model.pattern = pattern({attends, wide_heads, shares_wide, shares}); }},
      {"shared keys and values are not modelled over stages", [](job& j) { j.hardware.gpus_per_node = j.parallel.pipeline = 2; j.parallel.schedule = schedule::naive; }},
      {"are modelled for sft alone", [](job& j) { j.objective = {.kind = objective_kind::orpo, .code = method_code::trl}; }},
      {"optimizers that update in backward", [](job& j) { j.optimizer = optimizers::lomo; }},
      {"does not go with parallel_block", [](job& j) { j.model.parallel_block = true; }},
      {"does not go with parallel_block", [](job& j) { j.model.encoder = {.layers = 1, .cross_attention = true}; }},
      {"does not go with parallel_block", [](job& j) { j.model.mtp_layers = 1; }},
      {"does not go with parallel_block", [](job& j) { j.model.norm_after = true; j.model.norm = norm_kind::layernorm; }},
      {"does not go with parallel_block", [](job& j) { j.model.norm_after = true; j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
      {"", [](job& j) { j.model.norm_after = true; }},
      {"names layers with experts", [](job& j) { j.model.pattern = pattern({attends, {mixer_kind::attention, feed_forward_kind::experts}}); }},
      {"a layer without a mixer must be dense or have experts", [](job& j) { j.model.pattern = pattern({attends, {mixer_kind::none, feed_forward_kind::none}}); }},
      {"a layer without a mixer must be dense or have experts", [](job& j) { j.model.pattern = pattern({attends, {mixer_kind::none, feed_forward_kind::unset}}); }},
      {"", [](job& j) { j.model.pattern = pattern({attends, {mixer_kind::none, feed_forward_kind::dense}}); }},
      {"parallel.tensor, context and expert must be 1", [](job& j) { j.hardware.gpus_per_node = j.parallel.tensor = 2; }},
      {"parallel.tensor, context and expert must be 1", [](job& j) { j.hardware.gpus_per_node = j.parallel.context = 2; }},
      {"parallel.tensor, context and expert must be 1", [](job& j) { j.parallel.expert = 2; }},
      {"compile must be false, recompute", [](job& j) { j.compile = true; }},
      {"compile must be false, recompute", [](job& j) { j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only}; }},
      {"model.pattern) are not modelled for this framework", [](job& j) { j.framework = frameworks::torchtitan_202602; }},
  });
  check_all(mixed(wide_heads), {
      {"", [](job&) {}},
      {"must be a multiple of model.global.kv_heads", [](job& j) { j.model.global.kv_heads = 3; }},
      {"must be a multiple of model.global.kv_heads", [](job& j) { j.model.mla.kv_rank = 8; }},
      {"kernels must be empty", [](job& j) { j.kernels = {fused_kernel::norm}; }},
      {"layers of global attention", [](job& j) { j.batch.packed = true; }},
      {"", [](job& j) { j.attention = attention::flash; }},
      {"heads of at most 256 features", [](job& j) { j.attention = attention::flash; j.model.global.head_dim = 257; }},
      {"heads of at most 256 features", [](job& j) { j.attention = attention::flash3; j.model.global.head_dim = 264; }},
      {"", [](job& j) { j.model.global.head_dim = 264; }},
  });
  check_all(mixed(lightning), {
      {"", [](job&) {}},
      {"", [](job& j) { j.model.ssm.chunk = 1; }},
      {"ssm.chunk must be at least 1 for lightning", [](job& j) { j.model.ssm.chunk = 0; }},
      {"", [](job& j) { j.model.ssm = {.chunk = 64}; }},
      {"packed sequences are modelled for recurrent mixers that have fused kernels alone", [](job& j) { j.batch.packed = true; j.attention = attention::flash; }},
  });
  check_all(mixed(convolves), {
      {"", [](job&) {}},
      {"ssm.conv must be at least 1", [](job& j) { j.model.ssm.conv = 0; }},
      {"", [](job& j) { j.model.ssm = {.conv = 1}; }},
  });
  for (const auto kind : {delta, scans}) check_all(mixed(kind), {
      {"", [](job&) {}},
      {"ssm.conv must be at least 1", [](job& j) { j.model.ssm.conv = 0; }},
      {"must have heads, head_dim and state", [](job& j) { j.model.ssm.heads = 0; }},
      {"must have heads, head_dim and state", [](job& j) { j.model.ssm.head_dim = 0; }},
      {"must have heads, head_dim and state", [](job& j) { j.model.ssm.state = 0; }},
      {"", [](job& j) { j.model.ssm.head_dim = 1; }},
      {"", [](job& j) { j.model.ssm.state = 1; }},
      {"must be a multiple of model.ssm.groups", [](job& j) { j.model.ssm.groups = 3; }},
      {"must be a multiple of model.ssm.groups", [](job& j) { j.model.ssm.groups = 0; }},
      {"", [](job& j) { j.model.ssm.groups = 8; }},
  });
  check_all(mixed(scans_first), {
      {"ssm.rank must be at least 1 for mamba1", [](job&) {}},
      {"ssm.rank must be at least 1 for mamba1", [](job& j) { j.model.ssm.rank = 1; }},
      {"ssm.rank must be at least 1 for mamba1", [](job& j) { j.model.ssm.head_dim = 1; }},
      {"", [](job& j) { j.model.ssm = {.heads = 2048, .head_dim = 1, .state = 16, .groups = 1, .conv = 4, .rank = 1}; }},
      {"Mamba-1's x_proj and dt_proj", [](job& j) { j.model.ssm = {.heads = 2048, .head_dim = 1, .state = 16, .groups = 1, .conv = 4, .rank = 1}; j.adapter = {.kind = adapter_kind::lora, .rank = 4, .targets = all_linear}; }},
  });
}

TEST_CASE("towers") {
  check_all(sees(), {
      {"", [](job&) {}},
      {"model.vision.kind must say how", [](job& j) { j.model.vision.kind = vision_kind::none; }},
      {"channels, temporal_patch and merge", [](job& j) { j.model.vision.channels = 0; }},
      {"channels, temporal_patch and merge", [](job& j) { j.model.vision.temporal_patch = 0; }},
      {"channels, temporal_patch and merge", [](job& j) { j.model.vision.merge = 0; }},
      {"vision.hidden must be at least 1", [](job& j) { j.model.vision.hidden = 0; }},
      {"vision.heads must be at least 1", [](job& j) { j.model.vision.heads = 0; }},
      {"vision.ffn must be at least 1", [](job& j) { j.model.vision.ffn = 0; }},
      {"vision.patch must be at least 1", [](job& j) { j.model.vision.patch = 0; }},
      {"", [](job& j) { j.model.vision.ffn = j.model.vision.channels = 1; }},
      {"multiple of model.vision.heads", [](job& j) { j.model.vision.heads = 7; }},
      {"must say how many queries the resampler has", [](job& j) { j.model.vision.projector = projector_kind::resampler; }},
      {"projector_hidden and output", [](job& j) { j.model.vision.projector = projector_kind::pixel_mlp; j.model.vision.output = 8; }},
      {"projector_hidden and output", [](job& j) { j.model.vision.projector = projector_kind::pixel_mlp; j.model.vision.projector_hidden = 8; }},
      {"contrastive towers and pooling heads", [](job& j) { j.model.vision.attention_pool = true; }},
      {"contrastive towers and pooling heads", [](job& j) { j.model.vision.projector = projector_kind::contrastive; }},
      {"deep_mergers must be at most 4", [](job& j) { j.model.vision.deep_mergers = 1; }},
      {"how large the images are", [](job& j) { j.model.vision.image = 15; }},
      {"", [](job& j) { j.model.vision.image = 16; }},
      {"must be a multiple of model.vision.merge; image", [](job& j) { j.model.vision.merge = 3; }},
      {"", [](job& j) { j.model.vision.merge = 7; }},
      {"vision.image_height", [](job& j) { j.model.vision.image_height = 15; }},
      {"", [](job& j) { j.model.vision.image_height = 16; }},
      {"vision.image_height", [](job& j) { j.model.vision.merge = 7; j.model.vision.image_height = 16; }},
      {"activations of vision towers are not modelled for this framework", [](job& j) { j.framework = frameworks::torchtitan_202602; }},
      {"activations of vision towers are not modelled for this framework", [](job& j) { j.hardware.gpus_per_node = j.parallel.pipeline = 2; j.parallel.schedule = schedule::naive; }},
      {"activations of vision towers are not modelled for this framework", [](job& j) { j.compile = true; }},
      {"fp32 residual stream", [](job& j) { j.model.fp32_residual = true; }},
      {"", [](job& j) { j.batch.images = {.width = 1, .height = 1}; }},
      {"must have a width and a height, or neither", [](job& j) { j.batch.images = {.width = 1}; }},
      {"must have a width and a height, or neither", [](job& j) { j.batch.images = {.height = 1}; }},
      {"", [](job& j) { j.batch.images = {.width = 200, .height = 1}; }},
      {"no edge may be more than 200 times the other", [](job& j) { j.batch.images = {.width = 201, .height = 1}; }},
      {"no edge may be more than 200 times the other", [](job& j) { j.batch.images = {.width = 1, .height = 201}; }},
      {"", [](job& j) { j.batch.images = {.width = 1 << 20, .height = 1 << 20}; }},
      {"must be at most 1048576 pixels", [](job& j) { j.batch.images = {.width = (1 << 20) + 1, .height = 1 << 20}; }},
      {"must be at most 1048576 pixels", [](job& j) { j.batch.images = {.width = 1 << 20, .height = (1 << 20) + 1}; }},
      {"min_pixels and max_pixels are Qwen-VL's", [](job& j) { j.batch.images = {.width = 8, .height = 8, .min_pixels = 1}; }},
      {"batch.images.count must be at most 65536", [](job& j) { j.batch.images = {.count = 65'537}; }},
      {"batch.sequence must hold the tokens", [](job& j) { j.batch.images = {.count = 6}; }},  // 6 × 196
      {"", [](job& j) { j.batch.images = {.count = 5}; }},
  });
}

TEST_CASE("what only some families have") {
  const char* const gated = "gated attention (model.gated_attention) is not modelled";
  const char* const powers = "norms of a power and over values";
  const char* const residual = "a residual behind each norm";
  const char* const halves = "norms in front of each half's last matrix";
  const char* const xielu = "xielu (model.activation)";
  check_all(llama(), {
      {"", [](job& j) { j.model.gated_attention = true; }},
      {gated, [](job& j) { j.model.gated_attention = j.model.fused_qkv = true; }},
      {gated, [](job& j) { j.model.gated_attention = true; j.model.mla = {.kv_rank = 128, .nope_dim = 64, .value_dim = 64}; }},
      {gated, [](job& j) { j.model.gated_attention = true; j.framework.attention.qkv = qkv_projection::fused; }},
      {gated, [](job& j) { j.model.gated_attention = true; j.framework = frameworks::torchtitan_202602; }},
      {"", [](job& j) { j.model.norm_power = true; }},
      {"", [](job& j) { j.model.value_norm = true; }},
      {powers, [](job& j) { j.model.value_norm = true; j.kernels = {fused_kernel::norm}; }},
      {powers, [](job& j) { j.model.norm_power = j.model.fused_qkv = true; }},
      {powers, [](job& j) { j.model.value_norm = true; j.framework.attention.qkv = qkv_projection::fused; }},
      {powers, [](job& j) { j.model.norm_power = true; j.compile = true; }},
      {powers, [](job& j) { j.model.norm_power = true; j.framework = frameworks::torchtitan_202602; }},
      {"", [](job& j) { j.model.normed_residual = true; }},
      {residual, [](job& j) { j.model.normed_residual = j.model.parallel_block = true; }},
      {residual, [](job& j) { j.model.normed_residual = j.model.norm_after = true; }},
      {residual, [](job& j) { j.model.normed_residual = j.model.post_norms = true; }},
      {residual, [](job& j) { j.model.normed_residual = true; j.kernels = {fused_kernel::norm}; }},
      {residual, [](job& j) { j.model.normed_residual = true; j.compile = true; }},
      {residual, [](job& j) { j.model.normed_residual = true; j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
      {"", [](job& j) { j.model.sub_norms = true; }},
      {halves, [](job& j) { j.model.sub_norms = true; j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
      {halves, [](job& j) { j.model.sub_norms = true; j.model.mla = {.kv_rank = 128, .nope_dim = 64, .value_dim = 64}; }},
      {halves, [](job& j) { j.model.sub_norms = true; j.model.pattern = pattern({attends}); }},
      {halves, [](job& j) { j.model.sub_norms = true; j.framework = frameworks::torchtitan_202602; }},
      {halves, [](job& j) { j.model.sub_norms = true; j.model.encoder = {.layers = 1, .cross_attention = true}; }},
      {"", [](job& j) { j.model.activation = activation_kind::xielu; j.model.mlp = mlp_kind::plain; }},
      {xielu, [](job& j) { j.model.activation = activation_kind::xielu; }},
      {xielu, [](job& j) { j.model.activation = activation_kind::xielu; j.model.mlp = mlp_kind::plain; j.model.parallel_block = true; }},
      {xielu, [](job& j) { j.model.activation = activation_kind::xielu; j.model.mlp = mlp_kind::plain; j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
      {"", [](job& j) { j.model.fp32_residual = true; }},
      {"fp32 residual stream", [](job& j) { j.model.fp32_residual = true; j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
      {"fp32 residual stream", [](job& j) { j.model.fp32_residual = true; j.adapter = {.kind = adapter_kind::lora, .rank = 4, .targets = all_linear}; }},
      {"narrow_embedding needs an embedding_dim", [](job& j) { j.model.narrow_embedding = true; j.model.embedding_dim = 128; }},
      {"narrow_embedding needs an embedding_dim", [](job& j) { j.model.narrow_embedding = true; j.model.head = head_kind::none; }},
      {"", [](job& j) { j.model.narrow_embedding = true; j.model.embedding_dim = 128; j.model.head = head_kind::none; }},
      {"encoders without cross-attention", [](job& j) { j.model.encoder.layers = 1; }},
      {"encoders without cross-attention", [](job& j) { j.model.encoder = {.layers = 1, .cross_attention = true}; j.model.parallel_block = true; }},
      {"encoders without cross-attention", [](job& j) { j.model.encoder = {.layers = 1, .cross_attention = true}; j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
      {"", [](job& j) { j.model.global_every = 3; j.model.sliding_window = 1024; }},
      {"", [](job& j) { j.model.global_every = 3; j.model.sliding_window = 1023; j.attention = attention::flash; }},
      {"", [](job& j) { j.model.sliding_window = 1023; }},
  });
}

TEST_CASE("layers that nothing divides, and layers spread over one process's GPUs") {
  check_all(llama(), {
      {"parallel.tensor must be 1", [](job& j) { j.hardware.gpus_per_node = j.parallel.tensor = 2; }},
      {"parallel.tensor must be 1", [](job& j) { j.parallel.sequence = true; }},
      {"parallel.context must be 1", [](job& j) { j.hardware.gpus_per_node = j.parallel.context = 2; }},
      {"expert parallelism is not modelled", [](job& j) { j.parallel.expert = 2; }},
      {"expert parallelism is not modelled", [](job& j) { j.parallel.expert_tensor = 2; }},
      {"parallel.schedule must be \"naive\"", [](job& j) { j.hardware.gpus_per_node = j.parallel.pipeline = 2; j.batch.accumulation = 4; }},
      {"", [](job& j) { j.hardware.gpus_per_node = j.parallel.pipeline = 2; j.parallel.schedule = schedule::naive; }},
      {"must be hardware.nodes × gpus_per_node", [](job& j) { j.hardware.gpus_per_node = 4; j.parallel.pipeline = 2; j.parallel.schedule = schedule::naive; }},
      {"the naive schedule goes without sharding", [](job& j) { j.hardware.gpus_per_node = j.parallel.pipeline = 2; j.parallel.schedule = schedule::naive; j.sharding = fsdp2(); }},
      {"entries that add up to model.layers", [](job& j) { j.hardware.gpus_per_node = j.parallel.pipeline = 2; j.parallel.schedule = schedule::naive; j.parallel.stage_layers[0] = 1; j.parallel.stage_layers[1] = 2; }},
      {"", [](job& j) { j.hardware.gpus_per_node = j.parallel.pipeline = 2; j.parallel.schedule = schedule::naive; j.parallel.stage_layers[0] = 1; j.parallel.stage_layers[1] = 3; }},
      {"offload.parameters needs sharding", [](job& j) { j.offload.parameters = place::on_cpu; }},
      {"Megatron's sharding is not modelled", [](job& j) { j.sharding = megatron_fsdp(); }},
      {"parallel.replicate is FSDP's", [](job& j) { j.hardware.gpus_per_node = 4; j.parallel.replicate = 2; j.sharding = zero(3); }},
      {"recompute.layers must be 0 (all)", [](job& j) { j.recompute = recompute::full; j.recompute.layers = 2; }},
      {"", [](job& j) { j.recompute = recompute::full; j.recompute.layers = 4; }},
      {"", [](job& j) { j.recompute = recompute::full; j.recompute.layers = 1; j.recompute.method = recompute_method::uniform; }},
      {"", [](job& j) { j.recompute = recompute::full; j.recompute.layers = 2; j.recompute.method = recompute_method::block; }},
      {"needs recompute.policy", [](job& j) { j.recompute = {.mode = recompute_mode::selective}; }},
      {"needs recompute.policy", [](job& j) { j.recompute = {.mode = recompute_mode::selective, .modules = 1, .policy = recompute_policy::attention_only}; }},
      {"", [](job& j) { j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only}; }},
      {"a part of the model under autocast", [](job& j) { j.precision = precisions::bf16_autocast; j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only}; }},
      {"a part of the model under autocast", [](job& j) { j.precision = precisions::bf16_autocast; j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 3}; }},
      {"", [](job& j) { j.precision = precisions::bf16_autocast; j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 4}; }},
  });
}

}  // namespace test_layer_limits
