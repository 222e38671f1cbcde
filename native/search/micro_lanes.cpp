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

// By label: what both literals predict on, all counts; then for each literal TP, P and F. Where a literal is barred, TP
// is far below 0. `found`: the smallest and the largest x, the smallest and the largest sum of all counts of a label,
// and the largest sum of a literal by itself.
POLYRULE_VECTOR_CLONES
void prepare(const float* rates, const float* barred, std::size_t n, Formula formula, float level, float* out,
             float* found) {
  const float *tp = rates, *fp = rates + n, *tn = fp + n, *fn = tn + n;
  const bool matthews = formula == Formula::matthews, wracc = formula == Formula::wracc;
  float low = 2, high = -1, least = kNever, most = 0, alone = -kNever;
  for (std::size_t e = 0; e < n; ++e) {
    const float predicted = tp[e] + fp[e], total = predicted + tn[e] + fn[e];
    const float safe = total > 1 ? total : 1, x = predicted / safe;
    const bool one = barred[e] == 0, zero = barred[n + e] == 0;
    const float p1 = tp[e] + fn[e], p0 = fp[e] + fn[e];
    const float product1 = p1 * (total - p1), product0 = p0 * (total - p0);
    const float root1 = std::sqrt(product1 > 0 ? product1 : 0), root0 = std::sqrt(product0 > 0 ? product0 : 0);
    const float f1 = wracc ? total : matthews ? root1 : product1 / safe;
    const float f0 = wracc ? total : matthews ? root0 : product0 / safe;
    const float spread = x * (1 - x), c = matthews ? level * std::sqrt(spread > 0 ? spread : 0) : level;
    const float t1 = one ? tp[e] : -kNever, t0 = zero ? fp[e] : -kNever;
    out[e] = predicted;
    out[n + e] = total;
    out[2 * n + e] = t1;
    out[3 * n + e] = p1;
    out[4 * n + e] = f1;
    out[5 * n + e] = t0;
    out[6 * n + e] = p0;
    out[7 * n + e] = f0;
    const float own1 = t1 - x * p1 - c * f1, own0 = t0 - x * p0 - c * f0, own = own1 > own0 ? own1 : own0;
    alone = own > alone ? own : alone;
    const float a = one || zero ? x : 2, b = one || zero ? x : -1, smaller = one || zero ? total : kNever;
    low = a < low ? a : low;
    high = b > high ? b : high;
    least = smaller < least ? smaller : least;
    most = total > most ? total : most;
  }
  const float all[] = {low, high, least, most, alone};
  std::copy(std::begin(all), std::end(all), found);
}

// By lane, the sum of the two largest sums of different labels, the second only if it is below 0: no head of several
// labels has more.
POLYRULE_VECTOR_CLONES
void largest(const float* numbers, std::size_t n, std::size_t labels, const float* x_lanes, const float* c_lanes,
             const float* m_lanes, float* out) {
  const Vector x = load<Vector>(x_lanes), c = load<Vector>(c_lanes), m = load<Vector>(m_lanes), zero = {};
  Vector best = fill<Vector>(-kNever), second = best;
  for (std::size_t e = 0; e < labels; ++e) {
    const float* at = numbers + e;
    const Vector present = (Vector{} + at[2 * n]) - x * at[3 * n] - c * at[4 * n];
    const Vector absent = (Vector{} + at[5 * n]) - x * at[6 * n] - c * at[7 * n];
    const Vector here = larger(present, absent) + m * ((Vector{} + at[0]) - x * at[n]);
    second = larger(second, select(best > here, here, best));
    best = larger(best, here);
  }
  store(out, best + select(second > zero, zero, second));
}

}  // namespace

