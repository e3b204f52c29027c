// Distributed under the Boost Software License, Version 1.0.
// A step on a machine of which one part alone takes time: all else is as fast as can be. What is left is counted by hand, from the papers.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_one_part_alone {

using namespace headroom;

namespace {

constexpr double fast = 1e25;
constexpr std::int64_t h = 1024, f = 4096, heads = 8, kv_heads = 2, vocab = 32768, s = 2048, b = 2, layers = 8, micros = 6;
constexpr double kv = 1.0 * h / heads * kv_heads;
constexpr double matrices = 2.0 * h * h + 2.0 * h * kv + 3.0 * h * f, head = 1.0 * vocab * h;

rates none() {
  rates r{.matmul = fast, .matmul_fp8 = fast, .flash_first = fast, .flash = fast, .flash_fast = fast, .memory = fast, .link = fast, .network = fast, .gap = 0};
  r.unaligned = fast, r.host_operation = r.host_compiled = r.host_kernel = r.host_step = r.kernel_gap = r.latency = r.hop = r.round = r.host_collective = r.stall = r.channels = r.step = 0;
  r.host_memory = r.nvme = 1e40;
  return r;
}
rates only(double rates::* part) {
  auto r = none();
  r.*part = 0.5;
  return r;
}
job megatron(std::int64_t depth = layers) {
  return {.model = {.layers = depth, .hidden = h, .heads = heads, .kv_heads = kv_heads, .ffn = f, .vocab = vocab, .tied = false}, .hardware = {.gpu = gpus::h100_sxm_80gb},
          .framework = frameworks::megatron, .parallel = {.data = 1}, .batch = {.micro = b, .sequence = s, .accumulation = micros}, .attention = attention::flash};
}
double link() { return 0.5 * 1e9 * gpus::h100_sxm_80gb.link_gb_s; }
/// What the layers between two depths take.
double of_layers(job deep, job shallow, const rates& r) { return cost(deep, r).step.value - cost(shallow, r).step.value; }
template <class Change>
double of_layers(const Change& change, const rates& r) {
  auto deep = megatron(), shallow = megatron(layers / 2);
  change(deep), change(shallow);
  return of_layers(deep, shallow, r);
}
void same(double a, double c) { CHECK(a == doctest::Approx(c).epsilon(1e-6).scale(0)); }

}  // namespace

TEST_CASE("multiplications: three passes, and one more where layers are computed again") {
  const double rate = 0.5 * 1e11 * gpus::h100_sxm_80gb.matmul_tflops_x10, pass = micros * 2.0 * b * s / rate;
  auto j = megatron();
  same(cost(j, only(&rates::matmul)).step.value, 3 * pass * (layers * matrices + head));
  j.recompute = recompute::full;
  same(cost(j, only(&rates::matmul)).step.value, pass * (4 * layers * matrices + 3 * head));
  j.recompute.method = recompute_method::block, j.recompute.layers = 2;
  same(cost(j, only(&rates::matmul)).step.value, pass * ((3 * layers + 2) * matrices + 3 * head));
}

// Passes over one model's matrices: a step has three of what it trains on, a forward one. Rafailov et al. 2023 (DPO): pairs, and the reference's forward of both.
// Ethayarajh et al. 2024 (KTO), section 4.1: the policy and the reference also score each prompt with another's answer, without gradients.
TEST_CASE("methods that compare: a forward for each model and each answer that it scores") {
  const double rate = 0.5 * 1e11 * gpus::h100_sxm_80gb.matmul_tflops_x10, pass = micros * 2.0 * b * s / rate * (layers * matrices + head);
  const auto passes = [&](objective_kind kind, method_code code, reference_way reference = reference_way::unset) {
    auto j = megatron();
    j.framework = frameworks::hf_trainer, j.precision = precisions::bf16, j.objective = {.kind = kind, .code = code, .reference = reference};
    return cost(j, only(&rates::matmul)).step.value / pass;
  };
  using enum objective_kind;
  same(passes(sft, method_code::unset), 3);
  for (const auto code : {method_code::trl, method_code::ms_swift, method_code::llama_factory}) {
    CAPTURE(static_cast<int>(code));
    same(passes(dpo, code, reference_way::copy), 2 * (3 + 1));
    same(passes(kto, code, reference_way::copy), 3 + 1 + 2);
    same(passes(orpo, code), 2 * 3);
  }
  same(passes(dpo, method_code::trl, reference_way::precomputed), 2 * 3);
  same(passes(kto, method_code::trl, reference_way::precomputed), 3 + 1);  // the reference's scores of both answers are there
  // One score in the head's place: its result and its own gradient are a column, which takes a tile of 128; the gradient of its input is one product wide.
  same(passes(reward, method_code::trl), 2 * (3 * layers * matrices + (128 + 128 + 1) * h) / (layers * matrices + head));
}

