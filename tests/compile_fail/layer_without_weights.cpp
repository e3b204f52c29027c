// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: estimate\(job, x\) takes layers or a schedule of your own
// expect: add_weights
#include <headroom/headroom.hpp>

struct layer {
#ifndef FORBIDDEN
  constexpr void add_weights(headroom::inventory& list, const headroom::shape& m, const headroom::layer_span& layers) const {
    list.add({.role = headroom::module::norm, .rows = m.hidden, .layers = layers});
  }
#endif
  static constexpr int parts() { return 1; }
  static constexpr headroom::program part(int, const headroom::scene& s, const headroom::module_set& trained, bool flows) {
    headroom::program p(s.granule);
    const auto x = p.input(s.tokens * s.model->hidden, s.residual_width, flows);
    p.set_output(headroom::ops::add(p, x, headroom::ops::norm(p, s, x, s.model->hidden, trained.has(headroom::module::norm))));
    return p;
  }
};
constexpr headroom::job job{.model = headroom::models::llama_3_2_1b, .hardware = {.gpu = headroom::gpus::h100_sxm_80gb}, .batch = {.sequence = 512}};
constexpr auto peak = headroom::estimate(job, layer{}).peak();
