// Distributed under the Boost Software License, Version 1.0.
// The exact number of a model's parameters from its config.json, whether its layers can be walked or not. A class that is not known is
// refused, and so is a key that nobody here has read: it might shape the network.
#pragma once

#include <headroom/io/counted/audio_last.hpp>
#include <headroom/io/counted/audio_models.hpp>
#include <headroom/io/counted/audio_more.hpp>
#include <headroom/io/counted/backbones.hpp>
#include <headroom/io/counted/captions.hpp>
#include <headroom/io/counted/contrastive.hpp>
#include <headroom/io/counted/deepseek_ocr.hpp>
#include <headroom/io/counted/depth.hpp>
#include <headroom/io/counted/detection.hpp>
#include <headroom/io/counted/diffusion_gemma.hpp>
#include <headroom/io/counted/encoders.hpp>
#include <headroom/io/counted/gemma3n.hpp>
#include <headroom/io/counted/heads_beside.hpp>
#include <headroom/io/counted/inkling.hpp>
#include <headroom/io/counted/language_bark.hpp>
#include <headroom/io/counted/language_dense.hpp>
#include <headroom/io/counted/language_heard.hpp>
#include <headroom/io/counted/language_hybrid.hpp>
#include <headroom/io/counted/language_latent.hpp>
#include <headroom/io/counted/language_more.hpp>
#include <headroom/io/counted/language_newest.hpp>
#include <headroom/io/counted/language_nas.hpp>
#include <headroom/io/counted/language_others.hpp>
#include <headroom/io/counted/language_speech.hpp>
#include <headroom/io/counted/language_towers.hpp>
#include <headroom/io/counted/music.hpp>
#include <headroom/io/counted/newest_sight.hpp>
#include <headroom/io/counted/objects.hpp>
#include <headroom/io/counted/omni.hpp>
#include <headroom/io/counted/pairs.hpp>
#include <headroom/io/counted/scaled_networks.hpp>
#include <headroom/io/counted/seq2seq_models.hpp>
#include <headroom/io/counted/sight.hpp>
#include <headroom/io/counted/sight_dense.hpp>
#include <headroom/io/counted/sight_last.hpp>
#include <headroom/io/counted/sight_rare.hpp>
#include <headroom/io/counted/small_networks.hpp>
#include <headroom/io/counted/speech_models.hpp>
#include <headroom/io/counted/speecht5.hpp>
#include <headroom/io/counted/staged.hpp>
#include <headroom/io/counted/stages_of_sound.hpp>
#include <headroom/io/counted/streaming.hpp>
#include <headroom/io/counted/t5.hpp>
#include <headroom/io/counted/text.hpp>
#include <headroom/io/counted/text_early.hpp>
#include <headroom/io/counted/text_last.hpp>
#include <headroom/io/counted/text_layout.hpp>
#include <headroom/io/counted/text_modern.hpp>
#include <headroom/io/counted/text_narrow.hpp>
#include <headroom/io/counted/text_other.hpp>
#include <headroom/io/counted/text_rare.hpp>
#include <headroom/io/counted/text_relatives.hpp>
#include <headroom/io/counted/unusual_sizes.hpp>
#include <headroom/io/counted/video.hpp>
#include <headroom/io/counted/vision_language.hpp>
#include <headroom/io/counted/vision_language_actions.hpp>
#include <headroom/io/counted/vision_language_families.hpp>
#include <headroom/io/counted/vision_language_makers.hpp>
#include <headroom/io/counted/vision_language_others.hpp>
#include <headroom/io/counted/vision_language_towers.hpp>
#include <headroom/io/counted/vit.hpp>
#include <headroom/io/counted/waves_more.hpp>

#include <span>

