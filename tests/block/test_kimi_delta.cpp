// Distributed under the Boost Software License, Version 1.0.
// Kimi Delta Attention as a kind of layer: its weights against the counted class, what fla's kernels keep by arithmetic on paper, whole jobs.
#include <headroom/cost/cost.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/io/counted.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_kimi_delta {

using namespace headroom;
using nlohmann::json;

namespace {

constexpr std::int64_t h = 1024, heads = 8, d = 128, p = heads * d, f = 2048, tokens = 2 * 2048;

/// Three layers of it before each of latent attention without positions, as Kimi-Linear-48B has them; all dense.
json small_shape() {
  return json::parse(R"({"layers": 8, "hidden": 1024, "heads": 8, "ffn": 2048, "vocab": 8192, "position": "none", "mla": {"kv_rank": 256, "nope_dim": 128, "rope_dim": 64, "value_dim": 128},
    "pattern": ["kimi-delta", "kimi-delta", "kimi-delta", "attention"], "ssm": {"heads": 8, "head_dim": 128, "state": 128, "groups": 8, "conv": 4}})");
}
job small_job(const json& more = json::object()) {
  json j = {{"model", small_shape()}, {"hardware", {{"gpu", "h100-sxm-80gb"}}}, {"framework", "hf-trainer"}, {"precision", "bf16"}, {"optimizer", "adamw"}, {"attention", "flash"}, {"batch", {{"micro", 2}, {"sequence", 2048}}}};
  j.update(more);
  auto r = io::read_job(j, io::no_files);
  r.framework.autocast.over_16bit = false;
  return r;
}
std::int64_t saved(const job& j, layer_kind kind) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, kind, trained_modules(j, 0), s.model.experts.count, true).saved.total.count();
}

}  // namespace

TEST_CASE("its weights are those of Kimi-Linear's class") {
  // moonshotai's modeling_kimi.py as io/counted has it, with two layers of experts beside dense ones.
  const json config = {{"model_type", "kimi_linear"}, {"architectures", {"KimiLinearForCausalLM"}}, {"vocab_size", 8192}, {"hidden_size", h}, {"intermediate_size", f}, {"num_hidden_layers", 8},
                       {"num_attention_heads", 8}, {"num_key_value_heads", 8}, {"q_lora_rank", nullptr}, {"kv_lora_rank", 256}, {"qk_nope_head_dim", 128}, {"qk_rope_head_dim", 64}, {"v_head_dim", 128}, {"mla_use_nope", true},
                       {"tie_word_embeddings", false}, {"num_experts", 16}, {"num_experts_per_token", 2}, {"moe_intermediate_size", 512}, {"num_shared_experts", 1}, {"first_k_dense_replace", 6},
                       {"linear_attn_config", {{"num_heads", heads}, {"head_dim", d}, {"short_conv_kernel_size", 4}, {"kda_layers", {1, 2, 3, 5, 6, 7}}, {"full_attn_layers", {4, 8}}}}};
  auto shape = small_shape();
  shape["experts"] = {{"count", 16}, {"active", 2}, {"ffn", 512}, {"shared", 1}, {"shared_ffn", 512}, {"first_dense_layers", 6}};
  const auto m = small_job({{"model", shape}}).model;
  CHECK(m.kind_of(3).mixer == mixer_kind::latent_attention);
  CHECK(m.kind_of(6) == layer_kind{mixer_kind::kimi_delta, feed_forward_kind::experts});
  CHECK(count(m).total.count() == io::count_config(config).total.count());
  // One mixer by hand: four matrices, three convolutions, two low-rank pairs, beta's, and three vectors.
  auto without = small_shape();
  without["pattern"] = {"none+dense"};
  auto one = small_shape();
  one["pattern"] = {"kimi-delta"};
  const std::int64_t mixer = 4 * h * p + 3 * p * 4 + heads + p + d + 2 * (h * d + d * p) + h * heads;
  CHECK(count(small_job({{"model", one}}).model).total.count() - count(small_job({{"model", without}}).model).total.count() == 8 * (mixer + h));
}

