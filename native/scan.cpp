// The search of one node for some of its literals, feature by feature and label by label.
#include <algorithm>
#include <cmath>

#include "engine.hpp"
#include "sweep.hpp"
#include "ties.hpp"
#include "units.hpp"
#include "walk.hpp"

namespace polyrule {

const NodeLists& Engine::lists_of(const Node& node) {
  if (!node.is_root) {
    lists_.gather(node.rows, node_lists_);
    return node_lists_;
  }
  if (root_lists_version_ != state_.working_version) lists_.gather(node.rows, root_lists_);
  root_lists_version_ = state_.working_version;
  return root_lists_;
}

// What one thread needs to search a node.
template <class Int>
struct Engine::Worker {
  SinglesScan<Int> scan;
  Walk<Sweep<Int>> walk;
  Sweep<Int> sweep;
  bool looks;               // whether a first look costs less than the scan it may save
  std::uint64_t risen = 0;  // the value the sweep was made for
  std::optional<TallyJudge<Int>> tally;
  std::uint64_t tallied = 0;  // the value the tally was made for
  std::optional<TieScan> ties;
};

// Whether a column has a condition that counts, for the few literals of a node.
template <class Int>
bool Engine::can_count(Worker<Int>& worker, const Node& node, std::size_t column) {
  if constexpr (!std::is_same_v<Int, Count>) {
    return true;
  } else {
    const Best& best = worker.scan.best();
    Count top = std::numeric_limits<Count>::lowest(), potential = 0;
    for (std::uint32_t e = 0; e < node.labels.size(); ++e) {
      Count most = 0;
      for (int v = 0; v < 2; ++v) {
        if (!node.labels[e].usable(v)) continue;
        const Count reach = runs_.reach(places_.slot(column), e, v, worker.scan.gains());
        worker.sweep.note_reach(e, v, double(reach) / double(best.value.den));
        top = std::max(top, reach);
        most = std::max(most, node.labels[e].kinds[v]);
      }
      potential += most;
    }
    promise_[column] = double(top) / double(best.value.den);
    return top > 0 || (top == 0 && worker.scan.could_tie(potential));
  }
}

// A condition on a label, for the few literals of a node.
template <class Int>
void Engine::judge_counted(Worker<Int>& worker, const Node& node, const LabelList& list) const {
  SinglesScan<Int>& scan = worker.scan;
  const Condition condition{Test::label, false, list.label, double(list.value)};
  const auto resolve = [&](std::size_t) { return condition; };
  const Bits cover = rows_of(condition, node.cover);
  Count ties = 0;
  for (std::uint32_t e = 0; e < node.labels.size(); ++e) {
    const NodeLabel& label = node.labels[e];
    Count kinds[4], most = 0;
    state_.count_kinds(label.label, cover, static_cast<Count>(list.size), kinds);
    for (int v = 0; v < 2; ++v) {
      if (!label.usable(v)) continue;
      const Int gain = scan.gains().sum(label, kinds, v);
      worker.sweep.note_reach(e, v, double(gain) / double(scan.best().value.den));
      if (gain < 0 || kinds[v] <= 0) continue;
      if (gain > 0) scan.offer_beat(gain, e, v, 0, resolve);
      else most = std::max(most, kinds[v]);
    }
    ties += most;
  }
  if (ties > 0) scan.offer_tie(ties, 0, resolve);
}

// The candidates of a column that is kept as lists, or of a label: few literals by the sweep, many by bits.
template <class Int>
void Engine::judge_lists(Worker<Int>& worker, const Node& node, std::size_t column, const LabelList* label,
                         const Form& form, Sweep<Int>* look) const {
  SinglesScan<Int>& scan = worker.scan;
  ListWalk walk(node, state_, lists_, node.lists);
  const auto show = [&](auto&& judge) {
    if (label) walk.label(*label, judge);
    else walk.column(columns_[column], static_cast<std::uint32_t>(column), judge);
  };
  if (look && look->width() <= TallyJudge<Int>::vectors(state_.records, scan.gains())) {
    show([&](const Row* rows, std::size_t size, bool joins, bool leaves, const Condition& join, const Condition& leave) {
      look->judge(rows, size, {true, false, joins, leaves}, state_, scan, [&](std::size_t) { return join; },
                  [&](std::size_t) { return leave; });
    });
    return;
  }
  if (!worker.tally) worker.tally.emplace(node, state_);
  if (worker.tallied != scan.risen()) {
    worker.tally->set_gains(form, scan.gains(), scan.best().value, scan.fading());
    worker.tallied = scan.risen();
  }
  show([&](const Row* rows, std::size_t size, bool joins, bool leaves, const Condition& join, const Condition& leave) {
    worker.tally->judge(rows, size, joins, leaves, scan, [&](std::size_t) { return join; },
                        [&](std::size_t) { return leave; });
  });
}

// The conditions on labels of a node, for all parts of its search.
void Engine::list_labels(const Node& node) {
  if (label_lists_known_) return;
  label_lists_known_ = true;
  label_lists_.clear();
  if (state_.records.built() && limits_.label_conditions) label_lists_ = distinct_label_lists(node, state_);
  // Large lists first: what they reach rules out the small ones.
  std::stable_sort(label_lists_.begin(), label_lists_.end(), [](auto& a, auto& b) { return a.size > b.size; });
}

// Whether the ties of this node are those that are remembered from rule to rule; if so, they are brought up to date, and
// the columns that promise most come first.
bool Engine::follow_races(const Node& node, const Form& form) {
  if (!node.is_root || node.rows.size() < race_limits.least_rows) return false;
  if (node.labels.size() == 1 && state_.labels > 1) return false;  // most likely a rule for one literal
  if (raced_path_ != node.path_id) {
    if (races_.outgrown()) races_ = {}, places_ = {}, runs_ = {};  // all of them go by places
    if (!places_.built()) places_.build(columns_, state_);
    if (places_.slots() == 0) return false;
    races_.follow(places_, state_, form.negative, limits_.label_conditions);
    raced_path_ = node.path_id;
  }
  if (!races_.concerns(node)) return false;
  for (const std::size_t column : order_)
    if (columns_[column].ordered) promise_[column] = double(races_.bound(places_.slot(column)));
  return true;
}

// Whether a search among ties needs nothing but sorted columns and lists, so that nobody asks for a row's touches.
bool Engine::only_ties(const Node& node) const {
  if (!state_.records.built()) return false;
  return std::all_of(order_.begin(), order_.end(), [&](std::size_t column) {
    return columns_[column].ordered || (node.lists && lists_[column].any());
  });
}

// Which ways there are for the columns and labels of a node, with everything they need made ready.
template <class Int>
Engine::Ways Engine::find_ways(Node& node, const Form& form, const Best& start) {
  const Gains<Int> gains(form, start.value, state_.working_weight);
  Ways ways;
  ways.fits = lanes_fit(form, node, state_, start.value);
  ways.by_bits = node.lists && ways.fits && lists_.all() &&
                 Sweep<Int>(node).width() > TallyJudge<Int>::vectors(state_.records, gains);
  const bool tied = TieScan::applies(gains, node, state_);
  ways.raced = tied && follow_races(node, form);
  const bool few = !node.is_root && std::is_same_v<Int, Count> && node.labels.size() <= RunEnds::kMostLabels &&
                   node.rows.size() >= run_limits.least_rows && ways.fits && !tied;
  if (!node.is_root && !places_.built() && state_.records.built() &&
      (few || 2 * place_limits.share * node.rows.size() < state_.rows))
    places_.build(columns_, state_);
  ways.places = places_.built() ? &places_ : nullptr;
  ways.runs = few && ways.places && runs_.begin(places_, state_, node);
  if (ways.runs) rank_columns<Int>(node, form, start);
  if (!ways.by_bits && !(tied && ways.fits && only_ties(node))) node.list_touches(state_);
  ways.listed = state_.records.built() && ways.fits;
  ways.labels_raced = ways.raced && races_.has_labels();
  ways.tested = tested_labels();
  if (ways.listed && !ways.labels_raced) list_labels(node);
  ways.others = ways.labels_raced ? 1 : ways.listed ? label_lists_.size() : ways.tested.size();
  return ways;
}

// Shows the candidates of a column or label to the worker's scan. False if the scan may have left out literals that cannot
// win, so that nothing is known about how far those reach.
template <class Int>
bool Engine::judge_unit(Worker<Int>& worker, const Node& node, const Form& form, const Ways& ways, std::size_t unit) {
  SinglesScan<Int>& scan = worker.scan;
  const bool is_label = unit >= columns_.size();
  const LabelList* list = is_label && ways.listed && !ways.labels_raced ? &label_lists_[unit - columns_.size()] : nullptr;
  if (list && ways.runs) return judge_counted(worker, node, *list), true;
  // Where nothing but ties is left to find, almost every feature has one.
  Sweep<Int>* look = worker.looks && !ways.by_bits && !scan.fading() ? &worker.sweep : nullptr;
  if (look && worker.risen != scan.risen()) {
    worker.sweep.set_gains(form, scan.gains(), scan.best().value, state_);
    worker.risen = scan.risen();
  }
  if (is_label && ways.labels_raced) return races_.labels(scan), false;
  if (list || (!is_label && ways.listed && node.lists && lists_[unit].any()))
    return judge_lists(worker, node, unit, list, form, look), true;
  if (is_label) return worker.walk.label(ways.tested[unit - columns_.size()], scan, look), look != nullptr;
  const auto index = static_cast<std::uint32_t>(unit);
  if (ways.raced && columns_[unit].ordered)
    return races_.column(columns_[unit], index, places_.slot(unit), scan), false;
  if (!look && columns_[unit].ordered && TieScan::applies(scan.gains(), node, state_)) {
    if (!worker.ties) worker.ties.emplace(node, state_);
    return worker.ties->column(columns_[unit], index, columns_, ways.places, scan), false;
  }
  worker.walk.feature(unit, scan, look);
  if (look) promise_[unit] = look->top();
  return look != nullptr;
}

// Whether a unit is among those asked for.
bool Engine::is_within(const std::vector<bool>& within, const Ways& ways, std::size_t unit) const {
  if (unit < columns_.size()) return within[unit];
  const std::size_t other = unit - columns_.size();
  const std::size_t first = columns_.size() + 2 * std::size_t(ways.listed ? label_lists_[other].label : ways.tested[other]);
  return within[first] || within[first + 1];
}

// The best condition of a node, or of some of its columns and labels; nothing if the measure's shape needs the general
// search.
template <class Int>
std::optional<Best> Engine::search_node(const Watch& watch, Node& node, const Form& form, const Best& start,
                                        const std::vector<bool>* within) {
  const Ways ways = find_ways<Int>(node, form, start);
  std::vector<std::unique_ptr<Worker<Int>>> workers(static_cast<std::size_t>(threads_));
  std::mutex guard;
  Fraction shared = start.value;
  std::atomic<bool> any_usable{true}, all_swept{true};
  over_units(watch, node, ways.others, true, [&](int w, std::size_t unit) {
    const bool is_label = unit >= columns_.size();
    if (!is_label && ways.listed && node.lists && lists_.is_empty(unit, *node.lists)) return;
    if (within && !is_within(*within, ways, unit)) return;
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) {
      worker.reset(new Worker<Int>{{node, state_, form, start}, {node, state_, columns_, ways.places}, Sweep<Int>(node),
                                   false, 0, {}, 0, {}});
      const double touches = double(node.touches.size()) / double(std::max<std::size_t>(1, node.rows.size()));
      worker->looks = ways.fits && worker->sweep.table_bytes(state_.rows) <= Sweep<Int>::kLargestTable &&
                      double(worker->sweep.width()) < 8 + 10 * touches;
    }
    SinglesScan<Int>& scan = worker->scan;
    if (threads_ > 1) {
      const std::lock_guard lock(guard);
      scan.raise(shared);
    }
    if (ways.runs && !is_label && RunEnds::handles(columns_[unit]) && !can_count(*worker, node, unit)) return;
    bool rose = false;
    for (bool settled = false; !settled && scan.usable(); rose = rose || !settled) {
      if (!judge_unit(*worker, node, form, ways, unit)) all_swept = false;
      settled = scan.settled([&](const Condition& condition, std::size_t label, Count kinds[4]) {
        const Bits cover = rows_of(condition, node.cover);
        state_.count_kinds(label, cover, state_.weigh(cover.data()), kinds);
      });
    }
    if (!scan.usable()) any_usable = false;
    if (rose && threads_ > 1) {
      const std::lock_guard lock(guard);
      if (compare(scan.best().value, shared) > 0) shared = scan.best().value;
    }
  });
  if (!any_usable) return std::nullopt;

