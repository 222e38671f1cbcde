// What filters have in common that judge by what the literals have at most (`Reach`): in singles and doubles, with room
// for rounding.
#pragma once

#include "judge/formula.hpp"
#include "search/filter.hpp"

namespace polyrule {

inline constexpr float kBarred = 1e30f;  // far more than anything gains

class ReachFilter : public Filter {
 public:
  explicit ReachFilter(const Judged& judged);

  void set_level(const Fraction& level) override {
    ++version_;
    monotone_ = follow(level);
  }

  double judge(const Stretch& stretch) override {
    if (!monotone_ && !stretch.is_single()) return kAny;
    sums_.reach(stretch, reach_);
    return decide(stretch.leaving, !stretch.is_single());
  }

  bool rules_out(Count weight, Count of, Count least_tp) override {
    return monotone_ && (rules_out(light_, weight, weight, of, least_tp) ||
                         rules_out(heavy_, of - weight, of, of - weight, least_tp));
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
  std::uint64_t version_ = 0;   // of the level
  std::vector<float> barred_;   // by literal (`= 1`, then `= 0`): 0, or kBarred
  std::vector<float> outside_;  // by label, TN and FN outside the head

 private:
  // Weights up to `out` are ruled out, those from `open` on are not, at the level of a version.
  struct Weights {
    Count out = -1, open = 0;
    std::uint64_t version = 0;
  };

  // Whether no body below the node reaches the level that covers at most `covered`, or at least all but `left_out`. The
  // more `weight`, the more may.
  bool rules_out(Weights& known, Count weight, Count covered, Count left_out, Count least_tp);
  // What the literals have at most in such a body.
  void reach_by_weight(Count covered, Count left_out);

  bool monotone_ = false;
  Weights light_, heavy_;
};

}  // namespace polyrule
