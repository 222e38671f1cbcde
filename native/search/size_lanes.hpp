// A quick test for lifted values: can a head of any size reach the level? Sizes are lanes of a vector.
//
// A head of k literals reaches the level if a sum of gains, one per literal at the level divided by its lift, is not
// below 0 (docs/theory.md, lifted values). The k largest of n numbers g add up to no more than k*t + sum of max(0, g -
// t), whatever t is, and to just that where t lies between the k-th and the next. So nothing is sorted here: t comes
// from earlier bodies.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "judge/form.hpp"

namespace polyrule {

class SizeLanes {
 public:
  static constexpr std::size_t kLanes = 16;
  using Lanes = std::array<float, kLanes>;

  struct Lane {
    std::size_t least = 1, most = 1;  // sizes that are judged together
    double h[5] = {0, 0, 0, 0, 0};    // what a constant, TP, FP, TN and FN add at their lowest level
    double drop = 0;                  // heads of `least` labels need so much more, times the smallest denominator
  };

  // `barred`: by literal (`= 1`, then `= 0`), what keeps it out of a head.
  void set_labels(const std::vector<float>& barred, std::size_t labels);
  // `weight`: no label's four counts add up to more.
  void set_level(const std::vector<Lane>& lanes, double weight, Scope scope);

  // Whether some lane may reach 0. `out`: for every lane a number that is not below its largest sum of gains. `reach`
  // as `Reach` has it; `outside`: by label, TN and FN of a label that is outside the head (scope all); `denominator`:
  // the least that a literal adds to the denominator.
  bool judge(const float* reach, const float* outside, const Lanes& t, float denominator, Lanes& out) const;

 private:
  std::size_t stride_ = 0, labels_ = 0;
  Scope scope_ = Scope::head;
  std::vector<float> barred_;
  alignas(64) float h_[5][kLanes] = {}, least_[kLanes] = {}, most_[kLanes] = {}, slack_[kLanes] = {},
                    drop_[kLanes] = {};
  float error_ = 0;
};

}  // namespace polyrule
