// What is known about how far a literal can get, so that it need not be searched everywhere and after every rule.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "singles.hpp"

namespace polyrule {

// The value that literals are to reach.
template <class Int>
struct Level {
  Gains<Int> gains;
  double value, denominator;
  double den_constant, den_right;  // the parts of a measure's denominator that are there at least
  double largest_denominator;

  Level(const Form& form, const Fraction& at, Count working_weight)
      : gains(form, at, working_weight), value(double(at.num) / double(at.den)), denominator(double(at.den)),
        den_constant(double(form.den[0])), den_right(double(form.den[1])),
        largest_denominator(double(form.den[0]) +
                            double(*std::max_element(form.den.begin() + 1, form.den.end())) * double(working_weight)) {}

  // No condition that reaches the value with this literal has a smaller denominator, here or in a larger cover: it
  // needs so many true positives to make up for what every rule lacks.
  double least_denominator(const NodeLabel& label, int literal) const {
    double needed = -double(gains.empty_sum(label));
    for (int k = 0; k < 4; ++k)
      if (!is_right(k, literal) && gains.slope[literal][k] > 0)
        needed -= double(gains.slope[literal][k]) * double(label.kinds[k]);
    const double each = double(gains.slope[literal][literal]);
    const double right = each > 0 ? std::max(1.0, needed / each * (1 - 1e-9)) : 1;
    return den_constant + den_right * right;
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
  bool can_reach(const NodeLabel& label, int literal, const Level<Int>& level) const {
    return !known() || optimistic(label, literal, level) >= 0;
  }

  template <class Int>
  double optimistic(const NodeLabel& label, int literal, const Level<Int>& level) const {
    if (!known()) return reach;
    double sum = reach;
    for (int k = 0; k < 4; ++k)
      if (level.gains.slope[literal][k] < 0)
        sum += double(-level.gains.slope[literal][k]) / level.denominator * double(kinds[k] - label.kinds[k]);
    if (value > level.value) sum += (value - level.value) * level.largest_denominator;
    else sum -= (level.value - value) * level.least_denominator(label, literal);
    return sum + 1e-6 + 1e-9 * (std::abs(reach) + std::abs(sum) + level.largest_denominator);
  }
};

}  // namespace polyrule
