// Distributed under the Boost Software License, Version 1.0.
// Which variant of torch.utils.checkpoint TRL's trainers use where a file leaves it open, and where they decide it against the file; which transformers an
// older TRL runs over.
#pragma once

#include <headroom/io/frameworks.hpp>
#include <headroom/io/job/trainer_releases.hpp>
#include <headroom/io/launchers/framework_date.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/trl/ages.hpp>

#include <algorithm>

namespace headroom::io::detail {

/// Over a transformers before 5, whose default was the reentrant one (framework/hf_trainer.hpp).
inline bool left_to_older_transformers(const draft& d) {
  const auto* r = d.find({"recompute"});
  const auto* version = d.find({"framework", "version"});
  if (r == nullptr || *r != "full" || version == nullptr || !version->is_string()) return false;
  const auto date = version_date(version->get_ref<const std::string&>());
  return date != 0 && date < frameworks::hf_trainer_202601.date;
}
/// Adapters under ZeRO-3, whose layers are checkpointed otherwise.
inline bool adapters_under_zero3(const draft& d) {
  const auto* r = d.find({"recompute"});
  if (r == nullptr || *r == "none" || (r->is_object() && r->value("reentrant", false)) || d.place_of("recompute").starts_with("--set")) return false;
  if (!d.has({"adapter"}) || !d.framework_is("deepspeed")) return false;
  const auto* stage = d.find({"framework", "options", "zero_optimization", "stage"});
  if (stage == nullptr) stage = d.find({"sharding", "stage"});
  return stage != nullptr && *stage == 3;
}

/// Dates a job by the release of TRL that is said, or by the newest that has its arguments.
inline void trl_dates_transformers(draft& d, const std::string& place) {
  const auto* said = d.find({"environment", "trl"});
  auto named = said != nullptr && said->is_string() ? said->get<std::string>() : std::string{};
  for (const auto& row : d.releases)
    if (row.older == trl_dates_transformers && named.empty()) named = trl_release_text(row.assumed);
  const auto release = trainer_release_in("TRL " + named);
  if (release.date > 0 && leaves_transformers_open(d)) date_framework(d, release.date, place);
}
/// A file with arguments of an older TRL is of its time, and so is the transformers that it ran over, whose loss, checkpoints and loading are another than
/// the newest's (framework/hf_trainer.hpp). TRL's setup.py asks for a least release of transformers and no most; huggingface/alignment-handbook and
/// open-r1 pin both programs to one month (trl 0.7.7 and transformers 4.36.2, 0.16.0 and 4.50.0, 0.18.0 and 4.52.3). 0.28 came with transformers 5.
inline void trl_is_of_its_time(draft& d, const std::string& place, std::int32_t newest) {
  const char* what = "no file says which transformers is installed (--set environment.transformers=VERSION), and it is taken to be of the month of TRL's release";
  const auto said = [](const draft& of) { return leaves_transformers_open(of) && of.has({"environment", "trl"}); };
  d.releases.insert(d.releases.begin(), {"trl", 28, place, what, false, nullptr, newest < 28 ? leaves_transformers_open : +said, trl_dates_transformers, newest});
}

/// TRL 0.27 (40d8759d1 of 2026-01-14) asks for checkpoints that are not reentrant, whatever transformers is installed. With adapters under ZeRO-3
/// they are reentrant all the same, whatever the file says: SFTTrainer's since 0.28 (f11b4c3fd of 2026-02-06), those of DPO, GRPO, RLOO, Reward and
/// KTO since 1.9 (84e83143a of 2026-07-15).
inline void trl_reentry(draft& d, const named_values& v, std::string_view method, std::string_view own) {
  using change = void (*)(draft&, const std::string&);
  const change apart = [](draft& of, const std::string& place) { of.replace("recompute", {{"mode", "full"}, {"reentrant", false}}, place); };
  const change nested = [](draft& of, const std::string& place) { of.replace("recompute", {{"mode", "full"}, {"reentrant", true}}, place); };
  auto newest = trl_releases_with(method, [&](std::string_view key) { return v.has(key) && !v.all().find(key)->is_null() && !among_words(own, key); }).high;
  if (method == "sft" && !v.has("loss_type")) newest = std::min(newest, 106);  // as in trl/defaults.hpp
  trl_is_of_its_time(d, v.source(), newest);
  const auto since = [&](std::int32_t release, const char* what, change newer, bool (*matters)(const draft&)) {
    if (newest >= release) d.releases.push_back({"trl", release, v.source(), what, false, newer, matters, nullptr, newest});
  };
  if (method == "rloo-0.21") return;
  since(27, "TRL's checkpoints are not reentrant since 0.27 (2026-01), and before are those of transformers", apart, left_to_older_transformers);
  if (method == "sft") since(28, "TRL makes checkpoints of adapters under ZeRO-3 reentrant since 0.28 (2026-02)", nested, adapters_under_zero3);
  if (among_words("dpo|grpo|rloo|reward|kto", method)) since(109, "TRL makes checkpoints of adapters under ZeRO-3 reentrant since 1.9 (2026-07)", nested, adapters_under_zero3);
}

}  // namespace headroom::io::detail
