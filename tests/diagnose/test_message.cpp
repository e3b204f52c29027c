// Distributed under the Boost Software License, Version 1.0.
// Out-of-memory messages as people posted them, one for each wording.
#include <headroom/diagnose/message.hpp>
#include <headroom/units/literals.hpp>

#include "both.hpp"

#include <string>

namespace test_message {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr bytes hundredth_mib{10486};

// pytorch/pytorch#16417, torch 1.0: 'cached' is what lies beside the allocated.
constexpr auto torch_1_0 = read_oom(
    "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)");
// microsoft/unilm#137, torch 1.4.
constexpr auto torch_1_4 = read_oom(
    "RuntimeError: CUDA out of memory. Tried to allocate 128.00 MiB (GPU 3; 11.17 GiB total capacity; 10.85 GiB already allocated; 24.81 MiB free; 10.86 GiB "
    "reserved in total by PyTorch)");
// kerrj/lerf#73, torch 2.1, which writes "capacty".
constexpr auto torch_2_1 = read_oom(
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is free. Including "
    "non-PyTorch memory, this process has 20.81 GiB memory in use. Of the allocated memory 12.09 GiB is allocated by PyTorch, and 4.84 GiB is reserved by PyTorch "
    "but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and "
    "PYTORCH_CUDA_ALLOC_CONF");
// murong-xu/CADS#4, torch 2.5.
constexpr auto torch_2_5 = read_oom(
    "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.78 GiB. GPU 0 has a total capacity of 31.47 GiB of which 12.73 GiB is free. Including "
    "non-PyTorch memory, this process has 18.73 GiB memory in use. Of the allocated memory 9.08 GiB is allocated by PyTorch, and 9.35 GiB is reserved by PyTorch but "
    "unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.");
// c10/cuda/CUDACachingAllocator.cpp, 2.2: private pools are named where there are any.
constexpr auto with_graphs = read_oom(
    "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total capacity of 79.15 GiB of which 0 bytes is free. Process 4711 has 1.50 GiB memory in use. Including "
    "non-PyTorch memory, this process has 77.60 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, with 512.00 MiB allocated in private pools "
    "(e.g., CUDA Graphs), and 6.00 GiB is reserved by PyTorch but unallocated.");

}  // namespace

TEST_CASE("a first message that says little does not borrow from the next") {
  const std::string second = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.78 GiB. GPU 3 has a total capacity of 31.47 GiB of which 12.73 GiB is free.";
  const auto cut = read_oom("CUDA out of memory. Tried to allocate 2.00 GiB.\n" + second);
  REQUIRE(cut.has_value());
  CHECK(cut->asked->value == 2_GiB);
  CHECK_FALSE(cut->capacity.has_value());
  CHECK(cut->gpu == -1);
  // Nor does one sentence go on for pages.
  const auto far = read_oom("CUDA out of memory. Tried to allocate 2.00 GiB." + std::string(3000, ' ') + "GPU 3 has a total capacity of 31.47 GiB of which 12.73 GiB is free.");
  REQUIRE(far.has_value());
  CHECK_FALSE(far->capacity.has_value());
}

TEST_CASE("torch until 1.3") {
  BOTH(torch_1_0.has_value());
  BOTH(torch_1_0->what == exhausted::gpu);
  BOTH(torch_1_0->gpu == 0);
  BOTH(torch_1_0->asked->value == 12_MiB + 512_KiB);
  BOTH(torch_1_0->asked->within <= hundredth_mib);
  BOTH(torch_1_0->capacity->may_be(bytes{11'725'260'718}));
  BOTH(torch_1_0->free->value > 9_GiB);
  BOTH(torch_1_0->unallocated->value < 5_MiB);
  BOTH(*torch_1_0->reserved() > 13_MiB);
}

TEST_CASE("torch 1.4 to 2.0") {
  BOTH(torch_1_4->gpu == 3);
  BOTH(torch_1_4->asked->value == 128_MiB);
  BOTH(torch_1_4->unallocated->may_be(bytes{10'737'418}));  // 10.86 - 10.85 GiB
  BOTH(torch_1_4->free->value < 25_MiB);
  BOTH(!torch_1_4->in_use.has_value());
}

TEST_CASE("torch since 2.1") {
  BOTH(torch_2_1->asked->value == 3_GiB);
  BOTH(torch_2_1->capacity->value > 23_GiB);
  BOTH(torch_2_1->in_use->value > 20_GiB);
  BOTH(torch_2_1->allocated->value > 12_GiB);
  BOTH(torch_2_1->unallocated->value > 4_GiB);
  BOTH(!torch_2_1->graph_pools.has_value());
  BOTH(torch_2_5->asked->value > 22_GiB);
  BOTH(torch_2_5->capacity->value > 31_GiB);
  BOTH(torch_2_5->unallocated->value > 9_GiB);
  BOTH(with_graphs->graph_pools->value == 512_MiB);
  BOTH(with_graphs->unallocated->value == 6_GiB);
  BOTH(with_graphs->in_use->value > 77_GiB);
  BOTH(with_graphs->free->value == bytes{0});
}

TEST_CASE("host memory, libraries, and a killed process") {
  constexpr auto host = read_oom(
      "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 137438953472 bytes. Error code 12 "
      "(Cannot allocate memory)");
  BOTH(host->what == exhausted::host);
  BOTH(host->asked->value == 128_GiB);
  BOTH(read_oom("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")->what == exhausted::driver);
  constexpr auto nccl = read_oom("NCCL WARN Failed to CUDA calloc async 10485760 bytes");
  BOTH(nccl->what == exhausted::driver);
  BOTH(nccl->asked->value == 10_MiB);
  BOTH(read_oom("[launch.py:321:sigkill_handler] ['python', '-u', 'train.py'] exits with return code = -9")->what == exhausted::killed);
  BOTH(!read_oom("loss: 2.31").has_value());
  BOTH(!read_oom("").has_value());
}

TEST_CASE("the first of several, and what is cut off or absurd") {
  const auto two = read_oom("Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which\nTried to allocate 2.00 GiB. GPU 7 has a total capacity of 80.00 GiB");
  CHECK(two->asked->value == 1_GiB);
  CHECK(two->gpu == 0);
  CHECK(two->capacity->value == 8_GiB);
  CHECK_FALSE(read_oom("Tried to allocate 99999999999999999999.99 GiB. GPU 0")->asked.has_value());
  CHECK_FALSE(read_oom("Tried to allocate ")->asked.has_value());
  CHECK_FALSE(read_oom("Tried to allocate 3 apples")->asked.has_value());
  const std::string whole =
      "CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is free. Including non-PyTorch memory, this process has 20.81 "
      "GiB memory in use. Of the allocated memory 12.09 GiB is allocated by PyTorch, and 4.84 GiB is reserved by PyTorch but unallocated.";
  for (std::size_t n = 0; n < whole.size(); ++n) (void)read_oom(std::string_view(whole).substr(0, n));
}

}  // namespace test_message
