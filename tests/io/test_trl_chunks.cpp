// Distributed under the Boost Software License, Version 1.0.
// TRL's fine-tuning since 1.7, whose loss runs chunk by chunk: from its command to what a GPU holds, in numbers written out by hand.
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_trl_chunks {

using namespace imported;

namespace {

const std::string run = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name x --per_device_train_batch_size 1 --max_length 8192 --attn_implementation flash_attention_2 ";

job read(const std::string& rest, const std::string& release = "1.9") { return job_of({{"run.sh", run + rest + "\n"}}, {"environment.trl=" + release, "hardware.gpus_per_node=1"}); }
std::string why(const std::string& rest, const std::vector<std::string>& more = {}) {
  std::vector<std::string> set{"environment.trl=1.9", "hardware.gpus_per_node=1"};
  set.insert(set.end(), more.begin(), more.end());
  try {
    (void)estimate(job_of({{"run.sh", run + rest + "\n"}}, set));
  } catch (const headroom::error& e) {
    return e.what();
  }
  return {};
}
bytes in_backward(const job& j, row r) { return estimate(j).tightest().at_phase[static_cast<std::size_t>(phase::backward)][r]; }

}  // namespace

TEST_CASE("the release decides, and the loss can be said") {
  CHECK(read("").loss.kind == loss_kind::chunked);
  CHECK(read("", "1.7").loss.kind == loss_kind::chunked);
  CHECK(read("", "1.6").loss.kind == loss_kind::unset);
  CHECK(read("--loss_type chunked_nll", "1.5") == read(""));
  CHECK(read("--loss_type nll").loss.kind == loss_kind::unset);
  CHECK(io::read_job(io::job_to_json(read(""))) == read(""));
  CHECK(holds(why("--loss_type chunked_nll --use_liger_kernel"), "TRL refuses loss_type chunked_nll beside use_liger_kernel"));
}

// Qwen2.5-0.5B's head: 151,936 × 896 = 136,134,656 weights. 256 tokens have 38,895,616 logits.
TEST_CASE("a frozen head: an fp32 copy, a bf16 copy of that, and bf16 logits of a chunk") {
  const auto j = read("--dtype bfloat16 --use_peft --lora_target_modules q_proj v_proj");
  CHECK(in_backward(j, row::logits) == bytes{136'134'656LL * (4 + 2) + 38'895'616LL * 2});
  // Whole logits in bf16, made fp32, and in backward log-probabilities and their gradient beside those.
  CHECK(in_backward(read("--loss_type nll --dtype bfloat16 --use_peft --lora_target_modules q_proj v_proj"), row::logits) > 2 * bytes{8192LL * 151'936 * 4});
}

TEST_CASE("a head that trains: what a chunk scores, and less than whole logits take") {
  const auto j = read("");
  // In forward bf16 logits and three tensors of them in fp32; the bf16 copy of the weight is gone by then, as nothing keeps it.
  CHECK(estimate(j).tightest().at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits] == bytes{38'895'616LL * (2 + 3 * 4)});
  CHECK(estimate(j).tightest().allocated < estimate(read("--loss_type nll")).tightest().allocated);
}

TEST_CASE("what is not walked is refused") {
  CHECK(holds(why("--eval_strategy steps --per_device_eval_batch_size 8"), "TRL's chunked_nll"));
  CHECK(holds(why("", {"sharding=zero3", "framework=deepspeed"}), "with whole weights on each GPU"));
  CHECK(why("", {"sharding=zero2", "framework=deepspeed"}).empty());
  CHECK(holds(why("", {"model=gemma-2-2b"}), "capped logits"));
  const auto j = read("");
  CHECK_THROWS_WITH_AS((void)cost(j), doctest::Contains("the step time of TRL's chunked_nll"), headroom::error);
}

}  // namespace test_trl_chunks

#endif
