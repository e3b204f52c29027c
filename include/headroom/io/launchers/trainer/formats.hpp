// Distributed under the Boost Software License, Version 1.0.
// Formats of a step under the Trainer: bf16 or fp16, and that in which weights are loaded (transformers/training_args.py, modeling_utils.py
// from_pretrained; what other programs make of them).
#pragma once

#include <headroom/io/launchers/loaded_formats.hpp>
#include <headroom/io/launchers/trainer/adapters.hpp>
#include <headroom/io/launchers/trl/defaults.hpp>

namespace headroom::io::detail {

class trainer_formats {
 public:
  trainer_formats(draft& d, named_values& v, const training_program& p) : d_(&d), v_(&v), p_(&p) {}

  /// Those of a step, and those in which the weights are loaded.
  void read() {
    const bool factory = p_->name == "llama-factory";
    if (v_->on("tf32")) d_->tf32 = draft::said{"tf32", v_->place("tf32")};
    const auto brain = v_->take("bf16"), half = v_->take("fp16");
    const bool is_brain = brain != nullptr && truth(*brain, "bf16"), is_half = half != nullptr && truth(*half, "fp16"), pure = factory && v_->on("pure_bf16");
    const bool resident = factory && v_->on("use_badam") && !is_half;  // trained weights stay as they were loaded, in the checkpoint's 16 bits where none are said (LLaMA-Factory model/adapter.py)
    if ((is_brain || pure) && is_half) fail("headroom: fp16 and bf16 must not both be true");
    if (p_->name == "open-instruct" && !d_->half) {
      d_->awaits_formats = draft::said{"open-instruct's formats and sharding stand in its accelerate launch", v_->source()};
      return loaded();
    }
    if (p_->name == "deepspeed-chat-sft") {
      if (const auto* off = v_->take("dropout"); off != nullptr && *off != 0)  // it goes over the model's (utils/model/model_utils.py, configure_dropout)
        d_->unmodelled_key("dropout", *off, v_->place("dropout"));
      else if (off != nullptr)
        d_->replace("dropout", {{"hidden", 0.0}, {"attention", 0.0}, {"embedding", 0.0}}, v_->place("dropout"));
      d_->half = draft::said{v_->one_of("dtype", "fp16", {"fp16", "bf16"}), v_->place("dtype")};
    } else if (is_brain || is_half) {
      d_->half = draft::said{is_brain ? "bf16" : "fp16", v_->place(is_brain ? "bf16" : "fp16")};
    } else if (!d_->half) {
      if (!p_->method.empty() && p_->method != "simpo" && brain == nullptr) return brain_by_release(), loaded();
      if (brain == nullptr && p_->recompute == checkpoints::unknown) fail("headroom: " + v_->source() + ": bf16 is not given, and TRL's default differs by release: say bf16 true or false");
      d_->half = draft::said{"no", pure ? v_->place("pure_bf16") : v_->source()};
    }
    loaded();
    if (pure || resident) d_->loaded = draft::said{"bf16", v_->place(pure ? "pure_bf16" : "use_badam")};  // what trains, too; autocast is bf16's alone (hparams/parser.py, get_train_args)
  }
  /// The format in which the weights are loaded alone.
  void loaded() {
    std::string_view called;
    const auto* said = first_of(*v_, p_->dtype, called);
    const bool plain = p_->name == "peft-sft" && said != nullptr && (*said == "uint8" || !v_->on("use_4bit_quantization"));  // fp32 (peft examples/sft/utils.py)
    if (plain) said = nullptr;
    if (said == nullptr || *said == "auto" || *said == "AUTO") {
      const bool by_release = said == nullptr && p_->loads.empty();
      d_->loaded = draft::said{said != nullptr ? "half" : by_release ? "fp32" : std::string{p_->loads}, said != nullptr ? v_->place(called) : v_->source()};
      if (by_release)  // modeling_utils.py, from_pretrained
        d_->releases.push_back({"transformers", 500, v_->source(), "the format of the weights is not given, and since transformers 5 they are loaded as they are stored, in fp32 before", false,
                                [](draft& d, const std::string& place) { d.loaded = draft::said{"half", place}; }, loads_as_it_computes});
      return;
    }
    constexpr std::pair<std::string_view, std::string_view> words[] = {{"float32", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}, {"torch.float32", "fp32"}, {"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}};
    const auto& word = string_at(*said, std::string{called});
    for (const auto& [theirs, ours] : words)
      if (word == theirs) {
        d_->loaded = draft::said{std::string{ours}, v_->place(called)};
        return;
      }
    wrong_value(std::string{called}, "\"auto\", \"float32\", \"bfloat16\" or \"float16\"", *said);
  }

 private:
  /// TRL's arguments, which win over accelerate's (trl/trainer/base_config.py, __post_init__).
  void brain_by_release() {
    d_->half = draft::said{"no", v_->source()};
    trl_defaults{*d_, *v_, p_->method, p_->own}.since(19, "bf16 is not given, and TRL's default is true since 0.19 (2025-06), and false before", nullptr, [](draft& d, const std::string& place) { d.half = draft::said{"bf16", place}; });
  }

  draft* d_;
  named_values* v_;
  const training_program* p_;
};

}  // namespace headroom::io::detail
