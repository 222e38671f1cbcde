// The empty body, where only literals without a wrong row count (pure.hpp): counts that are kept from rule to rule.
//
// For every condition and label it is known on how many rows the label is unset and present, and unset and absent. A rule
// sets labels on the few rows it covers; only what these rows add is corrected, so that the largest lists, which take
// longest to count, are counted once.
#pragma once

#include <vector>

#include "members.hpp"
#include "singles.hpp"
#include "state.hpp"

namespace polyrule {

class PureTable {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{48} << 20;

  // Whether the counts take little enough room.
  static bool fits(const State& state);

  // The best condition with more than `start.tp` true positives of pure literals; `negative`: of both values of labels.
  Best best(State& state, bool negative, const Best& start, int threads);

 private:
  struct Change;
  void prepare(const State& state, bool negative);
  Change find_change(State& state);
  void correct(const Change& change, std::size_t word);

  bool known_ = false;
  std::size_t width_ = 0;      // words of a row's unset labels, present ones and then absent ones
  std::size_t labels_ = 0;     // counters of one part
  LineArray<std::uint16_t> counts_;     // by condition, for each part
  LineArray<std::uint16_t> allowed_;    // likewise: all bits or none
  std::vector<std::uint32_t> totals_;   // by condition: true positives of the pure literals
  LineArray<Word> members_, unset_;     // by row, as they were counted
  std::size_t stride_ = 0;
  Bits working_;
};

}  // namespace polyrule
