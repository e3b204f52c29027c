// Distributed under the Boost Software License, Version 1.0.
// Situations that practitioners wrote up, with their figures: reproduced where the arithmetic holds, corrected where it does not.
// "GB" in those texts is 10^9 or 2^30 bytes by context; here it is what the literal says.
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_cases {

using namespace headroom;
using namespace headroom::literals;

namespace {

bytes states_on_gpu(const state_bytes& s) { return s.gpu.total(); }

job on(const shape& m, const gpu& g, std::int64_t gpus) {
  job j;
  j.model = m;
  j.hardware = {.gpu = g, .gpus_per_node = gpus};
  j.batch = {.micro = 1, .sequence = 1024};
  return j;
}

}  // namespace

// "A 10B model in FP32 with Adam: parameters, gradients and Adam exceed 80 GB": 16 bytes a parameter, 160 GB.
TEST_CASE("ten billion parameters in fp32 with Adam take 160 GB of states") {
  // 32 layers of 12·h² + 13·h with h = 5100 and a tied vocabulary of 1,984 rows: within 0.1 % of 10^10.
  shape m{.layers = 32, .hidden = 5100, .heads = 51, .ffn = 20400, .mlp = mlp_kind::plain, .norm = norm_kind::layernorm, .norm_bias = true,
          .attention_bias = true, .output_bias = true, .mlp_bias = true, .vocab = 1984, .tied = true};
  auto j = on(m, gpus::a100_sxm_80gb, 1);
  j.precision = precisions::fp32;
  j.optimizer = optimizers::adamw;
  const auto s = states(j);
  CHECK(s.total > 9'990_Mparams);
  CHECK(s.total < 10'010_Mparams);
  const bytes exact{16 * s.total.count()};
  CHECK(states_on_gpu(s) >= exact);  // each tensor is rounded up to 512 bytes on a GPU
  CHECK(states_on_gpu(s) < exact + 1_MiB);
  CHECK(states_on_gpu(s) > 159_GB);
  CHECK(states_on_gpu(s) < 161_GB);
  CHECK_FALSE(estimate(j).fits());
}

// "13B on 8 × A100 80 GB with ZeRO-3, optimizer offload to pinned memory, fp16, CPU-side checkpoints": what that takes in host
// memory, pinned rounding included, from the DeepSpeed file itself.
TEST_CASE("13B with ZeRO-3 and optimizer offload: the host pays") {
  const auto j = io::read_job_file(std::string(HEADROOM_EXAMPLES) + "/jobs/llama-2-13b-zero3-offload.json");
  CHECK(j.sharding.stage == 3);
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(j.offload.pin_memory);
  CHECK(j.offload.activations == place::on_cpu);
  CHECK(j.precision.compute == formats::fp16);
  CHECK(j.batch.accumulation == 8);
  const auto r = estimate(j);
  CHECK(r.parameter_count.total == 13'015'864'320_params);
  CHECK(r.fits());
  const auto& rank = r.ranks[0];
  CHECK(rank.at_peak[row::optimizer_state] == 0_B);
  CHECK(rank.at_peak[row::master_parameters] == 0_B);
  // A rank's shard is 1,626,983,040 parameters: two sub-groups of at most 10^9. Their pinned fp32 gradients, 4.0 and 2.5 GB, and
  // the flat fp16 gradients, 3.25 GB, are rounded up to 4 GiB each.
  CHECK(r.host.pinned_per_node == 8 * 12_GiB);
  // Unpinned: fp32 master and two moments, 12 bytes a parameter over the node, and the checkpoints of 8 ranks.
  const bytes checkpoints{8 * 40 * j.batch.micro * j.batch.sequence * 5120 * 2};
  CHECK(r.host.per_node == 8 * 12_GiB + bytes{12 * 13'015'864'320} + checkpoints);
}

// "A 32B model under ZeRO-3 on 2 × 8 GPUs is cut in 16, each about 2 GB (raw parameters)": 2B parameters are 3.7 GiB in bf16, and
// 18 bytes a parameter of states stand behind them.
TEST_CASE("a sixteenth of 32B is 3.8 GiB, not 2") {
  auto j = on(models::qwen2_5_32b, gpus::a100_sxm_80gb, 8);
  j.hardware.nodes = 2;
  j.framework = frameworks::deepspeed;
  j.precision = precisions::bf16_mixed;
  j.sharding = zero(3);
  const auto s = states(j);
  CHECK(s.total == 32'763'876'352_params);
  CHECK(s.gpu[row::model_parameters] == bytes{2 * 32'763'876'352 / 16});
  CHECK(s.gpu[row::model_parameters] > 3'900_MiB);
  CHECK(s.gpu[row::master_parameters] == 2 * s.gpu[row::model_parameters]);
  CHECK(s.gpu[row::gradients] == s.gpu[row::model_parameters]);
  CHECK(s.gpu[row::optimizer_state] == 4 * s.gpu[row::model_parameters]);
}

// "FP32 4, BF16/FP16 2, INT8 1, INT4 0.5; SGD 0 extra copies, with momentum 1, Adam 2, plus an fp32 master copy."
TEST_CASE("bytes of a parameter, by format and optimizer") {
  const parameters n = 1_Bparams;
  CHECK(n * formats::fp32.density() == 4_GB);
  CHECK(n * formats::bf16.density() == 2_GB);
  CHECK(n * formats::fp16.density() == 2_GB);
  CHECK(n * formats::int8.density() == 1_GB);
  CHECK(n * formats::int4.density() == 500_MB);
  CHECK(n * formats::nf4.density() == 500_MB);
  CHECK(formats::nf4.storage(64, 1000) == 32'000_B + 4'000_B + 64_B);  // one fp32 scale for 64 values, and the code book

  // A 2B model in bf16 with fp32 states: weights 4 GB, gradients 4 GB, master 8 GB, Adam 8 + 8 GB.
  shape m{.layers = 24, .hidden = 2560, .heads = 20, .ffn = 10240, .mlp = mlp_kind::plain, .vocab = 43'520, .tied = true};
  auto j = on(m, gpus::cpu, 1);
  j.precision = precisions::bf16_mixed;
  const auto total = states(j).total.count();
  CHECK(total > 1'990'000'000);
  CHECK(total < 2'010'000'000);
  for (const auto& [o, copies] : {std::pair{optimizers::sgd, 0}, std::pair{optimizers::sgd_momentum, 1}, std::pair{optimizers::adamw, 2}, std::pair{optimizers::lion, 1}}) {
    j.optimizer = o;
    const auto s = states(j);
    CHECK(s.gpu[row::model_parameters].count() == 2 * total);
    CHECK(s.gpu[row::gradients].count() == 2 * total);
    CHECK(s.gpu[row::master_parameters].count() == 4 * total);
    CHECK(s.gpu[row::optimizer_state].count() == 4 * copies * total);
  }
}

// "Activations are 0.7 to 1.0 × the weights": they depend on tokens and recompute, not on the weights alone.
TEST_CASE("activations are no fraction of the weights") {
  auto j = on(models::gemma_2b, gpus::h100_sxm_80gb, 1);
  j.precision = precisions::bf16;
  const auto ratio = [&] {
    const auto r = estimate(j).ranks[0];
    return static_cast<double>((r.at_peak[row::activations] + r.at_peak[row::logits]).count()) / static_cast<double>(r.at_peak[row::model_parameters].count());
  };
  j.batch.sequence = 128;
  CHECK(ratio() < 0.5);
  j.batch.sequence = 8192;
  CHECK(ratio() > 4.0);
}

namespace {

job mixtral() {
  auto j = on(models::mixtral_8x7b, gpus::l40s, 1);
  j.precision = precisions::bf16_mixed;
  j.optimizer = optimizers::adamw;
  return j;
}

constexpr std::int64_t mixtral_expert = 3 * 4096 * 14336;
constexpr std::int64_t mixtral_router = 4096 * 8;

}  // namespace

TEST_CASE("Mixtral: experts and frozen weights") {
  CHECK(mixtral_expert == 176'160'768);
  const auto c = count(models::mixtral_8x7b);
  CHECK(c.total == 46'702'792'704_params);
  CHECK(c.of(component::experts) == parameters{32 * 8 * mixtral_expert});
  CHECK(parameters{mixtral_expert} * formats::bf16.density() == 352'321'536_B);      // "352 MB"
  CHECK(parameters{8 * mixtral_expert} * formats::bf16.density() == 2'818'572'288_B);  // "2.82 GB a layer"
  CHECK(parameters{256 * mixtral_expert} * formats::bf16.density() > 90_GB);           // "90 GB all experts"
}

TEST_CASE("Mixtral A: only the routers train, and the frozen 93 GB do not fit a 44 GB card") {
  auto j = mixtral();
  j.trainable = {{.modules = {module::router}}};
  const auto s = states(j);
  CHECK(s.trained == parameters{32 * mixtral_router});
  CHECK(s.gpu[row::gradients] == bytes{2 * 32 * mixtral_router});
  CHECK(s.gpu[row::model_parameters] > 93_GB);  // the text leaves these out
  CHECK(s.gpu.total() > j.hardware.gpu.memory);
  // Activations are the least of it: with checkpointing, 1,024 tokens take less than a gigabyte over the states.
  j.batch = {.micro = 1, .sequence = 1024};
  j.recompute = recompute::full;
  const auto r = estimate(j);
  CHECK_FALSE(r.fits());
  CHECK(r.ranks[0].allocated - s.gpu.total() < 1_GB);
}

TEST_CASE("Mixtral B: the bottom six layers' routers and two experts each") {
  auto j = mixtral();
  const module_set experts{module::experts_gate, module::experts_up, module::experts_down};
  j.trainable = {{.first_layer = 0, .last_layer = 5, .modules = {module::router}}, {.first_layer = 0, .last_layer = 5, .experts = 2, .modules = experts}};
  const auto s = states(j);
  const std::int64_t n = 6 * (mixtral_router + 2 * mixtral_expert);
  CHECK(s.trained == parameters{n});
  CHECK(s.gpu[row::gradients] == bytes{2 * n});           // "4.23"
  CHECK(s.gpu[row::optimizer_state] == bytes{8 * n});     // "16.9"
  CHECK(s.gpu[row::master_parameters] == bytes{4 * n});   // "8.46"
  CHECK(bytes{16 * n} > 33'800_MB);                       // "together 33.8 GB", with the trained weights themselves
  CHECK(bytes{16 * n} < 33'900_MB);
  CHECK(s.gpu.total() > 120_GB);  // and with the frozen ones: three such cards
  CHECK(s.gpu.total() > j.hardware.gpu.memory);
  // Three such cards hold the states under ZeRO-3, but not the gathered layer and the buckets beside them; four do.
  j.framework = frameworks::deepspeed_202410;  // the text is of 2024; since transformers 5 two of eight experts cannot train
  j.sharding = zero(3);
  j.batch = {.micro = 1, .sequence = 1024};
  j.recompute = recompute::full;
  j.hardware.gpus_per_node = 3;
  CHECK_FALSE(estimate(j).fits());
  j.hardware.gpus_per_node = 4;
  CHECK(estimate(j).fits());
}

TEST_CASE("Mixtral C: a 4-bit base and LoRA of rank 16 on the experts") {
  auto j = mixtral();
  j.framework = frameworks::deepspeed_202410;
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {module::experts_gate, module::experts_up, module::experts_down},
               .format = formats::bf16, .base = formats::nf4};
  const auto s = states(j);
  constexpr std::int64_t expert = 3 * 16 * (4096 + 14336);
  CHECK(expert == 884'736);  // "0.885M an expert"
  constexpr std::int64_t n = 32 * 8 * expert;
  CHECK(s.adapters == parameters{n});  // "226.6M in all"
  CHECK(s.gpu[row::adapters] == bytes{2 * n});                                             // "0.45"
  CHECK(s.gpu[row::gradients] == bytes{2 * n});                                            // "0.45"
  CHECK(s.gpu[row::optimizer_state] + s.gpu[row::master_parameters] == bytes{12 * n});     // "2.72"
  // What the text leaves out: the quantised base with its scales, and what is not quantised. The verdict: 30 GB of 47 are
  // states; the rest is left for activations.
  CHECK(s.frozen_extra > 2_GB);
  CHECK(s.gpu[row::model_parameters] > 26_GB);
  CHECK(s.gpu.total() < 31_GB);
  CHECK(s.gpu.total() < j.hardware.gpu.memory);
  // It fits a 44 GB card at 1,024 tokens even without checkpointing, 10 GB of activations, and, as transformers of 2024 repeats
  // keys and values from 8 to 32 heads for torch's own attention, half a GB of copies; at 4,096 only with it.
  j.batch = {.micro = 1, .sequence = 1024};
  const auto r = estimate(j);
  CHECK(r.fits());
  CHECK(r.ranks[0].at_peak[row::activations] > 9_GB);
  CHECK(r.ranks[0].at_peak[row::activations] < 11'500'000'000_B);
  j.batch.sequence = 4096;
  CHECK_FALSE(estimate(j).fits());
  j.recompute = recompute::full;
  CHECK(estimate(j).fits());
}

// "OmniLMM / MiniCPM-V, full fine-tuning on 2 × A100 40 GB: ZeRO-2 and ZeRO-3 run out of memory, ZeRO-3 with optimizer and parameters
// offloaded to pinned memory works." The project's table says 16.0, 15.8 and 15.63 GiB on 2, 4 and 8 GPUs then.
TEST_CASE("MiniCPM-V on two 40 GB cards") {
  const auto offloaded = io::read_job_file(std::string(HEADROOM_EXAMPLES) + "/jobs/minicpm-v-2.6-zero3-offload.json");
  CHECK(offloaded.model.vision.layers == 27);
  const auto c = count(offloaded.model);
  const auto tower = c.of(component::vision), joint = c.of(component::projector);
  CHECK(c.total - tower - joint > 7'600_Mparams);
  CHECK(tower > 400_Mparams);
  CHECK(tower < 440_Mparams);

  auto zero3 = offloaded;
  zero3.offload = {};
  auto zero2 = zero3;
  zero2.sharding.stage = 2;
  // Stage 2: 2 bytes a parameter everywhere, 2 + 12 bytes of a half. Stage 3: 16 bytes of a half. 65 GB either way, and more for stage 2.
  CHECK(states(zero3).gpu.total() > bytes{16 * c.total.count() / 2} - 1_GB);
  CHECK(states(zero2).gpu.total() > states(zero3).gpu.total());
  CHECK_FALSE(estimate(zero2).fits());
  CHECK_FALSE(estimate(zero3).fits());

  const auto r = estimate(offloaded);
  CHECK(r.fits());
  CHECK(r.ranks[0].device < 16_GiB);
  // Hardly any of it is divided by the number of GPUs: from 2 to 8 the table falls by 2 %.
  auto eight = offloaded;
  eight.hardware.gpus_per_node = 8;
  // Two communicators of eight take twice as much as of two (24 channels of 12 MiB to either side).
  CHECK(estimate(eight).ranks[0].reserved <= r.ranks[0].reserved);
  CHECK(estimate(eight).ranks[0].reserved > r.ranks[0].reserved * 9 / 10);
  CHECK(estimate(eight).ranks[0].outside.nccl == 2 * r.ranks[0].outside.nccl);
  // The host pays. A rank's half is 4.05 billion parameters: 2 bytes of it pinned as parameters, 2 as gradients, each rounded up to 8 GiB;
  // fp32 gradients in sub-groups of 10^9, 4 GiB each, five of them. Master copies and moments, 12 bytes of all, are pageable.
  CHECK(r.host.pinned_per_node >= 2 * (2 * 8_GiB + 4 * 4_GiB));
  CHECK(r.host.per_node - r.host.pinned_per_node >= bytes{12 * c.total.count()});
  // A frozen tower keeps no activations at all, only the resampler's.
  auto frozen = offloaded;
  frozen.trainable = {{.modules = {module::projector}}};
  const auto activations = [](const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations]; };
  CHECK(activations(offloaded) - activations(frozen) > 27 * bytes{10 * 1024 * 1152 * 2});
}

}  // namespace test_cases
