// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: estimate\(job, x\) takes layers or a schedule of your own
// expect: run\(plan, stage, visit\)
#include <headroom/headroom.hpp>

struct one_by_one {
#ifdef FORBIDDEN
  template <class Visit>
  constexpr void order(const headroom::pipeline_plan& p, std::int64_t, Visit&& visit) const {
#else
  template <class Visit>
  constexpr void run(const headroom::pipeline_plan& p, std::int64_t, Visit&& visit) const {
#endif
    for (std::int64_t i = 0; i < p.micros; ++i) {
      visit(headroom::work{headroom::work_kind::forward, 0, i});
      visit(headroom::work{headroom::work_kind::backward, 0, i});
    }
  }
};
constexpr headroom::job job{.model = headroom::models::llama_3_2_1b,
                            .hardware = {.gpu = headroom::gpus::h100_sxm_80gb, .gpus_per_node = 2},
                            .framework = headroom::frameworks::megatron,
                            .parallel = {.pipeline = 2},
                            .batch = {.sequence = 512, .accumulation = 2}};
constexpr auto peak = headroom::estimate(job, one_by_one{}).peak();