TEST_CASE("what fla's kernels keep, by arithmetic on paper") {
  const auto j = small_job();
  // Of a token: the norm's fp32 copy, its root, what it is before its weight and behind it; the inputs of three convolutions; what lies between both pairs; the decay before and behind its
  // gate, and added up; beta; queries and keys of unit length with their inverse lengths; values; two squares of 64; the result, the gate and a root a head;
  // what the last matrix reads.
  const std::int64_t norm = 4 * h + 4 + 2 * 2 * h, convolutions = 3 * 2 * p, pairs = 2 * 2 * d, decay = 2 * p + 4 * p + 4 * p, beta = 4 * heads;
  const std::int64_t chunks = 2 * (2 * p + 4 * heads) + 2 * p + 2 * 2 * 64 * heads, gated = 2 * 2 * p + 4 * heads, last = 2 * p;
  CHECK(saved(j, {mixer_kind::kimi_delta, feed_forward_kind::none}) == tokens * (norm + convolutions + pairs + decay + beta + chunks + gated + last));
  // Latent attention without positions: its norm; the compressed keys and values with a norm of their own; queries and keys; values padded to their width;
  // the result so wide, and cut; a log-sum-exp a head. The second up-projection's result goes once it is padded.
  const std::int64_t q = 8 * (128 + 64), compressed = 4 * 256 + 4 + 2 * 2 * 256;
  CHECK(saved(j, {mixer_kind::latent_attention, feed_forward_kind::none}) == tokens * (norm + compressed + 3 * 2 * q + 2 * q + 4 * 8 + 2 * 8 * 128));
}

TEST_CASE("whole jobs: the replay holds what the estimate says, backward is taller than forward, and time is counted") {
  auto j = small_job();
  for (const auto mode : {recompute::none, recompute::full}) {
    j.recompute = mode;
    REQUIRE(replays(j));
    CHECK(static_cast<double>(replay(j).ranks[0].allocated.count()) == doctest::Approx(static_cast<double>(estimate(j).ranks[0].allocated.count())).epsilon(0.012));
  }
  const auto t = cost(small_job()).step.value;
  CHECK(t > 0);
  j.framework = frameworks::hf_trainer;
  CHECK(io::read_job(io::job_to_json(j), io::no_files).model == j.model);
  // FLOPs of a position beside matrices: Gated DeltaNet's of as many heads, with values as wide as keys.
  shape delta = j.model;
  delta.pattern = {};
  delta.pattern.add({mixer_kind::gated_delta_net, feed_forward_kind::dense});
  CHECK(detail::recurrence_flops(j.model, mixer_kind::kimi_delta) == detail::recurrence_flops(delta, mixer_kind::gated_delta_net));
  auto tuned = small_job({{"adapter", {{"kind", "lora"}, {"rank", 8}, {"targets", {"q_proj", "v_proj"}}}}});
  CHECK(estimate(tuned).ranks[0].allocated < estimate(small_job()).ranks[0].allocated);
  // LoRA on q and v: of a layer of it two pairs of 8·(1024 + 1024), of latent attention queries alone, 8·(1024 + 1536), and no v_proj.
  CHECK(estimate(tuned).parameter_count.trainable.count() == 6 * 2 * 8 * (h + p) + 2 * 8 * (h + 8 * 192));
}

TEST_CASE("what it cannot be is refused") {
  auto j = small_job();
  j.recurrence = recurrence::eager;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("runs in fla's kernels alone"), job_error);
  auto shape = small_shape();
  shape["ssm"]["state"] = 64;
  CHECK_THROWS_WITH_AS(estimate(small_job({{"model", shape}})), doctest::Contains("state as large as head_dim"), job_error);
}

}  // namespace test_kimi_delta
