// Distributed under the Boost Software License, Version 1.0.
// From the images of a sample to what a tower reads: each family's processor resizes an image, or cuts it into tiles, by rules of its own.
// Sources: transformers 5.16 models/qwen2_vl/image_processing_qwen2_vl.py smart_resize, models/pixtral/image_processing_pixtral.py
// get_resize_output_image_size, models/idefics3/image_processing_idefics3.py, models/gemma4/image_processing_gemma4.py, image_processing_utils.py select_best_resolution; limits of pixels: preprocessor_config.json of Qwen2-VL and
// Qwen2.5-VL (3136 and 12845056) and of Qwen3-VL (65536 and 16777216); GLM-4V's counts each image as two frames (models/glm4v/image_processing_glm4v.py smart_resize: 112 × 112 at least).
#pragma once

#include <headroom/error.hpp>
#include <headroom/model/image_edges.hpp>

namespace headroom {

/// The images of each sample. All 0: one, as large as the shape says.
struct image_batch {
  std::int64_t count{};       ///< of a sample; 0: one
  std::int64_t width{};       ///< of an image in pixels, before the processor resizes it; 0: as the shape says
  std::int64_t height{};      ///< 0: as wide as high
  std::int64_t min_pixels{};  ///< a processor makes smaller images larger (Qwen-VL); 0: as published
  std::int64_t max_pixels{};  ///< … and larger ones smaller
  bool none{};                ///< samples are text alone: a tower is there, and does not run
  std::int64_t pixels{};      ///< of an image behind the processor, whatever its edges: the mean of images of unlike size
  std::int64_t frames{};      ///< each is a video of so many frames (Qwen-VL); width, height and the limits of pixels are a frame's
  std::int64_t seconds{};     ///< … of so many seconds, two frames of each
  [[nodiscard]] constexpr bool given() const { return (count | width | height | min_pixels | max_pixels | pixels | frames | seconds) != 0; }
  [[nodiscard]] constexpr bool video() const { return (frames | seconds) != 0; }
  bool operator==(const image_batch&) const = default;
};

/// Edge of what the tower reads at once. MiniCPM-V cuts an image into slices of 448 × 448 pixels, whatever its position table holds.
constexpr std::int64_t tile_edge(const vision_shape& v) { return v.projector == projector_kind::resampler && v.image > 448 ? 448 : v.image; }
/// Tiles of one sample: a resampler's slices come with the image as a whole.
constexpr std::int64_t tiles(const vision_shape& v) {
  const std::int64_t n = v.slices > 0 ? v.slices : 1;
  return v.projector == projector_kind::resampler && n > 1 ? n + 1 : n;
}
constexpr std::int64_t patches_of_tile(const vision_shape& v) {
  if (v.patch < 1) return 0;
  if (v.kind == vision_kind::gemma4) return checked::mul(v.tokens, checked::mul(v.merge, v.merge));
  const auto edge = tile_edge(v) / v.patch;
  return checked::mul(edge, v.image_height > 0 ? v.image_height / v.patch : edge);
}
/// Tokens that the images of a sample put into the sequence. LLaVA-NeXT's are fewer, where tiles are cut to the image again. Megatron-LM's tower
/// keeps the class token, unless it is told to drop it (core/models/vision/clip_vit_model.py get_num_image_embeddings).
constexpr std::int64_t image_tokens(const vision_shape& v) {
  const auto patches = patches_of_tile(v);
  if (v.kind == vision_kind::megatron_clip) return checked::mul(tiles(v), v.tokens > 0 ? v.tokens : patches + 1);
  switch (v.projector) {
    case projector_kind::norm_linear: return checked::mul(tiles(v), patches < 256 ? patches : 256);
    case projector_kind::merger:
    case projector_kind::pixel_mlp:
    case projector_kind::norm_mlp:
    case projector_kind::shuffled_linear:
    case projector_kind::glm_merger:
    case projector_kind::patch_merger: return checked::mul(tiles(v), patches / (v.merge * v.merge));
    case projector_kind::pooled_linear: return checked::mul(tiles(v), checked::mul(v.image / (v.patch * v.merge), v.image_height / (v.patch * v.merge)));
    case projector_kind::resampler: return checked::mul(tiles(v), v.resampler);
    case projector_kind::none:
    case projector_kind::contrastive: return 0;
    case projector_kind::mlp:
    case projector_kind::linear: break;
  }
  return checked::mul(tiles(v), patches);
}

namespace detail {

constexpr bool reads_videos(vision_kind k) { return k == vision_kind::qwen2_vl || k == vision_kind::qwen2_5_vl || k == vision_kind::qwen3_vl; }
/// Frames that are read of a video: as many as are stated, or two a second, at least 4 and at most 768 (qwen-vl-utils vision_process.py smart_nframes; transformers 5.17
/// models/qwen3_vl/video_processing_qwen3_vl.py sample_frames).
constexpr std::int64_t frames_read(const image_batch& b) {
  if (b.frames > 0) return b.frames;
  return b.seconds < 2 ? 4 : b.seconds > 384 ? 768 : 2 * b.seconds;
}

/// What stands against videos, and images of so many pixels.
template <class No>
constexpr auto check_videos(const vision_shape& v, const image_batch& b, const No& no) -> decltype(no("")) {
  const bool sized = b.width > 0 || b.height > 0;
  if (b.pixels > 0 && (!resizes_by_pixels(v.kind) || sized || b.max_pixels > 0 || b.min_pixels > 0))
    return no("headroom: batch.images.pixels is what a processor made of images for towers that read any size (Qwen-VL, GLM-4V), and stands for width, height, min_pixels and max_pixels; pixels", b.pixels);
  if (b.pixels > (std::int64_t{1} << 40)) return no("headroom: batch.images.pixels must be at most 1099511627776", b.pixels);
  if (!b.video()) return {};
  if (!reads_videos(v.kind)) return no("headroom: batch.images.frames and seconds are of videos that Qwen-VL's towers read; frames of others are images, which batch.images.count counts; frames", b.frames);
  if (b.frames > 0 && b.seconds > 0) return no("headroom: batch.images must have frames or seconds, two frames each, not both; frames", b.frames);
  if (b.frames == 1 || b.frames > 65'536 || b.seconds > 1'000'000) return no("headroom: batch.images.frames must be from 2 to 65536, and seconds at most 1000000; frames", b.frames);
  if (b.pixels == 0 && (b.max_pixels == 0 || b.min_pixels == 0) && (v.kind == vision_kind::qwen3_vl || frames_read(b) > 300))  // qwen-vl-utils: 90 % of 128000 tokens over all frames, from 300 on less than a frame's most
    return no("headroom: batch.images.min_pixels and max_pixels must say what a frame of a video has: programs limit each frame, or all of a video's together (Qwen3-VL's processor, and videos of more than 300 frames); or give pixels; frames", frames_read(b));
  return {};
}

/// What stands against a job's images in front of a tower. `no` makes a refusal of a sentence and a number.
template <class No>
constexpr auto check_images(const vision_shape& v, const image_batch& b, const No& no) -> decltype(no("")) {
  constexpr std::int64_t largest = std::int64_t{1} << 20;
  if (v.held > 0 && !b.none) return no("headroom: what runs in this model's towers (model.vision.held) is not modelled by this version: batch.images must be {\"none\": true}, samples of text alone; parameters of the towers", v.held);
  if (b.none && (b.given() || (v.layers == 0 && v.held == 0))) return no("headroom: batch.images.none says that samples are text alone, for a model with a tower beside its text; leave the other keys of batch.images out; count", b.count);
  if (v.kind == vision_kind::idefics3 && !b.none && v.slices == 0 && b.width < 1)
    return no("headroom: batch.images must have a width and a height, or model.vision.slices say of how many tiles a sample is, or batch.images.none that samples are text alone: this model cuts each image into tiles; count", b.count);
  if (!b.given()) return {};
  if (v.kind == vision_kind::none) return no("headroom: batch.images are given, and the model has no vision tower; count", b.count);
  if (v.layers == 0) return no("headroom: batch.images are those beside a text; this model reads images alone, and batch.micro counts them; count", b.count);
  const bool sized = b.width > 0 || b.height > 0, limited = b.min_pixels > 0 || b.max_pixels > 0;
  if (sized && (b.width < 1 || b.height < 1)) return no("headroom: batch.images must have a width and a height, or neither; width", b.width);
  if (b.width > largest || b.height > largest) return no("headroom: batch.images.width and height must be at most 1048576 pixels; width", b.width);
  if (b.count > 65'536) return no("headroom: batch.images.count must be at most 65536", b.count);
  if (limited && !resizes_by_pixels(v.kind)) return no("headroom: batch.images.min_pixels and max_pixels are Qwen-VL's and GLM-4V's; this model's images have a size of their own; max_pixels", b.max_pixels);
  if ((resizes_by_pixels(v.kind) || v.kind == vision_kind::pixtral) && !sized && b.pixels == 0) return no("headroom: batch.images must have a width and a height: this tower reads images of any size; count", b.count);
  if (const auto video = check_videos(v, b, no); video) return video;
  if (sized && (b.width > 200 * b.height || b.height > 200 * b.width)) return no("headroom: batch.images: no edge may be more than 200 times the other; width", b.width);
  if (is_glm(v.kind) && sized && b.max_pixels == 0 && checked::mul(b.width, b.height) > 4'816'896)  // Glm4vImageProcessor's class and its checkpoints differ from here on
    return no("headroom: batch.images.max_pixels must say what GLM-4V's processor leaves of so large an image: half of its preprocessor_config.json's longest_edge; width", b.width);
  if (limited && b.max_pixels > 0 && b.min_pixels > b.max_pixels) return no("headroom: batch.images.min_pixels must be at most max_pixels; max_pixels", b.max_pixels);
  if ((v.kind == vision_kind::intern_vit || v.kind == vision_kind::intern_vit_6b) && v.slices == 0 && sized && b.count > 1)  // max_dynamic_patch is of all of them, or of each
    return no("headroom: programs that train InternVL's own code cut several images of a sample into unlike numbers of tiles; give model.vision.slices for all images of a sample, and batch.images without a size; count", b.count);
  if (v.slices > 1 && !v.newline && sized) return no("headroom: into how many tiles this model cuts an image is not known here; give model.vision.slices for all images of a sample, and batch.images without a size; slices", v.slices);
  if ((v.projector == projector_kind::resampler || v.projector == projector_kind::pixel_mlp) && sized)
    return no("headroom: into how many tiles this model cuts an image is not known here; give model.vision.slices for all images of a sample, and no batch.images; width", b.width);
  return {};
}

}  // namespace detail

/// The tower as it reads a job's images: their edges after the processor, and as many as the samples have. A job that check_images() has nothing
/// against.
constexpr vision_shape seen(vision_shape v, const image_batch& b) {
  if (!b.given()) return v;
  const auto unit = checked::mul(v.patch, v.merge);
  const bool sized = b.width > 0 && b.height > 0;  // one alone is refused
  std::int64_t tiles = v.slices > 0 && !v.newline ? v.slices : 1;
  if (b.pixels > 0 && unit > 0) {
    v.image = checked::mul(checked::ceil_div(b.pixels, checked::mul(unit, unit)), unit);
    v.image_height = unit;
  } else if (detail::resizes_by_pixels(v.kind) && sized && unit > 0) {
    const bool third = v.kind == vision_kind::qwen3_vl, glm = is_glm(v.kind);
    const auto r = detail::smart_resize(glm ? detail::at_least({b.width, b.height}, unit) : detail::edges{b.width, b.height}, unit, b.min_pixels > 0 ? b.min_pixels : b.video() ? 100'352 : third ? 65'536 : glm ? 6'272 : 3'136, b.max_pixels > 0 ? b.max_pixels : b.video() ? 602'112 : third ? 16'777'216 : 12'845'056);
    v.image = r.width;
    v.image_height = r.height;
  } else if (v.kind == vision_kind::pixtral && sized && unit > 0 && v.image > 0) {
    const auto r = detail::fit_longest({b.width, b.height}, v.image, unit);
    v.image = r.width;
    v.image_height = r.height;
  } else if (v.kind == vision_kind::gemma4 && sized && unit > 0) {
    const auto r = detail::fill_tokens({b.width, b.height}, v.tokens, unit);
    v.image = r.width;
    v.image_height = r.height;
  } else if (v.kind == vision_kind::idefics3 && sized && v.image > 0) {
    tiles = detail::split_tiles({b.width, b.height}, v.image);
  } else if (detail::tiles_by_shape(v.kind) && sized && v.image > 0 && v.slices == 0) {
    tiles = detail::nearest_tiles({b.width, b.height}, v.image, v.grid > 0 ? v.grid : detail::usual_tiles);
  } else if (v.newline) {
    tiles = v.grid > 0 && b.count > 1 ? 1 : sized && v.image > 0 ? detail::best_tiles({b.width, b.height}, v.image, v.grid) : v.slices;
  }
  if (b.video()) tiles = checked::ceil_div(detail::frames_read(b), v.temporal_patch > 0 ? v.temporal_patch : 1);  // each pair attends to itself alone, as an image does
  v.slices = checked::mul(tiles, b.count > 0 ? b.count : 1);
  return v;
}

/// Tokens that the images of a sample take of its sequence; of LLaVA-NeXT's without a size, what they take at least: each as a whole. Several of
/// LLaVA-OneVision's are a tile each, with one vector (processing_llava_onevision.py, batch_num_images).
constexpr std::int64_t tokens_in_sequence(const vision_shape& v, const image_batch& b) {
  if (!v.newline) return image_tokens(seen(v, b));
  const auto count = b.count > 0 ? b.count : 1, whole = patches_of_tile(v);
  if (v.grid > 0 && count > 1) return checked::mul(count, whole + 1);
  return checked::mul(count, b.width > 0 && b.height > 0 ? detail::tokens_of_grid(v, {b.width, b.height}) : whole);
}

}  // namespace headroom
