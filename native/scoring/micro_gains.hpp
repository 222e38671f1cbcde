// Which literals may be in a head that reaches a level, by a measure of summed counts that is no ratio.
//
// For a head let N be all its counts, t = TP/N, x = (TP+FP)/N, s = (TP+FN)/N. A value of at least l >= 0 means t >=
// h(x, s), the `least_share`, which is concave in x and in s. All of t, x, s are means over the head's literals,
// weighted by their counts. Heads are looked for box by box, a box being an interval of x and one of s that the head's
// own lie in. For a given x what is left is a mean over the literals, once h is taken literal by literal or, in a box,
// from its chord: a sum of gains, one per literal, that must reach 0. It is convex in x, so it must do so at an end of
// the interval. Two more sums may be added: x less that of the end, which is 0 where the end is the head's own x, times
// any number, and what s exceeds the smallest in the box by, or falls short of the largest, times a number >= 0: the
// tilts. The m-estimate is such a sum, with m*(s - l) as a constant, largest for the largest s (docs/theory.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "scoring/formula.hpp"

namespace polyrule {

// By end of the interval of x: the smallest, the largest.
struct Gain {
  double by[2];
  void operator+=(const Gain& other) {
    by[0] += other.by[0];
    by[1] += other.by[1];
  }
  Gain at_least(const Gain& other) const { return {{std::max(by[0], other.by[0]), std::max(by[1], other.by[1])}}; }
};

inline constexpr Gain kNoGain{{-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}};

// A literal as the gains see it; `e` counts the labels of the node.
struct MicroItem {
  double tp = 0, fp = 0, tn = 0, fn = 0;
  std::uint32_t e = 0;
  std::uint32_t place = 0;  // among all literals of the body
  Gain gain{}, untilted{};
  double total = tp + fp + tn + fn;

  double x() const { return (tp + fp) / total; }  // equal parts must give equal quotients
};

// What x and s of a head are confined to.
struct MicroBox {
  double x[2] = {0, 1}, s[2] = {0, 1};
  bool whole = true;
};

// Gains at one level, for the literals of one body.
class MicroGains {
 public:
  explicit MicroGains(const Form& form) : formula_(form.formula), m_(double(form.m_num) / double(form.m_den)) {}

  void set_level(const Fraction& level) {
    level_ = lowered_level(formula_, level);
    bounded_ = is_concave(formula_, level.num < 0);
  }
  bool bounded() const { return bounded_; }

  // Drop the literals (in label order) that are in no head of the box which holds all of `fixed`, at least one of them
  // and several in all, and reaches the level. What is left makes the bounds tighter, and so on. False if nothing is
  // left.
  bool restrict_to_reachable(std::vector<MicroItem>& open, std::vector<MicroItem>& fixed, double slack,
                             const MicroBox& box = {}) {
    for (bool tilted = false;;) {
      if (open.empty() || !see(open, fixed, box)) return false;
      if (!bounded_) return true;
      Sums sums[2];
      if (!tilt(open, fixed, tilted ? kTilts : 0, slack, sums)) return false;
      std::size_t n_open = 0;
      each_label(open, [&](std::size_t first, std::size_t last, const Gain& best) {
        bool may[2] = {false, false};
        for (int c = 0; c < 2; ++c) {
          const Sums& sum = sums[c];
          double rest = sum.base + sum.positive - std::max(0.0, best.by[c]);
          if (fixed.empty()) rest += std::min(0.0, best.by[c] == sum.best ? sum.second : sum.best);
          for (std::size_t i = first; i < last; ++i)
            if (rest + open[i].gain.by[c] >= -slack) may[i - first] = true;
        }
        for (std::size_t i = first; i < last; ++i)
          if (may[i - first]) open[n_open++] = open[i];
      });
      if (n_open == open.size()) {
        if (tilted) return true;
        tilted = true;
        continue;
      }
      open.resize(n_open);
      tilted = false;
    }
  }

  // Whether all literals last seen have the same x: then no head is better than its best literal, if that is not below
  // 0. Different quotients of numbers below 2**26 are different doubles.
  bool singles_decide() const {
    return seen_x_[0] == seen_x_[1] && largest_ < 0x1p26 && formula_ != Formula::m_estimate;
  }

