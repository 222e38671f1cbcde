// A quick test of candidates: can the best head of a body reach a value at all? In doubles with room for rounding, from
// sums that a scan keeps per label. "No" is always right; "perhaps" is for the exact search to decide.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/lanes.hpp"
#include "data/node.hpp"
#include "judge/formula.hpp"
#include "judge/micro.hpp"

namespace polyrule {

// Covered weight of one label: unset and present, unset and absent, present, absent.
using Four = Lanes<double, 4>;

class Filter {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // `tie`: the level is reached, if at all, but not exceeded.
  enum class Verdict { no, tie, perhaps };

  Filter(const std::vector<NodeLabel>& labels, const State& state, const Form& form)
      : labels_(labels), state_(state), form_(form), micro_(form) {
    const Coefficients rows = coefficients(form, state.working_weight);
    num_ = rows.num;
    den_ = rows.den;
    gains_.resize(labels.size());
    weights_.resize(labels.size());
    group_sizes();
  }

  // What a covered row of weight 1 adds to the sums of its label.
  static Four by_kind(int kind) {
    const bool known = kind != kUnknown, present = kind & 1;
    return Four{double(kind == kPresent), double(kind == kAbsent), double(known && present), double(known && !present)};
  }

  static void kinds(const Four& sums, Count out[4]) {
    out[kPresent] = Count(sums[0]);
    out[kAbsent] = Count(sums[1]);
    out[kPresentSet] = Count(sums[2]) - out[kPresent];
    out[kAbsentSet] = Count(sums[3]) - out[kAbsent];
  }

  Counts counts(std::size_t e, const Four& sums, int value) const {
    return {Count(sums[1 - value]), Count(sums[value]), labels_[e].absent - Count(sums[3]),
            labels_[e].present - Count(sums[2])};
  }

  // From now on heads must reach `level`.
  void set_level(const Fraction& level) {
    has_level_ = true;
    always_ = !form_.rho.empty() && level.num <= 0;
    for (Group& group : groups_) set_group(group, level);
    if (!form_.rho.empty()) set_group(loosest_, level);
    micro_.set_level(level);
    lowered_ = double(level.num) / double(level.den) - 1e-13;  // formulas and their parts lie between -1 and 1
  }

  // Whether a body may reach the level; at(e) gives the sums of label e. If not, `wait` is a weight that must first
  // join (or leave, for `leaving`) the body before it may. If it can only tie, no head has more than `tp` true
  // positives.
  template <class At>
  Verdict judge(At&& at, bool leaving, double& wait, double& tp) {
    wait = 0;
    if (!has_level_ || always_) return Verdict::perhaps;
    if (form_.formula != Formula::none)
      return (form_.kind == HeadKind::micro ? any_head(at) : any_literal(at)) ? Verdict::perhaps : Verdict::no;
    if (!form_.rho.empty()) {
      // Few bodies get anywhere near the level: they are told by what the largest factor would make of them.
      if (judge_any_size(at, loosest_, leaving, wait, tp) == Verdict::no) return Verdict::no;
      return judge_sizes(at, leaving, wait, tp);
    }
    return judge_any_size(at, groups_.front(), leaving, wait, tp);
  }

 private:
  // Head sizes that are judged together. num / den >= level is num - level * den >= 0, a sum over the head's labels.
  struct Group {
    std::size_t least, most;
    Count rho;  // the largest factor among them
    double h[5] = {0, 0, 0, 0, 0};
    double slack = 0;            // more than what rounding adds up to
    bool decides = false;        // whether sums that differ at all differ by more than that
    double fastest[2] = {0, 0};  // the most that a label's sum can rise while weight 1 joins or leaves
    std::vector<double> base;    // by label, for a body that covers nothing
  };

