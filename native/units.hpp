// How the features and labels of a node are divided among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "engine.hpp"
#include "parallel.hpp"

namespace polyrule {

// Touches and rows a search must visit before a second thread pays for its start.
inline constexpr std::size_t kWorthThreads = 400'000;

// Runs visit(worker, i) for every i below `count` on some threads. The first of them looks at the clock after every
// `between` visits, so that a signal or the deadline can end the work.
template <class Visit>
void over_all(const Watch& watch, std::size_t count, int threads, std::size_t between, Visit&& visit) {
  using Clock = std::chrono::steady_clock;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> over{false};
  on_threads(threads, [&](int worker) {
    auto last_poll = Clock::now();
    std::size_t since = 0;
    try {
      for (std::size_t i = next++; i < count && !over; i = next++) {
        visit(worker, i);
        if (worker == 0 && ++since >= between) {
          since = 0;
          const auto now = Clock::now();
          if (now - last_poll < std::chrono::milliseconds(40)) continue;
          last_poll = now;
          if (watch.poll && watch.poll()) throw Interrupted{};
          if (watch.deadline && now > *watch.deadline) throw TimeIsUp{};
        }
      }
    } catch (...) {
      over = true;
      throw;
    }
  });
  if (watch.deadline && Clock::now() > *watch.deadline) throw TimeIsUp{};
}

// Runs scan_unit(worker, unit) for every feature and then for every one of the `others`.
template <class Scan>
void Engine::over_units(const Watch& watch, const Node& node, std::size_t others, bool quick, Scan&& scan_unit) {
  const std::size_t columns = order_.size(), units = columns + others;
  // What was good last time comes first: the sooner the value rises, the less is left to be looked at closely.
  const auto better = [&](std::size_t a, std::size_t b) { return promise_[a] > promise_[b]; };
  if (!std::is_sorted(order_.begin(), order_.end(), better)) std::stable_sort(order_.begin(), order_.end(), better);
  // Asking for the time takes as long as a short list.
  const std::size_t between = quick ? 1 + 50'000 / (1 + node.rows.size()) : 1;
  const std::size_t work = (node.rows.size() + 2 * node.touches.size()) * units;
  const int threads = work < kWorthThreads ? 1 : std::min<int>(threads_, static_cast<int>(units));
  over_all(watch, units, threads, between, [&](int worker, std::size_t i) {
    scan_unit(worker, i < columns ? order_[i] : columns_.size() + (i - columns));
  });
}

}  // namespace polyrule
