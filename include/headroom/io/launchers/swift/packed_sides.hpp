// Distributed under the Boost Software License, Version 1.0.
// ms-swift's packed rows of samples that have two sides: an answer and the one that it is compared with, or KTO's answer and one to another prompt
// (modelscope/ms-swift 3602360a of 2026-08-22 swift/dataset/packing.py create_packed_idx, which adds up both; swift/template/base.py _rlhf_encode).
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io::detail {

/// Says what a row is taken for, where its samples may be shorter. `longest`: tokens of a side; `row`: those of both that a row of several samples has.
inline void say_packed_sides(draft& d, const std::string& kind, std::int64_t longest, std::int64_t row, const std::string& place) {
  const auto half = checked::ceil_div(row, std::int64_t{2});
  if (!among_words("dpo|kto|reward|rm", kind) || longest <= half) return;
  const auto what = "a packed row is taken for one sample of two sides of " + std::to_string(longest) + " tokens each; rows of shorter ones have " + std::to_string(row) + " of both sides together and take less: batch.sequence is " + std::to_string(half) + " for those";
  d.notes.push_back(place + ": " + what);
  d.assumed.push_back(what);
}

}  // namespace headroom::io::detail
