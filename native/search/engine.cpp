#include "search/engine.hpp"

#include <algorithm>
#include <mutex>

#include "core/tally.hpp"
#include "judge/example_heads.hpp"
#include "search/general.hpp"

namespace polyrule {

Engine::Engine(Columns columns, State state, Form form, GrowOptions options, Limits limits, int threads)
    : state_(std::move(state)), columns_(std::move(columns)), form_(std::move(form)), options_(options),
      limits_(limits), threads_(std::max(1, threads)), members_(columns_, state_, options.label_conditions, limits_),
      numeric_(columns_, state_, limits_, options.min_coverage, threads_),
      lists_(members_, state_, limits_, options.min_coverage, threads_) {
  state_.refresh();
  if (limits_.pure_search != 0 && form_.kind == HeadKind::singles && PureSearch::applies(form_))
    pure_ = std::make_unique<PureSearch>(columns_, state_, members_, limits_, options.min_coverage, threads_);
}

Outcome Engine::commit(const Bits& cover, const std::vector<std::pair<std::size_t, int>>& head,
                       const StopThreshold& threshold, bool keep_covered) {
  return state_.commit(cover, head, form_.scope == Scope::full, form_.negative, threshold, keep_covered,
                       [&](std::size_t label, int value, std::size_t w, Word rows) {
                         members_.set_label(label, value, w, rows);
                         if (pure_) pure_->set_label(label, w, rows);
                       });
}

// Where every example is measured by itself, one literal is worth its share of the examples that it is right on.
Form Engine::alone(Form form, bool one_literal) const {
  form.kind = HeadKind::singles;
  form.den = {form.den[1] * state_.working_weight, 0, 0, 0, 0};
  if (one_literal) form.max_head = SIZE_MAX;
  return form;
}

// By example-wise Hamming accuracy a head is worth the mean of its literals while each label is set on all examples or
// on none.
bool Engine::is_mean_of_singles() const {
  if (!rewards_silence(form_)) return false;
  for (std::size_t l = 0; l < state_.labels; ++l) {
    const KindCounts kinds = state_.count_kinds(l, state_.working, state_.working_weight);
    const Count unset = kinds[kPresent] + kinds[kAbsent];
    if (unset != 0 && unset != state_.working_weight) return false;
  }
  return true;
}

// A rule for one literal is judged by that literal alone, whatever the form, as long as no other label counts.
Form Engine::form_for(const LiteralChoice& literal) const {
  Form form = form_;
  if (form.kind == HeadKind::example && (literal || is_mean_of_singles())) return alone(form, literal.has_value());
  if (!literal || form.scope != Scope::head) return form;
  if (form.formula != Formula::none) {
    form.kind = HeadKind::counted;
    return form;
  }
  const Coefficients rows = coefficients(form, state_.working_weight);
  form.num = rows.num;
  form.den = rows.den;
  form.kind = HeadKind::singles;
  form.rho.clear();
  form.max_head = SIZE_MAX;
  return form;
}

// Whether a head is worth as much as its best literal, denominators are positive wherever there is a true positive, and
// the widest lanes can look at every value.
bool Engine::is_plain(const Form& form) const {
  return limits_.plain != 0 && form.kind == HeadKind::singles && form.scope == Scope::head && form.rho.empty() &&
         form.max_head >= state_.labels && *std::min_element(form.den.begin(), form.den.end()) >= 0 &&
         form.den[0] + form.den[1] > 0 &&
         (options_.beam_width == 1 || *std::min_element(form.num.begin(), form.num.end()) >= 0) &&
         LaneLevel::fits(form, state_, kWideCapacity);
}

std::vector<NodeLabel> Engine::root_labels(const LiteralChoice& literal, const Form& form) const {
  std::vector<NodeLabel> labels;
  for (std::size_t l = 0; l < state_.labels; ++l) {
    bool allowed[2] = {form.negative, true};
    if (literal) {
      allowed[0] = literal->first == l && literal->second == 0;
      allowed[1] = literal->first == l && literal->second == 1;
      if (!allowed[0] && !allowed[1] && form.scope == Scope::head) continue;
    }
    const NodeLabel label = Node::describe(l, allowed, state_.working, state_.working_weight, state_);
    if (form.scope != Scope::head || label.any()) labels.push_back(label);
  }
  return labels;
}

std::vector<NodeLabel> Engine::labels_below(const Node& parent, const Node& child) const {
  std::vector<NodeLabel> labels = parent.labels;
  for (NodeLabel& label : labels) label.kinds = state_.count_kinds(label.label, child.cover, child.weight);
  return labels;
}

Head Engine::solve(const Watch& watch, const Node& node, const Form& form) const {
  std::vector<Count> kinds;
  kinds.reserve(node.labels.size() * kKinds);
  for (const NodeLabel& label : node.labels) kinds.insert(kinds.end(), label.kinds.by, label.kinds.by + kKinds);
  return HeadJudge(node.labels, state_, form, Patience(&watch)).solve(kinds.data(), node.cover);
}

ShownCondition Engine::shown(const Condition& condition) const {
  const bool numeric = condition.test == Test::at_most || condition.test == Test::above;
  const double value = numeric ? columns_.threshold(condition, state_.working) : condition.edge;
  return {condition.test, condition.index, value};
}

void Engine::begin_rule(const Form& form) {
  numeric_.begin_rule();
  lists_.begin_rule(form, options_.label_conditions);
}

void Engine::search(const Watch& watch, Node& node, const Form& form, bool whole, Shortlist& best) {
  numeric_.sequences().enter(node);
  if (!is_plain(form)) return search_in_general(watch, node, form, best);
  // Literals that cannot reach the level in any body below are dropped for good.
  const Gains gains(form, best.level());
  bool ties_only = true;
  Count right = 0;  // true positives of a tie, at most
  std::erase_if(node.labels, [&](NodeLabel& label) {
    Count most = 0;
    for (int v = 0; v < 2; ++v) {
      const Wide bound = label.usable(v) ? gains.bound(label, v) : Wide(-1);
      label.allowed[v] = bound >= 0;
      ties_only = ties_only && bound <= 0;
      if (bound >= 0) most = std::max(most, label.kinds[v]);
    }
    right += most;
    return !label.any();
  });
  if (ties_only && right < best.least_tp()) return;
  const bool is_pure = pure_ && PureSearch::applies(form);
  if (is_pure) {
    const Fraction one{1, 1};
    const bool reached = compare(best.level(), one) == 0;
    Shortlist found(best.size(), one, reached ? best.least_tp() - 1 : 0);
    pure_->search(watch, node, node.labels, form, numeric_.columns(), numeric_.sequences(), whole && node.is_root(),
                  found);
    best.merge(found);
    if (compare(best.level(), one) == 0 && pure_->has_lists()) return;
  }
  const bool keeps = node.is_root();
  if (lists_.any()) lists_.search(watch, node, node.labels, form, keeps, best);
  if (is_pure && compare(best.level(), {1, 1}) == 0) return;
  if (numeric_.any()) numeric_.search(watch, node, node.labels, form, keeps && !is_pure && best.size() == 1, best);
}

void Engine::search_in_general(const Watch& watch, const Node& node, const Form& form, Shortlist& best) {
  const Codes codes(node, state_);
  std::vector<std::size_t> columns, labels;
  for (std::size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].shape != Shape::constant) columns.push_back(j);
  for (std::size_t l = 0; l < state_.labels && options_.label_conditions; ++l)
    if (state_.ever_set[l]) labels.push_back(l);
  const std::size_t units = columns.size() + labels.size();
  const std::size_t work = (node.rows.size() + codes.work()) * units;
  const int threads = work < limits_.threaded_work ? 1 : std::min<int>(threads_, static_cast<int>(units));
  std::vector<std::unique_ptr<GeneralScan>> workers(static_cast<std::size_t>(threads));
  over_all(watch, units, threads, 1, [&](int w, std::size_t unit) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker)
      worker.reset(new GeneralScan(node, state_, columns_, numeric_.sequences(), codes, form, options_.min_coverage,
                                   limits_.stretch_rows, best, Patience(&watch)));
    if (unit < columns.size()) worker->feature(columns[unit]);
    else worker->label(labels[unit - columns.size()]);
    watch.bodies.fetch_add(worker->judged(), std::memory_order_relaxed);
  });
  for (const auto& worker : workers)
    if (worker) worker->finish();
  for (const auto& worker : workers)
    if (worker) best.merge(worker->shortlist());
}

