// Distributed under the Boost Software License, Version 1.0.
// The frameworks that a job file may name, a row each: versions that are said in words, and who reads and writes its options.
#pragma once

#include <headroom/io/job/trainer_releases.hpp>
#include <headroom/io/options/deepspeed.hpp>
#include <headroom/io/options/gpt_neox.hpp>
#include <headroom/io/options/llm_c.hpp>
#include <headroom/io/options/megatron.hpp>
#include <headroom/io/options/nanotron.hpp>
#include <headroom/io/options/torchtitan.hpp>

namespace headroom::io {

/// A version that has these words in it: the date it stands for, or the profile that it is, whatever the date.
struct said_version {
  std::string_view text;
  std::int32_t date{};
  const profile* is{};
};

/// A framework: its name, versions that are said in words, and who reads and writes its options.
struct framework_row {
  std::string_view name;
  std::array<said_version, 6> said{};
  /// The options that a job states; null: it has none here. What they say has to agree with the neutral keys.
  void (*read_options)(job&, const json_value* options, const option_merger&){};
  json_value (*write)(const profile&){framework_to_json};
  bool over_transformers{};  ///< a version may be a release of transformers, or of a trainer over it
};

namespace detail {
template <auto Read>
void where_stated(job& j, const json_value* options, const option_merger& merge) {
  if (options != nullptr) Read(j, *options, merge);
}
}  // namespace detail

/// All of them.
inline constexpr std::array<framework_row, 14> framework_rows{{
    {.name = "torchtitan", .read_options = detail::where_stated<apply_torchtitan_options>, .write = torchtitan_to_json},
    {.name = "megatron",
     .said = {{{.text = "Megatron-Bridge", .is = &frameworks::megatron_bridge},
               {.text = "Megatron-SWIFT", .is = &frameworks::megatron_swift},
               {.text = "NeMo 24", .is = &frameworks::nemo_2024},
               {.text = "2021-0", .is = &frameworks::megatron_2021},
               // Its fork is of 2021-07 (bigscience-workshop/Megatron-DeepSpeed megatron/mpu/layers.py).
               {.text = "bigscience", .is = &frameworks::megatron_2021},
               {.text = "InternEvo", .is = &frameworks::internevo}}},
     .read_options = detail::where_stated<apply_megatron_options>,
     .write = megatron_to_json},
    {.name = "megatron-deepspeed",
     .said = {{{.text = "bigscience", .is = &frameworks::megatron_deepspeed_2022}}},
     .read_options = detail::where_stated<apply_megatron_options>,
     .write = megatron_to_json},
    {.name = "gpt-neox", .read_options = detail::where_stated<apply_gpt_neox_options>, .write = gpt_neox_to_json},
    // The branch nouamane/bench2, by which the Ultra-Scale Playbook's runs were made.
    {.name = "nanotron",
     .said = {{{.text = "bench2", .is = &frameworks::nanotron_bench2}, {.text = "67c5ebb6", .is = &frameworks::nanotron_bench2}}},
     .read_options = detail::where_stated<apply_nanotron_options>,
     .write = nanotron_to_json},
    {.name = "deepspeed", .read_options = detail::where_stated<apply_deepspeed_options>, .over_transformers = true},
    // The guide to training on one GPU was written for 4.16 (2022-01), over torch 1.10.
    {.name = "hf-trainer", .said = {{{.text = "transformers 4.1x", .date = 202201}}}, .over_transformers = true},
    // 0.0.1 was released on 2024-04-16; the README's table of optimization flags is of 2024-11-18.
    {.name = "torchtune", .said = {{{.text = "0.0.1", .date = 202404}, {.text = "@1814feb", .date = 202411}}}},
    // The table of config_hub grew from 2024-03-14 (4a9b7e62) to 2024-07-22 (e5493986).
    {.name = "litgpt", .said = {{{.text = "config_hub", .date = 202404}}}},
    {.name = "fsdp-qlora"},
    {.name = "llama-factory-v1"},
    {.name = "unsloth"},
    {.name = "llm.c", .read_options = apply_llm_c_options},
    {.name = "libtorch", .over_transformers = true},
}};

/// Their names, in the same order.
inline constexpr auto framework_names = [] {
  std::array<std::string_view, framework_rows.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = framework_rows[i].name;
  return names;
}();

/// Null for a framework of one's own.
constexpr const framework_row* row_of_framework(std::string_view name) {
  for (const auto& row : framework_rows)
    if (row.name == name) return &row;
  return nullptr;
}

/// yyyymm of what a version names that is no date: a release of transformers, which is more exact than a date beside it.
constexpr std::int32_t release_date(const framework_row* row, std::string_view version) {
  const auto release = row != nullptr && row->over_transformers ? transformers_in(version) : 0;
  return release > 0 ? date_of_transformers(release) : 0;
}

/// A profile, and whether its version, though said, tells nothing of its date.
struct named_framework {
  profile is;
  bool undated{};
};
/// Throws job_error for an unknown name.
inline named_framework read_framework_named(const std::string& label, std::string_view version, const std::string& path) {
  const auto* row = row_of_framework(label);
  const auto release = release_date(row, version);
  auto date = release > 0 ? release : version_date(version);
  if (date == 0 && row != nullptr && row->over_transformers) date = date_of_trainer(version);
  if (row != nullptr)
    for (const auto& s : row->said) {
      if (s.text.empty() || version.find(s.text) == std::string_view::npos) continue;
      if (s.is != nullptr) return {*s.is};
      date = s.date;
    }
  if (const auto* known = frameworks::find(label, date)) return {*known, date == 0 && !version.empty()};
  unknown_name(path, label, framework_names);
}

/// Programs over the Trainer that pad each micro-batch to its longest sample, and cut samples at a limit, as a version names them. Sources: ms-swift
/// swift/template/base.py data_collator, LLaMA-Factory data/collator.py, axolotl utils/collators/batching.py (without pad_to_sequence_len), TRL
/// trainer/sft_trainer.py, Liger-Kernel examples/huggingface/training.py.
struct padding_program {
  std::string_view name;
  bool often_packs{};  ///< its recipes do one or the other: without a word of packing or of a mask neither is known
};
inline constexpr std::array<padding_program, 5> programs_that_pad_to_longest{{{"ms-swift", true}, {"axolotl", true}, {"LLaMA-Factory", true}, {"Liger-Kernel", false}, {"trl", false}}};

/// What a job file says of its framework.
struct framework_choice {
  profile chosen{frameworks::libtorch};
  const padding_program* pads{};  ///< that its version names
  const json_value* options{};    ///< of the framework, where the job states any
  bool undated{};                 ///< its version tells nothing of its date
  std::string_view version{};     ///< as it is written

