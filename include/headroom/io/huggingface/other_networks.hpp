// Distributed under the Boost Software License, Version 1.0.
// What is no language model: networks and files of other libraries, told by a key, a name on the hub or a script's, and refused by what they are.
#pragma once

#include <headroom/io/huggingface/config.hpp>

#include <string>
#include <string_view>

namespace headroom::io::detail {

inline constexpr std::string_view only_language = ". This version models language models, with the towers that see and hear for them, and encoders";

/// A file that says neither a model_type nor a class of transformers. `names`: whether the key's value is the network's name.
struct other_file {
  const char* key;
  bool names;
  std::string_view what;
};
inline constexpr other_file other_files[] = {
    {"_class_name", true, "a class of diffusers, which makes pictures, video or sound by diffusion"},
    {"_diffusers_version", false, "says that this is a file of diffusers, which makes pictures, video or sound by diffusion"},
    {"pretrained_cfg", false, "says that this is a network of timm, for pictures alone"},
    {"registered_name", false, "says that this is a file of Keras"},
    {"peft_type", false, "says that this is an adapter's file: give the config.json of the model that it adapts, and the adapter as the job's adapter"},
    {"__version__", false, "says that this file is sentence-transformers' own: give the config.json beside it"},
};

/// Refuses what another library wrote.
inline void refuse_other_file(const config& c) {
  for (const auto& f : other_files) {
    const json* v = c.find({f.key});
    if (v == nullptr) continue;
    const bool named = f.names && v->is_string(), ours = std::string_view{f.what}.find("give the") != std::string_view::npos;
    complain(c.at(f.key) + (named ? " is " + quoted_word(v->get<std::string>()) + ", " : " ") + std::string{f.what} + (ours ? std::string{} : std::string{only_language}));
  }
}

/// Names of diffusion models on the hub, of which a name there begins with one, in lower case.
inline constexpr std::string_view diffusion_names[] = {"flux.1", "flux.2", "stable-diffusion", "stable-video-diffusion", "sdxl-", "sd-turbo", "qwen-image", "wan2.", "hunyuanvideo", "hunyuandit", "cogvideox", "cogview",
                                                       "ltx-video", "ltx-2", "pixart-", "kolors", "sana_", "z-image", "auraflow", "mochi-1", "lumina-image", "omnigen", "animatediff", "hidream-i1"};
/// Scripts that train them: diffusers' examples and kohya-ss/sd-scripts.
inline constexpr std::string_view diffusion_scripts[] = {"train_dreambooth", "train_text_to_image", "train_controlnet", "train_instruct_pix2pix", "train_unconditional", "textual_inversion", "train_lcm_distill", "train_cogvideox",
                                                         "train_t2i_adapter", "sdxl_train", "sd3_train", "flux_train", "train_network.py", "train_db.py", "lumina_train", "hunyuan_image_train", "qwen_image_train", "wan_train"};

/// What stands behind the last slash, in lower case.
inline std::string last_name(std::string_view path) {
  std::string name{path.substr(path.rfind('/') + 1)};  // npos + 1 is 0
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return name;
}
template <std::size_t N>
bool begins_with_any(const std::string& name, const std::string_view (&list)[N]) {
  for (const auto one : list)
    if (name.starts_with(one)) return true;
  return false;
}

/// A sentence's end where a model's name is that of a diffusion model; else empty.
inline std::string diffusion_hint(std::string_view text) {
  if (!begins_with_any(last_name(text), diffusion_names)) return {};
  return " makes pictures or video by diffusion" + std::string{only_language};
}
inline bool trains_diffusion(std::string_view script) { return begins_with_any(last_name(script), diffusion_scripts); }

}  // namespace headroom::io::detail
