// Threads over independent pieces of work.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/watch.hpp"

namespace polyrule {

// Runs work(worker) on `threads` threads, the calling one among them, and rethrows the first exception. Threads live
// for one call only: a search worth dividing takes far longer than starting a thread, and nothing is left to go wrong
// at a fork or at the interpreter's end.
template <class Work>
void on_threads(int threads, Work&& work) {
  if (threads <= 1) {
    work(0);
    return;
  }
  std::exception_ptr failure;
  std::mutex guard;
  auto guarded = [&](int worker) {
    try {
      work(worker);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(static_cast<std::size_t>(threads) - 1);
  try {
    for (int t = 1; t < threads; ++t) helpers.emplace_back(guarded, t);
  } catch (const std::system_error&) {
    // No more threads to be had: those that run share the work among them.
  }
  guarded(0);
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

template <class Work>
void parallel_for(std::size_t count, int threads, Work&& work) {
  std::atomic<std::size_t> next{0};
  const auto max_threads = static_cast<std::size_t>(std::max(1, threads));
  on_threads(static_cast<int>(std::min(count, max_threads)), [&](int) {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  });
}

// Runs visit(worker, i) for every i below `count` on some threads. The first of them looks at the clock after every
// `between` visits, so that a signal or the deadline can end the work.
template <class Visit>
void over_all(const Watch& watch, std::size_t count, int threads, std::size_t between, Visit&& visit) {
  using Clock = std::chrono::steady_clock;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> over{false};
  on_threads(threads, [&](int worker) {
    std::size_t since = 0;
    try {
      for (std::size_t i = next++; i < count && !over; i = next++) {
        visit(worker, i);
        watch.bodies.fetch_add(1, std::memory_order_relaxed);
        if (worker == 0 && ++since >= between) {
          since = 0;
          watch.look();
        }
      }
    } catch (...) {
      over = true;
      throw;
    }
  });
  if (watch.deadline && Clock::now() > *watch.deadline) throw TimeIsUp{};
}

}  // namespace polyrule
