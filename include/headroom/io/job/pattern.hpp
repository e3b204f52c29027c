// Distributed under the Boost Software License, Version 1.0.
// The keys of a shape that say which kinds of layer a model has: `pattern`, and `ssm` for the recurrent ones.
#pragma once

#include <headroom/io/syntax/keys.hpp>
#include <headroom/layout/degrees.hpp>

#include <span>

namespace headroom::io {

template <class Keys>
void describe(Keys& k, ssm_shape& s) {
  k.whole("heads", s.heads);
  k.whole("head_dim", s.head_dim);
  k.whole("state", s.state);
  k.whole("groups", s.groups);
  k.whole("conv", s.conv);
  k.whole("chunk", s.chunk);
  k.flag("conv_bias", s.conv_bias);
  k.flag("bias", s.bias);
  k.flag("no_norm", s.no_norm);
  k.whole("rank", s.rank);
  k.word("step_norm", s.step_norm);
}

/// A layer in a pattern: the name of its mixer and, behind a plus, its feed-forward, where that is not what `experts` says: "attention", "none+dense".
/// `own`: labels of layers of one's own, which may stand where mixers do.
inline void add_layer_kind(layer_pattern& p, const json_value& value, const std::string& path, std::span<const std::string_view> own) {
  const auto word = std::string_view{string_at(value, path, "a kind of layer")};
  const auto plus = word.find('+');
  const auto mixer = word.substr(0, plus);
  const auto feeds = plus == word.npos ? std::string_view{} : word.substr(plus + 1);
  constexpr std::string_view fed[] = {"", "none", "dense", "experts", "wide", "cut"};
  layer_kind k;
  bool known = false;
  for (int i = 0; i < mixer_kinds && !known; ++i) {
    k.mixer = static_cast<mixer_kind>(i);
    known = mixer == name_of(k.mixer) && k.mixer != mixer_kind::latent_attention;
  }
  const bool given = !known && std::find(own.begin(), own.end(), mixer) != own.end();
  const auto at = std::find(std::begin(fed), std::end(fed), feeds);
  if (!(known || given) || at == std::end(fed) || (plus != word.npos && feeds.empty())) {
    std::vector<std::string_view> names;
    for (int i = 0; i < mixer_kinds; ++i)
      if (const auto m = static_cast<mixer_kind>(i); m != mixer_kind::latent_attention) names.push_back(name_of(m));
    names.insert(names.end(), own.begin(), own.end());
    fail("headroom: " + path + " must be one of " + listed(names, 600) + ", alone or with \"+none\", \"+dense\", \"+wide\", \"+cut\" or \"+experts\" behind it; found " + in_quotes(std::string{word}));
  }
  k.feeds = static_cast<feed_forward_kind>(at - std::begin(fed));
  if (given) return p.add_own(mixer, k.feeds == feed_forward_kind::unset ? feed_forward_kind::none : k.feeds);
  if (!k.whole() && k.mixer == mixer_kind::none && (k.feeds == feed_forward_kind::none || k.feeds == feed_forward_kind::unset))
    fail("headroom: " + path + " \"none\" needs \"+dense\" or \"+experts\" behind it");
  p.add(k);
}

/// Labels that a program registers: none that is a shipped kind's, or that a pattern could not say.
inline void check_labels(std::span<const std::string_view> own) {
  for (const auto label : own) {
    bool shipped = false;
    for (int i = 0; i < mixer_kinds; ++i) shipped = shipped || label == name_of(static_cast<mixer_kind>(i));
    if (shipped || label.find('+') != label.npos) fail("headroom: a layer of one's own needs a label of its own, without \"+\"; found " + in_quotes(std::string{label}));
  }
}

/// Megatron's letters, each of them half a layer; a bar ends a chunk of the pipeline (core/models/hybrid/hybrid_layer_allocation.py Symbols).
inline layer_pattern letters_at(const json_value& value, const std::string& path) {
  layer_pattern p;
  for (const char letter : string_at(value, path)) {
    if (letter == '|') continue;  // chunk_ends()
    const auto found = std::string_view{"MG*-E"}.find(letter);
    if (found == std::string_view::npos)
      wrong_value(path, "a list of kinds of layer, or Megatron's letters M (Mamba-2), G (Gated DeltaNet), * (attention), - (MLP) and E (experts), with | between chunks of a pipeline, without /", value);
    constexpr layer_kind halves[] = {{mixer_kind::mamba2, feed_forward_kind::none}, {mixer_kind::gated_delta_net, feed_forward_kind::none}, {mixer_kind::attention, feed_forward_kind::none},
                                     {mixer_kind::none, feed_forward_kind::dense}, {mixer_kind::none, feed_forward_kind::experts}};
    p.add(halves[found]);
  }
  return p;
}

/// Layers between the bars of Megatron's letters: nothing where a pattern has no bars.
inline std::vector<std::int64_t> chunk_ends(std::string_view letters) {
  std::vector<std::int64_t> sizes{0};
  for (const char letter : letters) {
    if (letter == '|')
      sizes.push_back(0);
    else
      ++sizes.back();
  }
  return sizes.size() > 1 ? sizes : std::vector<std::int64_t>{};
}
/// A pipeline cut where the letters are, which parallel.stage_layers may say as well.
inline void cut_by_letters(degrees& d, const json_value& model) {
  const auto pattern = model.is_object() ? model.find("pattern") : model.end();
  if (!model.is_object() || pattern == model.end() || !pattern->is_string()) return;
  const auto sizes = chunk_ends(pattern->get_ref<const std::string&>());
  if (sizes.empty()) return;
  const auto parts = static_cast<std::int64_t>(sizes.size());
  if (parts != checked::mul(d.pipeline, d.virtual_pipeline)) fail("headroom: model.pattern must have parallel.pipeline × virtual_pipeline parts between bars; it has " + std::to_string(parts));
  const auto given = chunks_given(d);
  bool alike = given == 0 || given == parts;
  for (std::size_t i = 0; i < sizes.size() && alike; ++i) {
    if (given == 0)
      d.stage_layers[d.chunks++] = sizes[i];
    else
      alike = std::int64_t{std::int32_t{d.stage_layers[i]}} == sizes[i];
  }
  if (!alike) fail("headroom: the bars in model.pattern contradict parallel.stage_layers; state one of them, or both alike");
}

/// Whether the first kinds of a list repeat up to its end, which comes before they are all there once more: [A, B, A]. For more layers than that
/// the list may mean what its beginning says, or itself, again and again.
inline bool breaks_off(const layer_pattern& p) { return p.period % p.shortest().period != 0; }

/// How many kinds of a pattern a file has to list, so that what repeats in them is the whole of it: where its beginning repeats itself it stands there twice.
inline std::int64_t listed_kinds(const layer_pattern& p, std::int64_t layers) {
  if (layers <= p.period || !breaks_off(p)) return p.period;
  return 2 * p.period <= layer_pattern::capacity ? 2 * p.period : layers <= layer_pattern::capacity ? layers : p.period;
}

/// The kinds of a model's layers, in order; they repeat to the end of the stack.
template <class Keys>
void describe_pattern(Keys& k, layer_pattern& p, std::int64_t layers, std::span<const std::string_view> own = {}) {
  constexpr std::string_view key = "pattern";
  if constexpr (Keys::reads) {
    const auto* list = k.take(key);
    if (list == nullptr) return;
    p = {};
    if (list->is_string())
      p = letters_at(*list, k.at(key));
    else
      each_at(*list, k.at(key), "a list of kinds of layer, or Megatron's letters M, G, *, - and E", [&](const json_value& v, const std::string& path) { add_layer_kind(p, v, path, own); });
    if (!p.given()) wrong_value(k.at(key), "at least one layer", *list);
    if (layers > p.period && breaks_off(p))
      fail("headroom: " + k.at(key) + " lists " + std::to_string(p.period) + " kinds for " + std::to_string(layers) + " layers, of which the first " + std::to_string(p.shortest().period) +
           " repeat up to the list's end: list what repeats (twice, if it is all of them), or every layer");
    p = p.shortest();
  } else if (p.given()) {
    constexpr std::string_view fed[] = {"", "+none", "+dense", "+experts", "+wide", "+cut"};
    auto list = json_value::array();
    for (std::int64_t i = 0, n = listed_kinds(p, layers); i < n; ++i) {
      const auto kind = p.at(i);
      const bool named = is_own(kind.mixer), alone = named && kind.feeds == feed_forward_kind::none;
      list.push_back(std::string{named ? p.label_of(kind.mixer).view() : name_of(kind.mixer)} + std::string{alone ? "" : fed[static_cast<int>(kind.feeds)]});
    }
    k.put(key, list);
  }
}

}  // namespace headroom::io
