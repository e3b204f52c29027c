// Distributed under the Boost Software License, Version 1.0.
// What towers that see are made of: sizes of images and patches, layers of attention with a plain or gated MLP, convolutions.
#pragma once

#include <headroom/io/counted/base.hpp>

#include <string>
#include <utility>
#include <vector>

namespace headroom::io::detail {

/// Keys that shape nothing in models that see, or that somebody else asks for: id2label and num_labels shape a classifier's head alone.
inline void pass_over_vision(const config& c) {
  c.ignore({"tie_word_embeddings", "tie_encoder_decoder", "tf_legacy_loss", "is_decoder", "add_cross_attention", "cross_attention_hidden_size", "ignore_index", "model_max_length", "processor_class"});
  if (const json* pruned = c.find({"pruned_heads"}); pruned != nullptr && !pruned->empty()) complain(c.at("pruned_heads") + " must be empty, found " + shown(*pruned));
  c.ignore({"num_attention_heads", "num_heads", "attention_heads", "num_labels", "id2label", "logit_scale_init_value", "layerscale_value", "layer_scale_init_value",
            "initializer_std", "out_features", "out_indices", "_out_features", "_out_indices", "stage_names", "apply_layernorm", "reshape_hidden_states",
            "projection_dropout", "semantic_loss_ignore_index", "return_loss", "output_act", "pooler_act", "interpolation", "hidden_dropout_rate",
            "vision_feature_layer", "vision_feature_select_strategy", "projector_hidden_act", "image_seq_length", "label_smoothing"});
}

/// A key that is one whole number or a list of them: its places, `dims` of them.
inline std::vector<std::int64_t> places_of(const config& c, const char* key, std::int64_t fallback, std::size_t dims = 2) {
  const json* value = c.find({key});
  if (value == nullptr || !value->is_array()) return std::vector<std::int64_t>(dims, c.size({key}, fallback));
  if (value->size() != dims) complain(c.at(key) + " must be a whole number or a list of " + std::to_string(dims) + ", found " + shown(*value));
  std::vector<std::int64_t> list;
  for (const auto& one : *value) list.push_back(config::whole(one, c.at(key), 1, config::widest));
  return list;
}
/// A list of whole numbers of any length.
inline std::vector<std::int64_t> list_of(const config& c, const char* key, std::vector<std::int64_t> fallback, std::int64_t low = 1) {
  const json* value = c.find({key});
  if (value == nullptr) return fallback;
  if (!value->is_array() || (low > 0 && value->empty())) complain(c.at(key) + " must be a list of whole numbers, found " + shown(*value));  // sizes of no stage
  std::vector<std::int64_t> list;
  for (const auto& one : *value) list.push_back(config::whole(one, c.at(key), low, config::widest));
  return list;
}
/// Refuses more layers than any model has: they are counted one after another.
inline void check_layers(const config& c, const char* key, std::int64_t layers) {
  if (layers > config::most) complain(c.at(key) + " must not make more than " + std::to_string(config::most) + " layers, found " + std::to_string(layers));
}
/// How many layers each stage has.
inline std::vector<std::int64_t> depths_of(const config& c, const char* key, std::vector<std::int64_t> fallback, std::int64_t low = 1) {
  auto list = list_of(c, key, std::move(fallback), low);
  std::int64_t sum = 0;
  for (const auto one : list) sum = checked::add(sum, one);
  check_layers(c, key, sum);
  return list;
}
/// Refuses lists that must have an entry for each stage and do not.
inline void check_stages(const config& c, std::size_t stages, std::initializer_list<std::size_t> lengths) {
  for (const auto length : lengths)
    if (length < stages) complain(c.path() + " must have an entry for each of " + std::to_string(stages) + " stages in each list of sizes, found " + std::to_string(length));
}
/// The stages whose features a backbone hands on, counted from 0: out_features by their names ("stem" comes before "stage1"), or out_indices; without
/// both the last. The stem counts as 0, stage1 as 1.
inline std::vector<std::int64_t> stages_handed_on(const config& c, std::int64_t stages) {
  std::vector<std::int64_t> found;
  const json *names = c.find({"out_features", "_out_features"}), *places = c.find({"out_indices", "_out_indices"});
  const auto refuse_at = [&](const char* key, const json& value) { complain(c.at(key) + " must be a list of stages, found " + shown(value)); };
  if (names != nullptr && !names->is_null()) {
    if (!names->is_array()) refuse_at("out_features", *names);
    for (const auto& one : *names)
      for (std::int64_t i = 0; i <= stages; ++i)
        if (one == (i == 0 ? std::string{"stem"} : "stage" + std::to_string(i))) found.push_back(i);
    if (found.size() != names->size()) refuse_at("out_features", *names);
  }
  if (places != nullptr && !places->is_null()) {
    if (!places->is_array()) refuse_at("out_indices", *places);
    std::vector<std::int64_t> listed;
    for (const auto& one : *places) {
      const auto i = config::whole(one, c.at("out_indices"), -stages - 1, stages);
      listed.push_back(i < 0 ? i + stages + 1 : i);
    }
    if (names != nullptr && !names->is_null() && listed != found) refuse_at("out_indices", *places);
    found = std::move(listed);
  }
  if ((names == nullptr || names->is_null()) && (places == nullptr || places->is_null())) found.push_back(stages);
  return found;
}

/// `base` times a ratio that need not be whole, cut to a whole number, as int(base * ratio) is.
inline std::int64_t times_ratio(const config& c, const char* key, double fallback, std::int64_t base) {
  return static_cast<std::int64_t>(static_cast<double>(base) * c.real({key}, fallback, 0.0, 1e6));
}

/// The width of attention where a class cuts the hidden size to a whole number for each head.
inline std::int64_t whole_heads(const config& c, std::int64_t hidden, std::int64_t usual) {
  const auto heads = c.count({"num_attention_heads"}, usual);
  if (hidden < heads) complain(c.at("hidden_size") + " must be at least num_attention_heads, " + std::to_string(heads) + ", found " + std::to_string(hidden));
  return hidden / heads * heads;
}

/// The product of all numbers of a list.
inline std::int64_t area(const std::vector<std::int64_t>& list) {
  std::int64_t product = 1;
  for (const auto one : list) product = checked::mul(product, one);
  return product;
}

/// Layers of self-attention and an MLP, each behind a norm.
struct tower_layers {
  std::int64_t layers{}, hidden{}, ffn{};
  std::int64_t inner{};      ///< heads × their width; 0: hidden
  bool bias{true};           ///< of queries and values
  bool key_bias{true};
  bool out_bias{true};
  bool mlp_bias{true};
  bool gated{};              ///< three matrices in the MLP instead of two
  bool rms{};                ///< RMSNorm, without a bias
  std::int64_t norms{2};
  std::int64_t scales{};     ///< vectors that scale a layer's output
};
inline void count_norm(tally& t, std::int64_t width, bool rms, std::int64_t times = 1) { rms ? t.rms_norm(width, times) : t.layer_norm(width, times); }

inline void count_layers(const tower_layers& l, tally& t) {
  const auto inner = l.inner != 0 ? l.inner : l.hidden;
  t.linear(component::attention, l.hidden, inner, l.bias, checked::mul(2, l.layers));
  t.linear(component::attention, l.hidden, inner, l.key_bias, l.layers);
  t.linear(component::attention, inner, l.hidden, l.out_bias, l.layers);
  t.linear(component::mlp, l.hidden, l.ffn, l.mlp_bias, checked::mul(l.gated ? 2 : 1, l.layers));
  t.linear(component::mlp, l.ffn, l.hidden, l.mlp_bias, l.layers);
  count_norm(t, l.hidden, l.rms, checked::mul(l.norms, l.layers));
  t.add(component::other, l.hidden, checked::mul(l.scales, l.layers));
}

/// The keys that most towers share.
struct tower_sizes {
  std::int64_t hidden{}, ffn{}, layers{}, channels{};
  std::int64_t patch{};      ///< pixels of a patch, both edges multiplied
  std::int64_t patches{};    ///< of an image
};
struct tower_usual {
  std::int64_t hidden, ffn, layers, patch, image;
};
inline tower_sizes read_tower_sizes(const config& c, const tower_usual& d) {
  pass_over_vision(c);
  const auto image = places_of(c, "image_size", d.image), patch = places_of(c, "patch_size", d.patch);
  tower_sizes s{c.size({"hidden_size"}, d.hidden), c.size({"intermediate_size"}, d.ffn), c.number({"num_hidden_layers"}, d.layers, 0, config::most), c.size({"num_channels"}, 3), area(patch), 0};
  s.patches = checked::mul(image[0] / patch[0], image[1] / patch[1]);
  return s;
}
/// Patches of an image turned to vectors by a convolution.
inline void count_patches(const tower_sizes& s, tally& t, bool bias = true) { t.linear(component::embedding, checked::mul(s.channels, s.patch), s.hidden, bias); }

/// A convolution of square windows.
inline void count_conv(tally& t, std::int64_t in, std::int64_t out, std::int64_t window, bool bias, std::int64_t times = 1) {
  t.linear(component::other, checked::mul(in, checked::mul(window, window)), out, bias, times);
}
/// nn.MultiheadAttention over `hidden`, with keys and values of the same width.
inline void count_attention(tally& t, std::int64_t hidden, std::int64_t times = 1) { t.linear(component::attention, hidden, hidden, true, checked::mul(4, times)); }
/// Two matrices with biases.
inline void count_mlp(tally& t, std::int64_t in, std::int64_t ffn, std::int64_t out, bool bias = true, std::int64_t times = 1) {
  t.linear(component::mlp, in, ffn, bias, times);
  t.linear(component::mlp, ffn, out, bias, times);
}

}  // namespace headroom::io::detail
