// Distributed under the Boost Software License, Version 1.0.
// What a pipeline stage holds, counted by hand from the papers and from Megatron-LM's source. s sequence, b micro-batch, h hidden,
// a heads, p stages; X = 2·s·b·h, a tensor of the residual stream.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace test_stages {

using namespace headroom;

namespace {

constexpr std::int64_t s = 1024, b = 2, h = 512, a = 8, vocab = 32000;
constexpr std::int64_t x = 2 * s * b * h;
constexpr std::int64_t scores = a * s * s * b;
// Equation 1 of Korthikanti et al. 2022 with two norms' statistics, mean and deviation in fp32.
constexpr std::int64_t layer = 34 * s * b * h + 5 * scores + 4 * 4 * s * b;

job gpt(std::int64_t layers, std::int64_t pipeline, std::int64_t chunks = 1) {
  job j;
  j.model = {.layers = layers, .hidden = h, .heads = a, .ffn = 4 * h, .mlp = mlp_kind::plain, .activation = activation_kind::gelu,
             .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true,
             .position = position_kind::learned, .max_positions = s, .vocab = vocab, .tied = true};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = pipeline};
  j.framework = frameworks::megatron;
  j.framework.attention.masks_in_loader = false;
  j.parallel = {.data = 1, .pipeline = pipeline, .virtual_pipeline = chunks};
  j.batch = {.micro = b, .sequence = s, .accumulation = 4 * pipeline};
  j.attention = attention::eager;
  j.dropout = {{100'000}, {100'000}, {0}};
  return j;
}

std::int64_t at(const report& r, std::int64_t stage, phase p, row of) { return r.ranks[static_cast<std::size_t>(stage)].at_phase[static_cast<std::size_t>(p)][of].count(); }

/// What a layer's program keeps for the gradients of its weights.
std::int64_t kept_for_weights(const job& j) {
  const auto settled = settle(j);
  auto sc = settled.layer;
  sc.model = &settled.model;
  sc.granule = 1;
  return detail::walk_divided_layer(sc, trained_modules(j, -1), sc.model->kind_of(0), false, true).kept.total.count();
}

}  // namespace

TEST_CASE("layers of a weight in a chunk are those that are in both, one by one") {
  for (std::int64_t first = 0; first < 5; ++first)
    for (std::int64_t count = 0; count < 6; ++count)
      for (std::int64_t stride = 1; stride < 4; ++stride)
        for (std::int64_t from = 0; from < 12; ++from)
          for (std::int64_t width = 0; width < 8; ++width) {
            const layer_span span{first, count, stride};
            std::int64_t both = 0;
            for (auto at = from; at < from + width; ++at)
              for (std::int64_t i = 0; i < count; ++i) both += at == first + i * stride ? 1 : 0;
            const auto counted = detail::layers_within(span, {.index = 0, .first = from, .count = width});
            REQUIRE_MESSAGE(counted == both, first, " ", count, " ", stride, " ", from, " ", width);
          }
}

