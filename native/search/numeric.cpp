#include "search/numeric.hpp"

#include <mutex>

namespace polyrule {

namespace {

// Shows all candidates of a column to a sweep.
template <class CanTie, class Report>
void sweep_column(Lines& lines, Sweep& sweep, const Node& node, std::size_t column, CanTie&& can_tie, Report&& report) {
  double top = -std::numeric_limits<double>::infinity();
  lines.show(
      column,
      [&](const Line& line, auto&& make) {
        sweep.judge(line, can_tie,
                    [&](bool leaves, std::size_t where, Count weight, const std::vector<Passing>& passing) {
                      report(weight, passing, [&] { return make(leaves, where); });
                    });
        top = std::max(top, sweep.top());
      },
      [&](const Column& binned, const std::vector<std::uint32_t>& missing, auto&& make) {
        sweep.judge_bins(
            binned, missing, can_tie,
            [&](bool leaves, std::size_t where, Count weight, const std::vector<Passing>& passing) {
              report(weight, passing, [&] { return make(leaves, sweep.binned()[where - 1]); });
            },
            [&](std::vector<std::uint32_t>& slots) { sort_slots(binned, node, slots); });
        top = std::max(top, sweep.top());
      });
  sweep.note_top(top);
}

std::vector<Literal> literals_of(const std::vector<NodeLabel>& labels) {
  std::vector<Literal> literals;
  for (const NodeLabel& label : labels)
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v]) literals.push_back({label, v});
  return literals;
}

}  // namespace

NumericSearch::NumericSearch(Columns& columns, const State& state, Sequences& sequences, const Limits& limits,
                             Count min_coverage, int threads, bool after_pure)
    : columns_(columns), state_(state), limits_(limits), min_coverage_(min_coverage), threads_(threads),
      after_pure_(after_pure), sequences_(sequences), promise_(columns.size(), 0),
      bounds_(state, false, limits.bounds != 0), first_(state.labels) {
  for (std::size_t j = 0; j < columns.size(); ++j)
    if (columns[j].shape != Shape::constant && columns[j].shape != Shape::listed) order_.push_back(j);
}

bool NumericSearch::search(const Query& query, Shortlist& best) {
  const auto& [watch, node, form] = query;
  const bool is_pure = after_pure_ && peaks_at_purity(form);
  if (!any() || (is_pure && compare(best.level(), {1, 1}) == 0)) return false;
  const bool keeps = node.is_root() && !is_pure && best.size() == 1;  // the best values are kept for the next rules
  if (keeps && state_.labels >= limits_.first_labels) search_first(watch, node, form, best);
  else search_in_parts(watch, node, form, best);
  if (node.is_root()) bounds_.keep_root();
  return false;
}

// Literals whose table stays within the second-level cache or so.
std::size_t NumericSearch::most_literals(const Node& node) const {
  const std::size_t fitting = limits_.table_bytes / sizeof(Lane) / std::max<std::size_t>(1, node.slots);
  return std::clamp<std::size_t>(fitting, kLanes, 64) / kLanes * kLanes;
}

template <class Visit>
void NumericSearch::over_columns(const Watch& watch, const Node& node, std::size_t literals, Visit&& visit) {
  // What was good last time comes first: the sooner the level rises, the less is left to be looked at closely.
  const auto better = [&](std::size_t a, std::size_t b) { return promise_[a] > promise_[b]; };
  if (!std::is_sorted(order_.begin(), order_.end(), better)) std::stable_sort(order_.begin(), order_.end(), better);
  const std::size_t work = node.rows.size() * order_.size() * (1 + literals / kLanes);
  const int threads = work < limits_.threaded_work ? 1 : std::min<int>(threads_, static_cast<int>(order_.size()));
  over_all(watch, order_.size(), threads, 1 + 50'000 / (1 + node.rows.size()),
           [&](int worker, std::size_t i) { visit(worker, threads, order_[i]); });
}

