// Distributed under the Boost Software License, Version 1.0.
// headroom plan JOB: searches the keys that are "auto" for the fastest plans that fit.
#include <headroom/decide.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/measured_job.hpp>
#include <headroom/io/plan_reader.hpp>
#include <headroom/io/plan_text.hpp>
#include <headroom/io/price_text.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/sweep_reader.hpp>
#include <headroom/plan/closest.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <iostream>
#include <mutex>

#include "../calls/answers.hpp"
#include "jobs.hpp"
#include "program.hpp"
#include "time_limit.hpp"

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
      const auto n = all.load() > 0 ? static_cast<int>(std::min<std::int64_t>(width, done.load() * width / all.load())) : 0;
      std::cerr << "\r[" << std::string(static_cast<std::size_t>(n), '#') << std::string(static_cast<std::size_t>(width - n), ' ') << "] " << done.load() << " of " << all.load()
                << " divisions of the GPUs" << std::flush;
    }
    std::unique_lock lock(nobody);
    wake.wait_for(lock, over, std::chrono::milliseconds(50), [] { return false; });  // or until the search is over
  }
  if (shows) std::cerr << "\r\033[K" << std::flush;
}

void print(const std::vector<io::search_result>& all, double seconds, const streams& io, bool json, const calls::heading& h, const spending& money = {}) {
  const bool sweeps = !all.front().sweep.is_null();
  const confidence sure = h.sure ? confidence{*h.sure} : confidence{};
  if (!json) {
    std::vector<std::string> names;
    std::vector<plan_result> results;
    for (const auto& s : all) names.push_back(sweeps ? io::detail::sweep_name(s.sweep) : ""), results.push_back(s.found);
    io.out << (sweeps ? io::sweep_text(names, results, seconds, io.colour, sure, h.until) : io::to_text(results.front(), seconds, io.colour, sure, h.until));
    if (!money.prices.empty()) io.out << io::cheapest_text(cheapest(results, money, h.top), money, names, io.colour);
    return;
  }
  auto out = calls::plans_json(all, seconds, h);
  if (!money.prices.empty()) {
    std::vector<plan_result> results;
    for (const auto& s : all) results.push_back(s.found);
    out["cheapest"] = io::cheapest_json(cheapest(results, money, h.top), money);
  }
  io.out << out.dump(2) << '\n';
}

/// Of a search without a plan that fits: the one that comes closest, and what would help it.
void print_closest(const search& s, const plan_options& o, std::optional<double> sure, const streams& io) try {
  const auto closest = closest_plan(s, o);
  if (!closest) return;
  const auto r = replay(closest->job, o.until);
  const io::palette ink{io.colour};
  io.out << "\n" << ink.bold("The closest") << "\n  " << io::detail::plan_line(closest->job) << ": " << (r.fits() ? "may not fit: as predicted it " : "") << io::verdict_text(r) << "\n\n"
         << advice_text(calls::advice_for(closest->job, sure ? std::optional{confidence{*sure}} : std::nullopt, o.until), io.colour);
} catch (const out_of_time&) {  // what the search found has been said
}

/// A search that ended before its time, by the clock or by hand, and found nothing has decided nothing.
int status_of(const std::vector<io::search_result>& all) {
  const auto fails = [](const io::search_result& s) { return s.found.best.empty(); };
  const auto open = [&](const io::search_result& s) { return fails(s) && !s.found.complete; };
  if (std::any_of(all.begin(), all.end(), open)) return not_decided;
  return std::any_of(all.begin(), all.end(), fails) ? 1 : 0;
}

