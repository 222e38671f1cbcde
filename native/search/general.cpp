#include "search/general.hpp"

#include "core/parallel.hpp"

namespace polyrule {

void GeneralSearch::look(const Query& query, const Offset* offset, Shortlist& best) {
  const Watch& watch = query.watch;
  const Node& node = query.node;
  const Form& form = query.form;
  const Codes codes(node, state_);
  std::vector<std::size_t> columns, labels;
  for (std::size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].shape != Shape::constant) columns.push_back(j);
  for (std::size_t l = 0; l < state_.labels && label_conditions_ && !offset; ++l)
    if (state_.ever_set[l]) labels.push_back(l);
  const std::size_t units = columns.size() + labels.size();
  const std::size_t work = (node.rows.size() + codes.work()) * units;
  const int threads = work < limits_.threaded_work ? 1 : std::min<int>(threads_, static_cast<int>(units));
  std::vector<std::unique_ptr<GeneralScan>> workers(static_cast<std::size_t>(threads));
  const auto visit = [&](int w, std::size_t unit) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker)
      worker.reset(new GeneralScan(node, offset, state_, columns_, sequences_, codes, form, min_coverage_,
                                   limits_.stretch_rows, best, Patience(&watch)));
    if (unit < columns.size()) worker->feature(columns[unit]);
    else worker->label(labels[unit - columns.size()]);
    watch.bodies.fetch_add(worker->judged(), std::memory_order_relaxed);
  };
  try {
    over_all(watch, units, threads, 1, visit);
    for (const auto& worker : workers)
      if (worker) worker->finish();
  } catch (const TimeIsUp&) {  // what was found until then still counts
    watch.late = true;
  }
  for (const auto& worker : workers)
    if (worker) best.merge(worker->shortlist());
}

}  // namespace polyrule
