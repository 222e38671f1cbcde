// Every way to look for conditions that make literals pure: what ties.hpp, races.hpp, pure.hpp and pure_table.hpp
// offer.
#pragma once

#include "core/limits.hpp"
#include "core/parallel.hpp"
#include "judge/literals.hpp"
#include "search/lines.hpp"
#include "search/pure_table.hpp"
#include "search/races.hpp"
#include "search/searcher.hpp"
#include "search/ties.hpp"

namespace polyrule {

class PureSearch : public Searcher {
 public:
  PureSearch(Columns& columns, const State& state, const Members& members, Sequences& sequences, const Limits& limits,
             Count min_coverage, int threads);

  bool search(const Query& query, Shortlist& best) override;
  // A rule has set a label on these of the 64 rows from w * 64 on.
  void set_label(std::size_t label, std::size_t w, Word rows) {
    records_.set_label(state_, label, w, rows);
    table_.touch(w, rows);
  }

 private:
  // Offers the conditions of a node with enough true positives, at the value 1. `whole`: the node is the empty body,
  // and the labels are all that have something left to predict.
  void offer(const Watch& watch, const Node& node, const Form& form, bool whole, Shortlist& best);
  bool follow_races(const Node& node, const std::vector<NodeLabel>& labels, const Form& form);

  Columns& columns_;
  const State& state_;
  const Members& members_;
  Sequences& sequences_;
  const Limits& limits_;
  const Count min_coverage_;
  const int threads_;
  const bool small_;      // whether numbers of 16 bits are enough
  const bool has_lists_;  // whether conditions that are lists are looked at, too; if not, somebody else must
  std::vector<std::size_t> numeric_;  // columns
  Records records_;
  Places places_;
  Races races_;
  PureTable table_;
};

}  // namespace polyrule
