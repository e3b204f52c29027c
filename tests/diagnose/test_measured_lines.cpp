// Distributed under the Boost Software License, Version 1.0.
// What logs of runs say that they took. The lines have the forms that the named projects print; their figures are made up.
#include <headroom/diagnose/measured_lines.hpp>

#include <doctest/doctest.h>

namespace test_measured_lines {

using namespace headroom;

namespace {
std::int64_t of(const measured_lines& l, reading m) { return l.run.measured[static_cast<std::size_t>(m)].count(); }
}  // namespace

TEST_CASE("Megatron-LM: the tallest rank's peaks, and the middle of all steps but the first") {
  const auto l = read_measured_lines(
      "[Rank 0] (after 2 iterations) memory (MB) | allocated: 30000.5 | max allocated: 40000.25 | reserved: 45000.0 | max reserved: 45056.0\n"
      "[Rank 8] (after 2 iterations) memory (MB) | allocated: 20000.0 | max allocated: 41000.5 | reserved: 44000.0 | max reserved: 44032.0\n"
      " iteration 1/ 10 | consumed samples: 8 | elapsed time per iteration (ms): 9000.0 | learning rate: 1.0E-05 |\n"
      " iteration 2/ 10 | consumed samples: 16 | elapsed time per iteration (ms): 2310.5 | learning rate: 1.0E-05 |\n"
      " iteration 3/ 10 | consumed samples: 24 | elapsed time per iteration (ms): 2300.0 | learning rate: 1.0E-05 |\n"
      " iteration 4/ 10 | consumed samples: 32 | elapsed time per iteration (ms): 2400.0 | learning rate: 1.0E-05 |\n");
  CHECK(of(l, reading::allocated) == 42'992'140'288);  // 41,000.5 · 2^20
  CHECK(of(l, reading::reserved) == 47'244'640'256);   // 45,056 · 2^20
  CHECK(of(l, reading::device) == -1);
  CHECK(l.run.step == 2'310'500'000);
  CHECK(l.any());
  CHECK_FALSE(l.died);
}

TEST_CASE("DeepSpeed: peaks are set back at each line; what is cached has decimals now, not at its peak") {
  const auto l = read_measured_lines(
      "MA 10.25 GB         Max_MA 20.5 GB         CA 22.75 GB         Max_CA 23 GB \n"
      "MA 10.25 GB         Max_MA 12.0 GB         CA 22.5 GB         Max_CA 23 GB \n");
  CHECK(of(l, reading::allocated) == 22'011'707'392);  // 20.5 · 2^30
  CHECK(of(l, reading::reserved) == 24'427'626'496);   // 22.75 · 2^30
  CHECK(l.run.step == 0);
}

TEST_CASE("torch.cuda.memory_summary(): the second column is the peak") {
  const auto l = read_measured_lines(
      "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
      "| Allocated memory      |   1024 MiB |  20480 MiB |    900 GiB |    899 GiB |\n"
      "|       from large pool |   1000 MiB |  30000 MiB |    900 GiB |    899 GiB |\n"
      "| Active memory         |   1024 MiB |  20992 MiB |    900 GiB |    899 GiB |\n"
      "| GPU reserved memory   |  22528 MiB |     24 GiB |     22 GiB |      0 B   |\n");
  CHECK(of(l, reading::allocated) == 21'474'836'480);
  CHECK(of(l, reading::active) == 22'011'707'392);
  CHECK(of(l, reading::reserved) == 25'769'803'776);
}

TEST_CASE("torchtitan: reserved at the peak of each step") {
  const auto l = read_measured_lines(
      "[rank0]:2025-01-01 00:00:00,000 - root - INFO - step:  1  loss: 12.2  memory: 39.10GiB(41.20%)  tps: 600  mfu: 3.1%\n"
      "[rank0]:2025-01-01 00:00:09,000 - root - INFO - step: 10  loss: 10.2  memory: 47.50GiB(50.05%)  tps: 6,120  mfu: 41.2%\n");
  CHECK(of(l, reading::reserved) == 51'002'736'640);  // 47.5 · 2^30
  CHECK(of(l, reading::allocated) == -1);
}

TEST_CASE("the Trainer: what was there, what was added, and how much higher the peak was than the end") {
  const auto bytes_said = read_measured_lines(
      "{'train_runtime': 143.6704, 'train_samples_per_second': 0.835, 'train_steps_per_second': 0.5, 'init_mem_gpu_alloc_delta': 1000, 'init_mem_gpu_peaked_delta': 77,\n"
      " 'train_mem_gpu_alloc_delta': 126487040, 'train_mem_gpu_peaked_delta': 11016635392, 'before_init_mem_gpu': 4747206656, 'epoch': 0.04}\n");
  CHECK(of(bytes_said, reading::allocated) == 4'747'206'656 + 1'000 + 126'487'040 + 11'016'635'392);
  CHECK(bytes_said.run.step == 2'000'000'000);
  const auto mib_said = read_measured_lines("  before_init_mem_gpu        =     100MB\n  init_mem_gpu_alloc_delta   =     230MB\n  train_mem_gpu_alloc_delta  =     693MB\n  train_mem_gpu_peaked_delta =       7MB\n");
  CHECK(of(mib_said, reading::allocated) == 1'030 * 1'048'576);
  // Without what was there before, nothing is said: the sum would be too small.
  CHECK_FALSE(read_measured_lines("'train_mem_gpu_alloc_delta': 126487040, 'train_mem_gpu_peaked_delta': 11016635392").any());
}

TEST_CASE("a log of a run that died, and one that says nothing") {
  CHECK(read_measured_lines("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.").died);
  CHECK_FALSE(read_measured_lines("").any());
  CHECK_FALSE(read_measured_lines("memory: 12\nall is well | max allocated: 1\n").any());
}

}  // namespace test_measured_lines
