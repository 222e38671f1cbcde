// A quick test for correlations and associations of the counts summed over a head.
//
// For a head let N be all its counts, x = (TP+FP)/N and s = (TP+FN)/N. It reaches a level l >= 0 only if TP - N*h(x, s)
// is not below 0, with the concave h of `least_share`, taken literal by literal at the head's x (docs/theory.md). The
// head's x is the mean of its literals' own, so m * (TP+FP - x*N) may be added for any m: over a head it sums up to 0.
// If the sum is below 0 for every head of several literals at both ends of an interval of x, it is between them, too,
// as it is convex in x, and no head whose x lies there reaches the level. Intervals and their ends are lanes of a
// vector, with N*h = a(x)*(TP+FN) + c(x)*F, where F depends on the literal alone; m comes from earlier bodies.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "judge/formula.hpp"
#include "search/reach.hpp"

namespace polyrule {

class MicroLanes {
 public:
  static constexpr std::size_t kLanes = 16, kIntervals = kLanes / 2;

  // `barred`: by literal (`= 1`, then `= 0`), what keeps it out of a head.
  void set_labels(const std::vector<float>& barred, std::size_t labels);
  // `exact`: whether the counts are the same in singles.
  void set_level(const Form& form, const Fraction& level, bool exact);

  // Whether some head may reach the level, of a body or of any body of a stretch. `side`: of the boundary, whose bodies
  // are alike.
  bool judge(const Reach& reach, bool side, bool stretch);

 private:
  struct Literal {
    std::uint32_t label;
    double tp, predicted, positives, total;
  };

  // Numbers that x and s less those of their interval are multiplied by.
  struct Tilt {
    double x = 0, s = 0;
  };
  struct Box {
    double x[2], s[2];
    double slope[2], constant[2];  // of the chord of h, by end of x
  };
  // TP + a * (TP+FP) - b * (TP+FN) - c * N at an end of x.
  struct Line {
    double a, b, c;
    Line(const Box& box, std::size_t end, const Tilt& tilt)
        : a(tilt.x), b(box.slope[end] - tilt.s),
          c(box.constant[end] + tilt.x * box.x[end] + tilt.s * box.s[tilt.s < 0]) {}
  };

  // What TP+FN and F are multiplied by at an x, for literals whose s lies in an interval.
  struct Terms {
    double a, c;
  };
  Terms terms(double level, double x, double low, double high) const;
  double needed(const Literal& l, double level, double x) const;
  double level_over_stretch(const float* found);
  void list();
  bool single_reaches(double level);
  bool several_reach(double level, double low, double high, float& tilt);
  bool boxes_reach(double level, const double x[2], double low, double high, std::array<Tilt, kIntervals>& tilts);
  Box box_of(double level, double x0, double x1, double s0, double s1) const;
  bool parts_reach(double level, const Box& box, Tilt& tilt, double slack, int times) const;
  bool box_reaches(const Box& box, Tilt& tilt, double slack) const;

  Formula form_ = Formula::none, formula_ = Formula::none;  // what is measured, and what that is over a stretch
  bool bounded_ = false;
  double level_ = 0;
  double slack_ = 0;  // of sums in doubles, as a share of the counts
  std::size_t stride_ = 0, labels_ = 0;
  double scale_ = 1;  // of TP+FN over a stretch
  std::vector<float> barred_;
  std::vector<float> numbers_;
  std::vector<Literal> literals_;
  bool listed_ = false;
  std::array<float, kIntervals> tilts_[2] = {};
  std::array<std::array<Tilt, kIntervals>, kIntervals> boxes_[2] = {};  // by side, interval of x, interval of s
  const Reach* reach_ = nullptr;
};

}  // namespace polyrule
