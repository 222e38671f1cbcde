// A quick test of candidates: can the best head of a body reach a value at all, or that of any body of a stretch? In
// singles and doubles with room for rounding, from what the literals have at most (`Reach`). "No" is always right;
// "perhaps" is for the exact search to decide.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "data/node.hpp"
#include "judge/formula.hpp"
#include "judge/micro.hpp"
#include "search/gain_sums.hpp"
#include "search/micro_lanes.hpp"
#include "search/size_lanes.hpp"
#include "search/size_levels.hpp"
#include "search/sums.hpp"

namespace polyrule {

class Filter {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // `tie`: the level is reached, if at all, but not exceeded.
  enum class Verdict { no, tie, perhaps };

  Filter(const std::vector<NodeLabel>& labels, const State& state, const Form& form, const Sums& sums)
      : labels_(labels), state_(state), form_(form), sums_(sums), levels_(form, state, labels.size()),
        reach_(sums.stride()), whole_(levels_.groups().front()), micro_(form) {
    gains_.resize(labels.size());
    prepare_labels();
    if (!form.rho.empty()) prepare_lanes();
    micro_lanes_.set_labels(barred_, labels.size());
  }

  static void kinds(const Four& sums, Count out[4]) {
    out[kPresent] = Count(sums[0]);
    out[kAbsent] = Count(sums[1]);
    out[kPresentSet] = Count(sums[2]) - out[kPresent];
    out[kAbsentSet] = Count(sums[3]) - out[kAbsent];
  }

  // From now on heads must reach `level`.
  void set_level(const Fraction& level) {
    has_level_ = true;
    always_ = !form_.rho.empty() && level.num <= 0;
    levels_.set_level(level);
    ++version_;
    if (form_.rho.empty()) levels_.set_group(whole_);
    largest_ = rounding() == 0 && is_largest(form_.formula, level);
    micro_.set_level(level);
    micro_lanes_.set_level(form_, level);
    lowered_ = as_double(level) - 1e-13;  // formulas and their parts lie between -1 and 1
    monotone_ = form_.formula == Formula::none ? levels_.is_monotone(reach_.right_counts_more, reach_.wrong_counts_more)
                                               : form_.formula != Formula::wracc || level.num >= 0;
  }

  // Whether a body may reach the level: the rows that have been summed up or (`leaving`) the others. If it can only
  // tie, no head has more than `tp` true positives.
  Verdict judge(bool leaving, double& tp) {
    if (!has_level_ || always_) return Verdict::perhaps;
    sums_.reach(leaving, reach_);
    return decide(leaving, false, tp);
  }

  // Whether no body on this side of the boundaries from one mark to another reaches the level, or does with at least
  // so many true positives where it can only tie.
  bool rules_out(std::size_t first, std::size_t last, bool leaving, Count least_tp) {
    if (!monotone_ || always_) return false;
    sums_.reach(first, last, leaving, reach_);
    double tp = 0;
    const Verdict verdict = decide(leaving, true, tp);
    return verdict == Verdict::no || (verdict == Verdict::tie && tp < double(least_tp));
  }

 private:
  using Group = SizeLevels::Group;

  // Groups with a lane for each.
  struct Block {
    std::vector<Group> groups;
    SizeLanes lanes;
    SizeLanes::Lanes thresholds[2];  // by side of the boundary
    std::uint64_t version;
  };

  Verdict decide(bool leaving, bool stretch, double& tp) {
    if (form_.kind == HeadKind::micro) {
      if (largest_) return judge_faultless(tp);
      if (!(MicroLanes::applies(form_) ? micro_lanes_.judge(reach_, leaving) : shares_reach())) return Verdict::no;
      return stretch || MicroLanes::applies(form_) || any_head() ? Verdict::perhaps : Verdict::no;
    }
    if (form_.formula != Formula::none) return any_literal(stretch) ? Verdict::perhaps : Verdict::no;
    if (!form_.rho.empty()) return judge_sizes(leaving, stretch, tp);
    return judge_any_size(whole_, tp);
  }

  // The level is the largest value there is: literals without an error reach it, and nothing exceeds it.
  Verdict judge_faultless(double& tp) const {
    tp = 0;
    for (std::size_t e = 0; e < labels_.size(); ++e) {
      double most = 0;
      for (int v = 0; v < 2; ++v)
        if (labels_[e].allowed[v] && reach_.of(v, Reach::kFp)[e] <= 0 && reach_.of(v, Reach::kFn)[e] <= 0)
          most = std::max(most, double(reach_.of(v, Reach::kTp)[e]));
      tp += most;
    }
    return tp > 0 ? Verdict::tie : Verdict::no;
  }

