// Distributed under the Boost Software License, Version 1.0.
// What must hold between two predicted step times, what a time assumes, and times that papers publish of a single mechanism.
#include <headroom/cost/bounds.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/report/cost_assumptions.hpp>
#include <headroom/model/zoo.hpp>

#include "both.hpp"
#include "own.hpp"

#include <cmath>
#include <vector>

namespace test_cost_orders {

using namespace headroom;

namespace {

constexpr job plain{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8}, .parallel = {.data = 16},
                    .sharding = fsdp2(), .batch = {.micro = 1, .sequence = 4096}};

/// One job for each kind of traffic.
std::vector<job> plans() {
  std::vector<job> all{plain};
  for (const auto& s : {ddp(), zero(1), zero(2), zero(3), fsdp1(), megatron_fsdp()}) {
    all.push_back(plain);
    all.back().sharding = s;
  }
  job j = plain;
  j.framework = frameworks::megatron;
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  j.batch.accumulation = 8;
  j.parallel = {.data = 2, .tensor = 4, .sequence = true, .pipeline = 2};
  all.push_back(j);
  j.parallel = {.data = 1, .tensor = 8, .sequence = true, .pipeline = 1, .context = 2};
  all.push_back(j);
  j.parallel = {.data = 1, .tensor = 1, .pipeline = 16};
  all.push_back(j);
  j.model = models::mixtral_8x7b;
  j.parallel = {.data = 16, .expert = 8};
  all.push_back(j);
  return all;
}

double seconds_of(const job& j) { return cost(j).step.value; }

}  // namespace

TEST_CASE("a slower network never makes a step faster, nor do slower links") {
  for (job j : plans()) {
    double last = 0;
    for (const std::int64_t gbit : {12800, 3200, 1600, 800, 400, 100, 10}) {
      j.hardware.network_gbit = gbit;
      CHECK(seconds_of(j) >= last);
      last = seconds_of(j);
    }
    last = 0;
    for (const std::int32_t link : {900, 450, 300, 100, 31}) {
      j.hardware.gpu.link_gb_s = link;
      CHECK(seconds_of(j) >= last);
      last = seconds_of(j);
    }
  }
}

TEST_CASE("a faster GPU of the same memory never makes a step slower") {
  for (job j : plans()) {
    const double before = seconds_of(j);
    const auto faster = [&](auto gpu::* rate) {
      job k = j;
      k.hardware.gpu.*rate = k.hardware.gpu.*rate * 3 / 2;
      CHECK(seconds_of(k) <= before);
    };
    faster(&gpu::matmul_tflops_x10);
    faster(&gpu::bf16_tflops_x10);
    faster(&gpu::fp32_tflops_x10);
    faster(&gpu::bandwidth_gb_s);
    faster(&gpu::link_gb_s);
  }
}

TEST_CASE("computing again is never faster") {
  for (job j : plans()) {
    const double none = seconds_of(j);
    j.recompute = {.mode = recompute_mode::selective, .modules = 1U << static_cast<int>(recompute_module::core_attn), .policy = recompute_policy::attention_only};
    const double attention = seconds_of(j);
    j.recompute = recompute::full;
    CHECK(none <= attention);
    CHECK(attention <= seconds_of(j));
  }
}

TEST_CASE("what the processor starts again takes its time, too") {
  // A layer so small that the GPU waits for every operation: forward starts its operations, backward as many, and recomputation those of
  // forward again, whether it decides by layer or by operation. So a layer takes 3 for 2. Ends cancel out between two numbers of layers.
  const auto of_a_layer = [](const recompute& r) {
    job j{.model = {.layers = 8, .hidden = 64, .heads = 4, .ffn = 128, .vocab = 256}, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::torchtitan_202508,
          .batch = {.micro = 1, .sequence = 32}, .recompute = r};
    const auto few = cost(j);
    CHECK(few.assumptions.has(time_assumption::host_bound));
    j.model.layers = 16;
    const auto many = cost(j);
    return (many.step.value - many.optimizer.value - few.step.value + few.optimizer.value) / 8;
  };
  const double once = of_a_layer({});
  CHECK(of_a_layer(recompute::full) / once == doctest::Approx(1.5));
  CHECK(of_a_layer({.mode = recompute_mode::selective, .policy = recompute_policy::every_other_matmul}) / once == doctest::Approx(1.5));
}

