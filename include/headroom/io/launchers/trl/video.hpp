// Distributed under the Boost Software License, Version 1.0.
// TRL's script for videos (huggingface/trl v0.14.0 to v0.22.0 examples/scripts/sft_video_llm.py), which sets most of what counts itself.
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/trl/defaults.hpp>

namespace headroom::io::detail {

/// Arguments of sft_vlm.py that make the same training: four bits twice quantised, rank 16 on the attention's four matrices, checkpoints that do not re-enter.
/// What ModelConfig says of adapters and bases is read and handed to nobody. Frames are one a second, of at most 360 × 420 pixels (qwen_vl_utils: a multiple of
/// 28 each way); a tower makes of two frames what it makes of one image. As of 0.26 the list of samples is no dataset that SFTTrainer prepares, and the program ends.
inline document video_arguments(draft& d, const document& from) {
  auto r = from;
  const named_values v{from, std::int64_t{1} << 31};
  const auto releases = trl_releases_with("sft", [&](std::string_view key) { return v.has(key); });
  if (releases.low >= 26 || v.has("dtype"))
    fail("headroom: " + v.place(v.has("dtype") ? "dtype" : releases.by_low) + ": sft_video_llm.py hands SFTTrainer a list of samples, which it cannot prepare as of TRL 0.26: the program ends there; up to 0.22 it is read");
  for (const auto* key : {"video_cache_dir", "use_peft", "lora_r", "lora_alpha", "lora_dropout", "lora_target_modules", "lora_modules_to_save", "lora_task_type", "use_dora", "use_rslora", "load_in_4bit", "load_in_8bit", "bnb_4bit_quant_type", "use_bnb_nested_quant", "attn_implementation"})
    r.root.erase(key);
  r.root.update(json_value{{"use_peft", true}, {"lora_r", 16}, {"lora_dropout", 0.1}, {"lora_target_modules", {"q_proj", "k_proj", "v_proj", "o_proj"}}, {"load_in_4bit", true}, {"use_bnb_nested_quant", true},
                           {"gradient_checkpointing_kwargs", {{"use_reentrant", false}}}});
  const std::string what = "adapters of rank 16 on a base of four bits are the script's own; videos have frames of 448 × 336 pixels, the most that it lets them have, and two frames count as an image";
  d.notes.push_back(from.source + ": " + what);
  d.assumed.push_back(what);
  d.say({"batch", "images"}, {{"width", 448}, {"height", 336}}, from.source);
  d.awaits_images = draft::said{"frames a video has, of which there is one a second: half of them are N", from.source};
  return r;
}

}  // namespace headroom::io::detail