TEST_CASE("layers that do not stand evenly are found, counted and cut as a list of them is") {
  std::mt19937_64 draw{20'261};
  for (int round = 0; round < 200; ++round) {
    const auto layers = std::uniform_int_distribution<std::int64_t>{1, layer_span::most_irregular}(draw);
    std::vector<std::int64_t> listed;
    layer_span span;
    for (std::int64_t i = 0; i < layers; ++i)
      if (draw() % 3 == 0) listed.push_back(i), span.add_irregular(i);
    if (listed.empty()) continue;
    REQUIRE(span.count == static_cast<std::int64_t>(listed.size()));
    REQUIRE(span.first == listed.front());
    for (std::size_t n = 0; n < listed.size(); ++n) REQUIRE(span.at(static_cast<std::int64_t>(n)) == listed[n]);
    for (std::int64_t from = 0; from <= layers + 1; ++from) {
      REQUIRE(span.has(from) == std::binary_search(listed.begin(), listed.end(), from));
      REQUIRE(span.below(from) == std::lower_bound(listed.begin(), listed.end(), from) - listed.begin());
      const auto cut = span.within(from, from + 17);
      const auto begin = std::lower_bound(listed.begin(), listed.end(), from), end = std::lower_bound(listed.begin(), listed.end(), from + 17);
      REQUIRE(cut.count == end - begin);
      for (auto one = begin; one != end; ++one) REQUIRE(cut.at(one - begin) == *one);
    }
  }
}

// Qi et al. 2023, table 1: the weight-gradient pass of a layer holds 32·s·b·h (the inputs of its four matrices, 2 + 2 + 2 + 8, and
// the gradients of their results, 6 + 2 + 8 + 2), whatever attention keeps.
TEST_CASE("a backward without gradients of weights leaves 32·s·b·h a layer") { CHECK(kept_for_weights(gpt(4, 1)) == 32 * s * b * h); }

// Section 3.1: ZB-H1 holds as many micro-batches as 1F1B's first stage, and less of each after its backward.
TEST_CASE("ZB-H1 needs no more than 1F1B on its first stage, and its later stages hold what waits for weight gradients") {
  auto j = gpt(16, 4);
  const auto plain = estimate(j);
  j.parallel.schedule = schedule::zero_bubble;
  const auto split = estimate(j);
  CHECK(at(split, 0, phase::backward, row::activations) <= at(plain, 0, phase::backward, row::activations));
  // Stage 2 of 4 runs one forward ahead. When its forward would be the fifth held, weight gradients of the oldest follow; until then
  // it holds 2 micro-batches for backward and 2 for weights, where 1F1B holds 2.
  const auto each = 4 * 32 * s * b * h;
  const auto more = at(split, 2, phase::backward, row::activations) - at(plain, 2, phase::backward, row::activations);
  CHECK(more == 2 * each);
}

// DeepSeek-V3 report, table 2: DualPipe holds 2× the parameters and PP + 1 micro-batches' activations.
TEST_CASE("DualPipe: both ends' layers on each stage, and one micro-batch more") {
  auto j = gpt(16, 8);
  const auto plain = estimate(j);
  j.parallel.schedule = schedule::dualpipe;
  const auto dual = estimate(j);
  for (std::int64_t stage = 1; stage < 7; ++stage) {
    const auto parameters = [&](const report& r) { return at(r, stage, phase::load, row::model_parameters); };
    CHECK(parameters(dual) == 2 * parameters(plain));
  }
  // The middle of the forward phase: 8 micro-batches held and the ninth running, each 2 layers. 1F1B's stage 1 holds 6, one running.
  const auto held = [&](const report& r) { return at(r, 1, phase::forward, row::activations); };
  CHECK(held(dual) - held(plain) == 2 * 2 * layer);
}

// Megatron-LM core/transformer/transformer_block.py: method block checkpoints the first N layers of each chunk, method uniform puts N
// layers in a checkpoint.
TEST_CASE("full recomputation of some layers") {
  auto j = gpt(12, 1);
  const auto with = [&](recompute_method method, std::int64_t n) {
    j.recompute = {.mode = recompute_mode::full, .method = method, .layers = n};
    return estimate(j);
  };
  const auto loss = [&](const report& r) { return at(r, 0, phase::loss_forward, row::activations); };
  CHECK(loss(with(recompute_method::block, 4)) - loss(with(recompute_method::block, 5)) == layer - x);
  CHECK(loss(with(recompute_method::block, 12)) == loss(with(recompute_method::unset, 0)));
  CHECK(loss(with(recompute_method::uniform, 1)) - loss(with(recompute_method::uniform, 4)) == (12 - 3) * x);
  CHECK(loss(with(recompute_method::uniform, 5)) - loss(with(recompute_method::uniform, 4)) == 0);  // 5 + 5 + 2: three checkpoints
  // Per chunk: with two chunks on each of two stages, 2 of 3 layers of each.
  auto k = gpt(12, 2, 2);
  k.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 2};
  const auto some = at(estimate(k), 1, phase::loss_forward, row::activations);
  k.recompute.layers = 3;
  // The last stage holds its first chunk of two micro-batches and runs its second: three times one layer.
  CHECK(some - at(estimate(k), 1, phase::loss_forward, row::activations) == 3 * (layer - x));
  // Backward makes a checkpoint's layers again: all but the last of it whole, beside the other checkpoints' inputs.
  const auto backward = [&](std::int64_t n) { return at(with(recompute_method::uniform, n), 0, phase::backward, row::activations); };
  j.attention = attention::eager;
  CHECK(backward(6) - backward(4) == 2 * layer - x);
}

