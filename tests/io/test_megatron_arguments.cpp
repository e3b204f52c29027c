// Distributed under the Boost Software License, Version 1.0.
// Every argument of Megatron-LM's parser, one at a time on a small command line: it is read, it is harmless, or it is refused by name.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#include <fstream>
#include <map>
#include <sstream>

namespace test_megatron_arguments {

using namespace headroom;

namespace {

/// A line of tests/data/launchers/megatron.txt.
struct argument_line {
  std::string name, kind, value, with;
};
std::vector<argument_line> arguments() {
  std::vector<argument_line> all;
  std::ifstream in{HEADROOM_TEST_DATA "/launchers/megatron.txt"};
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    argument_line a;
    std::istringstream parts{line};
    std::getline(parts, a.name, '\t');
    std::getline(parts, a.kind, '\t');
    std::getline(parts, a.value, '\t');
    std::getline(parts, a.with, '\t');
    all.push_back(a);
  }
  return all;
}

const std::string small = "--num-layers 4 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --tokenizer-type NullTokenizer --vocab-size 1000 --cross-entropy-fusion-impl native ";

io::draft draft_of(const std::string& arguments, const std::string& ignored = {}) {
  return imported::draft_of({{"run.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py " + small + arguments + "\n"}}, {}, io::auto_means::by_trainer,
                            ignored.empty() ? std::vector<std::string>{} : std::vector<std::string>{ignored});
}
io::json_value job_of(const std::string& arguments) { return io::job_to_json(draft_of(arguments).settled()); }
std::string refusal_of(const std::string& arguments, const std::string& ignored = {}) {
  try {
    auto d = draft_of(arguments, ignored);
    d.settled();
    return ignored.empty() ? std::string{} : "ignored " + std::to_string(d.ignored.size());
  } catch (const headroom::error& e) {
    return e.what();
  }
}
/// The job without what a program's age decides.
io::json_value ageless(io::json_value j) {
  j["model"].erase("vocab");
  j.erase("framework");
  j.erase("attention");
  return j;
}
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void refused_by_name(const std::string& name, const std::string& arguments) {
  const auto sentence = refusal_of(arguments);
  CHECK_MESSAGE((holds(sentence, "run.sh:1: " + name) && holds(sentence, "--ignore " + name)), sentence);
  CHECK(refusal_of(arguments, name) == "ignored 1");
}

}  // namespace

TEST_CASE("every argument is read, harmless or refused") {
  std::map<std::string, int> seen;
  const auto plain = job_of("");
  for (const auto& a : arguments()) {
    CAPTURE(a.name);
    CAPTURE(a.kind);
    const bool old = a.kind.ends_with("-old") || a.kind == "old";
    const auto kind = a.kind.substr(0, a.kind.find('-'));
    const auto given = [&](const std::string& value) { return "--" + a.name + (value.empty() ? "" : " " + value); };
    const auto same = [&](const std::string& arguments) {
      try {
        const auto j = job_of(arguments);
        CHECK((old ? ageless(j) == ageless(plain) : j == plain));
      } catch (const headroom::error& e) {
        FAIL_CHECK(e.what());
      }
    };
    ++seen[kind];
    if (kind == "read" || kind == "repeats") {
      try {
        CHECK((job_of(a.with) == job_of(a.with + " " + given(a.value))) == (kind == "repeats"));
      } catch (const headroom::error& e) {
        FAIL_CHECK(e.what());
      }
    } else if (kind == "harmless" || kind == "old") {
      same(given(a.value));
      if (old) CHECK(job_of(given(a.value))["framework"] != plain["framework"]);
    } else if (kind == "only") {
      same(given(a.value));
      refused_by_name(a.name, given(a.with));
    } else if (kind == "beside") {
      same(given(a.value));
      refused_by_name(a.name, a.with + " " + given(a.value));
    } else {
      REQUIRE(kind == "refused");
      refused_by_name(a.name, given(a.value));
    }
  }
  CHECK(seen["read"] == 139);
  CHECK(seen["refused"] == 273);
  CHECK(seen["harmless"] > 700);
}

