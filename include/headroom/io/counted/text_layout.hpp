// Distributed under the Boost Software License, Version 1.0.
// Encoders of text that know where a word stands: on a page, or in the tree of one.
#pragma once

#include <headroom/io/counted/text_heads.hpp>

namespace headroom::io::detail {

/// transformers, modeling_lilt.py: a second, narrower stream of layers for the layout.
inline text_body count_lilt(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {});
  const auto shrink = c.count({"channel_shrink_ratio"}, 4);
  const auto narrow = s.hidden / shrink;
  if (narrow < 1 || s.ffn / shrink < 1) complain(c.at("channel_shrink_ratio") + " must leave a width, found " + std::to_string(shrink));
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  t.embedding(checked::mul(4, c.size({"max_2d_position_embeddings"}, 1024)), s.hidden / 6);
  t.embedding(s.positions, narrow);
  t.linear(component::embedding, s.hidden, narrow, true);
  t.layer_norm(narrow);
  count_encoder({s.layers, narrow, s.ffn / shrink}, t);
  return body_of(s);
}

/// modeling_layoutlmv3.py: words, their places and patches of the page in one sequence.
inline bert_sizes count_layoutlmv3(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {50265, 768, 12, 12, 3072, 512, 2});
  const auto places = c.size({"max_2d_position_embeddings"}, 1024);
  const auto coordinate = c.size({"coordinate_size"}, 128);
  const auto shape = c.size({"shape_size"}, 128);
  const auto input = c.size({"input_size"}, 224);
  const auto patch = c.size({"patch_size"}, 16);
  const auto channels = c.size({"num_channels"}, 3);
  const auto bins = c.size({"rel_pos_bins"}, 32);
  const auto bins_2d = c.size({"rel_2d_pos_bins"}, 64);
  c.ignore({"max_rel_pos", "max_rel_2d_pos", "second_input_size"});
  if (c.flag("text_embed", true)) {
    count_bert_embeddings(s, s.hidden, t);
    t.embedding(checked::mul(2, places), checked::add(coordinate, shape));
  }
  if (c.flag("visual_embed", true)) {
    const auto side = input / patch;
    t.linear(component::embedding, checked::mul(channels, checked::mul(patch, patch)), s.hidden, true);
    t.embedding(checked::add(checked::mul(side, side), 2), s.hidden);  // and the token of the class
    t.layer_norm(s.hidden, 2);
  }
  if (c.flag("has_relative_attention_bias", true)) t.add(component::attention, checked::mul(bins, s.heads));
  if (c.flag("has_spatial_attention_bias", true)) t.add(component::attention, checked::mul(2, checked::mul(bins_2d, s.heads)));
  count_bert_layers(s, t);
  c.ignore({"tie_word_embeddings"});
  return s;
}
enum class layoutlmv3_head { base, token, dense };
template <layoutlmv3_head Head>
void count_layoutlmv3_head(const config& c, tally& t) {
  const auto s = count_layoutlmv3(c, t);
  c.ignore({"num_labels", "id2label"});
  if (Head == layoutlmv3_head::base) return;
  if (Head == layoutlmv3_head::dense || labels_of(c) >= 10) t.linear(component::head, s.hidden, s.hidden, true);
  count_classifier(c, t, s.hidden);
}

/// modeling_markuplm.py: where a word stands in the tree of a page, level by level.
inline text_body count_markuplm(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  const auto depth = c.count({"max_depth"}, 50);
  const auto unit = c.size({"xpath_unit_hidden_size"}, 32);
  const auto rows = checked::add(c.size({"max_xpath_tag_unit_embeddings"}, 256), c.size({"max_xpath_subs_unit_embeddings"}, 1024));
  const auto path = checked::mul(depth, unit);
  c.ignore({"tag_pad_id", "subs_pad_id"});
  t.embedding(checked::mul(depth, rows), unit);
  t.linear(component::embedding, path, s.hidden, true);
  t.linear(component::embedding, path, checked::mul(4, s.hidden), true);
  t.linear(component::embedding, checked::mul(4, s.hidden), s.hidden, true);
  return body_of(s);
}

/// modeling_bros.py: places on the page are sines, projected to one head's width.
inline text_body count_bros(const config& c, tally& t) {
  const auto s = read_bert_sizes(c, {});
  count_bert_embeddings(s, s.hidden, t);
  count_bert_layers(s, t);
  c.ignore({"dim_bbox", "bbox_scale", "n_relations", "dim_bbox_sinusoid_emb_1d"});
  t.linear(component::embedding, c.size({"dim_bbox_sinusoid_emb_2d"}, s.hidden / 4), c.size({"dim_bbox_projection"}, s.hidden / s.heads), false);
  auto b = body_of(s);
  b.kept = true;
  return b;
}

inline constexpr counted_class counted_text_layout[] = {
    {"LiltModel", "lilt", count_text<count_lilt, text_head::base>},
    {"LiltForSequenceClassification", "lilt", count_text<count_lilt, text_head::sequence>},
    {"LiltForTokenClassification", "lilt", count_text<count_lilt, text_head::token>},
    {"LiltForQuestionAnswering", "lilt", count_text<count_lilt, text_head::question>},
    {"LayoutLMv3Model", "layoutlmv3", count_layoutlmv3_head<layoutlmv3_head::base>},
    {"LayoutLMv3ForTokenClassification", "layoutlmv3", count_layoutlmv3_head<layoutlmv3_head::token>},
    {"LayoutLMv3ForQuestionAnswering", "layoutlmv3", count_layoutlmv3_head<layoutlmv3_head::dense>},
    {"LayoutLMv3ForSequenceClassification", "layoutlmv3", count_layoutlmv3_head<layoutlmv3_head::dense>},
    {"MarkupLMModel", "markuplm", count_text<count_markuplm, text_head::base>},
    {"MarkupLMForSequenceClassification", "markuplm", count_text<count_markuplm, text_head::sequence>},
    {"MarkupLMForTokenClassification", "markuplm", count_text<count_markuplm, text_head::token>},
    {"MarkupLMForQuestionAnswering", "markuplm", count_text<count_markuplm, text_head::question>},
    {"BrosModel", "bros", count_text<count_bros, text_head::base>},
    {"BrosForTokenClassification", "bros", count_text<count_bros, text_head::token>},
};

}  // namespace headroom::io::detail