TEST_CASE("at a fixed global batch, more data-parallel ranks compute less each") {
  for (job j : plans()) {
    j.batch.accumulation = 16;
    const auto few = cost(j);
    j.hardware.nodes *= 2, j.parallel.data *= 2, j.batch.accumulation = 8;
    const auto many = cost(j);
    CHECK(many.tokens == few.tokens);
    CHECK(many.model.value == few.model.value);
    CHECK(many.matmul / few.matmul == doctest::Approx(0.5));
    CHECK(many.attention / few.attention == doctest::Approx(0.5));
    CHECK(many.step < few.step);
  }
}

TEST_CASE("frozen weights need no gradients: 4 N a token instead of 6") {
  // Hu et al. 2021, section 4.2: no gradients for the vast majority of parameters. Linear layers: forward, and that of the inputs.
  job j = plain;
  const auto full = cost(j).matmul;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}};
  CHECK(cost(j).matmul / full == doctest::Approx(4.0 / 6).epsilon(0.03));
}

TEST_CASE("an update on the processor takes what ZeRO-Offload's takes") {
  // Ren et al. 2021, ZeRO-Offload, table 4, as it is remembered: CPU-Adam updates 4 and 10 billion parameters in 1.03 and 2.57 s on a DGX-2: 0.257 s a billion.
  job j{.model = models::llama_2_7b, .hardware = {.gpu = gpus::v100_sxm2_32gb, .nodes = 1, .gpus_per_node = 16}, .framework = frameworks::deepspeed,
        .precision = precisions::fp16_mixed, .parallel = {.data = 16}, .sharding = zero(2), .batch = {.micro = 1, .sequence = 1024}};
  j.offload.optimizer = place::on_cpu;
  const double moved = 2 * 2 * 6.738415616e9 / 16 / 15.75e9;  // 16-bit gradients down and weights up, a sixteenth a GPU, over PCIe 3.0
  CHECK(cost(j).offload.value - moved == doctest::Approx(6.738 * 0.257).epsilon(0.15));
}

TEST_CASE("fp8 with a scale a row is as much slower than with one a tensor as torchao measured") {
  // pytorch/ao docs/source/workflows/training.md, 8 H100, torchtitan, batch 1, 8192 tokens, compiled, FSDP2, selective recompute by operation:
  // 7,689.5 tokens a second tensorwise with gathers in fp8, 6,768 rowwise with gathers in bf16.
  job j{.model = models::llama_3_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::torchtitan_202504, .sharding = fsdp2(),
        .batch = {.micro = 1, .sequence = 8192}, .recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::every_other_matmul}, .compile = true};
  j.precision = j.framework.precision;
  j.precision.compute = formats::fp8;
  j.framework.fp8.scaling = fp8_scaling::row;
  const auto row = cost(j);
  j.framework.fp8.scaling = fp8_scaling::tensor, j.framework.sharding.gathers_in_fp8 = true;
  CHECK(cost(j).step / row.step == doctest::Approx(6768 / 7689.5).epsilon(0.01));
}

TEST_CASE("every GPU of the table has a time, and says whose rates those are") {
  for (const auto& g : gpus::all) {
    CAPTURE(std::string(g.label.view()));
    job j = plain;
    j.hardware.gpu = g;
    if (g.maker == vendor::cpu || g.fp16_tflops_x10 == 0 || compiles_whole_programs(g)) {
      CHECK_THROWS(cost(j));
      continue;
    }
    j.precision = precisions::fp16_mixed;
    const auto c = cost(j);
    CHECK(c.mfu() > 0.1);
    CHECK(c.mfu() < 0.75);
    const bool measured = g.maker == vendor::nvidia && (g.compute_capability == 80 || g.compute_capability / 10 == 9 || g.compute_capability / 10 == 10);
    CHECK(c.assumptions.has(time_assumption::rates_of_another_gpu) == !measured);
    CHECK(c.assumptions.has(time_assumption::best_matmul_assumed) == (g.matmul_tflops_x10 == 0));
    const auto sure = bounds(c);
    CHECK(sure.high / sure.low > (measured ? 1.2 : 2.0));  // what is borrowed is known less well
  }
  // Fewer of a chip's links, no other chip.
  job j = plain;
  const double h100 = seconds_of(j);
  j.hardware.gpu = gpus::h800_sxm_80gb;
  CHECK(seconds_of(j) >= h100);
  CHECK(cost(j).matmul.value == cost(plain).matmul.value);
  // bf16 without units for it is no faster than 32 bits.
  j.hardware.gpu = gpus::v100_sxm2_32gb;
  CHECK(cost(j).assumptions.has(time_assumption::formats_without_units));
  CHECK(cost(j).matmul > 4 * [&] { job k = j; k.precision = precisions::fp16_mixed; return cost(k).matmul; }());
}

