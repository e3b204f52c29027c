// Distributed under the Boost Software License, Version 1.0.
// headroom plan JOB: searches the keys that are "auto" for the fastest plans that fit.
#include <headroom/io/plan_reader.hpp>
#include <headroom/io/plan_text.hpp>
#include <headroom/io/search_reader.hpp>
#include <headroom/plan/judge.hpp>

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>

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
  std::mutex nobody;
  std::condition_variable_any wake;
  for (int ticks = 0; !over.stop_requested(); ++ticks) {
    if (interrupted != 0) search_over.request_stop();
    if (shows && ticks > 10) {
      const auto n = all.load() > 0 ? static_cast<int>(done.load() * width / all.load()) : 0;
      std::cerr << "\r[" << std::string(static_cast<std::size_t>(n), '#') << std::string(static_cast<std::size_t>(width - n), ' ') << "] " << done.load() << " of " << all.load()
                << " divisions of the GPUs" << std::flush;
    }
    std::unique_lock lock(nobody);
    wake.wait_for(lock, over, std::chrono::milliseconds(50), [] { return false; });  // or until the search is over
  }
  if (shows) std::cerr << "\r\033[K" << std::flush;
}

void print(const plan_result& r, double seconds, const streams& io, bool json, std::size_t top, std::int64_t part, std::int64_t parts) {
  if (!json) {
    io.out << io::to_text(r, seconds, io.colour);
    return;
  }
  nlohmann::ordered_json out;
  if (parts > 1) out = {{"part", part}, {"parts", parts}};
  out["top"] = top;
  out.update(io::to_json(r, seconds));
  io.out << out.dump(2) << '\n';
}

/// "2/8": the third of eight parts.
void read_share(const std::string& text, plan_options& o) {
  const auto slash = text.find('/');
  const auto number = [&](std::string_view digits) -> std::int64_t {
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string_view::npos)
      io::fail("headroom: --shard must be I/N, part I (from 0) of N, found " + io::in_quotes(text));
    return std::stoll(std::string{digits});
  };
  if (text.empty()) return;
  if (slash == std::string::npos) (void)number("");
  o.part = number(std::string_view{text}.substr(0, slash));
  o.parts = number(std::string_view{text}.substr(slash + 1));
}

}  // namespace

int run(const merge_request& asked, const streams& io) {
  std::vector<io::read_part> parts;
  for (const auto& file : asked.parts) parts.push_back(io::read_plans(io::parse_json_file(file), std::filesystem::path{file}.filename().string()));
  const auto r = io::join_plans(parts);
  print(r, 0.0, io, asked.json, parts.empty() ? 0 : parts.front().top, 0, 1);
  return r.best.empty() ? 1 : 0;
}

int run(const plan_request& asked, const streams& io) {
  const auto value = asked.job == "-" ? io::parse_json(io::read_text(io.in, "standard input"), "standard input") : io::parse_json_file(asked.job);
  const auto base = asked.job == "-" ? std::filesystem::path{"."} : std::filesystem::path{asked.job}.parent_path();
  const auto s = io::read_search(value, base);
  std::atomic<std::int64_t> done{0}, all{0};
  std::stop_source stop;
  const interruptible guard;
  const auto start = std::chrono::steady_clock::now();
  plan_result r;
  std::int64_t part = 0, parts = 1;
  {
    const std::jthread watcher([&](const std::stop_token& over) { watch(over, stop, done, all); });
    plan_options options{.top = asked.top, .threads = asked.threads, .stop = stop.get_token(), .finished = &done, .divisions = &all};
    read_share(asked.shard, options);
    part = options.part, parts = options.parts;
    r = plan(s, options);
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  print(r, seconds, io, asked.json, asked.top, part, parts);
  return r.best.empty() ? 1 : 0;
}

}  // namespace program
