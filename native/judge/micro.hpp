// The best head by a measure of its summed counts that is no ratio: WRAcc, rate difference, Matthews, m-estimate.
//
// For a head let N be all its counts, t = TP/N, x = (TP+FP)/N, s = (TP+FN)/N. Then TP*TN - FP*FN = (t - x*s)*N*N, and a
// value of at least l >= 0 means t - x*s - l*p(x)*f(s) >= 0, where p is 1 or (Matthews) the root of x*(1-x), and f is 1
// (WRAcc), s*(1-s) (rate difference) or its root: concave. All of t, x, s are means over the head's literals, weighted
// by their counts, and p(x) and f(s) are not below the means of the literals' p and f. The products are bounded by
// planes: from (x - x0)*(s - s0) >= 0, where x0 and s0 are both the smallest of any literal or both the largest, x*s is
// at least x0*s + s0*x - x0*s0, and likewise for p*f. What is left is a mean over the literals: a sum of gains, one per
// literal, that must reach 0, for either corner. The m-estimate is such a sum, with m*(s - l) as a constant, largest
// for the largest s.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/watch.hpp"
#include "judge/formula.hpp"

namespace polyrule {

struct HeadLiteral {
  std::uint32_t label;
  int value;
  Count tp, fp;
};

struct Head {
  Fraction value;
  Count tp = 0;
  std::vector<HeadLiteral> literals;
  bool any() const { return !literals.empty(); }
  bool has(std::size_t label) const {
    return std::any_of(literals.begin(), literals.end(),
                       [&](const HeadLiteral& literal) { return literal.label == label; });
  }
};

// By corner: the smallest, the largest.
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
  double tp, fp, tn, fn;
  std::uint32_t e;
  std::uint32_t place;  // among all literals of the body
  Gain gain{};

  double x() const { return (tp + fp) / (tp + fp + tn + fn); }  // equal parts must give equal quotients
};

// Gains at one level, for the literals of one body.
class MicroGains {
 public:
  explicit MicroGains(const Form& form) : formula_(form.formula), m_(double(form.m_num) / double(form.m_den)) {}

  void set_level(const Fraction& level) {
    level_ = double(level.num) / double(level.den);
    if (formula_ == Formula::matthews) level_ = std::sqrt(std::max(level_, 0.0));
    level_ -= 1e-12;
    // Below 0 the inequality turns round for a concave f.
    bounded_ = level.num >= 0 || formula_ == Formula::wracc || formula_ == Formula::m_estimate;
  }
  bool bounded() const { return bounded_; }

  // Drop the literals (in label order) that are in no head which holds all of `fixed` and at least one of them and
  // reaches the level. What is left makes the bounds tighter, and so on. False if nothing is left.
  bool narrow(std::vector<MicroItem>& open, std::vector<MicroItem>& fixed, double slack) {
    for (;;) {
      if (open.empty()) return false;
      see(open, fixed);
      if (!bounded_) return true;
      Gain base{{constant(), constant()}}, sum{}, best = kNoGain;
      for (MicroItem& item : fixed) base += item.gain = gain(item);
      for (MicroItem& item : open) item.gain = gain(item);
      each_label(open, [&](std::size_t, std::size_t, const Gain& most) {
        sum += most.at_least({{0, 0}});
        best = best.at_least(most);
      });
      for (int c = 0; c < 2; ++c)
        if (base.by[c] + (best.by[c] > 0 ? sum.by[c] : best.by[c]) < -slack) return false;
      std::size_t kept = 0;
      each_label(open, [&](std::size_t first, std::size_t last, const Gain& most) {
        Gain others = base;
        for (int c = 0; c < 2; ++c) others.by[c] += sum.by[c] - std::max(0.0, most.by[c]);
        for (std::size_t i = first; i < last; ++i)
          if (others.by[0] + open[i].gain.by[0] >= -slack && others.by[1] + open[i].gain.by[1] >= -slack)
            open[kept++] = open[i];
      });
      if (kept == open.size()) return true;
      open.resize(kept);
    }
  }

  // Whether all literals last seen have the same x: then no head is better than its best literal, if that is not below
  // 0. Different quotients of numbers below 2**26 are different doubles.
  bool singles_decide() const { return x_[0] == x_[1] && largest_ < 0x1p26 && formula_ != Formula::m_estimate; }

