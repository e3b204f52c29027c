// Distributed under the Boost Software License, Version 1.0.
// What lies beside a language model's linear layers: towers that are quantised or never run, heads of few bits or copied from a tied table, and experts
// that are parameters in four bits. Against sums on paper.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_beside_text {

using namespace headroom;

namespace {

/// bitsandbytes' NF4 with double quantisation of n numbers: two in a byte; a scale of a byte for 64, one of four bytes for 256 scales; a table of 16 fp32
/// numbers and a mean.
long nf4(long n) {
  const long scales = (n + 63) / 64;
  const auto tensor = [](long size) { return (size + 511) / 512 * 512; };  // each of them a block of the allocator's
  return tensor(n / 2) + tensor(scales) + tensor(4 * ((scales + 255) / 256)) + tensor(16 * 4) + tensor(4);
}

job qlora(const shape& m) {
  return {.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 1}, .framework = frameworks::hf_trainer,
          .precision = {.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32, .autocast = choice::yes},
          .batch = {.micro = 1, .sequence = 1024}, .recompute = recompute::full, .attention = attention::flash,
          .adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}, .format = formats::fp32, .base = formats::nf4_double, .base_skips = {module::head}, .rest = formats::bf16}};
}
long weights(const job& j) { return static_cast<long>(states(j).gpu[row::model_parameters].count()); }
std::string why(const job& j) {
  const auto o = objection_to(j);
  return o.sentence == nullptr ? "" : o.sentence;
}

}  // namespace

// peft/utils/other.py, prepare_model_for_kbit_training: "if not is_gptq_quantized" (since 0.5); of AWQ's packed weights nothing is said there.
TEST_CASE("embedding, head and norms beside a quantised base become fp32, unless GPTQ packed it") {
  auto j = qlora(models::llama_2_7b);
  const long beside = 2L * 32'000 * 4096 + 65L * 4096;
  for (const auto& base : {formats::nf4, formats::int8, formats::awq_int4, formats::gptq_int4, formats::gptq_int8}) {
    CAPTURE(base.label.view());
    j.adapter.base = base;
    const auto with = [&](const number_format& rest) {
      j.adapter.rest = rest;
      return weights(j);
    };
    CHECK(with(formats::fp32) - with(formats::bf16) == 2 * beside);
    CHECK(with({}) == with(base.column_bits > 0 ? formats::bf16 : formats::fp32));
  }
}

TEST_CASE("a tower in four bits") {
  // SigLIP So400m of Gemma 3: 27 layers of four matrices of 1,152 × 1,152 and two of 4,304 × 1,152; the projector is 2,560 × 1,152.
  auto j = qlora(models::gemma_3_4b);
  const long whole = weights(j);
  j.adapter.base_also = {module::vision, module::projector};
  const long square = 1152L * 1152, wide = 4304L * 1152, joint = 2560L * 1152;
  const long before = 27 * (4 * 2 * square + 2 * 2 * wide) + 2 * joint;
  CHECK(before == 828'039'168);
  const auto in_room = [](long n) { return nf4(n); };
  const long after = 27 * (4 * in_room(square) + 2 * in_room(wide)) + in_room(joint);
  const long saved = whole - weights(j);
  CHECK(saved == before - after);
  j.adapter.base_also = {module::vision};
  CHECK(weights(j) - (whole - saved) == 2 * joint - nf4(joint));
  CHECK(objection_to(j).sentence == nullptr);
  j.adapter.base_also = {module::q_proj};
  CHECK(why(j).find("adapter.base_also may have lm_head, vision, projector and experts") != std::string::npos);
  j.adapter.base_also = {module::vision};
  j.adapter.base = {};
  CHECK(why(j).find("adapter.base_also needs adapter.base") != std::string::npos);
  j = qlora(models::gemma_3_4b);
  j.adapter.base_also = {module::vision};
  j.hardware.gpus_per_node = 2;
  j.sharding = zero(2);
  j.framework = frameworks::deepspeed;
  CHECK(why(j).find("a quantised tower is not modelled under sharding") != std::string::npos);
}

TEST_CASE("a tower that never runs is its weights, and nothing else") {
  auto alone = models::gemma_3_4b;
  alone.vision = {};
  const auto text = qlora(alone);
  auto beside = qlora(models::gemma_3_4b);
  beside.batch.images.none = true;
  // Its tensors in bf16, counted by module: patches of 14 × 14 × 3 with a bias, 4,096 positions, layers, the last norm; the projector's norm and matrix.
  const long layer = 4 * (1152L * 1152 + 1152) + 2 * 4304L * 1152 + 4304 + 1152 + 4 * 1152;
  const long tower = 1152L * 588 + 1152 + 4096L * 1152 + 27 * layer + 2 * 1152 + 1152 + 2560L * 1152;
  const long more = weights(beside) - weights(text);
  CHECK(more >= 2 * tower);
  CHECK(more < 2 * tower + 27 * 16 * 512 + 8 * 512);
  const auto a = estimate(text), b = estimate(beside);
  for (const auto p : {phase::forward, phase::backward, phase::step}) CHECK((b.ranks[0][p] - a.ranks[0][p]).count() == more);
  auto seeing = beside;
  seeing.batch.images = {};
  CHECK(cost(beside).step.value == doctest::Approx(cost(text).step.value));
  CHECK(cost(beside).model.value == cost(text).model.value);
  CHECK(cost(seeing).step.value > cost(text).step.value);

  beside.adapter = {};
  CHECK(why(beside).find("a tower that never runs has no gradients") != std::string::npos);
  beside = qlora(models::gemma_3_4b);
  beside.batch.images = {.count = 1, .none = true};
  CHECK(why(beside).find("leave the other keys of batch.images out") != std::string::npos);
  auto blind = text;
  blind.batch.images.none = true;
  CHECK(why(blind).find("for a model with a tower beside its text") != std::string::npos);
}

