// Distributed under the Boost Software License, Version 1.0.
// A dozen out-of-memory messages as people posted them, of PyTorch 1.13 to 2.8: what each says, and why it was that the run died.
#include <headroom/diagnose/diagnose.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_posted {

using namespace headroom;
using namespace headroom::literals;

namespace {

struct posted {
  std::string_view where, text;
  std::int64_t asked_mib100, capacity_gib100;  ///< hundredths
  cause why;
  std::optional<phase> when{};
};

const posted all[] = {
    {"huggingface/accelerate#1519, SAM beside another job on its GPU",
     "[gpu187:2]:torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB (GPU 2; 79.35 GiB total capacity; 33.66 GiB already allocated; 709.69 MiB free; 34.91 GiB "
     "reserved in total by PyTorch)",
     307'200, 7935, cause::other_processes},
    {"01-ai/Yi#249, every process on the first GPU",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 98 MiB. (GPU 0; 44.32GiB total capacity; 9.29 GiB already allocated; 41.00 MiB free; 9.29 GiB reserved in total by "
     "PyTorch)",
     9'800, 4432, cause::other_processes},
    {"hiyouga/LlamaFactory#1722, Qwen-14B",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.45 GiB (GPU 1; 23.68 GiB total capacity; 18.98 GiB already allocated; 1.31 GiB free; 22.03 GiB reserved in total by "
     "PyTorch)",
     148'480, 2368, cause::fragmentation},
    {"eosphoros-ai/DB-GPT-Hub#248, ChatGLM3-6B",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 214.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 170.69 MiB is free. Including non-PyTorch memory, this "
     "process has 23.28 GiB memory in use. Of the allocated memory 22.74 GiB is allocated by PyTorch, and 136.85 MiB is reserved by PyTorch but unallocated.",
     21'400, 2364, cause::fragmentation},
    {"ncbi/MedCPT#6",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 192.00 MiB. GPU 0 has a total capacty of 23.69 GiB of which 75.69 MiB is free. Including non-PyTorch memory, this "
     "process has 23.61 GiB memory in use. Of the allocated memory 22.85 GiB is allocated by PyTorch, and 383.45 MiB is reserved by PyTorch but unallocated.",
     19'200, 2369, cause::fragmentation},
    {"shibing624/MedicalGPT#317, Yi-34B",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 280.00 MiB. GPU 1 has a total capacity of 79.33 GiB of which 190.44 MiB is free. Process 2993049 has 3.16 GiB memory "
     "in use. Including non-PyTorch memory, this process has 75.97 GiB memory in use. Of the allocated memory 74.93 GiB is allocated by PyTorch, and 48.07 MiB is reserved by PyTorch but "
     "unallocated.",
     28'000, 7933, cause::other_processes},
    {"richard-peng-xia/MMed-RAG#38, on Windows, which lends host memory",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacty of 8.00 GiB of which 0 bytes is free. Of the allocated memory 22.44 GiB is "
     "allocated by PyTorch, and 3.16 MiB is reserved by PyTorch but unallocated.",
     6'400, 800, cause::capacity},
    {"modelscope/ms-swift#5943, in a container that does not see its own process",
     "[rank15]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.63 GiB. GPU 7 has a total capacity of 79.11 GiB of which 2.61 GiB is free. Including non-PyTorch memory, this "
     "process has 0 bytes memory in use. Of the allocated memory 48.15 GiB is allocated by PyTorch, with 50.00 MiB allocated in private pools (e.g., CUDA Graphs), and 3.49 GiB is reserved by "
     "PyTorch but unallocated.",
     269'312, 7911, cause::fragmentation},
    {"OEvortex/unsloth#20, seven more processes on the GPU",
     "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 5 has a total capacity of 79.19 GiB of which 2.06 MiB is free. Including non-PyTorch memory, this "
     "process has 75.45 GiB memory in use. Process 18307 has 540.00 MiB memory in use. Process 18301 has 540.00 MiB memory in use. Process 18303 has 540.00 MiB memory in use. Process 18300 has "
     "540.00 MiB memory in use. Process 18304 has 540.00 MiB memory in use. Process 18302 has 540.00 MiB memory in use. Process 18306 has 540.00 MiB memory in use. Of the allocated memory "
     "73.58 GiB is allocated by PyTorch, and 279.13 MiB is reserved by PyTorch but unallocated.",
     200, 7919, cause::fragmentation},
    {"simplescaling/s1#106, which knows its own process by number alone",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.46 GiB. GPU 0 has a total capacity of 139.72 GiB of which 3.02 GiB is free. Process 3373672 has 136.69 GiB memory in use. "
     "Of the allocated memory 119.21 GiB is allocated by PyTorch, and 14.04 GiB is reserved by PyTorch but unallocated.",
     866'304, 13972, cause::fragmentation},
    {"NVIDIA-NeMo/Automodel#3907, a sentence a line",
     "train_ft.py:1208 _forward_backward_step -> torch/_tensor.py:623 backward\n  -> autograd/__init__.py:395 backward -> autograd/graph.py:979 _engine_run_backward\n"
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 720.00 MiB.\nGPU 0 has a total capacity of 184.31 GiB of which 443.94 MiB is free.\nOf the allocated memory 171.63 GiB is "
     "allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated.",
     72'000, 18431, cause::fragmentation, phase::backward},
    {"huggingface/trl#2776, torch 2.5: the first update",
     "[rank0]:   File \"/torch/lib/python3.10/site-packages/torch/optim/adamw.py\", line 220, in step\n[rank0]:     adamw(\n"
     "[rank0]:   File \"/torch/lib/python3.10/site-packages/torch/optim/adamw.py\", line 606, in _multi_tensor_adamw\n[rank0]:     exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)\n"
     "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 94.99 GiB of which 87.19 MiB is free. Including non-PyTorch memory,",
     13'000, 9499, cause::capacity, phase::step},
};

}  // namespace

TEST_CASE("what a dozen posted messages say") {
  for (const auto& p : all) {
    CAPTURE(p.where);
    const auto m = read_oom(p.text);
    REQUIRE(m.has_value());
    CHECK(m->what == exhausted::gpu);
    REQUIRE(m->asked.has_value());
    CHECK(m->asked->may_be(bytes{p.asked_mib100 * (1 << 20) / 100}));
    REQUIRE(m->capacity.has_value());
    CHECK(m->capacity->may_be(bytes{p.capacity_gib100 * (1 << 30) / 100}));
    CHECK(m->free.has_value());
    CHECK(m->died_in == p.when);
    CHECK(diagnose(*m).why == p.why);
  }
}

TEST_CASE("whole numbers, tenths, and decimal units") {
  const auto asked = [](std::string_view size) { return read_oom("Tried to allocate " + std::string(size) + " (GPU 0; 80 GB total capacity;)")->asked.value(); };
  CHECK(asked("64.05 GiB").may_be(bytes{68'777'834'496}));  // Yi-34B in 16 bits
  CHECK(asked("64.1 GiB").may_be(bytes{68'777'834'496}));
  CHECK(asked("64 GiB").may_be(bytes{68'777'834'496}));
  CHECK(asked("68.8 GB").may_be(bytes{68'777'834'496}));
  CHECK_FALSE(asked("63.9 GiB").may_be(bytes{68'777'834'496}));
  CHECK_FALSE(asked("65 GiB").may_be(bytes{68'777'834'496}));
  CHECK(asked("512 bytes").value == bytes{512});
  CHECK(asked("98MiB").value == 98_MiB);
}

// Where a traceback ends says in which phase; what runs inside of something else does not.
TEST_CASE("phases by the names in a traceback") {
  const auto when = [](std::string text) { return read_oom(text + "\nCUDA out of memory. Tried to allocate 2.00 GiB.")->died_in; };
  const std::string head = "Traceback (most recent call last):\n";
  CHECK(when(head + "  File \"a.py\", line 1, in train\n    loss.backward()\n  File \"c.py\", line 3, in backward\n  File \"llama.py\", line 7, in forward\n") == phase::backward);  // a checkpoint
  CHECK(when(head + "  File \"llama.py\", line 7, in forward\n    q = self.q_proj(x)\n") == phase::forward);
  CHECK(when(head + "  File \"llama.py\", line 7, in forward\n    loss = loss_fct(shift_logits, shift_labels)\n") == phase::loss_forward);
  CHECK(when(head + "  File \"train.py\", line 7, in <module>\n    model = AutoModel.from_pretrained(name)\n") == phase::load);
  CHECK(when(head + "  File \"train.py\", line 7, in training_step\n") == std::nullopt);  // no name of its own
  CHECK(when(head + "    loss.backward()\nRuntimeError\n" + head + "    optimizer.step()\n") == phase::step);  // the last traceback
  // Boxed: lines beside the marked one did not run.
  CHECK(when(head + "\u2502 engine.py:330 in __init__ \u2502\n\u2502   329   loss.backward()\n\u2502 \u2771 330   self._configure_zero_optimizer(o)\n") == phase::load);
  CHECK(when(head + "\u2502 train.py:330 in main \u2502\n\u2502   329   self._configure_zero_optimizer(o)\n\u2502 \u2771 330   loss.backward()\n") == phase::backward);
}

}  // namespace test_posted
