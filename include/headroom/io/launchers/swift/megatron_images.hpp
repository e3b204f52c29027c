// Distributed under the Boost Software License, Version 1.0.
// The images of ms-swift's rows over Megatron-Core (modelscope/ms-swift 36023605 of 2026-08).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/swift/tasks.hpp>

#include <optional>

namespace headroom::io::detail {

/// A tower and what joins it to the text are frozen unless asked otherwise (swift/megatron/arguments/megatron_args.py). The most pixels that model_kwargs
/// lets an image have.
inline std::optional<std::int64_t> pixels_over_megatron(draft& d, named_values& v, const shape& m) {
  const bool sees = m.vision.layers > 0;
  for (const auto* key : {"freeze_vit", "freeze_aligner"})
    if (!v.on(key, true) && sees) d.unmodelled_key(key, false, v.place(key), "over Megatron-Core, where towers are modelled that do not train");
  if (!sees) return std::nullopt;
  if (v.on("vit_gradient_checkpointing")) {  // swift/megatron/trainers/base.py _prepare_vit_gradient_checkpointing
    const std::string what = "a frozen tower that is checkpointed is asked for a gradient, and what it keeps for it is not counted: the input of each of its blocks";
    d.notes.push_back(v.place("vit_gradient_checkpointing") + ": " + what + " (vit_gradient_checkpointing false, the default beside freeze_vit, keeps nothing)");
    d.assumed.push_back(what);
  }
  const auto* more = v.take("model_kwargs");
  if (more == nullptr || more->empty() || *more == "" || *more == "{}") return std::nullopt;
  const auto said = more->is_string() ? parse_json(more->get<std::string>(), "model_kwargs") : *more;
  const auto pixels = said.is_object() && said.size() == 1 ? said.find("max_pixels") : said.end();
  if (pixels != said.end() && pixels->is_number_integer()) return pixels_matter(m) ? std::optional{pixels->get<std::int64_t>()} : std::nullopt;
  d.unmodelled_key("model_kwargs", *more, v.place("model_kwargs"));
  return std::nullopt;
}

/// Once it is known which samples lie in a row.
inline void images_over_megatron(draft& d, const shape& m, std::optional<std::int64_t> pixels, const std::string& of_pixels, const std::string& of_model) {
  if (pixels) say_largest_images(d, "max_pixels", *pixels, of_pixels);
  swift_tasks::ask_for_tiles(d, m, of_model);
  if (d.joined_samples) d.notes.push_back(d.joined_samples->place + ": the samples of a micro-batch lie in one row, and batch.images.count is of all of them");
}

}  // namespace headroom::io::detail
