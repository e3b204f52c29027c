// Distributed under the Boost Software License, Version 1.0.
// What models that see and speak have in common: any tower, any language model, and a head that may be the table of words.
#pragma once

#include <headroom/io/counted/vision_blocks.hpp>
#include <headroom/io/huggingface/ties.hpp>

namespace headroom::io::detail {

struct language {
  std::int64_t hidden{}, vocab{};
  bool tied{};  ///< what the language model's own configuration says
  std::int64_t words{};  ///< width of a word's embedding, where that may be another; 0: hidden
};

/// A nested object; absent or null, what the class takes instead.
inline config child_or(const config& c, const char* key, const json& usual) {
  return c.has(key) ? c.child(key) : config{usual, c.at(key), c.asked()};
}

/// Counts the language model without a head. `sizes` are its class's defaults where its layers are counted and not walked; 0: the keys must be there.
inline language count_language(const config& c, tally& t, const char* usual, const language& sizes = {}) {
  t.model(count_inner(c, usual));
  const auto type = c.text({"model_type"}, usual);
  std::optional<shape> m;
  try {
    m = walked_inner(c, type);
  } catch (const job_error&) {  // this configuration is counted alone
  }
  if (m) return {m->hidden, m->vocab, m->tied, m->embedding_width()};
  const bool known = type == usual && sizes.hidden != 0;
  return {c.size({"hidden_size", "n_embd", "d_model"}, known ? sizes.hidden : config::required), c.size({"vocab_size"}, known ? sizes.vocab : config::required), c.flag("tie_word_embeddings", sizes.tied)};
}

/// The widths that towers have where their configuration does not say.
struct tower_width {
  const char* type;
  std::int64_t hidden;
};
inline constexpr tower_width tower_widths[] = {
    {"clip_vision_model", 768}, {"siglip_vision_model", 768}, {"siglip2_vision_model", 768}, {"pixtral", 1024}, {"internvl_vision", 1024}, {"dinov2", 768}, {"vit", 768},
    {"mlcd_vision_model", 1664}, {"aimv2_vision_model", 1024}, {"dinov2_with_registers", 768}, {"idefics3_vision", 1152}, {"idefics2_vision", 768},
};

/// 0: not in the list.
inline std::int64_t tower_width_of(std::string_view type) {
  for (const auto& w : tower_widths)
    if (type == w.type) return w.hidden;
  return 0;
}

/// Counts a tower, and returns its width.
inline std::int64_t count_tower(const config& c, tally& t, const char* usual) {
  t.within(component::vision, [&] { t.model(count_inner(c, usual)); });
  const auto width = tower_width_of(c.text({"model_type"}, usual));
  return c.size({"hidden_size"}, width != 0 ? width : config::required);
}

/// lm_head, where it is not the table of words. `listens`: the language model's own word counts, too, but in releases that read the outer one alone.
inline void count_language_head(const config& c, tally& t, const language& l, bool tied, bool listens) {
  if (!c.flag("tie_word_embeddings", tied) && !(listens && l.tied && !reads_outer_alone(c))) t.linear(component::head, l.hidden, l.vocab, false);
}

/// Rows of a body: without a head, and with one. `Tied` is the class's default.
template <language (*Body)(const config&, tally&)>
inline void count_bare(const config& c, tally& t) {
  pass_over_vision(c);
  c.ignore({"tie_word_embeddings"});
  Body(c, t);
}
template <language (*Body)(const config&, tally&), bool Tied, bool Listens = false>
inline void count_speaking(const config& c, tally& t) {
  pass_over_vision(c);
  count_language_head(c, t, Body(c, t), Tied, Listens);
}

/// Layers of a tower whose features are joined: one, or a list of them.
inline std::int64_t feature_layers(const config& c, const char* key = "vision_feature_layer") {
  const json* value = c.find({key});
  const auto layer = [](const json& v) { return v.is_number_integer() && v >= -config::most && v <= config::most; };
  if (value != nullptr && !value->is_null() && !layer(*value) && !(value->is_array() && !value->empty() && std::all_of(value->begin(), value->end(), layer)))
    complain(c.at(key) + " must be the number of a layer, or a list of them, found " + shown(*value));
  return value != nullptr && value->is_array() ? static_cast<std::int64_t>(value->size()) : 1;
}
/// Two matrices from a tower's width to the text's.
inline void count_projector(tally& t, std::int64_t in, std::int64_t out, bool bias = true) {
  t.linear(component::projector, in, out, bias);
  t.linear(component::projector, out, out, bias);
}

}  // namespace headroom::io::detail
