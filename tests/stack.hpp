// Distributed under the Boost Software License, Version 1.0.
// How much stack a call takes: it runs on a thread whose stack is painted first.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stack {

/// What every entry point must do with. A thread of musl has 128 KB, of others 64.
inline constexpr std::size_t limit = 64 * 1024;

/// Sanitizers make frames several times as large; clang without optimization gives every temporary a place of its own (76 KB at most).
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || (defined(__clang__) && !defined(__OPTIMIZE__))
inline constexpr bool measured = false;
#elif defined(__has_feature)
inline constexpr bool measured = !__has_feature(address_sanitizer) && !__has_feature(undefined_behavior_sanitizer) && !__has_feature(memory_sanitizer);
#else
inline constexpr bool measured = true;
#endif

/// Bytes of stack that call() takes, with what a thread itself takes (about 4 KB). What it throws ends the test.
template <class Call>
std::size_t of(Call call) {
  constexpr std::size_t size = 1 << 20, page = 4096;
  constexpr unsigned char paint = 0xA5;
  static std::vector<unsigned char> room(size + page);
  auto* const bottom = room.data() + (page - reinterpret_cast<std::uintptr_t>(room.data()) % page) % page;
  std::fill(bottom, bottom + size, paint);
  pthread_attr_t with;
  pthread_attr_init(&with);
  pthread_attr_setstack(&with, bottom, size);
  pthread_t thread{};
  const auto run = [](void* f) -> void* {
    (*static_cast<Call*>(f))();
    return nullptr;
  };
  const bool started = pthread_create(&thread, &with, run, &call) == 0;
  if (started) pthread_join(thread, nullptr);
  pthread_attr_destroy(&with);
  if (!started) return size;
  return size - static_cast<std::size_t>(std::find_if(bottom, bottom + size, [](unsigned char c) { return c != paint; }) - bottom);
}

}  // namespace stack