// Megatron-LM core/transformer/multi_token_prediction.py. On the last stage: the module's projection (2h × h), three norms (weight
// and bias), one layer; the embedding is a copy where it lies on another stage, which a tied head has made already.
TEST_CASE("multi-token prediction: parameters") {
  constexpr std::int64_t own = 12 * h * h + 13 * h + 2 * h * h + 3 * 2 * h;
  for (const bool tied : {false, true}) {
    auto j = gpt(8, 2);
    j.model.tied = tied;
    const auto plain = estimate(j);
    j.model.mtp_layers = 1;
    const auto more = estimate(j);
    CHECK(at(more, 0, phase::load, row::model_parameters) == at(plain, 0, phase::load, row::model_parameters));
    CHECK(at(more, 1, phase::load, row::model_parameters) - at(plain, 1, phase::load, row::model_parameters) == 2 * (own + (tied ? 0 : vocab * h)));
    CHECK(more.parameter_count.total.count() - plain.parameter_count.total.count() == own);
  }
}

// While the model's own logits are made (2 bytes) and cast (4), the module's softmax (4) waits for backward.
TEST_CASE("multi-token prediction: logits and activations") {
  auto j = gpt(8, 2);
  const auto plain = estimate(j);
  j.model.mtp_layers = 1;
  const auto one = estimate(j);
  j.model.mtp_layers = 2;
  const auto two = estimate(j);
  const auto logits = [&](const report& r) { return at(r, 1, phase::loss_forward, row::logits); };
  CHECK(logits(plain) == 6 * s * b * vocab);
  CHECK(logits(one) - logits(plain) == 4 * s * b * vocab);
  CHECK(logits(two) - logits(one) == 4 * s * b * vocab);
  // A module more keeps: the embedding's result and the hidden state before it (X each, with statistics of 8 bytes a token each), both
  // side by side (2X), a layer, the layer's result (X and statistics), its part of the joined hidden states (X), the masks of its loss.
  const auto activations = at(two, 1, phase::loss_forward, row::activations) - at(one, 1, phase::loss_forward, row::activations);
  CHECK(activations == layer + 6 * x + 3 * 8 * s * b + 9 * s * b);
}

// core/tensor_parallel/cross_entropy.py: logits.float() of fp32 logits is no copy, and the gradient is made in place.
TEST_CASE("in fp32 the loss works on the logits themselves") {
  auto j = gpt(4, 1);
  j.precision = precisions::fp32;
  const auto r = estimate(j);
  CHECK(at(r, 0, phase::loss_forward, row::logits) == 4 * s * b * vocab);
  CHECK(at(r, 0, phase::backward, row::logits) <= 4 * s * b * vocab);
}

