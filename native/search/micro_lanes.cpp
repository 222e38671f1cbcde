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
// far below 0. `found`: the smallest and the largest x, the largest sum of all counts of a literal, the largest sum of
// gains of a literal by itself, the smallest share of all counts that are there at every boundary, the smallest and the
// largest s.
POLYRULE_VECTOR_CLONES
void prepare(const float* reach, const float* barred, std::size_t n, Formula formula, float level, float* out,
             float* found) {
  const bool matthews = formula == Formula::matthews, wracc = formula == Formula::wracc;
  const Some zero{}, one = fill<Some>(1.0f), never = fill<Some>(kNever);
  Some low = one + one, high = -one, most = zero, alone = -never, share = one, low_s = low, high_s = high;
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
      const Some s = positives / safe;
      low_s = smaller_of(low_s, select(free, s, one + one));
      high_s = larger_of(high_s, select(free, s, -one));
      most = larger_of(most, total);
      share = smaller_of(share, select(free, load<Some>(reach + 8 * n + e) / safe, one));
    }
  alignas(64) float parts[7][kLabels];
  store(parts[0], low);
  store(parts[1], high);
  store(parts[2], most);
  store(parts[3], alone);
  store(parts[4], share);
  store(parts[5], low_s);
  store(parts[6], high_s);
  for (std::size_t k = 0; k < 7; ++k)
    found[k] = k == 0 || k == 4 || k == 5 ? *std::min_element(parts[k], parts[k] + kLabels)
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