// Megatron-LM core/tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication: of a layer's four sums (Shoeybi et al. 2019,
// figure 4) the two of backward run beside a weight gradient; with sequence parallelism their scatters do, their gathers do not.
TEST_CASE("gradients of inputs are added up behind weight gradients") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::megatron, .parallel = {.tensor = 4}, .batch = {.micro = 4, .sequence = 4096}};
  job waits = j;
  waits.framework.communication.overlaps_input_gradients = false;
  const double one = 2 * (30e-6 + 0.75 * 4 * 4096 * 4096 * 2 / (0.60 * 300e9));  // an all-reduce of a tensor of the residual stream over four
  const auto hidden = [](const job& with, const job& without) { return (cost(without).communication - cost(with).communication).value; };
  CHECK(hidden(j, waits) == doctest::Approx(32 * 2 * one * 0.78));
  j.parallel.sequence = waits.parallel.sequence = true;
  CHECK(hidden(j, waits) == doctest::Approx(32 * one * 0.78));
}

TEST_CASE("what a time assumes has a sentence, and a job that assumes it") {
  time_assumption_set seen;
  const auto note = [&](const job& j) { seen.bits |= cost(j).assumptions.bits; };
  for (const auto& j : plans()) note(j);
  job j = plain;
  j.hardware.gpu = gpus::rtx_4090;
  note(j);
  j = plain;
  j.framework = frameworks::megatron_bridge;
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  note(j);
  j.framework.graphs.capture = graph_capture::by_engine;
  note(j);
  CHECK(!cost(j).assumptions.has(time_assumption::host_bound));
  j.framework.graphs.capture = graph_capture::none;
  j.framework.recipe.known = true;
  note(j);
  j = plain;
  j.framework = *frameworks::find("torchtitan", 202506);
  j.compile = true;
  note(j);
  j.precision = precisions::fp8;
  note(j);
  j.hardware.gpu = gpus::mi250x_128gb;  // no units for fp8
  note(j);
  j = plain;
  j.model.layers = 2, j.model.hidden = 512, j.model.ffn = 1024, j.batch.sequence = 128;
  CHECK(cost(j).assumptions.has(time_assumption::host_bound));
  note(j);
  j = plain;
  j.sharding = zero(3);
  j.offload.optimizer = place::on_nvme;
  note(j);
  j = plain;
  j.sharding = ddp();
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}, .base = formats::nf4};
  note(j);
  j = plain;
  j.hardware.others = {{gpus::a100_sxm_80gb, j.hardware.gpus() / 2}};
  note(j);
  j = {.model = *models::find("llama-2-7b"), .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::nanotron_bench2,
       .parallel = {.pipeline = 8}, .batch = {.sequence = 1024, .accumulation = 16}};
  note(j);
  j = {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .sharding = zero(3), .batch = {.micro = 8, .sequence = 1024}, .recompute = recompute::full,
       .objective = {.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::none},
       .rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.6), .sleep = 2, .prompt = 512, .completion = 512, .generations = 8}};
  note(j);
  j = {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .sharding = zero(3), .batch = {.sequence = 8192}, .attention = attention::flash};
  note(j);
  seen.bits |= cost(own::half(plain, own::dense), own_layers{own::silent_half{}}).assumptions.bits;
  std::vector<std::string_view> said;
  for (int i = 0; i < time_assumption_count; ++i) {
    CAPTURE(i);
    const auto a = static_cast<time_assumption>(i);
    CHECK(seen.has(a));
    const auto sentence = io::assumption_text(a);
    CHECK(sentence.size() > 20);
    CHECK(sentence.back() == '.');
    for (const auto& other : said) CHECK(other != sentence);
    said.push_back(sentence);
  }
}