namespace headroom::io {

namespace detail {

/// The first row of a model_type is the class that AutoModel makes of it.
inline constexpr std::span<const counted_class> counted_classes[] = {
    counted_encoders, counted_dense_languages, counted_sparse_languages, counted_latent_languages, counted_recurrent_languages,
    counted_hybrid_languages, counted_text, counted_text_relatives, counted_seq2seq, counted_speech, counted_gemmas, counted_towered_languages,
    counted_more_languages, counted_inklings, counted_contrastive, counted_vit, counted_sight, counted_vision_language, counted_staged, counted_video,
    counted_captions, counted_vision_language_families, counted_vision_language_others, counted_other_languages, counted_speaking_languages, counted_barks,
    counted_sight_alone, counted_makers, counted_small_networks, counted_objects, counted_text_modern, counted_text_other, counted_text_layout, counted_t5, counted_audio,
    counted_text_early, counted_text_narrow, counted_audio_more, counted_speecht5, counted_scaled_networks, counted_actors, counted_detection,
    counted_audio_last, counted_depth, counted_text_last, counted_sight_last, counted_stages_of_sound,
    counted_heads_beside, counted_heard_languages, counted_music, counted_waves, counted_waves_more, counted_text_rare, counted_sight_rare, counted_sight_dense, counted_backbones,
    counted_unusual_sizes, counted_nas, counted_omnis, counted_gemma3ns, counted_newest_sight, counted_newest_languages, counted_diffusion_gemmas, counted_pairs, counted_streaming, counted_ocr,
};

inline const counted_class* find_counted(std::string_view name, std::string_view type) {
  for (const auto& list : counted_classes)
    for (const auto& one : list)
      if (name == one.name && (type.empty() || type == one.type)) return &one;
  return nullptr;
}
/// A family that is walked may have rows for some of its heads; what AutoModel makes of it is walked then.
inline bool is_walked(std::string_view type) {
  for (const auto& f : family_names)
    if (type == f.type) return true;
  return false;
}
inline const counted_class* find_counted_base(std::string_view type) {
  for (const auto& list : counted_classes)
    for (const auto& one : list)
      if (type == one.type) return is_walked(type) && std::string_view{one.name}.find("For") != std::string_view::npos ? nullptr : &one;
  return nullptr;
}

inline parameter_count count_inner(const config& c, const char* usual) {
  const auto type = c.text({"model_type"}, usual);
  if (is_walked(type)) {  // as in count_config(): the walk's reader knows the most
    try {
      if (const auto walked = walked_inner(c, type)) return count(*walked);
    } catch (const job_error&) {  // this configuration is counted alone
    }
  }
  if (const auto* base = find_counted_base(type)) {
    tally t;
    base->count(c, t);
    return t.counted();
  }
  if (const auto walked = walked_inner(c, type)) return count(*walked);
  complain(c.at("model_type") + " " + quoted_word(type) + " is not a family known here, as a part of another model");
}

}  // namespace detail

/// The parameters of the class that a configuration's `architectures` names. Throws job_error with the key's path, what is accepted and what was
/// found.
inline parameter_count count_config(const nlohmann::json& json, const std::string& path = "config") {
  detail::key_log asked;
  const detail::config c{json, path, &asked};
  const auto* list = c.find({"architectures"});
  const bool named = list != nullptr && list->is_array() && !list->empty() && list->front().is_string();
  const auto name = named ? list->front().get<std::string>() : std::string{};
  const auto* known = detail::find_counted(name, c.text({"model_type"}, ""));
  if (const auto* base = detail::find_counted_base(c.text({"model_type"}, "")); known == nullptr && !named && base != nullptr && !detail::is_walked(base->type))
    detail::complain(c.at("architectures") + " is missing, and a model has other parameters with a head than without. Name the class, e.g. [\"" + base->name + "\"]");
  if (known == nullptr) return count(detail::walked_config(json, path));
  std::optional<parameter_count> walked;
  if (detail::is_walked(known->type)) {  // the walk's reader comes first: it passes over keys that shape nothing there
    try {
      const auto m = detail::walked_config(json, path);
      walked = count(m);
      if (m.vision.held == 0) return *walked;  // of towers that are held the walk knows no parts
    } catch (const job_error&) {  // this configuration is counted alone
    }
  }
  try {
    detail::tally t;
    known->count(c, t);
    detail::check_asked(json, path, asked, detail::strict_class(name));
    detail::check_kinds(json, path);
    return t.counted();
  } catch (const job_error&) {
    if (walked) return *walked;
    throw;
  }
}

namespace detail {

inline parameter_count count_inner_class(const config& c, const json& inner, const char* name) {
  auto whole = inner;
  whole["architectures"] = json::array({name});
  const auto counted = count_config(whole, c.path());
  ask_all(c);
  return counted;
}

}  // namespace detail

}  // namespace headroom::io
