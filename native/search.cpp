// The search for the best condition of a node.
#include <algorithm>
#include <cmath>

#include "engine.hpp"
#include "parallel.hpp"
#include "sweep.hpp"
#include "ties.hpp"
#include "walk.hpp"

namespace polyrule {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPollEvery = std::chrono::milliseconds(40);
// Touches and rows a search must visit before a second thread pays for its start.
constexpr std::size_t kWorthThreads = 400'000;

}  // namespace

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

// Runs scan_unit(worker, unit) for every feature and then for every one of the `others`.
template <class Scan>
void Engine::over_units(const Watch& watch, const Node& node, std::size_t others, bool quick, Scan&& scan_unit) {
  const std::size_t columns = order_.size(), units = columns + others;
  // What was good last time comes first: the sooner the value rises, the less is left to be looked at closely.
  const auto better = [&](std::size_t a, std::size_t b) { return promise_[a] > promise_[b]; };
  if (!std::is_sorted(order_.begin(), order_.end(), better)) std::stable_sort(order_.begin(), order_.end(), better);
  // Asking for the time takes as long as a short list.
  const std::size_t between = quick ? 1 + 50'000 / (1 + node.rows.size()) : 1;
  const std::size_t work = (node.rows.size() + 2 * node.touches.size()) * units;
  const int threads = work < kWorthThreads ? 1 : std::min<int>(threads_, static_cast<int>(units));
  std::atomic<std::size_t> next{0};
  std::atomic<bool> over{false};
  on_threads(threads, [&](int worker) {
    auto last_poll = Clock::now();
    std::size_t since = 0;
    try {
      for (std::size_t i = next++; i < units && !over; i = next++) {
        scan_unit(worker, i < columns ? order_[i] : columns_.size() + (i - columns));
        if (worker == 0 && ++since >= between) {
          since = 0;
          const auto now = Clock::now();
          if (now - last_poll < kPollEvery) continue;
          last_poll = now;
          if (watch.poll && watch.poll()) throw Interrupted{};
          if (watch.deadline && now > *watch.deadline) throw TimeIsUp{};
        }
      }
    } catch (...) {
      over = true;
      throw;
    }
  });
  const auto now = Clock::now();
  if (watch.deadline && now > *watch.deadline) throw TimeIsUp{};
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
  node.lists = lists_.any() ? &lists_of(node) : nullptr;
  label_lists_known_ = false;
  const std::optional<Best> found = search_in_parts<Int>(watch, node, live, form, incumbent);
  node.labels = std::move(live);
  usable = found.has_value();
  if (!usable || !found->any) return std::nullopt;
  return found->condition;
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
                                            const Form& form, const Head& incumbent) {
  double largest_denominator = double(form.den[0]);
  largest_denominator += double(*std::max_element(form.den.begin() + 1, form.den.end())) * double(state_.working_weight);
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

  Fraction level = incumbent.value;
  const auto tp_to_beat = [&] { return compare(level, incumbent.value) == 0 ? incumbent.tp : 0; };
  const auto search = [&](const std::vector<NodeLabel>& labels, Count tp) {
    node.labels = labels;
    return search_node<Int>(watch, node, form, Best{level, tp, false, {}});
  };
  const auto taken_by = [](const std::vector<std::pair<double, NodeLabel>>& ranked) {
    std::size_t lanes = 0;
    for (const auto& [promise, label] : ranked) lanes += std::size_t(label.allowed[0]) + std::size_t(label.allowed[1]);
    return lanes;
  };
  if (compare(level, {1, 1}) < 0)
    if (const std::optional<Best> found = perfect_condition<Int>(watch, node, live, form)) return found;
  std::vector<NodeLabel> rest = live, winners;
  std::optional<Best> best = Best{level, incumbent.tp, false, {}};
  bool several = false;  // parts that tie with each other
  bool started = false;
  while (!rest.empty()) {
    const Gains<Int> gains(form, level, state_.working_weight);
    bool fading = true;
    for (int v = 0; v < 2; ++v)
      for (int k = 0; k < 4; ++k) fading = fading && gains.slope[v][k] <= 0;
    if (fading) return search(live, tp_to_beat());  // nothing but ties are left, of any literal
    std::vector<std::pair<double, NodeLabel>> ranked;
    for (NodeLabel label : rest) {
      double promise = -std::numeric_limits<double>::infinity();
      for (int v = 0; v < 2; ++v) {
        const Prospect& prospect = path_[label.label * 2 + std::size_t(v)];
        label.allowed[v] = label.allowed[v] && prospect.can_reach(label, v, gains, level, largest_denominator);
        if (label.allowed[v])
          promise = std::max(promise, prospect.optimistic(label, v, gains, level, largest_denominator));
      }
      if (label.allowed[0] || label.allowed[1]) ranked.push_back({promise, label});
    }
    if (ranked.empty()) break;
    std::stable_sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.first > b.first; });
    // Lists are judged for all labels at the cost of a few: the most promising literals alone, then all that are left.
    const bool many = lists_.all() && taken_by(ranked) > kLanes * TallyJudge<Int>::vectors(state_.records, gains);
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
    const int order = compare(found->value, level);
    if (order > 0) winners.clear(), several = false;
    else several = several || !winners.empty() || !only;
    level = found->value;
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

// The best condition of a node; nothing if the measure's shape needs the general search.
template <class Int>
std::optional<Best> Engine::search_node(const Watch& watch, Node& node, const Form& form, const Best& start) {
  std::vector<std::unique_ptr<Worker<Int>>> workers(static_cast<std::size_t>(threads_));
  const bool fits = lanes_fit(form, node, state_, start.value);
  const std::size_t vectors = TallyJudge<Int>::vectors(state_.records, Gains<Int>(form, start.value, state_.working_weight));
  const bool by_bits = node.lists && fits && lists_.all() && Sweep<Int>(node).width() > vectors;
  const bool tied = TieScan::applies(Gains<Int>(form, start.value, state_.working_weight), node, state_);
  const bool raced = tied && follow_races(node, form);
  if (!node.is_root && !places_.built() && state_.records.built() &&
      2 * place_limits.share * node.rows.size() < state_.rows)
    places_.build(columns_, state_);
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
    bool rose = false;
    for (bool settled = false; !settled && scan.usable();) {
      // Where nothing but ties is left to find, almost every feature has one.
      const bool looks = worker->looks && !by_bits && !scan.fading();
      if (looks && worker->risen != scan.risen()) {
        worker->sweep.set_gains(form, scan.gains(), scan.best().value, state_);
        worker->risen = scan.risen();
      }
      Sweep<Int>* look = looks ? &worker->sweep : nullptr;
      if (is_label && labels_raced) {
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

}  // namespace polyrule
