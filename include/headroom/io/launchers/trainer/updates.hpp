// Distributed under the Boost Software License, Version 1.0.
// The optimizer of programs over the Trainer: optim, and the switches of programs that have their own (transformers/training_args.py OptimizerNames;
// hiyouga/LLaMA-Factory hparams/finetuning_args.py).
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>
#include <headroom/io/launchers/trainer/optimizers.hpp>

namespace headroom::io::detail {

class trainer_updates {
 public:
  trainer_updates(draft& d, named_values& v, const training_program& p) : d_(&d), v_(&v), p_(&p) {}

  void read() {
    if (p_->name == "open-instruct") {
      const bool fused = v_->on("fused_optimizer", true);
      return d_->replace("optimizer", json_value{{"name", "adamw"}, {"implementation", fused ? "fused" : "foreach"}}, v_->place("fused_optimizer"));
    }
    if (p_->name == "deepspeed-chat-sft") return;
    if (p_->name == "llama-factory" && projected()) return;
    const bool adafactor = v_->on("adafactor");  // an older way to say it
    const auto optim = adafactor ? std::string{"adafactor"} : v_->word("optim", "adamw_torch");
    v_->take("optim");
    auto known = optimizer_called(optimizer_namer::trainer, optim);
    if (known.is == nullptr && p_->name == "axolotl") known = optimizer_called(optimizer_namer::axolotl, optim);
    if (known.is == nullptr) refuse_optimizer(optimizer_namer::trainer, "optim", optim);
    json_value ours = {{"name", known.is->label.view()}};
    if (known.how != implementation::unset) ours["implementation"] = text_of(known.how);
    if (known.in_backward) ours["in_backward"] = true;
    if (known.is->extent == state_extent::low_rank) detail::read_projection(*v_, ours);
    d_->replace("optimizer", ours.size() == 1 ? ours["name"] : ours, v_->place("optim"));
  }

 private:
  /// LLaMA-Factory's switches of optimizers.
  bool projected() {
    const auto rate = v_->number("galore_rank", 16), every = v_->number("galore_update_interval", 200), apollo = v_->number("apollo_rank", 16), again = v_->number("apollo_update_interval", 200);
    const bool layerwise = v_->on("galore_layerwise"), layers = v_->on("apollo_layerwise");
    const auto mode = v_->one_of("badam_mode", "layer", {"layer", "ratio"});
    const bool galore = v_->on("use_galore"), is_apollo = v_->on("use_apollo"), badam = v_->on("use_badam"), muon = v_->on("use_muon");
    const bool mini = v_->on("use_adam_mini");
    const auto optim = v_->word("optim", "adamw_torch");
    const bool eight = optim == "adamw_bnb_8bit" || optim == "adamw_8bit" || optim == "paged_adamw_8bit", factored = optim == "adafactor";  // train/trainer_utils.py _create_galore_optimizer
    if ((is_apollo && optim != "adamw_torch") || (galore && optim != "adamw_torch" && !eight && !factored))
      fail("headroom: LLaMA-Factory has no " + std::string{galore ? "GaLore" : "APOLLO"} + " of optim " + in_quotes(optim) + "; accepted: adamw_torch" + (galore ? ", adamw_8bit, adafactor" : ""));
    for (const auto* key : {"galore_target", "apollo_target"}) v_->take(key);
    if (galore) detail::check_projected(*v_, "galore_target");
    if (is_apollo) detail::check_projected(*v_, "apollo_target");
    if (galore || is_apollo || badam || muon || mini) v_->take("optim");
    if (galore)
      d_->replace("optimizer", json_value{{"name", eight ? "galore-8bit" : factored ? "galore-adafactor" : "galore"}, {"rank", rate}, {"update_interval", every}, {"in_backward", layerwise}}, v_->place("use_galore"));
    else if (is_apollo)
      d_->replace("optimizer", json_value{{"name", "apollo"}, {"rank", apollo}, {"update_interval", again}, {"in_backward", layers}}, v_->place("use_apollo"));
    else if (badam && mode != "layer")
      fail("headroom: badam_mode \"ratio\" is not modelled by this version; accepted: layer");
    else if (badam)
      d_->replace("optimizer", "badam", v_->place("use_badam"));
    else if (muon)
      d_->replace("optimizer", "muon", v_->place("use_muon"));
    else if (mini)
      d_->replace("optimizer", "adam-mini", v_->place("use_adam_mini"));
    return galore || is_apollo || badam || muon || mini;
  }


  draft* d_;
  named_values* v_;
  const training_program* p_;
};

}  // namespace headroom::io::detail