  void group_sizes() {
    constexpr std::size_t kGroups = 16;
    const std::size_t most = std::min(form_.max_head, labels_.size());
    if (form_.rho.empty()) {
      groups_.push_back({1, most, kLiftScale, {}, 0, false, {}, {}});
      return;
    }
    const std::size_t each = std::max<std::size_t>(1, (most + kGroups - 1) / kGroups);
    const auto highest = [&](std::size_t from, std::size_t to) {
      const auto begin = form_.rho.begin();
      return *std::max_element(begin + std::ptrdiff_t(from), begin + std::ptrdiff_t(to) + 1);
    };
    for (std::size_t least = 1; least <= most; least += each) {
      const std::size_t last = std::min(most, least + each - 1);
      groups_.push_back({least, last, highest(least, last), {}, 0, false, {}, {}});
    }
    if (most > 0) loosest_ = {1, most, highest(1, most), {}, 0, false, {}, {}};
  }

  void set_group(Group& group, const Fraction& lifted) {
    Fraction level = lifted;
    bool exact = true;
    if (!form_.rho.empty()) {
      exact = lifted.num < Wide{1} << 90 && lifted.den < Wide{1} << 90;
      if (exact) level = make_fraction(lifted.num * kLiftScale, lifted.den * group.rho);
    } else {
      level = make_fraction(lifted.num, lifted.den);
    }
    double value = double(level.num) / double(level.den);
    if (!exact) value *= double(kLiftScale) / double(group.rho);
    double num = 0, den = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      group.h[i] = double(num_[i]) - value * double(den_[i]);
      num = std::max(num, std::abs(double(num_[i])));
      den = std::max(den, std::abs(double(den_[i])));
    }
    const double cells = 4 * (double(state_.working_weight) + 1) * double(labels_.size() + 1);
    group.slack = std::ldexp((num + std::abs(value) * den) * cells, -46);
    group.decides = exact && double(level.den) * group.slack * 4 < 1;
    const double* h = group.h;
    const double steps[] = {h[1] - h[4], h[1] - h[3], h[2] - h[4], h[2] - h[3], -h[3], -h[4]};
    group.fastest[0] = std::max(0.0, *std::max_element(std::begin(steps), std::end(steps)));
    group.fastest[1] = std::max(0.0, -*std::min_element(std::begin(steps), std::end(steps)));
    group.base.resize(labels_.size());
    for (std::size_t e = 0; e < labels_.size(); ++e)
      group.base[e] = h[3] * double(labels_[e].absent) + h[4] * double(labels_[e].present);
  }

  // What a label adds to the sum as the better of its literals, less what it adds outside the head; that goes to
  // `outside`.
  double gain(const Group& group, std::size_t e, const Four& sums, double& outside) const {
    const double* h = group.h;
    const double common = group.base[e] - h[4] * sums[2] - h[3] * sums[3];
    const double present = common + h[1] * sums[0] + h[2] * sums[1];
    const double absent = common + h[1] * sums[1] + h[2] * sums[0];
    const NodeLabel& label = labels_[e];
    const double best = label.allowed[0] ? (label.allowed[1] ? std::max(present, absent) : absent)
                                         : (label.allowed[1] ? present : -kInfinity);
    if (form_.scope == Scope::head) return best;
    const double other = form_.scope == Scope::all ? group.base[e] : absent;
    outside += other;
    return best - other;
  }

  // The most true positives a literal of the label can have.
  double right(std::size_t e, const Four& sums) const {
    return std::max(labels_[e].allowed[0] ? sums[1] : 0, labels_[e].allowed[1] ? sums[0] : 0);
  }

  // The weight that must move until so much is gained.
  static double weight_for(double missing, double speed) {
    if (!(missing > 0)) return 0;
    return speed > 0 ? missing / speed : kInfinity;
  }

