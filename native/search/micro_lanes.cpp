#include "search/micro_lanes.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/lanes.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = MicroLanes::kLanes;
constexpr float kNever = 1e30f;
using Vector = Lanes<float, kLanes>;

POLYRULE_INLINE Vector larger(const Vector& a, const Vector& b) { return select(a > b, a, b); }

constexpr std::size_t kLabels = 16;
constexpr std::size_t kParts = 5;  // per literal, see below
using Some = Lanes<float, kLabels>;

POLYRULE_INLINE Some larger_of(const Some& a, const Some& b) { return select(a > b, a, b); }
POLYRULE_INLINE Some smaller_of(const Some& a, const Some& b) { return select(a < b, a, b); }

// The root of a number that is not below 0, up to a few parts in a million.
POLYRULE_INLINE Some root_of(const Some& x) {
  const Some safe = larger_of(x, fill<Some>(1e-30f));
  alignas(64) float number[kLabels];
  store(number, safe);
  for (std::size_t i = 0; i < kLabels; ++i) number[i] = std::sqrt(number[i]);
  return load<Some>(number);
}

// For every literal (`= 1`, then `= 0`), by label: TP, TP+FN, F, TP+FP and all counts. Where a literal is barred, TP is
// far below 0. `found`: the smallest and the largest x, the smallest and the largest sum of all counts of a literal, the
// largest sum of a literal by itself, and the smallest share of all counts that are there at every boundary.
POLYRULE_VECTOR_CLONES
void prepare(const float* reach, const float* barred, std::size_t n, Formula formula, float level, float* out,
             float* found) {
  const bool matthews = formula == Formula::matthews, wracc = formula == Formula::wracc;
  const Some zero{}, one = fill<Some>(1.0f), never = fill<Some>(kNever);
  Some low = one + one, high = -one, most = zero, alone = -never, share = one;
  for (std::size_t e = 0; e < n; e += kLabels)
    for (std::size_t v = 0; v < 2; ++v) {
      const float* at = reach + v * 4 * n + e;
      const Some tp = load<Some>(at), fp = load<Some>(at + n), tn = load<Some>(at + 2 * n), fn = load<Some>(at + 3 * n);
      const Some bar = load<Some>(barred + v * n + e), predicted = tp + fp, positives = tp + fn,
                 total = predicted + tn + fn;
      const Some safe = larger_of(total, one), x = predicted / safe, t = tp - bar;
      const Some spread = larger_of(positives * (total - positives), zero);
      const Some f = wracc ? total : matthews ? root_of(spread) : spread / safe;
      const Some c = matthews ? root_of(larger_of(x * (one - x), zero)) * level : fill<Some>(level);
      float* to = out + v * kParts * n + e;
      store(to, t);
      store(to + n, positives);
      store(to + 2 * n, f);
      store(to + 3 * n, predicted);
      store(to + 4 * n, total);
      alone = larger_of(alone, t - x * positives - c * f);
      const auto free = bar == zero;
      low = smaller_of(low, select(free, x, one + one));
      high = larger_of(high, select(free, x, -one));
      most = larger_of(most, total);
      share = smaller_of(share, select(free, load<Some>(reach + 8 * n + e) / safe, one));
    }
  alignas(64) float parts[5][kLabels];
  store(parts[0], low);
  store(parts[1], high);
  store(parts[2], most);
  store(parts[3], alone);
  store(parts[4], share);
  for (std::size_t k = 0; k < 5; ++k)
    found[k] = k == 0 || k == 4 ? *std::min_element(parts[k], parts[k] + kLabels)
                                : *std::max_element(parts[k], parts[k] + kLabels);
}

// By lane, the sum of the two largest sums of different labels, the second only if it is below 0: no head of several
// labels has more.
POLYRULE_VECTOR_CLONES
void largest(const float* numbers, std::size_t n, std::size_t labels, const float* x_lanes, const float* c_lanes,
             const float* m_lanes, float* out) {
  const Vector x = load<Vector>(x_lanes), c = load<Vector>(c_lanes), m = load<Vector>(m_lanes), mx = m * x, zero = {};
  Vector best = fill<Vector>(-kNever), second = best;
  for (std::size_t e = 0; e < labels; ++e) {
    const float *one = numbers + e, *none = one + kParts * n;
    const Vector present = m * one[3 * n] + one[0] - x * one[n] - c * one[2 * n] - mx * one[4 * n];
    const Vector absent = m * none[3 * n] + none[0] - x * none[n] - c * none[2 * n] - mx * none[4 * n];
    const Vector here = larger(present, absent);
    second = larger(second, select(best > here, here, best));
    best = larger(best, here);
  }
  store(out, best + select(second > zero, zero, second));
}

}  // namespace

void MicroLanes::set_labels(const std::vector<float>& barred, std::size_t labels) {
  labels_ = labels;
  stride_ = barred.size() / 2;
  barred_ = barred;
  numbers_.resize(2 * kParts * stride_);
}

void MicroLanes::set_level(const Form& form, const Fraction& level) {
  formula_ = form.formula;
  bounded_ = level.num >= 0 || formula_ == Formula::wracc;
  level_ = as_double(level);
  if (formula_ == Formula::matthews) level_ = std::sqrt(std::max(level_, 0.0));
  level_ -= 1e-12;
}