  Best best = start;
  for (const auto& worker : workers) {
    if (!worker || !worker->scan.best().any) continue;
    const Best& found = worker->scan.best();
    const int order = compare(found.value, best.value);
    if (order > 0 || (order == 0 && (found.tp > best.tp || (found.tp == best.tp && best.any &&
                                                            comes_before(found.condition, best.condition)))))
      best = found;
  }
  if (!within) note_prospects(node, workers, best, all_swept);
  return best;
}

// What the workers have seen of every literal bounds it in the nodes below.
template <class Int>
void Engine::note_prospects(const Node& node, const std::vector<std::unique_ptr<Worker<Int>>>& workers, const Best& best,
                            bool all_swept) {
  forget(node);
  for (const auto& worker : workers)
    if (!all_swept || (worker && !worker->walk.looked_at_all())) return;
  for (const auto& worker : workers) {
    if (!worker) continue;
    const auto note = [&](std::uint32_t e, int v, double reach) {
      Prospect& prospect = path_[node.labels[e].label * 2 + std::size_t(v)];
      prospect.reach = prospect.known() ? std::max(prospect.reach, reach) : reach;
      prospect.value = double(best.value.num) / double(best.value.den);
      std::copy(node.labels[e].kinds, node.labels[e].kinds + 4, prospect.kinds);
    };
    worker->sweep.each_reach(note);
    if (worker->tally) worker->tally->each_reach(note);
  }
}

void Engine::forget(const Node& node) {
  for (const NodeLabel& label : node.labels)
    for (int v = 0; v < 2; ++v) path_[label.label * 2 + std::size_t(v)] = Prospect{};
}

template std::optional<Best> Engine::search_node<Count>(const Watch&, Node&, const Form&, const Best&,
                                                        const std::vector<bool>*);
template std::optional<Best> Engine::search_node<Wide>(const Watch&, Node&, const Form&, const Best&,
                                                       const std::vector<bool>*);

}  // namespace polyrule
