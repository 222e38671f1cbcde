// What every literal has at most over a stretch of boundaries: as many true positives and true negatives and as few
// errors as at any of them.
//
// Rows only join (or only leave) along a stretch, so each sum lies between those at its ends. A measure that never
// falls with TP and TN and never rises with FP and FN is worth no more at any boundary than these numbers are, for one
// literal as for the sums over a head. A stretch of one boundary has the counts themselves.
#pragma once

#include <cstddef>
#include <vector>

namespace polyrule {

struct Reach {
  enum Number { kTp, kFp, kTn, kFn, kNumbers };

  explicit Reach(std::size_t labels) : stride(labels), numbers(labels * 11) {}

  // By label, for the literal `= value`.
  const float* of(int value, Number number) const {
    return numbers.data() + (std::size_t(1 - value) * kNumbers + number) * stride;
  }
  // The smallest sum of all four counts, and the largest TP + FN.
  const float* least_total() const { return numbers.data() + 8 * stride; }
  const float* most_positives(int value) const { return numbers.data() + std::size_t(10 - value) * stride; }

  std::size_t stride;
  // Whether a row that is right counts at least as much as one that is left out rightly, and one that is wrong takes
  // away at least as much as one that is left out wrongly: then no row is counted twice.
  bool right_counts_more = false, wrong_counts_more = false;
  std::vector<float> numbers;
};

}  // namespace polyrule
