#include "search/share_lanes.hpp"

#include <algorithm>
#include <cmath>

#include "core/lanes.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = ShareLanes::kLanes;
using Vector = Lanes<double, kLanes>;

POLYRULE_INLINE Vector larger(const Vector& a, const Vector& b) { return select(a > b, a, b); }

// By lane, what the labels gain at most, and how much faster that grows than `factors`.
POLYRULE_VECTOR_CLONES
void sum_lanes(const float* reach, const float* barred, std::size_t n, double level, const double* least_lanes,
               const double* factors, double* sums, double* slopes) {
  const Vector least = load<Vector>(least_lanes), factor = load<Vector>(factors), zero{};
  Vector sum{}, slope{};
  for (std::size_t e = 0; e < n; ++e) {
    const double total = double(reach[8 * n + e]);
    Vector best = zero, lean_of_best = zero;
    for (std::size_t v = 0; v < 2; ++v) {
      const float* at = reach + v * 4 * n + e;
      if (!(at[0] > 0) || barred[v * n + e] > 0) continue;
      const double gain = double(at[0]) - level * (double(at[0]) + double(at[n]));
      const Vector lean = fill<Vector>(double(reach[(9 + v) * n + e])) - least * total, here = factor * lean + gain;
      lean_of_best = select(here > best, lean, lean_of_best);
      best = larger(here, best);
    }
    sum += best;
    slope += lean_of_best;
  }
  store(sums, sum);
  store(slopes, slope);
}

}  // namespace

bool ShareLanes::judge(const Reach& reach, const float* barred, double m, double level, double most, bool side) {
  constexpr int kTurns = 6;
  std::array<double, kLanes>& factors = factors_[side];
  alignas(64) double least[kLanes], sums[kLanes], slopes[kLanes];
  for (std::size_t k = 0; k < kLanes; ++k) least[k] = most * double(k) / kLanes;
  for (int turn = 0; turn < kTurns; ++turn) {
    sum_lanes(reach.numbers.data(), barred, reach.stride, level, least, factors.data(), sums, slopes);
    bool any = false;
    for (std::size_t k = 0; k < kLanes; ++k) {
      const double bound = sums[k] + m * (most * double(k + 1) / kLanes - level);
      if (bound < -1e-9 * (sums[k] + m + 1)) continue;
      any = true;
      // The bound is convex in the factor: go to where it would be 0 if the same literals gained, and a little further.
      const double next = std::max(0.0, factors[k] - (bound * 1.01 + 1e-3 * m) / slopes[k]);
      if (slopes[k] == 0 || next == factors[k] || !(next < 1e6)) return true;
      factors[k] = next;
    }
    if (!any) return false;
  }
  return true;
}

}  // namespace polyrule
