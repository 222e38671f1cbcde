// The search for the best condition of a node.
#include <algorithm>
#include <cmath>

#include "engine.hpp"
#include "sweep.hpp"
#include "ties.hpp"
#include "units.hpp"
#include "walk.hpp"

namespace polyrule {

bool Engine::allows_singles(const Form& form) const {
  return form.kind == HeadKind::singles && form.scope == Scope::head && form.rho.empty() &&
         form.max_head >= state_.labels && limits_.min_coverage <= 0 && limits_.beam_width == 1 &&
         *std::min_element(form.den.begin(), form.den.end()) >= 0 && form.den[0] + form.den[1] > 0;
}

const NodeLists& Engine::lists_of(const Node& node) {
  if (!node.is_root) {
    lists_.gather(node.rows, node_lists_);
    return node_lists_;
  }
  if (root_lists_version_ != state_.working_version) lists_.gather(node.rows, root_lists_);
  root_lists_version_ = state_.working_version;
  return root_lists_;
}

std::optional<Condition> Engine::best_condition(const Watch& watch, Node& node, const Form& form,
                                                const Head& incumbent) {
  if (allows_singles(form)) {
    bool usable = true;
    const auto found = largest_sum(form, node, state_, incumbent.value) < std::ldexp(1.0, 58) ? best_by_singles<Count>(watch, node, form, incumbent, usable)
                                        : best_by_singles<Wide>(watch, node, form, incumbent, usable);
    if (usable) return found;
  }
  const auto found = best_in_general(watch, node, form, &incumbent, 1);
  if (found.empty()) return std::nullopt;
  return found.front().condition;
}

std::vector<std::uint32_t> Engine::tested_labels() const {
  std::vector<std::uint32_t> tested;
  if (limits_.label_conditions)
    for (std::uint32_t l = 0; l < state_.labels; ++l)
      if (state_.ever_set[l]) tested.push_back(l);
  return tested;
}

template <class Int>
std::optional<Condition> Engine::best_by_singles(const Watch& watch, Node& node, const Form& form,
                                                 const Head& incumbent, bool& usable) {
  // Literals that cannot reach the incumbent's value in any body below are dropped for good.
  const Gains<Int> gains(form, incumbent.value, state_.working_weight);
  std::vector<NodeLabel> live;
  for (NodeLabel label : node.labels) {
    for (int v = 0; v < 2; ++v) label.allowed[v] = label.usable(v) && gains.bound(label, v) >= 0;
    if (label.allowed[0] || label.allowed[1]) live.push_back(label);
  }
  if (state_.members.built() && lanes_fit(form, node, state_, incumbent.value)) {
    if (const std::optional<Best> found = search_by_literal<Int>(watch, node, live, form, incumbent)) {
      node.labels = std::move(live);
      usable = true;
      return found->any ? std::optional(found->condition) : std::nullopt;
    }
  }
  node.lists = lists_.any() ? &lists_of(node) : nullptr;
  label_lists_known_ = false;
  const Fraction level = node.is_root ? opening_value(node, live, form, incumbent.value) : incumbent.value;
  // Where a pure cover is all that counts, most literals have one: nothing would be gained by knowing their best.
  const bool keep = node.is_root && keeps_first_ && !Gains<Int>(form, {1, 1}, state_.working_weight).only_ties() &&
                    lanes_fit(form, node, state_, incumbent.value);
  const std::optional<Best> found = keep ? search_first<Int>(watch, node, live, form, incumbent)
                                         : search_in_parts<Int>(watch, node, live, form, incumbent, level);
  node.labels = std::move(live);
  usable = found.has_value();
  if (!usable || !found->any) return std::nullopt;
  return found->condition;
}

// The labels outside the incumbent's head, if few are in it and the node is suited for a search of few labels.
std::optional<std::vector<NodeLabel>> Engine::apart_from(const Head& incumbent, const Node& node,
                                                         const std::vector<NodeLabel>& live) {
  if (!all_ordered_ || node.is_root || node.rows.size() < run_limits.least_rows || !state_.records.built()) return std::nullopt;
  std::vector<NodeLabel> others;
  Count potential = 0;  // true positives that the head's labels can have in any refinement
  for (const NodeLabel& label : live) {
    if (!incumbent.has(label.label)) others.push_back(label);
    else potential += std::max(label.usable(0) ? label.kinds[0] : 0, label.usable(1) ? label.kinds[1] : 0);
  }
  const std::size_t own = live.size() - others.size();
  // Alone they must not be able to tie with the incumbent and win.
  if (own == 0 || own > RunEnds::kMostLabels || others.empty() || potential > incumbent.tp) return std::nullopt;
  if (!places_.built()) places_.build(columns_, state_);
  return others;
}

// Those of the labels with a literal for which the value is not out of reach; what is known of the others is noted.
template <class Int>
std::vector<NodeLabel> Engine::can_reach(const Node& node, const std::vector<NodeLabel>& labels, const Target<Int>& target) {
  std::vector<NodeLabel> left;
  for (NodeLabel label : labels) {
    for (int v = 0; v < 2; ++v)
      label.allowed[v] = label.allowed[v] && target.gains.bound(label, v) >= 0 &&
                         path_[label.label * 2 + std::size_t(v)].can_reach(label, v, target);
    if (label.allowed[0] || label.allowed[1]) left.push_back(label);
  }
  if constexpr (std::is_same_v<Int, Count>) {
    if (!left.empty()) rule_out(node, left, target);
  }
  std::erase_if(left, [](const NodeLabel& label) { return !label.allowed[0] && !label.allowed[1]; });
  return left;
}

// Takes away the literals that no condition brings to the value, as far as bounds tell.
void Engine::rule_out(const Node& node, std::vector<NodeLabel>& labels, const Target<Count>& target) {
  list_labels(node);
  runs_.begin(places_, state_, node);
  parallel_for(places_.slots(), threads_, [&](std::size_t slot) { runs_.update_cover(slot); });
  std::vector<std::array<Count, 2>> bounds(labels.size(), {0, 0});
  parallel_for(labels.size(), threads_, [&](std::size_t e) {
    RunEnds::Scratch scratch;
    for (int v = 0; v < 2; ++v)
      if (labels[e].allowed[v] && runs_.can_bound(labels[e], v, target.gains))
        bounds[e][std::size_t(v)] = runs_.bound(labels[e], v, target.gains, scratch);
  });
  for (const LabelList& list : label_lists_) {
    const Bits cover = rows_of({Test::label, false, list.label, double(list.value)}, node.cover);
    for (std::size_t e = 0; e < labels.size(); ++e) {
      if (std::max(bounds[e][0], bounds[e][1]) >= 0 && std::min(bounds[e][0], bounds[e][1]) >= 0) continue;
      Count kinds[4];
      state_.count_kinds(labels[e].label, cover, static_cast<Count>(list.size), kinds);
      for (int v = 0; v < 2; ++v) {
        Count gain = target.gains.empty_sum(labels[e]);
        for (int k = 0; k < 4; ++k) gain += target.gains.slope[v][k] * kinds[k];
        bounds[e][std::size_t(v)] = std::max(bounds[e][std::size_t(v)], gain);
      }
    }
  }
  for (std::size_t e = 0; e < labels.size(); ++e)
    for (int v = 0; v < 2; ++v) {
      if (!labels[e].allowed[v] || bounds[e][std::size_t(v)] >= 0) continue;
      labels[e].allowed[v] = false;
      Prospect& prospect = path_[labels[e].label * 2 + std::size_t(v)];
      prospect = {double(bounds[e][std::size_t(v)]) / target.scale, target.value, {}};
      std::copy_n(labels[e].kinds, 4, prospect.kinds);
    }
}

// Where a measure cannot exceed 1 and races are remembered, asking them for a condition that reaches 1 costs less than
// any other search of the empty body. Nothing if there is none, or if this is another case.
template <class Int>
std::optional<Best> Engine::perfect_condition(const Watch& watch, Node& node, const std::vector<NodeLabel>& live,
                                              const Form& form) {
  const Fraction one{1, 1};
  node.labels = live;
  if (!TieScan::applies(Gains<Int>(form, one, state_.working_weight), node, state_)) return std::nullopt;
  if (!follow_races(node, form)) return std::nullopt;
  const std::optional<Best> found = search_node<Int>(watch, node, form, Best{one, 0, false, {}});
  return found && found->any ? found : std::nullopt;
}

// Searches the literals that can reach the value with one more condition, the most promising ones first and not more at a
// time than a sweep's table can hold. What they reach rules out most of the others.
template <class Int>
std::optional<Best> Engine::search_in_parts(const Watch& watch, Node& node, const std::vector<NodeLabel>& live,
                                            const Form& form, const Head& incumbent, Fraction value) {
  std::size_t literals = 0, unusual = 0;
  for (const NodeLabel& label : live) {
    literals += std::size_t(label.allowed[0]) + std::size_t(label.allowed[1]);
    for (int k = 0; k < 4; ++k)
      if (k != label.usual) unusual += static_cast<std::size_t>(label.kinds[k]);
  }
  std::size_t most = std::max<std::size_t>(16, Sweep<Int>::kLargestTable / sizeof(std::int32_t) / state_.rows);
  if (double(unusual) / double(std::max<Count>(1, node.weight)) < double(literals) / 16)
    most = std::min<std::size_t>(most, 64);
  most -= most % kLanes;  // whole vectors, so that the table stays within its bound

  const auto tp_to_beat = [&] { return compare(value, incumbent.value) == 0 ? incumbent.tp : 0; };
  const auto search = [&](const std::vector<NodeLabel>& labels, Count tp) {
    node.labels = labels;
    return search_node<Int>(watch, node, form, Best{value, tp, false, {}});
  };
  const auto taken_by = [](const std::vector<std::pair<double, NodeLabel>>& ranked) {
    std::size_t lanes = 0;
    for (const auto& [promise, label] : ranked) lanes += std::size_t(label.allowed[0]) + std::size_t(label.allowed[1]);
    return lanes;
  };
  if (compare(value, {1, 1}) < 0)
    if (const std::optional<Best> found = perfect_condition<Int>(watch, node, live, form)) return found;
  std::vector<NodeLabel> rest = live, winners;
  std::optional<Best> best = Best{value, incumbent.tp, false, {}};
  bool several = false;  // parts that tie with each other
  bool started = false;
  const std::optional<std::vector<NodeLabel>> others = apart_from(incumbent, node, live);
  if (others && !Gains<Int>(form, value, state_.working_weight).only_ties()) {
    // What the incumbent's labels reach rules out most of the others.
    std::vector<NodeLabel> own;
    for (const NodeLabel& label : live)
      if (incumbent.has(label.label)) own.push_back(label);
    const std::optional<Best> found = search(own, std::numeric_limits<Count>::max());
    if (!found) return std::nullopt;
    if (found->any) value = found->value;
    const Target<Int> target(form, value, state_.working_weight);
    rest = can_reach(node, *others, target);
    if (found->any) {
      best = found;
      winners = std::move(own);
      started = true;
    } else if (!rest.empty()) {
      rest.insert(rest.end(), own.begin(), own.end());
    }
  }
  while (!rest.empty()) {
    const Target<Int> target(form, value, state_.working_weight);
    if (target.gains.only_ties()) return search(live, tp_to_beat());
    std::vector<std::pair<double, NodeLabel>> ranked;
    for (NodeLabel label : rest) {
      double promise = -std::numeric_limits<double>::infinity();
      for (int v = 0; v < 2; ++v) {
        const Prospect& prospect = path_[label.label * 2 + std::size_t(v)];
        label.allowed[v] = label.allowed[v] && prospect.can_reach(label, v, target);
        if (label.allowed[v])
          promise = std::max(promise, prospect.optimistic(label, v, target));
      }
      if (label.allowed[0] || label.allowed[1]) ranked.push_back({promise, label});
    }
    if (ranked.empty()) break;
    std::stable_sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.first > b.first; });
    // Lists are judged for all labels at the cost of a few: the most promising literals alone, then all that are left.
    const bool many = lists_.all() && taken_by(ranked) > kLanes * TallyJudge<Int>::vectors(state_.records, target.gains);
    const bool at_once = many && (started || !std::isfinite(ranked.front().first));
    const std::size_t room = many ? kLanes : most;
    started = true;
    std::vector<NodeLabel> part;
    rest.clear();
    std::size_t taken = 0;
    for (const auto& [promise, label] : ranked) {
      const std::size_t adds = std::size_t(label.allowed[0]) + std::size_t(label.allowed[1]);
      if (rest.empty() && (part.empty() || at_once || taken + adds <= room)) part.push_back(label), taken += adds;
      else rest.push_back(label);
    }
    const bool only = rest.empty() && winners.empty();
    const std::optional<Best> found = search(part, only ? tp_to_beat() : 0);
    if (!found) return std::nullopt;
    if (!found->any) continue;
    const int order = compare(found->value, value);
    if (order > 0) winners.clear(), several = false;
    else several = several || !winners.empty() || !only;
    value = found->value;
    best = found;
    winners.insert(winners.end(), part.begin(), part.end());
  }
  // A tie with the incumbent or between parts is decided by the true positives of all literals together.
  if (several) best = search(winners, tp_to_beat());
  return best;
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
    return top > 0 || (top == 0 && (potential > best.tp || (potential == best.tp && best.any)));
  }
}