// Offers the conditions of a node for some literals, on all columns or on some. `part` gets what each of them reaches.
void NumericSearch::search_part(const Watch& watch, const Node& node, const std::vector<Literal>& literals,
                                const Form& form, Shortlist& best, Part* part, const std::vector<char>* within) {
  struct Worker {
    Lines lines;
    Sweep sweep;
    Shortlist best;
    Fraction level;
    std::vector<Fraction> best_values;
  };
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads_));
  std::mutex guard;
  Fraction shared = best.level();
  over_columns(watch, node, literals.size(), [&](int w, int threads, std::size_t column) {
    if (within && !(*within)[column]) return;
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) {
      worker.reset(new Worker{{node, state_, columns_, sequences_},
                              {node, state_, form, limits_.lane_capacity, literals},
                              best,
                              best.level(),
                              {}});
      if (part) worker->best_values.assign(literals.size(), Fraction{-1, 0});
      worker->sweep.set_level(worker->level);
    }
    if (threads > 1) {
      const std::lock_guard lock(guard);
      worker->best.raise(shared);
    }
    if (compare(worker->best.level(), worker->level) > 0) {
      worker->level = worker->best.level();
      worker->sweep.set_level(worker->level);
    }
    sweep_column(
        worker->lines, worker->sweep, node, column,
        [&](Count tp) { return part || tp >= worker->best.least_tp(); },  // each literal's ties are wanted
        [&](Count weight, const std::vector<Passing>& passing, auto&& condition) {
          if (weight < min_coverage_) return;
          if (part) part->columns[column] = 1;
          BestLiterals met;
          for (const Passing& p : passing) {
            const Fraction value = literal_value(form, p.counts);
            if (part && (worker->best_values[p.literal].den == 0 || compare(value, worker->best_values[p.literal]) > 0))
              worker->best_values[p.literal] = value;
            met.meet(value, p.counts.tp, literals[p.literal].label.label);
          }
          if (!worker->best.admits(met.value, met.tp)) return;
          const Fraction before = worker->best.level();
          worker->best.offer({met.value, met.tp, condition()});
          if (compare(worker->best.level(), before) > 0) worker->sweep.lift(worker->best.level());
        });
    promise_[column] = worker->sweep.top();
    if (threads > 1) {
      const std::lock_guard lock(guard);
      if (worker->best.is_full() && compare(worker->best.level(), shared) > 0) shared = worker->best.level();
    }
  });
  for (const auto& worker : workers)
    if (worker) best.merge(worker->best);
  for (std::size_t i = 0; part && i < literals.size(); ++i) {
    Fraction best_value{-1, 0};
    for (const auto& worker : workers)
      if (worker && worker->best_values[i].den != 0 &&
          (best_value.den == 0 || compare(worker->best_values[i], best_value) > 0))
        best_value = worker->best_values[i];
    if (best_value.den != 0) part->reached.push_back({literals[i], best_value});
  }
  if (within) return;
  // What the workers have seen of every literal bounds it in the nodes below.
  for (std::size_t i = 0; i < literals.size(); ++i) {
    double reach = -std::numeric_limits<double>::infinity();
    for (const auto& worker : workers)
      if (worker) reach = std::max(reach, worker->sweep.reach(i));
    bounds_.note(literals[i].label, literals[i].value, reach, as_double(best.level()));
  }
}

// True positives of all literals that reach a level together decide between ties.
void NumericSearch::search_winners(const Watch& watch, const Node& node, const std::vector<Literal>& winners,
                                   const Form& form, const Fraction& level, const std::vector<char>& within,
                                   Shortlist& best) {
  if (winners.empty()) return;
  Shortlist candidates = best;
  candidates.raise(level);
  search_part(watch, node, winners, form, candidates, nullptr, &within);
  best.merge(candidates);
}

void NumericSearch::search_in_parts(const Watch& watch, const Node& node, const Form& form, Shortlist& best) {
  const std::size_t max_literals = most_literals(node);
  Shortlist scout = best;  // true positives of one part say nothing, so ties with the level all count
  scout.forget_ties();
  Part seen{{}, std::vector<char>(columns_.size(), 0)};
  std::vector<NodeLabel> rest = node.labels;
  for (bool first = true;; first = false) {
    rest = bounds_.ranked(rest, Target(form, scout.level()), node.leading);
    if (rest.empty()) break;
    // Of many literals those of the head come first and alone: few others reach what they do with one more condition.
    // In few rows that spares less than another turn takes.
    constexpr std::size_t kManyRows = 2048;
    const bool leads = first && !node.is_root() && node.rows.size() > kManyRows && literals_of(rest).size() > kLanes;
    const std::size_t alone = leads ? node.leading.size() : rest.size();
    std::vector<NodeLabel> part;
    for (std::size_t i = 0; i < std::min(alone, rest.size()); ++i) {
      if (!part.empty() && literals_of(part).size() + 2 > max_literals) break;
      part.push_back(rest[i]);
    }
    const std::vector<Literal> literals = literals_of(part);
    if (first && part.size() == rest.size()) return search_part(watch, node, literals, form, best, nullptr, nullptr);
    rest.erase(rest.begin(), rest.begin() + std::ptrdiff_t(part.size()));
    search_part(watch, node, literals, form, scout, &seen, nullptr);
  }
  std::vector<Literal> winners;
  for (const auto& [literal, value] : seen.reached)
    if (compare(value, scout.level()) >= 0) winners.push_back(literal);
  search_winners(watch, node, winners, form, scout.level(), seen.columns, best);
}