TEST_CASE("a head in four bits") {
  auto j = qlora(models::qwen3_8b);
  const long whole = weights(j), head = 151'936L * 4096;
  j.adapter.base_skips = {};
  j.adapter.base_also = {module::head};
  const long saved = whole - weights(j);
  CHECK(saved == 2 * head - nf4(head));
}

TEST_CASE("PEFT's copy of a head that is the embedding's matrix is a matrix of its own") {
  auto j = qlora(models::llama_3_2_1b);
  const long table = 128'256L * 2048;
  const auto plain = states(j);
  j.adapter.modules_to_save = {module::embedding};
  const auto one = states(j);
  CHECK((one.gpu[row::model_parameters] - plain.gpu[row::model_parameters]).count() == 2 * table);
  j.adapter.modules_to_save = {module::embedding, module::head};
  const auto two = states(j);
  CHECK((two.trained - one.trained).count() == table);
  CHECK((two.gpu[row::model_parameters] - one.gpu[row::model_parameters]).count() == 2 * table);  // what it was copied from is there once
  CHECK((two.gpu[row::optimizer_state] - one.gpu[row::optimizer_state]).count() == 2 * 4 * table);
  CHECK(two.total == one.total);
  // Beside an untied model's, whose head has an original of its own.
  auto untied = j;
  untied.model.tied = false;
  CHECK((states(untied).gpu[row::model_parameters] - two.gpu[row::model_parameters]).count() == 2 * table);
  CHECK(estimate(j).ranks[0].allocated > estimate(qlora(models::llama_3_2_1b)).ranks[0].allocated + bytes{2 * (2 + 8) * table});  // weights and moments of two
  j.sharding = {.kind = sharding_kind::fsdp1, .stage = 3};
  j.hardware.gpus_per_node = 2;
  CHECK(why(j).find("a copy of a head that is the embedding's matrix") != std::string::npos);
}

TEST_CASE("the kernel of queries, keys and values is there where queries come with a gate, too") {
  auto j = qlora(models::qwen3_8b);
  j.model.gated_attention = true;
  j.adapter.targets = {module::q_proj, module::k_proj, module::v_proj};
  j.recompute = recompute::none;
  const auto saved = [](const job& of) { return estimate(of).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); };
  const long apart = saved(j);
  j.kernels = {fused_kernel::adapted_qkv};
  // PEFT keeps x for each of three matrices as A reads it, in fp32 and as autocast makes it; the function keeps one x, in bf16.
  const long x = 36L * 1024 * 4096;
  CHECK(apart - saved(j) > 2 * 2 * x);
  CHECK(apart - saved(j) < 3 * (4 + 2) * x);
}

TEST_CASE("experts that are parameters, in four bits") {
  // Qwen3-30B-A3B: 48 layers of 128 experts, whose three matrices are 768 × 2,048: 603,979,776 numbers a layer.
  constexpr module_set experts{module::experts_gate, module::experts_up, module::experts_down};
  auto skips = qlora(models::qwen3_30b_a3b);
  skips.adapter.base_skips |= experts;
  auto packs = qlora(models::qwen3_30b_a3b);
  packs.adapter.base_also = experts;
  const long n = 603'979'776;
  const long saved = weights(skips) - weights(packs);
  const long both = n / 3 * 2, down = n / 3;
  const long less = 48 * (2 * n - nf4(both) - nf4(down));
  CHECK(saved <= less);
  CHECK(saved > less - 48 * 2 * 1024);
  // While a layer runs its parameters are whole again, and stay for its backward; without recomputation those of every layer do.
  skips.recompute = packs.recompute = recompute::none;
  const auto row_of = [](const job& j, phase p) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(p)][row::gathered_parameters].count(); };
  CHECK(row_of(packs, phase::loss_forward) - row_of(skips, phase::loss_forward) == 48 * 2 * n);
  packs.recompute = recompute::full;
  skips.recompute = recompute::full;
  packs.batch.sequence = skips.batch.sequence = 64;  // so that a layer is taller than the logits
  const long copies = 2 * 8 * (2048 + 4096 + 2048 + 512);  // of q's and v's adapters in bf16, which are there while the experts run, and not at what was the tallest moment
  CHECK(row_of(packs, phase::backward) - row_of(skips, phase::backward) == 2 * n + copies);

  auto neither = qlora(models::qwen3_30b_a3b);
  CHECK(why(neither).find("which bitsandbytes leaves as they are") != std::string::npos);
  packs.adapter.base = formats::gptq_int8;
  CHECK(why(packs).find("experts that are parameters are modelled in 4 or 8 bits alone") != std::string::npos);
}