// core/pipeline_parallel/schedules.py, see boundary_tensors and interleaved_tensors.
TEST_CASE("what the schedule's variables hold on the last stage") {
  const auto held = [](const report& r, std::int64_t stage, phase p) { return at(r, stage, p, row::communication_buffers) / x; };
  const auto plain = estimate(gpt(16, 4));
  CHECK(held(plain, 3, phase::loss_forward) == 2);  // the used graph's input and its gradient
  CHECK(held(plain, 1, phase::forward) == 3);       // … and the gradient of the output
  CHECK(held(plain, 0, phase::forward) == 1);
  CHECK(held(plain, 3, phase::step) == 2);          // TransformerBlock.input_tensor and its gradient
  CHECK(held(plain, 0, phase::step) == 0);
  auto j = gpt(16, 4, 2);
  CHECK(held(estimate(j), 3, phase::loss_forward) == 3);
  CHECK(held(estimate(j), 3, phase::step) == 4);
  CHECK(held(estimate(j), 0, phase::step) == 2);
  j.framework.pipeline.overlaps_warm_up = true;
  CHECK(held(estimate(j), 3, phase::loss_forward) == 1);
  j.framework.pipeline.microbatch_group = 6;  // gradients come 6 - 4 steps ahead
  j.batch.accumulation = 12;
  CHECK(held(estimate(j), 3, phase::loss_forward) == 3);
}

// Groups of G micro-batches: 2·(p - stage - 1) + (v - 1)·G forwards before the first backward, and one more held during it.
static_assert(in_flight({schedule::interleaved, 4, 3, 24, 6}, 0) == 2 * 3 + 2 * 6 + 1);
static_assert(in_flight({schedule::interleaved, 4, 3, 24, 6}, 3) == 2 * 6 + 1);
static_assert(in_flight({schedule::interleaved, 4, 3, 24, 4}, 2) == in_flight({schedule::interleaved, 4, 3, 24}, 2));

// The mask that the loader makes, b·s² booleans, is alive in forward alone, unless a checkpoint saves it for every micro-batch held.
TEST_CASE("the loader's attention mask") {
  auto j = gpt(16, 4);
  const auto without = estimate(j);
  j.framework.attention.masks_in_loader = true;
  const auto with = estimate(j);
  const auto more = [&](const report& r, const report& than, std::int64_t stage, phase p) { return at(r, stage, p, row::activations) - at(than, stage, p, row::activations); };
  CHECK(more(with, without, 0, phase::forward) == b * s * s);
  CHECK(more(with, without, 0, phase::backward) == 0);
  CHECK(more(with, without, 1, phase::forward) == 0);
  CHECK(more(with, without, 3, phase::loss_forward) == b * s * s);
  j.recompute = headroom::recompute::full;
  const auto saved = estimate(j);
  j.framework.attention.masks_in_loader = false;
  CHECK(more(saved, estimate(j), 0, phase::backward) == 4 * b * s * s);
}

// RotaryEmbedding.forward caches s × d angles in fp32; without the fused kernel each layer saves cosine and sine, in bf16, for q and k.
TEST_CASE("rotary embedding") {
  auto j = gpt(8, 1);
  j.model.position = position_kind::rope;
  const auto fused = estimate(j);
  j.framework.rotary.writes_out = true;
  constexpr std::int64_t d = h / a;
  CHECK(at(estimate(j), 0, phase::loss_forward, row::activations) - at(fused, 0, phase::loss_forward, row::activations) == 8 * 4 * s * d * 2);
  j.framework.rotary.writes_out = false;
  j.model.rotary_percent = 50;
  CHECK(at(fused, 0, phase::step, row::activations) - at(estimate(j), 0, phase::step, row::activations) == s * d / 2 * 4);
}

// TransformerEngine backends.py FlashAttention: the kernel's b-s-h-d result is saved, and its transposed copy is the projection's input.
TEST_CASE("flash attention's result is copied where b > 1, under ring context parallelism, too") {
  for (const std::int64_t context : {1, 2}) {
    auto j = gpt(8, 1);
    j.hardware.gpus_per_node = context;
    j.parallel.context = context;
    j.attention = attention::flash;
    const auto copied = at(estimate(j), 0, phase::loss_forward, row::activations);
    j.attention = attention::te;  // cuDNN on Hopper
    CHECK(copied - at(estimate(j), 0, phase::loss_forward, row::activations) == 8 * x / context);
  }
}

