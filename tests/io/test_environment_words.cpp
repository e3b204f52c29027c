// Distributed under the Boost Software License, Version 1.0.
// Settings of a script's environment, one a row: what each says of the job, and what each is refused for.
#include <doctest/doctest.h>

#include "imported.hpp"

namespace test_environment_words {

using namespace imported;
using io::json_value;

namespace {

const std::string train = "torchrun --nproc_per_node 4 run_clm.py --model_name_or_path gpt2 --do_train --dataset_name x --output_dir o --bf16 True --per_device_train_batch_size 2 --block_size 512\n";
std::string why(const std::string& before) { return refusal_of({{"run.sh", before + "\n" + train}}); }
job with(const std::string& before) { return job_of({{"run.sh", before + "\n" + train}}); }

}  // namespace

TEST_CASE("the allocator's settings are PyTorch's words") {
  const auto plain = with("");
  const auto segments = [](const std::string& said) { return with("export PYTORCH_CUDA_ALLOC_CONF=" + said).environment.expandable_segments; };
  for (const std::string yes : {"True", "true"}) CHECK(segments("expandable_segments:" + yes) == choice::yes);
  for (const std::string no : {"False", "false"}) CHECK(segments("expandable_segments:" + no) == choice::no);
  CHECK(with("export PYTORCH_ALLOC_CONF=expandable_segments:True") == with("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"));
  for (const std::string no : {"1", "yes", "TRUE", ""}) {
    CAPTURE(no);
    CHECK(why("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:" + no) == "headroom: run.sh:1: PYTORCH_CUDA_ALLOC_CONF expandable_segments must be True or False, found \"" + no + "\"");
  }
  CHECK(why("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments") == "headroom: run.sh:1: PYTORCH_CUDA_ALLOC_CONF expandable_segments must be True or False, found \"\"");
  CHECK(with("export PYTORCH_CUDA_ALLOC_CONF=backend:native") == plain);
  CHECK(why("export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync") == "headroom: run.sh:1: PYTORCH_CUDA_ALLOC_CONF backend \"cudaMallocAsync\" is not modelled by this version");
  for (const std::string key : {"pinned_use_background_threads", "pinned_use_cuda_host_register", "pinned_num_register_threads", "release_lock_on_cudamalloc"}) CHECK(with("export PYTORCH_CUDA_ALLOC_CONF=" + key + ":True") == plain);
  CHECK(why("export PYTORCH_CUDA_ALLOC_CONF=pinned:1") == "headroom: run.sh:1: PYTORCH_CUDA_ALLOC_CONF has no \"pinned\"");
  const auto several = with("export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,roundup_power2_divisions:4,garbage_collection_threshold:0.8").environment;
  CHECK(several.max_split_size == 128 * mib);
  CHECK(several.roundup_power2_divisions == 4);
  CHECK(why("export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:$SIZE").find("which the file itself does not say: add --env NAME=VALUE") != std::string::npos);
}

TEST_CASE("which GPUs are seen says how many there are, where nothing else does") {
  const std::string alone = "python run_clm.py --model_name_or_path gpt2 --do_train --dataset_name x --output_dir o --bf16 True --per_device_train_batch_size 2 --block_size 512\n";
  const auto gpus = [&](const std::string& before) { return job_of({{"run.sh", before + "\n" + alone}}, {}).hardware.gpus_per_node; };
  for (const std::string name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"}) {
    CAPTURE(name);
    CHECK(gpus("export " + name + "=3") == 1);
  }
  CHECK(why("export CUDA_VISIBLE_DEVICES=").empty());
  CHECK(why("export CUDA_VISIBLE_DEVICES=-1").empty());
  CHECK(why("export CUDA_VISIBLE_DEVICES=$IDS").empty());
  CHECK(with("export CUDA_VISIBLE_DEVICES=0,1,2,3").hardware.gpus_per_node == 4);
}

TEST_CASE("a number of processes is a number, a word for all, or a range of one") {
  const auto of = [](const std::string& launcher) { return refusal_of({{"run.sh", "torchrun " + launcher + train.substr(train.find(" run_clm"))}}); };
  const auto on = [](const std::string& launcher, const std::vector<std::string>& set = {}) { return job_of({{"run.sh", "torchrun " + launcher + train.substr(train.find(" run_clm"))}}, set).hardware; };
  CHECK(on("--nproc_per_node 4").gpus_per_node == 4);
  CHECK(on("--nproc_per_node 4 --nnodes 2:2").nodes == 2);
  CHECK(of("--nproc_per_node 4 --nnodes 1:2") == "headroom: run.sh:1: --nnodes \"1:2\" leaves the number of nodes open: say how many with --set hardware.nodes=N");
  for (const std::string all : {"gpu", "auto"}) CHECK(on("--nproc_per_node " + all, {"hardware.gpus_per_node=8"}).gpus_per_node == 8);
  CHECK(of("--nproc_per_node many") == "headroom: run.sh:1: --nproc-per-node must be a whole number from 1 to 1048576, found \"many\"");
  CHECK(of("--nproc_per_node 0").find("--nproc-per-node must be a whole number from 1 to 1048576, found 0") != std::string::npos);
}

}  // namespace test_environment_words
