// Distributed under the Boost Software License, Version 1.0.
// InternVL's own arguments beside the Trainer's: what is frozen, how images are cut into tiles, samples that are packed.
// Source: OpenGVLab/InternVL 2410d1db (2025-09) internvl_chat/internvl/train/internvl_chat_finetune.py and internvl_chat_pretrain.py (ModelArguments,
// DataTrainingArguments, main), model/internvl_chat/modeling_internvl_chat.py; its pyproject.toml pins transformers 4.37.2 and deepspeed 0.13.5.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

// clang-format off
inline constexpr auto internvl_passed = std::to_array<passed_key>({
    {"conv_style", "*"}, {"log_freq", "*"}, {"loss_reduction", "*"}, {"loss_reduction_all_gather", "*"}, {"max_buffer_size", "*"}, {"max_num_frame", "*"}, {"meta_path", "*"},
    {"min_dynamic_patch", "*"}, {"min_num_frame", "*"}, {"mlp_path", "*"}, {"normalize_type", "*"}, {"pad2square", "*"}, {"ps_version", "v2"}, {"remove_unused_columns", "*"},
    {"replacement", "*"}, {"strict_mode", "*"}, {"use_data_resampling", "*"}, {"use_fast_tokenizer", "*"}, {"allow_overflow", "false"}, {"unfreeze_lm_head", "false"},
    {"unfreeze_vit_layers", "0"}, {"use_backbone_lora", "0"}, {"vision_select_layer", "-1"},
});
// clang-format on

/// Published models by their language model and the size of their tower.
struct internvl_part {
  std::string_view language;
  bool large;
  std::string_view whole;
};
inline constexpr internvl_part internvl_parts[] = {
    {"internlm2-1.8b", false, "internvl2-2b"}, {"internlm2-7b", false, "internvl2-8b"}, {"internlm2-20b", true, "internvl2-26b"}, {"phi-3-mini", false, "internvl2-4b"},
    {"qwen2-0.5b", false, "internvl2-1b"},     {"qwen2.5-0.5b", false, "internvl2.5-1b"}, {"qwen2.5-1.5b", false, "internvl3-2b"}, {"qwen2.5-3b", false, "internvl2.5-4b"},
    {"qwen2.5-7b", false, "internvl3-8b"},     {"qwen2.5-14b", false, "internvl3-14b"},   {"qwen2.5-32b", true, "internvl2.5-38b"}, {"qwen2.5-72b", true, "internvl2.5-78b"},
};

