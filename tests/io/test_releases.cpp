// Distributed under the Boost Software License, Version 1.0.
// Defaults that a program's releases changed: transformers 5 loads weights as they are stored, and since 5.10 fsdp is FSDP's second version.
#include "imported.hpp"

#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

namespace test_releases {

using namespace imported;

const std::string clm = "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True --per_device_train_batch_size 1 --block_size 2048";

int assumed(const job& j) { return j.assumed_defaults; }
bool says_so(const job& j) { return estimate(j).assumptions.has(assumption::older_defaults); }

TEST_CASE("what a release decides is said above the numbers, or decided by the release") {
  const auto open = job_of({{"a.sh", clm}});
  CHECK(open.precision == precisions::bf16_autocast);  // fp32 weights, under autocast
  CHECK(assumed(open) == 1);
  CHECK(says_so(open));
  const auto older = job_of({{"a.sh", clm}}, {"environment.transformers=4.57"});
  CHECK(older.precision == precisions::bf16_autocast);
  CHECK(assumed(older) == 0);
  const auto newer = job_of({{"a.sh", clm}}, {"environment.transformers=5.2"});
  CHECK(newer.precision.parameters == formats::bf16);
  CHECK(newer.precision.state == formats::bf16);
  CHECK(assumed(newer) == 0);
  CHECK_FALSE(says_so(newer));
  // Said by the command: nothing is assumed.
  CHECK(assumed(job_of({{"a.sh", clm + " --torch_dtype float32"}})) == 0);
  CHECK(job_of({{"a.sh", clm + " --torch_dtype bfloat16"}}).precision.parameters == formats::bf16);
  // FSDP holds fp32 whatever was loaded (accelerate/accelerator.py, prepare_model); its version is what stays open.
  const auto sharded = job_of({{"a.sh", clm + " --fsdp 'full_shard auto_wrap'"}});
  CHECK(sharded.sharding.kind == sharding_kind::fsdp1);
  CHECK(assumed(sharded) == 1);
  CHECK(job_of({{"a.sh", clm + " --fsdp 'full_shard auto_wrap'"}}, {"environment.transformers=5.10"}).sharding.kind == sharding_kind::fsdp2);
  // DeepSpeed casts the module itself.
  CHECK(assumed(job_of({{"a.sh", clm + " --deepspeed z.json"}, {"z.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}})"}})) == 0);
  // The key survives the job's own file.
  CHECK(io::read_job(io::parse_json(R"({"model": "gpt2", "batch": {"sequence": 8}, "assumed_defaults": ["a", "b"]})", "job")).assumed_defaults == 2);
  CHECK(io::job_to_json(open)["assumed_defaults"] == 1);
}

}  // namespace test_releases
