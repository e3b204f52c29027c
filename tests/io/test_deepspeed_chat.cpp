// Distributed under the Boost Software License, Version 1.0.
// DeepSpeed-Chat's third step: its scripts in, jobs and sums on paper out.
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_deepspeed_chat {

using namespace imported;

namespace {

imported::text opt() { return launch_file("deepspeed-chat-step3", "run_1.3b.sh"); }
const std::vector<std::string> models_of_opt{"model=opt-1.3b", "objective.critic=opt-125m", "objective.reward=opt-125m", "hardware.gpus_per_node=8", "hardware.gpu=a100-sxm-40gb"};
job changed(const std::string& from, const std::string& to) {
  auto file = opt();
  file.said.replace(file.said.find(from), from.size(), to);
  return job_of({file}, models_of_opt);
}
/// With the actor named as the zoo has it, beside other arguments.
imported::text with(const std::string& from, const std::string& to) {
  auto file = opt();
  for (const auto& [was, is] : {std::pair<std::string, std::string>{"AdamG012/chat-opt-1.3b-sft-deepspeed\n", "facebook/opt-1.3b\n"}, {from, to}}) file.said.replace(file.said.find(was), was.size(), is);
  return file;
}
std::string refused(const std::string& more) { return refusal_of({with("--enable_ema", "--enable_ema " + more)}, models_of_opt); }
const rank_report& only(const report& r) { return r.ranks[0]; }
std::int64_t at(const report& r, phase p, row what) { return only(r).at_phase[static_cast<std::size_t>(p)][what].count(); }

}  // namespace

TEST_CASE("an actor of OPT 1.3 B: its reference and its average are whole, its kernels have memory of their own") {
  const auto j = job_of({opt()}, models_of_opt);
  CHECK(j.objective.kind == objective_kind::ppo);
  CHECK(j.objective.code == method_code::deepspeed_chat);
  CHECK(j.objective.reference == reference_way::copy);
  CHECK(j.objective.averages);
  CHECK(j.objective.critic.model == *models::find("opt-125m"));
  CHECK(j.sharding.stage == 2);
  CHECK(j.precision.parameters == formats::fp16);
  CHECK(j.recompute.mode == recompute_mode::none);
  CHECK(j.batch == batch{.micro = 4, .sequence = 512, .accumulation = 1});
  CHECK(j.rollout == rollout{.engine = engine_kind::hybrid, .prompt = 256, .completion = 256});
  CHECK(j.assumed_defaults == 1);  // the critic's dropout
  CHECK(j.dropout == dropout{});   // --actor_dropout 0.0
  const auto dropping = changed("--actor_dropout 0.0", "");  // as the checkpoints have it: transformers' OPT, a tenth
  CHECK(dropping.dropout == dropout{{100'000}, {}, {}});
  CHECK(dropping.assumed_defaults == 0);
  CHECK_FALSE(objection_to(j));

  const auto r = estimate(j);
  constexpr std::int64_t p = 1'315'758'080;  // parameters of facebook/opt-1.3b
  CHECK(at(r, phase::save, row::model_parameters) == 2 * p);
  // Ten activations of 32 heads × 64, the scores of 32 heads over 512 positions, keys and values of 24 layers: of 4 × 512 positions, in two bytes.
  constexpr std::int64_t workspace = (10 * 2048 + 32 * 512 + 24 * 2048 * 2) * std::int64_t{4} * 512 * 2;
  static_assert(workspace == 553'648'128);
  CHECK(at(r, phase::backward, row::kv_cache) == workspace);
  // The module's own generation takes turns with training; the kernels' memory stays, and with it one layer's q, k and v beside each other.
  const auto plain = changed("--enable_hybrid_engine", "");
  CHECK(plain.rollout.engine == engine_kind::trainer);
  const auto by_module = estimate(plain);
  CHECK((only(r)[phase::backward] - only(by_module)[phase::backward]).count() == workspace + 3 * 2048 * 2049 * 2);
  // While it generates: the stream of 4 × 256 positions twice, logits of them all, and scores of one position in fp16, fp32 and their softmax.
  CHECK((only(r)[phase::generate] - only(r)[phase::save]).count() == 2 * 4 * 256 * 2048 * 2 + 4 * 256 * 50'272LL * 2 + 4 * 50'272LL * 10);
  // The average is as large as the reference: 2 bytes a parameter, whole under the second stage.
  const auto alone = changed("--enable_ema", "");
  CHECK_FALSE(alone.objective.averages);
  CHECK(at(r, phase::save, row::other_models) - at(estimate(alone), phase::save, row::other_models) == 2 * p);
  CHECK((r.host.per_node > estimate(alone).host.per_node));
}

TEST_CASE("Llama 2 7B in the third stage: the reference waits on the host, layers are computed again") {
  const auto j = job_of({launch_file("deepspeed-chat-step3", "run_llama2_7b.sh")}, {"model=llama-2-7b", "objective.critic=llama-2-7b", "objective.reward=llama-2-7b", "hardware.gpus_per_node=8", "hardware.gpu=a100-sxm-80gb"});
  CHECK(j.sharding.stage == 3);
  CHECK(j.sharding.stage3_prefetch_bucket_size == 30'000'000);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.objective.critic.recompute == choice::unset);
  CHECK(j.objective.reference_at == place::on_cpu);
  CHECK_FALSE(objection_to(j));
  const auto r = estimate(j);
  // 6,738,415,616 parameters are gathered whole while it generates, beside their parts; 32 heads of 128, 32 layers, one sample of 512 positions.
  constexpr std::int64_t p = 6'738'415'616;
  constexpr std::int64_t workspace = (10 * 4096 + 32 * 512 + 32 * 4096 * 2) * std::int64_t{512} * 2;
  CHECK(at(r, phase::backward, row::kv_cache) == workspace);
  CHECK((only(r)[phase::generate] - only(r)[phase::save]).count() >= 2 * p);
  CHECK((only(r)[phase::generate] - only(r)[phase::save]).count() < 2 * p + 60'000'000);
  auto layerwise = j;
  layerwise.rollout.gathers = choice::no;  // unpin_actor_parameters
  CHECK(only(estimate(layerwise))[phase::generate] < only(r)[phase::generate]);
  // A critic that keeps what its layers save takes more in its own step, and only there.
  auto keeps = j;
  keeps.objective.critic.recompute = choice::no;
  CHECK(only(estimate(keeps))[phase::critic] > only(r)[phase::critic]);
  CHECK(only(estimate(keeps))[phase::backward] == only(r)[phase::backward]);
}

TEST_CASE("what of the third step is not read is named") {
  CHECK(holds(refused("--inference_tp_size 2"), "inference_tp_size = 2 is not modelled"));
  CHECK(holds(refused("--release_inference_cache"), "release_inference_cache = true is not modelled"));
  CHECK(holds(refused("--critic_lora_dim 8"), "critic_lora_dim = 8 is not modelled"));
  CHECK(holds(refused("--actor_lora_dim 8"), "only_optimize_lora is modelled"));
  CHECK(holds(refusal_of({with("--ppo_epochs 1", "--ppo_epochs 2")}, models_of_opt), "ppo_epochs = 2 is not modelled"));
  CHECK(holds(refused("--enable_mixed_precision_lora"), "enable_mixed_precision_lora = true is not modelled"));
  CHECK(holds(refused("--no_such_argument 1"), "no_such_argument is not known"));
  CHECK(changed("--per_device_generation_batch_size 4", "--per_device_generation_batch_size 16").rollout.batch == 16);
  CHECK(changed("--enable_ema", "--enable_ema --critic_dropout 0.0").assumed_defaults == 0);
  CHECK(job_of({with("--enable_ema", "--enable_ema --actor_lora_dim 8 --only_optimize_lora")}, models_of_opt).adapter.rank == 8);
  CHECK(changed("--enable_ema", "--enable_ema --critic_gradient_checkpointing").objective.critic.recompute == choice::yes);
}

}  // namespace test_deepspeed_chat
