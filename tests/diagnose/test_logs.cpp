// Distributed under the Boost Software License, Version 1.0.
// The last words of runs that died, as people posted them: the phase and the tensor that the library names for the job that each of them was.
#include <headroom/diagnose/diagnose.hpp>
#include <headroom/headroom.hpp>
#include <headroom/io/diagnosis_text.hpp>

#include <doctest/doctest.h>

namespace test_logs {

using namespace headroom;
using namespace headroom::literals;

namespace {

/// MedicalGPT issue 318: Yi-34B-Chat on two nodes of 8 A800, DeepSpeed's stage 2, micro-batch 2, block_size 512, before DeepSpeed 0.13.2.
constexpr std::string_view yi_zero2 = R"(    torch.cudasingle_grad_partition = torch.zeros(int(self.partition_size[i]),
.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.01 GiB. GPU 6 has a total capacty of 79.33 GiB of which 6.37 GiB is free. Including non-PyTorch memory, this process has 72.95 GiB memory in use. Of the allocated memory 72.18 GiB is allocated by PyTorch, and 3.01 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONFtorch.cuda
.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.01 GiB. GPU 1 has a total capacty of 79.33 GiB of which 6.32 GiB is free.)";

/// MedicalGPT issue 314: Yi-34B on GPUs of 80 GB under DDP, its processes' lines in turns.
constexpr std::string_view yi_ddp = R"(  File "pretraining.py", line 728, in main
    self._ddp_init_helper(    
train_result = trainer.train(resume_from_checkpoint=checkpoint)  File "/home/centos/anaconda3/envs/cpt/lib/python3.8/site-packages/torch/nn/parallel/distributed.py", line 1098, in _ddp_init_helper

  File "/home/centos/anaconda3/envs/cpt/lib/python3.8/site-packages/transformers/trainer.py", line 1537, in train
    self.reducer = dist.Reducer(
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.05 GiB. GPU 3 has a total capacty of 79.33 GiB of which 14.24 GiB is free. Including non-PyTorch memory, this process has 65.07 GiB memory in use. Of the allocated memory 64.17 GiB is allocated by PyTorch, and 323.50 KiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF
    return inner_training_loop(
  File "/home/centos/anaconda3/envs/cpt/lib/python3.8/site-packages/transformers/trainer.py", line 1672, in _inner_training_loop
    model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer))";

/// DeepSpeed issue 4715: 25.10 GiB are 6,738,415,616 parameters in fp32, as many as Llama-2-7B has, on GPUs of 40 GB under DDP.
constexpr std::string_view llama_ddp = R"(    return self.prepare_model(obj, device_placement=device_placement)
  File "/usr/local/lib/python3.10/dist-packages/accelerate/accelerator.py", line 1433, in prepare_model
    model = torch.nn.parallel.DistributedDataParallel(
  File "/usr/local/lib/python3.10/dist-packages/torch/nn/parallel/distributed.py", line 811, in __init__
    self._ddp_init_helper(
  File "/usr/local/lib/python3.10/dist-packages/torch/nn/parallel/distributed.py", line 1100, in _ddp_init_helper
    self.reducer = dist.Reducer(
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 25.10 GiB. GPU 1 has a total capacty of 39.39 GiB of which 13.57 GiB is free. Including non-PyTorch memory, this process has 25.81 GiB memory in use. Of the allocated memory 25.23 GiB is allocated by PyTorch, and 12.97 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF
)";

/// LLaMA-Factory issue 1158: Baichuan2-13B on 4 A800, stage 2, bf16, no optimizer in DeepSpeed's file (so torch's), 2023-10. 25.88 GiB of weights and
/// four times 12.94 GiB, a quarter of 13.9e9 in fp32: master copy, gradients, two moments. The fifth is the update's.
constexpr std::string_view baichuan_zero2 =
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.94 GiB (GPU 1; 79.35 GiB total capacity; 77.65 GiB already allocated; 316.12 MiB free; 77.66 GiB reserved in total "
    "by PyTorch) If reserv ed memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation. See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF";

/// DeepSpeed issue 237: GPT-2 of 8e9 parameters, stage 2, data parallelism 1, torch before 1.4; apex makes the moments while the optimizer is built.
constexpr std::string_view gpt2_first_step = R"(Traceback (most recent call last):
  File "pretrain_gpt2.py", line 171, in setup_model_and_optimizer
    dist_init_required=False
  File "/opt/conda/envs/python3.6/lib/python3.6/site-packages/deepspeed/pt/deepspeed_light.py", line 591, in _configure_zero_optimizer
    mpu=self.mpu)
  File "/opt/conda/envs/python3.6/lib/python3.6/site-packages/deepspeed/pt/deepspeed_zero_optimizer.py", line 357, in initialize_optimizer_states
    self.optimizer.step()
  File "/opt/conda/envs/python3.6/lib/python3.6/site-packages/apex/optimizers/fused_adam.py", line 129, in step
    state['exp_avg'] = torch.zeros_like(p.data)
RuntimeError: CUDA out of memory. Tried to allocate 8.52 GiB (GPU 0; 31.72 GiB total capacity; 25.59 GiB already allocated; 5.39 GiB free; 14.59 MiB cached)
)";

job yi() {
  return {.model = models::yi_34b, .hardware = {.gpu = gpus::a800_sxm_80gb, .nodes = 2, .gpus_per_node = 8}, .framework = frameworks::deepspeed_2023, .precision = precisions::bf16_mixed,
          .sharding = zero(2), .batch = {.micro = 2, .sequence = 512}, .recompute = recompute::full};
}
std::string first(const diagnosis& d) { return d.suspects.empty() ? "" : d.suspects.front().what; }

}  // namespace

TEST_CASE("Yi-34B, ZeRO-2: the gradients of zeros that DeepSpeed makes with its optimizer") {
  const auto j = yi();
  const auto r = estimate(j);
  const auto m = read_oom(yi_zero2).value();
  const auto d = diagnose(m, j, r);
  CHECK(d.why == cause::capacity);
  CHECK(d.seen);
  CHECK(d.died_in == phase::load);
  CHECK(first(d) == "this rank's share of gradients of zeros, made with the optimizer, one flat tensor");
  // 34,388,917,248 parameters in bf16, and a 16th of them in fp32.
  CHECK(d.suspects.front().beside->count() == 2 * 34'388'917'248 + 34'388'917'248 / 4);
  // Weights in bf16, and a 16th of them four times in fp32: master copy, gradients, two moments. Since 2024-02 the moments come later.
  CHECK(r.ranks[0][phase::load].count() == (2 * 16 + 4 * 4) * (34'388'917'248 / 16));
  auto newer = j;
  newer.framework = frameworks::deepspeed;
  CHECK(estimate(newer).ranks[0][phase::load].count() == (2 * 16 + 2 * 4) * (34'388'917'248 / 16));
  CHECK(io::diagnosis_text(d, m, r).find("By its traceback it died in the phase load") != std::string::npos);
  // Without a traceback: what is there says which of the tensors of that size, and the estimate says when.
  const auto bare = read_oom(yi_zero2.substr(yi_zero2.find("CUDA out"))).value();
  CHECK_FALSE(bare.died_in.has_value());
  const auto guessed = diagnose(bare, j, r);
  CHECK_FALSE(guessed.seen);
  CHECK(guessed.died_in == phase::load);
  CHECK(first(guessed) == first(d));
}

TEST_CASE("Llama-2-7B in fp32, DDP: the bucket of all gradients") {
  const job j{.model = models::llama_2_7b, .hardware = {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 2}, .framework = frameworks::hf_trainer_2023, .precision = precisions::fp32, .sharding = ddp(),
              .batch = {.micro = 1, .sequence = 512}};
  const auto d = diagnose(read_oom(llama_ddp).value(), j, estimate(j));
  CHECK(d.died_in == phase::load);
  CHECK(d.seen);
  CHECK(first(d) == "the bucket of all gradients that DDP begins with");
  CHECK(d.suspects.front().beside->count() == 4 * 6'738'415'616);
  const auto r = estimate(j);
  CHECK(r.ranks[0][phase::load].count() == 2 * 4 * 6'738'415'616);
  // Yi-34B's in bf16: 64.05 GiB.
  auto large = yi();
  large.sharding = ddp();
  const auto of_yi = diagnose(read_oom(yi_ddp).value(), large, estimate(large));
  CHECK(of_yi.why == cause::capacity);
  CHECK(of_yi.died_in == phase::load);
  CHECK(of_yi.seen);
  CHECK(first(of_yi) == "the bucket of all gradients that DDP begins with");
  CHECK(of_yi.suspects.front().beside->count() == 2 * 34'388'917'248);
}

TEST_CASE("Baichuan2-13B, ZeRO-2: torch's update, in the step of zeros that built the optimizer's state") {
  job j{.model = models::baichuan2_13b, .hardware = {.gpu = gpus::a800_sxm_80gb, .gpus_per_node = 4}, .framework = frameworks::deepspeed_2023, .precision = precisions::bf16_mixed,
        .sharding = zero(2), .batch = {.micro = 1, .sequence = 1536}};
  j.optimizer.how = implementation::foreach;
  const auto d = diagnose(read_oom(baichuan_zero2).value(), j, estimate(j));
  CHECK(d.died_in == phase::load);
  CHECK(first(d) == "this rank's share of a temporary of the optimizer's update, one flat tensor");
  // In a step the gradients in fp32 are there while torch makes its temporary, which is as large.
  const auto step = estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::step)];
  CHECK(step[row::temporaries].count() == (1 + j.framework.optimizer.foreach_copies) * 13'896'668'160);
  // Later DeepSpeed makes them in its first step (2024-02-10).
  j.framework = frameworks::deepspeed;
  const auto later = diagnose(read_oom(baichuan_zero2).value(), j, estimate(j));
  CHECK(later.suspects.front().when == phase::step);
}

TEST_CASE("GPT-2 8B, ZeRO-2 of 2020: a moment, while the optimizer is built") {
  const auto m = read_oom(gpt2_first_step).value();
  CHECK(m.died_in == phase::load);
  CHECK(m.unallocated->may_be(bytes{15'298'724}));  // 14.59 MiB
}

}  // namespace test_logs
