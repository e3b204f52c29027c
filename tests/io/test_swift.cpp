// Distributed under the Boost Software License, Version 1.0.
// Launches of ms-swift: files of its repository, read as somebody did by hand from its source, and what its command line may say.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>
#include <headroom/full_report.hpp>

#include <algorithm>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_swift {

using namespace imported;

namespace {

const std::string qwen = " --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 ";
job said(const std::string& command) { return job_of({{"run.sh", command}}); }
std::string refused(const std::string& command, const std::vector<std::string>& set = {}) { return refusal_of({{"run.sh", command}}, set); }

}  // namespace

TEST_CASE("files of its repository") {
  const auto full = job_of({launch_file("swift-full-7b", "train.sh")});
  CHECK(full.model == *models::find("qwen2.5-7b"));
  CHECK(full.hardware.gpus() == 1);
  CHECK(full.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 16, .lengths = {.unknown = true}});
  CHECK_FALSE(full.adapter.active());
  CHECK(full.precision.parameters == formats::bf16);  // weights and states stay as they were loaded
  CHECK(full.precision.state == formats::bf16);
  CHECK(full.precision.master == formats::none);
  CHECK(full.recompute.reentrant == choice::yes);

  const auto spread = job_of({launch_file("swift-ddp-spread", "train.sh")});  // two processes with two GPUs each
  CHECK(spread.hardware.gpus() == 4);
  CHECK(spread.parallel.pipeline == 2);
  CHECK(spread.parallel.schedule == schedule::naive);
  CHECK(spread.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(spread.sharding.kind == sharding_kind::ddp);
  CHECK(spread.adapter.rank == 8);
  CHECK(spread.adapter.targets == all_linear);
  CHECK(spread.adapter.format == formats::fp32);
  CHECK(spread.precision.parameters == formats::bf16);
  CHECK(spread.recompute.reentrant == choice::no);

  const auto sees = job_of({launch_file("swift-vl-72b-spread", "train.sh")});  // one process with two GPUs
  CHECK(sees.model == *models::find("qwen2.5-vl-72b"));
  CHECK(sees.hardware.gpus() == 2);
  CHECK(sees.parallel.pipeline == 2);
  CHECK(sees.sharding.kind == sharding_kind::none);
  CHECK(sees.batch.accumulation == 16);
  CHECK_FALSE(sees.adapter.targets.has(module::vision));
  CHECK(sees.recompute.reentrant == choice::yes);
  // The script's first line says "2 * 76GiB": its tower is frozen, and lies on the first.
  const auto both = estimate_all(sees);
  REQUIRE(both.ranks.size() == 2);
  for (const auto& r : both.ranks) CHECK(r.device <= 76 * gib);

  const auto two = job_of({launch_file("swift-fsdp2-lora", "train.sh"), launch_file("swift-fsdp2-lora", "fsdp2.json")});
  CHECK(two.hardware.gpus() == 2);
  CHECK(two.sharding.kind == sharding_kind::fsdp2);
  CHECK(two.sharding.stage == 3);
  CHECK(two.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(two.recompute.mode == recompute_mode::full);  // FSDP's own, whatever gradient_checkpointing says
  CHECK(two.adapter.rank == 8);

  const auto large = job_of({launch_file("swift-full-32b", "qwen2_5_32b.sh")});
  CHECK(large.model == *models::find("qwen2.5-32b"));
  CHECK(large.hardware.gpus() == 8);
  CHECK(large.batch == batch{.micro = 1, .sequence = 8192, .accumulation = 2});
  CHECK(large.sharding.kind == sharding_kind::zero);
  CHECK(large.sharding.stage == 3);
  CHECK(large.sharding.overlap_comm == choice::no);
  CHECK(large.offload.optimizer == place::on_gpu);
  CHECK(large.precision == precisions::bf16_mixed);
  CHECK(large.loss.kind == loss_kind::fused_linear);
  CHECK(large.attention == attention::flash);
  CHECK(large.environment.expandable_segments == choice::yes);

  const auto yaml = job_of({launch_file("swift-yaml-zero2", "sft.yaml"), launch_file("swift-yaml-zero2", "sft.sh")});
  CHECK(job_of({launch_file("swift-yaml-zero2", "sft.sh"), launch_file("swift-yaml-zero2", "sft.yaml")}) == yaml);
  CHECK(yaml.model == *models::find("qwen2.5-7b"));
  CHECK(yaml.hardware.gpus() == 2);
  CHECK(yaml.sharding.stage == 2);
  CHECK(yaml.sharding.reduce_bucket_size == 200'000'000);
  CHECK(yaml.adapter.rank == 8);
  CHECK(yaml.batch.accumulation == 8);
  CHECK(holds(refusal_of({launch_file("swift-yaml-zero2", "sft.sh")}), "names \"examples/yaml/deepspeed/sft.yaml\", which no file here is"));
}

TEST_CASE("how many processes, and micro-batches to 16 samples") {
  const auto eight = said("NPROC_PER_NODE=8 NNODES=2 swift sft" + qwen + "--per_device_train_batch_size 3");
  CHECK(eight.hardware.nodes == 2);
  CHECK(eight.hardware.gpus_per_node == 8);
  CHECK(eight.batch.accumulation == 1);
  CHECK(eight.sharding.kind == sharding_kind::ddp);
  CHECK(eight.parallel.pipeline == 1);
  CHECK(said("NPROC_PER_NODE=2 swift pt" + qwen + "--per_device_train_batch_size 3").batch.accumulation == 3);  // 16 / (3 x 2), upwards
  CHECK(said("export NPROC_PER_NODE=4\nswift sft" + qwen).hardware.gpus() == 4);
  CHECK(said("NNODES=2 swift sft" + qwen).hardware.gpus() == 2);
  CHECK(said("torchrun --nproc_per_node 4 swift/cli/sft.py" + qwen).hardware.gpus() == 4);
  CHECK(said("CUDA_VISIBLE_DEVICES=0 python examples/pytorch/llm/llm_sft.py" + qwen).hardware.gpus() == 1);
  CHECK(said("CUDA_VISIBLE_DEVICES=0,1,2 python swift/cli/sft.py" + qwen).parallel.pipeline == 3);
  CHECK(said("deepspeed --num_gpus 4 swift/cli/sft.py" + qwen).sharding.kind == sharding_kind::ddp);  // the engine is not asked for
  CHECK(holds(refused("swift sft" + qwen), "swift without NPROC_PER_NODE takes every GPU of its machine"));
  CHECK(job_of({{"run.sh", "swift sft" + qwen}}, {"hardware.gpus_per_node=4"}).parallel.pipeline == 4);
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0,1 swift sft --deepspeed zero2" + qwen), "ms-swift spreads layers over the 2 GPUs of a process, and refuses to shard them"));
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0,1,2 NPROC_PER_NODE=2 swift sft" + qwen), "3 GPUs do not divide among 2 processes"));
  CHECK(holds(refused("NPROC_PER_NODE=$PET swift sft" + qwen), "NPROC_PER_NODE is \"$PET\""));
}

TEST_CASE("configurations that it ships") {
  const std::string run = "NPROC_PER_NODE=4 swift sft" + qwen;
  const auto host = said(run + "--deepspeed zero3_offload --tuner_type full");
  CHECK(host.sharding.stage == 3);
  CHECK(host.offload.optimizer == place::on_cpu);
  CHECK(host.offload.parameters == place::on_cpu);
  const auto two = said(run + "--deepspeed zero2_offload");
  CHECK(two.offload.optimizer == place::on_cpu);
  CHECK(two.offload.parameters == place::on_gpu);
  CHECK(said(run + "--deepspeed zero1").sharding.stage == 1);
  CHECK(said(run + "--deepspeed zero2").sharding.overlap_comm == choice::no);
  CHECK(said(run + "--sft_type lora --lora_target_modules ALL --deepspeed default-zero2").sharding.overlap_comm == choice::yes);  // up to 3.2.1
  CHECK(said(run + R"(--deepspeed '{"zero_optimization": {"stage": 2}}')").sharding.stage == 2);
  CHECK(said(run + "--deepspeed zero3 --zero_hpz_partition_size 4").sharding.zero_hpz_partition_size == 4);
  CHECK(said(run + "--fsdp fsdp2").sharding.kind == sharding_kind::fsdp2);
  CHECK(holds(refused(run + "--fsdp my.json"), "names \"my.json\", which no file here is: give it, too"));
  CHECK(holds(refused(run + "--deepspeed ds/my.json"), "names \"ds/my.json\", which no file here is"));
}

TEST_CASE("what trains, and in which format") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift sft" + qwen;
  const auto usual = said(run);
  CHECK(usual.adapter.rank == 8);
  CHECK(usual.adapter.dropout.per_million == 50'000);
  CHECK(usual.adapter.targets == all_linear);
  CHECK(usual.recompute.mode == recompute_mode::full);
  CHECK(said(run + "--target_modules q_proj v_proj --lora_rank 64").adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(said(run + "--quant_bits 4 --quant_method bnb").adapter.base == formats::nf4_double);
  CHECK(said(run + "--quant_bits 4 --quant_method bnb").precision.parameters == formats::bf16);  // nothing is made fp32
  CHECK(holds(refused(run + "--quant_bits 4"), "does nothing in ms-swift without quant_method"));
  CHECK(holds(refused(run + "--quant_bits 4 --quant_method hqq"), "quant_method \"hqq\" is not modelled"));
  CHECK(said(run + "--quant_bits 4 --quant_method bnb --bnb_4bit_quant_type fp4").adapter.base == formats::fp4_double);
  CHECK(said(run + "--quant_bits 8 --quant_method bnb --bnb_4bit_quant_type fp4").adapter.base == formats::int8);  // which does not say how 8 bits are
  CHECK(holds(refused(run + "--quant_bits 8 --quant_method bnb --tuner_type full"), "a quantised model does not train as a whole"));
  CHECK(said(run + "--tuner_type full --torch_dtype float32").precision == precisions::fp16_autocast);
  CHECK(said(run + "--tuner_type full --torch_dtype float32 --bf16 true --fp16 false").precision == precisions::bf16_autocast);
  CHECK(said(run + "--train_type full --use_galore true").optimizer.label == optimizers::galore.label);
  // swift/optimizers/galore/utils.py: an optimizer for each parameter steps when all gradients are there.
  const auto each = said(run + "--train_type full --use_galore true --galore_optim_per_parameter true --gradient_accumulation_steps 16");
  CHECK(each.optimizer.label == optimizers::galore.label);
  CHECK_FALSE(each.optimizer.in_backward);
  CHECK(each.optimizer.update_interval == 100);
  CHECK(each.batch.accumulation == 16);
  CHECK(said(run + "--train_type full --use_galore true --galore_rank 64").optimizer.update_interval == 50);
  CHECK(said(run + "--train_type full --use_galore true --optim adafactor").optimizer.label == optimizers::galore_adafactor.label);
  CHECK(said(run + "--train_type full --use_galore true --optim adamw_8bit").optimizer.label == optimizers::galore_8bit.label);
  CHECK(holds(refused(run + "--train_type full --use_galore true --optim paged_adamw_8bit"), "optim = \"paged_adamw_8bit\" is not modelled by this version (under GaLore)"));
  CHECK(holds(refused(run + "--train_type full --use_galore true --optim lion_32bit"), "ms-swift's GaLore has no optim \"lion_32bit\", and stops there"));
  CHECK(holds(refused(run + "--train_type adalora"), "train_type \"adalora\" is not modelled"));
  CHECK(holds(refused(run + "--sft_type lora"), "is a table by model"));
  CHECK(job_of({{"run.sh", run + "--sft_type lora"}}, {R"(adapter.targets=["q_proj","v_proj"])"}).adapter.targets == (module_set{module::q_proj, module::v_proj}));
  CHECK(holds(refused(run + "--sequence_parallel_size 2"), "sequence_parallel_size = 2 is not modelled"));
  const auto packed = said(run + "--packing true --packing_length 4096 --attn_impl flash_attn");
  CHECK(packed.batch.sequence == 4096);
  CHECK(packed.attention == attention::flash);

  const std::string sees = "CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 1024 ";
  const auto full = said(sees + "--tuner_type full");  // towers and projectors are frozen unless asked otherwise
  REQUIRE(full.trainable.size == 1);
  CHECK_FALSE(full.trainable.list[0].modules.has(module::vision));
  CHECK_FALSE(full.trainable.list[0].modules.has(module::projector));
  CHECK(full.trainable.list[0].modules.has(module::q_proj));
  CHECK(said(sees + "--tuner_type full --freeze_vit false").trainable.list[0].modules.has(module::vision));
  const auto joined = said(sees + "--tuner_type full --freeze_aligner false").trainable.list[0].modules;
  CHECK(joined.has(module::projector));
  CHECK_FALSE(joined.has(module::vision));
  const std::string lora = sees + "--tuner_type lora --target_modules all-linear ";
  CHECK(said(lora).adapter.targets == all_linear);
  const auto beside = said(lora + "--freeze_aligner false").adapter.targets, seeing = said(lora + "--freeze_vit false").adapter.targets;
  CHECK(beside.has(module::projector));
  CHECK_FALSE(beside.has(module::vision));
  CHECK(seeing.has(module::vision));
  CHECK_FALSE(seeing.has(module::projector));
  // The most pixels that an image may have stand for all, unless the job says how large they are.
  const auto limited = draft_of({{"run.sh", "MAX_PIXELS=1003520 VIDEO_MAX_PIXELS=50176 " + sees}});
  CHECK(limited.job["batch"]["images"] == io::json_value{{"width", 1001}, {"height", 1001}});
  CHECK(limited.assumed.size() == 2);
  CHECK(holds(limited.assumed[0], "one of 1001 × 1001 pixels in each sample, the most that MAX_PIXELS lets it have"));
  CHECK(limited.assumed[1] == "no sample holds a video");
  CHECK(said(sees + "--max_pixels 1003520").batch.images == image_batch{.width = 1001, .height = 1001});
  CHECK(said(sees + "--max_pixels 1003520").assumed_defaults == 1);
  CHECK(draft_of({{"run.sh", "IMAGE_MAX_TOKEN_NUM=1024 " + sees}}).job["batch"]["images"]["width"] == 896);  // 1024 tokens of 28 × 28 pixels
  CHECK(holds(refused("MAX_PIXELS=many " + sees), "run.sh:1: MAX_PIXELS must be a whole number, found \"many\""));
}

TEST_CASE("what it trains for") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift sft" + qwen;
  const auto classes = said(run + "--task_type seq_cls --num_labels 5");
  CHECK(classes.objective == objective{.kind = objective_kind::classification, .code = method_code::ms_swift});
  CHECK(classes.model.classes == 5);
  CHECK(classes.adapter.modules_to_save == module_set{module::head});
  const auto whole = estimate(said(run + "--task_type seq_cls --num_labels 5 --tuner_type full")), words = estimate(said(run + "--tuner_type full"));
  const auto weights = [](const auto& r) { return r.ranks[0].at_peak[row::model_parameters].count(); };
  CHECK(weights(words) - weights(whole) == std::int64_t{2} * (152064 - 5) * 3584);  // a bias-free matrix in the head's place, in bf16
  CHECK(said("CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type rm" + qwen).adapter.modules_to_save == module_set{module::head});
  CHECK(holds(refused(run + "--task_type seq_cls"), "num_labels is required: how many classes"));
  CHECK(holds(refused(run + "--task_type seq_cls --num_labels some"), "num_labels must be a whole number"));
  CHECK(said(run + "--task_type seq_cls --num_labels 2 --padding_free true --attn_impl flash_attn").batch.packed);
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0 swift sft --model answerdotai/ModernBERT-base --max_length 64 --task_type seq_cls --num_labels 2"), "architectures end in ForSequenceClassification"));
  CHECK(holds(refused(run + "--task_type prm"), "accepted: causal_lm, seq_cls, embedding, reranker, generative_reranker"));
  CHECK(holds(refused(run + "--num_labels 2"), "num_labels = 2 is not modelled"));
  // Weights of tokens: the same cross entropy, which Liger's kernel has no part in.
  CHECK(said(run + "--loss_scale last_round+ignore_empty_think --use_liger_kernel true").loss.kind == loss_kind::fused_linear);
  for (const auto* own : {"--loss_scale react", "--loss_scale ignore_empty_think+hermes", "--enable_dft_loss true", "--enable_channel_loss true", "--loss_type cross_entropy"})
    CHECK(said(run + "--use_liger_kernel true " + own).loss.kind == loss_kind::full);
  CHECK(holds(refused(run + "--loss_scale my_plugin"), "loss_scale = \"my_plugin\" is not modelled by this version (a weight of one's own)"));
  CHECK(holds(refused(run + "--loss_type my_plugin"), "ms-swift has no loss \"my_plugin\""));
}

TEST_CASE("how adapters begin, and where experts are") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift sft" + qwen, sparse = "CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen3-30B-A3B --max_length 64 ";
  CHECK(said(run + "--init_weights pissa_niter_16").adapter == said(run).adapter);
  CHECK(said(run + "--init_weights pissa").assumed_defaults == said(run).assumed_defaults + 1);
  CHECK(said(run + "--init_weights gaussian") == said(run));
  CHECK(holds(refused(run + "--init_weights lora-ga"), "init_weights = \"lora-ga\" is not modelled"));
  CHECK(holds(refused(run + "--init_weights pissa --quant_bits 4 --quant_method bnb"), "init_weights = \"pissa\" is not modelled"));
  CHECK(said("CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-3B-Instruct --max_length 64 --modules_to_save embed_tokens lm_head").adapter.modules_to_save == module_set{module::embedding, module::head});
  CHECK(holds(refused(sparse), "all-linear has experts in it in most families before transformers 5, and has none since: say it, or --set environment.transformers=VERSION"));
  CHECK(holds(refused(sparse, {"environment.transformers=4.57"}), "before transformers 5 is not read by this version: say the layers with target_modules"));
  const auto since = job_of({{"run.sh", sparse}}, {"environment.transformers=5.2"});
  CHECK(since.adapter.targets.has(module::q_proj));
  CHECK(since.adapter.targets.has(module::o_proj));
  for (const auto part : {module::experts_gate, module::experts_up, module::experts_down, module::router}) CHECK_FALSE(since.adapter.targets.has(part));
  CHECK(said(sparse + "--experts_impl grouped_mm") == since);
  CHECK(holds(refused(sparse + "--experts_impl eager"), "experts_impl = \"eager\" is not modelled"));
  CHECK(said(sparse + "--experts_impl grouped_mm --router_aux_loss_coef 0.001").loss.balances_experts);
  CHECK_FALSE(said(sparse + "--experts_impl grouped_mm --router_aux_loss_coef 0").loss.balances_experts);
  CHECK_FALSE(said(run + "--router_aux_loss_coef 0.001").loss.balances_experts);  // no experts, no such loss
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type dpo --model Qwen/Qwen3-30B-A3B --max_length 64 --experts_impl grouped_mm --router_aux_loss_coef 0.001"), "router_aux_loss_coef"));
}

