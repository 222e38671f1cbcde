#include "search/gain_sums.hpp"

#include <algorithm>

#include "core/lanes.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = 16;
using Vector = Lanes<float, kLanes>;

POLYRULE_INLINE Vector larger(const Vector& a, const Vector& b) { return select(a > b, a, b); }

// Labels are lanes. Those that only fill up the last vector are barred and have no counts.
POLYRULE_VECTOR_CLONES
void sum_all(const float* reach, std::size_t n, const float* barred, const float* outside, Scope scope, const float* h,
             float* out) {
  Vector best = fill<Vector>(-1e30f), positive{}, base{};
  const Vector zero{};
  for (std::size_t e = 0; e < n; e += kLanes) {
    const auto at = [&](std::size_t k) POLYRULE_ALWAYS { return load<Vector>(reach + k * n + e); };
    const Vector present = at(0) * h[0] + at(1) * h[1] + at(2) * h[2] + at(3) * h[3];
    const Vector absent = at(4) * h[0] + at(5) * h[1] + at(6) * h[2] + at(7) * h[3];
    Vector gain = larger(present - load<Vector>(barred + e), absent - load<Vector>(barred + n + e));
    if (scope == Scope::all) {
      const Vector other = load<Vector>(outside + e) * h[2] + load<Vector>(outside + n + e) * h[3];
      gain -= other;
      base += other;
    } else if (scope == Scope::full) {
      gain -= absent;
      base += absent;
    }
    best = larger(best, gain);
    positive += larger(gain, zero);
  }
  store(out, best);
  store(out + kLanes, positive);
  store(out + 2 * kLanes, base);
}

POLYRULE_VECTOR_CLONES
void share_all(const float* reach, std::size_t n, const float* barred, float* out) {
  Vector most{};
  const Vector one = fill<Vector>(1.0f);
  for (std::size_t e = 0; e < n; e += kLanes) {
    const Vector total = larger(load<Vector>(reach + 8 * n + e), one);
    const Vector present = load<Vector>(reach + 9 * n + e) - load<Vector>(barred + e),
                 absent = load<Vector>(reach + 10 * n + e) - load<Vector>(barred + n + e);
    most = larger(most, larger(present, absent) / total);
  }
  store(out, most);
}

}  // namespace

GainSums sum_gains(const Reach& reach, const float* barred, const float* outside, Scope scope, const float h[4]) {
  alignas(64) float out[3 * kLanes];
  sum_all(reach.numbers.data(), reach.stride, barred, outside, scope, h, out);
  GainSums sums{*std::max_element(out, out + kLanes)};
  for (std::size_t i = 0; i < kLanes; ++i) sums.positive += out[kLanes + i], sums.outside += out[2 * kLanes + i];
  return sums;
}

float largest_share(const Reach& reach, const float* barred) {
  alignas(64) float out[kLanes];
  share_all(reach.numbers.data(), reach.stride, barred, out);
  return std::min(1.0f, *std::max_element(out, out + kLanes));
}

}  // namespace polyrule