// param_and_grad_buffer.py _ParamAndGradBuffer.__init__: a buffer of parameters and one of fp32 gradients are made beside all parameters, which
// are then copied into it and go. 8 layers of 12h² + 13h, two norms' weights and biases behind them, s positions and a table of 32,000 rows.
TEST_CASE("loading: parameters move into buffers under the distributed optimizer, chunk by chunk") {
  constexpr std::int64_t each = 12 * h * h + 13 * h, table = (vocab + s) * h, all = 8 * each + 2 * h + table;
  auto j = gpt(8, 1);
  j.hardware.gpus_per_node = 4;
  j.parallel.data = 4;
  const auto load = [&](std::int64_t stage, row of) { return at(estimate(j), stage, phase::load, of); };
  CHECK(load(0, row::model_parameters) == 2 * all);
  CHECK(load(0, row::gradients) == 4 * all);
  j.sharding.kind = sharding_kind::megatron_distributed_optimizer;
  CHECK(load(0, row::model_parameters) == 2 * all + 2 * all);
  CHECK(load(0, row::gradients) == 4 * all);
  // Two stages of two chunks with two layers each. Stage 0 has the tables in its first chunk: parameters of both are there, the second chunk's
  // move last, beside all gradients. Stage 1 has the final norm, and a copy of the table for its head.
  j.hardware.nodes = 2;
  j.parallel.pipeline = j.parallel.virtual_pipeline = 2;
  CHECK(load(0, row::model_parameters) + load(0, row::gradients) == 2 * (4 * each + table) + std::max(2 * (2 * each + table) + 4 * (2 * each + table), 2 * 2 * each + 4 * (4 * each + table)));
  CHECK(load(1, row::model_parameters) == 2 * (4 * each + 2 * h + vocab * h) + 2 * (2 * each + 2 * h + vocab * h));
  CHECK(load(1, row::gradients) == 4 * (4 * each + 2 * h + vocab * h));
  // Until 2024-03 they stayed where they were made.
  j.framework = frameworks::megatron_2023;
  CHECK(load(1, row::model_parameters) == 2 * (4 * each + 2 * h + vocab * h));
}

// group_params_for_buffers: experts have a buffer of their own where they are divided over ranks (allreduce is false). 8 of two h × h a layer.
TEST_CASE("loading: experts move last, where they are divided") {
  auto j = gpt(4, 1);
  j.model.mlp_bias = false;
  j.model.experts = {.count = 8, .active = 2, .ffn = h};
  j.hardware.gpus_per_node = j.parallel.data = 4;
  j.sharding.kind = sharding_kind::megatron_distributed_optimizer;
  const auto load = [&] { return estimate(j).ranks[0][phase::load].count(); };
  const auto all = [&] { return at(estimate(j), 0, phase::step, row::model_parameters) / 2; };
  CHECK(load() == 2 * all() + (2 + 4) * all());
  j.parallel.expert = 2;
  constexpr std::int64_t experts = 4 * 4 * 2 * h * h;
  const auto dense = all() - experts;
  CHECK(load() == 2 * all() + std::max((2 + 4) * dense, 2 * experts + 4 * all()));
  CHECK(load() < 2 * all() + (2 + 4) * all());
}

