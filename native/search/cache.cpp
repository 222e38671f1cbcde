#include "search/cache.hpp"

namespace polyrule {

// Bounds of a literal stay true while its label and the working set do; only conditions on labels that have been set on
// more rows must be looked at again.
void Bounds::begin_rule(const Form& form) {
  std::vector<std::uint32_t> sets;
  bool forgotten = for_.is_new(form);
  for (std::uint32_t l = 0; l < state_.labels; ++l) {
    const Change change = state_.since(stamp_, l);
    forgotten = forgotten || change.working;
    if (!change.label) continue;
    root_[l * 2] = root_[l * 2 + 1] = {};
    sets.push_back(l);
  }
  // Looking at so many label conditions would cost more than the search that bounds may save.
  forgotten = forgotten || (label_conditions_ && sets.size() * 16 > state_.labels + 64);
  if (forgotten) root_.assign(root_.size(), {});
  else if (label_conditions_)
    for (const std::uint32_t l : sets) look_at_conditions_on(l, form);
  stamp_ = state_.now();
  path_ = root_;
}

void Bounds::look_at_conditions_on(std::size_t tested, const Form& form) {
  for (int set_to = 0; set_to < 2; ++set_to) {
    Bits cover = state_.working;
    for (std::size_t w = 0; w < cover.words(); ++w) cover.data()[w] &= label_rows(state_, tested, set_to != 0, w);
    const Count weight = state_.weigh(cover.data());
    for (std::size_t l = 0; l < state_.labels; ++l) {
      if (!root_[l * 2].is_set() && !root_[l * 2 + 1].is_set()) continue;
      NodeLabel label;
      label.present = state_.present[l];
      label.absent = state_.absent[l];
      const OutcomeCounts outcomes = state_.count_outcomes(l, cover, weight);
      for (int v = 0; v < 2; ++v) {
        Bound& bound = root_[l * 2 + std::size_t(v)];
        if (!bound.is_set()) continue;
        const Counts c = literal_counts(label, outcomes, v);
        const double gain = double(linear<Wide>(form.num, c)) - bound.value * double(linear<Wide>(form.den, c));
        bound.reach = std::max(bound.reach, gain + 1e-6 + 1e-9 * std::abs(gain));
      }
    }
  }
}

double Bounds::promise(const NodeLabel& label, const Target& target) const {
  double reach = -std::numeric_limits<double>::infinity();
  for (int v = 0; v < 2; ++v)
    if (label.allowed[v]) reach = std::max(reach, at(label.label, v).optimistic(label, v, target));
  return reach;
}

std::vector<NodeLabel> Bounds::ranked(const std::vector<NodeLabel>& labels, const Target& target,
                                      const std::vector<std::uint32_t>& leading) const {
  std::vector<std::pair<double, NodeLabel>> ranked_labels;
  for (NodeLabel label : labels) {
    if (!restrict_to_reachable(label, target)) continue;
    const bool leads = std::find(leading.begin(), leading.end(), label.label) != leading.end();
    ranked_labels.push_back({leads ? std::numeric_limits<double>::infinity() : promise(label, target), label});
  }
  std::stable_sort(ranked_labels.begin(), ranked_labels.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<NodeLabel> out;
  for (auto& [promise, label] : ranked_labels) out.push_back(std::move(label));
  return out;
}

void FirstConditions::update(const State& state, const Form& form) {
  if (for_.is_new(form)) conditions_.assign(conditions_.size(), {});
  const bool negatives_matter = form.num[3] != 0 || form.den[3] != 0;
  for (std::size_t l = 0; l < state.labels; ++l) {
    const Change change = state.since(stamp_, l);
    // A row that leaves and lacks the label, which is set there, counted for it only as a true negative; if these do
    // not matter, the values stay, though some conditions may be gone.
    bool touched = negatives_matter;
    for (std::size_t w = 0; change.working && !change.label && w < state.working.words() && !touched; ++w) {
      const Word left = stamp_.working->data()[w] & ~state.working.data()[w] & state.known_word(l, w);
      touched = (left & (state.truth[l][w] | ~state.set[l][w])) != 0;
    }
    for (int v = 0; v < 2; ++v) {
      FirstCondition& first = at(l, v);
      if (change.label) first = {false, false, false, {}, {}, first.witness};
      if (change.working) first.is_bounded = first.is_bounded && !touched, first.exact = false;
    }
  }
  stamp_ = state.now();
}

}  // namespace polyrule