// cost/rates.hpp: FlashAttention-2 sustains 0.25 of an H100's peak, cuDNN's kernel 0.55.
TEST_CASE("torch's own attention is cuDNN's on Hopper since 2.11") {
  const auto seconds_with = [](const gpu& g, attention kernel, std::int32_t torch) {
    job j = plain;
    j.hardware.gpu = g;
    j.attention = kernel;
    j.environment.torch = torch;
    return cost(j).attention.value;
  };
  const auto& hopper = gpus::h100_sxm_80gb;
  const double first = seconds_with(hopper, attention::sdpa, 0);
  CHECK(seconds_with(hopper, attention::sdpa, 210) == first);
  for (const std::int32_t torch : {211, 214}) CHECK(first / seconds_with(hopper, attention::sdpa, torch) == doctest::Approx(0.55 / 0.25));
  CHECK(seconds_with(hopper, attention::flash, 214) == first);
  for (const auto& g : {gpus::a100_sxm_80gb, gpus::b200_sxm_180gb}) CHECK(seconds_with(g, attention::sdpa, 214) == seconds_with(g, attention::sdpa, 0));
}

TEST_CASE("a framework's date says which attention is torch's own, and torchtitan asks for cuDNN's") {
  const auto seconds_under = [](const profile& f, attention kernel, std::int32_t torch) {
    job j = plain;
    j.framework = f;
    j.attention = kernel;
    j.environment.torch = torch;
    return cost(j).attention.value;
  };
  const double first = seconds_under(frameworks::hf_trainer_202601, attention::sdpa, 0);
  CHECK(seconds_under(frameworks::hf_trainer, attention::sdpa, 210) == first);
  CHECK(first / seconds_under(frameworks::hf_trainer, attention::sdpa, 0) == doctest::Approx(0.55 / 0.25));
  CHECK(seconds_under(frameworks::hf_trainer, attention::flash, 0) == first);
  for (const auto kernel : {attention::sdpa, attention::flash}) {
    const double before = seconds_under(frameworks::torchtitan_202508, kernel, 0);
    for (const auto* f : {&frameworks::torchtitan_202510, &frameworks::torchtitan_202602, &frameworks::torchtitan_202607})
      CHECK(before / seconds_under(*f, kernel, 210) == doctest::Approx(0.55 / 0.25));
  }
}

// An H20 multiplies at 142.2 of its 148 TFLOP/s (zzc0721/torch-performance-test-data issue 77), an H100 at 794.5 of its 989.
TEST_CASE("attention on a Hopper that keeps its clock sustains more of the peak") {
  const auto on = [](const gpu& g) {
    job j = plain;
    j.hardware.gpu = g;
    j.attention = attention::flash3;
    return cost(j);
  };
  const auto slow = on(gpus::h20_96gb), fast = on(gpus::h100_sxm_80gb);
  CHECK(slow.attention.value / fast.attention.value == doctest::Approx(794.5 / 142.2).epsilon(1e-3));
  CHECK(slow.matmul.value / fast.matmul.value == doctest::Approx(794.5 / 142.2).epsilon(1e-3));
  CHECK(slow.memory.value < fast.memory.value);  // 4.0 and 3.35 TB/s
  CHECK(on(gpus::h200_sxm_141gb).attention.value == doctest::Approx(fast.attention.value));
}

// Peaks of NVIDIA's data sheets, dense, in PFLOP/s: B200 4.5 and 9, GB300 5 and 15.
TEST_CASE("four bits multiply twice as fast as eight on Blackwell, and three times on Blackwell Ultra") {
  const auto matmul_of = [](const gpu& g, const number_format& f) { return machine_of({.gpu = g}, g, rates_of(g), f, 0.5); };
  const double shares = calibrated::blackwell.matmul_fp4 / calibrated::blackwell.matmul_fp8;
  for (const auto& [g, times] : {std::pair{gpus::b200_sxm_180gb, 2.0}, std::pair{gpus::gb200_186gb, 2.0}, std::pair{gpus::gb300_288gb, 3.0}}) {
    const auto four = matmul_of(g, formats::nvfp4), eight = matmul_of(g, formats::fp8), sixteen = matmul_of(g, formats::bf16);
    CHECK(four.matmul / eight.matmul == doctest::Approx(times * shares));
    CHECK(four.peak == doctest::Approx(times * eight.peak));
    CHECK(four.matmul_16 == sixteen.matmul_16);
    CHECK(four.attention == sixteen.attention);
  }
  CHECK(matmul_of(gpus::h100_sxm_80gb, formats::nvfp4).matmul == matmul_of(gpus::h100_sxm_80gb, formats::bf16).matmul);  // no such units
  CHECK(lacks_units(gpus::h100_sxm_80gb, formats::nvfp4));
  CHECK_FALSE(lacks_units(gpus::b200_sxm_180gb, formats::nvfp4));
}

