// Distributed under the Boost Software License, Version 1.0.
// How many bytes of tensors are alive: c10's allocator tells of every allocation and release on a thread (c10/core/Allocator.h,
// MemoryReportingInfoBase). Backward on a CPU runs on the thread that calls it.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace trainer {

class byte_counter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t change, std::int64_t, std::int64_t, c10::Device) override {
    live_ += change;
    peak_ = std::max(peak_, live_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t live() const { return live_; }
  /// The most since the last call.
  std::int64_t take_peak() {
    const auto peak = peak_;
    peak_ = live_;
    return peak;
  }

 private:
  std::int64_t live_ = 0, peak_ = 0;
};

/// Counts what its thread allocates as long as it lives.
class counting {
 public:
  byte_counter& operator*() const { return *counter_; }
  byte_counter* operator->() const { return counter_.get(); }

 private:
  std::shared_ptr<byte_counter> counter_ = std::make_shared<byte_counter>();
  c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, counter_};
};

}  // namespace trainer
