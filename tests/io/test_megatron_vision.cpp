// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's pretrain_vlm.py from the files of its functional tests to their numbers (tests/functional_tests/test_cases/multimodal-llava/*/model_config.yaml,
// golden_values_*.json at ad2ab2ca12 of 2026-01-15 and 2795ebde97 of 2025-07-05), and what its arguments mean.
#include <headroom/io/launchers/megatron/export.hpp>
#include <headroom/io/measured.hpp>
#include <headroom/replay.hpp>

#include "imported.hpp"

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_megatron_vision {

using namespace headroom;
using imported::holds;
using imported::job_of;
using imported::refusal_of;

namespace {

const std::string environment =
    "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\n  NVTE_ALLOW_NONDETERMINISTIC_ALGO: 0\n  NCCL_ALGO: Ring\n  CUBLAS_WORKSPACE_CONFIG: :4096:8\nMODEL_ARGS:\n";
const std::string both =
    "  --num-layers: 12\n  --attention-dropout: 0.0\n  --hidden-dropout: 0.0\n  --log-params-norm: true\n  --log-num-zeros-in-grad: true\n"
    "  --log-validation-ppl-to-tensorboard: true\n  --log-timers-to-tensorboard: true\n  --tensorboard-dir: ${TENSORBOARD_PATH}\n  --train-iters: 50\n  --timing-log-level: 0\n"
    "  --lr-decay-iters: 320000\n  --save: ${CHECKPOINT_SAVE_PATH}\n  --load: ${CHECKPOINT_LOAD_PATH}\n  --split: 949,50,1\n  --tokenizer-type: NullTokenizer\n  --vocab-size: 8193\n"
    "  --distributed-backend: nccl\n  --lr: 0.00015\n  --lr-decay-style: cosine\n  --min-lr: 1.0e-5\n  --weight-decay: 1e-2\n  --clip-grad: 1.0\n  --lr-warmup-fraction: .01\n"
    "  --log-interval: 1\n  --save-interval: 10000\n  --eval-interval: 1000\n  --eval-iters: 10\n  --transformer-impl: transformer_engine\n  --pipeline-model-parallel-size: 1\n"
    "  --deterministic-mode: true\n  --attention-softmax-in-fp32: true\n  --ckpt-format: torch\n  --no-gradient-accumulation-fusion: true\n  --bf16: true\n"
    "  --img-h: 336\n  --img-w: 336\n  --patch-dim: 14\n  --mock-data: true\n  --log-memory-to-tensorboard: true\n";
const std::string end = "TEST_TYPE: regular\nLAUNCHER: ft_launcher\n";

/// multimodal_llava_mcore_te_tp1_pp1.
const std::string one = environment + both +
                        "  --hidden-size: 624\n  --num-attention-heads: 12\n  --micro-batch-size: 4\n  --global-batch-size: 32\n  --seq-length: 1024\n"
                        "  --max-position-embeddings: 1024\n  --tensor-model-parallel-size: 1\n" + end;
/// multimodal_llava_mcore_te_tp4_sp_cp2.
const std::string divided = environment + both +
                            "  --hidden-size: 1024\n  --num-attention-heads: 16\n  --micro-batch-size: 1\n  --global-batch-size: 8\n  --dataloader-seq-length: 1232\n  --seq-length: 576\n"
                            "  --disable-vision-class-token: true\n  --max-position-embeddings: 4096\n  --tensor-model-parallel-size: 4\n  --sequence-parallel: true\n"
                            "  --context-parallel-size: 2\n  --use-packed-sequence: true\n  --calculate-per-token-loss: true\n" + end;

std::string with(std::string text, const std::string& what, const std::string& now) {
  const auto at = text.find(what);
  return at == std::string::npos ? "no " + what : text.replace(at, what.size(), now);
}
std::string and_also(const std::string& more) { return with(one, "TEST_TYPE", more + "TEST_TYPE"); }

/// The job that was written by hand for a measured run.
job recorded(const std::string& id) {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/megatron_models.jsonl");
  for (std::string line; std::getline(file, line);)
    if (line.find("\"id\": \"" + id + '"') != std::string::npos) return io::read_job(io::read_measured(line, "megatron_models.jsonl").job, io::no_files);
  throw std::runtime_error("no record " + id);
}
/// With what the framework takes for granted said, as a record does.
job spelled_out(const job& j) { return io::as_megatron(io::stated(j)); }
std::int64_t last_rank(const job& j) { return io::rank_of(replay(j), io::metric::allocated, io::rank_choice::last).allocated.count(); }
std::string script(const std::string& more) {
  return "torchrun --nproc_per_node 8 pretrain_vlm.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 --max-position-embeddings 512 --seq-length 315 --micro-batch-size 1 "
         "--global-batch-size 8 --tokenizer-type NullTokenizer --vocab-size 1000 --bf16 --ckpt-format torch " + more + "\n";
}

}  // namespace

// What the records say besides: the machine, and when it was. Text and image: 1,024 + 24² + 1, and 1,232 + 24².
TEST_CASE("the functional tests' files are the jobs that their records have, to the byte") {
  const auto whole = job_of({{"model_config.yaml", one}}, {R"(hardware={"gpu": {"name": "h100-sxm-80gb", "memory_gib": 79.1}, "nodes": 1, "gpus_per_node": 8})",
                                                            R"(framework.version="Megatron-LM 2026-01-15 (ad2ab2ca12), CI dev image")", "environment.torch=2.10"});
  CHECK(whole.batch.sequence == 1601);
  CHECK(whole.model.vision.tokens == 577);
  CHECK(whole.model.vision.kind == vision_kind::megatron_clip);
  CHECK_FALSE(whole.model.tied);
  auto by_hand = recorded("megatron-multimodal_llava_mcore_te_tp1_pp1-h100");
  CHECK(whole.model.vocab == 8193 + 1);  // NullTokenizer's end of a document, a word up to 2026-04; padded to 8,320 rows with it and without
  by_hand.model.vocab = whole.model.vocab;
  CHECK(whole.model == by_hand.model);
  CHECK(whole.framework == by_hand.framework);
  CHECK(spelled_out(whole) == spelled_out(by_hand));
  CHECK(last_rank(whole) == last_rank(by_hand));
  CHECK(static_cast<double>(last_rank(whole)) == doctest::Approx(15'774'200'832.0).epsilon(0.0041));

  const auto cut = job_of({{"model_config.yaml", divided}}, {R"(hardware={"gpu": {"name": "a100-sxm-80gb", "memory_gib": 79.15}, "nodes": 1, "gpus_per_node": 8})",
                                                              R"(framework.version="Megatron-LM 2025-07-05 (2795ebde97), CI dev image")", "environment.torch=2.8"});
  CHECK(cut.batch.sequence == 1808);
  CHECK(cut.batch.accumulation == 8);
  CHECK(cut.model.vision.tokens == 576);
  auto divided_by_hand = recorded("megatron-multimodal_llava_mcore_te_tp4_sp_cp2-a100");
  CHECK(cut.model.vocab == 8193 + 1);
  divided_by_hand.model.vocab = cut.model.vocab;
  CHECK(spelled_out(cut) == spelled_out(divided_by_hand));
  CHECK(static_cast<double>(last_rank(cut)) == doctest::Approx(1'884'516'352.0).epsilon(0.036));
}

// 224 = 14 · 16 pixels: 196 patches and a class token, and 315 tokens of text.
TEST_CASE("a script names the program, whose images are 224 pixels high where nothing is said") {
  const auto j = job_of({{"run.sh", script("")}});
  CHECK(j.model.vision.image == 224);
  CHECK(j.model.vision.patch == 16);
  CHECK(j.batch.sequence == 512);
  CHECK(j.model.max_positions == 512);
  const auto other = job_of({{"run.sh", script("--dataloader-seq-length 60 --disable-vision-class-token --decoder-num-layers 6 --decoder-seq-length 300")}});
  CHECK(other.batch.sequence == 256);
  CHECK(other.model.layers == 6);
  CHECK(other.model.vision.layers == 4);
  // In one row with its neighbours a sample has as many positions as all have.
  const auto packed = job_of({{"run.sh", script("--context-parallel-size 2 --use-packed-sequence --micro-batch-size 2 --seq-length 316 --disable-vision-class-token")}}, {"hardware.gpu=a100-sxm-80gb"});
  CHECK(packed.model.max_positions == 1024);
  CHECK(packed.batch.sequence == 512);
}

TEST_CASE("samples that Megatron-LM would pad are refused, and those that it need not are not") {
  CHECK(holds(refusal_of({{"run.sh", script("--seq-length 316 --tensor-model-parallel-size 2 --sequence-parallel")}}), "316 tokens of text and 197 of an image are padded to a multiple of 2"));
  CHECK(refusal_of({{"run.sh", script("--seq-length 316 --tensor-model-parallel-size 2")}}).empty());
  CHECK(refusal_of({{"run.sh", script("--seq-length 316 --sequence-parallel")}}).empty());
  // 1,810 is a multiple of neither 2 · 2 · 4 nor 2 · 2.
  CHECK(holds(refusal_of({{"m.yaml", with(divided, "1232", "1234")}}, {"hardware.gpu=a100-sxm-80gb", "hardware.gpus_per_node=8"}), "a multiple of 16"));
  CHECK(holds(refusal_of({{"m.yaml", with(with(divided, "1232", "1234"), "  --sequence-parallel: true\n", "")}}, {"hardware.gpu=a100-sxm-80gb", "hardware.gpus_per_node=8"}), "a multiple of 4"));
}

TEST_CASE("what pretrain_vlm.py has and is not modelled is refused by name") {
  const auto why = [](const std::string& more) { return refusal_of({{"m.yaml", and_also(more)}}, {"hardware.gpus_per_node=8"}); };
  const auto objects = [](const std::string& more) { return static_cast<bool>(objection_to(job_of({{"m.yaml", and_also(more)}}, {"hardware.gpus_per_node=8"}))); };
  CHECK(why("").empty());
  for (const std::string key : {"freeze-LM", "freeze-ViT", "decoder-tp-comm-overlap", "qk-layernorm", "encoder-num-layers", "encoder-seq-length", "spec"}) CHECK(holds(why("  --" + key + ": 7\n"), key + " = 7 is not modelled"));
  CHECK(why("  --freeze-LM: false\n").empty());
  CHECK(holds(why("  --num-classes: 10\n"), "num-classes is no argument of"));
  CHECK_FALSE(objects(""));
  for (const auto* more : {"  --swiglu: true\n", "  --kv-channels: 64\n", "  --group-query-attention: true\n  --num-query-groups: 4\n", "  --normalization: RMSNorm\n", "  --disable-bias-linear: true\n"}) CHECK(objects(more));
  CHECK(holds(refusal_of({{"m.yaml", with(one, "img-w: 336", "img-w: 350")}}, {"hardware.gpus_per_node=8"}), "img-w must be img-h, 336"));
  CHECK(holds(refusal_of({{"m.yaml", with(one, "patch-dim: 14", "patch-dim: 15")}}, {"hardware.gpus_per_node=8"}), "multiples of patch-dim, 15"));
  CHECK(holds(refusal_of({{"m.yaml", with(one, "  --seq-length: 1024\n", "")}}, {"hardware.gpus_per_node=8"}), "seq-length is required"));
  CHECK(holds(why("  --use-gpu-initialization: true\n"), "since 2025-03"));  // which Megatron-LM had up to 2024-03
}

// mimo_vlm_pretrain_convergence_tp1_pp1_cp1_dp8: Vicuna-7B and CLIP are the provider's own, whatever is said of layers.
TEST_CASE("MIMO's arguments are refused with what they do not say") {
  const std::string mimo = environment + "  --num-layers: 32\n  --hidden-size: 4096\n  --num-attention-heads: 32\n  --micro-batch-size: 8\n  --global-batch-size: 128\n  --seq-length: 4096\n";
  for (const std::string key : {"dataset-provider", "model-provider"}) {
    const auto why = refusal_of({{"m.yaml", mimo + "  --" + key + ": llava_vlm\n"}}, {"hardware.gpus_per_node=8"});
    CHECK(holds(why, key + " is an argument of examples/mimo/train.py"));
    CHECK(holds(why, "as long as their texts"));
  }
}

}  // namespace test_megatron_vision

#endif
