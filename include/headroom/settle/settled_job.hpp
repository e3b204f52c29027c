// Distributed under the Boost Software License, Version 1.0.
// A job with every open key filled in (settle/settle.hpp). What comes after reads this and never asks again.
#pragma once

#include <headroom/block/scene.hpp>
#include <headroom/report.hpp>

namespace headroom {

/// Ranks over which each kind of state is divided.
struct shard_degrees {
  std::int64_t parameters{1};
  std::int64_t gradients{1};
  std::int64_t optimizer{1};
  std::int64_t secondary{};    ///< ZeRO++ hpZ: ranks of a node that divide a second copy of the parameters; 0: there is none
};

/// A job on one kind of GPU with every open key filled in.
struct settled_job {
  constexpr settled_job() = default;  ///< to be assigned to
  /// Sets its members one by one: of an aggregate the compiler would clear every byte first, which takes as long as settling.
  constexpr settled_job(const job& j, const gpu& kind)
      : source(&j), on(&kind), model(j.model), precision(j.precision.set() ? j.precision : j.framework.precision), optimizer(j.optimizer.set() ? j.optimizer : optimizers::adamw) {}

  /// The job, of which settle() leaves as they are: hardware, framework, parallel, sharding, offload, batch, recompute, adapter, trainable and
  /// environment. What it fills in stands here and in `layer`, and is read from there.
  const job* source{};
  const gpu* on{};             ///< the kind of GPU
  shape model;                 ///< vocabulary padded; untied where the framework unties
  headroom::precision precision;  ///< as stated, or the framework's
  number_format multiplies{};  ///< what linear layers multiply in; fp8 where they make it themselves of the `precision.compute` that they are given
  headroom::optimizer optimizer;  ///< as stated, or AdamW
  std::int64_t data{1};
  shard_degrees shards{};
  bool flat{};                 ///< sharded states are one flat vector (ZeRO, FSDP1), not tensor by tensor (FSDP2)
  scene layer{};
  bool reentrant{};
  assumption_set assumptions{};

  [[nodiscard]] constexpr bool sharded() const { return source->sharding.divides(); }
};

}  // namespace headroom
