#include "search/filter.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "search/function_filter.hpp"
#include "search/hamming_filter.hpp"

namespace polyrule {

std::unique_ptr<Filter> make_filter(const std::vector<NodeLabel>& labels, const State& state, const Form& form,
                                    const Sums& sums) {
  if (form.kind == HeadKind::example) return std::make_unique<HammingFilter>(labels, state, sums, form.max_head > 1);
  if (form.ceilings) return std::make_unique<FunctionFilter>(labels, state, form, sums);
  if (form.formula == Formula::function) return nullptr;
  return std::make_unique<CountFilter>(labels, state, form, sums);
}

void CountFilter::set_level(const Fraction& level) {
  has_level_ = true;
  always_ = !form_.rho.empty() && level.num <= 0;
  levels_.set_level(level);
  ++version_;
  if (form_.rho.empty()) levels_.set_group(whole_);
  largest_ = rounding() == 0 && is_largest(form_.formula, level);
  micro_lanes_.set_level(form_, level, rounding() == 0);
  const double value = as_double(level);
  lowered_ = value - 1e-13 * std::max(1.0, std::abs(value));
  monotone_ = form_.formula == Formula::none
                  ? levels_.is_monotone(reach_.right_counts_more, reach_.wrong_counts_more)
                  : level.num >= 0 || form_.formula == Formula::m_estimate || is_monotone(form_.formula, true);
}

bool CountFilter::rules_out(Weights& known, Count weight, Count covered, Count left_out, Count least_tp) {
  if (weight <= known.out) return true;
  if (known.version != version_) known.version = version_, known.open = std::numeric_limits<Count>::max();
  if (weight >= known.open) return false;
  reach_by_weight(covered, left_out);  // in whole numbers: what is left of large ones may be small
  double tp = 0;
  const Verdict verdict = decide(false, true, tp);
  const bool out = verdict == Verdict::no || (verdict == Verdict::tie && tp < double(least_tp));
  (out ? known.out : known.open) = weight;
  return out;
}

void CountFilter::reach_by_weight(Count covered, Count left_out) {
  const auto put = [&](std::size_t number, std::size_t e, Count count) {
    reach_.numbers[number * reach_.stride + e] = float(count);
  };
  const auto stays = [&](Count weight) { return std::max<Count>(0, weight - left_out); };
  for (std::size_t e = 0; e < labels_.size(); ++e) {
    const NodeLabel& label = labels_[e];
    const Count unset[] = {label.kinds[kAbsent], label.kinds[kPresent]};
    const Count present = label.kinds[kPresent] + label.kinds[kPresentSet],
                absent = label.kinds[kAbsent] + label.kinds[kAbsentSet];
    // where TP + FN counts, its fewest: what is set already may be covered first
    const Count known = is_by_precision(form_.formula)
                            ? std::min(unset[1], covered) + std::min<Count>(label.kinds[kPresentSet], covered)
                            : std::min(present, covered);
    const Count tn = label.absent - stays(absent), fn = label.present - known;
    for (int v = 0; v < 2; ++v) {
      const std::size_t first = std::size_t(1 - v) * Reach::kNumbers;
      put(first + Reach::kTp, e, std::min(unset[v], covered));
      put(first + Reach::kFp, e, stays(unset[1 - v]));
      put(first + Reach::kTn, e, tn);
      put(first + Reach::kFn, e, fn);
      put(std::size_t(10 - v), e, std::min(unset[v], covered) + label.present - (v ? 0 : stays(present)));
    }
    put(8, e, stays(unset[0] + unset[1]) + label.present + label.absent - std::min(present + absent, covered));
  }
}

Filter::Verdict CountFilter::decide(bool leaving, bool stretch, double& tp) {
  if (form_.kind == HeadKind::micro) {
    if (largest_) return judge_faultless(tp);
    if (!(form_.formula != Formula::m_estimate ? micro_lanes_.judge(reach_, leaving, stretch) : shares_reach(leaving)))
      return Verdict::no;
    return Verdict::perhaps;
  }
  if (form_.formula != Formula::none) return any_literal(stretch) ? Verdict::perhaps : Verdict::no;
  if (!form_.rho.empty()) return judge_sizes(leaving, stretch, tp);
  return judge_any_size(whole_, stretch, tp);
}

Filter::Verdict CountFilter::judge_faultless(double& tp) const {
  double right[2] = {0, 0};  // of heads without false positives, without false negatives
  for (std::size_t e = 0; e < labels_.size(); ++e) {
    double most[2] = {0, 0};
    for (int v = 0; v < 2; ++v) {
      const bool has_fp = reach_.of(v, Reach::kFp)[e] > 0, has_fn = reach_.of(v, Reach::kFn)[e] > 0;
      if (!labels_[e].allowed[v] || !may_be_faultless(form_.formula, has_fp, has_fn)) continue;
      const double own = double(reach_.of(v, Reach::kTp)[e]);
      if (!has_fp) most[0] = std::max(most[0], own);
      if (!has_fn) most[1] = std::max(most[1], own);
    }
    right[0] += most[0], right[1] += most[1];
  }
  tp = std::max(right[0], right[1]);
  return tp > 0 ? Verdict::tie : Verdict::no;
}

float CountFilter::least_denominator(bool stretch) const {
  if (form_.scope != Scope::head || levels_.groups().size() == levels_.sizes().size()) return 0;
  const auto& den = levels_.den();
  const float d[] = {float(den[1]), float(den[2]), float(den[3]), float(den[4])};
  const float *present = reach_.of(0, Reach::kFp), *absent = reach_.of(1, Reach::kFp), *tn = reach_.of(1, Reach::kTn),
              *fn = reach_.of(1, Reach::kFn);
  float least = std::numeric_limits<float>::max();
  for (std::size_t e = 0; e < labels_.size(); ++e) {
    const float rest = d[2] * (stretch ? 0 : tn[e]) + d[3] * fn[e];
    if (reach_.of(1, Reach::kTp)[e] > 0) least = std::min(least, rest + d[0] * present[e] + d[1] * absent[e]);
    if (reach_.of(0, Reach::kTp)[e] > 0) least = std::min(least, rest + d[0] * absent[e] + d[1] * present[e]);
  }
  return std::max(0.0f, least * (1 - 1e-5f));
}

void CountFilter::prepare_labels() {
  constexpr float kNever = 1e30f;
  const std::size_t n = sums_.stride();
  barred_.assign(2 * n, kNever);
  outside_.assign(2 * n, 0);
  for (std::size_t e = 0; e < labels_.size(); ++e) {
    for (std::size_t v = 0; v < 2; ++v)
      if (labels_[e].usable(int(v))) barred_[(1 - v) * n + e] = 0;
    outside_[e] = static_cast<float>(labels_[e].absent);
    outside_[n + e] = static_cast<float>(labels_[e].present);
  }
  for (auto& order : order_)
    for (std::uint32_t e = 0; e < labels_.size(); ++e) order.push_back(e);
}

void CountFilter::prepare_lanes() {
  const std::vector<Group>&groups = levels_.groups(), &sizes = levels_.sizes();
  blocks_.push_back({groups, {}, {}, 0});
  for (const Group& group : groups) {
    first_block_.push_back(blocks_.size());
    for (std::size_t size = group.least; size <= group.most; size += SizeLanes::kLanes) {
      const std::size_t end = std::min(group.most + 1, size + SizeLanes::kLanes);
      blocks_.push_back(
          {{sizes.begin() + std::ptrdiff_t(size - 1), sizes.begin() + std::ptrdiff_t(end - 1)}, {}, {}, 0});
    }
  }
  first_block_.push_back(blocks_.size());
  for (Block& block : blocks_) {
    block.lanes.set_labels(barred_, labels_.size());
    for (auto& thresholds : block.thresholds) thresholds.fill(0);
  }
}

void CountFilter::follow_level(Block& block) const {
  if (block.version == version_) return;
  block.version = version_;
  std::vector<SizeLanes::Lane> lanes;
  for (Group& group : block.groups) {
    levels_.set_group(group);
    if (group.least < group.most) levels_.set_drop(group);
    lanes.push_back({group.least, group.most, {}, group.drop});
    std::copy(std::begin(group.h), std::end(group.h), lanes.back().h);
  }
  block.lanes.set_level(lanes, double(state_.working_weight), form_.scope);
}

double CountFilter::gain(const Group& group, std::size_t e, double& outside) const {
  const double* h = group.h;
  const NodeLabel& label = labels_[e];
  const double absent = literal_gain(group, e, 0);
  double best = is_usable(e, 0) ? absent : -kInfinity;
  if (is_usable(e, 1)) best = std::max(best, literal_gain(group, e, 1));
  if (form_.scope == Scope::head) return best;
  const double silent = h[3] * double(label.absent) + h[4] * double(label.present);
  const double other = form_.scope == Scope::all ? silent : absent;
  outside += other;
  return best - other;
}

double CountFilter::literal_gain(const Group& group, std::size_t e, int v) const {
  const double* h = group.h;
  return h[1] * double(reach_.of(v, Reach::kTp)[e]) + h[2] * double(reach_.of(v, Reach::kFp)[e]) +
         h[3] * double(reach_.of(v, Reach::kTn)[e]) + h[4] * double(reach_.of(v, Reach::kFn)[e]);
}

double CountFilter::right(const Group& group, std::size_t e) const {
  double most = 0, gained = -kInfinity;
  for (int v = 0; v < 2; ++v) {
    if (!is_usable(e, v)) continue;
    const double gain = literal_gain(group, e, v), tp = double(reach_.of(v, Reach::kTp)[e]);
    if (gain > gained + group.slack) most = tp;
    else if (gain > gained - group.slack) most = std::max(most, tp);
    gained = std::max(gained, gain);
  }
  return most;
}

bool CountFilter::gains_reach(double constant, const double h[5], bool additive) const {
  const float of[] = {float(h[1]), float(h[2]), float(h[3]), float(h[4])};
  const GainSums sums = sum_gains(reach_, barred_.data(), outside_.data(), form_.scope, of);
  const double largest = std::max({std::abs(h[1]), std::abs(h[2]), std::abs(h[3]), std::abs(h[4])});
  const double cells = 2 * double(state_.working_weight + 1) * double(labels_.size() + 1);
  const double slack = std::ldexp(largest * cells, -19) + 1e-6 * std::abs(constant);
  return constant + double(sums.outside) + double(additive && sums.best > 0 ? sums.positive : sums.best) >= -slack;
}

bool CountFilter::shares_reach(bool leaving) {
  const double m = double(form_.m_num) / double(form_.m_den), level = as_double(levels_.level()) - 1e-12;
  const double h[] = {0, 1 - level, -level, 0, 0}, most = double(largest_share(reach_, barred_.data())) * (1 + 1e-6);
  if (!gains_reach(m * (most - level), h, true)) return false;
  return rounding() > 0 || share_lanes_.judge(reach_, barred_.data(), m, level, most, leaving);
}

Filter::Verdict CountFilter::judge_any_size(const Group& group, bool stretch, double& tp) {
  const bool additive = form_.kind == HeadKind::ratio;
  if (!gains_reach(group.h[0], group.h, additive)) return Verdict::no;
  double best = -kInfinity, sum = 0, constant = group.h[0];
  for (std::size_t e = 0; e < labels_.size(); ++e) {
    const double g = gain(group, e, constant);
    gains_[e] = g;
    best = std::max(best, g);
    sum += std::max(g, 0.0);
  }
  const double reached = constant + (additive && best > 0 ? sum : best);
  if (reached < -group.slack) return Verdict::no;
  if (reached > group.slack || !levels_.decides(group)) return Verdict::perhaps;
  const double least = (additive ? std::min(best, 0.0) : -constant) - group.slack;
  if (form_.kind == HeadKind::subset && !stretch) {
    tp = right_on_the_same_rows(group, least);
    return Verdict::tie;
  }
  tp = 0;
  for (std::size_t e = 0; e < labels_.size(); ++e)
    if (gains_[e] >= least) tp += right(group, e);
  return Verdict::tie;
}

double CountFilter::right_on_the_same_rows(const Group& group, double least) {
  rights_.clear();
  for (std::size_t e = 0; e < labels_.size(); ++e)
    for (int v = 0; v < 2; ++v)
      if (is_usable(e, v) && literal_gain(group, e, v) >= least)
        rights_.push_back({reach_.of(v, Reach::kTp)[e], reach_.of(v, Reach::kTn)[e]});
  std::sort(rights_.begin(), rights_.end());
  double most = 0, sum = 0;
  for (std::size_t i = 0; i < rights_.size(); ++i) {
    sum = (i > 0 && rights_[i] == rights_[i - 1] ? sum : 0) + double(rights_[i].first);
    most = std::max(most, sum);
  }
  return most;
}

Filter::Verdict CountFilter::judge_sizes(bool leaving, bool stretch, double& tp) {
  denominator_ = least_denominator(stretch);
  const std::size_t side = std::size_t(leaving) + 2 * std::size_t(stretch);
  Verdict verdict = Verdict::no;
  tp = 0;
  const auto judge_size = [&](std::size_t, const Group& size, double most) {
    if (most > size.slack || !levels_.decides(size)) return verdict = Verdict::perhaps, false;
    verdict = Verdict::tie;
    tp = std::max(tp, most_right(size, side));
    return true;
  };
  look(blocks_.front(), side, [&](std::size_t g, const Group& group, double most) {
    if (group.least == group.most) return judge_size(g, group, most);
    for (std::size_t b = first_block_[g]; b < first_block_[g + 1] && verdict != Verdict::perhaps; ++b)
      look(blocks_[b], side, judge_size);
    return verdict != Verdict::perhaps;
  });
  return verdict;
}

template <class Show>
void CountFilter::look(Block& block, std::size_t side, Show&& show) {
  follow_level(block);
  SizeLanes::Lanes reached, &thresholds = block.thresholds[side % 2];
  if (!block.lanes.judge(reach_.numbers.data(), outside_.data(), thresholds, denominator_, reached)) return;
  for (std::size_t g = 0; g < block.groups.size(); ++g) {
    if (reached[g] < 0) continue;
    const Group& group = block.groups[g];
    // Perhaps only because the threshold comes from another body; the sizes of a group tell that better.
    double most = kInfinity;
    if (side >= 2 || group.least == group.most) {
      most = largest_sum(sort_gains(group, side), group);
      thresholds[g] = threshold(group);
    }
    if (most >= -group.slack && !show(g, group, most)) return;
  }
}

float CountFilter::threshold(const Group& group) const {
  const double last = gains_[group.most - 1], first = gains_[group.least - 1];
  double t = 0;
  if (last > 0) t = (last + (group.most < gains_.size() ? std::max(0.0, gains_[group.most]) : 0)) / 2;
  else if (first < 0) t = (first + (group.least > 1 ? std::min(0.0, gains_[group.least - 2]) : 0)) / 2;
  return std::isfinite(t) ? static_cast<float>(t) : 0;
}

double CountFilter::sort_gains(const Group& group, std::size_t side) {
  std::vector<std::uint32_t>& order = order_[side];
  double outside = group.h[0];
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t e = order[i];
    const double g = gain(group, e, outside);
    std::size_t j = i;
    for (; j > 0 && gains_[j - 1] < g; --j) gains_[j] = gains_[j - 1], order[j] = order[j - 1];
    gains_[j] = g;
    order[j] = e;
  }
  return outside;
}

