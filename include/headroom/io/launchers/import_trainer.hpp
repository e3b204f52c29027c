// Distributed under the Boost Software License, Version 1.0.
// The arguments of programs over the Hugging Face Trainer, LLaMA-Factory's among them: a YAML file, or a command line
// (transformers/training_args.py; io/launchers/training_programs.hpp has the programs).
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/import_axolotl.hpp>
#include <headroom/io/launchers/internvl_arguments.hpp>
#include <headroom/io/launchers/llama_factory_ppo.hpp>
#include <headroom/io/launchers/loaded_formats.hpp>
#include <headroom/io/launchers/medicalgpt_method.hpp>
#include <headroom/io/launchers/swift_arguments.hpp>
#include <headroom/io/launchers/trainer_adapters.hpp>
#include <headroom/io/launchers/trainer_evaluation.hpp>
#include <headroom/io/launchers/trainer_memory.hpp>
#include <headroom/io/launchers/training_programs.hpp>
#include <headroom/io/launchers/transformers_keys.hpp>
#include <headroom/io/launchers/trainer_optimizers.hpp>
#include <headroom/io/launchers/trl_method.hpp>

namespace headroom::io {

namespace detail {

class trainer_arguments {
 public:
  trainer_arguments(draft& d, const document& from, const training_program& p) : d_(&d), v_(from, std::int64_t{1} << 31), p_(&p), factory_(p.name == "llama-factory"), swift_(p.name == "ms-swift") {}

  void import() {
    if (!d_->framework_is("deepspeed")) d_->framework_is("hf-trainer", v_.source());
    if (factory_) stage();
    if (factory_ || p_->name == "run-clm") evaluates();
    swift_arguments swift{*d_, v_};
    if (swift_) swift.environment(), swift.method();
    std::string_view called;
    const auto* named = first_of(v_, p_->model, called);
    const auto model = named == nullptr ? std::string{} : string_at(*named, std::string{called});
    if (p_->name == "llava") seeing_model();
    internvl_arguments internvl{*d_, v_};
    const bool tiles = p_->name == "internvl";
    if (tiles) internvl.model();
    const bool packed = !p_->base.packed.empty() && v_.on(p_->base.packed);  // the shape is that of what was packed
    d_->trained_name = model;
    if (!model.empty()) say_model(*d_, packed ? std::string{without_quantisation(model)} : model, v_.place(called));
    batch();
    if (tiles) internvl.batch(), internvl.checkpoints(), internvl.trains();
    if (swift_) swift.batch();
    if (swift_)
      loaded(), swift.formats();
    else
      formats();
    as_loaded_ = d_->loaded ? d_->loaded->word : std::string{};
    if (factory_)
      factory_adapters{*d_, v_}.read();
    else if (swift_)
      swift.adapters();
    else
      adapter_arguments{*d_, v_, *p_}.read(model);
    if (p_->name == "llava") projector();
    if (!p_->method.empty() && p_->method != "sft") trl_method{*d_, v_, p_->method, p_->own}.read();
    if (!swift_ || !swift.updates()) updates();
    trainer_memory{*d_, v_, *p_}.read();
    medicalgpt_method{*d_, v_, p_->name}.read();
    if (factory_) factory_ppo{*d_, v_}.read();
    trainer_evaluation{*d_, v_, *p_}.read();
    if (swift_) swift.rest();
    if (p_->name == "trl-sft" || p_->name == "peft-sft") trl_releases();
    if (!p_->method.empty() && p_->method != "sft" && p_->method != "simpo" && d_->has({"adapter", "base"})) quantised_by_trl(false);
    if (factory_ && v_.take("ray_num_workers") != nullptr) d_->workers = draft::fact{v_.number("ray_num_workers", 1), v_.place("ray_num_workers")};
    if (factory_) factory_adapters{*d_, v_}.formats(v_.on("bf16"), v_.on("fp16"), v_.on("pure_bf16"));
    rest();
  }

