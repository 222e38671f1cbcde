// A quick test of bodies for a monotone function of the counts summed over a head: can any head reach a value? From
// what literals have at most, at one boundary or over a stretch of them.
//
// Of heads of k literals, look at the literal with the most false positives, the r-th in their order. The head has at
// least its FP and the k - 1 fewest, and at most its TP and the k - 1 most of the literals before it.
#pragma once

#include <algorithm>
#include <vector>

#include "data/node.hpp"
#include "judge/ceilings.hpp"
#include "search/filter.hpp"
#include "search/sums.hpp"

namespace polyrule {

class FunctionFilter : public Filter {
 public:
  FunctionFilter(const std::vector<NodeLabel>& labels, const State& state, const Form& form, const Sums& sums)
      : labels_(labels), form_(form), sums_(sums), singles_(form.kind == HeadKind::counted),
        most_(state.working_weight * static_cast<Count>(std::max<std::size_t>(1, labels.size()))) {}

  void set_level(const Fraction& level) override { level_ = Valuer::from_order(static_cast<Count>(level.num)); }

  Verdict judge(bool leaving, Count, double& tp) override { return decide(sums_.sums(), sums_.sums(), leaving, tp); }

  Verdict judge(std::size_t first, std::size_t last, bool leaving, Count, double& tp) override {
    return decide(sums_.at(first), sums_.at(last), leaving, tp);
  }

 private:
  Verdict decide(const Sums::Number* from, const Sums::Number* to, bool leaving, double& tp) {
    form_.ceilings->begin(level_, most_);
    collect(from, to, leaving);
    ties_ = false;
    tp_ = 0;
    const std::size_t sizes = std::min(form_.max_head, tn_.size());
    if (sizes == 0) return Verdict::no;
    if (singles_) return decide_singles(tp);
    std::sort(tn_.begin(), tn_.end(), std::greater<>());
    std::sort(fn_.begin(), fn_.end());
    std::sort(literals_.begin(), literals_.end(), [](auto& a, auto& b) { return a.fp < b.fp; });
    right_.clear();
    for (const Counts& literal : literals_) right_.push_back(literal.tp);
    std::sort(right_.begin(), right_.end(), std::greater<>());
    corners_.assign(1, {});
    for (std::size_t k = 0; k < sizes; ++k) {
      const Counts& last = corners_.back();
      corners_.push_back({last.tp + right_[k], last.fp + literals_[k].fp, last.tn + tn_[k], last.fn + fn_[k]});
    }
    if (any_passes(1, sizes)) return Verdict::perhaps;
    tp = double(tp_);
    return ties_ ? Verdict::tie : Verdict::no;
  }

  Verdict decide_singles(double& tp) {
    Counts best = literals_.front();
    for (const Counts& literal : literals_)
      best = {std::max(best.tp, literal.tp), std::min(best.fp, literal.fp), std::max(best.tn, literal.tn),
              std::min(best.fn, literal.fn)};
    if (form_.ceilings->is_below(best)) return Verdict::no;
    for (const Counts& literal : literals_)
      if (passes(literal)) return Verdict::perhaps;
    tp = double(tp_);
    return ties_ ? Verdict::tie : Verdict::no;
  }

  // Whether a head of one of these sizes may be worth more than the level; several sizes are ruled out together.
  bool any_passes(std::size_t least, std::size_t most) {
    const Counts &small = corners_[least], &large = corners_[most];
    if (least == most) return form_.ceilings->look(small) != Ceilings::Answer::below && passes_by_worst(least, small);
    if (form_.ceilings->is_below({large.tp, small.fp, large.tn, small.fn})) return false;
    const std::size_t middle = (least + most) / 2;
    return any_passes(least, middle) || any_passes(middle + 1, most);
  }

  // Whether counts may be worth more than the level; those that are just worth it are noted.
  bool passes(const Counts& counts) {
    const Ceilings::Answer answer = form_.ceilings->look(counts);
    if (answer == Ceilings::Answer::tie) {
      ties_ = true;
      tp_ = singles_ ? tp_ + counts.tp : std::max(tp_, counts.tp);  // literals that tie make one head
    }
    return answer == Ceilings::Answer::perhaps;
  }

  // The same for heads of size k, literal by literal as the one with the most false positives.
  bool passes_by_worst(std::size_t k, const Counts& corner) {
    Count fewest = 0, sum = 0,
          highest = -1;  // FP of the first k - 1, TP of the best k - 1, and what has been looked at
    right_before_.clear();
    for (std::size_t r = 0; r < literals_.size(); ++r) {
      const Counts& last = literals_[r];
      if (r + 1 >= k && (k == 1 || last.tp + sum > highest)) {
        highest = last.tp + sum;
        if (passes(k == 1 ? last : Counts{highest, fewest + last.fp, corner.tn, corner.fn})) return true;
      }
      if (r + 1 < k) fewest += last.fp;
      // the smallest of the k - 1 largest is in front
      right_before_.push_back(last.tp);
      std::push_heap(right_before_.begin(), right_before_.end(), std::greater<>());
      sum += last.tp;
      if (right_before_.size() < k) continue;
      std::pop_heap(right_before_.begin(), right_before_.end(), std::greater<>());
      sum -= right_before_.back();
      right_before_.pop_back();
    }
    return false;
  }

  void collect(const Sums::Number* from, const Sums::Number* to, bool leaving) {
    literals_.clear();
    tn_.clear();
    fn_.clear();
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      const NodeLabel& label = labels_[e];
      const auto [least, most] = sums_.ends(from, to, leaving, e);
      const Count tn = label.absent - least[3], fn = label.present - most[2];
      const bool present = label.allowed[1] && most[0] > 0, absent = label.allowed[0] && most[1] > 0;
      if (present) literals_.push_back({most[0], least[1], tn, fn});
      if (absent) literals_.push_back({most[1], least[0], tn, fn});
      if (!present && !absent) continue;
      tn_.push_back(tn);
      fn_.push_back(fn);
    }
  }

  const std::vector<NodeLabel>& labels_;
  const Form& form_;
  const Sums& sums_;
  const bool singles_;  // a head is worth as much as its best literal
  const Count most_;
  double level_ = 0;
  bool ties_ = false;
  Count tp_ = 0;
  std::vector<Counts> literals_;
  std::vector<Counts> corners_;  // by size: what no head exceeds
  std::vector<Count> tn_, fn_, right_, right_before_;
};

}  // namespace polyrule