double CountFilter::largest_sum(double sum, const Group& group) const {
  double most = -kInfinity;
  for (std::size_t k = 1; k <= group.most; ++k) {
    sum += gains_[k - 1];
    if (k < group.least) continue;
    const double drop = k < group.most ? group.drop * double(group.most - k) / double(group.most - group.least) : 0;
    most = std::max(most, sum - drop * double(denominator_));
  }
  return most;
}

double CountFilter::most_right(const Group& size, std::size_t side) {
  const double last = gains_[size.most - 1];
  std::size_t open = size.most;
  double right_of_first = 0;
  weights_.clear();
  for (std::size_t i = 0; i < gains_.size() && gains_[i] >= last - size.slack; ++i) {
    const double tp = right(size, order_[side][i]);
    if (gains_[i] > last + size.slack) right_of_first += tp, --open;
    else weights_.push_back(tp);
  }
  std::sort(weights_.begin(), weights_.end(), std::greater<>());
  for (std::size_t i = 0; i < open; ++i) right_of_first += weights_[i];
  return right_of_first;
}

bool CountFilter::any_literal(bool stretch) const {
  const double least = lowered_ - rounding() * std::max(1.0, std::abs(lowered_));
  for (std::size_t e = 0; e < labels_.size(); ++e)
    for (int v = 0; v < 2; ++v) {
      const auto of = [&](Reach::Number number) { return double(reach_.of(v, number)[e]); };
      const double tp = of(Reach::kTp), fp = of(Reach::kFp), tn = of(Reach::kTn), fn = of(Reach::kFn);
      if (!labels_[e].allowed[v] || tp <= 0) continue;
      const double value = stretch ? most_of(tp, fp, tn, fn, e, v) : formula_estimate(form_, tp, fp, tn, fn);
      if (value >= least) return true;
    }
  return false;
}

