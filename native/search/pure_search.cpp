#include "search/pure_search.hpp"

#include <atomic>
#include <mutex>

#include "search/pure.hpp"

namespace polyrule {

PureSearch::PureSearch(Columns& columns, const State& state, const Members& members, Sequences& sequences,
                       const Limits& limits, Count min_coverage, int threads)
    : columns_(columns), state_(state), members_(members), sequences_(sequences), limits_(limits),
      min_coverage_(min_coverage), threads_(threads), small_(state.unit && state.rows <= Places::kMostRows),
      has_lists_(state.rows <= Places::kMostRows && members.all_in_records() &&
                 state.total_weight * static_cast<Count>(state.labels) <= Count{UINT32_MAX}),
      records_(state), table_(state, members, records_) {
  for (std::size_t j = 0; j < columns.size(); ++j)
    if (columns[j].shape != Shape::constant && columns[j].shape != Shape::listed) numeric_.push_back(j);
}

bool PureSearch::search(const Query& query, Shortlist& best) {
  if (!peaks_at_purity(query.form)) return false;
  const Fraction one{1, 1};
  const bool reached = compare(best.level(), one) == 0;
  Shortlist found(best.size(), one, reached ? best.least_tp() - 1 : 0);
  offer(query.watch, query.node, query.form, query.whole && query.node.is_root(), found);
  best.merge(found);
  return compare(best.level(), one) == 0 && has_lists_;
}

// Whether the ties of the empty body are those that are remembered from rule to rule; if so, they are brought up to
// date.
bool PureSearch::follow_races(const Node& node, const std::vector<NodeLabel>& labels, const Form& form) {
  if (!small_ || min_coverage_ > 0 || node.rows.size() < limits_.raced_rows) return false;
  if (races_.outgrown()) races_ = {}, places_ = {};  // races go by places
  if (!places_.built()) places_.build(columns_, state_);
  if (places_.slots() == 0) return false;
  races_.follow(places_, state_, records_, form.negative);
  return races_.concerns(labels);
}

void PureSearch::offer(const Watch& watch, const Node& node, const Form& form, bool whole, Shortlist& best) {
  const std::vector<NodeLabel>& labels = node.labels;
  const bool raced = whole && follow_races(node, labels, form);
  std::vector<std::size_t> order = numeric_;
  if (raced) {
    const auto bound = [&](std::size_t column) {
      return columns_[column].shape == Shape::sorted ? races_.bound(places_.slot(column)) : 0;
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bound(a) > bound(b); });
  }
  struct Worker {
    Shortlist best;
    std::unique_ptr<TieScan> scan;
  };
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads_));
  const std::size_t work = node.rows.size() * order.size() * records_.words() / (raced ? 8 : 1);
  const int threads = work < limits_.threaded_work ? 1 : std::min<int>(threads_, static_cast<int>(order.size()));
  std::mutex guard;
  Shortlist shared = best;
  over_all(watch, order.size(), threads, 1 + 50'000 / (1 + node.rows.size()), [&](int w, std::size_t i) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) worker.reset(new Worker{best, nullptr});
    if (threads > 1) {
      const std::lock_guard lock(guard);
      worker->best.merge(shared);
    }
    const std::size_t column = order[i];
    if (raced && columns_[column].shape == Shape::sorted) {
      races_.column(columns_[column], static_cast<std::uint32_t>(column), places_.slot(column), worker->best);
    } else {
      if (!worker->scan)
        worker->scan.reset(new TieScan(node, state_, records_, columns_, sequences_, labels, min_coverage_));
      worker->scan->column(column, worker->best);
    }
    if (threads > 1) {
      const std::lock_guard lock(guard);
      shared.merge(worker->best);
    }
  });
  for (const auto& worker : workers)
    if (worker) best.merge(worker->best);
  if (!has_lists_) return;
  const bool kept =
      small_ && whole && best.size() == 1 && min_coverage_ <= 0 && state_.rows >= limits_.kept_rows && table_.fits();
  if (kept) table_.offer(form.negative, threads_, best);
  else offer_pure(watch, node, state_, members_, records_, labels, min_coverage_, best);
}

}  // namespace polyrule
