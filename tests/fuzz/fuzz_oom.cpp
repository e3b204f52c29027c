// Distributed under the Boost Software License, Version 1.0.
// Any bytes are a log, with an out-of-memory message in it or without.
#include <cstdint>
#include <headroom/diagnose/diagnose.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto m = read_oom({reinterpret_cast<const char*>(data), size});
  if (!m) return 0;
  for (const auto& s : {m->asked, m->capacity, m->free, m->in_use, m->allocated, m->unallocated, m->graph_pools})
    if (s && (s->value < bytes{0} || s->within < bytes{0})) __builtin_trap();
  const auto d = diagnose(*m);
  if (d.others && *d.others < bytes{0}) __builtin_trap();
  return 0;
}
