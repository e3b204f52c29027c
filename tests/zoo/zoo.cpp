// Distributed under the Boost Software License, Version 1.0.
// Every model that the library knows by name is estimated in a constant expression. It is compiled, not run.
#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>

#include <utility>

namespace {

using namespace headroom;

/// Of few tokens, as many as all learned positions allow. Towers that take images of any size get one.
constexpr job job_of(const shape& m) {
  job j{.model = m, .hardware = {.gpu = gpus::b300_sxm_288gb}, .framework = frameworks::hf_trainer, .batch = {.sequence = 64}};
  if (m.vision.kind != vision_kind::none && m.vision.image == 0) j.model.vision.image = 448;
  return j;
}

template <std::size_t I>
constexpr bool estimated = estimate(job_of(*models::table[I].model)).device() > bytes{0};

template <std::size_t... I>
constexpr bool all_of(std::index_sequence<I...>) {
  return (estimated<I> && ...);
}

static_assert(all_of(std::make_index_sequence<models::all().size()>{}));

}  // namespace
