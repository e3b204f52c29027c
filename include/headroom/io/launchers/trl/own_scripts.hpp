// Distributed under the Boost Software License, Version 1.0.
// Scripts of TRL's examples whose configuration stands in their own code (huggingface/trl f2cd57710 of 2026-07-24, examples/scripts; what decides memory is
// the same since v1.0.0 of 2026-03, before which they were other scripts): the arguments that they hand to one of TRL's trainers.
// Tools and environments answer between a completion's parts, all of which are within max_completion_length (trl/trainer/grpo_trainer.py _tool_call_loop,
// v1.0.0 to v1.9.0 and f2cd57710). Where the trained module generates, later parts are generated behind the earlier ones, beyond that length: those scripts
// are no rows here.
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>
#include <headroom/io/launchers/trl/ages.hpp>
#include <headroom/io/options/megatron_modules.hpp>

#include <vector>

namespace headroom::io::detail {

/// Names stand between bars.
struct trl_own_script {
  std::string_view ends;     ///< of its path
  std::string_view program;  ///< that has the trainer's arguments
  std::string_view sets;     ///< name=value: what its code hands over
  std::string_view options;  ///< name>argument=default: what its parser takes for the trainer; no default: nothing is handed over where it is not given
  std::string_view passed;   ///< … and what reaches no tensor
  std::string_view unread{}; ///< of a script with all of TRL's arguments: those that it hands to nobody; its parser is TRL's
};

// clang-format off
inline constexpr auto trl_own_scripts = std::to_array<trl_own_script>({
    // LoraConfig(): PEFT's rank, dropout and matrices of Qwen3 (huggingface/peft 5d602fdb of 2026-08-21 src/peft/tuners/lora/config.py, utils/constants.py).
    {"examples/scripts/rloo.py", "trl-rloo",
     "model_name_or_path=Qwen/Qwen3-0.6B|dtype=bfloat16|max_completion_length=1024|gradient_accumulation_steps=2|steps_per_generation=8|use_vllm=true|vllm_mode=colocate|vllm_gpu_memory_utilization=0.5|use_peft=true|lora_r=8|lora_dropout=0|lora_target_modules=q_proj v_proj", "", ""},
    {"openenv/wordle.py", "trl-grpo", "use_vllm=true|max_completion_length=1024",
     "model>model_name_or_path=Qwen/Qwen3-1.7B|num-generations>num_generations=4|gradient-accumulation-steps>gradient_accumulation_steps=64|vllm-mode>vllm_mode=colocate",
     "env-url|dataset-size|num-epochs|learning-rate|logging-steps|output-dir|trackio-space-id|vllm-server-url"},
    {"openenv/catch.py", "trl-grpo", "use_vllm=true|vllm_gpu_memory_utilization=0.2|per_device_train_batch_size=2|num_generations=8|max_completion_length=4096|gradient_accumulation_steps=16",
     "model>model_name_or_path=Qwen/Qwen2.5-0.5B-Instruct|vllm-mode>vllm_mode=colocate", "env-host|env-port|env-mode|dataset-size|env-image|vllm-server-url"},
    {"openenv/sudoku.py", "trl-grpo", "use_vllm=true|lora_dropout=0",
     "model-id>model_name_or_path=Qwen/Qwen3-1.7B|gradient-accumulation-steps>gradient_accumulation_steps=64|per-device-batch-size>per_device_train_batch_size=1|num-generations>num_generations=8|max-completion-length>max_completion_length=16384|"
     "gradient-checkpointing>gradient_checkpointing=true|use-lora>use_peft=|lora-r>lora_r=16|vllm-mode>vllm_mode=colocate|vllm-gpu-memory-utilization>vllm_gpu_memory_utilization=0.15",
     "env-host|env-port|env-mode|env-image|system-prompt-path|dataset-prompt|dataset-size|max-turns|difficulty|api-delay|temperature|top-k|top-p|learning-rate|weight-decay|warmup-steps|num-epochs|save-interval|save-total-limit|output-dir|run-name|project|"
     "trackio-space-id|logging-steps|lora-alpha|vllm-server-url"},
    {"openenv/browsergym_llm.py", "trl-grpo", "use_vllm=true|vllm_gpu_memory_utilization=0.4",
     "model-id>model_name_or_path=Qwen/Qwen3-0.6B|max-completion-length>max_completion_length=1024|gradient-accumulation-steps>gradient_accumulation_steps=32|per-device-batch-size>per_device_train_batch_size=1|num-generations>num_generations+generation_batch_size=4|vllm-mode>vllm_mode=colocate",
     "space-url|benchmark|task-name|dataset-prompt|dataset-size|max-steps|temperature|top-k|top-p|learning-rate|weight-decay|warmup-steps|num-epochs|save-interval|save-total-limit|output-dir|run-name|project|vllm-server-url|logging-steps"},
    {"openreward/seta.py", "trl-grpo", "use_vllm=true",
     "model>model_name_or_path=Qwen/Qwen3-4B|per-device-train-batch-size>per_device_train_batch_size=1|gradient-accumulation-steps>gradient_accumulation_steps=1|num-generations>num_generations=2|max-completion-length>max_completion_length=2048|vllm-mode>vllm_mode=colocate|vllm-gpu-memory-utilization>vllm_gpu_memory_utilization=0.3",
     "target|split|num-tasks|learning-rate|max-steps|max-tool-calling-iterations|vllm-server-base-url|output-dir|report-to"},
    // TrlParser((ScriptArguments, GRPOConfig, ModelConfig)), and of ModelConfig the name alone.
    {"examples/scripts/grpo_agent.py", "trl-grpo", "", "", "", "dtype|torch_dtype|attn_implementation|use_peft|load_in_4bit|load_in_8bit"},
});
// clang-format on

/// The row of a script, or null. A script without a parser, with arguments, is somebody's own.
inline const trl_own_script* trl_own_script_of(std::string_view script, std::span<const shell_word> words) {
  for (const auto& s : trl_own_scripts)
    if (!path_end(script, s.ends).empty()) return s.options.empty() && s.unread.empty() && !words.empty() ? nullptr : &s;
  return nullptr;
}

/// `names` between plus signs, each with a value of its own copy.
inline void hand_over(std::vector<shell_word>& to, std::string_view names, std::string_view value, int line) {
  while (true) {
    const auto plus = names.find('+');
    to.push_back({"--" + std::string{names.substr(0, plus)}, line});
    for_each_word(value, [&](std::string_view w) { to.push_back({std::string{w}, line}); });
    if (plus == std::string_view::npos) return;
    names.remove_prefix(plus + 1);
  }
}

/// What it says counts as of a release alone. Behind the trainer's own reading, which forgets what was said of releases.
inline void ask_trl_release(draft& d, const shell_word& script, const std::string& source) {
  d.releases.push_back({"trl", 100, source + ":" + std::to_string(script.line), std::string{script.text} + " holds values of its own, which are known as of TRL 1.0 (2026-03)", false, nullptr, nullptr,
                        [](draft&, const std::string& at) { fail("headroom: " + at + ": this script is another one in releases of TRL before 1.0, which is not modelled by this version"); }, trl_today});
}

/// The arguments that the script hands to its trainer, as if they stood in its command. Throws job_error for what ends it.
inline std::vector<shell_word> trl_own_arguments(draft& d, const trl_own_script& s, const shell_word& script, std::span<const shell_word> words, const std::string& source) {
  const auto place = source + ":" + std::to_string(script.line);
  const auto all = arguments_of(words);
  const auto given = [&](std::string_view name) { return std::find_if(all.rbegin(), all.rend(), [&](const argument& a) { return a.name == name; }); };
  if (!s.unread.empty()) {  // its own parser is TRL's
    const auto vllm = std::find_if(all.begin(), all.end(), [](const argument& a) { return a.name == "use_vllm" && (a.values.empty() || a.values[0].text == "True" || a.values[0].text == "true"); });
    for (const auto& a : all) {
      if (a.name == "config") fail("headroom: " + source + ":" + std::to_string(a.line) + ": a file of " + script.text + "'s arguments is not read: give them on the command line");
      if (among_words(s.unread, a.name)) d.unmodelled_key(a.name, true, source + ":" + std::to_string(a.line), std::string{script.text} + " reads it and hands it to nobody");
    }
    if (vllm == all.end()) fail("headroom: " + place + ": " + script.text + " without use_vllm: the trained module generates after each answer of a tool, behind all that was said before, which is not modelled by this version: with --use_vllm true --vllm_mode colocate it is");
    return {words.begin(), words.end()};
  }
  std::vector<shell_word> made;
  for (const auto pair : s.sets.empty() ? std::vector<std::string_view>{} : words_between_bars(s.sets)) hand_over(made, pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1), script.line);
  std::string taken;
  for (const auto one : s.options.empty() ? std::vector<std::string_view>{} : words_between_bars(s.options)) {
    const auto name = one.substr(0, one.find('>')), rest = one.substr(name.size() + 1), to = rest.substr(0, rest.find('=')), standard = rest.substr(to.size() + 1);
    taken += std::string{name} + (standard == "true" ? "|no-" + std::string{name} : "") + "|";
    if (const auto a = given(name); a != all.rend()) {
      check_known(*a, source);
      hand_over(made, to, a->values.empty() ? "true" : a->values[0].text, a->line);
    } else if (const auto off = given("no-" + std::string{name}); standard == "true" && off != all.rend()) {
      hand_over(made, to, "false", off->line);
    } else if (!standard.empty()) {
      hand_over(made, to, standard, script.line);
    }
  }
  for (const auto& a : all)
    if (!among_words(taken, a.name) && !among_words(s.passed, a.name)) fail("headroom: " + source + ":" + std::to_string(a.line) + ": --" + a.name + " is no argument of " + script.text + ", and the program stops there: take it out");
  std::string whole;
  for (const auto& w : made) whole += " " + w.text;
  d.notes.push_back(place + ": " + script.text + " says this to its trainer by itself, as of TRL 1.0 (2026-03):" + whole);
  return made;
}

}  // namespace headroom::io::detail
