// Distributed under the Boost Software License, Version 1.0.
// What launch files leave open, and keys that few of them have: defaults as the programs' sources state them.
#include <doctest/doctest.h>

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/price_text.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_launch_details {

using namespace imported;
using io::json_value;

namespace {

job nanotron(const std::string& parallelism, const std::string& model = {}, const std::string& more = {}) {
  return job_of({{"a.yaml", "parallelism: {" + parallelism + "}\nmodel: {model_config: {is_llama_config: true" + model + "}}\noptimizer: {accumulate_grad_in_fp32: true, optimizer_factory: {name: adamW, torch_adam_is_fused: true}}\n"
                                "tokens: {sequence_length: 1024, micro_batch_size: 1, batch_accumulation_per_replica: 4}\n" + more}});
}
/// A job file of nanotron's with options of its own.
job optioned(const std::string& options, const std::string& more = {}) {
  return io::read_job(io::parse_json(R"({"model": {"layers": 4, "hidden": 1024, "heads": 8, "ffn": 4096, "vocab": 32768, "fused_qkv": true, "fused_gate_up": true}, "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 4},
    "framework": {"name": "nanotron", "options": )" + options + R"(}, "parallel": {"tensor": 2, "pipeline": 2)" + more + R"(}, "batch": {"micro": 1, "sequence": 1024, "accumulation": 4}})", "job.json"), io::no_files);
}
const std::string verl =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.rollout.enforce_eager=False ";
job by_verl(const std::string& more) { return job_of({{"run.sh", verl + more + "\n"}}); }
std::string verl_refuses(const std::string& more) { return refusal_of({{"run.sh", verl + more + "\n"}}); }

}  // namespace

// models_config.py LlamaConfig; config.py ModelArgs; parallelism_config.py ParallelismArgs.
TEST_CASE("nanotron: defaults of a Llama and of parallelism") {
  const auto j = nanotron("dp: 2, pp: 2, tp: 1");
  const auto& m = j.model;
  CHECK(m.layers == 32);
  CHECK(m.hidden == 4096);
  CHECK(m.heads == 32);
  CHECK(m.kv() == 32);
  CHECK(m.head_width() == 128);
  CHECK(m.ffn == 11008);
  CHECK(m.vocab == 32000);
  CHECK(m.max_positions == 2048);
  CHECK(m.vocab_multiple == 1);
  CHECK_FALSE(m.tied);
  CHECK(j.attention == attention::flash);
  CHECK(j.loss.kind == loss_kind::vocab_parallel);
  CHECK(j.loss.logits == formats::fp32);
  CHECK(j.hardware.gpus() == 4);
  CHECK(j.parallel.schedule == schedule::gpipe);  // all forward, all backward
  CHECK(j.recompute.mode == recompute_mode::none);
  CHECK(j.sharding.kind == sharding_kind::ddp);
  CHECK(nanotron("dp: 2, pp: 2, tp: 1, pp_engine: 1f1b").parallel.schedule == schedule::one_forward_one_backward);
  CHECK(nanotron("dp: 2, pp: 1, tp: 1, pp_engine: afab").parallel.schedule == schedule::one_forward_one_backward);  // of one stage there is no other
  CHECK(nanotron("dp: 1, pp: 1, tp: 1, recompute_layer: true").recompute.mode == recompute_mode::full);
  CHECK_FALSE(nanotron("dp: 1, pp: 1, tp: 2").parallel.sequence);
  CHECK(nanotron("dp: 1, pp: 1, tp: 2, tp_mode: REDUCE_SCATTER").parallel.sequence);
  CHECK(nanotron("dp: 1, pp: 1, tp: 1", ", num_attention_heads: 16, num_key_value_heads: 4").model.kv_heads == 4);
  // The longest stage of the data counts.
  CHECK(nanotron("dp: 1, pp: 1, tp: 1", "", "data_stages: [{sequence_length: 4096}, {sequence_length: 512}, {sequence_length: null}]\n").batch.sequence == 4096);
}