// Ouyang et al. 2022, as TRL's PPO runs it in one process: policy and critic train (three passes each), and the critic, the reward model and the reference run
// forward once; critic and reward model have a score in the head's place, whose column takes a tile of 128. What generates is bound by memory, which takes no time here.
TEST_CASE("PPO in one process: two models train, three run forward") {
  const double rate = 0.5 * 1e11 * gpus::h100_sxm_80gb.matmul_tflops_x10, of_layers = micros * 2.0 * b * s / rate * (layers * matrices), of_head = micros * 2.0 * b * s / rate * head;
  auto j = megatron();
  j.framework = frameworks::hf_trainer, j.precision = precisions::bf16;
  j.objective = {.kind = objective_kind::ppo, .code = method_code::trl, .reference = reference_way::copy, .frozen = {.model = j.model}, .critic = {.model = j.model}};
  j.rollout = {.engine = engine_kind::trainer, .prompt = s / 2, .completion = s / 2};
  const auto c = cost(j, only(&rates::matmul));
  const double scores = micros * 2.0 * b * s / rate * (128 + 128 + 1 + 128 + 128) * h;  // the critic's result and two gradients, its values, the rewards
  same(c.step.value - c.generation.value, (3 + 3 + 1 + 1 + 1) * of_layers + (3 + 1) * of_head + scores);
}

// Huang et al. 2019; Narayanan et al. 2021, section 2.2: while the first micro-batch comes and the last one goes, p - 1 stages' turns; of v chunks one v-th.
TEST_CASE("a pipeline: its last stage has the head, and sets the pace") {
  const double rate = 0.5 * 1e11 * gpus::h100_sxm_80gb.matmul_tflops_x10, pass = 3 * 2.0 * b * s / rate;
  auto j = megatron();
  j.parallel.pipeline = 4, j.hardware.gpus_per_node = 4, j.batch.accumulation = 8;
  same(cost(j, only(&rates::matmul)).step.value, pass * (8 * (2 * matrices + head) + 3 * 2 * matrices));
  j.parallel.schedule = schedule::gpipe;
  same(cost(j, only(&rates::matmul)).step.value, pass * (8 * (2 * matrices + head) + 3 * 2 * matrices));
  j.parallel.schedule = {}, j.parallel.virtual_pipeline = 2;
  same(cost(j, only(&rates::matmul)).step.value, pass * (8 * (2 * matrices + head) + 3 * 2 * matrices / 2));
}

// One process that walks through the layers wherever they lie (accelerate big_modeling.py dispatch_model): no GPU works beside another.
TEST_CASE("layers spread over GPUs take turns") {
  const double rate = 0.5 * 1e11 * gpus::h100_sxm_80gb.matmul_tflops_x10, pass = micros * 2.0 * b * s / rate;
  for (const std::int64_t n : {1, 2, 4}) {
    auto j = megatron();
    j.framework = frameworks::hf_trainer, j.precision = precisions::bf16;
    if (n > 1) j.parallel.pipeline = n, j.parallel.schedule = schedule::naive, j.hardware.gpus_per_node = n;
    same(cost(j, only(&rates::matmul)).step.value, 3 * pass * (layers * matrices + head));
  }
}

// Routed experts: as many as a token visits, and the shared one.
TEST_CASE("experts: those that a token visits") {
  const double rate = 0.5 * 1e11 * gpus::h100_sxm_80gb.matmul_tflops_x10;
  const auto sparse = [](job& j) { j.model.experts = {.count = 8, .active = 2, .ffn = 2048, .shared = 1, .shared_ffn = 1024}; };
  const double each = 2.0 * h * h + 2 * h * kv + 2 * 3.0 * h * 2048 + 3.0 * h * 1024;
  const double found = of_layers(sparse, only(&rates::matmul)), said = micros * 3 * 2.0 * b * s * each * (layers / 2) / rate;
  CHECK(found > said);         // the router
  CHECK(found < 1.03 * said);  // of 8 columns, which take a tile of 128
}

