// Correlations and associations of the counts summed over a head.
//
// For a head let N be all its counts, x = (TP+FP)/N and s = (TP+FN)/N. It reaches a level l >= 0 only if TP - N*h(x, s)
// is not below 0, with the concave h of `least_share`, taken literal by literal at the head's x (docs/theory.md). The
// head's x is the mean of its literals' own, so m * (TP+FP - x*N) may be added for any m: over a head it sums up to 0.
// If the sum is below 0 for every head of several literals at both ends of an interval of x, it is between them, too,
// as it is convex in x, and no head whose x lies there reaches the level. Intervals and their ends are lanes of a
// vector, with N*h = a(x)*(TP+FN) + c(x)*F, where F depends on the literal alone; m comes from earlier bodies.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lanes.hpp"
#include "search/reach_filter.hpp"

namespace polyrule {

namespace {

constexpr std::size_t kLanes = 16, kIntervals = kLanes / 2;
using Vector = Lanes<float, kLanes>;

constexpr std::size_t kLabels = 16;
constexpr std::size_t kParts = 5;  // per literal, see below
using Some = Lanes<float, kLabels>;

// The root of a number that is not below 0, up to a few parts in a million.
POLYRULE_INLINE Some root_of(const Some& x) {
  const Some safe = larger(x, fill<Some>(1e-30f));
  alignas(64) float number[kLabels];
  store(number, safe);
  for (std::size_t i = 0; i < kLabels; ++i) number[i] = std::sqrt(number[i]);
  return load<Some>(number);
}

// Extremes over all literals: the smallest and the largest x, the largest sum of all counts of a literal, the
// largest sum of gains of a literal by itself, the smallest and the largest s. Over a stretch, the smallest share that
// the sum of all counts is at every boundary of that at best, that this is of the largest, and the largest x there is.
enum Found { kLowX, kLowS, kLeastTotal, kOfMostTotal, kHighX, kHighS, kMost, kAlone, kMostX, kFound };

// How far a literal exceeds what it needs by itself, in counts.
POLYRULE_INLINE Some exceeds(Formula formula, const Some& level, const Some& below, const Some& tp, const Some& fp,
                             const Some& tn, const Some& fn, const Some& positives, const Some& total) {
  const Some covered = tp + fp, x = covered / total, product = x * positives, left = tp - product;
  switch (formula) {
    case Formula::rate_difference:
      return left - level * positives * (total - positives) / total;
    case Formula::matthews:
      return left - level * root_of(product * (total - covered) * ((total - positives) / total));
    case Formula::klosgen:
      return left - level * root_of(covered * total);
    case Formula::added_value:
      return left - level * covered;
    case Formula::cosine:
      return tp - level * root_of(covered * positives);
    case Formula::kappa:
      return left - level * ((covered + positives) * 0.5f - product);
    case Formula::yule_q:  // by its definition: roots of small differences are too rough in singles
      return tp * (tn / total) * below - fp * (fn / total) * (level + 1.0f);
    case Formula::lift:
      return tp - level * product;
    case Formula::certainty:
      return left - level * (covered - product);
    default:
      return left - level * total;
  }
}

// For every literal (`= 1`, then `= 0`), by label: TP, TP+FN, F, TP+FP and all counts. Where a literal is barred, TP is
// far below 0. `scale`: of the fewest TP+FN, where these count.
POLYRULE_VECTOR_CLONES
void prepare(const float* reach, const float* barred, std::size_t n, Formula formula, double level, float scale,
             float* out, float* extremes) {
  const Some zero{}, one = fill<Some>(1.0f), never = fill<Some>(kBarred);
  const Some target = fill<Some>(float(level)), below = fill<Some>(float(1 - level));
  Some smallest[kHighX], largest[kFound - kHighX];
  const bool fewest = is_by_precision(formula);
  for (Some& number : smallest) number = one + one;
  for (Some& number : largest) number = -never;
  for (std::size_t e = 0; e < n; e += kLabels)
    for (std::size_t v = 0; v < 2; ++v) {
      const float* at = reach + v * 4 * n + e;
      const Some tp = load<Some>(at), fp = load<Some>(at + n), tn = load<Some>(at + 2 * n), fn = load<Some>(at + 3 * n);
      const Some bar = load<Some>(barred + v * n + e), predicted = tp + fp;
      const Some min_positives = fewest ? (v == 0 ? tp : load<Some>(reach + n + e)) + fn : tp + fn;
      const Some positives = min_positives * scale, total = predicted + tn + fn;
      const Some safe = larger(total, one), x = predicted / safe, t = tp - bar;
      Some f = total;
      if (formula == Formula::rate_difference) f = larger(positives * (total - positives), zero) / safe;
      else if (formula == Formula::matthews) f = root_of(positives * (total - positives));
      else if (formula == Formula::cosine) f = root_of(positives * total);
      else if (formula == Formula::certainty) f = total - positives;
      float* to = out + v * kParts * n + e;
      store(to, t);
      store(to + n, positives);
      store(to + 2 * n, f);
      store(to + 3 * n, predicted);
      store(to + 4 * n, total);
      const Some s = positives / safe;
      // Numbers of barred literals lie past all others. (A mask kept in a variable is an internal error of GCC 13.)
      const auto see = [&](std::size_t k, const Some& number) POLYRULE_ALWAYS {
        if (k < kHighX) smallest[k] = smaller(smallest[k], number + bar);
        else largest[k - kHighX] = larger(largest[k - kHighX], number - bar);
      };
      see(kLowX, x);
      see(kHighX, x);
      see(kLowS, s);
      see(kHighS, s);
      see(kMost, total);
      see(kAlone, exceeds(formula, target, below, tp, fp, tn, fn, positives, safe));
      see(kLeastTotal, load<Some>(reach + 8 * n + e) / safe);
      if (!fewest) continue;
      see(kOfMostTotal,
          total /
              larger(load<Some>(reach + 9 * n + e) + load<Some>(reach + 2 * n + e) + load<Some>(reach + n + e), one));
      const Some covered = load<Some>(reach + e) + load<Some>(reach + 4 * n + e);
      see(kMostX, covered / larger(load<Some>(reach + 8 * n + e), one));
    }
  alignas(64) float parts[kLabels];
  for (std::size_t k = 0; k < kFound; ++k) {
    store(parts, k < kHighX ? smallest[k] : largest[k - kHighX]);
    extremes[k] = k < kHighX ? *std::min_element(parts, parts + kLabels) : *std::max_element(parts, parts + kLabels);
  }
}

// By lane, the factors of sums TP + a * (TP+FP) - b * (TP+FN) - c * N - f * F.
struct alignas(64) Factors {
  float a[kLanes], b[kLanes], c[kLanes], f[kLanes] = {};
};

// The sum of the two largest of different labels, the second only if it is below 0: no head of several labels has more.
POLYRULE_VECTOR_CLONES
void largest(const float* numbers, std::size_t n, std::size_t labels, const Factors& factors, float* out) {
  const Vector a = load<Vector>(factors.a), b = load<Vector>(factors.b), c = load<Vector>(factors.c),
               f = load<Vector>(factors.f), zero = {};
  Vector best = fill<Vector>(-kBarred), second = best;
  for (std::size_t e = 0; e < labels; ++e) {
    const float *one = numbers + e, *none = one + kParts * n;
    const Vector present = a * one[3 * n] + one[0] - b * one[n] - f * one[2 * n] - c * one[4 * n];
    const Vector absent = a * none[3 * n] + none[0] - b * none[n] - f * none[2 * n] - c * none[4 * n];
    const Vector larger_gain = larger(present, absent);
    second = larger(second, select(best > larger_gain, larger_gain, best));
    best = larger(best, larger_gain);
  }
  store(out, best + select(second > zero, zero, second));
}

class AssociationFilter : public ReachFilter {
 public:
  explicit AssociationFilter(const Judged& judged) : ReachFilter(judged), numbers_(2 * kParts * reach_.stride) {}

