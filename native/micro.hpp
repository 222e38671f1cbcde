// The best head by a measure of its summed counts that is no ratio: WRAcc, rate difference, Matthews, m-estimate.
//
// For a head let N be all its counts, t = TP/N, x = (TP+FP)/N, s = (TP+FN)/N. Then TP*TN - FP*FN = (t - x*s)*N*N, and a
// value of at least l >= 0 means t - x*s - l*p(x)*f(s) >= 0, where p is 1 or (Matthews) the root of x*(1-x), and f is 1
// (WRAcc), s*(1-s) (rate difference) or its root: concave. All of t, x, s are means over the head's literals, weighted by
// their counts, and p(x) and f(s) are not below the means of the literals' p and f. The products are bounded by planes: from
// (x - x0)*(s - s0) >= 0, where x0 and s0 are both the smallest of any literal or both the largest, x*s is at least
// x0*s + s0*x - x0*s0, and likewise for p*f. What is left is a mean over the literals: a sum of gains, one per literal, that
// must reach 0, for either corner. The m-estimate is such a sum, with m*(s - l) as a constant, largest for the largest s.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "formula.hpp"
#include "watch.hpp"

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
};

// By corner: the smallest, the largest.
struct Gain {
  double by[2];
  void operator+=(const Gain& other) {
    by[0] += other.by[0];
    by[1] += other.by[1];
  }
  Gain at_least(const Gain& other) const {
    return {{std::max(by[0], other.by[0]), std::max(by[1], other.by[1])}};
  }
};

inline constexpr Gain kNoGain{{-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}};

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

  // First all literals of the body ...
  void begin() {
    x_[0] = s_[0] = 1;
    x_[1] = s_[1] = 0;
  }
  void see(double tp, double fp, double tn, double fn) {
    const double total = tp + fp + tn + fn;
    const double x = (tp + fp) / total, s = (tp + fn) / total;  // equal parts must give equal quotients
    x_[0] = std::min(x_[0], x);
    x_[1] = std::max(x_[1], x);
    s_[0] = std::min(s_[0], s);
    s_[1] = std::max(s_[1], s);
  }
  void end() {
    if (formula_ != Formula::matthews) return;
    spread(x_, p_);
    spread(s_, f_);
  }

  // ... then the gain of each, and what is added to the sum of a head's gains.
  Gain gain(double tp, double fp, double tn, double fn) const {
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
  double constant() const { return formula_ == Formula::m_estimate ? m_ * (s_[1] - level_) : 0; }
  // Whether all literals have the same x: then no head is better than its best literal, if that is not below 0.
  bool singles_decide() const { return x_[0] == x_[1] && formula_ != Formula::m_estimate; }

 private:
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
};

// Branch and bound over the labels of one body.
class MicroHeads {
 public:
  struct Literal {
    HeadLiteral literal;
    Counts counts;
    Gain gain{};
  };

  MicroHeads(const Form& form, const Patience& patience) : form_(form), patience_(patience), gains_(form) {}

  // The best head of literals in label order (`= 1` first), or none if a level is given that no head reaches.
  Head best(const std::vector<Literal>& literals, std::size_t most_labels, const Fraction* level) {
    best_ = {};
    labels_.clear();
    for (const Literal& l : literals) {
      if (labels_.empty() || labels_.back().choices.front().literal.label != l.literal.label) labels_.emplace_back();
      labels_.back().choices.push_back(l);
    }
    most_ = std::min(most_labels, labels_.size());
    slack_ = 0;
    for (const Literal& l : literals)
      slack_ += 1e-11 * double(l.counts.tp + l.counts.fp + l.counts.tn + l.counts.fn + 1);
    has_target_ = level != nullptr;
    if (level) target_ = *level;
    for (const Literal& l : literals) {
      chosen_ = {l};
      try_chosen(l.counts);
    }
    chosen_.clear();
    if (!has_target_ || !drop_hopeless()) return best_;
    std::stable_sort(labels_.begin(), labels_.end(), [](const Label& a, const Label& b) { return a.most.by[1] > b.most.by[1]; });
    set_gains();
    descend(0, {});
    std::sort(best_.literals.begin(), best_.literals.end(), [](auto& a, auto& b) { return a.label < b.label; });
    return best_;
  }

 private:
  struct Label {
    std::vector<Literal> choices;
    Gain most{};       // the largest gains
    Gain gain_left{};  // what this label and those after it can add at most
    Gain most_left{};  // the largest gains among them
    Count tp_left = 0;
  };

  // Take out the literals that are in no head that reaches the target; what is left makes the bounds tighter, and so on.
  // False if nothing is left.
  bool drop_hopeless() {
    for (bool dropped = true; dropped && !labels_.empty();) {
      set_gains();
      dropped = false;
      if (!gains_.bounded()) return true;
      const Gain all = labels_.front().gain_left;
      for (Label& label : labels_) {
        const auto hopeless = [&](const Literal& l) {
          for (int corner = 0; corner < 2; ++corner) {
            const double others = all.by[corner] - std::max(0.0, label.most.by[corner]);
            if (gains_.constant() + others + l.gain.by[corner] < -slack_) return true;
          }
          return false;
        };
        dropped = std::erase_if(label.choices, hopeless) > 0 || dropped;
      }
      std::erase_if(labels_, [](const Label& label) { return label.choices.empty(); });
    }
    return !labels_.empty();
  }

