// Distributed under the Boost Software License, Version 1.0.
// Any bytes are a file of another program, which says something of a job, or a headroom::error. The first byte picks the syntax.
#include <cstdint>
#include <headroom/io/export.hpp>
#include <headroom/io/import.hpp>
#if HEADROOM_HAS_YAML
#include <headroom/io/yaml.hpp>
#endif
#if HEADROOM_HAS_TOML
#include <headroom/io/toml.hpp>
#endif

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  if (size == 0) return 0;
  io::import_settings with{.base = "/nonexistent/folder"};
#if HEADROOM_HAS_YAML
  with.yaml = io::parse_yaml;
#endif
#if HEADROOM_HAS_TOML
  with.toml = io::parse_toml;
#endif
  static constexpr const char* files[] = {"a.json", "a.yaml", "a.toml", "a.sh", "a"};
  const bool picked = data[0] < 5;
  const std::string_view text{reinterpret_cast<const char*>(data) + (picked ? 1 : 0), size - (picked ? 1 : 0)};
  try {
    io::draft d;
    io::import_file(d, text, files[picked ? data[0] : 4], io::file_kind::unknown, with);
    if (!d.has({"batch", "sequence"})) io::say_key(d, "batch.sequence=8");
    if (!d.has({"model"})) io::say_key(d, "model=gpt2");
    const job j = d.settled();
    for (const auto& index : d.indices) io::compared(index, j.model);
    io::exported(j, io::export_targets[size % io::export_targets.size()].value);
  } catch (const headroom::error&) {
  }
  return 0;
}
