// Distributed under the Boost Software License, Version 1.0.
// Last words of other kinds, as people posted them: DeepSpeed, FSDP, bitsandbytes, NCCL, engines that generate, other accelerators, the host's killers.
// Where the message behind a traceback was not to be had, `cut_off` stands for it.
#include <headroom/diagnose/diagnose.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_posted_kinds {

using namespace headroom;
using namespace headroom::literals;

namespace {

struct posted {
  std::string_view where, text;
  exhausted what{};
  cause why{};
  std::optional<phase> when{};
  std::int64_t asked_mib{};  ///< 0: not said; -1: cut off
};

constexpr std::string_view cut_off = "CUDA out of memory. Tried to allocate 2.00 GiB.";

const posted all[] = {
    // Built and loaded.
    {"deepspeedai/DeepSpeed#6737: 22 ranks, a customised model",
     "worker-5: [rank22]:   File \"/root/miniconda/envs/lib/python3.10/site-packages/deepspeed/__init__.py\", line 181, in initialize\n"
     "worker-5: [rank22]:     engine = DeepSpeedEngine(args=args,\n"
     "worker-5: [rank22]:   File \"/root/miniconda/envs/lib/python3.10/site-packages/deepspeed/runtime/engine.py\", line 262, in __init__\n"
     "worker-5: [rank22]:     self._configure_distributed_model(model)\n"
     "worker-5: [rank22]:   File \"/root/miniconda/envs/lib/python3.10/site-packages/deepspeed/runtime/engine.py\", line 1103, in _configure_distributed_model\n"
     "worker-5: [rank22]:     self.module.to(self.device)\n",
     exhausted::gpu, cause::capacity, phase::load, -1},
    {"InternLM/xtuner#88: several ranks' lines in one another",
     "  File \"/mnt/anaconda/envs/xtuner/lib/python3.10/site-packages/torch/nn/modules/module.py\", line 1001, in <lambda>\n"
     "    engine, self.optim_wrapper.optimizer, *_ = deepspeed.initialize(    \nreturn self._apply(lambda t: t.half() if t.is_floating_point() else t)\n"
     "  File \"/mnt/anaconda/envs/xtuner/lib/python3.10/site-packages/torch/nn/modules/module.py\", line 797, in _apply\n    module._apply(fn)\n",
     exhausted::gpu, cause::capacity, phase::load, -1},
    {"jianzhnie/LLamaTuner#91, Llama-2-70B in 4 bits",
     "  File \"/mnt/git/transformers/src/transformers/integrations/bitsandbytes.py\", line 98, in set_module_quantized_tensor_to_device\n"
     "            new_value = bnb.nn.Params4bit(new_value, requires_grad=False, **kwargs).to(device)\n"
     "  File \"/mnt/anaconda/envs/Qlora/lib/python3.10/site-packages/bitsandbytes/nn/modules.py\", line 176, in to\n            return self.cuda(device)\n",
     exhausted::gpu, cause::capacity, phase::load, -1},
    {"DachengLi1/LongChat#9, boxed: FSDP flattens its parameters",
     "\u2502 t_param.py:462 in _init_flat_param                                                               \u2502\n"
     "\u2502    461 \u2502   \u2502   )                                                                                 \u2502\n"
     "\u2502 \u2771  462 \u2502   \u2502   self.flat_param = FlatParamHandle.flatten_params(                                 \u2502\n"
     "\u2502    463 \u2502   \u2502   \u2502   params_to_flatten, requires_grad                                              \u2502\n",
     exhausted::gpu, cause::capacity, phase::load, -1},
    // The update.
    {"zd11024/NaviLLM#26: moments, in the first step",
     "[rank2]:   File \"train.py\", line 88, in train_one_epoch\n[rank2]:     optimizer.step()\n"
     "[rank2]:   File \"/usr/local/lib/python3.8/dist-packages/torch/optim/adamw.py\", line 159, in _init_group\n[rank2]:     state[\"exp_avg_sq\"] = torch.zeros_like(\n"
     "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 2 has a total capacity of 63.42 GiB of which 27.31 MiB is free.",
     exhausted::gpu, cause::capacity, phase::step, 32},
    {"bmaltais/kohya_ss#1048, boxed",
     "\u2502 C:\\kohya_ss\\venv\\lib\\site-packages\\torch\\optim\\adamw.py:566 in _multi_tensor_adamw               \u2502\n"
     "\u2502   565 \u2502   \u2502   \u2502   \u2502   torch._foreach_div_(exp_avg_sq_sqrt, bias_correction2_sqrt)                \u2502\n"
     "\u2502 \u2771 566 \u2502   \u2502   \u2502   \u2502   denom = torch._foreach_add(exp_avg_sq_sqrt, eps)                           \u2502\n",
     exhausted::gpu, cause::capacity, phase::step, -1},
    {"hiyouga/LlamaFactory#7532: DeepSeek-Coder-V2 under ZeRO-3, the update of a group",
     "  File \"/root/anaconda3/envs/llama-factory/lib/python3.10/site-packages/deepspeed/runtime/zero/stage3.py\", line 947, in _optimizer_step\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.39 GiB. GPU 1 has a total capacity of 79.32 GiB of which 2.40 GiB is free. Process 105400 has 76.92 GiB memory in use. Of "
     "the allocated memory 73.28 GiB is allocated by PyTorch, and 1.59 GiB is reserved by PyTorch but unallocated.",
     exhausted::gpu, cause::fragmentation, phase::step, 3471},
    // Backward.
    {"OpenBMB/VisCPM#23: ZeRO-2's bucket of 5e8 16-bit gradients",
     "    vllm_engine.backward(loss)\n  File \"/data/lib/python3.10/site-packages/deepspeed/runtime/engine.py\", line 1796, in backward\n    self.optimizer.backward(loss, retain_graph=retain_graph)\n"
     "  File \"/data/lib/python3.10/site-packages/deepspeed/runtime/zero/stage_1_and_2.py\", line 1873, in backward\n    buf_0 = torch.empty(int(self.reduce_bucket_size),\n"
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 954.00 MiB (GPU 7; 79.21 GiB total capacity; 49.63 GiB already allocated; 844.62 MiB free; 50.24 GiB reserved in total by "
     "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
     exhausted::gpu, cause::fragmentation, phase::backward, 954},
    {"facebookresearch/ParlAI#4452, T5-11B",
     "  File \"/mnt/lib/python3.9/site-packages/torch/autograd/__init__.py\", line 173, in backward\n    Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass\n"
     "RuntimeError: CUDA out of memory. Tried to allocate 21.06 GiB (GPU 0; 79.35 GiB total capacity; 63.19 GiB already allocated; 8.57 GiB free; 68.48 GiB reserved in total by PyTorch)",
     exhausted::gpu, cause::capacity, phase::backward, 21565},
    // The loss.
    {"hiyouga/LlamaFactory#10367, Qwen3.5-27B",
     "[rank0]:   File \"/workspace/lib/python3.11/site-packages/transformers/models/qwen3_5/modeling_qwen3_5.py\", line 1960, in forward\n"
     "[rank0]:     loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.text_config.vocab_size)\n"
     "[rank0]:   File \"/workspace/lib/python3.11/site-packages/transformers/loss/loss_utils.py\", line 36, in fixed_cross_entropy\n",
     exhausted::gpu, cause::capacity, phase::loss_forward, -1},
    {"modelscope/ms-swift#2044, DPO",
     "[rank1]:   File \"/VDIL/swift/trainers/rlhf_trainer.py\", line 80, in forward\n"
     "[rank1]:     per_token_logps = torch.gather(logits.log_softmax(-1), dim=2, index=labels.unsqueeze(2)).squeeze(2)          \n"
     "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.36 GiB. GPU 1 has a total capacity of 47.50 GiB of which 1.52 GiB is free. Including non-PyTorch memory, this process "
     "has 45.97 GiB memory in use. Of the allocated memory 40.30 GiB is allocated by PyTorch, and 4.91 GiB is reserved by PyTorch but unallocated.",
     exhausted::gpu, cause::capacity, phase::loss_forward, 8561},
    {"a Llama of transformers before 4.45: the fp32 copy of the logits",
     "  File \"/lib/python3.10/site-packages/transformers/models/llama/modeling_llama.py\", line 1200, in forward\n    logits = logits.float()\n",
     exhausted::gpu, cause::capacity, phase::loss_forward, -1},
    // Evaluation and saving.
    {"huggingface/transformers#17089",
     "  File \"question-answering/run_seq2seq_qa.py\", line 699, in main\n    metrics = trainer.evaluate(max_length=max_length, num_beams=num_beams, metric_key_prefix=\"eval\")\n"
     "  File \"/venv/lib/python3.7/site-packages/transformers/trainer.py\", line 2515, in evaluation_loop\n    preds_host = logits if preds_host is None else nested_concat(preds_host, logits, padding_index=-100)\n",
     exhausted::gpu, cause::capacity, phase::evaluate, -1},
    {"tatsu-lab/stanford_alpaca#65: the whole state dict, on every GPU",
     "/local_disk0/lib/python3.9/site-packages/torch/distributed/fsdp/fully_sharded_data_parallel.py:2224: UserWarning: Failed to clone() tensor with name lm_head.weight. This may mean that this "
     "state_dict entry could point to invalid memory regions after returning from state_dict() call if this parameter is managed by FSDP. Please check clone implementation of lm_head.weight. Error: CUDA "
     "out of memory. Tried to allocate 502.00 MiB (GPU 1; 39.59 GiB total capacity; 35.54 GiB already allocated; 276.19 MiB free; 37.22 GiB reserved in total by PyTorch)",
     exhausted::gpu, cause::fragmentation, phase::save, 502},
    {"ByteDance-Seed/Bagel#157",
     "[rank7]:   File \"/fsx/Bagel/train/fsdp_utils.py\", line 109, in fsdp_save_ckpt\n[rank7]:     ema_state_dict = ema_model.state_dict()\n"
     "[rank7]:   File \"/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 2215, in state_dict\n[rank7]:     hook(self, prefix, keep_vars)\n",
     exhausted::gpu, cause::capacity, phase::save, -1},
    // Engines that generate.
    {"gensyn-ai/rl-swarm#314, TRL's GRPO with vLLM beside it",
     "[rank0]:   File \"/root/rl-swarm/.venv/lib/python3.10/site-packages/trl/trainer/grpo_trainer.py\", line 404, in __init__\n[rank0]:     self.llm = LLM(\n"
     "[rank0]:   File \"/root/rl-swarm/.venv/lib/python3.10/site-packages/vllm/engine/llm_engine.py\", line 276, in __init__\n[rank0]:     self._initialize_kv_caches()\n"
     "[rank0]:   File \"/root/rl-swarm/.venv/lib/python3.10/site-packages/vllm/worker/cache_engine.py\", line 103, in _allocate_kv_cache\n[rank0]:     layer_kv_cache = torch.zeros(alloc_shape,\n",
     exhausted::gpu, cause::capacity, phase::load, -1},
    {"vllm-project/vllm#2248",
     "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", exhausted::engine, cause::engine_share, phase::load},
    {"ovg-project/kvcached#110",
     "ValueError: Free memory on device (67.24/79.25 GiB) on startup is less than desired GPU memory utilization (0.9, 71.33 GiB). Decrease GPU memory utilization or reduce GPU memory used by other "
     "processes.",
     exhausted::engine, cause::other_processes, phase::load, 73042},
    {"vllm-project/vllm#783, a second process",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.63 GiB (GPU 0; 44.56 GiB total capacity; 27.91 GiB already allocated; 565.31 MiB free; 27.93 GiB reserved in total by PyTorch) If "
     "reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
     exhausted::gpu, cause::other_processes, std::nullopt, 1669},
    // Other accelerators.
    {"xingchensong/TouchNet#100, Ascend",
     "RuntimeError: NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total capacity; 49.47 GiB already allocated; 49.47 GiB current active; 1.32 GiB free; 57.55 GiB reserved in total by "
     "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
     exhausted::gpu, cause::fragmentation, std::nullopt, 5151},
    {"pytorch/pytorch#130112, Apple",
     " return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass\n"
     "RuntimeError: MPS backend out of memory (MPS allocated: 5.50 GB, other allocations: 14.76 GB, max allowed: 20.40 GB). Tried to allocate 147.24 MB on private pool. Use "
     "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
     exhausted::gpu, cause::capacity, phase::backward, 147},
    {"Comfy-Org/ComfyUI#8984, Apple",
     "MPS backend out of memory (MPS allocated: 15.72 GiB, other allocations: 2.41 MiB, max allowed: 18.13 GiB). Tried to allocate 5.81 GiB on private pool.", exhausted::gpu, cause::capacity,
     std::nullopt, 5949},
    {"Tongyi-MAI/Z-Image#103, AMD",
     "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.88 GiB. GPU 0 has a total capacity of 23.98 GiB of which 1.70 GiB is free. Of the allocated memory 21.65 GiB is allocated by PyTorch, "
     "and 279.78 MiB is reserved by PyTorch but unallocated.",
     exhausted::gpu, cause::fragmentation, std::nullopt, 1925},
    // Outside the allocator.
    {"NVIDIA/Megatron-LM#1509",
     "TENCENT64:47604:53083 [0] include/alloc.h:103 NCCL WARN Cuda failure 2 'out of memory'\nTENCENT64:47604:53083 [0] include/alloc.h:206 NCCL WARN Failed to CUDA calloc async 24 bytes\n"
     "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
     exhausted::driver, cause::outside},
    {"PKU-YuanGroup/Open-Sora-Plan#386", "ins-7df6eojsifuykig9:3018451:3018451 [0] enqueue.cc:1085 NCCL WARN Cuda failure 'out of memory'", exhausted::driver, cause::outside},
    // The host.
    {"bmaltais/kohya_ss#1065, accelerate", "died with <Signals.SIGKILL: 9>", exhausted::killed, cause::host},
    {"xxayt/MGSV#2, torchrun", "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 178) of binary: /root/miniconda3/envs/MGSV_env/bin/python", exhausted::killed, cause::host},
    {"2U1/Qwen-VL-Series-Finetune#79, DeepSpeed", "[ERROR] [launch.py:325:sigkill_handler] exits with return code = -9", exhausted::killed, cause::host},
    {"mattmireles/gemma-tuner-multimodal#19", "Training failed with exit code -9", exhausted::killed, cause::host},
    {"noelshin/selfmask#11, an editor", "Process finished with exit code 137 (interrupted by signal 9:SIGKILL)", exhausted::killed, cause::host},
    {"bert-nmt/bert-nmt#14, torch.multiprocessing", "Exception: process 1 terminated with signal SIGKILL", exhausted::killed, cause::host},
    {"ArjunaCluster/ArjunaUsers#52, a shell and Slurm",
     "/var/spool/slurmd/job00191/slurm_script: line 28:  8156 Killed                  python3 main.py --prop hform --epochs 400\nslurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup.",
     exhausted::killed, cause::host},
    {"nextflow-io/nextflow#5932", "slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0. Some of the step tasks have been OOM Killed.", exhausted::killed, cause::host},
    {"brain-score/vision#950, srun alone", "srun: error: node107: task 0: Out Of Memory", exhausted::killed, cause::host},
    {"real-stanford/flingbot#11, Ray",
     "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 192.168.0.107, ID: fc2befb2867c) where the task (actor ID: f9cc340f5aef, "
     "name=SimEnv.__init__, pid=4331, memory used=2.22GB) was running was 59.49GB / 62.58GB (0.950744), which exceeds the memory usage threshold of 0.95.",
     exhausted::killed, cause::host},
    {"a control group, by the kernel's mm/oom_kill.c", "Memory cgroup out of memory: Killed process 4211 (python) total-vm:91234560kB, anon-rss:62914560kB", exhausted::killed, cause::host},
};

}  // namespace

TEST_CASE("what is posted of other kinds") {
  for (const auto& p : all) {
    CAPTURE(p.where);
    const auto m = read_oom(std::string{p.text} + std::string{p.asked_mib < 0 ? cut_off : ""});
    CHECK(m.has_value());
    if (!m) continue;
    CHECK(m->what == p.what);
    CHECK(m->died_in == p.when);
    CHECK(diagnose(*m).why == p.why);
    if (p.asked_mib > 0) {
      REQUIRE(m->asked.has_value());
      CHECK(m->asked->may_be(bytes{p.asked_mib * (1 << 20)}));
    }
  }
}

TEST_CASE("a script's own evaluation, by its function's name alone") {
  const auto m = read_oom("  File \"/home/u/train.py\", line 210, in evaluate\n    out = model(x)\n" + std::string{cut_off});
  REQUIRE(m.has_value());
  CHECK(m->died_in == phase::evaluate);
}

TEST_CASE("what is no out-of-memory message") {
  for (const std::string_view text : {"Killed my patience, but the run goes on", "process 1 terminated with signal SIGTERM", "exits with return code = 1", "exit code 1", "ValueError: Out of memory is not defined",
                                      "node7Killed by its owner", "stage 2Killed  (a note)", "12 Killed-off",
                                      "the memory of the node is 512 GB"})
    CHECK_FALSE(read_oom(text).has_value());
}

}  // namespace test_posted_kinds
