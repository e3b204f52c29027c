// Distributed under the Boost Software License, Version 1.0.
// Arguments of Megatron-LM's pretrain_vlm.py: an image of each sample, the tower that reads it, and how long text and image are together.
// Sources: Megatron-LM pretrain_vlm.py model_provider, _preprocess_data_for_llava, add_vlm_extra_args (d98e8a64dd of 2026-08-22; the same since ae4e06e555 of
// 2025-03-25); core/models/multimodal/context_parallel.py get_padding; core/models/vision/clip_vit_model.py get_num_image_embeddings.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// What the language model reads of an image: its patches, and a class token unless that is dropped. Edges of 224 and patches of 16 pixels stand where nothing is
/// said (training/arguments.py _add_vision_args).
inline std::int64_t image_embeddings(named_values& v) {
  const auto high = v.number("img-h", 224), wide = v.number("img-w", 224), patch = v.number("patch-dim", 16);
  if (high != wide) fail("headroom: img-w must be img-h, " + std::to_string(high) + ": images that are wider or higher are not modelled by this version; found " + std::to_string(wide));
  if (high % patch != 0) fail("headroom: img-h and img-w must be multiples of patch-dim, " + std::to_string(patch) + "; found " + std::to_string(high));
  return checked::mul(high / patch, wide / patch) + (v.on("disable-vision-class-token") ? 0 : 1);
}

/// A tower as wide as the language model `m`, with as many layers as num-layers says, whatever decoder-num-layers is.
inline json_value tower_of(named_values& v, const json_value& m) {
  return {{"kind", "clip"},
          {"layers", v.number("num-layers", 0)},
          {"hidden", m["hidden"]},
          {"heads", m["heads"]},
          {"ffn", m["ffn"]},
          {"patch", v.number("patch-dim", 16)},
          {"image", v.number("img-h", 224)},
          {"tokens", image_embeddings(v)},
          {"projector", "mlp"}};
}

/// Tokens of a sample: dataloader-seq-length or seq-length of text, and its image, which stands for a token that is put in front of the text.
/// Errors: job_error where ranks could not share them out and Megatron-LM would pad them, which changes the mask of attention.
inline std::int64_t text_and_image(named_values& v) {
  if (!v.has("dataloader-seq-length") && !v.has("seq-length")) fail("headroom: seq-length is required: how long the text of a sample is");
  const auto text = v.has("dataloader-seq-length") ? v.number("dataloader-seq-length", 1) : v.number("seq-length", 1);
  const auto image = image_embeddings(v), all = checked::add(text, image);
  const auto tensor = v.number("tensor-model-parallel-size", 1), context = v.number("context-parallel-size", 1);
  const auto parts = checked::mul(context > 1 ? 2 * context : 1, v.on("sequence-parallel") ? tensor : 1);
  if (all % parts == 0) return all;
  fail("headroom: " + std::string{v.has("dataloader-seq-length") ? "dataloader-seq-length" : "seq-length"} + ": " + std::to_string(text) + " tokens of text and " + std::to_string(image) +
       " of an image are padded to a multiple of " + std::to_string(parts) + ", and padded attention is not modelled by this version");
}

/// What the model's own keys do not say: which script it is (io/options/megatron_vision.hpp), and that the samples of a micro-batch are one row.
inline void say_vision_script(draft& d, named_values& v) {
  d.say({"framework", "options", "training-script"}, "pretrain_vlm.py", v.source());
  if (v.on("use-packed-sequence")) d.say({"framework", "options", "use-packed-sequence"}, true, v.place("use-packed-sequence"));
}

/// Errors: job_error for an argument of examples/mimo/train.py, whose model and samples are what names stand for.
inline void refuse_mimo(const named_values& v) {
  for (const auto* key : {"model-provider", "dataset-provider"})
    if (v.has(key))
      fail("headroom: " + v.place(key) + ": " + key + " is an argument of examples/mimo/train.py, which is not modelled by this version: model-provider names the model (llava_vlm trains a projector before frozen layers of Megatron's), " +
           "whatever num-layers says, and seq-length does not say how long samples are: those of llava_vlm are as long as their texts");
}

}  // namespace headroom::io::detail
