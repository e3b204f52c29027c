// Distributed under the Boost Software License, Version 1.0.
// What TRL does where a file is silent, as of the releases that have all of the file's arguments.
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/trl/ages.hpp>

namespace headroom::io::detail {

/// huggingface/alignment-handbook's run_sft.py packs whatever a file says (SFTTrainer(packing=True), from 967eab4 of 2023-11-08 to 19f0345 of 2025-07-24, and
/// no other script of TRL's kind has its dataset_mixer).
inline bool packs_by_handbook(draft& d, const named_values& v, std::string_view program) {
  if (program != "trl-sft" || !v.has("dataset_mixer")) return false;
  d.notes.push_back(v.place("dataset_mixer") + ": dataset_mixer is of alignment-handbook's run_sft.py of before 2025-07, which packs samples whatever a file says (of a copy that does not: --set batch.lengths.unknown=true)");
  return true;
}

class trl_defaults {
 public:
  using change = void (*)(draft&, const std::string& place);

  /// Throws job_error where no release has all of the arguments. `own`: those that are the script's.
  trl_defaults(draft& d, const named_values& v, std::string_view method, std::string_view own = {})
      : d_(&d), v_(&v), releases_(trl_releases_with(method == "rloo-0.21" ? "rloo" : method, [&](std::string_view key) { return v.has(key) && !v.all().find(key)->is_null() && !among_words(own, key); })) {
    auto& r = releases_;
    if (method == "sft" && !v.has("loss_type")) r.high = std::min(r.high, 106);  // the loss of older releases stands there (trainer/import.hpp)
    if (method == "sft" && r.high > 19 && v.word_now("packing_strategy") == "ffd") r.high = 19, r.by_high = "packing_strategy ffd";  // bfd since 0.20 (trl/data_utils.py)
    if (method == "rloo-0.21") {
      if (r.low > 21) fail("headroom: " + v.place(r.by_low) + ": " + std::string{r.by_low} + " came with TRL " + trl_release_text(r.low) + ", and this script ended with " + trl_release_text(21));
      r.high = std::min(r.high, 21);
    }
    if (r.low > r.high)
      fail("headroom: " + v.place(r.by_low) + ": no release of TRL has both " + std::string{r.by_low} + ", which came with " + trl_release_text(r.low) + ", and " + std::string{r.by_high} + ", which ended with " + trl_release_text(r.high));
  }

  /// A default that changed with a release: `newer` and `older` say what each is; null: what stands there already. Which one counts is decided by
  /// the arguments, else by --set environment.trl, else by the newest release that has all of the arguments, which is said.
  void since(std::int32_t release, std::string what, change older, change newer, bool (*matters)(const draft&) = nullptr) {
    const auto& place = v_->source();
    if (releases_.low >= release) {
      if (newer != nullptr) newer(*d_, place);
    } else if (releases_.high < release) {
      if (older != nullptr) older(*d_, place);
    } else {
      d_->releases.push_back({"trl", release, place, std::move(what), false, newer, matters, older, releases_.high});
    }
  }
  /// What is modelled as of a release alone: `what` names it.
  void modelled_since(std::int32_t release, const std::string& what, change refuses) {
    if (releases_.high < release)
      fail("headroom: " + v_->place(releases_.by_high) + ": " + std::string{releases_.by_high} + " ended with TRL " + trl_release_text(releases_.high) + ", and TRL's " + what + " is modelled as of " + trl_release_text(release) + " by this version");
    since(release, "TRL's " + what + " is modelled as of " + trl_release_text(release), refuses, nullptr);
  }
  /// Whether a release may be the file's that is at least this old.
  [[nodiscard]] bool may_be_before(std::int32_t release) const { return releases_.low < release; }
  [[nodiscard]] bool may_be_since(std::int32_t release) const { return releases_.high >= release; }

 private:
  draft* d_;
  const named_values* v_;
  trl_releases releases_;
};

}  // namespace headroom::io::detail
