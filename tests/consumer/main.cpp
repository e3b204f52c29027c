// Distributed under the Boost Software License, Version 1.0.
// Somebody else's program: it sees the library as installed or as a subproject, and nothing of this build.
#include <headroom/fits.hpp>
#include <headroom/headroom.hpp>

#include <cstdio>

using namespace headroom::literals;

constexpr headroom::job job{
    .model = headroom::models::llama_3_2_1b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb},
    .batch = {.micro = 1, .sequence = 1024},
};
static_assert(headroom::require_fits<job>);

int main() {
  const auto report = headroom::estimate(job);
  std::printf("headroom %d.%d.%d: %lld bytes\n", HEADROOM_VERSION_MAJOR, HEADROOM_VERSION_MINOR, HEADROOM_VERSION_PATCH,
              static_cast<long long>(report.peak().count()));
  return report.fits() && report.peak() < 80_GiB ? 0 : 1;
}
