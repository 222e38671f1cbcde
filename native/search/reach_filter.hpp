// What filters have in common that judge by what the literals have at most (`Reach`): in singles and doubles, with room
// for rounding.
#pragma once

#include "scoring/formula.hpp"
#include "search/filter.hpp"

namespace polyrule {

inline constexpr float kBarred = 1e30f;  // far more than anything gains

class ReachFilter : public Filter {
 public:
  explicit ReachFilter(const Judged& judged);

  void set_level(const Fraction& level) override { monotone_ = follow(level); }

  double judge(const Stretch& stretch) override {
    if (!monotone_ && !stretch.is_single()) return kAny;
    sums_.reach(stretch, reach_);
    return decide(stretch.leaving, !stretch.is_single());
  }

 protected:
  // Heads must reach another level. Whether what no literal exceeds bounds what a head is worth there.
  virtual bool follow(const Fraction& level) = 0;
  // What is to be said of the reach; `stretch`: of all bodies that have no more.
  virtual double decide(bool leaving, bool stretch) = 0;

  // Whether a sum of gains may reach 0, in singles; h: what a constant, TP, FP, TN and FN add. `additive`: all labels
  // that gain something count, not the best one alone.
  bool gains_reach(double constant, const double h[5], bool additive) const;

  // What counts that do not fit singles may change in a value.
  double rounding() const { return state_.working_weight < Count{1} << 24 ? 0 : 1e-5; }

  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Form& form_;
  const Sums& sums_;
  Reach reach_;
  std::vector<float> barred_;   // by literal (`= 1`, then `= 0`): 0, or kBarred
  std::vector<float> outside_;  // by label, TN and FN outside the head

 private:
  bool monotone_ = false;
};

}  // namespace polyrule
