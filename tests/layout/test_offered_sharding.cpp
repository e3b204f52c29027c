// Distributed under the Boost Software License, Version 1.0.
// Sharding that a framework's own program does not set up is refused, and all else is not.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_offered_sharding {

using namespace headroom;

namespace {

std::string why(const profile& by, const sharding& z, std::int64_t gpus = 8) {
  const job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = gpus}, .framework = by, .sharding = z, .batch = {.sequence = 2048}};
  const auto o = objection_to(j);
  return o.sentence == nullptr ? "" : o.sentence;
}
bool unoffered(const profile& by, const sharding& z) { return why(by, z).find("does not shard so") != std::string::npos; }

}  // namespace

// What each program calls: torchtitan replicate() and fully_shard(); torchtune FullyShardedDataParallel, fully_shard since 2024-06 in recipes/dev and
// since 2024-09 alone; litgpt Lightning's FSDPStrategy; fsdp_qlora FullyShardedDataParallel, or DDP with --train_type's "DDP".
TEST_CASE("programs of their own shard as they do, and not otherwise") {
  namespace f = frameworks;
  struct row {
    const profile* by;
    bool zero, fsdp1, fsdp2;
  };
  for (const auto& r : {row{&f::torchtitan_202404, false, false, true}, row{&f::torchtitan_202607, false, false, true}, row{&f::torchtune_202401, false, true, true}, row{&f::torchtune_202409, false, false, true},
                        row{&f::litgpt_202310, false, true, false}, row{&f::litgpt_202410, false, true, false}, row{&f::fsdp_qlora, false, true, false}}) {
    CAPTURE(std::string{r.by->label.view()});
    CAPTURE(r.by->date);
    for (const auto stage : {1, 2, 3}) CHECK(unoffered(*r.by, zero(stage)) == !r.zero);
    CHECK(unoffered(*r.by, fsdp1()) == !r.fsdp1);
    CHECK(unoffered(*r.by, fsdp2()) == !r.fsdp2);
    CHECK(!unoffered(*r.by, {}));
    CHECK(why(*r.by, zero(2)).find(r.by->label.view()) != std::string::npos);
  }
  CHECK(unoffered(f::torchtune_202409, ddp()));
  CHECK(!unoffered(f::torchtitan_202607, ddp()));
}

// transformers' Trainer runs under DeepSpeed as well as under FSDP, and a loop of one's own under all.
TEST_CASE("what may be launched by several programs stays open") {
  for (const auto* by : {&frameworks::hf_trainer, &frameworks::deepspeed, &frameworks::libtorch})
    for (const auto& z : {sharding{}, ddp(), zero(1), zero(2), zero(3), fsdp1(), fsdp2()}) CHECK(why(*by, z) == "");
  for (const auto& z : {sharding{}, ddp(), zero(2)}) CHECK(!unoffered(frameworks::unsloth_202607, z));
}

TEST_CASE("the released programs that shard by themselves are named where another's sharding is refused") {
  for (const auto& p : frameworks::known) {
    if (!p.sharding.no_others) continue;
    CHECK(p.sharding.kinds != 0xFF);
    CHECK(why(p, zero(3)).find(p.label.view()) != std::string::npos);
  }
}

}  // namespace test_offered_sharding
