// How a long search is ended from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace polyrule {

struct Interrupted {};  // a signal has come; the Python error is set
struct TimeIsUp {};

// Asked now and then during a search, by the thread that started it. `poll` returns true if a signal wants the search
// to end.
struct Watch {
  std::function<bool()> poll;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  void check() const {
    if (deadline && std::chrono::steady_clock::now() > *deadline) throw TimeIsUp{};
    if (poll && poll()) throw Interrupted{};
  }
};

// Asked at every step of a long head search; looks at the clock now and then.
class Patience {
 public:
  explicit Patience(const Watch* watch = nullptr) : watch_(watch) {}

  void step() const {
    if (++steps_ % 4096 == 0 && watch_) watch_->check();
  }

 private:
  const Watch* watch_;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace polyrule
