// Distributed under the Boost Software License, Version 1.0.
// What a processor makes of an image's edges, family by family: resized edges, or tiles. images.hpp names the sources.
#pragma once

#include <headroom/model/vision_shape.hpp>
#include <headroom/units/checked.hpp>

namespace headroom {

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
/// InternVL: the grid of at most twelve tiles, or `most`, whose shape is nearest to the image's, of two as near the larger one where the image has more than half its pixels; and, beside several
/// tiles, the image as a whole. OpenGVLab/InternVL internvl_chat/internvl/train/dataset.py dynamic_preprocess, with its checkpoints' max_dynamic_patch; transformers
/// models/got_ocr2/image_processing_got_ocr2.py get_optimal_tiled_canvas, as InternVLProcessor calls it.
inline constexpr std::int64_t usual_tiles = 12;
constexpr std::int64_t nearest_tiles(const edges& image, std::int64_t tile, std::int64_t most = usual_tiles) {
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

}  // namespace detail

}  // namespace headroom
