// Distributed under the Boost Software License, Version 1.0.
// Images of a launch file that says how many pixels they have at most, and not how large they are.
// Sources: LLaMA-Factory data/mm_plugin.py MMPluginMixin._preprocess_image (image_max_pixels, 768 * 768 unless stated); ms-swift
// swift/template/template_inputs.py and qwen_vl_utils/vision_process.py (max_pixels, MAX_PIXELS).
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/syntax/shell_script.hpp>

#include <cmath>

namespace headroom::io::detail {

/// The model of a draft, as far as it is named.
inline shape model_of(const draft& d) {
  const auto* said = d.find({"model"});
  return said == nullptr ? shape{} : read_model(*said, "model", "/nonexistent/folder");
}

/// Whether the limit of pixels decides what the tower reads: others resize every image to a size of their own.
inline bool pixels_matter(const shape& m) { return m.vision.layers > 0 && (headroom::detail::resizes_by_pixels(m.vision.kind) || m.vision.kind == vision_kind::pixtral); }

/// Tokens of a packed row; 0: rows are not packed.
inline std::int64_t packed_tokens(const draft& d) {
  if (d.packed_row) return d.packed_row->value;
  const auto* length = d.find({"batch", "sequence"});
  if (!d.trainer || !d.trainer->root.is_object() || length == nullptr || !length->is_number_integer()) return 0;
  const auto packs = d.trainer->root.find("packing"), of_row = d.trainer->root.find("packing_length"), end = d.trainer->root.end();
  if (packs == end || !truth(*packs, "packing")) return 0;
  return of_row != end && of_row->is_number_integer() ? of_row->get<std::int64_t>() : length->get<std::int64_t>();
}

/// Images of that edge that a sequence of a row has: as many as a packed row has room for, of which a pair has one in each of its answers; one of each
/// sample that is joined to it (ms-swift swift/dataset/packing.py, swift/template/base.py packing_row).
inline std::int64_t images_of_row(const draft& d, std::int64_t edge) {
  const auto m = model_of(d);
  const auto tokens = packed_tokens(d);
  if (tokens <= 0 || m.vision.patch <= 0) return d.joined_samples ? d.joined_samples->value : 0;
  const auto* kind = d.find({"objective", "kind"});
  const bool pairs = kind != nullptr && (*kind == "dpo" || *kind == "reward");
  const auto unit = checked::mul(m.vision.patch, std::max<std::int64_t>(1, m.vision.merge)), side = std::max<std::int64_t>(1, (2 * edge + unit) / (2 * unit));
  return std::max<std::int64_t>(1, tokens / checked::mul(side, side) / (pairs ? 2 : 1));
}

/// Square images of as many pixels as a limit lets them have, unless the job says how large they are. The report says so above its numbers.
inline void say_largest_images(draft& d, std::string_view key, std::int64_t pixels, const std::string& place) {
  if (d.has({"batch", "images", "width"})) return;
  const auto edge = static_cast<std::int64_t>(std::sqrt(static_cast<double>(pixels)));
  if (edge < 1 || edge > 1 << 20) fail("headroom: " + place + ": " + std::string{key} + " must be a number of pixels from 1 to 2^40, found " + std::to_string(pixels));
  const auto count = images_of_row(d, edge);
  json_value images = {{"width", edge}, {"height", edge}};
  if (count > 1) images["count"] = count;
  d.say({"batch", "images"}, images, place);
  const auto pixels_of_one = std::to_string(edge) + " × " + std::to_string(edge) + " pixels";
  const auto what = "no file says how large images are: " +
                    (count > 1 && packed_tokens(d) > 0 ? std::to_string(count) + " of " + pixels_of_one + " in each packed row, as many as it has room for, and" : "one of " + pixels_of_one + " in each sample,") + " the most that " + std::string{key} + " lets it have";
  d.notes.push_back(place + ": " + what + " (--set 'batch.images={\"width\": W, \"height\": H}')");
  d.assumed.push_back(what);
}

/// A file that limits videos, which a job cannot say.
inline void say_no_videos(draft& d, const std::string& place) {
  d.notes.push_back(place + ": videos are not modelled: no sample is taken to hold one");
  d.assumed.emplace_back("no sample holds a video");
}

/// ms-swift's variables of images and videos, in front of its command.
inline void say_pixels(draft& d, const shell_word& setting, const std::string& place) {
  const auto equals = setting.text.find('=');
  const auto name = setting.text.substr(0, equals);
  const auto limits = words_between_bars("MAX_PIXELS|IMAGE_MAX_TOKEN_NUM"), videos = words_between_bars("VIDEO_MAX_PIXELS|VIDEO_MIN_PIXELS|FPS|FPS_MAX_FRAMES|NFRAMES|VIDEO_MAX_TOKEN_NUM");
  const bool limit = std::find(limits.begin(), limits.end(), name) != limits.end(), video = std::find(videos.begin(), videos.end(), name) != videos.end();
  if (!limit && !video) return;
  const auto m = model_of(d);
  if (video && m.vision.layers > 0) say_no_videos(d, place);
  if (!limit || !pixels_matter(m)) return;
  const auto digits = setting.text.substr(equals + 1);
  if (!setting.known() || digits.empty() || digits.size() > 12 || digits.find_first_not_of("0123456789") != digits.npos)
    fail("headroom: " + place + ": " + name + " must be a whole number, found " + in_quotes(setting.shown().substr(equals + 1)) + "; it says how large images are");
  const auto unit = checked::mul(m.vision.patch, m.vision.merge);
  say_largest_images(d, name, name == "MAX_PIXELS" ? std::stoll(digits) : checked::mul(std::stoll(digits), unit, unit), place);
}

}  // namespace headroom::io::detail