// distrib_optimizer.py and TransformerEngine's FusedAdam: what the optimizer keeps, and makes for a step.
TEST_CASE("bytes of the optimizer") {
  auto j = gpt(8, 1);
  j.hardware.gpus_per_node = 4;
  j.parallel.data = 4;
  j.sharding.kind = sharding_kind::megatron_distributed_optimizer;
  const auto n = at(estimate(j), 0, phase::step, row::model_parameters) / 2;
  const auto step = [&](row r) { return at(estimate(j), 0, phase::step, r); };
  CHECK(step(row::gradients) == 4 * n);
  CHECK(step(row::master_parameters) == n);    // 4 bytes over 4 ranks
  CHECK(step(row::optimizer_state) == 2 * n);  // 8
  CHECK(step(row::temporaries) == 0);
  // Reduced in bf16: half the buffer, but each shard's gradient becomes fp32 for the step.
  j.precision = j.framework.precision;
  j.precision.gradients = formats::bf16;
  CHECK(step(row::gradients) == 2 * n);
  CHECK(step(row::temporaries) == n);
  // Precision-aware: gradients as they are, the low half of the master, moments in bf16 that are copied to fp32 (before 2026-02).
  j.framework.optimizer.precision_aware = true;
  j.precision.state = formats::bf16;
  CHECK(step(row::master_parameters) == n / 2);
  CHECK(step(row::optimizer_state) == n);
  CHECK(step(row::temporaries) == 2 * n);
  j.framework.optimizer.unscales_moments = false;
  CHECK(step(row::temporaries) == 0);
  // Moments with a scale of their own are still made fp32 for the step, one after the other (fused_adam.py get_unscaled_state).
  j.precision.state = formats::fp16;
  CHECK(step(row::temporaries) == 2 * n);
  j.precision.state = formats::fp8;
  CHECK(step(row::temporaries) >= 2 * n);
  CHECK(step(row::temporaries) < 2 * n + n / 50);
  j.precision.state = formats::bf16;
  // With an fp8 recipe named that is not delayed (optimizer_config.py): a whole master again, and the shard's gradient in fp32.
  j.framework.fp8.names_recipe = true;
  CHECK(step(row::master_parameters) == n);
  CHECK(step(row::optimizer_state) == n);
  CHECK(step(row::temporaries) == n);
}

// core/optimizer/emerging_optimizers.py _is_nonlinear_or_embedding: Muon's momentum for the matrices of layers and learned positions (s × h),
// which core/models/common/language_module does not flag; AdamW's two moments for embeddings, head and vectors.
TEST_CASE("Muon keeps one moment of matrices and two of all else") {
  auto j = gpt(8, 1);
  j.optimizer = optimizers::muon;
  j.sharding = ddp();
  const auto n = at(estimate(j), 0, phase::load, row::model_parameters) / 2;
  CHECK(at(estimate(j), 0, phase::step, row::optimizer_state) == 8 * n - 4 * (8 * 12 * h * h + s * h));
}

// TransformerEngine module/linear.py: in fp8 each linear layer saves a quantised input of its own, a byte an element. Of 34·s·b·h with a
// fused kernel: both norms' outputs 2 -> 1, the activation's result 8 -> 4; the kernel still saves its result, beside the projection's 1.
TEST_CASE("fp8: activations and weights") {
  auto j = gpt(8, 1);
  j.attention = attention::te;
  const auto wide = estimate(j);
  const auto n = at(wide, 0, phase::load, row::model_parameters) / 2;
  constexpr std::int64_t linear = 8 * 12 * h * h;
  j.precision = j.framework.precision;
  j.precision.compute = formats::fp8;
  const auto loss = [&](const report& r) { return at(r, 0, phase::loss_forward, row::activations); };
  CHECK(loss(wide) - loss(estimate(j)) == 8 * (34 - 29) * s * b * h);
  // bf16 weights, and fp8 copies with their transposes for Hopper's multiplications; Blackwell's need none, but for scales by block.
  const auto copies = [&] { return at(estimate(j), 0, phase::step, row::workspace) - at(wide, 0, phase::step, row::workspace); };
  CHECK(copies() == 2 * linear);
  j.framework.fp8.scaling = fp8_scaling::block;
  CHECK(copies() == 2 * (linear + linear / 128 / 128 * 4));  // squares of 128 with a scale of fp32
  j.framework.fp8.scaling = fp8_scaling::tensor;
  // fp8-param-gather: those are the parameters.
  j.precision.parameters = formats::fp8;
  CHECK(at(estimate(j), 0, phase::load, row::model_parameters) == 2 * n);
  j.hardware.gpu = gpus::gb200_186gb;
  CHECK(at(estimate(j), 0, phase::load, row::model_parameters) == 2 * n - linear);
}

