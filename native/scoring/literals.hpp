// What single literals are worth.
//
// At a value p/q, num/den >= p/q is the same as G = q*num - p*den >= 0 (denominators are positive here), and G is a sum
// over rows: every covered row adds a number that depends only on its kind. Searches add these numbers up in lanes of
// 32 bits; whatever passes them is compared exactly.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/assert.hpp"
#include "core/limits.hpp"
#include "data/node.hpp"
#include "scoring/form.hpp"

namespace polyrule {

inline Counts literal_counts(const NodeLabel& label, const OutcomeCounts& outcomes, int value) {
  return {outcomes[value], outcomes[1 - value], label.absent - outcomes[kAbsent] - outcomes[kAbsentSet],
          label.present - outcomes[kPresent] - outcomes[kPresentSet]};
}

// Not in lowest terms: good for comparing, quicker than a value that is kept.
inline Fraction literal_value(const Form& form, const Counts& c) {
  const Wide den = linear<Wide>(form.den, c);
  return den == 0 ? Fraction{0, 1} : Fraction{linear<Wide>(form.num, c), den};
}

// What a covered row adds to G, by literal and kind, at one value.
struct Gains {
  Wide slope[2][kOutcomes + 1];
  Wide constant, true_negative, false_negative;

  Gains(const Form& form, const Fraction& value) {
    Wide h[5];
    for (std::size_t i = 0; i < 5; ++i) h[i] = Wide(form.num[i]) * value.den - value.num * Wide(form.den[i]);
    constant = h[0];
    true_negative = h[3];
    false_negative = h[4];
    for (int v = 0; v < 2; ++v) {
      slope[v][v] = h[1] - (v ? h[4] : h[3]);
      slope[v][1 - v] = h[2] - (v ? h[3] : h[4]);
      slope[v][kAbsentSet] = -h[3];
      slope[v][kPresentSet] = -h[4];
      slope[v][kUnknown] = 0;
    }
  }

  // G of a rule that covers nothing.
  Wide empty_sum(const NodeLabel& label) const {
    return constant + true_negative * label.absent + false_negative * label.present;
  }

  // G of a rule that covers so many rows of each kind.
  Wide sum(const NodeLabel& label, const OutcomeCounts& outcomes, int value) const {
    Wide sum = empty_sum(label);
    for (int k = 0; k < kOutcomes; ++k) sum += slope[value][k] * outcomes[k];
    return sum;
  }

  // An upper bound on G over all refinements of the node: take only the rows that help. Negative: the literal is out of
  // the race here and in every body below, because covers only shrink and the value to reach only rises.
  Wide bound(const NodeLabel& label, int value) const {
    Wide sum = empty_sum(label);
    for (int k = 0; k < kOutcomes; ++k) sum += std::max<Wide>(0, slope[value][k]) * label.outcomes[k];
    POLYRULE_ASSERT(sum >= this->sum(label, label.outcomes, value));
    return sum;
  }

  // Whether at this value a literal counts exactly if no covered row is wrong, whatever else it covers: then a search
  // finds nothing but ties.
  bool only_pure() const {
    bool pure = constant == 0 && true_negative == 0 && false_negative == 0;
    for (int v = 0; v < 2; ++v) pure = pure && slope[v][v] == 0 && slope[v][1 - v] < 0;
    return pure;
  }
};

// Whether a measure is at its best, 1, exactly for literals without a wrong row.
inline bool peaks_at_purity(const Form& form) {
  const bool plain = *std::min_element(form.num.begin(), form.num.end()) >= 0;
  return plain && Gains(form, {1, 1}).only_pure();
}

// A number that no sum of gains in a node exceeds at the value p / q; several of them may be added up.
inline double largest_sum(const Form& form, double covered, const State& state, double p, double q) {
  const double all = double(state.working_weight);
  const double present =
      state.present.empty() ? 0 : double(*std::max_element(state.present.begin(), state.present.end()));
  const bool plain =
      *std::min_element(form.num.begin(), form.num.end()) >= 0;  // then the two terms have opposite signs
  double h[5];                                                   // what one more of each count may weigh
  for (std::size_t i = 0; i < 5; ++i) {
    const double up = std::abs(double(form.num[i])) * q, down = std::abs(double(form.den[i])) * p;
    h[i] = plain ? std::max(up, down) : up + down;
  }
  return h[0] + (std::max(h[1], h[2]) + std::max(h[3], h[4])) * covered + h[3] * all + h[4] * present;
}

inline constexpr double kWideCapacity = 2e18;  // of lanes of 64 bits; kernels add up to three sums

// The value that lanes look with: the value itself, or where its sums do not fit a fraction below it. Gains can only
// grow if the value is lowered, as denominators are never negative: what cannot reach the lower value cannot reach the
// other.
struct LaneLevel {
  Fraction value;
  bool exact;

  // `covered`: the largest weight whose gains are added up in one lane.
  LaneLevel(const Form& form, double covered, const State& state, const Fraction& target, double capacity)
      : value(target) {
    const double unit = largest_sum(form, covered, state, std::abs(as_double(target)), 1);
    exact = unit * double(target.den) < capacity;
    if (!exact) value = nearest_below(target, static_cast<Wide>(std::max(1.0, 0.95 * capacity / unit)));
  }

  // Whether lanes of such a capacity can look at all values that a search may meet.
  static bool fits(const Form& form, const State& state, double capacity) {
    const double all = double(state.working_weight);
    double highest = 0;  // of the measure; denominators are integers
    for (std::size_t i = 0; i < 5; ++i) {
      const double num = std::abs(double(form.num[i]));
      highest = std::max(highest, form.den[i] > 0 ? num / double(form.den[i]) : num * (i == 0 ? 1 : 4 * all));
    }
    return largest_sum(form, all, state, highest, 1) < 0.95 * capacity;
  }
};

}  // namespace polyrule