  // The smallest and the largest x of heads in the box.
  const double* x() const { return x_; }

  // The box cut down to what the literals last seen allow, in two. False if it is too small for that to help.
  bool split(MicroBox& low, MicroBox& high) const {
    const bool by_x = formula_ != Formula::m_estimate && (is_linear(formula_) || x_[1] - x_[0] > s_[1] - s_[0]);
    const double* side = by_x ? x_ : s_;
    if (side[1] - side[0] < 1e-4) return false;
    low = high = MicroBox{{x_[0], x_[1]}, {s_[0], s_[1]}, false};
    (by_x ? low.x : low.s)[1] = (by_x ? high.x : high.s)[0] = (side[0] + side[1]) / 2;
    return true;
  }

  template <class Visit>
  static void each_label(const std::vector<MicroItem>& items, Visit&& visit) {
    for (std::size_t first = 0; first < items.size();) {
      std::size_t last = first;
      Gain best = kNoGain;
      for (; last < items.size() && items[last].e == items[first].e; ++last) best = best.at_least(items[last].gain);
      visit(first, last, best);
      first = last;
    }
  }

 private:
  struct Sums {
    double base = 0, positive = 0;
    double best = -std::numeric_limits<double>::infinity(), second = best;  // of different labels
  };
  static constexpr int kTilts = 8;

  // Finds tilts that keep the largest sum of gains small, and leaves the gains as they are then. False if that sum does
  // not reach 0 at either end. Tilts move against what the winning head exceeds the box by, as far as would bring the
  // sum to 0 if the same head won again.
  bool tilt(std::vector<MicroItem>& open, std::vector<MicroItem>& fixed, int turns, double slack, Sums sums[2]) const {
    // with this tilt, literals count by how x and s differ from the box together
    double tilts[2] = {formula_ == Formula::m_estimate ? 0 : -(s_[0] + s_[1]) / 2, 0}, best_tilts[2] = {tilts[0], 0};
    double min_sum = std::numeric_limits<double>::infinity();
    for (int turn = 0;; ++turn) {
      const bool last = turn == turns;
      if (last) std::copy_n(best_tilts, 2, tilts);
      double over[2][2] = {{0, 0}, {0, 0}};
      const double low = sum_at(open, fixed, 0, tilts, sums[0], over[0]),
                   high = sum_at(open, fixed, 1, tilts, sums[1], over[1]), sum = std::max(low, high);
      if (sum < -slack) return false;
      if (sum < min_sum) min_sum = sum, std::copy_n(tilts, 2, best_tilts);
      const double* steepest = over[high > low];
      const double length = steepest[0] * steepest[0] + steepest[1] * steepest[1];
      if (last || length == 0) return true;
      const double step = (sum + 2 * slack) / length;
      if (!(step < 1e6)) return true;
      for (int k = 0; k < 2; ++k) tilts[k] -= step * steepest[k];
    }
  }

  double sum_at(std::vector<MicroItem>& open, std::vector<MicroItem>& fixed, int end, const double tilts[2], Sums& sums,
                double over[2]) const {
    const double x_end = x_[end], s_end = s_[tilts[1] < 0];
    const auto lean_x = [&](const MicroItem& item) {
      return formula_ == Formula::m_estimate ? 0 : item.tp + item.fp - x_end * item.total;
    };
    const auto lean_s = [&](const MicroItem& item) { return item.tp + item.fn - s_end * item.total; };
    const auto take = [&](const MicroItem& item) { over[0] += lean_x(item), over[1] += lean_s(item); };
    const auto set = [&](MicroItem& item) {
      return item.gain.by[end] = item.untilted.by[end] + tilts[0] * lean_x(item) + tilts[1] * lean_s(item);
    };
    sums = {constant()};
    for (MicroItem& item : fixed) sums.base += set(item), take(item);
    const MicroItem *best = nullptr, *second = nullptr;
    for (std::size_t first = 0; first < open.size();) {
      std::size_t top = first, next = first;
      for (; next < open.size() && open[next].e == open[first].e; ++next)
        if (set(open[next]) > open[top].gain.by[end]) top = next;
      const double gained = open[top].gain.by[end];
      if (gained > 0) sums.positive += gained, take(open[top]);
      if (gained > sums.best) {
        sums.second = sums.best, second = best;
        sums.best = gained, best = &open[top];
      } else if (gained > sums.second) {
        sums.second = gained, second = &open[top];
      }
      first = next;
    }
    if (sums.best <= 0) take(*best);
    double sum = sums.base + (sums.best > 0 ? sums.positive : sums.best);
    if (!fixed.empty() || sums.second > 0) return sum;
    if (second) take(*second);
    return sum + sums.second;  // nothing, if there is no second label
  }

