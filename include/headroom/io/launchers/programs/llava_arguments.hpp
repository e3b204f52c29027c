// Distributed under the Boost Software License, Version 1.0.
// LLaVA's model, which is named by its parts, and what of it trains (haotian-liu/LLaVA llava/train/train.py).
#pragma once

#include <headroom/io/job/modules.hpp>
#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

class llava_arguments {
 public:
  llava_arguments(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// LLaVA's model, which is named by its parts.
  void model() {
    d_->asks_towers = draft::said{"never", v_->place("vision_tower")};  // clip_encoder.py CLIPVisionTower.forward runs without a graph
    // By its language model and its tower: 1.5 is Vicuna 1.5 under CLIP ViT-L/14 at 336 pixels, with two layers between (its README).
    const auto base = v_->word_now("model_name_or_path"), tower = v_->word("vision_tower", ""), between = v_->word("mm_projector_type", "linear");
    const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
    as_in_1_5_ = has(tower, "clip-vit-large-patch14-336") && between == "mlp2x_gelu";
    tower_ = tower, between_ = between;
    if (!d_->has({"model"}) && ((has(base, "vicuna") && has(base, "v1.5")) || has(base, "llava-v1.5-")) && as_in_1_5_) say_model(*d_, has(base, "13b") ? "llava-1.5-13b" : "llava-1.5-7b", v_->place("vision_tower"));
    const auto* given = d_->find({"model"});
    if (given != nullptr && given->is_string() && has(given->get_ref<const std::string&>(), "llava-1.5-") && v_->has("vision_tower") && !as_in_1_5_)
      fail("headroom: " + v_->place("vision_tower") + ": vision_tower " + in_quotes(tower) + " under mm_projector_type " + in_quotes(between) + " is not what " + given->get<std::string>() +
           " is made of (openai/clip-vit-large-patch14-336 under mlp2x_gelu): give the config.json of the model that this script makes in place of its name");
  }
  /// Other releases, by their parts: Llama or Llama 2 under CLIP ViT-L/14, with a layer between or two (llava/model/multimodal_projector/builder.py).
  /// Words that are added are rows of its tables (llava/train/train.py, train; llava_arch.py, initialize_vision_tokenizer).
  void compose() {
    const auto* said = d_->find({"model"});
    const bool wide = tower_.ends_with("clip-vit-large-patch14-336"), one_layer = between_ == "linear";
    if (said == nullptr || !said->is_string() || !composes()) return;
    auto m = read_model(*said, "model", "/nonexistent/folder");
    const auto language = std::string{m.label.view()};
    if (m.vision.kind != vision_kind::none || m.vocab != 32000 || !language.starts_with("llama-")) return;
    m = headroom::family::with_vision(m, vision_kind::clip, one_layer ? projector_kind::linear : projector_kind::mlp, 24, 1024, 16, 4096, 14, wide ? 336 : 224);
    m.vocab += (v_->word("version", "v0") == "v0" ? 1 : 0) + (v_->on("mm_use_im_patch_token", true) ? 1 : 0) + (v_->on("mm_use_im_start_end") ? 2 : 0);
    m.label = headroom::name{"llava-" + language};
    d_->job["model"] = model_to_json(m);
    d_->read_by_model = draft::said{"vision_tower", v_->place("vision_tower")};
    d_->notes.push_back(v_->place("vision_tower") + ": the model is " + language + " under CLIP ViT-L/14 at " + std::to_string(m.vision.image) + " pixels, with " + (one_layer ? "one layer" : "two layers") + " between and " + std::to_string(m.vocab) + " words");
  }
  /// LLaVA trains its projector beside adapters, and with tune_mm_mlp_adapter nothing else (llava/train/train.py).
  void trains() {
    const bool alone = v_->on("tune_mm_mlp_adapter");
    if (alone) d_->job.erase("adapter");
    if (const auto* found = d_->find({"adapter", "targets"})) d_->own_targets = *found;  // find_all_linear_names: the language model's linear layers, whatever they are called
    const auto* said = d_->find({"model"});
    const auto m = said == nullptr ? shape{} : read_model(*said, "model", "/nonexistent/folder");
    if (m.vision.layers == 0) refuse_unnamed(said == nullptr);
    if (d_->half && d_->half->word == "fp16" && !d_->has({"adapter"})) d_->loaded = draft::said{"fp32", v_->source()};  // from_pretrained is told bf16, or nothing
    d_->say({"framework", "version"}, "2024-02", v_->source());  // of transformers 4.37.2, which its pyproject.toml pins
    auto trains = json_value::array({"projector"});
    if (const bool marks = v_->on("mm_use_im_start_end"); marks && alone) trains.push_back("embed_tokens");  // llava_arch.py, initialize_vision_tokenizer
    if (!alone && !d_->has({"adapter"})) {
      module_set all{};
      all.bits = ((std::uint32_t{1} << module_count) - 1) & ~module_set{module::vision}.bits;
      trains = modules_to_json(all, m);
    }
    d_->replace("trainable", json_value::array({{{"modules", trains}}}), v_->place("vision_tower"));
  }

 private:
  /// Whether compose() knows the tower and what stands between.
  [[nodiscard]] bool composes() const { return (tower_.ends_with("clip-vit-large-patch14-336") || tower_.ends_with("clip-vit-large-patch14")) && (between_ == "linear" || between_ == "mlp2x_gelu"); }
  [[noreturn]] void refuse_unnamed(bool unknown) const {
    const auto base = v_->word_now("model_name_or_path");
    const auto begin = "headroom: " + v_->place("model_name_or_path") + ": LLaVA is named by its language model here" + (base.empty() ? "" : ", " + in_quotes(base) + (unknown ? ", which is none that is known" : "")) + ": ";
    if (as_in_1_5_) fail(begin + "add --model llava-1.5-7b or the like");
    if (unknown && composes()) fail(begin + "add --model llama-2-7b, llama-7b or the like, to which vision_tower and mm_projector_type of this command are added (or --env NAME=VALUE for what a name leaves open)");
    fail(begin + "vision_tower " + in_quotes(tower_) + " under mm_projector_type " + in_quotes(between_) + " makes of it a model that only its config.json says: give that, or --set 'model={…}'");
  }

  draft* d_;
  named_values* v_;
  bool as_in_1_5_{};
  std::string tower_, between_;
};

}  // namespace headroom::io::detail