 private:
  struct Literal {
    std::uint32_t label;
    double tp, predicted, positives, total;
  };

  // Numbers that x and s less those of their interval are multiplied by.
  struct Tilt {
    double x = 0, s = 0;
  };
  struct Box {
    double x[2], s[2];
    double slope[2], constant[2];  // of the chord of h, by end of x
  };
  // TP + a * (TP+FP) - b * (TP+FN) - c * N at an end of x.
  struct Line {
    double a, b, c;
    Line(const Box& box, std::size_t end, const Tilt& tilt)
        : a(tilt.x), b(box.slope[end] - tilt.s),
          c(box.constant[end] + tilt.x * box.x[end] + tilt.s * box.s[tilt.s < 0]) {}
  };

  // What TP+FN and F are multiplied by at an x, for literals whose s lies in an interval.
  struct Terms {
    double a, c;
  };
  bool follow(const Fraction& level) override {
    largest_ = rounding() == 0 && is_largest(form_.formula, level);
    slack_ = rounding() == 0 ? 1e-9 : 2e-6;
    bounded_ = is_concave(form_.formula, level.num < 0);
    level_ = lowered_level(form_.formula, level);
    return is_bounded_by_reach(form_.formula, level);
  }

  double decide(bool leaving, bool stretch) override {
    if (largest_) return judge_faultless();
    return reaches(leaving, stretch) ? kAny : kNone;
  }

