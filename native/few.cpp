// Nodes where few labels matter: those of the incumbent's head are searched first, by runs.hpp, and what they reach rules
// out most of the others.
#include "engine.hpp"
#include "parallel.hpp"
#include "units.hpp"

namespace polyrule {

// The labels outside the incumbent's head, if few are in it and the node is suited for a search of few labels.
std::optional<std::vector<NodeLabel>> Engine::apart_from(const Head& incumbent, const Node& node,
                                                         const std::vector<NodeLabel>& live) {
  if (!all_ordered_ || node.is_root || node.rows.size() < run_limits.least_rows || !state_.records.built())
    return std::nullopt;
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
std::vector<NodeLabel> Engine::can_reach(const Node& node, const std::vector<NodeLabel>& labels,
                                         const Target<Int>& target) {
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
      if (std::min(bounds[e][0], bounds[e][1]) >= 0) continue;
      Count kinds[4];
      state_.count_kinds(labels[e].label, cover, static_cast<Count>(list.size), kinds);
      for (int v = 0; v < 2; ++v) {
        Count& bound = bounds[e][std::size_t(v)];
        bound = std::max(bound, target.gains.sum(labels[e], kinds, v));
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

template std::vector<NodeLabel> Engine::can_reach(const Node&, const std::vector<NodeLabel>&, const Target<Count>&);
template std::vector<NodeLabel> Engine::can_reach(const Node&, const std::vector<NodeLabel>&, const Target<Wide>&);
template void Engine::rank_columns<Count>(const Node&, const Form&, const Best&);
template void Engine::rank_columns<Wide>(const Node&, const Form&, const Best&);

}  // namespace polyrule