  template <class At>
  Verdict judge_any_size(At&& at, const Group& group, bool leaving, double& wait, double& tp) {
    const bool additive = form_.kind == HeadKind::ratio, head = form_.scope == Scope::head;
    double best = -kInfinity, sum = 0, constant = group.h[0];
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const double g = gain(group, e, at(e), constant);
      gains_[e] = g;
      best = std::max(best, g);
      sum += std::max(g, 0.0);
    }
    const double reached = constant + (additive && best > 0 ? sum : best);
    if (reached < -group.slack) {
      if (head) {  // as long as no label gains this much, no head can reach the level
        const double needed = additive && constant < 0 ? -constant / double(labels_.size()) : -constant;
        wait = weight_for(needed - best - 2 * group.slack, group.fastest[leaving]);
      } else {
        wait = weight_for(-reached - 2 * group.slack, 2 * double(labels_.size()) * group.fastest[leaving]);
      }
      return Verdict::no;
    }
    if (!group.decides || reached > group.slack) return Verdict::perhaps;
    const double least = (additive ? std::min(best, 0.0) : -constant) - group.slack;
    tp = 0;
    for (std::size_t e = 0; e < labels_.size(); ++e)
      if (gains_[e] >= least) tp += right(e, at(e));
    return Verdict::tie;
  }

  // With a lift: a head of k labels must reach level / rho(k) without it; then so do the k largest gains.
  template <class At>
  Verdict judge_sizes(At&& at, bool leaving, double& wait, double& tp) {
    Verdict verdict = Verdict::no;
    double soonest = kInfinity;
    tp = 0;
    for (const Group& group : groups_) {
      double sum = group.h[0], most = -kInfinity;
      for (std::size_t e = 0; e < labels_.size(); ++e) gains_[e] = gain(group, e, at(e), sum);
      sort_first(gains_, group.most);
      for (std::size_t k = 1; k <= group.most; ++k) {
        sum += gains_[k - 1];
        if (k >= group.least) most = std::max(most, sum);
      }
      if (most >= -group.slack) {
        if (!group.decides || most > group.slack) return Verdict::perhaps;
        verdict = Verdict::tie;
        for (std::size_t e = 0; e < labels_.size(); ++e) weights_[e] = right(e, at(e));
        sort_first(weights_, group.most);
        double right = 0;
        for (std::size_t k = 0; k < group.most; ++k) right += weights_[k];
        tp = std::max(tp, right);
      } else if (verdict == Verdict::no) {
        const double labels = double(form_.scope == Scope::head ? group.most : 2 * labels_.size());
        soonest = std::min(soonest, weight_for(-most - 2 * group.slack, labels * group.fastest[leaving]));
      }
    }
    wait = verdict == Verdict::no ? soonest : 0;
    return verdict;
  }

  static void sort_first(std::vector<double>& numbers, std::size_t count) {
    if (numbers.size() > 16) {
      std::partial_sort(numbers.begin(), numbers.begin() + std::ptrdiff_t(count), numbers.end(), std::greater<>());
      return;
    }
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      const double x = numbers[i];
      std::size_t j = i;
      for (; j > 0 && numbers[j - 1] < x; --j) numbers[j] = numbers[j - 1];
      numbers[j] = x;
    }
  }

  // Other measures of the counts, where a head is worth as much as its best literal.
  template <class At>
  bool any_literal(At&& at) {
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const Four sums = at(e);
      const double tn = double(labels_[e].absent) - sums[3];
      const double fn = double(labels_[e].present) - sums[2];
      for (int v = 0; v < 2; ++v)
        if (labels_[e].allowed[v] && sums[1 - v] > 0 &&
            formula_estimate(form_, sums[1 - v], sums[v], tn, fn) >= lowered_)
          return true;
    }
    return false;
  }

  // Other measures of the counts summed over a head: see micro.hpp.
  template <class At>
  bool any_head(At&& at) {
    items_.clear();
    for (std::uint32_t e = 0; e < labels_.size(); ++e) {
      const Four sums = at(e);
      const double tn = double(labels_[e].absent) - sums[3];
      const double fn = double(labels_[e].present) - sums[2];
      for (int v = 0; v < 2; ++v)
        if (labels_[e].allowed[v] && sums[1 - v] > 0) items_.push_back({sums[1 - v], sums[v], tn, fn, e, 0});
    }
    return micro_.narrow(items_, none_, 1e-11 * double(state_.working_weight + 1) * double(labels_.size() * 2));
  }

  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Form& form_;
  std::array<Count, 5> num_{}, den_{};
  bool has_level_ = false, always_ = false;
  double lowered_ = 0;
  MicroGains micro_;
  std::vector<MicroItem> items_, none_;
  std::vector<Group> groups_;
  Group loosest_{};  // all sizes at once, with the largest factor
  std::vector<double> gains_, weights_;
};

}  // namespace polyrule
