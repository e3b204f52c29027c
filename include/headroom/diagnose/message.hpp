// Distributed under the Boost Software License, Version 1.0.
// What an out-of-memory message says. PyTorch's wording has changed four times; DeepSpeed, FSDP and Megatron pass it on, and their
// launchers say in words of their own when the host's memory was what ran out.
// Sources: c10/cuda/CUDACachingAllocator.cpp (format_size, and the sentences of DeviceCachingAllocator::malloc since 1.0),
// c10/core/impl/alloc_cpu.cpp, aten/src/ATen/mps/MPSAllocator.mm, torch_npu NPUCachingAllocator.cpp; DeepSpeed launcher/launch.py, torch distributed/elastic/
// multiprocessing, Python subprocess.py, Linux mm/oom_kill.c, Slurm, Ray _private/memory_monitor.py; vLLM v1/core/kv_cache_utils.py, v1/worker/gpu_worker.py.
#pragma once

#include <headroom/diagnose/traceback.hpp>
#include <headroom/units/quantity.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

/// A size as it is printed: "8.00 GiB" is 8 GiB, give or take 5 MiB.
struct printed_size {
  bytes value{};
  bytes within{};
  [[nodiscard]] constexpr bool may_be(bytes b) const { return b >= value - within && b <= value + within; }
  friend constexpr bool operator==(const printed_size&, const printed_size&) = default;
};

/// Which memory ran out.
enum class exhausted : std::uint8_t {
  gpu,     ///< in PyTorch's caching allocator
  driver,  ///< on the GPU, outside the allocator: a context, NCCL, a library handle
  host,    ///< an allocation in host memory was refused
  killed,  ///< the process was killed, which is what Linux does when host memory runs out
  engine,  ///< the share of the GPU that an engine which generates may take
};

/// What an out-of-memory message says; empty what it does not.
struct oom_message {
  exhausted what{};
  std::int64_t gpu{-1};
  std::optional<printed_size> asked, capacity, free, in_use, allocated;
  std::optional<printed_size> unallocated;  ///< reserved by PyTorch, but in no tensor
  std::optional<printed_size> graph_pools;  ///< of `allocated`, in private pools (CUDA graphs)
  std::optional<phase> died_in;             ///< by the traceback before it

  /// What the caching allocator held.
  [[nodiscard]] constexpr std::optional<bytes> reserved() const {
    if (!allocated || !unallocated) return std::nullopt;
    return allocated->value + unallocated->value;
  }
};

namespace detail {

/// A number with up to two decimals and a unit, as format_size prints it, at the start of `text`. Who writes GB may mean 10^9 bytes or 2^30.
constexpr std::optional<printed_size> read_size(std::string_view text) {
  std::int64_t hundredths = 0;
  int decimals = -1;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && decimals < 0) {
      decimals = 0;
    } else if (c >= '0' && c <= '9') {
      if (hundredths > 1'000'000'000'000) return std::nullopt;
      if (decimals < 2) hundredths = 10 * hundredths + (c - '0');
      if (decimals >= 0) ++decimals;
    } else {
      break;
    }
  }
  if (i == 0 || i == text.size()) return std::nullopt;
  if (text[i] == ' ') ++i;
  const std::int64_t parts = decimals < 1 ? 1 : decimals == 1 ? 10 : 100;
  for (int d = decimals < 0 ? 0 : decimals; d < 2; ++d) hundredths *= 10;
  struct unit {
    std::string_view name;
    std::int64_t size;
    std::int64_t less{};  ///< that it may be
  };
  constexpr std::array units{unit{"bytes", 1}, unit{"KiB", 1 << 10}, unit{"MiB", 1 << 20}, unit{"GiB", 1 << 30},
                             unit{"KB", 1 << 10, (1 << 10) - 1'000}, unit{"MB", 1 << 20, (1 << 20) - 1'000'000}, unit{"GB", 1 << 30, (1 << 30) - 1'000'000'000}};
  for (const auto& u : units) {
    if (!text.substr(i).starts_with(u.name)) continue;
    if (hundredths > (std::int64_t{1} << 50) * 100 / u.size) return std::nullopt;
    const auto value = hundredths * u.size / 100;
    return printed_size{bytes{value}, bytes{u.size == 1 ? 0 : u.size / (2 * parts) + 1 + hundredths * u.less / 100}};
  }
  return std::nullopt;
}

