// What a monotone function of counts that lives outside is worth at most, with as few questions as possible.
//
// Its value never falls with TP and TN and never rises with FP and FN. So a point whose value is known to be below a
// level speaks for all points with no more TP and TN and no fewer FP and FN. Only what no known point speaks for is
// asked, together with more generous points, of which the most generous ones below the level are remembered.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scoring/formula.hpp"

namespace polyrule {

class MonotoneBounds {
 public:
  enum class Answer { below, tie, perhaps };

  explicit MonotoneBounds(std::shared_ptr<Valuer> valuer) : valuer_(std::move(valuer)) {}

  // From now on a value of `level` must be reached. No count of a head exceeds `max_count`. A lower level than before,
  // or another `max_count`, starts anew.
  void begin(double level, Count max_count);

  // Whether counts that are no better than these may be worth the level, or more. `tie`: the level and no more.
  Answer look(const Counts& counts);
  // Whether that is known to be less than the level, without a question.
  bool is_below(const Counts& counts) {
    Answer answer;
    return is_said(counts, answer) && answer == Answer::below;
  }
  // The value itself.
  double value(const Counts& counts);
  // Asks for the values of all of these in one question.
  void learn(const std::vector<Counts>& all);

 private:
  struct Point {
    Counts at;
    double value;
  };
  struct Hash {
    std::size_t operator()(const Counts& c) const {
      std::uint64_t hash = 0;
      for (const Count count : {c.tp, c.fp, c.tn, c.fn}) {
        hash = (hash ^ static_cast<std::uint64_t>(count)) * 0x9e3779b97f4a7c15ULL;
        hash ^= hash >> 32;
      }
      return static_cast<std::size_t>(hash);
    }
  };
  // Whether a is worth at least as much as b.
  static bool speaks_for(const Counts& a, const Counts& b) {
    return a.tp >= b.tp && a.fp <= b.fp && a.tn >= b.tn && a.fn <= b.fn;
  }
  void keep(const Counts& counts, double value);
  // Whether the points that are kept tell.
  bool is_said(const Counts& counts, Answer& answer);

  std::shared_ptr<Valuer> valuer_;
  double level_ = 0;
  Count max_count_ = 0;
  bool begun_ = false;
  std::vector<Point> low_;   // worth at most the level
  std::vector<Point> high_;  // worth more
  std::unordered_map<Counts, double, Hash> values_;
};

}  // namespace polyrule
