// The m-estimate of the counts summed over a head.
//
// A head reaches a level l if the sum of TP - l * (TP + FP) over its literals and m * (s - l) are not below 0, where s
// is the head's share of positives, (TP + FN) / N. Let s lie between a and b. Then s - l is at most b - l, and c * (TP
// + FN - a * N), summed over the literals, is not below 0 for any c >= 0, so it may be added. What all labels gain at
// most is then a bound, and the best c makes it small. Intervals of s are lanes of a vector; c comes from earlier
// bodies.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lanes.hpp"
#include "search/reach_filter.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = 8, kLabels = 16;
using Vector = Lanes<double, kLanes>;
using Some = Lanes<float, kLabels>;

// By lane, what the labels gain at most, and how much faster that grows than `factors`.
POLYRULE_VECTOR_CLONES
void sum_lanes(const float* reach, const float* barred, std::size_t n, double level, const double* least_lanes,
               const double* factors, double* sums, double* derivatives) {
  const Vector priors = load<Vector>(least_lanes), factor = load<Vector>(factors), zero{};
  Vector sum{}, slope{};
  for (std::size_t e = 0; e < n; ++e) {
    const double total = double(reach[8 * n + e]);
    Vector best = zero, lean_of_best = zero;
    for (std::size_t v = 0; v < 2; ++v) {
      const float* at = reach + v * 4 * n + e;
      if (!(at[0] > 0) || barred[v * n + e] > 0) continue;
      const double gain = double(at[0]) - level * (double(at[0]) + double(at[n]));
      const Vector lean = fill<Vector>(double(reach[(9 + v) * n + e])) - priors * total, bound = factor * lean + gain;
      lean_of_best = select(bound > best, lean, lean_of_best);
      best = larger(bound, best);
    }
    sum += best;
    slope += lean_of_best;
  }
  store(sums, sum);
  store(derivatives, slope);
}

// By lane of labels, the largest share of positives, TP + FN, among the counts of a literal.
POLYRULE_VECTOR_CLONES
void share_all(const float* reach, std::size_t n, const float* barred, float* out) {
  Some max_share{};
  const Some one = fill<Some>(1.0f);
  for (std::size_t e = 0; e < n; e += kLabels) {
    const Some total = larger(load<Some>(reach + 8 * n + e), one);
    const Some present = load<Some>(reach + 9 * n + e) - load<Some>(barred + e),
               absent = load<Some>(reach + 10 * n + e) - load<Some>(barred + n + e);
    max_share = larger(max_share, larger(present, absent) / total);
  }
  store(out, max_share);
}

class MEstimateFilter : public ReachFilter {
 public:
  using ReachFilter::ReachFilter;

 private:
  bool follow(const Fraction& level) override {
    level_ = as_double(level) - 1e-12;
    return true;
  }

  // TP - level * (TP + FP) + m * (s - level) must reach 0, with s the head's share of positives.
  double decide(bool leaving, bool) override {
    alignas(64) float shares[kLabels];
    share_all(reach_.numbers.data(), reach_.stride, barred_.data(), shares);
    const double m = double(form_.m_num) / double(form_.m_den), h[] = {0, 1 - level_, -level_, 0, 0};
    const double max_share = double(std::min(1.0f, *std::max_element(shares, shares + kLabels))) * (1 + 1e-6);
    if (!gains_reach(m * (max_share - level_), h, true)) return kNone;
    return rounding() > 0 || any_interval_reaches(m, level_, max_share, leaving) ? kAny : kNone;
  }

  // Whether some head may reach the level with no share above `max_share`. `side`: of the boundary, whose bodies are
  // alike.
  bool any_interval_reaches(double m, double level, double max_share, bool side) {
    constexpr int kTurns = 6;
    std::array<double, kLanes>& factors = factors_[side];
    alignas(64) double priors[kLanes], sums[kLanes], derivatives[kLanes];
    for (std::size_t k = 0; k < kLanes; ++k) priors[k] = max_share * double(k) / kLanes;
    for (int turn = 0; turn < kTurns; ++turn) {
      sum_lanes(reach_.numbers.data(), barred_.data(), reach_.stride, level, priors, factors.data(), sums, derivatives);
      bool any = false;
      for (std::size_t k = 0; k < kLanes; ++k) {
        const double bound = sums[k] + m * (max_share * double(k + 1) / kLanes - level);
        if (bound < -1e-9 * (sums[k] + m + 1)) continue;
        any = true;
        // The bound is convex in the factor: go to where it would be 0 if the same literals gained, and a little
        // further.
        const double next = std::max(0.0, factors[k] - (bound * 1.01 + 1e-3 * m) / derivatives[k]);
        if (derivatives[k] == 0 || next == factors[k] || !(next < 1e6)) return true;
        factors[k] = next;
      }
      if (!any) return false;
    }
    return true;
  }

  double level_ = 0;
  std::array<double, kLanes> factors_[2] = {};
};

}  // namespace

std::unique_ptr<Filter> make_m_estimate_filter(const Judged& judged) {
  return std::make_unique<MEstimateFilter>(judged);
}

}  // namespace polyrule
