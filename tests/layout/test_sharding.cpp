// Distributed under the Boost Software License, Version 1.0.
// What each kind of sharding divides, against what its authors say of the stages.
#include <headroom/layout/sharding.hpp>

#include <doctest/doctest.h>

namespace test_sharding {

using namespace headroom;

namespace {

using enum sharded_state;

constexpr bool cuts(const sharding& z, bool of_weights, bool of_gradients, bool of_optimizer) {
  return z.cuts(weights) == of_weights && z.cuts(gradients) == of_gradients && z.cuts(optimizer) == of_optimizer;
}
constexpr sharding distributed{.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};

}  // namespace

// Rajbhandari et al. 2020, ZeRO, figure 1: P_os, P_os+g, P_os+g+p.
static_assert(cuts(zero(0), false, false, false));
static_assert(cuts(zero(1), false, false, true));
static_assert(cuts(zero(2), false, true, true));
static_assert(cuts(zero(3), true, true, true));

// torch distributed/fsdp/api.py ShardingStrategy: NO_SHARD keeps all; SHARD_GRAD_OP shards parameters, too, outside of computation.
static_assert(cuts(fsdp1(0), false, false, false));
static_assert(cuts(fsdp1(2), true, true, true));
static_assert(cuts(fsdp1(3), true, true, true));
static_assert(cuts(fsdp2(2), true, true, true));

// megatron_fsdp data_parallel_sharding_strategy: no_shard, optim, optim_grads, optim_grads_params.
static_assert(cuts(megatron_fsdp(0), false, false, false));
static_assert(cuts(megatron_fsdp(1), false, false, true));
static_assert(cuts(megatron_fsdp(2), false, true, true));
static_assert(cuts(megatron_fsdp(3), true, true, true));

static_assert(cuts(distributed, false, false, true));
static_assert(cuts(ddp(), false, false, false) && cuts({}, false, false, false));

TEST_CASE("each kind has its row") {
  CHECK(properties_of(sharding_kind::none).by == sharder::nobody);
  CHECK(ddp().by(sharder::pytorch));
  CHECK_FALSE(ddp().divides());
  CHECK(zero(0).divides());  // though not in this stage
  CHECK(zero(3).by(sharder::deepspeed));
  CHECK((fsdp1().fully_sharded() && fsdp2().fully_sharded()));
  CHECK_FALSE(megatron_fsdp().fully_sharded());
  CHECK((megatron_fsdp().gathers_units() && !zero(3).gathers_units()));
  CHECK((distributed.distributes_optimizer() && !megatron_fsdp(1).distributes_optimizer() && !zero(1).distributes_optimizer()));
  CHECK((fsdp1().flat() && zero(3).flat() && distributed.flat() && megatron_fsdp().flat()));
  CHECK((fsdp2().cuts_tensors() && !fsdp1().cuts_tensors() && !ddp().cuts_tensors()));
}

TEST_CASE("a gathered unit stays for its backward in stage 2, or where the job says so") {
  CHECK(fsdp1(2).stays_gathered());
  CHECK_FALSE(fsdp2(3).stays_gathered());
  auto z = fsdp2(3);
  z.reshard_after_forward = choice::no;
  CHECK(z.stays_gathered());
}

}  // namespace test_sharding
