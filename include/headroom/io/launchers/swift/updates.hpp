// Distributed under the Boost Software License, Version 1.0.
// Optimizers of ms-swift's own over transformers' Trainer (modelscope/ms-swift 3602360a of 2026-08-22: swift/optimizers).
#pragma once

#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// Muon is Moonlight's, which LLaMA-Factory's is, too: all matrices but embeddings and head (muon.py). GaLore is its authors' (galore/utils.py
/// get_optimizer): with an optimizer for each parameter, all of which step once gradients are there (GaloreOptimizerWrapper), projections live twice
/// as long. False: the Trainer's own.
inline bool swift_updates(draft& d, named_values& v) {
  if (v.word_now("optimizer") == "muon") {
    v.take("optimizer"), v.take("optim");
    d.replace("optimizer", "muon", v.place("optimizer"));
    return true;
  }
  const auto rank = v.number("galore_rank", 128), every = v.number("galore_update_proj_gap", 50);
  const bool each = v.on("galore_optim_per_parameter");
  if (!v.on("use_galore")) return false;
  const auto base = v.word("optim", "adamw_torch");
  const bool eight = base.find("adamw") != base.npos && base.find("8bit") != base.npos;
  if (!eight && !among_words("adafactor|adamw_hf|adamw_torch|adamw_torch_fused", base)) fail("headroom: " + v.place("optim") + ": ms-swift's GaLore has no optim " + in_quotes(base) + ", and stops there; accepted: adamw_torch, adamw_8bit, adafactor");
  if (eight && base.find("paged") != base.npos) d.unmodelled_key("optim", base, v.place("optim"), "under GaLore");
  d.replace("optimizer", json_value{{"name", eight ? "galore-8bit" : base == "adafactor" ? "galore-adafactor" : "galore"}, {"rank", rank}, {"update_interval", each ? checked::mul(2, every) : every}}, v.place("use_galore"));
  return true;
}

}  // namespace headroom::io::detail