// torchtitan's experts are grouped multiplications: a kernel, however many experts there are. transformers before 5 runs one after another.
TEST_CASE("grouped experts start as many kernels whatever their number") {
  const auto launch_of = [](const profile& f, std::int64_t experts) {
    job j = plain;
    j.framework = f;
    j.model.experts = {.count = experts, .active = 8, .ffn = 768};
    j.recompute = headroom::recompute::full;
    return cost(j);
  };
  const auto few = launch_of(frameworks::torchtitan_202508, 16), many = launch_of(frameworks::torchtitan_202508, 128);
  CHECK(many.launch.value <= few.launch.value * (1 + 1e-9));  // what a difference of sums rounds to
  CHECK(launch_of(frameworks::hf_trainer_202503, 128).step.value > 2 * launch_of(frameworks::hf_trainer_202503, 16).step.value);
  CHECK(launch_of(frameworks::hf_trainer_202503, 128).step.value > 2 * many.step.value);
}

// Attention's pairs are those of a sample: of a row of 32,768 tokens that are sixteen samples they are a sixteenth, of which a job that does not say so knows nothing.
TEST_CASE("where rows may hold several samples, a time reaches as far as their attention does") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .sharding = zero(3), .batch = {.sequence = 32'768}, .recompute = recompute::full,
        .attention = attention::flash};
  using enum time_assumption;
  const auto unsaid = cost(j);
  CHECK(unsaid.assumptions.has(documents_unknown));
  j.batch.packed = true;
  j.batch.lengths = {.mean = 32'768, .most = 32'768};
  const auto whole = cost(j);
  CHECK_FALSE(whole.assumptions.has(documents_unknown));
  CHECK(whole.step.value == doctest::Approx(unsaid.step.value));
  j.batch.lengths = {.mean = 2048, .most = 2048};
  const auto short_ones = cost(j);
  CHECK(whole.attention / short_ones.attention == doctest::Approx(16).epsilon(0.01));
  CHECK(bounds(unsaid).contains(short_ones.step));
  CHECK_FALSE(bounds(whole).contains(short_ones.step));
  // A factor is 1 + r + r² / 2 with r = 2.776 deviations: their squares differ by (attention / 2 step)².
  const auto squares = [](const step_cost& c) {
    const double r = std::sqrt(2 * bounds(c).high.value / c.step.value - 1) - 1;
    return r * r / (2.776 * 2.776);
  };
  const double half = unsaid.attention / unsaid.step / 2;
  CHECK(squares(unsaid) - squares(whole) == doctest::Approx(half * half).epsilon(0.01).scale(0));
  // A mask says that a row is one sample and what it is padded with; other attention of the Trainer's is not told where samples begin.
  j.batch = {.sequence = 4096, .padded = true};
  CHECK_FALSE(cost(j).assumptions.has(documents_unknown));
  j.batch.padded = false;
  j.attention = attention::sdpa;
  CHECK_FALSE(cost(j).assumptions.has(documents_unknown));
  j.framework = frameworks::megatron_swift;
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  j.attention = attention::te;
  CHECK(cost(j).assumptions.has(documents_unknown));
  j.framework = frameworks::megatron;
  CHECK_FALSE(cost(j).assumptions.has(documents_unknown));
}

TEST_CASE("a range holds its time, and grows with confidence") {
  constexpr auto c = cost(plain);
  constexpr auto half = bounds(c, 0.5), usual = bounds(c), most = bounds(c, 0.99);
  BOTH(half.low < c.step);
  BOTH(c.step < half.high);
  BOTH(usual.low < half.low);
  BOTH(half.high < usual.high);
  BOTH(usual.high < most.high);
  CHECK(c.step / usual.low == doctest::Approx(usual.high / c.step));  // errors are factors
}

}  // namespace test_cost_orders