  // The level is the largest value there is: literals without an error reach it, and nothing exceeds it.
  double judge_faultless() const {
    double right[2] = {0, 0};  // of heads without false positives, without false negatives
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      double max_tp[2] = {0, 0};
      for (int v = 0; v < 2; ++v) {
        const bool has_fp = reach_.of(v, Reach::kFp)[e] > 0, has_fn = reach_.of(v, Reach::kFn)[e] > 0;
        if (!labels_[e].allowed[v] || !may_be_faultless(form_.formula, has_fp, has_fn)) continue;
        const double own_tp = double(reach_.of(v, Reach::kTp)[e]);
        if (!has_fp) max_tp[0] = std::max(max_tp[0], own_tp);
        if (!has_fn) max_tp[1] = std::max(max_tp[1], own_tp);
      }
      right[0] += max_tp[0], right[1] += max_tp[1];
    }
    const double tp = std::max(right[0], right[1]);
    return tp > 0 ? tp : kNone;
  }

  Terms terms(double level, double x, double low, double high) const {
    switch (formula_) {
      case Formula::rate_difference:
        return {x, level};
      case Formula::matthews:
        return {x, level * std::sqrt(std::max(0.0, x * (1 - x)))};
      case Formula::cosine:
        return {0, level * std::sqrt(x)};
      case Formula::certainty:
        return {x, level * x};
      default: {  // F is N: straight lines in s, and for Yule's Q the chord
        const double first = least_share(formula_, level, x, low), last = least_share(formula_, level, x, high);
        const double slope = high - low > 1e-9 ? (last - first) / (high - low) : 0;
        return {slope, std::min(first - slope * low, last - slope * high)};
      }
    }
  }

  double needed(const Literal& l, double level, double x) const {
    return l.total * least_share(formula_, level, x, l.positives / l.total);
  }

  // Whether some head may reach the level. `side`: of the boundary, whose bodies are alike.
  bool reaches(bool side, bool stretch) {
    if (!bounded_) return true;
    listed_ = false;
    float extremes[kFound];
    const auto look = [&](double level) {
      prepare(reach_.numbers.data(), barred_.data(), reach_.stride, formula_, level, static_cast<float>(scale_),
              numbers_.data(), extremes);
    };
    scale_ = 1;
    formula_ = form_.formula;
    look(level_);
    if (extremes[kHighX] < extremes[kLowX]) return false;  // no literal is usable
    const double level = stretch ? level_over_stretch(extremes) : level_;
    if (level != level_ || scale_ < 1) look(level);
    // Sums of a few products of rounded numbers, none of them larger than all counts times the tilt.
    const auto slack = [&](float tilt) { return 2e-6f * extremes[kMost] * (8 + 4 * std::abs(tilt)); };
    if (double(extremes[kAlone]) + double(slack(0)) >= 0 && single_reaches(level)) return true;
    // rounding must not leave out an end
    const double low = std::max(0.0, double(extremes[kLowX]) - 1e-6),
                 high = std::min(1.0, double(extremes[kHighX]) + 1e-6);
    const double low_s = std::max(0.0, double(extremes[kLowS]) - 1e-6),
                 high_s = std::min(1.0, double(extremes[kHighS]) + 1e-6);
    Factors factors;
    alignas(64) float reached[kLanes];
    double ends[kIntervals + 1];
    for (std::size_t i = 0; i <= kIntervals; ++i) {
      ends[i] = low + (high - low) * double(i) / double(kIntervals);
      const Terms at = terms(level, ends[i], low_s, high_s);
      const auto put = [&](std::size_t lane, std::size_t interval) {
        factors.a[lane] = tilts_[side][interval];
        factors.b[lane] = static_cast<float>(at.a);
        factors.c[lane] = factors.a[lane] * static_cast<float>(ends[i]);
        factors.f[lane] = static_cast<float>(at.c);
      };
      if (i > 0) put(2 * i - 1, i - 1);
      if (i < kIntervals) put(2 * i, i);
    }
    largest(numbers_.data(), reach_.stride, labels_.size(), factors, reached);
    for (std::size_t i = 0; i < kIntervals; ++i) {
      const float bound = std::max(reached[2 * i], reached[2 * i + 1]) + slack(factors.a[2 * i]);
      if (bound < 0 || !several_reach(level, ends[i], ends[i + 1], tilts_[side][i])) continue;
      if (is_linear(formula_) || boxes_reach(level, &ends[i], low_s, high_s, boxes_[side][i])) return true;
    }
    return false;
  }

