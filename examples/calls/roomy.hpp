// Distributed under the Boost Software License, Version 1.0.
// A function on a thread that has room for it, whatever the stack of the thread that asks: other languages' runtimes give theirs as little as
// 64 KB.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstddef>
#include <exception>
#include <new>

namespace calls {

/// What a call is given. The deepest one measured (tests/c) takes a fifth of it.
inline constexpr std::size_t roomy_stack = std::size_t{4} << 20;

/// Runs `work()` there and waits for it. What it throws is thrown here; std::bad_alloc where the system has no thread left.
template <class Work>
void with_room(Work& work) {
  struct task {
    Work* work;
    std::exception_ptr thrown{};
  } one{&work};
  pthread_attr_t how;
  if (pthread_attr_init(&how) != 0) throw std::bad_alloc{};
  pthread_attr_setstacksize(&how, roomy_stack);
  sigset_t none, before;
  sigfillset(&none);  // signals go to the threads of who asks, which know what to do with them
  pthread_sigmask(SIG_SETMASK, &none, &before);
  pthread_t thread;
  const int failed = pthread_create(&thread, &how, [](void* at) -> void* {
    auto& t = *static_cast<task*>(at);
    try {
      (*t.work)();
    } catch (...) {
      t.thrown = std::current_exception();
    }
    return nullptr;
  }, &one);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&how);
  if (failed != 0) throw std::bad_alloc{};
  pthread_join(thread, nullptr);
  if (one.thrown) std::rethrow_exception(one.thrown);
}

}  // namespace calls
