// Distributed under the Boost Software License, Version 1.0.
// An adapter's adapter_config.json: which base it is for, and what it has (huggingface/peft src/peft/config.py and tuners/lora/config.py,
// 2023-01 to 2026-08).
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/trainer/adapters.hpp>

namespace headroom::io {

namespace detail {

// What only says how an adapter was begun is over once it was saved: init_lora_weights and its kin, alpha.
// clang-format off
inline constexpr auto adapter_passed = std::to_array<passed_key>({
    {"alpha_pattern", "*"}, {"auto_mapping", "*"}, {"corda_config", "*"}, {"eva_config", "*"}, {"fan_in_fan_out", "*"}, {"inference_mode", "*"},
    {"init_lora_weights", "*"}, {"loftq_config", "*"}, {"lora_alpha", "*"}, {"lora_ga_config", "*"}, {"megatron_core", "*"}, {"peft_version", "*"},
    {"qalora_group_size", "*"}, {"revision", "*"}, {"use_rslora", "*"}, {"alora_invocation_tokens", ""}, {"arrow_config", ""}, {"bias", "none"},
    {"ensure_weight_tying", "false"}, {"exclude_modules", ""}, {"kasa_config", ""}, {"layer_replication", ""}, {"layers_pattern", ""},
    {"layers_to_transform", ""}, {"lora_bias", "false"}, {"megatron_config", ""}, {"monteclora_config", ""}, {"peft_type", "LORA"}, {"rank_pattern", ""},
    {"runtime_config", ""}, {"target_parameters", ""}, {"task_type", "CAUSAL_LM"}, {"trainable_token_indices", ""}, {"use_bdlora", ""},
    {"use_qalora", "false"}, {"velora_config", ""},
});
inline constexpr std::string_view adapter_read[] = {"base_model_name_or_path", "r", "target_modules", "modules_to_save", "use_dora", "lora_dropout"};
// clang-format on

}  // namespace detail

/// The adapter, and the base where nobody names another.
inline void import_adapter(draft& d, const document& from) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("an adapter's configuration", "an object", from.root);
    if (from.root.value("peft_type", json_value{}) != "LORA") d.unmodelled_key("peft_type", from.root.value("peft_type", json_value{}), from.place("peft_type"));
    auto left = from.root;
    detail::judge_keys(d, from, left, "", detail::key_lists{detail::adapter_read, detail::adapter_passed});
    detail::named_values v{from, 1 << 20};
    if (const auto base = v.word("base_model_name_or_path", ""); !base.empty()) say_model(d, base, from.place("base_model_name_or_path"));
    json_value a = {{"kind", v.on("use_dora") ? "dora" : "lora"}, {"rank", v.number("r", 8)}, {"format", "fp32"}};
    const auto* targets = v.take("target_modules");
    if (targets == nullptr) d.awaits_targets = draft::said{"target_modules is not given: say the layers with it,", from.source};
    const bool pattern = targets != nullptr && targets->is_string() && *targets != "all-linear" && targets->get_ref<const std::string&>().find_first_of(".*()[]^$?+\\|") != std::string::npos;
    if (targets != nullptr) a["targets"] = pattern ? detail::names_of_pattern(targets->get_ref<const std::string&>()) : detail::names_in(*targets, "target_modules");
    if (targets != nullptr) detail::refuse_listed_all_linear(*targets, "target_modules", from.place("target_modules"));
    if (pattern && a["targets"].empty()) d.unmodelled_key("target_modules", *targets, from.place("target_modules"), "of patterns those that end with names: .*\\.(q_proj|v_proj)$");
    if (const auto* chance = v.take("lora_dropout"); chance != nullptr)
      if (const auto share = number_at(*chance, "lora_dropout", 0.0, 1.0); share > 0) a["dropout"] = share;
    if (const auto* saved = v.take("modules_to_save"); saved != nullptr && !saved->empty()) a["modules_to_save"] = detail::names_in(*saved, "modules_to_save");
    d.replace("adapter", a, from.source);
    d.notes.push_back(from.source + ": its adapter is taken to train on");
  });
}

}  // namespace headroom::io