// Dao 2023: a causal kernel computes half of the square; forward two multiplications, backward five.
TEST_CASE("attention: half a square, seven multiplications") {
  const double rate = 0.5 * 1e11 * gpus::h100_sxm_80gb.bf16_tflops_x10;
  const double one = 2.0 * b * s * s / 2 * h;
  for (double rates::* kernel : {&rates::flash, &rates::flash_fast}) {
    auto j = megatron();
    if (kernel == &rates::flash_fast) j.attention = attention::flash3, j.framework = frameworks::hf_trainer;
    else j.framework = frameworks::hf_trainer;
    same(cost(j, only(kernel)).step.value, micros * layers * 7 * one / rate);
  }
}

// Shoeybi et al. 2019, section 3: two all-reduces of a layer in forward and two in backward, each twice a share (n - 1) / n of a tensor of the residual
// stream. Korthikanti et al. 2022, section 4.2.2: with sequence parallelism gathers and scatters move as much.
TEST_CASE("tensor parallelism: four all-reduces of a layer") {
  for (const bool scatters : {false, true})
    for (const std::int64_t n : {2, 4}) {
      const auto cut = [&](job& j) { j.parallel.tensor = n, j.parallel.sequence = scatters, j.hardware.gpus_per_node = n, j.model.kv_heads = heads; };
      same(of_layers(cut, only(&rates::link)), micros * (layers / 2) * 4 * 2.0 * static_cast<double>(n - 1) / static_cast<double>(n) * 2 * b * s * h / link());
    }
}

// Liu et al. 2023: keys and values go around the ring in forward, and with their gradients in backward. Jacobs et al. 2023, section 3.2 (Ulysses): q, k, v and the
// result are exchanged.
TEST_CASE("context parallelism: keys and values around a ring, or heads for tokens") {
  constexpr double n = 4, token = 2.0 * b * s / n;
  const auto cut = [](context_kind kind) {
    return [kind](job& j) { j.parallel.context = 4, j.parallel.context_kind = kind, j.hardware.gpus_per_node = 4, j.model.kv_heads = heads; };
  };
  const auto sent = [&](context_kind kind) {
    auto deep = megatron(), shallow = megatron(layers / 2);
    cut(kind)(deep), cut(kind)(shallow);
    const auto seconds = [](const job& j) { return cost(j, only(&rates::link)).communication.value; };
    return seconds(deep) - seconds(shallow);
  };
  same(sent(context_kind::ring), micros * (layers / 2) * 3 * (n - 1) * token * 2 * h / link());
  same(sent(context_kind::all_gather), micros * (layers / 2) * 3 * (n - 1) * token * 2 * h / link());
  same(sent(context_kind::ulysses), micros * (layers / 2) * 2 * (n - 1) / n * token * 4 * h / link());
}

// Lepikhin et al. 2020: tokens go to their experts and come back, in forward and in backward.
TEST_CASE("expert parallelism: four exchanges of a layer") {
  const auto cut = [](job& j) {
    j.model.experts = {.count = 8, .active = 2, .ffn = 2048};
    j.parallel.expert = 4, j.parallel.data = 4, j.hardware.gpus_per_node = 4;
    j.sharding.kind = sharding_kind::ddp;
  };
  auto deep = megatron(), shallow = megatron(layers / 2);
  cut(deep), cut(shallow);
  const auto exchanged = [&](const job& j) { return cost(j, only(&rates::link)).communication.value; };
  same(exchanged(deep) - exchanged(shallow), micros * (layers / 2) * 4 * 0.75 * 2.0 * 2 * b * s * h / link());
}

