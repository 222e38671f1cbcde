// A quick test of bodies for example-wise Hamming accuracy where labels are set on some examples: can any head reach a
// value? "No" is always right.
//
// A head of one literal is worth (TP + TN) / W. A covered example is worth no more to a head of k labels than the share
// of those that are right or set, so a head is worth no more than the mean over its literals of (TP + set + TN) / W; if
// it has several, no more than that of the two best. Over a stretch of boundaries every row that joins the body is
// counted where it is worth more, inside or outside.
#pragma once

#include <algorithm>
#include <vector>

#include "data/node.hpp"
#include "search/filter.hpp"
#include "search/sums.hpp"

namespace polyrule {

class HammingFilter : public Filter {
 public:
  HammingFilter(const std::vector<NodeLabel>& labels, const State& state, const Sums& sums, bool several)
      : labels_(labels), state_(state), sums_(sums), several_(several), most_(labels.size()), right_(labels.size()) {}

  void set_level(const Fraction& level) override {
    const Wide twice = level.num * state_.working_weight * 2, rest = twice % level.den;
    level_ = Count((twice - rest) / level.den) + (rest > 0);  // of twice a sum of weights
    is_whole_ = rest == 0;
  }

  Verdict judge(bool leaving, Count weight, double& tp) override {
    return decide(sums_.sums(), sums_.sums(), leaving, weight, tp);
  }

  Verdict judge(std::size_t first, std::size_t last, bool leaving, Count weight, double& tp) override {
    return decide(sums_.at(first), sums_.at(last), leaving, weight, tp);
  }

 private:
  Verdict decide(const Sums::Number* from, const Sums::Number* to, bool leaving, Count weight, double& most_right) {
    Count tp = 0;
    const Verdict verdict = decide(from, to, leaving, weight, tp);
    most_right = double(tp);
    return verdict;
  }

  Verdict decide(const Sums::Number* from, const Sums::Number* to, bool leaving, Count weight, Count& tp) {
    Count best = kNone, second = kNone;  // of TP + set + TN, by label
    bool ties = false;
    tp = 0;
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const NodeLabel& label = labels_[e];
      const auto [least, most] = sums_.ends(from, to, leaving, e);
      const Count tn = label.absent - least[3];
      most_[e] = kNone;
      right_[e] = 0;
      const auto look = [&](Count right, Count alone, Count together) {
        if (right <= 0) return false;
        if (2 * alone == level_ && is_whole_) ties = true, tp = std::max(tp, right);
        else if (2 * alone >= level_) return true;
        most_[e] = std::max(most_[e], together);
        right_[e] = std::max(right_[e], right);
        return false;
      };
      const Count set = (most[2] - most[0]) - (least[2] - least[0]);
      if (label.allowed[1] && look(most[0], most[0] + tn, weight + tn - least[1] + (most[2] - least[2])))
        return Verdict::perhaps;
      if (label.allowed[0] && look(most[1], least[1] + tn, weight + tn - least[0] + set)) return Verdict::perhaps;
      if (most_[e] > best) second = best, best = most_[e];
      else if (most_[e] > second) second = most_[e];
    }
    if (several_ && second > kNone && best + second >= level_) {
      if (best + second > level_ || !is_whole_) return Verdict::perhaps;
      // the best label with one that is second, or, if they are the same, any of these
      Count first = 0, other = 0, sum = 0;
      for (std::size_t e = 0; e < labels_.size(); ++e) {
        if (most_[e] == best) first = std::max(first, right_[e]), sum += right_[e];
        else if (most_[e] == second) other = std::max(other, right_[e]);
      }
      if (best != second) sum = first + other;
      tp = std::max(tp, sum);
      return Verdict::tie;
    }
    return ties ? Verdict::tie : Verdict::no;
  }

  static constexpr Count kNone = -(Count{1} << 60);
  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Sums& sums_;
  const bool several_;
  Count level_ = kNone;
  bool is_whole_ = false;
  std::vector<Count> most_, right_;  // by label
};

}  // namespace polyrule