  template <class Visit>
  static void each_label(const std::vector<MicroItem>& items, Visit&& visit) {
    for (std::size_t first = 0; first < items.size();) {
      std::size_t last = first;
      Gain most = kNoGain;
      for (; last < items.size() && items[last].e == items[first].e; ++last) most = most.at_least(items[last].gain);
      visit(first, last, most);
      first = last;
    }
  }

 private:
  void see(const std::vector<MicroItem>& open, const std::vector<MicroItem>& fixed) {
    x_[0] = s_[0] = 1;
    x_[1] = s_[1] = largest_ = 0;
    for (const auto* items : {&open, &fixed})
      for (const MicroItem& item : *items) {
        const double total = item.tp + item.fp + item.tn + item.fn, x = item.x(), s = (item.tp + item.fn) / total;
        largest_ = std::max(largest_, total);
        x_[0] = std::min(x_[0], x);
        x_[1] = std::max(x_[1], x);
        s_[0] = std::min(s_[0], s);
        s_[1] = std::max(s_[1], s);
      }
    if (formula_ != Formula::matthews) return;
    spread(x_, p_);
    spread(s_, f_);
  }

  double constant() const { return formula_ == Formula::m_estimate ? m_ * (s_[1] - level_) : 0; }

  Gain gain(const MicroItem& item) const {
    const double tp = item.tp, fp = item.fp, tn = item.tn, fn = item.fn;
    if (formula_ == Formula::m_estimate) {
      const double gain = tp - level_ * (tp + fp);
      return {{gain, gain}};
    }
    const double predicted = tp + fp, positives = tp + fn, negatives = fp + tn, total = positives + negatives;
    double cost = level_ * total;
    if (formula_ == Formula::rate_difference) cost = level_ * positives * negatives / total;
    const auto at = [&](int corner) {
      return tp - x_[corner] * positives - s_[corner] * predicted + x_[corner] * s_[corner] * total;
    };
    if (formula_ != Formula::matthews) return {{at(0) - cost, at(1) - cost}};
    const double p = std::sqrt(predicted * (tn + fn)), f = std::sqrt(positives * negatives);
    const auto root = [&](int corner) {
      return level_ * (p_[corner] * f + f_[corner] * p - p_[corner] * f_[corner] * total);
    };
    return {{at(0) - root(0), at(1) - root(1)}};
  }

  // The smallest and largest root of y * (1 - y) over an interval.
  static void spread(const double y[2], double root[2]) {
    const double low = std::sqrt(std::max(0.0, y[0] * (1 - y[0]))), high = std::sqrt(std::max(0.0, y[1] * (1 - y[1])));
    root[0] = std::min(low, high);
    root[1] = y[0] < 0.5 && y[1] > 0.5 ? 0.5 : std::max(low, high);
  }

  Formula formula_;
  double m_, level_ = 0;
  bool bounded_ = false;
  double x_[2] = {1, 0}, s_[2] = {1, 0}, p_[2] = {0, 0}, f_[2] = {0, 0};
  double largest_ = 0;  // counts of a literal
};

// Branch and bound over the labels of one body. Labels with the smallest x are decided first: once all that is left has
// the same x, single literals decide.
class MicroHeads {
 public:
  struct Literal {
    HeadLiteral literal;
    Counts counts;
  };

  MicroHeads(const Form& form, const Patience& patience) : form_(form), patience_(patience), gains_(form) {}

  // The best head of literals in label order (`= 1` first), or none if a level is given that no head reaches.
  Head best(const std::vector<Literal>& literals, std::size_t most_labels, const Fraction* level) {
    literals_ = &literals;
    most_ = most_labels;
    has_target_ = level != nullptr;
    if (level) set_target(*level);
    std::vector<MicroItem> open;
    for (std::uint32_t i = 0; i < literals.size(); ++i) {
      const Counts& c = literals[i].counts;
      open.push_back({double(c.tp), double(c.fp), double(c.tn), double(c.fn), literals[i].literal.label, i});
      slack_ += 1e-11 * double(c.tp + c.fp + c.tn + c.fn + 1);
      fixed_ = {open.back()};
      try_fixed(c);
    }
    fixed_.clear();
    if (most_ > 1) descend(std::move(open), {});
    return best_;
  }

