// The best head of one body by a monotone function of the counts summed over its labels, exactly.
//
// For each size k, literals are chosen by falling false positives. Once one is chosen, the others come before it in the
// order of false positives, and they have no more TP, TN and no fewer FP, FN than the best of those, each for itself.
#pragma once

#include <vector>

#include "core/watch.hpp"
#include "judge/ceilings.hpp"
#include "judge/micro.hpp"

namespace polyrule {

class FunctionHeads {
 public:
  // No count of a head exceeds `most`.
  FunctionHeads(const Form& form, Count most, const Patience& patience)
      : form_(form), most_(most), patience_(patience) {}

  // A head that does not reach `level` may be left out. Both literals of a label come one after the other.
  Head best(const std::vector<MicroHeads::Literal>& literals, const double* level);

 private:
  using Literal = MicroHeads::Literal;

  void start(const std::vector<Literal>& literals);
  void lay_tables(std::size_t sizes);
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
  const Count most_;
  const Patience& patience_;
  std::vector<Literal> literals_;  // by false positives
  std::size_t width_ = 0;
  std::vector<Count> least_fp_;                      // by number
  std::vector<Count> most_tp_, most_tn_, least_fn_;  // by number of literals at hand and of those that are taken
  std::vector<Literal> chosen_;
  bool has_value_ = false;
  double value_ = 0;  // of the best head, or what must be reached
  Head best_;
};

}  // namespace polyrule
