// Distributed under the Boost Software License, Version 1.0.
// DeepSeek-OCR 2 (transformers 5.16, modeling_deepseek_ocr2.py): SAM's tower, an encoder as Qwen2 has its layers, experts beside shared ones.
#pragma once

#include <headroom/io/counted/language_others.hpp>
#include <headroom/io/counted/vision_language_towers.hpp>

namespace headroom::io::detail {

/// DeepseekOcr2VisionModel. Returns its width.
inline std::int64_t count_ocr2_vision(const config& c, tally& t) {
  const auto sam = c.child("sam_config"), reads = c.child("encoder_config");
  count_sam_vision(sam, t, sam_sight);
  const auto narrows = list_of(sam, "downsample_channels", {512, 896});
  if (narrows.size() != 2) complain(sam.at("downsample_channels") + " must be a list of two, found " + shown(sam.find({"downsample_channels"})));
  count_conv(t, sam.size({"output_channels"}, 256), narrows[0], 3, false);
  count_conv(t, narrows[0], narrows[1], 3, false);
  auto s = read_language(reads, {32, 4096, 32, 32, 0, 22016, 151936});
  reads.ignore({"use_sliding_window", "max_window_layers", "tie_word_embeddings"});
  c.ignore({"tie_word_embeddings"});
  for (const auto& part : {c, sam, reads}) ignore_labels(part);
  count_attention(t, s, true, false, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, false, s.layers);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  t.embedding(144 + 256, s.hidden);  // queries of 12 × 12 and of 16 × 16
  return s.hidden;
}
inline language count_ocr2_text(const config& c, tally& t) {
  auto s = read_language(c, {32, 4096, 32, 0, 0, 11008, 102400});
  s.head_dim = s.hidden / s.heads;  // whatever the file says
  const bool bias = c.flag("attention_bias", false), mlp_bias = c.flag("mlp_bias", false);
  const auto words = read_words(c, "mlp_layer_types", s.layers, {"dense", "sparse"});
  if (words.empty()) complain(c.at("mlp_layer_types") + " is missing; this family has no default for it");
  const auto sparse = count_of(words, "sparse");
  const auto width = c.size({"moe_intermediate_size"}, 1407);
  c.ignore({"tie_word_embeddings"});
  ignore_labels(c);
  t.embedding(s.vocab, s.hidden);
  count_attention(t, s, bias, bias, s.layers);
  count_gated_mlp(t, component::mlp, s.hidden, s.ffn, mlp_bias, s.layers - sparse);
  count_routed(t, s.hidden, {c.count({"n_routed_experts", "num_experts"}, 64), c.count({"num_experts_per_tok"}, config::required), width, 0}, sparse);
  count_gated_mlp(t, component::shared_experts, s.hidden, checked::mul(width, c.count({"n_shared_experts"}, 2)), mlp_bias, sparse);
  t.rms_norm(s.hidden, checked::add(checked::mul(2, s.layers), 1));
  return {s.hidden, s.vocab, false};
}
/// DeepseekOcr2Model.
inline language count_ocr2(const config& c, tally& t) {
  std::int64_t width = 0;
  t.within(component::vision, [&] { width = count_ocr2_vision(c.child("vision_config"), t); });
  const auto l = count_ocr2_text(c.child("text_config"), t);
  t.linear(component::projector, width, l.hidden, true);
  t.add(component::projector, l.hidden);
  return l;
}

inline constexpr counted_class counted_ocr[] = {
    {"DeepseekOcr2Model", "deepseek_ocr2", count_bare<count_ocr2>},
    {"DeepseekOcr2ForConditionalGeneration", "deepseek_ocr2", count_speaking<count_ocr2, false>},
};

}  // namespace headroom::io::detail
