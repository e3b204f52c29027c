// Distributed under the Boost Software License, Version 1.0.
// diagnose(message, job): why a run died. Which memory ran out, whether it was full or in pieces, which of the job's tensors asked for
// the rest, in which phase, and how far the estimate was.
#pragma once

#include <headroom/diagnose/message.hpp>
#include <headroom/diagnose/suspects.hpp>
#include <headroom/estimate.hpp>

#include <algorithm>
#include <limits>

namespace headroom {

/// Why memory ran out.
enum class cause : std::uint8_t {
  capacity,         ///< live tensors fill the GPU
  fragmentation,    ///< PyTorch held enough free memory, in pieces too small
  other_processes,  ///< somebody else's memory is what is missing
  outside,          ///< what lies outside PyTorch's allocator
  host,             ///< the host's memory
  engine_share,     ///< the share of the GPU that an engine may take is not more than its weights
};

/// What a message says of a job, as far as it can be told; sizes in bytes.
struct diagnosis {
  cause why{};
  std::optional<bytes> others;       ///< of the GPU, what other processes hold
  std::optional<phase> died_in;      ///< by the traceback, else the first phase of the job that needs more than there is
  bool seen{};                       ///< … by the traceback
  std::optional<bytes> unpredicted;  ///< live tensors and what was asked, beyond the estimate of its tallest moment (negative: below)
  std::vector<suspect> suspects;     ///< tensors of the job as large as what was asked, the likeliest first
};

/// By the message alone. PyTorch asks the driver only after no cached block was large enough and giving all whole segments back did not
/// help; what is then reserved and unallocated lies in pieces.
inline diagnosis diagnose(const oom_message& m) {
  diagnosis d;
  if (m.what == exhausted::host || m.what == exhausted::killed) {
    d.why = cause::host;
    return d;
  }
  if (m.what == exhausted::engine) {
    d.why = m.free ? cause::other_processes : cause::engine_share;
    if (m.free && m.capacity) d.others = m.capacity->value - m.free->value;
    return d;
  }
  if (m.what == exhausted::driver) {
    d.why = cause::outside;
    return d;
  }
  // Where the driver's count of the process is not said, or in a container is 0: what PyTorch holds, a context and NCCL's buffers.
  constexpr bytes outside = 2 * gib;
  const auto mine = max(m.in_use ? m.in_use->value : bytes{0}, m.reserved() ? *m.reserved() + (m.in_use && m.in_use->value > bytes{0} ? bytes{0} : outside) : bytes{0});
  if (m.capacity && m.free && mine > bytes{0}) d.others = max(bytes{0}, m.capacity->value - m.free->value - mine);
  const auto asked = m.asked ? m.asked->value : bytes{0};
  const auto free = m.free ? m.free->value : bytes{0};
  if (m.unallocated && asked > bytes{0} && m.unallocated->value + free >= asked)
    d.why = cause::fragmentation;
  else if (d.others && *d.others > gib && *d.others + free >= asked)
    d.why = cause::other_processes;
  return d;
}

namespace detail {

/// Those of the phase that it died in come first, and of these, whoever is asked for beside as much as was there.
inline void order_suspects(std::vector<suspect>& all, const oom_message& m, const std::optional<phase>& died_in) {
  const auto elsewhere = [&](const suspect& s) { return died_in && s.when != *died_in; };
  const auto apart = [&](const suspect& s) {
    if (!s.beside || !m.allocated) return bytes{std::numeric_limits<std::int64_t>::max()};
    const auto by = *s.beside - m.allocated->value;
    return max(by, -by);
  };
  std::stable_sort(all.begin(), all.end(), [&](const suspect& a, const suspect& b) {
    return elsewhere(a) != elsewhere(b) ? elsewhere(b) : apart(a) < apart(b);
  });
}

}  // namespace detail

/// … and by the job and its report.
template <class Ranks>
diagnosis diagnose(const oom_message& m, const job& j, const basic_report<Ranks>& r) {
  auto d = diagnose(m);
  const auto& worst = r.tightest();
  if (d.why == cause::host) {
    if (r.host.per_node > bytes{0}) d.died_in = r.host.at;
    return d;
  }
  d.died_in = m.died_in;
  d.seen = m.died_in.has_value();
  for (int i = 0; i < phase_count && !d.died_in; ++i)
    if (worst[static_cast<phase>(i)] + worst.outside.total() > worst.capacity) d.died_in = static_cast<phase>(i);
  if (m.allocated && m.asked) d.unpredicted = m.allocated->value + m.asked->value - worst.allocated;
  if (!m.asked) return d;
  for (auto& s : suspects_of(j))
    if (m.asked->may_be(s.size)) d.suspects.push_back(std::move(s));
  detail::order_suspects(d.suspects, m, d.died_in);
  return d;
}

}  // namespace headroom
