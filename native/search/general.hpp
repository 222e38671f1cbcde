// The search over conditions that works for every form: every boundary of every feature gets a quick test in doubles,
// and the candidates that pass get an exact head. With an offset it looks for one more member of a group.
#pragma once

#include "search/lines.hpp"
#include "search/searcher.hpp"

namespace polyrule {

// Looks at every column with a scan for each thread.
class GeneralSearch : public Searcher {
 public:
  GeneralSearch(Columns& columns, const State& state, Sequences& sequences, const Limits& limits, Count min_coverage,
                bool label_conditions, int threads)
      : columns_(columns), state_(state), sequences_(sequences), limits_(limits), min_coverage_(min_coverage),
        label_conditions_(label_conditions), threads_(threads) {}

  bool search(const Query& query, Shortlist& best) override {
    look(query, nullptr, best);
    return false;
  }
  // Offers the best members that a group may get; the query's node is the border.
  void search(const Query& query, const Offset& offset, Shortlist& best) { look(query, &offset, best); }

 private:
  void look(const Query& query, const Offset* offset, Shortlist& best);

  Columns& columns_;
  const State& state_;
  Sequences& sequences_;
  const Limits& limits_;
  const Count min_coverage_;
  const bool label_conditions_;
  const int threads_;
};

}  // namespace polyrule
