// Distributed under the Boost Software License, Version 1.0.
// Checkpointing, attention, loss, compilation and sharding under the Trainer.
#pragma once

#include <headroom/io/launchers/deepspeed/chat.hpp>
#include <headroom/io/launchers/fsdp2_root.hpp>
#include <headroom/io/launchers/settle/liger.hpp>
#include <headroom/io/launchers/swift/arguments.hpp>
#include <headroom/io/launchers/trainer/reentry.hpp>
#include <headroom/io/launchers/trl/defaults.hpp>
#include <headroom/io/launchers/trl/reentry.hpp>

#include <optional>

namespace headroom::io::detail {

class trainer_memory {
 public:
  trainer_memory(draft& d, named_values& v, const training_program& p) : d_(&d), v_(&v), p_(&p), factory_(p.name == "llama-factory"), swift_(p.name == "ms-swift") {}

  void read() {
    checkpointing();
    if (p_->name.starts_with("trl-")) trl_reentry(*d_, *v_, p_->method, p_->own);
    attention();
    for (const auto* key : {"enable_liger_kernel", "use_liger_kernel", "use_liger"}) {
      if (!v_->on(key)) continue;
      if (p_->method == "dpo" || p_->method == "grpo") {
        liger_by_release();
        continue;
      }
      if (d_->has({"objective"})) d_->unmodelled_key(key, true, v_->place(key), "beside this method");
      liger(key);
    }
    compiled();
    if (p_->name == "deepspeed-chat-sft") return deepspeed_chat();
    if (!swift_ || !swift_arguments{*d_, *v_}.engine()) engine();
    if (!swift_ || !swift_arguments{*d_, *v_}.sharded()) sharded();
  }

