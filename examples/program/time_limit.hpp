// Distributed under the Boost Software License, Version 1.0.
// --seconds: whoever is first, the command or its time limit, has the last word.
#pragma once

#include <headroom/deadline.hpp>

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

namespace program {

constexpr int not_decided = 3;  ///< exit status

/// Commands ask their deadline on the way. For one that is busy with something else, reading a file, say, this ends the process.
class time_limit {
 public:
  headroom::deadline start(double wait) {
    const auto until = headroom::deadline::in(wait);
    if (until.given()) watcher_ = std::jthread([this, until](const std::stop_token& over) { watch(over, until); });
    return until;
  }
  /// From here on the command answers.
  void claim() {
    if (answered_.test_and_set()) ::pause();  // the process ends
  }

 private:
  static constexpr auto patience = std::chrono::milliseconds(40);

  void watch(const std::stop_token& over, const headroom::deadline& until) {
    std::mutex nobody;
    std::condition_variable_any wake;
    std::unique_lock lock(nobody);
    if (wake.wait_until(lock, over, until.at() + patience, [] { return false; }) || over.stop_requested() || answered_.test_and_set()) return;
    const std::string_view sentence = headroom::out_of_time{}.what();
    [[maybe_unused]] auto written = ::write(STDERR_FILENO, sentence.data(), sentence.size());
    written = ::write(STDERR_FILENO, "\n", 1);
    std::_Exit(not_decided);
  }

  std::atomic_flag answered_;
  std::jthread watcher_;
};

}  // namespace program
