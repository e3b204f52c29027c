// Distributed under the Boost Software License, Version 1.0.
// What Megatron-LM's pretrain_vlm.py makes of a model that a job describes: its own tower and projector, and as many positions as the text and its images have.
// Sources: Megatron-LM pretrain_vlm.py model_provider, core/models/vision/clip_vit_model.py CLIPViTModel, core/models/vision/multimodal_projector.py
// MultimodalProjector over the submodules of core/models/multimodal/llava_spec.py.
#pragma once

#include <headroom/io/syntax/keys.hpp>
#include <headroom/job.hpp>

namespace headroom::io::detail {

/// The projector is the MLP of a layer of the language model, with that one's norm in front of the first matrix (TELayerNormColumnParallelLinear).
/// language_max_sequence_length is the length of a sample with its image, of packed samples that of all (context parallelism), whatever
/// max-position-embeddings says. LLaVAModel's default of share_embeddings_and_output_weights, which the script leaves, is false.
inline void apply_megatron_vision(job& j, const json_value& options) {
  const auto script = options.find("training-script");
  auto& v = j.model.vision;
  if (script == options.end() || *script != "pretrain_vlm.py" || v.kind != vision_kind::clip || v.projector != projector_kind::mlp) return;
  v.kind = vision_kind::megatron_clip;
  v.projector = projector_kind::norm_mlp;
  v.projector_hidden = j.model.ffn;
  j.model.tied = false;
  const bool in_one_row = j.parallel.context > 1 && options.contains("use-packed-sequence");
  j.model.max_positions = in_one_row ? checked::mul(j.batch.sequence, j.batch.micro) : j.batch.sequence;
}

}  // namespace headroom::io::detail
