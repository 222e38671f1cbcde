// Conditions that are lists of rows (data/members.hpp), where only literals without a wrong row count (ties.hpp).
//
// All literals that are right on every row of a condition where their label is unset go into the head, and the
// condition with the most true positives wins. Literals that are pure in the node are so under every condition: what
// they add is a sum over rows. A mixed literal counts if the condition leaves out all rows where it is wrong, so at
// least that many rows must be left out; only for some conditions it must be looked at which literals that are.
#pragma once

#include <vector>

#include "core/watch.hpp"
#include "data/members.hpp"
#include "data/node.hpp"
#include "data/records.hpp"
#include "judge/shortlist.hpp"

namespace polyrule {

// Offers the conditions that have enough true positives of pure literals. Rows are at most 65,535, true positives of
// all labels together fit into 32 bits, and all members are in records.
void offer_pure(const Watch& watch, const Node& node, const State& state, const Members& members,
                const Records& records, const std::vector<NodeLabel>& labels, Count min_coverage, Shortlist& best);

}  // namespace polyrule