// The columns that reach farthest come first.
template <class Int>
void Engine::rank_columns(const Node& node, const Form& form, const Best& start) {
  if constexpr (std::is_same_v<Int, Count>) {
    const Gains<Count> gains(form, start.value, state_.working_weight);
    parallel_for(order_.size(), node.rows.size() * order_.size() < kWorthThreads ? 1 : threads_, [&](std::size_t i) {
      const std::size_t column = order_[i];
      if (!RunEnds::handles(columns_[column])) return;
      Count top = std::numeric_limits<Count>::lowest();
      for (std::uint32_t e = 0; e < node.labels.size(); ++e)
        for (int v = 0; v < 2; ++v)
          if (node.labels[e].usable(v)) top = std::max(top, runs_.reach(places_.slot(column), e, v, gains));
      promise_[column] = double(top) / double(start.value.den);
    });
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
      Int gain = scan.gains().empty_sum(label);
      for (int k = 0; k < 4; ++k) gain += scan.gains().slope[v][k] * Int(kinds[k]);
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
    if (races_.outgrown()) races_ = {}, places_ = {};
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

// The best condition of a node, or of some of its columns and labels; nothing if the measure's shape needs the general search.
template <class Int>
std::optional<Best> Engine::search_node(const Watch& watch, Node& node, const Form& form, const Best& start,
                                        const std::vector<bool>* within) {
  std::vector<std::unique_ptr<Worker<Int>>> workers(static_cast<std::size_t>(threads_));
  const bool fits = lanes_fit(form, node, state_, start.value);
  const std::size_t vectors = TallyJudge<Int>::vectors(state_.records, Gains<Int>(form, start.value, state_.working_weight));
  const bool by_bits = node.lists && fits && lists_.all() && Sweep<Int>(node).width() > vectors;
  const bool tied = TieScan::applies(Gains<Int>(form, start.value, state_.working_weight), node, state_);
  const bool raced = tied && follow_races(node, form);
  const bool few = !node.is_root && std::is_same_v<Int, Count> && node.labels.size() <= RunEnds::kMostLabels &&
                   node.rows.size() >= run_limits.least_rows && fits && !tied;
  if (!node.is_root && !places_.built() && state_.records.built() && 
      (few || 2 * place_limits.share * node.rows.size() < state_.rows))
    places_.build(columns_, state_);
  const bool runs = few && places_.built() && runs_.begin(places_, state_, node);
  if (runs) rank_columns<Int>(node, form, start);
  const Places* places = places_.built() ? &places_ : nullptr;
  const bool bare = tied && fits && only_ties(node);
  if (!by_bits && !bare) node.list_touches(state_);
  std::mutex guard;
  Fraction shared = start.value;
  std::atomic<bool> any_usable{true}, all_swept{true};

  const bool listed = state_.records.built() && fits;
  const std::vector<std::uint32_t> tested = tested_labels();
  const bool labels_raced = raced && races_.has_labels();  // all of them at once
  if (listed && !labels_raced) list_labels(node);
  const std::size_t others = labels_raced ? 1 : listed ? label_lists_.size() : tested.size();
  over_units(watch, node, others, true, [&](int w, std::size_t unit) {
    const bool is_label = unit >= columns_.size();
    if (!is_label && listed && node.lists && lists_.is_empty(unit, *node.lists)) return;
    const std::size_t other = unit - columns_.size();
    if (within) {
      const std::uint32_t label = !is_label ? 0 : listed ? label_lists_[other].label : tested[other];
      const std::size_t first = columns_.size() + 2 * label;
      if (is_label ? !(*within)[first] && !(*within)[first + 1] : !(*within)[unit]) return;
    }
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) {
      worker.reset(new Worker<Int>{{node, state_, form, start}, {node, state_, columns_, places}, Sweep<Int>(node), false, 0,
                                   {}, 0, {}});
      const double touches = double(node.touches.size()) / double(std::max<std::size_t>(1, node.rows.size()));
      worker->looks = fits && worker->sweep.table_bytes(state_.rows) <= Sweep<Int>::kLargestTable &&
                      double(worker->sweep.width()) < 8 + 10 * touches;
    }
    SinglesScan<Int>& scan = worker->scan;
    if (threads_ > 1) {
      const std::lock_guard lock(guard);
      scan.raise(shared);
    }
    if (runs && !is_label && RunEnds::handles(columns_[unit]) && !can_count(*worker, node, unit)) return;
    bool rose = false;
    for (bool settled = false; !settled && scan.usable();) {
      // Where nothing but ties is left to find, almost every feature has one.
      const bool counted = runs && is_label && listed;
      const bool looks = worker->looks && !by_bits && !scan.fading() && !counted;
      if (looks && worker->risen != scan.risen()) {
        worker->sweep.set_gains(form, scan.gains(), scan.best().value, state_);
        worker->risen = scan.risen();
      }
      Sweep<Int>* look = looks ? &worker->sweep : nullptr;
      if (counted) {
        judge_counted(*worker, node, label_lists_[other]);
      } else if (is_label && labels_raced) {
        all_swept = false;
        races_.labels(scan);
      } else if (listed && (is_label || (node.lists && lists_[unit].any()))) {
        judge_lists(*worker, node, unit, is_label ? &label_lists_[other] : nullptr, form, look);
      } else if (raced && !is_label && columns_[unit].ordered) {
        all_swept = false;
        races_.column(columns_[unit], static_cast<std::uint32_t>(unit), places_.slot(unit), scan);
      } else if (!is_label && !look && columns_[unit].ordered && TieScan::applies(scan.gains(), node, state_)) {
        all_swept = false;
        if (!worker->ties) worker->ties.emplace(node, state_);
        worker->ties->column(columns_[unit], static_cast<std::uint32_t>(unit), columns_, places, scan);
      } else {
        if (!look) all_swept = false;
        if (is_label) worker->walk.label(tested[other], scan, look);
        else worker->walk.feature(unit, scan, look);
        if (look && !is_label) promise_[unit] = look->top();
      }
      settled = scan.settled([&](const Condition& condition, std::size_t label, Count kinds[4]) {
        const Bits cover = rows_of(condition, node.cover);
        state_.count_kinds(label, cover, state_.weigh(cover.data()), kinds);
      });
      rose = rose || !settled;
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
  if (within) return best;
  for (const NodeLabel& label : node.labels)
    for (int v = 0; v < 2; ++v) path_[label.label * 2 + std::size_t(v)].reach = std::numeric_limits<double>::infinity();
  if (all_swept) {
    for (const auto& worker : workers) {
      if (!worker) continue;
      if (!worker->walk.looked_at_all()) return forget(node), best;
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
  return best;
}

void Engine::forget(const Node& node) {
  for (const NodeLabel& label : node.labels)
    for (int v = 0; v < 2; ++v) path_[label.label * 2 + std::size_t(v)] = Prospect{};
}

// Bring the prospects of the empty body up to date: forget what a changed label or working set has made invalid, and
// look at the label conditions that the last rules have changed.
void Engine::open_path(const Form& form) {
  if (root_version_ != state_.working_version) {
    root_.assign(state_.labels * 2, Prospect{});
    root_changed_ = state_.changed;
    root_version_ = state_.working_version;
  }
  std::vector<std::size_t> changed;
  for (std::size_t l = 0; l < state_.labels; ++l)
    if (root_changed_[l] != state_.changed[l]) changed.push_back(l);
  for (const std::size_t l : changed) root_[l * 2] = root_[l * 2 + 1] = Prospect{};
  root_changed_ = state_.changed;
  // Looking at so many label conditions for all labels would cost more than the search that prospects may save.
  if (limits_.label_conditions && changed.size() * 16 > state_.labels + 64) {
    root_.assign(state_.labels * 2, Prospect{});
    changed.clear();
  }
  if (limits_.label_conditions)
    for (const std::size_t l : changed)
      for (int value = 0; value < 2; ++value) {
        const Bits cover = rows_of({Test::label, false, static_cast<std::uint32_t>(l), double(value)}, state_.working);
        const Count weight = state_.weigh(cover.data());
        for (std::size_t t = 0; t < state_.labels; ++t) {
          if (!root_[t * 2].known() && !root_[t * 2 + 1].known()) continue;
          Count kinds[4];
          state_.count_kinds(t, cover, weight, kinds);
          NodeLabel label;
          label.present = state_.present[t];
          for (int v = 0; v < 2; ++v) {
            Prospect& prospect = root_[t * 2 + std::size_t(v)];
            if (!prospect.known()) continue;
            const Counts c = literal_counts(label, kinds, v, state_.working_weight);
            const double gain = double(linear<Wide>(form.num, c)) - prospect.value * double(linear<Wide>(form.den, c));
            prospect.reach = std::max(prospect.reach, gain + 1e-6 + 1e-9 * std::abs(gain));
          }
        }
      }
  path_ = root_;
}

std::vector<Scored> Engine::best_in_general(const Watch& watch, Node& node, const Form& form, const Head* incumbent,
                                            std::size_t size) {
  node.list_touches(state_);
  std::vector<std::unique_ptr<GeneralScan>> workers(static_cast<std::size_t>(threads_));
  const std::vector<std::uint32_t> tested = tested_labels();
  over_units(watch, node, tested.size(), false, [&](int w, std::size_t unit) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker)
      worker.reset(new GeneralScan(node, state_, columns_, form, limits_.min_coverage, Shortlist(size, incumbent),
                                   Patience(&watch)));
    if (unit >= columns_.size()) worker->label(tested[unit - columns_.size()]);
    else worker->feature(unit);
  });
  for (const auto& worker : workers)
    if (worker) worker->finish();
  std::vector<Scored> merged;
  for (const auto& worker : workers)
    if (worker) merged.insert(merged.end(), worker->shortlist().entries().begin(), worker->shortlist().entries().end());
  std::sort(merged.begin(), merged.end(), better);
  if (merged.size() > size) merged.resize(size);
  return merged;
}

template std::optional<Best> Engine::search_node<Count>(const Watch&, Node&, const Form&, const Best&,
                                                        const std::vector<bool>*);
template std::optional<Best> Engine::search_node<Wide>(const Watch&, Node&, const Form&, const Best&,
                                                       const std::vector<bool>*);

}  // namespace polyrule
