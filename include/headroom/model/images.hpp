// Distributed under the Boost Software License, Version 1.0.
// From the images of a sample to what a tower reads: each family's processor resizes an image, or cuts it into tiles, by rules of its own.
// Sources: transformers 5.16 models/qwen2_vl/image_processing_qwen2_vl.py smart_resize, models/pixtral/image_processing_pixtral.py
// get_resize_output_image_size, models/idefics3/image_processing_idefics3.py, models/gemma4/image_processing_gemma4.py, image_processing_utils.py select_best_resolution; limits of pixels: preprocessor_config.json of Qwen2-VL and
// Qwen2.5-VL (3136 and 12845056) and of Qwen3-VL (65536 and 16777216); GLM-4V's counts each image as two frames (models/glm4v/image_processing_glm4v.py smart_resize: 112 × 112 at least).
#pragma once

#include <headroom/error.hpp>
#include <headroom/model/vision_shape.hpp>
#include <headroom/units/checked.hpp>

namespace headroom {

/// The images of each sample. All 0: one, as large as the shape says.
struct image_batch {
  std::int64_t count{};       ///< of a sample; 0: one
  std::int64_t width{};       ///< of an image in pixels, before the processor resizes it; 0: as the shape says
  std::int64_t height{};      ///< 0: as wide as high
  std::int64_t min_pixels{};  ///< a processor makes smaller images larger (Qwen-VL); 0: as published
  std::int64_t max_pixels{};  ///< … and larger ones smaller
  bool none{};                ///< samples are text alone: a tower is there, and does not run
  [[nodiscard]] constexpr bool given() const { return (count | width | height | min_pixels | max_pixels) != 0; }
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

/// The square root, rounded as IEEE 754 asks for: Newton's steps, then the error of the square, which two halves of the root give exactly
/// (Dekker 1971, A floating-point technique for extending the available precision). For numbers from 1e-9 to 1e18.
constexpr double square_root(double x) {
  double y = x > 1 ? x : 1;
  for (int i = 0; i < 64; ++i) y = (y + x / y) / 2;
  const double scaled = 134217729.0 * y;  // 2^27 + 1
  const double high = scaled - (scaled - y), low = y - high;
  return y + (((x - high * high) - 2 * high * low) - low * low) / (2 * y);
}

constexpr std::int64_t floor_of(double x) { return static_cast<std::int64_t>(x); }
constexpr std::int64_t ceil_of(double x) { return static_cast<double>(floor_of(x)) < x ? floor_of(x) + 1 : floor_of(x); }

/// Python's round(n / unit) · unit: halves go to the even side.
constexpr std::int64_t rounded_to(std::int64_t n, std::int64_t unit) {
  const auto whole = n / unit, twice = 2 * (n % unit);
  return (whole + (twice > unit || (twice == unit && whole % 2 == 1) ? 1 : 0)) * unit;
}

constexpr bool resizes_by_pixels(vision_kind k) { return k == vision_kind::qwen2_vl || k == vision_kind::qwen2_5_vl || k == vision_kind::qwen3_vl || is_glm(k); }

struct edges {
  std::int64_t width{}, height{};
};

/// GLM-4V: an edge shorter than a merged patch becomes one, and the other grows alike.
constexpr edges at_least(edges i, std::int64_t unit) {
  const auto shorter = i.width < i.height ? i.width : i.height;
  return shorter >= unit ? i : edges{i.width * unit / shorter, i.height * unit / shorter};
}

/// smart_resize: edges that are multiples of a merged patch, within limits of pixels.
constexpr edges smart_resize(const edges& image, std::int64_t unit, std::int64_t least, std::int64_t most) {
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height), f = static_cast<double>(unit);
  edges r{rounded_to(image.width, unit), rounded_to(image.height, unit)};
  if (checked::mul(r.width, r.height) > most) {
    const double beta = square_root(h * w / static_cast<double>(most));
    r = {floor_of(w / beta / f) * unit, floor_of(h / beta / f) * unit};
    if (r.width < unit) r.width = unit;
    if (r.height < unit) r.height = unit;
  } else if (checked::mul(r.width, r.height) < least) {
    const double beta = square_root(static_cast<double>(least) / (h * w));
    r = {ceil_of(w * beta / f) * unit, ceil_of(h * beta / f) * unit};
  }
  return r;
}

/// Pixtral: no edge longer than `longest`, rounded up to merged patches.
constexpr edges fit_longest(const edges& image, std::int64_t longest, std::int64_t unit) {
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height);
  const double ratio = (w > h ? w : h) / static_cast<double>(longest);
  edges r = image;
  if (ratio > 1) r = {floor_of(w / ratio), floor_of(h / ratio)};
  return {checked::round_up(r.width, unit), checked::round_up(r.height, unit)};
}

/// get_aspect_ratio_preserving_size: as many pixels as `tokens` merged patches of `unit` pixels' edge have, edges rounded down to them.
constexpr edges fill_tokens(const edges& image, std::int64_t tokens, std::int64_t unit) {
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height), f = static_cast<double>(unit);
  const double factor = square_root(static_cast<double>(checked::mul(tokens, checked::mul(unit, unit))) / (h * w));
  edges r{floor_of(w * factor / f) * unit, floor_of(h * factor / f) * unit};
  const auto longest = [&](std::int64_t ratio) { return (ratio < tokens ? ratio : tokens) * unit; };
  if (r.height == 0) r = {longest(image.width / image.height), unit};
  if (r.width == 0) r = {unit, longest(image.height / image.width)};
  return r;
}

