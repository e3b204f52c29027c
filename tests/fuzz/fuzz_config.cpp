// Distributed under the Boost Software License, Version 1.0.
// Any bytes are a model's config.json, whose weights can be counted, or a headroom::error.
#include <cstdint>
#include <headroom/io/huggingface.hpp>
#include <headroom/io/job/model.hpp>
#include <headroom/model/inventory.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  try {
    const auto value = io::parse_json({reinterpret_cast<const char*>(data), size}, "input");
    if (!value.is_object()) return 0;
    const shape m = io::model_from_config(value);
    if (m.layers > 0 && m.hidden > 0 && io::read_model(io::model_to_json(m), "model", "/nonexistent/folder") != m)
      __builtin_trap();
    const auto n = count(m);
    parameters sum{0};
    for (const auto part : n.by_component) sum += part;
    if (sum != n.total) __builtin_trap();
  } catch (const headroom::error&) {
  }
  return 0;
}
