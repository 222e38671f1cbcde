// The search for a rule's first condition with what is known from the rules before; see first.hpp.
#include "first.hpp"

#include "units.hpp"
#include "walk.hpp"

namespace polyrule {

namespace {

double as_double(const Fraction& value) { return double(value.num) / double(value.den); }

// A condition on a label covers other rows now, or is new.
void update(FirstCondition& first, std::uint32_t unit, const Condition& condition, const Fraction& value) {
  const int order = compare(value, first.value);
  if (order > 0 || (order == 0 && first.below)) {
    first.value = value;
    first.below = false;
    first.exact = true;
    first.units = {unit};
    first.witness = condition;
  } else if (order == 0 && first.exact) {
    first.units.push_back(unit);
  }
}

}  // namespace

std::uint32_t Engine::unit_of(const Condition& condition) const {
  if (condition.test != Test::label) return condition.index;
  return static_cast<std::uint32_t>(columns_.size() + condition.index * 2 + (condition.edge != 0 ? 1 : 0));
}

// Forget what the last rules have made invalid, and look at the conditions on labels that they have changed.
void Engine::update_first(const Node& root, const Form& form) {
  const std::size_t labels = state_.labels;
  std::vector<std::size_t> changed;
  for (std::size_t l = 0; l < labels; ++l)
    if (first_changed_.size() != labels || first_changed_[l] != state_.changed[l]) changed.push_back(l);
  const bool same_form = first_form_.num == form.num && first_form_.den == form.den;
  // So many conditions on labels would cost more than a new search.
  const bool anew = first_.empty() || !same_form || (limits_.label_conditions && changed.size() * 8 > labels + 64);
  if (anew) first_.assign(labels * 2, {});
  else if (first_version_ != state_.working_version) leave_first(form);
  for (const std::size_t l : changed)
    for (int v = 0; v < 2; ++v) {
      FirstCondition fresh;
      fresh.witness = first_[l * 2 + std::size_t(v)].witness;
      first_[l * 2 + std::size_t(v)] = fresh;
    }
  if (!anew && limits_.label_conditions) {
    for (FirstCondition& first : first_) {
      std::erase_if(first.units, [&](std::uint32_t unit) {
        return unit >= columns_.size() &&
               std::binary_search(changed.begin(), changed.end(), (unit - columns_.size()) / 2);
      });
      first.exact = first.exact && !first.units.empty();
    }
    for (const std::size_t l : changed)
      for (int set_to = 0; set_to < 2; ++set_to) {
        const Condition condition{Test::label, false, static_cast<std::uint32_t>(l), double(set_to)};
        const Bits cover = rows_of(condition, root.cover);
        const Count weight = state_.weigh(cover.data());
        if (weight == 0 || weight == root.weight) continue;
        for (std::size_t t = 0; t < labels; ++t) {
          if (!first_[t * 2].known && !first_[t * 2 + 1].known) continue;
          NodeLabel label;
          label.present = state_.present[t];
          Count kinds[4];
          state_.count_kinds(t, cover, weight, kinds);
          for (int v = 0; v < 2; ++v) {
            FirstCondition& first = first_[t * 2 + std::size_t(v)];
            if (!first.known || kinds[v] <= 0) continue;
            update(first, unit_of(condition), condition,
                   literal_value(form, literal_counts(label, kinds, v, state_.working_weight)));
          }
        }
      }
  }
  first_form_ = form;
  first_changed_ = state_.changed;
  first_version_ = state_.working_version;
  first_working_ = state_.working;
}

// Rows have left the working set. One that lacks a label which is set there counted for it only as a true negative; if
// these do not matter, the values stay, though some conditions may be gone.
void Engine::leave_first(const Form& form) {
  const bool negatives_matter = form.num[3] != 0 || form.den[3] != 0;
  for (std::size_t l = 0; l < state_.labels; ++l) {
    bool touched = negatives_matter;
    for (std::size_t w = 0; w < state_.working.words() && !touched; ++w)
      touched = (first_working_.data()[w] & ~state_.working.data()[w] & (state_.truth[l][w] | ~state_.set[l][w])) != 0;
    for (int v = 0; v < 2; ++v) {
      FirstCondition& first = first_[l * 2 + std::size_t(v)];
      first.known = first.known && !touched;
      first.exact = false;
    }
  }
}

// The rows of a condition found earlier, if it is still one.
std::optional<Bits> Engine::divides(const Node& root, const Condition& condition) const {
  // With missing values, a threshold may have lost the rows on its other side.
  if (condition.test != Test::label && !columns_[condition.index].missing.empty()) return std::nullopt;
  Bits cover = rows_of(condition, root.cover);
  const Count weight = state_.weigh(cover.data());
  if (weight == 0 || weight == root.weight) return std::nullopt;
  return cover;
}

std::optional<Fraction> Engine::value_of(const NodeLabel& label, int value, const Bits& cover, const Form& form) const {
  Count kinds[4];
  state_.count_kinds(label.label, cover, state_.weigh(cover.data()), kinds);
  if (kinds[value] <= 0) return std::nullopt;
  return literal_value(form, literal_counts(label, kinds, value, state_.working_weight));
}

// What the first condition of the last rule would reach now: a value to start from.
Fraction Engine::opening_value(const Node& root, const std::vector<NodeLabel>& live, const Form& form,
                               Fraction least) const {
  const std::optional<Bits> cover = opening_ ? divides(root, *opening_) : std::nullopt;
  if (!cover) return least;
  for (const NodeLabel& label : live)
    for (int v = 0; v < 2; ++v)
      if (label.allowed[v])
        if (const auto value = value_of(label, v, *cover, form); value && compare(*value, least) > 0) least = *value;
  return least;
}

// Searches some literals, each up to its best value.
template <class Int>
void Engine::find_first(const Watch& watch, Node& root, const Form& form,
                        const std::vector<std::pair<NodeLabel, int>>& literals) {
  using Own = OwnValues<Int>;
  std::vector<typename Own::Literal> start;
  for (const auto& [label, value] : literals) {
    typename Own::Literal literal{label, value, {}, false, -std::numeric_limits<double>::infinity(), {}, {}};
    literal.best = literal_value(form, literal_counts(label, label.kinds, value, state_.working_weight));
    literal.witness = first_[label.label * 2 + std::size_t(value)].witness;
    if (const auto cover = literal.witness ? divides(root, *literal.witness) : std::nullopt)
      if (const auto found = value_of(label, value, *cover, form); found && compare(*found, literal.best) > 0)
        literal.best = *found;
    start.push_back(std::move(literal));
  }
  struct Worker {
    Own own;
    Walk<Own> walk;
    SinglesScan<Int> unused;
  };
  root.labels.clear();
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads_));
  const std::vector<std::uint32_t> tested = tested_labels();
  const bool listed = root.lists != nullptr;
  over_units(watch, root, tested.size(), true, [&](int w, std::size_t unit) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker)
      worker.reset(new Worker{
          {root, state_, form, start}, {root, state_, columns_, nullptr}, {root, state_, form, Best{}}});
    Own& own = worker->own;
    if (unit >= columns_.size()) {
      const std::uint32_t tested_label = tested[unit - columns_.size()];
      for (int set_to = 0; set_to < 2; ++set_to) {
        const Condition condition{Test::label, false, tested_label, double(set_to)};
        const Bits cover = rows_of(condition, root.cover);
        const Count weight = state_.weigh(cover.data());
        if (weight == 0 || weight == root.weight) continue;
        own.begin(unit_of(condition));
        for (std::size_t i = 0; i < literals.size(); ++i) {
          Count kinds[4];
          state_.count_kinds(literals[i].first.label, cover, weight, kinds);
          own.judge_counted(i, kinds, condition);
        }
      }
      return;
    }
    own.begin(static_cast<std::uint32_t>(unit));
    if (!listed || !lists_[unit].any()) {
      worker->walk.feature(unit, worker->unused, &own);
      return;
    }
    ListWalk walk(root, state_, lists_, root.lists);
    walk.column(columns_[unit], static_cast<std::uint32_t>(unit),
                [&](const Row* rows, std::size_t size, bool joins, bool leaves, const Condition& join,
                    const Condition& leave) {
                  own.judge(rows, size, {true, false, joins, leaves}, state_, worker->unused,
                            [&](std::size_t) { return join; }, [&](std::size_t) { return leave; });
                });
  });
  for (std::size_t i = 0; i < literals.size(); ++i) {
    const NodeLabel& label = literals[i].first;
    const std::size_t slot = label.label * 2 + std::size_t(literals[i].second);
    FirstCondition& first = first_[slot];
    first.known = first.below = true;
    first.exact = false;
    first.value = start[i].best;
    first.units.clear();
    double reach = -std::numeric_limits<double>::infinity();
    for (const auto& worker : workers) {
      if (!worker) continue;
      const typename Own::Literal& found = worker->own.literals()[i];
      reach = std::max(reach, found.reach);
      if (!found.reached) continue;
      const int order = compare(found.best, first.value);
      if (order < 0) continue;
      if (order > 0) first.units.clear();
      first.below = false;
      first.exact = true;
      first.value = found.best;
      first.witness = found.witness;
      first.units.insert(first.units.end(), found.units.begin(), found.units.end());
    }
    path_[slot] = {reach, as_double(first.value), {}};
    std::copy_n(label.kinds, 4, path_[slot].kinds);
  }
}