// Rajbhandari et al. 2020, section 7: an all-reduce of all gradients, or a scatter of them and a gather of the weights; stage 3 gathers twice, for each micro-batch.
TEST_CASE("data parallelism: what a step sends") {
  const double all = layers * (matrices + 2 * h) + 2 * head + h, n = 8, once = (n - 1) / n * all / link();
  const auto sent = [&](const profile& framework, const sharding& how, std::int64_t accumulation) {
    auto j = megatron();
    j.framework = framework, j.sharding = how, j.batch.accumulation = accumulation;
    j.parallel.data = 8, j.hardware.gpus_per_node = 8;
    return cost(j, only(&rates::link)).data_parallel.value;
  };
  same(sent(frameworks::libtorch, ddp(), 6), 2 * 2 * once);
  same(sent(frameworks::megatron, sharding{.kind = sharding_kind::ddp}, 6), 2 * 4 * once);  // gradients in fp32
  same(sent(frameworks::megatron, sharding{.kind = sharding_kind::megatron_distributed_optimizer}, 6), (4 + 2) * once);
  same(sent(frameworks::deepspeed, zero(1), 6), (2 * 2 + 2) * once);
  same(sent(frameworks::deepspeed, zero(2), 6), (6 * 2 + 2) * once);
  // Of nine units the first gather and the last scatter are beside nothing.
  const double third = sent(frameworks::deepspeed, zero(3), 6);
  CHECK(third >= 6 * 3 * 2 * once * (1 - 1e-9));
  CHECK(third <= 6 * (3 * 2 + 2 * 2.0 / 9) * once * (1 + 1e-9));
}

// Megatron-LM core/parallel_state.py: the ranks that hold the same experts are every eighth GPU, one on each node, and each has that node's network for itself; a ring of
// all ranks has a node's eight. Where no other rank has the same experts, nothing of them is sent.
TEST_CASE("data parallelism of experts: between the ranks that have the same ones") {
  constexpr std::int64_t count = 16, width = 512;
  const double network = 0.5 * 1.25e8 * 400 / 8, dense = layers * (2.0 * h * h + 2.0 * h * kv + 2 * h + count * h) + 2 * head + h, experts = layers * 3.0 * h * width * count;
  const auto sent = [&](std::int64_t expert, sharding_kind kind) {
    auto j = megatron();
    j.model.experts = {.count = count, .active = 2, .ffn = width};
    j.sharding = {.kind = kind};
    j.parallel.data = 16, j.parallel.expert = expert, j.hardware.gpus_per_node = 8, j.hardware.nodes = 2, j.hardware.network_gbit = 400;
    return cost(j, only(&rates::network)).data_parallel.value;
  };
  const double share = 15 / 16.0 * dense / (8 * network), pair = 1 / 2.0 * experts / 8 / network;
  same(sent(8, sharding_kind::megatron_distributed_optimizer), (4 + 2) * (share + pair));
  same(sent(16, sharding_kind::megatron_distributed_optimizer), (4 + 2) * share);
  same(sent(1, sharding_kind::megatron_distributed_optimizer), (4 + 2) * 15 / 16.0 * (dense + experts) / (8 * network));
  same(sent(8, sharding_kind::ddp), 2 * 4 * (share + pair));
}

// core/distributed/param_and_grad_buffer.py: a buffer's shards are as many as the ranks of its group.
TEST_CASE("the update of experts: by the ranks that have the same ones") {
  constexpr std::int64_t count = 16, width = 512;
  const double bandwidth = 0.5 * 1e9 * gpus::h100_sxm_80gb.bandwidth_gb_s, dense = layers * (2.0 * h * h + 2.0 * h * kv + 2 * h + count * h) + 2 * head + h, experts = layers * 3.0 * h * width * count;
  const auto updated = [&](std::int64_t expert) {
    auto j = megatron();
    j.model.experts = {.count = count, .active = 2, .ffn = width};
    j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer};
    j.parallel.data = 16, j.parallel.expert = expert, j.hardware.gpus_per_node = 8, j.hardware.nodes = 2;
    return cost(j, only(&rates::memory)).optimizer.value * bandwidth / (2 * 4 + 2 * 2 * 4 + 4 + 2 + 4 * 4);  // as below, with gradients of fp32
  };
  same(updated(1), (dense + experts) / 16);
  same(updated(8), dense / 16 + experts / 8 / 2);
  same(updated(16), dense / 16 + experts / 16);
}

