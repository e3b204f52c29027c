// Distributed under the Boost Software License, Version 1.0.
// Defaults that TRL and transformers changed with a release: huggingface/trl trl/trainer/sft_config.py and sft_trainer.py at v0.25.1, v0.26.0,
// v1.6.0 and v1.7.0; transformers src/transformers/training_args.py at v5.9.0 and v5.10.1.
#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_releases {

using namespace imported;

namespace {

const std::string sft = "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\nmax_length: 1024\nbf16: true\ngradient_checkpointing: true\ndataset_name: a\n";
job yaml(const std::string& said, const std::vector<std::string>& set = {}) { return job_of({{"sft.yaml", said}}, set); }
std::string why(const std::string& said, const std::vector<std::string>& set = {}) { return refusal_of({{"sft.yaml", said}}, set); }
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("TRL's loss is asked for, unless the file or the release says it") {
  CHECK(holds(why(sft), "loss_type is not given, and TRL's default is \"nll\" before 1.7 (2026-06) and \"chunked_nll\" since: say it, or --set environment.trl=VERSION"));
  const auto whole = yaml(sft, {"environment.trl=1.6"});
  CHECK(whole.loss.kind == loss_kind::unset);
  CHECK(yaml(sft + "loss_type: nll\n") == whole);
  CHECK(yaml(sft, {"environment.trl=0.25.1"}) == whole);
  CHECK(holds(why(sft, {"environment.trl=1.10"}), "loss_type = \"chunked_nll\" is not modelled"));
  CHECK(holds(why(sft, {"environment.trl=1.7.0"}), "loss_type = \"chunked_nll\" is not modelled"));
  CHECK(holds(why(sft + "loss_type: chunked_nll\n"), "loss_type = \"chunked_nll\" is not modelled"));
  CHECK(yaml(sft + "use_liger_kernel: true\n").loss.kind == loss_kind::fused_linear);
  CHECK(yaml(sft + "torch_dtype: float32\n") == whole);  // a key that 1.0 no longer had
  CHECK(holds(why(sft, {"environment.trl=new"}), "environment.trl must be a version, e.g. \"1.9\""));
  const imported::text file{"sft.yaml", sft};
  CHECK(job_of({file, {"run.sh", "python trl/scripts/sft.py --config sft.yaml --loss_type nll\n"}}).loss.kind == loss_kind::unset);
}

TEST_CASE("TRL's adapters of a quantised base") {
  const std::string four = sft + "loss_type: nll\nuse_peft: true\nlora_target_modules: all-linear\nload_in_4bit: true\n";
  CHECK(holds(why(four), "TRL makes adapters of a quantised base bf16 since 0.26"));
  CHECK(yaml(four, {"environment.trl=0.25"}).adapter.format == formats::fp32);
  CHECK(yaml(four, {"environment.trl=0.26"}).adapter.format == formats::bf16);
}

TEST_CASE("FSDP's version is its first, with a note, unless transformers is newer") {
  const std::string trainer = "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\nblock_size: 512\nbf16: true\nfsdp: full_shard auto_wrap\n";
  const std::vector<std::string> eight{"hardware.gpus_per_node=8"};
  auto d = draft_of({{"t.yaml", trainer}}, eight);
  CHECK(d.settled().sharding.kind == sharding_kind::fsdp1);
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return holds(n, "fsdp has no version, and its default changed with transformers 5.10 (2026-06), from FSDP's first to its second: the older is assumed"); }));
  CHECK(yaml(trainer, {eight[0], "environment.transformers=5.9"}).sharding.kind == sharding_kind::fsdp1);
  CHECK(yaml(trainer, {eight[0], "environment.transformers=5.10"}).sharding.kind == sharding_kind::fsdp2);
  CHECK(yaml(trainer + "fsdp_config: {version: 1}\n", {eight[0], "environment.transformers=5.10"}).sharding.kind == sharding_kind::fsdp1);
}

}  // namespace test_releases

#endif
