// The search for the best condition where only literals without a wrong row count: precision, once it can reach 1.
//
// All literals that are right on every row of a condition where their label is unset go into the head, and the condition
// with the most true positives wins. Literals that are pure in the node are so under every condition: what they add is a
// sum over rows. A mixed literal counts if the condition leaves out all rows where it is wrong, so at least that many rows
// must be left out; only for some conditions it must be looked at which literals that are.
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

// The best condition with more than `start.tp` true positives of pure literals; `live` are the labels of the node.
Best best_pure(const Watch& watch, const Node& node, const State& state, const std::vector<NodeLabel>& live,
               const Best& start);

}  // namespace polyrule
