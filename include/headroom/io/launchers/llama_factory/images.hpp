// Distributed under the Boost Software License, Version 1.0.
// Sizes of images in LLaMA-Factory's arguments (hparams/model_args.py, ProcessorArguments).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// They matter where a model sees; of videos nothing is said here.
inline void factory_images(draft& d, named_values& v) {
  const auto m = model_of(d);
  const bool sees = m.vision.layers > 0;
  const auto most = v.number("image_max_pixels", 768 * 768);
  const bool least = v.number("image_min_pixels", 0) > 0, video_most = v.number("video_max_pixels", 0) > 0, video_least = v.number("video_min_pixels", 0) > 0;
  for (const auto* key : {"video_fps", "video_maxlen", "image_do_pan_and_scan", "crop_to_patches", "use_audio_in_video", "audio_sampling_rate", "image_resolution", "video_resolution"})
    if (const auto* said = v.take(key); said != nullptr && sees && *said != false) d.unmodelled_key(key, *said, v.place(key));
  if (pixels_matter(m)) say_largest_images(d, "image_max_pixels", most, v.place("image_max_pixels"));
  else if (sees && least) d.notes.push_back(v.source() + ": image_max_pixels and image_min_pixels are not read: this model resizes every image to a size of its own");
  if (sees && (video_most || video_least)) say_no_videos(d, v.place("video_max_pixels"));
}

}  // namespace headroom::io::detail
