// The search over conditions that works for every form: every boundary of every feature gets a quick test in doubles,
// and the candidates that pass get an exact head.
#pragma once

#include "search/searcher.hpp"
#include "search/sorted_columns.hpp"

namespace polyrule {

// Looks at every column with a scan for each thread.
class GeneralSearch : public Searcher {
 public:
  GeneralSearch(Columns& columns, const State& state, Sequences& sequences, const Limits& limits, Count min_coverage,
                bool label_conditions, int threads)
      : columns_(columns), state_(state), sequences_(sequences), limits_(limits), min_coverage_(min_coverage),
        label_conditions_(label_conditions), threads_(threads) {}

  bool search(const Query& query, Shortlist& best) override;

 private:
  Columns& columns_;
  const State& state_;
  Sequences& sequences_;
  const Limits& limits_;
  const Count min_coverage_;
  const bool label_conditions_;
  const int threads_;
};

}  // namespace polyrule
