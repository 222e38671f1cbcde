// What is remembered of literals: how far they can get, and by which condition, so that they need not be searched in
// every node and for every rule.
//
// Whatever is kept between rules has the stamp of the training state it was found in (data/state.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "scoring/literals.hpp"

namespace polyrule {

// The value that literals are to reach.
struct Target {
  Gains gains;
  double value, scale;
  const Form* form;

  Target(const Form& form, const Fraction& at)
      : gains(form, at), value(as_double(at)), scale(double(at.den)), form(&form) {}

  // No condition of a node where the literal's label has these outcomes gives a larger denominator.
  double largest_denominator(const NodeLabel& label, const OutcomeCounts& outcomes, int literal) const {
    const auto& den = form->den;
    return double(den[0]) + double(den[1]) * double(outcomes[literal]) +
           double(den[2]) * double(outcomes[1 - literal]) + double(den[3]) * double(label.absent) +
           double(den[4]) * double(label.present);
  }

  // No condition that reaches the value with this literal has a smaller denominator, here or in a larger cover: it
  // needs so many true positives to make up for what every rule lacks.
  double least_denominator(const NodeLabel& label, int literal) const {
    double needed = -double(gains.empty_sum(label));
    for (int k = 0; k < kOutcomes; ++k)
      if (!is_right(k, literal) && gains.slope[literal][k] > 0)
        needed -= double(gains.slope[literal][k]) * double(label.outcomes[k]);
    const double each = double(gains.slope[literal][literal]);
    const double right = each > 0 ? std::max(1.0, needed / each * (1 - 1e-9)) : 1;
    return double(form->den[0]) + double(form->den[1]) * right;
  }
};

// A search over all conditions of a node gives every literal's `reach`: no condition makes num - value * den larger. It
// bounds the literal in every node below, too. A condition c covers C & c in a node with cover C, and A & c in an
// ancestor with cover A; the two differ by rows of A that are not in C, so the sum cannot grow by more than what the
// bad rows among those have cost. Doubles are enough, with some slack: a literal that is searched in vain costs time,
// nothing else.
struct Bound {
  double reach = std::numeric_limits<double>::infinity();
  double value = 0;  // of the measure, when the reach was found; at a lower value more is possible
  OutcomeCounts outcomes;

  bool is_set() const { return std::isfinite(reach); }

  bool can_reach(const NodeLabel& label, int literal, const Target& target) const {
    return !is_set() || optimistic(label, literal, target) >= 0;
  }

  double optimistic(const NodeLabel& label, int literal, const Target& target) const {
    if (!is_set()) return reach;
    double sum = reach;
    for (int k = 0; k < kOutcomes; ++k)
      if (target.gains.slope[literal][k] < 0)
        sum += double(-target.gains.slope[literal][k]) / target.scale * double(outcomes[k] - label.outcomes[k]);
    const double largest = target.largest_denominator(label, outcomes, literal);
    if (value > target.value) sum += (value - target.value) * largest;
    else sum -= (target.value - value) * target.least_denominator(label, literal);
    // numerators are about as large as denominators times the value
    const double size = largest * (1 + std::abs(value) + std::abs(target.value));
    return sum + 1e-6 + 1e-9 * (std::abs(reach) + std::abs(sum) + size);
  }
};

// What a memory was made for.
class Remembered {
 public:
  // Whether the form is another one than last time.
  bool is_new(const Form& form) {
    const bool same = num_ == form.num && den_ == form.den;
    num_ = form.num;
    den_ = form.den;
    return !same;
  }

 private:
  std::array<Count, 5> num_{}, den_{};
};

// The bounds of all literals: those of the empty body, which are kept between rules, and those along the path of a
// rule.
class Bounds {
 public:
  // `label_conditions`: whether conditions on labels are among those that are bounded.
  Bounds(const State& state, bool label_conditions, bool remembers)
      : state_(state), label_conditions_(label_conditions), remembers_(remembers), root_(state.labels * 2),
        path_(state.labels * 2) {}

  // A rule starts: the bounds of the empty body are brought up to date.
  void begin_rule(const Form& form);
  // The empty body has been searched.
  void keep_root() { root_ = path_; }

  const Bound& at(std::size_t label, int value) const { return path_[label * 2 + std::size_t(value)]; }
  void note(const NodeLabel& label, int value, double reach, double at_value) {
    if (remembers_) path_[label.label * 2 + std::size_t(value)] = {reach, at_value, label.outcomes};
  }

  // Prunes by the bound of the rows that help and by the reach of an earlier search: drops the literals that cannot
  // reach the target; false if none of the label is left.
  bool restrict_to_reachable(NodeLabel& label, const Target& target) const {
    for (int v = 0; v < 2; ++v)
      label.allowed[v] =
          label.usable(v) && target.gains.bound(label, v) >= 0 && at(label.label, v).can_reach(label, v, target);
    return label.allowed[0] || label.allowed[1];
  }

  // The labels that can reach the target, the `leading` and then the most promising ones first.
  std::vector<NodeLabel> ranked(const std::vector<NodeLabel>& labels, const Target& target,
                                const std::vector<std::uint32_t>& leading) const;

 private:
  double promise(const NodeLabel& label, const Target& target) const;
  void look_at_conditions_on(std::size_t label, const Form& form);

  const State& state_;
  const bool label_conditions_, remembers_;
  std::vector<Bound> root_, path_;  // by literal, 2 * label + value
  Remembered for_;
  Stamp stamp_;
};

// The best first condition of a literal on a numeric column.
struct FirstCondition {
  bool is_bounded = false;  // whether no first condition exceeds `value`
  bool below = false;       // whether none reaches it, either
  bool exact = false;       // whether those on `columns`, and no others, reach it
  Fraction value;
  std::vector<std::uint32_t> columns;
  std::optional<Condition> witness;  // one that was the best, to start from next time

  bool may_reach(const Fraction& level) const {
    const int order = is_bounded ? compare(value, level) : 1;
    return order > 0 || (order == 0 && !below);
  }
};

// Those of all literals, kept between rules. A rule only changes the labels of its head, and rows that leave the
// working set are mostly done with. So what a single condition can make of the other literals stays true, and only
// literals that changed are searched again, each at a value of its own, until its best value is known exactly.
class FirstConditions {
 public:
  explicit FirstConditions(std::size_t labels) : conditions_(labels * 2) {}

  FirstCondition& at(std::size_t label, int value) { return conditions_[label * 2 + std::size_t(value)]; }
  // Forgets what has become stale since the last call.
  void update(const State& state, const Form& form);

 private:
  std::vector<FirstCondition> conditions_;
  Remembered for_;
  Stamp stamp_;
};

}  // namespace polyrule
