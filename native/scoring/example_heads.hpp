// The best head of a body that covers everything, where each example is measured by itself: a * TP / (b * TP + c * FP)
// with b >= c > 0 (precision, Jaccard, F), averaged over the examples. Needs that a label is unset on all examples or
// set on all of them.
//
// A head of k labels that is wrong in e of them for an example loses there e * c / (b * k - (b - c) * e) of what it
// could have had. That is convex in e, so any line through two neighbouring points lies below it, and lines add up over
// literals: k literals with the smallest sums bound all heads of size k. Branch and bound does the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "core/watch.hpp"
#include "data/node.hpp"
#include "scoring/form.hpp"
#include "scoring/micro.hpp"

namespace polyrule {

class ExampleHeads {
 public:
  ExampleHeads(const Node& node, const State& state, const Form& form, const TimeCheck& time_check);

  // Whether all labels that may be in a head are unset on every covered example.
  static bool applies(const Node& node);

  // `more_right`: another head is as good and has more true positives. Then a longer body might win a tie.
  struct Found {
    Head head;
    bool more_right = false;
  };
  Found best();

 private:
  struct Literal {
    std::uint32_t label;
    int value;
    Count tp, fp;
  };
  using Numbers = std::vector<std::uint32_t>;  // of literals

  // A head, with the weight of the examples by how many of its literals are wrong.
  struct KnownHead {
    double loss = 0;
    Numbers literals;
    std::vector<Count> errors;
    Count tp = 0;
  };

  // What an example loses by number of wrong literals, for heads of one size.
  struct Losses {
    std::size_t size = 0;
    std::vector<double> at, step;
  };

  // Lines below the losses, laid at a number of wrong literals for each example, and what literals add up to.
  struct Lines {
    std::vector<std::uint16_t> at;
    double base = 0;
    std::vector<double> gains;  // by literal
    Numbers order;              // candidates by gain
    double bound = 0;
  };

  void merge_examples(const Node& node, const State& state);
  Head head_of(const KnownHead& solution) const;
  Head best_single_values() const;
  Losses losses(std::size_t size) const;
  Count denominator(std::size_t size, std::size_t wrong) const;
  void search(std::size_t size);
  void descend(Numbers& head_so_far, const std::vector<std::uint16_t>& wrong, Numbers candidates);
  void bound_by_lines(Lines& lines, const std::vector<std::uint16_t>& wrong, const Numbers& candidates,
                      std::size_t open) const;
  bool is_hopeless(double bound, const Lines& lines, const std::vector<std::uint16_t>& wrong,
                   const Numbers& head_so_far, const std::uint32_t* first, std::size_t candidates,
                   std::size_t open) const;
  bool loses_ties(const Numbers& head_so_far, const std::uint32_t* first, std::size_t candidates,
                  std::size_t open) const;
  void offer(Numbers literals);
  int compare_losses(const std::vector<Count>& a, const std::vector<Count>& b) const;
  std::vector<std::uint32_t> label_numbers(const Numbers& literals) const;
  const double* wrong_weights(std::uint32_t literal) const { return wrong_.data() + literal * stride_; }

  const Form& form_;
  const TimeCheck& time_check_;
  Count total_ = 0;
  std::vector<Literal> literals_;
  std::size_t labels_ = 0, examples_ = 0, stride_ = 0;
  std::vector<Count> weights_;
  std::vector<double> wrong_;  // by literal and example: the weight, where the literal is wrong
  double rounding_ = 0;        // losses further apart than this differ
  bool has_best_ = false;
  KnownHead best_;
  Count most_right_ = 0;  // true positives of any head as good as the best
  Losses losses_;         // of the size that is being searched
};

}  // namespace polyrule