constexpr std::optional<std::int64_t> read_count(std::string_view text) {
  std::int64_t n = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    if (n > (std::int64_t{1} << 50)) return std::nullopt;
    n = 10 * n + (text[i] - '0');
  }
  if (i == 0) return std::nullopt;
  return n;
}

/// What follows `key`.
constexpr std::optional<std::string_view> after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + key.size());
}
constexpr std::optional<printed_size> size_after(std::string_view text, std::string_view key) {
  const auto rest = after(text, key);
  return rest ? read_size(*rest) : std::nullopt;
}
/// The size before `key`, back to the last `from`.
constexpr std::optional<printed_size> size_before(std::string_view text, std::string_view key, std::string_view from) {
  const auto end = text.find(key);
  if (end == std::string_view::npos) return std::nullopt;
  const auto start = text.substr(0, end).rfind(from);
  if (start == std::string_view::npos) return std::nullopt;
  return read_size(text.substr(start + from.size()));
}

/// Since torch 2.1, and before it.
constexpr void read_gpu_sentence(std::string_view text, oom_message& m) {
  for (const std::string_view kind : {"GPU ", "(NPU "})
    if (const auto rest = after(text, kind); rest && m.gpu < 0) m.gpu = read_count(*rest).value_or(-1);
  if (text.find("has a total capac") != std::string_view::npos) {
    m.capacity = size_after(text, "has a total capacty of ");
    if (!m.capacity) m.capacity = size_after(text, "has a total capacity of ");
    m.free = size_after(text, "of which ");
    m.in_use = size_after(text, "this process has ");
    m.allocated = size_after(text, "Of the allocated memory ");
    m.graph_pools = size_after(text, "is allocated by PyTorch, with ");
    m.unallocated = size_before(text, " is reserved by PyTorch but unallocated", "and ");
    return;
  }
  m.capacity = size_before(text, " total capacity;", "; ");
  m.allocated = size_before(text, " already allocated", "; ");
  m.free = size_before(text, " free;", "; ");
  m.unallocated = size_before(text, " cached)", "; ");  // until 1.3: beside what is allocated
  if (const auto reserved = size_before(text, " reserved in total by PyTorch", "; "); reserved && m.allocated)
    m.unallocated = printed_size{reserved->value < m.allocated->value ? bytes{0} : reserved->value - m.allocated->value, reserved->within + m.allocated->within};
}

/// Apple's, which says first what there is: "MPS allocated: 5.50 GB, other allocations: 14.76 GB, max allowed: 20.40 GB). Tried to allocate …".
constexpr void read_mps(std::string_view before, oom_message& m) {
  constexpr std::string_view begins = "MPS backend out of memory (";
  const auto at = before.rfind(begins);
  if (at == std::string_view::npos || before.size() - at > 200) return;
  m.allocated = size_after(before.substr(at), "MPS allocated: ");
  m.capacity = size_after(before.substr(at), "max allowed: ");
}

/// What vLLM says where the share that it may take is not there, or leaves nothing for keys and values.
constexpr std::optional<oom_message> read_engine(std::string_view log) {
  oom_message m;
  m.what = exhausted::engine, m.died_in = phase::load;
  if (log.find("No available memory for the cache blocks") != std::string_view::npos) return m;
  const auto rest = after(log, "Free memory on device");
  const auto wanted = rest ? after(*rest, "less than desired GPU memory utilization (") : std::nullopt;
  if (!wanted) return std::nullopt;
  const auto numbers = after(*rest, "(").value_or("");
  const auto slash = numbers.find('/'), end = numbers.find(" GiB)");
  if (slash == std::string_view::npos || end == std::string_view::npos || slash > end || end > 40) return m;
  const auto in_gib = [](std::string_view number) {  // the unit stands once, behind both
    std::array<char, 48> text{};
    std::size_t n = 0;
    for (const char c : number) text[n++] = c;
    for (const char c : std::string_view{" GiB"}) text[n++] = c;
    return read_size(std::string_view{text.data(), n});
  };
  m.free = in_gib(numbers.substr(0, slash));
  m.capacity = in_gib(numbers.substr(slash + 1, end - slash - 1));
  m.asked = size_after(*wanted, ", ");
  return m;
}

