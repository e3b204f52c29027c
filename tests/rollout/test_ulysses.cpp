// Distributed under the Boost Software License, Version 1.0.
// DeepSpeed-Ulysses as verl runs it: exchanges of heads for positions by sums on paper, and its tuning scripts' largest batches.
#include <headroom/block/walk.hpp>
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_ulysses {

namespace {

using namespace headroom;

/// verl's GRPO of Qwen2.5 with adapters beside vLLM, by examples/tuning of volcengine/verl: samples of `tokens` on average.
job tuned(const char* model, int gpus, int cut, int micro, int tokens, double share, int tensor) {
  return io::read_job(io::parse_json(std::string{R"({"model": ")"} + model + R"(", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": )" + std::to_string(gpus) + R"(, "host_memory_gib": 2048}, "framework": "hf-trainer",
    "precision": {"parameters": "fp32", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"}, "sharding": "fsdp1",
    "parallel": {"context": )" + std::to_string(cut) + R"(, "context_kind": "ulysses"}, "batch": {"micro": )" + std::to_string(micro) + R"(, "sequence": )" + std::to_string(tokens) + R"(, "padded": false},
    "recompute": "full", "attention": "flash", "objective": {"kind": "grpo", "trainer": "verl", "reference": "adapter-off"}, "adapter": {"kind": "lora", "rank": 32, "targets": "all-linear", "format": "bf16"},
    "rollout": {"engine": "vllm-0.8", "placement": "colocated", "share": )" + std::to_string(share) + R"(, "tensor": )" + std::to_string(tensor) + R"(, "sleep": 1, "prompt": 512, "completion": 1024, "generations": 5,
                "trainer_moves": ["parameters", "optimizer"], "sync_bucket_mib": 0, "sync_groups": 80}})", "job"));
}
std::int64_t logits(const report& r, phase p) { return r.ranks[0].at_phase[static_cast<std::size_t>(p)][row::logits].count(); }

}  // namespace

TEST_CASE("one exchange: what is sent, what comes and what is made of it") {
  // 6,144 elements in two bytes: 12,288 bytes. Along heads what is sent is copied; along the positions of a row it is not.
  for (const bool along_heads : {true, false}) {
    CAPTURE(along_heads);
    program p(1);
    const auto x = p.input(6144, 2, true);
    p.set_output(ops::exchange_pieces(p, x, along_heads));
    const auto there = walk_forward(p, recording::on).peak.total;
    CHECK(there == bytes{(along_heads ? 4 : 3) * 12'288});
    CHECK(walk_forward(p, recording::off).peak.total == there);
    // Backward the other way round: the gradient that comes, what is sent of it where that is a copy, what comes, and what is made of it.
    CHECK(walk_backward(p).peak.total == bytes{(along_heads ? 3 : 4) * 12'288});
  }
}

TEST_CASE("one exchange of a whole tensor") {
  // What is sent or what comes is copied, and the other is not: 12,288 bytes of the tensor, of that one and of the result.
  for (const bool along_heads : {true, false}) {
    program p(1);
    const auto x = p.input(6144, 2, true);
    p.set_output(ops::exchange_pieces(p, x, along_heads, true));
    CHECK(walk_forward(p, recording::on).peak.total == bytes{3 * 12'288});
    CHECK(walk_backward(p).peak.total == bytes{3 * 12'288});
  }
}

TEST_CASE("attention over two ranks: the layer's own q, k and v, those of all positions, and the result twice") {
  const shape m{.layers = 1, .hidden = 64, .heads = 4, .kv_heads = 4, .head_dim = 16, .ffn = 64, .vocab = 8};
  scene s;
  s.model = &m;
  s.samples = 1, s.sequence = 64, s.tokens = 32, s.context = 2, s.context_kind = context_kind::ulysses;
  s.kernel = attention::flash, s.width = 2, s.granule = 1;
  program p(1);
  const auto x = p.input(32 * 64, 2, true);
  ops::heads h;
  h.q = p.make(32 * 64, 2), h.k = p.make(32 * 64, 2), h.v = p.make(32 * 64, 2);
  p.step(x.bit(), (h.q | h.k) | h.v);
  p.set_output(ops::fused_attention(p, s, h));
  // Each of them 4,096 bytes, at the last exchange: q, k and v of 32 positions, which the layer still names, q' and k' of 64 of half the heads, what is
  // sent and what comes of v, and v'.
  CHECK(walk_forward(p).peak.total == bytes{8 * 4096});
  // Saved: q', k', v', the result and the log-sum-exp; what goes on is a tensor of its own.
  CHECK(walk_forward(p).saved == bytes{4 * 4096 + 32 * 4 * 4});
}

TEST_CASE("two heads of keys for eight ranks: each is there four times") {
  const shape m{.layers = 1, .hidden = 128, .heads = 8, .kv_heads = 2, .head_dim = 16, .ffn = 64, .vocab = 8};
  scene s;
  s.model = &m;
  s.context = 8, s.context_kind = context_kind::ulysses;
  program p(1);
  const auto x = p.input(128, 2, true);
  ops::heads h;
  h.q = p.make(128, 2), h.k = p.make(32, 2), h.v = p.make(32, 2);
  p.step(x.bit(), (h.q | h.k) | h.v);
  const auto all = ops::all_positions(p, s, h);
  CHECK(p.elements(all.q) == 128);
  CHECK(p.elements(all.k) == 128);
  CHECK(p.elements(all.v) == 128);
}

TEST_CASE("where layers are not computed again, attention's result is kept as the kernel made it, and as it came back") {
  auto cut = tuned("qwen2.5-7b", 2, 2, 8, 512, 0.2, 2), whole = tuned("qwen2.5-7b", 2, 1, 4, 512, 0.2, 2);
  cut.recompute = whole.recompute = recompute::none;
  const auto kept = [](const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); };
  CHECK(kept(cut) - kept(whole) == 28 * 2048 * 3584LL * 2);  // 28 layers, 2,048 positions of 28 heads of 128, in bf16
}

TEST_CASE("two GPUs cut every sample: half of its tokens on each") {
  const auto whole = estimate(tuned("qwen2.5-7b", 2, 1, 8, 512, 0.2, 2)), half = estimate(tuned("qwen2.5-7b", 2, 2, 8, 512, 0.2, 2));
  // 8 samples of 512 tokens, 152,064 words in bf16; a GPU has 2,048 of the 4,096 tokens.
  CHECK(logits(whole, phase::loss_forward) == 2 * 152'064LL * 4096);
  CHECK(logits(half, phase::loss_forward) == 2 * 152'064LL * 2048);
  // Scores are of half as many tokens, too: half of the logits, and of what a layer makes.
  const auto scored = [](int cut) { return estimate(tuned("qwen2.5-7b", 2, cut, 64, 512, 0.2, 2)).ranks[0][phase::score]; };
  CHECK(scored(1) - scored(2) >= bytes{2 * 152'064LL * 16'384});
  CHECK(scored(1) - scored(2) < bytes{2 * 152'064LL * 16'384 + 12 * 18'944LL * 16'384});
  // Weights and states are over both GPUs either way, as is the engine.
  const auto at = [](const report& r, phase p, row what) { return r.ranks[0].at_phase[static_cast<std::size_t>(p)][what]; };
  for (const auto what : {row::model_parameters, row::adapters, row::optimizer_state, row::gradients}) CHECK(at(half, phase::step, what) == at(whole, phase::step, what));
  // … but for what a batch's numbers take, which are cut, too.
  CHECK(half.ranks[0][phase::generate] <= whole.ranks[0][phase::generate]);
  CHECK(half.ranks[0][phase::generate] + bytes{1 << 20} > whole.ranks[0][phase::generate]);
  // Checkpoints: the input of 28 layers, 3,584 wide, in bf16.
  CHECK(at(half, phase::loss_forward, row::activations) >= bytes{28 * 2 * 3584LL * 2048});
  CHECK(at(half, phase::loss_forward, row::activations) < bytes{36 * 2 * 3584LL * 2048});
  // A sample that cannot be cut evenly is padded.
  CHECK(logits(estimate(tuned("qwen2.5-7b", 2, 2, 1, 513, 0.2, 2)), phase::loss_forward) == 2 * 152'064LL * 257);
}

TEST_CASE("heads go round: as many as the ranks divide, and keys that several ranks share") {
  const auto why = [](const job& j) {
    const auto o = objection_to(j);
    return std::string{o.sentence == nullptr ? "" : o.sentence};
  };
  CHECK(why(tuned("qwen2.5-7b", 4, 4, 4, 512, 0.2, 2)).empty());       // 28 heads, 4 of keys
  CHECK(why(tuned("qwen2.5-14b", 8, 8, 4, 512, 0.2, 2)).empty());      // 40 heads, 8 of keys
  CHECK(why(tuned("qwen2.5-3b", 8, 8, 4, 512, 0.2, 2)).empty());       // 16 heads; 2 of keys, each four times
  CHECK(why(tuned("qwen2.5-7b", 8, 8, 4, 512, 0.2, 2)).find("must divide model.heads") != std::string::npos);
  auto other = tuned("qwen2.5-7b", 4, 4, 4, 512, 0.2, 2);
  other.objective.code = method_code::trl;
  other.objective.reference = reference_way::adapter_off;
  CHECK_FALSE(why(other).empty());
  other = tuned("qwen2.5-7b", 4, 4, 4, 512, 0.2, 2);
  other.batch.padded = true;
  CHECK_FALSE(why(other).empty());
  // Of two heads of keys eight ranks have a copy each: more is held for a moment than where each has its own.
  CHECK(why(tuned("qwen2.5-3b", 2, 2, 4, 512, 0.2, 2)).empty());
}

TEST_CASE("each thing that the exchange of heads is not modelled with is refused by itself") {
  const auto why = [](const job& j) {
    const auto o = detail::check_ulysses(j, objecting{});
    return std::string{o.sentence == nullptr ? "" : o.sentence};
  };
  const auto base = tuned("qwen2.5-7b", 4, 4, 4, 512, 0.2, 2);
  REQUIRE(why(base).empty());
  const auto plain = [&](void (*change)(job&)) {
    auto j = base;
    change(j);
    CHECK(why(j).find("modelled for decoders of plain layers and attention by this version, not compiled") != std::string::npos);
  };
  plain([](job& j) { j.model.experts.count = 8; });
  plain([](job& j) { j.model.mla.kv_rank = 512; });
  plain([](job& j) { j.model.sliding_window = 64; });
  plain([](job& j) { j.model.encoder.layers = 1; });
  plain([](job& j) { j.model.vision.kind = vision_kind::clip; });
  plain([](job& j) { j.model.pattern.period = 2; });
  plain([](job& j) { j.model.attention_softcap = 50; });
  plain([](job& j) { j.model.gated_attention = true; });
  plain([](job& j) { j.model.attention_sinks = true; });
  plain([](job& j) { j.compile = true; });
  // Whose, and of what: verl's GRPO, RLOO, PPO, its critic, which stands as a classifier, and SFT over FSDP; ms-swift's GRPO, SFT and what has no words over
  // what gathers no units.
  using enum objective_kind;
  for (const auto kind : {sft, dpo, kto, orpo, cpo, simpo, reward, classification, embedding, rerank, distill, ppo, grpo, rloo}) {
    CAPTURE(static_cast<int>(kind));
    auto j = base;
    j.objective.kind = kind;
    CHECK(why(j).empty() == (kind == grpo || kind == rloo || kind == ppo || kind == classification || kind == sft));
    j.sharding = zero(2);
    CHECK(why(j).find("is modelled of verl's GRPO, RLOO, PPO and SFT over FSDP") != std::string::npos);
    j.objective.code = method_code::ms_swift, j.batch.packed = true, j.loss.kind = loss_kind::full;
    CHECK(why(j).empty() == (kind == grpo || kind == sft || kind == classification || kind == embedding || kind == rerank));
    j.sharding = fsdp1();
    CHECK(why(j).find("is modelled of verl's GRPO, RLOO, PPO and SFT over FSDP") != std::string::npos);
  }
  // A critic alone: no trainer of verl's tunes a classifier.
  auto tunes = base;
  tunes.objective = {.kind = classification, .code = method_code::verl}, tunes.rollout = {};
  CHECK(objection_to(tunes).sentence != nullptr);
  // ms-swift's fine-tuning by its own loss, each thing by itself.
  const auto own_loss = [&](bool stands, void (*change)(job&)) {
    auto j = base;
    j.objective.kind = sft, j.objective.code = method_code::ms_swift, j.batch.packed = true, j.loss.kind = loss_kind::full, j.sharding = zero(2);
    change(j);
    CHECK(why(j).empty() == stands);
    CHECK((why(j).find("is modelled over DDP and DeepSpeed, by its own loss") != std::string::npos) != stands);
  };
  own_loss(true, [](job&) {});
  own_loss(true, [](job& j) { j.sharding = {.kind = sharding_kind::ddp}; });
  own_loss(false, [](job& j) { j.sharding = {}; });
  own_loss(true, [](job& j) { j.loss.kind = loss_kind::chunked, j.loss.chunk_tokens = 1; });
  own_loss(false, [](job& j) { j.loss.kind = loss_kind::chunked, j.loss.chunk_tokens = 0; });
  own_loss(false, [](job& j) { j.loss.kind = {}; });
  own_loss(false, [](job& j) { j.loss.kind = loss_kind::fused_linear; });
  own_loss(false, [](job& j) { j.loss.balances_experts = true; });
  own_loss(false, [](job& j) { j.loss.logits = formats::fp32; });
  own_loss(false, [](job& j) { j.model.logit_softcap = 30; });
  own_loss(false, [](job& j) { j.model.fused_qkv = true; });
  own_loss(false, [](job& j) { j.adapter.targets.bits |= module_set{module::head}.bits; });
  // Flash attention of samples without padding, which ms-swift joins to rows.
  auto j = base;
  j.attention = attention::sdpa;
  CHECK(why(j).find("attention must be flash") != std::string::npos);
  j = base, j.batch.padded = true;
  CHECK(why(j).find("batch.padded false") != std::string::npos);
  j = base, j.objective.code = method_code::ms_swift, j.sharding = zero(2), j.batch.padded = true;
  CHECK(why(j).find("of ms-swift batch.packed true") != std::string::npos);
  j.batch.packed = true;
  CHECK(why(j).empty());
  // Two heads of keys for four ranks: verl repeats them, ms-swift does not.
  j.model.kv_heads = 2;
  CHECK(why(j).find("divide kv_heads or, of verl, be a multiple of them") != std::string::npos);
  j = base, j.model.kv_heads = 2;
  CHECK(why(j).empty());
  j.model.heads = 30, j.model.kv_heads = 4;
  CHECK_FALSE(why(j).empty());
}

/// modelscope/ms-swift examples/train/sequence_parallel/sequence_parallel_grpo.sh, with fewer and shorter samples.
job swift_cut(int cut, const char* framework, const char* sharding) {
  return io::read_job(io::parse_json(std::string{R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8, "host_memory_gib": 2048}, "framework": ")"} + framework + R"(", "precision": )" +
                                         (std::string_view{framework} == "deepspeed" ? R"("bf16-mixed")" : R"({"parameters": "bf16", "compute": "bf16", "gradients": "bf16", "reduce": "bf16", "master": "none", "state": "bf16"})") + R"(, "sharding": )" + sharding + R"(, "parallel": {"context": )" + std::to_string(cut) + R"(, "context_kind": "ulysses"},
    "batch": {"micro": 4, "accumulation": )" + std::to_string(8 * cut) + R"(, "sequence": 1000, "packed": true}, "recompute": "full", "attention": "flash", "objective": {"kind": "grpo", "trainer": "ms-swift", "reference": "copy"},
    "rollout": {"engine": "vllm", "placement": "separate", "prompt": 401, "completion": 599, "generations": 32, "iterations": 2}})", "job"));
}

TEST_CASE("ms-swift cuts a row, whose logits are divided into a copy") {
  const auto cut = estimate(swift_cut(4, "deepspeed", R"({"kind": "zero", "stage": 3})"));
  // 4 samples of 1,000 tokens on 4 GPUs: 1,000 tokens of 152,064 words, in bf16.
  const std::int64_t part = 2 * 152'064LL * 1000;
  // What the model returned, its quotient by the temperature, and the log-probabilities of the one row.
  CHECK(logits(cut, phase::loss_forward) == 3 * part);
  // Scores are made alike: two GPUs have twice as much, and of a layer's tensors a few are left there.
  const auto more = [&](const char* framework, const char* sharding) { return estimate(swift_cut(2, framework, sharding)).ranks[0][phase::score] - estimate(swift_cut(4, framework, sharding)).ranks[0][phase::score]; };
  CHECK(more("deepspeed", R"({"kind": "zero", "stage": 3})") >= bytes{3 * part});
  CHECK(more("deepspeed", R"({"kind": "zero", "stage": 3})") < bytes{3 * part + part / 10});
  // Without: of a row all behind its first prompt, 4,000 - 400, but for the last of each; divided where they lie, and scored token after token.
  const auto whole = estimate(swift_cut(1, "deepspeed", R"({"kind": "zero", "stage": 3})"));
  CHECK(logits(whole, phase::loss_forward) >= 2 * 2 * 152'064LL * 3596);
  // Under autocast logits leave the model in fp32: they, their quotient, and its exponentials.
  CHECK(more("hf-trainer", R"({"kind": "ddp"})") >= bytes{3 * 2 * part});
  CHECK(more("hf-trainer", R"({"kind": "ddp"})") < bytes{3 * 2 * part + part / 10});
  // Checkpoints: the input of 28 layers, 3,584 wide, in bf16, of 1,000 tokens.
  const auto kept = cut.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations];
  CHECK(kept >= bytes{28 * 2 * 3584LL * 1000});
  CHECK(kept < bytes{36 * 2 * 3584LL * 1000});
  // ZeRO divides states by all eight GPUs.
  const auto states = [](const report& r) { return r.ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::optimizer_state]; };
  CHECK(states(cut) == states(whole));
}

TEST_CASE("where ms-swift goes on in a ring is refused") {
  const auto why = [](const job& j) {
    const auto o = objection_to(j);
    return std::string{o.sentence == nullptr ? "" : o.sentence};
  };
  const auto j = swift_cut(4, "deepspeed", R"({"kind": "zero", "stage": 3})");
  CHECK(why(j).empty());
  auto other = j;
  other.model = *models::find("qwen2.5-3b");  // two heads of keys
  CHECK(why(other).find("divide kv_heads") != std::string::npos);
  other = j, other.batch.packed = false;
  CHECK(why(other).find("of ms-swift batch.packed true") != std::string::npos);
  other = j, other.rollout.generations = 48;  // of 256
  CHECK(why(other).find("rollout.generations must divide") != std::string::npos);
  other.rollout.generations = 1024;  // of as many where each GPU had a row of its own
  CHECK(why(other).find("rollout.generations must divide") != std::string::npos);
  other = j, other.objective.kind = objective_kind::dpo, other.rollout = {};
  CHECK_FALSE(why(other).empty());
}

TEST_CASE("the largest batches of verl's tuning table lie between those of samples of 300 and of 500 tokens") {
  // docs/perf/device_tuning.rst and examples/tuning/*/qwen2-*_grpo-lora_*_h100_fsdp_vllm.sh: ppo_micro_batch_size is 2, 4 or 8 times so many over as
  // many GPUs, so that two GPUs have twice the number; the next larger number ran out of memory. How long GSM8K's samples are is not said: 350 to 450
  // tokens with Qwen's answers. Entropies in the loss (entropy_coeff 0.001) are left out.
  struct row {
    const char* model;
    int gpus, ran, died;
    double share;
  };
  for (const auto& r : {row{"qwen2.5-14b", 2, 58, 59, 0.25}, row{"qwen2.5-32b", 4, 44, 45, 0.3}, row{"qwen2.5-72b", 8, 22, 23, 0.4}}) {
    CAPTURE(std::string{r.model});
    CHECK(estimate(tuned(r.model, r.gpus, 2, 2 * r.ran, 300, r.share, r.gpus)).fits());
    CHECK_FALSE(estimate(tuned(r.model, r.gpus, 2, 2 * r.died, 500, r.share, r.gpus)).fits());
  }
  // One copy of 72,706,203,648 weights in fp32 is read on the node, by its first rank (verl/utils/fsdp_utils.py), not one by each.
  const auto loads = estimate(tuned("qwen2.5-72b", 8, 2, 44, 300, 0.4, 8)).host.per_node;
  CHECK(loads > bytes{4 * 72'706'203'648});
  CHECK(loads < bytes{2 * 4 * 72'706'203'648});
  // … and what ran out far above is said not to fit at 400.
  CHECK_FALSE(estimate(tuned("qwen2.5-32b", 4, 2, 128, 400, 0.3, 4)).fits());
  CHECK_FALSE(estimate(tuned("qwen2.5-72b", 8, 2, 64, 400, 0.4, 8)).fits());
}

}  // namespace test_ulysses
