#include "search/reach_filter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/lanes.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = 16;
using Vector = Lanes<float, kLanes>;

// By lane: what one label gains at most, what all gain that gain something, and what is added whichever labels are in
// the head. Labels are lanes. Those that only fill up the last vector are barred and have no counts.
POLYRULE_VECTOR_CLONES
void sum_all(const float* reach, std::size_t n, const float* barred, const float* outside, Scope scope, const float* h,
             float* out) {
  Vector best = fill<Vector>(-kBarred), positive{}, base{};
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

}  // namespace

ReachFilter::ReachFilter(const Judged& judged)
    : labels_(judged.labels), state_(judged.state), form_(judged.form), sums_(judged.sums),
      reach_(judged.sums.stride()) {
  const std::size_t n = sums_.stride();
  barred_.assign(2 * n, kBarred);
  outside_.assign(2 * n, 0);
  for (std::size_t e = 0; e < labels_.size(); ++e) {
    for (std::size_t v = 0; v < 2; ++v)
      if (labels_[e].usable(int(v))) barred_[(1 - v) * n + e] = 0;
    outside_[e] = static_cast<float>(labels_[e].absent);
    outside_[n + e] = static_cast<float>(labels_[e].present);
  }
}

bool ReachFilter::gains_reach(double constant, const double h[5], bool additive) const {
  const float of[] = {float(h[1]), float(h[2]), float(h[3]), float(h[4])};
  alignas(64) float sums[3 * kLanes];
  sum_all(reach_.numbers.data(), reach_.stride, barred_.data(), outside_.data(), form_.scope, of, sums);
  const float best = *std::max_element(sums, sums + kLanes), *positive = sums + kLanes, *outside = sums + 2 * kLanes;
  const double largest = std::max({std::abs(h[1]), std::abs(h[2]), std::abs(h[3]), std::abs(h[4])});
  const double cells = 2 * double(state_.working_weight + 1) * double(labels_.size() + 1);
  const double slack = std::ldexp(largest * cells, -19) + 1e-6 * std::abs(constant);
  const float gain = additive && best > 0 ? std::accumulate(positive, positive + kLanes, 0.0f) : best;
  return constant + double(std::accumulate(outside, outside + kLanes, 0.0f)) + double(gain) >= -slack;
}

}  // namespace polyrule
