// Distributed under the Boost Software License, Version 1.0.
// The peak of a job under Megatron-FSDP, without the report: by the same walk as engine/tensor_parallel/stages.hpp, of which only the heights are
// added up, and what of them is gathered.
#pragma once

#include <headroom/plan/peak.hpp>

namespace headroom::detail {

/// The one stage of jobs that differ in batch.micro and batch.accumulation alone.
class fsdp_peaks {
 public:
  /// The layout has to outlive this.
  void begin(const settled_job& s, const fsdp_layout& layout, const rank_weights& weights) {
    layout_ = &layout;
    const stage_cut cut(s.source->parallel, s.model.layers, s.source->framework.pipeline.split);
    parts_ = {};
    runs_ = cut_chunk(*s.source, s.model, cut.at(0), parts_);
    add_ends(parts_, s.model, true, true);
    states_ = fsdp_states(s, layout);
    temporaries_ = update_temporaries(s, weights.of_stage(cut, 0));
    load_ = fsdp_load(layout).total;
  }
  /// What no batch is smaller than.
  [[nodiscard]] bytes least() const { return max(load_, states_.total() + temporaries_); }
  /// What the allocator reserves, over its pools.
  [[nodiscard]] bytes reserved(const settled_job& s, const basic_divided_layers<gathered_height>& layers) const {
    auto chunk = chunk_of<gathered_height>(runs_, true);
    const auto most_gathered = walk_fsdp_chunk(chunk, s, layers, *layout_, masks_of(s, true, true));
    const gathered_height resident(resident_of_stage(s, states_, parts_));
    auto allocated = load_, pool = bytes{0};
    for (const auto& above : {gathered_height(temporaries_, bytes{0}), chunk.forward, chunk.loss, chunk.backward}) {
      const auto all = resident + above;
      allocated = max(allocated, all.total);
      pool = max(pool, all.total - all.gathered);
    }
    return max(round_up(allocated, 2 * mib), round_up(pool, 2 * mib) + round_up(resident.gathered + most_gathered, 2 * mib));
  }

 private:
  const fsdp_layout* layout_{};
  chunk_runs runs_{};
  stage_parts parts_{};
  breakdown states_{};
  bytes temporaries_{}, load_{};
};

}  // namespace headroom::detail
