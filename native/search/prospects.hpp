// What is known about how far a literal can get, so that it need not be searched in every node.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "judge/literals.hpp"

namespace polyrule {

// The value that literals are to reach.
struct Target {
  Gains gains;
  double value, scale;
  const Form* form;

  Target(const Form& form, const Fraction& at)
      : gains(form, at), value(as_double(at)), scale(double(at.den)), form(&form) {}

  // No condition of a node where the literal's label has these kinds gives a larger denominator.
  double largest_denominator(const NodeLabel& label, const KindCounts& kinds, int literal) const {
    const auto& den = form->den;
    return double(den[0]) + double(den[1]) * double(kinds[literal]) + double(den[2]) * double(kinds[1 - literal]) +
           double(den[3]) * double(label.absent) + double(den[4]) * double(label.present);
  }

  // No condition that reaches the value with this literal has a smaller denominator, here or in a larger cover: it
  // needs so many true positives to make up for what every rule lacks.
  double least_denominator(const NodeLabel& label, int literal) const {
    double needed = -double(gains.empty_sum(label));
    for (int k = 0; k < kKinds; ++k)
      if (!is_right(k, literal) && gains.slope[literal][k] > 0)
        needed -= double(gains.slope[literal][k]) * double(label.kinds[k]);
    const double each = double(gains.slope[literal][literal]);
    const double right = each > 0 ? std::max(1.0, needed / each * (1 - 1e-9)) : 1;
    return double(form->den[0]) + double(form->den[1]) * right;
  }
};

// A search over all conditions of a node gives every literal's `reach`: no condition makes num - value * den larger. It
// bounds the literal in every node below, too. A condition c covers C & c in a node with cover C, and A & c in an
// ancestor with cover A; the two differ by rows of A that are not in C, so the sum cannot grow by more than what the
// bad rows among those have cost. The same holds for the next rule as long as neither the label nor the working set has
// changed. Doubles are enough, with some slack: a literal that is searched in vain costs time, nothing else.
struct Prospect {
  double reach = std::numeric_limits<double>::infinity();
  double value = 0;  // of the measure, when the reach was found; at a lower value more is possible
  KindCounts kinds;

  bool known() const { return std::isfinite(reach); }

  bool can_reach(const NodeLabel& label, int literal, const Target& target) const {
    return !known() || optimistic(label, literal, target) >= 0;
  }

  double optimistic(const NodeLabel& label, int literal, const Target& target) const {
    if (!known()) return reach;
    double sum = reach;
    for (int k = 0; k < kKinds; ++k)
      if (target.gains.slope[literal][k] < 0)
        sum += double(-target.gains.slope[literal][k]) / target.scale * double(kinds[k] - label.kinds[k]);
    const double largest = target.largest_denominator(label, kinds, literal);
    if (value > target.value) sum += (value - target.value) * largest;
    else sum -= (target.value - value) * target.least_denominator(label, literal);
    // numerators are about as large as denominators times the value
    const double size = largest * (1 + std::abs(value) + std::abs(target.value));
    return sum + 1e-6 + 1e-9 * (std::abs(reach) + std::abs(sum) + size);
  }
};

// By literal, 2 * label + value.
class Prospects {
 public:
  explicit Prospects(std::size_t labels, bool remembers = true) : known_(labels * 2), remembers_(remembers) {}

  Prospect& at(std::size_t label, int value) { return known_[label * 2 + std::size_t(value)]; }
  const Prospect& at(std::size_t label, int value) const { return known_[label * 2 + std::size_t(value)]; }
  void forget() { known_.assign(known_.size(), {}); }
  void forget(std::size_t label) { at(label, 0) = at(label, 1) = {}; }
  void note(const NodeLabel& label, int value, double reach, double at_value) {
    if (remembers_) at(label.label, value) = {reach, at_value, label.kinds};
  }

  // Drops the literals that cannot reach the target; false if none of the label is left.
  bool narrow(NodeLabel& label, const Target& target) const {
    for (int v = 0; v < 2; ++v)
      label.allowed[v] =
          label.usable(v) && target.gains.bound(label, v) >= 0 && at(label.label, v).can_reach(label, v, target);
    return label.allowed[0] || label.allowed[1];
  }

  double promise(const NodeLabel& label, const Target& target) const {
    double most = -std::numeric_limits<double>::infinity();
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) most = std::max(most, at(label.label, v).optimistic(label, v, target));
    return most;
  }

  // The labels that can reach the target, the `leading` and then the most promising ones first.
  std::vector<NodeLabel> ranked(const std::vector<NodeLabel>& labels, const Target& target,
                                const std::vector<std::uint32_t>& leading) const {
    std::vector<std::pair<double, NodeLabel>> found;
    for (NodeLabel label : labels) {
      if (!narrow(label, target)) continue;
      const bool leads = std::find(leading.begin(), leading.end(), label.label) != leading.end();
      found.push_back({leads ? std::numeric_limits<double>::infinity() : promise(label, target), label});
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<NodeLabel> out;
    for (auto& [promise, label] : found) out.push_back(std::move(label));
    return out;
  }

 private:
  std::vector<Prospect> known_;
  bool remembers_;
};

}  // namespace polyrule