std::optional<Grown> Engine::grow(const Watch& watch, LiteralChoice literal) {
  return grow_with(watch, literal, nullptr);
}

std::optional<Grown> Engine::grow_with(const Watch& watch, const LiteralChoice& literal,
                                       std::vector<KeptRule::Step>* steps) {
  const Form form = form_for(literal);
  std::vector<NodeLabel> labels = root_labels(literal, form);
  if (form.kind == HeadKind::example && !rewards_silence(form))
    return grow_without_conditions(watch, form, std::move(labels));
  std::optional<Grown> grown = options_.beam_width > 1 ? beam(watch, form, std::move(labels), !literal)
                                                       : greedy(watch, form, std::move(labels), !literal, steps);
  if (grown && literal && form.rho.empty() && !form_.rho.empty()) {
    Fraction& value = grown->head.value;
    value = make_fraction(value.num * form_.rho[1], value.den * kLiftScale);
  }
  return grown;
}

std::optional<Grown> Engine::grow_without_conditions(const Watch& watch, const Form& form,
                                                     std::vector<NodeLabel> labels) {
  Node node = Node::root(state_, ++paths_);
  node.labels = std::move(labels);
  if (!ExampleHeads::applies(node)) throw NotCompiled{};
  const Patience patience(&watch);
  ExampleHeads::Found found = ExampleHeads(node, state_, form, patience).best();
  if (found.more_right) throw NotCompiled{};
  if (!found.head.any() || node.weight < options_.min_coverage) return std::nullopt;
  return Grown{{}, std::move(found.head), std::move(node.cover)};
}

