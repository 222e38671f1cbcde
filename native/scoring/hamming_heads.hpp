// The best head of a body by example-wise Hamming accuracy, exactly, where labels are set on some of the covered
// examples.
//
// A covered example is worth the share of right ones among the head's labels that are unset on it. Fix the labels P of
// the head that are set on some covered example, and its size k: each example then has z labels of P set, and all other
// labels are unset on it. So a further literal that is right adds 1 / (k - z), whatever else is in the head, and the
// best choice is a matter of sorting. Only the sets P are tried, with a bound: a label that is set counts as right.
#pragma once

#include <vector>

#include "core/watch.hpp"
#include "data/node.hpp"
#include "scoring/form.hpp"
#include "scoring/micro.hpp"

namespace polyrule {

class HammingHeads {
 public:
  HammingHeads(const std::vector<NodeLabel>& labels, const State& state, std::size_t max_head,
               const TimeCheck& time_check)
      : labels_(labels), state_(state), max_head_(max_head), time_check_(time_check) {}

  // Counts come by label. A head that does not reach `level` may be left out.
  Head solve(const std::vector<OutcomeCounts>& outcomes, const Bits& cover, const Fraction* level);

 private:
  struct Literal {
    std::size_t e;
    int value;
    Count tp, fp, tn;
    Count max_part;           // TP + TN + what is set: k times its part in the value of a head of size k, at most
    std::vector<Word> right;  // covered rows on which it is right, and those on which its label is set
    std::vector<Count> by_set = {};  // the weight of these rows by the number of labels of P that are set
    Wide gain = 0;                   // in the unit of the size at hand
  };

  void collect(const std::vector<OutcomeCounts>& outcomes);
  // Tries P and, where that may help, P with more of the partly set labels.
  void branch(std::size_t next);
  bool try_size(std::size_t size, std::size_t next);
  Wide add_best(std::vector<Literal*>& literals, std::size_t count, std::vector<Literal*>& added) const;
  bool in_head(std::size_t e) const;
  bool reaches_floor(const Fraction& value) const { return !has_floor_ || compare(value, floor_) >= 0; }
  void offer(const std::vector<Literal*>& added, const Fraction& value);

  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const std::size_t max_head_;
  const TimeCheck& time_check_;
  std::vector<Literal> open_, partial_;
  std::vector<Literal*> by_most_;                    // one of each label
  std::vector<Literal*> head_;                       // P
  std::vector<std::vector<std::vector<Word>>> set_;  // for each part of P: rows by number of its labels set on them
  std::vector<Count> right_;                         // true positives of P by number of its labels that are set
  const Bits* cover_ = nullptr;
  bool has_floor_ = false;
  Fraction floor_;  // what must be reached
  Head best_;
};

}  // namespace polyrule