 private:
  /// Liger's loss, and its kernels of the layers, each of which liger_kernel_config may switch off (transformers integrations/liger.py; LLaMA-Factory
  /// model_utils/liger_kernel.py; ms-swift pipelines/train/tuner.py apply_liger). axolotl's plugin has keys of its own.
  void liger(const char* key) {
    const auto place = v_->place(key);
    json_value off = json_value::object();
    if (const auto* said = v_->take("liger_kernel_config"); said != nullptr) off = said->is_string() ? parse_json(said->get<std::string>(), "liger_kernel_config") : *said;
    if (!off.is_object()) wrong_value("liger_kernel_config", "an object", off);
    const auto on = [&](const char* name, bool otherwise) { return off.contains(name) ? truth(off[name], std::string{"liger_kernel_config."} + name) : otherwise; };
    for (const auto& [name, value] : off.items())
      if (!among_words("rope|rms_norm|swiglu|geglu|layer_norm|cross_entropy|fused_linear_cross_entropy", name) || (name == "cross_entropy" && on("cross_entropy", false))) d_->unmodelled_key("liger_kernel_config", off, v_->place("liger_kernel_config"));
    if (on("fused_linear_cross_entropy", true)) d_->say({"loss", "kind"}, "fused-linear", place);
    if (p_->name == "axolotl") return;
    std::string kernels;
    for (const auto& [name, ours] : {std::pair{"rms_norm", "norm"}, {"swiglu", "gated"}, {"rope", "rotary"}})
      if (on(name, true)) kernels += (kernels.empty() ? "" : "|") + std::string{ours};
    d_->liger = draft::said{kernels, place};
    d_->liger_key = key;
  }
  /// TRL's DPO and GRPO take Liger's loss for this argument since 0.25 (2025-11; trl/trainer/dpo_trainer.py and grpo_trainer.py, __init__). Before, they had
  /// use_liger_loss for that, and use_liger_kernel was the Trainer's alone: kernels for norms, gated activations and rotations of families that have all
  /// three, while the head, which is given no labels, makes logits (liger_kernel transformers/monkey_patch.py; model/llama.py lce_forward).
  void liger_by_release() {
    using change = void (*)(draft&, const std::string&);
    const change layers = [](draft& d, const std::string& place) {
      const auto is = liger_of(d, model_of(d), false);
      if (is == liger_has::nothing) return d.notes.push_back(place + ": Liger has no kernels for this model, and the program goes on without them");
      if (is != liger_has::layers) d.unmodelled_key("use_liger_kernel", true, place, "beside this method, of a model whose layers are not those of a dense Llama or Qwen");
      d.replace("kernels", {"norm", "gated", "rotary"}, place);
    };
    const change loss = [](draft& d, const std::string& place) { d.unmodelled_key("use_liger_kernel", true, place, "beside this method, whose loss is Liger's since TRL 0.25"); };
    trl_defaults{*d_, *v_, p_->method, p_->own}.since(25, "use_liger_kernel is Liger's loss of this method since TRL 0.25 (2025-11), and kernels of its layers alone before", layers, loss);
  }
  void checkpointing() {
    const auto* asked = v_->take("gradient_checkpointing");
    if (p_->method == "ppo" || p_->method == "rloo-0.21") return never(asked);
    const bool off = v_->on("disable_gradient_checkpointing");
    bool on = asked != nullptr ? truth(*asked, "gradient_checkpointing") : p_->recompute == checkpoints::yes;
    // swift/trainers/mixin.py, _fix_gradient_checkpointing
    if (swift_ && on) d_->reenters = draft::said{"ms-swift", v_->source()};
    if (on && checkpointed_by_fsdp() && (asked != nullptr || !factory_) && !moves_instead()) ends_with_both(d_->accelerate->place("fsdp_config"), "fsdp_activation_checkpointing");
    const bool again = factory_ && asked != nullptr && on;  // by the Trainer, over LLaMA-Factory's own
    if (factory_) on = !off || again;
    const auto place = v_->place(asked != nullptr ? "gradient_checkpointing" : "disable_gradient_checkpointing");
    if (asked == nullptr && !p_->method.empty() && p_->method != "simpo") return by_release();
    if (!factory_ && asked == nullptr && p_->recompute == checkpoints::unknown && !(d_->has({"recompute"}) && d_->job["recompute"] != "none"))
      fail("headroom: " + v_->source() + ": gradient_checkpointing is not given, and TRL's default differs by release: say true or false");
    json_value r = "full";
    if (const auto reentrant = factory_ ? factory_reentry(*d_, *v_, again, off) : re_entrant()) r = {{"mode", "full"}, {"reentrant", *reentrant}};
    if (on)
      d_->replace("recompute", r, place);
    else if (!checkpointed_by_fsdp() && (asked != nullptr || factory_ || !d_->has({"recompute"})))
      d_->replace("recompute", "none", place);
    if (v_->on("use_unsloth_gc")) d_->say({"offload", "activations"}, "cpu", v_->place("use_unsloth_gc"));
  }
  /// TRL's PPOTrainer has a loop of its own, and never asks a model to checkpoint (trl/experimental/ppo/ppo_trainer.py, __init__ and train).
  void never(const json_value* asked) {
    if (asked != nullptr && truth(*asked, "gradient_checkpointing")) d_->notes.push_back(v_->place("gradient_checkpointing") + ": gradient_checkpointing has no effect: TRL's PPOTrainer, and its RLOOTrainer up to 0.21, never switch it on");
    re_entrant();
    d_->replace("recompute", "none", v_->place("gradient_checkpointing"));
  }
  /// TRL's trainers; RewardTrainer has always checkpointed.
  void by_release() {
    const auto reentrant = re_entrant();
    using change = void (*)(draft&, const std::string&);
    const change words[] = {[](draft& d, const std::string& place) { d.replace("recompute", "full", place); },
                            [](draft& d, const std::string& place) { d.replace("recompute", {{"mode", "full"}, {"reentrant", false}}, place); },
                            [](draft& d, const std::string& place) { d.replace("recompute", {{"mode", "full"}, {"reentrant", true}}, place); }};
    const auto checkpoints = words[reentrant ? 1 + *reentrant : 0];
    const bool fsdp = checkpointed_by_fsdp();
    if (p_->method == "reward") return fsdp ? ends_with_both(d_->accelerate->place("fsdp_config"), "fsdp_activation_checkpointing") : checkpoints(*d_, v_->source());
    if (fsdp) {
      constexpr auto ends = [](draft& d, const std::string& place) { fail("headroom: " + place + ": gradient_checkpointing is not given, and is true in TRL since 0.22 (2025-08): the Trainer ends where FSDP checkpoints, too (fsdp_activation_checkpointing, " + d.place_of("recompute") + "): say gradient_checkpointing false, or --set environment.trl=VERSION"); };
      return trl_defaults{*d_, *v_, p_->method, p_->own}.since(22, "gradient_checkpointing is not given, and TRL's default is true since 0.22 (2025-08), where the Trainer ends beside FSDP's checkpoints, and false before", nullptr, ends);
    }
    trl_defaults{*d_, *v_, p_->method, p_->own}.since(22, "gradient_checkpointing is not given, and TRL's default is true since 0.22 (2025-08), and false before", [](draft& d, const std::string& place) { d.replace("recompute", "none", place); }, checkpoints);
  }
  /// The Trainer ends where it is told to checkpoint and FSDP is, too, by whichever file (transformers trainer.py, create_accelerator_and_postprocess, since
  /// 4.33 of 2023-09). LLaMA-Factory checkpoints by code of its own and tells the Trainer nothing, unless the file does.
  [[noreturn]] void ends_with_both(const std::string& place, const std::string& theirs) const {
    fail("headroom: " + place + ": the Trainer ends where " + theirs + " and gradient_checkpointing are both true: take one of them out (gradient_checkpointing, " + v_->place("gradient_checkpointing") + ")");
  }
  /// Where activations go to the host, axolotl tells the Trainer nothing of checkpoints (core/builders/base.py, _configure_gradient_checkpointing), except of
  /// hidden_states, which its reader has refused.
  [[nodiscard]] bool moves_instead() const { return p_->name == "axolotl" && d_->has({"offload", "activations"}); }
  /// Accelerate's FSDP may checkpoint by itself (accelerate/accelerator.py, prepare_model).
  [[nodiscard]] bool checkpointed_by_fsdp() const { return d_->accelerate && d_->accelerate->root.value("distributed_type", json_value{}) == "FSDP" && d_->has({"recompute"}) && d_->job["recompute"] == "full"; }
  std::optional<bool> re_entrant() {
    if (p_->method == "online-dpo" || p_->method == "nash-md") return v_->take("gradient_checkpointing_kwargs"), true;  // trl/examples/scripts/online_dpo.py and nash_md.py set it
    return asked_reentry(*v_);
  }
  void attention() {
    const auto* own = v_->take("flash_attn");  // a word, or a switch that is the script's own
    std::string flash = "auto";
    if (own != nullptr) flash = own->is_boolean() ? (own->get<bool>() ? "fa2" : "auto") : string_at(*own, "flash_attn");
    for (const auto* key : {"use_flash_attn", "use_flash_attention_2", "use_flash_attention"})  // the last is LMFlow's
      if (v_->on(key, p_->name == "open-instruct" && std::string_view{key} == "use_flash_attn")) flash = "fa2";
    if (p_->name == "open-instruct" && !v_->has("use_flash_attn"))  // ca9a57fd of 2024-08-22
      d_->notes.push_back(v_->source() + ": use_flash_attn is not given, and is true in open-instruct's finetune.py since 2024-08, and false before: --set attention=sdpa where it is older");
    const auto* theirs = swift_ ? "attn_impl" : "attn_implementation";
    auto kernel = v_->one_of(theirs, "", {"", "eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attn", "kernels-community/flash-attn", "kernels-community/flash-attn2", "kernels-community/flash-attn3", "kernels-community/vllm-flash-attn3"});
    if (kernel == "flash_attn" || kernel.ends_with("/flash-attn") || kernel.ends_with("/flash-attn2")) kernel = "flash_attention_2";  // the same kernels from the hub (transformers integrations/hub_kernels.py)
    if (kernel.ends_with("flash-attn3")) kernel = "flash_attention_3";
    constexpr std::string_view accepted[] = {"auto", "disabled", "off", "sdpa", "fa2", "fa3"};
    if (std::find(std::begin(accepted), std::end(accepted), flash) == std::end(accepted)) unknown_name("flash_attn", flash, accepted);
    const auto place = v_->place(kernel.empty() ? "flash_attn" : theirs);
    if (flash == "fa3" || kernel == "flash_attention_3")
      d_->replace("attention", "flash3", place);
    else if (flash == "fa2" || kernel == "flash_attention_2")
      d_->replace("attention", "flash", place);
    else if (flash != "auto" || !kernel.empty())
      d_->replace("attention", flash == "disabled" || kernel == "eager" ? "eager" : "sdpa", place);
  }
  void compiled() {
    const bool on = v_->on("torch_compile");
    const auto backend = v_->word("torch_compile_backend", ""), mode = v_->word("torch_compile_mode", "");
    if (!backend.empty() && backend != "inductor") fail("headroom: torch_compile_backend " + in_quotes(backend) + " is not modelled by this version; accepted: inductor");
    if (!mode.empty() && mode != "default") fail("headroom: torch_compile_mode " + in_quotes(mode) + " is not modelled by this version; accepted: default");
    if (on || !backend.empty() || !mode.empty()) d_->replace("compile", true, v_->place(on ? "torch_compile" : backend.empty() ? "torch_compile_mode" : "torch_compile_backend"));
  }
  void engine() {
    const auto* ds = v_->take("deepspeed");
    if (ds == nullptr || (ds->is_string() && ds->get_ref<const std::string&>().empty()) || (ds->is_boolean() && !truth(*ds, "deepspeed"))) return;
    d_->framework_is("deepspeed", v_->place("deepspeed"));
    if (!ds->is_string()) fail("headroom: deepspeed must be the path of a configuration here");
    if (const auto* s = d_->find({"sharding", "kind"}); s != nullptr && (*s == "fsdp1" || *s == "fsdp2"))
      fail("headroom: " + v_->place("deepspeed") + ": names a configuration of DeepSpeed beside FSDP (" + d_->place_of("sharding.kind") + "): a run shards by one of them");
    if (const auto* s = d_->find({"sharding"}); s != nullptr && *s == "ddp") d_->job.erase("sharding");  // a launcher's, which was told of processes alone (accelerate/accelerator.py, __init__)
    d_->say({"sharding", "kind"}, "zero", v_->place("deepspeed"));
    d_->named.push_back({file_kind::deepspeed, ds->get<std::string>(), v_->place("deepspeed")});
  }
  void sharded() {
    const auto* fsdp = v_->take("fsdp");
    const auto* config = v_->take("fsdp_config");
    v_->take("fsdp_transformer_layer_cls_to_wrap");  // a unit is a layer
    const bool off = fsdp == nullptr || *fsdp == false || *fsdp == "" || *fsdp == json_value::array();  // a file that the Trainer wrote has [] (training_args.py, fsdp)
    if (off) return;
    if (const auto* s = d_->find({"sharding", "kind"}); s != nullptr && *s == "zero")  // transformers trainer.py, __init__
      fail("headroom: " + v_->place("fsdp") + ": asks for FSDP beside DeepSpeed (" + d_->place_of("sharding.kind") + "), at which the Trainer ends: a run shards by one of them");
    std::string kind = "fsdp1", text = fsdp->is_boolean() ? "full_shard" : "";
    if (fsdp->is_array())
      each_at(*fsdp, "fsdp", "a list of words", [&](const json_value& v, const std::string& path) { text += string_at(v, path) + " "; });
    else if (!fsdp->is_boolean())
      text = string_at(*fsdp, "fsdp");
    std::int64_t stage = 0;
    bool wraps = fsdp->is_boolean();
    for_each_word(text, [&](std::string_view w) {
      wraps = wraps || w == "auto_wrap";
      if (w == "full_shard" || w == "hybrid_shard")
        stage = 3;
      else if (w == "shard_grad_op" || w == "hybrid_shard_zero2")
        stage = 2;
      else if (w == "no_shard")
        kind = "ddp";
      else if (w == "offload")
        d_->say({"offload"}, {{"parameters", "cpu"}, {"optimizer", "cpu"}}, v_->place("fsdp"));
      else if (w != "auto_wrap")
        fail("headroom: fsdp must not have " + in_quotes(w) + "; accepted: full_shard, shard_grad_op, hybrid_shard, hybrid_shard_zero2, no_shard, offload, auto_wrap");
      if (w.starts_with("hybrid")) d_->hybrid = v_->place("fsdp");
    });
    fsdp_words said;
    if (config != nullptr && !config->is_null()) kind = configured(*config, kind, said);
    if (kind == "fsdp2" && stage > 0) stage = resharded(said, stage);
    const bool versioned = config != nullptr && (config->is_object() ? config->contains("version") || config->contains("fsdp_version") : config->dump().find("version") != std::string::npos);
    if (kind == "fsdp1" && stage > 0 && !versioned)  // training_args.py, _process_fsdp_args, of 5.9 and 5.10
      d_->releases.push_back({"transformers", 510, v_->place("fsdp"), "fsdp has no version, and its default changed with transformers 5.10 (2026-06), from FSDP's first to its second", false,
                              [](draft& d, const std::string& place) { d.say({"sharding", "kind"}, "fsdp2", place); }});
    if (!wraps && stage > 0 && p_->name != "axolotl" && !swift_) whole_model_is_one_unit();
    json_value sharding = {{"kind", kind}, {"stage", stage}};
    if (kind == "fsdp1" && !said.ahead) sharding["backward_prefetch"] = false;
    if (kind == "fsdp2" && stage == 3) date_fsdp2_root(*d_, v_->place("fsdp"));
    d_->replace("sharding", stage > 0 ? sharding : json_value("ddp"), v_->place("fsdp"));
  }
  /// accelerate's NO_WRAP where the word auto_wrap is not there (training_args.py of 5.9, _process_fsdp_args), and its default since 5.10.
  void whole_model_is_one_unit() {
    d_->releases.push_back({"transformers", 510, v_->place("fsdp"), "fsdp without auto_wrap (add it where it is meant) makes the whole model one unit before transformers 5.10 (2026-06), which is not modelled by this version, and each layer one since", true,
                            nullptr, nullptr, [](draft&, const std::string& place) { fail("headroom: " + place + ": fsdp without auto_wrap makes the whole model one unit before transformers 5.10 (2026-06), which is not modelled by this version: a unit is a layer (full_shard auto_wrap)"); }});
  }
  /// What an fsdp_config says beside its version.
  struct fsdp_words {
    bool ahead{};                    ///< NO_PREFETCH where nothing is said (training_args.py, _process_fsdp_args)
    std::optional<bool> reshards{};  ///< reshard_after_forward, FSDP2's
  };
  /// FSDP2's stage: what reshard_after_forward says, not the words of `fsdp`. Where it is left out, that is false before transformers 5.10, and
  /// what those words say since (training_args.py, _process_fsdp_args of 5.2 and 5.10, _apply_legacy_fsdp_to_config).
  std::int64_t resharded(const fsdp_words& said, std::int64_t stage) {
    if (p_->name == "axolotl") return said.reshards.value_or(true) ? 3 : 2;  // axolotl tells accelerate, whose default it is
    if (said.reshards) return *said.reshards ? 3 : 2;
    if (stage == 3)
      d_->releases.push_back({"transformers", 510, v_->place("fsdp_config"), "fsdp_config.version is 2 without reshard_after_forward, which is false before transformers 5.10 (2026-06), and true since", false,
                              [](draft& d, const std::string&) { d.job["sharding"]["stage"] = 3; }});
    return 2;
  }
  /// fsdp_config as a mapping, its keys with "fsdp_" before them or not (training_args.py, _process_fsdp_args).
  std::string configured(const json_value& config, std::string kind, fsdp_words& said) {
    if (config.is_string() && config.get_ref<const std::string&>().empty()) return kind;
    if (config.is_string() && config.get_ref<const std::string&>().starts_with('{')) return configured(parse_json(config.get_ref<const std::string&>(), "fsdp_config"), kind, said);  // training_args.py, _VALID_DICT_FIELDS
    if (!config.is_object()) fail("headroom: fsdp_config " + config.dump() + " is neither a mapping nor the path of a file: write its keys here");
    for (const auto& [key, value] : config.items()) {
      const auto name = key.starts_with("fsdp_") ? key.substr(5) : key;
      const auto path = "fsdp_config." + key;
      if (name == "version" && kind == "fsdp1") {
        if (whole_at(value, path, 1, 2) == 2) kind = "fsdp2";
      } else if (name == "backward_prefetch" && (value == "backward_pre" || value == "BACKWARD_PRE")) {
        said.ahead = true;
      } else if (name == "activation_checkpointing") {
        if (!truth(value, path)) continue;
        // ms-swift takes its own back (arguments/sft_args.py, _check_fsdp2_compatibility).
        if (v_->on("gradient_checkpointing") && !swift_ && !moves_instead()) ends_with_both(v_->place("fsdp_config"), path);
        d_->replace("recompute", "full", v_->place("fsdp_config"));
        d_->asks_towers = draft::said{"never", v_->place("fsdp_config")};
        if (swift_) d_->reenters.reset();
      } else if (name == "reshard_after_forward" && value.is_boolean()) {
        said.reshards = value == true;
      } else if (name == "offload_params" || name == "cpu_offload") {
        if (truth(value, path)) offloaded(name);
      } else if (name == "cpu_ram_efficient_loading") {
        if (truth(value, path) && p_->name != "axolotl") d_->loads_once = draft::said{name, v_->place("fsdp_config")};
      } else if (name != "transformer_layer_cls_to_wrap" && name != "sync_module_states" && name != "state_dict_type" && name != "limit_all_gathers" &&
                 !(name == "use_orig_params" && value == true) && !(among_words("forward_prefetch|xla|xla_fsdp_v2|xla_fsdp_grad_ckpt|activation_cpu_offload", name) && value == false) &&
                 !(name == "auto_wrap_policy" && value == "TRANSFORMER_BASED_WRAP") &&
                 !(name == "backward_prefetch" && (value == "no_prefetch" || value == "NO_PREFETCH" || value == "backward_post" || value == "BACKWARD_POST")) && !(name == "min_num_params" && value == 0)) {
        d_->unmodelled_key(path, value, v_->place("fsdp_config"));
      }
    }
    return kind;
  }
  /// The Trainer offloads by the word "offload" of `fsdp`. Of fsdp_config it reads cpu_offload since 5.10, and offload_params never
  /// (training_args.py, _process_fsdp_args); axolotl hands its own to accelerate (axolotl utils/trainer.py, setup_fsdp_envs).
  void offloaded(const std::string& name) {
    constexpr auto offload = [](draft& d, const std::string& place) { d.say({"offload"}, {{"parameters", "cpu"}, {"optimizer", "cpu"}}, place); };
    const auto place = v_->place("fsdp_config");
    if (p_->name == "axolotl") return offload(*d_, place);
    if (name == "cpu_offload")
      d_->releases.push_back({"transformers", 510, place, "fsdp_config.cpu_offload is true, which the Trainer reads since transformers 5.10 (2026-06)", false, offload, [](const draft& d) { return !d.has({"offload"}); }});
    else if (!d_->has({"offload"}))
      d_->notes.push_back(place + ": fsdp_config.offload_params has no effect: the Trainer offloads where fsdp has the word offload");
  }
  /// DeepSpeed-Chat writes its configuration itself (training/utils/ds_utils.py, get_train_ds_config).
  void deepspeed_chat() {
    v_->take("deepspeed");
    const auto stage = v_->number("zero_stage", 0, 0);
    const bool offload = v_->on("offload");
    const auto* device = offload ? "cpu" : "none";
    d_->framework_is("deepspeed", v_->place("zero_stage"));
    json_value zero = {{"stage", stage}, {"overlap_comm", true}, {"stage3_param_persistence_threshold", 10'000}, {"stage3_max_live_parameters", 30'000'000}, {"stage3_prefetch_bucket_size", 30'000'000}};
    zero["offload_optimizer"] = {{"device", device}};
    zero["offload_param"] = {{"device", device}};
    d_->say({"framework", "options", "zero_optimization"}, zero, v_->place("zero_stage"));
    d_->replace("optimizer", json_value{{"name", "adamw"}, {"implementation", "fused"}}, v_->source());
    read_deepspeed_chat_adapter(*d_, *v_);
  }

  draft* d_;
  named_values* v_;
  const training_program* p_;
  bool factory_, swift_;
};

}  // namespace headroom::io::detail
