// Distributed under the Boost Software License, Version 1.0.
// A job whose framework.version names a release of TRL or ms-swift has that release's code of its method: objective.trainer "trl" and "ms-swift" are the newest alone.
#pragma once

#include <headroom/io/job/objective.hpp>
#include <headroom/io/job/trainer_releases.hpp>

namespace headroom::io {

/// Code of a method as of a release (100 × major + minor), until the row above it: `code` unset is not modelled. Why each is another: recipe/method_loss.hpp
/// and io/launchers/trl/method.hpp, trl/generation.hpp, trl/ppo.hpp.
struct dated_code {
  objective_kind kind{};
  std::int32_t since{};
  method_code code{};
};
/// The newest first, method by method. A method without a row is one code in every release that has it.
inline constexpr auto trl_codes = std::to_array<dated_code>({
    {objective_kind::dpo, 29, method_code::trl}, {objective_kind::dpo, 15, method_code::trl_0_28}, {objective_kind::dpo, 0, method_code::trl_0_14},
    {objective_kind::orpo, 15, method_code::trl}, {objective_kind::orpo, 0, method_code::trl_0_14},
    {objective_kind::cpo, 15, method_code::trl}, {objective_kind::cpo, 0, method_code::trl_0_14},
    {objective_kind::simpo, 15, method_code::trl}, {objective_kind::simpo, 0, method_code::trl_0_14},
    {objective_kind::kto, 106, method_code::trl}, {objective_kind::kto, 0, method_code::unset},
    {objective_kind::tpo, 107, method_code::trl}, {objective_kind::tpo, 0, method_code::unset},
    {objective_kind::reward, 24, method_code::trl}, {objective_kind::reward, 0, method_code::unset},
    {objective_kind::nash_md, 15, method_code::trl}, {objective_kind::nash_md, 0, method_code::unset},
    {objective_kind::grpo, 100, method_code::trl}, {objective_kind::grpo, 23, method_code::trl_0_29}, {objective_kind::grpo, 20, method_code::trl_0_22},
    {objective_kind::grpo, 16, method_code::trl_0_19}, {objective_kind::grpo, 0, method_code::unset},
    {objective_kind::rloo, 100, method_code::trl}, {objective_kind::rloo, 23, method_code::trl_0_29}, {objective_kind::rloo, 22, method_code::trl_0_22},
    {objective_kind::rloo, 15, method_code::trl_0_21}, {objective_kind::rloo, 0, method_code::trl_0_14},
});

/// … of ms-swift. Its DPO is of 3.5 and of 3.4; what older releases compute has not been read, and takes the oldest that has.
inline constexpr auto swift_codes = std::to_array<dated_code>({
    {objective_kind::dpo, 306, method_code::ms_swift}, {objective_kind::dpo, 305, method_code::ms_swift_3_5}, {objective_kind::dpo, 300, method_code::ms_swift_3_4},
    {objective_kind::distill, 312, method_code::ms_swift}, {objective_kind::distill, 300, method_code::ms_swift_3_11},
});

/// The row of a method as of a release; null: it has none.
template <std::size_t N>
constexpr const dated_code* code_of(const std::array<dated_code, N>& codes, objective_kind kind, std::int32_t release) {
  for (const auto& row : codes)
    if (row.kind == kind && release >= row.since) return &row;
  return nullptr;
}
constexpr const dated_code* trl_code_of(objective_kind kind, std::int32_t release) { return code_of(trl_codes, kind, release); }

/// Gives a method that TRL or ms-swift runs the code of the release that `version` names.
/// Errors: job_error for a release whose code of the method is not modelled, and for objective.trainer that is another release's of TRL. One of ms-swift's stands.
inline void date_method(objective& o, std::string_view version) {
  const bool swift = o.code == method_code::ms_swift, of_trl_code = o.code == method_code::unset || of_trl(o.code);
  const auto release = trainer_release_in(version, swift ? "ms-swift" : "TRL");
  if (release.number == 0 || o.kind == objective_kind::sft || !(of_trl_code || swift)) return;
  const auto* row = swift ? code_of(swift_codes, o.kind, release.number) : trl_code_of(o.kind, release.number);
  if (row == nullptr) return;
  const auto named = std::string{swift ? "ms-swift " : "TRL "} + std::to_string(release.number / 100) + "." + std::to_string(release.number % 100);
  if (row->code == method_code::unset)
    fail("headroom: framework.version names " + named + ", whose " + std::string{text_of(o.kind)} + " is not modelled by this version: the oldest that is modelled is of TRL " + std::to_string((row - 1)->since / 100) + "." + std::to_string((row - 1)->since % 100));
  if (o.code != method_code::unset && o.code != method_code::trl && !swift && o.code != row->code)
    fail("headroom: objective.trainer " + in_quotes(text_of(o.code)) + " contradicts framework.version, which names " + named + ": write \"trl\", which is that release's code there, or leave it out");
  o.code = row->code;
}

}  // namespace headroom::io
