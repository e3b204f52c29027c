// Distributed under the Boost Software License, Version 1.0.
// What configurations of Accelerate, FSDP and DeepSpeed leave to the program that nobody gave: its formats and its micro-batch. What stands for them
// is said above the numbers.
#pragma once

#include <headroom/io/launchers/draft.hpp>

#include <algorithm>

namespace headroom::io::detail {

/// Nothing but configurations of launchers and models was given: no command, and no program's own configuration.
inline bool configurations_alone(const draft& d) {
  constexpr file_kind alone[] = {file_kind::accelerate, file_kind::deepspeed, file_kind::fsdp, file_kind::huggingface, file_kind::safetensors_index};
  return (d.has_read(file_kind::accelerate) || d.has_read(file_kind::deepspeed)) && std::all_of(d.read.begin(), d.read.end(), [&](file_kind k) { return std::find(std::begin(alone), std::end(alone), k) != std::end(alone); });
}

/// Where a file stands that decides how a run is sharded.
inline std::string configured_at(const draft& d) {
  if (d.accelerate) return d.accelerate->source;
  const auto place = d.place_of("framework.name");
  return place.substr(0, place.rfind(':'));
}

/// A file whose name says that it is for inference (NVlabs/VILA scripts/deepspeed_inference.yaml, FlagOpen/FlagEmbedding zero3-infer.yaml) trains nothing by itself.
inline void check_inference(const draft& d) {
  const auto source = configured_at(d);
  if (source.find("infer") != std::string::npos) fail("headroom: " + source + ": is for inference by its name: give the command of the training that it is for, too");
}

/// Formats: DeepSpeed's engine computes in fp32 where its configuration enables none (deepspeed/runtime/engine.py, get_data_types), unless Accelerate's
/// mixed_precision or the Trainer's bf16 fill them in (accelerate/utils/dataclasses.py, DeepSpeedPlugin.set_mixed_precision).
inline void open_formats(draft& d) {
  if (d.half || d.has({"precision"})) return;
  const auto* options = d.find({"framework", "options"});
  const auto state = [&](const char* section) {
    if (options == nullptr || !options->contains(section) || !(*options)[section].is_object()) return json_value{};
    return (*options)[section].value("enabled", json_value(false));
  };
  const auto fp16 = state("fp16"), bf16 = state("bf16");
  if (fp16 == true || bf16 == true) return;
  const bool filled = fp16 == "auto" || bf16 == "auto";
  if (!filled && (!fp16.is_null() || !bf16.is_null())) return;  // what is off is fp32
  if (!filled && !d.accelerate && d.framework_is("deepspeed")) {
    d.say({"framework", "options", "bf16"}, {{"enabled", false}}, configured_at(d));
    return d.assumed.push_back("DeepSpeed's configuration enables neither bf16 nor fp16: fp32, unless the program's own bf16 or Accelerate's mixed_precision fills it in (--set precision=bf16-mixed)");
  }
  d.assumed.push_back("no file says in which format it computes (bf16 or fp16 of the program, or Accelerate's mixed_precision): its framework's usual one (--set precision=NAME)");
}

/// Samples of a micro-batch.
inline void open_micro(draft& d) {
  const auto* options = d.find({"framework", "options"});
  const auto said = [&](const char* key) { return options != nullptr && options->contains(key) && (*options)[key].is_number(); };
  if (d.has({"batch", "micro"}) || said("train_micro_batch_size_per_gpu") || said("train_batch_size")) return;
  d.assumed.push_back("no file says how many samples a micro-batch has: one (--set batch.micro=N)");
}

inline void settle_left_open(draft& d) {
  if (!configurations_alone(d)) return;
  check_inference(d);
  open_formats(d);
  open_micro(d);
}

}  // namespace headroom::io::detail