  // Where the literals lie, and what they gain there; false if no head of them lies in the box.
  bool see(std::vector<MicroItem>& open, std::vector<MicroItem>& fixed, const MicroBox& box) {
    double s[2] = {1, 0};
    seen_x_[0] = 1;
    seen_x_[1] = largest_ = 0;
    for (const auto* items : {&open, &fixed})
      for (const MicroItem& item : *items) {
        const double x = item.x(), share = (item.tp + item.fn) / item.total;
        largest_ = std::max(largest_, item.total);
        seen_x_[0] = std::min(seen_x_[0], x);
        seen_x_[1] = std::max(seen_x_[1], x);
        s[0] = std::min(s[0], share);
        s[1] = std::max(s[1], share);
      }
    constexpr double kRoom = 1e-12;
    x_[0] = std::max(seen_x_[0], box.x[0] - kRoom);
    x_[1] = std::min(seen_x_[1], box.x[1] + kRoom);
    s_[0] = std::max(s[0], box.s[0] - kRoom);
    s_[1] = std::min(s[1], box.s[1] + kRoom);
    chords_ = !box.whole;
    if (s_[1] < s_[0] || (formula_ != Formula::m_estimate && x_[1] < x_[0])) return false;
    if (!diagonal_reaches()) return false;
    if (chords_)
      for (int end = 0; end < 2; ++end) chord_[end].through(s_, min_share(x_[end], s_[0]), min_share(x_[end], s_[1]));
    for (auto* items : {&open, &fixed})
      for (MicroItem& item : *items) item.untilted = {{gain(item, 0), gain(item, 1)}};
    return true;
  }

  // Whether the level could be reached in the box if TP were as large as may be: t is neither above x nor above s. Then
  // what lies nearest to x = s is worth most.
  bool diagonal_reaches() const {
    if (!bounded_ || formula_ == Formula::m_estimate) return true;
    const bool below = x_[1]<s_[0], above = x_[0]> s_[1];
    if (!below && !above) return true;
    const double x = below ? x_[1] : x_[0], s = below ? s_[0] : s_[1];
    return std::min(x, s) >= min_share(x, s) - 1e-9;
  }

  double min_share(double x, double s) const { return least_share(formula_, level_, x, s); }

  double constant() const { return formula_ == Formula::m_estimate ? m_ * (s_[1] - level_) : 0; }

  double gain(const MicroItem& item, int end) const {
    if (formula_ == Formula::m_estimate) return item.tp - level_ * (item.tp + item.fp);
    const double positives = item.tp + item.fn, total = item.total;
    return item.tp - (chords_ ? chord_[end](positives, total) : total * min_share(x_[end], positives / total));
  }

  // A straight line between the ends of a concave curve, times the counts.
  struct Chord {
    double slope = 0, constant = 0;
    void through(const double at[2], double low, double high) {
      slope = at[1] - at[0] > 1e-9 ? (high - low) / (at[1] - at[0]) : 0;
      constant = slope != 0 ? low - slope * at[0] : std::min(low, high);
    }
    double operator()(double part, double total) const { return slope * part + constant * total; }
  };

  Formula formula_;
  double m_, level_ = 0;
  bool bounded_ = false, chords_ = false;
  double seen_x_[2] = {1, 0}, x_[2] = {0, 1}, s_[2] = {0, 1};
  Chord chord_[2];      // by end of the interval of x
  double largest_ = 0;  // counts of a literal
};

}  // namespace polyrule