void MicroLanes::set_labels(const std::vector<NodeLabel>& labels, std::size_t stride) {
  labels_ = labels.size();
  stride_ = stride;
  barred_.assign(2 * stride, kNever);
  for (std::size_t e = 0; e < labels_; ++e)
    for (std::size_t v = 0; v < 2; ++v)
      if (labels[e].usable(int(v))) barred_[(1 - v) * stride + e] = 0;
  numbers_.resize(8 * stride);
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

// How much weight must move until a sum per literal has risen by `missing`. While a weight w <= N/2 moves, each of a
// literal's TP, P and N changes by no more than w, and x by no more than 4*w/N for the smallest N. So TP - x*P rises by
// no more than w*(2 + 4*N/N), largest by smallest; F falls by no more than 2*w or, for Matthews, the root of 3*w*N, and
// p(x) by no more than the root of 4*w/N, where F is no more than 3/4*N.
double MicroLanes::weight_for(double missing, double least, double most) const {
  const double level = std::abs(level_),
               steady = 2 + 4 * most / least + (formula_ == Formula::matthews ? 0 : 2 * level);
  const double abrupt = formula_ == Formula::matthews ? level * (std::sqrt(most) + 1.5 * most / std::sqrt(least)) : 0;
  const double root = (std::sqrt(abrupt * abrupt + 4 * steady * missing) - abrupt) / (2 * steady);
  return std::min(root * root * (1 - 1e-6), least / 2);
}

bool MicroLanes::judge(const float* rates, bool side, double& wait) {
  wait = 0;
  if (!bounded_) return true;
  rates_ = rates;
  listed_ = false;
  float found[5];
  prepare(rates, barred_.data(), stride_, formula_, static_cast<float>(level_), numbers_.data(), found);
  if (found[1] < found[0]) return false;  // no literal is usable
  // Sums of a few products of rounded numbers, none of them larger than all counts times the tilt.
  const auto slack = [&](float tilt) { return 2e-6f * found[3] * (8 + 4 * std::abs(tilt)); };
  const double alone = double(found[4]) + double(slack(0));
  if (alone >= 0 && single_reaches()) return true;
  // rounding must not leave out an end
  const double low = std::max(0.0, double(found[0]) - 1e-6), high = std::min(1.0, double(found[1]) + 1e-6);
  alignas(64) float x[kLanes], c[kLanes], m[kLanes], reached[kLanes];
  double ends[kIntervals + 1];
  for (std::size_t i = 0; i <= kIntervals; ++i) {
    ends[i] = low + (high - low) * double(i) / double(kIntervals);
    const float at = static_cast<float>(ends[i]), cost = static_cast<float>(level_ * root(ends[i]));
    if (i > 0) x[2 * i - 1] = at, c[2 * i - 1] = cost, m[2 * i - 1] = tilts_[side][i - 1];
    if (i < kIntervals) x[2 * i] = at, c[2 * i] = cost, m[2 * i] = tilts_[side][i];
  }
  largest(numbers_.data(), stride_, labels_, x, c, m, reached);
  bool clear = alone < 0;
  double highest = -kNever;
  for (std::size_t i = 0; i < kIntervals; ++i) {
    const float most = std::max(reached[2 * i], reached[2 * i + 1]) + slack(m[2 * i]);
    highest = std::max(highest, double(most));
    if (most < 0) continue;
    clear = false;
    if (several_reach(ends[i], ends[i + 1], tilts_[side][i])) return true;
  }
  // A head's sum, divided by the number of its labels, is no more than half of what two reach, or what one reaches
  // alone.
  if (clear) wait = weight_for(std::min(-highest / 2, -alone), found[2], found[3]);
  return false;
}

// The usable literals in doubles.
void MicroLanes::list() {
  if (listed_) return;
  listed_ = true;
  literals_.clear();
  const std::size_t n = stride_;
  for (std::uint32_t e = 0; e < labels_; ++e) {
    const double tp = rates_[e], fp = rates_[n + e], tn = rates_[2 * n + e], fn = rates_[3 * n + e];
    const double total = tp + fp + tn + fn;
    if (tp > 0 && barred_[e] == 0) literals_.push_back({e, tp, tp + fp, tp + fn, total, f(tp + fn, total)});
    if (fp > 0 && barred_[n + e] == 0) literals_.push_back({e, fp, tp + fp, fp + fn, total, f(fp + fn, total)});
  }
}

bool MicroLanes::single_reaches() {
  list();
  for (const Literal& l : literals_) {
    const double x = l.predicted / l.total;
    if (l.tp - x * l.positives - level_ * root(x) * l.f >= -1e-9 * (l.total + 1)) return true;
  }
  return false;
}

// Whether a head of several labels may, with its x in an interval; finds a tilt that suits this body.
bool MicroLanes::several_reach(double low, double high, float& tilt) {
  list();
  const double middle = (low + high) / 2, at_middle = level_ * root(middle);
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
    const double at = level_ * root(x);
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
