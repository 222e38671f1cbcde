// What each condition covers of each label in the empty body, kept from rule to rule.
//
// Bodies often cover most rows, so the counts of a label in a node are best found by taking off the few rows that are not
// covered. A rule changes little of the empty body's counts: those of the labels it sets, which are made again when they
// are asked for, and those of the conditions on these labels.
#pragma once

#include <vector>

#include "members.hpp"
#include "state.hpp"

namespace polyrule {

class LabelCounts {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  enum Part { present = 0, absent = 1, present_set = 2 };  // unset and present, unset and absent, set and present

  static bool fits(const State& state) {
    return state.labels * 3 * state.members.counters() * sizeof(std::uint16_t) <= kMostBytes;
  }

  // To be called after rules, by one thread.
  void refresh(const State& state);

  // By condition; different labels may be asked for at the same time.
  const std::uint16_t* counts(const State& state, std::size_t label, Part part) {
    if (!known_[label]) count(state, label);
    return row(label, part);
  }
  // All rows of a part.
  Count total(std::size_t label, Part part) const { return totals_[label * 3 + part]; }

  // The rows of a part, 64 of them.
  static Word rows_of(const State& state, std::size_t label, Part part, std::size_t w) {
    const Word truth = state.truth[label][w], set = state.set[label][w];
    return part == present ? truth & ~set : part == absent ? ~truth & ~set : truth & set;
  }

 private:
  std::uint16_t* row(std::size_t label, std::size_t part) { return counts_.get() + (label * 3 + part) * counters_; }
  void forget(const State& state);
  void count(const State& state, std::size_t label);
  void add_newly_set(const State& state, std::size_t label, int value);
  void take_off(const State& state, const Bits& left);

  std::size_t counters_ = 0;
  LineArray<std::uint16_t> counts_;  // by label, part and condition
  std::vector<Count> totals_;
  std::vector<char> known_;
  // The state that was counted.
  std::vector<std::uint64_t> changed_;
  BitMatrix set_;
  Bits working_;
};

}  // namespace polyrule