/// LLaVA-NeXT: the grid of tiles that keeps most of an image, of the five that its checkpoints have (image_grid_pinpoints).
/// LLaVA-OneVision: of all grids of up to `most` tiles along each edge, one row of the checkpoints' list for each height.
constexpr edges best_grid(const edges& image, std::int64_t tile, std::int64_t most = 0) {
  constexpr edges few[] = {{2, 1}, {1, 2}, {2, 2}, {1, 3}, {3, 1}};  // wide, high, in the order of the checkpoints
  edges best{};
  std::int64_t kept_best = 0, lost_best = 0;
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height);
  for (std::int64_t i = 0; i < (most > 0 ? most * most : 5); ++i) {
    const auto g = most > 0 ? edges{i % most + 1, i / most + 1} : few[i];
    const auto wide = static_cast<double>(g.width * tile), high = static_cast<double>(g.height * tile);
    const double scale = wide / w < high / h ? wide / w : high / h;
    const auto left = checked::mul(floor_of(w * scale), floor_of(h * scale)), all = checked::mul(image.width, image.height);
    const auto kept = left < all ? left : all, lost = checked::mul(g.width * tile, g.height * tile) - kept;
    if (kept > kept_best || (kept == kept_best && lost < lost_best)) best = g, kept_best = kept, lost_best = lost;
  }
  return best;
}
/// … and the image as a whole.
constexpr std::int64_t best_tiles(const edges& image, std::int64_t tile, std::int64_t most = 0) {
  const auto g = best_grid(image, tile, most);
  return g.width * g.height + 1;
}
/// Their tokens: the image as a whole, and the grid, whose rows and columns beside the image go, each row with a vector at its end. LLaVA-OneVision makes
/// a grid smaller that has more than nine tiles' tokens ("anyres_max_9"). processing_llava_next.py, processing_llava_onevision.py _get_unpadded_features.
constexpr std::int64_t tokens_of_grid(const vision_shape& v, const edges& image) {
  const auto side = v.image / v.patch;
  const auto g = best_grid(image, v.image, v.grid);
  std::int64_t wide = g.width * side, high = g.height * side;
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height);
  const auto cut = [](std::int64_t& edge, double to) { edge -= (edge - floor_of(to + 5e-8)) / 2 * 2; };  // int(round(…, 7))
  if (w * static_cast<double>(high) > h * static_cast<double>(wide))
    cut(high, h * static_cast<double>(wide) / w);
  else
    cut(wide, w * static_cast<double>(high) / h);
  const double over = square_root(static_cast<double>(wide * high) / static_cast<double>(9 * side * side));
  if (v.grid > 0 && over > 1.1) wide = floor_of(static_cast<double>(wide) / over), high = floor_of(static_cast<double>(high) / over);
  return wide * high + high + side * side;
}

/// Idefics 3 and SmolVLM: the longer edge becomes four tiles' (size.longest_edge of all checkpoints), the shorter one as many as it takes (_resize_output_size_rescale_to_max_len,
/// whose result is even); and the image as a whole.
constexpr std::int64_t split_tiles(const edges& image, std::int64_t tile) {
  const bool wide = image.width >= image.height;
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height), longest = static_cast<double>(4 * tile);
  const auto shorter = wide ? floor_of(longest / (w / h)) : floor_of(longest * (w / h));
  return checked::add(checked::mul(4, checked::round_up(shorter + shorter % 2 > 0 ? shorter + shorter % 2 : 1, tile) / tile), 1);
}

constexpr bool tiles_by_shape(vision_kind k) { return k == vision_kind::intern_vit || k == vision_kind::intern_vit_6b || k == vision_kind::internvl || k == vision_kind::internvl_6b; }
/// InternVL: the grid of at most twelve tiles whose shape is nearest to the image's, of two as near the larger one where the image has more than half its pixels; and, beside several
/// tiles, the image as a whole. OpenGVLab/InternVL internvl_chat/internvl/train/dataset.py dynamic_preprocess, with its checkpoints' max_dynamic_patch; transformers
/// models/got_ocr2/image_processing_got_ocr2.py get_optimal_tiled_canvas, as InternVLProcessor calls it.
constexpr std::int64_t nearest_tiles(const edges& image, std::int64_t tile) {
  constexpr std::int64_t most = 12;
  const double shape = static_cast<double>(image.width) / static_cast<double>(image.height);
  double nearest = 1e18;
  std::int64_t best = 1;
  for (std::int64_t n = 1; n <= most; ++n)
    for (std::int64_t wide = 1; wide <= n; ++wide) {
      if (n % wide != 0) continue;
      const double off = shape - static_cast<double>(wide) / static_cast<double>(n / wide), far = off < 0 ? -off : off;
      if (far < nearest || (far == nearest && static_cast<double>(image.width) * static_cast<double>(image.height) > 0.5 * static_cast<double>(tile * tile * n))) nearest = far, best = n;
    }
  return best > 1 ? best + 1 : 1;
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
  if ((resizes_by_pixels(v.kind) || v.kind == vision_kind::pixtral) && !sized) return no("headroom: batch.images must have a width and a height: this tower reads images of any size; count", b.count);
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
  if (detail::resizes_by_pixels(v.kind) && sized && unit > 0) {
    const bool third = v.kind == vision_kind::qwen3_vl, glm = is_glm(v.kind);
    const auto r = detail::smart_resize(glm ? detail::at_least({b.width, b.height}, unit) : detail::edges{b.width, b.height}, unit, b.min_pixels > 0 ? b.min_pixels : third ? 65'536 : glm ? 6'272 : 3'136, b.max_pixels > 0 ? b.max_pixels : third ? 16'777'216 : 12'845'056);
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
    tiles = detail::nearest_tiles({b.width, b.height}, v.image);
  } else if (v.newline) {
    tiles = v.grid > 0 && b.count > 1 ? 1 : sized && v.image > 0 ? detail::best_tiles({b.width, b.height}, v.image, v.grid) : v.slices;
  }
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