  // The least that a literal adds to the denominator, 0 if it may take something away. Of a stretch, the fewest true
  // positives of a literal are the false positives of the other.
  float least_denominator(bool stretch) const {
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

  void prepare_labels() {
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

  void prepare_lanes() {
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

  void follow_level(Block& block) const {
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

  // What a label adds to the sum as the better of its literals, less what it adds outside the head; that goes to
  // `outside`.
  double gain(const Group& group, std::size_t e, double& outside) const {
    const double* h = group.h;
    const NodeLabel& label = labels_[e];
    const double present = literal_gain(group, e, 1), absent = literal_gain(group, e, 0);
    const double best = label.allowed[0] ? (label.allowed[1] ? std::max(present, absent) : absent)
                                         : (label.allowed[1] ? present : -kInfinity);
    if (form_.scope == Scope::head) return best;
    const double silent = h[3] * double(label.absent) + h[4] * double(label.present);
    const double other = form_.scope == Scope::all ? silent : absent;
    outside += other;
    return best - other;
  }

  // What one literal of a label adds to the sum.
  double literal_gain(const Group& group, std::size_t e, int v) const {
    const double* h = group.h;
    return h[1] * double(reach_.of(v, Reach::kTp)[e]) + h[2] * double(reach_.of(v, Reach::kFp)[e]) +
           h[3] * double(reach_.of(v, Reach::kTn)[e]) + h[4] * double(reach_.of(v, Reach::kFn)[e]);
  }

  // The most true positives that a literal of the label has which gains as much as the better one.
  double right(const Group& group, std::size_t e) const {
    double most = 0, gained = -kInfinity;
    for (int v = 0; v < 2; ++v) {
      if (!labels_[e].allowed[v]) continue;
      const double gain = literal_gain(group, e, v), tp = double(reach_.of(v, Reach::kTp)[e]);
      if (gain > gained + group.slack) most = tp;
      else if (gain > gained - group.slack) most = std::max(most, tp);
      gained = std::max(gained, gain);
    }
    return most;
  }

  // Whether a sum of gains may reach 0, in singles.
  bool gains_reach(double constant, const double h[5], bool additive) const {
    const float of[] = {float(h[1]), float(h[2]), float(h[3]), float(h[4])};
    const GainSums sums = sum_gains(reach_, barred_.data(), outside_.data(), form_.scope, of);
    const double largest = std::max({std::abs(h[1]), std::abs(h[2]), std::abs(h[3]), std::abs(h[4])});
    const double cells = 2 * double(state_.working_weight + 1) * double(labels_.size() + 1);
    const double slack = std::ldexp(largest * cells, -19) + 1e-6 * std::abs(constant);
    return constant + double(sums.outside) + double(additive && sums.best > 0 ? sums.positive : sums.best) >= -slack;
  }

  // The m-estimate: TP - level * (TP + FP) + m * (s - level) must reach 0, with s the head's share of positives.
  bool shares_reach() const {
    const double m = double(form_.m_num) / double(form_.m_den), level = as_double(levels_.level()) - 1e-12;
    const double h[] = {0, 1 - level, -level, 0, 0};
    return gains_reach(m * (double(largest_share(reach_, barred_.data())) * (1 + 1e-6) - level), h, true);
  }

  Verdict judge_any_size(const Group& group, double& tp) {
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
    tp = 0;
    for (std::size_t e = 0; e < labels_.size(); ++e)
      if (gains_[e] >= least) tp += right(group, e);
    return Verdict::tie;
  }

  // With a lift: a head of k labels must reach level / rho(k) without it; then so do the k largest gains. Lanes tell
  // most bodies, first for all groups of sizes, then for the sizes of those that are left.
  Verdict judge_sizes(bool leaving, bool stretch, double& tp) {
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

  // Shows the groups of a block that may reach the level, with their largest sums, as long as show() wants more.
  template <class Show>
  void look(Block& block, std::size_t side, Show&& show) {
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

  // What tells the largest gains from the others.
  float threshold(const Group& group) const {
    const double last = gains_[group.most - 1], first = gains_[group.least - 1];
    double t = 0;
    if (last > 0) t = (last + (group.most < gains_.size() ? std::max(0.0, gains_[group.most]) : 0)) / 2;
    else if (first < 0) t = (first + (group.least > 1 ? std::min(0.0, gains_[group.least - 2]) : 0)) / 2;
    return std::isfinite(t) ? static_cast<float>(t) : 0;
  }

  // The gains of all labels at the level of a group, largest first, and what is added outside of the head. Their order
  // is nearly that of the last time.
  double sort_gains(const Group& group, std::size_t side) {
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

  // The largest sum of gains over the sizes of a group.
  double largest_sum(double sum, const Group& group) const {
    double most = -kInfinity;
    for (std::size_t k = 1; k <= group.most; ++k) {
      sum += gains_[k - 1];
      if (k < group.least) continue;
      const double drop = k < group.most ? group.drop * double(group.most - k) / double(group.most - group.least) : 0;
      most = std::max(most, sum - drop * double(denominator_));
    }
    return most;
  }

  // The most true positives of a head whose gains add up to as much as any of its size, from gains that were just
  // sorted: it has the labels that gain most, and any among those that gain as much as the last one.
  double most_right(const Group& size, std::size_t side) {
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

  // Other measures of the counts, where a head is worth as much as its best literal.
  bool any_literal(bool stretch) const {
    for (std::size_t e = 0; e < labels_.size(); ++e)
      for (int v = 0; v < 2; ++v) {
        const auto of = [&](Reach::Number number) { return double(reach_.of(v, number)[e]); };
        const double tp = of(Reach::kTp), fp = of(Reach::kFp), tn = of(Reach::kTn), fn = of(Reach::kFn);
        if (!labels_[e].allowed[v] || tp <= 0) continue;
        const double value = stretch ? most_of(tp, fp, tn, fn, e, v) : formula_estimate(form_, tp, fp, tn, fn);
        if (value >= lowered_ - rounding()) return true;
      }
    return false;
  }

  // The largest value over a stretch. WRAcc and the m-estimate do not grow with each of the four counts.
  double most_of(double tp, double fp, double tn, double fn, std::size_t e, int v) const {
    const double total = std::max(1.0, double(reach_.least_total()[e]));
    if (form_.formula == Formula::wracc) return std::max(0.0, tp * tn - fp * fn) / (total * total);
    if (form_.formula != Formula::m_estimate) return formula_estimate(form_, tp, fp, tn, fn);
    const double m = double(form_.m_num) / double(form_.m_den);
    const double share = std::min(1.0, double(reach_.most_positives(v)[e]) / total);
    return (tp + m * share) / std::max(tp + fp + m, 1e-300);
  }

  // What counts that do not fit singles may change in a value.
  double rounding() const { return state_.working_weight < Count{1} << 24 ? 0 : 1e-5; }

  // Other measures of the counts summed over a head: see micro.hpp.
  bool any_head() {
    if (any_literal(false)) return true;
    items_.clear();
    for (std::uint32_t e = 0; e < labels_.size(); ++e)
      for (int v = 0; v < 2; ++v) {
        const auto of = [&](Reach::Number number) { return double(reach_.of(v, number)[e]); };
        if (labels_[e].allowed[v] && of(Reach::kTp) > 0)
          items_.push_back({of(Reach::kTp), of(Reach::kFp), of(Reach::kTn), of(Reach::kFn), e, 0});
      }
    const double step = rounding() == 0 ? 1e-11 : 1e-6;
    return micro_.narrow(items_, none_, step * double(state_.working_weight + 1) * double(labels_.size() * 2));
  }

  const std::vector<NodeLabel>& labels_;
  const State& state_;
  const Form& form_;
  const Sums& sums_;
  SizeLevels levels_;
  Reach reach_;
  Group whole_;  // heads of any size, without a lift
  bool has_level_ = false, always_ = false, monotone_ = false, largest_ = false;
  std::uint64_t version_ = 0;
  double lowered_ = 0;
  MicroGains micro_;
  MicroLanes micro_lanes_;
  std::vector<MicroItem> items_, none_;
  std::vector<double> gains_, weights_;
  std::vector<Block> blocks_;  // all groups, then the sizes of each
  std::vector<std::size_t> first_block_;
  std::vector<std::uint32_t> order_[4];  // of labels by their gains, by side of the boundary
  std::vector<float> barred_;            // by literal (`= 1`, then `= 0`): 0, or far more than anything gains
  std::vector<float> outside_;           // by label, TN and FN outside the head
  float denominator_ = 0;
};

}  // namespace polyrule