  // Over a stretch of WRAcc's N * N only so much is certain. A measure that grows with the precision does not exceed
  // what it is for the precision at best, the smallest s and, for Klösgen's, the largest x, whose root is then a
  // number.
  double level_over_stretch(const float* extremes) {
    constexpr double kRoom = 1 - 1e-6;
    const double total = double(extremes[kLeastTotal]) * kRoom;
    if (formula_ == Formula::wracc) return level_ > 0 ? level_ * total * total : level_;
    if (!is_by_precision(formula_)) return level_;
    scale_ = std::min(1.0, double(extremes[kOfMostTotal])) * kRoom;
    if (formula_ != Formula::klosgen) return level_;
    formula_ = Formula::added_value;
    return level_ / std::sqrt(std::max(1e-12, double(extremes[kMostX]))) * kRoom;
  }

  // The same with s cut into intervals, too: in each, h is taken from a chord.
  bool boxes_reach(double level, const double x[2], double low, double high, std::array<Tilt, kIntervals>& tilts) {
    Box boxes[kIntervals];
    Factors factors;
    alignas(64) float reached[kLanes];
    for (std::size_t i = 0; i < kIntervals; ++i) {
      const double width = (high - low) / kIntervals;
      boxes[i] = box_of(level, x[0], x[1], low + width * double(i), low + width * double(i + 1));
      for (std::size_t end = 0; end < 2; ++end) {
        const Line line(boxes[i], end, tilts[i]);
        factors.a[2 * i + end] = static_cast<float>(line.a);
        factors.b[2 * i + end] = static_cast<float>(line.b);
        factors.c[2 * i + end] = static_cast<float>(line.c);
      }
    }
    largest(numbers_.data(), reach_.stride, labels_.size(), factors, reached);
    list();
    double max_total = 0;
    for (const Literal& l : literals_) max_total = std::max(max_total, l.total);
    for (std::size_t i = 0; i < kIntervals; ++i) {
      double sizes = 0;
      for (const std::size_t k : {2 * i, 2 * i + 1})
        sizes += std::abs(factors.a[k]) + std::abs(factors.b[k]) + std::abs(factors.c[k]);
      if (double(std::max(reached[2 * i], reached[2 * i + 1])) + 1e-6 * max_total * (4 + sizes) >= 0 &&
          parts_reach(level, boxes[i], tilts[i], slack_ * (max_total + 1), 2))
        return true;
    }
    return false;
  }

  Box box_of(double level, double x0, double x1, double s0, double s1) const {
    Box box{{x0, x1}, {s0, s1}, {}, {}};
    for (std::size_t end = 0; end < 2; ++end) {
      const double first = least_share(formula_, level, box.x[end], s0),
                   last = least_share(formula_, level, box.x[end], s1);
      box.slope[end] = (last - first) / std::max(1e-9, s1 - s0);
      box.constant[end] = first - box.slope[end] * s0 - 1e-9;
    }
    return box;
  }

  // A box that may reach the level is cut into four, a few times.
  bool parts_reach(double level, const Box& box, Tilt& tilt, double slack, int times) const {
    if (!box_reaches(box, tilt, slack)) return false;
    if (times == 0) return true;
    const double x[] = {box.x[0], (box.x[0] + box.x[1]) / 2, box.x[1]},
                 s[] = {box.s[0], (box.s[0] + box.s[1]) / 2, box.s[1]};
    for (std::size_t i = 0; i < 4; ++i) {
      Tilt part_tilt = tilt;
      const Box part = box_of(level, x[i / 2], x[i / 2 + 1], s[i % 2], s[i % 2 + 1]);
      if (parts_reach(level, part, part_tilt, slack, times - 1)) return true;
    }
    return false;
  }

