// Distributed under the Boost Software License, Version 1.0.
// A program that links headroom::compiled: the compiler's answers are of the headers, those at run time of the library, and they are the same.
#include <headroom/cost/cost.hpp>
#include <headroom/estimate.hpp>
#include <headroom/hardware/gpu.hpp>
#include <headroom/io/admission.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/replay.hpp>

#include <cstdio>

static_assert(HEADROOM_COMPILED == 1);

constexpr headroom::job job{
    .model = headroom::models::llama_3_2_1b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb},
    .batch = {.micro = 1, .sequence = 1024},
};
constexpr headroom::report in_headers = headroom::estimate(job);
static_assert(headroom::cost(job).step.value > 0);

int main() {
  const auto answer = headroom::io::admit({.job = R"({"model": "llama-3.2-1b", "hardware": {"gpu": "h100-sxm-80gb"},
                                                     "batch": {"micro": 1, "sequence": 1024}})"});
  std::puts(answer.sentence.c_str());
  const bool same = headroom::estimate(job) == in_headers && headroom::cost(job).step.value > 0 && answer.report == headroom::replay(job);
  return same && answer.decision == headroom::io::decision::fits ? 0 : 1;
}