template <class Int>
std::optional<Best> Engine::search_first(const Watch& watch, Node& root, const std::vector<NodeLabel>& live,
                                         const Form& form, const Head& incumbent) {
  update_first(root, form);
  Fraction level = incumbent.value;
  const auto each = [&](auto&& visit) {
    for (const NodeLabel& label : live)
      for (int v = 0; v < 2; ++v)
        if (label.allowed[v]) visit(label, v, first_[label.label * 2 + std::size_t(v)]);
  };
  const std::size_t fitting = Sweep<Int>::kLargestTable / sizeof(std::int32_t) / state_.rows;
  const std::size_t most = std::max<std::size_t>(16, fitting) / kLanes * kLanes;
  for (;;) {
    each([&](const NodeLabel&, int, const FirstCondition& first) {
      if (first.exact && compare(first.value, level) > 0) level = first.value;
    });
    std::vector<std::pair<NodeLabel, int>> pending;
    each([&](const NodeLabel& label, int v, const FirstCondition& first) {
      if (!first.exact && first.may_reach(level) && pending.size() < most)
        pending.push_back({label, v});
    });
    if (pending.empty()) break;
    find_first<Int>(watch, root, form, pending);
  }
  each([&](const NodeLabel& label, int v, const FirstCondition& first) {
    Prospect& prospect = path_[label.label * 2 + std::size_t(v)];
    if (prospect.known() || !first.known) return;
    prospect = {0, as_double(first.value), {}};
    std::copy_n(label.kinds, 4, prospect.kinds);
  });
  std::vector<NodeLabel> winners;
  std::vector<bool> units(columns_.size() + 2 * state_.labels, false);
  for (NodeLabel label : live) {
    for (int v = 0; v < 2; ++v) {
      const FirstCondition& first = first_[label.label * 2 + std::size_t(v)];
      label.allowed[v] = label.allowed[v] && first.exact && compare(first.value, level) == 0;
      if (label.allowed[v])
        for (const std::uint32_t unit : first.units) units[unit] = true;
    }
    if (label.allowed[0] || label.allowed[1]) winners.push_back(label);
  }
  const bool level_is_incumbents = compare(level, incumbent.value) == 0;
  if (winners.empty()) return Best{incumbent.value, incumbent.tp, false, {}};
  root.labels = std::move(winners);
  return search_node<Int>(watch, root, form, Best{level, level_is_incumbents ? incumbent.tp : 0, false, {}}, &units);
}

template std::optional<Best> Engine::search_first<Count>(const Watch&, Node&, const std::vector<NodeLabel>&, const Form&,
                                                         const Head&);
template std::optional<Best> Engine::search_first<Wide>(const Watch&, Node&, const std::vector<NodeLabel>&, const Form&,
                                                        const Head&);

}  // namespace polyrule
