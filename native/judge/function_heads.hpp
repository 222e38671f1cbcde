// The best head of one body by a monotone function of the counts summed over its labels, exactly.
#pragma once

#include <optional>
#include <vector>

#include "core/watch.hpp"
#include "judge/ceilings.hpp"
#include "judge/micro.hpp"

namespace polyrule {

// The counts that no head of k of some literals exceeds: the most TP and TN, the fewest FP and FN, each for itself.
class Corners {
 public:
  // `literals`: both of a label one after the other.
  explicit Corners(const std::vector<MicroHeads::Literal>& literals);
  std::size_t labels() const { return tp_.size() - 1; }
  Counts of(std::size_t k) const { return {tp_[k], fp_[k], tn_[k], fn_[k]}; }

 private:
  std::vector<Count> tp_, fp_, tn_, fn_;  // sums over the first k
};

// Branch and bound over labels; a branch is bounded by its corners.
class FunctionHeads {
 public:
  FunctionHeads(const Form& form, Count most, const Patience& patience)
      : form_(form), most_(most), patience_(patience) {}

  // A head that does not reach `level` may be left out.
  Head best(std::vector<MicroHeads::Literal> literals, const double* level);

 private:
  using Literal = MicroHeads::Literal;
  struct Label {
    std::vector<Literal> literals;  // one or two
  };

  const Corners& corners(std::size_t depth);
  void start(const std::vector<Literal>& literals);
  void climb();
  void branch(std::size_t depth, const Counts& counts);
  bool is_hopeless(std::size_t depth, const Counts& counts);
  bool loses_tie(std::size_t depth, std::size_t open, Count tp) const;
  void offer(const Counts& counts, double value);

  const Form& form_;
  const Count most_;
  const Patience& patience_;
  std::vector<Label> labels_;
  std::vector<std::optional<Corners>> corners_;  // of the labels from each depth on, once they are needed
  std::vector<Literal> chosen_;
  bool has_best_ = false;
  double value_ = 0;
  Head best_;
};

}  // namespace polyrule
