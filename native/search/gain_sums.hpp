// A quick test for values whose order is that of a sum of gains, one per label: what the labels gain at most, in
// singles.
#pragma once

#include <cstddef>
#include <vector>

#include "judge/form.hpp"
#include "search/reach.hpp"

namespace polyrule {

struct GainSums {
  float best = 0;      // of one label
  float positive = 0;  // of all that gain something
  float outside = 0;   // what is added whichever labels are in the head
};

// `h`: what TP, FP, TN and FN add. `barred`: by literal (`= 1`, then `= 0`), what keeps it out of a head; `outside`: by
// label, TN and FN outside the head (scope all).
GainSums sum_gains(const Reach& reach, const float* barred, const float* outside, Scope scope, const float h[4]);

// The largest share of positives, TP + FN, among the counts of a literal.
float largest_share(const Reach& reach, const float* barred);

}  // namespace polyrule