double MicroLanes::root(double x) const {
  return formula_ == Formula::matthews ? std::sqrt(std::max(0.0, x * (1 - x))) : 1;
}

double MicroLanes::f(double positives, double total) const {
  if (formula_ == Formula::wracc) return total;
  const double spread = std::max(0.0, positives * (total - positives));
  return formula_ == Formula::matthews ? std::sqrt(spread) : spread / total;
}

bool MicroLanes::judge(const Reach& reach, bool side) {
  if (!bounded_) return true;
  reach_ = &reach;
  listed_ = false;
  float found[5];
  prepare(reach.numbers.data(), barred_.data(), stride_, formula_, static_cast<float>(level_), numbers_.data(), found);
  if (found[1] < found[0]) return false;  // no literal is usable
  // Of WRAcc's N * N over a stretch only so much is certain.
  const double share = formula_ == Formula::wracc && level_ > 0 ? double(found[4]) * (1 - 1e-6) : 1;
  const double level = level_ * share * share;
  if (share < 1) prepare(reach.numbers.data(), barred_.data(), stride_, formula_, static_cast<float>(level), numbers_.data(), found);
  // Sums of a few products of rounded numbers, none of them larger than all counts times the tilt.
  const auto slack = [&](float tilt) { return 2e-6f * found[2] * (8 + 4 * std::abs(tilt)); };
  if (double(found[3]) + double(slack(0)) >= 0 && single_reaches(level)) return true;
  // rounding must not leave out an end
  const double low = std::max(0.0, double(found[0]) - 1e-6), high = std::min(1.0, double(found[1]) + 1e-6);
  alignas(64) float x[kLanes], c[kLanes], m[kLanes], reached[kLanes];
  double ends[kIntervals + 1];
  for (std::size_t i = 0; i <= kIntervals; ++i) {
    ends[i] = low + (high - low) * double(i) / double(kIntervals);
    const float at = static_cast<float>(ends[i]), cost = static_cast<float>(level * root(ends[i]));
    if (i > 0) x[2 * i - 1] = at, c[2 * i - 1] = cost, m[2 * i - 1] = tilts_[side][i - 1];
    if (i < kIntervals) x[2 * i] = at, c[2 * i] = cost, m[2 * i] = tilts_[side][i];
  }
  largest(numbers_.data(), stride_, labels_, x, c, m, reached);
  for (std::size_t i = 0; i < kIntervals; ++i) {
    const float most = std::max(reached[2 * i], reached[2 * i + 1]) + slack(m[2 * i]);
    if (most >= 0 && several_reach(level, ends[i], ends[i + 1], tilts_[side][i])) return true;
  }
  return false;
}

// The usable literals in doubles.
void MicroLanes::list() {
  if (listed_) return;
  listed_ = true;
  literals_.clear();
  for (std::uint32_t e = 0; e < labels_; ++e)
    for (const int v : {1, 0}) {
      const auto of = [&](Reach::Number number) { return double(reach_->of(v, number)[e]); };
      const double tp = of(Reach::kTp), predicted = tp + of(Reach::kFp), positives = tp + of(Reach::kFn);
      const double total = predicted + of(Reach::kTn) + of(Reach::kFn);
      if (tp > 0 && barred_[std::size_t(1 - v) * stride_ + e] == 0)
        literals_.push_back({e, tp, predicted, positives, total, f(positives, total)});
    }
}

bool MicroLanes::single_reaches(double level) {
  list();
  for (const Literal& l : literals_) {
    const double x = l.predicted / l.total;
    if (l.tp - x * l.positives - level * root(x) * l.f >= -1e-9 * (l.total + 1)) return true;
  }
  return false;
}

// Whether a head of several labels may, with its x in an interval; finds a tilt that suits this body.
bool MicroLanes::several_reach(double level, double low, double high, float& tilt) {
  list();
  const double middle = (low + high) / 2, at_middle = level * root(middle);
  double most = std::numeric_limits<double>::infinity(), least = -most;
  for (const Literal& l : literals_) {
    const double sum = l.tp - middle * l.positives - at_middle * l.f, lean = l.predicted - middle * l.total;
    if (lean > 0) most = std::min(most, -sum / lean);
    else if (lean < 0) least = std::max(least, -sum / lean);
  }
  double m = 0;
  if (std::isfinite(least) && std::isfinite(most)) m = (least + most) / 2;
  else if (std::isfinite(least)) m = std::max(0.0, least + 1);
  else if (std::isfinite(most)) m = std::min(0.0, most - 1);
  if (!(std::abs(m) < 1e6)) return true;
  tilt = static_cast<float>(m);
  for (const double x : {low, high}) {
    const double at = level * root(x);
    double best = -kNever, second = best, slack = 0;
    std::uint32_t of = UINT32_MAX;
    for (const Literal& l : literals_) {
      const double sum = l.tp - x * l.positives - at * l.f + m * (l.predicted - x * l.total);
      slack = std::max(slack, 1e-9 * (l.total + 1) * (8 + 4 * std::abs(m)));
      if (l.label == of) best = std::max(best, sum);
      else if (sum > best) second = best, best = sum, of = l.label;
      else second = std::max(second, sum);
    }
    if (best + std::min(second, 0.0) >= -slack) return true;
  }
  return false;
}

}  // namespace polyrule
