// The search for the best condition where only literals without a wrong row count: precision, once it can reach 1.
//
// All literals that are right on every row of a condition where their label is unset go into the head, and the condition with the
// most true positives wins. A row is a true positive of no more literals than it has unset labels, so most conditions are
// ruled out by the sum of those numbers; for the others, which labels are pure is a matter of or-ing the rows' bits.
#pragma once

#include <vector>

#include "node.hpp"
#include "singles.hpp"
#include "watch.hpp"

namespace polyrule {

// Whether at this value a literal is worth it exactly if no covered row is wrong.
template <class Int>
bool only_pure(const Gains<Int>& gains) {
  bool pure = gains.constant == 0 && gains.true_negative == 0 && gains.false_negative == 0;
  for (int v = 0; v < 2; ++v)
    pure = pure && gains.slope[v][v] == 0 && gains.slope[v][1 - v] < 0 && gains.slope[v][kAbsentSet] == 0 &&
           gains.slope[v][kPresentSet] == 0;
  return pure;
}

// The literals that may be in the head, as a row's record has them: words of present labels, then of absent ones.
std::vector<Word> allowed_literals(const std::vector<NodeLabel>& labels, const State& state);

// The true positives of all pure literals over a list of rows.
Count pure_true_positives(const RowRecords& records, const Word* allowed, const Row* rows, std::size_t size);

// The best condition with more than `start.tp` true positives of pure literals.
Best best_pure(const Watch& watch, const Node& node, const State& state, const std::vector<NodeLabel>& live,
               const Best& start);

}  // namespace polyrule