/// Whether a shell says that it saw its child killed: "Killed" on a line of its own, or behind a process's number.
constexpr bool shell_says_killed(std::string_view log) {
  constexpr std::string_view word = "Killed";
  for (auto at = log.find(word); at != std::string_view::npos; at = log.find(word, at + 1)) {
    auto end = at + word.size();
    while (end < log.size() && (log[end] == ' ' || log[end] == '\r')) ++end;
    auto begin = at;
    while (begin > 0 && log[begin - 1] == ' ') --begin;
    const bool starts = begin == 0 || log[begin - 1] == '\n', ends = end == log.size() || log[end] == '\n';
    if (starts && ends) return true;
    if (begin > 0 && begin < at && log[begin - 1] >= '0' && log[begin - 1] <= '9' && end > at + word.size()) return true;
  }
  return false;
}

}  // namespace detail

/// The first out-of-memory message of a log; none: nothing.
constexpr std::optional<oom_message> read_oom(std::string_view log) {
  constexpr std::size_t longest = 2000;  // of one sentence, with what it says of other processes
  oom_message m;
  const auto cpu = std::min(log.find("DefaultCPUAllocator: can't allocate memory"), log.find("DefaultCPUAllocator: not enough memory"));
  const auto at = log.find("Tried to allocate ");
  if (at < cpu) {
    const auto text = log.substr(at, std::min(longest, std::max(log.find("Tried to allocate ", at + 1), at + 1) - at));
    m.asked = detail::size_after(text, "Tried to allocate ");
    detail::read_gpu_sentence(text, m);
    detail::read_mps(log.substr(0, at), m);
    m.died_in = detail::phase_said(log.substr(0, at));
    return m;
  }
  if (cpu != std::string_view::npos) {
    m.what = exhausted::host;
    if (const auto rest = detail::after(log.substr(cpu), "you tried to allocate "))
      if (const auto n = detail::read_count(*rest)) m.asked = printed_size{bytes{*n}, bytes{0}};
    return m;
  }
  for (const std::string_view said : {"CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED", "Failed to CUDA malloc", "Failed to CUDA calloc",
                                      "Cuda failure 2 'out of memory'", "Cuda failure 'out of memory'", "CUDA error: out of memory"}) {
    const auto found = log.find(said);
    if (found == std::string_view::npos) continue;
    m.what = exhausted::driver;
    for (const std::string_view by : {"Failed to CUDA malloc ", "Failed to CUDA calloc ", "Failed to CUDA calloc async "})
      if (const auto rest = detail::after(log, by))
        if (const auto n = detail::read_count(*rest)) m.asked = printed_size{bytes{*n}, bytes{0}};
    return m;
  }
  if (const auto engine = detail::read_engine(log)) return engine;
  bool killed = detail::shell_says_killed(log);
  for (const std::string_view said :
       {"exits with return code = -9", "Signal 9 (SIGKILL)", "exitcode  : -9", "exitcode: -9", "exit code -9", "exit code 137", "<Signals.SIGKILL: 9>", "terminated with signal SIGKILL", "signal 9:SIGKILL",
        "oom-kill", "oom_kill", "OOMKilled", "OOM Killed", "ut of memory: Killed process", ": Out Of Memory", "Task was killed due to the node running low on memory"})
    killed = killed || log.find(said) != std::string_view::npos;
  if (!killed) return std::nullopt;
  m.what = exhausted::killed;
  return m;
}

}  // namespace headroom
