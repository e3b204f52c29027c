// Distributed under the Boost Software License, Version 1.0.
// Why a run died: by its message, and by the job that it was.
#include <headroom/diagnose/diagnose.hpp>
#include <headroom/headroom.hpp>
#include <headroom/io/diagnosis_text.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace test_diagnose {

using namespace headroom;
using namespace headroom::literals;

namespace {

oom_message message(std::string_view asked, std::string_view free, std::string_view in_use, std::string_view allocated, std::string_view unallocated) {
  const auto text = "Tried to allocate " + std::string(asked) + ". GPU 0 has a total capacity of 79.35 GiB of which " + std::string(free) +
                    " is free. Including non-PyTorch memory, this process has " + std::string(in_use) + " memory in use. Of the allocated memory " + std::string(allocated) +
                    " is allocated by PyTorch, and " + std::string(unallocated) + " is reserved by PyTorch but unallocated.";
  return read_oom(text).value();
}

bool speaks_of(const diagnosis& d, std::string_view part) {
  return std::any_of(d.suspects.begin(), d.suspects.end(), [&](const suspect& s) { return s.what.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("capacity, fragmentation, another process") {
  CHECK(diagnose(message("2.00 GiB", "1.00 GiB", "78.00 GiB", "77.00 GiB", "0.40 GiB")).why == cause::capacity);
  CHECK(diagnose(message("2.00 GiB", "1.00 GiB", "78.00 GiB", "65.00 GiB", "12.40 GiB")).why == cause::fragmentation);
  // What is free at the driver and what is free in PyTorch's pieces cannot be joined unless segments can grow.
  CHECK(diagnose(message("2.00 GiB", "1.50 GiB", "77.80 GiB", "76.40 GiB", "1.00 GiB")).why == cause::fragmentation);
  const auto d = diagnose(message("2.00 GiB", "0.35 GiB", "60.00 GiB", "59.00 GiB", "0.10 GiB"));
  CHECK(d.why == cause::other_processes);
  CHECK(d.others.value() > 18_GiB);
  CHECK(diagnose(read_oom("exits with return code = -9").value()).why == cause::host);
  CHECK(diagnose(read_oom("CUBLAS_STATUS_ALLOC_FAILED").value()).why == cause::outside);
}

// Yi-34B on 16 GPUs: 34,388,917,248 parameters, one 16th of them in fp32 are 8.006 GiB; 64 GiB of weights and that make 72 GiB.
TEST_CASE("Yi-34B under ZeRO-2: 8 GiB are a rank's share of an fp32 vector") {
  const job yi{.model = models::yi_34b,
               .hardware = {.gpu = gpus::a800_sxm_80gb, .nodes = 2, .gpus_per_node = 8},
               .framework = frameworks::deepspeed_2023,
               .precision = precisions::bf16_mixed,
               .sharding = zero(2),
               .batch = {.micro = 2, .sequence = 4096}};
  const auto m = message("8.01 GiB", "6.02 GiB", "73.10 GiB", "72.08 GiB", "61.48 MiB");
  const auto d = diagnose(m, yi, estimate(yi));
  CHECK(d.why == cause::capacity);
  CHECK(d.suspects.size() == 5);
  CHECK(speaks_of(d, "share of the master copy"));
  CHECK(speaks_of(d, "share of an optimizer moment"));
  CHECK(d.suspects.front().what.find("gradients of zeros") != std::string::npos);  // 72 GiB are there: weights and the master copy
  CHECK(d.died_in.has_value());
  CHECK(d.unpredicted.value() < bytes{0});  // it never came to its tallest moment
}

// Llama-3.1-8B, 4 samples of 8,192 tokens: 128,256 logits each, of two bytes 7.83 GiB, of four 15.66 GiB.
TEST_CASE("logits of a large vocabulary") {
  const job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed,
              .sharding = zero(3), .batch = {.micro = 4, .sequence = 8192}, .recompute = recompute::full};
  auto m = message("15.66 GiB", "6.02 GiB", "73.10 GiB", "62.08 GiB", "61.48 MiB");
  auto d = diagnose(m, j, estimate(j));
  CHECK(speaks_of(d, "logits"));
  m = message("3.33 GiB", "1.02 GiB", "78.10 GiB", "72.08 GiB", "61.48 MiB");
  d = diagnose(m, j, estimate(j));
  CHECK(d.suspects.empty());
  CHECK(io::diagnosis_text(d, m, estimate(j)).find("No tensor of the job") != std::string::npos);
  // More than the estimate's tallest moment: another job.
  m = message("15.66 GiB", "6.02 GiB", "173.10 GiB", "172.08 GiB", "61.48 MiB");
  CHECK(diagnose(m, j, estimate(j)).unpredicted.value() > 80_GiB);
}

// 4 samples of 8,192 tokens: 4 · 8,192 · 14,336 numbers of two bytes in the MLP, 896 MiB, and their gradient behind them.
TEST_CASE("a tensor of a layer, and its gradient in the backward") {
  const job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::libtorch, .precision = precisions::bf16, .batch = {.micro = 4, .sequence = 8192}, .attention = attention::flash};
  const auto all = suspects_of(j);
  const auto listed = [&](phase when, std::string_view what) {
    return std::any_of(all.begin(), all.end(), [&](const suspect& s) { return s.when == when && s.size == 896_MiB && s.what.starts_with(what); });
  };
  CHECK(listed(phase::forward, "an activation of "));
  CHECK(listed(phase::backward, "the gradient of an activation of "));
  CHECK_FALSE(listed(phase::forward, "the gradient of "));
}

// What is there when ZeRO makes each of its flat tensors: the base and the adapters in bf16, then the fp32 copy of this rank's share of the adapters, zeros as
// large, two moments. A rank of 256 on every matrix of a layer is 256 x (2 x 4096 + 2 x 5120 + 8192 + 3 x 18432) elements.
TEST_CASE("flat tensors of adapters lie beside the frozen model and the adapters") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(2), .batch = {.micro = 1, .sequence = 2048}};
  j.adapter = {.kind = adapter_kind::lora, .rank = 256, .targets = all_linear, .format = formats::bf16};
  constexpr std::int64_t adapters = 32 * 256 * (4096 + 4096 + 2 * (4096 + 1024) + 4096 + 4096 + 3 * (4096 + 14336)), part = adapters / 8 * 4;
  constexpr std::int64_t there = 2 * 8'030'261'248 + 2 * adapters;
  const auto beside = [all = suspects_of(j)](std::string_view what) {
    for (const auto& s : all)
      if (s.what == "this rank's share of " + std::string{what} + ", one flat tensor") return s.beside ? s.beside->count() : 0;
    return std::int64_t{-1};
  };
  CHECK(beside("the master copy") == there);
  CHECK(beside("gradients of zeros, made with the optimizer") == there + part);
  CHECK(beside("an optimizer moment") == there + part);  // in its first step, when the zeros are gone
  CHECK(beside("another optimizer moment") == there + 2 * part);
  CHECK(beside("the gradients") == 0);
}

TEST_CASE("Megatron's and expert models' tensors are listed too") {
  job j{.model = models::mixtral_8x7b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8}, .framework = frameworks::megatron,
        .parallel = {.tensor = 2, .sequence = true, .expert = 4}, .batch = {.micro = 4, .sequence = 4096}};
  for (const auto& framework : {frameworks::megatron, frameworks::libtorch}) {
    j.framework = framework;
    if (framework.label == frameworks::libtorch.label) j.parallel = {};
    const auto all = suspects_of(j);
    CHECK(all.size() > 20);
    for (const auto& s : all) {
      CHECK(s.size >= 10_MiB);
      CHECK(s.size.count() % (2 << 20) == 0);
      CHECK_FALSE(s.what.empty());
    }
  }
}

}  // namespace test_diagnose
