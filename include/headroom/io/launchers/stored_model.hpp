// Distributed under the Boost Software License, Version 1.0.
// What a model's config.json says beside its shape: its dropout, and the format in which its weights are stored.
#pragma once

#include <headroom/io/job/quantised_model.hpp>
#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/model_dropout.hpp>

namespace headroom::io {

/// Keeps it until all files are known. Throws job_error for a stored format that is not modelled.
inline void say_configured(draft& d, const json_value& config, const std::string& place) {
  if (!config.is_object()) return;
  d.model_drops = detail::dropout_of(config);
  d.stored.reset();
  const auto* said = detail::quantised_by(config, "quantization_config");
  if (said == nullptr) return;
  const auto format = detail::stored_format(*said, place + ": quantization_config", detail::has_tower(config));
  d.stored = draft::said{format.set() ? std::string{format.label.view()} : std::string{}, place};
}

namespace detail {

/// Weights that are stored quantised are the base of an adapter, and do not train by themselves (io/job/quantised_model.hpp). Programs make more of a
/// base that bitsandbytes has quantised where they are told of it, so that they have to say so.
inline void settle_stored(draft& d) {
  const auto* base = d.find({"adapter", "base"});
  if (d.stored) {
    const auto& [format, place] = *d.stored;
    if (format.empty()) return;  // dequantised as it is loaded
    if (!d.has({"adapter"})) fail("headroom: " + place + ": quantization_config: weights in " + format + " do not train by themselves, and no file here adds an adapter: give the config.json of the model that was quantised");
    if (base != nullptr && *base != format) fail("headroom: " + d.place_of("adapter") + ": adapter.base " + base->dump() + " contradicts quantization_config, which says " + in_quotes(format) + " (" + place + ")");
    if (base != nullptr) return;
    if (!format.starts_with("gptq") && !format.starts_with("awq"))
      fail("headroom: " + place + ": quantization_config: weights are stored in " + format + ", of which " + d.place_of("adapter") + " says nothing: say there that the model is loaded so (load_in_4bit or the like), or --set adapter.base=" + format);
    d.say({"adapter", "base"}, format, place);
    if (!d.has({"adapter", "base_skips"})) d.say({"adapter", "base_skips"}, json_value::array({"lm_head"}), place);
    return;
  }
  if (!d.stored_quantised || base != nullptr) return;
  if (const auto format = stored_by_owner(d.stored_quantised->word); !format.empty()) {
    const auto what = "weights of " + in_quotes(d.stored_quantised->word) + " are " + format + ", in groups of 128, as Qwen's documentation says of its own";
    d.notes.push_back(d.stored_quantised->place + ": " + what);
    d.stored = draft::said{format, d.stored_quantised->place};
    return settle_stored(d);
  }
  const auto begin = "headroom: " + d.stored_quantised->place + ": " + in_quotes(d.stored_quantised->word) + " is a checkpoint of quantised weights by its name";
  const auto* m = d.find({"model"});
  if (m == nullptr) fail(begin + ": give its config.json, too, which says how they are stored");
  fail(begin + (m->is_string() ? ", and " + m->get<std::string>() + " stands for its shape alone" : std::string{}) +
       ": give its own config.json, which says how they are stored, or add --set adapter.base=FORMAT (gptq-int4, gptq-int8, awq-int4, nf4, nf4-double, int8)");
}

}  // namespace detail

}  // namespace headroom::io