 private:
  /// Without do_train these programs train nothing (LLaMA-Factory train/sft/workflow.py, run_clm.py).
  void evaluates() {
    const auto asked = [&](std::string_view key) {
      const auto it = v_.all().find(key);
      return it != v_.all().end() && (*it == true || *it == 1);
    };
    if (asked("do_train")) return;
    for (const auto* other : {"do_predict", "do_eval"})
      if (asked(other)) fail("headroom: " + v_.place(other) + ": " + other + " without do_train evaluates, and starts no training");
  }
  void stage() {
    const auto what = v_.one_of("stage", "sft", {"pt", "sft", "rm", "ppo", "dpo", "kto"});
    if (what == "dpo" || what == "kto") return preferences(what);
    if (what == "rm") d_->replace("objective", {{"kind", "reward"}, {"trainer", "llama-factory"}}, v_.place("stage"));
  }
  /// Pairs of answers, or answers with a verdict: batches count pairs (hparams/finetuning_args.py RLHFArguments, train/trainer_utils.py
  /// create_ref_model: a model that is named, else none beside an adapter, else a copy).
  void preferences(const std::string& what) {
    std::string kind = what;
    std::string_view called = "pref_loss";
    const auto* loss = first_of(v_, "pref_loss|dpo_loss", called);
    if (what == "dpo" && loss != nullptr) {
      const auto& word = string_at(*loss, std::string{called});
      if (!among_words("sigmoid|hinge|ipo|kto_pair|orpo|simpo", word)) fail("headroom: " + v_.place(called) + ": " + std::string{called} + " " + in_quotes(word) + " is not modelled by this version; accepted: sigmoid, hinge, ipo, kto_pair, orpo, simpo");
      if (word == "orpo" || word == "simpo") kind = word;
    }
    json_value objective = {{"kind", kind}, {"trainer", "llama-factory"}};
    const auto said = [&](const char* key) {
      const auto* v = v_.take(key);
      return v != nullptr && !v->is_null() && *v != "" ? v : nullptr;
    };
    for (const auto* key : {"ref_model_adapters", "ref_model_quantization_bit"})
      if (const auto* v = said(key)) d_->unmodelled_key(key, *v, v_.place(key));
    const auto* other = said("ref_model");
    const auto* own = v_.take("model_name_or_path");
    if (other != nullptr && (own == nullptr || *other != *own)) fail("headroom: " + v_.place("ref_model") + ": a reference that is another model than the trained one is not modelled by this version; leave ref_model out, or give model_name_or_path");
    if (other != nullptr && (kind == "dpo" || kind == "kto")) objective["reference"] = "copy";
    d_->replace("objective", objective, v_.place("stage"));
  }
  void batch() {
    std::string_view micro = "per_device_train_batch_size";
    const auto* samples = first_of(v_, p_->micro, micro);
    d_->say({"batch", "micro"}, samples == nullptr ? p_->micro_default : whole_at(*samples, std::string{micro}, 1, std::int64_t{1} << 31), v_.place(micro));
    if (v_.take("per_gpu_train_batch_size") != nullptr) d_->say({"batch", "micro"}, v_.number("per_gpu_train_batch_size", 1), v_.place("per_gpu_train_batch_size"));  // it wins where it is given
    if (v_.take("gradient_accumulation_steps") != nullptr) d_->say({"batch", "accumulation"}, v_.number("gradient_accumulation_steps", 1), v_.place("gradient_accumulation_steps"));
    std::string_view called;
    if (const auto* n = first_of(v_, p_->length, called))
      d_->say({"batch", "sequence"}, whole_at(*n, std::string{called}, 1, std::int64_t{1} << 31), v_.place(called));
    else if (p_->length_default > 0 && !d_->has({"batch", "sequence"}))
      d_->say({"batch", "sequence"}, p_->length_default, v_.source());
    const bool neat = v_.on("neat_packing");
    const bool packs = v_.on("packing") || neat;  // samples are cut to one length either way
    if (neat) d_->say({"batch", "packed"}, true, v_.place("neat_packing"));
    if (!packs) sample_lengths_of_data();
  }
  /// The order of samples and what they are padded to; how long they are the data alone says (trainer.py _get_train_sampler; TRL's collators).
  void sample_lengths_of_data() {
    for (const auto& [key, word] : {std::pair<std::string_view, std::string_view>{"group_by_length", "true"}, {"train_sampling_strategy", "group_by_length"}}) {
      const auto* said = v_.take(key);
      if (said == nullptr || !(*said == std::string{word} || (word == "true" && (*said == true || *said == "True")))) continue;
      d_->say({"batch", "lengths", "order"}, "grouped", v_.place(key));
      d_->notes.push_back(v_.place(key) + ": samples come in groups sorted by length; how long they are is for batch.lengths to say (--set batch.lengths.mean=…)");
    }
    if (p_->name.starts_with("trl-") && v_.take("pad_to_multiple_of") != nullptr) d_->say({"batch", "lengths", "pad_to_multiple"}, v_.number("pad_to_multiple_of", 1), v_.place("pad_to_multiple_of"));
  }
  void formats() {
    const auto brain = v_.take("bf16"), half = v_.take("fp16");
    const bool is_brain = brain != nullptr && truth(*brain, "bf16"), is_half = half != nullptr && truth(*half, "fp16"), pure = factory_ && v_.on("pure_bf16");
    const bool resident = factory_ && v_.on("use_badam") && !is_half;  // trained weights stay as they were loaded, in the checkpoint's 16 bits where none are said (LLaMA-Factory model/adapter.py)
    if ((is_brain || pure) && is_half) fail("headroom: fp16 and bf16 must not both be true");
    if (p_->name == "open-instruct" && !d_->half) {
      d_->awaits_formats = draft::said{"open-instruct's formats and sharding stand in its accelerate launch", v_.source()};
      return loaded();
    }
    if (p_->name == "deepspeed-chat-sft") {
      if (const auto* off = v_.take("dropout"); off != nullptr && *off != 0)  // it goes over the model's (utils/model/model_utils.py, configure_dropout)
        d_->unmodelled_key("dropout", *off, v_.place("dropout"));
      else if (off != nullptr)
        d_->replace("dropout", {{"hidden", 0.0}, {"attention", 0.0}, {"embedding", 0.0}}, v_.place("dropout"));
      d_->half = draft::said{v_.one_of("dtype", "fp16", {"fp16", "bf16"}), v_.place("dtype")};
    } else if (pure || resident) {
      d_->replace("precision", "bf16", v_.place(pure ? "pure_bf16" : "use_badam"));
    } else if (is_brain || is_half) {
      d_->half = draft::said{is_brain ? "bf16" : "fp16", v_.place(is_brain ? "bf16" : "fp16")};
    } else if (!d_->half) {
      if (!p_->method.empty() && p_->method != "simpo" && brain == nullptr) return brain_by_release(), loaded();
      if (brain == nullptr && p_->recompute == checkpoints::unknown) fail("headroom: " + v_.source() + ": bf16 is not given, and TRL's default differs by release: say bf16 true or false");
      d_->half = draft::said{"no", v_.source()};
    }
    loaded();
  }
  /// TRL's arguments, which win over accelerate's (trl/trainer/base_config.py, __post_init__).
  void brain_by_release() {
    d_->half = draft::said{"no", v_.source()};
    trl_defaults{*d_, v_, p_->method, p_->own}.since(19, "bf16 is not given, and TRL's default is true since 0.19 (2025-06), and false before", nullptr, [](draft& d, const std::string& place) { d.half = draft::said{"bf16", place}; });
  }
  void loaded() {
    std::string_view called;
    const auto* said = first_of(v_, p_->dtype, called);
    const bool plain = p_->name == "peft-sft" && said != nullptr && (*said == "uint8" || !v_.on("use_4bit_quantization"));  // fp32 (peft examples/sft/utils.py)
    if (plain) said = nullptr;
    if (said == nullptr || *said == "auto" || *said == "AUTO") {
      const bool by_release = said == nullptr && p_->loads.empty();
      d_->loaded = draft::said{said != nullptr ? "half" : by_release ? "fp32" : std::string{p_->loads}, said != nullptr ? v_.place(called) : v_.source()};
      if (by_release)  // modeling_utils.py, from_pretrained
        d_->releases.push_back({"transformers", 500, v_.source(), "the format of the weights is not given, and since transformers 5 they are loaded as they are stored, in fp32 before", false,
                                [](draft& d, const std::string& place) { d.loaded = draft::said{"half", place}; }, loads_as_it_computes});
      return;
    }
    constexpr std::pair<std::string_view, std::string_view> words[] = {{"float32", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}, {"torch.float32", "fp32"}, {"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}};
    const auto& word = string_at(*said, std::string{called});
    for (const auto& [theirs, ours] : words)
      if (word == theirs) {
        d_->loaded = draft::said{std::string{ours}, v_.place(called)};
        return;
      }
    wrong_value(std::string{called}, "\"auto\", \"float32\", \"bfloat16\" or \"float16\"", *said);
  }
  /// LLaVA's model, which is named by its parts.
  void seeing_model() {
    // By its language model and its tower: 1.5 is Vicuna 1.5 under CLIP ViT-L/14 at 336 pixels, with two layers between (its README).
    const auto base = v_.word_now("model_name_or_path"), tower = v_.word("vision_tower", ""), between = v_.word("mm_projector_type", "linear");
    const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
    as_in_1_5_ = has(tower, "clip-vit-large-patch14-336") && between == "mlp2x_gelu";
    if (!d_->has({"model"}) && ((has(base, "vicuna") && has(base, "v1.5")) || has(base, "llava-v1.5-")) && as_in_1_5_) say_model(*d_, has(base, "13b") ? "llava-1.5-13b" : "llava-1.5-7b", v_.place("vision_tower"));
    const auto* given = d_->find({"model"});
    if (given != nullptr && given->is_string() && has(given->get_ref<const std::string&>(), "llava-1.5-") && v_.has("vision_tower") && !as_in_1_5_)
      fail("headroom: " + v_.place("vision_tower") + ": vision_tower " + in_quotes(tower) + " under mm_projector_type " + in_quotes(between) + " is not what " + given->get<std::string>() +
           " is made of (openai/clip-vit-large-patch14-336 under mlp2x_gelu): give the config.json of the model that this script makes in place of its name");
  }
  /// LLaVA trains its projector beside adapters, and with tune_mm_mlp_adapter nothing else (llava/train/train.py).
  void projector() {
    const bool alone = v_.on("tune_mm_mlp_adapter");
    if (alone) d_->job.erase("adapter");
    const auto* said = d_->find({"model"});
    const auto m = said == nullptr ? shape{} : read_model(*said, "model", "/nonexistent/folder");
    if (m.vision.layers == 0)
      fail("headroom: " + v_.source() + ": LLaVA is named by its language model here: " + (as_in_1_5_ ? "add --model llava-1.5-7b or the like" : "give the config.json of the model that this script makes, of vision_tower and mm_projector_type"));
    auto trains = json_value::array({"projector"});
    if (!alone && !d_->has({"adapter"})) {
      module_set all{};
      all.bits = ((std::uint32_t{1} << module_count) - 1) & ~module_set{module::vision}.bits;
      trains = modules_to_json(all, m);
    }
    d_->replace("trainable", json_value::array({{{"modules", trains}}}), v_.place("vision_tower"));
  }
  void updates() {
    if (p_->name == "open-instruct") {
      const bool fused = v_.on("fused_optimizer", true);
      return d_->replace("optimizer", json_value{{"name", "adamw"}, {"implementation", fused ? "fused" : "foreach"}}, v_.place("fused_optimizer"));
    }
    if (p_->name == "deepspeed-chat-sft") return;
    if (factory_ && projected()) return;
    const bool adafactor = v_.on("adafactor");  // an older way to say it
    const auto optim = adafactor ? std::string{"adafactor"} : v_.word("optim", "adamw_torch");
    v_.take("optim");
    auto known = optimizer_called(optimizer_namer::trainer, optim);
    if (known.is == nullptr && p_->name == "axolotl") known = optimizer_called(optimizer_namer::axolotl, optim);
    if (known.is == nullptr) refuse_optimizer(optimizer_namer::trainer, "optim", optim);
    json_value ours = {{"name", known.is->label.view()}};
    if (known.how != implementation::unset) ours["implementation"] = text_of(known.how);
    if (known.in_backward) ours["in_backward"] = true;
    if (known.is->extent == state_extent::low_rank) detail::read_projection(v_, ours);
    d_->replace("optimizer", ours.size() == 1 ? ours["name"] : ours, v_.place("optim"));
  }
  /// LLaMA-Factory's switches of optimizers.
  bool projected() {
    const auto rate = v_.number("galore_rank", 16), every = v_.number("galore_update_interval", 200), apollo = v_.number("apollo_rank", 16), again = v_.number("apollo_update_interval", 200);
    const bool layerwise = v_.on("galore_layerwise"), layers = v_.on("apollo_layerwise");
    const auto mode = v_.one_of("badam_mode", "layer", {"layer", "ratio"});
    const bool galore = v_.on("use_galore"), is_apollo = v_.on("use_apollo"), badam = v_.on("use_badam"), muon = v_.on("use_muon");
    const bool mini = v_.on("use_adam_mini");
    if ((galore || is_apollo) && v_.word("optim", "adamw_torch") != "adamw_torch") fail("headroom: GaLore and APOLLO with optim " + in_quotes(v_.word("optim", "")) + " are not modelled by this version; accepted: adamw_torch");
    for (const auto* key : {"galore_target", "apollo_target"}) v_.take(key);
    if (galore) detail::check_projected(v_, "galore_target");
    if (is_apollo) detail::check_projected(v_, "apollo_target");
    if (galore || is_apollo || badam || muon || mini) v_.take("optim");
    if (galore)
      d_->replace("optimizer", json_value{{"name", "galore"}, {"rank", rate}, {"update_interval", every}, {"in_backward", layerwise}}, v_.place("use_galore"));
    else if (is_apollo)
      d_->replace("optimizer", json_value{{"name", "apollo"}, {"rank", apollo}, {"update_interval", again}, {"in_backward", layers}}, v_.place("use_apollo"));
    else if (badam && mode != "layer")
      fail("headroom: badam_mode \"ratio\" is not modelled by this version; accepted: layer");
    else if (badam)
      d_->replace("optimizer", "badam", v_.place("use_badam"));
    else if (muon)
      d_->replace("optimizer", "muon", v_.place("use_muon"));
    else if (mini)
      d_->replace("optimizer", "adam-mini", v_.place("use_adam_mini"));
    return galore || is_apollo || badam || muon || mini;
  }

  /// TRL's loss runs chunk by chunk, head and all, since 1.7 (trl/trainer/sft_config.py, 2026-06), and adapters of a quantised base are made bf16
  /// since 0.26 (sft_trainer.py). max_seq_length ended with 0.19, torch_dtype before 1.0: they tell the age of a file.
  void trl_releases() {
    const bool liger = v_.on("use_liger_kernel") || v_.on("use_liger"), old = v_.has("max_seq_length") || v_.has("max_seq_len");
    if (!v_.has("loss_type") && !liger && !old && !v_.has("torch_dtype"))
      d_->releases.push_back({"trl", 107, v_.source(), "loss_type is not given, and TRL's default is \"nll\" before 1.7 (2026-06) and \"chunked_nll\" since", false,
                              [](draft& d, const std::string& place) { d.unmodelled_key("loss_type", "chunked_nll", place); }});
    if (d_->has({"adapter", "base"})) quantised_by_trl(old);
  }

  /// What lies beside a quantised base, embedding and head: TRL made it fp32 before 0.26, or bf16 over four bits (trl/models/utils.py,
  /// prepare_peft_model and peft_module_casting_to_bf16), and leaves it as it was loaded since.
  void quantised_by_trl(bool old) {
    using adapters = void (*)(draft&, const std::string&);
    const adapters in_16_bits = [](draft& d, const std::string& place) { d.loaded = draft::said{"bf16", place}, d.say({"adapter", "format"}, "bf16", place); };
    const adapters in_32_bits = [](draft& d, const std::string& place) { d.loaded = draft::said{"fp32", place}, d.say({"adapter", "format"}, "bf16", place); };
    const auto since = as_loaded_ == "fp32" ? in_32_bits : in_16_bits;
    const bool casts = v_.on("bf16") && d_->job["adapter"]["base"] != "int8";
    d_->loaded = draft::said{casts ? "bf16" : "fp32", d_->loaded->place};
    const char* what = "TRL makes adapters of a quantised base bf16 since 0.26 (2025-12), and leaves them fp32 before";
    if (!p_->method.empty() && p_->method != "sft") return trl_defaults{*d_, v_, p_->method, p_->own}.since(26, what, nullptr, since);
    if (!old) d_->releases.push_back({"trl", 26, v_.source(), what, false, since});
  }

  /// The rule: what no reader took is harmless, or stops the import.
  void rest() {
    if (factory_) images();
    // Evaluation in 16 bits; DeepSpeed's "auto" takes it for training, too (transformers/integrations/deepspeed.py).
    for (const auto& [key, format] : {std::pair<std::string_view, const char*>{"bf16_full_eval", "bf16"}, {"fp16_full_eval", "fp16"}})
      if (v_.on(key) && d_->framework_is("deepspeed") && (!d_->half || d_->half->word != format)) d_->unmodelled_key(std::string{key}, true, v_.place(key));
    for (const auto& [key, value] : v_.all().items()) {
      if (v_.taken(key)) continue;
      auto rule = rule_of(p_->passed, key, value);
      if (rule == key_rule::unknown) rule = rule_of(p_->also, key, value);
      if (rule == key_rule::unknown) rule = rule_of(transformers_passed, key, value);
      if (rule == key_rule::passed) continue;
      if (rule == key_rule::refused)
        d_->unmodelled_key(key, value, v_.place(key));
      else
        d_->unknown_key(key, v_.place(key), meant(key));
    }
  }
  /// Sizes of images matter where a model sees; of videos nothing is said here.
  void images() {
    const auto m = model_of(*d_);
    const bool sees = m.vision.layers > 0;
    const auto most = v_.number("image_max_pixels", 768 * 768);
    const bool least = v_.take("image_min_pixels") != nullptr, videos = v_.take("video_max_pixels") != nullptr || v_.take("video_min_pixels") != nullptr;
    for (const auto* key : {"video_fps", "video_maxlen", "image_do_pan_and_scan", "crop_to_patches", "use_audio_in_video", "audio_sampling_rate", "image_resolution", "video_resolution"})
      if (const auto* v = v_.take(key); v != nullptr && sees && *v != false) d_->unmodelled_key(key, *v, v_.place(key));
    if (pixels_matter(m)) say_largest_images(*d_, "image_max_pixels", most, v_.place("image_max_pixels"));
    else if (sees && least) d_->notes.push_back(v_.source() + ": image_max_pixels and image_min_pixels are not read: this model resizes every image to a size of its own");
    if (sees && videos) say_no_videos(*d_, v_.place("video_max_pixels"));
  }
  [[nodiscard]] std::string_view meant(const std::string& key) const {
    std::vector<std::string_view> all = v_.taken();
    for (const auto& k : transformers_passed) all.push_back(k.name);
    for (const auto& k : p_->passed) all.push_back(k.name);
    for (const auto& k : p_->also) all.push_back(k.name);
    return closest(key, all);
  }

  draft* d_;
  named_values v_;
  const training_program* p_;
  bool factory_, swift_, as_in_1_5_{};
  std::string as_loaded_;  ///< the format in which the weights are loaded, before any are prepared for training
};

/// The program whose configuration an object is.
inline const training_program& program_of_keys(const json_value& root) {
  const auto any = [&](std::string_view names) {
    for (const auto& [key, value] : root.items())
      if (among_words(names, key)) return true;
    return false;
  };
  if (is_axolotl(root)) return *program_named("axolotl");
  const bool learns = any("do_train|dataset|stage|cutoff_len|per_device_train_batch_size|learning_rate|num_train_epochs|max_steps");
  if ((any("infer_backend|export_dir|vllm_maxlen|n_shot|save_dir") && !any("do_train|dataset")) || (any("finetuning_type") && any("template|adapter_name_or_path") && !learns))
    fail("headroom: this file is for inference, evaluation or merging, and starts no training");
  if (any("finetuning_type|cutoff_len")) return *program_named("llama-factory");
  if (any("tuner_type|train_type|sft_type|model_author|lora_target_regex|freeze_aligner|rlhf_type") || (any("model") && !any("model_name_or_path"))) return *program_named("ms-swift");
  if (any("gamma_beta_ratio")) return *program_named("simpo");
  const bool instruct = any("use_slow_tokenizer|checkpointing_steps|with_tracking|dataset_mixer_list|use_flash_attn");
  for (const auto key : words_between_bars("beta|dpo_beta|max_prompt_length|ref_model|simpo_gamma|num_generations|reward_funcs|reward_model_path|sft_model_path|max_completion_length|kl_coef")) {
    if (!any(key)) continue;
    if (instruct) fail("headroom: " + std::string{key} + " is of open-instruct's preference or reinforcement learning, which is not read by this version: its open_instruct/finetune.py is");
    std::vector<std::string_view> methods;
    for (const auto& p : training_programs)
      if (p.name.starts_with("trl-") && p.name != "trl-sft") methods.push_back(p.name);
    fail("headroom: " + std::string{key} + " is an argument of several trainers that compare answers, reward or generate, and the file does not say which it is for: give the command that starts it, too, or say with --program " + listed(methods));
  }
  if (instruct) return *program_named("open-instruct");
  const auto& trl = *program_named("trl-sft");
  return any(trl.marks) ? trl : *program_named("transformers");
}

}  // namespace detail

/// `program`: whose arguments they are; null where the keys say it.
inline void import_trainer(draft& d, const document& from, const detail::training_program* program = nullptr) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("the Trainer's arguments", "an object", from.root);
    const auto& p = program != nullptr ? *program : detail::program_of_keys(from.root);
    d.trainer = from;
    std::erase(d.unread, file_kind::trainer);
    d.releases.clear();
    d.evaluates.reset();
    d.awaits_roles.clear();
    if (p.name != "axolotl") return detail::trainer_arguments{d, from, p}.import();
    detail::axolotl_config config{d, from};
    const auto arguments = config.arguments();
    detail::trainer_arguments{d, arguments, p}.import();
    config.finish();
  });
}

}  // namespace headroom::io
