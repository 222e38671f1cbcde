// A quick test for the m-estimate of the counts summed over a head.
//
// A head reaches a level l if the sum of TP - l * (TP + FP) over its literals and m * (s - l) are not below 0, where s
// is the head's share of positives, (TP + FN) / N. Let s lie between a and b. Then s - l is at most b - l, and c * (TP
// + FN - a * N), summed over the literals, is not below 0 for any c >= 0, so it may be added. What all labels gain at
// most is then a bound, and the best c makes it small. Intervals of s are lanes of a vector; c comes from earlier
// bodies.
#pragma once

#include <array>
#include <cstddef>

#include "search/reach.hpp"

namespace polyrule {

class ShareLanes {
 public:
  static constexpr std::size_t kLanes = 8;

  // Whether some head may reach the level, of a body or of any body of a stretch, with no share above `most`. `side`:
  // of the boundary, whose bodies are alike.
  bool judge(const Reach& reach, const float* barred, double m, double level, double most, bool side);

 private:
  std::array<double, kLanes> factors_[2] = {};
};

}  // namespace polyrule
