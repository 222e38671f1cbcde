// The search where only literals without a wrong row count: precision, once it can reach 1.
//
// All literals that are right on every row of a condition where their label is unset go into the head, and the
// condition with the most true positives wins. Numeric columns are looked at by `TieScan`, row by row; conditions that
// are lists of rows are counted label by label (lists.hpp).
#pragma once

#include "core/limits.hpp"
#include "data/records.hpp"
#include "search/lists.hpp"
#include "search/searcher.hpp"
#include "search/sorted_columns.hpp"

namespace polyrule {

class PureSearch : public Searcher {
 public:
  PureSearch(Columns& columns, const State& state, Sequences& sequences, ListSearch& lists, const Limits& limits,
             Count min_coverage, int threads);

  bool search(const Query& query, Shortlist& best) override;
  // A rule has set a label on these of the 64 rows from w * 64 on.
  void set_label(std::size_t label, std::size_t w, Word rows) { records_.set_label(label, w, rows); }

 private:
  void offer_numeric(const Watch& watch, const Node& node, Shortlist& best);

  Columns& columns_;
  const State& state_;
  Sequences& sequences_;
  ListSearch& lists_;
  const Limits& limits_;
  const Count min_coverage_;
  const int threads_;
  std::vector<std::size_t> numeric_;  // columns
  Records records_;
};

}  // namespace polyrule
