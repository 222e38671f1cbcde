// The search for the best condition of a node: which way it goes, and in which parts.
#include <algorithm>
#include <cmath>

#include "engine.hpp"
#include "sweep.hpp"
#include "ties.hpp"
#include "units.hpp"

namespace polyrule {

bool Engine::allows_singles(const Form& form) const {
  return form.kind == HeadKind::singles && form.scope == Scope::head && form.rho.empty() &&
         form.max_head >= state_.labels && limits_.min_coverage <= 0 && limits_.beam_width == 1 &&
         *std::min_element(form.den.begin(), form.den.end()) >= 0 && form.den[0] + form.den[1] > 0;
}

std::optional<Condition> Engine::best_condition(const Watch& watch, Node& node, const Form& form,
                                                const Head& incumbent) {
  if (allows_singles(form)) {
    bool usable = true;
    const bool fits = largest_sum(form, node, state_, incumbent.value) < std::ldexp(1.0, 58);
    const auto found = fits ? best_by_singles<Count>(watch, node, form, incumbent, usable)
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
