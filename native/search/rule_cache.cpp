// Rules with one literal: every literal's rule is grown on its own, and the best of them is taken. Between two rounds
// most of them stay as they are, because a rule for another label changes nothing that they were judged by, except that
// conditions on that label cover other rows now. Only those conditions are looked at again.
#include <algorithm>
#include <utility>

#include "search/engine.hpp"

namespace polyrule {

std::optional<Grown> Engine::grow_single(const Watch& watch) {
  const std::optional<Grown>* best = nullptr;
  for (std::size_t l = 0; l < state_.labels; ++l)
    for (int v = 1; v >= (form_.negative ? 0 : 1); --v) {
      KeptRule& rule = rule_cache_[l * 2 + std::size_t(v)];
      const Change change = state_.since(rule.stamp, l);
      if (change.label || change.working || !still_best(rule, l, v, change.sets)) {
        rule = {};
        rule.grown = grow_with(watch, LiteralChoice({l, v}), &rule.steps);
      }
      if (watch.late) {
        const std::optional<Grown> last = std::exchange(rule, {}).grown;
        return best && !(last && beats(last->head, (*best)->head)) ? *best : last;
      }
      rule.stamp = state_.now();
      if (!rule.grown) continue;
      if (!best || beats(rule.grown->head, (*best)->head) ||
          (!beats((*best)->head, rule.grown->head) && rule.grown->body.size() < (*best)->body.size()))
        best = &rule.grown;
    }
  return best ? *best : std::nullopt;
}

// Whether a rule grown before the labels `changed` were set on more rows would be grown again. A beam, another
// scope or a least coverage would need more than the steps of one path.
bool Engine::still_best(const KeptRule& rule, std::size_t label, int value,
                        std::span<const std::uint32_t> changed) const {
  if (changed.empty()) return true;
  const Form form = form_for(LiteralChoice({label, value}));
  const bool counted = form.kind == HeadKind::counted && options_.min_coverage <= 0 && options_.beam_width == 1;
  const bool plain = is_plain(form) && options_.min_coverage <= 0 && options_.beam_width == 1;
  if (!plain && !counted) return false;
  if (!options_.label_conditions) return true;
  for (const KeptRule::Step& step : rule.steps)
    if (step.last.test == Test::label && std::find(changed.begin(), changed.end(), step.last.index) != changed.end())
      return false;
  NodeLabel described;
  described.present = state_.present[label];
  described.absent = state_.absent[label];
  for (std::size_t k = 0; k < std::min(rule.steps.size(), options_.max_conditions); ++k) {
    const bool at_end = k + 1 == rule.steps.size();
    const KeptRule::Step &step = rule.steps[k], &next = rule.steps[at_end ? k : k + 1];
    for (const std::uint32_t tested : changed)
      for (int set_to = 0; set_to < 2; ++set_to) {
        const Condition condition{Test::label, false, tested, double(set_to)};
        const Bits cover = covered_by(condition, step.cover, columns_, state_);
        const Count weight = state_.weigh(cover.data());
        if (weight == 0 || weight == step.weight) continue;
        const OutcomeCounts outcomes = state_.count_outcomes(label, cover, weight);
        if (outcomes[value] <= 0) continue;
        const Counts counts = literal_counts(described, outcomes, value);
        const int order = compare(counted ? formula_value(form, counts) : literal_value(form, counts), next.value);
        if (order < 0) continue;
        if (order > 0 || outcomes[value] > next.tp) return false;
        if (!at_end && outcomes[value] == next.tp && comes_before(condition, next.last)) return false;
      }
  }
  return true;
}

}  // namespace polyrule