TEST_CASE("experts that are parameters, in eight bits, and in fp32 beside a quantised base") {
  constexpr module_set experts{module::experts_gate, module::experts_up, module::experts_down};
  auto skips = qlora(models::qwen3_30b_a3b);
  skips.adapter.base = formats::int8;
  skips.adapter.base_skips |= experts;
  auto packs = qlora(models::qwen3_30b_a3b);
  packs.adapter.base = formats::int8;
  packs.adapter.base_also = experts;
  // A byte a number, and a fp32 number for each of 2 × 768 + 2,048 rows of 128 experts, where 16-bit numbers were.
  const long n = 603'979'776, scales = 128L * (2 * 768 + 2048) * 4;
  CHECK(weights(skips) - weights(packs) == 48 * (2 * n - n - scales));
  skips.recompute = packs.recompute = recompute::none;
  const auto row_of = [](const job& j, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][r].count(); };
  CHECK(row_of(packs, row::gathered_parameters) - row_of(skips, row::gathered_parameters) == 48 * 4 * n);  // made fp32 whenever they are read, and kept by their products
  // In fp32 twice as large as in bf16. 1,024 tokens visit 8 experts each: of a row gate and up (1,536 numbers), the activation (768) and what comes back
  // (2,048) are kept, all in the experts' format, as the products take it.
  auto wide = skips;
  wide.adapter.rest_experts = formats::fp32;
  CHECK(weights(wide) - weights(skips) == 48 * 2 * n);
  CHECK(row_of(wide, row::activations) - row_of(skips, row::activations) == 48L * 1024 * 8 * (1536 + 768 + 2048) * 2);
  CHECK(row_of(packs, row::activations) == row_of(wide, row::activations));
  CHECK(cost(wide).step.value > cost(skips).step.value);

  wide.adapter.base_skips = {module::head};
  CHECK(why(wide).find("adapter.rest_experts is the format") != std::string::npos);
  auto dense = qlora(models::llama_3_2_1b);
  dense.adapter.rest_experts = formats::fp32;
  CHECK(why(dense).find("adapter.rest_experts is the format") != std::string::npos);
}

TEST_CASE("how fast experts are multiplied beside a quantised base") {
  constexpr module_set experts{module::experts_gate, module::experts_up, module::experts_down};
  auto j = qlora(models::qwen3_30b_a3b);
  j.adapter.base_skips |= experts;
  j.recompute = recompute::none;
  j.batch.sequence = 2048;  // 128 rows of an expert: whole tiles
  const auto with = [&](const number_format& rest) {
    j.adapter.rest_experts = rest;
    return cost(j).matmul.value;
  };
  // A frozen expert's product runs forward once and backward once: 48 layers, 8 experts of 2,048 tokens, three matrices of 768 x 2,048.
  constexpr double work = 2.0 * 2 * 48 * 8 * 2048 * 3 * 768 * 2048;
  const auto fp32_apart = [&](const gpu& g, double fp32) {
    j.hardware.gpu = g;
    const double rate = machine_of(j.hardware, g, rates_of(g), formats::bf16, 0.5).matmul_16, half = with(formats::bf16), wide = with(formats::fp32), tf32 = with(formats::tf32);
    CHECK(wide - half == doctest::Approx(work / (0.8 * fp32) - work / rate).epsilon(0.001));
    return (tf32 - half) * rate / work;
  };
  CHECK(fp32_apart(gpus::h100_sxm_80gb, 67e12) == doctest::Approx(1).epsilon(0.001));  // half the rate of 16 bits
  j.adapter.base = formats::nf4_double;
  j.hardware.gpu = gpus::mi300x_192gb;  // no TF32 of torch's there
  CHECK(with(formats::tf32) == with(formats::fp32));

  // Four bits become bf16, whatever the parameters' format is: no product is in fp32.
  auto packs = qlora(models::qwen3_30b_a3b);
  packs.adapter.base_also = experts;
  packs.precision.parameters = formats::fp32;
  const double fp32 = cost(packs).matmul.value;
  packs.precision.parameters = formats::bf16;
  CHECK(fp32 == cost(packs).matmul.value);
  // Bytes become fp32.
  packs.adapter.base = formats::int8;
  CHECK(cost(packs).matmul.value > 2 * fp32);
  const double plain = cost(packs).matmul.value;
  packs.adapter.rest_experts = formats::fp32;
  CHECK(cost(packs).matmul.value == plain);
  packs.adapter.rest_experts = formats::tf32;
  CHECK(cost(packs).matmul.value < plain / 2);
  CHECK(weights(packs) == weights([&] { auto k = packs; k.adapter.rest_experts = {}; return k; }()));
  packs.adapter.rest_experts = formats::bf16;
  CHECK(why(packs).find("adapter.rest_experts is the format") != std::string::npos);
}

}  // namespace test_beside_text
