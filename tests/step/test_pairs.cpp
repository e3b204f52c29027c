// Distributed under the Boost Software License, Version 1.0.
// Every two features of a job together, under every framework: the estimate refuses with a sentence, or its peak is that of a replay, which asks the allocator
// for each tensor one by one, to 2 % of it.
#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace test_pairs {

using namespace headroom;

namespace {

struct feature {
  const char* says;
  void (*make)(job&);
};
constexpr feature features[] = {
    {"adapter", [](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {module::q_proj, module::k_proj, module::v_proj, module::o_proj}}; }},
    {"frozen layers", [](job& j) { j.trainable = {{.first_layer = 2, .last_layer = 3}}; }},
    {"full recompute", [](job& j) { j.recompute = recompute::full; }},
    {"selective recompute", [](job& j) { j.recompute = {.mode = recompute_mode::selective}; }},
    {"a loss in chunks", [](job& j) { j.loss.kind = loss_kind::chunked; }},
    {"a fused loss", [](job& j) { j.loss.kind = loss_kind::fused_linear; }},
    {"padded samples", [](job& j) { j.batch.padded = true; }},
    {"packed samples", [](job& j) { j.batch.packed = true; j.attention = attention::flash; }},
    {"an offloaded optimizer", [](job& j) { j.offload.optimizer = place::on_cpu; }},
    {"experts", [](job& j) { j.model.experts = {.count = 8, .active = 2, .ffn = 512}; }},
    {"a tower", [](job& j) { j.model.vision = {.kind = models::llava_1_5_7b.vision.kind, .projector = projector_kind::mlp, .layers = 2, .hidden = 512, .heads = 8, .ffn = 1024, .patch = 16, .image = 224, .positions = 196}; }},
    {"a window", [](job& j) { j.model.sliding_window = 128; }},
    {"a softcap of logits", [](job& j) { j.model.logit_softcap = 30; }},
    {"a softcap of scores", [](job& j) { j.model.attention_softcap = 50; }},
    {"a tied head", [](job& j) { j.model.tied = true; }},
    {"biases", [](job& j) { j.model.attention_bias = j.model.output_bias = j.model.mlp_bias = true; }},
    {"norms of queries and keys", [](job& j) { j.model.qk_norm = true; }},
    {"shards", [](job& j) { j.hardware.gpus_per_node = 4; j.sharding = j.framework.modules.megatron() ? sharding{.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1} : j.framework.label == "deepspeed" ? zero(3) : fsdp2(); }},
    {"several micro-batches", [](job& j) { j.batch.accumulation = 3; }},
    {"evaluation", [](job& j) { j.evaluation.batch = 2; }},
};

job plain(const profile& f) {
  job j{.model = {.layers = 4, .hidden = 1024, .heads = 8, .kv_heads = 4, .head_dim = 128, .ffn = 4096, .vocab = 32768}, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 1}, .framework = f,
        .precision = f.modules.megatron() ? precision{} : precisions::bf16, .batch = {.micro = 2, .sequence = 1024}, .attention = attention::sdpa};
  if (f.modules.megatron()) j.attention = attention::te;
  return j;
}

}  // namespace

TEST_CASE("every two features together are refused, or peak where a replay does") {
  std::map<std::string, std::string> wrong;
  int judged = 0, same = 0, refused = 0;
  for (const auto* f : {&frameworks::hf_trainer, &frameworks::deepspeed, &frameworks::torchtitan_202607, &frameworks::torchtune_202409, &frameworks::megatron})
    for (const auto& a : features)
      for (const auto& b : features) {
        if (&b < &a) continue;
        auto j = plain(*f);
        a.make(j);
        if (&a != &b) b.make(j);
        const auto pair = std::string(f->label.view()) + ", " + a.says + " and " + b.says;
        try {
          const auto counted = estimate(j);
          if (!replays(j)) continue;
          const auto played = replay(j);
          for (std::size_t k = 0; k < counted.ranks.size() && k < played.ranks.size(); ++k) {
            const auto x = counted.ranks[k].allocated, y = played.ranks[k].allocated;
            if (x == bytes{0}) break;
            ++judged;
            const auto apart = max(x - y, y - x);
            same += apart == bytes{0} ? 1 : 0;
            if (apart * 50 > x) wrong[pair] = std::to_string(x.count()) + " for " + std::to_string(y.count());
          }
        } catch (const job_error& e) {
          const std::string why = e.what();
          ++refused;
          if (why.find("headroom: ") != 0 || why.size() < 40) wrong[pair] = why;
        }
      }
  for (const auto& w : wrong) FAIL_CHECK(w.first << ": " << w.second);
  MESSAGE(judged << " compared, " << same << " the same to the byte, " << refused << " refused");
  CHECK(judged >= 600);
  CHECK(same * 100 >= judged * 60);
}

}  // namespace test_pairs