/// The fastest plan as a job file.
void write_fastest(const std::string& name, const std::vector<io::search_result>& all) {
  if (all.front().found.best.empty()) return;
  std::ofstream file{name, std::ios::binary};
  file << io::job_to_json(all.front().found.best.front().job).dump(2) << '\n';
  file.close();
  if (!file) io::fail("headroom: " + name + " could not be written");
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

/// "hardware.gpu=a,b": two searches, beside those that the file asks for.
void sweep_over(nlohmann::json& value, const std::string& text) {
  const auto sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size()) io::fail("headroom: --sweep must be KEY=VALUE,VALUE…, found " + io::in_quotes(text));
  if (!value.is_object()) return;  // refused where it is read
  auto& sweep = value["sweep"];
  if (sweep.is_array()) io::fail("headroom: --sweep adds to an object of lists; the file's \"sweep\" is a list of objects");
  for (std::size_t from = sign + 1; from <= text.size();) {
    const auto end = std::min(text.find(',', from), text.size());
    const auto one = text.substr(from, end - from);
    const auto read = nlohmann::json::parse(one, nullptr, false);
    sweep[text.substr(0, sign)].push_back(read.is_discarded() ? nlohmann::json(one) : read);
    from = end + 1;
  }
}

spending spending_of(const plan_request& asked) {
  spending s{.prices = {}, .tokens = 0, .days = asked.days, .budget = asked.budget};
  for (const auto& p : asked.prices) s.prices.push_back(io::detail::read_price(p));
  if (!asked.tokens.empty()) s.tokens = io::detail::read_amount(asked.tokens, "--tokens");
  return s;
}

}  // namespace

int run(const merge_request& asked, const streams& io) {
  std::vector<io::read_part> parts;
  for (const auto& file : asked.parts) parts.push_back(io::read_plans(io::parse_json_file(file), std::filesystem::path{file}.filename().string()));
  const calls::heading h{.top = parts.front().top, .sure = parts.front().confidence};
  const auto all = io::join_plans(parts, h.top);
  print(all, 0.0, io, asked.json, h);
  return status_of(all);
}

int run(const plan_request& asked, const streams& io) {
  auto value = asked.job == "-" ? io::parse_json(io::read_text(io.in, "standard input"), "standard input") : io::parse_json_file(asked.job);
  for (const auto& s : asked.sweep) sweep_over(value, s);
  const auto money = spending_of(asked);
  if (asked.confidence) (void)confidence{*asked.confidence};
  say_measured(value, asked.measured, io.in);
  const auto base = io::file_base::anywhere_from(folder_of(asked.job));
  const auto searches = io::read_sweep(io::with_measured(std::move(value), {.base = base}, io.until), base);
  if (!asked.write.empty() && searches.size() != 1) io::fail("headroom: --write is for one search, and the file holds " + std::to_string(searches.size()));
  std::atomic<std::int64_t> done{0}, all{0};
  std::stop_source stop;
  const interruptible guard;
  const auto start = std::chrono::steady_clock::now();
  calls::heading h{.top = asked.top, .sure = asked.confidence, .until = io.until};
  std::vector<io::search_result> results;
  {
    const std::jthread watcher([&](const std::stop_token& over) { watch(over, stop, done, all); });
    plan_options options{.top = asked.top, .threads = asked.threads, .stop = stop.get_token(), .until = io.until, .finished = &done, .divisions = &all};
    read_share(asked.shard, options);
    h.part = options.part, h.parts = options.parts;
    for (const auto& s : searches) results.push_back({s.values, calls::searched(s.search, options, asked.confidence)});
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto& first = searches.front();
  if (!asked.json && first.values.is_null() && first.search.open == 0 && !first.search.open_cut && !first.search.open_micro) io.out << "No key of the job is \"auto\": it is the only plan.\n";
  const bool differs = (first.search.open & (axes::bit(axes::tensor) | axes::bit(axes::pipeline) | axes::bit(axes::context))) != 0;
  if (!asked.json && first.values.is_null() && differs && !first.search.open_micro)
    io.out << "batch.global is not given: plans with fewer data-parallel ranks do less in a step; compare tokens a second.\n";
  print(results, seconds, io, asked.json, h, money);
  const auto& only = results.front().found;
  if (!asked.write.empty()) write_fastest(asked.write, results);
  if (!asked.json && results.size() == 1 && h.parts == 1 && only.best.empty() && only.complete) print_closest(searches.front().search, {.threads = asked.threads, .until = io.until}, asked.confidence, io);
  return status_of(results);
}

}  // namespace program