// TransformerEngine mxfp8_tensor.py and nvfp4_tensor.py: a byte for a number and one for 32, or for 2 and one for 16. By hand of 34·s·h: the
// norms' outputs 2 + 2 and the activation's result 8 are two bytes for each of 6·s·h numbers; the projection's input is s·h more.
TEST_CASE("mxfp8 and nvfp4: activations and weights, with their scales") {
  auto j = gpt(8, 1);
  j.attention = attention::te;
  j.hardware.gpu = gpus::gb200_186gb;
  j.batch.micro = 1;  // of more, the kernel's result is transposed into a copy
  const auto wide = estimate(j);
  constexpr std::int64_t linear = 8 * 12 * h * h, numbers = s * h;
  const auto loss = [&](const report& r) { return at(r, 0, phase::loss_forward, row::activations); };
  const auto copies = [&] { return at(estimate(j), 0, phase::step, row::workspace) - at(wide, 0, phase::step, row::workspace); };
  j.precision = j.framework.precision;
  j.precision.compute = formats::fp8;
  j.framework.fp8.scaling = fp8_scaling::block;
  CHECK(loss(wide) - loss(estimate(j)) == 8 * (12 * numbers - 7 * (numbers + numbers / 32)));
  CHECK(copies() == 2 * (linear + linear / 32));
  j.precision.compute = formats::nvfp4;
  CHECK(loss(wide) - loss(estimate(j)) == 8 * (12 * numbers - 7 * (numbers / 2 + numbers / 16)));
  CHECK(copies() == 2 * (linear / 2 + linear / 16));
  CHECK(estimate(j).assumptions.has(assumption::nvfp4_by_source));
  CHECK(objection_to(j).sentence == nullptr);
  j.hardware.gpu = gpus::h100_sxm_80gb;
  CHECK(std::string_view{objection_to(j).sentence}.find("needs Blackwell") != std::string_view::npos);
}

namespace {

/// A sparse model on one stage, whose forward is tallest in its last layer, above a small head.
job sparse(token_dispatcher how) {
  auto j = gpt(4, 1);
  j.model.vocab = 128;
  j.model.mlp = mlp_kind::gated;
  j.model.experts = {.count = 8, .active = 4, .ffn = h};
  j.hardware.gpus_per_node = 4;
  j.parallel.data = 4;
  j.parallel.expert = 4;
  j.attention = attention::te;
  j.dropout = {};
  j.framework.experts.dispatcher = how;
  return j;
}

}  // namespace

// core/transformer/moe/moe_layer.py, token_dispatcher.py; 4 of 8 experts a token, two on each rank: N = 4·s·b copies, 2·N·h = 4·X bytes.
TEST_CASE("what the dispatchers hold") {
  // While the experts' results are sorted back, the tokens permuted and received, the results and the sorted ones are alive: 4 · 4X;
  // DeepEP permutes what it received, and sends what it has put back: 3 · 4X.
  const auto forward = [&](token_dispatcher how) { return at(estimate(sparse(how)), 0, phase::forward, row::activations); };
  CHECK(forward(token_dispatcher::all_to_all) - forward(token_dispatcher::flex) == 4 * x);
  // All-gather: the results (4X) and those at the places of all tokens of four ranks (4X); and one global buffer for those tokens.
  CHECK(forward(token_dispatcher::all_to_all) - forward(token_dispatcher::all_gather) == 4 * 4 * x - 2 * 4 * x);
  const auto buffer = [&](token_dispatcher how) { return at(estimate(sparse(how)), 0, phase::step, row::communication_buffers); };
  CHECK(buffer(token_dispatcher::all_gather) == 4 * x);
  CHECK(buffer(token_dispatcher::all_to_all) == 0);
}

}  // namespace test_stages