  // Whether a head of several labels may whose x and s lie in a box. Tilts move against what the largest sum exceeds
  // the box by, as far as would bring it below 0 if the same literals were the largest again.
  bool box_reaches(const Box& box, Tilt& tilt, double slack) const {
    for (int turn = 0; turn < 6; ++turn) {
      double highest = -kBarred, over[2] = {0, 0};
      for (std::size_t end = 0; end < 2; ++end) {
        const Line line(box, end, tilt);
        const auto sum = [&](const Literal& l) {
          return l.tp + line.a * l.predicted - line.b * l.positives - line.c * l.total;
        };
        const Literal *best = nullptr, *second = nullptr;
        double top = -kBarred, next = -kBarred;
        for (const Literal& l : literals_) {
          const double gain = sum(l);
          if (gain > top) {
            if (!best || best->label != l.label) next = top, second = best;
            top = gain, best = &l;
          } else if (gain > next && l.label != best->label) {
            next = gain, second = &l;
          }
        }
        const double both = top + std::min(0.0, next);
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
  void list() {
    if (listed_) return;
    listed_ = true;
    literals_.clear();
    for (std::uint32_t e = 0; e < labels_.size(); ++e)
      for (const int v : {1, 0}) {
        const auto of = [&](Reach::Number number) { return double(reach_.of(v, number)[e]); };
        const double tp = of(Reach::kTp), predicted = tp + of(Reach::kFp), fn = of(Reach::kFn);
        const double positives = is_by_precision(formula_) ? scale_ * double(reach_.least_positives(v, e)) : tp + fn;
        if (tp > 0 && barred_[std::size_t(1 - v) * reach_.stride + e] == 0)
          literals_.push_back({e, tp, predicted, positives, predicted + of(Reach::kTn) + fn});
      }
  }

  bool single_reaches(double level) {
    list();
    for (const Literal& l : literals_) {
      if (l.tp - needed(l, level, l.predicted / l.total) >= -slack_ * (l.total + 1)) return true;
    }
    return false;
  }

  // Whether a head of several labels may, with its x in an interval; finds a tilt that suits this body.
  bool several_reach(double level, double low, double high, float& tilt) {
    list();
    const double middle = (low + high) / 2;
    double upper = std::numeric_limits<double>::infinity(), lower = -upper;
    for (const Literal& l : literals_) {
      const double sum = l.tp - needed(l, level, middle), lean = l.predicted - middle * l.total;
      if (lean > 0) upper = std::min(upper, -sum / lean);
      else if (lean < 0) lower = std::max(lower, -sum / lean);
    }
    double m = 0;
    if (std::isfinite(lower) && std::isfinite(upper)) m = (lower + upper) / 2;
    else if (std::isfinite(lower)) m = std::max(0.0, lower + 1);
    else if (std::isfinite(upper)) m = std::min(0.0, upper - 1);
    if (!(std::abs(m) < 1e6)) return true;
    tilt = static_cast<float>(m);
    for (const double x : {low, high}) {
      double best = -kBarred, second = best, slack = 0;
      std::uint32_t of = UINT32_MAX;
      for (const Literal& l : literals_) {
        const double sum = l.tp - needed(l, level, x) + m * (l.predicted - x * l.total);
        slack = std::max(slack, slack_ * (l.total + 1) * (8 + 4 * std::abs(m)));
        if (l.label == of) best = std::max(best, sum);
        else if (sum > best) second = best, best = sum, of = l.label;
        else second = std::max(second, sum);
      }
      if (best + std::min(second, 0.0) >= -slack) return true;
    }
    return false;
  }

  Formula formula_ = Formula::none;  // what is measured; over a stretch, what that is bounded by
  bool largest_ = false, bounded_ = false;
  double level_ = 0;
  double slack_ = 0;  // of sums in doubles, as a share of the counts
  double scale_ = 1;  // of TP+FN over a stretch
  std::vector<float> numbers_;
  std::vector<Literal> literals_;
  bool listed_ = false;
  std::array<float, kIntervals> tilts_[2] = {};
  std::array<std::array<Tilt, kIntervals>, kIntervals> boxes_[2] = {};  // by side, interval of x, interval of s
};

}  // namespace

std::unique_ptr<Filter> make_association_filter(const Judged& judged) {
  return std::make_unique<AssociationFilter>(judged);
}

}  // namespace polyrule