 private:
  void descend(std::vector<MicroItem> open, const Counts& sum) {
    patience_.step();
    if (fixed_.size() == most_ || !gains_.narrow(open, fixed_, slack_) || only_worse_ties(open, sum)) return;
    const auto [first, last] = next_label(open);
    std::vector<MicroItem> rest(open.begin(), open.begin() + std::ptrdiff_t(first));
    rest.insert(rest.end(), open.begin() + std::ptrdiff_t(last), open.end());
    for (std::size_t i = first; i < last; ++i) {
      const Counts& c = (*literals_)[open[i].place].counts;
      const Counts grown{sum.tp + c.tp, sum.fp + c.fp, sum.tn + c.tn, sum.fn + c.fn};
      fixed_.push_back(open[i]);
      if (fixed_.size() > 1) try_fixed(grown);
      descend(rest, grown);
      fixed_.pop_back();
    }
    descend(std::move(rest), sum);
  }

  // Whether nothing but ties is left, and those lose: more labels win, then more true positives.
  bool only_worse_ties(const std::vector<MicroItem>& open, const Counts& sum) const {
    if (!gains_.singles_decide() || target_.num < 0) return false;
    if (!best_.any()) return true;
    std::size_t labels = 0;
    double tp = double(sum.tp);
    MicroGains::each_label(open, [&](std::size_t first, std::size_t last, const Gain&) {
      ++labels;
      double most = 0;
      for (std::size_t i = first; i < last; ++i) most = std::max(most, open[i].tp);
      tp += most;
    });
    const std::size_t size = std::min(most_, fixed_.size() + labels);
    return size != best_.literals.size() ? size < best_.literals.size() : tp < double(best_.tp);
  }

  std::pair<std::size_t, std::size_t> next_label(const std::vector<MicroItem>& open) const {
    std::pair<std::size_t, std::size_t> found{0, 0};
    double least = 2, highest = 0;
    const bool by_x = form_.formula != Formula::m_estimate;
    MicroGains::each_label(open, [&](std::size_t first, std::size_t last, const Gain& most) {
      double x = by_x ? 2 : 0;
      for (std::size_t i = first; by_x && i < last; ++i) x = std::min(x, open[i].x());
      if (x > least || (x == least && most.by[1] <= highest)) return;
      least = x;
      highest = most.by[1];
      found = {first, last};
    });
    return found;
  }

  void try_fixed(const Counts& sum) {
    const Fraction value = formula_value(form_, sum);
    const int order = has_target_ ? compare(value, target_) : 1;
    if (order < 0 || (order == 0 && best_.any() && !wins_tie(sum.tp))) return;
    best_.value = value;
    best_.tp = sum.tp;
    best_.literals.clear();
    for (const MicroItem& item : fixed_) best_.literals.push_back((*literals_)[item.place].literal);
    std::sort(best_.literals.begin(), best_.literals.end(), [](auto& a, auto& b) { return a.label < b.label; });
    if (order > 0) set_target(value);
  }

  void set_target(const Fraction& value) {
    target_ = value;
    has_target_ = true;
    gains_.set_level(value);
  }

  // More labels, more true positives, the first labels, `= 1` before `= 0`.
  bool wins_tie(Count tp) const {
    if (fixed_.size() != best_.literals.size()) return fixed_.size() > best_.literals.size();
    if (tp != best_.tp) return tp > best_.tp;
    std::vector<std::pair<std::uint32_t, int>> mine;
    for (const MicroItem& item : fixed_) {
      const HeadLiteral& literal = (*literals_)[item.place].literal;
      mine.push_back({literal.label, -literal.value});
    }
    std::sort(mine.begin(), mine.end());
    const auto differs = [&](auto&& mine_of, auto&& best_of) {
      for (std::size_t i = 0; i < mine.size(); ++i)
        if (mine_of(mine[i]) != best_of(best_.literals[i]))
          return mine_of(mine[i]) < best_of(best_.literals[i]) ? 1 : -1;
      return 0;
    };
    const int by_label = differs([](auto& m) { return int(m.first); }, [](auto& l) { return int(l.label); });
    if (by_label != 0) return by_label > 0;
    return differs([](auto& m) { return m.second; }, [](auto& l) { return -l.value; }) > 0;
  }

  const Form& form_;
  const Patience& patience_;
  MicroGains gains_;
  const std::vector<Literal>* literals_ = nullptr;
  std::size_t most_ = 0;
  double slack_ = 0;
  bool has_target_ = false;
  Fraction target_;
  std::vector<MicroItem> fixed_;
  Head best_;
};

}  // namespace polyrule
