// Which numbers the vector kernels count with: 32-bit integers, whatever the data.
//
// Gains at a value p/q are integers of the size of q times the number of rows, which is too much for 32 bits on large data.
// But gains can only grow if the value is lowered, as denominators are never negative. So where p/q is too fine, a first look
// takes a slightly lower fraction p'/q' with a smaller q': what cannot reach that cannot reach p/q either, and the few
// literals that can are counted exactly.
#pragma once

#include <algorithm>
#include <cmath>

#include "node.hpp"

namespace polyrule {

// A number that no sum of gains in a node exceeds at the value p / q; several of them may be added up.
inline double largest_sum(const Form& form, const Node& node, const State& state, double p, double q) {
  const double covered = double(node.weight), all = double(state.working_weight);
  const double present = state.present.empty() ? 0 : double(*std::max_element(state.present.begin(), state.present.end()));
  const bool plain = *std::min_element(form.num.begin(), form.num.end()) >= 0;  // then the two terms have opposite signs
  double h[5];  // what one more of each count may weigh
  for (std::size_t i = 0; i < 5; ++i) {
    const double up = std::abs(double(form.num[i])) * q, down = std::abs(double(form.den[i])) * p;
    h[i] = plain ? std::max(up, down) : up + down;
  }
  return h[0] + (std::max(h[1], h[2]) + std::max(h[3], h[4])) * covered + h[3] * all + h[4] * present;
}

// The same for all values that a search from `value` on may meet.
inline double largest_sum(const Form& form, const Node& node, const State& state, const Fraction& value) {
  const double covered = double(node.weight), all = double(state.working_weight);
  const auto largest = [&](const std::array<Count, 5>& row) {
    const auto size = [&](std::size_t i) { return std::abs(double(row[i])); };
    return size(0) + std::max(size(1), size(2)) * covered + (size(3) + size(4)) * all;
  };
  return largest_sum(form, node, state, std::max(std::abs(double(value.num)), largest(form.num)),
                     std::max(double(value.den), largest(form.den)));
}

// Tests lower these, so that small data takes the ways of large data.
struct LaneLimits {
  double capacity = 2147483648.0 / 3.1;  // kernels add up to three sums
  double least_denominator = 64;         // coarser fractions rule out too little
};
inline LaneLimits lane_limits;

// Whether all gains that a search from `value` on may meet fit, if need be at a lower value.
inline bool lanes_fit(const Form& form, const Node& node, const State& state, const Fraction& value) {
  if (largest_sum(form, node, state, value) < lane_limits.capacity) return true;
  double highest = 0;  // of the measure
  for (std::size_t i = 0; i < 5; ++i) {
    if (form.num[i] > 0 && form.den[i] <= 0) return false;
    if (form.num[i] > 0) highest = std::max(highest, double(form.num[i]) / double(form.den[i]));
    if (form.num[i] < 0) return false;
  }
  return 0.95 * lane_limits.capacity / largest_sum(form, node, state, highest, 1) >= lane_limits.least_denominator;
}

// The largest fraction not above `target` (which is not negative) whose denominator is at most `most`: a walk down the tree
// of fractions (Stern and Brocot), many steps at a time. It is far nearer than rounding to steps of 1 / most.
inline Fraction nearest_below(const Fraction& target, Wide most) {
  const Wide whole = target.num / target.den;
  Fraction low{whole, 1}, high{whole + 1, 1};
  for (;;) {
    // low + k * high stays at or below the target for k up to this, unless high is met exactly.
    const Wide above = high.num * target.den - target.num * high.den, below = target.num * low.den - low.num * target.den;
    if (below == 0) return low;
    const Wide up = std::min(below / above, (most - low.den) / high.den);
    low = {low.num + up * high.num, low.den + up * high.den};
    const Wide left = target.num * low.den - low.num * target.den;
    if (left == 0 || low.den + high.den > most) return low;
    // high + k * low stays above the target.
    const Wide down = std::min((above - 1) / left, (most - high.den) / low.den);
    high = {high.num + down * low.num, high.den + down * low.den};
    if (low.den + high.den > most) return low;
  }
}

// The value itself, or the fraction below it to look with.
struct LaneLevel {
  Fraction value;
  bool exact;

  LaneLevel(const Form& form, const Node& node, const State& state, const Fraction& target) : value(target) {
    const double unit = largest_sum(form, node, state, std::abs(double(target.num) / double(target.den)), 1);
    exact = unit * double(target.den) < lane_limits.capacity;
    if (exact) return;
    value = nearest_below(target, static_cast<Wide>(0.95 * lane_limits.capacity / unit));
  }
};

}  // namespace polyrule