TEST_CASE("pairs in one row, images in packed rows") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type dpo" + qwen + "--attn_impl flash_attn ";
  const auto joined = said(run + "--padding_free true --per_device_train_batch_size 3");
  CHECK(joined.batch == batch{.micro = 3, .sequence = 1024, .accumulation = 6, .packed = true});
  CHECK(said(run + "--packing true").batch.sequence == 1024);                           // one pair of the longest
  CHECK(said(run + "--packing true --packing_length 5001").batch.sequence == 2501);      // or as many pairs as there is room for
  CHECK(said(run + "--packing false").batch.packed == false);
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type orpo --padding_free true" + qwen), "padding_free = true is not modelled by this version (beside this method)"));
  // 1001 pixels are 36 positions of 28, rounded, either way.
  const std::string sees = "MAX_PIXELS=1003520 CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 8192 --attn_impl flash_attn ";
  CHECK(said(sees + "--packing true").batch.images == image_batch{.count = 8192 / (36 * 36), .width = 1001, .height = 1001});
  CHECK(said(sees).batch.images == image_batch{.width = 1001, .height = 1001});
  CHECK(said(sees + "--packing true --packing_length 5184").batch.images.count == 4);
  const std::string pairs = "MAX_PIXELS=1003520 CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 8192 --attn_impl flash_attn --packing true ";
  CHECK(said(pairs).batch.images.count == 3);  // of each answer of a pair
  const std::string tiles = "CUDA_VISIBLE_DEVICES=0 swift sft --model OpenGVLab/InternVL3-8B --max_length 4096";
  CHECK(holds(refused(tiles), "no file says how many tiles of 448 × 448 pixels"));
  CHECK(job_of({{"run.sh", tiles}}, {"batch.images.count=7"}).batch.images.count == 7);
}

