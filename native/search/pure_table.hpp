// The empty body, where only literals without a wrong row count (ties.hpp): counts that are kept from rule to rule.
//
// For every condition and label it is known on how many rows the label is unset and present, and unset and absent. A
// rule sets labels on the few rows it covers; only what these rows add is corrected, so that the largest lists, which
// take longest to count, are counted once.
#pragma once

#include <vector>

#include "data/members.hpp"
#include "data/records.hpp"
#include "judge/shortlist.hpp"

namespace polyrule {

class PureTable {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{48} << 20;

  PureTable(const State& state, const Members& members, const Records& records)
      : state_(state), members_list_(members), records_(records) {}

  // Whether the counts take little enough room.
  bool fits() const;
  // A rule has set labels on these rows.
  void touch(std::size_t w, Word rows) {
    if (known_) touched_.data()[w] |= rows;
  }

  // Offers the conditions that have enough true positives of pure literals; `negative`: of both values of labels.
  void offer(bool negative, int threads, Shortlist& best);

 private:
  struct Change;
  void prepare(bool negative);
  Change find_change();
  void correct(const Change& change, std::size_t word);

  const State& state_;
  const Members& members_list_;
  const Records& records_;
  bool known_ = false;
  std::size_t width_ = 0;              // words of a row's unset labels, present ones and then absent ones
  std::size_t labels_ = 0;             // counters of one part
  LineArray<std::uint16_t> counts_;    // by condition, for each part
  LineArray<std::uint16_t> allowed_;   // likewise: all bits or none
  std::vector<std::uint32_t> totals_;  // by condition: true positives of the pure literals
  LineArray<Word> members_, unset_;    // by row, as they were counted
  std::size_t stride_ = 0;
  Bits working_, touched_;
};

}  // namespace polyrule
