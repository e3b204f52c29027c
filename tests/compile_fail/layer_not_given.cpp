// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: model.pattern names a layer of one's own, which this call is not given
#include <headroom/headroom.hpp>

struct doubling {
  static constexpr std::string_view label() { return "doubling"; }
  static constexpr void add_weights(headroom::inventory& list, const headroom::shape& m, const headroom::layer_span& layers) {
    list.add({.role = headroom::module::norm, .rows = m.hidden, .layers = layers});
  }
  static constexpr int parts() { return 1; }
  static constexpr headroom::program part(int, const headroom::scene& s, const headroom::module_set& trained, bool flows) {
    headroom::program p(s.granule);
    const auto x = p.input(s.tokens * s.model->hidden, s.residual_width, flows);
    p.set_output(headroom::ops::add(p, x, headroom::ops::norm(p, s, x, s.model->hidden, trained.has(headroom::module::norm))));
    return p;
  }
};
constexpr headroom::job hybrid() {
  headroom::job j{.model = headroom::models::llama_3_2_1b, .hardware = {.gpu = headroom::gpus::h100_sxm_80gb}, .batch = {.sequence = 512}};
  j.model.pattern.add_own("doubling");
  j.model.pattern.add({});
  return j;
}
#ifdef FORBIDDEN
constexpr auto peak = headroom::estimate(hybrid()).peak();
#else
constexpr auto peak = headroom::estimate(hybrid(), headroom::own_layers{doubling{}}).peak();
#endif