// Bytes of a parameter: fused Adam reads and writes an fp32 copy and two moments, reads a 16-bit gradient and writes the weight; the norm reads gradients,
// clipping reads and writes them, zeroing writes them.
TEST_CASE("the update: each byte once") {
  const double all = layers * (matrices + 2 * h) + 2 * head + h, bandwidth = 0.5 * 1e9 * gpus::h100_sxm_80gb.bandwidth_gb_s;
  auto j = megatron();
  j.framework = frameworks::deepspeed;
  j.sharding = zero(1);
  j.parallel.data = 8, j.hardware.gpus_per_node = 8;
  same(cost(j, only(&rates::memory)).optimizer.value, all / 8 * (2 * 4 + 2 * 2 * 4 + 2 + 2 + 4 * 2) / bandwidth);
  // On the processor: gradients come over PCIe and weights go back, and a node's memory moves what all its ranks update.
  j.offload.optimizer = place::on_cpu;
  auto pcie = none();
  pcie.network = 0.5;
  same(cost(j, pcie).offload.value, 2 * all / 8 * 2 / (0.5 * 63e9));
  auto host = none();
  host.host_memory = 1e11;
  same(cost(j, host).offload.value, all / 8 * 36 * 8 / 1e11);
}

// Wang et al. 2023 (ZeRO++), table 1: of its three transfers of the model's size hpZ leaves two between nodes. In the first forward weights come from all ranks;
// backwards and later forwards gather within a node, until the update.
TEST_CASE("a second copy of the parameters within a node") {
  const double all = layers * (matrices + 2 * h) + 2 * head + h, network = 0.5 * 1.25e8 * 400 / 8 * 8;  // a ring of four nodes: all eight GPUs' shares
  const auto sent = [&](std::int64_t partition, std::int64_t accumulation) {
    auto j = megatron();
    j.framework = frameworks::deepspeed, j.sharding = zero(3), j.batch.accumulation = accumulation;
    j.sharding.zero_hpz_partition_size = partition;
    j.parallel.data = 32, j.hardware.gpus_per_node = 8, j.hardware.nodes = 4, j.hardware.network_gbit = 400;
    return cost(j, only(&rates::network)).data_parallel.value;
  };
  const double once = 31 / 32.0 * 2 * all / network, first = 1 / 9.0;  // of nine units one gather and one scatter are beside nothing
  same(sent(1, 1), (3 + 2 * first) * once);
  same(sent(8, 1), (2 + 2 * first) * once);
  same(sent(1, 6), 6 * (3 + 2 * first) * once);
  same(sent(8, 6), (6 + 1 + (6 + 1) * first) * once);  // six scatters, and one gather
}

// What is frozen is never made invalid: even the first forward gathers it within a node. Here the MLPs train, and links alone take time.
TEST_CASE("what is frozen stays in the second copy") {
  const double all = layers * (matrices + 2 * h) + 2 * head + h, trained = layers * 3.0 * h * f;
  const auto of_links = [&](std::int64_t accumulation) {
    auto j = megatron();
    j.framework = frameworks::deepspeed, j.sharding = zero(3), j.batch.accumulation = accumulation;
    j.trainable = {{.modules = module_set{module::gate_proj, module::up_proj, module::down_proj}}};
    j.sharding.zero_hpz_partition_size = 8;
    j.parallel.data = 32, j.hardware.gpus_per_node = 8, j.hardware.nodes = 4, j.hardware.network_gbit = 400;
    return cost(j, only(&rates::link)).data_parallel.value * link();
  };
  const double wide = 31 / 32.0 * 2, near = 7 / 8.0 * 2, beside = 1 + 1 / 9.0;  // bytes of each parameter, of 16 bits; of nine units one gather and one scatter are beside nothing
  const double forward = wide * trained + near * (all - trained), scatter = wide * trained;
  same(of_links(1), beside * forward + near * all + beside * scatter);
  same(of_links(6), beside * (forward + 5 * near * all) + 6 * near * all + 6 * beside * scatter);
}

// core/pipeline_parallel/fine_grained_activation_offload.py: what the named modules save goes over PCIe and comes back: of a fused kernel and the projection
// behind it q, k, v and the result, of the layers that lie on a stage.
TEST_CASE("what modules save goes to host memory and comes back, of a stage's own layers") {
  auto pcie = none();
  pcie.network = 0.5;
  for (const std::int64_t stages : {1, 2, 4}) {
    auto j = megatron();
    j.attention = attention::te;
    j.parallel.pipeline = stages, j.hardware.gpus_per_node = stages, j.batch.accumulation = 8;
    j.offload.activations = place::on_cpu;
    const auto moved = [&](auto... modules) {
      j.framework.checkpointing.offloaded_modules = ((std::uint32_t{1} << static_cast<int>(modules)) | ...);
      return cost(j, pcie).offload.value * (0.5 * 63e9);
    };
    using enum offload_module;
    const double kept = 2.0 * b * s * (2 * h + 2 * kv), of_stage = 8 * 2 * 8.0 / static_cast<double>(stages);
    CHECK(moved(core_attn, attn_proj) == doctest::Approx(of_stage * kept).epsilon(1e-3));
    CHECK(moved(core_attn, attn_proj, mlp_norm) == doctest::Approx(of_stage * kept).epsilon(1e-3));  // a dense layer's norm is part of its first linear layer
  }
}

