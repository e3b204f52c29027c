// Distributed under the Boost Software License, Version 1.0.
// headroom plan JOB: searches the keys that are "auto" for the fastest plans that fit.
#include <headroom/io/plan_text.hpp>
#include <headroom/io/search_reader.hpp>
#include <headroom/plan/judge.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iostream>

#include "program.hpp"

namespace program {
namespace {

using namespace headroom;

volatile std::sig_atomic_t interrupted = 0;

class interruptible {
 public:
  interruptible() : before_(std::signal(SIGINT, [](int) { interrupted = 1; })) {}
  ~interruptible() { std::signal(SIGINT, before_); }
  interruptible(const interruptible&) = delete;
  interruptible& operator=(const interruptible&) = delete;

 private:
  void (*before_)(int);
};

/// A bar on a terminal once a search takes longer than a moment; it also passes Ctrl-C on.
void watch(const std::stop_token& over, std::stop_source& search_over, const std::atomic<std::int64_t>& done, const std::atomic<std::int64_t>& all) {
  const bool shows = isatty(STDERR_FILENO) != 0;
  constexpr int width = 40;
  for (int ticks = 0; !over.stop_requested(); ++ticks) {
    if (interrupted != 0) search_over.request_stop();
    if (shows && ticks > 10) {
      const auto n = all.load() > 0 ? static_cast<int>(done.load() * width / all.load()) : 0;
      std::cerr << "\r[" << std::string(static_cast<std::size_t>(n), '#') << std::string(static_cast<std::size_t>(width - n), ' ') << "] " << done.load() << " of " << all.load()
                << " divisions of the GPUs" << std::flush;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (shows) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace

int run(const plan_request& asked, const streams& io) {
  const auto value = asked.job == "-" ? io::parse_json(io::read_text(io.in, "standard input"), "standard input") : io::parse_json_file(asked.job);
  const auto base = asked.job == "-" ? std::filesystem::path{"."} : std::filesystem::path{asked.job}.parent_path();
  const auto s = io::read_search(value, base);
  std::atomic<std::int64_t> done{0}, all{0};
  std::stop_source stop;
  const interruptible guard;
  const auto start = std::chrono::steady_clock::now();
  plan_result r;
  {
    const std::jthread watcher([&](const std::stop_token& over) { watch(over, stop, done, all); });
    r = plan(s, {.top = asked.top, .threads = asked.threads, .stop = stop.get_token(), .finished = &done, .divisions = &all});
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (asked.json)
    io.out << io::to_json(r, seconds).dump(2) << '\n';
  else
    io.out << io::to_text(r, seconds, io.colour);
  return r.best.empty() ? 1 : 0;
}

}  // namespace program
