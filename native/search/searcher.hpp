// What the growth loop asks of a search, and all that it knows of one. Conditions belong to exactly one searcher, so
// results never have to be added up.
#pragma once

#include "core/watch.hpp"
#include "data/node.hpp"
#include "scoring/form.hpp"
#include "scoring/shortlist.hpp"

namespace polyrule {

struct Query {
  const Watch& watch;
  Node& node;  // its labels are those worth looking for
  const Form& form;
};

class Searcher {
 public:
  virtual ~Searcher() = default;
  // A new rule starts. Nodes are searched along its path from now on.
  virtual void begin_rule(const Form&) {}
  // Offers the best conditions of a node. True if those of the searchers that come after cannot be better.
  virtual bool search(const Query& query, Shortlist& best) = 0;
};

}  // namespace polyrule