TEST_CASE("what no version of the program has is refused, with what was meant") {
  CHECK(holds(refusal_of("--micro-batch-sise 2"), "run.sh:1: micro-batch-sise is not known here (did you mean micro-batch-size?)"));
  CHECK(holds(refusal_of("--tensorboard-queu-size 5"), "(did you mean tensorboard-queue-size?)"));
  CHECK(refusal_of("--micro-batch-sise 2", "micro-batch-sise") == "ignored 1");
}

// core/models/common/language_module: "native" copies the logits to fp32 once more, "te" writes their gradient over them.
TEST_CASE("a fused loss as an option is the loss that loss.kind says") {
  const auto loss_of = [](const std::string& arguments) { return draft_of(arguments).settled().loss; };
  CHECK(loss_of("--bf16") == loss{});
  CHECK(loss_of("--bf16 --cross-entropy-loss-fusion") == loss{.kind = loss_kind::fused, .logits = formats::fp32});
  CHECK(loss_of("--bf16 --cross-entropy-loss-fusion --cross-entropy-fusion-impl te") == loss{.kind = loss_kind::fused, .logits = formats::bf16});
  CHECK(loss_of("--fp16 --cross-entropy-loss-fusion --cross-entropy-fusion-impl te") == loss{.kind = loss_kind::fused, .logits = formats::fp16});
  CHECK(loss_of("--cross-entropy-loss-fusion --cross-entropy-fusion-impl te") == loss{.kind = loss_kind::fused, .logits = formats::fp32});
  // Of 4 x 128 tokens and 1024 words a copy in fp32 is 2 MiB.
  const auto peak = [](const std::string& arguments) { return estimate(draft_of("--micro-batch-size 4 --bf16 " + arguments).settled()).peak(); };
  const auto plain = peak(""), native = peak("--cross-entropy-loss-fusion"), te = peak("--cross-entropy-loss-fusion --cross-entropy-fusion-impl te");
  CHECK(native - plain == bytes{4 * 128 * 1024 * 4});
  CHECK(te < plain);
}

TEST_CASE("who says how large the vocabulary is") {
  const auto rows = [](const std::string& arguments) { return draft_of(arguments).settled().model.vocab; };
  CHECK(rows("") == 1000);
  CHECK(rows("--data-impl mmap") == 1001);  // a token for the end of a document, before 2026-04-22
  CHECK(rows("--tokenizer-type TikTokenizer") == 1000);
  CHECK(rows("--tokenizer-type GPT2BPETokenizer") == 50257);
  CHECK(rows("--tokenizer-type HuggingFaceTokenizer --padded-vocab-size 1024") == 1024);
  CHECK(refusal_of("--tokenizer-type HuggingFaceTokenizer") ==
        "headroom: run.sh:1: tokenizer-type \"HuggingFaceTokenizer\" decides how large the vocabulary is, whatever vocab-size says: add --set model.vocab=N");
  auto d = draft_of("--tokenizer-type Llama2Tokenizer");
  io::say_key(d, "model.vocab=32000");
  CHECK(d.settled().model.vocab == 32000);
}

TEST_CASE("arguments of old say how old the program is") {
  const auto job_at = [](const std::string& arguments) { return draft_of(arguments).settled(); };
  CHECK_FALSE(job_at("--checkpoint-activations").framework.communication.overlaps_input_gradients);  // since 2021-09
  CHECK(job_at("--activations-checkpoint-method uniform").framework.communication.overlaps_input_gradients);
  CHECK(job_at("--checkpoint-activations").recompute.mode == recompute_mode::full);
  CHECK(job_at("--data-impl mmap").framework.modules.local());
  CHECK(job_at("--data-impl mmap").attention == attention::eager);
  CHECK(job_at("--data-impl mmap --use-flash-attn").attention == attention::flash);
  CHECK(job_at("--data-impl mmap --transformer-impl transformer_engine").attention == attention::te);
  const auto notes = draft_of("--fp8-e4m3 --DDP-impl local --checkpoint-num-layers 1").notes;
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& n) { return holds(n, "Megatron-LM has checkpoint-num-layers up to 2021-07"); }));
}