// Searches some literals, each up to its best value.
void NumericSearch::find_first(const Watch& watch, const Node& root, const Form& form,
                               const std::vector<Literal>& literals) {
  struct FirstBest {
    Fraction best;
    bool reached = false, rose = false;
    std::vector<std::uint32_t> columns;
    std::optional<Condition> witness;
  };
  std::vector<FirstBest> start;
  for (const auto& [label, value] : literals) {
    FirstBest literal_best{literal_value(form, literal_counts(label, label.outcomes, value)),
                           false,
                           false,
                           {},
                           first_.at(label.label, value).witness};
    // With missing values, a threshold may have lost the rows on its other side.
    if (literal_best.witness && columns_[literal_best.witness->index].missing.empty()) {
      const Bits cover = columns_.covered(*literal_best.witness, root.cover);
      const Count weight = state_.weigh(cover.data());
      const OutcomeCounts outcomes = state_.count_outcomes(label.label, cover, weight);
      const Fraction now = literal_value(form, literal_counts(label, outcomes, value));
      if (weight > 0 && weight < root.weight && weight >= min_coverage_ && outcomes[value] > 0 &&
          compare(now, literal_best.best) > 0)
        literal_best.best = now;
    }
    start.push_back(std::move(literal_best));
  }
  struct Worker {
    Lines lines;
    Sweep sweep;
    std::vector<FirstBest> firsts;
  };
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads_));
  over_columns(watch, root, literals.size(), [&](int w, int, std::size_t column) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker) {
      worker.reset(new Worker{
          {root, state_, columns_, sequences_}, {root, state_, form, limits_.lane_capacity, literals}, start});
      for (std::size_t i = 0; i < literals.size(); ++i) worker->sweep.set_level(i, start[i].best);
    }
    const auto number = static_cast<std::uint32_t>(column);
    sweep_column(
        worker->lines, worker->sweep, root, column, [](Count) { return true; },
        [&](Count weight, const std::vector<Passing>& passing, auto&& condition) {
          if (weight < min_coverage_) return;
          for (const Passing& p : passing) {
            FirstBest& literal_best = worker->firsts[p.literal];
            const Fraction value = literal_value(form, p.counts);
            const int order = compare(value, literal_best.best);
            if (order < 0) continue;
            if (order > 0) {
              literal_best.best = value;
              literal_best.rose = true;
              worker->sweep.lift(p.literal, value);
              literal_best.columns.clear();
              literal_best.witness = condition();
            }
            literal_best.reached = true;
            if (literal_best.columns.empty() || literal_best.columns.back() != number)
              literal_best.columns.push_back(number);
          }
        });
    promise_[column] = worker->sweep.top();
    for (std::size_t i = 0; i < literals.size(); ++i) {
      FirstBest& literal_best = worker->firsts[i];
      if (literal_best.rose) worker->sweep.set_level(i, literal_best.best);
      literal_best.rose = false;
    }
  });
  for (std::size_t i = 0; i < literals.size(); ++i) {
    const auto& [label, value] = literals[i];
    FirstCondition& first = first_.at(label.label, value);
    const std::optional<Condition> witness = first.witness;
    first = {true, true, false, start[i].best, {}, witness};
    double reach = -std::numeric_limits<double>::infinity();
    for (const auto& worker : workers) {
      if (!worker) continue;
      reach = std::max(reach, worker->sweep.reach(i));
      const FirstBest& literal_best = worker->firsts[i];
      const int order = literal_best.reached ? compare(literal_best.best, first.value) : -1;
      if (order < 0) continue;
      if (order > 0) first.columns.clear();
      first = {true, false, true, literal_best.best, std::move(first.columns), literal_best.witness};
      first.columns.insert(first.columns.end(), literal_best.columns.begin(), literal_best.columns.end());
    }
    first.value = make_fraction(first.value.num, first.value.den);
    bounds_.note(label, value, reach, as_double(first.value));
  }
}

void NumericSearch::search_first(const Watch& watch, const Node& root, const Form& form, Shortlist& best) {
  first_.update(state_, form);
  Fraction level = best.level();
  const std::vector<Literal> literals = literals_of(root.labels);
  const std::size_t max_literals = most_literals(root);
  for (;;) {
    std::vector<Literal> pending;
    for (const auto& [label, value] : literals)
      if (const FirstCondition& first = first_.at(label.label, value); first.exact && compare(first.value, level) > 0)
        level = first.value;
    for (const Literal& literal : literals)
      if (const FirstCondition& first = first_.at(literal.label.label, literal.value);
          !first.exact && first.may_reach(level) && pending.size() < max_literals)
        pending.push_back(literal);
    if (pending.empty()) break;
    find_first(watch, root, form, pending);
  }
  std::vector<Literal> winners;
  std::vector<char> within(columns_.size(), 0);
  for (const Literal& literal : literals) {
    const FirstCondition& first = first_.at(literal.label.label, literal.value);
    if (first.is_bounded && !bounds_.at(literal.label.label, literal.value).is_set())
      bounds_.note(literal.label, literal.value, 0, as_double(first.value));
    if (!first.exact || compare(first.value, level) != 0) continue;
    winners.push_back(literal);
    for (const std::uint32_t column : first.columns) within[column] = 1;
  }
  search_winners(watch, root, winners, form, level, within, best);
}

}  // namespace polyrule
