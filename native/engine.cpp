#include "engine.hpp"

#include <algorithm>

namespace polyrule {

Engine::Engine(Columns columns, State state, Form form, GrowLimits limits, int threads)
    : columns_(std::move(columns)), state_(std::move(state)), form_(std::move(form)), limits_(limits),
      threads_(std::max(1, threads)) {
  state_.refresh();
  for (std::size_t j = 0; j < columns_.size(); ++j)
    keeps_first_ = keeps_first_ && (columns_[j].nominal || !columns_[j].blocked || columns_[j].missing.empty());
  promise_.assign(columns_.size(), 0);
  for (std::size_t j = 0; j < columns_.size(); ++j)
    if (!columns_[j].rows.empty() || !columns_[j].missing.empty()) order_.push_back(j);  // the others are constant
  all_ordered_ = !order_.empty() && std::all_of(order_.begin(), order_.end(),
                                                [&](std::size_t j) { return RunEnds::handles(columns_[j]); });
  if (!state_.unit || state_.rows > RowRecords::kMostRows || limits_.beam_width > 1) return;
  lists_ = Lists(columns_, state_.rows);
  state_.records.build(state_.truth, state_.set, state_.rows, state_.labels);
  if (lists_.all())
    state_.members.build(columns_, state_.rows, state_.set, state_.ones, state_.labels, limits_.label_conditions);
}

// A rule for one literal is judged by that literal alone, whatever the form, as long as no other label counts.
Form Engine::form_for(const Literal& literal) const {
  Form form = form_;
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

// The labels of a node below another one. Few rows are counted by their records, many by the labels' bits.
std::vector<NodeLabel> Engine::describe_below(const Node& parent, const Node& child) const {
  std::vector<NodeLabel> labels;
  labels.reserve(parent.labels.size());
  const RowRecords& records = state_.records;
  if (!records.built() || child.rows.size() * records.stride() > parent.labels.size() * child.cover.words()) {
    for (const NodeLabel& label : parent.labels)
      labels.push_back(Node::describe(label.label, label.allowed, child.cover, child.weight, state_));
    return labels;
  }
  LineArray<std::uint16_t> counts;
  counts.resize(records.stride() * 64);
  tally(records, child.rows.data(), child.rows.size(), records.stride() / 4, counts.get());
  const std::uint16_t* part[3];
  for (std::size_t i = 0; i < 3; ++i) part[i] = counts.get() + i * records.words() * 64;
  for (const NodeLabel& label : parent.labels) {
    NodeLabel out = label;
    out.kinds[kPresent] = part[0][label.label];
    out.kinds[kAbsent] = part[1][label.label];
    out.kinds[kPresentSet] = part[2][label.label];
    out.kinds[kAbsentSet] = child.weight - out.kinds[kPresent] - out.kinds[kAbsent] - out.kinds[kPresentSet];
    out.find_usual();
    labels.push_back(out);
  }
  return labels;
}

std::vector<NodeLabel> Engine::root_labels(const Literal& literal, const Form& form) const {
  std::vector<NodeLabel> labels;
  for (std::size_t l = 0; l < state_.labels; ++l) {
    bool allowed[2] = {form.negative, true};
    if (literal) {
      allowed[0] = literal->first == l && literal->second == 0;
      allowed[1] = literal->first == l && literal->second == 1;
      if (!allowed[0] && !allowed[1] && form.scope == Scope::head) continue;
    }
    NodeLabel label = Node::describe(l, allowed, state_.working, state_.working_weight, state_);
    if (form.scope != Scope::head || label.usable(0) || label.usable(1)) labels.push_back(label);
  }
  return labels;
}

Head Engine::solve(const Watch& watch, const Node& node, const Form& form) const {
  std::vector<Count> kinds;
  kinds.reserve(node.labels.size() * 4);
  for (const NodeLabel& label : node.labels) kinds.insert(kinds.end(), label.kinds, label.kinds + 4);
  return HeadJudge(node.labels, state_, form, Patience(&watch)).solve(kinds.data(), node.cover);
}

Bits Engine::rows_of(const Condition& condition, const Bits& cover) const {
  if (condition.test != Test::label) return columns_.covered(condition, cover);
  Bits out(state_.rows);
  const Word *set = state_.set[condition.index], *ones = state_.ones[condition.index];
  for (std::size_t w = 0; w < out.words(); ++w)
    out.data()[w] = cover.data()[w] & set[w] & (condition.edge != 0 ? ones[w] : ~ones[w]);
  return out;
}

ShownCondition Engine::shown(const Condition& condition) const {
  const bool numeric = condition.test == Test::at_most || condition.test == Test::above;
  const double value = numeric ? columns_.threshold(condition, state_.working) : condition.edge;
  return {condition.test, condition.index, value};
}

std::optional<Grown> Engine::grow(const Watch& watch, Literal literal) { return grow_with(watch, literal, nullptr); }

std::optional<Grown> Engine::grow_with(const Watch& watch, const Literal& literal,
                                       std::vector<KeptRule::Step>* steps) {
  const Form form = form_for(literal);
  std::vector<NodeLabel> labels = root_labels(literal, form);
  std::optional<Grown> grown = limits_.beam_width > 1 ? beam(watch, form, std::move(labels))
                                                      : greedy(watch, form, std::move(labels), steps);
  if (grown && literal && form.rho.empty() && !form_.rho.empty()) {
    Fraction& value = grown->head.value;
    value = make_fraction(value.num * form_.rho[1], value.den * kLiftScale);
  }
  return grown;
}

std::optional<Grown> Engine::greedy(const Watch& watch, const Form& form, std::vector<NodeLabel> labels,
                                    std::vector<KeptRule::Step>* steps) {
  Node node;
  node.set_cover(state_.working, state_);
  node.is_root = true;
  node.path_id = ++paths_;
  node.labels = std::move(labels);
  Grown grown;
  grown.head = solve(watch, node, form);
  if (!grown.head.any()) return std::nullopt;
  open_path(form);
  std::vector<Condition> body;
  const auto note = [&] {
    if (steps) steps->push_back({body.empty() ? Condition{} : body.back(), grown.head.value, grown.head.tp, node.weight,
                                 node.cover});
  };
  note();
  while (body.size() < limits_.max_conditions) {
    const std::optional<Condition> found = best_condition(watch, node, form, grown.head);
    if (body.empty()) root_ = path_;
    if (!found) break;
    if (body.empty()) opening_ = found;
    body.push_back(*found);
    Node child;
    child.set_cover(rows_of(*found, node.cover), state_);
    child.labels = describe_below(node, child);
    child.path_id = node.path_id;
    child.first = std::move(node.first);
    child.last = std::move(node.last);
    child.touches = std::move(node.touches);
    node = std::move(child);
    grown.head = solve(watch, node, form);
    note();
  }
  if (double(node.weight) < limits_.min_coverage) return std::nullopt;
  for (const Condition& condition : body) grown.body.push_back(shown(condition));
  grown.cover = std::move(node.cover);
  return grown;
}

std::optional<Grown> Engine::beam(const Watch& watch, const Form& form, std::vector<NodeLabel> labels) {
  struct Candidate {
    Grown grown;
    std::vector<NodeLabel> labels;
  };
  Candidate start;
  {
    Node root;
    root.set_cover(state_.working, state_);
    root.labels = labels;
    start.grown.head = solve(watch, root, form);
    start.grown.cover = state_.working;
    start.labels = std::move(labels);
  }
  if (!start.grown.head.any()) return std::nullopt;
  Grown best = start.grown;
  std::vector<Candidate> level;
  level.push_back(std::move(start));
  for (std::size_t length = 0; length < limits_.max_conditions; ++length) {
    struct Found {
      Scored scored;
      std::size_t parent;
      std::vector<ShownCondition> body;
    };
    std::vector<Found> found;
    for (std::size_t parent = 0; parent < level.size(); ++parent) {
      Node node;
      node.set_cover(level[parent].grown.cover, state_);
      node.is_root = length == 0;
      node.path_id = ++paths_;
      node.labels = level[parent].labels;
      for (const Scored& scored : best_in_general(watch, node, form, nullptr, limits_.beam_width)) {
        std::vector<ShownCondition> body = level[parent].grown.body;
        body.push_back(shown(scored.condition));
        found.push_back({scored, parent, std::move(body)});
      }
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      const int order = compare(a.scored.value, b.scored.value);
      return order != 0 ? order > 0 : a.scored.tp > b.scored.tp;
    });
    std::vector<Candidate> next;
    for (Found& f : found) {
      if (next.size() == limits_.beam_width) break;
      const bool seen = std::any_of(next.begin(), next.end(), [&](const Candidate& other) {
        return std::is_permutation(f.body.begin(), f.body.end(), other.grown.body.begin(), other.grown.body.end());
      });
      if (seen) continue;
      Candidate child;
      child.grown.cover = rows_of(f.scored.condition, level[f.parent].grown.cover);
      child.grown.body = std::move(f.body);
      Node node;
      node.set_cover(child.grown.cover, state_);
      for (const NodeLabel& label : level[f.parent].labels)
        node.labels.push_back(Node::describe(label.label, label.allowed, node.cover, node.weight, state_));
      child.grown.head = solve(watch, node, form);
      child.labels = std::move(node.labels);
      next.push_back(std::move(child));
    }
    if (next.empty() || !beats(next.front().grown.head, best.head)) break;
    best = next.front().grown;
    level = std::move(next);
  }
  if (double(state_.weigh(best.cover.data())) < limits_.min_coverage) return std::nullopt;
  return best;
}

}  // namespace polyrule
