// Distributed under the Boost Software License, Version 1.0.
// The length of TRL's samples for fine-tuning where nothing says max_length.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/named_values.hpp>

#include <string>

namespace headroom::io::detail {

/// 1024 of every release: of SFTConfig.max_length since 0.15, and before of SFTTrainer, min(tokenizer.model_max_length, 1024) where max_seq_length is None
/// (huggingface/trl v0.7.0 to v1.7.0, trl/trainer/sft_config.py, sft_trainer.py). It is no default of a script with a configuration of its own, and null cuts
/// nothing: then the length is asked for.
inline void trl_default_length(draft& d, const named_values& v) {
  if (d.has({"batch", "sequence"})) return;
  for (const auto* key : {"max_length", "max_seq_length", "max_seq_len", "seq_length"})
    if (v.all().contains(key)) return;
  d.say({"batch", "sequence"}, 1024, v.source());
  const std::string what = "max_length is not given: samples are cut at 1,024 tokens, TRL's default";
  d.notes.push_back(v.source() + ": " + what + " (--set batch.sequence=TOKENS where the script has another)");
  d.assumed.push_back(what);
}

/// padding_free: the samples of a micro-batch lie one behind the other in one row, and flash attention takes them apart by their positions
/// (trl/trainer/sft_trainer.py DataCollatorForLanguageModeling, since 0.16; transformers modeling_flash_attention_utils.py). Other kernels get a mask of all
/// tokens by all tokens, which TRL warns of.
inline void trl_without_padding(draft& d, const named_values& v) {
  const auto place = v.place("padding_free");
  if (v.word_now("attn_implementation").find("flash") == std::string::npos)
    return d.unmodelled_key("padding_free", true, place, "without flash attention: a mask of all tokens by all tokens keeps samples apart; attn_implementation flash_attention_2 makes none");
  d.say({"batch", "packed"}, true, place);
  const std::string what = "samples lie one behind the other without padding: each is taken to be as long as the limit, which takes most";
  d.notes.push_back(place + ": " + what);
  d.assumed.push_back(what);
}

}  // namespace headroom::io::detail
