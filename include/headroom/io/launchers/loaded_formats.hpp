// Distributed under the Boost Software License, Version 1.0.
// Where the format in which a program loads its weights is that of the step.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io::detail {

/// Whether DeepSpeed's own configuration switches a 16-bit format on, whatever its Trainer says.
inline bool engine_decides_formats(const draft& d) {
  for (const auto* key : {"bf16", "fp16"}) {
    const auto* v = d.find({"framework", "options", key, "enabled"});
    if (v != nullptr && v->is_boolean() && v->get<bool>()) return true;
  }
  return false;
}

/// Whether the format in which whole weights are loaded decides anything: DeepSpeed and FSDP under mixed formats hold their own.
inline bool loads_as_it_computes(const draft& d) {
  if (d.has({"precision"}) || !d.half) return false;
  if (d.framework_is("deepspeed")) return d.has({"adapter"}) ? false : d.half->word == "no" && !engine_decides_formats(d);
  const auto* s = d.find({"sharding"});
  const auto kind = s == nullptr ? json_value{} : s->is_object() && s->contains("kind") ? (*s)["kind"] : *s;
  return d.has({"adapter"}) || !((kind == "fsdp1" || kind == "fsdp2") && d.half->word != "no");
}

}  // namespace headroom::io::detail