class internvl_arguments {
 public:
  internvl_arguments(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// The model by its name, or by those of its parts.
  void model() {
    d_->say({"framework", "version"}, "2024-02", v_->source());  // of transformers 4.37.2
    d_->replace("attention", "flash", v_->source());
    if (v_->on("use_liger")) d_->unmodelled_key("use_liger", true, v_->place("use_liger"), "its kernels beside a loss of InternVL's own");
    const auto* tower = v_->take("vision_path");
    const auto* language = v_->take("llm_path");
    if (d_->has({"model"}) || v_->take("model_name_or_path") != nullptr || (tower == nullptr && language == nullptr)) return;
    const auto* known = tower == nullptr || language == nullptr ? nullptr : models::find(string_at(*language, "llm_path"));
    const bool large = tower != nullptr && string_at(*tower, "vision_path").find("InternViT-6B") != std::string::npos;
    for (const auto& p : internvl_parts)
      if (known != nullptr && known->label.view() == p.language && large == p.large) return say_model(*d_, std::string{p.whole}, v_->place("llm_path"));
    fail("headroom: " + v_->place("llm_path") + ": which model llm_path and vision_path make is not known here: how many rows its tokenizer asks for decides its vocabulary. Add its config.json, or --model internvl2.5-8b or the like");
  }
  /// Layers of the language model are checkpointed unless grad_checkpoint is false, the tower's always.
  void checkpoints() {
    older_defaults();
    if (!v_->on("grad_checkpoint", true)) d_->unmodelled_key("grad_checkpoint", false, v_->place("grad_checkpoint"), "the tower's layers are checkpointed all the same");
    d_->replace("recompute", json_value{{"mode", "full"}, {"reentrant", true}}, v_->place("grad_checkpoint"));
    d_->asks_towers = draft::said{"never", v_->place("grad_checkpoint")};  // internvl_chat_finetune.py sets its modules' gradient_checkpointing
    if (const auto* depth = v_->take("drop_path_rate"); depth != nullptr && number_at(*depth, "drop_path_rate", 0.0, 1.0) > 0)
      d_->notes.push_back(v_->place("drop_path_rate") + ": drop_path_rate makes one more tensor of a tower's layer while that runs, which is not counted");
  }
  /// What trains, beside adapters on the language model or without them (InternVLChatModel.wrap_llm_lora: all linear layers, dropout 0.05).
  void trains() {
    const bool language = !v_->on("freeze_llm"), projector = !v_->on("freeze_mlp"), tower = !v_->on("freeze_backbone");
    const auto rank = v_->number("use_llm_lora", 0, 0);
    const auto m = model_of(*d_);
    if (m.vision.layers == 0) {
      if (!d_->has({"model"})) return;  // a name that is not known is asked for when all is read
      fail("headroom: " + d_->place_of("model") + ": InternVL's models have a tower, and this one has none: add its config.json, or --model internvl2.5-8b or the like");
    }
    if (rank > 0) {
      // Each family's layers by its own names, joined ones too: wqkv of InternLM2, qkv_proj and gate_up_proj of Phi-3.
      d_->own_targets = json_value::array({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"});
      d_->replace("adapter", json_value{{"kind", "lora"}, {"rank", rank}, {"targets", d_->own_targets}, {"dropout", 0.05}, {"format", "fp32"}}, v_->place("use_llm_lora"));
    }
    const bool whole = language && rank == 0;
    if (whole && projector && tower) return;
    if (!whole && !projector && !tower) {
      if (rank == 0) fail("headroom: " + v_->place("freeze_llm") + ": freeze_llm, freeze_mlp and freeze_backbone leave nothing that trains");
      return;  // adapters alone
    }
    auto all = whole ? ((std::uint32_t{1} << module_count) - 1) & ~module_set{module::vision, module::projector}.bits : 0U;
    if (projector) all |= module_set{module::projector}.bits;
    if (tower) all |= module_set{module::vision}.bits;
    module_set chosen{};
    chosen.bits = all;
    d_->replace("trainable", json_value::array({{{"modules", modules_to_json(chosen, m)}}}), v_->place(tower ? "freeze_llm" : "freeze_backbone"));
  }
  /// Tiles of a sample, and packed samples (internvl/train/dataset.py dynamic_preprocess: the thumbnail comes where there is more than one tile;
  /// dataset_packed.py: at most num_images_expected tiles and max_packed_tokens tokens).
  void batch() {
    const auto edge = v_->number("force_image_size", 448), most = v_->number("max_dynamic_patch", 12), packed_tiles = v_->number("num_images_expected", 40), packed_tokens = v_->number("max_packed_tokens", 8192);
    const bool cuts = v_->on("dynamic_image_size"), thumbnail = v_->on("use_thumbnail"), packed = v_->on("use_packed_ds");
    if (const auto* ratio = v_->take("down_sample_ratio"); ratio != nullptr && number_at(*ratio, "down_sample_ratio", 0.0, 1.0) != 0.5) d_->unmodelled_key("down_sample_ratio", *ratio, v_->place("down_sample_ratio"), "it must be that of the model, 0.5");
    if (packed) {
      const auto* micro = d_->find({"batch", "micro"});
      if (micro != nullptr && *micro != 1) d_->unmodelled_key("per_device_train_batch_size", *micro, v_->place("per_device_train_batch_size"), "with use_packed_ds");
      d_->say({"batch", "sequence"}, packed_tokens, v_->place("max_packed_tokens"));
      d_->say({"batch", "packed"}, true, v_->place("use_packed_ds"));
    }
    auto m = model_of(*d_);
    if (m.vision.layers == 0) return;
    if (edge < m.vision.patch || edge / m.vision.patch % m.vision.merge != 0 || edge > 1 << 16) wrong_value("force_image_size", "a multiple of twice the patch size, " + std::to_string(2 * m.vision.patch), edge);
    m.vision.image = edge;
    m.vision.positions = edge / m.vision.patch * (edge / m.vision.patch) + 1;
    m.vision.slices = 1;
    const auto of_tile = image_tokens(m.vision), room = d_->find({"batch", "sequence"})->get<std::int64_t>() / std::max<std::int64_t>(1, of_tile);
    const auto asked = packed ? packed_tiles : !cuts || most == 1 ? 1 : most + (thumbnail ? 1 : 0);
    m.vision.slices = std::max<std::int64_t>(1, std::min(asked, room));
    d_->job["model"] = model_to_json(m);
    const auto what = "no file says how large images are: each sample has " + std::to_string(m.vision.slices) + " tiles of " + std::to_string(edge) + " × " + std::to_string(edge) + " pixels, the most that " + (packed ? "num_images_expected" : "max_dynamic_patch") + " and the sequence leave one image";
    d_->notes.push_back(v_->place(packed ? "num_images_expected" : "max_dynamic_patch") + ": " + what + " (--set model.vision.slices=N)");
    d_->assumed.push_back(what);
    if (v_->number("max_num_frame", 0) > 0) say_no_videos(*d_, v_->place("max_num_frame"));
  }

 private:
  /// What 2d93b09 of 2024-10-30 changed for scripts that are silent (0dc48a2 and f3fc71c of 2024-07 before it: sizes of images).
  void older_defaults() {
    const std::pair<std::string_view, std::string_view> changed[] = {{"grad_checkpoint", "true since 2024-10-30, and false before"}, {"max_seq_length", "8192 since 2024-10-30, and 2048 before"}, {"force_image_size", "448 since 2024-07-21, and 224 before"}};
    for (const auto& [key, what] : changed) {
      if (v_->has(key)) continue;
      const auto text = std::string{key} + " is not given, and InternVL's default is " + std::string{what} + ": the newer is assumed";
      d_->notes.push_back(v_->source() + ": " + text + ": say it");
      d_->assumed.push_back(text);
    }
  }

  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