TEST_CASE("nanotron: its options in a job file") {
  CHECK(optioned(R"({"tp_mode": "REDUCE_SCATTER"})").parallel.sequence);
  CHECK_FALSE(optioned(R"({"tp_mode": "ALL_REDUCE"})").parallel.sequence);
  CHECK(optioned(R"({"pp_engine": "afab"})").parallel.schedule == schedule::gpipe);
  CHECK(optioned(R"({"pp_engine": "1F1B"})").parallel.schedule == schedule::one_forward_one_backward);
  CHECK(optioned(R"({"recompute_layer": true})").recompute.mode == recompute_mode::full);
  CHECK(optioned(R"({"recompute_layer": false})").recompute.mode == recompute_mode::none);
  CHECK(optioned(R"({"tp_mode": "REDUCE_SCATTER", "tp_linear_async_communication": true})").framework.communication.overlaps_input_gradients);
  CHECK(optioned(R"({"tp_recompute_allgather": false})").framework.communication.keeps_gathered);
  CHECK_FALSE(optioned(R"({"tp_recompute_allgather": true})").framework.communication.keeps_gathered);
  CHECK_NOTHROW((void)optioned(R"({"accumulate_grad_in_fp32": true, "ddp_bucket_cap_mb": 1})"));
  const auto refused = [](const std::string& options, const char* says, const std::string& more = {}) {
    CAPTURE(options);
    CHECK_THROWS_WITH_AS((void)optioned(options, more), doctest::Contains(says), job_error);
  };
  refused(R"({"tp_mode": "RING"})", "tp_mode must be");
  refused(R"({"pp_engine": "zb"})", "pp_engine must be");
  refused(R"({"tp_mode": "ALL_REDUCE", "tp_linear_async_communication": true})", "REDUCE_SCATTER alone");
  refused(R"({"accumulate_grad_in_fp32": false})", "accumulates in 16 bits");
  refused(R"({"ddp_bucket_cap_mb": 0})", "ddp_bucket_cap_mb");
  refused(R"({"no_such": 1})", "no_such");
  refused(R"({"tp_mode": "REDUCE_SCATTER"})", "parallel.sequence", R"(, "sequence": false)");
}

