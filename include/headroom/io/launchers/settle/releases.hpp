// Distributed under the Boost Software License, Version 1.0.
// What releases of programs changed, of launch files that may not say theirs.
#pragma once

#include <headroom/io/frameworks.hpp>
#include <headroom/io/job/model.hpp>
#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/framework_date.hpp>
#include <headroom/io/launchers/trl/reentry.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace headroom::io::detail {

/// "1.9", "0.26.1": 109, 26.
inline std::int32_t release_of(const json_value& value, const std::string& path) {
  const auto text = value.is_string() ? value.get<std::string>() : std::string{};
  const auto dot = text.find('.');
  const auto number = [&](std::size_t from, std::size_t to) {
    const auto end = std::min(to, text.size());
    if (from >= end || end - from > 2 || text.find_first_not_of("0123456789", from) < end) wrong_value(path, "a version, e.g. \"1.9\"", value);
    return std::stoi(text.substr(from, end - from));
  };
  if (dot == std::string::npos) wrong_value(path, "a version, e.g. \"1.9\"", value);
  return number(0, dot) * 100 + number(dot + 1, text.find('.', dot + 1));
}

/// The model as far as files say it; none where it is no model, which is said where the job is made.
inline std::optional<shape> model_said(const draft& d) {
  const auto* m = d.find({"model"});
  if (m == nullptr) return std::nullopt;
  try {
    return read_model(*m, "model", "/nonexistent/folder");
  } catch (const job_error&) {
    return std::nullopt;
  }
}

/// Routed experts, whichever program over transformers trains them: one after the other before its release 5, in grouped products since
/// (framework/hf_trainer.hpp). A job file that is read, too, says framework.version itself.
inline void ask_how_experts_run(draft& d) {
  const bool over = d.framework_is("hf-trainer") || d.framework_is("deepspeed");
  if (!over || d.has({"framework", "version"}) || d.has_read(file_kind::job)) return;
  const auto sparse = [](const draft& of) {
    const auto m = model_said(of);
    return m && m->sparse();
  };
  d.releases.push_back({"transformers", 500, d.place_of("framework.name"), "routed experts run one after the other before transformers 5, and in grouped products since", false, nullptr, sparse,
                        [](draft& of, const std::string& place) {
                          if (of.has({"framework", "version"})) return;  // of the release that is said
                          date_framework(of, 202512, place);
                        }});
}

/// A release that is said stands for its date (io/job/transformers_releases.hpp).
inline void date_transformers(draft& d) {
  const auto* said = d.find({"environment", "transformers"});
  if (said == nullptr || !(d.framework_is("hf-trainer") || d.framework_is("deepspeed")) || d.has({"framework", "version"}) || d.has_read(file_kind::job)) return;
  const auto release = release_of(*said, "environment.transformers");
  date_framework(d, date_of_transformers(release), d.place_of("environment.transformers"));
}

/// The first release of transformers that has the class of a model, where that decides a default; 0: any. Qwen3.5 came on 2026-02-09 and Gemma 4 on 2026-04-02
/// (the first commits of models/qwen3_5/modeling_qwen3_5.py and models/gemma4/modeling_gemma4.py). Neither is code of a checkpoint's own.
inline std::int32_t first_release_of(const shape& m) {
  if (m.vision.kind == vision_kind::qwen3_vl && m.recurs()) return 502;
  return m.vision.kind == vision_kind::gemma4 || m.value_norm ? 505 : 0;
}
inline std::int32_t first_release_of(const draft& d) {
  const auto m = d.has_read(file_kind::job) ? std::nullopt : model_said(d);
  return m ? first_release_of(*m) : 0;
}

/// Gemma 4's layers that see all have heads of 512. Until transformers 5.13 (9d011e8375 of 2026-07-02, integrations/sdpa_attention.py) keys and values were not
/// repeated for sdpa without a mask, of which PyTorch has no kernel but the one that writes whole scores out (ATen sdp_utils.cpp: enable_gqa is flash
/// attention's, whose heads have 256 at most).
inline void ask_how_wide_heads_attend(draft& d, std::int32_t first) {
  if (const auto* a = d.find({"attention"}); first != 505 || (a != nullptr && *a != "sdpa") || !(d.framework_is("hf-trainer") || d.framework_is("deepspeed"))) return;
  d.releases.push_back({"transformers", 513, d.place_of("framework.name"), "Gemma 4's layers that see all write whole scores out before transformers 5.13 (2026-07) where no mask is passed, and not since", false, nullptr, nullptr,
                        [](draft&, const std::string& place) { fail("headroom: " + place + ": Gemma 4 under sdpa of transformers before 5.13 (2026-07) is not modelled by this version, whose layers that see all write whole scores out: --set attention=eager where it is so, or --set environment.transformers=5.13"); }, 513});
}

/// Defaults that releases changed. The releases are no keys of a job.
inline void settle_releases(draft& d) {
  ask_how_experts_run(d);
  date_transformers(d);
  const auto of_model = first_release_of(d), first = std::max(of_model, d.least_transformers);
  if (const auto* said = d.find({"environment", "transformers"}); said != nullptr && release_of(*said, "environment.transformers") < first)
    fail("headroom: " + d.place_of("environment.transformers") + ": transformers " + said->get<std::string>() + (of_model == first ? " has no class of this model, which came with " : " does not run this script, which takes ") + std::to_string(first / 100) + "." + std::to_string(first % 100));
  ask_how_wide_heads_attend(d, first);
  for (const auto& r : d.releases) {
    const auto least = r.program == "transformers" ? first : 0;
    const auto* said = d.find({"environment", r.program});
    const auto hint = ": say it, or --set environment." + std::string{r.program} + "=VERSION";
    if (r.matters != nullptr && !r.matters(d)) continue;
    if (r.older == trl_dates_transformers && first > 0) continue;  // a model that came later
    const bool open = said == nullptr && least < r.since;
    if (open && r.asks) fail("headroom: " + r.place + ": " + r.what + hint);
    if (open) {
      const auto newest = std::to_string(r.assumed / 100) + "." + std::to_string(r.assumed % 100);
      d.notes.push_back(r.place + ": " + r.what + ": " + (r.assumed > 0 ? "release " + newest : std::string{"the older"}) + " is assumed" + hint);
      if (!r.bounds) d.assumed.push_back(r.what + (r.assumed > 0 ? ": release " + newest + " is assumed" : ""));
    }
    const bool since = said == nullptr ? std::max(least, r.assumed) >= r.since : release_of(*said, "environment." + std::string{r.program}) >= r.since;
    if (const auto apply = since ? r.newer : r.older) apply(d, r.place);
  }
  const auto all = d.job.find("environment");
  if (all == d.job.end() || !all->is_object()) return;
  for (const auto* program : {"trl", "transformers", "ms-swift", "verl", "openrlhf", "accelerate"}) all->erase(program);
  if (all->empty()) d.job.erase("environment");
}

}  // namespace headroom::io::detail
