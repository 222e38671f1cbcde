// How a long search is ended from outside.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace polyrule {

struct Interrupted {};  // a signal has come; the Python error is set
struct TimeIsUp {};
struct NotCompiled {};  // no compiled search is exact in this state

// Asked now and then during a search, by the thread that started it. `poll` returns true if a signal wants the search
// to end. It may tell what the search has come to meanwhile: `bodies` and `best`.
struct Watch {
  std::function<bool()> poll;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  mutable std::atomic<std::uint64_t> bodies{0};  // that have been judged, at least
  mutable std::optional<double> best;            // value so far; belongs to the thread that started the search
  mutable bool late = false;                     // the deadline has passed, and what has been found is unfinished

  void check() const {
    if (deadline && std::chrono::steady_clock::now() > *deadline) throw TimeIsUp{};
    if (poll && poll()) throw Interrupted{};
  }

  // The same, but not more often than is worth it, however many searches come one after the other. For the thread that
  // started them.
  void look() const {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < std::chrono::milliseconds(40)) return;
    looked_ = now;
    check();
  }

 private:
  mutable std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

// Told of every step of a long head search, with about how many literals it looks at; looks at the clock now and then.
class TimeCheck {
 public:
  explicit TimeCheck(const Watch* watch = nullptr) : watch_(watch) {}

  void step(std::uint64_t work = 1) const {
    work_ += work;
    if (work_ < kBetween || !watch_) return;
    work_ = 0;
    watch_->check();
  }

 private:
  static constexpr std::uint64_t kBetween = 4'096;
  const Watch* watch_;
  mutable std::uint64_t work_ = 0;
};

}  // namespace polyrule
