// Distributed under the Boost Software License, Version 1.0.
// What starts a training in a command: a launcher, a program's own command, or a script.
#pragma once

#include <headroom/io/launchers/axolotl/parts.hpp>
#include <headroom/io/launchers/programs/recipe_launch.hpp>
#include <headroom/io/launchers/programs/training_programs.hpp>
#include <headroom/io/launchers/trl/launch.hpp>

namespace headroom::io::detail {

enum class launch_starter : std::uint8_t { none, torchrun, deepspeed, accelerate, factory, swift, axolotl, trl, litgpt, tune, program };
/// What starts a run, and where its options or its program begin.
struct launch_start {
  launch_starter how{launch_starter::none};
  std::size_t at{};
};

/// verl's trainer of online methods, the one whose completions other GPUs generate one step ahead, and that of supervised fine-tuning.
inline constexpr std::string_view verl_module = "verl.trainer.main_ppo", verl_detached = "verl.experimental.one_step_off_policy.main_ppo", verl_detached_script = "verl/experimental/one_step_off_policy/main_ppo.py",
                                  verl_tuning = "verl.trainer.fsdp_sft_trainer", verl_tuning_script = "verl/trainer/fsdp_sft_trainer.py";
inline bool is_verl(std::string_view word) { return word == verl_module || word == verl_detached || word == verl_tuning; }

/// OpenRLHF's trainers, by module.
inline bool is_openrlhf(std::string_view word) { return word.starts_with("openrlhf.cli.train_"); }

/// What starts a run in a command. `program_of(script, words)` gives the program that a script is, or null.
template <class Programs>
launch_start start_of(const shell_command& c, const Programs& program_of) {
  const auto& w = c.words;
  if (!w.empty() && (w[0].text == "echo" || w[0].text == "printf" || w[0].text == "cat" || w[0].text == "cp" || w[0].text == "grep" || w[0].text == "pkill")) return {};
  for (std::size_t i = 0; i < w.size(); ++i) {
    const auto name = file_part(w[i].text);
    if (name == "torchrun" || w[i].text == "torch.distributed.run" || w[i].text == "torch.distributed.launch") return {launch_starter::torchrun, i + 1};
    if (name == "deepspeed" || name == "ds") return {launch_starter::deepspeed, i + 1};
    if (name == "accelerate" && i + 1 < w.size() && w[i + 1].text == "launch") return {launch_starter::accelerate, i + 2};
    if (name == "accelerate-launch" || w[i].text == "accelerate.commands.launch") return {launch_starter::accelerate, i + 1};
    if ((name == "swift" || name == "megatron") && i + 1 < w.size() && among_words("sft|pt|rlhf", w[i + 1].text)) return {launch_starter::swift, i + 1};
    if (name == "trl" && i + 1 < w.size() && among_words(trl_commands, w[i + 1].text)) return {launch_starter::trl, i + 1};
    if (name == "litgpt" && i + 1 < w.size() && litgpt_trains(w[i + 1].text)) return {launch_starter::litgpt, i + 1};
    if (name == "tune" && i + 1 < w.size() && w[i + 1].text == "run") return {launch_starter::tune, i + 2};
    if (name == "llamafactory-cli") return i + 1 < w.size() && w[i + 1].text == "train" ? launch_start{launch_starter::factory, i + 2} : launch_start{};
    if (name == "axolotl") return i + 1 < w.size() && w[i + 1].text == "train" ? launch_start{launch_starter::axolotl, i + 2} : launch_start{};
    if (w[i].text == axolotl_module || is_verl(w[i].text) || is_openrlhf(w[i].text)) return {launch_starter::program, i};
    if (i == 0 && w[i].text.starts_with("--")) return program_of({}, w) != nullptr ? launch_start{launch_starter::program, i} : launch_start{};
    if (name.ends_with(".py") && name != "mason.py") return program_of(w[i].text, std::span{w}.subspan(i + 1)) != nullptr ? launch_start{launch_starter::program, i} : launch_start{};
  }
  return {};
}

/// ms-swift's server of an engine (swift/arguments/deploy_args.py, RolloutArguments): the argument by which it takes turns with an environment, or null.
inline const shell_word* turns_of_server(const shell_command& c) {
  const auto& w = c.words;
  bool serves = false;
  for (std::size_t i = 0; i < w.size(); ++i) {
    serves = serves || (w[i].text == "rollout" && i > 0 && file_part(w[i - 1].text) == "swift");
    if (serves && (w[i].text == "--multi_turn_scheduler" || w[i].text.starts_with("--multi_turn_scheduler="))) return &w[i];
  }
  return nullptr;
}

/// ms-swift's other commands, which start other trainings.
inline void check_swift(const shell_command& c, std::size_t i, const std::string& source) {
  const auto& method = c.words[i].text;
  const auto place = "headroom: " + source + ":" + std::to_string(c.words[i].line) + ": ";
  const auto what = in_quotes(c.words[i - 1].shown() + " " + method);
  if (method == "rlhf" && file_part(c.words[i - 1].text) != "megatron") {
    bool said = false;
    for (const auto& w : c.words) said = said || w.text == "--rlhf_type" || w.text.starts_with("--rlhf_type=");
    if (!said) fail(place + what + " does not say its method: add --rlhf_type (dpo, kto, orpo, cpo, simpo, rm, grpo and gkd are modelled by this version)");
  }
}

}  // namespace headroom::io::detail
