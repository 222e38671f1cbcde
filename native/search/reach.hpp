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

  // The smallest and the largest TP + FP, the largest sum of all four counts, and the smallest TP + FN.
  float least_covered(std::size_t e) const { return of(1, kFp)[e] + of(0, kFp)[e]; }
  float most_covered(std::size_t e) const { return of(1, kTp)[e] + of(0, kTp)[e]; }
  float most_total(std::size_t e) const { return most_positives(1)[e] + of(1, kTn)[e] + of(1, kFp)[e]; }
  float least_positives(int value, std::size_t e) const {
    return of(1, value ? kTp : kFp)[e] + of(value, kFn)[e];  // as rows join, none is lost but what is set already
  }

  std::size_t stride;
  // Whether a row that is right counts at least as much as one that is left out rightly, and one that is wrong takes
  // away at least as much as one that is left out wrongly: then no row is counted twice.
  bool right_counts_more = false, wrong_counts_more = false;
  std::vector<float> numbers;
};

}  // namespace polyrule
