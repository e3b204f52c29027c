// Distributed under the Boost Software License, Version 1.0.
// What several limits ask of a job.
#pragma once

#include <headroom/job.hpp>

namespace headroom::detail {

/// Frameworks whose layers tensor, context or expert parallelism may divide: they know fewer kinds of model.
constexpr bool divides_layers(const profile& f) { return f.modules.megatron() || f.modules.dtensor(); }

/// Attention that writes its scores out.
constexpr bool writes_scores(const job& j) { return j.attention == attention::eager || j.attention == attention::math || (j.model.attention_softcap > 0 && !j.framework.caps_in_kernels()); }

}  // namespace headroom::detail
