// What is known about how far a literal can get, so that it need not be searched everywhere and after every rule.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "singles.hpp"

namespace polyrule {

// A sweep over all conditions of a node gives every literal's `reach`: no condition makes num - value * den larger. It
// bounds the literal in every node below, too. A condition c covers C & c in a node with cover C, and A & c in an
// ancestor with cover A; the two differ by rows of A that are not in C, so the sum cannot grow by more than what the bad
// rows among those have cost. The same holds for the next rule as long as neither the label nor the working set has changed.
// Doubles are enough, with some slack: a literal that is searched in vain costs time, nothing else.
struct Prospect {
  double reach = std::numeric_limits<double>::infinity();
  double value = 0;  // of the measure, when the reach was found; at a lower value more is possible
  Count kinds[4] = {0, 0, 0, 0};

  bool known() const { return std::isfinite(reach); }

  template <class Int>
  bool can_reach(const NodeLabel& label, int literal, const Gains<Int>& gains, const Fraction& at,
                 double largest_denominator) const {
    if (!known()) return true;
    return optimistic(label, literal, gains, at, largest_denominator) >= 0;
  }

  template <class Int>
  double optimistic(const NodeLabel& label, int literal, const Gains<Int>& gains, const Fraction& at,
                    double largest_denominator) const {
    if (!known()) return reach;
    double sum = reach;
    for (int k = 0; k < 4; ++k)
      if (gains.slope[literal][k] < 0)
        sum += double(-gains.slope[literal][k]) / double(at.den) * double(kinds[k] - label.kinds[k]);
    const double now = double(at.num) / double(at.den);
    if (value > now) sum += (value - now) * largest_denominator;
    return sum + 1e-6 + 1e-9 * (std::abs(reach) + std::abs(sum) + largest_denominator);
  }
};

}  // namespace polyrule
