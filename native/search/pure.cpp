#include "search/pure.hpp"

#include <algorithm>
#include <mutex>

#include "search/ties.hpp"

namespace polyrule {

PureSearch::PureSearch(Columns& columns, const State& state, Sequences& sequences, ListSearch& lists,
                       const Limits& limits, Count min_coverage, int threads)
    : columns_(columns), state_(state), sequences_(sequences), lists_(lists), limits_(limits),
      min_coverage_(min_coverage), threads_(threads), records_(state) {
  for (std::size_t j = 0; j < columns.size(); ++j)
    if (columns[j].shape != Shape::constant && columns[j].shape != Shape::listed) numeric_.push_back(j);
}

bool PureSearch::search(const Query& query, Shortlist& best) {
  if (!peaks_at_purity(query.form)) return false;
  const Fraction one{1, 1};
  const bool reached = compare(best.level(), one) == 0;
  Shortlist pure_candidates(best.size(), one, reached ? best.least_tp() - 1 : 0);
  offer_numeric(query.watch, query.node, pure_candidates);
  lists_.offer_pure(query.watch, query.node, records_, pure_candidates);
  best.merge(pure_candidates);
  return compare(best.level(), one) == 0;
}

void PureSearch::offer_numeric(const Watch& watch, const Node& node, Shortlist& best) {
  struct Worker {
    Shortlist best;
    TieScan scan;
  };
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads_));
  const std::size_t work = node.rows.size() * numeric_.size() * records_.words();
  const int threads = work < limits_.threaded_work ? 1 : std::min<int>(threads_, static_cast<int>(numeric_.size()));
  std::mutex guard;
  Shortlist shared = best;
  over_all(watch, numeric_.size(), threads, 1 + 50'000 / (1 + node.rows.size()), [&](int w, std::size_t i) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) worker.reset(new Worker{best, {node, state_, records_, columns_, sequences_, min_coverage_}});
    if (threads > 1) {
      const std::lock_guard lock(guard);
      worker->best.merge(shared);
    }
    worker->scan.column(numeric_[i], worker->best);
    if (threads > 1) {
      const std::lock_guard lock(guard);
      shared.merge(worker->best);
    }
  });
  for (const auto& worker : workers)
    if (worker) best.merge(worker->best);
}

}  // namespace polyrule
