#include "search/engine.hpp"

#include <algorithm>
#include <mutex>

#include "core/assert.hpp"
#include "core/popcount.hpp"
#include "scoring/example_heads.hpp"

namespace polyrule {

Engine::Engine(Columns columns, State state, Form form, GrowOptions options, Limits limits, int threads)
    : state_(std::move(state)), columns_(std::move(columns)), form_(std::move(form)), options_(options),
      limits_(limits), threads_(std::max(1, threads)),
      condition_rows_(columns_, state_, options.label_conditions, limits_), sequences_(columns_, limits_),
      lists_(condition_rows_, state_, limits_, options.min_coverage, threads_),
      pure_(limits_.pure_search != 0 && form_.kind == HeadKind::singles && peaks_at_purity(form_)
                ? std::make_unique<PureSearch>(columns_, state_, sequences_, lists_, limits_, options.min_coverage,
                                               threads_)
                : nullptr),
      numeric_(columns_, state_, sequences_, limits_, options.min_coverage, threads_, pure_ != nullptr),
      general_(columns_, state_, sequences_, limits_, options.min_coverage, options.label_conditions, threads_),
      rule_cache_(state_.labels * 2) {
  state_.refresh();
}

CommitResult Engine::commit(const Bits& cover, const std::vector<std::pair<std::size_t, int>>& head,
                            const StopThreshold& threshold, bool keep_covered) {
  condition_rows_.begin_sets();
  return state_.commit(cover, head, form_.scope == Scope::full, form_.negative, threshold, keep_covered,
                       [&](std::size_t label, int value, std::size_t w, Word rows) {
                         condition_rows_.set_label(label, value, w, rows);
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
    const OutcomeCounts outcomes = state_.count_outcomes(l, state_.working, state_.working_weight);
    const Count unset = outcomes[kPresent] + outcomes[kAbsent];
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

Head Engine::solve(const Watch& watch, const Node& node, const Form& form) const {
  std::vector<OutcomeCounts> outcomes;
  for (const NodeLabel& label : node.labels) outcomes.push_back(label.outcomes);
  return HeadJudge(node.labels, state_, form, TimeCheck(&watch)).solve(outcomes, node.cover);
}

Head Engine::solve_late(const Watch& watch, const Node& node, Form form) const {
  constexpr std::size_t kHeads = 10'000;
  if (form.kind == HeadKind::example || form.formula == Formula::function) return {};
  if (form.effort == 0) form.effort = kHeads;
  Watch patient;  // without a deadline
  patient.poll = watch.poll;
  return solve(patient, node, form);
}

void Engine::begin_rule(const Form& form) {
  numeric_.begin_rule(form);
  lists_.begin_rule(form);
}

void Engine::search(const Query& query, Shortlist& best) {
  sequences_.enter(query.node);
  if (!is_plain(query.form)) {
    general_.search(query, best);
    return;
  }
  // Prunes by the bound of the rows that help: literals that cannot reach the level in any body below are dropped for
  // good.
  POLYRULE_ASSERT(best.has_level());
  const Gains gains(query.form, best.level());
  bool ties_only = true;
  Count right = 0;  // true positives of a tie, at most
  std::erase_if(query.node.labels, [&](NodeLabel& label) {
    Count max_tp = 0;
    for (int v = 0; v < 2; ++v) {
      const Wide bound = label.usable(v) ? gains.bound(label, v) : Wide(-1);
      label.allowed[v] = bound >= 0;
      ties_only = ties_only && bound <= 0;
      if (bound >= 0) max_tp = std::max(max_tp, label.outcomes[v]);
    }
    right += max_tp;
    return !label.any();
  });
  if (ties_only && right < best.least_tp()) return;
  for (Searcher* searcher :
       {static_cast<Searcher*>(pure_.get()), static_cast<Searcher*>(&lists_), static_cast<Searcher*>(&numeric_)})
    if (searcher && searcher->search(query, best)) return;
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
  std::optional<Grown> grown = grow_body(watch, form, std::move(labels), steps);
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
  const TimeCheck time_check(&watch);
  ExampleHeads::Found best = ExampleHeads(node, state_, form, time_check).best();
  if (best.more_right) throw NotCompiled{};
  if (!best.head.any() || node.weight < options_.min_coverage) return std::nullopt;
  return Grown{{}, std::move(best.head), std::move(node.cover)};
}

std::optional<Grown> Engine::grow_body(const Watch& watch, const Form& form, std::vector<NodeLabel> labels,
                                       std::vector<KeptRule::Step>* steps) {
  Node root = Node::root(state_, ++paths_);
  root.labels = std::move(labels);
  Head head;
  try {
    head = solve(watch, root, form);
  } catch (const TimeIsUp&) {
    watch.late = true;
    head = solve_late(watch, root, form);
  }
  if (!head.any()) return std::nullopt;
  begin_rule(form);
  std::vector<Live> level;
  const bool nested = options_.beam_width == 1;  // no other body is below the empty one
  level.push_back({{}, {}, std::move(head), nested ? std::move(root) : root});
  while (!watch.late) {
    const Live& best = level.front();
    watch.best = shown_value(form, best.head.value);
    if (steps) steps->push_back({best.last, best.head.value, best.head.tp, best.node.weight, best.node.cover});
    std::vector<Live> next;
    try {
      next = next_level(watch, form, root, level);
    } catch (const TimeIsUp&) {
      watch.late = true;
    }
    if (next.empty() || !beats(next.front().head, best.head)) break;
    level = std::move(next);
  }
  Live& best = level.front();
  if (best.node.weight < options_.min_coverage) return std::nullopt;
  return Grown{std::move(best.body), std::move(best.head), std::move(best.node.cover)};
}

std::vector<Engine::Live> Engine::next_level(const Watch& watch, const Form& form, Node& root,
                                             std::vector<Live>& level) {
  struct Extension {
    Scored scored;
    std::size_t parent;
    Body body;
  };
  const std::size_t width = options_.beam_width;
  const bool greedy = width == 1;
  std::vector<Extension> extensions;
  // Each body once, as often as there is room in the beam.
  const auto choose = [&] {
    std::stable_sort(extensions.begin(), extensions.end(),
                     [](const Extension& a, const Extension& b) { return beats(a.scored, b.scored); });
    std::vector<Extension> distinct;
    for (Extension& f : extensions) {
      const bool seen = std::any_of(distinct.begin(), distinct.end(), [&](const Extension& other) {
        return std::is_permutation(f.body.begin(), f.body.end(), other.body.begin(), other.body.end());
      });
      if (!seen && distinct.size() < width) distinct.push_back(std::move(f));
    }
    extensions = std::move(distinct);
  };
  for (std::size_t parent = 0; parent < level.size(); ++parent) {
    Live& live = level[parent];
    if (live.body.size() >= options_.max_conditions) continue;
    std::vector<NodeLabel> labels;
    if (!greedy) {  // another body than the last: what is known along its path is of no use
      labels = live.node.labels;
      live.node.path_id = root.path_id = ++paths_;
      begin_rule(form);
      sequences_.enter(root);
    }
    live.node.leading.clear();
    for (const HeadLiteral& literal : live.head.literals) live.node.leading.push_back(literal.label);
    // Values are never negative where the search needs a level to start from. A full beam is such a level.
    Shortlist shortlist = extensions.size() == width
                              ? Shortlist(width, extensions.back().scored.value, extensions.back().scored.tp)
                          : greedy         ? Shortlist(1, live.head.value, live.head.tp)
                          : is_plain(form) ? Shortlist(width, {0, 1}, 0)
                                           : Shortlist(width);
    search({watch, live.node, form}, shortlist);
    if (!greedy) live.node.labels = std::move(labels);
    for (const Scored& scored : shortlist.entries()) {
      Body body = live.body;
      body.push_back(columns_.shown_condition(scored.condition, state_.working));
      extensions.push_back({scored, parent, std::move(body)});
    }
    choose();
  }
  std::vector<Live> next;
  for (Extension& f : extensions) {
    const Live& live = level[f.parent];
    Bits cover = covered_by(f.scored.condition, live.node.cover, columns_, state_);
    Node node = Node::below(greedy ? live.node : root, std::move(cover), state_, numeric_.any());
    node.labels = live.node.labels;
    for (NodeLabel& label : node.labels) label.outcomes = state_.count_outcomes(label.label, node.cover, node.weight);
    Head head = watch.late ? solve_late(watch, node, form) : solve(watch, node, form);
    // The head search finds what the searcher has offered; a limited effort may find better from another start.
    POLYRULE_ASSERT(watch.late || (head.any() && compare(head.value, f.scored.value) >= 0));
    POLYRULE_ASSERT(watch.late || form.effort > 0 ||
                    (compare(head.value, f.scored.value) == 0 && head.tp == f.scored.tp));
    if (head.any()) next.push_back({std::move(f.body), f.scored.condition, std::move(head), std::move(node)});
  }
  return next;
}

}  // namespace polyrule
