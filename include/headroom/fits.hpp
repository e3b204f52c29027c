// Distributed under the Boost Software License, Version 1.0.
// Does it fit, whatever fragmentation does? At run time, in a static_assert, and as an error of compilation that says by how much not. Of
// those of which this is not certain, decide(job) (decide.hpp) says at run time whether they fit.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/estimate.hpp>
#include <headroom/job.hpp>
#include <headroom/report.hpp>

#include <type_traits>
#include <utility>

namespace headroom {

/// For certain: where the answer is yes, that of decide(job) is, too.
constexpr bool fits(const job& j) { return estimate(j).fits(); }

/// The same job on another GPU.
constexpr bool fits(job j, const gpu& on) {
  j.hardware.gpu = on;
  return fits(j);
}

/// Whether it fits even where a measured run occupies as much as it may: at the upper end of bounds(estimate(j), sure), and whatever
/// fragmentation does; fits(replay(j), sure) is narrower.
///   static_assert(headroom::fits(job, headroom::gpus::h100_sxm_80gb, 0.95));
/// Errors: those of estimate(); job_error for a confidence that is not from 0.5 to 0.999.
constexpr bool fits(const job& j, confidence sure) { return fits(estimate(j), sure); }
constexpr bool fits(job j, const gpu& on, confidence sure) {
  j.hardware.gpu = on;
  return fits(j, sure);
}

/// With layers of one's own (block/own_layer.hpp).
/// Errors: those of estimate(job, own).
template <own_stack Own>
constexpr bool fits(const job& j, const Own& own) {
  return estimate(j, own).fits();
}

namespace detail {

// What a compiler prints of a failed require_fits is the name of a type, so the facts are its template arguments:
//   does_this_job_fit<false, model<{"llama-3.1-70b"}>, gpu<{"h100-sxm-80gb"}>, needs_MiB<1051234>, has_MiB<81009>>
// g++ prints a name held in an array as text; clang prints its character codes, so there it is a list of characters.
namespace fact {
#if defined(__clang__)
template <char... Text>
struct model;
template <char... Text>
struct gpu;
#else
template <name Text>
struct model;
template <name Text>
struct gpu;
#endif
struct host_memory_of_a_node;
struct nvme_of_a_node;
template <std::int64_t MiB>
struct needs_MiB;
template <std::int64_t MiB>
struct has_MiB;
}  // namespace fact

template <bool Fits, class Model, class Memory, class Needs, class Has>
struct does_this_job_fit {
  static_assert(Fits,
                "headroom: this job does not fit, or not for certain; the arguments of does_this_job_fit<> name the model, the memory that is too "
                "small, the MiB needed (with all that fragmentation may take, where only that is too much) and the MiB there are. Shard further, recompute, offload, or take a smaller micro-batch; with "
                "expandable segments fragmentation takes little, and at run time decide(job) replays what it takes");
  static constexpr bool value = Fits;
};

template <const job& J>
struct verdict {
  static constexpr report seen = estimate(J);
  static constexpr rank_report tightest = [] {
    auto worst = seen.ranks[0];
    for (const auto& r : seen)
      if (r.headroom() - r.fragmentation < worst.headroom() - worst.fragmentation) worst = r;
    return worst;
  }();
  static constexpr bool host = tightest.fits() && seen.host.capacity > bytes{0} && seen.host.per_node > seen.host.capacity;
  static constexpr bool nvme = tightest.fits() && !host && !seen.fits();
  static constexpr bytes needs = host ? seen.host.per_node : nvme ? seen.nvme_per_node : tightest.may_fit() ? tightest.device + tightest.fragmentation : tightest.device;
  static constexpr bytes has = host ? seen.host.capacity : nvme ? seen.nvme_capacity : tightest.capacity;

#if defined(__clang__)
  template <std::size_t... I>
  static auto spell_model(std::index_sequence<I...>) -> fact::model<J.model.label.text[I]...>;
  template <std::size_t... I>
  static auto spell_gpu(std::index_sequence<I...>) -> fact::gpu<tightest.gpu.text[I]...>;
  using model = decltype(spell_model(std::make_index_sequence<J.model.label.view().size()>{}));
  using gpu = decltype(spell_gpu(std::make_index_sequence<tightest.gpu.view().size()>{}));
#else
  using model = fact::model<J.model.label>;
  using gpu = fact::gpu<tightest.gpu>;
#endif
  using memory = std::conditional_t<host, fact::host_memory_of_a_node, std::conditional_t<nvme, fact::nvme_of_a_node, gpu>>;
  using type = does_this_job_fit<seen.fits(), model, memory, fact::needs_MiB<ceil_div(needs, mib.count()).count()>,
                                 fact::has_MiB<has.count() / mib.count()>>;
};

}  // namespace detail

/// True for a job that fits; for one that does not, an error of compilation that names the model, the GPU and both sizes.
///   static_assert(headroom::require_fits<job>);
/// `J` has static storage: constexpr at namespace scope, or static constexpr. Inside a template that takes a job by value,
/// hold it first: `static constexpr headroom::job held = J;`.
template <const job& J>
inline constexpr bool require_fits = detail::verdict<J>::type::value;

}  // namespace headroom
