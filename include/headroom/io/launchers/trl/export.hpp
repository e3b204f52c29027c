// Distributed under the Boost Software License, Version 1.0.
// A job as the configuration of `trl sft --config` (trl/scripts/sft.py: SFTConfig, ModelConfig).
#pragma once

#include <headroom/io/launchers/trainer/document.hpp>

namespace headroom::io {

inline json_value trl_document(const job& given) {
  constexpr std::string_view target = "trl";
  detail::needs_trainer(given, target);
  const auto j = stated(given);
  auto a = detail::trainer_document(j, target);
  detail::say_optimizer(a, j, target);
  a.update({{"max_length", j.batch.sequence},
            {"dtype", detail::loaded_word(j)},
            {"attn_implementation", detail::attention_word(j.attention)},
            {"loss_type", "nll"},
            {"packing", false},
            {"padding_free", false},
            {"activation_offloading", false}});
  detail::say_liger(a, j);
  if (j.batch.lengths.pad_to_multiple > 1) a["pad_to_multiple_of"] = j.batch.lengths.pad_to_multiple;
  if (const auto& l = j.adapter; l.active()) {
    a.update({{"use_peft", true},
              {"lora_r", l.rank},
              {"lora_target_modules", detail::adapted_modules(l.targets, j.model, "adapter.targets", target)},
              {"lora_dropout", static_cast<double>(l.dropout.per_million) / 1e6},
              {"use_dora", l.kind == adapter_kind::dora}});
    // One name alone is an expression for a module's whole path (listed_modules.hpp).
    if (auto& names = a["lora_target_modules"]; names.is_array() && names.size() == 1) names = json_value(".*\\." + names[0].get<std::string>());
    if (!l.modules_to_save.empty()) a["lora_modules_to_save"] = detail::adapted_modules(l.modules_to_save, j.model, "adapter.modules_to_save", target);
    if (l.base.quantised()) fail("headroom: " + std::string{target} + " cannot say adapter.base = " + std::string{l.base.label.view()} + ": what TRL makes of the rest of a quantised model differs by release");
  }
  detail::check_trainer(j, a, "trl-sft", target);
  return a;
}

}  // namespace headroom::io
