// Distributed under the Boost Software License, Version 1.0.
// verl's trainer of supervised fine-tuning: overrides in, a job or a sentence out (volcengine/verl b178a3cd, verl/trainer/fsdp_sft_trainer.py).
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_verl_sft {

using namespace imported;

namespace {

const std::string any_age = "torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer model.partial_pretrain=Qwen/Qwen2.5-7B data.train_files=$HOME/train.parquet +data.response_dict_keys=['answer'] ";
const std::string start = any_age + "trainer.device=cuda ";  // a key since 0.5
job said(const std::string& more = {}) { return job_of({{"run.sh", start + more + "\n"}}); }
std::string refused(const std::string& more) { return refusal_of({{"run.sh", start + more + "\n"}}); }
const std::string cut = "ulysses_sequence_parallel_size=2 use_remove_padding=true ";
std::int64_t at(const job& j, phase when, row what) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(when)][what].count(); }

}  // namespace

TEST_CASE("what its configuration says where its command says nothing") {
  const auto j = said();
  CHECK(j.model == models::qwen2_5_7b);
  CHECK(j.hardware.gpus() == 8);
  CHECK(j.sharding.kind == sharding_kind::fsdp2);
  CHECK(j.objective == objective{.kind = objective_kind::sft, .code = method_code::verl});
  CHECK(j.batch == batch{.micro = 4, .sequence = 1024, .accumulation = 8, .padded = true});  // 256 over 8 GPUs
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.recompute.reentrant == choice::no);
  CHECK(j.precision.parameters == formats::fp32);
  CHECK(j.precision.compute == formats::bf16);
  CHECK_FALSE(objection_to(j));
  CHECK(said("data.micro_batch_size=16 trainer.n_gpus_per_node=2 optim.lr=1e-4 trainer.logger=['console']") == j);  // read by nobody
  CHECK(said("data.micro_batch_size_per_gpu=2 data.max_length=512 data.train_batch_size=64").batch == batch{.micro = 2, .sequence = 512, .accumulation = 4, .padded = true});
  CHECK(said("model.strategy=fsdp").sharding.kind == sharding_kind::fsdp1);
  CHECK(said("model.enable_gradient_checkpointing=False").recompute.mode == recompute_mode::none);
  CHECK(said("use_remove_padding=true") == j);  // padding is taken out where samples are cut alone
  CHECK(job_of({{"run.sh", "nproc_per_node=$1\nshift 2\ntorchrun --nproc_per_node=$nproc_per_node verl/trainer/fsdp_sft_trainer.py model.partial_pretrain=Qwen/Qwen2.5-7B trainer.device=cuda $@\n"}}, {"hardware.gpus_per_node=8"}) == j);
}

// verl/trainer/config/sft_trainer.yaml and fsdp_sft_trainer.py of v0.2, v0.3.0.post1, v0.4.0, v0.4.1 and v0.5.0.
TEST_CASE("copies of older releases") {
  const auto old = [](const std::string& more, const std::vector<std::string>& set = {}) { return job_of({{"run.sh", any_age + more + "\n"}}, set); };
  const auto why = [](const std::string& more, const std::vector<std::string>& set = {}) { return refusal_of({{"run.sh", any_age + more + "\n"}}, set); };
  CHECK(holds(why(""), "model.strategy is not given, and verl's trainer of supervised fine-tuning shards by FSDP's first version before 0.4 (2025-05-29), and by its second since: say it, or --set environment.verl=VERSION"));
  CHECK(holds(why("model.strategy=fsdp"), "model.enable_gradient_checkpointing is not given, and is false in verl before 0.4.1"));
  CHECK(holds(why("trainer.save_freq=10"), "model.enable_gradient_checkpointing is not given"));
  CHECK(holds(why("", {"environment.verl=0.4"}), "false in verl 0.4.0 and true in 0.4.1"));
  struct release {
    const char* is;
    sharding_kind kind;
    recompute_mode again;
  };
  for (const auto& of : {release{"0.2.0.post2", sharding_kind::fsdp1, recompute_mode::none}, {"0.3", sharding_kind::fsdp1, recompute_mode::none}, {"0.4.0", sharding_kind::fsdp2, recompute_mode::none},
                                        {"0.4.1", sharding_kind::fsdp2, recompute_mode::full}, {"0.5", sharding_kind::fsdp2, recompute_mode::full}, {"0.7.0", sharding_kind::fsdp2, recompute_mode::full}}) {
    CAPTURE(of.is);
    const auto j = old("", {std::string{"environment.verl="} + of.is});
    CHECK(j.sharding.kind == of.kind);
    CHECK(j.recompute.mode == of.again);
    CHECK(j.batch == said().batch);
    CHECK_FALSE(objection_to(j));
  }
  const std::string all = "model.strategy=fsdp model.enable_gradient_checkpointing=true ";
  CHECK(old(all) == said("model.strategy=fsdp"));
  CHECK(old("", {"sharding=fsdp1", "recompute=none"}).sharding.kind == sharding_kind::fsdp1);
  // Of all GPUs before 0.2, of nobody since.
  CHECK(holds(why("data.micro_batch_size=8"), "verl divides data.micro_batch_size among the GPUs before 0.2 (2025-01)"));
  CHECK(holds(why("data.micro_batch_size=8", {"environment.verl=0.1"}), "give data.micro_batch_size_per_gpu"));
  CHECK(old("data.micro_batch_size=8", {"environment.verl=0.2"}).batch.micro == 4);
  CHECK(old("data.micro_batch_size=8 data.micro_batch_size_per_gpu=2", {"environment.verl=0.2"}).batch.micro == 2);
  CHECK(old(all + "data.micro_batch_size=8") == said("model.strategy=fsdp"));
}

