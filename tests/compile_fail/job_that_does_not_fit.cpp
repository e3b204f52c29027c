// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: this job does not fit
// expect-gcc: does_this_job_fit<false, .*model<.*"llama-3.1-70b".*gpu<.*"h100-sxm-80gb".*needs_MiB<[0-9]+>, .*has_MiB<81009>
// expect-clang: does_this_job_fit<false, .*model<'l', 'l', 'a', 'm', 'a', '-', '3', '.', '1', '-', '7', '0', 'b'>, .*gpu<'h', '1', '0', '0', .*needs_MiB<[0-9]+>, .*has_MiB<81009>
#include <headroom/fits.hpp>
#include <headroom/headroom.hpp>

#ifdef FORBIDDEN
constexpr auto model = headroom::models::llama_3_1_70b;
#else
constexpr auto model = headroom::models::llama_3_2_1b;
#endif
constexpr headroom::job job{
    .model = model,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb},
    .batch = {.micro = 1, .sequence = 2048},
};
static_assert(headroom::require_fits<job>);