// The same for sums TP + a * (TP+FP) - b * (TP+FN) - c * N.
POLYRULE_VECTOR_CLONES
void largest_linear(const float* numbers, std::size_t n, std::size_t labels, const float* a_lanes, const float* b_lanes,
                    const float* c_lanes, float* out) {
  const Vector a = load<Vector>(a_lanes), b = load<Vector>(b_lanes), c = load<Vector>(c_lanes), zero = {};
  Vector best = fill<Vector>(-kNever), second = best;
  for (std::size_t e = 0; e < labels; ++e) {
    const float *one = numbers + e, *none = one + kParts * n;
    const Vector present = a * one[3 * n] + one[0] - b * one[n] - c * one[4 * n];
    const Vector absent = a * none[3 * n] + none[0] - b * none[n] - c * none[4 * n];
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

void MicroLanes::set_level(const Form& form, const Fraction& level, bool exact) {
  slack_ = exact ? 1e-9 : 2e-6;
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
  float found[7];
  prepare(reach.numbers.data(), barred_.data(), stride_, formula_, static_cast<float>(level_), numbers_.data(), found);
  if (found[1] < found[0]) return false;  // no literal is usable
  // Of WRAcc's N * N over a stretch only so much is certain.
  const double share = formula_ == Formula::wracc && level_ > 0 ? double(found[4]) * (1 - 1e-6) : 1;
  const double level = level_ * share * share;
  if (share < 1)
    prepare(reach.numbers.data(), barred_.data(), stride_, formula_, static_cast<float>(level), numbers_.data(), found);
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
    if (most < 0 || !several_reach(level, ends[i], ends[i + 1], tilts_[side][i])) continue;
    if (formula_ == Formula::wracc || boxes_reach(level, &ends[i], double(found[5]), double(found[6]), boxes_[side][i]))
      return true;
  }
  return false;
}

// The same with s cut into intervals, too: in each, F is taken from a chord.
bool MicroLanes::boxes_reach(double level, const double x[2], double low, double high,
                             std::array<Tilt, kIntervals>& tilts) {
  low = std::max(0.0, low - 1e-6);
  high = std::min(1.0, high + 1e-6);
  Box boxes[kIntervals];
  alignas(64) float a[kLanes], b[kLanes], c[kLanes], reached[kLanes];
  for (std::size_t i = 0; i < kIntervals; ++i) {
    const double width = (high - low) / kIntervals;
    boxes[i] = box_of(x[0], x[1], low + width * double(i), low + width * double(i + 1));
    for (std::size_t end = 0; end < 2; ++end) {
      const Line line(boxes[i], end, level * root(x[end]), tilts[i]);
      a[2 * i + end] = static_cast<float>(line.a);
      b[2 * i + end] = static_cast<float>(line.b);
      c[2 * i + end] = static_cast<float>(line.c);
    }
  }
  largest_linear(numbers_.data(), stride_, labels_, a, b, c, reached);
  list();
  double most = 0;
  for (const Literal& l : literals_) most = std::max(most, l.total);
  for (std::size_t i = 0; i < kIntervals; ++i) {
    const double sizes = std::abs(a[2 * i]) + std::abs(b[2 * i]) + std::abs(c[2 * i]) + std::abs(a[2 * i + 1]) +
                         std::abs(b[2 * i + 1]) + std::abs(c[2 * i + 1]);
    if (double(std::max(reached[2 * i], reached[2 * i + 1])) + 1e-6 * most * (4 + sizes) >= 0 &&
        parts_reach(level, boxes[i], tilts[i], slack_ * (most + 1), 2))
      return true;
  }
  return false;
}

MicroLanes::Box MicroLanes::box_of(double x0, double x1, double s0, double s1) const {
  Box box{{x0, x1}, {s0, s1}};
  const double first = f(s0, 1), last = f(s1, 1);
  box.slope = (last - first) / std::max(1e-9, s1 - s0);
  box.constant = first - box.slope * s0 - 1e-9;
  return box;
}

// A box that may reach the level is cut into four, a few times.
bool MicroLanes::parts_reach(double level, const Box& box, Tilt& tilt, double slack, int times) const {
  if (!box_reaches(level, box, tilt, slack)) return false;
  if (times == 0) return true;
  const double x[] = {box.x[0], (box.x[0] + box.x[1]) / 2, box.x[1]},
               s[] = {box.s[0], (box.s[0] + box.s[1]) / 2, box.s[1]};
  for (std::size_t i = 0; i < 4; ++i) {
    Tilt own = tilt;
    const Box part = box_of(x[i / 2], x[i / 2 + 1], s[i % 2], s[i % 2 + 1]);
    if (parts_reach(level, part, own, slack, times - 1)) return true;
  }
  return false;
}

// Whether a head of several labels may whose x and s lie in a box. Tilts move against what the largest sum exceeds the
// box by, as far as would bring it below 0 if the same literals were the largest again.
bool MicroLanes::box_reaches(double level, const Box& box, Tilt& tilt, double slack) const {
  for (int turn = 0; turn < 6; ++turn) {
    double highest = -kNever, over[2] = {0, 0};
    for (std::size_t end = 0; end < 2; ++end) {
      const Line line(box, end, level * root(box.x[end]), tilt);
      const auto sum = [&](const Literal& l) {
        return l.tp + line.a * l.predicted - line.b * l.positives - line.c * l.total;
      };
      const Literal *best = nullptr, *second = nullptr;
      double most = -kNever, next = -kNever;
      for (const Literal& l : literals_) {
        const double here = sum(l);
        if (here > most) {
          if (!best || best->label != l.label) next = most, second = best;
          most = here, best = &l;
        } else if (here > next && l.label != best->label) {
          next = here, second = &l;
        }
      }
      const double both = most + std::min(0.0, next);
      if (!best || !second || both <= highest) continue;
      highest = both;
      const double s = box.s[tilt.s < 0];
      over[0] = best->predicted - box.x[end] * best->total;
      over[1] = best->positives - s * best->total;
      if (next < 0) {
        over[0] += second->predicted - box.x[end] * second->total;
        over[1] += second->positives - s * second->total;
      }
    }
    if (highest < -slack * (8 + 4 * std::abs(tilt.x) + 4 * std::abs(tilt.s))) return false;
    const double length = over[0] * over[0] + over[1] * over[1];
    if (length == 0) return true;
    const double step = (highest + 4 * slack + 1e-3) / length;
    tilt.x -= step * over[0];
    tilt.s -= step * over[1];
    if (!(std::abs(tilt.x) + std::abs(tilt.s) < 1e4)) {
      tilt = {};
      return true;
    }
  }
  return true;
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
    if (l.tp - x * l.positives - level * root(x) * l.f >= -slack_ * (l.total + 1)) return true;
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
      slack = std::max(slack, slack_ * (l.total + 1) * (8 + 4 * std::abs(m)));
      if (l.label == of) best = std::max(best, sum);
      else if (sum > best) second = best, best = sum, of = l.label;
      else second = std::max(second, sum);
    }
    if (best + std::min(second, 0.0) >= -slack) return true;
  }
  return false;
}

}  // namespace polyrule