TEST_CASE("a worker that saves in the background has a context of its own on the GPU") {
  const auto context = [](const std::string& arguments) { return estimate(draft_of(arguments).settled()).tightest().outside.context; };
  CHECK(context("--async-save") == context(""));
  CHECK(context("--use-persistent-ckpt-worker") == context(""));
  CHECK(context("--async-save --use-persistent-ckpt-worker") == context("") + context(""));
}

TEST_CASE("a schedule of batches is read at its end") {
  CHECK(draft_of("--step-batch-size-schedule '0:16 2.4B:320 12B:1536'").settled().batch.accumulation == 192);  // 1536 samples over 8 GPUs
  CHECK(holds(refusal_of("--step-batch-size-schedule x"), "the last of step-batch-size-schedule must be a whole number"));
}

TEST_CASE("deterministic kernels take longer, and cuBLAS's workspace is larger") {
  const auto noted = [](const io::draft& d, const std::string& what) { return std::any_of(d.notes.begin(), d.notes.end(), [&](const std::string& n) { return holds(n, what); }); };
  auto d = draft_of("--deterministic-mode");
  CHECK(noted(d, "deterministic-mode slows kernels down"));
  CHECK(noted(draft_of("--empty-unused-memory-level 1"), "a step takes longer than predicted"));
  CHECK_FALSE(noted(draft_of("--empty-unused-memory-level 0"), "a step takes longer"));
  CHECK(d.settled().environment.cublas_workspace == bytes{4096 * 1024 * 8});
  CHECK(draft_of("--deterministic-mode --data-impl mmap").settled().environment.cublas_workspace == bytes{-1});  // it was the environment's then
}

// bigscience, experiments/gpt2-meg/meg_gpt2_base_n4_dp1_tp4_pp4-1809579.out: use_contiguous_buffers_in_ddp False, 22.67 GiB between steps and
// 25.59 GiB at most, where a buffer of gradients would have had 22.7 GiB at most.
TEST_CASE("one format of 16 bits") {
  CHECK(holds(refusal_of("--fp16 --bf16"), "fp16 and bf16 must not both be given"));
  CHECK(refusal_of("--fp16").empty());
  CHECK(refusal_of("--bf16").empty());
}

TEST_CASE("gradients without a buffer, as Megatron-LM had them up to 2021-07, are not modelled") {
  refused_by_name("use-contiguous-buffers-in-ddp", "--checkpoint-activations --fp16");
  CHECK(refusal_of("--checkpoint-activations --fp16 --use-contiguous-buffers-in-ddp").empty());
  CHECK(refusal_of("--checkpoint-activations --fp16 --accumulate-allreduce-grads-in-fp32").empty());
  CHECK(refusal_of("--checkpoint-activations --bf16").empty());  // whose gradients are fp32
  CHECK(refusal_of("--activations-checkpoint-method uniform --fp16").empty());
}

TEST_CASE("what matters by the sizes beside it") {
  const std::string local = "--transformer-impl local --bf16 --attention-softmax-in-fp32 ";
  CHECK(refusal_of(local).empty());
  refused_by_name("attention-softmax-in-fp32", local + "--num-attention-heads 2");  // the fused kernel takes four rows at a time
  CHECK(refusal_of(local + "--attention-backend flash --seq-length 8192 --max-position-embeddings 8192").empty());
  CHECK(refusal_of("--bf16 --attention-softmax-in-fp32 --seq-length 8192 --max-position-embeddings 8192").empty());
  refused_by_name("use-nccl-ub", "--use-nccl-ub");
  refused_by_name("transformer-impl", "--transformer-impl inference_optimized");
}

}  // namespace test_megatron_arguments