  /// Whether samples have lengths of their own that the job, of which `stated` is the section, says nothing of.
  [[nodiscard]] bool leaves_lengths_unsaid(const batch& b, const json_value& stated) const {
    if (pads == nullptr || b.packed || b.lengths != sample_lengths{}) return false;
    return b.padded || (pads->often_packs && !stated.contains("padded"));
  }
};

/// A name, or {"name", "version", "options"}. The options are not looked at here.
/// Errors: job_error for an unknown name and for what is neither.
inline framework_choice read_framework(const json_value& value, const std::string& path) {
  if (value.is_string()) return {read_framework_named(*value.get_ptr<const json_value::string_t*>(), {}, path).is, nullptr, nullptr};
  key_reader k{value, path};
  const auto& label = string_at(k.need("name", "one of " + listed(framework_names)), k.at("name"));
  const auto* version = k.take("version");
  const auto* options = k.take("options");
  k.finish();
  if (options != nullptr && !options->is_object()) wrong_value(k.at("options"), "an object", *options);
  const auto said = version != nullptr ? std::string_view{string_at(*version, k.at("version"))} : std::string_view{};
  const auto [chosen, undated] = read_framework_named(label, said, k.at("name"));
  if (chosen.lengths != micro_batch_lengths::one)
    for (const auto& program : programs_that_pad_to_longest)
      if (said.find(program.name) != std::string_view::npos) return {chosen, &program, options, undated, said};
  return {chosen, nullptr, options, undated, said};
}

/// Lets the options of a job's framework fill in what its neutral keys, in `whole`, leave open.
/// Errors: job_error for options that are not known, or contradict those keys.
inline void read_framework_options(job& j, const json_value* options, const json_value& whole) {
  const auto* row = row_of_framework(j.framework.label.view());
  if (row != nullptr && row->read_options != nullptr) return row->read_options(j, options, option_merger{whole});
  if (options == nullptr || options->empty()) return;
  fail("headroom: unknown key " + in_quotes(options->begin().key()) + " in framework.options: " +
       std::string{j.framework.label.view()} + " has no options here; state the neutral keys instead");
}

/// A profile, and the options that changed it. Throws job_error for one that this library does not ship.
inline json_value write_framework(const profile& p) {
  const auto* row = row_of_framework(p.label.view());
  return row != nullptr ? row->write(p) : framework_to_json(p);
}

}  // namespace headroom::io
