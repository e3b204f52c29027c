// Distributed under the Boost Software License, Version 1.0.
// A step is written once (engine/eager/step.hpp): what estimate() adds up is what a replay asks the allocator for, byte by byte.
#include "../estimate/draw.hpp"
#include "../replayed_steps.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/huggingface.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace test_one_account {

using namespace headroom;

namespace {

struct two_accounts {
  bytes counted{}, asked{};
  [[nodiscard]] bytes apart() const { return max(counted - asked, asked - counted); }
};

two_accounts both(const job& j, std::size_t kind) {
  const auto counted = estimate(j).ranks[kind];
  return {counted.allocated, max(replayed_steps(j, kind).asked, counted[phase::load])};
}

}  // namespace

TEST_CASE("estimate and replay ask for the same bytes") {
  draw::jobs jobs(20261122);
  int seen = 0, same = 0;
  for (int i = 0; i < draw::some(10'000); ++i) {
    const auto j = jobs.next();
    CAPTURE(i);
    CAPTURE(j.framework.label.view());
    try {
      (void)estimate(j);
      if (!replays(j) || !detail::replays_steps(j)) continue;
    } catch (const job_error&) {
      continue;
    }
    // A replay projects each part of a matrix that holds queries, keys and values by itself; no trainer offers both.
    if (j.optimizer.extent == state_extent::low_rank && (settle(j).model.fused_qkv || j.framework.attention.qkv != qkv_projection::separate)) continue;
    const auto a = both(j, 0);
    ++seen;
    same += a.counted == a.asked;
    CHECK(a.apart() <= a.counted / 8);
  }
  MESSAGE(same, " of ", seen, " jobs the same to the byte");
  // Layers still have two accounts: what a selective checkpoint holds, what autocast has cached, gradients in pieces.
  CHECK(same * 100 >= seen * 94);
}

TEST_CASE("… of every kind of sharding, on plain models to the byte") {
  for (const auto& framework : {frameworks::libtorch, frameworks::hf_trainer, frameworks::deepspeed, frameworks::litgpt_202410})
    for (const auto& of : {sharding{}, ddp(), zero(1), zero(2), zero(3), fsdp1(2), fsdp1(3), fsdp2(2), fsdp2(3)})
      for (const std::int64_t micros : {1, 3})
        for (const auto& recomputation : {recompute::none, recompute::full})
          for (const bool adapts : {false, true}) {
            job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = framework, .sharding = of,
                  .batch = {.micro = 1, .sequence = 512, .accumulation = micros}, .recompute = recomputation};
            j.model.layers = 5;
            j.attention = attention::sdpa;
            if (of.kind == sharding_kind::none) j.hardware.gpus_per_node = 1;
            if (adapts) j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::bf16};
            j.precision = precisions::bf16;
            j.loss.kind = loss_kind::full;
            CAPTURE(framework.label.view());
            CAPTURE(static_cast<int>(of.kind));
            CAPTURE(of.stage);
            CAPTURE(micros);
            CAPTURE(adapts);
            CAPTURE(recomputation.mode == recompute_mode::full);
            try {
              (void)estimate(j);
            } catch (const job_error&) {
              continue;
            }
            const auto a = both(j, 0);
            CAPTURE(a.counted.count());
            CHECK(a.counted.count() == a.asked.count());
          }
}

TEST_CASE("… of encoders and of decoders with parts of their own, to the byte") {
  const std::pair<const char*, const char*> families[] = {
      {"modernbert", "ModernBertForMaskedLM"}, {"modernbert", "ModernBertForSequenceClassification"}, {"nomic_bert", "NomicBertModel"}, {"eurobert", "EuroBertForMaskedLM"},
      {"electra", "ElectraForSequenceClassification"}, {"m2m_100", "M2M100ForConditionalGeneration"}, {"apertus", "ApertusForCausalLM"}, {"bitnet", "BitNetForCausalLM"},
      {"nanochat", "NanoChatForCausalLM"}, {"deberta-v2", "DebertaV2ForSequenceClassification"}, {"mpnet", "MPNetModel"}, {"marian", "MarianMTModel"}, {"pegasus", "PegasusForConditionalGeneration"},
      {"jina_embeddings_v3", "JinaEmbeddingsV3Model"}, {"umt5", "UMT5ForConditionalGeneration"}, {"t5gemma", "T5GemmaForConditionalGeneration"},
  };
  const nlohmann::json third_deberta = {{"relative_attention", true}, {"share_att_key", true}, {"pos_att_type", "p2c|c2p"}, {"norm_rel_ebd", "layer_norm"}, {"position_biased_input", false},
                                        {"position_buckets", 256}, {"hidden_size", 768}, {"num_attention_heads", 12}, {"intermediate_size", 3072}};
  for (const auto& [type, named] : families)
    for (const auto& formats : {precisions::bf16, precisions::bf16_autocast})
      for (const auto& recomputation : {recompute::none, recompute::full}) {
        const std::string architecture = named;
        CAPTURE(architecture);
        CAPTURE(formats.autocast);
        CAPTURE(recomputation.mode == recompute_mode::full);
        nlohmann::json config = {{"model_type", type}, {"architectures", {architecture}}};
        if (std::string{type} == "deberta-v2") config.update(third_deberta);
        job j{.model = io::model_from_config(config), .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::libtorch,
              .precision = formats, .batch = {.micro = 2, .sequence = 512}, .recompute = recomputation};
        j.model.layers = 3;
        if (j.model.encoder.layers > 0) j.model.encoder.layers = 3;
        j.attention = attention::flash;
        if (!replays(j) || !detail::replays_steps(j)) continue;
        const auto a = both(j, 0);
        CHECK(a.counted.count() == a.asked.count());
      }
}

TEST_CASE("… of towers before a text, frozen, trained and with adapters") {
  int seen = 0, same = 0;
  for (const auto& shape : {models::llava_1_5_7b, models::qwen2_5_vl_7b, models::gemma_3_4b, models::qwen2_vl_7b})
    for (const auto& formats : {precisions::bf16, precisions::bf16_autocast})
      for (const auto& recomputation : {recompute::none, recompute::full})
        for (const int what : {0, 1, 2})
          for (const std::int64_t micros : {1, 3}) {
            CAPTURE(static_cast<int>(shape.vision.kind));
            CAPTURE(formats.autocast);
            CAPTURE(recomputation.mode == recompute_mode::full);
            CAPTURE(what);
            CAPTURE(micros);
            job j{.model = shape, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .precision = formats,
                  .batch = {.micro = 1, .sequence = 1024, .accumulation = micros, .images = {.count = 1, .width = 448, .height = 448}}, .recompute = recomputation};
            j.model.layers = 3;
            j.model.vision.layers = 3 + j.model.vision.unread;
            if (what == 1) j.trainable = {{.modules = all_linear}};
            if (what == 2) j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::bf16};
            try {
              (void)estimate(j);
            } catch (const job_error&) {
              continue;
            }
            REQUIRE(replays(j));
            const auto a = both(j, 0);
            ++seen;
            same += a.counted == a.asked;
            CAPTURE(a.counted.count()); CAPTURE(a.asked.count());
            CHECK(a.apart() <= a.counted / 200);
          }
  MESSAGE(same, " of ", seen, " the same to the byte");
  CHECK(seen == 96);
  CHECK(same >= 90);
}

}  // namespace test_one_account