double CountFilter::most_of(double tp, double fp, double tn, double fn, std::size_t e, int v) const {
  const double total = std::max(1.0, double(reach_.least_total()[e]));
  const double excess = std::max(0.0, tp * tn - fp * fn) / (total * total);
  if (form_.formula == Formula::wracc) return excess;
  if (form_.formula == Formula::klosgen || form_.formula == Formula::added_value) {
    const double covered = std::max(1e-300, double(reach_.least_covered(e)) / double(state_.working_weight));
    const double most = std::min(1.0, reach_.most_covered(e) / total), precision = tp / (tp + fp);
    if (form_.formula == Formula::added_value) return std::min(excess / covered, precision);
    return std::min(excess * excess / covered, precision * precision * most);
  }
  if (form_.formula == Formula::lift)  // in doubles: a quotient of singles is rounded too far
    return tp / (tp + fp) * double(reach_.most_total(e)) / double(reach_.least_positives(v, e));
  if (form_.formula != Formula::m_estimate) return formula_estimate(form_, tp, fp, tn, fn);
  const double m = double(form_.m_num) / double(form_.m_den);
  const double share = std::min(1.0, double(reach_.most_positives(v)[e]) / total);
  return (tp + m * share) / std::max(tp + fp + m, 1e-300);
}

}  // namespace polyrule
