// Distributed under the Boost Software License, Version 1.0.
// Whether verl's FSDP workers take the padding out of their samples (actor_rollout_ref.model.use_remove_padding; volcengine/verl b178a3cd of 2026-01-29:
// verl/workers/actor/dp_actor.py DataParallelPPOActor._forward_micro_batch).
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

inline constexpr std::string_view verl_removes = "actor_rollout_ref.model.use_remove_padding";

/// With their padding samples are as long as prompt and response may be.
inline void say_verl_padded(draft& d, const std::string& place) {
  d.say({"batch", "padded"}, true, place);
  const std::string what = "copies that flash attention makes of one layer's samples without their padding are not counted";
  d.notes.push_back(place + ": " + what);
  d.assumed.push_back(what);
}
inline void refuse_verl_padded(draft& d, const std::string& place) { d.unmodelled_key(std::string{verl_removes}, false, place, "padded samples beside rows of tokens, or an entropy in the loss"); }

/// After the batch is known. False was the default before 0.7 (56175299 of 2025-12-09, verl/trainer/config/model/hf_model.yaml). `oldest`: the release that the command's
/// keys are of, at least.
inline void read_verl_padding(draft& d, named_values& v, std::int32_t oldest) {
  const auto* weight = v.take("actor_rollout_ref.actor.entropy_coeff");
  const bool cut = d.has({"parallel", "context"}), read = !d.has({"batch", "packed"}) && (weight == nullptr || !weight->is_number() || *weight == 0);
  if (!v.on(verl_removes, true)) {
    if (cut) fail("headroom: " + v.place(verl_removes) + ": verl stops where ulysses_sequence_parallel_size is above 1 without use_remove_padding");
    return read ? say_verl_padded(d, v.place(verl_removes)) : refuse_verl_padded(d, v.place(verl_removes));
  }
  if (oldest < 7 && !v.has(verl_removes) && !cut)
    d.releases.push_back({"verl", 7, v.source(), std::string{verl_removes} + " is not given, and is false in verl before 0.7 (2026-01), and true since", true, nullptr, nullptr, read ? say_verl_padded : refuse_verl_padded});
}

}  // namespace headroom::io::detail
