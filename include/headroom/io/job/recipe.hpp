// Distributed under the Boost Software License, Version 1.0.
// The keys of a job that say how it trains: precision, optimizer, batch, recompute, loss, dropout.
#pragma once

#include <headroom/io/syntax/keys.hpp>
#include <headroom/job.hpp>

namespace headroom::io {

/// Names and aliases of number formats. `state` formats call bitsandbytes' block-wise int8 simply "int8".
inline number_format read_format(const json_value& value, const std::string& path, bool state = false) {
  const auto accepted = texts(formats::all, [](const number_format& f) { return f.label.view(); });
  const auto& word = string_at(value, path, "one of " + listed(accepted));
  if (state && word == "int8") return formats::int8_blockwise;
  for (const auto& f : formats::all)
    if (f.label == word) return f;
  unknown_name(path, word, accepted);
}

/// Throws job_error for a format of the program's own, which a file has no name for.
inline std::string_view format_name(const number_format& format) {
  if (format == formats::int8_blockwise) return "int8";
  for (const auto& f : formats::all)
    if (f == format) return f.label.view();
  fail("headroom: a job file has no name for the number format " + in_quotes(format.label.view()));
}

template <class Keys>
void format_key(Keys& k, std::string_view key, number_format& field, bool state = false) {
  if constexpr (requires { k.names(key, std::vector<std::string_view>{}); }) {
    k.names(key, texts(formats::all, [](const number_format& f) { return f.label.view(); }));
  } else if constexpr (Keys::reads) {
    if (const auto* v = k.take(key)) field = read_format(*v, k.at(key), state);
  } else if (field.set()) {
    if (field == (state ? formats::int8 : formats::int8_blockwise))
      fail("headroom: a job file has no name for " + std::string{key} + " in " + std::string{field.label.view()});
    k.put(key, format_name(field));
  }
}

template <class Keys>
void describe(Keys& k, precision& p) {
  format_key(k, "parameters", p.parameters);
  format_key(k, "compute", p.compute);
  format_key(k, "gradients", p.gradients);
  format_key(k, "reduce", p.reduce);
  format_key(k, "master", p.master);
  format_key(k, "state", p.state, true);
  k.flag("autocast", p.autocast);
  format_key(k, "frozen", p.frozen);
}

/// The name of a recipe, or an object with at least `parameters`; the framework fills in what is left out.
inline precision read_precision(const json_value& value, const std::string& path) {
  if (value.is_string()) {
    const auto& word = *value.get_ptr<const json_value::string_t*>();
    for (const auto& p : precisions::all)
      if (p.label == word) return p;
    unknown_name(path, word, texts(precisions::all, [](const precision& p) { return p.label.view(); }));
  }
  precision p;
  key_reader k{value, path};
  k.need("parameters", "the number format of the weights");
  describe(k, p);
  k.finish();
  return p;
}

/// The label of a recipe of the program's own is not written.
inline json_value precision_to_json(const precision& p) {
  for (const auto& known : precisions::all)
    if (known == p) return known.label.view();
  return written_keys(p);
}

/// The keys that a file may set on an optimizer of the table; the rest of an optimizer is what its name means.
template <class Keys>
void describe(Keys& k, optimizer& o) {
  k.word("implementation", o.how);
  k.flag("in_backward", o.in_backward, !o.in_backward);
  k.whole("rank", o.rank, std::int64_t{-1});
  k.whole("update_interval", o.update_interval, std::int64_t{-1});
  k.whole("blocks", o.blocks, std::int64_t{-1});
  k.whole("plain_below", o.plain_below, std::int64_t{-1});
  k.whole("paged_from", o.paged_from, std::int64_t{-1});
  k.flag("plain_embedding", o.plain_embedding, !o.plain_embedding);
  format_key(k, "state", o.state, true);
}

inline const optimizer* find_optimizer(std::string_view label) {
  for (const auto& o : optimizers::all)
    if (o.label == label) return &o;
  return nullptr;
}

/// bitsandbytes pages tensors from this many elements on (optim/optimizer.py, get_state_buffer).
inline constexpr std::int64_t usual_paged_from = 100'000;

/// A name, or {"name", …}.
inline optimizer read_optimizer(const json_value& value, const std::string& path) {
  const auto by_name = [](const json_value& v, const std::string& at) {
    const auto names = texts(optimizers::all, [](const optimizer& o) { return o.label.view(); });
    const auto& word = string_at(v, at, "one of " + listed(names));
    if (const auto* known = find_optimizer(word)) return *known;
    unknown_name(at, word, names);
  };
  if (!value.is_object()) return by_name(value, path);
  key_reader k{value, path};
  auto o = by_name(k.need("name", "an optimizer, e.g. \"adamw\""), k.at("name"));
  if (const auto* paged = k.take("paged"))
    o.paged_from = !flag_at(*paged, k.at("paged")) ? 0 : o.paged_from > 0 ? o.paged_from : usual_paged_from;
  describe(k, o);
  k.finish();
  return o;
}

/// Throws job_error for an optimizer whose state is not that of an entry of the table.
inline json_value optimizer_to_json(const optimizer& o) {
  const auto* known = find_optimizer(o.label.view());
  if (known == nullptr) fail("headroom: a job file has no name for the optimizer " + in_quotes(o.label.view()));
  auto mine = o, theirs = *known;
  if (mine.state == theirs.state) mine.state = {};
  theirs.state = {};  // formats of one optimizer alone have no name
  auto object = written_keys(mine);
  const auto table = written_keys(theirs);
  for (const auto& [key, value] : table.items())
    if (object.contains(key) && object[key] == value) object.erase(key);
  object["name"] = o.label.view();
  if (read_optimizer(object, "optimizer") != o)
    fail("headroom: a job file cannot say how the optimizer " + in_quotes(o.label.view()) +
         " differs from the one it knows");
  return object.size() == 1 ? object["name"] : object;
}

template <class Keys>
void describe(Keys& k, image_batch& b) {
  k.whole("count", b.count);
  k.whole("width", b.width);
  k.whole("height", b.height);
  k.whole("min_pixels", b.min_pixels);
  k.whole("max_pixels", b.max_pixels);
  k.flag("none", b.none);
  k.whole("pixels", b.pixels);
  k.whole("frames", b.frames, {}, 0, 65'536);
  k.whole("seconds", b.seconds, {}, 1, 1'000'000);
}

template <class Keys>
void describe(Keys& k, batch& b) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  k.whole("micro", b.micro, std::int64_t{1}, 1, most);
  k.whole("sequence", b.sequence, {}, 1, most);
  k.whole("accumulation", b.accumulation, std::int64_t{1}, 1, most);
  k.flag("padded", b.padded);
  k.flag("packed", b.packed);
  k.nested("images", b.images);
}

template <class Keys>
void describe(Keys& k, recompute& r) {
  k.word("mode", r.mode);
  k.word("method", r.method);
  k.whole("layers", r.layers);
  k.word("policy", r.policy);
  k.flag("reentrant", r.reentrant);
  k.flag("towers", r.towers);
  k.flag("frozen_towers", r.frozen_towers);
  if constexpr (Keys::reads) {
    if (const auto* list = k.take("modules")) {
      r.modules = 0;
      each_at(*list, k.at("modules"), "a list of modules", [&](const json_value& v, const std::string& path) {
        r.modules |= std::uint32_t{1} << static_cast<int>(name_at<recompute_module>(v, path));
      });
    }
  } else if (r.modules != 0) {
    auto list = json_value::array();
    for (const auto& n : names_of<recompute_module>)
      if ((r.modules >> static_cast<int>(n.value) & 1U) != 0) list.push_back(n.text);
    k.put("modules", list);
  }
}

inline recompute read_recompute(const json_value& value, const std::string& path) {
  recompute r;
  if (value.is_string()) {
    r.mode = name_at<recompute_mode>(value, path);
  } else {
    if (!value.is_object()) wrong_value(path, "\"none\", \"full\", \"selective\" or an object", value);
    key_reader k{value, path};
    k.need("mode", "\"none\", \"full\" or \"selective\"");
    describe(k, r);
    k.finish();
  }
  return r;
}

inline json_value recompute_to_json(const recompute& r) {
  auto object = written_keys(r);
  object["mode"] = text_of(r.mode);
  return object.size() == 1 ? object["mode"] : object;
}

template <class Keys>
void describe(Keys& k, loss& l) {
  k.word("kind", l.kind);
  format_key(k, "logits", l.logits);
  k.whole("chunk_tokens", l.chunk_tokens);
  k.flag("chunked_head", l.chunked_head);
  k.flag("balances_experts", l.balances_experts);
  k.word("entropies", l.entropies);
}

template <class Keys>
void probability_key(Keys& k, std::string_view key, probability& p) {
  if constexpr (requires { k.share(key); }) {
    k.share(key);
  } else if constexpr (Keys::reads) {
    if (const auto* v = k.take(key)) p = probability::of(number_at(*v, k.at(key), 0.0, 1.0));
  } else if (p.positive()) {
    k.put(key, static_cast<double>(p.per_million) / 1e6);
  }
}

template <class Keys>
void describe(Keys& k, fake_quantization& q) {
  k.word("weights", q.weights);
  k.whole("group", q.group);
  k.flag("activations", q.activations);
}

template <class Keys>
void describe(Keys& k, dropout& d) {
  probability_key(k, "hidden", d.hidden);
  probability_key(k, "attention", d.attention);
  probability_key(k, "embedding", d.embedding);
}

}  // namespace headroom::io