TEST_CASE("verl: shards, targets and sizes that its overrides may say") {
  CHECK(by_verl("actor_rollout_ref.actor.fsdp_config.fsdp_size=-1") == by_verl(""));
  CHECK(holds(verl_refuses("actor_rollout_ref.actor.fsdp_config.fsdp_size=3"), "shards over one GPU, or over a number that does not divide all"));
  CHECK(by_verl("").sharding.stage == 3);
  CHECK(by_verl("actor_rollout_ref.actor.fsdp_config.reshard_after_forward=False").sharding.stage == 2);
  CHECK(by_verl("").recompute == recompute{.mode = recompute_mode::full, .reentrant = choice::no});
  CHECK(by_verl("actor_rollout_ref.model.enable_gradient_checkpointing=False").recompute == recompute::none);
  CHECK(by_verl("actor_rollout_ref.model.lora_rank=8").adapter.targets == all_linear);
  CHECK(by_verl("actor_rollout_ref.model.lora_rank=8 actor_rollout_ref.model.target_modules=[q_proj,v_proj]").adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(by_verl("actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=2").rollout.batch == 2);
  CHECK(by_verl("").rollout.batch == 0);
  CHECK(by_verl("").rollout.sync_bucket_mib == -1);
  CHECK(by_verl("actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=2500").rollout.sync_bucket_mib == 2500);
  // All GPUs' completions, where nothing is said of one's: 16 over 8. 256 × 8 of an update in micro-batches of 2 on 8 GPUs.
  const auto of_all = job_of({{"run.sh", "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
                                         "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.ppo_micro_batch_size=16 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True\n"}});
  CHECK(of_all.batch.micro == 2);
  CHECK(of_all.batch.accumulation == 128);
  CHECK(by_verl("actor_rollout_ref.actor.ppo_mini_batch_size=4").batch.accumulation == 1);
  CHECK(holds(verl_refuses("actor_rollout_ref.actor.ppo_mini_batch_size=3"), "must be at least ppo_micro_batch_size_per_gpu"));
  CHECK(holds(verl_refuses("actor_rollout_ref.rollout.name=hf"), "accepted: vllm, sglang"));
}

// swift/arguments: galore_rank 128, galore_update_proj_gap 50, galore_optim_per_parameter false.
TEST_CASE("ms-swift: GaLore's own defaults, and steps of 16 samples") {
  const std::string run = "NPROC_PER_NODE=1 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 --train_type full ";
  const auto one = [&](const std::string& more) { return job_of({{"run.sh", run + more}}); };
  const auto galore = one("--use_galore true").optimizer;
  CHECK(galore.label == optimizers::galore.label);
  CHECK(galore.rank == 128);
  CHECK(galore.update_interval == 50);
  CHECK_FALSE(galore.in_backward);
  const auto other = one("--use_galore true --galore_rank 64 --galore_update_proj_gap 200 --galore_optim_per_parameter true --gradient_accumulation_steps 1").optimizer;
  CHECK(other.rank == 64);
  CHECK(other.update_interval == 2 * 200);
  CHECK_FALSE(other.in_backward);
  CHECK(one("--per_device_train_batch_size 4").batch.accumulation == 4);
  CHECK(one("--per_device_train_batch_size 4 --gradient_accumulation_steps 3").batch.accumulation == 3);
}

TEST_CASE("prices: names that are nearly right, and limits in words") {
  CHECK_THROWS_WITH_AS(io::detail::read_price("h100-sxm-80g=2"), doctest::Contains("; did you mean \"h100-sxm-80gb\"? `headroom list gpus` has them all"), error);
  CHECK_THROWS_WITH_AS(io::detail::read_price("zzzzzzzzzz=2"), doctest::Contains("begins with \"zzzzzzzzzz\"; `headroom list gpus` has them all"), error);
  CHECK_THROWS_WITH_AS(io::detail::read_price("=2"), doctest::Contains("--price must be GPU=PRICE"), error);
  CHECK(io::detail::read_amount("3k", "x") == 3e3);
  CHECK(io::detail::read_amount("3M", "x") == 3e6);
  CHECK(io::detail::read_amount("3B", "x") == 3e9);
  CHECK_THROWS_AS((void)io::detail::read_amount("1000000T", "x"), error);
  CHECK_THROWS_AS((void)io::detail::read_amount("0", "x"), error);
  CHECK(io::detail::money_text(1234.5) == "1,235");
  CHECK(io::detail::money_text(999.5) == "999.50");
  CHECK(io::detail::money_text(1) == "1.00");
  CHECK(io::detail::money_text(0.0125) == "0.0125");
  const auto none = [](const spending& s) { return io::cheapest_text({}, s, {}); };
  CHECK(holds(none({}), "\nThe cheapest that fit, in the currency"));
  CHECK(holds(none({.days = 5}), "The cheapest that fit within 5.0 days, in"));
  CHECK(holds(none({.days = 12}), "The cheapest that fit within 12 days, in"));
  CHECK(holds(none({.budget = 100}), "The cheapest that fit for at most 100.00, in"));
  CHECK(holds(none({.days = 5, .budget = 100}), "The cheapest that fit within 5.0 days and for at most 100.00, in"));
  CHECK(holds(none({}), "No plan that fits is in these limits"));
  priced_plan p;
  p.plan.job = {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .batch = {.sequence = 1024}};
  p.hour = 20;
  p.million_tokens = 0.0424;
  p.days = 0.0883;
  p.money = 42.39;
  p.search = 1;
  CHECK(holds(io::cheapest_text({p}, {}, {"a", "b"}), "\n        8       20.00      0.0424  b: "));
  const auto whole = io::cheapest_text({p}, {.tokens = 1e9}, {"a"});
  CHECK(holds(whole, "   GPUs     an hour  1 M tokens     days        in all  plan\n"));
  CHECK(holds(whole, "\n        8       20.00      0.0424     0.09         42.39  "));
  CHECK_FALSE(holds(whole, "a: "));
  p.days = 12.4;
  CHECK(holds(io::cheapest_text({p}, {.tokens = 1e9}, {}), "\n        8       20.00      0.0424       12         42.39  "));
  CHECK(io::cheapest_json({p}, {})[0].contains("total") == false);
  const auto said = io::cheapest_json({p}, {.tokens = 1});
  CHECK(said[0]["total"] == 42.39);
  CHECK(said[0]["days"] == 12.4);
  CHECK(said[0]["per_hour"] == 20.0);
  CHECK(said[0]["search"] == 1);
}

TEST_CASE("InternVL: what its arguments are by default") {
  const auto script = [](const std::string& more) {
    return imported::text{"r.sh", "torchrun --nproc_per_node=2 internvl/train/internvl_chat_finetune.py --model_name_or_path OpenGVLab/InternVL2_5-8B --force_image_size 448 --freeze_llm True --freeze_mlp True --freeze_backbone True "
                                  "--use_llm_lora 16 --bf16 True --per_device_train_batch_size 1 --gradient_accumulation_steps 1 --max_seq_length 8192 --dynamic_image_size True " + more + "\n"};
  };
  // max_dynamic_patch 12, without a thumbnail unless it is asked for.
  CHECK(job_of({script("")}).model.vision.slices == 12);
  CHECK(job_of({script("--use_thumbnail True")}).model.vision.slices == 13);
  CHECK(job_of({script("--use_thumbnail True --max_dynamic_patch 1")}).model.vision.slices == 1);
  // Packed: num_images_expected 40 and max_packed_tokens 8192, which has room for 32 tiles of 256 tokens.
  const auto packed = job_of({script("--use_packed_ds True")});
  CHECK(packed.batch.sequence == 8192);
  CHECK(packed.model.vision.slices == 32);
  CHECK(job_of({script("--use_packed_ds True --max_packed_tokens 16384")}).model.vision.slices == 40);
  CHECK(job_of({script("--force_image_size 28")}).model.vision.positions == 5);
  CHECK(holds(refusal_of({script("--force_image_size 42")}), "a multiple of twice the patch size, 28"));
}

TEST_CASE("--set takes a word or a date as it is, and JSON") {
  const auto said = [](const std::string& set) {
    io::draft d;
    io::say_key(d, set);
    return d.job;
  };
  CHECK(said("framework.version=2025-04") == json_value{{"framework", {{"version", "2025-04"}}}});
  CHECK(said("framework.version=2.10") == json_value{{"framework", {{"version", "2.10"}}}});
  CHECK(said("framework.version=\"2025-04\"") == said("framework.version=2025-04"));
  CHECK(said("model=3b") == json_value{{"model", "3b"}});
  CHECK(said("batch.micro=4") == json_value{{"batch", {{"micro", 4}}}});
  CHECK(said("hardware.fraction=0.5") == json_value{{"hardware", {{"fraction", 0.5}}}});
  CHECK(said("compile=true") == json_value{{"compile", true}});
  CHECK(said("adapter=null") == json_value{{"adapter", nullptr}});
  CHECK(said("trainable=[1]") == json_value{{"trainable", {1}}});
  CHECK(said("batch.images.width=640") == json_value{{"batch", {{"images", {{"width", 640}}}}}});
  CHECK(said("model.vision.slices=3") == json_value{{"model", {{"vision", {{"slices", 3}}}}}});
  CHECK_THROWS_AS(said("trainable=[1"), job_error);
  CHECK_THROWS_AS(said("batch.micro="), job_error);
}

TEST_CASE("--set changes a part of what was said in one word, and keeps the word") {
  const auto after = [](const std::string& first, const std::string& then) {
    io::draft d;
    io::say_key(d, first);
    io::say_key(d, then);
    return d.job;
  };
  CHECK(after("model=qwen3-4b", "model.vocab=152000") == json_value{{"model", {{"base", "qwen3-4b"}, {"vocab", 152000}}}});
  CHECK(after("optimizer=adamw", "optimizer.in_backward=true") == json_value{{"optimizer", {{"name", "adamw"}, {"in_backward", true}}}});
  CHECK(after("framework=hf-trainer", "framework.version=2025-04") == json_value{{"framework", {{"name", "hf-trainer"}, {"version", "2025-04"}}}});
  CHECK(after("recompute=selective", "recompute.layers=2") == json_value{{"recompute", {{"mode", "selective"}, {"layers", 2}}}});
  CHECK(after("hardware.gpu=h100-sxm-80gb", "hardware.gpu.memory_gib=60") == json_value{{"hardware", {{"gpu", {{"name", "h100-sxm-80gb"}, {"memory_gib", 60}}}}}});
  CHECK_THROWS_WITH_AS(after("sharding=zero3", "sharding.overlap_comm=true"),
                       "headroom: --set sharding.overlap_comm: sharding is \"zero3\", one word, of which no part can be changed: give it whole, sharding={...}", job_error);
}

TEST_CASE("attention kernels of the hub are those of their packages") {
  const auto of = [](const std::string& kernel) {
    return job_of({{"run.sh", "python trl/scripts/sft.py --model_name_or_path meta-llama/Llama-3.1-8B --dataset_name a --max_length 64 --bf16 true --gradient_checkpointing false --attn_implementation " + kernel + "\n"}}).attention;
  };
  CHECK(of("kernels-community/flash-attn2") == attention::flash);
  CHECK(of("kernels-community/flash-attn") == attention::flash);
  CHECK(of("kernels-community/vllm-flash-attn3") == of("flash_attention_3"));
  CHECK_THROWS_AS(of("kernels-community/sage-attention"), job_error);
}

}  // namespace test_launch_details

#endif
