// Distributed under the Boost Software License, Version 1.0.
// Any bytes are a job, with an estimate that can be written, or a headroom::error. Nothing else may leave the library.
#include <cstdint>
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  try {
    const auto value = io::parse_json({reinterpret_cast<const char*>(data), size}, "input");
    const job j = io::read_job(value, io::no_files);
    if (io::read_job(io::job_to_json(j), io::no_files) != j) __builtin_trap();
    const report r = estimate(j);
    for (int i = 0; i < r.size; ++i)
      if (r.ranks[static_cast<std::size_t>(i)].at_peak.total() != r.ranks[static_cast<std::size_t>(i)].allocated)
        __builtin_trap();
    io::to_json(r).dump();
    io::to_text(r, j, true);
    io::to_svg(r, j);
  } catch (const headroom::error&) {
  }
  return 0;
}