TEST_CASE("states, and what becomes of the logits") {
  // 7,615,616,512 parameters over eight GPUs, weights and gradients in four bytes, two moments of four.
  constexpr std::int64_t p = 7'615'616'512, v = 152'064;
  const auto j = said();
  CHECK(at(j, phase::step, row::model_parameters) >= 4 * p / 8);
  CHECK(at(j, phase::step, row::model_parameters) < 4 * p / 8 + 1'000'000);
  CHECK(at(j, phase::step, row::optimizer_state) >= 8 * p / 8);
  CHECK(at(j, phase::step, row::optimizer_state) < 8 * p / 8 + 2'000'000);
  // The model's logits in bf16 and a copy of all but each sample's last, both named; log_softmax in bf16, and nll_loss's fp32 form of it.
  constexpr std::int64_t all = 4 * 1024 * v, read = 4 * 1023 * v;
  CHECK(at(j, phase::loss_forward, row::logits) == 2 * all + (2 + 2 + 4) * read);
  // In backward nll_loss makes an fp32 gradient beside them.
  CHECK(at(j, phase::backward, row::logits) == 2 * all + (2 + 2 + 4 + 4) * read);
  // One sample's slice is contiguous: no copy.
  auto one = said("data.micro_batch_size_per_gpu=1");
  one.environment.torch = 207;
  CHECK(at(one, phase::loss_forward, row::logits) == 2 * 1024 * v + (2 + 4) * 1023 * v);
  // Since torch 2.8 the head is let go before that: 2 x 3,584 bytes a word, more than the 6 x 1,023 that the loss adds, so that the head's own moment is the taller one.
  one.environment.torch = 208;
  static_assert(2 * 3584 > 6 * 1023);
  CHECK(at(one, phase::loss_forward, row::logits) == 2 * 1024 * v);
  CHECK(at(one, phase::loss_forward, row::gathered_parameters) >= 2 * 3584 * v);
}

TEST_CASE("GPUs that cut samples among them") {
  const auto j = said(cut);
  CHECK(j.parallel.context == 2);
  CHECK(j.parallel.context_kind == context_kind::ulysses);
  CHECK(j.batch == batch{.micro = 4, .sequence = 1024, .accumulation = 16});  // 256 over four pairs
  CHECK_FALSE(objection_to(j));
  // All positions are read, half of them on each of two GPUs, and nothing is copied.
  CHECK(at(j, phase::loss_forward, row::logits) == (2 + 2 + 4) * std::int64_t{4} * 512 * 152'064);
  CHECK(holds(refused("ulysses_sequence_parallel_size=2"), "stops where ulysses_sequence_parallel_size is above 1 without use_remove_padding=True"));
}

TEST_CASE("adapters in the format of their base") {
  const auto j = said("model.lora_rank=32 model.lora_alpha=16 model.target_modules=[q_proj,v_proj]");
  CHECK(j.adapter.rank == 32);
  CHECK_FALSE(objection_to(j));
  // 28 layers: q of 3,584 by 3,584, v of 3,584 by 512; in fp32, an eighth on each GPU.
  constexpr std::int64_t adapters = std::int64_t{28} * 32 * (3584 + 3584 + 3584 + 512);
  CHECK(at(j, phase::step, row::adapters) == 4 * adapters / 8);
  CHECK(at(j, phase::step, row::optimizer_state) == 8 * adapters / 8);
}

TEST_CASE("what of it is refused, by name") {
  CHECK(holds(refused("model.use_liger=True"), "model.use_liger = true is not modelled"));
  CHECK(holds(refused("model.fsdp_config.cpu_offload=True"), "cpu_offload = true is not modelled"));
  CHECK(holds(refused("model.fsdp_config.model_dtype=bf16"), "model_dtype"));
  CHECK(holds(refused("model.fsdp_config.wrap_policy.min_num_params=100000000"), "min_num_params"));
  CHECK(holds(refused("data.custom_cls.path=mine.py"), "data.custom_cls.path"));
  CHECK(holds(refused("optim.optimizer=AdamW8bit"), "optim.optimizer"));
  CHECK(holds(refused("model.lora_adapter_path=there"), "lora_adapter_path"));
  CHECK(holds(refused("model.no_such_key=1"), "no_such_key is not known here"));
  CHECK(holds(refused("data.max_length=$LENGTH"), "data.max_length is \"$LENGTH\", which the file itself does not say"));
  CHECK(holds(refused("--config-name=mine"), "is a configuration that is not read by this version: overrides of verl's own sft_trainer are"));
  CHECK(holds(refused("data.train_batch_size=100"), "100 samples of a step must be a multiple of micro-batch"));
  CHECK(holds(refusal_of({{"run.sh", "torchrun --nproc_per_node=8 -m verl.trainer.sft_trainer model.path=x\n"}}), "is for verl, which is not read"));
  // The loss is that of this trainer: other methods of it are not modelled but where it generates.
  auto pairs = said();
  pairs.objective.kind = objective_kind::dpo;
  CHECK(holds(objection_to(pairs).sentence, "verl of sft"));
}

}  // namespace test_verl_sft