TEST_CASE("grouped products of a model whose class came later are of its release") {
  const auto run = [](const std::string& model) { return std::vector<imported::text>{{"run.sh", "NPROC_PER_NODE=8 swift sft --model " + model + " --max_length 1024 --experts_impl grouped_mm --deepspeed zero3"}}; };
  const auto released = [&](const std::string& model) { return draft_of(run(model)).job["environment"]["transformers"]; };
  CHECK(released("Qwen/Qwen3-30B-A3B") == "5.0");
  CHECK(released("Qwen/Qwen3.5-35B-A3B") == "5.2");
  CHECK(refusal_of(run("Qwen/Qwen3.5-35B-A3B"), {R"(batch.images={"none": true})"}).empty());
}

// swift/arguments/sft_args.py _check_padding_free
TEST_CASE("rows of several samples need flash attention") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift sft" + qwen;
  CHECK(holds(refused(run + "--packing true"), "run.sh:1: ms-swift stops where packing is true and attn_impl is not flash attention: say attn_impl flash_attn, or take packing out"));
  CHECK(holds(refused(run + "--padding_free true --attn_impl sdpa"), "ms-swift stops where padding_free is true"));
  for (const auto* impl : {"flash_attn", "flash_attention_2", "flash_attention_3"}) CHECK(refused(run + "--packing true --attn_impl " + impl).empty());
  CHECK(refused(run + "--packing false --padding_free false").empty());
  CHECK(holds(refused(run + "--packing true --attn_impl flash_attn --lazy_tokenize true"), "ms-swift stops where packing and lazy_tokenize are both true"));
  CHECK(refused(run + "--lazy_tokenize true").empty());
  CHECK(holds(refused("NPROC_PER_NODE=2 swift sft" + qwen + "--fsdp fsdp2 --save_only_model true"), "ms-swift stops where save_only_model is true beside fsdp fsdp2"));
  CHECK(refused("NPROC_PER_NODE=2 swift sft" + qwen + "--fsdp fsdp2").empty());
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0,1 swift sft" + qwen + "--use_liger_kernel true"), "ms-swift spreads layers over the 2 GPUs of a process, and stops there beside use_liger_kernel"));
  CHECK(refused("CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft" + qwen + "--use_liger_kernel true").empty());
  CHECK(refused("CUDA_VISIBLE_DEVICES=0 swift sft --model_id_or_path Qwen/Qwen2.5-7B-Instruct --sft_type lora --lora_target_modules ALL --max_length 1024 --packing true").empty());
}

