// The best head of one body by a monotone function of the counts summed over its labels, exactly.
//
// For each size k, literals are chosen by falling false positives. Once one is chosen, the others come before it in the
// order of false positives, and they have no more TP, TN and no fewer FP, FN than the best of those, each for itself.
#pragma once

#include <vector>

#include "core/watch.hpp"
#include "scoring/micro.hpp"
#include "scoring/monotone_bounds.hpp"

namespace polyrule {

class FunctionHeads {
 public:
  // No count of a head exceeds `max_count`.
  FunctionHeads(const Form& form, Count max_count, const TimeCheck& time_check)
      : form_(form), max_count_(max_count), time_check_(time_check) {}

  // A head that does not reach `level` may be left out. Both literals of a label come one after the other.
  Head best(const std::vector<MicroHeads::Literal>& literals, const double* level);

 private:
  using Literal = MicroHeads::Literal;

  void start(const std::vector<Literal>& literals);
  void make_tables(std::size_t sizes);
  // What no `count` of the first `from` literals exceed.
  Counts corner(std::size_t from, std::size_t count) const {
    return {most_tp_[from * width_ + count], least_fp_[count], most_tn_[from * width_ + count],
            least_fn_[from * width_ + count]};
  }
  // Adds `open` of the first `from` literals to the chosen ones.
  void choose(std::size_t from, std::size_t open, const Counts& counts);
  bool is_hopeless(const Counts& bound, std::size_t from, std::size_t open);
  bool loses_tie(Count tp, std::size_t from, std::size_t open) const;
  void offer(const Counts& counts, double value);

  const Form& form_;
  const Count max_count_;
  const TimeCheck& time_check_;
  std::vector<Literal> literals_;  // by false positives
  std::size_t width_ = 0;
  std::vector<Count> least_fp_;                      // by number
  std::vector<Count> most_tp_, most_tn_, least_fn_;  // by number of literals at hand and of those that are taken
  std::vector<Literal> head_;
  bool has_value_ = false;
  double value_ = 0;  // of the best head, or what must be reached
  Head best_;
};

}  // namespace polyrule