std::optional<Grown> Engine::greedy(const Watch& watch, const Form& form, std::vector<NodeLabel> labels, bool whole,
                                    std::vector<KeptRule::Step>* steps) {
  Node node = Node::root(state_, ++paths_);
  node.labels = std::move(labels);
  Grown grown;
  grown.head = solve(watch, node, form);
  if (!grown.head.any()) return std::nullopt;
  begin_rule(form);
  std::vector<Condition> body;
  const auto note = [&] {
    watch.best = shown_value(form, grown.head.value);
    if (steps)
      steps->push_back(
          {body.empty() ? Condition{} : body.back(), grown.head.value, grown.head.tp, node.weight, node.cover});
  };
  note();
  while (body.size() < options_.max_conditions) {
    Shortlist best(1, grown.head.value, grown.head.tp);
    node.leading.clear();
    for (const HeadLiteral& literal : grown.head.literals) node.leading.push_back(literal.label);
    search(watch, node, form, whole, best);
    if (best.entries().empty()) break;
    body.push_back(best.entries().front().condition);
    Node child = Node::below(node, covered_by(body.back(), node.cover, columns_, state_), state_, numeric_.any());
    child.labels = labels_below(node, child);
    node = std::move(child);
    grown.head = solve(watch, node, form);
    note();
  }
  if (node.weight < options_.min_coverage) return std::nullopt;
  for (const Condition& condition : body) grown.body.push_back(shown(condition));
  grown.cover = std::move(node.cover);
  return grown;
}

std::optional<Grown> Engine::beam(const Watch& watch, const Form& form, std::vector<NodeLabel> labels, bool whole) {
  struct Candidate {
    Grown grown;
    std::vector<NodeLabel> labels;
  };
  const std::size_t width = options_.beam_width;
  Node root = Node::root(state_, ++paths_);
  root.labels = labels;
  Candidate start{{{}, solve(watch, root, form), state_.working}, std::move(labels)};
  if (!start.grown.head.any()) return std::nullopt;
  Grown best = start.grown;
  std::vector<Candidate> level;
  level.push_back(std::move(start));
  struct Found {
    Scored scored;
    std::size_t parent;
    std::vector<ShownCondition> body;
  };
  // The best first, each body once, as often as there is room in the beam; what comes earlier wins ties.
  const auto choose = [width](std::vector<Found>& found) {
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      const int order = compare(a.scored.value, b.scored.value);
      return order != 0 ? order > 0 : a.scored.tp > b.scored.tp;
    });
    std::vector<Found> chosen;
    for (Found& f : found) {
      const bool seen = std::any_of(chosen.begin(), chosen.end(), [&](const Found& other) {
        return std::is_permutation(f.body.begin(), f.body.end(), other.body.begin(), other.body.end());
      });
      if (!seen && chosen.size() < width) chosen.push_back(std::move(f));
    }
    found = std::move(chosen);
  };
  for (std::size_t length = 0; length < options_.max_conditions; ++length) {
    std::vector<Found> found;
    for (std::size_t parent = 0; parent < level.size(); ++parent) {
      root.path_id = ++paths_;
      Node node = length == 0 ? root : Node::below(root, level[parent].grown.cover, state_, numeric_.any());
      node.labels = level[parent].labels;
      begin_rule(form);
      numeric_.sequences().enter(root);
      for (const HeadLiteral& literal : level[parent].grown.head.literals) node.leading.push_back(literal.label);
      // Values are never negative where the search needs a level to start from. A full beam is such a level.
      Shortlist shortlist = found.size() == width ? Shortlist(width, found.back().scored.value, found.back().scored.tp)
                            : is_plain(form)      ? Shortlist(width, {0, 1}, 0)
                                                  : Shortlist(width);
      search(watch, node, form, whole, shortlist);
      for (const Scored& scored : shortlist.entries()) {
        std::vector<ShownCondition> body = level[parent].grown.body;
        body.push_back(shown(scored.condition));
        found.push_back({scored, parent, std::move(body)});
      }
      choose(found);
    }
    std::vector<Candidate> next;
    for (Found& f : found) {
      Node node = Node::below(root, covered_by(f.scored.condition, level[f.parent].grown.cover, columns_, state_),
                              state_, false);
      root.labels = level[f.parent].labels;
      node.labels = labels_below(root, node);
      Candidate child{{std::move(f.body), solve(watch, node, form), node.cover}, {}};
      child.labels = std::move(node.labels);
      next.push_back(std::move(child));
    }
    if (next.empty() || !beats(next.front().grown.head, best.head)) break;
    best = next.front().grown;
    level = std::move(next);
  }
  if (state_.weigh(best.cover.data()) < options_.min_coverage) return std::nullopt;
  return best;
}

}  // namespace polyrule