// swift/model/register.py _add_new_special_tokens: whether its rows are enough is the tokenizer's to say.
TEST_CASE("a classifier over BERT is its own class, by its name or by its configuration") {
  const imported::text script{"s.sh", "swift sft --model AI-ModelScope/bert-base-chinese --tuner_type lora --target_modules all-linear --torch_dtype bfloat16 --max_length 512 --num_labels 2 --task_type seq_cls\n"};
  const imported::text config{"config.json", R"({"architectures": ["BertForSequenceClassification"], "model_type": "bert", "vocab_size": 21128, "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
    "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "id2label": {"0": "a", "1": "b"}})"};
  const std::vector<std::string> one{"hardware.gpus_per_node=1"};
  auto named = job_of({script}, one);
  const auto read = job_of({script, config}, one);
  CHECK(named.model.classes == 2);
  named.model.label = read.model.label;
  CHECK(named == read);
  CHECK(estimate(read).ranks[0].allocated == estimate(named).ranks[0].allocated);
  CHECK(holds(refusal_of({{"s.sh", "swift sft --model answerdotai/ModernBERT-base --max_length 512 --num_labels 2 --task_type seq_cls\n"}}, one), "of classifiers over encoders"));
}

TEST_CASE("new words ask for the rows of the embeddings") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift sft" + qwen + "--new_special_tokens words.txt --modules_to_save embed_tokens lm_head";
  CHECK(holds(refused(run), "run.sh:1: new_special_tokens: N rows of embeddings, those of the model's configuration where its tokenizer has no more words with the new ones"));
  CHECK(holds(refused(run), "add --set model.vocab=N"));
  CHECK(job_of({{"run.sh", run}}, {"model.vocab=152192"}).model.vocab == 152192);
  CHECK(job_of({{"run.sh", run}}, {"model.vocab=152064"}).model.vocab == 152064);
  CHECK(refused("CUDA_VISIBLE_DEVICES=0 swift sft" + qwen + "--new_special_tokens ''").empty());
}

TEST_CASE("other things of its family are refused by name") {
  const std::string tuned = "swift sft" + qwen + " --tuner_type lora --max_length 512 --loss_type loss_scale";
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0 " + tuned), "ms-swift has no loss \"loss_scale\" (swift/loss/mapping.py), and ends there"));
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0 " + tuned + " --external_plugins p.py"), "loss_type = \"loss_scale\" is not modelled by this version (a loss of one's own)"));
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0 swift rlhf" + qwen), "\"swift rlhf\" does not say its method"));
  CHECK(holds(refused("NPROC_PER_NODE=2 megatron rlhf --tensor_model_parallel_size 2 --rlhf_type gkd" + qwen), "rlhf_type \"gkd\" over Megatron-Core is not modelled by this version; accepted: dpo, kto, rm"));
}

}  // namespace test_swift

#endif
