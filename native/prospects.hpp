// What is known about how far a literal can get, so that it need not be searched everywhere and after every rule.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "singles.hpp"

namespace polyrule {

// The value that literals are to reach.
template <class Int>
struct Target {
  Gains<Int> gains;
  double value, scale;
  std::array<double, 5> den;
  double working_weight;

  Target(const Form& form, const Fraction& at, Count working_weight)
      : gains(form, at, working_weight), value(double(at.num) / double(at.den)), scale(double(at.den)),
        working_weight(double(working_weight)) {
    std::copy(form.den.begin(), form.den.end(), den.begin());
  }

  // No condition of a node where the literal's label has these kinds gives a larger denominator.
  double largest_denominator(const NodeLabel& label, const Count kinds[4], int literal) const {
    return den[0] + den[1] * double(kinds[literal]) + den[2] * double(kinds[1 - literal]) +
           den[3] * (working_weight - double(label.present)) + den[4] * double(label.present);
  }

  // No condition that reaches the value with this literal has a smaller denominator, here or in a larger cover: it
  // needs so many true positives to make up for what every rule lacks.
  double least_denominator(const NodeLabel& label, int literal) const {
    double needed = -double(gains.empty_sum(label));
    for (int k = 0; k < 4; ++k)
      if (!is_right(k, literal) && gains.slope[literal][k] > 0)
        needed -= double(gains.slope[literal][k]) * double(label.kinds[k]);
    const double each = double(gains.slope[literal][literal]);
    const double right = each > 0 ? std::max(1.0, needed / each * (1 - 1e-9)) : 1;
    return den[0] + den[1] * right;
  }
};

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
  bool can_reach(const NodeLabel& label, int literal, const Target<Int>& target) const {
    return !known() || optimistic(label, literal, target) >= 0;
  }

  template <class Int>
  double optimistic(const NodeLabel& label, int literal, const Target<Int>& target) const {
    if (!known()) return reach;
    double sum = reach;
    for (int k = 0; k < 4; ++k)
      if (target.gains.slope[literal][k] < 0)
        sum += double(-target.gains.slope[literal][k]) / target.scale * double(kinds[k] - label.kinds[k]);
    const double largest = target.largest_denominator(label, kinds, literal);
    if (value > target.value) sum += (value - target.value) * largest;
    else sum -= (target.value - value) * target.least_denominator(label, literal);
    return sum + 1e-6 + 1e-9 * (std::abs(reach) + std::abs(sum) + largest);
  }
};

}  // namespace polyrule