// Compute hides each second of traffic once: of parameters that are gathered (three times a micro-batch, and the first gather and the last scatter of nine units
// beside nothing) and read from NVMe twice, what the compute does not cover is waited for.
TEST_CASE("what hid one transfer hides no other") {
  const double all = layers * (matrices + 2 * h) + 2 * head + h, bytes_read = micros * 2 * all / 8 * 2 * 8;
  const double compute = micros * 3 * 2.0 * b * s * (layers * matrices + head) / (0.5 * 1e11 * gpus::h100_sxm_80gb.matmul_tflops_x10);
  auto j = megatron();
  j.framework = frameworks::deepspeed, j.sharding = zero(3), j.parallel.data = 8, j.hardware.gpus_per_node = 8;
  j.offload.optimizer = j.offload.parameters = place::on_nvme;
  const auto took = [&](double sent, double read) {  // as parts of the compute
    auto r = only(&rates::matmul);
    r.link = micros * 3 * 2 * (7 / 8.0 * all) / (sent * compute * 1e9 * gpus::h100_sxm_80gb.link_gb_s);
    r.nvme = bytes_read / (read * compute);
    const auto c = cost(j, r);
    const double update = all / 8 * 36 * 8 / r.nvme;
    CHECK(c.matmul.value == doctest::Approx(compute).epsilon(1e-6));
    return (c.step.value - update) / compute - sent / 3 * 2 / 9;
  };
  same(took(0.3, 0.5), 1);           // both hide
  same(took(0.3, 2), 2.3);           // gathers hide, and leave the reads seven tenths
  same(took(0.9, 0.5), 1.4);
  same(took(6, 2), 8);               // the gathers alone are longer
  same(took(6, 1e-9), 6);
}

// Two processes of one program take longer than either part: the GPU waits for what starts its kernels.
// transformers' classes in its Trainer start two kernels an operation, which has rates of its own; elsewhere an operation is a module's or a fused kernel's.
TEST_CASE("a processor that is slower than its GPU sets the pace") {
  struct starts {
    profile of;
    double rates::*host;
    double rates::*gap;
  };
  for (const auto& way : {starts{frameworks::hf_trainer, &rates::host_kernel, &rates::kernel_gap}, starts{frameworks::libtorch, &rates::host_operation, &rates::gap}}) {
    auto slow = only(way.host);
    slow.*way.host = 1e-3;
    const auto per_layer = [&](double gap) {
      auto r = slow;
      r.*way.gap = gap;
      const auto plain = [&](job& j) { j.framework = way.of; };
      return of_layers(plain, r);
    };
    const double host = per_layer(0);
    CHECK(host > 0);
    same(per_layer(1e-4), host);  // of the device a third less: hidden
    CHECK(per_layer(1e-2) > 5 * host);
    slow.*way.host = 2e-3;
    same(per_layer(0), 2 * host);
  }
}

// Llama 2 7B in eager PyTorch on an A100 makes 25.5 tokens a second and waits for its processor (pytorch.org/blog/accelerating-generative-ai-2): 39.2 ms of 32
// layers a forward, of 50 kernels a layer. The program of such a layer has 24 operations of two kernels each.
TEST_CASE("what a processor takes for a forward is what was published of one") {
  job j{.model = models::llama_2_7b, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 128}};
  auto shorter = j;
  shorter.model.layers = 16;
  auto r = only(&rates::host_kernel);
  r.host_kernel = rates{}.host_kernel;
  const double both = 2 * (cost(j, r).step.value - cost(shorter, r).step.value);  // forward and backward
  CHECK(both / 2 > 0.93 * 39.2e-3);
  CHECK(both / 2 < 0.97 * 39.2e-3);
}

}  // namespace test_one_part_alone
