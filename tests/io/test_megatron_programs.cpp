// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's programs beyond pretrain_gpt.py, and experts, from their functional tests' files to a number
// (tests/functional_tests/test_cases/{hybrid,t5,bert,moe}/*/model_config.yaml, golden_values_*.json).
#include <headroom/io/measured.hpp>
#include <headroom/replay.hpp>

#include "imported.hpp"

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_megatron_programs {

using namespace headroom;
using imported::draft_of, imported::job_of, imported::refusal_of;

namespace {

const std::string environment =
    "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\n  NVTE_ALLOW_NONDETERMINISTIC_ALGO: 0\n  NCCL_ALGO: Ring\n  CUBLAS_WORKSPACE_CONFIG: :4096:8\nMODEL_ARGS:\n";
const std::string training =
    "  --train-iters: 50\n  --lr: 0.00015\n  --min-lr: 1.0e-5\n  --clip-grad: 1.0\n  --split: 949,50,1\n  --log-interval: 1\n  --save-interval: 10000\n"
    "  --distributed-backend: nccl\n  --log-params-norm: true\n  --log-num-zeros-in-grad: true\n  --ckpt-format: torch_dist\n  --bf16: true\n  --attention-backend: unfused\n";

/// hybrid_mr_mcore_te_tp1_pp4_cp1_dgx_a100_1N8G.
const std::string hybrid = environment +
                           "  --hidden-size: 1024\n  --num-attention-heads: 16\n  --group-query-attention: true\n  --num-query-groups: 8\n"
                           "  --hybrid-layer-pattern: M-M-M-M*-M-|M-M-M*-M-M-|M-M*-M-M-M-|M*-M-M-M-M-\n"
                           "  --spec: \"[megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec]\"\n  --micro-batch-size: 4\n  --global-batch-size: 32\n"
                           "  --seq-length: 1024\n  --max-position-embeddings: 1024\n  --transformer-impl: transformer_engine\n  --tensor-model-parallel-size: 1\n"
                           "  --pipeline-model-parallel-size: 4\n  --use-distributed-optimizer: true\n  --overlap-grad-reduce: true\n  --overlap-param-gather: true\n"
                           "  --no-gradient-accumulation-fusion: true\n  --attention-softmax-in-fp32: true\n  --use-mcore-models: true\n" + training;
/// t5_mcore_te_tp2_pp1_vp1_sequence_parallel.
const std::string t5 = environment +
                       "  --encoder-num-layers: 12\n  --decoder-num-layers: 12\n  --hidden-size: 768\n  --num-attention-heads: 12\n  --kv-channels: 64\n  --ffn-hidden-size: 3072\n"
                       "  --encoder-seq-length: 512\n  --decoder-seq-length: 128\n  --max-position-embeddings: 512\n  --tensor-model-parallel-size: 2\n"
                       "  --pipeline-model-parallel-size: 1\n  --micro-batch-size: 4\n  --global-batch-size: 32\n  --vocab-extra-ids: 100\n"
                       "  --transformer-impl: transformer_engine\n  --vocab-file: ${DATA_PATH}/text/bert-large-cased-vocab.txt\n  --tokenizer-type: BertWordPieceCase\n"
                       "  --calculate-per-token-loss: true\n  --sequence-parallel: true\n  --deterministic-mode: true\n  --attention-softmax-in-fp32: true\n" + training;
/// bert_mcore_tp1_pp2.
const std::string bert = environment +
                         "  --num-layers: 24\n  --hidden-size: 1024\n  --num-attention-heads: 16\n  --micro-batch-size: 4\n  --global-batch-size: 128\n  --seq-length: 512\n"
                         "  --max-position-embeddings: 512\n  --data-path: ${DATA_PATH}/my-bert_00_text_sentence\n  --vocab-file: ${DATA_PATH}/vocab.txt\n"
                         "  --tensor-model-parallel-size: 1\n  --pipeline-model-parallel-size: 2\n  --deterministic-mode: true\n  --no-gradient-accumulation-fusion: true\n" + training;

/// gpt3_mcore_te_tp2_pp1_te_8experts2parallel_ddp_average_in_collective.
const std::string experts = environment +
                            "  --num-layers: 12\n  --hidden-size: 512\n  --num-attention-heads: 8\n  --micro-batch-size: 4\n  --global-batch-size: 32\n  --seq-length: 1024\n"
                            "  --max-position-embeddings: 1024\n  --vocab-file: ${DATA_PATH}/bpe/vocab.json\n  --merge-file: ${DATA_PATH}/bpe/merges.txt\n"
                            "  --transformer-impl: transformer_engine\n  --tensor-model-parallel-size: 2\n  --pipeline-model-parallel-size: 1\n  --expert-model-parallel-size: 2\n"
                            "  --moe-grouped-gemm: true\n  --disable-bias-linear: true\n  --sequence-parallel: true\n  --num-experts: 8\n  --use-distributed-optimizer: true\n"
                            "  --moe-router-load-balancing-type: sinkhorn\n  --moe-router-topk: 1\n  --overlap-grad-reduce: true\n  --overlap-param-gather: true\n"
                            "  --ddp-average-in-collective: true\n  --deterministic-mode: true\n  --no-gradient-accumulation-fusion: true\n  --attention-softmax-in-fp32: true\n"
                            "  --no-bias-gelu-fusion: true\n  --use-mcore-models: true\n" + training;

double last_rank(const job& j) { return static_cast<double>(io::rank_of(replay(j), io::metric::allocated, io::rank_choice::last).allocated.count()); }

}  // namespace

TEST_CASE("a hybrid stack is read from its letters, and cut at their bars") {
  const auto j = job_of({{"m.yaml", hybrid}}, {"hardware.gpu=a100-sxm-80gb", "hardware.gpus_per_node=8", "environment.torch=2.10"});
  CHECK(j.model.layers == 44);
  CHECK(j.model.kind_of(0) == layer_kind{mixer_kind::mamba2, feed_forward_kind::none});
  CHECK(j.model.kind_of(7) == layer_kind{mixer_kind::attention, feed_forward_kind::none});
  CHECK(j.model.kind_of(43) == layer_kind{mixer_kind::none, feed_forward_kind::dense});
  CHECK(j.model.ssm.heads == 32);
  CHECK(j.parallel.pipeline == 4);
  CHECK(j.parallel.stage_layers[3] == 11);
  CHECK(last_rank(j) == doctest::Approx(4'483'711'488.0).epsilon(0.012));  // golden_values_dev_dgx_a100.json, 2026-02
  // Uneven parts, and twice as many of them.
  auto uneven = hybrid;
  uneven.replace(uneven.find("M-M-M-M*-M-|M-M-M"), 17, "M-M-M-M*-|M-M-M-M");
  CHECK(job_of({{"m.yaml", uneven}}, {"hardware.gpus_per_node=8"}).parallel.stage_layers[0] == 9);
  auto twice = hybrid;
  twice.replace(twice.find("pipeline-model-parallel-size: 4"), 31, "pipeline-model-parallel-size: 2");
  CHECK(job_of({{"m.yaml", twice}}, {"hardware.gpus_per_node=8"}).parallel.virtual_pipeline == 2);
}

TEST_CASE("what hybrid stacks may have and is not modelled is refused by name") {
  const auto with = [](const std::string& more) { return refusal_of({{"m.yaml", hybrid + more}}, {"hardware.gpus_per_node=8"}); };
  CHECK(with("").empty());
  CHECK(with("  --disable-mamba-mem-eff-path: true\n").find("disable-mamba-mem-eff-path") != std::string::npos);
  CHECK(with("  --moe-latent-size: 64\n").find("moe-latent-size") != std::string::npos);
  CHECK(with("  --mtp-use-repeated-layer: true\n").find("mtp-use-repeated-layer") != std::string::npos);
  auto predicted = hybrid;
  predicted.replace(predicted.find("M*-M-M-M-M-\n"), 12, "M*-M-M-M-M-/M-\n");
  CHECK(refusal_of({{"m.yaml", predicted}}, {"hardware.gpus_per_node=8"}).find("multi-token prediction beside a hybrid stack") != std::string::npos);
  auto other = hybrid;
  other.replace(other.find("hybrid_stack_spec"), 17, "some_other_spec");
  CHECK(refusal_of({{"m.yaml", other}}, {"hardware.gpus_per_node=8"}).find("spec must be mamba_stack_spec or hybrid_stack_spec") != std::string::npos);
}

TEST_CASE("T5's two stacks are read, and its vocabulary by the name of BERT's") {
  const auto j = job_of({{"m.yaml", t5}}, {"hardware.gpu=a100-sxm-80gb", "hardware.gpus_per_node=8", "environment.torch=2.11"});
  CHECK(j.model.layers == 12);
  CHECK(j.model.encoder.layers == 12);
  CHECK(j.model.encoder.sequence == 512);
  CHECK(j.model.encoder.shared_positions);
  CHECK(j.batch.sequence == 128);
  CHECK(j.model.vocab == 28996 + 100);
  CHECK(last_rank(j) == doctest::Approx(3'205'759'488.0).epsilon(0.005));  // golden_values_dev_dgx_a100.json, 2026-04
}

TEST_CASE("BERT's head, pooler and token types come with its program; its vocabulary has to be stated") {
  CHECK(refusal_of({{"m.yaml", bert}}, {"hardware.gpus_per_node=8"}).find("add --set model.vocab=N") != std::string::npos);
  const std::vector<std::string> set{"hardware.gpu=a100-sxm-80gb", "hardware.gpus_per_node=8", "environment.torch=2.7", "model.vocab=28996"};
  const auto j = job_of({{"m.yaml", bert}}, set);
  CHECK(j.model.bidirectional);
  CHECK(j.model.head == head_kind::masked_language);
  CHECK(j.model.pooler);
  CHECK(j.model.token_types == 2);
  CHECK(last_rank(j) == doctest::Approx(5'631'605'760.0).epsilon(0.002));  // golden_values_dev_dgx_a100.json, 2025-04
  const auto alone = job_of({{"m.yaml", bert + "  --bert-no-binary-head: true\n"}}, set);
  CHECK_FALSE(alone.model.pooler);
  CHECK(alone.model.token_types == 0);
}

// One configuration and three values of it: attention and workspaces differ by GPU, what deterministic kernels keep by date.
TEST_CASE("experts, from a functional test's file to what was measured at two dates") {
  const std::vector<std::string> node{"hardware.gpus_per_node=8"}, ampere{"hardware.gpus_per_node=8", "hardware.gpu=a100-sxm-80gb"};
  const auto with = [](std::vector<std::string> set, const char* more) { return set.push_back(more), set; };
  const double hopper = last_rank(job_of({{"m.yaml", experts}}, node));
  CHECK(hopper == doctest::Approx(3'300'554'752.0).epsilon(0.003));                                                                  // dev_dgx_h100, 2026-07
  CHECK(last_rank(job_of({{"m.yaml", experts}}, ampere)) == doctest::Approx(3'152'975'360.0).epsilon(0.003));                       // lts_dgx_a100, 2026-08
  CHECK(last_rank(job_of({{"m.yaml", experts}}, with(ampere, R"(framework.version="2025-04")"))) == doctest::Approx(3'110'486'016.0).epsilon(0.005));  // dev_dgx_a100, 2025-04
  // 4 MiB a layer that nobody asked to be deterministic, or that one kernel puts back.
  const auto without = [&](const char* change) {
    auto text = experts;
    const std::string said = "  --deterministic-mode: true\n";
    text.replace(text.find(said), said.size(), change);
    return last_rank(job_of({{"m.yaml", text}}, node));
  };
  CHECK((hopper - without("")) / (1 << 20) == doctest::Approx(48).epsilon(0.02));
  CHECK((hopper - without("  --deterministic-mode: true\n  --moe-permute-fusion: true\n")) / (1 << 20) == doctest::Approx(48).epsilon(0.02));
}

// swiss-ai/Megatron-LM 81d44dbe tests/functional_tests/test_cases: gpt3_mr_tp2_pp2, gpt3_345m_nightly tp1_pp1_dist_optimizer, tp1_pp2 and tp1_pp4, bert_mr_tp1_pp4_vp2_resume_torch, all
// dgx_a100_1N8G, and the largest mem-max-allocated-bytes of their golden_values_lts.json.
TEST_CASE("Megatron-LM's legacy models keep what the core's layers keep, and were measured so") {
  const std::vector<std::string> node{"hardware.gpus_per_node=8", "hardware.gpu=a100-sxm-80gb", "model.vocab=28996"}, gpu{node[0], node[1]};
  const std::string old = environment + "  --train-iters: 50\n  --log-params-norm: true\n  --distributed-backend: nccl\n  --ckpt-format: torch\n  --deterministic-mode: true\n  --no-gradient-accumulation-fusion: true\n  --use-legacy-models: true\n"
                                        "  --fp16: true\n  --apply-query-key-layer-scaling: true\n  --micro-batch-size: 4\n  --load: ${CHECKPOINT_LOAD_PATH}\n";
  const std::string gpt = old + "  --num-layers: 12\n  --hidden-size: 512\n  --num-attention-heads: 8\n  --global-batch-size: 32\n  --seq-length: 1024\n  --max-position-embeddings: 1024\n  --vocab-file: bpe/vocab.json\n  --merge-file: bpe/merges.txt\n";
  const std::string local = "  --transformer-impl: local\n", scores = "  --attention-backend: unfused\n";
  const auto cut = [](int tensor, int stages) { return "  --tensor-model-parallel-size: " + std::to_string(tensor) + "\n  --pipeline-model-parallel-size: " + std::to_string(stages) + "\n"; };
  const auto measured = [&](const std::string& text, double bytes, double within) { CHECK(last_rank(job_of({{"m.yaml", text}}, gpu)) == doctest::Approx(bytes).epsilon(within)); };
  measured(gpt + local + cut(2, 2), 1'884'361'216, 0.0003);
  measured(gpt + local + cut(1, 1) + "  --use-distributed-optimizer: true\n  --overlap-grad-reduce: true\n", 4'607'767'040, 0.0003);
  measured(gpt + local + cut(1, 2), 3'544'935'936, 0.0003);
  measured(gpt + local + cut(1, 4), 2'675'191'296, 0.001);
  measured(gpt + local + cut(1, 4) + "  --num-layers-per-virtual-pipeline-stage: 1\n", 4'114'758'144, 0.001);
  measured(gpt + local + cut(4, 1), 1'596'305'408, 0.004);
  auto engine = gpt + "  --transformer-impl: transformer_engine\n" + scores + cut(2, 2);  // gpt3_mr_te_tp2_pp2
  for (const std::string other : {"  --fp16: true\n", "  --apply-query-key-layer-scaling: true\n"}) engine.replace(engine.find(other), other.size(), other == "  --fp16: true\n" ? "  --bf16: true\n" : "  --attention-softmax-in-fp32: true\n");
  measured(engine, 1'900'157'952, 0.0003);
  // BERT, whose shape its own checkpoint has.
  const std::string bert_text = old + local + scores + cut(1, 4) + "  --num-layers-per-virtual-pipeline-stage: 2\n  --num-layers: 24\n  --hidden-size: 1024\n  --num-attention-heads: 16\n  --global-batch-size: 128\n  --seq-length: 512\n"
                                "  --max-position-embeddings: 512\n  --data-path: ${DATA_PATH}/my-bert_00_text_sentence\n  --vocab-file: ${DATA_PATH}/vocab.txt\n  --use-checkpoint-args: true\n";
  auto d = draft_of({{"bert/model_config.yaml", bert_text}}, node);
  const auto bert_job = d.settled();
  CHECK(bert_job.model.bidirectional);
  CHECK(last_rank(bert_job) == doctest::Approx(5'016'294'400.0).epsilon(0.001));
  REQUIRE(d.assumed.size() == 1);
  CHECK(d.assumed[0] == "use-checkpoint-args takes the model's shape from the checkpoint: it is taken to be the one that is given here");
  // Others of them are other layers.
  const auto refused = [&](const std::string& more) { return refusal_of({{"m.yaml", gpt + cut(1, 1) + more}}, gpu).find("use-legacy-models = true is not modelled by this version") != std::string::npos; };
  CHECK_FALSE(refused(local));
  for (const auto* more : {"  --num-experts: 4\n", "  --swiglu: true\n", "  --position-embedding-type: rope\n", "  --normalization: RMSNorm\n", "  --use-flash-attn: true\n", "  --group-query-attention: true\n  --num-query-groups: 2\n"}) CHECK(refused(local + more));
  CHECK_FALSE(refused("  --transformer-impl: transformer_engine\n"));
  CHECK(refusal_of({{"m.yaml", environment + "  --use-checkpoint-args: true\n  --load: c\n  --micro-batch-size: 1\n  --bf16: true\n"}}, gpu).find("use-checkpoint-args = true is not modelled") != std::string::npos);
}

TEST_CASE("a launch says which program it starts") {
  const std::string start = "torchrun --nproc_per_node 8 ";
  const std::string sizes = " --hidden-size 1024 --num-attention-heads 16 --max-position-embeddings 512 --micro-batch-size 4 --global-batch-size 32 --bf16";
  const auto b = job_of({{"run.sh", start + "pretrain_bert.py --num-layers 24 --seq-length 512 --vocab-file bert-large-uncased-vocab.txt" + sizes + "\n"}});
  CHECK(b.model.vocab == 30522);
  CHECK(b.model.bidirectional);
  const auto h = job_of({{"run.sh", start + "pretrain_mamba.py --hybrid-override-pattern 'M-M*' --is-hybrid-model --num-layers 4 --seq-length 512 --spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec" + sizes + "\n"}});
  CHECK(h.model.recurs());
  const auto t = job_of({{"run.sh", start + "pretrain_t5.py --encoder-num-layers 2 --decoder-num-layers 3 --encoder-seq-length 512 --decoder-seq-length 128 --vocab-file bert-base-cased-vocab.txt" + sizes + "\n"}});
  CHECK(t.model.encoder.layers == 2);
  CHECK(t.model.layers == 3);
  CHECK(refusal_of({{"run.sh", start + "pretrain_mamba.py --num-layers 4 --seq-length 512" + sizes + "\n"}}).find("hybrid-layer-pattern is required") != std::string::npos);
  CHECK_FALSE(refusal_of({{"run.sh", start + "pretrain_gpt.py --num-layers 4 --encoder-num-layers 4 --seq-length 512" + sizes + "\n"}}).empty());
}

}  // namespace test_megatron_programs

#endif