  void set_gains() {
    gains_.set_level(target_);
    gains_.begin();
    for (const Label& label : labels_)
      for (const Literal& l : label.choices)
        gains_.see(double(l.counts.tp), double(l.counts.fp), double(l.counts.tn), double(l.counts.fn));
    gains_.end();
    Gain gain_left{}, most_left = kNoGain;
    Count tp_left = 0;
    for (std::size_t i = labels_.size(); i-- > 0;) {
      Label& label = labels_[i];
      label.most = kNoGain;
      Count tp = 0;
      for (Literal& l : label.choices) {
        l.gain = gains_.gain(double(l.counts.tp), double(l.counts.fp), double(l.counts.tn), double(l.counts.fn));
        label.most = label.most.at_least(l.gain);
        tp = std::max(tp, l.counts.tp);
      }
      gain_left += label.most.at_least({{0, 0}});
      label.gain_left = gain_left;
      label.most_left = most_left = most_left.at_least(label.most);
      label.tp_left = tp_left += tp;
    }
    for (Literal& l : chosen_)
      l.gain = gains_.gain(double(l.counts.tp), double(l.counts.fp), double(l.counts.tn), double(l.counts.fn));
  }

  void descend(std::size_t depth, const Counts& sum) {
    patience_.step();
    if (depth == labels_.size() || chosen_.size() == most_ || hopeless(depth, sum)) return;
    for (std::size_t k = 0; k < labels_[depth].choices.size(); ++k) {
      const Counts& c = labels_[depth].choices[k].counts;
      const Counts grown{sum.tp + c.tp, sum.fp + c.fp, sum.tn + c.tn, sum.fn + c.fn};
      chosen_.push_back(labels_[depth].choices[k]);
      if (chosen_.size() > 1) try_chosen(grown);
      descend(depth + 1, grown);
      chosen_.pop_back();
    }
    descend(depth + 1, sum);
  }

  // Whether no head that adds at least one of the labels from `depth` on can win.
  bool hopeless(std::size_t depth, const Counts& sum) const {
    const Label& label = labels_[depth];
    if (gains_.bounded()) {
      Gain chosen{{gains_.constant(), gains_.constant()}};
      for (const Literal& l : chosen_) chosen += l.gain;
      for (int corner = 0; corner < 2; ++corner) {
        const double most = label.most_left.by[corner];
        if (chosen.by[corner] + (most > 0 ? label.gain_left.by[corner] : most) < -slack_) return true;
      }
    }
    if (!best_.any() || !gains_.singles_decide() || target_.num < 0) return false;
    // Nothing but ties is left: they go to more labels, then to more true positives.
    const std::size_t size = std::min(most_, chosen_.size() + labels_.size() - depth);
    if (size != best_.literals.size()) return size < best_.literals.size();
    return sum.tp + label.tp_left < best_.tp;
  }

  void try_chosen(const Counts& sum) {
    const Fraction value = formula_value(form_, sum);
    const int order = has_target_ ? compare(value, target_) : 1;
    if (order < 0) return;
    if (order == 0 && best_.any() && !wins_tie(sum.tp)) return;
    best_.value = value;
    best_.tp = sum.tp;
    best_.literals.clear();
    for (const Literal& l : chosen_) best_.literals.push_back(l.literal);
    std::sort(best_.literals.begin(), best_.literals.end(), [](auto& a, auto& b) { return a.label < b.label; });
    if (order == 0) return;
    target_ = value;
    if (has_target_ && chosen_.size() > 1) set_gains();
    has_target_ = true;
  }

  // More labels, more true positives, the first labels, `= 1` before `= 0`.
  bool wins_tie(Count tp) const {
    if (chosen_.size() != best_.literals.size()) return chosen_.size() > best_.literals.size();
    if (tp != best_.tp) return tp > best_.tp;
    std::vector<std::pair<std::uint32_t, int>> mine;
    for (const Literal& l : chosen_) mine.push_back({l.literal.label, -l.literal.value});
    std::sort(mine.begin(), mine.end());
    const auto differs = [&](auto&& mine_of, auto&& best_of) {
      for (std::size_t i = 0; i < mine.size(); ++i)
        if (mine_of(mine[i]) != best_of(best_.literals[i])) return mine_of(mine[i]) < best_of(best_.literals[i]) ? 1 : -1;
      return 0;
    };
    const int by_label = differs([](auto& m) { return int(m.first); }, [](auto& l) { return int(l.label); });
    if (by_label != 0) return by_label > 0;
    return differs([](auto& m) { return m.second; }, [](auto& l) { return -l.value; }) > 0;
  }

  const Form& form_;
  const Patience& patience_;
  MicroGains gains_;
  std::vector<Label> labels_;
  std::size_t most_ = 0;
  double slack_ = 0;
  bool has_target_ = false;
  Fraction target_;
  std::vector<Literal> chosen_;
  Head best_;
};

}  // namespace polyrule
